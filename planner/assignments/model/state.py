"""The assignment under change, as arrays that kernels read and write."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from planner.panels.groups import Panels
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray


class Network(NamedTuple):
    """Pairs that may be assigned, sorted by (item, reviewer), and the present assignment.

    Parameters
    ----------
    item, reviewer
        The pairs, shape (P,).
    item_start
        The pairs of item i are ``item_start[i]:item_start[i + 1]``, shape (N + 1,).
    assigned
        Which pairs are, shape (P,).
    locked
        Pairs that keep their state, shape (P,).
    held_start, n_held, held
        The pairs that reviewer j holds are ``held[held_start[j]:held_start[j] + n_held[j]]``; she may hold up to
        ``held_start[j + 1] - held_start[j]``.
    panel_start, n_panel, panel
        The pairs of each item likewise.
    least
        Fewest pairs that each reviewer must hold, shape (M,).
    panels
        What rules ask of each paper, by panel group.
    bound
        Items that rules are about, shape (N,).
    bonus
        What each different group of an attribute is worth on a paper, in units of cost, shape (A,).
    rival_start, rival
        The pairs that may not be assigned beside pair p are ``rival[rival_start[p]:rival_start[p + 1]]``.
    n_rivals
        How many of these are assigned, shape (P,).
    value
        Affinity of each pair in whole units, shape (P,).
    floor, peak
        Least sum of values on each item, and least value of the best one, shape (N,).
    floored
        Whether floors count, shape (1,).
    potential
        Potentials of the nodes, shape (N + M + 1,): with them reduced costs are not negative.
    """

    item: IntArray
    reviewer: IntArray
    item_start: IntArray
    assigned: BoolArray
    locked: BoolArray
    held_start: IntArray
    n_held: IntArray
    held: IntArray
    panel_start: IntArray
    n_panel: IntArray
    panel: IntArray
    least: IntArray
    panels: Panels
    bound: BoolArray
    bonus: IntArray
    rival_start: IntArray
    rival: IntArray
    n_rivals: IntArray
    value: IntArray
    floor: IntArray
    peak: IntArray
    floored: BoolArray
    potential: IntArray

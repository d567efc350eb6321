"""What every plan pays at the fringe of the contracted graph, and the pieces that are left.

Lemma. Let A be the items that two parts S and R of the components share, |A| at most 2. Then the fewest joins satisfy
``joins(S and R) = joins(S) + joins(R) + 2 - |A|``.

So a component that shares a items with the others, a at most 2, costs 2 - a reviews and may be taken away, which may
leave others with two shared items or fewer; and pieces that share nothing cost 2 reviews each, but one.
``docs/explanation/planning.md`` has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.plans.proof.group_kernels import Piece
from reviewgraph.recoverable import degrees_of_freedom
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray

#: Entries times items of a part up to which it is tested whether its last merge wastes one: a second or two.
WASTE_UP_TO = 4_000_000


@dataclass(frozen=True, eq=False)
class Part:
    """A connected piece in which every component shares three items or more with the others.

    Parameters
    ----------
    blocks
        The blocks of the task that its components are.
    piece
        Components and the items they share, renumbered.
    links
        Its degrees of freedom.
    least
        Reviews that it takes at least: its links, 1, or what merges without waste cost, and one more for the last.
    """

    blocks: IntArray
    piece: Piece
    links: int
    least: int


@dataclass(frozen=True)
class Reduction:
    """A contracted graph taken apart: ``fringe`` reviews for what hangs on the parts; the parts by smallest item."""

    fringe: int
    parts: tuple[Part, ...]


def reduce(task: Task) -> Reduction:
    """Take a task apart.

    Takes time linear in the entries, and that of the pebble game on the parts.
    """
    count = task.start.size
    owner, item = task.block_labels(task.start)[task.start.block[:count]], task.start.item[:count]
    large = task.start.cover[owner] > 1
    pairs = np.unique(owner[large] * task.n_items + item[large])  # fixed reviews may have merged blocks
    owner, item = pairs // task.n_items, pairs % task.n_items
    loose = task.n_items - int(np.unique(item).size)
    covers: dict[int, list[int]] = {}
    for block, thing in zip(owner.tolist(), item.tolist(), strict=True):
        covers.setdefault(block, []).append(thing)
    if not covers:  # the group must grow from a single paper, or from nothing
        return Reduction(task.n_items - int(task.start.cover.max(initial=0)), ())
    hanging, kept = peel(covers)
    pieces = sorted(_pieces(kept), key=lambda blocks: min(min(kept[block]) for block in blocks))
    parts = tuple(_part(kept, blocks) for blocks in pieces)
    return Reduction(loose + hanging + 2 * max(len(parts) - 1, 0), parts)


def peel(covers: dict[int, list[int]]) -> tuple[int, dict[int, list[int]]]:
    """Take components of two shared items or fewer away; returns their price, and what is left with shared items only.

    >>> peel({0: [1, 2, 3], 1: [3, 4, 5], 2: [5, 6]})
    (2, {})
    """
    owners: dict[int, set[int]] = {}
    for block, things in covers.items():
        for thing in things:
            owners.setdefault(thing, set()).add(block)
    left, price, todo = dict.fromkeys(sorted(covers)), 0, sorted(covers, reverse=True)
    while todo and len(left) > 1:
        block = todo.pop()
        shared = [thing for thing in covers[block] if len(owners[thing]) > 1]
        if block not in left or len(shared) > 2:
            continue
        price += 2 - len(shared)
        del left[block]
        for thing in covers[block]:
            owners[thing].discard(block)
            todo += sorted(owners[thing])
    if len(left) < 2:
        return price, {}
    return price, {block: sorted(thing for thing in covers[block] if len(owners[thing]) > 1) for block in left}


def _pieces(covers: dict[int, list[int]]) -> list[list[int]]:
    """Blocks of each connected piece, ascending."""
    owners: dict[int, list[int]] = {}
    for block, things in covers.items():
        for thing in things:
            owners.setdefault(thing, []).append(block)
    seen: set[int] = set()
    pieces = []
    for first in covers:
        if first in seen:
            continue
        seen.add(first)
        piece = [first]
        for block in piece:
            for thing in covers[block]:
                piece += [other for other in owners.pop(thing, ()) if other not in seen and not seen.add(other)]  # type: ignore[func-returns-value]
        pieces.append(sorted(piece))
    return pieces


def _part(covers: dict[int, list[int]], blocks: list[int]) -> Part:
    sizes = [len(covers[block]) for block in blocks]
    component = np.repeat(np.arange(len(blocks)), sizes)
    names, item = np.unique([thing for block in blocks for thing in covers[block]], return_inverse=True)
    order = np.argsort(item, kind="stable")
    piece = Piece(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        item.astype(np.int64),
        np.concatenate([[0], np.cumsum(np.bincount(item, minlength=names.size))]).astype(np.int64),
        component[order].astype(np.int64),
    )
    table = Reviews.from_codes(component, item, reviewers=len(blocks), items=int(names.size))
    links = degrees_of_freedom(table)
    return Part(np.array(blocks, np.int64), piece, links, _least(piece, links))


def _least(piece: Piece, links: int) -> int:
    """Links, 1, or N - 2 - sum of (n_c - 2), and one more where every split of the part shares three items."""
    sizes = np.diff(piece.start)
    known, saved = max(links, 1), piece.own_start.size - 3 - int((sizes - 2).sum())
    small = piece.item.size * piece.own_start.size <= WASTE_UP_TO
    return saved + 1 if saved >= known and small and _holds_without_two_items(piece) else known


def _holds_without_two_items(piece: Piece) -> bool:
    """Whether the components stay connected when any two items are taken out. Takes items times entries."""
    import igraph

    n, n_items = piece.start.size - 1, piece.own_start.size - 1
    edges = np.column_stack([np.repeat(np.arange(n), np.diff(piece.start)), n + piece.item])
    graph = igraph.Graph(n + n_items, edges.tolist())
    for item in range(n, n + n_items):
        rest = graph.copy()
        rest.delete_vertices(item)
        if not rest.is_connected() or max(rest.articulation_points(), default=-1) >= n:
            return False
    return True

"""Reviewers and reviews whose loss lowers the level ``double``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.clock import LOOK, Clock, TimeOver
from reviewgraph.components import is_recovery_resilient
from reviewgraph.fragility.fragile import Finder
from reviewgraph.kernels.all_but_one import Frames, Units, certify, divide, enter_all
from reviewgraph.kernels.compiling import POLICY, STEP
from reviewgraph.kernels.growth import FULL, new_growth

if TYPE_CHECKING:
    from reviewgraph.kernels.growth import Growth
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray, Reviews

#: Seconds that plain Python takes to let one review in.
ENTRY = 60e-6

#: Certificates are drawn up while one clears at least this share of the units that are left, and so many at most.
SHARE, CERTIFICATES = 0.05, 24


def holds(reviews: Reviews) -> bool:
    """Whether one doubly connected component covers all items."""
    return is_recovery_resilient(reviews)


def critical_reviewers(reviews: Reviews, clock: Clock | None = None) -> IntArray:
    """Return the reviewers without whom no doubly connected component covers all items, ascending codes.

    Where none covers them with everybody, nothing is critical. Time as :func:`critical_reviews`.

    Raises
    ------
    TimeOver
        If the clock is over before they are known.
    """
    return _critical(reviews, Units(reviews.reviewer_start, np.arange(reviews.n_reviews)), clock or Clock(None))


def critical_reviews(reviews: Reviews, clock: Clock | None = None) -> IntArray:
    """Return the reviews without which no doubly connected component covers all items, ascending rows.

    Where none covers them with all, nothing is critical. Certificates clear most reviews in O(E log E) each;
    those left, c say, enter O(log c) times each, and what they join is joined again each time, O(c E) joins at worst.

    Raises
    ------
    TimeOver
        If the clock is over before they are known.
    """
    row = np.arange(reviews.n_reviews + 1)
    return _critical(reviews, Units(row, row[:-1]), clock or Clock(None))


def _critical(reviews: Reviews, units: Units, clock: Clock) -> IntArray:
    slots = 16
    while slots < 2 * (reviews.n_reviews + reviews.n_items):
        slots *= 2
    # Long joins may need more slots than that.
    found = None
    while found is None:
        found = _found(reviews, units, slots, clock)
        slots *= 2
    return found


def _found(reviews: Reviews, units: Units, slots: int, clock: Clock) -> IntArray | None:
    """Return the critical units, or None where the table of slots is too small."""
    n_units, none = units.start.size - 1, np.empty(0, np.int64)
    unit_of = np.repeat(np.arange(n_units), np.diff(units.start))
    rng, cleared, left = np.random.default_rng(0), none, np.arange(n_units)
    # What a certificate does not need is not critical; units that are cleared enter first, so that it needs few others.
    for _ in clock.watch(range(CERTIFICATES)):
        state = _grown(reviews, units, np.concatenate([cleared, rng.permutation(left)]), slots)
        needed, wanted = np.zeros(reviews.n_reviews, np.bool_), np.zeros(reviews.n_reviewers, np.bool_)
        certified = certify(state, needed, wanted)
        if state.counters[FULL]:
            return None
        if not certified:
            return none
        keep = np.isin(left, unit_of[needed])
        cleared, left = np.concatenate([cleared, left[~keep]]), left[keep]
        if keep.mean() > 1 - SHARE if keep.size else True:
            break
    clock.check()
    critical = _all_but_one(_grown(reviews, units, cleared, slots), units, left, clock)
    return None if critical is None else np.flatnonzero(critical)


def _grown(reviews: Reviews, units: Units, order: IntArray, slots: int) -> Growth:
    """Let units in, in this order."""
    state = new_growth(reviews.reviewer, reviews.item, reviews.n_reviewers, reviews.n_items, slots)
    enter_all.form(ENTRY * reviews.n_reviews)(state, units, order, 0, order.size)
    return state


def _all_but_one(state: Growth, units: Units, left: IntArray, clock: Clock) -> BoolArray | None:
    """Tell which of the units left are critical, all others being in; None where the table of slots is too small."""
    critical, frames = np.zeros(units.start.size - 1, np.bool_), Frames(*np.zeros((5, 70), np.int64))
    frames.high[0] = left.size
    frames.most[0] = state.covered.max(initial=0)
    entries = np.diff(units.start)[left].sum() * np.log2(left.size + 1)
    seconds = ENTRY * float(entries) + STEP * left.size * state.reviewer.size
    if not POLICY.fits(divide, seconds):
        raise TimeOver
    run, depth, steps = divide.form(seconds), 0, 1
    while depth >= 0:
        clock.check()
        pace = Clock(LOOK)
        depth = run(state, units, left, frames, critical, depth, steps)
        steps = max(steps // 2, 1) if pace.over() else 2 * steps
    return None if state.counters[FULL] else critical


#: The finder of the level ``double``.
FINDER = Finder(holds, critical_reviewers, critical_reviews)

"""The constraints of a programme on the perceived qualities, as sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc.programme import Programme, Shape
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

if TYPE_CHECKING:
    import scipy.sparse as sp


class Rows(NamedTuple):
    """Constraints ``matrix @ perceived >= low`` (or ``== low``) that have a name."""

    name: str
    matrix: sp.csr_array
    low: FloatArray


class LevelRows(NamedTuple):
    """Constraints ``matrix @ perceived + on_level @ level >= low``, ``level`` a further variable."""

    name: str
    matrix: sp.csr_array
    on_level: sp.csr_array
    low: FloatArray


def equalities(programme: Programme) -> list[Rows]:
    """Return ties and straight lines."""
    links = Links.of(programme)
    found = []
    tied = links.review[links.tied & ~links.free]
    if tied.size:
        found.append(Rows("ties", differences(programme, tied), np.zeros(tied.size)))
    bends = links.bends(programme, Shape.LINEAR)
    if bends.shape[0]:
        found.append(Rows("linear", bends, np.zeros(bends.shape[0])))
    return found


def inequalities(programme: Programme) -> list[Rows]:
    """Return bounds on slopes and bent curves."""
    links = Links.of(programme)
    found = []
    rising = ~links.tied & ~links.free
    for name, bound, sign in (("max_slope", programme.lower, 1.0), ("min_slope", programme.upper, -1.0)):
        chosen = rising & np.isfinite(bound[links.reviewer])
        if chosen.any():
            review = links.review[chosen]
            step = bound[links.reviewer[chosen]] * links.rise[chosen]
            found.append(Rows(name, sign * differences(programme, review), sign * step))
    for shape, sign in ((Shape.CONVEX, 1.0), (Shape.CONCAVE, -1.0)):
        bends = links.bends(programme, shape)
        if bends.shape[0]:
            found.append(Rows(shape.name.lower(), sign * bends, np.zeros(bends.shape[0])))
    return found


def free_ties(programme: Programme) -> list[LevelRows]:
    """Return, between two levels of score, a threshold: the lower level below it, the upper one ``dy / C`` above it."""
    links = Links.of(programme)
    steps = np.flatnonzero(links.free & ~links.tied)
    if not steps.size:
        return []
    new_level = np.ones(programme.item.size, np.bool_)
    new_level[links.review] = ~links.tied
    level_of = np.cumsum(new_level) - 1
    upper = level_of[links.review[steps]]
    step_under, step_over = np.full((2, level_of[-1] + 1), -1)
    step_over[upper] = step_under[upper - 1] = np.arange(steps.size)
    under, over = (np.flatnonzero(step[level_of] >= 0) for step in (step_under, step_over))
    below, above = step_under[level_of[under]], step_over[level_of[over]]
    rise = programme.lower[links.reviewer[steps]] * links.rise[steps]
    size = programme.item.size
    return [
        LevelRows("free_ties_below", -_pick(under, size), _pick(below, steps.size), np.zeros(under.size)),
        LevelRows("free_ties_above", _pick(over, size), -_pick(above, steps.size), rise[above]),
    ]


def _pick(columns: IntArray, size: int) -> sp.csr_array:
    import scipy.sparse as sp

    return sp.csr_array((np.ones(columns.size), (np.arange(columns.size), columns)), shape=(columns.size, size))


@dataclass(frozen=True, eq=False)
class Links:
    """Pairs of consecutive reviews of one reviewer: each review but the reviewer's first, with the one before it.

    ``review`` (L,) is the later review, ``reviewer`` (L,) whose they are, ``rise`` (L,) its score less the one before,
    ``tied`` (L,) whether it is zero, ``free`` (L,) whether only order between levels binds the reviewer, or nothing.
    """

    review: IntArray
    reviewer: IntArray
    rise: FloatArray
    tied: BoolArray
    free: BoolArray

    @classmethod
    def of(cls, programme: Programme) -> Links:
        """Pair the reviews of a programme."""
        owner = np.repeat(np.arange(programme.start.size - 1), np.diff(programme.start))
        review = np.flatnonzero(owner[1:] == owner[:-1]) + 1
        rise = programme.score[review] - programme.score[review - 1]
        reviewer = owner[review]
        constant = np.bincount(reviewer, weights=rise > 0, minlength=programme.shape.size) == 0
        free = (constant | (programme.shape == Shape.MONOTONE)) & (not programme.ties_equal)
        return cls(review, reviewer, rise, rise == 0, free[reviewer])

    def bends(self, programme: Programme, shape: Shape) -> sp.csr_array:
        """Slope of the inverse before each rise less the slope after it, times a positive number, shape (., E').

        Slopes are multiplied by the product of the rises over their sum, so that no coefficient exceeds one.
        """
        import scipy.sparse as sp

        rising = np.flatnonzero(~self.tied)
        before, after = rising[:-1], rising[1:]
        keep = (self.reviewer[before] == self.reviewer[after]) & (programme.shape[self.reviewer[before]] == shape)
        before, after = before[keep], after[keep]
        share = self.rise[after] / (self.rise[before] + self.rise[after])
        first, second = self.review[before], self.review[after]
        rows = np.tile(np.arange(before.size), 4)
        columns = np.concatenate([first, first - 1, second, second - 1])
        values = np.concatenate([share, -share, share - 1, 1 - share])
        return sp.csr_array((values, (rows, columns)), shape=(before.size, programme.item.size))


def differences(programme: Programme, review: IntArray) -> sp.csr_array:
    """``perceived[review] - perceived[review - 1]`` as a matrix."""
    import scipy.sparse as sp

    rows = np.tile(np.arange(review.size), 2)
    columns = np.concatenate([review, review - 1])
    values = np.repeat([1.0, -1.0], review.size)
    return sp.csr_array((values, (rows, columns)), shape=(review.size, programme.item.size))

"""The constraints of a programme on the perceived qualities, as sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc.model.programme import Programme, Shape
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
    tied = links.tied & ~links.free
    if tied.any():
        found.append(Rows("ties", differences(links, tied, programme.item.size), np.zeros(int(tied.sum()))))
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
            step = bound[links.reviewer[chosen]] * links.rise[chosen]
            found.append(Rows(name, sign * differences(links, chosen, programme.item.size), sign * step))
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
    size, level_of = programme.item.size, links.level
    upper = level_of[links.later[steps]]
    step_under, step_over = np.full((2, level_of[-1] + 1), -1)
    step_over[upper] = step_under[upper - 1] = np.arange(steps.size)
    under, over = (np.flatnonzero(step[level_of] >= 0) for step in (step_under, step_over))
    below, above = step_under[level_of[under]], step_over[level_of[over]]
    rise = programme.lower[links.reviewer[steps]] * links.rise[steps]
    return [
        LevelRows("free_ties_below", -pick(under, size), pick(below, steps.size), np.zeros(under.size)),
        LevelRows("free_ties_above", pick(over, size), -pick(above, steps.size), rise[above]),
    ]


def pick(columns: IntArray, size: int) -> sp.csr_array:
    """Return the matrix that picks these of ``size`` entries of a vector."""
    return combine([columns], [np.ones(columns.size)], size)


@dataclass(frozen=True, eq=False)
class Links:
    """Pairs of reviews of one reviewer that stand next to each other in the order of scores.

    Where ties are free the lowest level of a convex reviewer and the highest of a concave one are tied to nothing:
    the function may be flat there. Each of their reviews is linked to the next level instead of to the one beside it.

    ``earlier``, ``later`` (L,) are the reviews, ``reviewer`` (L,) whose they are, ``rise`` (L,) the difference of their
    scores, ``tied`` (L,) whether it is zero, ``free`` (L,) whether only order between levels binds the reviewer, or
    nothing does; ``level`` (E',) numbers the levels of score.
    """

    earlier: IntArray
    later: IntArray
    reviewer: IntArray
    rise: FloatArray
    tied: BoolArray
    free: BoolArray
    level: IntArray

    @classmethod
    def of(cls, programme: Programme) -> Links:
        """Link the reviews of a programme."""
        reviewers = programme.shape.size
        owner = np.repeat(np.arange(reviewers), np.diff(programme.start))
        later = np.flatnonzero(owner[1:] == owner[:-1]) + 1
        earlier, reviewer = later - 1, owner[later]
        tied = programme.score[later] == programme.score[earlier]
        new_level = np.ones(owner.size, np.bool_)
        new_level[later] = ~tied
        level = np.cumsum(new_level) - 1
        free = np.zeros(later.size, np.bool_)
        if not programme.ties_equal:
            constant = np.bincount(reviewer, weights=~tied, minlength=reviewers) == 0
            free = (constant | (programme.shape == Shape.MONOTONE))[reviewer]
            first = np.flatnonzero(new_level)  # the first review of each level
            own_first, own_last = level[programme.start[reviewer]], level[programme.start[reviewer + 1] - 1]
            flat = tied & ~free & (programme.shape[reviewer] == Shape.CONVEX) & (level[later] == own_first)
            later = np.where(flat, first[np.minimum(level[later] + 1, first.size - 1)], later)
            steep = tied & ~free & (programme.shape[reviewer] == Shape.CONCAVE) & (level[later] == own_last)
            earlier = np.where(steep, first[level[earlier]] - 1, earlier)
            tied = tied & ~flat & ~steep
        rise = programme.score[later] - programme.score[earlier]
        return cls(earlier, later, reviewer, rise, tied, free, level)

    def bends(self, programme: Programme, shape: Shape) -> sp.csr_array:
        """Slope of the inverse before each bend less the slope after it, times a positive number, shape (., E').

        Slopes are multiplied by the product of the rises over their sum, so that no coefficient exceeds one.
        """
        before, after = self._successive(programme.shape[self.reviewer] == shape)
        share = self.rise[after] / (self.rise[before] + self.rise[after])
        return combine(
            [self.later[before], self.earlier[before], self.later[after], self.earlier[after]],
            [share, -share, share - 1, 1 - share],
            programme.item.size,
        )

    def _successive(self, chosen: BoolArray) -> tuple[IntArray, IntArray]:
        """Return all pairs of chosen rises of which the second begins at the level where the first ends."""
        rising = np.flatnonzero(~self.tied & chosen)
        levels = int(self.level[-1]) + 1
        into, out_of = np.full((2, levels), -1)
        into[self.level[self.later[rising]]] = rising
        out_of[self.level[self.earlier[rising]]] = rising
        pairs = [
            np.stack([rising, out_of[self.level[self.later[rising]]]]),
            np.stack([into[self.level[self.earlier[rising]]], rising]),
        ]
        both = np.unique(np.concatenate(pairs, axis=1), axis=1)
        before, after = both[:, both.min(axis=0) >= 0]
        return before, after


def differences(links: Links, chosen: BoolArray, size: int) -> sp.csr_array:
    """Return ``perceived[later] - perceived[earlier]`` of the chosen links as a matrix, shape (., size)."""
    ones = np.ones(int(chosen.sum()))
    return combine([links.later[chosen], links.earlier[chosen]], [ones, -ones], size)


def combine(columns: list[IntArray], values: list[FloatArray], size: int) -> sp.csr_array:
    """Return a matrix of ``size`` columns with ``values[k][r]`` in row r and column ``columns[k][r]``."""
    import scipy.sparse as sp

    count = columns[0].size
    rows = np.tile(np.arange(count), len(columns))
    return sp.csr_array((np.concatenate(values), (rows, np.concatenate(columns))), shape=(count, size))

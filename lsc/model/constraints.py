"""The constraints of a programme on the perceived qualities, as sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lsc.model.hypotheses import Rows, classes
from lsc.model.programme import Programme
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

if TYPE_CHECKING:
    import scipy.sparse as sp


class LevelRows(NamedTuple):
    """Constraints ``matrix @ perceived + on_level @ level >= low``, ``level`` a further variable."""

    name: str
    matrix: sp.csr_array
    on_level: sp.csr_array
    low: FloatArray


def equalities(programme: Programme) -> list[Rows]:
    """Return ties, and what classes state as equalities."""
    links = Links.of(programme)
    found = []
    tied = links.tied & ~links.free
    if tied.any():
        found.append(Rows("ties", differences(links, tied, programme.item.size), np.zeros(int(tied.sum()))))
    for code, kind in enumerate(classes()):
        found += kind.equalities(Risen(links, programme, code))
    return [rows for rows in found if rows.low.size]


def inequalities(programme: Programme) -> list[Rows]:
    """Return bounds on slopes, and what classes state as inequalities."""
    links = Links.of(programme)
    found = []
    # Of a class that fixes the unit, bounds on slopes say nothing more.
    bounded = np.array([not kind.fixes_unit for kind in classes()])[programme.kind]
    rising = ~links.tied & ~links.free & bounded[links.reviewer]
    for name, bound, sign in (("max_slope", programme.lower, 1.0), ("min_slope", programme.upper, -1.0)):
        chosen = rising & np.isfinite(bound[links.reviewer])
        step = bound[links.reviewer[chosen]] * links.rise[chosen]
        found.append(Rows(name, sign * differences(links, chosen, programme.item.size), sign * step))
    for code, kind in enumerate(classes()):
        found += kind.inequalities(Risen(links, programme, code))
    return [rows for rows in found if rows.low.size]


class Risen(NamedTuple):
    """The links between different scores of the reviewers of one class: its :class:`~lsc.model.hypotheses.Steps`."""

    links: Links
    programme: Programme
    code: int

    def bends(self, name: str, sign: float = 1.0) -> Rows:
        """Slope of the inverse before each bend less the slope after it."""
        matrix = self.links.bends(self.programme, self.programme.kind == self.code)
        return Rows(name, sign * matrix, np.zeros(matrix.shape[0]))

    def rises(self, name: str) -> Rows:
        """Differences of neighbouring perceived qualities, the lower bound times the rise of scores beside them."""
        links, programme = self.links, self.programme
        chosen = ~links.tied & ~links.free & (programme.kind[links.reviewer] == self.code)
        step = programme.lower[links.reviewer[chosen]] * links.rise[chosen]
        return Rows(name, differences(links, chosen, programme.item.size), step)


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

    Where ties are free the lowest level (convex) or the highest (concave) may be tied to nothing (``loose_ties``):
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
            # Of each reviewer: whether the lowest, the highest, or all levels of tied scores are loose.
            loose = np.array([kind.loose_ties for kind in classes()])[programme.kind]
            free = (constant | (loose == "all"))[reviewer]
            first = np.flatnonzero(new_level)  # the first review of each level
            own_first, own_last = level[programme.start[reviewer]], level[programme.start[reviewer + 1] - 1]
            flat = tied & ~free & (loose[reviewer] == "lowest") & (level[later] == own_first)
            later = np.where(flat, first[np.minimum(level[later] + 1, first.size - 1)], later)
            steep = tied & ~free & (loose[reviewer] == "highest") & (level[later] == own_last)
            earlier = np.where(steep, first[level[earlier]] - 1, earlier)
            tied = tied & ~flat & ~steep
        rise = programme.score[later] - programme.score[earlier]
        return cls(earlier, later, reviewer, rise, tied, free, level)

    def bends(self, programme: Programme, reviewers: BoolArray) -> sp.csr_array:
        """Slope of the inverse before each bend less the slope after it, times a positive number, shape (., E').

        For the chosen reviewers, (M,).

        Slopes are multiplied by the product of the rises over their sum, so that no coefficient exceeds one.
        """
        before, after = self._successive(reviewers[self.reviewer])
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

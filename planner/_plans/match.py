"""How many reviews in rounds decide as well as a number of reviews for every paper, before and after the first scores.

Both are played through on the same draws of qualities and noise. The number of reviews of the rounds is the smallest
whose mean of wrong selections is not above that of the same number for every paper; the difference of the two is known
more precisely than either, since the draws are common.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._plans.objectives import TRIFLE, Beliefs, brought_by
from planner._plans.rounds import Expected, play, rollouts_for, schedule
from reviewgraph._base import InputError, counted
from reviewgraph.graph import Assumptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner._plans.rounds import Papers, Rollouts
    from reviewgraph._base import FloatArray, IntArray
    from reviewgraph.table import Reviews

#: Numbers of rounds that are compared, and the maximum share of reviews beyond the fewest for which fewer rounds are
#: preferred, if their number is not given.
ROUNDS = (1, 2, 4)
ALMOST = 0.01
#: Reviews per paper of the first phase: with fewer, papers and reviewers fall into many pieces.
FIRST_PHASE = 2
#: Standard errors on both sides of a number that is stated as a range.
WIDE = 2.0


class Needed(NamedTuple):
    """Reviews that decide as well in a number of rounds, with the standard error of the simulation."""

    rounds: int
    reviews: int
    error: float


@dataclass(frozen=True)
class Match:
    """Reviews that decide as well as the same number for every paper.

    Parameters
    ----------
    per_paper
        The number that every paper would have.
    existing
        Reviews that there are, or that are asked for in any case.
    even
        Reviews in all with the same number for every paper.
    needed
        Reviews in all that decide as well in the rounds of the process.
    by_rounds
        The same in several numbers of rounds.
    before, each, planned
        Expected wrong selections of the existing reviews, of the same number for every paper, and of the process.
    reached
        Whether fewer reviews decide as well as the same number for every paper.
    """

    per_paper: int
    existing: int
    even: int
    needed: Needed
    by_rounds: tuple[Needed, ...]
    before: Expected
    each: Expected
    planned: Expected
    reached: bool

    @property
    def more(self) -> int:
        """Reviews beyond the existing ones."""
        return self.needed.reviews - self.existing

    @property
    def interval(self) -> tuple[int, int]:
        """Lower and upper end of the number of reviews in all, with the error of the simulation."""
        width = WIDE * self.needed.error
        low = max(int(np.floor(self.needed.reviews - width)), self.existing)
        return low, int(np.ceil(self.needed.reviews + width))

    def to_dict(self) -> dict[str, Any]:
        """Return the needed reviews, rounds and error, and what they are compared with, as ``--json`` prints it."""
        expected = {name: getattr(self, name)._asdict() for name in ("before", "each", "planned")}
        numbers = {name: getattr(self, name) for name in ("per_paper", "existing", "even", "reached")}
        by_rounds = [needed._asdict() for needed in self.by_rounds]
        return {**self.needed._asdict(), **numbers, "interval": [*self.interval], **expected, "by_rounds": by_rounds}


def expected_beliefs(reviews: Reviews, fixed: IntArray, least: int, assumed: Assumptions) -> Beliefs:
    """Return what is believed of papers without any score, in units of the spread of their qualities.

    ``fixed`` pairs (F, 2) and all reviews are still to come, ``least`` or more of each paper.
    """
    count = np.maximum(reviews.reviews_per_item, least)
    precision = typical_precision(count.sum() / max(reviews.n_reviewers, 1), count.mean(), assumed)
    every = np.full(reviews.n_reviewers, precision)
    coming = np.concatenate([np.column_stack([reviews.reviewer, reviews.item]), fixed])
    size = reviews.n_items
    pending = brought_by(coming, every, size)
    return Beliefs(np.zeros(size), np.ones(size), every, pending, size)


def typical_precision(load: float, per_paper: float, assumed: Assumptions) -> float:
    """Return the precision of a review by a reviewer of ``load`` reviews, of papers with ``per_paper`` reviews.

    The severity s of a reviewer has the prior variance ``w^2``; each review measures it with the variance of its noise
    and of what the other k - 1 reviews of the paper leave of its quality, ``e^2 + 1 / (1 + (k - 1) p)``. What is left
    of s adds to the noise of a review: ``1 / p = e^2 + 1 / (1 / w^2 + load / (e^2 + 1 / (1 + (k - 1) p)))``.

    >>> assumed = Assumptions(noise=1.0, severity=0.5, stretch=0.0)
    >>> round(typical_precision(1e9, 3.0, assumed), 3), round(typical_precision(0.0, 3.0, assumed), 3)
    (1.0, 0.8)
    """
    noise = assumed.noise**2 + assumed.stretch**2
    severity = assumed.severity**2
    precision = 1.0 / (noise + severity)
    # The right hand side rises with p, and less than p: the iteration converges from below.
    for _ in range(20):
        measured = noise + 1.0 / (1.0 + (per_paper - 1.0) * precision)
        precision = 1.0 / (noise + severity / (1.0 + severity * load / measured))
    return float(precision)


def matched(
    papers: Papers,
    count: IntArray,
    per_paper: int,
    rounds: int,
    lead: int,
    seed: int,
    tell: Callable[[str], object],
) -> Match:
    """Return what a process takes; O(K R N log P) for K rollouts and P reviews of the same number for every paper.

    Parameters
    ----------
    papers
        Beliefs before the first round.
    count
        Reviews of each paper by then, shape (N,).
    per_paper
        Number of reviews that every paper would have.
    rounds
        Number of rounds; 0 for the fewest of :data:`ROUNDS` that take almost as few reviews as the most of them.
    lead
        Number of mailings before the first round.
    seed
        Of the draws, the same for all.
    tell
        Called with a line on each number of rounds.

    Raises
    ------
    InputError
        If every paper has this number of reviews.
    """
    lacking = np.maximum(per_paper - count, 0)
    most = int(lacking.sum())
    if not most:
        message = (
            f"match: expected more than the {counted(int(count.min()), 'review')} or more that every paper has, found "
            f"{per_paper}; ask for a larger number"
        )
        raise InputError(message)
    existing = int(count.sum())
    rollouts = rollouts_for(count.size)

    def at_once(number: IntArray) -> Rollouts:
        return play(papers, [int(number.sum())], np.random.default_rng(seed), rollouts=rollouts, first=number)

    def in_rounds(number: int, budget: int) -> Rollouts:
        parts = [0] * lead + schedule(budget, number)
        return play(papers, parts, np.random.default_rng(seed), rollouts=rollouts)

    def difference(number: int, budget: int) -> FloatArray:
        return in_rounds(number, budget).wrong[:, -1] - each.wrong[:, -1]

    each = at_once(lacking)
    by_rounds = []
    more = most
    for number in sorted({min(number, rounds or number) for number in (*ROUNDS, rounds or 1)}):
        # More rounds take no more reviews.
        more, error = fewest(partial(difference, number), more)
        by_rounds.append(Needed(number, existing + more, error))
        tell(f"{existing + more:,} reviews decide as well in {counted(number, 'round')}")
    enough = by_rounds[-1].reviews * (1.0 + ALMOST)
    needed = by_rounds[-1] if rounds else next(needed for needed in by_rounds if needed.reviews <= enough)
    planned = in_rounds(needed.rounds, needed.reviews - existing)
    return Match(
        per_paper=per_paper,
        existing=existing,
        even=existing + most,
        needed=needed,
        by_rounds=tuple(by_rounds),
        before=Expected.of(at_once(np.zeros_like(count)), 1, 0),
        each=Expected.of(each, 1, 0),
        planned=Expected.of(planned, lead + needed.rounds, 0),
        reached=needed.reviews < existing + most,
    )


def fewest(difference: Callable[[int], FloatArray], most: int) -> tuple[int, float]:
    """Return the smallest number at which the mean of a falling difference is 0 or less, else ``most``, and its error.

    ``difference`` returns one value a rollout, shape (K,), from the same draws for all numbers. To first order the
    error is that of the mean difference over its slope.

    >>> fewest(lambda number: np.array([5.0, 7.0]) - number, 10)
    (6, 1.0)
    """
    low = 0
    high = most
    while high - low > 1:
        middle = (low + high) // 2
        if difference(middle).mean() > 0.0:
            low = middle
        else:
            high = middle
    values = difference(high)
    step = max(high // 4, 1)
    fall = float((difference(max(high - step, 0)) - difference(high + step)).mean())
    slope = max(fall, TRIFLE) / (high + step - max(high - step, 0))
    error = float(values.std(ddof=1)) / np.sqrt(values.size) / slope
    return high, float(min(error, most))

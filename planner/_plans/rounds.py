"""Expected wrong selections when reviews are asked for in rounds: rollouts of the process, arrays in, arrays out.

Papers are independent N(m, s^2), and a review measures the quality of its paper with a precision p, as in
:mod:`planner._plans.objectives`. A rollout draws the qualities and the noise of all reviews; in each round the budget
goes where it is expected to save most wrong selections given the reviews so far, those reviews arrive, and means and
variances are updated. The same draws serve every schedule, so that schedules are compared in pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from planner._plans.objectives import LEAST_PRICE, TRIFLE, Beliefs, brought_by, misplaced
from reviewgraph._base import FloatArray, InputError, IntArray, counted, cut_of, order_of
from reviewgraph.graph import Assumptions

if TYPE_CHECKING:
    from reviewgraph.table import Reviews


#: Reviews of one paper that are considered in one round, and in all rounds together.
DEEP = 6
MOST_REVIEWS = 24
#: A paper that is in or out with an error probability below this gets no review in a rollout.
DECIDED = 1e-3
#: Rollouts: the standard error of the expected number of wrong selections is about a hundredth of it. Their
#: minimum number, and the papers times rollouts above which there are fewer.
ROLLOUTS = 100
FEWEST_ROLLOUTS = 16
MOST_PAPERS = 80_000


class Papers(NamedTuple):
    """What is believed of papers before the first round.

    ``mean``, ``sd`` (N,): of the quality; ``pending`` (N,): precision of the reviews still to come; ``typical``:
    precision of one review; ``n``: number of papers to select.
    """

    mean: FloatArray
    sd: FloatArray
    pending: FloatArray
    typical: float
    n: int


class Rollouts(NamedTuple):
    """What came of a schedule in each of K rollouts.

    ``wrong`` (K, R + 1): expected wrong selections before the first round and after each; ``spent`` (K, R): reviews
    asked for in each.
    """

    wrong: FloatArray
    spent: IntArray

    @property
    def mean(self) -> FloatArray:
        """Shape (R + 1,): expected wrong selections before the first round and after each."""
        return np.asarray(self.wrong.mean(axis=0))

    @property
    def error(self) -> FloatArray:
        """Shape (R + 1,): standard errors of :attr:`mean`; 0 for a single rollout."""
        size = len(self.wrong)
        return np.asarray(self.wrong.std(axis=0, ddof=1) / np.sqrt(size)) if size > 1 else np.zeros(self.wrong.shape[1])


class Expected(NamedTuple):
    """Wrong selections expected after a number of rounds, with the Monte Carlo error, and the reviews spent by then."""

    rounds: int
    reviews: float
    wrong: float
    error: float

    @staticmethod
    def of(played: Rollouts, rounds: int, asked: int) -> Expected:
        """Return what is expected after some rounds; ``asked`` reviews are asked for in any case."""
        reviews = asked + float(played.spent[:, :rounds].sum(axis=1).mean())
        return Expected(rounds, reviews, float(played.mean[rounds]), float(played.error[rounds]))


class Standing(NamedTuple):
    """A selection under the beliefs of each of K rollouts.

    ``chance`` (K, N): probability of being among the best n; ``cut``, ``price``, ``wrong`` (K,): the quality above
    which n papers are expected, the price of a place (see :func:`planner._plans.objectives.misplaced`), and the
    expected number of wrong ones among the n papers of highest probability.
    """

    chance: FloatArray
    cut: FloatArray
    price: FloatArray
    wrong: FloatArray


def standing(mean: FloatArray, sd: FloatArray, n: int) -> Standing:
    """Return the standing of selections of ``n`` papers under beliefs (K, N)."""
    from scipy.special import ndtr

    cut = np.array([cut_of(means, errors, n) for means, errors in zip(mean, sd, strict=True)])
    chance = ndtr((mean - cut[:, None]) / sd)
    ranked = np.sort(chance, axis=1)[:, ::-1]
    price = np.clip(ranked[:, n - 1 : n + 1].mean(axis=1), LEAST_PRICE, 1.0 - LEAST_PRICE)
    return Standing(chance, cut, price, n - ranked[:, :n].sum(axis=1))


def step_rates(loss: FloatArray) -> FloatArray:
    """Return the slopes of the least concave majorant of each paper's cumulative gain, shape (D, N), falling in D.

    ``loss`` (D + 1, N) is the expected loss after 0, 1, ..., D reviews. Taking steps of highest slope first is the rule
    that looks at the best mean gain of the next few reviews: a first review that alone changes nothing is asked for
    together with the second.

    >>> step_rates(np.array([[1.0], [1.0], [0.0]])).tolist()
    [[0.5], [0.5]]
    """
    gain = loss[0] - loss
    deep = len(loss) - 1
    # Of step k: min over i <= k of max over j > k of (G_j - G_i) / (j - i).
    slopes = np.full((deep, loss.shape[1]), np.inf)
    for start in range(deep):
        ahead = (gain[start + 1 :] - gain[start]) / np.arange(1, deep - start + 1)[:, None]
        best = np.maximum.accumulate(ahead[::-1], axis=0)[::-1]
        np.minimum(slopes[start:], best, out=slopes[start:])
    return slopes


def spend(rate: FloatArray, budget: int) -> IntArray:
    """Return the number of reviews of each paper, shape (N,), highest rates first, of equals the first.

    ``rate`` (D, N), falling in D, is the gain of each further review; those that gain nothing are not taken.

    >>> spend(np.array([[0.5, 0.4], [0.3, 0.2]]), 3).tolist()
    [2, 1]
    """
    deep, n_items = rate.shape
    flat = rate.ravel(order="F")
    order = order_of(-flat)
    order = order[flat[order] > 0.0]
    return np.asarray(np.bincount(order[:budget] // deep, minlength=n_items), np.int64)


def asked_for(
    papers: Papers,
    mean: FloatArray,
    sd: FloatArray,
    pending: FloatArray,
    budget: IntArray,
    now: Standing,
) -> IntArray:
    """Return the number of reviews of each paper in a round, shape (K, N), under the beliefs of K rollouts.

    ``budget`` (K,) is that of each rollout, ``pending`` (K, N) the precision still to come, ``now`` the standing.
    """
    count = np.zeros(mean.shape, np.int64)
    undecided = np.minimum(now.chance, 1.0 - now.chance) > DECIDED
    rollout, item = np.nonzero(undecided)
    distance = (mean - now.cut[:, None])[undecided]
    coming = pending[undecided] + np.arange(DEEP + 1)[:, None] * papers.typical
    rate = step_rates(misplaced(distance, sd[undecided], coming, now.price[rollout]))
    ends = np.searchsorted(rollout, np.arange(len(mean) + 1))
    for number, (begin, end) in enumerate(pairwise(ends.tolist())):
        count[number, item[begin:end]] = spend(rate[:, begin:end], int(budget[number]))
    return count


class _Draws:
    """All that may come in some rollouts: qualities, and the noise of the first reviews of each paper."""

    def __init__(self, papers: Papers, generators: Sequence[np.random.Generator]) -> None:
        size = papers.mean.size
        truth = []
        total = []
        late = []
        for generator in generators:
            truth.append(papers.mean + papers.sd * generator.standard_normal(size))
            noise = np.zeros((size, MOST_REVIEWS + 1))
            np.cumsum(generator.standard_normal((size, MOST_REVIEWS)), axis=1, out=noise[:, 1:])
            total.append(noise)
            late.append(np.sqrt(papers.pending) * generator.standard_normal(size))
        self.truth = np.array(truth)
        self.total = np.array(total)
        self.typical = papers.typical
        # Natural parameters with the pending reviews: shift = mean / variance, known = 1 / variance.
        self.shift = papers.mean * papers.sd**-2 + papers.pending * self.truth + np.array(late)
        self.known = papers.sd**-2 + papers.pending

    def beliefs(self, count: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return means and standard errors (K, N) after the first ``count`` (K, N) reviews of each paper."""
        noise = np.take_along_axis(self.total, count[..., None], 2)[..., 0]
        known = self.known + count * self.typical
        shift = self.shift + self.typical * count * self.truth + np.sqrt(self.typical) * noise
        return shift / known, known**-0.5


def play(
    papers: Papers,
    budgets: Sequence[int],
    rng: np.random.Generator,
    *,
    rollouts: int = ROLLOUTS,
    first: IntArray | None = None,
) -> Rollouts:
    """Play rounds of some ``budgets`` through; O(K R N) for K rollouts and R rounds.

    A review that gains nothing is not asked for, and what a round does not spend is added to the next.
    Reviews that are pending arrive with those of the first round.

    Parameters
    ----------
    papers
        Beliefs before the first round.
    budgets
        Reviews of each round.
    rng
        Of the draws: the same generator state gives the same qualities and noise for every schedule.
    rollouts
        Their number.
    first
        Reviews of each paper in the first round, shape (N,); by default those that are expected to save most.

    Examples
    --------
    >>> papers = Papers(np.linspace(-1, 1, 40), np.full(40, 0.5), np.zeros(40), 1.0, 10)
    >>> one, two = (play(papers, budgets, np.random.default_rng(0)) for budgets in ([40], [20, 20]))
    >>> bool(one.mean[0] > one.mean[1] > two.mean[2])
    True
    """
    # All rollouts begin with the same round.
    mean = papers.mean[None, :]
    sd = papers.sd[None, :]
    now = standing(mean, sd, papers.n)
    budget = np.array([budgets[0] if budgets else 0])
    asked = asked_for(papers, mean, sd, papers.pending[None, :], budget, now) if first is None else first
    draws = _Draws(papers, rng.spawn(rollouts))
    shape = draws.truth.shape
    asked = np.broadcast_to(asked, shape)
    nothing = np.zeros(shape)
    count = np.zeros(shape, np.int64)
    saved = np.zeros(rollouts, np.int64)
    wrong = np.full((rollouts, len(budgets) + 1), float(now.wrong[0]))
    spent = np.zeros((rollouts, len(budgets)), np.int64)
    for place, part in enumerate(budgets):
        if place and (part + saved).any():
            asked = asked_for(papers, mean, sd, nothing, part + saved, now)
        elif place:
            asked = np.zeros(shape, np.int64)
        asked = np.minimum(asked, MOST_REVIEWS - count)
        spent[:, place] = asked.sum(axis=1)
        saved += part - spent[:, place]
        count = count + asked
        mean, sd = draws.beliefs(count)
        now = standing(mean, sd, papers.n)
        wrong[:, place + 1] = now.wrong
    return Rollouts(wrong, spent)


def rollouts_for(papers: int) -> int:
    """Return the number of rollouts: the relative error falls with the papers, too.

    >>> rollouts_for(400), rollouts_for(5_000)
    (100, 16)
    """
    return int(np.clip(MOST_PAPERS // max(papers, 1), min(FEWEST_ROLLOUTS, ROLLOUTS), ROLLOUTS))


def schedule(budget: int, rounds: int) -> list[int]:
    """Split a budget into equal rounds; parts sum to it.

    >>> schedule(10, 4)
    [3, 2, 3, 2]
    """
    ends = np.floor(np.arange(rounds + 1) / rounds * budget + 0.5).astype(np.int64)
    return [int(part) for part in np.diff(ends)]


# How many reviews in rounds decide as well as a number of reviews for every paper, before and after the first scores.
#
# Both are played through on the same draws. The number of reviews of the rounds is the smallest whose mean of wrong
# selections is not above that of the same number for every paper.

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
        raise InputError(
            f"match: expected more than the {counted(int(count.min()), 'review')} or more that every paper has, found "
            f"{per_paper}; ask for a larger number"
        )
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

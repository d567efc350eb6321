"""Expected wrong selections when reviews are asked for in rounds: rollouts of the process, arrays in, arrays out.

Papers are independent N(m, s^2), and a review measures the quality of its paper with a precision p, as in
:mod:`planner._plans.objectives`. A rollout draws the qualities and the noise of all reviews; in each round the budget
goes where it is expected to save most wrong selections given the reviews so far, those reviews arrive, and means and
variances are updated. The same draws serve every schedule, so that schedules are compared in pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner._plans.objectives import LEAST_PRICE, misplaced
from reviewgraph._base import cut_of, probability_in_top

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reviewgraph._base import FloatArray, IntArray

#: Reviews of one paper that are considered in one round, and in all rounds together.
DEEP, MOST_REVIEWS = 6, 24
#: A paper that is in or out with an error probability below this gets no review in a rollout.
DECIDED = 1e-3
#: Rollouts: the standard error of the expected number of wrong selections is about a hundredth of it.
ROLLOUTS = 64


class Papers(NamedTuple):
    """What is believed of papers before the first round.

    ``mean``, ``sd`` (N,): of the quality; ``pending`` (N,): precision of the reviews still to come; ``typical``:
    precision of one review; ``n``: number of papers to select; ``group`` (N,): papers of one code get the same number
    of reviews.
    """

    mean: FloatArray
    sd: FloatArray
    pending: FloatArray
    typical: float
    n: int
    group: IntArray | None = None


class Rollouts(NamedTuple):
    """What came of a schedule in each of K rollouts.

    ``wrong`` (K, R + 1): expected wrong selections before the first round and after each; ``spent`` (K, R): reviews
    asked for in each; ``asked``, ``accepted``, ``truth`` (K, N): reviews asked for in all rounds, whether the paper is
    selected in the end, and its quality.
    """

    wrong: FloatArray
    spent: IntArray
    asked: IntArray
    accepted: FloatArray
    truth: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Shape (R + 1,): expected wrong selections before the first round and after each."""
        return np.asarray(self.wrong.mean(axis=0))

    @property
    def error(self) -> FloatArray:
        """Shape (R + 1,): standard errors of :attr:`mean`; 0 for a single rollout."""
        size = len(self.wrong)
        return np.asarray(self.wrong.std(axis=0, ddof=1) / np.sqrt(size)) if size > 1 else np.zeros(self.wrong.shape[1])


def expected_wrong(mean: FloatArray, sd: FloatArray, n: int) -> float:
    """Return the expected number of wrong ones among the ``n`` papers selected, those of highest probability.

    >>> expected_wrong(np.array([2.0, 0.0, 0.0]), np.full(3, 0.1), 1) < 1e-6
    True
    """
    chance = np.sort(probability_in_top(mean, sd, n))[::-1]
    return float(n - chance[:n].sum())


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
    slopes = np.empty((deep, loss.shape[1]))
    for step in range(deep):
        # min over i <= step of max over j > step of (G_j - G_i) / (j - i).
        best = np.full(loss.shape[1], np.inf)
        for start in range(step + 1):
            ahead = [(gain[end] - gain[start]) / (end - start) for end in range(step + 1, deep + 1)]
            best = np.minimum(best, np.max(ahead, axis=0))
        slopes[step] = best
    return slopes


def spend(rate: FloatArray, size: IntArray, budget: int, least: float = 0.0) -> IntArray:
    """Return the number of steps of each group, shape (G,), highest rates first, of equals the first.

    ``rate`` (D, G), falling in D, is the gain per review of each step; a step takes ``size`` (G,) reviews, all or none,
    and steps of a rate up to ``least`` are not taken.

    >>> spend(np.array([[0.5, 0.4], [0.3, 0.2]]), np.ones(2, np.int64), 3).tolist()
    [2, 1]
    """
    deep, n_groups = rate.shape
    flat = rate.ravel(order="F")
    order = np.argsort(-flat, kind="stable")
    order = order[flat[order] > least]
    groups = order // deep
    cost = size[groups]
    if size.size and size.max() == 1:
        return np.asarray(np.bincount(groups[:budget], minlength=n_groups), np.int64)
    # A step that does not fit closes its group.
    count, remaining = np.zeros(n_groups, np.int64), budget
    closed = np.zeros(n_groups, np.bool_)
    for group, price in zip(groups.tolist(), cost.tolist(), strict=True):
        if not closed[group] and price <= remaining:
            count[group] += 1
            remaining -= price
        else:
            closed[group] = True
    return count


def asked_for(
    papers: Papers,
    mean: FloatArray,
    sd: FloatArray,
    pending: FloatArray,
    budget: int,
    least: float,
    arrive: float = 1.0,
) -> IntArray:
    """Return the number of reviews of each paper in a round, shape (N,), under the beliefs of that round.

    A review that arrives with probability ``arrive`` counts that share of its precision.
    """
    chance = probability_in_top(mean, sd, papers.n)
    last = np.sort(chance)[::-1][papers.n - 1 : papers.n + 1]
    price = float(np.clip(last.mean(), LEAST_PRICE, 1.0 - LEAST_PRICE))
    distance = mean - cut_of(mean, sd, papers.n)
    count = np.zeros(mean.size, np.int64)
    near = np.flatnonzero(np.minimum(chance, 1.0 - chance) > DECIDED)
    if not near.size:
        return count
    coming, typical = pending[near] * arrive, papers.typical * arrive
    loss = np.array([misplaced(distance[near], sd[near], coming + step * typical, price) for step in range(DEEP + 1)])
    if papers.group is None:
        count[near] = spend(step_rates(loss), np.ones(near.size, np.int64), budget, least)
        return count
    size = np.bincount(papers.group)
    total = np.array([np.bincount(papers.group[near], row, size.size) for row in loss])
    steps = spend(step_rates(total) / np.maximum(size, 1), size, budget, least)
    return np.asarray(steps[papers.group], np.int64)


def play(
    papers: Papers,
    budgets: Sequence[int],
    rng: np.random.Generator,
    *,
    arrive: float = 1.0,
    worth: float = 0.0,
    rollouts: int = ROLLOUTS,
) -> Rollouts:
    """Play rounds of some ``budgets`` through; O(K R N) for K rollouts and R rounds.

    Each review, pending ones included, arrives with probability ``arrive``; a step that gains no more than ``worth``
    per review is not taken, and what a round does not spend is added to the next. Reviews that are pending arrive with
    those of the first round.

    Parameters
    ----------
    papers
        Beliefs before the first round.
    budgets
        Reviews of each round.
    rng
        Of the draws: the same generator state gives the same qualities and noise for every schedule.
    arrive, worth, rollouts
        See above.

    Examples
    --------
    >>> papers = Papers(np.linspace(-1, 1, 40), np.full(40, 0.5), np.zeros(40), 1.0, 10)
    >>> one, two = (play(papers, budgets, np.random.default_rng(0)) for budgets in ([40], [20, 20]))
    >>> bool(one.mean[0] > one.mean[1] > two.mean[2])
    True
    """
    size, n_rounds = papers.mean.size, len(budgets)
    wrong, spent = np.empty((rollouts, n_rounds + 1)), np.zeros((rollouts, n_rounds), np.int64)
    counts, accepted = np.zeros((rollouts, size), np.int64), np.zeros((rollouts, size))
    truths = np.empty((rollouts, size))
    every = np.arange(size)
    # All rollouts begin with the same round.
    begun = expected_wrong(papers.mean, papers.sd, papers.n)
    first = asked_for(papers, papers.mean, papers.sd, papers.pending, budgets[0], worth, arrive)
    for number, generator in enumerate(rng.spawn(rollouts)):
        # All that may come: qualities, the sum of the noise of the first c reviews of each paper, and who delivers.
        truth = papers.mean + papers.sd * generator.standard_normal(size)
        noise = generator.standard_normal((size, MOST_REVIEWS + 1))
        comes = generator.random((size, MOST_REVIEWS)) < arrive
        pending = papers.pending * arrive
        total = np.concatenate([np.zeros((size, 1)), np.cumsum(noise[:, 1:] * comes, axis=1)], axis=1)
        number_of = np.concatenate([np.zeros((size, 1)), np.cumsum(comes, axis=1)], axis=1)
        # Precision and mean times precision: the beliefs, and the pending reviews with the first round.
        precision, shift = papers.sd**-2, papers.mean * papers.sd**-2
        late = pending * truth + np.sqrt(pending) * noise[:, 0]
        mean, sd = papers.mean, papers.sd
        wrong[number, 0] = begun
        count, saved = np.zeros(size, np.int64), 0
        for place, budget in enumerate(budgets):
            nothing = np.zeros(size)
            asked = first if place == 0 else asked_for(papers, mean, sd, nothing, budget + saved, worth, arrive)
            spent[number, place] = asked.sum()
            saved += budget - int(asked.sum())
            count = np.minimum(count + asked, MOST_REVIEWS)
            arrived = number_of[every, count]
            known = precision + pending + arrived * papers.typical
            mean = (
                shift + late + papers.typical * arrived * truth + np.sqrt(papers.typical) * total[every, count]
            ) / known
            sd = known**-0.5
            wrong[number, place + 1] = expected_wrong(mean, sd, papers.n)
        counts[number], truths[number] = count, truth
        accepted[number, np.argsort(-mean, kind="stable")[: papers.n]] = 1.0
    return Rollouts(wrong, spent, counts, accepted, truths)


#: Shapes of schedules by name: the weight of each of R rounds.
SHAPES: dict[str, Callable[[int], FloatArray]] = {
    "equal": lambda rounds: np.ones(rounds),
    "first": lambda rounds: np.arange(rounds, 0, -1.0),
    "last": lambda rounds: np.arange(1.0, rounds + 1.0),
}


def schedule(budget: int, rounds: int, shape: str = "equal") -> list[int]:
    """Split a budget over rounds; parts sum to it.

    >>> schedule(10, 4), schedule(10, 4, "first")
    ([3, 2, 3, 2], [4, 3, 2, 1])
    """
    weight = SHAPES[shape](rounds)
    ends = np.floor(np.cumsum(weight) / weight.sum() * budget + 0.5).astype(np.int64)
    return [int(part) for part in np.diff(ends, prepend=0)]

"""The results of the inference as plain arrays, and the contributions to the quality of a paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from lsc._inference.fitting import Population
from lsc._inference.scores import Scores
from lsc._inference.step import WIDTH, Items, PartState
from lsc._inference.validity import Validity
from reviewgraph._base import FloatArray, IntArray, Label, Status, snapped
from reviewgraph.table import Reviews

#: Normal quantiles .1, .3, .5, .7, .9: five equally likely values that represent the posterior of a reviewer.
FIFTHS = np.array([-1.2815515655446004, -0.5244005127080407, 0.0, 0.5244005127080407, 1.2815515655446004])[:, None]


class InferenceStatus(Status):
    """Outcome of the inference; ``.text`` describes it."""

    CONVERGED = "converged", "messages and hyperparameters have converged"
    NO_SIGNAL = (
        "no_signal",
        "the scores show no differences between reviewers: qualities are averages shrunk towards the mean",
    )
    SWEEPS_EXHAUSTED = (
        "sweeps_exhausted",
        "qualities still changed in the last sweep; a warning estimates how far off they are",
    )


class Quantity(NamedTuple):
    """A property of each reviewer, shapes (M,): posterior mean and ends of the central 90 % interval."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class Reviewers:
    """Posterior of the reviewers; NaN without scores.

    ``severity``: how much lower than a typical reviewer they score an average paper, in points of the scores;
    ``stretch``: their slope relative to a typical reviewer, 2 spreads papers twice as far apart; ``noise``: standard
    deviation of the residual noise of one score, in points, rounding included.
    """

    severity: Quantity
    stretch: Quantity
    noise: Quantity


def interquartile_range(quantity: Quantity) -> tuple[float, float]:
    """Return the quartiles of a property over reviewers.

    Each reviewer enters with their posterior, not only its mean: means of reviewers with few scores are shrunk
    together, and a reviewer with many would look unusual among them.
    """
    mean, low, high = (value[np.isfinite(value)] for value in quantity)
    half_width = np.where(FIFTHS > 0, high - mean, mean - low) / WIDTH
    first, third = np.quantile(mean + FIFTHS * half_width, [0.25, 0.75])
    return float(first), float(third)


@dataclass(frozen=True, eq=False)
class Beliefs:
    """Posterior of items and reviewers.

    Internally qualities have mean 0 and mean square about 1; ``location + scale * mean`` is the score a typical
    reviewer gives. ``mean``, ``variance`` (N,): internal and marginal, NaN for an item without scores; ``slope``,
    ``offset``, ``noise_variance`` (M,): internal posterior means of a, b and of the noise; ``reviewers``: in points;
    ``population``: hyperparameters, None without signal, where reviewers are alike; ``evidence``, ``null_evidence``:
    log evidence of the standardised scores under the model, and without reviewer effects; ``sweeps``: passes over the
    reviews; ``off``: estimated largest distance of a quality from its converged value, in its standard errors, 0 if
    converged; ``by_prior``: codes of the items whose quality is that of the prior, all reviewers being ignored.
    """

    mean: FloatArray
    variance: FloatArray
    location: float
    scale: float
    slope: FloatArray
    offset: FloatArray
    noise_variance: FloatArray
    reviewers: Reviewers
    population: Population | None
    evidence: float
    null_evidence: float
    status: InferenceStatus
    sweeps: int
    off: float
    by_prior: IntArray = field(default_factory=lambda: np.empty(0, np.int64), kw_only=True)

    @property
    def quality(self) -> FloatArray:
        """Shape (N,): posterior mean on the scale of a typical reviewer."""
        return self.location + self.scale * self.mean

    @property
    def standard_error(self) -> FloatArray:
        """Shape (N,): posterior standard deviation on the scale of a typical reviewer."""
        return self.scale * np.sqrt(self.variance)

    @property
    def signal(self) -> bool:
        """Whether the scores show differences between reviewers."""
        return self.population is not None

    @property
    def kappa(self) -> float:
        """Similarity of papers that share reviewers: 0 for random assignment, towards 1 where they are alike."""
        return 0.0 if self.population is None else self.population.kappa

    @property
    def prior(self) -> float:
        """Prior precision of each item."""
        return 1.0 - self.kappa

    @property
    def rounding(self) -> float:
        """Variance of rounding, standardised; without signal it is in the noise."""
        return 0.0 if self.population is None else self.population.rounding

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Hyperparameters by name; without signal those of the model in which reviewers are alike."""
        if self.population is not None:
            return self.population._asdict()
        slope, offset, noise = self.alike
        return {"slope": slope, "g0": offset, "noise": math.sqrt(noise)}

    @property
    def alike(self) -> tuple[float, float, float]:
        """Slope, offset and noise variance of all reviewers without signal."""
        slope, offset, noise = (float(np.nanmean(value)) for value in (self.slope, self.offset, self.noise_variance))
        return slope, offset, noise

    def with_prior(self, scored: IntArray) -> Self:
        """Return the beliefs in which those of the codes ``scored`` that have no mean have that of the prior."""
        item = np.unique(scored[np.isnan(self.mean[scored])])
        if not item.size:
            return self
        mean = self.mean.copy()
        variance = self.variance.copy()
        mean[item] = 0.0
        variance[item] = 1.0 / self.prior
        return replace(self, mean=mean, variance=variance, by_prior=item)


@dataclass(frozen=True, eq=False)
class Posterior(Beliefs):
    """Beliefs with their site parameters, from :func:`lsc._inference.inferring.infer`.

    Sums over the reviews r of item i are exact::

        variance_i = 1 / (prior + sum_r precision_r + sum_r likeness_precision_r)
        mean_i = variance_i * (sum_r shift_r + sum_r likeness_shift_r)

    So a review contributes ``variance_i * shift_r`` with weight ``variance_i * precision_r``; its own estimate is
    ``shift_r / precision_r``. ``reviewer``, ``item``, and the site parameters (E,) are in the order of the input, those
    of the similarity of papers 0 where ``kappa`` is 0. ``scores``: those used; ``state``, ``items``: final state of the
    inference.
    """

    reviewer: IntArray
    item: IntArray
    precision: FloatArray
    shift: FloatArray
    likeness_precision: FloatArray
    likeness_shift: FloatArray
    scores: Scores
    state: PartState
    items: Items

    @property
    def used(self) -> IntArray:
        """Rows of the reviews in use, by reviewer and item."""
        return self.scores.order


# Contributions to a paper's quality, which sum to it exactly.

#: Weight below which a source has no estimate of its own.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class Part:
    """Contribution of one source to the quality of a paper.

    ``source``: ``"review"``, ``"likeness"`` (the other papers of its reviewers), ``"reference"`` or ``"middle"`` (the
    prior mean); ``score``: as passed, that of a reference on its own scale, None for other sources; ``severity``,
    ``stretch``: corrections added to the score, for the reviewer's severity, and for their slope and other papers;
    ``criteria``: points that each criterion adds to it, what it takes from the target's own score included. ``says``:
    estimate of the quality from this source alone, for a review the sum of these; ``weight``: its share in the result,
    of 1; ``moves``: weight x (says - middle).
    """

    source: str
    reviewer: Label | None
    score: float | None
    severity: float
    stretch: float
    says: float
    weight: float
    moves: float
    criteria: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the entries, without criteria if there are none."""
        return {name: value for name, value in vars(self).items() if name != "criteria" or value}


@dataclass(frozen=True)
class Account:
    """Contributions to the quality of one paper: ``middle + sum of moves = quality``, to rounding.

    Numbers are in the direction of the scores; ``middle`` is the prior mean of all papers. ``parts`` are reviews in the
    order of reviewers, then the other sources. With ``of_references`` qualities are on the scale of references, and the
    stretch includes the change of the scale.
    """

    item: Label
    quality: float
    standard_error: float
    average: float
    middle: float
    parts: tuple[Part, ...]
    lower_is_better: bool = False
    of_references: bool = False

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return self.middle + sum(part.moves for part in self.parts)

    def anonymous(self) -> Account:
        """Return the same with labels "Reviewer 1", "Reviewer 2", ..., by descending score.

        The order depends on the contributions alone, so it identifies nobody.
        """
        likeness = {part.reviewer: (part.weight, part.moves) for part in self.parts if part.source == "likeness"}
        reviews = [part for part in self.parts if part.source == "review"]
        keys = [
            (-(part.score or 0.0), -part.says, -part.weight, *likeness.get(part.reviewer, (0.0, 0.0)))
            for part in reviews
        ]
        order = np.lexsort([snapped(column) for column in np.array(keys).reshape(-1, 5).T[::-1]])
        rank = {reviews[place].reviewer: number for number, place in enumerate(order.tolist(), 1)}
        # Reviews first, then likeness, both in the new order; the other sources keep theirs.
        parts = sorted(self.parts, key=lambda part: (part.source != "review", rank.get(part.reviewer, len(rank) + 1)))
        named = [
            part if part.reviewer is None else replace(part, reviewer=f"Reviewer {rank[part.reviewer]}")
            for part in parts
        ]
        return replace(self, parts=tuple(named))

    def to_dict(self) -> dict[str, Any]:
        """Return the entries that the command's ``--json`` prints."""
        numbers = {name: getattr(self, name) for name in ("item", "quality", "standard_error", "average", "middle")}
        return {**numbers, "parts": [part.to_dict() for part in self.parts]}


def accounts_of(
    beliefs: Posterior,
    reviews: Reviews,
    validity: Validity,
    items: Iterable[int],
    criteria: Mapping[str, FloatArray],
) -> Iterator[Account]:
    """Yield the contributions to the quality of items, in the direction of the scores, with one sort of the reviews.

    ``criteria`` has by name the points that each adds to the scores of the reviews, shapes (E,).

    With v the variance of an item, a source r has weight v precision_r and moves the mean by v shift_r; the prior, of
    mean 0, has the remaining weight and moves nothing. What a reference says takes a share of all weights.
    """
    order = np.lexsort((beliefs.reviewer, beliefs.item))
    sorted_items = beliefs.item[order]
    scores = reviews.printed(reviews.score[reviews.scored])
    sign = float(reviews.printed([1.0])[0])
    middle = validity.intercept + validity.slope * beliefs.location
    qualities = reviews.printed(validity.quality(beliefs.quality))
    errors = validity.standard_error(beliefs.standard_error)

    def account(item: int, rows: IntArray) -> Account:
        of_reviews = 1.0 - float(validity.share[item])
        unit = of_reviews * float(beliefs.variance[item])
        scale = validity.slope * beliefs.scale

        def part(source: str, precision: float, shift: float, reviewer: Label | None = None) -> Part:
            weight = float(unit * precision)
            moves = float(unit * scale * shift)
            says = middle + (moves / weight if weight > NEGLIGIBLE else 0.0)
            return Part(source, reviewer, None, 0.0, 0.0, sign * says, weight, sign * moves)

        parts = []
        for r in rows.tolist():
            j = int(beliefs.reviewer[r])
            review = part("review", beliefs.precision[r], beliefs.shift[r], reviews.reviewers[j])
            score = float(scores[r])
            severity = sign * float(beliefs.reviewers.severity.mean[j])
            further = {name: sign * float(value[r]) for name, value in criteria.items()}
            stretch = review.says - score - severity - sum(further.values())
            parts.append(replace(review, score=score, severity=severity, stretch=stretch, criteria=further))
        if beliefs.kappa > 0:
            for r in rows.tolist():
                label = reviews.reviewers[int(beliefs.reviewer[r])]
                parts.append(part("likeness", beliefs.likeness_precision[r], beliefs.likeness_shift[r], label))
        if of_reviews < 1:
            value = float(validity.value[item])
            moves = (1.0 - of_reviews) * (value - middle)
            reference = sign * value
            parts.append(Part("reference", None, reference, 0.0, 0.0, reference, 1.0 - of_reviews, sign * moves))
        parts.append(part("middle", beliefs.prior, 0.0))
        return Account(
            item=reviews.items[item],
            quality=float(qualities[item]),
            standard_error=float(errors[item]),
            average=float(scores[rows].mean()) if rows.size else float("nan"),
            middle=sign * middle,
            parts=tuple(parts),
            lower_is_better=reviews.lower_is_better,
            of_references=validity.is_learned,
        )

    for item in items:
        first, last = np.searchsorted(sorted_items, [item, item + 1]).tolist()
        yield account(item, order[first:last])

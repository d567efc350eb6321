"""Simulated conferences (bids, conflicts) and simulated scores with their true qualities, and named settings.

A setting has an assignment (:mod:`reviewgraph.graph.designs`), scoring functions and noise, as in [Tan21]_.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from lsc._model.hypotheses import Hypothesis, simulated
from reviewgraph._base import BoolArray, FloatArray, InputError, IntArray, Result, checked
from reviewgraph.graph import doubly_connected_assignment, random_assignment
from reviewgraph.table import Reviews, ReviewsLike, as_reviews

#: Bids in ascending order, and the quantiles of willingness between them.
BIDS = ("Very Low", "Low", "Neutral", "High", "Very High")
SHARES = (0.3, 0.6, 0.8, 0.93)
#: Standard deviation of the noise of willingness, which otherwise is the distance in a plane of topics.
MOOD_SD = 0.3
REVIEWERS_PER_INSTITUTION = 3
#: Mean and standard deviation of true qualities, from the scores of ICLR 2019 (section 5 of [Tan21]_), and their range.
QUALITY_MEAN = 5.32
QUALITY_SD = 1.2
QUALITY_RANGE = (0.0, 10.0)
#: Maximum noise: above it, scores have no information about quality.
LOUDEST = 1e6

#: A seed, or a generator to continue with.
Seed: TypeAlias = int | np.random.Generator
#: Whether noise is added to the quality that a reviewer perceives (the paper's model), or to the score.
Noise: TypeAlias = Literal["inside", "outside"]
Design: TypeAlias = Literal["random", "double"]


class Conference(NamedTuple):
    """Bids as indices of ``BIDS`` and conflicts, both shape (N, M), and institutions of reviewers, shape (M,)."""

    bid: IntArray
    conflict: BoolArray
    institution: IntArray


def draw_conference(n_items: int, n_reviewers: int, seed: Seed) -> Conference:
    """Draw bids by topic, and conflicts between each paper and the reviewers of one institution."""
    if min(n_items, n_reviewers) < 1:
        raise InputError(f"expected papers and reviewers, found {n_items} and {n_reviewers}")
    rng = np.random.default_rng(seed)
    topic = rng.random((n_items, 1, 2))
    interest = rng.random((1, n_reviewers, 2))
    willingness = -np.hypot(*np.moveaxis(topic - interest, 2, 0)) + rng.normal(0.0, MOOD_SD, (n_items, n_reviewers))
    bid = np.searchsorted(np.quantile(willingness, SHARES), willingness)
    institution = rng.permutation(n_reviewers) // REVIEWERS_PER_INSTITUTION
    origin = rng.integers(institution.max() + 1, size=n_items)
    return Conference(bid, origin[:, None] == institution, institution)


# Random scoring functions.

#: The classes that can be simulated, by name.
SIMULATED: Mapping[str, type[Hypothesis]] = {kind.name: kind for kind in simulated()}


def _scores(kinds: Sequence[str], reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw a scoring function of the class ``kinds[j]`` for every reviewer j and apply it, shape (E,)."""
    wrong = [kind for kind in kinds if kind not in SIMULATED]
    if wrong:
        raise InputError(f"kinds: expected each to be one of {', '.join(SIMULATED)}, found {wrong[0]!r}")
    score = np.empty(reviewer.size)
    kind = np.array(kinds, dtype=object)[reviewer]
    for name, simulated_kind in SIMULATED.items():
        if name in kinds:
            rows = np.flatnonzero(kind == name)
            score[rows] = simulated_kind.draw_scores(reviewer[rows], perceived[rows], rng)
    return score


def draw_kinds(shares: Mapping[str, float], n_reviewers: int, seed: int | np.random.Generator) -> list[str]:
    """Return a kind for each reviewer, in random order, with counts as close to the shares as possible."""
    weight = np.array(list(shares.values()), np.float64)
    if not (weight >= 0).all() or not 0 < weight.sum() < np.inf:
        raise InputError(f"shares: expected weights of at least 0, not all 0, found {dict(shares)}")
    last = np.rint(np.cumsum(weight) / weight.sum() * n_reviewers).astype(np.int64)
    kinds = np.repeat(np.array(list(shares), dtype=object), np.diff(last, prepend=0))
    return [str(kind) for kind in np.random.default_rng(seed).permutation(kinds)]


# Simulated scores as in the paper's experiments.


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Result):
    """Simulated scores with the true qualities.

    Parameters
    ----------
    reviews
        The scored reviews.
    truth
        Shape (N,): the true quality of each item.
    kinds
        The kind of each reviewer; None unless kinds were drawn.

    Examples
    --------
    >>> simulate(10, 8, 3, seed=0)
    <Simulation: 8 reviewers, 10 items, 24 reviews>
    """

    reviews: Reviews
    truth: FloatArray
    kinds: Sequence[str] | None = None

    _rows_are: ClassVar[str] = "items"

    def to_columns(self) -> dict[str, list[Any]]:
        """Return each item with its true quality."""
        return {"item": list(self.reviews.items), "quality": self.truth.tolist()}

    def to_dict(self) -> dict[str, Any]:
        """Return the reviews by column, and the qualities and kinds."""
        kinds = None if self.kinds is None else list(self.kinds)
        return {"reviews": self.reviews.to_dict(), "truth": self.truth.tolist(), "kinds": kinds}

    def headline(self) -> str:
        """Return the sizes."""
        return self.reviews.headline()

    def _tables(self) -> dict[str, Callable[[], Mapping[str, Sequence[Any]]]]:
        return {**super()._tables(), "reviews": self.reviews.to_columns}


@checked
def simulate(
    n_items: int = 1000,
    n_reviewers: int = 1000,
    load: int = 5,
    *,
    noise: float = 0.0,
    seed: int | np.random.Generator,
    where: Noise = "inside",
    kinds: Sequence[str] | None = None,
    assignment: ReviewsLike | None = None,
) -> Simulation:
    """Draw true qualities, an assignment and scores.

    ::

        truth ~ N(5.32, 1.2),  score_ij = f_j(truth_i + noise * N(0, 1))    (inside)
                               score_ij = f_j(truth_i) + noise * N(0, 1)    (outside)

    truth and perceived quality clipped to [0, 10].

    Parameters
    ----------
    n_items, n_reviewers, load
        N, M and items per reviewer (1000, 1000 and 5: the paper's setting).
    noise
        Standard deviation sigma of the noise (0 by default).
    seed
        An integer or a generator.
    where
        Noise in the perceived quality (``"inside"``, the default), or in the score (``"outside"``).
    kinds
        The hypothesis class of each reviewer's scoring function; all linear by default.
    assignment
        A random assignment by default. It overrides the sizes.

    Returns
    -------
    Simulation
        With ``reviews`` and their true qualities, ``truth``.

    Raises
    ------
    InputError
        If ``noise`` is negative, ``where`` is not one of its values, or ``kinds`` are not simulated.
    ImpossibleDesign
        If ``load`` exceeds the number of items.

    Examples
    --------
    >>> simulation = simulate(10, 8, 3, seed=0)
    >>> simulation.reviews, simulation.truth.shape
    (<Reviews: 8 reviewers, 10 items, 24 reviews>, (10,))
    """
    if not 0 <= noise <= LOUDEST:
        raise InputError(f"noise: expected a standard deviation from 0 to {LOUDEST:g}, found {noise}")
    if where not in ("inside", "outside"):
        raise InputError(f"where: expected 'inside' or 'outside', found {where!r}")
    rng = np.random.default_rng(seed)
    design = random_assignment(n_items, n_reviewers, load, rng) if assignment is None else as_reviews(assignment)
    truth = true_qualities(design.n_items, rng)
    error = noise * rng.standard_normal(design.n_reviews)
    inside, outside = (error, 0.0) if where == "inside" else (0.0, error)
    perceived = np.clip(truth[design.item] + inside, *QUALITY_RANGE)
    chosen = ["linear"] * design.n_reviewers if kinds is None else list(kinds)
    if len(chosen) != design.n_reviewers:
        raise InputError(f"kinds: expected one per reviewer, {design.n_reviewers}, found {len(chosen)}")
    score = _scores(chosen, design.reviewer, perceived, rng) + outside
    reviews = Reviews.from_codes(
        design.reviewer, design.item, score, reviewers=design.reviewers, items=design.items, titles=design.titles
    )
    return Simulation(reviews, truth, kinds)


def true_qualities(n_items: int, seed: Seed) -> FloatArray:
    """Draw true qualities, N(5.32, 1.2) clipped to [0, 10], shape (N,)."""
    return np.clip(np.random.default_rng(seed).normal(QUALITY_MEAN, QUALITY_SD, n_items), *QUALITY_RANGE)


# Named settings: those of the paper's experiments, and a realistic one.

#: Algorithms 2 and 3 of the paper.
DESIGNS = {"random": random_assignment, "double": doubly_connected_assignment}

#: The realistic setting: reviews per paper, standard deviations of log slopes, offsets and noise, the shape of
#: reviewers' willingness (gamma), and the range of scores.
REVIEWS_PER_ITEM = (3, 6)
LOG_SLOPE_SD = 0.3
OFFSET_SD = 0.8
NOISE_SD = 1.0
NOISE_FREEDOM = 4
WILLINGNESS = 2.0
LOWEST = 1
HIGHEST = 10


@dataclass(frozen=True)
class Setting:
    """A setting of the paper's kind: sizes, noise, shares of scoring functions and the assignment.

    Parameters
    ----------
    n_items, n_reviewers, load
        N, M and k (1000, 1000 and 5).
    noise, where
        As in :func:`lsc.simulation.simulate`.
    shares
        Pairs of a hypothesis class and its share of reviewers (all linear).
    design
        ``"random"`` (Algorithm 2, the default) or ``"double"`` (Algorithm 3).

    Examples
    --------
    >>> simulation = Setting(20, 10, 4, shares=(("linear", 0.5), ("convex", 0.5))).draw(0)
    >>> simulation.reviews, simulation.kinds.count("convex")
    (<Reviews: 10 reviewers, 20 items, 40 reviews>, 5)
    """

    n_items: int = 1000
    n_reviewers: int = 1000
    load: int = 5
    noise: float = 0.0
    where: Noise = "inside"
    shares: tuple[tuple[str, float], ...] = (("linear", 1.0),)
    design: Design = "random"

    @property
    def key(self) -> str:
        """A unique name of the setting, for folders and for the seeds of trials."""
        shares = "-".join(f"{kind}{share:g}" for kind, share in self.shares)
        sizes = f"N{self.n_items}-M{self.n_reviewers}-k{self.load}"
        return f"{self.design}-{sizes}-{self.where}{self.noise:g}-{shares}"

    def draw(self, seed: Seed) -> Simulation:
        """Draw an assignment, kinds, true qualities and scores."""
        rng = np.random.default_rng(seed)
        if self.design not in DESIGNS:
            raise InputError(f"design: expected one of {', '.join(DESIGNS)}, found {self.design!r}")
        assignment = DESIGNS[self.design](self.n_items, self.n_reviewers, self.load, rng)
        kinds = draw_kinds(dict(self.shares), self.n_reviewers, rng)
        return simulate(noise=self.noise, where=self.where, kinds=kinds, assignment=assignment, seed=rng)

    def scaled(self, n_items: int) -> Setting:
        """Return the setting with ``n_items`` items, and reviewers in proportion."""
        return replace(self, n_items=n_items, n_reviewers=round(self.n_reviewers * n_items / self.n_items))


@dataclass(frozen=True)
class Realistic:
    """Realistic scores of a conference.

    Each item has 3 to 6 reviews from reviewers who differ in willingness, so loads are uneven. Reviewers have
    log-normal slopes and normal offsets; scores have heavy-tailed noise, and are rounded and clipped to 1 to 10::

        y_ij = clip(round(5.32 + a_j (x_i - 5.32) + b_j + noise * t_4), 1, 10)

    Parameters
    ----------
    n_items, n_reviewers
        N and M.
    noise
        Scale of the noise, Student's t with 4 degrees of freedom (1).
    assignment
        Random by default. It overrides the sizes.

    Examples
    --------
    >>> simulation = Realistic(50, 40).draw(0)
    >>> sorted(set(simulation.reviews.reviews_per_item.tolist()))
    [3, 4, 5, 6]
    """

    n_items: int = 1000
    n_reviewers: int = 1000
    noise: float = NOISE_SD
    assignment: Reviews | None = None

    def draw(self, seed: Seed) -> Simulation:
        """Draw loads, an assignment, true qualities and scores; InputError if ``noise`` is negative."""
        rng = np.random.default_rng(seed)
        if not 0 <= self.noise <= LOUDEST:
            raise InputError(f"noise: expected a scale from 0 to {LOUDEST:g}, found {self.noise}")
        reviews = self._drawn_assignment(rng) if self.assignment is None else self.assignment
        truth = true_qualities(reviews.n_items, rng)
        score = replace(self, n_reviewers=reviews.n_reviewers).scores(truth[reviews.item], reviews.reviewer, rng)
        scored = Reviews.from_codes(
            reviews.reviewer, reviews.item, score, reviewers=reviews.reviewers, items=reviews.items
        )
        return Simulation(scored, truth)

    def _drawn_assignment(self, rng: np.random.Generator) -> Reviews:
        least, most = REVIEWS_PER_ITEM
        if most > self.n_reviewers:
            message = (
                f"n_reviewers: expected {most} or more, as items have up to {most} reviews, found {self.n_reviewers}"
            )
            raise InputError(message)
        # Distinct reviewers of each item, by willingness.
        reach = np.cumsum(rng.gamma(WILLINGNESS, 1.0, self.n_reviewers))
        demand = rng.integers(least, most, self.n_items, endpoint=True)
        reviewer: list[int] = []
        for needed in demand.tolist():
            distinct: dict[int, None] = {}
            while len(distinct) < needed:
                drawn = np.searchsorted(reach, rng.uniform(0.0, reach[-1], needed), side="right")
                distinct.update(dict.fromkeys(np.minimum(drawn, self.n_reviewers - 1).tolist()))
            reviewer += list(distinct)[:needed]
        codes = np.array(reviewer, np.int64), np.repeat(np.arange(self.n_items), demand)
        return Reviews.from_codes(*codes, reviewers=self.n_reviewers, items=self.n_items)

    def scores(self, quality: FloatArray, reviewer: IntArray, rng: np.random.Generator) -> FloatArray:
        """Draw slopes and offsets of reviewers, and a score of each quality by its reviewer; all shapes (E,)."""
        slope = rng.lognormal(0.0, LOG_SLOPE_SD, self.n_reviewers)[reviewer]
        offset = rng.normal(0.0, OFFSET_SD, self.n_reviewers)[reviewer]
        error = self.noise * rng.standard_t(NOISE_FREEDOM, quality.size)
        middle = quality.mean() if quality.size else 0.0
        return np.clip(np.rint(middle + slope * (quality - middle) + offset + error), LOWEST, HIGHEST)


MIXED = (("concave", 1.0), ("convex", 1.0), ("monotone", 1.0))

#: The settings of ``reviewgraph simulate``.
PRESETS: Mapping[str, Setting | Realistic] = {
    **{kind: Setting(shares=((kind, 1.0),)) for kind in SIMULATED},
    "mixture": Setting(shares=(("linear", 0.5), ("monotone", 0.5))),
    "mixed": Setting(shares=MIXED),
    "doubly-connected": Setting(n_reviewers=350, design="double"),
    "realistic": Realistic(),
}

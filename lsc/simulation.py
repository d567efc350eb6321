"""A conference before its reviews: who is there, who bids for what, and who may not review what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from lsc._model.hypotheses import Concave, Convex, Linear, Monotone, simulated
from reviewgraph._base.arrays import FloatArray, IntArray
from reviewgraph._base.errors import InputError
from reviewgraph.graph.designs import doubly_connected_assignment, random_assignment
from reviewgraph.table.reviews import Reviews

if TYPE_CHECKING:
    from reviewgraph._base.arrays import BoolArray


#: Bids from the least to the most willing, and the shares of pairs that each is short of.
BIDS, SHARES = ("Very Low", "Low", "Neutral", "High", "Very High"), (0.3, 0.6, 0.8, 0.93)
#: Papers and people lie in a plane of topics: who is near bids high, up to a mood.
MOOD_SD = 0.3
REVIEWERS_PER_INSTITUTION = 3


class Conference(NamedTuple):
    """Bids as places in ``BIDS`` and conflicts, both shape (N, M), and the institution of each reviewer, shape (M,)."""

    bid: IntArray
    conflict: BoolArray
    institution: IntArray


def draw_conference(n_items: int, n_reviewers: int, seed: Seed) -> Conference:
    """Draw bids by topic, and conflicts: a paper comes from one institution, whose people do not review it.

    Raises
    ------
    InputError
        If there are no papers or no reviewers.

    Examples
    --------
    >>> conference = draw_conference(20, 12, 0)
    >>> conference.bid.shape, int(conference.conflict.sum(axis=1).max())
    ((20, 12), 3)
    """
    if min(n_items, n_reviewers) < 1:
        message = f"expected papers and reviewers, found {n_items} and {n_reviewers}"
        raise InputError(message)
    rng = np.random.default_rng(seed)
    topic, interest = rng.random((n_items, 1, 2)), rng.random((1, n_reviewers, 2))
    wish = -np.hypot(*np.moveaxis(topic - interest, 2, 0)) + rng.normal(0.0, MOOD_SD, (n_items, n_reviewers))
    bid = np.searchsorted(np.quantile(wish, SHARES), wish)
    institution = rng.permutation(n_reviewers) // REVIEWERS_PER_INSTITUTION
    origin = rng.integers(institution.max() + 1, size=n_items)
    return Conference(bid, origin[:, None] == institution, institution)


# Scoring functions drawn at random: those of one hypothesis class, or of a class for each reviewer.
#
# All have the form ``(reviewer (E,), perceived (E,), rng) -> score (E,)`` and draw one function per reviewer.

#: Draws a scoring function for every reviewer and applies it: ``(reviewer (E,), perceived (E,), rng) -> scores (E,)``.
Scoring: TypeAlias = Callable[[IntArray, FloatArray, np.random.Generator], FloatArray]

linear_scores: Scoring = Linear.draw_scores
convex_scores: Scoring = Convex.draw_scores
concave_scores: Scoring = Concave.draw_scores
monotone_scores: Scoring = Monotone.draw_scores

#: By name of the hypothesis class.
SCORINGS: Mapping[str, Scoring] = {kind.name: kind.draw_scores for kind in simulated()}


def scores_by_kind(kinds: Sequence[str]) -> Scoring:
    """Return the scoring in which reviewer j's function is of kind ``kinds[j]``.

    Parameters
    ----------
    kinds
        For each reviewer the name of a hypothesis class, of those that can be simulated: ``"linear"``, ``"convex"``,
        ``"concave"`` or ``"monotone"``.

    Raises
    ------
    InputError
        If a kind is none of these, or the scoring meets a reviewer beyond the last kind.

    Examples
    --------
    >>> scoring = scores_by_kind(["linear", "convex"])
    >>> scoring(np.array([0, 0, 1, 1]), np.array([1.0, 2.0, 1.0, 2.0]), np.random.default_rng(0)).shape
    (4,)
    """
    wrong = [kind for kind in kinds if kind not in SCORINGS]
    if wrong:
        message = f"kinds: expected each to be one of {', '.join(SCORINGS)}, found {wrong[0]!r}"
        raise InputError(message)

    def scoring(reviewer: IntArray, perceived: FloatArray, rng: np.random.Generator) -> FloatArray:
        size = 1 + int(reviewer.max(initial=-1))
        if size > len(kinds):
            message = f"kinds: expected one for each of {size} reviewers, found {len(kinds)}"
            raise InputError(message)
        score = np.empty(reviewer.size)
        kind = np.array(kinds, dtype=object)[reviewer]
        for name, function in SCORINGS.items():
            if name in kinds:
                rows = np.flatnonzero(kind == name)
                score[rows] = function(reviewer[rows], perceived[rows], rng)
        return score

    return scoring


def draw_kinds(shares: Mapping[str, float], n_reviewers: int, seed: int | np.random.Generator) -> list[str]:
    """Give each reviewer a kind, in random order, so that the counts come as near to the shares as they can.

    Parameters
    ----------
    shares
        Weight of each kind, at least 0, not all 0.

    Raises
    ------
    InputError
        If a share is negative or all are 0.

    Examples
    --------
    >>> sorted(draw_kinds({"linear": 1, "monotone": 3}, 4, 0))
    ['linear', 'monotone', 'monotone', 'monotone']
    """
    weight = np.array(list(shares.values()), np.float64)
    if not (weight >= 0).all() or not 0 < weight.sum() < np.inf:
        message = f"shares: expected weights of at least 0, not all 0, found {dict(shares)}"
        raise InputError(message)
    last = np.rint(np.cumsum(weight) / weight.sum() * n_reviewers).astype(np.int64)
    kinds = np.repeat(np.array(list(shares), dtype=object), np.diff(last, prepend=0))
    return [str(kind) for kind in np.random.default_rng(seed).permutation(kinds)]


# Scores made up as in the paper's experiments, with the truth beside them.
#
# A setting is three choices: the assignment (:mod:`reviewgraph.graph.designs`), the scoring functions and the noise.

#: Mean and standard deviation of true qualities, from the scores of ICLR 2019 (section 5 of [Tan21]_), and their range.
QUALITY_MEAN, QUALITY_SD = 5.32, 1.2
QUALITY_RANGE = (0.0, 10.0)
#: No noise is larger: beyond, scores tell of nothing else.
LOUDEST = 1e6

#: What makes randomness: a whole number, or a generator to go on from.
Seed: TypeAlias = int | np.random.Generator

#: Where noise enters: the quality that a reviewer perceives (the paper's model), or the score itself.
Noise: TypeAlias = Literal["inside", "outside"]


@dataclass(frozen=True, eq=False)
class Simulation:
    """Scored reviews, the true quality of each item, shape (N,), and each reviewer's kind where kinds were drawn."""

    reviews: Reviews
    truth: FloatArray
    kinds: Sequence[str] | None = None


def simulate(
    n_items: int = 1000,
    n_reviewers: int = 1000,
    load: int = 5,
    *,
    noise: float = 0.0,
    seed: Seed,
    where: Noise = "inside",
    scoring: Scoring | None = None,
    assignment: Reviews | None = None,
) -> Simulation:
    """Draw true qualities, an assignment and scores.

    ::

        truth ~ N(5.32, 1.2),  score_ij = f_j(truth_i + noise * N(0, 1))    (inside)
                               score_ij = f_j(truth_i) + noise * N(0, 1)    (outside)

    truth and perceived quality clipped to [0, 10].

    Parameters
    ----------
    n_items, n_reviewers, load
        N, M and items a reviewer (1000, 1000 and 5: the paper's setting).
    noise
        Standard deviation sigma of the noise (none by default).
    where
        Noise in the quality perceived, in units of quality (``"inside"``, the default), or in the score
        (``"outside"``).
    seed
        A whole number, or a generator, which is drawn from.
    scoring
        How scores come about; :func:`linear_scores` by default.
    assignment
        Who reviews what; a random assignment by default. It overrides the sizes.

    Raises
    ------
    InputError
        If ``noise`` is negative or ``where`` neither of its values.
    ImpossibleDesign
        If a reviewer would need more items than there are.

    Examples
    --------
    >>> simulation = simulate(10, 8, 3, seed=0)
    >>> simulation.reviews, simulation.truth.shape
    (<Reviews: 8 reviewers, 10 items, 24 reviews>, (10,))
    """
    if not 0 <= noise <= LOUDEST:
        message = f"noise: expected a standard deviation from 0 to {LOUDEST:g}, found {noise}"
        raise InputError(message)
    if where not in ("inside", "outside"):
        message = f"where: expected 'inside' or 'outside', found {where!r}"
        raise InputError(message)
    rng = np.random.default_rng(seed)
    design = random_assignment(n_items, n_reviewers, load, rng) if assignment is None else assignment
    truth = true_qualities(design.n_items, rng)
    error = noise * rng.standard_normal(design.n_reviews)
    inside, outside = (error, 0.0) if where == "inside" else (0.0, error)
    perceived = np.clip(truth[design.item] + inside, *QUALITY_RANGE)
    score = (scoring or linear_scores)(design.reviewer, perceived, rng) + outside
    reviews = Reviews.from_codes(
        design.reviewer, design.item, score, reviewers=design.reviewers, items=design.items, titles=design.titles
    )
    return Simulation(reviews, truth)


def true_qualities(n_items: int, seed: Seed) -> FloatArray:
    """Draw true qualities, N(5.32, 1.2) clipped to [0, 10], shape (N,).

    >>> float(true_qualities(1000, 0).mean().round(1))
    5.3
    """
    return np.clip(np.random.default_rng(seed).normal(QUALITY_MEAN, QUALITY_SD, n_items), *QUALITY_RANGE)


# Settings that have a name: those of the paper's experiments, and one that looks like a conference.

Design: TypeAlias = Literal["random", "double"]
#: Algorithms 2 and 3 of the paper.
DESIGNS = {"random": random_assignment, "double": doubly_connected_assignment}

#: The realistic setting: reviews a paper, spread of log slopes, offsets and noise, and of reviewers' willingness.
REVIEWS_PER_ITEM = (3, 6)
LOG_SLOPE_SD, OFFSET_SD, NOISE_SD, NOISE_FREEDOM = 0.3, 0.8, 1.0, 4
WILLINGNESS = 2.0
LOWEST, HIGHEST = 1, 10


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
        Pairs of a kind of scoring function and its share of reviewers (all linear).
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
        """The setting as a name for a folder, from which trials are seeded: no two settings share it."""
        shares = "-".join(f"{kind}{share:g}" for kind, share in self.shares)
        sizes = f"N{self.n_items}-M{self.n_reviewers}-k{self.load}"
        return f"{self.design}-{sizes}-{self.where}{self.noise:g}-{shares}"

    @property
    def mixed(self) -> bool:
        """Whether reviewers differ in kind."""
        return len(self.shares) > 1

    def draw(self, seed: Seed) -> Simulation:
        """Draw an assignment, kinds, true qualities and scores."""
        rng = np.random.default_rng(seed)
        if self.design not in DESIGNS:
            message = f"design: expected one of {', '.join(DESIGNS)}, found {self.design!r}"
            raise InputError(message)
        assignment = DESIGNS[self.design](self.n_items, self.n_reviewers, self.load, rng)
        kinds = draw_kinds(dict(self.shares), self.n_reviewers, rng)
        found = simulate(
            noise=self.noise, where=self.where, scoring=scores_by_kind(kinds), assignment=assignment, seed=rng
        )
        return replace(found, kinds=kinds)

    def scaled(self, n_items: int) -> Setting:
        """Return the setting with so many items, and reviewers in proportion."""
        return replace(self, n_items=n_items, n_reviewers=round(self.n_reviewers * n_items / self.n_items))

    def to_dict(self) -> dict[str, Any]:
        """Return the setting as plain values."""
        return {**asdict(self), "shares": dict(self.shares)}


@dataclass(frozen=True)
class Realistic:
    """Scores as a conference sees them.

    Each item gets 3 to 6 reviews from reviewers who differ in willingness, so loads are uneven. A reviewer's slope is
    log-normal, she has an offset, and her scores are off by heavy-tailed noise, rounded and kept within 1 to 10::

        y_ij = clip(round(5.32 + a_j (x_i - 5.32) + b_j + noise * t_4), 1, 10)

    Parameters
    ----------
    n_items, n_reviewers
        N and M.
    noise
        Scale of the noise, Student's t with 4 degrees of freedom (1).
    reviews_per_item
        The fewest and the most reviews of an item (3 and 6).
    assignment
        Who reviews what; drawn by default. It overrides the sizes.

    Examples
    --------
    >>> simulation = Realistic(50, 40).draw(0)
    >>> sorted(set(simulation.reviews.reviews_per_item.tolist()))
    [3, 4, 5, 6]
    """

    n_items: int = 1000
    n_reviewers: int = 1000
    noise: float = NOISE_SD
    reviews_per_item: tuple[int, int] = REVIEWS_PER_ITEM
    assignment: Reviews | None = None

    def draw(self, seed: Seed) -> Simulation:
        """Draw loads, an assignment, true qualities and scores.

        Raises
        ------
        InputError
            If ``noise`` is negative, or, where no assignment is given, there are fewer reviewers than an item may need
            or the fewest reviews are more than the most.
        """
        rng = np.random.default_rng(seed)
        if not 0 <= self.noise <= LOUDEST:
            message = f"noise: expected a scale from 0 to {LOUDEST:g}, found {self.noise}"
            raise InputError(message)
        reviews = self._drawn_assignment(rng) if self.assignment is None else self.assignment
        truth = true_qualities(reviews.n_items, rng)
        score = replace(self, n_reviewers=reviews.n_reviewers).scores(truth[reviews.item], reviews.reviewer, rng)
        found = Reviews.from_codes(
            reviews.reviewer, reviews.item, score, reviewers=reviews.reviewers, items=reviews.items
        )
        return Simulation(found, truth)

    def _drawn_assignment(self, rng: np.random.Generator) -> Reviews:
        least, most = self.reviews_per_item
        if not 0 <= least <= most <= self.n_reviewers:
            message = (
                f"reviews_per_item: expected the fewest and the most reviews of an item, 0 to the {self.n_reviewers} "
                f"reviewers there are, found {self.reviews_per_item}"
            )
            raise InputError(message)
        reviewer, item = _uneven(self.n_items, self.n_reviewers, self.reviews_per_item, rng)
        return Reviews.from_codes(reviewer, item, reviewers=self.n_reviewers, items=self.n_items)

    def scores(self, quality: FloatArray, reviewer: IntArray, rng: np.random.Generator) -> FloatArray:
        """Draw what reviewers are like, and a score of each quality by its reviewer; all shapes (E,)."""
        slope = rng.lognormal(0.0, LOG_SLOPE_SD, self.n_reviewers)[reviewer]
        offset = rng.normal(0.0, OFFSET_SD, self.n_reviewers)[reviewer]
        error = self.noise * rng.standard_t(NOISE_FREEDOM, quality.size)
        middle = quality.mean() if quality.size else 0.0
        return np.clip(np.rint(middle + slope * (quality - middle) + offset + error), LOWEST, HIGHEST)


def _uneven(
    n_items: int, n_reviewers: int, among: tuple[int, int], rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw a number ``among`` two of distinct reviewers an item, each by her willingness; both shape (E,)."""
    reach = np.cumsum(rng.gamma(WILLINGNESS, 1.0, n_reviewers))
    demand = rng.integers(*among, n_items, endpoint=True)
    chosen: list[int] = []
    for needed in demand.tolist():
        found: dict[int, None] = {}
        while len(found) < needed:
            drawn = np.searchsorted(reach, rng.uniform(0.0, reach[-1], needed), side="right")
            found.update(dict.fromkeys(np.minimum(drawn, n_reviewers - 1).tolist()))
        chosen += list(found)[:needed]
    return np.array(chosen, np.int64), np.repeat(np.arange(n_items), demand)


MIXED = (("concave", 1.0), ("convex", 1.0), ("monotone", 1.0))

#: What ``reviewgraph simulate`` draws, by name.
PRESETS: Mapping[str, Setting | Realistic] = {
    **{kind: Setting(shares=((kind, 1.0),)) for kind in SCORINGS},
    "mixture": Setting(shares=(("linear", 0.5), ("monotone", 0.5))),
    "mixed": Setting(shares=MIXED),
    "doubly-connected": Setting(n_reviewers=350, design="double"),
    "realistic": Realistic(),
}

"""Settings that have a name: those of the paper's experiments, and one that looks like a conference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from lsc.simulation.draws import LOUDEST, Noise, Seed, Simulation, simulate, true_qualities
from lsc.simulation.scores import SCORINGS, draw_kinds, scores_by_kind
from reviewgraph.designs import doubly_connected_assignment, random_assignment
from reviewgraph.errors import InputError
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray, Reviews

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
        As in :func:`lsc.simulation.draws.simulate`.
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

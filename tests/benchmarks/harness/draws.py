"""The regimes: how papers, reviewers and scores are drawn, with the truth.

Those of the paper on Least Square Calibration are drawn by the package's own settings, all others here. Unless a title
says otherwise N = M = 1000, k = 5, slopes U(0, 2) and offsets N(0, 2) with noise inside the scoring function.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from lsc.simulation import MIXED, Realistic, Setting, Simulation, true_qualities
from reviewgraph import Reviews
from reviewgraph.graph import random_assignment

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Draw: TypeAlias = Callable[[np.random.Generator], Simulation]

#: Mean and standard deviation of true qualities.
QUALITY_MEAN = 5.32
QUALITY_SD = 1.2
#: Largest slope of uniform slopes, standard deviation of log-normal ones, and the scale of whole scores.
STEEPEST = 2.0
SLOPE_SPREAD = 0.3
SCALE = (1.0, 10.0)
#: Number of communities or tracks; share of reviews that cross tracks; standard deviation of track means.
GROUPS = 20
CROSSING = 0.01
TRACK_SD = 1.2
#: Places in the order of topics within which a paper goes to a reviewer.
REACH = 50
#: Standard deviation of the logarithm of reviewers' own noise.
NOISE_SPREAD = 0.6


@dataclass(frozen=True)
class Regime:
    """A regime; ``times`` draws count as one, where tables are small."""

    name: str
    title: str
    draw: Draw
    times: int = 1

    def simulate(self, draw: int) -> Simulation:
        """Return a draw by its number: the same whatever else is drawn."""
        return self.draw(np.random.default_rng([zlib.crc32(self.name.encode()), draw]))


@dataclass(frozen=True)
class Scoring:
    """How reviewers score: the law of slopes, the standard deviations of offsets and of noise.

    Slopes turn the line at the quality ``centre``; ``inside`` multiplies noise by the slope; ``whole`` scores are whole
    numbers from 1 to 10.
    """

    slope: Literal["one", "uniform", "lognormal"]
    offset: float
    noise: float
    inside: bool = False
    centre: float = QUALITY_MEAN
    whole: bool = False

    def scores(
        self, reviewer: IntArray, quality: FloatArray, rng: np.random.Generator, share: FloatArray | float = 1.0
    ) -> FloatArray:
        """Draw reviewers and score the qualities they see, shape (E,); ``share`` (M,) multiplies their noise."""
        size = int(reviewer.max()) + 1
        slope = np.ones(size)
        if self.slope == "uniform":
            slope = rng.uniform(0.0, STEEPEST, size)
        elif self.slope == "lognormal":
            slope = rng.lognormal(0.0, SLOPE_SPREAD, size)
        offset = self.offset * rng.standard_normal(size)
        noise = self.noise * share * (slope if self.inside else np.ones(size))
        score = self.centre + slope[reviewer] * (quality - self.centre) + offset[reviewer]
        score += noise[reviewer] * rng.standard_normal(reviewer.size)
        return np.clip(np.rint(score), *SCALE) if self.whole else score


PAPER = Scoring("uniform", 2.0, 0.5, inside=True, centre=0.0)
OFFSETS = Scoring("one", 1.0, 1.0)
ALIKE = Scoring("one", 0.0, 1.0)
ALIKE_INTEGERS = Scoring("one", 0.0, 1.0, whole=True)
INTEGERS = Scoring("lognormal", 1.0, 1.0, whole=True)
STRETCHED = Scoring("lognormal", 1.0, 1.0)


def regimes(n: int) -> list[Regime]:
    """Return all regimes at about ``n`` papers, and one of 60."""

    def linear(name: str, title: str, setting: Setting) -> Regime:
        return Regime(name, title, setting.scaled(n).draw)

    def curved(name: str, title: str, noise: float, **share: float) -> Regime:
        return Regime(name, title, Setting(noise=noise, shares=tuple(share.items()) or MIXED).scaled(n).draw)

    def random(name: str, title: str, scoring: Scoring, load: int) -> Regime:
        return Regime(name, title, partial(randomly_assigned, n, load, scoring))

    return [
        # Linear reviewers.
        linear("linear-0", "linear, no noise", Setting()),
        linear("linear-0.5", "linear, sigma = .5", Setting(noise=0.5)),
        linear("linear-1", "linear, sigma = 1", Setting(noise=1.0)),
        linear("linear-2", "linear, sigma = 2", Setting(noise=2.0)),
        linear("linear-k3", "linear, sigma = .5, k = 3", Setting(noise=0.5, load=3)),
        linear("linear-k8", "linear, sigma = .5, k = 8", Setting(noise=0.5, load=8)),
        linear("linear-half", "linear, sigma = .5, M = N / 2", Setting(noise=0.5, n_reviewers=500)),
        linear("outside-1", "linear, noise outside, sigma = 1", Setting(noise=1.0, where="outside")),
        linear(
            "sparse", "linear, sigma = .5, sparse (Algorithm 3)", Setting(noise=0.5, n_reviewers=350, design="double")
        ),
        Regime("communities", "linear, sigma = .5, weakly joined communities", partial(communities, n)),
        # Reviewers whose functions bend, or differ in kind.
        curved("mixed-0.5", "convex, concave, monotone, sigma = .5", 0.5),
        curved("mixed-0", "convex, concave, monotone, no noise", 0.0),
        curved("mixture-0.5", "half linear, half monotone, sigma = .5", 0.5, linear=1.0, monotone=1.0),
        curved("monotone-0.5", "monotone, sigma = .5", 0.5, monotone=1.0),
        curved("convex-0.5", "convex, sigma = .5", 0.5, convex=1.0),
        curved("concave-0.5", "concave, sigma = .5", 0.5, concave=1.0),
        # Reviewers who differ in severity or not at all; whole scores also in slope.
        random("offsets-k5", "offsets, sigma = 1", OFFSETS, 5),
        random("offsets-k3", "offsets, sigma = 1, k = 3", OFFSETS, 3),
        random("alike", "no reviewer effects, sigma = 1", ALIKE, 5),
        random("alike-integers-k3", "no reviewer effects, integers, k = 3", ALIKE_INTEGERS, 3),
        random("integers-k3", "integers 1-10, k = 3", INTEGERS, 3),
        random("integers-k5", "integers 1-10", INTEGERS, 5),
        random("integers-k8", "integers 1-10, k = 8", INTEGERS, 8),
        Regime("integers-60", "integers 1-10, 60 papers", partial(randomly_assigned, 60, 5, INTEGERS), times=10),
        # What conferences have and models omit.
        Regime("realistic", "`realistic`", Realistic(n, n).draw),
        Regime("tracks", "tracks of unequal quality, offsets, k = 3", partial(tracks, n)),
        Regime("matched", "like papers to like reviewers, offsets", partial(matched, n)),
        Regime("skewed", "skewed qualities, sigma = .5", partial(shaped, n, skewed)),
        Regime("two-humped", "bimodal qualities, sigma = .5", partial(shaped, n, two_humped)),
        Regime("own-noise", "individual noise of each reviewer", partial(own_noise, n)),
    ]


def scored(
    design: Reviews, truth: FloatArray, scoring: Scoring, rng: np.random.Generator, noise_spread: float = 0.0
) -> Simulation:
    """Score an assignment; with ``noise_spread`` each reviewer's noise has a log-normal factor of its own."""
    share = rng.lognormal(0.0, noise_spread, design.n_reviewers)
    score = scoring.scores(design.reviewer, truth[design.item], rng, share)
    sizes = {"reviewers": design.n_reviewers, "items": design.n_items}
    return Simulation(Reviews.from_codes(design.reviewer, design.item, score, **sizes), truth)


def randomly_assigned(n: int, load: int, scoring: Scoring, rng: np.random.Generator) -> Simulation:
    """``load`` papers per reviewer, as many reviewers as papers."""
    return scored(random_assignment(n, n, load, rng), true_qualities(n, rng), scoring, rng)


def own_noise(n: int, rng: np.random.Generator) -> Simulation:
    """Careful and careless reviewers, slopes and offsets of a conference."""
    return scored(random_assignment(n, n, 5, rng), true_qualities(n, rng), STRETCHED, rng, NOISE_SPREAD)


def communities(n: int, rng: np.random.Generator) -> Simulation:
    """Communities in a row, joined by one reviewer each, who takes half of the papers from the next."""
    load = 4
    reviewer, item = _grouped(n, load, rng)
    for group in range(GROUPS - 1):
        moved = np.flatnonzero(reviewer == group)[: load // 2]
        item[moved] = rng.choice(np.arange(group + 1, n, GROUPS), moved.size, replace=False)
    design = Reviews.from_codes(reviewer, item, reviewers=n, items=n)
    return scored(design, true_qualities(n, rng), PAPER, rng)


def tracks(n: int, rng: np.random.Generator) -> Simulation:
    """Tracks whose papers differ in mean quality, with reviewers who seldom cross."""
    reviewer, item = _grouped(n, 3, rng)
    crossing = rng.choice(item.size, round(CROSSING * item.size), replace=False)
    item[crossing] = rng.permutation(item[crossing])
    truth = rng.normal(0.0, TRACK_SD, GROUPS)[np.arange(n) % GROUPS] + true_qualities(n, rng)
    return scored(_without_repetition(reviewer, item, n), truth, OFFSETS, rng)


def matched(n: int, rng: np.random.Generator) -> Simulation:
    """Papers on a circle of topics go to reviewers near by; half of the variance of quality is between topics.

    Five times the papers, in the order of their topics disturbed by up to 50 places, are dealt one per reviewer.
    """
    order = [np.argsort(np.arange(n) + rng.uniform(0, REACH, n)) for _ in range(5)]
    design = _without_repetition(np.tile(np.arange(n), 5), np.concatenate(order), n)
    angle = 2.0 * np.pi * np.arange(n) / n
    wave = sum(np.cos(turns * angle + rng.uniform(0.0, 2.0 * np.pi)) for turns in (2, 3, 5)) / np.sqrt(1.5)
    truth = QUALITY_MEAN + QUALITY_SD * (wave + rng.standard_normal(n)) / np.sqrt(2.0)
    return scored(design, truth, OFFSETS, rng)


def shaped(n: int, shape: Callable[[int, np.random.Generator], FloatArray], rng: np.random.Generator) -> Simulation:
    """Qualities that are not normal, of the same mean and standard deviation, and the paper's linear reviewers."""
    truth = QUALITY_MEAN + QUALITY_SD * shape(n, rng)
    return scored(random_assignment(n, n, 5, rng), truth, PAPER, rng)


def skewed(n: int, rng: np.random.Generator) -> FloatArray:
    """Many good papers, few poor ones: the best are close together; mean 0, variance 1."""
    return np.asarray((2.0 - rng.gamma(2.0, 1.0, n)) / np.sqrt(2.0))


def two_humped(n: int, rng: np.random.Generator) -> FloatArray:
    """Half of the papers good, half poor; mean 0, variance 1."""
    return np.asarray(0.9 * rng.choice([-1.0, 1.0], n) + np.sqrt(0.19) * rng.standard_normal(n))


def _grouped(n: int, load: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Random assignments within groups: paper i and reviewer j belong to groups i and j modulo their number."""
    reviewers = []
    items = []
    for group in range(GROUPS):
        member = np.arange(group, n, GROUPS)
        design = random_assignment(member.size, member.size, load, rng)
        reviewers.append(member[design.reviewer])
        items.append(member[design.item])
    return np.concatenate(reviewers), np.concatenate(items)


def _without_repetition(reviewer: IntArray, item: IntArray, n: int) -> Reviews:
    """Drop second reviews of a paper by the same reviewer."""
    pair = np.unique(reviewer * n + item)
    return Reviews.from_codes(pair // n, pair % n, reviewers=n, items=n)

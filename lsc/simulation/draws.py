"""Scores made up as in the paper's experiments, with the truth beside them.

A setting is three choices: the assignment (:mod:`reviewgraph.designs`), the scoring functions and the noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from lsc.simulation.scores import Scoring, linear_scores
from reviewgraph.designs import random_assignment
from reviewgraph.errors import InputError
from reviewgraph.reviews import FloatArray, Reviews

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

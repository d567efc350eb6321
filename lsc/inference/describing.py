"""What the messages say of each reviewer: slope, offset and noise, with spreads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.inference.beliefs import Quantity, Reviewers
from lsc.inference.halves import Threads, describe_halves
from lsc.inference.model import LOG_OMEGA
from lsc.inference.scale_users import offsets_given, slopes_at
from lsc.inference.states import Problem, State, beliefs, spoken
from lsc.inference.sweeps import Inputs, inputs
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: Standard errors on either side in a central 90 % interval.
WIDTH = 1.6448536269514722
#: The normal quantiles .1, .3, .5, .7, .9: five equally likely values that stand for one reviewer's posterior.
FIFTHS = np.array([-1.2815515655446004, -0.5244005127080407, 0.0, 0.5244005127080407, 1.2815515655446004])[:, None]


class People(NamedTuple):
    """Moments of each reviewer, shapes (M,), NaN without scores: slope a, offset b, logs of slope and of noise s^2."""

    slope: FloatArray
    slope_variance: FloatArray
    offset: FloatArray
    offset_variance: FloatArray
    log_slope: FloatArray
    log_slope_sd: FloatArray
    log_noise: FloatArray
    log_noise_sd: FloatArray


def people(problem: Problem, state: State) -> People:
    """Integrate each reviewer's factor once more, for her own sake."""
    found, believed = np.full((len(People._fields), problem.n_reviewers), np.nan), beliefs(problem, state)
    with Threads() as threads:
        for part, told in spoken(problem, state):
            if problem.compiled:
                describe_halves(threads, part.layout, told, believed, state, problem.rounding, found)
                continue
            for given in inputs(part, told, believed, state):
                _describe(problem, state, given, People(*found))
    return People(*found)


def _describe(problem: Problem, state: State, given: Inputs, found: People) -> None:
    """Write what is known of the reviewers of a block."""
    block, cavity, nodes, factor, _ = given
    at = slopes_at(nodes, state.theta)
    variance = at.noise * factor[:, None] + problem.rounding
    offsets = offsets_given(block, cavity, at, variance, np.exp(2 * state.theta[LOG_OMEGA]))
    share = np.exp(offsets.log_weight - offsets.log_weight.max(axis=0))
    share /= share.sum(axis=0)
    # Empty slots have no weight to be averaged.
    typical_factor = (factor * block.used).sum(axis=0) / block.load
    who, level = block.reviewer, np.log(at.noise * typical_factor + problem.rounding)
    found.slope[who], found.slope_variance[who] = _moments(share, at.slope)
    found.log_slope[who], found.log_slope_sd[who] = _moments(share, at.log_slope, sd=True)
    found.log_noise[who], found.log_noise_sd[who] = _moments(share, level, sd=True)
    found.offset[who], between = _moments(share, offsets.mean)
    found.offset_variance[who] = between + (share / offsets.precision).sum(axis=0)


def _moments(share: FloatArray, value: FloatArray, *, sd: bool = False) -> tuple[FloatArray, FloatArray]:
    mean = (share * value).sum(axis=0)
    variance = (share * (value - mean) ** 2).sum(axis=0)
    return mean, np.sqrt(variance) if sd else variance


def typical(found: People, load: IntArray) -> tuple[float, float]:
    """Offset and slope of a typical reviewer: averages over reviews."""
    seen = load > 0
    return float(np.average(found.offset[seen], weights=load[seen])), float(
        np.average(found.slope[seen], weights=load[seen])
    )


def for_people(found: People, offset: float, slope: float, spread: float, orders: FloatArray) -> Reviewers:
    """Say it in points of the scores, ``spread`` of which are one unit inside."""
    severity = spread * (offset - found.offset)
    error = spread * WIDTH * np.sqrt(found.offset_variance)
    reach, range_ = WIDTH * found.log_slope_sd, WIDTH * found.log_noise_sd
    return Reviewers(
        Quantity(severity, severity - error, severity + error),
        Quantity(
            found.slope / slope,
            np.exp(found.log_slope - reach) / slope,
            np.exp(found.log_slope + reach) / slope,
        ),
        Quantity(
            spread * np.exp(0.5 * found.log_noise),
            spread * np.exp(0.5 * (found.log_noise - range_)),
            spread * np.exp(0.5 * (found.log_noise + range_)),
        ),
        orders,
    )


def middle_half(quantity: Quantity) -> tuple[float, float]:
    """Return the quartiles of a property over all reviewers: where the crowd is.

    Each reviewer stands there with all that she may be, not with her mean alone: means of reviewers with few scores are
    drawn together, and among them anyone of whom more is known would look unusual.

    Examples
    --------
    >>> exact = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    >>> middle_half(Quantity(exact, exact, exact))
    (1.0, 3.0)
    """
    mean, low, high = (value[np.isfinite(value)] for value in quantity)
    reach = np.where(FIFTHS > 0, high - mean, mean - low) / WIDTH
    first, third = np.quantile(mean + FIFTHS * reach, [0.25, 0.75])
    return float(first), float(third)

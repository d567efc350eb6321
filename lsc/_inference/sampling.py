"""Joint draws of reviewers: offset, slope and noise given joint draws of the qualities.

Given all qualities x, reviewers are independent, and each has the model's own conditional distribution: no further
approximation than that of the qualities. On a grid of slopes a and own noise, with W the precision of each score,

::

    P = 1 / omega^2 + sum W,   B = (E[b | a] / omega^2 + sum W (y - a x)) / P
    log share = log p(a, own) - 1/2 [sum log(1 / W) + log P + E[b | a]^2 / omega^2 + sum W (y - a x)^2 - P B^2]

A point is drawn by its share, then slope and own noise within its cell, then the offset from N(B, 1 / P).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc._inference.beliefs import Posterior
from lsc._inference.model import G0, G1, LOG_OMEGA, MU, NU, RHO
from lsc._inference.predicting import Observations, Step, observed_scores, score_unit, steps
from lsc._inference.scale_users import points_at
from reviewgraph._base import FloatArray

#: Distances and ends of the grid, in posterior standard deviations: given the qualities a slope is better known than on
#: the whole, so cells are finer than the nodes of the inference.
SLOPE_STEP, OWN_STEP, ENDS = 0.35, 0.75, 4.2
#: Numbers of one batch of draws: points x reviewers x draws.
BATCH = 2_000_000


class Drawn(NamedTuple):
    """Draws of each reviewer, shapes (D, M): severity and noise in points, slope relative to a typical reviewer.

    NaN without a score in use. Severity, slope and noise are those of :class:`lsc._inference.beliefs.Reviewers`: of
    ordinal reviewers, those of their scores as if they used the scale.
    """

    severity: FloatArray
    slope: FloatArray
    noise: FloatArray


def reviewer_draws(
    posterior: Posterior,
    score: FloatArray,
    weight: FloatArray | None,
    quality: FloatArray,
    rng: np.random.Generator,
) -> Drawn:
    """Draw severity, slope and noise of all reviewers given joint draws of the qualities, shape (D, N), in points.

    ``score`` and ``weight`` are those passed to the inference. Without signal they are what is reported.
    """
    of, draws = posterior.reviewers, len(quality)
    if not posterior.signal:
        same = (np.repeat(value.mean[None], draws, axis=0) for value in (of.severity, of.stretch, of.noise))
        return Drawn(*same)
    observed = observed_scores(posterior, score)
    spread = (score_unit(posterior, score) if observed.levels is None else observed.levels.unit).spread
    standard = (quality - posterior.location) / posterior.scale
    drawn = np.full((3, draws, posterior.slope.size), np.nan)
    for step in steps(posterior, observed, weight, np.flatnonzero(posterior.precision > 0), ordinal=False):
        drawn[:, :, step.block.reviewer] = _given(posterior, observed, step, standard, rng)
    offset, slope, noise = drawn
    offset += posterior.expected_offset[:-1]
    return Drawn(
        of.severity.mean - spread * (offset - posterior.offset),
        of.stretch.mean * slope / posterior.slope,
        spread * np.sqrt(noise),
    )


def _given(
    posterior: Posterior, observed: Observations, step: Step, standard: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw offset, slope and noise variance of the reviewers of a step, shape (3, D, m)."""
    theta, members = posterior.theta, step.block.reviewer
    centre, width, own, own_width = posterior.fitted.nodes[:4, members]
    line = np.arange(-ENDS, ENDS + SLOPE_STEP / 2, SLOPE_STEP)
    own_line = np.arange(-ENDS, ENDS + OWN_STEP / 2, OWN_STEP) if posterior.extent.own else np.zeros(1)
    z = np.repeat(centre + line[:, None] * width, own_line.size, axis=0)
    log_own = np.tile(own + own_line[:, None] * own_width if posterior.extent.own else 0.0 * own[None], (line.size, 1))
    at = points_at(z, log_own, np.ones(1), theta, own=posterior.extent.own)
    # Precisions of the scores at the points, shape (m, G, k).
    added = np.where(step.review >= 0, observed.variance[step.review], 0.0).T[:, None]
    factor = step.factor.T[:, None]
    used, y = step.block.used.T[:, None], step.block.score.T[:, None]
    precision = used / (at.noise.T[..., None] * factor + added)
    tight = np.exp(-2 * theta[LOG_OMEGA])
    total = tight + precision.sum(axis=-1)
    constant = (used * np.log(np.where(used > 0, precision, 1.0))).sum(axis=-1) - np.log(total)
    constant -= tight * at.offset.T**2 + (precision * y**2).sum(axis=-1)
    constant = at.log_density.T + 0.5 * constant
    weighted = (precision * y).sum(axis=-1)
    item = np.where(step.review >= 0, posterior.item[step.review], posterior.item[step.review[0]])
    each = np.arange(members.size)[:, None]
    parts, size = [], max(1, BATCH // constant.size)
    for first in range(0, len(standard), size):
        x = np.moveaxis(standard[first : first + size][:, item], 0, -1).swapaxes(0, 1)
        by_x, by_square, by_both = precision @ x, precision @ x**2, (precision * y) @ x
        slope, pull = at.slope.T[..., None], weighted[..., None]
        log_share = tight * at.offset.T[..., None] + pull - slope * by_x
        log_share *= log_share
        log_share *= 0.5 / total[..., None]
        log_share += constant[..., None]
        by_both *= slope
        log_share += by_both
        by_square *= 0.5 * slope**2
        log_share -= by_square
        log_share -= log_share.max(axis=1, keepdims=True)
        # Single precision is enough for probabilities of points, and four times as fast.
        share = np.cumsum(np.exp(log_share.astype(np.float32)), axis=1)
        node = (rng.random((members.size, 1, x.shape[-1])) * share[:, -1:] > share).sum(axis=1)
        # Within the cell of the point, and the offset given the slope there.
        log_slope = at.log_slope.T[each, node] + SLOPE_STEP * width[:, None] * (rng.random(node.shape) - 0.5)
        own_part = at.log_own.T[each, node]
        if posterior.extent.own:
            own_part = own_part + OWN_STEP * own_width[:, None] * (rng.random(node.shape) - 0.5)
        a = np.exp(log_slope)
        noise = np.exp(2 * (theta[NU] + theta[RHO] * (log_slope - theta[MU])) + own_part)
        expected = theta[G0] + theta[G1] * a
        inner = total[each, node]
        drift = tight * expected + weighted[each, node] - a * by_x[each, node, np.arange(x.shape[-1])]
        offset = drift / inner + rng.standard_normal(node.shape) / np.sqrt(inner)
        # The noise of a typical review: by the mean factor, or where scores are levels of the mean precision.
        if observed.levels is None:
            typical = noise * ((factor * used).sum(axis=-1) / used.sum(axis=-1)) + observed.rounding
        else:
            typical = used.sum(axis=-1) / (used / (noise[..., None] + added)).sum(axis=-1)
        parts.append(np.stack([offset, a, typical]).swapaxes(1, 2))
    return np.concatenate([np.empty((3, 0, members.size)), *parts], axis=1)

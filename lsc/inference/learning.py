"""Steps of the hyperparameters towards the highest evidence, taken between sweeps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lsc.inference.model import HIGHEST, LOG_TAU_LEFT, LOG_TAU_RIGHT, LOWEST, MU, NU, RHO, SIZE, log_prior, scale_moves
from reviewgraph.reviews import BoolArray, FloatArray

#: Part of the squared mean gradient that is taken out of the empirical information.
CENTRED = 0.9
#: Part of its diagonal by which the information is raised, and the least diagonal.
RIDGE, LEAST = 0.02, 1e-3
#: Directions that do not change noise may be as sure as the gradients say, so many times over.
UNBOUNDED = 1e6
#: No hyperparameter moves further in one step.
LONGEST = 0.4
#: A step that turns back may go half as far the next time, one that goes on so much further.
GROWTH = 2.0
#: Steps whose cosine (in the metric of the information) is below the first turn back, above the second they agree.
TURNED, AGREED = -0.2, 0.5
SLOWER, FASTER, SLOWEST = 0.6, 1.2, 0.05


class Gradient(NamedTuple):
    """Derivatives of reviewers' log evidences by the hyperparameters, summed up.

    Parameters
    ----------
    total
        Shape (P,): their sum.
    square
        Shape (P, P): the sum of outer products g g'.
    """

    total: FloatArray
    square: FloatArray

    @staticmethod
    def none() -> Gradient:
        """Return that of nobody."""
        return Gradient(np.zeros(SIZE), np.zeros((SIZE, SIZE)))

    @staticmethod
    def of(each: FloatArray) -> Gradient:
        """Return that of some reviewers, a column each, shape (P, m)."""
        return Gradient(each.sum(axis=1), each @ each.T)

    def plus(self, other: Gradient) -> Gradient:
        """Add others."""
        return Gradient(self.total + other.total, self.square + other.square)


class Ascent(NamedTuple):
    """A step of the hyperparameters.

    Parameters
    ----------
    theta
        Shape (P,): where it leads.
    gain
        The gain in log probability that a full step predicts, but for that of the scale of qualities.
    reach
        Shape (P,): how far each hyperparameter may move in the next step.
    move
        Shape (P,): the step, but for the scale of qualities.
    pace, limit
        Part of the full step that was gone, and the most that may be.
    information
        Shape (P, P): curvature used.
    """

    theta: FloatArray
    gain: float
    reach: FloatArray
    move: FloatArray
    pace: float
    limit: float
    information: FloatArray


def at_rest(theta: FloatArray, limit: float = 1.0) -> Ascent:
    """Return the state of a climb before its first step."""
    return Ascent(theta, np.inf, np.full(SIZE, limit * LONGEST), np.zeros(SIZE), limit, limit, np.eye(SIZE))


def ascend(
    theta: FloatArray, gradient: Gradient, n_reviewers: int, n_reviews: int, free: BoolArray, last: Ascent
) -> Ascent:
    """Take a step of scoring with the empirical information.

    Messages lag behind, and full steps can circle. So a step that turns back on the last one is followed by shorter
    ones, and steps that agree by longer ones, up to the full one; and a single hyperparameter that turns back may go
    half as far from then on, one that goes on a little further.

    Parameters
    ----------
    theta
        Hyperparameters, shape (P,).
    gradient
        Derivatives of the reviewers' log evidences.
    n_reviewers, n_reviews
        M and E.
    free
        Shape (P,): which hyperparameters may move.
    last
        The step before.
    """
    prior = log_prior(theta)
    total = gradient.total
    information = gradient.square - CENTRED * np.outer(total, total) / max(n_reviewers, 1)
    information = _bounded(information, theta, n_reviewers, n_reviews)
    information += prior.curvature
    information += np.diag(RIDGE * np.diag(information) + LEAST)
    slope = total + prior.gradient
    # At a bound, pushing outwards: the entry does not take part.
    part = free & ~((theta <= LOWEST) & (slope < 0)) & ~((theta >= HIGHEST) & (slope > 0))
    move = np.zeros(SIZE)
    move[part] = np.linalg.solve(information[np.ix_(part, part)], slope[part])
    # Standardising after each sweep takes a change of the scale of qualities back, in part: the step along it never
    # ends and says nothing of the pace of the rest. What lies at a bound takes no part, and may leave no such step.
    along = scale_moves(theta) * part[:, None]
    scale = along @ (np.linalg.pinv(along.T @ information @ along, hermitian=True) @ (along.T @ slope))
    move -= scale
    gain = float(0.5 * move @ slope)
    pace = _pace(move, last, information)
    turned = move * last.move < 0
    reach = np.where(turned, 0.5 * np.minimum(last.reach, np.abs(last.move)), np.minimum(GROWTH * last.reach, LONGEST))
    move = np.clip(pace * move, -reach, reach)
    moved = np.clip(theta + move + np.clip(pace * scale, -LONGEST, LONGEST), LOWEST, HIGHEST)
    return Ascent(moved, gain, reach, move, pace, last.limit, information)


def _bounded(information: FloatArray, theta: FloatArray, n_reviewers: int, n_reviews: int) -> FloatArray:
    """Take out of the information what says more of noise than could be known if papers, slopes and offsets were.

    Where the noise is misjudged, the squared gradient of a reviewer of k papers grows with k^2, what she tells with k
    only: steps would be too short to arrive. In the metric of what could be known no eigenvalue is above 1.
    """
    left, right = np.exp(theta[[LOG_TAU_LEFT, LOG_TAU_RIGHT]])
    # Mean and mean square of log a - mu, and by them E v v' of the derivatives v of a log noise by mu, nu and rho.
    off, square = np.sqrt(2 / np.pi) * (right - left), (left**3 + right**3) / (left + right)
    rho, noise = theta[RHO], [MU, NU, RHO]
    known = np.diag(UNBOUNDED * np.diag(information) + LEAST)
    known[np.ix_(noise, noise)] = (2.0 * n_reviews) * np.array(
        [[rho**2, -rho, -rho * off], [-rho, 1.0, off], [-rho * off, off, square]]
    )
    known[MU, MU] += n_reviewers / (left * right)
    known += np.diag(LEAST * np.diag(known) + LEAST)
    root = np.linalg.cholesky(known)
    inner = np.linalg.solve(root, np.linalg.solve(root, information).T)
    value, vector = np.linalg.eigh(0.5 * (inner + inner.T))
    beyond = root @ (vector * np.sqrt(np.maximum(value - 1.0, 0.0)))
    return np.asarray(information - beyond @ beyond.T)


def _pace(move: FloatArray, last: Ascent, information: FloatArray) -> float:
    """Part of the full step to go, from the angle between this step and the last."""
    along = move @ information @ last.move
    length = np.sqrt((move @ information @ move) * (last.move @ information @ last.move))
    agreement = along / length if length > 0 else 1.0
    if agreement < TURNED:
        return max(last.pace * SLOWER, SLOWEST)
    return min(last.pace * FASTER, last.limit) if agreement > AGREED else last.pace

"""The model's hyperparameters, their weak priors and bounds, and what a change of the quality scale does to them.

::

    x      ~ N(0, K^-1),  K = (1 - kappa) I + kappa L / dbar              papers
    log a  ~ two-piece normal, mode mu, scales tau_left and tau_right     slope of a reviewer
    b | a  ~ N(g0 + g1 a, omega^2)                                        her offset
    y_ij   = b_j + a_j x_i + e_ij
    e_ij   ~ N(0, c_j u_ij^-gamma exp 2 (nu + rho (log a_j - mu)) + r^2)  noise, u the weight of the review
    log c_j ~ N(0, own^2)                                                 noise of her own

With probability w her scores only order: p(y_j) = p(y_j | fresh papers) k! / prod t! P(order of x_i + s_R eps_i).
rho = 1 is noise in the quality that she perceives, 0 noise in the score; r^2 is the variance of rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reviewgraph.reviews import FloatArray

#: Names of the entries of a vector of hyperparameters.
NAMES = (
    *("mu", "log_tau_left", "log_tau_right", "g0", "g1", "log_omega", "nu", "rho"),
    *("gamma", "log_own", "logit_w", "log_s_r"),
)
MU, LOG_TAU_LEFT, LOG_TAU_RIGHT, G0, G1, LOG_OMEGA, NU, RHO, GAMMA, LOG_OWN, LOGIT_W, LOG_S_R = range(12)
SIZE = len(NAMES)

#: Where learning starts (half the variance of scores is quality, reviewers differ a little), and bounds. Slopes that
#: differ by 4 % and offsets by .05 are the same to any purpose, and below nodes could not follow the mode.
_RANGE = np.array(
    [
        (-6.0, np.log(0.7), 4.0),
        (np.log(0.04), np.log(0.3), np.log(3.0)),
        (np.log(0.04), np.log(0.3), np.log(3.0)),
        (-9.0, 0.0, 9.0),
        (-9.0, 0.0, 9.0),
        (np.log(0.05), np.log(0.4), np.log(9.0)),
        (-4.0, np.log(0.6), 3.0),
        (-1.0, 0.5, 2.0),
        (-3.0, 0.0, 3.0),
        (np.log(0.05), np.log(0.63), np.log(2.0)),
        (-6.0, -2.0, 4.0),
        (np.log(0.1), np.log(0.5), np.log(3.0)),
    ]
)
LOWEST, START, HIGHEST = _RANGE.T.copy()

#: Scales of the half-normal priors of tau and omega, of the normal ones of g1 and rho, and of log tau_l^2 / tau_r^2.
TAU_SCALE, OMEGA_SCALE, G1_SCALE, RHO_CENTRE, RHO_SCALE, SKEW_SCALE, GAMMA_SCALE = 1.0, 2.0, 5.0, 0.5, 0.5, 1.0, 1.0

#: Log of the spread of own noise: log c then spreads as a chi^2 with 6 degrees of freedom does, give or take.
OWN = (float(np.log(0.63)), 0.5)
#: Of the logit of w, the share of reviewers who only order, and of the log of s_R, how finely they perceive.
W, S_R = (-2.0, 2.0), (float(np.log(0.5)), 1.0)


class Extent(NamedTuple):
    """How far the model goes beyond reviewers who use the scale.

    Parameters
    ----------
    own
        Whether reviewers have a noise of their own.
    orders
        Whether some only put papers in order.
    kappa
        Assortment.
    strength
        kappa / dbar, the weight of the Laplacian in K.
    half_log_determinant
        log det K / 2.
    mean_square
        Of qualities, which goes with it.
    """

    own: bool = False
    orders: bool = False
    kappa: float = 0.0
    strength: float = 0.0
    half_log_determinant: float = 0.0
    mean_square: float = 1.0


class Prior(NamedTuple):
    """Log density, gradient and curvature (positive) of the priors of hyperparameters, shapes (), (P,), (P, P)."""

    value: float
    gradient: FloatArray
    curvature: FloatArray


def log_prior(theta: FloatArray) -> Prior:
    """Return the log prior density of hyperparameters, up to a constant."""
    gradient, curvature = np.zeros(SIZE), np.zeros((SIZE, SIZE))
    value = 0.0
    # Half-normal in the scale itself, so that a scale may go to 0: with u = log tau, -tau^2 / 2 s^2.
    scales = {LOG_TAU_LEFT: TAU_SCALE, LOG_TAU_RIGHT: TAU_SCALE, LOG_OMEGA: OMEGA_SCALE}
    for place, scale in scales.items():
        square = np.exp(2 * theta[place]) / scale**2
        value -= square / 2
        gradient[place] -= square
        curvature[place, place] += 2 * square
    normal = {G1: (0.0, G1_SCALE), RHO: (RHO_CENTRE, RHO_SCALE), GAMMA: (0.0, GAMMA_SCALE)}
    normal |= {LOG_OWN: OWN, LOGIT_W: W, LOG_S_R: S_R}
    for place, (centre, scale) in normal.items():
        value -= ((theta[place] - centre) / scale) ** 2 / 2
        gradient[place] -= (theta[place] - centre) / scale**2
        curvature[place, place] += scale**-2
    # log tau_left^2 / tau_right^2 ~ N(0, SKEW_SCALE^2)
    skew = 2 * (theta[LOG_TAU_LEFT] - theta[LOG_TAU_RIGHT]) / SKEW_SCALE
    direction = np.zeros(SIZE)
    direction[[LOG_TAU_LEFT, LOG_TAU_RIGHT]] = 2 / SKEW_SCALE, -2 / SKEW_SCALE
    value -= skew**2 / 2
    gradient -= skew * direction
    curvature += np.outer(direction, direction)
    return Prior(value, gradient, curvature)


def rescaled(theta: FloatArray, centre: float, spread: float) -> FloatArray:
    """Hyperparameters when qualities become ``(x - centre) / spread``: slopes grow by spread, b by a centre."""
    moved = theta.copy()
    moved[MU] += np.log(spread)
    moved[LOG_S_R] -= np.log(spread)
    moved[G1] = (theta[G1] + centre) / spread
    return moved


def scale_moves(theta: FloatArray) -> FloatArray:
    """Return the derivatives of :func:`rescaled` by log spread and centre at 1 and 0, shape (P, 2)."""
    moves = np.zeros((SIZE, 2))
    moves[[MU, LOG_S_R, G1], 0] = 1.0, -1.0, -theta[G1]
    moves[G1, 1] = 1.0
    return moves

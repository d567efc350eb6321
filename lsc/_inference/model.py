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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reviewgraph._base.arrays import BoolArray, CodeArray, FloatArray, IntArray

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


# Reviews laid out for whole-array steps: reviewers of about the same number of reviews side by side.

#: Loads up to this one have blocks of their own; above, a block holds loads that differ by at most a sixth.
EXACT_LOADS = 8
WASTE = 7 / 6
#: Reviews in a block: its arrays over 15 nodes then stay in the processor's cache.
BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Block:
    """Reviewers of nearly equal load; a slot is a place for a review, of which some are empty.

    Parameters
    ----------
    reviewer
        Shape (m,): their codes.
    first, last
        The slots of the block, those of one reviewer ``m`` apart: ``slots[first:last].reshape(k, m)``.
    score
        Shape (k, m), 0 in empty slots.
    used
        Shape (k, m): 1 where a slot holds a review, 0 where it is empty.
    load
        Shape (m,): reviews of each.
    """

    reviewer: IntArray
    first: int
    last: int
    score: FloatArray
    used: FloatArray
    load: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Slots a reviewer and reviewers."""
        return self.score.shape[0], self.score.shape[1]

    @property
    def full(self) -> bool:
        """Whether no slot is empty."""
        return bool(self.load.min() == self.score.shape[0])


class Layout(NamedTuple):
    """Some of the reviewers, in blocks in order of load; flat, as kernels take it.

    Parameters
    ----------
    first, start
        Shape (B + 1,): where the slots and the members of each block begin, and where the last end.
    member
        Codes of reviewers, block by block.
    load
        Shape (M,): reviews of each reviewer.
    item, score
        Shape (S,): of each slot; N and 0 in an empty one.
    """

    first: IntArray
    start: IntArray
    member: CodeArray
    load: IntArray
    item: CodeArray
    score: FloatArray

    @property
    def reviewer(self) -> IntArray:
        """Shape (S,): reviewer of each slot."""
        blocks = (np.tile(block.reviewer, block.shape[0]) for block in self.blocks)
        return np.concatenate([np.empty(0, np.int64), *blocks])

    @property
    def blocks(self) -> Iterator[Block]:
        """Each block."""
        for number in range(self.first.size - 1):
            reviewer = self.member[self.start[number] : self.start[number + 1]].astype(np.int64)
            first, last = self.first[number : number + 2].tolist()
            load = self.load[reviewer].astype(np.float64)
            score = self.score[first:last].reshape(-1, reviewer.size)
            used = (np.arange(len(score))[:, None] < load).astype(np.float64)
            yield Block(reviewer, first, last, score, used, load)


def lay_out(
    reviewer: IntArray, item: IntArray, score: FloatArray, n_reviewers: int, n_items: int
) -> tuple[Layout, IntArray]:
    """Group reviewers by load, in time linear in reviews but for a sort; returns the slot of each review, too.

    Parameters
    ----------
    reviewer, item, score
        Shape (E,), in any order.
    """
    order = np.lexsort((item, reviewer))
    load = np.bincount(reviewer, minlength=n_reviewers)
    begin = np.concatenate([[0], np.cumsum(load)])
    first, start, member = blocks_of(load)
    slot, size = np.empty(item.size, np.int64), int(first[-1])
    item_of, score_of = np.full(size, n_items, np.uint32), np.zeros(size)
    for low, high, hers in zip(first[:-1], first[1:], np.split(member, start[1:-1]), strict=False):
        place = np.arange((high - low) // max(hers.size, 1))[:, None]
        used: BoolArray = place < load[hers]
        row = order[(begin[hers] + place)[used]]
        slot[row] = low + np.flatnonzero(used.ravel())
    item_of[slot], score_of[slot] = item, score
    return Layout(first, start, member, load, item_of, score_of), slot


def blocks_of(load: IntArray) -> tuple[IntArray, IntArray, CodeArray]:
    """Return where the slots and the members of each block begin, and where the last end, and all members."""
    width = _widths(load)
    by_width = np.argsort(width, kind="stable")
    by_width = by_width[width[by_width] > 0]
    pieces = _pieces(by_width, width)
    size = np.array([piece.size for piece in pieces], np.int64)
    slots = size * np.array([width[piece[0]] for piece in pieces], np.int64)
    first, start = (np.concatenate([[0], np.cumsum(each)]) for each in (slots, size))
    return first, start, by_width.astype(np.uint32)


def _widths(load: IntArray) -> IntArray:
    """Slots given to each reviewer: her load, rounded up to one of few sizes above ``EXACT_LOADS``."""
    sizes = [*range(EXACT_LOADS + 1)]
    while sizes[-1] < load.max(initial=0):
        sizes.append(int(np.ceil(sizes[-1] * WASTE)))
    known = np.array(sizes)
    width = known[np.searchsorted(known, load)]
    # No wider than the widest reviewer of the same size needs.
    widest = np.zeros(known[-1] + 1, np.int64)
    np.maximum.at(widest, width, load)
    return np.asarray(widest[width], np.int64)


def _pieces(members: IntArray, width: IntArray) -> list[IntArray]:
    """Cut reviewers, sorted by width, into runs of one width and of about ``BLOCK`` slots."""
    cuts = np.flatnonzero(np.diff(width[members])) + 1
    pieces = []
    for run in np.split(members, cuts):
        if run.size:
            parts = max(1, int(np.ceil(run.size * width[run[0]] / BLOCK)))
            pieces.extend(np.array_split(run, min(parts, run.size)))
    return pieces


# Steps of the hyperparameters towards the highest evidence, taken between sweeps.

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

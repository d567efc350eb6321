"""The model, the priors and bounds of its hyperparameters, the layout of the reviews, and steps on the log evidence.

::

    x      ~ N(0, K^-1),  K = (1 - kappa) I + kappa L / dbar              papers
    log a  ~ two-piece normal, mode mu, scales tau_left and tau_right     slope of a reviewer
    b | a  ~ N(g0 + g1 a, omega^2)                                        offset of a reviewer
    y_ij   = b_j + a_j x_i + e_ij
    e_ij   ~ N(0, c_j u_ij^-gamma exp 2 (nu + rho (log a_j - mu)) + r^2)  noise, u the weight of the review
    log c_j ~ N(0, own^2)                                                 own noise of a reviewer

With probability w a reviewer is ordinal: p(y_j) = p(y_j | fresh papers) k! / prod t! P(order of x_i + s_R eps_i). rho =
1 is noise in the perceived quality, 0 noise in the score; r^2 is the variance of rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reviewgraph._base import BoolArray, CodeArray, FloatArray, IntArray

#: Names of the entries of a vector of hyperparameters.
NAMES = (
    *("mu", "log_tau_left", "log_tau_right", "g0", "g1", "log_omega", "nu", "rho"),
    *("gamma", "log_own", "logit_w", "log_s_r"),
)
MU, LOG_TAU_LEFT, LOG_TAU_RIGHT, G0, G1, LOG_OMEGA, NU, RHO, GAMMA, LOG_OWN, LOGIT_W, LOG_S_R = range(12)
SIZE = len(NAMES)

#: Lower bounds, initial values (half the variance of scores is quality, reviewers differ a little) and upper bounds.
#: Slopes that differ by 4 % and offsets by .05 are practically equal; below, nodes could not follow the mode.
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

#: Scales of the priors: half-normal of tau and omega; normal of g1, rho, log tau_l^2 / tau_r^2 and gamma.
TAU_SCALE, OMEGA_SCALE, G1_SCALE, RHO_CENTRE, RHO_SCALE, SKEW_SCALE, GAMMA_SCALE = 1.0, 2.0, 5.0, 0.5, 0.5, 1.0, 1.0

#: Normal priors (mean, standard deviation) of the log standard deviation of own noise, about that of the log of a chi^2
#: with 6 degrees of freedom; of the logit of w, the share of ordinal reviewers; of the log of s_R, their noise.
OWN = (float(np.log(0.63)), 0.5)
W, S_R = (-2.0, 2.0), (float(np.log(0.5)), 1.0)


class Extent(NamedTuple):
    """Extensions of the model in use.

    ``own``: own noise of each reviewer; ``orders``: ordinal reviewers; ``kappa``: assortment, with ``strength`` = kappa
    / dbar, the weight of the Laplacian in K, ``half_log_determinant`` = log det K / 2, and the ``mean_square`` of
    qualities it implies. ``ordinal``: scores are levels of latent scores (:mod:`lsc._inference.categories`).
    ``alike``: reviewers differ in offsets only, the standard deviation of log slopes being at its lower bound.
    """

    own: bool = False
    orders: bool = False
    kappa: float = 0.0
    strength: float = 0.0
    half_log_determinant: float = 0.0
    mean_square: float = 1.0
    ordinal: bool = False
    alike: bool = False


def _normal_priors() -> tuple[FloatArray, FloatArray]:
    """Return centres and curvature of the normal priors of hyperparameters, shapes (P,), (P, P)."""
    centre, curvature = np.zeros(SIZE), np.zeros((SIZE, SIZE))
    normal = {G1: (0.0, G1_SCALE), RHO: (RHO_CENTRE, RHO_SCALE), GAMMA: (0.0, GAMMA_SCALE)}
    for entry, (mean, scale) in (normal | {LOG_OWN: OWN, LOGIT_W: W, LOG_S_R: S_R}).items():
        centre[entry], curvature[entry, entry] = mean, scale**-2
    # log tau_left^2 / tau_right^2 ~ N(0, SKEW_SCALE^2)
    skew = np.zeros(SIZE)
    skew[[LOG_TAU_LEFT, LOG_TAU_RIGHT]] = 2 / SKEW_SCALE, -2 / SKEW_SCALE
    return centre, curvature + np.outer(skew, skew)


_NORMAL_CENTRE, _NORMAL_CURVATURE = _normal_priors()
_HALF_NORMAL = np.array([LOG_TAU_LEFT, LOG_TAU_RIGHT, LOG_OMEGA])
_HALF_NORMAL_PRECISION = np.array([TAU_SCALE, TAU_SCALE, OMEGA_SCALE]) ** -2


class Prior(NamedTuple):
    """Log density, gradient and curvature (positive) of the priors of hyperparameters, shapes (), (P,), (P, P)."""

    value: float
    gradient: FloatArray
    curvature: FloatArray


def log_prior(theta: FloatArray) -> Prior:
    """Return the log prior density of hyperparameters, up to a constant."""
    # Half-normal in the scale itself, so that a scale can vanish: with u = log tau, -tau^2 / 2 s^2.
    square = np.exp(2 * theta[_HALF_NORMAL]) * _HALF_NORMAL_PRECISION
    deviation = theta - _NORMAL_CENTRE
    pull = _NORMAL_CURVATURE @ deviation
    gradient, curvature = -pull, _NORMAL_CURVATURE.copy()
    gradient[_HALF_NORMAL] -= square
    curvature[_HALF_NORMAL, _HALF_NORMAL] += 2 * square
    return Prior(float(-0.5 * (square.sum() + deviation @ pull)), gradient, curvature)


def rescaled(theta: FloatArray, centre: float, spread: float) -> FloatArray:
    """Hyperparameters when qualities become ``(x - centre) / spread``: slopes are multiplied by spread."""
    new = theta.copy()
    new[MU] += np.log(spread)
    new[LOG_S_R] -= np.log(spread)
    new[G1] = (theta[G1] + centre) / spread
    return new


# Layout of the reviews for vectorised steps: blocks of reviewers, of about equal load where they are many.

#: Largest load with blocks of its own; above, loads in a block differ by at most a sixth. Few reviewers, of loads up to
#: ``NARROW``, share a block whatever their loads: in a small table calls take longer than what they compute.
EXACT_LOADS, NARROW = 8, 64
WASTE = 7 / 6
#: Reviews per block: its arrays over 15 nodes fit in the processor's cache.
BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Block:
    """Reviewers of nearly equal load, or few of several loads; a slot holds a review or is empty.

    ``reviewer`` (m,): their codes; ``load`` (m,): their numbers of reviews. Slots ``first`` to ``last``, those of one
    reviewer ``m`` apart: ``slots[first:last].reshape(k, m)``. ``score`` and ``used`` (k, m): score, or 0; 1 or, if
    empty, 0.
    """

    reviewer: IntArray
    first: int
    last: int
    score: FloatArray
    used: FloatArray
    load: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Slots per reviewer and number of reviewers."""
        return self.score.shape[0], self.score.shape[1]

    @property
    def full(self) -> bool:
        """Whether no slot is empty."""
        return bool(self.load.min() == self.score.shape[0])


class Layout(NamedTuple):
    """Some of the reviewers, in blocks in order of load; flat, as kernels take it.

    ``first``, ``start`` (B + 1,): where slots and members of each block begin, and where the last end; ``member``:
    codes of reviewers, block by block; ``load`` (M,); ``item``, ``score`` (S,): of each slot, N and 0 if empty.
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
    """Group reviewers by load; returns the slot of each review, too. One sort, otherwise O(E).

    ``reviewer``, ``item``, ``score`` have shape (E,), in any order.
    """
    order = np.lexsort((item, reviewer))
    load = np.bincount(reviewer, minlength=n_reviewers)
    begin = np.concatenate([[0], np.cumsum(load)])
    first, start, member = blocks_of(load)
    slot, size = np.empty(item.size, np.int64), int(first[-1])
    item_of, score_of = np.full(size, n_items, np.uint32), np.zeros(size)
    for low, high, members in zip(first[:-1], first[1:], np.split(member, start[1:-1]), strict=False):
        place = np.arange((high - low) // max(members.size, 1))[:, None]
        used: BoolArray = place < load[members]
        row = order[(begin[members] + place)[used]]
        slot[row] = low + np.flatnonzero(used.ravel())
    item_of[slot], score_of[slot] = item, score
    return Layout(first, start, member, load, item_of, score_of), slot


def blocks_of(load: IntArray) -> tuple[IntArray, IntArray, CodeArray]:
    """Return the first slot and the first member of each block, with the ends, and all members."""
    # Slots of each reviewer: the load, rounded up to one of few sizes above ``EXACT_LOADS``, ...
    sizes = [*range(EXACT_LOADS + 1)]
    while sizes[-1] < load.max(initial=0):
        sizes.append(int(np.ceil(sizes[-1] * WASTE)))
    allowed = np.array(sizes)
    rounded = allowed[np.searchsorted(allowed, load)]
    # ... but at most the largest load of the same rounded size.
    widest = np.zeros(allowed[-1] + 1, np.int64)
    np.maximum.at(widest, rounded, load)
    width = np.asarray(widest[rounded], np.int64)
    by_width = np.argsort(width, kind="stable")
    by_width = by_width[width[by_width] > 0]
    # Cut reviewers, sorted by width, into runs of one width and of about ``BLOCK`` slots; few of several widths share
    # a block.
    pieces: list[IntArray] = []
    for run in np.split(by_width, np.flatnonzero(np.diff(width[by_width])) + 1):
        if not run.size:
            continue
        if pieces and (pieces[-1].size + run.size) * width[run[0]] <= BLOCK and width[run[0]] <= NARROW:
            pieces[-1] = np.concatenate([pieces[-1], run])
            continue
        parts = max(1, int(np.ceil(run.size * width[run[0]] / BLOCK)))
        pieces.extend(np.array_split(run, min(parts, run.size)))
    size = np.array([piece.size for piece in pieces], np.int64)
    slots = size * np.array([width[piece[-1]] for piece in pieces], np.int64)
    first, start = (np.concatenate([[0], np.cumsum(each)]) for each in (slots, size))
    return first, start, by_width.astype(np.uint32)


# Steps of the hyperparameters, taken between sweeps: damped scoring on the log evidence.

#: Share of the squared mean gradient subtracted from the empirical information.
CENTRED = 0.9
#: Relative ridge on the diagonal of the information, and its minimum.
RIDGE, MIN_DIAGONAL = 0.02, 1e-3
#: Least share of the information in means and variances of scores.
LEAST = 0.5
#: Maximum step of a hyperparameter, and the growth of its trust radius after a step that did not reverse.
MAX_STEP = 0.4
RADIUS_GROWTH = 2.0
#: Cosine (in the metric of the information) below which two steps count as reversed, above which as aligned.
REVERSED, ALIGNED = -0.2, 0.5
#: Factors on the damping after either, and its minimum.
SHRINK, GROW, MIN_DAMPING = 0.6, 1.2, 0.05
#: Entries that change noise; the mean absolute value of a standard normal variable.
_NOISE, _MEAN_SIDE = np.array([MU, NU, RHO]), float(np.sqrt(2 / np.pi))
#: Directions in which hyperparameters move with spread and centre of the qualities (:func:`rescaled`); shape (P, 2).
SCALE_MOVES = np.zeros((SIZE, 2))
SCALE_MOVES[[MU, LOG_S_R], 0], SCALE_MOVES[G1, 1] = (1.0, -1.0), 1.0


class Gradient(NamedTuple):
    """Derivatives of reviewers' log evidences by the hyperparameters: sum g, (P,), and sum g g', (P, P)."""

    total: FloatArray
    square: FloatArray

    @staticmethod
    def none() -> Gradient:
        return Gradient(np.zeros(SIZE), np.zeros((SIZE, SIZE)))

    @staticmethod
    def of(each: FloatArray) -> Gradient:
        """Return that of some reviewers, a column each, shape (P, m)."""
        return Gradient(each.sum(axis=1), each @ each.T)

    def plus(self, other: Gradient) -> Gradient:
        return Gradient(self.total + other.total, self.square + other.square)


class Ascent(NamedTuple):
    """A step of the hyperparameters.

    ``theta`` (P,): the new values; ``gain``: predicted gain in log probability of a full step, and ``move`` (P,): the
    step, both without the scale of qualities; ``radius`` (P,): trust radius of each hyperparameter for the next step;
    ``damping``, ``max_damping``: damping factor, and its maximum; ``information`` (P, P): curvature used; ``scale``
    (P,), ``scale_damping``: the step along the scale of qualities, and its damping factor.
    """

    theta: FloatArray
    gain: float
    radius: FloatArray
    move: FloatArray
    damping: float
    max_damping: float
    information: FloatArray
    scale: FloatArray
    scale_damping: float


def initial_step(theta: FloatArray, max_damping: float = 1.0) -> Ascent:
    none, radius = np.zeros(SIZE), np.full(SIZE, max_damping * MAX_STEP)
    return Ascent(theta, np.inf, radius, none, max_damping, max_damping, np.eye(SIZE), none, max_damping)


def ascend(
    theta: FloatArray,
    gradient: Gradient,
    n_reviewers: int,
    n_reviews: int,
    free: BoolArray,
    previous: Ascent,
    share: float = 1.0,
) -> Ascent:
    """Take a damped step of scoring with the empirical information.

    Messages lag behind hyperparameters, and full steps can cycle. So the damping shrinks after a step that reverses the
    previous one, and grows up to the maximum after one aligned with it; likewise the trust radius of each
    hyperparameter. ``free`` (P,) selects those to learn, ``previous`` is the previous step; along the scale of
    qualities at most a ``share`` of it is taken.
    """
    prior = log_prior(theta)
    total = gradient.total
    information = gradient.square - CENTRED * np.outer(total, total) / max(n_reviewers, 1)
    information = _bounded_information(information, theta, n_reviewers, n_reviews)
    information = _least_information(information, theta, n_reviewers, n_reviews)
    information = _with_ridge(information + prior.curvature)
    ascent = total + prior.gradient
    # Active set: an entry at a bound whose gradient points outwards stays there.
    active = free & ~((theta <= LOWEST) & (ascent < 0)) & ~((theta >= HIGHEST) & (ascent > 0))
    # Standardising after each sweep partly reverts a change of the scale of qualities, so the component along it never
    # vanishes: it is split off, with a damping of its own, and the gain does not depend on it.
    along = SCALE_MOVES[:, (SCALE_MOVES[active] != 0).any(axis=0)] * active[:, None]
    scale = along @ np.linalg.solve(along.T @ information @ along, along.T @ ascent)
    ascent = ascent - information @ scale
    move = _boxed_step(information, ascent, active, (LOWEST - theta, HIGHEST - theta))
    gain = float(move @ ascent - 0.5 * move @ information @ move)
    # Damping of either part from the angle between this step and the previous one.
    damping = _damping(move, previous.move, information, previous.damping, previous.max_damping)
    scale_damping = _damping(scale, previous.scale, information, previous.scale_damping, previous.max_damping)
    reverses = move * previous.move < 0
    radius = np.where(
        reverses,
        0.5 * np.minimum(previous.radius, np.abs(previous.move)),
        np.minimum(RADIUS_GROWTH * previous.radius, MAX_STEP),
    )
    box = np.maximum(-radius, LOWEST - theta), np.minimum(radius, HIGHEST - theta)
    move = _boxed_step(information, damping * ascent, active, box)
    new = np.clip(theta + move + share * np.clip(scale_damping * scale, -MAX_STEP, MAX_STEP), LOWEST, HIGHEST)
    return Ascent(new, gain, radius, move, damping, previous.max_damping, information, scale, scale_damping)


def _with_ridge(information: FloatArray) -> FloatArray:
    """Return the information with a ridge on its diagonal."""
    information = information.copy()
    information.flat[:: SIZE + 1] *= 1 + RIDGE
    information.flat[:: SIZE + 1] += MIN_DIAGONAL
    return information


def _boxed_step(
    information: FloatArray, ascent: FloatArray, active: BoolArray, box: tuple[FloatArray, FloatArray]
) -> FloatArray:
    """Return the step of the active entries within a box: those that would leave it go to its side, others follow."""
    move, free = np.zeros(SIZE), active.copy()
    while free.any():
        pull = ascent - information @ move
        move[free] = np.linalg.solve(information[np.ix_(free, free)], pull[free])
        inside = np.clip(move, *box)
        outside = free & (inside != move)
        if not outside.any():
            break
        move, free = np.where(outside | ~free, inside, 0.0), free & ~outside
    return move


def _damping(move: FloatArray, before: FloatArray, metric: FloatArray, damping: float, largest: float) -> float:
    """Return the damping factor of a step, smaller if it reverses the one before and larger if it goes on."""
    length = np.sqrt((move @ metric @ move) * (before @ metric @ before))
    agreement = move @ metric @ before / length if length > 0 else 1.0
    if agreement < REVERSED:
        return max(damping * SHRINK, MIN_DAMPING)
    return min(damping * GROW, largest) if agreement > ALIGNED else damping


def _bounded_information(information: FloatArray, theta: FloatArray, n_reviewers: int, n_reviews: int) -> FloatArray:
    """Bound the information about noise by what complete data (papers, slopes, offsets) would give.

    Where the noise is misjudged, the squared gradient of a reviewer of k papers grows with k^2 but the information only
    with k: steps would be too short to converge. In the metric of the bound no eigenvalue exceeds 1.
    """
    left, right = np.exp(theta[[LOG_TAU_LEFT, LOG_TAU_RIGHT]]).tolist()
    # Mean and mean square of log a - mu give E v v' of the derivatives v of log noise by mu, nu and rho.
    mean, square, rho = _MEAN_SIDE * (right - left), (left**3 + right**3) / (left + right), float(theta[RHO])
    bound = 2.0 * n_reviews * np.array([[rho**2, -rho, -rho * mean], [-rho, 1.0, mean], [-rho * mean, mean, square]])
    bound[0, 0] += n_reviewers / (left * right)
    bound.flat[:: len(_NOISE) + 1] *= 1 + MIN_DIAGONAL
    bound.flat[:: len(_NOISE) + 1] += MIN_DIAGONAL
    lower = np.linalg.cholesky(bound)
    rows_of_noise = np.linalg.solve(lower, information[_NOISE])
    inner = np.linalg.solve(lower, rows_of_noise[:, _NOISE].T)
    value, vector = np.linalg.eigh(0.5 * (inner + inner.T))
    # What exceeds the bound leaves the rows of noise, and its share all other entries.
    value = np.maximum(value, 1.0)
    excess = (rows_of_noise.T @ vector) * (np.sqrt(value - 1.0) / value)
    return np.asarray(information - excess @ excess.T)


def _least_information(information: FloatArray, theta: FloatArray, n_reviewers: int, n_reviews: int) -> FloatArray:
    """Raise the information to what means and variances of reviewers' scores would give if they came from the model.

    Where they differ less than the model expects, most of all in rankings, which share one mean and one variance, the
    gradients of reviewers are alike: their squares tell nothing of the curvature, and steps would be far too long.
    """
    slope, noise, omega = np.exp(2 * theta[[MU, NU, LOG_OMEGA]]).tolist()
    tau = float(np.exp(theta[LOG_TAU_LEFT] + theta[LOG_TAU_RIGHT]))
    variance, load = slope + noise, n_reviews / max(n_reviewers, 1)
    by_mean, by_variance, by_between = np.zeros((3, SIZE))
    by_mean[[G0, G1, MU]] = 1.0, np.sqrt(slope), theta[G1] * np.sqrt(slope)
    by_variance[[MU, NU]] = 2 * slope / variance, 2 * noise / variance
    of_means = omega + variance / load
    by_between[[LOG_OMEGA, MU, NU]] = 2 * np.array([omega, slope / load, noise / load]) / of_means
    spread = of_means, 2 / max(load - 1, 1e-3) + by_variance[MU] ** 2 * tau, 2.0
    inverse = np.linalg.inv(_with_ridge(information))
    for direction, square in zip((by_mean, by_variance, by_between), spread, strict=True):
        # Along the direction the inverse has the entry ``ratio / least``; it should be at most ``1 / least``.
        least, column = LEAST * n_reviewers / square, inverse @ direction
        ratio = least * float(direction @ column)
        if ratio > 1:
            more = least * (1 - 1 / ratio)
            information = information + more * np.outer(direction, direction)
            inverse -= np.outer(column, column) * (more / (1 + more * ratio / least))
    return information


# How far means are from convergence, from the last sweeps of an optimisation that ran out of sweeps.

#: Number of last sweeps observed, and the largest ratio of the ranges of their halves that is extrapolated.
OBSERVED, MAX_RATIO = 12, 0.9


class Track:
    """The ranges of means over two halves of the last sweeps of an optimisation of at most ``max_sweeps``.

    Means that swing converge to a value within their range; means that drifted by d have ``d q / (1 - q)`` before them
    where q is the ratio of the ranges. The larger of both bounds the distance unless means drift ever slower.

    >>> track = Track(60)
    >>> for sweep in range(1, 61):
    ...     track.add(sweep, np.array([0.8**sweep, 1.0]))
    >>> bool(0.5 < track.distance(np.ones(2)) / 0.8**60 < 5.0)
    True
    """

    def __init__(self, max_sweeps: int) -> None:
        self.first = max(max_sweeps - OBSERVED, 1)
        self.middle = max(max_sweeps - OBSERVED // 2, self.first + 1)
        self.ranges: list[tuple[FloatArray, FloatArray]] = []
        self.half = self.last = np.empty(0)

    def add(self, sweep: int, mean: FloatArray) -> None:
        """Add the means of a sweep, counted from 1; the sweep in the middle belongs to both halves."""
        if sweep < self.first:
            return
        self.last = mean
        if not self.ranges:
            self.ranges.append((mean.copy(), mean.copy()))
        low, high = self.ranges[-1]
        np.minimum(low, mean, out=low)
        np.maximum(high, mean, out=high)
        if sweep >= self.middle and len(self.ranges) == 1:
            self.half = mean
            self.ranges.append((mean.copy(), mean.copy()))

    def distance(self, variance: FloatArray) -> float:
        """Return the largest distance of a mean from its converged value, in standard errors; inf if unknown."""
        if len(self.ranges) < 2:
            return np.inf
        sd, (_, (low, high)) = np.sqrt(variance), self.ranges
        before, now = (float(((top - bottom) / sd).max()) for bottom, top in self.ranges)
        ratio = min(now / before, MAX_RATIO) if before > 0 else MAX_RATIO
        swing, drift = np.maximum(high - self.last, self.last - low), np.abs(self.last - self.half)
        return float((np.maximum(swing, drift * ratio / (1 - ratio)) / sd).max())

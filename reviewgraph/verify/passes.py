"""The posterior reimplemented: one pass of expectation propagation, its first state, and tests of convergence.

The model is that of docs/explanation: ``y = b + a x + e``, a reviewer's log slope two-piece normal, the offset normal
given the slope, the log noise linear in the log slope by ``rho``, with a deviation per reviewer of scale ``log_own``.
Slopes and noises are summed over nodes, offsets integrated out. Reviewers of k papers are processed together: arrays
have the axes (paper, node, reviewer). Converged messages are a fixed point of a pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.verify.answers import ROUNDING
from reviewgraph.verify.scores import (
    Problem,
    evidence_of_averages,
    first_observed,
    fit_averages,
    half_log_determinant,
    intervals,
    levels_in,
    observation_of,
    within_interval,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph._base.arrays import FloatArray, IntArray
    from reviewgraph.verify.answers import Findings
    from reviewgraph.verify.graphs import Table
    from reviewgraph.verify.scores import Scores


# Ordinal reviewers: the probability of a ranking of normal variables, and their moments given it, on a grid.

#: Papers of an ordinal reviewer at most; points of the grid for a few papers and for more, and how many are a few;
#: standard deviations that the grid covers.
MOST_PAPERS, POINTS, FEW, REACH = 200, (32, 64), 10, 4.0
#: Probability that counts as 0, and ratio of neighbours that a cubic does not follow.
NOTHING, STEEP = 1e-250, 7.5


class Order(NamedTuple):
    """Log probability, shape (m,), and mean and mean square of papers less their prior means, shapes (k, m)."""

    log_probability: FloatArray
    mean: FloatArray
    square: FloatArray


def order_of(score: FloatArray, mean: FloatArray, variance: FloatArray, noise: float) -> Order:
    """Return what the ranking of scores implies for papers perceived with some noise; arrays of shape (k, m).

    Equal scores are ranked as the means are, and all their permutations count.
    """
    # Papers in the order of their scores, on a grid that covers all perceived values.
    order = np.lexsort((mean, score), axis=0)
    m, v = np.take_along_axis(mean, order, 0), np.take_along_axis(variance, order, 0)
    sd = np.sqrt(v + noise)
    low, high = (m - REACH * sd).min(axis=0), (m + REACH * sd).max(axis=0)
    points = POINTS[len(m) > FEW]
    grid = low + np.linspace(0, 1, points)[:, None] * (high - low)
    deviation = grid - m[:, None]
    density = np.exp(-((deviation / sd[:, None]) ** 2) / 2)
    slope = -density * deviation * ((high - low) / (points - 1)) / (v + noise)[:, None]
    whole = np.array([_up_to(*paper)[1] for paper in zip(density, slope, strict=True)])[:, None]
    density, slope = density / whole, slope / whole
    # Forward and backward recursions along the order: the density of each perceived value given all.
    below, total = _passed(density, slope)
    above = _passed(density[::-1, ::-1], -slope[::-1, ::-1])[0][::-1, ::-1]
    share = density * below * above
    share /= np.maximum(share.sum(axis=1, keepdims=True), NOTHING)
    first, square = (share * deviation).sum(axis=1), (share * deviation**2).sum(axis=1)
    # From perceived values to papers: regress on them, in the order of the arguments again.
    gain, back = v / (v + noise), np.argsort(order, axis=0)
    mean_moved, spread = (
        np.take_along_axis(value, back, 0) for value in (gain * first, gain**2 * square + gain * noise)
    )
    return Order(total + _arrangements(np.take_along_axis(score, order, 0)), mean_moved, spread)


def _up_to(value: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Integrate a function, log-concave, from its values and slopes at the points (axis 0): up to each, and in all.

    Between neighbours: a cubic, or where they are far apart, an exponential and its curvature; beyond, exponentials.
    """
    a, b, da, db = value[:-1], value[1:], slope[:-1], slope[1:]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        tail = np.where(slope == 0, 0.0, value * np.abs(value / slope))
        log = np.log(b) - np.log(a)
        bent = np.minimum(db / b - da / a, 0.0) * (log * (a + b) / (b - a) - 2) / (2 * log**2)
        part = (b - a) / log * (1 - bent)
    near = (b < STEEP * a) & (a < STEEP * b)
    part = np.where(near, np.maximum((a + b) / 2 - (db - da) / 12, np.minimum(a, b)), part)
    part = np.where((a > 0) & (b > 0), part, np.where((a <= 0) & (db > 0), tail[1:], 0.0))
    part = np.where((a > 0) & (b <= 0) & (da < 0), tail[:-1], part)
    so_far = np.cumsum(np.concatenate([np.where(slope[:1] > 0, tail[:1], 0.0), part]), axis=0)
    return so_far, np.maximum(so_far[-1] + np.where(slope[-1] < 0, tail[-1], 0.0), NOTHING)


def _passed(density: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities that all before are in order and below here, and the log probability of the order."""
    below, rise, total = np.ones_like(density), np.zeros(density.shape[1:]), np.zeros(density.shape[2])
    for place in range(len(density)):
        value = density[place] * below[place]
        so_far, mass = _up_to(value, slope[place] * below[place] + density[place] * rise)
        total += np.log(mass)
        rise = np.where(so_far / mass > NOTHING, value / mass, 0.0)
        if place + 1 < len(density):
            below[place + 1] = np.maximum(so_far / mass, NOTHING)
    return below, total


def _arrangements(ranked: FloatArray) -> FloatArray:
    """Return log k! / prod t!, t the numbers of equal scores."""
    equal, log = np.ones(ranked.shape[1]), np.zeros(ranked.shape[1])
    for place in range(1, len(ranked)):
        equal = np.where(ranked[place] == ranked[place - 1], equal + 1, 1.0)
        log += np.log(place + 1) - np.log(equal)
    return log


#: Nodes of a log slope and of the log of own noise, in standard deviations, and their weights over the density.
LINE, AREA = np.linspace(-4.2, 4.2, 15)[:, None], 0.6
CROSS = np.array([-np.sqrt(3.0), 0.0, np.sqrt(3.0)])[:, None]
CROSS_AREA = np.array([1.0, 4.0, 1.0])[:, None] / 6 * np.sqrt(2 * np.pi) * np.exp(CROSS**2 / 2)
#: Minimum precision of a message, and maximum shift of one of that precision.
LEAST, FURTHEST, PER_PRECISION = 1e-8, 3.0, 20.0


class Model(NamedTuple):
    """Hyperparameters by name, and the kind of the model: own noise, ordinal reviewers, likeness ``kappa``.

    ``strength`` is kappa over the mean number of pairs per paper, ``log_determinant`` half that of the prior.
    """

    theta: Mapping[str, float]
    own: bool
    orders: bool
    kappa: float
    strength: float
    log_determinant: float


class State(NamedTuple):
    """Messages of reviews, shape (4, E): precision, shift, and both of likeness; nodes of reviewers, shape (8, M).

    Nodes are mean and spread of the log slope and of the log of own noise, and the same given unseen papers.
    """

    messages: FloatArray
    nodes: FloatArray


class Pass(NamedTuple):
    """The outcome of a pass: the new ``state``, and means, variances (N,) and log evidence of the old one.

    ``parts`` are those of the evidence by reviewer, shape (M,). ``people`` are means of slope and offset, the variance
    of the slope, the noise variance, and the probability of being ordinal, shape (5, M), NaN without scores.
    """

    state: State
    mean: FloatArray
    variance: FloatArray
    evidence: float
    parts: FloatArray
    people: FloatArray


def start(problem: Problem, model: Model) -> State:
    """Return the state before any message."""
    theta = model.theta
    tau = np.exp((theta["log_tau_left"] + theta["log_tau_right"]) / 2)
    nodes = np.array([theta["mu"], tau, 0.0, np.exp(theta["log_own"])] * 2)[:, None]
    return State(np.zeros((4, problem.who.size)), nodes * np.ones(problem.sizes[0]))


def beliefs(problem: Problem, model: Model, state: State) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of the items, shapes (N,): prior, references and messages."""
    messages = [
        np.bincount(problem.what, rows[0] + rows[1], problem.sizes[1])
        for rows in (state.messages[::2], state.messages[1::2])
    ]
    precision = 1.0 - model.kappa + messages[0] + problem.references[0]
    return (messages[1] + problem.references[1]) / precision, 1.0 / precision


def one_pass(problem: Problem, model: Model, state: State) -> Pass:
    """Recompute the messages of every reviewer, all from those of the old state."""
    mean, variance = beliefs(problem, model, state)
    messages, nodes = np.zeros_like(state.messages), state.nodes.copy()
    parts, people = np.zeros(problem.sizes[0]), np.full((5, problem.sizes[0]), np.nan)
    between = (problem.counts > 0) @ _potential(mean, variance) + model.log_determinant
    for who, rows in problem.blocks(45 if model.own else 15):
        cavity = _cavity(problem, mean, variance, state.messages[:2], rows)
        step = reviewer_step(problem, model, state.nodes[:, who], rows, cavity)
        parts[who], people[:, who], nodes[:, who] = step.log_evidence, step.people, step.nodes
        messages[:2, rows] = _message(*cavity, step.mean, step.square, state.messages[1, rows])
        between += float((_potential(*cavity) - _potential(mean, variance)[problem.what[rows]]).sum())
        if model.kappa:
            cavity = _cavity(problem, mean, variance, state.messages[2:], rows)
            messages[2:, rows], of_likeness = _likeness(model.strength, *cavity)
            between += of_likeness + float((_potential(*cavity) - _potential(mean, variance)[problem.what[rows]]).sum())
    return Pass(State(messages, nodes), mean, variance, float(parts.sum() + between), parts, people)


def evidences(problem: Problem, model: Model, state: State) -> FloatArray:
    """Return each reviewer's part of the log evidence, shape (M,), from the messages of a state."""
    mean, variance = beliefs(problem, model, state)
    parts = np.zeros(problem.sizes[0])
    for who, rows in problem.blocks(45 if model.own else 15):
        cavity = _cavity(problem, mean, variance, state.messages[:2], rows)
        parts[who] = reviewer_step(problem, model, state.nodes[:, who], rows, cavity).log_evidence
    return parts


def _potential(mean: FloatArray, variance: FloatArray) -> FloatArray:
    return np.asarray((np.log(variance) + mean**2 / variance) / 2)


def _cavity(
    problem: Problem, mean: FloatArray, variance: FloatArray, messages: FloatArray, rows: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return beliefs on papers without the messages of some reviews, mean and variance, shapes (k, m)."""
    item = problem.what[rows]
    precision = 1.0 / variance[item] - messages[0, rows]
    return (mean[item] / variance[item] - messages[1, rows]) / precision, 1.0 / precision


def _message(m: FloatArray, v: FloatArray, moved: FloatArray, square: FloatArray, before: FloatArray) -> FloatArray:
    """Divide the new belief by the one without the reviewer, shape (2, k, m)."""
    precision = np.maximum(1.0 / np.maximum(square - moved**2, 1e-12 * v) - 1.0 / v, LEAST)
    shift = moved / v + (m + moved) * precision
    shift = np.where(precision <= LEAST, (before + shift) / 2, shift)
    furthest = FURTHEST + PER_PRECISION * precision
    return np.array([precision, np.clip(shift, -furthest, furthest)])


class Step(NamedTuple):
    """Reviewers of k papers: log evidence, and mean and mean square of papers less the cavities' means."""

    log_evidence: FloatArray
    mean: FloatArray
    square: FloatArray
    nodes: FloatArray
    people: FloatArray


def reviewer_step(
    problem: Problem, model: Model, nodes: FloatArray, rows: IntArray, cavity: tuple[FloatArray, FloatArray]
) -> Step:
    """Return the step of some reviewers of k papers each, a mixture with that of ordinal reviewers if modelled."""
    noise, rounding = np.exp(-model.theta["gamma"] * problem.log_noise[rows]), problem.rounding_of(rows)
    uses = _uses_scale(rounding, model, nodes[:4], problem.score[rows], noise, *cavity)
    if not model.orders or len(rows) > MOST_PAPERS:
        return uses._replace(nodes=np.concatenate([uses.nodes, nodes[4:]]))
    fresh = _uses_scale(rounding, model, nodes[4:], problem.score[rows], noise, 0 * noise, 1 + 0 * noise)
    order = order_of(problem.score[rows], *cavity, float(np.exp(2 * model.theta["log_s_r"])))
    odds = model.theta["logit_w"] + fresh.log_evidence + order.log_probability - uses.log_evidence
    part = 1 / (1 + np.exp(-odds))
    return Step(
        uses.log_evidence + np.logaddexp(0.0, odds) - np.logaddexp(0.0, model.theta["logit_w"]),
        (1 - part) * uses.mean + part * order.mean,
        (1 - part) * uses.square + part * order.square,
        np.concatenate([uses.nodes, fresh.nodes]),
        np.concatenate([uses.people[:4], part[None]]),
    )


class Given(NamedTuple):
    """Reviewers given slope and noise at each node, shapes (G, m); noise, total variance and residual, (k, G, m)."""

    z: FloatArray
    own: FloatArray
    log: FloatArray
    common: FloatArray
    noise: FloatArray
    total: FloatArray
    residual: FloatArray
    precision: FloatArray
    offset: FloatArray


def _given(
    rounding: float | FloatArray,
    model: Model,
    nodes: FloatArray,
    score: FloatArray,
    by_weight: FloatArray,
    m: FloatArray,
    v: FloatArray,
) -> Given:
    """Return log weights of the nodes, and the offset given these: its precision and mean, residuals less it."""
    theta = model.theta
    # Slope, offset prior and noise at each node.
    z, own, log_density = _grid(model, nodes)
    off, slope = z - theta["mu"], np.exp(z)
    middle, omega = theta["g0"] + theta["g1"] * slope, np.exp(2 * theta["log_omega"])
    common = np.exp(2 * (theta["nu"] + theta["rho"] * off) + own)
    noise = common * by_weight[:, None] + rounding
    total = slope**2 * v[:, None] + noise
    residual = score[:, None] - slope * m[:, None]
    # Given a node, the offset is Gaussian: its precision, mean, and the marginal likelihood of the scores.
    precision = 1 / omega + (1 / total).sum(axis=0)
    offset = (middle / omega + (residual / total).sum(axis=0)) / precision
    residual -= offset
    squares = (offset - middle) ** 2 / omega + (residual**2 / total).sum(axis=0)
    log = log_density - 0.5 * (np.log(2 * np.pi * total).sum(axis=0) + np.log(omega * precision) + squares)
    return Given(z, own, log, common, noise, total, residual, precision, offset)


def _uses_scale(
    rounding: float | FloatArray,
    model: Model,
    nodes: FloatArray,
    score: FloatArray,
    by_weight: FloatArray,
    m: FloatArray,
    v: FloatArray,
) -> Step:
    """Sum over slopes and noises; offset and papers are Gaussian given these."""
    z, own, log, common, noise, total, residual, precision, offset = _given(
        rounding, model, nodes, score, by_weight, m, v
    )
    slope, weighted = np.exp(z), residual / total
    # Weights of the nodes.
    top = log.max(axis=0)
    share = np.exp(log - top)
    whole = share.sum(axis=0)
    share /= whole
    # Moments of papers and of the reviewer, averaged over nodes.
    square = (share * noise / total).sum(axis=1) + v * (share * slope**2 * (weighted**2 + total**-2 / precision)).sum(
        axis=1
    )
    mean_slope = (share * slope).sum(axis=0)
    typical = (
        common * by_weight.mean(axis=0) + rounding if isinstance(rounding, float) else 1 / (1 / noise).mean(axis=0)
    )
    level = (share * np.log(typical)).sum(axis=0)
    spread = (share * (slope - mean_slope) ** 2).sum(axis=0)
    people = np.array([mean_slope, (share * offset).sum(axis=0), spread, np.exp(level), 0 * level])
    moved = np.concatenate(
        [_followed(nodes[:2], share, z), _followed(nodes[2:], share, own) if model.own else nodes[2:]]
    )
    return Step(top + np.log(whole), v * (share * slope * weighted).sum(axis=1), v * square, moved, people)


def _grid(model: Model, nodes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log slopes, logs of own noise, and log weights of the prior at the nodes, shapes (G, m)."""
    theta = model.theta
    z = nodes[0] + LINE * nodes[1]
    own, off = 0 * z, z - theta["mu"]
    # No side is narrower than half of the distance of the nodes.
    sides = (np.exp([[4 * theta["log_tau_left"]], [4 * theta["log_tau_right"]]]) + (AREA / 2 * nodes[1]) ** 4) ** 0.25
    constant = np.log(2 * AREA * nodes[1] / (np.sqrt(2 * np.pi) * sides.sum(axis=0)))
    log = constant - (off / np.where(off < 0, *sides)) ** 2 / 2
    if model.own:
        own = np.repeat(nodes[2] + CROSS * nodes[3], len(LINE), axis=0)
        density = -((own / np.exp(theta["log_own"])) ** 2) / 2 - theta["log_own"] - np.log(2 * np.pi) / 2
        log = np.tile(log, (3, 1)) + density + np.log(np.repeat(CROSS_AREA, len(LINE), axis=0) * nodes[3])
        z = np.tile(z, (3, 1))
    return z, own, log


def _followed(nodes: FloatArray, share: FloatArray, value: FloatArray) -> FloatArray:
    """Return mean and standard deviation at the nodes, which shrink slowly enough to cover the mass."""
    mean = (share * value).sum(axis=0)
    square = (share * (value - mean) ** 2).sum(axis=0)
    least = np.maximum(((mean - nodes[0]) / 2) ** 2, (nodes[1] / 5) ** 2)
    return np.array([mean, np.sqrt(np.maximum(np.maximum(square, least), 1e-8))])


def _likeness(strength: float, m: FloatArray, v: FloatArray) -> tuple[FloatArray, float]:
    """Return the messages of likeness to papers from the others of their reviewers (k each), and its log evidence."""
    k = len(m)
    weight = 1 / (v + 1 / strength)
    total, pull = weight.sum(axis=0), weight * m
    others = total - weight if k > 1 else 0 * weight
    precision = strength * others / (strength + others)
    shift = precision * np.divide(pull.sum(axis=0) - pull, others, out=0 * others, where=others > 0)
    log = np.log(strength * k / total) - np.log1p(strength * v).sum(axis=0)
    log -= (pull * m).sum(axis=0) - pull.sum(axis=0) ** 2 / total
    return np.array([precision, shift]), float(log.sum() / 2)


def rescaled(problem: Problem, model: Model, before: Pass, state: State) -> State:
    """Return a state whose qualities have the mean and mean square of those before.

    Scores alone do not determine the scale, so it creeps; no quality as a score of a typical reviewer changes.
    """
    seen = problem.counts > 0
    (mean, variance), (old, spread) = beliefs(problem, model, state), (before.mean, before.variance)
    middle = mean[seen].mean() - 0.0
    size = np.sqrt(
        ((mean - middle) ** 2 + variance)[seen].mean() / ((old - old[seen].mean()) ** 2 + spread)[seen].mean()
    )
    centre = middle - size * old[seen].mean()
    precision, shift, alike, drawn = state.messages
    moved = [precision * size**2, (shift - precision * centre) * size, alike, (drawn - alike * centre) / size]
    nodes = state.nodes.copy()
    nodes[[0, 4]] += np.log(size)
    return State(np.array(moved), nodes)


# Levels: each score is an interval of a latent score, for which a Gaussian pseudo-observation stands.

#: Least variance of a predicted score.
LEAST_SPREAD = 1e-10
#: Sweeps over levels before convergence counts, part of the way of each update, and how it decays.
WARM_UP_LEVELS, PART, DECAY = 3, 0.7, 0.1


class Observed(NamedTuple):
    """The problem with new pseudo-observations, and what intervals add to the log evidence of the old ones.

    ``latent`` (2, E) are mean and variance of the latent scores.
    """

    problem: Problem
    evidence: float
    latent: FloatArray


def observed(problem: Problem, model: Model, state: State, part: float = 1.0) -> Observed:
    """Go ``part`` of the way to the pseudo-observations that intervals imply, given all other reviews."""
    mean, variance = beliefs(problem, model, state)
    score, rounding, evidence = problem.score.copy(), np.array(problem.rounding), 0.0
    latent = np.zeros((2, score.size))
    for who, rows in problem.blocks(45 if model.own else 15):
        cavity = _cavity(problem, mean, variance, state.messages[:2], rows)
        old, before = problem.score[rows], rounding[rows]
        expected, spread = _predicted(problem, model, state.nodes[:4, who], rows, cavity)
        log, moved, left = within_interval(*((edge[rows] - expected) / np.sqrt(spread) for edge in intervals(problem)))
        evidence += float(
            (log + (np.log(2 * np.pi * (spread + before)) + (old - expected) ** 2 / (spread + before)) / 2).sum()
        )
        after = observation_of(spread, left)
        new = expected + np.sqrt(spread) * moved * (1 + after / spread)
        precision = part / after + (1 - part) / before
        score[rows], rounding[rows] = (part * new / after + (1 - part) * old / before) / precision, 1 / precision
        latent[:, rows] = expected + np.sqrt(spread) * moved, spread * left
    return Observed(problem._replace(score=score, rounding=rounding), evidence, latent)


def _predicted(
    problem: Problem, model: Model, nodes: FloatArray, rows: IntArray, cavity: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of latent scores, shapes (k, m), from their papers and the reviewer's other reviews."""
    score, rounding = problem.score[rows][:, None], problem.rounding_of(rows)
    by_weight = np.exp(-model.theta["gamma"] * problem.log_noise[rows])
    given = _given(rounding, model, nodes, problem.score[rows], by_weight, *cavity)
    # The offset without this review, and its own score under what the others predict.
    weight = 1 / given.total
    precision = given.precision - weight
    without = given.offset - weight * given.residual / precision
    expected = score - given.residual - given.offset + without
    total = given.total + 1 / precision
    log = given.log + (np.log(total) + (score - expected) ** 2 / total) / 2
    share = np.exp(log - log.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    mean = (share * expected).sum(axis=1)
    spread = (share * (total - rounding + (expected - mean[:, None]) ** 2)).sum(axis=1)
    return mean, np.maximum(spread, LEAST_SPREAD)


def _swept_levels(problem: Problem, model: Model, state: State, sweeps: int) -> FloatArray:
    """Return the means of the items after sweeps that update pseudo-observations, too, or once they have converged."""
    before, calm = None, 0
    for count in range(1, sweeps + 1):
        problem = observed(problem, model, state, PART / (1 + DECAY * calm)).problem
        result = one_pass(problem, model, state)
        nodes = state.nodes + (result.state.nodes - state.nodes) / (1 + calm)
        state, calm = result.state._replace(nodes=nodes), calm + (count > WARM_UP_LEVELS)
        if calm and before is not None and (np.abs(result.mean - before) <= TOLERANCE * np.sqrt(result.variance)).all():
            break
        before = result.mean
    return beliefs(problem, model, state)[0]


# Convergence: what one pass, and a step of the hyperparameters, would still change.

#: Bounds of hyperparameters.
BOUNDS = {
    "mu": (-6.0, 4.0),
    "log_tau_left": (np.log(0.04), np.log(3.0)),
    "log_tau_right": (np.log(0.04), np.log(3.0)),
    "g0": (-9.0, 9.0),
    "g1": (-9.0, 9.0),
    "log_omega": (np.log(0.05), np.log(9.0)),
    "nu": (-4.0, 3.0),
    "rho": (-1.0, 2.0),
    "gamma": (-3.0, 3.0),
    "log_own": (np.log(0.05), np.log(2.0)),
    "logit_w": (-6.0, 4.0),
    "log_s_r": (np.log(0.1), np.log(3.0)),
}
#: Centres and scales of normal priors, and scales of half-normal priors of exponentials.
NORMAL = {
    "g1": (0.0, 5.0),
    "rho": (0.5, 0.5),
    "gamma": (0.0, 1.0),
    "log_own": (np.log(0.63), 0.5),
    "logit_w": (-2.0, 2.0),
    "log_s_r": (np.log(0.5), 1.0),
}
HALF_NORMAL = {"log_tau_left": 1.0, "log_tau_right": 1.0, "log_omega": 2.0}
#: Tolerance of means in a sweep, in standard errors; one in a thousand may move 25 times as far.
TOLERANCE, ONE_IN, FURTHER = 2e-3, 1_000, 25.0
#: Sweeps: at most, before convergence counts, and before messages are damped by half.
MOST, WARM_UP, UNDAMPED = 150, 2, 20
#: Step of numerical derivatives, and the part of its diagonal that is added to the information.
DIFFERENCE, RIDGE = 1e-5, 0.02


class Moves(NamedTuple):
    """What a pass would change: means in standard errors, messages by their effect on these, and nodes.

    Each is the maximum, or a 25th of it where only one in a thousand changes more.
    """

    mean: float
    message: float
    node: float


def _most(moved: FloatArray) -> float:
    return max(float(np.sort(moved, axis=None)[-1 - moved.size // ONE_IN]), float(moved.max()) / FURTHER)


def moves(problem: Problem, model: Model, state: State, result: Pass) -> Moves:
    """Return what a pass changed, apart from the scale of qualities where nothing determines it."""
    # Means, on the scale from before; ordinal reviewers tie it to the spread of their scores.
    new = result.state if model.orders else rescaled(problem, model, result, result.state)
    seen, sd = problem.counts > 0, np.sqrt(result.variance)
    mean = np.abs(beliefs(problem, model, new)[0] - result.mean) / sd
    # Messages, by what they do to a paper's standardised mean and variance.
    change = new.messages - state.messages
    effect = np.abs(change[:2] - np.array([0 * change[0], change[0] * result.mean[problem.what]]))
    scaled = effect * np.array([sd[problem.what] ** 2, sd[problem.what]])
    active = problem.load > 0
    # Nodes that the model uses: places by their spread, and spreads by their logarithm.
    kinds = [row for row in (0, 2, 4, 6) if (row % 4 == 0 or model.own) and (row < 4 or model.orders)]
    moved = [np.abs(new.nodes[row] - state.nodes[row]) / state.nodes[row + 1] for row in kinds]
    wider = [np.abs(np.log(new.nodes[row + 1] / state.nodes[row + 1])) for row in kinds]
    return Moves(_most(mean[seen]), _most(scaled), _most(np.array(moved + wider)[:, active]))


def observed_moves(problem: Problem, further: Observed) -> float:
    """Return what new pseudo-observations change, by what they do to standardised latent scores."""
    precision, before = 1 / np.asarray(further.problem.rounding), 1 / np.asarray(problem.rounding)
    mean, variance = further.latent
    shift = precision * further.problem.score - before * problem.score - (precision - before) * mean
    return _most(np.abs([shift * np.sqrt(variance), (precision - before) * variance]))


def converged_with(problem: Problem, model: Model, state: State) -> State:
    """Sweep until messages have adapted to references, as inference does."""
    before, calm_sweeps = None, 0
    for count in range(1, MOST + 1):
        result, damping = one_pass(problem, model, state), calm_sweeps
        calm_sweeps += count > WARM_UP
        far = None if before is None else np.abs(result.mean - before) / np.sqrt(result.variance)
        if count == MOST or (far is not None and calm_sweeps and converged(far)):
            break
        damped = state.nodes + (result.state.nodes - state.nodes) / (1 + damping)
        messages = (result.state.messages + state.messages) / 2 if damping > UNDAMPED else result.state.messages
        before, state = result.mean, State(messages, damped)
    return state


def converged(far: FloatArray) -> bool:
    """Whether means that moved by these distances have converged."""
    return bool(np.count_nonzero(far > TOLERANCE) * ONE_IN <= far.size + 1 and far.max() <= FURTHER * TOLERANCE)


def swept(problem: Problem, model: Model, sweeps: int) -> FloatArray:
    """Return the means of the items, shape (N,), after a number of sweeps from the first state."""
    state = start(problem, model)
    if problem.interval is not None:
        return _swept_levels(first_observed(problem), model, state, sweeps)
    for _ in range(sweeps):
        state = one_pass(problem, model, state).state
    return beliefs(problem, model, state)[0]


def log_prior(theta: Mapping[str, float]) -> float:
    """Return the log prior density of hyperparameters, up to a constant."""
    value = -2 * (theta["log_tau_left"] - theta["log_tau_right"]) ** 2
    value -= sum(np.exp(2 * theta[name]) / scale**2 for name, scale in HALF_NORMAL.items()) / 2
    value -= sum(((theta[name] - at) / scale) ** 2 for name, (at, scale) in NORMAL.items() if name in theta) / 2
    return float(value)


def gain_left(problem: Problem, model: Model, state: State, names: list[str]) -> float:
    """Return the log probability that a Newton step of the hyperparameters would gain.

    The scale of qualities is set aside, unless ordinal reviewers tie it to the spread of their scores. Derivatives are
    differences of each reviewer's log evidence at fixed messages, which do not matter at a fixed point.
    """
    # Slopes of the log evidence by reviewer, and of the prior.
    base, informative = evidences(problem, model, state), problem.load > 1
    each, prior, curvature = [], [], []
    for name in names:
        there, back = ({**model.theta, name: model.theta[name] + step} for step in (DIFFERENCE, -DIFFERENCE))
        each.append((evidences(problem, model._replace(theta=there), state) - base)[informative] / DIFFERENCE)
        prior.append((log_prior(there) - log_prior(back)) / (2 * DIFFERENCE))
        curvature.append(_curvature(model.theta, name))
    # The information is the sum of outer products of the slopes, less the common part, plus the prior's.
    slopes = np.array(each)
    total = slopes.sum(axis=1)
    slope = total + prior
    information = slopes @ slopes.T - 0.9 * np.outer(total, total) / max(problem.sizes[0], 1) + np.diag(curvature)
    information += np.diag(RIDGE * np.diag(information) + 1e-3)
    # Hyperparameters at a bound that they push against stay there.
    outwards = [
        (model.theta[name] <= BOUNDS[name][0] and push < 0) or (model.theta[name] >= BOUNDS[name][1] and push > 0)
        for name, push in zip(names, slope, strict=True)
    ]
    free = np.flatnonzero(~np.array(outwards))
    inner, slope = information[np.ix_(free, free)], slope[free]
    whole = float(slope @ np.linalg.solve(inner, slope))
    if model.orders:
        return whole / 2
    # A change of the scale of qualities and all that goes with it, and a shift.
    along = np.zeros((len(names), 2))
    for column, change in enumerate(({"mu": 1.0, "g1": -model.theta["g1"]}, {"g1": 1.0})):
        along[[names.index(name) for name in change if name in names], column] = [
            value for name, value in change.items() if name in names
        ]
    along = along[free]
    of_scale = along.T @ slope
    return (whole - float(of_scale @ np.linalg.pinv(along.T @ inner @ along, hermitian=True) @ of_scale)) / 2


def _curvature(theta: Mapping[str, float], name: str) -> float:
    if name in NORMAL:
        return 1.0 / NORMAL[name][1] ** 2
    if name in HALF_NORMAL:
        return 2 * float(np.exp(2 * theta[name])) / HALF_NORMAL[name] ** 2 + 4.0 * (name != "log_omega")
    return 0.0


# The final state of inference, read from an answer, and whether it has converged.

CONVERGED, NO_SIGNAL, EXHAUSTED = "converged", "no_signal", "sweeps_exhausted"
#: Status of a posterior with scores.
STATUSES = {CONVERGED, NO_SIGNAL, EXHAUSTED}
#: Hyperparameters of every model, and strengths of likeness that inference tries.
ALWAYS = ("mu", "log_tau_left", "log_tau_right", "g0", "g1", "log_omega", "nu", "rho")
KAPPAS = (0.0, 0.5, 0.75, 0.9, 0.96, 0.985)
#: Hyperparameters that depend on the scale of qualities, and how far beyond their bounds that may take them.
OF_SCALE, BEYOND = {"mu", "g1", "log_s_r"}, 2.0
#: Tolerances of a pass: means in standard errors; messages by their effect on the paper; nodes by their spread (one in
#: a thousand of each may move 25 times as far); nats gained by a step. Beyond FALSE times these, nothing had converged.
MEAN, MESSAGE, NODE, GAIN, FALSE = 0.03, 0.03, 1.0, 0.1, 10.0
#: Log evidence by which differences between reviewers must improve on the null model.
SIGNAL = 5.0
#: Relative difference allowed between log evidences: sums in another order.
EVIDENCE = 1e-10
#: The same where a likelihood was integrated over a grid.
INTEGRATED = 1e-7


class PrintedState:
    """A state of inference in an answer as arrays, if it fits the scores: ``problem``, ``model`` and ``state``.

    ``place`` names it in messages, ``printed`` is the object with its keys. Where scores are levels, the problem is
    that of their pseudo-observations.
    """

    def __init__(
        self, findings: Findings, place: str, printed: Mapping[str, Any], scored: Table, scores: Scores
    ) -> None:
        self.findings, self.place, self.printed, self.problem = findings, place, printed, scores.problem
        theta = self._get("hyperparameters")
        own, orders, self.levels = "log_own" in theta, "logit_w" in theta, "likelihood" in printed
        kappa, half = self._get("kappa"), self._get("half_log_determinant")
        expected = {*ALWAYS, *(["log_own"] * own), *(["logit_w", "log_s_r"] * orders)}
        weighted = bool(self.problem.log_noise.any())
        self._expect(expected <= set(theta) <= expected | {"gamma"}, "hyperparameters: some are missing or unknown")
        self._expect(("gamma" in theta) >= weighted, "hyperparameters: lacks gamma")
        self._expect(kappa in KAPPAS, "kappa: not among the values that inference tries")
        self._expect(weighted or not theta.get("gamma"), "hyperparameters.gamma: there are no weights")
        for name, value in theta.items():
            low, high = BOUNDS[name]
            beyond = BEYOND if name in OF_SCALE else ROUNDING
            self._expect(low - beyond <= value <= high + beyond, f"hyperparameters.{name}: out of its bounds")
        # Likeness per pair of reviews, by the mean number of pairs per paper.
        load, count = self.problem.load, self.problem.counts
        pairs = count.sum() - np.count_nonzero(load)
        strength = float(kappa / (pairs / np.count_nonzero(count))) if kappa and pairs else 0.0
        self.model = Model({"gamma": 0.0, "log_own": 0.0, **theta}, own, orders, kappa, strength, half)
        self.state = State(np.zeros((4, self.problem.who.size)), np.ones((8, self.problem.sizes[0])))
        self._fill(scored)
        self._read_levels(scores, orders=orders)
        # Hyperparameters that are learned: one threshold does not determine the noise.
        fixed = {"gamma"} if not weighted else set()
        fixed |= {"nu"} if self.levels and np.unique(scores.score[scores.kept]).size <= len(("low", "high")) else set()
        if printed.get("offsets_only"):
            fixed |= {"log_tau_left", "log_tau_right", "rho"}
            off = [theta["rho"], *(theta[name] - BOUNDS[name][0] for name in ("log_tau_left", "log_tau_right"))]
            self._expect(max(map(abs, off)) <= ROUNDING, "hyperparameters: not those of offsets only")
        self.names = sorted(set(theta) - fixed)

    def _get(self, key: str) -> Any:
        return self.findings.answer.get(key, within=self.printed)

    def _expect(self, holds: bool, wrong: str) -> bool:
        return self.findings.expect(bool(holds), f"{self.place}.{wrong}")

    def _fill(self, scored: Table) -> None:
        """Write messages and nodes, and the pseudo-observations of levels."""
        answer, model, state, problem = self.findings.answer, self.model, self.state, self.problem
        pairs = [(scored.reviewers[j], scored.items[i]) for j, i in zip(problem.who, problem.what, strict=True)]
        places, listed = {pair: place for place, pair in enumerate(pairs)}, self._get("reviews")
        names = answer.rows("reviews", "reviewer item", within=self.printed)
        if self.findings.same_rows(f"{self.place}.reviews", names, pairs):
            size, seen = 4 if model.kappa else 2, np.zeros((2, problem.who.size))
            for pair, row in zip(names, listed, strict=True):
                state.messages[:size, places[pair]] = answer.numbers("messages", size, within=row)
                if self.levels:
                    seen[:, places[pair]] = answer.numbers("observed", len(seen), within=row)
            if self.levels:
                self.problem = problem._replace(score=seen[0], rounding=seen[1])
                self._expect(seen[1].min() > 0, "reviews: a pseudo-score without a variance")
        people = {scored.reviewers[j]: j for j in np.unique(problem.who).tolist()}
        names = answer.rows("reviewers", "reviewer", within=self.printed)
        if self.findings.same_rows(f"{self.place}.reviewers", names, people):
            kinds = np.arange(8).reshape(2, 2, 2)[: 1 + model.orders, : 1 + model.own].ravel()
            for row in self._get("reviewers"):
                state.nodes[kinds, people[str(row["reviewer"])]] = answer.numbers("nodes", kinds.size, within=row)
            self._expect(state.nodes[1::2].min() > 0, "reviewers: nodes without a spread")
        if not self.findings.wrong:
            self._expect(min(float(state.messages[::2].min()), 0.0) >= 0, "reviews: messages of a precision below 0")

    def _read_levels(self, scores: Scores, *, orders: bool) -> None:
        """Compare the thresholds of levels with the shares of the scores, and keep the interval of each review."""
        if not self.levels:
            self._expect("thresholds" not in self.printed, "thresholds: the scores are numbers")
            return
        self.findings.same(f"{self.place}.likelihood", self._get("likelihood"), "ordinal")
        self._expect(not orders, "hyperparameters: levels have no ordinal reviewers")
        levels, sign = levels_in(scores.score[scores.kept]), scores.sign
        rows = self.findings.answer.rows("thresholds", "score above", within=self.printed)
        if self._expect(len(rows) == levels.above.size, f"thresholds: {levels.above.size} expected, one per level"):
            for row, value, above in zip(rows, levels.score.tolist(), levels.above.tolist(), strict=True):
                self.findings.same(f"{self.place}.thresholds, score", row[0], sign * value)
                self.findings.same(f"{self.place}.thresholds, {sign * value:g}", row[1], above)
        self.problem = self.problem._replace(unit=levels.unit, interval=levels.interval)


def pass_of(read: PrintedState) -> Pass:
    """Recompute one pass from a state; its evidence is that of the scores."""
    result = one_pass(read.problem, read.model, read.state)
    if not read.levels:
        return result
    return result._replace(evidence=result.evidence + observed(read.problem, read.model, read.state).evidence)


def check_state(
    findings: Findings, read: PrintedState, scores: Scores, status: str, *, is_member: bool = False
) -> Pass | None:
    """Check a state: its evidence, and by a pass and slopes of the evidence whether it has converged.

    ``scores`` are those of the state, ``status`` is what the answer claims of it. Returns the pass, None if the
    evidence is not that of the state, without which nothing follows from it. A member may be below the null model.
    """
    problem, place, claimed = read.problem, read.place, read.printed["evidence"]
    averages = fit_averages(scores.problem.what, scores.problem.score, scores.rounding)
    result, null = pass_of(read), averages.evidence
    if read.levels:
        null = evidence_of_averages(problem, averages, scores.problem.score)
    if read.levels or is_member:
        null = min(null, claimed - SIGNAL)
    for key, value in (("evidence", result.evidence), ("null_evidence", null)):
        tolerance = (EVIDENCE if key == "evidence" or not read.levels else INTEGRATED) * max(1.0, abs(value))
        if not findings.near(f"{place}.{key}", read.printed.get(key), value, tolerance):
            return None
    determinant = half_log_determinant(problem, read.model.kappa)
    if determinant is None:
        findings.not_checked(f"{place}.half_log_determinant: not recomputed for a table of this size")
    else:
        findings.same(f"{place}.half_log_determinant", round(read.model.log_determinant, 6), round(determinant, 6))
    signal = read.levels or is_member or result.evidence >= null + SIGNAL
    if not findings.expect(signal == (status != NO_SIGNAL), f"status: {status}, and the evidence says otherwise"):
        return result
    if read.levels and not is_member and null >= claimed - SIGNAL:
        words = f"{place}.likelihood: levels explain the scores no better than averages; it may have been asked for"
        findings.not_checked(words, decisive=True)
    if status == CONVERGED:
        _check_moves(findings, read, result)
    return result


def _check_moves(findings: Findings, read: PrintedState, result: Pass) -> None:
    """Check that a pass from a state changes nothing, nor a step of its hyperparameters."""
    problem, model, place, seen = read.problem, read.model, read.place, 0.0
    if read.levels:
        further = observed(problem, model, read.state)
        seen, problem = observed_moves(problem, further), further.problem
        result = one_pass(problem, model, read.state)
    # Rankings say nothing of slopes: beside ordinal reviewers, they are those of a fit without such reviewers.
    learned = ["logit_w", "log_s_r"] if model.orders and read.problem.is_ranking else read.names
    moved, gain = moves(problem, model, read.state, result), gain_left(read.problem, model, read.state, learned)
    # Hyperparameters may end on a plateau, which steps leave slowly.
    for size, tolerance, false, why in (
        (moved.mean, MEAN, FALSE, "a pass moves means by {:.3g} standard errors"),
        (moved.message, MESSAGE, FALSE, "a pass changes messages by {:.3g}"),
        (seen, MESSAGE, FALSE, "a pass changes pseudo-scores of levels by {:.3g}"),
        (moved.node, NODE, FALSE, "a pass moves nodes of a reviewer by {:.3g} of their spread"),
        (gain, GAIN, np.inf, "other hyperparameters would gain {:.3g} nats"),
    ):
        if size > tolerance * false:
            findings.expect(False, f"{place}: it has not converged: {why.format(size)}")
        elif size > tolerance:
            words = f"quality, rank: the {place} may not have converged: {why.format(size)}"
            findings.not_checked(words, decisive=True)
    findings.check(f"{place}: its evidence, that a pass changes nothing, and that no step of hyperparameters gains")

"""One pass of expectation propagation, written once more: what each reviewer's scores say of the papers.

The model is that of the page on it (``docs``): ``y = b + a x + e``, a reviewer's log slope two-piece normal, the offset
normal given the slope, the noise as steep as the slope by ``rho``, and its own for each reviewer by ``log_own``. Slopes
and noises are summed over nodes, offsets integrated out. All reviewers of k papers are taken at once: arrays have the
axes (paper, node, reviewer). Messages that settled come out of a pass as they went in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.verify.orders import MOST, order_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph.arrays import BoolArray, FloatArray, IntArray

#: Nodes of a log slope and of the log of own noise, in standard deviations, and the area of each beside a density.
LINE, AREA = np.linspace(-4.2, 4.2, 15)[:, None], 0.6
CROSS = np.array([-np.sqrt(3.0), 0.0, np.sqrt(3.0)])[:, None]
CROSS_AREA = np.array([1.0, 4.0, 1.0])[:, None] / 6 * np.sqrt(2 * np.pi) * np.exp(CROSS**2 / 2)
#: The least that a message says, and how far one that says no more moves a paper.
LEAST, FURTHEST = 1e-8, 3.0
#: Numbers in an array of all papers and nodes of some reviewers.
AT_ONCE = 300_000


class Problem(NamedTuple):
    """Scores that are heard: codes and standardised scores of reviews, shapes (E,), and how they are scaled.

    ``log_noise`` is what weights add to the log of a noise variance for each unit of ``-gamma``; ``unit`` holds mean
    and standard deviation of the scores; ``known`` what references say of items, precisions and shifts, shape (2, N).
    """

    who: IntArray
    what: IntArray
    score: FloatArray
    log_noise: FloatArray
    unit: tuple[float, float]
    rounding: float
    sizes: tuple[int, int]
    known: FloatArray

    @property
    def load(self) -> IntArray:
        """Reviews of each reviewer."""
        return np.bincount(self.who, minlength=self.sizes[0])

    @property
    def counts(self) -> IntArray:
        """Reviews of each item."""
        return np.bincount(self.what, minlength=self.sizes[1])

    def only(self, kept: BoolArray) -> Problem:
        """Return some of the reviews, scaled as all are."""
        logs = self.log_noise[kept]
        logs = (logs - logs.mean()) / logs.std() if np.ptp(logs) > 0 else 0 * logs
        return self._replace(who=self.who[kept], what=self.what[kept], score=self.score[kept], log_noise=logs)

    def blocks(self, nodes: int) -> list[tuple[IntArray, IntArray]]:
        """Return reviewers of equally many reviews, shape (m,), with the places of these, shape (k, m)."""
        order, load = np.lexsort((self.what, self.who)), self.load
        begin, found = np.cumsum(load) - load, []
        for k in np.unique(load[load > 0]).tolist():
            mine = np.flatnonzero(load == k)
            for part in np.array_split(mine, -(-mine.size * k * nodes // AT_ONCE)):
                found += [(part, order[begin[part] + np.arange(k)[:, None]])] if part.size else []
        return found


class Model(NamedTuple):
    """Hyperparameters by name, and what of the model is there: own noise, reviewers who only order, assortment.

    ``strength`` is kappa over what pairs of reviews give papers on average, ``log_determinant`` half that of the prior.
    """

    theta: Mapping[str, float]
    own: bool
    orders: bool
    kappa: float
    strength: float
    log_determinant: float


class State(NamedTuple):
    """Messages of reviews, shape (4, E): precision, shift, and both of likeness; nodes of reviewers, shape (8, M).

    Nodes are mean and spread of the log slope and of the log of own noise, and the same given fresh papers.
    """

    messages: FloatArray
    nodes: FloatArray


class Pass(NamedTuple):
    """What a pass finds.

    ``state`` is new; ``mean`` and ``variance`` (N,) are of the old one, as are the log evidence and the part of each
    reviewer, shape (M,). ``people`` are means of slope and offset, the variance of the slope, the noise variance, and
    the probability of only ordering, shape (5, M), NaN without scores.
    """

    state: State
    mean: FloatArray
    variance: FloatArray
    evidence: float
    parts: FloatArray
    people: FloatArray


def start(problem: Problem, model: Model) -> State:
    """Return the state in which nothing was said."""
    theta = model.theta
    tau = np.exp((theta["log_tau_left"] + theta["log_tau_right"]) / 2)
    nodes = np.array([theta["mu"], tau, 0.0, np.exp(theta["log_own"])] * 2)[:, None]
    return State(np.zeros((4, problem.who.size)), nodes * np.ones(problem.sizes[0]))


def beliefs(problem: Problem, model: Model, state: State) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of the items, shapes (N,): prior, references and messages."""
    told = [
        np.bincount(problem.what, rows[0] + rows[1], problem.sizes[1])
        for rows in (state.messages[::2], state.messages[1::2])
    ]
    precision = 1.0 - model.kappa + told[0] + problem.known[0]
    return (told[1] + problem.known[1]) / precision, 1.0 / precision


def one_pass(problem: Problem, model: Model, state: State) -> Pass:
    """Let every reviewer say anew what the scores say of the papers, all from the messages of the old state."""
    mean, variance = beliefs(problem, model, state)
    messages, nodes = np.zeros_like(state.messages), state.nodes.copy()
    parts, people = np.zeros(problem.sizes[0]), np.full((5, problem.sizes[0]), np.nan)
    between = (problem.counts > 0) @ _potential(mean, variance) + model.log_determinant
    for who, rows in problem.blocks(45 if model.own else 15):
        cavity = _cavity(problem, mean, variance, state.messages[:2], rows)
        found = reviewer_step(problem, model, state.nodes[:, who], rows, cavity)
        parts[who], people[:, who], nodes[:, who] = found.log_evidence, found.people, found.nodes
        messages[:2, rows] = _message(*cavity, found.mean, found.square, state.messages[1, rows])
        between += float((_potential(*cavity) - _potential(mean, variance)[problem.what[rows]]).sum())
        if model.kappa:
            cavity = _cavity(problem, mean, variance, state.messages[2:], rows)
            messages[2:, rows], alike = _likeness(model.strength, *cavity)
            between += alike + float((_potential(*cavity) - _potential(mean, variance)[problem.what[rows]]).sum())
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
    problem: Problem, mean: FloatArray, variance: FloatArray, told: FloatArray, rows: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return what is believed of papers without what some reviews said, mean and variance, shapes (k, m)."""
    item = problem.what[rows]
    left = 1.0 / variance[item] - told[0, rows]
    return (mean[item] / variance[item] - told[1, rows]) / left, 1.0 / left


def _message(m: FloatArray, v: FloatArray, moved: FloatArray, square: FloatArray, before: FloatArray) -> FloatArray:
    """Divide what is believed now by what was believed without the reviewer, shape (2, k, m)."""
    precision = np.maximum(1.0 / np.maximum(square - moved**2, 1e-12 * v) - 1.0 / v, LEAST)
    shift = moved / v + (m + moved) * precision
    return np.array(
        [precision, np.where(precision <= LEAST, np.clip((before + shift) / 2, -FURTHEST, FURTHEST), shift)]
    )


class Step(NamedTuple):
    """What reviewers of k papers say: log evidence, and mean and mean square of papers less the cavities' means."""

    log_evidence: FloatArray
    mean: FloatArray
    square: FloatArray
    nodes: FloatArray
    people: FloatArray


def reviewer_step(
    problem: Problem, model: Model, nodes: FloatArray, rows: IntArray, cavity: tuple[FloatArray, FloatArray]
) -> Step:
    """Do the step of some reviewers of k papers each; mixed with that of reviewers who only order, where these are."""
    noise = np.exp(-model.theta["gamma"] * problem.log_noise[rows])
    uses = _uses_scale(problem, model, nodes[:4], problem.score[rows], noise, *cavity)
    if not model.orders or len(rows) > MOST:
        return uses._replace(nodes=np.concatenate([uses.nodes, nodes[4:]]))
    fresh = _uses_scale(problem, model, nodes[4:], problem.score[rows], noise, 0 * noise, 1 + 0 * noise)
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


def _uses_scale(
    problem: Problem,
    model: Model,
    nodes: FloatArray,
    score: FloatArray,
    by_weight: FloatArray,
    m: FloatArray,
    v: FloatArray,
) -> Step:
    """Sum over slopes and noises; offset and papers are Gaussian given these."""
    theta = model.theta
    z, own, log_density = _grid(model, nodes)
    off, slope = z - theta["mu"], np.exp(z)
    middle, omega = theta["g0"] + theta["g1"] * slope, np.exp(2 * theta["log_omega"])
    common = np.exp(2 * (theta["nu"] + theta["rho"] * off) + own)
    noise = common * by_weight[:, None] + problem.rounding
    total = slope**2 * v[:, None] + noise
    left = score[:, None] - slope * m[:, None]
    precision = 1 / omega + (1 / total).sum(axis=0)
    offset = (middle / omega + (left / total).sum(axis=0)) / precision
    left -= offset
    told = left / total
    squares = (offset - middle) ** 2 / omega + (told * left).sum(axis=0)
    log = log_density - 0.5 * (np.log(2 * np.pi * total).sum(axis=0) + np.log(omega * precision) + squares)
    top = log.max(axis=0)
    share = np.exp(log - top)
    whole = share.sum(axis=0)
    share /= whole
    square = (share * noise / total).sum(axis=1) + v * (share * slope**2 * (told**2 + total**-2 / precision)).sum(
        axis=1
    )
    mean_slope = (share * slope).sum(axis=0)
    level = (share * np.log(common * by_weight.mean(axis=0) + problem.rounding)).sum(axis=0)
    spread = (share * (slope - mean_slope) ** 2).sum(axis=0)
    people = np.array([mean_slope, (share * offset).sum(axis=0), spread, np.exp(level), 0 * level])
    moved = np.concatenate(
        [_followed(nodes[:2], share, z), _followed(nodes[2:], share, own) if model.own else nodes[2:]]
    )
    return Step(top + np.log(whole), v * (share * slope * told).sum(axis=1), v * square, moved, people)


def _grid(model: Model, nodes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return log slopes, logs of own noise, and logs of prior density times area at the nodes, shapes (G, m)."""
    theta = model.theta
    z = nodes[0] + LINE * nodes[1]
    own, off = 0 * z, z - theta["mu"]
    sides = np.exp([theta["log_tau_left"], theta["log_tau_right"]])
    log = np.log(2 * AREA * nodes[1] / (np.sqrt(2 * np.pi) * sides.sum())) - (off / np.where(off < 0, *sides)) ** 2 / 2
    if model.own:
        own = np.repeat(nodes[2] + CROSS * nodes[3], len(LINE), axis=0)
        density = -((own / np.exp(theta["log_own"])) ** 2) / 2 - theta["log_own"] - np.log(2 * np.pi) / 2
        log = np.tile(log, (3, 1)) + density + np.log(np.repeat(CROSS_AREA, len(LINE), axis=0) * nodes[3])
        z = np.tile(z, (3, 1))
    return z, own, log


def _followed(nodes: FloatArray, share: FloatArray, value: FloatArray) -> FloatArray:
    """Return mean and standard deviation at the nodes, which do not shrink so fast as to lose sight of them."""
    mean = (share * value).sum(axis=0)
    square = (share * (value - mean) ** 2).sum(axis=0)
    least = np.maximum(((mean - nodes[0]) / 2) ** 2, (nodes[1] / 5) ** 2)
    return np.array([mean, np.sqrt(np.maximum(np.maximum(square, least), 1e-8))])


def _likeness(strength: float, m: FloatArray, v: FloatArray) -> tuple[FloatArray, float]:
    """Return what each paper learns from the others of its reviewer, of whom all have k, and the log evidence of it."""
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
    """Return a state on the scale of qualities of the one before: of the same mean and mean square.

    Scores do not tell where the scale is, so it creeps, and no quality as a score of a typical reviewer changes.
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

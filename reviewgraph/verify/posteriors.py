"""A posterior held to its own equations: the state in which it ended does not move, and all that it says follows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.verify.answers import is_same, shown
from reviewgraph.verify.passes import (
    LEAST_NOISE,
    NO_SIGNAL,
    STATUSES,
    Heard,
    Model,
    Pass,
    Problem,
    State,
    StateOf,
    beliefs,
    check_rest,
    fit_averages,
    heard_scores,
    one_pass,
    settled_with,
    swept,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
    from reviewgraph.verify.answers import Answer, Findings
    from reviewgraph.verify.graphs import Table
    from reviewgraph.verify.passes import Averages
    from reviewgraph.verify.rules import Wanted


# How sure a posterior is of single papers: what loops in the reviews, and a bend common to all, add to messages.


#: Reviews beyond which loops add nothing, and items up to which what they add is computed again.
MOST_REVIEWS, MOST_ITEMS = 50_000, 2_500
#: Sweeps, and the part of its precision by which a paper's may still move.
SWEEPS, STILL = 30, 1e-4


def bend(mean: FloatArray) -> FloatArray:
    """Return the variance by which a bend that all reviewers share could move items, from their means, shape (n,).

    It is the squared distance to where their ranks stand among normal qualities, as far as chance does not explain it.
    """
    from scipy.special import ndtri

    if mean.size < 3 or np.ptp(mean) <= 0:
        return np.zeros(mean.size)
    ordered = np.sort(mean)
    rank = (np.searchsorted(ordered, mean, "left") + np.searchsorted(ordered, mean, "right") + 1) / 2
    level = (rank - 0.375) / (mean.size + 0.25)
    normal = ndtri(level)
    square = (mean - mean.mean() - mean.std() * normal) ** 2
    chance = mean.var() * level * (1 - level) / mean.size * 2 * np.pi * np.exp(normal**2)
    return np.asarray(max(0.0, 1.0 - chance.sum() / square.sum()) * square if square.sum() > 0 else 0 * square)


def loops(
    problem: Problem, model: Model, mean: FloatArray, variance: FloatArray, messages: FloatArray, people: FloatArray
) -> FloatArray:
    """Return the factor by which loops raise the variance of each item, shape (N,): exact over what messages reach.

    Both in the model linearised in slopes: a reviewer's scores have the noise s^2 and share an offset and a slope.
    """
    who, what, theta = problem.who, problem.what, model.theta
    slope, _, _, noise, orders = people[:, who]
    tau = np.sqrt((np.exp(2 * theta["log_tau_left"]) + np.exp(2 * theta["log_tau_right"])) / 2)
    shared = np.array([np.full(who.size, np.exp(theta["log_omega"])), (mean[what] + theta["g1"]) * slope * tau]).T
    precise, alone = (1 - orders) * slope**2 / noise, orders * messages[0]
    load, seen = problem.load[who], np.flatnonzero((problem.counts > 0) | (problem.known[0] > 0))
    degree = np.bincount(what, 1 - 1 / load, problem.sizes[1])[seen].mean()
    alike = np.full(who.size, model.kappa / degree if model.kappa else 0.0)
    base = 1 - model.kappa + problem.known[0] + np.bincount(what, alone, problem.sizes[1])

    place = np.zeros(problem.sizes[1], np.int64)
    place[seen] = np.arange(seen.size)
    exact = np.diag((base + np.bincount(what, precise + alike, problem.sizes[1]))[seen])
    inside = _sums(who, shared[:, :, None] * shared[:, None, :], problem.sizes[0])
    order = np.argsort(who, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(who[order])) + 1):
        here = np.ix_(place[what[rows]], place[what[rows]])
        both = shared[rows] * np.sqrt(precise[rows])[:, None]
        middle = np.linalg.inv(noise[rows[0]] * np.eye(2) + inside[who[rows[0]]])
        exact[here] -= both @ middle @ both.T + alike[rows[0]] / rows.size
    settled = _settled(problem, model, base, shared, precise, noise, alike, messages)[seen]
    found = np.ones(problem.sizes[1])
    found[seen] = np.maximum(np.diag(np.linalg.inv(exact)) * settled, 1.0)
    return found


def _sums(who: IntArray, value: FloatArray, size: int) -> FloatArray:
    found = np.zeros((size, *value.shape[1:]))
    np.add.at(found, who, value)
    return found


def _settled(
    problem: Problem,
    model: Model,
    base: FloatArray,
    shared: FloatArray,
    precise: FloatArray,
    noise: FloatArray,
    alike: FloatArray,
    messages: FloatArray,
) -> FloatArray:
    """Return the precisions at which messages of the linear model settle, shape (N,)."""
    who, what, load = problem.who, problem.what, problem.load[problem.who]

    def total() -> FloatArray:
        return np.asarray(base + np.bincount(what, told + drawn, problem.sizes[1]))

    told, drawn = messages[0], messages[2]
    for _ in range(SWEEPS):
        whole = total()[what]
        part = 1 / (1 + precise / (whole - told))
        outer = shared[:, :, None] * shared[:, None, :] * (part / noise)[:, None, None]
        inverse = np.linalg.inv(np.eye(2) + _sums(who, outer, problem.sizes[0]))[who]
        own = np.einsum("ep,epq,eq->e", shared, inverse, shared) / noise
        precision = precise * part * (1 - part * own)
        new = precision / (1 - precision / (whole - told))
        if model.kappa:
            left = whole - drawn + alike
            sums = _sums(who, alike / load / left, problem.sizes[0])[who]
            drawn = 1 / (1 / left + alike / load / left**2 / (1 - sums)) - (whole - drawn)
        rests = bool((np.abs(new - told) <= STILL * whole).all())
        told = new
        if rests:
            break
    return total()


# What follows from the state in which a posterior ended: qualities, errors and reviewers, references joined.


#: References that have a scale of their own, their least error, and that of fewer, in units of quality.
ENOUGH, LEAST_ERROR, ASSUMED_ERROR = 3, 0.1, 0.3


class Told(NamedTuple):
    """What follows from the state: items (N,), NaN of unknown ones, messages (4, E), reviewers (5, M).

    ``line`` is location and scale of the qualities, ``references`` their items, values, precisions and shifts, shape
    (4, R), ``prior`` the precision without any, and ``exact`` whether loops were computed again: those of many papers
    are taken from the errors.
    """

    mean: FloatArray
    variance: FloatArray
    loops: FloatArray
    messages: FloatArray
    people: FloatArray
    line: tuple[float, float]
    references: FloatArray
    prior: float
    exact: bool

    @property
    def quality(self) -> FloatArray:
        """Shape (N,), higher is better."""
        return np.asarray(self.line[0] + self.line[1] * self.mean)

    def errors(self) -> tuple[FloatArray, FloatArray]:
        """Return standard errors, shape (N,), without what a common bend adds, and with it."""
        own = self.variance * self.loops
        return self.line[1] * np.sqrt(own), self.line[1] * np.sqrt(own + self.bent())

    def bent(self) -> FloatArray:
        """Return the variance that a common bend adds, shape (N,)."""
        known, found = np.isfinite(self.mean), np.full(self.mean.size, np.nan)
        found[known] = bend(self.mean[known])
        return found


def told_by(
    heard: Heard,
    read: StateOf,
    found: Pass,
    null: Averages,
    references: Mapping[int, float],
    error: FloatArray,
    *,
    signal: bool,
) -> Told:
    """Return what follows from the state, references joined afterwards."""
    problem, model, state = heard.problem, read.model, read.state
    load, unit = problem.load, problem.unit
    if signal:
        seen = load > 0
        slope, offset = (float(np.average(found.people[row, seen], weights=load[seen])) for row in (0, 1))
    else:
        offset, slope = null.mean, null.slope
        precision = np.full(problem.who.size, slope**2 / null.noise)
        shift = slope / null.noise * (problem.score - offset)
        state = State(np.array([precision, shift, 0 * shift, 0 * shift]), state.nodes)
        model = model._replace(kappa=0.0)
    line = unit[0] + unit[1] * offset, unit[1] * slope
    known, listed = problem, np.empty((4, 0))
    if references:
        mean, variance = _seen(problem, *beliefs(problem, model, state))
        listed = _read_references(mean, variance, references, line)
        known = problem._replace(
            known=np.array([np.bincount(listed[0].astype(int), row, problem.sizes[1]) for row in listed[2:4]])
        )
    people = found.people
    if not signal:
        alike = np.where(load > 0, 1.0, np.nan)
        people = np.array([slope * alike, offset * alike, 0 * alike, null.noise * alike, 0 * alike])
    elif references:
        state = settled_with(known, model, state)
        people = one_pass(known, model, state).people
        slope, offset = (float(np.average(people[row, load > 0], weights=load[load > 0])) for row in (0, 1))
        line = unit[0] + unit[1] * offset, unit[1] * slope
    mean, variance = _seen(known, *beliefs(known, model, state))
    raised = np.ones(problem.sizes[1])
    told = Told(mean, variance, raised, state.messages, people, line, listed, 1.0 - model.kappa, exact=True)
    if not signal or problem.who.size > MOST_REVIEWS:
        return told
    if np.count_nonzero(np.isfinite(mean)) <= MOST_ITEMS:
        return told._replace(loops=loops(known, model, mean, variance, state.messages, people))
    return told._replace(loops=((error / line[1]) ** 2 - told.bent()) / variance, exact=False)


def _seen(problem: Problem, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return beliefs of the items of which a score or a reference tells, NaN of the others."""
    seen = (problem.counts > 0) | (problem.known[0] > 0)
    return np.where(seen, mean, np.nan), np.where(seen, variance, np.nan)


def _read_references(
    mean: FloatArray, variance: FloatArray, references: Mapping[int, float], line: tuple[float, float]
) -> FloatArray:
    """Return item, value, precision, shift of each reference, shape (4, R): on a scale of its own, if it has one."""
    item, value = np.array(list(references)), np.array(list(references.values()), np.float64)
    seen = np.isfinite(mean[item])
    x, v, y = mean[item][seen], variance[item][seen], value[seen]
    (location, scale), error = line, ASSUMED_ERROR
    if x.size >= ENOUGH and np.ptp(y) > 0 and np.ptp(x) > 0:
        slope = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
        if slope > 0:
            location, scale = float(y.mean() - slope * x.mean()), slope
            left = float((((y - location) / scale - x) ** 2).sum()) / (x.size - 2) - float(v.mean())
            error = max(LEAST_ERROR, math.sqrt(max(left, 0.0)))
    precision = np.full(item.size, error**-2)
    return np.array([item, value, precision, (value - location) / scale * precision])


# What the correction for reviewers is worth, and whose scores contradict those of the others, computed once more.


#: Folds of reviewers, reviews foretold after which no other fold begins, sweeps, and the least number of reviewers.
FOLDS, ENOUGH_REVIEWS, FOLD_SWEEPS, FEWEST = 5, 20_000, 8, 5
#: Places of slopes and noises of a population, in standard deviations.
NODES = np.linspace(-4.0, 4.0, 11)
#: Differences between papers that are rounding, and where the noncentral chi^2 is normal.
TRIFLE, FAR = 1e-12, 1e4


def gain(heard: Heard, model: Model) -> dict[str, float] | None:
    """Foretell the order of each fold of reviewers by qualities and by averages of the others; None of too few."""
    load = np.bincount(heard.problem.who, minlength=heard.problem.sizes[0])
    several = np.flatnonzero(load > 1)
    fold = np.full(load.size, FOLDS)
    fold[several] = np.random.default_rng(0).permutation(several.size) % FOLDS
    parts: list[FloatArray] = []
    for number in range(FOLDS):
        held = fold[heard.who] == number
        there = np.bincount(heard.what[~held], minlength=heard.problem.sizes[1]) > 0
        asked = held & heard.kept & there[heard.what]
        asked &= (np.bincount(heard.who[asked], minlength=load.size) > 1)[heard.who]
        if asked.any():
            item = heard.what[asked]
            quality, average = _qualities(heard, model, ~held), _averages(heard, ~held)
            parts.append(np.array([heard.who[asked], heard.score[asked], quality[item], average[item]]))
        if sum(part.shape[1] for part in parts) >= ENOUGH_REVIEWS:
            break
    who, *values = np.concatenate(parts, axis=1) if parts else np.empty((4, 0))
    names, code = np.unique(who, return_inverse=True)
    if names.size < FEWEST:
        return None
    truth, ours, theirs = (_ranks_within(value, code) for value in values)
    ours, theirs = _squares(truth, ours), _squares(truth, theirs)
    if not theirs.sum() > 0:
        return None
    relative = 1 - float(ours.sum() / theirs.sum())
    off = np.bincount(code, theirs - ours - relative * theirs)
    variance = 2 * float((off**2).sum()) * off.size / (off.size - 1)
    return {
        "relative": relative,
        "standard_error": variance**0.5 / float(theirs.sum()),
        "error": float(np.sqrt(ours.mean())),
        "average_error": float(np.sqrt(theirs.mean())),
        "reviews": ours.size,
    }


def _averages(heard: Heard, kept: BoolArray) -> FloatArray:
    """Return averages over the reviews kept, drawn to the middle."""
    what, score, size = heard.what[kept], heard.score[kept], heard.problem.sizes[1]
    fit = fit_averages(what, score, LEAST_NOISE * max(float(heard.score.var()), LEAST_NOISE))
    ratio = fit.slope**2 / fit.noise
    part = ratio / (1 + ratio * np.bincount(what, minlength=size))
    return np.asarray(fit.mean + part * np.bincount(what, score - fit.mean, size))


def _qualities(heard: Heard, model: Model, kept: BoolArray) -> FloatArray:
    problem = heard.problem.only(kept[heard.kept])
    return swept(problem._replace(known=0 * problem.known), model, FOLD_SWEEPS)


def _ranks_within(value: FloatArray, code: IntArray) -> FloatArray:
    """Return the part of all values below each, ties half, less the mean of its reviewer."""
    rounded = np.round(value / (float(value.std()) or 1.0), 9)
    place, count = np.unique(rounded, return_inverse=True, return_counts=True)[1:]
    rank = ((np.cumsum(count) - count / 2) / value.size)[place]
    return np.asarray(rank - (np.bincount(code, rank) / np.bincount(code))[code])


def _squares(truth: FloatArray, told: FloatArray) -> FloatArray:
    square = float(told @ told)
    slope = max(float(told @ truth) / square, 0.0) if square > 0 else 0.0
    return np.asarray((truth - slope * told) ** 2)


class Others(NamedTuple):
    """What is believed of items by all, shapes (N,), messages (4, E) and reviewers (5, M); ``loops`` as in doubts."""

    mean: FloatArray
    variance: FloatArray
    loops: FloatArray
    messages: FloatArray
    people: FloatArray


def misfits(heard: Heard, model: Model, told: Others, *, signal: bool) -> FloatArray:
    """Return mean square, agreement and p-value of each reviewer, shape (3, M), NaN of who cannot be looked at.

    A reviewer's scores are compared with what all others believe of the papers, the level free.
    """
    from scipy.special import chndtr, ndtr

    problem = heard.problem
    who, what, size = problem.who, problem.what, problem.sizes[0]
    left = 1 / told.variance[what] - told.messages[0] - told.messages[2]
    mean = (told.mean[what] / told.variance[what] - told.messages[1] - told.messages[3]) / left
    variance = told.loops[what] / left
    factor = np.exp(-model.theta["gamma"] * problem.log_noise) if signal else np.ones(who.size)
    share, slopes, noises, slope, noise = _population(model, told.people, signal=signal)
    rounding = problem.rounding if signal else 0.0

    def summed(value: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(who, value, size))

    weight = 1 / (slope**2 * variance + noise * factor + rounding)
    total, count = summed(weight), summed(np.ones(who.size))

    def within(value: FloatArray) -> FloatArray:
        return np.asarray(value - (summed(weight * value) / np.where(count, total, 1.0))[who])

    score, mean = within(problem.score), within(mean)
    square, spread = summed(weight * (score - slope * mean) ** 2), summed(weight * mean**2)
    cross, freedom = summed(weight * mean * score), np.maximum(count - 1, 1.0)
    kinds = (variance, factor, np.ones(who.size))
    of_cross = [summed((weight * mean) ** 2 * kind) for kind in kinds]
    of_square = [summed(weight * (1 - weight / total[who]) * kind) / freedom for kind in kinds]
    differ, worse = spread > TRIFLE * count, np.zeros((2, size))
    for part, a, s in zip(share, slopes, noises, strict=True):
        scale, error = (
            sum(term * kind for term, kind in zip((a**2, s, rounding), each, strict=True))
            for each in (of_square, of_cross)
        )
        scale = scale + (count < 2)
        off = (a - slope) ** 2 * spread / scale
        near = 1 - chndtr(square / scale, freedom, np.minimum(off, FAR))
        normal = ndtr((freedom + off - square / scale) / np.sqrt(2 * (freedom + 2 * off)))
        worse[0] += part * np.clip(np.where(off < FAR, near, normal), 0, 1)
        apart = np.divide(cross - a * spread, np.sqrt(error), out=np.zeros(size), where=differ)
        worse[1] += part * np.where(differ, ndtr(apart), 1.0)
    agreement = np.divide(cross, slope * spread, out=np.full(size, np.nan), where=differ)
    found = np.array([square / freedom, agreement, np.minimum(2 * worse.min(axis=0), 1.0)])
    found[:, (count < 2) | (np.nan_to_num(told.people[4]) > 0.5)] = np.nan
    return found


def _population(
    model: Model, people: FloatArray, *, signal: bool
) -> tuple[FloatArray, FloatArray, FloatArray, float, float]:
    """Return weights, slopes and noises of the population at nodes, and slope and noise of a typical reviewer."""
    if not signal:
        alike = people[[0, 3]][:, np.isfinite(people[0])].mean(axis=1)
        return np.ones(1), alike[:1], alike[1:], float(alike[0]), float(alike[1])
    theta = model.theta
    side = np.exp(np.where(NODES < 0, theta["log_tau_left"], theta["log_tau_right"]))
    density = np.exp(-(NODES**2) / 2)
    share = density * side / (density * side).sum()
    slopes = np.exp(theta["mu"] + side * NODES)
    noises = np.exp(2 * (theta["nu"] + theta["rho"] * side * NODES))
    slope, noise = float(share @ slopes), float(np.exp(2 * theta["nu"]))
    if model.own:
        own = np.exp(np.exp(theta["log_own"]) * NODES)
        share = np.outer(share, density / density.sum()).ravel()
        slopes, noises = np.repeat(slopes, own.size), np.outer(noises, own).ravel()
    return share, slopes, noises, slope, noise


# What the posterior says beside its qualities, held to what one pass over the answer and the scores can tell.


#: Sums of printed numbers; probabilities by standard errors that a common bend may have raised; halvings.
PROBABILITY_SUMS, CUT, HALVINGS = 1e-6, 1e-3, 60


def check_direction(findings: Findings, scored: Table, quality: Mapping[str, float]) -> None:
    """Refute qualities that go against the scores of reviewers and against averages, both on the whole."""
    within, by_item = 0.0, dict[str, list[float]]()
    for reviewer, items in scored.rows().items():
        own = {item: scored.score[reviewer, item] or 0.0 for item in items if item in quality}
        within += _together((value, quality[item]) for item, value in own.items())
        for item, value in own.items():
            by_item.setdefault(item, []).append(value)
    across = _together((math.fsum(values) / len(values), quality[item]) for item, values in by_item.items())
    words = "quality: the ranking goes against the scores of each reviewer and against the averages, on the whole"
    findings.expect(not (within < 0 and across < 0), words)
    findings.check("that the ranking goes with the scores on the whole")


def _together(pairs: Iterable[tuple[float, float]]) -> float:
    """Return by how much pairs of numbers rise together: the sum of products of what they are beyond their means."""
    listed = list(pairs)
    means = [math.fsum(side) / max(len(listed), 1) for side in zip(*listed, strict=True)]
    return math.fsum((one - means[0]) * (other - means[1]) for one, other in listed)


def check_lottery(
    findings: Findings, answer: Answer, ranked: list[str], chance: Mapping[str, float], count: int, wanted: Wanted
) -> None:
    """Draw the lots once more: whom, and with which probabilities; ``chance`` is in the order of the table."""
    lottery = answer.found.get("lottery")
    if not findings.expect((lottery is None) == (wanted.lottery is None), "lottery: there is one too many, or none"):
        return
    if lottery is None or wanted.lottery is None:
        return
    findings.same("lottery.seed", answer.get("seed", "a whole number", within=lottery), wanted.lottery)
    share = lots(list(chance.values()), count, wanted.error_rate)
    found = {item: value for item, value in zip(chance, share, strict=True) if value > 0}
    said = dict(answer.rows("probabilities", {"item": "a name", "probability": "a number"}, within=lottery))
    if findings.same_rows("lottery.probabilities", said, found):
        for item, value in found.items():
            near = abs(said[item] - value) <= PROBABILITY_SUMS
            findings.expect(near, f"lottery.probabilities, {item}: says {said[item]:.9g}, found {value:.9g}")
    drawn = {item for item, taken in zip(chance, draw(share, wanted.lottery), strict=True) if taken}
    findings.same("lottery.drawn", answer.names("drawn", within=lottery), [item for item in ranked if item in drawn])
    findings.check("lottery: its probabilities, by the chances, and its papers, drawn once more")


def lots(chance: list[float], count: int, error_rate: float) -> list[float]:
    """Return the probability with which each paper is drawn: the part of its chance between the thresholds, bent.

    >>> [round(value, 3) for value in lots([0.99, 0.6, 0.6, 0.01], 2, 0.1)]
    [1.0, 0.5, 0.5, 0.0]
    """
    part = [min(max((value - error_rate) / (1 - 2 * error_rate), 0.0), 1.0) for value in chance]
    if sum(value > 0 for value in part) < count or sum(value == 1 for value in part) > count:
        part = [min(max(value, 0.0), 1 - 1e-9) for value in chance]
    low, high = -10 * math.log(2), 10 * math.log(2)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(value ** math.exp(middle) for value in part) > count else (low, middle)
    found = [value ** math.exp(low) for value in part]
    free = [place for place, value in enumerate(found) if 0 < value < 1]
    left, whole = count - sum(value for value in found if not 0 < value < 1), sum(found[place] for place in free)
    for place in free:
        found[place] = min(max(found[place] * left / whole, 0.0), 1.0)
    return found


def draw(share: list[float], seed: int) -> list[bool]:
    """Draw papers with given probabilities by the ordered pivotal method, in an order drawn once.

    >>> draw([1.0, 0.5, 0.5, 0.0], 0)
    [True, True, False, False]
    """
    rng = np.random.default_rng(seed)
    order, luck, share = rng.permutation(len(share)).tolist(), rng.random(len(share)).tolist(), list(share)
    holder = None
    for turn, other in enumerate(order):
        if not 0 < share[other] < 1:
            continue
        if holder is None:
            holder = other
            continue
        a, b = share[holder], share[other]
        full = a + b >= 1
        first = luck[turn] < ((1 - b) / (2 - a - b) if full else a / (a + b))
        # One of both has a whole place, or none; the other holds what is left.
        winner, loser = (holder, other) if first else (other, holder)
        share[winner], share[loser] = (1.0, a + b - 1) if full else (a + b, 0.0)
        holder = loser if full else winner
    return [value > 0.5 for value in share]


def check_probabilities(
    findings: Findings,
    known: Mapping[str, tuple[float, float]],
    chance: Mapping[str, float],
    count: int,
    slack: float = CUT,
) -> None:
    """Hold probabilities of being among the best to means and errors: all are those of passing one common cut.

    ``known`` holds the quality, the higher the better, and the standard error of each paper.
    """
    if not 0 < count < len(known):
        certain = float(count > 0)
        wrong = next((item for item in known if chance[item] != certain), None)
        findings.expect(wrong is None, f"{wrong}, probability: not {certain:g}, where all or none are selected")
        return
    names, (mean, error) = list(known), np.array(list(known.values())).T
    low, high = float(mean.min() - 10 * error.max()), float(mean.max() + 10 * error.max())
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if float(_passes(mean, error, middle).sum()) > count else (low, middle)
    found = _passes(mean, error, (low + high) / 2)
    off = np.abs(np.array([chance[item] for item in names]) - found)
    for place in np.flatnonzero((off > slack) & (error > 0)).tolist():
        item = names[place]
        words = f"{item}, probability: says {chance[item]:.6g}, its quality and error give {found[place]:.6g}"
        findings.expect(False, words)
    findings.check("probabilities: those of passing one common cut, by qualities and errors")


def _passes(mean: FloatArray, error: FloatArray, cut: float) -> FloatArray:
    """Return the probability that each is above a cut."""
    from scipy.special import ndtr

    sure = error <= 0
    return np.asarray(np.where(sure, mean >= cut, ndtr((mean - cut) / np.where(sure, 1.0, error))))


#: What sums in another order may differ by, relative to the size of what is summed.
SUMS = 1e-8
#: A weight of a source that says nothing by itself.
NOTHING = 1e-9
#: Corrected p-value below which a reviewer contradicts the others, and scores too few to say how sure a quality is.
ALARM, LEAST_SCORES = 0.02, 3


def check_posterior(
    findings: Findings, answer: Answer, scored: Table, rows: Mapping[str, Any], wanted: Wanted
) -> dict[str, float] | None:
    """Look at the state in which a posterior ended, and at all that follows from it.

    Returns the standard errors that matter to the order of papers, by name; None where they are not known again.
    """
    status = answer.get("status", "a text")
    if not findings.expect(status in STATUSES, f"status: there is none called {status!r}"):
        return None
    heard = heard_scores(scored, wanted.weights)
    read = StateOf(findings, answer, scored, heard)
    if findings.wrong:
        return None
    null = fit_averages(heard.problem.what, heard.problem.score, heard.problem.rounding)
    found = one_pass(heard.problem, read.model, read.state)
    if not check_rest(findings, answer, heard, read, found, null.evidence):
        return None
    signal, sign = status != NO_SIGNAL, -1.0 if scored.lower_is_better else 1.0
    codes = {item: place for place, item in enumerate(scored.items)}
    references = {codes[item]: sign * value for item, value in wanted.references.items() if item in codes}
    error = np.array([rows[item].standard_error for item in scored.items], np.float64)
    told = told_by(heard, read, found, null, dict(sorted(references.items())), error, signal=signal)
    if not told.exact:
        fewer = bool(np.any(told.loops < 1 - SUMS))
        findings.expect(not fewer, "standard_error: smaller than messages alone give")
        findings.trust("standard errors: what loops in the reviews add, of so many papers, is not computed again")
    _items(findings, scored, rows, told)
    _gain(findings, answer, heard, read.model if signal else None)
    _reviewers(findings, answer, scored, heard, read.model, told, signal=signal)
    accounts = answer.found.get("accounts", [])
    findings.same("accounts", [str(account.get("item")) for account in accounts], list(wanted.explained))
    for place, account in enumerate(accounts):
        _account(findings, f"accounts[{place}]", account, scored, heard, told, rows)
    names = zip(scored.items, told.errors()[0].tolist(), strict=True)
    return {item: error for item, error in names if not math.isnan(error)}


def _items(findings: Findings, scored: Table, rows: Mapping[str, Any], told: Told) -> None:
    """Compare qualities and standard errors with those that follow."""
    sign, size = -1.0 if scored.lower_is_better else 1.0, told.line[1]
    errors = told.errors()[1]
    enough = len(scored.score) >= LEAST_SCORES
    for place, item in enumerate(scored.items):
        row, known = rows[item], math.isfinite(told.mean[place])
        found = sign * float(told.quality[place]) if known else None
        words = f"{item}, quality: says {shown(row.quality)}, the model gives {shown(found)}"
        findings.expect(_near(row.quality, found, size), words)
        error = float(errors[place]) if known and enough else None
        words = f"{item}, standard_error: says {shown(row.standard_error)}, the model gives {shown(error)}"
        findings.expect(_near(row.standard_error, error, 0.0), words)
    findings.check("qualities: those of the model, message by message")
    findings.check("standard errors: those of the model, with what loops in the reviews and a bend add")


def _near(said: float | None, found: float | None, size: float) -> bool:
    """Whether numbers are the same up to sums in another order; None is only None."""
    if said is None or found is None:
        return said is found
    return abs(said - found) <= SUMS * max(abs(found), size) + TRIFLE


def _compare(findings: Findings, place: str, said: Any, found: Mapping[str, Any], size: float) -> None:
    """Compare an object with one that was computed, key by key, numbers up to sums in another order."""
    for key, value in found.items():
        mine = said.get(key)
        numbers = isinstance(value, float) and isinstance(mine, float | int)
        same = _near(mine, value, size) if numbers else is_same(mine, value)
        findings.expect(same, f"{place}.{key}: says {shown(mine)}, found {shown(value)}")


def _gain(findings: Findings, answer: Answer, heard: Heard, model: Model | None) -> None:
    """Compute what the correction is worth once more, from reviewers who are withheld."""
    said, found = answer.found.get("gain"), None if model is None else gain(heard, model)
    if not findings.expect((said is None) == (found is None), "gain: there is one too many, or too few"):
        return
    if said is not None and found is not None:
        _compare(findings, "gain", said, found, 1.0)
        findings.check("gain: foretold once more, reviewer by reviewer")


def _reviewers(
    findings: Findings, answer: Answer, scored: Table, heard: Heard, model: Model, told: Told, *, signal: bool
) -> None:
    """Compute how each reviewer's scores fit those of the others once more."""
    said = answer.rows("reviewers", {"reviewer": "a name", "scores": "a whole number"})
    if not findings.same_rows("reviewers", said, scored.loads().items()):
        return
    others = Others(told.mean, told.variance, told.loops, told.messages, told.people)
    found = misfits(heard, model, others, signal=signal)
    looked = int(np.isfinite(found[2]).sum())
    rows = {str(row["reviewer"]): row for row in answer.found["reviewers"]}
    for place, who in enumerate(scored.reviewers):
        square, agreement, value = (None if math.isnan(each) else float(each) for each in found[:, place])
        misfit = rows[who].get("misfit")
        if not findings.expect((misfit is None) == (square is None), f"reviewers, {who}: misfit"):
            return
        if misfit is not None and value is not None:
            exact = {"mean_square": square, "agreement": agreement, "p_value": value}
            corrected = min(value * looked, 1.0)
            alarm = {"corrected": corrected, "contradicts": corrected < ALARM}
            _compare(findings, f"reviewers, {who}, misfit", misfit, {**exact, **alarm}, 1.0)
    findings.check("reviewers: how their scores fit those of the others, computed once more")


def _account(
    findings: Findings, place: str, said: Any, scored: Table, heard: Heard, told: Told, rows: Mapping[str, Any]
) -> None:
    """Compare what a quality is made of with the messages."""
    item = str(said.get("item"))
    if not findings.expect(item in rows, f"{place}.item: there is no paper {item}"):
        return
    found = _made_of(item, scored, heard, told)
    code = scored.items.index(item)
    head = {"quality": rows[item].quality, "average": rows[item].average, "middle": found.pop("middle")}
    head["standard_error"] = float(told.errors()[1][code])
    _compare(findings, place, said, head, told.line[1])
    parts = said.get("parts", [])
    if findings.same(f"{place}.parts", len(parts), len(found["parts"])):
        for number, (mine, part) in enumerate(zip(parts, found["parts"], strict=True)):
            _compare(findings, f"{place}.parts[{number}]", mine, part, told.line[1])
    findings.check(f"{place}: each part of the quality of {item}, by the messages")


def _made_of(item: str, scored: Table, heard: Heard, told: Told) -> dict[str, Any]:
    """Return the parts of a quality as an account lists them: reviews, likeness, references, the middle."""
    sign, code = -1.0 if scored.lower_is_better else 1.0, scored.items.index(item)
    (middle, scale), variance = told.line, float(told.variance[code])
    typical = (middle - heard.problem.unit[0]) / heard.problem.unit[1]
    severity = heard.problem.unit[1] * (typical - told.people[1]) + 0.0
    place = np.full(heard.who.size, -1)
    place[heard.kept] = np.arange(np.count_nonzero(heard.kept))

    def part(
        source: str,
        told_by: tuple[float, float],
        who: int | None = None,
        score: float | None = None,
        mine: bool = False,
    ) -> dict[str, Any]:
        weight, moved = variance * told_by[0], scale * variance * told_by[1]
        says = middle + (moved / weight if weight > NOTHING else 0.0)
        severe = float(severity[who]) if mine and who is not None else 0.0
        stretch = says - score - severe if mine and score is not None else 0.0
        return {
            "source": source,
            "reviewer": None if who is None else scored.reviewers[who],
            "score": None if score is None else (sign * score),
            "severity": None if math.isnan(severe) else sign * severe,
            "stretch": None if math.isnan(stretch) else sign * stretch,
            "says": sign * says,
            "weight": weight,
            "moves": sign * moved,
        }

    parts, alike = [], []
    for row in sorted(np.flatnonzero(heard.what == code).tolist(), key=lambda row: int(heard.who[row])):
        who, at = int(heard.who[row]), int(place[row])
        messages = told.messages[:, at] if at >= 0 else np.zeros(4)
        parts.append(part("review", (messages[0], messages[1]), who, float(heard.score[row]), mine=True))
        alike.append(part("likeness", (messages[2], messages[3]), who))
    parts += alike if told.prior < 1 else []
    for number, value, precision, shift in told.references.T.tolist():
        parts += [part("reference", (precision, shift), score=value)] if int(number) == code else []
    return {"middle": sign * middle, "parts": [*parts, part("middle", (told.prior, 0.0))]}

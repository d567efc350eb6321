"""Answers of the posterior: the state is a fixed point of inference, and everything printed follows from it.

Recomputed: scores joined from criteria, whether criteria and confidence are used, one pass from the printed state,
qualities, standard errors, the gain of the correction, misfits of reviewers, contributions to qualities, selection
probabilities and the lottery. Not checked: other kinds of the model, what covariates add, and what loops in the
reviews add to standard errors in large tables.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph._base.arrays import snapped
from reviewgraph.verify.calibrations import Equations
from reviewgraph.verify.mixtures import Member, check_weights, gain, mixture_of, straightened
from reviewgraph.verify.passes import (
    CONVERGED,
    EVIDENCE,
    EXHAUSTED,
    FALSE,
    GAIN,
    NO_SIGNAL,
    SIGNAL,
    STATUSES,
    Model,
    Pass,
    PrintedState,
    State,
    beliefs,
    check_state,
    converged_with,
    gain_left,
    one_pass,
    order_of,
)
from reviewgraph.verify.scores import (
    MOST_LEVELS,
    MOST_OF_LEVELS,
    Problem,
    Scores,
    fit_averages,
    intervals,
    log_confidence,
    log_weights,
    scores_used,
    within_interval,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph._base.arrays import FloatArray, IntArray
    from reviewgraph.verify.answers import Findings
    from reviewgraph.verify.calibrations import Calibration
    from reviewgraph.verify.scores import Averages


# Standard errors: what loops in the reviews, and curvature shared by all reviewers, add to those of messages.

#: Reviews beyond which loops add nothing, and items up to which their part is recomputed.
MOST_REVIEWS, MOST_ITEMS = 50_000, 2_500
#: Maximum sweeps, and the relative change of a precision that counts as converged.
SWEEPS, TOLERANCE = 30, 1e-4


def bend(mean: FloatArray) -> FloatArray:
    """Return the variance that curvature shared by all reviewers adds to items, from their means, shape (n,).

    It is the squared distance to the normal scores of their ranks, as far as chance does not explain it.
    """
    from scipy.special import ndtri

    if mean.size < 3 or np.ptp(mean) <= 0:
        return np.zeros(mean.size)
    near = snapped(mean, float(mean.std()))
    ordered = np.sort(near)
    rank = (np.searchsorted(ordered, near, "left") + np.searchsorted(ordered, near, "right") + 1) / 2
    level = (rank - 0.375) / (mean.size + 0.25)
    normal = ndtri(level)
    square = (mean - mean.mean() - mean.std() * normal) ** 2
    chance = mean.var() * level * (1 - level) / mean.size * 2 * np.pi * np.exp(normal**2)
    return np.asarray(max(0.0, 1.0 - chance.sum() / square.sum()) * square if square.sum() > 0 else 0 * square)


def loops(
    problem: Problem, model: Model, mean: FloatArray, variance: FloatArray, messages: FloatArray, people: FloatArray
) -> FloatArray:
    """Return the factor by which loops raise the variance of each item, shape (N,): exact over message passing.

    Both are computed in the model linearised in slopes: scores of a reviewer have the noise s^2 and share an offset and
    a slope.
    """
    who, what, theta = problem.who, problem.what, model.theta
    # The model linearised in slopes: of each review its slope, noise, and factors of offset and slope.
    slope, _, _, noise, ordinal = people[:, who]
    tau = np.sqrt((np.exp(2 * theta["log_tau_left"]) + np.exp(2 * theta["log_tau_right"])) / 2)
    shared = np.array([np.full(who.size, np.exp(theta["log_omega"])), (mean[what] + theta["g1"]) * slope * tau]).T
    precise, alone = (1 - ordinal) * slope**2 / noise, ordinal * messages[0]
    load, seen = problem.load[who], np.flatnonzero((problem.counts > 0) | (problem.references[0] > 0))
    degree = np.bincount(what, 1 - 1 / load, problem.sizes[1])[seen].mean()
    alike = np.full(who.size, model.kappa / degree if model.kappa else 0.0)
    base = 1 - model.kappa + problem.references[0] + np.bincount(what, alone, problem.sizes[1])

    # The exact joint precision of the items: offset and slope of every reviewer integrated out.
    place = np.zeros(problem.sizes[1], np.int64)
    place[seen] = np.arange(seen.size)
    exact = np.diag((base + np.bincount(what, precise + alike, problem.sizes[1]))[seen])
    inside = _summed(who, shared[:, :, None] * shared[:, None, :], problem.sizes[0])
    order = np.argsort(who, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(who[order])) + 1):
        here = np.ix_(place[what[rows]], place[what[rows]])
        both = shared[rows] * np.sqrt(precise[rows])[:, None]
        middle = np.linalg.inv(noise[rows[0]] * np.eye(2) + inside[who[rows[0]]])
        exact[here] -= both @ middle @ both.T + alike[rows[0]] / rows.size
    # Over it, what message passing believes of the same model.
    converged = _settled(problem, model, base, shared, precise, noise, alike, messages)[seen]
    factor = np.ones(problem.sizes[1])
    factor[seen] = np.maximum(np.diag(np.linalg.inv(exact)) * converged, 1.0)
    return factor


def _summed(who: IntArray, value: FloatArray, size: int) -> FloatArray:
    total = np.zeros((size, *value.shape[1:]))
    np.add.at(total, who, value)
    return total


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
    """Return the precisions to which messages of the linear model converge, shape (N,)."""
    who, what, load = problem.who, problem.what, problem.load[problem.who]

    def total() -> FloatArray:
        return np.asarray(base + np.bincount(what, precisions + likeness, problem.sizes[1]))

    precisions, likeness = messages[0], messages[2]
    for _ in range(SWEEPS):
        whole = total()[what]
        part = 1 / (1 + precise / (whole - precisions))
        outer = shared[:, :, None] * shared[:, None, :] * (part / noise)[:, None, None]
        inverse = np.linalg.inv(np.eye(2) + _summed(who, outer, problem.sizes[0]))[who]
        own = np.einsum("ep,epq,eq->e", shared, inverse, shared) / noise
        precision = precise * part * (1 - part * own)
        new = precision / (1 - precision / (whole - precisions))
        if model.kappa:
            cavity = whole - likeness + alike
            sums = _summed(who, alike / load / cavity, problem.sizes[0])[who]
            likeness = 1 / (1 / cavity + alike / load / cavity**2 / (1 - sums)) - (whole - likeness)
        converged = bool((np.abs(new - precisions) <= TOLERANCE * whole).all())
        precisions = new
        if converged:
            break
    return total()


# What follows from the final state, references included: qualities, standard errors and reviewers.

#: References needed for a scale of their own, their least error, and the error of fewer, in units of quality.
ENOUGH, LEAST_ERROR, ASSUMED_ERROR = 3, 0.1, 0.3


class Implied(NamedTuple):
    """What follows from the state: items (N,), NaN where nothing is known, messages (4, E), reviewers (5, M).

    ``line`` is location and scale of the qualities; ``references`` are items, values, precisions and shifts, shape (4,
    R); ``prior`` is the precision without any of them. ``loops`` are factors of the variances, what criteria do not
    show of the target included. With ``exact`` they were recomputed; in large tables they are taken from the printed
    errors. ``by_prior`` are items without messages, whose reviewers are all ignored.
    """

    mean: FloatArray
    variance: FloatArray
    loops: FloatArray
    messages: FloatArray
    people: FloatArray
    line: tuple[float, float]
    references: FloatArray
    prior: float | FloatArray
    kappa: float
    exact: bool
    by_prior: IntArray = np.empty(0, np.int64)

    @property
    def quality(self) -> FloatArray:
        """Qualities, shape (N,), higher is better."""
        return np.asarray(self.line[0] + self.line[1] * self.mean)

    def errors(self) -> tuple[FloatArray, FloatArray]:
        """Return standard errors, shape (N,), without and with what shared curvature adds."""
        own = self.variance * self.loops
        return self.line[1] * np.sqrt(own), self.line[1] * np.sqrt(own + self.bent())

    def bent(self) -> FloatArray:
        """Return the variance that shared curvature adds, shape (N,)."""
        finite, added = np.isfinite(self.mean), np.full(self.mean.size, np.nan)
        finite[self.by_prior] = False
        added[finite] = bend(self.mean[finite])
        added[self.by_prior] = 0.0
        return added

    def with_prior(self, by_prior: IntArray, variance: float, criteria: float) -> Implied:
        """Return the same with the mean and this variance of the prior for items without messages."""
        values = {"mean": 0.0, "variance": variance, "loops": 1.0 + criteria / (self.line[1] ** 2 * variance)}
        arrays = {name: getattr(self, name).copy() for name in values}
        for name, array in arrays.items():
            array[by_prior] = values[name]
        return self._replace(**arrays, by_prior=by_prior)


def implied_by(
    scores: Scores,
    read: PrintedState,
    final: Pass,
    null: Averages,
    references: Mapping[int, float],
    error: FloatArray,
    *,
    signal: bool,
) -> Implied:
    """Return what follows from the state; references enter after inference."""
    problem, model, state = scores.problem, read.model, read.state
    load, unit = problem.load, problem.unit
    # Slope and offset of the typical reviewer; without a signal all reviewers share those of the null model.
    if signal:
        seen = load > 0
        slope, offset = (float(np.average(final.people[row, seen], weights=load[seen])) for row in (0, 1))
    else:
        offset, slope = null.mean, null.slope
        precision = np.full(problem.who.size, slope**2 / null.noise)
        shift = slope / null.noise * (problem.score - offset)
        state = State(np.array([precision, shift, 0 * shift, 0 * shift]), state.nodes)
        model = model._replace(kappa=0.0)
    line = unit[0] + unit[1] * offset, unit[1] * slope
    # References enter as further messages, on the scale that they determine.
    informed, anchors = problem, np.empty((4, 0))
    if references:
        mean, variance = _seen(problem, *beliefs(problem, model, state))
        anchors = _read_references(mean, variance, references, line)
        informed = problem._replace(
            references=np.array([np.bincount(anchors[0].astype(int), row, problem.sizes[1]) for row in anchors[2:4]])
        )
    people = final.people
    if not signal:
        alike = np.where(load > 0, 1.0, np.nan)
        people = np.array([slope * alike, offset * alike, 0 * alike, null.noise * alike, 0 * alike])
    elif references:
        state = converged_with(informed, model, state)
        people = one_pass(informed, model, state).people
        slope, offset = (float(np.average(people[row, load > 0], weights=load[load > 0])) for row in (0, 1))
        line = unit[0] + unit[1] * offset, unit[1] * slope
    # What loops add: exactly in small tables, taken from the printed errors in large ones, nothing in the largest.
    mean, variance = _seen(informed, *beliefs(informed, model, state))
    raised = np.ones(problem.sizes[1])
    implied = Implied(
        mean, variance, raised, state.messages, people, line, anchors, 1.0 - model.kappa, model.kappa, exact=True
    )
    if signal and np.count_nonzero(np.isfinite(mean)) > MOST_ITEMS and problem.who.size <= MOST_REVIEWS:
        return implied._replace(loops=((error / line[1]) ** 2 - implied.bent()) / variance, exact=False)
    if signal and problem.who.size <= MOST_REVIEWS:
        raised = loops(informed, model, mean, variance, state.messages, people)
    return implied._replace(loops=raised + scores.joined.own / (line[1] ** 2 * variance))


def _seen(problem: Problem, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return beliefs on the items that have a score or a reference, NaN for the others."""
    seen = (problem.counts > 0) | (problem.references[0] > 0)
    return np.where(seen, mean, np.nan), np.where(seen, variance, np.nan)


def _read_references(
    mean: FloatArray, variance: FloatArray, references: Mapping[int, float], line: tuple[float, float]
) -> FloatArray:
    """Return item, value, precision and shift of references, shape (4, R), on a scale of their own if they have one."""
    item, value = np.array(list(references)), np.array(list(references.values()), np.float64)
    seen = np.isfinite(mean[item])
    x, v, y = mean[item][seen], variance[item][seen], value[seen]
    (location, scale), error = line, ASSUMED_ERROR
    if x.size >= ENOUGH and np.ptp(y) > 0 and np.ptp(x) > 0:
        slope = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
        if slope > 0:
            location, scale = float(y.mean() - slope * x.mean()), slope
            residual = float((((y - location) / scale - x) ** 2).sum()) / (x.size - 2) - float(v.mean())
            error = max(LEAST_ERROR, math.sqrt(max(residual, 0.0)))
    precision = np.full(item.size, error**-2)
    return np.array([item, value, precision, (value - location) / scale * precision])


# Misfits: whose scores contradict those of the others.

#: Nodes of slopes and noises in the population, in standard deviations.
NODES = np.linspace(-4.0, 4.0, 11)
#: Spread of papers that is rounding, and noncentrality beyond which the noncentral chi^2 is taken as normal.
TRIFLE, FAR = 1e-12, 1e4


def misfits(scores: Scores, model: Model, state: Implied, *, signal: bool) -> FloatArray:
    """Return mean square, agreement, p-value and whether of ranks, of each reviewer, shape (4, M), NaN if undefined.

    A reviewer's scores are compared with what all others imply for the papers, whatever their level.
    """
    from scipy.special import chndtr, ndtr

    problem = scores.problem
    who, what, size = problem.who, problem.what, problem.sizes[0]
    # Beliefs on papers without each review, and the population of reviewers.
    cavity = 1 / state.variance[what] - state.messages[0] - state.messages[2]
    mean = (state.mean[what] / state.variance[what] - state.messages[1] - state.messages[3]) / cavity
    variance = state.loops[what] / cavity
    factor = np.exp(-model.theta["gamma"] * problem.log_noise) if signal else np.ones(who.size)
    share, slopes, noises, slope, noise = _population(model, state.people, signal=signal)
    rounding = float(np.mean(problem.rounding)) if signal else 0.0
    score = problem.score
    # Of levels: the expected latent scores, and the mean variance within the levels.
    if problem.interval is not None:
        _, score, inside = within_interval(problem.interval[0], problem.interval[1])
        rounding = float(inside.mean())

    def summed(value: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(who, value, size))

    weight = 1 / (slope**2 * variance + noise * factor + rounding)
    total, count = summed(weight), summed(np.ones(who.size))

    def within(value: FloatArray) -> FloatArray:
        return np.asarray(value - (summed(weight * value) / np.where(count, total, 1.0))[who])

    # Residuals and regression on the beliefs, levels free.
    believed = mean
    score, mean = within(score), within(mean)
    square, spread = summed(weight * (score - slope * mean) ** 2), summed(weight * mean**2)
    cross, freedom = summed(weight * mean * score), np.maximum(count - 1, 1.0)
    # Variances that papers, noise and rounding contribute, to be weighted per node.
    kinds = (variance, factor, np.ones(who.size))
    of_cross = [summed((weight * mean) ** 2 * kind) for kind in kinds]
    of_square = [summed(weight * (1 - weight / total[who]) * kind) / freedom for kind in kinds]
    differ, worse = spread > TRIFLE * count, np.zeros((2, size))
    # Tail probabilities, averaged over the population: a large residual, and a low agreement.
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
    misfit = np.array([square / freedom, agreement, np.minimum(2 * worse.min(axis=0), 1.0), np.zeros(size)])
    misfit[:, count < 2] = np.nan
    for code in np.flatnonzero((count > 1) & (np.nan_to_num(state.people[4]) > 0.5)).tolist():
        mine = who == code
        perceived = variance[mine] + np.exp(2 * model.theta["log_s_r"])
        misfit[:, code] = *_misfit_of_ranks(problem.score[mine], believed[mine], perceived), 1.0
    return misfit


def _misfit_of_ranks(score: FloatArray, mean: FloatArray, variance: FloatArray) -> tuple[float, float, float]:
    """Return mean square, agreement and p-value of the ranks of one reviewer, given what the others imply.

    The agreement is linear in the indicators of pairs; its variance is that of its projections on single papers, and
    of what remains of each pair.
    """
    from scipy.special import gammaincc, ndtr

    size, sd = score.size, np.sqrt(variance)
    value, weight = np.polynomial.hermite_e.hermegauss(31)
    weight = weight / weight.sum()
    # At each value of a paper, the probability that another one is below, and its mean.
    given = [[ndtr((mean[i] + value * sd[i] - mean[j]) / sd[j]) for j in range(size)] for i in range(size)]
    chance = np.array([[weight @ given[i][j] if i != j else 0.0 for j in range(size)] for i in range(size)])
    rank = chance.sum(axis=1) - (size - 1) / 2
    total = 0.0
    for i in range(size):
        others = [j for j in range(size) if j != i]
        projected = sum(((rank[i] - rank[j]) * (given[i][j] - chance[i, j]) for j in others), 0 * value)
        total += float(weight @ projected**2)
        for j in others[i:]:
            alone = weight @ (given[i][j] - chance[i, j]) ** 2 + weight @ (given[j][i] - chance[j, i]) ** 2
            total += float((rank[i] - rank[j]) ** 2 * max(chance[i, j] * (1 - chance[i, j]) - alone, 0.0))
    middle = np.array([np.mean(np.flatnonzero(np.sort(score) == y)) for y in score]) - (size - 1) / 2
    finer = float((middle**2).sum()) / (size * (size**2 - 1) / 12)
    square = float((rank**2).sum())
    if finer <= 0 or square <= TRIFLE * size:
        return (math.nan if finer <= 0 else 1.0), math.nan, 1.0
    cross = float((middle * rank).sum())
    best, spread = float(np.sort(middle) @ np.sort(rank)), max(finer * total, TRIFLE)
    lack = max(best - finer * square, TRIFLE)
    tail = float(gammaincc(lack**2 / spread, max(best - cross, 0.0) * lack / spread))
    column = (len(score), 1)
    order = order_of(score.reshape(column), mean.reshape(column), variance.reshape(column), 0.0)
    ties = math.lgamma(size + 1) - sum(math.lgamma(n + 1) for n in np.unique(score, return_counts=True)[1].tolist())
    error = float(((middle - rank) ** 2).sum()) / float((middle**2).sum() + (1 - 2 * finer) * square)
    return error, cross / (finer * square), max(tail, math.exp(float(order.log_probability[0]) - ties))


def _population(
    model: Model, people: FloatArray, *, signal: bool
) -> tuple[FloatArray, FloatArray, FloatArray, float, float]:
    """Return weights, slopes and noises of the population at nodes, and those of a typical reviewer."""
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


# What an answer prints, compared with what follows from the state.

#: Relative difference allowed for sums in another order.
SUMS = 1e-8
#: The same for p-values: those of ranks that are almost certain magnify the last digits of the state.
OF_RANKS = 1e-5
#: Weight below which a source has no value of its own.
NOTHING = 1e-9
#: Corrected p-value below which a reviewer contradicts the others, and scores needed for standard errors.
ALARM, LEAST_SCORES = 0.02, 3


def check_posterior(own: Calibration) -> dict[str, float] | None:
    """Check the final state of a posterior and everything that follows from it.

    Returns the standard errors that matter to the order of papers, by name; None if they cannot be recomputed. Without
    a state, as in answers of earlier versions, they follow from the printed ones.
    """
    model: Any = own.answer.content.get("model")
    is_old = bool(model) and "likelihood" in model and any("observed" not in row for row in model.get("reviews", ()))
    if not own.scores or not model or is_old:
        own.not_recomputed()
        return _errors_of_order(own)
    # The pass knows nothing of prior means.
    if (own.answer.content.get("covariates") or {}).get("used"):
        own.not_recomputed()
        own.findings.not_checked("covariates: the effect on the scores is not recomputed")
        return None
    # A forged state may overflow: its evidence is then none.
    with np.errstate(all="ignore"):
        return _check_state(own)


def _errors_of_order(own: Calibration) -> dict[str, float] | None:
    """Return the printed standard errors without what curvature shared by all reviewers adds; None where some lack."""
    rows = [row for row in own.rows.values() if row.quality is not None]
    if not own.scores or any(row.standard_error is None for row in rows):
        return None
    quality, error = np.array([(row.quality, row.standard_error) for row in rows], np.float64).reshape(-1, 2).T
    remaining = error**2
    by_prior = set(map(str, own.answer.content.get("by_prior", ())))
    shared = np.array([row.item not in by_prior for row in rows], np.bool_)
    remaining[shared] -= bend(own.sign * quality[shared])
    if not own.findings.expect(bool((remaining >= 0).all()), "standard_error: smaller than shared curvature gives"):
        return None
    return dict(zip([row.item for row in rows], np.sqrt(remaining).tolist(), strict=True))


def _check_state(own: Calibration) -> dict[str, float] | None:
    findings, answer, scored, wanted = own.findings, own.answer, own.scored, own.wanted
    status = answer.get("status")
    # The scores, and the printed state, which is a fixed point of a pass, or near one.
    scores = _with_criteria(own)
    logs, other = _weights(own)
    plain, scores = scores, scores.weighed(logs)
    null = fit_averages(scores.problem.what, scores.problem.score, scores.rounding)
    member = checked_state(own, "model", answer.get("model"), scores, status)
    if member is None:
        return None
    read, final = member
    _check_kind(own, read, null.evidence, status)
    if answer.content.get("confidence"):
        _check_confidence(own, plain.weighed(other), read, final.evidence)
    # Qualities and standard errors follow from it, references included.
    signal, scores = status != NO_SIGNAL, scores._replace(problem=read.problem)
    codes = {item: place for place, item in enumerate(scored.items)}
    references = {codes[item]: own.sign * value for item, value in wanted.references.items() if item in codes}
    error = np.array([row.standard_error for row in own.rows.values()], np.float64)
    references = dict(sorted(references.items()))
    mixed = answer.get("model").get("others")
    given = scores._replace(joined=scores.joined._replace(own=0.0)) if mixed else scores
    implied = implied_by(given, read, final, null, references, error, signal=signal)
    members = [Member(answer.get("model").get("weight", 1.0), read, scores.problem, implied, final.evidence)]
    if mixed:
        members += other_members(own, plain.weighed(logs), references, error)
        if len(members) <= len(mixed):
            return None
        check_weights(findings, members)
        implied = mixture_of(members, scores.joined.own, error)
    # Papers whose reviewers are all ignored have the prior.
    averages = own.averages_by_item
    unused = [place for item, place in codes.items() if item in averages and math.isnan(implied.mean[place])]
    findings.same("by_prior", answer.names("by_prior"), [scored.items[place] for place in unused])
    if unused:
        variance = sum(member.weight / member.implied.prior for member in members)
        implied = implied.with_prior(np.array(unused, np.int64), variance, scores.joined.own)
    if not implied.exact:
        fewer = bool(np.any(implied.loops < 1 - SUMS))
        findings.expect(not fewer, "standard_error: smaller than messages alone give")
        findings.not_checked("standard errors: what loops in the reviews add is not recomputed in large tables")
    _items(own, implied)
    # So do the gain, the misfits of reviewers and the contributions to qualities.
    models = [(member.weight, member.problem, member.read.model) for member in members]
    claimed, actual = answer.content.get("gain"), gain(scores, models) if signal else None
    words = "gain: printed without enough data, or missing"
    if findings.expect((claimed is None) == (actual is None), words) and claimed is not None and actual is not None:
        _compare(findings, "gain", claimed, actual, 1.0)
        findings.check("gain: recomputed, reviewer by reviewer")
    each = [
        member.weight * misfits(scores._replace(problem=member.problem), member.read.model, state, signal=signal)
        for member in members
        for state in (member.implied if mixed else implied,)
    ]
    _reviewers(own, np.sum(each, axis=0))
    explained = answer.rows("accounts", "item") if "accounts" in answer.content else []
    findings.same("accounts", explained, list(wanted.explained))
    for place, item in enumerate(explained):
        _account(own, f"accounts[{place}]", item, answer.get("accounts")[place], scores, implied)
    names = zip(scored.items, implied.errors()[0].tolist(), strict=True)
    return {item: error for item, error in names if not math.isnan(error)}


# The other members of a mixture.


def other_members(own: Calibration, scores: Scores, references: Mapping[int, float], error: FloatArray) -> list[Member]:
    """Check the states of all members but the leading one, up to the first from which nothing follows."""
    members: list[Member] = []
    for number, printed in enumerate(own.answer.get("model.others")):
        place = f"model.others[{number}]"
        given = scores._replace(joined=scores.joined._replace(own=0.0))
        if printed.get("normal_scores"):
            given = given._replace(problem=straightened(given.problem))
        status = own.answer.get("status", within=printed)
        own.findings.expect(status != NO_SIGNAL, f"{place}.status: a member has a signal")
        checked = checked_state(own, place, printed, given, status, is_member=True)
        if checked is None:
            return members
        read, final = checked
        null = fit_averages(given.problem.what, given.problem.score, given.rounding)
        given = given._replace(problem=read.problem)
        implied = implied_by(given, read, final, null, references, error, signal=True)
        weight = own.answer.get("weight", within=printed)
        members.append(Member(weight, read, read.problem, implied, final.evidence))
    return members


def checked_state(
    own: Calibration,
    place: str,
    printed: Mapping[str, Any],
    scores: Scores,
    status: str,
    *,
    is_member: bool = False,
) -> tuple[PrintedState, Pass] | None:
    """Check a printed state of inference from some scores; return it and a pass from it, None if nothing follows."""
    if not own.findings.expect(status in STATUSES, f"status: there is none called {status!r}"):
        return None
    read = PrintedState(own.findings, place, printed, own.scored, scores)
    result = None if own.findings.wrong else check_state(own.findings, read, scores, status, is_member=is_member)
    return None if result is None else (read, result)


def _check_kind(own: Calibration, read: PrintedState, null: float, status: str) -> None:
    """Check what the answer claims of its model beyond the state: the likelihood, and that inference has ended."""
    findings, wanted = own.findings, own.wanted.likelihood
    words = (
        "model: that no other kind of it (own noise, ordinal reviewers, likeness, levels) has more evidence is not "
        "checked"
    )
    findings.not_checked(words)
    few = np.unique(intervals(read.problem)[0]).size <= MOST_LEVELS and read.problem.who.size <= MOST_OF_LEVELS
    # Scores without reviewer effects are numbers, and so are those of which confidence leaves none.
    other = ((own.answer.content.get("confidence") or {}).get("rejected") or {}).get("status")
    levels = read.levels or NO_SIGNAL in (status, other)
    may_be = {"normal": not read.levels, "ordinal": levels}.get(wanted, few or not read.levels)
    findings.expect(may_be, f"model.likelihood: not one that --likelihood {wanted} leads to")
    if status == EXHAUSTED:
        findings.not_checked("quality, rank: inference ended before it converged", decisive=True)
    elif status == NO_SIGNAL and not read.levels:
        _check_no_signal(findings, read, null)


#: Passes after which a rejected model has adapted to its last step.
SETTLING = 5


def _check_no_signal(findings: Findings, read: PrintedState, null: float) -> None:
    """Check that differences between reviewers do not explain the scores after a step of the rejected model, either."""
    most, gain = _rejected(read.problem, read.model, read.state, read.names)
    if gain <= GAIN * FALSE and most + gain < null + SIGNAL:
        findings.check("status: differences between reviewers do not explain the scores better, before or after a step")
    else:
        words = f"status: after a step, differences between reviewers may explain the scores {gain:.3g} nats better"
        findings.not_checked(words, decisive=True)


def _rejected(problem: Problem, model: Model, state: State, names: list[str]) -> tuple[float, float]:
    """Return the highest log evidence of a few passes, and what a step of the hyperparameters would then gain."""
    most = -math.inf
    for _ in range(SETTLING):
        result = one_pass(problem, model, state)
        most, state = max(most, result.evidence), result.state
    return most, gain_left(problem, model, state, names)


# Criteria and confidence of the reviews: whether they are used, and what they change.

#: Log evidence that the confidence of reviewers must gain.
CONFIDENT = 2.0


def _with_criteria(own: Calibration) -> Scores:
    """Return the scores, joined with criteria where these help; compare what the answer prints of it."""
    findings, claimed = own.findings, own.answer.content.get("criteria")
    there = bool(own.scored.criteria) and not own.wanted.only_target
    if there and claimed is None:
        findings.not_checked("criteria: the answer does not tell whether those of the reviews are used", decisive=True)
    if not there or claimed is None:
        findings.expect(claimed is None, "criteria: the reviews have none that are to be used")
        return scores_used(own.scored)
    scores = scores_used(own.scored, criteria=True)
    joined = scores.joined
    size = float(np.std(scores.raw))
    findings.same("criteria.used", claimed.get("used"), bool(joined.moves))
    findings.same("criteria.target", claimed.get("target"), own.scored.target)
    printed = own.answer.rows("weights", "criterion weight", within=claimed)
    if findings.same("criteria.weights", [name for name, _ in printed], [*joined.weights]):
        for name, weight in printed:
            _near(findings, f"criteria.weights, {name}", weight, joined.weights[name], size)
    _near(findings, "criteria.own_variance", claimed.get("own_variance"), joined.own, size**2)
    _near(findings, "criteria.gain", claimed.get("gain"), joined.gain, 1.0)
    _near(findings, "criteria.gain_error", claimed.get("gain_error"), joined.gain_error, 1.0)
    findings.check("criteria: their weights, the gain on held-out reviews, and that it decides whether they are used")
    return scores


def _weights(own: Calibration) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the logarithms of the weights of the model, and of the model that was rejected, shapes (E,), or None."""
    findings, wanted, claimed = own.findings, own.wanted, own.answer.content.get("confidence")
    sure = None if wanted.weights is not None or wanted.confidence is False else log_confidence(own.scored)
    if sure is None:
        findings.expect(claimed is None, "confidence: the reviews have none that is to be used")
        return log_weights(own.scored, wanted.weights), None
    if claimed is None:
        words = "confidence: the answer does not tell whether that of the reviews is used"
        findings.not_checked(words, decisive=True)
        return None, None
    return (sure, None) if own.answer.get("used", within=claimed) else (None, sure)


def _check_confidence(own: Calibration, scores: Scores, model: PrintedState, evidence: float) -> None:
    """Check the state that was rejected, with or without confidence, from its scores, and what decided against it."""
    findings, claimed = own.findings, own.answer.get("confidence")
    printed, used = claimed["rejected"], claimed["used"]
    place, status = "confidence.rejected", own.answer.get("status", within=printed)
    member = checked_state(own, place, printed, scores, status)
    if member is None:
        return
    read, result = member
    findings.expect(read.levels == model.levels, f"{place}.likelihood: not that of the model")
    gain = (evidence - result.evidence) * (1.0 if used else -1.0)
    findings.near("confidence.gain", claimed["gain"], gain, 2 * EVIDENCE * max(1.0, abs(evidence)))
    findings.same("confidence.used", used, bool(own.wanted.confidence) or gain > CONFIDENT)
    findings.check("confidence: the evidence with and without it, which decides whether it is used")
    if status != CONVERGED:
        findings.not_checked("confidence.rejected: that more iterations would not raise its evidence is not checked")


POSTERIOR = Equations(check_posterior, by_piece=True, intervals=True)


def _items(own: Calibration, implied: Implied) -> None:
    """Compare qualities and standard errors with those of the state."""
    errors, enough = implied.errors()[1], len(own.scores) >= LEAST_SCORES
    for place, (item, row) in enumerate(own.rows.items()):
        is_known = math.isfinite(implied.mean[place])
        quality = own.sign * float(implied.quality[place]) if is_known else None
        _near(own.findings, f"{item}, quality", row.quality, quality, implied.line[1])
        error = float(errors[place]) if is_known and enough else None
        _near(own.findings, f"{item}, standard_error", row.standard_error, error, 0.0)
    own.findings.check("qualities: those of the model, message by message")
    words = "standard errors: those of the model, with what loops in the reviews and shared curvature add"
    own.findings.check(words)


def _near(findings: Findings, key: str, claimed: float | None, actual: float | None, size: float) -> None:
    """Compare numbers up to sums in another order; None equals only None."""
    findings.near(key, claimed, actual, SUMS * max(abs(actual or 0.0), size) + TRIFLE)


def _compare(findings: Findings, place: str, claimed: Any, actual: Mapping[str, Any], size: float) -> None:
    """Compare an object with a recomputed one, key by key, numbers up to sums in another order."""
    findings.same(f"{place}, criteria", sorted(claimed.get("criteria", ())), sorted(actual.get("criteria", ())))
    for key, value in actual.items():
        printed = claimed.get(key)
        if isinstance(value, dict):
            _compare(findings, f"{place}.{key}", printed, value, size)
        elif isinstance(value, float) and isinstance(printed, float | int):
            _near(findings, f"{place}.{key}", printed, value, size)
        else:
            findings.same(f"{place}.{key}", printed, value)


def _reviewers(own: Calibration, misfit_of: FloatArray) -> None:
    """Compare the misfit of each reviewer."""
    findings = own.findings
    if not findings.rows("reviewers", "reviewer scores", own.scored.loads().items()):
        return
    tested = int(np.isfinite(misfit_of[2]).sum())
    rows = {str(row["reviewer"]): row for row in own.answer.get("reviewers")}
    for place, who in enumerate(own.scored.reviewers):
        square, agreement, value, ranks = (None if math.isnan(each) else float(each) for each in misfit_of[:, place])
        misfit = rows[who].get("misfit")
        if not findings.expect((misfit is None) == (square is None), f"reviewers, {who}: misfit"):
            return
        if misfit is not None and value is not None:
            key, corrected = f"reviewers, {who}, misfit", min(value * tested, 1.0)
            exact = {"mean_square": square, "agreement": agreement, "contradicts": corrected < ALARM}
            _compare(findings, key, misfit, exact, 1.0)
            for name, chance in (("p_value", value), ("corrected", corrected)):
                findings.near(f"{key}.{name}", misfit.get(name), chance, (OF_RANKS if ranks else SUMS) * chance + SUMS)
    findings.check("reviewers: how their scores fit those of the others, recomputed")


def _account(own: Calibration, place: str, item: str, account: Any, scores: Scores, implied: Implied) -> None:
    """Compare the contributions to a quality with the messages."""
    findings, size = own.findings, implied.line[1]
    if not findings.expect(item in own.rows, f"{place}.item: there is no paper {item}"):
        return
    middle, contributions = _made_of(item, own, scores, implied)
    error = float(implied.errors()[1][own.scored.items.index(item)])
    row = own.rows[item]
    head = {"quality": row.quality, "average": row.average, "middle": middle, "standard_error": error}
    _compare(findings, place, account, head, size)
    parts = account.get("parts", [])
    if findings.same(f"{place}.parts", len(parts), len(contributions)):
        for number, (printed, part) in enumerate(zip(parts, contributions, strict=True)):
            _compare(findings, f"{place}.parts[{number}]", printed, part, size)
    findings.check(f"{place}: each part of the quality of {item}, by the messages")


def _made_of(item: str, own: Calibration, scores: Scores, state: Implied) -> tuple[float, list[dict[str, Any]]]:
    """Return the location of qualities, and the contributions to one: reviews, likeness, references, the prior."""
    sign, scored, code = own.sign, own.scored, own.scored.items.index(item)
    (middle, scale), variance = state.line, float(state.variance[code])
    typical = (middle - scores.problem.unit[0]) / scores.problem.unit[1]
    severity = scores.problem.unit[1] * (typical - state.people[1]) + 0.0
    place, added = np.full(scores.who.size, -1), scores.joined.moves
    place[scores.kept] = np.arange(np.count_nonzero(scores.kept))

    def part(
        source: str,
        message: tuple[float, float],
        who: int | None = None,
        score: float | None = None,
        row: int | None = None,
    ) -> dict[str, Any]:
        weight, moved = variance * message[0], scale * variance * message[1]
        says = middle + (moved / weight if weight > NOTHING else 0.0)
        further = {} if row is None else {name: sign * float(value[row]) for name, value in added.items()}
        severe = float(severity[who]) if row is not None and who is not None else 0.0
        stretch = says - score - sign * sum(further.values()) - severe if row is not None and score is not None else 0.0
        return {
            "source": source,
            "reviewer": None if who is None else scored.reviewers[who],
            "score": None if score is None else (sign * score),
            "severity": None if math.isnan(severe) else sign * severe,
            "stretch": None if math.isnan(stretch) else sign * stretch,
            "says": sign * says,
            "weight": weight,
            "moves": sign * moved,
            **({"criteria": further} if further else {}),
        }

    parts, alike = [], []
    for row in sorted(np.flatnonzero(scores.what == code).tolist(), key=lambda row: int(scores.who[row])):
        who, row_kept = int(scores.who[row]), int(place[row])
        messages = state.messages[:, row_kept] if row_kept >= 0 else np.zeros(4)
        parts.append(part("review", (messages[0], messages[1]), who, float(scores.raw[row]), row))
        alike.append(part("likeness", (messages[2], messages[3]), who))
    parts += alike if state.kappa > 0 else []
    for number, value, precision, shift in state.references.T.tolist():
        parts += [part("reference", (precision, shift), score=value)] if int(number) == code else []
    return sign * middle, [*parts, part("middle", (float(np.broadcast_to(state.prior, state.mean.shape)[code]), 0.0))]

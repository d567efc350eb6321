"""A posterior held to its own equations: the state in which it ended does not move, and all that it says follows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.verify.doubts import MOST_ITEMS, MOST_REVIEWS, bend, loops
from reviewgraph.verify.findings import is_same, shown
from reviewgraph.verify.foretold import Others, gain, misfits
from reviewgraph.verify.heard import Averages, Heard, fit_averages, heard_scores
from reviewgraph.verify.passes import Model, Pass, Problem, State, beliefs, one_pass
from reviewgraph.verify.stationary import BOUNDS, FURTHER, ONE_IN, gain_left, moves, refused, settled_with

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph.arrays import FloatArray
    from reviewgraph.verify.answers import Answer
    from reviewgraph.verify.findings import Findings
    from reviewgraph.verify.tables import Table
    from reviewgraph.verify.wanted import Wanted

CONVERGED, NO_SIGNAL, NO_SCORES, EXHAUSTED = "converged", "no_signal", "no_scores", "sweeps_exhausted"
STATUSES = {CONVERGED, NO_SIGNAL, NO_SCORES, EXHAUSTED}
#: Hyperparameters that every model has.
ALWAYS = ("mu", "log_tau_left", "log_tau_right", "g0", "g1", "log_omega", "nu", "rho")
#: How far a pass may move a mean, in standard errors, one in a thousand 25 times as far; what it may change of a
#: message, in what it does to the paper; by what part of their spread nodes may move; nats that a
#: step may gain. What moves so many times further never was at rest.
MEAN, MESSAGE, NODE, GAIN, FALSE = 0.03, 0.03, 1.0, 0.1, 10.0
#: Nats by which differences between reviewers must explain the scores better.
SIGNAL = 5.0
#: What sums in another order may differ by, relative to the size of what is summed; evidence does not move in between.
SUMS, EVIDENCE = 1e-8, 1e-10
#: What is nothing beside a quality, and a weight of a source that says nothing.
TRIFLE, NOTHING = 1e-12, 1e-9
#: Papers up to which the determinant is exact, and the corrected p-value below which a reviewer contradicts the others.
FEW, ALARM = 400, 0.02
#: Assortments that are tried.
KAPPAS = (0.0, 0.5, 0.75, 0.9, 0.96, 0.985)
#: Fewer scores say nothing of how sure a quality is.
LEAST_SCORES = 3
#: References that have a scale of their own, their least error, and that of fewer, in units of quality.
ENOUGH, LEAST_ERROR, ASSUMED_ERROR = 3, 0.1, 0.3


class Told(NamedTuple):
    """What follows from the state: items (N,), NaN of unknown ones, messages (4, E), reviewers (5, M).

    ``line`` is location and scale of the qualities, ``loops`` None where what they add is not computed again;
    ``references`` their items, values, precisions and shifts, shape (4, R), and ``prior`` the precision without any.
    """

    mean: FloatArray
    variance: FloatArray
    loops: FloatArray | None
    messages: FloatArray
    people: FloatArray
    line: tuple[float, float]
    references: FloatArray
    prior: float

    @property
    def quality(self) -> FloatArray:
        """Shape (N,), higher is better."""
        return np.asarray(self.line[0] + self.line[1] * self.mean)

    def errors(self) -> tuple[FloatArray, FloatArray]:
        """Return standard errors, shape (N,), without what a common bend adds, and with it."""
        known = np.isfinite(self.mean)
        bent = np.full(self.mean.size, np.nan)
        bent[known] = bend(self.mean[known])
        own = self.variance * (1.0 if self.loops is None else self.loops)
        return self.line[1] * np.sqrt(own), self.line[1] * np.sqrt(own + bent)


def check_posterior(
    findings: Findings, answer: Answer, scored: Table, rows: Mapping[str, Any], wanted: Wanted
) -> dict[str, float] | None:
    """Look at the state in which a posterior ended, and at all that follows from it.

    Returns the standard errors that matter to the order of papers, by name; None where they are not known again.
    """
    status = answer.get("status", "a text")
    if not findings.expect(status in STATUSES, f"status: there is none called {status!r}"):
        return None
    if answer.found.get("model") is None:
        findings.trust("quality, rank: the answer does not hold the model that it ended with", decisive=True)
        return None
    heard = heard_scores(scored, wanted.weights)
    read = _Read(findings, answer, scored, heard)
    if findings.wrong:
        return None
    null = fit_averages(heard.problem.what, heard.problem.score, heard.problem.rounding)
    found = one_pass(heard.problem, read.model, read.state)
    _at_rest(findings, answer, heard, read, found, null.evidence)
    signal, sign = status != NO_SIGNAL, -1.0 if scored.lower_is_better else 1.0
    codes = {item: place for place, item in enumerate(scored.items)}
    references = {codes[item]: sign * value for item, value in wanted.references.items() if item in codes}
    told = _told(heard, read, found, null, dict(sorted(references.items())), signal=signal)
    _items(findings, scored, rows, told)
    _gain(findings, answer, heard, read.model if signal else None)
    _reviewers(findings, answer, scored, heard, read.model, told, signal=signal)
    for place, account in enumerate(answer.found.get("accounts", ())):
        _account(findings, f"accounts[{place}]", account, scored, heard, told, rows)
    if told.loops is None:
        return None
    names = zip(scored.items, told.errors()[0].tolist(), strict=True)
    return {item: error for item, error in names if not math.isnan(error)}


class _Read:
    """The state of an answer as arrays, if it fits the scores."""

    def __init__(self, findings: Findings, answer: Answer, scored: Table, heard: Heard) -> None:
        model = answer.get("model", "an object")
        theta = {
            name: answer.get(name, "a number", within=model["hyperparameters"]) for name in model["hyperparameters"]
        }
        own, orders = "log_own" in theta, "logit_w" in theta
        kappa, half = (answer.get(key, "a number", within=model) for key in ("kappa", "half_log_determinant"))
        expected = {*ALWAYS, *(["log_own"] * own), *(["logit_w", "log_s_r"] * orders)}
        self.names = sorted(theta)
        weighted = bool(heard.problem.log_noise.any())
        findings.expect(
            expected <= set(theta) <= expected | {"gamma"}, "model.hyperparameters: some lack, or are too many"
        )
        findings.expect(("gamma" in theta) >= weighted, "model.hyperparameters: lack gamma")
        findings.expect(kappa in KAPPAS, "model.kappa: none of those that are tried")
        findings.expect(weighted or not theta.get("gamma"), "model.hyperparameters.gamma: there are no weights")
        if not weighted:
            self.names = [name for name in self.names if name != "gamma"]
        for name, value in theta.items():
            low, high = BOUNDS[name]
            findings.expect(low - SUMS <= value <= high + SUMS, f"model.hyperparameters.{name}: out of its bounds")
        self.model = Model({"gamma": 0.0, "log_own": 0.0, **theta}, own, orders, kappa, _strength(heard, kappa), half)
        self.state = State(np.zeros((4, heard.problem.who.size)), np.ones((8, heard.problem.sizes[0])))
        _fill(findings, answer, scored, heard, self)


def _strength(heard: Heard, kappa: float) -> float:
    """Return how strongly the papers of a reviewer are drawn to their middle."""
    load, count = heard.problem.load, heard.problem.count
    pairs = count.sum() - np.count_nonzero(load)
    return float(kappa / (pairs / np.count_nonzero(count))) if kappa and pairs else 0.0


def _fill(findings: Findings, answer: Answer, scored: Table, heard: Heard, read: _Read) -> None:
    """Write messages and nodes of an answer to a state."""
    model, state = read.model, read.state
    listed = answer.get("model", "an object")
    pairs = [(scored.reviewers[j], scored.items[i]) for j, i in zip(heard.problem.who, heard.problem.what, strict=True)]
    places = {pair: place for place, pair in enumerate(pairs)}
    said = answer.rows("reviews", {"reviewer": "a name", "item": "a name"}, within=listed)
    if findings.same_rows("model.reviews", said, pairs):
        size = 4 if model.kappa else 2
        for pair, row in zip(said, listed["reviews"], strict=True):
            state.messages[:size, places[pair]] = answer.numbers("messages", size, within=row)
    people = {scored.reviewers[j]: j for j in np.unique(heard.problem.who).tolist()}
    named = [who for (who,) in answer.rows("reviewers", {"reviewer": "a name"}, within=listed)]
    if findings.same_rows("model.reviewers", named, people):
        kinds = np.arange(8).reshape(2, 2, 2)[: 1 + model.orders, : 1 + model.own].ravel()
        for who, row in zip(named, listed["reviewers"], strict=True):
            state.nodes[kinds, people[who]] = answer.numbers("nodes", kinds.size, within=row)
        narrow = state.nodes[1::2].min() <= 0
        findings.expect(not narrow, "model.reviewers: nodes without a spread")
    if findings.wrong:
        return
    least = min(float(state.messages[::2].min()), 0.0) >= 0
    findings.expect(least, "model.reviews: messages of a precision below 0")


def _at_rest(findings: Findings, answer: Answer, heard: Heard, read: _Read, found: Pass, null: float) -> None:
    """Hold the evidence to that of the state, and see by a pass and by slopes of the evidence whether it moves."""
    problem, model, status = heard.problem, read.model, answer.get("status", "a text")
    said = answer.get("model", "an object")
    for key, value in (("evidence", found.evidence), ("null_evidence", null)):
        words = f"model.{key}: says {said[key]:.9g}, found {value:.9g}"
        findings.expect(abs(said[key] - value) <= EVIDENCE * max(1.0, abs(value)), words)
    determinant = _half_log_determinant(problem, model)
    if determinant is None:
        findings.trust("model.half_log_determinant: of so many papers it is not computed again")
    else:
        findings.same("model.half_log_determinant", round(model.log_determinant, 6), round(determinant, 6))
    signal = said["evidence"] >= said["null_evidence"] + SIGNAL
    if not findings.expect(signal == (status != NO_SIGNAL), f"status: {status}, and the evidence says otherwise"):
        return
    words = "model: that no other kind of it (own noise, order alone, likeness) has more evidence is not tried again"
    findings.trust(words)
    if status == EXHAUSTED:
        findings.trust("quality, rank: the inference ended before it came to rest", decisive=True)
        return
    if status == NO_SIGNAL:
        most, left = refused(problem, model, read.state, read.names)
        if most + left < said["null_evidence"] + SIGNAL:
            findings.check("status: differences between reviewers explain the scores no better, nor would after a step")
        else:
            words = f"status: a step may take the evidence of differences between reviewers to {most + left:.4g} nats"
            findings.trust(words, decisive=True)
        return
    moved, left = moves(problem, model, read.state, found), gain_left(problem, model, read.state, read.names)
    most = max(float(np.sort(moved.mean)[-1 - moved.mean.size // ONE_IN]), float(moved.mean.max()) / FURTHER)
    for size, still, why in (
        (most, MEAN, "a pass moves means by {:.3g} standard errors"),
        (moved.message, MESSAGE, "a pass changes what a review says by {:.3g}"),
        (moved.node, NODE, "a pass moves what is known of a reviewer by {:.3g} of its spread"),
        (left, GAIN, "other hyperparameters would gain {:.3g} nats"),
    ):
        if size > still * FALSE:
            findings.expect(False, f"model: it is not at rest: {why.format(size)}")
        elif size > still:
            findings.trust(f"quality, rank: the model may not be at rest: {why.format(size)}", decisive=True)
    findings.check(
        "model: its evidence, that a pass moves nothing, and that no hyperparameter would rather be elsewhere"
    )


def _half_log_determinant(problem: Problem, model: Model) -> float | None:
    """Return half the log determinant of the precision of the papers before any score; None of too many."""
    known = np.flatnonzero(problem.count)
    if not model.strength:
        return 0.0
    if known.size > FEW:
        return None
    place = np.zeros(problem.sizes[1], np.int64)
    place[known] = np.arange(known.size)
    shared = np.zeros((known.size, problem.sizes[0]))
    shared[place[problem.what], problem.who] = problem.load[problem.who] ** -0.5
    laplacian = np.diag(problem.count[known].astype(np.float64)) - shared @ shared.T
    mean = float(np.diag(laplacian).mean())
    matrix = (1 - model.kappa) * np.eye(known.size) + model.kappa * laplacian / mean
    return float(np.linalg.slogdet(matrix)[1]) / 2


def _told(
    heard: Heard, read: _Read, found: Pass, null: Averages, references: Mapping[int, float], *, signal: bool
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
    raised: FloatArray | None = np.ones(problem.sizes[1])
    if signal and problem.who.size <= MOST_REVIEWS:
        few = np.count_nonzero(np.isfinite(mean)) <= MOST_ITEMS
        raised = loops(known, model, mean, variance, state.messages, people) if few else None
    return Told(mean, variance, raised, state.messages, people, line, listed, 1.0 - model.kappa)


def _seen(problem: Problem, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return beliefs of the items of which a score or a reference tells, NaN of the others."""
    seen = (problem.count > 0) | (problem.known[0] > 0)
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
        if told.loops is not None or None in (row.standard_error, error):
            findings.expect(_near(row.standard_error, error, 0.0), words)
        else:
            findings.expect(row.standard_error >= error * (1 - SUMS), words)
    findings.check("qualities: those of the model, message by message")
    if told.loops is None:
        findings.trust("standard errors: what loops in the reviews add, of so many papers, is not computed again")
    else:
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
    raised = np.ones(told.mean.size) if told.loops is None else told.loops
    others = Others(told.mean, told.variance, raised, told.messages, told.people)
    found = misfits(heard, model, others, signal=signal)
    looked = int(np.isfinite(found[2]).sum())
    rows = {str(row["reviewer"]): row for row in answer.found["reviewers"]}
    if told.loops is None:
        findings.trust("reviewers: how their scores fit those of the others is not computed again for so many papers")
    for place, who in enumerate(scored.reviewers):
        square, agreement, value = (None if math.isnan(each) else float(each) for each in found[:, place])
        misfit = rows[who].get("misfit")
        if not findings.expect((misfit is None) == (square is None), f"reviewers, {who}: misfit"):
            return
        if misfit is not None and value is not None:
            exact = {"mean_square": square, "agreement": agreement, "p_value": value} if told.loops is not None else {}
            corrected = min(misfit["p_value"] * looked, 1.0)
            alarm = {"corrected": corrected, "contradicts": misfit["corrected"] < ALARM}
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
    if told.loops is not None:
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

"""The state in which the inference of a posterior ended: read from an answer, and held to being at rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.verify.findings import ROUNDING
from reviewgraph.verify.passes import Model, Pass, Problem, State
from reviewgraph.verify.stationary import BOUNDS, gain_left, moves, refused

if TYPE_CHECKING:
    from reviewgraph.verify.answers import Answer
    from reviewgraph.verify.findings import Findings
    from reviewgraph.verify.heard import Heard
    from reviewgraph.verify.tables import Table

CONVERGED, NO_SIGNAL, EXHAUSTED = "converged", "no_signal", "sweeps_exhausted"
#: Where there are scores.
STATUSES = {CONVERGED, NO_SIGNAL, EXHAUSTED}
#: Hyperparameters that every model has, and assortments that are tried.
ALWAYS = ("mu", "log_tau_left", "log_tau_right", "g0", "g1", "log_omega", "nu", "rho")
KAPPAS = (0.0, 0.5, 0.75, 0.9, 0.96, 0.985)
#: Those that move with the scale of qualities, and how far that may take them beyond their bounds.
OF_SCALE, BEYOND = {"mu", "g1", "log_s_r"}, 2.0
#: How far a pass may move a mean, in standard errors; what it may change of a message, in what it does to the paper; by
#: what part of their spread nodes may move, one in a thousand of each 25 times as far; nats that a step may gain. What
#: moves so many times further never was at rest.
MEAN, MESSAGE, NODE, GAIN, FALSE = 0.03, 0.03, 1.0, 0.1, 10.0
#: Nats by which differences between reviewers must explain the scores better.
SIGNAL = 5.0
#: What evidences may differ by, relative to themselves: sums in another order.
EVIDENCE = 1e-10
#: Papers up to which the determinant is exact.
FEW = 400


class StateOf:
    """The state of an answer as arrays, if it fits the scores."""

    def __init__(self, findings: Findings, answer: Answer, scored: Table, heard: Heard) -> None:
        model = answer.get("model", "an object")
        listed = answer.get("hyperparameters", "an object", within=model)
        theta = {name: answer.get(name, "a number", within=listed) for name in listed}
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
            beyond = BEYOND if name in OF_SCALE else ROUNDING
            findings.expect(low - beyond <= value <= high + beyond, f"model.hyperparameters.{name}: out of its bounds")
        self.model = Model({"gamma": 0.0, "log_own": 0.0, **theta}, own, orders, kappa, _strength(heard, kappa), half)
        self.state = State(np.zeros((4, heard.problem.who.size)), np.ones((8, heard.problem.sizes[0])))
        _fill(findings, answer, scored, heard, self)


def _strength(heard: Heard, kappa: float) -> float:
    """Return how strongly the papers of a reviewer are drawn to their middle."""
    load, count = heard.problem.load, heard.problem.counts
    pairs = count.sum() - np.count_nonzero(load)
    return float(kappa / (pairs / np.count_nonzero(count))) if kappa and pairs else 0.0


def _fill(findings: Findings, answer: Answer, scored: Table, heard: Heard, read: StateOf) -> None:
    """Write messages and nodes of an answer to a state."""
    model, state = read.model, read.state
    listed = answer.get("model", "an object")
    pairs = [(scored.reviewers[j], scored.items[i]) for j, i in zip(heard.problem.who, heard.problem.what, strict=True)]
    places = {pair: place for place, pair in enumerate(pairs)}
    said = answer.rows("reviews", {"reviewer": "a name", "item": "a name"}, within=listed)
    if findings.same_rows("model.reviews", said, pairs):
        size = 4 if model.kappa else 2
        for pair, row in zip(said, answer.get("reviews", "a list", within=listed), strict=True):
            state.messages[:size, places[pair]] = answer.numbers("messages", size, within=row)
    people = {scored.reviewers[j]: j for j in np.unique(heard.problem.who).tolist()}
    named = [who for (who,) in answer.rows("reviewers", {"reviewer": "a name"}, within=listed)]
    if findings.same_rows("model.reviewers", named, people):
        kinds = np.arange(8).reshape(2, 2, 2)[: 1 + model.orders, : 1 + model.own].ravel()
        for who, row in zip(named, answer.get("reviewers", "a list", within=listed), strict=True):
            state.nodes[kinds, people[who]] = answer.numbers("nodes", kinds.size, within=row)
        narrow = state.nodes[1::2].min() <= 0
        findings.expect(not narrow, "model.reviewers: nodes without a spread")
    if findings.wrong:
        return
    least = min(float(state.messages[::2].min()), 0.0) >= 0
    findings.expect(least, "model.reviews: messages of a precision below 0")


def check_rest(findings: Findings, answer: Answer, heard: Heard, read: StateOf, found: Pass, null: float) -> bool:
    """Hold the evidence to that of the state, and see by a pass and by slopes of the evidence whether it moves.

    Returns whether the evidence is that of the state, without which nothing follows from it.
    """
    problem, model, status = heard.problem, read.model, answer.get("status", "a text")
    for key, value in (("evidence", found.evidence), ("null_evidence", null)):
        said = answer.get(f"model.{key}", "a number")
        words = f"model.{key}: says {said:.13g}, found {value:.13g}"
        if not findings.expect(abs(said - value) <= EVIDENCE * max(1.0, abs(value)), words):
            return False
    determinant = _half_log_determinant(problem, model)
    if determinant is None:
        findings.trust("model.half_log_determinant: of so many papers it is not computed again")
    else:
        findings.same("model.half_log_determinant", round(model.log_determinant, 6), round(determinant, 6))
    signal = found.evidence >= null + SIGNAL
    if not findings.expect(signal == (status != NO_SIGNAL), f"status: {status}, and the evidence says otherwise"):
        return True
    words = "model: that no other kind of it (own noise, order alone, likeness) has more evidence is not tried again"
    findings.trust(words)
    if status == EXHAUSTED:
        findings.trust("quality, rank: the inference ended before it came to rest", decisive=True)
        return True
    if status == NO_SIGNAL:
        most, left = refused(problem, model, read.state, read.names)
        if left <= GAIN * FALSE and most + left < null + SIGNAL:
            findings.check("status: differences between reviewers explain the scores no better, nor would after a step")
        else:
            words = f"status: after a step, differences between reviewers may explain the scores {left:.3g} nats better"
            findings.trust(words, decisive=True)
        return True
    moved, left = moves(problem, model, read.state, found), gain_left(problem, model, read.state, read.names)
    # Hyperparameters may end on a plateau, which steps would leave only by and by.
    for size, still, false, why in (
        (moved.mean, MEAN, FALSE, "a pass moves means by {:.3g} standard errors"),
        (moved.message, MESSAGE, FALSE, "a pass changes what a review says by {:.3g}"),
        (moved.node, NODE, FALSE, "a pass moves what is known of a reviewer by {:.3g} of its spread"),
        (left, GAIN, np.inf, "other hyperparameters would gain {:.3g} nats"),
    ):
        if size > still * false:
            findings.expect(False, f"model: it is not at rest: {why.format(size)}")
        elif size > still:
            findings.trust(f"quality, rank: the model may not be at rest: {why.format(size)}", decisive=True)
    findings.check(
        "model: its evidence, that a pass moves nothing, and that no hyperparameter would rather be elsewhere"
    )
    return True


def _half_log_determinant(problem: Problem, model: Model) -> float | None:
    """Return half the log determinant of the precision of the papers before any score; None of too many."""
    known = np.flatnonzero(problem.counts)
    if not model.strength:
        return 0.0
    if known.size > FEW:
        return None
    place = np.zeros(problem.sizes[1], np.int64)
    place[known] = np.arange(known.size)
    shared = np.zeros((known.size, problem.sizes[0]))
    shared[place[problem.what], problem.who] = problem.load[problem.who] ** -0.5
    laplacian = np.diag(problem.counts[known].astype(np.float64)) - shared @ shared.T
    mean = float(np.diag(laplacian).mean())
    matrix = (1 - model.kappa) * np.eye(known.size) + model.kappa * laplacian / mean
    return float(np.linalg.slogdet(matrix)[1]) / 2

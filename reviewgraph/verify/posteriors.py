"""A posterior held to its own equations: the state in which it ended does not move, and all that it says follows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from reviewgraph.verify.findings import is_same, shown
from reviewgraph.verify.following import Told, told_by
from reviewgraph.verify.foretold import Others, gain, misfits
from reviewgraph.verify.heard import Heard, fit_averages, heard_scores
from reviewgraph.verify.passes import Model, one_pass
from reviewgraph.verify.states import NO_SIGNAL, STATUSES, StateOf, check_rest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph.verify.answers import Answer
    from reviewgraph.verify.findings import Findings
    from reviewgraph.verify.tables import Table
    from reviewgraph.verify.wanted import Wanted

#: What sums in another order may differ by, relative to the size of what is summed, and what is nothing beside it.
SUMS, TRIFLE = 1e-8, 1e-12
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

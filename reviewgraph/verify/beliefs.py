"""What the posterior says beside its qualities, held to what one pass over the answer and the scores can tell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from reviewgraph.verify.findings import is_same

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reviewgraph.verify.answers import Answer
    from reviewgraph.verify.findings import Findings
    from reviewgraph.verify.tables import Table

STATUSES = {"converged", "no_signal", "no_scores", "sweeps_exhausted"}
#: Sums of printed numbers, and the common cut of probabilities, which is found again by halving.
SUMS, CUT = 1e-6, 1e-3
#: Corrected p-value below which a reviewer is said to contradict the others.
ALARM = 0.02


def check_direction(findings: Findings, scored: Table, quality: Mapping[str, float]) -> None:
    """Refute qualities that go against the scores of reviewers and against averages, both on the whole."""
    within, by_item = 0.0, dict[str, list[float]]()
    for reviewer, items in scored.rows().items():
        own = {item: scored.score[reviewer, item] or 0.0 for item in items}
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


def check_beliefs(findings: Findings, answer: Answer, scored: Table, rows: Mapping[str, Any]) -> None:
    """Look at status, gain, reviewers and accounts of a posterior.

    ``rows`` holds quality, average and standard error of each paper.
    """
    status = answer.get("status", "a text")
    if not findings.expect(status in STATUSES, f"status: there is none called {status!r}"):
        return
    findings.same("status no_scores", status == "no_scores", not scored.score)
    _gain(findings, answer, status, len(scored.score))
    _reviewers(findings, answer, scored)
    for place, account in enumerate(answer.found.get("accounts", ())):
        _account(findings, f"accounts[{place}]", account, scored, rows)


def _gain(findings: Findings, answer: Answer, status: str, reviews: int) -> None:
    """Compare the gain with the errors from which it follows."""
    gain = answer.get("gain", "an object", null=True) if "gain" in answer.found else None
    if gain is None:
        return
    findings.expect(status not in ("no_signal", "no_scores"), f"gain: there is one, and the status is {status}")
    relative, error, plain = (
        answer.get(key, "a number", within=gain) for key in ("relative", "error", "average_error")
    )
    if findings.expect(0 <= error <= 1 and 0 < plain <= 1, "gain.error, gain.average_error: not from 0 to 1"):
        found = 1 - (error / plain) ** 2
        findings.expect(
            abs(relative - found) <= SUMS * max(1.0, abs(found)),
            f"gain.relative: says {relative:.9g}, and the errors give {found:.9g}",
        )
    count = answer.get("reviews", "a whole number", within=gain)
    findings.expect(0 < count <= reviews, f"gain.reviews: {count} of {reviews} scores")
    findings.expect(answer.get("standard_error", "a number", within=gain) >= 0, "gain.standard_error: below 0")
    findings.check("gain: what follows from its errors")


def _reviewers(findings: Findings, answer: Answer, scored: Table) -> None:
    """Count scores, and correct p-values for the number of reviewers who are looked at."""
    listed = answer.found.get("reviewers")
    if listed is None:
        return
    said = answer.rows("reviewers", {"reviewer": "a name", "scores": "a whole number"})
    findings.same_rows("reviewers", said, scored.loads().items())
    fits = {str(row.get("reviewer")): row["misfit"] for row in listed if row.get("misfit")}
    for who, fit in fits.items():
        value, corrected = (answer.get(key, "a number", within=fit) for key in ("p_value", "corrected"))
        findings.expect(0 <= value <= 1, f"reviewers, {who}, p_value: not from 0 to 1")
        findings.same(f"reviewers, {who}, corrected", corrected, min(value * len(fits), 1.0))
        contradicts = answer.get("contradicts", "true or false", within=fit)
        findings.same(f"reviewers, {who}, contradicts", contradicts, corrected < ALARM)
    findings.check("reviewers: their scores, counted, and p-values corrected for their number")


def _account(findings: Findings, place: str, account: Any, scored: Table, rows: Mapping[str, Any]) -> None:
    """Add up what a quality is made of, and find its scores in the table."""
    item, parts = str(account.get("item")), account.get("parts", [])
    if not findings.expect(item in rows, f"{place}.item: there is no paper {item}"):
        return
    # Some errors are told in accounts alone.
    told = ("standard_error",) if rows[item].standard_error is not None else ()
    for key in ("quality", "average", *told):
        findings.same(f"{place}.{key}", account.get(key), getattr(rows[item], key))
    total = account.get("middle", 0.0) + math.fsum(part.get("moves", 0.0) for part in parts)
    near = is_same(total, account.get("quality"), SUMS)
    findings.expect(near, f"{place}: its parts sum to {total:.9g}, not to the quality")
    said = [(str(part.get("reviewer")), part.get("score")) for part in parts if part.get("source") == "review"]
    findings.same_rows(
        f"{place}.parts", said, [(who, score) for (who, what), score in scored.score.items() if what == item]
    )
    findings.check(f"{place}: sums to the quality of {item}, by the scores of the table")


def check_lottery(findings: Findings, answer: Answer, count: int, certain: Iterable[str]) -> None:
    """Look at a lottery: whom it drew, and with which probabilities."""
    lottery = answer.found.get("lottery")
    if lottery is None:
        return
    drawn = answer.names("drawn", within=lottery)
    chance = dict(answer.rows("probabilities", {"item": "a name", "probability": "a number"}, within=lottery))
    findings.same("lottery.drawn", [len(drawn), len(set(drawn))], [count, count])
    fair = all(0 < value <= 1 + SUMS for value in chance.values())
    findings.expect(fair, "lottery.probabilities: not all above 0 and at most 1")
    total = math.fsum(chance.values())
    findings.expect(
        abs(total - count) <= CUT * max(count, 1), f"lottery.probabilities: sum to {total:.9g}, not {count}"
    )
    strange = next((item for item in drawn if item not in chance), None)
    findings.expect(strange is None, f"lottery.drawn: {strange} has no probability")
    sure = [item for item, value in chance.items() if value >= 1 - SUMS]
    for item in dict.fromkeys([*sure, *certain]):
        findings.expect(item in drawn, f"lottery.drawn: lacks {item}, which is in for certain")
    findings.trust("lottery.seed: that it draws these papers is not drawn again")


def check_probabilities(
    findings: Findings, known: Mapping[str, tuple[float, float]], chance: Mapping[str, float], count: int
) -> None:
    """Hold probabilities of being among the best to means and errors: all are those of passing one common cut.

    ``known`` holds the quality, the higher the better, and the standard error of each paper.
    """
    if not known or not 0 < count < len(known):
        return
    reach = 10 * max(error for _, error in known.values())
    low, high = min(mean for mean, _ in known.values()) - reach, max(mean for mean, _ in known.values()) + reach
    for _ in range(200):
        middle = (low + high) / 2
        many = math.fsum(_passes(mean, error, middle) for mean, error in known.values())
        low, high = (middle, high) if many > count else (low, middle)
    for item, (mean, error) in known.items():
        found = _passes(mean, error, (low + high) / 2)
        words = f"{item}, probability: says {chance[item]:.6g}, its quality and error give {found:.6g}"
        findings.expect(abs(chance[item] - found) <= CUT or error <= 0, words)
    findings.check("probabilities: those of passing one common cut, by qualities and errors")


def _passes(mean: float, error: float, cut: float) -> float:
    return math.erfc((cut - mean) / (error * math.sqrt(2.0))) / 2 if error > 0 else float(mean >= cut)

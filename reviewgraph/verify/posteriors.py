"""Answers of the posterior: what follows from the printed numbers and the files, without the model.

Checked are the held-out gain, the corrections of p-values, and that the contributions to a quality sum to it, besides
what :mod:`reviewgraph.verify.calibrations` checks of every method. Qualities, standard errors, reviewers and the model
are computed by the command alone, so a second run of the command checks them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from reviewgraph.verify.calibrations import Equations

if TYPE_CHECKING:
    from reviewgraph.verify.calibrations import Calibration, Row

#: Relative difference allowed for sums in another order.
SUMS = 1e-8
#: Weight below which a source has no estimate of its own.
NO_WEIGHT = 1e-9
#: Corrected p-value below which a reviewer contradicts the others.
SIGNIFICANCE = 0.02
#: Statuses of an inference that has ended.
ENDED = ("converged", "no_signal")


def check_posterior(own: Calibration) -> None:
    """Check what follows from the printed numbers and the files; leave the model to a second run of the command."""
    findings = own.findings
    own.agrees_with_scores()
    findings.by_command.append("qualities, standard errors, reviewers and the model of the posterior")
    if own.answer.is_table:
        return
    if own.answer.get("status") not in ENDED:
        findings.not_checked("quality, rank: inference ended before it converged", decisive=True)
    _check_gain(own)
    _check_reviewers(own)
    _check_validity(own)
    _check_accounts(own)


POSTERIOR = Equations(check_posterior, by_piece=True, intervals=True)


def _check_gain(own: Calibration) -> None:
    """Compare the held-out gain with the two errors from which it follows."""
    gain = own.answer.content.get("gain")
    if gain is None:
        return
    error = gain["error"]
    average_error = gain["average_error"]
    words = "gain.average_error: not above 0"
    if own.findings.expect(average_error > 0, words):
        relative = 1 - (error / average_error) ** 2
        own.findings.near("gain.relative", gain["relative"], relative, SUMS * (1 + abs(relative)))
        own.findings.check("gain: the squared errors of qualities and averages, compared")


def _check_reviewers(own: Calibration) -> None:
    """Compare the numbers of scores with the table, and the corrections for the number of reviewers tested."""
    findings = own.findings
    rows = own.answer.content.get("reviewers")
    if rows is None or not findings.rows("reviewers", "reviewer scores", own.scored.loads().items()):
        return
    misfits = {str(row["reviewer"]): row["misfit"] for row in rows if row["misfit"] is not None}
    for reviewer, misfit in misfits.items():
        place = f"reviewers, {reviewer}, misfit"
        corrected = min(misfit["p_value"] * len(misfits), 1.0)
        findings.near(f"{place}.corrected", misfit["corrected"], corrected, SUMS)
        findings.same(f"{place}.contradicts", misfit["contradicts"], misfit["corrected"] < SIGNIFICANCE)
    findings.check("reviewers: their numbers of scores, and corrected p-values")


def _check_validity(own: Calibration) -> None:
    """Check the range of each figure of how the qualities predict the references."""
    findings = own.findings
    validity = own.answer.content.get("validity")
    if validity is None:
        return
    if not findings.expect(bool(own.wanted.references), "validity: printed without references"):
        return
    low, high = own.answer.numbers("slope_interval", 2, within=validity)
    findings.expect(low <= validity["slope"] <= high, "validity.slope_interval: does not contain the slope")
    findings.expect(validity["sd"] >= 0, "validity.sd: below 0")
    findings.expect(0 <= validity["unexplained"] <= 1, "validity.unexplained: not from 0 to 1")
    references = len(own.wanted.references)
    findings.expect(0 <= validity["n"] <= references, f"validity.n: not from 0 to {references}, the references passed")
    findings.check("validity: the range of each of its figures")


# Contributions to a quality, which sum to it.


def _check_accounts(own: Calibration) -> None:
    """Check that the accounts are those of the papers to explain, and that each sums to the quality."""
    findings = own.findings
    accounts = own.answer.content.get("accounts", [])
    explained = [str(account["item"]) for account in accounts]
    if not findings.same("accounts", explained, list(own.wanted.explained)):
        return
    for place, account in enumerate(accounts):
        row = own.rows.get(explained[place])
        if row is None:
            findings.expect(False, f"accounts[{place}].item: there is no paper {explained[place]}")
        else:
            _check_account(own, f"accounts[{place}]", account, row)


def _check_account(own: Calibration, place: str, account: Any, row: Row) -> None:
    """Check the contributions to the quality of a paper: they sum to it, and its reviews are those of the table."""
    findings = own.findings
    parts = account["parts"]
    middle = account["middle"]
    moves, weights = ([part[key] for part in parts] for key in ("moves", "weight"))
    slack = SUMS * max(map(abs, [account["quality"], middle, *moves]))
    findings.near(f"{place}.quality", account["quality"], row.quality, slack)
    findings.near(f"{place}.average", account["average"], row.average, slack)
    # With very few scores items have no standard error.
    if row.standard_error is not None:
        findings.near(f"{place}.standard_error", account["standard_error"], row.standard_error, slack)
    findings.near(f"{place}: middle and moves, their sum", middle + math.fsum(moves), account["quality"], slack)
    if None not in weights:
        findings.near(f"{place}: weights, their sum", math.fsum(weights), 1.0, SUMS)
    for number, part in enumerate(parts):
        _check_part(own, f"{place}.parts[{number}]", part, middle)
    reviews = [(str(part["reviewer"]), part["score"]) for part in parts if part["source"] == "review"]
    scores = [(reviewer, score) for (reviewer, item), score in own.scores.items() if item == row.item]
    findings.same_rows(f"{place}.parts: reviews", reviews, scores)
    findings.check(f"{place}: its parts sum to the quality of {row.item}, and its reviews are those of the table")


def _check_part(own: Calibration, place: str, part: Any, middle: float) -> None:
    """Check one contribution: what a review implies for the quality, and how far any source moves it."""
    implied = part["says"]
    weight = part["weight"]
    corrections = [part["severity"], part["stretch"], *part.get("criteria", {}).values()]
    # Numbers are null for reviewers who are ignored.
    if part["source"] == "review" and None not in [part["score"], implied, *corrections]:
        slack = SUMS * max(map(abs, [part["score"], *corrections]))
        own.findings.near(f"{place}.says", implied, part["score"] + math.fsum(corrections), slack)
    if implied is not None and weight is not None and weight > NO_WEIGHT:
        slack = SUMS * max(abs(implied), abs(middle))
        own.findings.near(f"{place}.moves", part["moves"], weight * (implied - middle), slack)

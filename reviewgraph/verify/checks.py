"""Answers of ``check``: sizes, components, missing links, levels, fragile reviews and violated rules, recomputed.

Not checked: levels without a test of their own, fragile reviews of large tables, expected errors and probabilities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from reviewgraph.graph.levels import NAMES, Connected, Double, Recoverable
from reviewgraph.verify.answers import Findings
from reviewgraph.verify.graphs import groups, largest_cover, missing_links, pieces
from reviewgraph.verify.levels import (
    NoTest,
    TooLarge,
    expect_small,
    highest_level,
    is_connected,
    is_double,
    is_double_by_scores,
    is_recoverable,
    test_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph.verify.answers import Answer
    from reviewgraph.verify.graphs import Pair, Table

#: The keys that tell whether a level holds.
LEVEL_KEYS = {Double.name: "recovery_resilient", Recoverable.name: "recoverable"}


class Duties(NamedTuple):
    """Rules that an assignment is checked against; None for those not passed."""

    conflicts: set[Pair] | None = None
    loads: Mapping[str, int] | None = None
    demands: Mapping[str, int] | None = None


def verify_check(answer: Answer, table: Table, duties: Duties) -> Findings:
    """Compare what ``check`` printed with what a table gives."""
    findings = Findings(answer)
    if "undecided" in answer.content:
        _streamed(findings, table)
    else:
        _structure(findings, table, "")
        _as_of_now(findings, table)
        _by_scores(findings, table)
        _fragile(findings, table)
        _violations(findings, table, duties)
    return findings


def _sizes(findings: Findings, table: Table, prefix: str = "") -> None:
    """Compare what is counted in tables of any size."""
    findings.value(prefix + "reviewers", len(table.reviewers))
    findings.value(prefix + "items", len(table.items))
    findings.value(prefix + "reviews", len(table.score))
    findings.value(prefix + "connected.components", len(pieces(table.rows(), table.items)))


def _structure(findings: Findings, table: Table, prefix: str) -> None:
    """Compare sizes, components, missing links and levels."""
    components = groups(table.rows(), table.items)
    _sizes(findings, table, prefix)
    findings.value(prefix + "doubly_connected.components", len(components))
    findings.value(prefix + "doubly_connected.largest_cover", largest_cover(components))
    findings.value(prefix + "degrees_of_freedom", missing_links(table.rows(), table.items))
    findings.value(prefix + "recovery_resilient", is_double(table))
    findings.value(prefix + "recoverable", is_recoverable(table))
    what = "degrees of freedom and every level"
    try:
        findings.value(prefix + "level", highest_level(table))
    except NoTest as error:
        findings.not_checked(f"{prefix}level: {error}", decisive=True)
        what = "degrees of freedom"
    findings.check(f"{prefix}sizes, components, {what}, recomputed")


def _as_of_now(findings: Findings, table: Table) -> None:
    """Compare the same of the reviews with scores, where some have none."""
    scored = table.scored()
    partly = 0 < len(scored.score) < len(table.score)
    if findings.same("as_of_now", "as_of_now" in findings.answer.content, partly) and partly:
        _structure(findings, scored, "as_of_now.")


def _by_scores(findings: Findings, table: Table) -> None:
    """Compare components by the scores, where ties carry no scale."""
    scored = table.scored()
    expected = bool(scored.score)
    if findings.same("scored", "scored" in findings.answer.content, expected) and expected:
        components = groups(scored.rows(), scored.items, scored.score)
        findings.value("scored.doubly_connected.components", len(components))
        findings.value("scored.doubly_connected.largest_cover", largest_cover(components))
        findings.value("scored.recovery_resilient", is_double_by_scores(scored))
        findings.check("components by the scores, where ties carry no scale")


def _streamed(findings: Findings, table: Table) -> None:
    """Compare what was decided about a table larger than memory; what it leaves undecided cannot be false."""
    answer = findings.answer
    undecided = answer.get("undecided")
    # None for what is undecided; of levels without a key an answer only lists these.
    try:
        claimed = {
            name: None if name in undecided else test_of(name)(table) for name in NAMES if name not in LEVEL_KEYS
        }
    except NoTest as error:
        findings.not_checked(f"level: {error}", decisive=True)
        return
    for name, key in LEVEL_KEYS.items():
        claimed[name] = answer.get(key)
        if claimed[name] is not None:
            findings.same(key, claimed[name], test_of(name)(table))
    claimed[Connected.name] = is_connected(table)
    findings.value("level", next((name for name in NAMES if claimed[name]), None))
    findings.same_rows("undecided", undecided, [name for name in claimed if claimed[name] is None])
    # Sizes are exact; the largest group and the missing links are at least what is printed.
    links = missing_links(table.rows(), table.items)
    cover = largest_cover(groups(table.rows(), table.items))
    if answer.get("degrees_of_freedom") is not None:
        findings.value("degrees_of_freedom", links)
    _sizes(findings, table)
    for key, actual in (("at_least.largest_cover", cover), ("at_least.degrees_of_freedom", links)):
        claim = answer.get(key) or 0
        findings.expect(claim <= actual, f"{key}: claims {claim}; recomputed {actual}")
    findings.check("sizes, components, the levels that are decided, and lower bounds")


def _fragile(findings: Findings, table: Table) -> None:
    """Remove each reviewer, and each review, and test whether the level still holds."""
    if findings.answer.get("fragile") is None:
        return
    try:
        level = highest_level(table) or Connected.name
        test = test_of(level)
        held = test(table)
        findings.value("fragile.level", level)
        findings.value("fragile.holds", held)
        expect_small(table, len(table.reviewers) + len(table.score))
    except TooLarge as error:
        findings.not_checked(f"fragile: {error}", decisive=isinstance(error, NoTest))
        return
    reviewers = [who for who, rest in table.without_each_reviewer() if held and not test(rest)]
    findings.same_rows("fragile.reviewers", map(str, findings.answer.get("fragile.reviewers")), reviewers)
    pairs = [pair for pair, rest in table.without_each_review() if held and not test(rest)]
    findings.rows("fragile.reviews", "reviewer item", pairs)
    findings.check("fragile: the level without each reviewer and without each review")


def _violations(findings: Findings, table: Table, duties: Duties) -> None:
    """Compare violated conflicts, loads and demands."""
    expected = any(duty is not None for duty in duties)
    if not findings.same("violations", "violations" in findings.answer.content, expected) or not expected:
        return
    conflicts = duties.conflicts or set()
    loads = duties.loads or {}
    demands = duties.demands or {}
    barred = [pair for pair in table.score if pair in conflicts]
    over = [(who, count, loads[who]) for who, count in table.loads().items() if count > loads.get(who, count)]
    short = [(what, n, demands[what]) for what, n in table.reviews_of().items() if n < demands.get(what, n)]
    for key, columns, duty, actual in (
        ("conflicts", "reviewer item", duties.conflicts, barred),
        ("over_load", "reviewer reviews load", duties.loads, over),
        ("short", "item reviews demand", duties.demands, short),
    ):
        key = f"violations.{key}"
        findings.same(key, findings.answer.get(key) is not None, duty is not None)
        findings.rows(key, columns, actual)
    findings.check("violations: conflicts, loads and demands")

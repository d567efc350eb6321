"""Answers of ``check``: sizes, components, degrees of freedom and levels, recomputed.

Left to a second run: critical reviews, violated rules, expected errors, and tables larger than memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewgraph.verify.answers import Findings
from reviewgraph.verify.graphs import (
    TooLarge,
    groups,
    highest_level,
    is_double,
    is_double_by_scores,
    is_recoverable,
    largest_cover,
    missing_links,
    pieces,
)

if TYPE_CHECKING:
    from reviewgraph.verify.answers import Answer
    from reviewgraph.verify.graphs import Table


def verify_check(answer: Answer, table: Table) -> Findings:
    """Compare what ``check`` printed with what a table gives."""
    findings = Findings(answer)
    _structure(findings, table, "")
    # The same of the reviews with scores, where some have none.
    scored = table.scored()
    partly = 0 < len(scored.score) < len(table.score)
    if findings.same("as_of_now", "as_of_now" in answer.content, partly) and partly:
        _structure(findings, scored, "as_of_now.")
    # Components by the scores, where ties carry no scale.
    any_scored = bool(scored.score)
    if findings.same("scored", "scored" in answer.content, any_scored) and any_scored:
        components = groups(scored.rows(), scored.items, scored.score)
        findings.value("scored.doubly_connected.components", len(components))
        findings.value("scored.doubly_connected.largest_cover", largest_cover(components))
        findings.value("scored.recovery_resilient", is_double_by_scores(scored))
        findings.check("components by the scores, where ties carry no scale")
    return findings


def _structure(findings: Findings, table: Table, prefix: str) -> None:
    """Compare sizes, components, missing links and levels."""
    components = groups(table.rows(), table.items)
    findings.value(prefix + "reviewers", len(table.reviewers))
    findings.value(prefix + "items", len(table.items))
    findings.value(prefix + "reviews", len(table.score))
    findings.value(prefix + "connected.components", len(pieces(table.rows(), table.items)))
    findings.value(prefix + "doubly_connected.components", len(components))
    findings.value(prefix + "doubly_connected.largest_cover", largest_cover(components))
    findings.value(prefix + "degrees_of_freedom", missing_links(table.rows(), table.items))
    findings.value(prefix + "recovery_resilient", is_double(table))
    findings.value(prefix + "recoverable", is_recoverable(table))
    findings.check(f"{prefix}sizes, components and degrees of freedom, recomputed")
    try:
        findings.value(prefix + "level", highest_level(table))
        findings.check(f"{prefix}level, and every level above it")
    except TooLarge as error:
        findings.not_checked(f"{prefix}level: {error}")

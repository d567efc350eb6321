"""Which rules hold, in lines for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewgraph.words import counted

if TYPE_CHECKING:
    from planner.assignments.assignment import Assignment
    from planner.assignments.findings.kept import KeptRule

#: Gaps that print as nothing.
LEAST_GAP = 5e-5


def rule_lines(assignment: Assignment) -> list[str]:
    """Say which rules hold, what rewards earn, and how far from the best that may be."""
    kept = assignment.kept
    if kept is None:
        return []
    lines = ["Rules on who reviews a paper together:", *(f"  {_line(rule)}" for rule in kept.rules)]
    total = "affinity and rewards" if kept.rewards else "affinity"
    # A draw is not to be compared with the best, which is no lottery.
    if assignment.randomised is None and assignment.gap > LEAST_GAP:
        lines.append(f"Under the rules the {total} is {kept.bound:.6g} at most, whatever the level: a gap of "
                     f"{assignment.gap:.3f} %.")  # fmt: skip
    return lines


def _line(rule: KeptRule) -> str:
    if rule.earned is None:
        return f"{rule.words}: holds on {counted(rule.papers, 'paper')} ({rule.option})"
    return f"{rule.words}: earned {counted(rule.earned, 'time')} on {counted(rule.papers, 'paper')} ({rule.option})"

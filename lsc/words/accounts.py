"""The account of a paper in words that an author may read, on the scale that reviewers used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lsc.inference.account import Account, Part

#: Corrections smaller than this, in points, are not worth a word.
SLIGHT = 0.05


def account_lines(account: Account, title: str = "") -> list[str]:
    """Return the account as lines: the result, the middle where all papers start, and what each source adds."""
    name = f"{account.item} {title}".strip()
    lines = [
        f"Paper {name}: quality {account.quality:.2f}, give or take {account.standard_error:.2f} "
        f"(one standard error); plain average {account.average:.2f}.",
        "",
        f"  {account.middle:8.2f}  where every paper starts: the middle of all papers",
    ]
    lines += [
        f"  {part.moves:+8.2f}  {_source(part, lower_is_better=account.lower_is_better)}"
        for part in account.parts
        if part.source != "middle"
    ]
    rest = sum(part.weight for part in account.parts if part.source == "middle")
    lines.append(f"  {account.total:8.2f}  the sum")
    lines += [
        "",
        f"The scores of this paper together weigh {1.0 - rest:.0%}, the middle {rest:.0%}: the fewer and the less "
        "consistent the scores, the closer a paper stays to the middle.",
    ]
    return lines


def _source(part: Part, *, lower_is_better: bool) -> str:
    if part.source == "likeness":
        return f"like papers go to like reviewers: the other papers of {part.reviewer} (weight {part.weight:.0%})"
    if part.source == "reference":
        return f"its known quality, taken as a measurement (weight {part.weight:.0%})"
    counts = f", counts as {part.says:.2f}{_why(part, lower_is_better)}" if _is_corrected(part) else ""
    return f"{part.reviewer} gave {part.score:g}{counts}; weight {part.weight:.0%}"


def _is_corrected(part: Part) -> bool:
    return abs(part.severity + part.stretch) >= SLIGHT


def _why(part: Part, lower_is_better: bool) -> str:
    """Name the larger of the two corrections, and the other where it is no slight one."""
    harsh = "harsh" if (part.severity > 0) != lower_is_better else "lenient"
    reasons = [
        (part.severity, f"this reviewer is {harsh}"),
        (part.stretch, "this reviewer's other scores are spread unlike the usual"),
    ]
    told = [f"{value:+.2f}, as {reason}" for value, reason in reasons if abs(value) >= SLIGHT]
    return f" ({'; '.join(told)})"

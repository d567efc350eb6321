"""The account of a paper in words that an author may read, on the scale that reviewers used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lsc.evidence.account import Account, Part

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
    corrections = []
    if abs(part.severity) >= SLIGHT:
        kind = "harsh" if (part.severity > 0) != lower_is_better else "lenient"
        corrections.append(f"{part.severity:+.2f} because this reviewer is {kind}")
    if abs(part.stretch) >= SLIGHT:
        corrections.append(f"{part.stretch:+.2f} for how widely this reviewer spreads scores")
    counts = f", counts as {part.says:.2f} ({' and '.join(corrections)})" if corrections else ""
    return f"{part.reviewer} gave {part.score:g}{counts}; weight {part.weight:.0%}"

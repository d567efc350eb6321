"""What the command prints of a result, whatever method made it: an opening, the papers, and what is known now."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from lsc.calibration import Calibration
from lsc.posteriors import PosteriorEstimate
from lsc.words import calibration_page, posterior_page
from lsc.words.calibration_page import SHOWN, Column, best_by_group, by_group, paper_name, summed_up, table
from reviewgraph._base.text import counted

if TYPE_CHECKING:
    from lsc._inference.beliefs import Account, Part
    from lsc.estimate import Estimate
    from lsc.selection import Selection


class Page(NamedTuple):
    """Lines: what to know before any number, the body, and what is known now."""

    opening: list[str]
    body: list[str]
    closing: list[str]


def page_of(result: Estimate, selection: Selection | None = None) -> Page:
    """Return the page of a result, with a selection where the method gives chances."""
    if isinstance(result, PosteriorEstimate):
        return _posterior(result, selection)
    if isinstance(result, Calibration):
        warnings = [f"Warning: {warning}" for warning in calibration_page.warnings_of(result)]
        return Page(warnings, calibration_page.report(result), [calibration_page.closing(result)])
    return Page([], _plain(result), ["This method says nothing of how sure it is; the posterior does."])


def _posterior(result: PosteriorEstimate, selection: Selection | None) -> Page:
    body = posterior_page.papers(result, selection)
    if selection is not None:
        body += ["", *posterior_page.decisions(result, selection)]
    if reviewers := posterior_page.reviewer_lines(result):
        body += ["", *reviewers]
    if contradicting := posterior_page.misfit_lines(result):
        body += ["", *contradicting]
    return Page(posterior_page.opening(result), body, [])


def _plain(result: Estimate) -> list[str]:
    best = best_by_group(result)
    quality, average = result.reviews.printed(result.quality), result.reviews.printed(result.average)
    columns: list[Column] = [
        ("rank", lambda i: str(result.rank[i])),
        ("paper", lambda i: paper_name(result, i)),
        ("quality", lambda i: f"{quality[i]:.3f}"),
        ("average", lambda i: f"{average[i]:.3f}"),
        ("its rank", lambda i: str(result.average_rank[i])),
    ]
    head = f"Quality of {counted(best.size, 'paper')} by {result.method}:"
    return [head, "", *table(by_group(result, columns), best[:SHOWN]), *summed_up(SHOWN, best.size)]


# The account of a paper in words that an author may read, on the scale that reviewers used.

#: Corrections smaller than this, in points, are not worth a word.
SLIGHT = 0.05
#: What stands before all sources.
MIDDLE = "the middle of all papers"


def account_lines(account: Account, title: str = "", scale: tuple[float, float] | None = None) -> list[str]:
    """Return the account as lines: the result, the middle where all papers start, and what each source adds.

    With ``scale``, the least and the greatest score given, what counts as a score beyond it is explained.
    """
    name = f"{account.item} {title}".strip()
    lines = [
        f"Paper {name}: quality {account.quality:.2f}{give_or_take(account)}; plain average {account.average:.2f}.",
        "",
        f"  {account.middle:8.2f}  where every paper starts: {MIDDLE}",
    ]
    lines += [
        f"  {rounded(part.moves):+8.2f}  {source_words(part, lower_is_better=account.lower_is_better)}"
        for part in account.parts
        if part.source != "middle"
    ]
    lines.append(f"  {account.total:8.2f}  the sum")
    return [*lines, "", *remarks(account, scale)]


def give_or_take(account: Account) -> str:
    """Return the standard error as the end of a clause; nothing where the scores do not tell it."""
    error = account.standard_error
    return f", give or take {error:.2f} (standard error)" if math.isfinite(error) else ""


def remarks(account: Account, scale: tuple[float, float] | None = None) -> list[str]:
    """Say what the weights mean, and why a score may count as one beyond the scale."""
    # The middle moves nothing: its weight says how far the scores are drawn to it.
    rest = sum(part.weight for part in account.parts if part.source == "middle")
    lines = [
        f"What is known of this paper weighs {_share(1.0 - rest)} together, the middle {_share(rest)}: the fewer and "
        "the less consistent the scores, the closer a paper stays to the middle.",
    ]
    said = [part.says for part in account.parts if part.source == "review" and _is_corrected(part)]
    if scale and said and (min(said) < scale[0] or max(said) > scale[1]):
        lines.append(
            f"Scores were given from {scale[0]:g} to {scale[1]:g}; once corrected, one may count as less or more than "
            "any of them: the best score of a harsh reviewer says more than that of a lenient one."
        )
    return lines


def source_words(part: Part, *, lower_is_better: bool) -> str:
    """Say what a source is, what a score counts as and why, and what it weighs."""
    if part.source == "likeness":
        return f"like papers go to like reviewers: the other papers of {part.reviewer} (weight {_share(part.weight)})"
    if part.source == "reference":
        return f"its known quality {part.score:g}, as a score {part.says:.2f}; weight {_share(part.weight)}"
    counts = f", counts as {part.says:.2f}{_why(part, lower_is_better)}" if _is_corrected(part) else ""
    return f"{part.reviewer} gave {part.score:g}{counts}; weight {_share(part.weight)}"


def rounded(points: float) -> float:
    """Round to what is printed, so that what moves nothing has no minus."""
    return round(points, 2) + 0.0


def _share(weight: float) -> str:
    return f"{100.0 * weight:.0f} %"


def _is_corrected(part: Part) -> bool:
    return abs(part.severity + part.stretch) >= SLIGHT


def _why(part: Part, lower_is_better: bool) -> str:
    """Name the corrections that are no slight ones."""
    harsh = "harsh" if (part.severity > 0) != lower_is_better else "lenient"
    # The stretch holds what is left: how widely she spreads scores, and what her other papers taught of both.
    reasons = [
        (part.severity, f"as this reviewer is {harsh}"),
        (part.stretch, "by how this reviewer scored other papers"),
    ]
    told = [f"{value:+.2f} {reason}" for value, reason in reasons if abs(value) >= SLIGHT]
    return f" ({', '.join(told)})"

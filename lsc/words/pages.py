"""What the command prints of a result, whatever method made it: an opening, the papers, and what is known now."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lsc.calibration import Calibration
from lsc.posteriors import PosteriorEstimate
from lsc.words import calibration_page, posterior_page
from lsc.words.tables import SHOWN, Column, best_by_group, by_group, paper_name, summed_up, table
from reviewgraph.words import counted

if TYPE_CHECKING:
    from lsc.decisions.selection import Selection
    from lsc.estimate import Estimate


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

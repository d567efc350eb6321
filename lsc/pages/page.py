"""The page of a calibration: the decision or the benefit of the correction, the best papers, what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lsc.calibration import Calibration, CalibrationStatus
from lsc.estimate import Estimate
from lsc.pages.accounts import direction_of, explained_page
from lsc.pages.details import contradicting, sections_of, unusual
from lsc.pages.papers import NAMED, best_table, columns_by_head, group_sizes, open_table, percent, some
from lsc.posteriors import PosteriorEstimate
from lsc.selection import Selection
from reviewgraph._base import Fact, Nouns, Page, Section, Table, counted, listed, noun
from reviewgraph.report import not_counted

if TYPE_CHECKING:
    from reviewgraph._base import IntArray, Label

#: Changes of a selection, and reviewers of a kind, that a line names.
CHANGES = 5
KINDS = 5
#: With fewer scores per reviewer than this, calibration may be worse than the plain average.
FEW_SCORES = 6
#: What a page says where nothing says which scores are the best.
GUESSED = "Higher is read as better; if 1 is best: --lower-is-better"


def page_of(
    result: Estimate,
    selection: Selection | None = None,
    *,
    drawn: Sequence[Label] | None = None,
    seed: int | None = None,
    explained: Sequence[Label] = (),
    refused: bool = False,
    guessed: bool = False,
    grades: Sequence[str] = (),
) -> Page:
    """Return the page of a calibration.

    ``drawn`` are the papers of a lottery, None without one; its ``seed`` is None, which counts as 0, if not stated.
    ``explained`` are papers that the page is about. ``refused`` says that there is no order of all papers to select
    from, ``guessed`` that nobody stated which scores are the best; ``grades``
    are those of a scale, best first.
    """
    direction = f"{direction_of(result.reviews, grades)}{', assumed' if guessed else ''}"
    page = Page("Calibration of scores", None, "")
    if not result._in_parts:
        page = replace(page, sections=sections_of(result, selection), nouns=Nouns(*result.reviews._nouns))
    if drawn is not None and selection is not None:
        lottery = Section("lottery", "The lottery", lambda: [_lottery_table(selection, drawn)])
        page = replace(page, sections=[*page.sections[:1], lottery, *page.sections[1:]])
    warnings = []
    if refused:
        warnings.append("Nothing is selected: add reviews, or assume equal groups: --by-group-average")
    if selection is not None and np.unique(result.group[selection.ranked_codes]).size > 1:
        warnings.append("Groups that no review connects are taken as equally good: --by-group-average")
    if drawn is not None and seed is None:
        warnings.append("No --seed was given, so it is 0, for everybody: announce a seed before drawing")
    if explained and isinstance(result, PosteriorEstimate):
        draw = [] if selection is None or drawn is None else [_draw(result, selection, drawn, seed)]
        page = replace(page, facts=draw, warnings=[*warnings, *_warnings(result)])
        return explained_page(page, result, explained, selection, direction)
    good, verdict, summary, note = _verdict(result, selection)
    if selection is not None:
        facts = _decision(result, selection, drawn, seed)
    else:
        facts = [best_table(result), *(_benefit(result) if len(group_sizes(result)) > 1 else [])]
    warnings = [*([GUESSED] if guessed else []), *warnings]
    return replace(
        page,
        good=good,
        verdict=verdict,
        summary=f"{summary} ({note}{direction})".strip(),
        facts=[*facts, *_reviewers(result), *_left_out(result, selection)],
        warnings=[*warnings, *_warnings(result)],
    )


# The first line.


def _verdict(result: Estimate, selection: Selection | None) -> tuple[bool | None, str, str, str]:
    """Return whether the news is good, the verdict, the rest of its line, and what precedes the direction of scores."""
    sizes = group_sizes(result)
    if selection is None and len(sizes) > 1:
        papers = listed([f"{size:,}" for size in sizes], 4)
        return False, "No order of all:", f"{len(sizes):,} groups that no review connects", f"{papers} papers; "
    method = result.method
    if isinstance(result, Calibration):
        method = f"least squares, {result.hypothesis} reviewers"
    if selection is not None:
        places = counted(selection.n - selection.certain_codes.size, "place")
        discuss = f"{selection.discuss_codes.size:,} to discuss for {places}, " if selection.discuss_codes.size else ""
        verdict = f"{selection.certain_codes.size:,} in, {discuss}{selection.out_codes.size:,} out"
        sure = percent(1.0 - selection.error_rate) if isinstance(result, PosteriorEstimate) else method
        return None, verdict, "", f"{sure}; "
    if isinstance(result, PosteriorEstimate):
        good, state, words = _compared(result)
        return good, f"{state}:", words, ""
    return None, "Ranked:", counted(sum(sizes), "paper"), f"{method}; "


def _compared(result: PosteriorEstimate) -> tuple[bool | None, str, str]:
    """Return whether the correction helps, that in a word, and how much less error than averages it has.

    More than chance is more than two standard errors.
    """
    n_reviewers = np.count_nonzero(np.isfinite(result.reviewers.severity.mean))
    if n_reviewers < 2 or np.count_nonzero(np.isfinite(result.average)) < 2:
        only = "reviewer" if n_reviewers < 2 else "paper"
        return None, "Nothing to compare", f"the scores of one {only} show no differences between reviewers"
    if not result.beliefs.signal:
        return True, "Nothing to correct", "no differences between reviewers"
    if result._in_parts:
        return None, "Corrected", "reviewers differ; the benefit is not computed by batches"
    better = 100.0 * result.gain.relative
    error = 100.0 * result.gain.standard_error
    if not np.isfinite(better):
        return None, "Corrected", "too few reviewers with common papers to tell whether it helps"
    digits = 0 if error >= 1.0 else 1
    words = f"{abs(better):.{digits}f} % +- {error:.{digits}f} {'less' if better >= 0 else 'more'} error"
    if abs(better) <= 2 * error:
        return None, "No gain", f"{words} than averages, no more than chance"
    return better > 0, f"Correction {'helps' if better > 0 else 'harms'}", f"{words} than averages, more than chance"


# Facts.


def _decision(
    result: Estimate, selection: Selection, drawn: Sequence[Label] | None, seed: int | None
) -> list[Fact | Table]:
    """Return the papers that are in, drawn, and to discuss, and what averages would have changed."""
    items = result.items
    facts: list[Fact | Table] = [Fact("In", some(items, selection.certain_codes))]
    if not isinstance(result, PosteriorEstimate):
        return [*facts, Fact("Errors", "this method does not estimate uncertainty")]
    if drawn is not None:
        facts.append(_draw(result, selection, drawn, seed))
    if selection.discuss_codes.size:
        facts.append(open_table(result, selection))
    n = selection.n
    into = some(items, selection.swapped_in_codes, CHANGES)
    change = f"would select {some(items, selection.swapped_out_codes, CHANGES)} instead of {into}"
    by_average = f"by averages {selection.expected_wrong_by_average:,.1f}"
    return [
        *facts,
        Fact("Averages", change if selection.swapped_in_codes.size else f"the same {n:,}"),
        *_benefit(result),
        Fact("Errors", f"about {selection.expected_wrong:,.1f} of the {n:,} best will be wrong, {by_average}"),
    ]


def _pool(selection: Selection) -> IntArray:
    """Return the papers that a lottery may draw and that are not in, best first.

    Of papers of other groups, which are never in, some are drawn for certain.
    """
    may_be = selection.ranked_codes[selection.lottery[selection.ranked_codes] > 0]
    return may_be[~np.isin(may_be, selection.certain_codes)]


def _draw(result: Estimate, selection: Selection, drawn: Sequence[Label], seed: int | None) -> Fact:
    """Return the papers of a lottery that were drawn."""
    free = _pool(selection)
    lucky = free[np.array([label in drawn for label in selection.named(free)], np.bool_)]
    among = f"{some(result.items, lucky)} (of {free.size:,} by seed {seed or 0}, which draws the same again)"
    return Fact("Drawn", among if free.size else "nothing to draw")


def _benefit(result: Estimate) -> list[Fact]:
    """Return whether the correction helps, where the first line is about something else."""
    if not isinstance(result, PosteriorEstimate):
        return []
    _, state, words = _compared(result)
    return [Fact("Benefit", f"{state[0].lower()}{state[1:]}: {words}")]


def _reviewers(result: Estimate) -> list[Fact]:
    """Return the harsh and the lenient reviewers, and those who contradict the others."""
    if not isinstance(result, PosteriorEstimate):
        return []
    found = unusual(result.beliefs)
    kinds: dict[str, IntArray] = {kind: found[kind] for kind in ("harsh", "lenient") if kind in found}
    if not result._in_parts and (against := contradicting(result)).size:
        kinds["against the others"] = against
    words = [f"{kind} {some(result.reviews.reviewers, codes, KINDS)}" for kind, codes in kinds.items()]
    if result.beliefs.signal and not words:
        words = ["none clearly harsh or lenient"]
    return [Fact("Reviewers", "; ".join(words))] if words else []


def _left_out(result: Estimate, selection: Selection | None) -> list[Fact]:
    """Return groups, papers set aside or without a score, and what is not counted."""
    facts = []
    if selection is not None and (aside := selection.aside_codes).size:
        groups = np.unique(result.group[aside]).size
        to_join = f"{noun(groups, 'joins', 'join')} {noun(aside.size, 'it', 'them')} to the others"
        more = f"at least {counted(groups, 'more review')} {to_join}"
        facts.append(Fact("Set aside", f"{some(result.items, aside)}; {more}"))
    without = np.flatnonzero(result.rank == 0)
    if without.size:
        facts.append(Fact("Not ranked", f"{some(result.items, without)} (no score)"))
    return [*facts, *([] if result._in_parts else not_counted(result.reviews))]


# Warnings.


def _warnings(result: Estimate) -> list[str]:
    """Return what changes how the result is read, and what the scores do not support."""
    warnings = []
    if isinstance(result, PosteriorEstimate) and (prior := result.by_prior):
        why = "their quality is that expected of any paper, as all their reviewers give one score only"
        warnings.append(f"{listed(prior, NAMED)}: {why}")
    if isinstance(result, PosteriorEstimate) and (validity := result.validity).n:
        fit = "do not predict the references"
        if validity.is_predictive:
            fit = f"leave {100 * validity.unexplained:.0f} % of the spread of what the references measure unexplained"
        elif validity.slope_interval[1] < 0:
            fit = "contradict the references: the better the scores, the worse the measurements"
        warnings.append(f"The scores {fit}")
    if isinstance(result, Calibration) and not result._in_parts:
        loads = result.reviews.only_scored().loads
        half = int(np.median(loads[loads > 0]))
        links = result.support.degrees_of_freedom
        reasons = [f"half of the reviewers gave {counted(half, 'score')} or less"] if half < FEW_SCORES else []
        reasons += [f"{counted(links, 'link')} between reviewers {noun(links, 'is', 'are')} missing"] if links else []
        if reasons:
            warnings.append(f"The plain average may be more accurate: {' and '.join(reasons)}")
        if places := int((~result.support.determined & np.isfinite(result.quality)).sum()):
            papers = counted(places, "paper")
            warnings.append(f"The scores do not determine the place of {papers} in a group (marked ?)")
    if isinstance(result, Calibration) and result.status is not CalibrationStatus.OPTIMAL:
        warnings.append(f"{result.status.text} ({result.message})")
    lacking = result.reviews.origin.lacking
    return [*warnings, *([lacking.words] if lacking else [])]


def _lottery_table(selection: Selection, drawn: Sequence[Label]) -> Table:
    free = _pool(selection)
    chances = zip(selection.named(free), selection.lottery[free].tolist(), strict=True)
    rows = [(label, 100 * chance, "yes" if label in drawn else "no") for label, chance in chances]
    columns = columns_by_head({"paper": "text", "probability, %": 1, "drawn": "choice"}, rows)
    return Table("lottery-table", "Papers that could be drawn", columns, "papers")

"""The page of a calibration: the decision or the benefit of the correction, the best papers, what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsc.calibration import Calibration, CalibrationStatus
from lsc.estimate import Estimate
from lsc.pages.accounts import account_table, better, corrections, plus_minus, scale_of
from lsc.pages.details import contradicting, sections_of, unusual
from lsc.pages.papers import LISTS, NAMED, best_by_group, best_table, group_sizes, open_table, percent, reviews_of, some
from lsc.posteriors import PosteriorEstimate
from lsc.selection import Selection, Uncertain
from lsc.streams import StreamedCalibration, StreamedEstimate
from reviewgraph._base import Column, Fact, Nouns, Page, Part, Section, Table, counted, listed, noun
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


class Lottery(NamedTuple):
    """Papers that were drawn, best first, and the seed, None if not typed."""

    drawn: Sequence[Label]
    seed: int | None


class Asked(NamedTuple):
    """What a page tells beside the result.

    ``selection`` needs a method with probabilities; ``lists`` has the list of each paper by another. ``refused`` says
    that there is no order of all papers to select from; ``explained`` are papers that the page is about; ``guessed``
    says that nobody stated which scores are the best.
    """

    selection: Selection | None = None
    lists: Sequence[str | None] | None = None
    lottery: Lottery | None = None
    explained: Sequence[Label] = ()
    refused: bool = False
    guessed: bool = False

    @property
    def ranked(self) -> IntArray | None:
        """The papers among which some are selected, by code; None without a selection."""
        if self.selection is not None:
            return self.selection.ranked
        return None if self.lists is None else np.flatnonzero([name in ("in", "out") for name in self.lists])

    @property
    def aside(self) -> IntArray:
        """The papers that are set aside, by code."""
        if self.selection is not None:
            return self.selection.aside
        return np.flatnonzero([name == "aside" for name in self.lists or ()])


def page_of(result: Estimate | StreamedEstimate, selection: Selection | None = None, **more: Any) -> Page:
    """Return the page of a calibration; ``more`` are the other fields of :class:`Asked`."""
    asked = Asked(selection, **more)
    sections = sections_of(result, selection, asked.lists) if isinstance(result, Estimate) else []
    if asked.lottery is not None and selection is not None:
        sections.insert(1, Section("lottery", "The lottery", partial(_lottery, selection, asked.lottery)))
    nouns = Nouns(*result.reviews.nouns) if isinstance(result, Estimate) else Nouns()
    page = Page("Calibration of scores", None, "", sections=sections, nouns=nouns)
    if asked.explained and isinstance(result, PosteriorEstimate):
        return _explained(page, result, asked)
    good, verdict, summary, note = _verdict(result, asked)
    apart = len(group_sizes(result)) > 1
    facts = _decision(result, asked)
    if asked.ranked is None:
        facts = [best_table(result), *(_benefit(result) if apart else [])]
    return replace(
        page,
        good=good,
        verdict=verdict,
        summary=f"{summary} ({note}{_direction(result, asked)})".strip(),
        facts=[*facts, *_reviewers(result), *_left_out(result, asked)],
        warnings=_warnings(result, asked),
    )


# The first line.


def _verdict(result: Estimate | StreamedEstimate, asked: Asked) -> tuple[bool | None, str, str, str]:
    """Return whether the news is good, the verdict, the rest of its line, and what precedes the direction of scores."""
    if asked.refused or (asked.ranked is None and len(group_sizes(result)) > 1):
        return False, "No order of all:", *_groups(result)
    if (selection := asked.selection) is not None:
        places = counted(selection.n - selection.certain.size, "place")
        discuss = f"{selection.discuss.size:,} to discuss for {places}, " if selection.discuss.size else ""
        verdict = f"{selection.certain.size:,} in, {discuss}{selection.out.size:,} out"
        return None, verdict, "", f"{percent(1.0 - selection.error_rate)}; "
    if isinstance(result, Uncertain):
        good, state, words = benefit(result)
        return good, f"{state}:", words, ""
    method = result.method if isinstance(result, Estimate) else ""
    if isinstance(result, Calibration | StreamedCalibration):
        method = f"least squares, {result.hypothesis} reviewers"
    if (lists := asked.lists) is not None:
        return None, f"{lists.count('in'):,} in, {lists.count('out'):,} out", "", f"{method}; "
    return None, "Ranked:", counted(int((result.rank > 0).sum()), "paper"), f"{method}; "


def _direction(result: Estimate | StreamedEstimate, asked: Asked) -> str:
    """Return which scores are the best ones, and whether nobody said so."""
    return f"{reviews_of(result).direction}{', assumed' if asked.guessed else ''}"


def _groups(result: Estimate | StreamedEstimate) -> tuple[str, str]:
    """Return the number of groups that no review connects, and their sizes."""
    sizes = group_sizes(result)
    shown = ", ".join(f"{size:,}" for size in sizes[:4])
    return f"{len(sizes):,} groups that no review connects", f"{shown}{', ...' if len(sizes) > 4 else ''} papers; "


def benefit(result: Uncertain) -> tuple[bool | None, str, str]:
    """Return whether the correction helps, that in a word, and how much less error than averages it has.

    More than chance is more than two standard errors.
    """
    if not result.beliefs.signal:
        covariates = getattr(result, "covariates", None)
        used = [row.name for row in covariates.rows if row.used and row.of == "reviewer"] if covariates else []
        beyond = f"beyond {listed(used)}, " if used else ""
        return True, "Nothing to correct", f"{beyond}no differences between reviewers"
    if not isinstance(result, PosteriorEstimate):
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


def _decision(result: Estimate | StreamedEstimate, asked: Asked) -> list[Fact | Table]:
    """Return the papers that are in, drawn, and to discuss, and what averages would have changed."""
    selection, lists, lottery = asked[:3]
    if selection is None:
        inside = [result.items[i] for i in best_by_group(result).tolist() if lists and lists[i] == "in"]
        return [Fact("In", some(inside)), Fact("Errors", "this method does not estimate uncertainty")]
    n = selection.n
    facts: list[Fact | Table] = [Fact("In", some(selection.named(selection.certain)))]
    if lottery is not None:
        free = selection.named(selection.drawn)
        drawn = some([label for label in lottery.drawn if label in free])
        among = f"{drawn} (of {len(free):,} by seed {lottery.seed or 0}, which draws the same again)"
        facts.append(Fact("Drawn", among if free else "nothing to draw"))
    if selection.discuss.size:
        facts.append(open_table(result, selection))
    into, out = (selection.named(papers) for papers in (selection.swapped_in, selection.swapped_out))
    change = f"would select {some(out, CHANGES)} instead of {some(into, CHANGES)}"
    facts.append(Fact("Averages", change if into else f"the same {n:,}"))
    facts += _benefit(result)
    by_average = f"by averages {selection.expected_wrong_by_average:,.1f}"
    facts.append(Fact("Errors", f"about {selection.expected_wrong:,.1f} of the {n:,} best will be wrong, {by_average}"))
    return facts


def _benefit(result: Estimate | StreamedEstimate) -> list[Fact]:
    """Return whether the correction helps, where the first line is about something else."""
    if not isinstance(result, Uncertain):
        return []
    _, state, words = benefit(result)
    return [Fact("Benefit", f"{state[0].lower()}{state[1:]}: {words}")]


def _reviewers(result: Estimate | StreamedEstimate) -> list[Fact]:
    """Return the harsh and the lenient reviewers, and those who contradict the others."""
    if not isinstance(result, Uncertain):
        return []
    labels = reviews_of(result).reviewers
    found = unusual(result.beliefs)
    kinds = [
        f"{kind} {some([labels[j] for j in found[kind].tolist()], KINDS)}"
        for kind in ("harsh", "lenient")
        if kind in found
    ]
    if isinstance(result, PosteriorEstimate) and (against := contradicting(result)).size:
        kinds.append(f"against the others {some([labels[j] for j in against.tolist()], KINDS)}")
    if result.beliefs.signal and not kinds:
        kinds.append("none clearly harsh or lenient")
    return [Fact("Reviewers", "; ".join(kinds))] if kinds else []


def _left_out(result: Estimate | StreamedEstimate, asked: Asked) -> list[Fact]:
    """Return groups, papers set aside or without a score, and what is not counted."""
    facts = []
    if (aside := asked.aside).size:
        groups = np.unique(result.group[aside]).size
        to_join = f"{noun(groups, 'joins', 'join')} {noun(aside.size, 'it', 'them')} to the others"
        names = some([result.items[i] for i in aside.tolist()])
        facts.append(Fact("Set aside", f"{names}; at least {counted(groups, 'more review')} {to_join}"))
    without = np.flatnonzero(result.rank == 0)
    if without.size:
        number = f"{without.size:,}: " if without.size > NAMED else ""
        first = listed([result.items[i] for i in without[: NAMED + 1].tolist()], NAMED)
        facts.append(Fact("Not ranked", f"{number}{first} (no score)"))
    return [*facts, *(not_counted(result.reviews) if isinstance(result, Estimate) else [])]


# Warnings.


def _warnings(result: Estimate | StreamedEstimate, asked: Asked) -> list[str]:
    """Return what changes how the result is read."""
    warnings = [GUESSED] if asked.guessed else []
    if asked.refused:
        warnings.append("Nothing is selected: add reviews, or assume equal groups: --by-group-average")
    if asked.ranked is not None and np.unique(result.group[asked.ranked]).size > 1:
        warnings.append("Groups that no review connects are taken as equally good: --by-group-average")
    if asked.lottery is not None and asked.lottery.seed is None:
        warnings.append("No --seed was given, so it is 0, for everybody: announce a seed before drawing")
    if isinstance(result, Uncertain):
        warnings += _of_posterior(result)
    if isinstance(result, Calibration | StreamedCalibration):
        warnings += _of_least_squares(result)
    lacking = reviews_of(result).origin.lacking
    return [*warnings, *([lacking.words] if lacking else [])]


def _of_posterior(result: Uncertain) -> list[str]:
    warnings = []
    if prior := result.by_prior:
        why = "their quality is that expected of any paper, as all their reviewers give one score only"
        warnings.append(f"{listed(prior, NAMED)}: {why}")
    if not isinstance(result, PosteriorEstimate):
        return warnings
    if (validity := result.validity).n:
        left = f"leave {100 * validity.unexplained:.0f} % of the spread of what the references measure unexplained"
        warnings.append(f"The scores {left if validity.is_predictive else 'do not predict the references'}")
    rows = [] if result.covariates is None else result.covariates.rows
    if used := [row.name for row in rows if row.used and row.of == "item"]:
        moves = noun(len(used), "moves", "move")
        warnings.append(f"{listed(used)} {moves} qualities, most those of few scores: whether that is fair is for you")
    return warnings


def _of_least_squares(result: Calibration | StreamedCalibration) -> list[str]:
    """Return what the scores do not support."""
    warnings = []
    if isinstance(result, Calibration):
        loads = result.reviews.only_scored().loads
        half = int(np.median(loads[loads > 0]))
        links = result.support.degrees_of_freedom
        reasons = [f"half of the reviewers gave {counted(half, 'score')} or less"] if half < FEW_SCORES else []
        reasons += [f"{counted(links, 'link')} between reviewers {noun(links, 'is', 'are')} missing"] if links else []
        if reasons:
            warnings.append(f"The plain average may be more accurate: {' and '.join(reasons)}")
        if places := int((~result.support.determined & np.isfinite(result.quality)).sum()):
            warnings.append(
                f"The scores do not determine the place of {counted(places, 'paper')} in a group (marked ?)"
            )
    if result.status is not CalibrationStatus.OPTIMAL:
        warnings.append(f"{result.status.text} ({result.message})")
    return warnings


# A lottery, and papers that are explained.


def _lottery(selection: Selection, lottery: Lottery) -> list[Part]:
    free = selection.named(selection.drawn)
    columns = [
        Column("paper", free),
        Column("probability, %", (100 * selection.lottery[selection.drawn]).tolist(), "number", 1),
        Column("drawn", ["yes" if label in lottery.drawn else "no" for label in free], "choice"),
    ]
    return [Table("lottery-table", "Papers that could be drawn", columns, "papers")]


def _explained(page: Page, result: PosteriorEstimate, asked: Asked) -> Page:
    """Return a page with the places of some papers and their contributions in front, without names of reviewers."""
    papers = list(asked.explained)
    direction = _direction(result, asked)
    accounts = [result.account(label).anonymous() for label in papers]
    codes = [result.items.index(label) for label in papers]
    ranks = [_place(result, code, asked.selection) for code in codes]
    points = [f"quality {each.quality:.2f}{plus_minus(each)}, average {each.average:.2f}" for each in accounts]
    facts: list[Fact | Table] = []
    for number, (label, rank, quality, account) in enumerate(zip(papers, ranks, points, accounts, strict=True)):
        facts += [Fact(str(label), f"{rank}; {quality}")] if len(papers) > 1 else []
        facts.append(account_table(account, f"parts-{number}"))
    apart = np.unique(result.group[codes]).size > 1
    scale = scale_of(result)
    parts = [part for account in accounts for part in corrections(account, scale)]
    several = len(papers) > 1
    return replace(
        page,
        verdict=f"{len(papers):,} papers explained" if several else f"{ranks[0]}:",
        summary=f"({direction})" if several else f"{papers[0]}, {points[0]} ({direction})",
        facts=[*facts, *better(result, papers)],
        warnings=["Papers of different groups cannot be compared: no review connects these"] if apart else [],
        sections=[Section("why", "Corrections, with reasons", lambda: parts), *page.sections],
    )


def _place(result: PosteriorEstimate, code: int, selection: Selection | None) -> str:
    """Return the rank of a paper in its group, its list, and its chance."""
    group = int(result.group[code])
    among = int(((result.group == group) & (result.rank > 0)).sum())
    rank = f"rank {result.rank[code]:,} of {among:,}{f' in group {group}' if result.n_groups > 1 else ''}"
    if selection is None:
        return rank
    chance = selection.probability[code]
    among_best = "" if chance is None else f" ({percent(chance)} among the best {selection.n:,})"
    return f"{rank}, {LISTS[selection.lists[code]]}{among_best}"

"""The HTML report of a calibration, its pictures, and the sheets for authors.

The report has the decision, the benefit of the correction, pictures of papers and reviewers, the contributions to each
estimate, a check of the model, and tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lsc._inference.beliefs import interquartile_range
from lsc.posteriors import PosteriorEstimate
from lsc.words.calibration_page import best_by_group, paper_name
from lsc.words.posterior_page import (
    MIDDLE,
    advice,
    aside_lines,
    changes,
    decision,
    expectation,
    headline,
    line_of,
    misfit_lines,
    percent,
    plus_minus,
    remarks,
    reviewer_lines,
    rounded,
    source_words,
)
from reviewgraph._base import counted, order_of, snapped
from reviewgraph.report import (
    Column,
    Compared,
    Document,
    Fact,
    Fold,
    Folded,
    Listed,
    Part,
    Picture,
    Prose,
    Ranked,
    Section,
    Shift,
    Table,
    compared,
    paper_columns,
    parts_of,
    pictures_among,
    ranked,
    shifts,
    wright_map,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lsc._inference.beliefs import Account, Quantity
    from lsc.estimate import Estimate
    from lsc.selection import Selection
    from lsc.words.posterior_page import Page
    from reviewgraph._base import BoolArray, FloatArray, IntArray, Label


# Pictures of papers: averages and calibrated scores, and the funding line.

#: Number of papers with a label in the picture.
WRITTEN = 10

#: The mark of each list.
MARKS = {"in": "dot", "discuss": "diamond", "out": "hollow"}

#: Minimum number of papers on either side of the random-selection group; half of its size if that is more.
BESIDE = 20


def intervals(result: Estimate) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the 90 % intervals as printed, shapes (N,), NaN if the method has none."""
    if not isinstance(result, PosteriorEstimate):
        nothing = np.full(result.reviews.n_items, np.nan)
        return nothing, nothing
    # Sorted after printing: if 1 is the best score, the ends of an interval change places.
    low, high = np.sort(result.reviews.printed(result.interval()), axis=1).T
    return low, high


def _papers(result: Estimate, order: IntArray, kinds: Sequence[str]) -> Ranked:
    """Return papers, given by code, with their calibrated scores and intervals."""
    low, high = (ends[order] for ends in intervals(result))
    names = [str(result.items[i]) for i in order.tolist()]
    return Ranked(result.reviews.printed(result.quality)[order], low, high, kinds, names)


def funding_line(result: PosteriorEstimate, selection: Selection) -> Picture:
    """Return the picture of papers by rank around the line, with the random-selection group."""
    ranks = selection.ranked
    drawn = selection.drawn
    line = line_of(result, selection)
    place = np.flatnonzero(np.isin(ranks, drawn))
    ends = (int(place[0]), int(place[-1])) if place.size else (selection.n, max(selection.n - 1, 0))
    beside = max(BESIDE, place.size // 2)
    first = max(ends[0] - beside, 0)
    order = ranks[first : ends[1] + 1 + beside]
    lists = selection.lists
    points = _papers(result, order, [MARKS[lists[i] or "out"] for i in order.tolist()])
    shown = "All papers" if order.size == ranks.size else f"Papers of rank {first + 1:,} to {first + order.size:,}"
    words = [f"{shown} from the best on, each with its 90 % interval."]
    if line is not None:
        words.append(f"The funding line at {line:.2f} separates the best {selection.n:,} from the others.")
    words.append(
        f"Random-selection group: the {counted(drawn.size, 'paper')} with a probability between "
        f"{percent(selection.error_rate)} and {percent(1.0 - selection.error_rate)} of being among the best, "
        f"statistically tied at the line; --lottery draws {counted(selection.places, 'place')} among them. The grey "
        "area extends from the first to the last of them."
        if drawn.size
        else "No random-selection group: no papers are statistically tied at the line."
    )
    return Picture(
        "line",
        "The funding line",
        " ".join(words),
        lambda width: ranked(
            points,
            width,
            "calibrated score",
            "rank",
            [("dot", "in"), ("diamond", "to discuss"), ("hollow", "out")],
            first=first + 1,
            line=None if line is None else (line, f"funding line {line:.2f}"),
            zone=(ends[0] + 1, ends[1] + 1, "random-selection group") if place.size else None,
        ),
    )


def moved(result: Estimate, selection: Selection | None) -> Picture:
    """Return the picture of averages against calibrated scores."""
    # Papers set aside are on another scale.
    scored = np.flatnonzero(np.isfinite(result.quality)) if selection is None else np.sort(selection.ranked)
    before, after = (snapped(result.reviews.printed(values)[scored]) for values in (result.average, result.quality))
    low, high = (values[scored] for values in intervals(result))
    kinds, labelled = _who_moved(result, selection, scored)
    meanings = [("dot", "paper")]
    if selection is not None and selection.swapped_in.size:
        meanings += [("up", "only now selected"), ("down", "no longer")]
    sure = ", with its 90 % interval" if np.isfinite(low).any() else ""
    words = [
        f"Each of {counted(scored.size, 'paper')} at its plain average and its calibrated score{sure}; papers with "
        "equal averages are side by side.",
        "Papers above the dashed line gain by the correction, those below it lose.",
    ]
    if selection is not None:
        came = counted(selection.swapped_in.size, "paper is", "papers are")
        words.append(
            f"{came} among the best {selection.n} only after the correction, which replace the same number of others."
        )
    line = line_of(result, selection)
    side = "below" if result.reviews.lower_is_better else "above"
    cut = None if line is None else (line, f"selected {side}")
    points = Compared(before, after, low, high, kinds, [str(result.items[i]) for i in scored.tolist()], labelled)
    return Picture(
        "moved",
        "Averages and calibrated scores",
        " ".join(words),
        lambda width: compared(points, width, "plain average", "calibrated score", meanings, cut),
    )


def _who_moved(result: Estimate, selection: Selection | None, scored: IntArray) -> tuple[list[str], list[int]]:
    """Return the kind of each mark, and the papers with labels: those that cross the cut, or the largest changes."""
    place = np.full(result.reviews.n_items, -1)
    place[scored] = np.arange(scored.size)
    kinds = ["dot"] * scored.size
    if selection is None:
        move = np.abs(result.rank - result.average_rank)[scored]
        return kinds, [k for k in np.argsort(-move, kind="stable")[:WRITTEN].tolist() if move[k]]
    for papers, kind in ((selection.swapped_in, "up"), (selection.swapped_out, "down")):
        for paper in papers.tolist():
            kinds[place[paper]] = kind
    crossed = np.concatenate([selection.swapped_in[:WRITTEN], selection.swapped_out[:WRITTEN]])
    return kinds, place[crossed].tolist()


def qualities(result: Estimate) -> Picture:
    """Return the picture of all papers by rank, with intervals."""
    order = order_of(-result.quality)[: int(np.isfinite(result.quality).sum())]
    points = _papers(result, order, ["dot"] * order.size)
    words = "All papers from the best on."
    if np.isfinite(points.low).any():
        width = float(np.nanmedian(points.high - points.low))
        words = f"All papers from the best on, each with its 90 % interval; half of the intervals exceed {width:.2f}."
    return Picture(
        "qualities",
        "Calibrated scores in order",
        words,
        lambda width: ranked(points, width, "calibrated score", "rank", [("dot", "paper")]),
    )


# The picture of reviewers, on one scale with the papers.

#: Number of reviewers with a label at either end.
NAMED = 5


def stands_out(quantity: Quantity) -> BoolArray:
    """Whether the interval of each reviewer is outside the interquartile range of all reviewers."""
    low, high = interquartile_range(quantity)
    outside: BoolArray = (quantity.low > high) | (quantity.high < low)
    return outside


def _severities(result: PosteriorEstimate) -> Picture:
    severity = result.reviewers.severity
    reviews = result.reviews
    codes = np.flatnonzero(np.isfinite(severity.mean))
    codes = codes[order_of(severity.mean[codes])]
    out = stands_out(severity)
    # A severity becomes a quality: that of a paper which gets an average score from this reviewer.
    middle = result.beliefs.location
    value, low, high = (reviews.printed(middle + part[codes]) for part in severity)
    points = Ranked(value, np.minimum(low, high), np.maximum(low, high), *_marks(result, codes, out))
    papers = reviews.printed(result.quality[np.isfinite(result.quality)])
    lenient = -float(np.nanmin(severity.mean))
    harsh = float(np.nanmax(severity.mean))
    words = (
        f"Papers by calibrated score, and {counted(codes.size, 'reviewer')} on the same scale: a reviewer is at the "
        "quality of a paper that gets from them what an average paper gets from a typical reviewer, with a 90 % "
        f"interval. The most lenient gives {lenient:.2f} points more than a typical reviewer, the harshest {harsh:.2f} "
        f"fewer; {counted(int(out[codes].sum()), 'reviewer is', 'reviewers are')} outside the interquartile range with "
        "probability 90 %."
    )
    return Picture(
        "wright",
        "Papers and reviewers on one scale",
        words,
        lambda width: wright_map(papers, points, width, "points"),
    )


def _marks(result: PosteriorEstimate, codes: IntArray, out: BoolArray) -> tuple[list[str], list[str], list[int]]:
    """Return kinds and names of the marks, and those with labels: extremes outside the interquartile range."""
    kinds = ["diamond" if out[j] else "dot" for j in codes.tolist()]
    names = [str(result.reviews.reviewers[j]) for j in codes.tolist()]
    ends = [*range(min(NAMED, codes.size)), *range(max(codes.size - NAMED, 0), codes.size)]
    return kinds, names, [place for place in dict.fromkeys(ends) if kinds[place] == "diamond"]


# Folds: each paper opens to its scores and to the contributions to its quality.

#: Maximum number of papers that open, those nearest to the line or the best: a line takes some hundred bytes.
OPENED = 5000


def opened(result: Estimate, selection: Selection | None) -> IntArray:
    """Return the codes of the papers that open, best first."""
    order = best_by_group(result)
    if order.size <= OPENED:
        return order
    line = 0 if selection is None else selection.n
    near = np.argsort(np.abs(np.arange(order.size) - line), kind="stable")[:OPENED]
    return order[np.sort(near)]


def links(papers: IntArray, opened_papers: IntArray) -> list[str]:
    """Return the identifiers of papers if all of them are among those that open, otherwise none."""
    return [f"paper-{i}" for i in papers.tolist()] if np.isin(papers, opened_papers).all() else []


def paper_scores(result: Estimate, selection: Selection | None) -> list[Part]:
    """Return the papers of each list, in folds."""
    papers = opened(result, selection)
    folds = dict(zip(papers.tolist(), _folds(result, selection, papers), strict=True))
    introduction = ["Each paper opens to its scores."]
    if isinstance(result, PosteriorEstimate):
        validity = result.validity
        middle = float(result.reviews.printed(validity.intercept + validity.slope * result.beliefs.location))
        introduction = [
            "Each paper opens to its scores and their contributions to its quality. Every paper starts at "
            f"{middle:.2f}, {MIDDLE}; each line has the contribution of a score, its value after correction with "
            "reasons, and its weight. The sum is the quality."
        ]
    if papers.size < (scored := int((result.rank > 0).sum())):
        introduction.append(f"Of {scored:,} papers, the {papers.size:,} nearest to the line, or best, are listed.")
    lists = {"Best first": papers}
    if selection is not None:
        lists = {
            "To discuss, nearest to the line first": selection.nearest,
            "In": selection.certain,
            "Out, best first": selection.out,
            "Set aside": selection.aside,
        }
    parts: list[Part] = [Prose(introduction)]
    for title, listed_papers in lists.items():
        if chosen := [folds[i] for i in listed_papers.tolist() if i in folds]:
            parts.append(Folded(f"{title}: {counted(len(chosen), 'paper')}", chosen))
    return parts


def _folds(result: Estimate, selection: Selection | None, papers: IntArray) -> Iterator[Fold]:
    quality, average = (result.reviews.printed(values).tolist() for values in (result.quality, result.average))
    low, high = (values.tolist() for values in intervals(result))
    chance = None if selection is None else selection.probability
    lines = _account_lines(result, papers) if isinstance(result, PosteriorEstimate) else _score_lines(result, papers)
    for i, contributions in zip(papers.tolist(), lines, strict=True):
        interval = f" ({low[i]:.2f} to {high[i]:.2f})" if np.isfinite(low[i]) else ""
        summary = f"{paper_name(result, i)}: quality {quality[i]:.2f}{interval}, average {average[i]:.2f}"
        probability = None if chance is None else chance[i]
        if selection is not None and probability is not None:
            summary += f", {percent(probability)} among the best {selection.n}"
        yield Fold(f"paper-{i}", summary, contributions)


def _account_lines(result: PosteriorEstimate, papers: IntArray) -> Iterator[Sequence[str]]:
    for account in result.accounts(papers.tolist()):
        parts = [part for part in account.parts if part.source != "middle"]
        yield [f"{rounded(part.moves):+.2f}: {source_words(part, account)}" for part in parts]


def _score_lines(result: Estimate, papers: IntArray) -> Iterator[Sequence[str]]:
    reviews = result.reviews.only_scored()
    order = np.argsort(reviews.item, kind="stable")
    item = reviews.item[order]
    score = reviews.printed(reviews.score)[order]
    for paper in papers.tolist():
        first, last = np.searchsorted(item, [paper, paper + 1]).tolist()
        codes = reviews.reviewer[order[first:last]].tolist()
        yield [f"{reviews.reviewers[j]} gave {y:g}" for j, y in zip(codes, score[first:last].tolist(), strict=True)]


# Tables.

#: Names of the lists of a selection.
LISTS = {"in": "in", "discuss": "to discuss", "out": "out", "aside": "set aside", None: None}


def paper_table(result: Estimate, selection: Selection | None) -> Table:
    """Return a row for each paper with a score, the best first."""
    reviews = result.reviews
    order = best_by_group(result)
    columns = paper_columns(reviews, order.tolist())
    if result.n_groups > 1:
        columns.append(Column("group", result.group[order].tolist(), "number"))
    columns += [
        Column("rank", result.rank[order].tolist(), "number"),
        Column("quality", reviews.printed(result.quality)[order].tolist(), "number", 2),
        *_ends(result, order),
        Column("average", reviews.printed(result.average)[order].tolist(), "number", 2),
        Column("its rank", result.average_rank[order].tolist(), "number"),
        Column("gained", (result.average_rank - result.rank)[order].tolist(), "number"),
        Column("scores", reviews.only_scored().reviews_per_item[order].tolist(), "number"),
    ]
    if selection is not None:
        columns.append(_chances(selection, order))
        columns.append(Column("list", [LISTS[selection.lists[i]] for i in order.tolist()], "choice"))
    chance = "" if selection is None else f"; the chance is the probability of being among the best {selection.n}"
    return Table(
        "papers", f"Papers, the best first{chance}", columns, "papers", links(order, opened(result, selection))
    )


def discuss_table(result: PosteriorEstimate, selection: Selection) -> Table:
    """Return a row for each paper to discuss, those nearest to the line first."""
    reviews = result.reviews
    order = selection.nearest
    columns = [
        *paper_columns(reviews, order.tolist()),
        _chances(selection, order),
        Column("quality", reviews.printed(result.quality)[order].tolist(), "number", 2),
        *_ends(result, order),
        Column("average", reviews.printed(result.average)[order].tolist(), "number", 2),
        Column("scores", reviews.only_scored().reviews_per_item[order].tolist(), "number"),
    ]
    if not selection.comparable[order].all():
        connected = ["yes" if is_connected else "no" for is_connected in selection.comparable[order].tolist()]
        columns.append(Column("connected with most", connected, "choice"))
    caption = (
        f"To discuss, nearest to the line first; the chance is the probability of being among the best {selection.n}"
    )
    return Table("discuss", caption, columns, "papers", links(order, opened(result, selection)))


def _ends(result: Estimate, order: IntArray) -> list[Column]:
    """Return the ends of the intervals, if there are any."""
    low, high = (values[order] for values in intervals(result))
    columns = [Column("low", low.tolist(), "number", 2), Column("high", high.tolist(), "number", 2)]
    return columns if np.isfinite(low).any() else []


def _chances(selection: Selection, order: IntArray) -> Column:
    chances = (selection.probability[i] for i in order.tolist())
    return Column("chance, %", [None if chance is None else 100 * chance for chance in chances], "number", 1)


def reviewer_table(result: PosteriorEstimate) -> Table:
    """Return a row for each reviewer with a score, the harshest first."""
    reviews = result.reviews
    reviewers = result.reviewers
    misfit = result.misfit
    loads = reviews.only_scored().loads
    codes = np.flatnonzero(loads > 0)
    codes = codes[order_of(-reviewers.severity.mean[codes])]
    columns = [
        Column("reviewer", [reviews.reviewers[j] for j in codes.tolist()]),
        Column("scores", loads[codes].tolist(), "number"),
    ]
    quantities = {"severity": reviewers.severity, "stretch": reviewers.stretch, "noise": reviewers.noise}
    for name, quantity in quantities.items() if result.beliefs.signal else ():
        heads = (name, f"{name} from", f"{name} to")
        columns += [
            Column(head, values[codes].tolist(), "number", 2) for head, values in zip(heads, quantity, strict=True)
        ]
    words = _words(result)
    columns += [
        Column("agreement", misfit.agreement[codes].tolist(), "number", 2),
        Column("mean square", misfit.mean_square[codes].tolist(), "number", 2),
        Column("stands out", [words[j] for j in codes.tolist()], "choice"),
    ]
    caption = (
        "Reviewers, the harshest first; from and to are the ends of 90 % intervals"
        if result.beliefs.signal
        else "All reviewers"
    )
    return Table("reviewers", caption, columns, "reviewers")


def _words(result: PosteriorEstimate) -> list[str | None]:
    """Return the way in which each reviewer is unusual, or None."""
    words: list[str | None] = [None] * result.reviews.n_reviewers
    # Severity has precedence over stretch, and a contradiction over both.
    for quantity, above, below in (
        (result.reviewers.stretch, "scores far apart", "scores close together"),
        (result.reviewers.severity, "harsh", "lenient"),
    ):
        low, high = interquartile_range(quantity)
        for outside, word in ((quantity.low > high, above), (quantity.high < low, below)):
            for reviewer in np.flatnonzero(outside).tolist():
                words[reviewer] = word
    for reviewer in np.flatnonzero(result.misfit.contradicts).tolist():
        words[reviewer] = "contradicts the others"
    return words


def document(
    result: Estimate,
    selection: Selection | None,
    page: Page,
    subject: str,
    *,
    lists: Sequence[str | None] | None = None,
    extras: Sequence[str] = (),
    closing: Sequence[str] = (),
) -> Document:
    """Return the report of a calibration.

    ``selection`` needs a method with probabilities; ``lists`` has the list of each paper with any method. ``page`` has
    the lines of the terminal, ``extras`` those of a lottery, a single paper or references, ``closing`` those about
    files and the next command; ``subject`` names the files.
    """
    good, head, lead, remarks = _verdict(result, selection, lists, page)
    printed = [*page.opening, "", *page.body, *extras, "", *page.closing, *closing]
    tables: list[Part] = [paper_table(result, selection)]
    if isinstance(result, PosteriorEstimate):
        tables.append(reviewer_table(result))
    sections = [
        _cut(result, selection, extras),
        _scores(result, selection),
        Section("papers-scores", "Each paper", paper_scores(result, selection)),
        _reviewers(result),
        _model_check(result),
        Section("tables", "Tables", tables),
    ]
    return Document(
        "Calibration of scores",
        subject,
        good,
        head,
        lead,
        [*remarks, *page.closing],
        [line for line in closing if line],
        _facts(result, selection),
        sections,
        printed,
    )


def _verdict(
    result: Estimate, selection: Selection | None, lists: Sequence[str | None] | None, page: Page
) -> tuple[bool | None, str, str, list[str]]:
    """Return whether the news is good, the verdict in a few words and in a sentence, and remarks."""
    if not isinstance(result, PosteriorEstimate):
        lead = f"Qualities by the method {result.method}."
        remarks = page.opening
        if lists is None:
            return True, "Scores on one scale", lead, remarks
        inside, out = (sum(where == name for where in lists) for name in ("in", "out"))
        return None, f"{counted(inside, 'paper is', 'papers are')} in, {out:,} out", lead, remarks
    lead, *remarks = page.opening
    if selection is None:
        return *headline(result), lead, remarks
    # The decision first, then the benefit of the correction.
    aside = selection.aside
    apart = aside_lines(selection.named(aside), result.group[aside], selection.ranked.size)
    return None, *decision(result, selection), [lead, *remarks, *apart]


def pictures(result: Estimate, selection: Selection | None = None) -> list[Picture]:
    """Return the pictures of a calibration: of the cut if papers are selected, of papers, of reviewers."""
    if not np.isfinite(result.quality).any():
        return []
    return pictures_among([_cut(result, selection, ()), _scores(result, selection), _reviewers(result)])


def _scores(result: Estimate, selection: Selection | None) -> Section:
    """Return the pictures of papers; with a selection the funding line replaces the picture of all ranks."""
    pictures = [moved(result, selection), *([] if selection is not None else [qualities(result)])]
    return Section("scores", "Scores", pictures)


def _facts(result: Estimate, selection: Selection | None) -> list[Fact]:
    reviews = result.reviews.only_scored()
    scored = np.isfinite(result.quality)
    active = int((reviews.loads > 0).sum())
    groups = np.unique(result.group[scored]).size
    against = int(result.misfit.contradicts.sum()) if isinstance(result, PosteriorEstimate) else 0
    note = f"{counted(against, 'contradicts', 'contradict')} the others" if against else "with a score"
    facts = [
        Fact("Papers", f"{int(scored.sum()):,}", "with a score"),
        Fact("Reviewers", f"{active:,}", note),
        Fact("Scores", f"{reviews.n_reviews:,}"),
    ]
    if groups > 1:
        facts.append(Fact("Groups", f"{groups:,}", "that cannot be compared"))
    if selection is None:
        return [*facts, Fact("Method", result.method)]
    places = selection.n - selection.certain.size
    line = line_of(result, selection)
    lists = [
        Fact("In", f"{selection.certain.size:,}"),
        Fact("To discuss", f"{selection.discuss.size:,}", f"for {counted(places, 'place')}" if places else ""),
        Fact("Out", f"{selection.out.size:,}"),
        *([Fact("Set aside", f"{selection.aside.size:,}")] if selection.aside.size else []),
        *([Fact("Line", f"{line:.2f}", "quality")] if line is not None else []),
    ]
    return [*lists, *facts]


def _cut(result: Estimate, selection: Selection | None, extras: Sequence[str]) -> Section:
    parts: list[Part] = []
    if selection is not None and isinstance(result, PosteriorEstimate):
        parts += [funding_line(result, selection), Prose([expectation(selection)])]
        if selection.discuss.size:
            parts += [discuss_table(result, selection), Prose(advice(result, selection))]
        parts += parts_of(changes(result, selection))
    if any(extras):
        parts += parts_of(extras)
    name = f"Selecting {counted(selection.n, 'paper')}" if selection is not None else "Further results"
    return Section("cut", name, parts)


def _reviewers(result: Estimate) -> Section:
    if not isinstance(result, PosteriorEstimate) or not np.isfinite(result.misfit.mean_square).any():
        return Section("people", "Reviewers", [])
    judged = int(np.isfinite(result.misfit.mean_square).sum())
    none = f"None of {counted(judged, 'reviewer')} with two scores or more contradicts the others beyond noise."
    parts: list[Part] = []
    if result.beliefs.signal:
        opening, *lines = reviewer_lines(result)
        parts = [_severities(result), Listed(opening, [line.strip() for line in lines])]
    return Section("people", "Reviewers", [*parts, Prose(misfit_lines(result) or [none])])


#: Levels of the intervals that are checked, in percent.
CHECKED = (50, 80, 90, 95)


def _model_check(result: Estimate) -> Section:
    """Return the table of shares of scores within their intervals."""
    if not isinstance(result, PosteriorEstimate) or not np.isfinite(result.residuals().raw).any():
        return Section("model", "Model check", [])
    words = (
        "If the model describes the scores, the stated share of them lies in the intervals that all other scores "
        "predict (leave-one-out), up to chance."
    )
    return Section("model", "Model check", [Prose([words]), coverage_table(result)])


def coverage_table(result: PosteriorEstimate) -> Table:
    """Return a row for each level: the share of scores within their predicted intervals, and outside on either side."""
    residuals = result.residuals()
    size = int(np.isfinite(residuals.raw).sum())
    tails = [0.5 - level / 200.0 for level in CHECKED]
    below = [100 * residuals.share(0.0, tail) for tail in tails]
    above = [100 * residuals.share(1.0 - tail, 1.0) for tail in tails]
    columns = [
        Column("interval", [f"{level} %" for level in CHECKED]),
        Column("scores within, %", [100 - low - high for low, high in zip(below, above, strict=True)], "number", 1),
        Column("+-", [(level * (100.0 - level) / size) ** 0.5 for level in CHECKED], "number", 1),
        Column("below, %", below, "number", 1),
        Column("above, %", above, "number", 1),
    ]
    caption = (
        f"Shares of {counted(size, 'score')} within their predicted intervals, with the standard error of "
        "independent scores, and outside"
    )
    return Table("coverage", caption, columns, "intervals", live=False)


# The sheet of a paper for its authors: scores, corrections with reasons, and no names.

#: What a quality is without references.
TYPICAL = "the expected score of a typical reviewer, on the scale of the reviewers"
#: Half of a 90 % interval, in standard errors.
REACH = 1.645


def scored(result: PosteriorEstimate) -> list[Label]:
    """Return the papers with a score."""
    return [result.items[i] for i in np.flatnonzero(np.isfinite(result.quality)).tolist()]


def sheets(result: PosteriorEstimate, papers: Iterable[Label]) -> Iterator[tuple[Label, Document]]:
    """Yield the sheets of papers, each with its label."""
    scale = scale_of(result)
    for paper in papers:
        yield paper, sheet(result.account(paper), result.reviews.titles.get(paper, ""), scale)


def scale_of(result: PosteriorEstimate) -> tuple[float, float]:
    """Return the lowest and the highest score, in the direction of the reviews."""
    score = result.reviews.printed(result.reviews.score[result.reviews.scored])
    return float(score.min()), float(score.max())


def sheet(account: Account, title: str, scale: tuple[float, float]) -> Document:
    """Return the sheet of a paper, without the names of its reviewers; ``scale`` are the ends of the scores."""
    account = account.anonymous()
    low, high = scale
    best = "the lowest is the best" if account.lower_is_better else "the highest is the best"
    facts = [
        Fact("Scores", f"{sum(part.source == 'review' for part in account.parts)}"),
        Fact("Plain average", f"{account.average:.2f}"),
        Fact("Quality", f"{account.quality:.2f}", "corrected"),
    ]
    if math.isfinite(account.standard_error):
        facts.append(Fact("90 % interval", "{:.2f} to {:.2f}".format(*_interval(account))))
    return Document(
        "Scores of a paper",
        f"{account.item} {title}".strip(),
        None,
        f"Quality {account.quality:.2f}",
        f"Quality is {'on the scale of the references' if account.of_references else TYPICAL}. It is "
        f"{account.quality:.2f}{plus_minus(account)}; the plain average of the scores is {account.average:.2f}.",
        [f"Scores were given from {low:g} to {high:g}; {best}."],
        facts=facts,
        sections=[
            Section("corrections", "Corrections, with reasons", [_corrections(account), _picture(account, scale)]),
            Section("sum", "Contributions to the quality", [_sum(account), Prose(remarks(account, scale))]),
        ],
    )


def _interval(account: Account) -> tuple[float, float]:
    reach = REACH * account.standard_error
    return account.quality - reach, account.quality + reach


def _corrections(account: Account) -> Listed:
    opening = (
        "Whether a reviewer is harsh or lenient is estimated from their scores of other papers, compared with those of "
        "the other reviewers of these papers; a corrected score is what a typical reviewer would have given."
    )
    reviews = [part for part in account.parts if part.source == "review"]
    return Listed(opening, [f"{source_words(part, account)}." for part in reviews])


def _picture(account: Account, scale: tuple[float, float]) -> Picture:
    reviews = [part for part in account.parts if part.source == "review"]
    shifted = [Shift(str(part.reviewer), part.score or 0.0, part.says) for part in reviews]
    shifted.append(Shift("the paper", account.average, account.quality, *_interval(account)))
    words = (
        f"{counted(len(reviews), 'score')} as given and as counted, and below {'it' if len(reviews) == 1 else 'them'} "
        f"the paper: its plain average {account.average:.2f} and its quality {account.quality:.2f}"
        f"{', with a 90 % interval' if math.isfinite(account.standard_error) else ''}."
    )
    return Picture(
        "scores",
        "Scores as given and as counted",
        words,
        lambda width: shifts(shifted, scale, width, "points", "as given, or plain average", "corrected"),
    )


def _sum(account: Account) -> Table:
    rest = [part for part in account.parts if part.source == "middle"]
    shown = [part for part in account.parts if part.source != "middle"]
    names = {"review": "{}", "likeness": "{}, other papers", "reference": "reference", "covariate": "{}"}
    are_whole = all(float(part.score).is_integer() for part in shown if part.score is not None)
    columns = [
        Column(
            "source", [MIDDLE, *(names[part.source].format(part.covariate or part.reviewer) for part in shown), "sum"]
        ),
        Column("score", [None, *(part.score for part in shown), None], "number", 0 if are_whole else 1),
        Column("counts as", [None, *(part.says for part in shown), account.total], "number", 2),
        Column("weight, %", [100 * sum(p.weight for p in rest), *(100 * p.weight for p in shown), None], "number"),
        Column("moves it by", [account.middle, *(part.moves for part in shown), account.total], "number", 2),
    ]
    return Table("parts", f"From {MIDDLE} to its quality, in points", columns, "parts", live=False)

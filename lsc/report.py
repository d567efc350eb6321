"""The report of a calibration: the decision, what the correction is worth, each paper, reviewers, tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lsc._inference.beliefs import accounts_of
from lsc._inference.inferring import interquartile_range
from lsc.posteriors import PosteriorEstimate
from lsc.words.calibration_page import best_by_group, paper_name
from lsc.words.pages import MIDDLE, give_or_take, remarks, rounded, source_words
from lsc.words.posterior_page import (
    advice,
    aside_lines,
    changes,
    decision,
    expectation,
    headline,
    line_of,
    misfit_lines,
    percent,
    reviewer_lines,
)
from reviewgraph._base.text import counted
from reviewgraph.report.groups import wright_map
from reviewgraph.report.page import (
    Column,
    Document,
    Fact,
    Fold,
    Folded,
    Listed,
    Part,
    Picture,
    Printed,
    Prose,
    Section,
    Table,
    parts_of,
    pictures_among,
)
from reviewgraph.report.pictures import Compared, Ranked, Shift, compared, grey_zone, ranked, shifts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lsc._inference.beliefs import Account, Quantity
    from lsc.estimate import Estimate
    from lsc.selection import Selection
    from lsc.words.pages import Page
    from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
    from reviewgraph._base.labels import Label


# Pictures of papers: who moved, who is sure, and the grey zone around the cut.

#: Papers that have their names written beside them.
WRITTEN = 10

#: The mark of each list.
MARKS = {"in": "dot", "discuss": "diamond", "out": "hollow"}

#: Papers that are drawn on either side of the random-selection group, at least; half as many as it has if that is more.
BESIDE = 20


def intervals(result: Estimate) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the 90 % intervals as printed, shapes (N,), NaN where the method gives none."""
    if not isinstance(result, PosteriorEstimate):
        nothing = np.full(result.reviews.n_items, np.nan)
        return nothing, nothing
    # Sorted after printing: where 1 is the best score, the ends of an interval change places.
    low, high = np.sort(result.reviews.printed(result.interval()), axis=1).T
    return low, high


def zone(result: PosteriorEstimate, selection: Selection) -> Picture:
    """Return the picture of the grey zone."""
    chance, ranks = selection.chance, selection.ranked
    order = ranks[np.argsort(-chance[ranks], kind="stable")]
    lists = selection.lists
    kinds = [MARKS[lists[i] or "out"] for i in order.tolist()]
    names = [str(result.items[i]) for i in order.tolist()]
    sure = counted(selection.certain.size, "paper is in", "papers are in")
    words = (
        f"The chance of each paper to be among the best {selection.n}. {sure} and {selection.out.size:,} out, at most "
        f"{percent(selection.error_rate)} unsure each; {counted(selection.discuss.size, 'paper lies', 'papers lie')} "
        "in the grey zone between, which the scores cannot decide."
    )
    return Picture(
        "zone",
        "The grey zone around the line",
        words,
        lambda width: grey_zone(chance[order], kinds, names, selection.error_rate, width),
    )


def funding_line(result: PosteriorEstimate, selection: Selection) -> Picture:
    """Return the picture of papers by rank around the line, and of those that the scores cannot tell apart there."""
    ranks, drawn = selection.ranked, selection.drawn
    line = line_of(result, selection)
    place = np.flatnonzero(np.isin(ranks, drawn))
    ends = (int(place[0]), int(place[-1])) if place.size else (selection.n, max(selection.n - 1, 0))
    beside = max(BESIDE, place.size // 2)
    first = max(ends[0] - beside, 0)
    order = ranks[first : ends[1] + 1 + beside]
    low, high = intervals(result)
    lists = selection.lists
    found = Ranked(
        result.reviews.printed(result.quality)[order],
        low[order],
        high[order],
        [MARKS[lists[i] or "out"] for i in order.tolist()],
        [str(result.items[i]) for i in order.tolist()],
    )
    shown = "All papers" if order.size == ranks.size else f"Papers of rank {first + 1:,} to {first + order.size:,}"
    words = [f"{shown} from the best on, each with its 90 % interval."]
    if line is not None:
        words.append(f"The funding line at {line:.2f} parts the best {selection.n:,} from the others.")
    words.append(
        f"Random-selection group: the {counted(drawn.size, 'paper')} with a chance between "
        f"{percent(selection.error_rate)} and {percent(1.0 - selection.error_rate)} of being among them, which the "
        f"scores cannot tell apart at the line; --lottery draws {counted(selection.places, 'place')} among them. The "
        "grey ground reaches from the first to the last of them."
        if drawn.size
        else "No random-selection group: the scores tell all papers apart at the line."
    )
    return Picture(
        "line",
        "The funding line",
        " ".join(words),
        lambda width: ranked(
            found,
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
    # Papers set aside stand on no scale with the others.
    scored = np.flatnonzero(np.isfinite(result.quality)) if selection is None else np.sort(selection.ranked)
    before, after = (result.reviews.printed(values)[scored] for values in (result.average, result.quality))
    low, high = (values[scored] for values in intervals(result))
    kinds, labelled = _who_moved(result, selection, scored)
    meanings = [("dot", "paper")]
    if selection is not None and selection.swapped_in.size:
        meanings += [("up", "only now selected"), ("down", "no longer")]
    sure = ", with its 90 % interval" if np.isfinite(low).any() else ""
    words = [
        f"Each of {counted(scored.size, 'paper')} at its plain average and its calibrated score{sure}; those of one "
        "average stand side by side."
    ]
    words.append("Papers above the dashed line gained by the correction, those below it lost.")
    if selection is not None:
        came = counted(selection.swapped_in.size, "paper is", "papers are")
        words.append(f"{came} among the best {selection.n} only after the correction, and as many no longer.")
    line, side = line_of(result, selection), "below" if result.reviews.lower_is_better else "above"
    cut = None if line is None else (line, f"selected {side}")
    found = Compared(before, after, low, high, kinds, [str(result.items[i]) for i in scored.tolist()], labelled)
    return Picture(
        "moved",
        "Averages and calibrated scores",
        " ".join(words),
        lambda width: compared(found, width, "plain average", "calibrated score", meanings, cut),
    )


def _who_moved(result: Estimate, selection: Selection | None, scored: IntArray) -> tuple[list[str], list[int]]:
    """Return the kind of each mark, and who is named: those that cross the cut, or those that moved most."""
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
    order = np.argsort(-result.quality, kind="stable")[: int(np.isfinite(result.quality).sum())]
    low, high = intervals(result)
    found = Ranked(
        result.reviews.printed(result.quality)[order],
        low[order],
        high[order],
        ["dot"] * order.size,
        [str(result.items[i]) for i in order.tolist()],
    )
    known = bool(np.isfinite(low).any())
    meanings = [("dot", "paper")]
    words = f"All papers from the best on{', each with its 90 % interval' if known else ''}."
    if known:
        wide = float(np.nanmedian(high - low))
        words += f" Half of the intervals are wider than {wide:.2f}."
    return Picture(
        "qualities",
        "Calibrated scores in order",
        words,
        lambda width: ranked(found, width, "calibrated score", "rank", meanings),
    )


# Pictures of reviewers: beside papers on one scale, and by how widely they spread their scores.

#: Reviewers at either end who have their names written beside them.
NAMED = 5


def reviewer_pictures(result: PosteriorEstimate) -> list[Part]:
    """Return the Wright map, the picture of stretches, and who stands out in words."""
    opening, *lines = reviewer_lines(result)
    return [_severities(result), _stretches(result), Listed(opening, [line.strip() for line in lines])]


def stands_out(quantity: Quantity) -> BoolArray:
    """Return who lies outside the middle half of all reviewers with all of her interval."""
    low, high = interquartile_range(quantity)
    found: BoolArray = (quantity.low > high) | (quantity.high < low)
    return found


def _severities(result: PosteriorEstimate) -> Picture:
    severity, reviews = result.reviewers.severity, result.reviews
    who = np.flatnonzero(np.isfinite(severity.mean))
    who = who[np.argsort(severity.mean[who], kind="stable")]
    out = stands_out(severity)
    # A severity becomes a place on the scale of papers: how good a paper must be to get a middling score from her.
    middle = result.beliefs.location
    value, low, high = (reviews.printed(middle + part[who]) for part in severity)
    found = Ranked(value, np.minimum(low, high), np.maximum(low, high), *_marks(result, who, out))
    papers = reviews.printed(result.quality[np.isfinite(result.quality)])
    lenient, harsh = -float(np.nanmin(severity.mean)), float(np.nanmax(severity.mean))
    words = (
        f"Papers by calibrated score, and {counted(who.size, 'reviewer')} on the same scale: each stands where a paper "
        "is that gets from this reviewer what a middling paper gets from a typical one, with a 90 % interval. The most "
        f"lenient gives {lenient:.2f} points more than a typical reviewer, the harshest {harsh:.2f} fewer; "
        f"{counted(int(out[who].sum()), 'reviewer lies', 'reviewers lie')} outside the middle half for 90 % sure."
    )
    return Picture(
        "wright",
        "Papers and reviewers on one scale",
        words,
        lambda width: wright_map(papers, found, width, "points"),
    )


def _stretches(result: PosteriorEstimate) -> Picture:
    stretch = result.reviewers.stretch
    who = np.flatnonzero(np.isfinite(stretch.mean) & (stretch.low > 0))
    who = who[np.argsort(stretch.mean[who], kind="stable")]
    out = stands_out(stretch)
    found = Ranked(stretch.mean[who], stretch.low[who], stretch.high[who], *_marks(result, who, out))
    words = (
        "How far apart each reviewer puts papers, compared with a typical reviewer, with a 90 % interval: 2 spreads "
        f"them twice as far. From {stretch.mean[who].min():.2f} to {stretch.mean[who].max():.2f}; "
        f"{counted(int(out[who].sum()), 'reviewer lies', 'reviewers lie')} outside the middle half for 90 % sure."
    )
    meanings = [("dot", "reviewer"), ("diamond", "outside the middle half")]
    return Picture(
        "stretches",
        "Reviewers by stretch",
        words,
        lambda width: ranked(
            found, width, "stretch", "reviewers, from narrow to wide", meanings, level=1.0, logarithmic=True
        ),
    )


def _marks(result: PosteriorEstimate, who: IntArray, out: BoolArray) -> tuple[list[str], list[str], list[int]]:
    """Return kinds and names of the marks, and who is named: the extremes that stand out."""
    kinds = ["diamond" if out[j] else "dot" for j in who.tolist()]
    names = [str(result.reviews.reviewers[j]) for j in who.tolist()]
    ends = [*range(min(NAMED, who.size)), *range(max(who.size - NAMED, 0), who.size)]
    return kinds, names, [place for place in dict.fromkeys(ends) if kinds[place] == "diamond"]


# Each paper of a report, which opens to its scores and to what its quality is made of.

#: Papers that open, those nearest to the line or the best: a line takes some hundred bytes, and a browser a moment.
OPENED = 5000


def opened(result: Estimate, selection: Selection | None) -> IntArray:
    """Return the codes of the papers that open, best first."""
    order = best_by_group(result)
    if order.size <= OPENED:
        return order
    line = 0 if selection is None else selection.n
    near = np.argsort(np.abs(np.arange(order.size) - line), kind="stable")[:OPENED]
    return order[np.sort(near)]


def links(papers: IntArray, those: IntArray) -> list[str]:
    """Return the identifiers of papers where all of them are among those that open, none else."""
    return [name_of(i) for i in papers.tolist()] if np.isin(papers, those).all() else []


def name_of(paper: int) -> str:
    """Return the identifier of a paper, given by code."""
    return f"paper-{paper}"


def paper_scores(result: Estimate, selection: Selection | None) -> list[Part]:
    """Return the papers of each list, in folds."""
    papers = opened(result, selection)
    folds = dict(zip(papers.tolist(), _folds(result, selection, papers), strict=True))
    parts: list[Part] = [Prose(_introduction(result, int((result.rank > 0).sum()), papers.size))]
    for opening, some in _lists(selection, papers):
        if chosen := [folds[i] for i in some.tolist() if i in folds]:
            parts.append(Folded(f"{opening}: {counted(len(chosen), 'paper')}", chosen))
    return parts


def _lists(selection: Selection | None, papers: IntArray) -> list[tuple[str, IntArray]]:
    if selection is None:
        return [("Best first", papers)]
    return [
        ("To discuss, nearest to the line first", selection.nearest),
        ("In", selection.certain),
        ("Out, best first", selection.out),
        ("Set aside", selection.aside),
    ]


def _introduction(result: Estimate, scored: int, shown: int) -> list[str]:
    lines = ["Each paper opens to its scores."]
    if isinstance(result, PosteriorEstimate):
        middle = float(result.reviews.printed(result.beliefs.location))
        lines = [
            f"Each paper opens to its scores and to what they make of its quality. Every paper starts at {middle:.2f}, "
            f"{MIDDLE}; a line says by how much a score moves the paper from there, what it counts as and why, and "
            "what it weighs. The sum is the quality."
        ]
    if shown < scored:
        lines.append(f"Of {scored:,} papers, the {shown:,} nearest to the line, or best, are here.")
    return lines


def _folds(result: Estimate, selection: Selection | None, papers: IntArray) -> Iterator[Fold]:
    quality, average = (result.reviews.printed(values).tolist() for values in (result.quality, result.average))
    low, high = (values.tolist() for values in intervals(result))
    chance = None if selection is None else selection.probability
    lines = _account_lines(result, papers) if isinstance(result, PosteriorEstimate) else _score_lines(result, papers)
    for i, told in zip(papers.tolist(), lines, strict=True):
        known = f" ({low[i]:.2f} to {high[i]:.2f})" if np.isfinite(low[i]) else ""
        summary = f"{paper_name(result, i)}: quality {quality[i]:.2f}{known}, average {average[i]:.2f}"
        probability = None if chance is None else chance[i]
        if selection is not None and probability is not None:
            summary += f", {percent(probability)} among the best {selection.n}"
        yield Fold(name_of(i), summary, told)


def _account_lines(result: PosteriorEstimate, papers: IntArray) -> Iterator[Sequence[str]]:
    for account in accounts_of(result.beliefs, result.reviews, papers.tolist()):
        lower = account.lower_is_better
        parts = [part for part in account.parts if part.source != "middle"]
        yield [f"{rounded(part.moves):+.2f}: {source_words(part, lower_is_better=lower)}" for part in parts]


def _score_lines(result: Estimate, papers: IntArray) -> Iterator[Sequence[str]]:
    reviews = result.reviews.only_scored()
    order = np.argsort(reviews.item, kind="stable")
    item, score = reviews.item[order], reviews.printed(reviews.score)[order]
    for paper in papers.tolist():
        first, last = np.searchsorted(item, [paper, paper + 1]).tolist()
        who = reviews.reviewer[order[first:last]].tolist()
        yield [f"{reviews.reviewers[j]} gave {y:g}" for j, y in zip(who, score[first:last].tolist(), strict=True)]


# The tables of the report of a calibration.

#: What a paper's list is called.
LISTS = {"in": "in", "discuss": "to discuss", "out": "out", "aside": "set aside", None: None}


def paper_table(result: Estimate, selection: Selection | None) -> Table:
    """Return a row a paper with a score, the best first."""
    reviews = result.reviews
    order = best_by_group(result)
    labels = [reviews.items[i] for i in order.tolist()]
    titles = [reviews.titles.get(label, "") for label in labels]
    low, high = (values[order] for values in intervals(result))
    counts = reviews.only_scored().reviews_per_item[order]
    columns = [Column("paper", labels), *([Column("title", titles)] if any(titles) else [])]
    if int(result.group.max(initial=0)) > 1:
        columns.append(Column("group", result.group[order].tolist(), "number"))
    columns += [
        Column("rank", result.rank[order].tolist(), "number"),
        Column("quality", reviews.printed(result.quality)[order].tolist(), "number", 2),
        *([Column("low", low.tolist(), "number", 2), Column("high", high.tolist(), "number", 2)] if _any(low) else []),
        Column("average", reviews.printed(result.average)[order].tolist(), "number", 2),
        Column("its rank", result.average_rank[order].tolist(), "number"),
        Column("gained", (result.average_rank - result.rank)[order].tolist(), "number"),
        Column("scores", counts.tolist(), "number"),
    ]
    if selection is not None:
        columns.append(_chances(selection, order))
        columns.append(Column("list", [LISTS[selection.lists[i]] for i in order.tolist()], "choice"))
    told = "" if selection is None else f"; the chance is that of being among the best {selection.n}"
    return Table("papers", f"Papers, the best first{told}", columns, "papers", links(order, opened(result, selection)))


def discuss_table(result: PosteriorEstimate, selection: Selection) -> Table:
    """Return a row a paper to discuss, those nearest to the line first."""
    reviews, order = result.reviews, selection.nearest
    labels = [reviews.items[i] for i in order.tolist()]
    titles = [reviews.titles.get(label, "") for label in labels]
    low, high = (values[order] for values in intervals(result))
    columns = [
        Column("paper", labels),
        *([Column("title", titles)] if any(titles) else []),
        _chances(selection, order),
        Column("quality", reviews.printed(result.quality)[order].tolist(), "number", 2),
        *([Column("low", low.tolist(), "number", 2), Column("high", high.tolist(), "number", 2)] if _any(low) else []),
        Column("average", reviews.printed(result.average)[order].tolist(), "number", 2),
        Column("scores", reviews.only_scored().reviews_per_item[order].tolist(), "number"),
    ]
    if not selection.comparable[order].all():
        connected = ["yes" if known else "no" for known in selection.comparable[order].tolist()]
        columns.append(Column("connected with most", connected, "choice"))
    caption = f"To discuss, nearest to the line first; the chance is that of being among the best {selection.n}"
    return Table("discuss", caption, columns, "papers", links(order, opened(result, selection)))


def _chances(selection: Selection, order: IntArray) -> Column:
    known = selection.probability
    chances = (known[i] for i in order.tolist())
    return Column("chance, %", [None if chance is None else 100 * chance for chance in chances], "number", 1)


def _any(values: Any) -> bool:
    return bool(np.isfinite(values).any())


def reviewer_table(result: PosteriorEstimate) -> Table:
    """Return a row a reviewer with a score, the harshest first."""
    reviews, found, misfit = result.reviews, result.reviewers, result.misfit
    loads = reviews.only_scored().loads
    who = np.flatnonzero(loads > 0)
    who = who[np.argsort(-found.severity.mean[who], kind="stable")]
    known = (("severity", found.severity), ("stretch", found.stretch), ("noise", found.noise))
    columns = [
        Column("reviewer", [reviews.reviewers[j] for j in who.tolist()]),
        Column("scores", loads[who].tolist(), "number"),
    ]
    for name, quantity in known if result.beliefs.signal else ():
        heads = (name, f"{name} from", f"{name} to")
        columns += [
            Column(head, values[who].tolist(), "number", 2) for head, values in zip(heads, quantity, strict=True)
        ]
    words = _words(result)
    columns += [
        Column("agreement", misfit.agreement[who].tolist(), "number", 2),
        Column("mean square", misfit.mean_square[who].tolist(), "number", 2),
        Column("stands out", [words[j] for j in who.tolist()], "choice"),
    ]
    caption = "Reviewers, the harshest first; from and to hold with 90 %" if result.beliefs.signal else "Reviewers"
    return Table("reviewers", caption, columns, "reviewers")


def _words(result: PosteriorEstimate) -> list[str | None]:
    """Return in which way each reviewer stands out, None for those who do not."""
    found = result.reviewers
    words: list[str | None] = [None] * result.reviews.n_reviewers
    # What is said of severity goes before what is said of stretch, and contradictions before both.
    for quantity, above, below in (
        (found.stretch, "scores far apart", "scores close together"),
        (found.severity, "harsh", "lenient"),
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

    Parameters
    ----------
    result
        What a method found.
    selection
        Papers in, to discuss and out, where the method knows chances and some were to be selected.
    page
        What the terminal shows.
    subject
        What was calibrated: the files.
    lists
        Whether each paper is in or out, where papers were selected, whatever the method knows.
    extras
        Further lines of the terminal: lots, an account, the scale of references.
    closing
        What the command adds: what is known now, and what to type next.
    """
    good, head, lead, remarks = _verdict(result, selection, lists, page)
    printed = [*page.opening, "", *page.body, *extras, "", *page.closing, *closing]
    last = [line for line in closing if line]
    sections = [
        *_cut(result, selection, extras),
        Section("scores", "Scores", _scores(result, selection)),
        Section("papers-scores", "Each paper", paper_scores(result, selection)),
        *_reviewers(result),
        Section("tables", "Tables", _tables(result, selection)),
        Section("text", "As the terminal prints it", [Printed(printed)]),
    ]
    return Document(
        "Calibration of scores",
        subject,
        good,
        head,
        lead,
        [*remarks, *page.closing],
        last,
        _facts(result, selection),
        sections,
    )


def _verdict(
    result: Estimate, selection: Selection | None, lists: Sequence[str | None] | None, page: Page
) -> tuple[bool | None, str, str, list[str]]:
    """Return whether there is something to hope for, the verdict in short and at length, and remarks."""
    lead, *remarks = page.opening or [f"Qualities by the method {result.method}."]
    if not isinstance(result, PosteriorEstimate):
        if lists is None:
            return True, "Scores on one scale", lead, remarks
        inside, out = (sum(where == name for where in lists) for name in ("in", "out"))
        return None, f"{counted(inside, 'paper is', 'papers are')} in, {out:,} out", lead, remarks
    if selection is None:
        return *headline(result), lead, remarks
    # The decision first, then what the correction is worth.
    aside = selection.aside
    apart = aside_lines(selection.named(aside), result.group[aside], selection.ranked.size)
    return None, *decision(result, selection), [lead, *remarks, *apart]


def pictures(result: Estimate, selection: Selection | None = None) -> list[Picture]:
    """Return the pictures of a calibration: of the cut where papers are selected, of who moved, of reviewers."""
    if not np.isfinite(result.quality).any():
        return []
    cut, people = (
        [part for section in found for part in section.parts]
        for found in (_cut(result, selection, ()), _reviewers(result))
    )
    return pictures_among([*cut, *_scores(result, selection), *people])


def _scores(result: Estimate, selection: Selection | None) -> list[Part]:
    """Return the pictures of papers; with a selection the funding line replaces that of all ranks."""
    return [moved(result, selection), *([] if selection is not None else [qualities(result)])]


def _facts(result: Estimate, selection: Selection | None) -> list[Fact]:
    reviews, scored = result.reviews.only_scored(), np.isfinite(result.quality)
    active = int((reviews.loads > 0).sum())
    groups = np.unique(result.group[scored]).size
    against = int(result.misfit.contradicts.sum()) if isinstance(result, PosteriorEstimate) else 0
    note = f"{counted(against, 'contradicts', 'contradict')} the others" if against else "with a score"
    found = [
        Fact("Papers", f"{int(scored.sum()):,}", "with a score"),
        Fact("Reviewers", f"{active:,}", note),
        Fact("Scores", f"{reviews.n_reviews:,}"),
    ]
    if groups > 1:
        found.append(Fact("Groups", f"{groups:,}", "that cannot be compared"))
    if selection is None:
        return [*found, Fact("Method", result.method)]
    places, line = selection.n - selection.certain.size, line_of(result, selection)
    lists = [
        Fact("In", f"{selection.certain.size:,}"),
        Fact("To discuss", f"{selection.discuss.size:,}", f"for {counted(places, 'place')}" if places else ""),
        Fact("Out", f"{selection.out.size:,}"),
        *([Fact("Set aside", f"{selection.aside.size:,}")] if selection.aside.size else []),
        *([Fact("Line", f"{line:.2f}", "quality")] if line is not None else []),
    ]
    return [*lists, *found]


def _cut(result: Estimate, selection: Selection | None, extras: Sequence[str]) -> list[Section]:
    parts: list[Part] = []
    if selection is not None and isinstance(result, PosteriorEstimate):
        parts += [funding_line(result, selection), Prose([expectation(selection)])]
        if selection.discuss.size:
            parts += [discuss_table(result, selection), Prose(advice(result, selection)), zone(result, selection)]
        parts += parts_of(changes(result, selection))
    if any(extras):
        parts += parts_of(extras)
    name = f"Selecting {counted(selection.n, 'paper')}" if selection is not None else "What was asked"
    return [Section("cut", name, parts)] if parts else []


def _reviewers(result: Estimate) -> list[Section]:
    if not isinstance(result, PosteriorEstimate) or not np.isfinite(result.misfit.mean_square).any():
        return []
    looked = int(np.isfinite(result.misfit.mean_square).sum())
    none = f"None of {counted(looked, 'reviewer')} with two scores or more contradicts the others beyond noise."
    parts = reviewer_pictures(result) if result.beliefs.signal else []
    return [Section("people", "Reviewers", [*parts, Prose(misfit_lines(result) or [none])])]


def _tables(result: Estimate, selection: Selection | None) -> list[Part]:
    tables: list[Part] = [paper_table(result, selection)]
    if isinstance(result, PosteriorEstimate):
        tables.append(reviewer_table(result))
    return tables


# The sheet of a paper that its authors may see: scores, what was corrected and why, and nobody's name.

#: Half of a central interval of 90 %, in standard errors.
REACH = 1.645


def scored(result: PosteriorEstimate) -> list[Label]:
    """Return the papers that have a score."""
    return [result.items[i] for i in np.flatnonzero(np.isfinite(result.quality)).tolist()]


def sheets(result: PosteriorEstimate, papers: Iterable[Label]) -> Iterator[tuple[Label, Document]]:
    """Yield the sheets of papers, each with its label."""
    scale = scale_of(result)
    for paper in papers:
        yield paper, sheet(result.account(paper), result.reviews.titles.get(paper, ""), scale)


def scale_of(result: PosteriorEstimate) -> tuple[float, float]:
    """Return the least and the greatest score that reviewers gave, as they gave them."""
    score = result.reviews.printed(result.reviews.score[result.reviews.scored])
    return float(score.min()), float(score.max())


def sheet(account: Account, title: str, scale: tuple[float, float]) -> Document:
    """Return the sheet of a paper.

    Parameters
    ----------
    account
        What its quality is made of; names in it are left out.
    title
        Of the paper, or nothing.
    scale
        The least and the greatest score that was given.
    """
    told = account.anonymous()
    low, high = scale
    best = "the least is the best" if told.lower_is_better else "the greatest is the best"
    return Document(
        "Scores of a paper",
        f"{told.item} {title}".strip(),
        None,
        f"Quality {told.quality:.2f}",
        f"Quality is the score to expect of a typical reviewer, on the scale that the reviewers used. It is "
        f"{told.quality:.2f}{give_or_take(told)}; the plain average of the scores is {told.average:.2f}.",
        [f"Scores were given from {low:g} to {high:g}; {best}."],
        facts=_sheet_facts(told),
        sections=[
            Section("corrections", "What was corrected, and why", [_corrections(told), _picture(told, scale)]),
            Section("sum", "How it adds up", [_sum(told), Prose(remarks(told, scale))]),
        ],
    )


def _sheet_facts(told: Account) -> list[Fact]:
    count = sum(part.source == "review" for part in told.parts)
    found = [
        Fact("Scores", f"{count}"),
        Fact("Plain average", f"{told.average:.2f}"),
        Fact("Quality", f"{told.quality:.2f}", "corrected"),
    ]
    low, high = _interval(told)
    return [*found, Fact("With 90 %", f"{low:.2f} to {high:.2f}")] if math.isfinite(low) else found


def _interval(told: Account) -> tuple[float, float]:
    reach = REACH * told.standard_error
    return told.quality - reach, told.quality + reach


def _corrections(told: Account) -> Listed:
    opening = (
        "A reviewer is harsh or lenient by how her scores of other papers compare with those of their other reviewers; "
        "a score then counts as what a typical reviewer would have given."
    )
    reviews = [part for part in told.parts if part.source == "review"]
    return Listed(opening, [f"{source_words(each, lower_is_better=told.lower_is_better)}." for each in reviews])


def _picture(told: Account, scale: tuple[float, float]) -> Picture:
    reviews = [part for part in told.parts if part.source == "review"]
    found = [Shift(str(part.reviewer), part.score or 0.0, part.says) for part in reviews]
    found.append(Shift("the paper", told.average, told.quality, *_interval(told)))
    words = (
        f"{counted(len(reviews), 'score')} as given and as counted, and below {'it' if len(reviews) == 1 else 'them'} "
        f"the paper: its plain average {told.average:.2f} and its quality {told.quality:.2f}"
        f"{', with a 90 % interval' if math.isfinite(told.standard_error) else ''}."
    )
    return Picture(
        "scores",
        "Scores as given and as counted",
        words,
        lambda width: shifts(found, scale, width, "points", "as given, or plain average", "corrected"),
    )


def _sum(told: Account) -> Table:
    """Return the parts with their weights, down to the sum."""
    rest = [part for part in told.parts if part.source == "middle"]
    others = [part for part in told.parts if part.source != "middle"]
    names = {"review": "{}", "likeness": "{}, other papers", "reference": "known quality"}
    whole = all(float(part.score).is_integer() for part in others if part.score is not None)
    columns = [
        Column("source", ["all papers", *(names[part.source].format(part.reviewer) for part in others), "sum"]),
        Column("score", [None, *(part.score for part in others), None], "number", 0 if whole else 1),
        Column("counts as", [None, *(part.says for part in others), told.total], "number", 2),
        Column("weight, %", [100 * sum(p.weight for p in rest), *(100 * p.weight for p in others), None], "number"),
        Column("moves it by", [told.middle, *(part.moves for part in others), told.total], "number", 2),
    ]
    return Table("parts", f"From {MIDDLE} to its quality, in points", columns, "parts", live=False)

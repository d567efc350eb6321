"""The page of a calibration: the decision or the benefit of the correction, the best papers, what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lsc._inference.beliefs import Beliefs, interquartile_range
from lsc._inference.step import WIDTH
from lsc.calibration import Calibration, CalibrationStatus
from lsc.estimate import Estimate
from lsc.pages.papers import (
    MIDDLE,
    NAMED,
    OPENED,
    best_by_group,
    best_table,
    columns_by_head,
    contributions,
    direction_of,
    explained_page,
    group_sizes,
    in_percent,
    intervals,
    open_table,
    paper_names,
    paper_table,
    some,
)
from lsc.posteriors import PosteriorEstimate
from lsc.selection import Selection
from reviewgraph._base import (
    Column,
    Fact,
    Fold,
    Folded,
    IntArray,
    Label,
    Listed,
    Nouns,
    Page,
    Part,
    Picture,
    Prose,
    Section,
    Table,
    counted,
    listed,
    noun,
    order_of,
    snapped,
)
from reviewgraph.report import ValueChart, not_counted

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
        sure = in_percent(1.0 - selection.error_rate) if isinstance(result, PosteriorEstimate) else method
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
        return [*facts, Fact("Errors", "not known: this method has no probabilities of being among the best")]
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
        Fact("Errors", f"about {selection.expected_wrong:,.1f} of the {n:,} most likely will be wrong, {by_average}"),
    ]


def _draw(result: Estimate, selection: Selection, drawn: Sequence[Label], seed: int | None) -> Fact:
    """Return the papers to discuss that a lottery drew."""
    free = selection.discuss_codes
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
    free = selection.discuss_codes
    chances = zip(selection.named(free), selection.lottery[free].tolist(), strict=True)
    rows = [(label, 100 * chance, "yes" if label in drawn else "no") for label, chance in chances]
    columns = columns_by_head({"paper": "text", "probability, %": 1, "drawn": "choice"}, rows)
    return Table("lottery-table", "Papers that could be drawn", columns, "papers")


# The sections of a page: the cut, papers, reviewers, and what the scores support, with their pictures.


#: Lines of a list that are seen.
LINES = 40
#: Number of papers with a label in a picture, and of reviewers at either end.
WRITTEN = 10
AT_ENDS = 5
#: The mark of each list.
MARKS = {"in": "dot", "discuss": "diamond", "out": "hollow"}
#: Minimum number of papers on either side of those that are tied at the line; half of their number if that is more.
BESIDE = 20


def sections_of(result: Estimate, selection: Selection | None) -> list[Section]:
    """Return the sections of a page, the most wanted first."""
    pictured = np.isfinite(result.quality).any()
    # Pictures and tables show the selections of methods with probabilities.
    likely = selection if isinstance(result, PosteriorEstimate) else None
    sections = [
        Section("out", "Papers that are in and out", lambda: _lists(result, selection)),
        Section("scores", "Averages and qualities", lambda: _scores(result, likely) if pictured else []),
        Section("papers", "Papers", lambda: [paper_table(result, likely)]),
    ]
    if not isinstance(result, PosteriorEstimate):
        return sections
    return [
        Section(
            "cut",
            "Around the line of selection",
            lambda: [] if selection is None else [line_picture(result, selection)],
        ),
        *sections,
        Section("each", "Each paper", lambda: _each(result, selection)),
        Section("reviewers", "Reviewers", lambda: _about_reviewers(result)),
        Section("model", "What the scores support", lambda: [Prose(_support(result))]),
    ]


# The cut.


def _lists(result: Estimate, selection: Selection | None) -> list[Part]:
    """Return the papers that are in, out and set aside, the best first."""
    if selection is None:
        return []
    likely = f", with probability at least {in_percent(1.0 - selection.error_rate)}"
    sure = likely if isinstance(result, PosteriorEstimate) else ""
    lists = {
        f"In{sure}": selection.certain_codes,
        f"Out{sure}": selection.out_codes,
        "Set aside, neither in nor out": selection.aside_codes,
    }
    return [
        Listed(f"{title}, best first: {counted(papers.size, 'paper')}", paper_names(result, papers), LINES)
        for title, papers in lists.items()
        if papers.size
    ]


# Papers.


def _scores(result: Estimate, selection: Selection | None) -> list[Part]:
    words = "High and low averages are partly chance, so qualities are closer to the mean, most of all those with few "
    words += "scores, and may be outside the range of the scores."
    return [moved(result, selection), *([Prose([words])] if isinstance(result, PosteriorEstimate) else [])]


def _each(result: PosteriorEstimate, selection: Selection | None) -> list[Part]:
    """Return a fold per paper: its scores, and what they add to its quality."""
    papers = best_by_group(result)[:OPENED]
    chance = [None] * result.reviews.n_items if selection is None else selection.probability
    folds = []
    codes = papers.tolist()
    columns = (codes, paper_names(result, papers), *intervals(result, papers), result._accounts(codes))
    for i, name, low, high, account in zip(*columns, strict=True):
        interval = f" ({low:.2f} to {high:.2f})" if np.isfinite(low) else ""
        summary = f"{name}: quality {account.quality:.2f}{interval}, average {account.average:.2f}"
        summary += "" if chance[i] is None else f", {in_percent(chance[i])} among the best"
        folds.append(Fold(f"paper-{i}", summary, contributions(account)))
    middle = float(result.reviews.printed(result.validity.intercept + result.validity.slope * result.beliefs.location))
    opening = (
        f"Each of {counted(papers.size, 'paper')} opens to its scores. Every paper starts at {middle:.2f}, {MIDDLE}; a "
        "line has what a score adds, its value after correction with reasons, and its weight. The sum is the quality."
    )
    return [Prose([opening]), Folded("Papers, the best first", folds)]


def _line(result: Estimate, selection: Selection | None) -> tuple[float, str] | None:
    """Return the quality halfway between the n-th best paper and the next one, as printed, and its name."""
    if selection is None or not 0 < selection.n < selection.ranked_codes.size:
        return None
    edge = result.quality[selection.ranked_codes[selection.n - 1 : selection.n + 1]].mean()
    line = float(result.reviews.printed(edge))
    return line, f"line of selection, {line:.2f}"


def line_picture(result: PosteriorEstimate, selection: Selection) -> Picture:
    """Return the picture of papers by rank around the line of selection, with those tied at it."""
    tied = selection.tied_codes
    line = _line(result, selection)
    place = np.flatnonzero(np.isin(selection.ranked_codes, tied))
    ends = (int(place[0]), int(place[-1])) if place.size else (selection.n, max(selection.n - 1, 0))
    beside = max(BESIDE, place.size // 2)
    first = max(ends[0] - beside, 0)
    order = selection.ranked_codes[first : ends[1] + 1 + beside]
    lists = selection.lists
    kinds = [MARKS[lists[i] or "out"] for i in order.tolist()]
    names = [str(result.items[i]) for i in order.tolist()]
    shown = f"Papers of rank {first + 1:,} to {first + order.size:,}"
    words = [f"{'All papers' if order.size == selection.ranked_codes.size else shown}, each with its 90 % interval."]
    if line is not None:
        words.append(
            f"The line of selection at {line[0]:.2f} separates the {selection.n:,} of highest quality from the others."
        )
    if tied.size:
        words.append(
            f"On grey are the {counted(tied.size, 'paper')} that are tied at the line: their probability of being "
            f"among the best is from {in_percent(selection.chance[tied].min())} to "
            f"{in_percent(selection.chance[tied].max())}; "
            f"--lottery draws {counted(selection.places, 'place')} among them."
        )
    drawing = ValueChart(
        result.reviews.printed(result.quality)[order],
        *intervals(result, order),
        kinds,
        names,
        meanings=[("dot", "in"), ("diamond", "to discuss"), ("hollow", "out")],
        first=first + 1,
        line=line,
        zone=(ends[0] + 1, ends[1] + 1, "tied at the line") if place.size else None,
    )
    return Picture("line", "The line of selection", " ".join(words), drawing)


def _on_scale_of_scores(result: Estimate) -> bool:
    """Whether qualities can be compared with averages; not on the scale of references, nor if probabilities."""
    learned = isinstance(result, PosteriorEstimate) and result.validity.is_learned
    return not learned and result.method != "bayesian"


def moved(result: Estimate, selection: Selection | None) -> Picture:
    """Return the picture of averages against qualities; those that cross the line, or change most, have labels."""
    # Papers set aside are on another scale.
    scored = np.flatnonzero(np.isfinite(result.quality)) if selection is None else np.sort(selection.ranked_codes)
    before, after = (snapped(result.reviews.printed(values)[scored]) for values in (result.average, result.quality))
    low, high = intervals(result, scored)
    kinds = np.full(scored.size, "dot", dtype=object)
    meanings = [("dot", "paper")]
    words = f"Each of {counted(scored.size, 'paper')} at its plain average and its quality"
    words += ", with its 90 % interval." if np.isfinite(low).any() else "."
    side = "below" if result.reviews.lower_is_better else "above"
    if _on_scale_of_scores(result):
        words += f" Papers {side} the diagonal gain by the correction, the others lose."
    if selection is None:
        change = np.abs(result.gained)[scored]
        labelled = [k for k in np.argsort(-change, kind="stable")[:WRITTEN].tolist() if change[k]]
    else:
        into = np.searchsorted(scored, selection.swapped_in_codes)
        out = np.searchsorted(scored, selection.swapped_out_codes)
        kinds[into] = "up"
        kinds[out] = "down"
        labelled = [*into[:WRITTEN].tolist(), *out[:WRITTEN].tolist()]
        meanings += [("up", "only now selected"), ("down", "no longer")] if into.size else []
        are = noun(into.size, "is", "are")
        words += f" Of the best {selection.n:,}, {into.size:,} {are} so by the correction alone."
    names = [str(result.items[i]) for i in scored.tolist()]
    drawing = ValueChart(
        *(after, low, high, kinds.tolist(), names, labelled),
        along="plain average",
        meanings=meanings,
        before=before,
        line=_line(result, selection),
    )
    return Picture("moved", "Averages and qualities", words, drawing)


# Reviewers.


def unusual(beliefs: Beliefs) -> dict[str, IntArray]:
    """Return the reviewers whose intervals are outside the interquartile range of all, by kind, the farthest first."""
    kinds = [
        (beliefs.reviewers.severity, "harsh", "lenient"),
        (beliefs.reviewers.stretch, "scores far apart", "scores close together"),
        (beliefs.reviewers.noise, "erratic", "steady"),
    ]
    codes = {}
    for quantity, above, below in kinds if beliefs.signal else ():
        low, high = interquartile_range(quantity)
        highest_first = order_of(-quantity.mean)
        codes[above] = highest_first[quantity.low[highest_first] > high]
        lowest_first = order_of(quantity.mean)
        codes[below] = lowest_first[quantity.high[lowest_first] < low]
    return {kind: reviewers for kind, reviewers in codes.items() if reviewers.size}


def contradicting(result: PosteriorEstimate) -> IntArray:
    """Return the codes of the reviewers whose scores contradict those of the others beyond noise, by p-value."""
    codes = np.flatnonzero(result.misfit.contradicts)
    return codes[order_of(result.misfit.p_value[codes])]


def _about_reviewers(result: PosteriorEstimate) -> list[Part]:
    if not np.isfinite(result.misfit.p_value).any():
        return []
    parts: list[Part] = [severities(result)] if result.beliefs.signal else []
    words = "Who stands out is so with probability 90 %, compared with the interquartile range of all reviewers. "
    words += "Agreement has the expected value 1; a negative one means reversed scores."
    return [*parts, reviewer_table(result), Prose([words])]


def reviewer_table(result: PosteriorEstimate) -> Table:
    """Return a row for each reviewer with a score, the harshest first."""
    reviews = result.reviews
    loads = reviews.only_scored().loads
    codes = np.flatnonzero(loads > 0)
    codes = codes[order_of(-result.reviewers.severity.mean[codes])]
    columns = [
        Column("reviewer", [reviews.reviewers[j] for j in codes.tolist()]),
        Column("scores", loads[codes].tolist(), "number"),
    ]
    for name in ("severity", "stretch", "noise") if result.beliefs.signal else ():
        heads = (name, f"{name} from", f"{name} to")
        values = getattr(result.reviewers, name)
        columns += [Column(head, of[codes].tolist(), "number", 2) for head, of in zip(heads, values, strict=True)]
    # A contradiction has precedence over severity, severity over stretch, and stretch over noise.
    words: dict[int, str] = {}
    for word, found in reversed(unusual(result.beliefs).items()):
        words |= dict.fromkeys(found.tolist(), word)
    words |= dict.fromkeys(contradicting(result).tolist(), "contradicts the others")
    columns += [
        Column("agreement", result.misfit.agreement[codes].tolist(), "number", 2),
        Column("stands out", [words.get(j) for j in codes.tolist()], "choice"),
    ]
    caption = "Reviewers, the harshest first, with the ends of 90 % intervals"
    return Table("reviewers-table", caption, columns, "reviewers")


def severities(result: PosteriorEstimate) -> Picture:
    """Return the picture of reviewers on the scale of papers; the harsh and the lenient have a mark of their own."""
    severity = result.reviewers.severity
    reviews = result.reviews
    codes = np.flatnonzero(np.isfinite(severity.mean))
    codes = codes[order_of(severity.mean[codes])]
    found = unusual(result.beliefs)
    extreme = {j for kind in ("harsh", "lenient") if kind in found for j in found[kind].tolist()}
    kinds = ["diamond" if j in extreme else "dot" for j in codes.tolist()]
    ends = {*range(AT_ENDS), *range(codes.size - AT_ENDS, codes.size)}
    labelled = [place for place, kind in enumerate(kinds) if kind == "diamond" and place in ends]
    # A severity becomes a quality: that of a paper which gets an average score from this reviewer.
    value, low, high = (reviews.printed(result.beliefs.location + part[codes]) for part in severity)
    names = [str(reviews.reviewers[j]) for j in codes.tolist()]
    more, fewer = ("fewer", "more") if reviews.lower_is_better else ("more", "fewer")
    words = (
        f"{counted(codes.size, 'reviewer')} on the scale of papers: a reviewer is at the quality of a paper that "
        "gets from them what an average paper gets from a typical reviewer, with a 90 % interval. The most lenient "
        f"gives {-float(np.nanmin(severity.mean)):.2f} points {more} than a typical reviewer, the harshest "
        f"{float(np.nanmax(severity.mean)):.2f} {fewer}; diamonds are outside the interquartile range."
    )
    drawing = ValueChart(
        *(value, np.minimum(low, high), np.maximum(low, high), kinds, names, labelled),
        up="points",
        along="reviewers, from lenient to harsh",
    )
    return Picture("severities", "Severities of reviewers", words, drawing)


# What the scores support.


def spread_of_severity(result: PosteriorEstimate) -> float:
    """Return the standard deviation of reviewers' severities in points, each with its own uncertainty."""
    mean, low, high = (value[np.isfinite(value)] for value in result.reviewers.severity)
    return float(np.sqrt(mean.var() + (((high - low) / (2.0 * WIDTH)) ** 2).mean()))


def _support(result: PosteriorEstimate) -> list[str]:
    """Return how far reviewers and papers differ, and what criteria, confidence and references add."""
    beliefs = result.beliefs
    lines = ["Qualities are averages, shrunk towards the mean if reviews are few."]
    if beliefs.signal:
        known = np.isfinite(beliefs.mean)
        quality = beliefs.scale * float(np.sqrt(beliefs.mean[known].var() + beliefs.variance[known].mean()))
        lines = [
            f"The severity of reviewers has a standard deviation of {spread_of_severity(result):.2f} points, the "
            f"quality of papers one of {quality:.2f}.",
            "The benefit of the correction is measured on held-out reviewers: the squared error in predicting their "
            "rankings, compared with that of averages. A part of it is noise that nothing predicts.",
        ]
    if (joined := result.joined) is not None:
        gain = f"{100 * joined.gain:.1f} % +- {100 * joined.gain_error:.1f} (standard error)"
        lower = f"; they lower the error in predicting other reviewers by {gain}" if joined.used else ""
        lines.append(f"{joined.words[0].upper()}{joined.words[1:]}{lower}.")
    if (confidence := result.confidence) is not None:
        state = "is used" if confidence.used else "is not used"
        lines.append(
            f"The confidence of reviewers {state}: with it the log evidence changes by {confidence.gain:+.1f}."
        )
    if (validity := result.validity).n:
        low, high = validity.slope_interval
        slope = f"slope {validity.estimate:.2f}, 90 % interval {low:.2f} to {high:.2f}"
        lines.append(f"Qualities, ranges and probabilities are of what the references measure ({slope}).")
    return lines

"""Tables of papers, and the contributions to the quality of one, on the scale of the scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from lsc.estimate import Estimate
from lsc.posteriors import PosteriorEstimate
from reviewgraph._base import (
    Column,
    Fact,
    FloatArray,
    IntArray,
    Label,
    Listed,
    Page,
    Part,
    Prose,
    Section,
    Table,
    listed,
    or_none,
    paper_columns,
    percent,
)

if TYPE_CHECKING:
    from lsc._inference.beliefs import Account
    from lsc._inference.beliefs import Part as Source
    from lsc.selection import Selection
    from reviewgraph.parts import PartedReviews
    from reviewgraph.table import Reviews


#: Papers that a line names, those that are seen first, and those to discuss.
NAMED = 10
SEEN = 10
DISCUSSED = 7
#: Characters of a line that names further papers.
LINE = 66
#: Names of the lists of a selection.
LISTS = {"in": "in", "discuss": "to discuss", "out": "out", "aside": "set aside", None: None}
#: Maximum number of papers that open, the best: a line takes some hundred bytes.
OPENED = 5000


def in_percent(chance: float) -> str:
    """Return a probability in percent, never 0 or 100 %.

    >>> [in_percent(chance) for chance in (0.583, 0.9999, 1e-9)]
    ['58 %', '> 99 %', '< 1 %']
    """
    if chance > 0.995:
        return "> 99 %"
    return "< 1 %" if chance < 0.005 else f"{100.0 * chance:.0f} %"


def some(labels: Sequence[Label], codes: IntArray, most: int = NAMED) -> str:
    """Return the first of some labels, given by code, and the number of all where more are left out.

    >>> labels = ["p1", "p2", "p3"]
    >>> some(labels, np.arange(2)), some(labels, np.arange(0)), some(labels, np.arange(3), 2)
    ('p1, p2', 'none', '3: p1, p2, ...')
    """
    # Labels are whole: several lists of a page name them, and the ends of long ones tell them apart.
    shown = ", ".join(str(labels[code]) for code in codes[:most].tolist()) or "none"
    shown += ", ..." if codes.size > most else ""
    return f"{codes.size:,}: {shown}" if codes.size > most else shown


def columns_by_head(heads: Mapping[str, Any], rows: Iterable[Sequence[Any]]) -> list[Column]:
    """Return columns from rows; a head has the number of digits of numbers, or the kind of another column."""
    values = [*zip(*rows, strict=True)] or [()] * len(heads)
    return [
        Column(name, column, "number", kind) if isinstance(kind, int) else Column(name, column, kind)
        for (name, kind), column in zip(heads.items(), values, strict=True)
    ]


def paper_names(result: Estimate, papers: IntArray) -> list[str]:
    """Return the labels of papers, given by code, with their titles if they have any."""
    labels = [result.items[i] for i in papers.tolist()]
    return [f"{label} {listed([result.reviews.titles.get(label, '')])}".strip() for label in labels]


def best_by_group(result: Estimate) -> IntArray:
    """Return the codes of the papers with a score, by group, the best first."""
    order = np.lexsort((result.rank, result.group))
    return order[result.rank[order] > 0]


def group_sizes(result: Estimate) -> list[int]:
    """Return the number of papers with a score of each group that no review connects to another, the largest first."""
    sizes = np.bincount(result.group[result.rank > 0])
    return sorted(sizes[sizes > 0].tolist(), reverse=True)


def intervals(result: Estimate, papers: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the 90 % intervals of papers as printed, NaN if the method has none."""
    if not isinstance(result, PosteriorEstimate):
        return np.full(papers.size, np.nan), np.full(papers.size, np.nan)
    return result._ends(papers)


def columns_of(
    result: Estimate, papers: IntArray, selection: Selection | None, left_out: Sequence[str] = ()
) -> dict[str, Column]:
    """Return what a table can show about papers, given by code, by the names of its columns, some ``left_out``."""
    digits = 2 if isinstance(result, PosteriorEstimate) else 3
    printed = result.reviews.printed
    labels = [result.items[i] for i in papers.tolist()]
    columns = [Column("paper", labels)]
    if not result._in_parts:
        columns = paper_columns(result.reviews, papers.tolist())

    def add(name: str, values: FloatArray | IntArray, digits: int = 0) -> None:
        columns.append(Column(name, or_none(values.astype(np.float64)), "number", digits))

    if selection is not None:
        add("chance, %", 100 * np.array(selection.probability, np.float64)[papers], 1)
        columns.append(Column("list", [LISTS[selection.lists[i]] for i in papers.tolist()], "choice"))
    if len(group_sizes(result)) > 1:
        add("group", result.group[papers])
    add("rank", result.rank[papers])
    add("quality", printed(result.quality[papers]), digits)
    low, high = intervals(result, papers)
    if np.isfinite(low).any():
        add("90 % from", low, 2)
        add("to", high, 2)
    elif np.isfinite(result.standard_error[papers]).any():
        add("+-", result.standard_error[papers], digits)
    add("average", printed(result.average[papers]), digits)
    if not result._in_parts:
        add("scores", result.reviews.only_scored().reviews_per_item[papers])
        add("its rank", result.average_rank[papers])
        add("gained", result.gained[papers])
        if unknown := {*result.undetermined} & {*labels}:
            columns.append(Column("place", ["?" if label in unknown else "" for label in labels], "choice"))
    return {column.name: column for column in columns if column.name not in left_out}


def paper_table(result: Estimate, selection: Selection | None) -> Table:
    """Return a row for each paper with a score, the best first."""
    papers = best_by_group(result)
    caption = "Papers, the best first"
    if selection is not None:
        caption += f"; the chance is the probability of being among the best {selection.n:,}"
    links = (
        [f"paper-{i}" for i in papers.tolist()]
        if isinstance(result, PosteriorEstimate) and papers.size <= OPENED
        else []
    )
    return Table("papers-table", caption, [*columns_of(result, papers, selection).values()], "papers", links)


def best_table(result: Estimate) -> Table:
    """Return the best papers; of several groups the best of each."""
    order = best_by_group(result)
    several = len(group_sizes(result))
    first = order[result.rank[order] <= max(SEEN // max(several, 1), 1)][:SEEN]
    # One further row, which stays hidden, lets the table say that more papers follow.
    seen = np.concatenate([first, order[~np.isin(order, first)][:1]])
    columns = columns_of(result, seen, None, left_out=("gained",))
    if (by_average := columns.pop("its rank", None)) is not None and several < 2:
        moved = (result.gained[seen] != 0).tolist()
        differing = [place if moves else None for place, moves in zip(by_average.values, moved, strict=True)]
        columns |= {"its rank": replace(by_average, values=differing)} if any(differing) else {}
    more = f"... and {order.size - first.size:,} more"
    return Table(
        "best",
        "The best papers",
        list(columns.values()),
        "papers",
        live=False,
        shown=first.size,
        more=more,
        section="" if result._in_parts else "papers",
    )


def open_table(result: Estimate, selection: Selection) -> Table:
    """Return the papers to discuss, the most likely first; a line names those that are not shown."""
    papers = selection.discuss_codes
    shown = papers.size if papers.size <= DISCUSSED + 1 else DISCUSSED
    columns = columns_of(result, papers, selection, left_out=("list", "group", "rank", "its rank", "gained"))
    columns["chance, %"] = replace(columns["chance, %"], digits=0)
    columns["paper"] = replace(columns["paper"], name="to discuss")
    rest = selection.named(papers[shown:])
    lines = [f"... then {listed(rest, most)}" for most in range(min(len(rest), LINE), 0, -1)]
    more = next((line for line in lines if len(line) <= LINE), "")
    caption = f"To discuss, by the probability of being among the best {selection.n:,}"
    return Table("open", caption, list(columns.values()), "papers", live=False, shown=shown, more=more)


# Contributions to the quality of a paper, without names of reviewers.


#: Corrections smaller than this, in points, are not mentioned.
SLIGHT = 0.05
#: The warning beside explained papers that no order contains.
UNCONNECTED = "Papers of different groups cannot be compared: no review connects these"
#: What all papers have in common before their scores are used.
MIDDLE = "the overall mean"


def account_table(account: Account, name: str = "parts") -> Table:
    """Return a row per source: its score, its value after correction, its weight, and what it adds.

    The value is the sum of the score and of its shift, for severity, slope and criteria.
    """
    *sources, middle = account.parts
    # Two digits as shifts have, so that each line adds up.
    digits = 0 if all(float(part.score).is_integer() for part in sources if part.score is not None) else 2
    values = {"score": digits, "shift": 2, "counts as": 2}
    rows: list[Sequence[str | float | None]] = [(MIDDLE, None, None, None, 100 * middle.weight, account.middle)]
    for part in sources:
        correction = part.says - (part.score or 0.0) if part.source == "review" else None
        source = "reference" if part.reviewer is None else str(part.reviewer)
        source += ", other papers" if part.source == "likeness" else ""
        rows.append((source, part.score, correction, part.says, 100 * part.weight, part.moves))
    rows.append(("sum", None, None, account.total, None, account.total))
    columns = columns_by_head({"source": "text", **values, "weight, %": 0, "adds": 2}, rows)
    return Table(name, f"From {MIDDLE} to the quality of {account.item}", columns, "parts", live=False)


def contributions(account: Account) -> list[str]:
    """Return what each source adds to the overall mean, with its name."""
    # Rounded first, so that there is no negative zero.
    return [f"{round(part.moves, 2) + 0.0:+.2f}: {_source(part, account)}" for part in account.parts[:-1]]


def _source(part: Source, account: Account) -> str:
    """Return the name of a source, the value of a score after correction with reasons, and its weight."""
    weight = f"weight {percent(part.weight)}"
    if part.source == "likeness":
        return f"reviewers have similar papers: the other papers of {part.reviewer} ({weight})"
    if part.source == "reference":
        return f"its reference {part.score:g}; {weight}"
    if not _is_corrected(part):
        return f"{part.reviewer} gave {part.score:g}; {weight}"
    # The stretch has the rest: the reviewer's slope, and what their other papers add to both estimates.
    by = "by the references and by" if account.of_references else "by"
    harsh = "harsh" if (part.severity > 0) != account.lower_is_better else "lenient"
    reasons = [
        (part.severity, f"as this reviewer is {harsh}"),
        (part.stretch, f"{by} how this reviewer scored other papers"),
        *((value, f"by {name}") for name, value in part.criteria.items()),
    ]
    why = ", ".join(f"{value:+.2f} {reason}" for value, reason in reasons if abs(value) >= SLIGHT)
    return f"{part.reviewer} gave {part.score:g}, counts as {part.says:.2f} ({why}); {weight}"


def _is_corrected(part: Source) -> bool:
    return abs(part.severity + part.stretch + sum(part.criteria.values())) >= SLIGHT


def direction_of(reviews: Reviews | PartedReviews, grades: Sequence[str] = ()) -> str:
    """Return which scores are the best, and what the first and the last of some grades count as."""
    counts = f"; {grades[0]} counts as {len(grades)}, {grades[-1]} as 1" if grades else ""
    return f"{reviews.direction}{counts}"


def _scale(result: PosteriorEstimate) -> tuple[float, float]:
    """Return the lowest and the highest score, in the direction of the reviews."""
    score = result.reviews.printed(result.reviews.score[result.reviews.scored])
    return float(score.min()), float(score.max())


def _corrections(account: Account, scale: tuple[float, float]) -> list[Part]:
    """Return the corrections of a paper with reasons, the weight of its data, and why scores leave the ``scale``."""
    on_scale = ", on the scale of the references" if account.of_references else ""
    opening = (
        f"{account.item}: whether a reviewer is harsh or lenient is estimated from their scores of other papers, "
        "compared with those of the other reviewers of these; a corrected score is what a typical reviewer would have "
        f"given{on_scale}."
    )
    # The mean adds nothing: its weight is the strength of the shrinkage.
    *sources, middle = account.parts
    of_data = percent(max(1.0 - middle.weight, 0.0))
    of_mean = percent(middle.weight)
    remarks = [
        f"The data on this paper have {of_data} of the weight, {MIDDLE} {of_mean}: the fewer and the less consistent "
        "the scores, the closer the quality is to the mean."
    ]
    says = [part.says for part in sources if part.source == "review" and _is_corrected(part)]
    if says and not account.of_references and (min(says) < scale[0] or max(says) > scale[1]):
        remarks.append(
            f"Scores were given from {scale[0]:g} to {scale[1]:g}; a corrected score may be outside this range: the "
            "best score of a harsh reviewer means more than that of a lenient one."
        )
    return [Listed(opening, [f"{line}." for line in contributions(account)]), Prose(remarks)]


def _error(account: Account) -> str:
    """Return the standard error after a quality; empty if it cannot be estimated."""
    error = account.standard_error
    return f" +- {error:.2f} (standard error)" if math.isfinite(error) else ""


# Papers that are explained.


def explained_page(
    page: Page, result: PosteriorEstimate, papers: Sequence[Label], selection: Selection | None, direction: str
) -> Page:
    """Return a page with the places of some papers and their contributions in front, without names of reviewers."""
    codes = [result.items.index(label) for label in papers]
    accounts = [account.anonymous() for account in result._accounts(codes)]
    facts: list[Fact | Table] = []
    for number, (code, account) in enumerate(zip(codes, accounts, strict=True)):
        place = _place(result, code, selection)
        points = f"quality {account.quality:.2f}{_error(account)}, average {account.average:.2f}"
        facts += [Fact(str(account.item), f"{place}; {points}")] if len(papers) > 1 else []
        facts.append(account_table(account, f"parts-{number}"))
    apart = np.unique(result.group[codes]).size > 1
    scale = _scale(result)
    parts = [part for account in accounts for part in _corrections(account, scale)]
    several = len(papers) > 1
    return replace(
        page,
        verdict=f"{len(papers):,} papers explained" if several else f"{place}:",
        summary=f"({direction})" if several else f"{papers[0]}, {points} ({direction})",
        facts=[*facts, *_better(result, codes), *page.facts],
        warnings=[*page.warnings, *([UNCONNECTED] if apart else [])],
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
    among_best = "" if chance is None else f" ({in_percent(chance)} among the best {selection.n:,})"
    return f"{rank}, {LISTS[selection.lists[code]]}{among_best}"


def _better(result: PosteriorEstimate, codes: list[int]) -> list[Fact]:
    """Return which of each two papers of one group is better, and how sure that is."""
    facts = []
    for pair in combinations(codes, 2):
        first, second = sorted(pair, key=lambda code: int(result.rank[code]))
        if result.group[first] == result.group[second]:
            better, worse = result.items[first], result.items[second]
            chance = in_percent(result.difference(better, worse).probability)
            facts.append(Fact("Better", f"{better} than {worse} with probability {chance}"))
    return facts

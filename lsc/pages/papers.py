"""Tables of papers: the best, those to discuss, and all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lsc.estimate import Estimate
from lsc.posteriors import PosteriorEstimate
from reviewgraph._base import Column, Table, listed, or_none, paper_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lsc.selection import Selection
    from reviewgraph._base import FloatArray, IntArray, Label

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


def percent(chance: float) -> str:
    """Return a probability in percent, never 0 or 100 %.

    >>> percent(0.583), percent(0.9999), percent(1e-9)
    ('58 %', '> 99 %', '< 1 %')
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
        add("gained", (result.average_rank - result.rank)[papers])
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
        pairs = zip(by_average.values, columns["rank"].values, strict=True)
        differing = [place if place != rank else None for place, rank in pairs]
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

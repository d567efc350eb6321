"""The tables of the report of a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.labels import first_labels, places
from reviewgraph.report.tables import Column, Table
from reviewgraph.words import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewgraph.arrays import IntArray
    from reviewgraph.checking import Report
    from reviewgraph.labels import Label
    from reviewgraph.precision.outlook import Outlook
    from reviewgraph.report.check.grouping import Grouping

#: Names that a cell tells before it ends with dots.
NAMED = 8


def weakest_first(outlook: Outlook) -> IntArray:
    """Return all papers, the largest expected error first, ties in the natural order of the labels shown."""
    # Where codes stand for names, the order of the names is not to be told.
    return np.lexsort((places(outlook.structure.reviews.items), -np.round(outlook.variance, 9)))


def paper_table(report: Report) -> Table:
    """Return a row a paper: how often it is reviewed, and its expected error."""
    reviews, outlook, order = report.reviews, report.expected, weakest_first(report.expected)
    items = [reviews.items[i] for i in order.tolist()]
    titles = [reviews.titles.get(item, "") for item in items]
    there = report.as_of_now
    covers = np.bincount(report.structure.doubly_connected.cover_item, minlength=reviews.n_items)
    columns = [
        Column("paper", items),
        *([Column("title", titles)] if any(titles) else []),
        Column("reviews", reviews.reviews_per_item[order].tolist(), "number"),
        *([] if there is None else [Column("of these in", there.reviews.reviews_per_item[order].tolist(), "number")]),
        Column("groups", covers[order].tolist(), "number"),
        Column("expected error", outlook.error[order].tolist(), "number", 2),
        Column("with one more review", outlook.with_one_more[order].tolist(), "number", 2),
        Column("of plain average", outlook.average[order].tolist(), "number", 2),
    ]
    return Table("papers", "Papers, the largest expected error first", columns, "papers")


def reviewer_table(report: Report, grouping: Grouping) -> Table:
    """Return a row a reviewer: papers, scores, and the group."""
    reviews, components = report.reviews, report.structure.doubly_connected
    number = grouping.number[components.labels]
    order = np.lexsort((places(reviews.reviewers), number, number == 0))  # who is in no group stands last
    linked = np.array([*grouping.linked, "links nothing"], dtype=object)
    scored = np.bincount(reviews.reviewer[reviews.scored], minlength=reviews.n_reviewers)
    columns = [
        Column("reviewer", [reviews.reviewers[j] for j in order.tolist()]),
        Column("papers", reviews.loads[order].tolist(), "number"),
        Column("scored", scored[order].tolist(), "number"),
        Column("group", [entry or None for entry in number[order].tolist()], "number"),
        Column("group is linked", linked[number[order] - 1].tolist(), "choice"),
    ]
    return Table("reviewers", "Reviewers, by group", columns, "reviewers")


def group_table(grouping: Grouping) -> Table:
    """Return a row a group: its papers and reviewers, and how it is linked."""
    reviews, components = grouping.structure.reviews, grouping.structure.doubly_connected
    by_group = np.argsort(components.labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(components.sizes)])
    members = [by_group[starts[each] : starts[each + 1]] for each in grouping.order.tolist()]
    columns = [
        Column("group", list(range(1, len(grouping) + 1)), "number"),
        Column("papers", grouping.sizes.tolist(), "number"),
        Column("reviewers", grouping.reviewers.tolist(), "number"),
        Column("piece", (grouping.piece + 1).tolist(), "number"),
        Column("linked", grouping.linked, "choice"),
        Column("who", [_names(reviews.reviewers, each) for each in members]),
        Column(
            "which papers",
            [_names(reviews.items, _cover(grouping, each)) for each in grouping.order],
        ),
    ]
    return Table("group-table", "Groups of two papers or more, the largest first", columns, "groups")


def _cover(grouping: Grouping, component: int) -> IntArray:
    components = grouping.structure.doubly_connected
    return components.cover_item[components.cover_start[component] : components.cover_start[component + 1]]


def _names(labels: Sequence[Label], codes: IntArray) -> str:
    return listed(first_labels(labels, codes, NAMED + 1), NAMED)

"""The report of a check: verdict, broken rules, the map of groups, loads, expected errors, losses, tables.

Sections are in the order of the page; at the end a check is put under codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph._base.labels import first_labels, natural_key, places
from reviewgraph._base.text import LISTED, counted, listed
from reviewgraph.graph.check import PRECISE, by_scores, facts, groups, state_of, today, told, verdicts
from reviewgraph.graph.fragility import losses
from reviewgraph.graph.levels import level_named
from reviewgraph.graph.precision import expectations, selection
from reviewgraph.report.groups import Groups, group_map, kinds_of
from reviewgraph.report.page import (
    Column,
    Document,
    Fact,
    Listed,
    Part,
    Picture,
    Prose,
    Section,
    Table,
    chart,
    paper_columns,
    parts_of,
    pictures_among,
)
from reviewgraph.report.pictures import Bar, Ranked, bars, ranked, tally

if TYPE_CHECKING:
    import igraph

    from reviewgraph._base.arrays import BoolArray, IntArray
    from reviewgraph._base.labels import Label
    from reviewgraph.graph.check import Report, Violated, Violations
    from reviewgraph.graph.components import Structure
    from reviewgraph.graph.precision import Outlook
    from reviewgraph.report.page import Codes
    from reviewgraph.table.reviews import Reviews


#: Groups that a map shows.
MOST = 600
#: Reviewers in the name of a group.
TOLD = 3
#: How a group is linked, in words, by the map's kinds.
LINKED = {"group": "by several papers", "hanging": "hangs by one paper", "apart": "cut off"}


@dataclass(frozen=True, eq=False)
class Grouping:
    """The doubly connected components of two papers or more, numbered from 1 by size, ``order`` their indices.

    Components of one paper link nothing.
    """

    structure: Structure
    order: IntArray

    def __len__(self) -> int:
        return int(self.order.size)

    @cached_property
    def number(self) -> IntArray:
        """Number of each component, 0 for one of a single paper."""
        number = np.zeros(len(self.structure.doubly_connected), np.int64)
        number[self.order] = np.arange(1, self.order.size + 1)
        return number

    @property
    def sizes(self) -> IntArray:
        """Papers per group."""
        return self.structure.doubly_connected.cover_sizes[self.order]

    @property
    def reviewers(self) -> IntArray:
        """Reviewers per group."""
        return self.structure.doubly_connected.sizes[self.order]

    @cached_property
    def piece(self) -> IntArray:
        """Connected component of each group, 0 for the one of most papers."""
        components = self.structure.doubly_connected
        connected = self.structure.connected
        rank = np.empty(len(connected), np.int64)
        rank[connected.largest_first] = np.arange(len(connected))
        of = np.zeros(len(components), np.int64)
        of[components.labels] = rank[connected.labels]
        return np.unique(of[self.order], return_inverse=True)[1]

    @cached_property
    def _shares(self) -> tuple[IntArray, IntArray]:
        """Pairs of a group and a paper that at least two groups cover."""
        components = self.structure.doubly_connected
        group = self.number[np.repeat(np.arange(len(components)), components.cover_sizes)] - 1
        item = components.cover_item[group >= 0]
        group = group[group >= 0]
        shared = np.bincount(item, minlength=self.structure.reviews.n_items)[item] > 1
        return group[shared], item[shared]

    @cached_property
    def cut(self) -> IntArray:
        """Papers by which groups hang, ascending: articulation points of the graph of groups and papers."""
        group, item = self._shares
        papers, place = np.unique(item, return_inverse=True)
        points = np.array(self._graph(group, place, papers.size).articulation_points(), np.int64)
        return papers[np.sort(points[points >= len(self)]) - len(self)]

    @cached_property
    def hanging(self) -> BoolArray:
        """Groups of the largest component that one paper alone links to the part with most papers."""
        group, item = self._shares
        stay = ~np.isin(item, self.cut)
        papers, place = np.unique(item[stay], return_inverse=True)
        part = np.array(self._graph(group[stay], place, papers.size).connected_components().membership, np.int64)
        part = part[: len(self)]
        weight = np.bincount(part, weights=np.where(self.piece == 0, self.sizes, 0))
        apart: BoolArray = (self.piece == 0) & (part != (int(weight.argmax()) if weight.size else 0))
        return apart

    def _graph(self, group: IntArray, paper: IntArray, papers: int) -> igraph.Graph:
        import igraph

        return igraph.Graph(len(self) + papers, np.column_stack([group, len(self) + paper]).tolist())

    def map(self, extra: IntArray | None = None) -> Groups:
        """Return the map of the largest groups.

        ``extra`` are reviewers and items of planned reviews, shape (P, 2); with their links weak spots are not marked.
        """
        reviews = self.structure.reviews
        components = self.structure.doubly_connected
        group, item = self._shares
        shown = group < MOST
        papers, place, count = np.unique(item[shown], return_inverse=True, return_counts=True)
        kept = count[place] > 1
        group = group[shown][kept]
        item = item[shown][kept]
        papers, place = np.unique(item, return_inverse=True)
        names = []
        for number, component in enumerate(self.order[:MOST].tolist(), 1):
            members = np.flatnonzero(components.labels == component)
            names.append(f"{number}: {listed(first_labels(reviews.reviewers, members, TOLD + 1), TOLD)}")
        shown_groups = Groups(
            sizes=self.sizes[:MOST],
            names=names,
            links=np.column_stack([group, place]),
            papers=[str(reviews.items[i]) for i in papers.tolist()],
            piece=np.unique(self.piece[:MOST], return_inverse=True)[1],
            hanging=self.hanging[:MOST],
            cut=np.isin(papers, self.cut),
        )
        if extra is None:
            return shown_groups
        none = np.zeros(len(names), np.bool_)
        joined = self._joined(extra, papers, len(names))
        return replace(shown_groups, hanging=none, cut=np.zeros_like(shown_groups.cut), extra=joined)

    def _joined(self, extra: IntArray, papers: IntArray, n: int) -> IntArray:
        """Return the groups of reviewers with the nodes of their papers, where both are shown and differ.

        The node of a paper that several groups share is its own, otherwise that of the group that covers it.
        """
        reviews = self.structure.reviews
        components = self.structure.doubly_connected
        group = self.number[np.repeat(np.arange(len(components)), components.cover_sizes)] - 1
        shown = (group >= 0) & (group < n)
        node = np.full(reviews.n_items, -1)
        node[components.cover_item[shown]] = group[shown]
        node[papers] = n + np.arange(papers.size)
        pairs = np.column_stack([self.number[components.labels[extra[:, 0]]] - 1, node[extra[:, 1]]])
        shown_pairs = (pairs[:, 0] >= 0) & (pairs[:, 0] < n) & (pairs[:, 1] >= 0) & (pairs[:, 0] != pairs[:, 1])
        return np.asarray(pairs[shown_pairs])

    @property
    def linked(self) -> list[str]:
        """How each group is linked, in words."""
        return [LINKED[kind] for kind in kinds_of(self.piece, self.hanging)]


def grouping_of(structure: Structure) -> Grouping:
    """Return the groups of a table by number.

    >>> from reviewgraph import Reviews
    >>> from reviewgraph.graph.components import structure_of
    >>> rows = [("ann", 1), ("ann", 2), ("ann", 3), ("bob", 3), ("bob", 4), ("cleo", 5), ("cleo", 6), ("dan", 6)]
    >>> groups = grouping_of(structure_of(Reviews.from_pairs(rows)))
    >>> groups.sizes.tolist(), groups.linked
    ([3, 2, 2], ['by several papers', 'hangs by one paper', 'cut off'])
    """
    components = structure.doubly_connected
    order = components.largest_first
    return Grouping(structure, order[components.cover_sizes[order] > 1])


def load_pictures(reviews: Reviews) -> list[Picture]:
    """Return the pictures of a table of reviews."""
    return pictures_among([loads(reviews)]) if reviews.n_reviews else []


def loads(reviews: Reviews) -> Section:
    """Return the sizes of a table and its loads."""
    per_item = reviews.reviews_per_item
    per_reviewer = reviews.loads
    alone = int((per_reviewer < 2).sum())
    unread = int((per_item == 0).sum())
    inside = "" if reviews.origin.lacking is None else " in these files"
    few = counted(alone, "reviewer has fewer than two and links", "reviewers have fewer than two and link")
    none = counted(unread, f"paper has none{inside}", f"papers have none{inside}")
    parts: list[Part] = [
        Prose(facts(reviews, int(reviews.scored.sum()))),
        chart(
            "loads",
            "Papers per reviewer",
            f"How many reviewers have how many papers.{f' {few} nothing; their bars stand out.' if alone else ''}",
            tally(per_reviewer, low=2),
            "papers",
        ),
        chart(
            "reviews",
            "Reviews per paper",
            f"How many papers have how many reviews.{f' {none}; their bar stands out.' if unread else ''}",
            tally(per_item, low=1),
            "reviews",
        ),
    ]
    return Section("loads-section", "Loads", parts)


#: Lines of a list that are not folded.
SEEN = 12


def _broken(violations: Violations | None) -> list[Part]:
    """Return a list for each rule that is violated, and a line for each that is not."""
    if violations is None:
        return []
    pairs = (
        None if violations.conflicts is None else [f"{reviewer} on {item}" for reviewer, item in violations.conflicts]
    )
    over, short = (None if rule is None else told(rule) for rule in (violations.over_load, violations.short))
    broken = [names for names in (pairs, over, short) if names is not None]
    return [
        Listed(f"{line.partition(' (')[0]}:", names, SEEN) if names else Prose([f"{line}."])
        for line, names in zip(violations.lines(), broken, strict=True)
    ]


#: Names in a cell before it ends with dots.
NAMED = 8


def paper_table(report: Report) -> Table:
    """Return a row per paper: its reviews and expected errors."""
    reviews = report.reviews
    outlook = report.expected
    order = outlook.weakest
    arrived = report.as_of_now
    covers = np.bincount(report.structure.doubly_connected.cover_item, minlength=reviews.n_items)
    columns = [
        *paper_columns(reviews, order.tolist()),
        Column("reviews", reviews.reviews_per_item[order].tolist(), "number"),
        *(
            []
            if arrived is None
            else [Column("of these in", arrived.reviews.reviews_per_item[order].tolist(), "number")]
        ),
        Column("groups", covers[order].tolist(), "number"),
        Column("expected error", outlook.error[order].tolist(), "number", 2),
        Column("with one more review", outlook.with_one_more[order].tolist(), "number", 2),
        Column("of plain average", outlook.average[order].tolist(), "number", 2),
    ]
    return Table("papers", "Papers, the largest expected error first", columns, "papers")


def reviewer_table(report: Report, grouping: Grouping) -> Table:
    """Return a row per reviewer: papers, scores, and the group."""
    reviews = report.reviews
    components = report.structure.doubly_connected
    number = grouping.number[components.labels]
    order = np.lexsort((places(reviews.reviewers), number, number == 0))  # who is in no group stands last
    linked = np.array([*grouping.linked, "links nothing"], dtype=object)
    scored = np.bincount(reviews.reviewer[reviews.scored], minlength=reviews.n_reviewers)
    columns = [
        Column("reviewer", [reviews.reviewers[j] for j in order.tolist()]),
        Column("papers", reviews.loads[order].tolist(), "number"),
        Column("scored", scored[order].tolist(), "number"),
        Column("not in yet", (reviews.loads - scored)[order].tolist(), "number"),
        Column("group", [entry or None for entry in number[order].tolist()], "number"),
        Column("group is linked", linked[number[order] - 1].tolist(), "choice"),
    ]
    return Table("reviewers", "Reviewers, by group", columns, "reviewers")


def group_table(grouping: Grouping) -> Table:
    """Return a row per group: its papers and reviewers, and how it is linked."""
    reviews = grouping.structure.reviews
    components = grouping.structure.doubly_connected
    by_group = np.argsort(components.labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(components.sizes)])
    members = [by_group[starts[component] : starts[component + 1]] for component in grouping.order.tolist()]
    columns = [
        Column("group", list(range(1, len(grouping) + 1)), "number"),
        Column("papers", grouping.sizes.tolist(), "number"),
        Column("reviewers", grouping.reviewers.tolist(), "number"),
        Column("piece", (grouping.piece + 1).tolist(), "number"),
        Column("linked", grouping.linked, "choice"),
        Column("who", [_names(reviews.reviewers, reviewers) for reviewers in members]),
        Column(
            "which papers",
            [_names(reviews.items, components.covers[component]) for component in grouping.order],
        ),
    ]
    return Table("group-table", "Groups of two papers or more, the largest first", columns, "groups")


def _names(labels: Sequence[Label], codes: IntArray) -> str:
    return listed(first_labels(labels, codes, NAMED + 1), NAMED)


def document(report: Report, subject: str, closing: Sequence[str] = (), *, reached: bool = True) -> Document:
    """Return the report of a check.

    ``subject`` names the files; ``closing`` is what the command adds: the verdict on a required level, the next
    command; ``reached`` tells whether a required level is reached.
    """
    structure = report.structure
    reviews = report.reviews
    lead, *further = verdicts(structure, report.as_of_now)
    state = today(structure, report.as_of_now, report.violations)
    headline = _headline(report, state)
    # The headline says which papers are not counted.
    caveats = reviews.origin._replace(hidden=(), withdrawn=()).caveats(reviews.n_items)
    grouping = grouping_of(structure)
    sections = [
        Section("violations", "Conflicts, loads and demands", _broken(report.violations)),
        _map(report, grouping),
        loads(reviews),
        *([_errors(report.expected)] if reviews.n_items else []),
        Section("losses", "If reviews are lost", parts_of(losses(report.fragile, report.keeps))),
        Section("tables", "Tables", [paper_table(report), reviewer_table(report, grouping), group_table(grouping)]),
    ]
    return Document(
        "Check of reviews",
        subject,
        _good(report, state) if reached else False,
        headline,
        " ".join([*caveats, *(f"{words}." for words in state[bool(state) and headline.startswith(state[0]) :]), lead]),
        further,
        closing,
        _facts(report),
        sections,
    )


def _good(report: Report, state: Sequence[str]) -> bool | None:
    """Return whether all is well; None where it depends on missing reviews, or on papers outside the file."""
    late = report.as_of_now is not None
    if not report.recovery_resilient or len(state) > late:
        return False
    return None if late or report.reviews.origin.is_partial else True


def _headline(report: Report, state: Sequence[str]) -> str:
    unlisted = report.reviews.origin.unlisted
    level = None if report.level is None else level_named(report.level)
    if unlisted is not None:
        words = f"{unlisted.which[:1].upper()}{unlisted.which[1:]} are not in this file"
    elif state:
        words = state[0]
    elif level is None or not level.compares:
        words = "Not comparable"
    else:
        words = f"{level.words[0].upper()}{level.words[1:]}"
    return ": ".join(filter(None, [words, report.reviews.origin.scope(report.reviews.n_items)]))


def pictures(report: Report) -> list[Picture]:
    """Return the pictures of a check: the map of several groups, loads, expected errors."""
    if not report.reviews.n_reviews:
        return []
    grouping = grouping_of(report.structure)
    return pictures_among([_map(report, grouping), loads(report.reviews), _errors(report.expected)])


def _facts(report: Report) -> list[Fact]:
    structure = report.structure
    reviews = report.reviews
    scored = int(reviews.scored.sum())
    state = state_of(reviews.n_reviews, scored)
    components = structure.doubly_connected
    numbers = [
        Fact("Papers", f"{reviews.n_items:,}"),
        Fact("Reviewers", f"{reviews.n_reviewers:,}"),
        Fact("Reviews", f"{reviews.n_reviews:,}", state),
        Fact("Groups", f"{len(components):,}", f"largest: {counted(components.largest_cover, 'paper')}"),
        Fact("Missing links", f"{structure.degrees_of_freedom:,}", "degrees of freedom"),
    ]
    if reviews.n_items:
        average = f"median; plain average {np.median(report.expected.average):.2f}"
        numbers.append(Fact("Expected error", f"{np.median(report.expected.error):.2f}", average))
    return numbers


def _map(report: Report, grouping: Grouping) -> Section:
    parts: list[Part] = []
    if len(grouping) > 1:
        words = _map_words(grouping)
        parts.append(Picture("groups", "The map of groups", words, partial(group_map, grouping.map())))
    scored = by_scores(report.scored, certain=report.scored_recovery_resilient)
    return Section("map", "Groups", [*parts, *parts_of([*groups(grouping.structure), *scored])])


def _map_words(grouping: Grouping) -> str:
    n = len(grouping)
    hanging = int(grouping.hanging.sum())
    apart = int((grouping.piece > 0).sum())
    pieces = int(grouping.piece.max()) + 1
    alone = len(grouping.structure.doubly_connected) - n
    shown = f"the {MOST} largest of {counted(n, 'group')}" if n > MOST else counted(n, "group")
    sentences = [
        f"Reviewers of one group have their papers on one scale for certain. The map shows {shown} as circles, each as "
        "large as its papers, and lines for papers that two groups share; a single shared paper does not join them."
    ]
    if hanging:
        by = counted(hanging, "group hangs", "groups hang")
        papers = first_labels(grouping.structure.reviews.items, grouping.cut, LISTED + 1)
        sentences.append(f"{by} by one paper alone (there the map would break: {listed(papers)}).")
    if apart:
        sentences.append(
            f"{counted(apart, 'group is', 'groups are')} cut off: the groups lie in {counted(pieces, 'piece')} that "
            "share no paper."
        )
    if not (hanging or apart):
        sentences.append("None hangs by a single paper, and none is cut off.")
    if alone:
        sentences.append(f"Left out: {counted(alone, 'reviewer')} of one paper or none, who link nothing.")
    return " ".join(sentences)


def _errors(outlook: Outlook) -> Section:
    items = outlook.structure.reviews.items
    order = outlook.weakest
    unit = "points" if outlook.assumptions.spread != 1.0 else "in spreads of quality"
    names = [str(items[i]) for i in order.tolist()]
    error = outlook.error[order]
    words = (
        f"Each paper's expected error once all scores are in, from {error.max():.2f} down to {error.min():.2f}; the "
        "lines extend from what one more review would leave to the error of the plain average."
    )
    points = Ranked(error, outlook.with_one_more[order], outlook.average[order], ["dot"] * order.size, names)
    curve = [Bar(f"{step.added:,}", round(100 * step.right)) for step in outlook.curve]
    first, *later = selection(outlook)
    selections = f"{first}{';' if later else ''} {'; '.join(line.strip() for line in later)}."
    parts: list[Part] = [
        *parts_of([PRECISE, *expectations(outlook)]),
        Picture(
            "errors",
            "Expected error by paper",
            words,
            lambda width: ranked(
                points, width, f"expected error, {unit}", "papers, the largest error first", [("dot", "expected error")]
            ),
        ),
        Picture(
            "right",
            "Right selections, in %, by reviews added",
            selections,
            lambda width: bars(curve, width, "added"),
        ),
    ]
    return Section("errors-section", "Expected error", parts)


def coded(report: Report, codes: Codes) -> Report:
    """Return a check with all labels under codes; its tables are under codes already."""
    missing = report.missing
    if isinstance(missing, Mapping):
        # Who is not in the table was warned of, and has no code.
        missing = {codes.reviewer[who]: chance for who, chance in missing.items() if who in codes.reviewer}
    violations = report.violations
    if violations is not None:
        pairs = violations.conflicts
        if pairs is not None:
            coded_pairs = ((codes.reviewer[reviewer], codes.item[item]) for reviewer, item in pairs)
            pairs = tuple(sorted(coded_pairs, key=lambda pair: tuple(map(natural_key, pair))))
        over = _violated(violations.over_load, codes.reviewer)
        short = _violated(violations.short, codes.item)
        violations = replace(violations, conflicts=pairs, over_load=over, short=short)
    return replace(report, missing=missing, violations=violations)


def _violated(rows: Iterable[Violated] | None, code: Mapping[Label, str]) -> tuple[Violated, ...] | None:
    if rows is None:
        return None
    return tuple(
        sorted((entry._replace(label=code[entry.label]) for entry in rows), key=lambda entry: natural_key(entry.label))
    )

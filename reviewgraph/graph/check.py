"""The check of an assignment: its levels, what violates rules, and expected errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Unpack, cast, overload

import numpy as np

from reviewgraph._base.arguments import checked, refuse, selected_of
from reviewgraph._base.arrays import BoolArray, IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import Label
from reviewgraph._base.results import Result
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import ITEM, REVIEWER, UNKNOWN
from reviewgraph.formats.side import DEMAND, LOAD
from reviewgraph.graph.components import Structure, structure_of
from reviewgraph.graph.connection import Connection, check_parts
from reviewgraph.graph.fragility import Fragile, Keeps, fragile, keeps
from reviewgraph.graph.levels import Connected, LevelName, level_named
from reviewgraph.graph.precision import Assumptions, Outlook, assumed, outlook_of
from reviewgraph.io.matching import match_labels, match_pairs
from reviewgraph.io.rules import CheckRules, Rules, stated_rules
from reviewgraph.io.sides import Pairs, Valued, by_label, pairs_of, without_gone
from reviewgraph.parts.parts import PartedReviews
from reviewgraph.table.reviews import Reviews, ReviewsLike, as_reviews


def unreviewed(reviews: Any) -> tuple[BoolArray, BoolArray]:
    """Return the items that nobody reviews, and those all of whose reviews the files lack, shape (N,)."""
    none = np.asarray(reviews.reviews_per_item == 0)
    origin = getattr(reviews, "origin", UNKNOWN)
    if origin.lacking is None:
        return none, np.zeros_like(none)
    lacking = np.array([label in origin.lacking.reviews for label in reviews.items], np.bool_)
    return none & ~lacking, none & lacking


# Violations of rules: conflicts, reviewers above their load, papers short of their demand.

#: The absence of a load or demand.
NO_LIMIT = -1
#: Larger loads and demands are cut to this one.
MOST = 1 << 40


class Conflict(NamedTuple):
    """A review that is a conflict."""

    reviewer: Label
    item: Label


class AboveLoad(NamedTuple):
    """A reviewer with more reviews than their load."""

    reviewer: Label
    reviews: int
    load: int


class BelowDemand(NamedTuple):
    """An item with fewer reviews than it needs."""

    item: Label
    reviews: int
    demand: int


@dataclass(frozen=True)
class Violations:
    """Violations of an assignment; None where a rule was not passed."""

    conflicts: tuple[Conflict, ...] | None = None
    over_load: tuple[AboveLoad, ...] | None = None
    short: tuple[BelowDemand, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return lists of objects, null where a rule was not passed."""
        return {rule: None if rows is None else [row._asdict() for row in rows] for rule, rows in vars(self).items()}

    def sentences(self) -> list[str]:
        """Return a count for each rule that is violated, without full stop."""
        sentences = []
        if self.conflicts:
            sentences.append(counted(len(self.conflicts), "review is a conflict", "reviews are conflicts"))
        if self.over_load:
            who = counted(len(self.over_load), "reviewer is above their load", "reviewers are above their load")
            excess = sum(entry.reviews - entry.load for entry in self.over_load)
            sentences.append(f"{who}, by {counted(excess, 'review')}")
        if self.short:
            what = counted(len(self.short), "paper is short of its demand", "papers are short of their demand")
            lack = sum(entry.demand - entry.reviews for entry in self.short)
            sentences.append(f"{what}, by {counted(lack, 'review')}")
        return sentences


def violations_of(
    reviews: ReviewsLike,
    conflicts: Pairs | None = None,
    load: int | Valued | None = None,
    demand: int | Valued | None = None,
) -> Violations:
    """Return the violations of conflicts (pairs), loads and demands (one number, or one per reviewer or item).

    Labels that the reviews do not have are warned of, and refused where none matches.

    >>> from reviewgraph import Reviews
    >>> broken = violations_of(Reviews([("ann", 1), ("ann", 2)]), conflicts=[("ann", 2)], load=1, demand=2)
    >>> broken.conflicts, broken.over_load[0].load, len(broken.short)
    ((Conflict(reviewer='ann', item=2),), 1, 2)
    """
    reviews = as_reviews(reviews)
    people = reviews.reviewers
    papers = reviews.items
    N = reviews.n_items
    barred = over_load = short = None
    # Labels to codes, then reviews, loads and counts against the limits.
    if conflicts is not None:
        pairs = pairs_of(conflicts, "conflicts", reviews._spellings())
        reviewer, item = match_pairs(pairs, people, papers, "conflicts", explained=reviews.origin.withdrawn)
        keys = (reviewer * N + item)[(reviewer >= 0) & (item >= 0)]
        rows = np.flatnonzero(np.isin(reviews.reviewer * N + reviews.item, keys)).tolist()
        barred = tuple(Conflict(people[int(reviews.reviewer[row])], papers[int(reviews.item[row])]) for row in rows)
    if load is not None:
        limit = _limits(load, "load", reviews)
        loads = reviews.loads
        codes = np.flatnonzero((limit != NO_LIMIT) & (loads > limit)).tolist()
        over_load = tuple(AboveLoad(people[code], int(loads[code]), int(limit[code])) for code in codes)
    if demand is not None:
        limit = _limits(demand, "demand", reviews)
        counts = reviews.reviews_per_item
        codes = np.flatnonzero(counts < limit).tolist()
        short = tuple(BelowDemand(papers[code], int(counts[code]), int(limit[code])) for code in codes)
    return Violations(barred, over_load, short)


def _limits(limits: int | Valued, name: str, reviews: Reviews) -> IntArray:
    """Return the limit of each reviewer (``load``) or item (``demand``)."""
    labels = reviews.reviewers
    other_side = reviews.items
    label = REVIEWER
    value = LOAD.role
    role = "reviewer"
    if name == "demand":
        labels, other_side, label, value, role = other_side, labels, ITEM, DEMAND.role, "paper"
    if isinstance(limits, Real):
        return np.minimum(np.full(len(labels), limits, np.float64), MOST).astype(np.int64)
    of_label = by_label(limits, name, label, value, reviews._spellings())
    code = match_labels(list(of_label), labels, name, role, other=other_side)
    limit = np.full(len(labels), NO_LIMIT, np.int64)
    for place, (who, number) in zip(code.tolist(), of_label.items(), strict=True):
        if number is not None:
            if number != number:
                raise InputError(f"{name}: expected a number for {who!r}, found {number!r}")
            refuse(f"{name} of {who!r}", number, "float")
            if place >= 0:
                limit[place] = int(min(number, MOST))
    return limit


# The report.

#: Maximum reviews of a table whose critical reviewers are searched by default, in a fraction of a second.
QUICK = 300
#: The rules that a check supports.
HEEDED = tuple(CheckRules.__annotations__)


@dataclass(frozen=True, eq=False, repr=False)
class Report(Result):
    """The check of an assignment, see :func:`check`.

    Parameters
    ----------
    structure
        Components, missing links and levels if all reviews arrive.
    as_of_now
        The same for the reviews with scores, where some have none.
    assumptions
        Standard deviations behind expected errors.
    n_selected
        Number of best items that will be selected; a tenth by default.
    look
        Whether critical reviewers and reviews are searched; by default in small tables.
    missing
        Probability that a review fails to arrive, one number or by reviewer; None by default.
    violations
        Violations of conflicts, loads and demands; None where none of these was passed.

    Examples
    --------
    >>> from reviewgraph import Reviews, check
    >>> check(Reviews([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)])).level
    'connected'
    """

    structure: Structure
    as_of_now: Structure | None
    assumptions: Assumptions = field(default_factory=Assumptions)
    n_selected: int | None = None
    look: bool | None = None
    missing: float | Mapping[Label, float] | None = None
    violations: Violations | None = None

    _paged_by: ClassVar[str] = "reviewgraph.report.check:page_of"
    _verified_by: ClassVar[str] = "reviewgraph.verifying:of_check"
    _rows_are: ClassVar[str] = "reviewers"

    @cached_property
    def fragile(self) -> Fragile | None:
        """Critical reviewers and reviews of the highest level that holds; None where they were not searched."""
        wanted = self.reviews.n_reviews <= QUICK if self.look is None else self.look
        return fragile(self.reviews, cast("LevelName", self.level or Connected.name)) if wanted else None

    @cached_property
    def keeps(self) -> Keeps | None:
        """The probability that each level is kept; None without probabilities that reviews fail to arrive."""
        return None if self.missing is None else keeps(self.reviews, self.missing)

    @cached_property
    def expected(self) -> Outlook:
        """Expected errors of the items, and the gain from more reviews."""
        return outlook_of(self.structure, self.assumptions, self.n_selected)

    @property
    def reviews(self) -> Reviews:
        """The table checked."""
        return self.structure.reviews

    @property
    def recovery_resilient(self) -> bool:
        """Whether all items are comparable for certain."""
        return self.structure.recovery_resilient

    @property
    def recoverable(self) -> bool:
        """Whether all items are comparable unless qualities line up by coincidence."""
        return self.structure.recoverable

    @property
    def degrees_of_freedom(self) -> int:
        """Missing links."""
        return self.structure.degrees_of_freedom

    @property
    def level(self) -> str | None:
        """The name of the highest level that holds for the structure, or None."""
        return self.structure.level

    def __bool__(self) -> bool:
        """Raise InputError, as a check of papers that are not comparable would count as true."""
        raise InputError("check: expected a question, as report.reaches('double') or report.level, found a truth value")

    @checked
    def reaches(self, level: LevelName) -> bool:
        """Whether a level holds.

        Parameters
        ----------
        level
            Name of the level.

        Returns
        -------
        bool
            Whether all items are at the level.

        Raises
        ------
        InputError
            If no level has the name.

        Examples
        --------
        >>> from reviewgraph import Reviews
        >>> report = check(Reviews([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)]))
        >>> report.reaches("connected"), report.reaches("double")
        (True, False)
        """
        return level_named(level).holds(self.structure)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as the command's ``--json`` prints it."""
        report = self.structure.to_dict()
        unlisted = self.reviews.origin.unlisted
        report["unlisted"] = None if unlisted is None else {"papers": unlisted.which, "listed_in": unlisted.beside}
        report["expected_error"] = self.expected.to_dict() if self.reviews.n_items else None
        report["fragile"] = None if self.fragile is None else self.fragile.to_dict()
        report["keeps"] = None if self.keeps is None else self.keeps.to_dict()["levels"]
        if self.as_of_now is not None:
            report["as_of_now"] = self.as_of_now.to_dict()
        if self.violations is not None:
            report["violations"] = self.violations.to_dict()
        return {**report, **self.reviews.origin.to_dict()}

    def to_columns(self) -> dict[str, list[Any]]:
        """Return one row per reviewer, as :meth:`Structure.to_columns`."""
        return self.structure.to_columns()

    def _tables(self) -> dict[str, Callable[[], Mapping[str, Sequence[Any]]]]:
        return {**super()._tables(), "items": self._items, "groups": self.structure.groups}

    def _items(self) -> dict[str, list[Any]]:
        """Return the reviews of each item and its expected errors: as it is, with one review more, of its average."""
        errors = self.expected
        return {
            "item": list(self.reviews.items),
            "reviews": self.reviews.reviews_per_item.tolist(),
            "error": errors.error.tolist(),
            "error_with_one_more": errors.with_one_more.tolist(),
            "error_of_average": errors.average.tolist(),
        }

    def headline(self) -> str:
        """Return the level, the number of missing links, and what violates rules."""
        return ", ".join([self.structure.headline(), *(self.violations.sentences() if self.violations else [])])


@overload
def check(reviews: PartedReviews) -> Connection: ...
@overload
def check(
    reviews: ReviewsLike,
    like: ReviewsLike | None = None,
    assumptions: Assumptions | None = None,
    n_selected: int | str | None = None,
    fragile: bool | None = None,
    missing: float | Mapping[Label, float] | None = None,
    *,
    rules: Rules | None = None,
    **options: Unpack[CheckRules],
) -> Report: ...
@checked(options=CheckRules)
def check(
    reviews: ReviewsLike | PartedReviews,
    like: ReviewsLike | None = None,
    assumptions: Assumptions | None = None,
    n_selected: int | str | None = None,
    fragile: bool | None = None,
    missing: float | Mapping[Label, float] | None = None,
    *,
    rules: Rules | None = None,
    **options: Unpack[CheckRules],
) -> Report | Connection:
    """Check whether reviews put all items on one scale, what is missing if they do not, and what errors to expect.

    Parameters
    ----------
    reviews
        The table to check, or a data frame of it.
    like, assumptions
        Assumptions on scores, as in :func:`expected_errors`.
    n_selected
        Number of best items that will be selected, or a percentage such as ``"20%"``: a tenth of the items by default.
    fragile
        Whether to search reviewers and reviews whose loss lowers the level; by default in small tables.
    missing
        The probability that a review fails to arrive, as in :func:`keeps`; by default nothing is simulated.
    rules
        ``conflicts``, ``conflict_by`` with ``attributes`` and ``item_attributes``, ``load`` and ``demand`` of
        :class:`Rules` to check; and ``gone``, the reviewers whose reviews without a score are left out. By default
        none.
    **options
        The same as keywords of their own, as in ``check(reviews, load=5)``.

    Returns
    -------
    Report
        The level of connection, what is missing, expected errors and broken rules, each computed when first used.

    Raises
    ------
    InputError
        If ``like`` and ``assumptions`` are both passed, nothing can be learned from ``like``, or there are rules that a
        check does not support.

    Notes
    -----
    Takes time near-linear in the number of reviews on real and random tables.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> report = check(Reviews([("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2), ("bob", 3)]))
    >>> report
    <Report: 3 items, double>
    >>> report.recovery_resilient, report.level, report.degrees_of_freedom
    (True, 'double', 0)
    """
    if isinstance(reviews, PartedReviews):
        if options or any(value is not None for value in (like, assumptions, n_selected, fragile, missing, rules)):
            raise InputError("reviews: expected no other argument for a table in parts, found some; leave them out")
        return check_parts(reviews)
    if isinstance(like, Result) and hasattr(like, "added"):
        raise InputError(
            f"like: expected scored reviews of an earlier round, found a {type(like).__name__}; check(plan) checks the "
            "table together with the plan"
        )
    whole = as_reviews(reviews)
    stated = stated_rules("check", rules, options, HEEDED)
    reviews = without_gone(whole, stated.gone)
    n_scored = int(reviews.scored.sum())
    stated = stated._with_shared(whole.reviewers, whole.items, whole._spellings())
    limits = (stated.conflicts, stated.load, stated.demand)
    asked = any(limit is not None for limit in limits)
    return Report(
        structure=structure_of(reviews),
        as_of_now=structure_of(reviews.only_scored()) if 0 < n_scored < reviews.n_reviews else None,
        assumptions=assumed(like, assumptions),
        n_selected=None if n_selected is None else selected_of(n_selected, reviews.n_items),
        look=fragile,
        missing=missing,
        violations=violations_of(reviews._with_labels(whole.reviewers), *limits) if asked else None,
    )

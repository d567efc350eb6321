"""The assignment check: everything the review graph says about comparing scores, in one report."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from reviewgraph.arguments import checked
from reviewgraph.assumptions import Assumptions
from reviewgraph.components import covers_all, doubly_connected_components
from reviewgraph.errors import InputError
from reviewgraph.fragility.losses import losses_of
from reviewgraph.fragility.words import losses
from reviewgraph.framed import as_reviews
from reviewgraph.levels import level_named
from reviewgraph.pages import page
from reviewgraph.plots import Pictured
from reviewgraph.precision.expected import assumed
from reviewgraph.precision.outlook import outlook_of
from reviewgraph.precision.words import expectations
from reviewgraph.provenance import record_of
from reviewgraph.rules import stated_rules
from reviewgraph.sides.leaving import without_gone
from reviewgraph.structure import structure_of
from reviewgraph.violations import Violations, violations_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph.components import Components
    from reviewgraph.fragility.losses import Losses
    from reviewgraph.framed import ReviewsLike
    from reviewgraph.labels import Label
    from reviewgraph.precision.outlook import Outlook
    from reviewgraph.reviews import Reviews
    from reviewgraph.rules import Rules
    from reviewgraph.structure import Structure

#: The rules that a check looks at.
HEEDED = ("conflicts", "gone", "demand", "load")


@dataclass(frozen=True, eq=False, repr=False)
class Report(Pictured):
    """The check of an assignment, see :func:`check`.

    Parameters
    ----------
    structure
        What the table promises if all its reviews arrive.
    as_of_now
        The same for the reviews that have scores, where some have and some have not.
    scored
        Components by the scores themselves, ties carrying no scale, where there are scores.
    assumptions
        Of the scores, for expected errors.
    n_selected
        How many of the best will be selected; a tenth by default.
    look
        Whether reviewers and reviews whose loss lowers the level are looked for; by default in small tables.
    missing
        The probability that a review fails to arrive, one number or by reviewer; None by default.
    violations
        What is broken of conflicts, loads and demands; None where nothing was given.
    """

    structure: Structure
    as_of_now: Structure | None
    scored: Components | None
    assumptions: Assumptions = field(default_factory=Assumptions)
    n_selected: int | None = None
    look: bool | None = None
    missing: float | Mapping[Label, float] | None = None
    violations: Violations | None = None

    pictured_by: ClassVar[str] = "reviewgraph.report.check.document"

    @cached_property
    def losses(self) -> Losses:
        """What losses would do to the level."""
        return losses_of(self.reviews, self.level, self.look, self.missing)

    @cached_property
    def expected(self) -> Outlook:
        """Expected errors of the items, and what more reviews would buy."""
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
        """The name of the highest level that holds for the structure, or none."""
        return self.structure.level

    @cached_property
    def scored_recovery_resilient(self) -> bool:
        """Whether the scores themselves make all items comparable for certain; false without scores."""
        return self.scored is not None and covers_all(self.scored, use_scores=True)

    @checked
    def reaches(self, level: str, *, use_scores: bool = False) -> bool:
        """Whether a level holds, with ``use_scores`` by the reviews that have scores and, where ties matter, by ties.

        Raises
        ------
        InputError
            If ``use_scores`` is asked of a table without scores or of a level that does not go by them, or no level has
            the name.
        """
        asked = level_named(level)
        if not use_scores:
            return asked.holds(self.structure)
        if asked.outlives:
            message = f"use_scores: expected a level that goes by scores, found {asked.name!r}; ask without use_scores"
            raise InputError(message)
        if self.scored is None:
            message = "use_scores: expected a table with scores, found planned reviews only"
            raise InputError(message)
        return self.scored_recovery_resilient if asked.heeds_ties else asked.holds(self.as_of_now or self.structure)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as the command's ``--json`` prints it."""
        found, unlisted = self.structure.to_dict(), self.reviews.origin.unlisted
        found["unlisted"] = None if unlisted is None else {"papers": unlisted.which, "listed_in": unlisted.beside}
        found["expected_error"] = self.expected.to_dict() if self.reviews.n_items else None
        found |= self.losses.to_dict()
        if self.as_of_now is not None:
            found["as_of_now"] = self.as_of_now.to_dict()
        if self.scored is not None:
            resilient = {"recovery_resilient": self.scored_recovery_resilient}
            found["scored"] = {"doubly_connected": self.scored.to_dict(), **resilient}
        if self.violations is not None:
            found["violations"] = self.violations.to_dict()
        return {**found, **record_of(self.reviews.origin.files)}

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row a reviewer, as :meth:`Structure.to_columns`."""
        return self.structure.to_columns()

    def headline(self) -> str:
        """Return the level, and what is missing."""
        return self.structure.headline()

    def page(self) -> str:
        """Return the check as a page for people: what is missing, then the verdict."""
        return "\n".join(
            [
                page(
                    self.structure,
                    self.as_of_now,
                    self.scored,
                    self.violations,
                    certain=self.scored_recovery_resilient,
                ),
                *expectations(self.expected),
                *losses(self.losses),
            ]
        )


@checked
def check(
    reviews: ReviewsLike,
    like: ReviewsLike | None = None,
    assumptions: Assumptions | None = None,
    n_selected: int | None = None,
    fragile: bool | None = None,
    missing: float | Mapping[Label, float] | None = None,
    *,
    rules: Rules | None = None,
    **given: Any,
) -> Report:
    """Check whether reviews put all items on one scale, what is missing if they do not, and what errors to expect.

    Parameters
    ----------
    reviews
        The table to check, or a data frame of it.
    like, assumptions
        What is assumed of scores, as in :func:`expected_errors`.
    n_selected
        How many of the best will be selected: a tenth of the items by default.
    fragile
        Whether to look for reviewers and reviews whose loss lowers the level; by default in small tables.
    missing
        The probability that a review fails to arrive, as :func:`keeps` takes it; by default nothing is simulated.
    rules
        What the assignment should keep to: ``conflicts``, ``load`` and ``demand`` of :class:`Rules`; and who is
        ``gone``, whose reviews without a score are left out. By default nothing is looked at.
    **given
        The same as keywords of their own, as in ``check(reviews, load=5)``.

    Raises
    ------
    InputError
        If ``like`` and ``assumptions`` are both given, nothing can be learned from ``like``, or there are rules that a
        check does not look at.

    Notes
    -----
    Takes time near-linear in the number of reviews on real and random tables.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> report = check(Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2), ("bob", 3)]))
    >>> report
    <Report: 3 items, double>
    >>> report.recovery_resilient, report.level, report.degrees_of_freedom
    (True, 'double', 0)
    """
    whole = as_reviews(reviews)
    stated = stated_rules("check", rules, given, HEEDED)
    reviews = without_gone(whole, stated.gone)
    n_scored = int(reviews.scored.sum())
    limits = (stated.conflicts, stated.load, stated.demand)
    asked = any(limit is not None for limit in limits)
    return Report(
        structure=structure_of(reviews),
        as_of_now=structure_of(reviews.only_scored()) if 0 < n_scored < reviews.n_reviews else None,
        scored=doubly_connected_components(reviews, use_scores=True) if n_scored else None,
        assumptions=assumed(like, assumptions),
        n_selected=n_selected,
        look=fragile,
        missing=missing,
        violations=violations_of(reviews.with_labels(whole.reviewers), *limits) if asked else None,
    )

"""Verification of a result in Python: by code that shares nothing with what made it, as ``reviewgraph verify`` does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from reviewgraph._base.arguments import checked
from reviewgraph._base.errors import InputError
from reviewgraph._base.page import Fact, Page
from reviewgraph._base.results import Result, Status
from reviewgraph._base.storing import plain
from reviewgraph._verify.answers import Answer, Findings
from reviewgraph._verify.graphs import table_of
from reviewgraph._verify.plans import verify_check
from reviewgraph.io.rules import AssignmentRules, PlanRules, Rules
from reviewgraph.table.reviews import Reviews, ReviewsLike, as_reviews

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reviewgraph._base.labels import Label
    from reviewgraph.formats.spellings import Merge
    from reviewgraph.graph.check import Report
    from reviewgraph.io.sides import Pairs, Valued


class VerificationStatus(Status):
    """What independent code found of a result."""

    HOLDS = "holds", "every claim was recomputed, or follows from what was"
    REFUTED = "refuted", "at least one claim is wrong"
    NOT_REFUTED = "not_refuted", "nothing is wrong, and a claim could not be checked"

    @property
    def good(self) -> bool | None:
        """Whether the result holds; None where a claim could not be checked."""
        return None if self is VerificationStatus.NOT_REFUTED else self is VerificationStatus.HOLDS


@dataclass(frozen=True, eq=False, repr=False)
class Verification(Result):
    """What independent code found of a result, see :func:`verify`.

    Parameters
    ----------
    status
        ``holds``, ``refuted`` or ``not_refuted``; ``status.text`` explains it.
    result
        The result.
    findings
        What is wrong, what was checked, and what was not, in sentences.

    Examples
    --------
    >>> from reviewgraph import Reviews, check
    >>> reviews = Reviews([("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2)])
    >>> verify(check(reviews), reviews)
    <Verification: holds, the Report>
    """

    status: VerificationStatus
    result: Result
    findings: Findings

    _paged_by: ClassVar[str] = "reviewgraph.verifying:page_of_verification"
    _rows_are: ClassVar[str] = "findings"

    @property
    def reviews(self) -> Reviews:
        """The reviews of the result."""
        reviews: Reviews = self.result.reviews
        return reviews

    def __bool__(self) -> bool:
        """Whether the result holds: ``assert verify(...)`` fails where :attr:`good` is False or None."""
        return self.good is True

    @property
    def good(self) -> bool | None:
        """Whether the result holds; None where a claim could not be checked."""
        return self.status.good

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as ``verify --json`` prints them."""
        return self.findings.to_dict()

    def to_columns(self) -> dict[str, list[Any]]:
        """Return a row for each finding: ``wrong``, ``checked`` or ``trusted``, and the sentence."""
        kinds = ("wrong", "checked", "trusted")
        rows = [(kind, words) for kind in kinds for words in getattr(self.findings, kind)]
        return {"kind": [kind for kind, _ in rows], "finding": [words for _, words in rows]}

    def headline(self) -> str:
        """Return the outcome, and what was verified."""
        return f"{self.status}, the {type(self.result).__name__}"


def page_of_verification(verification: Verification) -> Page:
    """Return the page of a verification."""
    return page_of(f"the {type(verification.result).__name__}", verification.findings)


class VerifiedRules(PlanRules, AssignmentRules, total=False):
    """Rules that a verification takes as keywords, and what else an assignment was made under."""

    demand: int | Valued | None
    load: int | Valued | None
    items: Iterable[Label] | None
    reviewers: Iterable[Label] | None
    phase_one: Pairs | None
    previous: Pairs | None
    allow_unscored: bool
    floor: float | None
    merge: Merge | None


#: Keywords of assignments that are no rules, and decide what is allowed.
OF_ASSIGNMENTS = ("items", "reviewers", "phase_one", "previous", "allow_unscored", "floor", "merge")


@checked(options=VerifiedRules)
def verify(
    result: Result, reviews: ReviewsLike, *, rules: Rules | None = None, **options: Unpack[VerifiedRules]
) -> Verification:
    """Check a plan, an assignment, a calibration or a check by simple code that shares nothing with what made it.

    Parameters
    ----------
    result
        What :func:`plan`, :func:`assign`, :func:`calibrate` or :func:`check` returned.
    reviews
        The reviews, or for an assignment the affinities, that it was made from.
    rules
        The rules that it was made under; none by default. An assignment also needs its ``demand`` and ``load``, where
        they were passed to :func:`assign`.
    **options
        The same as keywords of their own, as in ``verify(plan, reviews, conflicts=pairs)``; for an assignment also
        ``items``, ``reviewers``, ``phase_one``, ``previous``, ``allow_unscored``, ``floor`` and ``merge``, where they
        were passed to :func:`assign`.

    Returns
    -------
    Verification
        ``Holds``, ``Refuted`` with the reasons, or ``Not refuted`` where a claim could not be checked; then what was
        checked, and what was not. Its ``good`` is True, False or None, and only True counts as true.

    Raises
    ------
    InputError
        If nothing can check a result of this kind, or an argument is malformed.

    Examples
    --------
    >>> from reviewgraph import Reviews, check
    >>> reviews = Reviews([("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2)])
    >>> verify(check(reviews), reviews).good
    True
    """
    place = getattr(result, "_verified_by", None)
    if place is None:
        raise InputError(
            f"result: expected a plan, an assignment, a calibration or a check, found {type(result).__name__}; "
            "saved results are verified by the command: reviewgraph verify FILE REVIEWS"
        )
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    beside = {name: given.pop(name) for name in OF_ASSIGNMENTS if name in given}
    if beside and type(result).__name__ != "Assignment":
        message = f"{next(iter(beside))}: expected an assignment with it, found a {type(result).__name__}; leave it out"
        raise InputError(message)
    stated = replace(rules or Rules(), **given)
    findings: Findings = resolve_name(place)(result, reviews, stated, **beside)
    return Verification(VerificationStatus(findings.outcome), result, findings)


def of_check(report: Report, reviews: Any, rules: Rules) -> Findings:
    """Return what independent code finds of a check."""
    if rules.stated:
        message = f"{rules.stated[0]}: expected no rules with a check, whose violations are not verified; leave it out"
        raise InputError(message)
    return verify_check(Answer("check", "check", plain(report.to_dict())), table_of(as_reviews(reviews)))


#: Maximum number of reasons listed.
LISTED = 10


def page_of(path: str, findings: Findings) -> Page:
    """Return the verdict on an answer, with the reasons; then what was checked, and what was not."""
    good = VerificationStatus(findings.outcome).good
    verdict = f"{findings.outcome.capitalize().replace('_', ' ')}:"
    summary = path
    if findings.undecided:
        summary = f"{path} depends on what could not be checked"
    elif good:
        summary = f"{path} is checked by independent code"
    more = len(findings.wrong) - LISTED
    reasons = [*findings.wrong[:LISTED], *([f"... and {more} more"] if more > 0 else [])]
    assumed = [words for words in findings.trusted if words not in findings.undecided]
    facts = [Fact("Because", reason) for reason in reasons]
    facts += [Fact("Depends on", claim) for claim in findings.undecided]
    facts += [Fact("Checked", claim) for claim in findings.checked]
    facts += [Fact("Not checked", claim) for claim in assumed]
    return Page("Check of an answer", good, verdict, summary, facts)

"""Plans and assignments under codes: every sentence that results carry the parts of is said anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planner.assignments.words.fair import why_below
from planner.plans.model.task import new_task
from planner.plans.targets import target_named
from planner.plans.words.effects import joins
from planner.plans.words.needs import filled
from reviewgraph.clock import Clock
from reviewgraph.labels import natural_key
from reviewgraph.mentions import said_under

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.assignments.assignment import Assignment
    from planner.assignments.findings.changed import Concerned, Pair
    from planner.assignments.findings.fairness import Fairness
    from planner.assignments.findings.standing_by import Alternates
    from planner.plans.plan import Plan
    from planner.recruiting import Shortage
    from reviewgraph.report.codes import Codes


def coded_plan(found: Plan) -> Plan:
    """Return a plan, whose tables stand under codes already, with all it says under codes."""
    rules, table, pairs = found.constraints, found.constraints.reviews, found.pairs
    task = new_task(rules.without_fixed(), found.count + 1, use_scores=found.use_scores)
    joined, *_ = joins(task, target_named(found.target), pairs, Clock(None))
    reviews = tuple(
        replace(
            review,
            reviewer=table.reviewers[j],
            item=table.items[i],
            joins=said.words,
            short=said.short,
            buys=review.buys and f"{table.items[i]}{review.buys.removeprefix(str(review.item))}",
        )
        for review, (j, i), said in zip(found.reviews, pairs.tolist(), filled(task, pairs, joined), strict=True)
    )
    said = said_under(table.reviewers, table.items)
    reasons = tuple(map(said, found.explanation))
    bounds = tuple(replace(bound, lost=said(bound.lost)) for bound in found.bounds)
    return replace(found, reviews=reviews, explanation=reasons, bounds=bounds)


def coded_assignment(found: Assignment, codes: Codes) -> Assignment:
    """Return an assignment, whose table stands under codes already, with all it says under codes."""
    fairness = found.fairness and _fairness(found.fairness, codes)
    reasons = said_under(found.reviews.reviewers, found.reviews.items)(found.explanation)
    # What fairness says by itself is told by the page as what it is, and so has to read the same.
    if fairness is not None and found.fairness is not None and found.explanation == why_below(found.fairness):
        reasons = why_below(fairness)
    return replace(
        found,
        critical=None if found.critical is None else tuple(_sorted(codes.reviewer[who] for who in found.critical)),
        concerned=_concerned(found.concerned, codes),
        fairness=fairness,
        alternates=found.alternates and _alternates(found.alternates, codes),
        explanation=reasons,
        shortage=found.shortage and _shortage(found, found.shortage, codes),
    )


def _shortage(found: Assignment, gaps: Shortage, codes: Codes) -> Shortage:
    missing = sorted(((codes.item[item], number) for item, number in gaps.missing), key=lambda gap: natural_key(gap[0]))
    why = said_under(found.reviews.reviewers, found.reviews.items)(gaps.why)
    return replace(gaps, missing=tuple(missing), why=why)


def _sorted(labels: Iterable[str]) -> list[str]:
    """Return codes in their own order: that of names would tell something of these."""
    return sorted(labels, key=natural_key)


def _fairness(found: Fairness, codes: Codes) -> Fairness:
    return replace(found, below=tuple(_sorted(codes.item[label] for label in found.below)))


def _concerned(found: Concerned, codes: Codes) -> Concerned:
    changes, below = found.changes, found.below
    if changes is not None:
        # Who is gone has no code, and is nowhere named.
        dropped = tuple(pair._replace(reviewer="", item="") for pair in changes.dropped)
        changes = replace(changes, kept=_pairs(changes.kept, codes), dropped=dropped, new=_pairs(changes.new, codes))
    if below is not None:
        below = below._replace(pairs=_pairs(below.pairs, codes))
    return found._replace(changes=changes, below=below)


def _pairs(pairs: Iterable[Pair], codes: Codes) -> tuple[Pair, ...]:
    found = [pair._replace(reviewer=codes.reviewer[pair.reviewer], item=codes.item[pair.item]) for pair in pairs]
    return tuple(sorted(found, key=lambda pair: (natural_key(pair.item), natural_key(pair.reviewer))))


def _alternates(found: Alternates, codes: Codes) -> Alternates:
    missing = [one._replace(item=codes.item[one.item]) for one in found.missing]
    return replace(found, listed=(), missing=tuple(sorted(missing, key=lambda one: natural_key(one.item))))

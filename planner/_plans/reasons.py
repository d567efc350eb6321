"""Why a plan is partial, or why there is none: reasons found while planning, for explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner._plans.constraints import no_pairs
from planner._plans.outcome import named_papers, what_is_missing
from planner._plans.task import allowed_pairs
from reviewgraph._base import counted, noun

if TYPE_CHECKING:
    from planner._plans.target import Ledger, Target
    from planner._plans.task import Task
    from reviewgraph._base import IntArray


def why_partial(target: Target, ledger: Ledger) -> str:
    """Explain why there is no complete plan within the budget, or the time."""
    if ledger.out_of_reach:
        needs = " and what papers must have need" if any(b.kind == "coverage" for b in ledger.bounds) else " needs"
        return f"the target {target.name}{needs} more reviews than the budget allows"
    if ledger.pairs is not None:
        return f"no plan for the target {target.name} within the budget was found; that there is none is not proved"
    return f"no plan for the target {target.name} was found, and none was proved impossible"


def still_short(task: Task, pairs: IntArray) -> list[str]:
    """Count the papers that stay short of reviews."""
    needs = task.constraints.people.needs(task.table(pairs))
    sentences = []
    if needs.reviews.any():
        short = int((needs.reviews > 0).sum())
        least = task.constraints.people.min_reviews
        sentences.append(
            f"{counted(short, 'paper stays', 'papers stay')} short of {counted(least, 'review')}, "
            f"{int(needs.reviews.sum())} in all"
        )
    for missing, kind in what_is_missing(task.constraints.people, needs, np.ones(task.n_items, np.bool_)):
        sentences.append(f"{counted(missing, 'paper stays', 'papers stay')} with {kind}")
    return sentences


def why_not(task: Task, target: Target) -> list[str]:
    """Explain why a target cannot be reached: unreadable papers, unreachable groups, insufficient loads."""
    rules = task.constraints
    table = task.constraints.reviews
    if not (task.spare > 0).any():
        if not table.n_reviewers:
            return ["there are no reviewers; add the files with their reviews, or name emergency reviewers"]
        return ["no reviewer has spare load; raise loads, or name emergency reviewers"]
    # Each reason alone suffices: unread papers, papers outside, and insufficient loads.
    readers = np.zeros(task.n_items, np.int64)
    for j in np.flatnonzero(task.spare > 0).tolist():
        readers[rules.readable(j)] += 1
    reasons = []
    unread = np.flatnonzero((table.reviews_per_item == 0) & (readers == 0))
    if unread.size:
        reasons.append(f"nobody has reviewed, or may review, {named_papers(unread)}: conflicts or loads prevent it")
    inside = np.zeros(task.n_items, np.bool_)
    inside[target.largest_group(task.table(no_pairs()))] = True
    apart = np.setdiff1d(np.flatnonzero(~inside & (readers == 0)), unread)
    if apart.size:
        are = noun(apart.size, "is", "are")
        reasons.append(f"no one with spare load may read {named_papers(apart)}, which {are} outside the largest group")
    return [*reasons, _all_together(task, target)]


def fixed_too_many(task: Task, budget: int | None) -> list[str]:
    """Say that the fixed reviews exceed the budget, of which ``budget`` remains for others; empty if they do not."""
    if budget is None or budget >= 0:
        return []
    fixed = len(task.constraints.fixed)
    are = counted(fixed, "review is", "reviews are")
    return [f"{are} fixed, which is more than the {fixed + budget} allowed"]


def _all_together(task: Task, target: Target) -> str:
    remedy = "allow more pairs, raise loads or limits, or name emergency reviewers"
    pairs = allowed_pairs(task)
    if not target.reaches(task.table(pairs)):
        return f"even if every allowed review were written, some papers would not be {target.apart}; {remedy}"
    useful = np.minimum(task.spare, np.bincount(pairs[:, 0], minlength=task.spare.size))
    limits = "" if (task.room >= task.spare.size).all() else " and the limits of the papers"
    return (
        f"all allowed reviews together would suffice, but no choice of them within the spare loads (which add up to "
        f"{int(useful.sum())}){limits}; {remedy}"
    )

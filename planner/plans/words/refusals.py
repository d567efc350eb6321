"""Why a plan cannot be had: papers nobody may read, groups nobody may join, loads that do not suffice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.allowed import allowed_pairs
from planner.plans.model.tables import no_pairs, with_extra
from reviewgraph.mentions import PAPERS, REVIEWERS
from reviewgraph.words import counted, noun

if TYPE_CHECKING:
    from planner.plans.model.target import Target
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray


def why_not(task: Task, target: Target) -> list[str]:
    """Say why a target cannot be reached: papers nobody may read, groups nobody may join, loads that do not suffice."""
    rules, table = task.constraints, task.constraints.reviews
    if not (task.spare > 0).any():
        return ["no reviewer has spare load; raise loads, or name emergency reviewers"]
    # Each reason alone suffices: unread papers, papers apart, and what all loads together cannot do.
    readers = np.zeros(task.n_items, np.int64)
    for j in np.flatnonzero(task.spare > 0).tolist():
        readers[rules.readable(j)] += 1
    said = []
    unread = np.flatnonzero((table.reviews_per_item == 0) & (readers == 0))
    if unread.size:
        said.append(f"nobody has reviewed, or may review, {_list(unread)}: conflicts or loads stand in the way")
    inside = np.zeros(task.n_items, np.bool_)
    inside[target.largest_group(task.table(no_pairs()), use_scores=task.use_scores)] = True
    apart = np.setdiff1d(np.flatnonzero(~inside & (readers == 0)), unread)
    if apart.size:
        apart_is = noun(apart.size, "is", "are")
        papers = _list(apart)
        said.append(f"no one with spare load may read {papers}, which {apart_is} apart from the largest group")
    said.append(_all_together(task, target))
    return said


def fixed_too_many(task: Task, budget: int | None = None) -> list[str]:
    """Say whose spare load, and which papers' limits, the fixed reviews exceed; empty where there are none.

    The budget is what is left for others; below 0 they exceed that, too.
    """
    fixed = len(task.constraints.fixed)
    beyond = budget is not None and budget < 0
    words = (
        f"{counted(fixed, 'review is', 'reviews are')} fixed, which is more than the {fixed + (budget or 0)} allowed"
    )
    return (
        [words] * beyond
        + [
            f"reviewer {REVIEWERS[j]} has more fixed reviews than spare load"
            for j in np.flatnonzero(task.spare < 0).tolist()
        ]
        + [f"paper {PAPERS[i]} has more fixed reviews than its limit" for i in np.flatnonzero(task.room < 0).tolist()]
    )


def _all_together(task: Task, target: Target) -> str:
    """Say whether all allowed reviews would do, loads and limits aside."""
    remedy = "allow more pairs, raise loads or limits, or name emergency reviewers"
    table = with_extra(task.constraints.reviews, task.constraints.fixed)
    pairs = allowed_pairs(task.constraints, table, task.spare)
    pairs = pairs[task.room[pairs[:, 1]] > 0]
    if not target.reaches(task.table(pairs), use_scores=task.use_scores):
        return f"even if every allowed review were written, some papers would not be {target.apart}; {remedy}"
    useful = np.minimum(task.spare, np.bincount(pairs[:, 0], minlength=task.spare.size))
    limits = "" if (task.room >= task.spare.size).all() else " and the limits of the papers"
    return (
        f"all allowed reviews together would do, but no choice of them within the spare loads (which add up to "
        f"{int(useful.sum())}){limits}; {remedy}"
    )


def _list(codes: IntArray) -> str:
    shown = ", ".join(PAPERS[i] for i in codes[:5].tolist())
    return f"{noun(codes.size, 'paper')} {shown}" + (f" and {codes.size - 5} more" if codes.size > 5 else "")

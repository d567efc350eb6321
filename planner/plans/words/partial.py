"""How far a part of a plan gets, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.missing import what_is_missing
from reviewgraph.words import counted, noun

if TYPE_CHECKING:
    from planner.plans.model.keeping import Estimate, Keeping
    from planner.plans.model.ledger import Ledger
    from planner.plans.model.reach import Reach
    from planner.plans.model.target import Target
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray

#: Errors above this many times the noise of a score are not told apart: such papers are not placed at all.
FAR_OFF = 50


def why_partial(target: Target, ledger: Ledger) -> str:
    """Say why there is no whole plan within the budget, or the time."""
    if ledger.out_of_reach:
        needs = " and what papers must have need" if any(b.kind == "coverage" for b in ledger.bounds) else " needs"
        return f"the target {target.name}{needs} more reviews than the budget allows"
    if ledger.pairs is not None:
        return f"no plan for the target {target.name} within the budget was found; that there is none is not proved"
    return f"no plan for the target {target.name} was found, and none was proved impossible"


def still_short(task: Task, pairs: IntArray) -> list[str]:
    """Say how many papers stay short of reviews."""
    needs = task.constraints.people.needs(task.table(pairs))
    said = []
    if needs.reviews.any():
        short, least = int((needs.reviews > 0).sum()), task.constraints.people.min_reviews
        said.append(
            f"{counted(short, 'paper stays', 'papers stay')} short of {counted(least, 'review')}, "
            f"{int(needs.reviews.sum())} in all"
        )
    for missing, kind in what_is_missing(task.constraints.people, needs, np.ones(task.n_items, np.bool_)):
        said.append(f"{counted(missing, 'paper stays', 'papers stay')} with {kind}")
    return said


def how_far(target: Target, reach: tuple[Reach, Reach], allowed: int | None, count: int, sure: bool) -> list[str]:
    """Say how far a partial plan of ``count`` reviews gets, and whether it is sure that none gets further."""
    before, after = reach
    limit = "these" if allowed is None else f"{count} extra {noun(count, 'review')}"
    grows = f"grows from {before.papers} to" if after.papers != before.papers else "stays at"
    said = [f"with {limit} the largest group of papers {target.together} {grows} {after.papers} of {after.of}"]
    if after.error is not None and np.isfinite(after.error) and after.papers > 2:
        now = "" if before.error is None or before.papers <= 2 else f" (before: {_times(before.error)})"
        said.append(
            f"expected error of a paper in that group: {_times(after.error)} times the noise of one score{now}, "
            "shift and scale of all scores aside"
        )
    if sure:
        said.append("all choices within the budget were tried, and none does better")
    return said


def how_kept(target: Target, keeping: Keeping) -> list[str]:
    """Say how likely a level is kept when reviews fail to arrive, before and after the plan."""
    if not keeping.known:
        return [f"how likely the papers stay {target.together} when reviews fail to arrive was not estimated"]
    said = [
        f"if each review, planned ones included, fails to arrive with probability {keeping.missing:g}, the papers stay "
        f"{target.together} with probability {_chance(keeping.before)} as things are, and {_chance(keeping.after)} "
        "with the plan (by simulation, each with its standard error)"
    ]
    if keeping.attained and keeping.after.probability < keeping.wanted:
        said.append(f"so many draws do not tell that from the {keeping.wanted:g} asked for")
    if not keeping.attained:
        said.append(f"that is less than the {keeping.wanted:g} asked for: allow more reviews, load or time")
    return said


def _chance(estimate: Estimate) -> str:
    return f"{estimate.probability:.3f} ± {estimate.standard_error:.3f}"


def _times(error: float) -> str:
    return f"{error:.2g}" if error < FAR_OFF else f"over {FAR_OFF}"

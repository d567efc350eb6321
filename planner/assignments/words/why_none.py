"""Why there is no assignment, in words a chair can check by counting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.steps.core import largest_cover
from planner.assignments.steps.flow import Shortfall, shortfall
from planner.recruiting import Shortage, usual_load
from reviewgraph.checking import check
from reviewgraph.mentions import PAPERS, REVIEWERS, said_under
from reviewgraph.reviews import Reviews
from reviewgraph.words import counted, noun

if TYPE_CHECKING:
    from planner.assignments.model.levels import Aim
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray, Label
    from reviewgraph.mentions import Mentions
    from reviewgraph.reviews import BoolArray

#: Names listed before the rest is only counted.
NAMED = 6
#: Part of the reviews that the level may leave over where nearly all are needed.
NEARLY = 0.02
#: What two solvers say where few pairs are allowed.
NO_OTHER = (
    "Proved impossible: no choice of the allowed pairs within demands, loads and rules does. Raise demands or loads, "
    "or allow more pairs."
)


def why_infeasible(problem: Problem) -> str:
    """Explain a flow that does not exist by a set that needs more than it can get."""
    load, least = problem.open_loads()
    demand = problem.open_demand()
    free = ~problem.given
    found = shortfall(problem.item[free], problem.reviewer[free], demand, load, least)
    if found is None:
        return ""
    if not found.by_items:
        return _short_of_papers(problem, found, least)
    barred = int(problem.barred[found.items].sum())
    more = f" The authors' file rules out {counted(barred, 'more pair')} of them." if barred else ""
    return _short_of_reviews(problem, found, demand, load) + more


def shortage(problem: Problem, missing: IntArray) -> Shortage:
    """Say which papers of a problem lack reviews, shape (N,), whom to recruit for them, and why."""
    short = np.flatnonzero(missing)
    why = said_under(problem.reviewers, problem.items)(why_infeasible(problem))
    gaps = tuple((problem.items[i], int(missing[i])) for i in short.tolist())
    return Shortage(gaps, usual_load(problem.load.tolist()), why=why)


def _short_of_reviews(problem: Problem, found: Shortfall, demand: IntArray, load: IntArray) -> str:
    need = noun(found.items.size, "needs", "need")
    total = f"{found.needed} {noun(found.needed, 'review')}"
    needy = f"{papers(found.items)} {need} {each(demand[found.items], 'review')} = {total}"
    if problem.old.any():
        needy += ", reviewers of the first phase aside where they have read the paper"
    if not found.reviewers.size:
        return (
            f"{needy}, and only {found.pairs} (paper, reviewer) pairs are allowed for them. Score more pairs, allow "
            "unscored ones, or lift conflicts."
        )
    who = people(found.reviewers)
    rest = f", and other reviewers have {counted(found.pairs, 'allowed pair')} with these papers" if found.pairs else ""
    others = "" if found.reviewers.size == problem.n_reviewers else "who may take them "
    return (
        f"{needy}; {who} {others}with {each(load[found.reviewers], 'load', of='of')} can give {found.supply}{rest}: "
        f"{found.needed} > {found.supply + found.pairs}. Raise loads, add reviewers, lower demands or lift conflicts."
    )


def _short_of_papers(problem: Problem, found: Shortfall, least: IntArray) -> str:
    who = people(found.reviewers)
    rest = f", and {found.pairs} other allowed pairs" if found.pairs else ""
    return (
        f"{who} must get {each(least[found.reviewers], 'review')} = {found.needed} reviews by their min_load; the "
        f"{counted(found.items.size, 'paper')} open to them {noun(found.items.size, 'needs', 'need')} "
        f"{found.supply}{rest}: {found.needed} > "
        f"{found.supply + found.pairs}. Lower min_load, raise demands or lift conflicts."
    )


def why_unreachable(problem: Problem, aim: Aim) -> str:
    """Explain by counting why no assignment within demands and loads reaches the level; empty if that may be.

    Everyone who reviews k papers adds k - 2 new ones to a component at most (k - 1 where one shared paper is enough),
    whoever starts it 2 more (1 more). Full loads for as few as possible make the most of it.
    """
    if not aim.counts_joins:
        return ""
    N = int(problem.required.sum())
    bare = np.flatnonzero(problem.required & (problem.demand == 0))
    if bare.size:
        return (
            f"{papers(bare)} {noun(bare.size, 'has', 'have')} demand 0, and what nobody reviews cannot "
            "be compared. Raise the demand, leave them out, or ask for no level (target none)."
        )
    if problem.old.any() or N == 0:
        return ""
    reach = _reach(problem, aim.shared, int(problem.load.max(initial=0)))
    if reach >= N or (aim.shared >= N and int(problem.load.max(initial=0)) >= N):
        return ""
    return (
        f"{N} papers cannot be joined by these {int(problem.demand.sum())} reviews: a reviewer of k papers joins at "
        f"most {aim.joins} further ones, so even full loads reach {reach} papers, {aim.shared} at the start included. "
        "Raise demands or let fewer reviewers take more papers each."
    )


def nearly_all(problem: Problem, aim: Aim) -> str:
    """Say of a level, to be put after its name, that it needs nearly all the reviews there are; empty if not.

    N papers and M reviewers of two or more reviews each take N + 2 M - 2 at least (N + M - 1 where one shared paper is
    enough), by the same count as in :func:`why_unreachable`; M is smallest with full loads.
    """
    total, N = int(problem.demand.sum()), int(problem.required.sum())
    spare = _reach(problem, aim.shared, int(problem.load.max(initial=0))) - N
    if not aim.counts_joins or problem.old.any() or aim.shared >= N or not 0 <= spare <= NEARLY * total:
        return ""
    return f"needs {total - spare} of the {total} reviews there are, even with full loads: nearly all"


def _reach(problem: Problem, shared: int, cap: int) -> int:
    """Most papers that one component can cover when nobody takes more than ``cap``."""
    left, reach = int(problem.demand.sum()), shared
    for load in sorted(problem.load.tolist(), reverse=True):
        taken = min(load, cap, left)
        reach += max(taken - shared, 0)
        left -= taken
    return reach


def why_fragile(problem: Problem, aim: Aim, critical: Sequence[Label], clock: Clock, *, proved: bool = False) -> str:
    """Say who is critical still, and prove that somebody must be where that can be proved."""
    unknown = NO_OTHER if proved else "Whether it must is not known: raise demands or loads."
    codes = [j for j, label in enumerate(problem.reviewers) if label in set(critical)]
    if not aim.may_survive:
        proof = why_single(problem) or unknown
        return f"The level hangs on single reviews of {counted(len(codes), 'reviewer')} still. {proof}"
    proof = why_critical(problem, aim, codes, clock) or unknown
    return f"The level hangs on {counted(len(codes), 'reviewer')} still. {proof}"


def why_unsure(clock: Clock) -> str:
    """Say that nothing is known of what the level outlives."""
    ended = "It was interrupted" if clock.interrupted else "The time limit ended the search"
    return f"{ended} before it was known whom the level hangs on. Give it more time."


def why_critical(problem: Problem, aim: Aim, critical: Iterable[int], clock: Clock) -> str:
    """Prove, where counting or the closure over all allowed pairs does, that no assignment survives any one reviewer.

    Nobody may be the only reviewer of a paper. Whoever has most reviews, k, takes k - 2 from what the others can
    join (k - 1 where one shared paper is enough). And without a reviewer even all allowed pairs must be enough;
    that need only be tried for those who are critical now, as long as there is time.
    """
    return why_counted(problem, aim) or _hangs_on(problem, aim, critical, clock)


def why_counted(problem: Problem, aim: Aim) -> str:
    """Prove by counting alone, if that does it, that no assignment survives any one reviewer."""
    N, shared = int(problem.required.sum()), aim.shared
    single = why_single(problem)
    if single:
        return single
    caps = range(shared, int(problem.load.max(initial=0)) + 1)
    reach = max((_reach(problem, shared, cap) - (cap - shared) for cap in caps), default=0)
    if not problem.old.any() and shared < N and reach < N:
        return (
            f"Proved impossible: without the busiest reviewer the others can join {reach} of {N} papers at most, "
            f"because a reviewer of k papers joins at most {aim.joins} further ones. Raise demands or loads."
        )
    return ""


def why_single(problem: Problem) -> str:
    """Name the papers that get one review only: they survive no loss of it."""
    single = np.flatnonzero(problem.required & (problem.demand == 1))
    if not single.size:
        return ""
    return (
        f"Proved impossible: {papers(single)} {noun(single.size, 'gets', 'get')} one review only, "
        "and whoever writes it is critical. Raise that demand to 2 or more."
    )


def _hangs_on(problem: Problem, aim: Aim, critical: Iterable[int], clock: Clock) -> str:
    """Name a reviewer without whom even the assignment of all allowed pairs would miss the level."""
    for j in critical:
        if clock.over():
            return ""
        if joined_by_all(problem, aim, without=j) < int(problem.required.sum()):
            return (
                f"Proved impossible: reviewer {REVIEWERS[j]} stays critical, because without this reviewer "
                "even all allowed pairs together miss the level. Score more pairs, allow unscored ones, or lift "
                "conflicts."
            )
    return ""


def why_apart(problem: Problem, aim: Aim) -> str:
    """Prove that even all allowed pairs together miss the level; empty if they reach it."""
    N = int(problem.required.sum())
    reach = joined_by_all(problem, aim)
    if reach == N:
        return ""
    return (
        f"Even if every allowed pair were assigned, one group of reviewers who {aim.sharing} would cover {reach} of "
        f"{N} papers at most. Score pairs between the groups, allow unscored ones, or lift conflicts."
    )


def joined_by_all(problem: Problem, aim: Aim, without: int = -1) -> int:
    """Most required papers that one group covers if every allowed pair is assigned: a bound for all others."""
    N = int(problem.required.sum())
    keep = (problem.load[problem.reviewer] >= min(aim.shared, N)) & (problem.reviewer != without)
    table = Reviews.from_codes(
        problem.reviewer[keep], problem.item[keep], reviewers=problem.n_reviewers, items=problem.n_items
    )
    return largest_cover(aim, table, problem.required)


def how_it_ended(problem: Problem, aim: Aim, assigned: BoolArray, clock: Clock, *, proved: bool = False) -> str:
    """Say why the search ended and what the assignment has all the same."""
    kept = assigned & problem.required[problem.item]
    codes = (np.cumsum(problem.required) - 1)[problem.item[kept]]
    N, M = int(problem.required.sum()), problem.n_reviewers
    report = check(Reviews.from_codes(problem.reviewer[kept], codes, reviewers=M, items=N))
    has = f"{report.level}, no more" if report.level else "not even connected"
    end = (
        NO_OTHER[:-1]
        if proved
        else "It was interrupted"
        if clock.interrupted
        else "The time limit ended the search"
        if clock.over()
        else "The search found no further change that helps; raise demands or loads"
    )
    scarce = nearly_all(problem, aim)
    why = f" The level {scarce}, and few assignments join something by each of them." if scarce else ""
    return f"{end}. This assignment is {has}.{why}"


def each(numbers: IntArray, what: str, of: str = "") -> str:
    """Say a number that all have, or from what to what they have."""
    distinct = np.unique(numbers)
    if distinct.size == 1:
        return f"{what} {distinct[0]}" if of else f"{distinct[0]} {noun(int(distinct[0]), what)} each"
    return f"{what} {distinct[0]} to {distinct[-1]}" if of else f"{distinct[0]} to {distinct[-1]} {what}s"


def papers(codes: IntArray) -> str:
    """Count papers and name them, or the first of them."""
    return f"{counted(codes.size, 'paper')}{_names(PAPERS, codes)}"


def people(codes: IntArray, kind: str = "reviewer") -> str:
    """Count reviewers and name them, or the first of them."""
    return f"{counted(codes.size, kind)}{_names(REVIEWERS, codes)}"


def _names(mentions: Mentions, codes: Iterable[int]) -> str:
    named = [mentions[int(code)] for code in codes]
    if len(named) > NAMED:
        return f" ({', '.join(named[:3])}, ...)"
    return f" ({', '.join(named)})"

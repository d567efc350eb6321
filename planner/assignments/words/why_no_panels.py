"""Why papers cannot have senior reviewers and distinct institutions, in words a chair can check by counting."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.steps.flow import shortfall
from planner.assignments.steps.panels import broken_items, feasible
from planner.assignments.words.why_none import each, papers, people
from reviewgraph.words import noun

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.clock import Clock
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import BoolArray

#: Papers up to which a smallest set that cannot be served is looked for.
MOST_PAPERS = 5_000


def why_no_panels(problem: Problem, clock: Clock) -> str:
    """Explain a proved infeasibility: by fixed pairs, one paper, a count of seniors, or papers that clash."""
    return (
        _fixed_clash(problem)
        or (_full_without_senior(problem) if problem.needs_senior else "")
        or _too_few_homes(problem)
        or (_too_few_seniors(problem) if problem.needs_senior else "")
        or _clash(problem, clock)
    )


def _fixed_clash(problem: Problem) -> str:
    bad = broken_items(replace(problem, needs_senior=False), problem.given)
    if not bad.size:
        return ""
    return f"Fixed pairs put two reviewers of one institution on {papers(problem, bad)}. Lift one of them."


def _full_without_senior(problem: Problem) -> str:
    have = np.bincount(problem.item[problem.given & problem.senior[problem.reviewer]], minlength=problem.n_items)
    bad = np.flatnonzero(problem.required & (problem.demand > 0) & (problem.open_demand() <= 0) & (have == 0))
    if not bad.size:
        return ""
    has = noun(bad.size, "has", "have")
    return f"{papers(problem, bad)} {has} all reviews fixed, and none by a senior reviewer. Lift one of them."


def _too_few_homes(problem: Problem) -> str:
    """Find papers with fewer institutions among their candidates than they need reviews."""
    open_pairs = problem.load[problem.reviewer] > 0
    home = np.where(problem.institution >= 0, problem.institution, problem.n_reviewers + np.arange(problem.n_reviewers))
    width = int(home.max(initial=0)) + 1
    pairs = np.unique(problem.item[open_pairs] * width + home[problem.reviewer[open_pairs]])
    homes = np.bincount(pairs // width, minlength=problem.n_items)
    new = problem.required & (problem.open_demand() > 0)
    bad = np.flatnonzero(new & (homes < problem.demand))
    if not bad.size or problem.old.any():
        return ""
    first = bad[:1]
    candidates = np.unique(problem.reviewer[open_pairs & (problem.item == first[0])])
    return (
        f"{papers(problem, first)} needs {int(problem.demand[first[0]])} reviewers of different institutions, and "
        f"those who may take it, {people(problem, candidates)}, are of {int(homes[first[0]])}"
        f"{_others(bad.size - 1)}. Score more pairs, allow unscored ones, or lower the demand."
    )


def _others(count: int) -> str:
    return f" ({count} more papers likewise)" if count else ""


def _too_few_seniors(problem: Problem) -> str:
    """Find papers that need more senior reviewers than their seniors can be: a cut of the flow of seniors alone."""
    # One unit of flow to each paper that has no senior among its fixed reviews.
    have = np.bincount(problem.item[problem.given & problem.senior[problem.reviewer]], minlength=problem.n_items)
    wanted = (problem.required & (problem.demand > 0) & (have == 0)).astype(np.int64)
    load, _ = problem.open_loads()
    pairs = np.flatnonzero(problem.senior[problem.reviewer] & ~problem.given & (load[problem.reviewer] > 0))
    found = shortfall(problem.item[pairs], problem.reviewer[pairs], wanted, load, np.zeros_like(load))
    if found is None:
        return ""
    # The cut is the proof: these papers need more than crosses it.
    items = found.items[wanted[found.items] > 0]
    which = papers(problem, items)
    one = items.size == 1
    if not found.reviewers.size:
        read = "it" if one else "them"
        return (
            f"{which} {'needs' if one else 'need'} a senior reviewer, and no senior may take {read}. Score such "
            "pairs, lift conflicts, or make somebody senior who may."
        )
    rest = f", and other seniors have {found.pairs} allowed pairs with them" if found.pairs else ""
    return (
        f"{which} need a senior reviewer each = {found.needed} reviews; "
        f"{people(problem, found.reviewers, 'senior reviewer')} who may take them with "
        f"{each(load[found.reviewers], 'load', of='of')} can give {found.supply}{rest}: {found.needed} > "
        f"{found.supply + found.pairs}. Raise their loads, make more reviewers senior, or lift conflicts."
    )


def _clash(problem: Problem, clock: Clock) -> str:
    """Name papers that cannot be served together, none of which can be left out: by deletion, O(S log N) programmes."""
    rules = []
    if problem.needs_senior:
        rules.append("a senior reviewer on each")
    if (problem.institution >= 0).any():
        rules.append("no two reviewers of one institution on any")
    cannot = f"cannot all get their reviews with {' and '.join(rules)}"
    whole = problem.required & (problem.open_demand() > 0)
    free = replace(problem, least=np.zeros_like(problem.least))
    if whole.sum() > MOST_PAPERS or feasible(free, whole, clock):
        least = " within everybody's min_load" if problem.least.any() else ""
        return f"The papers {cannot}{least} (proved over all papers they touch, by two solvers)."
    # A smallest set that cannot be served even alone says more than "all papers".
    core = _shrink(free, whole, clock)
    codes = np.flatnonzero(core)
    pairs = core[problem.item] & (problem.load[problem.reviewer] > 0)
    who = np.unique(problem.reviewer[pairs])
    smallest = "Leave any one of them out and it can be done" if not clock.over() else "Fewer papers may do as well"
    seniors = f", {int(problem.senior[who].sum())} of them senior" if problem.needs_senior else ""
    homes = np.unique(problem.institution[who][problem.institution[who] >= 0]).size
    known = f", of {homes} institutions as far as known" if homes else ""
    return (
        f"{papers(problem, codes)} {cannot}, even if all other papers were left out. They need "
        f"{int(problem.demand[codes].sum())} reviews; {people(problem, who)} may take them{seniors}{known}, with "
        f"{each(problem.load[who], 'load', of='of')}. {smallest}."
    )


def _shrink(problem: Problem, items: BoolArray, clock: Clock) -> BoolArray:
    """Leave out papers, half of what is left to try at a time, while the rest stays infeasible."""
    core = items.copy()
    todo: list[IntArray] = [np.flatnonzero(items)]
    while todo and not clock.over():
        part = todo.pop()
        if part.size == int(core.sum()) and part.size > 1:
            todo += np.array_split(part, 2)
            continue
        rest = core.copy()
        rest[part] = False
        if rest.any() and not feasible(problem, rest, clock):
            core = rest
        elif part.size > 1:
            todo += np.array_split(part, 2)
    return core

"""Small assignments under change, and reference implementations of the kernels on them."""

import numpy as np

from planner._assign.assignment import Assignment
from planner._assign.core import Core
from planner._assign.flow import Arcs, cheapest_flow
from planner._assign.levels import aim_named
from planner._assign.problem import Problem
from planner.rules import ruled_by, rules_of

#: What kernels return for what cannot be.
FAR = 1 << 62


def problem_of(pairs, affinity, n_items, n_reviewers, *, demand, load, **rules):
    """A problem over pairs (item, reviewer), sorted; rules are fields of Problem."""
    item, reviewer = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    size = item.size
    fields = {
        "item": item,
        "reviewer": reviewer,
        "affinity": np.asarray(affinity, float),
        "given": np.zeros(size, bool),
        "old": np.zeros(size, bool),
        "demand": np.broadcast_to(demand, n_items).astype(np.int64),
        "load": np.broadcast_to(load, n_reviewers).astype(np.int64),
        "least": np.zeros(n_reviewers, np.int64),
        "required": np.ones(n_items, bool),
        "ruled": ruled_by((), n_reviewers, n_items),
        "reviewers": range(n_reviewers),
        "items": range(n_items),
    }
    return Problem(**{**fields, **rules})


def ruled_of(n_reviewers, n_items, attributes, rules, item_attributes=None):
    """Rules on reviewers and items 0, 1, ... with attributes by reviewer and by item."""
    people = columns_of(attributes)
    papers = columns_of(item_attributes or {})
    return ruled_by(rules_of(range(n_reviewers), range(n_items), rules, people, papers), n_reviewers, n_items)


def columns_of(attributes):
    """Attributes by name and label."""
    names = {name for known in attributes.values() for name in known}
    return {name: {label: known.get(name) for label, known in attributes.items()} for name in sorted(names)}


def cheapest_assignment(item, reviewer, cost, demand, load, least):
    """The pairs of the cheapest assignment; None if there is none."""
    flow = cheapest_flow(Arcs(item, reviewer, cost, np.ones(item.size, np.int64)), demand, load, least)
    return None if flow is None else flow > 0


def random_case(rng, *, share=0.5):
    """All pairs of a few items and reviewers; those chosen at random are assigned, loads leave one to spare."""
    n, m = int(rng.integers(3, 9)), int(rng.integers(2, 8))
    pairs = [(i, j) for i in range(n) for j in range(m)]
    chosen = rng.random(len(pairs)) < rng.uniform(0.15, share)
    held = np.bincount([j for (_, j), yes in zip(pairs, chosen, strict=True) if yes], minlength=m)
    panel = np.bincount([i for (i, _), yes in zip(pairs, chosen, strict=True) if yes], minlength=n)
    problem = problem_of(pairs, rng.random(len(pairs)), n, m, demand=panel, load=held + 1)
    return problem, chosen


def core_of(problem, chosen, level="double"):
    return Core(problem.network(chosen), problem.required, aim_named(level))


def covers_of(problem, chosen):
    """Items of each reviewer."""
    covers = [set() for _ in range(problem.n_reviewers)]
    for p in np.flatnonzero(chosen):
        covers[problem.reviewer[p]].add(int(problem.item[p]))
    return covers


def grown_naively(covers, label, seed, shared, without=-1):
    """Cover and joined labels when groups join one after another while they share enough with the cover."""
    members = {g: set().union(*(c for j, c in enumerate(covers) if label[j] == g and j != without)) for g in set(label)}
    joined, cover, again = {seed}, set(members[seed]), True
    while again:
        again = False
        for g, items in members.items():
            if g not in joined and len(items & cover) >= shared:
                joined.add(g)
                cover |= items
                again = True
    return cover, joined


def similar(n_items, n_reviewers, seed):
    """Similarities of a few topics, with noise, as real ones have."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_reviewers, 6)) @ rng.normal(size=(6, n_items)) + rng.normal(size=(n_reviewers, n_items))


def told(assignment: Assignment) -> str:
    """Return all that the page tells of an assignment, as one line."""
    return " ".join(assignment.summary().text("all").split())

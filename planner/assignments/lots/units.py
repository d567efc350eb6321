"""Units of probability, and rules as nodes that they flow through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.steps.flow import Via
from planner.panels.rules import NO_MOST
from reviewgraph.arrays import ranks

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.labels import IntArray

#: Units of one whole review: probabilities are whole multiples of a ten-thousandth.
UNITS = 10_000


def through_rules(problem: Problem, unit: int = UNITS) -> Via | None:
    """Rules on one attribute that gives each reviewer one value at most, as nodes of a flow; None if there is none.

    Such rules part the candidates of a paper, so a flow can say them, and draws keep them. Of several attributes it is
    the one whose rules panels by chance break most often, as every breach has to be mended in a draw. Nodes that limit
    nothing, as they have too few candidates, are left out.
    """
    group = _parted(problem)
    if group is None:
        return None
    panels, width = problem.panels, problem.panels.n_groups
    member = group[problem.reviewer]
    inside = (member >= 0) & problem.bound[problem.item]
    keys, node = np.unique(np.where(inside, problem.item * width + member, -1), return_inverse=True)
    candidates = np.bincount(node, minlength=keys.size)
    given = np.bincount(node[problem.given], minlength=keys.size)
    least = np.where(keys >= 0, panels.least[keys % width], 0)
    most = np.maximum(np.where(keys >= 0, panels.most[keys % width], NO_MOST), given)
    kept = (keys >= 0) & ((candidates > most) | (least > 0))
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    item, free = keys[kept] // width, np.zeros(int(kept.sum()), np.int64)
    most = np.minimum(most, candidates)[kept] * unit
    return Via(number[node], item, least[kept] * unit, most, free, unit)


def all_through(problem: Problem) -> bool:
    """Whether the flow says all that is asked of panels, so that draws obey it."""
    panels, group = problem.panels, _parted(problem)
    limited = (panels.least > 0) | (panels.most < NO_MOST)
    ours = np.zeros(panels.n_groups, np.bool_)
    ours[[] if group is None else group[group >= 0]] = True
    return not (panels.different > 0).any() and not (limited & ~ours).any()


def _parted(problem: Problem) -> IntArray | None:
    """Group of each reviewer under the attribute whose rules chance breaks most often, -1 for none, shape (M,)."""
    panels = problem.panels
    who, group = panels.of(np.arange(problem.n_reviewers))
    limited = (panels.least > 0) | (panels.most < NO_MOST)
    broken = _broken_by_chance(problem)
    for attribute in np.argsort(-broken, kind="stable").tolist():
        ours = panels.attribute[group] == attribute
        if limited[panels.attribute == attribute].any() and np.bincount(who[ours], minlength=1).max() <= 1:
            found = np.full(problem.n_reviewers, -1)
            found[who[ours]] = group[ours]
            return found
    return None


def _broken_by_chance(problem: Problem) -> IntArray:
    """Count by attribute the papers and groups that a panel drawn among the best candidates gives too few or too many.

    Of each paper twice as many candidates as it needs are looked at.
    """
    panels, rng = problem.panels, np.random.default_rng(0)
    near = np.flatnonzero(ranks(problem.item, problem.worth) < 2 * problem.demand[problem.item])
    panel = near[ranks(problem.item[near], rng.random(near.size)) < problem.demand[problem.item[near]]]
    pair, group = panels.of(problem.reviewer[panel])
    item, width = problem.item[panel[pair]], max(panels.n_groups, 1)
    key, count = np.unique(item * width + group, return_counts=True)
    over = problem.bound[key // width] & (count > panels.most[key % width])
    broken = np.bincount(panels.attribute[key[over] % width], minlength=panels.different.size)
    for g in np.flatnonzero(panels.least > 0).tolist():
        have = np.bincount(item[group == g], minlength=problem.n_items)
        broken[panels.attribute[g]] += np.count_nonzero(problem.bound & (have < panels.least[g]))
    return broken.astype(np.int64)

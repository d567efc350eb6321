"""What an assignment must obey, checked from the input without the solver."""

from itertools import combinations

import numpy as np


def components(covers, shared):
    """Items of each component, by merging two that share enough until there are none."""
    parts = [set(cover) for cover in covers if cover]
    while True:
        near = next((pair for pair in combinations(parts, 2) if len(pair[0] & pair[1]) >= shared), None)
        if near is None:
            return parts
        parts = [part for part in parts if part is not near[0] and part is not near[1]] + [near[0] | near[1]]


def doubly_connected(pairs, items, shared=2) -> bool:
    """Whether one component covers all items."""
    covers = {}
    for reviewer, item in pairs:
        covers.setdefault(reviewer, set()).add(item)
    return any(set(items) <= part for part in components(covers.values(), shared))


def connected(pairs, items) -> bool:
    """Whether the reviewer-item graph joins all items; one alone needs no review for it."""
    return len(items) < 2 or doubly_connected(pairs, items, shared=1)


def violations(
    pairs, *, demand, load, min_load=None, allowed=None, conflicts=(), fixed=(), institutions=None, senior=None
):
    """Everything that is wrong with an assignment, in words; dicts by label, ``allowed`` the scored pairs."""
    wrong = []
    if len(set(pairs)) != len(pairs):
        wrong.append("a pair stands twice")
    for item, number in demand.items():
        panel = [r for r, i in pairs if i == item]
        if len(panel) != number:
            wrong.append(f"item {item} has {len(panel)} reviews instead of {number}")
        homes = [institutions[r] for r in panel if institutions and r in institutions]
        if len(set(homes)) != len(homes):
            wrong.append(f"item {item} has two reviewers of one institution")
        if senior is not None and number and not set(panel) & set(senior):
            wrong.append(f"item {item} has no senior reviewer")
    for reviewer, most in load.items():
        count = sum(r == reviewer for r, _ in pairs)
        if not (min_load or {}).get(reviewer, 0) <= count <= most:
            wrong.append(f"reviewer {reviewer} has {count} reviews")
    wrong += [f"conflict {pair}" for pair in set(pairs) & set(conflicts)]
    wrong += [f"missing {pair}" for pair in set(fixed) - set(pairs)]
    if allowed is not None:
        wrong += [f"unscored {pair}" for pair in set(pairs) - set(allowed) - set(fixed)]
    return wrong


def best_total(pairs, affinity, demand, load, min_load):
    """Optimum of the linear programme by HiGHS (the polytope is integral); None if infeasible."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    items, reviewers = list(demand), list(load)
    column = np.arange(len(pairs))
    one = np.ones(len(pairs))
    by_item = coo_array((one, ([items.index(i) for _, i in pairs], column)), shape=(len(items), len(pairs)))
    by_reviewer = coo_array((one, ([reviewers.index(r) for r, _ in pairs], column)), shape=(len(reviewers), len(pairs)))
    from scipy.sparse import vstack

    if not pairs:
        return 0.0 if not any(demand.values()) and not any(min_load.values()) else None
    answer = linprog(
        -np.array(affinity),
        A_ub=vstack([by_reviewer, -by_reviewer]).tocsr(),
        b_ub=[*load.values(), *(-min_load[r] for r in reviewers)],
        A_eq=by_item.tocsr(),
        b_eq=list(demand.values()),
        bounds=(0, 1),
        method="highs",
    )
    return -answer.fun if answer.status == 0 else None


def survives(pairs, items, reviewers) -> bool:
    """Whether the level ``double`` holds without any one reviewer."""
    return all(doubly_connected([pair for pair in pairs if pair[0] != gone], items) for gone in reviewers)

"""Why items cannot get the reviews that they are short of: a count that anybody can repeat."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from planner.panels.rules import AtMost
from planner.plans.model.allowed import short_pairs
from planner.plans.model.missing import fewer
from planner.plans.model.tables import no_pairs
from reviewgraph.mentions import PAPERS
from reviewgraph.words import counted, noun

if TYPE_CHECKING:
    from planner.plans.model.people import People
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray

#: Names listed before the rest is only counted.
NAMED = 5
REMEDY = "raise loads or limits, lower what every paper must have, or ask more people"


def why_uncovered(task: Task) -> list[str]:
    """Say which papers need more than those who may read them can give: one by one, then together.

    Counts the readers of each paper, as many of a panel group as it may have, and those of the groups that it lacks;
    then looks for papers whose readers have too small loads together, a minimum cut (Hall's condition). Empty where
    neither finds anything.
    """
    pairs, needs = short_pairs(task), task.needs
    give, why = _at_hand(task, pairs)
    readable = np.minimum(give, task.room)
    few, said = np.flatnonzero(readable < needs.each), []
    for i in few[:NAMED].tolist():
        limit = (
            f", {why}," if why and give[i] <= task.room[i] else ", with its limit," if task.room[i] < give[i] else ""
        )
        said.append(
            f"paper {PAPERS[i]} needs {counted(int(needs.each[i]), 'more review')}, and those "
            f"who may read it{limit} give {readable[i]}; {REMEDY}"
        )
    said += _without_members(task, pairs, few)
    if few.size > NAMED:
        said.append(f"{few.size - NAMED} more papers have too few readers")
    return said or _too_small_loads(task, pairs)


def _at_hand(task: Task, pairs: IntArray) -> tuple[IntArray, str]:
    """Reviews that each item can get from its readers under the rule that allows fewest, and that rule in words."""
    best, why = np.bincount(pairs[:, 1], minlength=task.n_items), ""
    people, table = task.constraints.people, task.table(no_pairs())
    if not people.limits:
        return best, why
    panels, free = people.panels, np.maximum(people.free(table), 0)
    place, group = people.groups_of(pairs[:, 0])
    for number, name in enumerate(people.attribute_names):
        mine = panels.attribute[group] == number
        values = np.bincount(place[mine], minlength=len(pairs))
        key, count = np.unique(pairs[place[mine], 1] * panels.n_groups + group[mine], return_counts=True)
        # Who has several values takes several places: then the count says nothing.
        if values.max(initial=0) > 1 or (count <= free.ravel()[key]).all():
            continue
        alone = np.bincount(pairs[values == 0, 1], minlength=task.n_items)
        can = alone + np.bincount(key // panels.n_groups, np.minimum(count, free.ravel()[key]), task.n_items).astype(
            int
        )
        if (can < best).any():
            best, why = np.minimum(best, can), _limit(people, name)
    return best, why


def _limit(people: People, name: str) -> str:
    """Say the limits of one attribute in words."""
    rules = zip(people.ruled.rules, people.ruled.attributes, strict=True)
    return " and ".join(rule.words(one) for rule, one in rules if one.name == name and isinstance(rule, AtMost))


def _without_members(task: Task, pairs: IntArray, named: IntArray) -> list[str]:
    """Name the papers, others than those named already, that lack a panel group none of which can read them."""
    people, needs, said = task.constraints.people, task.needs, []
    place, group = people.groups_of(pairs[:, 0])
    for one in np.flatnonzero(needs.members.any(axis=0)).tolist():
        least = int(people.panels.least[one])
        able = np.bincount(pairs[place[group == one], 1], minlength=task.n_items)
        bare = np.setdiff1d(np.flatnonzero(able < needs.members[:, one]), named)
        if bare.size:
            said.append(
                f"{fewer(people, one, least)} {noun(least, 'has', 'have')} reviewed, or may review, "
                f"{_papers(bare)}; name more of them, raise loads, or ask for less"
            )
    for number, name in enumerate(people.attribute_names):
        own = people.panels.attribute[group] == number
        key = np.unique(pairs[place[own], 1] * people.panels.n_groups + group[own])
        fresh = key[people.counts(task.table(no_pairs())).ravel()[key] == 0]
        able = np.bincount(fresh // max(people.panels.n_groups, 1), minlength=task.n_items)
        bare = np.setdiff1d(np.flatnonzero(able < needs.different[:, number]), named)
        if bare.size:
            least = int(people.panels.different[number])
            said.append(
                f"reviewers of fewer than {least} different values of {name} have reviewed, or may review, "
                f"{_papers(bare)}; ask more people, or for less"
            )
    return said


def _too_small_loads(task: Task, pairs: IntArray) -> list[str]:
    """Find papers whose readers' loads together are too small, for reviews or for a panel group alone."""
    people, needs = task.constraints.people, task.needs
    place, group = people.groups_of(pairs[:, 0])
    asked = [
        (pairs[place[group == one]], needs.members[:, one], partial(people.ruled.kind, one, what="review"))
        for one in np.flatnonzero(needs.members.any(axis=0)).tolist()
    ]
    for able, each, kind in (*asked, (pairs, needs.each, partial(noun, one="review", many="reviews"))):
        short, give, use = _cut(task.spare, able, each)
        if short.size:
            needed = int(each[short].sum())
            return [
                f"{_papers(short)} {noun(short.size, 'needs', 'need')} {needed} {kind(needed)} in all, and those "
                f"who may give them have {give + use} within their spare loads: {needed} > {give + use}; {REMEDY}"
            ]
    return []


def _cut(spare: IntArray, pairs: IntArray, each: IntArray) -> tuple[IntArray, int, int]:
    """Items that need more than their readers can give, the loads of full readers, and pairs with the others."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    M, N = spare.size, each.size
    source, sink = M + N, M + N + 1
    start = np.concatenate([np.full(M, source), pairs[:, 0], M + np.arange(N)])
    end = np.concatenate([np.arange(M), M + pairs[:, 1], np.full(N, sink)])
    room = np.concatenate([np.minimum(np.maximum(spare, 0), N), np.ones(len(pairs), np.int64), each]).astype(np.int32)
    graph = csr_array((room, (start, end)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(graph, source, sink)
    if flow.flow_value == int(each.sum()):
        return np.empty(0, np.int64), 0, 0
    # What the source reaches in the residual network is full behind it: the other items are short together.
    residual = csr_array(graph - flow.flow)
    residual.data = np.maximum(residual.data, 0)
    residual.eliminate_zeros()
    reached = np.zeros(sink + 1, np.bool_)
    reached[breadth_first_order(residual, source, return_predecessors=False)] = True
    short = np.flatnonzero(~reached[M : M + N] & (each > 0))
    give = int(room[:M][~reached[:M]].sum())
    use = int((reached[pairs[:, 0]] & ~reached[M + pairs[:, 1]]).sum())
    return short, give, use


def _papers(codes: IntArray) -> str:
    shown = ", ".join(PAPERS[i] for i in codes[:NAMED].tolist())
    rest = f" and {codes.size - NAMED} more" if codes.size > NAMED else ""
    return f"{noun(codes.size, 'paper')} {shown}{rest}"

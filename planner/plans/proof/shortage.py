"""Why items cannot get the reviews that they are short of: a count that anybody can repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.allowed import short_pairs
from reviewgraph.mentions import PAPERS
from reviewgraph.words import counted, noun

if TYPE_CHECKING:
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray

#: Names listed before the rest is only counted.
NAMED = 5
REMEDY = "raise loads or limits, lower what every paper must have, or ask more people"


def why_uncovered(task: Task) -> list[str]:
    """Say which papers need more than those who may read them can give: one by one, then together.

    Counts the readers, their institutions and the seniors of each paper; then looks for papers whose readers have
    too small loads together, a minimum cut (Hall's condition). Empty where neither finds anything.
    """
    pairs, needs, own = short_pairs(task), task.needs, task.constraints.people.institution
    N, M = task.n_items, task.spare.size
    # Two of one institution count once, each of none by itself.
    party = M + own[pairs[:, 0]] if own.size else pairs[:, 0]
    party = np.where(party >= M, party, pairs[:, 0])
    distinct = np.unique(pairs[:, 1] * (2 * M) + party) // (2 * M)
    readable = np.minimum(np.bincount(distinct, minlength=N), task.room)
    few, said = np.flatnonzero(readable < needs.each), []
    one = ", one of each institution," if task.constraints.people.has_institutions else ""
    for i in few[:NAMED].tolist():
        limit = "" if task.room[i] >= needs.each[i] else ", with its limit,"
        said.append(
            f"paper {PAPERS[i]} needs {counted(int(needs.each[i]), 'more review')}, and those "
            f"who may read it{one or limit} give {readable[i]}; {REMEDY}"
        )
    said += _without_senior(task, pairs, few)
    if few.size > NAMED:
        said.append(f"{few.size - NAMED} more papers have too few readers")
    return said or _too_small_loads(task, pairs)


def _without_senior(task: Task, pairs: IntArray, named: IntArray) -> list[str]:
    """Name the papers, others than those named already, that no senior reviewer can read."""
    senior = task.constraints.people.senior
    if senior is None:
        return []
    able = np.bincount(pairs[senior[pairs[:, 0]], 1], minlength=task.n_items)
    bare = np.setdiff1d(np.flatnonzero((task.needs.senior > 0) & (able == 0)), named)
    if not bare.size:
        return []
    return [f"no senior reviewer has reviewed, or may review, {_papers(bare)}; name more seniors, or raise loads"]


def _too_small_loads(task: Task, pairs: IntArray) -> list[str]:
    """Find papers whose readers' loads together are too small, for reviews or for seniors alone."""
    senior, needs = task.constraints.people.senior, task.needs
    everybody = np.ones(task.spare.size, np.bool_)
    for who, each, kind in ((senior, needs.senior, "senior review"), (everybody, needs.each, "review")):
        if who is None:
            continue
        short, give, use = _cut(task.spare, pairs[who[pairs[:, 0]]], each)
        if short.size:
            needed = int(each[short].sum())
            return [
                f"{_papers(short)} {noun(short.size, 'needs', 'need')} {counted(needed, kind)} in all, and those "
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

"""Plans in the words of a chair: what each review joins, and why something cannot be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.check.verifying import allowed_pairs, reaches, with_extra
from planner.plans.model.growth import copy_structure, covers_item, enter, find_block, grow, settle

if TYPE_CHECKING:
    from planner.plans.model.growth import Structure
    from planner.plans.model.task import Task
    from reviewgraph.labels import IntArray

#: Work (reviews squared times entries) up to which a plan is put in the order in which each step helps most.
ORDER_UP_TO = 100_000_000


def by_effect(task: Task, pairs: IntArray) -> IntArray:
    """Order of the reviews in which the largest group grows fastest, first come first among equals."""
    if not len(pairs) or len(pairs) ** 2 * int(task.start.entries[0]) > ORDER_UP_TO:
        return np.arange(len(pairs))
    state, left, order = copy_structure(task.start), list(range(len(pairs))), []
    add, extend, fix = task.form(enter), task.form(grow), task.form(settle)
    while left:
        sizes = []
        for k in left:
            trial = copy_structure(state)
            _read(task, trial, pairs[k], add, extend)
            sizes.append(int(task.space.extent[0]))
        chosen = left.pop(int(np.argmax(sizes)))
        _read(task, state, pairs[chosen], add, extend)
        fix(state, task.space)
        order.append(chosen)
    return np.array(order, np.int64)


def _read(task: Task, state: Structure, pair: IntArray, add: object, extend: object) -> None:
    block, item = int(task.home[pair[0]]), int(pair[1])
    if not task.form(covers_item)(state, block, item):
        add(state, block, item)  # type: ignore[operator]
    extend(state, task.space, block, block)  # type: ignore[operator]


def joins(task: Task, pairs: IntArray) -> tuple[list[str], list[int]]:
    """Say what each review joins when they arrive in this order, and how many items the largest group then covers."""
    state, words, covers = copy_structure(task.start), [], []
    add, extend, fix = task.form(enter), task.form(grow), task.form(settle)
    most = int(state.cover.max(initial=0))
    for j, i in pairs.tolist():
        words.append(_sentence(task, state, j, i, add, extend))
        fix(state, task.space)
        most = max(most, int(task.space.extent[0]))
        covers.append(most)
    return words, covers


def _sentence(task: Task, state: Structure, j: int, i: int, add: object, extend: object) -> str:
    table, space = task.constraints.reviews, task.space
    block = find_block.python(state.root, int(task.home[j]))
    before = int(state.cover[block])
    reads = f"{table.reviewers[j]} reads paper {table.items[i]}: "
    if task.form(covers_item)(state, block, i):
        extend(state, space, block, block)  # type: ignore[operator]
        return reads + "it is in the reviewer's group already"
    shared = _shared(task, state, block, i)
    add(state, block, i)  # type: ignore[operator]
    extend(state, space, block, block)  # type: ignore[operator]
    taken = [int(b) for b in space.blocks[1 : space.extent[1]] if state.cover[b] > 0]
    after = int(space.extent[0])
    if not taken:
        if before == 0:
            return reads + "a first paper for this reviewer; with the next it links"
        return reads + f"the paper joins the group of {before} {_papers(before)} around {_centre(task, state, block)}"
    partner = next((b for b in taken if b in shared), taken[0])
    common = shared.get(partner, -1)
    text = (
        f"joins the group of {before} {_papers(before)} around {_centre(task, state, block, (i, common))} to the group "
        f"of {int(state.cover[partner])} around {_centre(task, state, partner, (common,))}"
    )
    if partner in shared:
        text += f"; they then share papers {table.items[i]} and {table.items[common]}"
    if len(taken) > 1:
        follow = "1 more group follows" if len(taken) == 2 else f"{len(taken) - 1} more groups follow"
        text += f"; {follow}, {after} papers in all"
    return reads + text


def _papers(count: int) -> str:
    return "paper" if count == 1 else "papers"


def _shared(task: Task, state: Structure, block: int, item: int) -> dict[int, int]:
    """Blocks that cover an item, each with an item they share with a block already; walks the smaller of the two."""
    holders, entry = set(), int(state.first[item])
    while entry >= 0:
        holders.add(find_block.python(state.root, int(state.block[entry])))
        entry = int(state.beside[entry])
    found: dict[int, int] = {}
    covers = task.form(covers_item)
    for holder in sorted(holders - {block}):
        small, large = (holder, block) if state.cover[holder] <= state.cover[block] else (block, holder)
        entry = int(state.head[small])
        while entry >= 0:
            if covers(state, large, int(state.item[entry])):
                found[holder] = int(state.item[entry])
                break
            entry = int(state.after[entry])
    return found


def _centre(task: Task, state: Structure, block: int, but: tuple[int, ...] = ()) -> str:
    """Name of a group: its paper of most reviews, the first of equals, if possible none of those in ``but``."""
    reviews, best, entry = task.constraints.reviews.reviews_per_item, -1, int(state.head[block])
    while entry >= 0:
        thing = int(state.item[entry])
        if best < 0 or (thing not in but, reviews[thing], -thing) > (best not in but, reviews[best], -best):
            best = thing
        entry = int(state.after[entry])
    return f"paper {task.constraints.reviews.items[best]}" if best >= 0 else "no paper"


def why_not(task: Task, target: str) -> list[str]:
    """Say why a target cannot be reached: papers nobody may read, groups nobody may join, loads that do not suffice."""
    rules, table = task.constraints, task.constraints.reviews
    if not (task.spare > 0).any():
        return ["no reviewer has spare load; raise loads, or name emergency reviewers"]
    readers = np.zeros(task.n_items, np.int64)
    for j in np.flatnonzero(task.spare > 0).tolist():
        readers[rules.readable(j)] += 1
    said = []
    unread = np.flatnonzero((table.reviews_per_item == 0) & (readers == 0))
    if unread.size:
        said.append(
            f"nobody has reviewed, or may review, {_list(table.items, unread)}: conflicts or loads stand in the way"
        )
    label = task.block_labels(task.start)
    main = int(np.argmax(np.where(label == np.arange(label.size), task.start.cover, -1)))
    inside = np.zeros(task.n_items, np.bool_)
    count = int(task.start.entries[0])
    inside[task.start.item[:count][label[task.start.block[:count]] == main]] = True
    apart = np.flatnonzero(~inside & (readers == 0))
    apart = np.setdiff1d(apart, unread)
    if apart.size:
        verb = "is" if apart.size == 1 else "are"
        said.append(
            f"no one with spare load may read {_list(table.items, apart)}, which {verb} apart from the largest group"
        )
    said.append(_all_together(task, target))
    return said


def _all_together(task: Task, target: str) -> str:
    """Say whether all allowed reviews would do, loads and limits aside."""
    remedy = "allow more pairs, raise loads or limits, or name emergency reviewers"
    table = with_extra(task.constraints.reviews, task.constraints.fixed)
    pairs = allowed_pairs(task.constraints, table, task.spare)
    pairs = pairs[task.room[pairs[:, 1]] > 0]
    if not reaches(with_extra(table, pairs), target):
        return f"even if every allowed review were written, some papers would not be {_WORDS[target]}; {remedy}"
    useful = np.minimum(task.spare, np.bincount(pairs[:, 0], minlength=task.spare.size))
    limits = "" if (task.room >= task.spare.size).all() else " and the limits of the papers"
    return (
        f"all allowed reviews together would do, but no choice of them within the spare loads (which add up to "
        f"{int(useful.sum())}){limits}; {remedy}"
    )


_WORDS = {
    "double": "comparable for certain",
    "recoverable": "comparable, coincidences aside",
    "connected": "linked to the others",
}


def _list(labels: object, codes: IntArray) -> str:
    shown = ", ".join(str(labels[i]) for i in codes[:5].tolist())  # type: ignore[index]
    return f"{'paper' if codes.size == 1 else 'papers'} {shown}" + (
        f" and {codes.size - 5} more" if codes.size > 5 else ""
    )

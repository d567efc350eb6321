"""Kernels of groups against sets: taking in, taking back, finding a group again, what two groups share."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from planner._plans import listing as kernels
from planner._plans.listing import ADDED, COVERS, GROUPS, NEAR, PARENT, TRAIL, Piece, new_desk, new_pool
from tests.trials import examples

Covers = list[set[int]]
N = 8


def piece_of(covers: Covers) -> Piece:
    rows = [(c, i) for c, cover in enumerate(covers) for i in sorted(cover)]
    component, item = np.array(rows, np.int64).reshape(-1, 2).T
    order = np.argsort(item, kind="stable")
    return Piece(
        np.concatenate([[0], np.cumsum([len(cover) for cover in covers])]).astype(np.int64),
        item.copy(),
        np.concatenate([[0], np.cumsum(np.bincount(item, minlength=N))]).astype(np.int64),
        component[order].copy(),
    )


def grown(covers: Covers, inside: set[int]) -> tuple[set[int], set[int]]:
    """Components and items of the closed group that some components make."""
    inside = set(inside)
    while True:
        items = set().union(*(covers[c] for c in inside))
        more = {c for c, cover in enumerate(covers) if c not in inside and len(cover & items) > 1}
        if not more:
            return inside, items
        inside |= more


pieces = st.lists(st.sets(st.integers(0, N - 1), min_size=2, max_size=3), min_size=2, max_size=6)


@given(pieces, st.integers(0, 5), st.integers(0, 5))
@examples(60)
def test_a_desk_holds_the_closed_group_and_gives_it_back(covers: Covers, a: int, b: int) -> None:
    piece, desk = piece_of(covers), new_desk(piece_of(covers))
    a, b = a % len(covers), b % len(covers)
    kernels.put.python(desk, a)
    kernels.take_in.python(piece, desk, 0)
    sizes = desk.size[:3].copy()
    inside, items = grown(covers, {a})
    assert set(desk.trail[: desk.size[TRAIL]].tolist()) == inside == set(np.flatnonzero(desk.inside).tolist())
    assert set(desk.covers[: desk.size[COVERS]].tolist()) == items == set(np.flatnonzero(desk.covered).tolist())
    assert set(desk.near[: desk.size[NEAR]].tolist()) == {c for c, cover in enumerate(covers) if cover & items}
    assert desk.shared.tolist() == [len(cover & items) for cover in covers]
    before = [array.copy() for array in desk[:3]]
    done = int(desk.size[TRAIL])
    kernels.put.python(desk, b)
    kernels.take_in.python(piece, desk, done)
    assert set(desk.trail[: desk.size[TRAIL]].tolist()) == grown(covers, {a, b})[0]
    kernels.take_back.python(piece, desk, *sizes.tolist())
    assert all((x == y).all() for x, y in zip(before, desk[:3], strict=True))


@given(pieces)
@examples(40)
def test_a_pool_keeps_each_group_once_and_finds_it(covers: Covers) -> None:
    piece, desk, pool = piece_of(covers), new_desk(piece_of(covers)), new_pool(40, 200)
    known = set()
    for a in [*range(len(covers)), *range(len(covers))]:
        kernels.take_back.python(piece, desk, 0, 0, 0)
        kernels.put.python(desk, a)
        kernels.take_in.python(piece, desk, 0)
        known.add(frozenset(grown(covers, {a})[0]))
        assert kernels.keep.python(desk, pool, a, a, 0)
    count = int(pool.size[GROUPS])
    members = [pool.member[pool.begin[g] : pool.begin[g + 1]].tolist() for g in range(count)]
    assert sorted(map(sorted, known)) == sorted(members)
    assert [pool.table[kernels.spot_of.python(pool, g)] for g in range(count)] == list(range(count))
    for g in range(count):
        kernels.lay_out.python(piece, desk, pool, 0)
        shared = len(grown(covers, set(members[0]))[1] & grown(covers, set(members[g]))[1])
        assert kernels.overlap.python(piece, desk, pool, g) == min(shared, 2)
    assert not kernels.keep.python(desk, new_pool(0, 0), 0, 0, 0)


@given(pieces)
@examples(40)
def test_joins_are_all_tried(covers: Covers) -> None:
    piece, desk, pool, into = piece_of(covers), new_desk(piece_of(covers)), new_pool(10, 60), new_pool(80, 600)
    for a in range(len(covers)):
        kernels.take_back.python(piece, desk, 0, 0, 0)
        kernels.put.python(desk, a)
        kernels.take_in.python(piece, desk, 0)
        kernels.keep.python(desk, pool, a, a, 0)
    starts = {frozenset(grown(covers, {a})[0]) for a in range(len(covers))}
    items = {group: grown(covers, set(group))[1] for group in starts}
    made = {frozenset(grown(covers, {*g, c})[0]) for g in starts for c in range(len(covers)) if covers[c] & items[g]}
    made -= starts
    parent, added, cover = np.zeros((3, 99), np.int64)
    count = kernels.gains.python(piece, desk, pool, parent, added, cover)
    all_items = len(set().union(*covers))
    ended, _ = kernels.extend.python(piece, desk, pool, into, True, 0, 10_000)
    if ended == kernels.FOUND:
        assert max(cover[:count]) == N
        assert into.last == (into.size[PARENT], into.size[ADDED])
        return
    found = {frozenset(into.member[into.begin[g] : into.begin[g + 1]].tolist()) for g in range(int(into.size[GROUPS]))}
    assert ended == kernels.DONE
    # A group of the pool that another grows into is kept a second time.
    assert found - starts == made
    assert {int(x) for x in cover[:count]} <= set(range(all_items + 1))
    again = new_pool(80, 600)
    assert kernels.make.python(piece, desk, pool, again, parent[:count], added[:count]) == count
    assert int(again.size[GROUPS]) == len(found)


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(0, 5))
def test_a_part_is_put_in_order_and_the_rest_stays(values: list[int], low: int) -> None:
    member = np.array([99, 7, 98, 6, 97, *values, 5, 4], np.int64)
    high = 5 + len(values)
    kernels.put_in_order.python(member, low, high)
    expected = [99, 7, 98, 6, 97, *values, 5, 4]
    expected[low:high] = sorted(expected[low:high])
    assert member.tolist() == expected

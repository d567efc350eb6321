"""Every kernel of growth against sets, in plain Python; compiled forms are the same code."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from planner._plans import structure
from planner._plans.structure import COUNT, Growth, Structure
from tests.planner.plans.naive_plans import closed
from tests.trials import examples

Covers = list[set[int]]
N = 7


@st.composite
def covers(draw: st.DrawFn) -> Covers:
    """Blocks that share few items: singles, hubs and empty ones among them."""
    return [set(draw(st.sets(st.integers(0, N - 1), max_size=3))) for _ in range(draw(st.integers(1, 6)))]


def made(blocks: Covers) -> tuple[Structure, Growth]:
    rows = [(b, i) for b, cover in enumerate(blocks) for i in sorted(cover)]
    block, item = np.array(rows, np.int64).reshape(-1, 2).T
    return structure.new_structure(block, item, len(blocks), N, 40), structure.working_space(len(blocks), N)


def masks(blocks: Covers) -> list[int]:
    return [sum(1 << i for i in cover) for cover in blocks]


def found(state: Structure) -> list[int]:
    """Covers of the blocks as bit masks, by walking the lists of entries."""
    out = []
    for block in range(state.root.size):
        if state.root[block] == block:
            mask, entry = 0, state.head[block]
            while entry >= 0:
                mask |= 1 << int(state.item[entry])
                entry = state.after[entry]
            assert mask.bit_count() == state.cover[block]
            out.append(mask)
    return sorted(out)


def close_all(state: Structure, space: Growth) -> None:
    for block in range(state.root.size):
        structure.grow.python(state, space, block, block)
        structure.settle.python(state, space)


@given(covers(), st.lists(st.tuples(st.integers(0, 5), st.integers(0, N - 1)), max_size=6))
@examples(60)
def test_close_is_the_closure_of_sets(blocks: Covers, more: list[tuple[int, int]]) -> None:
    state, space = made(blocks)
    close_all(state, space)
    assert found(state) == sorted(closed(masks(blocks)))
    more = [(b % len(blocks), i) for b, i in more]
    for b, i in more:
        blocks[b] = blocks[b] | {i}
    pairs = np.array(more, np.int64).reshape(-1, 2)
    most = structure.close.python(state, space, pairs[:, 0].copy(), pairs[:, 1].copy(), len(pairs))
    assert found(state) == sorted(closed(masks(blocks)))
    assert most == max(mask.bit_count() for mask in closed(masks(blocks)))


@given(covers(), st.integers(0, 5), st.integers(0, 5))
@examples(60)
def test_a_trial_says_what_a_growth_would_make(blocks: Covers, a: int, b: int) -> None:
    state, space = made(blocks)
    close_all(state, space)
    structure.drop_anchor.python(state, space)
    left, right = (structure.find_block.python(state.root, x % len(blocks)) for x in (a, b))
    tried = structure.try_join.python(state, space, left, right)
    structure.grow.python(state, space, left, right)
    assert tried == space.covered
    united = [
        mask for k, mask in enumerate(masks(blocks)) if structure.find_block.python(state.root, k) in (left, right)
    ]
    rest = [
        mask for k, mask in enumerate(masks(blocks)) if structure.find_block.python(state.root, k) not in (left, right)
    ]
    whole = 0
    for mask in united:
        whole |= mask
    grown = next(mask for mask in closed([whole, *rest]) if mask & whole == whole)
    if left == right or whole:
        assert space.covered == grown.bit_count()


@given(covers(), st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, N - 1)), min_size=1, max_size=4))
@example([{0, 1, 2}, {2, 3}, {3, 4}, {4, 5}], [(1, True, 0), (2, False, 2)])  # a block that is met does not join yet
@examples(80)
def test_a_trial_is_settled_as_a_growth_is(blocks: Covers, joins: list[tuple[int, bool, int]]) -> None:
    """One join after the other, without another look at the largest block; each by a review in either direction."""
    state, space = made(blocks)
    close_all(state, space)
    main = structure.drop_anchor.python(state, space)
    for other, of_main, pick in joins:
        block = structure.find_block.python(state.root, other % len(blocks))
        covered = [int(state.item[e]) for e in range(state.size) if state.block[e] == (block if of_main else main)]
        if block == main or space.touch[block] < 0 or not covered:
            continue
        before, tried = structure.copy_structure(state), structure.try_join.python(state, space, main, block)
        if tried == N:
            continue
        item, reader = covered[pick % len(covered)], main if of_main else block
        if not structure.covers_item.python(state, reader, item):
            structure.enter.python(state, reader, item)
        structure.settle_trial.python(state, space, block, tried)
        expected, fresh = before, structure.working_space(len(blocks), N)
        structure.grow.python(expected, fresh, main, block)
        structure.settle.python(expected, fresh)
        assert found(state) == found(expected)
        assert [structure.find_block.python(state.root, b) for b in range(len(blocks))] == [
            structure.find_block.python(expected.root, b) for b in range(len(blocks))
        ]
        # The marks are those that the anchor would be given now; the anchor has stayed the largest.
        assert structure.drop_anchor.python(state, fresh) == main == space.anchor[structure.NAME]
        others = np.arange(len(blocks)) != main  # its own mark says nothing
        assert (space.touch == fresh.touch)[others].all()
        marked = [held.inside == held.anchor[structure.MARK] for held in (space, fresh)]
        assert (marked[0] == marked[1]).all()


@given(covers(), st.integers(0, 5), st.integers(0, N - 1))
@examples(40)
def test_an_entry_is_found_and_withdrawn(blocks: Covers, b: int, i: int) -> None:
    state, _ = made(blocks)
    b %= len(blocks)
    before = structure.copy_structure(state)
    assert structure.covers_item.python(state, b, i) == (i in blocks[b])
    if i not in blocks[b]:
        tail = int(state.tail[b])
        structure.enter.python(state, b, i)
        assert structure.covers_item.python(state, b, i)
        structure.withdraw.python(state, tail)
        assert all((x == y)[: state.size].all() for x, y in zip(state[7:11], before[7:11], strict=True))
        assert found(state) == found(before)
        assert not structure.covers_item.python(state, b, i)


@given(covers(), st.permutations(range(12)))
@examples(32)
def test_unfinished_structures_are_as_large_as_can_be(blocks: Covers, order: list[int]) -> None:
    state, space = made(blocks)
    close_all(state, space)
    if state.cover.max() == N:
        return
    saved = structure.copy_structure(state)
    block = np.array([k % len(blocks) for k in range(12)], np.int64)
    item = np.array([(5 * k) % N for k in range(12)], np.int64)
    leaves = np.zeros(12, np.int64)
    structure.extend_unfinished.python(state, space, block, item, np.array(order), leaves)
    assert state.cover.max() < N
    again = np.zeros(12, np.int64)
    structure.leaving.python(state, block, item, again)
    assert again.tolist() == leaves.tolist()
    for k in np.flatnonzero(leaves).tolist():
        trial = structure.copy_structure(state)
        assert structure.close.python(trial, space, block[k : k + 1], item[k : k + 1], 1) == N
    structure.restore.python(state, saved)
    assert found(state) == found(saved)
    assert state.entries[COUNT] == saved.entries[COUNT]


@given(st.permutations([(b, i) for b in range(3) for i in range(N)]), st.integers(0, 3 * N))
def test_a_structure_is_what_entering_one_by_one_makes(pairs: list[tuple[int, int]], size: int) -> None:
    block, item = np.array(pairs, np.int64)[:size].T
    state = structure.new_structure(block, item, 4, N, 3)
    grown = structure.new_structure(block[:0], item[:0], 4, N, 3 + size)
    for b, i in pairs[:size]:
        structure.enter.python(grown, b, i)
    for name, one, other in zip(Structure._fields, state, grown, strict=True):
        assert (one.dtype, one.tolist()) == (np.int64, other.tolist()), name

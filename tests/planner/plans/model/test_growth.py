"""Every kernel of growth against sets."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from planner._plans.kernels import structure
from planner._plans.kernels.structure import Growth, Structure
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
    return structure.new_structure(block, item, len(blocks), N, 40), structure.working_space(len(blocks), N, 0)


def masks(blocks: Covers) -> list[int]:
    return [sum(1 << i for i in cover) for cover in blocks]


def found(state: Structure) -> list[int]:
    """Covers of the blocks as bit masks, by walking the lists of entries."""
    out = []
    for block in range(len(state.root)):
        if state.root[block] == block:
            mask, entry = 0, state.head[block]
            while entry >= 0:
                mask |= 1 << int(state.item[entry])
                entry = state.after[entry]
            assert mask.bit_count() == state.cover[block]
            out.append(mask)
    return sorted(out)


def close_all(state: Structure, space: Growth) -> None:
    for block in range(len(state.root)):
        structure.grow(state, space, block, block)
        structure.settle(state, space)


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
    most = structure.close(state, space, pairs[:, 0].copy(), pairs[:, 1].copy(), len(pairs))
    assert found(state) == sorted(closed(masks(blocks)))
    assert most == max(mask.bit_count() for mask in closed(masks(blocks)))


@given(covers(), st.integers(0, 5), st.integers(0, 5))
@examples(60)
def test_a_trial_says_what_a_growth_would_make(blocks: Covers, a: int, b: int) -> None:
    state, space = made(blocks)
    close_all(state, space)
    structure.drop_anchor(state, space)
    left, right = (structure.find_block(state, x % len(blocks)) for x in (a, b))
    tried = structure.try_join(state, space, left, right)
    structure.grow(state, space, left, right)
    assert tried == space.covered
    united = [mask for k, mask in enumerate(masks(blocks)) if structure.find_block(state, k) in (left, right)]
    rest = [mask for k, mask in enumerate(masks(blocks)) if structure.find_block(state, k) not in (left, right)]
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
    main = structure.drop_anchor(state, space)
    for other, of_main, pick in joins:
        block = structure.find_block(state, other % len(blocks))
        covered = [int(state.item[e]) for e in range(state.size) if state.block[e] == (block if of_main else main)]
        if block == main or space.touch[block] < 0 or not covered:
            continue
        before, tried = state.copy(), structure.try_join(state, space, main, block)
        if tried == N:
            continue
        item, reader = covered[pick % len(covered)], main if of_main else block
        if not structure.covers_item(state, reader, item):
            structure.enter(state, reader, item)
        structure.settle_trial(state, space, block, tried)
        expected, fresh = before, structure.working_space(len(blocks), N, 0)
        structure.grow(expected, fresh, main, block)
        structure.settle(expected, fresh)
        assert found(state) == found(expected)
        assert [structure.find_block(state, b) for b in range(len(blocks))] == [
            structure.find_block(expected, b) for b in range(len(blocks))
        ]
        # The marks are those that the anchor would be given now; the anchor has stayed the largest.
        assert structure.drop_anchor(state, fresh) == main == space.anchor
        others = np.arange(len(blocks)) != main  # its own mark says nothing
        assert (np.asarray(space.touch) == np.asarray(fresh.touch))[others].all()
        marked = [np.asarray(held.inside) == held.mark for held in (space, fresh)]
        assert (marked[0] == marked[1]).all()


@given(covers(), st.integers(0, 5), st.integers(0, N - 1))
@examples(40)
def test_an_entry_is_found_and_withdrawn(blocks: Covers, b: int, i: int) -> None:
    state, _ = made(blocks)
    b %= len(blocks)
    before = state.copy()
    assert structure.covers_item(state, b, i) == (i in blocks[b])
    if i not in blocks[b]:
        tail = int(state.tail[b])
        structure.enter(state, b, i)
        assert structure.covers_item(state, b, i)
        structure.withdraw(state, tail)
        for name in ("after", "beside", "block", "item"):
            now, then = (np.asarray(getattr(held, name))[: state.size] for held in (state, before))
            assert (now == then).all()
        assert found(state) == found(before)
        assert not structure.covers_item(state, b, i)


@given(covers(), st.permutations(range(12)))
@examples(32)
def test_unfinished_structures_are_as_large_as_can_be(blocks: Covers, order: list[int]) -> None:
    state, space = made(blocks)
    close_all(state, space)
    if structure.largest(state) == N:
        return
    saved = state.copy()
    block = np.array([k % len(blocks) for k in range(12)], np.int64)
    item = np.array([(5 * k) % N for k in range(12)], np.int64)
    leaves = np.zeros(12, np.int64)
    structure.extend_unfinished(state, space, block, item, np.array(order), leaves)
    assert structure.largest(state) < N
    again = np.zeros(12, np.int64)
    structure.leaving(state, block, item, again)
    assert again.tolist() == leaves.tolist()
    for k in np.flatnonzero(leaves).tolist():
        trial = state.copy()
        assert structure.close(trial, space, block[k : k + 1], item[k : k + 1], 1) == N
    state.restore(saved)
    assert found(state) == found(saved)
    assert state.size == saved.size

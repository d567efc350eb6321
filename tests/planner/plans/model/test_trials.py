"""Trials of joins, and what they keep of the largest block, against sets."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from planner._plans.kernels import trials
from planner._plans.kernels.trials import Trial
from planner._plans.task import closed_blocks, largest_cover
from reviewgraph.graph import Blocks
from tests.planner.plans.naive_plans import closed
from tests.trials import examples

Covers = list[set[int]]
N = 7


@st.composite
def covers(draw: st.DrawFn) -> Covers:
    """Blocks that cannot be joined: singles, hubs and empty ones among them."""
    drawn = draw(st.lists(st.sets(st.integers(0, N - 1), max_size=3), min_size=1, max_size=6))
    return [{i for i in range(N) if mask >> i & 1} for mask in closed(masks(drawn))]


def made(covers: Covers) -> tuple[Blocks, Trial]:
    start = np.cumsum([0, *map(len, covers)])
    item = np.array([i for cover in covers for i in sorted(cover)], np.int64)
    return closed_blocks(start, item, N), trials.new_trial(len(covers), N)


def masks(covers: Covers) -> list[int]:
    return [sum(1 << i for i in cover) for cover in covers]


def found(blocks: Blocks) -> dict[int, int]:
    """The cover of each block as a bit mask."""
    roots = sorted(set(blocks.labels().tolist()))
    held = {block: sum(1 << i for i in range(N) if blocks.bringer(block, i) >= 0) for block in roots}
    assert all(mask.bit_count() == blocks.covered[block] for block, mask in held.items())
    return held


@given(covers(), st.lists(st.tuples(st.integers(0, 5), st.integers(0, N - 1)), max_size=6))
@examples(60)
def test_close_is_the_closure_of_sets(before: Covers, more: list[tuple[int, int]]) -> None:
    blocks, trial = made(before)
    more = [(b % len(before), i) for b, i in more]
    after = [cover | {i for b, i in more if b == k} for k, cover in enumerate(before)]
    pairs = np.array(more, np.int64).reshape(-1, 2)
    most = trials.close(blocks, trial, pairs[:, 0].copy(), pairs[:, 1].copy(), len(pairs))
    assert sorted(found(blocks).values()) == sorted(closed(masks(after)))
    assert most == max(mask.bit_count() for mask in closed(masks(after)))


@given(covers(), st.integers(0, 5), st.integers(0, 5))
@examples(60)
def test_a_trial_says_what_a_join_would_make(before: Covers, a: int, b: int) -> None:
    blocks, trial = made(before)
    trials.drop_anchor(blocks, trial)
    held = found(blocks)
    left, right = a % len(before), b % len(before)
    whole = held[left] | held[right]
    rest = [mask for block, mask in held.items() if block not in (left, right)]
    grown = next(mask for mask in closed([whole, *rest]) if mask & whole == whole)
    if left == right or whole:
        assert trials.try_join(blocks, trial, left, right) == grown.bit_count()
    assert found(blocks) == held


@given(covers(), st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, N - 1)), min_size=1, max_size=4))
@example([{0, 1, 2}, {2, 3}, {3, 4}, {4, 5}], [(1, True, 0), (2, False, 2)])  # a block that is met does not join yet
@examples(80)
def test_what_is_kept_of_the_anchor_is_what_another_look_finds(
    before: Covers, joins: list[tuple[int, bool, int]]
) -> None:
    """One join after the other, each by a review in either direction."""
    blocks, trial = made(before)
    trials.drop_anchor(blocks, trial)
    for other, of_main, pick in joins:
        main = trial.anchor
        block = blocks.root_of(other % len(before))
        source, reader = (block, main) if of_main else (main, block)
        lacking = [i for i in range(N) if blocks.bringer(source, i) >= 0 > blocks.bringer(reader, i)]
        if block == main or trial.touch[block] < 0 or not lacking:
            continue
        tried = trials.try_join(blocks, trial, main, block)
        trail = blocks.n_trail
        assert trials.extend(blocks, trial, reader, lacking[pick % len(lacking)]) == tried
        trials.keep_anchor(blocks, trial, trail)
        fresh = trials.new_trial(len(before), N)
        assert trials.drop_anchor(blocks, fresh) == trial.anchor == blocks.root_of(main)
        others = np.arange(len(before)) != trial.anchor  # its own mark says nothing
        assert (np.asarray(trial.touch) == np.asarray(fresh.touch))[others].all()
        marked = [np.asarray(held.inside) == held.mark for held in (trial, fresh)]
        assert (marked[0] == marked[1]).all()


@given(covers(), st.permutations(range(12)))
@examples(32)
def test_unfinished_blocks_are_as_large_as_can_be(before: Covers, order: list[int]) -> None:
    blocks, trial = made(before)
    if largest_cover(blocks) == N:
        return
    block = np.array([k % len(before) for k in range(12)], np.int64)
    item = np.array([(5 * k) % N for k in range(12)], np.int64)
    leaves = np.zeros(12, np.int64)
    trials.extend_unfinished(blocks, trial, block, item, np.array(order), leaves)
    assert largest_cover(blocks) < N
    again = np.zeros(12, np.int64)
    trials.leaving(blocks, block, item, again)
    assert again.tolist() == leaves.tolist()
    for k in np.flatnonzero(leaves).tolist():
        assert trials.close(blocks.copy(), trial, block[k : k + 1], item[k : k + 1], 1) == N

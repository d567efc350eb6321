import signal
from itertools import count, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import Reviews
from reviewgraph.graph.closure import repeat_union
from reviewgraph.graph.kernels import blocks
from reviewgraph.graph.kernels.blocks import Blocks
from tests.strategies import Rows, tables, to_reviews


def entered(reviews: Reviews) -> blocks.Blocks:
    found = blocks.Blocks(reviews.reviewer, reviews.item, reviews.n_reviewers, reviews.n_items)
    found.enter_rows()
    return found


def groups_of(found: blocks.Blocks, n_items: int) -> set[tuple[frozenset[int], frozenset[int]]]:
    """Return the reviewers and the items of each block."""
    root = [found.root_of(j) for j in range(len(found.parent))]
    return {
        (
            frozenset(j for j, other in enumerate(root) if other == block),
            frozenset(i for i in range(n_items) if found.bringer(block, i) >= 0),
        )
        for block in set(root)
    }


@given(
    loaded=tables(),
    steps=st.lists(st.one_of(st.tuples(st.integers(0, 7), st.integers(0, 7)), st.integers(0, 6)), max_size=30),
)
def test_blocks_under_added_and_undone_reviews_are_those_of_the_algorithm(
    loaded: tuple[Rows, int], steps: list[tuple[int, int] | int]
) -> None:
    """A pair of numbers adds a review, one number takes back as many additions."""
    rows, n_items = [set(row) for row in loaded[0]], loaded[1]
    if not rows or not n_items:
        return
    found = entered(to_reviews(loaded[0], n_items))
    added: list[tuple[int, tuple[int, int]]] = []
    for step in steps:
        if isinstance(step, tuple):
            j, i = step[0] % len(rows), step[1] % n_items
            added.append((found.n_trail, (j, i)))
            found.add(j, i)
        elif added:
            kept = max(len(added) - step, 0)
            if kept < len(added):
                found.undo(added[kept][0])
                added = added[:kept]
        now = [set(row) for row in rows]
        for _, (j, i) in added:
            now[j].add(i)
        closed_now = repeat_union(dict(enumerate(now)))
        assert groups_of(found, n_items) == {(group.reviewers, group.items) for group in closed_now.components}
        for block, (who, what) in {found.root_of(min(w)): (w, c) for w, c in groups_of(found, n_items)}.items():
            assert len(what) == found.covered[block], (who, what)


def grid_of_blocks(size: int) -> Rows:
    """Return rows of three blocks; two of them, with rows and columns of a grid, join first, and then the longest."""
    number = count()
    shared = [next(number) for _ in range(3)]
    grid = np.array([[next(number) for _ in range(size)] for _ in range(size)])
    longest = [next(number) for _ in range(3 * size * size + 20 * size)]
    rows = [[*shared, *longest], [*shared[1:], next(number)]]
    lines = [[list(line) for line in grid], [list(line) for line in grid.T]]
    lines[1][-1].remove(grid[0, -1])
    for block in lines:
        for line, after in pairwise(block):
            line += (link := [next(number), next(number)])
            after += link
    last = next(number)
    for row in (rows[0], lines[0][0], lines[1][-1]):
        row.append(last)
    lines[1][0] += [shared[0], *(next(number) for _ in range(3 * size))]
    return [dict.fromkeys(sorted(map(int, row)), 1.0) for row in [*rows, *lines[0], *lines[1]]]


def test_reviews_wait_once_each() -> None:
    """Where blocks join that share many items, a review stops waiting and waits again: the queue has room for each."""
    rows = grid_of_blocks(4)
    n_items = max(map(max, rows)) + 1
    found = entered(to_reviews(rows, n_items))
    assert found.labels().tolist() == [0] * len(rows)


@pytest.mark.parametrize("name", ["zeros", "full", "empty", "concatenate"])
def test_what_happens_while_room_is_made_is_raised(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory ends, or Ctrl-C is pressed: blocks that went on would write beyond their arrays."""

    def fail(*given: object) -> None:
        raise MemoryError

    def add_all() -> None:
        for i in range(90):
            found.add(0, i)

    none = np.empty(0, np.int64)
    found = blocks.Blocks(none, none, 1, 90)
    monkeypatch.setattr(np, name, fail)
    with pytest.raises(MemoryError):
        add_all()


@pytest.mark.slow
def test_ctrl_c_ends_a_kernel_on_its_way() -> None:
    rng = np.random.default_rng(0)
    M, N = 60_000, 60_000
    reviewer = np.repeat(np.arange(M), 12)
    codes = np.unique(reviewer * N + rng.integers(0, N, reviewer.size))
    reviewer = codes // N
    found = Blocks(reviewer, codes % N, M, N)
    usual = signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            # By the time of this process, which others may delay.
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.003)
            found.enter_rows()
    finally:
        signal.signal(signal.SIGVTALRM, usual)
    assert 0 < found.n_trail < 2 * reviewer.size

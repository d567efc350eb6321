"""The kernels of the cascade against what they say of themselves, checked by sets."""

from collections import Counter
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner._plans import cascade
from planner._plans.constraints import no_pairs
from planner._plans.kernels.cascade import may_read
from planner._plans.targets.searched import by_effect
from planner._plans.task import Task, new_task
from reviewgraph import Reviews
from reviewgraph._base import Clock
from tests.planner.plans.naive_plans import closed, is_double
from tests.planner.plans.plan_cases import Case, cases, constrained, task_of
from tests.trials import examples


def covers_of(task: Task, pairs: list[list[int]]) -> list[int]:
    table = task.constraints.reviews
    covers = [sum(1 << i for i in table.items_of(j).tolist()) for j in range(table.n_reviewers)]
    for j, i in pairs:
        covers[j] |= 1 << i
    return covers


@given(cases())
@examples(40)
def test_the_board_allows_what_the_constraints_allow(case: Case) -> None:
    task = task_of(case)
    board = task.board(no_pairs())
    for j in range(task.home.size):
        for i in range(task.n_items):
            assert may_read(board, j, i) == (i in task.constraints.readable(j))


def test_an_exception_in_a_kernel_ends_the_cascade(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as by Ctrl-C while blocks make room."""

    def interrupt(*given: object) -> None:
        raise KeyboardInterrupt

    task = new_task(constrained(Reviews([("ann", 1), ("ann", 2), ("bob", 3)])), 64)
    monkeypatch.setattr(np, "concatenate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cascade.begin(task, 40, 0)


@pytest.mark.slow
@given(cases(), st.integers(0, 50), st.booleans())
@examples(80)
def test_a_cascade_keeps_the_rules_and_says_whether_it_is_done(case: Case, seed: int, local: bool) -> None:
    task = task_of(case)
    if not task.home.size:
        return
    with mock.patch.object(cascade, "FIRST_LOCAL_FROM", 0 if local else cascade.FIRST_LOCAL_FROM):
        keeps_the_rules(case, task, seed)


def keeps_the_rules(case: Case, task: Task, seed: int) -> None:
    search, done = cascade.begin(task, 40, seed, seed % 5)
    pairs = search.pairs.tolist()
    loads, used = Counter(j for j, _ in pairs), Counter(i for _, i in pairs)
    assert all(i in task.constraints.readable(j) for j, i in pairs)
    assert all(loads[j] <= task.spare[j] for j in loads)
    assert all(used[i] <= task.room[i] for i in used)
    assert done == is_double(covers_of(task, pairs), task.n_items)
    if not done:
        return
    cascade.prune_search(search, Clock(None))
    kept = search.pairs.tolist()
    for place in range(len(kept)):
        assert not is_double(covers_of(task, kept[:place] + kept[place + 1 :]), task.n_items)
    before = len(kept)
    cascade.improve_search(search, 5)
    assert search.moves.made <= before
    assert is_double(covers_of(task, search.pairs.tolist()), task.n_items)
    board = search.board
    assert (np.asarray(board.spare) + board.load == task.spare + np.asarray(task.board(no_pairs()).load)).all()


@given(cases(), st.integers(0, 20))
@examples(24)
def test_the_order_is_greedy(case: Case, seed: int) -> None:
    task = task_of(case)
    _, _, allowed, *_ = case.naive()
    table = task.constraints.reviews
    known = [(table.reviewer_code[j], i) for j, i in allowed if j in table.reviewer_code and table.items[i] == i]
    chosen = np.random.default_rng(seed).permutation(len(known))[:5]
    pairs = np.array([known[k] for k in chosen], np.int64).reshape(-1, 2)
    order = by_effect(task, pairs, Clock(None))
    assert by_effect(task, pairs, Clock(-1.0)).tolist() == list(range(len(pairs)))
    assert sorted(order.tolist()) == list(range(len(pairs)))
    done: list[list[int]] = []
    left = set(range(len(pairs)))

    def size(k: int) -> int:
        after = covers_of(task, [*done, pairs[k].tolist()])
        own = after[int(pairs[k, 0])]
        if own.bit_count() < 2:  # one item makes nobody a part of a group that covers it
            return own.bit_count()
        return max(mask.bit_count() for mask in closed(after) if mask & own == own)

    for k in order.tolist():
        assert size(k) == max(map(size, left))
        left.discard(k)
        done.append(pairs[k].tolist())

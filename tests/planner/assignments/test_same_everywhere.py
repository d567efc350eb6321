"""The same answer on a slow machine: only a limit that somebody gives may end work by the clock."""

import time

import numpy as np
import pytest

from planner import assign
from reviewgraph import Search
from reviewgraph._base import Clock
from tests.benchmarks import assign_exact as exact
from tests.planner.assignments.cases import told
from tests.trials import sampled

#: A machine on which everything takes a multiple of the time by its own clock.
SLOWER = 10_000


def case(seed, n_items, n_reviewers):
    return exact.instance(np.random.default_rng(seed), n_items, n_reviewers)


def tight(seed, n_items=7, **options):
    """Few pairs, which are settled by cuts, or panel scores, by one programme a place."""
    score = np.random.default_rng(seed).random((n_items, 8)).round(2)
    return assign(score, demand=2, load=3, **options)


WAYS = {
    "the best under rules": lambda: exact.solved(case(5, 30, 20)),
    "the best by prices": lambda: exact.solved(case(3, 150, 100)),
    "two solvers": lambda: exact.solved(case(4, 20, 16)),
    "panels repaired": lambda: exact.solved(case(1, 40, 30)),
    "why no panels": lambda: exact.solved(case(3, 20, 16)),
    "a level under rules": lambda: exact.solved(case(2, 20, 16), target="double"),
    "few pairs, decided": lambda: tight(0, target="survives-reviewer"),
    "fairest": lambda: tight(1, 5, target="none", fair="maximin"),
    "a floor": lambda: tight(2, target="none", floor=1.6),
    "randomised": lambda: exact.solved(case(4, 12, 10), max_probability=0.8),
}
#: Large tables, or of which a smaller one does the same steps.
NIGHT = {"a level under rules", "the best by prices"}


@pytest.fixture
def slow_machine(monkeypatch):
    for name in ("monotonic", "perf_counter"):
        real = getattr(time, name)
        monkeypatch.setattr(time, name, lambda real=real: SLOWER * real())


@pytest.mark.slow
@pytest.mark.parametrize("way", sampled(WAYS, WAYS.keys() - NIGHT))
def test_a_slow_machine_gives_the_whole_answer_of_a_quick_one(way, request):
    quick = repr(WAYS[way]().to_dict())
    request.getfixturevalue("slow_machine")
    assert repr(WAYS[way]().to_dict()) == quick


def test_an_assignment_says_that_a_time_limit_ended_the_search():
    stopped = exact.solved(case(10, 60, 40), search=Search(time_limit=0.0))
    assert (stopped.status, stopped.timed_out, stopped.to_dict()["timed_out"]) == ("feasible", True, True)
    assert f"! {Clock.TIMED_OUT}." in told(stopped)
    whole = exact.solved(case(10, 60, 40))
    assert (whole.status, whole.timed_out) == ("optimal", False)
    assert Clock.TIMED_OUT not in told(whole)

"""The same plan on every machine: work is counted, and only a limit that somebody gives may end it by the clock."""

import time

import numpy as np
import pytest

import planner
from planner import planning
from reviewgraph import Reviews, Search
from reviewgraph._base import Clock
from reviewgraph.graph import random_assignment
from tests.trials import NIGHTLY, sampled

#: Machines on which all takes so many times as long by their own clocks.
PACES = (10_000.0, 0.01)
#: Work of a search here, in units: little of it is done, so that every step is stopped by the count.
WORK = 0.1


def table(n_items, n_reviewers, k, scores=False):
    drawn = random_assignment(n_items, n_reviewers, k, np.random.default_rng(3))
    score = np.random.default_rng(4).integers(1, 6, drawn.n_reviews).astype(float) if scores else None
    return Reviews.from_codes(drawn.reviewer, drawn.item, score, reviewers=n_reviewers, items=n_items)


def costs(n_items, n_reviewers):
    drawn = np.random.default_rng(5).integers(1, 9, (n_reviewers, n_items))
    return {(j, i): float(cost) for (j, i), cost in np.ndenumerate(drawn)}


def least(**options):
    return planner.plan(table(40, 40, 3), **options)


def scored(**options):
    return planner.plan(table(40, 40, 3, scores=True), **options)


def priced(**options):
    return planner.plan(table(12, 10, 2), cost=costs(12, 10), **options)


WAYS = {
    "double": lambda: planner.plan(table(100, 100, 3)),
    "double, loads": lambda: least(spare=1, max_per_item=1),
    "double, costs": lambda: priced(spare=3),
    "recoverable": lambda: priced(target="recoverable", spare=2, max_per_item=2),
    "connected": lambda: planner.plan(
        table(24, 36, 1), target="connected", spare=1, max_per_item=1, cost=costs(24, 36)
    ),
    "survives a reviewer": lambda: least(target="survives-reviewer"),
    "survives a review": lambda: planner.plan(table(12, 12, 3), target="survives-review", spare=3),
    "many reviews": lambda: least(min_reviews=5, spare=3),
    "a budget": lambda: planner.plan(table(24, 24, 3), n=3),
    "decisions": lambda: scored(goal="decision", n_selected=8, n=20),
    "decisions at a level": lambda: scored(target="double", goal="decision", n_selected=8, n=40),
    "best effort": lambda: planner.plan(table(30, 30, 3), capacity=dict.fromkeys(range(6), 1), best_effort=True),
}
#: Whose searches are those of others, or that take longest.
NIGHT = {"double, costs", "connected", "survives a reviewer", "decisions"}


@pytest.mark.slow
@pytest.mark.parametrize("way", sampled(WAYS, WAYS.keys() - NIGHT))
def test_a_plan_does_not_depend_on_the_pace_of_the_clock(way, monkeypatch):
    monkeypatch.setattr(planning, "WORK", WORK)
    here = WAYS[way]()
    assert not here.timed_out
    for pace in PACES if NIGHTLY else PACES[:1]:
        with monkeypatch.context() as machine:
            for name in ("monotonic", "perf_counter", "process_time"):
                real = getattr(time, name)
                machine.setattr(time, name, lambda real=real, pace=pace: pace * real())
            assert repr(WAYS[way]().to_dict()) == repr(here.to_dict())


@pytest.mark.slow
def test_work_that_is_done_ends_the_search_where_seconds_do_not(monkeypatch):
    few = least().lower_bound
    monkeypatch.setattr(planning, "WORK", 1e-6)
    found = least()
    assert (found.status, found.count >= few) == ("feasible", True)


def test_a_plan_says_that_a_time_limit_ended_the_search():
    stopped = planner.plan(table(300, 300, 3), search=Search(time_limit=0.0))
    assert (stopped.timed_out, stopped.to_dict()["timed_out"]) == (True, True)
    assert stopped.explanation.count(Clock.TIMED_OUT) == 1
    assert Clock.TIMED_OUT in stopped.summary().text(width=1000)
    whole = planner.plan(table(12, 12, 3), search=Search(time_limit=1_000.0))
    assert (whole.status, whole.timed_out) == ("optimal", False)
    assert Clock.TIMED_OUT not in whole.summary().text(width=1000)

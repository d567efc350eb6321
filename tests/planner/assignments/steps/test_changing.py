"""Pairs forced in the programme: what changes, what is freed, and that rules hold throughout."""

import numpy as np
import pytest
from scipy.sparse import coo_array

from planner import AtLeast, AtMost, assign
from planner._assign.core import Core
from planner._assign.levels import aim_named
from planner._assign.linking import Linker, Programmed
from planner._assign.programme import best_under_rules, broken_items, objective
from reviewgraph import Search
from reviewgraph._base import Clock
from reviewgraph.graph import ColumnWarning, doubly_connected_components
from tests.planner.assignments.cases import problem_of, ruled_of, similar


def under_rules(seed, level="double"):
    """The best assignment under rules of two communities, and what brings it to a level."""
    n, m = 30, 25
    rng = np.random.default_rng(seed)
    attributes = {j: {"home": f"u{j % 7}", "senior": bool(j % 3 == 0)} for j in range(m)}
    pairs = [(i, j) for i in range(n) for j in range(m)]
    apart = np.array([4.0 * ((i + j) % 2) for i, j in pairs])
    score = np.array([similar(n, m, seed)[j, i] for i, j in pairs]) + apart
    ruled = ruled_of(m, n, attributes, [AtMost("home", 1), AtLeast("senior", 1)])
    problem = problem_of(pairs, score, n, m, demand=3, load=5, ruled=ruled)
    clock = Clock(None)
    best = best_under_rules(problem, problem.given, clock)
    core = Core(problem.network(best.chosen), problem.required, aim_named(level))
    return problem, best, Linker(core, Programmed(core.net, problem, best.relaxation), clock, rng)


def fine(problem, assigned):
    """Whether demands, loads and rules hold."""
    held = np.bincount(problem.reviewer[assigned], minlength=problem.n_reviewers)
    panel = np.bincount(problem.item[assigned], minlength=problem.n_items)
    return not broken_items(problem, assigned).size and (held <= problem.load).all() and (panel == problem.demand).all()


@pytest.mark.parametrize("level", ["double", "connected"])
@pytest.mark.parametrize("seed", range(3))
def test_the_level_is_reached_within_the_rules_at_a_loss_below_the_bound(seed, level):
    problem, best, linker = under_rules(seed, level)
    before = linker.core.at_level()
    assert linker.link(4.0)
    assigned = np.asarray(linker.net.assigned, bool)
    assert linker.core.at_level()
    assert fine(problem, assigned)
    assert assigned[linker.forced].all()
    assert objective(problem, assigned) <= best.bound + 1e-9
    assert before or linker.forced
    assert linker.changes.total() == pytest.approx(-objective(problem, assigned), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_taking_and_dropping_pairs_keeps_rules_and_locks(seed):
    problem, _, linker = under_rules(seed)
    rng = np.random.default_rng(seed)
    net = linker.net
    linker.changes.begin()
    for pair in rng.permutation(problem.item.size)[:12].tolist():
        before = linker.state()
        locked = np.asarray(net.assigned, bool) & (rng.random(problem.item.size) < 0.3)
        net.locked[locked] = True
        done = linker.changes.take(np.array([pair]))
        assigned = np.asarray(net.assigned, bool)
        assert fine(problem, assigned)
        assert assigned[locked].all()
        assert not done or assigned[pair]
        net.locked[locked] = False
        net.locked[pair] = True
        assert linker.changes.drop(pair)
        assert fine(problem, np.asarray(net.assigned, bool))
        assert not net.locked[pair]
        linker.put(before)


def test_without_a_core_the_core_grows_pair_by_pair():
    """Affinities at random: whole sets of pairs undo each other, and by these alone the level is missed."""
    rng = np.random.default_rng(2)
    n, candidates = 100, 15
    reviewer = np.concatenate([rng.choice(n, candidates, replace=False) for _ in range(n)])
    item = np.repeat(np.arange(n), candidates)
    affinity = coo_array((rng.random(reviewer.size), (item, reviewer)), shape=(n, n)).T
    institutions = dict(enumerate(rng.integers(0, 20, n).tolist()))
    senior = np.flatnonzero(rng.random(n) < 0.35).tolist()
    told = []
    with pytest.warns(ColumnWarning, match="a square matrix"):
        found = assign(
            affinity, demand=3, load=4, institutions=institutions, senior=senior, search=Search(progress=told.append)
        )
    assert found.status.reached
    counts = {now.words for now in told if "papers in the core" in now.words}
    assert len(counts) > 5
    assert doubly_connected_components(found.reviews).covers_all
    assert found.price < 3.0

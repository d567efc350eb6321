"""Pairs forced in the programme: what changes, how little, what is freed, and that rules hold throughout."""

import numpy as np
import pytest
from scipy.sparse import coo_array

from planner import AtLeast, AtMost, assign
from planner._assign.core import Core, Replacing, largest_cover
from planner._assign.levels import aim_named
from planner._assign.linking import Linker, Programmed
from planner._assign.programme import best_under_rules, broken_items, objective
from reviewgraph import Search
from reviewgraph._base import Clock
from reviewgraph.graph import ColumnWarning, doubly_connected_components
from reviewgraph.table import Reviews
from tests.planner.assignments.cases import core_of, problem_of, random_case, ruled_of, similar, told
from tests.trials import trials


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


def table_of(problem, chosen):
    pairs = np.flatnonzero(chosen)
    return Reviews.from_codes(
        problem.reviewer[pairs], problem.item[pairs], reviewers=problem.n_reviewers, items=problem.n_items
    )


def covered(core, problem, chosen):
    """Required items that the best component covers, from a table made anew; all where the level holds early."""
    reviews = table_of(problem, chosen)
    most = largest_cover(core.aim, reviews, problem.required)
    return core.total if core.aim.holds_early(lambda: reviews) else most


def banded(rng):
    """Panels of three neighbours on a ring: most reviews can be lost, those where the ring is thin cannot."""
    n = int(rng.integers(8, 14))
    chosen = {(i, (i + k) % n) for i in range(n) for k in range(3) if rng.random() < 0.9}
    pairs = sorted({(i, j) for i in range(n) for j in range(n) if rng.random() < 0.4} | chosen)
    assigned = np.array([pair in chosen for pair in pairs])
    panel, held = (np.bincount(side, minlength=n) for side in np.array(pairs)[assigned].T)
    required = rng.random(n) < 0.9
    return problem_of(pairs, np.zeros(len(pairs)), n, n, demand=panel, load=held + 1, required=required), assigned


@pytest.mark.parametrize("level", ["double", "connected", "recoverable"])
def test_who_takes_a_review_over_is_judged_as_the_table_made_anew_is(level):
    rng, answers = np.random.default_rng(0), []
    for trial in range(trials(8)):
        problem, chosen = banded(rng) if trial % 2 else random_case(rng, share=0.6)
        core = core_of(problem, chosen, level)
        replacing, least = Replacing(core), core.total if core.at_level() else core.count()
        before = core.net.assigned.copy()
        for gone in rng.permutation(np.flatnonzero(chosen))[:8].tolist():
            mates = np.flatnonzero((problem.item == problem.item[gone]) & ~chosen)
            for entering in rng.permutation(mates)[:3].tolist():
                after = chosen.copy()
                after[[gone, entering]] = False, True
                answers.append(replacing.keeps(gone, entering))
                assert answers[-1] == (covered(core, problem, after) >= least)
        assert (core.net.assigned == before).all()
    assert 0.1 < np.mean(answers) < 1.0


def two_chains(length):
    """A paper without a reviewer: ``length`` changes lose affinity, one more would gain more than the first weight."""
    affinity, previous = {("p0", "hole"): 0.0, ("q0", "hole"): 1.0}, []
    for k in range(length - 1):
        affinity |= {(f"p{k}", f"a{k}"): 1.0, (f"p{k + 1}", f"a{k}"): 0.0}
        previous.append((f"p{k}", f"a{k}"))
    for k in range(length):
        affinity |= {(f"q{k}", f"b{k}"): 0.0, (f"q{k + 1}", f"b{k}"): 1.0}
        previous.append((f"q{k}", f"b{k}"))
    return affinity, previous


def test_fewer_changes_come_first_however_much_affinity_one_more_would_gain():
    affinity, previous = two_chains(12)
    result = assign(affinity, demand=1, load=1, target="none", previous=previous)
    assert (len(result.changes.new), result.changes.fewest) == (12, 12)
    assert result.affinity == 0.0
    assert result.affinity_unconstrained == 24.0
    assert result.price == 100.0


def test_a_first_phase_is_no_change():
    affinity = {(f"r{j}", f"p{i}"): 1.0 for j in range(4) for i in range(3)}
    before = [("r0", "p0"), ("r1", "p1"), ("r3", "p2"), ("r1", "rejected"), ("guest", "p1")]
    first = [("r0", "p0"), ("guest", "rejected")]
    result = assign(affinity, demand=1, load=2, target="none", phase_one=first, previous=before)
    assert {*result.changes.dropped} == {("r0", "p0"), ("r1", "rejected"), ("guest", "p1")}
    assert len(result.changes.kept) == 2
    assert len(result.changes.new) == 1


def test_reviewers_who_leave_are_replaced_and_nothing_else_changes():
    rng = np.random.default_rng(3)
    affinity = rng.random((30, 40))
    first = assign(affinity, demand=3, load=5)
    here = [j for j in range(30) if j not in (4, 17)]
    result = assign(affinity[here], reviewers=here, demand=3, load=5, previous=first.reviews)
    lost = int(first.reviews.loads[[4, 17]].sum())
    assert len(result.changes.new) == lost == result.changes.fewest
    assert {drop.reviewer for drop in result.changes.dropped} == {4, 17}
    text = told(result)
    assert f"{120 - lost} stay, {lost} dropped, {lost} new, proved the fewest" in text
    assert "lost to few changes" in text
    assert result.to_dict()["changes"]["kept"] == 120 - lost

import numpy as np
import pytest

from planner import assign
from planner._assign import linking, spanning
from planner._assign.spanning import Pairs, skeleton
from tests.planner.assignments import naive_assignment as naive
from tests.planner.assignments.cases import grown_naively, similar
from tests.planner.assignments.naive_assignment import components
from tests.planner.assignments.test_assigning import pairs_of
from tests.trials import sampled, trials

#: Square affinities, of which nothing says which side is which, are meant as they are here.
pytestmark = pytest.mark.filterwarnings("ignore:affinity. a square matrix")


def pairs_at_random(rng, n_items, n_reviewers):
    """Pairs sorted by item, many at no cost or at the same one, a few of them given."""
    cells = np.argwhere(rng.random((n_items, n_reviewers)) < rng.uniform(0.3, 0.9))
    price = rng.integers(1, 6, len(cells))
    price[rng.random(len(cells)) < 0.3] = 0
    given = rng.random(len(cells)) < rng.choice([0.0, 0.2])
    return Pairs(cells[:, 0], cells[:, 1], np.where(given, 0, price), given)


def covers_by(pairs, chosen, n_reviewers):
    return [set(pairs.item[chosen & (pairs.reviewer == j)].tolist()) for j in range(n_reviewers)]


@pytest.mark.parametrize("shared", [1, 2])
def test_a_skeleton_joins_all_that_is_required_within_room_and_load(shared):
    rng, found = np.random.default_rng(shared), 0
    for _ in range(trials(300)):
        n_items, n_reviewers = rng.integers(3, 10, 2).tolist()
        pairs, required = pairs_at_random(rng, n_items, n_reviewers), rng.random(n_items) < 0.9
        room, spare = rng.integers(0, 4, n_items), rng.integers(0, 6, n_reviewers)
        result = skeleton(pairs, required, room, spare, shared)
        if result is None:
            continue
        taken, first = result
        found += 1
        assert not (taken & pairs.given).any()
        assert (np.bincount(pairs.item[taken], minlength=n_items) <= room).all()
        assert (np.bincount(pairs.reviewer[taken], minlength=n_reviewers) <= spare).all()
        # One component by these pairs and the given ones, whatever else would be assigned.
        parts = components(covers_by(pairs, taken | pairs.given, n_reviewers), shared)
        wanted = set(np.flatnonzero(required).tolist())
        assert any(wanted <= part for part in parts)
        assert 0 <= first < n_reviewers
    assert found > trials(40)


@pytest.mark.parametrize("shared", [1, 2])
def test_where_there_is_room_for_all_a_skeleton_is_found_if_any_reviewer_reaches_all(shared):
    rng, answers = np.random.default_rng(10 + shared), set()
    for _ in range(trials(200)):
        n_items, n_reviewers = rng.integers(3, 9, 2).tolist()
        pairs, required = pairs_at_random(rng, n_items, n_reviewers), np.ones(n_items, np.bool_)
        pairs = pairs._replace(given=np.zeros_like(pairs.given))
        ample = np.full(n_items, n_reviewers), np.full(n_reviewers, n_items)
        covers = covers_by(pairs, np.ones(pairs.item.size, np.bool_), n_reviewers)
        label = np.arange(n_reviewers)
        reached = any(len(grown_naively(covers, label, seed, shared)[0]) == n_items for seed in range(n_reviewers))
        assert (skeleton(pairs, required, *ample, shared) is not None) == reached
        answers.add(reached)
    assert answers == {True, False}


def spanned_and_linked(monkeypatch, **call):
    """The result of skeletons, whatever the number of papers, and that of forcing pairs."""
    linked = assign(**call)
    monkeypatch.setattr(spanning, "FEWEST", 0)
    with monkeypatch.context() as patch:
        # Nothing else may be called.
        patch.setattr(linking.Linker, "link", None)
        return assign(**call), linked


@pytest.mark.slow
@pytest.mark.parametrize("target", ["double", "connected"])
@pytest.mark.parametrize("seed", sampled(range(4)))
def test_a_spanned_assignment_keeps_demands_and_loads_and_reaches_the_level(monkeypatch, target, seed):
    call = {"affinity": similar(60, 80, seed), "demand": 3, "load": 4, "target": target}
    result, linked = spanned_and_linked(monkeypatch, **call)
    assert result.status in {"feasible", "optimal"}
    assert result.affinity_unconstrained == linked.affinity_unconstrained
    # Less than a percent of the affinity beyond what forcing pairs costs, which looks at far more.
    assert result.least_price <= result.price <= linked.price + 1
    pairs = pairs_of(result)
    assert not naive.violations(
        pairs, demand=dict.fromkeys(range(60), 3), load=dict.fromkeys(range(80), 4), allowed=None
    )
    if target == "connected":
        covers = [{i for r, i in pairs if r == j} for j in range(80)]
        assert len(components(covers, 1)) == 1
    else:
        assert naive.doubly_connected(pairs, range(60))


@pytest.mark.slow
def test_fixed_reviews_stay_and_a_first_phase_links(monkeypatch):
    score, rng = similar(60, 80, 9), np.random.default_rng(9)
    phase_one = [(int(j), int(i)) for i in range(60) for j in rng.choice(80, 1)]
    fixed = [(j, i) for j, i in zip(range(10), range(20, 30), strict=True) if (j, i) not in phase_one]
    call = {"affinity": score, "demand": 2, "load": 3, "fixed": fixed, "phase_one": phase_one}
    result, _ = spanned_and_linked(monkeypatch, **call)
    pairs = pairs_of(result)
    assert result.status == "feasible"
    assert set(fixed) <= set(pairs)
    assert naive.doubly_connected(pairs + phase_one, range(60))


@pytest.mark.slow
def test_a_skeleton_is_completed_by_dear_pairs_where_the_cheap_ones_are_too_few(monkeypatch):
    monkeypatch.setattr(spanning, "CHEAP", 1)
    result, linked = spanned_and_linked(monkeypatch, affinity=similar(60, 80, 2), demand=3, load=4)
    assert result.status.reached
    assert result.price <= linked.price + 1

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import planner
from planner import Plan
from planner._plans import lower_bounds
from planner._plans import lower_bounds as claims
from planner._plans.outcome import PlanStatus
from planner._plans.target import Bound
from planner.verifying import plain_rules
from reviewgraph import Search
from reviewgraph._base import Clock
from reviewgraph._verify import bounds
from reviewgraph._verify.bounds import COUNTED, EXPANSION
from reviewgraph._verify.bounds import Case as Verified
from reviewgraph.graph import doubly_connected_components, random_assignment
from reviewgraph.graph.levels import NAMES
from tests.planner.plans import naive_plans
from tests.planner.plans.plan_cases import Case, InvalidPlan, cases, verify_plan
from tests.planner.plans.proof import certificates
from tests.trials import examples

NONE: dict[str, Any] = {"added": (), "pairs": np.empty((0, 2), np.int64), "merges": np.empty((0, 4), np.int64)}


@pytest.mark.slow
@given(cases(), st.sampled_from(NAMES), st.sampled_from([*COUNTED, EXPANSION]), st.integers(0, 5))
@examples(60)
def test_no_bound_above_the_smallest_plan_is_accepted(case: Case, name: str, kind: str, value: int) -> None:
    """A bound whose proof is not a search, and that says more than brute force finds, is refused."""
    plan = planner.plan(case.reviews, target=name, search=Search(time_limit=20), **case.options)
    expected = naive_plans.smallest_plan(*case.naive(), name, most_sets=3_000)
    if expected is None or expected == "too many":
        return
    claimed = plan.count + value if plan.status == PlanStatus.OPTIMAL else 99
    partial = replace(plan, **NONE, status=PlanStatus.BUDGET_EXHAUSTED, explanation=("no",), bounds=())
    false = Bound(claimed + 1, kind, "")
    if plan.count:
        verify_plan(partial)
        with pytest.raises(InvalidPlan):
            verify_plan(replace(partial, bounds=(false,)))


@pytest.mark.slow
@given(cases(), st.sampled_from(NAMES), st.sampled_from(NAMES))
@examples(32)
def test_a_plan_for_another_target_is_accepted_only_if_it_is_one(case: Case, name: str, other: str) -> None:
    plan = planner.plan(case.reviews, target=name, search=Search(time_limit=20), **case.options)
    expected = naive_plans.smallest_plan(*case.naive(), other, most_sets=3_000)
    if plan.status != PlanStatus.OPTIMAL or expected == "too many":
        return
    try:
        verify_plan(replace(plan, target=other))
    except InvalidPlan:
        return
    assert expected is not None
    assert expected[0] == plan.count


@pytest.mark.slow
@given(cases(), st.sampled_from(NAMES))
@examples(24)
def test_no_review_of_an_optimal_plan_may_be_dropped(case: Case, name: str) -> None:
    plan = planner.plan(case.reviews, target=name, search=Search(time_limit=20), **case.options)
    if plan.status != PlanStatus.OPTIMAL:
        return
    for place in range(plan.count):
        fewer = {"added": plan.added[:place] + plan.added[place + 1 :], "pairs": np.delete(plan.pairs, place, 0)}
        for status in (PlanStatus.OPTIMAL, PlanStatus.FEASIBLE):
            with pytest.raises(InvalidPlan):
                verify_plan(replace(plan, **fewer, status=status, bounds=()))


@given(st.integers(0, 30))
@examples(6)
def test_merges_out_of_order_prove_nothing(seed: int) -> None:
    plan = planner.plan(random_assignment(12, 6, 4, np.random.default_rng(seed)))
    verify_plan(plan)
    with pytest.raises(InvalidPlan, match="merges: lead to a group"):
        verify_plan(replace(plan, merges=plan.merges[:1]))
    twice = np.concatenate([plan.merges, plan.merges[:1]])
    for merges in (twice, plan.merges[:, [0, 1, 3, 2]][::-1]):
        outcome = _refusal(replace(plan, merges=merges))
        assert outcome is None or "does not join" in outcome
    assert _refusal(replace(plan, merges=twice)) is not None


def _refusal(plan: Plan) -> str | None:
    try:
        verify_plan(plan)
    except InvalidPlan as error:
        return str(error)
    return None


@pytest.mark.parametrize(("N", "M", "k"), [(60, 60, 3), (120, 120, 3), (100, 110, 3)])
def test_the_expansion_of_a_claim_is_proved_and_no_more(N: int, M: int, k: int) -> None:
    """The verifier's own best, over all thresholds, is at least the claim and little more; all above is refused."""
    table = random_assignment(N, M, k, np.random.default_rng(3))
    live = doubly_connected_components(table)
    claim = claims.expansion(live.cover_start, live.cover_item, N)
    assert claim is not None
    covers = [cover.tolist() for cover in live.covers]
    assert claim.value <= bounds.expansion_bound(covers, N) <= claim.value + 2


@pytest.mark.parametrize(("N", "M", "k"), [(60, 60, 3), (100, 100, 3), (60, 40, 4)])
def test_a_flow_is_sent_again_and_proves_no_more_than_its_claim(N: int, M: int, k: int) -> None:
    table = random_assignment(N, M, k, np.random.default_rng(1))
    live = doubly_connected_components(table)
    claim = lower_bounds.expansion(live.cover_start, live.cover_item, N, Clock(60))
    spectral = claims.expansion(live.cover_start, live.cover_item, N)
    if claim is None or spectral is None:
        assert k > 3
        return
    assert claim.value >= spectral.value
    every = [cover.tolist() for cover in live.covers]
    assert certificates.flow_proves(every, N, claim.value, claim.weights)
    assert not certificates.flow_proves(every, N, claim.value + 2, claim.weights)
    # The flow is that of the search, by other code; weights of other slots, none or not positive are refused.
    graph = lower_bounds.slots(live.cover_start, live.cover_item, N)
    covers = [cover for cover in every if len(cover) > 2]
    sent = certificates._flow_sent(covers, claim.weights, N)
    assert sent is not None
    assert np.allclose(sent, lower_bounds.send(graph, np.array(claim.weights)), rtol=1e-10)
    for weights in ((), claim.weights[1:], (0.0, *claim.weights[1:]), (float("nan"), *claim.weights[1:])):
        assert not certificates.flow_proves(every, N, 1, weights)


@given(st.integers(0, 1_000))
@examples(8)
def test_what_a_flow_crosses_is_no_more_than_what_a_cut_keeps(seed: int) -> None:
    """For any set of papers, theta b (N - b) and what the left-over pairs cut are at most the shares kept."""
    rng = np.random.default_rng(seed)
    live = doubly_connected_components(random_assignment(24, 24, 3, rng))
    graph = lower_bounds.slots(live.cover_start, live.cover_item, 24)
    sent = lower_bounds.send(graph, rng.uniform(0.1, 1.0, graph.item.size))
    if sent is None:
        return
    theta = 1.0 / (sent / graph.share).max()
    pairs = lower_bounds._left_over(graph, graph.share - theta * sent).toarray()
    for _ in range(20):
        inside = rng.random(24) < rng.random()
        within = np.bincount(graph.owner, weights=inside[graph.item])
        sizes = np.diff(graph.start)
        kept = (within * (sizes - 2) / sizes)[within < sizes].sum()
        crossing = theta * inside.sum() * (~inside).sum() + pairs[np.ix_(inside, ~inside)].sum()
        assert crossing <= kept + 1e-9


@pytest.mark.slow
@given(cases())
@examples(24)
def test_pairs_and_loads_of_the_verifier_are_those_of_brute_force(case: Case) -> None:
    plan = planner.plan(case.reviews, search=Search(time_limit=5), **case.options)
    own, table = Verified(plain_rules(plan.constraints), plan.target), plan.constraints.reviews
    _, _, allowed, spare, room, _ = case.naive()
    allowed = [(j, i) for j, i in allowed if room[i] > 0]
    assert sorted(own.rules.open_pairs()) == sorted((str(j), str(i)) for j, i in allowed)
    for label in table.reviewers:
        assert own.rules.takes(str(label)) == min(spare[label], sum(pair[0] == label for pair in allowed))

import copy
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import planner
from planner import Plan
from planner._plans import cascade
from planner._plans.lower_bounds import least_waste
from planner._plans.target import Bound
from reviewgraph import InputError, Reviews, Search, read_reviews
from reviewgraph.graph import doubly_connected_components, random_assignment
from reviewgraph.graph.levels import NAMES
from tests.planner.plans import naive_plans
from tests.planner.plans.plan_cases import Case, InvalidPlan, cases, constrained, verify_plan
from tests.trials import NIGHTLY, examples, sampled, trials

DATA = Path(__file__).parents[4] / "shared" / "data"
TARGETS = list(NAMES)


@pytest.mark.parametrize("target", ["double", "recoverable", "connected"])
def test_the_fewest_reviews_of_least_cost_are_cheapest_without_a_search(target: str) -> None:
    """Of many candidates few are dear, and the plan needs none of them."""
    table = Reviews([(f"r{g}{j}", f"p{g}{i}") for g in range(10) for j in range(2) for i in range(4)])
    cost = {("r00", "p50"): 5.0, ("r01", "p60"): 2.0}
    plan = planner.plan(table, target=target, cost=cost, spare=2)
    verify_plan(plan)
    assert (plan.status, plan.cost) == ("optimal", plan.count)


def test_the_least_cost_counts_no_pair_twice_and_none_that_is_closed() -> None:
    table = Reviews([("a", 1), ("b", 2)], items=[3, 4])
    cost = {("a", 1): 0.1, ("a", 2): 0.25, ("a", 3): 0.5, ("b", 1): 0.125, ("b", 3): 0.2}
    rules = constrained(table, cost=cost, conflicts=[("b", 1)], fixed=[("b", 3)])
    found = [rules.least_price(count) * rules.cost.unit for count in range(4)]
    assert found == pytest.approx([0.0, 0.25, 0.75, 1.75])


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_the_best_few_reviews_are_as_good_as_brute_force(target: Any) -> None:
    rng, exhausted = np.random.default_rng(8), 0
    for _ in range(trials(30) if NIGHTLY else 5):
        rows = [(j, int(i)) for j in range(5) for i in rng.permutation(6)[: rng.integers(0, 4)]]
        options: dict[str, Any] = {"conflicts": [(int(rng.integers(5)), int(rng.integers(6))) for _ in range(6)]}
        if rng.random() < 0.5:
            options["capacity"] = {j: int(rng.integers(0, 3)) for j in range(5)}
        if rng.random() < 0.3:
            options["max_per_item"] = 1
        case = Case(Reviews(rows, reviewers=range(5), items=range(6)), options)
        covers, N, allowed, spare, room, _ = case.naive()
        budget = int(rng.integers(0, 3))
        plan = planner.plan(case.reviews, target=target, search=Search(time_limit=20), n=budget, **options)
        if plan.status != "budget_exhausted":
            continue
        verify_plan(plan)
        exhausted += budget > 0
        papers, count = naive_plans.best_within(covers, N, allowed, spare, room, target, budget)
        before = naive_plans.largest(covers, N, target)
        assert (plan.reach[0].papers, plan.reach[1].papers, plan.count) == (len(before), papers, count)
    assert exhausted >= (5 if NIGHTLY else 2)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_a_budget_is_spent_where_it_helps_most(target: Any) -> None:
    """Four groups of 6, 5, 4 and 2 papers: whoever joins the largest ones gets furthest."""
    sizes = {"a": 6, "b": 5, "c": 4, "d": 2}
    rows = [(f"{name}{j}", f"{name}{i}") for name, size in sizes.items() for j in range(3) for i in range(size)]
    reviews = Reviews(rows)
    for budget, papers in ((2, 11), (4, 15)):
        if target == "connected":
            budget //= 2
        plan = planner.plan(reviews, target=target, n=budget, search=Search(time_limit=2))
        verify_plan(plan)
        assert (plan.status, plan.count, plan.reach[1].papers) == ("budget_exhausted", budget, papers)


def star(centre: int) -> list[tuple[str, str]]:
    """Two reviewers share one item; twenty others share one item with each of the two."""
    pairs = [(f"a{centre}", f"k{centre}"), (f"b{centre}", f"k{centre}")]
    for leaf in range(20):
        pairs += [(f"a{centre}", f"a{centre}.{leaf}"), (f"b{centre}", f"b{centre}.{leaf}")]
        pairs += [(f"c{centre}.{leaf}", f"a{centre}.{leaf}"), (f"c{centre}.{leaf}", f"b{centre}.{leaf}")]
        pairs += [(f"c{centre}.{leaf}", f"own{centre}.{leaf}")]
    return pairs


@pytest.mark.slow
def test_two_far_apart_kernels_take_one_review_each() -> None:
    large = [("big", f"p{i}") for i in range(60)]
    hooks = [("big", "own1.0"), ("big", "own1.1"), ("big", "own2.0"), ("big", "own2.1")]
    plan = planner.plan(Reviews(star(1) + star(2) + large + hooks), search=Search(time_limit=30))
    verify_plan(plan)
    assert (plan.status, plan.count) == ("optimal", 2)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the shared tables are not here")
@pytest.mark.parametrize(("name", "count"), [("mooc_peer_grading", 2), ("auckland", 85), ("aibs_grants", 0)])
def test_real_tables_are_planned_and_proved(name: str, count: int) -> None:
    reviews = read_reviews(DATA / name / "scores.csv")
    plan = planner.plan(reviews, search=Search(time_limit=60))
    verify_plan(plan)
    assert (plan.status, plan.count, plan.lower_bound) == ("optimal", count, count)
    assert doubly_connected_components(plan.reviews).covers_all


def test_a_random_assignment_is_planned_near_its_bound() -> None:
    plan = planner.plan(random_assignment(60, 20, 5, np.random.default_rng(1)), search=Search(time_limit=10))
    verify_plan(plan)
    assert plan.status in ("optimal", "feasible")
    assert plan.count - plan.lower_bound <= 2


def test_fixed_pairs_stay_and_a_decline_is_replaced() -> None:
    chain = Reviews([(j, i) for j in range(5) for i in (j, j + 1)])
    first = planner.plan(chain)
    verify_plan(first)
    declined, *kept = [(review.reviewer, review.item) for review in first.added]
    again = planner.plan(chain, fixed=kept, conflicts=[declined])
    verify_plan(again)
    assert set(kept) <= {(review.reviewer, review.item) for review in again.added}
    assert (again.status, again.count) == ("optimal", first.count)
    asked = {review.reviewer for review in again.added} - {reviewer for reviewer, _ in kept}
    assert set(again.mail()) >= asked
    assert sum(text.count("paper for us") for text in again.mail().values()) == again.count - len(kept)


@pytest.mark.parametrize("target", ["connected", "recoverable", "double"])
@pytest.mark.parametrize("size", [1e-300, 1e-9, 1e13, 1e300])
def test_costs_of_any_size_choose_the_cheaper_plan(target: str, size: float) -> None:
    rows = [("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)] if target != "connected" else [("ann", 1), ("bob", 2)]
    reviews = Reviews(rows)
    dear, cheap = (("ann", 3), ("bob", 1)) if target != "connected" else (("ann", 2), ("bob", 1))
    plan = planner.plan(reviews, target=target, cost={dear: 1.001 * size, cheap: size})
    assert [(review.reviewer, review.item) for review in plan.added] == [cheap]
    assert plan.status == "optimal"
    verify_plan(plan)


def test_one_seed_one_plan_whatever_the_order_of_rows() -> None:
    reviews = random_assignment(40, 14, 5, np.random.default_rng(3))
    rows = list(zip(reviews.reviewer.tolist(), reviews.item.tolist(), strict=True))
    turned = Reviews(rows[::-1], reviewers=range(14), items=range(40))
    plans = [planner.plan(table, search=Search(time_limit=30)) for table in (reviews, reviews, turned)]
    assert all(plan.status == "optimal" for plan in plans)
    assert len({tuple((review.reviewer, review.item) for review in plan.added) for plan in plans}) == 1


def test_interruption_returns_the_best_so_far() -> None:
    def interrupt(now: Any) -> None:
        if now.count is not None:
            raise KeyboardInterrupt

    plan = planner.plan(random_assignment(50, 50, 3, np.random.default_rng(0)), search=Search(progress=interrupt))
    verify_plan(plan)
    assert plan.status == "feasible"
    assert any("interrupted" in sentence for sentence in plan.explanation)


def test_words_name_papers_and_groups() -> None:
    plan = planner.plan(Reviews([("ann", "p1"), ("ann", "p2"), ("bob", "p2"), ("bob", "p3")]))
    (review,) = plan.added
    assert review.joins == "joins groups of 2 and 2 sharing p2"
    assert review.covers == 3
    assert plan.mail() == {
        review.reviewer: f"Dear {review.reviewer}, could you review one more paper for us: {review.item}? "
        "It helps us compare the scores of all papers on one scale."
    }


def test_impossible_plans_say_which_papers_and_why() -> None:
    reviews = Reviews([("ann", 1), ("ann", 2)], items=[3])
    plan = planner.plan(reviews, conflicts=[("ann", 3)])
    assert plan.status == "infeasible"
    assert any("paper 3" in sentence and "conflicts" in sentence for sentence in plan.explanation)
    assert planner.plan(reviews, conflicts=[("ann", 3)], capacity={"eve": 3}).count == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "triple"}, "target: expected one of survives-reviewer"),
        ({"spare": -1}, "spare: expected a whole number"),
        ({"capacity": {1: 0.5}}, "capacity of reviewer 1: expected a whole number"),
        ({"max_per_item": True}, "max_per_item: expected a whole number"),
        ({"n": -1}, "n: expected a whole number"),
        ({"search": 5}, "search: expected a Search"),
        ({"cost": {(1, 1): float("inf")}}, r"cost: expected finite numbers"),
        ({"fixed": [(7, 1)]}, "fixed: the pair names a reviewer or paper that is not in the reviews"),
    ],
)
def test_malformed_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        planner.plan(Reviews([(1, 1), (1, 2), (2, 2), (2, 3)]), **options)


@pytest.mark.parametrize(
    ("limit", "exceeded", "said"),
    [
        ({"spare": 0}, {"above_load": ((1, 1, 0),)}, "a load, and kept: 1 has 1 of 0"),
        ({"max_per_item": 0}, {"above_demand": ((3, 1, 0),)}, "a demand, and kept: 3 has 1 of 0"),
        ({"conflicts": [(1, 3)]}, {"conflicts": ((1, 3),)}, "a conflict, and kept: 1 for 3"),
        ({"willing": [2]}, {"unwilling": ((1, 3),), "above_load": ()}, "the willing reviewers, and kept: 1 for 3"),
        ({"institutions": {1: "x", 2: "x"}}, {"crowded": ((1, 3),)}, "a rule, and kept: 1 for 3"),
        (
            {"affinity": {(1, 3): 0.1, (2, 1): 0.2}, "min_affinity": 0.2},
            {"below": ((1, 3),)},
            "the minimum affinity, and kept: 1 for 3",
        ),
    ],
)
def test_a_fixed_pair_is_kept_and_named_whatever_it_exceeds(
    limit: dict[str, Any], exceeded: dict[str, Any], said: str
) -> None:
    chain = Reviews([(1, 1), (1, 2), (2, 2), (2, 3)])
    plan = planner.plan(chain, fixed=[(1, 3)], **limit)
    verify_plan(plan)
    assert (plan.status, plan.count) == ("optimal", 1)
    facts = plan.constraints.facts
    assert facts is not None
    assert facts._asdict() == {**dict.fromkeys(facts._fields, ()), "kept": 1, **exceeded}
    assert any(said in warning for warning in plan.summary().warnings)
    assert plan.to_dict()["fixed"]["kept"] == 1
    # Nothing more goes where a fixed pair exceeds a load or a limit.
    more = planner.plan(chain, fixed=[(1, 3)], min_reviews=2, **limit)
    assert more.status == "infeasible" or (1, 3) in zip(*list(more.to_columns().values())[1::-1], strict=True)


@pytest.mark.parametrize("best_effort", [False, True])
@pytest.mark.parametrize("budget", [0, 1])
def test_fixed_pairs_beyond_the_budget_are_infeasible(budget: int, best_effort: bool) -> None:
    """A best effort gives no part that holds more than was allowed either."""
    nobody = Reviews([("ann", "p1"), ("ann", "p2"), ("bob", "p3")])
    fixed = [("bob", "p1"), ("ann", "p3")]
    plan = planner.plan(nobody, fixed=fixed, n=budget, min_reviews=3, best_effort=best_effort)
    assert (plan.status, plan.count) == ("infeasible", 0)
    assert plan.explanation[0] == f"2 reviews are fixed, which is more than the {budget} allowed"


def test_fixed_reviews_do_not_narrow_the_integer_programme() -> None:
    """One candidate is left, by a reviewer who has a fixed review: the largest extra load is two."""
    nobody = Reviews([], reviewers=[], items=["p0", "p1"])
    plan = planner.plan(nobody, target="recoverable", capacity={"new": 4}, fixed=[("new", "p1")])
    assert (plan.status, plan.count) == ("optimal", 2)
    lone = Reviews([("r0", 1)], items=range(3))
    plan = planner.plan(lone, capacity={"new": 3}, cost={("new", 2): 0.5}, fixed=[("new", 1)])
    assert (plan.status, plan.count, plan.cost) == ("optimal", 3, 2.5)


def tampered() -> Iterator[tuple[Plan, str]]:
    """Plans that say too much, and what the verifier is to say of them."""
    table = random_assignment(40, 40, 3, np.random.default_rng(1))
    for target in TARGETS:
        plan = planner.plan(Reviews([(j, i) for j in range(3) for i in (2 * j, 2 * j + 1)]), target=target)
        verify_plan(plan)
        (review, *rest), bounds = plan.added, plan.bounds
        yield replace(plan, status="proved"), "no status"
        yield replace(plan, status="budget_exhausted", explanation=("no",)), "is reached"
        yield replace(plan, status="infeasible", explanation=("no",)), "status infeasible: there are reviews"
        yield replace(plan, added=(replace(review, cost=0.5), *rest)), "cost: claims"
        yield replace(plan, added=(replace(review, reviewer="nobody"), *rest)), "no such reviewer|largest_load"
        for bound in bounds:
            more = replace(bound, value=plan.count + 1)
            partial = replace(plan, status="budget_exhausted", explanation=("no",))
            kept = {"added": plan.added[:1], "pairs": plan.pairs[:1], "merges": plan.merges[:0]}
            verify_plan(replace(partial, **kept))
            yield replace(partial, **kept, bounds=(*bounds, more)), "claims"
        yield replace(plan, bounds=(*bounds, Bound(plan.count, "intuition", ""))), "no kind of bound"
    plan = planner.plan(table, search=Search(time_limit=1.0))
    verify_plan(plan)
    yield replace(plan, status="feasible", bounds=(Bound(plan.count, "expansion", ""),)), "claims"
    wasted = planner.plan(Reviews([(0, 0), (0, 1), (1, 1), (1, 2), (1, 3)]), capacity={"new": 9})
    assert wasted.bounds[-1].kind == "loads"
    verify_plan(wasted)
    more = replace(wasted.bounds[-1], value=wasted.count + 1)
    yield replace(wasted, status="budget_exhausted", explanation=("no",), bounds=(more,)), "claims"
    fewer = {"added": wasted.added[:1], "pairs": wasted.pairs[:1], "merges": wasted.merges[:0]}
    yield replace(wasted, status="budget_exhausted", explanation=("no",), bounds=(more,), **fewer), "claims"


def test_the_verifier_refuses_plans_that_say_too_much() -> None:
    for plan, words in tampered():
        with pytest.raises(InvalidPlan, match=words):
            verify_plan(plan)


@pytest.mark.parametrize("target", TARGETS)
def test_papers_without_any_reviewer_are_infeasible(target: Any) -> None:
    plan = planner.plan(Reviews([], reviewers=[], items=range(3)), target=target)
    verify_plan(plan)
    assert plan.status == "infeasible"
    assert "there are no reviewers" in plan.explanation[0]


@pytest.mark.parametrize(
    ("usable", "needed", "waste"),
    [([1, 4, 2], 1, 0), ([1, 4, 2], 2, 1), ([1, 4, 2], 3, 2), ([1, 4, 2], 4, 3), ([1, 4, 2], 5, None)],
)
def test_the_least_waste(usable: list[int], needed: int, waste: int | None) -> None:
    assert least_waste(np.array([3, 0, 1]), np.array(usable), needed) == waste


@pytest.mark.slow
@pytest.mark.parametrize("unit", sampled([1e-300, 1e12, 1e-12]))
@given(cases(), st.sampled_from(TARGETS), st.integers(0, 2**20))
@examples(16)
def test_the_unit_of_costs_changes_no_plan(unit: float, case: Case, target: Any, seed: int) -> None:
    """Every pair has a cost of its own, so what unlisted pairs cost must not count."""
    rng, everyone = np.random.default_rng(seed), range(len(case.naive()[0]))
    cost = {(j, i): float(rng.integers(1, 9)) for j in everyone for i in range(case.reviews.n_items)}
    plan, scaled = (
        planner.plan(
            case.reviews, target=target, **{**case.options, "cost": {pair: by * price for pair, price in cost.items()}}
        )
        for by in (1.0, unit)
    )
    verify_plan(scaled)
    assert (scaled.status, scaled.pairs.tolist()) == (plan.status, plan.pairs.tolist())
    expected = naive_plans.smallest_plan(*case.naive()[:-1], cost, target, most_sets=3_000)
    if expected is not None and expected != "too many":
        assert (plan.status, plan.count, plan.cost) == ("optimal", *expected)


@pytest.mark.parametrize("number", [1e308, 10**400])
@pytest.mark.parametrize("name", ["cost", "affinity"])
def test_numbers_whose_sums_overflow_are_refused(name: str, number: float) -> None:
    reviews = Reviews([("a", "p"), ("b", "q")])
    values: dict[str, Any] = {name: {("a", "q"): number, ("b", "p"): -1e308}}
    with pytest.raises(InputError, match=f"^{name}: expected numbers"):
        planner.plan(reviews, **values)


def test_few_candidates_are_proved_before_the_plan_is_improved(monkeypatch: pytest.MonkeyPatch) -> None:
    # The only reviewer with spare load must take both papers: no other bound is above one.
    searched = "improved, although the exact method is instant"
    monkeypatch.setattr(cascade, "improve_search", lambda *_: pytest.fail(searched))
    plan = planner.plan(Reviews([(1, 1)], reviewers=range(2), items=range(2)), capacity={0: 3})
    assert (plan.status, plan.count, plan.lower_bound) == ("optimal", 2, 2)


# A plan as a result.


APART = [("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3), ("cyd", 4), ("cyd", 5)]


@pytest.mark.parametrize("target", TARGETS)
def test_a_plan_pickles_and_copies_and_still_verifies(target: str) -> None:
    plan = planner.plan(Reviews(APART), target=target)
    for twin in (pickle.loads(pickle.dumps(plan)), copy.copy(plan), copy.deepcopy(plan)):
        assert repr(twin.to_dict()) == repr(plan.to_dict())
        verify_plan(twin)


def test_columns_and_dictionary_name_the_same_reviews() -> None:
    plan = planner.plan(Reviews(APART))
    columns, listed = plan.to_columns(), plan.to_dict()["reviews"]
    assert list(columns["item"]) == [review["item"] for review in listed]
    assert len(listed) == plan.count == len(plan.to_frame(backend="pyarrow"))
    assert "\n" not in repr(plan)

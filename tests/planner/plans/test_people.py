from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import planner
from planner import Plan
from planner._plans.constraints import people
from reviewgraph import InputError, Reviews, Rules, Search
from reviewgraph._base.errors import LabelWarning
from reviewgraph.formats import Columns
from tests.planner.plans.people_cases import Case, cases
from tests.planner.plans.plan_cases import InvalidPlan, verify_plan
from tests.trials import examples

#: ann, bob and cleo read 1-2, 2-3, 3-4: two reviews join them.
CHAIN = Reviews([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3), ("cleo", 3), ("cleo", 4)])
#: Everything is comparable, and papers 1 and 4 have one review each.
JOINED = Reviews([("ann", i) for i in (1, 2, 3)] + [("bob", i) for i in (2, 3, 4)])


def planned(plan: Plan) -> list[tuple[Any, Any]]:
    verify_plan(plan)
    return sorted((review.reviewer, review.item) for review in plan.added)


@given(cases(), st.integers(0, 3))
@examples(6)
def test_within_a_budget_rules_hold_and_what_papers_lack_comes_first(case: Case, budget: int) -> None:
    plan = planner.plan(case.reviews, search=Search(time_limit=60), n=budget, **case.options)
    verify_plan(plan)
    chosen = tuple(map(tuple, plan.pairs[len(plan.constraints.fixed) :].tolist()))
    assert plan.count <= budget
    if plan.status != "infeasible":
        assert case.keeps(chosen)
        assert set(chosen) <= set(case.allowed())
    needs, free = plan.constraints.people.needs(case.reviews), budget - len(plan.constraints.fixed)
    if plan.status == "budget_exhausted" and needs.total >= free and not case.options.get("fixed"):
        assert all(needs.each[i] > 0 for _, i in chosen)


def test_among_plans_of_one_length_the_one_of_most_affinity_is_taken() -> None:
    affinity = {("bob", 1): 0.9, ("bob", 4): 0.1, ("ann", 3): 0.2, ("cleo", 2): 0.3, ("ann", 4): float("nan")}
    plan = planner.plan(CHAIN, affinity=affinity)
    assert planned(plan) == [("bob", 1), ("cleo", 2)]
    assert (plan.status, plan.affinity) == ("optimal", pytest.approx(1.2))
    assert [review.affinity for review in plan.added] == [pytest.approx(review.affinity) for review in plan.added]
    assert set(plan.to_columns()) == {"item", "reviewer", "affinity", "joins"}
    table = Columns(np.array([0, 1]), np.array([0, 1]), ["bob", "cleo"], [1, 2], np.array([0.9, 0.3]))
    assert planned(planner.plan(CHAIN, affinity=table)) == [("bob", 1), ("cleo", 2)]
    assert planner.plan(CHAIN).affinity is None


def test_a_floor_bars_what_is_below_it_and_what_has_no_affinity() -> None:
    affinity = {("bob", 1): 0.5, ("bob", 4): 0.4, ("ann", 3): 0.6, ("cleo", 2): 0.5, ("ann", 4): float("nan")}
    assert planned(planner.plan(CHAIN, affinity=affinity, min_affinity=0.5)) == [("ann", 3), ("cleo", 2)]
    none = planner.plan(CHAIN, affinity=affinity, min_affinity=0.7)
    assert planned(none) == []
    assert none.status == "infeasible"
    kept = planner.plan(CHAIN, affinity=affinity, min_affinity=0.5, fixed=[("ann", 4)])
    assert ("ann", 4) in planned(kept)


def test_colleagues_do_not_meet_on_a_paper() -> None:
    # Bob's colleagues are barred from papers 2 and 3; two newcomers of one institution may not both read paper 1.
    with pytest.warns(LabelWarning, match="institutions: 1 of 3 reviewers is not in the reviews"):
        with_ann = planner.plan(CHAIN, institutions={"ann": "X", "bob": "X", "zoe": ""})
    assert not {("ann", 3), ("bob", 1)} & set(planned(with_ann))
    lone = Reviews([("ann", 1), ("ann", 2)], items=[1, 2])
    crowd = {"eve": 2, "fay": 2, "gus": 2}
    both = planner.plan(lone, capacity=crowd, min_reviews=3, institutions={"eve": "X", "fay": "X"})
    assert sum(reviewer == "gus" for reviewer, _ in planned(both)) == 2
    short = planner.plan(lone, capacity=crowd, min_reviews=4, institutions={"eve": "X", "fay": "X"})
    assert planned(short) == []
    assert short.explanation[0].startswith(
        "papers 1, 2 need 6 more reviews in all, and those who may give them, at most 1 of one institution, have 4 "
    )


def test_every_paper_gets_a_senior_reviewer_and_existing_ones_count() -> None:
    plan = planner.plan(JOINED, senior=["bob"])
    assert planned(plan) == [("bob", 1)]
    assert plan.added[0].joins == "lacks 1 senior reviewer"
    assert [bound.words for bound in plan.bounds] == ["1 paper has no senior reviewer"]
    none = planner.plan(JOINED, senior=["bob"], capacity={"eve": 3, "bob": 3}, conflicts=[("bob", 1)])
    assert none.explanation[0].startswith(
        "paper 1 needs 1 more senior review, and nobody who may give it has spare load"
    )


def test_only_the_willing_are_asked_and_those_who_accepted_stay() -> None:
    assert planned(planner.plan(CHAIN, willing=["bob"])) == [("bob", 1), ("bob", 4)]
    assert {who for who, _ in planned(planner.plan(CHAIN, willing=["eve"]))} == {"eve"}
    kept = planner.plan(CHAIN, willing=["bob"], fixed=[("ann", 4)])
    assert {who for who, what in planned(kept) if what != 4} == {"bob"}
    assert planner.plan(CHAIN, willing=[]).explanation[0].startswith("no reviewer has spare load")


def test_every_paper_gets_so_many_reviews() -> None:
    plan = planner.plan(JOINED, min_reviews=2)
    assert planned(plan) == [("ann", 4), ("bob", 1)]
    assert (plan.status, plan.lower_bound) == ("optimal", 2)
    assert plan.added[0].joins == "has 1 of 2 reviews"
    # One review does for the level and for paper 1.
    assert planner.plan(CHAIN, min_reviews=2).count == 2


def test_loads_that_are_too_small_together_are_counted() -> None:
    pairs = [(j, i) for j in "abc" for i in range(3)]
    table = Reviews([*pairs, ("d", 3)], items=range(5))
    found = planner.plan(table, capacity={"a": 1, "b": 1, "d": 1}, min_reviews=2, conflicts=[("d", 4)])
    assert found.explanation == (
        "papers 3, 4 need 3 more reviews in all, and those who may give them have 2 within their spare loads: 3 > 2; "
        "raise loads or limits, lower what every paper must have, or ask more people",
    )
    # Two may read paper 4 and none is senior but a, whose load is 1 for papers 3 and 4.
    senior = planner.plan(table, capacity={"a": 1, "b": 3, "c": 3}, senior=["a"])
    assert "papers 3, 4 need 2 more senior reviews in all" in senior.explanation[0]


def test_a_budget_serves_papers_first_and_says_what_stays_short() -> None:
    plan = planner.plan(CHAIN, min_reviews=3, n=2)
    assert {what for _, what in planned(plan)} == {1, 4}
    assert plan.explanation[:2] == (
        "the target double and what papers must have need more reviews than the budget allows",
        "4 papers stay short of 3 reviews, 4 in all",
    )
    senior = planner.plan(CHAIN, senior=["dan"], willing=["dan"], n=1)
    assert "3 papers stay with no senior reviewer" in senior.explanation


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cost": {("ann", 3): 2.0}, "affinity": {("ann", 3): 1.0}}, "cost and affinity: expected one of the two"),
        ({"min_affinity": 0.5}, "min_affinity: expected affinities with it, found none"),
        ({"affinity": {("ann", 3): 1.0}, "min_affinity": float("nan")}, "min_affinity: expected a finite number"),
        ({"affinity": {("ann", 3): float("inf")}}, "affinity: expected finite numbers"),
        ({"affinity": {("Ann", 3): 1.0}}, "affinity: 'Ann' and 'ann' differ in letter case alone. One reviewer or two"),
        ({"affinity": {("ann", "3"): 1.0}}, "affinity: '3' and 3 differ in type alone. One paper or two"),
        ({"institutions": {"Ann": "X"}}, "institutions: 'Ann' and 'ann' differ in letter case alone"),
        ({"senior": ["Ann", "Bob"]}, "senior: 'Ann' and 'ann' differ .*\n'Bob' and 'bob' .*\nEach one reviewer or two"),
        ({"min_reviews": -1}, "min_reviews: expected a whole number, 0 or more, found -1"),
        ({"affinity": Columns(np.array([0]), np.array([0]), ["ann"], [3])}, "affinity: expected a number for each"),
        (
            {"affinity": Columns(np.array([0, 0]), np.array([0, 0]), ["ann"], [3], np.ones(2))},
            "affinity: expected each .reviewer, item. pair once",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        planner.plan(CHAIN, **options)


def forged(plan: Plan, **changes: Any) -> Plan:
    return replace(plan, constraints=replace(plan.constraints, **changes))


def test_the_verifier_counts_people_by_itself() -> None:
    plan = planner.plan(JOINED, min_reviews=2, affinity={("ann", 4): 1.0})
    verify_plan(plan)
    table, who = plan.constraints.reviews, plan.constraints.people
    together = people(table, Rules(institutions=dict.fromkeys(table.reviewers, "X")))
    with pytest.raises(InvalidPlan, match="one more than --at-most institution=1 allows"):
        verify_plan(forged(plan, people=together))
    with pytest.raises(InvalidPlan, match="is below the minimum affinity"):
        verify_plan(forged(plan, cost=replace(plan.constraints.cost, floor=0.5)))
    with pytest.raises(InvalidPlan, match="or what every paper needs, is not reached"):
        verify_plan(forged(plan, people=replace(who, min_reviews=3)))
    with pytest.raises(InvalidPlan, match=r"claims 2 \(coverage\)"):
        verify_plan(forged(plan, people=people(table, Rules(senior=["ann"]))))
    dear = replace(plan.constraints.cost, best=2.0)
    with pytest.raises(InvalidPlan, match="cost: claims"):
        verify_plan(forged(plan, cost=dear))

"""Plans that survive any one reviewer or review, and plans that keep a level when reviews go missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from planner import InvalidPlan, plan_extra_reviews, verify_plan
from planner._plans import exchanges, greedy
from planner._plans.constraints import constrain, no_pairs
from planner._plans.greedy import _Search
from planner._plans.target import Estimate, Keeping
from planner._plans.targets import target_named
from planner._plans.task import AnyReview, AnyReviewer, Loss, after_loss, new_task
from planner._plans.words import how_kept
from reviewgraph import InputError, Reviews
from reviewgraph._base import Clock
from reviewgraph.cli import main
from reviewgraph.graph import structure_of
from reviewgraph.graph.levels import ALL
from tests.looks import Looks
from tests.planner.plans import naive_plans, people_cases
from tests.planner.plans.plan_cases import Case
from tests.trials import NIGHTLY, trials

ROBUST = [level for level in ALL if level.outlives]
ROBUST_NAMES = [level.name for level in ROBUST]
#: Double, and apart without ann, or without her review of paper 1.
TABLE = Reviews.from_pairs(
    [(name, i) for name, items in (("ann", "123"), ("bob", "234"), ("cleo", "456"), ("dan", "156")) for i in items]
)
RING = Reviews.from_pairs([(j, (j + step) % 6) for j in range(6) for step in range(3)])


def instance(rng: np.random.Generator) -> Case:
    """Small tables, with loads and costs now and then."""
    M, N = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    density = rng.choice([0.3, 0.6])
    rows = [(j, i) for j in range(M) for i in range(N) if rng.random() < density]
    options: dict[str, Any] = {"conflicts": [(0, 0)] if rng.random() < 0.2 else []}
    if rng.random() < 0.4:
        options["capacity"] = {j: int(rng.integers(0, 4)) for j in range(M + 1)}
    if rng.random() < 0.3:
        options["cost"] = {(j, i): float(rng.integers(0, 3)) for j in range(M) for i in range(N)}
    return Case(Reviews.from_pairs(rows, reviewers=range(M), items=range(N)), options)


@pytest.mark.slow
@pytest.mark.parametrize("options", [*({"target": name} for name in ROBUST_NAMES), {"missing": 0.1, "keep": 0.8}])
def test_no_two_colleagues_are_planned_for_one_paper(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greedy, "SURE", 100)
    monkeypatch.setattr(greedy, "DRAWS", 100)
    rng = np.random.default_rng(5)
    for _ in range(4 if NIGHTLY else 2):
        M, N = int(rng.integers(4, 8)), int(rng.integers(3, 6))
        rows = [(j, i) for j in range(M) for i in range(N) if rng.random() < 0.35]
        table = Reviews.from_pairs(rows, reviewers=range(M), items=range(N))
        homes = {j: int(rng.integers(1, 4)) for j in range(M)}
        plan = plan_extra_reviews(table, institutions=homes, time_limit=0.3, **options)
        verify_plan(plan)
        # Few people and few homes: where brute force is quick it has the last word on what is possible.
        if "target" in options and plan.status in ("optimal", "infeasible"):
            case = people_cases.Case(table, {"institutions": homes})
            expected = people_cases.best_plan(case, options["target"], most_sets=2_000)
            if expected != "too many":
                assert expected is None if plan.status == "infeasible" else expected is not None
                assert expected is None or plan.count == expected[0]


@pytest.mark.parametrize("target", ROBUST_NAMES)
def test_plans_are_as_good_as_brute_force(target: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(trials(12)):
        case = instance(rng)
        expected = naive_plans.smallest_plan(*case.naive(), target, most_sets=1_500)
        plan = plan_extra_reviews(case.reviews, target, time_limit=20, **case.options)
        verify_plan(plan)
        if expected is None:
            assert plan.status == "infeasible"
        elif expected != "too many":
            assert (plan.status, plan.count, plan.cost) == ("optimal", *expected)


@pytest.mark.parametrize("target", ROBUST_NAMES)
def test_losses_are_found_and_barred(target: str) -> None:
    rng, kind = np.random.default_rng(4), target_named(target)
    for _ in range(60):
        case = instance(rng)
        covers, N, *_ = case.naive()
        assert kind.reaches(case.reviews) == naive_plans.LEVELS[target](covers[: case.reviews.n_reviewers], N)
    task = new_task(constrain(RING), 50)
    without = after_loss(task, no_pairs(), Loss(2, 3))
    assert not without.constraints.may_read(2, 3)
    assert without.constraints.may_read(2, 5)
    assert after_loss(task, no_pairs(), Loss(2)).constraints.readable(2).size == 0


def test_a_review_of_the_plan_may_be_the_one_that_is_lost() -> None:
    """A plan of one review that mends the table cannot survive the loss of that review."""
    table = Reviews.from_pairs([(j, i) for j in range(3) for i in range(4)], items=range(5))
    assert plan_extra_reviews(table).count == 1
    plan = plan_extra_reviews(table, "survives-review")
    assert (plan.status, plan.count) == ("optimal", 2)
    assert not AnyReview().failing(plan.reviews_with_plan)
    assert AnyReview().failing(table) == [Loss()]
    assert len({review.reviewer for review in plan.reviews}) == 2


def test_one_review_is_never_enough_where_groups_are_apart_and_it_may_be_lost() -> None:
    """No link is missing between four reviewers with a paper for every two; yet no one paper may compare others."""
    table = Reviews.from_pairs([(j, (i, k)) for i in range(4) for k in range(i + 1, 4) for j in (i, k)])
    plan = plan_extra_reviews(table, "survives-review")
    (bound,) = [bound for bound in plan.bounds if bound.kind == "a loss"]
    assert bound.value == 2
    assert bound.sentence == "with nothing lost, 1 review is missing, and one review more, for one of these may be lost"
    verify_plan(plan)
    with pytest.raises(InvalidPlan):
        verify_plan(replace(plan, bounds=(replace(bound, value=3),)))


def test_words_name_the_loss_that_a_review_mends() -> None:
    for target, count, lost in (
        ("survives-reviewer", 2, " drop out, joins"),
        ("survives-review", 1, " not review paper"),
    ):
        plan = plan_extra_reviews(TABLE, target)
        assert (plan.status, plan.count) == ("optimal", count)
        assert all(": should " in review.joins and lost in review.joins for review in plan.reviews)


@pytest.mark.parametrize("target", ROBUST_NAMES)
def test_a_plan_that_does_not_survive_is_refused(target: str) -> None:
    plan = plan_extra_reviews(TABLE, target)
    verify_plan(plan)
    short = replace(plan, reviews=plan.reviews[:-1], pairs=plan.pairs[:-1], status="feasible", bounds=())
    with pytest.raises(InvalidPlan, match=f"the level {target} is not reached"):
        verify_plan(short)
    for bound in plan.bounds:
        with pytest.raises(InvalidPlan):
            verify_plan(replace(plan, bounds=(replace(bound, value=plan.count + 1),), status="feasible"))


@pytest.mark.slow
def test_a_level_is_kept_as_likely_as_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greedy, "SURE", 150)
    monkeypatch.setattr(greedy, "DRAWS", 100)
    plan = plan_extra_reviews(RING, missing=0.1, keep=0.9, seed=1)
    assert plan.keeping is not None
    assert plan.attained
    assert (
        plan.keeping.before.probability < 0.9 <= plan.keeping.after.probability + 2 * plan.keeping.after.standard_error
    )
    assert 0 < plan.keeping.after.standard_error < 0.03
    verify_plan(plan)
    assert plan.to_dict()["keeping"]["attained"]
    lied = replace(plan, keeping=replace(plan.keeping, before=Estimate(1.0, 0.001)))
    with pytest.raises(InvalidPlan, match="probability of 1 that the level is kept before"):
        verify_plan(lied)
    short = plan_extra_reviews(RING, missing=0.1, keep=0.9, max_reviews=0)
    assert not short.attained
    assert "below the requested 0.9" in short.explanation[-1]


@pytest.mark.parametrize("options", [{"missing": 0.0}, {"missing": 0.1, "keep": 1.0}, {"missing": float("nan")}])
def test_what_is_no_probability_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match="expected a probability between 0 and 1"):
        plan_extra_reviews(RING, **options)  # type: ignore[arg-type]


def test_losses_are_drawn_for_levels_of_the_table_alone() -> None:
    with pytest.raises(InputError, match="found target 'survives-review'; drop one"):
        plan_extra_reviews(RING, "survives-review", missing=0.1)
    assert AnyReviewer().words(Loss(1), ["ann", "bob"], [1]) == "should bob drop out"


def test_the_command_says_how_likely_the_level_is_kept(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greedy, "SURE", 100)
    monkeypatch.setattr(greedy, "DRAWS", 100)
    path = tmp_path / "ring.csv"
    path.write_text("item,reviewer\n" + "".join(f"{i},{j}\n" for j, i in zip(RING.reviewer, RING.item, strict=True)))
    result = CliRunner().invoke(main, ["plan", str(path), "--missing", "0.1", "--keep", "0.9"])
    assert result.exit_code == 0
    assert "fails to arrive with probability 0.1" in result.stdout
    assert CliRunner().invoke(main, ["plan", str(path), "--missing", "0.1", "--max-reviews", "0"]).exit_code == 1


def test_an_interrupted_search_claims_nothing_of_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.planning.keep_level", interrupted)
    plan = plan_extra_reviews(RING, missing=0.1)
    assert not plan.attained
    assert "was not estimated" in plan.explanation[-1]
    assert "Nothing is missing" not in str(plan)


def test_an_estimate_a_little_below_what_was_asked_for_is_told_as_such() -> None:
    near = Keeping(0.05, 0.95, Estimate(0.9, 0.01), Estimate(0.94, 0.012))
    assert near.attained
    assert how_kept(target_named("double"), near)[1:] == ["the difference from the requested 0.95 is not significant"]


@pytest.mark.parametrize("level", ROBUST, ids=lambda level: level.name)
def test_a_plan_with_seniors_survives_too(level: Any) -> None:
    table = Reviews.from_pairs([("r0", "p1"), ("r1", "p2"), ("r2", "p0"), ("r2", "p2"), ("r3", "p0")])
    plan = plan_extra_reviews(table, level.name, senior=["r0", "r1"])
    assert plan.status.reaches
    assert level.holds(structure_of(plan.reviews_with_plan))
    assert plan.constraints.people.needs(plan.reviews_with_plan).total == 0


def test_what_a_fixed_review_mends_is_told_where_nothing_else_is_planned() -> None:
    rows = [("r0", "p0"), ("r0", "p1"), ("r0", "p2"), ("r1", "p0"), ("r2", "p1"), ("r2", "p2"), ("r3", "p2")]
    plan = plan_extra_reviews(Reviews.from_pairs(rows), "survives-reviewer", fixed=[("r2", "p0")])
    assert (plan.status, plan.count) == ("optimal", 1)


@pytest.mark.parametrize("name", ROBUST_NAMES)
def test_no_compiler_is_waited_for_longer_than_there_is_time(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("reviewgraph.graph.kernels.compiling.Policy.fits", lambda *args: False)
    losses = target_named(name).losses
    assert losses is not None
    with pytest.raises(Clock.Over):
        losses.failing(RING, Clock(None))
    assert not target_named(name).reaches_in_time(RING, Clock(None))


def test_losses_are_drawn_one_by_one_while_there_is_time() -> None:
    drawn = []
    for looks in (1, 5, 20):
        task, target = new_task(constrain(RING), 64), target_named("double")
        rng = np.random.default_rng(0)
        search = _Search(task, target, 0.9, 0.95, rng, Looks(looks))
        assert search.grown(no_pairs(), None).shape == (0, 2)
        drawn.append(rng.random())
    assert len(set(drawn)) == 3


def test_parts_by_scores_are_short_in_large_tables() -> None:
    task = new_task(constrain(RING), 64, use_scores=True)
    assert exchanges.most_without_budget(task) == exchanges.AT_MOST
    assert exchanges.most_without_budget(replace(task, use_scores=False)) == exchanges.AT_MOST
    many = Reviews.from_codes(*np.divmod(np.arange(100_000), 250), reviewers=400, items=250)
    assert exchanges.most_without_budget(new_task(constrain(many), 64, use_scores=True)) == 5

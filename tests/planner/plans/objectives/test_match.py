"""Reviews that decide as well as a number for every paper: the search against enumeration, and plans from it."""

import numpy as np
import pytest

import planner
from planner._plans.rounds import Papers, fewest, matched, play, schedule, typical_precision
from reviewgraph import InputError, Reviews
from reviewgraph.graph import Assumptions, expected_errors, random_assignment
from tests.planner.plans.objectives.test_rounds import table
from tests.trials import sampled

pytestmark = pytest.mark.usefixtures("infer_once")

OPTIONS = {"goal": "decision", "n_selected": 5, "match": 3}


@pytest.fixture
def few_rollouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play few continuations, where their number does not matter."""
    monkeypatch.setattr("planner._plans.rounds.ROLLOUTS", 16)


@pytest.mark.parametrize("seed", range(10))
def test_the_fewest_are_those_of_trying_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    falling = np.sort(rng.normal(0.3, 1.0, (41, 30)), axis=0)[::-1]
    more, error = fewest(lambda number: falling[min(number, 40)], 40)
    assert more == next((number for number in range(1, 41) if falling[number].mean() <= 0), 40)
    assert error > 0


@pytest.mark.parametrize("seed", sampled(range(4), 2))
def test_a_match_is_the_first_number_that_is_not_worse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    papers = Papers(rng.standard_normal(20), rng.uniform(0.3, 0.9, 20), np.zeros(20), 1.3, 5)
    count = rng.integers(1, 4, 20)
    match = matched(papers, count, 3, 2, 0, seed, lambda words: None)
    lacking = np.maximum(3 - count, 0)

    def draws() -> np.random.Generator:
        return np.random.default_rng(seed)

    goal = play(papers, [int(lacking.sum())], draws(), rollouts=100, first=lacking).mean[-1]
    tried = [play(papers, schedule(number, 2), draws(), rollouts=100).mean[-1] for number in range(lacking.sum() + 1)]
    assert match.more == next(number for number, wrong in enumerate(tried) if wrong <= goal)
    assert (match.existing, match.even) == (count.sum(), count.sum() + lacking.sum())
    assert (match.each.wrong, match.planned.wrong) == pytest.approx((goal, tried[match.more]))
    assert match.reached
    low, high = match.interval
    assert low <= match.needed.reviews <= high


@pytest.mark.parametrize("noise", [0.6, 1.0])
@pytest.mark.parametrize(("reviewers", "load"), [(60, 4), (20, 12)])
def test_the_precision_of_a_review_is_that_of_expected_errors(noise: float, reviewers: int, load: int) -> None:
    assumed = Assumptions(noise=noise)
    reviews = random_assignment(60, reviewers, load, np.random.default_rng(0))
    variance = (expected_errors(reviews, assumptions=assumed) ** 2).mean()
    per_paper = reviewers * load / 60
    assert 1 / (1 + per_paper * typical_precision(load, per_paper, assumed)) == pytest.approx(variance, rel=0.1)


@pytest.mark.usefixtures("few_rollouts")
def test_a_match_plans_the_first_round_of_its_reviews() -> None:
    reviews = table(40)
    plan = planner.plan(reviews, **OPTIONS)
    match = plan.rounds.match
    assert (match.per_paper, match.existing, match.even) == (3, 80, 120)
    assert plan.rounds.budget == match.more < 40
    by_hand = {**OPTIONS, "match": None, "n": match.more, "rounds": match.needed.rounds}
    assert plan.pairs.tolist() == planner.plan(reviews, **by_hand).pairs.tolist()
    page = plan.summary()
    assert page.verdict == f"About {match.needed.reviews} reviews decide as well"
    assert page.summary.startswith(f"as 3 for every paper (120): 80 so far and {match.more} in ")
    stated = plan.to_dict()["match"]
    assert {name: stated[name] for name in ("rounds", "reviews", "error")} == match.needed._asdict()
    one = planner.plan(reviews, **OPTIONS, rounds=1)
    assert [needed.rounds for needed in one.rounds.match.by_rounds] == [1]
    assert one.count == one.rounds.match.more


@pytest.mark.usefixtures("few_rollouts")
def test_before_scores_the_first_round_is_a_first_phase() -> None:
    everything = random_assignment(24, 24, 2, np.random.default_rng(0))
    plan = planner.plan(everything, **OPTIONS)
    assert (plan.count, plan.rounds.terms.first_phase, plan.rounds.last) == (0, True, False)
    assert plan.rounds.match.existing == 48
    assert "48 as a first phase" in plan.summary().summary
    part = Reviews.from_codes(everything.reviewer[:30], everything.item[:30], reviewers=24, items=24)
    plan = planner.plan(part, **OPTIONS)
    assert plan.count == plan.rounds.required == np.maximum(2 - part.reviews_per_item, 0).sum()
    assert plan.rounds.match.existing == 30 + plan.count
    assert (plan.reviews.reviews_per_item >= 2).all()
    one = planner.plan(part, **OPTIONS, min_reviews=1)
    assert one.count == (part.reviews_per_item == 0).sum()


def test_where_papers_need_all_reviews_no_fewer_are_said_to_do() -> None:
    papers = Papers(np.zeros(2), np.ones(2), np.zeros(2), 1.0, 1)
    match = matched(papers, np.ones(2, np.int64), 2, 1, 0, 0, lambda words: None)
    assert (match.reached, match.more) == (False, 2)


@pytest.mark.usefixtures("few_rollouts")
def test_the_first_line_says_where_the_reviews_cannot_be_given() -> None:
    alone = Reviews([("ann", item, float(item)) for item in range(4)])
    page = planner.plan(alone, **{**OPTIONS, "n_selected": 1}).summary()
    assert (page.good, page.verdict) == (None, "No further review can be given")
    assert "would decide as well as 3 for every paper (12)" in page.summary
    assert not any("what is expected" in warning for warning in page.warnings)
    few = planner.plan(table(40), **OPTIONS, max_per_item=1, capacity={"new": 4})
    assert few.rounds.match.more > few.rounds.capacity == 4
    assert few.summary().verdict == "At most 4 further reviews can be given"
    assert f"{few.count} now; about {few.rounds.match.more} would decide as well" in few.summary().summary


def test_a_first_phase_that_cannot_be_is_said_without_a_level() -> None:
    alone = Reviews([("ann", item) for item in range(4)])
    plan = planner.plan(alone, **{**OPTIONS, "n_selected": 1})
    assert (plan.status, plan.to_dict()["target"], plan._has_part) == ("infeasible", None, False)
    assert plan.summary().summary == "gives all 4 papers 2 reviews or more within the rules"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"match": 1}, "match: expected 2 or more reviews per paper, found 1"),
        ({"match": 2}, "match: expected more than the 2 reviews or more that every paper has, found 2"),
        ({"n": 5}, "n: expected none with match"),
        ({"target": "double"}, "match: expected goal 'decision' .--for decision. without a target"),
    ],
)
def test_what_does_not_go_with_a_match_is_refused(wrong: dict, words: str) -> None:
    with pytest.raises(InputError, match=f"^{words}"):
        planner.plan(table(), **{**OPTIONS, **wrong})

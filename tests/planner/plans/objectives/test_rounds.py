"""Reviews in rounds, and how many decide as well as a number for every paper: against plain loops and enumeration."""

import itertools

import numpy as np
import pytest

import planner
from planner._plans.constraints import constrain, no_pairs
from planner._plans.objectives import Beliefs, Decision
from planner._plans.process import choose
from planner._plans.rounds import (
    Papers,
    asked_for,
    fewest,
    matched,
    play,
    schedule,
    spend,
    standing,
    step_rates,
    typical_precision,
)
from planner._plans.task import at_most, new_task
from reviewgraph import InputError, Reviews, verify
from reviewgraph._base import probability_in_top
from reviewgraph.graph import Assumptions, expected_errors, random_assignment
from tests.trials import NIGHTLY, sampled, trials

pytestmark = pytest.mark.usefixtures("infer_once")


def papers(size: int, seed: int, n: int = 5, **changes) -> Papers:
    rng = np.random.default_rng(seed)
    return Papers(rng.standard_normal(size), rng.uniform(0.2, 0.9, size), np.zeros(size), 1.3, n)._replace(**changes)


def table(size: int = 24, load: int = 2, seed: int = 0) -> Reviews:
    rng = np.random.default_rng(seed)
    design = random_assignment(size, size, load, rng)
    score = rng.standard_normal(size)[design.item] + rng.standard_normal(design.n_reviews)
    names = {"reviewers": [f"r{j:02}" for j in range(size)], "items": [f"p{i:02}" for i in range(size)]}
    return Reviews.from_codes(design.reviewer, design.item, score, **names)


#: Two papers far above the others.
SETTLED = Reviews(
    [
        *(("ann", "p1", 6), ("ann", "p2", 8), ("ann", "p3", 2), ("bob", "p2", 7), ("bob", "p3", 3), ("bob", "p4", 9)),
        *(("cyd", "p4", 8), ("cyd", "p5", 1), ("cyd", "p6", 2), ("dan", "p5", 2), ("dan", "p6", 3), ("dan", "p1", 6)),
    ]
)


# The kernel.


def naive_spend(loss: np.ndarray, budget: int) -> float:
    """Return the smallest loss with a budget, by enumeration."""
    deep, size = loss.shape[0] - 1, loss.shape[1]
    options = itertools.product(range(deep + 1), repeat=size)
    return min(sum(loss[count, i] for i, count in enumerate(own)) for own in options if sum(own) <= budget)


@pytest.mark.parametrize("seed", range(20))
def test_steps_of_highest_slope_are_best_where_they_use_the_budget_whole(seed: int) -> None:
    """The majorant is exact at the ends of its segments."""
    rng = np.random.default_rng(seed)
    gain = np.concatenate([np.zeros((1, 3)), np.cumsum(rng.random((4, 3)), axis=0)])
    loss = gain[-1] - gain
    rate = step_rates(loss)
    assert (np.diff(rate, axis=0) <= 1e-12).all()
    assert rate.sum(axis=0) == pytest.approx(gain[-1])
    for budget in range(13):
        count = spend(rate, budget)
        assert count.sum() == budget
        left, flat_rate = float(loss[count, range(3)].sum()), np.sort(rate.ravel())[::-1]
        if budget in (0, 12) or flat_rate[budget - 1] > flat_rate[budget] + 1e-12:
            assert left == pytest.approx(naive_spend(loss, budget))


@pytest.mark.parametrize("seed", range(6))
def test_rollouts_ask_where_the_choice_of_reviews_does(seed: int) -> None:
    """Without loads and conflicts, but for the last few reviews of the budget, which the two round otherwise."""
    own = papers(30, seed, sd=np.random.default_rng(seed).uniform(0.6, 1.2, 30))
    reviewers = 200
    known = Beliefs(own.mean, own.sd, np.full(reviewers, 1.3), own.pending, 30)
    task = new_task(constrain(Reviews.from_codes([], [], reviewers=reviewers, items=30)), 200)
    for budget in (5, 20, 40):
        one = np.bincount(choose(Decision(known, 5), task, no_pairs(), budget)[:, 1], minlength=30)
        batch = (own.mean[None], own.sd[None], own.pending[None])
        other = asked_for(own, *batch, np.array([budget]), standing(*batch[:2], own.n))[0]
        assert np.abs(one - other).sum() <= 2
        assert other.sum() == budget


def naive_play(own: Papers, budgets: list[int], rollouts: int, seed: int) -> np.ndarray:
    """Play rounds by a plain loop with draws of its own; (K, R) wrong selections after each."""
    rng, wrong = np.random.default_rng(seed), np.zeros((rollouts, len(budgets)))
    for row in wrong:
        truth = rng.normal(own.mean, own.sd)
        known, total = own.sd**-2.0, own.mean * own.sd**-2.0
        for place, budget in enumerate(budgets):
            mean, sd = total / known, known**-0.5
            beliefs = mean[None], sd[None], np.zeros((1, mean.size))
            now = standing(mean[None], sd[None], own.n)
            count = asked_for(own, *beliefs, np.array([budget]), now)[0]
            for i, number in enumerate(count):
                for _ in range(number):
                    known[i] += own.typical
                    total[i] += own.typical * rng.normal(truth[i], own.typical**-0.5)
            chance = probability_in_top(total / known, known**-0.5, own.n)
            row[place] = np.setdiff1d(np.argsort(-chance)[: own.n], np.argsort(-truth)[: own.n]).size
    return wrong


#: Rollouts of a plain loop.
ROLLOUTS = 800 if NIGHTLY else 150


@pytest.mark.slow
def test_rollouts_expect_what_a_plain_loop_counts() -> None:
    own, budgets = papers(25, 3), [6, 6]
    fast = play(own, budgets, np.random.default_rng(0), rollouts=ROLLOUTS)
    slow = naive_play(own, budgets, ROLLOUTS, 1)
    error = np.hypot(fast.error[1:], slow.std(axis=0) / np.sqrt(ROLLOUTS))
    assert (np.abs(fast.mean[1:] - slow.mean(axis=0)) < 4 * error).all()


def test_one_round_of_two_papers_is_the_expectation_by_enumeration() -> None:
    """Of two papers one is selected: wrong with the probability that the other is better, after one review each."""
    own = Papers(np.array([0.3, 0.0]), np.full(2, 0.8), np.zeros(2), 2.0, 1)
    played = play(own, [2], np.random.default_rng(0), rollouts=1_500, first=np.ones(2, np.int64))
    left = 1 / (1 / 0.64 + 2.0)
    grid = np.linspace(-6, 6, 49)
    weight = np.exp(-0.5 * grid**2) / np.exp(-0.5 * grid**2).sum()
    total = 0.0
    for z, share in zip(grid, weight, strict=True):
        first = 0.3 + np.sqrt(0.64 - left) * z
        other = np.sqrt(0.64 - left) * grid
        for mean, part in zip(other, weight, strict=True):
            chance = probability_in_top(np.array([first, mean]), np.full(2, np.sqrt(left)), 1)
            total += share * part * (1 - chance.max())
    assert played.mean[1] == pytest.approx(total, abs=4 * played.error[1])


def test_schedules_use_the_budget_and_the_first_is_the_same_for_equal_draws() -> None:
    assert schedule(103, 4) == [26, 26, 25, 26]
    own = papers(60, 1)
    one, two = (play(own, [10, 10], np.random.default_rng(3), rollouts=5) for _ in range(2))
    assert (one.wrong == two.wrong).all()
    nothing = play(own, [0], np.random.default_rng(3), rollouts=5, first=np.zeros(60, np.int64))
    assert nothing.wrong == pytest.approx(np.full((5, 2), one.wrong[0, 0]))


# A process.


def test_required_reviews_come_first() -> None:
    reviews = table()
    given = {"n_selected": 5, "n": 40, "rounds": 1, "min_reviews": 3, "spare": 3}
    plan = planner.plan(reviews, goal="decision", **given)
    count = np.bincount(plan.pairs[:, 1], minlength=24)
    assert (count >= 1).all()
    assert plan.count == 40
    assert plan.rounds.required == 24
    # Without a number of reviews all papers get theirs.
    whole = planner.plan(reviews, goal="decision", n_selected=5, min_reviews=3)
    assert whole.rounds.required == 24 <= whole.count <= whole.rounds.budget
    assert whole.attained
    assert whole.to_dict()["short"] == []


@pytest.mark.parametrize("n", [0, 10])
def test_a_budget_too_small_for_the_minimum_is_named(n: int) -> None:
    reviews = table()
    short = planner.plan(reviews, goal="decision", n_selected=5, n=n, min_reviews=3)
    assert short.count == short.rounds.required == n
    after = short.reviews.reviews_per_item
    lacking = [{"item": item, "missing": 1} for item, number in zip(reviews.items, after, strict=True) if number < 3]
    assert short.to_dict()["short"] == lacking
    assert short.to_dict()["recruit"] is None
    assert len(lacking) == 24 - n
    assert not short.attained
    assert not short.summary().good
    assert f"{24 - n} papers are short of {24 - n} reviews in all: " in " ".join(str(short).split())
    assert verify(short, reviews, min_reviews=3).good is not False
    assert verify(short, reviews, min_reviews=4).good is False


@pytest.mark.parametrize(
    ("rules", "stop"),
    [
        ({"spare": 0}, "loads, limits and conflicts allow no further review"),
        ({"spare": 0, "n": 9}, "loads, limits and conflicts allow no further review"),
        ({"max_per_item": 0, "n": 9}, "loads, limits and conflicts allow no further review"),
        ({"n": 0}, "the budget is spent"),
        ({"n_selected": 2, "min_reviews": 1}, "every decision is settled, with an error probability of 10 % or less"),
        ({"n_selected": 2}, "every decision is settled, with an error probability of 10 % or less"),
    ],
)
def test_why_nothing_is_asked_for(rules: dict, stop: str) -> None:
    reviews = SETTLED if rules.get("n_selected") == 2 else table()
    for in_rounds in ({}, {"rounds": 2} if "n" in rules else {}):
        plan = planner.plan(reviews, **{"goal": "decision", "n_selected": 5, **rules, **in_rounds})
        assert plan.count == 0
        assert plan.summary().summary.startswith(f"{stop}; expect ")
        if plan.rounds is None:
            assert plan.explanation == (stop,)
        else:
            assert plan.rounds.stop == stop


@pytest.mark.parametrize(("wrong", "words"), [({"rounds": 0}, "rounds"), ({"target": "double", "rounds": 2}, "rounds")])
def test_what_does_not_fit_is_refused_by_name(wrong: dict, words: str) -> None:
    asked = {"goal": "decision", "n": 5, "n_selected": 5, **wrong}
    with pytest.raises(InputError, match=f"^{words}:"):
        planner.plan(table(), **asked)


@pytest.mark.parametrize("seed", range(trials(6)))
def test_processes_keep_what_was_asked(seed: int) -> None:
    """Play a random process to its end; loads, conflicts, rules, budgets and the number of mailings are kept."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(8, 16))
    reviews = table(size, 2, seed)
    names = reviews.reviewers, reviews.items
    conflicts = [(names[0][j], names[1][i]) for j, i in rng.integers(0, size, (size, 2))]
    spare, most = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    rounds, budget = int(rng.integers(1, 5)), int(rng.integers(0, 20))
    home = {who: int(rng.integers(5)) for who in names[0]}
    fixed = {"conflicts": conflicts, "institutions": home}
    given = {"n_selected": 3, "n": budget, "rounds": rounds, "spare": spare, "max_per_item": most}
    gone = set()
    for left in range(rounds, 0, -1):
        given |= {"rounds": left, "n": budget}
        plan = planner.plan(reviews, goal="decision", gone=sorted(gone) or None, **fixed, **given)
        pairs = [(review.reviewer, review.item) for review in plan.added]
        assert not set(pairs) & set(conflicts)
        assert not {who for who, _ in pairs} & gone
        assert max((sum(who == one for one, _ in pairs) for who in names[0]), default=0) <= spare
        assert max((sum(item == one for _, one in pairs) for item in names[1]), default=0) <= most
        for item in {item for _, item in pairs}:
            new = [who for who, what in pairs if what == item]
            left_over = plan.constraints.reviews
            there = [left_over.reviewers[j] for j in left_over.reviewers_of(left_over.item_code[item]).tolist()]
            homes = [home[who] for who in (*new, *there)]
            assert not set(new) & set(there)
            assert all(homes.count(home[who]) == 1 for who in new)
        assert plan.rounds.left == left
        assert plan.rounds.now + plan.rounds.unspent == plan.rounds.budget == budget
        budget = plan.rounds.unspent
        # Most of them come, some are late, and now and then somebody gives up.
        fates = rng.random(len(pairs))
        gone |= {who for (who, _), fate in zip(pairs, fates, strict=True) if fate > 0.9}
        come = fates < 0.7
        reviews = reviews._with_codes(*plan.pairs[come].T, rng.standard_normal(np.count_nonzero(come)))
        reviews = reviews._with_codes(*plan.pairs[~come].T)


# What is held back, and how the page says it.


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_on_reviews_is_one_and_the_flow_where_nothing_is_barred(seed: int) -> None:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    rng = np.random.default_rng(seed)
    n_reviewers, n_items = rng.integers(2, 7, 2).tolist()
    spare, room = rng.integers(0, 9, n_reviewers), rng.integers(0, 9, n_items)
    open_ = rng.random((n_reviewers, n_items)) < (1.0 if seed % 2 else 0.6)
    size = n_reviewers + n_items + 2
    capacity = np.zeros((size, size), np.int32)
    capacity[0, 1 : n_reviewers + 1], capacity[n_reviewers + 1 : -1, -1] = spare, room
    capacity[1 : n_reviewers + 1, n_reviewers + 1 : -1] = open_
    most = maximum_flow(csr_array(capacity), 0, size - 1).flow_value
    bound = at_most(spare, room, np.argwhere(~open_))
    assert most <= bound <= min(int(spare.sum()), int(room.sum()), int(open_.sum()))
    if (spare >= n_items).all() and open_.all():
        assert bound == most


def test_held_back_is_what_loads_allow_and_the_budget_stays() -> None:
    reviews = table()
    plan = planner.plan(reviews, goal="decision", n_selected=5, n=100, rounds=3, spare=1)
    assert (plan.rounds.capacity, plan.rounds.now, plan.rounds.held_back) == (24, 8, 16)
    page = plan.summary()
    assert page.verdict == "Round 1 of 3, 8 reviews now:"
    assert page.summary.startswith("16 of 100 held back; ")
    assert any(words.startswith("Loads, limits and conflicts allow 24 of the 100 reviews") for words in page.warnings)


def test_a_round_that_holds_nothing_back_says_so() -> None:
    plan = planner.plan(table(), goal="decision", n_selected=5, n=10, rounds=2, min_reviews=3)
    assert (plan.summary().verdict, plan.summary().summary[:15]) == ("Round 1 of 2, 10 reviews now:", "none held back;")
    one = planner.plan(table(), goal="decision", n_selected=5, n=10, rounds=1)
    assert (one.summary().verdict, one.summary().summary[:15]) == ("Last round, 10 reviews now:", "none held back;")


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

import re
import signal
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy.sparse import coo_array

from planner import assign
from reviewgraph import Reviews, Rules, Search, check
from reviewgraph._base import Clock, InputError
from tests.oracles.assignments import any_market
from tests.planner.assignments import naive_assignment as naive
from tests.planner.assignments.cases import told
from tests.reviewgraph.reading_cases import labelled
from tests.trials import sampled, trials

#: Square affinities, of which nothing says which side is which, are meant as they are here.
pytestmark = pytest.mark.filterwarnings("ignore:affinity. a square matrix")


def pairs_of(result):
    return labelled(result.reviews)


@pytest.mark.parametrize("seed", range(trials(8)))
def test_equals_highs_on_larger_random_instances(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(10, 40)), int(rng.integers(10, 40))
    score = rng.normal(size=(m, n))
    score[rng.random((m, n)) < 0.2] = np.nan
    demand, load = {i: int(rng.integers(1, 4)) for i in range(n)}, {j: int(rng.integers(1, 9)) for j in range(m)}
    least = {j: int(rng.integers(0, 2)) for j in range(m)}
    conflicts = [(j, i) for j in range(m) for i in range(n) if rng.random() < 0.05]
    result = assign(score, demand=demand, load=load, min_load=least, conflicts=conflicts, target="none")
    barred = set(conflicts)
    free = [(j, i) for j in range(m) for i in range(n) if not np.isnan(score[j, i]) and (j, i) not in barred]
    best = naive.best_total(free, [score[pair] for pair in free], demand, load, least)
    assert (best is None) == (result.status == "infeasible")
    if best is not None:
        assert result.affinity == pytest.approx(best, rel=1e-9)


def test_explanations_count_right():
    """The inequality in an explanation is the violated one, and the papers and reviewers it counts are there."""
    counted = 0
    for seed in range(trials(200)):
        asked = any_market(np.random.default_rng(seed))
        limits = {name: asked[name] for name in ("demand", "load", "min_load", "conflicts") if name in asked}
        limits["load"] = {r: most // 2 for r, most in asked["load"].items()}
        limits["min_load"] = {r: min(asked.get("min_load", {}).get(r, 0), most) for r, most in limits["load"].items()}
        names = {"items": asked["items"], "reviewers": asked["reviewers"]}
        result = assign(asked["affinity"], **names, **limits, target="none")
        if result.status != "infeasible":
            continue
        found = re.search(r": (\d+) > (\d+)\.", result.explanation) or re.search(
            r"= (\d+) reviews?, and only (\d+) ", result.explanation
        )
        assert found, result.explanation
        assert int(found[1]) > int(found[2])
        counted += 1
    assert counted > 20


def clustered(n, m, seed, topics=8, communities=False):
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(topics, 8))
    of_paper, of_reviewer = rng.integers(topics, size=n), rng.integers(topics, size=m)
    papers, people = (
        centre[of_paper] + 0.7 * rng.normal(size=(n, 8)),
        centre[of_reviewer] + 0.7 * rng.normal(size=(m, 8)),
    )
    cosine = (people @ papers.T) / np.linalg.norm(people, axis=1)[:, None] / np.linalg.norm(papers, axis=1)
    score = (1 + cosine) / 2
    if communities:
        score[(of_reviewer % 2)[:, None] != of_paper % 2] = 0.0
    return score


def test_critical_reviewers_are_those_without_whom_the_level_fails():
    result = assign(clustered(40, 32, 3), demand=3, load=5)
    pairs = pairs_of(result)
    truly = [r for r in range(32) if not naive.doubly_connected([p for p in pairs if p[0] != r], range(40))]
    assert list(result.critical) == truly


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled([3, 6, 14]))
def test_survives_any_one_reviewer(seed):
    score = clustered(40, 32, seed)
    assert assign(score, demand=3, load=5).critical
    result = assign(score, demand=3, load=5, target="survives-reviewer")
    pairs = pairs_of(result)
    assert result.status == "feasible"
    assert result.survives
    assert naive.violations(pairs, demand=dict.fromkeys(range(40), 3), load=dict.fromkeys(range(32), 5)) == []
    assert naive.survives(pairs, range(40), range(32))


@pytest.mark.parametrize("interrupted", [False, True])
def test_what_is_not_known_in_time_is_not_claimed(monkeypatch, interrupted):
    def ended(core, clock):
        clock.interrupted = interrupted
        raise Clock.Over

    monkeypatch.setattr("planner._assign.stages.exposed_of", ended)
    result = assign(clustered(40, 32, 3), demand=3, load=5, target="survives-reviewer")
    assert (result.status, result.critical, result.survives) == ("level_missed", None, None)
    assert result.explanation.startswith("It was interrupted" if interrupted else "The time limit ended the search")
    assert result.reviews.n_reviews == 120


def test_reviewers_nobody_can_replace_are_proved_critical():
    """Four papers with all pairs allowed, and a fifth that only reviewer 0 can join to them."""
    score = np.ones((6, 5))
    score[2:, 4] = np.nan
    score[1, :3] = np.nan
    result = assign(score, demand=2, load=5, target="survives-reviewer")
    assert result.critical == (0,)
    assert "Proved impossible: reviewer 0 stays critical" in result.explanation


def test_a_level_out_of_reach_of_all_allowed_pairs_is_proved():
    score = np.full((8, 8), np.nan)
    score[:4, :4] = score[4:, 4:] = 1.0
    result = assign(score, demand=3, load=4)
    assert result.status == "infeasible"
    assert "would cover 4 of 8 papers at most" in result.explanation


@pytest.mark.slow
def test_recoverable_is_reached():
    from reviewgraph.graph import recoverability

    result = assign(clustered(24, 24, 1, communities=True), demand=3, load=4, target="recoverable")
    assert result.status in ("optimal", "feasible")
    assert recoverability(result.reviews).recoverable


def test_two_phases():
    score = clustered(60, 50, 2)
    first = assign(score, demand=2, load=3, target="none")
    stays = list(range(0, 60, 2))
    second = assign(
        {(j, i): score[j, i] for j in range(50) for i in stays},
        items=stays, reviewers=range(50), demand=1, load=2, phase_one=first.reviews,
    )  # fmt: skip
    new = pairs_of(second)
    assert second.status in ("optimal", "feasible")
    assert not set(new) & set(pairs_of(first))
    assert naive.violations(new, demand=dict.fromkeys(stays, 1), load=dict.fromkeys(range(50), 2)) == []
    assert naive.doubly_connected(new + pairs_of(first), stays)


def test_too_few_seniors_are_counted():
    affinity = np.ones((6, 5))
    result = assign(affinity, demand=2, load=2, senior=[0, 1], target="none")
    assert result.status == "infeasible"
    assert "5 papers (0, 1, 2, 3, 4) need at least 1 senior each = 5 reviews; 2 such reviewers (0, 1)" in (
        result.explanation
    )
    assert "can give 4: 5 > 4." in result.explanation
    affinity[0, 3] = affinity[1, 3] = np.nan
    result = assign(affinity, demand=2, load=5, senior=[0, 1], target="none")
    assert "1 paper (3) needs at least 1 senior, and no senior reviewer may take it" in result.explanation


def test_rules_that_clash_are_said_and_which_one_is_in_the_way():
    """Papers 0 and 1 both need reviewer 2, the only one of another institution, who has load 1; the rest is easy."""
    affinity = np.ones((8, 6))
    affinity[3:, :2] = np.nan
    affinity[:3, 2:] = np.nan
    homes = {0: "u", 1: "u", 2: "v"}
    load = {r: 1 if r == 2 else 4 for r in range(8)}
    rules = {"institutions": homes, "senior": range(8)}
    result = assign(affinity, demand=2, load=load, target="none", **rules)
    assert result.status == "infeasible"
    assert "cannot all get their reviews with at most 1 of one institution and at least 1 senior" in result.explanation
    assert result.explanation.endswith("They can without at most 1 of one institution.")
    alone = assign(affinity, demand=2, load=load, target="none", institutions=homes)
    assert alone.explanation.endswith("Lower demands, or lift a rule.")


def test_unscored_pairs_only_when_allowed():
    affinity = {("a", "p"): 1.0, ("b", "q"): 1.0}
    common = {"items": ["p", "q"], "reviewers": ["a", "b"], "demand": 2, "load": 2}
    assert assign(affinity, **common).status == "infeasible"
    assert assign(affinity, allow_unscored=True, **common).affinity == 2.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "triple"}, "target: expected one of survives-reviewer"),
        ({"demand": -1}, "demand: expected a whole number"),
        ({"demand": {0: 1}}, "demand: expected a number for every label"),
        ({"load": 1, "min_load": 2}, "min_load: reviewer 0 has min_load 2 above load 1"),
        ({"fixed": [(0, 9)]}, r"fixed: the pair names .* \(paper 9\)"),
        ({"fair": "maximin", "previous": [(0, 0)]}, "previous: expected no fair with it, found one"),
        ({"max_probability": 0.5, "best_effort": True}, "best_effort: expected no max_probability"),
        ({"max_probability": 1.5}, "max_probability: expected a number above 0"),
        ({"alternates": -1}, "alternates: expected a whole number, 0 or more, found -1"),
        ({"senior": [7]}, r"senior: the reviewer is not in the lists of papers and reviewers \(reviewer 7\)"),
        ({"items": ["a"]}, "items: expected 3 labels"),
    ],
)
def test_malformed_arguments(options, message):
    with pytest.raises(InputError, match=message):
        assign(np.ones((3, 3)), **{"demand": 2, "load": 3, **options})


def test_nobody_reviews_their_own_paper():
    """Authors who do not review, and papers that are not among these, are no matter."""
    affinity = {(f"r{j}", f"p{i}"): float(i == j) for j in range(4) for i in range(4)}
    authors = {"p0": ["r0", "zoe"], "p1": ["r1", "r2"], "elsewhere": ["r3"]}
    pairs = [(who, item) for item, names in authors.items() for who in names]
    chosen = assign(affinity, demand=2, load=3, authors=authors, target="none")
    assert chosen == assign(affinity, demand=2, load=3, authors=pairs, target="none")
    assert not {*pairs} & {*pairs_of(chosen)}
    assert chosen.affinity == 2
    with pytest.raises(InputError, match="authors: "):
        assign(affinity, demand=2, load=3, authors=[("zoe", "p0")])


@pytest.mark.parametrize("beside", [{}, {"best_effort": True}, {"max_probability": 1.0, "target": "none"}])
@pytest.mark.parametrize(
    ("limits", "exceeded"),
    [
        ({"conflicts": [(0, 0)]}, {"conflicts": ((0, 0),)}),
        ({"authors": {0: [0]}}, {"conflicts": ((0, 0),)}),
        ({"load": {0: 1, 1: 5, 2: 5, 3: 5}}, {"above_load": ((0, 3, 1),)}),
        ({"demand": {0: 1, 1: 2, 2: 2}}, {"above_demand": ((0, 2, 1),)}),
        (
            {"load": 0, "demand": 0},
            {"above_demand": ((0, 2, 0), (1, 1, 0), (2, 1, 0)), "above_load": ((0, 3, 0), (1, 1, 0))},
        ),
    ],
)
def test_fixed_pairs_are_facts_that_are_kept_and_counted_whatever_they_exceed(limits, exceeded, beside):
    fixed = [(0, 0), (0, 1), (0, 2), (1, 0)]
    options = {"demand": 2, "load": 5, "target": "none", **limits, **beside}
    chosen = assign(np.ones((4, 3)), fixed=fixed, **options)
    assert chosen.status.reached
    columns = chosen.to_columns()
    assert {*fixed} <= {*zip(columns["reviewer"], columns["item"], strict=True)}
    # What is full by facts gets nothing more.
    demand = options["demand"] if isinstance(options["demand"], dict) else dict.fromkeys(range(3), options["demand"])
    facts = {0: 2, 1: 1, 2: 1}
    assert chosen.reviews.reviews_per_item.tolist() == [max(demand[i], facts[i]) for i in range(3)]
    facts = chosen.facts
    assert facts.kept == 4
    found = {"conflicts": facts.conflicts, "above_demand": facts.above_demand, "above_load": facts.above_load}
    assert found == {**dict.fromkeys(found, ()), **exceeded}
    assert chosen.to_dict()["fixed"]["kept"] == 4


def test_the_default_load_is_the_smallest_with_which_the_demands_can_be_met():
    rng = np.random.default_rng(0)
    for _ in range(30):
        m, n = rng.integers(4, 9), rng.integers(4, 9)
        affinity = np.where(rng.random((m, n)) < 0.8, rng.random((m, n)), np.nan)
        options = {"demand": 2, "target": "none"}
        chosen = assign(affinity, **options)
        for load in range(n + 1):
            tried = assign(affinity, load=load, **options)
            assert tried.status.reached == (chosen.status.reached and load >= chosen.usual_load.load)
        if chosen.status.reached:
            assert chosen.usual_load.load == chosen.usual_load.least == chosen.loads.max()
            assert f"of at most {chosen.loads.max()} (the smallest that works)" in told(chosen)
            # Stated loads are kept, also beside others that are not.
            some = assign(affinity, load={j: n if j == 0 else None for j in range(m)}, **options)
            assert some.loads[1:].max() <= some.usual_load.load <= chosen.usual_load.load
    assert assign(np.ones((4, 4)), load=4, demand=2).usual_load is None


def test_the_default_load_is_larger_where_the_level_needs_it():
    # With two papers each, twelve reviewers cannot put eight papers on one scale.
    affinity = np.random.default_rng(0).random((12, 8))
    chosen = assign(affinity, demand=3)
    assert chosen.status.reached
    assert (chosen.usual_load.least, chosen.usual_load.load) == (2, 3)
    assert "of at most 3 (the smallest that works; 2 would meet the demands)" in told(chosen)
    assert not assign(affinity, demand=3, load=2).status.reached


def test_malformed_affinities():
    with pytest.raises(InputError, match="expected a mapping or a reviewers x items matrix"):
        assign(np.ones(3))
    with pytest.raises(InputError, match="infinite"):
        assign(np.full((3, 3), np.inf))
    with pytest.raises(InputError, match="as a key"):
        assign({"a": 1.0})
    with pytest.raises(InputError, match=r"affinity: the pair names .* \(paper 'q'\)"):
        assign({("a", "q"): 1.0}, items=["p"])
    with pytest.raises(InputError, match=r"each .reviewer, item. pair once, found .* twice"):
        assign(coo_array(([1.0, 2.0], ([0, 0], [0, 0])), shape=(2, 2)), demand=1)


@pytest.mark.slow
def test_the_price_of_joining_communities_is_bounded():
    result = assign(clustered(120, 96, 0, communities=True), demand=3, load=5)
    assert 0.1 * result.price < result.least_price <= result.price


def test_a_signal_stops_the_search_between_two_changes():
    score = clustered(60, 48, 0, communities=True)
    told = []

    def interrupt(now):
        words = now.words
        told.append(words)
        if "in the core" in words and not any("stopping" in line for line in told):
            signal.raise_signal(signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        result = assign(score, demand=3, load=5, search=Search(progress=interrupt))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, handler)
    assert result.status == "level_missed"
    assert "interrupted" in result.explanation
    assert any("Ctrl-C again" in line for line in told)


def test_the_price_of_the_middle_level_is_not_that_of_the_highest():
    """Four reviewers, a paper for every two of them: recoverable and not doubly connected, for a loss of 0.1."""
    affinity = {(r, pair): 1.0 for pair in combinations("ABCD", 2) for r in "ABCD"}
    affinity |= {(r, pair): 10.0 for pair in combinations("ABCD", 2) for r in pair}
    affinity["E", ("A", "B")] = 10.1
    result = assign(affinity, demand=2, load=3, target="recoverable")
    table = Reviews([(r, pair) for pair in combinations("ABCD", 2) for r in pair])
    assert check(table).level == "recoverable"
    assert result.affinity_unconstrained == pytest.approx(120.1)
    assert result.least_loss <= 0.1 + 1e-9
    assert assign(affinity, demand=2, load=3, target="double").least_loss > 1


@pytest.mark.parametrize("seed", range(12))
def test_the_price_is_at_least_what_is_said(seed):
    """All assignments of a small market, the best of them that is doubly connected against the bound."""
    rng = np.random.default_rng(seed)
    score = rng.random((4, 4))
    score[:2, 2:] *= 0.2
    score[2:, :2] *= 0.2
    result = assign(score, demand=2, load=3)
    panels = list(combinations(range(4), 2))
    best = max(
        sum(score[r, i] for i, panel in enumerate(chosen) for r in panel)
        for chosen in product(panels, repeat=4)
        if max(sum(r in panel for panel in chosen) for r in range(4)) <= 3
        and naive.doubly_connected([(r, i) for i, panel in enumerate(chosen) for r in panel], range(4))
    )
    loss = result.affinity_unconstrained - best
    assert result.least_loss <= loss + 1e-9
    assert result.affinity <= best + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_the_price_of_the_level_is_what_it_adds_to_that_of_the_rules(seed):
    """Two communities that prefer their own: the rule on regions and the level cost something each."""
    rng = np.random.default_rng(seed)
    score = rng.random((12, 10))
    score[:6, 5:] *= 0.2
    score[6:, :5] *= 0.2
    rules = Rules(at_most={"region": 1}, attributes={j: {"region": "abc"[j % 3]} for j in range(12)})
    result = assign(score, demand=3, load=4, rules=rules)
    without = assign(score, demand=3, load=4, rules=rules, target="none")
    assert without.status == "optimal"
    assert result.price_of_level == pytest.approx(result.price - without.price)
    assert without.price_of_level == pytest.approx(0.0, abs=1e-9)
    assert replace(without, affinity_before_level=without.affinity - 1.0).price_of_level == 0.0


BEYOND = {("a", "p"): 1e308, ("b", "p"): 1e308, ("a", "q"): -1e308, ("b", "q"): 1.0}


@pytest.mark.parametrize(
    ("affinity", "options"),
    [
        (BEYOND, {}),
        (BEYOND, {"target": "none", "fair": "maximin"}),
        (BEYOND, {"target": "none", "max_probability": 0.7}),
        (np.full((2, 2), 1e308), {}),
        ({**BEYOND, ("a", "p"): 10**400}, {}),
        (dict.fromkeys(BEYOND, 1.0), {"floor": 1e308}),
    ],
)
def test_numbers_whose_sums_overflow_are_refused(affinity, options):
    with pytest.raises(InputError, match=r"^(affinity|floor): expected numbers"):
        assign(affinity, demand=1, load=2, **options)


def test_a_result_is_a_dictionary_columns_a_frame_and_one_line():
    chosen = assign(np.arange(36.0).reshape(6, 6) % 7, demand=3, load=3)
    report = chosen.to_dict()
    assert [tuple(row.values()) for row in report["reviews"]] == list(zip(*chosen.to_columns().values(), strict=True))
    assert report["affinity"] == chosen.affinity
    assert chosen.to_frame(backend="pyarrow").column_names == ["item", "reviewer", "affinity"]
    assert (
        repr(chosen)
        == f"<Assignment: {chosen.status}, 6 reviewers, 6 items, 18 reviews, affinity {chosen.affinity:.6g}>"
    )
    assert "\n" not in repr(chosen)

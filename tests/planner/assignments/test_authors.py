from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import assign
from reviewgraph import Search
from tests.planner.assignments import naive_assignment as naive
from tests.planner.assignments.cases import told
from tests.planner.assignments.naive_authors import authors_broken
from tests.planner.assignments.test_assigning import call, clustered, markets, pairs_of, wrong_with
from tests.trials import examples

RULES = ("author_distance", "allow_cycles", "allow_coauthors")


def naive_rules(rules):
    return {"distance" if name == "author_distance" else name: value for name, value in rules.items()}


@st.composite
def rules_of_authors(draw, market):
    """Authors among the reviewers of a market, and a few outside, and which rules they make."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    people = [*market["load"], "outsider", "another"]
    authors = [
        (str(rng.choice(people)), p) for p in [*market["demand"], "elsewhere"] for _ in range(rng.integers(0, 3))
    ]
    authors = [*dict.fromkeys(authors), (next(iter(market["load"])), next(iter(market["demand"])))]
    distance, cycles, coauthors = (int(draw(st.booleans())) for _ in range(3))
    rules = {"author_distance": distance, "allow_cycles": bool(cycles), "allow_coauthors": bool(coauthors)}
    return list(dict.fromkeys(authors)), rules


def best_by_enumeration(market, authors, rules):
    """Most affinity of all assignments that break nothing; None where there is none."""
    free = [
        pair for pair in market["affinity"]
        if pair not in market["conflicts"] and not authors_broken([pair], authors, **rules)
    ]  # fmt: skip
    panels = [
        [panel for panel in combinations([pair for pair in free if pair[1] == p], need)
         if not authors_broken(list(panel), authors, **rules)]
        for p, need in market["demand"].items()
    ]  # fmt: skip
    best = None
    for choice in product(*panels):
        pairs = [pair for panel in choice for pair in panel]
        count = {r: sum(a == r for a, _ in pairs) for r in market["load"]}
        if any(not market["min_load"][r] <= count[r] <= most for r, most in market["load"].items()):
            continue
        if not authors_broken(pairs, authors, **rules):
            value = sum(market["affinity"][pair] for pair in pairs)
            best = value if best is None else max(best, value)
    return best


@st.composite
def tiny(draw):
    n, m = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    affinity = {
        (f"r{j}", f"p{i}"): float(rng.integers(-2, 4)) for j in range(m) for i in range(n) if rng.random() < 0.9
    }
    demand = {f"p{i}": int(rng.integers(0, 3)) for i in range(n)}
    load = {f"r{j}": int(rng.integers(1, 4)) for j in range(m)}
    least = {r: int(rng.integers(0, 2)) if rng.random() < 0.2 else 0 for r in load}
    conflicts = [pair for pair in affinity if rng.random() < 0.05]
    return {"affinity": affinity, "demand": demand, "load": load, "min_load": least, "conflicts": conflicts}


@given(tiny(), st.data())
@examples(20)
def test_equals_enumeration_and_relaxing_never_loses(market, data):
    authors, rules = data.draw(rules_of_authors(market))
    result = call(market, target="none", authors=authors, **rules)
    best = best_by_enumeration(market, authors, naive_rules(rules))
    assert (result.status == "infeasible") == (best is None)
    if best is None:
        assert result.explanation
        return
    assert result.status == "optimal"
    assert result.affinity == pytest.approx(best, abs=1e-6)
    for name in RULES:
        relaxed = {**rules, name: 0 if name == "author_distance" else True}
        assert call(market, target="none", authors=authors, **relaxed).affinity >= result.affinity - 1e-6


@given(markets(extras=True), st.sampled_from(["double", "connected", "none"]), st.data())
@examples(24)
def test_no_rule_is_broken_at_any_level(market, target, data):
    authors, rules = data.draw(rules_of_authors(market))
    plain = naive_rules(rules)
    market["fixed"] = [] if authors_broken(market["fixed"], authors, **plain) else market["fixed"]
    limit = data.draw(st.sampled_from([0.0, 20.0]))
    result = call(market, target=target, authors=authors, search=Search(time_limit=limit), **rules)
    if result.status == "infeasible":
        assert result.explanation
        return
    if not result.reviews.n_reviews and "was found in the time given" in result.explanation:
        return
    pairs = pairs_of(result)
    assert wrong_with(market, result) == []
    assert authors_broken(pairs, authors, **plain) == []
    assert result.affinity <= result.authors.bound + 1e-6
    if result.status == "optimal":
        assert result.affinity == pytest.approx(result.authors.bound, abs=1e-6)


def conference(n, m, seed):
    """Clusters in which everybody writes what others of the cluster like to review."""
    score = clustered(n, m, seed)
    rng = np.random.default_rng(seed)
    near = np.argsort(-score, axis=0)[:16]
    authors = [(int(a), i) for i in range(0, n, 2) for a in rng.choice(near[:, i], rng.integers(1, 4), replace=False)]
    return score, authors


@pytest.mark.parametrize(("seed", "target"), [(1, "double"), (2, "survives-reviewer")])
def test_a_conference_with_authors(seed, target):
    score, authors = conference(30, 24, seed)
    result = assign(score, demand=3, load=5, authors=authors, target=target)
    pairs = pairs_of(result)
    assert authors_broken(pairs, authors) == []
    assert naive.violations(pairs, demand=dict.fromkeys(range(30), 3), load=dict.fromkeys(range(24), 5)) == []
    assert naive.doubly_connected(pairs, range(30))
    assert result.authors.rivals > 0
    assert 0 <= result.authors.bound - result.affinity < 0.03 * result.affinity
    assert "no two co-authors review the same paper" in told(result)
    assert ("the least loss possible" in told(result)) == (result.status == "optimal")
    assert result.to_dict()["authors"]["rivals"] == result.authors.rivals


def test_candidates_who_are_all_co_authors_are_counted():
    score = np.full((5, 3), 0.5)
    score[3:, 0] = np.nan
    result = assign(score, demand=2, load=3, authors=[(0, 1), (1, 1), (2, 1)], target="none")
    assert result.status == "infeasible"
    assert (
        "cannot all get their reviews with no two who review a paper of each other, no two co-authors"
        in result.explanation
    )

"""Rules that differ among papers, against enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import planner
from planner import AtLeast, AtMost, assign
from reviewgraph import InputError, Reviews, Rules, Search
from reviewgraph._base.errors import LabelWarning
from tests.planner.assignments import naive_rules as naive
from tests.planner.plans.checking import verify_plan

pytestmark = pytest.mark.filterwarnings("ignore::reviewgraph._base.errors.LabelWarning")


def market(seed):
    """A tiny market with rules that differ among papers, some beside rules that do not."""
    rng = np.random.default_rng(seed)
    people = [f"r{j}" for j in range(int(rng.integers(3, 6)))]
    papers = [f"p{i}" for i in range(int(rng.integers(1, 4)))]
    affinity = {(r, p): float(rng.integers(0, 9)) / 4 for r in people for p in papers if rng.random() < 0.9}
    known = naive.random_attributes(rng, people)
    rules = naive.random_rules_of_papers(rng)
    rules += naive.random_rules(rng, known, 1) if rng.random() < 0.4 else []
    return {
        "affinity": affinity or {(people[0], papers[0]): 1.0},
        "people": people,
        "papers": papers,
        "known": known,
        "own": naive.random_papers(rng, papers),
        "rules": rules,
        "demand": {p: int(rng.integers(1, 3)) for p in papers},
        "load": {r: int(rng.integers(1, 4)) for r in people},
    }


def stated(case):
    """The rules of a market."""
    kinds = {"at_most": AtMost, "at_least": AtLeast}
    chosen = {name: [rule for rule in case["rules"] if isinstance(rule, kind)] for name, kind in kinds.items()}
    return Rules(attributes=case["known"], item_attributes=case["own"], **chosen)


def best(case):
    """Most affinity over all assignments; None where there is none."""
    totals = {tuple(case["load"].values()): 0.0}
    for p in case["papers"]:
        after = {}
        for panel in combinations([r for r in case["people"] if (r, p) in case["affinity"]], case["demand"][p]):
            if naive.broken(panel, case["known"], case["rules"], case["own"][p]):
                continue
            gain = sum(case["affinity"][r, p] for r in panel)
            for left, total in totals.items():
                rest = tuple(room - (r in panel) for r, room in zip(case["people"], left, strict=True))
                if min(rest) >= 0:
                    after[rest] = max(after.get(rest, -np.inf), total + gain)
        totals = after
    return max(totals.values(), default=None)


def panels(case, result):
    """Reviewers by paper."""
    reviews = result.reviews
    found = {p: [] for p in case["papers"]}
    for j, i in zip(reviews.reviewer.tolist(), reviews.item.tolist(), strict=True):
        found[reviews.items[i]].append(reviews.reviewers[j])
    return found


def solved(case, **options):
    return assign(
        case["affinity"], rules=stated(case), items=case["papers"], reviewers=case["people"], demand=case["demand"],
        load=case["load"], target="none", **options,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(150))
def test_assignments_are_the_best(seed):
    case = market(seed)
    result = solved(case)
    expected = best(case)
    if expected is None:
        assert result.status == "infeasible"
        assert result.explanation
        return
    assert result.status == "optimal"
    found = panels(case, result)
    assert not any(naive.broken(found[p], case["known"], case["rules"], case["own"][p]) for p in case["papers"])
    assert result.affinity == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(40))
def test_draws_of_a_lottery_keep_the_rules_or_it_is_said(seed):
    case = market(seed)
    result = solved(case, max_probability=0.8, search=Search(seed=seed))
    if result.status.reached:
        found = panels(case, result)
        assert not any(naive.broken(found[p], case["known"], case["rules"], case["own"][p]) for p in case["papers"])


@pytest.mark.parametrize("seed", range(60))
def test_plans_keep_the_rules_and_are_no_longer_than_needed(seed):
    case = market(seed)
    rng = np.random.default_rng(seed)
    pairs = [(r, p) for r in case["people"] for p in case["papers"]]
    old = [pair for pair in pairs if rng.random() < 0.3]
    reviews = Reviews(old, reviewers=case["people"], items=case["papers"])
    plan = planner.plan(reviews, target="connected", rules=stated(case), search=Search(time_limit=20))
    verify_plan(plan)
    least = [rule for rule in case["rules"] if isinstance(rule, AtLeast)]
    most = [rule for rule in case["rules"] if isinstance(rule, AtMost)]

    def holds(new):
        for p in case["papers"]:
            own = case["own"][p]
            panel = [r for r, q in [*old, *new] if q == p]
            if naive.broken(panel, case["known"], least, own):
                return False
            # Present reviews may exceed a limit; a new one may not add to that.
            for rule in most:
                count = naive.counted(panel, rule, case["known"], own)
                fresh = naive.counted([r for r, q in new if q == p], rule, case["known"], own)
                number = naive.number_of(rule, own)
                if number is not None and any(count[value] > number for value in fresh):
                    return False
        return joins([*old, *new], case["papers"])

    if plan.status == "infeasible":
        open_pairs = [pair for pair in pairs if pair not in old]
        assert not any(holds(new) for size in range(4) for new in combinations(open_pairs, size))
        return
    assert plan.status == "optimal"
    assert holds([(review.reviewer, review.item) for review in plan.added])
    open_pairs = [pair for pair in pairs if pair not in old]
    assert not any(holds(new) for size in range(min(plan.count, 4)) for new in combinations(open_pairs, size))


def joins(pairs, items):
    """Whether all papers are reviewed and in one piece."""
    seen = {items[0]}
    for _ in items:
        people = {r for r, p in pairs if p in seen}
        seen |= {p for r, p in pairs if r in people}
    return seen == set(items) and {p for _, p in pairs} == set(items)


PEOPLE = {"ann": {"country": "DE"}, "bob": {"country": "FR"}, "cyd": {"country": "FR"}}
PAPERS = {"p": {"country": ["DE", "MT"]}, "q": {"country": "MT"}, "r": {"country": "", "few": 1}}


def test_no_reviewer_of_the_country_is_said_in_words():
    rules = Rules(attributes=PEOPLE, item_attributes=PAPERS, at_least={("country", "same"): 1})
    affinity = {(r, p): 1.0 for r in PEOPLE for p in PAPERS}
    with pytest.warns(LabelWarning, match="1 paper has no country for --at-least country:same=1: r"):
        result = assign(affinity, rules=rules, demand=2, load=3, target="none")
    expected = (
        "1 paper (q) needs at least 1 of the paper's country, and no reviewer who shares a country with the paper "
    )
    expected += "may take it"
    assert expected in result.explanation


@pytest.mark.parametrize(
    ("rule", "people", "message"),
    [
        (AtMost("country", 1, "same"), PEOPLE, ""),
        (AtMost("country", "few"), PEOPLE, ""),
        (AtMost("country", {"p": 1, "q": 2}), PEOPLE, ""),
        (
            AtMost("country", "fewer"),
            PEOPLE,
            "expected a known attribute of papers, or a number, found 'fewer'; did you",
        ),
        (AtMost("country", {"p": -1}), PEOPLE, "expected a whole number, 0 or more, found -1"),
        (AtLeast("country", 1, "other"), PEOPLE, "expected a known value of country, found 'other'"),
        (AtMost("country", 1, "same"), {"ann": {"country": "same"}}, "expected no reviewer whose country is 'same'"),
        (AtMost("home", 1, "same"), {"ann": {"home": "x"}}, "expected home of papers, too, found none; add it"),
    ],
)
def test_rules_of_papers_that_cannot_be_meant_are_refused(rule, people, message):
    kind = "at_most" if isinstance(rule, AtMost) else "at_least"
    rules = Rules(attributes=people, item_attributes=PAPERS, **{kind: [rule]})
    affinity = {(r, p): 1.0 for r in PEOPLE for p in PAPERS}
    if message:
        with pytest.raises(InputError, match=message):
            assign(affinity, rules=rules, target="none")
    else:
        assert assign(affinity, rules=rules, demand=1, target="none").status == "optimal"

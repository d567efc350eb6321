"""Results verified in Python: what holds, and what was made under other rules or from other reviews."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import reviewgraph as rg

CHAIN = [("ann", 1, 2.0), ("ann", 2, 3.0), ("bob", 2, 4.0), ("bob", 3, 1.0)]
SCORES = [(r, p, 2.0 * p + r * p % 3) for r in range(3) for p in range(3 * r, 3 * r + 6)]
AFFINITY = {(f"r{j}", f"p{i}"): value for (j, i), value in np.ndenumerate(np.random.default_rng(0).random((6, 6)))}
INSTITUTIONS = {f"r{j}": str(j % 3) for j in range(6)}


def test_a_plan() -> None:
    plan = rg.plan(CHAIN)
    assert rg.verify(plan, CHAIN).good
    assert rg.verify(plan, CHAIN, conflicts=[("ann", 3), ("bob", 1)]).good is False
    assert "made from 4 reviews" in str(rg.verify(plan, CHAIN[:3]))


@pytest.mark.parametrize("rules", [{"load": 3}, {}, {"load": 3, "institutions": INSTITUTIONS}])
def test_an_assignment(rules: dict[str, Any]) -> None:
    chosen = rg.assign(AFFINITY, 2, **rules)
    assert rg.verify(chosen, AFFINITY, demand=2, **rules).good is not False
    assert rg.verify(chosen, AFFINITY, demand=3, **rules).good is False
    pair = chosen.to_dict()["reviews"][0]
    barred = [(pair["reviewer"], pair["item"])]
    assert rg.verify(chosen, AFFINITY, demand=2, conflicts=barred, **rules).good is False


def test_what_an_assignment_was_made_under_besides_rules() -> None:
    earlier = [(f"s{j}", f"p{i}") for j in range(2) for i in range(7)]
    linked = rg.assign(AFFINITY, 1, 1, phase_one=earlier)
    assert linked.status.reached
    assert rg.verify(linked, AFFINITY, demand=1, load=1, phase_one=earlier).good is not False
    assert "the level double is not reached" in str(rg.verify(linked, AFFINITY, demand=1, load=1))
    floored = rg.assign(AFFINITY, 2, 2, floor=0.5, target="none")
    assert rg.verify(floored, AFFINITY, demand=2, load=2, floor=0.5).good is not False
    assert rg.verify(floored, AFFINITY, demand=2, load=2, floor=5.0).good is False
    none = rg.assign(AFFINITY, 2, 2, floor=5.0, target="none")
    assert none.status == "infeasible"
    assert rg.verify(none, AFFINITY, demand=2, load=2, floor=5.0).good is None
    with pytest.raises(rg.InputError, match=r"^floor: expected an assignment with it, found a Report"):
        rg.verify(rg.check(CHAIN), CHAIN, floor=1.0)


@pytest.mark.parametrize("hypothesis", ["linear", "offset", "monotone"])
def test_least_squares(hypothesis: Any) -> None:
    found = rg.calibrate(SCORES, "lsc", hypothesis=hypothesis)
    assert rg.verify(found, SCORES).good
    wrong = replace(found, quality=found.quality[::-1].copy())
    assert rg.verify(wrong, SCORES).good is False
    # A paper without a score has no quality, which is no error; a paper with one has to have it.
    more = rg.Reviews([*SCORES, (0, "planned", None)], items=[*range(12), "nobody's"])
    found = rg.calibrate(more, "lsc", hypothesis=hypothesis)
    assert rg.verify(found, more).good
    lacking = found.quality.copy()
    lacking[more.item_code[3]] = np.nan
    assert rg.verify(replace(found, quality=lacking), more).good is False


def test_methods_without_equations_are_not_called_right() -> None:
    page = rg.verify(rg.calibrate(SCORES), SCORES)
    assert page.good is None
    assert "no equations of this method" in str(page)


def test_a_check() -> None:
    report = rg.check(CHAIN)
    assert rg.verify(report, CHAIN).good
    assert rg.verify(report, CHAIN[:3]).good is False


def test_what_is_no_result_is_refused() -> None:
    reviews = rg.Reviews(CHAIN)
    with pytest.raises(rg.InputError, match=r"^result: expected a plan, an assignment, a calibration or a check"):
        rg.verify(reviews, reviews)
    with pytest.raises(rg.InputError, match=r"^spare: expected no rules with a calibration"):
        rg.verify(rg.calibrate(SCORES), SCORES, spare=1)


def test_a_verification_is_true_only_where_the_result_holds() -> None:
    plan = rg.plan(CHAIN)
    assert rg.verify(plan, CHAIN)
    assert not rg.verify(plan, CHAIN[:3])
    assert not rg.verify(rg.calibrate(SCORES), SCORES)


def test_a_plan_that_lacks_a_review_is_refuted() -> None:
    plan = rg.plan(CHAIN)
    page = str(rg.verify(replace(plan, added=plan.added[:-1]), CHAIN))
    assert page.startswith("REFUTED")
    assert "and pairs" in page


def test_an_assignment_is_verified_with_its_affinities_and_load() -> None:
    chosen = rg.assign(AFFINITY, demand=2, load=3)
    with pytest.raises(rg.InputError, match="pass load="):
        rg.verify(chosen, AFFINITY, demand=2)
    with pytest.raises(rg.InputError, match="expected the affinities"):
        rg.verify(chosen, chosen.reviews, demand=2, load=3)


def test_what_was_checked_twice_is_listed_once() -> None:
    barred = [("ann", 3)]
    checked = rg.verify(rg.plan(CHAIN, conflicts=barred), CHAIN, conflicts=barred).findings.checked
    assert len(checked) == len(set(checked))


#: Keywords of an assignment that decide what is allowed.
ALLOWING: dict[str, dict[str, Any]] = {
    "allow_unscored": {"allow_unscored": True},
    "reviewers": {"reviewers": ["r1", "r2", "r3"], "fixed": [("r3", "p2")]},
    "items": {"items": ["p1", "p2", "p3"], "fixed": [("r2", "p3")]},
    "merge": {"merge": "all", "fixed": [("R1", "P2")]},
}


@pytest.mark.filterwarnings("ignore:fixed. 1 label is spelled as before")
@pytest.mark.parametrize("name", ALLOWING)
def test_what_decides_who_may_review_is_taken_as_assign_took_it(name: str) -> None:
    affinity = {("r1", "p1"): 2.0, ("r2", "p1"): 1.0, ("r2", "p2"): 1.0}
    demand = 2 if name == "allow_unscored" else {"p1": 1, "p2": 1, "p3": 1} if name == "items" else 1
    chosen = rg.assign(affinity, demand, 2, "none", **ALLOWING[name])
    assert chosen.status == "optimal"
    assert rg.verify(chosen, affinity, demand=demand, load=2, **ALLOWING[name])


def test_reviews_of_a_previous_assignment_forbid_what_they_meta_review() -> None:
    affinity = {("r1", "p1"): 2.0, ("r2", "p1"): 1.0, ("r2", "p2"): 1.0}
    previous = rg.Reviews([("r2", "p1", None)])
    previous = replace(previous, origin=previous.origin._replace(meta=(("r1", "p1"),)))
    chosen = rg.assign(affinity, 1, 2, "none", previous=previous)
    assert chosen.affinity_unconstrained == 2.0
    assert rg.verify(chosen, affinity, demand=1, load=2, previous=previous).good is not False
    assert rg.verify(chosen, affinity, demand=1, load=2).good is False

"""Fairness, floors and alternates beside rules on panels, authors and a previous assignment, by trying everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import assign
from tests.planner.assignments import naive_assignment as naive
from tests.planner.assignments import naive_fair
from tests.planner.assignments.cases import told
from tests.planner.assignments.naive_rules import broken, random_attributes, random_rules
from tests.planner.assignments.test_assigning import pairs_of
from tests.trials import examples

#: Square affinities, of which nothing says which side is which, are meant as they are here.
pytestmark = pytest.mark.filterwarnings("ignore:affinity. a square matrix")

LEVELS = {"none": lambda pairs, items: True, "connected": naive.connected, "double": naive.doubly_connected}


class Conference:
    """A market small enough to try every assignment, with authors and with rules on attributes."""

    def __init__(self, seed, levels):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(2, 5)), int(rng.integers(3, 6))
        people, papers = [f"r{j}" for j in range(m)], [f"p{i}" for i in range(n)]
        self.affinity = {
            (r, p): float(rng.integers(0, levels + 1)) for r in people for p in papers if rng.random() < 0.95
        }
        self.demand = {p: int(rng.integers(1, 3)) for p in papers}
        self.load = {r: int(rng.integers(1, 4)) for r in people}
        self.attributes = random_attributes(rng, people)
        self.rules = random_rules(rng, self.attributes, most=2) if rng.random() < 0.8 else []
        self.authors = [(people[int(rng.integers(m))], papers[0])]
        self.authors += [(r, p) for r in people for p in papers[1:] if rng.random() < 0.15]
        self.previous = [(r, p) for r in people for p in papers if rng.random() < 0.4]

    def assign(self, **options):
        people, papers = list(self.load), list(self.demand)
        return assign(
            self.affinity, items=papers, reviewers=people, demand=self.demand, load=self.load,
            attributes=self.attributes, rules=self.rules, authors=self.authors, **options,
        )  # fmt: skip

    def obeyed(self, panels):
        """Whether panels by paper break neither a rule nor what authors may not."""
        pairs = [(r, p) for p, panel in panels.items() for r in panel]
        fine = not any(broken(panel, self.attributes, self.rules) for panel in panels.values())
        return fine and not {*pairs} & {*self.authors}

    def assignments(self):
        """Every assignment that breaks nothing."""
        found = naive_fair.assignments(self.affinity, self.demand, self.load)
        return [panels for panels in found if self.obeyed(panels)]

    def panels(self, result):
        """Panels by paper, checked."""
        pairs = pairs_of(result)
        assert naive.violations(pairs, demand=self.demand, load=self.load, allowed=self.affinity) == []
        panels = {p: tuple(r for r, item in pairs if item == p) for p in self.demand}
        assert self.obeyed(panels)
        return panels

    def worth(self, panels):
        """Affinities."""
        return sum(self.affinity[r, p] for p, panel in panels.items() for r in panel)


def conferences():
    return st.builds(Conference, st.integers(0, 2**20), st.sampled_from([2, 1000]))


@pytest.mark.slow
@given(conferences())
@examples(60)
def test_the_fairest_that_breaks_no_rule(market):
    found = market.assignments()
    result = market.assign(fair="maximin", target="none")
    assert (result.status == "infeasible") == (not found), result.explanation
    if found:
        best, _ = naive_fair.fairest(found, market.affinity)
        panels = market.panels(result)
        assert naive_fair.scores(panels, market.affinity)[0] == pytest.approx(best, abs=1e-2)
        assert result.fairness.at_most >= best - 1e-6
        fine = [p for p in found if naive_fair.scores(p, market.affinity)[0] >= best - 1e-9]
        assert market.worth(panels) == pytest.approx(max(map(market.worth, fine)), abs=2e-2)


@pytest.mark.slow
@given(conferences(), st.sampled_from([0.5, 0.9, 1.1]), st.sampled_from([*LEVELS]), st.booleans())
@examples(60)
def test_floors_hold_or_are_said_to_be_missed(market, part, target, again):
    found, affinity = market.assignments(), market.affinity
    worst = sorted(naive_fair.scores(panels, affinity)[0] for panels in found)
    floor = part * worst[int(0.99 * part * len(worst)) if part < 1 else -1] if found else 1.0
    beside = {"previous": market.previous} if again else {}
    result = market.assign(floor=floor, target=target, **beside)
    fine = [panels for panels in found if naive_fair.scores(panels, affinity)[0] >= floor - 1e-9]
    level = LEVELS[target]
    reachable = [p for p in fine if level([(r, i) for i, panel in p.items() for r in panel], set(market.demand))]
    if result.status == "infeasible":
        assert not reachable, result.explanation
        return
    assert found
    panels = market.panels(result)
    assert all(sum(affinity[r, p] for r in panel) >= floor - 1e-2 for p, panel in panels.items())
    assert result.status.reached == level(pairs_of(result), set(market.demand))
    if not result.status.reached:
        assert not reachable
    if target == "none" and not again:
        assert market.worth(panels) == pytest.approx(max(map(market.worth, fine)), abs=1e-2)


@pytest.mark.slow
@given(conferences(), st.sampled_from(["double", "connected"]), st.sampled_from([None, "maximin"]))
@examples(12)
def test_alternates_break_no_rule_and_nobody_better_is_passed_over(market, target, fair):
    result = market.assign(target=target, fair=fair, alternates=2)
    if result.status == "infeasible":
        return
    panels, level = market.panels(result), LEVELS[target]
    reached = level(pairs_of(result), set(market.demand))

    def can_replace(paper, reviewer, gone):
        if not naive_fair.can_replace(
            pairs_of(result), paper, reviewer, gone, affinity=market.affinity, load=market.load,
            level=level if reached else None,
        ):  # fmt: skip
            return False
        panel = {*panels[paper], reviewer} - {gone}
        return market.obeyed({**panels, paper: panel})

    for paper, panel in panels.items():
        able = {r: {gone for gone in panel if can_replace(paper, r, gone)} for r in market.load}
        listed = [one for one in result.alternates.listed if one.item == paper]
        if reached:
            assert all(set(one.replaces) == able[one.reviewer] for one in listed)
            full = sorted(-market.affinity[r, paper] for r in able if able[r] == set(panel))
            assert [-one.affinity for one in listed if one.everyone] == full[:2]
        else:
            assert all(set(one.replaces) <= able[one.reviewer] for one in listed)


def test_a_floor_beside_a_previous_assignment_changes_no_more_than_it_must():
    """The third paper's reviewer leaves; the floor asks that its new one is good, and nothing else moves."""
    score = np.full((6, 4), 0.5)
    score[5, 2] = 0.1
    previous = [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), ("gone", 2), (0, 3), (1, 3)]
    result = assign(score, demand=2, load=2, previous=previous, floor=1.0, target="none")
    assert len(result.changes.new) == 1
    assert result.changes.new[0][0] != 5
    assert "every paper has a sum of 1 or more" in told(result)

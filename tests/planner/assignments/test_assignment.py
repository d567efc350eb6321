"""What an assignment says of its total: in figures, and in words."""

import re

import numpy as np
import pytest

from planner import assign


def affinity_fact(chosen):
    """Return what the page says of the total in one line."""
    facts = re.search(r"^  Affinity +(.*?)(?=^  \S|^!|\Z)", str(chosen), re.MULTILINE | re.DOTALL)
    return " ".join(facts[1].split())


def square(*values):
    return {(f"r{j}", f"p{i}"): value for (j, i), value in np.ndenumerate(np.reshape(values, (-1, 2)))}


def test_a_loss_from_a_total_that_is_not_positive_is_a_difference():
    zero = {(f"r{j}", f"p{i}"): -float(i == (j + 1) % 3) for j in range(3) for i in range(3)}
    chosen = assign(zero, 2, 3, "double")
    assert (chosen.affinity, chosen.affinity_unconstrained) == (-1.0, 0.0)
    assert affinity_fact(chosen) == "1 below the best total of 0, lost to comparability; the least loss possible"
    assert (chosen.price, chosen.price_of_level, chosen.least_price, chosen.gap) == (None, None, None, 0.0)
    assert chosen.to_dict()["price_percent"] is chosen.to_dict()["price_percent_of_level"] is None
    ruled = assign(square(0.0, 0.0, 0.0, 0.0, -1.0, 0.0), 2, 2, "none", institutions={"r0": "X", "r1": "X", "r2": "Y"})
    assert affinity_fact(ruled) == "1 below the best total of 0, lost to the rules; the least loss possible"


@pytest.mark.parametrize(
    ("shift", "percent", "words"),
    [
        (0.0, None, "2 below the best total of -2 in expectation"),
        (1.0, None, "2 below the best total of 0 in expectation"),
        (3.0, 50.0, "50.0 % of the best total is expected"),
    ],
)
def test_a_lottery_is_compared_with_the_best_total_whatever_its_sign(shift, percent, words):
    affinity = square(-1.0 + shift, -3.0 + shift, -3.0 + shift, -1.0 + shift)
    chosen = assign(affinity, 1, 1, "none", max_probability=0.5)
    assert affinity_fact(chosen) == words
    assert chosen.to_dict()["draws"]["expected_percent"] == percent
    assert chosen.to_dict()["draws"]["gap_percent"] == 0.0


def test_a_lottery_with_few_changes_does_not_say_that_none_has_more_affinity():
    affinity = square(1.0, 0.0, 0.0, 1.0)
    chosen = assign(affinity, 1, 1, "none", max_probability=0.6, previous=[("r0", "p1"), ("r1", "p0")])
    assert chosen.randomised.expected == pytest.approx(0.8)
    assert chosen.to_dict()["draws"]["gap_percent"] is None
    assert "it is not proved how much other probabilities" in " ".join(chosen.summary().text(detail="rules").split())


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("double", {"institutions": {"r0": "X", "r1": "Y"}}, "lost to comparability"),
        ("double", {"floor": 1.0}, "lost to comparability"),
        ("double", {"fair": "maximin"}, "lost to comparability"),
        ("double", {"previous": [("r0", "p1"), ("r1", "p0")]}, "lost to comparability"),
        ("none", {"previous": [("r0", "p0"), ("r1", "p1")]}, "lost to few changes"),
        ("none", {"previous": [("r0", "p1"), ("r1", "p0")]}, "the best possible total"),
    ],
)
def test_affinity_is_lost_only_to_what_costs_some(target, options, words):
    assert words in affinity_fact(assign(square(0.0, 4.0, 3.0, 1.0), 1, 3, target, **options))
    assert "comparability cost" not in words


@pytest.mark.parametrize("seed", range(12))
def test_what_rules_and_the_level_cost_is_told_apart(seed):
    values = np.random.default_rng(seed).integers(0, 4, (4, 3)).astype(float)
    affinity = {(f"r{j}", f"p{i}"): value for (j, i), value in np.ndenumerate(values)}
    rules = {"institutions": {"r0": "X", "r1": "X", "r2": "Y", "r3": "Y"}}
    best, ruled, both = (
        assign(affinity, 2, 2, target, **options)
        for target, options in (("none", {}), ("none", rules), ("connected", rules))
    )
    words = affinity_fact(both)
    assert ("lost to the rules" in words) == (ruled.affinity < best.affinity)
    assert ("lost to comparability" in words) == (both.affinity < ruled.affinity == best.affinity)
    cost = 100 * (ruled.affinity - both.affinity) / best.affinity
    if "lost to the rules" in words:
        assert f"comparability cost {f'{cost:.3g} %' if cost else 'nothing'}" in words


def test_rounding_errors_are_no_loss():
    # 0.1 + 0.2 - 0.3 is above 0 by a rounding error.
    own = {("r0", "p0"): 0.1, ("r1", "p1"): 0.2, ("r2", "p2"): -0.3}
    others = {("r0", "p1"): 0.0, ("r1", "p2"): 0.0, ("r2", "p0"): 0.0}
    chosen = assign(own | others, 1, 1, "none", previous=list(others))
    assert chosen.affinities.tolist() == [0.0, 0.0, 0.0]
    assert (chosen.affinity_unconstrained, chosen.price, chosen.price_of_level) == (0.0, 0.0, 0.0)
    drawn = assign(own | others, 1, 1, "none", max_probability=0.5)
    assert (drawn.randomised.percent, drawn.randomised.gap) == (100.0, 0.0)

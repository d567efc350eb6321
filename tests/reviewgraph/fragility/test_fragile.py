"""Every loss that :func:`reviewgraph.graph.fragile` names, and no other, is found by removing one after another."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from reviewgraph import InputError, Reviews
from reviewgraph._base import Clock
from reviewgraph.graph import (
    connected_components,
    doubly_connected_components,
    fragile,
    fragility,
    keeps,
    recoverability,
)
from reviewgraph.graph.levels import NAMES
from tests.looks import Looks
from tests.pages import run
from tests.trials import trials

HOLDS: dict[str, Callable[[Reviews], bool]] = {
    "double": lambda reviews: doubly_connected_components(reviews).covers_all,
    "recoverable": lambda reviews: recoverability(reviews).recoverable,
    "connected": lambda reviews: (
        len(set(connected_components(reviews).item_labels.tolist())) < 2 and bool((reviews.reviews_per_item > 0).all())
    ),
}
every_level = pytest.mark.parametrize("level", NAMES)


def check_removals(reviews: Reviews, level: str) -> bool:
    """Compare with plain removal; returns whether the level holds."""

    def lost(keep: np.ndarray) -> bool:
        return not HOLDS[level](reviews.subset(keep))

    found = fragile(reviews, level)
    assert found.holds == (not lost(np.ones(reviews.n_reviews, np.bool_)))
    everyone, row = range(reviews.n_reviewers if found.holds else 0), np.arange(reviews.n_reviews)
    assert found.critical_reviewer_codes.tolist() == [j for j in everyone if lost(reviews.reviewer != j)]
    assert found.critical_review_rows.tolist() == [r for r in (row.tolist() if found.holds else []) if lost(row != r)]
    return found.holds


def random_table(rng: np.random.Generator) -> Reviews:
    """Between one and nine reviewers and items, sparse or dense."""
    M, N = rng.integers(1, 10, 2).tolist()
    reviewer, item = np.nonzero(rng.random((M, N)) < rng.uniform(0.2, 0.8))
    return Reviews.from_codes(reviewer, item, reviewers=range(M), items=range(N))


@pytest.mark.slow
@every_level
def test_losses_are_those_of_removal_on_random_tables(level: str) -> None:
    rng = np.random.default_rng(0)
    assert sum(check_removals(random_table(rng), level) for _ in range(trials(80))) > trials(30)


def test_hubs_chains_and_single_reviewers_by_hand() -> None:
    # All read the hub and one paper more, each of those read by two: any loss lowers `double`, none of a hub's.
    chain = Reviews([(j, i) for j in range(6) for i in (j, j + 1, j + 2)])
    assert fragile(chain).critical_review_rows.tolist() == list(range(18))
    assert fragile(chain).critical_reviewer_codes.tolist() == list(range(6))
    twice = Reviews([(j, i) for j in range(12) for i in (j // 2, j // 2 + 1, j // 2 + 2)])
    assert not fragile(twice).critical_review_rows.size
    assert not fragile(twice).critical_reviewer_codes.size
    hub = twice.add([(j, "hub") for j in range(11)])
    assert not fragile(hub).critical_review_rows.size
    alone = twice.add([(3, "new")])
    assert fragile(alone).to_dict()["reviews"] == [{"reviewer": 3, "item": "new"}]
    assert fragile(alone).to_dict()["reviewers"] == [3]
    numbered = fragile(Reviews([(10 * j, 100 + i) for j in range(2) for i in range(3)][:-1]), "connected")
    assert numbered.critical_reviewers == [0]
    assert numbered.critical_reviews == [(0, 102)]


@every_level
def test_where_a_level_does_not_hold_no_loss_lowers_it(level: str) -> None:
    found = fragile(Reviews([("a", 1), ("b", 2)]), level)
    assert repr(found) == f"<Fragile: {level} does not hold>"
    assert found.to_dict() == {"level": level, "holds": False, "reviewers": [], "reviews": []}


def test_who_is_critical_is_told_whole_or_not_at_all() -> None:
    rng, ended = np.random.default_rng(1), 0
    reviews = Reviews.from_codes(*np.nonzero(rng.random((30, 24)) < 0.2), reviewers=range(30), items=range(24))
    for looks in range(40):
        clock = Looks(looks)
        with suppress(Clock.Over):
            assert fragility.critical_reviews(reviews, clock).tolist() == fragility.critical_reviews(reviews).tolist()
            ended += 1
    assert 0 < ended < 40


def test_losses_do_not_depend_on_the_pace_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    item = np.concatenate([rng.permutation(60)[:6] for _ in range(60)])
    reviews = Reviews.from_codes(np.repeat(np.arange(60), 6), item, reviewers=60, items=60)

    def found() -> str:
        chances = keeps(reviews, 0.1, draws=20, seed=0)
        return repr([*(fragile(reviews, level).to_dict() for level in NAMES), chances.to_dict()])

    here = found()
    for pace in (10_000.0, 0.01):
        with monkeypatch.context() as machine:
            real = time.monotonic
            machine.setattr(time, "monotonic", lambda real=real, pace=pace: pace * real())
            assert found() == here


ROWS = ["ann,p3", *(f"{name},p{paper}" for name in ("ann", "bob", "cyd") for paper in (1, 2, 4))]
TABLE = "\n".join(["reviewer,paper", *ROWS, ""])


def test_frequencies_are_those_of_the_only_two_papers() -> None:
    # Two reviewers, two papers: doubly connected unless one of each has lost a review.
    reviews = Reviews([("a", 1), ("a", 2), ("b", 1), ("b", 2)])
    found = keeps(reviews, {"a": 0.5}, draws=50, seed=0).levels
    assert [level.probability for level in found] == [1.0, 1.0, 1.0]
    double, recoverable, connected = keeps(reviews, {"a": 0.5, "b": 0.5}, draws=400).levels
    # Of 16 equal cases one reviewer has both reviews in 7.
    assert abs(double.probability - 7 / 16) < 4 * double.standard_error
    assert double.probability <= recoverable.probability <= connected.probability
    assert double.standard_error == pytest.approx(np.sqrt(7 / 16 * 9 / 16 / 400), rel=0.05)


@pytest.mark.parametrize("missing", [1.5, -0.1, float("nan"), {"a": 2.0}, {"zoe": 0.1}])
def test_what_is_no_probability_is_refused(missing: float | dict[str, float]) -> None:
    with pytest.raises(InputError, match="missing: "):
        keeps(Reviews([("a", 1)]), missing)
    with pytest.raises(InputError, match="draws: expected 1 or more, found 0"):
        keeps(Reviews([("a", 1)]), 0.1, draws=0)


def test_the_command_names_losses_and_chances(folder: Path) -> None:
    Path("r.csv").write_text(TABLE)
    Path("m.csv").write_text("reviewer,probability\nann,1\n")
    said = run("check", "r.csv", "--missing", "m.csv", "--verbose", "losses").stdout
    assert "not comparable without ann" in said
    assert "without this reviewer:\n  ann" in said
    assert "without this review:\n  ann on p3" in said
    assert "comparable for certain with probability 0 %" in said
    found = json.loads(run("check", "r.csv", "--missing", "0", "--json").stdout)
    assert found["fragile"]["reviews"] == [{"reviewer": "ann", "item": "p3"}]
    assert [kept["probability"] for kept in found["keeps"]] == [1.0, 1.0, 1.0]
    assert json.loads(run("check", "r.csv", "--no-fragile", "--json").stdout)["fragile"] is None
    assert "--fragile does it" in run("check", "r.csv", "--no-fragile", "--verbose=losses").stdout
    assert run("check", "r.csv", "--require", "survives-review").exit_code == 1
    assert run("check", "r.csv", "--missing", "2").exit_code == 2
    assert run("check", "r.csv", "--missing", "no.csv").exit_code == 2

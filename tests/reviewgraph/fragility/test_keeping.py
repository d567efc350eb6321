"""Probabilities of keeping a level, where they are known, and what the command says of losses."""

import json
from pathlib import Path

import numpy as np
import pytest

from reviewgraph import InputError, Reviews
from reviewgraph.graph import keeps
from tests.pages import run

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

"""A hypothesis class defined by one class and listed by one line goes through every command and function."""

import json
import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import lsc
from lsc._model.hypotheses import HYPOTHESES, Hypothesis, Linear, Rows, Shape, Sloped, Steps
from reviewgraph import InputError, Reviews, stream_reviews
from reviewgraph.graph import level_named
from tests.lsc import by_cvxpy
from tests.toys import printed, register, run, table_of_scores


class Double(Hypothesis):
    """Score = 2 * quality + offset: nobody else has such reviewers."""

    name = "double-slope"
    words = "twice the quality plus an offset"
    shape = Shape.LINEAR
    level = level_named("connected")
    parameters = None
    straight = True
    fixes_unit = False
    loose_ties = "none"

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.5, 0.5

    @classmethod
    def up_to(cls, max_slope: float) -> "Double":
        return cls()

    @staticmethod
    def equalities(steps: Steps) -> Iterable[Rows]:
        yield steps.rises("double-slope")

    @staticmethod
    def draw_scores(reviewer: np.ndarray, perceived: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return 2.0 * perceived + rng.normal(size=1 + reviewer.max(initial=-1))[reviewer]


class Steep(Sloped):
    """Any increasing function: a toy that has no standard errors and is not simulated."""

    name = "steep"
    words = "scores that rise with quality"
    shape = Shape.MONOTONE
    level = level_named("recoverable")
    parameters = None
    straight = False
    fixes_unit = False
    loose_ties = "all"


toys = pytest.mark.parametrize("toy", [Double, Steep], ids=lambda toy: toy.name)


@pytest.fixture
def table(tmp_path: Path) -> str:
    return table_of_scores(tmp_path)


@toys
def test_calibrate_simulate_and_verify_know_it(
    toy: type[Hypothesis], table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, HYPOTHESES, toy)
    words = ["calibrate", table, "--hypothesis", toy.name]
    assert f"{toy.name}: {toy.words}" in " ".join(printed("calibrate", "--help-all").split())
    # Text, JSON, CSV and a report, with a selection.
    assert f"12 papers ({toy.name} reviewers)" in printed(*words, "--select", 3)
    answer = json.loads(printed(*words, "--json", "-o", tmp_path / "answer.csv", "--html", tmp_path / "report.html"))
    assert answer["hypothesis"] == toy.name
    assert {row["standard_error"] for row in answer["items"]} == {None}
    assert toy.name in (tmp_path / "report.html").read_text("utf-8")
    # Free ties are refused where slopes are bounded from below.
    assert run(*words, "--ties", "free").exit_code == (2 if toy is Double else 0)
    # Side by side with another class.
    (tmp_path / "kinds.csv").write_text(f"reviewer,hypothesis\nr1,{toy.name}\n")
    mixed = json.loads(printed("calibrate", table, "--hypotheses", tmp_path / "kinds.csv", "--json"))
    assert mixed["hypothesis"] == "mixed"
    # The verifier checks what it can, and names what it takes on trust.
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    for file in ("answer.json", "answer.csv"):
        done = run("verify", tmp_path / file, *words[1:])
        assert done.exit_code == 4, done.output
        assert "averages of 12 papers" in done.output
        assert file != "answer.json" or f"of {toy.name} reviewers, which this verifier does not know" in done.output


def test_one_that_draws_scores_is_simulated_and_one_that_does_not_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for toy in (Double, Steep):
        register(monkeypatch, HYPOTHESES, toy)
    assert f"{Double.name}      {Double.words}" in printed("simulate", "--help")
    printed("simulate", Double.name, "--papers", 20, "--reviewers", 20, "-o", tmp_path)
    found = json.loads(printed("calibrate", tmp_path / "reviews.csv", "--hypothesis", Double.name, "--json"))
    assert found["objective"] == pytest.approx(0, abs=1e-9)
    refused = run("simulate", Steep.name, "-o", tmp_path)
    assert refused.exit_code == 2
    assert f"'{Steep.name}' is not one of" in refused.output


def test_tables_larger_than_memory_take_lines(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for toy in (Double, Steep):
        register(monkeypatch, HYPOTHESES, toy)
    in_memory = json.loads(printed("calibrate", table, "--hypothesis", Double.name, "--json"))
    larger = table.replace(".csv", ".parquet")
    streamed = json.loads(printed("calibrate", "--stream", larger, "--hypothesis", Double.name, "--json"))
    assert streamed["objective"] == pytest.approx(in_memory["objective"])
    refused = run("calibrate", "--stream", larger, "--hypothesis", Steep.name)
    assert refused.exit_code == 2
    assert "expected linear or offset or double-slope for a table larger than memory, found 'steep'" in refused.output
    with stream_reviews(larger) as stream:
        assert lsc.calibrate_stream(stream, Double()).hypothesis == Double.name


@toys
def test_the_functions_know_it_by_name_and_as_an_object(toy: type[Hypothesis], monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, HYPOTHESES, toy)
    reviews = Reviews.from_pairs(
        [(j, i, float((j + 1) * i + (i * j) % 3)) for j in range(4) for i in range(6)], accept="no-score-codes"
    )
    fit = lsc.calibrate(reviews, toy.name)
    assert fit.kinds == (toy,)
    assert fit.is_optimal()
    assert fit.support.level is toy.level
    assert fit.unique in (True, False)
    assert np.isnan(fit.standard_error).all()
    assert sorted(fit.ranking()) == [0, 1, 2, 3, 4, 5]
    assert fit.scoring_function(0)(fit.quality[0] + fit.noise[0]) == pytest.approx(0.0, abs=1e-6)
    reference = by_cvxpy.calibrate(reviews, toy())
    assert reference.objective == pytest.approx(fit.objective, rel=1e-6, abs=1e-9)
    assert lsc.programs.state(fit.solution.programme).problem.is_dcp()
    each = lsc.calibrate(reviews, {0: toy(), 1: toy.name, 2: Linear(), 3: "offset"}, references={0: 1.0, 5: 4.0})
    assert each.hypothesis == "mixed"
    assert math.isfinite(each.objective)


@pytest.mark.parametrize("kind", [Double, Steep])
def test_a_wrong_guess_of_the_unit_is_refused(kind: type[Hypothesis], monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(kind):  # type: ignore[misc, valid-type]
        fixes_unit = True

    register(monkeypatch, HYPOTHESES, Wrong)
    reviews = Reviews.from_pairs([("ann", "a", 1.0), ("ann", "b", 2.0)])
    for given in (kind.name, Wrong()):
        with pytest.raises(TypeError, match="Wrong: expected fixes_unit = False, since its slopes are not always one"):
            lsc.calibrate(reviews, given)


def test_afterwards_nobody_knows_it(table: str) -> None:
    with pytest.raises(InputError, match="expected one of linear, monotone, convex, concave, offset, found 'steep'"):
        lsc.calibrate(Reviews.from_pairs([("ann", "a", 1.0)]), "steep")
    assert run("calibrate", table, "--hypothesis", "steep").exit_code == 2
    assert "steep" not in printed("simulate", "--help")

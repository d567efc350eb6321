"""A method defined by one object and listed by one line goes through every command and function."""

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsc
from lsc.methods import METHODS, Method, method_named
from reviewgraph import InputError, Reviews
from tests.toys import printed, register, run, table_of_scores

pytestmark = pytest.mark.usefixtures("infer_once")


def medians(reviews: Reviews, *, references: Any = None) -> lsc.Estimate:
    """Estimate by the median of each item's scores, which references do not change."""
    scored = reviews.only_scored()
    held = [scored.score[scored.item == i] for i in range(reviews.n_items)]
    return lsc.Estimate(reviews, np.array([np.median(own) if own.size else np.nan for own in held]), "median")


TOY = Method("median", "Median", "the median score of each paper", medians)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    register(monkeypatch, METHODS, TOY)
    return table_of_scores(tmp_path)


def test_calibrate_and_verify_know_it(table: str, tmp_path: Path) -> None:
    words = ["calibrate", table, "--method", "median"]
    assert f"median: {TOY.words}" in " ".join(printed("calibrate", "--help-all").split())
    page = printed(*words, "--select", 3, "--html", tmp_path / "report.html")
    assert "Quality of 12 papers by median:" in page
    assert "This method does not estimate uncertainty" in page
    assert "median" in (tmp_path / "report.html").read_text("utf-8")
    answer = json.loads(printed(*words, "--select", 3, "--json", "-o", tmp_path / "answer.csv"))
    assert answer["method"] == "median"
    assert len(answer["selected"]) == 3
    assert (tmp_path / "answer.csv").read_text("utf-8").count("\n") == 13
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    done = run("verify", tmp_path / "answer.json", *words[1:], "--select", 3)
    assert done.exit_code == 4, done.output
    assert "what median estimated for the ranking is not recomputed" in done.output
    # A wrong average is found all the same.
    answer["items"][0]["average"] += 1
    (tmp_path / "answer.json").write_text(json.dumps(answer))
    assert run("verify", tmp_path / "answer.json", *words[1:], "--select", 3).exit_code == 1


def test_calibrate_says_which_options_are_not_for_it(table: str, tmp_path: Path) -> None:
    words = ["calibrate", table, "--method", "median"]
    (tmp_path / "known.csv").write_text("item,quality\np0,5\np1,4\np2,3\n")
    (tmp_path / "weights.csv").write_text("item,reviewer,weight\np0,r0,2\n")
    printed(*words, "--references", tmp_path / "known.csv")
    for option, owner in [
        (["--hypothesis", "linear"], "lsc"),
        (["--ties", "free"], "lsc"),
        (["--weights", tmp_path / "weights.csv"], "posterior"),
        (["--lottery", "--select", 3], "posterior"),
        (["--explain", "p0"], "posterior"),
        (["--sheet", tmp_path / "sheets"], "posterior"),
    ]:
        done = run(*words, *option)
        assert done.exit_code == 2
        assert f"{option[0]} belongs to --method {owner}, found 'median'" in done.output
    refused = run("calibrate", table, "--method", "average", "--references", tmp_path / "known.csv")
    assert "average has no references; use posterior or lsc or median, or leave" in refused.output
    refused = run("calibrate", "--stream", table.replace(".csv", ".parquet"), "--method", "median")
    assert refused.exit_code == 2
    assert "stream: expected --method posterior or lsc with it, found 'median'" in refused.output


def test_one_with_probabilities_and_passes_has_all_that_the_posterior_has(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The posterior under another name: what a command can do with a method is what the method says of itself."""
    register(monkeypatch, METHODS, replace(METHODS["posterior"], name="again", title="Again"))
    words = ["calibrate", table, "--method", "again"]
    chosen = ["--select", "3", "--lottery", "--explain", "p0", "--sheet", tmp_path / "sheets"]
    assert {"lottery", "accounts", "certain", "discuss"} <= json.loads(printed(*words, *chosen, "--json")).keys()
    assert (tmp_path / "sheets/index.csv").exists()
    larger = ["calibrate", "--stream", table.replace(".csv", ".parquet"), "--method", "again", "--select", 3]
    assert "Selecting 3 papers" in printed(*larger)


def test_functions_know_it(table: str) -> None:
    method = method_named("median")
    assert method.options == ("references",)
    found = method(Reviews.from_pairs([("ann", "p1", 1.0), ("bob", "p1", 2.0), ("cleo", "p1", 9.0)]))
    assert found.quality.tolist() == [2.0]
    assert found.select(1) == ["p1"]
    with pytest.raises(InputError, match="median: expected options among references, found 'seed'"):
        method(found.reviews, seed=1)


def test_afterwards_nobody_knows_it(tmp_path: Path) -> None:
    assert run("calibrate", table_of_scores(tmp_path), "--method", "median").exit_code == 2
    assert "median" not in printed("calibrate", "--help-all")
    assert "median" not in import_module("lsc.experiments.registry").VARIANTS

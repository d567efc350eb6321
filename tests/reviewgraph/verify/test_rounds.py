"""Rounds: true answers hold, and forged numbers are refuted."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from reviewgraph.graph import random_assignment
from tests.trials import sampled

pytestmark = pytest.mark.usefixtures("infer_once")


def run(*words: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(main, list(map(str, words)))
    return result.exit_code, result.stdout


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, the first of three rounds, the table with most of its scores, and the second round."""
    folder, rng, size = tmp_path_factory.mktemp("rounds"), np.random.default_rng(0), 40
    design = random_assignment(size, size, 2, rng)
    quality = rng.standard_normal(size)

    def row(j: int, i: int) -> str:
        return f"r{j},p{i},{quality[i] + rng.standard_normal():.3f}"

    rows = [row(j, i) for j, i in zip(design.reviewer.tolist(), design.item.tolist(), strict=True)]
    (folder / "a.csv").write_text("\n".join(["reviewer,item,score", *rows]), "utf-8")
    code, first = run("plan", folder / "a.csv", *FIRST, "--json")
    assert code == 0
    (folder / "one.json").write_text(first, "utf-8")
    new = [(int(one["reviewer"][1:]), int(one["item"][1:])) for one in json.loads(first)["reviews"]]
    rows += [row(j, i) for j, i in new[:-2]]
    (folder / "b.csv").write_text("\n".join(["reviewer,item,score", *rows]), "utf-8")
    code, second = run("plan", folder / "b.csv", "--for", "decision", "--after", folder / "one.json", "--json")
    assert code == 0
    (folder / "two.json").write_text(second, "utf-8")
    return folder


FIRST = (
    *("--for", "decision", "--select", "6", "--max-reviews", "24", "--rounds", "3"),
    *("--spare", "2", "--max-per-item", "3"),
)


def verified(folder: Path, name: str, change: Callable[[dict[str, Any]], object] | None = None) -> tuple[int, str]:
    answer = json.loads((folder / f"{name}.json").read_text("utf-8"))
    if change is not None:
        answer = copy.deepcopy(answer)
        change(answer)
    path = folder / "changed.json"
    path.write_text(json.dumps(answer), "utf-8")
    words = FIRST if name == "one" else ("--for", "decision", "--after", folder / "one.json")
    return run("verify", path, folder / ("a.csv" if name == "one" else "b.csv"), *words)


@pytest.mark.parametrize("name", ["one", "two"])
def test_a_round_holds(files: Path, name: str) -> None:
    code, page = verified(files, name)
    assert code == 0, page


@pytest.mark.parametrize("key", sampled(["items", "reviewers", "mean", "sd", "pending", "precision"], ["items", "sd"]))
def test_beliefs_that_lack_a_value_are_refuted(files: Path, key: str) -> None:
    code, page = verified(files, "two", lambda answer: answer["rounds"]["beliefs"][key].pop())
    assert code == 1
    assert "rounds.beliefs." in page


def swap(answer: dict[str, Any]) -> None:
    answer["reviews"][0], answer["reviews"][-1] = answer["reviews"][-1], answer["reviews"][0]


def elsewhere(answer: dict[str, Any]) -> None:
    """Let the first review go to a paper that is decided."""
    own = answer["rounds"]["beliefs"]
    worst = own["items"][int(np.argmin(own["mean"]))]
    answer["reviews"][0]["item"] = worst


FORGED: dict[str, Callable[[dict[str, Any]], object]] = {
    "held_back": lambda answer: answer["rounds"].update(held_back=answer["rounds"]["held_back"] + 1),
    "budget": lambda answer: answer["rounds"].update(budget=answer["rounds"]["budget"] + 1),
    "number": lambda answer: answer["rounds"].update(number=7),
    "before": lambda answer: answer["rounds"].update(before=answer["rounds"]["before"] * 0.9),
    "after": lambda answer: answer["rounds"]["after"][-1].update(wrong=answer["rounds"]["after"][-1]["wrong"] * 0.7),
    "price": lambda answer: answer["rounds"]["beliefs"].update(price=0.4321),
    "beliefs": lambda answer: answer["rounds"]["beliefs"]["mean"].reverse(),
    "gain": lambda answer: answer["reviews"][0].update(gain=answer["reviews"][0]["gain"] * 1.2),
    "order": swap,
    "paper": elsewhere,
    "stop": lambda answer: answer["rounds"].update(stop="the budget is spent"),
    "fairness": lambda answer: answer["rounds"]["fairness"][0].update(flat=0.01),
    "reach": lambda answer: answer["rounds"]["reach"][0].update(wrong=0.01),
}


@pytest.mark.parametrize(
    "what", sampled(FORGED, ["held_back", "before", "after", "beliefs", "gain", "paper", "fairness"])
)
def test_forged_numbers_are_refuted(files: Path, what: str) -> None:
    code, page = verified(files, "one", FORGED[what])
    # Acceptance and other numbers of rounds are compared with a second run alone.
    assert code == (4 if what in ("fairness", "reach") else 1), page


@pytest.mark.parametrize(
    "change",
    [
        lambda answer: answer["rounds"]["outstanding"].pop(),
        lambda answer: answer["rounds"]["earlier"].pop(),
        lambda answer: answer["rounds"]["lost"].append(answer["rounds"]["earlier"][0]),
        lambda answer: answer["reviews"].append(dict(answer["reviews"][0])),
    ],
)
def test_what_came_of_earlier_reviews_is_recomputed(files: Path, change: Callable[[dict[str, Any]], object]) -> None:
    code, page = verified(files, "two", change)
    assert code == 1, page

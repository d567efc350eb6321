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
    *("--spare", "2", "--max-per-item", "3", "--missing", "0.1"),
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


# Discussions, and papers treated alike.

FEW = ("--for", "decision", "--select", "6", "--max-reviews", "24", "--rounds", "2", "--spare", "2")
BESIDE = {
    "talks": ("--discussion", "2,4", "--missing", "0.1", "--max-per-item", "2"),
    "alike": ("--same-for", "track", "--items", "tracks.csv"),
}


@pytest.fixture(scope="module")
def answers(files: Path) -> dict[str, dict[str, Any]]:
    rows = [f"p{i},t{i // 3}" for i in range(40)]
    (files / "tracks.csv").write_text("\n".join(["item,track", *rows]), "utf-8")
    found = {}
    for name, words in BESIDE.items():
        code, answer = run("plan", files / "a.csv", *FEW, *_in(files, words), "--json")
        assert code == 0
        found[name] = json.loads(answer)
    assert len(found["talks"]["rounds"]["discuss"]) > 1
    assert found["alike"]["count"] >= 6
    return found


def _in(folder: Path, words: tuple[str, ...]) -> list[str]:
    return [str(folder / word) if word.endswith(".csv") else word for word in words]


def checked(folder: Path, name: str, answer: dict[str, Any]) -> tuple[int, str]:
    (folder / "changed.json").write_text(json.dumps(answer), "utf-8")
    return run("verify", folder / "changed.json", folder / "a.csv", *FEW, *_in(folder, BESIDE[name]))


@pytest.mark.parametrize("name", BESIDE)
def test_discussions_and_papers_alike_are_chosen_and_played_again(
    files: Path, answers: dict[str, dict[str, Any]], name: str
) -> None:
    code, page = checked(files, name, answers[name])
    assert code == 0, page
    words = " ".join(page.split())
    assert "that each was the best allowed at its turn" in words
    assert "expected wrong selections after each round, by 48 rollouts" in words


def _other_paper(answer: dict[str, Any]) -> None:
    """Discuss a paper that is decided, with its true gain near 0."""
    own = answer["rounds"]["beliefs"]
    paper = own["items"][int(np.argmin(own["mean"]))]
    answer["rounds"]["discuss"][0].update(item=paper, gain=0.0)


def _other_group(answer: dict[str, Any]) -> None:
    """Exchange the group chosen first for the one of the lowest means, whose reviews gain nothing."""
    own, alike = answer["rounds"]["beliefs"], answer["rounds"]["alike"]
    mean = dict(zip(own["items"], own["mean"], strict=True))
    low = min(alike, key=lambda group: max(mean[item] for item in group))
    for review, item in zip(answer["reviews"][:3], low, strict=True):
        review.update(item=item, gain=0.0)


def _all_lower(answer: dict[str, Any]) -> None:
    for one in answer["rounds"]["after"]:
        one["wrong"] *= 0.7


def _no_talk(answer: dict[str, Any]) -> None:
    """Leave out the last discussion: its price is held back, and the round ends though it was worth it."""
    rounds = answer["rounds"]
    del rounds["discuss"][1:]
    rounds["held_back"] = rounds["budget"] - rounds["now"] - 2


def _mixed(answer: dict[str, Any]) -> None:
    """Exchange the last review of the first group of three with the first of the next one."""
    reviews, three = answer["reviews"], {item for group in answer["rounds"]["alike"] for item in group}
    last, first = [place for place, review in enumerate(reviews) if review["item"] in three][2:4]
    reviews[last], reviews[first] = reviews[first], reviews[last]


OTHERS: list[tuple[str, str, Callable[[dict[str, Any]], object]]] = [
    ("talks", "rounds.discuss", _other_paper),
    ("talks", "a discussion of paper", _no_talk),
    ("alike", "reviews", _other_group),
    ("alike", "expected one of each", _mixed),
    ("alike", "rounds.after", _all_lower),
    ("talks", "rounds.discuss[0].gain", lambda answer: answer["rounds"]["discuss"][0].update(gain=0.5)),
    ("talks", "rounds.discuss", lambda answer: answer["rounds"]["discuss"].reverse()),
    ("talks", "rounds.discuss", lambda answer: answer["rounds"]["discuss"][0].update(place=0)),
    ("talks", "rounds.discussion", lambda answer: answer["rounds"]["discussion"].update(worth=2.5)),
    ("talks", "rounds.discussed", lambda answer: answer["rounds"].update(discussed=["p1"])),
    ("talks", "rounds.after", _all_lower),
]


@pytest.mark.parametrize(("name", "reason", "change"), sampled(OTHERS, 5, several=True))
def test_forged_discussions_and_groups_are_refuted(
    files: Path,
    answers: dict[str, dict[str, Any]],
    name: str,
    reason: str,
    change: Callable[[dict[str, Any]], object],
) -> None:
    answer = copy.deepcopy(answers[name])
    change(answer)
    code, page = checked(files, name, answer)
    assert code == 1, page
    assert reason in " ".join(page.split())

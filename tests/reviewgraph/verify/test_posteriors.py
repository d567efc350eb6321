"""Answers of the posterior: what their numbers and files tell, and what only a second run of the command does."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from reviewgraph.cli import main
from reviewgraph.cli import verify as command
from reviewgraph.cli.verify import verify

pytestmark = pytest.mark.usefixtures("infer_once")


WORDS = ("--select", "3", "--lottery", "--seed", "4", "--explain", "p1", "--weights", "weights.csv")
SAME = (
    "all other figures and sentences: not by independent code, only by a second run of calibrate, which prints the same"
)


@pytest.fixture(autouse=True)
def folder(folder: Path) -> None:
    rng = np.random.default_rng(3)
    pairs = [(j, i) for j in range(10) for i in sorted(rng.permutation(12)[:8].tolist())]
    rows = [f"r{j},p{i},{j % 3 + (0.6 + 0.3 * (j % 3)) * i + rng.normal():.2f}" for j, i in pairs]
    write("reviews.csv", "reviewer,item,score", rows)
    write("weights.csv", "item,reviewer,weight", [f"p{i},r{j},{1 + (i + j) % 3}" for j, i in pairs])
    write("known.csv", "item,quality", ["p0,10", "p5,16", "p9,21", "p11,22.5"])


def write(name: str, header: str, rows: list[str]) -> None:
    Path(name).write_text("\n".join([header, *rows, ""]))


def asked(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["calibrate", "reviews.csv", *words, "--json"], catch_exceptions=False)
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def verified(answer: dict[str, Any], *words: str) -> Result:
    Path("answer.json").write_text(json.dumps(answer))
    return CliRunner().invoke(verify, ["answer.json", "reviews.csv", *words], catch_exceptions=False)


def findings(answer: dict[str, Any], *words: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(verified(answer, *words, "--json").stdout)
    return result


@pytest.mark.parametrize("words", [(), WORDS, ("--references", "known.csv", "--select", "3")])
def test_a_posterior_holds_by_a_second_run(words: tuple[str, ...]) -> None:
    result = findings(asked(*words), *words)
    assert (result["outcome"], SAME in result["checked"]) == ("holds", True), result


def test_an_inference_that_has_not_converged_does_not_hold() -> None:
    answer = asked()
    answer["status"] = "exhausted"
    result = findings(answer)
    assert result["outcome"] == "not_refuted"
    assert result["undecided"] == ["quality, rank: the method ended before it converged"]


def test_a_command_that_prints_no_answer_confirms_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = asked()
    monkeypatch.setattr(command, "asked_again", lambda made: None)
    result = findings(answer)
    assert "run again, calibrate prints no answer" in result["undecided"][0]
    assert not any("second run" in words for words in result["checked"])


def test_probabilities_across_groups_are_those_of_a_second_run() -> None:
    with Path("reviews.csv").open("a") as file:
        file.write("".join(f"s{j},q{i},{i + j}.5\n" for j in range(3) for i in range(4)))
    words = ("--select", "5", "--by-group-average")
    answer = asked(*words)
    result = findings(answer, *words)
    assert result["outcome"] == "holds", result
    assert not any("common threshold" in words for words in result["checked"])
    # Their sum is checked all the same.
    answer["items"][0]["probability"] += 0.1
    assert any("probability: sum to 5.1, not 5" in reason for reason in findings(answer, *words)["wrong"])


def _at(*path: Any, by: float = 0.01) -> Callable[[dict[str, Any]], None]:
    """Move one number, by a hundredth of itself."""

    def forge(answer: dict[str, Any]) -> None:
        within: Any = answer
        for key in path[:-1]:
            within = within[key]
        within[path[-1]] += by * max(abs(within[path[-1]]), 0.1)

    return forge


def _halved(answer: dict[str, Any]) -> None:
    """Halve the standard errors, and let intervals follow."""
    for row in answer["items"]:
        row["standard_error"] /= 2
        row["interval"] = [(end + row["quality"]) / 2 for end in row["interval"]]


def _exchanged(answer: dict[str, Any]) -> None:
    """Exchange the qualities of two papers of equal probability, and all that follows from them."""
    first, second = answer["items"][2:4]
    for key in ("quality", "rank", "interval", "standard_error", "probability"):
        first[key], second[key] = second[key], first[key]


#: Forgeries that independent code refutes, and those that only the second run sees.
REFUTED: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (_halved, "probability: claims"),
    (_at("items", 1, "probability"), "probability: sum to"),
    (_at("items", 1, "interval", 0), "p1, interval: is not the 90 % interval about the quality"),
    (_at("items", 1, "average"), "p1, average: claims"),
    (_at("lottery", "probabilities", 0, "probability"), "lottery.probabilities, p7: claims"),
    (lambda answer: answer["lottery"]["probabilities"].pop(), "lottery.probabilities: lacks p11"),
    (lambda answer: answer["lottery"]["drawn"].append("p0"), "lottery.drawn: other papers than the lottery may draw"),
    (lambda answer: answer["discuss"].pop(), "discuss: claims"),
]
SEEN_AGAIN: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (lambda answer: answer["lottery"].update(seed=5), "lottery.seed"),
    (_at("expected_wrong"), "expected_wrong"),
    (_at("reviewers", 2, "misfit", "agreement"), "reviewers[2].misfit.agreement"),
    (_at("accounts", 0, "parts", 1, "weight"), "accounts[0].parts[1].weight"),
    (lambda answer: answer.pop("model"), "model"),
]


def test_forgeries_are_refuted_or_differ_from_a_second_run() -> None:
    true_answer = asked(*WORDS)
    for forge, reason in REFUTED:
        answer = copy.deepcopy(true_answer)
        forge(answer)
        result = findings(answer, *WORDS)
        assert (result["outcome"], reason in "\n".join(result["wrong"])) == ("refuted", True), reason
        # Nothing was run again, and the findings do not say that it was.
        assert not any("second run" in words for words in result["checked"])
    for forge, place in SEEN_AGAIN:
        answer = copy.deepcopy(true_answer)
        forge(answer)
        result = findings(answer, *WORDS)
        assert (result["outcome"], result["wrong"]) == ("not_refuted", []), place
        assert f"{place}: claims " in "\n".join(result["undecided"])
        assert SAME not in result["checked"]


def test_qualities_that_fit_everything_else_are_compared_with_a_second_run() -> None:
    answer = asked()
    for row in answer["items"]:
        row.setdefault("probability", None)
    _exchanged(answer)
    result = findings(answer)
    assert (result["outcome"], result["wrong"]) == ("not_refuted", [])
    assert "items[2].quality: claims " in "\n".join(result["undecided"])

"""Answers of the posterior: what their numbers and files tell, and what only a second run of the command does."""

from __future__ import annotations

import copy
import itertools
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
from tests.trials import NIGHTLY, sampled, trials
from tests.verifying.calibrations import calibration, changes

pytestmark = pytest.mark.usefixtures("infer_once")


WORDS = ("--select", "3", "--lottery", "--seed", "4", "--explain", "p1", "--weights", "weights.csv")
#: What the findings say of the numbers that independent code does not compute.
ONLY_AGAIN = "qualities, standard errors, reviewers and the model of the posterior: "
SAME = ONLY_AGAIN + "not by independent code, only by a second run of calibrate, which prints the same"
ALONE = ONLY_AGAIN + "computed by calibrate alone, and not confirmed by a second run"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
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
    found: dict[str, Any] = json.loads(verified(answer, *words, "--json").stdout)
    return found


# True answers


@pytest.mark.parametrize(
    "words",
    sampled(
        [
            WORDS,
            (),
            ("--references", "known.csv", "--lower-is-better", "--select", "3", "--explain", "p0"),
            ("--select", "30%", "--error-rate", "0.3"),
        ],
        3,
    ),
)
def test_a_posterior_holds_by_a_second_run(words: tuple[str, ...]) -> None:
    answer = asked(*words)
    found = findings(answer, *words)
    assert (found["outcome"], answer["status"]) == ("holds", "converged"), found
    # Plainly: what was checked independently, and what was not.
    assert SAME in found["checked"]
    assert {"averages of 12 papers", "ranks by quality", "groups: the connected components"} <= {*found["checked"]}
    assert ("the selection of 3, best first" in found["checked"]) is ("3" in words)


CRITERIA, SURE = "clear,new", "confidence"


@pytest.mark.parametrize(
    ("columns", "words"),
    sampled(
        [
            (CRITERIA, ("--explain", "p2")),
            (SURE, ("--explain", "p2")),
            (CRITERIA, ("--only-target",)),
            (SURE, ("--no-confidence",)),
            (f"{CRITERIA},{SURE}", ("--confidence", "--lower-is-better")),
        ],
        2,
        several=True,
    ),
)
def test_answers_with_criteria_and_confidence_hold(columns: str, words: tuple[str, ...]) -> None:
    rng = np.random.default_rng(7)
    quality, rows = rng.normal(size=20), []
    for j in range(12):
        offset = 0.7 * rng.normal()
        for i in sorted(rng.permutation(20)[:8].tolist()):
            sure = int(rng.integers(1, 5))
            score = 5 + 2 * (offset + quality[i] + 0.4 * np.exp(0.6 * (2.5 - sure)) * rng.normal())
            cells = {"clear": offset + quality[i] + 0.4 * rng.normal(), "new": rng.normal(), SURE: sure}
            rows.append(",".join([f"r{j},p{i},{score:.2f}", *(f"{cells[name]:.2f}" for name in columns.split(","))]))
    write("reviews.csv", f"reviewer,item,score,{columns}", rows)
    answer = asked(*words)
    assert ("criteria" in answer) is (CRITERIA in columns and "--only-target" not in words)
    assert ("confidence" in answer) is (SURE in columns and "--no-confidence" not in words)
    assert verified(answer, *words).exit_code == 0
    for key in {"criteria", "confidence"} & {*answer}:
        forged = copy.deepcopy(answer)
        forged[key]["gain"] = 0.25
        assert f"{key}.gain: claims 0.25; a second run of calibrate prints " in verified(forged, *words).stdout


def test_an_answer_with_covariates_and_rankings_holds() -> None:
    write("papers.csv", "item,track", [f"p{i},{'long' if i > 5 else 'short'}" for i in range(12)])
    write("rankings.csv", "author,item,rank", [f"a{i % 2},p{i},{12 - i}" for i in range(12)])
    words = ("--items", "papers.csv", "--item-covariates", "track", "--rankings", "rankings.csv", "--explain", "p3")
    answer = asked(*words)
    assert answer["covariates"]["used"]
    assert verified(answer, *words).exit_code == 0
    answer["covariates"]["gain"] += 1.0
    assert "covariates.gain: claims " in verified(answer, *words).stdout
    # Without the second run, the options whose effect nothing checks are named.
    CliRunner().invoke(main, ["calibrate", "reviews.csv", *words[:-2], "-o", "out.csv"], catch_exceptions=False)
    found = CliRunner().invoke(verify, ["out.csv", "reviews.csv", *words[:-2]], catch_exceptions=False).stdout
    assert {"--item-covariates", "--rankings"} <= {line.strip().partition(":")[0] for line in found.splitlines()}


def test_one_without_signal_holds_and_is_no_other() -> None:
    rng = np.random.default_rng(0)
    rows = [f"r{j},p{i},{i + 3 * rng.normal():.2f}" for j in range(10) for i in rng.permutation(12)[:5]]
    write("reviews.csv", "reviewer,item,score", rows)
    answer = asked()
    assert answer["status"] == "no_signal"
    assert verified(answer).exit_code == 0
    answer["status"] = "converged"
    assert "status: claims converged; a second run of calibrate prints no_signal" in findings(answer)["undecided"]


def test_an_inference_that_has_not_converged_does_not_hold() -> None:
    answer = asked()
    answer["status"] = "exhausted"
    found = findings(answer)
    assert found["outcome"] == "not_refuted"
    assert found["undecided"] == ["quality, rank: inference ended before it converged", ALONE]


def test_papers_with_the_quality_of_the_prior_are_those_of_constant_reviewers() -> None:
    rows = [f"flat,{item},9.5" for item in ("u1", "u2", *(f"p{i}" for i in range(8)))]
    with Path("reviews.csv").open("a") as file:
        file.write("\n".join([*rows, ""]))
    answer = asked("--explain", "u1")
    assert answer["by_prior"] == ["u1", "u2"]
    result = verified(answer, "--explain", "u1")
    assert result.exit_code == 0, result.stdout
    for wrong in ([], ["u1"], ["u1", "u2", "p1"]):
        result = verified(answer | {"by_prior": wrong}, "--explain", "u1")
        assert (result.exit_code, "by_prior" in result.stdout) == (4, True)


def test_answers_over_all_options_are_not_refuted() -> None:
    codes = []
    for number in range(12 if NIGHTLY else 6):
        case = calibration(np.random.default_rng([0, number]), number)
        codes += [] if case is None else [case.verified(copy.deepcopy(case.answer)).exit_code]
    assert set(codes) == {0, 4}
    assert codes.count(0) > len(codes) // 2


# What a second run does not confirm


def test_a_table_is_not_run_again() -> None:
    asked("--select", "3", "-o", "out.csv")
    result = CliRunner().invoke(verify, ["out.csv", "reviews.csv", "--select", "3", "--json"], catch_exceptions=False)
    found = json.loads(result.stdout)
    assert (found["outcome"], found["undecided"]) == ("not_refuted", [ALONE])
    assert any(words.startswith("probabilities: those of exceeding") for words in found["checked"])


def test_a_command_that_prints_no_answer_confirms_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = asked()
    monkeypatch.setattr(command, "asked_again", lambda made: None)
    found = findings(answer)
    assert found["undecided"] == ["run again, calibrate prints no answer, which checks nothing", ALONE]
    assert not any("second run" in words for words in found["checked"])


def test_answers_of_the_former_model_are_refused() -> None:
    answer = asked()
    answer["model"]["reviews"] = [{"reviewer": "r0", "item": "p1", "messages": [1.0, 0.5, 0.0, 0.0]}]
    result = verified(answer)
    assert result.exit_code == 2
    assert "found a key model.reviews, which no such answer has" in result.stderr
    answer = asked()
    answer["model"]["hyperparameters"]["mu"] = "large"
    assert "expected a number at model.hyperparameters.mu, found 'large'" in verified(answer).stderr


# References and groups: standard errors alone do not give probabilities


def _validity(**changed: Any) -> dict[str, Any]:
    return {"slope": 0.8, "slope_interval": [0.5, 1.1], "sd": 1.5, "n": 4, "unexplained": 0.3} | changed


@pytest.mark.parametrize(
    ("validity", "reason"),
    [
        (_validity(slope_interval=[0.9, 1.1]), "validity.slope_interval: does not contain the slope"),
        (_validity(sd=-0.1), "validity.sd: below 0"),
        (_validity(unexplained=1.2), "validity.unexplained: not from 0 to 1"),
        (_validity(n=5), "validity.n: not from 0 to 4, the references passed"),
    ],
)
def test_figures_of_validity_are_in_their_ranges(validity: dict[str, Any], reason: str) -> None:
    words = ("--references", "known.csv")
    found = findings(asked(*words) | {"validity": validity}, *words)
    assert (found["outcome"], found["wrong"]) == ("refuted", [reason])


def test_validity_is_that_of_references() -> None:
    assert findings(asked() | {"validity": _validity()})["wrong"] == ["validity: printed without references"]
    words = ("--references", "known.csv", "--select", "3")
    answer = asked(*words)
    answer["validity"] = _validity()
    found = findings(answer, *words)
    # A second run decides, and the probabilities are its own.
    assert (found["outcome"], found["wrong"]) == ("not_refuted", [])
    assert {line.partition(":")[0].partition(".")[0] for line in found["undecided"]} == {"validity"}
    assert "validity: the range of each of its figures" in found["checked"]
    assert not any(words.startswith("probabilities: ") for words in found["checked"])


def test_probabilities_across_groups_are_those_of_a_second_run() -> None:
    with Path("reviews.csv").open("a") as file:
        file.write("".join(f"s{j},q{i},{i + j}.5\n" for j in range(3) for i in range(4)))
    words = ("--select", "5", "--by-group-average")
    answer = asked(*words)
    found = findings(answer, *words)
    assert found["outcome"] == "holds", found
    assert any(words.startswith("probabilities of being selected, beyond their sum: not") for words in found["checked"])
    # Their sum is checked all the same.
    answer["items"][0]["probability"] += 0.1
    assert any("probability: sum to 5.1, not 5" in reason for reason in findings(answer, *words)["wrong"])


# Forgeries that the printed numbers or the files refute


def _at(*path: Any, by: float = 0.01) -> Callable[[dict[str, Any]], None]:
    """Move one number, by a hundredth of itself."""

    def forge(answer: dict[str, Any]) -> None:
        within: Any = answer
        for key in path[:-1]:
            within = within[key]
        within[path[-1]] += by * max(abs(within[path[-1]]), 0.1)

    return forge


def _reversed(answer: dict[str, Any]) -> None:
    """Turn the ranking round about its middle, with intervals and ranks."""
    rows = answer["items"]
    middle = sum(row["quality"] for row in rows) / len(rows)
    for row in rows:
        row["quality"] = 2 * middle - row["quality"]
        row["interval"] = [2 * middle - end for end in row["interval"][::-1]]
        row["rank"] = len(rows) + 1 - row["rank"]


def _halved(answer: dict[str, Any]) -> None:
    """Halve the standard errors, and let intervals follow."""
    for row in answer["items"]:
        row["standard_error"] /= 2
        row["interval"] = [(end + row["quality"]) / 2 for end in row["interval"]]


def _blamed(answer: dict[str, Any]) -> None:
    answer["reviewers"][0]["misfit"]["contradicts"] = True


def _other_review(answer: dict[str, Any]) -> None:
    answer["accounts"][0]["parts"][0]["reviewer"] = "r9"


def _other_paper(answer: dict[str, Any]) -> None:
    answer["accounts"][0]["item"] = "p2"


def _dropped(answer: dict[str, Any]) -> None:
    """Drop a review from the account of a quality, and let the prior have its part."""
    account = answer["accounts"][0]
    part = account["parts"].pop(0)
    account["parts"][-1]["weight"] += part["weight"]
    account["middle"] += part["moves"]


FORGED: list[tuple[Callable[[dict[str, Any]], None], str]] = [
    (_reversed, "the ranking runs against the scores within reviewers and against the averages"),
    (_halved, "probability: claims"),
    (_at("items", 1, "probability"), "probability: sum to"),
    (_at("items", 1, "interval", 0), "p1, interval: is not the 90 % interval about the quality"),
    (_at("items", 1, "standard_error"), "p1, interval: is not the 90 % interval about the quality"),
    (_at("items", 1, "average"), "p1, average: claims"),
    (_at("expected_wrong"), "expected_wrong: claims"),
    (_at("lottery", "probabilities", 0, "probability"), "lottery.probabilities, "),
    (_at("gain", "relative"), "gain.relative: claims"),
    (_at("gain", "error"), "gain.relative: claims"),
    (_at("reviewers", 0, "misfit", "p_value"), "reviewers, r0, misfit.corrected: claims"),
    (_blamed, "reviewers, r0, misfit.contradicts: claims true"),
    (_at("accounts", 0, "parts", 1, "score"), "accounts[0].parts: reviews: claims r"),
    (_at("accounts", 0, "parts", 1, "severity"), "accounts[0].parts[1].says: claims"),
    (_at("accounts", 0, "parts", 1, "stretch"), "accounts[0].parts[1].says: claims"),
    (_at("accounts", 0, "parts", 1, "weight"), "accounts[0]: weights, their sum: claims"),
    (_at("accounts", 0, "parts", 1, "moves"), "accounts[0]: middle and moves, their sum: claims"),
    (_at("accounts", 0, "quality"), "accounts[0].quality: claims"),
    (_at("accounts", 0, "standard_error"), "accounts[0].standard_error: claims"),
    (_at("accounts", 0, "average"), "accounts[0].average: claims"),
    (_other_review, "accounts[0].parts: reviews: claims r9, "),
    (_other_paper, "accounts: claims p2; recomputed p1"),
    (_dropped, "accounts[0].parts: reviews: lacks r"),
]


@pytest.fixture(scope="module")
def true_answer() -> dict[str, dict[str, Any]]:
    """The answer to WORDS, once it is known."""
    return {}


@pytest.mark.parametrize(("forge", "reason"), FORGED)
def test_forgeries_are_refuted(
    forge: Callable[[dict[str, Any]], None], reason: str, true_answer: dict[str, dict[str, Any]]
) -> None:
    if not true_answer:
        true_answer["answer"] = asked(*WORDS)
    answer = copy.deepcopy(true_answer["answer"])
    # A p-value whose correction is less than 1.
    tested = len(answer["reviewers"])
    answer["reviewers"][0]["misfit"] |= {"p_value": 0.05, "corrected": 0.05 * tested, "contradicts": False}
    assert not findings(answer, *WORDS)["wrong"]
    forge(answer)
    found = findings(answer, *WORDS)
    assert found["outcome"] == "refuted"
    assert reason in "\n".join(found["wrong"])
    # Nothing was run again, and the findings do not say that it was.
    assert not any("second run" in words for words in found["checked"])


# Forgeries to which everything else is made to fit: the second run tells them


def _exchanged(answer: dict[str, Any]) -> None:
    """Exchange the qualities of two papers, and all that follows from them."""
    one, other = answer["items"][2:4]
    for key in ("quality", "rank", "interval", "standard_error"):
        one[key], other[key] = other[key], one[key]


def _wider(answer: dict[str, Any]) -> None:
    """Double all standard errors and intervals, which without a selection nothing else follows from."""
    for row in answer["items"]:
        row["standard_error"] *= 2
        row["interval"] = [2 * end - row["quality"] for end in row["interval"]]


def _worth_more(answer: dict[str, Any]) -> None:
    gain = answer["gain"]
    gain["error"] /= 2
    gain["relative"] = 1 - (gain["error"] / gain["average_error"]) ** 2


def _contradicting(answer: dict[str, Any]) -> None:
    tested = len(answer["reviewers"])
    answer["reviewers"][0]["misfit"] |= {"p_value": 1e-6, "corrected": 1e-6 * tested, "contradicts": True}


@pytest.mark.parametrize(
    ("forge", "place"),
    [
        (_exchanged, "items[2].quality"),
        (_wider, "items[0].interval[0]"),
        (_worth_more, "gain.relative"),
        (_contradicting, "reviewers[0].misfit.p_value"),
        (_at("reviewers", 2, "misfit", "mean_square"), "reviewers[2].misfit.mean_square"),
        (_at("model", "evidence"), "model.evidence"),
        (_at("model", "hyperparameters", "mu"), "model.hyperparameters.mu"),
    ],
)
def test_what_is_made_to_fit_is_seen_by_a_second_run(forge: Callable[[dict[str, Any]], None], place: str) -> None:
    answer = asked()
    forge(answer)
    found = findings(answer)
    assert (found["outcome"], found["wrong"]) == ("not_refuted", [])
    undecided = "\n".join(found["undecided"])
    assert f"{place}: claims " in undecided
    assert "; a second run of calibrate prints " in undecided
    assert SAME not in found["checked"]


def test_an_answer_without_its_model_does_not_hold() -> None:
    answer = asked()
    del answer["model"]
    assert "model: claims nothing; a second run of calibrate prints" in verified(answer).stdout


def test_no_value_changes_unseen() -> None:
    answer = asked(*WORDS)
    assert verified(answer, *WORDS).exit_code == 0
    for path, changed in itertools.islice(changes(answer, np.random.default_rng(1)), trials(60)):
        # Probabilities that are 0 to nine digits may be any of these; the same bytes by another name are said to be so.
        if "probability" not in path:
            result = verified(changed, *WORDS)
            renamed = path.endswith("].file") and "where the answer was made" in " ".join(result.stdout.split())
            assert result.exit_code != 0 or renamed, path

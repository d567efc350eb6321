"""The command calibrate, as a person types it."""

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import reviewgraph as rg
from lsc.commands.calibrate import calibrate
from reviewgraph.cli import main
from reviewgraph.cli.verify import verify
from tests.pages import all_offered
from tests.trials import sampled

pytestmark = pytest.mark.usefixtures("infer_once")


KEYS = {"item", "quality", "average", "rank", "standard_error", "group"}
METHOD_KEYS = {
    *("files", "hidden", "lacking", "withdrawn", "method", "status", "hypothesis", "objective", "unique", "items"),
    *("selected", "set_aside"),
}
PANEL = [
    (who, f"p{i}", round(a * q + b, 3))
    for who, a, b in (("ann", 1, 0), ("bob", 2, 1), ("cleo", 0.5, 3))
    for i, q in enumerate((1, 2.5, 4, 5, 7))
]
#: Eight reviewers, harsh and lenient, of five out of ten papers each; p9 is the best and p0 the worst.
NOISY = [
    (f"r{j}", f"p{i}", int(np.clip(round(5 + 0.6 * (i - 4.5) + harsh + rng.normal() * 0.7), 1, 10)))
    for rng in [np.random.default_rng(0)]
    for j, harsh in enumerate(rng.normal(0, 1.5, 8))
    for i in rng.choice(10, 5, replace=False).tolist()
]
APART = [*PANEL, ("dora", "q1", 1), ("dora", "q2", 2)]


def table(folder: Path, rows: list[tuple[str, str, object]], name: str = "reviews.csv") -> str:
    path = folder / name
    lines = ["reviewer,item,score", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def run(*words: str) -> Result:
    return CliRunner().invoke(calibrate, list(words))


def answer(*words: str) -> dict[str, Any]:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


# Least Square Calibration


def test_json_is_one_object_with_the_keys_of_the_contract(tmp_path: Path) -> None:
    done = run(table(tmp_path, [*PANEL, ("dora", "p9", "")]), "--method", "lsc", "--json", "--select", "40%")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert set(found) == METHOD_KEYS
    assert [set(row) for row in found["items"]] == [KEYS] * 6
    assert found["selected"] == ["p4", "p3"]
    assert found["status"] == "optimal"
    assert found["method"] == "lsc"
    last = found["items"][-1]
    assert last == {"item": "p9", "quality": None, "average": None, "rank": None, "standard_error": None, "group": 2}
    assert "score" not in done.stderr


@pytest.mark.parametrize("method", ["lsc", "posterior"])
def test_a_selection_across_groups_is_refused(method: str, tmp_path: Path) -> None:
    path = table(tmp_path, APART)
    done = run(path, "--method", method, "--select", "2")
    assert done.exit_code == 1
    assert done.stdout.startswith("NO ORDER OF ALL: 2 groups that no review connects (5, 2 papers; higher is")
    assert "--by-group-average" in done.stdout
    refused = run(path, "--method", method, "--select", "2", "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["selected"] == []
    assert "--by-group-average" in refused.stderr
    assert len(answer(path, "--method", method, "--select", "2", "--by-group-average")["selected"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("method", sampled(["lsc", "posterior"]))
def test_few_papers_outside_the_largest_group_are_set_aside(method: str, tmp_path: Path) -> None:
    rows = [(who, f"p{i:02}", 1 + (i * 3 + len(who)) % 9 / 2) for who in ("ann", "bob", "cleo") for i in range(18)]
    path, target = table(tmp_path, [*rows, ("dora", "q1", 10), ("eve", "q2", 9)]), tmp_path / "out.csv"
    # 18 of 20 papers: 90 % lie in the largest group, and 10 % are counted of all 20.
    done = run(path, "--method", method, "--select", "10%", "--json", "-o", str(target))
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["set_aside"] == ["q1", "q2"]
    assert len(found["selected"]) == 2
    assert not {"q1", "q2"} & {*found["selected"], *(row["item"] for row in found.get("discuss", []))}
    lists = {row["item"]: row["list"] for row in csv.DictReader(target.read_text("utf-8").splitlines())}
    assert [item for item, where in lists.items() if where == "aside"] == ["q1", "q2"]
    answered = tmp_path / "answer.json"
    answered.write_text(done.stdout, "utf-8")
    told = CliRunner().invoke(verify, [str(answered), path, "--method", method, "--select", "10%"])
    assert told.exit_code in (0, 4), told.output
    answered.write_text(json.dumps({**found, "set_aside": ["q1"]}), "utf-8")
    assert CliRunner().invoke(verify, [str(answered), path, "--method", method, "--select", "10%"]).exit_code == 1
    page = run(path, "--method", method, "--select", "10%").stdout
    assert "Set aside q1, q2; at least 2 more reviews join them to the others" in " ".join(page.split())
    assert f"reviewgraph plan {path} --target connected" in page
    # More than the group holds, and groups of like size, are refused.
    assert run(path, "--method", method, "--select", "19").exit_code == 1
    nearer = table(tmp_path, [*rows, ("dora", "q1", 10), ("eve", "q2", 9), ("fred", "q3", 1)], "nearer.csv")
    refused = run(nearer, "--method", method, "--select", "1", "--json")
    assert refused.exit_code == 1
    assert (json.loads(refused.stdout)["selected"], json.loads(refused.stdout)["set_aside"]) == ([], [])
    assert "the largest holds 18 of 21 papers with a score (less than 90 %)" in refused.stderr
    assert run(nearer, "--method", method, "--select", "1", "--by-group-average").exit_code == 0


def test_side_files(tmp_path: Path) -> None:
    path = table(tmp_path, PANEL)
    known = tmp_path / "known.csv"
    known.write_text("item,quality\np0,10\np4,70\n", encoding="utf-8")
    found = answer(path, "--method", "lsc", "--references", str(known))
    assert [round(row["quality"], 6) for row in found["items"]] == [10, 25, 40, 50, 70]
    assert found["unique"] is True


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-slope", "0"], "--max-slope: expected a number from 1e-50 to 1e+50"),
        (["--select", "99"], "--select: expected 1 to 5 papers"),
        (["--references", "{folder}/unknown.csv"], "unknown.csv: the paper is not in the reviews (paper 'zebra')"),
        (
            ["--weights", "{folder}/strangers.csv"],
            "strangers.csv: the pair names a reviewer or paper that is not in the reviews",
        ),
        (
            ["--weights", "{folder}/negative.csv"],
            "negative.csv: expected positive finite numbers, found -1 for 'ann' and 'p0'",
        ),
        (["--method", "average", "--hypothesis", "linear"], "--hypothesis belongs to --method lsc, found 'average'"),
        (["--method", "lsc", "--lottery", "--select", "2"], "--lottery belongs to --method posterior, found 'lsc'"),
        (["--hypothesis", "linear", "--explain", "p1"], "--explain belongs to --method posterior, found 'lsc'"),
        (["--max-slope", "3", "--weights", "{folder}/negative.csv"], "--weights belongs to --method posterior"),
        (["--method", "average", "--references", "{folder}/unknown.csv"], "--references belongs to --method post"),
        (["--lottery"], "--lottery: expected --select N or P% with it"),
        (["--error-rate", "0.2"], "--error-rate: expected --select N or P% with it"),
        (["--by-group-average"], "--by-group-average: expected --select N or P% with it"),
        (["--select", "1", "--seed", "3"], "--seed: expected --lottery with it"),
        (["--explain", "zebra"], "--explain: expected a paper with a score, found 'zebra'"),
        (["--hypotheses", "kinds.csv"], "--hypotheses is no longer an option: one --hypothesis for all; in Python"),
        (["--item-covariates=track"], "--item-covariates is no longer an option: adjust the scores, or compare the"),
        (["--sheet", "sheets"], "--sheet is no longer an option: --explain PAPER without names of reviewers, or -o"),
    ],
)
def test_bad_input_is_one_message_and_status_two(tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "unknown.csv").write_text("item,quality\nzebra,1\n", encoding="utf-8")
    (tmp_path / "strangers.csv").write_text("item,reviewer,weight\np0,eve,1\n", encoding="utf-8")
    (tmp_path / "negative.csv").write_text("item,reviewer,weight\np0,ann,-1\n", encoding="utf-8")
    done = run(table(tmp_path, PANEL), *(word.format(folder=tmp_path) for word in words))
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize("method", ["lsc", "posterior"])
def test_lower_is_better_is_printed_back(method: str, tmp_path: Path) -> None:
    path = table(tmp_path, [(who, paper, 20 - float(y)) for who, paper, y in PANEL])
    found = answer(path, "--method", method, "--lower-is-better")["items"]
    assert found[4]["rank"] == 1
    assert found[4]["quality"] == min(row["quality"] for row in found)
    if method == "posterior":
        assert all(row["interval"][0] < row["quality"] < row["interval"][1] for row in found)


# The posterior, and what all methods share


def test_the_posterior_is_the_default_and_its_json_holds_what_is_known(tmp_path: Path) -> None:
    found = answer(table(tmp_path, [*NOISY, ("r0", "new", "")]))
    assert set(found) == METHOD_KEYS | {"gain", "certain", "discuss", "reviewers", "model", "by_prior", "validity"}
    assert (found["method"], found["status"]) == ("posterior", "converged")
    assert (found["hypothesis"], found["objective"], found["unique"]) == (None, None, None)
    assert (found["selected"], found["certain"], found["discuss"]) == ([], [], [])
    assert set(found["gain"]) == {"relative", "standard_error", "error", "average_error", "reviews"}
    assert found["gain"]["error"] < found["gain"]["average_error"]
    assert [set(row) for row in found["items"]] == [KEYS | {"interval", "probability"}] * 11
    for row in found["items"]:
        if row["item"] == "new":
            assert {name for name, value in row.items() if value is not None} == {"item", "group"}
        else:
            assert row["interval"][0] < row["quality"] < row["interval"][1]
            assert row["probability"] is None


def test_a_selection_comes_in_lists_with_chances(tmp_path: Path) -> None:
    path = table(tmp_path, NOISY)
    found = answer(path, "--select", "30%")
    chance = {row["item"]: row["probability"] for row in found["items"]}
    assert sum(chance.values()) == pytest.approx(3)
    assert len(found["selected"]) == 3
    assert found["error_rate"] == 0.1
    assert found["expected_wrong"] == pytest.approx(sum(1 - chance[paper] for paper in found["selected"]))
    assert found["expected_wrong_by_average"] >= found["expected_wrong"] - 1e-9
    assert set(found["certain"]) == {paper for paper in found["selected"] if chance[paper] >= 0.9}
    assert found["discuss"]
    for row in found["discuss"]:
        assert row["probability"] == chance[row["item"]]
        assert row["item"] not in found["certain"]
    bold = answer(path, "--select", "3", "--error-rate", "0.2")
    assert (bold["selected"], bold["error_rate"]) == (found["selected"], 0.2)
    assert [row["item"] for row in bold["discuss"]] == [
        row["item"] for row in found["discuss"] if 0.2 < row["probability"] < 0.8 or row["item"] in found["selected"]
    ]
    assert len(bold["discuss"]) < len(found["discuss"])


def test_lots_are_drawn_by_seed(tmp_path: Path) -> None:
    path, drawn = table(tmp_path, NOISY), {}
    for seed in ("0", "1", "2", "1"):
        lottery = answer(path, "--select", "4", "--error-rate", "0.01", "--lottery", "--seed", seed)["lottery"]
        assert lottery["seed"] == int(seed)
        assert drawn.setdefault(seed, lottery["drawn"]) == lottery["drawn"]
    assert len({tuple(sorted(papers)) for papers in drawn.values()}) > 1


TIED = [(who, f"p{i}", score) for i in range(9) for who, score in (("ann", 4), ("bob", 6))]
#: Fewer papers than places have a probability above the error rate.
NEARLY = [("ann", f"p{i}", (10.0, 8.5, *[5.0 + i % 3 for i in range(2, 20)])[i]) for i in range(20)]


@pytest.mark.parametrize("rows", [TIED, NEARLY, NOISY], ids=["tied", "nearly", "noisy"])
@pytest.mark.parametrize("n", [1, 2, 6, 8])
@pytest.mark.parametrize("rate", ["0.1", "0.45"])
def test_page_and_json_of_a_lottery_agree_and_hand_out_as_many_places_as_there_are(
    rows: list[tuple[str, str, object]], n: int, rate: str, tmp_path: Path
) -> None:
    words = (table(tmp_path, rows), "--select", str(n), "--error-rate", rate, "--lottery", "--seed", "1")
    found = answer(*words)
    probability = {row["item"]: row["probability"] for row in found["lottery"]["probabilities"]}
    discuss = [row["item"] for row in found["discuss"]]
    drawn = found["lottery"]["drawn"]
    assert sum(probability.values()) == pytest.approx(n, abs=1e-11)
    assert [item for item in found["certain"] if probability[item] != 1] == []
    assert {*probability} == {*found["certain"], *discuss}
    assert {*found["certain"]} <= {*drawn} <= {*probability}
    assert len(drawn) == n
    shown = " ".join(run(*words).stdout.split())
    if discuss:
        sizes = re.match(r"(\d+) IN, (\d+) TO DISCUSS FOR (\d+) PLACE", shown)
        assert sizes is not None
        inside = len(found["certain"])
        assert [int(size) for size in sizes.groups()] == [inside, len(discuss), n - inside]
        named, _, among = shown.partition(" Drawn ")[2].partition(" (of ")
        assert {*named.split(", ")} == {*drawn} - {*found["certain"]}
        assert among.startswith(f"{len(discuss)} by seed 1")
    else:
        assert "Drawn nothing to draw" in shown


@pytest.mark.parametrize("method", ["posterior", "average", "lsc", "bayesian"])
def test_a_result_contains_what_the_json_prints(method: str, tmp_path: Path) -> None:
    path = table(tmp_path, NOISY)
    in_python = rg.calibrate(rg.read_reviews(path), method).to_dict()
    printed = answer(path, "--method", method)
    assert {*printed} - {*in_python} == set()
    assert [in_python[name] for name in ("selected", "set_aside")] == [[], []]


@pytest.mark.parametrize("direction", [[], ["--lower-is-better"]])
def test_an_account_sums_to_the_quality(direction: list[str], tmp_path: Path) -> None:
    path = table(tmp_path, NOISY)
    found = answer(path, "--explain", "p3", *direction)
    (account,), quality = found["accounts"], {row["item"]: row["quality"] for row in found["items"]}["p3"]
    assert account["item"] == "p3"
    assert account["quality"] == quality
    assert account["middle"] + sum(part["moves"] for part in account["parts"]) == pytest.approx(quality, abs=1e-9)
    assert sum(part["weight"] for part in account["parts"]) == pytest.approx(1)
    given = {who: score for who, paper, score in NOISY if paper == "p3"}
    reviews = [part for part in account["parts"] if part["source"] == "review"]
    assert {part["reviewer"]: part["score"] for part in reviews} == given
    done = run(path, "--explain", "p3", *direction)
    assert done.exit_code == 0
    assert f" OF 10: p3, quality {quality:.2f} +- " in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [words[-1] for words in lines if words[:1] == ["sum"]] == [f"{quality:.2f}"]
    scores = {int(words[1]): int(words[2]) for words in lines if words[0] == "Reviewer"}
    assert scores == dict(enumerate(sorted(given.values(), reverse=True), 1))
    assert not any(who in done.stdout for who in given)


# What is proposed next, and what is said of the direction of scores


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--select", "30%"],
        ["--select", "3", "--lottery", "--seed", "1", "--verbose"],
        ["--select", "3", "-o", "papers.csv"],
        ["--explain", "p3", "--lower-is-better"],
        ["--method", "lsc", "--select", "20%", "--error-rate", "0.2"],
        ["--method", "average"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("rows", [NOISY, APART], ids=["noisy", "apart"])
def test_what_is_proposed_next_runs(rows: list[tuple[str, str, object]], words: list[str], folder: Path) -> None:
    table(folder, rows)
    done = run("reviews.csv", *words)
    announced = done.stdout.startswith("NO ORDER OF ALL") and "--select" in words
    assert done.exit_code == announced, done.output
    for command in all_offered(done.stdout):
        assert ("--lower-is-better" in command) == ("--lower-is-better" in words)
        following = CliRunner().invoke(main, command)
        refused = following.stdout.startswith("NO ORDER OF ALL") and "--select" in command
        assert following.exit_code == refused, following.output


def test_a_plan_for_scores_of_hotcrp_knows_the_assignments_beside_them(folder: Path) -> None:
    exports = Path(__file__).parents[3] / "tests" / "hotcrp" / "exports" / "3.4" / "stage2"
    for name in ("scores", "data", "pcassignments", "pcconflicts"):
        shutil.copy(exports / f"labconf-{name}.csv", folder)
    done = run("labconf-scores.csv", "--items", "labconf-data.csv")
    [command] = all_offered(done.stdout)
    assert command[:3] == ["plan", "labconf-scores.csv", "labconf-pcassignments.csv"]
    assert command[3:] == ["--conflicts", "labconf-pcconflicts.csv", "--items", "labconf-data.csv", "-o", "upload.csv"]
    assert CliRunner().invoke(main, command).exit_code == 0


@pytest.mark.parametrize(("words", "guessed"), [([], True), (["--lower-is-better"], False)])
def test_a_direction_that_nobody_stated_is_a_warning(words: list[str], guessed: bool, tmp_path: Path) -> None:
    done = run(table(tmp_path, NOISY), *words)
    assert ("! Higher is read as better; if 1 is best: --lower-is-better" in done.stdout) == guessed
    assert f"{'higher' if guessed else 'lower'} is better" in " ".join(done.stdout.splitlines()[:2])


@pytest.mark.parametrize("words", [[], ["--select", "3"], ["--method", "lsc"], ["--explain", "p3"]], ids=" ".join)
def test_a_screen_has_at_most_24_lines_of_80_columns(
    words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    table(folder, NOISY)
    lines = run("reviews.csv", *words).stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    quiet = run("reviews.csv", *words, "--quiet").stdout.splitlines()
    assert quiet == lines[: len(quiet)]
    assert "is better, assumed)" in " ".join(" ".join(quiet).split())


# Criteria and confidence


@pytest.fixture(scope="module")
def criteria(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 80 papers with four reviews each, whose novelty says much of the overall score."""
    rng, lines = np.random.default_rng(0), ["reviewer,item,overall,novelty,confidence"]
    for item, quality in enumerate(rng.standard_normal(80)):
        for reviewer in rng.permutation(40)[:4]:
            overall, novelty = 5 + 1.5 * (quality + rng.standard_normal(2))
            lines.append(f"r{reviewer},p{item},{overall:.1f},{novelty:.1f},{rng.integers(1, 5)}")
    file = tmp_path_factory.mktemp("criteria") / "reviews.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


def test_an_explained_paper_names_what_its_criteria_add(criteria: str) -> None:
    found = json.loads(run(criteria, "--explain", "p3", "--json").stdout)
    [account] = found["accounts"]
    assert account["middle"] + sum(part["moves"] for part in account["parts"]) == pytest.approx(account["quality"])
    assert {name for part in account["parts"] for name in part.get("criteria", {})} == {"overall", "novelty"}
    for part in account["parts"]:
        if part["source"] == "review":
            corrected = part["score"] + sum(part["criteria"].values()) + part["severity"] + part["stretch"]
            assert corrected == pytest.approx(part["says"])
    assert "by novelty" in " ".join(run(criteria, "--explain", "p3", "--verbose", "why").stdout.split())


def test_true_results_hold(criteria: str, tmp_path: Path) -> None:
    for words in ([], ["--only-target", "--confidence"], ["--only-target"]):
        file = tmp_path / "answer.json"
        file.write_text(run(criteria, *words, "--json").stdout, encoding="utf-8")
        done = CliRunner().invoke(verify, [str(file), criteria, *words])
        assert done.exit_code == 0, done.output

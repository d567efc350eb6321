"""``plan --for``: levels, objectives, and what is printed of them."""

import json
from pathlib import Path

import numpy as np
import pytest

from reviewgraph.graph import random_assignment
from tests.pages import all_offered, offered, run

pytestmark = pytest.mark.usefixtures("infer_once")


@pytest.fixture(autouse=True)
def folder(folder: Path) -> None:
    rng = np.random.default_rng(0)
    design = random_assignment(20, 20, 4, rng)
    score = np.rint(2 * rng.standard_normal(20)[design.item] + 2 * rng.standard_normal(80))
    rows = zip(design.reviewer.tolist(), design.item.tolist(), score.tolist(), strict=True)
    Path("scores.csv").write_text("reviewer,paper,score\n" + "".join(f"r{j},p{i},{y:g}\n" for j, i, y in rows))


def test_decisions_are_planned_and_every_review_says_what_it_buys() -> None:
    words = ("plan", "scores.csv", "--for", "decision", "--select", "20%", "--max-reviews", "3", "--spare", "1")
    found = run(*words, "-o", "plan.csv")
    assert found.exit_code == 0
    assert offered(found.stdout) == ["check", "scores.csv", "plan.csv"]
    assert Path("plan.csv").read_text().splitlines()[0] == "item,reviewer,cost,joins,gain"
    report = json.loads(run(*words, "--json").stdout)
    assert (report["status"], report["target"], report["count"]) == ("chosen", None, 3)
    deal = report["purchase"]
    assert " ".join(found.stdout.split()).startswith(
        f"3 REVIEWS: expect {deal['after']:.2f} wrong of 4 selected, instead of {deal['before']:.2f} without and "
        f"{deal['at_random']:.2f} with as many at random"
    )
    lines = [line.split("  ") for line in found.stdout.splitlines()]
    for review in report["reviews"]:
        assert any(
            line[-1].strip() == f"{review['gain']:.3f}" and review["buys"] in map(str.strip, line) for line in lines
        )
    gained = report["purchase"]["before"] - report["purchase"]["after"]
    assert sum(review["gain"] for review in report["reviews"]) == pytest.approx(gained)
    assert "--for decision --select 20%" in " ".join(offered(run(*words).stdout))


def test_one_level_and_one_objective() -> None:
    for words, message in (
        (("--for", "precision"), "Invalid value for '--for': 'precision' is not 'decision'"),
        (("--for", "decision"), "--select: goal 'decision' needs the number of papers"),
    ):
        found = run("plan", "scores.csv", *words)
        assert found.exit_code == 2
        assert message in found.stderr
    report = json.loads(run("plan", "scores.csv", "--target", "connected", "--json").stdout)
    assert (report["target"], report["purchase"]) == ("connected", None)


def test_a_plan_for_an_objective_says_so_to_who_is_asked() -> None:
    for words, helps in (
        (("decision", "--select", "20%"), "be surer of which papers to select"),
        (("decision", "--target", "double", "--select", "20%"), "compare the scores of all papers on one scale"),
    ):
        found = run("plan", "scores.csv", "--for", *words, "--max-reviews", "3", "--to", "mail", "-o", "mail.csv")
        assert found.exit_code == 0
        text = Path("mail.csv").read_text("utf-8")
        assert text.count(f"It helps us {helps}.") == text.count("Dear") > 0
        assert "Dear" not in found.stdout


def test_options_without_what_they_go_with_are_refused() -> None:
    Path("planned.csv").write_text("reviewer,paper\nann,p1\nann,p2\n")
    for words, message in (
        (("scores.csv", "--select", "10%"), "--select 10%: expected goal 'decision' (--for decision) with it"),
        (
            ("scores.csv", "--for", "decision", "--select", "1", "--max-reviews", "2", "--best-effort"),
            "--best-effort: expected a target with it, since goal 'decision' alone has no level",
        ),
        (("scores.csv", "--after", "r.json"), "--after is no longer an option: give the files of earlier rounds"),
        (("scores.csv", "--keep", "0.9"), "--keep is no longer an option: plan for --target survives-review"),
        (("planned.csv", "--for", "decision", "--select", "1"), "--select: expected papers with scores"),
    ):
        found = run("plan", *words)
        assert (found.exit_code, found.stdout) == (2, "")
        assert message in found.stderr


def test_the_next_lines_of_rounds_run_as_printed() -> None:
    """Of a first round, of the next, which is the last, and of one that holds nothing back."""
    first = ("--for", "decision", "--select", "20%", "--max-reviews", "6", "--spare", "1")
    for options, commands in (
        (("--rounds", "2"), ["plan", "plan", "plan", "check"]),
        (("--rounds", "2", "--min-reviews", "5"), ["plan", "check"]),
        (("--rounds", "1"), ["plan", "check"]),
    ):
        words = ["plan", "scores.csv", *first, *options]
        seen = []
        while words[0] == "plan" and len(seen) < 5:
            found = run(*words)
            # Six reviews are too few for five of every paper.
            assert found.exit_code == (words[0] == "plan" and "5" in words), (words, found.output)
            (words,) = all_offered(found.stdout)
            seen.append(words[0])
        assert seen == commands

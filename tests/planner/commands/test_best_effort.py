"""``--best-effort``: what is written, said and verified where capacity is short."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reviewgraph.cli import main

CHAIN = "reviewer,paper\nann,p1\nann,p2\nbob,p2\nbob,p3\ncleo,p3\ncleo,p4\n"


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reviews.csv").write_text(CHAIN)
    Path("papers.csv").write_text("item\np1\np2\np3\np4\n")
    Path("people.csv").write_text("reviewer,load\nann,3\nbob,3\ncleo,1\n")


PLAN = ("plan", "reviews.csv", "--min-reviews", "3", "--spare", "1")
ASSIGN = ("assign", "--items", "papers.csv", "--reviewers", "people.csv", "--allow-unscored", "--demand", "2")


@pytest.mark.parametrize(("command", "missing"), [(PLAN, 3), (ASSIGN, 1)], ids=["plan", "assign"])
def test_a_part_is_written_said_and_verified(command: tuple[str, ...], missing: int) -> None:
    refused = run(*command, "-o", "answer.csv")
    assert refused.exit_code == 1
    assert not Path("answer.csv").exists()
    assert "--best-effort" in refused.stdout.split("Next: ")[1]
    part = run(*command, "--best-effort", "-o", "answer.csv", "--html", "report.html", "--anonymous")
    assert part.exit_code == 1
    with Path("answer.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    page = " ".join(part.stdout.split())
    assert f"short of {missing} review" in page
    assert "To recruit: " in page
    assert "Next: reviewgraph check " in part.stdout
    report = Path("report.html").read_text()
    assert "To recruit: " in report
    assert "cleo" not in report
    told = run(*command, "--best-effort", "--json")
    assert told.exit_code == 1
    answer = json.loads(told.stdout)
    assert answer["status"] == "best_effort"
    assert {(row["item"], row["reviewer"]) for row in rows} == {
        (row["item"], row["reviewer"]) for row in answer["reviews"]
    }
    assert sum(short["missing"] for short in answer["short"]) == missing == answer["recruit"]["reviews"]
    Path("answer.json").write_text(told.stdout)
    checked = run("verify", "answer.json", *command[1:], "--best-effort")
    assert checked.exit_code == 0, checked.stdout
    # What is missing may not be more than need be, nor less than it is.
    for change in ({"missing": 5}, {"missing": 0}):
        answer["short"][0] |= change
        Path("answer.json").write_text(json.dumps(answer))
        assert run("verify", "answer.json", *command[1:], "--best-effort").exit_code == 1


def test_a_part_from_which_a_review_is_left_out_is_refuted() -> None:
    for command in (PLAN, ASSIGN):
        answer = json.loads(run(*command, "--best-effort", "--json").stdout)
        gone = answer["reviews"].pop()
        if command is PLAN:
            answer |= {"count": len(answer["reviews"]), "cost": float(len(answer["reviews"]))}
        short = {row["item"]: row["missing"] for row in answer["short"]}
        short[gone["item"]] = short.get(gone["item"], 0) + 1
        answer["short"] = [{"item": item, "missing": number} for item, number in short.items()]
        answer["recruit"] |= {"papers": [{"item": item, "reviews": number} for item, number in short.items()]}
        answer["recruit"] |= {"reviews": sum(short.values()), "reviewers": 9, "load": 9}
        Path("answer.json").write_text(json.dumps(answer))
        refuted = run("verify", "answer.json", *command[1:], "--best-effort")
        assert refuted.exit_code == 1
        assert "short: " in refuted.stdout

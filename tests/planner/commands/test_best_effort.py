"""``--best-effort``: what is written, said and verified where capacity is short."""

import csv
import json
from pathlib import Path

import pytest

from tests.pages import CHAIN, offered, run


@pytest.fixture(autouse=True)
def folder(folder: Path) -> None:
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
    assert "--best-effort" in offered(refused.stdout)
    part = run(*command, "--best-effort", "-o", "answer.csv", "--html", "report.html", "--anonymous")
    assert part.exit_code == 1
    with Path("answer.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert f"short of {missing} review" in " ".join(part.stdout.split())
    assert "To recruit " in part.stdout
    assert offered(part.stdout)[0] == "check"
    report = Path("report.html").read_text()
    assert "<dt>To recruit</dt>" in report
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
    # That no more could be given is not checked, but what is missing is counted.
    assert (checked.exit_code, "Not checked" in checked.stdout) == (4, True)
    for change in ({"missing": 5}, {"missing": 0}):
        answer["short"][0] |= change
        Path("answer.json").write_text(json.dumps(answer))
        assert run("verify", "answer.json", *command[1:], "--best-effort").exit_code == 1


def test_nobody_has_a_load(folder: Path) -> None:
    Path("items.csv").write_text("item,demand\np0,2\np1,0\n")
    Path("people.csv").write_text("reviewer,load\nr0,0\n")
    words = ["assign", "--items", "items.csv", "--reviewers", "people.csv", "--best-effort"]
    done = run(*words)
    assert done.exit_code == 1, done.output
    assert done.stdout.startswith("NO ASSIGNMENT: 1 paper (p0) needs 2 reviews")
    Path("items.csv").write_text("item,demand\np0,2\np1,2\n")
    Path("people.csv").write_text("reviewer,load\nr0,1\n")
    page = " ".join(run(*words).stdout.split())
    assert "(p1) gets no review" in page
    assert "demand 0" not in page

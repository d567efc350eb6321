"""Pages of all commands fit the terminal, and nothing in a label steers it."""

import re
from pathlib import Path

import pytest

from reviewgraph._base.text import HIDDEN, columns
from tests.pages import run

#: A label that clears the screen, one that turns the direction of writing, one of wide characters, and a long one.
NAMES = [
    "ann\x1b[2J",
    "bob\u202egro",
    "査読者",
    "reviewer-of-a-very-long-name@a-very-long-domain.example.org",
    "cyd\x9b1m",
]
TITLE = "On the comparison of scores that several reviewers gave on scales of their own; with a title that has no end"
#: What may be wider than the terminal: a command to copy.
COMMAND = re.compile(r"Next: ")

COMMANDS = {
    "check": ("check", "reviews.csv", "--require", "survives-reviewer"),
    "check of a part": ("check", "reviews.csv", "planned.csv", "--missing", "0.1", "--no-fragile"),
    "plan": ("plan", "reviews.csv"),
    "plan against losses": ("plan", "reviews.csv", "--target", "survives-reviewer", "--time-limit", "2"),
    "plan with costs and gains": (
        *("plan", "reviews.csv", "--affinity", "affinity.csv", "--target", "double", "--for", "decision"),
        *("--select", "3"),
        *("--max-reviews", "9", "--time-limit", "5"),
    ),
    "a part of a plan": ("plan", "reviews.csv", "--max-reviews", "1"),
    "no plan": ("plan", "reviews.csv", "--spare", "0"),
    "assign": (
        *("assign", "--items", "papers.csv", "--reviewers", "people.csv", "--affinity", "affinity.csv", "--load", "12"),
        *("--allow-unscored", "--alternates", "1", "--floor", "0", "--target", "survives-reviewer"),
    ),
    "no assignment": ("assign", "--items", "papers.csv", "--reviewers", "people.csv", "--load", "1"),
    "calibrate": ("calibrate", "reviews.csv", "--select", "3"),
    "calibrate by lsc": ("calibrate", "reviews.csv", "--method", "lsc"),
    "an account": ("calibrate", "reviews.csv", "--explain", "p1"),
}


@pytest.fixture
def folder(folder: Path) -> None:
    papers = [f"p{n}" for n in range(1, 11)]
    # A ring: each reviewer shares one paper with the next.
    pairs = [(who, papers[(2 * n + more) % 10]) for n, who in enumerate(NAMES) for more in range(3)]
    rows = [f"{who},{paper},{TITLE},{(3 * n) % 7}" for n, (who, paper) in enumerate(pairs)]
    Path("reviews.csv").write_text("\n".join(["reviewer,paper,title,score", *rows, ""]), "utf-8")
    Path("planned.csv").write_text(f"reviewer,paper\n{NAMES[0]},p9\n{NAMES[1]},p2\n", "utf-8")
    Path("papers.csv").write_text("item,title\n" + "".join(f"{paper},{TITLE}\n" for paper in papers), "utf-8")
    Path("people.csv").write_text("reviewer\n" + "".join(f"{who}\n" for who in NAMES), "utf-8")
    affinity = [f"{paper},{who},{0.1 * (n % 9):.1f}" for n, paper in enumerate(papers) for who in NAMES]
    Path("affinity.csv").write_text("\n".join(["item,reviewer,affinity", *affinity, ""]), "utf-8")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("name", COMMANDS)
def test_pages_fit_and_steer_nothing(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    told = run(*COMMANDS[name])
    assert told.exit_code in (0, 1), told.output
    lines = told.stdout.splitlines()
    assert [line for line in lines if columns(line) > width and not COMMAND.match(line)] == []
    for text in (told.stdout, told.stderr):
        assert not HIDDEN.search(text.replace("\n", ""))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["check", "plan", "assign"])
def test_json_steers_nothing_and_loses_nothing(name: str) -> None:
    told = run(*COMMANDS[name], "--json")
    assert not HIDDEN.search(told.stdout.replace("\n", ""))
    assert "\\u001b[2J" in told.stdout


@pytest.mark.usefixtures("folder")
def test_errors_steer_nothing() -> None:
    Path("fixed.csv").write_text("item,reviewer\np1,nobody\x1b[2J\x9b\n", "utf-8")
    for words in (("plan", "reviews.csv", "--fixed", "fixed.csv"), ("check", "no\x1b[2Jfile.csv")):
        told = run(*words)
        assert told.exit_code == 2
        assert not HIDDEN.search(told.stderr.replace("\n", ""))
        assert "␛[2J" in told.stderr or "\\x1b[2J" in told.stderr

"""Pages of all commands fit the terminal, and nothing in a label steers it."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph._base import text_table
from reviewgraph._base.text import HIDDEN, columns, folded
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


WORDS = st.lists(st.text("abcxyz%(0123456789", min_size=1, max_size=9), min_size=1, max_size=40).map(" ".join)


@given(st.sampled_from(["", "  ", "     +0.40  ", "    80 %  ", "      5.67  "]), WORDS, st.integers(40, 100))
def test_words_stay_and_lines_fit(lead: str, words: str, width: int) -> None:
    lines = folded(lead + words, width)
    assert " ".join(" ".join(lines).split()) == " ".join((lead + words).split())
    assert lines[0].startswith(lead)
    # Words that a percent sign or a bracket keeps together may be wider than the line; single ones are not.
    if "%" not in words and "(" not in words:
        assert all(len(line) <= width for line in lines)


def test_a_number_and_its_sign_and_a_name_and_its_chance_are_not_parted() -> None:
    lines = folded("  " + ", ".join(f"P{n} ({n} %)" for n in range(10, 40)), 40)
    assert len(lines) > 2
    assert all(line.split()[0].startswith("P") for line in lines)


@pytest.mark.parametrize("width", [40, 80, 200])
@given(rows=st.lists(st.tuples(st.text(max_size=60), st.text("论文e\u0301a\x1b", max_size=60)), min_size=1, max_size=4))
def test_tables_fit_and_give_way_in_their_text_only(width: int, rows: list[tuple[str, str]]) -> None:
    told = [["10", f"{place}{paper}", f"{place}{title}"] for place, (paper, title) in enumerate(rows)]
    lines = text_table(["rank", "paper", "title"], told, text=[1, 2], width=width)
    assert len(lines) == 1 + len(rows)
    assert all(columns(line) <= width for line in lines)
    assert all(line.startswith("  10") for line in lines[1:])
    assert not any(HIDDEN.search(line) for line in lines)


@given(st.lists(st.text("ab 論", max_size=40).map(str.strip), min_size=1, max_size=8, unique=True))
def test_cells_that_differ_look_different(cells: list[str]) -> None:
    _, *lines = text_table(["paper", "n"], [[cell, "7"] for cell in cells], text=[0], width=12)
    assert len({line.removesuffix("7").rstrip() for line in lines}) == len(cells)

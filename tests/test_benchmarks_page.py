"""The page of benchmarks: every row stands on it, and one that was missed or not run says so."""

from __future__ import annotations

import pytest

from tests.benchmarks import page
from tests.benchmarks.rows import CONFERENCE, MISSED, ROWS

LINEAR = {"cold": 2.0, "warm": 0.5, "anchor": 5.0, "rival": "another", "peak": 0.25, "words": "optimal"}


def test_the_page_in_the_documentation_has_every_row_with_its_goal() -> None:
    written = page.PAGE.read_text("utf-8")
    for row in ROWS.values():
        assert f"| {row.work} | {row.goal} |" in written


def test_cold_warm_and_the_anchor_stand_apart() -> None:
    assert page.line(ROWS["linear"], LINEAR) == (
        "| LSC linear, 1,000 papers, 1,000 reviewers, 5 each | 500 x | 2 s | 0.5 s | 5 s (another) | 10 x | 0.25 GB "
        "| **missed** | optimal |"
    )


def test_what_was_not_run_has_no_figure() -> None:
    cells = page.line(ROWS["assign"], None).split("|")[3:]
    assert [cell.strip() for cell in cells if cell.strip()] == ["not run"]


def test_the_page_counts_what_ran_and_what_was_missed() -> None:
    written = page.page({"linear": LINEAR, "assign": None, "help": {"cold": 0.1, "peak": 0.1, "words": ""}}, 60.0)
    assert f"2 of\n{len(ROWS)} rows ran, 1 reached their goal, 1 missed it" in written
    assert written.count(MISSED) == 1
    assert written.count("| not run |") == len(ROWS) - 2


@pytest.mark.parametrize(("ratio", "said"), [(99, MISSED), (100, "reached")])
def test_a_goal_is_reached_or_missed(ratio: float, said: str) -> None:
    assert ROWS["convex"].verdict({"warm": 1.0, "anchor": float(ratio)}) == said


@pytest.mark.parametrize(
    ("name", "found", "holds"),
    [
        ("levels", {"cold": 3.0, "warm": 0.9, "peak": 1.0}, True),
        ("power-law", {"cold": 9.0, "warm": 8.0, "peak": 4.5}, False),
        ("plan", {"cold": 29.0, "gap": 0.06}, False),
        ("plan-200", {"share": 0.6}, True),
        ("assign", {"cold": 170.0, "loss": 1.2}, False),
    ],
)
def test_goals_hold_in_all_they_ask_for(name: str, found: dict[str, float], holds: bool) -> None:
    assert (ROWS[name].verdict(found) == "reached") is holds


def test_rows_of_one_table_say_its_size() -> None:
    assert sum(CONFERENCE in row.work for row in ROWS.values()) == 5

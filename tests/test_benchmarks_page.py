"""The section on speed and size of the report: every row is in it, and one that was missed or not run says so."""

import pytest

from tests.benchmarks import page
from tests.benchmarks.rows import MISSED, ROWS

LINEAR = {"cold": 2.0, "warm": 0.5, "anchor": 5.0, "rival": "another", "peak": 0.25, "words": "optimal"}


def test_the_report_has_every_row_with_its_goal() -> None:
    text = page.REPORT.read_text("utf-8")
    assert all(f"| {row.work} | {row.goal} |" in text for row in ROWS.values())
    assert all(text.count(mark) == 1 for mark in page.MARKS)


def test_a_row_has_cold_warm_and_rival_apart_and_no_figure_if_it_was_not_run() -> None:
    assert page.line(ROWS["linear"], LINEAR) == (
        "| LSC linear, 1,000 papers, 1,000 reviewers, 5 each | 500 x | 2 s | 0.5 s | 5 s (another) | 10 x | 0.25 GB "
        "| **missed** | optimal |"
    )
    cells = page.line(ROWS["assign"], None).split("|")[3:]
    assert [cell.strip() for cell in cells if cell.strip()] == ["not run"]


@pytest.mark.parametrize(
    ("name", "figures", "holds"),
    [
        ("convex", {"warm": 1.0, "anchor": 99.0}, False),
        ("convex", {"warm": 1.0, "anchor": 100.0}, True),
        ("levels", {"cold": 3.0, "warm": 0.9, "peak": 1.0}, True),
        ("power-law", {"cold": 9.0, "warm": 8.0, "peak": 4.5}, False),
        ("plan", {"cold": 29.0, "gap": 0.06}, False),
        ("plan-200", {"share": 0.6}, True),
        ("assign", {"cold": 170.0, "loss": 1.2}, False),
    ],
)
def test_goals_hold_in_all_they_ask_for(name: str, figures: dict[str, float], holds: bool) -> None:
    assert ROWS[name].verdict(figures) == ("reached" if holds else MISSED)

"""The report in a browser: tables answer, nothing is loaded, a phone does not scroll sideways."""

from pathlib import Path
from typing import Any

import pytest

from reviewgraph import check, read_reviews
from reviewgraph._base.page import Column, Page, Section, Table
from tests.reviewgraph.report.browsing import expect_good_looks, opened, unfold
from tests.reviewgraph.report.test_check_report import SCRIPT, rows, write


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    write(str(folder / "r.csv"), rows(papers=60, reviewers=30))
    report = folder / "report.html"
    found = check(read_reviews(folder / "r.csv"), missing=0.1)
    report.write_text(found.summary().html(), encoding="utf-8")
    return report


def column(page: Any, place: int, table: str = "papers-table") -> list[str]:
    """Return the cells of a column that are shown, the first being 1."""
    found: list[str] = page.locator(f"#{table} tbody tr > :nth-child({place})").all_inner_texts()
    return found


def test_tables_sort(browser: Any, path: Path) -> None:
    with opened(browser, path) as page:
        unfold(page)
        button = page.locator("#papers-table thead button").nth(0)
        button.click()
        assert page.locator("#papers-table thead th").nth(0).get_attribute("aria-sort") == "ascending"
        first = column(page, 1)
        assert first[:3] == ["Apart-Xw", "Label-0-Xw", "Label-1-Xw"]
        button.press("Enter")
        assert page.locator("#papers-table thead th").nth(0).get_attribute("aria-sort") == "descending"
        assert column(page, 1)[0] == "Label-59-Xw"
        page.locator("#papers-table thead button", has_text="reviews").first.click()
        numbers = [int(cell) for cell in column(page, 3)]
        assert numbers == sorted(numbers, reverse=True)


def test_tables_search_and_filter(browser: Any, path: Path) -> None:
    with opened(browser, path) as page:
        unfold(page)
        search = page.locator("#papers-table input[type=search]")
        search.fill("title 17 yv")
        assert "Label-17-Xw" in column(page, 1)
        search.fill("onerror")
        assert column(page, 2) == [SCRIPT]
        assert page.locator("#papers-table .count").inner_text().startswith("1 to 1 of 1 papers (of ")
        search.fill("nowhere to be found")
        assert column(page, 1) == []


def test_choices_filter(browser: Any, tmp_path: Path) -> None:
    columns = [Column("reviewer", ["ann", "bob"]), Column("stands out", ["harsh", None], "choice")]
    table = Table("reviewers-table", "Reviewers", columns, "reviewers")
    made = Page("Reviewers", None, "Two", sections=[Section("reviewers", "Reviewers", lambda: [table])])
    (tmp_path / "choices.html").write_text(made.html())
    with opened(browser, tmp_path / "choices.html") as page:
        unfold(page)
        page.locator("#reviewers-table .controls > label select").first.select_option(label="harsh")
        assert column(page, 1, "reviewers-table") == ["ann"]


def test_pages_turn(browser: Any, path: Path) -> None:
    with opened(browser, path) as page:
        unfold(page)
        first = column(page, 1)
        assert len(first) == 25
        page.locator("#papers-table .pager button", has_text="Next").click()
        assert not set(first) & set(column(page, 1))
        page.locator("#papers-table .pager select").select_option("500")
        assert len(column(page, 1)) > 50


def test_the_script_writes_cells_as_they_stood_before_it_ran(browser: Any, path: Path) -> None:
    with opened(browser, path, java_script_enabled=False) as page:
        before = page.locator("tbody").all_inner_texts()
        assert page.locator("input").count() == 0
    with opened(browser, path) as page:
        assert page.locator("tbody").all_inner_texts() == before


def test_all_rows_that_are_chosen_stand_on_paper(browser: Any, path: Path) -> None:
    with opened(browser, path) as page:
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert len(column(page, 1)) > 50
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert len(column(page, 1)) == 25
        page.locator("#papers-table input[type=search]").fill("title 17 yv")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert len(column(page, 1)) < 25


def test_phones_and_screens_in_light_and_dark(browser: Any, path: Path) -> None:
    expect_good_looks(browser, path, everyday=2)

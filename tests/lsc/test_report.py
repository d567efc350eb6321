from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from tests.reviewgraph.report.browsing import chromium, expect_good_looks
from tests.reviewgraph.report.reading_pages import Page, numbers
from tests.reviewgraph.report.test_check_report import SCRIPT, rows, write


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("r.csv", calibratable())
    Path("hypotheses.csv").write_text("reviewer,hypothesis\nReviewer-1-Zq,offset\n")
    known = {12: 2, 13: 3, 14: 5, 15: 5.5, 16: 1, 17: 2}  # rise with the scores
    Path("known.csv").write_text("item,quality\n" + "".join(f"Label-{i}-Xw,{value}\n" for i, value in known.items()))
    return tmp_path


def calibratable() -> list[list[str]]:
    """The table of the check's tests in one piece, with reviewers who are severe by turns."""
    table = [row for row in rows(papers=20, reviewers=30) if row[0] != "Lost-Zq"]
    severe = {row[0]: (int(row[0].split("-")[1]) % 3 if "-" in row[0][1:-3] else 0) for row in table}
    quality = {row[1]: 3 + len(row[1]) * hash_of(row[1]) % 5 for row in table}
    changed = [[who, paper, str(quality[paper] + severe[who]), title] for who, paper, _, title in table]
    return [[*row[:3], SCRIPT if row[1] == "Label-3-Xw" else row[3]] for row in changed]


def hash_of(text: str) -> int:
    return sum(map(ord, text))


def report(*options: str) -> tuple[str, str]:
    result = CliRunner().invoke(main, ["calibrate", "r.csv", "--html", "out.html", *options], catch_exceptions=False)
    assert result.exit_code in (0, 1), result.output
    return Path("out.html").read_text(encoding="utf-8"), result.stdout


OPTIONS = [
    (),
    ("--select", "5"),
    ("--select", "5", "--lottery", "--seed", "4"),
    ("--explain", "Label-1-Xw"),
    ("--explain", "Label-2-Xw", "--explain", "Label-1-Xw", "--explain", "Label-2-Xw"),
    ("--lower-is-better", "--select", "20%"),
    ("--method", "average", "--select", "3"),
    ("--method", "lsc"),
    ("--hypotheses", "hypotheses.csv"),
    ("--references", "known.csv", "--on-scale-of", "known.csv"),
]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_every_number_of_the_terminal_stands_in_the_report(options: tuple[str, ...]) -> None:
    html, printed = report(*options)
    page = Page(html)
    assert numbers(printed) <= numbers(page.text) | numbers(" ".join(page.printed))
    pictures = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert pictures
    assert all(attributes["role"] == "img" for attributes in pictures)


def test_the_table_of_papers_holds_what_the_file_does() -> None:
    html, _ = report("--select", "5", "-o", "papers.csv")
    _, papers, reviewers = Page(html).data
    lines = Path("papers.csv").read_text().splitlines()
    header, first = lines[0].split(","), dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    assert "interval_low" in header
    row = papers["cells"][0].index(first["item"])
    shown = {column["name"]: cells[row] for column, cells in zip(papers["columns"], papers["cells"], strict=True)}
    for name, column in (("quality", "quality"), ("low", "interval_low"), ("high", "interval_high"), ("rank", "rank")):
        assert shown[name] == pytest.approx(float(first[column]), abs=0.0051)
    assert set(reviewers["cells"][0]) == {row[0] for row in calibratable()}


def test_a_title_that_is_a_script_stays_text() -> None:
    page = Page(report("--select", "5")[0])
    kinds = [tag for tag, _ in page.tags]
    assert kinds.count("script") == 1 + len(page.data)
    assert "img" not in kinds
    assert SCRIPT in page.text


@pytest.mark.parametrize("options", [*OPTIONS, ("--select", "5", "--explain", "Label-1-Xw")], ids=" ".join)
def test_anonymous_reports_hold_no_name(options: tuple[str, ...]) -> None:
    html, printed = report("--anonymous", *options)
    assert not re.search("Zq|Xw|Yv|alert", html)
    assert "Xw" in printed
    plain, _ = report(*options)
    assert numbers(" ".join(Page(html).printed)) >= {"quality"} & numbers(plain)


def test_the_same_table_gives_the_same_report() -> None:
    assert report("--select", "5") == report("--select", "5")


def test_in_a_browser() -> None:
    report("--select", "5")
    with chromium() as browser:
        expect_good_looks(browser, Path("out.html").resolve())

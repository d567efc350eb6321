"""The page of an assignment in the terminal and as a report: the same answer, tables like the file, and no name."""

import csv
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.pages import run
from tests.reviewgraph.report.browsing import expect_good_looks
from tests.reviewgraph.report.reading_pages import Page, numbers, without_hashes

SCRIPT = "</script><script>alert('&')</script>"
RUNS = [
    (),
    ("--target", "none", "--demand", "2"),
    ("--load", "1"),
    ("--alternates", "1", "--target", "survives-reviewer"),
    ("--target", "none", "--alternates", "9", "--at-most", "institution=1", "--at-least", "senior=1"),
    ("--previous", "before.csv", "--demand", "2"),
    ("--target", "none", "--fair", "maximin", "--floor", "0.4", "--demand", "1"),
    ("--max-probability", "0.6", "--demand", "2"),
    ("--demand", "6", "--load", "5", "--best-effort"),
    ("--fixed", "before.csv", "--conflicts", "before.csv", "--load", "9"),
]
every_run = pytest.mark.parametrize("options", RUNS, ids=" ".join)


@pytest.fixture(autouse=True)
def folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    draw = random.Random(2)
    with Path("papers.csv").open("w", newline="") as file:
        titles = [*(f"Title {paper} Yv" for paper in range(11)), SCRIPT]
        csv.writer(file).writerows([["item", "title"], *([f"L{i}-Xw", title] for i, title in enumerate(titles))])
    people = "".join(f"R{person}-Zq,Uni {person % 7},{'yes' if person < 4 else 'no'}\n" for person in range(10))
    Path("people.csv").write_text(f"reviewer,institution,senior\n{people}")
    Path("before.csv").write_text("item,reviewer\n" + "".join(f"L{i}-Xw,R{i % 3}-Zq\n" for i in range(12)))
    lines = [f"L{i}-Xw,R{j}-Zq,{draw.random():.3f}\n" for i in range(12) for j in range(10)]
    Path("affinity.csv").write_text("item,reviewer,affinity\n" + "".join(lines))


def assign(*options: str) -> tuple[str, str]:
    """Return the report and what is printed."""
    files = ("--items", "papers.csv", "--reviewers", "people.csv", "--affinity", "affinity.csv")
    done = run("assign", *files, *options, "--html", "out.html")
    assert done.exit_code in (0, 1), done.output
    return Path("out.html").read_text(encoding="utf-8"), done.stdout


@every_run
def test_the_screen_is_short_and_the_report_has_all_of_it(options: tuple[str, ...]) -> None:
    html, printed = assign(*options)
    assert len(printed.splitlines()) <= 24
    assert all(len(line) <= 80 for line in printed.splitlines())
    page = Page(html)
    assert numbers(printed) <= numbers(page.text)
    for tag, attributes in page.tags:
        assert tag != "svg" or all(name in page.ids for name in str(attributes["aria-labelledby"]).split())
    _, whole = assign(*options, "--verbose")
    assert whole.splitlines()[0] == printed.splitlines()[0]


@every_run
def test_anonymous_reports_hold_no_name(options: tuple[str, ...]) -> None:
    html, _ = assign(*options, "--anonymous")
    assert not re.search("Zq|Xw|Yv|Uni|alert", without_hashes(html))
    with Path("out.html.key.csv").open(newline="") as file:
        key = list(csv.DictReader(file))
    assert {row["kind"] for row in key} == {"reviewer", "paper"}
    assert len({row["code"] for row in key}) == len(key)


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        (("--demand", "2"), "Assigned:"),
        (("--load", "1"), "No assignment:"),
        (("--demand", "6", "--load", "5", "--best-effort"), "Assigned in part:"),
    ],
)
def test_it_opens_with_whether_all_papers_have_reviewers(options: tuple[str, ...], verdict: str) -> None:
    html, printed = assign(*options)
    assert printed.startswith(verdict.upper())
    (look,) = re.findall(r'class="verdict (\w+)"', html)
    assert look == ("good" if verdict == "Assigned:" else "open")
    assert f'<h2 id="verdict">{verdict[:-1]}</h2>' in html


def test_the_tables_hold_what_the_file_does() -> None:
    html, _ = assign("-o", "assignment.csv")
    with Path("assignment.csv").open(newline="") as file:
        written = {(row["item"], row["reviewer"]) for row in csv.DictReader(file)}
    tables = [
        dict(zip((column["name"] for column in data["columns"]), data["cells"], strict=True))
        for data in Page(html).data
    ]
    by_paper, by_reviewer = tables
    assert {
        (i, j) for i, who in zip(by_paper["paper"], by_paper["reviewers"], strict=True) for j in who.split(", ")
    } == written
    pairs = zip(by_reviewer["reviewer"], by_reviewer["papers"], strict=True)
    assert {(i, j) for j, papers in pairs for i in papers.split(", ") if i} == written
    assert by_paper["sum"] == sorted(by_paper["sum"])


def test_a_title_that_is_a_script_stays_text() -> None:
    page = Page(assign()[0])
    assert [tag for tag, _ in page.tags].count("script") == 1 + len(page.data)


def test_in_a_browser(browser: Any) -> None:
    assign()
    expect_good_looks(browser, Path("out.html").resolve())

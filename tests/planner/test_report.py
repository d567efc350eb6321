from __future__ import annotations

import csv
import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from tests.reviewgraph.report.browsing import chromium, expect_good_looks
from tests.reviewgraph.report.reading_pages import Page, numbers
from tests.reviewgraph.report.test_check_report import SCRIPT, rows, write

PLANS = [
    (),
    ("--spare", "0"),
    ("--max-reviews", "2"),
    ("--for", "precision", "--max-reviews", "3"),
    ("--cost", "cost.csv", "--capacity", "capacity.csv", "--spare", "2"),
]
ASSIGNMENTS = [(), ("--target", "none", "--demand", "2"), ("--load", "1"), ("--alternates", "1", "--survive")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(2)
    write("r.csv", rows(papers=16, reviewers=8))
    Path("cost.csv").write_text("item,reviewer,cost\nApart-Xw,Reviewer-1-Zq,3\n")
    Path("capacity.csv").write_text("reviewer,spare\nEmergency-Zq,9\n")
    with Path("papers.csv").open("w", newline="") as file:
        titles = [f"Title {paper} Yv" for paper in range(11)]
        csv.writer(file).writerows([["item", "title"], *([f"L{i}-Xw", t] for i, t in enumerate([*titles, SCRIPT]))])
    Path("people.csv").write_text("reviewer\n" + "".join(f"R{person}-Zq\n" for person in range(10)))
    lines = [f"L{i}-Xw,R{j}-Zq,{draw.random():.3f}\n" for i in range(12) for j in range(10)]
    Path("affinity.csv").write_text("item,reviewer,affinity\n" + "".join(lines))
    return tmp_path


def report(*words: str) -> tuple[str, str]:
    result = CliRunner().invoke(main, [*words, "--html", "out.html"], catch_exceptions=False)
    assert result.exit_code in (0, 1), result.output
    return Path("out.html").read_text(encoding="utf-8"), result.stdout


def plan(*options: str) -> tuple[str, str]:
    return report("plan", "r.csv", *options)


def assign(*options: str) -> tuple[str, str]:
    return report(
        "assign", "--items", "papers.csv", "--reviewers", "people.csv", "--affinity", "affinity.csv", *options
    )


RUNS = [*((plan, options) for options in PLANS), *((assign, options) for options in ASSIGNMENTS)]
every_run = pytest.mark.parametrize(("run", "options"), RUNS, ids=[f"{f.__name__} {' '.join(o)}" for f, o in RUNS])


@every_run
def test_every_number_of_the_terminal_stands_in_the_report(run, options) -> None:
    html, printed = run(*options)
    page = Page(html)
    assert numbers(printed) <= numbers(page.text) | numbers(" ".join(page.printed))
    for tag, attributes in page.tags:
        assert tag != "svg" or all(name in page.ids for name in str(attributes["aria-labelledby"]).split())


@every_run
def test_anonymous_reports_hold_no_name(run, options) -> None:
    html, _ = run("--anonymous", *options)
    assert not re.search("Zq|Xw|Yv|alert", html)
    with Path("out.html.key.csv").open(newline="") as file:
        key = list(csv.DictReader(file))
    assert {row["kind"] for row in key} == {"reviewer", "paper"}
    assert len({row["code"] for row in key}) == len(key)


def test_the_table_of_a_plan_holds_what_the_file_does() -> None:
    html, _ = plan("-o", "plan.csv")
    with Path("plan.csv").open(newline="") as file:
        written = [(row["item"], row["reviewer"]) for row in csv.DictReader(file)]
    (data,) = Page(html).data
    cells = {column["name"]: cell for column, cell in zip(data["columns"], data["cells"], strict=True)}
    assert list(zip(cells["paper"], cells["reviewer"], strict=True)) == written
    assert cells["largest group"][-1] == len({row[1] for row in rows(papers=16, reviewers=8)})


def test_the_tables_of_an_assignment_hold_what_the_file_does() -> None:
    html, _ = assign("-o", "assignment.csv")
    with Path("assignment.csv").open(newline="") as file:
        written = {(row["item"], row["reviewer"]) for row in csv.DictReader(file)}
    pairs = Page(html).data[2]["cells"]
    assert set(zip(pairs[0], pairs[1], strict=True)) == written


def test_a_title_that_is_a_script_stays_text() -> None:
    for html, _ in (plan(), assign()):
        page = Page(html)
        assert [tag for tag, _ in page.tags].count("script") == 1 + len(page.data)


@pytest.mark.parametrize("run", [plan, assign], ids=["plan", "assign"])
def test_in_a_browser(run) -> None:
    run()
    with chromium() as browser:
        expect_good_looks(browser, Path("out.html").resolve())

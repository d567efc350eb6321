from __future__ import annotations

import csv
import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from planner import plan_extra_reviews
from planner.report.coded import coded_plan
from planner.report.groups import groups_left
from reviewgraph import Reviews
from reviewgraph.cli import main
from tests.reviewgraph.report.browsing import chromium, expect_good_looks
from tests.reviewgraph.report.reading_pages import Page, numbers, without_hashes
from tests.reviewgraph.report.test_check_report import SCRIPT, rows, write

PLANS = [
    (),
    ("--spare", "0"),
    ("--max-reviews", "2"),
    ("--for", "precision", "--max-reviews", "3"),
    ("--for", "decision", "--select", "4", "--max-reviews", "3"),
    ("--target", "survives-reviewer", "--time-limit", "5"),
    ("--min-reviews", "3", "--fixed", "fixed.csv"),
    ("--cost", "cost.csv", "--capacity", "capacity.csv", "--spare", "2"),
]
ASSIGNMENTS = [
    (),
    ("--target", "none", "--demand", "2"),
    ("--load", "1"),
    ("--alternates", "1", "--survive"),
    ("--target", "none", "--alternates", "9", "--at-most", "institution=1", "--at-least", "senior=1"),
    ("--previous", "before.csv", "--demand", "2", "--min-affinity", "0.3"),
    ("--target", "none", "--fair", "leximin", "--floor", "0.4", "--demand", "1"),
]


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
    Path("fixed.csv").write_text("item,reviewer\nApart-Xw,Reviewer-1-Zq\n")
    people = "".join(f"R{person}-Zq,Uni {person % 7},{'yes' if person < 4 else 'no'}\n" for person in range(10))
    Path("people.csv").write_text(f"reviewer,institution,senior\n{people}")
    Path("before.csv").write_text("item,reviewer\n" + "".join(f"L{i}-Xw,R{i % 3}-Zq\n" for i in range(12)))
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
    html, printed = run("--anonymous", *options)
    assert not re.search("Zq|Xw|Yv|Uni|alert", without_hashes(html))
    page, labels = Page(html), re.compile(r"(?:Label|Reviewer|Title|L|R)-?\d+(?=-Zq|-Xw)|Title \d+ Yv")
    assert numbers(labels.sub("", printed)) <= numbers(page.text) | numbers(" ".join(page.printed))
    with Path("out.html.key.csv").open(newline="") as file:
        key = list(csv.DictReader(file))
    assert {row["kind"] for row in key} == {"reviewer", "paper"}
    assert len({row["code"] for row in key}) == len(key)


@pytest.mark.parametrize("target", ["double", "survives-reviewer", "connected"])
def test_a_plan_is_said_anew_in_the_words_that_it_had(target: str) -> None:
    table = Reviews.from_pairs([(row[0], row[1], float(row[2])) for row in rows(papers=16, reviewers=8)])
    for options in ({}, {"fixed": [("Reviewer-1-Zq", "Apart-Xw")], "min_reviews": 3}):
        found = plan_extra_reviews(table, target, time_limit=5, **options)
        again = coded_plan(found)
        assert again.reviews == found.reviews
        assert again.explanation == found.explanation


def test_what_a_plan_buys_is_said_anew_in_the_words_that_it_had() -> None:
    table = Reviews.from_pairs([(row[0], row[1], float(row[2])) for row in rows(papers=16, reviewers=8)])
    found = plan_extra_reviews(table, objective="precision", max_reviews=4)
    assert any(review.buys for review in found.reviews)
    assert coded_plan(found).reviews == found.reviews


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


@pytest.mark.parametrize("target", ["connected", "double"])
def test_groups_become_fewer_as_reviews_arrive(target: str) -> None:
    # Groups of two papers and two reviewers each.
    pairs = [(f"r{2 * g + j}", f"p{2 * g + i}", 1.0) for g in range(6) for j in range(2) for i in range(2)]
    found = plan_extra_reviews(Reviews.from_pairs(pairs), target)
    left = groups_left(found)
    assert (left[0], left[-1], len(left)) == (6, 1, found.count + 1)
    assert left == sorted(left, reverse=True)


def test_who_reviews_nothing_yet_is_a_group_from_the_first_review_on() -> None:
    pairs = [(f"r{2 * g + j}", f"p{2 * g + i}", 1.0) for g in range(2) for j in range(2) for i in range(2)]
    found = plan_extra_reviews(Reviews.from_pairs(pairs), spare=0, capacity={"new": 9})
    assert groups_left(found) == [2, 3, 2, 2, 1]

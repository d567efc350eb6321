from __future__ import annotations

import csv
import random
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from tests.reviewgraph.report.browsing import expect_good_looks
from tests.reviewgraph.report.reading_pages import Page, numbers, without_hashes
from tests.reviewgraph.report.test_check_report import SCRIPT, rows, write
from tests.trials import sampled

pytestmark = pytest.mark.usefixtures("infer_once")


ASSIGNMENTS = [
    (),
    ("--target", "none", "--demand", "2"),
    ("--load", "1"),
    ("--alternates", "1", "--survive"),
    ("--target", "none", "--alternates", "9", "--at-most", "institution=1", "--at-least", "senior=1"),
    ("--previous", "before.csv", "--demand", "2", "--min-affinity", "0.3"),
    ("--target", "none", "--fair", "maximin", "--floor", "0.4", "--demand", "1"),
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


def assign(*options: str) -> tuple[str, str]:
    return report(
        "assign", "--items", "papers.csv", "--reviewers", "people.csv", "--affinity", "affinity.csv", *options
    )


RUNS = [(assign, options) for options in ASSIGNMENTS]
NAMES = [f"{run.__name__} {' '.join(options)}" for run, options in RUNS]
#: Whose reports have between them all that reports have.
TELLING = [RUNS[place] for place in (0, 3, 4, 5, 6)]
every_run = pytest.mark.parametrize(("run", "options"), sampled(RUNS, TELLING, several=True), ids=NAMES)


@pytest.mark.slow
@every_run
def test_every_number_of_the_terminal_stands_in_the_report(run, options) -> None:
    html, printed = run(*options)
    page = Page(html)
    assert numbers(printed) <= numbers(page.text) | numbers(" ".join(page.printed))
    for tag, attributes in page.tags:
        assert tag != "svg" or all(name in page.ids for name in str(attributes["aria-labelledby"]).split())


@pytest.mark.slow
@every_run
def test_anonymous_reports_hold_no_name(run, options) -> None:
    html, printed = run("--anonymous", *options)
    assert not re.search("Zq|Xw|Yv|Uni|alert", without_hashes(html))
    page, labels = Page(html), re.compile(r"(?:Label|Reviewer|Title|L|R)-?\d+(?=-Zq|-Xw)|Title \d+ Yv")
    # The next command names files, and is left out of an anonymous report.
    said = printed.partition("\nNext: ")[0]
    assert numbers(labels.sub("", said)) <= numbers(page.text) | numbers(" ".join(page.printed))
    with Path("out.html.key.csv").open(newline="") as file:
        key = list(csv.DictReader(file))
    assert {row["kind"] for row in key} == {"reviewer", "paper"}
    assert len({row["code"] for row in key}) == len(key)


@pytest.mark.parametrize(
    ("options", "headline"),
    [
        (("--demand", "2"), "Every paper has its reviewers"),
        (("--load", "1"), "No assignment"),
    ],
    ids=["filled", "too few"],
)
def test_an_assignment_opens_with_whether_all_is_filled(options: tuple[str, ...], headline: str) -> None:
    html, printed = assign(*options)
    page = Page(html)
    assert printed.startswith(headline)
    first = page.text[: page.text.index("Next:") if "Next:" in page.text else len(page.text)]
    assert headline in first
    (shown,) = [attributes["class"] for tag, attributes in page.tags if "verdict" in str(attributes.get("class"))]
    assert shown == f"verdict {'good' if headline.startswith('Every') else 'open'}"
    if headline != "No assignment":
        loads, level, *_ = printed.splitlines()[1:]
        assert loads in first
        assert level in first
        # All papers have as many reviews, so no bars are drawn of them.
        assert "demands-wide-title" not in page.ids
        assert "Reviews per paper: " in page.text[len(first) :]


def test_the_tables_of_an_assignment_hold_what_the_file_does() -> None:
    html, _ = assign("-o", "assignment.csv")
    with Path("assignment.csv").open(newline="") as file:
        written = {(row["item"], row["reviewer"]) for row in csv.DictReader(file)}
    pairs = Page(html).data[2]["cells"]
    assert set(zip(pairs[0], pairs[1], strict=True)) == written


def test_a_title_that_is_a_script_stays_text() -> None:
    for html, _ in (assign(),):
        page = Page(html)
        assert [tag for tag, _ in page.tags].count("script") == 1 + len(page.data)


def test_in_a_browser(browser: Any) -> None:
    assign()
    expect_good_looks(browser, Path("out.html").resolve())

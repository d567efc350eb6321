from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from tests.reviewgraph.report.browsing import expect_good_looks
from tests.reviewgraph.report.reading_pages import Page, numbers, without_hashes
from tests.reviewgraph.report.test_check_report import rows, write
from tests.trials import sampled

pytestmark = pytest.mark.usefixtures("infer_once")


PLANS = [
    (),
    ("--spare", "0"),
    ("--max-reviews", "2"),
    ("--for", "decision", "--select", "4", "--max-reviews", "3"),
    ("--for", "decision", "--select", "4", "--max-reviews", "12", "--rounds", "3", "--spare", "1"),
    ("--target", "survives-reviewer", "--time-limit", "0.2"),
    ("--min-reviews", "3", "--fixed", "fixed.csv"),
    ("--cost", "cost.csv", "--capacity", "capacity.csv", "--spare", "2"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("r.csv", rows(papers=16, reviewers=8))
    Path("cost.csv").write_text("item,reviewer,cost\nApart-Xw,Reviewer-1-Zq,3\n")
    Path("capacity.csv").write_text("reviewer,spare\nEmergency-Zq,9\n")
    Path("fixed.csv").write_text("item,reviewer\nApart-Xw,Reviewer-1-Zq\n")
    return tmp_path


def report(*words: str) -> tuple[str, str]:
    result = CliRunner().invoke(main, [*words, "--html", "out.html"], catch_exceptions=False)
    assert result.exit_code in (0, 1), result.output
    return Path("out.html").read_text(encoding="utf-8"), result.stdout


def plan(*options: str) -> tuple[str, str]:
    return report("plan", "r.csv", *options)


RUNS = [(plan, options) for options in PLANS]
NAMES = [f"{run.__name__} {' '.join(options)}" for run, options in RUNS]
#: Whose reports have between them all that reports have.
TELLING = [RUNS[place] for place in (0, 2, 3, 5, 7)]
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


@pytest.mark.slow
@pytest.mark.parametrize("target", ["double", "survives-reviewer", "connected"])
def test_a_plan_is_said_anew_in_the_words_that_it_had(target: str) -> None:
    table = Reviews.from_pairs([(row[0], row[1], float(row[2])) for row in rows(papers=16, reviewers=8)])
    for options in ({}, {"fixed": [("Reviewer-1-Zq", "Apart-Xw")], "min_reviews": 3}):
        found = plan_extra_reviews(table, target, time_limit=0.2, **options)
        again = coded_plan(found)
        assert again.reviews == found.reviews
        assert again.explanation == found.explanation


def test_the_table_of_a_plan_holds_what_the_file_does() -> None:
    html, _ = plan("-o", "plan.csv")
    with Path("plan.csv").open(newline="") as file:
        written = [(row["item"], row["reviewer"]) for row in csv.DictReader(file)]
    data = Page(html).data[-1]
    cells = {column["name"]: cell for column, cell in zip(data["columns"], data["cells"], strict=True)}
    assert list(zip(cells["paper"], cells["reviewer"], strict=True)) == written
    assert cells["largest group"][-1] == len({row[1] for row in rows(papers=16, reviewers=8)})


def test_who_is_asked_stands_there_with_loads_and_papers_those_for_most_first() -> None:
    html, _ = plan("--min-reviews", "4", "-o", "plan.csv")
    page = Page(html)
    with Path("plan.csv").open(newline="") as file:
        written = [(row["reviewer"], row["item"]) for row in csv.DictReader(file)]
    before = Counter(row[0] for row in rows(papers=16, reviewers=8))
    extra = Counter(reviewer for reviewer, _ in written)
    assert (
        f"{len(written)} extra reviews, by {len(extra)} reviewers for {len({i for _, i in written})} papers"
        in page.text
    )
    most = max(extra.values())
    busiest = sum(number == most for number in extra.values())
    assert f"The largest extra load is {most}, for {busiest} reviewers." in page.text.split("This is")[0]
    lines = re.findall(r'<th scope="row" class="text">([^<]*-Zq)</th>((?:<td class="\w+">[^<]*</td>)+)', html)
    shown = {who: re.findall(r">([^<]+)<", cells) for who, cells in lines}
    assert {who: [int(cells[0]), int(cells[2]), int(cells[3])] for who, cells in shown.items()} == {
        who: [number, before[who], before[who] + number] for who, number in extra.items()
    }
    assert {(who, paper) for who, cells in shown.items() for paper in cells[1].split(", ")} == set(written)
    numbers_asked = [int(cells[0]) for cells in shown.values()]
    assert numbers_asked == sorted(numbers_asked, reverse=True)


def test_the_map_links_the_groups_of_reviewers_to_those_of_their_papers() -> None:
    rows = [(f"r{2 * g + j}", f"p{2 * g + i}", 1.0) for g in range(3) for j in range(2) for i in range(2)]
    table = Reviews.from_pairs([*rows, ("r0", "p2", 1.0)])  # groups 0 and 1 share p2
    grouping = grouping_of(structure_of(table))
    where = {name.split(": ")[1].split(",")[0]: place for place, name in enumerate(grouping.map().names)}
    pairs = [("r4", "p0"), ("r2", "p5"), ("r5", "p2"), ("r4", "p5")]
    codes = np.array([(table.reviewers.index(j), table.items.index(i)) for j, i in pairs])
    drawn = grouping.map(codes)
    shared = len(drawn.names) + list(drawn.papers).index("p2")
    assert drawn.extra.tolist() == [
        [where["r4"], where["r0"]],
        [where["r2"], where["r4"]],
        [where["r4"], shared],
    ]
    assert not drawn.hanging.any()


def test_a_title_that_is_a_script_stays_text() -> None:
    page = Page(plan()[0])
    assert [tag for tag, _ in page.tags].count("script") == 1 + len(page.data)


def test_in_a_browser(browser: Any) -> None:
    plan()
    expect_good_looks(browser, Path("out.html").resolve())

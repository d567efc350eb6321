"""Reports of plans: the numbers of the terminal and of the file, no names under codes, and good looks."""

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import planner
from reviewgraph import Reviews, Search
from reviewgraph.graph import structure_of
from reviewgraph.report import Codes, map_of
from tests.pages import run
from tests.reviewgraph.report.browsing import expect_good_looks
from tests.reviewgraph.report.reading_pages import Page, numbers, without_hashes
from tests.reviewgraph.report.test_check_report import SCRIPT, report, rows, write
from tests.trials import sampled

pytestmark = pytest.mark.usefixtures("infer_once")


PLANS = [
    "",
    "--spare 0",
    "--max-reviews 2",
    "--for decision --select 4 --max-reviews 3",
    "--for decision --select 4 --max-reviews 12 --rounds 3 --spare 1",
    "--target survives-reviewer --time-limit 0.2",
    "--min-reviews 3 --fixed fixed.csv",
    "--cost cost.csv --capacity capacity.csv --spare 2",
]


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    write("r.csv", rows(papers=16, reviewers=8))
    Path("cost.csv").write_text("item,reviewer,cost\nApart-Xw,Reviewer-1-Zq,3\n")
    Path("capacity.csv").write_text("reviewer,spare\nEmergency-Zq,9\n")
    Path("fixed.csv").write_text("item,reviewer\nApart-Xw,Reviewer-1-Zq\n")
    return folder


def plan(*options: str) -> tuple[str, str]:
    return report(*options, command="plan")


def cells(html: str) -> dict[str, list[Any]]:
    """Return the table of all reviews by column."""
    data = Page(html).data[0]
    return {column["name"]: cell for column, cell in zip(data["columns"], data["cells"], strict=True)}


def written() -> list[tuple[str, str]]:
    with Path("plan.csv").open(newline="") as file:
        return [(row["reviewer"], row["item"]) for row in csv.DictReader(file)]


every_plan = pytest.mark.parametrize("options", sampled(PLANS, [PLANS[0], PLANS[2], PLANS[3]]))


@pytest.mark.slow
@every_plan
def test_every_number_of_the_terminal_stands_in_the_report(options: str) -> None:
    html, printed = plan(*options.split())
    page = Page(html)
    assert numbers(printed) <= numbers(page.text)
    for tag, attributes in page.tags:
        assert tag != "svg" or all(name in page.ids for name in str(attributes["aria-labelledby"]).split())


@pytest.mark.slow
@every_plan
def test_anonymous_reports_hold_no_name(options: str) -> None:
    html, printed = plan("--anonymous", *options.split())
    assert not re.search("Zq|Xw|Yv|Uni|alert", without_hashes(html))
    labels = re.compile(r"(?:Label|Reviewer|Title)-?\d+(?=-Zq|-Xw)|Title \d+ Yv|(?:Title|Label-\d+-Xw).*?…")
    # The next command names files, and is left out of an anonymous report.
    said = printed.partition("\nNext  ")[0]
    assert numbers(labels.sub("", said)) <= numbers(Page(html).text)
    with Path("out.html.key.csv").open(newline="") as file:
        key = list(csv.DictReader(file))
    assert {row["kind"] for row in key} == {"reviewer", "paper"}
    assert len({row["code"] for row in key}) == len(key)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["double", "survives-reviewer", "connected"])
def test_a_plan_under_codes_has_the_words_that_it_had(target: str) -> None:
    table = Reviews([(row[0], row[1], float(row[2])) for row in rows(papers=16, reviewers=8)])
    for options in ({}, {"fixed": [("Reviewer-1-Zq", "Apart-Xw")], "min_reviews": 3}):
        found = planner.plan(table, target=target, search=Search(time_limit=0.2), **options)  # type: ignore[arg-type]
        codes = Codes(found.constraints.reviews.reviewers, found.constraints.reviews.items)
        again = codes.applied(found)
        names = {**codes.reviewer, **codes.item}
        label = re.compile("|".join(map(re.escape, sorted(map(str, names), key=len, reverse=True))))
        for before, after in zip(found.added, again.added, strict=True):
            assert (after.reviewer, after.item) == (names[before.reviewer], names[before.item])
            assert after.joins == label.sub(lambda match, to=names: to[match[0]], before.joins)  # type: ignore[misc]


def test_the_table_of_a_plan_holds_what_the_file_does() -> None:
    html, _ = plan("-o", "plan.csv")
    table = cells(html)
    assert list(zip(table["ask"], table["paper"], strict=True)) == written()
    assert table["largest group"][-1] == len({row[1] for row in rows(papers=16, reviewers=8)})


def test_who_is_asked_stands_there_with_loads_and_papers_those_for_most_first() -> None:
    html, printed = plan("--min-reviews", "4", "-o", "plan.csv")
    before = Counter(row[0] for row in rows(papers=16, reviewers=8))
    extra = Counter(reviewer for reviewer, _ in written())
    asked = (
        f"{len(extra)} reviewers, {len({paper for _, paper in written()})} papers, at most {max(extra.values())} each"
    )
    assert asked in printed
    assert asked in Page(html).text
    lines = re.findall(r'<th scope="row" class="text">([^<]*-Zq)</th>((?:<td class="\w+">[^<]*</td>)+)', html)
    shown = {who: re.findall(r">([^<]+)<", row) for who, row in lines}
    assert {who: [int(row[0]), int(row[2]), int(row[3])] for who, row in shown.items()} == {
        who: [number, before[who], before[who] + number] for who, number in extra.items()
    }
    assert {(who, paper) for who, row in shown.items() for paper in row[1].split(", ")} == set(written())
    numbers_asked = [int(row[0]) for row in shown.values()]
    assert numbers_asked == sorted(numbers_asked, reverse=True)


def test_the_map_links_the_groups_of_reviewers_to_those_of_their_papers() -> None:
    reviews = [(f"r{2 * g + j}", f"p{2 * g + i}", 1.0) for g in range(3) for j in range(2) for i in range(2)]
    table = Reviews([*reviews, ("r0", "p2", 1.0)])  # groups 0 and 1 share p2
    structure = structure_of(table)
    where = {name.split(": ")[1].split(",")[0]: place for place, name in enumerate(map_of(structure).names)}
    pairs = [("r4", "p0"), ("r2", "p5"), ("r5", "p2"), ("r4", "p5")]
    codes = np.array([(table.reviewers.index(j), table.items.index(i)) for j, i in pairs])
    drawn = map_of(structure, codes)
    shared = len(drawn.names) + list(drawn.papers).index("p2")
    assert drawn.extra.tolist() == [[where["r4"], where["r0"]], [where["r2"], where["r4"]], [where["r4"], shared]]


def test_a_title_that_is_a_script_stays_text() -> None:
    page = Page(plan()[0])
    assert [tag for tag, _ in page.tags].count("script") == 1 + len(page.data)
    assert any(SCRIPT in row[3] for row in rows(papers=16, reviewers=8))


def test_in_a_browser(browser: Any) -> None:
    plan()
    expect_good_looks(browser, Path("out.html").resolve())


def test_who_reviews_nothing_yet_is_a_group_from_the_first_review_on() -> None:
    pairs = [(f"r{2 * g + j}", f"p{2 * g + i}", 1.0) for g in range(2) for j in range(2) for i in range(2)]
    found = planner.plan(Reviews(pairs), spare=0, capacity={"new": 9})
    assert [review.groups for review in found.added] == [3, 2, 2, 1]


# Plans for decisions.


def test_the_report_for_decisions_has_no_level() -> None:
    html, _ = plan("--for", "decision", "--select", "4", "--max-reviews", "3", "-o", "plan.csv")
    assert "comparable for certain" not in html
    assert "What the reviews join" not in html
    # Every row has its own reason, not the numbers of a template.
    assert all(re.match(r"chance \d+ %$", words) for words in cells(html)["because"])


ROUND = ("--for", "decision", "--select", "4", "--max-reviews", "12", "--rounds", "3", "--spare", "1")


def test_the_report_of_a_round_shows_what_is_expected_asked_and_held_back() -> None:
    html, printed = plan(*ROUND)
    answer = json.loads(run("plan", "r.csv", *ROUND, "--json").stdout)["rounds"]
    after = answer["after"]
    text = Page(html).text
    page = " ".join(printed.split())
    first = f"{answer['held_back']} of 12 held back; expect {after[0]['wrong']:.2f} wrong of 4 selected, instead of "
    assert f"{first}{answer['before']:.2f}" in page
    assert f"{first}{answer['before']:.2f}" in text
    assert f"{answer['now']} reviews now" in text
    for place, expected in enumerate(after):
        numbers_of = f"{expected['reviews']:.0f} {expected['wrong']:.2f} {expected['error']:.2f}"
        row = f"round {1 + place} {numbers_of}"
        assert row in page
        assert row in text
    assert answer["held_back"] == min(12, answer["capacity"]) - answer["now"]


def test_loads_are_alike_only_if_those_of_all_invited_are(folder: Path) -> None:
    chain = "".join(f"r{k},p{k}\nr{k},p{k + 1}\n" for k in range(15))
    Path("r.csv").write_text(f"reviewer,paper\n{chain}zed,p0\n")
    Path("fixed.csv").write_text("reviewer,paper\nzed,p9\n")
    page = run("plan", "r.csv", "--fixed", "fixed.csv", "--verbose", "reviewers").stdout
    extra = re.findall(r"^(\w+) +1  p\d+ +(\d) +\d$", page, re.MULTILINE)
    assert len(extra) > 12
    assert ("zed", "1") in extra
    assert "All have" not in page


def test_no_more_reviews_are_advised_where_everybody_reviews_everything() -> None:
    table = Reviews([(who, paper, who + paper + 1.0) for who in range(2) for paper in range(2)])
    assert "everybody reviews everything" in " ".join(str(planner.plan(table)).split())

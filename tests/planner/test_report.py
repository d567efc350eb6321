from __future__ import annotations

import csv
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from planner import plan_extra_reviews
from planner.plan_report import coded_plan, growth
from reviewgraph import Reviews
from reviewgraph.cli import main
from reviewgraph.graph import structure_of
from reviewgraph.report import grouping_of
from tests.reviewgraph.report.browsing import expect_good_looks
from tests.reviewgraph.report.reading_pages import Page, numbers, without_hashes
from tests.reviewgraph.report.test_check_report import SCRIPT, rows, write
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


def plan(*options: str) -> tuple[str, str]:
    return report("plan", "r.csv", *options)


def assign(*options: str) -> tuple[str, str]:
    return report(
        "assign", "--items", "papers.csv", "--reviewers", "people.csv", "--affinity", "affinity.csv", *options
    )


RUNS = [*((plan, options) for options in PLANS), *((assign, options) for options in ASSIGNMENTS)]
NAMES = [f"{run.__name__} {' '.join(options)}" for run, options in RUNS]
#: Whose reports have between them all that reports have.
TELLING = [RUNS[place] for place in (0, 2, 3, 5, 7, 8, 11, 12, 13, 14)]
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
    for html, _ in (plan(), assign()):
        page = Page(html)
        assert [tag for tag, _ in page.tags].count("script") == 1 + len(page.data)


@pytest.mark.parametrize("run", [plan, assign], ids=["plan", "assign"])
def test_in_a_browser(run, browser: Any) -> None:
    run()
    expect_good_looks(browser, Path("out.html").resolve())


def test_who_reviews_nothing_yet_is_a_group_from_the_first_review_on() -> None:
    pairs = [(f"r{2 * g + j}", f"p{2 * g + i}", 1.0) for g in range(2) for j in range(2) for i in range(2)]
    found = plan_extra_reviews(Reviews.from_pairs(pairs), spare=0, capacity={"new": 9})
    assert growth(found)[1] == [2, 3, 2, 2, 1]


# Plans for decisions.


def facts_of(html: str) -> dict[str, tuple[str, str]]:
    found = re.findall(r"<dt>([^<]*)</dt><dd><strong>([^<]*)</strong>(?: <span>([^<]*)</span>)?", html)
    return {name: (value, note) for name, value, note in found}


def test_the_report_for_decisions_has_no_level_and_no_proof() -> None:
    html, _ = plan("--for", "decision", "--select", "4", "--max-reviews", "3", "-o", "plan.csv")
    facts = facts_of(html)
    assert "Level" not in facts
    assert facts["Extra reviews"] == ("3", "")
    assert facts["Expected with them"][1].startswith("wrong among those selected; ")
    assert "What the reviews join" not in html
    assert "gain: by how much a review lowers what is expected (wrong among those selected)" in html
    data = Page(html).data[-1]
    cells = {column["name"]: cell for column, cell in zip(data["columns"], data["cells"], strict=True)}
    # Every row has its own sentence, not the numbers of a template.
    assert all(re.match(r"is in with probability \d+ %: ", words) for words in cells["benefit"])
    assert "…" not in "".join(cells["benefit"])


ROUND = ("--for", "decision", "--select", "4", "--max-reviews", "12", "--rounds", "3", "--spare", "1")


def test_the_report_of_a_round_shows_what_is_expected_asked_and_held_back() -> None:
    html, printed = plan(*ROUND)
    answer = json.loads(CliRunner().invoke(main, ["plan", "r.csv", *ROUND, "--json"]).stdout)["rounds"]
    facts, after = facts_of(html), answer["after"]
    assert facts["Wrong now"] == (f"{answer['before']:.2f}", "expected, of 4 selected")
    for place in (0, -1):
        number = answer["number"] + (place % len(after))
        assert facts[f"Wrong after round {number}"][0] == f"{after[place]['wrong']:.2f}"
    assert facts["Reviews now"] == (str(answer["now"]), "of 12")
    assert facts["Held back"] == (str(answer["held_back"]), "")
    assert answer["held_back"] == min(12, answer["capacity"]) - answer["now"]
    lead = re.search(r'<p class="lead">([^<]*)</p>', html)
    assert lead
    assert f"With these reviews {after[0]['wrong']:.2f} wrong selections are expected" in lead[1]
    assert f"{answer['before']:.2f} wrong selections become {after[0]['wrong']:.2f}" in " ".join(printed.split())


def test_an_anonymous_round_names_nobody_who_is_late(folder: Path) -> None:
    first = CliRunner().invoke(main, ["plan", "r.csv", *ROUND, "--json"]).stdout
    (folder / "round1.json").write_text(first, "utf-8")
    who = json.loads(first)["reviews"][0]["reviewer"]
    (folder / "gone.csv").write_text(f"reviewer\n{who}\n", "utf-8")
    for gone in ((), ("--gone", "gone.csv")):
        html, printed = plan("--for", "decision", "--after", "round1.json", "--anonymous", *gone)
        assert "counted as still to come" in " ".join(printed.split())
        assert ("the budget has them back" in " ".join(printed.split())) is bool(gone)
        assert not re.search("Zq|Xw|Yv", without_hashes(html))

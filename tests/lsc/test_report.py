from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from tests.reviewgraph.report.browsing import expect_good_looks, opened
from tests.reviewgraph.report.reading_pages import Page, numbers, without_hashes
from tests.reviewgraph.report.test_check_report import SCRIPT, rows, write
from tests.trials import sampled

pytestmark = pytest.mark.usefixtures("infer_once")


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


#: What came of options that several tests ask for, of one table and without other files.
MADE: dict[tuple[bytes, tuple[str, ...]], tuple[str, str]] = {}


def report(*options: str, anew: bool = False) -> tuple[str, str]:
    key = Path("r.csv").read_bytes(), options
    if "-o" in options or anew or key not in MADE:
        MADE[key] = made(*options)
    html, _ = MADE[key]
    Path("out.html").write_text(html, encoding="utf-8", newline="")
    return MADE[key]


def made(*options: str) -> tuple[str, str]:
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
    ("--references", "known.csv"),
]
#: Whose reports have between them all that reports have.
TELLING = [OPTIONS[place] for place in (2, 4, 6, 7, 8, 9)]


@pytest.mark.slow
@pytest.mark.parametrize("options", sampled(OPTIONS, TELLING), ids=" ".join)
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    sampled([*OPTIONS, ("--select", "5", "--explain", "Label-1-Xw")], TELLING),
    ids=" ".join,
)
def test_anonymous_reports_hold_no_name(options: tuple[str, ...]) -> None:
    html, printed = report("--anonymous", *options)
    assert not re.search("Zq|Xw|Yv|alert", without_hashes(html))
    assert "Xw" in printed
    plain, _ = report(*options)
    assert numbers(" ".join(Page(html).printed)) >= {"quality"} & numbers(plain)


@pytest.mark.slow
def test_the_same_table_gives_the_same_report(infer_once: dict[bytes, object]) -> None:
    before, inferred = report("--select", "5"), dict(infer_once)
    infer_once.clear()
    assert report("--select", "5", anew=True) == before
    infer_once.update(inferred)


def test_in_a_browser(browser: Any) -> None:
    report("--select", "5")
    expect_good_looks(browser, Path("out.html").resolve())


def folds(html: str) -> dict[str, tuple[str, list[str]]]:
    """Return what opens in a report by its identifier: the line that sums it up, and the lines that open."""
    pattern = r'<details><summary>(.*?)</summary><ul id="(paper-\d+)">(.*?)</ul></details>'
    return {name: (summary, re.findall("<li>(.*?)</li>", lines)) for summary, name, lines in re.findall(pattern, html)}


def test_the_first_screen_holds_the_decision_before_what_the_correction_is_worth() -> None:
    html, printed = report("--select", "5", "--json")
    found = json.loads(printed)
    text = Page(html).text
    lists = f"{len(found['certain'])} papers? (?:is|are) in, {len(found['discuss'])} to discuss, "
    parts = (lists, "5 of .*? are to be selected. The line is at", "Corrected scores predict", "Next: ")
    places = [re.search(part, text) for part in parts]
    starts = [place.start() for place in places if place]
    assert len(starts) == len(places)
    assert starts == sorted(starts)
    assert "--for decision --select 5 --max-reviews" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", sampled([("--lower-is-better", "--select", "5"), ("--select", "5"), ()]), ids=" ".join
)
def test_every_paper_opens_to_scores_that_add_up_to_its_quality(options: tuple[str, ...]) -> None:
    html, printed = report(*options, "--json")
    every, found = folds(html), json.loads(printed)
    scored = [row for row in found["items"] if row["quality"] is not None]
    assert len(every) == len(scored)
    (middle,) = re.findall(r"Every paper starts at ([\d.]+)", html)
    given = Counter(row[1] for row in calibratable())
    for row in scored:
        ((_, lines),) = [entry for entry in every.values() if entry[0].startswith(f"{row['item']} ")]
        assert sum(" gave " in line for line in lines) == given[row["item"]]
        moves = sum(float(line.split(":")[0]) for line in lines)
        assert float(middle) + moves == pytest.approx(row["quality"], abs=0.005 * (len(lines) + 2))


def test_methods_without_accounts_open_papers_to_their_scores() -> None:
    html = report("--method", "average", "--select", "3")[0]
    assert "3 papers are in, 17 out" in html
    every = folds(html).values()
    who = {line.split(" gave ")[0] for _, lines in every for line in lines}
    assert who == {row[0] for row in calibratable()}


def test_all_papers_to_discuss_stand_in_a_table_nearest_to_the_line_first() -> None:
    html, printed = report("--select", "5", "--json")
    found = json.loads(printed)
    table = Page(html).data[0]
    shown = dict(zip((column["name"] for column in table["columns"]), table["cells"], strict=True))
    assert set(shown["paper"]) == {row["item"] for row in found["discuss"]}
    chance = sorted((row["probability"] for row in found["items"] if row["probability"] is not None), reverse=True)
    line = 50 * (chance[4] + chance[5])
    away = [abs(value - line) for value in shown["chance, %"]]
    assert all(one <= other + 0.11 for one, other in pairwise(away))
    assert set(table["links"]) <= set(folds(html))


def test_a_link_opens_the_paper_that_it_names(browser: Any) -> None:
    report("--select", "5")
    with opened(browser, Path("out.html").resolve()) as page:
        link = page.locator("#papers tbody th a").first
        name = link.inner_text()
        fold = page.locator(link.get_attribute("href"))
        assert not fold.is_visible()
        link.click()
        assert fold.is_visible()
        assert fold.evaluate("each => each.parentElement.firstElementChild.textContent").startswith(name)
        # On paper stand the papers that are open, and no others.
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator(".folded details > ul:visible").count() == 1


def test_papers_set_aside_stand_in_the_report_and_in_no_picture() -> None:
    write("r.csv", [*calibratable(), ["Alone-Zq", "Far-Xw", "9", ""]])
    html, printed = report("--select", "5")
    assert "Set aside, neither in nor out: 1 paper that no review connects" in Page(html).text
    assert "Next: reviewgraph plan r.csv --target connected" in printed
    assert "Far-Xw" not in "".join(re.findall("<svg.*?</svg>", html, re.S))
    (summary,) = [summary for summary, _ in folds(html).values() if summary.startswith("Far-Xw")]
    assert "among the best" not in summary

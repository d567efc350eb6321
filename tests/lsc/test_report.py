import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lsc.commands.calibrate import Outcome
from tests.pages import run
from tests.reviewgraph.report.browsing import opened
from tests.reviewgraph.report.reading_pages import Page, numbers, without_hashes
from tests.reviewgraph.report.test_check_report import SCRIPT, rows, write
from tests.trials import sampled

pytestmark = pytest.mark.usefixtures("infer_once")


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    write("r.csv", calibratable())
    known = {12: 2, 13: 3, 14: 5, 15: 5.5, 16: 1, 17: 2}  # rise with the scores
    Path("known.csv").write_text("item,quality\n" + "".join(f"Label-{i}-Xw,{value}\n" for i, value in known.items()))
    return folder


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


def report(*options: str) -> tuple[str, str]:
    key = Path("r.csv").read_bytes(), options
    if "-o" in options or key not in MADE:
        MADE[key] = made(*options)
    html, _ = MADE[key]
    Path("out.html").write_text(html, encoding="utf-8", newline="")
    return MADE[key]


def made(*options: str) -> tuple[str, str]:
    result = run("calibrate", "r.csv", "--html", "out.html", *options)
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
    ("--hypothesis", "offset"),
    ("--references", "known.csv"),
]
#: Whose reports have between them all that reports have.
TELLING = [OPTIONS[place] for place in (2, 4, 6, 7, 8, 9)]


@pytest.mark.slow
@pytest.mark.parametrize("options", sampled(OPTIONS, TELLING), ids=" ".join)
def test_every_number_of_the_terminal_stands_in_the_report(options: tuple[str, ...]) -> None:
    html, printed = report(*options)
    page = Page(html)
    assert numbers(printed) <= numbers(page.text)
    pictures = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert pictures
    assert all(attributes["role"] == "img" for attributes in pictures)


def test_the_table_of_papers_holds_what_the_file_does() -> None:
    html, _ = report("--select", "5", "-o", "papers.csv")
    papers, reviewers = Page(html).data
    lines = Path("papers.csv").read_text().splitlines()
    header, first = lines[0].split(","), dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
    assert "interval_low" in header
    row = papers["cells"][0].index(first["item"])
    shown = {column["name"]: cells[row] for column, cells in zip(papers["columns"], papers["cells"], strict=True)}
    of_file = {"quality": "quality", "90 % from": "interval_low", "to": "interval_high", "rank": "rank"}
    for name, column in of_file.items():
        assert shown[name] == pytest.approx(float(first[column]), abs=0.0051)
    (averages,) = [
        cells for column, cells in zip(papers["columns"], papers["cells"], strict=True) if column["name"] == "average"
    ]
    best = int(shown["its rank"])
    places = range(best, best + averages.count(shown["average"]))
    assert shown["gained"] == min((place - shown["rank"] for place in places), key=abs)
    assert set(reviewers["cells"][0]) == {row[0] for row in calibratable()}


def test_a_title_that_is_a_script_stays_text() -> None:
    page = Page(report("--select", "5")[0])
    kinds = [tag for tag, _ in page.tags]
    assert kinds.count("script") == 1 + len(page.data)
    assert "img" not in kinds
    assert SCRIPT in page.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", sampled([*OPTIONS, ("--select", "5", "--explain", "Label-1-Xw")], TELLING), ids=" ".join
)
def test_anonymous_reports_hold_no_name(options: tuple[str, ...]) -> None:
    html, printed = report("--anonymous", *options)
    assert not re.search("Zq|Xw|Yv|alert", without_hashes(html))
    assert "Xw" in printed


def folds(html: str) -> dict[str, tuple[str, list[str]]]:
    """Return what opens in a report by its identifier: the line that sums it up, and the lines that open."""
    pattern = r'<details><summary>(.*?)</summary><ul id="(paper-\d+)">(.*?)</ul></details>'
    return {name: (summary, re.findall("<li>(.*?)</li>", lines)) for summary, name, lines in re.findall(pattern, html)}


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


def test_a_link_opens_the_paper_that_it_names(browser: Any) -> None:
    report("--select", "5")
    with opened(browser, Path("out.html").resolve()) as page:
        page.locator("#papers > summary").click()
        link = page.locator("#papers-table tbody th a").first
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


def test_reports_of_wrong_answers_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    true = Outcome.to_dict

    def forged(self: Outcome) -> dict[str, Any]:
        answer = true(self)
        rows = answer["items"]
        rows[0]["average"] += 0.5
        return answer

    html, _ = report("--select", "5")
    assert "claims hold by independent code" in html
    monkeypatch.setattr(Outcome, "to_dict", forged)
    html, _ = made("--select", "5")
    assert "<dt>Checked</dt><dd>REFUTED by independent code: Label-" in html

"""Sheets for authors: what they say, whom they do not name, and how they are written."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lsc.posteriors import posterior
from reviewgraph import Reviews
from reviewgraph._base import page
from reviewgraph.cli import main
from tests.lsc.test_report import calibratable
from tests.reviewgraph.report.browsing import opened
from tests.reviewgraph.report.reading_pages import Page, numbers
from tests.reviewgraph.report.test_check_report import SCRIPT, write

pytestmark = pytest.mark.usefixtures("infer_once")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("r.csv", calibratable())
    return tmp_path


def run(*options: str) -> Result:
    return CliRunner().invoke(main, ["calibrate", "r.csv", *options], catch_exceptions=False)


def index(folder: str) -> dict[str, str]:
    with Path(folder, "index.csv").open(encoding="utf-8", newline="") as file:
        return {row["item"]: row["file"] for row in csv.DictReader(file)}


@pytest.mark.parametrize("direction", [(), ("--lower-is-better",)], ids=" ".join)
def test_a_sheet_says_what_the_terminal_does_and_names_nobody(direction: tuple[str, ...]) -> None:
    done = run("--explain", "Label-3-Xw", "--sheet", "out", *direction)
    assert done.exit_code == 0, done.output
    assert index("out") == {"Label-3-Xw": "Label-3-Xw.html"}
    page = Page(Path("out/Label-3-Xw.html").read_text(encoding="utf-8"))
    table = [line for line in done.stdout.splitlines() if re.match("  (source|the overall|Reviewer|sum)", line)]
    assert numbers(" ".join(table)) <= numbers(page.text)
    assert "Zq" not in done.stdout + page.text
    assert set(re.findall(r"Label-\d+-Xw", page.text)) == {"Label-3-Xw"}
    assert SCRIPT in page.text
    assert [tag for tag, _ in page.tags].count("script") == 0
    assert ("lower is better" in page.text) == bool(direction)


def test_every_paper_with_a_score_has_a_sheet_without_names_of_people_or_of_other_papers() -> None:
    write("r.csv", [*calibratable(), ["Reviewer-1-Zq", "Unread-Xw", "", "Not yet"]])
    done = run("--sheet", "out")
    listed, table = index("out"), calibratable()
    assert set(listed) == {row[1] for row in table}
    assert f"out: {len(listed)} sheets for authors; index.csv lists them by paper" in done.stdout
    assert {path.name for path in Path("out").iterdir()} == {"index.csv", *listed.values()}
    for label, name in listed.items():
        text = Path("out", name).read_text(encoding="utf-8")
        assert "Zq" not in text
        assert set(re.findall(r"(?:Label-\d+|Apart)-Xw", text)) == {label}


def test_the_order_of_reviewers_tells_nothing_but_scores() -> None:
    rows = [(f"r{j}", f"p{i}", 1.0 + (i * (j + 1) + j) % 7) for j in range(6) for i in range(8)]
    names = {f"r{j}": f"x{(j * 5) % 6}" for j in range(6)}
    told, renamed = (
        posterior(Reviews(table)).account("p3").anonymous()
        for table in (rows, [(names[who], paper, score) for who, paper, score in rows])
    )
    scores = [part.score for part in told.parts if part.source == "review"]
    assert scores == sorted(scores, reverse=True)
    assert [(part.reviewer, part.score) for part in told.parts] == [
        (part.reviewer, part.score) for part in renamed.parts
    ]
    assert [part.moves for part in told.parts] == pytest.approx([part.moves for part in renamed.parts], abs=1e-6)
    assert told.total == pytest.approx(told.quality)


def test_labels_that_are_no_file_names() -> None:
    awkward = ["../up", "a/b", "a\\b", ".hidden", "con", "P", "p", "\x1b[2J", "x" * 300, "\u202egnp", "\u7532"]
    table = [[f"r{j}", paper, str(1 + (j * 3 + i) % 9), ""] for i, paper in enumerate(awkward) for j in range(3)]
    write("r.csv", table)
    done = run("--sheet", "out", "--merge", "none")
    assert done.exit_code == 0, done.output
    names = list(index("out").values())
    assert len({name.casefold() for name in names}) == len(awkward)
    assert {path.name for path in Path("out").iterdir()} == {"index.csv", *names}
    assert {path.name for path in Path().iterdir()} == {"r.csv", "out"}
    assert all(re.fullmatch(r"[\w-][\w.-]*\.html", name) for name in names)


@pytest.mark.parametrize(
    ("path", "why"), [("r.csv", "it is a file"), ("no/where", "there is no folder"), (".", "it contains files")]
)
def test_a_folder_that_cannot_be_written_is_refused_before_the_work(path: str, why: str) -> None:
    done = run("--sheet", path)
    assert done.exit_code == 2
    assert why in done.stderr
    assert not done.stdout


def test_nothing_is_written_where_one_sheet_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    html, seen = page.Page.html, []

    def failing(sheet: page.Page) -> str:
        seen.append(sheet)
        if len(seen) == 5:
            raise OSError(28, "No space left on device")
        return html(sheet)

    monkeypatch.setattr(page.Page, "html", failing)
    done = run("--sheet", "out")
    assert done.exit_code == 2
    assert "out: cannot be written (No space left on device)" in done.stderr
    assert {path.name for path in Path().iterdir()} == {"r.csv"}


def test_a_sheet_fits_a_phone_and_a_page_of_paper(browser: Any) -> None:
    write(
        "r.csv",
        [[f"r{(i + j * j) % 9}", f"p{i}", str(1 + (j * 3 + i) % 9), SCRIPT] for i in range(12) for j in range(3)],
    )
    run("--explain", "p3", "--sheet", "out")
    with opened(browser, Path("out/p3.html").resolve()) as page:
        page.set_viewport_size({"width": 400, "height": 900})
        wide = "all => all.filter(each => each.scrollWidth > each.clientWidth).length"
        assert page.locator(".scroll").evaluate_all(wide) == 0
        printed = page.pdf(format="A4")
    assert len(re.findall(rb"/Type /Page\b", printed)) == 1


def test_pages_say_what_grades_count_as() -> None:
    grades = ["excellent", "good", "fair", "poor"]
    rows = [(f"r{j}", f"p{i}", grades[(i + j * i) % 4]) for i in range(8) for j in range(4)]
    Path("grades.csv").write_text("reviewer,item,score\n" + "".join(f"{','.join(row)}\n" for row in rows))
    words = ["calibrate", "grades.csv", "--scale", ">".join(grades), "--sheet", "sheets"]
    shown = " ".join(CliRunner().invoke(main, words, catch_exceptions=False).stdout.split())
    told = "higher is better; excellent counts as 4, poor as 1"
    assert f"({told})" in shown
    assert told in Path("sheets", index("sheets")["p3"]).read_text("utf-8")

"""Reports under codes: no label, title, institution or author of any file stands in them, nor files and columns."""

import csv
import random
import re
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from tests.reviewgraph.report.reading_pages import Page
from tests.trials import sampled

pytestmark = pytest.mark.usefixtures("infer_once")


DRAW = random.Random(14)


def _words(letter: str, count: int) -> list[str]:
    """Return words that stand in no report by chance."""
    return [f"{letter}{''.join(DRAW.choices('bcdfghjkmpqvwxz', k=9))}" for _ in range(count)]


PEOPLE, PAPERS, TITLES, HOMES = _words("q", 12), _words("x", 16), _words("z", 16), _words("j", 4)
#: Emergency reviewers, and authors who review nothing.
NEW, AUTHORS = _words("k", 2), _words("v", 5)
#: The folder of the files, columns of further scores, and one that describes papers.
FOLDER, *CRITERIA, TRACK = _words("y", 4)
EVERYTHING = [*PEOPLE, *PAPERS, *TITLES, *HOMES, *NEW, *AUTHORS, FOLDER, *CRITERIA, TRACK]


def table(name: str, header: str, rows: list[tuple[object, ...]]) -> None:
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows([header.split(","), *rows])


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    Path(FOLDER).symlink_to(folder, target_is_directory=True)
    draw = random.Random(3)
    titled = dict(zip(PAPERS, TITLES, strict=True))
    # A piece of its own (the last paper), a reviewer of one paper, and groups that are linked to some extent.
    pairs = [(who, paper) for who in PEOPLE[:-2] for paper in draw.sample(PAPERS[:-1], 3)]
    pairs += [(PEOPLE[-2], PAPERS[-1]), (PEOPLE[-1], PAPERS[0])]
    rows = [(who, paper, draw.randint(1, 9), titled[paper]) for who, paper in pairs]
    table("reviews.csv", "reviewer,paper,score,title", rows)
    table("joined.csv", f"reviewer,paper,score,title,{' impact,'.join(CRITERIA)} impact", _joined(draw))
    table("items.csv", f"item,title,{TRACK}", [(*row, HOMES[n % 2]) for n, row in enumerate(titled.items())])
    people = [(who, HOMES[place % 4], "yes" if place < 2 else "no") for place, who in enumerate(PEOPLE)]
    table("people.csv", "reviewer,institution,senior", people)
    table("willing.csv", "reviewer,willing", [(who, senior) for who, _, senior in people])
    table("conflicts.csv", "reviewer,item", pairs[:4])
    table("nobody.csv", "reviewer,item", [(who, PAPERS[-1]) for who in PEOPLE])
    table("nobody2.csv", "reviewer,item", list(product(PEOPLE, PAPERS[2:5])))
    table("gone.csv", "reviewer", [(PEOPLE[3],)])
    table("none.csv", "reviewer,spare", [(who, 0) for who in PEOPLE])
    table("one.csv", "reviewer,spare", [(PEOPLE[0], 1)])
    table("new.csv", "reviewer,spare", [(who, 20) for who in NEW])
    table("fixed.csv", "item,reviewer", [(PAPERS[0], PEOPLE[1]), (PAPERS[1], PEOPLE[1])])
    table("alike.csv", "item,reviewer", [(PAPERS[0], who) for who in (PEOPLE[0], PEOPLE[4])])
    table("missing.csv", "reviewer,probability", [(PEOPLE[0], 0.5), (PEOPLE[-1], 0.2)])
    table("cost.csv", "item,reviewer,cost", [(PAPERS[-1], PEOPLE[0], 3)])
    table(
        "affinity.csv", "item,reviewer,affinity", [(i, j, round(draw.random(), 3)) for i, j in product(PAPERS, PEOPLE)]
    )
    table("before.csv", "item,reviewer", [(paper, PEOPLE[place % 5]) for place, paper in enumerate(PAPERS)])
    table("authors.csv", "item,author", [(paper, (AUTHORS + PEOPLE[:3])[n % 8]) for n, paper in enumerate(PAPERS)])
    table("known.csv", "item,quality", [(paper, place) for place, paper in enumerate(PAPERS[:6])])
    table("weights.csv", "item,reviewer,weight", [(row[1], row[0], 0.5) for row in _joined(random.Random(3))[:5]])
    return folder


def _joined(draw: random.Random) -> list[tuple[object, ...]]:
    """A table in one piece, with scores that differ by who gives them."""
    titled = dict(zip(PAPERS, TITLES, strict=True))
    pairs = [(place, paper) for place in range(len(PEOPLE)) for paper in draw.sample(range(len(PAPERS)), 5)]
    further = random.Random(5)
    rows = [(PEOPLE[j], PAPERS[i], 2 + i % 5 + j % 3 + draw.randint(0, 1), titled[PAPERS[i]]) for j, i in pairs]
    return [(*row, further.randint(1, 5), row[2] + further.randint(0, 2)) for row in rows]


CHECKS = [
    "",
    "--items items.csv --fragile --missing missing.csv",
    "--gone gone.csv --conflicts conflicts.csv --reviewers people.csv --load 2 --demand 4 --items items.csv",
    "--require double --select 3 --like joined.csv",
]
PLANS = [
    "",
    "--spare 0",
    "--capacity none.csv --spare 0",
    "--capacity one.csv --spare 0",
    "--capacity one.csv --spare 0 --min-reviews 4",
    "--capacity new.csv --spare 0",
    "--conflicts nobody.csv --capacity one.csv",
    "--items items.csv --conflicts nobody2.csv --min-reviews 9",
    "--target connected --capacity one.csv --spare 0",
    "--fixed fixed.csv --spare 1",
    "--fixed fixed.csv --spare 2 --reviewers people.csv --at-most institution=1 --at-least senior=1 --min-reviews 3",
    "--reviewers people.csv --at-least senior=1 --spare 1 --min-reviews 3",
    "--max-reviews 1",
    "--target survives-review --time-limit 0.1",
    "--affinity affinity.csv --min-affinity 0.2 --willing willing.csv",
    "--cost cost.csv --gone gone.csv",
    "--for decision --select 3 --max-reviews 3",
]
#: Takes seconds; every day its floor alone stands in a report.
FAIREST = "--target none --fair maximin --floor 0.4 --demand 2"
ASSIGNMENTS = [
    "",
    "--load 1",
    "--load 6 --min-load 6",
    "--demand 13",
    "--demand 1 --load 2",
    "--target none --at-most institution=1 --at-least senior=1",
    "--target none --at-least senior=2 --load 4",
    "--target none --at-most institution=1 --demand 5 --load 9",
    "--target none --at-most institution=1 --fixed alike.csv",
    "--target none --authors authors.csv --demand 4 --load 8",
    "--conflicts nobody2.csv",
    "--fixed fixed.csv --conflicts conflicts.csv",
    "--previous before.csv",
    FAIREST,
    "--target none --floor 2.9 --demand 3",
    "--target none --alternates 3 --at-most institution=2 --load 4",
    "--target survives-reviewer --demand 1 --load 9",
    "--phase-one reviews.csv --demand 1",
    "--target none --max-probability 0.5",
    "--target none --max-probability 0.1",
]
CALIBRATIONS = [
    "",
    "--select 3",
    f"--explain {PAPERS[2]} --explain {PAPERS[3]} --select 3 --lottery",
    "--method average --select 3",
    "--method lsc --hypothesis offset",
    "--method lsc --references known.csv",
    "--references known.csv --weights weights.csv",
    "--items items.csv -o out.csv",
]
ASSIGN = "assign --items items.csv --reviewers people.csv --affinity affinity.csv"
RUNS = [
    *(f"check reviews.csv {options}" for options in CHECKS),
    *(f"plan reviews.csv {options}" for options in PLANS),
    *(f"{ASSIGN} {options}" for options in ASSIGNMENTS),
    *(f"calibrate joined.csv {options}" for options in CALIBRATIONS),
    "calibrate reviews.csv",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", sampled(RUNS, {*RUNS} - {f"{ASSIGN} {FAIREST}"}), ids=lambda words: re.sub("x[a-z]{9}", "PAPER", words)
)
def test_no_name_stands_in_a_report_under_codes(words: str) -> None:
    words = re.sub(r"\b(?=\w+\.csv)", f"{FOLDER}/", words)
    done = CliRunner().invoke(main, [*words.split(), "--html", "r.html", "--anonymous"], catch_exceptions=False)
    assert done.exit_code in (0, 1), done.output
    html = Path("r.html").read_text(encoding="utf-8").lower()
    assert [word for word in EVERYTHING if word in html] == []
    assert re.findall(r"\w+\.csv", html) == []
    if re.match(r"calibrate \w+/joined\.csv", words) and "--method" not in words:
        assert "criterion 1" in html
    key = Path("r.html.key.csv").read_text(encoding="utf-8")
    assert sum(word in key for word in EVERYTHING) > 20


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            "plan reviews.csv --capacity one.csv --spare 0 --min-reviews 4",
            r"papers P\d+, P\d+, P\d+.* need \d+ more reviews in all",
        ),
        ("plan reviews.csv --conflicts nobody.csv --capacity one.csv", r"may read paper P\d+, which is outside"),
        (f"{ASSIGN} --load 1", r"16 papers \(P\d+, P\d+, P\d+, ...\) need 3 reviews each"),
    ],
)
def test_why_there_is_none_is_said_under_codes(words: str, reason: str) -> None:
    done = CliRunner().invoke(main, [*words.split(), "--html", "r.html", "--anonymous"], catch_exceptions=False)
    assert done.exit_code == 1
    page = Page(Path("r.html").read_text(encoding="utf-8"))
    assert re.search(reason, page.text)
    with Path("r.html.key.csv").open(newline="") as file:
        label = {row["code"]: row["label"] for row in csv.DictReader(file)}
    told = re.sub(r"\b[RP]\d+\b", lambda found: label[found[0]], page.text)
    # What the terminal says, but for the order of names, which is that of the codes, and what names files.
    said = re.split(r"\n(?=! |Written  |Next  )", done.stdout)[0]
    assert set(re.findall(r"\w+", said.casefold())) <= set(re.findall(r"\w+", told.casefold()))

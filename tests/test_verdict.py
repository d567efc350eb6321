"""Every line that docs/how-to/read-the-verdict.md explains is on a page, or among the words that pages are made of."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from reviewgraph.cli import main

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "how-to" / "read-the-verdict.md").read_text("utf-8")
LINES = [line for row in re.findall(r"^\| (`.*?) \| ", PAGE, re.M) for line in re.findall("`([^`]+)`", row)]

APART = "reviewer,paper,score\nann,p1,1\nann,p2,2\nbob,p3,1\nbob,p4,2\n"
LINE = "reviewer,paper,score\nann,p1,1\nann,p2,2\nbob,p2,1\nbob,p3,2\n"
LATE = "reviewer,paper,score\nann,p1,1\nann,p2,\nann,p3,2\nbob,p2,1\nbob,p3,\nbob,p4,\nbob,p5,\nann,p5,\n"
BARRED = "reviewer,paper\nann,p1\nann,p3\n"
PAPERS = "paper\n" + "".join(f"p{number}\n" for number in range(1, 9))
ALIKE = "reviewer,paper,score\n" + "".join(
    f"r{who},p{paper},{score}\n"
    for who in range(20)
    for paper, score in enumerate(np.random.default_rng(3).permuted(np.arange(1, 6)).tolist())
)


def habits() -> str:
    """Twelve who score all papers: one far apart, one close together, one erratic, one steady."""
    rng = np.random.default_rng(7)
    quality, rows = rng.normal(size=30), ["reviewer,paper,score"]
    for who, (stretch, noise) in enumerate([(3.0, 0.5), (0.2, 0.5), (1.0, 2.5), (1.0, 0.05), *[(1.0, 0.5)] * 8]):
        given = 5 + stretch * quality + noise * rng.normal(size=30)
        rows += [f"r{who},p{paper},{score:.1f}" for paper, score in enumerate(given.tolist())]
    return "\n".join(rows)


def reversed_one() -> str:
    """Twelve who score 30 papers, one of them upside down, and one whose paper no other has."""
    rng = np.random.default_rng(8)
    quality, rows = rng.normal(size=30), ["reviewer,paper,score", "alone,apart,5"]
    for who in range(12):
        given = 5 + (-1 if who == 3 else 1) * quality + 0.7 * rng.normal(size=30)
        rows += [f"r{who},p{paper},{score:.1f}" for paper, score in enumerate(given.tolist())]
    return "\n".join(rows)


def harsh() -> str:
    """Forty who score twelve of 60 papers, harsh and lenient."""
    rng = np.random.default_rng(9)
    quality, rows = rng.normal(size=60), ["reviewer,paper,score"]
    for who, severity in enumerate(rng.normal(0, 2, 40).tolist()):
        papers = rng.choice(60, 12, replace=False)
        given = quality[papers] - severity + 0.3 * rng.normal(size=12)
        rows += [f"r{who},p{paper},{score:.1f}" for paper, score in zip(papers.tolist(), given.tolist(), strict=True)]
    return "\n".join(rows)


#: What makes pages.
MAKERS = [
    *(DOCS.parent / "lsc" / "pages").glob("*.py"),
    *(
        DOCS.parent / place
        for place in ("planner/_plans/page.py", "planner/_assign/page.py", "planner/_plans/arrivals.py")
    ),
    *(DOCS.parent / "reviewgraph" / place for place in ("report/check.py", "cli/check.py", "report/text.py")),
    DOCS.parent / "planner" / "commands" / "options.py",
    DOCS.parent / "planner" / "_assign" / "findings.py",
    DOCS.parent / "planner/rules.py",
]
COMMANDS = (
    "check apart.csv",
    "check line.csv",
    "check planned.csv --items papers.csv",
    "check late.csv --items papers.csv --demand 3 --load 2 --conflicts barred.csv",
    "calibrate apart.csv --select 1",
    "calibrate alike.csv",
    "calibrate habits.csv",
    "calibrate harsh.csv",
    "calibrate reversed.csv --select 10%",
    "calibrate constant.csv",
    "calibrate habits.csv --references said.csv",
    "calibrate habits.csv --references unsaid.csv",
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the tutorials show, and pages of small tables."""
    folder = tmp_path_factory.mktemp("pages")
    tables = {"apart.csv": APART, "line.csv": LINE, "alike.csv": ALIKE, "habits.csv": habits()}
    # Two who give one score only, to a paper that nobody else has.
    same = [f"c{who},{paper},5" for who in range(2) for paper in ("lone", "p1", "p2", "p3")]
    tables["constant.csv"] = "\n".join([harsh(), *same])
    tables |= {"reversed.csv": reversed_one(), "harsh.csv": harsh()}
    # References that the scores predict, and the same in another order.
    quality = np.random.default_rng(7).normal(size=30)
    for name, values in (("said.csv", quality), ("unsaid.csv", np.roll(quality, 7))):
        known = [f"p{paper},{value:.2f}" for paper, value in enumerate(values[:15].tolist())]
        tables[name] = "\n".join(["paper,quality", *known])
    tables |= {
        "late.csv": LATE,
        "planned.csv": "reviewer,paper\nann,p1\nann,p2\n",
        "barred.csv": BARRED,
        "papers.csv": PAPERS,
    }
    for name, text in tables.items():
        (folder / name).write_text(text, "utf-8")
    told = [path.read_text("utf-8") for path in (DOCS / "tutorial").glob("*.md")]
    for command in COMMANDS:
        words = [str(folder / word) if word.endswith(".csv") else word for word in shlex.split(command)]
        told.append(CliRunner().invoke(main, words).output)
    return " ".join(" ".join(told).split())


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in LINES if not line.startswith(("--", "Name "))])
def test_a_line_that_is_explained_is_on_a_page(line: str, pages: str) -> None:
    words = " ".join([pages, *(" ".join(path.read_text("utf-8").split()) for path in MAKERS)]).lower()
    # Numbers, and what stands for numbers and names, differ.
    parts = re.split(r"\b[NMKABn]\b|\bP?[0-9]+\b|[.]{3}|[():;,%+]|because: |! ", line)
    missing = [word for part in parts for word in part.lower().split() if word not in words]
    assert not missing, line

"""The recipes of CONTRIBUTING.md, followed to the letter: every command knows what they add to a copy of the packages.

To the recipes come classes that need more: a conference system that is written, a level that is
stronger than ``double``, a hypothesis class that is simulated, a method with probabilities.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import lsc
from lsc._model.hypotheses import HYPOTHESES
from reviewgraph import Reviews, check
from reviewgraph.graph import level_named
from reviewgraph.graph.levels import ALL

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
RECIPES = dict(re.findall(r"^### Add an? ([^\n]+)\n(.*?)(?=^##|\Z)", PAGE, re.M | re.S))

#: Code for the end of files, beside that of the recipes.
FURTHER = {
    "reviewgraph/formats/systems/panel.py": '''
    """A panel that gives notes to works, and takes duties and prizes."""

    import re

    from reviewgraph.formats.systems.system import Accepted, Export, Rule, System, Use

    PAIR = {"item": ("Work",), "reviewer": ("Judge",)}


    class Panel(System):
        """Judges give notes to works."""

        name = "panel"
        title = "the panel"
        exports = (
            Export(
                "the panel's notes",
                (Use("reviews", {**PAIR, "score": ("Note",)}, rules=(Rule("Void", lambda cell: cell != "yes"),)),),
                ("work", "judge", "note"),
            ),
            Export("the panel's judges", (Use("reviewers", {"reviewer": ("Judge",), "load": ("Most",)}),),
                   ("judge", "most")),
            Export("the panel's works", (Use("papers", {"item": ("Work",)}),), ("work", "hall")),
            Export("the panel's objections", (Use("conflicts", PAIR),), ("work", "judge", "objection")),
            Export("the panel's duties", (Use("assignments", PAIR),), ("work", "judge", "duty")),
        )
        words = "the panel's duties"
        suffix = ".duties"
        options = ("label",)
        items = Accepted(re.compile("w[0-9]").fullmatch, "works", "name works by their numbers")
        advice = {"conflicts": "The panel forgets objections: add --conflicts.", "gone": "The panel sleeps at night."}
        results = "a list of prizes"

        def write(self, outgoing):
            self.expect_taken(outgoing)
            duty = outgoing.label or "review"
            rows = [f"{work},{judge},{duty}" for judge, work in outgoing.pairs]
            return chr(10).join(["Work,Judge,Duty", *rows, ""])

        def write_results(self, columns):
            pairs = zip(columns["item"], columns["quality"], strict=True)
            return "".join(f"{work} wins {quality:.1f}{chr(10)}" for work, quality in pairs)
    ''',
    "reviewgraph/formats/systems/known.py": """
    from reviewgraph.formats.systems.panel import Panel

    SYSTEMS["panel"] = Panel()
    """,
    "reviewgraph/graph/levels.py": '''
    class Twice(Level):
        """Doubly connected, and every paper has two reviews: stronger than double, weaker than survives-review."""

        name = "twice"
        term = "doubly connected and read twice"
        words = "comparable for certain, and read twice"
        shared = 2

        def holds(self, structure):
            return structure.recovery_resilient and bool((structure.reviews.reviews_per_item > 1).all())

        def verdict(self, papers, groups, missing):
            return f"{papers} {self.words}."

        @staticmethod
        def verifier(table):
            return min(table.reviews_of().values(), default=2) > 1 and level_named("double").part("verifier")(table)


    ALL.insert(ALL.index(level_named("double")), Twice())
    ''',
    "lsc/_model/hypotheses.py": '''
    class TwoFold(Hypothesis):
        """Score = 2 * quality + offset."""

        name = "twofold"
        words = "twice the quality plus an offset"
        shape = Shape.LINEAR
        level = level_named("connected")

        @property
        def bounds(self):
            return 0.5, 0.5

        @classmethod
        def up_to(cls, max_slope):
            return cls()

        @staticmethod
        def draw_scores(reviewer, perceived, rng):
            return 2.0 * perceived + rng.normal(size=1 + reviewer.max(initial=-1))[reviewer]


    HYPOTHESES["twofold"] = TwoFold
    ''',
    "lsc/methods.py": """
    from dataclasses import replace

    METHODS["again"] = replace(METHODS["posterior"], name="again", title="Again")
    """,
}


def tables() -> dict[str, str]:
    """Return files for the commands: small tables, what goes beside them, and 12 papers by 8 reviewers."""
    rng = np.random.default_rng(5)
    truth = rng.normal(5, 1.5, 12)
    severity = rng.normal(0, 1, 8)
    pairs = [(j, i) for j in range(8) for i in sorted(rng.choice(12, 6, replace=False).tolist())]
    scores = [f"r{j},p{i},{truth[i] + severity[j] + 0.3 * rng.normal():.2f}" for j, i in pairs]
    affinities = [f"{who},{what},{rng.random():.3f}" for who in ("ann", "bob", "cleo", "dora") for what in "pqrs"]
    notes = zip("aabbccdd", "12123434", "35472638", strict=True)
    alone = ["ann,p,1", "ann,q,2", "bob,p,3", "bob,q,1", "cleo,p,2", "cleo,q,3"]
    rows = {
        "double.csv": ("reviewer,item,score", [*alone, "bob,r,2"]),
        "apart.csv": ("reviewer,item", ["ann,p", "ann,q", "bob,r", "bob,s"]),
        "items.csv": ("item", list("pqrst")),
        "papers.csv": ("item", list("pqrs")),
        "people.csv": ("reviewer", ["ann", "bob", "cleo", "dora"]),
        "affinity.csv": ("reviewer,item,affinity", affinities),
        "scores.csv": ("reviewer,item,score", scores),
        "truth.csv": ("item,truth", [f"p{i},{quality:.3f}" for i, quality in enumerate(truth)]),
        "references.csv": ("item,quality", ["p0,5", "p1,4", "p2,3"]),
        "notes.csv": ("Work,Judge,Note,Void", [*(f"w{w},{who},{note}," for who, w, note in notes), "w1,d,9,yes"]),
        "works.csv": ("Work,Hall", [f"w{work},A" for work in range(1, 5)]),
        "judges.csv": ("Judge,Most", [f"{who},3" for who in "abcd"]),
        "objections.csv": ("Work,Judge,Objection", ["w3,a,cousin"]),
    }
    return {name: "\n".join([header, *lines, ""]) for name, (header, lines) in rows.items()}


MARKET = "--items papers.csv --reviewers people.csv --affinity affinity.csv --demand 2 --load 3"
WORKS = "--items works.csv --conflicts objections.csv"
#: Commands, the exit status if it is not 0, and what is printed; ``>`` keeps stdout in a file.
COMMANDS = """
check notes.csv --items works.csv --json > check.json
verify check.json notes.csv --items works.csv | 4: NOT REFUTED
check works.csv --format panel | 2: this is the panel's works
check notes.csv --format conftool | 2: panel
plan notes.csv WORKS --to panel -o duties.duties --label duty | The panel sleeps at night.
check notes.csv duties.duties --require double
plan notes.csv -o more.duties | add --conflicts
plan double.csv --spare 2 --target survives-review --to panel -o out.duties | 2: expected works
assign WORKS --reviewers judges.csv --demand 2 --to panel -o assigned.duties
check assigned.duties --require double
calibrate notes.csv --items works.csv --method average --to panel -o prizes.txt
plan --help-all | |panel]
calibrate --help-all | a list of prizes.

check double.csv --fragile --missing 0.2 --html report.html | read twice
check double.csv --require reviewed | reviewed: reached
check double.csv --require twice | 1: LEVEL MISSED: twice
check apart.csv --items items.csv --require reviewed | 1: LEVEL MISSED
check double.csv --fragile --json > check.json
verify check.json double.csv --fragile | HOLDS
plan double.csv --target twice | 2: expected a level that plans are made for
assign MARKET --target twice --json > assignment.json
verify assignment.json MARKET --target twice | 4: that none at the level
assign MARKET --target reviewed -o assigned.csv --html report.html | reviewed by somebody
assign MARKET --target twice --max-probability 0.9 --json | "twice"

calibrate --help-all | twofold: twice the quality
calibrate scores.csv --hypothesis steep --select 3 --html report.html | steep reviewers
calibrate scores.csv --hypothesis steep --json > answer.json
verify answer.json scores.csv --hypothesis steep | HOLDS
simulate twofold --papers 20 --reviewers 20 -o made
calibrate made/reviews.csv --hypothesis twofold --json | "optimal"
simulate steep -o made | 2: is not one of
calibrate --stream scores.parquet --hypothesis twofold | twofold
calibrate --stream scores.parquet --hypothesis steep | 2: expected linear

calibrate scores.csv --method median --select 3 --html report.html | has no probabilities of being among
calibrate scores.csv --method median --json > answer.json
verify answer.json scores.csv --method median | HOLDS
calibrate scores.csv --method median --references references.csv
calibrate scores.csv --method median --lottery --select 3 | 2: belongs to --method posterior
calibrate --stream scores.parquet --method median | 2: expected --method posterior
calibrate scores.csv --method again --select 3 --lottery --explain p0 --json | "lottery"
calibrate --stream scores.parquet --method again --select 3 | 3 IN,
""".replace("MARKET", MARKET).replace("WORKS", WORKS)

#: Runs lines of commands in one process, and prints those that end otherwise than they should.
IN_TURN = """
import re, shlex, subprocess, sys
import pyarrow.csv, pyarrow.parquet
from click.testing import CliRunner
from reviewgraph.cli import main

pyarrow.parquet.write_table(pyarrow.csv.read_csv("scores.csv"), "scores.parquet")
for line in filter(None, sys.stdin.read().splitlines()):
    if line.startswith("printf "):
        subprocess.run(line, shell=True, check=True)
        continue
    words, _, expected = line.partition(" | ")
    status, text = re.fullmatch("(?:([0-9]):)? *(.*)", expected).groups()
    command, _, kept = words.partition(" > ")
    done = CliRunner().invoke(main, shlex.split(command))
    output = " ".join(done.output.split())
    if done.exit_code != int(status or 0) or text not in output or output.startswith("REFUTED"):
        print(f"{line}: {done.exit_code}, {done.output} {done.exception!r}")
    if kept:
        open(kept, "w").write(done.stdout)
"""


def blocks(language: str, text: str) -> list[tuple[str, str]]:
    """Return the file and the code of each block that begins with a comment that names a file."""
    return re.findall(rf"^```{language}\n# ([^\s,]+)[^\n]*\n(.*?)^```$", text, re.M | re.S)


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A copy of the packages with the code of all recipes, and an installation's entry points."""
    folder = tmp_path / "packages"
    for package in ("reviewgraph", "planner", "lsc"):
        shutil.copytree(ROOT / package, folder / package)
    additions = [pair for recipe in RECIPES.values() for pair in blocks("python", recipe)]
    additions += [(name, dedent(code)) for name, code in FURTHER.items()]
    for name, code in additions:
        path = folder / name
        before = path.read_text("utf-8") + "\n\n" if path.exists() else ""
        path.write_text(before + code, "utf-8")
    ((_, line),) = blocks("toml", PAGE)
    (folder / "recipe-1.0.dist-info").mkdir()
    (folder / "recipe-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: recipe\nVersion: 1.0\n")
    entry = line.replace('"', "")
    (folder / "recipe-1.0.dist-info/entry_points.txt").write_text(f"[reviewgraph.commands]\n{entry}")
    return folder


@pytest.mark.slow
def test_every_command_knows_what_the_recipes_add(packages: Path, tmp_path: Path) -> None:
    assert len(RECIPES) == 6
    work = tmp_path / "work"
    work.mkdir()
    for name, text in tables().items():
        (work / name).write_text(text, "utf-8")
    shown = "".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)).replace("reviewgraph ", "")
    environment = os.environ | {"PYTHONPATH": str(packages), "COLUMNS": "1000"}
    run = [sys.executable, "-c", IN_TURN]
    done = subprocess.run(run, input=shown + COMMANDS, cwd=work, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
    assert (work / "prizes.txt").read_text("utf-8").startswith("w")


def test_a_bound_of_a_class_that_is_no_line_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(lsc.Monotone):
        name = "wrong"

        @property
        def bounds(self) -> tuple[float, float]:
            return 0.1, 2.0

    monkeypatch.setitem(HYPOTHESES, Wrong.name, Wrong)
    with pytest.raises(TypeError, match="Wrong: expected an infinite bound or, of lines, a fixed slope"):
        lsc.calibrate(Reviews([("ann", "a", 1.0), ("ann", "b", 2.0)]), Wrong())


def test_a_level_at_the_wrong_place_is_refused() -> None:
    class Reviewed(type(level_named("connected"))):  # type: ignore[misc]
        name = "reviewed"

        def holds(self, structure: Any) -> bool:
            return bool((structure.reviews.reviews_per_item > 0).all())

    ALL.insert(0, Reviewed())
    try:
        with pytest.raises(RuntimeError, match="expected that each implies those after it, found a table at"):
            check(Reviews([("ann", "p"), ("bob", "q")])).summary()
    finally:
        del ALL[0]


def test_the_levels_of_the_graph_name_all_their_parts() -> None:
    """A part that is missing, or misspelt, would be made up for in silence, slowly."""
    for name in ("survives-reviewer", "survives-review", "double", "recoverable", "connected"):
        level = level_named(name)
        parts = ("target", "verifier", *(["finder"] if not level.outlives else []))
        assert all(level.part(part) is not None for part in parts), name


def test_recipes_are_complete_code() -> None:
    for recipe in RECIPES.values():
        assert blocks("python", recipe)
        for name, code in blocks("python", recipe):
            compile(code, name, "exec")

"""Small questions made up at random, and the answers of the commands to them."""

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from click.testing import CliRunner, Result

from reviewgraph._verify.answers import read_answer
from reviewgraph.cli import main
from reviewgraph.cli.verify import verify

LEVELS = ["double", "double", "double", "recoverable", "connected", "survives-reviewer", "survives-review"]


@dataclass
class Case:
    """A question, in files of the current folder, and the answer to it.

    ``words`` stand behind the command; ``answer`` is its JSON.
    """

    command: str
    words: list[str]
    answer: dict[str, Any]

    def option(self, name: str, default: str | None = None) -> str | None:
        return self.words[self.words.index(name) + 1] if name in self.words else default

    def verified(self, answer: dict[str, Any]) -> Result:
        Path("answer.json").write_text(json.dumps(answer), "utf-8")
        return CliRunner().invoke(verify, ["answer.json", *self.words])

    def verified_by_independent_code(self, answer: dict[str, Any]) -> Result:
        """Verify an answer as if the command, run again, printed the same."""
        with patch("reviewgraph.cli.verify.asked_again", lambda made: read_answer("answer.json")):
            return self.verified(answer)


def read(name: str) -> list[dict[str, str]]:
    """The rows of a file."""
    header, *rows = [line.split(",") for line in Path(name).read_text("utf-8").splitlines()]
    return [dict(zip(header, row, strict=True)) for row in rows]


def write(name: str, header: str, rows: list[Any]) -> str:
    lines = [",".join(str(cell) for cell in row) for row in rows]
    Path(name).write_text("\n".join([header, *lines, ""]), "utf-8")
    return name


def answered(command: str, words: list[str]) -> Case | None:
    """Ask a command; None where it refuses the question, as a lottery without a selection."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = CliRunner().invoke(main, [command, *words, "--json"])
    if result.exit_code == 2 or (result.exit_code == 1 and not result.stdout):
        return None
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if not result.stdout.startswith("{"):
        message = f"{command} {' '.join(words)}: status {result.exit_code}, {result.output}"
        raise ValueError(message)
    return Case(command, words, json.loads(result.stdout))


def table(rng: np.random.Generator, *, scores: bool, most: int = 6) -> tuple[list[str], list[str]]:
    """Write ``reviews.csv`` and ``items.csv``; returns reviewers and items."""
    M, N = int(rng.integers(1, most)), int(rng.integers(2, most + 1))
    reviewers, items = [f"r{j}" for j in range(M)], [f"p{i}" for i in range(N)]
    share, grades = rng.uniform(0.2, 0.7), int(rng.integers(2, 6))
    planned = float(rng.choice([0.0, 0.3])) if scores else 1.0
    rows = [
        (who, what, "" if rng.random() < planned else rng.integers(1, grades + 1))
        for who in reviewers
        for what in items
        if rng.random() < share
    ] or [(reviewers[0], items[0], 1 if scores else "")]
    write("reviews.csv", "reviewer,item,score", rows)
    write("items.csv", "item", [[item] for item in items])
    return reviewers, items


def some_pairs(rng: np.random.Generator, reviewers: list[str], items: list[str], share: float) -> list[Any]:
    return [(item, reviewer) for item in items for reviewer in reviewers if rng.random() < share]


def check_case(rng: np.random.Generator) -> Case | None:
    reviewers, items = table(rng, scores=rng.random() < 0.7)
    words = ["reviews.csv", "--items", "items.csv"]
    if rng.random() < 0.3:
        words += ["--conflicts", write("conflicts.csv", "item,reviewer", some_pairs(rng, reviewers, items, 0.2))]
        words += ["--load", str(rng.integers(1, 4)), "--demand", str(rng.integers(1, 4))]
    return answered("check", words)


def plan_case(rng: np.random.Generator) -> Case | None:
    reviewers, items = table(rng, scores=True, most=5)
    words = ["reviews.csv", "--items", "items.csv", "--time-limit", "2", "--target", str(rng.choice(LEVELS))]
    if rng.random() < 0.4:
        words += ["--conflicts", write("conflicts.csv", "item,reviewer", some_pairs(rng, reviewers, items, 0.2))]
    if rng.random() < 0.3:
        loads = [(who, rng.integers(0, 4)) for who in [*reviewers, "new"] if rng.random() < 0.8]
        words += ["--capacity", write("capacity.csv", "reviewer,spare", loads or [(reviewers[0], 2)])]
    words += ["--spare", str(rng.integers(0, 4))] if rng.random() < 0.3 else []
    words += _costs(rng, reviewers, items)
    words += ["--max-reviews", str(rng.integers(0, 4))] if rng.random() < 0.2 else []
    words += ["--max-per-item", str(rng.integers(1, 3))] if rng.random() < 0.2 else []
    words += ["--min-reviews", str(rng.integers(1, 3))] if rng.random() < 0.2 else []
    rules = ["--at-most", "institution=1"] if rng.random() < 0.2 else []
    rules += ["--at-least", "senior=1"] if rng.random() < 0.15 else []
    people = [(who, f"home{rng.integers(0, 2)}", "no" if j > 1 else "yes") for j, who in enumerate(reviewers)]
    if rules:
        words += ["--reviewers", write("people.csv", "reviewer,institution,senior", people), *rules]
    if rng.random() < 0.15:
        words += [
            "--fixed",
            write("fixed.csv", "item,reviewer", some_pairs(rng, reviewers, items, 0.1) or [("p0", "r0")]),
        ]
    return answered("plan", words)


def _costs(rng: np.random.Generator, reviewers: list[str], items: list[str]) -> list[str]:
    draw = rng.random()
    values = [
        (item, who, round(float(rng.random()) * 4) / 4) for item in items for who in reviewers if rng.random() < 0.7
    ]
    if draw < 0.2:
        return ["--cost", write("cost.csv", "item,reviewer,cost", values or [("p0", "r0", 2)])]
    if draw < 0.4:
        least = ["--min-affinity", "0.25"] if rng.random() < 0.3 else []
        return ["--affinity", write("affinity.csv", "item,reviewer,affinity", values or [("p0", "r0", 1)]), *least]
    return []


def assign_case(rng: np.random.Generator) -> Case | None:
    M, N = int(rng.integers(2, 6)), int(rng.integers(2, 5))
    reviewers, items = [f"r{j}" for j in range(M)], [f"p{i}" for i in range(N)]
    homes = [(who, f"home{rng.integers(0, 3)}") for who in reviewers]
    write("reviewers.csv", "reviewer,institution", homes)
    write("papers.csv", "item", [[item] for item in items])
    words = ["--items", "papers.csv", "--reviewers", "reviewers.csv", "--demand", str(rng.integers(1, 4))]
    words += ["--load", str(rng.integers(1, 5)), "--target", str(rng.choice([*LEVELS, "none"]))]
    scale = rng.choice([2, 10, 1000])
    values = [
        (item, who, round(float(rng.random()) * scale) / scale)
        for item in items
        for who in reviewers
        if rng.random() < 0.8
    ]
    if values:
        words += ["--affinity", write("affinity.csv", "item,reviewer,affinity", values)]
    words += ["--allow-unscored"] if rng.random() < 0.4 else []
    words += ["--min-load", "1"] if rng.random() < 0.2 else []
    words += ["--at-most", "institution=1"] if rng.random() < 0.2 else []
    if rng.random() < 0.3:
        words += ["--conflicts", write("conflicts.csv", "item,reviewer", some_pairs(rng, reviewers, items, 0.2))]
    if rng.random() < 0.1:
        words += [
            "--phase-one",
            write("first.csv", "reviewer,item", [(reviewers[0], items[0]), (reviewers[1], items[0])]),
        ]
    if rng.random() < 0.1:
        words += ["--fixed", write("fixed.csv", "item,reviewer", [(items[0], reviewers[0])])]
    return answered("assign", words)


def calibrate_case(rng: np.random.Generator) -> Case | None:
    M, N = int(rng.integers(2, 9)), int(rng.integers(3, 10))
    quality = rng.normal(5, 2, N)
    rows = []
    for j in range(M):
        slope, offset = rng.uniform(0.5, 2), rng.normal()
        mine = rng.permutation(N)[: int(rng.integers(1, 5))]
        seen = offset + slope * (quality[mine] + 0.5 * rng.normal(size=mine.size))
        digits = int(rng.integers(0, 3))
        rows += [(f"r{j}", f"p{i}", round(float(value), digits)) for i, value in zip(mine, seen, strict=True)]
    write("reviews.csv", "reviewer,item,score", rows)
    write("items.csv", "item", [[f"p{i}"] for i in range(N)])
    words = ["reviews.csv", "--items", "items.csv"]
    words += ["--lower-is-better"] if rng.random() < 0.2 else []
    words += ["--select", "2"] if rng.random() < 0.6 else []
    words += ["--by-group-average"] if rng.random() < 0.3 else []
    kind = rng.random()
    if kind < 0.5:
        hypothesis = str(rng.choice(["linear", "linear", "offset", "monotone", "convex", "concave"]))
        words += ["--hypothesis", hypothesis]
        words += ["--max-slope", "4"] if rng.random() < 0.2 else []
        if rng.random() < 0.2:
            known = [(f"p{i}", round(float(quality[i]), 2)) for i in range(int(rng.integers(1, 4)))]
            words += ["--references", write("known.csv", "item,quality", known)]
    elif kind < 0.7:
        words += ["--method", str(rng.choice(["average", "centring", "z-score", "additive"]))]
    else:
        words += _of_the_posterior(rng, rows, quality, selects="--select" in words)
    return answered("calibrate", words)


def _of_the_posterior(rng: np.random.Generator, rows: list[Any], quality: Any, *, selects: bool) -> list[str]:
    words = ["--lottery"] if selects and rng.random() < 0.4 else []
    words += ["--explain", str(rows[0][1])] if rng.random() < 0.4 else []
    known = [(f"p{i}", round(float(value), 2)) for i, value in enumerate(quality[:4])]
    if rng.random() < 0.3:
        words += ["--references", write("known.csv", "item,quality", known)]
    return words


MAKERS = {"check": check_case, "plan": plan_case, "assign": assign_case, "calibrate": calibrate_case}

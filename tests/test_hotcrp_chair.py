"""What a chair types with the untouched downloads of a real HotCRP, and what the answers must say."""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reviewgraph.cli import main

EXPORTS = Path(__file__).parent / "hotcrp" / "exports"
EVERY = [f"{version}/stage{stage}" for version in ("3.2", "3.4") for stage in (1, 2)]

Run = Callable[..., Result]


@pytest.fixture(params=EVERY)
def place(request: pytest.FixtureRequest) -> Path:
    return EXPORTS / request.param


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return lambda line: CliRunner().invoke(main, shlex.split(line))


def downloads(place: Path) -> None:
    """Copy the downloads under the names that a chair gives them."""
    for path in place.glob("*.*"):
        Path(path.name.removeprefix("labconf-")).write_bytes(path.read_bytes())


def truth(place: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((place / "truth" / f"{name}.csv").read_text("utf-8").splitlines()))


def answer(done: Result, status: int = 0) -> Any:
    assert done.exit_code == status, done.output
    return json.loads(done.stdout)


ASSIGN = "assign --items data.csv --reviewers allprefs.csv --bids allprefs.csv --conflicts pcconflicts.csv --load 12"


@pytest.mark.parametrize("existing", ["pcassignments.csv", "api-reviews.json", "scores.csv"])
def test_existing_reviews_are_facts(place: Path, run: Run, existing: str) -> None:
    downloads(place)
    if not Path(existing).exists():
        pytest.skip("there are no scores yet")
    line = f"{ASSIGN} --fixed {existing}"
    made = answer(run(f"{line} --json"))
    live = {row["id"] for row in truth(place, "papers") if row["status"] == "submitted"}
    live -= set(re.findall(r"^(\d+),none,", Path("pcassignments.csv").read_text("utf-8"), re.M))
    inside = {"primary", "secondary", "pc"} | ({"external"} if existing != "pcassignments.csv" else set())
    there = {
        (row["email"], row["paper"])
        for row in truth(place, "reviews")
        if row["paper"] in live and (row["type"] in inside or existing == "scores.csv")
        if row["status"] == "submitted" or existing != "scores.csv"
    }
    assert there <= {(one["reviewer"], one["item"]) for one in made["reviews"]}
    per_paper = Counter(paper for _, paper in there)
    assert made["fixed"]["kept"] == len(there)
    assert {one["item"]: one["reviews"] for one in made["fixed"]["above_demand"]} == {
        paper: number for paper, number in per_paper.items() if number > 3
    }
    got = Counter(one["item"] for one in made["reviews"])
    assert got == {paper: max(3, per_paper[paper]) for paper in live}
    Path("answer.json").write_text(json.dumps(made), "utf-8")
    assert run(f"verify answer.json {line.removeprefix('assign ')}").exit_code == 0
    assert f"{len(there)} fixed reviews are kept and counted." in run(line).stdout

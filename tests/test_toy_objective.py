"""An objective of a plan is one class and one line: a toy goes through plan, its text, JSON and report, and verify."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from planner import plan_extra_reviews
from planner._plans.objectives import OBJECTIVES, Objective
from reviewgraph import Reviews
from reviewgraph._base import FloatArray, IntArray
from reviewgraph.cli import main
from tests.trials import sampled

ROWS = [
    ("ann", "p", 1.0),
    ("ann", "q", 2.0),
    ("bob", "p", 3.0),
    ("bob", "q", 1.0),
    ("bob", "r", 2.0),
    ("ann", "s", 4.0),
]


class Best(Objective):
    """What is least known of the papers that look best counts most."""

    name = "best"
    words = "after scores, surest of what looks best"
    helps = "know more of the papers that look best"
    unit = "points of doubt"

    def losses(self, item: IntArray, precision: FloatArray) -> FloatArray:
        weight = np.exp(self.beliefs.mean[item] - self.beliefs.mean.max())
        known = self.beliefs.sd[item] ** -2 + self.beliefs.pending[item] + precision
        found: FloatArray = weight / known
        return found

    def total(self, losses: float) -> float:
        return losses

    def effect(self, item: int, label: str, before: float, after: float) -> str:
        return f"{label} gets surer"


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load_anew: Callable[..., None]) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("reviews.csv").write_text("reviewer,item,score\n" + "".join(f"{j},{i},{y}\n" for j, i, y in ROWS))
    load_anew("planner.commands.plan")
    OBJECTIVES.append(Best)
    yield
    OBJECTIVES.remove(Best)


def run(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == status, f"{result.output}\n{result.exception!r}"
    return result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("more", sampled([(), ("--for", "double")]))
def test_every_form_of_a_plan(more: tuple[str, ...]) -> None:
    words = ["reviews.csv", "--for", "best", *more, "--max-reviews", "3"]
    assert f"best: {Best.words}" in " ".join(run("plan", "--help").split())
    assert "points of doubt" in run("plan", *words)
    found = json.loads(run("plan", *words, "--json"))
    assert found["purchase"]["objective"] == "best"
    assert found["purchase"]["after"] < found["purchase"]["before"]
    assert "gets surer" in found["reviews"][-1]["buys"]
    run("plan", *words, "-o", "plan.csv", "--html", "report.html")
    assert "points of doubt" in Path("report.html").read_text()
    run("plan", *words, "--to", "mail", "-o", "letters.csv")
    assert (Best.helps in " ".join(Path("letters.csv").read_text().split())) == (not more)
    Path("plan.json").write_text(json.dumps(found))
    run("verify", "plan.json", *words)


def test_what_it_lacks_is_said() -> None:
    run("plan", "reviews.csv", "--for", "best", status=2)
    run("plan", "reviews.csv", "--for", "best", "--select", "1", "--max-reviews", "1", status=2)


def test_in_python() -> None:
    plan = plan_extra_reviews(Reviews.from_pairs(ROWS), objective="best", max_reviews=2)
    assert plan.count == 2
    assert "points of doubt" in repr(plan)

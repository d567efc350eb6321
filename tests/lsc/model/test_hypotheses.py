"""What every hypothesis class owes; a new one is tested here without being named."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import lsc
from lsc._model.hypotheses import HYPOTHESES, Hypothesis, classes, hypothesis_of, level_of
from lsc.commands.calibrate import calibrate
from reviewgraph import InputError, Reviews
from tests.lsc import by_cvxpy
from tests.lsc.strategies import CLASSES as DRAWN

ROOT = Path(__file__).parents[3]
every_class = pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.name)


@every_class
def test_a_class_is_public_documented_offered_and_drawn_by_property_tests(kind: type[Hypothesis]) -> None:
    assert getattr(lsc, kind.__name__) is kind
    assert ">>>" in (kind.__doc__ or "")
    shown = CliRunner().invoke(calibrate, ["--help-all"]).output
    assert f"{kind.name}:" in " ".join(shown.split())
    assert kind.words.split()[0] in shown
    assert f"`--hypothesis {kind.name}`" in (ROOT / "docs/how-to/calibrate.md").read_text("utf-8")
    assert kind.name in (ROOT / "docs/reference/command/calibrate.md").read_text("utf-8")
    assert DRAWN[kind.name] is kind


@every_class
def test_a_class_calibrates_by_name_by_object_and_by_both_solvers(kind: type[Hypothesis]) -> None:
    rows = [(j, i, float((j + 1) * i + (i * j) % 3)) for j in range(4) for i in range(6)]
    reviews = Reviews(rows, accept="no-score-codes")
    fast = lsc.calibrate(reviews, kind.name)
    assert fast.kinds == (kind,)
    assert fast.hypothesis == kind.name
    for other in (by_cvxpy.calibrate(reviews, hypothesis_of(kind.name)), lsc.calibrate(reviews, kind.name)):
        assert other.objective == pytest.approx(fast.objective, rel=1e-6, abs=1e-9)
    assert fast.scoring_function(0)(fast.quality[0] + fast.noise[0]) == pytest.approx(rows[0][2])
    assert fast.support.level is kind.level


def test_a_class_that_is_not_listed_is_refused() -> None:
    class Stray(lsc.Linear):
        name = "stray"

    with pytest.raises(InputError, match=f"expected one of {', '.join(HYPOTHESES)}"):
        hypothesis_of(Stray())


def test_the_strongest_level_rules() -> None:
    assert level_of([lsc.Offset]).name == "connected"
    assert level_of([lsc.Offset, lsc.Monotone]).name == "recoverable"

"""What every hypothesis class owes, a new one without being named, and reviewers who differ in severity only."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

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


CHAIN = [("ann", "a", 1.0), ("ann", "b", 3.0), ("bob", "b", 7.0), ("bob", "c", 8.0)]


def simulated(seed: int, noise: float, n: int = 60, m: int = 40, load: int = 4) -> tuple[Reviews, np.ndarray]:
    """Scores of reviewers who have an offset each; a chain of reviews joins all items."""
    rng = np.random.default_rng(seed)
    truth, offset = rng.normal(5.0, 1.5, n), rng.normal(0.0, 1.0, m)
    rows = [(j, int(i)) for j in range(m) for i in rng.choice(n, load, replace=False)]
    rows += sorted({(i % m, i) for i in range(n)} - set(rows))
    scored = [(j, i, float(truth[i] + offset[j] + noise * rng.normal())) for j, i in rows]
    return Reviews(scored, items=range(n)), truth


def test_a_chain_of_reviews_joins_all_papers() -> None:
    result = lsc.calibrate(Reviews(CHAIN), "offset")
    assert_allclose(np.diff(result.quality), [2.0, 1.0])
    assert result.quality.mean() == pytest.approx(result.average.mean())
    assert result.undetermined == []
    assert result.support.level.name == "connected"
    assert result.unique
    assert lsc.calibrate(Reviews(CHAIN)).undetermined == ["c"]


def test_it_is_least_squares_with_an_offset_a_reviewer() -> None:
    reviews, _ = simulated(0, 0.7)
    result = lsc.calibrate(reviews, "offset")
    design = np.zeros((reviews.n_reviews, reviews.n_items + reviews.n_reviewers))
    design[np.arange(reviews.n_reviews), reviews.item] = 1.0
    design[np.arange(reviews.n_reviews), reviews.n_items + reviews.reviewer] = 1.0
    solved, *_ = np.linalg.lstsq(design, reviews.score, rcond=None)
    expected = solved[: reviews.n_items]
    assert_allclose(result.quality - result.quality.mean(), expected - expected.mean(), atol=1e-7)
    left = reviews.score - design @ solved
    assert result.objective == pytest.approx(left @ left)


def test_standard_errors_are_those_of_least_squares_and_cover_the_truth() -> None:
    inside = []
    for seed in range(40):
        reviews, truth = simulated(seed, 0.7)
        result = lsc.calibrate(reviews, "offset")
        off = (result.quality - result.quality.mean()) - (truth - truth.mean())
        inside.append(np.abs(off) <= 1.645 * result.standard_error)
    assert 0.87 <= np.mean(inside) <= 0.92
    laplacian = np.zeros((60, 60))
    for j in range(40):
        items = reviews.items_of(j)
        laplacian[np.ix_(items, items)] += np.eye(items.size) - 1.0 / items.size
    sigma = np.sqrt(result.objective / (reviews.n_reviews - 60 - 40 + 1))
    assert_allclose(result.standard_error, sigma * np.sqrt(np.diag(np.linalg.pinv(laplacian))), rtol=1e-6)


def test_one_reference_settles_the_scale() -> None:
    result = lsc.calibrate(Reviews(CHAIN), "offset", references={"b": 10.0})
    assert_allclose(result.quality, [8.0, 10.0, 11.0])


def test_one_among_others_sets_their_unit_and_asks_for_no_less_of_the_graph() -> None:
    panel = [
        (who, p, a * q + b)
        for who, a, b in (("ann", 1, 2), ("bob", 3, 0))
        for p, q in zip("abcd", (1, 2, 5, 7), strict=True)
    ]
    result = lsc.calibrate(Reviews(panel), {"ann": "offset", "bob": "linear"})
    assert result.hypothesis == "mixed"
    assert result.support.level.name == "recoverable"
    assert_allclose(np.diff(result.solution.quality), [1.0, 3.0, 2.0])
    assert result.scoring_function("bob").slope == pytest.approx(3 * result.scoring_function("ann").slope)

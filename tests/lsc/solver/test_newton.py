"""The fast solver against CVXPY, against the conditions of optimality, and on what breaks solvers."""

from dataclasses import replace

import numpy as np
import pytest

from lsc._model.formulation import Programme
from lsc._model.hypotheses import Shape
from lsc._solver import newton, passes
from lsc._solver.kernels.projections import SMALL
from lsc._solver.newton import minimise
from lsc._solver.passes import Merit, Passes, Weights, in_memory, perceived_of_lines, tabulate
from lsc.evidence.optimality import residuals
from tests.lsc import naive_projections as naive
from tests.lsc import programmes
from tests.trials import trials

MANY = range(trials(60))
COMPARED = range(trials(20))


def unit(programme):
    """Size of perceived qualities: what absolute errors are measured in."""
    known = programme.reference[programme.is_reference]
    spread = [np.ptp(programme.score[a:b]) for a, b in zip(programme.start, programme.start[1:], strict=False) if b > a]
    spread.append(np.abs(programme.score).max(initial=1e-6))
    return max(np.max(programme.lower) * max(spread), np.abs(known).max(initial=0.0))


def check_optimal(programme, found, accuracy=1e-7):
    """Feasible, residuals normal to the constraints, and balanced at every quality: then it is the minimum."""
    scale = unit(programme)
    assert found.converged, found.message
    assert np.isfinite(found.quality).all()
    assert np.isfinite(found.perceived).all()
    residual = found.quality[programme.item] - found.perceived
    assert found.objective == pytest.approx(residual @ residual, rel=1e-6, abs=1e-12 * scale**2)
    assert naive.violation(programme, found.perceived) <= 1e-9 * scale
    assert naive.not_normal(programme, found.quality, found.perceived, 1e-6 * scale) <= accuracy * scale
    assert naive.imbalance(programme, found.quality, found.perceived) <= accuracy * scale


@pytest.mark.slow
def test_random_programmes_satisfy_the_conditions_of_optimality():
    for seed in MANY:
        programme = programmes.small(seed)
        check_optimal(programme, minimise(programme))


@pytest.mark.slow
def test_lines_are_solved_in_one_part_as_in_two(monkeypatch):
    """Linear reviewers with bounds of any kind, references, single items and constant scores."""
    for seed in COMPARED:
        programme = programmes.small(seed)
        programme = replace(programme, kind=np.zeros_like(programme.kind))
        whole = minimise(programme)
        check_optimal(programme, whole)
        with monkeypatch.context() as patch:
            patch.setattr(passes, "MANY_REVIEWS", 0)
            halves = minimise(programme)
        assert halves.objective == pytest.approx(whole.objective, abs=1e-9 * (programme.score @ programme.score + 1.0))


def projected(programme, x):
    """Perceived qualities of given qualities by the kernels, in the programme's units."""
    table, common, units = tabulate(programme)
    merit = Merit(table, common, np.zeros(programme.n_items, dtype=bool))
    merit((x - units.origin) / units.unit)
    return units.origin + units.unit * merit.perceived


def test_projections_are_feasible_and_nearest():
    for seed in MANY:
        programme = programmes.small(seed)
        if len(programme.item) == 0:
            continue
        scale = unit(programme)
        x = np.random.default_rng(seed).normal(size=programme.n_items) * scale * 2
        found = projected(programme, x)
        assert naive.violation(programme, found) <= 1e-10 * scale
        assert naive.not_normal(programme, x, found, 1e-9 * scale) <= 1e-9 * scale


def test_a_feasible_point_that_is_no_projection_violates_a_condition_of_optimality():
    for seed in MANY:
        programme = programmes.small(seed)
        if len(programme.item) == 0:
            continue
        x, y = np.random.default_rng(seed).normal(size=(2, programme.n_items)) * unit(programme) * 2
        known = replace(programme, is_reference=np.ones(programme.n_items, dtype=bool), reference=x)
        here, there = projected(programme, x), projected(programme, y)
        # Shifted so that the noise of each reviewer sums to 0, as it does at a projection.
        owner = np.repeat(np.arange(len(programme.kind)), np.diff(programme.start))
        size = np.maximum(np.bincount(owner, minlength=len(programme.kind)), 1)
        there += (np.bincount(owner, x[programme.item] - there, len(programme.kind)) / size)[owner]
        assert max(residuals(known, x, here)) <= 1e-9 * max(unit(programme), unit(programme) ** 2)
        if np.abs(here - there).max() > 1e-3 * unit(programme):
            assert max(residuals(known, x, there)) > 1e-9 * unit(programme)


@pytest.mark.parametrize("shape", Shape)
def test_reviewers_with_many_reviews(shape):
    rng = np.random.default_rng(int(shape))
    n, m, k = 60, 5, 40
    item = np.array([rng.permutation(n)[:k] for _ in range(m)])
    score = np.round(rng.normal(size=(m, k)) * 3, 1)
    assert k > SMALL
    programme = programmes.from_rows(item, score, n, shape)
    check_optimal(programme, minimise(programme))


@pytest.mark.parametrize("bounds", [(0.1, np.inf), (0.5, 0.5)])
def test_passes_over_lines_give_what_their_matrix_does(bounds):
    """Loads differ, some reviewers have one score or none, some scores are constant, and some qualities are known."""
    rng = np.random.default_rng(0)
    size = rng.integers(0, 9, 53)
    start = np.concatenate([[0], np.cumsum(size)])
    item = np.concatenate([rng.permutation(30)[:k] for k in size])
    score = [np.sort(rng.normal(size=k)) * (j % 7 > 0) for j, k in enumerate(size)]
    programme = Programme(
        30, start, item, np.concatenate(score), np.zeros(53, dtype=int), np.full(53, bounds[0]),
        np.full(53, bounds[1]), np.zeros(30, dtype=bool), np.zeros(30),
    )  # fmt: skip
    table, common, _ = tabulate(programme)
    fixed = np.arange(30) < 2
    small, large = Merit(table, common, fixed), Passes(in_memory(table, 30), 53, common, fixed)
    small.weights = large.weights = Weights(0.0, 0.01)
    x = rng.normal(size=30)
    (value, gradient), (again, other) = small(x), large(x)
    assert (value, gradient) == (pytest.approx(again), pytest.approx(other))
    assert (
        np.asarray(small.face.slope_free) == np.concatenate([lines.slope_free for lines in large.parts.states])
    ).all()
    one, two = (merit.newton(gradient, 1e-10, 100) for merit in (small, large))
    assert two == pytest.approx(one, abs=1e-8)
    assert perceived_of_lines(table, x) == pytest.approx(small.perceived)


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("size", [5, SMALL + 3])
@pytest.mark.parametrize("line_weight", [0.0, 0.1])
def test_newton_matrix_is_the_derivative_of_the_gradient(shape, size, line_weight):
    """Finite differences: the direction solves the system whose matrix the gradient itself gives."""
    rng = np.random.default_rng(7)
    n, m = 30, 12
    item = np.array([rng.permutation(n)[:size] for _ in range(m)])
    programme = programmes.from_rows(item, rng.normal(size=(m, size)), n, shape)
    table, common, _ = tabulate(programme)
    merit = Merit(table, common, np.arange(n) == 3, Weights(line_weight, 0.05))
    x = rng.normal(size=n)
    _, gradient = merit(x)
    direction = merit.newton(gradient, 1e-12, 10_000).copy()
    h = 1e-6
    _, ahead = merit(x + h * direction)
    _, behind = merit(x - h * direction)
    assert (ahead - behind) / (2 * h) == pytest.approx(-gradient, abs=1e-6)


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("decimals", [1, 6])
def test_what_is_kept_from_point_to_point_is_what_a_fresh_start_gives(shape, decimals):
    """Projections on faces that still hold, and the matrix where some faces have moved: small steps and large ones."""
    rng = np.random.default_rng(3)
    programme, _ = programmes.conference(20, 24, 5, 0.5, "mixed", "mixed", 3)
    kind = np.where(np.arange(24) % 3 > 0, shape, programme.kind)
    programme = replace(programme, kind=kind, score=np.round(programme.score, decimals))
    table, common, _ = tabulate(programme)
    fixed = np.arange(20) < 2
    reused, x = Merit(table, common, fixed, Weights(1e-3, 1e-3)), rng.normal(size=20)
    for step in (0.0, 1e-3, 1e-2, 0.1, 0.3, 3.0, 1e-3):
        x = x + step * rng.normal(size=20)
        fresh = Merit(table, common, fixed, Weights(1e-3, 1e-3))
        answers = []
        for merit in (reused, fresh):
            value, gradient = merit(x)
            answers.append((value, gradient, merit.perceived, merit.newton(gradient, 1e-11, 1000).copy()))
        for one, two in zip(*answers, strict=True):
            assert one == pytest.approx(two, rel=1e-7, abs=1e-9)


def test_steps_may_be_interrupted(monkeypatch):
    programme, _ = programmes.conference(40, 40, 5, 0.5, "convex", "linear", 2)
    programme = replace(programme, kind=np.full(40, Shape.CONVEX))
    whole = minimise(programme)
    monkeypatch.setattr(passes, "PRODUCTS", 1)
    assert (minimise(programme).quality == whole.quality).all()


def test_clusters_keep_products_few(monkeypatch):
    """Convex reviewers leave small eigenvalues on few items each: the diagonal alone takes five times the products."""
    merits = []

    class Spied(Merit):
        def __init__(self, *given):
            super().__init__(*given)
            merits.append(self)

    monkeypatch.setattr(newton, "Merit", Spied)
    programme, _ = programmes.conference(300, 300, 5, 0.5, "convex", "linear", 1)
    found = minimise(programme)
    assert found.converged
    assert merits[0].products <= 20 * found.iterations


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("shape", Shape)
def test_scale_and_shift_of_the_scores_do_not_matter(shape, scale):
    programme, _ = programmes.conference(60, 60, 5, 0.5, "monotone", "linear", 3)
    programme = replace(programme, kind=np.full(60, shape))
    plain = minimise(programme)
    scaled = minimise(replace(programme, score=programme.score * scale))
    assert scaled.converged
    assert scaled.objective == pytest.approx(plain.objective * scale**2, rel=1e-7)
    assert scaled.quality == pytest.approx(plain.quality * scale, abs=1e-4 * scale * np.ptp(plain.quality))
    shifted = minimise(replace(programme, score=programme.score + 1e9))
    assert shifted.objective == pytest.approx(plain.objective, rel=1e-5)


def lone(score, shape, n_items=4):
    n = len(score)
    return Programme(
        n_items, np.array([0, n]), np.arange(n), np.array(score, dtype=float), np.array([int(shape)]),
        np.array([0.1]), np.array([np.inf]), np.zeros(n_items, bool), np.zeros(n_items),
    )  # fmt: skip


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("score", [[], [3], [3, 3], [3, 3, 3, 3], [1, 2], [1, 1, 2, 2], [1e9, 1e9 + 1]])
def test_what_little_data_leaves_is_finite(shape, score):
    programme = lone(score, shape)
    found = minimise(programme)
    check_optimal(programme, found)
    assert found.objective == pytest.approx(0.0, abs=1e-12)
    assert (found.quality[len(score) :] == 0).all()

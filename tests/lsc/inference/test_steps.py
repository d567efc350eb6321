"""Steps against slow obvious integrals, and gradients against differences."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from lsc._inference import model, scale_users, sweeps
from lsc._inference.inferring import fit_averages
from lsc._inference.model import (
    BLOCK,
    G1,
    GAMMA,
    LOG_OMEGA,
    LOG_OWN,
    LOG_S_R,
    LOGIT_W,
    LOWEST,
    MU,
    NARROW,
    NU,
    SIZE,
    START,
    Extent,
    Gradient,
    _bounded_information,
    _boxed_step,
    ascend,
    initial_step,
    lay_out,
)
from lsc._inference.scale_users import (
    MAX_ORDINAL_LOAD,
    MAX_SHIFT,
    MIN_ORDINAL_LOAD,
    MIN_PRECISION,
    SHIFT_PER_PRECISION,
    Cavity,
    Message,
    Nodes,
    Step,
    mixed_step,
    ordinal_step,
    step,
)
from lsc._inference.states import Part, Rows, are_rankings, initial_state, prepare
from lsc._inference.sweeps import damped, likeness_step, spectrum, sweep
from reviewgraph._base import FloatArray
from tests.lsc.inference.simulated_tables import table


def block_of(score, load=None):
    """One block of one or more reviewers with these scores, a row a reviewer."""
    rows = [(j, i, value) for j, scores in enumerate(score) for i, value in enumerate(scores)]
    who, what, value = (np.array(column) for column in zip(*rows, strict=True))
    return next(lay_out(who, what, value, len(score), max(map(len, score)))[0].blocks)


@pytest.mark.parametrize("narrow", [0, NARROW])
def test_layout_gives_every_review_a_slot_of_its_own(narrow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "NARROW", narrow)
    rng = np.random.default_rng(0)
    load = np.array([0, 1, 1, 3, 9, 10, 11, 40, 300, 0, 2])
    who = np.repeat(np.arange(load.size), load)
    what = np.concatenate([rng.choice(300, size, replace=False) for size in load])
    score = rng.standard_normal(who.size)
    order = rng.permutation(who.size)
    layout, slot = lay_out(who[order], what[order], score[order], load.size, 300)
    assert np.unique(slot).size == who.size
    assert (layout.item[slot] == what[order]).all()
    used = np.concatenate([block.used.ravel() for block in layout.blocks]) > 0
    assert (np.flatnonzero(used) == np.sort(slot)).all()
    assert (layout.item[~used] == 300).all()
    values = np.concatenate([block.score.ravel() for block in layout.blocks])
    assert (values[slot] == score[order]).all()
    if narrow:
        # Few reviewers of several loads share a block that has at most so many slots.
        shared = [block for block in layout.blocks if block.load.min() < block.load.max()]
        assert [block.score.size <= BLOCK and block.shape[0] <= NARROW for block in shared] == [True]
    else:
        assert used.size <= 1.2 * who.size
    for block in layout.blocks:
        rows = layout.item[block.first : block.last].reshape(block.shape)
        for column, reviewer in enumerate(block.reviewer):
            assert set(rows[:, column]) - {300} == set(what[who == reviewer])


def test_the_step_is_the_integral_over_slope_offset_and_papers() -> None:
    score, mean, variance = np.array([0.5, -1.0, 0.2]), np.array([0.3, -0.2, 0.0]), np.array([0.5, 0.8, 1.0])
    block, cavity = block_of([score]), Cavity(mean[:, None], variance[:, None])
    theta, rounding = START.copy(), 0.01
    theta[:7] = -0.3, np.log(0.5), np.log(0.3), 0.1, -0.4, np.log(0.6), np.log(0.5)
    nodes = Nodes(np.array([-0.3]), np.array([0.4]), np.zeros(1), None)
    for _ in range(3):
        found = step(block, cavity, nodes, theta, np.ones((1, 1)), None, rounding)
        nodes = found.nodes

    def density(z, power):
        """Scores and slope; their first paper's conditional moment by the normal law given the slope."""
        a, tau = np.exp(z), 0.5 if z < -0.3 else 0.3
        prior = 2 / (np.sqrt(2 * np.pi) * 0.8) * np.exp(-0.5 * ((z + 0.3) / tau) ** 2)
        noise = np.exp(2 * (np.log(0.5) + 0.5 * (z + 0.3))) + rounding
        total = np.diag(a**2 * variance + noise) + 0.36
        off = score - (0.1 - 0.4 * a) - a * mean
        gain = a * variance[0] * np.linalg.solve(total, np.eye(3)[0])
        first, spread = gain @ off, variance[0] - gain[0] * a * variance[0]
        moment = (1.0, first, spread + first**2)[power]
        return prior * moment * stats.multivariate_normal(np.zeros(3), total).pdf(off)

    truth = [integrate.quad(density, -6, 4, args=(power,), points=[-0.3], epsabs=1e-12)[0] for power in range(3)]
    assert found.log_evidence[0] == pytest.approx(np.log(truth[0]), abs=1e-3)
    assert found.mean[0, 0] == pytest.approx(truth[1] / truth[0], abs=1e-3)
    assert found.second[0, 0] == pytest.approx(truth[2] / truth[0], abs=1e-3)


@pytest.mark.parametrize("own", [False, True])
def test_gradients_of_a_reviewer_are_those_of_her_evidence(own: bool) -> None:
    rng = np.random.default_rng(3)
    block = block_of(rng.standard_normal((4, 5)).tolist())
    cavity = Cavity(0.5 * rng.standard_normal((5, 4)), rng.uniform(0.2, 1.0, (5, 4)))
    theta, weight = START.copy(), rng.standard_normal((5, 4))
    theta[8] = 0.3
    nodes = Nodes(np.full(4, -0.4), np.full(4, 0.35), np.zeros(4), np.full(4, 0.6) if own else None)
    factor = np.exp(-theta[8] * weight)
    found = step(block, cavity, nodes, theta, factor, weight, 0.02)
    for place in range(10 if own else 9):
        high, low = theta.copy(), theta.copy()
        high[place] += 1e-5
        low[place] -= 1e-5
        ends = [
            step(block, cavity, nodes, end, np.exp(-end[8] * weight), weight, 0.02).log_evidence for end in (high, low)
        ]
        expected = (ends[0] - ends[1]) / 2e-5
        # The derivative of the density's constant is exact, the rule's sum of it is not quite.
        np.testing.assert_allclose(found.gradient[place], expected, atol=5e-3)
    assert found.gradient[LOG_OWN].any() or not own


def test_empty_slots_say_nothing() -> None:
    rng = np.random.default_rng(4)
    scores = [list(rng.standard_normal(size)) for size in (9, 10)]
    both = block_of(scores)
    assert not both.full
    mean, variance = rng.standard_normal((10, 2)), rng.uniform(0.3, 1.0, (10, 2))
    mean[both.used == 0], variance[both.used == 0] = 0.0, 1.0
    nodes = Nodes(np.full(2, -0.4), np.full(2, 0.3), np.zeros(2), None)
    together = step(both, Cavity(mean, variance), nodes, START, np.ones((1, 2)), None, 0.02)
    order = ordinal_step(both, Cavity(mean, variance), 0.2)
    column = int(np.flatnonzero(both.load == 9)[0])
    alone, cavity = block_of([scores[0]]), Cavity(mean[:9, [column]], variance[:9, [column]])
    single = step(alone, cavity, Nodes(*(value[[0]] for value in nodes[:3]), None), START, np.ones((1, 1)), None, 0.02)
    np.testing.assert_allclose(together.log_evidence[column], single.log_evidence[0])
    np.testing.assert_allclose(together.mean[:9, column], single.mean[:, 0])
    np.testing.assert_allclose(together.gradient[:, column], single.gradient[:, 0], atol=1e-12)
    by_order = ordinal_step(alone, cavity, 0.2)
    np.testing.assert_allclose(order.log_probability[column], by_order.log_probability[0])
    np.testing.assert_allclose(order.mean[:9, column], by_order.mean[:, 0])


def test_an_order_says_what_draws_in_that_order_say() -> None:
    score, mean, variance = [3.0, 1.0, 2.0, 2.5], np.array([0.5, 0.0, -0.3, 0.4]), np.array([0.6, 1.0, 0.4, 0.8])
    found = ordinal_step(block_of([score]), Cavity(mean[:, None], variance[:, None]), 0.3)
    rng = np.random.default_rng(0)
    x = mean + np.sqrt(variance) * rng.standard_normal((1_000_000, 4))
    z = x + np.sqrt(0.3) * rng.standard_normal(x.shape)
    kept = (z[:, 1] < z[:, 2]) & (z[:, 2] < z[:, 3]) & (z[:, 3] < z[:, 0])
    assert found.log_probability[0] == pytest.approx(np.log(24 * kept.mean()), abs=0.03)
    np.testing.assert_allclose(found.mean[:, 0], (x[kept] - mean).mean(axis=0), atol=0.02)
    np.testing.assert_allclose(found.second[:, 0], ((x[kept] - mean) ** 2).mean(axis=0), atol=0.03)


@pytest.mark.parametrize("size", [2, 5, 10, 20])
def test_no_order_of_papers_alike_is_likelier_than_another(size: int) -> None:
    """Straight lines between the points of a grid prefer the order of twenty papers by 1.3 nats."""
    score = np.random.default_rng(size).standard_normal(size).tolist()
    found = ordinal_step(block_of([score]), Cavity(np.zeros((size, 1)), np.ones((size, 1))), 0.25)
    assert found.log_probability[0] == pytest.approx(0.0, abs=0.01)


def test_the_order_of_so_many_papers_that_the_grid_cannot_hold_it_is_not_asked() -> None:
    rng, load = np.random.default_rng(0), np.array([MAX_ORDINAL_LOAD + 50, 4])
    who, what = np.repeat([0, 1], load), np.concatenate([np.arange(size) for size in load])
    rows = Rows(who, what, rng.standard_normal(who.size))
    problem = prepare(rows, 2, int(load.max())).problem
    theta = START.copy()
    theta[LOGIT_W] = 0.0
    found = sweep(problem, initial_state(problem, theta, Extent(orders=True)))
    assert found.state.orders[0] == 0.0
    assert found.state.orders[1] > 0.0


@pytest.mark.parametrize(("size", "error"), [(5, 1e-3), (10, 2e-3), (50, 0.2), (MAX_ORDINAL_LOAD, 3.0)])
def test_papers_alike_are_in_any_order_with_the_same_probability(size: int, error: float) -> None:
    one = ordinal_step(block_of([np.arange(size)]), Cavity(np.zeros((size, 1)), np.ones((size, 1))), 0.25)
    assert one.log_probability[0] == pytest.approx(0.0, abs=error)


@pytest.mark.parametrize("variance", [(1.0, 1.0), (1.0, 0.02), (1e-3, 1.0)])
@pytest.mark.parametrize("gap", [-9.0, -3.0, 0.0, 2.0])
def test_two_papers_are_in_order_with_the_probability_of_a_normal_difference(
    gap: float, variance: tuple[float, float]
) -> None:
    cavity = Cavity(np.array([[0.0], [gap]]), np.array(variance)[:, None])
    found = ordinal_step(block_of([[1.0, 2.0]]), cavity, 0.1)
    total = sum(variance) + 0.2
    expected = stats.norm.logcdf(gap / np.sqrt(total))
    assert found.log_probability[0] == pytest.approx(np.log(2) + expected, rel=2e-3, abs=2e-3)
    # The first is less than the second: its mean moves by its part of what the difference does.
    hazard = np.exp(stats.norm.logpdf(gap / np.sqrt(total)) - expected)
    assert found.mean[0, 0] == pytest.approx(-variance[0] / np.sqrt(total) * hazard, rel=2e-2, abs=1e-3)


def test_equal_scores_count_once_among_the_orders() -> None:
    wide = Cavity(np.zeros((3, 1)), np.ones((3, 1)))
    found = ordinal_step(block_of([[1.0, 1.0, 1.0]]), wide, 0.3)
    # One of six orders, and all six tell the scores apart from nothing.
    assert found.log_probability[0] == pytest.approx(np.log(1 / 6), abs=1e-2)


def test_likeness_is_the_gaussian_factor_it_says() -> None:
    rng = np.random.default_rng(5)
    block = block_of([[0.0] * 4])
    mean, variance, strength = rng.standard_normal(4), rng.uniform(0.3, 1.0, 4), 0.7
    found = likeness_step(block, Cavity(mean[:, None], variance[:, None]), strength)
    factor = strength * (np.eye(4) - 0.25)
    joint = np.linalg.inv(np.diag(1 / variance) + factor)
    both = joint @ (mean / variance)
    # Message and cavity give the marginal of the joint distribution.
    total = 1 / variance + found.precision[:, 0]
    np.testing.assert_allclose(1 / total, np.diag(joint))
    np.testing.assert_allclose((mean / variance + found.shift[:, 0]) / total, both)
    evidence = (
        0.5 * np.linalg.slogdet(joint / variance)[1] + 0.5 * both @ (mean / variance) - 0.5 * mean @ (mean / variance)
    )
    assert found.log_evidence[0] == pytest.approx(evidence)


def test_the_spectrum_gives_the_determinant(monkeypatch) -> None:
    who, what, score, _ = table(0, 300, 300, 4)
    scores = prepare(Rows(who, what, score, None), 300, 300)
    laplacian = np.zeros((300, 300))
    for reviewer in range(300):
        items = what[who == reviewer]
        laplacian[np.ix_(items, items)] += np.eye(items.size) - 1 / items.size
    mean = np.trace(laplacian) / 300
    exact = spectrum(scores.problem, np.random.default_rng(0))
    monkeypatch.setattr("lsc._inference.sweeps.MAX_EXACT", 0)
    probed = spectrum(scores.problem, np.random.default_rng(0))
    for kappa in (0.5, 0.96):
        K = (1 - kappa) * np.eye(300) + kappa * laplacian / mean
        truth = np.linalg.slogdet(K)[1]
        assert exact.log_determinant(kappa) == pytest.approx(truth)
        assert probed.log_determinant(kappa) == pytest.approx(truth, abs=4.0)
        square = np.linalg.inv(K)
        assert exact.mean_square(kappa) == pytest.approx((np.trace(square) - square.sum() / 300) / 300)


def test_evidence_of_normal_reviewers_is_that_of_the_normal_law() -> None:
    """With slopes alike the model is linear: the evidence is exact where no loop is."""
    who, what = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 2, 3])
    score = np.array([1.0, -0.5, 0.3, 0.8, -1.2, 0.1])
    theta = START.copy()
    theta[1:3] = np.log(0.04)
    scores = prepare(Rows(who, what, score, None), 3, 4)
    state = initial_state(scores.problem, theta, Extent())
    for _ in range(30):
        found = sweep(scores.problem, state)
        state = found.state
    A = np.eye(4)[what]
    same = (who[:, None] == who).astype(float)
    noise = np.exp(2 * theta[6]) + scores.problem.rounding
    covariance = np.exp(2 * theta[0]) * A @ A.T + np.exp(2 * theta[5]) * same + noise * np.eye(6)
    truth = stats.multivariate_normal(np.zeros(6), covariance)
    assert found.evidence == pytest.approx(truth.logpdf(scores.standard), abs=0.02)
    mean = np.exp(theta[0]) * A.T @ np.linalg.solve(covariance, scores.standard)
    np.testing.assert_allclose(found.mean[:-1], mean, atol=0.02)


def test_averages_have_the_evidence_of_the_normal_law() -> None:
    rng = np.random.default_rng(6)
    item = rng.integers(0, 30, 90)
    score = rng.standard_normal(30)[item] + 0.5 * rng.standard_normal(90)
    found = fit_averages(item, score, 1e-4)

    def evidence(mean, slope, noise):
        covariance = slope**2 * (item[:, None] == item) + noise * np.eye(90)
        return stats.multivariate_normal(np.full(90, mean), covariance).logpdf(score)

    best = evidence(found.mean, found.slope, found.noise)
    assert found.evidence == pytest.approx(best)
    for change in ((0.1, 1, 1), (0, 1.2, 1), (0, 0.8, 1), (0, 1, 1.2), (0, 1, 0.8)):
        assert evidence(found.mean + change[0], found.slope * change[1], found.noise * change[2]) < best


def test_messages_are_positive_even_where_scores_surprise() -> None:
    block = block_of([[5.0, -5.0]])
    cavity = Cavity(np.array([[-3.0], [3.0]]), np.full((2, 1), 0.05))
    nodes = Nodes(np.zeros(1), np.full(1, 0.5), np.zeros(1), None)
    found = step(block, cavity, nodes, START, np.ones((1, 1)), None, 0.01)
    told = scale_users.message(cavity, found.mean, found.second)
    assert (told.precision >= scale_users.MIN_PRECISION).all()
    assert np.isfinite(told.shift).all()


def test_nodes_find_a_slope_that_is_far_away_and_sharply_known() -> None:
    """Nodes as narrow as what they saw last would move by their own width a step."""
    rng = np.random.default_rng(0)
    mean = rng.standard_normal((400, 1))
    block, cavity = (
        block_of([(np.exp(-1.0) * mean + 0.01 * rng.standard_normal((400, 1))).ravel()]),
        np.full((400, 1), 1e-4),
    )
    theta = START.copy()
    theta[NU] = -4.0
    nodes = Nodes(np.zeros(1), np.full(1, 1e-4), np.zeros(1), None)
    for _ in range(20):
        nodes = step(block, Cavity(mean, cavity), nodes, theta, np.ones((1, 1)), None, 1e-4).nodes
    assert nodes.centre[0] == pytest.approx(-1.0, abs=0.01)
    assert 5e-4 < nodes.spread[0] < 5e-3


def test_long_reviewers_whose_noise_is_misjudged_do_not_hold_the_climb_up() -> None:
    """Each of 10 reviewers says of her 4,000 reviews that their noise is half as wide."""
    gradient = np.random.default_rng(0).standard_normal((SIZE, 10))
    gradient[NU] = -3_000.0
    free = np.zeros(SIZE, bool)
    free[NU] = True
    found = ascend(START, Gradient.of(gradient), 10, 40_000, free, initial_step(START))
    assert -0.4 <= found.move[NU] < -0.3
    short = ascend(START, Gradient.of(gradient / 1000), 10, 40_000, free, initial_step(START))
    assert short.information[NU, NU] < 50.0  # what variances of scores tell
    square = Gradient.of(gradient / 1000).square
    information = square - 0.9 * np.outer(gradient.sum(axis=1), gradient.sum(axis=1)) / 1e7
    assert information[NU, NU] < 11.0
    # There is nothing to take away.
    np.testing.assert_allclose(_bounded_information(information, START, 10, 40_000), information)


def test_reviewers_who_are_all_alike_do_not_make_steps_long() -> None:
    """Rankings share one mean and one variance: the squares of their gradients tell nothing of the curvature."""
    gradient = np.zeros((SIZE, 1_000))
    gradient[NU], gradient[MU], gradient[LOG_OMEGA] = 0.05, -0.05, -0.05
    for entry in (NU, LOG_OMEGA):
        free = np.zeros(SIZE, bool)
        free[entry] = True
        found = ascend(START, Gradient.of(gradient), 1_000, 5_000, free, initial_step(START))
        assert 0.05 < abs(found.move[entry]) < 0.3
        assert found.gain < 20.0


def test_others_follow_an_entry_that_stays_in_the_box() -> None:
    information = np.eye(SIZE)
    information[NU, MU] = information[MU, NU] = 0.5
    active, pull = np.zeros(SIZE, bool), np.zeros(SIZE)
    active[[MU, NU]], pull[[MU, NU]] = True, (3.0, 1.0)
    found = _boxed_step(information, pull, active, (np.full(SIZE, -1.0), np.full(SIZE, 1.0)))
    # Without a box (10 / 3, -2 / 3); a step cut to it would go down in NU, where the slope at the side goes up.
    assert found[[MU, NU]] == pytest.approx([1.0, 0.5])
    assert not found[~active].any()


def test_rankings_are_recognised() -> None:
    rng = np.random.default_rng(0)
    who, what = np.repeat(np.arange(9), 4), np.concatenate([rng.permutation(12)[:4] for _ in range(9)])
    rank = np.concatenate([rng.permutation(4) + 1.0 for _ in range(9)])
    assert are_rankings(prepare(Rows(who, what, rank), 9, 12).problem)
    rank[0] += 1.0
    assert not are_rankings(prepare(Rows(who, what, rank), 9, 12).problem)
    assert not are_rankings(prepare(Rows(who[:8], what[:8], rank[:8]), 2, 12).problem)
    # Scales that are turned round have the same squares, not the same scores.
    rank[0] -= 1.0
    rank[who > 4] += 1.0
    assert not are_rankings(prepare(Rows(who[who > 0], what[who > 0], rank[who > 0]), 9, 12).problem)


def test_one_score_an_item_does_not_tell_quality_from_noise() -> None:
    rng = np.random.default_rng(0)
    found = fit_averages(np.arange(40), rng.standard_normal(40), 1e-4)
    assert found.slope**2 / found.noise == pytest.approx(1.0, rel=0.2)


def test_messages_without_precision_are_damped_and_those_of_little_are_bounded() -> None:
    block = block_of([[1.0, 2.0, 3.0, 4.0]])
    precision = np.array([[MIN_PRECISION], [MIN_PRECISION], [2.0], [0.1]])
    told = Message(precision, np.array([[1.0], [-80.0], [40.0], [-80.0]]))
    found = damped(told, block, np.array([0.0, -20.0, 0.0, 0.0]))
    assert found.precision is told.precision
    expected = [0.5, -MAX_SHIFT, 40.0, -MAX_SHIFT - 0.1 * SHIFT_PER_PRECISION]
    assert found.shift.ravel().tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("bounded", [[G1], [MU, G1], [MU, G1, LOG_S_R]])
def test_a_step_from_a_bound(bounded) -> None:
    """Where the scale of qualities moves nothing that is free, the step is that of the others."""
    theta, free = START.copy(), np.ones(SIZE, bool)
    theta[bounded] = LOWEST[bounded]
    gradient = np.random.default_rng(0).standard_normal((SIZE, 50))
    gradient[bounded] = -1.0
    found = ascend(theta, Gradient.of(gradient), 50, 200, free, initial_step(theta))
    assert np.isfinite(found.theta).all()
    assert (found.theta[bounded] == LOWEST[bounded]).all()
    assert (found.theta != theta).any()


@pytest.mark.slow
def test_who_only_orders_is_not_asked_where_all_have_too_many_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(problem, state, *given, **options):
        asked.append(state.extent.orders)
        return run_sweeps(problem, state, *given, **options)

    run_sweeps = sweeps.run_sweeps
    monkeypatch.setattr(sweeps, "run_sweeps", counted)
    for load, expected in ((MAX_ORDINAL_LOAD + 1, False), (20, True)):
        who, what = np.repeat([0, 1], load), np.tile(np.arange(load), 2)
        score = np.random.default_rng(0).standard_normal(load)[what] + 0.1 * np.cos(np.arange(who.size))
        sweeps.run_stages(prepare(Rows(who, what, score), 2, load).problem, np.random.default_rng(0), lambda _: None)
        assert any(asked) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("load", "expected"), [(MIN_ORDINAL_LOAD - 1, False), (MIN_ORDINAL_LOAD, True)])
def test_who_only_orders_is_not_asked_where_most_have_two_papers(
    load: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, rng = [], np.random.default_rng(0)

    def counted(problem, state, *given, **options):
        asked.append(state.extent.orders)
        return run_sweeps(problem, state, *given, **options)

    run_sweeps = sweeps.run_sweeps
    monkeypatch.setattr(sweeps, "run_sweeps", counted)
    who = np.repeat(np.arange(40), load)
    what = np.concatenate([rng.permutation(20)[:load] for _ in range(40)])
    score = rng.standard_normal(20)[what] + rng.standard_normal(who.size)
    sweeps.run_stages(prepare(Rows(who, what, score), 40, 20).problem, rng, lambda _: None)
    assert any(asked) is expected


def test_nodes_do_not_swing_about_a_narrow_side_of_the_prior() -> None:
    # Nearly equal scores, a long side of small slopes and a narrow side of large ones: where the nodes lie decides what
    # they see, and that where they lie next.
    score = np.array([0.954, 0.838, 0.843, 0.855, 0.869])
    mean, variance = np.array([-0.47, -1.17, -1.14, -1.53, -2.09]), np.array([0.026, 0.119, 0.031, 0.034, 0.09])
    theta = START.copy()
    theta[:8] = -0.46, 0.35, -3.22, -1.3, 4.3, -0.69, -1.32, 1.05
    layout, _ = lay_out(np.zeros(5, int), np.arange(5), score, 1, 5)
    plain = prepare(Rows(np.zeros(5, int), np.arange(5), score), 1, 5).problem
    known = {"reference_precision": 1 / variance - 1, "reference_shift": mean / variance}
    problem = replace(plain, parts=(Part(layout),), **known)

    state, nodes = initial_state(problem, theta, Extent()), []
    for _ in range(40):
        state = sweep(problem, state, learn=False).state
        nodes.append(state.nodes[0, 0])
    assert np.abs(np.diff(nodes[20:])).max() < 1e-6


def test_gradients_of_a_mixture_with_ordinal_reviewers_are_those_of_its_evidence() -> None:
    """Also by the exponent of weights, on which the scores of ordinal reviewers depend."""
    rng = np.random.default_rng(5)
    block = block_of(rng.standard_normal((4, 5)).tolist())
    cavity = Cavity(0.5 * rng.standard_normal((5, 4)), rng.uniform(0.2, 1.0, (5, 4)))
    theta, weight = START.copy(), rng.standard_normal((5, 4))
    theta[[GAMMA, LOGIT_W]] = 0.3, 0.5
    nodes = Nodes(np.full(4, -0.4), np.full(4, 0.35), np.zeros(4), None)

    def mixed(theta: FloatArray) -> Step:
        factor = np.exp(-theta[GAMMA] * weight)
        plain = step(block, cavity, nodes, theta, factor, weight, 0.02)
        return mixed_step(block, cavity, plain, nodes, theta, factor, weight, 0.02)

    found = mixed(theta)
    assert (found.orders > 0.05).all()
    for place in (*range(9), LOGIT_W, LOG_S_R):
        end = np.zeros(SIZE)
        end[place] = 1e-5
        expected = (mixed(theta + end).log_evidence - mixed(theta - end).log_evidence) / 2e-5
        # The ranking is integrated on a grid that moves with the noise.
        np.testing.assert_allclose(found.gradient[place], expected, atol=2e-2 if place == LOG_S_R else 5e-3)

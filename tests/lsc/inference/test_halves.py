"""Steps for large tables, one reviewer after another in two threads, against whole-array steps."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lsc
from lsc._inference import model, states, sweeps
from lsc._inference.halves import Threads
from lsc._inference.inferring import reviewer_moments
from lsc._inference.model import LOG_OWN, START, Extent
from lsc._inference.states import (
    Gauge,
    Messages,
    Rows,
    initial_state,
    is_zeros_view,
    item_posterior,
    prepare,
    zeros_view,
)
from lsc._inference.sweeps import DAMP_AFTER, spectrum, standardised, sweep, with_hyperparameters
from reviewgraph import read_reviews, stream_reviews
from reviewgraph.graph.kernels.compiling import Policy
from tests.lsc.inference.simulated_tables import table
from tests.lsc.test_posterior_streams import expect_same
from tests.lsc.test_streams import conference, written


@pytest.fixture(autouse=True)
def never_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tables are small: to compile for them would take longer than all else."""
    monkeypatch.setattr(Policy, "pays", lambda *_: False)


def expect_equal(one, other, tolerance=1e-10) -> None:
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def problem_of_all_loads(*, whole: bool = False):
    """Reviewers of none, one, few and many papers, some of more than ``PRODUCT``; one score says nothing of slopes."""
    who, what, score, _ = table(0, 30, 24, 20, own=0.5)
    score = np.round(score) if whole else score
    kept = np.arange(who.size) % 20 < np.array([1, 2, 5, 9, 20, 11])[who % 6]
    return prepare(Rows(who[kept], what[kept], score[kept]), 25, 30).problem


@pytest.mark.parametrize("machine", [False, True], ids=["as written", "machine code"])
@pytest.mark.parametrize(
    ("own", "kappa", "orders"), [(False, 0.0, False), (True, 0.0, False), (False, 0.5, False), (False, 0.0, True)]
)
def test_compiled_steps_are_those_of_whole_arrays(
    own: bool, kappa: float, orders: bool, machine: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if machine:
        monkeypatch.setattr(Policy, "pays", lambda *_: True)
    # Ordinal reviewers give equal scores, too.
    plain = problem_of_all_loads(whole=orders)
    compiled = replace(plain, compiled=True)
    theta = START.copy()
    theta[LOG_OWN] = np.log(0.4)
    state = initial_state(plain, theta, Extent(own, orders, kappa, strength=kappa / 3))
    for _ in range(4):
        found, expected = sweep(compiled, state), sweep(plain, state)
        expect_equal(found.evidence, expected.evidence)
        for one, other in zip(found.gradient, expected.gradient, strict=True):
            expect_equal(one, other, 1e-9)
        expect_equal(found.mean, expected.mean)
        expect_equal(found.state.nodes[: 4 if own else 2], expected.state.nodes[: 4 if own else 2])
        expect_equal(found.state.orders, expected.state.orders)
        expect_equal(found.state.fresh, expected.state.fresh)
        for one, other in zip(found.state.sums, expected.state.sums, strict=True):
            expect_equal(one, other)
        theta = state.theta + 0.05 * np.sin(np.arange(theta.size))
        state = standardised(plain, with_hyperparameters(expected.state, theta))
    for one, other in zip(reviewer_moments(compiled, state), reviewer_moments(plain, state), strict=True):
        expect_equal(one, other)


def test_reviewers_of_several_loads_that_share_a_block_are_those_of_blocks_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for narrow in (0, model.NARROW):
        monkeypatch.setattr(model, "NARROW", narrow)
        problem = problem_of_all_loads(whole=True)
        state = initial_state(problem, START, Extent(own=True, orders=True))
        for _ in range(2):
            state = sweep(problem, state).state
        found.append((len([*problem.parts[0].layout.blocks]), sweep(problem, state)))
    (several, apart), (one, together) = found
    assert (one, several > 3) == (1, True)
    expect_equal(together.evidence, apart.evidence)
    expect_equal(together.mean, apart.mean)
    expect_equal(together.gradient.square, apart.gradient.square, 1e-9)
    expect_equal(together.state.nodes, apart.state.nodes)
    expect_equal(together.state.orders, apart.state.orders)


def test_likeness_is_found_by_passes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "MAX_EXACT", 0)
    plain = problem_of_all_loads()
    found, expected = (
        spectrum(problem, np.random.default_rng(0), 8) for problem in (replace(plain, compiled=True), plain)
    )
    assert found.log_determinant(0.5) == pytest.approx(expected.log_determinant(0.5), rel=1e-9)
    assert found.mean_square(0.5) == pytest.approx(expected.mean_square(0.5), rel=1e-9)


def test_changes_of_scale_add_up() -> None:
    told = Messages(*np.random.default_rng(0).standard_normal((4, 7)))
    one, two = Gauge(0.3, 1.5), Gauge(-0.2, 0.8)
    for found, expected in zip(told.rescaled(one.then(two)), told.rescaled(one).rescaled(two), strict=True):
        expect_equal(found, expected)
    assert is_zeros_view(told._replace(likeness_precision=zeros_view(7)).rescaled(one).likeness_precision)


def test_the_halves_of_a_range_come_in_order() -> None:
    with Threads() as threads:
        assert threads.map_halves(lambda low, high: (low, high), 5, 2) == [(0, 2), (2, 5)]


def test_sweeps_over_papers_that_move_end_where_all_sweeps_end(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = problem_of_all_loads()
    state, sizes = initial_state(plain, START, Extent()), []
    for _ in range(4):
        found = sweep(plain, state)
        state = found.state
    settled = state
    for _ in range(60):
        settled = sweep(plain, settled).state

    def counted(*given, changed, **options):
        sizes.append(int(changed.sum()))
        return sweep(*given, changed=changed, **options)

    monkeypatch.setattr(sweeps, "sweep", counted)
    compiled = replace(plain, compiled=True)
    _, quick, n_sweeps = sweeps._partial_sweeps(compiled, state, found.mean, sweeps.TOLERANCE, n_converged=1)
    assert n_sweeps == len(sizes) < sweeps.MAX_PARTIAL_SWEEPS
    assert sizes[0] > sizes[-1] > 0
    # Another scale of the qualities would move all papers.
    assert (quick.theta == state.theta).all()
    assert quick.gauge == state.gauge
    one, other = item_posterior(plain, quick), item_posterior(plain, settled)
    apart = np.abs(one.shift / one.precision - other.shift / other.precision) * np.sqrt(other.precision)
    assert apart.max() < 10 * sweeps.TOLERANCE


@pytest.mark.parametrize("compiled", [True, False])
def test_messages_that_will_not_settle_go_half_of_the_way_and_nodes_less_and_less(compiled: bool) -> None:
    problem = replace(problem_of_all_loads(), compiled=compiled)
    state = sweep(problem, initial_state(problem, START, Extent(own=True))).state
    plain, early, calm = (sweep(problem, state, n_converged=count).state for count in (0, 3, DAMP_AFTER + 1))
    [old], [new], [half] = state.messages, plain.messages, calm.messages
    expect_equal(half.precision, 0.5 * (old.precision + new.precision))
    expect_equal(half.shift, 0.5 * (old.shift + new.shift))
    expect_equal(calm.sums.shift, 0.5 * (state.sums.shift + plain.sums.shift))
    expect_equal(early.messages[0].shift, new.shift)
    expect_equal(early.nodes, state.nodes + 0.25 * (plain.nodes - state.nodes))


def test_large_tables_are_the_same_by_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "COMPILE_FROM", 0)
    for limit in ("MAX_SWEEPS", "MAX_ROUGH_SWEEPS", "MAX_PARTIAL_SWEEPS"):
        monkeypatch.setattr(sweeps, limit, 3)
    path = written(tmp_path, conference(1, n_reviewers=6))
    whole = lsc.posterior(read_reviews(path), average_models=False)
    with stream_reviews(path, batch=7) as stream:
        expect_same(lsc.posterior_stream(stream), whole)


def test_steps_are_compiled_for_many_reviews() -> None:
    rng = np.random.default_rng(0)
    for size, compiled in ((states.COMPILE_FROM, True), (states.COMPILE_FROM - 1, False)):
        rows = states.Rows(np.arange(size) // 5, rng.integers(0, 50, size), rng.normal(size=size))
        assert states.prepare(rows, size // 5 + 1, 50).problem.compiled == compiled

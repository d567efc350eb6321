"""Steps for large tables, one reviewer after another in two threads, against whole-array steps."""

from dataclasses import replace

import numpy as np
import pytest

from lsc.inference import likeness
from lsc.inference.describing import people
from lsc.inference.halves import Threads
from lsc.inference.likeness import spectrum
from lsc.inference.model import LOG_OWN, START, Extent
from lsc.inference.preparing import Rows, prepare
from lsc.inference.states import Gauge, Messages, is_nothing, nothing, start
from lsc.inference.sweeps import learned, standardised, sweep
from tests.lsc.inference.simulated_tables import table


def expect_equal(one, other, tolerance=1e-10) -> None:
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def problem_of_all_loads():
    """Reviewers of none, one, few and many papers; one papers' scores say nothing of their slopes."""
    who, what, score, _ = table(0, 30, 24, 12, own=0.5)
    kept = np.arange(who.size) % 12 < np.array([1, 2, 5, 9, 12, 11])[who % 6]
    return prepare(Rows(who[kept], what[kept], score[kept]), 25, 30).problem


@pytest.mark.parametrize(("own", "kappa"), [(False, 0.0), (True, 0.0), (False, 0.5)])
def test_compiled_steps_are_those_of_whole_arrays(own: bool, kappa: float) -> None:
    plain = problem_of_all_loads()
    compiled = replace(plain, compiled=True)
    theta = START.copy()
    theta[LOG_OWN] = np.log(0.4)
    state = start(plain, theta, Extent(own=own, kappa=kappa, strength=kappa / 3))
    for _ in range(4):
        found, expected = sweep(compiled, state), sweep(plain, state)
        expect_equal(found.evidence, expected.evidence)
        for one, other in zip(found.gradient, expected.gradient, strict=True):
            expect_equal(one, other, 1e-9)
        expect_equal(found.mean, expected.mean)
        expect_equal(found.state.nodes[: 4 if own else 2], expected.state.nodes[: 4 if own else 2])
        for one, other in zip(found.state.sums, expected.state.sums, strict=True):
            expect_equal(one, other)
        theta = state.theta + 0.05 * np.sin(np.arange(theta.size))
        state = standardised(plain, learned(expected.state, theta))
    for one, other in zip(people(compiled, state), people(plain, state), strict=True):
        expect_equal(one, other)


def test_likeness_is_found_by_passes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likeness, "EXACT", 0)
    plain = problem_of_all_loads()
    found, expected = (
        spectrum(problem, np.random.default_rng(0), 8) for problem in (replace(plain, compiled=True), plain)
    )
    assert found.log_determinant(0.5) == pytest.approx(expected.log_determinant(0.5), rel=1e-9)
    assert found.mean_square(0.5) == pytest.approx(expected.mean_square(0.5), rel=1e-9)


def test_changes_of_scale_add_up() -> None:
    told = Messages(*np.random.default_rng(0).standard_normal((4, 7)))
    one, two = Gauge(0.3, 1.5), Gauge(-0.2, 0.8)
    for found, expected in zip(told.moved(one.then(two)), told.moved(one).moved(two), strict=True):
        expect_equal(found, expected)
    assert is_nothing(told._replace(likeness_precision=nothing(7)).moved(one).likeness_precision)


def test_the_halves_of_a_range_come_in_order() -> None:
    with Threads() as threads:
        assert threads.both(lambda low, high: (low, high), 5, 2) == [(0, 2), (2, 5)]

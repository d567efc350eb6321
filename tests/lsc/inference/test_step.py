"""The compiled step of a reviewer against dense integration, and what must leave it unchanged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from lsc._inference.kernels.step import Hyper, describe_reviewers, step_reviewers
from lsc._inference.step import Gauge, Items, Moments, Nodes, Part, Quadrature, Sites
from tests.oracles import dense

HYPER = Hyper(
    mu=-0.3,
    tau_left=0.5,
    tau_right=0.3,
    g0=0.1,
    g1=0.3,
    omega_square=0.36,
    rho=0.5,
    gamma=0.4,
    rounding=0.02,
    prior=0.9,
)
SAME = Gauge()
LOADS = (1, 2, 5, 12, 40)


class Case(NamedTuple):
    """A part with its state, and the papers after all sites, one for each review."""

    part: Part
    sites: Sites
    nodes: Nodes
    items: Items

    def copied(self) -> Case:
        return self._replace(sites=Sites(*map(np.copy, self.sites)), nodes=Nodes(*map(np.copy, self.nodes)))


def case(*loads: int) -> Case:
    """Draw reviewers of these numbers of papers, with any sites."""
    rng = np.random.default_rng(loads[0])
    size, n = sum(loads), len(loads)
    mean, variance = rng.standard_normal(size), rng.uniform(0.1, 0.8, size)
    who = np.repeat(np.arange(n), loads)
    score = rng.standard_normal(n)[who] + rng.lognormal(-0.3, 0.4, n)[who] * mean + 0.8 * rng.standard_normal(size)
    precision = rng.uniform(0.05, 0.5, size)
    shift = precision * rng.standard_normal(size)
    start = np.concatenate([[0], np.cumsum(loads)])
    part = Part(start, np.arange(size, dtype=np.int32), score, rng.standard_normal(size))
    nodes = Nodes(*(np.full(n, value) for value in (HYPER.mu + 0.01, 0.4, 0.35)))
    items = Items(1 / variance + precision, mean / variance + shift)
    return Case(part, Sites(precision, shift, np.zeros(size), np.zeros(size)), nodes, items)


def step(drawn: Case, damping: float = 1.0, gauge: Gauge = SAME, hyper: Hyper = HYPER) -> tuple[Moments, Items]:
    """Step in place; return moments and sums of sites."""
    sums, moments = (
        Items(*np.zeros((2, drawn.items.shift.size))),
        Moments(*np.zeros((len(Moments._fields), drawn.part.start.size - 1))),
    )
    step_reviewers(*drawn, hyper, gauge, damping, sums, moments)
    return moments, sums


@pytest.mark.parametrize("load", LOADS)
def test_moments_sites_and_evidence_are_those_of_dense_integration(load: int) -> None:
    drawn = case(load)
    variance = 1 / (drawn.items.precision - drawn.sites.precision)
    mean = (drawn.items.shift - drawn.sites.shift) * variance
    log_weight = drawn.part.log_weight
    exact = dense.reviewer(drawn.part.score, mean, variance, 0.35, np.exp(-HYPER.gamma * log_weight), HYPER)
    # Undamped at last, when the nodes lie around the posterior of the slope.
    for damping in (0.0, 0.0, 1.0):
        moments, sums = step(drawn, damping)
    expected = exact.moments | {
        "squares": 0.35 * exact.ratio.sum(),
        "gamma": -((exact.ratio - 1) * log_weight).sum(),
        "gamma_curvature": (exact.ratio * log_weight**2).sum(),
    }
    items = drawn.items
    potential = 0.5 * (mean**2 / variance - items.shift**2 / items.precision + np.log(items.precision * variance)).sum()
    expected["evidence"] = exact.evidence + potential
    assert set(expected) == set(Moments._fields)
    for name, value in expected.items():
        assert getattr(moments, name)[0] == pytest.approx(value, abs=0.02 if "below" in name else 4e-3), name
    # Cavity and site multiply to the tilted moments.
    total = 1 / variance + drawn.sites.precision
    np.testing.assert_allclose(1 / total, exact.variance, rtol=2e-3)
    np.testing.assert_allclose((mean / variance + drawn.sites.shift) / total, exact.mean, atol=1e-3)
    assert all((total == site).all() for total, site in zip(sums, drawn.sites, strict=False))


@pytest.mark.parametrize("variance", [1e-4, 1.0, 1e4])
def test_products_over_many_reviews_stay_within_the_range_of_numbers(variance: float) -> None:
    drawn = case(3000)
    drawn.nodes.noise[:] = variance
    for of_items in drawn.items:
        of_items /= variance
    assert np.isfinite(step(drawn)[0]).all()
    assert np.isfinite(drawn.sites).all()


def test_damping_moves_sites_a_part_of_the_way_and_zero_leaves_them() -> None:
    start, whole, half, none = (case(*LOADS) for _ in range(4))
    for drawn, damping in ((whole, 1.0), (half, 0.5), (none, 0.0)):
        step(drawn, damping)
    for before, there, between, same in zip(start.sites[:2], whole.sites, half.sites, none.sites, strict=False):
        assert np.abs(there - before).max() > 0.1
        np.testing.assert_allclose(between, 0.5 * (before + there))
        assert (same == before).all()


def assert_equal(first: Case, one: tuple[Moments, Items], second: Case, other: tuple[Moments, Items]) -> None:
    names = (*one[0], *one[1], *first.sites, *first.nodes), (*other[0], *other[1], *second.sites, *second.nodes)
    for a, b in zip(*names, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_a_gauge_is_a_change_of_sites_and_nodes() -> None:
    drawn = case(*LOADS)
    moved = drawn.copied()
    moved.sites.precision[:] = drawn.sites.precision * 1.7**2
    moved.sites.shift[:] = (drawn.sites.shift - 0.4 * drawn.sites.precision) * 1.7
    moved.nodes.centre[:] = drawn.nodes.centre + np.log(1.7)
    items = Items(2.0 + moved.sites.precision, 0.3 + moved.sites.shift)
    found = step(drawn._replace(items=items), 0.7, Gauge(0.4, 1.7))
    assert_equal(drawn, found, moved, step(moved._replace(items=items), 0.7))


def test_reviewers_without_reviews_have_no_moments_and_change_nobody() -> None:
    full = case(3, 5)
    nodes = Nodes(*(np.full(6, value[0]) for value in full.nodes))
    sparse = full.copied()._replace(part=full.part._replace(start=np.array([0, 0, 3, 3, 3, 8, 8])), nodes=nodes)
    found, expected = step(sparse), step(full)
    for one, other in zip(found[0], expected[0], strict=True):
        np.testing.assert_allclose(one[[1, 4]], other)
        assert (one[[0, 2, 3, 5]] == 0).all()
    assert (found[1].precision == expected[1].precision).all()
    assert (nodes.centre[[0, 2, 3, 5]] == HYPER.mu + 0.01).all()


def test_improper_cavities_are_bounded() -> None:
    drawn = case(4)
    drawn.sites.precision[2] = 2 * drawn.items.precision[2]
    assert np.isfinite([value[0] for value in step(drawn)[0]]).all()
    assert (drawn.sites.precision > 0).all()


def test_nodes_describe_the_posterior_of_which_moments_are_returned() -> None:
    drawn = case(*LOADS)
    for _ in range(2):
        step(drawn, 0.0)
    moments, _ = step(drawn.copied(), 0.0)
    tables = Quadrature(*np.zeros((5, len(LOADS), 13)))
    describe_reviewers(*drawn, HYPER, SAME, tables)
    for name, value in (
        ("slope", tables.slope),
        ("offset", tables.offset),
        ("offset_square", tables.offset**2 + tables.offset_variance),
    ):
        assert (tables.share * value).sum(axis=1) == pytest.approx(getattr(moments, name))

"""Similarity of papers that share reviewers: sites and evidence against dense normal algebra, and its strength."""

import numpy as np
import pytest

from lsc._inference import fitting
from lsc._inference.fitting import KAPPAS, Spectrum, spectrum_of
from lsc._inference.inferring import infer, laplacian, problem_of
from lsc._inference.kernels.likeness import step_likeness
from lsc._inference.step import Gauge, Items, Part, Sites, pieces_of, state_of
from reviewgraph._base import FloatArray, IntArray
from tests.lsc.inference.simulated_tables import table, tracks
from tests.oracles.dense import prior_precision

KAPPA, SAME = 0.6, Gauge()
#: Papers of reviewers of whom no two share more than one, without a circle.
TREE = [[0, 1, 2], [2, 3], [3, 4, 5, 6], [6, 7]]


def part_of(who: IntArray, what: IntArray) -> Part:
    order = np.argsort(who, kind="stable")
    start = np.searchsorted(who[order], np.arange(who.max() + 2))
    return Part(start, what[order].astype(np.int32), np.zeros(who.size), np.empty(0))


def papers_of(papers: list[list[int]]) -> tuple[IntArray, IntArray]:
    return np.repeat(np.arange(len(papers)), [len(own) for own in papers]), np.concatenate(papers)


@pytest.mark.parametrize("papers", [TREE, [[0, 1, 2, 3, 4]]], ids=["tree", "one reviewer"])
def test_a_tree_is_exact(papers: list[list[int]]) -> None:
    """Scores are measurements of x ~ N(0, K^-1)."""
    who, what = papers_of(papers)
    part, size, rng = part_of(who, what), int(what.max()) + 1, np.random.default_rng(0)
    scores = Items(rng.uniform(0.2, 2.0, size), rng.standard_normal(size))
    precision = prior_precision(who, what, size, KAPPA)
    laplace = (precision - (1 - KAPPA) * np.eye(size)) / KAPPA
    diagonal = float(np.bincount(what, 1 - 1 / np.bincount(who)[who]).mean())
    sites, sums = Sites(*np.zeros((4, what.size))), Items(np.zeros(size), np.zeros(size))
    for _ in range(60):
        items = Items(0.4 + scores.precision + sums.precision, scores.shift + sums.shift)
        sums = Items(np.zeros(size), np.zeros(size))
        evidence, squares = step_likeness(part, sites, items, 0.4, KAPPA / diagonal, SAME, 0.9, sums)

    covariance = np.linalg.inv(precision + np.diag(scores.precision))
    mean = covariance @ scores.shift
    np.testing.assert_allclose(1 / items.precision, np.diag(covariance), rtol=1e-9)
    np.testing.assert_allclose(items.shift / items.precision, mean, atol=1e-9)
    assert squares == pytest.approx(diagonal * (mean @ laplace @ mean + np.trace(laplace @ covariance)))
    evidence += 0.5 * (items.shift**2 / items.precision - np.log(items.precision)).sum()
    exact = np.linalg.slogdet(covariance)[1] + mean @ scores.shift
    assert evidence == pytest.approx(0.5 * exact)

    # With strength 0 the squares are those of independent papers.
    evidence, squares = step_likeness(part, sites, items, 0.4, 0.0, SAME, 0.9, sums)
    independent = diagonal * (mean @ laplace @ mean + np.trace(laplace @ np.diag(1 / items.precision)))
    assert evidence == 0.0
    assert squares == pytest.approx(independent)


def test_a_gauge_is_a_change_of_shifts_and_leaves_the_precision_of_the_prior() -> None:
    part, rng = part_of(*papers_of(TREE)), np.random.default_rng(0)
    sites = Sites(*rng.uniform(0.1, 0.4, (4, part.item.size)))
    moved = Sites(*map(np.copy, sites))
    moved.likeness_shift[:] = (sites.likeness_shift - 0.4 * sites.likeness_precision) / 1.7
    items, found = Items(rng.uniform(2.0, 3.0, 8), rng.standard_normal(8)), []
    for state, gauge in ((sites, Gauge(0.4, 1.7)), (moved, SAME)):
        sums = Items(np.zeros(8), np.zeros(8))
        first = step_likeness(part, state, items, 0.4, 0.8, gauge, 0.7, sums)
        found.append(np.concatenate([first, *state, *sums]))
    np.testing.assert_allclose(found[0], found[1])


def spectrum(who: IntArray, what: IntArray, n_items: int) -> tuple[Spectrum, FloatArray]:
    """Return the spectrum, and the exact eigenvalues of L / dbar."""
    problem = problem_of(pieces_of(state_of(part_of(who, what)), n_items))
    found = spectrum_of(laplacian(problem), problem.degree, problem.known, np.random.default_rng(0))
    assert found is not None
    precision = prior_precision(who, what, n_items, 0.5)[np.ix_(problem.known, problem.known)]
    return found, np.asarray(np.linalg.eigvalsh(2 * precision - np.eye(len(precision))), np.float64)


def test_the_spectrum_is_that_of_the_laplacian_and_its_estimate_near(monkeypatch: pytest.MonkeyPatch) -> None:
    who, what, _, _ = table(0, 150, 100, 4)
    found, exact = spectrum(who, what, 155)  # five papers have no score
    determinant = np.log1p(np.multiply.outer(KAPPAS, exact - 1)).sum(axis=1)
    np.testing.assert_allclose(found.log_determinant(KAPPAS), determinant)
    # The best kappa, and the gain that a score test promises.
    for squares, own in ((80.0, 60.0), (100.0, 50.0), (110.0, 100.0)):
        density = determinant - KAPPAS * (squares / found.diagonal - own)
        assert found.best(squares, own) == KAPPAS[np.argmax(density)]
        score = max(0.5 * (own - squares / found.diagonal), 0.0)
        assert found.promise(squares, own) == pytest.approx(score**2 / ((exact - 1) ** 2).sum())
    monkeypatch.setattr(fitting, "EXACT", 0)
    monkeypatch.setattr(fitting, "PROBES", 400)
    estimate, _ = spectrum(who, what, 155)
    assert estimate.weight.sum() == pytest.approx(150)
    np.testing.assert_allclose(estimate.log_determinant(KAPPAS), determinant, atol=0.4, rtol=0.02)


@pytest.mark.parametrize("kappa", [0.0, 0.85])
def test_kappa_is_recovered(kappa: float) -> None:
    found = []
    for seed in range(2, 5):
        who, what, _, _ = tracks(seed, 300, 4)
        rng = np.random.default_rng(seed)
        root = np.linalg.cholesky(prior_precision(who, what, 300, kappa))
        quality = np.linalg.solve(root.T, rng.standard_normal(300))
        score = rng.normal(0, 1, 300)[who] + rng.lognormal(0, 0.3, 300)[who] * quality[what] / quality.std()
        found.append(infer(who, what, score + 0.5 * rng.standard_normal(who.size), 300, 300))
    assert np.mean([posterior.kappa for posterior in found]) == pytest.approx(kappa, abs=0.15)
    # Means and variances are those of the sites and of the prior.
    posterior, known = found[-1], np.bincount(what, minlength=300) > 0
    precision = np.bincount(what, posterior.precision + posterior.likeness_precision, 300) + posterior.prior
    shift = np.bincount(what, posterior.shift + posterior.likeness_shift, 300)
    np.testing.assert_allclose(posterior.variance[known], 1 / precision[known])
    np.testing.assert_allclose(posterior.mean[known], (shift / precision)[known], atol=1e-9)


def test_similarity_that_raises_the_evidence_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [tracks(seed, 100, 3, 12, 0.5) for seed in range(6)]
    found = [infer(drawn.who, drawn.what, drawn.score, 100, 100) for drawn in tables]
    monkeypatch.setattr(Spectrum, "promise", lambda *_: 100.0)
    tried = [infer(drawn.who, drawn.what, drawn.score, 100, 100) for drawn in tables]
    assert [posterior.kappa > 0 for posterior in found] == [posterior.kappa > 0 for posterior in tried]

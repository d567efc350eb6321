"""The quality that references measure: the line, honest errors where judges share an error, and what adds up."""

from typing import NamedTuple

import numpy as np
import pytest

import lsc
from lsc._inference.validity import validity_of
from reviewgraph import InputError, Reviews
from reviewgraph._base import FloatArray, IntArray
from tests.trials import NIGHTLY

N = 60


class Judged(NamedTuple):
    """A posterior with references, the wanted qualities, and items with and without a reference."""

    found: lsc.PosteriorEstimate
    wanted: FloatArray
    item: IntArray
    others: IntArray


def judged(seed: int, relation: float, n: int = 15, *, lower_is_better: bool = False) -> Judged:
    """Draw six judges of half of the items each, whose consensus has this correlation with the wanted quality."""
    rng = np.random.default_rng(seed)
    wanted = rng.standard_normal(N)
    agreed = relation * wanted + np.sqrt(1 - relation**2) * rng.standard_normal(N)
    who, what = np.repeat(np.arange(6), N // 2), np.concatenate([rng.permutation(N)[: N // 2] for _ in range(6)])
    score = rng.normal(0, 0.5, 6)[who] + rng.lognormal(0, 0.2, 6)[who] * agreed[what]
    score += 0.5 * rng.standard_normal(who.size)
    item = rng.permutation(np.unique(what))[:n]
    wanted = 100 + 15 * wanted
    sign = -1 if lower_is_better else 1
    reviews = Reviews.from_codes(who, what, sign * score, reviewers=6, items=N, lower_is_better=lower_is_better)
    found = lsc.posterior(reviews, references={i: sign * float(wanted[i]) for i in item.tolist()})
    return Judged(found, wanted, item, np.setdiff1d(np.flatnonzero(np.isfinite(found.quality)), item))


def test_a_line_is_recovered_with_its_error() -> None:
    slope, sd, inside = [], [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        quality = 5 + 2 * rng.standard_normal(N)
        value = np.full(N, np.nan)
        value[:20] = 10 + 3 * quality[:20] + 4 * rng.standard_normal(20)
        found = validity_of(quality, np.full(N, 0.5), value)
        low, high = found.slope_interval
        inside.append(low < 3 < high)
        slope.append(found.estimate)
        sd.append(found.sd)
    assert np.mean(slope) == pytest.approx(3.0, abs=0.15)
    assert np.mean(inside) == pytest.approx(0.9, abs=0.06)
    # Of the residual variance 16, 9 x .25 is that of the judges' quality.
    assert np.mean(sd) == pytest.approx(np.sqrt(16 - 9 * 0.25), rel=0.12)


@pytest.mark.parametrize(("relation", "n"), [(0.9, 20), (0.6, 20), (0.3, 10)])
def test_errors_and_probabilities_are_of_the_wanted_quality(relation: float, n: int) -> None:
    """On items without references: without omega in their errors these would be 1.5 to 4 times too small."""
    standard, chances, tops = [], [], []
    for seed in range(150 if NIGHTLY else 40):
        found, wanted, item, others = judged(seed, relation, n)
        standard.append(((wanted - found.quality) / found.standard_error)[others])
        known = np.union1d(item, others)
        tops.append(np.isin(others, known[np.argsort(-wanted[known])[: N // 5]]))
        chances.append(found.probability_in_top(N // 5)[others])
    assert np.concatenate(standard).std() == pytest.approx(1.0, abs=0.12 if n == 20 else 0.25)
    chance, top = np.concatenate(chances), np.concatenate(tops)
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 1.0)):
        among = (chance >= low) & (chance < high)
        error = 0.05 + 1.5 / np.sqrt(max(among.sum(), 1))
        assert top[among].mean() == pytest.approx(chance[among].mean(), abs=error)


def test_references_that_judges_do_not_predict_are_an_answer() -> None:
    includes, opposite = [], 0
    for seed in range(20):
        found, wanted, item, others = judged(seed, 0.0)
        low, high = found.validity.slope_interval
        includes.append(low < 0 < high)
        assert found.validity.is_predictive == (low > 0)
        assert found.validity.unexplained > 0.7
        if found.validity.estimate < 0:
            # Judges say nothing: items differ by references alone.
            opposite += 1
            assert np.ptp(found.quality[others]) < 1e-9
            assert np.ptp(found.probability_in_top(12)[others]) < 0.1
            assert np.corrcoef(found.quality[item], wanted[item])[0, 1] > 0.99
    assert np.mean(includes) >= 0.8
    assert opposite > 3


def test_a_referenced_paper_combines_both_and_contributions_sum_to_it() -> None:
    found, wanted, item, others = judged(0, 0.7)
    # Precisions add up: of the line with the judges' half of omega^2, and of a reference with its own.
    x, y, variance = found.beliefs.quality[item], wanted[item], found.beliefs.standard_error[item] ** 2
    slope, intercept = np.polyfit(x, y, 1)
    residual = y - intercept - slope * x
    total = (residual @ residual + y.var(ddof=1)) / (item.size - 1)
    own = 0.5 * (total - slope**2 * variance.mean())
    judges = own + total * (1 / item.size + (x - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()) + slope**2 * variance
    np.testing.assert_allclose(found.standard_error[item] ** -2, 1 / judges + 1 / own)
    combined = ((intercept + slope * x) / judges + y / own) / (1 / judges + 1 / own)
    np.testing.assert_allclose(found.quality[item], combined)
    for code in (int(item[0]), int(others[0])):
        account = found.account(code)
        assert account.total == pytest.approx(found.quality[code])
        assert sum(part.weight for part in account.parts) == pytest.approx(1.0)
        assert [part.source for part in account.parts].count("reference") == (code in item)
    # Draws and differences have the moments reported.
    draws, known = found.draws(4000, seed=1), np.union1d(item, others)
    error = found.standard_error[known]
    np.testing.assert_allclose(draws.mean(axis=0)[known], found.quality[known], atol=0.06 * error.max())
    np.testing.assert_allclose(draws.std(axis=0)[known] / error, 1.0, atol=0.06)
    for a, b in (others[:2], item[:2]):
        spread = (draws[:, a] - draws[:, b]).std()
        assert spread == pytest.approx(found.difference(int(a), int(b)).standard_error, rel=0.05)


def test_lower_is_better_turns_references_with_the_scale() -> None:
    one, other = judged(3, 0.8).found, judged(3, 0.8, lower_is_better=True).found
    np.testing.assert_allclose(other.quality, one.quality, rtol=1e-6)
    np.testing.assert_allclose(other.standard_error, one.standard_error, rtol=1e-6)
    assert other.validity.estimate == pytest.approx(one.validity.estimate)


@pytest.mark.parametrize("value", [[1.0, 2.0], [3.0, 3.0, 3.0], [1.0, np.nan, 2.0]])
def test_references_that_determine_no_line_are_refused(value: list[float]) -> None:
    with pytest.raises(InputError, match="references: expected 3 or more of different values"):
        validity_of(np.arange(len(value), dtype=float), np.full(len(value), 0.4), np.array(value))

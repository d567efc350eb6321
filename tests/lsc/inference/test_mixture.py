"""A mixture of models against its definition: sums over members, written out, and exact Gaussian members."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm, rankdata

import lsc
from lsc._inference import inferring, predicting
from lsc._inference.averaging import difference, draws, leave_one_out, predictive
from lsc._inference.beliefs import Posterior
from lsc._inference.mixture import LEAST_WEIGHT, TEMPERATURE, straightened, tempered
from reviewgraph import Reviews


def panel(seed: int = 0, *, levels: int = 0) -> tuple[np.ndarray[Any, Any], ...]:
    """Return reviewers, items and scores of judges who differ in severity, slope and noise, on a scale that ends."""
    rng = np.random.default_rng(seed)
    reviewer = np.repeat(np.arange(24), 10)
    item = np.concatenate([rng.permutation(40)[:10] for _ in range(24)])
    quality, slope = rng.standard_normal(40), np.exp(0.3 * rng.standard_normal(24))
    noise = 0.6 * np.exp(0.4 * rng.standard_normal(24))[reviewer] * rng.standard_normal(240)
    score = 0.8 * rng.standard_normal(24)[reviewer] + slope[reviewer] * quality[item] + noise
    score = np.minimum(score, 1.5)
    return reviewer, item, np.clip(np.round(score), -levels, levels) if levels else np.round(score, 2)


def inferred(*table: Any, **options: Any) -> Posterior:
    reviewer, item, score = table
    return inferring.infer(reviewer, item, score, 24, 40, average_models=True, **options)


@pytest.fixture(scope="module", params=[0, 2])
def found(request: pytest.FixtureRequest) -> Posterior:
    return inferred(*panel(levels=request.param))


def test_moments_are_sums_over_members(found: Posterior) -> None:
    weights = [member.weight for member in found.members]
    assert len(weights) >= 3
    assert sum(weights) == pytest.approx(1.0)
    for i in range(40):
        means = [member.posterior.mean[i] for member in found.members]
        errors = [member.posterior.order_error[i] / found.scale for member in found.members]
        mean = sum(w * m for w, m in zip(weights, means, strict=True))
        square = sum(w * (m**2 + e**2) for w, m, e in zip(weights, means, errors, strict=True))
        assert found.mean[i] == pytest.approx(mean)
        assert (found.order_error[i] / found.scale) ** 2 == pytest.approx(square - mean**2)


def test_contributions_of_members_sum_to_the_quality(found: Posterior) -> None:
    for i in range(40):
        rows = found.item == i
        weight = np.zeros(rows.sum())
        moves = np.zeros(rows.sum())
        for w, one, _ in found.members:
            weight += w * one.variance[i] * one.precision[rows]
            moves += w * one.variance[i] * one.shift[rows]
        assert found.variance[i] * found.precision[rows] == pytest.approx(weight)
        assert found.variance[i] * found.shift[rows] == pytest.approx(moves)
        assert moves.sum() == pytest.approx(found.mean[i])
        assert weight.sum() + found.variance[i] * np.broadcast_to(found.prior, 40)[i] == pytest.approx(1.0)


def test_weights_are_tempered_evidences(found: Posterior) -> None:
    numbers = [member for member in found.members if not member.posterior.extent.ordinal]
    levels = [member for member in found.members if member.posterior.extent.ordinal]
    for one in numbers:
        for other in numbers:
            nats = one.posterior.evidence - other.posterior.evidence
            assert np.log(one.weight / other.weight) == pytest.approx(nats / TEMPERATURE)
    assert sum(member.weight for member in levels) == pytest.approx(0.5 * len(levels))
    # The state is that of numbers, so scores are predicted.
    assert not found.extent.ordinal
    assert not found.members[0].straightened


def test_weights_below_the_least_are_none() -> None:
    far = -TEMPERATURE * np.log(1 / LEAST_WEIGHT)
    assert tempered([0.0, far - 1.0]).tolist() == [1.0, 0.0]
    assert tempered([0.0, far + 1.0])[1] > 0


def test_draws_and_differences_are_those_of_the_mixture(found: Posterior) -> None:
    sample = draws(found, 4_000, np.random.default_rng(0))
    error = found.order_error
    assert np.abs(sample.mean(axis=0) - found.quality).max() < 0.08 * error.max()
    assert sample.std(axis=0) == pytest.approx(error, rel=0.1)
    for first, second in ((0, 1), (3, 17)):
        gap = sample[:, first] - sample[:, second]
        claimed = difference(found, first, second)
        assert gap.mean() == pytest.approx(claimed.mean, abs=0.08 * claimed.standard_error)
        assert gap.std() == pytest.approx(claimed.standard_error, rel=0.06)


def test_reviewers_have_the_quantiles_of_draws_from_members(found: Posterior) -> None:
    rng = np.random.default_rng(0)
    kind = rng.choice(len(found.members), 40_000, p=[member.weight for member in found.members])
    for name in ("severity", "stretch", "noise"):
        claimed = getattr(found.reviewers, name)
        for j in (0, 11):
            each = [getattr(member.posterior.reviewers, name) for member in found.members]
            ends = np.array([[quantity.low[j], quantity.high[j]] for quantity in each])[kind]
            ends = ends if name == "severity" else np.log(ends)
            sample = ends.mean(axis=1) + np.ptp(ends, axis=1) / (2 * 1.6449) * rng.standard_normal(kind.size)
            low, high = np.quantile(sample, [0.05, 0.95])
            said = np.array([claimed.low[j], claimed.high[j]])
            said = said if name == "severity" else np.log(said)
            assert said == pytest.approx([low, high], abs=0.05 * (high - low))
            mean = sum(w * quantity.mean[j] for (w, _, _), quantity in zip(found.members, each, strict=True))
            assert claimed.mean[j] == pytest.approx(mean)


def test_normal_scores_are_those_of_ranks() -> None:
    score = np.array([3.0, -1.0, 3.0, 8.0, 0.5, 0.5, 0.5, 100.0])
    normal = norm.ppf((rankdata(score) - 0.5) / score.size)
    straight = straightened(score)
    assert np.corrcoef(straight, normal)[0, 1] == pytest.approx(1.0)
    assert (straight.mean(), straight.std()) == pytest.approx((score.mean(), score.std()))
    assert straightened(np.ones(4)).tolist() == [1.0] * 4


def test_one_model_is_the_answer_without_averaging(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly, whether there is one because the table is large, or because nothing shows differences."""
    reviewer, item, score = panel()
    plain = inferring.infer(reviewer, item, score, 24, 40)
    monkeypatch.setattr(inferring, "LARGEST_MIXTURE", 239)
    assert np.array_equal(inferred(reviewer, item, score).mean, plain.mean)
    monkeypatch.undo()
    alike = np.random.default_rng(3).standard_normal(240)
    one, other = inferred(reviewer, item, alike), inferring.infer(reviewer, item, alike, 24, 40)
    assert not one.signal
    assert not one.members
    assert np.array_equal(one.mean, other.mean)


def test_the_leading_model_is_the_answer_without_averaging() -> None:
    reviewer, item, score = panel()
    mixture, plain = inferred(reviewer, item, score), inferring.infer(reviewer, item, score, 24, 40)
    assert np.array_equal(mixture.members[0].posterior.mean, plain.mean)
    assert mixture.evidence == plain.evidence


def test_the_order_of_rows_does_not_matter() -> None:
    reviewer, item, score = panel()
    order = np.random.default_rng(1).permutation(240)
    one, other = inferred(reviewer, item, score), inferred(reviewer[order], item[order], score[order])
    assert other.mean == pytest.approx(one.mean, abs=1e-9)


def test_offsets_alone_are_the_additive_model() -> None:
    """Its posterior is Gaussian, and here by dense linear algebra."""
    reviewer, item, score = panel()
    (member,) = (each for each in inferred(reviewer, item, score).members if each.posterior.extent.alike)
    straight = straightened(score)
    y = (straight - straight.mean()) / straight.std()
    theta, one = member.posterior.theta, member.posterior
    a, omega, noise = np.exp(theta[0]), one.hyperparameters["omega"].value, one.hyperparameters["noise"].value
    count = np.unique(score, return_counts=True)[1]
    rounding = np.pi / 3 * ((count * (count - 1)).sum() / (240 * 239)) ** 2 + 1e-4
    middle = one.hyperparameters["g0"].value + one.hyperparameters["g1"].value * a
    of_item, of_reviewer = np.eye(40)[item], np.eye(24)[reviewer]
    own = a**2 * of_item @ of_item.T + omega**2 * of_reviewer @ of_reviewer.T + (noise**2 + rounding) * np.eye(240)
    gain = a * of_item.T @ np.linalg.inv(own)
    mean = gain @ (y - middle)
    sd = np.sqrt(np.diag(np.eye(40) - gain @ (a * of_item)))
    assert np.abs(one.mean - mean).max() < 0.05 * sd.mean()
    assert one.order_error / one.scale == pytest.approx(sd, rel=0.05)


def test_predictions_are_mixtures_over_members_and_cover_scores() -> None:
    reviewer, item, score = panel()
    found = inferred(reviewer, item, score)
    members = [member for member in found.members if not member.straightened]
    total = sum(member.weight for member in members)
    codes = np.array([0, 5, 24]), np.array([1, 2, 3])
    law = predictive(found, score, None, *codes)
    unit = predicting.score_unit(found, score)
    mean, square = np.zeros(3), np.zeros(3)
    for each in members:
        # Qualities of the mixture, nodes of the member's reviewers.
        people = predicting.of_reviewers(each.posterior, score, codes[0], None)
        centre = people.slope * found.mean[codes[1]] + people.offset
        variance = people.slope**2 * (found.variance * found.loops)[codes[1]] + people.offset_variance + people.noise
        mean += each.weight / total * (people.share * centre).sum(axis=0)
        square += each.weight / total * (people.share * (variance + centre**2)).sum(axis=0)
    assert law.mean == pytest.approx(unit.location + unit.spread * mean, abs=1e-9)
    assert law.sd == pytest.approx(unit.spread * np.sqrt(square - mean**2), abs=1e-9)
    left_out = leave_one_out(found, score)
    inside = np.abs(left_out.probability - 0.5) < 0.45
    assert 0.84 < inside.mean() < 0.96


def test_an_estimate_of_a_mixture_answers_everything() -> None:
    reviewer, item, score = panel(levels=2)
    rows = [(f"r{j}", f"p{i}", s) for j, i, s in zip(reviewer, item, score, strict=True)]
    estimate = lsc.posterior(Reviews.from_pairs(rows))
    assert estimate.beliefs.members
    account = estimate.account("p3")
    assert account.total == pytest.approx(account.quality, abs=1e-9)
    assert sum(part.weight for part in account.parts) == pytest.approx(1.0)
    assert estimate.probability_in_top(5).sum() == pytest.approx(5.0)
    assert estimate.rank_probabilities(3).sum() == pytest.approx(3.0)
    assert 0 < estimate.probability_better("p1", "p2") < 1
    assert estimate.predict("r1", "p2").sd > 0
    assert np.isfinite(estimate.residuals().raw).mean() > 0.9
    assert np.isfinite(estimate.gain.relative)
    assert np.isfinite(estimate.misfit.p_value).mean() > 0.9
    model = estimate.to_dict()["model"]
    assert model["weight"] + sum(other["weight"] for other in model["others"]) == pytest.approx(1.0)
    single = lsc.posterior(Reviews.from_pairs(rows), average_models=False)
    assert "others" not in single.to_dict()["model"]


def test_a_member_keeps_its_own_model_however_its_evidence_is_rounded() -> None:
    for evidence in np.random.default_rng(0).normal(0.0, 300.0, 300).tolist():
        fit: Any = SimpleNamespace(evidence=evidence)
        averages = inferring.Averages(0.0, 1.0, 1.0, evidence + 100.0)
        scores: Any = None
        member = inferring.Modelled(scores, averages, fit).as_member
        assert inferring.has_signal(fit, member.averages), evidence

"""The ordinal likelihood against integrals, brute-force probabilities and a Gibbs sampler."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import integrate, stats

from lsc import posterior
from lsc._inference import categories
from lsc._inference.averaging import has_levels
from lsc._inference.categories import levels_of, may_be_ordinal, normal_scores, optimise_levels, predict, truncated
from lsc._inference.inferring import infer
from lsc._inference.model import (
    LOG_OMEGA,
    LOG_S_R,
    LOG_TAU_LEFT,
    LOG_TAU_RIGHT,
    LOGIT_W,
    LOWEST,
    MU,
    NU,
    SIZE,
    START,
    Extent,
    lay_out,
)
from lsc._inference.scale_users import Cavity, Nodes
from lsc._inference.states import Rows, initial_state, prepare
from lsc._inference.sweeps import candidates
from reviewgraph import InputError, Reviews
from reviewgraph._base import FloatArray
from reviewgraph.cli import main
from tests.benchmarks.ordinal import REGIMES, drawn, exact
from tests.lsc.inference.simulated_tables import ordering, table
from tests.trials import NIGHTLY

CEILING = next(regime for regime in REGIMES if regime.title == "5 levels, ceiling")


def reviews_of(who, what, score):
    return Reviews.from_codes(who, what, score, reviewers=range(who.max() + 1), items=range(what.max() + 1))


def test_moments_of_truncated_normals() -> None:
    for low, high in [(-1, 2), (0.3, 0.31), (5, 6), (-9, -8), (-np.inf, -3), (2.5, np.inf), (-np.inf, np.inf)]:
        found = truncated(np.array([low]), np.array([high]))
        ends = max(low, -40), min(high, 40)
        total, mean, square = (
            integrate.quad(lambda x, p=p: x**p * stats.norm.pdf(x), *ends, points=np.clip([0], *ends))[0]
            for p in range(3)
        )
        assert found.log_probability[0] == pytest.approx(np.log(total), abs=1e-6)
        assert found.mean[0] == pytest.approx(mean / total, abs=1e-6)
        assert found.variance[0] == pytest.approx(square / total - (mean / total) ** 2, abs=1e-4)


def test_thresholds_are_quantiles_and_points_the_best_line() -> None:
    rng = np.random.default_rng(0)
    latent = rng.standard_normal(200_000)
    score = np.array([1.0, 2.0, 4.0, 9.0])[np.searchsorted([-1.0, 0.2, 1.1], latent)]
    levels, level = levels_of(score)
    assert levels.below[1:] == pytest.approx([-1.0, 0.2, 1.1], abs=0.02)
    assert (levels.value[level] == score).all()
    slope, intercept = np.polyfit(latent, score, 1)
    assert levels.unit.spread == pytest.approx(slope, rel=0.01)
    assert levels.unit.location == pytest.approx(intercept, rel=0.01)
    expected, variance = normal_scores(score)
    assert variance == pytest.approx(np.mean((latent - expected) ** 2), rel=0.02)


def test_prediction_without_the_review_itself() -> None:
    # Naively: weigh slopes by the other reviews, whose joint distribution is multivariate normal.
    theta = START.copy()
    theta[[LOG_TAU_LEFT, LOG_TAU_RIGHT]] = np.log(0.4)
    score, rounding = np.array([0.3, -1.0, 0.8]), np.array([0.2, 0.5, 0.1])
    mean, variance = np.array([0.1, -0.6, 0.9]), np.array([0.5, 0.3, 0.8])
    layout, _ = lay_out(np.zeros(3, int), np.arange(3), score, 1, 3)
    block = next(layout.blocks)
    nodes = Nodes(theta[[MU]], np.array([0.4]), np.zeros(1), None)
    column = (3, 1)
    found = predict(
        block,
        Cavity(mean.reshape(column), variance.reshape(column)),
        nodes,
        np.ones((1, 1)),
        rounding.reshape(3, 1, 1),
        theta,
    )
    logs = np.linspace(theta[MU] - 2.4, theta[MU] + 2.4, 401)
    for i in range(3):
        others = np.delete(np.arange(3), i)
        values = []
        for log_slope in logs:
            a = np.exp(log_slope)
            noise = np.exp(2 * (theta[NU] + 0.5 * (log_slope - theta[MU])))
            centre, omega = a * mean, np.exp(2 * theta[LOG_OMEGA])
            joint = np.diag(a**2 * variance + noise) + omega
            seen = joint + np.diag(rounding)
            gain = joint[i, others] @ np.linalg.inv(seen[np.ix_(others, others)])
            weight = stats.multivariate_normal.pdf(score[others], centre[others], seen[np.ix_(others, others)])
            weight *= stats.norm.pdf(log_slope, theta[MU], 0.4)
            m = centre[i] + gain @ (score[others] - centre[others])
            values.append((weight, m, joint[i, i] - gain @ joint[others, i]))
        weight, m, v = np.array(values).T
        weight /= weight.sum()
        assert found.mean[i, 0] == pytest.approx(weight @ m, abs=1e-3)
        assert found.variance[i, 0] == pytest.approx(weight @ (v + m**2) - (weight @ m) ** 2, rel=1e-3)


def test_evidence_is_the_probability_of_the_scores() -> None:
    # Papers with two reviews each, of reviewers with one paper: pairs of latent scores are bivariate normal.
    rng = np.random.default_rng(0)
    n, theta = 60, START.copy()
    theta[[LOG_TAU_LEFT, LOG_TAU_RIGHT]] = LOWEST[LOG_TAU_LEFT]
    theta[MU] = np.log(0.8)
    latent = 0.8 * rng.standard_normal((n, 1)) + 0.7 * rng.standard_normal((n, 2))
    score = np.searchsorted([-0.5, 0.6], latent.ravel()).astype(float)
    rows = Rows(np.arange(2 * n), np.repeat(np.arange(n), 2), score)
    scores, (levels, level) = prepare(rows, 2 * n, n), levels_of(score)
    low, high = categories.intervals(levels, level, scores, rows.reviewer)
    problem = categories.initial_problem(scores.problem, low, high)
    state = initial_state(problem, theta, Extent(ordinal=True))
    found = optimise_levels(problem, state, low, high, np.zeros(SIZE, bool)).fit
    assert found.converged
    own = np.exp(2 * theta[LOG_OMEGA]) + np.exp(2 * theta[NU])
    shared = np.exp(2 * theta[MU])
    covariance = shared + own * np.eye(2)
    expected = 0.0
    for pair in level.reshape(-1, 2):
        low_ends, high_ends = np.maximum(levels.below[pair], -9), np.minimum(levels.above[pair], 9)
        expected += np.log(stats.multivariate_normal.cdf(high_ends, np.zeros(2), covariance, lower_limit=low_ends))
    assert found.evidence == pytest.approx(expected, rel=0.003)


def test_few_levels_are_tried_and_others_answered_as_before() -> None:
    who, what, score, _ = table(0)
    assert not may_be_ordinal(score)
    numbers, default = (infer(who, what, score, 200, 200, likelihood=kind) for kind in ("normal", "auto"))
    assert numbers.mean.tobytes() == default.mean.tobytes()
    assert may_be_ordinal(np.arange(14.0) % 7)
    assert not may_be_ordinal(np.arange(16.0) % 8)
    assert not may_be_ordinal(np.ones(5))


@pytest.mark.slow
@pytest.mark.nightly
def test_ceilings_are_levels_and_intervals_cover() -> None:
    covered = []
    for seed in range(4):
        drawn_table = drawn(CEILING, seed)
        score = drawn_table.level.astype(float)
        reviews = reviews_of(drawn_table.who, drawn_table.what, score)
        numbers, default = posterior(reviews, likelihood="normal"), posterior(reviews)
        assert has_levels(default.beliefs)
        assert not has_levels(numbers.beliefs)
        assert score.min() < default.quality.min() < default.quality.max() < score.max() + np.ptp(score) / 2
        error = {
            name: 1 - np.corrcoef(one.quality, drawn_table.truth)[0, 1] for name, one in vars().items() if name in NAMES
        }
        assert error["default"] < error["numbers"]
        assert np.isfinite(default.gain.relative)
        truth = (drawn_table.truth - drawn_table.truth.mean()) / drawn_table.truth.std()
        sd = np.sqrt(default.beliefs.variance * default.beliefs.loops)
        covered.append(np.abs(truth - default.beliefs.mean) < stats.norm.ppf(0.95) * sd)
    assert 0.86 < np.mean(covered) < 0.94


NAMES = ("numbers", "default")


@cache
def of_ceiling(seed):
    """Infer the posterior of a table whose levels are numbered from 0."""
    drawn_table = drawn(CEILING, seed)
    return infer(drawn_table.who, drawn_table.what, drawn_table.level.astype(float), 60, 200, likelihood="ordinal")


@pytest.mark.slow
def test_means_are_those_of_a_gibbs_sampler() -> None:
    for seed in range(2 if NIGHTLY else 1):
        drawn_table = drawn(CEILING, seed)
        found = of_ceiling(seed)
        sampled = exact(drawn_table, CEILING, np.random.default_rng(seed))
        assert np.corrcoef(found.mean, sampled)[0, 1] > 0.985


def test_the_answer_depends_on_the_order_of_levels_alone() -> None:
    drawn_table, first = drawn(CEILING, 0), of_ceiling(0)
    values = np.array([0.0, 1.0, 1.5, 4.0, 5.0])
    second = infer(drawn_table.who, drawn_table.what, values[drawn_table.level], 60, 200, likelihood="ordinal")
    sd = np.sqrt(first.variance)
    assert (np.abs(first.mean - second.mean) < 0.1 * sd).all()


def ranks() -> tuple[FloatArray, ...]:
    """Draw rankings of 5 of 200 papers by each of 180 reviewers: reviewers, papers, ranks, and the truth."""
    rng = np.random.default_rng(0)
    truth, n_reviewers, load = rng.normal(size=200), 180, 5
    who = np.repeat(np.arange(n_reviewers), load)
    what = np.concatenate([rng.choice(200, load, replace=False) for _ in range(n_reviewers)])
    seen = (truth[what] + 0.4 * rng.normal(size=what.size)).reshape(n_reviewers, load)
    return who, what, seen.argsort(axis=1).argsort(axis=1).ravel() + 1.0, truth


@pytest.mark.parametrize("ranking", [True, False])
def test_rankings_say_nothing_of_slopes(ranking: bool) -> None:
    """Beside ordinal reviewers, those of the others are learned from scores only."""
    who, what, score, _ = ranks() if ranking else ordering(share=0.8)
    problem = prepare(Rows(who, what, score), int(who.max()) + 1, 200).problem
    found = candidates(problem, np.random.default_rng(0), lambda _: None)
    (free,) = (free for fit, free in found if fit.state.extent.orders)
    assert ({LOGIT_W, LOG_S_R} == set(np.flatnonzero(free).tolist())) == ranking
    assert free[[LOGIT_W, LOG_S_R]].all()


def test_rankings_are_not_levels() -> None:
    """That everybody gives each rank once is by design, and says nothing about levels."""
    (who, what, rank, truth), n_reviewers = ranks(), 180
    found, levels = (infer(who, what, rank, n_reviewers, 200, likelihood=kind) for kind in ("auto", "ordinal"))
    assert found.reviewers.orders.mean() > 0.5
    known = np.isfinite(found.quality)
    agreement = [stats.spearmanr(each.quality[known], truth[known])[0] for each in (found, levels)]
    assert agreement[0] > agreement[1] + 0.005


def test_levels_without_reviewer_effects_are_numbers() -> None:
    rng = np.random.default_rng(3)
    who, what = np.repeat(np.arange(40), 5), np.tile(np.arange(50), 4)
    score = np.clip(np.round(rng.standard_normal(50)[what] + rng.standard_normal(200)), -1, 1)
    found = infer(who, what, score, 40, 50, likelihood="ordinal")
    assert not found.signal
    assert not found.extent.ordinal


def test_weights_and_references_work_with_levels() -> None:
    drawn_table = drawn(replace(CEILING, n_items=60, n_reviewers=20), 1)
    score, weight = drawn_table.level.astype(float), 1 + np.arange(drawn_table.who.size) % 3
    reference = np.arange(6)
    arguments = drawn_table.who, drawn_table.what, score, 20, 60
    found = infer(
        *arguments,
        weight=weight.astype(float),
        reference_item=reference,
        reference_value=drawn_table.truth[reference],
        likelihood="ordinal",
    )
    without = infer(*arguments, likelihood="ordinal")
    assert found.extent.ordinal
    assert (found.variance[reference] < 1.05 * without.variance[reference]).all()


def test_an_unknown_likelihood() -> None:
    reviews = reviews_of(*(np.array(column) for column in ([0, 0, 1], [0, 1, 1], [1.0, 2.0, 1.0])))
    with pytest.raises(InputError, match="likelihood: expected"):
        posterior(reviews, likelihood="probit")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.usefixtures("infer_once")
@pytest.mark.parametrize(
    ("arguments", "ordinal"),
    [
        ([], True),
        pytest.param(["--likelihood", "normal"], False, marks=pytest.mark.nightly),
        pytest.param(["--likelihood", "ordinal"], True, marks=pytest.mark.nightly),
    ],
)
def test_the_command_records_levels_and_verify_does_not_refute_them(tmp_path, arguments, ordinal) -> None:
    path, answer = few_levels(tmp_path), tmp_path / "answer.json"
    result = CliRunner().invoke(main, ["calibrate", str(path), "--select", "10", "--json", *arguments])
    assert result.exit_code == 0
    record = json.loads(result.stdout)
    models = [record["model"], *record["model"].get("others", [])]
    thresholds = [one["thresholds"] for one in models if one.get("likelihood") == "ordinal"]
    assert [[end["score"] for end in each] for each in thresholds] == [[1, 2, 3, 4]] * ordinal
    answer.write_text(result.stdout)
    checked = CliRunner().invoke(main, ["verify", str(answer), str(path), "--select", "10", "--json"])
    assert json.loads(checked.stdout)["wrong"] == []
    if NIGHTLY:
        columns = tmp_path / "answer.csv"
        CliRunner().invoke(main, ["calibrate", str(path), "--select", "10", "-o", str(columns), *arguments])
        checked = CliRunner().invoke(main, ["verify", str(columns), str(path), "--select", "10", "--json"])
        assert json.loads(checked.stdout)["wrong"] == []
    # A forged probability is found.
    record["items"][0]["probability"] += 0.01
    record["items"][1]["probability"] -= 0.01
    answer.write_text(json.dumps(record))
    checked = CliRunner().invoke(main, ["verify", str(answer), str(path), "--select", "10", "--json"])
    assert json.loads(checked.stdout)["wrong"]


@pytest.mark.slow
@pytest.mark.usefixtures("infer_once")
def test_the_page_names_the_levels_and_another_method_refuses_a_likelihood(tmp_path) -> None:
    path = few_levels(tmp_path)
    page = CliRunner().invoke(main, ["calibrate", str(path)]).stdout
    assert "Scores have 5 levels and are modelled as ordered categories" in page
    refused = CliRunner().invoke(main, ["calibrate", str(path), "--method", "ridge", "--likelihood", "normal"])
    assert refused.exit_code == 2
    assert "--likelihood belongs to --method posterior" in refused.stderr


def few_levels(folder):
    """Write the table of a ceiling; return its path."""
    drawn_table, path = drawn(replace(CEILING, n_items=30, n_reviewers=10), 1), folder / "reviews.csv"
    lines = [f"r{j},p{i},{y}" for j, i, y in zip(drawn_table.who, drawn_table.what, drawn_table.level, strict=True)]
    path.write_text("\n".join(["reviewer,item,score", *lines]) + "\n")
    return path

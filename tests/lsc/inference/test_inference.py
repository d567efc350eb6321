import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsc._inference import sweeps
from lsc._inference.beliefs import InferenceStatus
from lsc._inference.inferring import infer
from lsc._inference.model import SIZE, START, Extent, rescaled
from lsc._inference.states import Rows, initial_state, prepare
from reviewgraph._base import InputError
from tests.lsc.inference.simulated_tables import ordering, precision, table
from tests.trials import examples


def account(posterior, item):
    """The quality of an item put together from its parts, as the class documents it."""
    rows = posterior.item == item
    told = posterior.reference_item == item
    weight = posterior.prior + posterior.precision[rows].sum() + posterior.likeness_precision[rows].sum()
    weight += posterior.reference_precision[told].sum()
    parts = [*posterior.shift[rows], *posterior.likeness_shift[rows], *posterior.reference_shift[told]]
    return sum(part / weight for part in parts), 1 / weight


def tracks(seed=3):
    """Ten tracks of unequal quality, each with its own reviewers."""
    rng = np.random.default_rng(seed)
    parts = [table(seed * 100 + number, 40, 40, 4, slope=0.2, offset=0.4) for number in range(10)]
    level = rng.normal(0.0, 1.0, 10)
    who = np.concatenate([part[0] + 40 * number for number, part in enumerate(parts)])
    what = np.concatenate([part[1] + 40 * number for number, part in enumerate(parts)])
    score = np.concatenate([part[2] + 1.5 * level[number] for number, part in enumerate(parts)])
    return who, what, score, np.concatenate([part[3] + level[number] for number, part in enumerate(parts)])


@pytest.fixture(scope="module")
def found():
    who, what, score, truth = table(n_items=400, n_reviewers=400)
    return infer(who, what, score, 400, 400), truth, (who, what, score)


@pytest.mark.slow
def test_better_than_the_average_and_intervals_hold(found) -> None:
    posterior, truth, (_, what, score) = found
    average = np.bincount(what, score) / np.bincount(what)
    assert precision(posterior.mean, truth, 0.2) > precision(average, truth, 0.2) + 0.03
    off = np.abs(posterior.mean - (truth - truth.mean()) / truth.std()) / np.sqrt(posterior.variance)
    assert 0.85 < (off < 1.645).mean() < 0.95


def test_quality_is_the_sum_of_its_parts(found) -> None:
    posterior = found[0]
    for item in (0, 17, 399):
        mean, variance = account(posterior, item)
        assert abs(mean - posterior.mean[item]) < 1e-12
        assert abs(variance - posterior.variance[item]) < 1e-12


@pytest.mark.slow
def test_tracks_of_unequal_quality_are_seen_and_accounted_for() -> None:
    who, what, score, truth = tracks()
    posterior = infer(who, what, score, 400, 400)
    average = np.bincount(what, score) / np.bincount(what)
    assert posterior.kappa >= 0.5
    assert precision(posterior.mean, truth) >= precision(average, truth) - 0.025
    for item in (0, 100):
        assert abs(account(posterior, item)[0] - posterior.mean[item]) < 1e-12


@pytest.mark.parametrize("seed", [0, 3])
def test_papers_without_a_score_change_nothing(seed: int) -> None:
    # Their prior entered the evidence and not its determinant: any kappa seemed likelier, the more such papers.
    who, what, score, _ = table(seed, 60, 60, 4, slope=0.4, offset=1.0)
    alone, among = infer(who, what, score, 60, 60), infer(who, what, score, 60, 260)
    assert (alone.kappa, alone.extent.own) == (among.kappa, among.extent.own)
    assert among.evidence == pytest.approx(alone.evidence)
    np.testing.assert_allclose(among.mean[:60], alone.mean, atol=1e-9)


def test_without_reviewer_effects_the_average_comes_out() -> None:
    rng = np.random.default_rng(0)
    who, what, _, truth = table(0)
    score = truth[what] + rng.standard_normal(what.size)
    posterior = infer(who, what, score, 200, 200)
    count = np.bincount(what)
    average = np.bincount(what, score) / count
    assert posterior.status is InferenceStatus.NO_SIGNAL
    for size in np.unique(count):
        same = count == size
        assert (np.argsort(posterior.mean[same]) == np.argsort(average[same])).all()


def test_reviewers_are_described_on_the_scale_of_the_scores(found) -> None:
    posterior, _, (who, what, score) = found
    # The severity of a reviewer against the plain one: how much less than the truth tells she gives.
    plain = np.bincount(who, posterior.quality[what] - score) / np.bincount(who)
    severity = posterior.reviewers.severity
    assert np.corrcoef(plain, severity.mean)[0, 1] > 0.9
    for quantity in (severity, posterior.reviewers.stretch, posterior.reviewers.noise):
        assert (quantity.low <= quantity.mean).all()
        assert (quantity.mean <= quantity.high).all()


@pytest.mark.slow
def test_own_noise_is_found_where_it_is() -> None:
    who, what, score, _ = table(1, 100, 40, 20, own=0.6, noise=1.0)
    posterior = infer(who, what, score, 40, 100)
    assert posterior.hyperparameters["own"].value > 0.5
    residual = np.bincount(who, (posterior.quality[what] - score) ** 2) / 20
    assert np.corrcoef(np.log(residual), np.log(posterior.reviewers.noise.mean))[0, 1] > 0.7


@pytest.mark.slow
def test_reviewers_who_only_order_are_found() -> None:
    rng = np.random.default_rng(2)
    who, what, _, truth = table(2, 120, 120, 6)
    score = np.empty(who.size)
    for reviewer in range(120):
        rows = np.flatnonzero(who == reviewer)
        order = np.argsort(truth[what[rows]] + 0.2 * rng.standard_normal(rows.size))
        score[rows[order]] = np.sort(rng.uniform(0, 10, rows.size))
    posterior = infer(who, what, score, 120, 120)
    average = np.bincount(what, score) / np.bincount(what)
    assert posterior.hyperparameters["orders"].value > 0.6
    assert np.corrcoef(posterior.mean, truth)[0, 1] > np.corrcoef(average, truth)[0, 1] + 0.02


@pytest.mark.slow
def test_ordinal_reviewers_determine_the_scale_of_qualities() -> None:
    """Neither larger nor smaller qualities, with all that goes with them, raise the evidence."""
    who, what, score, _ = ordering(3, 80, 80)
    problem = prepare(Rows(who, what, score), 80, 80).problem
    start = sweeps.with_ordinal_reviewers(initial_state(problem, START, Extent()))
    fit = sweeps.optimise(problem, start, sweeps.free_of(start.extent, weighted=False))
    assert fit.converged
    for change in (-0.03, 0.03):
        theta = rescaled(fit.state.theta, 0.0, float(np.exp(change)))
        other = sweeps.optimise(problem, sweeps.with_hyperparameters(fit.state, theta), np.zeros(SIZE, bool))
        assert other.objective < fit.objective


@pytest.mark.slow
@examples(4)
@given(seed=st.integers(0, 5), shift=st.sampled_from([-300.0, 0.0, 7.0]), scale=st.sampled_from([0.01, 1.0, 40.0]))
def test_shift_scale_order_of_rows_and_labels_do_not_matter(seed: int, shift: float, scale: float) -> None:
    who, what, score, _ = table(seed, 40, 30, 4)
    rng = np.random.default_rng(seed)
    rows, reviewers, items = rng.permutation(who.size), rng.permutation(30), rng.permutation(40)
    one = infer(who, what, score, 30, 40)
    other = infer(reviewers[who[rows]], items[what[rows]], shift + scale * score[rows], 30, 40)
    assert one.status is other.status
    sd = np.sqrt(one.variance)
    np.testing.assert_allclose(other.mean[items], one.mean, atol=1e-3 * np.nanmin(sd))
    np.testing.assert_allclose(other.variance[items], one.variance, rtol=1e-3)
    np.testing.assert_allclose(other.quality[items], shift + scale * one.quality, rtol=1e-3, atol=1e-3 * scale)
    np.testing.assert_allclose(other.precision, one.precision[rows], rtol=2e-3)


@pytest.mark.parametrize(
    ("who", "what", "score"),
    [
        ([0], [0], [3.0]),
        ([0, 0], [0, 1], [3.0, 4.0]),
        ([0, 1], [0, 0], [3.0, 4.0]),
        ([0, 0, 0], [0, 1, 2], [5.0, 5.0, 5.0]),
        ([0, 0, 1, 1], [0, 1, 2, 3], [1.0, 2.0, 8.0, 9.0]),
        ([0, 0, 1, 1, 2], [0, 1, 0, 1, 2], [1.0, 1.0, 1.0, 1.0, 1.0]),
        ([0, 1, 2, 3], [0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_tiny_tables_are_finite(who, what, score) -> None:
    who, what, score = np.array(who), np.array(what), np.array(score)
    posterior = infer(who, what, score, 5, 5)
    seen = np.bincount(what, minlength=5) > 0
    assert np.isfinite(posterior.quality[seen]).all()
    assert (posterior.variance[seen] > 0).all()
    assert np.isnan(posterior.quality[~seen]).all()
    assert np.isfinite(posterior.evidence)
    assert np.isnan(posterior.reviewers.severity.mean[np.bincount(who, minlength=5) == 0]).all()


@pytest.mark.slow
def test_a_reviewer_who_gives_everyone_the_same_moves_nobody() -> None:
    who, what, score, _ = table(4)
    before = infer(who, what, score, 200, 200)
    for size in (2, 8, 200):
        more = np.random.default_rng(size).choice(200, size, replace=False)
        after = infer(
            np.append(who, np.full(size, 200)),
            np.append(what, more),
            np.append(score, np.full(size, np.quantile(score, 0.9))),
            201,
            200,
        )
        assert (np.abs(after.mean - before.mean) < 0.25 * np.sqrt(before.variance)).all()
        assert (after.precision[who.size :] == 0).all()


@pytest.mark.slow
def test_references_are_measurements_on_a_scale_of_their_own() -> None:
    who, what, score, truth = table(5)
    item = np.arange(0, 200, 5)
    alone = infer(who, what, score, 200, 200)
    posterior = infer(who, what, score, 200, 200, reference_item=item, reference_value=100 + 10 * truth[item])
    # Whatever their scale, qualities stay on that of a typical reviewer.
    assert (posterior.location, posterior.scale) == pytest.approx((alone.location, alone.scale), abs=0.1)
    other = np.setdiff1d(np.arange(200), item)
    off = posterior.mean - (truth - truth.mean()) / truth.std()
    assert np.abs(off[item]).mean() < 0.5 * np.abs(off[other]).mean()
    assert 0.8 < (np.abs(off[other]) < 1.645 * np.sqrt(posterior.variance[other])).mean() <= 1.0
    assert abs(account(posterior, 5)[0] - posterior.mean[5]) < 1e-12


@pytest.mark.slow
def test_weights_that_tell_of_noise_are_heard() -> None:
    rng = np.random.default_rng(6)
    who, what, _, truth = table(6, 150, 150, 5)
    sure = rng.integers(1, 6, who.size).astype(float)
    score = truth[what] + rng.normal(0, 0.5, 150)[who] + 2.5 / sure * rng.standard_normal(who.size)
    plain = infer(who, what, score, 150, 150)
    told = infer(who, what, score, 150, 150, weight=sure)
    blind = infer(who, what, score, 150, 150, weight=rng.permutation(sure))
    assert told.hyperparameters["gamma"].value > 0.5
    assert abs(blind.hyperparameters["gamma"].value) < 0.2
    assert told.evidence > plain.evidence + 50
    assert np.corrcoef(told.mean, truth)[0, 1] > np.corrcoef(plain.mean, truth)[0, 1]


def test_a_score_a_thousand_times_too_large_is_named() -> None:
    who, what, score, _ = table(7)
    score[123] *= 1000
    with pytest.raises(InputError, match="at review 123"):
        infer(who, what, score, 200, 200)


def test_the_result_survives_pickling(found) -> None:
    posterior = found[0]
    copy = pickle.loads(pickle.dumps(posterior))
    np.testing.assert_array_equal(copy.quality, posterior.quality)
    assert copy.status.text == posterior.status.text


def test_progress_is_told() -> None:
    who, what, score, _ = table(8, 20, 20, 3)
    said: list[str] = []
    infer(who, what, score, 20, 20, progress=said.append)
    assert len(said) == 4

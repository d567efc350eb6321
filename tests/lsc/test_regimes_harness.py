"""The harness of the regimes benchmark: what it measures, how it judges, and that it survives being killed."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from lsc.estimate import Estimate
from reviewgraph import Reviews
from reviewgraph.graph import random_assignment
from tests.benchmarks.harness import measures, page, storing
from tests.benchmarks.harness.draws import GROUPS, Regime, chain, matched, regimes, skewed, tracks, two_humped
from tests.benchmarks.harness.gibbs import QUALITY_MEAN, QUALITY_SD, Priors, exact_mean
from tests.benchmarks.harness.methods import METHODS, register
from tests.benchmarks.harness.running import measured, run
from tests.benchmarks.harness.studies import Study, gain, item_means, loads, panels, squared_errors, value
from tests.trials import NIGHTLY, sampled


def test_precision_is_the_mean_over_all_orders_of_ties() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        truth = rng.permutation(5).astype(float)
        quality = rng.integers(0, 3, 5).astype(float)
        best = set(np.argsort(-truth)[:2])
        hits = []
        for order in permutations(range(5)):
            chosen = sorted(range(5), key=lambda i, order=order: (-quality[i], order[i]))[:2]
            hits.append(len(best & set(chosen)) / 2)
        assert measures.expected_precision(quality, truth, 2) == pytest.approx(np.mean(hits))


def test_rounding_makes_no_order_and_items_without_a_quality_come_last() -> None:
    truth = np.array([1.0, 2.0, 3.0, 4.0])
    tied = np.array([0.0, 1.0, 0.1 + 0.2, 0.3])
    assert measures.expected_precision(np.where(tied == 1.0, 0.0, tied), truth, 1) == 0.5
    assert measures.expected_precision(np.array([2.0, 1.0, np.nan, np.nan]), truth, 2) == 0.0
    assert measures.expected_precision(np.array([2.0, np.nan, np.nan, np.nan]), truth, 2) == pytest.approx(1 / 3)


def test_the_truth_is_put_on_the_scale_of_a_shrunken_estimate() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(5.0, 1.2, 200_000)
    score = truth + rng.normal(0.0, 1.0, truth.size)
    mean = 5.0 + (score - 5.0) * 1.44 / 2.44
    error = np.sqrt(1.44 / 2.44)
    # The estimate speaks of another origin and unit; its posterior covers as it says once the truth is put there.
    quality, error = 40.0 + 3.0 * mean, 3.0 * error
    target = measures.on_scale_of(quality, truth)
    for level in (0.5, 0.9):
        half = norm.ppf((1 + level) / 2) * error
        found = measures.coverage(np.column_stack([quality - half, quality + half]), target)
        assert found == pytest.approx(level, abs=0.005)


def test_an_estimate_that_goes_the_wrong_way_is_not_turned_round() -> None:
    quality, truth = np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])
    assert measures.on_scale_of(quality, truth).tolist() == [3.0, 2.0, 1.0]
    assert np.isfinite(measures.on_scale_of(np.ones(3), truth)).all()


def test_coverage_counts_ends() -> None:
    interval = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    assert measures.coverage(interval, np.array([0.0, 1.0, 1.5])) == pytest.approx(2 / 3)


def test_calibration_error_is_that_of_the_bins_of_all_draws() -> None:
    probability = np.array([0.05, 0.95, 0.95, 1.0])
    first = measures.forecast_bins(probability, np.array([False, True, True, True]))
    second = measures.forecast_bins(probability, np.array([False, True, False, True]))
    assert np.sum(first, axis=0).tolist() == pytest.approx([4.0, 2.95, 3.0])
    expected = (abs(0.1 - 0.0) + abs(5.8 - 5.0)) / 8
    assert measures.calibration_error([first, second]) == pytest.approx(expected)


def test_paired_differences_take_the_draws_that_both_have() -> None:
    found = measures.paired({0: 1.0, 1: 5.0, 2: 9.0}, {1: 4.0, 2: 6.0, 3: 0.0})
    assert found.mean == 2.0
    assert found.error == pytest.approx(1.0)
    assert np.isnan(measures.paired({0: 1.0}, {1: 1.0}).mean)
    assert np.isnan(measures.summary([1.0]).error)


def test_errors_of_clusters_are_those_of_their_means() -> None:
    rng = np.random.default_rng(0)
    of_cluster = rng.normal(size=400)
    found = measures.clustered(np.repeat(of_cluster, 5), np.repeat(np.arange(400), 5))
    assert found.mean == pytest.approx(of_cluster.mean())
    assert found.error == pytest.approx(of_cluster.std() / np.sqrt(400))


@pytest.mark.parametrize("cut", [b'{"draw": 2, "pre', b'{"draw": 2}'])
def test_a_line_cut_short_spoils_no_other(tmp_path: Path, cut: bytes) -> None:
    path = tmp_path / "new" / "results.jsonl"
    storing.append(path, {"draw": 1})
    with open(path, "ab") as file:
        file.write(cut)
    storing.append(path, {"draw": 3})
    whole = [2] if cut.endswith(b"}") else []
    assert [record["draw"] for record in storing.records(path)] == [1, *whole, 3]
    storing.forget(path, lambda record: record["draw"] == 1)
    assert [record["draw"] for record in storing.records(path)] == [*whole, 3]
    assert list(storing.records(tmp_path / "none")) == []


def records(method: str, precision: list[float], coverage: float | None = None) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for draw, percent in enumerate(precision):
        record: dict[str, object] = {"regime": "r", "papers": 10, "draw": draw, "method": method, "precision": percent}
        if coverage is not None:
            record["coverage"] = {f"{level:g}": 100 * level + coverage for level in (0.5, 0.8, 0.9, 0.95)}
            bins = [[0.0, 0.0, 0.0] for _ in range(10)]
            bins[9] = [10.0, 9.5, 9.5 - 10 * abs(coverage) / 100]
            record |= {"bins": bins, "expected_precision": percent, "seconds": 0.1}
        found.append(record)
    return found


def judged(ours: list[float], coverage: float = 0.0, exact: float = 70.0) -> dict[str, bool]:
    regime = Regime("r", "a regime", lambda rng: pytest.fail("not drawn"), window="nominal", goal=70.0)
    rows = [
        *records("posterior", ours, coverage),
        *records("average", [60.0, 62.0, 64.0]),
        *records("ridge", [69.0, 70.0, 71.0]),
        *records("exact", [exact] * 3),
    ]
    rows = json.loads(json.dumps(rows))
    results = page.gather(rows, 10)
    assert page.gather(rows, 11) == {}
    methods = ["average", "ridge", "posterior", "exact"]
    table = page.precision_table([regime], results, methods, "posterior")
    assert "(ridge)" in table
    assert len({line.count("|") for line in table.splitlines()}) == 1
    assert "a regime" in page.uncertainty_table([regime], results, "posterior")
    assert page.verdicts([regime], results, methods, "another") == []
    found = page.verdicts([regime], results, methods, "posterior")
    assert len(page.verdict_lines(found).splitlines()) == len(found)
    return {verdict.claim: verdict.held for verdict in found}


def test_what_is_good_is_called_so() -> None:
    assert set(judged([70.0, 71.0, 72.0]).values()) == {True}


@pytest.mark.parametrize(
    ("ours", "coverage", "exact", "claims"),
    [
        ([59.4, 61.4, 63.4], 0.0, 61.0, {"minus average", "minus best other", "mean over", "mean as"}),
        ([70.0, 71.0, 72.0], 0.0, 74.0, {"minus exact"}),
        ([70.0, 71.0, 72.0], -4.0, 70.0, {"50 %", "80 %", "90 %", "95 %", "calibration"}),
        ([70.0, 71.0, 72.0], 3.0, 70.0, {"50 %", "80 %", "90 %", "95 %", "calibration"}),
    ],
)
def test_what_falls_short_is_called_so(ours: list[float], coverage: float, exact: float, claims: set[str]) -> None:
    found = judged(ours, coverage, exact)
    assert {claim for claim, held in found.items() if not held} == {
        claim for claim in found if any(claim.startswith(start) for start in claims)
    }


def test_the_sampler_agrees_with_the_closed_form_of_offsets() -> None:
    rng = np.random.default_rng(0)
    design, priors = random_assignment(25, 20, 4, rng), Priors("one", 1.0, 0.8)
    truth = QUALITY_MEAN + QUALITY_SD * rng.standard_normal(25)
    score = priors.scores(design.reviewer, truth[design.item], rng)
    of_item, of_reviewer = np.eye(25)[design.item], np.eye(20)[design.reviewer]
    covariance = QUALITY_SD**2 * of_item @ of_item.T + of_reviewer @ of_reviewer.T + 0.64 * np.eye(score.size)
    gain = QUALITY_SD**2 * of_item.T @ np.linalg.solve(covariance, score - QUALITY_MEAN)
    found = exact_mean(design.reviewer, design.item, score, priors, rng, sweeps=4_000)
    assert found == pytest.approx(QUALITY_MEAN + gain, abs=0.05)


def likelihood(score: np.ndarray, quality: np.ndarray, priors: Priors) -> np.ndarray:
    """Density of a reviewer's two scores of two qualities, shape (2, ...), by quadrature over her slope and offset."""
    total = np.zeros(quality.shape[1:])
    points = 24 if priors.whole else 80
    part = (np.arange(points) + 0.5) / points
    for slope in 2.0 * part if priors.slope == "uniform" else np.exp(priors.spread * norm.ppf(part)):
        spread = priors.noise * slope**priors.inside
        mean = priors.centre + slope * (quality - priors.centre)
        if priors.whole:
            for offset in priors.offset * norm.ppf(part):
                edge = [(score[:, None, None] + half - mean - offset) / spread for half in (-0.5, 0.5)]
                total += (norm.cdf(edge[1]) - norm.cdf(edge[0])).prod(axis=0)
        else:
            off = score[:, None, None] - mean
            common, apart = spread**2 + 2.0 * priors.offset**2, spread**2
            square = off.sum(axis=0) ** 2 / (2.0 * common) + (off[1] - off[0]) ** 2 / (2.0 * apart)
            total += np.exp(-square / 2.0) / np.sqrt(common * apart)
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    "priors",
    sampled(
        [
            Priors("uniform", 2.0, 0.5, inside=True, centre=0.0),
            Priors("uniform", 2.0, 1.0, centre=0.0),
            Priors("lognormal", 1.0, 1.0, whole=True),
        ]
    ),
    ids=["inside", "outside", "integers"],
)
def test_the_sampler_agrees_with_quadrature(priors: Priors) -> None:
    # Two reviewers score the same two items, in hundreds of copies side by side: as many chains in one.
    score, copies = np.array([[3.0, 7.0], [4.0, 5.0]]), 400 if NIGHTLY else 200
    axis = np.linspace(QUALITY_MEAN - 4 * QUALITY_SD, QUALITY_MEAN + 4 * QUALITY_SD, 41)
    quality = np.array(np.meshgrid(axis, axis, indexing="ij"))
    density = norm.pdf(quality, QUALITY_MEAN, QUALITY_SD).prod(axis=0)
    for row in score:
        density *= likelihood(row, quality, priors)
    expected = (density * quality).sum(axis=(1, 2)) / density.sum()
    place = 2 * np.arange(copies)[:, None]
    reviewer, item = (place + np.array([0, 0, 1, 1])).ravel(), (place + np.array([0, 1, 0, 1])).ravel()
    rng = np.random.default_rng(0)
    found = exact_mean(reviewer, item, np.tile(score.ravel(), copies), priors, rng, sweeps=2_000)
    assert found.reshape(copies, 2).mean(axis=0) == pytest.approx(expected, abs=0.02)


def test_regimes_are_drawn_the_same_again_and_have_the_papers_asked_for() -> None:
    found = regimes(100)
    assert len(found) >= 24
    assert len({regime.name for regime in found}) == len({regime.title for regime in found}) == len(found)
    for regime in found:
        first, again = regime.simulate(3), regime.simulate(3)
        assert first.reviews.score.tolist() == again.reviews.score.tolist()
        assert first.truth.size == first.reviews.n_items == (60 if regime.name == "integers-60" else 100)
        assert first.reviews.scored.all()


def test_designs_are_what_they_are_called() -> None:
    rng = np.random.default_rng(0)
    design = chain(200, rng)
    crossing = design.reviewer % GROUPS != design.item % GROUPS
    assert crossing.sum() == 2 * (GROUPS - 1)
    assert set(design.loads.tolist()) == {4}
    found = tracks(400, rng)
    means = [found.truth[group::GROUPS].mean() for group in range(GROUPS)]
    assert np.std(means) > 0.6
    near = matched(400, rng).reviews
    distance = np.abs(near.reviewer - near.item)
    assert np.minimum(distance, 400 - distance).max() <= 50
    for shape in (skewed, two_humped):
        drawn = shape(200_000, rng)
        assert (drawn.mean(), drawn.var()) == pytest.approx((0.0, 1.0), abs=0.02)


class Sure(Estimate):
    """An estimate with intervals and probabilities."""

    def interval(self, level: float) -> np.ndarray:
        return np.column_stack([self.quality - level, self.quality + level])

    def probability_in_top(self, n: int) -> np.ndarray:
        return np.where(self.rank <= n, 0.8, 0.2 * n / self.quality.size)


def test_what_a_method_says_of_its_own_error_is_measured() -> None:
    design = random_assignment(20, 20, 3, np.random.default_rng(0))
    truth = np.arange(20.0)
    found = measured(Sure(design, truth, "sure"), truth, 2)
    assert found["precision"] == 100.0
    assert found["coverage"] == {"0.5": 100.0, "0.8": 100.0, "0.9": 100.0, "0.95": 100.0}
    assert found["expected_precision"] == pytest.approx(80.0)
    assert np.sum(found["bins"], axis=0)[[0, 2]].tolist() == [20.0, 2.0]


def test_a_method_that_fails_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "broken", lambda reviews, n, rng: 1 / 0)
    found = run("offsets-k5", 30, 0, ["broken", "average", "exact"])
    assert found[0]["failed"].startswith("ZeroDivisionError")
    assert all(0.0 <= record["precision"] <= 100.0 for record in found[1:])


def test_a_method_can_be_added_by_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.benchmarks.harness.methods.METHODS", dict(METHODS))
    register("centred=lsc.baselines:centring")
    from tests.benchmarks.harness import methods

    design = random_assignment(20, 20, 3, np.random.default_rng(0))
    assert methods.METHODS["centred"](design, 2, np.random.default_rng(0)).method == "centring"
    with pytest.raises(ValueError, match="NAME=MODULE:FUNCTION"):
        register("centred")


@pytest.mark.parametrize("place", ["lsc.baselines:nothing", "lsc.nowhere:centring"])
def test_a_method_that_is_missing_ends_the_run_with_status_1_and_is_named(place: str) -> None:
    with pytest.raises(SystemExit, match=rf"gone.*{place}") as ended:
        register(f"gone={place}")
    assert isinstance(ended.value.code, str)  # Python prints it, and exits with 1


def test_runs_that_failed_are_named_until_they_succeed() -> None:
    rows = [
        {"study": "a", "draw": 0, "method": "m", "failed": "AttributeError: gone"},
        {"study": "a", "draw": 1, "method": "m", "failed": "AttributeError: gone"},
        {"study": "a", "draw": 1, "method": "m", "spearman": 3.0},
    ]
    found = storing.failures(rows, "study", "draw", "method")
    assert found == ["failed: study a, draw 0, method m: AttributeError: gone"]


def test_a_failed_cell_of_real_tables_ends_with_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.benchmarks import real_tables

    row = {"study": "auckland", "draw": 0, "spearman": 60.0, "resampled": [60.0, 61.0]}
    failed = {"study": "auckland", "draw": 0, "method": "ridge", "failed": "ValueError: no"}
    good = [{**row, "method": "average"}, {**row, "method": "posterior", "spearman": 70.0}]
    (tmp_path / "auckland").mkdir()
    (tmp_path / "auckland" / "scores.csv").write_text("reviewer,item,score\n")
    for rows, status, words in (
        (good, 0, ""),
        ([*good, failed], 1, "study auckland, draw 0, method ridge: ValueError"),
    ):
        store = tmp_path / f"{status}" / "real_tables.jsonl"
        for record in rows:
            storing.append(store, record)
        methods = [record["method"] for record in rows]
        arguments = ["--data", str(tmp_path), "-o", str(store.parent), "--report", "--only", "auckland"]
        monkeypatch.setattr("sys.argv", ["real_tables.py", *arguments, "--only-methods", *methods])
        assert real_tables.main() == status
        assert words in capsys.readouterr().err


def panel(seed: int = 0, n_reviewers: int = 30, n_items: int = 40) -> Reviews:
    """A full panel: quality, severity and a little noise."""
    rng = np.random.default_rng(seed)
    reviewer, item = (column.ravel() for column in np.indices((n_reviewers, n_items)))
    score = rng.normal(size=n_items)[item] + rng.normal(size=n_reviewers)[reviewer] + 0.5 * rng.normal(size=item.size)
    return Reviews.from_codes(reviewer, item, score, reviewers=n_reviewers, items=n_items)


def test_samples_of_a_panel_have_the_sizes_asked_for() -> None:
    full, rng = panel(), np.random.default_rng(1)
    sample = loads(full, 4, rng)
    assert set(sample.loads.tolist()) == {4}
    assert set(sample.reviews_per_item.tolist()) == {3}
    assert item_means(sample).shape == (40,)
    judged = panels(full, 2, rng)
    assert set(judged.reviews_per_item.tolist()) == {2}
    assert judged.n_reviewers == 30
    assert len(set(panels(full, 2, rng).reviewer.tolist())) > 20


def test_held_out_scores_are_predicted_without_themselves() -> None:
    sample = panels(panel(n_reviewers=20), 5, np.random.default_rng(1))
    error = squared_errors(sample, "ridge", np.random.default_rng(0))
    assert np.isfinite(error).all()
    # Noise .25 in each score, and as much again in what is known of quality and severity; the scores vary by 2.25.
    assert 0.25 < error.mean() < 0.8
    wild = sample.score.copy()
    wild[7] += 100.0
    other = Reviews.from_codes(sample.reviewer, sample.item, wild, reviewers=20, items=40)
    assert squared_errors(other, "ridge", np.random.default_rng(0))[7] > 90.0**2
    lonely = Reviews.from_codes([0, 1, 2, 3, 0], [0, 0, 0, 0, 1], np.arange(5.0), reviewers=4, items=2)
    assert np.isnan(squared_errors(lonely, "average", np.random.default_rng(0))).tolist() == [False, True] + [False] * 3


def test_gains_are_positive_where_ours_is_better(tmp_path: Path) -> None:
    rows = "".join(f"r{row},i{row // 2},1\n" for row in range(6))
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "scores.csv").write_text("reviewer,item,score\n" + rows)
    nan = float("nan")
    ours = [{"draw": 0, "squared": [1.0, 1.0, 1.0, 1.0, nan, 1.0], "spearman": 60.0, "resampled": [60.0, 62.0]}]
    theirs = [{"draw": 0, "squared": [2.0, 2.0, 2.0, 2.0, 9.0, nan], "spearman": 59.0, "resampled": [59.0, 59.0]}]
    held_out = gain(Study("s", "t", "held out"), tmp_path, ours, theirs)
    assert held_out == pytest.approx((50.0, 0.0))
    assert value(theirs) == pytest.approx(np.sqrt(17.0 / 5.0))
    resampled = gain(Study("s", "t", "truth"), tmp_path, ours, theirs)
    assert resampled == pytest.approx((1.0, np.sqrt(2.0)))
    assert gain(Study("s", "t", "panel", 2), tmp_path, ours, theirs).mean == 1.0
    assert value([{"spearman": 1.0}, {"spearman": 2.0}]) == 1.5

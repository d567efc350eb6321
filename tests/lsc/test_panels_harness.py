"""Thinning of tables with many scores per item, against plain loops; and the report of panels.py."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import lsc
from lsc import baselines
from lsc.metrics import spearman
from reviewgraph import Reviews
from tests.benchmarks import panels
from tests.benchmarks.harness import thinning
from tests.benchmarks.harness.measures import Summary, among_best, area, pairs_in_order
from tests.benchmarks.harness.methods import METHODS, Estimate, Method
from tests.benchmarks.harness.thinning import Draw, Scores, held_out, predicted, read_scores, sizes, thin, top
from tests.trials import NIGHTLY


def dense(n_reviewers: int = 30, n_items: int = 25, seed: int = 0) -> Scores:
    """A full panel with two criteria, one of them reversed, and confidence."""
    rng = np.random.default_rng(seed)
    reviewer, item = (column.ravel() for column in np.indices((n_reviewers, n_items)))
    quality, severity = rng.normal(size=n_items), rng.normal(size=n_reviewers)
    score, twin = (quality[item] - severity[reviewer] + 0.5 * rng.normal(size=item.size) for _ in range(2))
    return Scores(reviewer, item, score, {"twin": -10.0 * twin}, np.round(rng.uniform(1, 5, item.size)))


def test_a_thinned_table_has_the_scores_per_item_and_a_truth_from_other_reviewers() -> None:
    full = dense()
    sample = thin(full, 4, 20, np.random.default_rng(1))
    count = np.bincount(sample.scores.item)
    assert sorted(set(count.tolist()) - {0}) == [4]
    assert np.count_nonzero(count) == 20
    drawn = set(sample.scores.reviewer.tolist())
    assert 3 <= len(drawn) <= 15
    for item in np.unique(sample.scores.item):
        rest = [
            score
            for reviewer, its, score in zip(full.reviewer, full.item, full.score, strict=True)
            if its == item and reviewer not in drawn
        ]
        assert sample.truth[item] == pytest.approx(np.mean(rest))
    assert sample.behind == 30 - len(drawn)
    again = thin(full, 4, 20, np.random.default_rng(1))
    assert np.array_equal(sample.scores.score, again.scores.score)


def test_where_too_few_other_reviewers_remain_the_truth_is_of_the_scores_not_drawn() -> None:
    full = dense(3, 12)
    sample = thin(full, 2, 12, np.random.default_rng(1))
    drawn = {*zip(sample.scores.reviewer.tolist(), sample.scores.item.tolist(), strict=True)}
    for item in range(12):
        rest = [
            full.score[row] for row in range(36) if full.item[row] == item and (full.reviewer[row], item) not in drawn
        ]
        assert sample.truth[item] == pytest.approx(np.mean(rest))
    assert sizes(full, [3, 5]) == [2]
    assert sizes(dense(), [3, 5, 40]) == [3, 5]


def test_pairs_in_order_and_area_count_ties_one_half() -> None:
    rng = np.random.default_rng(3)
    quality, truth = rng.integers(0, 5, 40) / 4.0, rng.integers(0, 6, 40).astype(np.float64)
    n, cut = 7, np.sort(truth)[-7]
    level = [float(value == cut) for value in truth]
    best = [
        1.0 if value > cut else (n - sum(truth > cut)) / sum(level) * same
        for value, same in zip(truth, level, strict=True)
    ]
    assert among_best(truth, n) == pytest.approx(best)
    assert 0 < best.count(0.0) < 40 - n
    ordered, won, pairs, weights = 0.0, 0.0, 0, 0.0
    for a, b in permutations(range(40), 2):
        credit = 1.0 if quality[a] > quality[b] else 0.5 if quality[a] == quality[b] else 0.0
        won, weights = won + best[a] * (1 - best[b]) * credit, weights + best[a] * (1 - best[b])
        if truth[a] > truth[b]:
            ordered, pairs = ordered + credit, pairs + 1
    assert pairs_in_order(quality, truth) == pytest.approx(ordered / pairs)
    assert area(quality, among_best(truth, n)) == pytest.approx(won / weights)
    assert pairs_in_order(truth, truth) == 1.0
    assert area(np.zeros(40), among_best(truth, n)) == pytest.approx(0.5)
    assert np.isnan(pairs_in_order(quality, np.zeros(40)))


def test_ours_uses_criteria_and_confidence_and_the_other_methods_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    sample, seen = thin(dense(), 4, 20, np.random.default_rng(1)), {}

    def watched(name: str) -> Method:
        def method(reviews: Reviews, n: int, rng: np.random.Generator) -> Estimate:
            seen[name] = sorted(reviews.criteria), reviews.confidence is not None
            return baselines.average(reviews)

        return method

    for name in ("average", "posterior"):
        monkeypatch.setitem(METHODS, name, watched(name))
    monkeypatch.setattr(thinning, "used", lambda found: {})
    records = {name: thinning._method(name, sample, 0)() for name in ("average", "posterior")}
    assert seen == {"average": ([], False), "posterior": (["twin"], True)}
    assert records["average"]["pairs"] == records["posterior"]["pairs"]
    assert sorted(thinning._further(sample)) == ["posterior, no confidence", "posterior, only target"]
    assert sorted(thinning._simple(sample)) == sorted(thinning.SIMPLE)


def test_lists_and_probabilities_are_compared_with_a_truth_that_may_be_tied_at_the_cut() -> None:
    truth = np.array([5.0, 4.0, 4.0, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    chance = np.array([0.95, 0.05, 0.5, 0.2, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
    scores = dense().take(np.arange(3))
    estimate = SimpleNamespace(quality=np.arange(10.0), probability_in_top=lambda n: chance)
    found = top(estimate, Draw(scores, truth, 50.0), 0.2)
    # Two are selected: the first is among the best, each of the three tied ones with probability 1/3.
    assert found["in"] == pytest.approx([1, 0.05, 0.0])
    assert found["out"] == pytest.approx([6, 0.05, 1 / 3])
    assert found["expected"] == pytest.approx(100 * (0.95 + 0.5) / 2)
    assert found["precision"] == pytest.approx(100 * (1 + 1 / 3) / 2)
    assert np.sum(found["bins"], axis=0) == pytest.approx([10, 2.0, 2.0])


def test_held_out_scores_of_the_model_are_predicted_as_well_as_it_says() -> None:
    found = [held_out(dense(60, 80, seed), seed)["held out"] for seed in range(2 if NIGHTLY else 1)]
    number, density, covered = np.sum(found, axis=0)
    assert 0.86 <= covered / number <= 0.94
    # Noise of .5 where scores have a standard deviation of about 1.5, and a normal distribution of the known variance.
    spread = np.sqrt(1 + 1 + 0.25)
    expected = -0.5 * (1 + np.log(2 * np.pi * 0.25)) + np.log(spread)
    assert density / number == pytest.approx(expected, abs=0.12)


def test_a_predicted_score_is_that_of_a_line_through_what_the_posterior_reports() -> None:
    full = dense()
    estimate = lsc.posterior(full.reviews())
    mean, variance = predicted(estimate, full.reviewer, full.item)
    assert (variance > estimate.beliefs.reviewers.noise.mean[full.reviewer] ** 2).all()
    residual = full.score - mean
    by_reviewer = np.bincount(full.reviewer, residual) / np.bincount(full.reviewer)
    assert np.abs(by_reviewer).max() < 0.1


def written(folder: Path, full: Scores) -> Path:
    """The table as a file, one criterion of one review missing."""
    lines = ["reviewer,item,score,twin,confidence"]
    columns = full.reviewer, full.item, full.score, full.criteria["twin"], full.confidence
    for row, (who, what, *numbers) in enumerate(zip(*columns, strict=True)):
        shown = ["" if row == 5 and place == 1 else repr(float(number)) for place, number in enumerate(numbers)]
        lines.append(",".join([f"r{who:02}", f"i{what:02}", *shown]))
    path = folder / "panel.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_is_read_with_criteria_and_confidence(tmp_path: Path) -> None:
    full = dense()
    found = read_scores(written(tmp_path, full))
    assert np.array_equal(found.reviewer, full.reviewer)
    assert np.array_equal(found.item, full.item)
    assert np.array_equal(found.score, full.score)
    assert np.flatnonzero(np.isnan(found.criteria["twin"])).tolist() == [5]
    assert found.confidence is not None
    bad = tmp_path / "bad.csv"
    bad.write_text("reviewer,item\na,b\n")
    with pytest.raises(ValueError, match=r"bad\.csv.*score.*found reviewer, item"):
        read_scores(bad)
    bad = tmp_path / "words.csv"
    bad.write_text("reviewer,item,score\na,b,good\n")
    with pytest.raises(ValueError, match=r"words\.csv, column score"):
        read_scores(bad)


def test_a_truth_next_to_the_table_replaces_that_of_its_other_scores(tmp_path: Path) -> None:
    full = dense(12, 10)
    path = written(tmp_path, full)
    (tmp_path / "truth").mkdir()
    values = {item: float(10 - item) for item in range(10) if item != 4}
    lines = ["item,truth", *(f"i{item:02},{value}" for item, value in reversed(values.items()))]
    (tmp_path / "truth" / path.name).write_text("\n".join(lines) + "\n")
    (record,) = thinning.run(path, 4, 0, 8, ["average"])
    sample = thin(read_scores(path), 4, 8, np.random.default_rng([0, 4, 8]))
    count = np.bincount(sample.scores.item, minlength=10)
    known = [item for item in values if count[item]]
    average = [sample.scores.score[sample.scores.item == item].mean() for item in known]
    truth = [values[item] for item in known]
    assert record["spearman"] == pytest.approx(100 * spearman(np.array(average), np.array(truth)))
    assert record["behind"] == 0.0


def test_criteria_are_averaged_in_the_direction_of_the_target() -> None:
    full = dense()
    mean = thinning._mean(full)
    assert np.corrcoef(mean.score, full.score - full.criteria["twin"] / 10.0)[0, 1] > 0.999
    many = thinning._as_reviewers(full)
    assert many.reviews().n_reviewers == 60
    assert many.score.size == 2 * full.score.size


def test_means_over_numbers_of_scores_and_over_tables_have_the_errors_of_draws_and_of_tables() -> None:
    found = {("a", 3): Summary(1.0, 0.3), ("a", 5): Summary(3.0, 0.4), ("b", 3): Summary(6.0, 1.0)}
    mean, error = panels.over_sizes([found["a", 3], found["a", 5]])
    assert (mean, error) == pytest.approx((2.0, 0.25))
    assert panels.over_sizes([]) is None
    mean, error = panels.over_tables(found, {"a", "b"})
    assert (mean, error) == pytest.approx((4.0, 2.0))
    assert panels.over_tables(found, {"c"}) is None


@pytest.mark.slow
@pytest.mark.nightly
def test_panels_runs_resumes_compares_and_names_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, dense(40, 60))
    arguments = ["panels.py", str(path), "--scores", "3", "5", "--draws", "2", "--only-methods"]
    arguments += ["average", "posterior", "criteria as reviewers", "confidence as weights"]
    monkeypatch.setattr("sys.argv", [*arguments, "-o", str(tmp_path / "one")])
    assert panels.main() == 0
    page = capsys.readouterr().out
    assert "| panel | 3, 5 |" in page
    assert "criteria as reviewers" in page
    assert "confidence as weights" in page
    assert "**posterior** | posterior, no confidence | posterior, only target" in page
    assert "posterior - only target" in page
    assert "mean over tables with further columns (1)" in page
    assert "tables of one score" not in page
    rows = (tmp_path / "one" / "panels.jsonl").read_text()
    # Nothing is run again; compared with itself nothing changes.
    monkeypatch.setattr("sys.argv", [*arguments, "-o", str(tmp_path / "one"), "--before", str(tmp_path / "one")])
    assert panels.main() == 0
    assert (tmp_path / "one" / "panels.jsonl").read_text() == rows
    assert "+0.00 ± 0.00" in capsys.readouterr().out
    # A method that fails ends the run with status 1 and is named.
    monkeypatch.setitem(METHODS, "average", lambda reviews, n, rng: 1 / 0)
    monkeypatch.setattr("sys.argv", [*arguments, "-o", str(tmp_path / "two")])
    assert panels.main() == 1
    assert "failed: table panel, size 3, draw 0, method average: ZeroDivisionError" in capsys.readouterr().err


def test_the_correlation_of_a_draw_is_that_of_known_items() -> None:
    full = dense()
    record = run_one(full)
    assert -100.0 <= record["spearman"] <= 100.0
    assert json.dumps(record)


def run_one(full: Scores) -> thinning.Record:
    """The record of the average on one draw."""
    sample = thin(full, 3, 20, np.random.default_rng(0))
    record = thinning._method("average", sample, 0)()
    average = [sample.scores.score[sample.scores.item == item].mean() for item in np.unique(sample.scores.item)]
    ranks = [np.argsort(np.argsort(values)) for values in (average, sample.truth[np.unique(sample.scores.item)])]
    assert record["spearman"] == pytest.approx(100 * np.corrcoef(*ranks)[0, 1])
    return record

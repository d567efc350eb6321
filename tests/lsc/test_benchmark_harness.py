"""The harness of the benchmarks: measures and thinning against plain loops, killed runs, and the table of rows."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from lsc import baselines
from tests.benchmarks import page, panels
from tests.benchmarks.harness import measures, storing
from tests.benchmarks.panels import Results, Scores, over_tables, sizes, thin
from tests.benchmarks.rows import MISSED, ROWS


def test_wrong_selections_are_the_mean_over_all_orders_of_ties() -> None:
    quality = np.array([3.0, 2.0, 2.0, 2.0, 1.0])
    truth = np.array([5.0, 1.0, 4.0, 3.0, 2.0])
    for n in range(1, 6):
        wrong = []
        for order in permutations(range(5)):
            chosen = sorted(order, key=lambda item: -quality[item])[:n]
            best = set(np.argsort(-truth)[:n].tolist())
            wrong.append(len(set(chosen) - best) / n)
        assert measures.wrongly_selected(quality, truth, n) == pytest.approx(np.mean(wrong))
    # Sums of the same scores in another order differ by rounding, which makes no order.
    assert measures.wrongly_selected(quality + 1e-15 * truth, truth, 2) == measures.wrongly_selected(quality, truth, 2)


def test_pairs_in_order_count_ties_one_half() -> None:
    rng = np.random.default_rng(3)
    quality = rng.integers(0, 5, 40) / 4.0
    truth = rng.integers(0, 6, 40).astype(np.float64)
    ordered = [
        1.0 if quality[a] > quality[b] else 0.5 if quality[a] == quality[b] else 0.0
        for a, b in permutations(range(40), 2)
        if truth[a] > truth[b]
    ]
    assert measures.pairs_in_order(quality, truth) == pytest.approx(np.mean(ordered))
    assert measures.pairs_in_order(truth, truth) == 1.0
    assert np.isnan(measures.pairs_in_order(quality, np.zeros(40)))
    assert measures.among_best(truth, 7).sum() == pytest.approx(7)


def dense(n_reviewers: int = 30, n_items: int = 25, seed: int = 0) -> Scores:
    """A full panel with a criterion, reversed, and confidence."""
    rng = np.random.default_rng(seed)
    reviewer, item = (column.ravel() for column in np.indices((n_reviewers, n_items)))
    clean = rng.normal(size=n_items)[item] - rng.normal(size=n_reviewers)[reviewer]
    score, twin = (clean + 0.5 * rng.normal(size=item.size) for _ in range(2))
    return Scores(reviewer, item, score, {"twin": -10.0 * twin}, np.round(rng.uniform(1, 5, item.size)))


def test_a_thinned_table_has_the_scores_per_item_and_a_truth_from_other_reviewers() -> None:
    table = dense()
    sample = thin(table, 4, 20, np.random.default_rng(1))
    count = np.bincount(sample.scores.item)
    assert sorted(set(count.tolist()) - {0}) == [4]
    assert np.count_nonzero(count) == 20
    drawn = set(sample.scores.reviewer.tolist())
    assert 3 <= len(drawn) <= 15
    assert sample.behind == 30 - len(drawn)
    for item in np.unique(sample.scores.item):
        rest = [score for j, i, score in zip(table.reviewer, table.item, table.score, strict=True)
                if i == item and j not in drawn]  # fmt: skip
        assert sample.truth[item] == pytest.approx(np.mean(rest))
    assert sizes(dense(3, 12), [3, 5]) == [2]
    assert sizes(table, [3, 5, 40]) == [3, 5]


def test_panels_runs_resumes_and_names_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = dense()
    lines = [f"r{j},p{i},{y},{t}" for j, i, y, t in
             zip(table.reviewer, table.item, table.score, table.criteria["twin"], strict=True)]  # fmt: skip
    path = tmp_path / "made.csv"
    path.write_text("\n".join(["reviewer,item,score,twin", *lines]) + "\n", "utf-8")
    monkeypatch.setitem(panels.METHODS, "QP", lambda reviews, n, seed: baselines.average(None))
    words = ["panels", str(path), "-o", str(tmp_path), "--draws", "2", "--scores", "3", "--items", "20", "--methods"]
    monkeypatch.setattr("sys.argv", [*words, "average", "posterior"])
    assert panels.main() == 0
    written = (tmp_path / "panels.jsonl").read_text()
    assert panels.main() == 0
    assert (tmp_path / "panels.jsonl").read_text() == written
    assert "posterior - posterior, only target" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", [*words, "average", "QP"])
    assert panels.main() == 1
    assert "table made, size 3, draw 0, method QP" in capsys.readouterr().err
    results = Results(storing.records(tmp_path / "panels.jsonl"))
    of_draws = results.differences("posterior", "average", "spearman")
    assert over_tables(of_draws).mean == pytest.approx(of_draws["made", 3].mean)


LINEAR = {"cold": 2.0, "warm": 0.5, "anchor": 5.0, "rival": "another", "peak": 0.25, "words": "optimal"}


def test_the_report_has_every_row_with_its_goal() -> None:
    text = page.REPORT.read_text("utf-8")
    assert all(f"| {row.work} | {row.goal} |" in text for row in ROWS.values())
    assert all(text.count(mark) == 1 for mark in page.MARKS)


def test_a_row_has_cold_warm_and_rival_apart_and_no_figure_if_it_was_not_run() -> None:
    assert page.line(ROWS["linear"], LINEAR) == (
        "| LSC linear, 1,000 papers, 1,000 reviewers, 5 each | 500 x | 2 s | 0.5 s | 5 s (another) | 10 x | 0.25 GB "
        "| **missed** | optimal |"
    )
    cells = page.line(ROWS["assign"], None).split("|")[3:]
    assert [cell.strip() for cell in cells if cell.strip()] == ["not run"]


@pytest.mark.parametrize(
    ("name", "figures", "holds"),
    [
        ("convex", {"warm": 1.0, "anchor": 99.0}, False),
        ("convex", {"warm": 1.0, "anchor": 100.0}, True),
        ("levels", {"cold": 3.0, "warm": 0.9, "peak": 1.0}, True),
        ("power-law", {"cold": 9.0, "warm": 8.0, "peak": 4.5}, False),
        ("plan", {"cold": 29.0, "gap": 0.06}, False),
        ("plan-200", {"share": 0.6}, True),
        ("assign", {"cold": 170.0, "loss": 1.2}, False),
    ],
)
def test_goals_hold_in_all_they_ask_for(name: str, figures: dict[str, float], holds: bool) -> None:
    assert ROWS[name].verdict(figures) == ("reached" if holds else MISSED)

"""Experiments: the registry against the paper, seeds, resuming, verdicts, files and the command."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from lsc import metrics
from lsc.commands.reproduce import SIMULATED, reproduce
from lsc.experiments import peer_grading, running
from lsc.experiments.peer_grading import cells_of as graded_cells
from lsc.experiments.peer_grading import from_truth, intervals, read_hamburg, resampled, resamples_of
from lsc.experiments.peer_grading import table as graded_table
from lsc.experiments.registry import (
    EXPERIMENTS,
    GRADED_METHODS,
    PAPER_METHODS,
    PEER_GRADING,
    PUBLISHED_MIXED,
    RANK,
    REASONS,
    TABLE_1,
    TITLES,
    VARIANTS,
    Cell,
    Experiment,
    Published,
)
from lsc.experiments.running import STYLES, Verdict, _verdict, cells_of, counts, run, run_trial, save, table
from lsc.simulation import Setting
from reviewgraph import InputError, Reviews
from reviewgraph._base import Progress
from tests.trials import NIGHTLY, sampled

SMALL = Setting(40, 40, 5, noise=0.5)
TINY = Experiment("tiny", "Tiny", "", "noise", (Cell({"noise": 0.5}, SMALL, ("average", "bayesian", "lsc-linear")),))


def test_the_registry_holds_the_experiments_of_the_paper() -> None:
    assert tuple(EXPERIMENTS) == SIMULATED
    settings = {name: [cell.setting for cell in experiment.cells] for name, experiment in EXPERIMENTS.items()}
    assert settings["table1"] == settings["rank"] == [Setting(), Setting(noise=0.5)]
    assert [setting.load for setting in settings["k"][:5]] == [3, 4, 5, 6, 7]
    assert [setting.n_reviewers for setting in settings["ratio"][:3]] == [1000, 667, 500]
    assert {setting.n_reviewers for setting in settings["doubly-connected"]} == {350}
    assert [dict(setting.shares).get("monotone", 0.0) for setting in settings["mixture"][:5]] == [0, 0.25, 0.5, 0.75, 1]
    for experiment in EXPERIMENTS.values():
        for cell in experiment.cells:
            assert set(cell.methods) <= VARIANTS.keys()
            assert set(cell.published) <= set(cell.methods)
            assert cell.methods == PAPER_METHODS or len(cell.methods) in (1, 6)
    assert set(PAPER_METHODS) | {"lsc-mixed"} <= STYLES.keys()


def test_a_few_figures_of_the_paper_as_printed() -> None:
    assert TABLE_1[0.0]["qp"]["precision"][:2] == (97.1, 1.7)
    assert TABLE_1[0.5]["lsc-linear"]["gap"][:2] == (0.08, 0.01)
    assert PUBLISHED_MIXED[0.0]["lsc-mixed"]["precision"][:2] == (93.2, 2.5)
    assert RANK[0.5]["qp"]["average_l1"][:2] == (79.7, 14.2)
    assert "average_l1" not in RANK[0.0]["bayesian"]
    assert PEER_GRADING["lsc-linear"]["gap"].mean == 0.38


@pytest.mark.slow
def test_a_trial_depends_on_its_setting_and_number_only() -> None:
    first = run_trial(SMALL, 0, ["average", "bayesian"])
    assert run_trial(SMALL, 0, ["bayesian", "lsc-linear", "average"])["bayesian"] == first["bayesian"]
    assert run_trial(SMALL, 1, ["average"]) != run_trial(SMALL, 0, ["average"])


@pytest.mark.nightly
def test_one_and_two_processes_give_the_same_numbers() -> None:
    assert run([TINY], 3, jobs=1) == run([TINY], 3, jobs=2)


def test_a_folder_that_cannot_be_made_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "trials").write_text("a file where the folder should be")
    with pytest.raises(InputError, match="cannot be written"):
        run([TINY], 1, jobs=1, folder=tmp_path)


def test_a_killed_run_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complete = run([TINY], 4, jobs=1)

    class Killed(Exception):
        pass

    def kill(now: Progress) -> None:
        if now.words == "2 of 4 trials":
            raise Killed

    with pytest.raises(Killed):
        run([TINY], 4, jobs=1, folder=tmp_path, progress=kill)
    stored = sorted(tmp_path.rglob("*.json"))
    assert [path.name for path in stored] == ["000.json", "001.json"]
    stored[1].write_text(stored[1].read_text()[:50])  # as a machine that stops may leave it
    (tmp_path / "trials" / SMALL.key / "002.json").write_text('{"methods": {"average": 3}}')
    ran = []
    original = running.run_trial
    monkeypatch.setattr(running, "run_trial", lambda *task: ran.append(task[1]) or original(*task))
    assert run([TINY], 4, jobs=1, folder=tmp_path) == complete
    assert ran == [1, 2, 3]
    ran.clear()
    assert run([TINY], 4, jobs=1, folder=tmp_path) == complete
    assert ran == []


@pytest.mark.nightly
def test_the_command_gives_the_same_bytes_after_sigkill_and_with_another_hash_seed(tmp_path: Path) -> None:
    words = ["doubly-connected", "--papers", "40", "--trials", "2", "--json"]
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-m", "reviewgraph", "reproduce", *words, "-o", str(tmp_path / "killed")]
    killed = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    while killed.poll() is None and len(list(tmp_path.rglob("*.json"))) < 2:
        time.sleep(0.001)
    killed.send_signal(signal.SIGKILL)
    assert killed.communicate()[0] == b""
    assert 2 <= len(list(tmp_path.rglob("*.json"))) < 20
    resumed = CliRunner().invoke(reproduce, [*words, "-o", str(tmp_path / "killed")])
    fresh = CliRunner().invoke(reproduce, [*words, "-o", str(tmp_path / "fresh")])
    assert resumed.exit_code == fresh.exit_code == 0
    assert resumed.stdout == fresh.stdout
    for name in ("doubly-connected.csv", "doubly-connected.svg", "doubly-connected.png"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "fresh" / name).read_bytes()


def test_a_stored_trial_is_completed_by_the_methods_it_lacks(tmp_path: Path) -> None:
    few = Experiment("few", "Few", "", "", (Cell({}, SMALL, ("average",)),))
    run([few], 1, jobs=1, folder=tmp_path)
    assert run([TINY], 1, jobs=1, folder=tmp_path) == run([TINY], 1, jobs=1)


@pytest.mark.parametrize(
    ("mean", "std", "expected"),
    [
        (80.0, 2.0, Verdict.REPRODUCED),
        (81.3, 2.0, Verdict.REPRODUCED),  # 2 standard errors of the difference are 1.26, and 0.05 rounded away
        (81.4, 2.0, Verdict.BETTER),
        (78.6, 2.0, Verdict.NOT_REPRODUCED),
        (80.0, math.nan, None),
    ],
)
def test_verdicts(mean: float, std: float, expected: Verdict | None) -> None:
    assert _verdict("precision", mean, std, 20, Published(80.0, 2.0, 0.05)) is expected
    opposite = {Verdict.BETTER: Verdict.NOT_REPRODUCED, Verdict.NOT_REPRODUCED: Verdict.BETTER}
    flipped = opposite.get(expected, expected) if expected else None
    assert _verdict("gap", mean, std, 20, Published(80.0, 2.0, 0.05)) is flipped


def test_cells_hold_means_errors_and_the_papers_figures() -> None:
    experiment = Experiment("one", "One", "", "noise", (Cell({"noise": 0.5}, SMALL, ("average",), TABLE_1[0.5]),))
    values = [30.0, 40.0, 50.0]
    results = {SMALL: [{"average": {"precision": value, "gap": 0.8}} for value in values]}
    (cell,) = cells_of(experiment, results)
    assert (cell["precision"], cell["precision_std"], cell["trials"]) == (40.0, 10.0, 3)
    assert cell["precision_se"] == pytest.approx(10.0 / math.sqrt(3))
    assert (cell["precision_paper"], cell["precision_paper_std"]) == (39.2, 4.5)
    assert cell["precision_verdict"] == cell["gap_verdict"] == "reproduced"
    assert counts([cell])["reproduced"] == 2
    assert "40.0 +- 10.0 (39.2 +- 4.5) =" in table(experiment, [cell])[2]
    assert cell["precision_why"] is None


def test_a_figure_that_is_not_reproduced_says_why() -> None:
    cell = Cell({"noise": 0.5}, SMALL, ("average", "qp"), RANK[0.5])
    experiment = Experiment("one", "One", "", "noise", (cell,), ("average_l1",))
    results = {SMALL: [{method: {"average_l1": value} for method in cell.methods} for value in (299.0, 301.0)]}
    cells = cells_of(experiment, results)
    assert [found["average_l1_verdict"] for found in cells] == ["not reproduced"] * 2
    assert table(experiment, cells)[-2:] == [
        f"! noise 0.5 Average, avg. L1: {REASONS[0.5, 'average', 'average_l1']}",
        "! noise 0.5 QP, avg. L1: differs by more than two standard errors, for an unknown reason",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(["doubly-connected", "k", "table1"]))
def test_files_are_whole_tables_and_pictures(name: str, tmp_path: Path) -> None:
    experiment = EXPERIMENTS[name]
    rng = np.random.default_rng(0)
    results = {
        cell.setting: [
            {m: {"precision": rng.uniform(50, 100), "gap": rng.uniform(0, 1)} for m in cell.methods} for _ in range(3)
        ]
        for cell in experiment.cells
    }
    cells = cells_of(experiment, results)
    paths = save(tmp_path, experiment, cells)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths)
    assert len((tmp_path / f"{name}.csv").read_text().splitlines()) == 1 + len(cells)
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    first = (tmp_path / f"{name}.svg").read_bytes()
    text = "".join(ElementTree.fromstring(first).itertext())
    assert "precision (%)" in text
    assert "paper" in text
    if name == "doubly-connected" or NIGHTLY:
        save(tmp_path, experiment, cells)
        assert (tmp_path / f"{name}.svg").read_bytes() == first


@pytest.mark.slow
def test_the_command_reports_the_cells_as_json(tmp_path: Path) -> None:
    words = ["table1", "--trials", "1", "--papers", "40", "--json", "-o", str(tmp_path)]
    run_ = CliRunner().invoke(reproduce, words)
    assert run_.exit_code == 0, run_.output
    cells = json.loads(run_.stdout)["cells"]
    assert [(cell["noise"], cell["method"]) for cell in cells] == [(s, m) for s in (0.0, 0.5) for m in PAPER_METHODS]
    for cell in cells:
        assert {"precision", "precision_std", "gap", "gap_std", "precision_paper", "gap_paper"} <= cell.keys()
    assert "2 of 2 trials" in run_.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table1.csv", "table1.png", "table1.svg", "trials"]


def test_the_command_asks_for_the_data_of_peer_grading() -> None:
    run_ = CliRunner().invoke(reproduce, ["peer-grading"])
    assert run_.exit_code == 2
    assert "--reviews FILE --truth FILE" in run_.stderr
    assert CliRunner().invoke(reproduce, ["table1", "--truth", "x.csv"]).exit_code == 2


def hamburg(folder: Path) -> None:
    """A small course: 2 homeworks of 2 questions, 8 groups, each answer graded by 4 of 8 reviewers and 2 assistants."""
    rng = np.random.default_rng(0)
    most = {"11": 10, "12": 4, "21": 20, "22": 8}
    (folder / "maxgrades.csv").write_text("taskid,maxgrade\n" + "".join(f"{t},{m}\n" for t, m in most.items()))
    peer, assistants = ["taskid,reviewerid,groupid,grade"], ["taskid,reviewerid,groupid,grade"]
    for task, maximum in most.items():
        for group in range(8):
            true = rng.integers(0, maximum + 1)
            peer += [f"{task},r{r},{group},{min(maximum, true + r % 2)}" for r in rng.choice(8, 4, replace=False)]
            assistants += [f"{task},ta{a},{group},{true}" for a in range(2)]
    (folder / "peer.csv").write_text("\n".join(peer) + "\n")
    (folder / "ta.csv").write_text("\n".join(assistants) + "\n")


def test_the_hamburg_files_are_read_by_homework(tmp_path: Path) -> None:
    hamburg(tmp_path)
    tasks = read_hamburg(str(tmp_path))
    assert [task.reviews.n_items for task in tasks] == [16, 16]
    assert sum(task.reviews.n_reviews for task in tasks) == 128
    for task in tasks:
        assert np.abs(task.reviews.score).max() <= 5.0
        assert np.isfinite(task.truth).all()
    homework = tasks[0]
    assert homework.name == "homework 1"
    cells = graded_cells([homework], ("average", "lsc-linear"), resamples=5)
    stated = [(cell["share"], cell["precision_paper"]) for cell in cells]
    assert stated == [(0.2, None), (0.2, None), (0.5, 80.9), (0.5, 82.2)]


@pytest.mark.slow
@pytest.mark.nightly
def test_the_command_runs_the_hamburg_course(tmp_path: Path) -> None:
    hamburg(tmp_path)
    words = ["peer-grading", "--hamburg", str(tmp_path), "-o", str(tmp_path / "out")]
    run_ = CliRunner().invoke(reproduce, words)
    assert run_.exit_code == 0, run_.output
    assert "homework 2: best 50 %" in run_.stdout
    for method in GRADED_METHODS:
        assert run_.stdout.count(f"\n{TITLES[method]}  ") == 4
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".csv"}


def test_measures_of_resamples_are_those_of_each() -> None:
    rng = np.random.default_rng(0)
    quality, truth = rng.integers(0, 6, (40, 9)).astype(float), rng.integers(0, 4, (40, 9)).astype(float)
    quality[rng.uniform(size=quality.shape) < 0.1] = np.nan
    truth[0], quality[1] = 2.0, 3.0
    for n in (1, 4, 9):
        found = resampled(quality, truth, n)
        for row in range(40):
            one = metrics.precision(quality[row], truth[row], n), metrics.ndcg(quality[row], truth[row], n)
            assert (found["precision"][row], found["ndcg"][row]) == pytest.approx([100.0 * value for value in one])
            assert found["spearman"][row] == pytest.approx(metrics.spearman(quality[row], truth[row]), nan_ok=True)


def test_intervals_leave_out_two_and_a_half_percent_on_each_side() -> None:
    rng = np.random.default_rng(0)
    truth, quality, average = rng.normal(size=(3, 30))
    truth[::7] = np.nan
    draws = resamples_of(truth, rng, 250)
    assert draws.shape == (250, 25)
    assert np.isfinite(truth[draws]).all()
    apart = [metrics.spearman(quality[row], truth[row]) - metrics.spearman(average[row], truth[row]) for row in draws]
    assert intervals(quality, average, truth, 3, draws)["spearman"] == pytest.approx(np.quantile(apart, [0.025, 0.975]))


@pytest.mark.slow
@pytest.mark.usefixtures("infer_once")
def test_the_command_compares_all_methods_with_the_average(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The page is of the same cells as the JSON; their resampling takes longest.
    cells_of, made = peer_grading.cells_of, []
    monkeypatch.setattr(
        peer_grading,
        "cells_of",
        lambda tasks: made[0] if made else made.append(cells_of(tasks, resamples=2000 if NIGHTLY else 200)) or made[0],
    )
    rng = np.random.default_rng(0)
    scores = [f"r{j},p{i},{rng.integers(1, 11)}" for j in range(8) for i in rng.choice(12, 5, replace=False)]
    (tmp_path / "reviews.csv").write_text("reviewer,item,score\n" + "\n".join(scores) + "\n")
    (tmp_path / "truth.csv").write_text("item,truth\n" + "".join(f"p{i},{i}\n" for i in range(12)))
    words = ["peer-grading", "--reviews", str(tmp_path / "reviews.csv"), "--truth", str(tmp_path / "truth.csv")]
    run_ = CliRunner().invoke(reproduce, [*words, "--json"])
    assert run_.exit_code == 0, run_.output
    cells = json.loads(run_.stdout)["cells"]
    assert [(cell["share"], cell["method"]) for cell in cells] == [(s, m) for s in (0.2, 0.5) for m in GRADED_METHODS]
    plain = {cell["share"]: cell for cell in cells if cell["method"] == "average"}
    for cell in cells:
        for name in ("precision", "ndcg", "spearman"):
            difference = cell[name] - plain[cell["share"]][name]
            assert cell[f"{name}_difference"] == pytest.approx(difference)
            assert cell[f"{name}_low"] <= cell[f"{name}_high"]
    printed = CliRunner().invoke(reproduce, words).stdout
    assert len(made) == 1
    cell = cells[GRADED_METHODS.index("ridge")]
    assert f"{cell['spearman_difference']:+.2f} [{cell['spearman_low']:+.2f}, {cell['spearman_high']:+.2f}]" in printed


def test_a_quick_look_speaks_of_no_figures_of_the_paper_and_says_how_to_keep_it() -> None:
    page = CliRunner().invoke(reproduce, ["table1", "--trials", "1", "--papers", "40"]).stdout
    assert "paper" not in page.replace("--papers", "")
    offer = "Next: reviewgraph reproduce table1 --trials 1 --papers 40 -o results\n  (to write tables and plots)"
    assert page.rstrip().endswith(offer)


def test_a_truth_that_ranks_nothing_leaves_no_correlation() -> None:
    rows = [(j, i, float((i * (j + 1)) % 7)) for j in range(4) for i in range(6)]
    task = from_truth(Reviews.from_pairs(rows), {0: 2.0, 1: 2.0, 2: 2.0})
    cells = graded_cells([task], ("average", "ridge"), resamples=4)
    assert [math.isnan(cell["spearman_low"]) for cell in cells] == [True] * 4
    assert "nan" not in "".join(graded_table(cells))


def test_a_task_without_a_maximum_and_reviews_without_a_truth_are_refused(tmp_path: Path) -> None:
    hamburg(tmp_path)
    (tmp_path / "maxgrades.csv").write_text("taskid,maxgrade\n11,10\n12,4\n21,20\n")
    with pytest.raises(InputError, match=r"ta\.csv: expected tasks of maxgrades\.csv, found '22'"):
        read_hamburg(str(tmp_path))
    with pytest.raises(InputError, match="truth: expected items of the reviews, such as 'p1'; found none"):
        from_truth(Reviews.from_pairs([("ann", "p1", 1.0)]), {"p2": 1.0})


def test_lower_is_better_turns_the_truth_round() -> None:
    reviews = Reviews.from_pairs([("ann", "p1", 1.0), ("ann", "p2", 2.0)], lower_is_better=True)
    assert from_truth(reviews, {"p1": 1.0, "p2": 2.0}).truth.tolist() == [-1.0, -2.0]


def test_what_is_not_installed_is_said_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    told = CliRunner().invoke(reproduce, ["table1"])
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr == (
        "Error: reproduce needs joblib and matplotlib; to install: python -m pip install 'reviewgraph[reproduce]'\n"
    )

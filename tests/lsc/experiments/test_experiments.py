"""Experiments: the registry against the paper, seeds, verdicts, files and the command."""

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from lsc.commands.reproduce import reproduce
from lsc.experiments import PAPER_METHODS, TABLE_1, Cell, Experiment, _verdict, cells_of, run, run_trial, table
from lsc.simulation import Setting

SMALL = Setting(40, 40, 5, noise=0.5)
TINY = Experiment("tiny", "Tiny", (Cell({"noise": 0.5}, SMALL, ("average", "bayesian", "lsc-linear")),))


@pytest.mark.slow
def test_a_trial_depends_on_its_setting_and_number_only() -> None:
    first = run_trial(SMALL, 0, ["average", "bayesian"])
    assert run_trial(SMALL, 0, ["bayesian", "lsc-linear", "average"])["bayesian"] == first["bayesian"]
    assert run_trial(SMALL, 1, ["average"]) != run_trial(SMALL, 0, ["average"])


@pytest.mark.nightly
def test_one_and_two_processes_give_the_same_numbers() -> None:
    assert run([TINY], 3, jobs=1) == run([TINY], 3, jobs=2)


@pytest.mark.parametrize(
    ("mean", "std", "expected"),
    [
        (80.0, 2.0, "reproduced"),
        (81.2, 2.0, "reproduced"),  # 2 standard errors of the difference are 1.26
        (81.4, 2.0, "better"),
        (78.6, 2.0, "not reproduced"),
        (80.0, math.nan, None),
    ],
)
def test_verdicts(mean: float, std: float, expected: str | None) -> None:
    assert _verdict("precision", mean, std, 20, (80.0, 2.0)) == expected
    opposite = {"better": "not reproduced", "not reproduced": "better"}
    flipped = opposite.get(expected, expected) if expected else None
    assert _verdict("gap", mean, std, 20, (80.0, 2.0)) == flipped


def test_cells_hold_means_errors_and_the_papers_figures() -> None:
    experiment = Experiment("one", "One", (Cell({"noise": 0.5}, SMALL, ("average",), TABLE_1[0.5]),))
    values = [30.0, 40.0, 50.0]
    results = {SMALL: [{"average": {"precision": value, "gap": 0.8}} for value in values]}
    (cell,) = cells_of(experiment, results)
    assert (cell["precision"], cell["precision_std"], cell["trials"]) == (40.0, 10.0, 3)
    assert cell["precision_se"] == pytest.approx(10.0 / math.sqrt(3))
    assert (cell["precision_paper"], cell["precision_paper_std"]) == (39.2, 4.5)
    assert cell["precision_verdict"] == cell["gap_verdict"] == "reproduced"
    lines = table(experiment, [cell])
    assert "40.0 +- 10.0 (39.2 +- 4.5) =" in lines[2]
    assert lines[-1] == "Figures of the paper: 2 reproduced, 0 better, 0 not reproduced."


@pytest.mark.slow
def test_the_command_reports_the_cells_as_json(tmp_path: Path) -> None:
    words = ["table1", "--trials", "1", "--papers", "40", "--json", "-o", str(tmp_path)]
    run_ = CliRunner().invoke(reproduce, words)
    assert run_.exit_code == 0, run_.output
    cells = json.loads(run_.stdout)["cells"]
    assert [(cell["noise"], cell["method"]) for cell in cells] == [(s, m) for s in (0.0, 0.5) for m in PAPER_METHODS]
    for cell in cells:
        assert {"precision", "precision_std", "gap", "gap_std", "precision_paper", "gap_paper"} <= cell.keys()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table1.csv"]

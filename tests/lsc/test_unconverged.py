"""What users are told of a posterior that ran out of sweeps."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import lsc
from lsc._inference import fitting
from lsc.commands.calibrate import calibrate
from reviewgraph import Reviews
from tests.lsc.inference.simulated_tables import table


@pytest.fixture(autouse=True)
def never_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "TOLERANCE", 0.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    who, what, score, _ = table(1, 60, 40, 6)
    file = tmp_path / "scores.csv"
    np.savetxt(file, np.column_stack([who, what, score]), "%g", ",", header="reviewer,item,score", comments="")
    return file


def test_the_warning_is_raised_once_at_the_caller_with_the_distance() -> None:
    who, what, score, _ = table(1, 60, 40, 6)
    with pytest.warns(lsc.ConvergenceWarning, match=r"off by up to \S+ standard errors") as found:
        result = lsc.posterior(Reviews.from_codes(who, what, score, reviewers=40, items=60))
    assert [warning.filename for warning in found] == [__file__]
    assert result.status.value == "sweeps_exhausted"
    assert f"{result.beliefs.off:.2g}" in str(found[0].message)


@pytest.mark.filterwarnings("always::lsc.errors.ConvergenceWarning")
@pytest.mark.parametrize("words", [["--json"], ["--stream"], []])
def test_the_command_says_so_once_on_stderr(path: Path, words: list[str]) -> None:
    found = CliRunner().invoke(calibrate, [str(path), *words])
    assert found.exit_code == 0, found.output
    assert found.stderr.count("not converged") == 1
    assert "converge" not in found.stdout
    assert ('"sweeps_exhausted"' in found.stdout) == (words == ["--json"])

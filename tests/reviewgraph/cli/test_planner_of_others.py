"""Another project's package named planner is one message, and nothing else breaks."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.trials import sampled

ROOT = Path(__file__).parents[3]


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    (tmp_path / "planner").mkdir()
    (tmp_path / "planner/__init__.py").write_text("version = 1\n", "utf-8")
    (tmp_path / "r.csv").write_text("reviewer,paper\na,1\na,2\nb,1\nb,2\n", "utf-8")
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    script = f"import sys\nsys.path[:0] = [{str(folder)!r}, {str(ROOT)!r}]\nfrom reviewgraph.__main__ import run\nrun()"
    command = [sys.executable, "-c", script, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", sampled([("plan", "r.csv"), ("assign",)]))
def test_commands_that_need_ours_say_so(foreign: Path, words: tuple[str, ...]) -> None:
    done = run(foreign, *words)
    assert done.returncode == 2
    assert "expected the package planner of reviewgraph, found another one" in done.stderr
    assert str(foreign / "planner" / "__init__.py") in done.stderr
    assert "pipx install reviewgraph" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_name_that_reviewgraph_lends_says_so(foreign: Path) -> None:
    script = (
        f"import sys\nsys.path[:0] = [{str(foreign)!r}, {str(ROOT)!r}]\nimport reviewgraph as rg\nrg.check\nrg.plan"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=foreign, capture_output=True, text=True, check=False)
    assert "ImportError: plan: expected the package planner of reviewgraph, found another one" in done.stderr


def test_others_work(foreign: Path) -> None:
    assert run(foreign, "check", "r.csv").returncode == 0
    assert run(foreign, "--help").returncode == 0

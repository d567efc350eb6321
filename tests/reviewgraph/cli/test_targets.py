"""What a command reads is never what it writes; a failure of the program, or a planner of others, is one message."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from tests.trials import sampled

TABLE = "reviewer,paper,score\nann,p1,3\nann,p2,1\nbob,p2,4\nbob,p3,2\ncyd,p3,1\ncyd,p1,3\n"
PAIRS = "reviewer,paper\nann,p3\n"


@pytest.fixture
def folder(folder: Path) -> Path:
    Path("d.csv").write_text(TABLE, "utf-8")
    Path("c.csv").write_text(PAIRS, "utf-8")
    Path("link.csv").symlink_to("d.csv")
    os.link("d.csv", "hard.csv")
    return folder


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("plan d.csv -o d.csv", "REVIEWS..."),
        ("plan d.csv -o ./d.csv", "REVIEWS..."),
        ("plan -o d.csv d.csv", "REVIEWS..."),
        ("plan link.csv -o d.csv", "REVIEWS..."),
        ("plan d.csv -o hard.csv", "REVIEWS..."),
        ("plan d.csv --conflicts c.csv -o c.csv", "--conflicts"),
        ("plan d.csv -o new.csv --html new.csv", "--html"),
        ("calibrate d.csv -o d.csv", "REVIEWS..."),
        ("check d.csv -o d.csv", "REVIEWS..."),
        ("check d.csv --html d.csv", "REVIEWS..."),
    ],
)
def test_what_is_read_is_not_written(words: str, told: str) -> None:
    ended = CliRunner().invoke(main, words.split())
    assert ended.exit_code == 2
    assert f"{told} names the same file" in ended.stderr
    assert (Path("d.csv").read_text("utf-8"), Path("c.csv").read_text("utf-8")) == (TABLE, PAIRS)
    assert not Path("new.csv").exists()


@pytest.mark.usefixtures("folder")
def test_a_name_that_no_file_can_have_is_refused_before_the_work() -> None:
    ended = CliRunner().invoke(main, ["plan", "d.csv", "-o", "n" * 256])
    assert (ended.exit_code, "255 bytes at most" in ended.stderr) == (2, True)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("preset", ["realistic", "conference"])
def test_simulate_never_writes_over_other_files_unless_told_to(preset: str) -> None:
    words = ["simulate", preset, "--papers", "12", "--reviewers", "10"]
    name = "reviews.csv" if preset == "realistic" else "papers.csv"
    Path(name).write_text(TABLE, "utf-8")
    ended = CliRunner().invoke(main, words)
    assert (ended.exit_code, f"{name}: exists with other content" in ended.stderr) == (2, True)
    assert Path(name).read_text("utf-8") == TABLE
    before = set(os.listdir())
    assert CliRunner().invoke(main, [*words, "--overwrite"]).exit_code == 0
    assert Path(name).read_text("utf-8") != TABLE
    # The same run again finds its own files.
    assert CliRunner().invoke(main, words).exit_code == 0
    assert before < set(os.listdir())


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

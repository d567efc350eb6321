"""What a command reads is never what it writes, and a failure of the program is no missed level."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from reviewgraph.cli import main

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

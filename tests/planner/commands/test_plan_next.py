"""What pages of plans propose runs as it stands, and what is seen first fits a terminal."""

import shutil
from pathlib import Path

import pytest

from tests.pages import run
from tests.test_next import KIT, SCORED, SMALL, STARTED, follow
from tests.trials import NIGHTLY, sampled

pytestmark = pytest.mark.usefixtures("infer_once")

#: Plans that reach their level, or do not: by budget, by loads, and as close as possible.
PLANS = (
    "",
    "-o upload.csv",
    "--spare 0",
    "--max-reviews 1",
    "--min-reviews 3 --spare 1",
    "--min-reviews 3 --spare 1 --best-effort",
    "--target connected",
    "--target survives-reviewer --time-limit 0.5",
)
OF_SCORES = (
    "--for decision --select 20% --max-reviews 10",
    "--target double --for decision --select 10% --max-reviews 21",
    "--for decision --select 4 --max-reviews 12 --rounds 3",
    "--for decision --select 20% --match 4",
)
#: Before there are scores.
FIRST_PHASE = "--for decision --select 20% --match 3"
#: Lines of 80 columns that a page has at most.
LINES = 24


@pytest.mark.parametrize("version", sampled(["3.4", "3.2"]))
@pytest.mark.parametrize(("stage", "files"), [("stage1", STARTED), ("stage2", SCORED)], ids=["stage1", "stage2"])
def test_of_chairs(
    stage: str, files: tuple[str, ...], version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    asked = (*PLANS[:4], FIRST_PHASE) if files is STARTED else OF_SCORES
    for place, options in enumerate(asked if NIGHTLY else asked[:3]):
        shutil.copytree(KIT / version / stage, tmp_path / str(place))
        monkeypatch.chdir(tmp_path / str(place))
        words = ("plan", *files, *options.split())
        assert follow(words, 2, "calibrate")
        page = run(*words).stdout.splitlines()
        assert len(page) <= LINES, options
        assert max(map(len, page)) <= 80
        assert page[0][:12].isupper() or page[0].split()[1].isupper()


@pytest.mark.parametrize("options", PLANS)
@pytest.mark.parametrize("name", SMALL)
def test_of_small_tables(name: str, options: str, folder: Path) -> None:
    Path("my table.csv").write_text(SMALL[name])
    follow(("plan", "my table.csv", *options.split()), 2, "calibrate")


def test_conflicts_and_committee_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(KIT / "3.4" / "stage2", tmp_path / "kit")
    monkeypatch.chdir(tmp_path / "kit")
    words = ("plan", "labconf-scores.csv", "--items", "labconf-data.csv")
    page = " ".join(run(*words).stdout.split())
    assert "! No conflicts given: --conflicts FILE" in page
    assert "! The committee is unknown: --willing FILE" in page
    page = " ".join(run("plan", *SCORED).stdout.split())
    assert "No conflicts given" not in page
    assert "The committee is unknown" not in page
    Path("capacity.csv").write_text("reviewer,spare\nnew@somewhere.example,9\n", "utf-8")
    page = " ".join(run("plan", *SCORED, "--capacity", "capacity.csv").stdout.split())
    assert "! Not on the committee, as far as the files say: new@somewhere.example. HotCRP refuses a file with" in page

"""``plan --rounds`` at the command line: what an upload needs, and what does not fit."""

from pathlib import Path

import numpy as np
import pytest

import planner
from reviewgraph import InputError, read_reviews
from reviewgraph._base import check_draws
from tests.pages import run_line

pytestmark = pytest.mark.usefixtures("infer_once")


PEOPLE = [f"r{number:02}@example.org" for number in range(20)]
FIRST = "plan scores.csv pcassignments.csv --for decision --select 4 --max-reviews 12 --rounds 3"


@pytest.fixture(autouse=True)
def folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner._plans.rounds.ROLLOUTS", 16)
    rng = np.random.default_rng(2)
    pairs = [(paper, who) for paper in range(1, 21) for who in rng.permutation(PEOPLE)[:2].tolist()]
    rows = [f"{paper},Paper {paper},{who},{rng.integers(1, 10)}" for paper, who in pairs]
    Path("scores.csv").write_text("\n".join(["paper,title,email,OveMer", *rows, ""]), "utf-8")
    assign(pairs)


def assign(pairs: list[tuple[int, str]]) -> None:
    """Add pairs to HotCRP's list of assignments."""
    path = Path("pcassignments.csv")
    before = path.read_text("utf-8") if path.exists() else "paper,action,email,round\n"
    path.write_text(before + "".join(f"{paper},primaryreview,{who},R2\n" for paper, who in pairs), "utf-8")


def test_the_round_of_the_file_has_to_exist() -> None:
    needed = 'add the round R2 in Settings, Reviews, "Deadlines and rounds"; HotCRP refuses the file without it'
    done = run_line(f"{FIRST} --label R2 -o upload.csv --json")
    assert f"upload.csv: {needed}" in done.stderr
    assert ",R2\n" in Path("upload.csv").read_text("utf-8")
    done = run_line(f"{FIRST} --label R2 -o upload.csv")
    assert done.stdout.startswith("ROUND 1 OF 3, ")
    assert needed in " ".join(done.stdout.split())
    for line in (f"{FIRST} --json", f"{FIRST} --to csv -o plan.csv", f"{FIRST} -o upload.csv"):
        assert "Deadlines and rounds" not in run_line(line).output


def test_rounds_need_their_reviews() -> None:
    done = run_line(FIRST.replace("--max-reviews 12 ", ""))
    assert done.exit_code == 2
    assert "--rounds: expected the number of reviews of all 3 rounds with it" in done.stderr
    with pytest.raises(InputError, match=r"^rounds: expected the number of reviews of all 2 rounds with it"):
        planner.plan(read_reviews("scores.csv"), goal="decision", n_selected=4, rounds=2)
    assert run_line("plan scores.csv --for decision --select 4 --min-reviews 2").exit_code == 0


@pytest.mark.parametrize(
    ("number", "least", "words"), [(-1, 0, "0 or more"), (0, 1, "1 or more"), (9, 1, "8 or fewer")]
)
def test_numbers_of_draws(number: int, least: int, words: str) -> None:
    with pytest.raises(InputError, match=f"^n: expected a number of draws, {words}, found {number}$"):
        check_draws(number, "n", least=least, most=8)
    check_draws(least, "n", least=least, most=8)

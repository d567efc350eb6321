"""``plan --rounds`` and ``--after`` at the command line: what an upload needs, and what does not fit."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from planner import plan_extra_reviews
from reviewgraph import InputError, read_reviews
from reviewgraph._base import check_draws
from reviewgraph.cli import main

pytestmark = pytest.mark.usefixtures("infer_once")


PEOPLE = [f"r{number:02}@example.org" for number in range(20)]
FIRST = "plan scores.csv pcassignments.csv --for decision --select 4 --max-reviews 12 --rounds 3"
NEXT = "plan scores.csv pcassignments.csv --after round1.json"

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("planner._plans.rounds.ROLLOUTS", 16)
    rng = np.random.default_rng(2)
    pairs = [(paper, who) for paper in range(1, 21) for who in rng.permutation(PEOPLE)[:2].tolist()]
    rows = [f"{paper},Paper {paper},{who},{rng.integers(1, 10)}" for paper, who in pairs]
    Path("scores.csv").write_text("\n".join(["paper,title,email,OveMer", *rows, ""]), "utf-8")
    assign(pairs)
    return lambda line: CliRunner().invoke(main, shlex.split(line))


def assign(pairs: list[tuple[int, str]]) -> None:
    """Add pairs to HotCRP's list of assignments."""
    path = Path("pcassignments.csv")
    before = path.read_text("utf-8") if path.exists() else "paper,action,email,round\n"
    path.write_text(before + "".join(f"{paper},primaryreview,{who},R2\n" for paper, who in pairs), "utf-8")


def planned(run: Run, line: str, name: str) -> dict:
    done = run(f"{line} --json")
    assert done.exit_code == 0, done.output
    Path(name).write_text(done.stdout, "utf-8")
    return json.loads(done.stdout)


def test_reviews_in_none_of_the_files_are_said_and_counted_as_still_to_come(run: Run) -> None:
    first = planned(run, FIRST, "round1.json")
    pairs = [(one["item"], one["reviewer"]) for one in first["reviews"]]
    assert len(pairs) > 1
    # Nothing was uploaded.
    said = f"{len(pairs)} planned reviews are in none of the files: not uploaded, or declined?"
    done = run(NEXT)
    assert said in " ".join(done.stdout.split())
    assert said not in done.stderr
    done = run(f"{NEXT} --json")
    assert f"round1.json: {said}" in done.stderr
    rounds = json.loads(done.stdout)["rounds"]
    assert [(one["item"], one["reviewer"]) for one in rounds["absent"]] == pairs
    assert rounds["absent"] == rounds["outstanding"]
    # All but one were: that one was declined.
    assign([(int(paper), who) for paper, who in pairs[1:]])
    rounds = planned(run, NEXT, "round2.json")["rounds"]
    assert [(one["item"], one["reviewer"]) for one in rounds["absent"]] == pairs[:1]
    assert "1 planned review is in none of the files" in " ".join(run(NEXT).stdout.split())
    assert run(f"verify round2.json {NEXT.removeprefix('plan ')}").exit_code == 0
    # Who declined is listed: the budget has it back.
    Path("gone.csv").write_text(f"paper,email\n{pairs[0][0]},{pairs[0][1]}\n", "utf-8")
    done = planned(run, f"{NEXT} --gone gone.csv", "round2.json")["rounds"]
    assert (done["absent"], len(done["lost"]), done["budget"]) == ([], 1, rounds["budget"] + 1)


def test_the_round_of_the_file_is_that_of_the_page_and_has_to_exist(run: Run) -> None:
    needed = 'add the round {} in Settings, Reviews, "Deadlines and rounds"; HotCRP refuses the file without it'
    done = run(f"{FIRST} -o upload.csv --json")
    assert f"upload.csv: {needed.format('R2')}" in done.stderr
    assert json.loads(done.stdout)["rounds"]["name"] == "R2"
    assert ",R2\n" in Path("upload.csv").read_text("utf-8")
    Path("round1.json").write_text(done.stdout, "utf-8")
    done = run(f"{FIRST} -o upload.csv")
    assert done.stdout.startswith("ROUND 1 OF 3, ")
    assert "round 3 (R4)" in done.stdout
    for line, name in ((FIRST, "R2"), (NEXT, "R3"), (f"{FIRST} --label autumn", "autumn")):
        assert f"First   {needed.format(name)}" in " ".join(run(f"{line} -o upload.csv").stdout.split()).replace(
            "First ", "First   "
        )
    for line in (f"{FIRST} --json", f"{FIRST} --to csv -o plan.csv", "plan scores.csv -o upload.csv"):
        assert "Deadlines and rounds" not in run(line).output


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda run: "", "found an empty file; a shell empties the file after >"),
        (lambda run: run("check scores.csv --json").stdout, "found other JSON; name that file"),
        (lambda run: run("plan scores.csv --json").stdout, "found a plan without rounds; name that file, or leave"),
        (lambda run: "[1]", "found other JSON; name that file"),
        (lambda run: "item,reviewer\n", "found no JSON"),
        (
            lambda run: '{"rounds": {"number": 1}}',
            "expected the answer of a round, as plan --rounds --json writes it, found no budget, ",
        ),
    ],
)
def test_what_is_no_round_is_refused_with_a_remedy(run: Run, make: Callable[[Run], str], message: str) -> None:
    text = make(run)
    Path("round1.json").write_text(text, "utf-8")
    done = run(NEXT)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("Error: ") == 1
    assert "round1.json: expected the JSON that plan --rounds R --json printed for the last round" in done.stderr or (
        "give the answer of the last round" in done.stderr
    )


def test_rounds_need_their_reviews(run: Run) -> None:
    done = run(FIRST.replace("--max-reviews 12 ", ""))
    assert done.exit_code == 2
    assert "--rounds: expected max_reviews with it, the number of reviews of all 3 rounds" in done.stderr
    with pytest.raises(InputError, match=r"^rounds: expected max_reviews with it"):
        plan_extra_reviews(read_reviews("scores.csv"), objective="decision", n_selected=4, rounds=2)
    assert run("plan scores.csv --for decision --select 4 --min-reviews 2").exit_code == 0


@pytest.mark.parametrize(
    ("number", "least", "words"), [(-1, 0, "0 or more"), (0, 1, "1 or more"), (9, 1, "8 or fewer")]
)
def test_numbers_of_draws(number: int, least: int, words: str) -> None:
    with pytest.raises(InputError, match=f"^n: expected a number of draws, {words}, found {number}$"):
        check_draws(number, "n", least=least, most=8)
    check_draws(least, "n", least=least, most=8)

"""A conference system is one class and one line: a toy of one goes through every command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner, Result

from reviewgraph import read_reviews
from reviewgraph.cli import main
from reviewgraph.formats import Outgoing, System
from reviewgraph.formats.systems.known import SYSTEMS
from reviewgraph.formats.systems.system import Accepted, Export, Rule, Use

Run = Callable[..., Result]
_PAIR = {"item": ("Work",), "reviewer": ("Juror",)}


class Toy(System):
    """Jurors give marks to works."""

    name = "toy"
    title = "the toy"
    exports = (
        Export(
            "the toy's marks",
            (Use("reviews", {**_PAIR, "score": ("Mark",)}, rules=(Rule("Void", lambda cell: cell != "yes"),)),),
            ("work", "juror", "mark"),
        ),
        Export("the toy's jury", (Use("reviewers", {"reviewer": ("Juror",), "load": ("Most",)}),), ("juror", "most")),
        Export("the toy's works", (Use("papers", {"item": ("Work",)}),), ("work", "hall")),
        Export("the toy's objections", (Use("conflicts", _PAIR),), ("work", "juror", "objection")),
        Export("the toy's duties", (Use("assignments", _PAIR),), ("work", "juror", "duty")),
    )
    words = "the toy's duties"
    suffix = ".toy"
    options = ("label",)
    items = Accepted(re.compile("w[0-9]").fullmatch, "works", "name works by their numbers")
    advice: ClassVar = {"conflicts": "The toy forgets objections: add --conflicts.", "": "The toy sleeps at night."}
    results = "a list of prizes"

    def write(self, outgoing: Outgoing) -> str:
        self.expect_taken(outgoing)
        duty = outgoing.label or "review"
        return "".join(["Work,Juror,Duty\n", *(f"{work},{juror},{duty}\n" for juror, work in outgoing.pairs)])

    def write_results(self, columns: Mapping[str, Sequence[Any]]) -> str:
        return "".join(
            f"{work} wins {quality:.1f}\n" for work, quality in zip(columns["item"], columns["quality"], strict=True)
        )


FILES = {
    "marks.csv": "Work,Juror,Mark,Void\n"
    + "".join(f"w{work},{who},{mark},\n" for who, work, mark in zip("aabbccdd", "12123434", "35472638", strict=True))
    + "w1,d,9,yes\n",
    "works.csv": "Work,Hall\n" + "".join(f"w{work},A\n" for work in range(1, 5)),
    "jury.csv": "Juror,Most\na,3\nb,3\nc,3\nd,3\n",
    "objections.csv": "Work,Juror,Objection\nw3,a,cousin\n",
}
RULES = "--items works.csv --conflicts objections.csv"
COMMANDS = {
    "check": "check marks.csv --items works.csv",
    "plan": f"plan marks.csv {RULES}",
    "assign": f"assign {RULES} --reviewers jury.csv --demand 2",
    "calibrate": "calibrate marks.csv --items works.csv --method average",
}


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[System]:
    with monkeypatch.context() as patch:
        patch.setitem(SYSTEMS, Toy.name, Toy())
        yield SYSTEMS[Toy.name]
    told = CliRunner().invoke(main, ["plan", "--help-all"])
    assert "toy" not in told.stdout


@pytest.fixture
def run(toy: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, "utf-8")
    return lambda words: CliRunner().invoke(main, words.split())


def test_what_it_hands_out_is_recognised_and_can_be_named(run: Run) -> None:
    taken: list[Any] = []
    reviews = read_reviews("marks.csv", read=taken.append)
    assert (taken[0].system, reviews.n_reviews, reviews.n_items) == ("toy", 8, 4)
    assert read_reviews("marks.csv", format="toy").to_dict() == reviews.to_dict()
    told = run("check works.csv --format toy")
    assert told.exit_code == 2
    assert "works.csv: this is the toy's works, which holds papers; expected a file of reviews" in told.stderr
    told = run("check marks.csv --format conftool")
    assert "pretalx, ojs, indico, labelstudio, forms, workshop, gradebook, toy, table, found 'conftool'" in told.stderr
    Path("other.csv").write_text("x,y\n1,2\n", "utf-8")
    assert "expected a file of the toy (the toy's marks, the toy's jury," in run("check other.csv --format toy").stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_its_files_and_the_answer_is_verified(run: Run, command: str) -> None:
    words = COMMANDS[command]
    told = run(f"{words} --json")
    assert told.exit_code in (0, 1), told.output
    assert "marks.csv: read as the toy's marks" in told.stderr or command == "assign"
    Path("answer.json").write_text(told.stdout, "utf-8")
    told = run(f"verify answer.json {words.partition(' ')[2]}")
    assert told.exit_code == 0, told.output
    assert "answer.json: holds" in told.stdout


@pytest.mark.parametrize("command", ["plan", "assign"])
def test_plan_and_assign_write_what_it_takes_and_check_reads_it_back(run: Run, command: str) -> None:
    told = run(f"{COMMANDS[command]} --to toy -o duties.toy --label jury")
    assert told.exit_code == 0, told.output
    assert Path("duties.toy").read_text("utf-8").startswith("Work,Juror,Duty\n")
    assert ",jury\n" in Path("duties.toy").read_text("utf-8")
    assert "The toy sleeps at night." in told.stdout
    assert "The toy forgets objections" not in told.stdout
    files = "marks.csv duties.toy" if command == "plan" else "duties.toy"
    assert run(f"check {files} --require double").exit_code == 0


def test_who_takes_the_file_is_the_system_that_the_reviews_came_from(run: Run) -> None:
    told = run("plan marks.csv -o duties.toy")
    assert "duties.toy: the toy's duties (--to csv writes a table)" in told.stderr
    assert "The toy forgets objections: add --conflicts." in told.stdout
    assert "(to write the toy's duties" in " ".join(run("plan marks.csv").stdout.split())
    Path("marks.csv").write_text(FILES["marks.csv"].replace("w", "v"), "utf-8")
    assert "to toy: expected works, found" in run("plan marks.csv --to toy -o duties.toy").stderr


def test_calibrate_writes_what_it_takes_of_qualities(run: Run) -> None:
    assert run("calibrate marks.csv --to toy -o prizes.txt").exit_code == 0
    assert re.fullmatch(r"(w\d wins [\d.]+\n){4}", Path("prizes.txt").read_text("utf-8"))


def test_help_and_messages_list_it(run: Run) -> None:
    shown = " ".join(run("plan --help-all").stdout.split())
    assert "toy: the toy's duties." in shown
    assert "[hotcrp|openreview|cmt|start|pretalx|csv|mail|toy]" in shown
    assert "toy, a list of prizes." in " ".join(run("calibrate --help-all").stdout.split())
    assert "'toy'" in run("plan marks.csv --to nobody -o out").stderr
    told = run("plan marks.csv --to csv -o out --label x")
    assert "--label: expected --to hotcrp or openreview or toy with it" in told.stderr


@pytest.mark.parametrize(("part", "writer"), [("words", "write"), ("suffix", "write"), ("results", "write_results")])
def test_a_file_that_nothing_writes_is_refused_where_the_system_is_defined(part: str, writer: str) -> None:
    with pytest.raises(TypeError, match=f"Mute: a system with {part}, here '[.]mute', has to define {writer}"):
        type("Mute", (System,), {"name": "mute", part: ".mute"})

"""Every command that a page or a message offers can be typed, and every option that it names exists."""

import re
import shlex
from importlib.resources import files
from pathlib import Path

import click
import pytest

from reviewgraph.cli import main
from tests.pages import offered, run, run_line

pytestmark = pytest.mark.usefixtures("infer_once")


COMMANDS = {name: main.get_command(click.Context(main), name) for name in main.list_commands(click.Context(main))}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")

PEOPLE = ("ann", "bob", "cyd")
TABLES = {
    "two.csv": "reviewer,paper,score\nann,p1,1\nann,p2,2\nbob,p2,1\nbob,p3,2\n",
    "tied.csv": "reviewer,paper,score\nann,p1,1\nann,p2,1\nbob,p1,3\nbob,p2,3\n",
    "planned.csv": "who,what\nann,p1\nann,p2\nbob,p2\nbob,p3\n",
    "apart.csv": "reviewer,paper,score\nann,p1,1\nann,p2,2\nbob,p3,1\nbob,p4,2\n",
    "one.csv": "reviewer,paper,score\nann,p 1,1\nann,p2,2\nbob,p2,1\nbob,p 1,2\n",
    "two names.csv": "rater name,paper,grade\nann,p1,A\nann,p2,B\nbob,p2,A\nbob,p1,B\n",
    "barred.csv": "item,reviewer\np3,ann\np1,bob\n",
    "papers.csv": "item\np1\np2\np3\n",
    "people.csv": "reviewer\nann\nbob\ncyd\n",
    "affinity.csv": "item,reviewer,affinity\n" + "".join(f"p{n},{who},0.{n}\n" for n in (1, 2, 3) for who in PEOPLE),
    "first.csv": "reviewer,paper,score\nann,p1,1\nann,p2,2\nbob,p1,1\n",
}
ASSIGN = "assign --items papers.csv --reviewers people.csv --affinity affinity.csv"

PAGES = [
    "check apart.csv",
    "check one.csv",
    "check planned.csv --columns reviewer=who,item=what",
    "check 'two names.csv' --columns 'reviewer=rater name,score=grade' --scale 'A>B'",
    "check two.csv --require survives-review",
    "check two.csv --require connected --lower-is-better --duplicates last --items papers.csv",
    "plan two.csv",
    "plan two.csv -o plan.csv",
    "plan two.csv --to mail -o letters.csv",
    "plan two.csv --conflicts barred.csv",
    "plan two.csv --max-reviews 0",
    "plan two.csv --max-reviews 1 --target survives-reviewer -o part.csv",
    "plan two.csv --for decision --select 1 --max-reviews 2",
    "plan planned.csv --columns reviewer=who --columns item=what -o 'my plan.csv'",
    f"{ASSIGN} --demand 2 -o assigned.csv",
    f"{ASSIGN} --demand 1 --phase-one first.csv -o assigned.csv",
    f"{ASSIGN} --demand 1 --target none -o 'my assignment.csv'",
    f"{ASSIGN} --demand 1 --to mail -o letters.csv",
    f"{ASSIGN} --demand 3 --load 1",
    "calibrate two.csv",
    "calibrate one.csv --select 1 --lottery",
    "calibrate two.csv --method lsc",
    "calibrate two.csv --explain p1",
    "simulate linear --papers 12 --reviewers 9 -o made-up",
    "simulate conference --papers 12 --reviewers 9 -o 'to assign'",
    "simulate realistic --assignment two.csv -o scored",
    "demo",
]

#: What is refused, each with a way out.
REFUSED = [
    "check planned.csv",
    "check two.csv --columns rater=who",
    "check two.csv --select 0",
    "plan two.csv --rounds 2",
    "plan two.csv --to cmt",
    "plan two.csv --to cmt -o out.xml",
    "plan two.csv -o nowhere/plan.csv",
    f"{ASSIGN} --at-most institution=1",
    "calibrate two.csv --lottery",
    "calibrate two.csv --method average --weights affinity.csv",
    "calibrate two.csv --explain p9",
]


@pytest.fixture(autouse=True)
def folder(folder: Path) -> None:
    for name, text in TABLES.items():
        Path(name).write_text(text, "utf-8")
    demo = (files("reviewgraph") / "cli" / "reviewgraph-demo.csv").read_text("utf-8")
    Path("large.csv").write_text(demo, "utf-8")


def expect_options_of(command: str, text: str) -> None:
    """Options that a text names belong to the command, or to another one that the text names as well."""
    named = [command, *(name for name in COMMANDS if re.search(rf"\b{name}\b", text))]
    known = {word for name in named for option in COMMANDS[name].params for word in option.opts}
    assert set(OPTION.findall(text)) <= known | {"--help"}, text


@pytest.mark.slow
@pytest.mark.parametrize("words", PAGES)
def test_what_a_page_offers_can_be_typed(words: str) -> None:
    result = run_line(words)
    assert result.exit_code in (0, 1), result.output
    expect_options_of(words.split()[0], result.output)
    if "--explain" not in words and "--lottery" not in words and "(infeasible)" not in result.stdout:
        again = offered(result.stdout)
        assert again, result.stdout
        for name, text in TABLES.items():
            assert Path(name).read_text("utf-8") == text
        follow = run(*again)
        assert follow.exit_code in (0, 1), f"{again}\n{follow.output}"


@pytest.mark.parametrize("words", REFUSED)
def test_refusals_name_options_that_there_are(words: str) -> None:
    result = run_line(words)
    assert result.exit_code == 2, result.output
    expect_options_of(words.split()[0], result.stderr)
    # What may be typed as it stands is typed.
    for way in re.findall(r"for example (--\S+)", result.stderr):
        assert run_line(f"{words} {way}").exit_code != 2


def test_a_way_out_of_several_scores_works_as_printed() -> None:
    Path("scores.csv").write_text("reviewer,paper,rating,overall\nann,p1,1,2\nann,p2,2,1\n", "utf-8")
    result = run_line("check scores.csv")
    assert result.exit_code == 2
    (way,) = re.findall(r"for example (--score \S+)", result.stderr)
    assert run_line(f"check scores.csv {way}").exit_code == 0


@pytest.mark.parametrize(
    ("words", "repeated"),
    [
        ("plan two.csv --time-limit 60", "plan two.csv --time-limit 60 -o plan.csv"),
        ("plan two.csv --time-limit 2.5", "plan two.csv --time-limit 2.5 -o plan.csv"),
        ("calibrate two.csv --method lsc", "calibrate two.csv --method lsc --select 10% -o calibrated.csv"),
        (
            f"{ASSIGN} --demand 2 --time-limit 60 --columns affinity=affinity",
            f"{ASSIGN} --demand 2 --time-limit 60 --columns affinity=affinity -o assignment.csv",
        ),
    ],
)
def test_the_next_command_repeats_options_as_they_were_typed(words: str, repeated: str) -> None:
    result = run_line(words)
    assert result.exit_code in (0, 1), result.output
    assert sorted(offered(result.stdout)) == sorted(shlex.split(repeated))


@pytest.mark.parametrize("words", ["check two.csv", "plan two.csv", f"{ASSIGN} --demand 2", "calibrate two.csv"])
def test_a_table_is_not_written_to_a_file_of_json(words: str) -> None:
    result = run_line(f"{words} -o answer.json")
    assert result.exit_code == 2
    assert result.stdout == ""
    message = "-o answer.json: expected the name of a table, such as answer.csv; for JSON, add --json > answer.json"
    assert f"Error: {message} instead\n" in result.stderr
    assert not Path("answer.json").exists()
    assert run_line(f"{words} --json").exit_code == 0

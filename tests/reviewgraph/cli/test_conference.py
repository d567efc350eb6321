"""The conference file: which options it gives, what wins over it, and what is wrong with it."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from reviewgraph.cli import Command, main
from reviewgraph.cli.command import Conference, Option

CONTEXT = click.Context(main)
COMMANDS: dict[str, Command] = {
    name: command
    for name in main.list_commands(CONTEXT)
    if isinstance(command := main.get_command(CONTEXT, name), Command)
}
KEYS = [
    (name, section, key)
    for name, command in COMMANDS.items()
    for section, keys in command.sections().items()
    for key in keys
]
REVIEWS = "reviewer,item,score\na,1,3\na,2,5\nb,1,2\nb,2,4\nb,3,1\nc,2,3\nc,3,2\n"
PAPERS = "item\n1\n2\n3\n"
REVIEWERS = "reviewer,senior\na,yes\nb,yes\nc,yes\n"
BIDS = "item,reviewer,bid\n1,a,yes\n1,b,yes\n2,a,yes\n2,c,no\n3,b,yes\n3,c,yes\n"
CONFERENCE = """# What this conference has.
[input]
items = "papers.csv"
reviewers = "reviewers.csv"

[preferences]
bids = ["bids.csv"]

[rules]
conflicts = "conflicts.csv"
demand = 2
load = 3

[assign]
load = 2

[check]
reviews = "reviews.csv"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tables = {"reviews": REVIEWS, "papers": PAPERS, "reviewers": REVIEWERS, "bids": BIDS}
    for name, text in {**tables, "conflicts": "item,reviewer\n2,c\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    return tmp_path


def run(words: str, conference: str | None = None) -> Result:
    if conference is not None:
        Path("conference.toml").write_text(conference, encoding="utf-8")
    return CliRunner().invoke(main, shlex.split(words), prog_name="reviewgraph")


def read(name: str, words: str = "") -> dict[str, Any]:
    """Return the parameters of a command line."""
    with COMMANDS[name].make_context(
        name, shlex.split(words), parent=click.Context(main, **main.context_settings)
    ) as context:
        return dict(context.params)


def plain(params: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in params.items()}


def test_a_command_alone_does_what_it_does_with_all_options() -> None:
    typed = run(
        "assign --items papers.csv --reviewers reviewers.csv --bids bids.csv --conflicts conflicts.csv --demand 2 "
        "--load 2 --target connected --json"
    )
    found = run("assign --target connected --json", CONFERENCE)
    assert (found.exit_code, typed.exit_code) == (0, 0), found.stderr
    answers = [json.loads(each.stdout) for each in (found, typed)]
    first, *files = answers[0].pop("files")
    assert {**answers[0], "files": files} == answers[1]
    assert first == {
        "file": "conference.toml",
        "sheets": [],
        "rows": 8,
        "scored": None,
        "left_out": [],
        "sha256": hashlib.sha256(CONFERENCE.encode()).hexdigest(),
        "options": [
            {"option": "items", "value": "papers.csv"},
            {"option": "reviewers", "value": "reviewers.csv"},
            {"option": "bids", "value": "bids.csv"},
            {"option": "conflicts", "value": "conflicts.csv"},
            {"option": "demand", "value": "2"},
            {"option": "load", "value": "2"},
        ],
    }


def test_a_file_that_is_found_is_said_in_one_line_and_can_be_left_aside() -> None:
    found = run("check", CONFERENCE)
    assert found.stderr.splitlines()[0] == (
        "Options from conference.toml: items, reviewers, conflicts, demand, load, reviews "
        "(--conference none ignores it)"
    )
    details = run("check --verbose=files", CONFERENCE).stdout
    read = "Read conference.toml: items, reviewers, conflicts, demand, load, reviews; reviews.csv: 7"
    assert read in " ".join(details.split())
    assert "Next  reviewgraph calibrate reviews.csv" in found.stdout
    named = run("check --conference conference.toml")
    assert (named.exit_code, "conference.toml gives" in named.stderr) == (0, False)
    assert "Next  reviewgraph calibrate reviews.csv --conference conference.toml" in named.stdout
    without = run("check reviews.csv --conference none")
    assert "conference.toml gives" not in without.stderr
    assert "conference.toml" not in without.stdout.replace("--conference none", "")
    assert "Missing argument" in run("check --conference none").stderr


def test_what_is_typed_wins_and_the_section_of_the_command_comes_before_others() -> None:
    Path("conference.toml").write_text(CONFERENCE, encoding="utf-8")
    assert (read("assign")["load"], read("check")["load"]) == (2, 3)
    assert (read("assign", "--load 4")["load"], read("check", "--load 4")["load"]) == (4, 4)
    assert read("check", "bids.csv")["paths"] == ("bids.csv",)
    assert read("assign", "--bids reviews.csv=2")["bids"] == ("reviews.csv=2",)
    # What is typed in the place of a file that is not there is as good.
    Path("bids.csv").unlink()
    assert read("assign", "--bids reviews.csv")["bids"] == ("reviews.csv",)


def test_paths_are_relative_to_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("conference.toml").write_text(f'[columns]\n"bids.csv:bid" = "bid"\n{CONFERENCE}', encoding="utf-8")
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    params = read("assign", "--conference ../conference.toml")
    assert (params["items_file"], params["bids"]) == ("../papers.csv", ("../bids.csv",))
    assert params["columns"] == {"../bids.csv:bid": "bid"}
    found = run("check --conference ../conference.toml")
    assert found.exit_code == 0, found.stderr
    assert "--conference ../conference.toml" in found.stdout


def test_the_template_and_the_sections_of_the_manual_are_those_that_are_read() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/conference-file.md").read_text("utf-8")
    template = page.partition("```toml\n")[2].partition("```")[0]
    commands = {name: command.sections() for name, command in COMMANDS.items()}
    every = main.sections(CONTEXT)  # type: ignore[attr-defined]
    assert not [*Conference("conference.toml", template, tomllib.loads(template)).unknown(every)]
    for section, keys in re.findall(r"^\| `\[(\w+)\]` \| (.*) \|$", page, re.M):
        known = {key for sections in commands.values() for key in sections.get(section, ())}
        assert section == "columns" or set(re.findall(r"`([a-z-]+)`", keys)) <= known, section
    for section in {name for sections in commands.values() for name in sections}:
        assert f"`[{section}]`" in page


def test_a_level_of_the_file_is_not_put_before_an_objective_that_is_typed() -> None:
    section = '[input]\nreviews = "reviews.csv"\n[level]\ntarget = "recoverable"\n[selection]\nselect = 1\n'
    found = json.loads(run("plan --for decision --max-reviews 1 --json", section).stdout)
    assert (found["target"], "decision" if found["purchase"] else "") == (None, "decision")
    both = json.loads(run("plan --for decision --target connected --max-reviews 1 --json").stdout)
    assert (both["target"], "decision" if both["purchase"] else "") == ("connected", "decision")
    # A number to select is for the commands that select.
    assert json.loads(run("plan --json").stdout)["target"] == "recoverable"


def value_of(parameter: click.Parameter) -> tuple[Any, list[str]]:
    """Return a value as TOML has it, and the words that give the same."""
    kind, metavar = parameter.type, parameter.metavar or ""
    if isinstance(parameter, click.Argument):
        return ["reviews.csv", "more.csv"], ["reviews.csv", "more.csv"]
    assert isinstance(parameter, Option)
    if parameter.is_flag:
        return True, [f"--{parameter.key}"]
    text: Any = "x"
    if isinstance(kind, click.Choice):
        text = list(kind.choices)[-1]
    elif isinstance(kind, click.IntRange):
        text = kind.max or 7
    elif isinstance(kind, click.FloatRange):
        text = 0.25
    elif metavar in ("P|FILE", "N|P%"):
        text = 0.5 if metavar == "P|FILE" else 2
    elif metavar == "all|none|FILE":
        text = "all"
    elif metavar == "PRICE,WORTH":
        text = "2,1.5"
    elif parameter.key == "verbose":
        text = "notes"
    elif parameter.key == "accept":
        text = "placeholders"
    elif parameter.key == "scale":
        text = "A>B"
    elif "FILE" in metavar:
        text = "some.csv"
    shown = f"{text}"
    several = [text, "some.csv" if "FILE" in metavar else text] if parameter.multiple else text
    return several, [
        part for each in (several if parameter.multiple else [shown]) for part in (f"--{parameter.key}", f"{each}")
    ]


@pytest.mark.parametrize(("name", "section", "key"), KEYS)
def test_every_option_can_stand_in_the_file(name: str, section: str, key: str) -> None:
    Path("some.csv").touch()
    Path("more.csv").touch()
    parameter = COMMANDS[name].sections()[section][key]
    value, words = value_of(parameter)
    lists = {"items": ["--items", "papers.csv"], "reviewers": ["--reviewers", "reviewers.csv"]}
    needed = [*lists["items"], *lists["reviewers"]] if name == "assign" else ["reviews.csv"]
    rest = [] if key == "reviews" else needed
    if name == "assign" and key in lists:
        rest = next(words for other, words in lists.items() if other != key)
    typed = plain(read(name, shlex.join([*rest, *words])))
    Path("conference.toml").write_text(f"[{section}]\n{key} = {json.dumps(value)}\n", encoding="utf-8")
    assert plain(read(name, shlex.join(rest))) == typed


BAD = {
    "[rules]\ndemnd = 3": ("line 2: [rules] demnd: expected one of", "found demnd; did you mean demand?"),
    "[rles]\ndemand = 3": ("line 1: expected one of", "found [rles]; did you mean [rules]?"),
    "[check]\nnoise = 1": ("line 2: [check] noise is no longer an option: use --like FILE",),
    "demand = 3": ("line 1: expected demand in [rules]; move it there",),
    "[input]\n\ndemand = 3": ("line 3: [input] demand: expected demand in [rules]; move it there",),
    "[plan]\ndemand = 3": ("line 2: [plan] demand: expected demand in [rules]; move it there",),
    "[rules]\noutput = 'x'": ("expected output in [check] or [plan] or [assign] or [calibrate]; move it there",),
    "[rules]\ndemand = 'x'": ("line 2: [rules] demand: 'x' is not a valid integer",),
    "[rules]\ndemand = true": ("expected a text or a number, found true",),
    "[rules]\ndemand = 2.5": ("line 2: [rules] demand: '2.5' is not a valid integer",),
    "[rules]\ndemand = -3": ("line 2: [rules] demand: -3 is not in the range x>=0.",),
    "[rules]\nconflicts = 3": ("expected a file, found none named 3",),
    "[rules]\nconflicts = ['a.csv']": ("expected a text or a number, found a.csv",),
    "[rules]\nconflicts = 'no.csv'": ("line 2: [rules] conflicts: expected a file, found none named no.csv;",),
    "[input]\nlower-is-better = 'yes'": ("expected true or false, found yes",),
    "[input]\nreviews = ['reviews.csv', 'no.csv']": ("expected a file, found none named no.csv",),
    "[level]\nrequire = 'doubl'": ("line 2: [level] require: 'doubl' is not one of", "as in [assign]"),
    "[selection]\nselect = 'all'": ("line 2: [selection] select: expected a number of papers",),
    "[columns]\nscoer = 'x'": ("line 1: expected one of reviewer", "did you mean score?"),
    "[columns]\nscore = 3": ("line 2: [columns] score: expected the name of a column, a text; found 3",),
    "[rules]\ndemand =": ("conference.toml: expected TOML", "line 2"),
    "demand = " + "[" * 20_000: ("conference.toml: expected TOML", "found otherwise"),
    "[rules]\ndemand = 2\ndemand = 3": ("conference.toml: expected TOML", "line 3"),
    "[check]\noutput = 'conference.toml'": ("-o conference.toml: --conference names the same file",),
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_wrong_with_a_file_is_said_with_its_place(text: str) -> None:
    told = run("check" if "reviews" in text else "check reviews.csv", f"{text}\n")
    assert (told.exit_code, told.stdout) == (2, "")
    assert "Error: " in told.stderr
    assert "Traceback" not in told.output
    for part in BAD[text]:
        assert part in told.stderr
    # Help is there all the same.
    assert run("check --help").exit_code == 0


def test_a_file_that_cannot_be_read_is_refused() -> None:
    told = run("check reviews.csv --conference no.toml")
    assert (told.exit_code, "--conference no.toml: cannot be read (No such file" in told.stderr) == (2, True)
    Path("conference.toml").write_bytes(b"\xff")
    told = run("check reviews.csv")
    assert (told.exit_code, "conference.toml: expected TOML" in told.stderr) == (2, True)


def test_verify_takes_the_same_and_says_where_options_differ() -> None:
    Path("assign.json").write_text(run("assign --target none --json", CONFERENCE).stdout, encoding="utf-8")
    held = run("verify assign.json --target none")
    assert held.exit_code == 0, held.output
    Path("conference.toml").write_text(f"{CONFERENCE}# Another day.\n", encoding="utf-8")
    told = run("verify assign.json --target none")
    assert told.exit_code == 4
    assert "conference.toml: the answer was made from a file of other bytes" in " ".join(told.stdout.split())
    Path("conference.toml").write_text(CONFERENCE, encoding="utf-8")
    told = run("verify assign.json --target none --load 2")
    assert told.exit_code == 4
    assert "conference.toml: other options of it were used where the answer was made" in " ".join(told.stdout.split())


def test_streams_say_what_they_leave_aside(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    columns = list(zip(*(line.split(",") for line in REVIEWS.splitlines()[1:]), strict=True))
    table = pa.table({"reviewer": columns[0], "item": columns[1], "score": [float(score) for score in columns[2]]})
    parquet.write_table(table, folder / "reviews.parquet")
    told = run("check reviews.parquet --stream", CONFERENCE)
    assert told.exit_code == 0, told.stderr
    assert "--stream: not answered in parts, and left aside: items, reviewers, conflicts, demand, load" in told.stderr

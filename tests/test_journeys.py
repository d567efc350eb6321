"""From an export to an upload and back, as docs/how-to/upload.md says: the level is reached, nothing else changed."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reviewgraph.cli import main
from tests.conference_systems import (
    CMT,
    COMMITTEE,
    START,
    Conference,
    EasyChair,
    Form,
    Gradebook,
    GraderColumns,
    HotCRP,
    OpenReview,
    Pretalx,
    Spreadsheet,
    Workshop,
)

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "upload.md"
JOURNEY = re.compile(r"^```\n((?:reviewgraph (?:.*\\\n)*.*\n)+)```$", re.M)

#: The system of each section, and whether the reviews have scores: in each of its journeys, or in turn in the only one.
SYSTEMS: dict[str, tuple[Callable[..., Conference], list[bool]]] = {
    "HotCRP": (HotCRP, [False, True]),
    "OpenReview": (OpenReview, [False, True]),
    "CMT": (CMT, [False, True]),
    "EasyChair": (EasyChair, [True]),
    "START": (START, [False]),
    "pretalx": (Pretalx, [False, True]),
    "Workshops": (Workshop, [True, False]),
    "Gradebooks": (Gradebook, [True, False]),
    "Online forms": (Form, [True]),
    "Spreadsheets and tables": (Spreadsheet, [True, False]),
    "Gradebooks with one column per grader": (GraderColumns, [True]),
}


def shown() -> dict[str, list[list[str]]]:
    """Return the commands of each journey that the page shows, by section."""
    sections = (part.partition("\n") for part in PAGE.read_text("utf-8").split("\n## ")[1:])
    return {
        name: [block.replace("\\\n", " ").splitlines() for block in JOURNEY.findall(text)]
        for name, _, text in sections
        if name in SYSTEMS
    }


JOURNEYS = [
    pytest.param(
        *(system, scored, commands),
        id=f"{name}, {'scored' if scored else 'planned'}",
        marks=() if scored == states[0] else pytest.mark.nightly,
    )
    for name, (system, states) in SYSTEMS.items()
    for scored, commands in zip(states, shown()[name] * (len(states) // len(shown()[name])), strict=True)
]


def run(command: str, *more: str) -> Result:
    return CliRunner().invoke(main, [*shlex.split(command)[1:], *more])


def export(conference: Conference) -> None:
    for name, data in conference.files().items():
        Path(name).write_bytes(data)


@pytest.mark.slow
@pytest.mark.parametrize(("system", "scored", "commands"), JOURNEYS)
def test_three_commands_lead_from_an_export_to_the_level(
    system: Callable[..., Conference], scored: bool, commands: list[str], folder: Path
) -> None:
    conference = system(scored=scored)
    before = dict(conference.reviews)
    export(conference)
    first, second, third = commands

    told = run(first, "--json")
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["level"] != "double"
    assert run(first, "--require", "double").exit_code == 1

    told = run(second, "--json")
    assert told.exit_code == 0, told.output
    planned = json.loads(told.stdout)["reviews"]
    assert planned
    upload = Path(shlex.split(second)[-1]).read_bytes()

    conference.take(upload)
    added = {pair: score for pair, score in conference.reviews.items() if pair not in before}
    assert {pair: conference.reviews[pair] for pair in before} == before
    assert set(added.values()) == {None}
    assert len(added) == len(planned)
    assert not set(added) & set(conference.conflicts)
    conference.take(upload)
    assert conference.reviews == before | added

    export(conference)
    told = run(third, "--json")
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["level"] == "double"
    assert json.loads(told.stdout)["items"] == len(conference.papers)
    assert json.loads(told.stdout)["reviews"] == len(before) + len(added) - _hidden(conference, first)


def _hidden(conference: Conference, command: str) -> int:
    """How many reviews the exports of a command leave out: those of people outside HotCRP's committee."""
    if not isinstance(conference, HotCRP) or "scores.csv" in command:
        return 0
    return sum(who not in COMMITTEE for who, _ in conference.reviews)


def test_the_three_commands_of_the_readme_run_on_exports_of_hotcrp(folder: Path) -> None:
    conference = HotCRP()
    export(conference)
    (block,) = JOURNEY.findall((ROOT / "README.md").read_text("utf-8"))
    commands = block.replace("\\\n", " ").splitlines()
    for command in commands:
        told = run(command)
        assert told.exit_code == 0, told.output
    assert len(commands) == 3
    conference.take(Path("upload.csv").read_bytes())

"""Commands that people read run as printed: consoles and blocks of pages, and examples of ``--help``."""

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from tests.printed import COMMON, PAGES, PAIRS, PAPERS, ROOT, csv, elsewhere, printed, recorded, supposed
from tests.trials import sampled

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("infer_once", "folder")]

#: Pages whose journeys tests/test_journeys.py follows, on models of the systems.
JOURNEYS = ("docs/how-to/upload.md", "README.md")
SHOWN = {page.relative_to(ROOT).as_posix(): printed(page) for page in PAGES}
HERE = {
    page: [line for block in blocks for line in block if not elsewhere(line)]
    for page, blocks in SHOWN.items()
    if page not in JOURNEYS
}
CONSOLES = [page.relative_to(ROOT).as_posix() for page in PAGES if "```console" in page.read_text("utf-8")]
#: What takes longest, at night; tests/test_docs.py tests every day whether its commands and options exist.
NIGHT = {
    "docs/how-to/large-conference.md",
    "docs/how-to/rounds.md",
    "docs/how-to/reproduce.md",
    "docs/tutorial/rounds.md",
}
#: Commands whose help has examples: all but app, which serves until it is stopped.
COMMANDS = [name for name in main.list_commands(click.Context(main)) if name != "app"]
#: What examples of ``--help`` suppose beside COMMON.
FURTHER = {
    "plan.csv": csv("reviewer,item", [("r20", "p1")]),
    "last-year.csv": COMMON["reviews.csv"],
    "pcassignments.csv": csv("paper,action,email", [(p[1:], "primaryreview", f"{who}@x.org") for who, p in PAIRS]),
    "data.csv": csv("ID,Title,Status", [(paper[1:], f"On {paper}", "Submitted") for paper in PAPERS]),
}
#: Files that examples of ``verify`` name, and the commands that print them.
ANSWERS = {
    "plan.json": "plan reviews.csv --conflicts conflicts.csv --spare 1 --json",
    "check.json": "check reviews.csv --json",
}


def run(line: str) -> None:
    """Run a command, whose stdout goes to the file behind ``>``."""
    command, _, output = line.partition(" > ")
    done = CliRunner().invoke(main, shlex.split(command))
    assert done.exit_code == 0, f"{line}\n{done.output}{done.exception!r}"
    if output:
        Path(output).write_text(done.stdout, "utf-8")


@pytest.mark.parametrize("page", sampled(CONSOLES, [page for page in CONSOLES if page not in NIGHT]))
def test_consoles_show_what_the_commands_print(page: str, folder: Path) -> None:
    assert recorded(ROOT / page, folder) == (ROOT / page).read_text("utf-8"), "run python -m tests.printed"


@pytest.mark.parametrize("page", sampled([page for page, lines in HERE.items() if lines], HERE.keys() - NIGHT))
def test_the_commands_of_a_page_run(page: str) -> None:
    for name, data in COMMON.items():
        Path(name).write_bytes(data)
    for line in HERE[page]:
        for name, data in supposed(line).items():
            Path(name).write_bytes(data)
        run(line.partition(" ")[2])


@pytest.mark.parametrize("name", sampled(COMMANDS, [name for name in COMMANDS if name != "reproduce"]))
def test_the_examples_of_help_run(name: str) -> None:
    help_text = CliRunner().invoke(main, [name, "--help"]).stdout
    examples = re.findall(r"^ +reviewgraph (.*)$", help_text.partition("Examples:")[2], re.M)
    assert examples
    for file, data in (COMMON | FURTHER).items():
        Path(file).write_bytes(data)
    for answer, command in ANSWERS.items() if name == "verify" else ():
        run(f"{command} > {answer}")
    for line in examples:
        for file, data in supposed(line).items():
            Path(file).write_bytes(data)
        run(line.replace("P01", "p1"))  # a paper of the demo

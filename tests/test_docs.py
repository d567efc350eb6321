"""What the documentation shows is what the command does, and every command and option is documented."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from reviewgraph.cli import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in [*DOCS.rglob("*.md"), ROOT / "README.md"] if "_build" not in path.parts)
SHOWN = {path: re.findall(r"^```console\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S) for path in PAGES}
COMMANDS = {name: main.get_command(click.Context(main), name) for name in main.list_commands(click.Context(main))}

every_command = pytest.mark.parametrize("name", COMMANDS)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if SHOWN[page]], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_consoles_show_what_the_commands_print(page: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for block in SHOWN[page]:
        environment.pop("COLUMNS", None)
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            run = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert run.returncode == 0, run.stderr
            if expected:
                assert (run.stdout, run.stderr) == (expected, "")


def test_the_tutorial_shows_the_check() -> None:
    assert "$ reviewgraph check" in "".join(SHOWN[DOCS / "tutorial" / "check-an-assignment.md"])


@every_command
def test_every_command_and_option_explains_itself(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    for option in command.params:
        assert not isinstance(option, click.Option) or option.help, option.name


@every_command
def test_every_command_and_option_is_documented(name: str) -> None:
    page = (DOCS / "reference" / "command.md").read_text("utf-8")
    common, *sections = page.split("\n## reviewgraph ")
    section = next((part for part in sections if part.split("\n")[0] == name), None)
    assert section is not None, f"docs/reference/command.md lacks the section '## reviewgraph {name}'"
    for option in COMMANDS[name].params:
        for word in option.opts if isinstance(option, click.Option) else []:
            assert f"`{word}" in common + section, f"docs/reference/command.md does not explain {word} of {name}"

"""The recipes of CONTRIBUTING.md, applied to a copy of the packages: what they add works at the command line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
RECIPES = dict(re.findall(r"^### (Add [^\n]+)\n(.*?)(?=^##)", PAGE, re.M | re.S))


def test_there_is_a_recipe_for_each_thing() -> None:
    things = ("file format", "conference system", "command", "level", "objective", "hypothesis class", "method")
    assert [title.split(" ", 2)[2] for title in RECIPES] == list(things)


def apply(recipe: str, packages: Path) -> list[str]:
    """Add the code of a recipe to a copy of the packages, and return its commands."""
    for language, where, code in re.findall(r"^```(python|toml)\n# ([^\s,]+)[^\n]*\n(.*?)^```$", recipe, re.M | re.S):
        if language == "toml":  # What an installation makes of the line in pyproject.toml.
            found = packages / "recipe-1.0.dist-info"
            found.mkdir()
            (found / "METADATA").write_text("Metadata-Version: 2.1\nName: recipe\nVersion: 1.0\n")
            unquoted = code.replace(chr(34), "")
            (found / "entry_points.txt").write_text(f"[reviewgraph.commands]\n{unquoted}")
            continue
        path = packages / where
        before = path.read_text("utf-8") + "\n\n" if path.exists() else ""
        path.write_text(before + code, "utf-8")
    (commands,) = re.findall(r"^```sh\n(.*?)^```$", recipe, re.M | re.S)
    return str(commands).splitlines()


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A copy of the packages, beside a folder to work in."""
    (tmp_path / "work").mkdir()
    for package in ("reviewgraph", "planner", "lsc"):
        kept = shutil.ignore_patterns("*.nb[ci]")
        shutil.copytree(ROOT / package, tmp_path / "packages" / package, ignore=kept)
    return tmp_path / "packages"


#: Runs the commands of all recipes in one process, and stops at the first that fails.
IN_TURN = """
import shlex, subprocess, sys
from click.testing import CliRunner
from reviewgraph.cli import main
for command in sys.argv[1:]:
    if command.startswith("reviewgraph "):
        done = CliRunner().invoke(main, shlex.split(command)[1:])
        assert done.exit_code == 0, f"{command}: {done.output} {done.exception!r}"
    else:
        subprocess.run(command, shell=True, check=True)
"""


@pytest.mark.slow
def test_all_recipes_followed_to_the_letter_work_beside_each_other(packages: Path, tmp_path: Path) -> None:
    commands = [apply(recipe, packages) for recipe in RECIPES.values()]
    assert all(any(line.startswith("reviewgraph ") for line in lines) for lines in commands)
    words = [sys.executable, "-c", IN_TURN, *(line for lines in commands for line in lines)]
    environment = os.environ | {"PYTHONPATH": str(packages)}
    done = subprocess.run(words, cwd=tmp_path / "work", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_followed_to_the_letter_works(title: str, packages: Path, tmp_path: Path) -> None:
    work, environment = tmp_path / "work", os.environ | {"PYTHONPATH": str(packages)}
    for command in apply(RECIPES[title], packages):
        shell = command.replace("reviewgraph ", f"{sys.executable} -m reviewgraph ", 1)
        done = subprocess.run(shell, shell=True, cwd=work, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr

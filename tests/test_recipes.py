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


@pytest.mark.slow
@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_followed_to_the_letter_works(title: str, tmp_path: Path) -> None:
    packages, work = tmp_path / "packages", tmp_path / "work"
    work.mkdir()
    for package in ("reviewgraph", "planner", "lsc"):
        shutil.copytree(ROOT / package, packages / package, ignore=shutil.ignore_patterns("*.nb[ci]"))
    commands = apply(RECIPES[title], packages)
    assert any(command.startswith("reviewgraph ") for command in commands)
    environment = os.environ | {"PYTHONPATH": str(packages)}
    for command in commands:
        shell = command.replace("reviewgraph ", f"{sys.executable} -m reviewgraph ", 1)
        done = subprocess.run(shell, shell=True, cwd=work, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr

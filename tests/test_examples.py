"""Every example of every ``--help`` runs, and so does completion by the shell."""

from __future__ import annotations

import re
import shlex
from importlib.resources import files
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from tests.trials import sampled

pytestmark = pytest.mark.usefixtures("infer_once")


COMMANDS = {name: main.get_command(click.Context(main), name) for name in main.list_commands(click.Context(main))}


#: Files that examples of ``verify`` name, and the commands that print them.
ANSWERS = {
    "plan.json": "plan reviews.csv --conflicts conflicts.csv --spare 1 --json",
    "check.json": "check reviews.csv --json",
}


def examples(name: str) -> list[str]:
    help_text = CliRunner().invoke(main, [name, "--help"]).stdout
    return re.findall(r"^ +reviewgraph (.*)$", help_text.partition("Examples:")[2], re.M)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = (files("reviewgraph") / "cli" / "reviewgraph-demo.csv").read_text("utf-8")
    pairs = [line.split(",")[:2] for line in table.splitlines()[1:]]
    reviewers, papers = (sorted({pair[side] for pair in pairs}) for side in (0, 1))
    value = np.random.default_rng(0).random((len(papers), len(reviewers)))
    rows = [f"{paper},{who},{value[i, j]:.2f}" for i, paper in enumerate(papers) for j, who in enumerate(reviewers)]
    emails = [f"{paper[1:].lstrip('0')},primaryreview,{who}@example.org" for who, paper in pairs]
    for name, lines in {
        "plan.csv": ["reviewer,item", "R06,P25"],
        "conflicts.csv": ["item,reviewer", "P01,R02"],
        "pcassignments.csv": ["paper,action,email", *emails],
        "papers.csv": ["item", *papers],
        "data.csv": ["ID,Title,Status", *(f"{paper[1:].lstrip('0')},On {paper},Submitted" for paper in papers)],
        "reviewers.csv": ["reviewer", *reviewers],
        "affinity.csv": ["item,reviewer,affinity", *rows],
    }.items():
        Path(name).write_text("\n".join([*lines, ""]), "utf-8")
    for name in ("reviews.csv", "last-year.csv"):
        Path(name).write_text(table, "utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "name",
    # app serves until it is stopped; experiments run at night.
    sampled([name for name in COMMANDS if name != "app"], COMMANDS.keys() - {"reproduce"}),
)
def test_the_examples_of_a_command_run(name: str) -> None:
    shown = examples(name)
    assert shown
    for answer, command in ANSWERS.items() if name == "verify" else ():
        Path(answer).write_text(CliRunner().invoke(main, shlex.split(command)).stdout, "utf-8")
    for example in shown:
        command, _, output = example.partition(" > ")
        told = CliRunner().invoke(main, shlex.split(command))
        assert told.exit_code == 0, f"{example}\n{told.output}"
        if output:
            Path(output).write_text(told.stdout, "utf-8")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def complete(*words: str) -> str:
        monkeypatch.setenv("_REVIEWGRAPH_COMPLETE", f"{shell}_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(words))
        # fish gives the word that is being typed; the others its number.
        monkeypatch.setenv("COMP_CWORD", words[-1] if shell == "fish" else str(len(words) - 1))
        monkeypatch.setattr("sys.argv", ["reviewgraph"])
        with pytest.raises(SystemExit) as ended:
            main(prog_name="reviewgraph")
        assert ended.value.code == 0
        return capsys.readouterr().out

    assert "check" in complete("reviewgraph", "ch")
    assert "--to" in complete("reviewgraph", "plan", "--t")
    assert "hotcrp" in complete("reviewgraph", "plan", "--to", "ho")

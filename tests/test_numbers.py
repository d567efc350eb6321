"""Numbers that options take, of every command: an answer or one message, whatever is typed."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from tests.trials import NIGHTLY

pytestmark = pytest.mark.usefixtures("infer_once")


ROWS = [("ann", "p1", 3), ("ann", "p2", 1), ("bob", "p2", 4), ("bob", "p3", 2), ("cyd", "p3", 1), ("cyd", "p1", 3)]
AFFINITY = [(j, i) for j in ("ann", "bob", "cyd") for i in ("p1", "p2", "p3")]
NUMERIC = (click.types.IntParamType, click.types.FloatParamType)
COMMANDS = {
    "check": "check d.csv --reviewers r.csv --conflicts c.csv",
    "plan": "plan d.csv --time-limit 0.5 --affinity a.csv",
    "assign": "assign --items i.csv --reviewers r.csv --affinity a.csv --demand 1 --time-limit 0.5",
    "calibrate": "calibrate d.csv",
    "simulate": "simulate realistic --papers 12 --reviewers 10 --overwrite",
}
NUMBERS = ("nan", "inf", "-inf", "1e308", "1e-320", "0", "-1", "9223372036854775808", "1" + 30 * "0", "0.5", "", "x")
#: What a number goes with, where it does not stand alone.
BESIDE = {"seed": "--select 1 --lottery", "min_load": "--load 3", "draws": "--max-probability 0.9"}
#: These many papers or reviewers are made, and memory is what ends it.
COUNTS = {("simulate", name) for name in ("papers", "reviewers", "load")} | {("assign", "draws")}


def numeric() -> list[tuple[str, str]]:
    found = []
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        found += [
            (name, param.opts[0])
            for param in command.params
            if isinstance(param, click.Option) and isinstance(param.type, NUMERIC)
        ]
    return found


@pytest.fixture
def folder(folder: Path) -> Path:
    Path("d.csv").write_text("reviewer,paper,score\n" + "".join(f"{j},{i},{s}\n" for j, i, s in ROWS))
    Path("a.csv").write_text("reviewer,paper,affinity\n" + "".join(f"{j},{i},0.5\n" for j, i in AFFINITY))
    Path("r.csv").write_text("reviewer,load\nann,3\nbob,3\ncyd,3\n")
    Path("i.csv").write_text("paper\np1\np2\np3\n")
    Path("c.csv").write_text("reviewer,paper\nann,p3\n")
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "option"), numeric())
def test_every_number_gives_an_answer_or_one_message(name: str, option: str) -> None:
    beside = BESIDE.get(option.removeprefix("--").replace("-", "_"), "").split() if name != "simulate" else []
    # In the everyday run every other one, by turns.
    for number in NUMBERS if NIGHTLY else NUMBERS[len(option) % 2 :: 2]:
        if (name, option.removeprefix("--")) in COUNTS and len(number) > 15:
            continue
        ended = CliRunner().invoke(main, [*COMMANDS[name].split(), *beside, f"{option}={number}"])
        assert ended.exit_code in (0, 1, 2), (number, ended.output)
        assert "this is an error in reviewgraph" not in ended.stderr, number
        if number in ("nan", "", "x"):
            assert ended.exit_code == 2, number

"""What the documentation shows is what the command does, and every command and option is documented."""

import ast
import inspect
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

import click
import pytest

from lsc.experiments import EXPERIMENTS
from reviewgraph.cli import main
from tests.trials import sampled

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in [*DOCS.rglob("*.md"), ROOT / "README.md"] if "_build" not in path.parts)
COMMANDS = {name: main.get_command(click.Context(main), name) for name in main.list_commands(click.Context(main))}

#: Blocks of Python without prompts; those with prompts are doctests, and the gallery has a test of its own.
BLOCKS = {
    page: [
        block
        for block in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
        if ">>>" not in block
    ]
    for page in PAGES
    if page.parent.name != "gallery"
}
AFFINITIES = [f"p{paper},r{who},{(3 * paper + 2 * who) % 7 / 7:.2f}" for paper in range(4) for who in range(6)]
#: What the blocks of a page read.
READ = {
    "assign.md": {
        "affinity.csv": "\n".join(["item,reviewer,affinity", *AFFINITIES]),
        "conflicts.csv": "item,reviewer\np0,r0\n",
        "bids.csv": "item,reviewer,bid\np0,r1,yes\np1,r1,maybe\np2,r2,conflict\n",
    },
    "plan.md": {"reviews.csv": "reviewer,item\nann,p6\nann,p5\nbob,p6\nbob,p7\neve,p5\n"},
    "reproduce.md": {
        "scores.csv": "grader,essay,score\n" + "".join(f"g{k % 3},e{k % 4},{5 + k % 5}\n" for k in range(12)),
        "truth.csv": "item,quality\n" + "".join(f"e{k},{5 + k % 3}\n" for k in range(4)),
    },
    "upload.md": {"edges.json": '[{"head": "p1", "tail": "~Ann_Arbor1", "weight": 1, "invitation": "V/-/Assignment"}]'},
    "data.md": {"scores.csv": "reviewer,paper,OveMer,RevExp\nann,1,4,2\nbob,1,3,1\n"},
}
#: What is too large, or elsewhere, for a test, and what stands for it.
INSTEAD = {'backend="dask"': 'backend="sequential"', "trials=20": "trials=1", 'EXPERIMENTS["table1"]': "small"}

#: Pages that play through many rounds, or run experiments, do so at night. Whether what they call exists is tested
#: every day, see below.
BY_DAY = [page for page in PAGES if page not in (DOCS / "how-to" / "reproduce.md", DOCS / "tutorial" / "rounds.md")]

every_command = pytest.mark.parametrize("name", COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    sampled([page for page in BLOCKS if BLOCKS[page]], BY_DAY),
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_blocks_of_python_run(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in READ.get(page.name, {}).items():
        (folder / name).write_text(text, encoding="utf-8")
    openreview = mock.MagicMock()
    monkeypatch.setitem(sys.modules, "openreview", openreview)
    monkeypatch.setitem(sys.modules, "openreview.api", openreview.api)
    small = EXPERIMENTS["doubly-connected"].scaled(20)
    known: dict[str, object] = {"client": openreview, "small": replace(small, cells=small.cells[:1])}
    for block in BLOCKS[page]:
        for said, instead in INSTEAD.items():
            block = block.replace(said, instead)
        exec(block, known)


@pytest.mark.parametrize(
    "page",
    [page for page in BLOCKS if BLOCKS[page] and page not in BY_DAY],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_what_blocks_of_python_call_exists_with_its_arguments(page: Path) -> None:
    known: dict[str, object] = {}
    for node in [node for block in BLOCKS[page] for node in ast.walk(ast.parse(block))]:
        said = ast.unparse(node)
        if isinstance(node, ast.Import | ast.ImportFrom) and re.match(r"\w+ (reviewgraph|planner|lsc)\b", said):
            exec(said, known)
        elif isinstance(node, ast.Call) and re.split(r"\W", said)[0] in known:
            given = [None for value in node.args if not isinstance(value, ast.Starred)]
            names = {keyword.arg: None for keyword in node.keywords if keyword.arg}
            inspect.signature(eval(ast.unparse(node.func), known)).bind_partial(*given, **names)


@every_command
def test_every_command_and_option_explains_itself(name: str) -> None:
    command = COMMANDS[name]
    assert command.help
    for option in command.params:
        assert not isinstance(option, click.Option) or option.help, option.name


@every_command
def test_every_command_and_option_is_documented(name: str) -> None:
    place = DOCS / "reference" / "command" / f"{name}.md"
    assert place.is_file(), f"docs/reference/command/{name}.md is missing"
    page = place.read_text("utf-8")
    assert page.startswith(f"# reviewgraph {name}\n")
    common = (DOCS / "reference" / "command" / "common.md").read_text("utf-8")
    for option in COMMANDS[name].params:
        for word in option.opts if isinstance(option, click.Option) else []:
            assert f"`{word}" in common + page, f"docs/reference/command/{name}.md does not explain {word}"


FENCED = re.compile(r"^ *(`{3,})([^\n]*)\n(.*?)^ *\1 *$", re.M | re.S)
INLINE = re.compile(r"(?<!`)`(reviewgraph [^`\n]*)`(?!`)")
#: What a shell is to complete.
UNFINISHED = {"reviewgraph plan --to ", "reviewgraph ch"}


def typed(page: Path) -> list[list[str]]:
    """Return the commands that a page tells to type, in blocks and in its text, as words."""
    text = page.read_text("utf-8")
    plain = [block for _, language, block in FENCED.findall(text) if language in ("", "bash", "text", "console")]
    lines = [line for block in plain for line in block.replace("\\\n", " ").splitlines()]
    shown = [match[1] for line in lines if (match := re.match(r" *(?:\$ )?(?:\S*/)?(reviewgraph .*)", line))]
    shown += [line for line in INLINE.findall(FENCED.sub("", text)) if line not in UNFINISHED]
    words = [re.split(r" (?:&&|2?>|[|#]) ?", line)[0] for line in shown]
    return [shlex.split(line)[1:] for line in words if re.match(r"reviewgraph [a-z]", line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_that_pages_tell_to_type_exist_with_their_options(page: Path) -> None:
    for name, *words in typed(page):
        assert name in COMMANDS, name
        command = COMMANDS[name]
        given = [word for word in words if not word.startswith("[")]
        parser = command.make_parser(click.Context(command, info_name=name, **command.context_settings))
        parser.parse_args(given)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_of_pages_is_not_cut_off(page: Path) -> None:
    """A line of Python, or for a shell, fits the column of text of the site."""
    for _, language, block in FENCED.findall(page.read_text("utf-8")):
        if language not in ("", "bash", "console", "python", "sh", "text"):
            continue
        lines = block.splitlines()
        if language == "python" and ">>>" in block:
            lines = [line for line in lines if line.startswith((">>>", "..."))]
        elif language in ("console", "text"):
            lines = [line for line in lines if line.startswith(("$ ", "reviewgraph "))]
        # The two commands of the README are one line each, to be copied.
        assert [line for line in lines if len(line) > 88 and "python3 -m venv" not in line] == []

"""Every command that a page prints in a block runs as printed, after those before it, but for what names a reason."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from tests.printed import COMMON, ELSEWHERE, PAGES, ROOT, elsewhere, printed, supposed
from tests.trials import sampled

pytestmark = pytest.mark.usefixtures("infer_once")


#: Pages whose journeys tests/test_journeys.py follows, on models of the systems.
JOURNEYS = {"docs/how-to/upload.md": 11, "README.md": 1}
SHOWN = {page.relative_to(ROOT).as_posix(): printed(page) for page in PAGES}
HERE = {
    page: [line for block in blocks for line in block if not elsewhere(line)]
    for page, blocks in SHOWN.items()
    if page not in JOURNEYS
}


#: What takes longest, at night; tests/test_docs.py tests every day whether its commands and options exist.
NIGHT = {"docs/how-to/large-conference.md"}


@pytest.mark.slow
@pytest.mark.parametrize("page", sampled([page for page, lines in HERE.items() if lines], HERE.keys() - NIGHT))
def test_the_commands_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, data in COMMON.items():
        Path(name).write_bytes(data)
    for line in HERE[page]:
        for name, data in supposed(line).items():
            Path(name).write_bytes(data)
        command, _, output = line.partition(" > ")
        told = CliRunner().invoke(main, shlex.split(command)[1:])
        assert told.exit_code == 0, f"{line}\n{told.output}{told.exception!r}"
        if output:
            Path(output).write_text(told.stdout, "utf-8")


def test_every_reason_is_needed_and_every_journey_is_followed() -> None:
    lines = [line for blocks in SHOWN.values() for block in blocks for line in block]
    assert {part for part in ELSEWHERE if any(part in line for line in lines)} == set(ELSEWHERE)
    assert sum(map(len, HERE.values())) > 30
    for page, journeys in JOURNEYS.items():
        followed = [block for block in SHOWN[page] if not all(map(elsewhere, block))]
        assert len(followed) >= journeys, page

"""A real pretalx: its exports are read as its database is, and its own import takes our upload.

The variable PRETALX_PYTHON names a Python that has pretalx; where neither it nor ours has, the tests are skipped.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from reviewgraph.cli import main
from tests.reviewgraph.formats.pretalx_exports import Event, expect_api_read, expect_pages_read

PYTHON = os.environ.get("PRETALX_PYTHON", sys.executable)
SITE = Path(__file__).with_name("pretalx_site.py")
HAS = subprocess.run([PYTHON, "-c", "import pretalx"], capture_output=True, check=False).returncode == 0

pytestmark = pytest.mark.skipif(not HAS, reason="no Python with pretalx (PRETALX_PYTHON)")


def site(folder: Path, *words: str) -> str:
    """Have pretalx do something; what it prints comes last."""
    given = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [PYTHON, "-W", "ignore", str(SITE), str(folder), *words], capture_output=True, text=True, env=given, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.splitlines()[-1] if done.stdout else ""


@pytest.fixture(scope="module", params=["many 1", "one 2"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("pretalx")
    kind, seed = request.param.split()
    site(made, "fill", seed, kind)
    return made


@pytest.fixture
def event(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Event:
    monkeypatch.chdir(folder / "exports")
    return Event(folder)


def run(command: str) -> Result:
    done = CliRunner().invoke(main, shlex.split(command))
    assert done.exit_code == 0, done.output
    return done


def test_all_exports_are_read(event: Event) -> None:
    expect_pages_read(event)
    expect_api_read(event)


def test_check_counts_the_papers_in_the_running(event: Event) -> None:
    for files in ("api-reviews.json api-submissions.json api-teams.json", "reviews-bare.csv --items sessions.csv"):
        found = json.loads(run(f"check {files} --json").stdout)
        assert found["items"] == len(event.live)
    run("calibrate api-reviews.json api-submissions.json api-teams.json -o calibrated.csv")
    run("calibrate reviews-every.json --items sessions.json -o calibrated.csv")


def imported(folder: Path, upload: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(site(folder, "assign", upload, "reviewer"))
    return told


@pytest.mark.parametrize("names", ["api-teams.json", ""], ids=["by address", "by code"])
def test_an_upload_adds_what_is_planned_and_nothing_twice(event: Event, folder: Path, names: str) -> None:
    # Without the teams nobody's address is known, and by codes nobody can tell who speaks.
    options = "--conflicts api-submissions.json --min-reviews 5" if names else "--min-reviews 6"
    run(f"plan api-reviews.json api-submissions.json {names} {options} -o upload.json")
    planned = {(who, code) for who, codes in json.loads(Path("upload.json").read_text()).items() for code in codes}
    assert planned
    upload = str(Path("upload.json").resolve())
    told = imported(folder, upload)
    assert told["taken"], told
    before, after = ({tuple(row) for row in told[when]} for when in ("before", "after"))
    place = 0 if names else 1
    assert {(row[place], row[2]) for row in after - before} == planned - {(row[place], row[2]) for row in before}
    assert not before - after
    again = imported(folder, upload)
    assert again["taken"]
    assert again["before"] == again["after"] == told["after"]
    if names:
        assert not {(row[0], row[2]) for row in after - before} & event.spoken


def test_one_unknown_name_refuses_the_whole_file(event: Event, folder: Path) -> None:
    code = min(event.live)
    email = min(email for _, email in event.truth["people"].values())
    upload = folder / "odd.json"
    upload.write_text(json.dumps({email: [code], "nobody@example.org": [code]}))
    told = imported(folder, str(upload))
    assert not told["taken"]
    assert told["errors"] == ["Unknown user: nobody@example.org"]
    assert told["before"] == told["after"]

"""The page without a browser: who may use it, what files are taken for, and the commands that it runs."""

import asyncio
import contextlib
import io
import json
import os
import re
import shlex
import sys
import time
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from click.testing import Result as Told

from tests.trials import NIGHTLY, sampled

pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("python_multipart")

with warnings.catch_warnings():
    # Newer versions of Starlette prefer another client, which older ones do not take.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from reviewgraph.cli import main
from reviewgraph.cli.app import pages, workspace
from reviewgraph.cli.app.pages import Guard
from reviewgraph.cli.app.steps import EXCEL, HINT, STEPS, table_fields, title_of
from reviewgraph.cli.app.uploads import recognise, safe_name
from reviewgraph.cli.app.workspace import Run, Workspace
from tests import conference_systems as systems
from tests.reviewgraph.formats.exports import as_xlsx

ROOT = Path(__file__).parents[4]
HOST = "127.0.0.1:8000"
HOME = f"http://{HOST}"
REVIEWS = "reviewer,paper,score\n" + "".join(f"r{i % 4},p{i // 2},{i % 5}\n" for i in range(12))


@pytest.fixture
def guard(tmp_path: Path) -> Guard:
    folder = tmp_path / "private"
    folder.mkdir()
    return Guard(pages.application(Workspace(folder)), HOST)


@pytest.fixture
def client(guard: Guard) -> Iterator[Any]:
    with TestClient(guard, base_url=HOME, headers={"origin": HOME}) as found:
        yield found


class Ended:
    """A command that has ended, as the page sees one that runs in a process of its own."""

    def __init__(self, told: Told) -> None:
        self.stderr = asyncio.StreamReader()
        self.stderr.feed_data(told.stderr_bytes)
        self.stderr.feed_eof()
        self.status = told.exit_code

    async def wait(self) -> int:
        return self.status


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the page's commands in this process, where a test is of what the page makes of them; others start them."""

    def run(words: tuple[str, ...], folder: Path) -> Told:
        with contextlib.chdir(folder):
            return CliRunner().invoke(main, words)

    async def begin(*words: str, cwd: Path, stdout: Any, **rest: Any) -> Ended:
        assert words[:4] == (sys.executable, "-P", "-m", "reviewgraph")
        told = await asyncio.to_thread(run, words[4:], cwd)
        stdout.write(told.stdout_bytes)
        stdout.flush()
        return Ended(told)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", begin)


here = pytest.mark.usefixtures("in_process")


def posted(client: Any, guard: Guard, *files: tuple[str, str | bytes]) -> Any:
    given = [(name, text.encode() if isinstance(text, str) else text) for name, text in files]
    return client.post(f"/{guard.token}/files", files=[("files", one) for one in given])


def ran(client: Any, guard: Guard, step: str, **values: str) -> str:
    """Run a step, and return its page."""
    answer = client.post(f"/{guard.token}/{step}", data=values)
    if answer.status_code != 200:
        return str(answer.text)
    ended(client, guard)
    return str(client.get(f"/{guard.token}/{step}").text)


def errors(page: str) -> list[str]:
    return re.findall(r'<p class="error"[^>]*>([^<]+)</p>', page)


def chosen(client: Any, guard: Guard, name: str, **places: int) -> str:
    """Say what the columns of a file of reviews are, and return the page."""
    columns = {str(place): role for role, place in places.items()}
    data = {"file": name, "role": "reviews", **columns}
    return str(client.post(f"/{guard.token}/choices", data=data).text)


def ended(client: Any, guard: Guard) -> None:
    for _ in range(600):
        if not client.get(f"/{guard.token}/progress").json()["running"]:
            return
        time.sleep(0.1)
    pytest.fail("the command did not end")


# Who may use it.


def test_only_the_token_opens_it(client: Any, guard: Guard) -> None:
    assert client.get(f"/{guard.token}/").status_code == 200
    for path in ("/", "/check", "/x/", f"/{guard.token[:-1]}/", f"/{guard.token}x/", f"//{guard.token}/", "/\u00e9/"):
        answer = client.get(path)
        assert answer.status_code == 403, path
        assert guard.token not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1", "localhost:8000", "127.0.0.1:8001"])
def test_a_foreign_host_is_refused(client: Any, guard: Guard, host: str) -> None:
    assert client.get(f"/{guard.token}/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:8001"])
def test_a_foreign_origin_is_refused(client: Any, guard: Guard, origin: str) -> None:
    for method, path in (("GET", ""), ("POST", "clear"), ("POST", "files"), ("POST", "check")):
        answer = client.request(method, f"/{guard.token}/{path}", headers={"origin": origin})
        assert answer.status_code == 403, path


def test_the_token_that_browsers_start_with_is_good_once(client: Any, guard: Guard) -> None:
    once = guard.once
    assert client.get(f"/{once}", headers={"host": "evil.example"}).status_code == 403
    answer = client.get(f"/{once}", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/{guard.token}/")
    assert client.get(f"/{once}").status_code == 403


def test_pages_load_nothing_from_elsewhere_and_are_not_stored(client: Any, guard: Guard) -> None:
    for path in ("", "check", "plan", "calibrate", "assign", "style.css", "script.js"):
        answer = client.get(f"/{guard.token}/{path}")
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; ")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert "https://" not in answer.text
        assert "http://" not in answer.text.replace("http://www.w3.org/2000/svg", "")
    assert client.get(f"/{guard.token}/nowhere").status_code == 404


def test_only_results_are_downloaded(client: Any, guard: Guard) -> None:
    posted(client, guard, ("r.csv", REVIEWS))
    for name in ("r.csv", "..%2f..%2fetc%2fpasswd", "reviewgraph-plan.csv"):
        assert client.get(f"/{guard.token}/download/{name}").status_code == 404


def test_files_over_the_limits_are_refused_with_a_message(
    client: Any, guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace, "MOST_BYTES", 5_000)
    monkeypatch.setattr(workspace, "MOST_FILES", 3)
    answer = posted(client, guard, ("big.csv", "a,b\n" * 2_000))
    assert answer.status_code == 413
    assert "found more; leave some of them out" in answer.text
    answer = posted(client, guard, *((f"{i}.csv", "a,b\n") for i in range(4)))
    assert answer.status_code == 422
    answer = posted(client, guard, *((f"{i}.csv", "a,b\n") for i in range(3)))
    assert answer.status_code == 200
    answer = posted(client, guard, ("3.csv", "a,b\n"))
    assert answer.status_code == 422
    assert "expected at most 3 files, found more" in answer.text


@pytest.mark.parametrize("path", ["files", "choices", *STEPS])
@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("multipart/form-data", b"--x\r\n\r\n"),
        ("multipart/form-data; boundary=x", b"nothing"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' * 2_001 + b"--x--",
        ),
    ],
    ids=["no boundary", "another boundary", "too many fields"],
)
def test_a_malformed_form_is_refused_with_one_sentence(
    client: Any, guard: Guard, path: str, kind: str, content: bytes
) -> None:
    answer = client.post(f"/{guard.token}/{path}", content=content, headers={"content-type": kind})
    assert answer.status_code == 400
    assert answer.text.count("Refused: expected a form of this page with at most 2,000 fields") == 1
    assert client.get(f"/{guard.token}/").status_code == 200


def test_names_hold_no_path_and_nothing_that_options_separate_by(tmp_path: Path) -> None:
    paths = ("../../x.csv", "C:\\a\\x.csv", "..", "", ".bashrc", "con.csv", "reviewgraph-check.json", "\u00fc" * 300)
    for name in (*paths, "--html", "a=1", "a#b", "a:b", "a\nb", "a,b"):
        found = safe_name(name)
        assert (tmp_path / found).parent == tmp_path
        assert found[0] not in "-."
        assert not set(found) & set("/\\=#:,\n")
        assert not found.startswith("reviewgraph-")
        assert len(found) < 130


def test_what_is_dropped_in_is_never_imported(client: Any, guard: Guard) -> None:
    for name in ("numpy.py", "click.py", "reviewgraph.py", "sitecustomize.py"):
        posted(client, guard, (name, "raise SystemExit('imported')"))
    posted(client, guard, ("r.csv", REVIEWS))
    ended(client, guard)
    page = client.get(f"/{guard.token}/check").text
    assert "imported" not in page
    assert "What is missing" in page or "comparable" in page


# What files are, and what is run.


@pytest.mark.parametrize(
    ("name", "text", "role"),
    [
        ("r.csv", REVIEWS, "reviews"),
        ("p.csv", "paper,title\np1,A\n", "items"),
        ("pc.csv", "reviewer,load\nann,3\n", "reviewers"),
        ("s.csv", "reviewer,spare\nann,3\n", "capacity"),
        ("a.csv", "paper,reviewer,affinity\np1,ann,0.5\n", "affinity"),
        ("conflicts.csv", "paper,reviewer\np1,ann\n", "conflicts"),
        ("q.csv", "item,quality\np1,3\n", "references"),
        (
            "labconf-pcconflicts.csv",
            "paper,title,given_name,family_name,email,conflicttype\n1,A,B,C,b@x.y,z\n",
            "conflicts",
        ),
    ],
)
def test_files_are_taken_for_what_they_are(tmp_path: Path, name: str, text: str, role: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert recognise(tmp_path / name).roles == [role]


def test_every_option_for_people_is_a_field() -> None:
    assert [field.key for field in table_fields()][:3] == ["score", "format", "scale"]
    keys = {name: {field.key for field in step.fields} for name, step in STEPS.items()}
    assert {"select", "missing", "load", "demand"} <= keys["check"]
    assert {"target", "for", "spare", "rounds", "to"} <= keys["plan"]
    assert {"select", "lottery", "explain", "to"} <= keys["calibrate"]
    assert {"demand", "load", "floor", "to"} <= keys["assign"]
    for step in STEPS.values():
        assert all(0 < len(field.hint.split()) <= HINT + 1 for field in step.fields)
        assert not {"html", "json", "conference", "items", "like", "output"} & keys[step.command]


@pytest.mark.slow
@here
def test_a_column_that_the_reader_asks_for_is_chosen(client: Any, guard: Guard) -> None:
    text = REVIEWS.replace("reviewer,paper,score", "Whom,Thing,Overall")
    page = posted(client, guard, ("r.csv", text)).text
    (error,) = errors(page)
    assert "say which one it is with --columns" in error
    assert "Here: choose it in the head of its column below." in page
    page = chosen(client, guard, "r.csv", reviewer=0, item=1, score=2)
    assert errors(page) == []
    assert "--columns r.csv:reviewer=Whom" in client.get(f"/{guard.token}/check").text
    # With another role and back, columns are read by their names.
    for role in ("items", "reviews"):
        client.post(f"/{guard.token}/choices", data={"file": "r.csv", "role": role, "0": "reviewer"})
    assert "--columns" not in client.get(f"/{guard.token}/check").text.partition('id="options"')[2]
    chosen(client, guard, "r.csv", reviewer=0, item=1, score=2)
    # A column that is read without a choice, and is not to be.
    page = chosen(client, guard, "r.csv", reviewer=0, item=1)
    assert "--columns r.csv:score= " in client.get(f"/{guard.token}/check").text


@pytest.mark.slow
def test_a_bad_value_is_one_message_at_its_field(client: Any, guard: Guard) -> None:
    posted(client, guard, ("r.csv", REVIEWS))
    ended(client, guard)
    client.post(f"/{guard.token}/plan", data={"spare": "-3"})
    ended(client, guard)
    page = client.get(f"/{guard.token}/plan").text
    assert page.count('aria-invalid="true"') == 1
    assert (
        'name="spare" value="-3" autocomplete="off" aria-describedby="spare-hint spare-error" aria-invalid="true"'
        in page
    )
    assert "-3 is not in the range" in page
    assert 'id="result"' not in page


@pytest.mark.slow
def test_the_command_of_a_step_does_the_same_in_a_terminal(client: Any, guard: Guard, folder: Path) -> None:
    papers = "paper,title\n" + "".join(f"p{i},A\n" for i in range(7))
    files = {"my r.csv": REVIEWS, "papers.csv": papers, "conflicts.csv": "paper,reviewer\np0,r3\n"}
    posted(client, guard, *files.items())
    ended(client, guard)
    client.post(f"/{guard.token}/plan", data={"spare": "2", "target": "double", "to": "csv"})
    ended(client, guard)
    page = client.get(f"/{guard.token}/plan").text
    line = page.partition('<p class="command">reviewgraph plan ')[2].partition("</p>")[0].replace("&#39;", "'")
    given = {name: client.get(f"/{guard.token}/download/{name}").content for name in ("reviewgraph-plan.xlsx",)}
    given["json"] = client.get(f"/{guard.token}/download/reviewgraph-plan.json").content
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    told = CliRunner().invoke(main, ["plan", *shlex.split(line)])
    assert (told.exit_code, told.stdout_bytes) == (0, given["json"])
    assert (folder / "reviewgraph-plan.xlsx").read_bytes() == given["reviewgraph-plan.xlsx"]


@pytest.mark.slow
def test_a_command_that_runs_is_stopped(client: Any, guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "WAIT", 0)
    rows = "".join(f"r{(i * 7 + j * j) % 150},p{i}\n" for i in range(400) for j in range(3))
    posted(client, guard, ("r.csv", "reviewer,paper\n" + rows))
    ended(client, guard)
    client.post(f"/{guard.token}/plan", data={"target": "survives-reviewer"})
    answer = client.post(f"/{guard.token}/check", data={})
    assert answer.status_code == 422
    assert "A command is running" in answer.text
    client.post(f"/{guard.token}/stop")
    ended(client, guard)
    page = client.get(f"/{guard.token}/plan").text
    assert "Stopped, no result." in page or "command was stopped" in page


def test_one_file_per_role(tmp_path: Path) -> None:
    found = Workspace(tmp_path)
    found.add("r.csv", REVIEWS.encode())
    for name in ("conflicts.csv", "conflicts2.csv"):
        found.add(name, b"paper,reviewer\np1,r1\n")
    assert found.of_role("conflicts") == ["conflicts.csv"]
    assert found.uploads["conflicts2.csv"].idle == "conflicts.csv is used for it: conflicts"
    found.give(found.uploads["conflicts2.csv"], "conflicts")
    assert found.of_role("conflicts") == ["conflicts2.csv"]
    assert found.command(STEPS["plan"])[0][:4] == ["plan", "r.csv", "--conflicts", "conflicts2.csv"]


def test_who_gave_preferences_is_the_list_of_reviewers_where_there_is_no_other(tmp_path: Path) -> None:
    found = Workspace(tmp_path)
    found.add("papers.csv", b"paper,title\n1,A\n")
    found.add("bids.csv", b"paper,reviewer,bid\n1,ann,2\n")
    assert found.can_assign
    assert found.command(STEPS["assign"])[0][:5] == ["assign", "--items", "papers.csv", "--reviewers", "bids.csv"]
    found.add("pc.csv", b"reviewer,load\nann,3\n")
    assert found.command(STEPS["assign"])[0][:5] == ["assign", "--items", "papers.csv", "--reviewers", "pc.csv"]


# Files of all systems, modelled as their exports are documented.


@pytest.mark.slow
@here
@pytest.mark.parametrize(
    ("model", "to"),
    sampled(
        [
            (systems.HotCRP, "hotcrp"),
            (systems.OpenReview, "openreview"),
            (systems.CMT, "cmt"),
            (systems.Pretalx, "pretalx"),
            (systems.Gradebook, ""),
            (systems.EasyChair, ""),
            (systems.Workshop, ""),
            (systems.Form, ""),
        ],
        5,
        several=True,
    ),
)
def test_exports_of_each_system_give_its_file_the_report_and_the_json(
    client: Any, guard: Guard, model: type[systems.Conference], to: str
) -> None:
    conference = model(scored=True)
    posted(client, guard, *conference.files().items())
    more = {"invitation": "V.cc/2026/Conference/Reviewers/-/Assignment"} if to == "openreview" else {}
    page = ran(client, guard, "plan", spare="2", **more)
    assert errors(page) == []
    title = title_of(to or EXCEL)
    (name,) = re.findall(f'/download/([^"]+)" download>Download: File for {title}<', page)
    upload = client.get(f"/{guard.token}/download/{name}").content
    asked = json.loads(client.get(f"/{guard.token}/download/reviewgraph-plan.json").content)["reviews"]
    assert asked
    if to:
        assert f">{title}, as the files<" in page
        before = len(conference.reviews)
        conference.take(upload)
        assert len(conference.reviews) == before + len(asked)
    else:
        assert (name, upload[:2]) == ("reviewgraph-plan.xlsx", b"PK")
    if model in (systems.HotCRP, systems.Gradebook) or NIGHTLY:  # the others have read their scores for the plan
        page = ran(client, guard, "calibrate", select="20%", to=EXCEL)
        assert errors(page) == []
        assert client.get(f"/{guard.token}/download/reviewgraph-calibrated.xlsx").content[:2] == b"PK"


@pytest.mark.slow
@here
@pytest.mark.parametrize("kind", sampled(["xlsx", "zip"]))
def test_of_several_tables_in_a_file_one_is_selected(client: Any, guard: Guard, kind: str) -> None:
    rows = [line.split(",") for line in REVIEWS.splitlines()]
    data = as_xlsx({"First": rows, "Second": rows})
    if kind == "zip":
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            for name in ("First", "Second"):
                file.writestr(name, REVIEWS)
        data = archive.getvalue()
    posted(client, guard, (f"r.{kind}", data))
    assert "<label>Table inside<select" in client.get(f"/{guard.token}/").text
    client.post(f"/{guard.token}/choices", data={"file": f"r.{kind}", "part": "Second"})
    page = ran(client, guard, "check")
    assert errors(page) == []
    assert f"reviewgraph check &#39;r.{kind}#Second&#39;" in page


# What people have.

SHARED = Path(os.environ.get("SHARED", ROOT.parent / "shared"))
CASES = SHARED / "cases"
EXPORTS = ROOT / "tests/hotcrp/exports/3.4"
BEFORE = ("pcassignments", "data", "pcconflicts", "allprefs")
STAGES = {"stage1": BEFORE, "stage2": (*BEFORE, "scores")}


@pytest.mark.slow
@here
@pytest.mark.skipif(not CASES.is_dir(), reason="there are no cases")
def test_files_of_all_cases_are_checked_or_refused_with_one_message(client: Any, guard: Guard) -> None:
    folders = sorted(path for path in CASES.iterdir() if path.is_dir())
    for folder in folders if NIGHTLY else folders[::3]:
        for path in sorted(folder.iterdir()):
            if path.suffix in (".md", ".py", ".sh") or not path.is_file():
                continue
            page = posted(client, guard, (path.name, path.read_bytes())).text
            ended(client, guard)
            assert "error in reviewgraph" not in page, path
            assert len(errors(page)) <= 1, path
            assert page.count('class="verdict') == 1 or errors(page), path
            client.post(f"/{guard.token}/clear")


@pytest.mark.slow
@here
def test_what_is_refused_has_its_message_and_leaves_the_others_alone(client: Any, guard: Guard) -> None:
    page = posted(client, guard, ("a.bin", b"\x00\xff" * 99), ("empty.csv", ""), ("r.csv", REVIEWS)).text
    assert [error.partition(":")[0] for error in errors(page)] == ["a.bin", "empty.csv"]
    assert page.count('class="verdict') == 1


@pytest.mark.slow
@here
@pytest.mark.parametrize("stage", STAGES)
def test_real_exports_end_in_a_verdict_and_in_an_upload(client: Any, guard: Guard, stage: str) -> None:
    paths = [EXPORTS / stage / f"labconf-{name}.csv" for name in STAGES[stage]]
    page = posted(client, guard, *((path.name, path.read_bytes()) for path in paths)).text
    assert errors(page) == []
    assert page.index('class="verdict') < page.index('id="drop"') < page.index('class="preview"')
    assert page.count("<tr><td") == 6 * len(paths)
    page = ran(client, guard, "assign")
    assert errors(page) == []
    assert "Upload to HotCRP" in page
    assert re.search(r"<p>\d+ reviews in \d+ lines:</p>", page)
    assert "--reviewers labconf-allprefs.csv" in page


# Results.


@pytest.mark.slow
@here
def test_answers_are_checked_by_independent_code(client: Any, guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    page = posted(client, guard, ("r.csv", REVIEWS)).text
    assert "by independent code" in page
    monkeypatch.setattr(Run, "first", "REFUTED by independent code: level")
    page = client.get(f"/{guard.token}/check").text
    assert "Independent code refutes this result: do not use it." in page
    monkeypatch.setattr(Run, "first", "")
    assert "Not checked by independent code." in client.get(f"/{guard.token}/check").text


def test_the_line_stands_below_the_selected_papers(tmp_path: Path) -> None:
    """Where 1 is the best score, too; papers of several groups have no common order unless it is assumed."""
    entry = {"average": 1.0, "standard_error": 0.1, "interval": [0.0, 9.0], "probability": 0.5}
    items = [{"item": f"p{rank}", "rank": rank, "quality": float(rank), "group": 1, **entry} for rank in (3, 1, 4, 2)]
    found = Workspace(tmp_path)
    discuss = [{"item": f"p{rank}", "probability": 0.5} for rank in (2, 3)]
    answer: dict[str, Any] = {"items": items, "selected": ["p1", "p2"], "certain": ["p1"], "discuss": discuss}
    found.results = {"calibrate": Run(STEPS["calibrate"], EXCEL, process=None, answer=answer)}
    parts = [(row["item"], row["part"]) for row in found.ranked()]
    assert parts == [("p1", "in"), ("p2", "discuss"), ("p3", "discuss"), ("p4", "out")]
    items[0]["group"] = 2
    answer["selected"] = []
    assert found.ranked() == []

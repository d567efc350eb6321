"""The page in a browser: from exports to an upload equal to the command's, by mouse and by keyboard."""

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reviewgraph.cli import main
from reviewgraph.cli.app.workspace import environment
from tests.reviewgraph.report.browsing import LOOKS, expect_looks

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

ROOT = Path(__file__).parents[4]
#: Downloads of a real HotCRP site.
EXPORTS = [
    ROOT / "tests/hotcrp/exports/3.4/stage2" / f"labconf-{name}.csv"
    for name in ("scores", "pcassignments", "data", "pcconflicts")
]
#: Scores of 40 papers that 12 reviewers make comparable.
ROWS = (f"r{(i * 7 + j * 5) % 12},p{i},{(i * 3 + j * 4) % 5 + 1}" for i in range(40) for j in range(3))
SCORES = "reviewer,paper,score\n" + "\n".join(ROWS) + "\n"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Ctrl-C is sent as on Linux and macOS"),
]


class Running:
    """The command, with the folder of its files."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "reviewgraph", "app", "--no-browser"]
        self.folder = folder
        wide = {"COLUMNS": "1000", "TMPDIR": str(folder)}  # as for commands in tests, which a report repeats
        self.process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, env=environment() | wide)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{43}/$", line)
        assert found, line
        self.address = found[0]

    def end(self) -> str:
        """Press Ctrl-C, and return what else was printed."""
        assert self.process.stderr is not None
        self.process.send_signal(signal.SIGINT)
        rest = self.process.stderr.read()
        assert self.process.wait(30) == 0, rest
        self.process.stderr.close()
        return rest


@contextmanager
def started(folder: Path) -> Iterator[Running]:
    """Yield a running command whose files are in a folder, and are gone afterwards."""
    folder.mkdir()
    found = Running(folder)
    try:
        yield found
    finally:
        # The files were in one private folder, which is deleted at the end.
        (private,) = folder.iterdir()
        mode, told = private.stat().st_mode & 0o777, found.end()
    assert mode == 0o700
    assert "files of the page are deleted" in told
    assert list(folder.iterdir()) == []


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with started(tmp_path / "tmp") as found:
        yield found


@pytest.fixture
def page(browser: Any, running: Running) -> Iterator[Any]:
    with silent(browser, running) as found:
        yield found


@pytest.fixture(scope="module")
def planned(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A command whose page has made a plan of the exports, for tests that change nothing; it stays there for others."""
    with started(tmp_path_factory.mktemp("planned") / "tmp") as found:
        with silent(browser, found) as page:
            add(page, EXPORTS)
            run(page, "Plan", spare="2")
            run(page, "Calibrate", select="20%", **{"by-group-average": "yes"})
        yield found


@contextmanager
def silent(browser: Any, running: Running) -> Iterator[Any]:
    """Yield a page of which nothing is asked of anyone else, and whose console is silent."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, bypass_csp=False)
    found = context.new_page()
    found.set_default_timeout(60_000)
    told: list[str] = []
    context.on("request", lambda request: None if request.url.startswith(running.address) else told.append(request.url))
    found.on("console", lambda message: told.append(message.text))
    found.on("pageerror", lambda error: told.append(str(error)))
    found.goto(running.address)
    yield found
    context.close()
    assert [words for words in told if words != "data:,"] == []


def add(page: Any, paths: list[Path]) -> None:
    page.set_input_files("#drop", [str(path) for path in paths])
    page.wait_for_selector(".verdict")


def run(page: Any, title: str, **values: str) -> None:
    page.get_by_role("navigation", name="Steps").get_by_role("link", name=title).click()
    for name, value in values.items():
        field = page.locator(f"#options [name={name}]:not(button)")
        field.evaluate("each => { each.closest('details').open = true; }")
        kind = field.evaluate("each => each.type")
        if kind == "checkbox":
            field.check()
        else:
            field.select_option(value) if kind == "select-one" else field.fill(value)
    page.locator("#options button.main").click()
    page.wait_for_selector("#result, #page > .error")


def saved(page: Any, name: str, to: Path) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("link", name=name).click()
    download.value.save_as(to)
    return to.read_bytes()


def test_from_exports_to_an_upload_equal_to_the_commands(
    browser: Any, planned: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with silent(browser, planned) as page:
        roles = page.locator("select[name=role]").evaluate_all("all => all.map(each => each.value)")
        assert roles == ["reviews", "reviews", "items", "conflicts"]
        page.goto(planned.address + "plan")
        here = saved(page, "File for HotCRP", tmp_path / "here.csv")
        result = saved(page, "Result (JSON)", tmp_path / "here.json")
        report = saved(page, "Report (HTML)", tmp_path / "here.html")
        line = page.locator(".command").text_content()
    assert here.startswith(b"paper,action,email,reviewtype,round")
    assert here.count(b"\n") > 3
    folder = tmp_path / "there"
    folder.mkdir()
    for path in EXPORTS:
        (folder / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(folder)
    name, *words = shlex.split(line)
    done = CliRunner().invoke(main, words)
    assert (name, done.exit_code, done.stdout_bytes) == ("reviewgraph", 0, result)
    assert (folder / "reviewgraph-plan-hotcrp.csv").read_bytes() == here
    assert (folder / "reviewgraph-plan.html").read_bytes() == report


def line_of(page: Any) -> Any:
    """Return the line across the ranked papers, once scripts have put it in its place: before, keys do nothing."""
    page.locator("#line[style]").wait_for(state="attached")
    return page.get_by_role("slider", name="Papers selected")


def test_the_line_is_dragged_and_moved_by_keys(page: Any, tmp_path: Path) -> None:
    """At rest one run, announced, and the line keeps the focus; files are dropped anywhere on the page."""
    scores = tmp_path / "scores.csv"
    scores.write_text(SCORES, "utf-8")
    add(page, [scores])
    assert page.locator(".verdict h2").bounding_box()["y"] < 400
    page.get_by_role("button", name="Calibrate the scores").click()
    line = line_of(page)
    assert line.get_attribute("aria-valuetext") == "none selected"
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    line.focus()
    # The time of the page stands still while keys are pressed, however slow the machine.
    now = page.evaluate("Date.now()")
    page.clock.install(time=now / 1000)
    page.clock.pause_at(now / 1000 + 1)
    for key in (*["ArrowDown"] * 4, "ArrowUp", "PageDown"):
        line.press(key)
    page.clock.resume()
    page.get_by_text("13 selected.").wait_for()
    assert [url.rpartition("/")[2] for url in sent] == ["stop", "calibrate"]
    assert line.evaluate("each => each === document.activeElement")
    assert "--select 13" in page.locator(".command").text_content()
    assert page.locator(".ranks li.above").count() == 13
    assert page.locator(".ranks .part-discuss").count() > 0
    # By mouse, up by three rows.
    line.evaluate("each => each.scrollIntoView({ block: 'center', behavior: 'instant' })")
    box, row = line.bounding_box(), page.locator(".ranks li").first.bounding_box()["height"]
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 2 * row, steps=4)
    page.mouse.move(x, y - 3 * row, steps=4)
    page.mouse.up()
    page.get_by_text("10 selected.").wait_for()
    assert line.get_attribute("aria-valuenow") == "10"


@pytest.mark.nightly
def test_what_an_earlier_place_of_the_line_gives_does_not_push_it_back(page: Any, tmp_path: Path) -> None:
    """The line is moved again while the lists are made: the answer that comes then is of a place that it has left."""
    scores = tmp_path / "scores.csv"
    scores.write_text(SCORES, "utf-8")
    add(page, [scores])
    page.get_by_role("button", name="Calibrate the scores").click()
    line = line_of(page)
    page.clock.install()
    held: list[Any] = []
    page.route("**/stop", lambda route: route.continue_() if held else held.append(route))
    line.press("PageDown")
    page.get_by_text("Making the lists").wait_for()
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 1)
    held[0].continue_()
    page.wait_for_timeout(500)
    line.press("ArrowDown")
    page.clock.run_for(300)
    page.wait_for_timeout(1000)
    line.press("ArrowDown")
    page.clock.resume()
    page.get_by_text("12 selected.").wait_for()
    assert line.get_attribute("aria-valuenow") == "12"


def test_the_head_of_a_column_says_what_it_is_and_changes_it(page: Any, tmp_path: Path) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text("Whom,Thing,Overall\n" + "".join(f"r{i % 4},p{i // 2},{i % 5}\n" for i in range(12)), "utf-8")
    add(page, [scores])
    assert "say which one it is" in page.locator(".file .error").inner_text()
    page.get_by_label("Whom of scores.csv is").select_option("reviewer")
    page.get_by_label("Thing of scores.csv is").select_option("item")
    page.get_by_text("hold by independent code").wait_for()
    assert page.locator(".file .error").count() == 0
    assert page.locator("th.as-reviewer").inner_text().startswith("Whom")


def test_without_scripts_buttons_do_the_same(browser: Any, running: Running, tmp_path: Path) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text(SCORES, "utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(running.address)
    page.set_input_files("#drop", str(scores))

    def follow(target: Any) -> None:
        # Without scripts every click loads a page, and what is there before it has come is the old one.
        with page.expect_navigation():
            target.click()

    follow(page.get_by_role("button", name="Add"))
    for button in ("Calibrate the scores", ""):
        while (link := page.get_by_role("link", name="See whether it has ended")).count():
            follow(link)
        if button:
            follow(page.get_by_role("button", name=button))
    assert page.locator(".ranks li").count() == 40
    context.close()


def expect_good_looks(browser: Any, running: Running, places: dict[str, list[tuple[int, str]]]) -> None:
    """Expect nothing to object to on some pages, in widths and schemes for each."""
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    for place, looks in places.items():
        page.goto(running.address + place)
        expect_looks(page, looks)
    context.close()


def test_a_phone_in_the_dark_and_a_screen_in_the_light(browser: Any, planned: Running) -> None:
    """The page with files, with a form and a result, and with the line across ranked papers."""
    expect_good_looks(browser, planned, dict.fromkeys(("", "plan", "calibrate"), LOOKS[:2]))


def test_a_foreign_page_cannot_reach_it(browser: Any, planned: Running, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.html"
    foreign.write_text(f'<form method=post action="{planned.address}clear"><button>Go</button></form>', "utf-8")
    context = browser.new_context()
    page = context.new_page()
    page.goto(foreign.as_uri())
    page.get_by_role("button").click()
    page.wait_for_load_state()
    assert "Refused: the request is from another page" in page.content()
    page.goto(planned.address.rpartition("/")[0][:-1] + "x/")
    assert "Refused: the address lacks the token" in page.content()
    context.close()

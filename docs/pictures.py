"""Draw the pictures of the documentation: ``python -m docs.pictures``.

The pictures of the gallery are what the code on its pages saves; those of the home page and the tutorials are below.
Tests compare all of them with the files. Screenshots of reports need Chromium: ``python -m docs.pictures --reports``.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
GALLERY = DOCS / "gallery"
DEMO = DOCS.parent / "reviewgraph" / "cli" / "reviewgraph-demo.csv"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
#: Commands, the report that they write, and the picture of the top of it, with its height in pixels.
REPORTS = {
    "tutorial/report-check.png": (["check", "reviewgraph-demo.csv"], 1130),
    "how-to/report-calibrate.png": (["calibrate", "reviewgraph-demo.csv", "--select", "5"], 1130),
}


@contextlib.contextmanager
def folder(path: Path) -> Iterator[None]:
    """Work in a folder that has the tables of the gallery."""
    before = Path.cwd()
    for table in GALLERY.glob("*.csv"):
        shutil.copy(table, path)
    shutil.copy(DEMO, path)
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


def shown(page: Path) -> tuple[str, str]:
    """Return the code of a page of the gallery, and what the page says that it prints."""
    text = page.read_text("utf-8")
    (code,) = PYTHON.findall(text)
    output = re.search(r"^```text\n(.*?)^```$", text, re.M | re.S)
    return code, output[1] if output else ""


def run(page: Path, into: Path) -> str:
    """Run the code of a page of the gallery in a folder, and return what it prints."""
    code, _ = shown(page)
    printed, known = io.StringIO(), {"__name__": "__main__"}
    with folder(into), contextlib.redirect_stdout(printed):
        exec(compile(code, page.name, "exec"), known)
    return printed.getvalue()


def pages() -> list[Path]:
    """Return the pages of the gallery with code."""
    return sorted(page for page in GALLERY.glob("*.md") if page.name != "index.md")


def typed(line: str, place: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of a console in a folder: ``reviewgraph``, if it begins so, in this process, the rest by a shell.

    A line that ends with a backslash goes on in the next.
    """
    from click.testing import CliRunner

    from reviewgraph.cli import main

    line = re.sub(r" *\\\n *", " ", line)
    with tempfile.TemporaryDirectory() as kept, contextlib.chdir(place):
        if own := re.match(r"reviewgraph (.*?)(?= 2?>| \||;|$)", line):
            told = CliRunner(env={"COLUMNS": "80"}).invoke(main, shlex.split(own[1]))
            Path(kept, "out").write_bytes(told.stdout_bytes)
            Path(kept, "err").write_bytes(told.stderr_bytes)
            line = f"reviewgraph() {{ cat {kept}/out; cat {kept}/err >&2; return {told.exit_code}; }}\n{line}"
        return subprocess.run(line, shell=True, capture_output=True, text=True)


def walk(page: Path, place: Path, last: str) -> None:
    """Do in a folder what a tutorial says, up to the command that contains the last words."""
    for block in BLOCK.findall(page.read_text("utf-8")):
        for command in re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, re.M):
            typed(command, place).check_returncode()
            if last in command:
                return


def one_conference() -> dict[str, Any]:
    """Return the pictures of the tutorial on one conference, by file."""
    import lsc
    import reviewgraph
    from reviewgraph.io import read_reviews

    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        walk(DOCS / "tutorial" / "one-conference.md", place, "simulate realistic")
        gone = (place / "gone.csv").read_text("utf-8").split()[1:]
        assigned = read_reviews(str(place / "assigned.csv"))
        check = reviewgraph.check(assigned, rules=reviewgraph.Rules(gone=gone))
        estimate = lsc.posterior(read_reviews(str(place / "scored" / "reviews.csv")))
    return {
        "tutorial/one-conference-map.svg": check.plot("groups"),
        "tutorial/one-conference-line.svg": estimate.plot("line", n_selected=10),
        "tutorial/one-conference-reviewers.svg": estimate.plot("severities"),
    }


def pictures() -> dict[str, Any]:
    """Return the pictures of pages outside the gallery, by file."""
    import pandas

    import planner
    import reviewgraph

    table = reviewgraph.Reviews(pandas.read_csv(DEMO))
    pairs = [("ann", "p1"), ("ann", "p2"), ("ann", "p3"), ("bob", "p2"), ("bob", "p3"), ("cyd", "p3"), ("cyd", "p4")]
    first = reviewgraph.Reviews(pairs, items=["p5"])
    apart = reviewgraph.Reviews([("ann", 1), ("ann", 2), ("bob", 3), ("bob", 4), ("cyd", 4)])
    return {
        "home.svg": planner.plan(table).plot("map"),
        "how-to/notebook.svg": reviewgraph.check(apart).plot(),
        "tutorial/check-map.svg": reviewgraph.check(table).plot("groups"),
        "tutorial/check-right.svg": reviewgraph.check(table).plot("right"),
        "tutorial/first-graph.svg": reviewgraph.check(first).plot("groups"),
        **one_conference(),
    }


def screenshots() -> None:
    """Take a picture of the first screen of each report."""
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(DEMO, place)
        for name, (command, height) in REPORTS.items():
            subprocess.run([sys.executable, "-m", "reviewgraph", *command, "--html", "report.html"],
                           cwd=place, check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "PYTHONPATH": str(DOCS.parent)})  # fmt: skip
            subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                            f"--window-size=1000,{height}", f"--screenshot={DOCS / name}",
                            (Path(place) / "report.html").as_uri()], check=True, stderr=subprocess.DEVNULL)  # fmt: skip


def main() -> None:
    """Write pictures and the printed lines of the gallery."""
    for name, picture in pictures().items():
        (DOCS / name).write_text(picture.svg, "utf-8")
    for page in pages():
        with tempfile.TemporaryDirectory() as place:
            printed = run(page, Path(place))
            for picture in Path(place).glob("*.svg"):
                shutil.copy(picture, GALLERY)
        text = page.read_text("utf-8").replace(f"```text\n{shown(page)[1]}```", f"```text\n{printed}```")
        page.write_text(text, "utf-8")
    if "--reports" in sys.argv:
        screenshots()


if __name__ == "__main__":
    main()

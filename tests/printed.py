"""What pages show: commands in blocks, the small files that these suppose, and consoles with what the commands print.

``python -m tests.printed`` writes the consoles of all pages anew.
"""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from docs import pictures
from tests.conference_systems import OpenReview

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for path in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    if "_build" not in path.parts
)
BLOCK = re.compile(r"^ *(`{3,})(\w*)\n(.*?)^ *\1 *$", re.M | re.S)
COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )?(?:\S*/)?(?:reviewgraph|python3?|ruff|sphinx) ")

#: What commands contain that no test runs here, as they install, take minutes, or serve until they are stopped.
ELSEWHERE = (
    *("-m pip install", "-m pytest", "reviewgraph._build", "tests.benchmarks", "tests.fuzz_readers", "tests.outputs"),
    *("tests.measure", "tests.printed", "tests.oracles", "tests.audit_tables", "tests.bad_arguments", "ruff check"),
    *("reproduce table1", "reproduce all", "reviewgraph app"),
)


def printed(page: Path) -> list[list[str]]:
    """Return the commands of each block without prompts that a page prints, long lines joined."""
    found = []
    for _, language, block in BLOCK.findall(page.read_text("utf-8")):
        if language in ("", "bash", "text"):
            lines = block.replace("\\\n", " ").splitlines()
            found.append([line.strip() for line in lines if COMMAND.match(line.strip())])
    return [commands for commands in found if commands]


CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
#: A command in a console, on one line or several, and what it prints.
COMMANDS = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.M)


def recorded(page: Path, folder: Path) -> str:
    """Run the consoles of a page in a folder, and return the page with what its commands print.

    Raises
    ------
    RuntimeError
        If a command fails, or prints on stderr beside output that the page shows.
    """

    def command(shown: re.Match[str]) -> str:
        run = pictures.typed(shown[1], folder)
        # A slow machine says how far it is.
        notes = re.sub(r"^ +[0-9.]+ s   .*\n", "", run.stderr, flags=re.M)
        if run.returncode or (shown[2] and notes):
            message = f"{page}: {shown[1]}: status {run.returncode}, {run.stderr}"
            raise RuntimeError(message)
        return f"$ {shown[1]}\n{run.stdout if shown[2] else ''}"

    def block(shown: re.Match[str]) -> str:
        return f"```console\n{re.sub(COMMANDS, command, shown[1])}```"

    return CONSOLE.sub(block, page.read_text("utf-8"))


def elsewhere(command: str) -> bool:
    """Return whether a command is not run here."""
    return any(part in command for part in ELSEWHERE)


# The files

RNG = np.random.default_rng(27)
PAPERS, PEOPLE = [f"p{number}" for number in range(1, 31)], [f"r{number}" for number in range(1, 21)]
#: Four reviews a paper, so that two new ones would not do.
PAIRS = [(who, what) for k, what in enumerate(PAPERS) for who in RNG.permutation(PEOPLE[: 10 + k // 3])[:4].tolist()]
SCORE = {pair: int(RNG.integers(1, 6)) for pair in PAIRS}
OPEN = [(who, what) for who in PEOPLE for what in PAPERS if (who, what) not in SCORE]


def csv(header: str, rows: object) -> bytes:
    """Return rows as the bytes of a file."""
    lines = [",".join(map(str, row)) for row in rows]  # type: ignore[attr-defined]
    return "\n".join([header, *lines, ""]).encode()


def parquet() -> bytes:
    """Return the reviews as Parquet."""
    sink = pa.BufferOutputStream()
    columns = {"reviewer": [who for who, _ in PAIRS], "item": [what for _, what in PAIRS]}
    pa.parquet.write_table(pa.table({**columns, "score": [float(SCORE[pair]) for pair in PAIRS]}), sink)
    return bytes(sink.getvalue())


def late() -> bytes:
    """Return HotCRP's reviewcsv with one reviewer who owes a review."""
    rows = [
        (what[1:], f"{what[1:]}{who}", f"{who}@x.org", *(("2026-03-05T10:00:00Z", "complete", SCORE[who, what])))
        for who, what in PAIRS
    ]
    rows[0] = (*rows[0][:3], "", "draft", "")
    return csv("pid,review,email,submitted_at,status,Overall merit", rows)


SCORED = [(who, what, SCORE[who, what]) for who, what in PAIRS]
HOMES = [(who, f"home{k % 7}", "yes" if k % 2 else "no", "abc"[k % 3]) for k, who in enumerate(PEOPLE)]
FIT = csv("item,reviewer,affinity", [(what, who, round(RNG.random(), 2)) for what in PAPERS for who in PEOPLE])
#: What most pages call the same.
COMMON: dict[str, bytes] = {
    "reviews.csv": csv("reviewer,item,score", SCORED),
    "conflicts.csv": csv("item,reviewer", [(what, who) for who, what in OPEN[::40]]),
    "affinity.csv": FIT,
    "similarity.csv": FIT,
    "reviewers.csv": csv("reviewer,institution,senior,region", HOMES),
    "people.csv": csv("reviewer,institution,senior,region", HOMES),
    "items.csv": csv("item", [[what] for what in PAPERS]),
    "papers.csv": csv("item", [[what] for what in PAPERS]),
    "staying.csv": csv("item", [[what] for what in PAPERS[:20]]),
    "bids.csv": csv("item,reviewer,bid", [(what, who, "yes") for who, what in OPEN[3::50]]),
    "authors.csv": csv("item,author", [(what, PEOPLE[k % 20]) for k, what in enumerate(PAPERS)]),
    "accepted.csv": csv("item,reviewer", [OPEN[5][::-1]]),
    "assignment.csv": csv("reviewer,item", PAIRS),
    "scores.csv": csv("reviewer,item,score", SCORED[:-20]),
    "gone.csv": csv("reviewer", [[PEOPLE[0]]]),
    "reviewcsv.csv": late(),
    "ratings.parquet": parquet(),
}
#: What a command supposes that is named like something else, by what it contains.
OWN: dict[str, Callable[[], dict[str, bytes]]] = {
    "Quality": lambda: {
        "scores.csv": csv("reviewer,paper,Quality,Fun", [(*row, k % 5) for k, row in enumerate(SCORED)])
    },
    "confidence": lambda: {
        "reviews.csv": csv("reviewer,item,score,confidence", [(*row, 1 + k % 4) for k, row in enumerate(SCORED)])
    },
    "novelty": lambda: {
        "reviews.csv": csv("reviewer,item,score,novelty", [(*row, 1 + k % 5) for k, row in enumerate(SCORED)])
    },
    "--only-target": lambda: {
        "reviews.csv": csv("reviewer,item,score,novelty", [(*row, 1 + k % 5) for k, row in enumerate(SCORED)])
    },
    "references.csv": lambda: {
        "references.csv": csv("item,quality", [(what, 50 + 7 * k % 40) for k, what in enumerate(PAPERS[::2])])
    },
    "judges.csv": lambda: {"judges.csv": csv("reviewer", [[who] for who in PEOPLE])},
    "A>B>C>D>E": lambda: {"scores.csv": csv("reviewer,paper,score", [(w, p, "ABCDE"[s - 1]) for w, p, s in SCORED])},
    "reviews.json groups.json": lambda: OpenReview(scored=True).files(),
}


def supposed(command: str) -> dict[str, bytes]:
    """Return the files that only this command supposes."""
    return {name: data for part, make in OWN.items() if part in command for name, data in make().items()}


if __name__ == "__main__":
    for path in PAGES:
        if "```console" in path.read_text("utf-8"):
            with tempfile.TemporaryDirectory() as made:
                path.write_text(recorded(path, Path(made)), encoding="utf-8")

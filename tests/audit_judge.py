"""What the product makes of a table whose truth is known: right, noted, asked, or wrong."""

import inspect
import json
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from reviewgraph import InputError, Reviews, read_reviews
from reviewgraph.formats.columns import Columns
from reviewgraph.formats.side import read_conflicts
from reviewgraph.graph import ColumnWarning, LabelWarning
from reviewgraph.table.reviews import as_reviews

Pairs = dict[tuple[str, str], float | None]
Grid = list[list[str]]

#: In vain: asked, and what the message proposes is refused, too. Harmful: it is done, and the table silently wrong.
OUTCOMES = ("right", "noted", "asked", "in vain", "silently wrong", "false alarm", "crashed", "harmful")
#: Outcomes that no table may have.
BAD = OUTCOMES[4:]
#: Notes that are true of clean tables, too.
HARMLESS = re.compile("reviewers are the columns|read as a gradebook|not UTF-8 and was|say how sure|label of a rev")
#: Notes that no scores are read, which are enough where the pairs are right, and say nothing else of the table.
NO_SCORES = re.compile("all reviews count as planned|no score column")
#: Notes that name a column without saying what is wrong with it.
BESIDE = re.compile(f"{HARMLESS.pattern}|{NO_SCORES.pattern}|a further score")

OURS = (ColumnWarning, LabelWarning)


@dataclass(frozen=True)
class Variant:
    """A table, or several, and what it means."""

    name: str
    files: Mapping[str, bytes]
    truth: Pairs
    matter: str  #: What a note must match to name the matter; empty for clean tables.
    options: Mapping[str, Any]
    grid: Grid | None = None  #: The cells of the one table, for the frame and the rows.
    has_reviewers_as_columns: bool = False
    affine: bool = False  #: Whether scores count up to unit and origin.
    are_conflicts: bool = False  #: Whether the pairs are conflicts of interest.

    @property
    def is_plain(self) -> bool:
        """Whether rows without names are enough: a reviewer, a paper, and perhaps a score."""
        size = len(self.grid[0]) if self.grid else 0
        return size == 2 or (size == 3 and any(score is not None for score in self.truth.values()))


def pieces(pairs: Pairs) -> int:
    """Return the number of connected pieces."""
    graph = nx.Graph(((0, reviewer), (1, paper)) for reviewer, paper in pairs)
    return nx.number_connected_components(graph)


def fingerprint(pairs: Pairs, *, affine: bool = False, with_scores: bool = True) -> Counter[int]:
    """Return what no renaming changes: colours of reviewers and papers, refined by what they share."""
    scores = [score for score in pairs.values() if score is not None]
    origin = min(scores, default=0.0) if affine else 0.0
    unit = (max(scores, default=1.0) - origin or 1.0) if affine else 1.0
    edges = [
        ((0, who), (1, what), round((score - origin) / unit, 6) if with_scores and score is not None else -1e9)
        for (who, what), score in pairs.items()
    ]
    colour = {node: node[0] for left, right, _ in edges for node in (left, right)}
    for _ in range(5):
        around: dict[tuple[int, str], list[tuple[float, int]]] = {node: [] for node in colour}
        for left, right, score in edges:
            around[left].append((score, colour[right]))
            around[right].append((score, colour[left]))
        colour = {node: hash((colour[node], tuple(sorted(seen)))) for node, seen in around.items()}
    return Counter(colour.values())


def pairs_of(reviews: Reviews | Columns) -> Pairs:
    """Return what the product has read."""
    scores = np.full(reviews.item.size, np.nan) if reviews.score is None else reviews.score
    rows = zip(reviews.reviewer.tolist(), reviews.item.tolist(), scores.tolist(), strict=True)
    labels = (((str(reviews.reviewers[who]), str(reviews.items[what])), score) for who, what, score in rows)
    return {pair: None if np.isnan(score) else score for pair, score in labels}


def frame_of(grid: Grid) -> pd.DataFrame:
    """Return the cells as a careful user of pandas reads them: numbers, but labels such as 007 and 1.10 as text."""
    frame = pd.DataFrame(grid[1:], columns=grid[0], dtype=object)
    for place, name in enumerate(grid[0]):
        cells = [row[place] for row in grid[1:]]
        number = r"[+-]?[0-9]+(\.[0-9]+)?" if place > 1 or (len(grid[0]) > 5 and place) else "0|[1-9][0-9]{0,14}"
        if all(re.fullmatch(number, cell) for cell in cells if cell) and any(cells):
            frame[name] = pd.to_numeric(frame[name].where(frame[name] != "", None))
        else:
            frame[name] = frame[name].where(frame[name] != "", None)
    return frame


def read(variant: Variant, way: str, folder: Path, note: Callable[[str], object], **more: Any) -> Reviews | Columns:
    """Read a variant in one way."""
    options = {**variant.options, **more}
    if way == "file":
        for name, content in variant.files.items():
            (folder / name).write_bytes(content)
        if variant.are_conflicts:
            return read_conflicts(folder / next(iter(variant.files)), note=note, **options)
        return read_reviews(*(folder / name for name in variant.files), note=note, **options)
    frame = frame_of(variant.grid or [])
    if variant.has_reviewers_as_columns:
        numbers = frame.set_index(frame.columns[0]).rename_axis(index="item", columns="reviewer")
        return as_reviews(numbers)
    if way == "frame":
        known = inspect.signature(Reviews).parameters
        options = {name: value for name, value in options.items() if name in known}
        return Reviews(frame, **options) if options else as_reviews(frame)
    records = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return as_reviews([tuple(record.values()) for record in records] if variant.is_plain else records)


def ways(variant: Variant) -> list[str]:
    """Return the ways in that a variant has; plain rows need no names of columns."""
    if variant.grid is None or len(set(variant.grid[0])) < len(variant.grid[0]):
        return ["file"]
    has_rows = not set(variant.options) - ({"columns"} if variant.is_plain else set())
    return ["file", "frame", "rows"] if has_rows and not variant.has_reviewers_as_columns else ["file", "frame"]


def outcome(variant: Variant, way: str, folder: Path, **more: Any) -> tuple[str, str]:
    """Return how a variant is read, and the messages."""
    notes: list[str] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pairs = pairs_of(read(variant, way, folder, notes.append, **more))
    except InputError as error:
        return ("asked" if variant.matter and str(error) else "false alarm"), str(error)
    except Exception as error:  # whatever else it is, it is a crash
        return "crashed", f"{type(error).__name__}: {error}"
    notes = [note.replace(f"{folder}/", "") for note in notes]
    notes += [str(warning.message) for warning in caught if issubclass(warning.category, OURS)]
    message = " / ".join(notes)
    with_note = "noted" if variant.matter else "false alarm"
    alike = fingerprint(pairs, affine=variant.affine) == fingerprint(variant.truth, affine=variant.affine)
    if alike and pieces(pairs) == pieces(variant.truth):  # colours do not tell a ring from two
        return ("right" if all(map(HARMLESS.search, notes)) else with_note), message
    telling = [note for note in notes if not BESIDE.search(note)]
    if variant.matter and re.search(variant.matter, " / ".join(telling), re.IGNORECASE):
        return "noted", message
    same_pairs = fingerprint(pairs, with_scores=False) == fingerprint(variant.truth, with_scores=False)
    if same_pairs and NO_SCORES.search(message):
        return with_note, message
    sizes = f"{len(pairs)} reviews for {len(variant.truth)}, {pieces(pairs)} pieces for {pieces(variant.truth)}"
    return "silently wrong", f"{sizes}. {message}"


def proposals(message: str) -> Iterator[dict[str, Any]]:
    """Yield the options that a message proposes, as arguments of ``read_reviews``."""
    for role, name, word in re.findall(r"--columns \"?(\w+)=(?:\"([^\"]+)\"|([^\s,;)\"]+))", message):
        if word != "NAME":
            yield {"columns": {role: name or word}}
    yield from ({"scale": scale} for scale in re.findall(r'--scale "([^"]+)"', message))
    fixed = {"duplicates last": ("duplicates", "last"), "lower-is-better": ("lower_is_better", True)}
    fixed |= {"format gradebook": ("format", "gradebook")}
    yield from (dict([option]) for words, option in fixed.items() if f"--{words}" in message)


def judged(variant: Variant, way: str, folder: Path) -> tuple[str, str]:
    """Return how a variant is read, and whether doing what its messages propose helps, or harms."""
    result, message = outcome(variant, way, folder)
    if way != "file" or result not in ("asked", "noted"):
        return result, message
    for option in proposals(message):
        columns = {**variant.options.get("columns", {}), **option.get("columns", {})}
        after, reason = outcome(variant, way, folder, **{**option, "columns": columns})
        if after in ("silently wrong", "crashed"):
            return "harmful", f"{message} ==> {option}: {after}: {reason}"
        if after == "asked" and "columns" not in option:  # after one column another may be asked for
            result, message = "in vain", f"{message} ==> {option}: {reason}"
    return result, message


def disagreement(variant: Variant, folder: Path) -> str:
    """Return how the real command differs from Python on the files of a variant; nothing where both agree."""
    options = [f"--{name}={value}" for name, value in variant.options.items() if name != "columns"]
    options += [f"--columns={role}={name}" for role, name in variant.options.get("columns", {}).items()]
    try:
        pairs = pairs_of(read(variant, "file", folder, lambda message: None))
        counts = [0, *(len({pair[side] for pair in pairs}) for side in (0, 1)), len(pairs), pieces(pairs)]
    except InputError:
        counts = [2]
    words = [sys.executable, "-m", "reviewgraph", "check", *variant.files, "--json", *options]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    by_command = [done.returncode]
    if done.returncode == 0:
        answer = json.loads(done.stdout)
        by_command += [answer["reviewers"], answer["items"], answer["reviews"], answer["connected"]["components"]]
    return "" if by_command == counts else f"{variant.name}: Python {counts}, command {by_command}: {done.stderr}"

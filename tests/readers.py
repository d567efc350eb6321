"""Every reader of files that there is, whole files for each, and what it may do with any file: answer, or refuse."""

import datetime
import decimal
import io
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet
from click.testing import CliRunner

from reviewgraph import check, stream_reviews
from reviewgraph._base import InputError, csv_text
from reviewgraph.cli import main
from reviewgraph.cli.session import read_key
from reviewgraph.formats import delimited, side
from reviewgraph.graph import connected_components
from reviewgraph.io import read_reviews
from tests.reviewgraph.formats.exports import EVERY, SCORES, as_csv
from tests.reviewgraph.formats.test_damaged_sides import SIDES, name_of

#: Characters of the longest message that anyone would read.
LONGEST = 5_000
PAIRS = [[who, paper] for who, paper in SCORES]


class Case(NamedTuple):
    """A reader, and the name and the bytes of a file that it reads."""

    reader: str
    name: str
    data: bytes


def rows_of(reviews: Any) -> list[tuple[Any, ...]]:
    """Return the reviews of a table as plain values, NaN as None."""
    found = reviews.to_dict()
    rows = zip(found["reviewer"], found["item"], found["score"], strict=True)
    return [(who, paper, None if score != score else score) for who, paper, score in rows]


def _reviews(path: str, **options: Any) -> None:
    """Read reviews, and read what we would write of them: nothing may have changed on the way."""
    reviews = read_reviews(path, **options)
    found = reviews.to_dict()
    copy = Path(f"{path}.copy.csv")
    copy.write_bytes(csv_text({name: found[name] for name in ("reviewer", "item", "score")}).encode())
    again = read_reviews(copy, columns={"reviewer": "reviewer", "item": "item", "score": "score"}, format="table")
    if sorted(rows_of(again), key=repr) != sorted(rows_of(reviews), key=repr):
        message = "reviews change when they are written and read again"
        raise AssertionError(message)


def _large(path: str) -> None:
    """Read reviews as a file of many megabytes is read: the answer, or the message, is that of a small one."""
    told = []
    for least in (delimited.LARGE, 0):
        with patch.object(delimited, "LARGE", least):
            try:
                told.append((rows_of(read_reviews(path, duplicates="last")), None))
            except InputError as error:
                told.append(([], str(error)))
    if told[0] != told[1]:
        message = "reviews of a large file are others than those of a small one"
        raise AssertionError(message)


def _stream(path: str) -> None:
    """Read reviews by batches, and look at what connects them: as in memory, where these are the same columns."""
    with stream_reviews(path, batch=2) as stream:
        found = check(stream)
    again = len(connected_components(read_reviews(path, format="table")))
    if found.pieces != again:
        message = f"{found.pieces} pieces by batches, {again} in memory"
        raise AssertionError(message)


def _answer(path: str) -> None:
    """Let ``verify`` look at an answer of the command that the file is named after, true or not."""
    command = Path(path).stem.partition("-")[0]
    told = CliRunner().invoke(main, ["verify", path, *WORDS.get(command, WORDS["check"])])
    if told.exit_code == 2 and isinstance(told.exception, SystemExit):
        raise InputError(told.stderr.strip())
    if told.exit_code not in (0, 1, 4) or not isinstance(told.exception, SystemExit | None):
        raise told.exception or AssertionError(told.exit_code)


#: Answers of every command, the table that they are about, and what stands behind them for ``verify``.
ANSWERS = Path(__file__).parent / "answers"
WORDS = {command: [str(ANSWERS / "reviews.csv")] for command in ("check", "plan", "calibrate")}
WORDS["assign"] = ["--items", *WORDS["check"], "--reviewers", str(ANSWERS / "people.csv"), "--demand", "2"]


def _named(options: Mapping[str, Any]) -> str:
    """Return how a reader of reviews with options is called."""
    told = json.dumps(options, default=str, separators=(",", ":"))
    return "reviews" + (f", {told}" if options else "")


#: What reads a file, by its name; whatever it returns is an answer.
READERS: dict[str, Callable[[str], object]] = {
    **{_named(export.options): partial(_reviews, **export.options) for export in EVERY},
    "reviews, last of several": partial(_reviews, duplicates="last"),
    "reviews, lower is better": partial(_reviews, lower_is_better=True, duplicates="mean"),
    "reviews, large": _large,
    "items of reviews": lambda path: read_reviews(path, items=path),
    **{f"side, {name.removeprefix('read_')}": getattr(side, name) for name in vars(side) if name.startswith("read_")},
    "key of codes": read_key,
    "stream": _stream,
    "answer": _answer,
}


def parquet(columns: Mapping[str, Any], **options: Any) -> bytes:
    data = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), data, **options)
    return data.getvalue()


def _parquets() -> list[bytes]:
    who, paper, score = (
        [pair[0] for pair in SCORES],
        [int(pair[1]) for pair in SCORES],
        [float(s) for s in SCORES.values()],
    )
    base = {"reviewer": who, "paper": paper, "score": score}
    day = datetime.datetime(2026, 5, 1)
    return [
        parquet(base),
        parquet(base, compression="zstd", row_group_size=2, write_page_index=True),
        parquet(base, compression="gzip", use_dictionary=False, data_page_version="2.0"),
        parquet({**base, "score": [None, *score[1:]], "reviewer": pa.array(who).dictionary_encode()}),
        parquet({**base, "score": [decimal.Decimal(f"{one:.2f}") for one in score], "when": [day] * len(who)}),
        parquet(
            {**base, "reviewer": pa.array(who, pa.large_string()), "flag": [True] * len(who), "none": [None] * len(who)}
        ),
        parquet({**base, "reviewer": pa.array([one.encode() for one in who])}),
        parquet({name: values[:0] for name, values in base.items()}),
    ]


def _plain() -> list[Case]:
    """Tables with the columns of each side file, whole, with all that may stand in them."""
    third = {"affinity": "affinity", "probabilities": "probability", "cost": "cost", "weights": "weight", "bids": "bid"}
    second = {"capacity": "spare", "missing": "probability"}
    cases = [
        Case(f"side, {kind}", "pairs.csv", as_csv(["reviewer", "paper"], PAIRS))
        for kind in ("conflicts", "assigned", "gone")
    ]
    cases += [
        Case(
            f"side, {kind}",
            "pairs.csv",
            as_csv(["reviewer", "paper", name], [[*pair, n] for n, pair in enumerate(PAIRS)]),
        )
        for kind, name in third.items()
    ]
    people = sorted({who for who, _ in PAIRS})
    cases += [
        Case(f"side, {kind}", "people.csv", as_csv(["reviewer", name], [[who, 1] for who in people]))
        for kind, name in second.items()
    ]
    roster = as_csv(
        ["reviewer", "load", "min_load", "institution", "senior", "willing"],
        [[who, 3, 1, "X", "yes", "no"] for who in people],
    )
    cases += [Case(f"side, {kind}", "people.csv", roster) for kind in ("reviewers", "roster", "attributes", "willing")]
    papers = sorted({paper for _, paper in PAIRS})
    items = as_csv(["item", "demand", "title"], [[paper, 2, f"T, {paper}"] for paper in papers])
    cases += [Case(f"side, {kind}", "papers.csv", items) for kind in ("items", "item_attributes")]
    wrote = as_csv(["paper", "author", "country"], [[paper, "ann", "X"] for paper in papers])
    cases.append(Case("side, author_attributes", "authors.csv", wrote))
    cases.append(Case("side, round", "round1.json", b'{"rounds": {"number": 1}, "reviews": []}'))
    cases.append(
        Case("side, references", "papers.csv", as_csv(["item", "quality"], [[paper, 0.5] for paper in papers]))
    )
    dates = [[*pair, score, "2026-05-01 10:00"] for pair, score in zip(PAIRS, SCORES.values(), strict=True)]
    cases.append(Case("items of reviews", "reviews.csv", as_csv(["reviewer", "paper", "score", "submitted_at"], dates)))
    key = [["reviewer", "R1", "ann", ""], ["paper", "P1", "'=3", 'a "title",\nin two lines']]
    cases.append(Case("key of codes", "page.html.key.csv", as_csv(["kind", "code", "label", "title"], key)))
    for data in _parquets():
        cases += [
            Case(reader, "table.parquet", data)
            for reader in ("reviews", "side, reviewers", "side, conflicts", "stream")
        ]
    cases += [Case("answer", file.name, file.read_bytes()) for file in answers()]
    return cases


def answers() -> list[Path]:
    """Return the files of true answers."""
    return sorted(file for file in ANSWERS.iterdir() if file.stem.partition("-")[0] in WORDS)


def _exported() -> list[Case]:
    """Exports of all systems, by the reader that has their options."""
    several = as_csv(["reviewer", "paper", "score"], [[*pair, score] for pair in PAIRS for score in (1, 2)])
    texts = [export for export in EVERY if export.name.endswith(".csv") and not export.options]
    found = [Case(name, "several.csv", several) for name in READERS if name.startswith("reviews, l")]
    return [
        *(Case(_named(export.options), export.name, export.data) for export in EVERY),
        *found,
        *(Case("reviews, large", export.name, export.data) for export in texts),
    ]


def _sided() -> list[Case]:
    found = []
    for one in SIDES:
        reader, name, data = one.values
        found.append(Case(f"side, {name_of(reader)[5:]}", name, data))
    return found


#: Whole files of every format and system, each with a reader that answers it.
CASES = [*_exported(), *_sided(), *_plain()]


def read(reader: str, path: str) -> bool:
    """Return whether a reader answers; False where it refuses the file in one message.

    Raises
    ------
    Exception
        Whatever else it does: that is a finding.
    """
    try:
        READERS[reader](path)
    except InputError as error:
        told = str(error).replace(path, "")  # which may be of any length
        if not told or len(told) > LONGEST or "\n\n" in told:
            message = f"a message of {len(told)} characters"
            raise AssertionError(message) from error
        told.encode()  # it can be printed
        return False
    return True

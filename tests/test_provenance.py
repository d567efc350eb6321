"""Every page, JSON and report says which files were read, which rows count and which not, and the SHA-256 of each."""

import copy
import csv
import hashlib
import io
import json
import os
import random
import zipfile
from collections import Counter
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

from reviewgraph import read_reviews, stream_reviews
from reviewgraph._base import InputError
from reviewgraph.cli import main
from tests.reviewgraph.formats.exports import EVERY, as_csv, as_xlsx, as_zip
from tests.trials import NIGHTLY

pytestmark = pytest.mark.usefixtures("folder")

HEAD = ["reviewer", "paper", "score"]
DRAW = random.Random(5)
#: Reviews in one piece, one of them without a score.
ROWS = [[f"r{j}", f"p{i}", DRAW.randint(1, 9)] for i in range(12) for j in DRAW.sample(range(8), 3)]
ROWS[7][2] = ""
SCORED = len(ROWS) - 1
HOTCRP = Path(__file__).parent / "hotcrp" / "exports"
PLACES = sorted(HOTCRP.glob("*/stage*"))


ROWS_READ = ": 36 rows, 1 of them without a score"


class Given(NamedTuple):
    """A file on the command line, its digest, its sheets and left-out rows, and the sentence about them."""

    word: str
    sha256: str
    sheets: tuple[str, ...] = ()
    left_out: dict[str, int] | None = None
    words: str = ROWS_READ


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def workbook() -> bytes:
    """Two sheets that nobody sees, of three and of five rows, and notes."""
    sheets = {"Now": [HEAD, *ROWS], "Old": [HEAD, *ROWS[:3]], "Older": [HEAD, *ROWS[:5]], "Notes": [["a", "b"], [1, 2]]}
    book, data = openpyxl.load_workbook(io.BytesIO(as_xlsx(sheets))), io.BytesIO()
    book["Old"].sheet_state, book["Older"].sheet_state = "hidden", "veryHidden"
    book.save(data)
    return data.getvalue()


def given(kind: str) -> Given:
    """Write a file of a kind."""
    text = as_csv(HEAD, ROWS)
    if kind == "csv":
        Path("reviews.csv").write_bytes(text)
        return Given("reviews.csv", sha256(text))
    if kind == "workbook":
        Path("book.xlsx").write_bytes(data := workbook())
        left = {"in hidden sheets": 8, "in sheets without the columns looked for": 1}
        words = f", sheet Now{ROWS_READ} (left out: 8 in hidden sheets, 1 in sheets without the columns looked for)"
        return Given("book.xlsx", sha256(data), ("Now",), left, words)
    if kind == "archive":
        Path("all.zip").write_bytes(data := as_zip({"scores.csv": text}))
        return Given("all.zip#scores.csv", sha256(data))
    if kind == "folder":
        Path("box").mkdir()
        (Path("box") / "scores.csv").write_bytes(text)
        (Path("box") / "other.csv").write_bytes(b"a,b\n1,2\n")
        return Given("box#scores.csv", sha256(text))
    source, sink = os.pipe()
    os.write(sink, text)
    os.close(sink)
    return Given(f"/dev/fd/{source}", sha256(text))


def run(*words: str) -> Result:
    done = CliRunner().invoke(main, list(words), env={"COLUMNS": "10000"})
    assert done.exit_code in (0, 1), done.output
    return done


def files(*words: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(run(*words, "--json").stdout)["files"]
    return entries


@pytest.mark.parametrize("kind", ["csv", "workbook", "archive", "folder", "pipe"])
def test_json_page_and_report_say_what_was_read(kind: str) -> None:
    source = given(kind)
    (entry,) = files("check", source.word.partition("#")[0] if kind == "archive" else source.word, "--html", "r.html")
    assert Counter({left["why"]: left["rows"] for left in entry.pop("left_out")}) == (source.left_out or {})
    assert entry == {
        "file": source.word,
        "sheets": [*source.sheets],
        "rows": 36,
        "scored": SCORED,
        "sha256": source.sha256,
    }
    sentence = f"Read {source.word}{source.words}."
    assert f"<p>{sentence}</p>" in unescape(Path("r.html").read_text("utf-8"))
    assert kind == "pipe" or sentence in run("check", source.word, "--verbose=files").stdout.splitlines()


def test_side_files_are_said_in_the_order_in_which_they_are_read() -> None:
    source = given("csv")
    tables = {
        "papers.csv": as_csv(["item"], [[f"p{i}"] for i in range(12)]),
        "conflicts.csv": as_csv(["item", "reviewer"], [["p1", "r1"], ["p2", "r2"], ["p2", "r2"]]),
        "merge.csv": as_csv(["label", "as"], [["r9", "r8"]]),
    }
    for name, data in tables.items():
        Path(name).write_bytes(data)
    words = ["reviews.csv", "--items", "papers.csv", "--conflicts", "conflicts.csv", "--merge", "merge.csv"]
    said = "Read merge.csv: 1 row; reviews.csv: 36 rows, 1 of them without a score; papers.csv: 12 rows; "
    assert f"{said}conflicts.csv: 3 rows." in run("plan", *words, "--verbose=files").stdout.splitlines()
    digests = {"reviews.csv": source.sha256} | {name: sha256(data) for name, data in tables.items()}
    assert {file["file"]: file["sha256"] for file in files("plan", *words)} == digests


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place.parent.name}-{place.name}")
def test_rows_left_out_are_those_that_csv_counts(place: Path) -> None:
    """An independent count of the rows of HotCRP's files, by action and status."""
    listed = list(csv.DictReader((place / "labconf-pcassignments.csv").read_text("utf-8-sig").splitlines()))
    kinds = Counter(
        "of papers that whoever downloaded the file may not see"
        if row["action"] == "none"
        else "of meta reviews"
        if row["action"] == "metareview"
        else "reviews"
        if row["action"].endswith("review") and row["action"] != "clearreview"
        else "with no assignments"
        for row in listed
    )
    papers = list(csv.DictReader((place / "labconf-data.csv").read_text("utf-8-sig").splitlines()))
    gone = {row["ID"] for row in papers if row["Status"].casefold() in {"withdrawn", "draft", "desk-rejected"}}
    reviewed = [row for row in listed if row["action"].endswith("review") and row["action"] != "clearreview"]
    late = sum(row["paper"] in gone and row["action"] != "metareview" for row in reviewed)
    reviews = read_reviews(place / "labconf-pcassignments.csv", items=place / "labconf-data.csv")
    reviews_file, papers_file = reviews.origin.files
    counted = {left.why: left.rows for left in reviews_file.left_out}
    assert counted.pop("of papers that are withdrawn, rejected without review or not submitted", 0) == late
    assert reviews_file.rows == kinds.pop("reviews") - late == reviews.n_reviews
    assert counted == kinds
    assert papers_file.rows + sum(left.rows for left in papers_file.left_out) == len(papers)
    assert papers_file.sha256 == sha256((place / "labconf-data.csv").read_bytes())


def test_every_row_of_a_table_of_any_system_is_read_or_left_out() -> None:
    tables = [export for export in EVERY if export.name.endswith(".csv") and not export.earlier]
    assert len(tables) > 5
    for export in tables:
        Path(export.name).write_bytes(export.data)
        (file,) = read_reviews(export.name, **export.options).origin.files
        assert file.sha256 == sha256(export.data)
        assert file.rows == len(export.reviews), export.name
        assert file.scored == sum(score is not None for score in export.reviews.values()), export.name


def test_an_export_in_many_files_has_one_digest_and_counts_earlier_versions() -> None:
    (export,) = (each for each in EVERY if each.name == "data.zip")
    Path("data.zip").write_bytes(export.data)
    (file,) = read_reviews("data.zip", **export.options).origin.files
    assert file.sha256 == sha256(export.data)
    why = {left.why: left.rows for left in file.left_out}
    assert why["of earlier versions of reviews"] == len(export.earlier)
    assert why["of submissions that are deleted, withdrawn or rejected without review"] == 1
    with zipfile.ZipFile("data.zip") as archive:
        archive.extractall("data")
    (same,) = read_reviews("data", **export.options).origin.files
    assert (same.file, same.rows, same.left_out) == ("data", file.rows, file.left_out)
    read = ("committee.csv", "review.csv", "submission.csv")
    lines = [f"{sha256((Path('data') / name).read_bytes())}  {name}\n" for name in read]
    assert same.sha256 == sha256("".join(lines).encode())


def test_tables_larger_than_memory_are_said_file_by_file() -> None:
    for name, part in (("a.parquet", ROWS[:20]), ("b.parquet", ROWS[20:])):
        who, what, score = zip(*part, strict=True)
        columns = {"reviewer": who, "item": what, "score": [float(value) if value else None for value in score]}
        pyarrow.parquet.write_table(pa.table(columns), name)
    for words in (["check"], ["calibrate"], *([["calibrate", "--method", "lsc"]] if NIGHTLY else [])):
        said = [(file["file"], file["rows"], file["scored"], file["sha256"]) for file in files(*words, *STREAMED)]
        assert said == [
            ("a.parquet", 20, 19, sha256(Path("a.parquet").read_bytes())),
            ("b.parquet", 16, 16, sha256(Path("b.parquet").read_bytes())),
        ]
        page = run(*words, *STREAMED, "--verbose=files").stdout
        files_read = "Read a.parquet: 20 rows, 1 of them without a score; b.parquet: 16 rows."
        assert files_read in page.splitlines()


STREAMED = ("a.parquet", "b.parquet", "--stream")


def test_a_file_that_changes_while_it_is_streamed_is_refused() -> None:
    pyarrow.parquet.write_table(pa.table({"reviewer": ["a", "b"], "item": ["p", "p"]}), "a.parquet")

    def grow(progress: object) -> None:
        with Path("a.parquet").open("ab") as file:
            file.write(b"\0")

    with (
        pytest.raises(InputError, match=r"a\.parquet: expected a file that stays unchanged, found it changed"),
        stream_reviews("a.parquet", progress=grow),
    ):
        pass


# verify


def verified(answer: Any, *words: str) -> tuple[int, dict[str, Any]]:
    Path("answer.json").write_text(json.dumps(answer), "utf-8")
    done = CliRunner().invoke(main, ["verify", "answer.json", *words, "--json"])
    return done.exit_code, json.loads(done.stdout)


@pytest.fixture
def plan() -> Any:
    given("csv")
    Path("conflicts.csv").write_bytes(as_csv(["item", "reviewer"], [["p1", "r1"], ["p2", "r2"]]))
    return json.loads(run("plan", *ASKED, "--json").stdout)


ASKED = ("reviews.csv", "--conflicts", "conflicts.csv")


def test_an_answer_about_other_bytes_is_not_refuted_at_best(plan: Any) -> None:
    assert verified(plan, *ASKED)[0] == 0
    data = Path("reviews.csv").read_bytes()
    Path("reviews.csv").write_bytes(data.replace(b"\n", b"\r\n"))
    status, verification = verified(plan, *ASKED)
    assert (status, verification["outcome"]) == (4, "not_refuted")
    assert verification["undecided"] == [
        "reviews.csv: the answer was made from a file of other bytes "
        f"(SHA-256 {sha256(data)[:12]}..., here {verification['files'][0]['sha256'][:12]}...)"
    ]
    Path("reviews.csv").write_bytes(data)
    Path("again.csv").write_bytes(data)
    status, verification = verified(plan, "again.csv", *ASKED[1:])
    assert status == 0
    assert "again.csv: called reviews.csv where the answer was made" in verification["trusted"]
    status, verification = verified(plan, "reviews.csv")
    assert status == 4
    assert "conflicts.csv: read for the answer, but not passed to verify" in verification["undecided"]
    Path("other.csv").write_bytes(as_csv(HEAD, [["r9", "p0", ""]]))
    _, verification = verified(plan, "reviews.csv", "other.csv", *ASKED[1:])
    assert "other.csv: not among the files that the answer was made from" in verification["undecided"]


def test_no_change_of_what_was_read_holds_unsaid(plan: Any) -> None:
    changes = list(changed(plan))
    assert len(changes) > 20
    for words, answer in changes:
        Path("answer.json").write_text(json.dumps(answer), "utf-8")
        done = CliRunner().invoke(main, ["verify", "answer.json", *ASKED])
        # Another name of the same bytes is said; all else is no plain yes.
        assert done.exit_code != 0 or (words == "file" and "called x where the answer was made" in done.stdout), words


def changed(answer: Any) -> Iterator[tuple[str, Any]]:
    """Return the answer with one value of ``files`` changed, one object dropped, and one more."""
    for place, file in enumerate(answer["files"]):
        others = {"file": "x", "sheets": ["x"], "rows": file["rows"] + 1, "scored": 3, "sha256": "0" * 64}
        others["left_out"] = [{"rows": 1, "why": "x"}]
        for key, value in others.items():
            altered = copy.deepcopy(answer)
            altered["files"][place][key] = value
            yield key, altered
        for key in others:
            altered = copy.deepcopy(answer)
            del altered["files"][place][key]
            yield f"no {key}", altered
        altered = copy.deepcopy(answer)
        del altered["files"][place]
        yield "dropped", altered
    more = copy.deepcopy(answer)
    more["files"].append({**more["files"][0], "file": "more.csv", "sha256": "1" * 64})
    yield "more", more

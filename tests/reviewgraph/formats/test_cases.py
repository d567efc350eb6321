"""Files as people have them, where they lie beside the checkout: what each is read as, noted or asked.

``cases.json`` has a line for each file and its options, with reviewers, papers, reviews and pieces, and what is noted;
or what is asked. ``python -m tests.reviewgraph.formats.test_cases`` writes it anew, so that the differences are seen.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reviewgraph import InputError, read_reviews
from reviewgraph.graph import connected_components

SHARED = Path(__file__).parents[4] / "shared"
CASES = SHARED / "cases"
SNAPSHOT = Path(__file__).parent / "cases.json"
SAVED: list[dict[str, Any]] = json.loads(SNAPSHOT.read_text("utf-8"))


def path_of(name):
    if not (SHARED / name).exists():
        pytest.skip("the cases are not beside this checkout")
    return SHARED / name


def read(saved):
    """Return the line of a case as it is now; a case of several files has their names with blanks between them."""
    notes: list[str] = []
    now: dict[str, Any] = {key: saved[key] for key in ("files", "options") if key in saved}
    try:
        paths = [path_of(f"cases/{name}") for name in saved["files"].split()]
        reviews = read_reviews(*paths, note=notes.append, **saved.get("options", {}))
        sizes = (reviews.n_reviewers, reviews.n_items, reviews.n_reviews, len(connected_components(reviews)))
        now |= {"sizes": list(sizes), "notes": notes}
    except InputError as error:
        now["asked"] = str(error)
    return json.loads(json.dumps(now).replace(f"{CASES}/", ""))


@pytest.mark.parametrize("saved", SAVED, ids=lambda saved: saved["files"].partition(" ")[0])
def test_what_is_read_or_asked(saved):
    assert read(saved) == saved


#: What is true of HotCRP's files, and no finding of the audit; and why a file holds no reviews.
TRUE = (
    r"read as HotCRP's|reviews not submitted, read as planned|meta reviews left out|1 paper \(37\) left out"
    r"|'(Nov|Novelty)' is a further score|say how sure they are|7 papers are withdrawn or not submitted"
    r"|but no reviews of them yet|this is HotCRP's|the file is empty"
)
TABLES = [path for path in sorted(SHARED.glob("data/*/scores.csv")) if path.exists()]
EXPORTS = [path for path in sorted(SHARED.glob("hotcrp/exports/*/*/*.*")) if path.is_file()]


@pytest.mark.parametrize("name", [str(path.relative_to(SHARED)) for path in TABLES] or ["data"])
def test_nothing_is_found_in_tables_without_mistakes(name):
    notes: list[str] = []
    for options in ({}, {"lower_is_better": True}):
        read_reviews(path_of(name), note=notes.append, **options)
    assert not notes


@pytest.mark.parametrize("name", [str(path.relative_to(SHARED)) for path in EXPORTS] or ["hotcrp/exports"])
def test_what_is_found_in_files_of_hotcrp_is_true(name):
    found: list[str] = []
    try:
        read_reviews(path_of(name), note=found.append)
    except InputError as refused:
        found.append(str(refused))
    assert [words for words in found if not re.search(TRUE, words)] == []


if __name__ == "__main__":
    lines = (json.dumps(read(saved), ensure_ascii=False) for saved in SAVED)
    SNAPSHOT.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")

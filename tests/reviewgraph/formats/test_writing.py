"""What is written comes back unchanged, and no cell is a formula."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph.formats import delimited
from reviewgraph.formats.side import read_conflicts
from reviewgraph.formats.writing import csv_text, guarded, unguarded

NASTY = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "'=x", "''@x", "-", "=", "it's", "'x", "-1.5", "+2", "-1e9", "1-2", ""]

texts = st.text(st.sampled_from("'=+-@\t\r1.eEx ,\"\n"), max_size=6)


@given(texts)
def test_cells_come_back_unchanged_and_begin_like_no_formula(text: str) -> None:
    written = guarded(text)
    assert unguarded(written) == text
    if written[:1] in tuple("=+-@\t\r"):
        float(written)


@pytest.mark.parametrize("text", ["-1.5", "+2", "-1e9", "7", "-.5", "-0"])
def test_numbers_stay_numbers(text: str) -> None:
    assert guarded(text) == text


def test_written_tables_hold_no_formula_but_numbers() -> None:
    rows = csv.reader(io.StringIO(csv_text({"a": NASTY, "b": [-1.5] * len(NASTY)}), newline=""))
    for first, second in list(rows)[1:]:
        assert second == "-1.5"
        assert first[:1] not in tuple("=+-@\t\r") or float(first) is not None


@pytest.mark.parametrize("large", [False, True])
def test_readers_give_back_labels_as_they_were(tmp_path: Path, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(delimited, "LARGE", 0)
    labels = [label for label in NASTY if label.strip() == label and label]
    path = tmp_path / "pairs.csv"
    path.write_text(csv_text({"item": [f"p{n}" for n, _ in enumerate(labels)], "reviewer": labels}), "utf-8")
    found = read_conflicts(path)
    assert [found.reviewers[code] for code in found.reviewer.tolist()] == labels

"""Lines that end where the terminal does: nothing is lost, nothing runs over, names stay whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph._base import text_table
from reviewgraph._base.text import HIDDEN, columns, folded

WORDS = st.lists(st.text("abcxyz%(0123456789", min_size=1, max_size=9), min_size=1, max_size=40).map(" ".join)


@given(st.sampled_from(["", "  ", "     +0.40  ", "    80 %  ", "      5.67  "]), WORDS, st.integers(40, 100))
def test_words_stay_and_lines_fit(lead: str, words: str, width: int) -> None:
    lines = folded(lead + words, width)
    assert " ".join(" ".join(lines).split()) == " ".join((lead + words).split())
    assert lines[0].startswith(lead)
    # Words that a percent sign or a bracket keeps together may be wider than the line; single ones are not.
    if "%" not in words and "(" not in words:
        assert all(len(line) <= width for line in lines)


def test_a_number_and_its_sign_and_a_name_and_its_chance_are_not_parted() -> None:
    lines = folded("  " + ", ".join(f"P{n} ({n} %)" for n in range(10, 40)), 40)
    assert len(lines) > 2
    assert all(line.split()[0].startswith("P") for line in lines)


@pytest.mark.parametrize("width", [40, 80, 200])
@given(rows=st.lists(st.tuples(st.text(max_size=60), st.text("论文e\u0301a\x1b", max_size=60)), min_size=1, max_size=4))
def test_tables_fit_and_give_way_in_their_text_only(width: int, rows: list[tuple[str, str]]) -> None:
    told = [["10", f"{place}{paper}", f"{place}{title}"] for place, (paper, title) in enumerate(rows)]
    lines = text_table(["rank", "paper", "title"], told, text=[1, 2], width=width)
    assert len(lines) == 1 + len(rows)
    assert all(columns(line) <= width for line in lines)
    assert all(line.startswith("  10") for line in lines[1:])
    assert not any(HIDDEN.search(line) for line in lines)


@given(st.lists(st.text("ab 論", max_size=40).map(str.strip), min_size=1, max_size=8, unique=True))
def test_cells_that_differ_look_different(cells: list[str]) -> None:
    _, *lines = text_table(["paper", "n"], [[cell, "7"] for cell in cells], text=[0], width=12)
    assert len({line.removesuffix("7").rstrip() for line in lines}) == len(cells)

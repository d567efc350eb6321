from __future__ import annotations

import numpy as np
import pytest

from reviewgraph._base import InputError
from reviewgraph.formats.side import read_bids
from reviewgraph.formats.values import BIDS, parse_bid


@pytest.mark.parametrize("system", BIDS)
def test_words_of_a_system_run_from_one_to_minus_one_in_any_case(system):
    words = BIDS[system]
    assert (max(words.values()), min(words.values())) == (1.0, -1.0)
    for word, value in words.items():
        for spelt in (word.upper(), word.title(), f" {word} ", word.replace(" ", "_"), word.replace(" ", "-")):
            assert parse_bid(spelt) == (value, False)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("0", 0.0),
        ("20", 1.0),
        ("+5", 0.25),
        ("-7", -0.35),
        ("-40", -1.0),
        ("10x", 0.5),
        ("3 - Eager", 1.0),
        ("2 yes", 1.0),
    ],
)
def test_preferences_of_hotcrp_and_numbered_words(cell, value):
    assert parse_bid(cell) == (pytest.approx(value), False)


def test_a_file_of_bids(tmp_path):
    path = tmp_path / "bids.csv"
    path.write_text("paper,reviewer,bid\np1,ann,yes\np2,ann,\np1,bob,-100\np2,bob,low\n")
    bids = read_bids(path)
    named = {
        (bids.table.reviewers[j], bids.table.items[i]): value
        for j, i, value in zip(bids.table.reviewer, bids.table.item, bids.table.score, strict=True)
        if not np.isnan(value)
    }
    assert named == {("ann", "p1"): 1.0, ("bob", "p2"): -0.5}
    barred = bids.conflicts
    assert [(barred.reviewers[j], barred.items[i]) for j, i in zip(barred.reviewer, barred.item, strict=True)] == [
        ("bob", "p1")
    ]


def test_an_unknown_word_is_named_with_its_line_and_the_words_known(tmp_path):
    path = tmp_path / "bids.csv"
    path.write_text("item,reviewer,bid\np1,ann,yes\np2,ann,perhaps\n")
    with pytest.raises(InputError, match=r"bids.csv:3: bid: expected one of very high, .*, eager, .*found 'perhaps'"):
        read_bids(path)

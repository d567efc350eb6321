import re
import warnings
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from reviewgraph._base import InputError
from reviewgraph._base.errors import LabelWarning
from reviewgraph.formats import Spellings
from reviewgraph.formats.columns import UNKNOWN, Origin
from reviewgraph.io import match_labels, match_pairs, pairs_of

REVIEWERS, ITEMS = ["ann", "bob@x.org"], ["7", "P8"]


def matched(pairs, **options):
    return match_pairs(pairs_of(pairs, "x"), REVIEWERS, ITEMS, "x", **options)


def test_what_matches_is_not_talked_of():
    reviewer, item = matched([("bob@x.org", "7"), ("ann", "P8")])
    assert (reviewer.tolist(), item.tolist()) == ([1, 0], [0, 1])
    reviewer, _ = matched([])
    assert reviewer.size == 0


def test_a_part_is_counted_with_examples():
    pairs = [("ann", "7"), ("zoe", "7"), ("yan", "7"), ("xi", "P8"), ("will", "7"), ("ann", "P9")]
    with pytest.warns(LabelWarning) as said:
        reviewer, item = matched(pairs)
    assert str(said[0].message) == (
        "x: 5 of 6 pairs name a reviewer or paper that is not in the reviews; left out "
        "(reviewers 'will', 'xi', 'yan'; paper 'P9')"
    )
    assert np.flatnonzero((reviewer >= 0) & (item >= 0)).tolist() == [0]
    with pytest.raises(InputError, match=r"5 of 6 pairs name a reviewer or paper .*; correct the names"):
        matched(pairs, unknown="refused")


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (("Ann", "7"), "1 of 1 match if letter case and blanks are ignored: write 'Ann' as 'ann'"),
        (("ann", "007"), "1 of 1 match if leading zeros, a final .0 and signs are ignored: write '007' as '7'"),
        (("ann", "7.0"), "write '7.0' as '7'"),
        (("ann@y.org", "7"), "1 of 1 match if what follows @ is left out: write 'ann@y.org' as 'ann'"),
        (("7", "ann"), "1 of 1 match if reviewers and papers are exchanged: exchange the names of the two columns"),
        (("zoe", "P9"), "correct the names"),
        (("ann", 7), "1 of 1 match as text only, .*: write 7 as '7'"),
    ],
)
def test_what_does_not_match_is_explained(pair, words):
    with pytest.raises(InputError, match=words):
        matched([pair])


def test_types_of_labels_are_refused_even_in_part():
    with pytest.raises(InputError, match="1 of 1 match as text only"):
        matched([("ann", "7"), ("ann", 7)])


def test_the_explanation_of_most_rows_is_told():
    with pytest.warns(LabelWarning, match="2 of 3 match if letter case and blanks are ignored"):
        matched([("ann", "7"), ("Ann", "7"), (" ANN", "P8"), ("ann@y.org", "7")])


@pytest.mark.parametrize(
    ("here", "there"), [("07", "7"), ("7.0", "7"), ("P-8", "P_8"), ("P 8", "P-08"), ("P8", "8"), ("8", "Paper 08")]
)
@pytest.mark.parametrize("unknown", ["left out", "refused", "asked", "expected", "new"])
def test_one_label_in_two_forms_is_refused_however_few_rows_have_it(here, there, unknown):
    with pytest.raises(InputError, match=f"1 of 1 match if .*: write '{here}' as '{there}'"):
        match_labels(["q", here], ["q", there], "x", "paper", unknown=unknown)
    kept = Spellings("none")
    with pytest.warns(LabelWarning) if unknown in ("left out", "asked") else nullcontext():
        pairs = pairs_of([("ann", "q"), ("ann", here)], "x")
        if unknown != "refused":
            match_pairs(pairs, ["ann"], ["q", there], "x", unknown=unknown, spellings=kept)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (("zoe", "7"), "(reviewer 'zoe'); correct the labels; if these are nobody here, add --merge none"),
        (("ann", "Nine"), "(paper 'Nine'); correct the labels"),
    ],
)
def test_conflicts_that_nothing_explains_are_asked_about(pair, words):
    people, pairs = ["ann", "Mary, Ann"], [("ann", "7"), pair]

    def match(origin=UNKNOWN, spellings=None, pairs=pairs):
        table = replace(pairs_of(pairs, "x"), origin=origin)
        return match_pairs(table, people, ["7"], "x", unknown="asked", spellings=spellings)

    with pytest.raises(InputError, match=re.escape(words)):
        match()
    kept = {label: label for label in pair}
    for accepted in ({"origin": Origin(known=pair)}, *({"spellings": Spellings(merge)} for merge in ("none", kept))):
        with pytest.warns(LabelWarning, match="x: 1 of 2 pairs .*; left out"):
            assert match(**accepted)[0].tolist()[0] == 0
    # A file of which nothing matches is another's.
    with pytest.raises(InputError, match="x: the pair names"):
        match(Origin(known=pair), pairs=pairs[1:])
    with pytest.warns(LabelWarning, match="x: the pair names"):
        match(spellings=Spellings("none"), pairs=pairs[1:])
    with pytest.raises(InputError, match="x: the pair names"):
        match_pairs(pairs_of([pair], "x"), people, ["7"], "x", spellings=Spellings("none"))


def test_further_ones_of_a_series_are_counted_unless_they_are_most():
    pairs = pairs_of([("r1", "p1"), ("r2", "p7"), ("r9", "p1")], "x")
    with pytest.raises(InputError, match="x: 2 of 3 pairs name a reviewer or paper"):
        match_pairs(pairs, ["r1", "r2"], ["p1"], "x", unknown="asked")
    with pytest.warns(LabelWarning, match=r"x: 1 of 3 pairs .*; left out \(reviewer 'r9'\)"):
        match_pairs(pairs, ["r1", "r2"], ["p1", "p7"], "x", unknown="asked")
    with pytest.raises(InputError, match=r"1 of 3 pairs .* \(reviewer 'r9'\)"):
        match_pairs(pairs, ["r1", "r2", "r09"], ["p1", "p7"], "x", unknown="asked")


@pytest.mark.parametrize("label", ["p12", "P12", "\u00a0p12", "p1\uff12", "p\u00ad12"])
def test_a_further_one_of_a_series_may_be_spelled_otherwise_than_its_siblings(label):
    pairs = pairs_of([("r1", "p1"), ("r1", "p2"), ("r1", label)], "x")
    with pytest.warns(LabelWarning, match="x: 1 of 3 pairs .*; left out"):
        match_pairs(pairs, ["r1"], ["p1", "p2"], "x", unknown="asked")
    # A known paper in another spelling is none of these: its conflict would be lost.
    if label != "p12":
        with pytest.raises(InputError, match=r"if letter case and blanks are ignored: write .* as 'p12'"):
            match_pairs(pairs, ["r1"], ["p1", "p2", "p12"], "x", unknown="asked")


def test_what_a_system_explains_is_asked_about_all_the_same_if_it_is_like_a_known_label():
    table = replace(pairs_of([("ann", "7"), ("ann", "007")], "x"), origin=Origin(known=("ann", "7", "007")))
    with pytest.raises(InputError, match="write '007' as '7'"):
        match_pairs(table, ["ann"], ["7"], "x", unknown="asked")


def test_labels_of_the_other_role():
    with pytest.raises(InputError, match="2 of 2 match as papers: expected reviewers here"):
        match_labels(["7", "P8"], REVIEWERS, "x", "reviewer", other=ITEMS)


def test_new_labels_are_welcome_unless_they_are_old_ones_written_otherwise():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert match_labels(["zoe", "ann"], REVIEWERS, "x", "reviewer", unknown="new").tolist() == [-1, 0]
        assert match_labels(["zoe"], REVIEWERS, "x", "reviewer", unknown="new").tolist() == [-1]
    with pytest.warns(LabelWarning, match="1 of 2 reviewers is not in the reviews"):
        match_labels(["Ann", "ann"], REVIEWERS, "x", "reviewer", unknown="new")
    with pytest.raises(InputError, match="write 'Ann' as 'ann'"):
        match_labels(["Ann"], REVIEWERS, "x", "reviewer", unknown="new")


def test_the_order_of_rows_does_not_matter():
    pairs = [("Ann", "7"), ("zoe", "7"), ("BOB@x.org", "P8"), ("ann", "7")]
    words = set()
    for given in (pairs, pairs[::-1]):
        with pytest.warns(LabelWarning) as said:
            matched(given)
        words.add(str(said[0].message))
    assert len(words) == 1


def test_others_may_be_expected_but_not_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        match_labels(["zoe", "ann"], REVIEWERS, "x", "author", unknown="expected")
    with pytest.raises(InputError, match="the author is not in the reviews"):
        match_labels(["zoe"], REVIEWERS, "x", "author", unknown="expected")

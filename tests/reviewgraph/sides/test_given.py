import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import planner
from planner import assign
from reviewgraph import InputError, Reviews, check
from reviewgraph.formats import REVIEWER, Role
from reviewgraph.graph import ColumnWarning, LabelWarning
from reviewgraph.io import by_label, labels_of, numbered_pairs, pairs_of
from tests.planner.plans.plan_cases import verify_plan
from tests.reviewgraph.reading_cases import labelled

COST = Role("cost", ("price",), ranked=False)
PAIRS = [("a", 7), ("b", 8)]


@pytest.mark.parametrize(
    "given",
    [
        PAIRS,
        iter(PAIRS),
        [list(pair) for pair in PAIRS],
        {"a": [7], "b": (8,)},
        dict.fromkeys(PAIRS, 1),
        pd.DataFrame({"paper": [7, 8], "email": ["a", "b"]}),
        pl.DataFrame({"reviewer": ["a", "b"], "item": [7, 8]}),
        pl.DataFrame({"reviewer": ["a", "b"], "item": [7, 8]}).to_arrow(),
        pd.Series([1, 1], index=pd.MultiIndex.from_tuples(PAIRS)),
        pd.Series([1, 1], index=pd.MultiIndex.from_tuples([(7, "a"), (8, "b")], names=["paper", "reviewer"])),
        Reviews(PAIRS),
        np.array(PAIRS, dtype=object),
    ],
)
def test_pairs_come_in_any_form(given):
    assert sorted(labelled(pairs_of(given, "conflicts"))) == PAIRS


@pytest.mark.parametrize(
    "given",
    [
        {("a", 7): 2, ("b", 8): None},
        [("a", 7, 2), ("b", 8, float("nan"))],
        pd.DataFrame({"paper": [7, 8], "email": ["a", "b"], "price": [2, None]}),
        pl.DataFrame({"paper": [7, 8], "email": ["a", "b"], "price": [2, None]}),
        pd.Series([2, None], index=pd.MultiIndex.from_tuples(PAIRS)),
    ],
)
def test_pairs_with_a_number_come_in_any_form(given):
    table = numbered_pairs(given, "cost", COST)
    assert labelled(table) == PAIRS
    np.testing.assert_array_equal(table.score, [2, np.nan])


@pytest.mark.parametrize(
    "given",
    [
        {"a": 2, "b": 0},
        [("a", 2), ("b", 0)],
        pd.Series({"a": 2, "b": 0}),
        pd.DataFrame({"email": ["a", "b"], "price": [2, 0]}),
        pl.DataFrame({"email": ["a", "b"], "price": [2, 0]}),
    ],
)
def test_values_by_label_come_in_any_form(given):
    assert by_label(given, "capacity", REVIEWER, COST) == {"a": 2, "b": 0}


@pytest.mark.parametrize(
    "given",
    [
        ["a", "b"],
        {"a": True, "b": True, "c": False},
        pd.Series(["a", "b"]),
        pl.Series(["a", "b"]),
        pd.Series([True, True, False], index=["a", "b", "c"]),
        pd.DataFrame({"reviewer": ["a", "b"]}),
        pl.DataFrame({"reviewer": ["a", "b", "c"], "cost": [True, True, False]}),
    ],
)
def test_labels_come_in_any_form(given):
    assert labels_of(given, "senior", REVIEWER, COST) == ["a", "b"]


@pytest.mark.parametrize(
    ("read", "given", "message"),
    [
        (pairs_of, ["ab"], r"x: expected \(reviewer, item\) pairs, .* found 'ab'"),
        (pairs_of, "ab", "x: expected .* found 'ab'"),
        (pairs_of, 7, "x: expected .* found 7"),
        (pairs_of, pl.Series([1]), "x: expected .* found 1"),
        (pairs_of, pd.DataFrame({"paper": [1]}), "x: no reviewer column"),
        (pairs_of, pl.DataFrame({"paper": [1, 2], "reviewer": ["a", None]}), "x: expected one reviewer .* in row 1"),
    ],
)
def test_what_is_no_pairs_is_refused(read, given, message):
    with pytest.raises(InputError, match=message):
        read(given, "x")


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), (True, False), (1, 0), ("COI", None), (1.0, 0.0)])
def test_conflicts_in_a_frame_may_have_a_column_of_yes_and_no(library, yes, no):
    frame = library({"paper": [7, 7, 8], "email": ["a", "b", "b"], "conflict": [yes, no, yes]})
    with pytest.warns(ColumnWarning, match="conflicts: 1 row is no conflict by the column conflict, left out"):
        assert sorted(labelled(pairs_of(frame, "conflicts"))) == PAIRS
    for cells, found in (([yes, "maybe", None], "'maybe'"), ([None] * 3, "empty cells and no yes")):
        odd = pd.DataFrame({"paper": [7, 7, 8], "email": ["a", "b", "b"], "conflict": cells})
        with pytest.raises(InputError, match=f"expected yes or no in the column conflict, found {found}; drop the"):
            pairs_of(odd, "conflicts")


@pytest.mark.parametrize("conflicts", [[("a; b", "7"), ("TBD", "8")], {"a; b": ["7"], "n.n.": ["8"]}])
def test_several_people_and_nobody_are_told_of_pairs_as_of_files(conflicts):
    table = Reviews([("a", "7"), ("b", "7"), ("a", "8")])
    with pytest.warns(LabelWarning) as said:
        found = check(table, conflicts=conflicts).violations.conflicts
    assert found == (("a", "7"), ("b", "7"))
    assert [str(one.message).partition(" (")[0] for one in said] == [
        "conflicts: 1 cell with several reviewers split, as 'a; b'",
        "conflicts: 1 row left out, whose reviewer is a placeholder",
    ]
    for rule in ({"willing": ["a; b"]}, {"capacity": {"a; b": 2}}):
        with pytest.raises(InputError, match=r"(willing|capacity): expected one reviewer in each entry, found 'a; b'"):
            planner.plan(table, **rule)


TABLE = Reviews([(who, i) for who in "ab" for i in (1, 2, 3)] + [("c", 1), ("c", 2)])


def test_conflicts_and_loads_of_people_who_are_gone_are_no_strangers() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = check(TABLE, gone=["c"], conflicts=[("c", 1)], load={"c": 1})
        plan = planner.plan(TABLE, gone=["c"], conflicts=[("c", 3)], cost={("c", 3): 2.0}, senior=["c", "a"])
    assert found.violations is not None
    assert found.violations.to_dict() == {"conflicts": [], "over_load": [], "short": None}
    verify_plan(plan)
    assert "c" not in {review.reviewer for review in plan.added}


def test_single_reviews_that_are_gone_leave_their_reviewer_unasked() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = planner.plan(TABLE, gone=[("c", 1), ("c", 2)], conflicts=[("c", 3)], min_reviews=3, spare=3)
    assert "c" not in {review.reviewer for review in plan.added}


def test_others_are_strangers_still() -> None:
    with pytest.raises(InputError, match="conflicts: the pair names a reviewer or paper that is not in the reviews"):
        check(TABLE, gone=["c"], conflicts=[("z", 1)])


CHAIN = Reviews([(1, 1, 2.0), (1, 2, 3.0), (2, 2, 2.0), (2, 3, 5.0), (3, 3, 1.0), (3, 4, 4.0)])
BARRED = [(1, 4), (2, 4), (1, 3)]


def planned(**options):
    return sorted((review.reviewer, review.item) for review in planner.plan(CHAIN, **options).added)


@pytest.mark.parametrize(
    "barred", [BARRED, pd.DataFrame(BARRED, columns=["reviewer", "paper"]).astype(float), np.array(BARRED)]
)
def test_conflicts_hold_whatever_they_come_as(barred):
    assert planned(conflicts=barred) == planned(conflicts=BARRED)
    assert not set(planned(conflicts=barred)) & set(BARRED)
    affinity = {(j, i): 1.0 for j in (1, 2, 3, 4) for i in (1, 2, 3, 4)}
    chosen = assign(affinity, demand=2, load=3, conflicts=barred, target="none").reviews
    pairs = {(chosen.reviewers[j], chosen.items[i]) for j, i in zip(chosen.reviewer, chosen.item, strict=True)}
    assert not pairs & set(BARRED)


@pytest.mark.parametrize(
    "options",
    [
        {"conflicts": [(str(j), str(i)) for j, i in BARRED]},
        {"conflicts": [*BARRED, ("1", 4)]},
        {"capacity": {"1": 3}},
        {"cost": {("1", 4): 2.0}},
        {"affinity": pd.DataFrame({"reviewer": ["1"], "item": ["4"], "affinity": [1.0]})},
        {"fixed": [("1", "4")]},
        {"senior": ["1"]},
        {"institutions": {"1": "X"}},
        {"willing": ["1"]},
    ],
)
def test_numbers_are_not_the_text_of_their_digits(options):
    with pytest.raises(InputError, match="'1' and 1 differ in type alone"):
        planner.plan(CHAIN, **options)

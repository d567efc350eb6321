"""The same side tables in other types: the answers are the same, or it is said what does not match."""

import numpy as np
import pandas as pd
import pytest

import planner
from planner import assign
from reviewgraph import InputError, Reviews

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

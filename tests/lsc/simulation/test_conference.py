"""A conference that is made up: bids, conflicts, and scores for the assignment that comes of them."""

from pathlib import Path

import numpy as np
import pytest

from lsc.simulation import BIDS, draw_conference
from reviewgraph import InputError, read_reviews
from tests.pages import run_line

pytestmark = pytest.mark.usefixtures("folder")


def test_conflicts_are_those_of_one_institution_a_paper() -> None:
    found = draw_conference(50, 31, 7)
    assert np.bincount(found.institution).tolist() == [3] * 10 + [1]
    for barred in found.conflict:
        (home,) = set(found.institution[barred].tolist())
        assert (barred == (found.institution == home)).all()
    shares = np.bincount(found.bid.ravel(), minlength=len(BIDS)) / found.bid.size
    assert shares == pytest.approx([0.3, 0.3, 0.2, 0.13, 0.07], abs=0.01)


def test_a_seed_makes_one_conference() -> None:
    first, again, other = (draw_conference(9, 6, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(one, two) for one, two in zip(first, again, strict=True))
    assert not np.array_equal(first.bid, other.bid)
    with pytest.raises(InputError, match="expected papers and reviewers, found 0 and 6"):
        draw_conference(0, 6, 1)


def test_scores_are_made_up_for_an_assignment_without_those_who_are_gone() -> None:
    Path("assigned.csv").write_text("item,reviewer\nq1,ann\nq2,ann\nq1,bob\nq2,cyd\n", "utf-8")
    Path("extra.csv").write_text("item,reviewer\nq2,bob\n", "utf-8")
    Path("gone.csv").write_text("reviewer\ncyd\n", "utf-8")
    told = run_line("simulate realistic --assignment assigned.csv --assignment extra.csv --gone gone.csv -o scored")
    assert told.exit_code == 0, told.output
    reviews = read_reviews("scored/reviews.csv")
    assert reviews.scored.all()
    pairs = list(zip(reviews.to_dict()["reviewer"], reviews.to_dict()["item"], strict=True))
    assert sorted(pairs) == [("ann", "q1"), ("ann", "q2"), ("bob", "q1"), ("bob", "q2")]
    assert Path("scored/truth.csv").read_text("utf-8").splitlines()[0] == "item,truth"

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import Reviews, check
from reviewgraph.report.check import document
from tests.strategies import Rows, fano, tables, to_reviews

ORDER = [None, "connected", "recoverable", "double"]


@pytest.mark.slow
@given(tables())
def test_levels_imply_those_below_and_the_page_is_written(table: tuple[Rows, int]) -> None:
    report = check(to_reviews(*table))
    assert [level for level in ORDER[1:] if report.reaches(level)] == ORDER[1 : 1 + ORDER.index(report.level)]
    assert report.page().strip()
    found = report.to_dict()
    assert found["recovery_resilient"] == (found["doubly_connected"]["largest_cover"] == found["items"])


def test_verdicts_in_a_chairs_words() -> None:
    double = Reviews.from_pairs([(j, i) for j in range(2) for i in range(3)])
    assert check(double).page().startswith("All 3 papers are comparable for certain")
    assert check(fano()).page().startswith("All 7 papers are comparable unless qualities line up by coincidence")
    connected = Reviews.from_pairs([("a", 1), ("a", 2), ("b", 2), ("b", 3)])
    assert "only if reviewers differ just in severity" in check(connected).page()
    assert "1 link missing" in check(connected).page()
    apart = Reviews.from_pairs([("a", 1), ("a", 2), ("b", 3), ("b", 4)], items=[5])
    assert "cannot all be compared: they fall into 3 pieces" in check(apart).page()
    assert "1 paper nobody reviews" in check(apart).page()


def test_two_states_while_scores_are_missing() -> None:
    rows = [("a", 1, 1.0), ("a", 2, 2.0), ("b", 1, 3.0), ("b", 2, None)]
    report = check(Reviews.from_pairs(rows))
    assert report.recovery_resilient
    assert report.as_of_now is not None
    assert not report.as_of_now.recovery_resilient or report.as_of_now.reviews.n_reviews == 3
    page = report.page()
    assert page.startswith(
        "3 of 4 reviews are in; every paper has one or more.\nIf all 4 reviews arrive: All 2 papers are comparable for"
    )
    assert "\nAs of now, with 3 scores:" in page
    assert report.to_dict()["as_of_now"]["reviews"] == 3


@pytest.mark.slow
@given(tables(), st.sets(st.integers(0, 3)), st.integers(0, 4))
def test_what_is_missing_stands_before_the_verdict(table: tuple[Rows, int], late: set[int], demand: int) -> None:
    rows, n_items = table
    pairs = [
        (f"r{j}", f"p{i}", None if (i + j) % 4 in late else y) for j, row in enumerate(rows) for i, y in row.items()
    ]
    papers = [f"p{i}" for i in range(n_items)]
    report = check(Reviews.from_pairs(pairs, items=papers), demand=demand)
    due = {paper: sum(of == paper for _, of, _ in pairs) for paper in papers}
    there = {paper: sum(of == paper and score is not None for _, of, score in pairs) for paper in papers}
    first = report.page().split("\n")[0]
    empty, nobody = list(there.values()).count(0), list(due.values()).count(0)
    short = [demand - number for number in due.values() if number < demand]
    if 0 < sum(there.values()) < len(pairs):
        assert first.startswith(f"{sum(there.values())} of {len(pairs)} review")
        assert (f"; {empty} paper" in first) == (empty > 0)
        assert (f"{nobody} of them no reviewer" in first) == (0 < nobody < empty)
    elif nobody:
        assert first.startswith(f"{nobody} of {n_items} paper")
    elif short:
        assert first.startswith(f"{len(short)} paper")
    else:
        assert first.split()[0] in ("All", "The")
    assert (f"of their demand, by {sum(short)} review" in report.page()) == (len(short) > 1)
    late_ones = any(there.values()) and any(score is None for *_, score in pairs)
    assert not (document(report, "").good and (short or nobody or late_ones))


def test_scores_decide_when_asked() -> None:
    tied = check(Reviews.from_pairs([("a", 1, 5.0), ("a", 2, 5.0), ("b", 1, 1.0), ("b", 2, 2.0)]))
    assert tied.reaches("double")
    assert not tied.reaches("double", use_scores=True)
    assert tied.reaches("connected", use_scores=True)

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import Reviews, check
from reviewgraph.graph.levels import ALL
from tests.strategies import Rows, fano, tables, to_reviews

ORDER = [None, "connected", "recoverable", "double"]


@pytest.mark.slow
@given(tables())
def test_levels_imply_those_below_and_the_page_is_written(table: tuple[Rows, int]) -> None:
    report = check(to_reviews(*table))
    assert [level for level in ORDER[1:] if report.reaches(level)] == ORDER[1 : 1 + ORDER.index(report.level)]
    held = [level.holds(report.structure) for level in ALL]
    assert held == sorted(held)
    assert str(report.summary()).strip()
    assert report.summary().text("all")
    found = report.to_dict()
    assert found["recovery_resilient"] == (found["doubly_connected"]["largest_cover"] == found["items"])


def test_verdicts_in_a_chairs_words() -> None:
    def first(reviews: Reviews) -> str:
        return str(check(reviews).summary()).split("\n")[0]

    assert first(Reviews([(j, i) for j in range(2) for i in range(3)])) == ("COMPARABLE: all 3 papers, for certain")
    assert first(fano()).startswith("NOT COMPARABLE FOR CERTAIN: 7 papers in 7 groups")
    connected = Reviews([("a", 1), ("a", 2), ("b", 2), ("b", 3)])
    assert "only if reviewers differ just in severity" in str(check(connected).summary())
    assert "1 review or more; plan says how many, and which" in str(check(connected).summary())
    apart = Reviews([("a", 1), ("a", 2), ("b", 3), ("b", 4)], items=[5])
    assert first(apart) == "NOT COMPARABLE: 5 papers, in 2 islands (2, 2 papers), 1 without a reviewer"
    assert "No reviewer  5\n" in str(check(apart).summary())
    alone = Reviews([("a", 1), ("a", 2)], items=[5])
    assert first(alone) == "NOT COMPARABLE: 1 of 3 papers has no reviewer; the other 2 are comparable for certain"


def test_pages_have_the_nouns_of_the_columns() -> None:
    rows = {"grader": ["ann", "ann", "bob"], "Essay ID": ["p1", "p2", "p3"], "score": [1.0, 2.0, 3.0]}
    page = str(check(pandas.DataFrame(rows)).summary())
    assert "NOT COMPARABLE: 3 essays, in 2 islands (2, 1 essays)" in page
    assert "by 2 graders" in page
    rows["Essay ID"][0] = "paper 1"  # a label that has our noun keeps it
    assert "3 papers, in 2 islands" in str(check(pandas.DataFrame(rows)).summary())


def test_two_states_while_scores_are_missing() -> None:
    rows = [("a", 1, 1.0), ("a", 2, 2.0), ("b", 1, 3.0), ("b", 2, None)]
    report = check(Reviews(rows))
    assert report.recovery_resilient
    page = str(report.summary())
    assert page.startswith("COMPARABLE: all 2 papers, once all reviews are in\n")
    assert "So far          3 of 4 are in, every paper has one or more; comparable already" in page
    assert report.to_dict()["as_of_now"]["reviews"] == 3


@pytest.mark.slow
@given(tables(), st.sets(st.integers(0, 3)), st.integers(0, 4))
def test_what_is_missing_stands_on_the_page(table: tuple[Rows, int], late: set[int], demand: int) -> None:
    rows, n_items = table
    pairs = [
        (f"r{j}", f"p{i}", None if (i + j) % 4 in late else y) for j, row in enumerate(rows) for i, y in row.items()
    ]
    papers = [f"p{i}" for i in range(n_items)]
    report = check(Reviews(pairs, items=papers), demand=demand)
    due = {paper: sum(of == paper for _, of, _ in pairs) for paper in papers}
    there = {paper: sum(of == paper and score is not None for _, of, score in pairs) for paper in papers}
    page = report.summary()
    facts = {fact.name: fact.value for fact in page.facts}
    empty, nobody = list(there.values()).count(0), list(due.values()).count(0)
    short = [demand - number for number in due.values() if number < demand]
    late_ones = 0 < sum(there.values()) < len(pairs)
    assert ("So far" in facts) == late_ones
    if late_ones:
        assert facts["So far"].startswith(f"{sum(there.values())} of {len(pairs)} are in")
        assert (f"{empty} paper" in facts["So far"]) == (empty > 0)
    assert ({"No review", "No reviewer"} & set(facts) != set()) == (nobody > 0)
    assert facts["Short"].startswith(f"{len(short)}: " if short else "none")
    assert not (page.good and (short or nobody or late_ones))

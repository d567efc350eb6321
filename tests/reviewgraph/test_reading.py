"""Several files as one table; what is wrong, and where."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import Reviews, read_reviews
from reviewgraph.graph import DuplicateReview
from tests.reviewgraph.reading_cases import SCORES, outcome, refused, rows


def test_a_plan_is_readable_as_reviews_beside_them(write):
    write("paper,email,OveMer\n1,a,3\n2,b,4\n")
    write("item,reviewer,cost,joins\n2,a,1.0,two groups\n", "plan.csv")
    both = read_reviews("reviews.csv", "plan.csv", columns={"score": "OveMer"}, note=pytest.fail)
    assert rows(both) == [("a", "1", 3.0), ("a", "2", None), ("b", "2", 4.0)]
    write("item,reviewer,cost,joins\n", "plan.csv")
    notes = []
    assert read_reviews("reviews.csv", "plan.csv", note=notes.append).n_reviews == 2
    assert "plan.csv: a header but no reviews below it" in notes


ASSIGNMENTS = """paper,action,email,round,title
3,clearreview,#pc,any,A paper
3,primaryreview,r1@example.org,R1,A paper
3,Pri,r2@example.org,R1,A paper
4,clearreview,#pc,any,B paper
4,review,r1@example.org,R1,B paper
4,conflict,r3@example.org,,B paper
5,,r1@example.org,,C paper
"""


def test_rows_of_hotcrp_that_assign_no_review_are_left_out_and_counted(write):
    notes = []
    reviews = read_reviews(write(ASSIGNMENTS), note=notes.append)
    assert reviews.reviewers == ("r1@example.org", "r2@example.org")
    pairs = [("r1@example.org", "3"), ("r1@example.org", "4"), ("r1@example.org", "5"), ("r2@example.org", "3")]
    assert rows(reviews) == [(*pair, None) for pair in pairs]
    assert notes[0] == "reviews.csv: 1 row left out, whose action assigns no review ('conflict')"
    alone = read_reviews(write("paper,action,email\n3,clearreview,#pc\n"), note=notes.append)
    assert (alone.items, alone.n_reviews) == (("3",), 0)
    assert notes[-1] == "reviews.csv: papers, but no reviews of them yet"
    assert "a header but no reviews below it" in refused(write("paper,action,email\n"))


def test_malformed_rows_are_named_by_physical_line_in_one_message(write):
    text = 'reviewer,item,score\nr,"two\nlines",1\n\nr\n,i,2\nr,,x\nr,j,inf\nr,k,1,2\n'
    assert refused(write(text)).splitlines()[:6] == [
        "reviews.csv:5: expected 3 cells as in the header, found 1",
        "reviews.csv:6: the reviewer is empty",
        "reviews.csv:7: the item is empty",
        "reviews.csv:7: the score 'x' is not a number",
        "reviews.csv:8: the score 'inf' is not a finite number; leave the cell empty where there is no score",
        "reviews.csv:9: expected 3 cells as in the header, found 4",
    ]


def test_duplicates_name_both_places_across_files(write):
    write('title,reviewer,item,score\n"two\nlines",r,i,1\n,s,i,1\n')
    write("reviewer,item,score\n\nr,i,2\n", "more.csv")
    with pytest.raises(DuplicateReview, match=r"reviews\.csv:2 and more\.csv:3"):
        read_reviews("reviews.csv", "more.csv")
    assert rows(read_reviews("reviews.csv", "more.csv", duplicates="last"))[0] == ("r", "i", 2.0)
    assert rows(read_reviews("reviews.csv", "more.csv", duplicates="mean"))[0] == ("r", "i", 1.5)


def test_labels_are_text_exactly_as_written(write):
    path = write("reviewer,item\nr,7\nr,007\nr,7.0\nr,+7\n")
    assert set(read_reviews(path, merge="none").items) == {"7", "007", "7.0", "+7"}
    assert set(read_reviews(write("reviewer,item\nr, 7\nr,7.5\n")).items) == {" 7", "7.5"}
    assert "' 7' and '7' differ in blanks alone. One paper or two?" in refused(write("reviewer,item\nr, 7\nr,7\n"))


def test_items_nobody_reviews_and_items_nobody_knows(write):
    name = write("reviewer,item\nr,p2\nr,p10\n")
    reviews = read_reviews(name, items=["p10", "p1", "p2"])
    assert reviews.items == ("p1", "p2", "p10")
    assert reviews.reviews_per_item.tolist() == [0, 1, 1]
    assert refused(name, items=["p2"]).startswith("reviews.csv:3: the item 'p10' is not among the items given")
    write("paper,title,demand\np2,Second,3\np10,,\np1,,1\n", "items.csv")
    reviews = read_reviews(name, items="items.csv")
    assert reviews.items == ("p1", "p2", "p10")
    assert reviews.titles == {"p2": "Second"}


REVIEW = st.tuples(st.sampled_from("abc"), st.sampled_from("123456"), SCORES)


SHUFFLED = st.lists(REVIEW, unique_by=lambda row: row[:2], min_size=1).flatmap(
    lambda table: st.tuples(st.just(table), st.permutations(table), st.integers(1, len(table)))
)


@given(SHUFFLED)
def test_the_order_of_rows_and_files_does_not_matter(tmp_path_factory, tables):
    table, shuffled, cut = tables
    folder = tmp_path_factory.mktemp("order")
    paths = [folder / name for name in ("whole.csv", "head.csv", "tail.csv")]
    for path, part in zip(paths, (table, shuffled[:cut], shuffled[cut:]), strict=True):
        body = [("reviewer", "item", "score"), *(row for row in part if row[2] not in ("x", "inf", "4,5"))]
        path.write_text("".join(f"{','.join(row)}\n" for row in body))
    whole, parts = outcome(paths[0]), outcome(*paths[1:])
    if isinstance(whole[0], list):
        assert parts[:3] == whole[:3]
    else:
        assert "a header but no reviews" in whole[0]
        assert "a header but no reviews" in parts[0]


def test_what_was_assigned_and_then_scored_is_one_review(tmp_path):
    (tmp_path / "assigned.csv").write_text("reviewer,paper\na,1\na,2\nb,1\n")
    (tmp_path / "scores.csv").write_text("reviewer,paper,score\na,1,3\nc,1,2\n")
    said = []
    table = read_reviews(tmp_path / "assigned.csv", tmp_path / "scores.csv", note=said.append)
    assert table.to_dict() == {
        "reviewer": ["a", "a", "b", "c"],
        "item": ["1", "2", "1", "1"],
        "score": [3.0, None, None, 2.0],
    }
    assert said == [
        "1 planned row is of pairs that stand in another row too, with a score or planned as well: each pair counts as "
        "one review"
    ]
    with pytest.raises(DuplicateReview):
        read_reviews(tmp_path / "scores.csv", tmp_path / "scores.csv")
    assert Reviews([("a", 1, None), ("a", 1, 2.0), ("a", 1)]).to_dict()["score"] == [2.0]
    with pytest.raises(DuplicateReview, match="the table and the reviews added"):
        Reviews([("a", 1, 2.0)]).add([("a", 1)])

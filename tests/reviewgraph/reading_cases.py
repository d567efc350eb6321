"""What tests of reading share: a download of HotCRP, rows as they are told, messages."""

import pytest
from hypothesis import strategies as st

from reviewgraph import InputError, read_reviews


def refused(*args, **options):
    with pytest.raises(InputError) as caught:
        read_reviews(*args, **options)
    return str(caught.value)


def rows(reviews):
    columns = reviews.to_dict()
    return list(zip(columns["reviewer"], columns["item"], columns["score"], strict=True))


def found(reviews):
    """Scores by reviewer and paper."""
    return {(reviewer, item): score for reviewer, item, score in rows(reviews)}


def labelled(table):
    """Labels of reviewer and paper in each row of reviews or of a side file."""
    return [(table.reviewers[j], table.items[i]) for j, i in zip(table.reviewer, table.item, strict=True)]


def numbers_of(table):
    """Numbers of a side file by reviewer and paper."""
    return dict(zip(labelled(table), table.score, strict=True))


def read(name, **options):
    """The rows of a file, and the notes on it."""
    notes = []
    reviews = read_reviews(name, note=notes.append, **options)
    return rows(reviews), notes


HOTCRP = """paper,title,decision,review,reviewername,email,OveMer,RevExp
3,A paper,Accepted,3A,Reviewer One,r1@example.org,4,2
3,A paper,Accepted,3B,Reviewer Two,r2@example.org,2,
"""


SCORES = st.sampled_from(["", "1", "2.5", "-", "n/a", "8: accept", "x", "4,5", "inf", " ", "3 good"])


def outcome(*paths):
    """What reading gives, as plain values: rows, labels and notes, or the message."""
    notes = []
    try:
        reviews = read_reviews(*paths, duplicates="last", note=notes.append)
    except InputError as error:
        return str(error), notes
    return rows(reviews), reviews.reviewers, reviews.items, reviews.titles, notes

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

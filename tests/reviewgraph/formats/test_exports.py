"""Every export as its system writes it is read without a word about its format."""

import pytest

from reviewgraph import read_reviews
from tests.reviewgraph.formats.exports import EVERY


def found(reviews):
    columns = reviews.to_dict()
    return {
        (reviewer, item): score
        for reviewer, item, score in zip(columns["reviewer"], columns["item"], columns["score"], strict=True)
    }


@pytest.mark.parametrize("export", EVERY, ids=lambda export: export.name)
def test_every_export_gives_its_reviews(write, export):
    assert found(read_reviews(write(export.data, export.name), **export.options)) == export.reviews

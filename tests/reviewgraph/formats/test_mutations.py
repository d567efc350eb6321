"""Exports that are damaged: the reviews that are left, or one message, and never another score."""

import io
import random
import zipfile

import pytest

from reviewgraph import InputError, read_reviews
from tests.damages import FAIR, ROUGH, columns_renamed, inside, without_lines
from tests.reviewgraph.formats.exports import EVERY
from tests.reviewgraph.reading_cases import found
from tests.trials import trials

MUTATIONS = trials(50)

#: Damages that leave a whole file of other scores: no header to rename, the lines of one record after the score of
#: another, several names of fields that become the same empty one.
UNFAIR = {(columns_renamed, "old.zip"), (without_lines, "pretalx.csv")}


def outcome(write, export, data):
    try:
        return found(read_reviews(write(data, export.name), note=[].append, **export.options))
    except InputError as error:
        assert len(str(error)) < 5_000  # noqa: PT017 (any message will do)
        return {}


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::reviewgraph.graph.LabelWarning"
)  # an address that is damaged a little is still known
@pytest.mark.parametrize("export", EVERY, ids=lambda export: export.name)
def test_a_damaged_export_is_read_or_refused(write, export, capfd):
    draw = random.Random(export.name)
    packed = zipfile.is_zipfile(io.BytesIO(export.data))
    for _ in range(MUTATIONS):
        mutate = draw.choice([*ROUGH, *FAIR])
        done = inside(mutate) if packed and draw.random() < 0.8 else mutate
        reviews = outcome(write, export, done(export.data, draw))
        fair = mutate in FAIR and (mutate, export.name) not in UNFAIR
        for pair, score in reviews.items() if fair else ():
            assert score in {None, export.reviews.get(pair, score), export.earlier.get(pair)}, mutate.__name__
    assert capfd.readouterr().out == ""

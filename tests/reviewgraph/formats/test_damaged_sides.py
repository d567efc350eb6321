"""Side files that are damaged: pairs and numbers that stand in them, or one message."""

import io
import random
import zipfile
from typing import Any

import pytest

from reviewgraph import InputError
from reviewgraph.formats import side
from reviewgraph.formats.side import read_authors
from tests.damages import FAIR, ROUGH, cells_emptied, inside, lines_twice, without_lines
from tests.reviewgraph.formats.exports import (
    BIDS,
    CONFLICTS,
    PAPERS,
    REVIEWERS,
    SCORES,
    as_csv,
    as_json,
    as_spreadsheet_xml,
    as_xlsx,
    as_zip,
    easychair_files,
    edges,
    note_of,
    profile,
)
from tests.trials import trials

#: More in a nightly run.
MUTATIONS = trials(34)

#: What leaves a number as it is or takes it away.
KEEPING = [cells_emptied, lines_twice, without_lines]

DOWNLOAD = as_zip(easychair_files())
BID = ["Paper ID", "Paper Title", "Reviewer Name", "Reviewer Email", "Bid"]
BIDDEN = [[paper, "T", "A Name", who, f"3 - {word}"] for (who, paper), word in BIDS.items()]
PREFERENCES = ["paper", "title", "given_name", "family_name", "email", "conflict", "preference"]
PREFERRED = [[paper, "T", "A", "Name", who, "", score * 4 - 10] for (who, paper), score in SCORES.items()]
MATRIX = [[paper, *(4 if (who, paper) in CONFLICTS else 1 for who in REVIEWERS)] for paper in PAPERS]
WEIGHTED = {pair: {"weight": score / 8} for pair, score in SCORES.items()}


def name_of(reader: Any) -> str:
    """Return the name of a reader of side files."""
    return next(name for name, one in vars(side).items() if one is reader)


SIDES = [
    pytest.param(reader, name, data, id=f"{name_of(reader)} {name}")
    for reader, name, data in [
        (side.read_bids, "data.zip", DOWNLOAD),
        (side.read_conflicts, "data.zip", DOWNLOAD),
        (side.read_items, "data.zip", DOWNLOAD),
        (side.read_listing, "data.zip", DOWNLOAD),
        (side.read_reviewers, "data.zip", DOWNLOAD),
        (read_authors, "data.zip", DOWNLOAD),
        (side.read_bids, "bids.tsv", as_csv(BID, BIDDEN, "\t")),
        (side.read_bids, "bids.xlsx", as_xlsx({"Bids": [["Bids"], [], BID, *BIDDEN]})),
        (side.read_bids, "bids.xls", as_spreadsheet_xml({"Bids": [BID, *BIDDEN]})),
        (side.read_bids, "allprefs.csv", as_csv(PREFERENCES, PREFERRED)),
        (side.read_conflicts, "ReviewerConflicts.txt", as_csv(["# Paper ID", "Reviewer Email"], CONFLICTS, "\t")),
        (side.read_conflicts, "bids.csv", as_csv(["", *REVIEWERS], MATRIX)),
        (side.read_affinity, "affinity.json", as_json(edges("Affinity_Score", WEIGHTED))),
        (
            side.read_affinity,
            "matcher.csv",
            as_csv((), [[note_of(paper), profile(who), score / 8] for (who, paper), score in SCORES.items()]),
        ),
        (side.read_merges, "merges.csv", as_csv(["label", "as"], [[who.upper(), who] for who in REVIEWERS])),
        (side.read_capacity, "spare.csv", as_csv(["email", "spare"], [[who, 2] for who in REVIEWERS])),
    ]
]


def rows(found):
    """The numbers that were read by pair or label, None where there are none."""
    if isinstance(found, side.Bids):
        return {**rows(found.table), **{(*pair, "conflict"): None for pair in rows(found.conflicts)}}
    if isinstance(found, side.Listing):
        return rows(found.items)
    if isinstance(found, dict):
        return {label: value if isinstance(value, int) else None for label, value in found.items()}
    pairs = zip(map(found.reviewers.__getitem__, found.reviewer), map(found.items.__getitem__, found.item), strict=True)
    return dict(zip(pairs, [None] * found.item.size if found.score is None else found.score.tolist(), strict=True))


@pytest.mark.parametrize(("reader", "name", "data"), SIDES)
def test_a_damaged_side_file_is_read_or_refused(write, reader, name, data):
    whole = rows(reader(write(data, name)))
    assert whole
    draw, packed, answers = random.Random(f"{name_of(reader)} {name}"), zipfile.is_zipfile(io.BytesIO(data)), 0
    for _ in range(MUTATIONS):
        mutate = draw.choice([*ROUGH, *FAIR])
        done = inside(mutate) if packed and draw.random() < 0.8 else mutate
        try:
            found = rows(reader(write(done(data, draw), name)))
        except InputError as error:
            assert len(str(error)) < 5_000  # noqa: PT017 (any message will do)
            continue
        answers += 1
        for key, value in found.items() if mutate in KEEPING else ():
            # A bid whose cell is empty is none.
            unsaid = {"nan", "0.0"} if mutate is cells_emptied and reader is side.read_bids else set()
            assert repr(value) in {repr(whole.get(key, value)), *unsaid}, mutate.__name__
    assert answers

"""Files as people have them, where they lie beside the checkout: what each has to be read as."""

from __future__ import annotations

from pathlib import Path

import pytest

from reviewgraph import InputError, read_reviews

CASES = Path(__file__).parents[4] / "shared" / "cases"
WHOLE = (6, 20, 60)
BOOK = {"format": "gradebook"}
READ = {
    "01-plus-minus-zero/reviews_score.csv": ({"scale": "+1>+0>\N{MINUS SIGN}0>\N{MINUS SIGN}1"}, (8, 24, 96)),
    "02-canvas-grade-peer/peer_reviews.csv": ({}, (20, 20, 60)),
    "12-hidden-rows/filtered.xlsx": ({}, WHOLE),
    "15-mixed-units/percent.csv": ({}, WHOLE),
    "15-mixed-units/slash.csv": ({}, WHOLE),
    "15-mixed-units/with_max.csv": ({}, WHOLE),
    "17-forms-grid/judges_rows.csv": (BOOK, WHOLE),
    "17-forms-grid/responses.csv": ({}, WHOLE),
    "17-forms-grid/responses_two.csv": ({"score": "Impact"}, WHOLE),
    "18-sheet-per-judge/judging.xlsx": ({"score": "Design"}, WHOLE),
    "18-sheet-per-judge/judging_title.xlsx": ({}, WHOLE),
    "18-sheet-per-judge/judging_with_col.xlsx": ({}, WHOLE),
    "19-merged-cells/merged_paper.xlsx": ({}, WHOLE),
    "19-merged-cells/scores.xlsx": ({"score": "Impact", **BOOK}, WHOLE),
    "20-category-judge-columns/woods.csv": ({"score": "Design", "columns": {"item": "Team #"}, **BOOK}, (6, 18, 36)),
    "22-json-records/project-4-min.json": ({}, (6, 30, 90)),
    "22-json-records/project-4.json": ({}, (6, 30, 90)),
    "22-json-records/records.json": ({}, WHOLE),
    "22-json-records/scores.jsonl": ({}, WHOLE),
    "24-csv-of-excel/comment.csv": ({}, WHOLE),
    "24-csv-of-excel/sep.csv": ({}, WHOLE),
    "24-csv-of-excel/trailing.csv": ({}, WHOLE),
    "24-csv-of-excel/unicode_minus.csv": ({}, WHOLE),
    "24-csv-of-excel/z_title.csv": ({}, WHOLE),
    "26-names-not-known/bewertung.csv": ({"score": "Note"}, WHOLE),
    "26-names-not-known/crowdkit.csv": ({"score": "label"}, WHOLE),
    "26-names-not-known/mturk.csv": ({"score": "Answer.rating"}, (6, 20, 56)),
    "26-names-not-known/project-4.csv": ({}, (6, 30, 90)),
    "26-names-not-known/utf8.csv": ({}, WHOLE),
    "31-na-in-wide/wide_empty.csv": (BOOK, (6, 20, 40)),
    "31-na-in-wide/wide_na.csv": (BOOK, (6, 20, 40)),
    "adv-05/g.csv": (BOOK, (24, 27, 96)),
}
REFUSED = {
    "20-category-judge-columns/training_set.tsv": (BOOK, "do not say who they are"),
    "21-pairwise/decisions.csv": ({}, "choix"),
    "21-pairwise/mtbench.csv": ({}, "choix"),
    "30-sections-in-one-csv/judging.csv": ({}, "begins at line 16"),
    "adv-04/wr123.csv": ({}, "scores, not reviewers"),
    "adv-07/thm2.csv": ({}, "may be 1.7 or 1700"),
    "adv-14/xps.xlsx": ({}, "has its maximum"),
}


def path_of(name):
    if not (CASES / name).exists():
        pytest.skip("the cases are not beside this checkout")
    return CASES / name


@pytest.mark.parametrize("name", READ)
def test_what_is_read(name):
    options, sizes = READ[name]
    reviews = read_reviews(path_of(name), note=[].append, **options)
    assert (reviews.n_reviewers, reviews.n_items, reviews.n_reviews) == sizes


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_asked(name):
    options, said = REFUSED[name]
    with pytest.raises(InputError, match=said.replace("?", "[?]")):
        read_reviews(path_of(name), note=[].append, **options)

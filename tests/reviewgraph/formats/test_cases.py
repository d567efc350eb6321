"""Files as people have them, where they lie beside the checkout: what each has to be read as, noted or asked about."""

from __future__ import annotations

import csv
import json
import random
import re
import shlex
import warnings
from pathlib import Path

import numpy
import pytest
from click.testing import CliRunner, Result

from reviewgraph import InputError, calibrate, connected_components, read_reviews
from reviewgraph.cli import main
from reviewgraph.formats import side

SHARED = Path(__file__).parents[4] / "shared"
CASES = SHARED / "cases"
BOOK = {"format": "gradebook"}
MERGED = {"merge": "all"}
#: Reviewers, papers, reviews, pieces: a whole table, one of two panels, and the tables of the second collection.
WHOLE, PANELS, DENSE = (6, 20, 60, 1), (6, 20, 40, 2), (24, 27, 96, 1)
#: File, options, sizes, and words of a note; without words there is no note on a finding of the audit.
READ = [
    ("01-plus-minus-zero/reviews_ascii.csv", {"scale": "+1>+0>-0>-1"}, (8, 24, 96, 1), ""),
    ("01-plus-minus-zero/reviews_score.csv", {"scale": "+1>+0>\u22120>\u22121"}, (8, 24, 96, 1), ""),
    ("01-plus-minus-zero/reviews.csv", {"scale": "+1>+0>\u22120>\u22121"}, (8, 24, 96, 1), ""),
    ("02-canvas-grade-peer/peer_reviews.csv", {}, (20, 20, 60, 1), "one row per student"),
    ("02-canvas-grade-peer/peer_reviews.csv", BOOK, (20, 20, 60, 1), "one row per student"),
    ("03-positional-reviewers/a_true.csv", {}, (30, 40, 110, 1), ""),
    ("03-positional-reviewers/iclr_n.csv", {}, (3, 40, 120, 1), "every paper has all of '1', '2', '3'"),
    ("03-positional-reviewers/r1r2r3.csv", BOOK, (3, 20, 60, 1), "every paper has all of 'R1'"),
    ("03-positional-reviewers/score123.csv", BOOK, (3, 20, 60, 1), "every paper has all of 'Score 1'"),
    ("03-positional-reviewers/sk_anon.csv", {}, (9, 150, 1350, 1), "every paper has all of 'J1', 'J2', 'J3'"),
    ("03-positional-reviewers/sk_true.csv", {}, (27, 150, 1350, 3), ""),
    ("04-summary-rows/canvas_points.csv", BOOK, WHOLE, "6 rows left out, which sum up others ('Points Possible')"),
    ("04-summary-rows/long_total2.csv", {}, WHOLE, "6 rows left out, which sum up others ('Average')"),
    ("04-summary-rows/wide_avg.csv", BOOK, WHOLE, "6 rows left out, which sum up others ('Average')"),
    ("04-summary-rows/wide_max.csv", BOOK, WHOLE, "18 rows left out, which sum up others ('Max', 'Mean', 'Std dev')"),
    ("05-no-score-codes-in-files/long_zero.csv", {}, (6, 20, 120, 1), "0 in 80 of 120 reviews lies apart"),
    ("05-no-score-codes-in-files/wide_zero.csv", BOOK, (6, 20, 120, 1), "0 in 80 of 120 reviews lies apart"),
    ("05-no-score-codes-in-files/z_99.csv", {}, WHOLE, "99 in 4 of 60 reviews lies apart"),
    ("05-no-score-codes-in-files/z_m1.csv", {}, WHOLE, "-1 in 4 of 60 reviews lies apart"),
    ("05-no-score-codes-in-files/zf.csv", {}, (6, 20, 120, 1), "0 in 78 of 120 reviews lies apart"),
    ("05-no-score-codes-in-files/zf_ok.csv", {}, (6, 19, 42, 1), ""),
    ("06-declined-status/status_noscore.csv", {}, PANELS, "10 rows left out, whose 'status' is 'Declined', 'No resp"),
    ("06-declined-status/status.csv", {}, PANELS, "10 rows left out, whose 'status' is 'Declined', 'Withdrawn'"),
    ("06-declined-status/paperstatus.csv", {}, (6, 15, 30, 2), "10 rows left out, whose 'paper status' is 'Withdrawn'"),
    (
        "06-declined-status/reviews_report.csv",
        {"scale": "Accept Submission>Revisions Required>Resubmit for Review>Decline Submission"},
        PANELS,
        "5 rows left out, whose invitation was declined",
    ),
    ("07-placeholder-reviewers/tbd.csv", {}, PANELS, "20 cells of reviewers such as TBD or - read as empty"),
    ("07-placeholder-reviewers/tbd_mix.csv", {}, PANELS, "20 cells of reviewers such as TBD or - read as empty"),
    ("07-placeholder-reviewers/anon.csv", {}, PANELS, "20 rows left out, 20 of them with a score, whose reviewer is a"),
    ("08-several-in-a-cell/assign_cell.csv", {"columns": {"reviewer": "Reviewers"}}, WHOLE, "20 cells with several"),
    ("08-several-in-a-cell/assign_cell2.csv", {}, WHOLE, "20 cells with several reviewers split"),
    ("10-revisions-newest-first/revisions.csv", {"duplicates": "last"}, WHOLE, "the newest by 'version' counts"),
    ("10-revisions-newest-first/rounds.csv", {"duplicates": "last"}, WHOLE, ""),
    ("12-hidden-rows/filtered.xlsx", {}, WHOLE, "15 hidden rows read"),
    ("12-hidden-rows/hidden_col.xlsx", {}, WHOLE, "1 hidden column ('Old score') read"),
    ("13-repeated-header/concat.csv", {}, PANELS, "1 row left out, which repeat the header"),
    ("14-ranks-direction/rank.csv", {"score": "rank"}, WHOLE, "'rank' is read as a score of which the largest is"),
    ("14-ranks-direction/rank.csv", {"score": "rank", "lower_is_better": True}, WHOLE, ""),
    ("14-ranks-direction/place.csv", {"score": "place"}, WHOLE, "'place' is read as a score of which the largest is"),
    ("14-ranks-direction/nih.csv", {"score": "Impact Score"}, WHOLE, "'Impact Score' is read as a score of which the"),
    ("14-ranks-direction/yesno.csv", {"scale": "Yes>No"}, WHOLE, ""),
    ("14-ranks-direction/bool.xlsx", {"scale": "true>false"}, WHOLE, ""),
    ("15-mixed-units/mixed_scales.csv", {}, WHOLE, "and no reviewer has both; if these are two scales, bring them to"),
    ("15-mixed-units/percent.csv", {}, WHOLE, "scores are out of 100"),
    ("15-mixed-units/slash.csv", {}, WHOLE, "scores are out of 10"),
    ("15-mixed-units/with_max.csv", {}, WHOLE, "scores are percent of 4, 5, 10, 100"),
    ("16-row-id-as-item/uuid.csv", {"columns": {"item": "question"}}, PANELS, ""),
    ("17-forms-grid/judges_rows.csv", BOOK, WHOLE, "the papers are the columns 'Team 1'"),
    ("17-forms-grid/responses.csv", {}, WHOLE, "answers to an online form with a column for each paper"),
    ("17-forms-grid/responses.csv", BOOK, WHOLE, "the papers are the columns 'Team 1'"),
    ("17-forms-grid/responses_two.csv", {"score": "Impact"}, WHOLE, "answers to an online form"),
    ("18-sheet-per-judge/judging.xlsx", {"score": "Design"}, WHOLE, "the reviewer is the name of the sheet"),
    ("18-sheet-per-judge/judging_title.xlsx", {}, WHOLE, "the reviewer is the name of the sheet"),
    ("18-sheet-per-judge/judging_with_col.xlsx", {}, WHOLE, "6 sheets are read as one table"),
    ("19-merged-cells/merged_paper.xlsx", {}, WHOLE, "20 blocks of merged cells read"),
    ("19-merged-cells/scores.xlsx", {"score": "Impact", **BOOK}, WHOLE, "7 blocks of merged cells read"),
    (
        "20-category-judge-columns/woods.csv",
        {"score": "Design", "columns": {"item": "Team #"}, **BOOK},
        (6, 18, 36, 1),
        "",
    ),
    ("22-json-records/project-4-min.json", {}, (6, 30, 90, 1), "the item is read from the column 'id'"),
    ("22-json-records/project-4.json", {}, (6, 30, 90, 1), "annotations of Label Studio"),
    ("22-json-records/records.json", {}, WHOLE, ""),
    ("22-json-records/scores.jsonl", {}, WHOLE, ""),
    ("23-abstain-conflict-cells/long.csv", {}, WHOLE, "12 rows left out, whose score says that there is no review"),
    (
        "23-abstain-conflict-cells/minmax.csv",
        {},
        (6, 20, 57, 1),
        "4 scores read as missing ('?', 'TBD', 'tbd', '\u2014')",
    ),
    (
        "23-abstain-conflict-cells/na.csv",
        {},
        (6, 20, 57, 1),
        "3 rows left out, whose score says that there is no review",
    ),
    ("24-csv-of-excel/comment.csv", {}, WHOLE, ""),
    ("24-csv-of-excel/sep.csv", {}, WHOLE, ""),
    ("24-csv-of-excel/trailing.csv", {}, WHOLE, ""),
    ("24-csv-of-excel/unicode_minus.csv", {}, WHOLE, ""),
    ("24-csv-of-excel/z_title.csv", {}, WHOLE, ""),
    (
        "25-long-with-trait/long.csv",
        {"columns": {"item": "Examinee", "criterion": "Trait"}, "score": "a"},
        (3, 7, 21, 1),
        "",
    ),
    (
        "25-long-with-trait/tam.csv",
        {"columns": {"reviewer": "raters", "item": "subjects"}, "score": "Trait_a"},
        (3, 7, 21, 1),
        "every paper has all of '1', '2', '3'",
    ),
    ("26-names-not-known/bewertung.csv", {"score": "Note"}, WHOLE, ""),
    ("26-names-not-known/crowdkit.csv", {"score": "label"}, WHOLE, ""),
    (
        "26-names-not-known/judge-scores.csv",
        {"columns": {"item": "aspect_id"}},
        (9, 150, 1350, 1),
        "every paper has all",
    ),
    ("26-names-not-known/mturk.csv", {"score": "Answer.rating"}, (6, 20, 56, 1), "4 rows left out, whose 'Assignment"),
    ("26-names-not-known/project-4.csv", {}, (6, 30, 90, 1), "the item is read from the column 'id'"),
    ("26-names-not-known/utf8.csv", {}, WHOLE, ""),
    ("28-dates-as-ids/ids.csv", {}, WHOLE, "5 labels of papers are dates"),
    ("28-dates-as-ids/ids.xlsx", {}, WHOLE, "10 labels of papers are dates"),
    (
        "29-rows-without-reviewer/wine2.csv",
        {"accept": "empty-reviewers"},
        (6, 20, 45, 1),
        "15 rows left out, which name",
    ),
    (
        "29-rows-without-reviewer/iq.csv",
        {"columns": {"reviewer": "Last manual grader", "item": "UID"}, "score": "Question points"},
        WHOLE,
        "",
    ),
    ("31-na-in-wide/wide_empty.csv", BOOK, PANELS, ""),
    ("31-na-in-wide/wide_na.csv", BOOK, PANELS, "80 cells such as NA or - read as empty"),
    ("adv-01/sent-1x12.csv", {}, DENSE, "-1 in 12 of 96 reviews lies apart"),
    ("adv-01/sent0x12.csv", {}, DENSE, "0 in 12 of 96 reviews lies apart"),
    ("adv-01/sent99x3.csv", {}, DENSE, "99 in 3 of 96 reviews lies apart"),
    ("adv-02/anon.csv", {}, (2, 6, 12, 1), "every paper has all of 'Reviewer 1', 'Reviewer 2'"),
    ("adv-03/disc.csv", {}, (4, 6, 12, 2), ""),
    ("adv-03/disc_avg.csv", {}, (4, 6, 12, 2), "6 rows left out, whose reviewer sums up others ('Average')"),
    ("adv-05/g.csv", BOOK, DENSE, "not read as reviewers: the columns 'Avg' (which sums up or describes a row)"),
    ("adv-06/status_Submitted.csv", {}, DENSE, "16 rows count as planned, whose 'Submitted' is 'FALSE'"),
    ("adv-06/status_status.csv", {}, DENSE, "16 rows count as planned, whose 'status' is 'draft'"),
    ("adv-06/status_withdrawn.csv", {}, (24, 27, 80, 4), "16 rows left out, whose 'withdrawn' is '1'"),
    ("adv-13/r.csv", {}, (12, 14, 36, 1), ""),
    ("adv-14/m10.xlsx", {}, DENSE, "2 hidden rows and 1 hidden column ('score') read"),
    ("adv-14/m11.xlsx", {}, DENSE, "58 hidden rows read"),
    *((f"adv-15/l{number}.csv", MERGED, DENSE, "") for number in (1, 2, 3, 7, 9)),
    ("adv-16/base.csv", {}, (24, 34, 120, 1), ""),
]
LETTERS = "do not say which is better"
ASKED = [
    ("01-plus-minus-zero/reviews_ascii.csv", {}, "usually two grades; say"),
    ("03-positional-reviewers/a_anon.csv", {}, "number the reviews of each paper"),
    ("03-positional-reviewers/iclr2019_reviews.csv", {}, "signatures that change from paper to paper"),
    ("03-positional-reviewers/r1r2r3.csv", {}, "number the scores of a row, and do not say who gave them"),
    ("03-positional-reviewers/score123.csv", {}, "number the scores of a row, and do not say who gave them"),
    ("06-declined-status/reviews_report.csv", {}, LETTERS),
    ("10-revisions-newest-first/revisions.csv", {}, "differ in 'version'"),
    ("10-revisions-newest-first/rounds.csv", {}, "differ in 'round'"),
    ("14-ranks-direction/yesno.csv", {}, LETTERS),
    ("14-ranks-direction/bool.xlsx", {}, LETTERS),
    ("16-row-id-as-item/uuid.csv", {}, "differs in every row, which may be no items"),
    ("17-forms-grid/responses_two.csv", {}, "any of 'Impact', 'Craft'"),
    ("19-merged-cells/filldown.csv", {}, "the item is empty"),
    ("20-category-judge-columns/training_set.tsv", BOOK, "do not say who they are"),
    ("21-pairwise/decisions.csv", {}, "choix"),
    ("21-pairwise/mtbench.csv", {}, "choix"),
    ("23-abstain-conflict-cells/wide.csv", BOOK, "where they mean that there is no score, leave the cell empty"),
    ("25-long-with-trait/long.csv", {"columns": {"item": "Examinee"}}, "differ in 'Trait'; if 'Trait' names what is"),
    ("29-rows-without-reviewer/wine2.csv", {}, "the reviewer is empty"),
    ("30-sections-in-one-csv/judging.csv", {}, "begins at line 16"),
    ("adv-02/an.csv", {}, "number the reviews of each paper"),
    ("adv-04/wr123.csv", {}, "scores, not reviewers"),
    ("adv-07/thm2.csv", {}, "may be 1.7 or 1700"),
    ("adv-09/swp.csv", {}, "exchange the two"),
    ("adv-14/xps.xlsx", {}, "has its maximum"),
    *((f"adv-15/l{number}.csv", {}, "Each one paper or two") for number in (1, 2, 3, 7)),
    ("adv-15/l9.csv", {}, "Each one reviewer or two"),
]
#: Cases that are more than a table that is read, and the tests that stand for them.
ELSEWHERE = {
    "09-leading-zeros-two-files": ("formats/test_cases.py", "test_leading_zeros_in_one_of_two_files_are_asked_about"),
    "11-crash-title-as-item": ("formats/test_cases.py", "test_a_title_is_the_item_of_a_large_file"),
    "27-tracks-best-effort": ("formats/test_cases.py", "test_tracks_are_assigned_as_proposed"),
    "32-conflict-flag-column": ("formats/test_cases.py", "test_which_pairs_are_conflicts"),
    "33-conflicts-in-one-cell": ("formats/test_cases.py", "test_which_pairs_are_conflicts"),
    "adv-08": ("formats/test_cases.py", "test_scores_of_two_scales_get_qualities"),
    "adv-10": ("formats/test_cases.py", "test_answers_that_were_changed_do_not_hold"),
    "adv-11": ("formats/test_cases.py", "test_answers_that_were_changed_do_not_hold"),
    "adv-12": ("cli/app/test_app.py", "test_a_malformed_form_is_refused_with_one_sentence"),
    "adv-17": ("formats/test_cases.py", "test_values_of_no_use_are_refused"),
}


def path_of(name):
    if not (SHARED / name).exists():
        pytest.skip("the cases are not beside this checkout")
    return SHARED / name


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(map(str, words)), env={"COLUMNS": "10000"})


@pytest.mark.parametrize(("name", "options", "sizes", "words"), READ)
def test_what_is_read(name, options, sizes, words):
    notes: list[str] = []
    reviews = read_reviews(path_of(f"cases/{name}"), note=notes.append, **options)
    pieces = len(connected_components(reviews))
    assert (reviews.n_reviewers, reviews.n_items, reviews.n_reviews, pieces) == sizes
    assert words in "\n".join(notes)
    assert words or not re.search("--accept|lies apart|every paper has all|largest is|two scales", "\n".join(notes))


@pytest.mark.parametrize(("name", "options", "words"), ASKED)
def test_what_is_asked(name, options, words):
    with pytest.raises(InputError, match=re.escape(words)):
        read_reviews(path_of(f"cases/{name}"), note=lambda note: None, **options)


def test_every_case_has_a_row():
    folders = {path.name for path in path_of("cases").iterdir() if re.match("[0-9]|adv", path.name)}
    assert folders - {row[0].partition("/")[0] for row in (*READ, *ASKED)} == set(ELSEWHERE)
    for file, test in ELSEWHERE.values():
        assert f"def {test}(" in (Path(__file__).parents[1] / file).read_text()


def test_leading_zeros_in_one_of_two_files_are_asked_about():
    paths = [path_of(f"cases/09-leading-zeros-two-files/{name}.csv") for name in "ab"]
    with pytest.raises(InputError, match="differ in leading zeros"):
        read_reviews(*paths)
    reviews = read_reviews(*paths, **MERGED, note=lambda note: None)
    assert (reviews.n_reviewers, reviews.n_items, reviews.n_reviews, len(connected_components(reviews))) == WHOLE


def test_the_newest_version_counts_wherever_it_stands():
    path = path_of("cases/10-revisions-newest-first/revisions.csv")
    with path.open(newline="") as file:
        second = {
            (row["reviewer"], row["paper"]): row["score"] for row in csv.DictReader(file) if row["version"] == "2"
        }
    reviews = read_reviews(path, duplicates="last", note=lambda note: None)
    columns = reviews.to_dict()
    pairs = zip(columns["reviewer"], columns["item"], strict=True)
    assert len(second) == 60
    assert dict(zip(pairs, map("{:g}".format, columns["score"]), strict=True)) == second


def test_a_title_is_the_item_of_a_large_file(tmp_path):
    rng = random.Random(1)
    rows = [
        (f"Movie number {rng.randint(0, 9_000)} part {k % 7}", f"Critic {rng.randint(0, 300)}", rng.randint(1, 10))
        for k in range(45_000)
    ]
    path = tmp_path / "movies.csv"
    path.write_text("\n".join(["title,critic,score", *(",".join(map(str, row)) for row in rows), ""]))
    reviews = read_reviews(path, columns={"reviewer": "critic", "item": "title"}, duplicates="mean")
    assert (reviews.n_items, reviews.n_reviewers) == (len({row[0] for row in rows}), len({row[1] for row in rows}))


def test_tracks_are_assigned_as_proposed(tmp_path):
    folder = path_of("cases/27-tracks-best-effort")
    files = (
        "--items",
        folder / "t_items.csv",
        "--reviewers",
        folder / "t_rev.csv",
        "--conflicts",
        folder / "t_conf.csv",
    )
    told = run("assign", *files, "-o", tmp_path / "a.csv")
    assert told.exit_code == 1
    [proposed] = re.findall("(?m)^Next: reviewgraph (.*)$", told.stdout)
    assert "--target none" in proposed
    assert "--best-effort" not in told.stdout
    done = run(*shlex.split(proposed))
    assert done.exit_code == 0
    assert "30 papers, 22 reviewers, 60 reviews (optimal)" in done.stdout


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("32-conflict-flag-column/coi_flag.csv", 8),
        ("32-conflict-flag-column/coi_flag01.csv", 8),
        ("32-conflict-flag-column/coi_yesno.csv", 12),
        ("33-conflicts-in-one-cell/coi_cell2.csv", 12),
        ("33-conflicts-in-one-cell/coi_matrix.csv", 12),
    ],
)
def test_which_pairs_are_conflicts(name, number):
    conflicts = side.read_conflicts(path_of(f"cases/{name}"), note=lambda note: None)
    assert len(conflicts.reviewer) == number
    assert set(conflicts.reviewers) <= {"Alba", "Bryn", "Cleo", "Dara", "Emil", "Fay"}


@pytest.mark.parametrize(("name", "code"), [("sent-999x12", -999), ("pw", None)])
def test_scores_of_two_scales_get_qualities(name, code):
    notes: list[str] = []
    reviews = read_reviews(path_of(f"cases/adv-08/{name}.csv"), note=notes.append)
    assert [f"{code} in 12 of 96 reviews lies apart" in note for note in notes] == [True] * (code is not None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(calibrate(reviews).items) == 27


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("adv-11/stripped.json adv-11/two.csv", "--spare 1"),
        ("adv-11/extra-file.json adv-11/r.csv", ""),
        ("adv-11/names-exchanged.json adv-11/r.csv", ""),
    ],
)
def test_answers_that_were_changed_do_not_hold(words, options):
    told = run("verify", *(path_of(f"cases/{word}") for word in words.split()), *options.split())
    assert told.exit_code == 2
    assert "expected a key" in told.stderr


def test_files_of_an_answer_are_compared_by_name(tmp_path):
    folder = path_of("cases/adv-11")
    files = (folder / "r.csv", "--items", folder / "items.csv", "--conflicts", folder / "conf.csv")
    answer = json.loads(run("check", *files, "--json").stdout)
    first, second, _ = answer["files"]
    never = {**second, "file": "never.csv", "rows": 999}
    swapped = [{**first, "file": second["file"]}, {**second, "file": first["file"]}, answer["files"][2]]
    for listed, code in ((answer["files"], 0), ([*answer["files"], never], 4), (swapped, 4)):
        (tmp_path / "answer.json").write_text(json.dumps({**answer, "files": listed}))
        assert run("verify", tmp_path / "answer.json", *files).exit_code == code


def test_anonymous_pages_name_no_folder_and_no_file(tmp_path):
    (tmp_path / "ann-smith").mkdir()
    path = tmp_path / "ann-smith" / "scores-by-ann.csv"
    path.write_bytes(path_of("cases/adv-13/r.csv").read_bytes())
    assert run("check", path, "--html", tmp_path / "x.html", "--anonymous").exit_code == 0
    assert not re.search("ann-smith|scores-by-ann", (tmp_path / "x.html").read_text())


def test_values_of_no_use_are_refused():
    table = [("a", "p", 1), ("a", "q", 2), ("b", "p", 3), ("b", "q", 5)]
    for wrong, options in (("\0", {}), ("\ud800", {}), (table, {"max_slope": numpy.float32("inf")})):
        with pytest.raises(InputError, match="expected"):
            calibrate(wrong, **options)


#: What is true of HotCRP's files, and no finding of the audit; and why a file holds no reviews.
TRUE = (
    r"read as HotCRP's|reviews not submitted, read as planned|meta reviews left out|1 paper \(37\) left out"
    r"|'(Nov|Novelty)' is a further score|say how sure they are|7 papers are withdrawn or not submitted"
    r"|but no reviews of them yet|this is HotCRP's|the file is empty"
)
TABLES = [path for path in sorted(SHARED.glob("data/*/scores.csv")) if path.exists()]
EXPORTS = [path for path in sorted(SHARED.glob("hotcrp/exports/*/*/*.*")) if path.is_file()]


@pytest.mark.parametrize("name", [str(path.relative_to(SHARED)) for path in TABLES] or ["data"])
def test_nothing_is_found_in_tables_without_mistakes(name):
    notes: list[str] = []
    for options in ({}, {"lower_is_better": True}):
        read_reviews(path_of(name), note=notes.append, **options)
    assert not notes


@pytest.mark.parametrize("name", [str(path.relative_to(SHARED)) for path in EXPORTS] or ["hotcrp/exports"])
def test_what_is_found_in_files_of_hotcrp_is_true(name):
    found: list[str] = []
    try:
        read_reviews(path_of(name), note=found.append)
    except InputError as refused:
        found.append(str(refused))
    assert [words for words in found if not re.search(TRUE, words)] == []

"""Several scores of a review and the confidence of its reviewer, in frames, in files, and in what tables become."""

import copy
import json
import math
import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import InputError, Reviews, read_reviews
from reviewgraph.io.sides import without_gone
from tests.pages import run

pytestmark = pytest.mark.usefixtures("infer_once")


BUILD = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pa.table}
FIELDS = ("overall", "novelty", "clarity")


@pytest.fixture(params=list(BUILD))
def build(request):
    return BUILD[request.param]


def test_columns_of_lists_are_not_read(build):
    columns = {"reviewer": ["a", "b"], "paper": ["1", "1"], "score": [3.0, 4.0], "topics": [["x", "y"], []]}
    for table in (build(columns), columns):
        assert Reviews(table).to_columns()["score"] == [3.0, 4.0]
        with pytest.raises(InputError, match="column 'topics': expected text or numbers, found lists"):
            Reviews(table, columns={"item": "topics"})


def test_titles_and_names_of_criteria_may_be_numbers(build):
    columns = {"reviewer": ["a", "b"], "paper": ["p", "q"], "score": [3.0, 4.0]}
    assert Reviews(build({**columns, "title": [1984.0, 2001.0]})).titles == {"p": "1984", "q": "2001"}
    assert Reviews(build({**columns, "criterion": [1, 1]})).target == "1"


def plain(value):
    return None if value is None or math.isnan(value) else value


def by_pair(reviews):
    """Every field of every review, by the labels of its pair, as plain loops read it."""
    fields = {reviews.target: reviews.score, **reviews.criteria}
    if reviews.confidence is not None:
        fields["confidence"] = reviews.confidence
    return {
        (reviews.reviewers[j], reviews.items[i]): {name: plain(values[row]) for name, values in fields.items()}
        for row, (j, i) in enumerate(zip(reviews.reviewer.tolist(), reviews.item.tolist(), strict=True))
    }


def drawn(seed, reviewers=6, items=7, load=4):
    """Rows by pair with some fields missing, and never a score alone in a column."""
    rng = np.random.default_rng(seed)
    rows = {}
    for reviewer in range(reviewers):
        for item in rng.choice(items, load, replace=False):
            values = {name: float(rng.integers(1, 6)) if rng.random() < 0.8 else None for name in FIELDS}
            rows[f"r{reviewer}", f"p{item}"] = {**values, "confidence": float(rng.integers(1, 5))}
    return rows


def wide(rows, order=None):
    pairs = list(rows) if order is None else [list(rows)[place] for place in order]
    columns = {"reviewer": [who for who, _ in pairs], "item": [what for _, what in pairs]}
    return columns | {name: [rows[pair][name] for pair in pairs] for name in (*FIELDS, "confidence")}


def long(rows):
    """A row for each score of a review, also where it is missing."""
    cells = [(*pair, name, rows[pair][name]) for pair in rows for name in FIELDS]
    return {
        name: [row[place] for row in cells] for place, name in enumerate(("reviewer", "item", "criterion", "score"))
    }


def test_every_score_field_of_a_wide_frame_is_kept(build):
    rows = drawn(1)
    reviews = Reviews(build(wide(rows)))
    assert (reviews.target, list(reviews.criteria)) == ("overall", ["novelty", "clarity"])
    assert by_pair(reviews) == rows
    other = Reviews(build(wide(rows)), score="novelty")
    assert (other.target, list(other.criteria)) == ("novelty", ["overall", "clarity"])
    assert by_pair(other) == rows
    none = Reviews(build(wide(rows)), columns={"score": ""})
    assert (none.target, none.scored.any(), list(none.criteria)) == (None, False, list(FIELDS))


def test_criteria_without_a_score_are_named_as_such(build):
    rows = {"pid": [1, 2, 1, 2], "who": ["a", "a", "b", "b"], "novelty": [3, 2, 4, 1], "clarity": [4, 3, 4, 2]}
    reviews = Reviews(build(rows), paper="pid", reviewer="who", criteria=["novelty", "clarity"])
    assert (reviews.scored.any(), list(reviews.criteria)) == (False, ["novelty", "clarity"])
    with pytest.raises(InputError, match=r"'clarity'[\s\S]*; or that there is none, with criteria=\[\.\.\.\]"):
        Reviews(build(rows), columns={"paper": "pid", "reviewer": "who"})
    with pytest.raises(InputError, match="expected one name for item, also called paper"):
        Reviews(build(rows), paper="pid", item="who")


def test_a_long_frame_is_the_wide_one(build):
    rows = {pair: {**fields, "confidence": None} for pair, fields in drawn(2).items()}
    reviews = Reviews(build(long(rows)))
    assert (reviews.target, set(reviews.criteria)) == ("overall", {"novelty", "clarity"})
    expected = {pair: {name: fields[name] for name in FIELDS} for pair, fields in rows.items()}
    assert by_pair(reviews) == expected
    assert by_pair(Reviews(build(long(rows)), score="Clarity")) == expected
    with pytest.raises(
        InputError, match=r"neither a column nor a criterion 'style'; found the criteria 'clarity', 'nov"
    ):
        Reviews(build(long(rows)), score="style")


def csv_of(columns):
    frame = pandas.DataFrame(columns)
    return frame.to_csv(index=False)


@given(st.permutations(range(24)), st.integers(0, 50))
def test_the_order_of_rows_does_not_matter(order, seed):
    rows = drawn(seed)
    assert by_pair(Reviews(pandas.DataFrame(wide(rows, order)))) == rows


def merged(rows, policy):
    """What several rows of a pair become, field by field."""
    seen = defaultdict(lambda: defaultdict(list))
    for pair, fields in rows:
        for name, value in fields.items():
            seen[pair][name] += [] if value is None else [value]
    count = {"last": lambda values: values[-1], "mean": lambda values: sum(values) / len(values)}[policy]
    return {
        pair: {name: count(values) if values else None for name, values in fields.items()}
        for pair, fields in seen.items()
    }


@pytest.mark.parametrize("policy", ["last", "mean"])
def test_duplicates_are_merged_field_by_field(policy):
    rows = [*drawn(6).items(), *drawn(7).items()]
    columns = {
        "reviewer": [pair[0] for pair, _ in rows],
        "item": [pair[1] for pair, _ in rows],
        **{name: [fields[name] for _, fields in rows] for name in (*FIELDS, "confidence")},
    }
    reviews = Reviews(pandas.DataFrame(columns), duplicates=policy)
    assert by_pair(reviews) == merged(rows, policy)


def test_what_tables_become_keeps_fields_with_their_reviews():
    rows = drawn(8)
    reviews = Reviews(pandas.DataFrame(wide(rows)), lower_is_better=False)
    scored = by_pair(reviews.only_scored())
    assert scored == {pair: fields for pair, fields in rows.items() if fields["overall"] is not None}
    assert by_pair(copy.deepcopy(reviews)) == by_pair(pickle.loads(pickle.dumps(reviews))) == rows
    assert not pickle.loads(pickle.dumps(reviews)).criteria["novelty"].flags.writeable
    assert by_pair(reviews._with_labels(["a", "zz"], ["p0a"])) == rows
    new = reviews.add([("r0", "new"), ("aa", "p0")])
    empty = dict.fromkeys((*FIELDS, "confidence"))
    assert by_pair(new) == rows | {("r0", "new"): empty, ("aa", "p0"): empty}
    gone = without_gone(reviews, ["r1", "r2"])
    assert by_pair(gone) == {
        pair: fields for pair, fields in rows.items() if fields["overall"] is not None or pair[0] not in ("r1", "r2")
    }
    assert by_pair(Reviews(reviews.to_frame(backend="pandas"))) == {
        pair: {"score": fields["overall"], **{name: fields[name] for name in (*FIELDS[1:], "confidence")}}
        for pair, fields in rows.items()
    }


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["4: You are confident", "2: fairly", "", "5"], [4.0, 2.0, None, 5.0]),
        (["X", "Z", "Y: knowledgeable", "n/a"], [3.0, 1.0, 2.0, None]),
    ],
)
@pytest.mark.parametrize("name", ["confidence", "Reviewer Confidence", "RevExp", "expertise", "Reviewer's confidence"])
def test_confidence_is_known_by_name_and_read_as_a_number(write, name, cells, values):
    columns = {"reviewer": list("abcd"), "item": ["p"] * 4, "score": [1, 2, 3, 4], name: cells}
    for reviews in (Reviews(pandas.DataFrame(columns)), read_reviews(write(csv_of(columns)))):
        assert [plain(value) for value in reviews.confidence.tolist()] == values
        assert not reviews.criteria


def test_several_files_may_have_different_fields(write, tmp_path):
    (tmp_path / "b.csv").write_text("reviewer,item,overall,Clarity\nb,p,4,5\n")
    first = write("reviewer,item,Overall,novelty,clarity\na,p,3,1,2\n")
    for paths in ((first, tmp_path / "b.csv"), (tmp_path / "b.csv", first)):
        reviews = read_reviews(*paths)
        assert by_pair(reviews) == {
            ("a", "p"): {"Overall": 3.0, "novelty": 1.0, "Clarity": 2.0},
            ("b", "p"): {"Overall": 4.0, "novelty": None, "Clarity": 5.0},
        }
        assert set(reviews.criteria) == {"Clarity", "novelty"}


def test_fields_of_one_file_whose_names_differ_in_case_alone_stay_apart(write):
    reviews = read_reviews(write("reviewer,item,score,Clarity,clarity\na,p,3,1,5\nb,p,4,2,6\n"))
    assert {name: values.tolist() for name, values in reviews.criteria.items()} == {
        "Clarity": [1, 2],
        "clarity": [5, 6],
    }


# Exports of conference systems.

EXPORTS = Path(__file__).parents[1] / "hotcrp/exports"


@pytest.mark.parametrize("version", ["3.2", "3.4"])
def test_all_downloads_of_hotcrp_have_the_fields_of_its_json(version):
    """The file for reviewqualitycollector.org, read by plain loops, against every table of the same reviews."""
    folder = EXPORTS / version / "stage2"
    content = json.loads((folder / "labconf-rqc.json").read_text("utf-8"))
    emails = {one["rid"]: one["reviewer_email"] for one in _reviews_of_api(folder)}
    expected = {}
    for paper in content["papers"]:
        for one in paper.get("reviews", []):
            if one.get("status") == "complete" and one.get("rtype") != 5:
                letter = one.get("Nov")
                novelty = float("DCBA".index(letter) + 1) if letter else None
                expected[emails[one["rid"]], str(paper["pid"])] = (one.get("OveMer"), novelty, one.get("RevExp"))
    assert len(expected) > 80
    names = ("api-reviews.json", "batch-narrow.csv", "batch-wide.csv", "labconf-reviews.csv", "labconf-scores.csv")
    for name in (*names, "batch-wide-all.csv", "batch-narrow-all.csv"):
        reviews = read_reviews(folder / name)
        assert reviews.target in ("OveMer", "Overall merit")
        (novelty,) = reviews.criteria.values()
        columns = (reviews.score, novelty, reviews.confidence)
        pairs = [(reviews.reviewers[j], reviews.items[i]) for j, i in zip(reviews.reviewer, reviews.item, strict=True)]
        found = {
            pair: tuple(plain(float(column[row])) for column in columns)
            for row, pair in enumerate(pairs)
            if reviews.scored[row]
        }
        shared = found.keys() & expected.keys()
        assert len(shared) > 80
        assert {pair: found[pair] for pair in shared} == {pair: expected[pair] for pair in shared}


def _reviews_of_api(folder):
    return json.loads((folder / "api-reviews.json").read_text("utf-8"))["reviews"]


# Commands.


@pytest.fixture
def table(folder):
    columns = {name: cells for name, cells in wide(drawn(9)).items() if name != "overall"}
    Path("three.csv").write_text(csv_of(columns), "utf-8")
    Path("long.csv").write_text(csv_of(long(drawn(9))), "utf-8")
    return "three.csv"


def test_the_option_selects_the_score_of_every_command(table):
    asked = run("check", table)
    assert (asked.exit_code, "--score novelty" in asked.stderr) == (2, True)
    for command in ("check", "plan", "calibrate"):
        answer = run(command, table, "--score", "clarity", "--json")
        assert answer.exit_code in (0, 1), answer.stderr
        Path(f"{command}.json").write_text(answer.stdout, "utf-8")
        verified = run("verify", f"{command}.json", table, "--score", "clarity")
        assert verified.exit_code == 0, verified.output
    same = [json.loads(run("check", table, "--score", name, "--json").stdout) for name in ("novelty", "clarity")]
    for key in ("reviewers", "items", "reviews", "connected", "doubly_connected", "level"):
        assert same[0][key] == same[1][key]
    page = run("check", table, "--score", "clarity")
    assert f"{table} --score clarity" in page.stdout
    missing = run("check", table, "--score", "style")
    assert (missing.exit_code, "--score style: there is no column 'style'" in missing.stderr) == (2, True)
    twice = run("check", table, "--score", "clarity", "--columns", "score=novelty")
    assert (twice.exit_code, "leave one of the two out" in twice.stderr) == (2, True)

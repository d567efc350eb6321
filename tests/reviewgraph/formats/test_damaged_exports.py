"""What is wrong with an export is said where it is wrong; of a damaged one no score is another."""

import datetime
import io
import random
import zipfile

import pytest

from reviewgraph import InputError, read_reviews
from reviewgraph.graph import ColumnWarning
from tests.damages import FAIR, ROUGH, columns_renamed, inside, without_lines
from tests.reviewgraph.formats.exports import EVERY, SCORES, as_csv, as_json, as_xlsx, as_zip, easychair_files
from tests.reviewgraph.formats.test_limits import HEAD, with_sheet
from tests.reviewgraph.reading_cases import found, refused, rows
from tests.trials import trials

MEMBER = {"columns": {"reviewer": "PC member"}}
NARROW = ["pid", "email", "field", "data"]


def easychair(**changed):
    files = easychair_files()
    return as_zip(
        {name: changed.get(name.removesuffix(".csv"), lambda data: data)(data) for name, data in files.items()}
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            easychair(review=lambda data: data.replace(b"submission #", b"paper", 1)),
            "reviews.csv#review.csv: no column 'submission #'; found the columns '#', 'paper'",
        ),
        (
            as_zip({"review.csv": as_csv((), [["1", "3", "11", "Ann", "1"]])}),
            "reviews.csv#review.csv: no header, and expected 9 to 16 columns, found 5",
        ),
        (
            easychair(review=lambda data: data.replace(b"Ann Lee,1,1,", b"Ann Lee,1,new,", 1)),
            "version: expected a whole number, found 'new'",
        ),
        (
            as_csv(NARROW, [["1", "a", "Overall merit", "3"], ["1", "a", "Overall merit", "4"]]),
            "reviews.csv:3: the field 'Overall merit' occurs twice in one review",
        ),
        (as_csv([*NARROW, "data"], [["1", "a", "Overall merit", "3", "4"]]), "2 columns are called 'data'"),
        (as_csv(NARROW, [["1", "a", "Overall merit", "3", "4"]]), "2: expected 4 cells as in the header, found 5"),
        (as_json({"a": [], "b": []}), "JSON of another shape"),
    ],
)
def test_what_is_wrong_is_said_of_the_place(write, data, message):
    assert message in refused(write(data), **MEMBER)


def test_an_archive_with_a_damaged_file_is_refused_by_its_name(write):
    packed = bytearray(as_zip({"a.csv": b"paper,email\n1,a\n" * 50}))
    packed[45:50] = b"xxxxx"
    message = refused(write(bytes(packed), "one.zip"))
    assert "one.zip: a.csv cannot be unpacked" in message


def test_a_file_that_is_not_in_the_archive_is_asked_for(write):
    write(as_zip({"a.csv": b"paper,email\n1,a\n"}), "one.zip")
    assert "one.zip: there is no file 'b.csv' inside; found 'a.csv'" in refused("one.zip#b.csv")
    assert refused("none.zip#b.csv").startswith("none.zip#b.csv: no such file")


def test_formulas_count_with_the_value_they_had(write):
    computed = with_sheet(rb'<c r="C2" t="n"><v>3</v>', rb'<c r="C2"><f>1+2</f><v>3</v>')
    assert rows(read_reviews(write(computed))) == [("a", "1", 3.0)]


def test_dates_of_a_sheet_are_labels_as_they_are_written(write):
    day = datetime.date(2026, 5, 1)
    path = write(as_xlsx({"S": [HEAD, [day, "a", True]]}))
    with pytest.warns(ColumnWarning, match="1 label of a paper is a date"):
        assert read_reviews(path, columns={"score": ""}).items == ("2026-05-01T00:00:00",)


def test_one_table_of_easychair_knows_members_by_their_numbers(write):
    numbers = {"ann@x.org": "11", "bob@x.org": "12", "cid@x.org": "13"}
    reviews = read_reviews(write(easychair_files()["review.csv"]), **MEMBER)
    assert found(reviews) == {**{(numbers[who], of): score for (who, of), score in SCORES.items()}, ("11", "20"): 3}
    assert read_reviews("reviews.csv", columns={"reviewer": "member #", "score": "Overall"}).n_reviews == 8


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

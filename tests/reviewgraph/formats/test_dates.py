import pytest

from reviewgraph.formats.values import parse_moment


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T16:00:00Z",
        "2026-03-01 17:00:00 +0100",
        "2026-03-01T17:00+01:00",
        "20260301T160000Z",
        " 2026-03-01 16:00 ",
        "1772380800",
        "1772380800000",
    ],
)
def test_times_of_every_writing_are_the_same_moment(text: str) -> None:
    moment = parse_moment(text)
    assert moment is not None
    assert moment.isoformat() == "2026-03-01T16:00:00+00:00"


@pytest.mark.parametrize("text", ["", "soon", "01/03/2026", "2026-13-01", "12", "2026-02-30", "9999-12-31T23:00-20:00"])
def test_what_is_no_date_is_none(text: str) -> None:
    assert parse_moment(text) is None

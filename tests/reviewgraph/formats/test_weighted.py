"""A weighted total as the score, from files, frames and tables with a row for each score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest

from reviewgraph import InputError, Reviews, read_reviews
from reviewgraph.formats.criteria import Weighted

TOTAL = '2*impact + 0.5*"Overall merit" - `tech-fit`'


def rows() -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(0)
    pairs = [(f"r{j}", f"p{i}") for j in range(8) for i in rng.choice(12, 5, replace=False).tolist()]
    # The last column is the same in all reviews of a paper, as an attribute of papers is.
    return [(*pair, *rng.integers(1, 6, 2).tolist(), int(pair[1][1:]) % 4) for pair in pairs]


@pytest.fixture
def frame() -> pandas.DataFrame:
    return pandas.DataFrame(rows(), columns=["reviewer", "paper", "Impact", "Overall merit", "tech-fit"])


def long(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame.melt(["reviewer", "paper"], var_name="criterion", value_name="score")


@pytest.mark.parametrize("shape", ["wide", "long"])
@pytest.mark.parametrize("way", ["file", "two files", "pandas", "polars"])
def test_the_score_is_the_sum_of_its_parts(frame: pandas.DataFrame, tmp_path: Path, shape: str, way: str) -> None:
    table = long(frame) if shape == "long" else frame
    notes: list[str] = []
    if "file" in way:
        cut = 17 if way == "two files" else 0
        files = [tmp_path / "a.csv", tmp_path / "b.csv"] if cut else [tmp_path / "b.csv"]
        for file, part in zip(files, [table[:cut], table[cut:]] if cut else [table], strict=True):
            part.to_csv(file, index=False)
        reviews = read_reviews(*files, score=TOTAL, note=notes.append)
    else:
        source = table if way == "pandas" else polars.from_pandas(table)
        reviews = Reviews.from_frame(source, score=TOTAL, note=notes.append)
    expected = {(r, p): 2 * impact + 0.5 * merit - fit for r, p, impact, merit, fit in rows()}
    found = {
        (reviews.reviewers[j], reviews.items[i]): score
        for j, i, score in zip(reviews.reviewer, reviews.item, reviews.score, strict=True)
    }
    assert found == expected
    assert reviews.target == TOTAL
    assert set(reviews.criteria) == {"Impact", "Overall merit", "tech-fit"}
    assert not any("lack" in note for note in notes)


def test_a_review_that_lacks_a_part_has_no_score_and_is_counted(frame: pandas.DataFrame, tmp_path: Path) -> None:
    frame["Impact"] = frame["Impact"].astype(object)
    frame.loc[[3, 7], "Impact"] = None
    frame.to_csv(tmp_path / "a.csv", index=False)
    for read in (
        lambda note: read_reviews(tmp_path / "a.csv", score="impact + overall merit", note=note),
        lambda note: Reviews.from_frame(polars.read_csv(tmp_path / "a.csv"), score="impact + overall_merit", note=note),
    ):
        notes: list[str] = []
        reviews = read(notes.append)
        assert int(reviews.scored.sum()) == reviews.n_reviews - 2
        assert [note for note in notes if "2 reviews lack a part of it, and have no score" in note]


@pytest.mark.parametrize("shape", ["wide", "long"])
@pytest.mark.parametrize(
    ("score", "message"),
    [
        ("2*impact + rigour", "'rigour'.*found .*'Impact', 'Overall merit', 'tech-fit'"),
        ("2*impact + paper", "'paper'"),
        *((score, "expected a sum of columns with weights, found") for score in ("impact+", "*impact", "2**impact")),
        *((score, "expected a sum of columns with weights, found") for score in ("+", '"', "3*impact*2", "a - ")),
        ("-2", "'2'"),
    ],
)
def test_what_is_no_sum_of_columns_is_refused(
    frame: pandas.DataFrame, tmp_path: Path, shape: str, score: str, message: str
) -> None:
    table = long(frame) if shape == "long" else frame
    table.to_csv(tmp_path / "a.csv", index=False)
    for read in (
        lambda: read_reviews(tmp_path / "a.csv", score=score),
        lambda: Reviews.from_frame(table, score=score, note=lambda note: None),
    ):
        with pytest.raises(InputError, match=message):
            read()


@pytest.mark.parametrize(
    ("score", "target"),
    [("tech-fit", "tech-fit"), ("tech_fit", "tech-fit"), ("overall-merit", "Overall merit"), ("a*b", "a*b")],
)
def test_a_column_that_is_called_like_a_sum_wins(frame: pandas.DataFrame, score: str, target: str) -> None:
    frame["a*b"] = frame["Impact"] + 1
    assert Reviews.from_frame(frame, score=score, note=lambda note: None).target == target
    negative = Reviews.from_frame(frame, score="-impact", note=lambda note: None)
    assert negative.score.tolist() == (-negative.criteria["Impact"]).tolist()


def test_weights_of_a_column_that_stands_twice_add_up() -> None:
    assert Weighted.of("a - 0.5*b + .5*a + b*2").weights == {"a": 1.5, "b": 1.5}

"""Results in notebooks: what a cell shows, pictures, and data frames that come in, go out and come back."""

import inspect
import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree as Tree

import pandas
import polars
import pyarrow
import pytest

import lsc
import planner
from lsc.methods import METHODS
from reviewgraph import InputError, Reviews, Search, check
from reviewgraph._base import Fact, Picture, Result, plain
from reviewgraph.graph import ColumnWarning

pytestmark = pytest.mark.usefixtures("infer_once")


BUILD: dict[str, Callable[..., Any]] = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "pyarrow": pyarrow.table,
}
#: Two who share two papers, two who share two others, and one paper between them.
TABLE = {
    "reviewer": [1, 1, 2, 2, 2, 3, 3, 4, 4, 4],
    "paper": [10, 11, 10, 11, 12, 13, 14, 13, 14, 12],
    "score": [3.0, 5.0, 4.0, 7.0, 6.0, 2.0, 8.0, 1.0, 6.0, 5.0],
}
HOSTILE = "<script>alert('1')</script>&\x1b[2J"


def noisy(n: int = 16) -> dict[str, list[Any]]:
    """Scores that show severity and stretch of three reviewers."""
    rows = [
        (reviewer, paper, a + b * paper + (7 * paper + 3 * reviewer) % 5 / 10)
        for reviewer, (a, b) in enumerate([(1, 1), (4, 0.5), (0, 1.5)])
        for paper in range(n)
        if (paper + reviewer) % 4
    ]
    return dict(zip(TABLE, map(list, zip(*rows, strict=True)), strict=True))


def assigned(table: Any) -> planner.Assignment:
    frame = Reviews(table)
    rows = {"reviewer": [], "item": [], "affinity": []}
    for j in frame.reviewers:
        for i in frame.items:
            for name, value in zip(rows, (j, i, 1.0 / (1 + len(str(j)) + len(str(i)))), strict=True):
                rows[name].append(value)
    return planner.assign(BUILD[frame.backend or "pandas"](rows), demand=2, load=5, target="none")


RESULTS: dict[str, Callable[[Any], Result]] = {
    "reviews": Reviews,
    "check": check,
    "plan": lambda table: planner.plan(table, search=Search(time_limit=5)),
    "assignment": assigned,
    "posterior": lsc.posterior,
    "lsc": lsc.calibrate,
    "average": METHODS["average"],
}
every_result = pytest.mark.parametrize("make", RESULTS.values(), ids=list(RESULTS))
every_frame = pytest.mark.parametrize("kind", BUILD)


@pytest.mark.slow
@every_frame
@every_result
def test_a_result_goes_out_as_what_the_reviews_came_in(make: Callable[[Any], Result], kind: str) -> None:
    result = make(BUILD[kind](TABLE))
    frame = result.to_frame()
    assert isinstance(frame, type(BUILD[kind]({})))
    for backend, build in BUILD.items():
        assert isinstance(result.to_frame(backend=backend), type(build({})))  # type: ignore[arg-type]
    json.dumps(plain(result.to_dict()), allow_nan=False)
    columns = frame.to_pydict() if kind == "pyarrow" else {name: frame[name].to_list() for name in frame.columns}
    # Labels that were whole numbers are.
    assert {type(label) for name in {"reviewer", "item"} & columns.keys() for label in columns[name]} == {int}


@every_result
def test_a_cell_shows_what_is_seen_first(make: Callable[[Any], Result]) -> None:
    result = make(pandas.DataFrame(TABLE))
    shown = Tree.fromstring(result._repr_html_())
    if isinstance(result, Reviews):
        assert [head.text for head in shown.findall(".//table/thead/tr/th")] == list(result.to_columns())
        assert len(shown.findall(".//table/tbody/tr")) == min(len(result.to_columns()["item"]), 10)
    page = result.summary()
    assert shown.findtext("./section/h2") == page.verdict.rstrip(":")
    assert [name.text for name in shown.findall("./section/dl/div/dt")] == [
        fact.name for fact in [*page.facts, *page.uploads] if isinstance(fact, Fact)
    ]
    assert not shown.findall(".//details")


@every_result
def test_labels_are_no_markup(make: Callable[[Any], Result]) -> None:
    result = make(
        pandas.DataFrame(TABLE)
        .replace({"reviewer": {1: HOSTILE}, "paper": {10: HOSTILE}})
        .astype({"reviewer": str, "paper": str})
    )
    page = result._repr_html_()
    assert "<script" not in page
    assert "\x1b" not in page
    if HOSTILE in str(result.summary()):
        assert "&lt;script&gt;" in page
    picture = result.plot()
    for text in (picture.svg, picture._repr_html_()):
        assert "<script" not in text
        Tree.fromstring(picture.svg)


@every_result
def test_every_picture_stands_alone(make: Callable[[Any], Result], tmp_path: Path) -> None:
    result = make(pandas.DataFrame(TABLE))
    with pytest.raises(InputError, match="name: expected ") as caught:
        result.plot("no such picture")
    names = re.findall(r"'(\w+)'", str(caught.value).partition(", found")[0])
    says_more = [name for name in names if not result.plot(name).instead]
    assert result.plot().name == [*says_more, *names][0]
    for name in names:
        picture = result.plot(name)
        assert isinstance(picture, Picture)
        assert repr(picture) == f"<Picture {name}: {picture.title}>"
        root = Tree.fromstring(picture.svg)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.findtext("{*}title") == picture.title
        assert root.findtext("{*}desc") == picture.words
        assert not re.search(r"href|url\(|@import|var\(", picture.svg)  # what converts pictures knows no variables
        picture.save(tmp_path / f"{name}.svg")
        assert (tmp_path / f"{name}.svg").read_text("utf-8") == picture.svg
        assert picture.title in picture._repr_html_()


def test_a_selection_shows_its_line() -> None:
    estimate = lsc.posterior(pandas.DataFrame(noisy()))
    assert [estimate.plot(name).name for name in (None, "severities")] == ["moved", "severities"]
    # Coarser scores leave some papers to discuss.
    coarse = pandas.DataFrame(noisy()).assign(score=lambda table: (table.score + 5 * table.index % 7).round())
    estimate = lsc.posterior(coarse)
    assert estimate.plot(n_selected=5).name == "line"
    assert "best 5" in estimate.plot("moved", n_selected=5).words
    with pytest.raises(InputError, match=r"n_selected: expected 0 to 16 items"):
        estimate.plot(n_selected=17)


def test_pictures_are_saved_whole_as_svg_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = check(pandas.DataFrame(TABLE)).plot()
    with pytest.raises(InputError, match=r"path: expected a name that ends with \.svg, .* found .*map\.gif'"):
        picture.save(tmp_path / "map.gif")
    (tmp_path / "map.svg").write_text("before")
    with monkeypatch.context() as full:
        full.setattr("os.replace", mock.Mock(side_effect=OSError(28, "No space left on device")))
        with pytest.raises(InputError, match=r"map\.svg: cannot be written \(No space left on device\)"):
            picture.save(tmp_path / "map.svg")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("map.svg", "before")]
    with pytest.raises(InputError, match=r"map\.svg: cannot be written \(No such file or directory\)"):
        picture.save(tmp_path / "nowhere" / "map.svg")


def test_what_is_empty_is_shown_and_not_drawn() -> None:
    empty = Reviews([], items=[])
    nothing = Reviews([("ann", "p1")])
    infeasible = planner.assign({(0, 0): 1.0}, demand=2)
    with pytest.raises(InputError, match=r"^to_frame: expected a result with rows, found none \(infeasible"):
        infeasible.to_frame(backend="pandas")
    for result in (empty, check(empty), METHODS["average"](nothing)):
        assert Tree.fromstring(result._repr_html_()).tag == "div"
        assert len(pandas.DataFrame(result.to_frame(backend="pandas"))) == len(next(iter(result.to_columns().values())))
    for shown in (empty, check(empty), METHODS["average"](nothing), infeasible):
        assert "<" in shown._repr_html_()
        with pytest.raises(InputError, match=r"plot: nothing to draw \("):
            shown.plot()


@every_frame
@pytest.mark.parametrize(
    "rows",
    [
        [(1, 10, 3.0), (1, 11, None), (2, 10, 4.5)],
        [("ann", "007", 3.0), ("bob", "8", None)],
        [("ann", 1, None), ("ann", 2, None)],
        [("ann", 1, 2.0)],
    ],
    ids=["numbers", "text", "planned", "one"],
)
def test_a_table_comes_back_as_it_was(kind: Any, rows: list[Any]) -> None:
    reviews = Reviews(rows)
    again = Reviews(reviews.to_frame(backend=kind))
    assert again.to_dict() == reviews.to_dict()
    assert again.backend == kind
    assert again.subset(again.scored)._with_labels(["zoe"]).add([("zoe", "new")]).backend == kind


@every_frame
def test_an_assignment_comes_back_as_the_previous_one_and_the_first_phase(kind: Any) -> None:
    affinity = {(reviewer, paper): float((reviewer * paper) % 5) for reviewer in range(6) for paper in range(6)}
    chosen = planner.assign(affinity, demand=2, load=3)
    for argument in ("previous", "phase_one"):
        again, *others = (
            planner.assign(affinity, demand=2, load=5, **{argument: given})
            for given in (chosen.reviews, chosen, chosen.to_frame(backend=kind))
        )
        assert all(again == other for other in others)


@pytest.mark.parametrize(
    "module",
    [
        *("reviewgraph", "planner", "lsc", "reviewgraph.graph.components", "reviewgraph.graph.precision"),
        *("lsc.programs", "lsc.seriation", "lsc.baselines", "lsc.pages.page"),
    ],
)
def test_no_public_function_takes_reviews_alone(module: str) -> None:
    home = import_module(module)
    names = getattr(home, "__all__", [name for name in vars(home) if not name.startswith("_")])
    for name in names:
        function = getattr(home, name)
        if inspect.isfunction(function) and (function.__module__ == module or "." not in module):
            for parameter in inspect.signature(function).parameters.values():
                if parameter.name in ("reviews", "like"):
                    assert "ReviewsLike" in str(parameter.annotation), f"{name}({parameter})"


def test_what_is_no_form_of_reviews_is_refused_and_rows_and_lazy_frames_are_taken() -> None:
    wrong: Any = object()
    with pytest.raises(InputError, match=r"reviews: expected Reviews, .* a data frame .*, found object"):
        check(wrong)
    with pytest.raises(InputError, match=r"like: expected Reviews, .* found object"):
        check(polars.DataFrame(TABLE), like=wrong)
    rows: Any = list(zip(*TABLE.values(), strict=True))
    expected = check(polars.DataFrame(TABLE)).to_dict()
    for given in (rows, polars.DataFrame(TABLE).lazy()):
        assert check(given).to_dict() == expected


def test_the_column_taken_of_several_is_said_and_can_be_chosen() -> None:
    frame = pandas.DataFrame({"judge": ["ann", "bob"], "email": ["a@x", "b@x"], "paper": [1, 1]})
    said = r"^frame: the reviewer is read .* 'email', not from 'judge' \(choose .* of Reviews\)$"
    with pytest.warns(ColumnWarning, match=said) as caught:
        check(frame)
    assert [warning.filename for warning in caught] == [__file__]
    chosen = Reviews(frame, columns={"reviewer": "judge"})
    assert tuple(chosen.reviewers) == ("ann", "bob")


def test_columns_are_asked_for_in_terms_of_python() -> None:
    frame = pandas.DataFrame({"who": [1], "paper": [1], "score": [1], "rating": [2]})
    with pytest.raises(InputError, match=r'with columns=\{"reviewer": "NAME"\} of Reviews'):
        check(frame)
    with pytest.raises(InputError, match=r'say which one, for example score="score"$'):
        Reviews(frame, columns={"reviewer": "who"})
    with pytest.raises(InputError, match=r'^columns=\{"item": "the paper"\}: there is no column'):
        Reviews(frame, columns={"item": "the paper"})
    with pytest.raises(InputError, match=r"^columns: expected one of reviewer, item, .*, found 'foo'"):
        Reviews(frame, columns={"foo": "who"})
    chosen = Reviews(frame, columns={"judge": "who", "paper": "paper"}, score="rating")
    assert (chosen.reviewers, chosen.items) == ((1,), (1,))
    with pytest.raises(InputError, match=r"^columns: expected one name for item, also called paper, found a "):
        Reviews(frame, columns={"item": "a", "paper": "b"})

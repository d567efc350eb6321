"""All results agree: a dictionary that is JSON, a data frame, one line, and pickling and copying without loss."""

import copy
import inspect
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import lsc
import planner
import reviewgraph
from lsc.methods import METHODS
from lsc.simulation import simulate
from reviewgraph import InputError, Reviews, check
from reviewgraph._base import Result, plain
from reviewgraph.graph import connected_components, doubly_connected_components, recoverability, structure_of

TABLE = Reviews(
    [("ann", "p1", 6.0), ("ann", "p2", 8.0), ("bob", "p2", 3.0), ("bob", "p3", None), ("cyd", "p4", 1.0)],
    titles={"p1": "On scales"},
    lower_is_better=True,
)
RESULTS: dict[str, Callable[[Reviews], Result]] = {
    "reviews": lambda reviews: reviews,
    "report": check,
    "structure": structure_of,
    "connected components": connected_components,
    "doubly connected components": doubly_connected_components,
    "recoverability": recoverability,
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
}

every_result = pytest.mark.parametrize("make", RESULTS.values(), ids=list(RESULTS))
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))


@every_way
def test_a_table_stays_read_only_and_whole(way: Callable[[Any], Any]) -> None:
    again = way(TABLE)
    assert again.titles == TABLE.titles
    assert again.lower_is_better
    assert again.items_of(0).tolist() == TABLE.items_of(0).tolist()
    for array in (again.reviewer, again.item, again.score, again.scored):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def undocumented(thing: Any) -> list[str]:
    """Return the names in ``dir()`` of a result that are modules, or that no docstring explains."""
    owner = type(thing)
    texts = "\n".join(inspect.getdoc(base) or "" for base in owner.__mro__)
    return [
        name
        for name in dir(thing)
        if not name.startswith("_")
        and (inspect.ismodule(getattr(thing, name)) or not inspect.getdoc(getattr(owner, name, None)))
        and not re.search(rf"^{name}$|^{name}, |, {name}$", texts, re.M)
    ]


@every_result
def test_results_list_only_what_is_documented(make: Callable[[Reviews], Result]) -> None:
    assert undocumented(make(TABLE)) == []


@pytest.mark.parametrize("package", [reviewgraph, planner, lsc])
def test_packages_list_only_what_is_public(package: ModuleType) -> None:
    assert dir(package) == sorted(package.__all__)
    modules = [getattr(package, name) for name in dir(package) if inspect.ismodule(getattr(package, name))]
    if package is reviewgraph:
        modules.remove(reviewgraph.graph)  # a front of its own
    for module in modules:
        homes = {name: getattr(getattr(module, name), "__module__", None) for name in dir(module)}
        assert dir(module) == sorted(module.__all__)
        assert set(homes.values()) == {module.__name__}


# What every result can do.


def noisy() -> Reviews:
    rows = [(f"r{j}", f"p{i}", 2.0 + i % 7 + j % 3 + (i * j) % 5 / 5) for j in range(8) for i in range(j, j + 6)]
    return Reviews(rows)


def assigned(reviews: Reviews) -> planner.Assignment:
    affinity = {(j, i): float(len(j + i)) for j in reviews.reviewers for i in reviews.items}
    return planner.assign(affinity, demand=2, load=6, target="none")


def impossible(reviews: Reviews) -> planner.Assignment:
    return planner.assign({(0, 0): 1.0}, demand=2)


FULL: dict[str, Callable[[Reviews], Result]] = {
    **RESULTS,
    "fragile": reviewgraph.graph.fragile,
    "keeps": lambda reviews: reviewgraph.graph.keeps(reviews, 0.1, draws=5),
    "plan": lambda reviews: reviewgraph.plan(reviews, n=3),
    "assignment": assigned,
    "posterior": lsc.posterior,
    "least squares": lsc.calibrate,
    "average": METHODS["average"],
    "verification": lambda reviews: reviewgraph.verify(check(reviews), reviews),
    "comparison": lambda reviews: lsc.compare(reviews, ["average", "centring"]),
    "simulation": lambda reviews: simulate(reviews.n_items, 8, 3, seed=0),
}
every_full_result = pytest.mark.parametrize("make", FULL.values(), ids=list(FULL))


@pytest.mark.usefixtures("infer_once")
@every_way
@pytest.mark.parametrize("make", [*FULL.values(), impossible], ids=[*FULL, "no assignment"])
def test_results_pickle_and_copy(make: Callable[[Reviews], Result], way: Callable[[Any], Any]) -> None:
    # Of so few reviews none can be predicted, by which methods are compared.
    result = make(noisy() if make is FULL["comparison"] else TABLE)
    again = way(result)
    assert type(again) is type(result)
    assert again.status is result.status
    assert repr((again, again.to_dict(), again.to_columns())) == repr((result, result.to_dict(), result.to_columns()))


@pytest.mark.usefixtures("infer_once")
@every_full_result
def test_a_result_prints_saves_and_compares(make: Callable[[Reviews], Result], tmp_path: Path) -> None:
    result = make(noisy())
    # Printed as its page, shown as a line.
    assert str(result) == result.summary().text()
    assert len(str(result).splitlines()) <= 24
    assert repr(result) == f"<{type(result).__name__}: {result.headline()}>"
    assert len(repr(result)) <= 120
    assert "\n" not in repr(result)
    assert result.status.text
    assert isinstance(result.reviews, Reviews)
    assert check(result).reviews == result.reviews
    # Equal where the content is.
    again = make(noisy())
    assert result == again
    assert result != TABLE
    with pytest.raises(TypeError, match="unhashable"):
        hash(result)
    # Tables by name.
    with pytest.raises(reviewgraph.InputError, match=r"^what: expected .*, found 'nothing'$") as caught:
        result.to_frame("nothing")
    names = re.findall(r"'(\w+)'", str(caught.value).partition(", found")[0])
    frames = {name: result.to_frame(name, backend="pandas") for name in names}
    assert frames[names[0]].equals(result.to_frame(backend="pandas"))
    assert list(frames[names[0]].columns) == list(result.to_columns())
    # Files by the end of the name, or none.
    for ending in ("json", "html", "csv", "xlsx"):
        result.save(tmp_path / f"it.{ending}")
    assert json.loads((tmp_path / "it.json").read_text("utf-8")) == plain(result.to_dict())
    assert (tmp_path / "it.html").read_text("utf-8").startswith("<!doctype html>")
    assert (tmp_path / "it.csv").read_text("utf-8").split("\n")[0].split(",") == list(result.to_columns())
    with pytest.raises(reviewgraph.InputError, match=r"ends with \.json, \.html, \.csv or \.xlsx, found .*it\.txt"):
        result.save(tmp_path / "it.txt")
    assert not (tmp_path / "it.txt").exists()


def test_tables_are_equal_by_content() -> None:
    reviews = noisy()
    frame = reviews.to_frame(backend="pandas")
    assert Reviews(frame.sample(frac=1.0, random_state=1)) == reviews
    assert Reviews(frame.assign(score=frame["score"] + (frame.index == 7))) != reviews
    assert reviews.subset(reviews.item > 0) != reviews
    planned = Reviews([("ann", 1, None), ("bob", 1, 2.0)])
    assert planned == Reviews([("bob", 1, 2.0), ("ann", 1, None)])


@pytest.mark.parametrize("ending", ["json", "csv", "xlsx"])
def test_a_saved_table_is_read_back(tmp_path: Path, ending: str) -> None:
    reviews = Reviews([("ann", "p1", 3.0), ("ann", "p2", 4.5), ("bob", "p2", 2.0)])
    path = tmp_path / f"reviews.{ending}"
    reviews.save(path)
    assert reviewgraph.read_reviews(path) == reviews


def test_a_plan_holds_the_reviews_with_it_and_what_is_new() -> None:
    table = Reviews([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)])
    plan = reviewgraph.plan(table)
    assert plan.reviews == table.add(plan)
    assert plan.reviews.n_reviews == table.n_reviews + len(plan.added)
    assert check(plan).level == "double"
    with pytest.raises(reviewgraph.InputError, match=r"^reviews: expected a result with rows, found none \(infeasible"):
        check(impossible(table))
    with pytest.raises(reviewgraph.InputError, match=r"found a Sample without reviews"):
        check(assigned_at_random().sample(3))


def assigned_at_random() -> planner.Assignment:
    affinity = {(j, i): 1.0 * (4 * j + i) for j in range(4) for i in range(4)}
    return planner.assign(affinity, demand=2, load=2, target="none", max_probability=0.75)


def test_old_names_warn_and_work() -> None:
    table = Reviews([("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)])
    plan = reviewgraph.plan(table)
    with pytest.warns(DeprecationWarning, match=r"^Plan\.reviews_with_plan is Plan\.reviews from now on; ") as caught:
        assert plan.reviews_with_plan == plan.reviews  # type: ignore[attr-defined]
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(DeprecationWarning, match=r"^Reviews\.page is Reviews\.summary from now on; "):
        assert str(table.page()) == str(table)  # type: ignore[attr-defined]
    with pytest.warns(
        DeprecationWarning, match=r"^to_frame\('pyarrow'\) is to_frame\(backend='pyarrow'\) from now on; "
    ):
        assert table.to_frame("pyarrow").num_rows == 4
    with pytest.raises(AttributeError, match=r"^'Reviews' object has no attribute 'n_rows'") as unknown:
        table.n_rows  # type: ignore[attr-defined]  # noqa: B018
    assert unknown.value.name == "n_rows"


@pytest.mark.parametrize("path", [3, None, b"x.json", "x\0.json"])
def test_what_is_no_name_of_a_file_is_refused(path: Any) -> None:
    with pytest.raises(reviewgraph.InputError, match="path: expected the name of a file, found"):
        Reviews([("ann", 1)]).save(path)


@pytest.mark.parametrize("method", ["lsc", "average"])
def test_labels_that_are_tuples_are_verified(method: str) -> None:
    reviews = Reviews([((who, 1), ("p", what), who + what + 1.0) for who in range(3) for what in range(4)])
    verification = reviewgraph.verify(reviewgraph.calibrate(reviews, method=method), reviews)
    assert verification.good is not False, str(verification)


def test_a_check_is_neither_true_nor_false() -> None:
    apart = check([("ann", "p1"), ("bob", "p2")])
    with pytest.raises(InputError, match=r"report\.reaches\('double'\)"):
        assert apart

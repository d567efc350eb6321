"""All results agree: a dictionary that is JSON, a data frame, one line, and pickling and copying without loss."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import lsc
import planner
import reviewgraph
from reviewgraph import Reviews, check, connected_components, doubly_connected_components, recoverability
from reviewgraph._base import Result, plain
from reviewgraph.graph import structure_of

TABLE = Reviews.from_pairs(
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


@every_result
def test_a_result_is_one_line_a_dictionary_and_a_frame(make: Callable[[Reviews], Result]) -> None:
    result = make(TABLE)
    assert repr(result) == f"<{type(result).__name__}: {result.headline()}>"
    assert len(repr(result)) <= 120
    assert "\n" not in repr(result)
    assert json.loads(json.dumps(plain(result.to_dict()))) == plain(result.to_dict())
    assert result._repr_html_().startswith("<div><")
    columns = result.to_columns()
    assert len({len(column) for column in columns.values()}) == 1
    for backend in ("pandas", "polars", "pyarrow"):
        frame: Any = result.to_frame(backend)  # type: ignore[arg-type]
        assert [str(name) for name in (frame.column_names if backend == "pyarrow" else frame.columns)] == list(columns)


@every_way
@every_result
def test_results_pickle_and_copy(make: Callable[[Reviews], Result], way: Callable[[Any], Any]) -> None:
    result = make(TABLE)
    again = way(result)
    assert type(again) is type(result)
    assert (again.to_dict(), again.to_columns(), repr(again)) == (result.to_dict(), result.to_columns(), repr(result))


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
    for module in modules:
        homes = {name: getattr(getattr(module, name), "__module__", None) for name in dir(module)}
        assert dir(module) == sorted(module.__all__)
        assert set(homes.values()) == {module.__name__}

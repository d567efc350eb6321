"""Docstrings of everything public, by numpydoc's own validation: parameters, results and an example are documented.

Types are in hints alone, so that the codes about types in docstrings are left out. An override with the parameters of
the method above it is documented there, once; an error needs no example.
"""

import importlib
import inspect
import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    validate = pytest.importorskip("numpydoc.validate")

PACKAGES = ("reviewgraph", "planner", "lsc")
#: No docstring or summary, undocumented, unknown and misordered parameters, no result, no yields, no example.
CODES = {"GL08", "SS01", "PR01", "PR02", "PR03", "PR07", "RT01", "YD01", "EX01"}
#: Methods of the library's own machinery, which users do not call: hooks of hypothesis classes and rules, and steps of
#: an assignment.
HOOKS = {"draw_scores", "equalities", "inequalities", "up_to", "fault", "terms", "words", "or_better", "short_of"}


def ours(thing: Any) -> bool:
    return getattr(thing, "__module__", "").partition(".")[0] in PACKAGES


def methods(owner: type) -> Iterator[str]:
    """Yield the public methods of a class as its most general class of ours has them, if parameters are equal."""
    for name in dir(owner):
        homes = [base for base in owner.__mro__ if name in vars(base) and ours(base)]
        raw = vars(homes[0])[name] if homes else None
        function = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
        if name.startswith("_") or name in HOOKS or not inspect.isfunction(function):
            continue
        first = homes[-1]
        above = vars(first)[name]
        alike = inspect.isfunction(above) and [*inspect.signature(above).parameters] == [
            *inspect.signature(function).parameters
        ]
        home = first if alike else homes[0]
        yield f"{home.__module__}.{home.__qualname__}.{name}"


def targets() -> list[str]:
    """Return dotted names of all public functions, classes and methods."""
    found: dict[str, None] = {}
    for package in map(importlib.import_module, PACKAGES):
        for name in package.__all__:
            thing = getattr(package, name)
            if inspect.ismodule(thing):
                public = [one for one in vars(thing).values() if inspect.isfunction(one) and ours(one)]
                mine = [one for one in public if one.__module__ == thing.__name__ and not one.__name__.startswith("_")]
                found |= dict.fromkeys(f"{thing.__name__}.{one.__name__}" for one in mine)
            elif inspect.isclass(thing):
                found |= {f"{package.__name__}.{name}": None} | dict.fromkeys(methods(thing))
            elif callable(thing):
                found[f"{package.__name__}.{name}"] = None
    return list(found)


def errors(name: str) -> list[str]:
    """Return what numpydoc finds in a docstring, of the classes asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = validate.validate(name)
        thing = validate.Validator._load_obj(name)
    error = inspect.isclass(thing) and issubclass(thing, BaseException)
    fields = inspect.isclass(thing) and not error
    kept = []
    for code, message in found["errors"]:
        # Private fields, enumerations and inherited fields are no parameters that anybody passes.
        if code not in CODES or (error and code == "EX01"):
            continue
        if code == "PR01" and fields and not undocumented(thing):
            continue
        # Rarer parameters are the keys of a TypedDict.
        if code == "PR02" and set(re.findall(r"'(\w+)'", message)) <= options_of(thing):
            continue
        kept.append(f"{name}: {code} {message}")
    return kept


def options_of(function: Any) -> set[str]:
    """Return the keywords that ``**options`` of a function takes."""
    hint = getattr(function, "__annotations__", {}).get("options", "")
    typed = getattr(function, "__globals__", {}).get(hint.removeprefix("Unpack[").removesuffix("]"))
    return set(typed.__annotations__) if typed else set()


def undocumented(owner: type) -> set[str]:
    """Return the fields of a class that neither it nor a class above documents."""
    own = set(inspect.signature(owner).parameters) if not issubclass(owner, str) else set()
    text = "\n".join(inspect.getdoc(base) or "" for base in owner.__mro__ if ours(base))
    lines = {word.strip("* ") for line in text.splitlines() for word in line.split(",")}
    return {name for name in own if not name.startswith("_") and name not in lines}


@pytest.mark.parametrize("name", targets())
def test_docstrings_are_complete(name: str) -> None:
    assert not errors(name)

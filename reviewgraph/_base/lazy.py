"""Fronts of packages: the names of ``__init__.pyi``, loaded when first used, and old names, which warn.

A stub is data: the names of packages above that it lists are found by name, so nothing here imports what stands above
it. It is read by the loader of its package, so that packages in an archive work, too.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pkgutil import get_data, resolve_name
from typing import Any

from reviewgraph._base.errors import say_foreign, warn
from reviewgraph._base.moved import MOVED


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package whose public names its stub lists.

    >>> get, listed = attach("reviewgraph")
    >>> get("InputError").__name__, "check" in listed()
    ('InputError', True)
    """
    return partial(load, package), partial(names, package)


def load(package: str, name: str) -> Any:
    """Return what a package calls by a name, also by an old one, which warns."""
    places, public = _read_stub(package)
    if name == "__all__":
        return public
    if name in places:
        value = _load(name, *places[name])
        setattr(sys.modules[package], name, value)
        return value
    if new := MOVED.get(f"{package}.{name}"):
        shown, _, place = new.partition(" = ")
        warn(f"{package}.{name} is {shown} from now on; the old name will be removed", DeprecationWarning)
        return _old(place or shown)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")


def names(package: str) -> list[str]:
    """Return the public names of a package."""
    return sorted(_read_stub(package)[1])


@cache
def _read_stub(package: str) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """Return the module of each name in a stub and its name there, "" for a module; and the public names."""
    text = get_data(package, "__init__.pyi") or b""
    places: dict[str, tuple[str, str]] = {}
    public = None
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom):
            home = ".".join(filter(None, (package if node.level else "", node.module)))
            if node.level > 1:
                home = f"{package.rpartition('.')[0]}.{node.module}"
            for alias in node.names:
                is_module = node.level == 1 and node.module is None
                places[alias.asname or alias.name] = (f"{home}.{alias.name}", "") if is_module else (home, alias.name)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            public = ast.literal_eval(node.value)
    return places, list(places) if public is None else public


def _load(name: str, module: str, attribute: str) -> Any:
    if message := say_foreign(name, module):
        raise ImportError(message)
    loaded = import_module(module)
    if attribute and not hasattr(loaded, attribute):  # a module that its package does not import
        return import_module(f"{module}.{attribute}")
    return getattr(loaded, attribute) if attribute else loaded


def _old(place: str) -> Any:
    """Return what stands at a dotted name now."""
    module, _, name = place.rpartition(".")
    if message := say_foreign(name, module):
        raise ImportError(message)
    return resolve_name(place)

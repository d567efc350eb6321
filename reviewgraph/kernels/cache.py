"""Compiled kernels on disk: what is valid, told without importing Numba, and what is broken, compiled again."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, ParamSpec, TypeVar

from reviewgraph.kernels.interrupts import whole

P = ParamSpec("P")
R = TypeVar("R")

announced = False


def compile_cached(function: Callable[P, R], source: Callable[P, R], *, within: bool = False) -> Callable[P, R]:
    """Compile a function whose callees are compiled already; its code is kept where a folder can be written.

    Parameters
    ----------
    function
        What to compile.
    source
        The same as its module defines it, by which the entry is known.
    within
        Whether compiled code alone calls it: what takes arguments from Python is then left out.
    """
    with whole():
        from reviewgraph.kernels.entries import Dispatcher, entries_of

        announce()
    dispatcher = Dispatcher(function, within=within)
    entries = entries_of(function, stamp(source), within=within)
    if entries is not None:
        dispatcher._cache = entries  # what cache=True does, with entries that heal
    return dispatcher


def family(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Return the function of a kernel and those of all kernels it calls, near or far."""
    found = [function]
    for part in found:  # grows on the way
        for name in sorted(set(part.__code__.co_names)):
            called = getattr(part.__globals__.get(name), "__wrapped__", None)
            if called is not None and called not in found:
                found.append(called)
    return found


@cache
def stamp(function: Callable[..., Any]) -> str:
    """Return a digest of the code of a kernel, of all kernels it calls and of the numbers they name.

    Numba itself looks at the file of the kernel alone, and would run old code of kernels from other files.
    """
    digest = hashlib.sha256()
    for part in family(function):
        code = part.__code__
        digest.update(f"{part.__module__}.{part.__qualname__} {code.co_code.hex()} {constants(code)}".encode())
        for name in code.co_names:
            value = part.__globals__.get(name)
            if isinstance(value, bool | int | float | str):
                digest.update(f" {name}={value!r}".encode())
            else:
                digest.update(f" {name}{getattr(value, '_fields', '')}".encode())
    return digest.hexdigest()


def constants(code: CodeType) -> str:
    """Return the constants of a code object, without the addresses of nested code."""
    return repr([const.co_code.hex() if isinstance(const, CodeType) else const for const in code.co_consts])


@cache
def is_cached(function: Callable[..., Any]) -> bool:
    """Whether some folder of the cache holds an index of this function's very code.

    A digest cannot stand in an index by chance, so that it need not be unpickled, which would import Numba.
    """
    source = Path(function.__code__.co_filename)
    version = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
    name = f"{source.stem}.{function.__name__}-{function.__code__.co_firstlineno}.{version}.nbi"
    wanted = stamp(function).encode()
    for index in (place / name for place in folders(source)):
        try:
            if wanted in index.read_bytes():
                return True
        except OSError:
            continue
    return False


def folders(source: Path) -> list[Path]:
    """Where Numba may keep the code of a file: a folder named by the user, beside the source, or the user's cache."""
    shared = os.environ.get("NUMBA_CACHE_DIR")
    homes = [Path(shared)] if shared else [Path.home() / ".cache/numba", Path.home() / "Library/Caches/numba"]
    if not shared and os.environ.get("XDG_CACHE_HOME"):
        homes.append(Path(os.environ["XDG_CACHE_HOME"]) / "numba")
    if not shared and os.environ.get("LOCALAPPDATA"):
        homes.append(Path(os.environ["LOCALAPPDATA"]) / "numba")
    below = hashlib.sha1(str(source.parent).encode(), usedforsecurity=False).hexdigest()
    named = [home / f"{source.parent.name}_{below}" for home in homes]
    deeper = [home / "numba" / "Cache" / f"{source.parent.name}_{below}" for home in homes]
    return [*([] if shared else [source.parent / "__pycache__"]), *named, *deeper]


def announce() -> None:
    """Say once, on stderr, that a first run compiles; loading from the cache says nothing."""
    global announced
    if announced:
        return
    announced = True
    from numba.core import event

    class Announce(event.Listener):  # type: ignore[misc]
        said = False

        def on_start(self, event: object) -> None:
            if not Announce.said:
                Announce.said = True
                print("reviewgraph: compiling kernels (once; later runs reuse them)", file=sys.stderr)

        def on_end(self, event: object) -> None:
            pass

    event.register("numba:compile", Announce())

"""Kernels: plain functions of arrays, compiled by Numba when the work is large enough to repay it.

Importing Numba costs more than checking a conference of a thousand papers does in plain Python, so a kernel
runs as it is written on small input and is compiled on large input. Both give the same answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Elements in the array arguments from which compiling pays: plain Python takes a microsecond for each, and
#: importing Numba and loading a compiled kernel from the cache about two seconds.
COMPILE_FROM = 60_000

_announced = False


class Kernel(Generic[P, R]):
    """A function of arrays in two forms, as written and compiled.

    Parameters
    ----------
    function
        Written in the part of Python that Numba compiles. Other kernels it calls must stand in its module.
    always
        Compile whatever the size (for kernels whose callers have already paid for Numba).
    """

    def __init__(self, function: Callable[P, R], *, always: bool = False) -> None:
        self.python = function
        self.always = always
        self._compiled: Callable[P, R] | None = None
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__wrapped__ = function

    @property
    def compiled(self) -> Callable[P, R]:
        """The compiled form; compiled code is kept on disk between runs where a folder can be written."""
        if self._compiled is None:
            self._compiled = _compile(self.python)
        return self._compiled

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the form that is faster on these arguments."""
        if self.always or self._compiled is not None or _size(args) >= COMPILE_FROM or "numba" in sys.modules:
            return self.compiled(*args, **kwargs)
        return self.python(*args, **kwargs)


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a function of arrays as a kernel that is compiled when its input is large."""
    return Kernel(function)


def _size(args: tuple[Any, ...]) -> int:
    return sum(int(getattr(arg, "size", 0)) for arg in args)


def _compile(function: Callable[P, R]) -> Callable[P, R]:
    import numba

    _listen()
    names = function.__globals__
    resolved = {
        name: value.compiled if isinstance(value, Kernel) and name in function.__code__.co_names else value
        for name, value in names.items()
    }
    copy = FunctionType(function.__code__, resolved, function.__name__, function.__defaults__)
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__name__
    try:
        return numba.njit(cache=True, nogil=True)(copy)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder to keep compiled code in: a read-only installation without a home
        return numba.njit(nogil=True)(copy)  # type: ignore[no-any-return]


def _listen() -> None:
    """Say once, on stderr, that a first run compiles; loading from the cache says nothing."""
    global _announced
    if _announced:
        return
    _announced = True
    from numba.core import event

    class Announce(event.Listener):  # type: ignore[misc]
        said = False

        def on_start(self, event: object) -> None:
            if not Announce.said:
                Announce.said = True
                print("reviewgraph: compiling kernels for large tables (once; later runs reuse them)", file=sys.stderr)

        def on_end(self, event: object) -> None:
            pass

    event.register("numba:compile", Announce())

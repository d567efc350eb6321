"""Kernels: plain functions of arrays, compiled by Numba when the work repays it.

Importing Numba and compiling costs more than checking a conference of a few thousand papers does in plain Python.
So a kernel runs as it is written until it has seen a certain amount of input, and compiled from then on. Both
forms give the same answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Array elements that a kernel takes as plain Python before it is compiled. Plain Python needs 1 to 8 microseconds
#: for each; importing Numba takes one to two seconds, compiling a kernel three to eight, loading it again 0.1.
COMPILE_AFTER = 1_000_000

_announced = False


class Kernel(Generic[P, R]):
    """A function of arrays in two forms, as written and compiled.

    Parameters
    ----------
    function
        Written in the part of Python that Numba compiles.
    compile_after
        Array elements to take as plain Python before compiling.
    """

    def __init__(self, function: Callable[P, R], *, compile_after: int = COMPILE_AFTER) -> None:
        self.function = function
        self.credit = compile_after
        self._python: Callable[P, R] | None = None
        self._compiled: Callable[P, R] | None = None
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__wrapped__ = function

    @property
    def python(self) -> Callable[P, R]:
        """The form as written, all through: kernels that it calls are not compiled either."""
        if self._python is None:
            self._python = _linked(self.function, "python")
        return self._python

    @property
    def compiled(self) -> Callable[P, R]:
        """The compiled form; compiled code is kept on disk between runs where a folder can be written."""
        if self._compiled is None:
            self._compiled = _compile(_linked(self.function, "compiled"))
        return self._compiled

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the form that is faster on these arguments."""
        if self.credit > 0:
            self.credit -= _size(args)
        if self.credit > 0:
            return self.python(*args, **kwargs)
        return self.compiled(*args, **kwargs)


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a function of arrays as a kernel that is compiled when it has enough to do."""
    return Kernel(function)


def patient_kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a kernel that is quick in plain Python and slow to compile."""
    return Kernel(function, compile_after=3 * COMPILE_AFTER)


def _size(arg: Any) -> int:
    if isinstance(arg, tuple):
        return sum(map(_size, arg))
    return int(getattr(arg, "size", 0))


def _linked(function: Callable[P, R], form: str) -> Callable[P, R]:
    """Return a copy of a function whose calls of kernels go to one form of them."""
    names = {
        name: getattr(value, form) if isinstance(value, Kernel) and name in function.__code__.co_names else value
        for name, value in function.__globals__.items()
    }
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__name__
    return copy


def _compile(function: Callable[P, R]) -> Callable[P, R]:
    import numba

    _listen()
    try:
        return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder to keep compiled code in: a read-only installation without a home
        return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]


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
                print("reviewgraph: compiling kernels (once; later runs reuse them)", file=sys.stderr)

        def on_end(self, event: object) -> None:
            pass

    event.register("numba:compile", Announce())

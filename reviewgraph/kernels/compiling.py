"""Kernels: plain functions of arrays, compiled by Numba when the work repays it.

Importing Numba costs more than checking a conference of some ten thousand papers does in plain Python, and compiling
costs more again. So each call says what it would cost as it is written, and :class:`Policy`, the one place to set
this, weighs that against the price of compiled code: a small one where it lies in the cache. Both forms give the
same answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

P = ParamSpec("P")
R = TypeVar("R")

#: Seconds that plain Python takes for one element of the arrays it is given, unless a kernel says otherwise.
ELEMENT = 4e-6
#: Seconds that plain Python takes for one step of an inner loop: a few reads of lists and a comparison.
STEP = 0.3e-6
#: Seconds for one element that is copied to a list and back.
COPY = 0.05e-6


@dataclass
class Policy:
    """When compiled code pays, all in seconds.

    What plain Python has cost so far counts with what a call will cost: whoever waits until the sum exceeds the price
    pays at most twice the least possible, whatever comes. The import is shared by all kernels, the rest by none.

    Parameters
    ----------
    importing
        Loading Numba, once a process.
    loading
        Reading one compiled kernel from the cache.
    compiling
        Compiling one byte of the bytecode of a kernel and of those it calls, where the cache has none that is valid.
    reuse
        Runs that share the price of compiling, later ones finding the code in the cache.
    trifle
        Work that a search to come, see :meth:`expect`, does not make worth compiling for.
    spent
        What all kernels have cost as plain Python in this process, as estimated.
    expected
        What is known to come.
    forced
        Whether everything is compiled, see :meth:`at_once`.
    left
        Tells the seconds that the search under way has left, see :meth:`within`; None where nothing ends it.
    """

    importing: float = 0.3
    loading: float = 0.03
    compiling: float = 0.7e-3
    reuse: float = 3.0
    trifle: float = 0.1
    spent: float = 0.0
    expected: float = 0.0
    forced: bool = False
    left: Callable[[], float] | None = None

    def expect(self, seconds: float) -> None:
        """Announce a long job, so that its kernels are compiled at once and not after a trial."""
        self.expected = max(self.expected, seconds)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Compile every kernel that is called within."""
        before, self.forced = self.forced, True
        try:
            yield
        finally:
            self.forced = before

    @contextmanager
    def within(self, left: Callable[[], float]) -> Iterator[None]:
        """Compile nothing for later for which a search has no time left."""
        before, self.left = self.left, left
        try:
            yield
        finally:
            self.left = before

    def has_time(self, kernel: Kernel[..., Any]) -> bool:
        """Whether the compiled form of a kernel is there before the search ends."""
        if self.left is None or kernel.is_loaded or kernel.is_cached:
            return True
        return self.compiling * kernel.bytecode < self.left()

    def fits(self, kernel: Kernel[..., Any], seconds: float) -> bool:
        """Whether to begin with work of so many seconds in plain Python: not where it waits for a compiler too long."""
        return self.has_time(kernel) or not self.pays(kernel, seconds)

    def pays(self, kernel: Kernel[..., Any], seconds: float) -> bool:
        """Whether to run the compiled form of a kernel for work that takes so long in plain Python."""
        if kernel.is_loaded or self.forced:
            return True
        if not self.has_time(kernel):  # what later work and later runs gain does not count then
            return self.compiling * kernel.bytecode < seconds
        to_come = seconds + (self.expected if seconds >= self.trifle else 0.0)
        own, shared = kernel.spent + to_come, self.spent + to_come
        importing = 0.0 if "numba" in sys.modules else self.importing
        if own < self.loading or shared < importing + self.loading:
            return False
        price = self.loading if kernel.is_cached else self.compiling * kernel.bytecode / self.reuse
        return own >= price and shared >= importing + price


#: The policy of this process.
POLICY = Policy()


class Kernel(Generic[P, R]):
    """A function of arrays in two forms, as written and compiled.

    Parameters
    ----------
    function
        Written in the part of Python that Numba compiles.
    element
        Seconds that it takes as plain Python for one element of its arrays.
    in_lists
        The plain form works on lists, which Python reads three times as fast as arrays; they are copied back at the
        end. Such a function takes lengths by ``len``, and its arrays have one dimension and are not sliced.
    """

    def __init__(self, function: Callable[P, R], *, element: float = ELEMENT, in_lists: bool = False) -> None:
        self.function = function
        self.element = element
        self.in_lists = in_lists
        self.spent = 0.0
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__wrapped__ = function

    @cached_property
    def inner(self) -> Callable[P, R]:
        """The plain form as other plain kernels call it, with whatever they hold: lists or arrays."""
        return linked(self.function, "inner")

    @cached_property
    def python(self) -> Callable[P, R]:
        """The form as written, all through: kernels that it calls are not compiled either."""
        return on_lists(self.inner) if self.in_lists else self.inner

    @cached_property
    def compiled(self) -> Callable[P, R]:
        """The compiled form; compiled code is kept on disk between runs where a folder can be written."""
        from reviewgraph.kernels.cache import compile_cached

        return compile_cached(linked(self.function, "within"), self.function)

    @cached_property
    def within(self) -> Callable[P, R]:
        """The compiled form as other compiled kernels call it, without the door from Python: more than half of it."""
        from reviewgraph.kernels.cache import compile_cached

        if self.is_loaded:
            return self.compiled
        return compile_cached(linked(self.function, "within"), self.function, within=True)

    @property
    def is_loaded(self) -> bool:
        """Whether the compiled form has been asked for already, and Ctrl-C did not come in between."""
        return "compiled" in self.__dict__ and getattr(self.compiled, "is_whole", True)

    @property
    def is_cached(self) -> bool:
        """Whether the cache on disk holds compiled code of this very source."""
        from reviewgraph.kernels.cache import is_cached

        return is_cached(self.function)

    @cached_property
    def bytecode(self) -> int:
        """Bytes of its bytecode and of that of the kernels it calls."""
        from reviewgraph.kernels.cache import family

        return sum(len(part.__code__.co_code) for part in family(self.function))

    def form(self, seconds: float) -> Callable[P, R]:
        """Return the form that suits work which takes so many seconds in plain Python."""
        if POLICY.pays(self, seconds):
            return self.compiled
        self.spent += seconds
        POLICY.spent += seconds
        return self.python

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the form that is faster on these arguments."""
        if self.is_loaded:  # there is nothing to weigh, and to count elements would take longer than small tables do
            return self.compiled(*args, **kwargs)
        return self.form(self.element * elements(args))(*args, **kwargs)


@overload
def kernel(function: Callable[P, R]) -> Kernel[P, R]: ...
@overload
def kernel(*, element: float = ..., in_lists: bool = ...) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def kernel(function: Callable[P, R] | None = None, *, element: float = ELEMENT, in_lists: bool = False) -> Any:
    """Mark a function of arrays as a kernel that is compiled when it has enough to do.

    >>> @kernel(in_lists=True)
    ... def total(values):
    ...     found = 0
    ...     for value in values:
    ...         found += value
    ...     return found
    >>> total(np.arange(4)), total.is_loaded
    (6, False)
    """
    if function is None:
        return lambda given: Kernel(given, element=element, in_lists=in_lists)
    return Kernel(function, element=element, in_lists=in_lists)


def elements(arg: Any) -> int:
    """Elements of all arrays in an argument."""
    if isinstance(arg, tuple):
        return sum(map(elements, arg))
    return int(getattr(arg, "size", 0))


def linked(function: Callable[P, R], form: str) -> Callable[P, R]:
    """Return a copy of a function whose calls of kernels go to one form of them."""
    names = {
        name: getattr(value, form) if isinstance(value, Kernel) and name in function.__code__.co_names else value
        for name, value in function.__globals__.items()
    }
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__name__
    return copy


def on_lists(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function of arrays on lists, and copy back to the arrays that can be written."""

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        lists: dict[int, tuple[npt.NDArray[Any], list[Any]]] = {}

        def as_lists(arg: Any) -> Any:
            if isinstance(arg, np.ndarray):
                return lists.setdefault(id(arg), (arg, arg.tolist()))[1]
            if isinstance(arg, tuple):
                parts = map(as_lists, arg)
                return type(arg)(*parts) if hasattr(arg, "_fields") else tuple(parts)
            return arg

        found = function(*map(as_lists, args), **kwargs)
        for array, values in lists.values():
            if array.flags.writeable:
                array[...] = values
        return found

    return run

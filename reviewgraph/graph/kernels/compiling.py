"""Kernels: plain functions of arrays, compiled by Numba when the work repays it.

Importing Numba takes longer than checking a conference of some ten thousand papers in plain Python, and compiling takes
longer again. So each call estimates its cost in plain Python, and :class:`Policy` weighs that against the price of
compiled code, which is small where the cache on disk holds it. Both forms return the same results.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


P = ParamSpec("P")
R = TypeVar("R")

#: Seconds of plain Python per element of the arrays of a kernel, unless the kernel states another value.
ELEMENT = 4e-6
#: Seconds of plain Python per step of an inner loop: a few reads of lists and a comparison.
STEP = 0.3e-6
#: Seconds per element that is copied to a list and back.
COPY = 0.05e-6


@dataclass
class Policy:
    """When compiled code pays, all in seconds.

    Past cost in plain Python counts with that of the next call: compiling when the sum exceeds the price costs at most
    twice the minimum, whatever comes. The import is shared by all kernels, the rest by none.
    """

    importing: float = 0.3  # Loading Numba, once per process
    loading: float = 0.03  # Reading one compiled kernel from the cache
    compiling: float = 0.7e-3  # Per byte of bytecode of a kernel and its callees, where the cache has no valid code
    reuse: float = 3.0  # Runs that share the price of compiling, later ones reading the cache
    trifle: float = 0.1  # Work below this is not compiled for the sake of an expected search, see :meth:`expect`
    spent: float = 0.0  # Estimated time of all kernels as plain Python in this process
    expected: float = 0.0  # Expected work to come
    forced: bool = False  # Whether everything is compiled, see :meth:`at_once`
    left: Callable[[], float] | None = None  # Remaining seconds of the current search, see :meth:`within`

    def expect(self, seconds: float) -> None:
        """Announce a long job, so that its kernels are compiled at once and not after a trial."""
        self.expected = max(self.expected, seconds)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Compile every kernel that is called within."""
        before = self.forced
        self.forced = True
        try:
            yield
        finally:
            self.forced = before

    @contextmanager
    def within(self, left: Callable[[], float]) -> Iterator[None]:
        """Compile only what is ready before a search runs out of time."""
        before = self.left
        self.left = left
        try:
            yield
        finally:
            self.left = before

    def has_time(self, kernel: Kernel[..., Any]) -> bool:
        """Whether the compiled form of a kernel is ready before the search ends."""
        if self.left is None or kernel.is_loaded or kernel.is_cached:
            return True
        return self.compiling * kernel.bytecode < self.left()

    def fits(self, kernel: Kernel[..., Any], seconds: float) -> bool:
        """Whether work of this many seconds in plain Python can begin without waiting too long for the compiler."""
        return self.has_time(kernel) or not self.pays(kernel, seconds)

    def pays(self, kernel: Kernel[..., Any], seconds: float) -> bool:
        """Whether the compiled form of a kernel pays for work of this many seconds in plain Python."""
        if kernel.is_loaded or self.forced:
            return True
        if not self.has_time(kernel):  # gains of later work and later runs do not count then
            return self.compiling * kernel.bytecode < seconds
        to_come = seconds + (self.expected if seconds >= self.trifle else 0.0)
        own = kernel.spent + to_come
        shared = self.spent + to_come
        importing = 0.0 if "numba" in sys.modules else self.importing
        if own < self.loading or shared < importing + self.loading:
            return False
        price = self.loading if kernel.is_cached else self.compiling * kernel.bytecode / self.reuse
        return own >= price and shared >= importing + price


#: The policy of this process.
POLICY = Policy()


class Kernel(Generic[P, R]):
    """A function of arrays in two forms, as written and compiled.

    ``element`` is the time of plain Python per element of its arrays. With ``in_lists`` the plain form works on lists,
    which Python reads three times as fast as arrays, and which are copied back at the end; such a function computes
    lengths by ``len``, and its arrays have one dimension and are not sliced.
    """

    def __init__(
        self, function: Callable[P, R], *, element: float = ELEMENT, in_lists: bool = False, vectorised: bool = False
    ) -> None:
        vars(function)["vectorised"] = vectorised  # for the compiler and the stamp, which see the function alone
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
        """The plain form as other plain kernels call it, on their lists or arrays."""
        return linked(self.function, "inner")

    @cached_property
    def python(self) -> Callable[P, R]:
        """The plain form; kernels that it calls are not compiled either."""
        return on_lists(self.inner) if self.in_lists else self.inner

    @cached_property
    def compiled(self) -> Callable[P, R]:
        """The compiled form; its code is cached on disk between runs where a folder is writable."""
        return compile_cached(linked(self.function, "within"), self.function)

    @cached_property
    def within(self) -> Callable[P, R]:
        """The compiled form for other compiled kernels, without the wrapper for Python, more than half of the code."""
        if self.is_loaded:
            return self.compiled
        return compile_cached(linked(self.function, "within"), self.function, within=True)

    @property
    def is_loaded(self) -> bool:
        """Whether the compiled form exists, not interrupted by Ctrl-C."""
        return "compiled" in self.__dict__ and getattr(self.compiled, "is_whole", True)

    @property
    def is_cached(self) -> bool:
        """Whether the cache on disk holds compiled code of this source."""
        return is_cached(self.function)

    @cached_property
    def bytecode(self) -> int:
        """Bytes of its bytecode and that of the kernels it calls."""
        return sum(len(part.__code__.co_code) for part in family(self.function))

    def form(self, seconds: float) -> Callable[P, R]:
        """Return the faster form for work of this many seconds in plain Python."""
        if POLICY.pays(self, seconds):
            return self.compiled
        self.spent += seconds
        POLICY.spent += seconds
        return self.python

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the faster form on these arguments."""
        if self.is_loaded:  # no need to weigh: counting elements would take longer than small tables
            return self.compiled(*args, **kwargs)
        return self.form(self.element * elements(args))(*args, **kwargs)


@overload
def kernel(function: Callable[P, R]) -> Kernel[P, R]: ...
@overload
def kernel(
    *, element: float = ..., in_lists: bool = ..., vectorised: bool = ...
) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def kernel(
    function: Callable[P, R] | None = None,
    *,
    element: float = ELEMENT,
    in_lists: bool = False,
    vectorised: bool = False,
) -> Any:
    """Mark a function of arrays as a kernel that is compiled when the work repays it.

    ``vectorised``: its loops do several elements at once, for which sums may be added in another order, and a division
    by zero is no error but an infinity.

    >>> @kernel(in_lists=True)
    ... def total(values):
    ...     result = 0
    ...     for value in values:
    ...         result += value
    ...     return result
    >>> total(np.arange(4)), total.is_loaded
    (6, False)
    """
    if function is None:
        return partial(Kernel, element=element, in_lists=in_lists, vectorised=vectorised)
    return Kernel(function, element=element, in_lists=in_lists, vectorised=vectorised)


def elements(arg: Any) -> int:
    """Elements of all arrays in an argument."""
    if isinstance(arg, tuple):
        return sum(map(elements, arg))
    return int(getattr(arg, "size", 0))


def linked(function: Callable[P, R], form: str) -> Callable[P, R]:
    """Return a copy of a function that calls one form of kernels."""
    names = {
        name: getattr(value, form) if isinstance(value, Kernel) and name in function.__code__.co_names else value
        for name, value in function.__globals__.items()
    }
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__name__
    return copy


def on_lists(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function of arrays on lists, and copy them back to writable arrays."""

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        lists: dict[int, tuple[npt.NDArray[Any], list[Any]]] = {}

        def as_lists(arg: Any) -> Any:
            if isinstance(arg, np.ndarray):
                return lists.setdefault(id(arg), (arg, arg.tolist()))[1]
            if isinstance(arg, tuple):
                parts = map(as_lists, arg)
                return type(arg)(*parts) if hasattr(arg, "_fields") else tuple(parts)
            return arg

        result = function(*map(as_lists, args), **kwargs)
        for array, values in lists.values():
            if array.flags.writeable:
                array[...] = values
        return result

    return run


# Compilation, and the cache of compiled code on disk, whose validity is checked without importing Numba.


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C while modules load, since a half-loaded module fails later imports; in the main thread only."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *call: came.append(call))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if came:
            usual(*came[0])


announced = False


def compile_cached(function: Callable[P, R], source: Callable[P, R], *, within: bool = False) -> Callable[P, R]:
    """Compile a function whose callees are compiled already, and cache its code on disk where a folder is writable.

    ``source`` is the function as its module defines it, by which the entry is identified; ``within`` leaves out the
    wrapper for Python, for a function that only compiled code calls.
    """
    with uninterrupted():
        announce()
        from reviewgraph.graph.kernels.dispatching import Dispatcher, entries_of
    dispatcher = Dispatcher(function, within=within, vectorised=is_vectorised(source))
    entries = entries_of(function, stamp(source), within=within)
    if entries is not None:
        dispatcher._cache = entries  # as cache=True does, with checksummed entries
    return dispatcher


def family(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Return a function and those of all kernels it calls, directly or not."""
    members = [function]
    for part in members:  # grows on the way
        for name in sorted(set(part.__code__.co_names)):
            called = getattr(part.__globals__.get(name), "__wrapped__", None)
            if called is not None and called not in members:
                members.append(called)
    return members


def is_vectorised(function: Callable[..., Any]) -> bool:
    """Whether the loops of a kernel may do several elements at once."""
    return bool(vars(function).get("vectorised"))


@cache
def stamp(function: Callable[..., Any]) -> str:
    """Return a digest of the code of a kernel, of all kernels it calls and of the numbers they name.

    Numba itself checks the file of the kernel alone, and would run old code of kernels from other files.
    """
    digest = hashlib.sha256()
    for part in family(function):
        code = part.__code__
        # Constants without the addresses of nested code.
        constants = repr([const.co_code.hex() if isinstance(const, CodeType) else const for const in code.co_consts])
        digest.update(f"{part.__module__}.{part.__qualname__} {code.co_code.hex()} {constants}".encode())
        digest.update(f" vectorised={is_vectorised(part)}".encode())
        for name in code.co_names:
            value = part.__globals__.get(name)
            if isinstance(value, bool | int | float | str):
                digest.update(f" {name}={value!r}".encode())
            else:
                digest.update(f" {name}{getattr(value, '_fields', '')}".encode())
    return digest.hexdigest()


@cache
def is_cached(function: Callable[..., Any]) -> bool:
    """Whether some folder of the cache holds an index of this function's code.

    Its digest cannot occur in an index by chance, so that the index need not be unpickled, which would import Numba.
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
    """Return where Numba may cache the code of a file: NUMBA_CACHE_DIR, beside the source, or the user's cache."""
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
    """Print once, on stderr, that a first run compiles; nothing when code is loaded from the cache."""
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

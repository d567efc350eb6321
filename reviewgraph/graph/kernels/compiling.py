"""Kernels: plain functions of arrays, compiled by Numba when the work repays it.

Importing Numba costs more than checking a conference of some ten thousand papers does in plain Python, and compiling
costs more again. So each call says what it would cost as it is written, and :class:`Policy`, the one place to set
this, weighs that against the price of compiled code: a small one where it lies in the cache. Both forms give the
same answers.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.types.misc import unliteral

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
    """

    importing: float = 0.3  # Loading Numba, once a process
    loading: float = 0.03  # Reading one compiled kernel from the cache
    # Compiling one byte of the bytecode of a kernel and of those it calls, where the cache has none that is valid
    compiling: float = 0.7e-3
    reuse: float = 3.0  # Runs that share the price of compiling, later ones finding the code in the cache
    trifle: float = 0.1  # Work that a search to come, see :meth:`expect`, does not make worth compiling for
    spent: float = 0.0  # What all kernels have cost as plain Python in this process, as estimated
    expected: float = 0.0  # What is known to come
    forced: bool = False  # Whether everything is compiled, see :meth:`at_once`
    # Tells the seconds that the search under way has left, see :meth:`within`; None where nothing ends it
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
    """A function of arrays in two forms, as written and compiled."""

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
        return compile_cached(linked(self.function, "within"), self.function)

    @cached_property
    def within(self) -> Callable[P, R]:
        """The compiled form as other compiled kernels call it, without the door from Python: more than half of it."""
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
        return is_cached(self.function)

    @cached_property
    def bytecode(self) -> int:
        """Bytes of its bytecode and of that of the kernels it calls."""
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


# Ctrl-C while the compiler loads, which waits, and while it compiles, which is not lost; in the main thread only.


@contextmanager
def whole() -> Iterator[None]:
    """Let Ctrl-C wait until what is loaded is there; in the main thread only.

    A module half loaded fails whoever needs it afterwards, and the best plan found so far may.
    """
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


@contextmanager
def heeded() -> Iterator[None]:
    """Raise Ctrl-C at the end where it came while C called back: such calls print what is raised in them and lose it.

    What then fails, for the call did not do its work, is no error of ours. In the main thread only.
    """
    usual, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    came: list[KeyboardInterrupt] = []

    def note(number: int, frame: FrameType | None) -> None:
        try:
            usual(number, frame)
        except KeyboardInterrupt as stopped:
            came.append(stopped)
            raise

    signal.signal(signal.SIGINT, note)
    sys.unraisablehook = lambda lost: None if lost.exc_value in came else hook(lost)
    try:
        yield
    except Exception:
        if not came:
            raise
    finally:
        signal.signal(signal.SIGINT, usual)
        sys.unraisablehook = hook
    if came:
        raise came[0]


# Compiled kernels on disk: what is valid, told without importing Numba, and what is broken, compiled again.

announced = False


def compile_cached(function: Callable[P, R], source: Callable[P, R], *, within: bool = False) -> Callable[P, R]:
    """Compile a function whose callees are compiled already; its code is kept where a folder can be written."""
    with whole():
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


# Numba's compiler, asked for no more than kernels need, and its cache with entries that prove themselves.

DIGEST = hashlib.sha256().digest_size


class Dispatcher(CPUDispatcher):  # type: ignore[misc]
    """What ``numba.njit`` makes of a function, less what takes long to compile and is never used."""

    def __init__(self, function: Callable[..., Any], *, within: bool) -> None:
        options = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": within}
        super().__init__(function, targetoptions=options)
        self.is_whole = True

    def compile(self, sig: Any) -> Any:
        """Compile for arguments of some types; after Ctrl-C ``is_whole`` is false, and the next call begins anew."""
        self.is_whole = False
        with heeded():
            found = super().compile(sig)
            self.is_whole = True
        return found

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile for numbers at large where a kernel is called with a constant: no copy for each of them."""
        args = tuple(map(unliteral, args))
        return super().get_call_template(args, {name: unliteral(kind) for name, kind in kws.items()})


class SoundFile(IndexDataCacheFile):  # type: ignore[misc]
    """Index and data, each before its digest: half a file, or a file of zeros, is never run."""

    def _dump(self, obj: object) -> bytes:
        data: bytes = super()._dump(obj)
        return data + hashlib.sha256(data).digest()

    def _load_index(self) -> Any:
        verify(self._index_path, after=len(pickle.dumps(self._version, protocol=-1)))
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        verify(self._data_path(name))
        return super()._load_data(name)  # what follows the end of a pickle is not read


def verify(path: str, after: int = 0) -> None:
    """Raise where a file that exists does not end with the digest of what stands ``after`` its first bytes."""
    try:
        data = Path(path).read_bytes()[after:]
    except FileNotFoundError:
        return
    if hashlib.sha256(data[:-DIGEST]).digest() != data[-DIGEST:]:
        message = f"{path} is damaged"
        raise ValueError(message)


class SoundCache(FunctionCache):  # type: ignore[misc]
    """A function's entries, valid for one digest of its source and of the kernels it calls.

    What compiled code alone may call stands beside it, under a name of its own.
    """

    def __init__(self, function: Callable[..., Any], stamp: str, *, within: bool) -> None:
        super().__init__(function)
        base = self._impl.filename_base
        self._cache_file = SoundFile(self._cache_path, f"{base}.within" if within else base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, or None where there is none that can be trusted.

        Numba first loads all that it can compile, half of the time that a table of a conference takes; code that is
        compiled needs the runtime alone.
        """
        rtsys.initialize(target_context)
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception:  # whatever unpickling garbage raises; Numba then compiles
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code; a damaged index begins anew, and a full disk or a lost right costs the entry only."""
        try:
            super().save_overload(sig, data)
        except Exception:
            try:
                self.flush()
                super().save_overload(sig, data)
            except OSError:
                self.disable()


def entries_of(function: Callable[..., Any], stamp: str, *, within: bool) -> SoundCache | None:
    """Return the entries of a function; None without a folder to keep them in: a read-only place without a home."""
    try:
        return SoundCache(function, stamp, within=within)
    except RuntimeError:
        return None

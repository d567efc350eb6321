"""Numba's compiler without the wrappers that kernels never use, and its cache with checksummed entries.

Importing this module imports Numba, which commands on small tables never need: :mod:`.compiling` does so on demand.
"""

from __future__ import annotations

import hashlib
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.environment import Environment, _rebuild_env, lookup_environment
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.types.misc import unliteral

DIGEST = hashlib.sha256().digest_size


@contextmanager
def heeded() -> Iterator[None]:
    """Raise Ctrl-C at the end if it came inside a callback from C, which prints exceptions and loses them.

    The failures that follow, because the callback did not finish, are suppressed. In the main thread only.
    """
    usual = signal.getsignal(signal.SIGINT)
    hook = sys.unraisablehook
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


class Dispatcher(CPUDispatcher):  # type: ignore[misc]
    """``numba.njit`` of a function without the wrapper for C and, with ``within``, the one for Python.

    For a small kernel either takes longer to compile than the kernel itself. What is ``vectorised`` raises no error
    where it divides by zero and adds sums in any order: else its loops would not do several elements at once.
    """

    def __init__(self, function: Callable[..., Any], *, within: bool, vectorised: bool = False) -> None:
        options: dict[str, object] = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True}
        options["no_cpython_wrapper"] = within
        if vectorised:
            options |= {"error_model": "numpy", "fastmath": {"reassoc", "contract"}}
        super().__init__(function, targetoptions=options)
        self.is_whole = True

    def compile(self, sig: Any) -> Any:
        """Compile for argument types; after Ctrl-C ``is_whole`` is false, and the next call begins anew."""
        self.is_whole = False
        with heeded():
            compiled = super().compile(sig)
            self.is_whole = True
        return compiled

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile for numbers in general where a kernel is called with a constant, not once per constant."""
        args = tuple(map(unliteral, args))
        return super().get_call_template(args, {name: unliteral(kind) for name, kind in kws.items()})


def rebuild_environment(module: str, constants: list[Any], name: str) -> Environment:
    """Return the constants of compiled code as Numba does, but import no module for it.

    The names of its module matter in object mode only, and modules of Numba would import SciPy's linear algebra.
    """
    known: Environment | None = lookup_environment(name)
    if known is not None:
        return known
    loaded = sys.modules.get(module)
    environment = Environment({"__name__": module} if loaded is None else vars(loaded))
    environment.consts[:] = constants
    environment.env_name = name
    Environment._memo[name] = environment
    return environment


class Unpickler(pickle.Unpickler):
    """Reads compiled code."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function, with the one above instead of Numba's."""
        numbas = module == _rebuild_env.__module__ and name == _rebuild_env.__name__
        return rebuild_environment if numbas else super().find_class(module, name)


class SoundFile(IndexDataCacheFile):  # type: ignore[misc]
    """Index and data, each followed by its digest: a truncated or zeroed file is never run."""

    def _dump(self, obj: object) -> bytes:
        data: bytes = super()._dump(obj)
        return data + hashlib.sha256(data).digest()

    def _load_index(self) -> Any:
        verify(self._index_path, after=len(pickle.dumps(self._version, protocol=-1)))
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        path = Path(self._data_path(name))
        verify(str(path))
        with path.open("rb") as file:
            return Unpickler(file).load()  # which ignores the digest after its end


def verify(path: str, after: int = 0) -> None:
    """Raise unless a file, if it exists, ends with the digest of its content ``after`` the first bytes."""
    try:
        data = Path(path).read_bytes()[after:]
    except FileNotFoundError:
        return
    if hashlib.sha256(data[:-DIGEST]).digest() != data[-DIGEST:]:
        message = f"{path} is damaged"
        raise ValueError(message)


class SoundCache(FunctionCache):  # type: ignore[misc]
    """A function's entries, valid for one digest of its source and of the kernels it calls.

    Code for compiled callers only is stored under a name of its own.
    """

    def __init__(self, function: Callable[..., Any], stamp: str, *, within: bool) -> None:
        super().__init__(function)
        base = self._impl.filename_base
        self._cache_file = SoundFile(self._cache_path, f"{base}.within" if within else base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, or None where there is none that can be trusted.

        Numba would first load its compiler, half of the time of a conference-sized table; compiled code needs only the
        runtime.
        """
        rtsys.initialize(target_context)
        try:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except Exception:  # whatever unpickling garbage raises; Numba then compiles
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store compiled code; a damaged index is rebuilt, and a full disk or missing right loses the entry only."""
        try:
            super().save_overload(sig, data)
        except Exception:
            try:
                self.flush()
                super().save_overload(sig, data)
            except OSError:
                self.disable()


def entries_of(function: Callable[..., Any], stamp: str, *, within: bool) -> SoundCache | None:
    """Return the cache of a function; None without a writable folder for it."""
    try:
        return SoundCache(function, stamp, within=within)
    except RuntimeError:
        return None

"""Numba's compiler, asked for no more than kernels need, and its cache with entries that prove themselves."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.types.misc import unliteral

from reviewgraph.kernels.interrupts import heeded

DIGEST = hashlib.sha256().digest_size


class Dispatcher(CPUDispatcher):  # type: ignore[misc]
    """What ``numba.njit`` makes of a function, less what takes long to compile and is never used.

    Parameters
    ----------
    function
        What to compile.
    within
        Whether compiled code alone calls it: what takes arguments from Python is then left out, as what takes them
        from C is always. For a small kernel either takes longer than the kernel itself.
    """

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

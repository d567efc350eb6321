"""Ctrl-C while the compiler loads, which waits, and while it compiles, which is not lost; in the main thread only."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


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

"""Limits of a search: seconds, counted work, or Ctrl-C, which ends it between two changes and not within one."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Clock:
    """The limits of a search: seconds (None for none), counted work, and Ctrl-C.

    Searches count their work in units of about a second, so that they end at the same place on every machine. Work and
    limits of a clock within an ``outer`` one count for both. ``interrupted`` is true after Ctrl-C, ``timed_out`` once
    the seconds, of the clock or of one made from it, have stopped a search.

    >>> whole = Clock(None, work=10.0)
    >>> part = whole.effort(5.0)
    >>> part.spend(6.0)
    >>> part.over(), whole.over(), whole.work
    (True, False, 4.0)
    >>> whole.interrupted = True
    >>> whole.over()
    True
    """

    #: The message of a search that its limit in seconds ended.
    TIMED_OUT = "The time limit ended the search; more time may find a better answer"
    #: Seconds between two checks of a clock, where the work is cut into pieces.
    LOOK = 0.02

    class Over(Exception):
        """The limit was reached within a step without partial result; the caller keeps its results so far."""

    def __init__(self, seconds: float | None, outer: Clock | None = None, *, work: float = math.inf) -> None:
        self.started = time.monotonic()
        self.deadline = math.inf if seconds is None else self.started + seconds
        self.outer = outer
        self.work = work
        self.closing = False
        self.interrupted = self.timed_out = False

    def over(self) -> bool:
        if self.stopped() or self.work <= 0:
            return True
        if time.monotonic() > self.deadline:
            self.note_end()
            return True
        return False

    def note_end(self) -> None:
        """Note that the seconds stopped a search, here and in the outer clocks."""
        self.timed_out = True
        if self.outer is not None:
            self.outer.note_end()

    def spend(self, work: float) -> None:
        self.work -= work
        if self.outer is not None:
            self.outer.spend(work)

    def check(self) -> None:
        if self.over():
            raise Clock.Over

    def watch(self, things: Iterable[T]) -> Iterator[T]:
        """Yield things until a limit is reached, then raise Clock.Over."""
        for thing in things:
            self.check()
            yield thing

    def no_less_than(self, least: float) -> Clock:
        """Return a clock for closing work: the remainder of this one, but at least ``least`` seconds and units.

        It runs on after Ctrl-C has stopped this one.

        >>> closing = Clock(0.0, work=1.0).no_less_than(60.0)
        >>> 59 < closing.left() <= 60, closing.work
        (True, 60.0)
        """
        clock = Clock(max(self.left(), least), self, work=max(self.work, least))
        clock.closing = True
        return clock

    def stopped(self) -> bool:
        """Whether Ctrl-C was pressed, which also stops the clocks within this one, except for closing work."""
        return self.interrupted or (self.outer is not None and not self.closing and self.outer.stopped())

    def effort(self, work: float) -> Clock:
        """Return a clock with this much of the counted work, which stops with this clock at the latest.

        >>> outer = Clock(None)
        >>> inner = outer.effort(60.0)
        >>> outer.interrupted = True
        >>> inner.over()
        True
        """
        clock = Clock(None, self, work=min(work, self.work))
        clock.deadline = self.deadline
        return clock

    def elapsed(self) -> float:
        return time.monotonic() - self.started

    def left(self) -> float:
        """Seconds until the limit; none once interrupted."""
        return 0.0 if self.stopped() else max(self.deadline - time.monotonic(), 0.0)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the seconds for the time of the context."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.deadline += time.monotonic() - begun

    def share(self, part: float) -> Clock:
        """Return a clock for a fraction of the remaining seconds and work.

        >>> whole = Clock(None, work=10.0)
        >>> half = whole.share(0.5)
        >>> half.spend(2.0)
        >>> half.work, whole.work
        (3.0, 8.0)
        """
        return Clock(part * self.left(), self, work=part * self.work)

    def heeding(self, say: Callable[P, object]) -> Callable[P, None]:
        """Wrap a listener so that Ctrl-C during its call stops the clock and does not abort the search."""

        def tell(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                say(*args, **kwargs)
            except KeyboardInterrupt:
                self.interrupted = True

        return tell

    @contextmanager
    def stopped_by_interrupts(self, say: Callable[[str], object]) -> Iterator[None]:
        """Let the first Ctrl-C stop the clock; the second one interrupts as usual. In the main thread only."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        usual = signal.getsignal(signal.SIGINT)

        def stop(number: int, frame: object) -> None:
            self.interrupted = True
            signal.signal(signal.SIGINT, usual)
            say("stopping; the best so far comes next (Ctrl-C again to give up)")

        if usual is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, usual)

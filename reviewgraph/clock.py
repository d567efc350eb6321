"""When to stop: a time limit, counted work, or Ctrl-C, which ends a search between two changes and not within one."""

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

#: Seconds between two looks at a clock, where the work is cut into pieces.
LOOK = 0.02


class TimeOver(Exception):
    """Time ended within a step that has no result by halves: whoever keeps what is known so far goes on with that."""


class Effort:
    """Work that solvers may do, within a clock; counted and not timed, so it is the same on every machine.

    A unit is about a second of the solvers. Parts of the work count for the whole.

    >>> whole = Clock(None).effort(10.0)
    >>> part = whole.part(5.0)
    >>> part.spend(6.0)
    >>> part.over(), whole.over(), whole.left
    (True, False, 4.0)
    """

    def __init__(self, work: float, clock: Clock, outer: Effort | None = None) -> None:
        self.left, self.clock, self.outer = work, clock, outer

    def over(self) -> bool:
        """Whether to stop now: the work is done, or the clock is over."""
        return self.left <= 0 or self.clock.over()

    def spend(self, work: float) -> None:
        """Count work that was done."""
        self.left -= work
        if self.outer is not None:
            self.outer.spend(work)

    def part(self, work: float) -> Effort:
        """Return a part of the work that is left."""
        return Effort(min(work, self.left), self.clock, self)


class Clock:
    """Seconds that a search may take, None for as long as it needs; ``interrupted`` once somebody pressed Ctrl-C.

    >>> clock = Clock(None)
    >>> clock.over()
    False
    >>> clock.interrupted = True
    >>> clock.over()
    True
    """

    def __init__(self, seconds: float | None, outer: Clock | None = None) -> None:
        self.started = time.monotonic()
        self.deadline = math.inf if seconds is None else self.started + seconds
        self.interrupted, self.outer = False, outer

    def over(self) -> bool:
        """Whether to stop now."""
        return self.stopped() or time.monotonic() > self.deadline

    def check(self) -> None:
        """Go on only if there is time.

        Raises
        ------
        TimeOver
            If the clock is over.
        """
        if self.over():
            raise TimeOver

    def watch(self, things: Iterable[T]) -> Iterator[T]:
        """Give things one by one, as long as there is time.

        Raises
        ------
        TimeOver
            If the clock is over before the next one.

        Examples
        --------
        >>> list(Clock(None).watch("ab"))
        ['a', 'b']
        """
        for thing in things:
            self.check()
            yield thing

    def pieces(self, count: int) -> Iterator[tuple[int, int]]:
        """Cut so many steps into ranges, each about as long as fits between two looks at the clock.

        Raises
        ------
        TimeOver
            If the clock is over before the next one.

        Examples
        --------
        >>> [step for first, last in Clock(None).pieces(9) for step in range(first, last)]
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
        """
        first, size = 0, 1
        while first < count:
            self.check()
            last, begun = min(first + size, count), time.monotonic()
            yield first, last
            first, size = last, max(size // 2, 1) if time.monotonic() - begun > LOOK else 2 * size

    def no_less_than(self, seconds: float) -> Clock:
        """Return a clock for closing work: what is left of this one, and so many seconds where that is less.

        >>> 59 < Clock(0.0).no_less_than(60.0).left() <= 60
        True
        """
        return Clock(max(self.left(), seconds))

    def keep_back(self, seconds: float) -> None:
        """Be over so much sooner, which leaves time for what is done then.

        >>> clock = Clock(60.0)
        >>> clock.keep_back(50.0)
        >>> clock.left() <= 10.0
        True
        """
        self.deadline -= seconds

    def stopped(self) -> bool:
        """Whether somebody pressed Ctrl-C, which stops the clocks within this one, too."""
        return self.interrupted or (self.outer is not None and self.outer.stopped())

    def effort(self, work: float) -> Effort:
        """Return counted work that stops with this clock, if not before.

        >>> outer = Clock(None)
        >>> inner = outer.effort(60.0)
        >>> outer.interrupted = True
        >>> inner.over()
        True
        """
        return Effort(work, self)

    def elapsed(self) -> float:
        """Seconds since the clock was made."""
        return time.monotonic() - self.started

    def left(self) -> float:
        """Seconds until the limit; none once interrupted."""
        return 0.0 if self.stopped() else max(self.deadline - time.monotonic(), 0.0)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let what is done within take nothing of the limit.

        >>> clock = Clock(60.0)
        >>> before = clock.deadline
        >>> with clock.paused():
        ...     time.sleep(0.001)
        >>> clock.deadline > before
        True
        """
        begun = time.monotonic()
        try:
            yield
        finally:
            self.deadline += time.monotonic() - begun

    def share(self, part: float) -> Clock:
        """Return a clock of its own for a part of the seconds that are left."""
        return Clock(part * self.left())

    def heeding(self, say: Callable[P, object]) -> Callable[P, None]:
        """Wrap a listener so that a Ctrl-C that reaches it stops the clock and does not tear the search apart."""

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

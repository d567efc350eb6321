"""Progress on stderr: what is being done, and for how long already."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reviewgraph.cli.output import say
from reviewgraph.clock import Clock
from reviewgraph.results import Progress

#: Seconds of work before the first word, and between two.
SILENCE = 3.0


def say_progress(now: Progress) -> None:
    """Print one line: seconds and words."""
    say(f"{now.seconds:6.1f} s   {now.words}")


@contextmanager
def telling(silence: float = SILENCE) -> Iterator[Callable[[Progress], None]]:
    """Give a listener whose last words are printed every few seconds if new, and else when the time has doubled.

    Short work says nothing. The end of work that knows its end is printed at once.
    """
    clock, done = Clock(None), threading.Event()
    last: list[Progress] = []

    def tell(now: Progress) -> None:
        last[:] = [now]
        if now.done == 1.0:
            say_progress(now)
            last.clear()

    def watch() -> None:
        said, again = "", 0.0
        while not done.wait(silence):
            seconds = clock.elapsed()
            for now in last[:]:
                if now.words != said or seconds >= again:
                    said, again = now.words, 2 * seconds
                    say_progress(Progress(seconds, said))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield tell
    finally:
        done.set()
        watcher.join()

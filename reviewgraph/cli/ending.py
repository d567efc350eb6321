"""How a command ends before its end: nobody reads on, nothing more can be written, somebody presses Ctrl-C."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

import click

from reviewgraph.cli.output import say

#: Exit status where something is refused, or cannot be read or written.
REFUSED = 2
#: Exit status after Ctrl-C, as shells have it; 1 would say that a level is missed.
INTERRUPTED = 130
#: Exit status where nobody reads on, as shells tell of tools that the signal ends.
NOT_READ = 141
#: Exit status where this program fails, as ``sysexits.h`` has it; 1 would say that a level is missed.
FAILED = 70
#: Set to any text, this shows where a failure came from.
TRACEBACK = "REVIEWGRAPH_TRACEBACK"
#: How libraries that are loaded, and threads, say that there is no memory for them.
NO_MEMORY = ("failed to map segment", "cannot allocate memory", "can't start new thread", "std::bad_alloc")


@contextlib.contextmanager
def ended_by_failure() -> Iterator[None]:
    """End with one message and a status of its own where memory ends, or where this program has an error.

    Raises
    ------
    SystemExit
        With status 70.
    """
    try:
        yield
    except (click.exceptions.Exit, click.ClickException, click.Abort):
        raise
    except Exception as error:
        if os.environ.get(TRACEBACK) and not isinstance(error, MemoryError):
            raise
        told = f"this is an error in reviewgraph, not in your files: {type(error).__name__}: {error}. "
        told += f"Please report it with the command; {TRACEBACK}=1 shows where it happened"
        if memory_ended(error):
            told = "memory is at its end; end other programs, or give less at once"
    else:
        return
    with contextlib.suppress(OSError):
        say(f"Error: {told}")
    raise SystemExit(FAILED)


def memory_ended(error: BaseException | None) -> bool:
    """Whether there was no memory left, as far as an error and those it came from say so.

    >>> memory_ended(ImportError("numpy.so: failed to map segment from shared object"))
    True
    """
    return error is not None and (
        isinstance(error, MemoryError)
        or getattr(error, "errno", None) == errno.ENOMEM
        or any(words in str(error).lower() for words in NO_MEMORY)
        or memory_ended(error.__cause__ or error.__context__)
    )


@contextlib.contextmanager
def ended_by_streams() -> Iterator[None]:
    """End quietly where nobody reads on, and with one message where an output is full.

    Raises
    ------
    SystemExit
        With status 141, or 2.
    """
    try:
        yield
    except BrokenPipeError:
        # The status that click ends with here would say that a level is missed.
        discard_the_rest()
        raise SystemExit(NOT_READ) from None
    except OSError as error:
        if error.filename is not None or memory_ended(error):
            raise
        discard_the_rest()
        with contextlib.suppress(OSError):
            say(f"Error: the output cannot be written ({error.strerror or error})")
        raise SystemExit(REFUSED) from None


def discard_the_rest() -> None:
    """Let what a stream cannot get rid of go nowhere, so that the interpreter does not fail on it when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


class Answers(NamedTuple):
    """What answers Ctrl-C: ``end`` ends that, and ``heard`` is set once there was one."""

    end: Callable[[], None]
    heard: threading.Event


@contextlib.contextmanager
def answered_interrupts() -> Iterator[Answers]:
    """Answer Ctrl-C in words at once, whatever the command is doing; in the main thread only.

    Python hears of the signal between two of its own steps, which may take long to come. A thread of its own is told by
    the system. The command has the last word.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Answers(lambda: None, threading.Event())
        return
    told, tell = socket.socketpair()
    tell.setblocking(False)
    over, heard, saying = threading.Event(), threading.Event(), threading.Lock()
    watcher = threading.Thread(target=_answer, args=(told, over, heard, saying), daemon=True)

    def end_answers() -> None:
        with saying:  # what has begun to be said is said first
            over.set()

    before = signal.set_wakeup_fd(tell.fileno(), warn_on_full_buffer=False)
    watcher.start()
    try:
        yield Answers(end_answers, heard)
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        tell.close()
        watcher.join()
        told.close()


def _answer(told: socket.socket, over: threading.Event, heard: threading.Event, saying: threading.Lock) -> None:
    """Answer the first Ctrl-C."""
    while numbers := told.recv(1):
        with saying:
            if signal.SIGINT in numbers:
                heard.set()
            if signal.SIGINT in numbers and not over.is_set():
                over.set()
                say("Stopping ...")

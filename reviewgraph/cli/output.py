"""Output of commands: files written atomically, one JSON object, tables, messages, progress, and exit statuses."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import click

from reviewgraph._base.clock import Clock
from reviewgraph._base.errors import InputError, LabelWarning, ReviewGraphError
from reviewgraph._base.results import Progress
from reviewgraph._base.storing import json_text, stream_of, write_whole
from reviewgraph._base.text import Detail, counted, folded, terminal_width, visible

# Bad input: one message on stderr, exit status 2.


class Refusal(click.ClickException):
    """Bad input: one message on stderr, exit status 2."""

    exit_code = 2

    def format_message(self) -> str:
        return visible(self.message, but="\n")


# Output files: they can be written, and are not among the input files.

#: Bytes that file systems allow a name.
LONGEST_NAME = 255


def expect_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a file that cannot be written, before the work begins; writes nothing."""
    if stream_of(path) is not None:
        return
    target = os.path.realpath(path)
    special = os.path.exists(path) and not os.path.isfile(path)
    folder, name = os.path.split(target)
    if os.path.isdir(target):
        why = "it is a folder"
    elif not special and not os.path.isdir(folder):
        why = "there is no such folder"
    elif not special and len(os.fsencode(name)) > LONGEST_NAME:
        why = f"a name has {LONGEST_NAME} bytes at most"
    elif not os.access(path if special else folder, os.W_OK):
        why = "permission denied"
    else:
        return
    raise Refusal(f"{path}: cannot be written ({why}); name another file with -o")


def writable(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse a file that cannot be written before the command begins to work."""
    if value is not None:
        expect_writable(value)
    return value


def expect_apart(context: click.Context | None) -> None:
    """Refuse to write a file that the same command reads, or writes something else to."""
    if context is None:
        return
    # All values on the command line that may name a file, including those with columns of one.
    values = ((param, context.params.get(param.name or "")) for param in context.command.params)
    several = ((param, value if isinstance(value, tuple) else (value,)) for param, value in values)
    named = [(param, value) for param, entries in several for value in entries if isinstance(value, str)]
    for param, path in named:
        if param.callback is not writable:
            continue
        for second, second_path in named:
            if second is not param and same_file(path, second_path):
                name = second.opts[0] if isinstance(second, click.Option) else second.make_metavar(context)
                raise InputError(f"{param.opts[0]} {path}: {name} names the same file; write to another one")


def same_file(path: str, second: str) -> bool:
    """Whether two paths are the same file; the second may name a part of it, after a ``#``."""
    if stream_of(path) is not None or (os.path.exists(path) and not os.path.isfile(path)):
        return False
    for name in filter(None, (second, second.rpartition("#")[0])):
        with contextlib.suppress(OSError):
            if os.path.realpath(path) == os.path.realpath(name) or os.path.samefile(path, name):
                return True
    return False


def expect_table(path: str | None, text: str = "", remedy: str = "", suffix: str = ".csv") -> None:
    """Refuse a file whose content would not be what its name says: JSON for a table, Excel for what is ``text``."""
    from reviewgraph.formats import CSV

    if path and text and CSV.is_meant_by(path):
        name = f"{os.path.splitext(path)[0]}{suffix}"
        raise Refusal(f"-o {path}: expected the name of {text}, such as {name}; for Excel, {remedy}")
    if path and suffix != ".json" and path.lower().endswith(".json"):
        name = path[: -len(".json")]
        message = f"-o {path}: expected the name of a table, such as {name}.csv; for JSON, add --json > {path} instead"
        raise Refusal(message)


P = ParamSpec("P")
R = TypeVar("R")


def write_table(path: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write a table atomically, in the format of the file extension, or else as CSV."""
    from reviewgraph.formats.opening import format_to_write

    write_whole(path, format_to_write(path).write(columns))


def refusing(callback: Callable[P, R]) -> Callable[P, R]:
    """Make a callback end with one message and exit status 2 for bad input.

    A message on an argument becomes one on its option, with the file or value. Warnings on labels become notes, as do
    those of a category with a true ``on_stderr``.
    """

    @functools.wraps(callback)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            expect_apart(click.get_current_context(silent=True))
            with _notices_noted():
                return callback(*args, **kwargs)
        except ReviewGraphError as error:
            raise Refusal(_by_option(str(error))) from error
        finally:
            say_notes()

    return wrapped


@contextmanager
def _notices_noted() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always", LabelWarning)
        otherwise = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, LabelWarning) or getattr(category, "on_stderr", False):
                note(_by_option(str(message)))
            else:
                otherwise(message, category, *where, **more)

        warnings.showwarning = show
        yield


#: Arguments whose option has another name.
SHORTER = {"n": "max_reviews", "n_selected": "select"}


def _by_option(message: str) -> str:
    """Return a message on an argument, such as ``fixed: ...``, as one on the option: ``--fixed pairs.csv: ...``."""
    context = click.get_current_context(silent=True)
    name, colon, rest = message.partition(": ")
    name = SHORTER.get(name, name)
    for option in context.command.params if context else ():
        called = (option.opts[0], f"--{option.name}".replace("_", "-"))
        if isinstance(option, click.Option) and colon and f"--{name.replace('_', '-')}" in called:
            value = context.params.get(option.name or "") if context else None
            return f"{option.opts[0]}{f' {value}' if isinstance(value, str) else ''}: {rest}"
    return message


def say(message: str) -> None:
    """Print a diagnostic on stderr."""
    show_lines(visible(message, but="\n"), err=True, color=None)


#: Notes that are printed at most.
MOST_NOTES = 3


class Notes:
    """What reading the files brought up: each printed once, ``most`` of them, or all with details if it is None."""

    def __init__(self) -> None:
        self.all: dict[str, None] = {}
        self.most: int | None = MOST_NOTES
        self.said = 0


def notes_of() -> Notes:
    context = click.get_current_context(silent=True)
    return Notes() if context is None else context.meta.setdefault("reviewgraph.notes", Notes())


def note(message: str) -> None:
    """Keep a note of the running command; without one, print it."""
    if click.get_current_context(silent=True) is None:
        say(message)
    else:
        notes_of().all[message] = None


def say_notes() -> None:
    """Print the notes that are not printed yet, up to a few, and how many are left out."""
    notes = notes_of()
    pending = [text for text in notes.all if notes.most is None or not isinstance(text, Detail)][notes.said :]
    room = len(pending) if notes.most is None else notes.most - notes.said
    if not pending or room <= 0:
        return
    shown = pending if len(pending) <= room else pending[: room - 1]
    for message in shown:
        say(message)
    if left := len(pending) - len(shown):
        say(f"and {counted(left, 'more note')}: --verbose notes")
    notes.said += len(shown) + bool(left)


def show(page: str = "", *, whole: bool = False) -> None:
    """Print lines on stdout, wrapped to the width of the terminal unless ``whole``."""
    # Visible control characters are longer, so they are replaced before wrapping.
    lines = visible(page, but="\n").split("\n")
    width = terminal_width()
    show_lines("\n".join(lines if whole else [part for line in lines for part in folded(line, width)]), color=None)


def show_lines(text: str, *, err: bool = False, color: bool | None = True) -> None:
    """Print lines, with escapes for what the encoding lacks; by default their control characters are colours."""
    encoding = (sys.stderr if err else sys.stdout).encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace").decode(encoding), err=err, color=color)


def wants_colour(choice: str) -> bool:
    """Whether to write colours: always, never, or to a terminal that takes them unless NO_COLOR is set."""
    able = sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
    return choice == "always" or (choice == "auto" and able)


def print_json(value: Any) -> None:
    """Print one JSON object on stdout: plain values, null for what is not finite, control characters escaped."""
    show_lines(json_text(value), color=None)


# Early ends: a closed pipe, a full disk, Ctrl-C, a failure of this program.

#: Exit status for bad input, and for files that cannot be read or written.
REFUSED = 2
#: Exit status after Ctrl-C, as in shells; 1 would mean that a level is missed.
INTERRUPTED = 130
#: Exit status after a closed pipe, as in shells for SIGPIPE.
NOT_READ = 141
#: Exit status of a failure of this program, as in ``sysexits.h``; 1 would mean that a level is missed.
FAILED = 70
#: Environment variable: any value shows the traceback of a failure.
TRACEBACK = "REVIEWGRAPH_TRACEBACK"


@contextmanager
def ended_early() -> Iterator[None]:
    """End with a status of its own after Ctrl-C, a closed pipe, a full disk, without memory, or if this program fails.

    Click would end with status 1 for some of these, which means that a level is missed.
    """
    status = FAILED
    try:
        yield
    except (click.exceptions.Exit, click.ClickException):
        raise
    except (click.Abort, KeyboardInterrupt):
        status = INTERRUPTED
        message = "Interrupted, no result."
    except BrokenPipeError:
        discard_the_rest()
        raise SystemExit(NOT_READ) from None
    except MemoryError:
        message = "Error: memory is exhausted; end other programs, or use smaller files"
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno != errno.ENOMEM:
            status = REFUSED
            message = f"Error: the output cannot be written ({error.strerror or error})"
        elif isinstance(error, ModuleNotFoundError) and error.name:
            status = REFUSED
            package = error.name.partition(".")[0]
            message = f"Error: expected the package {package}, found none; install it with pip install {package}"
        elif os.environ.get(TRACEBACK):
            raise
        else:
            message = f"Error: this is an error in reviewgraph, not in your files: {type(error).__name__}: {error}. "
            message += f"Please report it with the command; {TRACEBACK}=1 shows where it happened"
    else:
        return
    discard_the_rest()
    with contextlib.suppress(OSError):
        say(message)
    raise SystemExit(status)


def discard_the_rest() -> None:
    """Redirect a stream that cannot be flushed to the null device, so that the interpreter does not fail at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


# Progress on stderr: seconds, and the current step, in one line that is redrawn on a terminal.

#: Seconds before the first line, and between two lines.
SILENCE = 2.0
#: Takes the cursor to the start of a line of a terminal, and clears it.
REDRAWN = "\r\x1b[2K"


@contextmanager
def telling(silence: float = SILENCE) -> Iterator[Callable[[Progress], None]]:
    """Yield a listener whose last step is printed every few seconds if it is new, or else when the time has doubled.

    Short work prints nothing. On a terminal there is one line, which is redrawn, and cleared in the end.
    """
    say_notes()
    clock = Clock(None)
    done = threading.Event()
    last: list[Progress] = []
    redrawn = sys.stderr.isatty()
    drawn = False

    def tell(now: Progress) -> None:
        last[:] = [now]

    def watch() -> None:
        nonlocal drawn
        last_words = ""
        again = 0.0
        while not done.wait(silence):
            seconds = clock.elapsed()
            for now in last[:]:
                if now.words == last_words and seconds < again:
                    continue
                last_words = now.words
                again = 2 * seconds
                line = f"{seconds:6.1f} s   {last_words}"
                if not redrawn:
                    say(line)
                    continue
                drawn = True
                shown = visible(line)[: terminal_width() - 1]
                click.echo(f"{REDRAWN}{shown}", nl=False, err=True, color=True)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield tell
    finally:
        done.set()
        watcher.join()
        if drawn:
            click.echo(REDRAWN, nl=False, err=True, color=True)

"""The command, as ``reviewgraph`` and ``python -m reviewgraph``: Ctrl-C ends it cleanly while it is still loading."""

from __future__ import annotations

import os
import sys

# What is in C of :mod:`signal`, which loads others: until the handler is there, Ctrl-C ends in a traceback.
from _signal import SIG_IGN, SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

#: As :data:`reviewgraph.cli.output.REFUSED` and ``INTERRUPTED``, which are loaded only later.
_REFUSED = 2
_INTERRUPTED = 130


#: One thread for dense matrices, unless the user says otherwise: they are small here, so that threads mostly wait for
#: each other, on a busy machine many times as long as the work takes.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def run() -> None:
    """Load the command and run it.

    A module that is half loaded cannot answer Ctrl-C: until the command is there, the process ends at once. What would
    go to a stream that is closed goes nowhere: a page that nobody wants is no missed level and no error.
    """
    deaf = getsignal(SIGINT) != default_int_handler
    if not deaf:
        signal(SIGINT, _end)
    if not any(name in os.environ for name in _THREADS):
        os.environ[_THREADS[0]] = "1"
    import atexit

    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115
    try:
        from reviewgraph.cli import main
    except ModuleNotFoundError as error:
        sys.stderr.write(
            f"Error: expected the package {error.name}, found none; install it with pip install {error.name}\n"
        )
        raise SystemExit(_REFUSED) from None

    # All is said and written then; what is left is the end of the interpreter.
    atexit.register(signal, SIGINT, SIG_IGN)
    try:
        if not deaf:
            signal(SIGINT, default_int_handler)
        main(prog_name="reviewgraph")
    except KeyboardInterrupt:
        _end()


def _end(*_: object) -> None:
    os.write(2, b"Interrupted, no result.\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    run()

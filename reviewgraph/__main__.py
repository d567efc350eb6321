"""The command, as ``reviewgraph`` and ``python -m reviewgraph``: Ctrl-C is answered while it still loads."""

from __future__ import annotations

import atexit
import os
import signal
import sys

#: As :data:`reviewgraph.cli.ending.INTERRUPTED`, which is loaded only later.
_INTERRUPTED = 130


def run() -> None:
    """Load the command and run it.

    A module that is half loaded cannot answer Ctrl-C: until the command is there, the process ends at once. What would
    go to a stream that is closed goes nowhere: a page that nobody wants is no missed level and no error.
    """
    deaf = signal.getsignal(signal.SIGINT) != signal.default_int_handler
    if not deaf:
        signal.signal(signal.SIGINT, _end)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115
    from reviewgraph.cli import main

    # All is said and written then; what is left is the end of the interpreter.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    try:
        if not deaf:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        main(prog_name="reviewgraph")
    except KeyboardInterrupt:
        _end()


def _end(*_: object) -> None:
    os.write(2, b"Interrupted, no result.\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    run()

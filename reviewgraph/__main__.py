"""The command, as ``reviewgraph`` and ``python -m reviewgraph``: Ctrl-C is answered while it still loads."""

from __future__ import annotations

import atexit
import os
import signal

#: As :data:`reviewgraph.cli.ending.INTERRUPTED`, which is loaded only later.
_INTERRUPTED = 130


def run() -> None:
    """Load the command and run it.

    A module that is half loaded cannot answer Ctrl-C: until the command is there, the process ends at once.
    """
    deaf = signal.getsignal(signal.SIGINT) != signal.default_int_handler
    if not deaf:
        signal.signal(signal.SIGINT, _end)
    from reviewgraph.cli import main

    if not deaf:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # All is said and written then; what is left is the end of the interpreter.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    main(prog_name="reviewgraph")


def _end(*_: object) -> None:
    os.write(2, b"Interrupted, no result.\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    run()

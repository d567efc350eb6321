"""Ctrl-C while a kernel runs without the interpreter's lock."""

from __future__ import annotations

import cython

if not cython.compiled:

    def PyErr_CheckSignals() -> None:  # noqa: N802
        """Plain Python looks for signals by itself."""


#: Steps between two looks, a power of two less one.
OFTEN = (1 << 16) - 1


def heed(step: int) -> int:
    """Look at some steps whether Ctrl-C was pressed, and raise what it raises."""
    if step & OFTEN == 0:
        with cython.gil:
            PyErr_CheckSignals()
    return 0

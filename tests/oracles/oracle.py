"""What an oracle is: a question, the product's answer, an answer that shares nothing with it, and how they compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


class Untold(Exception):
    """The oracle cannot tell here: there is too much to be tried, or rounding decides."""


@dataclass(frozen=True)
class Oracle:
    """One question that is asked twice.

    Parameters
    ----------
    name
        What the command calls it.
    words
        What stands against the product, for the table.
    draw
        An instance from a random generator; the same numbers give the same instance.
    ours
        The product's answer.
    theirs
        The answer by other means; raises :class:`Untold` where it has none.
    differ
        What is wrong, given the instance and both answers; empty where nothing is.
    """

    name: str
    words: str
    draw: Callable[[np.random.Generator], Any]
    ours: Callable[[Any], Any]
    theirs: Callable[[Any], Any]
    differ: Callable[[Any, Any, Any], str]

    def ask(self, rng: np.random.Generator) -> str:
        """Return ``agrees`` or ``untold``; else what is wrong."""
        asked = self.draw(rng)
        answer = self.ours(asked)
        try:
            return self.differ(asked, answer, self.theirs(asked)) or "agrees"
        except Untold:
            return "untold"


def equal(asked: Any, ours: Any, theirs: Any) -> str:
    """Say what both answered where that is not the same."""
    return "" if ours == theirs else f"found {ours}, expected {theirs}: {asked}"

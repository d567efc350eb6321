"""What an oracle is: a question, the product's answer, an answer that shares nothing with it, and how they compare."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Outcomes that are no findings; the last is an answer that claims no more than it has.
FINE = ("agrees", "untold", "feasible, below the best")


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
    most_seconds
        The most that the product's answer may take, of the processor.
    """

    name: str
    words: str
    draw: Callable[[np.random.Generator], Any]
    ours: Callable[[Any], Any]
    theirs: Callable[[Any], Any]
    differ: Callable[[Any, Any, Any], str]
    most_seconds: float = math.inf

    def ask(self, rng: np.random.Generator) -> str:
        """Return one of :data:`FINE`; else what is wrong, its kind before a colon."""
        asked = self.draw(rng)
        start = time.process_time()
        answer = self.ours(asked)
        seconds = time.process_time() - start
        try:
            outcome = self.differ(asked, answer, self.theirs(asked)) or "agrees"
        except Untold:
            outcome = "untold"
        if outcome in FINE and seconds > self.most_seconds:
            return f"slow: {seconds:.1f} s: {asked}"
        return outcome


def equal(asked: Any, ours: Any, theirs: Any) -> str:
    """Say what both answered where that is not the same."""
    return "" if ours == theirs else f"different: found {ours}, expected {theirs}: {asked}"

"""What an oracle is: a question, the product's answer, one that shares nothing with it, how they compare, instances."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from planner import AtLeast, AtMost
from tests.planner.assignments import naive_rules

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


Pair = tuple[str, str]
Options = dict[str, Any]

#: Slack of sums.
ROUNDING = 1e-6
#: Seconds of the processor for one answer.
MOST_SECONDS = 2.0
#: Seconds after which a search is stopped, which is long after it has become a finding.
TIME_LIMIT = 6.0


@dataclass(frozen=True)
class Asked:
    """Attributes and rules of an instance, short forms included."""

    asked: Options

    @cached_property
    def reviewers(self) -> list[str]:
        return list(self.asked["reviewers"])

    @cached_property
    def attributes(self) -> dict[str, Any]:
        known = {r: dict(values) for r, values in self.asked.get("attributes", {}).items()}
        for r in self.reviewers:
            known.setdefault(r, {})
            if r in self.asked.get("institutions", {}):
                known[r]["institution"] = self.asked["institutions"][r]
            if "senior" in self.asked:
                known[r]["senior"] = r in self.asked["senior"]
        return known

    def paper(self, item: str) -> dict[str, Any]:
        """Return the attributes of a paper."""
        known: dict[str, Any] = self.asked.get("item_attributes", {}).get(item, {})
        return known

    @cached_property
    def rules(self) -> list[Any]:
        short: list[Any] = [AtMost("institution", 1)] if self.asked.get("institutions") else []
        if "senior" in self.asked:
            short.append(AtLeast("senior", 1))
        return [*self.asked.get("rules", ()), *short]


def draw_rules(rng: np.random.Generator, asked: Options, reviewers: list[str], *, ruled: float, housed: float) -> None:
    """Ask for rules in a share of instances; in others for institutions, known of some, and for seniors."""
    if rng.random() < ruled:
        attributes = naive_rules.random_attributes(rng, reviewers)
        asked["attributes"] = attributes
        if rng.random() < 0.6:
            asked["rules"] = naive_rules.random_rules(rng, attributes)
        else:
            asked["item_attributes"] = naive_rules.random_papers(rng, asked["items"])
            asked["rules"] = naive_rules.random_rules_of_papers(rng)
    else:
        if rng.random() < 0.2:
            asked["institutions"] = {r: f"u{rng.integers(3)}" for r in reviewers if rng.random() < housed}
        if rng.random() < 0.15:
            asked["senior"] = [r for r in reviewers if rng.random() < 0.5] or reviewers[:1]

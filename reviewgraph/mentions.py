"""Sentences that mention reviewers and papers: composed by code, so that they can be said under any labels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reviewgraph.labels import natural_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reviewgraph.labels import Label

#: What stands around a mention: characters that Unicode keeps from ever being text.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
_MENTION = re.compile(f"{_OPEN}([rp])([0-9]+){_CLOSE}")
_LIST = re.compile(f"{_MENTION.pattern}(?:, {_MENTION.pattern})*")


class Mentions:
    """Stand in for labels while a sentence is composed.

    Parameters
    ----------
    kind
        ``"r"`` for reviewers, ``"p"`` for papers.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __getitem__(self, code: int) -> str:
        return f"{_OPEN}{self.kind}{code}{_CLOSE}"


REVIEWERS, PAPERS = Mentions("r"), Mentions("p")


def said_under(reviewers: Sequence[Label], items: Sequence[Label]) -> Callable[[str], str]:
    """Return what says sentences under the labels of a table: those just composed, and those said under others.

    >>> said_under(["ann"], ["p1"])(f"{REVIEWERS[0]} is asked"), said_under([], [])("nobody is")
    ('ann is asked', 'nobody is')
    """

    def said(sentence: str) -> str:
        composed = sentence.composed if isinstance(sentence, Said) else sentence
        return Said(composed, reviewers, items) if _OPEN in composed else sentence

    return said


class Said(str):
    """A sentence as it is said under the labels of a table, which can be said under others.

    Parameters
    ----------
    composed
        The sentence with mentions in it.
    reviewers, items
        Labels by code.

    Examples
    --------
    >>> said = Said(f"{REVIEWERS[0]} may not review {PAPERS[0]}, {PAPERS[1]}", ["ann"], ["p1", "p2"])
    >>> said, said_under(["R7"], ["P9", "P4"])(said)
    ('ann may not review p1, p2', 'R7 may not review P4, P9')
    """

    composed: str

    def __new__(cls, composed: str, reviewers: Sequence[Label], items: Sequence[Label]) -> Said:
        """Say a sentence."""
        labels = {"r": reviewers, "p": items}

        def said(mentions: re.Match[str]) -> str:
            # The order of what is listed is that of the labels it is said under.
            named = [labels[kind][int(code)] for kind, code in _MENTION.findall(mentions[0])]
            return ", ".join(map(str, sorted(named, key=natural_key)))

        new = super().__new__(cls, _LIST.sub(said, composed))
        new.composed = composed
        return new

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Become plain text where it is written to a file."""
        return str, (str(self),)

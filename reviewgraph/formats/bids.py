"""What a bid says: words of conference systems, and HotCRP's preferences, as numbers from -1 to 1."""

from __future__ import annotations

import re
from typing import NamedTuple

#: What each word is worth, by the system that has it; case, blanks and the signs - and _ do not matter.
WORDS = {
    "OpenReview": {"very high": 1.0, "high": 0.5, "neutral": 0.0, "no bid": 0.0, "low": -0.5, "very low": -1.0},
    "EasyChair": {"yes": 1.0, "maybe": 0.5, "no": -1.0},
    "CMT": {"eager": 1.0, "willing": 0.5, "in a pinch": -0.5, "not willing": -1.0, "not entered": 0.0},
}

#: The word for a pair that may not be.
CONFLICT = "conflict"

#: HotCRP: a preference that counts as much as the strongest word, and the one from which it is a conflict.
STRONGEST, BARRED = 20.0, -100.0

#: What is expected of a cell, for messages.
EXPECTED = (
    f"one of {', '.join(word for words in WORDS.values() for word in words)}, {CONFLICT}, or a preference "
    "(HotCRP's, such as -20 to 20)"
)

_VALUE = {word: value for words in WORDS.values() for word, value in words.items()}
_NUMBERED = re.compile(r"^[0-9]+\s*[-:.)]*\s*(?=[a-z])")
_PREFERENCE = re.compile(r"(?P<number>[+-]?[0-9]+(?:[.][0-9]+)?)\s*[xyz]?")


class Bid(NamedTuple):
    """A bid from -1 to 1, or a conflict."""

    value: float
    conflict: bool = False


def parse_bid(text: str) -> Bid | None:
    """Return what a cell bids; None where it is neither a word of :data:`WORDS` nor a number.

    A number is a preference as HotCRP has it: 20 and more is 1, -20 and less is -1, -100 and less a conflict; a letter
    for expertise may follow it. CMT puts a number before its words, which is passed over.

    >>> [parse_bid(text).value for text in ("Very High", "yes", "3 - Eager", "In a pinch", "-10", "7X")]
    [1.0, 1.0, 1.0, -0.5, -0.5, 0.35]
    >>> parse_bid("Conflict").conflict, parse_bid("-100").conflict, parse_bid("perhaps")
    (True, True, None)
    """
    plain = " ".join(text.replace("_", " ").casefold().split())
    number = _PREFERENCE.fullmatch(plain)
    if number:
        value = float(number["number"])
        return Bid(max(-1.0, min(1.0, value / STRONGEST)), value <= BARRED)
    word = _NUMBERED.sub("", plain).replace("-", " ")
    if word == CONFLICT:
        return Bid(0.0, conflict=True)
    return Bid(_VALUE[word]) if word in _VALUE else None

"""Sentences of a table's rows that say the same: said once above it, with what differs left in the rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from reviewgraph.words import counted

#: Numbers of a sentence.
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?%?")


class Said(NamedTuple):
    """What is said once, a line each, and what stays in the rows."""

    once: list[str]
    rows: list[str]


def said_once(sentences: Sequence[str], short: Sequence[str]) -> Said:
    """Leave their short form to sentences that several rows have.

    Parameters
    ----------
    sentences
        Of the rows.
    short
        A short form of each.

    Examples
    --------
    >>> said_once(["a link in reserve", "joins p1 to p2", "a link in reserve"], ["reserve", "1 + 1", "reserve"])
    Said(once=['reserve (2 reviews): a link in reserve'], rows=['reserve', 'joins p1 to p2', 'reserve'])
    """
    numbers = Counter(zip(sentences, short, strict=True))
    again = [(each, number) for each, number in numbers.most_common() if number > 1]
    repeated = {each for each, _ in again}
    rows = [few if (words, few) in repeated else words for words, few in zip(sentences, short, strict=True)]
    return Said([f"{few} ({counted(number, 'review')}): {words}" for (words, few), number in again], rows)


def numbers_alone(sentences: Sequence[str]) -> Said:
    """Leave their numbers alone to sentences that several rows have but for these.

    >>> numbers_alone(["0.4 becomes 0.3", "0.5 becomes 0.4", "it is 1 of 2"])
    Said(once=['… becomes …'], rows=['0.4, 0.3', '0.5, 0.4', 'it is 1 of 2'])
    """
    forms = [_NUMBER.sub("…", words) for words in sentences]
    again = [form for form, number in Counter(forms).most_common() if number > 1]
    rows = [
        ", ".join(_NUMBER.findall(words)) if form in again else words
        for words, form in zip(sentences, forms, strict=True)
    ]
    return Said(again, rows)

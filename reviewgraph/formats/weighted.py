"""A weighted total as the score: ``2*impact + rigour``, a sum of criteria with weights."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph._base.errors import InputError
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import CRITERION, SCORE, named, normalise, recognised
from reviewgraph.formats.files import cut, quote, quote_all

if TYPE_CHECKING:
    from reviewgraph._base.arrays import FloatArray

_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
#: A name in quotes or backticks, or anything without signs.
_NAME = r"\"[^\"]+\"|`[^`]+`|[^-+*\"`]+"
_TERM = re.compile(
    rf"\s*(?P<sign>[-+]?)\s*(?:(?P<before>{_NUMBER})\s*\*)?\s*(?P<name>{_NAME}?)\s*(?:\*\s*(?P<after>{_NUMBER})\s*)?"
    r"(?=[-+]|$)"
)
_SIGNS = re.compile(r"[-+*\"`]")
#: A hyphen within a word, which may stand for a blank.
_HYPHEN = re.compile(r"(?<=[^\W_])-(?=[^\W_])")
_ADVICE = '; write it as 2*impact + rigour, with names in double quotes ("Overall merit") if they have signs'


@dataclass(frozen=True)
class Weighted:
    """A weighted sum of criteria, as it was written, and the weight of each by its name; empty where there is none.

    >>> Weighted.of("2*impact + rigour - 0.5*`cost, total`").weights
    {'impact': 2.0, 'rigour': 1.0, 'cost, total': -0.5}
    """

    text: str = ""
    weights: Mapping[str, float] | None = None

    @classmethod
    def of(cls, text: str) -> Weighted:
        """Read a sum; text that is none raises InputError."""
        weights: dict[str, float] = {}
        place = 0
        while place < len(text):
            term = _TERM.match(text, place)
            name = term["name"].strip().strip('"`').strip() if term else ""
            twice = term is not None and term["before"] is not None and term["after"] is not None
            unsigned = term is not None and place > 0 and not term["sign"]
            if term is None or not name or twice or unsigned:
                message = f"--score {cut(text)}: expected a sum of columns with weights, found {quote(text[place:])}"
                raise InputError(message + _ADVICE)
            weight = float(term["before"] or term["after"] or 1) * (-1 if term["sign"] == "-" else 1)
            weights[name] = weights.get(name, 0.0) + weight
            place = term.end()
        return cls(" ".join(text.split()), weights)

    def places(self, header: Sequence[str]) -> list[int]:
        return sorted({place for name in self.weights or () for place in named(header, name)})

    def score(self, criteria: Mapping[str, FloatArray]) -> FloatArray:
        """Return the sum of each row, NaN where a part is missing."""
        parts = self._parts(criteria)
        return np.asarray(sum(weight * part for weight, part in zip((self.weights or {}).values(), parts, strict=True)))

    def _parts(self, criteria: Mapping[str, FloatArray]) -> list[FloatArray]:
        parts = []
        for name in self.weights or ():
            places = named(list(criteria), name)
            if len(places) != 1:
                known = f"found {quote_all(criteria)}" if criteria else "found none"
                message = f"score: expected {quote(name)} in {cut(self.text)} to be a criterion of the reviews, {known}"
                raise InputError(message + _ADVICE)
            parts.append(list(criteria.values())[places[0]])
        return parts

    def words(self, criteria: Mapping[str, FloatArray]) -> str:
        """Return a note on the number of reviews that have some parts of the score, but not all; nothing if none."""
        present = [~np.isnan(part) for part in self._parts(criteria)]
        some = int((np.logical_or.reduce(present) & ~np.logical_and.reduce(present)).sum()) if present else 0
        which = counted(some, "review lacks a part of it, and has", "reviews lack a part of it, and have")
        return f"the score is {self.text}: {which} no score" if some else ""


def is_sum(text: str) -> bool:
    """Return whether the name of a score is a sum, unless a column is called like it: it has signs or quotes."""
    return _SIGNS.search(text) is not None


def _is_called(name: str, text: str) -> bool:
    """Return whether a column is called like a text with signs; not ``impact`` like ``-impact``."""
    signs = is_sum(name) or not is_sum(_HYPHEN.sub("", text))
    return name.strip() == text.strip() or (signs and normalise(name) == normalise(text))


def taken_out(columns: Mapping[str, str], headers: Sequence[Sequence[str]]) -> tuple[dict[str, str], Weighted]:
    """Return the user's names of columns without a weighted sum as the score, and the sum; an empty one without it.

    A column that is called like it wins. Its columns must be in some header, unless the criteria stand in rows.

    >>> taken_out({"score": "2*impact+rigour"}, [["reviewer", "paper", "Impact", "rigour"]])
    ({'score': ''}, Weighted(text='2*impact+rigour', weights={'impact': 2.0, 'rigour': 1.0}))
    >>> taken_out({"score": "a+b"}, [["reviewer", "paper", "a+b"]])
    ({'score': 'a+b'}, Weighted(text='', weights=None))
    """
    names = dict(columns)
    text = columns.get(SCORE.name, "")
    every = list(dict.fromkeys(name for header in headers for name in header))
    if not is_sum(text) or any(_is_called(name, text) for name in every):
        return names, Weighted()
    is_long = any(recognised(header, [CRITERION], columns) for header in headers)
    total = Weighted.of(text)
    missing = [name for name in total.weights or () if not is_long and not named(every, name)]
    if missing:
        message = f"--score {cut(text)}: there is no column {quote(missing[0])}; found {quote_all(every)}{_ADVICE}"
        raise InputError(message)
    # Where criteria stand in rows, the column of their scores is found by its usual name.
    return (names if is_long else {**names, SCORE.name: ""}), total

"""What a cell means: scores as conference systems write them, whole numbers, numbers, yes and no."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reviewgraph.errors import InputError
from reviewgraph.formats.problems import cut, quote, quote_all
from reviewgraph.labels import is_null

#: Cells that say there is no score, beside empty ones (HotCRP writes or accepts them; R writes NA).
MISSING = frozenset({"n/a", "na", "none", "no entry", "-", "\N{EN DASH}"})

# What goes on with a number, which is another one then: "7 or eight", "3 out of 5", "6 bis 7", "7 (or 8)", "7 and a
# half", "7 point five", "7 half", "7 \N{VULGAR FRACTION ONE HALF}" are not 7.
_GOES_ON = (
    r"(?:(?:or|to|and|of|out\s+of|oder|bis|und|von|aus|ou|et|sur|o|y|de|e|point|comma|komma|virgule|coma|plus|minus)\b"
    r"|(?:(?:an?|one|eine?|une?|una)\s+)?"
    r"(?:hal(?:f|b|be|ves)|quarters?|thirds?|viertel|drittel|demie?|quart|tiers|medi[oa]|mezz[oa]|mei[oa]|cuarto|tercio)"
    r"\b|[\xbc-\xbe\u2150-\u215e])"
)
# A number, and after it perhaps words: "8: accept, top 5%", "3 good", "4 (weak accept)", "5. Accept". Where no sign
# parts the words from the number they have no digits: whatever "1 e5" means, it is not 1.
_SCORE = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"(?:\s*:(?![0-9]|\s*[+-]?[0-9.,]+\Z).*"
    rf"|\s+(?!{_GOES_ON})[^\W\d_]\D*"
    rf"|\s+[-(\N{{EN DASH}}\N{{EM DASH}}]\s*(?!{_GOES_ON})[^\W\d_].*)?",
    re.DOTALL | re.IGNORECASE,
)
_COMMA = re.compile(r"(?<=[0-9]),(?=[0-9]+(?:\D|$))")
_NOT_FINITE = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)


def parse_number(text: str, decimal_comma: bool = False) -> float | None:
    """Return the number a score cell begins with, or None where that is none, not finite, or not the only one.

    >>> [parse_number(text) for text in ("8: accept, good paper", "3 good", "+1", "-2", "4.5", "inf", "B", "8/10")]
    [8.0, 3.0, 1.0, -2.0, 4.5, None, None, None]
    >>> [parse_number(text) for text in ("7 or eight", "3 out of 5", "7 half", "6: top 5%", "3 - weak accept")]
    [None, None, None, 6.0, 3.0]
    >>> parse_number("4,5"), parse_number("4,5", decimal_comma=True)
    (None, 4.5)
    """
    stripped = text.strip()
    if decimal_comma:
        stripped = _COMMA.sub(".", stripped, count=1)
    match = _SCORE.fullmatch(stripped)
    value = float(match["number"]) if match else math.nan
    return value if math.isfinite(value) else None


#: What an optional column holds where nothing is known: R writes NA.
BLANK = frozenset({"", "NA"})

#: How tables of numbers write one that is missing.
_NANS = frozenset({"nan", "NaN", "NAN"})


def missing_labels(values: Sequence[str]) -> list[bool]:
    """Return which of the distinct cells of a column of labels name nobody and nothing.

    Empty ones do; and what a table of numbers has where one is missing, among numbers only: a person may be called Nan.

    >>> missing_labels(["7", "nan", " "]), missing_labels(["ann", "nan"])
    ([False, True, True], [False, False])
    """
    cells = [value.strip() for value in values]
    absent = {"", *_NANS}
    numbers = not _NANS.isdisjoint(cells) and all(cell in absent or parse_number(cell) is not None for cell in cells)
    return [cell in absent if numbers else is_null(cell) for cell in cells]


class Scores(NamedTuple):
    """The meaning of distinct score cells: their numbers, which are planned reviews, and which are bad."""

    number: npt.NDArray[np.float64]
    scored: npt.NDArray[np.bool_]
    bad: npt.NDArray[np.bool_]
    spelled: npt.NDArray[np.bool_]  # planned, said in a word and not by an empty cell


def read_scores(values: Sequence[str], scale: Sequence[str] = (), decimal_comma: bool = False) -> Scores:
    """Return the meaning of distinct score cells.

    Parameters
    ----------
    values
        The distinct cells.
    scale
        Grades, best first; they count N, ..., 1. Numbers are read where there is none.
    decimal_comma
        ``4,5`` is four and a half.
    """
    size = len(values)
    number, state = np.full(size, np.nan), np.zeros((3, size), np.bool_)
    scored, bad, spelled = state
    rank = {grade: float(len(scale) - place) for place, grade in enumerate(scale)}
    for place, text in enumerate(values):
        cell = text.strip()
        if not cell:
            continue
        value = rank.get(cell) if rank else parse_number(cell, decimal_comma)
        if value is not None:
            number[place], scored[place] = value, True
        elif cell.casefold() in MISSING:
            spelled[place] = True
        else:
            bad[place] = True
    return Scores(number, scored, bad, spelled)


def are_scores(values: Sequence[str], decimal_comma: bool = False) -> bool:
    """Whether all distinct cells of a column can be scores, and some are.

    >>> are_scores(["7", "", "3 good"]), are_scores(["7", "MIT"]), are_scores([""])
    (True, False, False)
    """
    meaning = read_scores(values, decimal_comma=decimal_comma)
    return bool(meaning.scored.any() and not meaning.bad.any())


def parse_scale(scale: str | Sequence[str] | None, *, lower_is_better: bool = False) -> tuple[str, ...]:
    """Return the grades of a scale, best first.

    >>> parse_scale("A > B > C")
    ('A', 'B', 'C')

    Raises
    ------
    InputError
        If it has fewer than two grades, or one twice, or ``lower_is_better`` speaks of the direction as well.
    """
    if scale is None:
        return ()
    parts = scale.split(">") if isinstance(scale, str) else scale
    grades = tuple(str(part).strip() for part in parts)
    if len(grades) < 2 or len(set(grades)) < len(grades) or "" in grades:
        message = f'--scale: expected two or more distinct grades, best first, as in --scale "A>B>C", found {scale!r}'
        raise InputError(message)
    if lower_is_better:
        message = "--lower-is-better: leave it out, --scale already says that its first grade is the best"
        raise InputError(message)
    return grades


def say_bad_score(text: str, scale: Sequence[str], decimal_comma: bool) -> str:
    """Return what is wrong with a score cell."""
    if scale:
        return f"the score {quote(text)} is not on the scale {'>'.join(scale)}"
    if _NOT_FINITE.fullmatch(text.strip()):
        return f"the score {quote(text)} is not a finite number; leave the cell empty where there is no score"
    if not decimal_comma and parse_number(text, decimal_comma=True) is not None:
        return f"the score {quote(text)} is not a number; write decimals with a point, as in 4.5"
    if text.strip()[:1].isdecimal():
        return f"the score {quote(text)} is not a single number; write one, or leave the cell empty"
    return f"the score {quote(text)} is not a number"


def ask_direction(bad: Sequence[str]) -> str | None:
    """Return the question to ask where scores are letters or words; None where they are something else."""
    grades = [text.strip() for text in bad if text.strip()[:1].isalpha() and not _NOT_FINITE.fullmatch(text.strip())]
    if not grades:
        return None
    # "A+" is better than "A", and that than "A-"; beyond that the order is an example.
    ordered = sorted(set(grades), key=lambda grade: (grade.rstrip("+-"), -grade.count("+"), grade.count("-")))
    example = ">".join(ordered)
    # An example is something to be copied: whole, and without what ends it.
    if not 2 <= len(ordered) <= 6 or cut(example) != example or '"' in example:
        example = "A>B>C"
    found = quote_all(ordered, 6)
    return (
        f"Scores that are letters or words do not say which is better. If {found} are grades, "
        f'give all grades in order, best first, for example --scale "{example}" (in Python scale="{example}")'
    )


def parse_whole(text: str) -> int | None:
    """Return a whole number that is not negative, or None.

    >>> parse_whole("3"), parse_whole("3.0"), parse_whole("-1")
    (3, 3, None)
    """
    match = re.fullmatch(r"[+]?([0-9]{1,15})(?:[.]0*)?", text.strip())
    return int(match[1]) if match else None


def parse_flag(text: str) -> bool | None:
    """Return yes or no, or None where the cell is neither; an empty one is no."""
    word = text.strip().casefold()
    if word in {"1", "yes", "y", "true", "senior", "x"}:
        return True
    return False if word in {"", "0", "no", "n", "false", "-"} else None

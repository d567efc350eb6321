"""The meaning of a cell: scores as conference systems write them, numbers, yes and no, bids, dates and times."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

from reviewgraph._base.errors import InputError
from reviewgraph.formats.files import quote, quote_all, terms

if TYPE_CHECKING:
    from reviewgraph._base.arrays import BoolArray, FloatArray

#: Cells that mean "no score", in addition to empty ones (HotCRP writes or accepts them; R writes NA).
MISSING = frozenset(
    terms(
        """n/a, na, none, no entry, -, ?, \N{EN DASH}, \N{EM DASH}, ..., tbd, tba, pending, not scored, not yet scored,
        not yet, outstanding, null, offen, noch offen, ausstehend, en attente, pendiente, in attesa, pendente, 未评分,
        未採点"""
    )
)

# Words after which a number is not the whole score: "7 or eight", "3 out of 5", "6 bis 7", "7 (or 8)", "7 and a half",
# "7 point five", "7 half", "7 \N{VULGAR FRACTION ONE HALF}" are not 7.
_GOES_ON = (
    r"(?:(?:or|to|and|of|out\s+of|oder|bis|und|von|aus|ou|et|sur|o|y|de|e|point|comma|komma|virgule|coma|plus|minus)\b"
    r"|(?:(?:an?|one|eine?|une?|una)\s+)?"
    r"(?:hal(?:f|b|be|ves)|quarters?|thirds?|viertel|drittel|demie?|quart|tiers|medi[oa]|mezz[oa]|mei[oa]|cuarto|tercio)"
    r"\b|[\xbc-\xbe\u2150-\u215e])"
)
# A number, optionally followed by words: "8: accept, top 5%", "3 good", "4 (weak accept)", "5. Accept". Without a sign
# between them the words have no digits: whatever "1 e5" means, it is not 1.
_SCORE = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"(?:\s*:(?![0-9]|\s*[+-]?[0-9.,]+\Z).*"
    rf"|\s+(?!{_GOES_ON})[^\W\d_]\D*"
    rf"|\s+[-(\N{{EN DASH}}\N{{EM DASH}}]\s*(?!{_GOES_ON})[^\W\d_].*)?",
    re.DOTALL | re.IGNORECASE,
)
_COMMA = re.compile(r"(?<=[0-9]),(?=[0-9]+(?:\D|$))")
#: Signs that people and programs write for a minus.
_MINUS = str.maketrans(dict.fromkeys("\N{MINUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{SMALL HYPHEN-MINUS}", "-"))
#: A score with its maximum: "8/10", "8 / 10", "8 out of 10", "70 %".
_OUT_OF = re.compile(
    r"(?P<number>[+-]?[0-9]+(?:[.,][0-9]+)?)\s*(?:%|(?:/|(?:out\s+)?of|von|sur|de|di|su)\s*(?P<most>[0-9]+(?:[.,][0-9]+)?))",
    re.IGNORECASE,
)
#: A number that may have its digits in groups of three, or three decimals.
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:[.,][0-9]{3})+")
_GROUPED_LINE = re.compile(rf"^\s*{_GROUPED.pattern}\s*$", re.MULTILINE)
#: Cells of numbers in the digits of computers, and empty ones, a line each.
_DIGITS = re.compile(r"[0-9.eE+\n-]*")
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")
_NOT_FINITE = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)


def parse_number(text: str, decimal_comma: bool = False) -> float | None:
    """Return the number at the start of a score cell; None if there is none, it is not finite, or not the only one.

    >>> [parse_number(text) for text in ("8: accept, good paper", "3 good", "+1", "-2", "4.5", "inf", "B", "8/10")]
    [8.0, 3.0, 1.0, -2.0, 4.5, None, None, None]
    >>> [parse_number(text) for text in ("7 or eight", "3 out of 5", "7 half", "6: top 5%", "3 - weak accept")]
    [None, None, None, 6.0, 3.0]
    >>> parse_number("4,5"), parse_number("4,5", decimal_comma=True), parse_number("\N{MINUS SIGN}1")
    (None, 4.5, -1.0)
    """
    stripped = text.strip().translate(_MINUS)
    if decimal_comma:
        stripped = _COMMA.sub(".", stripped, count=1)
    match = _SCORE.fullmatch(stripped)
    value = float(match["number"]) if match else math.nan
    return value if math.isfinite(value) else None


#: Times the smaller reading of a number, 1.7 of 1,700, above which the larger is nearer.
_BETWEEN = 1000**0.5

#: Cells of an optional column that mean "unknown": R writes NA.
BLANK = frozenset({"", "NA"})

#: Missing numbers in tables of numbers.
_NANS = frozenset({"nan", "NaN", "NAN"})


def missing_labels(values: Sequence[str]) -> list[bool]:
    """Return which distinct cells of a column of labels are missing.

    Empty cells are, and in columns of numbers also NaN; elsewhere not, since a person may be called Nan.
    """
    from reviewgraph._base.labels import is_null

    cells = [value.strip() for value in values]
    absent = {"", *_NANS}
    numbers = not _NANS.isdisjoint(cells) and all(cell in absent or parse_number(cell) is not None for cell in cells)
    return [cell in absent if numbers else is_null(cell) for cell in cells]


class Scores(NamedTuple):
    """The meaning of distinct score cells: their numbers, which are planned reviews, and which are bad."""

    number: FloatArray
    scored: BoolArray
    bad: BoolArray
    spelled: BoolArray  # planned by a word such as "none", not by an empty cell
    unit: str = ""  # how scores with a maximum, such as 8/10, became numbers; empty where there are none


def parse_fraction(text: str, decimal_comma: bool = False) -> tuple[float, float] | None:
    """Return a score and its maximum; None for other cells."""
    match = _OUT_OF.fullmatch(text.strip().translate(_MINUS))
    if match is None or ("," in match[0] and not decimal_comma):
        return None
    number, most = (float(part.replace(",", ".")) for part in (match["number"], match["most"] or "100"))
    return (number, most) if most > 0 else None


def _fractions(cells: Sequence[str], decimal_comma: bool) -> tuple[dict[str, float], str]:
    """Return the numbers of scores that all have their maxima, and what they are; nothing where one has none.

    If the maxima differ, scores are percentages of them.
    """
    pairs: dict[str, tuple[float, float]] = {}
    for cell in cells:
        pair = parse_fraction(cell, decimal_comma)
        if pair is not None:
            pairs[cell] = pair
        elif cell and cell.casefold() not in MISSING:
            return {}, ""
    if not pairs:
        return {}, ""
    largest = sorted({most for _, most in pairs.values()})
    if len(largest) > 1 and all(most == number + 1 for number, most in pairs.values()):
        return {}, ""  # 6/7 is between two scores
    if len(largest) == 1:
        return {cell: number for cell, (number, _) in pairs.items()}, f"scores are out of {largest[0]:g}"
    listed = ", ".join(f"{most:g}" for most in largest[:6])
    listed += f" and {len(largest) - 6} more" if len(largest) > 6 else ""
    return {cell: 100 * number / most for cell, (number, most) in pairs.items()}, f"scores are percent of {listed}"


def may_be_grouped(cells: Sequence[str], decimal_comma: bool = False) -> list[bool]:
    """Return which distinct cells are numbers of which a sign may part the thousands or the decimals.

    That is so beside whole numbers that are nearer to the larger meaning, if no cell has decimals of another length.
    """
    if not _GROUPED_LINE.search("\n".join(cells)):
        return [False] * len(cells)
    plain = [cell.strip() for cell in cells]
    grouped = [bool(_GROUPED.fullmatch(cell)) and (decimal_comma or "," not in cell) for cell in plain]
    ungrouped = [cell for cell, group in zip(plain, grouped, strict=True) if not group]
    whole = sorted(number for cell in ungrouped if _WHOLE.fullmatch(cell) and (number := abs(int(cell))))
    if not whole or any(re.fullmatch(r"[+-]?[0-9]+[.,][0-9]+", cell) for cell in ungrouped):
        return [False] * len(plain)
    usual = whole[len(whole) // 2]
    # Two readings differ by a factor of 1,000 for each sign; the usual number lies above the middle of them.
    least = [
        abs(float(re.sub("[.,]", "", cell))) / 1000 ** len(re.findall("[.,]", cell)) if group else 0.0
        for cell, group in zip(plain, grouped, strict=True)
    ]
    return [group and usual > low * _BETWEEN for group, low in zip(grouped, least, strict=True)]


def read_scores(values: Sequence[str], scale: Sequence[str] = (), decimal_comma: bool = False) -> Scores:
    """Return the meaning of distinct score cells: numbers, or ranks N, ..., 1 on a ``scale`` of grades, best first."""
    import numpy as np

    size = len(values)
    number = np.full(size, np.nan)
    state = np.zeros((3, size), np.bool_)
    scored, bad, spelled = state
    rank = {grade: float(len(scale) - place) for place, grade in enumerate(scale)}
    cells = [text.strip() for text in values]
    unit = ""
    if not rank:
        rank, unit = _fractions(cells, decimal_comma)
    grouped = [False] * size if rank else may_be_grouped(cells, decimal_comma)
    for place, cell in enumerate(cells):
        if not cell:
            continue
        value = rank.get(cell) if rank else None if grouped[place] else parse_number(cell, decimal_comma)
        if value is not None:
            number[place] = value
            scored[place] = True
        elif cell.casefold() in MISSING:
            spelled[place] = True
        else:
            bad[place] = True
    return Scores(number, scored, bad, spelled, unit)


def plain_numbers(cells: Sequence[str], decimal_comma: bool = False) -> FloatArray | None:
    """Return distinct cells as numbers, NaN where empty, all at once; None where one may mean anything else.

    >>> plain_numbers(["7", "", "4.5"]), plain_numbers(["7", "8/10"]), plain_numbers(["0", "-0"])
    (array([7. , nan, 4.5]), None, None)
    """
    import numpy as np

    if not _DIGITS.fullmatch("\n".join(cells)) or any(may_be_grouped(cells, decimal_comma)):
        return None
    try:
        numbers = np.array([float(cell) if cell else np.nan for cell in cells], np.float64)
    except ValueError:
        return None
    is_signed_zero = (numbers == 0) & np.signbit(numbers)
    return None if np.isinf(numbers).any() or is_signed_zero.any() else numbers


def are_scores(values: Sequence[str], decimal_comma: bool = False) -> bool:
    """Whether all distinct cells of a column can be scores, and some are."""
    meaning = read_scores(values, decimal_comma=decimal_comma)
    return bool(meaning.scored.any() and not meaning.bad.any())


def parse_scale(scale: str | Sequence[str] | None, *, lower_is_better: bool = False) -> tuple[str, ...]:
    if scale is None:
        return ()
    parts = scale.split(">") if isinstance(scale, str) else scale
    grades = tuple(str(part).strip() for part in parts)
    if len(grades) < 2 or len(set(grades)) < len(grades) or "" in grades:
        message = f'--scale: expected two or more distinct grades, best first, as in --scale "A>B>C", found {scale!r}'
        raise InputError(message)
    if lower_is_better:
        raise InputError("--lower-is-better: leave it out, --scale already says that its first grade is the best")
    return grades


def say_bad_score(text: str, scale: Sequence[str], decimal_comma: bool) -> str:
    if scale:
        return f"the score {quote(text)} is not on the scale {'>'.join(scale)}"
    if _NOT_FINITE.fullmatch(text.strip()):
        return f"the score {quote(text)} is not a finite number; leave the cell empty where there is no score"
    if _GROUPED.fullmatch(text.strip()):
        plain = re.sub("[.,]", "", text.strip())
        decimals = text.strip().replace(",", ".").rstrip("0").rstrip(".")
        meant = f"{decimals} or {plain}" if "," not in text or decimal_comma else plain
        return f"the score {quote(text)} may be {meant}; write numbers without groups of digits"
    if parse_fraction(text, decimal_comma) is not None:
        return (
            f"the score {quote(text)} has its maximum, and other scores of the column have none; write all with their "
            "maximum, as in 8/10, or all without"
        )
    if not decimal_comma and parse_number(text, decimal_comma=True) is not None:
        return f"the score {quote(text)} is not a number; write decimals with a point, as in 4.5"
    if text.strip()[:1].isdecimal():
        return f"the score {quote(text)} is not a single number; write one, or leave the cell empty"
    empty = "" if text.strip()[:1].isalpha() else "; leave the cell empty where there is no score"
    return f"the score {quote(text)} is not a number{empty}"


def ask_direction(bad: Sequence[str], *, beside_numbers: bool = False) -> str | None:
    """Return the question to ask where scores are letters or words; None where they are something else."""
    grades = {text.strip() for text in bad if text.strip()[:1].isalpha() and not _NOT_FINITE.fullmatch(text.strip())}
    if not grades:
        return None
    words = quote_all(sorted(grades), 6)
    single = len(grades) == 1
    asked = f"Scores that are letters or words do not say which is better. If {words} "
    asked += "is a grade" if single else "are grades"
    if beside_numbers:
        asked = (
            f"If {words} {'means' if single else 'mean'} that there is no score, empty these cells: the reviews count "
            f"as planned. {asked}"
        )
    # No order is proposed, not even that of letters: in some systems A is the best, in others the worst.
    return (
        f"{asked}, give all with --scale (in Python scale=), best first, with > between them and in quotes; where they "
        "mean that there is no score, leave the cell empty"
    )


def parse_whole(text: str) -> int | None:
    """Return a whole number that is not negative, or None."""
    match = re.fullmatch(r"[+]?([0-9]{1,15})(?:[.]0*)?", text.strip())
    return int(match[1]) if match else None


#: Cells that say yes and no, in some languages.
_YES = frozenset(terms("1, yes, y, true, t, senior, x, ja, j, oui, sí, si, sim, da, 是, はい"))
_NO = frozenset(
    ("", "0", "no", "n", "false", "f", "-", "nein", "non", "n\xe3o", "nao", "nee", "\u5426", "\u3044\u3044\u3048")
)


def parse_flag(text: str) -> bool | None:
    """Return yes or no, None if the cell is neither; an empty cell means no."""
    word = text.strip().casefold()
    if word in _YES:
        return True
    return False if word in _NO else None


#: Value of each word by system; case, blanks and the signs - and _ do not matter.
BIDS = {
    "OpenReview": {"very high": 1.0, "high": 0.5, "neutral": 0.0, "no bid": 0.0, "low": -0.5, "very low": -1.0},
    "EasyChair": {"yes": 1.0, "maybe": 0.5, "no": -1.0},
    "CMT": {"eager": 1.0, "willing": 0.5, "in a pinch": -0.5, "not willing": -1.0, "not entered": 0.0},
    "other tables": {"want": 1.0, "ok": 0.5, "rather not": -0.5, "not want": -1.0},
}

CONFLICT = "conflict"
#: HotCRP's preferences: the one equal to the strongest word, and the one from which it is a conflict.
STRONGEST = 20.0
BARRED = -100.0
#: The valid cells, for messages.
A_BID = (
    f"one of {', '.join(word for words in BIDS.values() for word in words)}, {CONFLICT}, or a preference "
    "(HotCRP's, such as -20 to 20)"
)

_VALUE = {word: value for words in BIDS.values() for word, value in words.items()}
_NUMBERED = re.compile(r"^[0-9]+\s*[-:.)]*\s*(?=[a-z])")
_PREFERENCE = re.compile(r"(?P<number>[+-]?[0-9]+(?:[.][0-9]+)?)\s*[xyz]?")


class Bid(NamedTuple):
    """A bid from -1 to 1, or a conflict."""

    value: float
    conflict: bool = False


def parse_bid(text: str) -> Bid | None:
    """Return the bid in a cell; None if it is neither a word of :data:`BIDS` nor a number.

    A number is a HotCRP preference: 20 and more is 1, -20 and less is -1, -100 and less a conflict; a letter for
    expertise may follow it. The number before CMT's words is ignored.

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


#: Digits of seconds since 1970, and of milliseconds.
_SECONDS = (9, 10)
_MILLISECONDS = (12, 13)
_BEFORE_ZONE = re.compile(r"\s+(?=[+-]\d{2}:?\d{2}$|Z$)")


#: A date as people write it, with a time perhaps: 4.3.2026, 13/03/2026 9:05 PM, 2026/03/04 9:05:00 PM GMT+1.
_DATE = re.compile(
    r"(?P<start>[0-9]{1,2}|[0-9]{4})(?P<mark>[./-])(?P<middle>[0-9]{1,2})(?P=mark)(?P<end>[0-9]{4}|[0-9]{2})"
    r"(?:,?\s+(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?(?:\s*(?P<half>[ap])\.?m\.?)?"
    r"(?:\s*(?:GMT|UTC)(?P<zone>[+-][0-9]{1,2})?)?)?",
    re.IGNORECASE,
)


def parse_moment(text: str, *, day_first: bool | None = None) -> datetime | None:
    """Return a date or a time in ISO 8601, in figures, or in seconds or milliseconds since 1970; None of other texts.

    Of 3/4/2026 ``day_first`` says which is the day; without it such a date is None.

    >>> [parse_moment(text) and parse_moment(text).day for text in ("4.3.2026", "13/3/2026", "3/4/2026")]
    [4, 13, None]
    """
    plain = text.strip()
    if plain.isascii() and plain.isdigit() and len(plain) in (*_SECONDS, *_MILLISECONDS):
        seconds = int(plain) / (1000 if len(plain) in _MILLISECONDS else 1)
        return datetime.fromtimestamp(seconds, UTC)
    date = _DATE.fullmatch(plain)
    try:
        moment = _in_figures(date, day_first) if date else datetime.fromisoformat(_BEFORE_ZONE.sub("", plain))
        if moment is None:
            return None
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _in_figures(date: re.Match[str], day_first: bool | None) -> datetime | None:
    """Return the moment of a date in figures; None where its day may be its month."""
    start, middle, end = (int(date[part]) for part in ("start", "middle", "end"))
    if len(date["start"]) == 4:
        year, month, day = start, middle, end
    else:
        if date["mark"] == ".":
            day_first = True
        elif day_first is None and (max(start, middle) > 12 or start == middle):
            day_first = start > 12
        if day_first is None:
            return None
        day, month = (start, middle) if day_first else (middle, start)
        year = end if len(date["end"]) == 4 else 2000 + end
    hour = int(date["hour"] or 0)
    if date["half"]:
        hour = hour % 12 + 12 * (date["half"].lower() == "p")
    zone = timezone(timedelta(hours=int(date["zone"] or 0)))
    return datetime(year, month, day, hour, int(date["minute"] or 0), int(date["second"] or 0), tzinfo=zone)


def read_moments(cells: Sequence[str]) -> list[list[float]]:
    """Return dates or times as seconds, in each way that all of them can be read: the day first, or the month first.

    >>> [len(read_moments(cells)) for cells in (["3/4/2026", "13/4/2026"], ["3/4/2026", "5/4/2026"], ["soon"])]
    [1, 2, 0]
    """
    ways = [[parse_moment(cell, day_first=first) for cell in cells] for first in (True, False)]
    read = [[moment.timestamp() for moment in way if moment is not None] for way in ways if None not in way]
    return read[:1] if read[1:] == read[:1] else read


#: Words in a column of conflicts, in addition to yes and no, compared without case.
_BARRED = frozenset(
    terms(
        """conflict, conflicted, conflict of interest, coi, c, 1.0, o, befangen, conflit, conflicto, conflitto,
        conflito, \N{CHECK MARK}, \N{HEAVY CHECK MARK}, \N{BALLOT X}, \N{BALLOT BOX WITH CHECK}, \N{BALLOT BOX WITH X},
        \N{MULTIPLICATION X}"""
    )
)
_FREE = frozenset(
    terms(
        """no conflict, no coi, not conflicted, none declared, none, ok, free, 0.0, dismissed, cleared, unbefangen,
        nicht befangen, keine, aucun, ninguno, nessuno, n/a, \N{EN DASH}"""
    )
)


def parse_conflict(text: str) -> bool | None:
    """Return whether a cell says that there is a conflict, None if it says neither."""
    word = text.strip().casefold()
    if word in _BARRED or word in _FREE:
        return word in _BARRED
    return parse_flag(word)

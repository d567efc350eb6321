"""Several scores of one review: which columns hold them, which one counts, and how sure reviewers say they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.text import Detail
from reviewgraph.formats.audit.rows import is_status
from reviewgraph.formats.columns import CONFIDENCE, CRITERION, ITEM, REVIEWER, SCORE, TITLE, normalise, optional
from reviewgraph.formats.columns import is_usual as is_usual
from reviewgraph.formats.files import quote, quote_all
from reviewgraph.formats.side import NO_CRITERIA
from reviewgraph.formats.tables import NO_SCORES, Table, say_which_score
from reviewgraph.formats.values import MISSING, parse_number, read_scores

#: Columns of numbers that are no scores, by their names: what counts, dates or numbers the rows.
_NO_SCORE = re.compile(
    r"(?:.*_)?(?:id|ids|no|nr|number|index|year|month|day|date|time|timestamp|created|updated|modified|round|phase|"
    r"version|words|chars|length|count|age|seed|fold|batch|session|duration|seconds|minutes|hours|ms)"
    r"|(?:num|n|nb|count|number)_.*|unnamed_[0-9]+|column_?[0-9]+|index|"
)
#: Normalised names of columns that are something else.
_OTHERS = frozenset(
    [*NO_CRITERIA, *NO_SCORES]
    + [name for role in (REVIEWER, ITEM, TITLE, CONFIDENCE, CRITERION) for name in role.names]
)
#: Systems whose files have any columns, as tables of no system do.
_INFORMAL = ("forms", "workshop", "gradebook")
_ABOUT_CONFIDENCE = re.compile(r"\b(?:confiden(?:ce|t)|expertise)\b", re.IGNORECASE)
#: Rows that repeat a paper or a reviewer before a column that agrees in all of them counts as an attribute.
_REPEATED = 20
#: The letters of HotCRP's fields for confidence and expertise: X is an expert.
_EXPERT = {"X": 3.0, "Y": 2.0, "Z": 1.0}
_LETTER = re.compile(r"(?P<letter>[A-Z])(?:\s*[.:)(\N{EN DASH}\N{EM DASH}-].*)?", re.DOTALL)


class Fields(NamedTuple):
    """The score fields of the rows of one source, shapes (E,)."""

    target: str | None  #: The name of the score; None where there is no score.
    score: FloatArray  #: NaN where missing.
    criteria: Mapping[str, FloatArray]  #: The others by name.


def may_be_criterion(name: str) -> bool:
    """Return whether a column of this name may be a further score of a review."""
    if not name.strip() or is_status(name):
        return False
    return normalise(name) not in _OTHERS and not _NO_SCORE.fullmatch(normalise(name))


def say_unusual(name: str, criteria: Collection[str], choice: str) -> list[str]:
    """Return a note on further scores that no usual name shows to be scores; none without such."""
    odd = [criterion for criterion in criteria if not is_usual(criterion)]
    if not odd:
        return []
    verb, what, their = ("are", "further scores", "their") if len(odd) > 1 else ("is", "a further score", "its")
    return [f"{name}: {quote_all(odd)} {verb} read as {what} of the reviews, for {their} numbers; {choice}"]


def say_letters(table: str, columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a note on columns, by name, that are called as criteria and have letters as cells; none without such."""
    lettered = [
        name
        for name, cells in columns.items()
        if is_usual(name) and read_criterion(cells) is None and read_criterion(cells, letters=True) is not None
    ]
    if not lettered:
        return []
    verb = "hold letters and are not read as further scores"
    verb = verb if len(lettered) > 1 else "holds letters and is not read as a further score"
    return [f"{table}: {quote_all(lettered)} {verb}; write numbers in their place (HotCRP's A is the best)"]


def further_places(table: Table, taken: Collection[int]) -> list[int]:
    """Return the columns of a file that may be further scores: in files of a system its fields, once each."""
    source = table.source
    if source is not None and source.kind != "reviews":
        return []
    informal = source is None or source.system in _INFORMAL
    explained, extras = (source.explained, source.extras) if source else ({}, ())
    return [
        place
        for place, name in enumerate(table.header)
        if place not in taken
        and place not in table.unread
        and (name in explained if explained else name.strip() and normalise(name) not in {*_OTHERS, *extras})
        and (may_be_criterion(name) or not informal)
        and table.header.count(name) == 1
    ]


def confidence_place(table: Table, columns: Mapping[str, str], note: Callable[[str], object]) -> int | None:
    """Return the column of confidence or expertise: by its name, or the only question about it."""
    place = optional(table.header, columns, table.name, note, CONFIDENCE).get(CONFIDENCE.name)
    source = table.source
    if place is not None or CONFIDENCE.name in columns or source is None:
        return place
    texts = source.explained or {name: name for name in table.header if source.system in _INFORMAL}
    asked = [name for name, text in texts.items() if _ABOUT_CONFIDENCE.search(text)]
    return table.header.index(asked[0]) if len(asked) == 1 else None


def read_criterion(
    values: Sequence[str], scale: Sequence[str] = (), decimal_comma: bool = False, *, letters: bool = False
) -> FloatArray | None:
    """Return the numbers of distinct cells, NaN where missing; None if the column is no score.

    Cells are grades of ``scale``, or numbers; with ``letters`` (HotCRP's, of which A is the best) also single letters.
    """
    values = ["" if value.strip().casefold() == "nan" else value for value in values]
    for grades in ([scale] if scale else []) + [()]:
        meaning = read_scores(values, grades, decimal_comma)
        if meaning.scored.any() and not meaning.bad.any():
            return meaning.number
    cells = [value.strip() for value in values]
    letters_used = {cell for cell in cells if cell and cell.casefold() not in MISSING}
    if not letters or not letters_used or not all(len(cell) == 1 and "A" <= cell <= "Z" for cell in letters_used):
        return None
    last = max(map(ord, letters_used))
    return np.array([1.0 + last - ord(cell) if cell in letters_used else np.nan for cell in cells])


def read_confidence(values: Sequence[str], decimal_comma: bool = False) -> FloatArray | str:
    """Return how sure distinct cells are, larger is surer and NaN is missing; or the first cell that is none.

    Cells are numbers, labels that begin with one, or HotCRP's letters: X is an expert, Z an informed outsider.
    """
    sure = np.full(len(values), np.nan)
    for place, value in enumerate(values):
        cell = value.strip()
        if not cell or cell.casefold() in {"nan", *MISSING}:
            continue
        letter = _LETTER.fullmatch(cell)
        number = _EXPERT.get(letter["letter"]) if letter else parse_number(cell, decimal_comma)
        if number is None:
            return value
        sure[place] = number
    return sure


def is_attribute(values: FloatArray, reviewer: IntArray, item: IntArray) -> bool:
    """Return whether a column describes papers or reviewers, not reviews: it never differs between the rows of one.

    A few rows decide nothing, and a column with one value is none.
    """
    known = np.flatnonzero(~np.isnan(values))
    value = values[known]
    if value.size == 0 or (value == value[0]).all():
        return value.size > _REPEATED
    for codes in (reviewer[known], item[known]):
        order = np.lexsort((value, codes))
        same = np.diff(codes[order]) == 0
        if np.count_nonzero(same) >= _REPEATED and not (same & (np.diff(value[order]) != 0)).any():
            return True
    return False


def without_copies(score: FloatArray, criteria: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the criteria that are not the score itself under another name.

    In a few rows they may agree by chance, so that there only names of overall scores count as copies.
    """

    def is_copy(name: str, values: FloatArray) -> bool:
        known = ~np.isnan(values)
        telling = normalise(name) in SCORE.names or np.count_nonzero(known) >= _REPEATED
        return bool(telling and known.any() and (values[known] == score[known]).all())

    return {name: values for name, values in criteria.items() if not is_copy(name, values)}


# Long tables: a row for each score of a review, with a column that names the field.


def spread(
    score: FloatArray, scored: BoolArray, codes: IntArray, names: Sequence[str], wanted: str | None, table: str
) -> Fields:
    """Return the fields of a long table, whose rows have a score in one field each: that of ``names[codes]``.

    The target is ``wanted``, or else the field with the name of an overall score, or the only one.
    """
    # Names that differ in case or blanks alone are one field, whatever the order of rows.
    spelled: dict[str, str] = {}
    for name in sorted(filter(str.strip, names)):
        spelled.setdefault(normalise(name), name.strip())
    field = np.array([normalise(name) if name.strip() else "" for name in names], object)[codes]
    values = {name: np.where(scored & (field == plain), score, np.nan) for plain, name in spelled.items()}
    target = choose(list(values), wanted, table)
    if target is None:
        return Fields(None, np.full(score.size, np.nan), values)
    # A row without a criterion is of the target.
    target_score = np.where(scored & (field == ""), score, values.pop(target))
    return Fields(target, target_score, values)


def choose(names: Sequence[str], wanted: str | None, table: str) -> str | None:
    """Return the name of the score field that counts among the criteria of a long table; ``wanted`` "" means none."""
    if wanted is not None:
        if not wanted.strip():
            return None
        chosen = [name for name in names if name == wanted.strip()] or [
            name for name in names if normalise(name) == normalise(wanted)
        ]
        if not chosen:
            raise InputError(
                f"{table}: --score {wanted}: there is neither a column nor a criterion {quote(wanted)}; found the "
                f"criteria {quote_all(names)}"
            )
        return chosen[0]
    overall = [name for name in names if normalise(name) in SCORE.names]
    if len(overall) == 1 or len(names) == 1:
        return (overall or list(names))[0]
    if not names:
        return None
    raise InputError(say_which_score(table, overall or names))


def joined_name(names: Collection[str | None]) -> str | None:
    """Return one name of several sources' targets: theirs where they agree up to spelling, otherwise ``score``."""
    known = sorted(name for name in names if name is not None)
    plain = {normalise(name) for name in known}
    return None if not known else known[0] if len(plain) == 1 else SCORE.name


def say_further(name: str, target: str | None, criteria: Collection[str], confidence: bool) -> list[str]:
    """Return notes on the further scores and the confidence of a source."""
    notes = []
    if criteria and target is not None:
        kept = f"{quote_all(criteria)} {'is a further score' if len(criteria) == 1 else 'are further scores'}"
        notes.append(f"{name}: the score is {quote(target)}; {kept} (choose with --score NAME)")
    if confidence:
        sure = f"{name}: reviewers say how sure they are; calibrate uses it where it helps (or --no-confidence)"
        notes.append(Detail(sure))
    return notes

"""The reviews of one table, of a file or a data frame: columns found, rows audited, cells understood."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import Label, as_text, encode, is_null
from reviewgraph._base.storing import LeftOut
from reviewgraph._base.text import Detail
from reviewgraph.formats.audit.audit import Audit
from reviewgraph.formats.audit.finding import Draft, overrule
from reviewgraph.formats.audit.rows import is_status, tells_age
from reviewgraph.formats.columns import (
    CONFIDENCE,
    CRITERION,
    ITEM,
    REVIEWER,
    SCORE,
    TITLE,
    Columns,
    Origin,
    is_usual,
    locate,
    named,
    normalise,
    nouns_of,
    optional,
    refuse_row_numbers,
)
from reviewgraph.formats.files import Note, Problems, quote, quote_all
from reviewgraph.formats.side import NO_CRITERIA
from reviewgraph.formats.spellings import PAPER, PERSON, Respelling
from reviewgraph.formats.systems.gradebooks import refuse_several, say_wide
from reviewgraph.formats.tables import (
    NO_SCORES,
    Aside,
    Column,
    Numbers,
    Table,
    ask_score,
    numeric,
    of_rows,
    say_which_score,
    text_column,
)
from reviewgraph.formats.values import (
    BLANK,
    MISSING,
    are_scores,
    ask_direction,
    missing_labels,
    parse_number,
    read_scores,
    say_bad_score,
)

ROLES = (REVIEWER, ITEM, SCORE, TITLE)


class Part(NamedTuple):
    """The reviews of one table, a row each."""

    table: Table
    lines: Sequence[int]
    reviewer: Column
    item: Column
    score: FloatArray
    scored: BoolArray
    title: Column | None
    has_scores: bool
    aside: Aside
    left_out: Sequence[LeftOut]
    target: str | None  #: The name of the score field.
    criteria: Mapping[str, FloatArray]
    confidence: FloatArray | None
    is_long: bool  #: Whether its rows are single scores of reviews.
    kept: Sequence[Any]  #: Items of rows left out that exist all the same.
    barred: Sequence[tuple[Any, Any]]  #: Pairs of a reviewer and an item whose score says that they are in conflict.
    heads: tuple[str, str]  #: The names of the columns of items and reviewers.

    def titles(self) -> dict[Any, str]:
        """Return title by item: of several the alphabetically first, so that the order of rows is irrelevant."""
        titles: dict[Any, str] = {}
        if self.title is None:
            return titles
        # Item and title as one number: distinct pairs without a dictionary of all rows.
        width = len(self.title.values)
        for pair in np.unique(self.item.codes * width + self.title.codes).tolist():
            label = self.item.values[pair // width]
            title = self.title.values[pair % width].strip()
            if title not in BLANK and (label not in titles or title < titles[label]):
                titles[label] = title
        return titles


class Asked(NamedTuple):
    """What the user says about a table."""

    columns: Mapping[str, str]  #: Names of columns by role.
    scale: Sequence[str]  #: Grades, best first; none where scores are numbers.
    duplicates: str  #: The policy for pairs with two scores.
    lower_is_better: bool = False  #: 1 is the best score.
    criteria: Iterable[str] | None = None  #: The columns that are further scores; None to find them.


def read_part(
    table: Table, asked: Asked, audit: Audit, problems: Problems, note: Note, respelling: Respelling | None = None
) -> Part:
    """Return the reviews of a table; malformed rows are noted as problems, and kept."""
    columns = {**table.columns, **asked.columns}
    wide = say_wide(table, asked.columns)
    if wide:
        note(wide)
    places = locate(table.header, ROLES, columns, table.name, note)
    refuse_several(table, places[REVIEWER.name], asked.columns)
    if SCORE.name not in places and SCORE.name not in asked.columns:
        ask_score(table)
    more = _places_beside(table, columns, set(places.values()), note, asked)
    table.labels = (places[REVIEWER.name], places[ITEM.name])
    rows = table.read([*places.values(), *more.values()], problems)
    # From here on each distinct cell is processed once, and rows are reached through codes.
    column: dict[str, Any] = dict(zip([*places, *more], rows.columns, strict=True))
    # Titles and names are text from here on, and numbers are numbers, unless they are grades of a scale.
    for name, cells in column.items():
        if name in (TITLE.name, CRITERION.name):
            column[name] = text_column(cells)
        elif not asked.scale and (name == SCORE.name or name.isdecimal()):
            column[name] = numeric(cells, table.decimal_comma)
    lines = np.asarray(rows.lines, np.int64)
    draft = _audited(table, asked, audit, column, places | more, lines)
    if draft.left_out or draft.size != lines.size or (draft.rows[1:] < draft.rows[:-1]).any():
        column = {role: of_rows(cells, draft.rows) for role, cells in column.items()}
        lines = lines[draft.rows]
    column |= {REVIEWER.name: draft.reviewer, ITEM.name: draft.item}
    order = {role: number for number, role in enumerate(places)}
    aside = table.aside(order[REVIEWER.name], order[ITEM.name], order.get(TITLE.name))
    if respelling is not None:
        column[REVIEWER.name] = respelling.spelled(draft.reviewer, PERSON)
        column[ITEM.name] = respelling.spelled(draft.item, PAPER)
        aside = respelling.aside(aside)
    line_list: Sequence[int] = rows.lines if lines.size == len(rows.lines) else lines.tolist()
    for role in (REVIEWER, ITEM):
        if _note_missing(table, role.name, column[role.name], line_list, problems):
            if role is REVIEWER:
                problems.hint(f"To leave out rows without a reviewer, say {overrule('empty-reviewers')}")
            problems.hint(f"If the {role.name} stands in another column, name it with --columns {role.name}=NAME")
    labels = [str(label) for label in column[ITEM.name].values]
    titles = {table.header[places[TITLE.name]]: column[TITLE.name]} if TITLE.name in places else {}
    again = partial(_come_again, draft, titles)
    refuse_row_numbers(table.header, places, columns, labels, lines.size, table.name, again=again)
    score, scored = _scores(table, column.get(SCORE.name), asked.scale, line_list, problems, note)
    if draft.unfinished is not None:
        scored &= ~draft.unfinished
        score = np.where(scored, score, np.nan)
    fields = Fields(table.header[places[SCORE.name]] if SCORE.name in places else None, score, {})
    is_long = CRITERION.name in more and SCORE.name in column
    if is_long:
        kinds = column[CRITERION.name]
        score_name = columns.get(SCORE.name)
        wanted = score_name if score_name is not None and not named(table.header, score_name) else None
        fields = spread(score, scored, kinds.codes, kinds.values, wanted, table.name)
        score = fields.score
        scored = ~np.isnan(score)
    beside = {table.header[place]: column[role] for role, place in more.items() if role.isdecimal()}
    criteria = {**fields.criteria, **_criteria(table, beside, asked, column)}
    others = {
        name: text_column(further).values
        for name, further in beside.items()
        if name not in criteria and isinstance(further, Column)
    }
    for message in say_letters(table.name, others):
        note(message)
    return Part(
        table,
        line_list,
        column[REVIEWER.name],
        column[ITEM.name],
        score,
        scored,
        column.get(TITLE.name),
        SCORE.name in column,
        aside,
        [*rows.left_out, *draft.left_out],
        fields.target,
        without_copies(score, criteria) if asked.criteria is None else criteria,
        _confidence(table, more, column, note),
        is_long,
        draft.papers,
        draft.barred,
        (table.header[places[ITEM.name]], table.header[places[REVIEWER.name]]),
    )


def _audited(
    table: Table, asked: Asked, audit: Audit, column: dict[str, Any], places: Mapping[str, int], lines: IntArray
) -> Draft:
    """Return the rows of a table after the audit of its rows; cells of scores become text where they are no numbers."""
    score = column.get(SCORE.name)
    if isinstance(score, Column):
        column[SCORE.name] = score = text_column(score)
    draft = Draft(
        table.name,
        column[REVIEWER.name],
        column[ITEM.name],
        score,
        lambda row: table.place(int(lines[row])),
        np.arange(lines.size),
        headers={role: table.header[place] for role, place in places.items() if not role.isdecimal()},
        others=_others(table, {place for role, place in places.items() if not role.isdecimal()}),
        duplicates=asked.duplicates,
        has_scale=bool(asked.scale),
        lower_is_better=asked.lower_is_better,
    )
    return audit.of_rows(draft)


def _others(table: Table, taken: Collection[int]) -> dict[str, Callable[[], Column]]:
    """Return readers of the columns without a role; in exports of systems, of states that the system does not list.

    Responses to a form have the times of answers, too.
    """

    def is_read(place: int, name: str) -> bool:
        if place in taken or place in table.unread or not name.strip() or table.header.count(name) > 1:
            return False
        if table.source is None or (table.source.system == "forms" and tells_age(name)):
            return True
        return is_status(name) and normalise(name) not in table.source.extras

    return {
        name: lambda place=place: text_column(table.read([place], Problems()).columns[0])  # type: ignore[misc]
        for place, name in enumerate(table.header)
        if is_read(place, name)
    }


def _come_again(draft: Draft, titles: Mapping[str, Column]) -> list[str]:
    """Return the columns of words that come again, never twice with one reviewer, as papers do."""
    reviewer = draft.reviewer.codes
    columns = dict(titles)
    # Where each reviewer has one row, any words come with a reviewer once.
    if np.unique(reviewer).size < draft.size:
        columns |= {name: of_rows(read(), draft.rows) for name, read in draft.others.items()}
    recurring = []
    for name, cells in columns.items():
        column = text_column(cells)
        words = [cell.strip() for cell in column.values]
        pairs = np.unique(np.stack([reviewer, column.codes]), axis=1).shape[1]
        if pairs == draft.size > len(words) > 1 and all(words) and not are_scores(words) and not is_status(name):
            recurring.append(name)
    return recurring


def _note_missing(table: Table, role: str, column: Column, lines: Sequence[int], problems: Problems) -> bool:
    cells = column.values
    if all(isinstance(cell, str) for cell in cells):
        missing = np.array(missing_labels([cell.strip() for cell in cells]), np.bool_)
    else:
        missing = np.array([is_null(cell) for cell in cells], np.bool_)

    def say_missing(code: int) -> str:
        cell = cells[code]
        if not isinstance(cell, str):
            return f"the {role} is null"
        return f"the {role} is {'empty' if is_null(cell) else cell.strip()}"

    return table.note_cells(problems, lines, column, missing, say_missing)


def _scores(
    table: Table,
    column: Column | Numbers | None,
    scale: Sequence[str],
    lines: Sequence[int],
    problems: Problems,
    note: Note,
) -> tuple[FloatArray, BoolArray]:
    """Return the scores of rows, and which rows have one; words that mean "no score" are noted."""
    size = len(lines)
    if column is None:
        return np.full(size, np.nan), np.zeros(size, np.bool_)
    if isinstance(column, Numbers) and not scale:
        return column.values.copy(), column.known.copy()
    codes, values = text_column(column)
    meaning = read_scores(values, scale, table.decimal_comma)

    def say_bad(code: int) -> str:
        return say_bad_score(values[code], scale, table.decimal_comma)

    table.note_cells(problems, lines, Column(codes, values), meaning.bad, say_bad)
    bad = [values[code] for code in np.flatnonzero(meaning.bad)]
    question = None if scale else ask_direction(bad, beside_numbers=bool(meaning.scored.any()))
    if question:
        problems.hint(question)
    if meaning.unit:
        note(f"{table.name}: {meaning.unit}")
    if meaning.spelled.any():
        count = np.bincount(codes, minlength=len(values))
        spelled = {values[code]: int(count[code]) for code in np.flatnonzero(meaning.spelled) if count[code]}
        words = quote_all(sorted(spelled))
        note(
            f"{table.name}: {sum(spelled.values()):,} scores read as missing ({words}): these reviews count as planned"
        )
    return meaning.number[codes], meaning.scored[codes]


def _places_beside(
    table: Table, columns: Mapping[str, str], taken: set[int], note: Note, asked: Asked
) -> dict[str, int]:
    """Return the places of the confidence and of the names of criteria by role, of further scores by their number."""
    if table.source is not None and table.source.kind != "reviews":
        return {}
    sure = confidence_place(table, columns, note)
    places = {} if sure is None or sure in taken else {CONFIDENCE.name: sure}
    if table.source is None:
        places |= optional(table.header, columns, table.name, note, CRITERION)
    taken = {*taken, *places.values()}
    if asked.criteria is None:
        further = further_places(table, taken)
    else:
        further = [_place_of_criterion(table, name, taken) for name in asked.criteria]
    return {**places, **{str(place): place for place in further}}


def _place_of_criterion(table: Table, name: str, taken: Collection[int]) -> int:
    left = [place for place, text in enumerate(table.header) if place not in taken and table.header.count(text) == 1]
    names = [table.header[place] for place in left]
    at = named(names, name)
    if len(at) != 1:
        raise InputError(
            f"criteria: expected columns of the {table.name} beside the score, found {name!r}; there are "
            f"{quote_all(names)}"
        )
    return left[at[0]]


def _criteria(
    table: Table, columns: Mapping[str, Column | Numbers], asked: Asked, labels: Mapping[str, Column]
) -> dict[str, FloatArray]:
    """Return the further scores among columns, by name.

    In tables of no system columns that describe papers or reviewers are none.
    """
    criteria: dict[str, FloatArray] = {}
    for name, column in columns.items():
        numbers = _criterion(table, column, asked.scale)
        if numbers is not None:
            criteria[name] = numbers
        elif asked.criteria is not None:
            message = f"criteria: expected numbers in the column {name!r}, found others; convert it, or leave it out"
            raise InputError(message)
    if table.source is not None or asked.criteria is not None:
        return criteria
    codes = labels[REVIEWER.name].codes, labels[ITEM.name].codes
    return {name: values for name, values in criteria.items() if not is_attribute(values, *codes)}


def _criterion(table: Table, column: Column | Numbers, scale: Sequence[str]) -> FloatArray | None:
    """Return the numbers of a column, NaN where missing; None if it has none, or anything else."""
    if isinstance(column, Numbers):
        numbers = np.where(column.known, column.values, np.nan)
        return numbers if np.isfinite(numbers).any() and not np.isinf(numbers).any() else None
    # Objects of a frame may be numbers beside None and words for none.
    kinds = {type(value) for value in column.values if not is_null(value)}
    if not all(issubclass(kind, str | Real | Decimal) and not issubclass(kind, bool) for kind in kinds):
        return None
    letters = table.source is not None and table.source.system == "hotcrp"
    texts = ["" if is_null(value) else as_text(value) for value in column.values]
    meaning = read_criterion(texts, scale, table.decimal_comma, letters=letters)
    return None if meaning is None else meaning[column.codes]


def _confidence(table: Table, places: Mapping[str, int], columns: Mapping[str, Any], note: Note) -> FloatArray | None:
    """Return how sure reviewers say they are, by row; None, with a note, if a cell is no confidence."""
    if CONFIDENCE.name not in columns:
        return None
    name = table.header[places[CONFIDENCE.name]]
    cells = text_column(columns[CONFIDENCE.name])
    sure = read_confidence(cells.values, table.decimal_comma)
    if not isinstance(sure, str):
        return None if np.isnan(sure).all() else sure[cells.codes]
    note(f"{table.name}: the column {quote(name)} is no confidence: {quote(sure)} is neither a number nor X, Y or Z")
    return None


# The rows of all parts.


def together(parts: Sequence[Part], reviewers: Iterable[Label] = (), papers: Iterable[Label] = ()) -> Columns:
    """Return the rows of all parts, whose labels have one code each; further reviewers and papers may be known."""
    reviewer, people = _joined([part.reviewer for part in parts], reviewers)
    item, items = _joined([part.item for part in parts], papers)
    fields = _fields(parts)
    if not any(part.has_scores for part in parts):
        fields["score"] = fields["scored"] = None
    titles: dict[Label, str] = {}
    for part in parts:
        for label, title in part.titles().items():
            titles[label] = min(title, titles.get(label, title))
    origin = Origin(nouns=nouns_of([part.heads for part in parts]))
    return Columns(
        reviewer, item, people, items, **fields, titles=titles, origin=origin, row_name=_places(parts), audited=True
    )


def _fields(parts: Sequence[Part]) -> dict[str, Any]:
    """Return the scores, criteria and confidence of the rows of all files, as :class:`Columns` takes them.

    Names of criteria that differ in case or blanks alone are one, unless one file has both.
    """
    counts = [Counter(map(normalise, part.criteria)) for part in parts]
    spelled: dict[str, str] = {}
    as_spelled: dict[str, str] = {}
    for name in sorted({name for part in parts for name in part.criteria}):
        plain = normalise(name)
        as_spelled[name] = spelled.setdefault(plain, name) if all(count[plain] < 2 for count in counts) else name
    size = [len(part.lines) for part in parts]
    by_name = [{as_spelled[name]: values for name, values in part.criteria.items()} for part in parts]

    def over_all(columns: Sequence[FloatArray | None]) -> FloatArray:
        pairs = zip(columns, size, strict=True)
        return np.concatenate([np.full(rows, np.nan) if values is None else values for values, rows in pairs])

    # Names are in the order of the longest list, then the others, whatever the order of files.
    first = max(map(list, by_name), key=lambda names: (len(names), names))
    names = [*first, *sorted({name for fields in by_name for name in fields} - set(first))]
    sure = [part.confidence for part in parts]
    return {
        "score": over_all([part.score for part in parts]),
        "scored": np.concatenate([part.scored for part in parts]),
        "target": joined_name([part.target for part in parts]),
        "criteria": {name: over_all([fields.get(name) for fields in by_name]) for name in names},
        "confidence": None if all(fields is None for fields in sure) else over_all(sure),
    }


def _places(parts: Sequence[Part]) -> Callable[[int], str]:
    starts = np.cumsum([0, *(len(part.lines) for part in parts)]).tolist()

    def place(row: int) -> str:
        file = bisect_right(starts, row) - 1
        return parts[file].table.place(int(parts[file].lines[row - starts[file]]))

    return place


def _joined(columns: Sequence[Column], declared: Iterable[Label] = ()) -> tuple[IntArray, Sequence[Label]]:
    """Codes of the rows of all files, and the labels in natural order, which no order of rows or files changes."""
    code, labels = encode([value for column in columns for value in column.values], declared)
    starts = np.cumsum([0, *(len(column.values) for column in columns)]).tolist()
    return np.concatenate([code[column.codes + start] for column, start in zip(columns, starts, strict=False)]), labels


# Several scores of one review: which columns hold them, which one counts, and how sure reviewers say they are.

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


def confidence_place(table: Table, columns: Mapping[str, str], note: Note) -> int | None:
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
    notes = []
    if criteria and target is not None:
        kept = f"{quote_all(criteria)} {'is a further score' if len(criteria) == 1 else 'are further scores'}"
        notes.append(f"{name}: the score is {quote(target)}; {kept} (choose with --score NAME)")
    if confidence:
        sure = f"{name}: reviewers say how sure they are; calibrate uses it where it helps (or --no-confidence)"
        notes.append(Detail(sure))
    return notes

"""Informal spreadsheets: forms, workshops, gradebooks, and tables with a column for each reviewer or paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from os.path import commonprefix
from statistics import median
from typing import NamedTuple, TypeAlias

from reviewgraph._base.errors import InputError
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import (
    ADDRESSES,
    ITEM,
    REVIEWER,
    ROW_NUMBERS,
    SCORE,
    TITLE,
    Role,
    is_usual,
    locate,
    named,
    naming,
    normalise,
    recognised,
)
from reviewgraph.formats.files import quote, quote_all, terms
from reviewgraph.formats.people import SUMMARY_WORDS, is_nobody, words_of
from reviewgraph.formats.systems.system import Export, System, Use, Wanted
from reviewgraph.formats.tables import Grid, Line, Table, may_hold_scores, to_grid
from reviewgraph.formats.values import MISSING, are_scores, parse_fraction, parse_moment, parse_number

#: The subject of a row of a gradebook.
STUDENT = Role(
    ITEM.name,
    (*ITEM.synonyms[:-2], "student_id", "student_name", "name", "id_number", *ITEM.synonyms[-2:]),
    label=True,
    weak=ITEM.weak,
)
#: Whoever a numbered column may name.
PEOPLE = (*REVIEWER.names, "peer", "peer_reviewer")
#: What may follow the number in the name of a column of people.
NAMED_BY = ("id", "email", "e_mail", "name")
#: All names of columns of people without the number, the best first.
_WHO = tuple(dict.fromkeys((*PEOPLE, *(f"{person}_{by}" for by in NAMED_BY for person in PEOPLE))))

# "Grader 1", "Score (2)", "Peer 3 ID": the words of a column of a gradebook, and the number of the review.
_NUMBERED = re.compile(r"(?P<before>\D*?)_?(?P<number>[0-9]{1,3}|(?<=_)[a-d])(?:_(?P<after>.+))?")
_ORDERED = ("first, 1st, primary", "second, 2nd, secondary", "third, 3rd, tertiary", "fourth, 4th")
_ORDINALS = {word: str(number) for number, words in enumerate(_ORDERED, 1) for word in terms(words)}
#: The numbers of the first review of a row.
_FIRST = frozenset(("1", "a"))
#: Last words of numbered columns that hold scores, beside those of criteria.
_SCORED = frozenset(
    (*SCORE.names, *terms("score, scores, marks, grades, ratings, total, sum, note, noten, result, average"))
)
#: Words of columns that sum up a row, rank or describe it.
_DESCRIBES = SUMMARY_WORDS | frozenset(
    terms(
        """total, totals, count, final, overall, weighted, rank, percentile, adjusted, curved, normalised, normalized,
        created, modified, submitted, updated, downloaded, timestamp"""
    )
)
#: Whole names of such columns, which as words may be names of people.
_WHOLE = frozenset(
    terms(
        """note, notes, weight, table, bonus, seed, var,
        n, no, nr, nbr, number, sum, mode, place, standing, status, section, decision, id, rang, schnitt, mittel,
        platz, suma, puesto, media, snitt, curve, group, year, age, range, reviews, out_of, max_points,
        last_downloaded_from_this_course"""
    )
)
#: Last words of columns that belong to a row, not to a person.
_LAST = ("id", "score", "scores", "rating", "grade")
#: What messages call the labels of a role.
_NOUN = {REVIEWER.name: REVIEWER.name, ITEM.name: "paper"}
#: Names of columns that sum up a row, and of people.
_EXTREMES: Mapping[str, Callable[[Sequence[float]], float]] = {"max": max, "maximum": max, "min": min, "minimum": min}
_UNDERSCORED = r"(?P<first>[^_@]+)_(?P<second>[^_@]+)"
#: Two parts of the name of a column.
_PARTED = (
    r"(?P<first>.+?)\s*\[(?P<second>[^\[\]]+)\]\W*",
    r"(?P<first>.+?)\s+/\s+(?P<second>.+)",
    r"(?P<first>.+?)\s+[-\N{EN DASH}\N{EM DASH}|]\s+(?P<second>.+)",
    r"(?P<first>.+?):\s+(?P<second>.+)",
    r"(?P<first>.+?)\s*\((?P<second>[^()]+)\)\s*",
    _UNDERSCORED,
)
#: The part of all combinations that columns of two parts must have.
_CROSSED = 0.75
#: By how much a column exceeds the scores of the others that cannot be one of them.
_BEYOND = 20
#: The largest number that is rather a score than the number of a reviewer, and how many equal ones in a row of
#: unrelated scores are to be expected for their absence to tell.
_SCORES = 100
_TELLING = 6
_ASKS_PAPER = re.compile(
    r"(?:^|_)(?:paper|submission|proposal|essay|project|poster|abstract|application|candidate|team|entry)s?(?:_|$)"
)
_ASKS_REVIEWER = re.compile(
    r"(?:^|_)(?:your_name|judge|grader|reviewer|juror|jury)(?:_|$)|^(?:ihr|votre|su)_?n(?:a|o)m"
)
#: What asks for scores.
_RATES = re.compile(
    r"\b(?:scores?|rate|rating|grade|points|how (?:good|well)|bewert\w*|punkte|wie gut|note|notez|évaluez|puntúe|valuta"
    r"|avalie)\b|評価|点数|评分|평가",
    re.IGNORECASE,
)
_RANGE = re.compile(r"[0-9]+\s*(?:[-\N{EN DASH}]|to|bis|\.\.+)\s*[0-9]+")
#: Numbers with marks, which are no numbers, and beside nothing else letters: what must be scores.
_MARKED = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?\W*")
_GRADE = re.compile(_MARKED.pattern + r"|[A-FPSU][-+]*")
_SERIES = re.compile(r"(?P<stem>\D*)[0-9]+\D*")


def labels_of(grid: Grid, columns: Mapping[str, str], role: Role) -> dict[str, int]:
    """Return the columns that say what a row of a wide table is about: the item or the reviewer, and a title."""
    notes: list[str] = []
    places = locate(grid.header, [role, TITLE], columns, grid.name, notes.append)
    grid.notes += [note.removeprefix(f"{grid.name}: ") for note in notes]
    return places


def as_reviews(
    grid: Grid, places: Mapping[str, int], across: str, fields: Sequence[str], lines: Sequence[Line]
) -> Grid:
    """Return one row per review: the labels of the rows, the label ``across``, and the fields."""
    names = {role: grid.header[place] for role, place in places.items()}
    used = {*names.values(), *fields}
    name = next(text for text in (across, f"{across} of the column", f"{across} ") if text not in used)
    reviews = Grid(grid.name, [*names.values(), name, *fields], lines)
    reviews.columns = {**names, across: name}
    if len(fields) == 1:
        reviews.columns = {**reviews.columns, SCORE.name: fields[0]}
    reviews.notes = list(grid.notes)
    reviews.decimal_comma = grid.decimal_comma
    return reviews


# Numbered columns of people and scores: "Grader 1, Grade 1, Grader 2, Grade 2".


def numbered(header: Sequence[str]) -> dict[str, dict[str, list[int]]]:
    """Return the places of columns by their names without the number of a review, and by that number.

    A column without a number has the number "". What a person says is named without the word for the person.

    >>> numbered(["Student", "Grade 1", "Peer 1 ID", "Reviewer 2 score"])
    {'student': {'': [0]}, 'grade': {'1': [1]}, 'peer_id': {'1': [2]}, 'score': {'2': [3]}}
    >>> numbered(["Marker", "Second marker", "Score A"])
    {'marker': {'': [0], '2': [1]}, 'score': {'a': [2]}}
    """
    columns: dict[str, dict[str, list[int]]] = {}
    for place, text in enumerate(header):
        name = normalise(text)
        number = ""
        first, _, rest = name.partition("_")
        match = _NUMBERED.fullmatch(name)
        if rest and first in _ORDINALS:
            name = rest
            number = _ORDINALS[first]
        elif match:
            name = "_".join(filter(None, (match["before"], match["after"])))
            number = match["number"]
        if name not in _WHO:
            persons = [person for person in PEOPLE if name.startswith(f"{person}_")]
            if persons:
                name = name.removeprefix(f"{max(persons, key=len)}_")
        columns.setdefault(name, {}).setdefault(number, []).append(place)
    return columns


class _Pairs(NamedTuple):
    """The columns of a table with one row per student that hold the reviews, by their numbers."""

    people: Mapping[str, int]
    fields: Mapping[str, Mapping[str, int]]  #: What the people say, by its name.
    scores: Sequence[str]  #: The fields that are scores.


def _pairs(grid: Grid, wanted: Wanted) -> _Pairs:
    """Return the numbered columns of people, and of what they say; refuse pairs that are not complete."""
    columns = numbered(grid.header)
    reviewer, *others = (name for name in _WHO if any(columns.get(name, ())))
    numbers = columns[reviewer]
    # Those of the first, who is called otherwise, would be lost.
    if {number.lstrip("0") for number in numbers}.isdisjoint(("", *_FIRST)):
        least = quote(grid.header[min(numbers.values())[0]])
        raise InputError(
            f"{grid.name}: a row for each student and numbered columns, of which {least} lacks a first one; number all "
            f"people and what they say, as in 'Marker 1', 'Mark 1'; found the columns {quote_all(grid.header)}"
        )
    known = {*SCORE.names, normalise(wanted.columns.get(SCORE.name, SCORE.name))}
    fields = {
        name: by_number
        for name, by_number in columns.items()
        if name not in (reviewer, *others) and any(number in numbers for number in by_number if number)
    }
    scores = [name for name in fields if name in known]
    if not scores:
        fields = {name: by_number for name, by_number in fields.items() if _may_score(grid, name, by_number, wanted)}
        scores = list(fields)
    # Beside the first a column without a number is about the whole row, unless it is one of a pair.
    if scores and not numbers.keys().isdisjoint(_FIRST) and not all("" in fields[name] for name in scores):
        numbers = {number: places for number, places in numbers.items() if number}
    if "" not in numbers and not numbers.keys().isdisjoint(_FIRST):
        fields = {name: {n: places for n, places in of.items() if n} for name, of in fields.items()}
    odd = [number for name in scores for number in numbers if number not in fields[name]]
    odd += [number for name in scores for number in fields[name] if number not in numbers]
    if odd:
        raise InputError(
            f"{grid.name}: a row for each student and numbered columns, as in 'Grader 1', 'Grade 1': number "
            f"{odd[0] or 1} lacks one of the two; found the columns {quote_all(grid.header)}"
        )
    people = {number: _only(grid, places) for number, places in numbers.items()}
    if others:
        read = quote(grid.header[next(iter(people.values()))])
        passed = [grid.header[place] for name in others for places in columns[name].values() for place in places]
        grid.notes.append(f"the reviewer is read from the column {read}, not from {quote_all(passed)}")
    return _Pairs(
        people,
        {name: {number: _only(grid, of[number]) for number in of if number in people} for name, of in fields.items()},
        scores,
    )


def _only(grid: Grid, places: Sequence[int]) -> int:
    """Return the only one of the places of a name; refuse several."""
    if len(places) > 1:
        name = quote(grid.header[places[0]])
        raise InputError(f"{grid.name}: {len(places)} columns are called {name}; rename all but the one that counts")
    return places[0]


def _may_score(grid: Grid, name: str, by_number: Mapping[str, Sequence[int]], wanted: Wanted) -> bool:
    """Return whether numbered columns hold scores: numbers, or anything under the name of a criterion."""
    cells = [cell for places in by_number.values() for place in places for cell in grid.column(place)]
    filled = sum(not _is_empty(cell) for cell in cells)
    read = _numbers(cells, wanted.scale).values()
    are_numbers = 2 * len(read) >= filled and max(read, default=0) <= 10 * _SCORES
    return may_hold_scores(name) and filled > 0 and (are_numbers or is_usual(name))


def _is_score(name: str) -> bool:
    """Return whether a numbered column is called as scores or criteria are, not as days, rooms or loads."""
    return is_usual(name) or name.rpartition("_")[2] in _SCORED


def _is_empty(cell: str) -> bool:
    return not cell.strip() or cell.strip().casefold() in MISSING


def melted(table: Table, wanted: Wanted) -> Table | None:
    """Return a table with one row per student and numbered columns of people as one row per review.

    None if the columns hold scores, and its format is named: then each is a reviewer; or if there is one reviewer and a
    score without a number, which is a table with one row per review.
    """
    grid = to_grid(table)
    rows = labels_of(grid, wanted.columns, STUDENT)
    if wanted.kind == "papers":
        grid.columns = {role: grid.header[place] for role, place in rows.items()}
        return grid
    pairs = _pairs(grid, wanted)
    people = list(pairs.people.values())
    chosen = {*named(grid.header, wanted.columns.get(REVIEWER.name, ""))} & {*people}
    if not pairs.scores:
        question = "" if chosen else _ask_people(grid, people, wanted.scale)
        if question and wanted.format is not None:
            return None
        if question:
            raise InputError(question)
        whole = [
            name
            for place, name in enumerate(grid.header)
            if place not in (*people, *rows.values()) and is_usual(name) and are_scores(grid.column(place))
        ]
        if whole and len(people) == 1:
            return None
        if whole and wanted.columns.get(SCORE.name) != "":
            raise InputError(_say_whose(grid, people, whole[0]))
    lines: list[Line] = []
    nobody = 0
    without: list[str] = []
    for cells, where in grid.lines:
        labels = [cells[place] for place in rows.values()]
        before = len(lines)
        for number, place in pairs.people.items():
            said = {name: cells[at[number]] if number in at else "" for name, at in pairs.fields.items()}
            if is_nobody(cells[place]) and all(_is_empty(said[name]) for name in pairs.scores):
                nobody += bool(cells[place].strip())
            else:
                lines.append(Line([*labels, cells[place], *(said.values() or [""])], where))
        if len(lines) == before:
            without.append(cells[rows[ITEM.name]])
    if nobody:
        grid.notes.append(f"{counted(nobody, 'cell')} of reviewers such as TBD or - read as empty")
    _note_without(grid, without)
    if len(pairs.fields) == 1 and not {*pairs.scores} & {*SCORE.names} and wanted.columns.get(SCORE.name) != "":
        [(name, score)] = pairs.fields.items()
        those = quote_all(grid.header[place] for place in score.values())
        if SCORE in wanted.roles and SCORE.name not in wanted.columns and not _is_score(name):
            raise InputError(
                f"{grid.name}: no score column is known; {those} may be scores, or anything else about the reviewers: "
                f"say {naming('', SCORE, name.replace('_', ' '))} if they are, or --columns {SCORE.name}= if there are "
                "none"
            )
        grid.notes.append(f"the score is read from {those}")
    fields = [name.replace("_", " ") for name in pairs.fields or [SCORE.name]]
    result = as_reviews(grid, rows, REVIEWER.name, fields, lines)
    if chosen:
        result.header = [wanted.columns[REVIEWER.name] if text == REVIEWER.name else text for text in result.header]
        result.columns = {**result.columns, REVIEWER.name: wanted.columns[REVIEWER.name]}
    return result


def _note_without(grid: Grid, labels: Sequence[str]) -> None:
    """Note rows without any review."""
    labels = [label for label in labels if label.strip()]
    if labels:
        grid.notes.append(
            f"{counted(len(labels), 'row')} without a review ({quote_all(labels, 3)}): papers only if --items FILE "
            "lists them, which may be this file"
        )


def _say_whose(grid: Grid, people: Sequence[int], score: str) -> str:
    """Return the message on one score beside several reviewers."""
    names = [grid.header[place] for place in people]
    return (
        f"{grid.name}: the columns {quote_all(names)} name several reviewers of a row, and {quote(score)} does not say "
        "which of them gave it; number scores like reviewers, as in 'Grade 1', 'Grade 2', or give one row per review; "
        f"if it is that of one, say --format table {naming('', REVIEWER, names[0])}, and if it is no score of a "
        f"review, say --columns {SCORE.name}="
    )


def _ask_people(grid: Grid, places: Sequence[int], scale: Sequence[str]) -> str:
    """Return the question whether numbers or grades in columns of people are scores; nothing if they are not."""
    by_row = [[cell for place in places if (cell := line.cells[place].strip())] for line in grid.lines]
    known = {cell for cells in by_row for cell in cells if not is_nobody(cell)}
    numbers = [parse_number(cell) for cell in known if cell not in scale and not _GRADE.fullmatch(cell)]
    if not known or None in numbers or max(filter(None, map(parse_number, known)), default=0) > _SCORES:
        return ""
    # Reviewers differ within a row; scores may be equal.
    pairs = sum(len(cells) * (len(cells) - 1) / 2 for cells in by_row)
    differ = all(len(set(cells)) == len(cells) for cells in by_row)
    if differ and pairs > _TELLING * len(known):
        return ""
    first = grid.header[places[0]]
    example = quote(next(cell for cells in by_row for cell in cells))
    held = "grades" if None in map(parse_number, known) else "numbers"
    people = f"if each of them names a reviewer, say {naming('', REVIEWER, first)}; " if differ else ""
    return (
        f"{grid.name}: the columns {quote_all([grid.header[place] for place in places])} hold {held}, such as "
        f"{example}{': reviewers or scores?' if differ else ', and equal ones in a row: scores, not reviewers.'} If "
        "they are the scores of reviewers who are the same in all rows, each a column, say --format gradebook; "
        f"{people}if the reviewers differ from row to row, nobody can tell who gave which score: export one row per "
        "review"
    )


# A column of scores for each reviewer, or for each paper.


def cross(table: Table, columns: Mapping[str, str], scale: Sequence[str] = ()) -> Grid | None:
    """Return a table with a column of scores for each reviewer or each paper as one row per review.

    Columns are reviewers where rows are papers, and papers where a column names the reviewers of the rows and none
    the papers. None if no column holds scores.
    """
    grid = to_grid(table)
    columns = _with_asked(grid.header, columns)
    turned = recognised(grid.header, [REVIEWER], columns) > 0 and not recognised(grid.header, [STUDENT], columns)
    rows = labels_of(grid, columns, REVIEWER if turned else STUDENT)
    across = ITEM.name if turned else REVIEWER.name
    places, left = _scored(grid, rows.values(), scale, free=turned)
    if not places:
        return None
    return _unfolded(grid, rows, across, places, left, columns)


def from_answers(table: Table, wanted: Wanted) -> Table | None:
    """Return answers to a form with one question per paper, "Rate each [Team 1]", as one row per review.

    None if the questions are others.
    """
    grid = to_grid(table)
    columns = _with_asked(grid.header, wanted.columns)
    asked = [place for place, name in enumerate(grid.header) if _RATES.search(name)]
    rates_papers = sum(bool(_ASKS_PAPER.search(normalise(grid.header[place]))) for place in asked) > 1
    # A name beside questions about several papers is that of whoever answers.
    if rates_papers and not recognised(grid.header, [REVIEWER], columns) and named(grid.header, "name"):
        columns = {**columns, REVIEWER.name: "name"}
    if (
        ITEM.name in columns
        or recognised(grid.header, [ITEM], columns)
        or not recognised(grid.header, [REVIEWER], columns)
    ):
        return None
    rows = labels_of(grid, columns, REVIEWER)
    scored, left = _scored(grid, rows.values(), wanted.scale, free=True)
    asked = [place for place in asked if place not in rows.values()]
    # Beside answers to other questions those that ask for scores count, and of these also words and empty columns.
    for places in (scored, [place for place in scored if place in asked], asked):
        names = [grid.header[place] for place in places]
        parts = _parts(names) if len(places) > 1 else None
        if parts or _without_question(names) != names:
            break
    else:
        return None
    others = [name for place, name in enumerate(grid.header) if place not in places]
    labels = [*parts[0], *parts[1]] if parts else _without_question(names)
    papers = [label for label in labels if _ASKS_PAPER.search(normalise(label))]
    # A question with the label of a paper is about that one.
    if any(_ASKS_PAPER.search(normalise(name)) and not any(paper in name for paper in papers) for name in others):
        return None
    # Questions for criteria, without one for the paper, are about a paper that is not known.
    # Beside numbered papers another label may be about all of them.
    for side, labels in (parts, parts[::-1]) if parts else ():
        if len(set(side)) == 1 and (any(map(is_usual, labels)) or _RANGE.fullmatch(side[0]) or _has_odd(labels)):
            return None
    if not parts and _has_odd(_without_question(names)):
        return None
    left |= {grid.header[place]: "which asks for no score" for place in scored if place not in places}
    return _unfolded(grid, rows, ITEM.name, places, left, columns)


def _with_asked(header: Sequence[str], columns: Mapping[str, str]) -> Mapping[str, str]:
    """Return the user's columns and the only question for the name of a reviewer, if no column has such a name."""
    asked = [name for name in header if _ASKS_REVIEWER.search(normalise(name))]
    known = recognised(header, [REVIEWER], columns) or recognised(header, [STUDENT], columns)
    return columns if known or len(asked) != 1 else {**columns, REVIEWER.name: asked[0]}


def _without_question(names: Sequence[str]) -> list[str]:
    """Return names without the words of a question that all have at their beginning, or at their end.

    >>> _without_question(["Score for Team 1", "Score for Team 2"]), _without_question(["Team 1", "Team 2"])
    (['Team 1', 'Team 2'], ['Team 1', 'Team 2'])
    """
    if len(names) < 2:
        return list(names)
    before = commonprefix(list(names))  # noqa: RUF071 (letters are meant)
    after = commonprefix([name[::-1] for name in names])[::-1]  # noqa: RUF071 (the same)
    shared = before.split(" ")[:-1]
    for size in range(len(shared), 0, -1):
        start = " ".join(shared[:size]) + " "
        rest = [name.removeprefix(start).strip() for name in names]
        if _RATES.search(start) and not any(text.isdecimal() or not text for text in rest):
            return rest
    rest = [name.removesuffix(after).strip() for name in names]
    return rest if _RATES.search(after) and all(rest) else list(names)


def _scored(
    grid: Grid, taken: Collection[int], scale: Sequence[str], *, free: bool
) -> tuple[list[int], dict[str, str]]:
    """Return the columns of scores, and why others are none, by their names.

    Names that are ``free``, as the titles of papers are, may have any word in them. A column whose cells all resemble
    scores is one, though none can be read, so that it is refused.
    """
    numbers: dict[int, dict[int, float]] = {}
    texts: dict[int, list[str]] = {}
    for place, name in enumerate(grid.header):
        cells = [cell.strip() for cell in grid.column(place) if not _is_empty(cell)]
        if place in taken or not name.strip() or not cells:
            continue
        scores = _numbers(grid.column(place), scale)
        if scores:
            numbers[place] = scores
        else:
            texts[place] = cells
    rows = len({row for scores in numbers.values() for row in scores})
    left: dict[str, str] = {}
    for place in numbers:
        name = grid.header[place]
        words = normalise(name).split("_")
        named_so = words[-1] in _LAST and not _is_parted(name)
        sums = not (free or "," in name or _DESCRIBES.isdisjoint(words_of(name).split()))
        # Mark is a person as well, who then scored only some.
        if normalise(name) == "mark" and 2 * len(numbers[place]) < rows:
            continue
        if not may_hold_scores(name) or normalise(name) in (*STUDENT.names, *STUDENT.weak) or named_so:
            left[name] = "by its name"
        elif normalise(name) in _WHOLE or words_of(name) in _DESCRIBES or sums:
            left[name] = "which sums up or describes a row"
        elif all(parse_moment(cell) and len(cell.strip()) > 8 for cell in grid.column(place) if cell.strip()):
            left[name] = "whose numbers are times"
        elif normalise(name) in _EXTREMES and _is_extreme(name, place, numbers):
            left[name] = "which sums up or describes a row"
    resembles = _MARKED if numbers else _GRADE
    refused = []
    for place, cells in texts.items():
        name = grid.header[place]
        if not may_hold_scores(name) or normalise(name) in (*STUDENT.names, *STUDENT.weak, *_WHOLE):
            continue
        if all(map(resembles.fullmatch, cells)) and not (scale and numbers):
            refused.append(place)
        elif not free and not all(map(parse_moment, cells)):
            left[name] = "without a score"
    numbers |= {place: {} for place in refused}
    places = sorted(place for place in numbers if grid.header[place] not in left)
    _refuse_positions(grid, [grid.header[place] for place in places])
    _refuse_beyond(grid, {place: numbers[place] for place in places if numbers[place]})
    return places, left


def _refuse_positions(grid: Grid, names: Sequence[str]) -> None:
    """Refuse columns such as rater1_style, rater2_style: a number is no name of a person."""
    positional = [
        name
        for name in names
        if not _is_parted(name)
        and (match := _NUMBERED.fullmatch(normalise(name)))
        and match["before"] in PEOPLE
        and match["after"]
    ]
    if len(positional) > 1:
        raise InputError(
            f"{grid.name}: the columns {quote_all(positional)} number the reviewers of a row, and do not say who they "
            "are: give one row per review with a column of reviewers, or, if a number is the same person in all rows, "
            "name each column after the person, as in 'Ann - Style'"
        )


def _numbers(cells: Sequence[str], scale: Sequence[str]) -> dict[int, float]:
    """Return the scores of a column by row; other cells in it are to be refused, not ignored."""
    if scale:
        return {row: -scale.index(cell.strip()) for row, cell in enumerate(cells) if cell.strip() in scale}
    read = {}
    for row, cell in enumerate(cells):
        fraction = parse_fraction(cell, decimal_comma=True)
        value = fraction[0] if fraction else parse_number(cell, decimal_comma=True)
        if value is not None:
            read[row] = value
    return read


def _is_extreme(name: str, place: int, numbers: Mapping[int, Mapping[int, float]]) -> bool:
    """Return whether a column with the name of an extreme is the largest or smallest number of each row."""
    extreme = _EXTREMES[normalise(name)]
    for row, value in numbers[place].items():
        rest = [scores[row] for column, scores in numbers.items() if column != place and row in scores]
        if not rest or extreme(rest) != value:
            return False
    return True


def _refuse_beyond(grid: Grid, numbers: Mapping[int, Mapping[int, float]]) -> None:
    """Refuse a column whose numbers are far beyond those of the others, which is no reviewer's."""
    if len(numbers) < 3:
        return
    usual = median(max(map(abs, scores.values())) for scores in numbers.values())
    for place, scores in numbers.items():
        least = min(map(abs, scores.values()))
        if usual > 0 and least > _BEYOND * usual:
            raise InputError(
                f"{grid.name}: the numbers of the column {quote(grid.header[place])}, from {least:g}, are far beyond "
                f"those of the others, up to {usual:g}: it can hold no scores of the same scale; delete the column, "
                "or write all scores on one scale"
            )


def _unfolded(
    grid: Grid,
    rows: Mapping[str, int],
    across: str,
    places: Sequence[int],
    left: Mapping[str, str],
    columns: Mapping[str, str],
) -> Grid:
    """Return one row per review of columns of scores, whose names may have a criterion as a part."""
    names = [grid.header[place] for place in places]
    parts = _parts(names)
    plain = _without_question(names) if across == ITEM.name else names
    pairs = _labelled(grid, names, parts, across, columns) if parts else [(name, SCORE.name) for name in plain]
    fields = list(dict.fromkeys(field for _, field in pairs))
    by_pair: dict[tuple[str, str], list[int]] = {}
    for pair, place in zip(pairs, places, strict=True):
        by_pair.setdefault(pair, []).append(place)
    by_label: dict[str, dict[str, int]] = {}
    for (label, field), own in by_pair.items():
        by_label.setdefault(label, {})[field] = _only(grid, own)
    lines: list[Line] = []
    empty = 0
    without: list[str] = []
    for cells, where in grid.lines:
        before = len(lines)
        for label, place_of in by_label.items():
            scores = [cells[place_of[field]] if field in place_of else "" for field in fields]
            # Everyone has a cell in every row, so that NA and - say no more than an empty one.
            if all(map(_is_empty, scores)):
                empty += any(score.strip() for score in scores)
                continue
            lines.append(Line([*(cells[place] for place in rows.values()), label, *scores], where))
        if len(lines) == before and across == REVIEWER.name:
            without.append(cells[rows[ITEM.name]])
    grid.notes = [*grid.notes, f"the {_NOUN[across]}s are the columns {quote_all(by_label, len(by_label))}"]
    if empty:
        grid.notes.append(f"{counted(empty, 'cell')} such as NA or - read as empty")
    _note_without(grid, without)
    if left:
        reasons = ", ".join(f"{quote(name)} ({why})" for name, why in left.items())
        grid.notes.append(f"not read as {_NOUN[across]}s: the columns {reasons}; rename one that is")
    return as_reviews(grid, rows, across, fields, lines)


def _is_parted(name: str) -> bool:
    """Return whether a name has two parts between which more stands than an underscore."""
    return any(re.fullmatch(pattern, name.strip()) for pattern in _PARTED if pattern != _UNDERSCORED)


#: The first parts of the names of columns, and the second ones.
_Parts: TypeAlias = tuple[list[str], list[str]]


def _parts(names: Sequence[str]) -> _Parts | None:
    """Return the two parts of all names, such as a criterion and a judge; None if they are no combinations."""
    for pattern in _PARTED:
        matches = [match for name in names if (match := re.fullmatch(pattern, name.strip()))]
        if len(matches) < len(names):
            continue
        first = [match["first"] for match in matches]
        second = [match["second"].strip() for match in matches]
        sizes = len(set(first)), len(set(second))
        if pattern == _UNDERSCORED and 1 in sizes:
            continue  # names of people, as user_1, user_2
        if 1 < len(set(zip(first, second, strict=True))) == len(names) >= _CROSSED * sizes[0] * sizes[1]:
            return first, second
    return None


def _labelled(
    grid: Grid, names: Sequence[str], parts: _Parts, across: str, columns: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the label and the field of each column of two parts; refuse them if either may be the criterion."""
    for labels, criteria in (parts, parts[::-1]):
        if len(set(criteria)) == 1:
            return [(label, SCORE.name) for label in labels]
    chosen = normalise(columns.get(SCORE.name, ""))
    tests: tuple[Callable[[Collection[str]], bool], ...] = (
        lambda side: chosen in map(normalise, side),
        lambda side: any(map(is_usual, side)),
        lambda side: not _is_series(side, PEOPLE if across == REVIEWER.name else (*STUDENT.names, *STUDENT.weak)),
    )
    # The first that holds for one part alone tells which is the criterion.
    for is_criterion in tests:
        first, second = map(is_criterion, parts)
        if first != second:
            return list(zip(*(parts[::-1] if first else parts), strict=True))
    raise InputError(
        f"{grid.name}: the columns {quote_all(names, 3)} have two parts, and either may be the criterion; say which "
        f"score counts: {naming('', SCORE, parts[0][0])} if {quote(parts[1][0])} is a {_NOUN[across]}, "
        f"{naming('', SCORE, parts[1][0])} if {quote(parts[0][0])} is one"
    )


def _is_series(labels: Collection[str], stems: Collection[str] = ()) -> bool:
    """Return whether labels are numbered ones, such as Team 1, Team 2, of one of the stems if there are any.

    Addresses are of people, however much they are alike.
    """
    if any("@" in label for label in labels):
        return False
    series_stems = {normalise(match["stem"]) for label in labels if (match := _SERIES.fullmatch(label))}
    return len(series_stems) == 1 and all(map(_SERIES.fullmatch, labels)) and (not stems or series_stems <= set(stems))


def _has_odd(labels: Collection[str]) -> bool:
    """Return whether most labels are a numbered series, and others are not of it.

    >>> [_has_odd(["Team 1", "Team 2", name]) for name in ("the event", "Team 3")], _has_odd(["Apollo 13", "Dune"])
    ([True, False], False)
    """
    stems = [label.rstrip("0123456789") for label in labels]
    numbers = [stem for stem, label in zip(stems, labels, strict=True) if stem.strip() and stem != label]
    most = max(map(numbers.count, numbers), default=0)
    return most > 1 and len(labels) / 2 < most < len(labels)


def say_wide(table: Table, columns: Mapping[str, str]) -> str:
    """Return how to read a table with a column for each reviewer or paper; nothing if it is not one.

    Numbered columns such as "Score 1" are positions, not reviewers, and refused; a column of scores belongs to a long
    table.
    """
    reviewers, students, scores = (recognised(table.header, [role], columns) for role in (REVIEWER, STUDENT, SCORE))
    # Numbers beside columns of people are their scores, or others.
    named_for = [name for name in table.header if normalise(name).endswith(PEOPLE)]
    if table.source is not None or reviewers + students != 1 or scores or (students and named_for):
        return ""
    try:
        reviews = cross(table, columns)
    except InputError:
        return ""
    across = REVIEWER.name if students else ITEM.name
    labels = dict.fromkeys(reviews.column(reviews.columns[across])) if reviews else {}
    if reviews is None or len(labels) < 2:
        return ""
    if students and _is_series(labels):
        raise InputError(
            f"{table.name}: the columns {quote_all(labels)} number the scores of a row, and do not say who gave them; "
            "expected one row per review, with a column of reviewers"
        )
    return f"{table.name}: if each column holds the scores of one {_NOUN[across]}, say --format gradebook"


def refuse_several(table: Table, place: int, columns: Mapping[str, str]) -> None:
    """Refuse a column of reviewers beside numbered ones, whose reviews would be lost."""
    if table.source is not None or REVIEWER.name in columns:
        return
    by_name = numbered(table.header).items()
    name, people = next((name, at) for name, at in by_name if any(place in places for places in at.values()))
    # A person may have two addresses.
    if len(people) > 1 and name not in ADDRESSES:
        names = [table.header[other] for places in people.values() for other in places]
        raise InputError(
            f"{table.name}: the columns {quote_all(names)} name several reviewers of a row; expected one row per "
            f"review, with one column of reviewers; if one of them is that column, say {naming('', REVIEWER, names[0])}"
        )


#: The first column of the answers, in several languages.
_STAMPS = "timestamp|zeitstempel|horodateur|marca_temporal|submission_time|start_time|carimbo_de_data_hora"

#: Words of questions by role.
_ASKS = {
    role: re.compile(rf"(?:^|_)(?:{words})s?(?:_|$)")
    for role, words in (
        (REVIEWER, "reviewer|email|grader|judge|your_name|username"),
        (ITEM, "paper|submission|proposal|essay|project|poster|abstract|application|candidate"),
        (SCORE, "score|rating|rate|grade|overall|mark|points"),
    )
}


def _questions(table: Table) -> Mapping[str, Sequence[str]]:
    """Return the questions by role, for roles without a usual column; the user has to choose among several."""
    normal = {name: normalise(name) for name in table.header}
    questions = {
        role.name: [name for name, text in normal.items() if asks.search(text)]
        for role, asks in _ASKS.items()
        if (set(role.names) - set(ROW_NUMBERS)).isdisjoint(normal.values())
    }
    taken = [name for names in questions.values() for name in names]
    return {role: [name for name in names if taken.count(name) == 1] or names for role, names in questions.items()}


def _labels_of_both(grid: Grid) -> list[str]:
    """Return the labels that people and works share, as when students assess each other."""
    places = locate(grid.header, (REVIEWER, ITEM), grid.columns, grid.name, lambda note: None, prefix=None)
    reviewers = set(grid.column(places[REVIEWER.name])) - {""}
    return [label for label in dict.fromkeys(grid.column(places[ITEM.name])) if label in reviewers]


def _own(table: Table) -> Grid:
    grid = to_grid(table)
    lines = (Line([label, label], f"{grid.name}: {label}") for label in _labels_of_both(grid))
    return Grid(grid.name, [ITEM.name, REVIEWER.name], lines)


def _peers(table: Table) -> Grid:
    """Return the reviews, noting how to bar reviews of own works if people review each other."""
    grid = table if isinstance(table, Grid) else to_grid(table)
    shared = len(_labels_of_both(grid))
    if shared:
        works = counted(shared, "work has the label of a reviewer", "works have the labels of reviewers")
        grid.notes.append(f"{works}; add --conflicts with this file to bar reviews of own works")
    return grid


_USES = (Use("reviews", reshape=_peers), Use("papers"), Use("conflicts", reshape=_own))


class Forms(System):
    """Answers to an online form."""

    name = "forms"
    title = "an online form"
    extras = (*_STAMPS.split("|"), "email_address", "name")
    exports = (
        Export(
            "answers to an online form with a column for each paper",
            (Use("reviews"),),
            (_STAMPS,),
            ("action", "submitted_at"),
            shape=from_answers,
        ),
        Export("answers to an online form", (Use("reviews", find=_questions),), (_STAMPS,), ("action", "submitted_at")),
    )


class Workshop(System):
    """A workshop of Moodle."""

    name = "workshop"
    title = "a workshop of Moodle"
    extras = ("remark", "feedback", "comment")
    exports = (Export("a workshop of Moodle", _USES, ("assessee", "grader|assessor|reviewer")),)


class Gradebook(System):
    """A gradebook, with numbered columns or a column for each reviewer, or for each paper."""

    name = "gradebook"
    title = "a gradebook with one row per student"
    exports = (
        Export(
            "a gradebook with one row per student",
            _USES,
            # Without a column of students a row holds labels, such as "Grader 1", and is no header.
            (
                rf"(?:{'|'.join(PEOPLE)})(?:_?[0-9]{{1,3}}|_[a-d])(?:_(?:{'|'.join(NAMED_BY)}))?"
                rf"|(?:{'|'.join(_ORDINALS)})_(?:{'|'.join(_WHO)})",
                "|".join(map(re.escape, (*STUDENT.names, *STUDENT.weak))),
            ),
            shape=melted,
        ),
        Export(
            "a gradebook with a column for each reviewer or paper",
            (Use("reviews"),),
            shape=lambda table, wanted: cross(table, wanted.columns, wanted.scale),
            shy="name",
        ),
    )

"""Labels that are no label: words for nobody, several people in a cell, summaries of others; and matrices unfolded.

A matrix has a row per paper and a column per reviewer, or the other way round.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import LeftOut
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import ITEM, REVIEWER, TITLE, Role, locate, normalise, recognised
from reviewgraph.formats.files import Note, Problems, quote, quote_all, terms
from reviewgraph.formats.tables import Column, Rows, Table, Wrapped, of_rows, recoded
from reviewgraph.formats.values import BLANK

if TYPE_CHECKING:
    from reviewgraph._base.arrays import IntArray
    from reviewgraph._base.labels import Label

#: Words in the place of a person who is not known, or not there, compared without case, blanks and marks around them.
NOBODY = frozenset(
    terms(
        """tbd, tba, tbc, tbn, nn, n/a, #n/a, none, nobody, no one, unknown, anonymous, anon, anonym, unassigned,
        not assigned, not yet assigned, vacant, empty, missing, placeholder, reviewer needed, needs reviewer,
        deleted user, undefined, blank, pending, open, no reviewer, not known, not available, declined, withdrawn,
        cancelled, canceled, recused, no response, abgelehnt, abgesagt, unbekannt, nicht zugewiesen, niemand, inconnu,
        anonyme, personne, non attribué, desconocido, anónimo, sin asignar, nadie, sconosciuto, anonimo, nessuno,
        não atribuído, onbekend, okand, okänd, nieznany, неизвестно, аноним, не назначен, 未定, 待定, 未分配, 匿名,
        未割当, 未指定, 不明, 未知"""
    )
)
#: Phrases that say that somebody is still to come, in some languages.
_TO_COME = re.compile(
    r"(?:to be|still to be|will be) \w+|(?:noch )?(?:offen|zu (?:benennen|bestimmen|vergeben))|wird noch .*"
    r"|(?:\xe0|a) (?:d\xe9terminer|d\xe9finir|d\xe9signer|confirmer|affecter|attribuer)"
    r"|a (?:determinar|definir|designar|confirmar)"
    r"|por (?:definir|asignar|confirmar|determinar|designar)|da (?:definire|assegnare|determinare|confermare)"
    r"|nog te .*|n\.? ?n\.?|x{2,}|(?:tb[acd]|n\. ?n\.) .*|.* tb[acd]"
)
#: Missing values as programs write them; in other letter case they are names.
_EXACTLY = frozenset(("NA", "NULL", "null"))
#: What is missing, as in "anonymous reviewer".
_NOUN = re.compile(r"\b(?:reviewer|referee|judge|grader|rater|annotator|user|person|gutachter)$")
_AROUND = re.compile(r"^[\s(\[<{*\"'.]+|[\s)\]>}*\"'.:]+$")
_MARKS = re.compile("[-?._/*\N{EN DASH}\N{EM DASH}\N{HORIZONTAL ELLIPSIS} ]*")
_ADDRESS = re.compile(r"[^\s@,;<>]+@[^\s@,;<>]+")


def is_nobody(cell: str) -> bool:
    """Return whether a cell stands for nobody: a word such as TBD or unknown, NA in capitals, or marks alone.

    >>> [is_nobody(cell) for cell in ("TBD", "(n.n.)", "?", "--", "to be  assigned", "NA", "anonymous reviewer")]
    [True, True, True, True, True, True, True]
    >>> [is_nobody(cell) for cell in ("Declined", "Ann", "Noone", "Na", "Reviewer", "Anonymous 7")]
    [True, False, False, False, False, False]
    """
    if _MARKS.fullmatch(cell):
        return True
    word = " ".join(_AROUND.sub("", cell).split())
    plain = word.casefold()
    noun = _NOUN.search(plain)
    if noun and plain[: noun.start()].strip() in NOBODY:
        return True
    return plain in NOBODY or word in _EXACTLY or bool(_TO_COME.fullmatch(plain))


def split_people(cell: str) -> list[str]:
    """Return the people in a cell: separated by semicolons, bars or line ends, and addresses also by commas or blanks.

    Other commas may be part of a name ("Lee, Ann") and separate nobody.

    >>> split_people("Ann Lee; Bob"), split_people("a@x.org, b@x.org"), split_people("Lee, Ann")
    (['Ann Lee', 'Bob'], ['a@x.org', 'b@x.org'], ['Lee, Ann'])
    >>> split_people("Ann <a@x.org>, Bob <b@x.org>")
    ['Ann <a@x.org>', 'Bob <b@x.org>']
    """
    parts = [part.strip() for part in re.split(r"[;|\r\n\uff1b]", cell)]
    people: list[str] = []
    for part in filter(None, parts):
        pieces = [piece.strip() for piece in part.split(",") if piece.strip()]
        addresses = _ADDRESS.findall(part)
        if len(addresses) > 1 and len(pieces) == len(addresses):
            people.extend(pieces)
        elif len(addresses) > 1 and " ".join(addresses) == " ".join(part.split()):
            people.extend(addresses)
        else:
            people.append(part)
    return people


_BETWEEN = re.compile(r"\s*(?:[,/&+;\u3001\uff0c\uff0f\uff1b]|\s(?:and|und|et|e|y|en|och)\s)\s*")


def split_recurring(cells: Sequence[str]) -> list[list[str]]:
    """Return the people in distinct cells whose parts recur in other cells, whatever separates them.

    Two thirds of the cells that have parts must have parts that other cells have, too: those of "Lee, Ann" have not.
    """
    parts = [[part for part in _BETWEEN.split(cell) if part] for cell in cells]
    count = Counter(part for names in parts for part in dict.fromkeys(names))
    several = [names for names in parts if len(names) > 1]
    recurring = [names for names in several if all(count[part] > 1 for part in names)]
    if len(several) < 3 or 3 * len(recurring) < 2 * len(several):
        return [[cell] for cell in cells]
    return parts


_CHARACTERS_AROUND = {ord(sign): None for sign in "()[]<>{}*\"'.:?-_/ \N{EN DASH}\N{EM DASH}"}
_PLAIN_NOBODY = frozenset(word.casefold().translate(_CHARACTERS_AROUND) for word in {*NOBODY, *_EXACTLY, ""})


def may_hold_nobody(cells: Sequence[str]) -> bool:
    """Return whether a cell may mean that there is no reviewer: a fast test, which is certain if false."""
    text = "\n".join(cells)
    plain = text.casefold().translate(_CHARACTERS_AROUND)
    words = plain.split("\n")
    return not plain.isascii() or " " in text or not _PLAIN_NOBODY.isdisjoint(words)


def may_hold_several(cells: Sequence[str]) -> bool:
    """Return whether a cell may hold several people: a fast test, which is certain if false."""
    text = "\0".join(cells)
    return (
        " " in text or not text.isascii() or text.count("@") > len(cells) or any(sign in text for sign in ";|\r\n,/&+")
    )


# Labels of rows and columns that sum others up, in several languages.

#: Words of the labels of rows and columns that sum others up; a label of them alone is no person and no paper.
SUMMARY_WORDS = frozenset(
    terms(
        """ranking, classement, soma, endnote, gesamtnote, durchschnittlich, 順位, 排名, average, avg, mean, ø, median,
        std, sd, stdev, stddev, dev, deviation, standard, variance, subtotal, possible, consensus, durchschnitt,
        mittelwert, mittel, schnitt, gesamt, summe, insgesamt, standardabweichung, hoechstpunktzahl, hochstpunktzahl,
        maximalpunktzahl, moyenne, mediane, ecart, somme, promedio, mediana, suma, desviacion, somma, gemiddelde,
        totaal, notenschnitt, sredni, srednia, 平均, 平均分, 平均值, 总分, 合计, 合計, 平均点, 総計, 总计, 满分, 満点,
        最高分, 标准差, среднее, итого, сумма, всего"""
    )
)
#: Words that may be beside these, or beside each other; alone some of them are names, which need evidence.
_BESIDE_SUMMARY = frozenset(
    terms(
        """max, maximum, maximal, maximale, massimo, maximo, min, minimum, minimo, total, totals, totale, overall,
        grand, class, weighted, final, all, points, point, marks, mark, score, scores, grade, grades, punktzahl, punkte,
        note, notes, general, generale, of, out, full, sum, count, number, column, row, pts, puntos, punti, media,
        totalpoints, puntuacion, maxima, punteggio, type, pontos, rank, range, the, per, by, rater, judge"""
    )
)
#: Labels of two or more of the words beside, which say enough.
PHRASES = frozenset(
    terms(
        """max points, maximum points, max score, maximum score, out of, max marks, maximum marks, full marks,
        grand total, total points, total score, points possible, maximale punktzahl, total general, punteggio massimo,
        puntuacion maxima, final score, overall score, max punkte"""
    )
)


def words_of(label: str) -> str:
    """Return the words of a label without case, accents and signs."""
    letters = unicodedata.normalize("NFKD", label.casefold())
    kept = "".join(sign if sign.isalnum() else " " for sign in letters if not unicodedata.combining(sign))
    return " ".join(kept.split())


def is_summary(label: str) -> bool:
    if len(label) > 40 or "," in label:
        return False
    words = words_of(label)
    parts = words.split()
    if words in PHRASES:
        return True
    known = all(part in SUMMARY_WORDS or part in _BESIDE_SUMMARY for part in parts)
    return known and any(part in SUMMARY_WORDS for part in parts)


# Several people in a cell, and nobody.

#: One address, or an id with a digit: one person, who need not be looked at.
_PLAIN = re.compile(r"[\w.+-]+@[\w.-]+|\w*[0-9]\w*")
#: What may separate people, or be part of a name.
_PERHAPS = re.compile(r"\s*(?:[,/&]|\b(?:and|und|et|y|e)\b)\s*")


def _people_of(cell: str, known: Collection[Label]) -> list[str]:
    if cell.strip() in known:
        return [cell.strip()]
    people: list[str] = []
    for part in split_people(cell):
        pieces = _PERHAPS.split(part)
        people += pieces if part not in known and all(piece in known for piece in pieces) else [part]
    return people


class Parted(NamedTuple):
    """The people in a column of cells."""

    row: IntArray  #: The row of each person, ascending.
    column: Column  #: The people, one each.
    several: list[str]  #: Distinct cells that name several people.
    nobody: list[str]  #: Distinct cells, not empty, that name nobody.
    rows: tuple[int, int]  #: The number of rows of several people, and of nobody.

    def notes(self, role: str) -> list[str]:
        """Return what to tell the user."""
        notes = []
        if self.rows[0]:
            cells = counted(self.rows[0], "cell")
            notes.append(f"{cells} with several {role}s split, as {quote(self.several[0])}")
        if self.rows[1]:
            rows = counted(self.rows[1], "row")
            notes.append(f"{rows} left out, whose {role} is a placeholder ({quote(self.nobody[0])})")
        return notes


def part_people(column: Column, known: Collection[Label] = ()) -> Parted | None:
    """Return the people in a column of cells; None if each cell names one, or is empty.

    Cells that name nobody have no person; labels that are ``known`` are persons, whatever they look like.
    """
    people: list[list[str]] = []
    recurring = [] if known else split_recurring(column.values)
    if any(len(names) > 1 for names in recurring):
        known = {name for names in recurring for name in names}
    for cell in column.values:
        if _PLAIN.fullmatch(cell):
            people.append([cell])
            continue
        names = list(dict.fromkeys(_people_of(cell, known))) if cell.strip() else [cell]
        people.append([name for name in names if name in known or not name.strip() or not is_nobody(name)])
    if all(names == [cell.strip() or cell] for names, cell in zip(people, column.values, strict=True)):
        return None
    several = [cell for cell, names in zip(column.values, people, strict=True) if len(names) > 1]
    nobody = [cell for cell, names in zip(column.values, people, strict=True) if not names]
    row, persons, count = unfolded(column, people)
    return Parted(row, persons, several, nobody, (int((count > 1).sum()), int((count == 0).sum())))


def unfolded(column: Column, people: Sequence[Sequence[str]]) -> tuple[IntArray, Column, IntArray]:
    """Return the row and the name of each person, given those in distinct cells, and the number of people by row."""
    import numpy as np

    from reviewgraph._base.arrays import spread

    codes: dict[str, int] = {}
    flat = np.array([codes.setdefault(name, len(codes)) for names in people for name in names], np.int64)
    size = np.array([len(names) for names in people], np.int64)
    count = size[column.codes]
    first = (np.cumsum(size) - size)[column.codes]
    row = np.repeat(np.arange(column.codes.size), count)
    return row, Column(flat[spread(first, count)], list(codes)), count


class People(Wrapped):
    """A table with one row for each of several people in a cell, and none for a cell that names nobody."""

    def __init__(self, table: Table, role: str, place: int, known: Collection[Label], note: Note) -> None:
        super().__init__(table)
        self.role = role
        self.at = place
        self.known = known
        self.note = note
        self.size = 0  # the rows of the table, once it is read

    def read(self, positions: Sequence[int], problems: Problems) -> Rows:
        rows = self.table.read(positions, problems)
        self.size = len(rows.lines)
        if self.at not in positions:
            return rows
        parted = part_people(rows.columns[list(positions).index(self.at)], self.known)
        if parted is None:
            return rows
        # In the files of a system several in a cell are nothing unusual.
        for words in parted.notes(self.role) if self.source is None else ():
            self.note(f"{self.name}: {words}")
        places = zip(positions, rows.columns, strict=True)
        columns = [parted.column if at == self.at else of_rows(column, parted.row) for at, column in places]
        nobody = [LeftOut(parted.rows[1], f"whose {self.role} is a placeholder")] if parted.rows[1] else []
        lines = [rows.lines[row] for row in parted.row.tolist()]
        return Rows(columns, lines, [*rows.left_out, *nobody])


# Matrices.

#: Signs between the names of the two axes in the first cell, as in ``paper \\ reviewer``.
_BETWEEN_AXES = re.compile(r"[\\/|]|->|\bx\b|\N{MULTIPLICATION SIGN}")
#: The axes in words.
_WORDS = {ITEM.name: "papers", REVIEWER.name: "reviewers"}


class Melted(Wrapped):
    """A matrix with a row for each cell that is not empty: ``item``, ``reviewer`` and a value."""

    def __init__(self, table: Table, rows: Rows, headers: Sequence[str], across: str, value: str) -> None:
        super().__init__(table)
        self.rows = rows
        self.headers = headers
        self.across = across
        self.header = [ITEM.name, REVIEWER.name, value]
        self.size = len(rows.lines)

    def place(self, line: int) -> str:
        row, column = divmod(line, len(self.headers))
        return f"{self.table.place(self.rows.lines[row])}, column {quote(self.headers[column])}"

    def read(self, positions: Sequence[int], problems: Problems) -> Rows:
        import numpy as np

        labels, *columns = self.rows.columns
        width = len(columns)
        codes: dict[str, int] = {}
        cells = np.empty((self.size, width), np.int64)
        for place, column in enumerate(columns):
            recode = np.array([codes.setdefault(value, len(codes)) for value in column.values], np.int64)
            cells[:, place] = recode[column.codes] if recode.size else 0
        full = np.array([cell.strip() not in BLANK for cell in codes], np.bool_)
        at = np.flatnonzero(full[cells].ravel()) if full.any() else np.empty(0, np.int64)
        down = Column(labels.codes[at // width], labels.values)
        along = recoded(Column(at % width, []), self.headers)
        value = Column(cells.ravel()[at], list(codes))
        sides = (along, down) if self.across == ITEM.name else (down, along)
        return Rows([(*sides, value)[place] for place in positions], at.tolist(), self.rows.left_out)


def melted(
    table: Table,
    names: Mapping[str, str],
    known: Mapping[str, Collection[Label]],
    value: Role,
    parse: Callable[[str], object],
    note: Note,
) -> Melted | None:
    """Return a matrix as a row per cell; None if the table is none.

    ``names`` are the user's names of columns, ``known`` the labels so far, by role; ``parse`` returns None for a cell
    that is no value. Known labels among the headers and in the first column say which axis is which, otherwise the
    header of the first column does.
    """
    from reviewgraph._base.labels import identity

    roles = [replace(role, required=False) for role in (REVIEWER, ITEM)]
    if table.source is not None or len(table.header) < 2 or recognised(table.header, [value], names):
        return None
    places = locate(table.header, roles, names, table.name, lambda message: None)
    if len(places) == len(roles):
        return None
    first = next(iter(places.values()), 0)
    across_places = [
        place
        for place, text in enumerate(table.header)
        if place != first and text.strip() and normalise(text) not in TITLE.names
    ]
    problems = Problems()
    rows = table.read([first, *across_places], problems)
    problems.raise_any()
    labels, *columns = rows.columns
    sides = {role: set(map(identity, some)) for role, some in known.items()}
    headers = [identity(table.header[place]) for place in across_places]
    named = any(not side.isdisjoint(headers) for side in sides.values())
    valued = [all(cell.strip() in BLANK or parse(cell) is not None for cell in column.values) for column in columns]
    kept = [k for k, header in enumerate(headers) if valued[k] or any(header in side for side in sides.values())]
    if not (named or (len(across_places) > 1 and all(valued))):
        return None
    texts = [table.header[across_places[k]] for k in kept]
    across = _across(table, first, places, sides, (set(map(identity, labels.values)), {headers[k] for k in kept}))
    matrix = Melted(table, rows._replace(columns=[labels, *(columns[k] for k in kept)]), texts, across, value.name)
    entries = len(matrix.read([0], problems).lines)
    cells = matrix.size * len(kept)
    down = next(role for role in _WORDS if role != across)
    left = [table.header[place] for k, place in enumerate(across_places) if k not in kept]
    more = f"; left out: {quote_all(left)}" if left else ""
    note(
        f"{table.name}: read as a matrix with {_WORDS[down]} in rows and {_WORDS[across]} in columns, {entries:,} of "
        f"{counted(cells, 'cell')} not empty{more}"
    )
    return matrix


def _across(
    table: Table,
    first: int,
    places: Mapping[str, int],
    known: Mapping[str, Collection[str]],
    axes: tuple[Collection[str], Collection[str]],
) -> str:
    """Return the role of the columns: of known labels, otherwise by the header of the first column, or ask."""
    rows, columns = axes
    people, papers = (known.get(role.name, ()) for role in (REVIEWER, ITEM))

    def fits(down: Collection[str], along: Collection[str]) -> bool:
        return any(label in down for label in rows) and any(label in along for label in columns)

    by_label = {REVIEWER.name: fits(papers, people), ITEM.name: fits(people, papers)}
    if sum(by_label.values()) == 1:
        return next(role for role, fit in by_label.items() if fit)
    if places:
        return ITEM.name if REVIEWER.name in places else REVIEWER.name
    axis = [normalise(part) for part in _BETWEEN_AXES.split(table.header[first])]
    for role, other in ((REVIEWER, ITEM), (ITEM, REVIEWER)):
        if axis[0].removesuffix("s") in other.names and axis[-1].removesuffix("s") in (*role.names, *other.names):
            return role.name
    raise InputError(
        f"{table.name}: a matrix whose rows may be papers and whose columns reviewers, or the other way round; write "
        f"paper or reviewer in the place of {quote(table.header[first])}, above the first column"
    )

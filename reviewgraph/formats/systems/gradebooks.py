"""Informal spreadsheets: answers to an online form, a workshop, and gradebooks with one row per student."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from reviewgraph._base.errors import InputError
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import ITEM, REVIEWER, ROW_NUMBERS, SCORE, TITLE, Role, locate, normalise
from reviewgraph.formats.files import quote_all
from reviewgraph.formats.systems.system import Export, System, Use
from reviewgraph.formats.tables import Grid, Line, Table, to_grid
from reviewgraph.formats.values import parse_number

#: The first column of the answers, in several languages.
_STAMPS = "timestamp|zeitstempel|horodateur|marca_temporal|submission_time|start_time|carimbo_de_data_hora"

#: Words of questions by role.
_ASKS = {
    REVIEWER: ("reviewer", "email", "grader", "judge", "your name", "username"),
    ITEM: ("paper", "submission", "proposal", "essay", "project", "poster", "abstract", "application", "candidate"),
    SCORE: ("score", "rating", "rate", "grade", "overall", "mark", "points"),
}

# "Grader 1", "Score (2)": the role of a column of a gradebook, and the number of the review.
_NUMBERED = re.compile(r"\s*(?P<name>.*?\D)[\s(#_.-]*(?P<number>[0-9]{1,3})[\s)]*")


def _questions(table: Table) -> Mapping[str, Sequence[str]]:
    """Return the questions by role, for roles without a usual column; the user has to choose among several."""
    normal = {name: normalise(name) for name in table.header}
    questions: dict[str, list[str]] = {}
    for role, words in _ASKS.items():
        if not (set(role.names) - set(ROW_NUMBERS)) & set(normal.values()):
            stems = [normalise(word) for word in words]
            questions[role.name] = [
                name
                for name, text in normal.items()
                if any(re.search(rf"(?:^|_){stem}s?(?:_|$)", text) for stem in stems)
            ]
    taken = [name for names in questions.values() for name in names]
    return {role: [name for name in names if taken.count(name) == 1] or names for role, names in questions.items()}


def _numbered(header: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the columns by number and role of headers such as ``Grader 1, Score 1, Grader 2, Score 2``."""
    columns: dict[str, dict[str, int]] = {}
    for place, text in enumerate(header):
        match = _NUMBERED.fullmatch(text)
        role = match and next((role for role in (REVIEWER, SCORE) if normalise(match["name"]) in role.names), None)
        if match and role:
            columns.setdefault(match["number"], {})[role.name] = place
    return columns


def _melted(name: str, table: Table) -> Table:
    """Return a table with one row per student and numbered columns as one row per review."""
    reviews = _numbered(table.header)
    odd = [number for number, columns in reviews.items() if REVIEWER.name not in columns]
    scored = [number for number, columns in reviews.items() if SCORE.name in columns]
    odd += [number for number in reviews if scored and number not in scored]
    if odd:
        message = (
            f"{name}: a row for each student and numbered columns, as in 'Grader 1', 'Grade 1': number {odd[0]} lacks "
            f"one of the two; found the columns {quote_all(table.header)}"
        )
        raise InputError(message)
    grid = to_grid(table)
    item, title = _labels(grid)
    lines = [
        Line([cells[item], cells[title] if title is not None else "", reviewer, score], place)
        for cells, place in grid.lines
        for columns in reviews.values()
        for reviewer in [cells[columns[REVIEWER.name]]]
        for score in [cells[columns[SCORE.name]] if SCORE.name in columns else ""]
        if reviewer.strip() or score.strip()
    ]
    return Grid(grid.name, [ITEM.name, TITLE.name, REVIEWER.name, SCORE.name], lines)


def _matrix(name: str, table: Table) -> Table | None:
    """Return a table with one row per student and a column of scores per reviewer as one row per review."""
    grid = to_grid(table)
    item, title = _labels(grid)
    scores = [
        place
        for place, name in enumerate(grid.header)
        if normalise(name) not in _NO_REVIEWER and _has_scores(grid.column(place))
    ]
    if not scores:
        return None
    lines = [
        Line([cells[item], cells[title] if title is not None else "", grid.header[place], cells[place]], where)
        for cells, where in grid.lines
        for place in scores
        if cells[place].strip()
    ]
    reviews = Grid(grid.name, [ITEM.name, TITLE.name, REVIEWER.name, SCORE.name], lines)
    reviews.notes = [f"the reviewers are the columns {quote_all([grid.header[place] for place in scores])}"]
    return reviews


def _labels(grid: Grid) -> tuple[int, int | None]:
    """Return the columns of the student and of a title."""
    places = locate(grid.header, [STUDENT, TITLE], {}, grid.name, grid.notes.append, prefix=None)
    return places[STUDENT.name], places.get(TITLE.name)


#: The subject of a row of a gradebook.
STUDENT = Role(ITEM.name, (*ITEM.synonyms, "student_id", "student_name", "name", "id_number"), label=True)
#: Columns of a gradebook that belong to no reviewer, whatever their cells.
_NO_REVIEWER = frozenset(
    (
        *(*STUDENT.names, *TITLE.names, *SCORE.names, *REVIEWER.names),
        *("total", "average", "mean", "sum", "count", "median", "final", "final_grade", "final_mark", "final_score"),
    )
)


def _has_scores(cells: Sequence[str]) -> bool:
    """Return whether a column has a score; other cells in it are to be refused, not ignored."""
    return any(parse_number(cell) is not None for cell in cells)


def _labels_of_both(grid: Grid) -> list[str]:
    """Return the labels that people and works share, as when students assess each other."""
    places = locate(grid.header, (REVIEWER, ITEM), {}, grid.name, lambda note: None, prefix=None)
    reviewers = set(grid.column(places[REVIEWER.name])) - {""}
    return [label for label in dict.fromkeys(grid.column(places[ITEM.name])) if label in reviewers]


def _own(table: Table) -> Grid:
    """Return the pairs of a person and their own work."""
    grid = to_grid(table)
    lines = (Line([label, label], f"{grid.name}: {label}") for label in _labels_of_both(grid))
    return Grid(grid.name, [ITEM.name, REVIEWER.name], lines)


def _peers(table: Table) -> Grid:
    """Return the reviews, noting how to bar reviews of own works if people review each other."""
    grid = table if isinstance(table, Grid) else to_grid(table)
    both = len(_labels_of_both(grid))
    if both:
        works = counted(both, "work has the label of a reviewer", "works have the labels of reviewers")
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
            "answers to an online form",
            (Use("reviews", find=_questions),),
            (_STAMPS,),
            ("action", "submitted_at"),
        ),
    )


class Workshop(System):
    """A workshop of Moodle."""

    name = "workshop"
    title = "a workshop of Moodle"
    extras = ("remark", "feedback", "comment")
    exports = (
        Export(
            "a workshop of Moodle",
            _USES,
            ("assessee", "grader|assessor|reviewer"),
        ),
    )


class Gradebook(System):
    """A gradebook, with numbered columns or a column for each reviewer."""

    name = "gradebook"
    title = "a gradebook with one row per student"
    exports = (
        Export(
            "a gradebook with one row per student",
            _USES,
            # Without a column of students a row holds labels, such as "Grader 1", and is no header.
            (rf"(?:{'|'.join(REVIEWER.names)})_?[0-9]{{1,3}}", "|".join(map(re.escape, STUDENT.names))),
            extract=_melted,
        ),
        Export(
            "a gradebook with a column for each reviewer",
            (Use("reviews"),),
            extract=_matrix,
            shy="name",
        ),
    )

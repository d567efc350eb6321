"""Informal spreadsheets: answers to an online form, a workshop, and gradebooks with one row per student."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from reviewgraph._base.text import counted
from reviewgraph.formats.columns import ITEM, REVIEWER, ROW_NUMBERS, SCORE, locate, normalise
from reviewgraph.formats.systems.system import Export, System, Use
from reviewgraph.formats.systems.wide import NAMED_BY, PEOPLE, STUDENT, crossed, from_answers, melted
from reviewgraph.formats.tables import Grid, Line, Table, to_grid

#: The first column of the answers, in several languages.
_STAMPS = "timestamp|zeitstempel|horodateur|marca_temporal|submission_time|start_time|carimbo_de_data_hora"

#: Words of questions by role.
_ASKS = {
    REVIEWER: ("reviewer", "email", "grader", "judge", "your name", "username"),
    ITEM: ("paper", "submission", "proposal", "essay", "project", "poster", "abstract", "application", "candidate"),
    SCORE: ("score", "rating", "rate", "grade", "overall", "mark", "points"),
}


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
    """A gradebook, with numbered columns or a column for each reviewer, or for each paper."""

    name = "gradebook"
    title = "a gradebook with one row per student"
    exports = (
        Export(
            "a gradebook with one row per student",
            _USES,
            # Without a column of students a row holds labels, such as "Grader 1", and is no header.
            (
                rf"(?:{'|'.join(PEOPLE)})_?[0-9]{{1,3}}(?:_(?:{'|'.join(NAMED_BY)}))?",
                "|".join(map(re.escape, (*STUDENT.names, *STUDENT.weak))),
            ),
            shape=melted,
        ),
        Export(
            "a gradebook with a column for each reviewer or paper",
            (Use("reviews"),),
            shape=crossed,
            shy="name",
        ),
    )

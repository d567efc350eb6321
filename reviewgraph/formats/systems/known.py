"""All supported conference systems by name, and tables for people: columns of each review, letters for mail merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import csv_text
from reviewgraph._base.text import counted
from reviewgraph.formats.files import WORKBOOK
from reviewgraph.formats.systems.cmt import CMT
from reviewgraph.formats.systems.easychair import EasyChair
from reviewgraph.formats.systems.gradebooks import Forms, Gradebook, Workshop
from reviewgraph.formats.systems.hotcrp import HotCRP
from reviewgraph.formats.systems.openreview import OpenReview
from reviewgraph.formats.systems.others import OJS, START, Indico, LabelStudio
from reviewgraph.formats.systems.pretalx import Pretalx
from reviewgraph.formats.systems.system import PLAIN, Outgoing, System

if TYPE_CHECKING:
    from reviewgraph._base.labels import Label
    from reviewgraph.formats.tables import Table


#: The purpose of reviews that join groups of papers.
COMPARE = "compare the scores of all papers on one scale"


def letters(outgoing: Outgoing) -> dict[Label, str]:
    """Return a letter to each reviewer, which asks for reviews or lists those that are assigned.

    >>> asked = {"item": [1, 2], "reviewer": ["ann", "ann"]}
    >>> letters(Outgoing(asked, {2: "On ties"}, helps="compare them"))["ann"]
    'Dear ann, could you review 2 more papers for us: 1 and 2 (On ties)? It helps us compare them.'
    >>> letters(Outgoing(asked))["ann"]
    'Dear ann, please review 2 papers for us: 1 and 2.'
    """
    return {
        reviewer: _letter(reviewer, papers, outgoing.titles, outgoing.helps)
        for reviewer, papers in _papers(outgoing).items()
    }


def _papers(outgoing: Outgoing) -> dict[Label, list[Label]]:
    settled = set(outgoing.settled)
    papers: dict[Label, list[Label]] = {}
    for reviewer, item in outgoing.pairs:
        if (reviewer, item) not in settled:
            papers.setdefault(reviewer, []).append(item)
    return papers


def _line(label: Label) -> str:
    """Return a label or a title in one line: a line break would end a field of a mail, and could begin another."""
    return " ".join(str(label).split())


def _letter(reviewer: Label, papers: Sequence[Label], titles: Mapping[Label, str], helps: str | None) -> str:
    title = {paper: _line(titles.get(paper, "")) for paper in papers}
    named = [f"{_line(paper)} ({title[paper]})" if title[paper] else _line(paper) for paper in papers]
    listed = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
    if helps is None:
        return f"Dear {_line(reviewer)}, please review {counted(len(named), 'paper')} for us: {listed}."
    what = "one more paper" if len(named) == 1 else f"{len(named)} more papers"
    return f"Dear {_line(reviewer)}, could you review {what} for us: {listed}? It helps us {helps}."


class ForPeople(System):
    """A table that no system imports, so it is written in any format of tables."""

    is_table = True

    def write(self, outgoing: Outgoing) -> str:
        return csv_text(self.table(outgoing))


class Csv(ForPeople):
    """A table with all columns of each review, the default if the system of the input imports none."""

    name = "csv"
    title = "Excel"
    words = "a table with all columns, CSV or Excel by the name of the file"

    def table(self, outgoing: Outgoing) -> Mapping[str, Sequence[Any]]:
        return outgoing.columns

    def is_meant_by(self, path: str | None) -> bool:
        """Return whether only a table can have the name of a file: that of a workbook of Excel."""
        return (path or "").casefold().endswith(WORKBOOK)


CSV = Csv()


class Mail(ForPeople):
    """A program for mail merge: one row per reviewer, with all the papers and the letter."""

    name = "mail"
    title = "mail merge"
    words = "a table for mail merge, one row per reviewer, CSV or Excel"
    read_back = False

    def table(self, outgoing: Outgoing) -> Mapping[str, Sequence[Any]]:
        r"""Return a table of ``reviewer``, how many ``reviews``, ``papers``, ``titles`` and ``letter``.

        >>> print(Mail().write(Outgoing({"item": [1, 2], "reviewer": ["ann", "ann"]}, {2: "On ties"})), end="")
        reviewer,reviews,papers,titles,letter
        ann,2,1; 2,; On ties,"Dear ann, please review 2 papers for us: 1 and 2 (On ties)."
        """
        papers = _papers(outgoing)
        return {
            "reviewer": list(map(_line, papers)),
            "reviews": [len(labels) for labels in papers.values()],
            "papers": ["; ".join(map(_line, labels)) for labels in papers.values()],
            "titles": [
                "; ".join(_line(outgoing.titles.get(paper, "")) for paper in labels) for labels in papers.values()
            ],
            "letter": list(letters(outgoing).values()),
        }


def refuse_letters(table: Table) -> None:
    """Refuse the letters of a plan or an assignment, a row of which has several papers."""
    if [*Mail().table(Outgoing({"item": [], "reviewer": []}))] == list(table.header):
        raise InputError(
            f"{table.name}: expected one row per review, found letters for mail merge, a row with all papers of each "
            "reviewer; write the reviews themselves, too: the same command with -o FILE and without --to mail"
        )


# All supported conference systems by name.

#: If a file may be from several, the first counts.
SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        *(HotCRP(), OpenReview(), CMT(), EasyChair(), START(), Pretalx(), OJS(), Indico(), LabelStudio()),
        *(Forms(), Workshop(), Gradebook(), CSV, Mail()),
    )
}


def sources() -> list[str]:
    return [*(name for name, system in SYSTEMS.items() if system.exports), PLAIN]


def takers() -> dict[str, System]:
    return {name: system for name, system in SYSTEMS.items() if system.words}


def rated() -> dict[str, System]:
    return {name: system for name, system in SYSTEMS.items() if system.results}

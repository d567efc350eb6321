"""The audit that every table of reviews passes, whatever way it came in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reviewgraph._base.arrays import IntArray
from reviewgraph._base.errors import InputError, refused
from reviewgraph._base.labels import Label, encode
from reviewgraph.formats.audit import rows, tables
from reviewgraph.formats.audit.finding import FINDINGS as FINDINGS
from reviewgraph.formats.audit.finding import Draft
from reviewgraph.formats.columns import Columns
from reviewgraph.formats.files import Note, quote, quote_all
from reviewgraph.formats.tables import Column, Numbers, by_row


class Audit:
    """One audit of a table: the findings that the user accepts, and the listener to notes."""

    def __init__(
        self, accept: str | Iterable[str] = (), note: Note | None = None, words: Callable[[str], str] = str
    ) -> None:
        names = [accept] if isinstance(accept, str) else list(accept)
        self.accept = tuple(name.strip() for entry in names for name in str(entry).split(","))
        self.words = words  #: What becomes of each message, such as :func:`in_python`.
        self.note: Note = (lambda message: note(type(message)(words(message)))) if note else (lambda message: None)
        for name in self.accept:
            if name not in FINDINGS:
                there_are = f"there are {quote_all(FINDINGS, len(FINDINGS))}"
                raise refused("accept", "names of findings", quote(name), there_are)

    def of_rows(self, draft: Draft) -> Draft:
        """Return one source, corrected."""
        return self._look(draft, of_rows=True)

    def of_table(self, columns: Columns) -> Columns:
        """Return all sources together, corrected; those that nobody looked at are looked at row by row first."""
        if not _fit(columns):
            return columns  # refused with the reason by the table itself
        draft = draft_of(columns)
        corrected = draft if columns.audited else self._look(draft, of_rows=True)
        corrected = self._look(corrected, of_rows=False)
        return columns if corrected is draft else corrected_columns(columns, corrected)

    def _look(self, draft: Draft, *, of_rows: bool) -> Draft:
        for entry in FINDINGS.values():
            if entry.of_rows == of_rows and draft.size:
                look = entry.if_accepted if entry.name in self.accept else entry.look
                try:
                    draft = look(draft, self.note)
                except InputError as error:
                    raise type(error)(self.words(str(error))) from error
        return draft


#: What becomes of mistakes in a table that is read in batches.
_UNCORRECTED = "a table read in batches is not corrected: correct the file, or read it without --stream"


def refuse_finding(message: str) -> None:
    """Refuse what a note says that was corrected."""
    raise InputError(f"{message.partition('; --accept')[0]}: {_UNCORRECTED}")


class Uncorrected(Audit):
    """The audit of a table that is not corrected: what another one would correct, or ask about, is refused."""

    def _look(self, draft: Draft, *, of_rows: bool) -> Draft:
        for entry in FINDINGS.values():
            if entry.of_rows != of_rows or not draft.size:
                continue
            note = refuse_finding if entry.effect == "corrected" else self.note
            try:
                looked_at = entry.look(draft, note)
            except InputError as error:
                if _UNCORRECTED in str(error):
                    raise
                raise InputError(f"{error}, without --stream") from error
            if not np.array_equal(looked_at.rows, draft.rows):
                refuse_finding(f"{draft.name}: {entry.words}")
        return draft


def _fit(columns: Columns) -> bool:
    """Whether codes, labels and scores belong together."""
    size = columns.reviewer.size
    scores = [values for values in (columns.score, columns.scored, *columns.criteria.values()) if values is not None]
    sides = ((columns.reviewer, columns.reviewers), (columns.item, columns.items))
    return all(np.shape(values) == (size,) for values in scores) and all(
        codes.size == size and codes.min(initial=0) >= 0 and codes.max(initial=-1) < len(labels)
        for codes, labels in sides
    )


def refuse_uncorrected(name: str, reviewers: Sequence[str], items: Sequence[str]) -> None:
    """Refuse labels of a table read in batches that the audit would correct, or ask about, in a table in memory.

    >>> refuse_uncorrected("t.csv", ["ann", "TBD"], ["p1"])
    Traceback (most recent call last):
        ...
    reviewgraph._base.errors.InputError: t.csv: 1 row left out, whose reviewer is a placeholder ('TBD'): a table read in
    batches is not corrected: correct the file, or read it without --stream
    """
    # Labels that are whole numbers are not passed: nothing is looked for among them.
    reviewer_labels: list[Any] = list(reviewers) or [0]
    item_labels: list[Any] = list(items) or [0]
    codes = np.arange(max(len(reviewer_labels), len(item_labels)))
    people = Column(codes % len(reviewer_labels), reviewer_labels)
    papers = Column(codes % len(item_labels), item_labels)
    draft = Draft(name, people, papers, None, "label {}".format, codes)
    for entry in (rows.placeholders, rows.several_people, rows.summary_rows, tables.exchanged_columns):
        entry.look(draft, refuse_finding)


def draft_of(columns: Columns) -> Draft:
    size = columns.reviewer.size
    files = [file.file for file in columns.origin.files if file.scored is not None]
    score = None
    if columns.score is not None:
        values = np.asarray(columns.score, np.float64)
        known = np.isfinite(values) if columns.scored is None else np.asarray(columns.scored, np.bool_)
        score = Numbers(values, known)
    return Draft(
        ", ".join(files[:3]) or "reviews",
        Column(columns.reviewer, list(columns.reviewers)),
        Column(columns.item, list(columns.items)),
        score,
        columns.row_name,
        np.arange(size),
        criteria=columns.criteria,
        target=columns.target,
    )


def corrected_columns(columns: Columns, draft: Draft) -> Columns:
    """Return columns with the rows and labels of a corrected draft; other labels stay where they had no row before."""
    idle = _without_rows(columns.reviewers, columns.reviewer)
    unread = _without_rows(columns.items, columns.item)
    reviewer, reviewers = encode(by_row(draft.reviewer), idle)
    item, items = encode(by_row(draft.item), [*unread, *draft.papers])
    places = draft.rows
    row_name = columns.row_name
    scored = columns.scored
    if draft.unfinished is not None and columns.score is not None:
        scored = (np.isfinite(columns.score) if scored is None else scored)[places] & ~draft.unfinished
    elif scored is not None:
        scored = np.asarray(scored)[places]
    return replace(
        columns,
        reviewer=reviewer,
        item=item,
        reviewers=reviewers,
        items=items,
        score=None if columns.score is None else np.asarray(columns.score)[places],
        scored=scored,
        criteria={name: np.asarray(values)[places] for name, values in columns.criteria.items()},
        confidence=None if columns.confidence is None else np.asarray(columns.confidence)[places],
        row_name=lambda row: row_name(int(places[row])),
    )


def _without_rows(labels: Sequence[Label], codes: IntArray) -> list[Label]:
    present = np.zeros(len(labels), np.bool_)
    present[codes] = True
    return [label for label, has_rows in zip(labels, present.tolist(), strict=True) if not has_rows]

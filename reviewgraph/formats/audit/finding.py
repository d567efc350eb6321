"""A finding: a mistake that tables of reviews have, and what becomes of it; and the draft in which it is found.

A finding is one object: what it looks for, what becomes of it, and its name, by which ``--accept`` (in Python
``accept``) overrules it. Its effect is one of three: the table is *corrected*, and a note counts the rows; it is
*noted*; or it is *asked* about, by an :class:`~reviewgraph.InputError` that names the option that answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
from reviewgraph._base.errors import InputError
from reviewgraph._base.labels import are_numbered, is_null
from reviewgraph._base.storing import LeftOut
from reviewgraph._base.text import counted
from reviewgraph.formats.files import Note, quote_all
from reviewgraph.formats.people import words_of
from reviewgraph.formats.tables import Column, Numbers, of_rows
from reviewgraph.formats.values import parse_number

Effect: TypeAlias = Literal["corrected", "noted", "asked"]


@dataclass(frozen=True)
class Draft:
    """Reviews while they are read: a row each, with labels of any type, and cells of scores not yet understood."""

    name: str  #: What messages call the source.
    reviewer: Column
    item: Column
    score: Column | Numbers | None
    place: Callable[[int], str]  #: How a message names a row of the source.
    rows: IntArray  #: The row of the source that each row is; one with several people is several rows.
    headers: Mapping[str, str] = field(default_factory=dict)  #: Names of columns by role, where the source has names.
    #: Other columns of text by name, read where they are needed.
    others: Mapping[str, Callable[[], Column]] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    papers: tuple[Any, ...] = ()  #: Items of rows left out, which exist all the same.
    unfinished: BoolArray | None = None  #: Rows whose score does not count yet; none by default.
    barred: tuple[tuple[Any, Any], ...] = ()  #: Pairs of a reviewer and an item in conflict.
    duplicates: str = "error"  #: The policy for pairs with two scores.
    has_scale: bool = False  #: Whether the user lists the grades.
    lower_is_better: bool = False  #: Whether the user says that 1 is the best.
    criteria: Mapping[str, FloatArray] = field(default_factory=dict)  #: Further scores by name, once they are read.
    target: str | None = None  #: The name of the score, where it has one.

    @cached_property
    def people_are_numbered(self) -> bool:
        """Whether reviewers are ids, so that no words need be looked for among them."""
        return are_numbered(self.reviewer.values)

    @cached_property
    def papers_are_numbered(self) -> bool:
        """Whether items are ids, so that no words need be looked for among them."""
        return are_numbered(self.item.values)

    @property
    def size(self) -> int:
        return int(self.rows.size)

    def leave_out(
        self, dropped: BoolArray, why: str, note: Note, *, also: str = "", then: str = "", with_items: bool = False
    ) -> Draft:
        """Return :meth:`without` these rows, and note their number, if there are any."""
        if not dropped.any():
            return self
        note(f"{self.name}: {counted(int(dropped.sum()), 'row')} left out{also}, {why}{then}")
        return self.without(dropped, why, with_items=with_items)

    def without(self, dropped: BoolArray, why: str, *, with_items: bool = False) -> Draft:
        """Return the rows that are not dropped; items of dropped rows stay, unless they go ``with_items``."""
        kept = np.flatnonzero(~dropped)
        gone = [] if with_items else of_rows(self.item, np.flatnonzero(dropped)).values
        gone = [item for item in gone if not is_null(item)]
        return replace(
            self.part(kept),
            left_out=(*self.left_out, LeftOut(int(dropped.sum()), why)),
            papers=tuple(dict.fromkeys([*self.papers, *gone])),
        )

    def part(self, places: IntArray) -> Draft:
        return replace(
            self,
            reviewer=of_rows(self.reviewer, places),
            item=of_rows(self.item, places),
            score=None if self.score is None else of_rows(self.score, places),
            rows=self.rows[places],
            unfinished=None if self.unfinished is None else self.unfinished[places],
        )

    def has_score(self) -> BoolArray:
        """Return which rows have a cell of a score, shape (rows,)."""
        if self.score is None:
            return np.zeros(self.size, np.bool_)
        if isinstance(self.score, Numbers):
            return self.score.known
        filled = np.array([bool(value.strip()) for value in self.score.values], np.bool_)
        return filled[self.score.codes]


class Finding(NamedTuple):
    """A mistake that tables have: how it is found, and what becomes of it."""

    name: str  #: As ``--accept`` takes it.
    effect: Effect
    words: str  #: What is looked for.
    then: str  #: What becomes of the table.
    #: Returns the draft, corrected or as it was; notes what it did; raises InputError where it asks.
    look: Callable[[Draft, Note], Draft]
    of_rows: bool  #: Whether each source is looked at by itself, before its scores are read.
    accepted: str = "the table is taken as it is"  #: What ``--accept`` does.
    #: Where it is accepted, this is called in place of ``look``; nothing by default.
    if_accepted: Callable[[Draft, Note], Draft] = lambda draft, note: draft


#: All findings by name, in the order in which they are looked for.
FINDINGS: dict[str, Finding] = {}


def finding(
    effect: Effect, then: str, *, of_rows: bool = True, **more: Any
) -> Callable[[Callable[[Draft, Note], Draft]], Finding]:
    """Return the decorator that makes a finding of a function, which bears its name and says what it looks for."""
    if effect == "noted":
        more = {"accepted": "no note", **more}

    def made(look: Callable[[Draft, Note], Draft]) -> Finding:
        name = look.__name__.replace("_", "-")
        doc = (look.__doc__ or "").removesuffix(".")
        words = doc[:1].lower() + doc[1:]
        FINDINGS[name] = Finding(name, effect, words, then, look, of_rows, **more)
        return FINDINGS[name]

    return made


def overrule(name: str) -> str:
    """Return how a finding is overruled: the option, which :func:`in_python` makes an argument.

    >>> overrule("placeholders"), in_python(f"say {overrule('placeholders')}")
    ('--accept placeholders', 'say accept="placeholders"')
    """
    return f"--accept {name}"


def asked(draft: Draft, message: str, name: str) -> InputError:
    """Return the error of a finding that asks, whose message ends with how it is overruled."""
    return InputError(f"{draft.name}: {message} {overrule(name)}")


def in_python(message: str) -> str:
    """Return a message with arguments of Python in the place of the options that overrule findings."""
    return re.sub(r"--accept ([\w-]+)", r'accept="\1"', message)


def texts_of(column: Column) -> list[str]:
    return [value if isinstance(value, str) else str(value) for value in column.values]


def with_values(column: Column, holds: Callable[[str], bool]) -> BoolArray:
    return np.array([holds(text) for text in texts_of(column)], np.bool_)[column.codes]


def quoted(column: Column, rows: BoolArray) -> str:
    codes = np.unique(column.codes[rows]).tolist()
    return quote_all(sorted(str(column.values[code]) for code in codes), 6)


def with_name(draft: Draft, message: str) -> str:
    """Return a message on a place, which names the source itself in files."""
    return message if message.startswith(draft.name) else f"{draft.name}: {message}"


def numbers_of(score: Column | Numbers | None, size: int) -> FloatArray:
    """Return the numbers in cells of scores, NaN where there is none, shape (rows,)."""
    if score is None:
        return np.full(size, np.nan)
    if isinstance(score, Numbers):
        return np.where(score.known, score.values, np.nan)
    parsed = [parse_number(value) for value in score.values]
    return np.array([np.nan if number is None else number for number in parsed], np.float64)[score.codes]


def same_code(codes: IntArray, rows: IntArray, rest: IntArray) -> list[IntArray]:
    """Return for each of some rows those of the rest that have its code.

    >>> same_code(np.array([0, 1, 1, 0, 1]), np.array([0, 1]), np.array([2, 3, 4]))
    [array([3]), array([2, 4])]
    """
    order = rest[np.argsort(codes[rest], kind="stable")]
    starts, ends = (np.searchsorted(codes[order], codes[rows], side=side).tolist() for side in ("left", "right"))
    return [order[start:end] for start, end in zip(starts, ends, strict=True)]


def plain_name(name: str) -> str:
    r"""Return the name of a column without case, accents, signs and blanks.

    >>> plain_name("Review Status"), plain_name("situa\xe7\xe3o"), plain_name("isDeclined?")
    ('reviewstatus', 'situacao', 'isdeclined')
    """
    return words_of(name).replace(" ", "")

"""ANSWER: what a command printed with ``--json``, or the CSV it wrote with ``-o``."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from reviewgraph.errors import InputError
from reviewgraph.formats.opening import written_rows
from reviewgraph.formats.problems import cut, quote
from reviewgraph.formats.writing import unguarded
from reviewgraph.verify.findings import is_same, shown
from reviewgraph.verify.schemas import COLUMNS, KINDS, SCHEMAS, TEXT, UNSEEN, misfits, unseen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reviewgraph.verify.findings import Findings

#: Keys that only the JSON of one command has.
KEYS = {
    "check": {"doubly_connected", "degrees_of_freedom"},
    "plan": {"merges", "bounds", "lower_bound"},
    "assign": {"affinity_unconstrained", "reviews"},
    "calibrate": {"method", "items"},
}


@dataclass(frozen=True)
class Answer:
    """An answer of a command.

    Parameters
    ----------
    path
        The file.
    command
        Which command made it.
    found
        Its keys; of a CSV, its rows under ``rows``.
    is_table
        Whether it is a CSV.
    """

    path: str
    command: str
    found: Mapping[str, Any]
    is_table: bool = False

    def get(self, key: str, kind: str, *, within: Any = None, null: bool = False) -> Any:
        """Return the value of a key.

        Parameters
        ----------
        key
            The key; dots mean nesting.
        kind
            One of :data:`KINDS`.
        within
            An object of the answer to look in; the answer itself by default.
        null
            Whether it may be null.

        Raises
        ------
        InputError
            If it is not there, or of another kind.
        """
        value = self.found if within is None else within
        for part in key.split("."):
            if not isinstance(value, dict) or part not in value:
                self._refuse(f"expected a key {key}, found none")
            value = value[part]
        if value is None and null:
            return None
        wrong = isinstance(value, bool) is not (kind == "true or false")
        if wrong or not isinstance(value, KINDS[kind]):
            self._refuse(f"expected {kind} at {key}, found {cut(repr(value))}")
        return value

    def rows(self, key: str, kinds: Mapping[str, str], *, within: Any = None, null: bool = False) -> Any:
        """Return a list of objects as tuples of some of their keys; None where there is none and ``null`` is set.

        A kind that ends with ``?`` may be null.
        """
        listed = self.get(key, "a list", within=within, null=null)
        if listed is None:
            return None
        return [
            tuple(
                self.name_of(row, name)
                if kind == "a name"
                else self.get(name, kind.rstrip("?"), within=row, null=kind.endswith("?"))
                for name, kind in kinds.items()
            )
            for row in listed
        ]

    def name_of(self, row: Any, key: str) -> str:
        """Return a label as text."""
        value = row.get(key) if isinstance(row, dict) else None
        if value is None or isinstance(value, bool | list | dict):
            self._refuse(f"expected a name at {key}, found {cut(repr(value))}")
        return str(value)

    def names(self, key: str, *, within: Any = None, null: bool = False) -> Any:
        """Return a list of labels as texts."""
        listed = self.get(key, "a list", within=within, null=null)
        return listed if listed is None else [self.name_of({key: value}, key) for value in listed]

    def numbers(self, key: str, size: int, *, within: Any = None) -> list[float] | None:
        """Return a list of so many numbers, or None."""
        listed: list[float] | None = self.get(key, "a list", within=within, null=True)
        plain = listed is None or [type(value) in (int, float) for value in listed] == [True] * size
        if not plain:
            self._refuse(f"expected {size} numbers at {key}, found {cut(repr(listed))}")
        return listed

    @property
    def unseen(self) -> list[str]:
        """The keys or columns that say something and are not looked at."""
        if self.is_table:
            rows = self.found["rows"]
            return [name for name in UNSEEN if any(row.get(name) for row in rows)]
        return list(dict.fromkeys(place for place, _ in unseen(self.found, SCHEMAS[self.command])))

    @property
    def figures(self) -> list[str]:
        """Those of them on which the answer rests: no sentences, nor whether a clock ended the search."""
        places = unseen(self.found, SCHEMAS[self.command])
        return [place for place, part in places if part not in (TEXT, [TEXT]) and place != "timed_out"]

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """The reviews of a plan or an assignment; none where there are no such."""
        if self.is_table or self.command not in ("plan", "assign"):
            return set()
        return set(self.rows("reviews", {"reviewer": "a name", "item": "a name"}))

    def expect_schema(self) -> None:
        """Refuse keys that no answer of the command has, and values of another kind."""
        wrong = next(misfits(self.found, SCHEMAS[self.command]), None)
        if wrong:
            self._refuse(wrong)

    def _refuse(self, why: str) -> NoReturn:
        message = f"{self.path}: {why}; verify takes what {self.command} printed with --json, or wrote with -o"
        raise InputError(message)


def read_answer(path: str) -> Answer:
    """Read an answer, and tell which command made it.

    Raises
    ------
    InputError
        If it cannot be read, or is no answer of a command.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
        rows = written_rows(path, data)
        text = "" if rows else data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        message = (
            f"{path}: expected an answer in UTF-8; it cannot be read ({getattr(error, 'strerror', None) or error})"
        )
        raise InputError(message) from error
    if text.lstrip()[:1] in ("{", "["):
        return from_json(path, text)
    return _from_rows(path, rows or _csv_rows(path, text))


def from_json(path: str, text: str) -> Answer:
    """Return the answer that a text is; ``path`` is its name in messages.

    Raises
    ------
    InputError
        If it is no answer of a command.
    """

    def refuse(constant: str) -> NoReturn:
        message = f"{constant} is no number"
        raise ValueError(message)

    try:
        found = json.loads(text, parse_constant=refuse, parse_float=_finite, parse_int=_whole, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        message = f"{path}: expected one JSON object, found something else ({error})"
        raise InputError(message) from error
    keys = set(found) if isinstance(found, dict) else set()
    command = next((name for name, own in KEYS.items() if own <= keys), None)
    if command is None:
        message = f"{path}: expected what check, plan, assign or calibrate prints with --json, found other keys"
        raise InputError(message)
    answer = Answer(path, command, found)
    answer.expect_schema()
    return answer


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, none of whose keys stands twice: readers differ in which of them counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        message = f"the key {cut(repr(twice))} stands twice in one object"
        raise ValueError(message)
    return found


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        message = f"{cut(text)} is too large for a number"
        raise ValueError(message)
    return value


def _whole(text: str) -> int:
    _finite(text)
    return int(text)


def _csv_rows(path: str, text: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text), strict=True)) or [[]]
    except csv.Error as error:
        message = f"{path}: expected CSV, found something else ({error})"
        raise InputError(message) from error


def _from_rows(path: str, table: list[list[str]]) -> Answer:
    header, *rows = table
    command = next((name for name, (own, _) in COLUMNS.items() if own <= set(header)), None)
    if command is None:
        shown = ",".join(header)[:80]
        message = (
            f"{path}: expected the CSV that check, plan, assign or calibrate writes with -o, found the columns "
            f"{shown!r}; uploads for other systems cannot be verified"
        )
        raise InputError(message)
    known = set[str]().union(*COLUMNS[command])
    strange = next((name for place, name in enumerate(header) if name not in known or name in header[:place]), None)
    if strange is not None:
        what = "a second column" if strange in known else "a column"
        message = f"{path}: expected the columns that {command} writes with -o, found {what} {quote(strange)}"
        raise InputError(message)
    uneven = next((number for number, row in enumerate(rows, 2) if len(row) != len(header)), None)
    if uneven is not None:
        message = f"{path}, row {uneven}: expected {len(header)} cells, found {len(rows[uneven - 2])}"
        raise InputError(message)
    cells = [dict(zip(header, map(unguarded, row), strict=True)) for row in rows]
    return Answer(path, command, {"rows": cells}, is_table=True)


#: Keys that are compared elsewhere: files may have other names where an answer is verified.
ELSEWHERE = {"files"}
#: How close numbers of the same command must be, and differences that are named before the rest is only counted.
AGAIN, NAMED = 1e-6, 5


def compare_again(findings: Findings, answer: Answer, again: Answer | None) -> bool:
    """Compare an answer with what the command says when it is asked again; returns whether that was of use.

    Where a clock ends a search, other reviews may be as good: nothing is to be had then but what other code looked at.
    """
    if again is None or answer.pairs != again.pairs:
        words = "gives no answer" if again is None else "gives other reviews"
        findings.trust(f"asked again, {answer.command} {words}, so that it is no help", decisive=bool(answer.figures))
        return False
    differences = list(_differences(answer.found, again.found))
    for place, said, found in differences[:NAMED]:
        words = f"{place}: says {cut(shown(said))}, and asked again {answer.command} says {cut(shown(found))}"
        findings.trust(words, decisive=True)
    if more := len(differences[NAMED:]):
        findings.trust(f"asked again, {answer.command} answers otherwise in {more} more places", decisive=True)
    if not differences:
        findings.check(f"sentences and all other figures: asked again, {answer.command} says the same")
    return True


def _differences(said: Any, found: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield where two values differ, with what is there; of a key that the first lacks it says nothing."""
    if isinstance(said, dict) and isinstance(found, dict):
        for key in said:
            if place or key not in ELSEWHERE:
                yield from _differences(said[key], found.get(key), f"{place}.{key}" if place else key)
    elif isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        for number, (one, other) in enumerate(zip(said, found, strict=True)):
            yield from _differences(one, other, f"{place}[{number}]")
    elif not is_same(said, found, AGAIN):
        yield place, said, found


def whole_in(path: str, row: int, cell: str) -> int | None:
    """Return the whole number of a cell, None where it is empty.

    Raises
    ------
    InputError
        If it is none.
    """
    value = number_in(path, row, cell)
    if value is not None and not value.is_integer():
        message = f"{path}, row {row}: expected a whole number, found {quote(cell)}"
        raise InputError(message)
    return None if value is None else int(value)


def number_in(path: str, row: int, cell: str) -> float | None:
    """Return the number of a cell, None where it is empty.

    Raises
    ------
    InputError
        If it is no finite number.
    """
    try:
        value = float(cell) if cell else None
    except ValueError:
        value = math.nan
    if value is not None and not math.isfinite(value):
        message = f"{path}, row {row}: expected a number, found {quote(cell)}"
        raise InputError(message)
    return value

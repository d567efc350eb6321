"""Answers (what a command printed with ``--json``, or the CSV it wrote with ``-o``), and the findings on them.

Answers are read strictly: unknown keys, values of another kind and repeated keys are errors. A second run of the
command, and the hashes of the files, serve where nothing here recomputes a value.
"""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import unguarded
from reviewgraph.formats.files import cut, quote
from reviewgraph.formats.opening import written_rows
from reviewgraph.verify.schemas import COLUMNS, KINDS, SCHEMAS, TEXT, UNSEEN, misfits, unseen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence


#: Relative difference up to which numbers are equal: they are printed in full, but summed here in another order.
ROUNDING = 1e-9

HOLDS, REFUTED, NOT_REFUTED = "holds", "refuted", "not_refuted"


@dataclass
class Findings:
    """Outcome of a verification, in sentences.

    ``wrong`` lists what does not hold, by key or row of the answer; ``checked`` what was recomputed; ``trusted`` what
    was not checked, and why; ``undecided`` those of ``trusted`` on which the answer rests, as its ranking or
    optimality.
    """

    wrong: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """``holds``, ``refuted`` or ``not_refuted``.

        >>> Findings().outcome, Findings(undecided=["the ranking"]).outcome, Findings(wrong=["p1, rank"]).outcome
        ('holds', 'not_refuted', 'refuted')
        """
        return REFUTED if self.wrong else NOT_REFUTED if self.undecided else HOLDS

    def expect(self, holds: bool, wrong: str) -> bool:
        """Note what is wrong unless a condition holds; return the condition."""
        if not holds:
            self.wrong.append(wrong)
        return holds

    def same(self, key: str, claimed: Any, actual: Any) -> bool:
        """Compare the value of a key of the answer with the recomputed one."""
        return self.expect(is_same(claimed, actual), f"{key}: says {shown(claimed)}, found {shown(actual)}")

    def same_rows(self, key: str, claimed: Iterable[Any], actual: Iterable[Any]) -> bool:
        """Compare rows in any order; name the first that only one side has."""
        left, right = list(claimed), list(actual)
        extra, missing = _missing_rows(left, right), _missing_rows(right, left)
        if extra:
            self.wrong.append(f"{key}: says {shown(extra[0])}, which was not found")
        if missing:
            self.wrong.append(f"{key}: lacks {shown(missing[0])}")
        return not (extra or missing)

    def check(self, words: str) -> None:
        """Note what was checked."""
        self.checked.append(words)

    def not_checked(self, words: str, *, decisive: bool = False) -> None:
        """Note what was not checked, and whether the answer rests on it."""
        self.trusted.append(words)
        self.undecided += [words] if decisive else []

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as ``verify --json`` prints them."""
        return {"outcome": self.outcome, "holds": self.outcome == HOLDS, **vars(self)}


def is_same(claimed: Any, actual: Any, rounding: float = ROUNDING) -> bool:
    """Whether two values are equal, numbers up to rounding.

    >>> is_same(0.1 + 0.2, 0.3), is_same(None, 0.0), is_same(True, 1)
    (True, False, False)
    """
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (claimed, actual)]
    if all(numbers):
        return math.isclose(claimed, actual, rel_tol=rounding, abs_tol=rounding * 1e-3)
    return type(claimed) is type(actual) and bool(claimed == actual)


def shown(value: Any) -> str:
    """Return a value as messages show it.

    >>> shown(None), shown(("ann", "p1")), shown(0.30000000000000004)
    ('null', 'ann, p1', '0.3')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple | list):
        return ", ".join(map(shown, value)) or "nothing"
    return f"{value:.12g}" if isinstance(value, float) else f"{value}"


def _missing_rows(rows: list[Any], others: list[Any]) -> list[Any]:
    """Return the rows that others lack, with multiplicity."""
    remaining: dict[Any, int] = {}
    for row in others:
        remaining[row] = remaining.get(row, 0) + 1
    extra = []
    for row in rows:
        remaining[row] = remaining.get(row, 0) - 1
        if remaining[row] < 0:
            extra.append(row)
    return extra


#: Keys by which the JSON of each command is recognised.
KEYS = {
    "check": {"doubly_connected", "degrees_of_freedom"},
    "plan": {"merges", "bounds", "lower_bound"},
    "assign": {"affinity_unconstrained", "reviews"},
    "calibrate": {"method", "items"},
}


@dataclass(frozen=True)
class Answer:
    """The answer of a command: what was printed with ``--json``, or a CSV, its rows under ``rows`` of ``content``."""

    path: str
    command: str
    content: Mapping[str, Any]
    is_table: bool = False

    def get(self, key: str, kind: str, *, within: Any = None, null: bool = False) -> Any:
        """Return the value of a key, checked against one of :data:`KINDS`.

        Dots in the key mean nesting; ``within`` is the object to look in, by default the answer itself; ``null`` allows
        null. Raises InputError if the key is missing or its value of another kind.
        """
        value = self.content if within is None else within
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
        """Return a list of objects as tuples of some of their keys; None for null where ``null`` is set.

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
        """Return a list of labels as text."""
        listed = self.get(key, "a list", within=within, null=null)
        return listed if listed is None else [self.name_of({key: value}, key) for value in listed]

    def numbers(self, key: str, size: int, *, within: Any = None) -> list[float] | None:
        """Return a list of ``size`` numbers, or None."""
        listed: list[float] | None = self.get(key, "a list", within=within, null=True)
        plain = listed is None or [type(value) in (int, float) for value in listed] == [True] * size
        if not plain:
            self._refuse(f"expected {size} numbers at {key}, found {cut(repr(listed))}")
        return listed

    @property
    def unseen(self) -> list[str]:
        """Keys or columns that hold something and that nothing here checks."""
        if self.is_table:
            rows = self.content["rows"]
            return [name for name in UNSEEN if any(row.get(name) for row in rows)]
        return list(dict.fromkeys(place for place, _ in unseen(self.content, SCHEMAS[self.command])))

    @property
    def figures(self) -> list[str]:
        """Those of them that the answer rests on: no sentences, nor whether a time limit ended the search."""
        places = unseen(self.content, SCHEMAS[self.command])
        return [place for place, part in places if part not in (TEXT, [TEXT]) and place != "timed_out"]

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """The reviews of a plan or an assignment; empty for other answers."""
        if self.is_table or self.command not in ("plan", "assign"):
            return set()
        return set(self.rows("reviews", {"reviewer": "a name", "item": "a name"}))

    def expect_schema(self) -> None:
        """Raise on unknown keys, and on values of the wrong kind."""
        wrong = next(misfits(self.content, SCHEMAS[self.command]), None)
        if wrong:
            self._refuse(wrong)

    def _refuse(self, why: str) -> NoReturn:
        message = f"{self.path}: {why}; verify takes what {self.command} printed with --json, or wrote with -o"
        raise InputError(message)


def read_answer(path: str) -> Answer:
    """Return the answer in a file; raise InputError where no command wrote it."""
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
    """Return the answer in a JSON text; ``path`` is its name in messages."""

    def refuse(constant: str) -> NoReturn:
        message = f"{constant} is no number"
        raise ValueError(message)

    try:
        content = json.loads(
            text, parse_constant=refuse, parse_float=_finite, parse_int=_whole, object_pairs_hook=_once
        )
    except (ValueError, RecursionError) as error:
        message = f"{path}: expected one JSON object, found something else ({error})"
        raise InputError(message) from error
    keys = set(content) if isinstance(content, dict) else set()
    command = next((name for name, own in KEYS.items() if own <= keys), None)
    if command is None:
        message = f"{path}: expected what check, plan, assign or calibrate prints with --json, found other keys"
        raise InputError(message)
    answer = Answer(path, command, content)
    answer.expect_schema()
    return answer


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; raise where a key occurs twice, since readers differ in which one counts."""
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
        message = f"the key {cut(repr(twice))} stands twice in one object"
        raise ValueError(message)
    return content


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
    allowed = set[str]().union(*COLUMNS[command])
    strange = next((name for place, name in enumerate(header) if name not in allowed or name in header[:place]), None)
    if strange is not None:
        what = "a second column" if strange in allowed else "a column"
        message = f"{path}: expected the columns that {command} writes with -o, found {what} {quote(strange)}"
        raise InputError(message)
    uneven = next((number for number, row in enumerate(rows, 2) if len(row) != len(header)), None)
    if uneven is not None:
        message = f"{path}, row {uneven}: expected {len(header)} cells, found {len(rows[uneven - 2])}"
        raise InputError(message)
    cells = [dict(zip(header, map(unguarded, row), strict=True)) for row in rows]
    return Answer(path, command, {"rows": cells}, is_table=True)


#: Relative difference allowed between two runs of a command, and differences that are named, not only counted.
AGAIN, NAMED = 1e-6, 5


def compare_again(findings: Findings, answer: Answer, again: Answer | None) -> bool:
    """Compare an answer with a second run of its command; return whether that run was of use.

    A search that a time limit ends may return other, equally good reviews: the second run then checks nothing.
    """
    if again is None or answer.pairs != again.pairs:
        words = "prints no answer" if again is None else "prints other reviews"
        findings.not_checked(
            f"run again, {answer.command} {words}, which checks nothing", decisive=bool(answer.figures)
        )
        return False
    differences = list(_differences(answer.content, again.content))
    for place, claimed, printed in differences[:NAMED]:
        words = f"{place}: says {cut(shown(claimed))}, and a second run of {answer.command} says {cut(shown(printed))}"
        findings.not_checked(words, decisive=True)
    if more := len(differences[NAMED:]):
        findings.not_checked(f"run again, {answer.command} prints other values in {more} more places", decisive=True)
    if not differences:
        findings.check(f"sentences and all other figures: a second run of {answer.command} prints the same")
    return True


def _differences(claimed: Any, printed: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the place and both values wherever two values differ; keys that ``claimed`` lacks are skipped."""
    if isinstance(claimed, dict) and isinstance(printed, dict):
        for key in claimed:
            if place or key != "files":
                yield from _differences(claimed[key], printed.get(key), f"{place}.{key}" if place else key)
    elif isinstance(claimed, list) and isinstance(printed, list) and len(claimed) == len(printed):
        for number, (one, other) in enumerate(zip(claimed, printed, strict=True)):
            yield from _differences(one, other, f"{place}[{number}]")
    elif not is_same(claimed, printed, AGAIN):
        yield place, claimed, printed


def whole_in(path: str, row: int, cell: str) -> int | None:
    """Return the whole number of a cell, None where it is empty."""
    value = number_in(path, row, cell)
    if value is not None and not value.is_integer():
        message = f"{path}, row {row}: expected a whole number, found {quote(cell)}"
        raise InputError(message)
    return None if value is None else int(value)


def number_in(path: str, row: int, cell: str) -> float | None:
    """Return the finite number of a cell, None where it is empty."""
    try:
        value = float(cell) if cell else None
    except ValueError:
        value = math.nan
    if value is not None and not math.isfinite(value):
        message = f"{path}, row {row}: expected a number, found {quote(cell)}"
        raise InputError(message)
    return value


#: Digits of a SHA-256 that messages show.
DIGITS = 12


def verify_files(
    findings: Findings, answer: Answer, files: Sequence[Mapping[str, Any]], arguments: Collection[str]
) -> None:
    """Compare the files that an answer names with those read to verify it.

    An answer may be true of another file than it was made from, so a file of other bytes refutes nothing: it leaves
    the answer undecided. ``files`` are those that were read, as answers list them; ``arguments`` those of verify, file
    names among them. CSV, and JSON of earlier versions, names no files.
    """
    entries = answer.content.get("files")
    if entries is None:
        findings.not_checked("that it was made from these files: it names none")
        return
    names = answer.rows("files", {"file": "a text", "sha256": "a text"})
    digests, here = {digest for _, digest in names}, {file["sha256"] for file in files}
    changed = {_base(file["file"]) for file in files if file["sha256"] not in digests}
    for file in files:
        _compare(findings, file, entries)
    for name in dict.fromkeys(_base(name) for name, digest in names if digest not in here):
        if name in changed:
            continue
        if any(_base(word) == name for word in arguments):
            findings.not_checked(f"{name}: read for the answer, not checked here")
        else:
            findings.not_checked(f"{name}: read for the answer, but not passed to verify", decisive=True)
    findings.check("files: the bytes of those that were read here, and which of their rows count")


def _compare(findings: Findings, file: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> None:
    """Compare a file with the entry of the answer that has its bytes."""
    name, digest = file["file"], file["sha256"]
    identical = [one for one in entries if one["sha256"] == digest]
    namesakes = [one for one in entries if _base(one["file"]) == _base(name)]
    if not identical and namesakes:
        mine, other = (one["sha256"][:DIGITS] for one in (file, namesakes[0]))
        why = f"SHA-256 {other}..., here {mine}..."
        findings.not_checked(f"{name}: the answer was made from a file of other bytes ({why})", decisive=True)
    elif not identical:
        findings.not_checked(f"{name}: not among the files that the answer was made from", decisive=True)
    elif file not in identical:
        # The same bytes read in the same way have the same rows, whatever the file is called.
        entry = next((one for one in identical if one in namesakes), identical[0])
        for key in ("sheets", "rows", "scored", "left_out"):
            words = f"files: {name}: {key}: says {entry.get(key, 'nothing')}, found {file[key]}"
            findings.expect(key in entry and entry[key] == file[key], words)
        if entry.get("options") != file.get("options"):
            findings.not_checked(f"{name}: other options of it were used where the answer was made", decisive=True)
        if entry not in namesakes:
            findings.not_checked(f"{name}: called {entry['file']} where the answer was made")


def _base(name: str) -> str:
    """Return the name of a file without its folder, table or weight (``folder/FILE#TABLE=WEIGHT``)."""
    return name.replace("\\", "/").rpartition("/")[2].partition("#")[0].partition("=")[0]

"""ANSWER: what a command printed with ``--json``, or the CSV it wrote with ``-o``."""

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


# What a verification found: what does not hold, what was checked, what was taken on trust.


#: Numbers are printed with all their digits, but sums are taken in another order: relative to the larger of the two.
ROUNDING = 1e-9

HOLDS, REFUTED, NOT_REFUTED = "holds", "refuted", "not_refuted"


@dataclass
class Findings:
    """What a verification found, said in sentences.

    Parameters
    ----------
    wrong
        What does not hold, each naming a key or a row of the answer.
    checked
        What was looked at, and would have been found.
    trusted
        What was not, and why.
    undecided
        Those of ``trusted`` on which the answer rests: its ranking, that it is optimal, or that there is none.
    """

    wrong: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """One of ``holds``, ``refuted`` and ``not_refuted``.

        >>> Findings().outcome, Findings(undecided=["the ranking"]).outcome, Findings(wrong=["p1, rank"]).outcome
        ('holds', 'not_refuted', 'refuted')
        """
        return REFUTED if self.wrong else NOT_REFUTED if self.undecided else HOLDS

    def expect(self, found: bool, wrong: str) -> bool:
        """Note what is wrong unless it was found so; returns whether it was."""
        if not found:
            self.wrong.append(wrong)
        return found

    def same(self, key: str, said: Any, found: Any) -> bool:
        """Compare what a key of the answer says with what was found."""
        return self.expect(is_same(said, found), f"{key}: says {shown(said)}, found {shown(found)}")

    def same_rows(self, key: str, said: Iterable[Any], found: Iterable[Any]) -> bool:
        """Compare rows whose order says nothing; names the first that only one side has."""
        left, right = list(said), list(found)
        extra, missing = _without(left, right), _without(right, left)
        if extra:
            self.wrong.append(f"{key}: says {shown(extra[0])}, which was not found")
        if missing:
            self.wrong.append(f"{key}: lacks {shown(missing[0])}")
        return not (extra or missing)

    def check(self, words: str) -> None:
        """Note what was looked at."""
        self.checked.append(words)

    def trust(self, words: str, *, decisive: bool = False) -> None:
        """Note what was not, and whether the answer rests on it."""
        self.trusted.append(words)
        self.undecided += [words] if decisive else []

    def to_dict(self) -> dict[str, Any]:
        """Return it as the command's ``--json`` prints it."""
        return {"outcome": self.outcome, "holds": self.outcome == HOLDS, **vars(self)}


def is_same(said: Any, found: Any, rounding: float = ROUNDING) -> bool:
    """Whether two values are the same, numbers up to rounding.

    >>> is_same(0.1 + 0.2, 0.3), is_same(None, 0.0), is_same(True, 1)
    (True, False, False)
    """
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (said, found)]
    if all(numbers):
        return math.isclose(said, found, rel_tol=rounding, abs_tol=rounding * 1e-3)
    return type(said) is type(found) and bool(said == found)


def shown(value: Any) -> str:
    """Return a value as a message has it.

    >>> shown(None), shown(("ann", "p1")), shown(0.30000000000000004)
    ('null', 'ann, p1', '0.3')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple | list):
        return ", ".join(map(shown, value)) or "nothing"
    return f"{value:.12g}" if isinstance(value, float) else f"{value}"


def _without(rows: list[Any], others: list[Any]) -> list[Any]:
    """Return the rows that others lack, each as often as it is missing."""
    left: dict[Any, int] = {}
    for row in others:
        left[row] = left.get(row, 0) + 1
    found = []
    for row in rows:
        left[row] = left.get(row, 0) - 1
        if left[row] < 0:
            found.append(row)
    return found


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


# The files that an answer says it was made from, beside those that were given to verify it.


#: Digits of SHA-256 that a message has.
DIGITS = 12


def verify_files(findings: Findings, answer: Answer, read: Sequence[Mapping[str, Any]], words: Collection[str]) -> None:
    """Compare the files that an answer names with those that were read to verify it.

    An answer may be true of another file than it was made from. So a file of other bytes refutes nothing, but leaves
    open what the answer says of its own.

    Parameters
    ----------
    findings
        Where it is noted.
    answer
        The answer; a CSV, and the JSON of earlier versions, names no files.
    read
        What was read, as answers have it under ``files``.
    words
        What was given to verify it, file names among other words.
    """
    said = answer.found.get("files")
    if said is None:
        findings.trust("that it was made from these files: it does not say from which")
        return
    names = answer.rows("files", {"file": "a text", "sha256": "a text"})
    digests, here = {digest for _, digest in names}, {file["sha256"] for file in read}
    changed = {_base(file["file"]) for file in read if file["sha256"] not in digests}
    for file in read:
        _compare(findings, file, said)
    for name in dict.fromkeys(_base(name) for name, digest in names if digest not in here):
        if name in changed:
            continue
        if any(_base(word) == name for word in words):
            findings.trust(f"{name}: read for the answer, and not looked at here")
        else:
            findings.trust(f"{name}: read for the answer, and not given here", decisive=True)
    findings.check("files: the bytes of those that were read here, and which of their rows count")


def _compare(findings: Findings, file: Mapping[str, Any], said: Sequence[Mapping[str, Any]]) -> None:
    """Compare a file with what the answer says of the one of its bytes."""
    name, digest = file["file"], file["sha256"]
    same = [one for one in said if one["sha256"] == digest]
    alike = [one for one in said if _base(one["file"]) == _base(name)]
    if not same and alike:
        found, other = (one["sha256"][:DIGITS] for one in (file, alike[0]))
        why = f"SHA-256 {other}..., here {found}..."
        findings.trust(f"{name}: the answer was made from a file of other bytes ({why})", decisive=True)
    elif not same:
        findings.trust(f"{name}: not among the files that the answer was made from", decisive=True)
    elif file not in same:
        # The same bytes read in the same way have the same rows, whatever the file is called.
        best = next((one for one in same if one in alike), same[0])
        for key in ("sheets", "rows", "scored", "left_out"):
            words = f"files: {name}: {key}: says {best.get(key, 'nothing')}, found {file[key]}"
            findings.expect(key in best and best[key] == file[key], words)
        if best.get("options") != file.get("options"):
            findings.trust(f"{name}: other options of it were used where the answer was made", decisive=True)
        if best not in alike:
            findings.trust(f"{name}: called {best['file']} where the answer was made")


def _base(name: str) -> str:
    """Return the name of a file without its folder, without what is meant of it or how it is weighed."""
    return name.replace("\\", "/").rpartition("/")[2].partition("#")[0].partition("=")[0]

"""Answers (what a command printed with ``--json``, or the CSV it wrote with ``-o``), and the findings on them.

Answers are read strictly: unknown keys, values of another kind and repeated keys are errors. A second run of the
command, and the hashes of the files, serve where nothing here recomputes a value.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import unguarded
from reviewgraph.formats.files import cut, quote
from reviewgraph.formats.opening import written_rows
from reviewgraph.verify.schemas import COLUMNS, KEYS, NUMBER, SCHEMAS, TEXT, UNSEEN, WHOLE, misfits, unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence


#: Relative difference up to which numbers are equal: they are printed in full, but summed here in another order.
ROUNDING = 1e-9

HOLDS = "holds"
REFUTED = "refuted"
NOT_REFUTED = "not_refuted"


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


@dataclass(frozen=True)
class Answer:
    """The answer of a command: what was printed with ``--json``, or a CSV, its rows under ``rows`` of ``content``.

    Its keys, columns and kinds of values are those of its schema.
    """

    path: str
    command: str
    content: Mapping[str, Any]
    is_table: bool = False

    def get(self, key: str, *, within: Any = None, null: bool = False) -> Any:
        """Return the value of a key.

        Dots in the key mean nesting; ``within`` is the object to look in, by default the answer itself; ``null`` allows
        null. Raises InputError if the key is missing.
        """
        value = self.content if within is None else within
        for part in key.split("."):
            if not isinstance(value, dict) or part not in value:
                self.refuse(f"expected a key {key}, found none")
            value = value[part]
        if value is None and not null:
            self.refuse(f"expected a value at {key}, found null")
        return value

    def rows(self, key: str, columns: str, *, within: Any = None) -> list[Any]:
        """Return some keys of a list of objects, as tuples if there are several.

        A key that ends with ``?`` may be null; reviewers and items are text.
        """
        names = [(name.rstrip("?"), name.endswith("?")) for name in columns.split()]
        rows = [
            [
                str(value) if name in ("reviewer", "item") else value
                for name, null in names
                for value in (self.get(name, within=row, null=null),)
            ]
            for row in self.get(key, within=within)
        ]
        return [tuple(row) if len(names) > 1 else row[0] for row in rows]

    def numbers(self, key: str, size: int, *, within: Any) -> list[float]:
        """Return a list of ``size`` numbers."""
        numbers: list[float] = self.get(key, within=within)
        if len(numbers) != size:
            self.refuse(f"expected {size} numbers at {key}, found {cut(repr(numbers))}")
        return numbers

    def names(self, key: str) -> list[str]:
        """Return a list of reviewers or items as text."""
        return list(map(str, self.get(key)))

    @property
    def unseen(self) -> list[str]:
        """Keys or columns that hold something and that nothing here checks."""
        if self.is_table:
            rows = self.content["rows"]
            return [name for name in UNSEEN if any(row.get(name) not in (None, "") for row in rows)]
        return list(dict.fromkeys(place for place, _ in unseen(self.content, SCHEMAS[self.command])))

    @property
    def figures(self) -> list[str]:
        """Those of them that the answer rests on: no sentences, nor whether a time limit ended the search."""
        places = unseen(self.content, SCHEMAS[self.command])
        return [place for place, part in places if part not in (TEXT, [TEXT]) and place != "timed_out"]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The reviews of a plan or an assignment; empty for other answers."""
        if self.command not in ("plan", "assign"):
            return []
        return self.rows("rows" if self.is_table else "reviews", "reviewer item")

    def refuse(self, why: str) -> NoReturn:
        """Raise: no command wrote this."""
        message = f"{self.path}: {why}; verify takes what {self.command} printed with --json, or wrote with -o"
        raise InputError(message)


@dataclass
class Findings:
    """Outcome of the verification of an answer, in sentences.

    ``wrong`` lists what does not hold, by key or row of the answer; ``checked`` what was recomputed; ``trusted`` what
    was not checked, and why; ``undecided`` those of ``trusted`` on which the answer rests, as its ranking or
    optimality. ``by_command`` lists what only the command can compute: :func:`compare_again` checks it, and without a
    second run :meth:`leave_unconfirmed` makes it undecided.
    """

    answer: Answer
    wrong: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    by_command: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """``holds``, ``refuted`` or ``not_refuted``.

        >>> answer = Answer("check.json", "check", {})
        >>> Findings(answer).outcome, Findings(answer, undecided=["the ranking"]).outcome
        ('holds', 'not_refuted')
        """
        return REFUTED if self.wrong else NOT_REFUTED if self.undecided or self.by_command else HOLDS

    def expect(self, holds: bool, wrong: str) -> bool:
        """Note what is wrong unless a condition holds; return the condition."""
        if not holds:
            self.wrong.append(wrong)
        return holds

    def same(self, key: str, claimed: Any, actual: Any) -> bool:
        """Compare a claim with what was recomputed."""
        return self._agree(is_same(claimed, actual), key, claimed, actual)

    def near(self, key: str, claimed: Any, actual: float | None, slack: float) -> bool:
        """Compare a number, up to a difference, with the recomputed one; null equals only null."""
        both = claimed is not None and actual is not None
        agree = abs(claimed - actual) <= slack if both else claimed is actual
        return self._agree(agree, key, claimed, actual)

    def _agree(self, agree: bool, key: str, claimed: Any, actual: Any) -> bool:
        return self.expect(bool(agree), f"{key}: claims {shown(claimed)}; recomputed {shown(actual)}")

    def value(self, key: str, actual: Any) -> bool:
        """Compare the value of a key of the answer, dots meaning nesting, with the recomputed one."""
        return self.same(key, self.answer.get(key, null=True), actual)

    def present(self, key: str, expected: bool) -> bool:
        """Whether a key is there, and not null, though it may be, as it should be; return whether it is and should."""
        there = self.answer.get(key, null=True) is not None
        return self.same(key, there, expected) and there

    def rows(self, key: str, columns: str, actual: Iterable[Any]) -> bool:
        """Compare some keys of the rows of a list, in any order, with the recomputed ones."""
        return self.same_rows(key, self.answer.rows(key, columns), actual)

    def same_rows(self, key: str, claimed: Iterable[Any], actual: Iterable[Any]) -> bool:
        """Compare rows in any order; name the first that only one side has."""
        rows = Counter(iter(claimed))
        others = Counter(iter(actual))
        for row in list(rows - others)[:1]:
            self.wrong.append(f"{key}: claims {shown(row)}, which is not recomputed")
        for row in list(others - rows)[:1]:
            self.wrong.append(f"{key}: lacks {shown(row)}")
        return rows == others

    def check(self, words: str) -> None:
        """Note what was checked."""
        self.checked.append(words)

    def not_checked(self, words: str, *, decisive: bool = False) -> None:
        """Note what was not checked, and whether the answer rests on it."""
        self.trusted.append(words)
        self.undecided += [words] if decisive else []

    def leave_unconfirmed(self) -> None:
        """Note that no second run checks what only the command can compute."""
        for words in self.by_command:
            why = f"computed by {self.answer.command} alone, and not confirmed by a second run"
            self.not_checked(f"{words}: {why}", decisive=True)
        self.by_command.clear()

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as ``verify --json`` prints them."""
        lists = {name: value for name, value in vars(self).items() if name not in ("answer", "by_command")}
        return {"outcome": self.outcome, "holds": self.outcome == HOLDS, **lists}


def read_answer(path: str) -> Answer:
    """Return the answer in a file; raise InputError where no command wrote it."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        rows = written_rows(path, data)
        text = "" if rows else data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        message = f"{path}: expected an answer in UTF-8; it cannot be read ({why})"
        raise InputError(message) from error
    if text.lstrip()[:1] in ("{", "["):
        return from_json(path, text)
    try:
        lines = csv.reader(io.StringIO(text), strict=True)
        return _from_rows(path, rows or [list(map(unguarded, line)) for line in lines] or [[]])
    except csv.Error as error:
        message = f"{path}: expected CSV, found something else ({error})"
        raise InputError(message) from error


def from_json(path: str, text: str) -> Answer:
    """Return the answer in a JSON text; ``path`` is its name in messages."""

    # Readers differ in which of two equal keys counts, and in what they make of infinite numbers.
    def refuse(why: str) -> NoReturn:
        raise ValueError(why)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            twice = next(key for place, (key, _) in enumerate(pairs) if key in dict(pairs[:place]))
            refuse(f"the key {cut(repr(twice))} stands twice in one object")
        return content

    def finite(text: str) -> float:
        value = float(text)
        return value if math.isfinite(value) else refuse(f"{cut(text)} is too large for a number")

    try:
        content = json.loads(
            text,
            parse_constant=lambda constant: refuse(f"{constant} is no number"),
            parse_float=finite,
            parse_int=lambda text: int(text) if finite(text) is not None else 0,
            object_pairs_hook=once,
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
    for wrong in misfits(content, SCHEMAS[command]):
        answer.refuse(wrong)
    return answer


def _from_rows(path: str, table: list[list[str]]) -> Answer:
    # The columns tell the command; others are refused, and so are rows of another length.
    header, *rows = table
    command = next((name for name, (own, _) in COLUMNS.items() if own <= set(header)), None)
    if command is None:
        message = (
            f"{path}: expected the CSV that check, plan, assign or calibrate writes with -o, found the columns "
            f"{','.join(header)[:80]!r}; uploads for other systems cannot be verified"
        )
        raise InputError(message)
    own, kinds = COLUMNS[command]
    for place, name in enumerate(header):
        if name not in own | kinds.keys() or name in header[:place]:
            what = "a second column" if name in header[:place] else "a column"
            message = f"{path}: expected the columns that {command} writes with -o, found {what} {quote(name)}"
            raise InputError(message)
    cells = []
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            message = f"{path}, row {number}: expected {len(header)} cells, found {len(row)}"
            raise InputError(message)
        named = zip(header, row, strict=True)
        cells.append({name: _cell(f"{path}, row {number}", cell, kinds.get(name, TEXT)) for name, cell in named})
    return Answer(path, command, {"rows": cells}, is_table=True)


def _cell(place: str, cell: str, kind: str) -> Any:
    """Return the text or the finite number of a cell; None where a number is empty."""
    if kind not in (NUMBER, WHOLE):
        return cell
    try:
        value = float(cell) if cell else None
    except ValueError:
        value = math.nan
    if value is not None and not (math.isfinite(value) and (kind == NUMBER or value.is_integer())):
        message = f"{place}: expected {kind}, found {quote(cell)}"
        raise InputError(message)
    return value if value is None or kind == NUMBER else int(value)


#: Relative difference allowed between two runs of a command, and differences that are named, not only counted.
AGAIN = 1e-6
NAMED = 5
#: What stands for the value of a key that is missing.
LACKS = "nothing"


def compare_again(findings: Findings, answer: Answer, again: Answer | None) -> bool:
    """Compare an answer with a second run of its command; return whether that run was of use.

    A search that a time limit ends may return other, equally good reviews: the second run then checks nothing. What
    only the command can compute is checked by it alone, and the findings say so.
    """
    if again is None or set(answer.pairs) != set(again.pairs):
        words = "prints no answer" if again is None else "prints other reviews"
        findings.not_checked(
            f"run again, {answer.command} {words}, which checks nothing", decisive=bool(answer.figures)
        )
        return False
    differences = list(_differences(answer.content, again.content))
    for place, claimed, printed in differences[:NAMED]:
        words = f"{place}: claims {cut(shown(claimed))}; a second run of {answer.command} prints {cut(shown(printed))}"
        findings.not_checked(words, decisive=True)
    if more := len(differences[NAMED:]):
        findings.not_checked(f"run again, {answer.command} prints other values in {more} more places", decisive=True)
    if not differences:
        for words in findings.by_command:
            only = f"only by a second run of {answer.command}, which prints the same"
            findings.check(f"{words}: not by independent code, {only}")
        findings.check(f"sentences and all other figures: a second run of {answer.command} prints the same")
    findings.by_command.clear()
    return True


def _differences(claimed: Any, printed: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the place and both values wherever two values differ."""
    if isinstance(claimed, dict) and isinstance(printed, dict):
        for key in dict.fromkeys([*claimed, *printed]):
            if place or key != "files":
                values = claimed.get(key, LACKS), printed.get(key, LACKS)
                yield from _differences(*values, f"{place}.{key}" if place else key)
    elif isinstance(claimed, list) and isinstance(printed, list) and len(claimed) == len(printed):
        for number, (one, other) in enumerate(zip(claimed, printed, strict=True)):
            yield from _differences(one, other, f"{place}[{number}]")
    elif not is_same(claimed, printed, AGAIN):
        yield place, claimed, printed


#: Digits of a SHA-256 that messages show.
DIGITS = 12


def verify_files(
    findings: Findings, answer: Answer, files: Sequence[Mapping[str, Any]], arguments: Collection[str]
) -> None:
    """Compare the files that an answer names with those read to verify it: each entry with one file.

    An answer may be true of another file than it was made from, so a file of other bytes refutes nothing: it leaves
    the answer undecided. ``files`` are those that were read, as answers list them; ``arguments`` those of verify, file
    names among them. CSV names no files.
    """
    entries = list(answer.content.get("files", ()))
    if not entries:
        findings.not_checked("that it was made from these files: it names none")
        return
    for file, entry in _paired(files, entries):
        _compare(findings, file, entry)
        if entry is not None:
            entries = [other for other in entries if other is not entry]
    # Files that only the answer names.
    read = {(_base(file["file"]), file["sha256"]) for file in files}
    elsewhere = {_base(word) for word in arguments} - {name for name, _ in read}
    for entry in entries:
        name = _base(entry["file"])
        if (name, entry["sha256"]) in read:
            findings.expect(False, f"files: {name}: listed more often than it was read")
        elif name in elsewhere:
            findings.not_checked(f"{name}: read for the answer, not checked here")
        else:
            findings.not_checked(f"{name}: read for the answer, but not passed to verify", decisive=True)
    findings.check("files: the bytes of those that were read here, and which of their rows count")


def _paired(
    files: Sequence[Mapping[str, Any]], entries: Sequence[Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any], Mapping[str, Any] | None]]:
    """Return each file with the entry of its path, else of its name and bytes, its name, or its bytes; or None."""
    likenesses: tuple[Callable[[Mapping[str, Any]], Any], ...] = (
        lambda file: file["file"],
        lambda file: (_base(file["file"]), file["sha256"]),
        lambda file: _base(file["file"]),
        lambda file: file["sha256"],
    )
    entry_of: dict[int, Mapping[str, Any]] = {}
    remaining = list(entries)
    for likeness in likenesses:
        for number, file in enumerate(files):
            alike = [entry for entry in remaining if likeness(entry) == likeness(file)]
            if number not in entry_of and alike:
                entry_of[number] = alike[0]
                remaining = [entry for entry in remaining if entry is not alike[0]]
    return [(file, entry_of.get(number)) for number, file in enumerate(files)]


def _compare(findings: Findings, file: Mapping[str, Any], entry: Mapping[str, Any] | None) -> None:
    """Compare a file with its entry in the answer."""
    name = file["file"]
    if entry is None:
        findings.not_checked(f"{name}: not among the files that the answer was made from", decisive=True)
        return
    if entry["sha256"] != file["sha256"]:
        here = file["sha256"][:DIGITS]
        there = entry["sha256"][:DIGITS]
        why = f"SHA-256 {there}..., here {here}..."
        findings.not_checked(f"{name}: the answer was made from a file of other bytes ({why})", decisive=True)
        return
    # The same bytes read in the same way have the same rows, whatever the file is called.
    for key in ("sheets", "rows", "scored", "left_out"):
        words = f"files: {name}: {key}: claims {entry[key]}; recomputed {file[key]}"
        findings.expect(entry[key] == file[key], words)
    if entry.get("options") != file.get("options"):
        findings.not_checked(f"{name}: other options of it were used where the answer was made", decisive=True)
    if _base(entry["file"]) != _base(name):
        findings.not_checked(f"{name}: called {entry['file']} where the answer was made")


def _base(name: str) -> str:
    """Return the name of a file without its folder, table or weight (``folder/FILE#TABLE=WEIGHT``)."""
    return name.replace("\\", "/").rpartition("/")[2].partition("#")[0].partition("=")[0]

"""Answers (what a command printed with ``--json``), and the findings on them.

What nothing here recomputes is compared with a second run of the command.
"""

from __future__ import annotations

import functools
import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from reviewgraph._base.errors import InputError, ReviewGraphError
from reviewgraph.formats.files import cut

F = TypeVar("F", bound="Callable[..., Any]")

#: Keys by which the JSON of each command is recognised.
KEYS = {
    "check": {"doubly_connected", "degrees_of_freedom"},
    "plan": {"merges", "bounds", "lower_bound"},
    "assign": {"affinity_unconstrained", "reviews"},
    "calibrate": {"method", "items"},
}
#: Relative difference up to which numbers are equal: they are printed in full, but summed here in another order.
ROUNDING = 1e-9


def is_same(claimed: Any, actual: Any, rounding: float = ROUNDING) -> bool:
    """Whether two values are equal, numbers up to rounding.

    >>> is_same(0.1 + 0.2, 0.3), is_same(None, 0.0), is_same(True, 1)
    (True, False, False)
    """
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in (claimed, actual)):
        return math.isclose(claimed, actual, rel_tol=rounding, abs_tol=rounding * 1e-3)
    return type(claimed) is type(actual) and bool(claimed == actual)


#: Members of a set that messages show.
SHOWN = 5


def shown(value: Any) -> str:
    """Return a value as messages show it.

    >>> shown(None), shown(("ann", "p1")), shown(0.30000000000000004)
    ('null', 'ann, p1', '0.3')
    >>> shown(frozenset({"p10", "p9"})), shown(frozenset("abcdefg"))
    ('p10, p9', 'a, b, c, d, e, ... (7 in all)')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, frozenset):
        names = sorted(map(str, value))
        more = f", ... ({len(names)} in all)" if len(names) > SHOWN else ""
        return f"{', '.join(names[:SHOWN])}{more}"
    if isinstance(value, tuple | list):
        return ", ".join(map(shown, value)) or "nothing"
    return f"{value:.12g}" if isinstance(value, float) else f"{value}"


@dataclass(frozen=True)
class Answer:
    """The answer of a command."""

    path: str
    command: str
    content: Mapping[str, Any]

    def get(self, key: str) -> Any:
        """Return the value of a key, dots meaning nesting; None if it is missing or null."""
        value: Any = self.content
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def rows(self, key: str, columns: str) -> list[tuple[Any, ...]]:
        """Return some keys of a list of objects as tuples; reviewers and items are text."""
        return [
            tuple(str(entry[name]) if name in ("reviewer", "item") else entry.get(name) for name in columns.split())
            for entry in self.get(key) or ()
        ]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The reviews of a plan or an assignment; empty for other answers."""
        if self.command not in ("plan", "assign"):
            return []
        return [(reviewer, item) for reviewer, item in self.rows("reviews", "reviewer item")]


@dataclass
class Findings:
    """Outcome of the verification of an answer, in sentences.

    ``wrong`` lists what does not hold, by key or row of the answer; ``checked`` what was recomputed; ``trusted`` what
    was not checked, and why; ``undecided`` those of ``trusted`` on which the answer rests, as its optimality.
    """

    answer: Answer
    wrong: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """``holds``, ``refuted`` or ``not_refuted``.

        >>> answer = Answer("check.json", "check", {})
        >>> Findings(answer).outcome, Findings(answer, undecided=["the ranking"]).outcome
        ('holds', 'not_refuted')
        """
        if self.wrong:
            return "refuted"
        return "not_refuted" if self.undecided else "holds"

    def expect(self, holds: bool, wrong: str) -> bool:
        """Note what is wrong unless a condition holds; return the condition."""
        if not holds:
            self.wrong.append(wrong)
        return holds

    def same(self, key: str, claimed: Any, actual: Any, slack: float | None = None) -> bool:
        """Compare a claim with what was recomputed: numbers up to rounding, or up to an absolute ``slack``."""
        if slack is not None and None not in (claimed, actual):
            agree = bool(abs(claimed - actual) <= slack)
        else:
            agree = is_same(claimed, actual)
        return self.expect(agree, f"{key}: claims {cut(shown(claimed))}; recomputed {shown(actual)}")

    def value(self, key: str, actual: Any, slack: float | None = None) -> bool:
        """Compare the value of a key of the answer, dots meaning nesting, with the recomputed one."""
        return self.same(key, self.answer.get(key), actual, slack)

    def same_rows(self, key: str, claimed: Iterable[Any], actual: Iterable[Any]) -> bool:
        """Compare rows in any order; name the first that only one side has."""
        claimed_rows = Counter(iter(claimed))
        actual_rows = Counter(iter(actual))
        for row in list(claimed_rows - actual_rows)[:1]:
            self.wrong.append(f"{key}: claims {shown(row)}, which is not recomputed")
        for row in list(actual_rows - claimed_rows)[:1]:
            self.wrong.append(f"{key}: lacks {shown(row)}")
        return claimed_rows == actual_rows

    def check(self, words: str) -> None:
        """Note what was checked, once."""
        if words not in self.checked:
            self.checked.append(words)

    def not_checked(self, words: str, *, decisive: bool = True) -> None:
        """Note what was not checked, and whether the answer rests on it."""
        self.trusted.append(words)
        if decisive:
            self.undecided.append(words)

    def to_dict(self) -> dict[str, Any]:
        lists = {name: value for name, value in vars(self).items() if name != "answer"}
        return {"outcome": self.outcome, "holds": self.outcome == "holds", **lists}


def expecting_keys(verifier: F) -> F:
    """Make a verifier of answers raise InputError where keys are missing, or of another kind than commands print."""

    @functools.wraps(verifier)
    def run(subject: Answer | Findings, *others: Any) -> Any:
        try:
            return verifier(subject, *others)
        except ReviewGraphError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            answer = subject.answer if isinstance(subject, Findings) else subject
            why = f"{type(error).__name__}: {cut(str(error))}"
            message = f"{answer.path}: expected the keys and values that {answer.command} prints, found others ({why})"
            raise InputError(message) from error

    return run  # type: ignore[return-value]


def read_answer(path: str) -> Answer:
    """Return the answer in a file; raise InputError where no command printed it."""
    try:
        text = Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: expected an answer in UTF-8; it cannot be read ({why})") from error
    if text.lstrip()[:1] not in ("{", "["):
        message = f"{path}: expected what a command printed with --json; check a table with `reviewgraph check {path}`"
        raise InputError(message)
    return from_json(path, text)


def from_json(path: str, text: str) -> Answer:
    """Return the answer in a JSON text; ``path`` is its name in messages."""
    try:
        content = json.loads(text, parse_constant=_finite, parse_float=_finite, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        message = f"{path}: expected what a command printed with --json, found something else ({error})"
        raise InputError(message) from error
    keys = set(content) if isinstance(content, dict) else set()
    command = next((name for name, required in KEYS.items() if required <= keys), None)
    if command is None:
        raise InputError(f"{path}: expected what check, plan, assign or calibrate prints with --json, found other keys")
    return Answer(path, command, content)


# Readers differ in which of two equal keys counts, and in what they make of infinite numbers.


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for key, count in Counter(key for key, _ in pairs).items():
        if count > 1:
            raise ValueError(f"the key {cut(repr(key))} stands twice in one object")
    return dict(pairs)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{cut(text)} is no finite number")
    return value


# A second run of the command.

#: Relative difference allowed between two runs of a command, and differences that are named, not only counted.
AGAIN = 1e-6
NAMED = 5


@expecting_keys
def compare_again(findings: Findings, again: Answer | None) -> None:
    """Compare an answer with a second run of its command, value by value, files aside."""
    answer = findings.answer
    if again is None or set(answer.pairs) != set(again.pairs):
        words = "prints no answer" if again is None else "prints other reviews"
        findings.not_checked(f"run again, {answer.command} {words}, so figures of it alone are not confirmed")
        return
    differences = list(_differences(answer.content, again.content))
    for place, claimed, printed in differences[:NAMED]:
        words = f"{place}: claims {cut(shown(claimed))}; a second run of {answer.command} prints {cut(shown(printed))}"
        findings.not_checked(words)
    if more := len(differences[NAMED:]):
        findings.not_checked(f"run again, {answer.command} prints other values in {more} more places")
    if not differences:
        words = f"not by independent code, only by a second run of {answer.command}, which prints the same"
        findings.check(f"all other figures and sentences: {words}")


def _differences(claimed: Any, printed: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the place and both values wherever two values differ; "nothing" is the value of a missing key.

    A result saved from Python has labels that are numbers, and lacks keys that a command prints empty.
    """
    if isinstance(claimed, dict) and isinstance(printed, dict):
        empty = {key for key, value in printed.items() if key not in claimed and value in (None, [], {})}
        for key in dict.fromkeys([*claimed, *printed]):
            if key not in empty and (place or key != "files"):
                inside = f"{place}.{key}" if place else key
                yield from _differences(claimed.get(key, "nothing"), printed.get(key, "nothing"), inside)
    elif isinstance(claimed, list) and isinstance(printed, list) and len(claimed) == len(printed):
        for number, (claimed_part, printed_part) in enumerate(zip(claimed, printed, strict=True)):
            yield from _differences(claimed_part, printed_part, f"{place}[{number}]")
    elif not is_same(claimed, printed, AGAIN) and not (isinstance(claimed, int) and str(claimed) == printed):
        yield place, claimed, printed


# Files.


@expecting_keys
def verify_files(findings: Findings, files: Sequence[Mapping[str, Any]], arguments: Collection[str]) -> None:
    """Compare the files that an answer names with those read to verify it: each entry with one file.

    An answer may be true of another file than it was made from, so a file of other bytes refutes nothing: it leaves
    the answer undecided. ``files`` are those that were read, as answers list them; ``arguments`` those of verify, file
    names among them.
    """
    remaining = list(findings.answer.get("files") or ())
    if not remaining:
        findings.not_checked("that it was made from these files: it names none", decisive=False)
        return
    for file in files:
        name = file["file"]
        # The entry of the same path, else of the same name, else of the same bytes.
        marks = [
            (entry["file"] == name, _base(entry["file"]) == _base(name), entry["sha256"] == file["sha256"])
            for entry in remaining
        ]
        best = max(marks, default=(False, False, False))
        if not any(best):
            findings.not_checked(f"{name}: not among the files that the answer was made from")
            continue
        entry = remaining.pop(marks.index(best))
        _, is_named_so, is_same_file = best
        if not is_same_file:
            why = f"SHA-256 {entry['sha256'][:12]}..., here {file['sha256'][:12]}..."
            findings.not_checked(f"{name}: the answer was made from a file of other bytes ({why})")
            continue
        # The same bytes read in the same way have the same rows, whatever the file is called.
        for key in ("sheets", "rows", "scored", "left_out"):
            words = f"files: {name}: {key}: claims {entry[key]}; recomputed {file[key]}"
            findings.expect(entry[key] == file[key], words)
        if not is_named_so:
            findings.not_checked(f"{name}: called {entry['file']} where the answer was made", decisive=False)
    # Files that only the answer names.
    read = {(_base(file["file"]), file["sha256"]) for file in files}
    passed = {_base(word) for word in arguments} - {name for name, _ in read}
    for entry in remaining:
        name = _base(entry["file"])
        if (name, entry["sha256"]) in read:
            findings.expect(False, f"files: {name}: listed more often than it was read")
        elif name in passed:
            findings.not_checked(f"{name}: read for the answer, not checked here", decisive=False)
        else:
            findings.not_checked(f"{name}: read for the answer, but not passed to verify")
    findings.check("files: the bytes of those that were read here, and which of their rows count")


def _base(name: str) -> str:
    """Return the name of a file without its folder, table or weight (``folder/FILE#TABLE=WEIGHT``)."""
    return name.replace("\\", "/").rpartition("/")[2].partition("#")[0].partition("=")[0]

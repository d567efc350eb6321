"""Tables whose rows are spelled in eight ways, and what becomes of them.

In each table 15 % of the rows name their reviewer, and in every second one their paper, otherwise than the rest; so do
its conflicts. The command plans for it; :func:`judged` says what is wrong: a review planned that exists or that a
conflict bars, of the people who are meant; a plan other than that of the table as it is meant; labels joined that no
note counts, or not refused where nobody said whether they are one.
"""

import collections
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from click.testing import CliRunner, Result

from reviewgraph._base import natural_key
from reviewgraph.cli import main as command

#: Eight ways to spell a label otherwise that a person does not see, or takes for the same.
WAYS: dict[str, Callable[[str], str]] = {
    "capitals": str.upper,
    "blank before": lambda label: f" {label}",
    "blank behind": lambda label: f"{label} ",
    "no-break blank": lambda label: f"\u00a0{label}",
    "zero width": lambda label: f"{label[:1]}\u200b{label[1:]}",
    "byte order mark": lambda label: f"\ufeff{label}",
    "full width": lambda label: label[:-1] + chr(ord(label[-1]) + 0xFEE0),
    "soft hyphen": lambda label: f"{label[:1]}\u00ad{label[1:]}",
}
JOINED = re.compile(r"([\d,]+) (?:address|label)(?:es|s)? (?:is|are) spelled as before")
HEADER = ("reviewer", "item")

Pair = tuple[str, str]


class Case(NamedTuple):
    """A table as it is meant and as it is written, its conflicts likewise, and who is meant by each spelling."""

    addresses: bool
    pairs: list[Pair]
    barred: list[Pair]
    written: list[Pair]
    conflicts: list[Pair]
    meant: dict[str, str]

    @property
    def joins(self) -> int:
        """Labels that are spelled otherwise than before, file by file."""
        first: dict[tuple[int, str], str] = {}
        told = 0
        for rows in (self.written, self.conflicts):
            for place in range(2):
                alike = collections.defaultdict(set)
                for row in rows:
                    alike[self.meant[row[place]]].add(row[place])
                for label, texts in alike.items():
                    known = first.setdefault((place, label), min(texts, key=natural_key))
                    told += len(texts - {known})
        return told


def drawn(number: int) -> Case:
    """Return a table by its number: of nine reviewers with four of sixteen papers each."""
    rng, mail = np.random.default_rng(number), "@example.org" if number % 2 else ""
    pairs = [(f"r{who}{mail}", f"p{paper}") for who in range(9) for paper in rng.choice(16, 4, replace=False).tolist()]
    one, ways, meant = f"r{number % 9}{mail}", list(WAYS.values()), dict[str, str]()
    barred = [(one, f"p{paper}") for paper in range(16) if (one, f"p{paper}") not in pairs]

    def respelled(row: Pair) -> Pair:
        way = ways[int(rng.integers(len(ways)))] if rng.random() < 0.15 else str
        found = way(row[0]), row[1] if mail else way(row[1])
        meant.update(zip(found, row, strict=True))
        return found

    return Case(bool(mail), pairs, barred, list(map(respelled, pairs)), list(map(respelled, barred)), meant)


def as_csv(rows: Sequence[Pair]) -> bytes:
    """Return rows as text."""
    return "".join(f'"{who}","{paper}"\n' for who, paper in [HEADER, *rows]).encode()


def judged(number: int, folder: Path) -> list[str]:
    """Return what is wrong with the answers for a table, by its number."""
    case = drawn(number)
    names = {name: folder / f"{name}-{number}.csv" for name in ("meant", "barred", "written", "conflicts")}
    for path, rows in zip(names.values(), (case.pairs, case.barred, case.written, case.conflicts), strict=True):
        path.write_bytes(as_csv(rows))
    right = json.loads(_run("plan", names["meant"], "--conflicts", names["barred"], "--json").stdout)
    words = ("plan", names["written"], "--conflicts", names["conflicts"], "--json", "--verbose=notes")
    wrong = []
    if case.joins and not case.addresses:
        refused = _run(*words)
        if refused.exit_code != 2 or "--merge all" not in refused.stderr:
            wrong.append(f"not refused: status {refused.exit_code}")
    told = _run(*words, *(() if case.addresses else ("--merge", "all")))
    if told.exit_code != 0:
        return [*wrong, f"status {told.exit_code}: {told.stderr}"]
    found = json.loads(told.stdout)
    wrong += [f"{key} {found[key]}" for key in ("status", "count", "lower_bound") if found[key] != right[key]]
    wrong += _forbidden(case, [(row["reviewer"], row["item"]) for row in found["reviews"]])
    if _told(told.stderr) != case.joins:
        wrong.append(f"{case.joins} labels are joined, notes count {_told(told.stderr)}")
    return wrong


def _forbidden(case: Case, planned: Sequence[Pair]) -> list[str]:
    meant = {(case.meant[who], case.meant[paper]) for who, paper in planned}
    return [f"exists: {pair}" for pair in meant & {*case.pairs}] + [
        f"barred: {pair}" for pair in meant & {*case.barred}
    ]


def _told(notes: str) -> int:
    return sum(int(count.replace(",", "")) for count in JOINED.findall(notes))


def _run(*words: object) -> Result:
    return CliRunner().invoke(command, [str(word) for word in words])

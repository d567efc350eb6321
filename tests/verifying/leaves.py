"""Change any one value of an answer, and verify it: ``python -m tests.verifying.leaves [--changes 1000]``.

Every leaf of the JSON is a candidate, whatever it says. Changed answers that are said to hold are counted by key.
"""

from __future__ import annotations

import argparse
import copy
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.verifying.wide import WIDE

#: Keys that may say anything: a file may bear another name where its bytes are the same, and that is named.
FREE = {"files[].file"}
#: Values of the same kind that a text may become.
LABELS = ["r0", "r1", "r2", "p0", "p1", "p2"]
KINDS = {
    "status": [
        "optimal",
        "feasible",
        "infeasible",
        "level_missed",
        "best_effort",
        "extended",
        "budget_exhausted",
        "chosen",
    ],
    "kind": [
        "pieces",
        "coverage",
        "degrees of freedom",
        "loads",
        "expansion",
        "flow",
        "parts",
        "groups",
        "cuts",
        "a loss",
    ],
    "level": ["double", "recoverable", "connected", "survives-reviewer", "survives-review"],
}
KINDS["target"] = KINDS["level"]


@dataclass
class Tally:
    """What became of true answers, and of those with one value changed, by key."""

    true: Counter[int] = field(default_factory=Counter)
    refused_true: list[Any] = field(default_factory=list)
    undecided: Counter[str] = field(default_factory=Counter)
    changed: Counter[int] = field(default_factory=Counter)
    held: Counter[str] = field(default_factory=Counter)
    shown: dict[str, Any] = field(default_factory=dict)


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each value that holds no others, and of empty and null ones."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    parts = list(inside)
    for key, part in parts:
        yield from leaves(part, (*place, key))
    if not parts and place:
        yield place


def name_of(place: tuple[Any, ...]) -> str:
    return ".".join("[]" if isinstance(key, int) else str(key) for key in place).replace(".[]", "[]")


def changed(rng: np.random.Generator, answer: dict[str, Any]) -> tuple[str, Any, Any, dict[str, Any]] | None:
    """Change one value; returns its key, the value before and after, and the answer. None where it has no other."""
    places = list(leaves(answer))
    names = sorted({name_of(place) for place in places} - FREE)
    # Every key is as likely as every other, whatever the length of lists.
    name = str(rng.choice(names))
    mine = [place for place in places if name_of(place) == name]
    place = mine[int(rng.integers(len(mine)))]
    new = copy.deepcopy(answer)
    within = new
    for key in place[:-1]:
        within = within[key]
    before = within[place[-1]]
    rows = within if isinstance(within, list) else None
    if rows is not None and rng.random() < 0.5:
        rows[:] = rows[: place[-1]] + rows[place[-1] + 1 :] if rng.random() < 0.5 else [*rows, before]
        return name, before, "dropped or doubled", new
    after = other(rng, name.split(".")[-1].replace("[]", ""), before)
    if after is None:
        return None
    within[place[-1]] = after
    return name, before, after, new


def other(rng: np.random.Generator, key: str, value: Any) -> Any:
    """Another value of the same kind; None where there is none."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-1, 1, 2]))
    if isinstance(value, float):
        return value + float(rng.choice([-1, 1])) * max(abs(value), 0.01) * 10.0 ** float(rng.uniform(-3, 0.5))
    if isinstance(value, str) and len(value.split()) > 1 and key not in KINDS:
        words = value.split(" ")
        place = int(rng.integers(len(words)))
        return " ".join([*words[:place], "moon", *words[place + 1 :]])
    if isinstance(value, str):
        choices = [one for one in KINDS.get(key, LABELS) if one != value]
        return str(rng.choice(choices))
    return None


def run(command: str, changes: int, seed: int = 0, each: int = 8) -> Tally:
    """Make so many changes to answers to random questions, in the current folder."""
    tally, number, made = Tally(), 0, 0
    while made < changes:
        rng = np.random.default_rng([seed, number])
        number += 1
        case = WIDE[command](rng)
        if case is None:
            continue
        result = case.verified(case.answer)
        tally.true[result.exit_code] += 1
        if result.exit_code not in (0, 4):
            tally.refused_true.append((number - 1, case.words, result.output))
            continue
        if result.exit_code == 4:
            tally.undecided.update(line for line in result.output.split("\n\n")[1].splitlines()[1:])
        for _ in range(each):
            found = changed(rng, case.answer)
            if found is None or made == changes:
                continue
            name, before, after, answer = found
            made += 1
            result = case.verified(answer)
            tally.changed[result.exit_code] += 1
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                tally.refused_true.append((number - 1, case.words, repr(result.exception)))
            if result.exit_code == 0:
                tally.held[name] += 1
                tally.shown.setdefault(name, (number - 1, before, after))
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description="Change any one value of an answer, and verify it.")
    parser.add_argument("--changes", type=int, default=1000, help="of each command (1000)")
    parser.add_argument("--each", type=int, default=8, help="of each answer (8)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("commands", nargs="*", default=list(WIDE))
    asked = parser.parse_args()
    for command in asked.commands:
        with tempfile.TemporaryDirectory() as folder:
            before = Path.cwd()
            os.chdir(folder)
            tally = run(command, asked.changes, asked.seed, asked.each)
            os.chdir(before)
        print(
            f"{command}: true answers by exit status {dict(tally.true)}; changed ones {dict(tally.changed)}", flush=True
        )
        for words, count in tally.undecided.most_common():
            print(f"  4 {count:5}", words)
        for name, count in tally.held.most_common():
            print(f"  0 {count:5} {name}: {tally.shown[name]}")
        for shown in tally.refused_true[:12]:
            print("  REFUSED", shown)


if __name__ == "__main__":
    main()

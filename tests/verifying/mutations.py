"""Verify true answers, and answers with one thing changed: ``python -m tests.verifying.mutations [--mutants 1000]``.

For each command: true answers that are refuted, which must be none; mutants that are refused or not refuted; and
mutants that would hold if the command, run again, printed the same: each is tested by trying everything, and must be
true.
"""

import argparse
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.verifying.cases import MAKERS, Case
from tests.verifying.mutants import mutated
from tests.verifying.truth import TooMany, assignment_is_false, calibration_is_false, plan_is_false

#: What of an accepted mutant is false; of ``check`` every change is.
FALSE = {
    "check": lambda case, answer: "changed",
    "plan": plan_is_false,
    "assign": assignment_is_false,
    "calibrate": calibration_is_false,
}
#: Mutants of one answer.
EACH = 10


@dataclass
class Tally:
    """What became of true answers and mutants."""

    answers: int = 0
    refused_true: list[Any] = field(default_factory=list)
    mutants: int = 0
    refused: int = 0
    undecided_true: int = 0
    undecided: int = 0
    true: int = 0
    untold: int = 0
    accepted_false: list[Any] = field(default_factory=list)

    def line(self, command: str) -> str:
        return (
            f"{command:10} {self.answers:5} true answers, {len(self.refused_true)} refuted, {self.undecided_true} not "
            f"refuted; {self.mutants:5} mutants: {self.refused} refused, {self.undecided} not refuted, {self.true} hold"
            f" that are true, {len(self.accepted_false)} that are false, {self.untold} too large to be told"
        )


def run(command: str, mutants: int, seed: int = 0) -> Tally:
    """Make so many mutants of answers to random questions, in the current folder."""
    tally, number = Tally(), 0
    while tally.mutants < mutants:
        rng = np.random.default_rng([seed, number])
        number += 1
        case = MAKERS[command](rng)
        if case is None:
            continue
        tally.answers += 1
        result = case.verified(case.answer)
        tally.undecided_true += result.exit_code == 4
        if result.exit_code not in (0, 4):
            tally.refused_true.append((number - 1, case.words, result.output))
        for _ in range(EACH):
            if tally.mutants < mutants:
                _try(rng, case, tally)
    return tally


def _try(rng: np.random.Generator, case: Case, tally: Tally) -> None:
    found = mutated(rng, case)
    if found is None:
        return
    name, answer = found
    tally.mutants += 1
    result = case.verified_by_independent_code(answer)
    if result.exit_code in (1, 2) and isinstance(result.exception, SystemExit):
        tally.refused += 1
        return
    if result.exit_code == 4:
        tally.undecided += 1
        return
    try:
        wrong = FALSE[case.command](case, answer) if result.exit_code == 0 else f"ended with {result.exception!r}"
    except TooMany:
        tally.untold += 1
        return
    if wrong:
        tally.accepted_false.append((name, wrong, case.words, answer))
    else:
        tally.true += 1


def main() -> None:
    parser = argparse.ArgumentParser(description="Verify true answers, and answers with one thing changed.")
    parser.add_argument("--mutants", type=int, default=1000, help="of each command (1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("commands", nargs="*", default=list(MAKERS))
    asked = parser.parse_args()
    failed = False
    for command in asked.commands or list(MAKERS):
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            before = Path.cwd()
            os.chdir(folder)
            tally = run(command, asked.mutants, asked.seed)
            os.chdir(before)
        print(f"{tally.line(command)}; {time.monotonic() - start:.0f} s", flush=True)
        for shown in (*tally.refused_true[:5], *tally.accepted_false[:5]):
            print("  ", shown)
        failed |= bool(tally.refused_true or tally.accepted_false)
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()

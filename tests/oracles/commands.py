"""True answers of the commands against ``verify``, and against trying everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracles.oracle import Oracle, Untold
from tests.verifying.cases import MAKERS, Case
from tests.verifying.truth import TooMany, assignment_is_false, plan_is_false


def answer(case: Case) -> dict[str, Any]:
    return case.answer


def verdict(case: Case) -> Any:
    return case.verified(case.answer)


def refused(case: Case, _: Any, told: Any) -> str:
    return "" if told.exit_code in (0, 4) else f"verify ends with {told.exit_code}: {case.words}: {told.output}"


def tried(false: Callable[[Case, dict[str, Any]], str]) -> Callable[[Case], str]:
    def find(case: Case) -> str:
        try:
            return false(case, case.answer)
        except TooMany as error:
            raise Untold from error

    return find


def untrue(case: Case, ours: Any, wrong: str) -> str:
    return f"{wrong} is false: {case.words}: {ours}" if wrong else ""


ORACLES = [
    *[Oracle(f"verify {name}", "reviewgraph verify", make, answer, verdict, refused) for name, make in MAKERS.items()],
    Oracle("plan, the command", "every plan", MAKERS["plan"], answer, tried(plan_is_false), untrue),
    Oracle("assign, the command", "every assignment", MAKERS["assign"], answer, tried(assignment_is_false), untrue),
]

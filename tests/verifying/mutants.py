"""Answers with one thing changed: what a slip, or somebody who wants another answer, would change."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.verifying.cases import Case

Answer = dict[str, Any]
#: A change, made in place; false where there is nothing to change.
Change = Callable[[np.random.Generator, Case, Answer], bool]

STATUSES = {
    "plan": ["optimal", "feasible", "infeasible", "budget_exhausted", "level_missed", "extended"],
    "assign": ["optimal", "feasible", "level_missed", "infeasible"],
}
LEVELS = ["survives-reviewer", "survives-review", "double", "recoverable", "connected"]


def mutated(rng: np.random.Generator, case: Case) -> tuple[str, Answer] | None:
    """Change one thing; returns its name and the answer, None where nothing changed."""
    changes = CHANGES[case.command]
    name = str(rng.choice(list(changes)))
    answer = copy.deepcopy(case.answer)
    changed = changes[name](rng, case, answer)
    return (name, answer) if changed and answer != case.answer else None


def _pick(rng: np.random.Generator, listed: list[Any]) -> int:
    return int(rng.integers(len(listed)))


# Components


def _number(*keys: str) -> Change:
    def change(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
        path = keys[_pick(rng, list(keys))].split(".")
        for part in path[:-1]:
            if part not in answer:
                return False
            answer = answer[part]
        answer[path[-1]] += int(rng.choice([-1, 1, 2]))
        return True

    return change


def _flag(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    key = str(rng.choice(["recovery_resilient", "recoverable"]))
    answer[key] = not answer[key]
    return True


def _level(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    """Raise or lower the level, and make all that goes with it fit."""
    level = [None, "connected", "recoverable", "double"][int(rng.integers(4))]
    if level == answer["level"]:
        return False
    answer["level"] = level
    if rng.random() < 0.5:
        answer["recovery_resilient"], answer["recoverable"] = level == "double", level in ("double", "recoverable")
        answer["degrees_of_freedom"] = 0 if answer["recoverable"] else max(answer["degrees_of_freedom"], 1)
    return True


# Plans and assignments


def _dropped(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    if not answer["reviews"]:
        return False
    answer["reviews"].pop(_pick(rng, answer["reviews"]))
    return _recounted(rng, answer)


def _doubled(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    if not answer["reviews"]:
        return False
    answer["reviews"].append(copy.deepcopy(answer["reviews"][_pick(rng, answer["reviews"])]))
    return _recounted(rng, answer)


def _exchanged(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    """Give a review to another reviewer, or to another paper."""
    rows = answer["reviews"]
    if not rows:
        return False
    row, role = rows[_pick(rng, rows)], str(rng.choice(["reviewer", "item"]))
    row[role] = f"{row[role][0]}{rng.integers(0, 6)}"
    return True


def _recounted(rng: np.random.Generator, answer: Answer) -> bool:
    """Make the sums fit, half of the time."""
    if rng.random() < 0.5 and "count" in answer:
        answer["count"], answer["cost"] = len(answer["reviews"]), sum(row["cost"] for row in answer["reviews"])
        loads = [row["reviewer"] for row in answer["reviews"]]
        answer["largest_load"] = max([0, *(loads.count(who) for who in loads)])
        if answer["affinity"] is not None:
            answer["affinity"] = sum(row["affinity"] for row in answer["reviews"])
    return True


def _bound(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    """Raise or lower a bound, and the largest with it."""
    if not answer["bounds"]:
        return False
    answer["bounds"][_pick(rng, answer["bounds"])]["value"] += int(rng.choice([-1, 1, 1, 2]))
    if rng.random() < 0.8:
        answer["lower_bound"] = max([0, *(bound["value"] for bound in answer["bounds"])])
        if answer["status"] == "optimal" and rng.random() < 0.7:
            answer["status"] = "feasible"
    return True


def _renamed_bound(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    """Raise a bound and call it one that takes a search to prove."""
    if not answer["bounds"]:
        return False
    bound = answer["bounds"][_pick(rng, answer["bounds"])]
    bound["kind"] = str(rng.choice(["cuts", "groups", "parts", "expansion", "flow"]))
    bound["value"] += 1
    answer["lower_bound"] = max([0, *(one["value"] for one in answer["bounds"])])
    answer["status"] = "feasible" if answer["status"] == "optimal" else answer["status"]
    return True


def _merge(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    """Drop, reorder or change a merge."""
    merges = answer["merges"]
    if not merges:
        return False
    place, kind = _pick(rng, merges), rng.random()
    if kind < 0.3:
        merges.pop(place)
    elif kind < 0.6:
        merges.insert(_pick(rng, merges), merges.pop(place))
    else:
        merges[place][int(rng.integers(4))] = int(rng.integers(0, 5))
    return True


def _status(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    answer["status"] = str(rng.choice(STATUSES[case.command]))
    return True


def _target(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    answer["target"] = str(rng.choice(LEVELS))
    return True


def _moved(*keys: str) -> Change:
    """Move a number a little, or a lot."""

    def change(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
        key = keys[_pick(rng, list(keys))]
        if answer.get(key) is None:
            return False
        answer[key] += float(rng.choice([-1, 1])) * 10.0 ** float(rng.uniform(-3, 0))
        return True

    return change


def _bounds_of_affinity(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    """Move the most affinity, and all that is derived from it."""
    if answer["affinity_unconstrained"] is None or not answer["reviews"]:
        return False
    answer["affinity_unconstrained"] += float(rng.choice([-1, 1])) * 10.0 ** float(rng.uniform(-2, 0))
    best = answer["affinity_unconstrained"]
    if "--at-most" not in case.words:
        answer["bound"] = best
    return True


def _entry(*keys: str) -> Change:
    """Move a number of one review."""

    def change(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
        if not answer["reviews"]:
            return False
        return _moved(*keys)(rng, case, answer["reviews"][_pick(rng, answer["reviews"])])

    return change


# Calibrations


def _scored(answer: Answer) -> list[dict[str, Any]]:
    return [row for row in answer["items"] if row["quality"] is not None]


def _move_one(rng: np.random.Generator, answer: Answer, key: str) -> bool:
    rows = [row for row in answer["items"] if row[key] is not None]
    if not rows:
        return False
    # A paper of known quality may have no score, and then no average.
    averages = [row["average"] for row in answer["items"] if row["average"] is not None]
    spread = max(float(np.std(averages)), 0.1)
    rows[_pick(rng, rows)][key] += float(rng.choice([-1, 1])) * spread * 10.0 ** float(rng.uniform(-3, 0))
    return True


def _average(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    return _move_one(rng, answer, "average")


def _rank(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    rows = _scored(answer)
    one, other = rows[_pick(rng, rows)], rows[_pick(rng, rows)]
    one["rank"], other["rank"] = other["rank"], one["rank"]
    return True


def _group(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    rows = _scored(answer)
    rows[_pick(rng, rows)]["group"] = int(rng.integers(1, 4))
    return True


def _selected(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    if not answer["selected"]:
        return False
    answer["selected"][_pick(rng, answer["selected"])] = str(rng.choice([row["item"] for row in answer["items"]]))
    return True


def _interval(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    rows = [row for row in answer["items"] if row.get("interval")]
    if not rows:
        return False
    rows[_pick(rng, rows)]["interval"][int(rng.integers(2))] += float(rng.choice([-1, 1])) * 10.0 ** float(
        rng.uniform(-3, 0)
    )
    return True


def _chance(rng: np.random.Generator, case: Case, answer: Answer) -> bool:
    rows = [row for row in answer["items"] if row.get("probability") is not None]
    if not rows:
        return False
    rows[_pick(rng, rows)]["probability"] += float(rng.choice([-0.3, -0.01, 0.01, 0.3]))
    return True


CHANGES: dict[str, dict[str, Change]] = {
    "check": {
        "a number": _number(
            "reviewers",
            "items",
            "reviews",
            "connected.components",
            "doubly_connected.components",
            "doubly_connected.largest_cover",
            "degrees_of_freedom",
            "as_of_now.degrees_of_freedom",
            "as_of_now.doubly_connected.components",
        ),
        "a level held or not": _flag,
        "the level": _level,
    },
    "plan": {
        "a review dropped": _dropped,
        "a review doubled": _doubled,
        "a review exchanged": _exchanged,
        "a bound": _bound,
        "a bound by search": _renamed_bound,
        "a merge": _merge,
        "the status": _status,
        "the target": _target,
        "a sum": _moved("cost", "count", "largest_load"),
        "a cost": _entry("cost"),
    },
    "assign": {
        "a review dropped": _dropped,
        "a review doubled": _doubled,
        "a review exchanged": _exchanged,
        "the status": _status,
        "the target": _target,
        "a sum": _moved("affinity", "bound"),
        "an affinity": _entry("affinity"),
        "the most affinity": _bounds_of_affinity,
    },
    "calibrate": {
        "an average": _average,
        "a rank": _rank,
        "a group": _group,
        "the selection": _selected,
        "an interval": _interval,
        "a chance": _chance,
    },
}

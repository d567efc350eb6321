"""Questions to ``calibrate`` over all of its options, and what becomes of true answers and of those with one value
changed: ``python -m tests.verifying.calibrations [--answers 400] [--changes 2000]``.

Answers are counted by method, status and outcome; changes by the key that was changed, those that hold by name.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.verifying.cases import Case, answered, write

METHODS = ["average", "centring", "z-score", "ridge", "additive", "qp", "bayesian", "lsc"]
HYPOTHESES = ["linear", "monotone", "convex", "concave", "offset"]
#: A change of a number, relative to it, is between the first and the second power of ten.
SMALLEST, LARGEST = -3.0, 0.0
#: Changes of one answer.
EACH = 25


def calibration(rng: np.random.Generator, number: int, *, posterior: float = 0.6) -> Case | None:
    """Ask a question with options at random, in the current folder; None where the command refuses it."""
    M, N = int(rng.integers(2, 30)), int(rng.integers(4, 30))
    rows, quality = _scores(rng, M, N)
    grades = rng.random() < 0.1
    if grades:
        rows = [(who, what, "EDCBA"[min(max(round(score / 2), 0), 4)]) for who, what, score in rows]
    who, what = ("who", "what") if rng.random() < 0.1 else ("reviewer", "item")
    write("reviews.csv", f"{who},{what},score", rows)
    words = ["reviews.csv"] + (["--columns", f"reviewer={who},item={what}"] if who == "who" else [])
    words += ["--scale", "A>B>C>D>E"] if grades else ["--lower-is-better"] if rng.random() < 0.2 else []
    words += ["--items", write("items.csv", what, [[f"p{i}"] for i in range(N + 2)])] if rng.random() < 0.3 else []
    words += ["--duplicates", str(rng.choice(["last", "mean"]))] if rng.random() < 0.1 else []
    words += _selection(rng, N)
    method = "posterior" if rng.random() < posterior else str(rng.choice(METHODS))
    if method == "posterior":
        words += _posterior(rng, rows, N, what, selects="--select" in words)
    elif method == "lsc":
        words += _least_squares(rng, M)
    else:
        words += ["--method", method]
    if method in ("posterior", "lsc") and rng.random() < 0.3:
        known = [(f"p{i}", round(float(quality[i]), 2)) for i in rng.permutation(N)[: int(rng.integers(1, 6))]]
        words += ["--references", write("known.csv", f"{what},quality", known)]
    words += ["--sheet", f"sheets{number}"] if method == "posterior" and rng.random() < 0.05 else []
    words += ["-o", f"out{number}.csv"] if rng.random() < 0.1 else []
    return answered("calibrate", words)


def _scores(rng: np.random.Generator, M: int, N: int) -> tuple[list[tuple[str, str, float]], np.ndarray]:
    """Scores of reviewers of one kind: alike, harsh, stretching, careless, or who only put papers in order."""
    quality, kind, digits = rng.normal(5, 2, N), int(rng.integers(5)), int(rng.integers(0, 3))
    rows = []
    for j in range(M):
        slope, offset = np.exp(0.4 * rng.normal() * (kind > 1)), rng.normal() * (kind > 0)
        noise = np.exp(rng.normal()) if kind == 3 else 1.0
        mine = rng.permutation(N)[: int(rng.integers(1, 8))]
        seen = offset + slope * (quality[mine] + 0.5 * noise * rng.normal(size=mine.size))
        if kind == 4:
            seen = np.argsort(np.argsort(seen)) * float(rng.choice([0.5, 1.0, 3.0]))
        rows += [(f"r{j}", f"p{i}", round(float(value), digits)) for i, value in zip(mine, seen, strict=True)]
    return rows, quality


def _selection(rng: np.random.Generator, N: int) -> list[str]:
    if rng.random() < 0.4:
        return []
    words = ["--select", str(rng.choice([str(rng.integers(1, N)), "10%", "30%"]))]
    words += ["--error-rate", str(rng.choice([0.05, 0.2, 0.4]))] if rng.random() < 0.3 else []
    return words + (["--by-group-average"] if rng.random() < 0.3 else [])


def _posterior(
    rng: np.random.Generator, rows: list[tuple[str, str, float]], N: int, what: str, *, selects: bool
) -> list[str]:
    words = ["--lottery"] if selects and rng.random() < 0.5 else []
    words += ["--seed", str(rng.integers(1, 100))] if words and rng.random() < 0.5 else []
    papers = [rows[int(rng.integers(len(rows)))][1] for _ in range(int(rng.integers(0, 3)))]
    words += [word for paper in papers for word in ("--explain", paper)]
    if rng.random() < 0.3:
        given = [(item, who, round(float(np.exp(rng.normal())), 3)) for who, item, _ in rows if rng.random() < 0.9]
        role = "reviewer" if what == "item" else "who"
        words += ["--weights", write("weights.csv", f"{what},{role},weight", given)] if given else []
    return words


def _least_squares(rng: np.random.Generator, M: int) -> list[str]:
    words = ["--method", "lsc"] if rng.random() < 0.3 else []
    words += ["--hypothesis", str(rng.choice(HYPOTHESES))] if not words or rng.random() < 0.7 else []
    if rng.random() < 0.2:
        kinds = [("r0", rng.choice(HYPOTHESES))]
        words += ["--hypotheses", write("kinds.csv", "reviewer,hypothesis", kinds)]
    words += ["--max-slope", str(rng.choice([4, 20]))] if rng.random() < 0.3 else []
    return words + (["--ties", str(rng.choice(["equal", "free"]))] if rng.random() < 0.2 else [])


def changes(answer: dict[str, Any], rng: np.random.Generator) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each leaf's path with the answer in which this one value is another of its kind, in random order.

    Numbers move by a thousandth of themselves or more, whole numbers by one or two, what is true becomes
    false, and a text or a null becomes what stands at the same key elsewhere in the answer, if it differs.

    >>> [(path, found["a"]) for path, found in changes({"a": [True]}, np.random.default_rng(0))]
    [('a[0]', [False])]
    """
    listed = list(leaves(answer))
    peers: dict[str, list[Any]] = {}
    for path, value in listed:
        peers.setdefault(kind_of(path), []).append(value)
    for place in rng.permutation(len(listed)).tolist():
        path, value = listed[place]
        changed = copy.deepcopy(answer)
        inside, last = _holder(changed, path)
        inside[last] = _other(value, peers[kind_of(path)], rng)
        yield path, changed


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of whatever holds nothing else."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from leaves(part, f"{path}[{place}]")
    else:
        yield path, value


def kind_of(path: str) -> str:
    """Return a path without the places in lists, by which changes are counted.

    >>> kind_of("accounts[0].parts[3].moves")
    'accounts[].parts[].moves'
    """
    return re.sub(r"\[\d+\]", "[]", path)


def _holder(answer: Any, path: str) -> tuple[Any, Any]:
    """Return what holds the leaf, and its key or place there."""
    steps = [int(place) if place else key for key, place in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path)]
    for step in steps[:-1]:
        answer = answer[step]
    return answer, steps[-1]


def _other(value: Any, peers: list[Any], rng: np.random.Generator) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-1, 1, 2]))
    if isinstance(value, float):
        return value + float(rng.choice([-1, 1])) * (abs(value) or 1.0) * 10.0 ** float(rng.uniform(SMALLEST, LARGEST))
    others = [peer for peer in peers if peer not in (value, None)]
    if others:
        return others[int(rng.integers(len(others)))]
    return f"{value}x" if isinstance(value, str) else 1


def main() -> None:
    parser = argparse.ArgumentParser(description="Verify answers of calibrate, and answers with one value changed.")
    parser.add_argument("--answers", type=int, default=400)
    parser.add_argument("--changes", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    outcomes, why, changed, held = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        for number in itertools.count():
            rng = np.random.default_rng([asked.seed, number])
            if outcomes.total() >= asked.answers and (changed.total() >= asked.changes):
                break
            if (case := calibration(rng, number)) is None:
                continue
            result = case.verified(case.answer)
            outcomes[f"{case.answer['method']}, {case.answer['status']}: {result.exit_code}"] += 1
            if result.exit_code == 4:
                lines = [line.strip() for line in result.output.splitlines()]
                why[
                    f"{case.answer['method']}: {lines[lines.index('Not checked, but the answer depends on it:') + 1]}"
                ] += 1
            elif result.exit_code:
                print("REFUSED", number, case.words, result.output[:800], repr(result.exception), flush=True)
            if changed.total() < asked.changes and result.exit_code in (0, 4):
                for path, answer in itertools.islice(changes(case.answer, rng), EACH):
                    code = case.verified(answer).exit_code
                    changed[f"{code}"] += 1
                    if code not in (1, 2, 4):
                        held[f"{case.answer['method']}, {case.answer['status']}, {kind_of(path)}: {code}"] += 1
                        print("HELD", number, case.words, path, flush=True)
        os.chdir(before)
    for title, counter in (("Answers", outcomes), ("Not refuted", why), ("Changes", changed), ("Holding", held)):
        print(title, counter.total())
        for name, count in sorted(counter.items()):
            print("  ", count, name)


if __name__ == "__main__":
    main()

"""Answers with one value changed, whichever it is."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

#: A change of a number, relative to it, is between the first and the second power of ten.
SMALLEST, LARGEST = -3.0, 0.0


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

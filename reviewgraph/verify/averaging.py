"""Methods that average corrected scores, as dictionaries: each returns what the qualities must be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reviewgraph.verify.tables import Table

    Method = Callable[[Table, Mapping[str, float]], dict[str, float]]


def _of(corrected: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """Average corrected scores by item."""
    held: dict[str, list[float]] = {}
    for (_, item), value in corrected.items():
        held.setdefault(item, []).append(value)
    return {item: math.fsum(values) / len(values) for item, values in held.items()}


def _by_reviewer(scored: Table) -> dict[str, list[float]]:
    held: dict[str, list[float]] = {}
    for (reviewer, _), value in scored.score.items():
        held.setdefault(reviewer, []).append(value or 0.0)
    return held


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _average(scored: Table, quality: Mapping[str, float]) -> dict[str, float]:
    return _of({pair: value or 0.0 for pair, value in scored.score.items()})


def _centring(scored: Table, quality: Mapping[str, float]) -> dict[str, float]:
    own = {reviewer: _mean(values) for reviewer, values in _by_reviewer(scored).items()}
    middle = _mean([value or 0.0 for value in scored.score.values()])
    return _of({(who, what): (value or 0.0) - own[who] + middle for (who, what), value in scored.score.items()})


def _z_score(scored: Table, quality: Mapping[str, float]) -> dict[str, float]:
    everything = [value or 0.0 for value in scored.score.values()]
    middle = _mean(everything)
    width = math.sqrt(_mean([(value - middle) ** 2 for value in everything]))
    own = {}
    for reviewer, values in _by_reviewer(scored).items():
        mean = _mean(values)
        spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1))
        own[reviewer] = (mean, spread if spread > 1e-12 * abs(mean) else 0.0)
    corrected = {}
    for (who, what), value in scored.score.items():
        mean, spread = own[who]
        corrected[who, what] = middle + (width * ((value or 0.0) - mean) / spread if spread else 0.0)
    return _of(corrected)


def _ridge(scored: Table, quality: Mapping[str, float]) -> dict[str, float]:
    """Offsets follow from the qualities, shrunken as by one more review; and qualities from these offsets."""
    left: dict[str, list[float]] = {}
    for (who, what), value in scored.score.items():
        left.setdefault(who, []).append((value or 0.0) - quality[what])
    offset = {who: math.fsum(values) / (len(values) + 1) for who, values in left.items()}
    return _of({(who, what): (value or 0.0) - offset[who] for (who, what), value in scored.score.items()})


#: Methods whose qualities can be computed again, or held to their own equations.
METHODS: dict[str, Method] = {"average": _average, "centring": _centring, "z-score": _z_score, "ridge": _ridge}

"""What draws do, over many of them: how often they reach the level, and how far mending moves probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.assignments.findings.randomised import Measured
from planner.assignments.lots.units import UNITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.assignments.lots.draws import Draw, Lots
    from planner.assignments.lots.marginals import Limits
    from reviewgraph.labels import IntArray
    from reviewgraph.reviews import FloatArray

#: The seed of draws that are measured: of their own, so that they do not depend on who draws.
SEED = 2**32 - 1


class Moves:
    """How mending moved pairs in draws so far, by pair of the support."""

    def __init__(self, size: int) -> None:
        self.count = 0
        self.net, self.any = np.zeros(size, np.int64), np.zeros(size, np.int64)

    def add(self, draw: Draw) -> None:
        """Note a draw."""
        moved = draw.chosen.astype(np.int64) - draw.first
        self.count += 1
        self.net += moved
        self.any += np.abs(moved)

    def mean(self) -> tuple[FloatArray, FloatArray]:
        """Mean move of each pair, which is what mending adds to its probability, and the standard error."""
        count = max(self.count, 1)
        mean = self.net / count
        return mean, np.sqrt(np.maximum(self.any / count - mean**2, 0.0) / count)

    def excess(self, lots: Lots, caps: Limits) -> tuple[FloatArray, FloatArray]:
        """Probability beyond the cap with which each pair is assigned, and its standard error."""
        mean, error = self.mean()
        return lots.probability + mean - caps.most[lots.pairs] / UNITS, error


def measure(lots: Lots, caps: Limits, count: int, say: Callable[[str, float], object]) -> Measured | None:
    """Draw ``count`` times, or until time is up; None without a draw."""
    rng, moves, worth = np.random.default_rng(SEED), Moves(lots.pairs.size), lots.within.affinity
    at_level = mended = 0
    for number in range(count):
        if lots.clock.over():
            break
        say(f"{count} draws to measure", number / count)
        draw = lots.draw(rng)
        moves.add(draw)
        at_level += draw.at_once
        mended += draw.reached
    if not moves.count:
        return None
    mean, error = moves.mean()
    excess, _ = moves.excess(lots, caps)
    over, off = _largest(excess), _largest(np.abs(mean))
    beyond = over >= 0 and excess[over] > 0
    return Measured(
        count=moves.count,
        at_level=at_level / moves.count,
        mended=mended / moves.count,
        changed=float(moves.any.sum() / moves.count),
        lost=float(-(worth * mean).sum()),
        excess=float(excess[over]) if beyond else 0.0,
        excess_error=float(error[over]) if beyond else 0.0,
        deviation=float(abs(mean[off])) if off >= 0 else 0.0,
        deviation_error=float(error[off]) if off >= 0 else 0.0,
    )


def _largest(values: FloatArray | IntArray) -> int:
    return int(np.argmax(values)) if values.size else -1

"""Claim of the gain that `calibrate` prints first: its sign is that of the true gain, in thirty regimes.

``python tests/benchmarks/worth.py --draws 5 --papers 400``: draws each regime, compares the gain on withheld reviewers
with the gain in Spearman's correlation with the truth, and prints a row a regime. Takes about three minutes. Exit
status 1 where a gain is wrong by more than two of its errors.

It should be near 0 where reviewers do not differ, and hardest to tell where three whole scores a reviewer leave
little to compare.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from lsc.estimate import plain_averages
from lsc.metrics import spearman
from lsc.posteriors import posterior
from tests.benchmarks.harness.draws import Regime, regimes

#: Points of correlation from which a true gain has a sign.
CLEAR = 0.5


def measured(regime: Regime, draw: int) -> tuple[float, float, float]:
    """Return the true gain in points, and the printed one with its error in percent."""
    simulation = regime.simulate(draw)
    found = posterior(simulation.reviews)
    known = np.isfinite(found.quality)
    ours, average = (
        100.0 * spearman(value[known], simulation.truth[known])
        for value in (found.quality, plain_averages(simulation.reviews))
    )
    return ours - average, 100.0 * found.gain.relative, 100.0 * found.gain.standard_error


def main() -> int:
    """Print a row a regime, then how often the sign is right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5, help="draws of each regime (5)")
    parser.add_argument("--papers", type=int, default=400, help="papers of each (400)")
    options = parser.parse_args()
    print("| regime | true gain | gain | its spread | its error |", "| --- | --- | --- | --- | --- |", sep="\n")
    every = []
    for regime in regimes(options.papers):
        found = np.array([measured(regime, draw) for draw in range(options.draws)])
        true, gain, error = found.mean(axis=0)
        spread = found[:, 1].std(ddof=1)
        print(f"| {regime.title} | {true:+.1f} | {gain:+.1f} | {spread:.1f} | {error:.1f} |", flush=True)
        every.append(found)
    true, gain, error = np.concatenate(every).T
    clear, right = np.abs(true) > CLEAR, true * gain > 0
    wrong = clear & ~right & (np.abs(gain) > 2 * error)
    print(f"right sign: {(clear & right).sum()} of {clear.sum()}; wrong by two errors: {wrong.sum()}")
    return int(wrong.any())


if __name__ == "__main__":
    sys.exit(main())

"""Whether the gain that `calibrate` prints first has the sign of the true gain, in thirty regimes.

``python -m tests.benchmarks.worth --draws 5 --papers 400`` draws each regime, compares the gain on held-out reviewers
with the gain in Spearman's correlation with the truth, and prints a row per regime. Takes about three minutes. Exit
status 1 where a gain is wrong by more than two of its errors.

It should be near 0 where reviewers do not differ, and hardest to tell where three whole scores per reviewer leave
little to compare.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from lsc.metrics import spearman
from lsc.posteriors import posterior
from tests.benchmarks.harness.draws import Regime, regimes

#: Points of correlation from which a true gain has a sign.
CLEAR = 0.5


def measured(regime: Regime, draw: int) -> tuple[float, float, float]:
    """Return the true gain in points, and the printed one with its error in percent."""
    simulation = regime.simulate(draw)
    estimate = posterior(simulation.reviews)
    scored = np.isfinite(estimate.quality)
    truth = simulation.truth[scored]
    ours = spearman(estimate.quality[scored], truth)
    average = spearman(estimate.average[scored], truth)
    return 100.0 * (ours - average), 100.0 * estimate.gain.relative, 100.0 * estimate.gain.standard_error


def main() -> int:
    """Print a row per regime, then how often the sign is right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5, help="draws of each regime (5)")
    parser.add_argument("--papers", type=int, default=400, help="papers of each (400)")
    options = parser.parse_args()
    print("| regime | true gain | gain | its spread | its error |", "| --- | --- | --- | --- | --- |", sep="\n")
    every = []
    for regime in regimes(options.papers):
        draws = np.array([measured(regime, draw) for draw in range(options.draws)])
        true, gain, error = draws.mean(axis=0)
        spread = draws[:, 1].std(ddof=1)
        print(f"| {regime.title} | {true:+.1f} | {gain:+.1f} | {spread:.1f} | {error:.1f} |", flush=True)
        every.append(draws)
    true, gain, error = np.concatenate(every).T
    clear = np.abs(true) > CLEAR
    right = true * gain > 0
    wrong = clear & ~right & (np.abs(gain) > 2 * error)
    print(f"right sign: {(clear & right).sum()} of {clear.sum()}; wrong by two errors: {wrong.sum()}")
    return int(wrong.any())


if __name__ == "__main__":
    sys.exit(main())

"""Time and memory of the posterior of ten million reviews: ``python tests/benchmarks/posterior_large.py [REVIEWERS]``.

Claim: 2,000,000 reviewers of 2,000,000 papers, five reviews each, in 2 minutes of CPU and 6 GB: the number of sweeps
does not grow with the table. It should lose where slopes hardly differ, for then the population converges slowly.
"""

# ruff: noqa: E402 - threads are set before NumPy is imported
from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import resource
import sys
import time

import numpy as np

from lsc._inference.inferring import infer


def main() -> None:
    """Draw scores, infer, print seconds, gigabytes and the correlation with the truth."""
    n, load = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000, 5
    rng = np.random.default_rng(0)
    # Reviewer j reads papers j + s of a random order, s five random shifts: five reviews each, no pair twice.
    shift = rng.choice(n, load, replace=False)
    reviewer = np.repeat(np.arange(n), load)
    item = rng.permutation(n)[(reviewer + np.tile(shift, n)) % n]
    truth, slope, offset = rng.standard_normal(n), rng.lognormal(0, 0.3, n), rng.normal(0, 0.8, n)
    score = offset[reviewer] + slope[reviewer] * truth[item] + 0.6 * rng.standard_normal(item.size)
    began, cpu = time.perf_counter(), time.process_time()

    def tell(words: str) -> None:
        print(f"{time.process_time() - cpu:6.0f} s: {words}", flush=True)

    found, _ = infer(reviewer, item, score, n, n, progress=tell)
    seconds, taken = time.process_time() - cpu, time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{item.size:,} reviews: {seconds:.0f} s of CPU, {taken:.0f} s, peak {peak:.2f} GB")
    fit = np.corrcoef(found.quality, truth)[0, 1]
    print(f"{found.status.value}, {found.sweeps} sweeps at the end, correlation with the truth {fit:.4f}")


if __name__ == "__main__":
    main()

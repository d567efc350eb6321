"""Whether 90 % intervals of predicted scores cover 88 to 92 % of held-out scores, in every regime.

``python -m tests.benchmarks.predictions --draws 8`` holds out a tenth of the scores of every regime and predicts them
from the others. Exit status 1 where a share is outside by more than two standard errors.

It should be hardest where the model is wrong: bent functions, noise that depends on quality, scores at the end of the
scale.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

import lsc
from reviewgraph import Reviews
from tests.benchmarks.harness.draws import regimes

HELD_OUT = 0.1
LEVEL = 0.9
#: Shares that the intervals should cover.
ASKED = (0.88, 0.92)


def covered(reviews: Reviews, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each held-out score, of a reviewer and an item with others, is inside, and its reviewer."""
    scored = reviews.only_scored()
    out = rng.random(scored.n_reviews) < HELD_OUT
    kept = scored.subset(~out)
    out &= (kept.loads[scored.reviewer] > 0) & (kept.reviews_per_item[scored.item] > 0)
    test = scored.subset(out)
    calibrator = lsc.Calibrator().fit(kept)
    test = test.subset(np.isfinite(calibrator.estimate_.quality)[test.item])
    low, high = calibrator.predict_distribution(test).interval(LEVEL).T
    score = test.printed(test.score)
    return (low <= score) & (score <= high), test.reviewer


def main() -> int:
    """Measure, print a table, return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=int, default=300, help="papers of each draw (300)")
    parser.add_argument("--draws", type=int, default=8, help="draws of each regime (8)")
    parser.add_argument("--only", nargs="+", default=[], metavar="REGIME", help="these regimes")
    options = parser.parse_args()
    outside = []
    print("| table | held out | 90 % intervals cover, % |", "|---|---|---|", sep="\n")
    for regime in regimes(options.papers):
        if options.only and regime.name not in options.only:
            continue
        inside = []
        reviewer = []
        for draw in range(options.draws * regime.times):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                hit, who = covered(regime.simulate(draw).reviews, regime.rng(draw, "predictions"))
            inside.append(hit)
            reviewer.append(who + draw * 10**6)
        hits = np.concatenate(inside).astype(float)
        share = float(hits.mean())
        # The error is clustered by reviewer.
        _, cluster = np.unique(np.concatenate(reviewer), return_inverse=True)
        error = float(np.sqrt((np.bincount(cluster, hits - share) ** 2).sum()) / hits.size)
        print(f"| {regime.title} | {hits.size:,} | {100 * share:.1f} +- {100 * error:.1f} |", flush=True)
        if not ASKED[0] - 2 * error <= share <= ASKED[1] + 2 * error:
            outside.append(regime.title)
    print(f"Outside by two errors: {', '.join(outside) or 'none'}.")
    return int(bool(outside))


if __name__ == "__main__":
    sys.exit(main())

"""Claim of ``Calibrator.predict_distribution``: its 90 % intervals cover 88 to 92 % of held-out scores.

``python tests/benchmarks/predictions.py [FILE...] [-o predictions.md]``: of every regime and of every FILE
(``reviewer,item,score``) a tenth of the scores is held out and predicted from the others. Of scores that are modelled
as levels, a level at the end of an interval counts by the part of its probability that is inside, as in
``Residuals.within``; ``closed`` is the share in the intervals as printed, ends included, which is larger by
construction. Exit status 1 where a share is outside by more than two standard errors.

It should be hardest where the model is wrong: bent functions, noise that depends on quality, scores at the end of the
scale.
"""

# ruff: noqa: E402 - threads are set before NumPy is imported, and the path before the harness
from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np

import lsc
from reviewgraph import Reviews, read_reviews
from tests.benchmarks.harness.draws import regimes

#: Share of the scores held out, most that are predicted, level of the intervals, and what they are asked to cover.
HELD_OUT, MOST, LEVEL, ASKED = 0.1, 4000, 0.9, (0.88, 0.92)


class Covered(NamedTuple):
    """One held-out score each: the part of it inside, whether it is inside with ends, and its reviewer."""

    part: np.ndarray
    closed: np.ndarray
    reviewer: np.ndarray

    @property
    def share(self) -> float:
        """The share inside."""
        return float(self.part.mean())

    @property
    def error(self) -> float:
        """Its standard error, clustered by reviewer."""
        _, code = np.unique(self.reviewer, return_inverse=True)
        sums = np.bincount(code, self.part - self.share)
        return float(np.sqrt((sums**2).sum()) / self.part.size)


def covered(reviews: Reviews, rng: np.random.Generator) -> Covered:
    """Predict held-out scores, each of a reviewer and an item that others remain of."""
    scored = reviews.only_scored()
    out = rng.random(scored.n_reviews) < min(HELD_OUT, MOST / scored.n_reviews)
    kept = scored.subset(~out)
    out &= (kept.loads[scored.reviewer] > 0) & (kept.reviews_per_item[scored.item] > 0)
    test = scored.subset(out)
    calibrator = lsc.Calibrator().fit(kept)
    rows = [i for i, item in enumerate(test.item.tolist()) if np.isfinite(calibrator.estimate_.quality[item])]
    test = test.subset(np.array(rows, np.int64))
    prediction = calibrator.predict_distribution(test)
    score = test.printed(test.score)
    low, high = prediction.interval(LEVEL).T
    closed = (low <= score) & (score <= high)
    part = closed.astype(float)
    if prediction.levels is not None:
        upper = prediction.cdf(score.tolist())
        level = np.searchsorted(prediction.levels, score)
        there = prediction.levels[np.minimum(level, prediction.levels.size - 1)] == score
        mass = np.where(
            there, prediction.probability[np.arange(score.size), np.minimum(level, prediction.levels.size - 1)], 0
        )
        lower, ends = upper - mass, (0.5 - LEVEL / 2, 0.5 + LEVEL / 2)
        inside = np.maximum(np.minimum(upper, ends[1]) - np.maximum(lower, ends[0]), 0.0)
        part = np.where(mass > 0, inside / np.maximum(mass, 1e-300), 0.0)
    return Covered(part, closed, test.reviewer)


def tables(options: argparse.Namespace) -> Iterator[tuple[str, Reviews, np.random.Generator]]:
    """Yield the draws of all regimes, and the files."""
    for regime in regimes(options.papers):
        if not options.only or regime.name in options.only:
            for draw in range(options.draws * regime.times):
                yield regime.title, regime.simulate(draw).reviews, regime.rng(draw, "predictions")
    for path in options.tables:
        for draw in range(options.draws):
            yield path.parent.name, read_reviews(path), np.random.default_rng(draw)


def main() -> int:
    """Measure, print a table, return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=Path, nargs="*", metavar="FILE", help="tables in CSV")
    parser.add_argument("-o", "--output", type=Path, help="also write the table here")
    parser.add_argument("--papers", type=int, default=300, help="papers of each draw (300)")
    parser.add_argument(
        "--draws", type=int, default=2, help="draws of each regime, and of held-out scores of each file (2)"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="REGIME", help="these regimes")
    options = parser.parse_args()
    found: dict[str, list[Covered]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, (name, reviews, rng) in enumerate(tables(options)):
            one = covered(reviews, rng)
            # Reviewers of one file are the same in all draws, those of a regime are not.
            apart = 0 if name in {path.parent.name for path in options.tables} else place * 10**6
            found.setdefault(name, []).append(one._replace(reviewer=one.reviewer + apart))
            print(name, file=sys.stderr, flush=True)
    lines, outside = ["| table | held out | 90 % intervals cover, % | closed, % |", "|---|---|---|---|"], []
    for name, parts in found.items():
        one = Covered(*map(np.concatenate, zip(*parts, strict=True)))
        share, error = one.share, one.error
        lines.append(
            f"| {name} | {one.part.size:,} | {100 * share:.1f} +- {100 * error:.1f} | {100 * one.closed.mean():.1f} |"
        )
        if not ASKED[0] - 2 * error <= share <= ASKED[1] + 2 * error:
            outside.append(name)
    inside = [ASKED[0] <= Covered(*map(np.concatenate, zip(*p, strict=True))).share <= ASKED[1] for p in found.values()]
    lines += [
        "",
        f"Within 88 to 92 %: {sum(inside)} of {len(inside)}. Outside by two errors: {', '.join(outside) or 'none'}.",
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.output:
        options.output.write_text(text, "utf-8")
    return int(bool(outside))


if __name__ == "__main__":
    sys.exit(main())

"""Whether few tables without misfits name anybody as one, and planted reviewers are named.

``python -m tests.benchmarks.misfit --tables 200 --planted 30`` draws tables whose reviewers fit the model, counts
those in which anybody is said to contradict the others, then gives two reviewers scores that are drawn at random from
the table, or turned upside down, and counts how many are named. A row per regime; minutes each. Half of the tables have
whole scores from 1 to 10. Exit status 1 where more than one table in eight names anybody.

It should be hardest where reviewers gave few scores and noise is large: nothing tells such a reviewer from noise.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from lsc._inference.inferring import infer
from lsc._inference.validation import misfit_of
from tests.lsc.inference.simulated_tables import table

#: Papers, reviewers, scores each; slopes and offsets spread unless said otherwise.
REGIMES: dict[str, dict[str, Any]] = {
    "60 papers, 20 reviewers of 12": {"n_items": 60, "n_reviewers": 20, "load": 12},
    "200 papers, 150 reviewers of 6": {"n_items": 200, "n_reviewers": 150, "load": 6},
    "the same, offsets only": {"n_items": 200, "n_reviewers": 150, "load": 6, "slope": 0.0},
    "150 papers, 100 reviewers of 12": {"n_items": 150, "n_reviewers": 100, "load": 12},
    "150 papers, 60 reviewers of 20": {"n_items": 150, "n_reviewers": 60, "load": 20},
    "200 papers, 150 reviewers of 5, noise twice as large": {
        "n_items": 200, "n_reviewers": 150, "load": 5, "slope": 0.1, "noise": 1.2
    },
    "200 papers, 150 reviewers of 5 alike, large noise": {
        "n_items": 200, "n_reviewers": 150, "load": 5, "slope": 0.0, "offset": 0.0, "noise": 1.0
    },
    "200 papers, 100 reviewers of 8, noise of their own": {"n_items": 200, "n_reviewers": 100, "load": 8, "own": 0.4},
}  # fmt: skip


def drawn(regime: dict[str, Any], seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw codes of reviewers and papers, and scores."""
    who, what, score, _ = table(seed=seed, **regime)
    return who, what, np.clip(np.round(score), 1, 10) if seed % 2 else score


def named(who: np.ndarray, what: np.ndarray, score: np.ndarray) -> set[int]:
    """Return the reviewers who contradict the others."""
    misfit = misfit_of(infer(who, what, score, int(who.max()) + 1, int(what.max()) + 1)[0])
    return set(np.flatnonzero(misfit.contradicts).tolist())


def planted(regime: dict[str, Any], seed: int, kind: str) -> int:
    """Give two reviewers other scores and return how many of them are named."""
    who, what, score = drawn(regime, 1000 + seed)
    rng = np.random.default_rng([seed, 5])
    chosen = rng.choice(int(who.max()) + 1, 2, replace=False).tolist()
    for reviewer in chosen:
        mine = who == reviewer
        score[mine] = rng.choice(score, mine.sum()) if kind == "random" else 2 * score.mean() - score[mine]
    return len(named(who, what, score) & set(chosen))


def main() -> int:
    """Print a row per regime."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=200, help="tables without misfits of each regime (200)")
    parser.add_argument("--planted", type=int, default=30, help="tables with two planted reviewers of each kind (30)")
    options = parser.parse_args()
    print("| tables | name anybody | of random reviewers named | of reversed |", "| --- | --- | --- | --- |", sep="\n")
    worst = 0.0
    for title, regime in REGIMES.items():
        alarms = sum(bool(named(*drawn(regime, seed))) for seed in range(options.tables))
        shares = []
        for kind in ("random", "reversed"):
            n_named = sum(planted(regime, seed, kind) for seed in range(options.planted))
            shares.append(f"{n_named} of {2 * options.planted}")
        print(f"| {title} | {alarms} of {options.tables} | {shares[0]} | {shares[1]} |", flush=True)
        worst = max(worst, alarms / options.tables)
    return int(worst > 1 / 8)


if __name__ == "__main__":
    sys.exit(main())

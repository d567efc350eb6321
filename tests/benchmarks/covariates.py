"""What covariates gain where they say something, and cost where they do not, with the truth known.

    python -m tests.benchmarks.covariates --draws 16

Scores are drawn from the model: quality plus a shift of the paper's track, severity plus that of seniority, authors who
rank their own papers by what they see of the quality. Each draw is inferred without and with the covariates; gains are
paired. "used": share of draws in which the covariate is used; "covered": truth within the 90 % intervals, without
and with; "effects": true effects within the 90 % intervals of the effects, where used.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

import lsc
from reviewgraph import Reviews
from tests.benchmarks.harness.measures import summary

#: Papers, and authors, who have a random number of papers each.
PAPERS, AUTHORS = 300, 100


class Regime(NamedTuple):
    """Scores per paper, reviewers, and what the covariates are worth.

    ``tracks``: standard deviation of the tracks' means; ``senior``: extra severity of 40 % of the reviewers; ``agree``:
    correlation of what authors see with the quality. ``apart``: tracks have reviewers of their own; ``levels``: number
    of levels of the scores. A covariate that is named in ``given`` is passed.
    """

    k: int = 3
    reviewers: int = 300
    tracks: float = 0.0
    senior: float = 0.0
    agree: float = 0.0
    apart: bool = False
    levels: int = 0
    given: tuple[str, ...] = ()


REGIMES = {
    "tracks differ, k = 2": Regime(2, tracks=0.7, given=("track",)),
    "tracks differ, k = 3": Regime(3, tracks=0.7, given=("track",)),
    "tracks differ a little, k = 3": Regime(3, tracks=0.3, given=("track",)),
    "tracks with reviewers of their own, k = 3": Regime(3, tracks=0.7, apart=True, given=("track",)),
    "random tracks, k = 2": Regime(2, given=("track",)),
    "random tracks, k = 3": Regime(3, given=("track",)),
    "senior more severe, 3 reviews each": Regime(3, senior=1.0, given=("senior",)),
    "senior more severe, 1.5 reviews each": Regime(3, 600, senior=1.0, given=("senior",)),
    "random seniority, 3 reviews each": Regime(3, given=("senior",)),
    "rankings of correlation .6, k = 2": Regime(2, agree=0.6, given=("rank",)),
    "rankings of correlation .6, k = 3": Regime(3, agree=0.6, given=("rank",)),
    "useless rankings, k = 3": Regime(3, given=("rank",)),
    "all three, k = 3": Regime(3, tracks=0.7, senior=1.0, agree=0.6, given=("track", "senior", "rank")),
    "all three random, k = 3": Regime(3, given=("track", "senior", "rank")),
    "tracks and seniors, 5 levels, k = 3": Regime(3, tracks=0.7, senior=1.0, levels=5, given=("track", "senior")),
}


class Table(NamedTuple):
    """A drawn table: reviews, truth in points, covariates as arguments, and true effects by factor, level by level."""

    reviews: Reviews
    truth: np.ndarray
    covariates: dict[str, Any]
    effects: dict[str, np.ndarray]


def draw(regime: Regime, seed: int) -> Table:
    """Draw qualities of standard deviation 1 within tracks, severities of 0.5, noise of 0.7, 1.3 points per unit."""
    rng = np.random.default_rng(seed)
    n = PAPERS
    m = regime.reviewers
    track = rng.integers(0, 5, n)
    senior = rng.random(m) < 0.4
    means = rng.standard_normal(5)
    means = regime.tracks * (means - means.mean()) / means.std()
    quality = means[track] + rng.standard_normal(n)
    offset = 0.5 * rng.standard_normal(m) - regime.senior * senior
    field = rng.integers(0, 5, m)
    load = np.zeros(m)
    rows = []
    for paper in rng.permutation(n).tolist():
        able = np.flatnonzero(field == track[paper]) if regime.apart else np.arange(m)
        chosen = able[np.lexsort((rng.random(able.size), load[able]))][: regime.k]
        load[chosen] += 1
        rows += [(who, paper) for who in chosen.tolist()]
    who, what = np.array(rows).T
    score = 5.0 + 1.3 * (quality[what] + offset[who] + 0.7 * rng.standard_normal(who.size))
    if regime.levels:
        score = np.clip(np.round(score / 10 * regime.levels), 1, regime.levels)
    reviews = Reviews.from_pairs(
        [(f"r{j}", f"p{i}", float(y)) for j, i, y in zip(who.tolist(), what.tolist(), score.tolist(), strict=True)]
    )
    # What authors see of their papers has the correlation with the quality.
    seen = regime.agree * (quality - quality.mean()) / quality.std()
    seen += np.sqrt(1 - regime.agree**2) * rng.standard_normal(n)
    author = rng.integers(0, AUTHORS, n)
    mine = [np.flatnonzero(author == a) for a in range(AUTHORS)]
    lists = {f"a{a}": [f"p{i}" for i in own[np.argsort(-seen[own])]] for a, own in enumerate(mine)}
    covariates: dict[str, Any] = {}
    if "track" in regime.given:
        covariates["item_covariates"] = {f"p{i}": {"track": f"t{t}"} for i, t in enumerate(track.tolist())}
    if "senior" in regime.given:
        covariates["reviewer_covariates"] = {f"r{j}": {"senior": bool(s)} for j, s in enumerate(senior.tolist())}
    if "rank" in regime.given:
        covariates["rankings"] = lists
    share = np.array([1 - senior.mean(), senior.mean()])
    severity = 1.3 * np.array([0.0, -regime.senior])
    effects = {
        "track": 1.3 * (means - np.bincount(track, minlength=5) @ means / n),
        "senior": severity - share @ severity,
    }
    order = np.array([int(label[1:]) for label in reviews.items])
    return Table(reviews, 1.3 * quality[order], covariates, effects)


def measure(regime: Regime, seed: int) -> dict[str, list[float]]:
    """Return the figures of one draw, without and with covariates."""
    table = draw(regime, seed)
    row: dict[str, list[float]] = {"spearman": [], "covered": [], "effects": [], "used": []}
    for covariates in ({}, table.covariates):
        estimate = lsc.posterior(table.reviews, **covariates)
        row["spearman"].append(100.0 * spearmanr(estimate.quality, table.truth).statistic)
        # Intervals about the truth on the scale of the posterior.
        off = (estimate.quality - estimate.quality.mean()) - (table.truth - table.truth.mean())
        row["covered"].append(100.0 * float((np.abs(off) < 1.645 * estimate.standard_error).mean()))
    for factor in estimate.covariates.rows:
        row["used"].append(100.0 * factor.used)
        if factor.used and factor.name in table.effects and not regime.levels:
            truth = table.effects[factor.name]
            row["effects"] += [float(e.low <= t <= e.high) for e, t in zip(factor.effects, truth, strict=True)]
    return row


def main() -> None:
    """Print a table of all regimes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=16)
    parser.add_argument("--only", default="", help="regimes whose name has this part")
    options = parser.parse_args()
    print("| regime | without | with | gain | used | covered | effects |", "| --- " * 7 + "|", sep="\n")
    for name, regime in REGIMES.items():
        if options.only not in name:
            continue
        rows = [measure(regime, seed) for seed in range(options.draws)]
        order = np.array([row["spearman"] for row in rows])
        without, with_covariates = order.mean(axis=0)
        gain = summary(order[:, 1] - order[:, 0])
        used = "; ".join(f"{share:.0f} %" for share in np.mean([row["used"] for row in rows], axis=0))
        # Levels have another unit than the truth.
        covered = "; ".join(f"{share:.1f}" for share in np.mean([row["covered"] for row in rows], axis=0))
        effects = [inside for row in rows for inside in row["effects"]]
        cells = [name, f"{without:.1f}", f"{with_covariates:.1f}", f"{gain:+.2f}", used]
        cells += ["-" if regime.levels else covered, f"{100 * np.mean(effects):.0f}" if effects else "-"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

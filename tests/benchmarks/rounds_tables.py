"""Claim of `plan --rounds`: on public tables, rounds agree better with the full table at equal numbers of scores.

``python tests/benchmarks/rounds_tables.py TABLE.csv ...``: of every table with five scores or more per item two per
item are shown first, and three in all. A round shows the scores that the plan asks for; every pair without a score is
a conflict. Selections are compared with that of all scores, beside as many scores spread evenly (``flat``).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from lsc.posteriors import posterior
from planner import plan_extra_reviews
from reviewgraph import Reviews, read_reviews
from reviewgraph._base import BoolArray, IntArray

#: Items kept of a table, least scores per item, and scores per item shown first.
MOST_ITEMS = 400
LEAST_SCORES = 5
FIRST = 2


def read(path: Path) -> Reviews | None:
    """Return the reviews of the items with enough scores; None where these are few."""
    reviews = read_reviews(path, columns={"score": "score"}).only_scored()
    items = np.flatnonzero(reviews.reviews_per_item >= LEAST_SCORES)
    if items.size < 30:
        return None
    drawn = np.random.default_rng(0).permutation(items)[:MOST_ITEMS]
    kept = reviews.subset(np.isin(reviews.item, drawn)).to_columns()
    return Reviews.from_arrays(kept["reviewer"], kept["item"], kept["score"])


def selected(reviews: Reviews, n_selected: int) -> IntArray:
    """Return the items of largest posterior mean."""
    return np.argsort(-np.nan_to_num(posterior(reviews).quality, nan=-np.inf), kind="stable")[:n_selected]


def in_rounds(reviews: Reviews, shown: BoolArray, n_selected: int, rounds: int) -> BoolArray:
    """Return which rows are shown after some rounds of one further score per item in all."""
    row_of = {pair: row for row, pair in enumerate(zip(reviews.reviewer.tolist(), reviews.item.tolist(), strict=True))}
    without = [
        (reviewer, item)
        for j, reviewer in enumerate(reviews.reviewers)
        for i, item in enumerate(reviews.items)
        if (j, i) not in row_of
    ]
    shown = shown.copy()
    budget = reviews.n_items
    for remaining in range(rounds, 0, -1):
        plan = plan_extra_reviews(
            reviews.subset(shown),
            objective="decision",
            n_selected=n_selected,
            max_reviews=budget,
            rounds=remaining,
            conflicts=without,
        )
        shown[[row_of[tuple(pair)] for pair in plan.pairs.tolist()]] = True
        budget -= plan.count
    return shown


def measured(reviews: Reviews, n_selected: int, draws: int) -> dict[str, list[int]]:
    """Return the numbers of selected items that differ from the full table's, by way and draw."""
    full = selected(reviews, n_selected)
    wrong: dict[str, list[int]] = {}
    for draw in range(draws):
        order = np.lexsort((np.random.default_rng(draw).random(reviews.n_reviews), reviews.item))
        place = np.empty(order.size, np.int64)
        starts = np.cumsum(reviews.reviews_per_item) - reviews.reviews_per_item
        place[order] = np.arange(order.size) - np.repeat(starts, reviews.reviews_per_item)
        ways = {"flat": place < FIRST + 1}
        ways |= {f"{n} rounds": in_rounds(reviews, place < FIRST, n_selected, n) for n in (1, 2, 4)}
        for name, shown in ways.items():
            chosen = selected(reviews.subset(shown), n_selected)
            wrong.setdefault(name, []).append(int((~np.isin(chosen, full)).sum()))
    return wrong


def main() -> int:
    """Measure and print a line per table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", type=Path, nargs="+")
    parser.add_argument("--draws", type=int, default=4, help="draws per table (4)")
    parser.add_argument("--share", type=float, default=0.1, help="share selected (0.1)")
    options = parser.parse_args()
    for path in options.tables:
        reviews = read(path)
        if reviews is None:
            continue
        n_selected = max(round(options.share * reviews.n_items), 2)
        wrong = measured(reviews, n_selected, options.draws)
        cells = [f"{name} {np.mean(counts):.2f}" for name, counts in wrong.items()]
        print(f"{path}: {reviews.n_items} items, {n_selected} selected, {', '.join(cells)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

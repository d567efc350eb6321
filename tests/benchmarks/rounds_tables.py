"""Claim of `simulate rounds REVIEWS`: on public tables, rounds agree better with the full table at equal scores.

``python tests/benchmarks/rounds_tables.py --out results.jsonl TABLE.csv ...``: every table with five scores or more per
item; two scores per item shown first, three in all, a tenth and a fifth of the items selected. ``--least 3 --first 1``:
tables of three scores per item, with one shown first and two in all. A killed run goes on where it ended; ``--table``
prints what there is. Of large tables some items are drawn.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from planner import replay_rounds
from reviewgraph import Reviews, read_reviews

#: Shares selected, items kept of a table, least median of scores per item, and draws.
SHARES, MOST_ITEMS, LEAST_SCORES, DRAWS = (0.1, 0.2), 400, 5, 20


def read(path: Path, least: int = LEAST_SCORES) -> Reviews | None:
    """Return the scored reviews of at most MOST_ITEMS items; None where there are too few scores per item."""
    reviews = read_reviews(path, columns={"score": "score"}).only_scored()
    items = np.flatnonzero(reviews.reviews_per_item >= least)
    if items.size < 30:
        return None
    kept = np.random.default_rng(0).permutation(items)[:MOST_ITEMS]
    return reviews.subset(np.isin(reviews.item, kept))


def run(path: Path, share: float, draws: int, least: int, first: int) -> dict[str, object] | None:
    """Return the replay of a table."""
    reviews = read(path, least)
    if reviews is None:
        return None
    begun = time.process_time()
    n_items = int((reviews.reviews_per_item > 0).sum())
    replay = replay_rounds(reviews, max(round(share * n_items), 2), draws=draws, first=first)
    return {"table": path.stem, "share": share, "seconds": time.process_time() - begun, **replay.to_dict()}


def table(records: list[dict[str, object]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    names = ["1 round", "2 rounds", "4 rounds", "random", "borderline"]
    lines = [
        f"| table | items | scores per item | selected | draws | flat | {' | '.join(names)} |",
        f"|---|{'--:|' * (5 + len(names))}",
    ]
    saved: dict[object, list[list[float]]] = {}
    for one in sorted(records, key=lambda one: (one["share"], one["table"])):  # type: ignore[arg-type,return-value]
        ways = {way["name"]: way for way in one["ways"]}  # type: ignore[attr-defined]
        cells = [f"{ways[name]['saved']:.2f} ± {ways[name]['saved_error']:.2f}" for name in names]
        numbers = [ways["flat"]["wrong"], *(ways[name]["saved"] for name in names)]
        saved.setdefault(one["share"], []).append([number / one["selected"] for number in numbers])
        per_item = one["scores"] / one["papers"]  # type: ignore[operator]
        lines.append(
            f"| {one['table']} | {one['papers']} | {per_item:.1f} | {one['selected']} | {one['draws']} | "
            f"{ways['flat']['wrong']:.2f} | {' | '.join(cells)} |"
        )
    for share, values in saved.items():
        mean, error = np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
        cells = [f"{100 * one:.1f} ± {100 * its:.1f} %" for one, its in zip(mean, error, strict=True)]
        lines.append(f"| {len(values)} tables, of the selected | | | {share:.0%} | | {' | '.join(cells)} |")
    return lines


def main() -> int:
    """Measure, then print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", type=Path, nargs="*")
    parser.add_argument("--out", type=Path, required=True, help="file of results, one line each")
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"draws per table ({DRAWS})")
    parser.add_argument("--least", type=int, default=LEAST_SCORES, help=f"least scores per item ({LEAST_SCORES})")
    parser.add_argument("--first", type=int, default=2, help="scores per item shown first, one less than in all (2)")
    parser.add_argument("--shares", type=float, nargs="*", default=SHARES, help="shares selected (0.1 0.2)")
    parser.add_argument("--table", action="store_true", help="print the table of what there is, measure nothing")
    options = parser.parse_args()
    found = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    done = {(one["table"], one["share"]) for one in found}
    for path in [] if options.table else options.tables:
        for share in options.shares:
            if (path.stem, share) not in done and (
                one := run(path, share, options.draws, options.least, options.first)
            ) is not None:
                found.append(one)
                with options.out.open("a") as file:
                    file.write(json.dumps(one) + "\n")
                print(path.stem, share, f"{one['seconds']:.0f} s", flush=True)
    print("\n".join(table(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

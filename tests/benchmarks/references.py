"""How many items people should score, and which, where the judges are language models: a simulation.

``python -m tests.benchmarks.references --draws 60``: 200 items, five of twelve judges each, a fifth selected. What the
judges agree on explains only a part of the wanted quality; references measure that, with an error as large as what the
judges leave unexplained. They are chosen at random, or twenty at random and the others nearest to the line of the
selection that these give. Prints a row per share left unexplained, number of references and choice. Takes seconds.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

from lsc import posterior
from reviewgraph import Reviews

ITEMS = 200
JUDGES = 12
PER_ITEM = 5
SELECTED = 40
#: References that are chosen at random before the line is known.
FIRST = 20
UNEXPLAINED = (0.4, 0.6, 0.8)
NUMBERS = (0, 20, 40, 80)
RANDOM = "at random"
NEAR = "20 at random, then near the line"


class Drawn(NamedTuple):
    """Scores of the judges, and of each item the wanted quality and what a person would say of it."""

    reviews: Reviews
    wanted: np.ndarray
    reference: np.ndarray


def draw(unexplained: float, rng: np.random.Generator) -> Drawn:
    """Return a table whose judges leave a share of the spread of references unexplained."""
    own = unexplained**2 / (2 - unexplained**2)  # variance of what judges do not see, and of the error of a reference
    consensus = rng.standard_normal(ITEMS)
    wanted = np.sqrt(1 - own) * consensus + np.sqrt(own) * rng.standard_normal(ITEMS)
    reference = wanted + np.sqrt(own) * rng.standard_normal(ITEMS)
    judge = np.concatenate([rng.permutation(JUDGES)[:PER_ITEM] for _ in range(ITEMS)])
    item = np.repeat(np.arange(ITEMS), PER_ITEM)
    offset = 5 + 0.7 * rng.standard_normal(JUDGES)
    slope = np.exp(0.25 * rng.standard_normal(JUDGES))
    score = offset[judge] + slope[judge] * consensus[item] + 0.7 * rng.standard_normal(item.size)
    reviews = Reviews.from_codes(judge, item, np.round(2 * score) / 2, reviewers=JUDGES, items=ITEMS)
    return Drawn(reviews, wanted, reference)


def chosen(drawn: Drawn, number: int, how: str, order: np.ndarray) -> np.ndarray:
    """Return the items that people score."""
    if how == RANDOM or number <= FIRST:
        return order[:number]
    first = order[:FIRST]
    chance = posterior(drawn.reviews, references=known(drawn, first)).probability_in_top(SELECTED)
    distance = np.abs(chance - 0.5)
    distance[first] = np.inf
    return np.concatenate([first, np.argsort(distance)[: number - FIRST]])


def known(drawn: Drawn, items: np.ndarray) -> dict[int, float]:
    """Return the references of items."""
    return {int(item): float(drawn.reference[item]) for item in items}


def measured(unexplained: float, number: int, how: str, seed: int) -> list[float]:
    """Return the numbers in, of these wrong, out, of these wrong, and wrong among the selected."""
    rng = np.random.default_rng([seed, round(100 * unexplained)])
    drawn = draw(unexplained, rng)
    items = chosen(drawn, number, how, rng.permutation(ITEMS))
    chance = posterior(drawn.reviews, references=known(drawn, items)).probability_in_top(SELECTED)
    best = np.zeros(ITEMS, bool)
    best[np.argsort(-drawn.wanted)[:SELECTED]] = True
    inside = chance >= 0.9
    outside = chance <= 0.1
    selected = np.argsort(-chance)[:SELECTED]
    counts = inside, inside & ~best, outside, outside & best, ~best[selected]
    return [float(count.sum()) for count in counts]


def share(wrong: float, of: float) -> str:
    """Return a share in percent, empty where there is nothing."""
    return f"{100 * wrong / of:.0f} %" if of else ""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=60, help="tables per row (60)")
    options = parser.parse_args()
    head = "unexplained", "references", "chosen", "in", "wrong", "out", "wrong", f"wrong among the {SELECTED} selected"
    print(f"| {' | '.join(head)} | fewer than at random |", "|---" * (len(head) + 1) + "|", sep="\n")
    for unexplained in UNEXPLAINED:
        for number in NUMBERS:
            rows = {}
            for how in (RANDOM, NEAR) if number > FIRST else (RANDOM,):
                rows[how] = np.array([measured(unexplained, number, how, seed) for seed in range(options.draws)])
                total = rows[how].sum(axis=0)
                mean = rows[how].mean(axis=0)
                cells = [
                    f"{100 * unexplained:.0f} %",
                    str(number),
                    how if number else "",
                    f"{mean[0]:.0f}",
                    share(total[1], total[0]),
                    f"{mean[2]:.0f}",
                    share(total[3], total[2]),
                    f"{mean[4]:.1f}",
                ]
                gain = rows[RANDOM][:, 4] - rows[how][:, 4]
                error = gain.std(ddof=1) / np.sqrt(gain.size)
                cells.append("" if how == RANDOM else f"{gain.mean():+.1f} ± {error:.1f}")
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

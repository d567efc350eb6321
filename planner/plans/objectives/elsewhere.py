"""What as many reviews would buy if they were chosen another way, by the same model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from planner.plans.objectives.objective import Objective
    from reviewgraph.arrays import FloatArray, IntArray


def at_random(aim: Objective, extra: FloatArray, count: int) -> float:
    """Return the total after ``count`` reviews of papers drawn by lot, each with its share of a review.

    Parameters
    ----------
    aim
        What is counted.
    extra
        Shape (N,): precision of other reviews beyond those to come anyhow.
    count
        How many.

    Notes
    -----
    Exact where reviewers are alike and nobody gets a second lot before all have one: a paper's loss is then the mean
    of that with and without a review.
    """
    every, typical = np.arange(extra.size), aim.beliefs.typical
    rounds, rest = divmod(count, extra.size)
    without = aim.losses(every, extra + rounds * typical).sum()
    with_one = aim.losses(every, extra + (rounds + 1) * typical).sum()
    return aim.total(float(without + (with_one - without) * rest / extra.size))


def at_the_border(aim: Objective, count: int) -> float | None:
    """Return the total after a review each of the papers whose averages lie nearest the cut; None without a cut."""
    order = aim.borderline()
    if order is None:
        return None
    reviews = np.bincount(np.resize(order, count), minlength=order.size).astype(np.float64)
    return aim.left(reviews * aim.beliefs.typical)


def for_connection(aim: Objective, pairs: IntArray, count: int) -> float:
    """Return the total after reviews that connect, shape (P, 2), the first ``count`` of them, the rest by lot."""
    used = pairs[:count]
    return at_random(aim, aim.beliefs.brought_by(used), count - len(used))

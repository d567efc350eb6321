"""What each review of a plan buys, and all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.plans.model.purchase import Purchase
from planner.plans.objectives.elsewhere import at_random, at_the_border, for_connection

if TYPE_CHECKING:
    from planner.plans.objectives.objective import Objective
    from reviewgraph.arrays import IntArray
    from reviewgraph.reviews import Reviews


class Bought(NamedTuple):
    """Gain of each review, shape (P,), what it is in words, and the total after all of them."""

    gains: list[float]
    words: list[str]
    after: float


def bought(aim: Objective, table: Reviews, pairs: IntArray) -> Bought:
    """Let reviews, shape (P, 2), arrive one after another; their gains sum to what all of them gain.

    Notes
    -----
    One evaluation a review.
    """
    every = np.arange(table.n_items)
    extra = np.zeros(table.n_items)
    losses = aim.losses(every, extra)
    sum_ = float(losses.sum())
    now = aim.total(sum_)
    gains, words = [], []
    for reviewer, item in pairs.tolist():
        before = float(extra[item])
        extra[item] += aim.beliefs.review_precision[reviewer]
        then = float(aim.losses(every[item : item + 1], extra[item : item + 1])[0])
        sum_ += then - float(losses[item])
        losses[item] = then
        total = float(aim.total(sum_))
        gains.append(now - total)
        words.append(aim.effect(item, str(table.items[item]), before, float(extra[item])))
        now = total
    return Bought(gains, words, now)


def purchase(aim: Objective, after: float, count: int, first: int, connection: IntArray) -> Purchase:
    """Put what a plan of ``count`` reviews buys beside what as many buy elsewhere.

    Parameters
    ----------
    aim
        What for.
    after
        The total with the plan.
    count, first
        Reviews of the plan beside the fixed ones, and which of all is the first for the objective.
    connection
        Shape (P, 2): reviews that would connect the table.
    """
    nothing = np.zeros(aim.beliefs.mean.size)
    found = (
        ("at_random", "at random", at_random(aim, nothing, count)),
        ("borderline", "nearest the cut by average", at_the_border(aim, count)),
        ("connection", "for connection only", for_connection(aim, connection, count)),
    )
    elsewhere = tuple((name, words, value) for name, words, value in found if value is not None)
    return Purchase(aim.name, aim.unit, aim.left(nothing), after, elsewhere, first, aim.helps)

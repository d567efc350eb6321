"""Lots with given probabilities: exactly n are drawn, and a small change of the probabilities changes few of them."""

from __future__ import annotations

import numpy as np

from reviewgraph.errors import InputError
from reviewgraph.reviews import BoolArray, FloatArray

#: Halvings of the interval in which the exponent lies: it spans 2^10, so the sum is right to 1e-12.
HALVINGS = 60

#: The sum of probabilities is whole up to rounding.
NEARLY_WHOLE = 1e-6


def lottery_probabilities(chance: FloatArray, n: int, error_rate: float) -> FloatArray:
    """Return the probability with which a lottery over the uncertain papers draws each, shape (N,), with sum n.

    ::

        p_i = t_i ^ gamma,   t_i = (P_i - error_rate) / (1 - 2 error_rate), clipped to [0, 1]
        subject to  sum p = n

    So a paper that is surely in is drawn surely, one that is surely out never, and the probability of the others rises
    with their chance and continuously: a score that changes a little changes it a little.

    Parameters
    ----------
    chance
        Shape (N,): probability of being among the best n.
    n
        How many are to be drawn.
    error_rate
        Chances up to it count as out, chances from 1 - it as in.

    Raises
    ------
    InputError
        If fewer than n papers have a chance above 0.

    Examples
    --------
    >>> lottery_probabilities(np.array([0.99, 0.6, 0.6, 0.01]), 2, 0.1).round(3).tolist()
    [1.0, 0.5, 0.5, 0.0]
    """
    open_to_all = np.clip((chance - error_rate) / (1.0 - 2.0 * error_rate), 0.0, 1.0)
    # Too few papers between the thresholds, or too many beyond the upper one: the thresholds give way.
    if (open_to_all > 0).sum() < n or (open_to_all == 1).sum() > n:
        open_to_all = np.clip(chance, 0.0, 1.0 - 1e-9)
    if (open_to_all > 0).sum() < n:
        message = f"n: expected at most {int((open_to_all > 0).sum())} papers to draw (those with a chance), found {n}"
        raise InputError(message)
    # The sum falls as gamma grows, from the papers with a chance to those that are surely in.
    low, high = -10.0 * np.log(2.0), 10.0 * np.log(2.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if (open_to_all ** np.exp(middle)).sum() > n else (low, middle)
    found: FloatArray = open_to_all ** np.exp(low)
    free = (found > 0) & (found < 1)
    if free.any():  # what an exponent at its bound left over is shared out
        left = n - found[~free].sum()
        found[free] = np.clip(found[free] * left / found[free].sum(), 0.0, 1.0)
    return found


def draw_lots(probability: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Draw papers with the given probabilities, as many as they sum to: a mask, shape (N,).

    The ordered pivotal method ([Deville98]_): papers stand in an order drawn once; the first two fight with
    what they have of a place each, one takes as much of both as fits into one place, the other keeps the rest, and who
    has neither nothing nor a whole place fights the next. The draw has the given probabilities exactly. Every fight
    is decided by a number that depends on the generator and the place in the order alone, so a small change of
    the probabilities turns few fights.

    Raises
    ------
    InputError
        If the probabilities do not sum to a whole number.

    Examples
    --------
    >>> draw_lots(np.array([1.0, 0.5, 0.5, 0.0]), np.random.default_rng(0)).astype(int).tolist()
    [1, 1, 0, 0]
    """
    places = round(float(probability.sum()))
    if abs(probability.sum() - places) > NEARLY_WHOLE:
        message = f"probability: expected a sum that is a whole number, found {probability.sum():.6f}"
        raise InputError(message)
    order, luck = rng.permutation(probability.size).tolist(), rng.random(probability.size).tolist()
    share = probability.tolist()
    holder = -1
    for turn, challenger in enumerate(order):
        if not 0.0 < share[challenger] < 1.0:
            continue
        if holder < 0:
            holder = challenger
            continue
        # Invariant: all papers before this one but the holder have nothing or a whole place.
        a, b = share[holder], share[challenger]
        if a + b < 1.0:
            wins = luck[turn] < a / (a + b)
            share[holder], share[challenger] = (a + b, 0.0) if wins else (0.0, a + b)
            holder = holder if wins else challenger
        else:
            wins = luck[turn] < (1.0 - b) / (2.0 - a - b)
            share[holder], share[challenger] = (1.0, a + b - 1.0) if wins else (a + b - 1.0, 1.0)
            holder = challenger if wins else holder
    drawn: BoolArray = np.array(share) > 0.5  # only rounding is left of the last holder's share
    return drawn

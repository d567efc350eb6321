"""A conference before its reviews: who is there, who bids for what, and who may not review what."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from lsc.simulation.draws import Seed
    from reviewgraph.arrays import BoolArray, IntArray

#: Bids from the least to the most willing, and the shares of pairs that each is short of.
BIDS, SHARES = ("Very Low", "Low", "Neutral", "High", "Very High"), (0.3, 0.6, 0.8, 0.93)
#: Papers and people lie in a plane of topics: who is near bids high, up to a mood.
MOOD_SD = 0.3
REVIEWERS_PER_INSTITUTION = 3


class Conference(NamedTuple):
    """Bids as places in ``BIDS`` and conflicts, both shape (N, M), and the institution of each reviewer, shape (M,)."""

    bid: IntArray
    conflict: BoolArray
    institution: IntArray


def draw_conference(n_items: int, n_reviewers: int, seed: Seed) -> Conference:
    """Draw bids by topic, and conflicts: a paper comes from one institution, whose people do not review it.

    Raises
    ------
    InputError
        If there are no papers or no reviewers.

    Examples
    --------
    >>> conference = draw_conference(20, 12, 0)
    >>> conference.bid.shape, int(conference.conflict.sum(axis=1).max())
    ((20, 12), 3)
    """
    if min(n_items, n_reviewers) < 1:
        message = f"expected papers and reviewers, found {n_items} and {n_reviewers}"
        raise InputError(message)
    rng = np.random.default_rng(seed)
    topic, interest = rng.random((n_items, 1, 2)), rng.random((1, n_reviewers, 2))
    wish = -np.hypot(*np.moveaxis(topic - interest, 2, 0)) + rng.normal(0.0, MOOD_SD, (n_items, n_reviewers))
    bid = np.searchsorted(np.quantile(wish, SHARES), wish)
    institution = rng.permutation(n_reviewers) // REVIEWERS_PER_INSTITUTION
    origin = rng.integers(institution.max() + 1, size=n_items)
    return Conference(bid, origin[:, None] == institution, institution)

"""How many papers reviewers have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from reviewgraph.arrays import IntArray
    from reviewgraph.reviews import Reviews

#: Pairs of reviewers of one paper, summed over papers, up to which they are counted: a second, some hundred megabytes.
COUNTED = 20_000_000


def shared_papers(reviews: Reviews) -> IntArray | None:
    """Return how many pairs of reviewers share 0, 1, 2, ... papers; None where there are too many pairs to count.

    Takes time in proportion to the pairs of reviewers of one paper, summed over papers.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> shared_papers(Reviews.from_pairs([("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2), ("cleo", 2)])).tolist()
    [0, 2, 1]
    """
    from scipy.sparse import csr_array

    if int((reviews.reviews_per_item**2).sum()) > COUNTED:
        return None
    ones = np.ones(reviews.n_reviews, np.int32)
    table = csr_array((ones, (reviews.reviewer, reviews.item)), shape=(reviews.n_reviewers, reviews.n_items))
    product = (table @ table.T).tocoo()
    counts = np.bincount(product.data[product.row < product.col], minlength=2)
    counts[0] = reviews.n_reviewers * (reviews.n_reviewers - 1) // 2 - counts[1:].sum()
    return counts.astype(np.int64)

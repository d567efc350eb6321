"""The table of reviews as a reviewers x items matrix; ``Reviews.from_biadjacency`` leads back without loss.

Matrices hold scores on the scale they came in: where ``reviews.lower_is_better`` holds, 1 is the best in them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reviewgraph.arguments import checked
from reviewgraph.framed import as_reviews

if TYPE_CHECKING:
    import scipy.sparse

    from reviewgraph.framed import ReviewsLike


@checked
def to_biadjacency(reviews: ReviewsLike, *, scored: bool = True) -> scipy.sparse.csr_array:
    """Return the reviewers x items matrix whose stored entries are the reviews.

    Parameters
    ----------
    reviews
        The table; rows and columns of the matrix are its codes.
    scored
        Whether the values are scores, NaN where a review is planned (default), or all 1: who reviews what.

    Returns
    -------
    scipy.sparse.csr_array
        Shape (M, N) with E stored entries. A score of 0 is a stored zero: ``eliminate_zeros`` would lose it.

    Notes
    -----
    Running time O(M + E).

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> to_biadjacency(Reviews.from_pairs([("ann", "p1", 6.0), ("bob", "p2", 0.0)])).nnz
    2
    """
    reviews = as_reviews(reviews)
    import scipy.sparse

    values = reviews.printed(reviews.score) if scored else np.ones(reviews.n_reviews, np.int64)
    shape = (reviews.n_reviewers, reviews.n_items)
    return scipy.sparse.csr_array((values, reviews.item.copy(), reviews.reviewer_start.copy()), shape=shape)

"""The table of reviews as a reviewers x items matrix, and back without loss.

Matrices hold scores on the scale they came in: where ``reviews.lower_is_better`` holds, 1 is the best in them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from reviewgraph.errors import InputError
from reviewgraph.labels import Label
from reviewgraph.reviews import FloatArray, Reviews

if TYPE_CHECKING:
    import scipy.sparse


def to_biadjacency(reviews: Reviews, *, scored: bool = True) -> scipy.sparse.csr_array:
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
    >>> to_biadjacency(Reviews.from_pairs([("ann", "p1", 6.0), ("bob", "p2", 0.0)])).nnz
    2
    """
    import scipy.sparse

    values = reviews.printed(reviews.score) if scored else np.ones(reviews.n_reviews, np.int64)
    shape = (reviews.n_reviewers, reviews.n_items)
    return scipy.sparse.csr_array((values, reviews.item.copy(), reviews.reviewer_start.copy()), shape=shape)


def from_biadjacency(
    matrix: scipy.sparse.sparray | scipy.sparse.spmatrix | npt.NDArray[Any],
    *,
    scored: bool = True,
    nan_is_planned: bool = False,
    reviewers: Sequence[Label] | None = None,
    items: Sequence[Label] | None = None,
    **options: Any,
) -> Reviews:
    """Build the table from a reviewers x items matrix.

    Parameters
    ----------
    matrix
        Shape (M, N). Sparse: the stored entries are the reviews, stored zeros included. Dense: the entries that
        are not NaN, or with ``scored=False`` those that are not 0.
    scored
        Whether values are scores (default). Otherwise only where they stand counts, and all reviews are planned.
    nan_is_planned
        Whether NaN marks a planned review. By default a stored NaN is refused.
    reviewers, items
        Labels of the rows and columns, kept in this order; 0, 1, ... by default.
    options
        Those of :meth:`Reviews.from_codes`: ``duplicates`` (entries stored twice), ``titles``, ``lower_is_better``.

    Raises
    ------
    InputError
        If the matrix has not two dimensions or holds no real numbers, the labels do not fit its shape, or a score is
        infinite or, without ``nan_is_planned``, a stored NaN.
    DuplicateReview
        If an entry is stored twice and ``duplicates`` is ``"error"``.

    Notes
    -----
    Running time O(E log E) for a sparse matrix.

    Examples
    --------
    >>> from_biadjacency(np.array([[5.0, np.nan], [7.0, 0.0]]), items=["p1", "p2"])
    <Reviews: 2 reviewers, 2 items, 3 reviews>
    """
    import scipy.sparse

    sparse = bool(scipy.sparse.issparse(matrix))
    table: Any = matrix if sparse else np.asarray(matrix)
    if table.ndim != 2 or table.dtype.kind not in "biuf":
        message = f"matrix: expected real numbers in reviewers x items, found {table.dtype} in {table.ndim} dimensions"
        raise InputError(message)
    row_labels = range(table.shape[0]) if reviewers is None else reviewers
    column_labels = range(table.shape[1]) if items is None else items
    if (len(row_labels), len(column_labels)) != table.shape:
        message = (
            f"reviewers and items: expected {table.shape[0]} and {table.shape[1]} labels, one a row and one a column "
            f"of the matrix, found {len(row_labels)} and {len(column_labels)}"
        )
        raise InputError(message)
    row, column, value = _entries(table, sparse, scored, nan_is_planned)
    known = ~np.isnan(value) if nan_is_planned else np.ones(value.size, np.bool_)
    return Reviews.from_codes(
        row,
        column,
        value if scored else None,
        scored=known if scored else None,
        reviewers=row_labels,
        items=column_labels,
        row_name=lambda entry: f"row {row[entry]}, column {column[entry]} of the matrix",
        **options,
    )


def _entries(
    table: Any, sparse: bool, scored: bool, nan_is_planned: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], FloatArray]:
    """Row, column and value of every review in a matrix."""
    if sparse:
        entries = table.tocoo()
        return entries.row, entries.col, entries.data.astype(np.float64)
    values = table.astype(np.float64)
    present = values != 0 if not scored else np.ones(values.shape, np.bool_) if nan_is_planned else ~np.isnan(values)
    row, column = np.nonzero(present)
    return row, column, values[row, column]

"""Reviews from a reviewers x items matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from reviewgraph.arrays import FloatArray, IntArray
from reviewgraph.columns import Columns
from reviewgraph.errors import InputError
from reviewgraph.labels import Label

if TYPE_CHECKING:
    import scipy.sparse


def from_biadjacency(
    matrix: scipy.sparse.sparray | scipy.sparse.spmatrix | npt.NDArray[Any],
    *,
    scored: bool = True,
    nan_is_planned: bool = False,
    reviewers: Sequence[Label] | None = None,
    items: Sequence[Label] | None = None,
    titles: Mapping[Label, str] | None = None,
    lower_is_better: bool = False,
) -> Columns:
    """Read reviews from a reviewers x items matrix.

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
    titles
        Title by item, where known; none by default.
    lower_is_better
        1 is the best score; false by default.

    Raises
    ------
    InputError
        If the matrix has not two dimensions or holds no real numbers, or the labels do not fit its shape. Scores that
        are infinite or, without ``nan_is_planned``, a stored NaN are refused by :meth:`Reviews.from_columns`.

    Notes
    -----
    Running time O(E log E) for a sparse matrix.

    Examples
    --------
    >>> from_biadjacency(np.array([[5.0, np.nan], [7.0, 0.0]]), items=["p1", "p2"])
    <Columns: 2 reviewers, 2 items, 3 rows>
    """
    import scipy.sparse

    sparse = bool(scipy.sparse.issparse(matrix))
    try:
        table: Any = matrix if sparse else np.asarray(matrix)
    except ValueError as error:
        message = "matrix: expected real numbers in reviewers x items, found rows of different lengths"
        raise InputError(message) from error
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
    # What is stored is a review; of those, NaN may mean that the score is yet to come.
    row, column, value = _entries(table, sparse, scored, nan_is_planned)
    known = ~np.isnan(value) if nan_is_planned else np.ones(value.size, np.bool_)
    return Columns(
        *(row, column, row_labels, column_labels),
        score=value if scored else None,
        scored=known if scored else None,
        titles=titles or {},
        lower_is_better=lower_is_better,
        row_name=lambda entry: f"row {row[entry]}, column {column[entry]} of the matrix",
    )


def _entries(table: Any, sparse: bool, scored: bool, nan_is_planned: bool) -> tuple[IntArray, IntArray, FloatArray]:
    """Row, column and value of every review in a matrix."""
    if sparse:
        entries = table.tocoo()
        return entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data.astype(np.float64)
    values = table.astype(np.float64)
    present = values != 0 if not scored else np.ones(values.shape, np.bool_) if nan_is_planned else ~np.isnan(values)
    row, column = np.nonzero(present)
    return row, column, values[row, column]

"""Side tables without labels: matrices over reviewers x items, and arrays of one number per reviewer or item.

They follow the order of what the caller passed, which Reviews, matrices and wide tables have, and rows and graphs do
not have. A matrix has a row per reviewer, as :func:`reviewgraph.to_biadjacency` writes it; a wide table of pandas has
labels, which say how it is turned.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph._base.errors import ColumnWarning, InputError, warn
from reviewgraph._base.labels import first_repeated, plain_label
from reviewgraph.formats.columns import Columns
from reviewgraph.table.forms import has_order

if TYPE_CHECKING:
    import numpy.typing as npt

    from reviewgraph._base.labels import Label
    from reviewgraph.table.reviews import Reviews


class Order(NamedTuple):
    """The labels of reviewers and items, and whether arrays may follow their order, on each side."""

    reviewers: Sequence[Label]
    items: Sequence[Label]
    of_reviewers: bool = True
    of_items: bool = True

    @classmethod
    def of(cls, source: Any, reviews: Reviews) -> Order:
        """Return the order that arrays beside reviews follow, as the caller passed these.

        >>> from reviewgraph.table import as_reviews
        >>> rows = [("ann", "p1"), ("bob", "p2")]
        >>> Order.of(rows, as_reviews(rows)).of_items
        False
        """
        ordered = source is reviews or has_order(source)
        return cls(reviews.reviewers, reviews.items, ordered, ordered)

    @staticmethod
    def warn_square(matrix: Any, name: str) -> None:
        """Warn of a square matrix without labels, which may be turned; one that is symmetric needs no warning."""
        size, n_columns = matrix.shape
        if size == n_columns and _is_lopsided(matrix):
            warn(
                f"{name}: a square matrix, {size} x {size}, read as reviewers x items; pass {name}.T if it is "
                "items x reviewers, or a data frame with labels, which needs no question",
                ColumnWarning,
            )

    @staticmethod
    def is_in(table: Any) -> bool:
        """Whether a table has labels on both of its axes, in an order that arrays beside it follow."""
        return is_wide(table)

    def numbered(self, table: Any, name: str) -> Any:
        """Return numbers of pairs as they are, or as pairs where they are a matrix or a wide table.

        >>> Order(["ann"], ["p1"]).numbered(np.array([[2.0]]), "cost").score.tolist()
        [2.0]
        """
        dense = isinstance(table, np.ndarray) and table.ndim == 2 and table.dtype.kind in "biuf"
        if dense and table.shape[1] == 3 and table.shape != (len(self.reviewers), len(self.items)):
            dense = False  # rows of (reviewer, item, number)
        if dense or hasattr(table, "tocoo") or is_wide(table):
            return pairs_in(table, name, self, numbered=True)
        return table


class Unlabelled(NamedTuple):
    """A matrix, or numbers, whose labels are known only beside the reviews."""

    values: Any

    def __len__(self) -> int:
        """Return the number of lines."""
        return int(np.shape(self.values)[0])


def is_matrix(table: Any) -> bool:
    """Whether it is a matrix over reviewers and items: sparse, boolean, of 0 and 1, or a wide table of pandas.

    >>> is_matrix([[True, False], [False, True]]), is_matrix([("ann", "p1")])
    (True, False)
    """
    if hasattr(table, "tocoo") or is_wide(table):
        return True
    if isinstance(table, list) and table and all(isinstance(row, list) for row in table):
        return all(isinstance(entry, bool | np.bool_) for row in table for entry in row)
    if not isinstance(table, np.ndarray) or table.ndim != 2:
        return False
    # Rows of two entries may be pairs of labels.
    return table.dtype.kind == "b" or (table.dtype.kind in "iuf" and _wider(table))


def _wider(table: npt.NDArray[Any]) -> bool:
    if table.shape[1] == 2 and table.size and np.isin(table, (0, 1)).all():
        message = (
            "matrix: an array of 0 and 1 with two columns may be pairs of labels or a matrix of two items; pass "
            "array.astype(bool), or a list of (reviewer, item)"
        )
        raise InputError(message)
    return bool(table.shape[1] != 2)


def is_wide(table: Any) -> bool:
    """Whether it is a wide table of pandas: its axes are named, or no column is named like a reviewer or an item.

    >>> is_wide({"ann": 1})
    False
    """
    if not hasattr(table, "reset_index") or not hasattr(table, "columns"):
        return False
    from reviewgraph.formats.columns import ITEM, REVIEWER, normalise
    from reviewgraph.formats.memory import rows_of_wide

    if rows_of_wide(table):
        return True
    names = {normalise(str(name)) for name in (*table.columns, *table.index.names)}
    if names & {*REVIEWER.names, *ITEM.names}:
        return False
    return all(getattr(kind, "kind", "O") in "biuf" for kind in table.dtypes)


def are_numbers(values: Any) -> bool:
    """Whether it is one number per line without labels; a Series has labels, unless nobody set its index.

    >>> are_numbers(np.array([1, 2])), are_numbers([3, 4]), are_numbers({"ann": 3})
    (True, True, False)
    """
    if isinstance(values, list | tuple):
        return bool(values) and all(isinstance(value, Real) for value in values)
    if hasattr(values, "reset_index"):
        index = values.index
        return type(index).__name__ == "RangeIndex" and index.name is None and not hasattr(values, "columns")
    if isinstance(values, str):
        return False
    dtype = getattr(values, "dtype", None)
    numeric = getattr(dtype, "kind", "") in tuple("biuf") or bool(getattr(dtype, "is_numeric", bool)())
    return numeric and len(np.shape(values)) == 1


def pairs_in(table: Any, name: str, order: Order, *, numbered: bool = False) -> Columns:
    """Return the True entries of a matrix over an order, or with ``numbered`` its numbers, as pairs.

    >>> pairs_in(np.array([[False, True]]), "conflicts", Order(["ann"], ["p1", "p2"])).item.tolist()
    [1]
    """
    matrix: Any = table
    if is_wide(table):
        order, matrix = _turned(table, name, order)
    sparse = hasattr(matrix, "tocoo")
    values: Any = matrix.tocoo() if sparse else np.asarray(matrix)
    _check_shape(values, matrix, name, order, labelled=is_wide(table))
    if sparse:
        row = values.row.astype(np.int64)
        column = values.col.astype(np.int64)
        entry = np.asarray(values.data)
    else:
        row, column = (part.ravel() for part in np.indices(values.shape))
        entry = values.ravel()
    if numbered:
        present = ~np.isnan(entry.astype(np.float64))
        return Columns(row[present], column[present], order.reviewers, order.items, entry[present].astype(np.float64))
    if not np.isin(entry, (0, 1)).all():
        odd = entry[~np.isin(entry, (0, 1))][0]
        message = f"{name}: expected a matrix of True and False, found {odd}; pass matrix > threshold, or pairs"
        raise InputError(message)
    present = entry.astype(bool)
    return Columns(row[present], column[present], order.reviewers, order.items)


def _check_shape(values: Any, matrix: Any, name: str, order: Order, *, labelled: bool) -> None:
    """Refuse a matrix of another shape, and warn of a square one that might be turned."""
    wanted = len(order.reviewers), len(order.items)
    if not labelled and not (order.of_reviewers and order.of_items):
        _ask_order(name, "matrix")
    if values.ndim != 2 or values.shape != wanted:
        turned = values.shape == wanted[::-1]
        fate = f"it is items x reviewers: pass {name}.T" if turned else "a row per reviewer and a column per item"
        shape = " x ".join(map(str, values.shape))
        message = f"{name}: expected reviewers x items, {wanted[0]} x {wanted[1]}, found {shape}; {fate}"
        raise InputError(message)
    if not labelled:
        Order.warn_square(values, name)


def _is_lopsided(square: Any) -> bool:
    if hasattr(square, "nnz"):
        return bool((square.tocsr() != square.T.tocsr()).nnz)
    same = (square == square.T) | ((square != square) & (square.T != square.T))
    return not bool(same.all())


def _ask_order(name: str, what: str) -> None:
    message = (
        f"{name}: expected labels, found {what} without any, and rows and graphs have no order that it could follow; "
        "pass Reviews, whose order is reviews.reviewers and reviews.items, or a mapping, Series or data frame by label"
    )
    raise InputError(message)


def _turned(frame: Any, name: str, order: Order) -> tuple[Order, npt.NDArray[Any]]:
    """Return the labels and cells of a wide table as reviewers x items, by the names of its axes or its labels."""
    from reviewgraph.formats.memory import matrix_of_frame, rows_of_wide

    values, _ = matrix_of_frame(frame, name)
    rows, columns = ([plain_label(label) for label in axis] for axis in (frame.index, frame.columns))
    for labels in (rows, columns):
        if len(set(labels)) < len(labels):
            twice = first_repeated(labels)
            message = f"{name}: {twice!r} stands twice among the labels; remove one of the two"
            raise InputError(message)
    side = rows_of_wide(frame)
    if side is None:
        people = set(order.reviewers)
        papers = set(order.items)
        as_it_is = bool(people.intersection(rows) and papers.intersection(columns))
        the_other = bool(people.intersection(columns) and papers.intersection(rows))
        if as_it_is == the_other:
            why = "both fit" if as_it_is else f"found rows {rows[:3]} and columns {columns[:3]}"
            message = (
                f"{name}: expected labels that say whether rows are reviewers or items, {why}; name the axes, as by "
                'frame.rename_axis(index="reviewer", columns="item")'
            )
            raise InputError(message)
        side = "reviewer" if as_it_is else "item"
    return (Order(rows, columns), values) if side == "reviewer" else (Order(columns, rows), values.T)


def numbers_in(numbers: Any, name: str, order: Order, *, of_items: bool) -> dict[Any, Any]:
    """Return one number per line by label.

    >>> numbers_in(np.array([3, 4]), "load", Order(["ann", "bob"], ["p1"]), of_items=False)
    {'ann': 3, 'bob': 4}
    """
    if hasattr(numbers, "reset_index"):
        # The default index of a Series may be labels; as positions it would be in an order of its own.
        strange = set(numbers.index).difference(order.items if of_items else order.reviewers)
        if strange:
            message = (
                f"{name}: expected a Series indexed by {'item' if of_items else 'reviewer'}, found the default index 0 "
                f"to {len(numbers) - 1}, of which {min(strange)} is no label; write frame.set_index(LABELS)[NUMBERS]"
            )
            raise InputError(message)
        return dict(numbers.items())
    values = numbers.tolist() if hasattr(numbers, "tolist") else list(numbers)
    labels, other_labels = (order.items, order.reviewers) if of_items else (order.reviewers, order.items)
    side = "items" if of_items else "reviewers"
    if not (order.of_items if of_items else order.of_reviewers):
        _ask_order(name, "numbers")
    if len(values) != len(labels):
        why = (
            f", as many as there are {'reviewers' if of_items else 'items'}" if len(values) == len(other_labels) else ""
        )
        message = f"{name}: expected a number for each of the {len(labels)} {side}, found {len(values)}{why}"
        raise InputError(message)
    return dict(zip(labels, values, strict=True))

"""Labels of reviewers and items, and the integer codes that stand for them inside.

A label stays what it was: ``7``, ``"7"`` and ``"007"`` are three labels. Codes follow the natural order of the
labels (digits compared as numbers), so they depend neither on the order of rows nor on whether ids were read
as numbers or as text.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Label: TypeAlias = Hashable
IntArray: TypeAlias = npt.NDArray[np.int64]

_DIGITS = re.compile(r"([0-9]+)")


def natural_key(label: Label) -> tuple[Any, ...]:
    """Key that sorts labels as people do: text by its words and the values of the numbers inside it.

    Whole numbers sort as their digits do, so ids read as numbers and as text take the same places; other
    numbers follow by value, everything else by its ``repr``.

    >>> sorted(["P10", "P9", "P009", 12, "11"], key=natural_key)
    ['11', 12, 'P009', 'P9', 'P10']
    """
    if isinstance(label, str) or (isinstance(label, int) and not isinstance(label, bool) and label >= 0):
        text = str(label)
        parts = _DIGITS.split(text)
        return (
            0,
            tuple(_digits(part) if odd % 2 else part for odd, part in enumerate(parts)),
            text,
            type(label).__name__,
        )
    if isinstance(label, (int, float)):
        return (1, label, type(label).__name__)
    return (2, repr(label), type(label).__name__)


def _digits(part: str) -> tuple[int, str]:
    significant = part.lstrip("0")
    return (len(significant), significant)


def encode(labels: Iterable[Any], declared: Iterable[Any] = ()) -> tuple[IntArray, Sequence[Label]]:
    """Codes of the labels, and the distinct labels in natural order.

    Parameters
    ----------
    labels
        One label a row; NumPy scalars become the Python values they hold.
    declared
        Further labels that exist although no row names them.

    Returns
    -------
    codes, distinct
        ``distinct[codes[row]]`` is the label of the row.
    """
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu" and not any(True for _ in declared):
        distinct, codes = np.unique(labels, return_inverse=True)
        return codes.astype(np.int64), tuple(distinct.tolist())
    plain = labels.tolist() if isinstance(labels, np.ndarray) else [_plain(label) for label in labels]
    first: dict[tuple[type, Label], int] = {}
    seen = np.fromiter((first.setdefault((type(label), label), len(first)) for label in plain), np.int64, len(plain))
    for label in declared:
        first.setdefault((type(_plain(label)), _plain(label)), len(first))
    found = [label for _, label in first]
    order = sorted(range(len(found)), key=lambda index: natural_key(found[index]))
    rank = np.empty(len(found), np.int64)
    rank[order] = np.arange(len(found))
    return rank[seen], tuple(found[index] for index in order)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label

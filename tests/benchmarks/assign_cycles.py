"""Assignments with an authors' file: how many cycles of two the best affinity has, what it costs to have none.

Run with ``python tests/benchmarks/assign_cycles.py [large]``.
"""

from __future__ import annotations

import numpy as np

from reviewgraph.columns import Columns

#: Part of the authors who review.
REVIEWING = 0.85


def authors_of(affinity, seed: int) -> Columns:
    """One to four authors a paper, most of them among the reviewers who fit it best, so that they fit each other's."""
    rng = np.random.default_rng(seed)
    table = affinity.tocsc()
    item, author, stranger = [], [], affinity.shape[0]
    for i in range(affinity.shape[1]):
        near = table.indices[table.indptr[i] : table.indptr[i + 1]]
        number = min(int(rng.integers(1, 5)), near.size)
        for person in rng.choice(near, number, replace=False).tolist():
            stranger += 1
            item.append(i)
            author.append(person if rng.random() < REVIEWING else stranger)
    return Columns(np.array(author), np.array(item), range(stranger + 1), range(affinity.shape[1]))

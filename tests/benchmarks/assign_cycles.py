"""What an authors' file takes at a large conference: ``python -m tests.benchmarks.assign_cycles [clustered|random]``.

Small instances, against HiGHS and enumeration, are in assign_exact.py.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from planner import assign
from reviewgraph.formats import Columns
from tests.benchmarks.test_assign import large

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


def at_a_conference(kind: str) -> None:
    """20,000 papers and reviewers, 100 candidates a paper, demand 4, load 6."""
    affinity = large(20_000, 100, 0, clustered=kind == "clustered")
    table = authors_of(affinity, 0)
    for target in ("none", "double"):
        start = time.process_time()
        found = assign(affinity, demand=4, load=6, authors=table, target=target)
        now = found.authors
        print(
            f"{kind}, {target}: {found.status}, {time.process_time() - start:.0f} s CPU, "
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB; rivals {now.rivals} before, 0 after; "
            f"price {found.price:.4f} %, below the bound by "
            f"{100 * (now.bound - found.affinity) / now.bound:.4f} %",
            flush=True,
        )


if __name__ == "__main__":
    for name in sys.argv[1:] or ["clustered", "random"]:
        at_a_conference(name)

"""Components by repeated union, links by ranks in fractions."""

from itertools import combinations
from typing import Any

import numpy as np

from reviewgraph.graph import connected_components, doubly_connected_components, recoverability, verify_merges
from tests import naive
from tests.oracles.fractions_rank import rank
from tests.oracles.oracle import Oracle, equal
from tests.strategies import Rows, to_reviews

Table = tuple[Rows, int]


def random_rows(rng: np.random.Generator) -> Table:
    """Return a sparse, critical or dense table; one in four has a hub, one in four scores from few values."""
    n_reviewers, n_items = int(rng.integers(0, 9)), int(rng.integers(1, 10))
    most = int(rng.integers(1, 5))
    values = int(rng.choice([2, 3, 3, 1_000]))
    rows: Rows = []
    for _ in range(n_reviewers):
        items = rng.permutation(n_items)[: int(rng.integers(0, most + 1))]
        rows.append({int(i): float(rng.integers(values)) for i in items})
    if rng.integers(4) == 0:
        for row in rows:
            row.setdefault(0, float(rng.integers(values)))
    return rows, n_items


def parts(labels: np.ndarray) -> list[list[int]]:
    return sorted(np.flatnonzero(labels == label).tolist() for label in np.unique(labels))


def our_components(table: Table) -> dict[str, Any]:
    reviews = to_reviews(*table)
    double = doubly_connected_components(reviews)
    if parts(verify_merges(reviews, double.merges)) != parts(double.labels):
        return {"merges": double.merges}
    return {
        "connected": parts(connected_components(reviews).labels),
        "double": parts(double.labels),
        "covers": sorted(len(cover) for cover in double.covers),
    }


def naive_components(table: Table) -> dict[str, Any]:
    rows, _ = table
    double = naive.repeat_union(rows, 2)
    return {
        "connected": naive.repeat_union(rows, 1),
        "double": double,
        "covers": sorted(len(set().union(*(rows[j] for j in part))) for part in double),
    }


def our_links(table: Table) -> dict[str, Any]:
    found = recoverability(to_reviews(*table))
    blocks = {
        frozenset(np.flatnonzero(found.block_labels == label).tolist()) for label in set(found.block_labels) - {-1}
    }
    return {"rank": found.rank, "missing": found.degrees_of_freedom, "blocks": blocks}


def links_in_fractions(table: Table) -> dict[str, Any]:
    """Ranks of ``z_i = s_j x_i + t_j`` at random whole qualities; a block is who has one slope and offset in all."""
    rows, n_items = table
    rng = np.random.default_rng(len(rows))
    quality = [int(value) for value in rng.integers(-(10**6), 10**6, n_items)]
    width, system = n_items + 2 * len(rows), []
    counted = [j for j, row in enumerate(rows) if len(row) >= 2]
    for j in counted:
        for i in rows[j]:
            line = [0] * width
            line[i], line[n_items + 2 * j], line[n_items + 2 * j + 1] = 1, -quality[i], -1
            system.append(line)
    own = rank(system)
    alike = {j: {j} for j in counted}
    for a, b in combinations(counted, 2):
        if alike[a] is not alike[b] and rank([*system, *_same(a, b, n_items, width)]) == own:
            alike[a] |= alike[b]
            for j in alike[a]:
                alike[j] = alike[a]
    missing = n_items + 2 * len(counted) - min(n_items, 2) - own
    return {"rank": own, "missing": missing, "blocks": {frozenset(block) for block in alike.values()}}


def _same(a: int, b: int, n_items: int, width: int) -> list[list[int]]:
    lines = []
    for place in (n_items, n_items + 1):
        line = [0] * width
        line[place + 2 * a], line[place + 2 * b] = 1, -1
        lines.append(line)
    return lines


ORACLES = [
    Oracle("components", "repeated union, as printed", random_rows, our_components, naive_components, equal),
    Oracle("missing links", "ranks in fractions", random_rows, our_links, links_in_fractions, equal),
]

"""Assignments with an authors' file: against HiGHS on small instances, and what it takes at a large conference.

Run with ``python tests/benchmarks/assign_cycles.py small [300]`` (with teams) or ``large [clustered|random]``.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from planner import assign
from reviewgraph.columns import Columns
from tests.benchmarks.test_assign import large, similarity
from tests.planner.assignments.naive_authors import authors_broken, papers_of

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


def nearest(score, count):
    """The best candidates of each paper alone."""
    best = np.argsort(-np.nan_to_num(score, nan=-1.0), axis=0)[:count]
    item = np.tile(np.arange(score.shape[1]), count)
    return coo_array((score[best.ravel(), item], (best.ravel(), item)), shape=score.shape)


def by_highs(affinity, authors, homes, demand, load):
    """Optimum of the whole integer programme, every couple of rivals a row; None if HiGHS calls it infeasible."""
    pairs = list(zip(affinity.row.tolist(), affinity.col.tolist(), strict=True))
    papers = papers_of(authors)
    pairs = [(j, i) for j, i in pairs if i not in papers.get(j, set())]
    column = {pair: k for k, pair in enumerate(pairs)}
    value = dict(zip(zip(affinity.row.tolist(), affinity.col.tolist(), strict=True), affinity.data, strict=True))
    rows, low, high = [], [], []

    def add(members, least, most):
        rows.append([column[pair] for pair in members])
        low.append(least)
        high.append(most)

    n_reviewers, n_items = affinity.shape
    for i in range(n_items):
        panel = [pair for pair in pairs if pair[1] == i]
        add(panel, demand, demand)
        for home in set(homes.values()):
            add([pair for pair in panel if homes.get(pair[0]) == home], 0, 1)
        for k, (a, _) in enumerate(panel):
            for b, _ in panel[k + 1 :]:
                if papers.get(a, set()) & papers.get(b, set()):
                    add([(a, i), (b, i)], 0, 1)
    for j in range(n_reviewers):
        add([pair for pair in pairs if pair[0] == j], 0, load)
    writers = {}
    for author, item in authors:
        writers.setdefault(item, set()).add(author)
    for a, q in pairs:
        for b in writers.get(q, set()):
            for p in papers.get(a, set()):
                if a < b and (b, p) in column:
                    add([(a, q), (b, p)], 0, 1)
    row = np.repeat(np.arange(len(rows)), [len(members) for members in rows])
    matrix = coo_array((np.ones(row.size), (row, np.concatenate([np.array(m, int) for m in rows]))),
                       shape=(len(rows), len(pairs))).tocsr()  # fmt: skip
    answer = milp(
        -np.array([value[pair] for pair in pairs]), integrality=np.ones(len(pairs)), bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, low, high), options={"mip_rel_gap": 0.0, "time_limit": 60},
    )  # fmt: skip
    return None if answer.x is None else -answer.fun


def small(count: int = 300) -> None:
    """Instances with teams and cycles, as the exact stage solves them and as flows and prices alone do."""
    from planner.assignments.steps import teams

    most, figures = teams.MOST_PAIRS, {"exact": [], "flows": []}
    optimal, wrong = 0, 0
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(15, 60)), int(rng.integers(15, 50))
        demand = int(rng.integers(2, 4))
        load = -(-demand * n // m) + int(rng.integers(1, 3))
        affinity = nearest(similarity(n, m, seed, topics=4), min(m, 14))
        table = authors_of(affinity, seed)
        authors = list(zip(table.reviewer.tolist(), table.item.tolist(), strict=True))
        homes = {j: f"u{rng.integers(m // 2)}" for j in range(m) if rng.random() < 0.7} if seed % 2 else {}
        best = by_highs(affinity, authors, homes, demand, load)
        for name, pairs in (("exact", most), ("flows", 0)):
            teams.MOST_PAIRS = pairs
            found = assign(affinity, demand=demand, load=load, authors=table, institutions=homes or None, target="none")
            if best is None or not found.reviews.n_reviews:
                wrong += (best is None) != (found.status == "infeasible")
                continue
            pairs = [(found.reviews.reviewers[j], found.reviews.items[i])
                     for j, i in zip(found.reviews.reviewer, found.reviews.item, strict=True)]  # fmt: skip
            wrong += bool(authors_broken(pairs, authors)) or found.authors.bound < best - 1e-6
            wrong += found.status == "optimal" and abs(found.affinity - best) > 1e-6
            optimal += name == "exact" and found.status == "optimal"
            figures[name].append((best - found.affinity) / abs(best))
    for name, losses in figures.items():
        print(f"{name}: {len(losses)} solved, short of HiGHS by {np.mean(losses):.3%}, {max(losses):.3%} at most")
    print(f"proved optimal: {optimal}; wrong claims or broken rules: {wrong}")


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
            f"circles of three {now.cycles_of_three}; price {found.price:.4f} %, below the bound by "
            f"{100 * (now.bound - found.affinity) / now.bound:.4f} %",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["large"]:
        for kind in sys.argv[2:] or ["clustered", "random"]:
            at_a_conference(kind)
    else:
        small(int((sys.argv[2:] or [300])[0]))

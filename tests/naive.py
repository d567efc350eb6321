"""Slow, obvious versions of what the kernels do: tests compare with them and with nothing else."""

from collections.abc import Iterable, Sequence
from itertools import combinations

PRIME = 2**61 - 1


def repeat_union(rows: Sequence[Iterable[int]], shared: int) -> list[list[int]]:
    """Algorithm 1 as printed: merge two sets of reviewers while their covers share ``shared`` items."""
    parts = [({reviewer}, set(items)) for reviewer, items in enumerate(rows)]
    merged = True
    while merged:
        merged = False
        for a, b in combinations(range(len(parts)), 2):
            if len(parts[a][1] & parts[b][1]) >= shared:
                parts[a] = (parts[a][0] | parts[b][0], parts[a][1] | parts[b][1])
                del parts[b]
                merged = True
                break
    return sorted(sorted(members) for members, _ in parts)


def equations(rows: Sequence[Iterable[int]], quality: Sequence[int]) -> list[list[int]]:
    """Rows of ``z_i - s_j x_i - t_j = 0`` over (z, s, t), for reviewers of two or more reviews."""
    n_items, n_reviewers = len(quality), len(rows)
    system = []
    for j, items in enumerate(rows):
        if len(set(items)) < 2:
            continue
        for i in sorted(set(items)):
            row = [0] * (n_items + 2 * n_reviewers)
            row[i], row[n_items + 2 * j], row[n_items + 2 * j + 1] = 1, -quality[i] % PRIME, PRIME - 1
            system.append(row)
    return system


def same_line(a: int, b: int, n_items: int, n_reviewers: int) -> list[list[int]]:
    """Two equations: the reviewers a and b have one slope and one offset."""
    extra = [[0] * (n_items + 2 * n_reviewers) for _ in range(2)]
    for k in range(2):
        extra[k][n_items + 2 * a + k], extra[k][n_items + 2 * b + k] = 1, PRIME - 1
    return extra


def rank(system: Sequence[Sequence[int]]) -> int:
    """Rank by elimination modulo a large prime: exact, and for random coefficients generic almost surely."""
    rows = [list(row) for row in system]
    found = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((r for r in range(found, len(rows)) if rows[r][column] % PRIME), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        inverse = pow(rows[found][column], PRIME - 2, PRIME)
        lead = [entry * inverse % PRIME for entry in rows[found]]
        rows[found] = lead
        for r in range(found + 1, len(rows)):
            factor = rows[r][column]
            if factor:
                rows[r] = [(x - factor * y) % PRIME for x, y in zip(rows[r], lead, strict=True)]
        found += 1
    return found

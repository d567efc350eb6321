"""Algorithms 2 and 3 of the paper (Appendix B), transcribed line by line with sets and maps.

Algorithm 3 carries the three mended slips: min for max in S1, S3 from the assigned papers not yet chosen,
and papers of the first reviewer enter V as soon as they meet the minimum.
"""

import numpy as np


def choose(S: set[int], k: int, rng: np.random.Generator) -> set[int]:
    return set(rng.choice(sorted(S), k, replace=False).tolist()) if k else set()


def random_assignment(N: int, k: list[int], rng: np.random.Generator) -> list[set[int]]:
    b = sum(k) // N
    V: set[int] = set()
    usage = dict.fromkeys(range(N), 0)
    T = []
    for i in range(len(k)):
        S1 = choose(set(range(N)) - V, min(k[i], N - len(V)), rng)
        S2 = choose(V, k[i] - len(S1), rng)
        T.append(S1 | S2)
        for j in T[i]:
            usage[j] += 1
            if usage[j] >= b:
                V.add(j)
    return T


def doubly_connected_assignment(N: int, k: list[int], rng: np.random.Generator) -> list[set[int]]:
    b = sum(k) // N
    usage = dict.fromkeys(range(N), 0)
    V: set[int] = set()
    first = choose(set(range(N)), k[0], rng)
    assignment = [first]
    T = set(first)
    for j in first:
        usage[j] = 1
        if usage[j] >= b:
            V.add(j)
    for i in range(1, len(k)):
        S1 = choose(set(range(N)) - T, min(k[i] - 2, N - len(T)), rng)
        S2 = choose(T - V, min(2, len(T) - len(V)), rng)
        S3 = choose(T - S2, k[i] - len(S1) - len(S2), rng)
        assignment.append(S1 | S2 | S3)
        T |= assignment[i]
        for j in assignment[i]:
            usage[j] += 1
            if usage[j] >= b:
                V.add(j)
    return assignment

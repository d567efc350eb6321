"""Claim: on small instances with conflicts, loads, costs and emergency reviewers plans are equal to brute force.

Run ``python tests/benchmarks/plan_brute_force.py [instances] [target]``: prints how many were compared, and
fails on the first difference. The target ``scores`` is ``double`` where tied scores carry no scale.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from planner import Plan, plan_extra_reviews, verify_plan
from reviewgraph import Reviews

sys.path.insert(0, str(Path(__file__).parents[1] / "planner" / "plans"))
import naive_plans


def instance(rng: np.random.Generator) -> dict[str, object]:
    """A random instance: up to 7 x 7, sparse, with what makes planning hard."""
    M, N = int(rng.integers(1, 8)), int(rng.integers(1, 8))
    loads = rng.integers(0, min(N, 4) + 1, M)
    pairs = [(int(j), int(i)) for j in range(M) for i in rng.permutation(N)[: loads[j]]]
    kind = rng.integers(4)
    emergency = int(rng.integers(0, 3))
    capacity = {j: int(rng.integers(0, 3)) for j in range(M + emergency)} if kind else None
    if kind == 1 and capacity is not None:
        capacity = {j: (0 if j < M else 6) for j in capacity}
    conflicts = [(j, i) for j in range(M + emergency) for i in range(N) if rng.random() < rng.choice([0.1, 0.5])]
    cost = {(j, i): float(rng.integers(1, 4)) for j in range(M + 2) for i in range(N)} if rng.random() < 0.3 else None
    return {
        "pairs": pairs,
        "M": M,
        "N": N,
        "capacity": capacity,
        "conflicts": conflicts,
        "cost": cost,
        "max_per_item": int(rng.integers(1, 3)) if rng.random() < 0.3 else None,
    }


def scored_instance(rng: np.random.Generator) -> dict[str, object]:
    """A random instance with ties, tight loads and limits, most of which can be planned."""
    M, N = int(rng.integers(2, 6)), int(rng.integers(3, 7))
    loads = rng.integers(0, min(N, 4) + 1, M)
    pairs = [(int(j), int(i)) for j in range(M) for i in rng.permutation(N)[: loads[j]]]
    scores = [float(score) for score in rng.integers(1, rng.integers(2, 7), len(pairs), endpoint=True)]
    emergency = int(rng.integers(0, 2))
    barred = rng.choice([0.0, 0.3, 0.5])
    return {
        "pairs": pairs,
        "scores": scores,
        "M": M,
        "N": N,
        "capacity": {j: int(rng.integers(0, 5)) for j in range(M + emergency)},
        "conflicts": [(j, i) for j in range(M + emergency) for i in range(N) if rng.random() < barred],
        "cost": {(j, i): float(rng.integers(1, 4)) for j in range(M + 1) for i in range(N)}
        if rng.random() < 0.2
        else None,
        "max_per_item": int(rng.integers(1, 3)) if rng.random() < 0.5 else None,
    }


def solve(case: dict[str, object], target: str) -> Plan:
    """Plan an instance."""
    by_scores = target == "scores"
    rows = [(*pair, score) for pair, score in zip(case["pairs"], case["scores"], strict=True)] if by_scores else None
    reviews = Reviews.from_pairs(rows or case["pairs"], reviewers=range(case["M"]), items=range(case["N"]))
    options = {name: case[name] for name in ("capacity", "conflicts", "cost", "max_per_item") if case[name] is not None}
    return plan_extra_reviews(
        reviews, "double" if by_scores else target, time_limit=60, use_scores=by_scores, **options
    )


def brute(case: dict[str, object], target: str) -> object:
    """Solve an instance by brute force."""
    N, capacity = case["N"], case["capacity"]
    M = max([case["M"], *(j + 1 for j in capacity or ())])
    covers = [0] * M
    for j, i in case["pairs"]:
        covers[j] |= 1 << i
    spare = [10**6 if capacity is None else capacity.get(j, 0) for j in range(M)]
    barred = set(case["conflicts"])
    allowed = [
        (j, i) for j in range(M) for i in range(N) if spare[j] and (j, i) not in barred and not covers[j] >> i & 1
    ]
    room = [10**6 if case["max_per_item"] is None else case["max_per_item"]] * N
    reached, most_sets = target, 60_000
    if target == "scores":
        given: list[dict[int, float]] = [{} for _ in range(M)]
        for (j, i), score in zip(case["pairs"], case["scores"], strict=True):
            given[j][i] = score
        reached, most_sets = naive_plans.double_by_scores(given), 6_000
    return naive_plans.smallest_plan(covers, N, allowed, spare, room, case["cost"] or {}, reached, most_sets)


def main(count: int, targets: list[str]) -> None:
    """Compare until ``count`` instances were small enough for brute force."""
    seen: Counter[str] = Counter()
    started, seed = time.perf_counter(), 0
    while sum(seen.values()) < count:
        seed += 1
        target = targets[seed % len(targets)]
        case = (scored_instance if target == "scores" else instance)(np.random.default_rng(seed))
        expected = brute(case, target)
        if expected == "too many" or (isinstance(expected, tuple) and expected[0] == 0):
            continue  # nothing to plan is no test of a planner
        plan = solve(case, target)
        verify_plan(plan)
        if expected is None:
            same = plan.status == "infeasible"
        else:
            same = plan.status == "optimal" and (plan.count, round(plan.cost, 6)) == (
                expected[0],
                round(expected[1], 6),
            )
        if not same:
            print(f"seed {seed}, {target}: brute force {expected}, planner {plan} cost {plan.cost}\n{case}")
            sys.exit(1)
        seen[f"{target} {'none' if expected is None else expected[0]}"] += 1
    print(f"{sum(seen.values())} equal in {time.perf_counter() - started:.0f} s: {dict(sorted(seen.items()))}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000, sys.argv[2:] or ["double", "recoverable", "connected"])

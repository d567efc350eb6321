"""Assignments under rules against HiGHS on small instances, and all assignments on tiny ones.

Run with ``python -m tests.benchmarks.assign_exact [small] [tiny]`` (300 and 2,000 instances by default). Small ones are
written as one integer programme here, from labels, not by the package; tiny ones are enumerated panel by panel. A rule
that does not hold, a false "infeasible", a "proved" that is not the best and a relaxation that ends with less count as
faults and end the script with status 1.
"""

import sys
import time
from itertools import combinations

import numpy as np

from planner import AtMost, assign
from tests.planner.assignments import naive_rules as naive

TOLERANCE = 1e-6

#: Seconds for HiGHS.
MOST_SECONDS = 30.0


def instance(rng, n_items, n_reviewers):
    """Affinities with ties, demands, loads, and rules of every kind."""
    reviewers, items = [f"r{j}" for j in range(n_reviewers)], [f"p{i}" for i in range(n_items)]
    levels = int(rng.choice([2, 5, 1000]))
    density = float(rng.choice([0.6, 0.9]))
    affinity = {(r, p): int(rng.integers(levels)) / levels for r in reviewers for p in items if rng.random() < density}
    most = 3 if n_items > 5 else 2
    demand = {p: int(rng.integers(1, most + 1)) for p in items}
    spare = -(-sum(demand.values()) // n_reviewers)
    load = {r: spare + int(rng.integers(0, 3)) for r in reviewers}
    attributes = naive.random_attributes(rng, reviewers)
    rules = naive.random_rules(rng, attributes)
    return {"affinity": affinity, "demand": demand, "load": load, "attributes": attributes, "rules": rules}


def solved(case, **options):
    """What the package says, without a level unless one is asked for."""
    return assign(
        case["affinity"], items=case["demand"], reviewers=case["load"], demand=case["demand"], load=case["load"],
        attributes=case["attributes"], rules=case["rules"], **{"target": "none", **options},
    )  # fmt: skip


def panels_of(result, case):
    """Reviewers of each item."""
    table = result.reviews
    found = {p: [] for p in case["demand"]}
    for j, i in zip(table.reviewer.tolist(), table.item.tolist(), strict=True):
        found[table.items[i]].append(table.reviewers[j])
    return found


def worth(panels, case):
    """Affinity."""
    return sum(case["affinity"].get((r, p), 0.0) for p, panel in panels.items() for r in panel)


def faults(result, case):
    """What is wrong with an assignment as such."""
    panels = panels_of(result, case)
    wrong = [rule.text for panel in panels.values() for rule in naive.broken(panel, case["attributes"], case["rules"])]
    wrong += [f"{p} has {len(panel)}" for p, panel in panels.items() if len(panel) != case["demand"][p]]
    for reviewer, most in case["load"].items():
        wrong += [reviewer] if sum(reviewer in panel for panel in panels.values()) > most else []
    return wrong


def by_highs(case):
    """Largest affinity by one integer programme; None where there is none, nan where time runs out."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    pairs = list(case["affinity"])
    value, rows, low, high = [case["affinity"][pair] for pair in pairs], [], [], []

    def add(row, least, most):
        rows.append(row)
        low.append(least)
        high.append(most)

    for p, number in case["demand"].items():
        add({k: 1 for k, pair in enumerate(pairs) if pair[1] == p}, number, number)
    for r, most in case["load"].items():
        add({k: 1 for k, pair in enumerate(pairs) if pair[0] == r}, 0, most)
    for rule in case["rules"]:
        values = {v for r in case["load"] for v in naive.values_of(r, rule.attribute, case["attributes"])}
        for p in case["demand"]:
            own = [k for k, pair in enumerate(pairs) if pair[1] == p]
            of = {
                v: [k for k in own if v in naive.values_of(pairs[k][0], rule.attribute, case["attributes"])]
                for v in sorted(values, key=str)
            }
            if isinstance(rule, AtMost):
                for members in of.values():
                    add(dict.fromkeys(members, 1), 0, rule.number)
            else:
                members = of.get(True if rule.value is None else rule.value, [])
                add(dict.fromkeys(members, 1), rule.number, len(pairs))
    entries = [(number, k, w) for number, row in enumerate(rows) for k, w in row.items()]
    number, column, weight = (np.array(part) for part in zip(*entries, strict=True))
    matrix = csr_array((weight, (number, column)), shape=(len(rows), len(value)))
    answer = milp(
        -np.array(value), integrality=np.ones(len(value)), bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, low, high), options={"mip_rel_gap": 0.0, "time_limit": MOST_SECONDS},
    )  # fmt: skip
    return {0: lambda: -answer.fun, 2: lambda: None}.get(answer.status, lambda: np.nan)()


def by_enumeration(case):
    """Largest affinity over all assignments; None where there is none."""
    names, free = list(case["load"]), set(case["affinity"])
    # By what is left of the loads.
    best = {tuple(case["load"].values()): 0.0}
    for p, number in case["demand"].items():
        after = {}
        for panel in combinations([r for r in names if (r, p) in free], number):
            if naive.broken(panel, case["attributes"], case["rules"]):
                continue
            gain = worth({p: panel}, case)
            for left, total in best.items():
                rest = tuple(room - (name in panel) for name, room in zip(names, left, strict=True))
                if min(rest) >= 0 and total + gain > after.get(rest, -np.inf):
                    after[rest] = total + gain
        best = after
    return max(best.values(), default=None)


def compare(cases, oracle):
    """Compare with an oracle; returns counts and what is wrong."""
    count = {"optimal": 0, "feasible": 0, "infeasible": 0, "level_missed": 0, "not settled by the oracle": 0}
    wrong, gaps, seconds = [], [0.0], []
    for number, case in enumerate(cases):
        best, start = oracle(case), time.process_time()
        result = solved(case)
        seconds.append(time.process_time() - start)
        count[str(result.status)] += 1
        count["not settled by the oracle"] += best is not None and bool(np.isnan(best))
        if not result.status.reached:
            false = str(result.status) == "infeasible" and best is not None and not np.isnan(best)
            wrong += [(number, "called infeasible", best, result.explanation)] if false else []
            continue
        value = worth(panels_of(result, case), case)
        wrong += [(number, fault) for fault in faults(result, case)]
        if best is None or value > best + TOLERANCE or result.bound < best - TOLERANCE:
            wrong.append((number, "bound", value, best, result.bound))
        elif value < best - TOLERANCE:
            gaps.append((best - value) / max(abs(best), 1.0))
            wrong += [(number, "called the best", value, best)] if str(result.status) == "optimal" else []
        wrong += relaxed_wrong(number, case, value)
    return count, gaps, wrong, seconds


def relaxed_wrong(number, case, value):
    """Relax a case, without its last rule or with unscored pairs: it must not lose."""
    wrong = []
    loose = {**case, "rules": case["rules"][:-1]}
    again = worth(panels_of(solved(loose), loose), loose)
    wrong += [(number, "worse without a rule", again, value)] if again < value - TOLERANCE else []
    again = worth(panels_of(solved(case, allow_unscored=True), case), case)
    return wrong + ([(number, "worse with unscored pairs", again, value)] if again < value - TOLERANCE else [])


def main(small=300, tiny=2000):
    """Compare and print."""
    all_wrong = []
    for name, number, oracle, sizes in (
        ("HiGHS", small, by_highs, (8, 25, 6, 20)), ("enumeration", tiny, by_enumeration, (1, 5, 2, 6)),
    ):  # fmt: skip
        cases = []
        for seed in range(number):
            rng = np.random.default_rng(seed)
            cases.append(instance(rng, int(rng.integers(*sizes[:2])), int(rng.integers(*sizes[2:]))))
        count, gaps, wrong, seconds = compare(cases, oracle)
        print(f"{name}: {number} instances: {count}; short of the best {len(gaps) - 1}, at most {max(gaps):.3%}; "
              f"faults {len(wrong)}; {sum(seconds):.1f} s CPU, one {max(seconds, default=0):.1f} at most")  # fmt: skip
        print(*wrong[:10], sep="\n")
        all_wrong += wrong
    return 1 if all_wrong else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))

"""Changed reviews after five in a hundred reviewers leave, against the fewest there can be.

Small instances (20 papers, 16 reviewers): the fewest at level ``double`` is found by an integer programme (HiGHS), to
which a row is added for each answer that misses the level: some pair outside a largest set of pairs that still misses
it must be assigned. Large ones (1000 papers, 800 reviewers): the fewest without a level is found by the flow. In the
second event conflicts and new papers come as well. The claim: without a level the changes are the fewest, with it they
are the fewest or one more, and a change of a large assignment takes seconds.

    OMP_NUM_THREADS=1 python tests/benchmarks/assign_stable.py [--small 30] [--large 3]
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from planner import assign
from reviewgraph import Reviews, doubly_connected_components

_spec = importlib.util.spec_from_file_location("assign_benchmark", Path(__file__).with_name("test_assign.py"))
instances = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(instances)

DEMAND, LOAD = 3, 5

#: Rows added to an integer programme before it is given up.
MOST_ROWS = 200


class Event(NamedTuple):
    """Parts of the reviewers who leave, of pairs assigned that come into conflict, and of the papers that are new."""

    name: str
    leave: float
    conflicts: float
    new: float


EVENTS = (Event("5 % leave", 0.05, 0.0, 0.0), Event("leave, conflicts, new papers", 0.05, 0.02, 0.05))


class After(NamedTuple):
    """Affinities of those who are there, who they are, and the assignment before."""

    score: np.ndarray
    reviewers: list[int]
    previous: list[tuple[int, int]]


def happen(score, event, seed):
    """Assign the papers that were there first, then let the event happen."""
    rng = np.random.default_rng(1000 + seed)
    n_reviewers, n_items = score.shape
    old = n_items - round(event.new * n_items)
    first = assign(score[:, :old], demand=DEMAND, load=LOAD).reviews
    previous = list(zip(first.reviewer.tolist(), first.item.tolist(), strict=True))
    score = score.copy()
    for row in rng.choice(len(previous), round(event.conflicts * len(previous)), replace=False).tolist():
        score[previous[row]] = np.nan
    gone = set(rng.choice(n_reviewers, round(event.leave * n_reviewers), replace=False).tolist())
    here = [j for j in range(n_reviewers) if j not in gone]
    return After(score[here], here, previous)


def double(after, chosen):
    """Whether these pairs (rows of ``np.argwhere``) make all papers comparable for certain."""
    table = Reviews.from_codes(chosen[:, 0], chosen[:, 1], reviewers=after.score.shape[0], items=after.score.shape[1])
    return doubly_connected_components(table).covers_all


def fewest(after, *, level):
    """Fewest changed pairs by an integer programme, with or without the level; the second says whether it is proved."""
    pairs = np.argwhere(~np.isnan(after.score))
    before = set(after.previous)
    changed = np.array([(after.reviewers[j], i) not in before for j, i in pairs.tolist()], float)
    by_reviewer = pairs[:, 0] == np.arange(after.score.shape[0])[:, np.newaxis]
    by_item = pairs[:, 1] == np.arange(after.score.shape[1])[:, np.newaxis]
    rows = [LinearConstraint(by_reviewer, 0, LOAD), LinearConstraint(by_item, DEMAND, DEMAND)]
    rng, bound = np.random.default_rng(0), 0
    for _ in range(MOST_ROWS):
        answer = milp(changed, integrality=np.ones(len(pairs)), bounds=Bounds(0, 1), constraints=rows)
        if answer.x is None:
            return None, answer.status == 2
        chosen, bound = answer.x > 0.5, round(answer.fun)
        if not level or double(after, pairs[chosen]):
            return bound, True
        # The largest set of pairs that still misses the level, grown at random: one pair outside it there must be.
        outside = []
        for pair in rng.permutation(np.flatnonzero(~chosen)).tolist():
            chosen[pair] = True
            if double(after, pairs[chosen]):
                chosen[pair] = False
                outside.append(pair)
        row = np.zeros(len(pairs))
        row[outside] = 1
        rows.append(LinearConstraint(row[np.newaxis], 1, np.inf))
    return bound, False


def changed(after, target, **options):
    """Changed pairs of our answer, the result, and CPU seconds."""
    start = time.process_time()
    result = assign(
        after.score,
        reviewers=after.reviewers,
        demand=DEMAND,
        load=LOAD,
        target=target,
        previous=after.previous,
        **options,
    )
    return len(result.changes.new) if result.status.reached else None, result, time.process_time() - start


def small(number):
    """Compare with the integer programme."""
    print("small: event | communities | instances | changed as few as possible: no level | double | worst excess")
    for event in EVENTS:
        for communities in (False, True):
            flat, level, open_ones, excess = 0, 0, 0, []
            for seed in range(number):
                score = instances.similarity(20, 16, seed, communities=communities, topics=4)
                after = happen(score, event, seed)
                flat += changed(after, "none")[0] == fewest(after, level=False)[0]
                ours, (least, proved) = changed(after, "double")[0], fewest(after, level=True)
                open_ones += not proved
                level += ours == least
                excess.append(0 if ours is None or least is None else ours - least)
            print(
                f"{event.name} | {communities} | {number} | {flat} | {level} ({open_ones} not proved) | "
                f"{max(excess)}, {sum(excess)} in all",
                flush=True,
            )


def large(number):
    """Count changes and seconds."""
    print("large: event | communities | seed | target | per change | changed | fewest | price % | of changes % | CPU s")
    for event in EVENTS:
        for communities in (False, True):
            for seed in range(number):
                after = happen(instances.similarity(1000, 800, seed, communities=communities), event, seed)
                for target, price in (("none", None), ("double", None), ("double", 0.05), ("double", 0.0)):
                    new, result, seconds = changed(after, target, per_change=price)
                    start = f"{event.name} | {communities} | {seed} | {target} | {price}"
                    counts = f"{new} | {result.changes.fewest}"
                    costs = f"{result.price:.4f} | {result.price_of_concerns:.4f} | {seconds:.1f}"
                    print(f"{start} | {counts} | {costs}", flush=True)


def main():
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", type=int, default=30)
    parser.add_argument("--large", type=int, default=3)
    options = parser.parse_args()
    if options.small:
        small(options.small)
    if options.large:
        large(options.large)


if __name__ == "__main__":
    main()

"""What a connection level buys: affinity lost beside the best papers found, for four kinds of assignment.

The instances are those of ``test_assign.py``: 1000 papers, 800 reviewers, three reviews a paper, 2 % conflicts;
linear scoring functions as in the paper. ``REVIEWGRAPH_SEEDS`` says how many (default 10). The figures of
docs/ come from here.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from pathlib import Path

import numpy as np

import lsc
from lsc.simulation import simulate
from planner import assign
from reviewgraph import doubly_connected_assignment, doubly_connected_components, random_assignment

_spec = importlib.util.spec_from_file_location("assign_benchmark", Path(__file__).with_name("test_assign.py"))
instances = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(instances)

SIGMAS = (0.0, 0.25, 0.5)
SELECTED = 100


def contenders(seed, communities):
    """Four assignments of the same size, with the affinity that each loses, in percent."""
    score = instances.similarity(1000, 800, seed, communities=communities)
    loads = [4] * 600 + [3] * 200
    best = assign(score, demand=3, load=5, target="none")
    double = assign(score, demand=3, load=5, target="double")
    tables = {
        "affinity alone": best.reviews,
        "assign(target='double')": double.reviews,
        "Algorithm 2": random_assignment(1000, 800, loads, np.random.default_rng(seed)),
        "Algorithm 3": doubly_connected_assignment(1000, 800, loads, np.random.default_rng(seed)),
    }
    total = {name: np.nansum(score[table.reviewer, table.item]) for name, table in tables.items()}
    return {name: (table, 100 * (1 - total[name] / best.affinity)) for name, table in tables.items()}


def precision(table, sigma, seed):
    """Share of the hundred best papers among the hundred selected."""
    made = simulate(noise=sigma, seed=np.random.default_rng(seed), assignment=table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = lsc.calibrate(made.reviews).select(SELECTED, by_group_average=True)
    code = made.reviews.item_code
    best = np.argsort(-made.truth, kind="stable")[:SELECTED]
    return 100 * len({code[label] for label in chosen} & set(best.tolist())) / SELECTED


def test_what_connection_buys(benchmark):
    """Double costs next to nothing in affinity and recovers what the best affinity alone leaves open."""
    seeds = int(os.environ.get("REVIEWGRAPH_SEEDS", "10"))
    rows = {}

    def run():
        for communities in (False, True):
            for seed in range(seeds):
                for name, (table, lost) in contenders(seed, communities).items():
                    found = [precision(table, sigma, 100 + seed) for sigma in SIGMAS]
                    rows.setdefault((communities, name), []).append(
                        [lost, doubly_connected_components(table).covers_all, *found]
                    )

    benchmark.pedantic(run, rounds=1)
    means = {key: np.mean(np.array(found, float), axis=0) for key, found in rows.items()}
    print("\ncommunities | assignment | affinity lost % | double | precision at sigma 0, 0.25, 0.5")
    for (communities, name), mean in means.items():
        print(f"{communities} | {name} | {mean[0]:.3f} | {mean[1]:.0%} | " + " | ".join(f"{v:.1f}" for v in mean[2:]))
    for communities in (False, True):
        assert means[communities, "assign(target='double')"][1] == 1.0
        assert means[communities, "assign(target='double')"][0] < 0.5

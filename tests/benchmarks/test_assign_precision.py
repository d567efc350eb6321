"""What a connection level buys: affinity lost beside the best papers found, for five kinds of assignment.

The instances are those of ``test_assign.py``: 1000 papers, 800 reviewers, three reviews a paper, 2 % conflicts;
linear scoring functions as in the paper. ``REVIEWGRAPH_SEEDS`` says how many (default 10). The figures of docs/
come from here: where ``REVIEWGRAPH_PICTURE`` names a file, the picture is written there.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from pathlib import Path

import numpy as np

import lsc
from lsc.simulate import simulate
from planner import assign
from reviewgraph import doubly_connected_assignment, is_recovery_resilient, random_assignment

_spec = importlib.util.spec_from_file_location("assign_benchmark", Path(__file__).with_name("test_assign.py"))
instances = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(instances)

SIGMAS = (0.0, 0.25, 0.5)
SELECTED = 100
CONDITIONING = 0.005


def contenders(seed, communities):
    """Five assignments of the same size, with the affinity that each loses, in percent."""
    score = instances.similarity(1000, 800, seed, communities=communities)
    loads = [4] * 600 + [3] * 200
    best = assign(score, demand=3, load=5, target="none")
    double = assign(score, demand=3, load=5, target="double")
    better = assign(score, demand=3, load=5, target="double", conditioning=CONDITIONING)
    tables = {
        "affinity alone": best.reviews,
        "assign(target='double')": double.reviews,
        f"the same, conditioning={CONDITIONING}": better.reviews,
        "Algorithm 2": random_assignment(1000, 800, loads, np.random.default_rng(seed)),
        "Algorithm 3": doubly_connected_assignment(1000, 800, loads, np.random.default_rng(seed)),
    }
    total = {name: np.nansum(score[table.reviewer, table.item]) for name, table in tables.items()}
    return {name: (table, 100 * (1 - total[name] / best.affinity)) for name, table in tables.items()}


def precision(table, sigma, seed):
    """Share of the hundred best papers among the hundred selected."""
    made = simulate(noise=sigma, rng=np.random.default_rng(seed), assignment=table)
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
                    rows.setdefault((communities, name), []).append([lost, is_recovery_resilient(table), *found])

    benchmark.pedantic(run, rounds=1)
    means = {key: np.mean(np.array(found, float), axis=0) for key, found in rows.items()}
    print("\ncommunities | assignment | affinity lost % | double | precision at sigma 0, 0.25, 0.5")
    for (communities, name), mean in means.items():
        print(f"{communities} | {name} | {mean[0]:.3f} | {mean[1]:.0%} | " + " | ".join(f"{v:.1f}" for v in mean[2:]))
    if place := os.environ.get("REVIEWGRAPH_PICTURE"):
        picture(means, place)
    for communities in (False, True):
        assert means[communities, "assign(target='double')"][1] == 1.0
        assert means[communities, "assign(target='double')"][0] < 0.5


def picture(means, place):
    """Precision by noise, one panel for each kind of instance; the affinity lost stands in the legend."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, communities in zip(figure.subplots(1, 2, sharey=True), (False, True), strict=True):
        for mark, ((_, name), mean) in zip(
            "osD^v", ((key, mean) for key, mean in means.items() if key[0] == communities), strict=False
        ):
            axes.plot(SIGMAS, mean[2:], marker=mark, markersize=5, label=f"{name}: {round(mean[0], 3) + 0:.3g} % lost")
        axes.set_title("two communities" if communities else "topic clusters", fontsize=10)
        axes.set_xlabel("noise in the scores (sigma)")
        axes.set_xticks(SIGMAS)
        axes.legend(fontsize=7, title="affinity", title_fontsize=7, loc="lower left")
    figure.axes[0].set_ylabel("best 100 papers found, %")
    figure.savefig(place)

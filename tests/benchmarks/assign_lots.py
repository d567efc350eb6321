"""Assignments by lot: expected affinity, share of draws at the level, and what draws do to probabilities.

The instances are those of ``test_assign.py``: 1000 papers, 800 reviewers, three reviews a paper, loads up to 5, 2 %
conflicts, topic clusters or two communities. For each cap, and for the setting that NeurIPS 2024 deployed (cap 0.9,
beta 0.1): expected affinity in percent of the best assignment without a level, the share of draws at ``double`` as
rounded and after mending, and how often each pair was assigned. Frequencies are counted here, from the draws, and
compared with the caps and the published probabilities; a pair is called above its cap where its frequency exceeds it by
more than three standard errors of a pair that is assigned with just that probability. Among S pairs at the cap some
0.13 % are expected beyond three by chance alone, which stands beside the count.

    OMP_NUM_THREADS=1 python tests/benchmarks/assign_lots.py [--instances 10] [--draws 100] [--large]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import time
from pathlib import Path

import numpy as np
from planner.assignments.lots.settling import settle

from planner import assign
from planner.assignments.lots.marginals import Gain, limits_of
from planner.assignments.model.inputs import Wishes, build
from planner.assignments.model.levels import aim_named
from planner.assignments.wishes.pairs import scored_pairs
from reviewgraph.clock import Clock
from reviewgraph.kernels.compiling import POLICY

_spec = importlib.util.spec_from_file_location("assign_benchmark", Path(__file__).with_name("test_assign.py"))
instances = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(instances)

N_ITEMS, N_REVIEWERS, DEMAND, LOAD = 1000, 800, 3, 5
SETTINGS = {"Q = 0.9": (0.9, 0.0), "Q = 0.5": (0.5, 0.0), "Q = 0.9, beta = 0.1": (0.9, 0.1)}
SIGMAS = 3.0


def study(score, cap, beta, draws):
    """Settle probabilities, draw, and count."""
    problem = build(scored_pairs(score, None, None), Wishes(DEMAND, LOAD, 0, (), (), None, None, (), False))
    best = assign(score, demand=DEMAND, load=LOAD, target="none").affinity
    caps, start = limits_of(problem, cap), time.process_time()
    gain = Gain(problem.affinity, beta)
    settled = settle(problem, gain, caps, aim_named("double"), 0, Clock(None), lambda *words: None, draws)
    seconds = time.process_time() - start
    lots, rng = settled.lots, np.random.default_rng(12345)
    assert (lots.units == settled.marginals.units[lots.pairs]).all()
    times, moved, lost = np.zeros((2, lots.pairs.size)), 0, 0.0
    at_once = reached = 0
    start = time.process_time()
    for _ in range(draws):
        draw = lots.draw(rng)
        problem_kept(lots.within, draw.first)
        problem_kept(lots.within, draw.chosen)
        times += draw.first, draw.chosen
        at_once += draw.at_once
        reached += draw.reached
        moved += int((draw.first != draw.chosen).sum())
        lost += float((lots.within.affinity * (draw.first.astype(int) - draw.chosen)).sum())
    x = lots.probability
    frequency, error = times / draws, np.sqrt(x * (1 - x) / draws)
    at_cap = np.sqrt(cap * (1 - cap) / draws)
    deviation = np.abs(frequency - x) / np.maximum(error, 1e-12)
    open_pairs = (x > 0) & (x < 1)
    return {
        "percent": 100 * float((lots.within.affinity * x).sum()) / best,
        "gap": 100 * (settled.bound - settled.marginals.value) / settled.bound,
        "support": int(x.size),
        "entropy": float(-(x * np.log(x)).sum()),
        "draws": draws,
        "at_once": at_once / draws,
        "mended": reached / draws,
        "changed": moved / draws,
        "lost": 100 * lost / draws / best,
        "pairs_near_cap": int((x > cap - 3 * at_cap).sum()),
        "above_drawn": int((frequency[0] > cap + SIGMAS * at_cap).sum()),
        "above": int((frequency[1] > cap + SIGMAS * at_cap).sum()),
        "largest": float(frequency[1].max()),
        "largest_drawn": float(frequency[0].max()),
        "off_drawn": float((deviation[0][open_pairs] > SIGMAS).mean()),
        "off": float((deviation[1][open_pairs] > SIGMAS).mean()),
        "seconds": seconds,
        "seconds_a_draw": (time.process_time() - start) / draws,
    }


def problem_kept(problem, chosen):
    """Check demands and loads of a draw; pairs outside the support are no pairs of its problem."""
    assert (np.bincount(problem.item[chosen], minlength=problem.n_items) == problem.demand).all()
    assert (np.bincount(problem.reviewer[chosen], minlength=problem.n_reviewers) <= problem.load).all()


def report(rows):
    """Print means over instances, by kind and setting."""
    print("instances | setting | number | " + " | ".join(next(iter(rows.values()))))
    for kind in ("topic clusters", "two communities"):
        for setting in SETTINGS:
            found = [row for key, row in rows.items() if key.startswith(f"{kind}|{setting}|")]
            if found:
                means = {name: np.mean([row[name] for row in found]) for name in found[0]}
                print(f"{kind} | {setting} | {len(found)} | " + " | ".join(f"{v:.4g}" for v in means.values()))


def large():
    """20,000 papers and reviewers, 100 candidates each, caps, institutions and the level: time and memory."""
    for clustered in (True, False):
        affinity = instances.large(20_000, 100, 0, clustered=clustered)
        institutions = dict(enumerate(np.random.default_rng(1).integers(500, size=20_000).tolist()))
        start, cpu = time.monotonic(), time.process_time()
        result = assign(
            affinity, demand=4, load=6, max_probability=0.5, institutions=institutions, draws=10,
            progress=lambda told: print(f"  {told.seconds:.0f} s {told.words}", flush=True),
        )  # fmt: skip
        print(result, {**result.randomised.to_dict()})
        print(
            f"clustered {clustered}: {time.monotonic() - start:.0f} s, {time.process_time() - cpu:.0f} s of processor "
            f"time, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB", flush=True,
        )  # fmt: skip


def main():
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=10)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--results", type=Path, default=Path("lots.json"), help="rows done; it goes on from there")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    if options.large:
        large()
        return
    rows = json.loads(options.results.read_text()) if options.results.exists() else {}
    for seed in range(options.instances):
        for kind in ("topic clusters", "two communities"):
            for setting in options.settings:
                key = f"{kind}|{setting}|{seed}"
                if key in rows:
                    continue
                score = instances.similarity(N_ITEMS, N_REVIEWERS, seed, communities=kind == "two communities")
                with POLICY.at_once():
                    rows[key] = study(score, *SETTINGS[setting], options.draws)
                options.results.write_text(json.dumps(rows))
                print(key, {name: round(value, 4) for name, value in rows[key].items()}, flush=True)
    report(rows)


if __name__ == "__main__":
    main()

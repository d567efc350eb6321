"""The speeds and sizes this project set out to reach: how each is measured, and when it is reached.

A row measures a cold call and warm ones, and what it is compared with in the same process. ``tests.benchmarks.page``
runs each in a process of its own.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from reviewgraph import Search

#: What a row measured: cold and warm seconds; where there is one, the anchor's seconds and name; found, in words.
Measured = dict[str, Any]


class Row(NamedTuple):
    """A piece of work, what it has to reach, and how it is measured and judged."""

    work: str
    goal: str
    measure: Callable[[], Measured]
    verdict: Callable[[Measured], str]


def timed(call: Callable[[], Any], warm: int = 5) -> tuple[Any, Measured]:
    """Call once cold and ``warm`` times more; return the last result and the seconds, the warm ones the least."""
    seconds = []
    result = None
    for _ in range(1 + warm):
        begun = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - begun)
    return result, {"cold": seconds[0], **({"warm": min(seconds[1:])} if warm else {})}


#: Number of runs of ours and of each rival, taken in turn.
RUNS = 5


def processor_seconds(call: Callable[[], Any]) -> float:
    """Call and return the CPU time of this process, over all threads."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


def calibration(size: tuple[int, int, int], name: str) -> Measured:
    """Calibrate, and solve the same programme by CVXPY with the faster of Clarabel and PIQP, both ``RUNS`` times.

    One thread each, so that CPU time is the time on an idle machine.
    """
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
    import cvxpy

    import lsc
    from tests.benchmarks.harness.tables import by_cvxpy, hypothesis_of, linear_reviewers

    reviews = linear_reviewers(*size)
    hypothesis = hypothesis_of(reviews, name)
    begun = time.process_time()
    result = lsc.calibrate(reviews, hypothesis)
    cold = time.process_time() - begun
    by_cvxpy(linear_reviewers(20, 20, 3), "linear")  # imports what CVXPY loads when first used
    solvers = [solver for solver in ("CLARABEL", "PIQP") if solver in cvxpy.installed_solvers()]
    # The faster rival runs as often as ours, the other once.
    ours = []
    rivals = {solver: [by_cvxpy(reviews, hypothesis, solver)] for solver in solvers}
    fastest = min(solvers, key=lambda solver: rivals[solver][0])
    for run in range(RUNS):
        ours.append(processor_seconds(lambda: lsc.calibrate(reviews, hypothesis)))
        if run:
            rivals[fastest].append(by_cvxpy(reviews, hypothesis, fastest))
    seconds, objective, solver = min((*min(runs), solver) for solver, runs in rivals.items())
    found = {"cold": cold, "warm": min(ours)}
    apart = abs(result.objective - objective) / objective
    words = f"{result.status}, objectives {apart:.0e} apart; of {', '.join(rivals)}"
    return found | {"anchor": seconds, "rival": f"CVXPY, {solver}", "words": words}


def calibration_alone(table: str, name: str = "linear", warm: int = 2) -> Measured:
    """Calibrate a table of the harness."""
    import lsc
    from tests.benchmarks.harness import tables

    reviews = getattr(tables, table)()
    result, found = timed(lambda: lsc.calibrate(reviews, name), warm)
    return found | {"words": f"{result.status}, {result.iterations} iterations"}


def posterior_of(kind: str) -> Measured:
    """Infer the qualities of a conference with scores of a kind, twice; convergence counts in both tables."""
    from lsc._inference.inferring import infer
    from tests.benchmarks.harness.tables import conference

    tables = [conference(kind, seed) for seed in range(2)]
    results = [infer(*tables[0])]
    seconds = []
    for table in tables:
        begun = time.process_time()
        results.append(infer(*table))
        seconds.append(time.process_time() - begun)
    statuses = {result.status.value for result in results}
    words = f"{', '.join(sorted(statuses))}, seconds of CPU, the slower of two tables"
    return {"cold": max(seconds), "converged": "sweeps_exhausted" not in statuses, "words": words}


def components() -> Measured:
    """Find components; networkx projects the same graph."""
    import networkx as nx

    from reviewgraph.graph import doubly_connected_components, to_networkx
    from tests.benchmarks.harness.tables import random_pairs

    reviews = random_pairs()
    groups, found = timed(lambda: doubly_connected_components(reviews))
    graph = to_networkx(reviews)
    reviewers = [node for node, side in graph.nodes(data="bipartite") if side == 0]
    begun = time.perf_counter()
    nx.bipartite.projected_graph(graph, reviewers, multigraph=True)
    anchor = time.perf_counter() - begun
    return found | {"anchor": anchor, "rival": "networkx, the projection alone", "words": f"{len(groups)} groups"}


def three_levels() -> Measured:
    """Find components, their certificates and the degrees of freedom."""
    from reviewgraph.graph import connected_components, doubly_connected_components, recoverability
    from tests.benchmarks.harness.tables import random_pairs

    reviews = random_pairs()

    def levels() -> int:
        double = doubly_connected_components(reviews)
        connected_components(reviews)
        return recoverability(reviews, components=double).degrees_of_freedom

    missing, found = timed(levels)
    return found | {"words": f"{missing} degrees of freedom"}


def components_of_millions() -> Measured:
    """Find components of ten million reviews, and of half of them."""
    from reviewgraph.graph import doubly_connected_components
    from tests.benchmarks.harness.tables import power_law

    whole = power_law(10_000_000)
    part = power_law(5_000_000)
    groups, found = timed(lambda: doubly_connected_components(whole), 1)
    _, half = timed(lambda: doubly_connected_components(part), 1)
    return found | {"words": f"{len(groups)} groups; half as many reviews {half['warm']:.3g} s warm"}


def plan_of_a_thousand() -> Measured:
    """Plan for 1,000 papers where the degrees of freedom bind."""
    import numpy as np

    import planner
    from reviewgraph.graph import random_assignment

    reviews = random_assignment(1000, 1000, 3, np.random.default_rng(0))
    plan, found = timed(lambda: planner.plan(reviews, search=Search(time_limit=30)), 0)
    words = f"{plan.count} reviews, at least {plan.lower_bound}, {plan.status}"
    return found | {"gap": plan.count / max(plan.lower_bound, 1) - 1, "words": words}


def plans_of_few() -> Measured:
    """Plan for up to 200 papers, one table of each shape."""
    import numpy as np

    import planner
    from reviewgraph.graph import random_assignment

    shapes = [(N, M, k) for N in (50, 100, 200) for M in (N // 3, 2 * N // 3, N) for k in (3, 4, 5)]
    proved = 0
    begun = time.perf_counter()
    for N, M, k in shapes:
        plan = planner.plan(random_assignment(N, M, k, np.random.default_rng(0)), search=Search(time_limit=60))
        proved += plan.status == "optimal"
    seconds = (time.perf_counter() - begun) / len(shapes)
    return {"cold": seconds, "share": proved / len(shapes), "words": f"{proved} of {len(shapes)} proved, seconds each"}


def assignment() -> Measured:
    """Assign 20,000 papers."""
    from planner import assign
    from tests.benchmarks.harness.tables import clustered_affinities

    affinity = clustered_affinities(20_000, 100)
    result, found = timed(lambda: assign(affinity, demand=4, load=6, search=Search(time_limit=150)), 0)
    return found | {"loss": result.price, "words": f"{result.status}, {result.price:.3f} % of the affinity lost"}


def process(*words: str) -> Callable[[], Any]:
    """Return what runs Python anew."""
    return lambda: subprocess.run([sys.executable, *words], check=True, capture_output=True)


COMMAND = ("-c", "import sys; sys.argv[0] = 'reviewgraph'; from reviewgraph.cli import main; main()")


def help_text() -> Measured:
    """Ask for help, and start Python with click and nothing else; each time a fresh process."""
    _, found = timed(process(*COMMAND, "--help"), 9)
    _, bare = timed(process("-c", "import click"), 9)
    return found | {"anchor": bare["warm"], "rival": "Python that imports click", "words": "a fresh process each time"}


#: Papers, reviewers and reviews per paper of the files on which commands run; 40 candidates per paper.
FILES = {"1,000 papers": (1_000, 1_000, 3), "22,000 papers": (22_000, 20_000, 4)}
#: The commands, where TABLE, ITEMS, REVIEWERS and AFFINITY are files, and the seconds in which they have to end.
JOBS = {
    ("check TABLE", "1,000 papers"): 1,
    ("calibrate TABLE", "1,000 papers"): 1,
    ("plan TABLE --time-limit 0.5", "1,000 papers"): 1,
    ("assign --items ITEMS --reviewers REVIEWERS --affinity AFFINITY", "1,000 papers"): 1,
    ("check TABLE", "22,000 papers"): 2,
    ("plan TABLE --time-limit 5", "22,000 papers"): 10,
    ("assign --items ITEMS --reviewers REVIEWERS --affinity AFFINITY", "22,000 papers"): 10,
}


def command_twice(job: str, size: str) -> Measured:
    """Run a command on files, twice; each time a fresh process."""
    import tempfile
    from contextlib import chdir

    import numpy as np

    from tests.benchmarks.harness.tables import write_files

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        names = write_files(*FILES[size], np.random.default_rng(1))
        _, found = timed(process(*COMMAND, *[names.get(word, word) for word in job.split()]), 1)
    return found | {"words": "two fresh processes"}


REACHED, MISSED = "reached", "**missed**"


def judged(holds: Callable[[Measured], bool]) -> Callable[[Measured], str]:
    """Return the verdict on a goal."""
    return lambda found: REACHED if holds(found) else MISSED


def faster(times: float) -> Callable[[Measured], str]:
    """Return the verdict on the anchor's seconds over our warm ones."""
    return judged(lambda found: found["anchor"] / found["warm"] >= times)


def within(seconds: float, gigabytes: float = float("inf")) -> Callable[[Measured], str]:
    """Return the verdict on the seconds of a call, warm where there is a warm one, and the memory of the process."""
    return judged(lambda found: found.get("warm", found["cold"]) <= seconds and found["peak"] <= gigabytes)


THOUSAND = (1000, 1000, 5)
FIVE_THOUSAND = (5000, 4500, 4)
CONFERENCE = "22,000 papers, 20,000 reviewers, 90,000 reviews"


def programme(size: tuple[int, int, int], name: str, times: float) -> Row:
    """Return a row that calibrates within one class of hypotheses."""
    work = f"LSC {name}, {size[0]:,} papers, {size[1]:,} reviewers, {size[2]} each"
    return Row(work, f"{times:g} x", lambda: calibration(size, name), faster(times))


ROWS = {
    "linear": programme(THOUSAND, "linear", 500),
    "linear-5000": programme(FIVE_THOUSAND, "linear", 2000),
    "monotone": programme(THOUSAND, "monotone", 100),
    "monotone-5000": programme(FIVE_THOUSAND, "monotone", 100),
    "convex": programme(THOUSAND, "convex", 100),
    "concave": programme(THOUSAND, "concave", 100),
    "mixed": programme(THOUSAND, "mixed", 100),
    "linear-22000": Row(f"LSC linear, {CONFERENCE}", "0.5 s", partial(calibration_alone, "uneven_loads"), within(0.5)),
    "monotone-22000": Row(
        f"LSC monotone, {CONFERENCE}", "5 s", partial(calibration_alone, "uneven_loads", "monotone"), within(5)
    ),
    "linear-10-million": Row(
        "LSC linear, 10 million reviews", "15 s, 4 GB", partial(calibration_alone, "ten_million", warm=0), within(15, 4)
    ),
    **{
        name: Row(
            f"posterior, {words}",
            "5 s, converged",
            partial(posterior_of, kind),
            judged(lambda found: found["cold"] <= 5 and found["converged"]),
        )
        for name, kind, words in (
            ("posterior", "integers", "22,000 papers, 18,000 reviewers, 5 integer scores from 1 to 10 each"),
            ("posterior-noise", "own noise", f"{CONFERENCE}, reviewers with noise of their own"),
        )
    },
    "components": Row(f"doubly connected components, {CONFERENCE}", "100 x", components, faster(100)),
    "levels": Row(f"components, certificates and degrees of freedom, {CONFERENCE}", "1 s", three_levels, within(1)),
    "power-law": Row(
        "components, 10 million power-law reviews, a hub with 1 million",
        "10 s, 4 GB, growth near linear",
        components_of_millions,
        within(10, 4),
    ),
    "plan": Row(
        "plan to double, 1,000 papers, 1,000 reviewers, 3 each",
        "within 5 % of the lower bound, 30 s",
        plan_of_a_thousand,
        judged(lambda found: found["gap"] <= 0.05 and found["cold"] <= 31),
    ),
    "plan-200": Row(
        "plan to double, up to 200 papers",
        "mostly proved, 60 s",
        plans_of_few,
        judged(lambda found: found["share"] > 0.5),
    ),
    "assign": Row(
        "assign to double, 20,000 papers, 20,000 reviewers, 100 candidates each",
        "3 min, under 1 % of the affinity lost",
        assignment,
        judged(lambda found: found["cold"] <= 180 and found["loss"] < 1),
    ),
    "help": Row("reviewgraph --help", "0.15 s", help_text, within(0.15)),
    **{
        f"{job.split()[0]}-{size.split(',')[0]}-thousand": Row(
            f"reviewgraph {job.partition(' --items')[0].replace(' TABLE', '')}, {size}",
            f"{seconds} s",
            partial(command_twice, job, size),
            judged(lambda found, seconds=seconds: max(found["cold"], found["warm"]) <= seconds),
        )
        for (job, size), seconds in JOBS.items()
    },
}

"""The fast solver against CVXPY with general solvers: the same programme, process and objective.

Claim: general solvers factorise, and on the expander graphs that random assignments are, factors fill in; the fast
solver only multiplies, so it should win by more the larger the conference, most where the Newton matrix is
well-conditioned (linear reviewers). It should win least for convex and concave reviewers alone: the matrix is nearly
singular on small groups of items, which clusters take care of, and the faces settle late.

    python -m pytest tests/benchmarks/test_lsc_solver.py
    python -m tests.benchmarks.test_lsc_solver      # one table: seconds, objective, ratio to each general solver
"""

import sys
import time

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from lsc._model.hypotheses import Shape
from lsc._solver.newton import minimise
from tests.lsc import programmes

#: (N, M, k, shape, scoring functions, sigma, claim: times faster than CVXPY with Clarabel)
AGAINST_CLARABEL = [
    (1000, 1000, 5, "linear", "linear", 0.5, 250),
    (5000, 4500, 4, "linear", "linear", 0.5, 1000),
    (1000, 1000, 5, "monotone", "linear", 0.5, 40),
    (5000, 4500, 4, "monotone", "linear", 0.5, 40),
    (1000, 1000, 5, "convex", "convex", 0.5, 30),
    (1000, 1000, 5, "concave", "concave", 0.5, 30),
    (1000, 1000, 5, "mixed", "mixed", 0.5, 30),
]


def stated(programme):
    """The programme in CVXPY, one matrix a kind of constraint; for reviewers with equally many, distinct scores."""
    m, e = len(programme.shape), len(programme.item)
    k = e // m
    y = programme.score.reshape(m, k)
    quality, perceived = cp.Variable(programme.n_items), cp.Variable(e)
    pick = sp.csr_matrix((np.ones(e), (np.arange(e), programme.item)), (e, programme.n_items))
    constraints = []
    if (programme.shape == Shape.LINEAR).all():
        alpha, beta = cp.Variable(m), cp.Variable(m)
        owner = sp.kron(sp.identity(m), np.ones((k, 1)), format="csr")
        constraints += [perceived == cp.multiply(y.ravel(), owner @ alpha) + owner @ beta, alpha >= programme.lower]
    else:
        gap = np.diff(y, axis=1)
        step = sp.kron(sp.identity(m), sp.diags([-1.0, 1.0], [0, 1], shape=(k - 1, k)), format="csr")
        slope = sp.diags(1.0 / gap.ravel()) @ step
        change = sp.kron(sp.identity(m), sp.diags([-1.0, 1.0], [0, 1], shape=(k - 2, k - 1)), format="csr") @ slope
        constraints.append(step @ perceived >= np.repeat(programme.lower, k - 1) * gap.ravel())
        for shape, sign in ((Shape.CONVEX, -1.0), (Shape.CONCAVE, 1.0)):
            rows = np.flatnonzero(np.repeat(programme.shape == shape, k - 2))
            if len(rows):
                constraints.append(sign * change[rows] @ perceived >= 0)
    return cp.Problem(cp.Minimize(cp.sum_squares(perceived - pick @ quality)), constraints)


def name(case):
    n, m, k, shape, scoring, sigma = case[:6]
    return f"{shape} N={n} M={m} k={k}, {scoring} scores, sigma={sigma}"


@pytest.mark.parametrize("case", AGAINST_CLARABEL, ids=name)
def test_objective_is_clarabels_and_time_is_a_fraction(benchmark, case):
    programme, _ = programmes.conference(*case[:3], case[5], case[3], case[4], seed=1)
    minimise(programme)
    found = benchmark.pedantic(minimise, args=(programme,), rounds=5)
    problem = stated(programme)
    begun = time.perf_counter()
    problem.solve(solver="CLARABEL")
    anchor = time.perf_counter() - begun
    benchmark.extra_info.update(
        objective=found.objective,
        anchor_objective=float(problem.value),
        anchor_seconds=anchor,
        ratio=anchor / benchmark.stats.stats.median,
        claim=case[6],
        iterations=found.iterations,
        status=found.message,
    )
    assert found.converged
    assert found.objective <= problem.value * (1 + 1e-7)
    assert found.objective == pytest.approx(problem.value, rel=1e-6)


@pytest.mark.parametrize(("shape", "seconds"), [("linear", 0.5), ("monotone", 5.0)])
def test_a_conference_too_large_for_general_solvers(benchmark, shape, seconds):
    programme, _ = programmes.conference(22_000, 22_500, 4, 0.5, shape, "linear", seed=1)
    minimise(programme)
    found = benchmark.pedantic(minimise, args=(programme,), rounds=1)
    benchmark.extra_info.update(objective=found.objective, claim_seconds=seconds, iterations=found.iterations)
    assert found.converged


@pytest.mark.parametrize("times", [1, 2, 4, 8])
@pytest.mark.parametrize("shape", ["linear", "monotone", "convex"])
def test_growth(benchmark, shape, times):
    """Iterations should grow slowly and time little faster than the number of reviews."""
    scoring = "convex" if shape == "convex" else "linear"
    programme, _ = programmes.conference(1000 * times, 1000 * times, 5, 0.5, shape, scoring, seed=1)
    minimise(programme)
    found = benchmark.pedantic(minimise, args=(programme,), rounds=3)
    benchmark.extra_info.update(iterations=found.iterations, objective=found.objective)


def table(solvers):
    """Print seconds, objectives and ratios; the general solvers with their defaults."""
    for case in AGAINST_CLARABEL:
        programme, _ = programmes.conference(*case[:3], case[5], case[3], case[4], seed=1)
        found, times = minimise(programme), []
        for _ in range(5):
            begun = time.perf_counter()
            found = minimise(programme)
            times.append(time.perf_counter() - begun)
        print(f"{name(case)}\n  newton    {np.median(times):9.4f} s  {found.objective:.9g}  {found.message}")
        for solver in solvers if case[0] <= 1000 else solvers[:1]:
            problem = stated(programme)
            begun = time.perf_counter()
            try:
                problem.solve(solver=solver)
            except cp.SolverError as failure:
                print(f"  {solver:9} failed: {failure}")
                continue
            spent = time.perf_counter() - begun
            ratio = spent / np.median(times)
            print(f"  {solver:9} {spent:9.4f} s  {problem.value:.9g}  {ratio:7.1f} x  (claim {case[6]})", flush=True)


if __name__ == "__main__":
    table(sys.argv[1:] or ["CLARABEL", "PIQP", "OSQP"])

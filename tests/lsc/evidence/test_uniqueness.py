"""Uniqueness against brute force: does another minimiser exist?"""

from itertools import chain

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import linprog

import lsc
from reviewgraph import Reviews
from tests.lsc import by_cvxpy
from tests.lsc.certificates import rows
from tests.lsc.strategies import Problem, problems
from tests.trials import examples


def directions_by_coordinates(problem: Problem, quality: np.ndarray, noise: np.ndarray) -> list[np.ndarray]:
    """Extreme directions that keep the noise and all constraints, found coordinate by coordinate."""
    equal, rising = [], []
    for reviewer, rule in problem.rules.items():
        mine = [r for r, (who, _, _) in enumerate(problem.scores) if who == reviewer]
        items = [problem.scores[r][1] for r in mine]
        perceived = quality[items] + noise[mine]
        pick = np.eye(problem.n_items)[items]
        straight, bounded = rows([problem.scores[r][2] for r in mine], *rule.form)
        equal += [a @ pick for a, _ in straight]
        rising += [a @ pick for a, b in bounded if a @ perceived - b <= 1e-6 * max(1.0, np.abs(perceived).max())]
    fixed = [(0.0, 0.0) if i in problem.references else (-1.0, 1.0) for i in range(problem.n_items)]
    found = []
    for cost in np.vstack([np.eye(problem.n_items), -np.eye(problem.n_items)]):
        for extra in np.eye(problem.n_items):
            solved = linprog(
                cost - 0.5 * extra,
                A_ub=-np.array(rising) if rising else None,
                b_ub=np.zeros(len(rising)) if rising else None,
                A_eq=np.array(equal) if equal else None,
                b_eq=np.zeros(len(equal)) if equal else None,
                bounds=fixed,
            )
            found.append(solved.x)
    return found


def parts(problem: Problem) -> list[set[int]]:
    """Return the items that constraints connect, binding or not."""
    graph = nx.Graph()
    graph.add_nodes_from(range(problem.n_items))
    for reviewer, rule in problem.rules.items():
        mine = [(item, score) for who, item, score in problem.scores if who == reviewer]
        for row, _ in chain(*rows([score for _, score in mine], *rule.form)):
            nx.add_path(graph, [mine[r][0] for r in np.flatnonzero(row)])
    return list(nx.connected_components(graph))


@pytest.mark.slow
@examples(24)
@given(problems(max_items=5, max_reviewers=4))
def test_unique_exactly_where_no_direction_keeps_the_noise(problem: Problem) -> None:
    result = by_cvxpy.calibrate(problem.reviews, **problem.arguments)
    programme, row, quality, perceived, *_ = result.solution
    noise = np.empty(row.size)
    noise[row] = perceived - quality[programme.item]
    trivial = [np.ones(problem.n_items)]
    if np.sqrt(np.mean(noise**2)) <= 1e-7 * max(quality.std(), 0.01):
        trivial.append(quality)
    basis = np.linalg.qr(np.column_stack(trivial))[0]
    together = parts(problem)
    if len(together) > 1 and any(part.isdisjoint(problem.references) for part in together):
        assert not result.unique  # though with two papers, or one quality per part, the shift of a part is a scale
        return
    steps = directions_by_coordinates(problem, quality, noise)
    assert result.unique == all(np.abs(d - basis @ (basis.T @ d)).max() <= 1e-4 for d in steps)


@pytest.mark.slow
@examples(16)
@given(problems())
def test_both_solvers_choose_the_same_minimiser(problem: Problem) -> None:
    fast = lsc.calibrate(problem.reviews, **problem.arguments)
    slow = by_cvxpy.calibrate(problem.reviews, **problem.arguments)
    assert fast.unique == slow.unique
    rounding = 1e-3 * max(np.nanstd(slow.quality), 1e-3)
    np.testing.assert_allclose(fast.quality, slow.quality, atol=rounding)


def test_two_items_in_line_are_one_fit_up_to_scale_wherever_they_stand() -> None:
    # No bound holds where the fit stands: nothing but the reviewers says that the items belong together.
    rows = [(0, 1, 6.0), (0, 0, 12.0), (1, 1, 1.0), (1, 0, 4.0), (2, 0, 18.0), (3, 0, 4.0), (3, 1, 1.0)]
    assert lsc.calibrate(Reviews(rows)).unique
    assert not lsc.calibrate(Reviews([(0, 0, 1.0), (1, 1, 2.0)])).unique


@pytest.mark.parametrize("hypothesis", ["linear", "offset", "monotone"])
def test_pieces_of_equal_items_may_still_be_shifted_on_their_own(hypothesis: str) -> None:
    # A shift of one of two such pieces has the form of a change of scale.
    rows = [(0, 0, 11.0), (0, 1, 11.0), (1, 2, 3.0)]
    assert not lsc.calibrate(Reviews(rows), hypothesis).unique
    assert lsc.calibrate(Reviews([*rows, (1, 1, 3.0)]), hypothesis).unique

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from reviewgraph._verify.answers import Answer, Findings
from reviewgraph._verify.assignments import most_affinity
from reviewgraph._verify.bounds import Case, expansion_bound
from reviewgraph._verify.graphs import Table, missing_links, pieces
from reviewgraph._verify.rules import Market, PlainRules, check_market
from reviewgraph.graph.closure import replay
from tests.naive import PRIME, equations, rank, repeat_union
from tests.strategies import Rows, tables
from tests.trials import examples
from tests.verifying.truth import at_level, links, rows_of


@pytest.mark.parametrize("target", ["survives-reviewer", "survives-review"])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_by_losses_are_what_each_loss_leaves_missing(target: str, seed: int) -> None:
    """The largest that is counted is that of tables with the loss taken out one by one."""
    rng = np.random.default_rng(seed)
    reviewers, items = [f"r{j}" for j in range(5)], [f"p{i}" for i in range(6)]
    score: dict[tuple[str, str], float | None] = {
        (who, items[i]): None for who in reviewers for i in rng.permutation(6)[: int(rng.integers(2, 5))]
    }

    def missing(left: dict[tuple[str, str], float | None]) -> int:
        return links(rows_of(left, reviewers, items), len(items))

    whole = missing(score)
    if target == "survives-reviewer":
        found = [missing({pair: None for pair in score if pair[0] != who}) for who in reviewers]
    else:
        found = [missing({pair: None for pair in score if pair != lost}) for lost in score]
        apart = not at_level("double", score, reviewers, items)
        whole = max(whole, 1) + 1 if apart else whole
    case = Case(PlainRules(Table(tuple(reviewers), tuple(items), score)), target)
    most = max(whole, *found)
    assert case.check_bound(most, "a loss") == (None, False)
    wrong, unchecked = case.check_bound(most + 1, "a loss")
    assert (f"recomputed {most}" in (wrong or ""), unchecked) == (True, False)
    two = sum(max(2 - sum(what == item for _, what in score), 0) for item in items)
    assert case.check_bound(two, "two a paper") == (None, False)
    wrong, unchecked = case.check_bound(two + 1, "two a paper")
    assert (f"recomputed {two}" in (wrong or ""), unchecked) == (True, False)
    # What takes a search is on trust.
    assert case.check_bound(99, "cuts") == (None, True)


@pytest.mark.parametrize("target", ["double", "recoverable"])
@pytest.mark.parametrize("seed", range(15))
def test_no_bound_exceeds_the_smallest_plan(target: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    reviewers = ("a", "b", "c", "d")
    items = ("p", "q", "r", "s", "t")[: 4 + seed % 2]
    # Who has reviews takes few; who has none or one takes more, of which the first make no links.
    load = dict(zip(reviewers, ([2, 2, 0, 0], [3, 2, 1, 0], [2, 2, 1, 1])[seed % 3], strict=True))
    score: dict[tuple[str, str], float | None] = {
        (who, item): None for who in reviewers for item in rng.permutation(items)[: load[who]].tolist()
    }
    spare = {who: int(rng.integers(0, 2)) if load[who] > 1 else int(rng.integers(2, 5)) for who in reviewers}
    case = Case(PlainRules(Table(reviewers, items, score), spare=spare), target)
    pairs = list(case.rules.open_pairs())
    sets = (plan for size in range(7) for plan in combinations(pairs, size))
    plans = (plan for plan in sets if case.rules.exceeded(plan) is None and case.reached(plan))
    smallest = len(next(plans, pairs))
    for kind in ("pieces", "coverage", "degrees of freedom", "loads", "expansion"):
        wrong, unchecked = case.check_bound(smallest + 1, kind)
        assert (wrong is None, unchecked) == (False, False), (kind, smallest)


@pytest.mark.parametrize("seed", range(3))
def test_an_expansion_proves_what_its_eigenvalue_implies(seed: int) -> None:
    """A block of b items takes b - 2 reviews less what lies in components; two blocks make the first of t items."""
    rng = np.random.default_rng(seed)
    N = 42
    covers = [cover for _ in range(2) for cover in rng.permutation(N).reshape(-1, 3).tolist()]
    # A component of three items spreads one review evenly over its six ordered pairs.
    laplacian = np.zeros((N, N))
    for cover in covers:
        laplacian[np.ix_(cover, cover)] -= 1 / 6
        laplacian[cover, cover] += 3 / 6
    weight = np.sort(1.0 - np.diag(laplacian))
    slope = float(np.linalg.eigvalsh(laplacian)[1])
    need = [0.0, *(max(weight[:b].sum() + slope * b * (N - b) / N - 2.0, 0.0) for b in range(1, N + 1))]
    most = max(min(need[b] + min(need[t - b : t]) for b in range(1, t)) for t in range(4, N + 1))
    claimed = int(np.ceil(most - 1e-6))
    assert claimed > 5
    assert expansion_bound([sorted(cover) for cover in covers], N) == claimed


def test_the_most_affinity_is_that_of_another_solver() -> None:
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(1)
    for size in (2, 5, 9):
        worth = rng.random((size, size))
        value = {(f"r{j}", f"p{i}"): float(worth[j, i]) for j in range(size) for i in range(size)}
        market = Market({f"p{i}": 1 for i in range(size)}, {f"r{j}": (0, 1) for j in range(size)}, value)
        best = worth[linear_sum_assignment(worth, maximize=True)].sum()
        assert most_affinity(market, market.demand) == pytest.approx(best)
        fixed = replace(market, fixed=tuple((f"r{j}", f"p{j}") for j in range(size)))
        assert most_affinity(fixed, fixed.demand) == pytest.approx(np.trace(worth))


EVERY_PAIR = dict.fromkeys(product("ab", "pq"), 0.0)


def test_demands_are_met_within_loads_or_not() -> None:
    loads = {"a": (1, 1), "b": (1, 1)}
    assert most_affinity(Market({"p": 1, "q": 1}, loads, EVERY_PAIR), {"p": 1, "q": 1}) == 0.0
    assert most_affinity(Market({"p": 1, "q": 0}, loads, EVERY_PAIR), {"p": 1, "q": 0}) is None
    market = Market({"p": 1, "q": 1}, {"a": (0, 1), "b": (0, 1)}, {("a", "p"): 0.0, ("a", "q"): 0.0})
    assert most_affinity(market, market.demand) is None


def test_loads_have_a_minimum_and_a_maximum() -> None:
    market = Market({"p": 1, "q": 1}, {"a": (1, 2), "b": (0, 1)}, EVERY_PAIR)
    wrong = []
    for pairs in ([("b", "p"), ("b", "q")], [("a", "p"), ("b", "q")]):
        findings = Findings(Answer("", "assign", {}))
        check_market(findings, market, pairs, {})
        wrong.append(findings.wrong)
    expected = ["reviewer a has 0 reviews, the load is 1 to 2", "reviewer b has 2 reviews, the load is 0 to 1"]
    assert wrong == [expected, []]


def by_name(rows: Rows) -> dict[str, set[str]]:
    return {f"r{j}": {f"p{i}" for i in row} for j, row in enumerate(rows)}


def names(n_items: int) -> list[str]:
    return [f"p{i}" for i in range(n_items)]


@examples(10)
@given(tables(6))
def test_missing_links_are_what_the_rank_leaves(table: tuple[Rows, int]) -> None:
    rows, n_items = table
    quality = [int(value) for value in np.random.default_rng(0).integers(1, PRIME, n_items)]
    counted = sum(len(row) >= 2 for row in rows)
    left = n_items + 2 * counted - min(n_items, 2) - rank(equations([list(row) for row in rows], quality))
    assert missing_links(by_name(rows), names(n_items)) == left


@examples(10)
@given(tables())
def test_pieces_are_what_one_shared_paper_joins(table: tuple[Rows, int]) -> None:
    rows, n_items = table
    reviewed = {i for row in rows for i in row}
    found = repeat_union([list(row) for row in rows], 1)
    assert len(pieces(by_name(rows), names(n_items))) == len(found) + n_items - len(reviewed)


def test_merges_are_replayed_in_their_order() -> None:
    rows = {"a": {"p", "q"}, "b": {"p", "q", "r"}, "c": {"r", "s", "q"}}
    merges = [("a", "b", "p", "q"), ("a", "c", "q", "r")]
    wrong, (group,) = replay(rows, merges)
    assert (wrong, group.items) == (-1, set("pqrs"))
    assert replay(rows, merges[::-1])[0] == 0
    assert replay(rows, [merges[0], merges[0]])[0] == 1
    assert replay(rows, [("a", "b", "p", "p")])[0] == 0


@pytest.mark.parametrize("seed", range(12))
def test_missing_links_of_tables_with_dense_parts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows: Any = [dict.fromkeys(rng.permutation(9)[: int(rng.integers(2, 5))].tolist(), 0.0) for _ in range(8)]
    quality = [int(value) for value in rng.integers(1, PRIME, 9)]
    left = 9 + 2 * 8 - 2 - rank(equations([list(row) for row in rows], quality))
    assert missing_links(by_name(rows), names(9)) == left


def test_missing_links_of_the_fano_plane() -> None:
    """Seven reviewers of three papers, any two of them with one in common: more reviews than unknowns."""
    lines = ("pqr", "pst", "puv", "qsu", "qtv", "rsv", "rtu")
    assert missing_links({f"r{j}": set(line) for j, line in enumerate(lines)}, "pqrstuv") == 0
    assert missing_links({f"r{j}": set(line) for j, line in enumerate(lines[:4])}, "pqrstuv") == 1

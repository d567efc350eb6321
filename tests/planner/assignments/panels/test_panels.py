import numpy as np
import pytest

from planner import assign
from tests.benchmarks import assign_exact as exact


@pytest.mark.slow
def test_equal_to_highs_and_to_enumeration_and_monotone():
    for oracle, sizes, number in ((exact.by_highs, (8, 12, 6, 10), 3), (exact.by_enumeration, (1, 5, 2, 6), 20)):
        generators = [np.random.default_rng(10_000 + seed) for seed in range(number)]
        cases = [exact.instance(rng, *(int(rng.integers(*sizes[k : k + 2])) for k in (0, 2))) for rng in generators]
        _, gaps, wrong, _ = exact.compare(cases, oracle)
        assert wrong == []
        assert gaps == [0.0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_at_every_level_the_rules_hold(seed):
    rng = np.random.default_rng(seed)
    case = exact.instance(rng, 8, 7)
    result = exact.solved(case, target="double")
    if result.reviews.n_reviews:
        assert exact.faults(result, case) == []
        assert result.affinity <= result.bound + 1e-6
        assert [rule.option for rule in result.kept.rules] == [rule.text for rule in case["rules"]]


def test_left_behind_papers_are_not_bound():
    """Paper "old" of a first phase has two reviewers of one institution, and no new review."""
    first = [("a", "old"), ("b", "old"), ("a", "p")]
    homes = {"a": "u", "b": "u", "c": "v"}
    affinity = {("a", "p"): 1.0, ("b", "p"): 1.0, ("c", "p"): 0.5}
    result = assign(affinity, demand=1, load=2, phase_one=first, institutions=homes, target="none")
    assert [result.reviews.reviewers[j] for j in result.reviews.reviewer] == ["c"]

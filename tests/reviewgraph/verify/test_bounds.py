from __future__ import annotations

import numpy as np
import pytest

from reviewgraph.verify.bounds import Case
from reviewgraph.verify.graphs import Table
from reviewgraph.verify.rules import PlainRules
from tests.verifying.truth import at_level, links, rows_of


@pytest.mark.parametrize("target", ["survives-reviewer", "survives-review"])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_by_losses_are_what_each_loss_leaves_missing(
    target: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest that is counted, without trying plans, is that of tables with the loss taken out one by one."""
    monkeypatch.setattr("reviewgraph.verify.bounds.MOST_TRIED", 0)
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

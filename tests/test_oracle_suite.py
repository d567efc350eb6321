"""A short run of the oracles, and that a wrong answer is a finding."""

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from planner._assign.assignment import AssignmentStatus
from planner._plans.outcome import PlanStatus
from reviewgraph import Reviews
from tests.oracles import assignments, graphs
from tests.oracles.__main__ import FINDING, ORACLES, run
from tests.oracles.oracle import FINE, Oracle
from tests.trials import NIGHTLY, trials


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_answers_agree_with_their_oracle(oracle: Oracle) -> None:
    cases = trials(400 if oracle in graphs.ORACLES else 40)
    counts = run([oracle], cases, 1.0, seed=5)[oracle.name]
    assert {*counts} <= {*FINE}
    assert counts["agrees"] > 0


#: What may be asked of assignments and of plans, each drawn by itself, for most instances ask for few of them.
ASKED = {
    "assignments": (
        *("fair", "floor", "previous", "alternates", "max_probability", "rules", "item_attributes", "institutions"),
        *("senior", "authors", "phase_one", "fixed", "min_load"),
        *("fair rules", "floor rules", "previous rules", "alternates rules"),
    ),
    "plans": (
        *("cost", "affinity", "n", "rules", "item_attributes", "institutions", "senior", "willing", "fixed"),
        *("min_reviews", "max_per_item"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), [(name, options) for name, each in ASKED.items() for options in each])
def test_whatever_is_asked_for_has_the_best_answer(name: str, options: str) -> None:
    (oracle,) = [oracle for oracle in ORACLES if oracle.name == name]
    draw: Any = oracle.draw
    asked = replace(oracle, draw=lambda rng: draw(rng, *options.split()), most_seconds=inf)
    # Rules that differ among papers are of many kinds.
    cases = (50 if name == "assignments" else 30) * (2 if options == "item_attributes" else 1)
    counts = run([asked], trials(cases), 0.5, seed=6)[name]
    # Some assignments of a lottery's list may miss the level, which the page says.
    assert counts.pop(f"{FINDING}missed draws", 0) <= 0.1 * trials(cases)
    assert {*counts} <= ({*FINE} if NIGHTLY else {"agrees", "untold"})
    assert counts["agrees"] > 0.5 * counts.total()


@pytest.mark.filterwarnings("ignore::reviewgraph._base.errors.LabelWarning")
@pytest.mark.parametrize("seed", range(trials(40)))
def test_the_order_of_what_is_given_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    asked = assignments.any_market(rng)

    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            return dict(shuffled([*value.items()]))
        return [value[place] for place in rng.permutation(len(value)).tolist()]

    turned = {name: shuffled(value) for name, value in asked.items() if isinstance(value, dict | list)}
    del turned["items"], turned["reviewers"]
    one, other = (assignments.ours(options) for options in (asked, {**asked, **turned}))
    assert one.status == other.status
    assert sorted(assignments.pairs_of(one.reviews)) == sorted(assignments.pairs_of(other.reviews))
    assert one.changes == other.changes


def test_a_wrong_answer_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = replace(graphs.ORACLES[0], ours=lambda asked: "something else")
    raising = replace(graphs.ORACLES[0], ours=lambda asked: 1 / 0)
    for oracle, kind in ((wrong, "different"), (raising, "raised")):
        assert run([oracle], 2, 1.0)[oracle.name] == {f"{FINDING}{kind}": 2}
    assert "finding 0, components: different: found something else, expected" in capsys.readouterr().out


def one_short(answer: Any) -> Any:
    table = answer.reviews
    short = Reviews.from_codes(table.reviewer[1:], table.item[1:], reviewers=table.reviewers, items=table.items)
    return replace(answer, reviews=short)


def more_unconstrained(answer: Any) -> Any:
    return replace(answer, affinity_unconstrained=answer.affinity_unconstrained + 1)


def missed(answer: Any) -> Any:
    return replace(answer, status=AssignmentStatus.LEVEL_MISSED)


def impossible(plan: Any) -> Any:
    return replace(plan, status=PlanStatus.INFEASIBLE)


def one_dropped(plan: Any) -> Any:
    return replace(plan, added=plan.added[1:], pairs=plan.pairs[1:])


@pytest.mark.parametrize(
    ("name", "spoil", "kind"),
    [
        ("assignments", one_short, "broken rule"),
        ("assignments", more_unconstrained, "false claim"),
        ("assignments", missed, "missed"),
        ("plans", impossible, "false claim"),
        ("plans", one_dropped, "false claim"),
    ],
)
def test_a_spoiled_answer_of_the_planner_is_a_finding(name: str, spoil: Any, kind: str) -> None:
    (oracle,) = [oracle for oracle in ORACLES if oracle.name == name]

    def plain(rng: np.random.Generator) -> Any:
        """Return an instance without what has answers of another form."""
        asked = oracle.draw(rng)
        for option in ("max_probability", "best_effort", "max_reviews", "fair", "fixed"):
            asked.pop(option, None)
        return asked

    spoiled = replace(oracle, draw=plain, ours=lambda asked: spoil(oracle.ours(asked)))
    assert run([spoiled], 5, 1.0, seed=5)[name][f"{FINDING}{kind}"] > 0


def test_an_answer_that_takes_too_long_is_a_finding() -> None:
    slow = replace(graphs.ORACLES[0], most_seconds=0.0)
    assert run([slow], 1, 1.0)[slow.name] == {f"{FINDING}slow": 1}

"""Arguments under their old names: taken through one release, with a warning that says the new one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lsc
import planner
import reviewgraph as rg
from lsc import baselines, metrics
from reviewgraph._base import checked, whole_seed

ROWS = [(r, p, float((3 * p + 5 * r * p) % 7 + p)) for r in range(6) for p in range(8)]
TABLE = rg.Reviews.from_pairs(ROWS, accept="no-score-codes")


def average() -> Any:
    return lsc.Calibrator("average").fit(TABLE).estimate_


@pytest.mark.parametrize(
    ("call", "old", "new", "value"),
    [
        (lambda **o: average().select(**o), "n", "n_selected", 2),
        (lambda **o: lsc.calibrate(TABLE).select(**o), "n", "n_selected", 2),
        (lambda **o: baselines.bayesian(TABLE, **o).quality.tolist(), "n", "n_selected", 2),
        (lambda **o: metrics.precision(np.arange(4.0), np.arange(4.0)[::-1], **o), "n", "n_selected", 2),
        (lambda **o: rg.keeps(TABLE, 0.3, draws=5, **o).levels, "rng", "seed", np.random.default_rng),
        (lambda **o: rg.random_assignment(6, 4, 3, **o).item.tolist(), "rng", "seed", np.random.default_rng),
        (lambda **o: rg.expected_errors(TABLE, **o).tolist(), "rng", "seed", np.random.default_rng),
    ],
)
def test_old_names_are_taken_with_a_warning(call: Callable[..., Any], old: str, new: str, value: Any) -> None:
    given = (lambda: value(3)) if callable(value) else (lambda: value)
    expected = call(**{new: given()})
    with pytest.warns(DeprecationWarning, match=rf"{old} is now called {new}; .* removed in the next release"):
        assert call(**{old: given()}) == expected
    with pytest.raises(rg.InputError, match=f"{old}: expected {new} alone"):
        call(**{old: given(), new: given()})


def test_the_warning_points_to_the_call() -> None:
    with pytest.warns(DeprecationWarning, match="n_selected") as caught:
        average().select(n=1)
    assert caught[0].filename == __file__


def test_one_name_for_the_size_of_a_selection_and_one_for_randomness() -> None:
    """No public function has a parameter of the old names; ``n`` is a number of draws."""
    found = []
    for package in (rg, planner, lsc):
        for name in package.__all__:
            thing = getattr(package, name)
            owners = vars(thing).values() if inspect.isclass(thing) or inspect.ismodule(thing) else [thing]
            for one in owners:
                if inspect.isfunction(one) and not one.__name__.startswith("_"):
                    names = set(inspect.signature(one).parameters)
                    draws = {"draws", "sample"}
                    wrong = {"select", "rng"} | (set() if one.__name__ in draws else {"n"})
                    if names & wrong and one.__name__ != "draw_scores":
                        found.append(f"{one.__qualname__}: {names & wrong}")
    assert not found


def test_seeds_are_whole_numbers_or_generators_everywhere() -> None:
    def chosen(seed: Any) -> Any:
        return planner.assign(AFFINITY, demand=1, load=1, target="none", seed=seed).reviews.item.tolist()

    generator = np.random.default_rng(5)
    assert chosen(generator) == chosen(whole_seed(np.random.default_rng(5)))
    with pytest.raises(rg.InputError, match=r"seed: expected a whole number, 0 or more or a numpy\.random\.Generator"):
        chosen(-1)


AFFINITY = {(who, what): 1.0 for who in "abcd" for what in "wxyz"}


def test_hints_name_the_registered_names() -> None:
    from typing import get_args

    from lsc.methods import METHODS, MethodName
    from planner._assign.levels import AssignmentTarget, aims
    from planner._plans.objectives import OBJECTIVES, ObjectiveName
    from planner._plans.target import PlanTarget
    from reviewgraph.graph import ALL_NAMES
    from reviewgraph.graph.levels import LevelName

    assert set(get_args(LevelName)) == set(get_args(PlanTarget)) == set(ALL_NAMES)
    assert set(get_args(AssignmentTarget)) == {aim.name for aim in aims()}
    assert set(get_args(ObjectiveName)) == {objective.name for objective in OBJECTIVES}
    assert get_args(MethodName) == tuple(METHODS)


def test_experiments_pass_the_size_of_the_selection() -> None:
    from lsc.experiments.registry import estimate_by

    # Sampled probabilities of being among the best sum to the number selected, but for ties.
    for n in (1, 5):
        assert estimate_by("bayesian", TABLE, n, None, 0).quality.sum() == pytest.approx(n, abs=0.1)


def test_functions_that_rename_look_like_themselves() -> None:
    @checked(renamed={"old": "new"})
    def function(new: int = 1) -> int:
        """Return it."""
        return new

    assert function.__doc__ == "Return it."
    assert list(inspect.signature(function).parameters) == ["new"]
    with pytest.raises(rg.InputError, match="new: expected a whole number, found 'x'"):
        function("x")


def test_one_enumeration_is_named_status() -> None:
    with pytest.warns(DeprecationWarning, match=r"lsc\.Status is now called lsc\.CalibrationStatus"):
        old = lsc.Status  # type: ignore[attr-defined]
    assert old is lsc.CalibrationStatus
    assert isinstance(lsc.calibrate(TABLE).status, lsc.CalibrationStatus)

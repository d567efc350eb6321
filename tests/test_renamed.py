"""One name for one thing: sizes of selections, seeds, levels, methods."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lsc
import planner
import reviewgraph as rg
from reviewgraph import Search
from reviewgraph._base import whole_seed


@pytest.mark.parametrize(("old", "new"), [("n", "n_selected"), ("rng", "seed"), ("select", "n_selected")])
def test_a_name_of_the_last_release_is_an_error_that_says_the_new_one(old: str, new: str) -> None:
    call: Any = rg.graph.keeps if new == "seed" else lsc.metrics.precision
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '{old}'; did you mean {new}\?"):
        call(**{old: 1})


def public_functions() -> Iterator[Any]:
    for package in (rg, planner, lsc):
        for thing in (getattr(package, name) for name in package.__all__):
            names = getattr(thing, "__all__", vars(thing)) if inspect.ismodule(thing) else []
            members = [getattr(one, "__func__", one) for one in vars(thing).values()] if inspect.isclass(thing) else []
            owners = members or [getattr(thing, name) for name in names]
            owners = [thing] if inspect.isfunction(thing) else owners
            yield from (one for one in owners if inspect.isfunction(one) and not one.__name__.startswith("_"))


def test_one_name_for_the_size_of_a_selection_and_one_for_randomness() -> None:
    """No public function has a parameter of the old names; ``n`` is a number of draws, or of extra reviews."""
    for function in public_functions():
        old = {"select", "rng"} | (set() if function.__name__ in {"draws", "sample", "plan"} else {"n"})
        assert function.__name__ == "draw_scores" or not old & set(inspect.signature(function).parameters), function


#: scikit-learn sets parameters of any name.
ANY_KEYWORD = {"set_params"}


def test_functions_have_twelve_parameters_at_most_and_typed_keywords() -> None:
    for function in public_functions():
        parameters = inspect.signature(function).parameters.values()
        keywords = [one for one in parameters if one.kind is one.VAR_KEYWORD]
        explicit = [one for one in parameters if one.kind is not one.VAR_KEYWORD and one.name not in ("self", "cls")]
        assert len(explicit) <= 12, function
        assert function.__name__ in ANY_KEYWORD or all("Unpack" in str(one.annotation) for one in keywords), function


def test_seeds_are_whole_numbers_or_generators_everywhere() -> None:
    def chosen(seed: Any) -> Any:
        return planner.assign(AFFINITY, demand=1, load=1, target="none", search=Search(seed=seed)).reviews.item.tolist()

    generator = np.random.default_rng(5)
    assert chosen(generator) == chosen(whole_seed(np.random.default_rng(5)))
    with pytest.raises(rg.InputError, match=r"seed: expected a whole number, 0 or more or a numpy\.random\.Generator"):
        chosen(-1)


AFFINITY = {(who, what): 1.0 for who in "abcd" for what in "wxyz"}


def test_hints_name_the_registered_names() -> None:
    from typing import get_args

    from lsc.methods import METHODS, MethodName
    from planner._assign.levels import AssignmentTarget, aims
    from planner._plans.target import PlanTarget
    from reviewgraph.graph import ALL_NAMES
    from reviewgraph.graph.levels import LevelName

    assert set(get_args(LevelName)) == set(get_args(PlanTarget)) == set(ALL_NAMES)
    assert set(get_args(AssignmentTarget)) == {aim.name for aim in aims()}
    assert get_args(MethodName) == tuple(METHODS)
    page = Path("docs/reference/command/calibrate.md").read_text("utf-8")
    assert f"`--method {'|'.join(METHODS)}`" in page

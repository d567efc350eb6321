"""Old names work for a release, say what they are called now, and are in no list; one name for one thing."""

import importlib
import inspect
import subprocess
import sys
import zipfile
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
from reviewgraph._base.moved import CONSTRUCTORS, MOVED

CHAIN = [("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)]
AFFINITY = {(who, what): 1.0 for who in "abcd" for what in "wxyz"}


@pytest.mark.parametrize("old", MOVED)
def test_names_that_moved(old: str) -> None:
    package, _, name = old.rpartition(".")
    module = importlib.import_module(package)
    words, _, place = MOVED[old].partition(" = ")
    with pytest.warns(
        DeprecationWarning, match=f"^{old} is {words} from now on; the old name will be removed$"
    ) as told:
        found = getattr(module, name)
    assert told[0].filename == __file__
    home, _, attribute = (place or words).rpartition(".")
    assert found is getattr(importlib.import_module(home), attribute)
    assert name not in dir(module)
    assert name not in module.__all__
    assert hasattr(importlib.import_module(words.rpartition(".")[0]), words.rpartition(".")[2])


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_constructors_of_the_last_release(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"Reviews\.{name}\(\.\.\.\) is Reviews\(\.\.\.\) from now on"):
        made = getattr(rg.Reviews, name)(CHAIN, items=[9])
    assert made.n_items == 4
    with pytest.warns(DeprecationWarning, match=name):
        assert getattr(rg.Reviews, name)(**{CONSTRUCTORS[name]: CHAIN}).n_items == 3
    assert name not in dir(rg.Reviews)


def test_the_old_name_of_plan_takes_a_target_second() -> None:
    with pytest.warns(DeprecationWarning, match=r"is planner\.plan from now on"):
        old: Any = planner.plan_extra_reviews  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match=r"plan\(\): max_reviews is n=\.\.\. from now on"):
        assert old(CHAIN, "connected", max_reviews=2).target == "connected"


def test_the_old_check_of_a_plan_takes_the_plan_alone() -> None:
    plan = rg.plan(CHAIN)
    with pytest.warns(DeprecationWarning, match=r"is reviewgraph\.verify from now on"):
        old: Any = planner.verify_plan  # type: ignore[attr-defined]
    old(plan)
    with pytest.warns(DeprecationWarning, match=r"is reviewgraph\.InputError from now on"):
        error: Any = planner.InvalidPlan  # type: ignore[attr-defined]
    with pytest.raises(error, match=r"^plan: "):
        old(plan, rg.Rules(conflicts=[("ann", 3), ("bob", 1)]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rg.plan(CHAIN, objective="level"), r"plan\(\): objective is goal=\.\.\."),  # type: ignore[call-arg]
        (lambda: rg.plan(CHAIN, seed=1), r"plan\(\): seed is search=Search\(seed=\.\.\.\)"),  # type: ignore[call-arg]
        (lambda: rg.assign(AFFINITY, 1, 1, "none", time_limit=1), r"time_limit is search=Search\(time_limit"),  # type: ignore[call-arg]
    ],
)
def test_keywords_of_the_last_release(call: Any, words: str) -> None:
    with pytest.warns(DeprecationWarning, match=words):
        call()


def test_a_keyword_under_both_names_is_an_error() -> None:
    call: Any = rg.plan
    with (
        pytest.warns(DeprecationWarning, match="max_reviews"),
        pytest.raises(TypeError, match="both 'n' and 'max_reviews'"),
    ):
        call(CHAIN, n=2, max_reviews=3)


def test_packages_are_imported_from_an_archive(tmp_path: Path) -> None:
    root = Path(rg.__file__).parents[1]
    files = [path for package in ("reviewgraph", "planner", "lsc") for path in (root / package).rglob("*.py*")]
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in (path for path in files if path.suffix in (".py", ".pyi")):
            archive.write(path, path.relative_to(root))
    script = "import sys; sys.path.insert(0, 'all.zip'); import reviewgraph as rg; print(rg.__file__, rg.Rules(load=3))"
    fresh = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "all.zip" in fresh.stdout, fresh.stderr
    assert "Rules(load=3)" in fresh.stdout


def test_a_public_module_is_loaded_by_its_name() -> None:
    script = "import lsc; print(lsc.optimality.ScoringFunction.__name__)"
    fresh = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert fresh.stdout == "ScoringFunction\n", fresh.stderr


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

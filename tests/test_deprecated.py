"""Old names work for a release, say what they are called now, and are in no list of names."""

import importlib
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import planner
import reviewgraph as rg
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

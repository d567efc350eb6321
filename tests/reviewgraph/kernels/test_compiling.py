from __future__ import annotations

import os
import subprocess
import sys
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba import types

from reviewgraph.graph import kernel
from reviewgraph.graph.kernels import compiling
from reviewgraph.graph.kernels.compiling import Kernel, Policy
from reviewgraph.graph.kernels.dispatching import Dispatcher

ROOT = Path(__file__).parents[3]


@kernel
def doubled(values: np.ndarray) -> int:
    return 2 * total(values)


@kernel
def total(values: np.ndarray) -> int:
    found = 0
    for value in values:
        found += value
    return found


class Pair(NamedTuple):
    source: np.ndarray
    target: np.ndarray


@kernel(in_lists=True)
def copied(pair: Pair, kinds: list[type]) -> None:
    kinds.append(type(pair.source))
    for place in range(len(pair.source)):
        pair.target[place] = 2 * pair.source[place]


@pytest.fixture
def policy(monkeypatch: pytest.MonkeyPatch) -> Policy:
    """Numba free, a byte of bytecode compiled in a second for one run, and nothing in the cache."""
    found = Policy(importing=0.0, compiling=1.0, reuse=1.0)
    monkeypatch.setattr(compiling, "POLICY", found)
    monkeypatch.setattr(Kernel, "is_cached", False)
    return found


def again(function: Kernel[..., int], element: float) -> Kernel[..., int]:
    return Kernel(function.function, element=element)


def test_small_input_is_interpreted_all_through(policy: Policy) -> None:
    fresh = again(doubled, 1e-6)
    assert fresh(np.arange(10)) == 90
    assert not fresh.is_loaded
    assert not total.is_loaded
    assert total.spent == 0  # called by a kernel, not from outside
    assert policy.spent == fresh.spent == pytest.approx(1e-5)


def test_work_adds_up_until_compiling_pays(policy: Policy) -> None:
    fresh = again(doubled, 1.0)
    policy.compiling = 15.0 / fresh.bytecode
    assert fresh(np.arange(10)) == 90
    assert not fresh.is_loaded
    assert fresh(np.arange(10)) == 90
    assert fresh.is_loaded


def test_a_kernel_costs_what_it_calls_too() -> None:
    assert doubled.bytecode == len(doubled.function.__code__.co_code) + len(total.function.__code__.co_code)


def test_nothing_is_compiled_for_later_where_a_search_has_no_time_left_for_it(policy: Policy) -> None:
    fresh, left = again(total, 1.0), [inf]
    policy.reuse, price = 10.0, float(fresh.bytecode)
    with policy.within(lambda: left[0]):
        assert policy.has_time(fresh)
        assert policy.pays(fresh, price / 2)
        left[0] = 0.0
        assert not policy.has_time(fresh)
        # What must be done all the same is done in the quicker way.
        assert not policy.pays(fresh, price / 2)
        assert policy.pays(fresh, 2 * price)
    assert policy.has_time(fresh)


def test_a_constant_makes_no_copy_of_a_kernel_and_what_python_never_calls_has_no_door_from_it() -> None:
    def plus_one(place: int) -> int:
        return place + 1

    for within in (True, False):
        compiler = Dispatcher(plus_one, within=within)
        for kind in (types.literal(3), types.int64):
            compiler.get_call_template((kind,), {})
        assert compiler.signatures == [(types.int64,)]
        assert ("cpython" in compiler.inspect_llvm(compiler.signatures[0])) == (not within)


def test_vectorised_loops_do_several_elements_at_once_and_have_code_of_their_own() -> None:
    def inverse_sum(values: np.ndarray) -> float:
        found = 0.0
        for value in values:
            found += 1.0 / value
        return found

    kind, plain, stamps = types.Array(types.float64, 1, "C"), Dispatcher(inverse_sum, within=False), []
    vectorised = Dispatcher(inverse_sum, within=False, vectorised=True)
    for one in (plain, vectorised):
        one.compile((kind,))
    found = [" x double>" in one.inspect_llvm((kind,)) for one in (plain, vectorised)]
    assert found == [False, True]
    values = np.linspace(1.0, 2.0, 1000)
    assert vectorised(values) == pytest.approx(plain(values), rel=1e-14)
    assert vectorised(np.zeros(3)) == inf
    for chosen in (False, True):
        Kernel(inverse_sum, vectorised=chosen)
        stamps.append(compiling.stamp.__wrapped__(inverse_sum))
    assert stamps[0] != stamps[1]


def test_lists_stand_for_arrays_and_are_copied_back() -> None:
    source, target, kinds = np.arange(3), np.zeros(3, np.int32), []
    source.flags.writeable = False
    copied.python(Pair(source, target), kinds)
    assert kinds == [list]
    assert target.tolist() == [0, 2, 4]
    same = np.arange(3)
    copied.python(Pair(same, same), kinds)
    assert same.tolist() == [0, 2, 4]


def test_tables_of_a_small_conference_are_never_compiled(tmp_path: Path) -> None:
    rows = [f"r{j},p{(7 * j + k * k) % 499}" for j in range(500) for k in range(1, 6)]
    (tmp_path / "r.csv").write_text("\n".join(["reviewer,item", *rows]))
    script = (
        "import sys\nfrom reviewgraph.cli import main\n"
        "try:\n    main(['check', 'r.csv', '--json'])\nexcept SystemExit as end:\n    assert not end.code\n"
        "assert 'numba' not in sys.modules"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, env=env, capture_output=True)

"""Kernels that are compiled at the installation are those that commands call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from reviewgraph import Reviews, doubly_connected_components
from reviewgraph.graph.kernels import ahead
from reviewgraph.graph.kernels.compiling import Kernel

LISTED = json.loads(ahead.LISTED.read_text("utf-8"))
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", LISTED)
def test_each_is_a_kernel_with_that_many_arguments(name: str) -> None:
    module, _, function = name.partition(":")
    kernel = getattr(import_module(module), function)
    assert isinstance(kernel, Kernel)
    assert any(module.startswith(f"{part}.") for part in ahead.PARTS)
    for signature in LISTED[name]:
        assert len(signature) == kernel.function.__code__.co_argcount
        assert [ahead.spell(ahead.read(kind)) for kind in signature] == signature


#: Computes components with compiled kernels, and prints what was compiled for that.
CALL = """
from numba.core import event
from reviewgraph import Reviews, doubly_connected_components
from reviewgraph.graph.kernels import union_find
from reviewgraph.graph.kernels.compiling import POLICY

compiled = []
class Note(event.Listener):
    def on_start(self, event): compiled.append(str(event.data["dispatcher"].py_func.__name__))
    def on_end(self, event): pass
event.register("numba:compile", Note())
with POLICY.at_once():
    reviews = Reviews.from_pairs([(j, i) for j in range(9) for i in range(j, j + 3)])
    print(doubly_connected_components(reviews).labels.tolist())
print(union_find.merge_pairs.is_loaded)
print(compiled)
"""
#: Compiles the kernels that a file lists.
COMPILE = """
import sys
from pathlib import Path
from reviewgraph.graph.kernels import ahead

ahead.LISTED = Path(sys.argv[1])
ahead.compile_listed("reviewgraph")
"""


@pytest.mark.slow
def test_what_is_compiled_ahead_is_not_compiled_again(tmp_path: Path) -> None:
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    few = tmp_path / "few.json"
    few.write_text(json.dumps({name: LISTED[name] for name in LISTED if name.endswith(":merge_pairs")}), "utf-8")
    subprocess.run([sys.executable, "-c", COMPILE, str(few)], env=env, check=True, capture_output=True)
    run = [sys.executable, "-c", CALL]
    told = subprocess.run(run, env=env, capture_output=True, text=True, check=True).stdout.splitlines()
    reviews = Reviews.from_pairs([(j, i) for j in range(9) for i in range(j, j + 3)])
    assert told == [str(doubly_connected_components(reviews).labels.tolist()), "True", "[]"]

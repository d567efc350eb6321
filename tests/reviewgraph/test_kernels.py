from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from reviewgraph.kernels.compiling import Kernel, kernel

ROOT = Path(__file__).parents[2]


@kernel
def doubled(values: np.ndarray) -> int:
    return 2 * total(values)


@kernel
def total(values: np.ndarray) -> int:
    found = 0
    for value in values:
        found += value
    return found


def test_small_input_is_interpreted_all_through() -> None:
    assert doubled(np.arange(10)) == 90
    assert doubled._compiled is None
    assert total._compiled is None
    assert total.credit == Kernel(len).credit  # called by a kernel, not from outside


def test_much_input_is_compiled_with_the_same_answers() -> None:
    eager = Kernel(doubled.function, compile_after=15)
    assert eager(np.arange(10)) == 90
    assert eager._compiled is None
    assert eager(np.arange(10)) == 90
    assert eager._compiled is not None


def test_tables_of_a_small_conference_are_never_compiled(tmp_path: Path) -> None:
    rows = [f"r{j},p{(7 * j + k * k) % 997}" for j in range(1_000) for k in range(1, 6)]
    (tmp_path / "r.csv").write_text("\n".join(["reviewer,item", *rows]))
    script = (
        "import sys\nfrom reviewgraph.cli import main\n"
        "try:\n    main(['check', 'r.csv', '--json'])\nexcept SystemExit as end:\n    assert not end.code\n"
        "assert 'numba' not in sys.modules"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, env=env, capture_output=True)

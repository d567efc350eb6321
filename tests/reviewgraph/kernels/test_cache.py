"""The cache in processes of their own, on a package of two modules made for the test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

FAR = """
from reviewgraph.graph.kernels.compiling import kernel
FACTOR = 2
@kernel
def scaled(value):
    return FACTOR * value
"""
NEAR = """
from reviewgraph.graph.kernels.compiling import kernel
from toy.far import scaled
@kernel
def total(values):
    found = 0
    for value in values:
        found += scaled(value)
    return found
"""
RUN = """
import sys
import numpy as np
from toy.near import total
cached = total.is_cached
assert "numba" not in sys.modules
found = total.compiled(np.arange(10))
print(cached, found, sum(total.compiled.stats.cache_hits.values()))
"""
#: Whether code from the cache runs without what Numba compiles by.
LIGHT = (
    RUN
    + """
print("numba.np.arraymath" in sys.modules)
"""
)
#: Compiles, damages all entries in some ways, and says what a fresh kernel answers and loads from them, then the next.
DAMAGE = """
from pathlib import Path
import numpy as np
import toy
from toy.far import scaled
from toy.near import total


def fresh():
    for kernel in (scaled, total):
        vars(kernel).pop("compiled", None)
        vars(kernel).pop("within", None)
    answer = total.compiled(np.arange(10))
    return f"{answer},{sum(total.compiled.stats.cache_hits.values())}"


def damaged(data, damage):
    half = len(data) // 2
    flipped = data[:half] + bytes([data[half] ^ 0xFF]) + data[half + 1 :]
    return {"cut": data[:half], "empty": b"", "zeros": bytes(len(data)), "one-byte": flipped}[damage]


print(fresh())
for damage in sys.argv[1:]:
    for suffix in ("nbi", "nbc"):
        for path in Path(toy.__file__).parent.rglob(f"*.{suffix}"):
            path.write_bytes(damaged(path.read_bytes(), damage))
        print(f"{damage}/{suffix}:{fresh()}:{fresh()}")
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    folder = tmp_path / "site" / "toy"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "far.py").write_text(FAR)
    (folder / "near.py").write_text(NEAR)
    return folder


def run(toy: Path, script: str = RUN, **env: str) -> list[str]:
    """Return whether the cache was said to be valid, the answer, and whether it was loaded; or what a script says."""
    base = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    home = toy.parents[1] / "home"
    paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(toy.parent)]), "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, env={**base, **paths, **env}
    )
    return done.stdout.split()


def entries(folder: Path, suffix: str) -> list[Path]:
    return sorted(folder.rglob(f"*.{suffix}"))


@pytest.mark.slow
def test_compiled_code_is_kept_while_it_is_valid_and_told_without_numba(toy: Path) -> None:
    # What Numba compiles by is loaded where it compiles, and there alone.
    assert run(toy, script=LIGHT) == ["False", "90", "0", "True"]
    assert run(toy, script=LIGHT) == ["True", "90", "1", "False"]
    # Code of other files that it calls counts too.
    (toy / "far.py").write_text(FAR.replace("FACTOR = 2", "FACTOR = 3"))
    assert run(toy) == ["False", "135", "0"]


@pytest.mark.nightly
def test_damaged_entries_are_compiled_again(toy: Path) -> None:
    # Each damage is met by a kernel that has loaded nothing yet, and so is what was written in its place.
    damages = ("cut", "empty", "zeros", "one-byte")
    damaged = run(toy, f"import sys\nsys.argv[1:] = {damages}\n{DAMAGE}")
    assert damaged == ["90,0", *(f"{damage}/{suffix}:90,0:90,1" for damage in damages for suffix in ("nbi", "nbc"))]
    for suffix in ("nbi", "nbc"):
        assert entries(toy, suffix)
    assert run(toy) == ["True", "90", "1"]


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
@pytest.mark.parametrize("room", [pytest.param(100, marks=pytest.mark.nightly), 3000])
def test_a_full_disk_for_the_cache_costs_the_entries_only(toy: Path, tmp_path: Path, room: int) -> None:
    # No file may hold more bytes than that: writing fails as on a full disk, before the index is whole or after it.
    limit = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))\n"
    elsewhere = str(tmp_path / "elsewhere")
    # Python 3.11 itself keeps what it could write of its own compiled modules, and cannot read that back.
    bare = {"NUMBA_CACHE_DIR": elsewhere, "PYTHONDONTWRITEBYTECODE": "1"}
    assert run(toy, limit + RUN, **bare) == ["False", "90", "0"]
    assert run(toy, NUMBA_CACHE_DIR=elsewhere)[1] == "90"
    if room == 3000:
        assert run(toy, NUMBA_CACHE_DIR=elsewhere) == ["True", "90", "1"]

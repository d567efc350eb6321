"""What the tests of toys share: a level, a class or a method that no command knew before the test defined it."""

import sys
from collections.abc import MutableMapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

from reviewgraph.cli import main

#: Modules that take names from registries when they are imported.
READERS = ("lsc.commands", "lsc.simulation", "lsc.experiments")


def register(monkeypatch: pytest.MonkeyPatch, registry: MutableMapping[str, Any], toy: Any) -> None:
    """List a toy, as one line of the registry would, until the test ends; what reads the registry is imported anew."""
    packages = [import_module(name) for name in READERS]
    names = [
        f"{p.__name__}.{info.name}" for p in packages if hasattr(p, "__path__") for info in iter_modules(p.__path__)
    ]
    names += [package.__name__ for package in packages if not hasattr(package, "__path__")]
    # All are there before they are taken away, so that none remains that has met the toy.
    for name in names:
        import_module(name)
    for name in names:
        home, _, own = name.rpartition(".")
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(sys.modules[home], own)
    monkeypatch.setitem(registry, toy.name, toy)


def run(*words: object) -> Result:
    """Run the command line."""
    return CliRunner().invoke(main, list(map(str, words)), catch_exceptions=False)


def printed(*words: object) -> str:
    """Run a command that succeeds, and return what it prints."""
    done = run(*words)
    assert done.exit_code == 0, done.output
    return done.stdout


def table_of_scores(folder: Path) -> str:
    """Write scores of 12 papers by 8 reviewers as CSV and Parquet, and their truth; return the path of the CSV."""
    rng = np.random.default_rng(5)
    truth, harsh = rng.normal(5, 1.5, 12), rng.normal(0, 1, 8)
    rows = [
        f"r{j},p{i},{truth[i] + harsh[j] + 0.3 * rng.normal():.2f}"
        for j in range(8)
        for i in sorted(rng.choice(12, 6, replace=False).tolist())
    ]
    (folder / "truth.csv").write_text("\n".join(["item,truth", *(f"p{i},{q:.3f}" for i, q in enumerate(truth))]) + "\n")
    path = folder / "reviews.csv"
    path.write_text("\n".join(["reviewer,item,score", *rows]) + "\n")
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(path), path.with_suffix(".parquet"))
    return str(path)

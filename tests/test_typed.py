"""Wrong calls are found by type checkers: the public functions have no keywords of any name."""

import re
from pathlib import Path

import pytest

RIGHT = """\
from typing import Any
import reviewgraph as rg

df: Any = None
reviews = rg.Reviews(df, reviewer="who", paper="pid", score="rating", merge="all")
rg.check(reviews, load=3)
plan = rg.plan(df, 5, target="connected", goal="level", capacity={"a": 1}, search=rg.Search(time_limit=5, seed=1))
rg.plan(reviews, n=3, match=3, goal="decision", n_selected="20%")
rg.assign({("a", "p"): 1.0}, demand=3, load=2, fair="maximin", authors={"p": ["b"]})
rg.calibrate(df).interval(0.9)
rg.calibrate(df, method="lsc", hypothesis="offset").hypothesis
rg.compare(df, ["average", rg.Calibrator("lsc", hypothesis="offset")])
rg.graph.fragile(reviews)
rg.verify(plan, df, conflicts=[("a", 1)])
"""
WRONG = [
    "rg.plan(df, max_review=5)",
    "rg.plan(df, seed=5)",
    'rg.plan(df, n="5")',
    'rg.plan(df, goal="fame")',
    'rg.plan(df, target="doubly")',
    "rg.assign({}, demands=3)",
    "rg.assign({}, survives=1)",
    'rg.calibrate(df, hypothesis="offset")',
    'rg.calibrate(df, method="lcs")',
    'rg.calibrate(df, method="lsc", hypotesis="offset")',
    "rg.check(df, laod=3)",
    'rg.Reviews(df, itm="paper")',
    'rg.Reviews(df, duplicates="first")',
    'rg.Calibrator("lsc", hypotesis="offset")',
    'rg.components(df, kind="triple")',
    "rg.Search(timelimit=3)",
    "rg.Rules(lod=3)",
    "rg.verify(df)",
    "rg.recoverability(df)",
    "rg.Reviews.from_frame(df)",
]


@pytest.mark.slow
def test_wrong_calls_are_found_and_right_ones_are_not(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api")
    script = tmp_path / "calls.py"
    script.write_text(RIGHT + "\n".join(WRONG) + "\n", "utf-8")
    told, _, _ = api.run(["--cache-dir", ".mypy_cache", str(script)])
    lines = {int(number) for number in re.findall(r"calls\.py:(\d+): error", told)}
    first = RIGHT.count("\n") + 1
    assert lines == set(range(first, first + len(WRONG))), told

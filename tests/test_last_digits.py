"""The same answer where the last digits of computed numbers differ, as they do between processors."""

import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.special
from click.testing import CliRunner

from reviewgraph._base import largest, order_of, smallest
from reviewgraph.cli import main
from tests.trials import NIGHTLY, sampled

ROOT = Path(__file__).parents[1]

#: Largest relative change of a number, a thousand times what processors differ by, and how often numbers are changed.
CHANGE, TIMES = 1e-13, 10 if NIGHTLY else 2
#: What processors compute differently: sums, by their own order of additions and fused operations, at random; and
#: functions of one number, of which equal arguments have equal values everywhere.
SUMS = [
    *((np.linalg, name) for name in ("cholesky", "eigh", "inv", "qr", "solve", "svd")),
    *((np, name) for name in ("bincount", "einsum", "trace")),
]
FUNCTIONS = [
    *((np, name) for name in ("exp", "log", "log1p")),
    *((scipy.special, name) for name in ("gammaincc", "ndtr", "ndtri", "owens_t")),
]


def changed(value: Any, draw: Callable[[Any], Any]) -> Any:
    """Return numbers with other last digits; ``draw`` returns numbers from -1 to 1. Sums of whole numbers are exact."""
    if isinstance(value, tuple):
        parts = [changed(part, draw) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if np.asarray(value).dtype.kind != "f":
        return value
    return value * np.where(value == np.rint(value), 1.0, 1.0 + CHANGE * draw(value))


@contextlib.contextmanager
def another_processor(seed: int) -> Iterator[None]:
    """Change the last digits of what processors compute differently; kernels compute the same on all."""
    rng = np.random.default_rng(seed)

    def at_random(value: Any) -> Any:
        return rng.uniform(-1.0, 1.0, np.shape(value))

    def by_value(value: Any) -> Any:
        return np.sin(1e9 * value + seed)

    def computing(function: Callable[..., Any], draw: Callable[[Any], Any]) -> Callable[..., Any]:
        return lambda *args, **options: changed(function(*args, **options), draw)

    with contextlib.ExitStack() as patches:
        for computed, draw in ((SUMS, at_random), (FUNCTIONS, by_value)):
            for module, name in computed:
                patches.enter_context(mock.patch.object(module, name, computing(getattr(module, name), draw)))
        yield


#: Papers and reviewers of a table, each of which has a twin.
PAPERS, REVIEWERS, LOAD = 10, 8, 5


def write_tables(folder: Path, rng: np.random.Generator | None = None) -> Path:
    """Write tables full of ties; with ``rng`` the last digits of costs and affinities are changed.

    Everybody and every paper has a twin: a review of a paper, or of its twin, is one of the other twins, too. So all
    that is computed of twins is equal in theory.
    """
    folder.mkdir(exist_ok=True)
    drawn = np.random.default_rng(7)
    quality, severity = drawn.normal(5.0, 1.5, PAPERS), drawn.normal(0.0, 2.0, REVIEWERS)
    scores = []
    for j in range(REVIEWERS):
        for i in drawn.permutation(PAPERS)[:LOAD].tolist():
            score = round(quality[i] + severity[j] + 0.7 * drawn.normal())
            crossed = int(drawn.integers(2))
            scores += [(f"r{j}{side}", f"p{i}{'ab'[('ab'.index(side) + crossed) % 2]}", score) for side in "ab"]
    people = [f"r{j}{side}" for j in range(REVIEWERS) for side in "ab"]
    items = [f"p{i}{side}" for i in range(PAPERS) for side in "ab"]
    worth = [(who, what, 0.1 * (1 + (3 * j + i) % 4)) for j, who in enumerate(people) for i, what in enumerate(items)]
    if rng is not None:
        worth = [(who, what, value * (1.0 + CHANGE * rng.uniform(-1.0, 1.0))) for who, what, value in worth]
    tables: dict[str, tuple[str, list[Any]]] = {
        "scores": ("reviewer,item,score", scores),
        "reviews": ("reviewer,item", [(who, what) for who, what, _ in scores]),
        "affinity": ("reviewer,item,affinity", worth),
        "cost": ("reviewer,item,cost", worth),
        "items": ("item", [(item,) for item in items]),
        "people": ("reviewer", [(who,) for who in people]),
    }
    for name, (header, rows) in tables.items():
        lines = [",".join(cell if isinstance(cell, str) else repr(cell) for cell in row) for row in rows]
        (folder / f"{name}.csv").write_text("\n".join([header, *lines, ""]), "utf-8")
    return folder


MARKET = "assign --items items.csv --reviewers people.csv --demand 3 --load 5"
WORTH = f"{MARKET} --affinity affinity.csv"
#: Commands that the everyday run takes, and those of the night.
EVERYDAY = [
    "check reviews.csv --select 3",
    "calibrate scores.csv --select 3 --lottery --seed 1 --explain p3a",
    "calibrate scores.csv --select 3 --method additive",
    "calibrate scores.csv --hypothesis monotone",
    "plan reviews.csv --spare 2 --cost cost.csv",
    "plan reviews.csv --max-reviews 3 --spare 1",
    "plan scores.csv --for decision --select 3 --max-reviews 6 --spare 1",
    "plan scores.csv --for decision --select 3 --max-reviews 6 --rounds 2 --spare 2",
    WORTH,
    f"{WORTH} --fair maximin",
    f"{WORTH} --max-probability 0.5 --seed 4",
]
NIGHT = [
    MARKET,
    "check scores.csv --like scores.csv --fragile",
    *(f"calibrate scores.csv --select 3 --method {name}" for name in ("average", "z-score", "bayesian")),
    *(f"calibrate scores.csv --hypothesis {name}" for name in ("linear", "convex", "offset")),
    "plan reviews.csv --spare 2 --affinity affinity.csv --min-reviews 4",
    "plan scores.csv --for decision --select 3 --max-reviews 6 --spare 2",
    f"{WORTH} --target none",
    f"{WORTH} --target survives-reviewer",
    f"{WORTH} --floor 0.5 --best-effort",
    f"{WORTH} --alternates 2",
    f"{WORTH} --max-probability 0.5 --seed 4",
]


def answer_of(command: str, folder: Path) -> tuple[str, Any]:
    """Return the page of a command, and its JSON."""
    with contextlib.chdir(folder):
        page, answer = (CliRunner().invoke(main, [*shlex.split(command), *more]) for more in ([], ["--json"]))
    assert page.exit_code in (0, 1), page.output
    # Files differ. Of a posterior that converged to a tolerance the model is less exact than what follows from it.
    return page.stdout, {**json.loads(answer.stdout), "files": [], "model": None}


def apart(first: Any, second: Any, place: str = "") -> list[str]:
    """Return where two answers differ by more than the last digits."""
    if isinstance(first, dict) and isinstance(second, dict):
        names = sorted({*first, *second})
        return [word for name in names for word in apart(first.get(name), second.get(name), f"{place}.{name}")]
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        pairs = enumerate(zip(first, second, strict=True))
        return [word for number, pair in pairs for word in apart(*pair, f"{place}[{number}]")]
    if isinstance(first, float) and isinstance(second, float):
        return [] if second == pytest.approx(first, rel=1e-5, abs=1e-5) else [f"{place}: {first} and {second}"]
    return [] if first == second else [f"{place}: {first} and {second}"]


@pytest.mark.slow
@pytest.mark.parametrize("command", sampled([*EVERYDAY, *NIGHT], EVERYDAY))
def test_other_last_digits_give_the_same_answer(tmp_path: Path, command: str) -> None:
    page, answer = answer_of(command, write_tables(tmp_path / "plain"))
    for seed in range(TIMES):
        folder = write_tables(tmp_path / f"{seed}", np.random.default_rng(seed))
        with another_processor(seed):
            other_page, other_answer = answer_of(command, folder)
        assert apart(answer, other_answer) == []
        assert other_page == page


def test_places_do_not_depend_on_last_digits() -> None:
    for seed in range(50):
        rng = np.random.default_rng(seed)
        plain = rng.choice([-2.0, 0.0, 0.1, 1 / 3, 7.0, np.inf], 40)
        finite = np.where(np.isfinite(plain), plain, 5.0)
        other = plain * (1.0 + CHANGE * rng.uniform(-1.0, 1.0, plain.size)) + np.where(plain == 0.0, 1e-15, 0.0)
        near = np.where(np.isfinite(other), other, 5.0)
        assert order_of(other).tolist() == order_of(plain).tolist() == np.argsort(plain, kind="stable").tolist()
        assert largest(near) == largest(finite) == int(np.argmax(finite))
        for count in (0, 1, 20, 40):
            expected = np.sort(np.argsort(finite, kind="stable")[:count]).tolist()
            assert smallest(near, count).tolist() == smallest(finite, count).tolist() == expected


#: Processors that the library of matrix products can be told to run on.
PROCESSORS = ("Haswell", "Zen", "SkylakeX", "Prescott")


@pytest.mark.nightly
def test_every_processor_gives_the_stored_answers_and_the_same_ones() -> None:
    found = []
    for processor in PROCESSORS:
        environment = {**os.environ, "OPENBLAS_CORETYPE": processor}
        stored = [sys.executable, "-m", "pytest", "-q", "tests/test_fuzz.py", "-k", "damaged_were_true"]
        told = subprocess.run(stored, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert told.returncode == 0, f"{processor}: {told.stdout}"
        answers = [sys.executable, "-m", "tests.test_last_digits"]
        told = subprocess.run(answers, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        found.append(json.loads(told.stdout))
    for processor, answers_there in zip(PROCESSORS[1:], found[1:], strict=True):
        assert apart(found[0], answers_there, processor) == []


if __name__ == "__main__":
    # The answers of this processor.
    with tempfile.TemporaryDirectory() as name:
        tables = write_tables(Path(name))
        print(json.dumps({command: answer_of(command, tables) for command in [*EVERYDAY, *NIGHT]}))

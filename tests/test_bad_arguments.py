"""Part of the bad arguments to everything public, and whether all that is public is among them."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable

import pytest

from reviewgraph._base import Progress, checked
from tests import bad_arguments
from tests.bad_arguments import BAD, CALLBACKS, PACKAGES, Call, calls, outcome, parameters
from tests.trials import NIGHTLY

#: One call in so many; ``python -m tests.bad_arguments`` makes all of them.
SHARE = 37 if NIGHTLY else 151


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Call]:
    return calls(tmp_path_factory.mktemp("bad"))


def test_bad_arguments_are_answered_or_refused(made: dict[str, Call]) -> None:
    every = [(name, parameter, words) for name, call in made.items() for parameter in parameters(call) for words in BAD]
    found = {
        f"{name}({parameter}={words})": outcome(made[name], parameter, BAD[words])
        for name, parameter, words in every[::SHARE]
        if not (callable(BAD[words]) and parameter in CALLBACKS)
    }
    assert {call: said for call, said in found.items() if said} == {}
    assert len(found) > 12_000 // SHARE


def test_every_public_function_is_called(made: dict[str, Call]) -> None:
    things = [getattr(package, name) for package in PACKAGES for name in package.__all__]
    assert {thing.__name__ for thing in things if inspect.isfunction(thing)} <= set(made)


def test_what_is_raised_is_told() -> None:
    def fail(n: int) -> None:
        raise IndexError(n)

    assert outcome(Call(fail, {}), "n", 3).startswith("IndexError: '3' (test_bad_arguments.py:")
    assert outcome(Call(checked(fail), {}), "n", "three") == ""


def test_what_takes_long_ends_or_tells_which_share_of_its_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bad_arguments, "SECONDS", 0.4)

    def work(n: int, progress: Callable[[Progress], object]) -> None:
        """Tell the share that is done, nothing of it, or the share at the beginning only."""
        begun = time.monotonic()
        while True:
            seconds = time.monotonic() - begun
            if n < 2 or seconds < 0.1:
                progress(Progress(seconds, "at work", 0.5 if n else None))
            time.sleep(0.01)

    assert [outcome(Call(work, {}), "n", n) for n in range(3)] == ["does not end", "", "does not end"]

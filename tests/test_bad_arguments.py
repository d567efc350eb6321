"""Part of the bad arguments to everything public, and whether all that is public is among them."""

import inspect

import pytest

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

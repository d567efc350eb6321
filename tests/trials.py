"""How much tests draw: little in the everyday run, a hundred times as much in a nightly one."""

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings

#: Examples that the numbers of tests are meant for; profiles draw in proportion to it.
USUAL = 40
#: Examples of the everyday profile, ``ci``, which draws the same ones each time.
EVERYDAY = 12
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def trials(usual: int) -> int:
    """Return how many trials the profile asks for where tests are meant to have ``usual``."""
    return max(1, usual * settings.default.max_examples // USUAL)


def examples(usual: int) -> settings:
    """Return settings of as many examples as the profile asks for where tests are meant to have ``usual``.

    A number given to ``settings`` itself is the same in every profile.
    """
    return settings(max_examples=trials(usual))


def sampled(values: Iterable[Any], everyday: int | Collection[Any] = 1, *, several: bool = False) -> list[Any]:
    """Return the values as parameters of a test of which the everyday run takes some, and a nightly one all.

    The everyday run takes the first so many, or those that are listed. A value is of ``several`` parameters, or of one.
    """
    listed = list(values)
    taken = [place < everyday if isinstance(everyday, int) else value in everyday for place, value in enumerate(listed)]
    return [
        value if everyday_too else pytest.param(*(value if several else [value]), marks=pytest.mark.nightly)
        for value, everyday_too in zip(listed, taken, strict=True)
    ]

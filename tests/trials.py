"""How much tests draw: little in the everyday run, a hundred times as much in a nightly one."""

from __future__ import annotations

import os

from hypothesis import settings

#: Examples that the numbers of tests are meant for; profiles draw in proportion to it.
USUAL = 40
#: Examples of the everyday profile, ``ci``, which draws the same ones each time.
EVERYDAY = 20
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def trials(usual: int) -> int:
    """Return how many trials the profile asks for where tests are meant to have ``usual``."""
    return max(1, usual * settings.default.max_examples // USUAL)


def examples(usual: int) -> settings:
    """Return settings of as many examples as the profile asks for where tests are meant to have ``usual``.

    A number given to ``settings`` itself is the same in every profile.
    """
    return settings(max_examples=trials(usual))

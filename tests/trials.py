"""How much tests draw: little in the everyday run, fifty times as much in a nightly one."""

from __future__ import annotations

import os

from hypothesis import settings

#: Examples of the everyday profile, ``ci``; numbers of tests are meant for it, and other profiles draw in proportion.
USUAL = 40
NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def trials(usual: int) -> int:
    """Return how many trials the profile asks for where the everyday one has ``usual``."""
    return max(1, usual * settings.default.max_examples // USUAL)


def examples(usual: int) -> settings:
    """Return settings of as many examples as the profile asks for where the everyday one has ``usual``.

    A number given to ``settings`` itself is the same in every profile.
    """
    return settings(max_examples=trials(usual))

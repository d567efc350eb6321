"""Hypothesis profiles: ``ci`` repeats examples every time, ``nightly`` draws many new ones; a wide terminal."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("nightly", max_examples=2_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# A shell starts what runs in the background with Ctrl-C ignored, which all it starts inherits: tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no page be folded, so that sentences can be looked for, but where a test sets another width."""
    monkeypatch.setenv("COLUMNS", "1000")


@pytest.fixture(autouse=True, scope="session")
def quiet_compiler() -> None:
    """Leave the note on a first run out of what commands print in this process: which test meets it is chance."""
    from reviewgraph.kernels import cache

    cache.announced = True

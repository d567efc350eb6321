"""Hypothesis profiles: ``ci`` repeats examples every time, ``nightly`` draws many new ones; a wide terminal."""

import contextlib
import gc
import importlib
import os

# As the command has it, and before NumPy is loaded: threads of several workers mostly wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pickle
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.trials import EVERYDAY, NIGHTLY, USUAL
from tests.uncompiled import use_plain_kernels

ROOT = Path(__file__).parents[1]

settings.register_profile("both", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("both"), max_examples=EVERYDAY, derandomize=True)
settings.register_profile("nightly", settings.get_profile("both"), max_examples=50 * USUAL)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


if not NIGHTLY:
    # Hypothesis reads every module of ours for constants to draw, and so draws by what a process has loaded: at night.
    providers: Any = importlib.import_module("hypothesis.internal.conjecture.providers")
    if hasattr(providers, "_get_local_constants") and hasattr(providers, "_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what takes longest, unless the run is nightly."""
    if not NIGHTLY:
        for item in items:
            if item.get_closest_marker("nightly"):
                item.add_marker(pytest.mark.skip(reason="runs with HYPOTHESIS_PROFILE=nightly"))


def pytest_collectstart() -> None:
    """Keep the garbage collector from going through all that is collected again and again."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Keep the garbage collector from going through thousands of tests, and all modules, and let it run seldom."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker a stretch of the tests, so that those of a module share what they make, and let it take more."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


# A shell starts what runs in the background with Ctrl-C ignored, which all it starts inherits: tests press it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no page be folded, so that sentences can be looked for, but where a test sets another width."""
    monkeypatch.setenv("COLUMNS", "1000")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in a folder of the test's own; modules put their files there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Open a browser for all tests of one process that ask for it."""
    from tests.reviewgraph.report.browsing import chromium

    with chromium() as found:
        yield found


#: Posteriors that tests of one process have asked for, by all that they depend on.
INFERRED: dict[bytes, object] = {}
#: Gains on held-out reviews of such posteriors, which are kept beside them.
GAINS: dict[tuple[int, bytes], tuple[object, object]] = {}


@contextlib.contextmanager
def inferring_once() -> Iterator[None]:
    """Infer the posterior of equal arguments once in one process, and its gain on held-out reviews."""
    from lsc import posteriors

    infer, held_out_gain = posteriors.infer, posteriors.held_out_gain

    def remembered(*given: object, progress: object = None, **options: object) -> object:
        key = pickle.dumps((given, options))
        if key not in INFERRED:
            INFERRED[key] = infer(*given, progress=progress, **options)  # type: ignore[arg-type]
        return INFERRED[key]

    def remembered_gain(posterior: object, *given: object, **options: object) -> object:
        key = id(posterior), pickle.dumps((given, options))
        if key not in GAINS:
            GAINS[key] = posterior, held_out_gain(posterior, *given, **options)  # type: ignore[arg-type]
        return GAINS[key][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posteriors, "infer", remembered)
        patch.setattr(posteriors, "held_out_gain", remembered_gain)
        yield


@pytest.fixture
def infer_once() -> Iterator[dict[bytes, object]]:
    """Infer the posterior of equal arguments once, where a test is of what is made of it; return what was inferred."""
    with inferring_once():
        yield INFERRED


def compile_what_is_stale() -> None:
    """Compile the kernels of the checkout that are newer than their compiled forms: tests are of what is written."""
    from reviewgraph._build import compile_kernels, stale

    if modules := stale(ROOT):
        compile_kernels(ROOT, ROOT, modules)


class Docstrings:
    """Infer once for all docstrings that show a posterior of the same few scores."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        with inferring_once() if isinstance(item, pytest.DoctestItem) else contextlib.nullcontext():
            return (yield)


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels that were edited; let hooks be called for docstrings, which are outside of this folder."""
    if os.environ.get("KERNELS") == "plain":
        use_plain_kernels()
    elif not hasattr(config, "workerinput"):
        compile_what_is_stale()
    config.pluginmanager.register(Docstrings())

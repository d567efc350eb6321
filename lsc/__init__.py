"""Least Square Calibration: from scores to qualities. Imports reviewgraph only.

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsc._model.hypotheses import Concave as Concave
    from lsc._model.hypotheses import Convex as Convex
    from lsc._model.hypotheses import Linear as Linear
    from lsc._model.hypotheses import Monotone as Monotone
    from lsc._model.hypotheses import Offset as Offset
    from lsc.calibration import Calibration as Calibration
    from lsc.calibration import Status as Status
    from lsc.calibration import calibrate as calibrate
    from lsc.errors import CalibrationError as CalibrationError
    from lsc.errors import Incomparable as Incomparable
    from lsc.errors import SolverFailed as SolverFailed
    from lsc.errors import UndeterminedWarning as UndeterminedWarning
    from lsc.estimate import Estimate as Estimate
    from lsc.evidence.optimality import ScoringFunction as ScoringFunction
    from lsc.posteriors import PosteriorEstimate as PosteriorEstimate
    from lsc.posteriors import posterior as posterior
    from lsc.streams import StreamedCalibration as StreamedCalibration
    from lsc.streams import StreamedPosterior as StreamedPosterior
    from lsc.streams import calibrate_stream as calibrate_stream
    from lsc.streams import posterior_stream as posterior_stream

_HOME = {
    "Calibration": "calibration",
    "CalibrationError": "errors",
    "Concave": "_model.hypotheses",
    "Convex": "_model.hypotheses",
    "Estimate": "estimate",
    "Incomparable": "errors",
    "Linear": "_model.hypotheses",
    "Monotone": "_model.hypotheses",
    "Offset": "_model.hypotheses",
    "PosteriorEstimate": "posteriors",
    "ScoringFunction": "evidence.optimality",
    "SolverFailed": "errors",
    "Status": "calibration",
    "StreamedCalibration": "streams",
    "StreamedPosterior": "streams",
    "UndeterminedWarning": "errors",
    "calibrate": "calibration",
    "calibrate_stream": "streams",
    "posterior": "posteriors",
    "posterior_stream": "streams",
}
#: Modules that are reached as lsc.programs and the like, without an import of their own.
_MODULES = {
    "baselines": "baselines",
    "habits": "words.calibration_page",
    "metrics": "metrics",
    "optimality": "evidence.optimality",
    "programs": "programs",
    "seriation": "seriation",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"lsc.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"lsc.{_MODULES[name]}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted(__all__)

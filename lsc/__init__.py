"""Least Square Calibration: from scores to qualities. Imports reviewgraph only.

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lsc.calibration import Calibration as Calibration
    from lsc.calibration import Status as Status
    from lsc.calibration import calibrate as calibrate
    from lsc.errors import CalibrationError as CalibrationError
    from lsc.errors import Incomparable as Incomparable
    from lsc.errors import SolverFailed as SolverFailed
    from lsc.errors import UndeterminedWarning as UndeterminedWarning
    from lsc.estimate import Estimate as Estimate
    from lsc.hypotheses import Concave as Concave
    from lsc.hypotheses import Convex as Convex
    from lsc.hypotheses import Linear as Linear
    from lsc.hypotheses import Monotone as Monotone
    from lsc.scoring import ScoringFunction as ScoringFunction

_HOME = {
    "Calibration": "calibration",
    "CalibrationError": "errors",
    "Concave": "hypotheses",
    "Convex": "hypotheses",
    "Estimate": "estimate",
    "Incomparable": "errors",
    "Linear": "hypotheses",
    "Monotone": "hypotheses",
    "ScoringFunction": "scoring",
    "SolverFailed": "errors",
    "Status": "calibration",
    "UndeterminedWarning": "errors",
    "calibrate": "calibration",
}
#: Modules that work without an import of their own, such as lsc.programs.
_MODULES = ("baselines", "habits", "metrics", "optimality", "programs", "seriation", "simulate")

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"lsc.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"lsc.{name}")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted(__all__)

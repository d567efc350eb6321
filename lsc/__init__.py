"""Least Square Calibration: from scores to qualities. Imports reviewgraph only.

The public names are listed in ``__init__.pyi`` and loaded when first used, so that importing the package costs nothing.
"""

import warnings

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """Load a public name, or one under its name of the last release."""
    if name == "Status":
        name = "CalibrationStatus"
        message = "lsc.Status is now called lsc.CalibrationStatus; the old name will be removed"
        warnings.warn(f"{message} in the next release", DeprecationWarning, stacklevel=2)
    return _load(name)

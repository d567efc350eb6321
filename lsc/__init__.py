"""Least Square Calibration: from scores to qualities. Imports reviewgraph only.

The public names are listed in ``__init__.pyi`` and loaded when first used, so that importing the package costs nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Least Square Calibration: from scores to qualities. Imports reviewgraph only.

The public names are listed in ``__init__.pyi`` and loaded when first used, so that importing the package costs nothing.
"""

from reviewgraph._base import attach

#: Other projects have a package or a folder of this name; ``reviewgraph._base.errors.say_foreign`` looks whose it is.
__distribution__ = "reviewgraph"

__getattr__, __dir__ = attach(__name__)

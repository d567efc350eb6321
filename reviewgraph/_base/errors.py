"""Errors and warnings; every message names the place, what was expected, what was found and what to do."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module

#: The packages whose lines a warning does not name.
_OURS = {"reviewgraph", "planner", "lsc"}


class ReviewGraphError(Exception):
    """Anything this package refuses to do."""


class InputError(ReviewGraphError, ValueError):
    """Malformed input: a file, a row, a label or an argument."""


def refused(place: str, expected: str, found: object, remedy: str = "") -> InputError:
    """Return the error of input that is not what was expected, with what to do about it.

    >>> str(refused("rank", "a number", repr("x"), "write one"))
    "rank: expected a number, found 'x'; write one"
    """
    return InputError(f"{place}: expected {expected}, found {found}{'; ' if remedy else ''}{remedy}")


class DuplicateReview(InputError):
    """The same (reviewer, item) pair occurs twice and no policy was stated."""


class ImpossibleDesign(InputError):
    """Sizes for which no assignment of the requested kind exists; the message has the failing inequality."""


class CertificateError(ReviewGraphError):
    """A certificate that does not prove what it claims; the message names the step."""


class ColumnWarning(UserWarning):
    """Several columns of a data frame matched; the message names the one chosen, and how to choose another."""


class LabelWarning(UserWarning):
    """Similar labels were joined, or labels of a side table are not in the reviews; the message counts them."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the packages, however deep below it the warning arises."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _OURS:
        level = level + 1
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)


#: Packages of ours whose names other distributions bear, too; ours has ``__distribution__``.
_SHARED = ("lsc", "planner")


def say_foreign(name: str, module: str) -> str:
    """Return a message on a name whose package is that of another project, or nothing if it is ours.

    >>> say_foreign("plan", "planner.planning"), say_foreign("sqrt", "math")
    ('', '')
    """
    package = module.partition(".")[0]
    if package not in _SHARED or getattr(import_module(package), "__distribution__", None) == "reviewgraph":
        return ""
    place = getattr(sys.modules[package], "__file__", None) or "an unknown place"
    return (
        f"{name}: expected the package {package} of reviewgraph, found another one ({place}); rename "
        "it if it is your own, or install reviewgraph into an environment of its own, as in pipx install reviewgraph"
    )

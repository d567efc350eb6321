"""What can go wrong, as one tree.

::

    ReviewGraphError
    ├── InputError            malformed input: a file, a row, a label, an argument  (also a ValueError)
    │   ├── DuplicateReview   the same (reviewer, item) pair twice
    │   └── ImpossibleDesign  sizes for which no assignment of the kind asked for exists
    └── CertificateError      a certificate that does not prove what it claims

    ColumnWarning             one column of a data frame taken where several would do  (a UserWarning)
    LabelWarning              labels that are joined, or that the reviews do not know  (a UserWarning)

Every message names the place, what was expected, what was found and what to do.
"""

from __future__ import annotations

import sys
import warnings

#: The packages whose lines a warning does not name.
_OURS = {"reviewgraph", "planner", "lsc"}


class ReviewGraphError(Exception):
    """Anything this package refuses to do."""


class InputError(ReviewGraphError, ValueError):
    """Malformed input: a file, a row, a label or an argument."""


class DuplicateReview(InputError):
    """The same (reviewer, item) pair stands twice and no policy was stated."""


class ImpossibleDesign(InputError):
    """Sizes for which no assignment of the kind asked for exists; the message holds the failing inequality."""


class CertificateError(ReviewGraphError):
    """A certificate that does not prove what it claims; the message names the step."""


class ColumnWarning(UserWarning):
    """Of several columns of a data frame that may be meant one was taken; the message says which, and how to choose."""


class LabelWarning(UserWarning):
    """Labels that are alike were joined, or those beside the reviews are unknown to them; the message counts."""


def warn(message: str, category: type[UserWarning]) -> None:
    """Warn whoever called the packages: the warning names that line, however deep below it arises.

    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     warn("no place for 3 labels", LabelWarning)
    >>> found[0].category.__name__
    'LabelWarning'
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)

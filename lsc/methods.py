"""The registry of methods that estimate quality from scores: names, help texts, functions and options.

Commands take their choices and help from here, so importing this module does not load numpy.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from reviewgraph._base import InputError, named

if TYPE_CHECKING:
    from lsc.estimate import Estimate
    from reviewgraph.table import ReviewsLike


@dataclass(frozen=True)
class Method:
    """A method: called with reviews and its options it returns an :class:`~lsc.estimate.Estimate`.

    Parameters
    ----------
    name
        Its name in commands, JSON and arguments.
    title
        Its name in tables.
    words
        Its line in help.
    function
        A function of reviews and, by keyword, :attr:`options`.
    probabilities
        Whether its result is a :class:`~lsc.posteriors.PosteriorEstimate`, which ``--lottery`` and ``--explain`` need.
    by_parts
        Whether the function takes tables in parts, too; false by default.
    takes
        Names of its options; None (default) for all parameters of the function but the first.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> METHODS["average"](Reviews([("ann", "p1", 1.0), ("bob", "p1", 3.0)])).quality.tolist()
    [2.0]
    >>> METHODS["additive"].options
    ('seed',)
    """

    name: str
    title: str
    words: str
    function: Callable[..., Estimate]
    probabilities: bool = False
    by_parts: bool = False
    takes: tuple[str, ...] | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """Names of its options, all by keyword."""
        return tuple(list(inspect.signature(self.function).parameters)[1:]) if self.takes is None else self.takes

    def __call__(self, reviews: ReviewsLike, **options: Any) -> Estimate:
        """Estimate the qualities of the items of some reviews.

        Raises
        ------
        InputError
            If an option is not one of :attr:`options`, or the method raises it.
        """
        unknown = [name for name in options if name not in self.options]
        if unknown:
            message = f"{self.name}: expected options among {', '.join(self.options) or 'none'}, found {unknown[0]!r}"
            raise InputError(message)
        if self.by_parts:
            return self.function(reviews, **options)
        from reviewgraph.parts import PartedReviews
        from reviewgraph.table import as_reviews

        if isinstance(reviews, PartedReviews):
            able = " or ".join(repr(method.name) for method in METHODS.values() if method.by_parts)
            raise InputError(f"method: expected {able} for a table in parts, found {self.name!r}")
        return self.function(as_reviews(reviews), **options)


def _from(name: str) -> Callable[..., Any]:
    """Return the function ``"module:name"``, whose module is imported when it is called."""
    return lambda *arguments, **options: resolve_name(name)(*arguments, **options)


#: The names of the methods, for type hints; registered ones are accepted, too.
MethodName: TypeAlias = Literal["posterior", "average", "centring", "z-score", "additive", "qp", "bayesian", "lsc"]

#: The default method of ``calibrate``.
DEFAULT: Literal["posterior"] = "posterior"

#: All methods by name, in the order in which help lists them.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            DEFAULT,
            "Posterior",
            "severity, slope and noise of reviewers, partially pooled",
            _from("lsc.posteriors:posterior"),
            probabilities=True,
            by_parts=True,
            takes=("weights", "references", "seed", "progress", "only_target", "confidence"),
        ),
        Method(
            "average",
            "Average",
            "the mean score of each paper",
            _from("lsc.baselines:average"),
            takes=(),
        ),
        Method(
            "centring",
            "Centring",
            "scores less the mean of their reviewer",
            _from("lsc.baselines:centring"),
            takes=(),
        ),
        Method(
            "z-score",
            "z-score",
            "the same, in units of the reviewer's own standard deviation",
            _from("lsc.baselines:z_score"),
            takes=(),
        ),
        Method(
            "additive",
            "Additive model",
            "random effects of papers and reviewers, variances estimated",
            _from("lsc.baselines:mixed_model"),
            takes=("seed",),
        ),
        Method(
            "qp",
            "QP",
            "a scale and an offset per reviewer, by a quadratic programme",
            _from("lsc.baselines:quadratic_programme"),
            takes=("bounded",),
        ),
        Method(
            "bayesian",
            "Bayesian",
            "the probability of being among the best under the additive model",
            _from("lsc.baselines:bayesian"),
            takes=("n_selected", "seed"),
        ),
        Method(
            "lsc",
            "LSC",
            "Least Square Calibration: the least noise that explains all scores",
            _from("lsc.calibration:calibrate"),
            by_parts=True,
            takes=("hypothesis", "max_slope", "references", "progress"),
        ),
    )
}


def method_named(name: str, argument: str = "method") -> Method:
    """Return the method of a name.

    Raises
    ------
    InputError
        If no method has this name.

    Examples
    --------
    >>> method_named("lsc").title
    'LSC'
    """
    return named(METHODS.values(), name, argument)

"""Calibration by any of the methods, as the command ``reviewgraph calibrate`` does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, overload

from lsc._model.hypotheses import HYPOTHESES, HypothesisLike
from lsc.methods import DEFAULT, METHODS, MethodName, method_named
from reviewgraph._base import InputError, Progress, checked

if TYPE_CHECKING:
    import numpy as np

    from lsc._model.formulation import References
    from lsc.calibration import Calibration
    from lsc.estimate import Estimate
    from lsc.posteriors import PosteriorEstimate
    from reviewgraph.io import Numbered, Valued
    from reviewgraph.parts import PartedReviews
    from reviewgraph.table import ReviewsLike


class _AboutScores(TypedDict, total=False):
    """What the posterior uses besides the scores."""

    weights: Numbered | None
    references: Valued | None
    only_target: bool
    confidence: bool | None


class PosteriorOptions(_AboutScores, total=False):
    """Options of the method ``posterior``, see :func:`lsc.posterior`."""

    seed: int | np.random.Generator
    progress: Callable[[Progress], object] | None


class LeastSquaresOptions(TypedDict, total=False):
    """Options of the method ``lsc``, see :func:`lsc.calibrate`."""

    hypothesis: HypothesisLike
    max_slope: float | None
    references: References | None
    progress: Callable[[Progress], object] | None


class MethodOptions(_AboutScores, total=False):
    """Options of all methods together, but seed and progress."""

    hypothesis: HypothesisLike
    max_slope: float | None
    n_selected: int | None
    bounded: bool


class CalibrationOptions(MethodOptions, total=False):
    """Options of all methods together."""

    seed: int | np.random.Generator
    progress: Callable[[Progress], object] | None


@overload
def calibrate(
    reviews: ReviewsLike | PartedReviews, method: Literal["posterior"] = ..., **options: Unpack[PosteriorOptions]
) -> PosteriorEstimate: ...
@overload
def calibrate(
    reviews: ReviewsLike | PartedReviews, method: Literal["lsc"], **options: Unpack[LeastSquaresOptions]
) -> Calibration: ...
@overload
def calibrate(
    reviews: ReviewsLike | PartedReviews, method: MethodName, **options: Unpack[CalibrationOptions]
) -> Estimate: ...
@checked(options=CalibrationOptions)
def calibrate(
    reviews: ReviewsLike | PartedReviews, method: MethodName = DEFAULT, **options: Unpack[CalibrationOptions]
) -> Estimate:
    """Estimate the quality of every item from the scores, corrected for how reviewers score.

    The same as the command ``reviewgraph calibrate``. For Least Square Calibration of [Tan21]_ pass ``method="lsc"``,
    or call :func:`lsc.calibrate`.

    Parameters
    ----------
    reviews
        With scores, or a data frame of them; planned reviews are ignored. Of tables in parts ``posterior`` and ``lsc``
        make estimates.
    method
        ``"posterior"`` (default): severity, slope and noise of reviewers, partially pooled; ``"average"``,
        ``"centring"``, ``"z-score"``, ``"additive"``, ``"qp"``, ``"bayesian"`` or ``"lsc"``, as in
        :data:`lsc.methods.METHODS`.
    **options
        Options of the method by keyword: those of :func:`lsc.posterior`, of :func:`lsc.calibrate` and so on.

    Returns
    -------
    Estimate
        Qualities with labels; of ``posterior`` a :class:`lsc.PosteriorEstimate`, of ``lsc`` a :class:`lsc.Calibration`.

    Raises
    ------
    InputError
        If no method has this name, an option belongs to another method, or the method raises it.

    Examples
    --------
    >>> rows = [(r, p, 2 * p + r * p % 3) for r in range(3) for p in range(3 * r, 3 * r + 6)]
    >>> calibrate(rows).ranking()[0]
    11
    >>> calibrate(rows, method="average").ranking()[0]
    11
    """
    if method in HYPOTHESES:
        message = f"method: expected the name of a method, found {method!r}; did you mean 'lsc', hypothesis={method!r}?"
        raise InputError(message)
    chosen = method_named(method)
    for name in options:
        owners = [other.name for other in METHODS.values() if name in other.options]
        if owners and name not in chosen.options:
            if name == "n_selected":
                number = options.get("n_selected")
                raise InputError(
                    f"n_selected: expected none with method={method!r}, found {number!r}; to select the best, write "
                    f"calibrate(...).selection({number!r})"
                )
            with_it = " or ".join(f"method={owner!r}" for owner in owners)
            message = f"{name}: expected {with_it} with it, found {method!r}; name that method, or leave {name} out"
            raise InputError(message)
    return chosen(reviews, **options)

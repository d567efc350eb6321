"""What to expect of the scores of a table before there are any: errors, and what more reviews would buy."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.labels import ranks
from reviewgraph.precision.conditioning import Effort, error_variances
from reviewgraph.precision.expected import average_errors, expected_variances
from reviewgraph.precision.selecting import expected_share
from reviewgraph.words import LISTED

if TYPE_CHECKING:
    from reviewgraph.arrays import FloatArray, IntArray
    from reviewgraph.assumptions import Assumptions
    from reviewgraph.structure import Structure

#: A check is to stay quick: it inverts small matrices only.
QUICK = Effort(exact_up_to=500, probes=2, steps=50)
#: Draws of qualities for errors by the scores alone where they are exact: coincidences make some very large.
DRAWS = 3
#: Reviews added along the curve, as shares of the number of items.
ADDED = (0.0, 0.25, 0.5, 1.0)


class Step(NamedTuple):
    """A step of the curve: reviews added, one each to the weakest items, and the expected share of right selections."""

    added: int
    right: float


@dataclass(frozen=True, eq=False)
class Outlook:
    """Expected errors of the items of a table, all its reviews having scores.

    Parameters
    ----------
    structure
        What the table promises without noise.
    assumptions
        Of noise, severity, stretch and the spread of qualities.
    n_selected
        How many of the best will be selected.
    variance
        Shape (N,): expected posterior variances in units of the variance of qualities.
    """

    structure: Structure
    assumptions: Assumptions
    n_selected: int
    variance: FloatArray

    @property
    def error(self) -> FloatArray:
        """Expected standard errors, shape (N,), in points."""
        return self.assumptions.spread * np.sqrt(self.variance)

    @cached_property
    def average(self) -> FloatArray:
        """The same of plain averages."""
        return average_errors(self.structure.reviews, self.assumptions)

    @property
    def with_one_more(self) -> FloatArray:
        """Expected standard errors after one more review by a typical reviewer whose severity and stretch are known."""
        return self.assumptions.spread * np.sqrt(one_more(self.variance, self.assumptions.noise))

    @cached_property
    def weakest(self) -> IntArray:
        """All items, the largest expected error first, ties in the order of their labels."""
        # Rounded: what differs by rounding errors only is a tie.
        return np.lexsort((ranks(self.structure.reviews.items), -np.round(self.variance, 9)))

    @cached_property
    def curve(self) -> list[Step]:
        """Expected share of right selections against reviews added."""
        counts = sorted({round(share * self.variance.size) for share in ADDED})
        return [Step(count, expected_share(self._with_reviews(count), self.n_selected)) for count in counts]

    @cached_property
    def right_by_average(self) -> float:
        """Expected share of right selections by plain averages of the reviews there are."""
        return expected_share((self.average / self.assumptions.spread) ** 2, self.n_selected)

    @cached_property
    def by_scores_alone(self) -> float | None:
        """Root mean square error where nothing is assumed of qualities and reviewers; None where it is not finite.

        That is what Least Square Calibration leaves; at level ``connected``, of reviewers who differ in severity only.
        Up to 500 items the median over three draws of qualities; beyond one draw and probes, rather too small than too
        large where few links join large parts.
        """
        structure = self.structure
        if not structure.is_connected:
            return None
        reviews, rng = structure.reviews, np.random.default_rng(0)
        draws = DRAWS if reviews.n_items <= QUICK.exact_up_to else 1
        drawn = rng.standard_normal((draws, reviews.n_items)) if structure.recoverable else [None]
        found = [error_variances(reviews.reviewer, reviews.item, quality, rng, effort=QUICK) for quality in drawn]
        middle = float(np.median([variances.mean() for variances in found]))
        return self.assumptions.spread * self.assumptions.noise * math.sqrt(middle) if math.isfinite(middle) else None

    @property
    def rests_on_likeness(self) -> bool:
        """Whether errors are finite only because papers and reviewers of all pieces are assumed to be alike."""
        return not self.structure.is_connected

    @property
    def averages_do_better(self) -> bool:
        """Whether plain averages have smaller errors than the scores alone leave, although a level holds."""
        mean = float(np.sqrt((self.average**2).mean()))
        return self.by_scores_alone is not None and self.by_scores_alone > mean

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as the command's ``--json`` prints them."""
        items, error, more = self.structure.reviews.items, self.error, self.with_one_more
        alone = self.by_scores_alone
        return {
            "median": _six_digits(np.median(error)),
            "average": _six_digits(np.median(self.average)),
            "by_scores_alone": None if alone is None else _six_digits(alone),
            "worst": [
                {"item": items[code], "error": _six_digits(error[code]), "with_one_more": _six_digits(more[code])}
                for code in self.weakest[:LISTED].tolist()
            ],
            "assumptions": {name: _six_digits(value) for name, value in asdict(self.assumptions).items()},
            "selected": self.n_selected,
            "curve": [{"added": step.added, "right": _six_digits(step.right)} for step in self.curve],
        }

    def _with_reviews(self, count: int) -> FloatArray:
        """Return variances after one more review for each of the weakest items."""
        found, chosen = self.variance.copy(), self.weakest[:count]
        found[chosen] = one_more(found[chosen], self.assumptions.noise)
        return found


def _six_digits(value: float | np.floating) -> float:
    """Return a number without the digits that differ between machines."""
    return float(f"{value:.6g}")


def one_more(variance: FloatArray, noise: float) -> FloatArray:
    """Return variances after one more score with this noise, of a reviewer whose severity and stretch are known.

    >>> one_more(np.array([1.0, 0.5]), 1.0).round(3).tolist()
    [0.5, 0.333]
    """
    # Sherman and Morrison for the rank-one update e e^T / s^2.
    return variance - variance**2 / (noise**2 + variance)


def outlook_of(structure: Structure, assumptions: Assumptions, n_selected: int | None = None) -> Outlook:
    """Return what to expect of a table's scores, in time near-linear in its reviews.

    Parameters
    ----------
    structure
        Of the table, all its reviews counting.
    assumptions
        Of the scores.
    n_selected
        How many of the best will be selected: a tenth of the items by default, at least one.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> from reviewgraph.assumptions import Assumptions
    >>> from reviewgraph.structure import structure_of
    >>> pairs = [("ann", 1), ("ann", 2), ("bob", 1), ("bob", 2), ("bob", 3)]
    >>> outlook = outlook_of(structure_of(Reviews.from_pairs(pairs)), Assumptions())
    >>> int(outlook.weakest[0]), outlook.error.round(1).tolist(), outlook.with_one_more.round(1).tolist()
    (2, [0.6, 0.6, 0.7], [0.5, 0.5, 0.6])
    """
    reviews = structure.reviews
    variance = expected_variances(
        reviews.reviewer, reviews.item, reviews.n_items, assumptions, exact_up_to=QUICK.exact_up_to
    )
    selected = max(1, round(0.1 * reviews.n_items)) if n_selected is None else n_selected
    return Outlook(structure, assumptions, selected, variance)

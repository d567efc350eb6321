"""What independent code finds of calibrations; see :func:`reviewgraph._verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from lsc.methods import METHODS
from reviewgraph._base import InputError, plain
from reviewgraph._verify import Answer, Findings, Wanted, table_of, verify_calibration
from reviewgraph.table import as_reviews

if TYPE_CHECKING:
    from lsc.calibration import Calibration
    from lsc.estimate import Estimate
    from reviewgraph.io import Rules


def _is_optimal(estimate: Calibration) -> bool:
    """Whether qualities are those of a point that satisfies the conditions of optimality."""
    solved = estimate.solution
    reported = solved.scale.apply(solved.quality, solved.group)
    # Items without a score have no quality, or that of their reference.
    known = np.isfinite(estimate.quality)
    scored = estimate.reviews.only_scored().reviews_per_item > 0
    tolerance = 1e-9 * float(np.ptp(reported[scored]))
    same = np.allclose(estimate.quality[known], reported[known], rtol=1e-9, atol=tolerance)
    return bool(same and known[scored].all()) and estimate.is_optimal()


def wanted(method: str, **options: Any) -> Wanted:
    """Return the options of a calibration, with what results of each method have."""
    likely = [name for name, kind in METHODS.items() if kind.probabilities]
    fitted = [name for name, kind in METHODS.items() if "hypothesis" in kind.options]
    return Wanted(method=method, by_piece=[*fitted, *likely], probabilities=likely, **options)


def of_estimate(estimate: Estimate, reviews: Any, rules: Rules) -> Findings:
    """Return the findings on an estimate, from the scores."""
    if rules.stated:
        raise InputError(f"{rules.stated[0]}: expected no rules with a calibration, found one; leave it out")
    table = table_of(as_reviews(reviews))
    content = estimate.to_dict()
    # Labels are compared as text, also those that are tuples.
    content["items"] = [row | {"item": str(row["item"])} for row in content["items"]]
    answer = Answer("calibration", "calibrate", plain(content))
    findings = verify_calibration(answer, table, wanted(estimate.method, named=True))
    if "hypothesis" in METHODS[estimate.method].options:
        findings.expect(_is_optimal(cast("Calibration", estimate)), "quality: not a solution of least squares")
        findings.check("the conditions of optimality, by code that no solver uses")
    else:
        findings.not_checked("quality: no equations of this method are checked here; calibrate again and compare")
    return findings

"""Answers of Least Square Calibration: the optimality conditions, from the qualities alone.

The objective is the sum over reviewers of the squared distance between the qualities of their papers and the closest
perceived qualities that their class allows. It is convex, and its gradient at paper i is twice the sum of quality less
perceived quality over the reviews of i: qualities are optimal if and only if it vanishes, references aside.

Recomputed: objective, gradient, mean and spread of each group. Not checked: inaccurate answers, and
reviewers of very many different scores. Whether other qualities fit as well is left to a second run of the command.
"""

from __future__ import annotations

from collections import Counter
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.verify.calibrations import Equations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reviewgraph._base.arrays import FloatArray
    from reviewgraph.verify.calibrations import Calibration

#: Gradient per review that counts as 0, relative to the spread of qualities; solvers leave 1e-9 and less.
GRADIENT = 1e-6
#: Differences allowed between objectives, relative to themselves, and per review to the squared spread.
OBJECTIVE = 1e-4
VANISHING = 1e-9
#: Different scores of a reviewer up to which the closest curve is computed.
MOST_BENDS = 200
#: Units in the last place of the largest score within which scores of a reviewer are equal.
ROUNDING = 8


class Form(NamedTuple):
    """A class of scoring functions: ``fixed`` to slope one, or ``bent`` by more than one weight.

    ``fit`` returns, closest to some values, what the inverse of such a function may add to an offset and a line of the
    least slope.
    """

    fit: Callable[[FloatArray, FloatArray], FloatArray]
    fixed: bool = False
    bent: bool = False

    def closest(self, score: FloatArray, quality: FloatArray, least: float) -> FloatArray:
        """Return the perceived qualities that the class allows closest to some qualities.

        They are ``a + least * score`` plus a sum, with weights of 0 or more, of the elements of the class.

        >>> LINEAR.closest(np.array([1.0, 2.0]), np.array([5.0, 4.0]), 0.1).tolist()
        [4.45, 4.55]
        """
        base = quality.mean() + (1.0 if self.fixed else least) * (score - score.mean())
        return np.asarray(base + self.fit(score, quality - base))


def _line(score: FloatArray, wanted: FloatArray) -> FloatArray:
    return _weighted(score[:, None], wanted)


def _flattening(score: FloatArray, wanted: FloatArray) -> FloatArray:
    """Fit increments that shrink: the inverse of a convex function."""
    return _weighted(np.minimum(score[:, None], np.unique(score)[None, 1:]), wanted)


def _steepening(score: FloatArray, wanted: FloatArray) -> FloatArray:
    """Fit increments that grow: the inverse of a concave function."""
    return _weighted(np.maximum(score[:, None] - np.unique(score)[None, :-1], 0.0), wanted)


def _rising(score: FloatArray, wanted: FloatArray) -> FloatArray:
    """Fit values that do not fall as scores rise, equal for equal scores."""
    from scipy.optimize import isotonic_regression

    levels, place, count = np.unique(score, return_inverse=True, return_counts=True)
    mean = np.bincount(place, wanted, levels.size) / count
    return np.asarray(isotonic_regression(mean, weights=count).x[place], np.float64)


def _weighted(columns: FloatArray, wanted: FloatArray) -> FloatArray:
    """Fit a sum of columns, less their means, with weights of 0 or more."""
    from scipy.optimize import nnls

    centred = columns - columns.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    scaled = centred[:, size > 0] / size[size > 0]
    if not scaled.size:
        return np.zeros_like(wanted)
    return np.asarray(scaled @ nnls(scaled, wanted, maxiter=100 * scaled.shape[1])[0])


#: Hypothesis classes, which name these.
OFFSET = Form(lambda score, wanted: np.zeros_like(wanted), fixed=True)
LINEAR = Form(_line)
MONOTONE = Form(_rising)
CONVEX = Form(_flattening, bent=True)
CONCAVE = Form(_steepening, bent=True)


def check_least_squares(calibration: Calibration) -> None:
    """Check the optimality conditions of ``lsc``, and the objective."""
    findings = calibration.findings
    wanted = calibration.wanted
    status = calibration.answer.get("status")
    units = calibration.answer.get("units") or []
    if not findings.expect(status in ("optimal", "inaccurate"), f"status: there is none called {status!r}"):
        return
    groups = max((row.group for row in calibration.rows.values()), default=0)
    words = f"units: expected numbers of 0 or more of {groups} groups, found {units}"
    if not findings.expect(len(units) == groups and min(units, default=0) >= 0, words):
        return
    kinds = set(wanted.hypotheses.values())
    used = {wanted.hypotheses[reviewer] for reviewer, _ in calibration.scores}
    if used:
        findings.value("hypothesis", used.pop() if len(used) == 1 else "mixed")
    if unknown := {kind for kind in kinds if not wanted.classes.get(kind)}:
        words = f"qualities: of {', '.join(sorted(unknown))} reviewers, which this verifier does not know"
        findings.not_checked(words)
        return
    forms = {kind: _form(wanted.classes[kind]) for kind in kinds}
    _check_scales(calibration, fixed=any(form.fixed for form in forms.values()))
    # Optimality is checked of exact answers alone.
    if status != "optimal":
        findings.not_checked("qualities: status inaccurate, so optimality is not checked")
    else:
        _check_optimality(calibration, forms, units)


LEAST_SQUARES = Equations(check_least_squares, by_piece=True)


def _form(named: Any) -> Form:
    form: Form = resolve_name(named) if isinstance(named, str) else named
    return form


def _check_optimality(calibration: Calibration, forms: Mapping[str, Form], units: list[float]) -> None:
    """Compute the objective and its gradient in the units of the programme, in which slopes are bounded."""
    findings = calibration.findings
    wanted = calibration.wanted
    sign = calibration.sign
    quality = {}
    by_group: dict[int, list[float]] = {}
    for item, value in calibration.quality.items():
        group = calibration.rows[item].group
        unit = units[group - 1]
        quality[item] = sign * value / unit if unit else 0.0
        by_group.setdefault(group, []).append(quality[item])
    gradient = dict.fromkeys(quality, 0.0)
    objective = 0.0
    values = list(calibration.scores.values())
    rounding = ROUNDING * float(np.spacing(max(map(abs, values), default=1.0)))
    for reviewer, items in calibration.scored.rows().items():
        if not items:
            continue
        form = forms[wanted.hypotheses[reviewer]]
        score = np.array([sign * calibration.scores[reviewer, item] for item in items])
        score = _without_rounding(score, rounding)
        if form.bent and np.unique(score).size > MOST_BENDS:
            words = f"qualities: reviewer {reviewer} gave more than {MOST_BENDS} different scores"
            findings.not_checked(words)
            return
        own_quality = np.array([quality[item] for item in items])
        residual = own_quality - form.closest(score, own_quality, 1.0 / wanted.max_slope)
        objective += float(residual @ residual)
        for item, value in zip(items, residual.tolist(), strict=True):
            gradient[item] += value
    # Differences are relative to the spread of a group, or to the smallest that slopes allow.
    floor = (max(values, default=0.0) - min(values, default=0.0)) / wanted.max_slope * 1e-6
    spread = {group: max(float(np.std(places)), floor) for group, places in by_group.items()}
    count = Counter(item for _, item in calibration.scores)
    for item, slope in gradient.items():
        allowed = GRADIENT * spread[calibration.rows[item].group] * count[item]
        words = f"{item}, quality: the objective falls where it moves (gradient {slope:.3g}, allowed {allowed:.3g})"
        findings.expect(item in wanted.references or abs(slope) <= allowed, words)
    slack = OBJECTIVE * abs(objective) + VANISHING * max(spread.values(), default=floor) ** 2 * len(values)
    findings.value("objective", objective, slack)
    findings.check(f"qualities and objective: no paper can move and fit better, up to {GRADIENT:g} of their spread")


def _without_rounding(score: FloatArray, rounding: float) -> FloatArray:
    """Return scores, those equal that differ by rounding alone."""
    order = np.argsort(score, kind="stable")
    rounded = score.copy()
    for before, place in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        if score[place] - score[before] <= rounding:
            rounded[place] = rounded[before]
    return rounded


def _check_scales(calibration: Calibration, *, fixed: bool) -> None:
    """Compare mean and spread of each group with those of its averages, or references."""
    findings = calibration.findings
    for number in sorted({row.group for row in calibration.rows.values()}):
        items = [item for item in calibration.quality if calibration.rows[item].group == number]
        references = [item for item in items if item in calibration.wanted.references]
        if len(references) > 1 and not fixed:
            for item in references:
                known = float(calibration.wanted.references[item])
                findings.same(f"{item}, quality (a reference)", calibration.quality[item], known)
        if references or not items:
            continue
        quality = np.array([calibration.quality[item] for item in items])
        average = np.array([calibration.rows[item].average for item in items], np.float64)
        slack = GRADIENT * max(float(np.abs(average).max()), float(average.std()))
        findings.same(f"group {number}: mean of qualities", float(quality.mean()), float(average.mean()), slack)
        if not (fixed or quality.std() <= slack or average.std() <= slack):
            findings.same(f"group {number}: spread of qualities", float(quality.std()), float(average.std()), slack)

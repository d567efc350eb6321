"""Answers of Least Square Calibration: the optimality conditions, from the qualities alone.

The objective is the sum over reviewers of the squared distance between the qualities of their papers and the closest
perceived qualities that their class allows. It is convex, and its gradient at paper i is twice the sum of quality less
perceived quality over the reviews of i: qualities are optimal if and only if it vanishes, references aside.

Recomputed: objective, gradient, mean and spread of each group, uniqueness by linear programmes, standard errors of
lines. Not checked: inaccurate answers, ``--ties free``, reviewers of very many different scores, uniqueness in large
groups.
"""

from __future__ import annotations

from collections import Counter
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.verify.answers import shown
from reviewgraph.verify.calibrations import Equations
from reviewgraph.verify.graphs import missing_links

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
    from reviewgraph.verify.calibrations import Calibration


# Uniqueness of the optimum, and standard errors of lines.

#: Slack below which a constraint binds, and noise that counts as none, both relative to the spread of qualities.
BINDING = 1e-6
NOISELESS = 1e-7
#: Part of a direction beyond shift and scale that counts, where all qualities may move by one.
MOVES = 1e-4
#: Relative distance at which a slope lies on its bound; degrees of freedom needed for standard errors.
ON_BOUND = 1e-6
LEAST_FREEDOM = 10
#: Eigenvalue that counts as 0, relative to the largest.
NOTHING = 1e-12
#: Items up to which standard errors are recomputed.
MOST_ITEMS = 2_000


class Curve(NamedTuple):
    """A reviewer: class, items by code, scores (higher is better), perceived qualities, and the least slope."""

    form: Form
    item: IntArray
    score: FloatArray
    perceived: FloatArray
    least: float

    @property
    def slope(self) -> float:
        """Slope of the best line through the perceived qualities by scores; infinite where all scores are equal."""
        along = self.score - self.score.mean()
        return float(along @ self.perceived / (along @ along)) if np.ptp(self.score) > 0 else np.inf


def is_only(curves: Sequence[Curve], quality: FloatArray, is_reference: BoolArray) -> bool:
    """Whether no other qualities fit as well, up to a shift, and up to a scale where there is no noise.

    All that fit as well have the same noise, so they differ by directions in which no binding constraint of a class
    forbids a step. A linear programme searches for one along a random vector. ``curves`` are those of the reviewers of
    a group, ``quality`` and ``is_reference`` (these stay) have the shape (n,).
    """
    import scipy.sparse
    from scipy.optimize import linprog

    spread = float(quality.std())
    # Constraints on directions, and the trivial ones to project out.
    rules = _Rules(quality.size)
    for curve in curves:
        rules.add(curve, BINDING * spread)
    noise = np.concatenate([curve.perceived - quality[curve.item] for curve in curves])
    trivial = [np.ones(quality.size), quality - quality.mean()]
    basis = np.linalg.qr(np.column_stack(trivial[: 1 + (float(np.sqrt((noise**2).mean())) <= NOISELESS * spread)]))[0]
    probe = np.random.default_rng(1).standard_normal(quality.size)
    probe -= basis @ (basis.T @ probe)
    # Search along a random vector, both ways, for a direction that is not trivial.
    bounds = np.array([(0.0, 0.0) if fixed else (-1.0, 1.0) for fixed in is_reference] + rules.bounds)
    matrices = []
    for rows in (rules.equal, rules.rising):
        entries = [(value, number, column) for number, row in enumerate(rows) for column, value in row.items()]
        value, number, column = zip(*entries, strict=True) if entries else ((), (), ())
        matrices.append(scipy.sparse.csr_array((value, (number, column)), (len(rows), len(bounds))) if rows else None)
    for sign in (1.0, -1.0):
        solution = linprog(
            np.concatenate([-sign * probe, np.zeros(len(rules.bounds))]),
            A_ub=None if matrices[1] is None else -matrices[1],
            b_ub=None if matrices[1] is None else np.zeros(len(rules.rising)),
            A_eq=matrices[0],
            b_eq=None if matrices[0] is None else np.zeros(len(rules.equal)),
            bounds=bounds,
            method="highs",
        )
        if solution.status != 0:
            return False
        step = solution.x[: quality.size]
        if float(np.abs(step - basis @ (basis.T @ step)).max()) > MOVES:
            return False
    return True


class _Rules:
    """Constraints on directions: rows equal to 0, and rows of 0 or more; a line has columns for offset and slope."""

    def __init__(self, size: int) -> None:
        self.bounds = list[tuple[float, float]]()
        self.size = size
        self.equal, self.rising = list[dict[int, float]](), list[dict[int, float]]()

    def add(self, curve: Curve, slack: float) -> None:
        """Add the constraints of a reviewer's class."""
        if curve.form.straight or np.ptp(curve.score) == 0:
            self._line(curve, slack)
            return
        levels, first, place = np.unique(curve.score, return_index=True, return_inverse=True)
        item = curve.item[first]
        perceived = curve.perceived[first]
        width = np.diff(levels)
        self.equal += [
            {i: 1.0, int(item[k]): -1.0}
            for i, k in zip(curve.item.tolist(), place.tolist(), strict=True)
            if i != item[k]
        ]
        rise = [{int(high): 1 / w, int(low): -1 / w} for high, low, w in zip(item[1:], item, width, strict=False)]
        slope = np.diff(perceived) / width
        if not curve.form.bend:
            self.rising += [row for row, s, w in zip(rise, slope, width, strict=True) if (s - curve.least) * w <= slack]
            return
        # Slopes of the inverse: they fall, of concave functions rise; the least of them is bounded.
        if curve.form.bend < 0:
            rise = rise[::-1]
            slope = slope[::-1]
            width = width[::-1]
        beyond = np.append(slope[:-1] - slope[1:], slope[-1] - curve.least)
        for number, room in enumerate((beyond * width).tolist()):
            if room <= slack:
                after = rise[number + 1] if number + 1 < len(rise) else {}
                row = dict(rise[number])
                for column, value in after.items():
                    row[column] = row.get(column, 0.0) - value
                self.rising.append(row)

    def _line(self, curve: Curve, slack: float) -> None:
        start = self.size + len(self.bounds)
        self.bounds.append((-np.inf, np.inf))
        width = float(np.ptp(curve.score))
        sloped = not curve.form.fixed and width > 0
        if sloped:
            bound = (curve.slope - curve.least) * width <= slack
            self.bounds.append((0.0 if bound else -np.inf, np.inf))
        for i, score in zip(curve.item.tolist(), curve.score.tolist(), strict=True):
            own = {start + 1: -(score - curve.score.min()) / width} if sloped else {}
            self.equal.append({i: 1.0, start: -1.0, **own})


def errors(curves: Sequence[Curve], quality: FloatArray, *, sloped: bool) -> FloatArray | None:
    """Return the standard error of each quality, shape (n,), where all reviewers have lines; None for too few scores.

    It is the noise per degree of freedom, times the diagonal of L^+, L the sum over reviewers of what neither an offset
    nor, off its bound, a slope explains.
    """
    linked = [curve for curve in curves if curve.item.size > 1]
    if not linked:
        return None
    free = [sloped and curve.slope > curve.least * (1 + ON_BOUND) for curve in linked]
    whole = int(sloped and all(free))
    scores = sum(curve.item.size for curve in linked)
    freedom = (
        scores - np.unique(np.concatenate([curve.item for curve in linked])).size - len(linked) - sum(free) + 1 + whole
    )
    if freedom < LEAST_FREEDOM or quality.size > MOST_ITEMS:
        return None
    laplacian = np.zeros((quality.size, quality.size))
    squares = 0.0
    for curve, slope in zip(linked, free, strict=True):
        mine = quality[curve.item]
        along = [np.ones(mine.size), *([mine - mine.mean()] if slope and np.ptp(mine) > 0 else [])]
        basis = np.linalg.qr(np.column_stack(along))[0]
        laplacian[np.ix_(curve.item, curve.item)] += np.eye(mine.size) - basis @ basis.T
        squares += float(((curve.perceived - mine) ** 2).sum())
    value, vector = np.linalg.eigh(laplacian)
    if value[1 + whole] <= NOTHING * value[-1]:
        return None
    return np.asarray(np.sqrt(squares / freedom * (vector[:, 1 + whole :] ** 2 @ (1 / value[1 + whole :]))))


# The objective and its gradient.

#: Gradient per review that counts as 0, relative to the spread of qualities; solvers leave 1e-9 and less.
GRADIENT = 1e-6
#: Differences allowed between objectives, relative to themselves, and per review to the squared spread.
OBJECTIVE = 1e-4
VANISHING = 1e-9
#: Different scores of a reviewer up to which the closest curve is computed.
MOST_BENDS = 200
#: Reviews of a group up to which uniqueness is tested.
MOST_REVIEWS = 5_000
#: Units in the last place of the largest score within which scores of a reviewer are equal.
ROUNDING = 8


class Form(NamedTuple):
    """A class of scoring functions: lines, of slope one or any, or curves, convex (1), concave (-1) or monotone (0).

    ``fit`` returns, closest to some values, what the inverse of such a function may add to an offset and a line of the
    least slope.
    """

    fit: Callable[[FloatArray, FloatArray], FloatArray]
    straight: bool = False
    fixed: bool = False
    bend: int = 0

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
    return np.asarray(scaled @ nnls(scaled, wanted, maxiter=100 * scaled.shape[1])[0] if scaled.size else 0 * wanted)


#: Hypothesis classes, which name these.
OFFSET = Form(lambda score, wanted: np.zeros_like(wanted), straight=True, fixed=True)
LINEAR = Form(_line, straight=True)
MONOTONE = Form(_rising)
CONVEX = Form(_flattening, bend=1)
CONCAVE = Form(_steepening, bend=-1)


def check_least_squares(own: Calibration) -> None:
    """Check the optimality conditions of ``lsc``, and the objective."""
    findings = own.findings
    answer = own.answer
    wanted = own.wanted
    if answer.is_table:
        own.not_recomputed()
        return
    status = answer.get("status")
    units = answer.get("units")
    if not findings.expect(status in ("optimal", "inaccurate"), f"status: there is none called {status!r}"):
        return
    groups = max((row.group for row in own.rows.values()), default=0)
    if not findings.expect(len(units) == groups, f"units: {len(units)} numbers for {groups} groups"):
        return
    if not findings.expect(min(units, default=0) >= 0, "units: not all are numbers of 0 or more"):
        return
    kinds = set(wanted.hypotheses.values())
    if unknown := {kind for kind in kinds if not wanted.classes.get(kind)}:
        words = f"qualities: of {', '.join(sorted(unknown))} reviewers, which this verifier does not know"
        findings.not_checked(words, decisive=True)
        return
    forms = {kind: _named(wanted.classes[kind]) for kind in kinds}
    _scales(own, fixed=any(form.fixed for form in forms.values()))
    # Optimality is checked of exact answers alone.
    fit = None
    why = ""
    if status != "optimal":
        why = "status inaccurate, so optimality is not checked"
    elif not wanted.ties_equal:
        why = "with --ties free optimality is not checked"
    else:
        fit = _Fit(own, forms, units)
        why = f"{fit.too_bent} gave more than {MOST_BENDS} different scores" if fit.too_bent else ""
    if fit is None or why:
        findings.not_checked(f"qualities: {why}", decisive=True)
        return
    for item, gradient in fit.gradient.items():
        spread = fit.spread[own.rows[item].group]
        allowed = GRADIENT * max(spread, fit.floor) * fit.count[item]
        words = f"{item}, quality: the objective falls where it moves (gradient {gradient:.3g}, spread {spread:.3g})"
        findings.expect(item in wanted.references or abs(gradient) <= allowed, words)
    largest = max([*fit.spread.values(), fit.floor])
    slack = OBJECTIVE * abs(fit.objective) + VANISHING * largest**2 * len(own.scores)
    findings.near("objective", answer.get("objective"), fit.objective, slack)
    findings.check(f"qualities and objective: no paper can move and fit better, up to {GRADIENT:g} of their spread")
    _only(own, fit)


LEAST_SQUARES = Equations(check_least_squares, by_piece=True, classes=True)


def _named(form: Any) -> Form:
    named: Form = resolve_name(form) if isinstance(form, str) else form
    return named


class _Fit:
    """The objective and its gradient, in the units of the programme."""

    def __init__(self, own: Calibration, forms: Mapping[str, Form], units: list[float]) -> None:
        self.unit = {item: units[own.rows[item].group - 1] for item in own.quality}
        self.place = {
            item: own.sign * value / self.unit[item] if self.unit[item] else 0.0 for item, value in own.quality.items()
        }
        self.gradient = dict.fromkeys(own.quality, 0.0)
        self.count = Counter(item for _, item in own.scores)
        self.objective = 0.0
        self.too_bent = ""
        self.curves: list[tuple[str, list[str], Curve]] = []
        values = [*own.scores.values()]
        steepest = own.wanted.max_slope
        self.floor = (max(values) - min(values)) / steepest * 1e-6 if values else 0.0
        rounding = ROUNDING * float(np.spacing(max(map(abs, values), default=1.0)))
        by_reviewer: dict[str, dict[str, float]] = {}
        for (reviewer, item), value in own.scores.items():
            by_reviewer.setdefault(reviewer, {})[item] = own.sign * value
        code = {item: place for place, item in enumerate(own.quality)}
        for reviewer, scores in by_reviewer.items():
            form = forms[own.wanted.hypotheses[reviewer]]
            score = _without_rounding(np.array([*scores.values()]), rounding)
            if form.bend and np.unique(score).size > MOST_BENDS:
                self.too_bent = f"reviewer {reviewer}"
                return
            mine = np.array([self.place[item] for item in scores])
            perceived = form.closest(score, mine, 1.0 / steepest)
            items = np.array([code[item] for item in scores])
            self.curves.append((reviewer, [*scores], Curve(form, items, score, perceived, 1.0 / steepest)))
            residual = mine - perceived
            self.objective += float(residual @ residual)
            for item, value in zip(scores, residual.tolist(), strict=True):
                self.gradient[item] += value
        by_group: dict[int, list[float]] = {}
        for item, value in self.place.items():
            by_group.setdefault(own.rows[item].group, []).append(value)
        self.spread = {number: float(np.std(values)) for number, values in by_group.items()}


def _only(own: Calibration, fit: _Fit) -> None:
    """Test, group by group, whether other qualities fit as well, and check standard errors against the noise."""
    findings = own.findings
    group = {row.item: row.group for row in own.rows.values()}
    is_reference = np.array([item in own.wanted.references for item in own.quality])
    open_groups = []
    for number in sorted({group[item] for item in own.quality}):
        # The papers of a group, and the reviewers of these.
        inside = np.array([group[item] == number for item in own.quality])
        code = np.cumsum(inside) - 1
        curves = [
            (who, items, curve._replace(item=code[curve.item]))
            for who, items, curve in fit.curves
            if group[items[0]] == number
        ]
        if sum(len(items) for _, items, _ in curves) > MOST_REVIEWS:
            findings.not_checked("quality, rank: that no other fits as well, in a group of this size", decisive=True)
            return
        place = np.array([*fit.place.values()])[inside]
        mine = [item for item in own.quality if group[item] == number]
        _errors(own, fit, curves, mine, place)
        if not is_only([curve for *_, curve in curves], place, is_reference[inside]):
            open_groups.append(number)
    if open_groups:
        words = f"quality, rank: which of several optima is printed (group {open_groups[0]})"
        findings.not_checked(words, decisive=True)
    else:
        findings.check("qualities: no others of these groups fit as well, up to shift and scale")
    # Papers without a score may stand anywhere; references stand together.
    with_references = {group[item] for item in own.wanted.references if item in group}
    independent = len(set(group.values()) - with_references) + bool(with_references)
    claimed = own.answer.get("unique", null=True)
    if claimed != (independent == 1) and not open_groups:
        findings.not_checked(f"unique: claims {shown(claimed)}, and one optimum was found", decisive=True)


def _errors(
    own: Calibration, fit: _Fit, curves: list[tuple[str, list[str], Curve]], mine: list[str], place: FloatArray
) -> None:
    """Check standard errors of a group where all reviewers have lines that their reviews determine."""
    findings = own.findings
    claimed = {item: own.rows[item].standard_error for item in mine}
    forms = {curve.form for *_, curve in fit.curves}
    form = forms.pop()
    if forms or not form.straight:
        words = "standard_error: there is none where functions are not lines"
        findings.expect(not any(claimed.values()), words)
        return
    if not form.fixed and missing_links({who: set(items) for who, items, _ in curves}, mine):
        findings.not_checked("standard errors: not recomputed where reviews leave the place of papers open")
        return
    recomputed = errors([curve for *_, curve in curves], place, sloped=not form.fixed)
    unit = fit.unit[mine[0]]
    for number, item in enumerate(mine):
        fixed = recomputed is None or not unit or item in own.wanted.references
        value = None if fixed or recomputed is None else unit * float(recomputed[number])
        findings.near(f"{item}, standard_error", claimed[item], value, GRADIENT * max(abs(value or 0.0), 1e-3))
    findings.check("standard errors: those of lines, by the residual noise")


def _without_rounding(score: FloatArray, rounding: float) -> FloatArray:
    """Return scores, those equal that differ by rounding alone."""
    order = np.argsort(score, kind="stable")
    rounded = score.copy()
    for before, place in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        if score[place] - score[before] <= rounding:
            rounded[place] = rounded[before]
    return rounded


def _scales(own: Calibration, *, fixed: bool) -> None:
    """Compare mean and spread of each group with those of its averages, or references."""
    for number in sorted({row.group for row in own.rows.values()}):
        mine = [item for item in own.quality if own.rows[item].group == number]
        references = [item for item in mine if item in own.wanted.references]
        if len(references) > 1 and not fixed:
            for item in references:
                key = f"{item}, quality (a reference)"
                own.findings.same(key, own.quality[item], float(own.wanted.references[item]))
        if references or not mine:
            continue
        quality = np.array([own.quality[item] for item in mine])
        average = np.array([own.rows[item].average for item in mine], np.float64)
        size = GRADIENT * max(float(np.abs(average).max()), float(np.std(average)))
        words = f"group {number}: mean of qualities {quality.mean():.9g}, of averages {average.mean():.9g}"
        own.findings.expect(abs(quality.mean() - average.mean()) <= size, words)
        if not (fixed or np.std(quality) <= size or np.std(average) <= size):
            words = f"group {number}: spread of qualities {quality.std():.9g}, of averages {average.std():.9g}"
            own.findings.expect(abs(np.std(quality) - np.std(average)) <= size, words)

"""Least Square Calibration held to its optimality conditions, from the qualities alone.

The objective is the sum over reviewers of the squared distance between the qualities of what she reviewed and the
closest perceived qualities that her class allows. It is convex, and its gradient at paper i is twice the sum of quality
less perceived quality over the reviews of i: qualities are optimal if and only if it vanishes, references aside.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.verify.answers import is_same, shown
from reviewgraph.verify.graphs import missing_links

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
    from reviewgraph.verify.answers import Answer, Findings
    from reviewgraph.verify.graphs import Table
    from reviewgraph.verify.rules import Wanted


# Whether Least Square Calibration has other qualities that fit as well, and how sure those of lines are.


#: A constraint of less slack binds, relative to the spread of qualities, and noise below this part of it is none.
BINDING, NOISELESS = 1e-6, 1e-7
#: What of a direction beyond shift and scale counts, where all qualities may move by one.
MOVES = 1e-4
#: A slope so near to its bound, relatively, lies on it; degrees of freedom below which there are no errors.
ON_BOUND, LEAST_FREEDOM = 1e-6, 10
#: An eigenvalue that is 0, relative to the largest.
NOTHING = 1e-12
#: Items up to which errors are computed again.
MOST_ITEMS = 2_000


class Form(NamedTuple):
    """A class of scoring functions: lines, of slope one or any, or curves, bent up (1), down (-1) or as they like."""

    straight: bool = False
    fixed: bool = False
    bend: int = 0


class Curve(NamedTuple):
    """A reviewer: class, items by code, scores (higher is better), and the perceived qualities, in the same order."""

    form: Form
    item: IntArray
    score: FloatArray
    perceived: FloatArray
    least: float

    @property
    def slope(self) -> float:
        """Of the best line through what is perceived, by scores; infinite where these are all the same."""
        along = self.score - self.score.mean()
        return float(along @ self.perceived / (along @ along)) if np.ptp(self.score) > 0 else np.inf


def is_only(curves: Sequence[Curve], quality: FloatArray, known: BoolArray) -> bool:
    """Whether no other qualities fit as well as these, but for their shift, and their scale where there is no noise.

    All that fit as well have the same noise, so they differ by directions in which no binding constraint of a class
    forbids a step. A linear programme looks for one along a random vector.

    Parameters
    ----------
    curves
        Of the reviewers of a group.
    quality, known
        Shape (n,): of the items of the group, and whether they are references, which stay.
    """
    import scipy.sparse
    from scipy.optimize import linprog

    spread = float(quality.std())
    rules = _Rules(quality.size)
    for curve in curves:
        rules.add(curve, BINDING * spread)
    noise = np.concatenate([curve.perceived - quality[curve.item] for curve in curves])
    trivial = [np.ones(quality.size), quality - quality.mean()]
    basis = np.linalg.qr(np.column_stack(trivial[: 1 + (float(np.sqrt((noise**2).mean())) <= NOISELESS * spread)]))[0]
    probe = np.random.default_rng(1).standard_normal(quality.size)
    probe -= basis @ (basis.T @ probe)
    bounds = np.array([(0.0, 0.0) if fixed else (-1.0, 1.0) for fixed in known] + rules.bounds)
    matrices = []
    for rows in (rules.equal, rules.rising):
        entries = [(value, number, column) for number, row in enumerate(rows) for column, value in row.items()]
        value, number, column = zip(*entries, strict=True) if entries else ((), (), ())
        matrices.append(scipy.sparse.csr_array((value, (number, column)), (len(rows), len(bounds))) if rows else None)
    for sign in (1.0, -1.0):
        found = linprog(
            np.concatenate([-sign * probe, np.zeros(len(rules.bounds))]),
            A_ub=None if matrices[1] is None else -matrices[1],
            b_ub=None if matrices[1] is None else np.zeros(len(rules.rising)),
            A_eq=matrices[0],
            b_eq=None if matrices[0] is None else np.zeros(len(rules.equal)),
            bounds=bounds,
            method="highs",
        )
        if found.status != 0:
            return False
        step = found.x[: quality.size]
        if float(np.abs(step - basis @ (basis.T @ step)).max()) > MOVES:
            return False
    return True


class _Rules:
    """Rows on directions: those that are 0, and those that do not fall; a line has two more columns, an offset one."""

    def __init__(self, size: int) -> None:
        self.size, self.bounds = size, list[tuple[float, float]]()
        self.equal, self.rising = list[dict[int, float]](), list[dict[int, float]]()

    def add(self, curve: Curve, slack: float) -> None:
        """Add what the class of a reviewer asks of a direction."""
        if curve.form.straight or np.ptp(curve.score) == 0:
            self._line(curve, slack)
            return
        levels, first, place = np.unique(curve.score, return_index=True, return_inverse=True)
        item, told, width = curve.item[first], curve.perceived[first], np.diff(levels)
        self.equal += [
            {i: 1.0, int(item[k]): -1.0}
            for i, k in zip(curve.item.tolist(), place.tolist(), strict=True)
            if i != item[k]
        ]
        rise = [{int(high): 1 / w, int(low): -1 / w} for high, low, w in zip(item[1:], item, width, strict=False)]
        slope = np.diff(told) / width
        if not curve.form.bend:
            self.rising += [row for row, s, w in zip(rise, slope, width, strict=True) if (s - curve.least) * w <= slack]
            return
        # Slopes of the inverse: they fall, of concave functions rise; the least of them is bounded.
        if curve.form.bend < 0:
            rise, slope, width = rise[::-1], slope[::-1], width[::-1]
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
    """Return the standard error of each quality, shape (n,), of reviewers who all have lines; None of too few scores.

    It is the noise a degree of freedom, times the diagonal of L^+, L the sum over reviewers of what neither an offset
    nor, off its bound, a slope explains.
    """
    told = [curve for curve in curves if curve.item.size > 1]
    if not told:
        return None
    free = [sloped and curve.slope > curve.least * (1 + ON_BOUND) for curve in told]
    whole = int(sloped and all(free))
    scores = sum(curve.item.size for curve in told)
    freedom = (
        scores - np.unique(np.concatenate([curve.item for curve in told])).size - len(told) - sum(free) + 1 + whole
    )
    if freedom < LEAST_FREEDOM or quality.size > MOST_ITEMS:
        return None
    laplacian, squares = np.zeros((quality.size, quality.size)), 0.0
    for curve, slope in zip(told, free, strict=True):
        mine = quality[curve.item]
        along = [np.ones(mine.size), *([mine - mine.mean()] if slope and np.ptp(mine) > 0 else [])]
        basis = np.linalg.qr(np.column_stack(along))[0]
        laplacian[np.ix_(curve.item, curve.item)] += np.eye(mine.size) - basis @ basis.T
        squares += float(((curve.perceived - mine) ** 2).sum())
    value, vector = np.linalg.eigh(laplacian)
    if value[1 + whole] <= NOTHING * value[-1]:
        return None
    return np.asarray(np.sqrt(squares / freedom * (vector[:, 1 + whole :] ** 2 @ (1 / value[1 + whole :]))))


#: What may be left of the gradient, relative to the spread of qualities, a review; solvers leave 1e-9 and less.
GRADIENT = 1e-6
#: What objectives may differ by, relative to themselves, and to the squared spread a review.
OBJECTIVE, VANISHING = 1e-4, 1e-9
#: Different scores of a reviewer up to which her closest curve is computed.
MOST_BENDS = 200
#: Reviews of a group up to which other optima are looked for.
MOST_REVIEWS = 5_000
#: Scores of a reviewer so many units in the last place of the largest apart are one score.
ROUNDING = 8


class Sides(NamedTuple):
    """What a class of scoring functions allows their inverse to be beyond an offset and a line of the least slope.

    ``fit`` returns what of it comes closest to some values, ``form`` says what it is.
    """

    fit: Callable[[FloatArray, FloatArray], FloatArray]
    form: Form


def closest(score: FloatArray, quality: FloatArray, kind: str, least: float) -> FloatArray:
    """Return the perceived qualities closest to some qualities that a class allows.

    They are ``a + least * score`` and a sum, with weights of 0 or more, of what the class has to offer.

    >>> closest(np.array([1.0, 2.0]), np.array([5.0, 4.0]), "linear", 0.1).tolist()
    [4.45, 4.55]
    """
    sides = CLASSES[kind]
    base = quality.mean() + (1.0 if sides.form.fixed else least) * (score - score.mean())
    return np.asarray(base + sides.fit(score, quality - base))


def _nothing(score: FloatArray, wanted: FloatArray) -> FloatArray:
    return np.zeros_like(wanted)


def _line(score: FloatArray, wanted: FloatArray) -> FloatArray:
    return _weighted(score[:, None], wanted)


def _flattening(score: FloatArray, wanted: FloatArray) -> FloatArray:
    """Rise less and less: the inverse of a convex function."""
    return _weighted(np.minimum(score[:, None], np.unique(score)[None, 1:]), wanted)


def _steepening(score: FloatArray, wanted: FloatArray) -> FloatArray:
    """Rise more and more: the inverse of a concave function."""
    return _weighted(np.maximum(score[:, None] - np.unique(score)[None, :-1], 0.0), wanted)


def _rising(score: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return the closest values that do not fall as scores rise, equal for equal scores, pooling what falls."""
    levels, place, count = np.unique(score, return_inverse=True, return_counts=True)
    mean = np.bincount(place, wanted, levels.size) / count
    pools: list[tuple[float, int, int]] = []  # mean, reviews, levels
    for value, number in zip(mean.tolist(), count.tolist(), strict=True):
        pools.append((value, number, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (high, many, wide), (low, few, narrow) = pools[-2], pools[-1]
            pools[-2:] = [((high * many + low * few) / (many + few), many + few, wide + narrow)]
    found = np.repeat([value for value, _, _ in pools], [wide for _, _, wide in pools])[place]
    return np.asarray(found, np.float64)


def _weighted(offers: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return the closest sum of offers, columns of their own, with weights of 0 or more (Lawson and Hanson)."""
    offers = offers - offers.mean(axis=0) if offers.size else offers
    size = np.sqrt((offers**2).sum(axis=0))
    scaled = (offers / np.where(size > 0, size, 1.0))[:, size > 0]
    weight, used = np.zeros(scaled.shape[1]), np.zeros(scaled.shape[1], np.bool_)
    slack = 1e-12 * max(float(np.sqrt((wanted**2).sum())), np.finfo(float).tiny)
    for _ in range(30 * weight.size):
        gain = np.where(used, -np.inf, scaled.T @ (wanted - scaled @ weight))
        if used.all() or gain.max() <= slack:
            break
        used[int(gain.argmax())] = True
        weight = _settled(scaled, wanted, weight, used, slack)
    return np.asarray(scaled @ weight)


def _settled(scaled: FloatArray, wanted: FloatArray, weight: FloatArray, used: BoolArray, slack: float) -> FloatArray:
    """Return the best weights on the columns that are used, some of which are given up where they would be negative."""
    while used.any():
        fit = np.zeros(weight.size)
        fit[used] = np.linalg.lstsq(scaled[:, used], wanted, rcond=None)[0]
        if fit[used].min() > 0:
            return fit
        low = used & (fit <= 0)
        step = float(np.min(weight[low] / np.maximum(weight[low] - fit[low], np.finfo(float).tiny)))
        weight = weight + step * (fit - weight)
        used &= weight > slack
        weight[~used] = 0.0
    return np.zeros(weight.size)


#: By name: nothing more, a steeper line, steps, or bends to one side.
CLASSES = {
    "offset": Sides(_nothing, Form(straight=True, fixed=True)),
    "linear": Sides(_line, Form(straight=True)),
    "monotone": Sides(_rising, Form()),
    "convex": Sides(_flattening, Form(bend=1)),
    "concave": Sides(_steepening, Form(bend=-1)),
}


def check_least_squares(
    findings: Findings,
    answer: Answer,
    scored: Table,
    quality: Mapping[str, float],
    group: Mapping[str, int],
    wanted: Wanted,
) -> None:
    """Hold qualities to the optimality conditions of ``lsc``, and the objective to their value."""
    status, units = answer.get("status", "a text"), answer.get("units", "a list")
    groups = max(group.values(), default=0)
    if not findings.expect(len(units) == groups, f"units: {len(units)} numbers for {groups} groups"):
        return
    if any(isinstance(unit, bool) or not isinstance(unit, int | float) or unit < 0 for unit in units):
        findings.expect(False, "units: not all are numbers of 0 or more")
        return
    if unknown := set(wanted.hypotheses.values()) - CLASSES.keys():
        words = f"qualities: of {', '.join(sorted(unknown))} reviewers, which this verifier does not know"
        findings.trust(words, decisive=True)
        return
    _scales(findings, answer, quality, group, wanted)
    if status != "optimal":
        findings.trust("qualities: called inaccurate, they are not held to optimality", decisive=True)
        return
    if not wanted.ties_equal:
        findings.trust("qualities: with --ties free they are not held to optimality", decisive=True)
        return
    found = _Fit(scored, quality, group, units, wanted)
    if found.too_bent:
        findings.trust(f"qualities: {found.too_bent} gave more than {MOST_BENDS} different scores", decisive=True)
        return
    for item, left in found.gradient.items():
        spread = found.spread[group[item]]
        allowed = GRADIENT * max(spread, found.floor) * found.count[item]
        if item not in wanted.references:
            words = f"{item}, quality: the objective falls where it moves (gradient {left:.3g}, spread {spread:.3g})"
            findings.expect(abs(left) <= allowed, words)
    said = answer.get("objective", "a number")
    largest = max([*found.spread.values(), found.floor])
    slack = OBJECTIVE * abs(found.objective) + VANISHING * largest**2 * len(scored.score)
    words = f"objective: says {said:.9g}, found {found.objective:.9g}"
    findings.expect(abs(said - found.objective) <= slack, words)
    findings.check(f"qualities and objective: no paper can move and fit better, to {GRADIENT:g} of their spread")
    _only(findings, answer, found, quality, group, wanted)


class _Fit:
    """The objective and its gradient, in the units of the programme."""

    def __init__(
        self, scored: Table, quality: Mapping[str, float], group: Mapping[str, int], units: list[Any], wanted: Wanted
    ) -> None:
        sign = -1.0 if scored.lower_is_better else 1.0
        unit = {item: units[group[item] - 1] for item in quality}
        place = {item: sign * value / unit[item] if unit[item] else 0.0 for item, value in quality.items()}
        self.gradient = dict.fromkeys(quality, 0.0)
        self.count = Counter(item for _, item in scored.score)
        self.objective, self.too_bent = 0.0, ""
        self.place, self.unit = place, unit
        self.curves: list[tuple[str, str, list[str], FloatArray, FloatArray]] = []
        values = [value or 0.0 for value in scored.score.values()]
        self.floor = (max(values) - min(values)) / wanted.max_slope * 1e-6 if values else 0.0
        rounding = ROUNDING * float(np.spacing(max(map(abs, values), default=1.0)))
        for reviewer, own in _by_reviewer(scored).items():
            kind = wanted.hypotheses[reviewer]
            score = _without_rounding(np.array([sign * value for _, value in own]), rounding)
            if CLASSES[kind].form.bend and np.unique(score).size > MOST_BENDS:
                self.too_bent = f"reviewer {reviewer}"
                return
            mine = np.array([place[item] for item, _ in own])
            perceived = closest(score, mine, kind, 1.0 / wanted.max_slope)
            left = mine - perceived
            self.curves.append((reviewer, kind, [item for item, _ in own], score, perceived))
            self.objective += float(left @ left)
            for (item, _), value in zip(own, left.tolist(), strict=True):
                self.gradient[item] += value
        by_group: dict[int, list[float]] = {}
        for item, value in place.items():
            by_group.setdefault(group[item], []).append(value)
        self.spread = {number: float(np.std(values)) for number, values in by_group.items()}


def _only(
    findings: Findings,
    answer: Answer,
    found: _Fit,
    quality: Mapping[str, float],
    group: Mapping[str, int],
    wanted: Wanted,
) -> None:
    """See whether other qualities would fit as well, group by group, and hold standard errors to the noise."""
    numbers = sorted({group[item] for item in quality})
    known = {group[item] for item in wanted.references if item in group}
    # Papers without a score may stand anywhere; references stand together.
    apart = len(set(group.values()) - known) + bool(known)
    open_places = []
    for number in numbers:
        mine = [item for item in quality if group[item] == number]
        code = {item: place for place, item in enumerate(mine)}
        curves = [
            Curve(CLASSES[kind].form, np.array([code[item] for item in items]), score, told, 1.0 / wanted.max_slope)
            for _, kind, items, score, told in found.curves
            if items[0] in code
        ]
        if sum(curve.item.size for curve in curves) > MOST_REVIEWS:
            findings.trust("quality, rank: that no other fits as well, of so many reviews", decisive=True)
            return
        place = np.array([found.place[item] for item in mine])
        _errors(findings, answer, found, curves, mine, wanted)
        if not is_only(curves, place, np.array([item in wanted.references for item in mine])):
            open_places.append(number)
    if open_places:
        words = f"quality, rank: which of several optima is told (group {open_places[0]})"
        findings.trust(words, decisive=True)
    else:
        findings.check("qualities: no others of these groups fit as well, but for shift and scale")
    said = answer.get("unique", "true or false", null=True)
    if said != (apart == 1) and not open_places:
        findings.trust(f"unique: says {shown(said)}, and one optimum was found", decisive=True)


def _errors(
    findings: Findings, answer: Answer, found: _Fit, curves: list[Curve], mine: list[str], wanted: Wanted
) -> None:
    """Hold standard errors of a group to its noise, where all reviewers have lines that its reviews determine."""
    told = {
        str(row["item"]): row.get("standard_error") for row in answer.found["items"] if str(row["item"]) in set(mine)
    }
    forms = {CLASSES[kind].form for _, kind, *_ in found.curves}
    form = forms.pop()
    if forms or not form.straight:
        findings.expect(not any(told.values()), "standard_error: there is none where functions are no lines")
        return
    rows = {who: set(items) for who, _, items, _, _ in found.curves if items[0] in told}
    if not form.fixed and missing_links(rows, mine):
        findings.trust("standard errors: of papers whose place the reviews leave open they are not computed again")
        return
    place, unit = np.array([found.place[item] for item in mine]), found.unit[mine[0]]
    own = errors(curves, place, sloped=not form.fixed)
    for number, item in enumerate(mine):
        value = None if own is None or not unit or item in wanted.references else unit * float(own[number])
        same = told[item] is value is None or (None not in (told[item], value) and is_same(told[item], value, GRADIENT))
        findings.expect(same, f"{item}, standard_error: says {shown(told[item])}, found {shown(value)}")
    findings.check("standard errors: those of lines, by the noise that is left")


def _by_reviewer(scored: Table) -> dict[str, list[tuple[str, float]]]:
    held: dict[str, list[tuple[str, float]]] = {}
    for (reviewer, item), value in scored.score.items():
        held.setdefault(reviewer, []).append((item, value or 0.0))
    return held


def _without_rounding(score: FloatArray, rounding: float) -> FloatArray:
    """Return scores of which those are equal that differ by rounding alone."""
    order = np.argsort(score, kind="stable")
    found = score.copy()
    for before, place in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        if score[place] - score[before] <= rounding:
            found[place] = found[before]
    return found


def _scales(
    findings: Findings, answer: Answer, quality: Mapping[str, float], group: Mapping[str, int], wanted: Wanted
) -> None:
    """Compare the middle and the spread of the qualities of each group with those of its averages, or references."""
    average = dict(answer.rows("items", {"item": "a name", "average": "a number?"}))
    fixed = set(wanted.hypotheses.values()) & {name for name, sides in CLASSES.items() if sides.form.fixed}
    for number in sorted(set(group.values())):
        mine = [item for item in quality if group[item] == number]
        known = [item for item in mine if item in wanted.references]
        if not mine or (known and fixed):
            continue
        for item in known if len(known) > 1 else ():
            findings.same(f"{item}, quality (a reference)", quality[item], float(wanted.references[item]))
        if known:
            continue
        told, plain = (np.array([values[item] for item in mine]) for values in (quality, average))
        size = GRADIENT * max(float(np.abs(plain).max()), float(np.std(plain)))
        words = (
            f"group {number}: the mean of its qualities is {told.mean():.9g}, that of its averages {plain.mean():.9g}"
        )
        findings.expect(abs(told.mean() - plain.mean()) <= size, words)
        flat = np.std(told) <= size or np.std(plain) <= size
        if not (flat or fixed):
            words = (
                f"group {number}: the spread of its qualities is {told.std():.9g}, of its averages {plain.std():.9g}"
            )
            findings.expect(abs(np.std(told) - np.std(plain)) <= size, words)

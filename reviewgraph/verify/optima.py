"""Whether Least Square Calibration has other qualities that fit as well, and how sure those of lines are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reviewgraph.arrays import BoolArray, FloatArray, IntArray

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

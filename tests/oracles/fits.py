"""Least square calibration against general solvers, one constraint at a time, and against active sets in fractions."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from lsc import calibrate
from lsc._model.formulation import Minimiser, Programme
from lsc._model.hypotheses import classes
from lsc._solver import newton
from lsc.errors import SolverFailed
from reviewgraph import Reviews
from tests.lsc import by_cvxpy as general
from tests.lsc import naive_projections as naive
from tests.lsc import programmes
from tests.oracles.fractions_rank import Matrix, reduced, solution
from tests.oracles.oracle import Oracle, Untold

#: Differences of objectives, and violations of the conditions of an optimum, in units of the data.
OBJECTIVE, CONDITIONS = 1e-6, 1e-6


def programme(rng: np.random.Generator) -> Programme:
    """Return a small programme, of one class of reviewers mostly."""
    found = programmes.small(int(rng.integers(2**31)))
    if rng.random() < 0.15:
        return found
    one = int(rng.integers(len(classes())))
    kind = np.full(found.kind.size, one, np.int64)
    upper = found.lower if classes()[one]().fixes_unit else np.full(kind.size, np.inf)
    return replace(found, kind=kind, upper=upper)


def unit(asked: Programme) -> float:
    """Typical size of a difference in quality."""
    known = asked.reference[asked.is_reference]
    return max(float(np.median(asked.lower) * np.std(asked.score)), float(np.ptp(known)) if known.size else 0.0, 1e-2)


def by_cvxpy(asked: Programme) -> float:
    """Objective by CVXPY with Clarabel."""
    if not asked.item.size:
        return 0.0
    try:
        found = general.minimise(asked)
    except SolverFailed as error:
        raise Untold from error
    if naive.violation(asked, found.perceived) > CONDITIONS * unit(asked):
        raise Untold
    return found.objective


def another_optimum(asked: Programme, ours: Minimiser, theirs: float) -> str:
    """Compare objectives, and hold ours to the conditions of an optimum."""
    size, wrong = unit(asked), []
    if not ours.converged:
        wrong.append(ours.message)
    rounding = OBJECTIVE * (abs(theirs) + size**2)
    if ours.objective > theirs + rounding:
        wrong.append(f"objective {ours.objective}, expected {theirs}")
    found = {
        "a constraint is broken": naive.violation(asked, ours.perceived),
        "no projection": naive.not_normal(asked, ours.quality, ours.perceived, 1e-7 * size),
        "a gradient": naive.imbalance(asked, ours.quality, ours.perceived),
    }
    wrong += [f"{name} by {value:.1e} of {size:.1e}" for name, value in found.items() if value > CONDITIONS * size]
    # A general solver may be the one that is off: it is, where ours has all conditions.
    if not wrong and ours.objective < theirs - rounding:
        raise Untold
    return "; ".join(wrong)


# In fractions


class Lines(NamedTuple):
    """Whole scores of linear reviewers."""

    rows: list[dict[int, int]]
    n_items: int


def lines(rng: np.random.Generator) -> Lines:
    """Few linear reviewers, some without noise, some constant, chains and hubs among them."""
    n_items, n_reviewers = int(rng.integers(2, 7)), int(rng.integers(1, 6))
    quality, noise, rows = rng.integers(0, 8, n_items), rng.random() < 0.6, []
    for j in range(n_reviewers):
        size = int(rng.integers(1, min(n_items, 4) + 1))
        mine = (np.arange(j, j + size) % n_items) if rng.random() < 0.3 else rng.permutation(n_items)[:size]
        score = int(rng.integers(1, 4)) * quality[mine] + int(rng.integers(-3, 4))
        score = score + rng.integers(-2, 3, size) if noise else score
        rows.append(dict(zip(mine.tolist(), score.tolist(), strict=True)))
    return Lines(rows, n_items)


def our_lines(asked: Lines) -> Any:
    pairs = [(j, i, float(y)) for j, row in enumerate(asked.rows) for i, y in row.items()]
    reviews = Reviews(pairs, reviewers=range(len(asked.rows)), items=range(asked.n_items))
    return calibrate(reviews, "linear")


class Exact(NamedTuple):
    """The least objective, and whether qualities that reach it are one up to shift, and scale without noise."""

    objective: Fraction
    unique: bool | None


LEAST = Fraction(1, 10)


def in_fractions(asked: Lines) -> Exact:
    """Solve for every set of slopes at their bound until one obeys the conditions of an optimum."""
    sloped = [j for j, row in enumerate(asked.rows) if len({*row.values()}) > 1]
    for size in range(len(sloped) + 1):
        for bound in combinations(sloped, size):
            found = _optimum(asked, set(sloped), set(bound))
            if found is not None:
                return found
    message = "no set of slopes obeys the conditions"
    raise ArithmeticError(message)


def _columns(asked: Lines, sloped: set[int], bound: set[int]) -> tuple[Matrix, list[Fraction], list[int]]:
    """Return the matrix of residuals ``x_i - a_j y - b_j`` over x, b and free slopes, constants, and who is free."""
    free = sorted(sloped - bound)
    width, matrix, constant = asked.n_items + len(asked.rows) + len(free), [], []
    for j, row in enumerate(asked.rows):
        for i, y in row.items():
            line = [Fraction(0)] * width
            line[i], line[asked.n_items + j] = Fraction(1), Fraction(-1)
            if j in free:
                line[asked.n_items + len(asked.rows) + free.index(j)] = Fraction(-y)
            matrix.append(line)
            constant.append(LEAST * y if j in bound else Fraction(0))
    return matrix, constant, free


def _optimum(asked: Lines, sloped: set[int], bound: set[int]) -> Exact | None:
    matrix, constant, free = _columns(asked, sloped, bound)
    turned = list(zip(*matrix, strict=True))
    normal = [[sum((a * b for a, b in zip(one, two, strict=True)), Fraction(0)) for two in turned] for one in turned]
    right = [sum((a * c for a, c in zip(one, constant, strict=True)), Fraction(0)) for one in turned]
    found = solution(normal, right)
    left = [
        sum((a * b for a, b in zip(row, found, strict=True)), Fraction(0)) - c
        for row, c in zip(matrix, constant, strict=True)
    ]
    if any(found[asked.n_items + len(asked.rows) + place] < LEAST for place in range(len(free))):
        return None
    # A slope at its bound must not gain by rising: the derivative of the objective there.
    force = dict.fromkeys(bound, Fraction(0))
    place = iter(left)
    for j, row in enumerate(asked.rows):
        for y in row.values():
            off = next(place)
            if j in force:
                force[j] -= 2 * off * y
    if any(value < 0 for value in force.values()):
        return None
    objective = sum((value * value for value in left), Fraction(0))
    return Exact(objective, _one(asked, sloped, {j for j, value in force.items() if value > 0}, bound, objective))


def _one(asked: Lines, sloped: set[int], held: set[int], bound: set[int], objective: Fraction) -> bool | None:
    """Whether the qualities are one: by the slopes that all minimisers have at the bound, and by those of this one."""
    if pieces(asked) > 1:
        return False  # though with two papers anything is a shift and a scale
    trivial = 1 if objective else 2
    if not objective:
        # Without noise all slopes may be raised off their bounds together.
        return _freedom(asked, sloped, set()) <= trivial
    if _freedom(asked, sloped, held) <= trivial:
        return True
    return False if _freedom(asked, sloped, bound) > trivial else None


def pieces(asked: Lines) -> int:
    """Count the groups of items that no reviewer connects."""
    groups = [{i} for i in range(asked.n_items)]
    for row in asked.rows:
        joined = [group for group in groups if group & row.keys()]
        groups = [group for group in groups if not group & row.keys()] + [set().union(*joined)]
    return len(groups)


def _freedom(asked: Lines, sloped: set[int], bound: set[int]) -> int:
    """Return how many dimensions the qualities have that leave all residuals as they are."""
    matrix, _, _ = _columns(asked, sloped, bound)
    rest = [row[asked.n_items :] + row[: asked.n_items] for row in matrix]
    _, pivots = reduced(rest)
    others = len(rest[0]) - asked.n_items
    return asked.n_items - sum(column >= others for column in pivots)


def another_fit(asked: Lines, ours: Any, theirs: Exact) -> str:
    objective = float(theirs.objective)
    if abs(ours.objective - objective) > 1e-9 * (1 + objective):
        return f"objective {ours.objective}, exactly {theirs.objective}: {asked}"
    if theirs.unique is None:
        raise Untold
    return "" if ours.unique == theirs.unique else f"unique {ours.unique}, exactly {theirs.unique}: {asked}"


ORACLES = [
    Oracle(
        "fits", "CVXPY and Clarabel; conditions of an optimum", programme, newton.minimise, by_cvxpy, another_optimum
    ),
    Oracle("fits in fractions", "active sets in fractions", lines, our_lines, in_fractions, another_fit),
]

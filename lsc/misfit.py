"""Whether references that Least Square Calibration holds to their values fight the scores."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lsc.evidence.errorbars import LEAST_DIVISOR
from lsc.evidence.uniqueness import is_noiseless
from lsc.model.hypotheses import classes
from lsc.model.programme import Programme
from lsc.solver import newton
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

#: Chance, were scores normal and reviewers of their class, of a ratio at which references are said to fight the scores.
SIGNIFICANT = 1e-3
#: Parameters of a reviewer's function in classes that have no number of their own.
PARAMETERS = 2


class Misfit(NamedTuple):
    """How much more noise the scores need because references have their values and not those the scores give them.

    ``ratio``
        Added squared noise a reference that is not spent on the scale, over the squared noise a degree of freedom.
    ``chance``
        Of so large a ratio where references are right, by Fisher's distribution.
    """

    ratio: float
    chance: float

    @property
    def fights(self) -> bool:
        """Whether that is no accident."""
        return self.chance < SIGNIFICANT


def misfit_of(
    programme: Programme, quality: FloatArray, perceived: FloatArray, group: IntArray, fixed: BoolArray
) -> Misfit | None:
    """Compare the fit with one in which references stand on a straight line where the scores alone put them.

    The line gives them the mean and the standard deviation of the values given, so that both fits have one scale; the
    noise of a fit without references depends on the scale that C leaves to it. Two more solutions of the programme.

    Parameters
    ----------
    programme, quality, perceived
        With its references, and its solution, shapes (N,) and (E,).
    group
        Shape (N,), from 1: a line each.
    fixed
        Shape (G,): whether a point of quality is a point of score there, so that the line has slope 1.

    Returns
    -------
    Misfit | None
        None where there are too few references or scores to tell: a scale takes two references, a degree of freedom
        each beyond it, and scores must leave ten.
    """
    free = newton.minimise(replace(programme, is_reference=np.zeros(programme.n_items, np.bool_)))
    value, tested = _on_lines(programme, free.quality, group, fixed)
    if not tested:
        return None
    lined = newton.minimise(replace(programme, reference=value))
    if is_noiseless(programme, quality, perceived):
        return Misfit(0.0, 1.0)
    # Exact lines leave no noise at all: any that the values given bring is theirs.
    if is_noiseless(programme, lined.quality, lined.perceived):
        return Misfit(float("inf"), 0.0)
    added = float(((perceived - quality[programme.item]) ** 2).sum()) - lined.objective
    return _tested(added / tested, tested, lined.objective, _freedom(programme))


def _on_lines(programme: Programme, quality: FloatArray, group: IntArray, fixed: BoolArray) -> tuple[FloatArray, int]:
    """Return references as the scores put them, shape (N,), and how many are not spent on lines."""
    value, tested = programme.reference.copy(), 0
    for number in np.unique(group[programme.is_reference]).tolist():
        here = np.flatnonzero(programme.is_reference & (group == number))
        spent = 1 if fixed[number - 1] else 2
        given, seen = programme.reference[here], quality[here]
        if here.size <= spent or not seen.std():
            continue
        slope = 1.0 if fixed[number - 1] else given.std() / seen.std()
        value[here] = given.mean() + slope * (seen - seen.mean())
        tested += here.size - spent
    return value, tested


def _freedom(programme: Programme) -> int:
    """Degrees of freedom that the scores leave: less items that are no references, and parameters of reviewers."""
    known = np.array([kind.parameters or PARAMETERS for kind in classes()])
    parameters = int(known[programme.kind[np.diff(programme.start) > 0]].sum())
    items = np.setdiff1d(programme.item, np.flatnonzero(programme.is_reference)).size
    return programme.item.size - items - parameters


def _tested(added: float, tested: int, noise: float, freedom: int) -> Misfit | None:
    """Compare the noise added for each tested reference with that for each degree of freedom, by Fisher's test."""
    from scipy.special import fdtrc

    if freedom < LEAST_DIVISOR:
        return None
    ratio = added / (noise / freedom)
    return Misfit(ratio, float(fdtrc(tested, freedom, max(ratio, 0.0))))

"""What follows from the state in which a posterior ended: qualities, errors and reviewers, references joined."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.verify.doubts import MOST_ITEMS, MOST_REVIEWS, bend, loops
from reviewgraph.verify.passes import Pass, Problem, State, beliefs, one_pass
from reviewgraph.verify.stationary import settled_with

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph.arrays import FloatArray
    from reviewgraph.verify.heard import Averages, Heard
    from reviewgraph.verify.states import StateOf

#: References that have a scale of their own, their least error, and that of fewer, in units of quality.
ENOUGH, LEAST_ERROR, ASSUMED_ERROR = 3, 0.1, 0.3


class Told(NamedTuple):
    """What follows from the state: items (N,), NaN of unknown ones, messages (4, E), reviewers (5, M).

    ``line`` is location and scale of the qualities, ``references`` their items, values, precisions and shifts, shape
    (4, R), ``prior`` the precision without any, and ``exact`` whether loops were computed again: those of many papers
    are taken from the errors.
    """

    mean: FloatArray
    variance: FloatArray
    loops: FloatArray
    messages: FloatArray
    people: FloatArray
    line: tuple[float, float]
    references: FloatArray
    prior: float
    exact: bool

    @property
    def quality(self) -> FloatArray:
        """Shape (N,), higher is better."""
        return np.asarray(self.line[0] + self.line[1] * self.mean)

    def errors(self) -> tuple[FloatArray, FloatArray]:
        """Return standard errors, shape (N,), without what a common bend adds, and with it."""
        own = self.variance * self.loops
        return self.line[1] * np.sqrt(own), self.line[1] * np.sqrt(own + self.bent())

    def bent(self) -> FloatArray:
        """Return the variance that a common bend adds, shape (N,)."""
        known, found = np.isfinite(self.mean), np.full(self.mean.size, np.nan)
        found[known] = bend(self.mean[known])
        return found


def told_by(
    heard: Heard,
    read: StateOf,
    found: Pass,
    null: Averages,
    references: Mapping[int, float],
    error: FloatArray,
    *,
    signal: bool,
) -> Told:
    """Return what follows from the state, references joined afterwards."""
    problem, model, state = heard.problem, read.model, read.state
    load, unit = problem.load, problem.unit
    if signal:
        seen = load > 0
        slope, offset = (float(np.average(found.people[row, seen], weights=load[seen])) for row in (0, 1))
    else:
        offset, slope = null.mean, null.slope
        precision = np.full(problem.who.size, slope**2 / null.noise)
        shift = slope / null.noise * (problem.score - offset)
        state = State(np.array([precision, shift, 0 * shift, 0 * shift]), state.nodes)
        model = model._replace(kappa=0.0)
    line = unit[0] + unit[1] * offset, unit[1] * slope
    known, listed = problem, np.empty((4, 0))
    if references:
        mean, variance = _seen(problem, *beliefs(problem, model, state))
        listed = _read_references(mean, variance, references, line)
        known = problem._replace(
            known=np.array([np.bincount(listed[0].astype(int), row, problem.sizes[1]) for row in listed[2:4]])
        )
    people = found.people
    if not signal:
        alike = np.where(load > 0, 1.0, np.nan)
        people = np.array([slope * alike, offset * alike, 0 * alike, null.noise * alike, 0 * alike])
    elif references:
        state = settled_with(known, model, state)
        people = one_pass(known, model, state).people
        slope, offset = (float(np.average(people[row, load > 0], weights=load[load > 0])) for row in (0, 1))
        line = unit[0] + unit[1] * offset, unit[1] * slope
    mean, variance = _seen(known, *beliefs(known, model, state))
    raised = np.ones(problem.sizes[1])
    told = Told(mean, variance, raised, state.messages, people, line, listed, 1.0 - model.kappa, exact=True)
    if not signal or problem.who.size > MOST_REVIEWS:
        return told
    if np.count_nonzero(np.isfinite(mean)) <= MOST_ITEMS:
        return told._replace(loops=loops(known, model, mean, variance, state.messages, people))
    return told._replace(loops=((error / line[1]) ** 2 - told.bent()) / variance, exact=False)


def _seen(problem: Problem, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return beliefs of the items of which a score or a reference tells, NaN of the others."""
    seen = (problem.counts > 0) | (problem.known[0] > 0)
    return np.where(seen, mean, np.nan), np.where(seen, variance, np.nan)


def _read_references(
    mean: FloatArray, variance: FloatArray, references: Mapping[int, float], line: tuple[float, float]
) -> FloatArray:
    """Return item, value, precision, shift of each reference, shape (4, R): on a scale of its own, if it has one."""
    item, value = np.array(list(references)), np.array(list(references.values()), np.float64)
    seen = np.isfinite(mean[item])
    x, v, y = mean[item][seen], variance[item][seen], value[seen]
    (location, scale), error = line, ASSUMED_ERROR
    if x.size >= ENOUGH and np.ptp(y) > 0 and np.ptp(x) > 0:
        slope = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
        if slope > 0:
            location, scale = float(y.mean() - slope * x.mean()), slope
            left = float((((y - location) / scale - x) ** 2).sum()) / (x.size - 2) - float(v.mean())
            error = max(LEAST_ERROR, math.sqrt(max(left, 0.0)))
    precision = np.full(item.size, error**-2)
    return np.array([item, value, precision, (value - location) / scale * precision])

"""The inference of a table larger than memory: that of :mod:`lsc.inference.inferring`, by passes over a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lsc.inference.assembling import by_averages, by_messages, fitted_of, summed, with_parts
from lsc.inference.averages import Averages, best_averages
from lsc.inference.beliefs import Beliefs
from lsc.inference.checking import expect_one_unit
from lsc.inference.climbing import Climb
from lsc.inference.inferring import SIGNAL
from lsc.inference.loops import UP_TO, loop_factors
from lsc.inference.preparing import Unit, never_look, prepare, unit_of
from lsc.inference.sampling import counts, part_of
from lsc.inference.scanning import (
    PIECE,
    Pieces,
    check_no_slip_by_passes,
    equal_scores_by_passes,
    ranges_of,
)
from lsc.inference.spilled import SpilledMessages, SpilledParts
from lsc.inference.stages import run_stages
from lsc.inference.states import Messages, Problem, run_compiled, spoken
from reviewgraph.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from reviewgraph.streams.table import Stream


def infer_by_passes(stream: Stream, *, seed: int = 0, progress: Callable[[str], None] | None = None) -> Beliefs:
    """Infer qualities of items as :func:`lsc.inference.inferring.infer` does, with the same answers to rounding.

    Messages lie in temporary files. What loops add is looked for up to as many reviews as in memory.

    Parameters
    ----------
    stream
        The table, open, with scores.
    seed
        Of the random probes by which traces are estimated.
    progress
        Called with a line of words at each stage and pass.

    Raises
    ------
    InputError
        If a score lies so far off all others that it must be a slip, or units differ.
    """
    tell = progress or (lambda _: None)
    tell("looking at the scores")
    pieces, equal = _heard(stream)
    unit = unit_of(pieces.scores, equal)
    doing, passes = ["laying out the reviews"], [0]

    def step(words: str) -> None:
        doing[0] = words
        tell(words)

    def count() -> None:
        passes[0] += 1
        tell(f"{doing[0]}, pass {passes[0]:,}")

    problem = _laid_out(stream, pieces, unit, count)
    averages, average = _averages(pieces, problem, unit)
    rng = np.random.default_rng(seed)
    some = part_of(pieces, stream.n_reviewers, stream.n_items, rng)
    part = None if some is None else prepare(some, *counts(some), unit, problem.compiled).problem
    found = run_stages(problem, rng, step, part)
    if found.evidence < averages.evidence + SIGNAL:
        return _from_averages(problem, unit, averages, average, found)
    return _from_messages(problem, unit, averages, found)


def _heard(stream: Stream) -> tuple[Pieces, float]:
    """Check the scores; return those of reviewers who look, and the probability that two of them are equal."""
    pieces, size = Pieces(stream), stream.n_scored
    check_no_slip_by_passes(pieces.scores, size)
    load, low, high = ranges_of(pieces, stream.n_reviewers)
    expect_one_unit((high - low)[high > low])
    equal = equal_scores_by_passes(pieces.scores, size)
    idle = never_look(load, low == high, equal)
    if not idle.any():
        return pieces, equal
    pieces = Pieces(stream, ~idle)
    return pieces, equal_scores_by_passes(pieces.scores, int(load[~idle].sum()))


def _laid_out(stream: Stream, pieces: Pieces, unit: Unit, tell: Callable[[], None]) -> Problem:
    """Write standardised scores to disk as steps want them."""
    load, count = np.zeros(stream.n_reviewers, np.int64), np.zeros(stream.n_items, np.int64)
    for rows in pieces:
        np.add.at(load, rows.reviewer, 1)
        np.add.at(count, rows.item, 1)
    parts = SpilledParts(load, stream.n_items, min(stream.batch, PIECE), tell)
    parts.fill(rows._replace(score=unit.standardised(rows.score)) for rows in pieces)
    silent = np.zeros(stream.n_items)
    return Problem(parts, load, count, unit.rounding, False, silent, silent, run_compiled(load), SpilledMessages)


def _averages(pieces: Pieces, problem: Problem, unit: Unit) -> tuple[Averages, FloatArray]:
    """Fit the model without reviewer effects by two passes; returns it and the average of each item, shape (N,)."""
    total, within, known = np.zeros(problem.n_items), 0.0, problem.known
    for rows in pieces:
        np.add.at(total, rows.item, unit.standardised(rows.score))
    average = total / np.maximum(problem.count, 1)
    for rows in pieces:
        within += float(((unit.standardised(rows.score) - average[rows.item]) ** 2).sum())
    return best_averages(problem.count[known], average[known], within, problem.rounding), average


def _from_averages(problem: Problem, unit: Unit, averages: Averages, average: FloatArray, found: Climb) -> Beliefs:
    """Give every review the same precision."""
    ratio = averages.slope / averages.noise
    count = problem.count.astype(np.float64)
    told = ratio * averages.slope * count, ratio * count * (average - averages.mean)
    return by_averages(problem, unit, averages, found, summed(1.0, problem, told))


def _from_messages(problem: Problem, unit: Unit, averages: Averages, found: Climb) -> Beliefs:
    """Sum messages up."""
    told = found.state.sums.moved(found.state.gauge)
    said = (told.precision + told.likeness_precision)[:-1], (told.shift + told.likeness_shift)[:-1]
    sums = summed(1.0 - found.state.extent.kappa, problem, said)
    beliefs = by_messages(problem, unit, averages, found, sums)
    if problem.n_reviews > UP_TO:
        return beliefs
    who, what, messages = _gathered(problem, found)
    alone = with_parts(beliefs, who, what, messages, fitted_of(found.state, messages))
    return replace(beliefs, loops=loop_factors(alone))


def _gathered(problem: Problem, found: Climb) -> tuple[IntArray, IntArray, Messages]:
    """Return reviewers, items and messages of all reviews of a small table, shapes (E,)."""
    who, what, messages = [], [], []
    for part, told in spoken(problem, found.state):
        layout = part.layout
        used = layout.item < problem.n_items
        who.append(layout.reviewer[used])
        what.append(layout.item[used].astype(np.int64))
        messages.append(Messages(*(value[used] for value in told)))
    return np.concatenate(who), np.concatenate(what), Messages(*map(np.concatenate, zip(*messages, strict=True)))

"""The inference from scores to qualities: wires checks, stages and results together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lsc.inference.assembling import from_averages, from_messages, with_unheard, without_scores
from lsc.inference.averages import fit_averages
from lsc.inference.beliefs import Posterior
from lsc.inference.joint import loop_factors
from lsc.inference.preparing import Rows, check, idle, prepare
from lsc.inference.references import read_references
from lsc.inference.sampling import counts, part_of
from lsc.inference.stages import run_stages, settled_with
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: Reviewers differ where that explains the scores better by so many nats than no differences (18 tables without any
#: reached 4.4 at most).
SIGNAL = 5.0


def infer(
    reviewer: IntArray,
    item: IntArray,
    score: FloatArray,
    n_reviewers: int,
    n_items: int,
    *,
    weight: FloatArray | None = None,
    reference_item: IntArray | None = None,
    reference_value: FloatArray | None = None,
    seed: int | np.random.Generator = 0,
    progress: Callable[[str], None] | None = None,
) -> Posterior:
    """Infer qualities of items from scores.

    The model is that of :mod:`lsc.inference.model`; qualities, slopes and offsets are integrated out by expectation
    propagation (Minka 2001), a reviewer a factor, and the hyperparameters maximise its evidence times weak priors.
    Assortment, a noise of her own for each reviewer, or reviewers who only order are kept where the evidence asks for
    them. Reviewers who give everyone the same score, and not by chance, are not heard.

    Parameters
    ----------
    reviewer, item
        Codes of the reviews, shape (E,), in any order.
    score
        Shape (E,), higher is better, finite.
    n_reviewers, n_items
        M and N; codes run below them.
    weight
        Shape (E,): positive numbers that may say how sure a review is (a confidence or expertise); how much they
        say is learned. None by default.
    reference_item, reference_value
        Shape (R,): items with a value known from elsewhere, on a scale of its own, taken as measurements with noise.
    seed
        Of the random probes by which traces are estimated.
    progress
        Called with a line of words at each stage.

    Raises
    ------
    InputError
        If shapes differ, codes lie outside their range, a score, weight or reference is not finite, a weight is not
        positive, or a score lies so far off all others that it must be a slip.

    Notes
    -----
    A sweep is linear in reviews; sweeps number some tens whatever the size.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> reviewer, item = np.repeat(np.arange(30), 4), np.arange(120) % 31
    >>> score = 5 + np.sin(item) + 3 * rng.standard_normal(30)[reviewer] + 0.1 * rng.standard_normal(120)
    >>> posterior = infer(reviewer, item, score, 30, 31)
    >>> posterior.status.value, bool(np.corrcoef(posterior.quality, np.sin(np.arange(31)))[0, 1] > 0.9)
    ('converged', True)
    """
    check(reviewer, item, score, n_reviewers, n_items, weight, reference_item, reference_value)
    if not score.size:
        return without_scores(n_reviewers, n_items)
    heard = ~idle(reviewer, score, n_reviewers)[reviewer]
    rows = Rows(reviewer[heard], item[heard], score[heard], None if weight is None else weight[heard])
    found = _infer(rows, n_reviewers, n_items, reference_item, reference_value, seed, progress or (lambda _: None))
    found = replace(found, loops=loop_factors(found))
    return found if heard.all() else with_unheard(found, reviewer, item, heard)


def _infer(
    rows: Rows,
    n_reviewers: int,
    n_items: int,
    reference_item: IntArray | None,
    reference_value: FloatArray | None,
    seed: int | np.random.Generator,
    tell: Callable[[str], None],
) -> Posterior:
    """Infer from reviews that all are heard."""
    scores = prepare(rows, n_reviewers, n_items)
    averages = fit_averages(rows.item, scores.standard, scores.problem.rounding)
    rng = np.random.default_rng(seed)
    some = part_of([rows], n_reviewers, n_items, rng)
    # The unit of the scores stays that of all of them.
    part = (
        None
        if some is None
        else prepare(some, *counts(some), unit=scores.unit, compiled=scores.problem.compiled).problem
    )
    found = run_stages(scores.problem, rng, tell, part)
    signal = found.evidence >= averages.evidence + SIGNAL
    assemble = from_messages if signal else from_averages
    alone = assemble(rows.reviewer, rows.item, scores, averages, found)
    if reference_item is None or reference_value is None or not reference_item.size:
        return alone
    read = read_references(alone.mean, alone.variance, reference_item, reference_value, alone.location, alone.scale)
    if signal:
        found = settled_with(scores.problem, found, read)
    return replace(assemble(rows.reviewer, rows.item, scores, averages, found, read), fitted=alone.fitted)

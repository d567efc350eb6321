"""How sure a difference to the average is: bootstrap intervals over items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lsc.experiments.methods import METHODS
from lsc.experiments.peer_grading import SHARES, Graded
from lsc.metrics import ndcg, precision, spearman
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: Resamples, and the tails left out on each side.
RESAMPLES, TAIL = 2000, 0.025


def against_average(
    task: Graded, methods: Sequence[str], rng: np.random.Generator, *, resamples: int = RESAMPLES
) -> list[dict[str, Any]]:
    """Compare methods with the plain average where the truth is known.

    The estimates are made once, from all reviews; items are then resampled with replacement, and every measure of
    every method is taken on the same resamples. Ties break by the order of the resample, so the intervals include
    what ties contribute.

    Returns
    -------
    list of dict
        One record a method and measure: value, difference to the average, and the 2.5 % and 97.5 % quantiles of that
        difference. Measures are Spearman's coefficient, and precision and NDCG in percent at 20 % and 50 %.

    Examples
    --------
    >>> from reviewgraph import Reviews
    >>> rows = [(j, i, float((i * (j + 1)) % 7)) for j in range(4) for i in range(20)]
    >>> task = Graded("all", Reviews.from_pairs(rows), np.arange(20.0))
    >>> [record["difference"] for record in against_average(task, ["average"], np.random.default_rng(0), resamples=5)]
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """
    known = np.flatnonzero(np.isfinite(task.truth))
    draws = rng.choice(known, (resamples, known.size))
    chosen = dict.fromkeys(["average", *methods])
    values = {name: _measured(task, name, known, draws) for name in chosen}
    found = []
    for name in methods:
        for measure, (value, resampled) in values[name].items():
            base, base_resampled = values["average"][measure]
            low, high = np.nanquantile(resampled - base_resampled, [TAIL, 1.0 - TAIL]).tolist()
            record = {"method": name, "measure": measure, "value": value, "difference": value - base}
            found.append({**record, "low": low, "high": high})
    return found


def _measured(task: Graded, method: str, known: IntArray, draws: IntArray) -> Mapping[str, tuple[float, FloatArray]]:
    """Value of each measure, and its values on the resamples, shape (resamples, N)."""
    found = {}
    for share in (None, *SHARES):
        n = max(int((share or SHARES[0]) * known.size), 1)
        quality = METHODS[method](task.reviews, n, None, np.random.default_rng(0)).quality
        if share is None:
            resampled = np.array([spearman(quality[rows], task.truth[rows]) for rows in draws])
            found["spearman"] = (spearman(quality[known], task.truth[known]), resampled)
            continue
        for name, function in (("precision", precision), ("ndcg", ndcg)):
            resampled = np.array([100.0 * function(quality[rows], task.truth[rows], n) for rows in draws])
            found[f"{name} {share:.0%}"] = (100.0 * function(quality[known], task.truth[known], n), resampled)
    return found

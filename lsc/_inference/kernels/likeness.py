"""The factors of the similarity of papers that share reviewers, see :mod:`lsc._inference.fitting`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
import numpy as np

if TYPE_CHECKING:
    from lsc._inference.step import Gauge, Items, Part, Sites

if not cython.compiled:
    from math import log, log1p

    from lsc._inference.kernels.step import LEAST_CAVITY


def step_likeness(
    part: Part,
    sites: Sites,
    items: Items,
    prior: float,
    strength: float,
    gauge: Gauge,
    damping: float,
    sums: Items,
) -> tuple[float, float]:
    """Update the likeness sites of a part; ``strength`` is c.

    Returns the log evidence of the factors, with potentials, and the expected sum of (x_i - xbar)^2. With
    c = 0 only the expected squares are computed, papers independent.
    """
    start = part.start
    item = part.item
    site_precision = sites.likeness_precision
    site_shift = sites.likeness_shift
    item_precision = items.precision
    item_shift = items.shift
    sum_precision = sums.precision
    sum_shift = sums.shift
    gauge_centre = gauge.centre
    gauge_spread = gauge.spread
    mean, variance = np.zeros((2, np.diff(part.start).max(initial=0)))
    evidence = 0.0
    squares = 0.0
    with cython.nogil:
        for j in range(len(start) - 1):
            first = start[j]
            k = start[j + 1] - first
            if k < 2:
                continue
            total = 0.0
            weighted = 0.0
            of_squares = 0.0
            for i in range(k):
                at = first + i
                paper = item[at]
                precision = item_precision[paper]
                pull = item_shift[paper]
                weight = 1.0
                if strength > 0.0:
                    # The prior keeps its precision when qualities are rescaled.
                    site = site_precision[at]
                    cavity = max(precision - site, LEAST_CAVITY * prior)
                    cavity_pull = pull - (site_shift[at] - site * gauge_centre) / gauge_spread
                    of_cavity = cavity_pull * cavity_pull / cavity - pull * pull / precision
                    evidence += 0.5 * (of_cavity + log(precision / cavity))
                    precision = cavity
                    pull = cavity_pull
                    weight = 1.0 / (1.0 / precision + 1.0 / strength)
                variance[i] = 1.0 / precision
                mean[i] = pull / precision
                total += weight
                weighted += weight * mean[i]
                of_squares += weight * mean[i] * mean[i]
            if strength == 0.0:
                squares += of_squares - weighted * weighted / total
                for i in range(k):
                    squares += (1.0 - 1.0 / k) * variance[i]
                continue
            centre = weighted / total
            evidence += 0.5 * (log(strength * k / total) - of_squares + weighted * weighted / total)
            squares -= 1.0 / strength
            for i in range(k):
                at = first + i
                paper = item[at]
                v = variance[i]
                evidence -= 0.5 * log1p(strength * v)
                share = 1.0 / (1.0 + strength * v)
                deviation = mean[i] - centre
                squares += share * share * (deviation * deviation + 1.0 / total) + v * share
                weight = 1.0 / (v + 1.0 / strength)
                # The centre given the other papers is N(rest, 1 / remaining); the paper measures it with variance 1/c.
                remaining = total - weight
                rest = (weighted - weight * mean[i]) / remaining
                full = strength * remaining / (strength + remaining)
                old_precision = site_precision[at]
                old_shift = (site_shift[at] - old_precision * gauge_centre) / gauge_spread
                precision = old_precision + damping * (full - old_precision)
                shift = old_shift + damping * (full * rest - old_shift)
                site_precision[at] = precision
                site_shift[at] = shift
                sum_precision[paper] += precision
                sum_shift[paper] += shift
    return evidence, squares

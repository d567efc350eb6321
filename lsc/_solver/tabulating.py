"""Programmes in the solver's units."""

from __future__ import annotations

import numpy as np

from lsc._model.formulation import Programme, Units
from lsc._model.hypotheses import IDLE, LINEAR
from lsc._solver.kernels.lines import Common
from lsc._solver.kernels.projections import Table
from reviewgraph._base import FloatArray, IntArray


def tabulate(programme: Programme) -> tuple[Table, Common, Units]:
    """Convert a programme to the solver's units: scores of spread 1 within reviewers, typical lower slope 1."""
    start = np.ascontiguousarray(programme.start, dtype=np.int64)
    item = np.ascontiguousarray(programme.item, dtype=np.uint32)
    size = np.diff(start)
    reviewer = np.repeat(np.arange(len(size)), size)
    # Offsets are free, so only centred scores matter.
    score = centred(programme.score, start, reviewer)
    norm = np.sqrt(np.bincount(reviewer, score * score, len(size)))
    slope = programme.median_lower or 1.0
    # Units: scores of spread 1, median lower slope 1, references of range at most 1.
    known = programme.reference[programme.is_reference]
    origin = float(known.mean()) if len(known) else 0.0
    scale = slope * float(np.sqrt(np.sum(norm * norm) / len(item)))
    scale = max(scale, float(np.ptp(known)) if len(known) else 0.0)
    units = Units(origin, scale if scale > 0.0 else 1.0)
    score /= units.unit / slope
    norm /= units.unit / slope
    unit = score / np.where(norm > 0.0, norm, 1.0)[reviewer]
    # Constant scores make a line.
    kind = np.where(norm == 0.0, LINEAR, programme.shape).astype(np.int64)
    kind[size < 2] = IDLE
    lower = programme.lower / slope
    upper = programme.upper / slope
    table = Table(start, item, score, unit, norm, kind, lower, upper)
    # The common line uses raw scores, which retain differences between reviewers.
    raw = (programme.score - programme.score.mean()) / (units.unit / slope)
    degree = np.bincount(item, minlength=programme.n_items).astype(np.float64)
    tilt = np.bincount(item, weights=raw, minlength=programme.n_items).astype(np.float64)
    return (
        table,
        Common(degree, tilt, float(np.sum(raw * raw)), float(len(item)), float(lower.min()), float(upper.max())),
        units,
    )


def centred(score: FloatArray, start: IntArray, reviewer: IntArray) -> FloatArray:
    """Subtract each reviewer's mean, after their first score, so that a large common shift costs no digits.

    >>> import numpy as np
    >>> centred(np.array([1e9, 1e9 + 1, 5.0]), np.array([0, 2, 3]), np.array([0, 0, 1])).tolist()
    [-0.5, 0.5, 0.0]
    """
    size = np.diff(start)
    first = np.zeros(len(size))
    first[size > 0] = score[start[:-1][size > 0]]
    rest = score - first[reviewer]
    mean = np.bincount(reviewer, rest, len(size)) / np.maximum(size, 1)
    return np.asarray(rest - mean[reviewer])

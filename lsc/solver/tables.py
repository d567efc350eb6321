"""What the fast solver works on: the reviews as arrays in its own units, and the faces they have been projected to."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lsc.model.hypotheses import CONCAVE, CONVEX, IDLE, LINEAR
from lsc.model.programme import Programme
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

#: Item numbers: half the memory of 64 bits to read, and no check for a negative index.
ItemArray: TypeAlias = npt.NDArray[np.uint32]

#: Seconds that the solver's kernels take as plain Python for one element of their arrays: small tables are solved
#: before Numba is imported, and a thousand papers are compiled after a few calls.
ELEMENT = 10e-6

#: A reviewer with at most this many reviews has few: what belongs to pairs of them is written out.
SMALL = 12


class Table(NamedTuple):
    """The reviews as the kernels want them: scores in units of the solver, centred per reviewer, ascending.

    ``unit`` is the centred score divided by ``norm``, its length per reviewer (0 where scores are constant). ``kind``
    is the shape of a reviewer, :data:`IDLE` where no constraint binds her; ``tied`` says of each reviewer whether her
    tied scores share one perceived quality.
    """

    start: IntArray
    item: ItemArray
    score: FloatArray
    unit: FloatArray
    norm: FloatArray
    kind: IntArray
    lower: FloatArray
    upper: FloatArray
    tied: BoolArray


class Face(NamedTuple):
    """The face of each reviewer's set that holds her projection: what of it may move, to first order.

    Linear: ``sloped`` says whether the slope is free. Monotone: reviews ``r`` to ``end[r] - 1`` are one block where
    ``r`` begins a block, in the order ``place``, whose items are ``item``. Convex and concave: a broken line bent at
    the levels ``bent``, each review between the nodes ``node`` and ``node + 1`` of its reviewer with weight ``share``
    on the second (``node`` -1: free), ``nodes`` a reviewer, normal equations factored into ``pivot`` and ``link``. Of
    those with few reviews, identity minus the projector on it is ``block``, the entry of reviews a and b at
    ``begin[j] + a * size + b``; ``known`` says whose face it tells, and ``stays`` who was on hers still.
    ``moved`` is set for whoever changes hers.
    """

    item: ItemArray
    place: IntArray
    sloped: BoolArray
    end: IntArray
    bent: IntArray
    node: IntArray
    share: FloatArray
    nodes: IntArray
    pivot: FloatArray
    link: FloatArray
    begin: IntArray
    block: FloatArray
    known: BoolArray
    stays: BoolArray
    moved: BoolArray


class Common(NamedTuple):
    """One line in the raw scores for all reviews: the distance from it settles what reviewers leave open.

    ``degree`` (N,) reviews of an item, ``tilt`` (N,) sums of its centred raw scores, ``spread`` the sum of squares of
    all centred scores, ``reviews`` their number, and bounds on the slope.
    """

    degree: FloatArray
    tilt: FloatArray
    spread: float
    reviews: float
    lower: float
    upper: float


class Units(NamedTuple):
    """Quality of the programme = ``origin`` + ``scale`` times quality of the solver."""

    origin: float
    scale: float


def tabulate(programme: Programme) -> tuple[Table, Common, Units]:
    """Bring a programme into the solver's units: scores of spread 1 within reviewers, typical lower slope 1."""
    start = np.ascontiguousarray(programme.start, dtype=np.int64)
    item = np.ascontiguousarray(programme.item, dtype=np.uint32)
    size = np.diff(start)
    reviewer = np.repeat(np.arange(len(size)), size)
    # A reviewer's offset is free, so only centred scores matter.
    score = centred(programme.score, start, reviewer)
    norm = np.sqrt(np.bincount(reviewer, score * score, len(size)))
    slope = float(np.median(programme.lower)) or 1.0
    # Scores are divided by what makes their spread 1 and the median of the lower slopes 1.
    units = _units(programme, slope, float(np.sqrt(np.sum(norm * norm) / len(item))))
    score /= units.scale / slope
    norm /= units.scale / slope
    unit = score / np.where(norm > 0.0, norm, 1.0)[reviewer]
    kind, tied = _kinds(programme, size, norm)
    lower, upper = programme.lower / slope, programme.upper / slope
    table = Table(start, item, score, unit, norm, kind, lower, upper, tied)
    # The common line goes through raw scores, which keep the differences between reviewers.
    raw = (programme.score - programme.score.mean()) / (units.scale / slope)
    degree = np.bincount(item, minlength=programme.n_items).astype(np.float64)
    tilt = np.bincount(item, weights=raw, minlength=programme.n_items).astype(np.float64)
    return (
        table,
        Common(degree, tilt, float(np.sum(raw * raw)), float(len(item)), float(lower.min()), float(upper.max())),
        units,
    )


def centred(score: FloatArray, start: IntArray, reviewer: IntArray) -> FloatArray:
    """Subtract each reviewer's mean, after her first score, so that a large common shift costs no digits.

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


def _units(programme: Programme, slope: float, spread: float) -> Units:
    known = programme.reference[programme.is_reference]
    origin = float(known.mean()) if len(known) else 0.0
    scale = max(slope * spread, float(np.ptp(known)) if len(known) else 0.0)
    return Units(origin, scale if scale > 0.0 else 1.0)


def _kinds(programme: Programme, size: IntArray, norm: FloatArray) -> tuple[IntArray, BoolArray]:
    """Shapes as the kernels know them: constant scores make a line, or nothing when ties are free."""
    constant = norm == 0.0
    kind = np.where(constant, LINEAR if programme.ties_equal else IDLE, programme.shape).astype(np.int64)
    kind[size < 2] = IDLE
    return kind, (kind == LINEAR) | programme.ties_equal


def first_face(table: Table) -> Face:
    """Return a face to be written by the projections, with no block and no bend yet."""
    # Of a linear reviewer a face is but whether her slope is free.
    straight = bool(np.all((table.kind == LINEAR) | (table.kind == IDLE)))
    reviews, reviewers = 0 if straight else len(table.item), len(table.kind)
    begin = pairs_of(table, (table.kind == CONVEX) | (table.kind == CONCAVE))
    positions = np.arange(reviews, dtype=np.int64)
    return Face(
        item=table.item[:reviews].copy(),
        place=positions,
        sloped=np.zeros(reviewers, dtype=np.bool_),
        end=positions + 1,
        bent=np.zeros(reviews, dtype=np.int64),
        node=np.zeros(reviews, dtype=np.int64),
        share=np.zeros(reviews),
        nodes=np.zeros(reviewers, dtype=np.int64),
        pivot=np.ones(reviews),
        link=np.zeros(reviews),
        begin=begin,
        block=np.zeros(begin[-1]),
        known=np.zeros(reviewers, dtype=np.bool_),
        stays=np.zeros(reviewers, dtype=np.bool_),
        moved=np.ones(reviewers, dtype=np.bool_),
    )


def pairs_of(table: Table, wanted: BoolArray) -> IntArray:
    """Return where the pairs of reviews of each wanted reviewer with few begin, shape (M + 1,)."""
    size = np.diff(table.start)
    pairs = np.where((size <= SMALL) & wanted, size * size, 0)
    return np.concatenate([[0], np.cumsum(pairs)]).astype(np.int64)

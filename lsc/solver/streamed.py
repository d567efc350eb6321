"""Linear reviewers whose reviews lie on disk: the same objective and directions, one pass over a file a product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lsc.model.formulation import order_by_score, tied_up_to_rounding
from lsc.solver.newton import FAR, MAX_ITERATIONS, TOLERANCE, Listener, descend
from lsc.solver.passes import Layout, Part, Passes, laid_out, slopes
from lsc.solver.singles import kept, put_back
from lsc.solver.tables import Common, ItemArray, centred
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray
from reviewgraph.streams.spill import Spill, ranges

if TYPE_CHECKING:
    from lsc.model.hypotheses import Hypothesis
    from reviewgraph.streams.table import Chunk, Stream


class Lines:
    """The scored reviews of linear reviewers as the solver wants them, on disk, in parts that are held one at a time.

    Parameters
    ----------
    start
        Shape (M + 1,): where the reviews of each reviewer begin, ascending in score.
    unit
        The centred scores divided by their length over each reviewer's reviews, reviewer by reviewer.
    floor, ceiling
        Shape (M,): bounds on slopes for unit scores, 0 where scores are constant.
    blocks, places
        Where items of reviews are, as :class:`lsc.solver.passes.Part` has them; empty, and written here.
    longest
        Reviews of a part, unless one reviewer has more.
    """

    def __init__(
        self, start: IntArray, unit: Spill, floor: FloatArray, ceiling: FloatArray, blocks: Spill, places: Spill
    ) -> None:
        self.start, self.unit, self.floor, self.ceiling = start, unit, floor, ceiling
        self.blocks, self.places, self.longest = blocks, places, 0
        self._layouts: list[tuple[slice, Layout]] = []
        # Room for one part, used again and again, and the reviewers of the part in it.
        self._rooms: list[npt.NDArray[Any]] = []
        self._held = slice(0)

    @property
    def n_reviewers(self) -> int:
        """How many reviewers there are."""
        return len(self.floor)

    def lay_out(self, item: Spill, n_items: int, rows: int) -> Iterator[tuple[slice, ItemArray, FloatArray]]:
        """Cut the reviews into parts, and write where their items are; returns reviewers, items and unit scores."""
        for first, last in ranges(self.start, rows):
            low, high = int(self.start[first]), int(self.start[last])
            items = item.read(low, high)
            layout, block, place = laid_out(self.start[first : last + 1] - low, items, n_items)
            self.blocks.append(block)
            self.places.append(place)
            self._layouts.append((slice(first, last), layout))
            self.longest = max(self.longest, high - low)
            yield slice(first, last), items, self.unit.read(low, high)

    def parts(self) -> Iterator[tuple[slice, Part]]:
        """Pass over the reviews once: reviewers, and their reviews."""
        spills = self.blocks, self.unit, self.places
        if not self._rooms:
            self._rooms = [np.empty(self.longest, spill.dtype) for spill in spills]
        for hers, layout in self._layouts:
            low, high = int(self.start[hers.start]), int(self.start[hers.stop])
            if self._held != hers:  # a table in one part is read once
                for spill, room in zip(spills, self._rooms, strict=True):
                    spill.read(low, high, room)
                self._held = hers
            block, unit, place = (room[: high - low] for room in self._rooms)
            start = self.start[hers.start : hers.stop + 1] - low
            yield hers, Part(start, block, unit, place, self.floor[hers], self.ceiling[hers], *layout)


class Overview(NamedTuple):
    """The largest score in size, the mean score, and the scored reviews of each item, shape (N,)."""

    largest: float
    mean: float
    degree: IntArray


class Solved(NamedTuple):
    """Qualities (N,) in the units of the programme, 0 without a score, the objective, and how it went."""

    quality: FloatArray
    objective: float
    iterations: int
    converged: bool
    message: str


def minimise_streamed(
    stream: Stream,
    hypothesis: Hypothesis,
    exact: Callable[[float, FloatArray], bool],
    *,
    sharp: float,
    max_iterations: int = MAX_ITERATIONS,
    progress: Listener | None = None,
) -> Solved:
    """Solve the programme of linear reviewers without references, tied scores being equal, by passes over the reviews.

    Parameters
    ----------
    stream
        The table, open; some review has a score.
    hypothesis
        A class of lines.
    exact
        Asked of the mean square noise and the qualities whether there may be no noise at all.
    sharp
        The gradient to reach then; by default that of :func:`lsc.solver.newton.minimise`.
    max_iterations, progress
        As :func:`lsc.solver.newton.minimise` takes them.
    """
    overview, tolerance = _overview(stream), TOLERANCE
    reviewed = overview.degree > 0
    with Spill("<f8") as unit, Spill("<u2") as blocks, Spill("<u2") as places:
        lines, common, scale, begin = _tabulate(stream, overview, hypothesis.bounds, unit, blocks, places)
        for near in (False, True):
            merit = Passes(lines, common, np.zeros(common.degree.size, np.bool_))
            walk = descend(merit, begin, tolerance, max_iterations, progress, near=near)
            converged, message = walk.ending(tolerance)
            if near and not converged:  # the first solution stands
                break
            quality = np.where(common.degree > 0.0, scale * walk.x, 0.0)
            _put_back(stream, overview, hypothesis.bounds, quality)
            quality = np.where(reviewed, quality - float(quality[reviewed].mean()), 0.0)
            found = Solved(quality, scale * scale * merit.squares, walk.iterations, converged, message)
            if not converged or not exact(found.objective / int(overview.degree.sum()), quality):
                break
            begin, tolerance = quality / scale, sharp
            del merit, walk
        return found


def _tabulate(
    stream: Stream, overview: Overview, bounds: tuple[float, float], unit: Spill, blocks: Spill, places: Spill
) -> tuple[Lines, Common, float, FloatArray]:
    """Write the reviews in the solver's units.

    Returns them, the common line, the scale of qualities, and to begin with the average of items' centred scores.
    """
    lower = bounds[0] or 1.0
    with Spill("<u4") as item:
        size, norm, common = _write(stream, overview, item, unit)
        # Scores are divided by what makes their spread 1 and the lower slope 1.
        scale = lower * float(np.sqrt(np.sum(norm * norm) / common.reviews)) or 1.0
        factor, least, most = scale / lower, bounds[0] / lower, bounds[1] / lower
        norm /= factor
        start = np.concatenate([[0], np.cumsum(size)])
        lines, total = Lines(start, unit, *slopes(norm, least, most), blocks, places), np.zeros(stream.n_items)
        # A part as long as there are items looks a block's entries up often enough to repay reading them.
        for hers, items, units in lines.lay_out(item, stream.n_items, max(stream.batch, stream.n_items)):
            np.add.at(total, items, units * np.repeat(norm[hers], size[hers]))
    total /= np.maximum(common.degree, 1.0)
    tilt, spread = common.tilt / factor, common.spread / factor**2
    return lines, common._replace(tilt=tilt, spread=spread, lower=least, upper=most), scale, total


def _write(stream: Stream, overview: Overview, item: Spill, unit: Spill) -> tuple[IntArray, FloatArray, Common]:
    """Write items and unit scores; return numbers of reviews and lengths of scores by reviewer, and the common line.

    Single items are left out, see :mod:`lsc.solver.singles`.
    """
    M, N, count = stream.n_reviewers, stream.n_items, 0
    size, norm = np.zeros(M, np.int64), np.zeros(M)
    many, tilt, total, spread = np.zeros(N), np.zeros(N), 0.0, 0.0
    for first, _, items, score, keep, start in _chunks(stream, overview):
        items, score, hers = items[keep], score[keep], np.diff(start)
        mine, reviewer = slice(first, first + hers.size), np.repeat(np.arange(hers.size), hers)
        middle = centred(score, start, reviewer)
        size[mine], norm[mine] = hers, np.sqrt(np.bincount(reviewer, middle * middle, hers.size))
        raw = score - overview.mean
        np.add.at(many, items, 1.0)
        np.add.at(tilt, items, raw)
        count, total, spread = count + raw.size, total + float(raw.sum()), spread + float(np.sum(raw * raw))
        item.append(items)
        unit.append(middle / np.where(norm[mine] > 0.0, norm[mine], 1.0)[reviewer])
    # Single items counted in the mean: the common line goes through the scores that were kept.
    off = total / count
    return size, norm, Common(many, tilt - off * many, spread - off * total, float(count), 0.0, np.inf)


def _overview(stream: Stream) -> Overview:
    """Look at all scores once."""
    largest, total, degree = 0.0, 0.0, np.zeros(stream.n_items, np.int64)
    for chunk in stream.chunks():
        _, _, item, score = chunk.only_scored()
        largest, total = max(largest, float(np.abs(score).max(initial=0.0))), total + float(score.sum())
        np.add.at(degree, item, 1)
    return Overview(largest, total / int(degree.sum()), degree)


def _put_back(stream: Stream, overview: Overview, bounds: tuple[float, float], quality: FloatArray) -> None:
    """Write the qualities of single items."""
    for _, start, item, score, keep, _ in _chunks(stream, overview):
        if not keep.all():
            lower, upper = (np.full(start.size - 1, bound) for bound in bounds)
            put_back(start, item, score, keep, lower, upper, quality)


def _chunks(
    stream: Stream, overview: Overview
) -> Iterator[tuple[int, IntArray, ItemArray, FloatArray, BoolArray, IntArray]]:
    """Return, chunk by chunk, its first reviewer, the scored reviews, which are kept, and where each begins then."""
    for chunk in stream.chunks():
        start, item, score = by_score(chunk, overview.largest)
        all_stay = np.ones(item.size, np.bool_), start
        keep = kept(start, item, score, overview.degree) if stream.n_items >= FAR else all_stay
        yield chunk.first, start, item, score, *keep


def by_score(chunk: Chunk, largest: float) -> tuple[IntArray, ItemArray, FloatArray]:
    """Return where each reviewer's scored reviews begin, their items and scores: ascending, ties by item."""
    _, start, item, score = chunk.only_scored()
    reviewer = np.repeat(np.arange(start.size - 1), np.diff(start))
    order = order_by_score(start, score)
    return start, item[order], tied_up_to_rounding(score[order], reviewer, largest)

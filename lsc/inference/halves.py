"""A sweep over a part in two halves of its reviewers, a thread each; sums are added in a fixed order."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from lsc.inference.compiled import (
    ELEMENT,
    LINE,
    Law,
    Room,
    differentiate,
    law_of,
    mix_papers,
    moments,
    place_nodes,
    room_for,
    weigh_nodes,
)
from lsc.inference.layout import Layout
from lsc.inference.learning import Gradient
from lsc.inference.model import SIZE
from lsc.inference.scale_users import BEHIND, FURTHEST, LEAST_PRECISION, LEAST_SQUARE, NARROWER, PRODUCT
from lsc.inference.states import Believed, Messages, State, is_nothing
from reviewgraph.arrays import BoolArray, CodeArray
from reviewgraph.kernels.compiling import kernel
from reviewgraph.reviews import FloatArray

R = TypeVar("R")


class Heard(NamedTuple):
    """What a half gets: beliefs, items that moved (all if empty), old messages and nodes; and what it writes."""

    precision: FloatArray
    shift: FloatArray
    moved: BoolArray
    told_precision: FloatArray
    told_shift: FloatArray
    nodes: FloatArray
    new_precision: FloatArray
    new_shift: FloatArray
    new_nodes: FloatArray


@kernel(element=ELEMENT)
def look(room: Room, layout: Layout, heard: Heard, slot: int, step: int, k: int) -> float:
    """Copy the scores and cavities of a reviewer; returns the sum of 1/2 log v + m^2 / 2 v over these."""
    potential, product = 0.0, 1.0
    for i in range(k):
        at = slot + i * step
        item = layout.item[at]
        left = heard.precision[item] - heard.told_precision[at]
        mean = (heard.shift[item] - heard.told_shift[at]) / left
        room.score[i], room.mean[i], room.variance[i] = layout.score[at], mean, 1.0 / left
        potential += mean * mean * left
        product *= left
        if i % PRODUCT == PRODUCT - 1:
            potential -= math.log(product)
            product = 1.0
    return 0.5 * (potential - math.log(product))


@kernel(element=ELEMENT)
def keep(layout: Layout, heard: Heard, slot: int, step: int, k: int) -> bool:
    """Repeat the messages of a reviewer none of whose items moved; returns whether she is one."""
    if len(heard.moved) == 0:
        return False
    for i in range(k):
        if heard.moved[layout.item[slot + i * step]]:
            return False
    for i in range(k):
        at = slot + i * step
        heard.new_precision[at], heard.new_shift[at] = heard.told_precision[at], heard.told_shift[at]
    return True


@kernel(element=ELEMENT)
def tell(room: Room, heard: Heard, slot: int, step: int, k: int) -> None:
    """Divide tilted moments by the cavities, as :func:`lsc.inference.sweeps.damped` does, and write the messages."""
    for i in range(k):
        at, v = slot + i * step, room.variance[i]
        mean = v * room.moved[i]
        variance = max(v * room.square[i] - mean * mean, 1e-12 * v)
        precision = max(1.0 / variance - 1.0 / v, LEAST_PRECISION)
        shift = mean / v + (room.mean[i] + mean) * precision
        if precision <= LEAST_PRECISION:
            shift = min(max(0.5 * (heard.told_shift[at] + shift), -FURTHEST), FURTHEST)
        heard.new_precision[at], heard.new_shift[at] = precision, shift


@kernel(element=ELEMENT)
def follow(heard: Heard, who: int, row: int, found: tuple[float, float]) -> None:
    """Put nodes where the posterior is, given its mean and variance."""
    mean, square = found
    moved, before = BEHIND * (mean - heard.nodes[row, who]), NARROWER * heard.nodes[row + 1, who]
    heard.new_nodes[row, who] = mean
    heard.new_nodes[row + 1, who] = math.sqrt(max(square, moved * moved, before * before, LEAST_SQUARE))


@kernel(element=ELEMENT)
def sweep_half(
    layout: Layout, law: Law, room: Room, heard: Heard, sums: FloatArray, learn: bool, low: int, high: int
) -> None:
    """Do the step of the reviewers of some blocks.

    ``sums`` has one row more than there are hyperparameters: sums of g g' above, of g and of evidence in the last.
    """
    for block in range(low, high):
        begin, step = layout.start[block], layout.start[block + 1] - layout.start[block]
        for j in range(step):
            who, slot = layout.member[begin + j], layout.first[block] + j
            k, nodes = layout.load[who], heard.nodes[:, who]
            if keep(layout, heard, slot, step, k):
                continue
            evidence = look(room, layout, heard, slot, step, k)
            place_nodes(room, law, nodes)
            evidence += weigh_nodes(room, law, k)
            mix_papers(room, law, k)
            tell(room, heard, slot, step, k)
            size = law.rows * LINE
            follow(heard, who, 0, moments(room, room.log_slope, size))
            if law.rows > 1:
                follow(heard, who, 2, moments(room, room.log_own, size))
            if learn and k > 1:
                differentiate(room, law, k)
                for p in range(SIZE):
                    sums[SIZE, p] += room.gradient[p]
                    for q in range(SIZE):
                        sums[p, q] += room.gradient[p] * room.gradient[q]
            sums[SIZE, SIZE] += evidence


@kernel(element=ELEMENT)
def describe_half(layout: Layout, law: Law, room: Room, heard: Heard, found: FloatArray, low: int, high: int) -> None:
    """Write what is known of the reviewers of some blocks, as rows of :class:`lsc.inference.describing.People`."""
    size = law.rows * LINE
    for block in range(low, high):
        begin, step = layout.start[block], layout.start[block + 1] - layout.start[block]
        for j in range(step):
            who, slot = layout.member[begin + j], layout.first[block] + j
            k = layout.load[who]
            look(room, layout, heard, slot, step, k)
            place_nodes(room, law, heard.nodes[:, who])
            weigh_nodes(room, law, k)
            found[0, who], found[1, who] = moments(room, room.slope, size)
            found[2, who], found[3, who] = moments(room, room.middle, size)
            found[4, who], square = moments(room, room.log_slope, size)
            found[5, who] = math.sqrt(square)
            for g in range(size):
                found[3, who] += room.share[g] / room.precision[g]
                room.noise[g] = math.log(room.noise[g] + law.rounding)
            found[6, who], square = moments(room, room.noise, size)
            found[7, who] = math.sqrt(square)


@kernel(element=ELEMENT)
def add_half(item: CodeArray, told: tuple[FloatArray, ...], total: tuple[FloatArray, ...], low: int, high: int) -> None:
    """Add two values a slot to the sums of the items from ``low`` to before ``high``, in the order of the slots."""
    for at in range(len(item)):
        i = item[at]
        if low <= i < high:
            total[0][i] += told[0][at]
            total[1][i] += told[1][at]


class Threads:
    """Two threads, within a ``with``, that are started when there is work for them."""

    pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.shutdown()

    def both(self, work: Callable[[int, int], R], size: int, middle: int) -> list[R]:
        """Do the work on both parts of a range that is cut in the middle."""
        self.pool = self.pool or ThreadPoolExecutor(2)
        return list(self.pool.map(work, (0, middle), (middle, size)))


def step_halves(
    threads: Threads,
    layout: Layout,
    told: Messages,
    believed: Believed,
    state: State,
    new: State,
    fresh: Messages,
    rounding: float,
    moved: BoolArray,
    *,
    learn: bool,
) -> tuple[float, Gradient]:
    """Do the step of every reviewer of a part; returns the evidence and its derivatives."""
    law, longest, cut = _given(layout, state, rounding)
    heard = Heard(*believed, moved, *told[:2], state.nodes, *fresh[:2], new.nodes)
    work = sweep_half.form(ELEMENT * layout.item.size)

    def half(low: int, high: int) -> FloatArray:
        sums = np.zeros((SIZE + 1, SIZE + 1))
        work(layout, law, room_for(longest, law.rows), heard, sums, learn, low, high)
        return sums

    sums = np.sum(threads.both(half, *cut), axis=0)
    return float(sums[SIZE, SIZE]), Gradient(sums[SIZE, :SIZE], sums[:SIZE, :SIZE])


def describe_halves(
    threads: Threads,
    layout: Layout,
    told: Messages,
    believed: Believed,
    state: State,
    rounding: float,
    found: FloatArray,
) -> None:
    """Write what is known of the reviewers of a part, as rows of :class:`lsc.inference.describing.People`."""
    law, longest, cut = _given(layout, state, rounding)
    heard = Heard(*believed, np.empty(0, np.bool_), *told[:2], state.nodes, *told[:2], state.nodes)
    work = describe_half.form(ELEMENT * layout.item.size)
    threads.both(lambda *half: work(layout, law, room_for(longest, law.rows), heard, found, *half), *cut)


def _given(layout: Layout, state: State, rounding: float) -> tuple[Law, int, tuple[int, int]]:
    """Return the law, most reviews of a reviewer, and how many blocks there are and in the first half."""
    longest = int(layout.load[layout.member].max(initial=0))
    cut = layout.first.size - 1, int(np.searchsorted(layout.first, layout.first[-1] // 2))
    return law_of(state.theta, rounding, own=state.extent.own), longest, cut


def add_up(threads: Threads, item: CodeArray, told: Messages, total: Messages) -> None:
    """Add slots to sums over items."""
    size, work = total.precision.size, add_half.form(ELEMENT * item.size)
    for values, sums in ((told[:2], total[:2]), (told[2:], total[2:])):
        if not is_nothing(sums[0]):
            threads.both(partial(work, item, values, sums), size, size // 2)


@kernel(element=ELEMENT)
def take_middle(layout: Layout, now: FloatArray, image: FloatArray, low: int, high: int) -> None:
    """Take the mean of each column over the items of every reviewer away from each of these items."""
    middle = np.empty(now.shape[1])
    for block in range(low, high):
        begin, step = layout.start[block], layout.start[block + 1] - layout.start[block]
        for j in range(step):
            k, slot = layout.load[layout.member[begin + j]], layout.first[block] + j
            part, middle[:] = 1.0 / k, 0.0
            for i in range(k):
                item = layout.item[slot + i * step]
                for p in range(len(middle)):
                    middle[p] += now[item, p] * part
            for i in range(k):
                item = layout.item[slot + i * step]
                for p in range(len(middle)):
                    image[item, p] -= middle[p]


def take_middles(threads: Threads, layout: Layout, now: FloatArray, images: tuple[FloatArray, FloatArray]) -> None:
    """Do so for all reviewers of a part, of one half in each of two images that add up."""
    work = take_middle.form(ELEMENT * layout.item.size)
    cut = layout.first.size - 1, int(np.searchsorted(layout.first, layout.first[-1] // 2))
    threads.both(lambda low, high: work(layout, now, images[low > 0], low, high), *cut)

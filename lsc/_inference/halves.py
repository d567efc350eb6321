"""A sweep over a part in two halves of its reviewers, a thread each; sums are added in a fixed order.

The step of :mod:`lsc._inference.scale_users` is compiled here, for large tables: one reviewer after another. What
whole-array steps read and write many times over stays in registers and the nearest cache here, and nothing has to
wait for Python, so that two threads share the work. Both forms give the same answers but for rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from lsc._inference.model import (
    G0,
    G1,
    LOG_OMEGA,
    LOG_OWN,
    LOG_TAU_LEFT,
    LOG_TAU_RIGHT,
    MU,
    NU,
    RHO,
    SIZE,
    Gradient,
    Layout,
)
from lsc._inference.scale_users import (
    BEHIND,
    FURTHEST,
    LEAST_PRECISION,
    LEAST_SQUARE,
    NARROWER,
    PRODUCT,
    REACH,
    SPACING,
)
from lsc._inference.states import Believed, Messages, State, is_nothing
from reviewgraph._base.arrays import BoolArray, CodeArray, FloatArray
from reviewgraph.graph.kernels.compiling import kernel

#: Nodes of the slope, and of own noise at each, beside the middle: sqrt 3 spreads off.
LINE, OWN = round(2 * REACH / SPACING) + 1, 3
ROOT = math.sqrt(3.0)
#: What plain Python takes for a review.
ELEMENT = 60e-6
R = TypeVar("R")


class Law(NamedTuple):
    """Hyperparameters as kernels take them, and which: ``rows`` is 1, or 3 with a noise of her own."""

    mu: float
    left: float
    right: float
    g0: float
    g1: float
    omega_square: float
    nu: float
    rho: float
    log_own: float
    rounding: float
    rows: int


class Room(NamedTuple):
    """Where one reviewer is worked on: by review, shapes (k,), by node, (G,), and by both, (G, k)."""

    score: FloatArray
    mean: FloatArray
    variance: FloatArray
    moved: FloatArray
    square: FloatArray
    log_slope: FloatArray
    log_own: FloatArray
    slope: FloatArray
    noise: FloatArray
    share: FloatArray
    precision: FloatArray
    middle: FloatArray
    weight: FloatArray
    told: FloatArray
    gradient: FloatArray


def law_of(theta: FloatArray, rounding: float, *, own: bool) -> Law:
    """Return hyperparameters as kernels take them."""
    left, right, omega_square = np.exp([theta[LOG_TAU_LEFT], theta[LOG_TAU_RIGHT], 2 * theta[LOG_OMEGA]]).tolist()
    mu, g0, g1, nu, rho, log_own = theta[[MU, G0, G1, NU, RHO, LOG_OWN]].tolist()
    return Law(mu, left, right, g0, g1, omega_square, nu, rho, log_own, rounding, OWN if own else 1)


def room_for(load: int, rows: int) -> Room:
    """Return room for reviewers of so many reviews at most."""
    nodes = rows * LINE
    by_review, by_node, by_both = np.zeros((5, load)), np.zeros((7, nodes)), np.zeros((2, nodes, load))
    rooms: list[FloatArray] = [*by_review, *by_node, *by_both, np.zeros(SIZE)]
    return Room(*rooms)


@kernel(element=ELEMENT)
def place_nodes(room: Room, law: Law, nodes: FloatArray) -> None:
    """Write log slopes, slopes, own noise and noise variances at the nodes, and the log densities into ``share``."""
    centre, spread = nodes[0], nodes[1]
    ratio, noisier = math.exp(SPACING * spread), math.exp(2.0 * law.rho * SPACING * spread)
    constant = math.log(2.0 * SPACING * spread / (math.sqrt(2.0 * math.pi) * (law.left + law.right)))
    for row in range(law.rows):
        level, c = constant, 0.0
        if law.rows > 1:
            own_spread = nodes[3]
            c = nodes[2] + (row - 1) * ROOT * own_spread
            # Hermite's weights over the normal density, which the integrand holds itself.
            part = 2.0 / 3.0 if row == 1 else math.exp(1.5) / 6.0
            level += math.log(part * own_spread) - 0.5 * (c * math.exp(-law.log_own)) ** 2 - law.log_own
        first = centre - REACH * spread
        slope = math.exp(first)
        noise = math.exp(2.0 * (law.nu + law.rho * (first - law.mu)) + c)
        for t in range(LINE):
            g, z = row * LINE + t, first + t * SPACING * spread
            off = z - law.mu
            off /= law.left if off < 0.0 else law.right
            room.log_slope[g], room.log_own[g], room.slope[g], room.noise[g] = z, c, slope, noise
            room.share[g] = level - 0.5 * off * off
            slope *= ratio
            noise *= noisier


@kernel(element=ELEMENT)
def weigh_nodes(room: Room, law: Law, k: int) -> float:
    """Integrate papers and offset out at each node, and turn log densities into shares; returns the log evidence."""
    top, nodes = -math.inf, law.rows * LINE
    for g in range(nodes):
        slope, noise, offset = room.slope[g], room.noise[g] + law.rounding, law.g0 + law.g1 * room.slope[g]
        weight, told = room.weight[g], room.told[g]
        steep, precision, drawn = slope * slope, 1.0 / law.omega_square, offset / law.omega_square
        log_total, product = 0.0, 1.0
        for i in range(k):
            total = steep * room.variance[i] + noise
            apart = room.score[i] - slope * room.mean[i]
            product *= total
            weight[i] = 1.0 / total
            told[i] = apart
            precision += weight[i]
            drawn += weight[i] * apart
            if i % PRODUCT == PRODUCT - 1:
                log_total += math.log(product)
                product = 1.0
        middle = drawn / precision
        squares = (middle - offset) ** 2 / law.omega_square
        for i in range(k):
            apart = told[i] - middle
            told[i] = weight[i] * apart
            squares += told[i] * apart
        log_total += math.log(product * law.omega_square * precision)
        room.share[g] -= 0.5 * (log_total + squares)
        room.precision[g], room.middle[g] = precision, middle
        top = max(top, room.share[g])
    whole = 0.0
    for g in range(nodes):
        room.share[g] = math.exp(room.share[g] - top)
        whole += room.share[g]
    for g in range(nodes):
        room.share[g] /= whole
    return float(top + math.log(whole) - 0.5 * math.log(2.0 * math.pi) * k)


@kernel(element=ELEMENT)
def mix_papers(room: Room, law: Law, k: int) -> None:
    """Write mean and mean square of papers less their cavity means, over these variances."""
    for i in range(k):
        room.moved[i] = room.square[i] = 0.0
    for g in range(law.rows * LINE):
        share, weight, told = room.share[g], room.weight[g], room.told[g]
        rising = share * room.slope[g]
        steep, doubt = rising * room.slope[g], 1.0 / room.precision[g]
        noise = share * (room.noise[g] + law.rounding)
        for i in range(k):
            room.moved[i] += rising * told[i]
            square = weight[i] * weight[i] * doubt + told[i] * told[i]
            room.square[i] += noise * weight[i] + steep * room.variance[i] * square


@kernel(element=ELEMENT)
def moments(room: Room, value: FloatArray, nodes: int) -> tuple[float, float]:
    """Return mean and variance of what stands at the nodes."""
    mean, square = 0.0, 0.0
    for g in range(nodes):
        mean += room.share[g] * value[g]
    for g in range(nodes):
        square += room.share[g] * (value[g] - mean) ** 2
    return mean, square


@kernel(element=ELEMENT)
def differentiate(room: Room, law: Law, k: int) -> None:
    """Write the derivatives of the log evidence by the hyperparameters, as expected derivatives of the log density."""
    gradient, sides = room.gradient, law.left + law.right
    gradient[:] = 0.0
    for g in range(law.rows * LINE):
        share, slope, off = room.share[g], room.slope[g], room.log_slope[g] - law.mu
        weight, told, doubt, pull = room.weight[g], room.told[g], 1.0 / room.precision[g], 0.0
        for i in range(k):
            pull += weight[i] * weight[i] * doubt + told[i] * told[i] - weight[i]
        by_noise = 0.5 * share * room.noise[g] * pull
        side = law.left if off < 0.0 else law.right
        gradient[MU] += share * off / (side * side) - 2.0 * law.rho * by_noise
        gradient[LOG_TAU_LEFT if off < 0.0 else LOG_TAU_RIGHT] += share * (off / side) ** 2
        gap = room.middle[g] - law.g0 - law.g1 * slope
        gradient[G0] += share * gap / law.omega_square
        gradient[G1] += share * gap * slope / law.omega_square
        gradient[LOG_OMEGA] += share * (doubt + gap * gap) / law.omega_square
        gradient[NU] += 2.0 * by_noise
        gradient[RHO] += 2.0 * by_noise * off
        gradient[LOG_OWN] += share * room.log_own[g] ** 2
    gradient[LOG_TAU_LEFT] -= law.left / sides
    gradient[LOG_TAU_RIGHT] -= law.right / sides
    gradient[LOG_OMEGA] -= 1.0
    gradient[LOG_OWN] = gradient[LOG_OWN] * math.exp(-2.0 * law.log_own) - 1.0


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
    """Divide tilted moments by the cavities, as :func:`lsc._inference.sweeps.damped` does, and write the messages."""
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
    """Write what is known of the reviewers of some blocks, as rows of :class:`lsc._inference.inferring.People`."""
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
    """Write what is known of the reviewers of a part, as rows of :class:`lsc._inference.inferring.People`."""
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

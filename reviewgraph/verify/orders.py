"""How likely normal variables come in a given order, and where each then is, by sums over a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from reviewgraph.arrays import FloatArray

#: Papers of a reviewer up to which an order is looked at; points of the grid, and standard deviations that it reaches.
MOST, POINTS, REACH = 200, 48, 4.0
#: What counts as nothing of a probability, and as no rise of a logarithm.
NOTHING, STRAIGHT = 1e-250, 1e-6


class Order(NamedTuple):
    """Log probability, shape (m,), and mean and mean square of papers less their means without it, shapes (k, m)."""

    log_probability: FloatArray
    mean: FloatArray
    square: FloatArray


def order_of(score: FloatArray, mean: FloatArray, variance: FloatArray, noise: float) -> Order:
    """Return what the order of scores says of papers, each perceived with some noise; arrays of shape (k, m).

    Equal scores stand in the order of the means, and all arrangements of them count.
    """
    order = np.lexsort((mean, score), axis=0)
    m, v = np.take_along_axis(mean, order, 0), np.take_along_axis(variance, order, 0)
    sd = np.sqrt(v + noise)
    low, high = (m - REACH * sd).min(axis=0), (m + REACH * sd).max(axis=0)
    grid = low + np.linspace(0, 1, POINTS)[:, None] * (high - low)
    log = -(((grid - m[:, None]) / sd[:, None]) ** 2) / 2
    log -= np.log(np.array([_masses(row).sum(axis=0) for row in log]))[:, None]
    below, total = _passed(log)
    above = _passed(log[::-1, ::-1])[0][::-1, ::-1]
    share = np.exp((joint := log + below + above) - joint.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    off = grid - m[:, None]
    first, square = (share * off).sum(axis=1), (share * off**2).sum(axis=1)
    part, back = v / (v + noise), np.argsort(order, axis=0)
    moved, spread = (np.take_along_axis(value, back, 0) for value in (part * first, part**2 * square + part * noise))
    return Order(total + _arrangements(np.take_along_axis(score, order, 0)), moved, spread)


def _masses(log: FloatArray) -> FloatArray:
    """Integrate between neighbours of the grid what is exponential between them, shape (points - 1, m)."""
    value = np.exp(log)
    rise = np.diff(log, axis=0)
    flat = np.abs(rise) <= STRAIGHT
    return np.where(flat, (value[1:] + value[:-1]) / 2, np.diff(value, axis=0) / np.where(flat, 1.0, rise))


def _passed(log: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return logs of the probability that all before are in order and at most here, and the log of it for all."""
    so_far, total = np.zeros_like(log), np.zeros(log.shape[2])
    for place in range(len(log)):
        mass = _masses(log[place] + so_far[place])
        part = np.maximum(mass.sum(axis=0), NOTHING)
        total += np.log(part)
        if place + 1 < len(log):
            so_far[place + 1, 0] = np.log(NOTHING)
            so_far[place + 1, 1:] = np.log(np.maximum(np.cumsum(mass, axis=0) / part, NOTHING))
    return so_far, total


def _arrangements(ranked: FloatArray) -> FloatArray:
    """Return log k! / prod t!, t how many scores are equal."""
    alike, found = np.ones(ranked.shape[1]), np.zeros(ranked.shape[1])
    for place in range(1, len(ranked)):
        alike = np.where(ranked[place] == ranked[place - 1], alike + 1, 1.0)
        found += np.log(place + 1) - np.log(alike)
    return found

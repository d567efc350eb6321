"""How sure a posterior is of single papers: what loops in the reviews, and a bend common to all, add to messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from reviewgraph.arrays import FloatArray, IntArray
    from reviewgraph.verify.passes import Model, Problem

#: Reviews beyond which loops add nothing, and items up to which what they add is computed again.
MOST_REVIEWS, MOST_ITEMS = 50_000, 2_500
#: Sweeps, and the part of its precision by which a paper's may still move.
SWEEPS, STILL = 30, 1e-4


def bend(mean: FloatArray) -> FloatArray:
    """Return the variance by which a bend that all reviewers share could move items, from their means, shape (n,).

    It is the squared distance to where their ranks stand among normal qualities, as far as chance does not explain it.
    """
    from scipy.special import ndtri

    if mean.size < 3 or np.ptp(mean) <= 0:
        return np.zeros(mean.size)
    ordered = np.sort(mean)
    rank = (np.searchsorted(ordered, mean, "left") + np.searchsorted(ordered, mean, "right") + 1) / 2
    level = (rank - 0.375) / (mean.size + 0.25)
    normal = ndtri(level)
    square = (mean - mean.mean() - mean.std() * normal) ** 2
    chance = mean.var() * level * (1 - level) / mean.size * 2 * np.pi * np.exp(normal**2)
    return np.asarray(max(0.0, 1.0 - chance.sum() / square.sum()) * square if square.sum() > 0 else 0 * square)


def loops(
    problem: Problem, model: Model, mean: FloatArray, variance: FloatArray, messages: FloatArray, people: FloatArray
) -> FloatArray:
    """Return the factor by which loops raise the variance of each item, shape (N,): exact over what messages reach.

    Both in the model linearised in slopes: a reviewer's scores have the noise s^2 and share an offset and a slope.
    """
    who, what, theta = problem.who, problem.what, model.theta
    slope, _, _, noise, orders = people[:, who]
    tau = np.sqrt((np.exp(2 * theta["log_tau_left"]) + np.exp(2 * theta["log_tau_right"])) / 2)
    shared = np.array([np.full(who.size, np.exp(theta["log_omega"])), (mean[what] + theta["g1"]) * slope * tau]).T
    precise, alone = (1 - orders) * slope**2 / noise, orders * messages[0]
    load, seen = problem.load[who], np.flatnonzero((problem.counts > 0) | (problem.known[0] > 0))
    degree = np.bincount(what, 1 - 1 / load, problem.sizes[1])[seen].mean()
    alike = np.full(who.size, model.kappa / degree if model.kappa else 0.0)
    base = 1 - model.kappa + problem.known[0] + np.bincount(what, alone, problem.sizes[1])

    place = np.zeros(problem.sizes[1], np.int64)
    place[seen] = np.arange(seen.size)
    exact = np.diag((base + np.bincount(what, precise + alike, problem.sizes[1]))[seen])
    inside = _sums(who, shared[:, :, None] * shared[:, None, :], problem.sizes[0])
    order = np.argsort(who, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(who[order])) + 1):
        here = np.ix_(place[what[rows]], place[what[rows]])
        both = shared[rows] * np.sqrt(precise[rows])[:, None]
        middle = np.linalg.inv(noise[rows[0]] * np.eye(2) + inside[who[rows[0]]])
        exact[here] -= both @ middle @ both.T + alike[rows[0]] / rows.size
    settled = _settled(problem, model, base, shared, precise, noise, alike, messages)[seen]
    found = np.ones(problem.sizes[1])
    found[seen] = np.maximum(np.diag(np.linalg.inv(exact)) * settled, 1.0)
    return found


def _sums(who: IntArray, value: FloatArray, size: int) -> FloatArray:
    found = np.zeros((size, *value.shape[1:]))
    np.add.at(found, who, value)
    return found


def _settled(
    problem: Problem,
    model: Model,
    base: FloatArray,
    shared: FloatArray,
    precise: FloatArray,
    noise: FloatArray,
    alike: FloatArray,
    messages: FloatArray,
) -> FloatArray:
    """Return the precisions at which messages of the linear model settle, shape (N,)."""
    who, what, load = problem.who, problem.what, problem.load[problem.who]

    def total() -> FloatArray:
        return np.asarray(base + np.bincount(what, told + drawn, problem.sizes[1]))

    told, drawn = messages[0], messages[2]
    for _ in range(SWEEPS):
        whole = total()[what]
        part = 1 / (1 + precise / (whole - told))
        outer = shared[:, :, None] * shared[:, None, :] * (part / noise)[:, None, None]
        inverse = np.linalg.inv(np.eye(2) + _sums(who, outer, problem.sizes[0]))[who]
        own = np.einsum("ep,epq,eq->e", shared, inverse, shared) / noise
        precision = precise * part * (1 - part * own)
        new = precision / (1 - precision / (whole - told))
        if model.kappa:
            left = whole - drawn + alike
            sums = _sums(who, alike / load / left, problem.sizes[0])[who]
            drawn = 1 / (1 / left + alike / load / left**2 / (1 - sums)) - (whole - drawn)
        rests = bool((np.abs(new - told) <= STILL * whole).all())
        told = new
        if rests:
            break
    return total()

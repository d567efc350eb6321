"""What the correction for reviewers is worth, and whose scores contradict those of the others, computed once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.verify.heard import LEAST_NOISE, Heard, fit_averages
from reviewgraph.verify.stationary import swept

if TYPE_CHECKING:
    from reviewgraph.arrays import BoolArray, FloatArray, IntArray
    from reviewgraph.verify.passes import Model

#: Folds of reviewers, reviews foretold after which no other fold begins, sweeps, and the least number of reviewers.
FOLDS, ENOUGH, SWEEPS, FEWEST = 5, 20_000, 8, 5
#: Places of slopes and noises of a population, in standard deviations.
NODES = np.linspace(-4.0, 4.0, 11)
#: Differences between papers that are rounding, and where the noncentral chi^2 is normal.
TRIFLE, FAR = 1e-12, 1e4


def gain(heard: Heard, model: Model) -> dict[str, float] | None:
    """Foretell the order of each fold of reviewers by qualities and by averages of the others; None of too few."""
    load = np.bincount(heard.problem.who, minlength=heard.problem.sizes[0])
    several = np.flatnonzero(load > 1)
    fold = np.full(load.size, FOLDS)
    fold[several] = np.random.default_rng(0).permutation(several.size) % FOLDS
    parts: list[FloatArray] = []
    for number in range(FOLDS):
        held = fold[heard.who] == number
        there = np.bincount(heard.what[~held], minlength=heard.problem.sizes[1]) > 0
        asked = held & heard.kept & there[heard.what]
        asked &= (np.bincount(heard.who[asked], minlength=load.size) > 1)[heard.who]
        if asked.any():
            item = heard.what[asked]
            quality, average = _qualities(heard, model, ~held), _averages(heard, ~held)
            parts.append(np.array([heard.who[asked], heard.score[asked], quality[item], average[item]]))
        if sum(part.shape[1] for part in parts) >= ENOUGH:
            break
    who, *values = np.concatenate(parts, axis=1) if parts else np.empty((4, 0))
    names, code = np.unique(who, return_inverse=True)
    if names.size < FEWEST:
        return None
    truth, ours, theirs = (_ranks_within(value, code) for value in values)
    ours, theirs = _squares(truth, ours), _squares(truth, theirs)
    if not theirs.sum() > 0:
        return None
    relative = 1 - float(ours.sum() / theirs.sum())
    off = np.bincount(code, theirs - ours - relative * theirs)
    variance = 2 * float((off**2).sum()) * off.size / (off.size - 1)
    return {
        "relative": relative,
        "standard_error": variance**0.5 / float(theirs.sum()),
        "error": float(np.sqrt(ours.mean())),
        "average_error": float(np.sqrt(theirs.mean())),
        "reviews": ours.size,
    }


def _averages(heard: Heard, kept: BoolArray) -> FloatArray:
    """Return averages over the reviews kept, drawn to the middle."""
    what, score, size = heard.what[kept], heard.score[kept], heard.problem.sizes[1]
    fit = fit_averages(what, score, LEAST_NOISE * max(float(heard.score.var()), LEAST_NOISE))
    ratio = fit.slope**2 / fit.noise
    part = ratio / (1 + ratio * np.bincount(what, minlength=size))
    return np.asarray(fit.mean + part * np.bincount(what, score - fit.mean, size))


def _qualities(heard: Heard, model: Model, kept: BoolArray) -> FloatArray:
    problem = heard.problem.only(kept[heard.kept])
    return swept(problem._replace(known=0 * problem.known), model, SWEEPS)


def _ranks_within(value: FloatArray, code: IntArray) -> FloatArray:
    """Return the part of all values below each, ties half, less the mean of its reviewer."""
    rounded = np.round(value / (float(value.std()) or 1.0), 9)
    place, count = np.unique(rounded, return_inverse=True, return_counts=True)[1:]
    rank = ((np.cumsum(count) - count / 2) / value.size)[place]
    return np.asarray(rank - (np.bincount(code, rank) / np.bincount(code))[code])


def _squares(truth: FloatArray, told: FloatArray) -> FloatArray:
    square = float(told @ told)
    slope = max(float(told @ truth) / square, 0.0) if square > 0 else 0.0
    return np.asarray((truth - slope * told) ** 2)


class Others(NamedTuple):
    """What is believed of items by all, shapes (N,), messages (4, E) and reviewers (5, M); ``loops`` as in doubts."""

    mean: FloatArray
    variance: FloatArray
    loops: FloatArray
    messages: FloatArray
    people: FloatArray


def misfits(heard: Heard, model: Model, told: Others, *, signal: bool) -> FloatArray:
    """Return mean square, agreement and p-value of each reviewer, shape (3, M), NaN of who cannot be looked at.

    A reviewer's scores are compared with what all others believe of the papers, the level free.
    """
    from scipy.special import chndtr, ndtr

    problem = heard.problem
    who, what, size = problem.who, problem.what, problem.sizes[0]
    left = 1 / told.variance[what] - told.messages[0] - told.messages[2]
    mean = (told.mean[what] / told.variance[what] - told.messages[1] - told.messages[3]) / left
    variance = told.loops[what] / left
    factor = np.exp(-model.theta["gamma"] * problem.log_noise) if signal else np.ones(who.size)
    share, slopes, noises, slope, noise = _population(model, told.people, signal=signal)
    rounding = problem.rounding if signal else 0.0

    def summed(value: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(who, value, size))

    weight = 1 / (slope**2 * variance + noise * factor + rounding)
    total, count = summed(weight), summed(np.ones(who.size))

    def within(value: FloatArray) -> FloatArray:
        return np.asarray(value - (summed(weight * value) / np.where(count, total, 1.0))[who])

    score, mean = within(problem.score), within(mean)
    square, spread = summed(weight * (score - slope * mean) ** 2), summed(weight * mean**2)
    cross, freedom = summed(weight * mean * score), np.maximum(count - 1, 1.0)
    kinds = (variance, factor, np.ones(who.size))
    of_cross = [summed((weight * mean) ** 2 * kind) for kind in kinds]
    of_square = [summed(weight * (1 - weight / total[who]) * kind) / freedom for kind in kinds]
    differ, worse = spread > TRIFLE * count, np.zeros((2, size))
    for part, a, s in zip(share, slopes, noises, strict=True):
        scale, error = (
            sum(term * kind for term, kind in zip((a**2, s, rounding), each, strict=True))
            for each in (of_square, of_cross)
        )
        scale = scale + (count < 2)
        off = (a - slope) ** 2 * spread / scale
        near = 1 - chndtr(square / scale, freedom, np.minimum(off, FAR))
        normal = ndtr((freedom + off - square / scale) / np.sqrt(2 * (freedom + 2 * off)))
        worse[0] += part * np.clip(np.where(off < FAR, near, normal), 0, 1)
        apart = np.divide(cross - a * spread, np.sqrt(error), out=np.zeros(size), where=differ)
        worse[1] += part * np.where(differ, ndtr(apart), 1.0)
    agreement = np.divide(cross, slope * spread, out=np.full(size, np.nan), where=differ)
    found = np.array([square / freedom, agreement, np.minimum(2 * worse.min(axis=0), 1.0)])
    found[:, (count < 2) | (np.nan_to_num(told.people[4]) > 0.5)] = np.nan
    return found


def _population(
    model: Model, people: FloatArray, *, signal: bool
) -> tuple[FloatArray, FloatArray, FloatArray, float, float]:
    """Return weights, slopes and noises of the population at nodes, and slope and noise of a typical reviewer."""
    if not signal:
        alike = people[[0, 3]][:, np.isfinite(people[0])].mean(axis=1)
        return np.ones(1), alike[:1], alike[1:], float(alike[0]), float(alike[1])
    theta = model.theta
    side = np.exp(np.where(NODES < 0, theta["log_tau_left"], theta["log_tau_right"]))
    density = np.exp(-(NODES**2) / 2)
    share = density * side / (density * side).sum()
    slopes = np.exp(theta["mu"] + side * NODES)
    noises = np.exp(2 * (theta["nu"] + theta["rho"] * side * NODES))
    slope, noise = float(share @ slopes), float(np.exp(2 * theta["nu"]))
    if model.own:
        own = np.exp(np.exp(theta["log_own"]) * NODES)
        share = np.outer(share, density / density.sum()).ravel()
        slopes, noises = np.repeat(slopes, own.size), np.outer(noises, own).ravel()
    return share, slopes, noises, slope, noise

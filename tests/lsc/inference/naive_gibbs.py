"""The model of :mod:`lsc._inference.model` by Gibbs sampling: slow, and exact but for the noise of sampling.

Hyperparameters are given. The slope of a reviewer is drawn from its conditional distribution on a fine grid, her offset
integrated out; her own noise, given both, on another. Whether she only orders is drawn with all of them integrated out,
and what she then perceives by a pass forwards and one backwards over her papers in order, on a third.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

GRID, OWN_GRID, POINTS = 81, 31, 64


def sample(reviewer, item, score, n_reviewers, n_items, theta, rounding, sweeps, burn_in, rng):
    """Draw qualities, shape (sweeps - burn_in, N), in the internal scale; ``score`` is standardised.

    ``theta`` has the names of :mod:`lsc._inference.model`; ``own`` and ``w`` only where the model has them.
    """
    users = Users(reviewer, item, score, n_reviewers, theta, rounding)
    orderers = Orderers(reviewer, item, score, users, theta) if "w" in theta else None
    x, kept = np.zeros(n_items), []
    orders = np.zeros(n_reviewers, bool)
    for sweep in range(sweeps):
        slope, offset, noise, log_evidence = users.draw(x, rng)
        precision, pull = slope**2 / noise, slope * (score - offset) / noise
        if orderers is not None:
            orders, perceived = orderers.draw(x, log_evidence, rng)
            fine = theta["s_r"] ** -2
            precision = np.where(orders[reviewer], fine, precision)
            pull = np.where(orders[reviewer], fine * perceived, pull)
        users.draw_own(x, slope, offset, orders, rng)
        total = 1 + np.bincount(item, precision, n_items)
        x = np.bincount(item, pull, n_items) / total + rng.standard_normal(n_items) / np.sqrt(total)
        if sweep >= burn_in:
            kept.append(x)
    return np.array(kept)


class Users:
    """Reviewers who use the scale: slopes on a grid, shape (M, GRID), offsets, and logs of own noise, shape (M,)."""

    def __init__(self, reviewer, item, score, n_reviewers, theta, rounding):
        self.reviewer, self.item, self.score, self.size = reviewer, item, score, n_reviewers
        self.theta, self.rounding = theta, rounding
        mu, tau_left, tau_right = theta["mu"], theta["tau_left"], theta["tau_right"]
        z = np.linspace(mu - 6 * tau_left, mu + 6 * tau_right, GRID)
        self.slope = np.exp(z)
        log_prior = -0.5 * ((z - mu) / np.where(z < mu, tau_left, tau_right)) ** 2
        self.log_prior = log_prior - np.log(np.exp(log_prior).sum())
        self.noise = np.exp(2 * (theta["nu"] + theta["rho"] * (z - mu)))
        self.centre = theta["g0"] + theta["g1"] * self.slope
        self.load = np.bincount(reviewer, minlength=n_reviewers)
        self.own = np.zeros(n_reviewers)

    def log_density(self, x, spread=0.0):
        """Log density of slopes and scores: y is normal, variance (s^2 + spread a^2) I + omega^2 11', mean b + a x."""
        value = x[self.item]
        columns = (self.score, value, self.score**2, self.score * value, value**2)
        y, sx, yy, xy, xx = (np.bincount(self.reviewer, column, self.size)[:, None] for column in columns)
        load, slope, centre = self.load[:, None], self.slope, self.centre
        noise = self.noise * np.exp(self.own)[:, None] + self.rounding + spread * slope**2
        linear = y - slope * sx - load * centre
        square = yy - 2 * slope * xy + slope**2 * xx - 2 * centre * (y - slope * sx) + load * centre**2
        precision = load / noise + self.theta["omega"] ** -2
        found = (load - 1) * np.log(noise) + np.log(noise + self.theta["omega"] ** 2 * load)
        found += square / noise - (linear / noise) ** 2 / precision
        mean = centre + linear / noise / precision
        return self.log_prior - 0.5 * found, mean, precision

    def draw(self, x, rng):
        """Draw slope, offset and noise of each review, shapes (E,), and return the log density of scores, (M,)."""
        log_density, mean, precision = self.log_density(x)
        top = log_density.max(axis=1, keepdims=True)
        cumulative = np.cumsum(np.exp(log_density - top), axis=1)
        place = (cumulative < rng.random(self.size)[:, None] * cumulative[:, -1:]).sum(axis=1)
        each = np.arange(self.size)
        offset = mean[each, place] + rng.standard_normal(self.size) / np.sqrt(precision[each, place])
        noise = self.noise[place] * np.exp(self.own) + self.rounding
        self.place = place
        log_evidence = top[:, 0] + np.log(cumulative[:, -1])
        return self.slope[place][self.reviewer], offset[self.reviewer], noise[self.reviewer], log_evidence

    def draw_own(self, x, slope, offset, orders, rng):
        """Draw the log of each reviewer's own noise given her slope and offset; of who only orders, from the prior."""
        if "own" not in self.theta:
            return
        own = np.linspace(-5, 5, OWN_GRID) * self.theta["own"]
        off = np.bincount(self.reviewer, (self.score - offset - slope * x[self.item]) ** 2, self.size)
        variance = self.noise[self.place][:, None] * np.exp(own) + self.rounding
        told = -0.5 * (self.load[:, None] * np.log(variance) + off[:, None] / variance)
        log_density = np.where(orders[:, None], 0.0, told) - 0.5 * (own / self.theta["own"]) ** 2
        cumulative = np.cumsum(np.exp(log_density - log_density.max(axis=1, keepdims=True)), axis=1)
        place = (cumulative < rng.random(self.size)[:, None] * cumulative[:, -1:]).sum(axis=1)
        self.own = own[place] + (rng.random(self.size) - 0.5) * (own[1] - own[0])


class Orderers:
    """Reviewers who only order: all of one load, no equal scores."""

    def __init__(self, reviewer, item, score, users, theta):
        self.load, self.theta = int(users.load[0]), theta
        assert (users.load == self.load).all()
        self.rows = np.lexsort((score, reviewer)).reshape(-1, self.load)
        self.item, self.fresh = item, users.log_density(np.zeros(item.max() + 1), spread=1.0)[0]
        self.fresh = np.log(np.exp(self.fresh).sum(axis=1)) + gammaln(self.load + 1) + np.log(theta["w"])

    def draw(self, x, log_evidence, rng):
        """Draw who only orders, shape (M,), and what they perceive, shape (E,), in the order of their scores."""
        place, s_r = x[self.item][self.rows], self.theta["s_r"]
        low, high = place.min(axis=1) - 4.5 * s_r, place.max(axis=1) + 4.5 * s_r
        step = ((high - low) / (POINTS - 1))[:, None]
        grid = low[:, None] + step * np.arange(POINTS)
        density = np.exp(-0.5 * ((grid[:, None] - place[:, :, None]) / s_r) ** 2) * (step / s_r)[:, :, None]
        density /= np.sqrt(2 * np.pi)
        # Forwards: mass of the papers up to this one being in order, this one in the cell (half of its own cell below).
        mass = [density[:, 0]]
        for paper in range(1, self.load):
            below = np.cumsum(mass[-1], axis=1) - 0.5 * mass[-1]
            mass.append(density[:, paper] * below)
        log_order = self.fresh + np.log(mass[-1].sum(axis=1))
        log_scale = np.log1p(-self.theta["w"]) + log_evidence
        orders = rng.random(len(grid)) < 1 / (1 + np.exp(log_scale - log_order))
        # Backwards: each paper below the next.
        perceived, top = np.empty(self.item.size), np.full(len(grid), POINTS)
        for paper in reversed(range(self.load)):
            weight = mass[paper] * np.where(np.arange(POINTS) == top[:, None], 0.5, np.arange(POINTS) < top[:, None])
            cumulative = np.cumsum(weight, axis=1)
            top = (cumulative < rng.random(len(grid))[:, None] * cumulative[:, -1:]).sum(axis=1)
            drawn = low + step[:, 0] * (top + rng.random(len(grid)) - 0.5)
            perceived[self.rows[:, paper]] = drawn
        return orders, perceived

"""The model of :mod:`lsc.inference.model` by Gibbs sampling: slow, and exact but for the noise of sampling.

Reviewers who use the scale, hyperparameters given. The slope of a reviewer is drawn from its conditional distribution
on a fine grid, her offset integrated out.
"""

from __future__ import annotations

import numpy as np

GRID = 81


def sample(reviewer, item, score, n_reviewers, n_items, theta, rounding, sweeps, burn_in, rng, kappa=0.0):
    """Draw qualities, shape (sweeps - burn_in, N), in the internal scale; ``score`` is standardised."""
    mu, tau_left, tau_right = theta["mu"], theta["tau_left"], theta["tau_right"]
    g0, g1, omega, nu, rho = (theta[name] for name in ("g0", "g1", "omega", "nu", "rho"))
    z = np.linspace(mu - 6 * tau_left, mu + 6 * tau_right, GRID)
    slope = np.exp(z)
    log_prior = -0.5 * ((z - mu) / np.where(z < mu, tau_left, tau_right)) ** 2
    noise = np.exp(2 * (nu + rho * (z - mu))) + rounding
    load = np.bincount(reviewer, minlength=n_reviewers)
    x, kept = np.zeros(n_items), []
    for sweep in range(sweeps):
        # Slopes: p(y | x, a) is normal with variance s^2 I + omega^2 11' about g0 + g1 a + a x.
        sums = [np.bincount(reviewer, value, n_reviewers) for value in (score, x[item], score**2, score * x[item])]
        sums.append(np.bincount(reviewer, x[item] ** 2, n_reviewers))
        y, sx, yy, xy, xx = (value[:, None] for value in sums)
        centre = g0 + g1 * slope
        linear = y - slope * sx - load[:, None] * centre
        square = yy - 2 * slope * xy + slope**2 * xx - 2 * centre * (y - slope * sx) + load[:, None] * centre**2
        precision = load[:, None] / noise + omega**-2
        log_density = log_prior - 0.5 * (
            (load[:, None] - 1) * np.log(noise)
            + np.log(noise + omega**2 * load[:, None])
            + square / noise
            - (linear / noise) ** 2 / precision
        )
        cumulative = np.cumsum(np.exp(log_density - log_density.max(axis=1, keepdims=True)), axis=1)
        place = (cumulative < rng.random(n_reviewers)[:, None] * cumulative[:, -1:]).sum(axis=1)
        each = np.arange(n_reviewers)
        # Offsets given slopes, and qualities given both.
        offset = centre[place] + (linear / noise / precision)[each, place]
        offset += rng.standard_normal(n_reviewers) / np.sqrt(precision[each, place])
        weight = slope[place][reviewer] / noise[place][reviewer]
        total = 1 - kappa + np.bincount(item, weight * slope[place][reviewer], n_items)
        mean = np.bincount(item, weight * (score - offset[reviewer]), n_items) / total
        x = mean + rng.standard_normal(n_items) / np.sqrt(total)
        if sweep >= burn_in:
            kept.append(x)
    return np.array(kept)

"""What reviews are worth, by integrals."""

from itertools import pairwise

import numpy as np
from scipy import integrate, stats


def misplaced(distance: float, sd: float, precision: float, price: float) -> float:
    """Integrate over the future mean: what a paper out, or in, then costs."""
    left = 1 / (1 / sd**2 + precision)
    moves = np.sqrt(sd**2 - left)

    def cost(mean: float) -> float:
        chance = stats.norm.cdf(mean / np.sqrt(left))
        return (1 - price) * chance if chance < price else price * (1 - chance)

    if precision == 0:
        return cost(distance)
    kink = np.sqrt(left) * stats.norm.ppf(price)
    density = stats.norm(distance, moves).pdf
    low, high = distance - 12 * moves, distance + 12 * moves
    points = sorted({low, min(max(kink, low), high), high})
    return sum(integrate.quad(lambda m: cost(m) * density(m), a, b, limit=200)[0] for a, b in pairwise(points))

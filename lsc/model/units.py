"""Units in which scores and qualities are of the order of one: of a whole programme, or of each of its groups."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lsc.model.programme import Minimiser, Programme
from reviewgraph.labels import IntArray
from reviewgraph.reviews import FloatArray

#: Groups are solved in units of their own where spreads of scores differ so many times, or lie so many of the smaller
#: one apart: below, double precision has digits to spare.
APART = 2.0**10


class Units(NamedTuple):
    """``quality = origin + unit * quality of the programme in these units``."""

    origin: float
    unit: float


def in_units(programme: Programme) -> tuple[Programme, Units]:
    """Return the programme in units in which scores and qualities are of the order of one, and these units.

    The programme does not change when all scores are shifted together, nor, with references moved along, when scores
    and qualities are multiplied by positive numbers; the factors are powers of two, so that multiplying is exact.
    """
    spread = float(np.ptp(programme.score))
    score_unit = _power_of_two(spread)
    slope_unit = _power_of_two(float(np.median(programme.lower)))
    unit = score_unit * slope_unit
    known = programme.reference[programme.is_reference]
    origin = float(known.min()) if known.size else 0.0
    scaled = replace(
        programme,
        score=(programme.score - programme.score.min()) / score_unit,
        lower=programme.lower / slope_unit,
        upper=programme.upper / slope_unit,
        reference=np.where(programme.is_reference, programme.reference - origin, 0.0) / unit,
    )
    return scaled, Units(origin, unit)


def _power_of_two(size: float) -> float:
    return 2.0 ** round(math.log2(size)) if size > 0 else 1.0


class Balance(NamedTuple):
    """Units of each item's group: ``quality = origin + unit * quality of the balanced programme``, shapes (N,).

    Scores are counted from ``low``.
    """

    low: FloatArray
    origin: FloatArray
    unit: FloatArray

    def into(self, programme: Programme) -> Programme:
        """Return the programme with every group in its own units."""
        score = (programme.score - self.low[programme.item]) / self.unit[programme.item]
        reference = np.where(programme.is_reference, programme.reference - self.origin, 0.0) / self.unit
        return replace(programme, score=score, reference=reference)

    def point(self, programme: Programme, quality: FloatArray, perceived: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return qualities and perceived qualities of the programme as written in the units of the groups."""
        place = programme.item
        return (quality - self.origin) / self.unit, (perceived - self.origin[place]) / self.unit[place]

    def out_of(self, programme: Programme, found: Minimiser) -> Minimiser:
        """Return a minimiser of the balanced programme as one of the programme as written."""
        place = programme.item
        noise = self.unit[place] * (found.perceived - found.quality[place])
        return found._replace(
            quality=self.origin + self.unit * found.quality,
            perceived=self.origin[place] + self.unit[place] * found.perceived,
            objective=float(noise @ noise),
        )


def balance_of(programme: Programme, group: IntArray) -> Balance | None:
    """Return units that suit each group of its own; None where one unit suits all.

    What no review connects shares no term of the objective, so each group may be multiplied by a positive number of its
    own. Without this a solver ends where the largest group is accurate, and calls the smallest solved.

    Parameters
    ----------
    programme
        As written.
    group
        The connected component of each item, shape (N,), from 1.
    """
    groups = int(group.max(initial=0))
    if groups < 2:
        return None
    home = group[programme.item] - 1
    low, high, origin = np.full(groups, np.inf), np.full(groups, -np.inf), np.full(groups, np.inf)
    np.minimum.at(low, home, programme.score)
    np.maximum.at(high, home, programme.score)
    spread = np.where(high > low, high - low, 0.0)
    differ = spread[spread > 0.0]
    if not differ.size or np.ptp(programme.score) <= APART * float(differ.min()):
        return None
    known = programme.is_reference
    np.minimum.at(origin, group[known] - 1, programme.reference[known])
    unit = np.array([_power_of_two(size) for size in spread.tolist()])
    own = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(origin), origin, 0.0), unit
    return Balance(*(of_group[group - 1] for of_group in own))


def out_of_units(found: Minimiser, units: Units) -> Minimiser:
    """Return a minimiser in the units of the programme as written."""
    return found._replace(
        quality=units.origin + units.unit * found.quality,
        perceived=units.origin + units.unit * found.perceived,
        objective=units.unit**2 * found.objective,
    )

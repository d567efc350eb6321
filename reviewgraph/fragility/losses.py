"""What a check says of losses: whose loss lowers the level, and how likely levels are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reviewgraph.fragility.fragile import Fragile, fragile
from reviewgraph.fragility.keeping import Keeps, keeps
from reviewgraph.levels import LEVELS

if TYPE_CHECKING:
    from reviewgraph.labels import Label
    from reviewgraph.reviews import Reviews

#: Reviews of a table in which fragile ones are looked for unasked: plain Python takes a fraction of a second.
QUICK = 300


@dataclass(frozen=True, eq=False)
class Losses:
    """What losses would do to a table.

    Parameters
    ----------
    fragile
        Whose loss lowers the highest level that holds; None where it was not looked for.
    keeps
        How likely each level is kept; None where no probability was given.
    """

    fragile: Fragile | None
    keeps: Keeps | None

    def to_dict(self) -> dict[str, Any]:
        """Return what is known, by the keys of the command's ``--json``; None where it was not looked for."""
        return {
            "fragile": None if self.fragile is None else self.fragile.to_dict(),
            "keeps": None if self.keeps is None else self.keeps.to_dict()["levels"],
        }


def losses_of(
    reviews: Reviews,
    level: str | None,
    look: bool | None = None,
    missing: float | Mapping[Label, float] | None = None,
) -> Losses:
    """Look for fragile reviewers and reviews, and simulate losses.

    Parameters
    ----------
    reviews
        Who reviews what.
    level
        The highest level that holds, or None.
    look
        Whether fragile ones are looked for; by default in tables of at most :data:`QUICK` reviews.
    missing
        The probability that a review fails to arrive, as :func:`reviewgraph.keeps` takes it; none by default.
    """
    wanted = reviews.n_reviews <= QUICK if look is None else look
    return Losses(
        fragile(reviews, level or LEVELS[-1].name) if wanted else None,
        None if missing is None else keeps(reviews, missing),
    )

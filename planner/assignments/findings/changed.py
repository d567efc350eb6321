"""What became of a previous assignment, and which pairs lie below a threshold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewgraph.results import Status

if TYPE_CHECKING:
    from reviewgraph.labels import Label


class Reason(Status):
    """Why a pair of the previous assignment is dropped; the first that applies.

    >>> Reason.CONFLICT.text
    'in conflict'
    """

    REVIEWER = "reviewer", "reviewer gone"
    ITEM = "item", "paper gone"
    CONFLICT = "conflict", "in conflict"
    PHASE_ONE = "phase_one", "reviewed in the first phase"
    UNSCORED = "unscored", "without affinity"
    CHOICE = "choice", "by choice"


class Pair(NamedTuple):
    """A reviewer and an item."""

    reviewer: Label
    item: Label

    def to_dict(self) -> dict[str, Any]:
        """Return the labels by name."""
        return self._asdict()


class Dropped(NamedTuple):
    """A pair of the previous assignment that is assigned no more, and why."""

    reviewer: Label
    item: Label
    reason: Reason

    def to_dict(self) -> dict[str, Any]:
        """Return labels and reason by name."""
        return self._asdict()


@dataclass(frozen=True)
class Changes:
    """A previous assignment against the one that replaces it.

    Parameters
    ----------
    kept
        Pairs of both.
    dropped
        Pairs of the previous one alone, each with the reason; ``choice`` where it might have stayed.
    new
        Pairs of this one alone.
    fewest
        New pairs that demands, loads, conflicts, fixed pairs and the threshold make necessary, proved by a flow; None
        where a price was set on a change, or where the level takes more pairs below the threshold than they do.
    """

    kept: tuple[Pair, ...]
    dropped: tuple[Dropped, ...]
    new: tuple[Pair, ...]
    fewest: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as the command's ``--json`` prints them: what is kept is counted."""
        return {
            "kept": len(self.kept),
            "dropped": [pair.to_dict() for pair in self.dropped],
            "new": [pair.to_dict() for pair in self.new],
            "fewest": self.fewest,
        }


class Below(NamedTuple):
    """Pairs assigned although their affinity is below the threshold.

    Parameters
    ----------
    min_affinity
        The threshold.
    pairs
        These pairs, by item.
    fewest
        How many of them demands, loads, conflicts and fixed pairs make necessary, proved by a flow.
    """

    min_affinity: float
    pairs: tuple[Pair, ...]
    fewest: int

    def to_dict(self) -> dict[str, Any]:
        """Return threshold and pairs as the command's ``--json`` prints them."""
        return {
            "min_affinity": self.min_affinity,
            "reviews": [pair.to_dict() for pair in self.pairs],
            "fewest": self.fewest,
        }


class Concerned(NamedTuple):
    """What became of the concerns of a problem.

    Parameters
    ----------
    lost
        Affinity that they cost before any level: the most without them less the most with them.
    changes, below
        The changes of a previous assignment, and the pairs below the threshold; None where not asked for.
    counts
        Number of pairs of each kind that is to be few before any affinity, the first kind first.
    paid
        Affinity that the changed pairs count, where each has a price.
    """

    lost: float = 0.0
    changes: Changes | None = None
    below: Below | None = None
    counts: tuple[int, ...] = ()
    paid: float = 0.0

    def under(self, wider: Concerned) -> Concerned:
        """Return the same with what is proved of a wider problem: fewest pairs, and the affinity lost for them.

        Pairs that only the stricter problem leaves out for want of an affinity are dropped by choice. Where nothing is
        known of the wider problem no changes are proved necessary, and no pairs below the threshold.
        """
        changes, below = self.changes, self.below
        few = 0 if wider.below is None else wider.below.fewest
        if below is not None:
            below = below._replace(fewest=few)
        if changes is not None:
            # Fewest changes are proved among the assignments with fewest pairs below the threshold.
            least = below is None or len(below.pairs) == few
            proved = wider.changes.fewest if wider.changes is not None and least else None
            dropped = (pair._replace(reason=_CHOSEN.get(pair.reason, pair.reason)) for pair in changes.dropped)
            changes = replace(changes, dropped=tuple(dropped), fewest=proved)
        return self._replace(lost=wider.lost, changes=changes, below=below)


#: What the reason of a dropped pair is where pairs without an affinity may be assigned.
_CHOSEN = {Reason.UNSCORED: Reason.CHOICE}

"""Fixed pairs: existing agreements, which are kept and counted whatever limits they exceed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph._base import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reviewgraph._base import BoolArray, IntArray, Label


class Pair(NamedTuple):
    """A reviewer and an item."""

    reviewer: Label
    item: Label


class AboveDemand(NamedTuple):
    """A paper with more fixed pairs than its demand, or its limit of extra reviews."""

    item: Label
    reviews: int
    demand: int


class AboveLoad(NamedTuple):
    """A reviewer with more fixed pairs than their load."""

    reviewer: Label
    reviews: int
    load: int


class Facts(NamedTuple):
    """The fixed pairs, and which limits they exceed.

    Parameters
    ----------
    kept
        Their number.
    conflicts
        Those in conflict: by the conflicts, as meta reviews or by the authors' file.
    crowded
        Those of more reviewers of a paper than a rule allows.
    unwilling
        Those of reviewers who are not among the willing ones.
    below
        Those of affinity below the minimum, or without affinity.
    above_demand, above_load
        Papers with more of them than their demand or limit, and reviewers with more than their load.
    """

    kept: int
    conflicts: tuple[Pair, ...] = ()
    crowded: tuple[Pair, ...] = ()
    unwilling: tuple[Pair, ...] = ()
    below: tuple[Pair, ...] = ()
    above_demand: tuple[AboveDemand, ...] = ()
    above_load: tuple[AboveLoad, ...] = ()

    def named(self) -> dict[str, list[str]]:
        """Return what exceeds each limit, by the words for the limit."""
        pairs = {
            "a conflict": self.conflicts,
            "a rule": self.crowded,
            "the willing reviewers": self.unwilling,
            "the minimum affinity": self.below,
        }
        named = {limit: [f"{who} for {what}" for who, what in exceeding] for limit, exceeding in pairs.items()}
        named["a demand"] = [f"{item} has {reviews} of {demand}" for item, reviews, demand in self.above_demand]
        named["a load"] = [f"{reviewer} has {reviews} of {load}" for reviewer, reviews, load in self.above_load]
        return named

    def warnings(self) -> list[str]:
        """Return a sentence on each limit that is exceeded."""
        return [f"Fixed against {limit}, and kept: {listed(names)}." for limit, names in self.named().items() if names]

    def to_dict(self) -> dict[str, Any]:
        """Return them as the commands' ``--json`` prints them."""
        exceeding = {name: [entry._asdict() for entry in getattr(self, name)] for name in self._fields[1:]}
        return {"kept": self.kept, **exceeding}


def facts_of(
    pairs: IntArray,
    against: Mapping[str, BoolArray],
    limits: tuple[IntArray, IntArray],
    labels: tuple[Sequence[Label], Sequence[Label]],
) -> Facts | None:
    """Return which limits fixed pairs, shape (F, 2), exceed; None without any.

    ``against`` tells which pairs are against each limit on single pairs, shape (F,). ``limits`` are the loads (M,) and
    the limits of items (N,), ``labels`` the reviewers and the items.
    """
    if not len(pairs):
        return None
    reviewers, items = labels
    named = {
        name: tuple(Pair(reviewers[j], items[i]) for j, i in pairs[exceeds].tolist())
        for name, exceeds in against.items()
    }
    return Facts(
        len(pairs),
        **named,
        above_load=tuple(map(AboveLoad._make, _above(pairs[:, 0], limits[0], reviewers))),
        above_demand=tuple(map(AboveDemand._make, _above(pairs[:, 1], limits[1], items))),
    )


def _above(codes: IntArray, limit: IntArray, labels: Sequence[Label]) -> Iterator[tuple[Label, int, int]]:
    """Yield the labels with more fixed pairs than their limit, these numbers, and the limits."""
    count = np.bincount(codes, minlength=limit.size)
    for code in np.flatnonzero(count > limit).tolist():
        yield labels[code], int(count[code]), int(limit[code])

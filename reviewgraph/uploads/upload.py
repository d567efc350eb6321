"""What goes out, and what a way to write it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewgraph.errors import InputError
from reviewgraph.words import listed

if TYPE_CHECKING:
    from reviewgraph.labels import Label

#: What every system that knows people by their email takes for one.
EMAIL = re.compile(r"[^\s@,;:<>\"'*#]+@[^\s@,;:<>\"'*#]+")


@dataclass(frozen=True)
class Outgoing:
    """Reviews to be written for a conference system.

    Parameters
    ----------
    columns
        The reviews as a table: ``item``, ``reviewer`` and what else is known of each.
    titles
        Titles of items, where they are known.
    weights
        A number for each review, such as an affinity; None where there is none.
    helps
        What the reviews help to do, where their reviewers are asked for them; None where they are assigned.
    settled
        Pairs of a reviewer and an item about which nobody has to be written to.
    label
        Name of this run: the label of OpenReview's edges, the round of HotCRP's reviews; None for the system's own.
    invitation
        Of OpenReview's edges; left out where it is None.
    people
        Everybody who is known, for systems that find people by a search; by default those of the reviews.
    outsiders
        Those of them who are known not to be of the committee.
    """

    columns: Mapping[str, Sequence[Any]]
    titles: Mapping[Label, str] = field(default_factory=dict)
    weights: Sequence[float] | None = None
    helps: str | None = None
    settled: Collection[tuple[Label, Label]] = ()
    label: str | None = None
    invitation: str | None = None
    people: Collection[Label] = ()
    outsiders: Collection[Label] = ()

    @property
    def pairs(self) -> list[tuple[Label, Label]]:
        """Reviewer and item of each review."""
        return list(zip(self.columns["reviewer"], self.columns["item"], strict=True))

    def by_item(self) -> dict[Label, list[Label]]:
        """Reviewers of each item, in the order in which they come."""
        found: dict[Label, list[Label]] = {}
        for reviewer, item in self.pairs:
            found.setdefault(item, []).append(reviewer)
        return found

    def part(self, rows: Sequence[int]) -> Outgoing:
        """Return some of the reviews."""
        columns = {name: [column[row] for row in rows] for name, column in self.columns.items()}
        weights = None if self.weights is None else [self.weights[row] for row in rows]
        return replace(self, columns=columns, weights=weights)


class Accepted(NamedTuple):
    """Which labels a system takes: those that fit; what they are, and what to do about others."""

    fits: Callable[[str], object]
    words: str
    remedy: str


#: Any labels.
ANY = Accepted(lambda label: True, "labels", "")


@dataclass(frozen=True)
class Upload:
    """A way to write reviews.

    Parameters
    ----------
    name
        What ``--to`` calls it.
    words
        Who takes it, for people.
    suffix
        How the name of such a file ends.
    write
        Makes the text of the file.
    options
        Fields of :class:`Outgoing` that the user may set and that this file has a place for.
    read_back
        Whether ``check`` reads such a file; true by default.
    reviewers, items
        Which labels it takes; any by default.
    advice
        What people have to know before they hand such a file over, by the parameter of a command that settles it; what
        none settles by an empty name.
    """

    name: str
    words: str
    suffix: str
    write: Callable[[Outgoing], str]
    options: frozenset[str] = frozenset()
    read_back: bool = True
    reviewers: Accepted = ANY
    items: Accepted = ANY
    advice: Mapping[str, str] = field(default_factory=dict)

    def parted(self, outgoing: Outgoing) -> tuple[Outgoing, list[tuple[Label, Label]]]:
        """Return the reviews whose labels are taken, and the pairs of reviewer and item of the others."""
        taken = [bool(self.reviewers.fits(str(who)) and self.items.fits(str(what))) for who, what in outgoing.pairs]
        left = [pair for pair, here in zip(outgoing.pairs, taken, strict=True) if not here]
        return outgoing.part([row for row, here in enumerate(taken) if here]) if left else outgoing, left

    def expect_taken(self, outgoing: Outgoing) -> None:
        """Refuse labels that the system would not take, or take for something else.

        Raises
        ------
        InputError
            With how many they are and the first of them.
        """
        for role, accepted in (("reviewer", self.reviewers), ("item", self.items)):
            expect(accepted.fits, outgoing.columns[role], self.name, accepted.words, accepted.remedy)


def expect(fits: Callable[[str], object], labels: Iterable[Label], system: str, wanted: str, remedy: str) -> None:
    """Refuse labels that a system would not take, or take for something else.

    Raises
    ------
    InputError
        With how many they are and the first of them.

    Examples
    --------
    >>> expect(EMAIL.fullmatch, ["ann@example.org"], "HotCRP", "email addresses", "")
    """
    unfit = [label for label in dict.fromkeys(map(str, labels)) if not fits(label)]
    if unfit:
        message = f"to {system}: expected {wanted}, found {len(unfit)} other: {listed(unfit, 3)}; {remedy}"
        raise InputError(message)


def emails(system: str) -> Accepted:
    """Return that a system knows reviewers by their email."""
    remedy = f"name reviewers by the email that {system} knows them by, or write another form, such as --to csv"
    return Accepted(EMAIL.fullmatch, "email addresses of reviewers", remedy)

"""What a conference system is: the files that it hands out, which are read, and the one that it takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from reviewgraph.columns import Unlisted
from reviewgraph.errors import InputError
from reviewgraph.formats.headers import normalise
from reviewgraph.formats.tables import Table
from reviewgraph.words import listed

if TYPE_CHECKING:
    from reviewgraph.labels import Label

#: Why rows are left out, whichever file says so of their papers or of them.
OUT = "of papers that are withdrawn, rejected without review or not submitted"
META = "of meta reviews"

#: What a file can serve for, and the further kinds that do as well; ``names`` tells who stands behind an alias.
ACCEPTED = {
    "reviews": ("reviews", "assignments", "names"),
    "assignments": ("assignments", "reviews"),
    "papers": ("papers",),
    "reviewers": ("reviewers",),
    "conflicts": ("conflicts",),
    "bids": ("bids",),
    "affinities": ("affinities",),
    "authors": ("authors",),
}


class Rule(NamedTuple):
    """Which rows count: those whose cell in the first column of a name passes.

    Parameters
    ----------
    column
        The name of the column; a table without it keeps all its rows.
    keeps
        Whether a cell lets its row count.
    why
        What is said of the rows left out: "rows left out, whose action assigns no review". By default nothing: they
        are no odd ones, but what else the file is for.
    means
        What a row left out says of its paper, a field of :class:`~reviewgraph.formats.tables.Aside`: by default that
        it is one, where its export lists papers.
    """

    column: str
    keeps: Callable[[str], bool]
    why: str = ""
    means: Literal["listed", "out", "unseen", "meta"] = "listed"


@dataclass(frozen=True, eq=False)
class Use:
    """Something a file serves for.

    Parameters
    ----------
    kind
        One of :data:`ACCEPTED`.
    columns
        The name of the column by role, where the usual names would not find it; the first that is there counts.
    rules
        Which rows count.
    choices
        Names of columns by role of which a person has to choose one, where several are there.
    find
        Returns such names for one table, where they are not always the same.
    reshape
        Makes the table that is read of the one in the file, where they are not the same.
    members
        The rows whose reviewers are of the committee, where it says of some.
    tells
        Whether reviewers without such a row are not of it.
    """

    kind: str
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rules: Sequence[Rule] = ()
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    find: Callable[[Table], Mapping[str, Sequence[str]]] | None = None
    reshape: Callable[[Table], Table] | None = None
    members: Rule | None = None
    tells: bool = False


@dataclass(frozen=True, eq=False)
class Export:
    """One kind of file that a system hands out.

    Parameters
    ----------
    what
        What messages call it.
    uses
        What it serves for, its own purpose first; nothing where it is known only to be told from others.
    needs
        Normalised names of columns by which a table is recognised, as regular expressions: each stands in its header.
    lacks
        Names that it does not have.
    container
        What it is found in: "table", "json", "xml", "folder", or "lines", a text without a header.
    extract
        Makes a table of the container, or returns None where it is something else; a table with a header serves as it
        is by default.
    say
        What a person should know about it.
    extras
        Normalised names of columns that hold no score, beside those of the roles.
    lists
        The papers that it lists in rows that are no reviews, as a regular expression; they are papers all the same. By
        default it lists none.
    unlisted
        Which papers cannot be in it; None by default.
    lenient
        Whether its rows leave out empty cells at their ends, or have blanks before cells.
    shy
        Other tables look like it, so that it is recognised only where its system is named, or, if this is "kind",
        where just what it serves for is wanted; "" where nothing else looks like it.
    system
        The name of the system, which its class fills in.
    """

    what: str
    uses: Sequence[Use]
    needs: Collection[str] = ()
    lacks: Collection[str] = ()
    container: str = "table"
    extract: Callable[[str, Any], Table | None] | None = None
    say: str = ""
    extras: Collection[str] = ()
    lists: str = ""
    unlisted: Unlisted | None = None
    lenient: bool = False
    shy: Literal["", "kind", "name"] = ""
    system: str = ""

    def fits(self, header: Sequence[str]) -> bool:
        """Return whether a header has all that it needs and nothing that it lacks."""
        present = set(map(normalise, header))
        found = (any(map(re.compile(name).fullmatch, present)) for name in self.needs)
        return all(found) and not present & set(self.lacks)

    def use(self, kind: str | None) -> Use | None:
        """Return what serves for a kind, the best first; its own purpose where no kind is given."""
        if kind is None:
            return next(iter(self.uses), None)
        by_kind = {use.kind: use for use in self.uses}
        return next((by_kind[accepted] for accepted in ACCEPTED[kind] if accepted in by_kind), None)


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


class System:
    """A conference system, or whoever else hands out tables of reviews or takes them.

    A subclass says its name, and then what it hands out, what it takes, or both; an instance of it in
    :data:`reviewgraph.formats.systems.known.SYSTEMS` is all that commands, help and messages need.
    """

    #: What ``--format`` and ``--to`` call it.
    name: ClassVar[str]
    #: What messages call it.
    title: ClassVar[str] = ""
    #: The files that it hands out, the more particular before the more general.
    exports: ClassVar[Sequence[Export]] = ()
    #: The file that it takes, for people; empty where it takes none.
    words: ClassVar[str] = ""
    #: How the name of such a file ends.
    suffix: ClassVar[str] = ".csv"
    #: Fields of :class:`Outgoing` that the user may set and that this file has a place for.
    options: ClassVar[Collection[str]] = ()
    #: Whether ``check`` reads such a file.
    read_back: ClassVar[bool] = True
    #: Which labels it takes.
    reviewers: ClassVar[Accepted] = ANY
    items: ClassVar[Accepted] = ANY
    #: What people have to know before they hand such a file over, by the parameter of a command that settles it; what
    #: none settles by an empty name.
    advice: ClassVar[Mapping[str, str]] = {}
    #: What it takes of qualities and lists, for people; empty where it takes none.
    results: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        cls.exports = tuple(replace(export, system=cls.name) for export in cls.exports)

    def write(self, outgoing: Outgoing) -> str:
        """Return the text of the file that it takes.

        Raises
        ------
        InputError
            If it would not take a label, or take it for something else.
        """
        raise NotImplementedError

    def write_results(self, columns: Mapping[str, Sequence[Any]]) -> str:
        """Return the text of the file of qualities and lists that it takes, from the columns of ``calibrate``."""
        raise NotImplementedError

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

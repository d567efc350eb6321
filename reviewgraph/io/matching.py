"""Labels of side tables, matched with those of the reviews.

Where no row matches the table is refused. Where some rows do not match a warning counts them, with examples and, where
letter case, or exchanged columns explain it, the explanation; labels that differ from a known one in
leading zeros and the like are refused. Conflicts that match nobody are refused unless something explains them, because
a lost one does harm. Each distinct label is processed once.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import nsmallest
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from reviewgraph._base.arrays import BoolArray, IntArray
from reviewgraph._base.errors import InputError, LabelWarning, warn
from reviewgraph._base.labels import Label, as_text, identity, loose_identity, natural_key
from reviewgraph._base.text import counted, noun
from reviewgraph.formats.columns import Columns
from reviewgraph.formats.files import quote
from reviewgraph.formats.spellings import Spellings

#: Policy for rows with unknown labels where other rows match: by default a warning; ``refused`` if all must match;
#: ``asked`` if all must match whose labels nothing explains; ``expected`` and ``new`` for no message, except about
#: labels that are probably a known one in another spelling. A table without any match is refused except with ``new``.
Unknown: TypeAlias = Literal["left out", "refused", "asked", "expected", "new"]
#: Labels per role in a message.
EXAMPLES = 3
#: The table of known labels in messages.
REVIEWS = "the reviews"

#: The place of a number in the labels of a series.
SERIES = "#"
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"^[^\W\d_]+-?(?=\d+$)")
#: How to accept labels of nobody.
ACCEPT = (
    "correct the labels; if these are nobody here, add --merge none, which leaves such rows out and keeps apart all "
    'labels that differ (in Python merge="none")'
)
#: How to keep labels apart that are alike.
APART = '; if they are two, add --merge none (in Python merge="none")'


class Side(NamedTuple):
    """A column of labels, ``labels[codes[row]]``."""

    role: str  # ``reviewer`` or ``paper``
    codes: IntArray
    labels: Sequence[Label]
    known: Mapping[Label, int]  # Codes of the known labels of this role
    other: Mapping[Label, int]  # Codes of the known labels of the other role, which may be here by mistake

    def matched(self) -> IntArray:
        """Return the known code of each row, -1 where its label is unknown."""
        return codes_among(self.labels, self.known)[self.codes]


class Likeness(NamedTuple):
    """A form that different labels of the same meaning may have in common, and words for it."""

    form: Callable[[Label], str]
    words: str
    refused: bool = False  # Whether labels that are alike so are refused, however few
    known: Callable[[Label], str] | None = None  # The form of known labels, where it is another

    def of_known(self, labels: Iterable[Label]) -> dict[str, Label]:
        """Return known labels by their form."""
        form = self.known or self.form
        return {form(label): label for label in labels}


def _loosely(label: Label) -> str:
    """Return a label without what tools change: leading zeros, a final .0, the signs between its words."""
    text = as_text(label)
    return text if "@" in text else loose_identity(text, case=True)


def _number(label: Label) -> str:
    """Return the number of a label such as P1 or Paper 1, and any other label loosely."""
    return _LETTERS.sub("", _loosely(label))


_PREFIXES = "if the letters before numbers are left out"

LIKENESSES = (
    Likeness(as_text, "as text only, for one is a number and the other the text of its digits", refused=True),
    Likeness(_loosely, "if leading zeros, a final .0 and signs are ignored", refused=True),
    Likeness(_number, _PREFIXES, refused=True, known=_loosely),
    Likeness(_loosely, _PREFIXES, refused=True, known=_number),
    Likeness(identity, "if letter case and blanks are ignored"),
    Likeness(lambda label: as_text(label).partition("@")[0], "if what follows @ is left out"),
)


def codes_among(labels: Sequence[Label], known: Iterable[Label]) -> IntArray:
    """Return the code of each label among known ones, -1 for unknown ones."""
    code = _numbered(known)
    return np.fromiter((code.get(label, -1) for label in labels), np.int64, len(labels))


def pairs_among(pairs: Columns, reviewers: Iterable[Label], items: Iterable[Label]) -> tuple[IntArray, IntArray]:
    """Return the codes of those pairs whose labels are both known."""
    reviewer = codes_among(pairs.reviewers, reviewers)[pairs.reviewer]
    item = codes_among(pairs.items, items)[pairs.item]
    known = (reviewer >= 0) & (item >= 0)
    return reviewer[known], item[known]


def match_pairs(
    pairs: Columns,
    reviewers: Iterable[Label],
    items: Iterable[Label],
    name: str,
    *,
    unknown: Unknown = "left out",
    where: str = REVIEWS,
    spellings: Spellings | None = None,
    explained: Collection[Label] = (),
) -> tuple[IntArray, IntArray]:
    """Return reviewer and item code of each pair among known labels, -1 where one is unknown.

    Messages call the pairs ``name`` and the table of known labels ``where``. With ``asked`` unknown labels may be those
    that the pairs' file explains, further ones that are ``explained``, and those that the user of ``spellings`` keeps.
    """
    if not pairs.reviewer.size:
        return pairs.reviewer, pairs.item
    people = _numbered(reviewers)
    papers = _numbered(items)
    sides = (
        Side("reviewer", pairs.reviewer, pairs.reviewers, people, papers),
        Side("paper", pairs.item, pairs.items, papers, people),
    )
    reviewer, item = (side.matched() for side in sides)
    mismatch = Mismatch(name, "pair", sides, (reviewer < 0) | (item < 0), where)
    # What the file itself explains may be another conference.
    excused = bool(explained) and not mismatch.without(lambda side: {*explained}.__contains__).missed
    if not excused:
        _judge(mismatch, unknown, spellings, frozenset([*pairs.origin.known, *explained]))
    return reviewer, item


def are_asked_about(
    pairs: Columns, reviewers: Iterable[Label], items: Iterable[Label], spellings: Spellings | None = None
) -> bool:
    """Return whether some conflicts match nobody, so that a plan with them is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            match_pairs(pairs, reviewers, items, "conflicts", unknown="asked", spellings=spellings)
        except InputError:
            return True
    return False


def match_labels(
    labels: Sequence[Label],
    known: Iterable[Label],
    name: str,
    role: str,
    *,
    other: Iterable[Label] = (),
    unknown: Unknown = "left out",
    where: str = REVIEWS,
    spellings: Spellings | None = None,
) -> IntArray:
    """Return the code of each label among known ones, -1 where it is unknown; refuses and warns as for pairs.

    ``role`` is ``reviewer`` or ``paper``; ``other`` are the known labels of the other role.
    """
    side = Side(role, np.arange(len(labels)), labels, _numbered(known), _numbered(other))
    code = side.matched()
    _judge(Mismatch(name, role, (side,), code < 0, where), unknown, spellings)
    return code


def own_pairs(
    authors: Columns,
    reviewers: Sequence[Label],
    items: Sequence[Label],
    *,
    where: str = REVIEWS,
    spellings: Spellings | None = None,
    for_attributes: bool = False,
) -> tuple[IntArray, IntArray]:
    """Return reviewer and item code of each pair of an author and a paper whose labels are both known.

    Most authors review nothing. Some author has to be a reviewer, unless the pairs are also there ``for_attributes`` of
    papers, such as the affiliations of their authors.
    """
    unknown: Unknown = "new" if for_attributes else "expected"
    people = match_labels(
        authors.reviewers, reviewers, "authors", "author", unknown=unknown, where=where, spellings=spellings
    )
    papers = match_labels(
        authors.items, items, "authors", "paper", unknown="expected", where=where, spellings=spellings
    )
    reviewer = people[authors.reviewer]
    item = papers[authors.item]
    known = (reviewer >= 0) & (item >= 0)
    return reviewer[known], item[known]


def resemblance(labels: Sequence[Label], known: Iterable[Label], role: str) -> str:
    """Return the explanation of most of the unknown labels, or nothing."""
    side = Side(role, np.arange(len(labels)), labels, _numbered(known), {})
    words, _ = Mismatch("", role, (side,), side.matched() < 0, "").explanation()
    return words.removeprefix("; ")


def _numbered(known: Iterable[Label]) -> Mapping[Label, int]:
    return {label: code for code, label in enumerate(known)}


@dataclass(frozen=True)
class Mismatch:
    """Rows with unknown labels, one ``kind`` each, in a file or argument."""

    name: str  # The file or argument
    kind: str  # What a row is: a pair, reviewer or paper
    sides: tuple[Side, ...]  # The columns
    unknown: BoolArray  # Shape (rows,): whether a label is unknown
    where: str  # The table of known labels

    @property
    def missed(self) -> int:
        """Rows with an unknown label."""
        return int(self.unknown.sum())

    def count_words(self) -> str:
        """Return the number of rows with an unknown label, in words."""
        size = self.unknown.size
        none = self.missed == size
        several = "none" if none else f"{self.missed:,}"
        who = f"{several} of {counted(size, self.kind)}" if size > 1 else f"the {self.kind}"
        singular = none or self.missed == 1
        none = none and size > 1
        if len(self.sides) == 1:
            return f"{who} {'is' if singular else 'are'} {'' if none else 'not '}in {self.where}"
        if none:
            return f"{who} names a reviewer and a paper of {self.where}"
        return f"{who} {'names' if singular else 'name'} a reviewer or paper that is not in {self.where}"

    def examples(self) -> str:
        """Return the first unknown labels of each role."""
        return "; ".join(
            f"{noun(len(labels), side.role)} {', '.join(map(quote, labels))}"
            for side in self.sides
            if (labels := nsmallest(EXAMPLES, self.strangers(side), key=natural_key))
        )

    def strangers(self, side: Side) -> list[Label]:
        """Return the distinct unknown labels of a column."""
        used = np.flatnonzero(np.bincount(side.codes[self.unknown], minlength=len(side.labels)))
        labels = dict.fromkeys(side.labels[code] for code in used.tolist())
        return [label for label in labels if label not in side.known]

    def explanation(self) -> tuple[str, bool]:
        """Return the explanation of most of the rows, and whether rows that it explains are refused."""
        explained = [(self._alike(likeness), likeness) for likeness in LIKENESSES]
        (rows, example), likeness = max(
            explained, key=lambda entry: (entry[1].refused and entry[0][0] > 0, entry[0][0])
        )
        exchanged = self._exchanged()
        if exchanged > rows:
            exchange = f"as {'papers' if self.kind == 'reviewer' else 'reviewers'}: expected {self.kind}s here"
            if len(self.sides) > 1:
                exchange = "if reviewers and papers are exchanged: exchange the names of the two columns"
            return f"; {exchanged:,} of {self.missed:,} match {exchange}", False
        if rows:
            return f"; {rows:,} of {self.missed:,} match {likeness.words}: {example}", likeness.refused
        return "", False

    def without(self, may_be_unknown: Callable[[Side], Callable[[Label], bool]]) -> Mismatch:
        """Return the same for the rows none of whose unknown labels may be unknown."""
        rows = self.unknown.copy()
        for side in self.sides:
            frees = may_be_unknown(side)
            free = [label not in side.known and frees(label) for label in side.labels]
            rows &= ~np.array(free, np.bool_)[side.codes]
        return replace(self, unknown=rows)

    def _alike(self, likeness: Likeness) -> tuple[int, str]:
        explained = np.ones(self.unknown.size, np.bool_)
        examples = []
        for side in self.sides:
            known_as = likeness.of_known(side.known)
            like = {label: known_as.get(likeness.form(label)) for label in self.strangers(side)}
            good = np.array([label not in like or like[label] is not None for label in side.labels], np.bool_)
            explained &= good[side.codes]
            examples += [(label, known) for label, known in like.items() if known is not None]
        rows = int((explained & self.unknown).sum())
        first = min(examples, key=lambda pair: natural_key(pair[0])) if rows else ("", "")
        return rows, f"write {quote(first[0])} as {quote(first[1])}"

    def _exchanged(self) -> int:
        """Return the number of rows that match if reviewers are read as papers, and papers as reviewers.

        Columns are exchanged for all rows or for none, and numbers may be labels of both roles: the explanation
        requires that no row matches.
        """
        if not self.unknown.all():
            return 0
        exchanged = [codes_among(side.labels, side.other)[side.codes] >= 0 for side in self.sides]
        return int((np.all(exchanged, axis=0) & self.unknown).sum())


def _shape(label: Label) -> str:
    """Return a label, without letter case and blanks, with its numbers replaced by a mark."""
    return _DIGITS.sub(SERIES, identity(label))


def _explained(explained: Collection[Label], *, series: bool) -> Callable[[Side], Callable[[Label], bool]]:
    """Return which labels of a column may be unknown: those of its file that are like no known one.

    With ``series`` also further ones of a series, such as p12 or P12 where p1 to p9 are known.
    """

    def of_side(side: Side) -> Callable[[Label], bool]:
        close = [likeness for likeness in LIKENESSES if likeness.refused or likeness.form is identity]
        forms = [(likeness.form, likeness.of_known(side.known)) for likeness in close]
        shapes = {shape for label in side.known if SERIES in (shape := _shape(label))} if series else set()
        return lambda label: (
            (label in explained or _shape(label) in shapes)
            and not any(form(label) in known_as for form, known_as in forms)
        )

    return of_side


def _kept_apart(merge: Any, label: Label) -> bool:
    """Whether the user says that a label is one of its own."""
    return merge == "none" or (isinstance(merge, Mapping) and merge.get(label) == label)


def _judge(
    mismatch: Mismatch, unknown: Unknown, spellings: Spellings | None = None, explained: Collection[Label] = ()
) -> None:
    """Refuse, or warn about, rows that do not match."""
    if not mismatch.missed:
        return
    size = mismatch.unknown.size
    quiet = unknown in ("expected", "new")
    # What the user has settled needs no explanation.
    merge = None if spellings is None else spellings.merge
    unsettled = mismatch.without(lambda side: partial(_kept_apart, merge)) if merge else mismatch
    if unknown == "asked":
        # A file most of whose rows match nobody may number the papers in another way.
        lost = unsettled.without(_explained(explained, series=2 * mismatch.missed <= size))
        # Conflicts alone may all be of nobody.
        if lost.missed or unsettled.missed == size:
            shown = lost if lost.missed else mismatch
            why = shown.explanation()[0]
            raise InputError(f"{shown.name}: {shown.count_words()} ({shown.examples()}){why}; {ACCEPT}")
    why, by_form = unsettled.explanation()
    nothing = mismatch.missed == size and unknown != "asked"
    if by_form and unknown != "refused" and spellings is not None:
        why += APART
    if quiet and not why and not (nothing and unknown == "expected"):
        return
    if nothing or by_form or unknown == "refused":
        message = f"{mismatch.name}: {mismatch.count_words()} ({mismatch.examples()}){why or '; correct the names'}"
        raise InputError(message)
    fate = "" if quiet else "; left out"
    warn(f"{mismatch.name}: {mismatch.count_words()}{fate} ({mismatch.examples()}){why}", LabelWarning)

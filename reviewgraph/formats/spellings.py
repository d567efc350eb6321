"""One spelling per person and paper: similar labels are joined, or refused with a question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np

from reviewgraph._base.arrays import IntArray
from reviewgraph._base.errors import InputError, LabelWarning, warn
from reviewgraph._base.labels import (
    Label,
    Whole,
    are_numbered,
    encode,
    identity,
    is_null,
    loose_identity,
    natural_key,
    near_labels,
)
from reviewgraph._base.text import counted, shortened
from reviewgraph.formats.columns import Columns
from reviewgraph.formats.files import LISTED, Note, quote
from reviewgraph.formats.tables import Aside, Column, recoded

#: Whether similar labels are one.
Merge: TypeAlias = "Literal['all', 'none'] | Mapping[Any, Any] | Spellings"

PERSON = "reviewer"
PAPER = "paper"
#: How to decide whether labels are one: in Python, and on the command line.
BY_ARGUMENT = (
    'The argument merge of read_reviews, Reviews and assign decides: "all" makes such '
    'labels one, spelled as the second; "none" keeps them apart; {label: as} says which become which'
)
BY_OPTION = (
    "Say --merge all to join such labels, each spelled as the second, --merge none to keep them apart, or --merge "
    "FILE, a table label,as that says which"
)


class Spellings:
    """The first spelling of each reviewer and paper, shared by all tables of one command or call.

    Labels are similar if they differ only in letter case, blanks, invisible characters or Unicode form, or are a number
    and its digits as text. Similar addresses are one, and a note counts them. Other similar labels may still be two
    people or papers: ``merge`` decides (``"all"`` joins them, ``"none"`` keeps them apart, a mapping gives the label
    that each becomes), otherwise they are refused with the advice ``ask``. ``known`` are earlier labels by role.
    """

    def __init__(
        self, merge: Merge | None = None, known: Mapping[str, Collection[Label]] | None = None, ask: str = BY_ARGUMENT
    ) -> None:
        if isinstance(merge, Spellings):
            merge = merge.merge
        named: Mapping[Any, Any] = merge if isinstance(merge, Mapping) else {}
        labels = all(label.__hash__ is not None and not is_null(label) for label in named.values())
        words = isinstance(merge, str) and merge in ("all", "none")
        if not (merge is None or words or (isinstance(merge, Mapping) and labels)):
            message = f'merge: expected "all", "none" or a mapping {{label: as}}, found {shortened(repr(merge))}'
            raise InputError(message)
        chain = next((label for label in named.values() if named.get(label, label) != label), None)
        if chain is not None:
            message = f"merge: labels become {quote(chain)}, which becomes {quote(named[chain])}; say the last for all"
            raise InputError(message)
        self.merge: Literal["all", "none"] | Mapping[Any, Any] | None = merge
        #: The label that each becomes, as the user says.
        self.named = named
        self.ask = ask
        self._known: dict[str, Collection[Label]] = dict(known or {})
        self._first: dict[str, dict[str, Label]] = {}

    @classmethod
    def of(cls, merge: Merge | None) -> Spellings:
        return merge if isinstance(merge, Spellings) else cls(merge)

    def known(self, role: str) -> Collection[Label]:
        return self._known.get(role, ())

    def respelled(
        self,
        labels: Sequence[Any],
        role: str,
        name: str,
        note: Note | None = None,
        place: Callable[[int], str] = "row {}".format,
    ) -> list[Any]:
        """Return labels in their first spellings, similar ones joined; null labels and undecided ones raise InputError.

        ``place`` names the row of a label in messages; ``note`` is called with the changes, by default it warns.
        """
        known = self._known.get(role, ())
        texts = set(map(type, labels)) == {str}
        if known and not texts:  # equal numbers are one label, whatever their type
            known_label = {label: label for label in known}
            labels = [known_label.get(label, label) for label in labels]
        if all(map(known.__contains__, labels)) or (texts and not self.named and self._all_new(labels, role)):
            return list(labels)
        distinct = {_typed(label): label for label in labels}
        null = next((at for at, label in enumerate(labels) if is_null(label)), None)
        if null is not None:
            raise InputError(f"{name}: expected one {role} in every row, found {labels[null]!r} in {place(null)}")
        meant = {key: self.named.get(label, label) for key, label in distinct.items()}
        joined = self._joined({_typed(label): label for label in meant.values()}, role)
        spelled = {key: joined.get(_typed(label), label) for key, label in meant.items()}
        changed = [(label, spelled[key]) for key, label in distinct.items() if _typed(spelled[key]) != key]
        if changed:
            self._judge(changed, role, name, note or (lambda message: warn(message, LabelWarning)))
        self._known[role] = {*known, *spelled.values()}
        return [spelled[_typed(label)] for label in labels] if changed else list(labels)

    def without_near(self, labels: Sequence[Any], role: str, name: str) -> Sequence[Any]:
        """Return labels in which none is another's up to leading zeros, separators and look-alikes, or ask."""
        if self.merge == "none" or are_numbered(labels):
            return labels
        decided = {*self.named, *self.named.values()}
        distinct = list({_typed(label): label for label in labels}.values())
        groups = [
            [label for label in group if label not in decided] for group in near_labels(distinct, people=role == PERSON)
        ]
        groups = [group for group in groups if len(group) > 1]
        if not groups:
            return labels
        if self.merge == "all":
            first = {_typed(label): group[0] for group in groups for label in group}
            return [first.get(_typed(label), label) for label in labels]
        return self._refuse([(group[1], group[0]) for group in groups], role, name)

    def _refuse(self, pairs: Sequence[tuple[Label, Label]], role: str, name: str) -> NoReturn:
        lines = [f"{quote(label)} and {quote(like)} differ in {_how(label, like)}" for label, like in pairs[:LISTED]]
        if len(pairs) > LISTED:
            lines.append(f"... and {len(pairs) - LISTED:,} more")
        if len(pairs) > 1:
            message = "\n".join([*lines, f"Each one {role} or two? {self.ask}"])
        else:
            message = f"{lines[0]}. One {role} or two? {self.ask}"
        raise InputError(f"{name}: {message}")

    def _index(self, role: str) -> dict[str, Label]:
        if role not in self._first:
            self._first[role] = {identity(label): label for label in reversed([*self._known.get(role, ())])}
        return self._first[role]

    def _all_new(self, texts: Sequence[str], role: str) -> bool:
        """Whether no two labels are similar, nor one to a known label; then all become known. The usual case, fast."""
        first = self._index(role)
        new = dict(zip(map(identity, texts), texts, strict=True))
        fresh = len(new) == len(set(texts)) and "" not in new and first.keys().isdisjoint(new)
        if fresh:
            first.update(new)
            self._known[role] = {*self._known.get(role, ()), *texts}
        return fresh

    def _joined(self, labels: Mapping[Any, Label], role: str) -> dict[Any, Label]:
        """Return the first spelling of similar labels, except of those to be kept apart."""
        known = self._known.get(role, ())
        first = self._index(role)
        alike = dict[str, list[Label]]()
        for label in labels.values():
            alike.setdefault(identity(label), []).append(label)
        joined: dict[Any, Label] = {}
        for key, texts in alike.items():
            spelling = first.setdefault(key, texts[0] if len(texts) == 1 else min(texts, key=natural_key))
            if len(texts) > 1 or texts[0] is not spelling:
                variants = (label for label in texts if _typed(label) != _typed(spelling) and label not in known)
                joined |= {_typed(label): spelling for label in variants if self.merge != "none" or _is_address(label)}
        return joined

    def _judge(self, changed: Sequence[tuple[Label, Label]], role: str, name: str, note: Note) -> None:
        """Refuse labels that nobody has decided to join; count the others in a note."""
        pairs = sorted(changed, key=lambda pair: natural_key(pair[0]))
        asked = [pair for pair in pairs if not _is_address(pair[0]) and pair[0] not in self.named]
        if asked and self.merge != "all":
            self._refuse(asked, role, name)
        label, spelling = pairs[0]
        noun = ("address", "addresses") if _is_address(pairs[0][0]) else ("label", "labels")
        count = counted(len(pairs), f"{noun[0]} is", f"{noun[1]} are")
        example = f"{quote(label)} as {quote(spelling)}"
        note(f"{name}: {count} spelled as before, which differs in {_how(label, spelling)} ({example})")


def joined(columns: Columns, merge: Merge | None, name: str, note: Note | None = None) -> Columns:
    """Return pairs whose labels have their first spellings, similar ones joined."""
    spellings = Spellings.of(merge)

    def spelled(labels: Sequence[Label], codes: IntArray, role: str) -> Sequence[Label]:
        numbers = isinstance(labels, Whole | range) or set(map(type, labels)) <= {int}
        if numbers and not isinstance(merge, Spellings | Mapping):
            return labels

        def place(code: int) -> str:
            rows = np.flatnonzero(codes == code)
            return columns.row_name(int(rows[0])) if rows.size else "the labels beside the rows"

        respelled = spellings.respelled(labels, role, name, note, place)
        return labels if respelled == list(labels) else respelled

    people = spellings.without_near(spelled(columns.reviewers, columns.reviewer, PERSON), PERSON, name)
    papers = spellings.without_near(spelled(columns.items, columns.item, PAPER), PAPER, name)
    if people is not columns.reviewers:
        codes, labels = encode(people)
        columns = replace(columns, reviewer=codes[columns.reviewer], reviewers=labels)
    if papers is not columns.items:
        as_spelled = dict(zip(columns.items, papers, strict=True))
        titles = sorted(columns.titles.items(), key=lambda pair: pair[1], reverse=True)  # of several the first counts
        codes, labels = encode(papers)
        named = {as_spelled.get(item, item): title for item, title in titles}
        columns = replace(columns, item=codes[columns.item], items=labels, titles=named)
    return columns


def _typed(label: Any) -> Any:
    return label if isinstance(label, str) else (type(label), label)


def _is_address(label: Any) -> bool:
    return isinstance(label, str) and "@" in label


def _how(label: Label, spelling: Label) -> str:
    if not (isinstance(label, str) and isinstance(spelling, str)):
        return "type alone"
    if identity(label) != identity(spelling):
        if "@" in label and "@" in spelling:
            return "dots or the name around the address"
        if loose_identity(label) == loose_identity(spelling):
            return "leading zeros, separators or letters that look alike"
        numbers = label.isdigit() or spelling.isdigit()
        return "a word before the number" if numbers else "accents, titles or the order of words"
    if label.casefold() == spelling.casefold():
        return "letter case alone"
    if label.split() == spelling.split():
        return "blanks alone"
    if label.casefold().split() == spelling.casefold().split():
        return "letter case and blanks alone"
    return "characters that look alike or are not seen alone"


class Respelling(NamedTuple):
    """The spellings that tables share, the name of one of them, and the listener to changes; by default it warns."""

    name: str
    spellings: Spellings
    note: Note | None

    def aside(self, aside: Aside) -> Aside:
        """Return papers and people beside the reviews in their first spellings."""
        people, papers = ([pair[place] for pair in aside.meta] for place in range(2))
        tally = aside.tally
        if tally:
            counts = zip(self._quietly(map(str, tally.reviews), PAPER), tally.reviews.values(), strict=True)
            tally = tally._replace(reviews=dict(counts))
        return aside._replace(
            tally=tally,
            listed=dict(zip(self._quietly(aside.listed, PAPER), aside.listed.values(), strict=True)),
            out=self._quietly(aside.out, PAPER),
            unseen=self._quietly(aside.unseen, PAPER),
            meta=list(zip(self._quietly(people, PERSON), self._quietly(papers, PAPER), strict=True)),
            members=self._quietly(aside.members, PERSON),
        )

    def _quietly(self, labels: Iterable[str], role: str) -> list[str]:
        return self.spellings.respelled(list(labels), role, self.name, lambda message: None)

    def spelled(self, column: Column, role: str | None) -> Column:
        """Return a column of labels in their first spellings; columns of no role as they are."""
        if role is None:
            return column
        # Empty labels are left to the caller, who names their lines.
        plain = "".join(column.values).isascii()
        labels = [label for label in column.values if (label.strip() if plain else not is_null(label))]
        values = self.spellings.respelled(labels, role, self.name, self.note)
        if values == labels:
            return column
        spelled = dict(zip(labels, values, strict=True))
        return recoded(column, [spelled.get(value, value) for value in column.values])

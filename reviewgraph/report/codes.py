"""Codes in place of names: a report that may be passed on, and the key to it."""

from __future__ import annotations

import secrets
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from reviewgraph.labels import Shuffled
from reviewgraph.reviews import Reviews

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reviewgraph.labels import Label

Result = TypeVar("Result")


class Codes:
    """A code for each reviewer and each paper, drawn at random: an order by name would give names away.

    Parameters
    ----------
    reviewers, items
        Labels.
    known
        Codes there are already, by ``"reviewer"`` or ``"paper"`` and label as text; they are kept.

    Examples
    --------
    >>> codes = Codes(["ann"], ["p1", "p2"], {("paper", "p1"): "P2"})
    >>> codes.reviewer, codes.item
    ({'ann': 'R1'}, {'p1': 'P2', 'p2': 'P1'})
    """

    def __init__(
        self, reviewers: Iterable[Label], items: Iterable[Label], known: Mapping[tuple[str, str], str] | None = None
    ) -> None:
        self.reviewer = _drawn("R", "reviewer", reviewers, known or {})
        self.item = _drawn("P", "paper", items, known or {})

    def table(self, reviews: Reviews) -> Reviews:
        """Return a table under codes, without titles; integers inside stay what they are."""
        return replace(
            reviews,
            reviewers=Shuffled(self.reviewer[label] for label in reviews.reviewers),
            items=Shuffled(self.item[label] for label in reviews.items),
            titles={},
        )

    def applied(self, result: Result) -> Result:
        """Return a result in which every table of reviews stands under codes."""
        done: dict[int, Reviews] = {}

        def coded(value: Any) -> Any:
            if isinstance(value, Reviews):
                return done.setdefault(id(value), self.table(value))
            if is_dataclass(value) and not isinstance(value, type):
                found = {entry.name: getattr(value, entry.name) for entry in fields(value) if entry.init}
                changed = {name: new for name, old in found.items() if (new := coded(old)) is not old}
                return replace(value, **changed) if changed else value
            return value

        return coded(result)  # type: ignore[no-any-return]

    def key(self, titles: Mapping[Label, str]) -> dict[str, list[Any]]:
        """Return the key by column: kind, code, label and title, in the order of the codes."""
        kinds = (("reviewer", self.reviewer), ("paper", self.item))
        rows = [
            (kind, code, label, titles.get(label, "") if kind == "paper" else "")
            for kind, codes in kinds
            for label, code in sorted(codes.items(), key=lambda entry: int(entry[1][1:]))
        ]
        return {name: [row[place] for row in rows] for place, name in enumerate(("kind", "code", "label", "title"))}


def _drawn(letter: str, kind: str, labels: Iterable[Label], known: Mapping[tuple[str, str], str]) -> dict[Label, str]:
    all_labels = list(labels)
    found = {label: known[kind, str(label)] for label in all_labels if (kind, str(label)) in known}
    taken = {code for (of, _), code in known.items() if of == kind}
    free = [code for number in range(1, len(all_labels) + len(taken) + 1) if (code := f"{letter}{number}") not in taken]
    new = [label for label in all_labels if label not in found]
    codes = free[: len(new)]
    secrets.SystemRandom().shuffle(codes)
    return found | dict(zip(new, codes, strict=True))

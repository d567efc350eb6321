"""Codes that replace names in reports that are passed on."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from operator import is_
from typing import Any, TypeVar

from reviewgraph._base.labels import Label, Said, Shuffled, natural_key
from reviewgraph.table.reviews import Reviews

Result = TypeVar("Result")


class Codes:
    """A random code for each reviewer and paper: codes in the order of names would reveal these.

    ``known`` are existing codes by ``"reviewer"`` or ``"paper"`` and label; they are kept. ``criteria`` are names of
    columns with further scores, which become numbers in their order.

    >>> codes = Codes(["ann"], ["p1", "p2"], {("paper", "p1"): "P2"})
    >>> codes.reviewer, codes.item
    ({'ann': 'R1'}, {'p1': 'P2', 'p2': 'P1'})
    """

    def __init__(
        self,
        reviewers: Iterable[Label],
        items: Iterable[Label],
        known: Mapping[tuple[str, str], str] | None = None,
        criteria: Iterable[str] = (),
    ) -> None:
        self.reviewer = _coded("R", "reviewer", reviewers, known or {})
        self.item = _coded("P", "paper", items, known or {})
        self.criterion = {name: f"criterion {number}" for number, name in enumerate(criteria, 1)}

    def table(self, reviews: Reviews) -> Reviews:
        """Return a table under codes, without titles, files and names of columns; indices stay."""
        return replace(
            reviews,
            reviewers=Shuffled(self.reviewer[label] for label in reviews.reviewers),
            items=Shuffled(self.item[label] for label in reviews.items),
            titles={},
            target=None if reviews.target is None else "score",
            criteria={self.criterion[name]: column for name, column in reviews.criteria.items()},
            origin=reviews.origin.coded(self.item),
        )

    def applied(self, result: Result) -> Result:
        """Return a result in which tables of reviews, fields ``reviewer`` and ``item``, and sentences are under codes.

        So are the names of columns. Tuples of named tuples with such fields are sorted by the codes, since the order of
        the labels would reveal something.
        """
        done: dict[int, Reviews] = {}

        def coded(value: Any) -> Any:
            if isinstance(value, Reviews):
                return done.setdefault(id(value), self.table(value))
            if isinstance(value, Said):
                return value.renamed(self.reviewer, self.item)
            if hasattr(value, "with_names"):
                return value.with_names(self.criterion)
            if hasattr(value, "_fields"):
                changed = of_fields(value, value._fields)
                return value._replace(**changed) if changed else value
            if isinstance(value, tuple):
                entries = [coded(entry) for entry in value]
                if all(map(is_, entries, value)):
                    return value
                return tuple(sorted(entries, key=_by_codes) if hasattr(entries[0], "_fields") else entries)
            if is_dataclass(value) and not isinstance(value, type):
                changed = of_fields(value, [entry.name for entry in fields(value) if entry.init])
                return replace(value, **changed) if changed else value
            return value

        def of_fields(value: Any, names: Iterable[str]) -> dict[str, Any]:
            """Return the fields that change; who is no longer in the table has no code."""
            codes = {"reviewer": self.reviewer, "item": self.item}
            changed = {}
            for name in names:
                old = getattr(value, name)
                is_label = name in codes and isinstance(old, str)
                new = codes[name].get(old, f"a {name} that is gone") if is_label else coded(old)
                if new is not old:
                    changed[name] = new
            return changed

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


def _by_codes(entry: Any) -> list[Any]:
    return [natural_key(getattr(entry, name)) for name in ("item", "reviewer") if hasattr(entry, name)]


def _coded(letter: str, kind: str, labels: Iterable[Label], known: Mapping[tuple[str, str], str]) -> dict[Label, str]:
    all_labels = list(labels)
    kept = {label: known[kind, str(label)] for label in all_labels if (kind, str(label)) in known}
    taken = {code for (of, _), code in known.items() if of == kind}
    free = [code for number in range(1, len(all_labels) + len(taken) + 1) if (code := f"{letter}{number}") not in taken]
    new = [label for label in all_labels if label not in kept]
    codes = free[: len(new)]
    secrets.SystemRandom().shuffle(codes)
    return kept | dict(zip(new, codes, strict=True))

"""Conflicts between reviewers and authors who share an affiliation, or the host of an e-mail address."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from reviewgraph._base.errors import LabelWarning, refused, warn
from reviewgraph._base.labels import Label, identity
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import Columns, normalise
from reviewgraph.formats.files import terms
from reviewgraph.formats.side import AUTHOR, INSTITUTION

#: Words that two people may share, and those words that these are a part of.
Forms = tuple[set[str], set[str]]

#: Mail hosts that say nothing about an affiliation, with their subdomains.
PUBLIC_HOSTS = frozenset(
    terms(
        """126.com, 163.com, aol.com, gmail.com, gmx.de, gmx.net, googlemail.com, hotmail.com, icloud.com, live.com,
        mail.ru, me.com, msn.com, outlook.com, proton.me, protonmail.com, qq.com, web.de, yahoo.com, yandex.ru"""
    )
)
_HOST = re.compile(r"@([\w.-]+)")


def domains_of(text: str) -> list[str]:
    """Return the host of an address and the domains that it is in, without a top level; none for public mail hosts.

    >>> domains_of("Ann Lee <ann@CS.example.edu>"), domains_of("ann@gmail.com"), domains_of("ann")
    (['cs.example.edu', 'example.edu'], [], [])
    """
    host = _HOST.search(text)
    labels = host[1].casefold().strip(".").split(".") if host else []
    domains = [".".join(labels[place:]) for place in range(len(labels) - 1)]
    return [] if PUBLIC_HOSTS.intersection(domains) else domains


def _affiliation(values: Iterable[str]) -> Forms:
    names = {identity(value) for value in values} - {""}
    return names, names


def _domain(values: Iterable[str]) -> Forms:
    domains = [found for value in values if (found := domains_of(value))]
    return {host for host, *_ in domains}, {domain for above in domains for domain in above}


class Kind(NamedTuple):
    """What may be shared: the names of the attribute, forms of its values, and words for it and for its absence."""

    names: tuple[str, ...]
    forms: Callable[[Iterable[str]], Forms]
    words: str
    none: str


KINDS = {
    "affiliation": Kind(("affiliation", *INSTITUTION.role.names), _affiliation, "an affiliation", "no affiliation"),
    "domain": Kind(("email", *AUTHOR.names), _domain, "an e-mail domain", "no address, or a public one,"),
}


def shared_by(
    by: str,
    reviewers: Sequence[Label],
    items: Sequence[Label],
    attributes: Mapping[Any, Mapping[str, Any]],
    item_attributes: Mapping[Any, Mapping[str, Any]],
) -> Columns:
    """Return the pairs of a reviewer and an item of whose authors one shares an affiliation or a domain.

    Labels are spelled alike. A warning counts the pairs, and who has nothing to share. Takes the time of the entries
    and of the pairs.
    """
    kind = KINDS[by]

    def forms(label: Label, entry: Mapping[str, Any]) -> Forms:
        # Names of columns may say that they are of authors, or of several.
        stems = {name: normalise(name).removeprefix("author_").removesuffix("s") for name in entry}
        cells = [value for name, value in entry.items() if stems[name] in kind.names]
        values = [part for cell in cells for part in (cell if isinstance(cell, list | tuple | set) else [cell])]
        # Labels may be addresses.
        values += [label] if by == "domain" else []
        return kind.forms([str(value) for value in values if value is not None])

    of_reviewer = [forms(label, attributes.get(label, {})) for label in reviewers]
    of_item = [forms(label, item_attributes.get(label, {})) for label in items]
    for who, known in (("reviewers", of_reviewer), ("papers' authors", of_item)):
        if not any(exact for exact, _ in known):
            file = "--reviewers" if known is of_reviewer else "--authors"
            column = f"add {kind.names[0]} to their attributes, as a column {kind.names[0]!r} of {file}"
            raise refused("conflict_by", f"{by}s of {who}", "none", column)
    # Items by what their authors have, and by all that it is a part of.
    exactly: dict[str, list[int]] = {}
    widely: dict[str, list[int]] = {}
    for code, (exact, wide) in enumerate(of_item):
        for word in exact:
            exactly.setdefault(word, []).append(code)
        for word in wide:
            widely.setdefault(word, []).append(code)
    reviewer: list[int] = []
    item: list[int] = []
    for code, (exact, wide) in enumerate(of_reviewer):
        met = {place for word in exact for place in widely.get(word, ())}
        met.update(place for word in wide for place in exactly.get(word, ()))
        item += sorted(met)
        reviewer += [code] * len(met)
    pairs = Columns(np.array(reviewer, np.int64), np.array(item, np.int64), reviewers, items)
    bare = {"reviewer": 0, "paper": 0}
    for noun, known in zip(bare, (of_reviewer, of_item), strict=True):
        bare[noun] = sum(not exact for exact, _ in known)
    without = [f"of {counted(number, noun)}" for noun, number in bare.items() if number]
    lacking = f"; {kind.none} {' and '.join(without)}" if without else ""
    shared = counted(len(item), f"conflict by {kind.words}", f"conflicts by {kind.words}")
    whose = f"{counted(len(set(reviewer)), 'reviewer')} and the authors of {counted(len(set(item)), 'paper')}"
    warn(f"conflict_by: {shared} of {whose}{lacking}", LabelWarning)
    return pairs

"""Repeat-Union2, Algorithm 1 of the paper, and the replay of its certificate: the readable reference implementation.

A component is a set of reviewers; it covers the items that they have reviewed between them. Repeat-Union2 merges two
components while their covers share two items, Repeat-Union while they share one. What remains does not depend on the
order of merges, and each merge, with the items that it rests on, is a step of a proof.

``reviewgraph verify`` computes with it, and tests compare the compiled kernels behind
:mod:`reviewgraph.graph.components`, which share no code with it, with its results.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    Rows: TypeAlias = Mapping[Any, Collection[Any]]


class Group(NamedTuple):
    """A component: reviewers, and the items that they cover."""

    reviewers: frozenset[Any]
    items: frozenset[Any]


class Closure(NamedTuple):
    """The components that remain, by their first reviewers, and the merges (a, b, items) that led to them."""

    components: list[Group]
    merges: list[tuple[Any, ...]]


class Classes:
    """A union-find: names in classes, joined two by two."""

    def __init__(self, names: Iterable[Hashable]) -> None:
        self._up = {name: name for name in names}

    def of(self, name: Hashable) -> Any:
        """Return the name that stands for a class; paths are halved on the way."""
        up = self._up
        while up[name] != name:
            up[name] = name = up[up[name]]
        return name

    def join(self, name: Hashable, into: Hashable) -> None:
        """Make one class of two, which goes by the name of the second."""
        self._up[self.of(name)] = self.of(into)

    def __len__(self) -> int:
        """Return the number of classes."""
        return sum(name == up for name, up in self._up.items())


def repeat_union(rows: Rows, shared: int = 2) -> Closure:
    """Merge components while their covers share items: two for Repeat-Union2, one for Repeat-Union.

    ``rows`` are the items of each reviewer.

    Ann and Bob share two papers; Cleo shares one with each of them, and so two with their component.

    >>> found = repeat_union({"ann": "pqr", "bob": "qrs", "cleo": "ps", "dan": "s"})
    >>> [sorted(group.reviewers) for group in found.components], found.merges
    ([['ann', 'bob', 'cleo'], ['dan']], [('ann', 'bob', 'q', 'r'), ('ann', 'cleo', 'p', 's')])
    >>> len(repeat_union({"ann": "pqr", "bob": "qrs", "cleo": "ps", "dan": "s"}, 1).components)
    1
    """
    # 1. Every reviewer is a component of their own. It covers nothing yet: items arrive one by one.
    home = Classes(rows)
    merges = list[tuple[Any, ...]]()
    cover: dict[Any, dict[Any, None]] = {reviewer: {} for reviewer in rows}
    holders: dict[Any, dict[Any, None]] = {item: {} for items in rows.values() for item in items}
    arriving = [(reviewer, item) for reviewer, items in rows.items() for item in items][::-1]
    while arriving:
        # 2. An item arrives at the component of a reviewer. If that covers it already, nothing changes.
        reviewer, item = arriving.pop()
        component = home.of(reviewer)
        if item in cover[component]:
            continue
        cover[component][item] = holders[item][component] = None
        # 3. Only with components that cover this item do the shared ones become more.
        for neighbour in [holder for holder in holders[item] if holder != component]:
            large, small = sorted((neighbour, component), key=lambda name: len(cover[name]), reverse=True)
            common = [i for i in cover[small] if i in cover[large]]
            if len(common) < shared:
                continue
            # 4. Merge: the items of the smaller cover, of which each moves O(log N) times, arrive at the larger.
            merges.append((large, small, *common[:shared]))
            home.join(small, large)
            arriving += [(large, i) for i in cover[small]]
            for i in cover[small]:
                del holders[i][small]
            cover[small] = {}
            if small == component:
                break
    # 5. No two components share that many items any more.
    return Closure(_groups(home, rows, cover), merges)


def replay(rows: Rows, merges: Iterable[tuple[Any, Any, Any, Any]]) -> tuple[int, list[Group]]:
    """Replay a certificate of Repeat-Union2 without the algorithm.

    Each merge (a, b, u, v) makes one component of those of reviewers a and b, which must be two, and must both cover
    two items u and v. Returns the place of the first merge that does not, or -1, and the components so far.

    >>> replay({"ann": "pqr", "bob": "qrs"}, [("ann", "bob", "q", "r")])[0]
    -1
    >>> replay({"ann": "pqr", "bob": "qrs"}, [("ann", "bob", "p", "q")])[0]
    0
    """
    home = Classes(rows)
    wrong = -1
    cover = {reviewer: set(items) for reviewer, items in rows.items()}
    for place, (a, b, u, v) in enumerate(merges):
        # The covers are those from before this merge; the smaller moves into the larger.
        small, large = sorted((home.of(a), home.of(b)), key=lambda name: len(cover[name]))
        if small == large or u == v or not ({u, v} <= cover[small] and {u, v} <= cover[large]):
            wrong = place
            break
        home.join(small, large)
        cover[large] |= cover.pop(small)
    return wrong, _groups(home, rows, cover)


def _groups(home: Classes, rows: Rows, cover: Mapping[Any, Iterable[Any]]) -> list[Group]:
    members: dict[Any, list[Any]] = {}
    for reviewer in rows:
        members.setdefault(home.of(reviewer), []).append(reviewer)
    return [Group(frozenset(who), frozenset(cover[root])) for root, who in members.items()]

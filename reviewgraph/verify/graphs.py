"""What connects items, computed by sets and dictionaries: pieces, groups by two shared items, missing links."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    Rows = Mapping[str, set[str]]
    Scores = Mapping[tuple[str, str], Any]


class Group(NamedTuple):
    """Reviewers who belong together, and the items that they cover."""

    reviewers: frozenset[str]
    items: frozenset[str]


class Classes:
    """Names in classes, joined two by two."""

    def __init__(self, names: Iterable[Hashable]) -> None:
        self._up = {name: name for name in names}

    def of(self, name: Hashable) -> Hashable:
        """Return the name that stands for a class."""
        path = []
        while self._up[name] != name:
            path.append(name)
            name = self._up[name]
        for passed in path:
            self._up[passed] = name
        return name

    def join(self, one: Hashable, other: Hashable) -> None:
        """Make one class of two."""
        self._up[self.of(one)] = self.of(other)

    def __len__(self) -> int:
        """Return how many classes there are."""
        return sum(name == up for name, up in self._up.items())


def pieces(rows: Rows, items: Sequence[str]) -> Classes:
    """Return the pieces of the graph of reviewers and items, each reviewer and item being a pair (kind, name).

    >>> len(pieces({"ann": {"p"}, "bob": {"q"}}, ["p", "q", "r"]))
    3
    """
    found = Classes([*((0, reviewer) for reviewer in rows), *((1, item) for item in items)])
    for reviewer, own in rows.items():
        for item in own:
            found.join((0, reviewer), (1, item))
    return found


def tie_classes(score: Scores, items: Sequence[str]) -> Classes:
    """Return classes of items that reviewers scored alike."""
    found, first = Classes(items), dict[tuple[str, Any], str]()
    for (reviewer, item), value in score.items():
        found.join(item, first.setdefault((reviewer, value), item))
    return found


def groups(rows: Rows, items: Sequence[str], score: Scores | None = None) -> list[Group]:
    """Return the doubly connected components: groups of reviewers merge while their items share two.

    Parameters
    ----------
    rows
        Items by reviewer.
    items
        All of them.
    score
        The scores, if tied ones carry no scale: the two shared items must then be of two tie classes, or two reviewers,
        one of each group, must both have scored the two, each differently.

    Examples
    --------
    >>> sorted(len(group.items) for group in groups({"ann": {"p", "q"}, "bob": {"p", "q", "r"}, "cleo": {"r"}}, "pqr"))
    [1, 3]
    """
    classes = tie_classes(score, items) if score is not None else Classes(items)
    merging = _Merging(rows, classes)
    for reviewer in rows:
        merging.enter(reviewer)
    if score is not None:
        merging.join_all(_seen_apart(rows, score))
    return merging.found()


class _Merging:
    """Groups that grow. Two of them that share one class of items remember which: a second one joins them."""

    def __init__(self, rows: Rows, classes: Classes) -> None:
        self._class = {item: classes.of(item) for own in rows.values() for item in own}
        self._rows, self._home = rows, {reviewer: reviewer for reviewer in rows}
        self._members = {reviewer: [reviewer] for reviewer in rows}
        self._cover: dict[str, set[str]] = {reviewer: set() for reviewer in rows}
        self._meets: dict[str, dict[str, Hashable]] = {reviewer: {} for reviewer in rows}
        self._holders: dict[str, set[str]] = {item: set() for item in self._class}

    def enter(self, reviewer: str) -> None:
        """Let the items of a reviewer in, one by one."""
        for item in self._rows[reviewer]:
            self._cover_item(self._home[reviewer], item)

    def join_all(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Join groups of two reviewers each, and what follows from that."""
        for one, other in pairs:
            self._join([(one, other)])

    def found(self) -> list[Group]:
        return [Group(frozenset(who), frozenset(self._cover[root])) for root, who in self._members.items()]

    def _cover_item(self, root: str, item: str) -> None:
        if item not in self._cover[root]:
            self._cover[root].add(item)
            meant = self._class[item]
            twice = [other for other in self._holders[item] if self._meets[root].get(other, meant) != meant]
            for other in self._holders[item]:
                self._meets[root].setdefault(other, meant)
                self._meets[other].setdefault(root, meant)
            self._holders[item].add(root)
            self._join([(root, other) for other in twice])

    def _join(self, waiting: list[tuple[str, str]]) -> None:
        while waiting:
            large, small = (self._home[reviewer] for reviewer in waiting.pop())
            if large == small:
                continue
            if len(self._cover[large]) + len(self._meets[large]) < len(self._cover[small]) + len(self._meets[small]):
                large, small = small, large
            for reviewer in self._members.pop(small):
                self._home[reviewer] = large
                self._members[large].append(reviewer)
            for item in self._cover.pop(small):
                self._holders[item].discard(small)
                self._holders[item].add(large)
                self._cover[large].add(item)
            for other, meant in self._meets.pop(small).items():
                del self._meets[other][small]
                if other != large:
                    if self._meets[large].setdefault(other, meant) != meant:
                        waiting.append((large, other))
                    self._meets[other].setdefault(large, meant)


def _seen_apart(rows: Rows, score: Scores) -> Iterable[tuple[str, str]]:
    """Yield reviewers who both scored some two items, each of them differently."""
    holders: dict[str, list[str]] = {}
    for reviewer, own in rows.items():
        for item in own:
            holders.setdefault(item, []).append(reviewer)
    shared: dict[tuple[str, str], list[str]] = {}
    for item, who in holders.items():
        for pair in combinations(who, 2):
            shared.setdefault(pair, []).append(item)
    for (one, other), common in shared.items():
        if any(
            score[one, u] != score[one, v] and score[other, u] != score[other, v] for u, v in combinations(common, 2)
        ):
            yield one, other


def replayed(
    rows: Rows, items: Sequence[str], merges: Iterable[tuple[str, str, str, str]], score: Scores | None = None
) -> tuple[int, set[str]]:
    """Replay merges (a, b, u, v), by each of which the groups of a and b, which both cover u and v, become one.

    Returns which row fails to join two groups, or -1, and the largest set of items that the merges lead to.

    >>> replayed({"ann": {"p", "q"}, "bob": {"p", "q", "r"}}, "pqr", [("ann", "bob", "p", "r")])[0]
    0
    """
    classes = tie_classes(score, items) if score is not None else Classes(items)
    cover, home = {reviewer: set(own) for reviewer, own in rows.items()}, Classes(rows)

    def apart(reviewer: str, u: str, v: str) -> bool:
        own = rows[reviewer]
        return score is not None and u in own and v in own and bool(score[reviewer, u] != score[reviewer, v])

    for place, (a, b, u, v) in enumerate(merges):
        left, right = home.of(a), home.of(b)
        shared = cover[str(left)] & cover[str(right)]
        differ = u != v and (classes.of(u) != classes.of(v) or (apart(a, u, v) and apart(b, u, v)))
        if left == right or not differ or not {u, v} <= shared:
            return place, set()
        cover[str(right)] |= cover.pop(str(left))
        home.join(left, right)
    return -1, max(cover.values(), key=len, default=set())


def missing_links(rows: Rows, items: Sequence[str]) -> int:
    """Return the degrees of freedom: ``N + 2 M - min(N, 2) - rank``, M the reviewers of two items or more.

    The rank is that of the count matroid in which reviews are independent where no k of them lie on fewer than
    ``k + 2`` items and reviewers, reviewers counted twice. A pebble game finds it: an item has one pebble, a reviewer
    two, and a review is independent if all three of its ends' pebbles can be gathered there.

    >>> missing_links({"ann": {"p", "q"}, "bob": {"q", "r"}}, "pqr")
    1
    """
    game = _Pebbles(items)
    bodies = [group.items for group in groups(rows, items) if len(group.items) >= 2]
    # A doubly connected group is as rigid as one reviewer of all its items.
    rank = sum(game.add((number, item), item) for number, own in enumerate(bodies) for item in sorted(own))
    return len(items) + 2 * len(bodies) - min(len(items), 2) - rank


class _Pebbles:
    """The game: an accepted review is an arrow from the end that gave it a pebble."""

    def __init__(self, items: Sequence[str]) -> None:
        self._free: dict[Any, int] = dict.fromkeys(items, 1)
        self._out: dict[Any, list[Any]] = {item: [] for item in items}

    def add(self, review: tuple[int, str], item: str) -> bool:
        """Offer a review; returns whether it is independent of those accepted."""
        reviewer = ("reviewer", review[0])
        if reviewer not in self._free:
            self._free[reviewer], self._out[reviewer] = 2, []
        while self._free[reviewer] < 2:
            if not self._fetch(reviewer, barred=item):
                return False
        if self._free[item] < 1 and not self._fetch(item, barred=reviewer):
            return False
        self._free[reviewer] -= 1
        self._out[reviewer].append(item)
        return True

    def _fetch(self, end: Any, barred: Any) -> bool:
        """Bring a free pebble to one end along arrows, not that of the other end."""
        came, waiting = {end: None}, [end]
        while waiting:
            place = waiting.pop()
            for target in self._out[place]:
                if target in came:
                    continue
                came[target] = place
                if self._free[target] and target != barred:
                    self._free[target] -= 1
                    self._turn(came, target, end)
                    return True
                waiting.append(target)
        return False

    def _turn(self, came: dict[Any, Any], place: Any, end: Any) -> None:
        """Turn the arrows of a path round, so that the pebble moves to its beginning."""
        while place != end:
            before = came[place]
            self._out[before].remove(place)
            self._out[place].append(before)
            place = before
        self._free[end] += 1

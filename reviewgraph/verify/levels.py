"""Whether a table is at a level, by the plain algorithms of :mod:`reviewgraph.verify.graphs`."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

from reviewgraph._base.errors import InputError
from reviewgraph.graph.levels import NAMES, level_named
from reviewgraph.verify.graphs import groups, missing_links, pieces, tie_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from reviewgraph.graph.closure import Group
    from reviewgraph.verify.graphs import Pair, Table
    from reviewgraph.verify.rules import Market


if TYPE_CHECKING:
    Arc = tuple[str, str, float, Pair | None]

#: Reviews that are looked at in all, over all losses, before the levels that outlive a loss are taken on trust.
MOST_LOST = 5_000_000


class TooLarge(InputError):
    """A question that the plain algorithms would take too long over."""


class NoTest(TooLarge):
    """A level for which there is no plain algorithm."""


def is_connected(table: Table) -> bool:
    """Whether all items have a review and lie in one piece."""
    found = pieces(table.rows(), table.items)
    reviewed = all(count > 0 for count in table.reviews_of().values())
    return reviewed and len({found.of((1, item)) for item in table.items}) <= 1


def is_double(table: Table) -> bool:
    """Whether one doubly connected component covers all items."""
    return largest_cover(groups(table.rows(), table.items)) >= len(table.items)


def is_double_by_scores(table: Table) -> bool:
    """Whether one doubly connected component, ties carrying no scale, covers all items, of two tie classes or more."""
    scored, items = table.scored(), table.items
    covered = largest_cover(groups(scored.rows(), items, scored.score)) >= len(items)
    return covered and (len(items) < 2 or len(tie_classes(scored.score, items)) > 1)


def is_recoverable(table: Table) -> bool:
    """Whether no links are missing, all items have a review, and of two items or more someone reviews two."""
    rows = table.rows()
    linked = len(table.items) < 2 or any(len(own) >= 2 for own in rows.values())
    return linked and all(table.reviews_of().values()) and missing_links(rows, table.items) == 0


def largest_cover(found: list[Group]) -> int:
    """Return the items that the group of most items covers."""
    return max((len(group.items) for group in found), default=0)


def without_each_reviewer(table: Table) -> Iterator[tuple[str, Table]]:
    """Yield each reviewer who has reviews, and the table without them."""
    for reviewer, own in table.rows().items():
        if own:
            yield reviewer, table.without({(reviewer, item) for item in own})


def without_each_review(table: Table) -> Iterator[tuple[Pair, Table]]:
    """Yield each review, and the table without it."""
    for pair in table.score:
        yield pair, table.without({pair})


def expect_small(table: Table, losses: int) -> None:
    """Refuse a table that is too large to look at what each of so many losses leaves.

    Raises
    ------
    TooLarge
        If it is.
    """
    if losses * len(table.score) > MOST_LOST:
        message = f"{losses} losses of a table of {len(table.score)} reviews are too many to be looked at one by one"
        raise TooLarge(message)


def survives_reviewer(table: Table) -> bool:
    """Whether a table is doubly connected, and without any one reviewer."""
    expect_small(table, len(table.reviewers))
    return is_double(table) and all(is_double(rest) for _, rest in without_each_reviewer(table))


def survives_review(table: Table) -> bool:
    """Whether a table is doubly connected, and without any one review."""
    expect_small(table, len(table.score))
    return is_double(table) and all(is_double(rest) for _, rest in without_each_review(table))


def test_of(name: str) -> Callable[[Table], bool]:
    """Return the verifier's own test of a level.

    Raises
    ------
    InputError
        If no level bears the name.
    NoTest
        If the level has none.
    """
    found: Callable[[Table], bool] | None = level_named(name).part("verifier")
    if found is None:
        message = f"the level {name} has no test that shares no code with what made the answer"
        raise NoTest(message)
    return found


def highest_level(table: Table) -> str | None:
    """Return the name of the highest level that holds, or none.

    Raises
    ------
    NoTest
        If a level that may be the highest has no test.
    """
    return next((name for name in NAMES if test_of(name)(table)), None)


def holds(level: Any, table: Table, *, use_scores: bool = False) -> bool:
    """Whether a table is at a level.

    Raises
    ------
    InputError
        If no level bears the name.
    TooLarge
        If it cannot be told in reasonable time.
    """
    test = test_of(level)
    return is_double_by_scores(table) if use_scores else test(table)


# The most affinity that demands and loads allow, by exchanges round circles: no level, and no rules on panels.


#: Pairs that may be assigned, and exchanges, up to which the most is computed.
MOST_PAIRS, MOST_EXCHANGES = 60_000, 1_000
#: Gains of an exchange below this part of the largest affinity are rounding.
SLACK = 1e-10
#: The node through which reviewers give their loads to each other; other nodes have names with r or p before them.
HUB = "hub"


def most_affinity(
    chosen: Iterable[Pair],
    value: Mapping[Pair, float],
    kept: Iterable[Pair],
    loads: Mapping[str, tuple[int, int]],
) -> float:
    """Return the most affinity of an assignment that gives every paper as many reviews as ``chosen`` does.

    As long as some circle of exchanges gains, it is gone round: where none does, none gains at all [Ahuja93]_.

    Parameters
    ----------
    chosen
        An assignment within the loads.
    value
        The affinity of each pair that may be assigned.
    kept
        Pairs that must be.
    loads
        Fewest and most reviews of each reviewer.

    Raises
    ------
    TooLarge
        If that would take too long.

    Examples
    --------
    >>> worth = {("ann", "p"): 1.0, ("ann", "q"): 0.5, ("bob", "p"): 0.9, ("bob", "q"): 0.1}
    >>> most_affinity([("ann", "p"), ("bob", "q")], worth, [], {"ann": (0, 1), "bob": (0, 1)})
    1.4
    """
    if len(value) > MOST_PAIRS:
        message = f"{len(value)} pairs may be assigned, too many to look for better exchanges"
        raise TooLarge(message)
    held, fixed = set(chosen), set(kept)
    slack = SLACK * max(map(abs, value.values()), default=1.0)
    for _ in range(MOST_EXCHANGES):
        circle = _gaining_circle(_arcs(held, value, fixed, loads), slack)
        if not circle:
            return sum(value.get(pair, 0.0) for pair in held)
        held ^= {pair for *_, pair in circle if pair is not None}
    message = f"more than {MOST_EXCHANGES} exchanges gain affinity, too many to go on"
    raise TooLarge(message)


def _arcs(
    held: set[Pair], value: Mapping[Pair, float], fixed: set[Pair], loads: Mapping[str, tuple[int, int]]
) -> list[Arc]:
    """Return the changes that may be made: a pair taken in or left out, a load given up or taken over."""
    count = dict.fromkeys(loads, 0)
    for reviewer, _ in held:
        count[reviewer] += 1
    arcs: list[Arc] = []
    for (reviewer, item), worth in value.items():
        pair, who, what = (reviewer, item), f"r{reviewer}", f"p{item}"
        if pair not in held:
            arcs.append((who, what, -worth, pair))
        elif pair not in fixed:
            arcs.append((what, who, worth, pair))
    for reviewer, (least, most) in loads.items():
        if count[reviewer] < most:
            arcs.append((HUB, f"r{reviewer}", 0.0, None))
        if count[reviewer] > least:
            arcs.append((f"r{reviewer}", HUB, 0.0, None))
    return arcs


def _gaining_circle(arcs: list[Arc], slack: float) -> list[Arc]:
    """Return a circle of negative length (Bellman and Ford), empty where there is none."""
    length: dict[str, float] = {}
    came: dict[str, Arc] = {}
    for arc in arcs:
        length[arc[0]] = length[arc[1]] = 0.0
    for _ in range(len(length) + 1):
        changed = False
        for arc in arcs:
            start, end, cost, _ = arc
            if length[start] + cost < length[end] - slack:
                length[end], came[end], changed = length[start] + cost, arc, True
        if not changed:
            return []
        circle = _circle(came)
        if circle and sum(arc[2] for arc in circle) < -slack:
            return circle
    return []


def _circle(came: Mapping[str, Arc]) -> list[Arc]:
    """Return a circle of the arcs by which nodes were reached."""
    seen: dict[str, str] = {}
    for first in came:
        node = first
        while node in came and node not in seen:
            seen[node] = first
            node = came[node][0]
        if node in came and seen[node] == first:
            circle, place = [came[node]], came[node][0]
            while place != node:
                circle.append(came[place])
                place = came[place][0]
            return circle
    return []


def can_be_met(demands: Mapping[str, int], pairs: Iterable[Pair], loads: Mapping[str, tuple[int, int]]) -> bool:
    """Whether demands can be met within loads, the fewest reviews included, by augmenting paths.

    >>> can_be_met({"p": 2}, [("ann", "p")], {"ann": (0, 5)})
    False
    """
    listed = list(pairs)
    # First up to the fewest reviews of each, then as many as papers need: an augmenting path takes no load away.
    fewest = {reviewer: (least, least) for reviewer, (least, _) in loads.items()}
    if most_met(demands, listed, fewest) < sum(least for least, _ in loads.values()):
        return False
    return most_met(demands, listed, loads) == sum(demands.values())


def most_met(demands: Mapping[str, int], pairs: Iterable[Pair], loads: Mapping[str, tuple[int, int]]) -> int:
    """Return how many of the demanded reviews can be given within the most reviews of each, by augmenting paths.

    >>> most_met({"p": 2, "q": 1}, [("ann", "p"), ("ann", "q"), ("bob", "p")], {"ann": (0, 1), "bob": (0, 5)})
    2
    """
    readers: dict[str, list[str]] = {item: [] for item in demands}
    for reviewer, item in pairs:
        readers[item].append(reviewer)
    held: dict[str, set[str]] = {reviewer: set() for reviewer in loads}
    limit, met = {reviewer: most for reviewer, (_, most) in loads.items()}, 0
    for item, need in demands.items():
        for _ in range(need):
            if not _augment(item, readers, held, limit):
                break
            met += 1
    return met


def _augment(item: str, readers: Mapping[str, list[str]], held: dict[str, set[str]], limit: Mapping[str, int]) -> bool:
    """Give an item one more reviewer, others changing places."""
    came: dict[str, tuple[str, str | None]] = {}
    waiting: list[tuple[str, str | None]] = [(item, None)]
    for wanted, through in waiting:
        for reviewer in readers[wanted]:
            if reviewer in came or wanted in held[reviewer]:
                continue
            came[reviewer] = (wanted, through)
            if len(held[reviewer]) < limit[reviewer]:
                _move(reviewer, came, held)
                return True
            waiting += [(other, reviewer) for other in held[reviewer]]
    return False


def _move(reviewer: str, came: Mapping[str, tuple[str, str | None]], held: dict[str, set[str]]) -> None:
    who: str | None = reviewer
    while who is not None:
        wanted, through = came[who]
        held[who].add(wanted)
        if through is not None:
            held[through].discard(wanted)
        who = through


# All assignments that respect what was asked for, where they are few: whether there is one, and the most affinity.


#: Panels of a paper, and assignments with the parts of them, up to which they are tried.
MOST_PANELS, MOST_STEPS = 20_000, 100_000


def panels_for(market: Market, item: str) -> list[tuple[str, ...]]:
    """Return the sets of reviewers that a paper may get: all of them pairs that may be, within floors and rules.

    Raises
    ------
    TooLarge
        If they are too many.
    """
    must = {who for who, what in market.fixed if what == item}
    readers = [who for who, (_, most) in market.loads.items() if most and market.may((who, item))]
    before = [who for who, what in market.phase_one if what == item]
    need = market.demand[item]
    if comb(len(readers), max(min(need, len(readers)), 0)) > MOST_PANELS:
        message = f"{len(readers)} reviewers may get paper {item}, too many panels to be tried"
        raise TooLarge(message)
    return [panel for panel in combinations(readers, need) if must <= {*panel} and _fits(market, item, panel, before)]


def _fits(market: Market, item: str, panel: tuple[str, ...], before: list[str]) -> bool:
    if not panel:
        return True
    worth = [market.affinity.get((who, item), 0.0) for who in panel]
    # Floors are held to what is surely below them: sums are rounded.
    slack = 1e-9 * max(1.0, *map(abs, worth))
    if market.floor is not None and sum(worth) < market.floor - slack:
        return False
    if market.floor_best is not None and max(worth) < market.floor_best - slack:
        return False
    crowd, alone = [*before, *panel], list(panel)
    return not any(rule.lacks(crowd) or (rule.broken(crowd) and rule.held(alone)) for rule in market.panels)


def every_assignment(market: Market) -> Iterator[list[Pair]]:
    """Yield all assignments within demands, loads, pairs, floors and rules on panels, whatever their level.

    Raises
    ------
    TooLarge
        If there are too many.
    """
    items = [item for item, need in market.demand.items() if need > 0]
    choices = {item: panels_for(market, item) for item in items}
    if not all(choices.values()):
        return
    steps = 0
    items.sort(key=lambda item: len(choices[item]))
    waiting: list[tuple[int, tuple[tuple[str, ...], ...], Counter[str]]] = [(0, (), Counter())]
    while waiting:
        depth, taken, load = waiting.pop()
        steps += 1
        if steps > MOST_STEPS:
            message = f"there are more than {MOST_STEPS} assignments and parts of them, too many to be tried"
            raise TooLarge(message)
        if depth == len(items):
            if all(load[who] >= least for who, (least, _) in market.loads.items()):
                yield [(who, item) for item, panel in zip(items, taken, strict=True) for who in panel]
            continue
        waiting += [
            (depth + 1, (*taken, panel), load + Counter(panel))
            for panel in choices[items[depth]]
            if all(load[who] < market.loads[who][1] for who in panel)
        ]

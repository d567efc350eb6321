"""All assignments that respect what was asked for, where they are few: whether there is one, and the most affinity."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

from reviewgraph.verify.levels import TooLarge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reviewgraph.verify.markets import Market
    from reviewgraph.verify.tables import Pair

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

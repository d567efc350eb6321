"""Whether demands can be met within loads, by flows; the largest affinity of an assignment, by a linear programme."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from reviewgraph.verify.levels import TooLarge
from reviewgraph.verify.rules import AT_LEAST, AT_MOST, REWARD, panels_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reviewgraph.verify.graphs import Pair
    from reviewgraph.verify.rules import Market, PanelRule

#: Pairs that may be assigned up to which the largest affinity is computed, without rules and with them.
MOST_PAIRS = 60_000
MOST_RULED = 5_000
#: Seconds after which a programme in whole numbers is given up.
PATIENCE = 60.0


def can_be_met(demands: Mapping[str, int], pairs: Iterable[Pair], loads: Mapping[str, tuple[int, int]]) -> bool:
    """Whether demands can be met within loads, minimum reviews included, by flows.

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
    """Return the largest number of demanded reviews within maximum loads, by a flow.

    >>> most_met({"p": 2, "q": 1}, [("ann", "p"), ("ann", "q"), ("bob", "p")], {"ann": (0, 1), "bob": (0, 5)})
    2
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    # From the source, 0, to reviewers, to their items, to the sink, 1.
    listed = list(pairs)
    reviewer_node = {name: place for place, name in enumerate(loads, 2)}
    item_node = {name: place for place, name in enumerate(demands, 2 + len(loads))}
    arcs = [(0, reviewer_node[reviewer], min(max(most, 0), len(listed))) for reviewer, (_, most) in loads.items()]
    arcs += [(reviewer_node[reviewer], item_node[item], 1) for reviewer, item in listed]
    arcs += [(item_node[item], 1, max(need, 0)) for item, need in demands.items()]
    start, end, room = np.array(arcs, np.int32).reshape(-1, 3).T
    size = 2 + len(loads) + len(demands)
    return int(maximum_flow(csr_array((room, (start, end)), shape=(size, size)), 0, 1).flow_value)


def best_assignment(market: Market, need: Mapping[str, int], *, rules: bool = False) -> tuple[float, list[Pair]] | None:
    """Return the largest affinity of an assignment with ``need`` reviews of every paper, and one; None without any.

    With ``rules`` it obeys the rules on panels and the floors, and rewards count; it may miss the level. Raises
    TooLarge.

    >>> from reviewgraph.verify.rules import Market
    >>> worth = {("ann", "p"): 1.0, ("ann", "q"): 0.5, ("bob", "p"): 0.9, ("bob", "q"): 0.1}
    >>> market = Market({"p": 1, "q": 1}, {"ann": (0, 1), "bob": (0, 1)}, worth)
    >>> best_assignment(market, market.demand)
    (1.4, [('bob', 'p'), ('ann', 'q')])
    """
    programme = _Programme(market, need)
    if rules:
        for item in [item for item, demand in need.items() if demand]:
            programme.obey_floors(item)
            for rule in market.panels:
                programme.obey(rule, item)
    return programme.solve(whole=rules)


class _Programme:
    """A linear programme: a variable of 0 to 1 for each pair that may be assigned, and rows low <= a x <= high.

    Demands and loads alone make a totally unimodular matrix, so the optimum has whole numbers; rules need them asked
    for.
    """

    def __init__(self, market: Market, need: Mapping[str, int]) -> None:
        value = {pair: worth for pair, worth in market.pairs().items() if pair[1] in need}
        self.market = market
        self.pairs = list(value)
        self.gain = list(value.values())
        fixed = set(market.fixed)
        self.least = [float(pair in fixed) for pair in self.pairs]
        self.rows: list[tuple[dict[int, float], float, float]] = []
        self.columns_of: dict[str, list[int]] = {item: [] for item in need}
        self.before = panels_of(market.phase_one)
        by_reviewer: dict[str, list[int]] = {reviewer: [] for reviewer in market.loads}
        for column, (reviewer, item) in enumerate(self.pairs):
            by_reviewer[reviewer].append(column)
            self.columns_of[item].append(column)
        # Each paper gets what it needs, each reviewer no less and no more than the load.
        for item, columns in self.columns_of.items():
            self.rows.append((dict.fromkeys(columns, 1.0), need[item], need[item]))
        for reviewer, columns in by_reviewer.items():
            self.rows.append((dict.fromkeys(columns, 1.0), *market.loads[reviewer]))

    def obey_floors(self, item: str) -> None:
        """Add the least affinity of a paper, and that of its best reviewer; sums are rounded."""
        worth = {column: self.gain[column] for column in self.columns_of[item]}
        slack = 1e-9 * max(1.0, *map(abs, worth.values()), 1.0)
        if self.market.floor is not None:
            self.rows.append((worth, self.market.floor - slack, np.inf))
        if self.market.floor_best is not None:
            good = [column for column, value in worth.items() if value >= self.market.floor_best - slack]
            self.rows.append((dict.fromkeys(good, 1.0), 1.0, np.inf))

    def obey(self, rule: PanelRule, item: str) -> None:
        """Add a rule on the reviewers of a paper; those of the first phase count."""
        present = rule.held(self.before.get(item, ()))
        holders: dict[Any, list[int]] = {value: [] for value in present}
        for column in self.columns_of[item]:
            for value in rule.values.get(self.pairs[column][0], ()):
                holders.setdefault(value, []).append(column)
        if rule.option == AT_MOST:
            for value, columns in holders.items():
                room = max(rule.number - present.get(value, 0), 0)
                self.rows.append((dict.fromkeys(columns, 1.0), -np.inf, room))
        elif rule.option == AT_LEAST and rule.wanted is not None:
            columns = holders.get(rule.wanted, [])
            self.rows.append((dict.fromkeys(columns, 1.0), rule.number - present.get(rule.wanted, 0), np.inf))
        else:
            # A further variable for each value: at most 1, and at most the number of reviewers who have it.
            values = []
            for value, columns in holders.items():
                values.append(len(self.gain))
                self.gain.append(rule.number if rule.option == REWARD else 0.0)
                self.least.append(0.0)
                self.rows.append(({**dict.fromkeys(columns, 1.0), values[-1]: -1.0}, -present.get(value, 0), np.inf))
            if rule.option == AT_LEAST:
                self.rows.append((dict.fromkeys(values, 1.0), rule.number, np.inf))

    def solve(self, *, whole: bool) -> tuple[float, list[Pair]] | None:
        """Return the largest gain, and its pairs; None if no assignment obeys all rows."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        most = MOST_RULED if whole else MOST_PAIRS
        if len(self.pairs) > most:
            message = f"{len(self.pairs)} pairs may be assigned, and the largest affinity is computed of up to {most}"
            raise TooLarge(message)
        if any(high < low or (not row and not low <= 0 <= high) for row, low, high in self.rows):
            return None
        if not self.gain:
            return 0.0, []
        entries = [(number, column, a) for number, (row, _, _) in enumerate(self.rows) for column, a in row.items()]
        number, column, a = zip(*entries, strict=True) if entries else ((), (), ())
        gain = np.array(self.gain)
        solution = milp(
            -gain / max(float(np.abs(gain).max()), np.finfo(float).tiny),
            constraints=LinearConstraint(
                csr_array((a, (number, column)), shape=(len(self.rows), gain.size)),
                [low for _, low, _ in self.rows],
                [high for _, _, high in self.rows],
            ),
            bounds=Bounds(self.least, np.ones(gain.size)),
            integrality=int(whole),
            options={"mip_rel_gap": 0.0, "time_limit": PATIENCE},
        )
        if solution.status == 2:
            return None
        if solution.status != 0:
            message = "the largest affinity was not computed"
            raise TooLarge(message)
        taken = np.round(solution.x)
        return float(taken @ gain), [pair for pair, share in zip(self.pairs, taken, strict=False) if share]


def beyond_fixed(market: Market) -> tuple[dict[str, int], list[Pair], dict[str, tuple[int, int]]]:
    """Return demands, pairs and loads beyond the fixed pairs."""
    reviews = Counter(reviewer for reviewer, _ in market.fixed)
    count = Counter(item for _, item in market.fixed)
    demands = {item: need - count[item] for item, need in market.demand.items()}
    loads = {name: (max(low - reviews[name], 0), high - reviews[name]) for name, (low, high) in market.loads.items()}
    return demands, [pair for pair in market.pairs() if pair not in market.fixed], loads

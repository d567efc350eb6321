"""Lower bounds on the reviews of a plan: recomputed, proved from certificates, or refuted by a smaller plan.

Expansion, flow and parts prove bounds for ``double`` from the covers of its components: lists of items, ascending.
:class:`Case` is what a plan starts from; it recomputes bounds that are counts, and otherwise enumerates small plans.
Not checked: bounds in cases of too many plans.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from reviewgraph.formats.files import cut
from reviewgraph.graph.levels import Connected, Double, Recoverable, SurvivesReview, level_named
from reviewgraph.verify.graphs import groups, missing_links, pieces, replayed, tie_classes
from reviewgraph.verify.levels import TooLarge, can_be_met, expect_small, holds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from reviewgraph._base.arrays import FloatArray
    from reviewgraph.verify.graphs import Pair
    from reviewgraph.verify.rules import PlainRules

    Covers: TypeAlias = Sequence[list[int]]
    Part: TypeAlias = dict[int, frozenset[int]]
    Ways: TypeAlias = tuple[list[list[tuple[int, int, float]]], list[list[tuple[int, int, float]]]]

#: Steps of the bisection, after which the slope is exact to 2^-40 of the largest.
HALVINGS = 40
#: Accuracy of the factorisation, relative to the largest weight of an item.
SLACK = 1e-8
#: Relative error of the flow, a sum of positive floats, after a few thousand roundings.
ROUNDING = 1e-9
#: Groups up to which a part is enumerated; larger ones are not checked.
LISTED_UP_TO = 2_000


def expansion_proves(covers: Covers, n_items: int, claimed: int) -> bool:
    """Whether the expansion of a table proves that a plan for *double* takes ``claimed`` reviews.

    The eigenvalue is not computed, but proved large enough: bisection gives the smallest slope s that implies the
    claim, and a Cholesky factorisation of the Laplacian less s times the identity (the constant vector lifted) shows
    that no eigenvalue is below. Takes O(N^3) for the factorisation and O(N^2) for each step of the bisection.
    """
    laplacian, largest = _laplacian(covers, n_items)
    slope = least_slope(np.diag(laplacian), largest, claimed)
    return slope is not None and (slope == 0.0 or rises(laplacian, slope))


def least_slope(weight: FloatArray, largest: int, claimed: int) -> float | None:
    """Return a slope, rounded up, that a claim needs; 0 if it needs none, None if none suffices.

    ``weight`` is the weight of each item in the components, ``largest`` the size of the largest component.
    """
    if claimed <= 0:
        return 0.0
    low = 0.0
    high = float(2 * weight.max(initial=0.0))
    if _needed(weight, high, largest) < claimed:
        return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _needed(weight, middle, largest) >= claimed else (middle, high)
    return high


def rises(laplacian: FloatArray, slope: float) -> bool:
    """Whether every eigenvalue of a Laplacian but that of the constant vector is at least a slope."""
    n_items = len(laplacian)
    top = float(2 * np.diag(laplacian).max(initial=0.0))
    lifted = laplacian + (top + slope + 1.0) / n_items - (slope + SLACK * top) * np.eye(n_items)
    try:
        np.linalg.cholesky(lifted)
    except np.linalg.LinAlgError:
        return False
    return True


def _laplacian(covers: Covers, n_items: int) -> tuple[FloatArray, int]:
    """Laplacian in which each component of n spreads n - 2 evenly over its ordered pairs; and the largest n."""
    matrix = np.zeros((n_items, n_items))
    for cover in covers:
        size = len(cover)
        if size > 2:
            share = (size - 2) / (size * (size - 1))
            matrix[np.ix_(cover, cover)] -= share
            matrix[cover, cover] += share * size
    return matrix, max(map(len, covers), default=0)


def _needed(weight: FloatArray, slope: float, largest: int) -> int:
    """Reviews that two blocks need whose union is the first of t items or more, for the best t."""
    n_items = weight.size
    size = np.arange(1, n_items + 1)
    # A block of b items needs b - 2 less what lies inside: at most its weights less the cut, slope b (N - b) / N.
    need = np.maximum(np.cumsum(np.sort(1.0 - weight)) + slope * size * (n_items - size) / n_items - 2.0, 0.0)
    best = 0.0
    for t in range(largest + 1, n_items + 1):
        below = need[: t - 1]
        # The partner of a block of b items has t - b or more.
        from_size_on = np.minimum.accumulate(below[::-1])[::-1]
        best = max(best, float((below + from_size_on[::-1]).min(initial=np.inf)))
    return int(np.ceil(best - 1e-7)) if np.isfinite(best) else 0


def flow_proves(every: Covers, n_items: int, claimed: int, weights: Sequence[float]) -> bool:
    """Whether a flow and its residual prove that a plan for *double* takes ``claimed`` reviews.

    The flow is recomputed source by source, and the residual shares are factorised. The flow connects every item to
    every other whatever the weights, so any weights give a valid proof. Takes O(N E) for the flow and O(N^3) for the
    factorisation.
    """
    covers = [cover for cover in every if len(cover) > 2]
    if sum(map(len, covers)) != len(weights) or not weights:
        return False
    if not all(np.isfinite(weight) and weight > 0.0 for weight in weights):
        return False
    share = np.concatenate([np.full(len(cover), (len(cover) - 2) / len(cover)) for cover in covers])
    held = np.bincount(np.concatenate(covers), weights=share, minlength=n_items).astype(np.float64)
    slope = least_slope(held, max(map(len, every), default=0), claimed)
    sent = _flow_sent(covers, weights, n_items)
    if slope is None or sent is None:
        return False
    # The flow gives a part of the slope; the rest must come from the Laplacian of what it leaves.
    rate = (1.0 - ROUNDING) / float((sent / share).max())
    rest = slope - n_items * rate
    return rest <= 0.0 or rises(_residual_laplacian(covers, share - rate * sent, n_items), rest)


def _flow_sent(covers: Covers, weights: Sequence[float], n_items: int) -> FloatArray | None:
    """Return what leaves each item into each component if all send a unit to all others; None if impossible."""
    of_item: list[list[tuple[int, int, float]]] = [[] for _ in range(n_items)]
    of_component: list[list[tuple[int, int, float]]] = []
    slot = 0
    for c, cover in enumerate(covers):
        of_component.append([(slot + k, i, weights[slot + k]) for k, i in enumerate(cover)])
        for k, i in enumerate(cover):
            of_item[i].append((slot + k, c, weights[slot + k]))
        slot += len(cover)
    sent = np.zeros(slot)
    for source in range(n_items):
        if not _send_from(source, (of_item, of_component), sent):
            return None
    return sent if bool(np.isfinite(sent).all() and (sent >= 0.0).all()) else None


def _send_from(source: int, ways: Ways, sent: FloatArray) -> bool:
    """Add the flow of one source to ``sent``; false where positive weights do not reach all items."""
    of_item, of_component = ways
    # Forwards: layers of items and of components, each with the weight of all shortest ways to it.
    layers: list[dict[int, float]] = [{source: 1.0}]
    passed: list[dict[int, float]] = []
    seen = {source}
    used = set[int]()
    while layers[-1]:
        through: dict[int, float] = {}
        for x, weight in layers[-1].items():
            for _, c, own in of_item[x]:
                if c not in used:
                    through[c] = through.get(c, 0.0) + weight * own
        used |= through.keys()
        layer: dict[int, float] = {}
        for c, weight in through.items():
            for _, y, own in of_component[c]:
                if y not in seen:
                    layer[y] = layer.get(y, 0.0) + weight * own
        seen |= layer.keys()
        passed.append(through)
        layers.append(layer)
    if len(seen) < len(of_item) or not all(0.0 < w < np.inf for layer in layers for w in layer.values()):
        return False
    # Backwards: an item keeps one unit and asks the components before it for that and for what it passes on.
    passes: dict[int, float] = {}
    for step in range(len(passed) - 1, -1, -1):
        after = layers[step + 1]
        before = layers[step]
        for c in passed[step]:
            demand = sum(own * (1.0 + passes.get(y, 0.0)) / after[y] for _, y, own in of_component[c] if y in after)
            for k, x, own in of_component[c]:
                if x in before and demand > 0.0:
                    amount = own * before[x] * demand
                    sent[k] += amount
                    passes[x] = passes.get(x, 0.0) + amount
    # Nothing got lost: what left the source is a unit for every other item.
    return abs(passes.get(source, 0.0) - (len(of_item) - 1)) <= ROUNDING * len(of_item)


def _residual_laplacian(covers: Covers, residual: FloatArray, n_items: int) -> FloatArray:
    """Laplacian in which two items of a component of n share the smaller of their residuals, over n - 1."""
    laplacian = np.zeros((n_items, n_items))
    first = 0
    for cover in covers:
        mine = np.maximum(residual[first : first + len(cover)], 0.0) / (len(cover) - 1)
        for a, x in enumerate(cover):
            for b, y in enumerate(cover):
                if a != b:
                    laplacian[x, y] -= min(mine[a], mine[b])
                    laplacian[x, x] += min(mine[a], mine[b])
        first += len(cover)
    return laplacian


def wrong_parts(covers: Covers, n_items: int, value: int, parts: Sequence[int], fixed: int) -> str | None:
    """Return what is wrong with a bound of the kind ``parts`` or ``groups``, ``fixed`` reviews included, or None.

    Hanging components are removed, and the degrees of freedom of the parts are counted. A part that claims more than
    those (and more than 1) is enumerated, unless it has more than ``LISTED_UP_TO`` groups.
    """
    sets = {c: frozenset(cover) for c, cover in enumerate(covers)}
    large = {c: cover for c, cover in sets.items() if len(cover) > 1}
    if large:
        fringe, apart = _taken_apart(large)
        fringe += n_items - len(frozenset().union(*large.values()))
    else:
        fringe = n_items - max(map(len, sets.values()), default=0)
        apart = []
    if len(apart) != len(parts) or value != fixed + fringe + sum(parts):
        return f"of {value} claims {list(parts)} for parts; recomputed {len(apart)} and {fringe}"
    for part, price in zip(apart, parts, strict=True):
        items = frozenset[int]().union(*part.values())
        saved = len(items) - 2 - sum(len(cover) - 2 for cover in part.values())
        links = missing_links(part, sorted(items))
        simple = price <= max(1, links) or (price == saved + 1 and _wastes_one(part))
        if not simple and _listed_price(part, price) < price:
            return f"of {value}: a part of {len(part)} components takes fewer than {price} reviews"
    return None


def _taken_apart(covers: Part) -> tuple[int, list[Part]]:
    """Return the price of components hanging by two items or fewer, and the connected rest, by smallest item."""
    owners: dict[int, set[int]] = {}
    for c, cover in covers.items():
        for i in cover:
            owners.setdefault(i, set()).add(c)
    # A cover that shares s <= 2 items with all others joins them by 2 - s reviews, whenever it does.
    price = 0
    remaining = set(covers)
    waiting = set(covers)
    while waiting and len(remaining) > 1:
        c = waiting.pop()
        shared = sum(len(owners[i]) > 1 for i in covers[c])
        if c in remaining and shared <= 2:
            price += 2 - shared
            remaining.remove(c)
            for i in covers[c]:
                owners[i].remove(c)
                waiting |= owners[i]
    # Items of one owner tell nothing more; pieces without a common item cost two reviews each to join.
    if len(remaining) == 1:
        return price, []
    rest = {c: frozenset(i for i in covers[c] if len(owners[i]) > 1) for c in sorted(remaining)}
    classes = pieces(rest, sorted(frozenset[int]().union(*rest.values())))
    apart: dict[Any, Part] = {}
    for c, cover in rest.items():
        apart.setdefault(classes.of((0, c)), {})[c] = cover
    return price + 2 * (len(apart) - 1), sorted(apart.values(), key=lambda part: min(map(min, part.values())))


def _wastes_one(part: Part) -> bool:
    """Whether the last merge of a part wastes a paper, however it splits it: no two papers hold it together."""
    items = sorted(frozenset().union(*part.values()))
    place = {i: len(part) + n for n, i in enumerate(items)}
    near: list[list[int]] = [[place[i] for i in cover] for cover in part.values()] + [[] for _ in items]
    for component in range(len(part)):
        for node in near[component]:
            near[node].append(component)
    return all(_holds_without(near, len(part), gone) for gone in place.values())


def _holds_without(near: list[list[int]], components: int, gone: int) -> bool:
    """Whether a graph without a node is connected, and no other item cuts it (depth-first from component 0)."""
    # Tarjan's low points, with the node that is gone below everything so that no path enters it.
    depth = [-1] * len(near)
    low = [0] * len(near)
    depth[gone] = len(near)
    depth[0] = 0
    path = [0]
    waiting = [iter(near[0])]
    seen = 1
    while path:
        node = path[-1]
        for other in waiting[-1]:
            if depth[other] < 0:
                depth[other] = low[other] = len(path)
                path.append(other)
                waiting.append(iter(near[other]))
                seen += 1
                break
            if other != gone:
                low[node] = min(low[node], depth[other])
        else:
            path.pop()
            waiting.pop()
            if path:
                # An item cuts the graph if what hangs below it reaches no higher; the root is no item.
                above = path[-1]
                if above >= components and low[node] >= depth[above]:
                    return False
                low[above] = min(low[above], low[node])
    return seen == len(near) - 1


def _listed_price(part: Part, enough: int) -> int:
    """Fewest reviews that make one group of a part, or ``enough`` if those or too many groups."""
    # Covers as bits of one number; levels[p] holds the groups that exactly p reviews can make.
    names = {i: n for n, i in enumerate(sorted(frozenset().union(*part.values())))}
    covers = [sum(1 << names[i] for i in cover) for cover in part.values()]
    full = (1 << len(names)) - 1
    levels = [set(covers)]
    for price in range(1, enough):
        # The last review brings one more cover to a group that shares one item with it,
        new = {
            _grown(group | cover, covers)
            for group in levels[-1]
            for cover in covers
            if (group & cover).bit_count() == 1
        }
        # or the last merge is of two groups that share two items and have paid for themselves.
        for small in range(1, price // 2 + 1):
            large = levels[price - small]
            new |= {
                _grown(a | b, covers) for a in levels[small] for b in large if (a & b).bit_count() > 1 and a | b != a
            }
        if full in new:
            return price
        levels.append(new)
        if sum(map(len, levels)) > LISTED_UP_TO:
            break
    return enough


def _grown(group: int, covers: list[int]) -> int:
    """Items of a group once all covers that share two with it have joined."""
    grew = True
    while grew:
        grew = False
        for cover in covers:
            if (group & cover).bit_count() > 1 and cover & ~group:
                group = group | cover
                grew = True
    return group


#: Sets of reviews, and reviews in all of them, those of the table included, up to which plans are enumerated.
MOST_SETS = 5_000
MOST_TRIED = 1_000_000
#: Pairs of a reviewer and a paper in need up to which smaller loads are tried.
MOST_LOADS = 200_000


class Case:
    """What a plan starts from: its rules, the target level, and the reviews with the fixed ones."""

    def __init__(self, rules: PlainRules, target: str) -> None:
        self.rules = rules
        self.target = target
        self.base = rules.after(rules.fixed)

    def reached(self, pairs: Iterable[Pair] = ()) -> bool:
        """Whether new reviews with the fixed ones reach the level, and give every item what it needs."""
        return not self.rules.lacks(pairs) and holds(
            self.target, self.rules.after((*self.rules.fixed, *pairs)), use_scores=self.rules.use_scores
        )

    def implies(self, weakest: str | None) -> bool:
        """Whether the target implies a level; every target implies None."""
        return weakest is None or level_named(self.target).implies(level_named(weakest))

    @cached_property
    def pairs(self) -> list[Pair]:
        """The possible new pairs, each alone in addition to the fixed ones."""
        return [*self.rules.open_pairs()]

    @cached_property
    def links(self) -> int:
        """Links missing with the fixed reviews."""
        return missing_links(self.base.rows(), self.base.items)

    def links_with(self, pairs: Iterable[Pair]) -> int:
        """Return the number of missing links that more reviews add."""
        return self.links - missing_links(self.base.with_pairs(pairs).rows(), self.base.items)

    def covers(self) -> list[list[int]]:
        """Return the covers of the doubly connected components, of items by number."""
        number = {item: place for place, item in enumerate(self.base.items)}
        components = groups(self.base.rows(), self.base.items)
        return [sorted(number[item] for item in group.items) for group in components]

    def plans(self, most: int) -> Iterator[tuple[Pair, ...]]:
        """Yield sets of at most ``most`` new reviews that the rules allow and that reach the level.

        Each set is extended by later pairs only, and not where it reaches the level already. Raises TooLarge beyond
        :data:`MOST_SETS` sets, or :data:`MOST_TRIED` reviews in them.
        """
        tried = size = 0

        def reached(pairs: tuple[Pair, ...]) -> bool:
            nonlocal tried, size
            tried = tried + 1
            size = size + len(self.base.score) + len(pairs)
            if tried > MOST_SETS or size > MOST_TRIED:
                message = "there are too many plans to enumerate"
                raise TooLarge(message)
            return self.reached(pairs)

        def extend(chosen: tuple[Pair, ...], first: int) -> Iterator[tuple[Pair, ...]]:
            if reached(chosen):
                yield chosen
                return
            # More reviews never harm: where all that may still come do not suffice, no part of them does.
            if len(chosen) == most or first == len(self.pairs) or not reached((*chosen, *self.pairs[first:])):
                return
            for place, pair in enumerate(self.pairs[first:], first + 1):
                everything = (*self.rules.fixed, *chosen, pair)
                if self.rules.exceeded(everything) is None and self.rules.why_barred(pair, everything[:-1]) is None:
                    yield from extend((*chosen, pair), place)

        yield from extend((), 0)

    def replayed(self, pairs: Iterable[Pair], merges: Iterable[Any]) -> tuple[int, set[str]]:
        """Replay merges (a, b, u, v) of the groups of reviewers a and b, which both cover items u and v, by number.

        ``pairs`` are all reviews of a plan.
        Returns the row that fails to join two groups, or -1, and the largest set of items that the merges lead to;
        items that scores do not tell apart carry no scale.
        """
        table = self.rules.after(pairs)
        own = self.rules.table
        names = (own.reviewers, own.reviewers, own.items, own.items)
        rows = list[Any]()
        for place, row in enumerate(merges):
            whole = isinstance(row, list) and len(row) == len(names) and all(type(code) is int for code in row)
            if not whole or not all(0 <= code < len(labels) for code, labels in zip(row, names, strict=True)):
                return place, set()
            rows.append(tuple(labels[code] for code, labels in zip(row, names, strict=True)))
        score = table.score if self.rules.use_scores else None
        wrong, covered = replayed(table.rows(), table.items, rows, score)
        alike = score is not None and len(table.items) > 1 and len(tie_classes(score, table.items)) < 2
        return wrong, set() if alike else covered

    def why_no_smaller_load(self, pairs: Collection[Pair], least: int) -> str | None:
        """Return why the reviews of a plan, or what papers need, take a load of ``least``; empty if smaller ones do.

        None for too many pairs.
        """
        rules = self.rules
        fixed = Counter(reviewer for reviewer, _ in self.rules.fixed)
        # Loads below the least one, beyond the fixed reviews.
        loads = {}
        for who in rules.table.reviewers:
            willing = rules.willing is None or who in rules.willing or fixed[who]
            room = rules.spare.get(who, len(pairs)) if willing else 0
            loads[who] = 0, max(min(room, least - 1) - fixed[who], 0)
        new = len(pairs) - len(rules.fixed)
        if max(fixed.values(), default=0) >= least or sum(high for _, high in loads.values()) < new:
            return "with smaller loads there are fewer reviews"
        # As many reviews can be given; can every paper get what it needs?
        needs = rules.lacks()
        if len(needs) * len(loads) > MOST_LOADS:
            return None
        enough = can_be_met(needs, (pair for pair in self.pairs if pair[1] in needs), loads)
        return "" if enough else "with smaller loads papers lack what they need"

    def knows(self, kind: str) -> bool:
        """Whether there are bounds of a kind for the target."""
        return kind in WEAKEST and self.implies(WEAKEST[kind])

    def check_bound(
        self, value: int, kind: str, weights: Sequence[float] | None = None, parts: Sequence[int] = ()
    ) -> tuple[str | None, bool]:
        """Return what is wrong with a bound on new and fixed reviews together, and whether it remains unchecked.

        With ``weights`` of its flow, empty for other kinds, the proof of its kind must hold, by its ``parts`` if it has
        any; without, any other will do.
        """
        claimed = value - len(self.rules.fixed)
        fixed = len(self.rules.fixed)
        if kind not in WEAKEST:
            return f"there is no kind of bound called {cut(repr(kind))}", False
        if parts or (weights is not None and kind in LISTED):
            return wrong_parts(self.covers(), len(self.base.items), value, parts, fixed), False
        if claimed <= 0:
            return None, False
        try:
            if kind in COUNTED:
                weakest, count = COUNTED[kind]
                actual = count(self) if self.implies(weakest) else 0
                return (None if claimed <= actual else f"claims {value} ({kind}); recomputed {actual + fixed}"), False
            if kind == LOSS and self.implies(WEAKEST[LOSS]) and any(n >= claimed for n in _after_losses(self)):
                return None, False
            if weights is not None and kind in {*PROVED, LOSS}:
                proved = kind in PROVED and PROVED[kind](self, claimed, weights)
                return (None if proved else f"claims {value} ({kind}), and that many are not needed by it"), False
            if claimed <= max(count(self) for weakest, count in COUNTED.values() if self.implies(weakest)):
                return None, False
            smaller = next(self.plans(claimed - 1), None)
        except TooLarge:
            return None, True
        return (None if smaller is None else f"claims {value} ({kind}), and {len(smaller) + fixed} reviews do"), False

    def wrong_prices(
        self, new: Collection[Pair], prices: Mapping[str, int], whole: Callable[[Pair], int]
    ) -> str | None:
        """Return what is wrong with prices of reviewers that are to prove a plan for *recoverable* cheapest, or None.

        The plan is a base of minimum cost plus price if, at each of its prices, it spans what is cheaper; ``whole`` is
        the cost of a pair in whole units.
        """
        load = Counter(reviewer for reviewer, _ in (*self.rules.fixed, *new))
        paid_for = {reviewer: price for reviewer, price in prices.items() if price}
        if any(price < 0 or load[who] < self.rules.spare.get(who, load[who] + 1) for who, price in paid_for.items()):
            return "a price is negative, or stands on a reviewer who has spare load left"
        if self.links != len(new):
            return f"{len(new)} reviews for {self.links} missing links: the prices prove nothing"

        def price(pair: Pair) -> int:
            return whole(pair) + prices.get(pair[0], 0)

        paid = sorted(map(price, new))
        reviews = self.base.loads()
        offered = [(price(pair), pair) for pair in self.pairs if reviews[pair[0]] >= 2]
        for value in sorted(set(paid)):
            cheaper = self.links_with(pair for cost, pair in offered if cost < value)
            if cheaper != sum(cost < value for cost in paid):
                return "with the prices given, a cheaper plan exists"
        return None

    def wrong_shortage(self, short: Iterable[str]) -> str | None:
        """Return why some reviewers do not prove that no plan for *recoverable* exists, or None.

        Those of two reviews or more among them make no more links than all their reviews together; everybody else makes
        one per review, except for the first ones of reviewers of fewer than two.
        """
        takes = self.rules.takes
        reviews = self.base.loads()
        few = {reviewer for reviewer in short if reviews[reviewer] >= 2}
        links = self.links_with(pair for pair in self.pairs if pair[0] in few)
        others = sum(max(takes(who) - max(2 - count, 0), 0) for who, count in reviews.items() if who not in few)
        if links + others < self.links:
            return None
        missing = self.links
        return f"{links} and {others} links suffice for the {missing} missing ones: no proof that there is no plan"


def _pieces(case: Case) -> int:
    """All components but one need a link, and so does a single item without reviews."""
    table = case.base
    classes = pieces(table.rows(), table.items)
    count = len({classes.of((1, item)) for item in table.items})
    return max(count - 1, int(bool(table.items) and not table.score))


def _loads(case: Case) -> int:
    """Links, and the reviews lost on reviewers of fewer than two: two less what they have."""
    # What each reviewer can add at most, by how many of two reviews they have; the first of them make no links.
    useful: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for reviewer, own in case.base.rows().items():
        reviews = min(len(own), 2)
        useful[reviews].append(max(case.rules.takes(reviewer) - (2 - reviews), 0))
    short = case.links - sum(useful[2])
    one, none = ([0, *accumulate(sorted(useful[reviews], reverse=True))] for reviews in (1, 0))
    lost = list[int]()
    ones = len(one) - 1
    for zeros, links in enumerate(none):
        # The more reviewers of none are asked, the fewer of one are needed.
        while ones > 0 and one[ones - 1] + links >= short:
            ones -= 1
        if one[ones] + links >= short:
            lost.append(ones + 2 * zeros)
    return case.links + min(lost, default=0)


def _after_losses(case: Case) -> Iterator[int]:
    """Yield the links missing after each loss to survive; and without one, plus the link that may be lost, too.

    Without a loss at least one review is missing if the table is not doubly connected.

    Raises TooLarge if there are too many losses.
    """
    single = case.target == SurvivesReview.name
    rules = case.rules
    yield max(_loads(case), 1) + 1 if single and not holds(Double.name, case.base) else _loads(case)
    losses = [{pair} for pair in case.base.score] if single else []
    if not single:
        losses = [{(who, item) for item in own} for who, own in case.base.rows().items() if own]
    expect_small(case.base, len(losses))
    for lost in sorted(losses, key=len, reverse=True):
        gone = {} if single else dict.fromkeys((who for who, _ in lost), 0)
        fixed = tuple(pair for pair in rules.fixed if pair not in lost)
        table = rules.table.without(lost)
        barred = rules.barred | lost
        remaining = replace(rules, table=table, fixed=fixed, barred=barred, spare={**rules.spare, **gone})
        yield _loads(Case(remaining, Double.name))


#: Kinds of bounds that are counts: the weakest level for which each holds, None for any, and its count.
COUNTED: dict[str, tuple[str | None, Callable[[Case], int]]] = {
    "unfinished": (None, lambda case: int(not case.reached())),
    # Each item needs two reviews, to keep one after a loss.
    "two a paper": (
        SurvivesReview.name,
        lambda case: sum(max(2 - count, 0) for count in case.base.reviews_of().values()),
    ),
    "coverage": (None, lambda case: sum(case.rules.lacks().values())),
    "pieces": (Connected.name, _pieces),
    "degrees of freedom": (Recoverable.name, lambda case: case.links),
    "loads": (Recoverable.name, _loads),
}


#: Kinds that list the prices of parts.
LISTED = ("parts", "groups")
#: Proofs of kinds that need no search, where a plan has a certificate.
PROVED: dict[str, Callable[[Case, int, Sequence[float]], bool]] = {
    "expansion": lambda case, claimed, _: expansion_proves(case.covers(), len(case.base.items), claimed),
    "flow": lambda case, claimed, weights: flow_proves(case.covers(), len(case.base.items), claimed, weights),
}
#: The kind of bounds after one loss.
LOSS = "a loss"
#: The weakest level for which each kind holds, None for any; the last proofs take a search or a certificate.
WEAKEST = {
    **{kind: weakest for kind, (weakest, _) in COUNTED.items()},
    **dict.fromkeys((*PROVED, *LISTED), Double.name),
    "cuts": None,
    LOSS: SurvivesReview.name,
}

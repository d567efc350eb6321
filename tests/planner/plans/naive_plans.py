"""Plans by brute force: every set of allowed pairs, smallest first. Shares no code with the planner."""

from collections.abc import Callable
from functools import cache
from itertools import chain, combinations
from math import comb

from tests.naive import PRIME, equations, rank


def closed(covers: list[int], shared: int = 2) -> list[int]:
    """Merge item sets (bit masks) while two of them share so many items."""
    groups = list(covers)
    while True:
        pairs = combinations(range(len(groups)), 2)
        near = next(((a, b) for a, b in pairs if (groups[a] & groups[b]).bit_count() >= shared), None)
        if near is None:
            return groups
        groups[near[0]] |= groups.pop(near[1])


def is_double(covers: list[int], n_items: int) -> bool:
    return any(group == (1 << n_items) - 1 for group in closed(covers)) or n_items == 0


def is_connected(covers: list[int], n_items: int) -> bool:
    groups = closed([cover for cover in covers if cover], 1)
    return n_items == 0 or groups == [(1 << n_items) - 1] or (n_items == 1 and bool(groups))


def is_recoverable(covers: list[int], n_items: int) -> bool:
    """Rank of the equations z_i = s_j x_i + t_j at random qualities, over a prime field."""
    rows = [members(cover) for cover in covers]
    live = sum(len(row) >= 2 for row in rows)
    if {*chain(*rows)} != {*range(n_items)}:
        return False
    quality = [pow(48271, 7 * i + 3, PRIME) for i in range(n_items)]
    return n_items < 2 or (live > 0 and n_items + 2 * live - 2 == rank(equations(rows, quality)))


def survives_reviewer(covers: list[int], n_items: int) -> bool:
    """Double, and double without each reviewer."""
    rest = [covers[:j] + covers[j + 1 :] for j in range(len(covers))]
    return all(is_double(left, n_items) for left in [covers, *rest])


def survives_review(covers: list[int], n_items: int) -> bool:
    """Double, and double without each review."""
    reviews = [(j, i) for j, cover in enumerate(covers) for i in members(cover)]
    rest = [[*covers[:j], covers[j] & ~(1 << i), *covers[j + 1 :]] for j, i in reviews]
    return all(is_double(left, n_items) for left in [covers, *rest])


LEVELS = {
    "survives-reviewer": survives_reviewer,
    "survives-review": survives_review,
    "double": is_double,
    "connected": is_connected,
    "recoverable": is_recoverable,
}


def smallest_plan(
    covers: list[int],
    n_items: int,
    allowed: list[tuple[int, int]],
    spare: list[int],
    room: list[int],
    cost: dict[tuple[int, int], float],
    target: str | Callable[[list[int], int], bool],
    most_sets: int = 60_000,
) -> tuple[int, float] | str | None:
    """Count and cost of the best plan, None if there is none, ``"too many"`` if that takes too many sets."""
    reached = LEVELS[target] if isinstance(target, str) else target
    if not reached(_with(covers, allowed), n_items):
        return None
    tried = 0
    for size in range(len(allowed) + 1):
        tried += comb(len(allowed), size)
        if tried > most_sets:
            return "too many"
        best, possible = None, False
        for chosen in combinations(allowed, size):
            if not _within(chosen, spare, room):
                continue
            possible = True
            price = sum(cost.get(pair, 1.0) for pair in chosen)
            if (best is None or price < best - 1e-9) and reached(_with(covers, chosen), n_items):
                best = price
        if best is not None:
            return size, best
        if not possible:
            return None
    return None


def _with(covers: list[int], pairs: object) -> list[int]:
    more = list(covers)
    for j, i in pairs:  # type: ignore[attr-defined]
        more[j] |= 1 << i
    return more


def _within(pairs: tuple[tuple[int, int], ...], spare: list[int], room: list[int]) -> bool:
    loads, used = [0] * len(spare), [0] * len(room)
    for j, i in pairs:
        loads[j] += 1
        used[i] += 1
    return all(a <= b for a, b in zip(loads, spare, strict=True)) and all(
        a <= b for a, b in zip(used, room, strict=True)
    )


def blocks(covers: list[int], n_items: int, target: str) -> list[int]:
    """Maximal groups of items at a level, as bit masks; by every set of reviewers for *recoverable*."""
    if target == "double":
        return closed(covers)
    if target == "connected":
        return closed([cover for cover in covers if cover] + [1 << i for i in range(n_items)], 1)
    found = [cover & -cover for cover in covers if cover][:1]
    live = [j for j, cover in enumerate(covers) if cover.bit_count() >= 2]
    for size in range(1, len(live) + 1):
        for chosen in combinations(live, size):
            union = 0
            for j in chosen:
                union |= covers[j]
            place = {i: k for k, i in enumerate(i for i in range(n_items) if union >> i & 1)}
            dense = [sum(1 << place[i] for i in place if covers[j] >> i & 1) for j in chosen]
            if is_recoverable(dense, len(place)):
                found.append(union)
    return found


def members(group: int) -> list[int]:
    return [i for i in range(group.bit_length()) if group >> i & 1]


def largest(covers: list[int], n_items: int, target: str) -> list[int]:
    """Items of the largest group, the first of equals."""
    groups = [members(group) for group in blocks(covers, n_items, target)]
    most = max((len(group) for group in groups), default=0)
    return min((group for group in groups if len(group) == most), default=[])


def best_within(
    covers: list[int],
    n_items: int,
    allowed: list[tuple[int, int]],
    spare: list[int],
    room: list[int],
    target: str,
    budget: int,
) -> tuple[int, int]:
    """Papers in the largest group, and number of reviews, of the best set within a budget."""
    best = (-1, 0)
    for size in range(min(budget, len(allowed)) + 1):
        for chosen in combinations(allowed, size):
            if _within(chosen, spare, room):
                best = max(best, (len(largest(_with(covers, chosen), n_items, target)), -size))
    return best[0], -best[1]


def fewest_joins(covers: list[int]) -> int:
    """Price of merging item sets (bit masks) to one, where two that share t items cost max(0, 2 - t)."""
    n = len(covers)

    @cache
    def union(chosen: int) -> int:
        found = 0
        for k in range(n):
            if chosen >> k & 1:
                found |= covers[k]
        return found

    @cache
    def price(chosen: int) -> int:
        if chosen & (chosen - 1) == 0:
            return 0
        best, first = 10**9, chosen & -chosen
        rest = chosen ^ first
        part = rest
        while True:  # one side holds the first member and all but a non-empty set ``part`` of the others
            if part:
                shared = (union(chosen ^ part) & union(part)).bit_count()
                best = min(best, price(chosen ^ part) + price(part) + max(0, 2 - shared))
            if part == 0:
                return best
            part = (part - 1) & rest

    return price((1 << n) - 1)


def grown(group: int, covers: list[int]) -> int:
    """Items of a group once all covers that share two with it have joined."""
    grew = True
    while grew:
        grew = False
        for cover in covers:
            if (group & cover).bit_count() > 1 and cover & ~group:
                group, grew = group | cover, True
    return group


def groups_by_price(covers: list[int], most: int) -> list[set[int]]:
    """Items of the closed groups that 0, 1, ..., ``most`` joins make, every union of two that share two items tried."""
    levels = [set(covers)]
    for price in range(1, most + 1):
        hung = (group | cover for group in levels[-1] for cover in covers if (group & cover).bit_count() == 1)
        new = {grown(group, covers) for group in hung}
        for small in range(1, price // 2 + 1):
            pairs = ((a, b) for a in levels[price - small] for b in levels[small])
            new |= {grown(a | b, covers) for a, b in pairs if (a & b).bit_count() > 1}
        levels.append(new)
    return levels

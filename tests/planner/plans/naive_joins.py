"""Fewest joins by trying every tree of merges. Shares no code with the planner."""

from functools import cache


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

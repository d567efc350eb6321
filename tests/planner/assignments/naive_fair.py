"""Fairness by trying every assignment, and alternates by making every exchange; small markets only."""

from __future__ import annotations

from collections import Counter
from itertools import combinations


def assignments(affinity, demand, load, *, min_load=None, conflicts=(), fixed=(), institutions=None):
    """Every assignment within demands, loads, conflicts and institutions, as dictionaries paper -> panel."""
    barred, must = set(conflicts), set(fixed)
    panels = {}
    for paper, number in demand.items():
        able = [r for r in load if ((r, paper) in affinity and (r, paper) not in barred) or (r, paper) in must]
        panels[paper] = [
            panel for panel in combinations(able, number)
            if all(r in panel for r, p in must if p == paper) and not _colleagues(panel, institutions)
        ]  # fmt: skip
    papers = list(demand)

    def extend(k, chosen, held):
        if k == len(papers):
            if all(held[r] >= (min_load or {}).get(r, 0) for r in load):
                yield dict(chosen)
            return
        for panel in panels[papers[k]]:
            if all(held[r] < load[r] for r in panel):
                held.update(panel)
                yield from extend(k + 1, {**chosen, papers[k]: panel}, held)
                held.subtract(panel)

    yield from extend(0, {}, Counter())


def _colleagues(panel, institutions):
    homes = [institutions[r] for r in panel if institutions and r in institutions]
    return len(set(homes)) < len(homes)


def scores(panels, affinity):
    """Sums of affinities of the papers that have reviewers, the smallest first."""
    return sorted(sum(affinity.get((r, paper), 0.0) for r in panel) for paper, panel in panels.items() if panel)


def fairest(found, affinity):
    """The largest smallest score, and the most affinity with it; None without assignments or papers."""
    rising = [scores(panels, affinity) for panels in found]
    if not any(rising):
        return None
    return max((low[0], sum(low)) for low in rising)


def most_with_floor(found, affinity, floor):
    """The most affinity with no score below a floor, up to rounding; None where there is none."""
    fine = [
        rising for rising in (scores(panels, affinity) for panels in found) if all(x >= floor - 1e-9 for x in rising)
    ]
    return max(map(sum, fine), default=None)


def most_with_good(found, affinity, floor):
    """The most affinity with a reviewer at the floor on every paper; None where there is none."""
    fine = [
        sum(scores(panels, affinity))
        for panels in found
        if all(max(affinity.get((r, paper), 0.0) for r in panel) >= floor for paper, panel in panels.items() if panel)
    ]
    return max(fine, default=None)


def can_replace(pairs, paper, alternate, gone, *, affinity, load, conflicts=(), institutions=None, level=None):
    """Whether a reviewer can take another's place on a paper, the rest being as it is."""
    if (alternate, paper) in pairs or (alternate, paper) not in affinity or (alternate, paper) in set(conflicts):
        return False
    if sum(r == alternate for r, _ in pairs) >= load[alternate]:
        return False
    after = [pair for pair in pairs if pair != (gone, paper)] + [(alternate, paper)]
    if _colleagues([r for r, p in after if p == paper], institutions):
        return False
    return level is None or level(after, {p for _, p in pairs})

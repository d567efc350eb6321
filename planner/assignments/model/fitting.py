"""Kernels that tell whether a reviewer may replace another on a paper, by the rules on its panel, floors and rivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reviewgraph.kernels.compiling import kernel

if TYPE_CHECKING:
    from planner.assignments.model.state import Network
    from planner.panels.groups import Panels
    from reviewgraph.labels import IntArray

#: Above every distance: costs are below 2**42 and no path is longer than the number of nodes.
FAR = 1 << 62


@kernel
def belongs(panels: Panels, reviewer: int, group: int) -> bool:
    """Whether a reviewer is of a group."""
    found = False
    for slot in range(panels.start[reviewer], panels.start[reviewer + 1]):
        found = found or panels.group[slot] == group
    return found


@kernel
def sharing(net: Network, item: int, group: int, without: int) -> int:
    """Count the reviewers of an item who are of a group, one of them aside."""
    count = 0
    for slot in range(net.panel_start[item], net.panel_start[item] + net.n_panel[item]):
        other = net.reviewer[net.panel[slot]]
        if other != without and belongs(net.panels, other, group):
            count += 1
    return count


@kernel
def different(net: Network, item: int, attribute: int, leaving: int, entering: int) -> int:
    """Count the groups of an attribute on an item once a reviewer has replaced another."""
    panels, count = net.panels, 0
    for slot in range(panels.start[entering], panels.start[entering + 1]):
        if panels.attribute[panels.group[slot]] == attribute:
            count += 1
    # Everybody else brings the groups that neither she nor anybody further on has.
    first, end = net.panel_start[item], net.panel_start[item] + net.n_panel[item]
    for place in range(first, end):
        other = net.reviewer[net.panel[place]]
        if other == leaving:
            continue
        for slot in range(panels.start[other], panels.start[other + 1]):
            g = panels.group[slot]
            fresh = panels.attribute[g] == attribute and not belongs(panels, entering, g)
            for later in range(place + 1, end):
                third = net.reviewer[net.panel[later]]
                fresh = fresh and (third == leaving or not belongs(panels, third, g))
            if fresh:
                count += 1
    return count


@kernel
def toll(net: Network, item: int, leaving: int, entering: int) -> int:
    """Cost beyond that of the pairs when a reviewer replaces another on an item: rewards lost, less rewards gained.

    FAR where a rule forbids it.
    """
    if not net.bound[item]:
        return 0
    panels, cost = net.panels, 0
    # What she brings: no group above its most.
    for slot in range(panels.start[entering], panels.start[entering + 1]):
        g = panels.group[slot]
        others = sharing(net, item, g, leaving)
        if others >= panels.most[g]:
            return FAR
        if others == 0 and not belongs(panels, leaving, g):
            cost -= net.bonus[panels.attribute[g]]
    # What goes with the other one: no group below its least, and enough different ones stay.
    for slot in range(panels.start[leaving], panels.start[leaving + 1]):
        g = panels.group[slot]
        if belongs(panels, entering, g):
            continue
        others = sharing(net, item, g, leaving)
        if others < panels.least[g]:
            return FAR
        a = panels.attribute[g]
        if others == 0:
            cost += net.bonus[a]
            if panels.different[a] > 0 and different(net, item, a, leaving, entering) < panels.different[a]:
                return FAR
    return cost


@kernel
def fits(net: Network, item: int, leaving: int, entering: int) -> bool:
    """Whether a reviewer may replace another on an item without breaking a rule or losing a reward."""
    return toll(net, item, leaving, entering) <= 0


@kernel
def serves(net: Network, item: int, leaving: int, entering: int) -> bool:
    """Whether an item stays above its floors when a pair enters its panel and another leaves it."""
    if not net.floored[0]:
        return True
    total, best = net.value[entering], net.value[entering]
    for slot in range(net.panel_start[item], net.panel_start[item] + net.n_panel[item]):
        p = net.panel[slot]
        if p != leaving:
            total += net.value[p]
            best = max(best, net.value[p])
    return bool(total >= net.floor[item] and best >= net.peak[item])


@kernel
def free_of_rivals(net: Network, pair: int, leaving: int) -> bool:
    """Whether no rival of a pair is assigned, but for one that leaves for it."""
    free = bool(net.n_rivals[pair] == 0)
    if net.n_rivals[pair] == 1:
        for slot in range(net.rival_start[pair], net.rival_start[pair + 1]):
            free = free or bool(net.rival[slot] == leaving)
    return free


@kernel
def barred(net: Network, pair: int) -> bool:
    """Whether rivals keep a pair out, whoever leaves its item for it."""
    count = 0
    for slot in range(net.rival_start[pair], net.rival_start[pair + 1]):
        rival = net.rival[slot]
        if net.assigned[rival]:
            count += 1 if net.item[rival] == net.item[pair] else 2
    return count > 1


@kernel
def clash(net: Network, pairs: IntArray) -> int:
    """One of the pairs, but for the first, that would come in together with a rival; -1 where none would."""
    for k in range(1, pairs.size):
        p = pairs[k]
        if net.assigned[p] or net.rival_start[p] == net.rival_start[p + 1]:
            continue
        for slot in range(net.rival_start[p], net.rival_start[p + 1]):
            for other in pairs:
                if other == net.rival[slot] and not net.assigned[other]:
                    return int(p)
    return -1

"""Kernels of the pebble game for the count matroid ``|R'| <= items(R') + 2 reviewers(R') - 2``.

Bodies (reviewers, or components already known to be rigid) hold two pebbles and items one. An accepted review
is covered by a pebble of one of its ends and points from that end to the other; a review is independent of the
accepted ones if all three pebbles of its ends can be gathered, by following directions and
reversing the way to a free pebble (Lee and Streinu 2008, with l = 2). When the third pebble cannot be had,
everything the search reached is rigid: those bodies become one body, whose items point to it.

Vertices are bodies 0..B-1 and items B..B+N-1. Body b reviews ``item[start[b]:start[b + 1]]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.kernels.compiling import kernel
from reviewgraph.kernels.union_find import find

if TYPE_CHECKING:
    from reviewgraph.arrays import BoolArray
    from reviewgraph.labels import IntArray

#: Values of ``Game.out`` beside vertices: a pebble that covers nothing, and a pebble that does not exist.
FREE, NONE = -1, -2


class Game(NamedTuple):
    """The state of the game.

    ``out[v, k]`` is the vertex that pebble k of v points to, ``review[v, k]`` the review it covers (-1 inside a
    rigid body); ``parent`` joins bodies; ``seen[v]`` is the last search that reached v, ``back`` and ``slot`` the way
    it came, ``stack`` its work.
    """

    out: IntArray
    review: IntArray
    parent: IntArray
    seen: IntArray
    back: IntArray
    slot: IntArray
    stack: IntArray


@kernel
def new_game(n_bodies: int, n_items: int) -> Game:
    """All pebbles free."""
    size = n_bodies + n_items
    out = np.full((size, 2), FREE, np.int64)
    out[n_bodies:, 1] = NONE
    zero = np.zeros((4, size), np.int64)
    return Game(out, np.full((size, 2), -1, np.int64), np.arange(n_bodies), zero[0], zero[1], zero[2], zero[3])


@kernel
def free_slot(game: Game, vertex: int) -> int:
    """Find a free pebble of a vertex, or -1."""
    if game.out[vertex, 0] == FREE:
        return 0
    return 1 if game.out[vertex, 1] == FREE else -1


@kernel
def search(game: Game, source: int, pinned: int, also_pinned: int, stamp: int) -> int:
    """Nearest vertex in depth-first order with a free pebble that is not pinned, or -1.

    What was seen under this stamp is not entered again; what the search saw has no other free pebble.
    """
    game.seen[source] = stamp
    game.stack[0] = source
    depth = 1
    while depth > 0:
        depth -= 1
        v = game.stack[depth]
        for k in range(2):
            to = game.out[v, k]
            if to < 0:
                continue
            if to < game.parent.size:
                to = find(game.parent, to)
            if game.seen[to] == stamp:
                continue
            game.seen[to] = stamp
            game.back[to], game.slot[to] = v, k
            if to != pinned and to != also_pinned and free_slot(game, to) >= 0:
                return to
            game.stack[depth] = to
            depth += 1
    return -1


@kernel
def reverse(game: Game, source: int, found: int) -> None:
    """Turn the way from ``source`` to a vertex with a free pebble round, which frees a pebble of the source."""
    k = free_slot(game, found)
    v = found
    while v != source:
        before, s = game.back[v], game.slot[v]
        game.out[v, k], game.review[v, k] = before, game.review[before, s]
        game.out[before, s] = FREE
        v, k = before, s


@kernel
def pebbles(game: Game, vertex: int) -> int:
    """Free pebbles of a vertex."""
    return int(game.out[vertex, 0] == FREE) + int(game.out[vertex, 1] == FREE)


@kernel
def gather(game: Game, body: int, thing: int, stamp: int) -> tuple[int, int]:
    """Gather the pebbles of a body and an item (or, with ``thing == body``, of a body alone).

    Returns how many are free then, at most three, and the stamp of the last search.
    """
    wanted = 2 if thing == body else 3
    held = pebbles(game, body) + (pebbles(game, thing) if thing != body else 0)
    stamp += 1
    while held < wanted:
        found = -1
        source = body
        if pebbles(game, body) < 2:
            found = search(game, body, body, thing, stamp)
        if found < 0 and thing != body and pebbles(game, thing) == 0 and game.seen[thing] != stamp:
            source = thing
            found = search(game, thing, body, thing, stamp)
        if found < 0:
            break
        reverse(game, source, found)
        held += 1
        stamp += 1
    return held, stamp


@kernel
def contract(game: Game, body: int, thing: int, stamp: int, redundant: BoolArray) -> None:
    """Make one body of everything the failed searches from a body and an item have seen; mark its reviews."""
    n_bodies = game.parent.size
    game.stack[0], game.stack[1] = body, thing
    count = 2
    game.seen[body] = game.seen[thing] = stamp + 1  # a second walk over the same vertices
    walked = 0
    while walked < count:
        v = game.stack[walked]
        walked += 1
        for k in range(2):
            to = game.out[v, k]
            if to < 0:
                continue
            if to < n_bodies:
                to = find(game.parent, to)
            if game.review[v, k] >= 0 and redundant.size:
                redundant[game.review[v, k]] = True
            if game.seen[to] != stamp + 1:
                game.seen[to] = stamp + 1
                game.stack[count] = to
                count += 1
    for position in range(count):
        v = game.stack[position]
        if v >= n_bodies:
            game.out[v, 0], game.review[v, 0] = body, -1
        else:
            game.parent[v] = body
            game.out[v, 0] = game.out[v, 1] = FREE
            game.review[v, 0] = game.review[v, 1] = -1


@kernel
def play(game: Game, start: IntArray, item: IntArray, redundant: BoolArray) -> int:
    """Offer all reviews in order; returns the rank, and marks redundant reviews if ``redundant`` has their size."""
    n_bodies, rank, stamp = game.parent.size, 0, 0
    for b in range(n_bodies):
        for r in range(start[b], start[b + 1]):
            body, thing = find(game.parent, b), n_bodies + item[r]
            inside = game.out[thing, 0]
            if inside >= 0 and find(game.parent, inside) == body:
                if redundant.size:
                    redundant[r] = True
                    if game.review[thing, 0] >= 0:
                        redundant[game.review[thing, 0]] = True
                game.review[thing, 0] = -1
                continue
            held, stamp = gather(game, body, thing, stamp)
            if held == 3:
                game.out[thing, 0], game.review[thing, 0] = body, r
                rank += 1
            else:
                contract(game, body, thing, stamp, redundant)
                stamp += 1
                if redundant.size:
                    redundant[r] = True
    return rank


@kernel
def is_rigid_with(game: Game, vertex: int, body: int, stamp: int, loose: IntArray, mark: int) -> bool:
    """Whether no free pebble but those of ``body`` can be had from a vertex; remembers ways that end otherwise."""
    if loose[vertex] == mark:
        return False
    if free_slot(game, vertex) >= 0:
        loose[vertex] = mark
        return False
    found = search(game, vertex, body, body, stamp)
    if found < 0:
        return True
    while found != vertex:
        loose[found] = mark
        found = game.back[found]
    loose[vertex] = mark
    return False


@kernel
def join_blocks(game: Game, start: IntArray, item: IntArray, item_start: IntArray, body_by_item: IntArray) -> None:
    """Join the bodies of each maximal rigid block, after :func:`play`; a body lies in exactly one.

    From each body, with both its pebbles held, bodies that can reach no other free pebble are rigid with it. They
    are found through the items they share with it, save the one with most reviewers: no body of a block hangs on
    the others by one item alone.
    """
    n_bodies, n_items = game.parent.size, item_start.size - 1
    loose = np.full(n_bodies + n_items, -1, np.int64)
    member_of = np.full(n_bodies + n_items, -1, np.int64)
    following = np.full(n_bodies, -1, np.int64)  # bodies of one rigid body, as lists
    last = np.arange(n_bodies)
    for b in range(n_bodies):
        root = find(game.parent, b)
        if root != b:
            following[last[root]] = b
            last[root] = b
    queue = np.empty(n_bodies + n_items, np.int64)
    stamp = game.seen.max() if game.seen.size else 0
    for body in range(n_bodies):
        if game.parent[body] != body or member_of[body] >= 0:
            continue
        _, stamp = gather(game, body, body, stamp)
        member_of[body] = body
        queue[0] = body
        count, walked, hub = 1, 0, -1
        while walked < count:
            v = queue[walked]
            walked += 1
            if v < n_bodies:
                part = v
                while part >= 0:
                    for r in range(start[part], start[part + 1]):
                        thing = n_bodies + item[r]
                        if member_of[thing] != body:
                            member_of[thing] = body
                            queue[count] = thing
                            count += 1
                    part = following[part]
                continue
            i = v - n_bodies
            if hub < 0 or item_start[i + 1] - item_start[i] > item_start[hub + 1] - item_start[hub]:
                i, hub = hub, i
            if i < 0:
                continue
            for e in range(item_start[i], item_start[i + 1]):
                other = find(game.parent, body_by_item[e])
                if member_of[other] >= 0:
                    continue
                stamp += 1
                if is_rigid_with(game, other, body, stamp, loose, body):
                    member_of[other] = body
                    queue[count] = other
                    count += 1
        for position in range(count):
            v = queue[position]
            if v < n_bodies and v != body:
                game.parent[v] = body
                following[last[body]] = v
                last[body] = last[v]
                game.out[v, 0] = game.out[v, 1] = FREE
            elif v >= n_bodies:
                game.out[v, 0] = body
    for b in range(n_bodies):
        game.parent[b] = find(game.parent, b)

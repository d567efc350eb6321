"""Kernels of the pebble game for the count matroid ``|R'| <= items(R') + 2 reviewers(R') - 2``.

Bodies (reviewers, or rigid components) hold two pebbles and items one. An accepted review is covered by a pebble of one
of its ends and points from that end to the other; a review is independent of the accepted ones if all three pebbles of
its ends can be gathered, by following directions and reversing the path to a free pebble (Lee and Streinu 2008, with
l = 2). When the third pebble cannot be gathered, everything the search reached is rigid: those bodies become one body,
whose items point to it.

Vertices are bodies 0..B-1 and items B..B+N-1. Body b reviews ``item[start[b]:start[b + 1]]``. Vertex v holds the
pebbles 2 v and 2 v + 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
import numpy as np

if not cython.compiled:
    from reviewgraph.graph.kernels.signals import heed
    from reviewgraph.graph.kernels.union_find import find

if TYPE_CHECKING:
    from reviewgraph._base.arrays import IntArray


#: Targets of a pebble other than vertices: it covers nothing, or does not exist.
FREE = -1
NONE = -2
#: The review that a pebble covers inside a rigid body.
UNKNOWN = -1


class Game:
    """The state of the game: all pebbles free, and redundant ones of the first ``marked`` reviews marked."""

    def __init__(self, n_bodies: int, n_items: int, marked: int = 0) -> None:
        size = n_bodies + n_items
        # The vertex that each pebble points to, or :data:`FREE` or :data:`NONE`; items hold one pebble.
        points = np.full(2 * size, FREE, np.int64)
        points[2 * n_bodies + 1 :: 2] = NONE
        self.points = points
        self.covers = np.full(2 * size, UNKNOWN, np.int64)  # The review that each pebble covers, or :data:`UNKNOWN`
        self.parent = np.arange(n_bodies)  # Union-find over the bodies
        self.seen = np.zeros(size, np.int64)  # The stamp of the last search that reached each vertex
        self.came_by = np.zeros(size, np.int64)  # The pebble by which it came; its vertex is half of that
        self.stack = np.zeros(size, np.int64)  # Vertices that a search has reached and not left yet
        self.redundant = np.zeros(marked, np.bool_)  # Reviews found redundant; if empty, none is marked
        self.stamp = 0  # Of the last search

    def copy(self) -> Game:
        """Return a game that goes on apart from this one."""
        n_bodies = len(self.parent)
        game = Game(n_bodies, len(self.seen) - n_bodies)
        for name in ("points", "covers", "parent", "redundant"):
            setattr(game, name, np.array(getattr(self, name)))
        return game


class RigidBlocks:
    """The state of :func:`join_blocks`."""

    def __init__(self, n_bodies: int, n_items: int) -> None:
        size = n_bodies + n_items
        self.member_of = np.full(size, -1, np.int64)  # The body whose block each vertex was found in last, or -1
        self.loose = np.full(size, -1, np.int64)  # The body that each vertex was found not to be rigid with last, or -1
        # The bodies that were joined to each body, as a list: its next member, or -1, and its last.
        self.next_part = np.full(n_bodies, -1, np.int64)
        self.last_part = np.arange(n_bodies)
        self.queue = np.full(size, -1, np.int64)  # Vertices of the block
        self.queued = 0


def free_pebble(game: Game, vertex: int) -> int:
    """Return a free pebble of a vertex, or -1."""
    if game.points[2 * vertex] == FREE:
        return 2 * vertex
    if game.points[2 * vertex + 1] == FREE:
        return 2 * vertex + 1
    return -1


def pebbles(game: Game, vertex: int) -> int:
    """Free pebbles of a vertex."""
    free = 0
    if game.points[2 * vertex] == FREE:
        free += 1
    if game.points[2 * vertex + 1] == FREE:
        free += 1
    return free


def search(game: Game, source: int, pinned: int, also_pinned: int) -> int:
    """First vertex in depth-first order with a free pebble that is not pinned, or -1.

    Vertices seen under the game's stamp are not entered again; those seen have no other free pebble.
    """
    stamp = game.stamp
    points = game.points
    parent = game.parent
    seen = game.seen
    stack = game.stack
    n_bodies = len(parent)
    seen[source] = stamp
    stack[0] = source
    depth = 1
    while depth > 0:
        depth -= 1
        vertex = stack[depth]
        for pebble in range(2 * vertex, 2 * vertex + 2):
            to = points[pebble]
            if to < 0:
                continue
            # A pebble may point to a body that has become part of another since.
            if to < n_bodies and parent[to] != to:
                to = find(parent, to)
            if seen[to] == stamp:
                continue
            seen[to] = stamp
            game.came_by[to] = pebble
            # Pebbles of the review's own ends are held already and free nothing.
            if (points[2 * to] == FREE or points[2 * to + 1] == FREE) and to != pinned and to != also_pinned:
                return to
            stack[depth] = to
            depth += 1
    return -1


def reverse(game: Game, source: int, holder: int) -> None:
    """Reverse the path from ``source`` to a vertex with a free pebble, which frees a pebble of the source."""
    # Each review on the path is taken over by a pebble of its other end; `pebble` is the one that is free now.
    pebble = free_pebble(game, holder)
    vertex = holder
    while vertex != source:
        freed = game.came_by[vertex]
        game.covers[pebble] = game.covers[freed]
        game.points[pebble] = freed // 2
        game.points[freed] = FREE
        pebble = freed
        vertex = freed // 2


def gather(game: Game, body: int, thing: int) -> int:
    """Gather the pebbles of a body and an item (or, with ``thing == body``, of a body alone).

    Returns how many are free then, at most three.
    """
    wanted = 2
    held = pebbles(game, body)
    if thing != body:
        wanted = 3
        held += pebbles(game, thing)
    game.stamp += 1
    while held < wanted:
        # Look from the body first, then from the item, which does not enter again what the body's search saw.
        holder = -1
        source = body
        if pebbles(game, body) < 2:
            holder = search(game, body, body, thing)
        if holder < 0 and thing != body and pebbles(game, thing) == 0 and game.seen[thing] != game.stamp:
            source = thing
            holder = search(game, thing, body, thing)
        if holder < 0:
            break
        # One more pebble is gathered, and directions have changed: vertices seen before count no longer.
        reverse(game, source, holder)
        held += 1
        game.stamp += 1
    return held


def contract(game: Game, body: int, thing: int) -> None:
    """Contract everything the failed searches from a body and an item reach to one body; mark its reviews."""
    points = game.points
    covers = game.covers
    parent = game.parent
    seen = game.seen
    stack = game.stack
    n_bodies = len(parent)
    game.stamp += 1
    stamp = game.stamp
    # Walk over the same vertices once more; the stack serves as a queue, which keeps them all.
    stack[0] = body
    stack[1] = thing
    count = 2
    walked = 0
    seen[body] = stamp
    seen[thing] = stamp
    while walked < count:
        vertex = stack[walked]
        walked += 1
        for pebble in range(2 * vertex, 2 * vertex + 2):
            to = points[pebble]
            if to < 0:
                continue
            if to < n_bodies:
                to = find(parent, to)
            # The reviews between these vertices, with the refused one, are a union of circuits.
            if covers[pebble] >= 0:
                mark(game, covers[pebble])
            if seen[to] != stamp:
                seen[to] = stamp
                stack[count] = to
                count += 1
    # One body now: its items point to it, and the bodies it is made of hold no reviews any more.
    for position in range(count):
        vertex = stack[position]
        if vertex >= n_bodies:
            points[2 * vertex] = body
            covers[2 * vertex] = UNKNOWN
        else:
            parent[vertex] = body
            points[2 * vertex] = FREE
            points[2 * vertex + 1] = FREE
            covers[2 * vertex] = UNKNOWN
            covers[2 * vertex + 1] = UNKNOWN


def mark(game: Game, review: int) -> None:
    """Mark a review as redundant, if reviews are marked."""
    if len(game.redundant) > 0:
        game.redundant[review] = True


def offer(game: Game, b: int, r: int, thing: int) -> bool:
    """Offer review r of body b and an item; returns whether those accepted leave it independent."""
    body = find(game.parent, b)
    pebble = 2 * thing
    inside = game.points[pebble]
    # Both ends in one rigid body: dependent, and so is the review that ties the item to it.
    if inside >= 0 and find(game.parent, inside) == body:
        mark(game, r)
        if game.covers[pebble] >= 0:
            mark(game, game.covers[pebble])
        game.covers[pebble] = UNKNOWN
        return False
    # Independent exactly if l + 1 = 3 pebbles can be gathered (Lee and Streinu 2008).
    if gather(game, body, thing) == 3:
        game.points[pebble] = body
        game.covers[pebble] = r
        return True
    # Otherwise what the searches reached is rigid, this review included.
    contract(game, body, thing)
    mark(game, r)
    return False


def play(game: Game, start: IntArray, item: IntArray, bodies: IntArray, accepted: IntArray) -> int:
    """Offer the reviews of some bodies in order; returns by how much the rank grows.

    Body b reviews ``item[start[b]:start[b + 1]]``; ``accepted`` counts the accepted reviews of each.
    """
    n_bodies = len(game.parent)
    rank = 0
    with cython.nogil:
        for place in range(len(bodies)):
            b = bodies[place]
            for r in range(start[b], start[b + 1]):
                heed(r)
                if offer(game, b, r, n_bodies + item[r]):
                    accepted[b] += 1
                    rank += 1
    return rank


def is_rigid_with(game: Game, blocks: RigidBlocks, vertex: int, body: int) -> bool:
    """Whether a vertex reaches no free pebble but those of ``body``; marks paths that end otherwise as loose."""
    loose = blocks.loose
    if loose[vertex] == body:
        return False
    if free_pebble(game, vertex) >= 0:
        loose[vertex] = body
        return False
    game.stamp += 1
    holder = search(game, vertex, body, body)
    if holder < 0:
        return True
    # All vertices on the path reach the same pebble.
    while holder != vertex:
        loose[holder] = body
        holder = game.came_by[holder] // 2
    loose[vertex] = body
    return False


def enter(blocks: RigidBlocks, vertex: int, body: int) -> None:
    """Put a vertex in the block of a body and in the queue."""
    blocks.member_of[vertex] = body
    blocks.queue[blocks.queued] = vertex
    blocks.queued += 1


def grow_block(
    game: Game,
    blocks: RigidBlocks,
    body: int,
    start: IntArray,
    item: IntArray,
    item_start: IntArray,
    body_by_item: IntArray,
) -> None:
    """Put the block of a body with both its pebbles held in the queue.

    Bodies rigid with it are reached through the items they share with it, except the one with most reviewers: each body
    of a block shares more than one item with the others.
    """
    n_bodies = len(game.parent)
    blocks.queued = 0
    enter(blocks, body, body)
    walked = 0
    hub = -1
    while walked < blocks.queued:
        vertex = blocks.queue[walked]
        walked += 1
        if vertex < n_bodies:
            # A body adds the items of all bodies that it consists of.
            part = vertex
            while part >= 0:
                for r in range(start[part], start[part + 1]):
                    if blocks.member_of[n_bodies + item[r]] != body:
                        enter(blocks, n_bodies + item[r], body)
                part = blocks.next_part[part]
            continue
        # An item adds the bodies that review it; the item with most of them, the hub, waits for a larger one.
        i = vertex - n_bodies
        if hub < 0 or item_start[i + 1] - item_start[i] > item_start[hub + 1] - item_start[hub]:
            i, hub = hub, i
        if i < 0:
            continue
        for e in range(item_start[i], item_start[i + 1]):
            neighbour = find(game.parent, body_by_item[e])
            if blocks.member_of[neighbour] < 0 and is_rigid_with(game, blocks, neighbour, body):
                enter(blocks, neighbour, body)


def join_blocks(
    game: Game, blocks: RigidBlocks, start: IntArray, item: IntArray, item_start: IntArray, body_by_item: IntArray
) -> None:
    """Join the bodies of each maximal rigid block, after :func:`play`; a body lies in exactly one.

    From each body, with both its pebbles held, bodies that can reach no other free pebble are rigid with it.
    """
    n_bodies = len(game.parent)
    with cython.nogil:
        # List the parts of the bodies that the game has contracted.
        for b in range(n_bodies):
            root = find(game.parent, b)
            if root != b:
                blocks.next_part[blocks.last_part[root]] = b
                blocks.last_part[root] = b
        for body in range(n_bodies):
            heed(body)
            if game.parent[body] != body or blocks.member_of[body] >= 0:
                continue
            gather(game, body, body)
            grow_block(game, blocks, body, start, item, item_start, body_by_item)
            # The block becomes one body, as a contracted one: its pebbles are free, its items point to it.
            for position in range(blocks.queued):
                v = blocks.queue[position]
                if v < n_bodies and v != body:
                    game.parent[v] = body
                    blocks.next_part[blocks.last_part[body]] = v
                    blocks.last_part[body] = blocks.last_part[v]
                    game.points[2 * v] = FREE
                    game.points[2 * v + 1] = FREE
                elif v >= n_bodies:
                    game.points[2 * v] = body
        for b in range(n_bodies):
            game.parent[b] = find(game.parent, b)

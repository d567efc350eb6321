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

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reviewgraph.graph.kernels.compiling import kernel
from reviewgraph.graph.kernels.numba_union_find import find

if TYPE_CHECKING:
    from reviewgraph._base.arrays import BoolArray, IntArray


#: Targets of a pebble other than vertices: it covers nothing, or does not exist.
FREE = -1
NONE = -2
#: The review that a pebble covers inside a rigid body.
UNKNOWN = -1


class Game(NamedTuple):
    """The state of the game."""

    points: IntArray  # The vertex that each pebble points to, or :data:`FREE` or :data:`NONE`, shape (2 (B + N),)
    covers: IntArray  # The review that each pebble covers, or :data:`UNKNOWN`
    parent: IntArray  # Union-find over the bodies, shape (B,)
    seen: IntArray  # The stamp of the last search that reached each vertex, shape (B + N,)
    came_by: IntArray  # The pebble by which it came; its vertex is half of that
    stack: IntArray  # Vertices that a search has reached and not left yet

    @classmethod
    def new(cls, n_bodies: int, n_items: int) -> Game:
        """All pebbles free."""
        size = n_bodies + n_items
        points = np.full(2 * size, FREE, np.int64)
        points[2 * n_bodies + 1 :: 2] = NONE  # items hold one pebble
        covers = np.full(2 * size, UNKNOWN, np.int64)
        parent = np.arange(n_bodies)
        return cls(points, covers, parent, *np.zeros((3, size), np.int64))


class Blocks(NamedTuple):
    """The state of :func:`join_blocks`."""

    member_of: IntArray  # The body whose block each vertex was found in last, or -1, shape (B + N,)
    loose: IntArray  # The body that each vertex was found not to be rigid with last, or -1
    # The bodies that were joined to each body, as a list: its next member, or -1, and its last. Shape (B,).
    next_part: IntArray
    last_part: IntArray
    queue: IntArray  # Vertices of the block that are still to be looked at


def new_blocks(n_bodies: int, n_items: int) -> Blocks:
    """No block is grown yet."""
    member_of, loose, queue = np.full((3, n_bodies + n_items), -1, np.int64)
    return Blocks(member_of, loose, np.full(n_bodies, -1, np.int64), np.arange(n_bodies), queue)


@kernel
def free_pebble(game: Game, vertex: int) -> int:
    """Return a free pebble of a vertex, or -1."""
    if game.points[2 * vertex] == FREE:
        return 2 * vertex
    return 2 * vertex + 1 if game.points[2 * vertex + 1] == FREE else -1


@kernel
def pebbles(game: Game, vertex: int) -> int:
    """Free pebbles of a vertex."""
    return int(game.points[2 * vertex] == FREE) + int(game.points[2 * vertex + 1] == FREE)


@kernel
def search(game: Game, source: int, pinned: int, also_pinned: int, stamp: int) -> int:
    """First vertex in depth-first order with a free pebble that is not pinned, or -1.

    Vertices seen under this stamp are not entered again; those seen have no other free pebble.
    """
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


@kernel
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


@kernel
def gather(game: Game, body: int, thing: int, stamp: int) -> tuple[int, int]:
    """Gather the pebbles of a body and an item (or, with ``thing == body``, of a body alone).

    Returns how many are free then, at most three, and the stamp of the last search.
    """
    wanted = 2 if thing == body else 3
    held = pebbles(game, body) + (pebbles(game, thing) if thing != body else 0)
    stamp += 1
    while held < wanted:
        # Look from the body first, then from the item, which does not enter again what the body's search saw.
        holder = -1
        source = body
        if pebbles(game, body) < 2:
            holder = search(game, body, body, thing, stamp)
        if holder < 0 and thing != body and pebbles(game, thing) == 0 and game.seen[thing] != stamp:
            source = thing
            holder = search(game, thing, body, thing, stamp)
        if holder < 0:
            break
        # One more pebble is gathered, and directions have changed: vertices seen before count no longer.
        reverse(game, source, holder)
        held += 1
        stamp += 1
    return held, stamp


@kernel
def contract(game: Game, body: int, thing: int, stamp: int, redundant: BoolArray) -> None:
    """Contract everything the failed searches from a body and an item have seen to one body; mark its reviews."""
    points = game.points
    covers = game.covers
    parent = game.parent
    seen = game.seen
    stack = game.stack
    n_bodies = len(parent)
    # Walk over the same vertices once more; the stack serves as a queue, which keeps them all.
    stack[0] = body
    stack[1] = thing
    count = 2
    walked = 0
    seen[body] = seen[thing] = stamp + 1
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
            if covers[pebble] >= 0 and len(redundant):
                redundant[covers[pebble]] = True
            if seen[to] != stamp + 1:
                seen[to] = stamp + 1
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
            points[2 * vertex] = points[2 * vertex + 1] = FREE
            covers[2 * vertex] = covers[2 * vertex + 1] = UNKNOWN


@kernel
def offer(game: Game, b: int, r: int, thing: int, stamp: int, redundant: BoolArray) -> tuple[bool, int]:
    """Offer review r of body b and an item; returns whether those accepted leave it independent, and the last stamp."""
    mark = len(redundant) > 0
    body = find(game.parent, b)
    pebble = 2 * thing
    inside = game.points[pebble]
    # Both ends in one rigid body: dependent, and so is the review that ties the item to it.
    if inside >= 0 and find(game.parent, inside) == body:
        if mark:
            redundant[r] = True
            if game.covers[pebble] >= 0:
                redundant[game.covers[pebble]] = True
        game.covers[pebble] = UNKNOWN
        return False, stamp
    # Independent exactly if l + 1 = 3 pebbles can be gathered (Lee and Streinu 2008).
    held, stamp = gather(game, body, thing, stamp)
    if held == 3:
        game.points[pebble] = body
        game.covers[pebble] = r
        return True, stamp
    # Otherwise what the searches reached is rigid, this review included.
    contract(game, body, thing, stamp, redundant)
    if mark:
        redundant[r] = True
    return False, stamp + 1


@kernel(element=3e-6, in_lists=True)
def play(game: Game, start: IntArray, item: IntArray, redundant: BoolArray) -> int:
    """Offer all reviews in order; returns the rank, and marks redundant reviews if ``redundant`` has their size."""
    n_bodies = len(game.parent)
    rank = 0
    stamp = 0
    for b in range(n_bodies):
        for r in range(start[b], start[b + 1]):
            accepted, stamp = offer(game, b, r, n_bodies + item[r], stamp, redundant)
            rank += 1 if accepted else 0
    return rank


@kernel(element=3e-6, in_lists=True)
def play_on(
    game: Game, start: IntArray, item: IntArray, bodies: IntArray, accepted: IntArray, unmarked: BoolArray
) -> int:
    """Offer the reviews of some bodies in a game that goes on; returns by how much the rank grows.

    ``accepted`` counts the accepted reviews of each body; ``unmarked`` is empty.
    """
    n_bodies = len(game.parent)
    rank = 0
    stamp = 0
    for vertex in range(len(game.seen)):
        stamp = max(stamp, game.seen[vertex])
    stamp += 2
    for place in range(len(bodies)):
        b = bodies[place]
        for r in range(start[b], start[b + 1]):
            independent, stamp = offer(game, b, r, n_bodies + item[r], stamp, unmarked)
            if independent:
                accepted[b] += 1
                rank += 1
    return rank


@kernel
def is_rigid_with(game: Game, blocks: Blocks, vertex: int, body: int, stamp: int) -> bool:
    """Whether a vertex reaches no free pebble but those of ``body``; marks paths that end otherwise as loose."""
    loose = blocks.loose
    if loose[vertex] == body:
        return False
    if free_pebble(game, vertex) >= 0:
        loose[vertex] = body
        return False
    holder = search(game, vertex, body, body, stamp)
    if holder < 0:
        return True
    # All vertices on the path reach the same pebble.
    while holder != vertex:
        loose[holder] = body
        holder = game.came_by[holder] // 2
    loose[vertex] = body
    return False


@kernel
def enter(blocks: Blocks, vertex: int, body: int, count: int) -> int:
    """Put a vertex in the block of a body and in the queue; returns the length of the queue."""
    blocks.member_of[vertex] = body
    blocks.queue[count] = vertex
    return count + 1


@kernel
def grow_block(
    game: Game, blocks: Blocks, body: int, stamp: int, start: IntArray, item: IntArray, item_start: IntArray,
    body_by_item: IntArray,
) -> tuple[int, int]:  # fmt: skip
    """Grow the block of a body with both its pebbles held; returns the length of its queue, and the last stamp.

    Bodies rigid with it are reached through the items they share with it, except the one with most reviewers: each body
    of a block shares more than one item with the others.
    """
    n_bodies = len(game.parent)
    count = enter(blocks, body, body, 0)
    walked = 0
    hub = -1
    while walked < count:
        vertex = blocks.queue[walked]
        walked += 1
        if vertex < n_bodies:
            # A body adds the items of all bodies that it consists of.
            part = vertex
            while part >= 0:
                for r in range(start[part], start[part + 1]):
                    if blocks.member_of[n_bodies + item[r]] != body:
                        count = enter(blocks, n_bodies + item[r], body, count)
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
            if blocks.member_of[neighbour] < 0:
                stamp += 1
                if is_rigid_with(game, blocks, neighbour, body, stamp):
                    count = enter(blocks, neighbour, body, count)
    return count, stamp


@kernel(element=1e-6)
def join_blocks(
    game: Game, blocks: Blocks, start: IntArray, item: IntArray, item_start: IntArray, body_by_item: IntArray
) -> None:
    """Join the bodies of each maximal rigid block, after :func:`play`; a body lies in exactly one.

    From each body, with both its pebbles held, bodies that can reach no other free pebble are rigid with it.
    """
    n_bodies = len(game.parent)
    # List the parts of the bodies that the game has contracted.
    for b in range(n_bodies):
        root = find(game.parent, b)
        if root != b:
            blocks.next_part[blocks.last_part[root]] = b
            blocks.last_part[root] = b
    stamp = 0
    for vertex in range(len(game.seen)):
        stamp = max(stamp, game.seen[vertex])
    for body in range(n_bodies):
        if game.parent[body] != body or blocks.member_of[body] >= 0:
            continue
        _, stamp = gather(game, body, body, stamp)
        count, stamp = grow_block(game, blocks, body, stamp, start, item, item_start, body_by_item)
        # The block becomes one body, as a contracted one: its pebbles are free, its items point to it.
        for position in range(count):
            v = blocks.queue[position]
            if v < n_bodies and v != body:
                game.parent[v] = body
                blocks.next_part[blocks.last_part[body]] = v
                blocks.last_part[body] = blocks.last_part[v]
                game.points[2 * v] = game.points[2 * v + 1] = FREE
            elif v >= n_bodies:
                game.points[2 * v] = body
    for b in range(n_bodies):
        game.parent[b] = find(game.parent, b)

"""Where the circles of a map stand: each piece on its own, linked ones near each other, none upon another."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from reviewgraph.arrays import FloatArray, IntArray

#: Part of the frame that circles fill.
FILLED = 0.13
#: Pixels between circles, and between pieces.
APART, GUTTER = 4.0, 14.0
#: The largest and the smallest circle.
LARGEST, SMALLEST = 62.0, 2.5
#: How far nodes are moved from where they fell to even ranks.
EVEN = 0.25
#: Nodes from which far ones do not repel each other: time grows with their square up to there, 0.3 seconds then.
ROUGH = 400
#: Rounds in which circles that lie upon each other are pushed apart, at most, and times nodes.
ROUNDS, MOVES = 150, 40_000


class Layout(NamedTuple):
    """Places of the nodes, shape (n, 2), and the height of the frame that holds them."""

    place: FloatArray
    height: float


def radii(sizes: IntArray, width: float) -> FloatArray:
    """Return radii whose areas are as the sizes, within what can be seen and what the frame holds.

    >>> radii(np.array([1, 4]), 100.0).round(1).tolist()
    [6.7, 13.5]
    """
    area = FILLED * width * frame_height(sizes.size, width) / (math.pi * max(float(sizes.sum()), 1.0))
    largest = min(LARGEST, width / 7)
    scale = min(math.sqrt(area), largest / math.sqrt(max(float(sizes.max(initial=1)), 1.0)))
    return np.maximum(scale * np.sqrt(sizes), SMALLEST)


def frame_height(n_groups: int, width: float) -> int:
    """Return a height that suits so many circles.

    >>> frame_height(5, 1000.0), frame_height(500, 1000.0)
    (420, 680)
    """
    return round(width * (0.68 if n_groups > 60 else 0.5 if n_groups > 12 else 0.42) * (1.3 if width < 500 else 1.0))


def spread_out(links: IntArray, weight: FloatArray, piece: IntArray) -> FloatArray:
    """Return places of nodes, shape (n, 2), linked ones near each other, piece by piece, in no unit.

    Parameters
    ----------
    links
        Shape (L, 2): pairs of nodes.
    weight
        Shape (L,): how strongly a link pulls.
    piece
        Shape (n,): the piece of each node.
    """
    place = np.zeros((piece.size, 2))
    for number in range(int(piece.max(initial=-1)) + 1):
        nodes = np.flatnonzero(piece == number)
        inner = np.isin(links[:, 0], nodes)
        if nodes.size > 1:
            place[nodes] = _spread(nodes.size, np.searchsorted(nodes, links[inner]), weight[inner])
    return place


def lay_out(place: FloatArray, radius: FloatArray, piece: IntArray, width: float) -> Layout:
    """Fit spread-out nodes into a frame.

    Parameters
    ----------
    place
        What :func:`spread_out` returned.
    radius
        Shape (n,): of each node's circle.
    piece
        Shape (n,): nodes of one piece stand together; 0 is the piece that stands first.
    width
        Of the frame.
    """
    found = np.zeros_like(place)
    pieces = [np.flatnonzero(piece == number) for number in range(int(piece.max(initial=-1)) + 1)]
    x = y = row = 0.0
    for nodes in pieces:
        box = _box(nodes.size, radius, width, alone=len(pieces) == 1)
        local = _piece(place[nodes], radius[nodes], box)
        # Pieces stand in rows like words in a text, so that each is found.
        extent = (local + radius[nodes, None]).max(axis=0)
        if x and x + extent[0] > width:
            x, y, row = 0.0, y + row + GUTTER, 0.0
        found[nodes] = local + np.array([x, y])
        x, row = x + float(extent[0]) + GUTTER, max(row, float(extent[1]))
    return Layout(found, y + row)


def _box(size: int, radius: FloatArray, width: float, *, alone: bool) -> tuple[float, float]:
    """Return the room of a piece: in proportion to its circles, all of the width for one that is most of them."""
    height = frame_height(radius.size, width)
    share = size / max(radius.size, 1)
    if alone or share > 0.6:
        return width, height
    return width * math.sqrt(share), height * math.sqrt(share)


def _piece(place: FloatArray, radius: FloatArray, box: tuple[float, float]) -> FloatArray:
    """Return places from the upper left corner of the piece, in its order of codes."""
    if radius.size == 1:
        return np.full((1, 2), radius[0])
    found = _pushed_apart(_fitted(place, radius, box), radius, box)
    return np.asarray(found - (found - radius[:, None]).min(axis=0))


def _spread(n: int, links: IntArray, weight: FloatArray) -> FloatArray:
    """Return places of linked nodes near each other (Fruchterman and Reingold), the same every time."""
    import igraph

    # From a sunflower, so that nothing is drawn at random but what falls into one spot.
    angle = np.arange(n) * math.pi * (3.0 - math.sqrt(5.0))
    seed = np.sqrt(np.arange(n) + 0.5)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    igraph.set_random_number_generator(random.Random(0))  # noqa: S311 (a picture, no secret)
    try:
        found = igraph.Graph(n, links.tolist()).layout_fruchterman_reingold(
            seed=seed.tolist(), weights=weight.tolist(), niter=500, grid=n > ROUGH
        )
    finally:
        igraph.set_random_number_generator(random)
    return np.array(found.coords)


def _fitted(place: FloatArray, radius: FloatArray, box: tuple[float, float]) -> FloatArray:
    """Turn the longer side to the longer side of the box, and fill it with the circles' rims inside."""
    centred = place - place.mean(axis=0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    # A part of the way from where they fell to even ranks: outliers would press all others into one spot.
    rank = np.argsort(np.argsort(turned, axis=0, kind="stable"), axis=0, kind="stable") / max(len(place) - 1, 1)
    low, high = turned.min(axis=0), turned.max(axis=0)
    even = (1 - EVEN) * (turned - low) / np.where(high > low, high - low, 1.0) + EVEN * rank
    margin = radius[:, None]
    return np.asarray(margin + even * np.maximum(np.array(box) - 2 * margin, 0.0))


def _pushed_apart(place: FloatArray, radius: FloatArray, box: tuple[float, float]) -> FloatArray:
    """Push circles apart that lie upon each other, each pair by half of what it lacks, until none does."""
    most = np.maximum(np.array(box) - radius[:, None], radius[:, None])
    from scipy.spatial import cKDTree

    for _ in range(min(ROUNDS, MOVES // radius.size)):
        pairs = cKDTree(place).query_pairs(2 * radius.max() + APART, output_type="ndarray")
        one, other = pairs[np.lexsort(pairs.T)].T
        between = place[one] - place[other]
        distance = np.maximum(np.hypot(*between.T), 1e-6)
        lack = radius[one] + radius[other] + APART - distance
        near = lack > 0
        if not near.any():
            break
        push = (0.5 * lack / distance)[near, None] * between[near]
        np.add.at(place, one[near], push)
        np.subtract.at(place, other[near], push)
        place = np.clip(place, radius[:, None], most)
    return place

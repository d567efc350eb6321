"""What is inferred from, part by part, and what is believed so far: reviews, messages, nodes, hyperparameters.

A part is as many reviewers as are looked at together, with all their reviews. A table in memory is one part, held in a
tuple, and its messages stand in a list; of a larger one both lie on disk (:mod:`lsc.inference.streaming`). Nobody holds
a part, or its messages, longer than for a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from lsc.inference.layout import Layout
from lsc.inference.model import LOG_OWN, LOG_TAU_LEFT, LOG_TAU_RIGHT, MU, Extent
from reviewgraph.labels import IntArray
from reviewgraph.reviews import BoolArray, FloatArray

#: Reviews from which on steps run compiled: below, loading them takes longer. Of reviewers of hundreds of papers whole
#: arrays leave the cache, and the climb is long: fewer are enough where a typical review is one of so many of hers.
MANY, ENOUGH, LONG = 200_000, 60_000, 200


class Part(NamedTuple):
    """Some of the reviewers.

    Parameters
    ----------
    layout
        Their reviews.
    log_weight
        Shape (S,): centred logarithms of the weights of reviews, where there are any.
    """

    layout: Layout
    log_weight: FloatArray | None = None


class Messages(NamedTuple):
    """What is said in a part, shapes (S,); or, summed up, of the items, shapes (N,).

    Parameters
    ----------
    precision, shift
        The message of each review.
    likeness_precision, likeness_shift
        What each item learns from the other items of the reviewer.
    """

    precision: FloatArray
    shift: FloatArray
    likeness_precision: FloatArray
    likeness_shift: FloatArray

    @staticmethod
    def silent(size: int) -> Messages:
        """Return messages, or sums, that are all :func:`nothing`."""
        return Messages(*[nothing(size)] * len(Messages._fields))

    @staticmethod
    def room(size: int, *, alike: bool) -> Messages:
        """Return zeros to be written to; those of likeness only if they are asked for."""
        return Messages(*np.zeros((size, 2)).T, *(np.zeros((size, 2)).T if alike else [nothing(size)] * 2))

    def moved(self, gauge: Gauge) -> Messages:
        """Return what is said when qualities become ``(x - centre) / spread``.

        What papers learn from each other has the precision of the prior, which does not change.
        """
        if gauge == Gauge():
            return self
        centre, spread = gauge
        precision, shift, alike, drawn = self
        if not is_nothing(precision):
            precision, shift = precision * spread**2, (shift - precision * centre) * spread
        if not is_nothing(alike):
            drawn = (drawn - alike * centre) / spread
        return Messages(precision, shift, alike, drawn)


def run_compiled(load: IntArray) -> bool:
    """Whether steps should run compiled, by the reviews of each reviewer."""
    size = int(load.sum())
    return size >= MANY or (size >= ENOUGH and int((load**2).sum()) > LONG * size)


def nothing(size: int) -> FloatArray:
    """Return zeros that take no room and cannot be written to."""
    return np.broadcast_to(0.0, size)


def is_nothing(values: FloatArray) -> bool:
    """Whether an array is made by :func:`nothing`."""
    return values.strides[0] == 0


class Gauge(NamedTuple):
    """A change of the scale of qualities to ``(x - centre) / spread``."""

    centre: float = 0.0
    spread: float = 1.0

    def then(self, other: Gauge) -> Gauge:
        """Return this change followed by another."""
        return Gauge(self.centre + self.spread * other.centre, self.spread * other.spread)


class Store(Protocol):
    """The messages of all parts in their order: appended one after another, then read as often as is wanted."""

    def append(self, told: Messages, /) -> None:
        """Add those of the next part."""
        ...

    def __iter__(self) -> Iterator[Messages]:
        """Pass over all of them."""
        ...


@dataclass(frozen=True, eq=False)
class Problem:
    """What does not change while messages do.

    Parameters
    ----------
    parts
        All reviews; passed over again and again.
    load, count
        Shapes (M,) and (N,): reviews of each reviewer and of each item.
    rounding
        Variance r^2 of rounding.
    weighted
        Whether reviews have weights.
    reference_precision, reference_shift
        Shape (N,): what references say of the items.
    compiled
        Whether steps run compiled, as they should where there are many reviews.
    store
        Makes an empty store for messages.
    """

    parts: Iterable[Part]
    load: IntArray
    count: IntArray
    rounding: float
    weighted: bool
    reference_precision: FloatArray
    reference_shift: FloatArray
    compiled: bool = False
    store: Callable[[], Store] = list

    @property
    def known(self) -> BoolArray:
        """Shape (N,): items that a score speaks of."""
        return self.count > 0

    @property
    def n_reviewers(self) -> int:
        """M."""
        return self.load.size

    @property
    def n_items(self) -> int:
        """N."""
        return self.count.size

    @property
    def n_reviews(self) -> int:
        """E."""
        return int(self.load.sum())


@dataclass(frozen=True, eq=False)
class State:
    """Messages, nodes and hyperparameters.

    Parameters
    ----------
    messages
        Of all parts, as they were before the scale of qualities changed.
    sums
        The same, summed up, shapes (N + 1,); entry N belongs to empty slots.
    gauge
        How the scale changed since.
    nodes, fresh
        Shape (4, M): mean and standard deviation of each reviewer's log slope and of the log of her own noise, given
        the papers as they are believed to be, and as if they were fresh.
    orders
        Shape (M,): probability that a reviewer only orders.
    theta
        Shape (P,): hyperparameters.
    extent
        What the model includes.
    """

    messages: Store
    sums: Messages
    gauge: Gauge
    nodes: FloatArray
    fresh: FloatArray
    orders: FloatArray
    theta: FloatArray
    extent: Extent


class Believed(NamedTuple):
    """Posterior precision and shift of the items, shapes (N + 1,); entry N belongs to empty slots."""

    precision: FloatArray
    shift: FloatArray


def start(problem: Problem, theta: FloatArray, extent: Extent) -> State:
    """Return the state in which no review has spoken."""
    tau = np.exp(0.5 * (theta[LOG_TAU_LEFT] + theta[LOG_TAU_RIGHT]))
    nodes = np.array([theta[MU], tau, 0.0, np.exp(theta[LOG_OWN])])[:, None] * np.ones(problem.n_reviewers)
    messages = problem.store()
    for part in problem.parts:
        messages.append(Messages.silent(part.layout.item.size))
    silent = Messages.silent(problem.n_items + 1)
    return State(messages, silent, Gauge(), nodes, nodes, np.zeros(problem.n_reviewers), theta, extent)


def spoken(problem: Problem, state: State) -> Iterator[tuple[Part, Messages]]:
    """Pass over all parts with their messages."""
    for part, told in zip(problem.parts, state.messages, strict=True):
        yield part, told.moved(state.gauge)


def beliefs(problem: Problem, state: State) -> Believed:
    """Join prior, references, and what is said of the items."""
    # One behind the other, for whoever looks an item up needs both.
    precision, shift = np.zeros((problem.n_items + 1, 2)).T
    told = state.sums.moved(state.gauge)
    precision += 1.0 - state.extent.kappa + told.precision + told.likeness_precision
    shift += told.shift + told.likeness_shift
    precision[:-1] += problem.reference_precision
    shift[:-1] += problem.reference_shift
    return Believed(precision, shift)

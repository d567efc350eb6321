"""What is inferred from, part by part, and what is believed so far: reviews, messages, nodes, hyperparameters.

A part is as many reviewers as are looked at together, with all their reviews. A table in memory is one part, held in a
tuple, and its messages stand in a list; of a larger one both lie on disk (:mod:`lsc.inference.spilled`). Nobody holds
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
    """What is said in a part, shapes (S,).

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
        Of all parts.
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
        silent = np.zeros(part.layout.item.size)
        messages.append(Messages(silent, silent, silent, silent))
    return State(messages, nodes, nodes, np.zeros(problem.n_reviewers), theta, extent)


def spoken(problem: Problem, state: State) -> Iterator[tuple[Part, Messages]]:
    """Pass over all parts with their messages."""
    return zip(problem.parts, state.messages, strict=True)


def beliefs(problem: Problem, state: State) -> Believed:
    """Sum up what is said of the items."""
    said, drawn = messages_per_item(problem, state)
    precision, shift = np.ones(problem.n_items + 1), np.zeros(problem.n_items + 1)
    precision[:-1] += said - state.extent.kappa
    precision[:-1] += problem.reference_precision
    shift[:-1] += drawn + problem.reference_shift
    return Believed(precision, shift)


def messages_per_item(problem: Problem, state: State) -> tuple[FloatArray, FloatArray]:
    """Return sums of precisions and shifts over items, shapes (N,): review by review, in whatever parts they come."""
    precision, shift = np.zeros((2, problem.n_items + 1))
    for part, told in spoken(problem, state):
        part.layout.add_per_item(told.precision + told.likeness_precision, precision)
        part.layout.add_per_item(told.shift + told.likeness_shift, shift)
    return precision[:-1], shift[:-1]

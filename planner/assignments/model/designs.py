"""The designs that a chair without affinities may ask for, one object each; nothing heavy is imported here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from reviewgraph.naming import named

if TYPE_CHECKING:
    import numpy as np

    from reviewgraph.reviews import Reviews


class Design(ABC):
    """A way to assign that knows loads alone.

    Attributes
    ----------
    name
        What commands and arguments call it.
    words
        What it does, for the command's help.
    """

    name: ClassVar[str]
    words: ClassVar[str]

    @abstractmethod
    def draw(self, n_items: int, loads: Sequence[int], rng: np.random.Generator) -> Reviews:
        """Draw an assignment in which reviewer j has ``loads[j]`` reviews."""


class Random(Design):
    """Algorithm 2 of [Tan21]_."""

    name = "random"
    words = "at random (Algorithm 2 of the paper)"

    def draw(self, n_items: int, loads: Sequence[int], rng: np.random.Generator) -> Reviews:
        """Draw at random."""
        from reviewgraph.designs import random_assignment

        return random_assignment(n_items, len(loads), loads, rng)


class DoublyConnected(Design):
    """Algorithm 3 of [Tan21]_."""

    name = "double"
    words = "at random and doubly connected (Algorithm 3)"

    def draw(self, n_items: int, loads: Sequence[int], rng: np.random.Generator) -> Reviews:
        """Draw at random, doubly connected by construction."""
        from reviewgraph.designs import doubly_connected_assignment

        return doubly_connected_assignment(n_items, len(loads), loads, rng)


#: All designs.
DESIGNS: tuple[Design, ...] = (Random(), DoublyConnected())


def design_named(name: str) -> Design:
    """Return the design of a name.

    Raises
    ------
    InputError
        If no design bears the name.

    Examples
    --------
    >>> design_named("random").words
    'at random (Algorithm 2 of the paper)'
    """
    return named(DESIGNS, name, "design")

"""An object of a list, such as a level, a method or a design, by its name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from reviewgraph.errors import InputError


class Named(Protocol):
    """Whatever has a name."""

    @property
    def name(self) -> str:
        """What commands and arguments call it."""


N = TypeVar("N", bound=Named)


def named(known: Iterable[N], name: object, argument: str) -> N:
    """Return the one that bears a name.

    Parameters
    ----------
    known
        Objects of different names.
    name
        As the user gave it.
    argument
        What the message calls the argument.

    Raises
    ------
    InputError
        If none bears the name; the message lists the names.

    Examples
    --------
    >>> from reviewgraph.levels import LEVELS
    >>> named(LEVELS, "double", "level").term
    'doubly connected'
    """
    found = {one.name: one for one in known}
    if isinstance(name, str) and name in found:
        return found[name]
    message = f"{argument}: expected one of {', '.join(found)}, found {name!r}"
    raise InputError(message)

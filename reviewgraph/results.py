"""What all results have in common: a status with its meaning, a dictionary, a data frame, one line for ``repr``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narwhals.typing import IntoDataFrame

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]


class Status(StrEnum):
    """How work ended: text that equals its name, with :attr:`text` for its meaning and what to do.

    Members are written as ``OPTIMAL = "optimal", "proved to be the best"``.

    Examples
    --------
    >>> class Ending(Status):
    ...     GOOD = "good", "all went well"
    >>> Ending.GOOD, Ending.GOOD.text, Ending("good") is Ending.GOOD
    ('good', 'all went well', True)
    """

    text: str

    def __new__(cls, value: str, text: str = "") -> Self:
        """Make a member of a name and its meaning."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.text = text
        return member

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Progress:
    """How far long work is; what every ``progress`` argument is called with.

    Parameters
    ----------
    seconds
        Since the work began.
    words
        What is being done, or what was reached.
    done
        Share that is done, from 0 to 1; None where nobody can know.
    """

    seconds: float
    words: str
    done: float | None = None


class Result(ABC):
    """A result as a dictionary, a data frame and, in a shell, as one line."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the result as the command's ``--json`` prints it."""

    @abstractmethod
    def to_columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the rows of the result by column, as the command's ``-o`` writes them."""

    @abstractmethod
    def headline(self) -> str:
        """Return what the result says in half a line."""

    def to_frame(self, backend: Backend | None = None) -> IntoDataFrame:
        """Return :meth:`to_columns` as a data frame.

        Parameters
        ----------
        backend
            ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default pandas where it is installed, else pyarrow.
        """
        return frame_of(self.to_columns(), backend)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline()}>"


def frame_of(columns: Mapping[str, Sequence[Any]], backend: Backend | None = None) -> IntoDataFrame:
    """Return columns as a data frame; labels that are neither text nor numbers become text.

    Raises
    ------
    InputError
        If the backend is not one of :data:`Backend`, or not installed.

    Examples
    --------
    >>> frame_of({"item": ["p1", ("p", 2)]}, backend="pyarrow")["item"].to_pylist()
    ['p1', "('p', 2)"]
    """
    from importlib.util import find_spec

    import narwhals as nw

    chosen: Backend = backend or ("pandas" if find_spec("pandas") else "pyarrow")
    try:
        frame: IntoDataFrame = nw.from_dict(
            {name: _framable(column) for name, column in columns.items()}, backend=chosen
        ).to_native()
    except (ImportError, ValueError) as error:
        message = f"backend: expected 'pandas', 'polars' or 'pyarrow', installed, found {backend!r} ({error})"
        raise InputError(message) from error
    return frame


def _framable(column: Sequence[Any]) -> Sequence[Any]:
    if all(entry is None or isinstance(entry, str | int | float) for entry in column):
        return column
    return [entry if entry is None else str(entry) for entry in column]

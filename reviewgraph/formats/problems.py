"""What is wrong in a file and where, gathered so that one message tells it all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from reviewgraph.errors import InputError

#: Problems one message spells out; the rest are counted.
LISTED = 10

#: Characters of a cell that a message quotes.
QUOTED = 40

#: Characters of an error of others that a message says.
SAID = 200


def quote(label: object) -> str:
    """Return text in quotes for a message, cut where it is long, and other labels as they are written in Python.

    >>> quote("p" * 10_000)
    "'pppppppppppppppppppppppppppppppppppppppp...' (10,000 characters)"
    """
    text = label if isinstance(label, str) else ""
    return repr(label) if len(text) <= QUOTED else f"{text[:QUOTED] + '...'!r} ({len(text):,} characters)"


def cut(error: object) -> str:
    r"""Return what the system or a library says of an error, in one line that is cut where it is long.

    >>> cut(ValueError("no such thing\nin line 3")), len(cut("x" * 1_000))
    ('no such thing', 203)
    """
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0] if len(lines[0]) <= SAID else f"{lines[0][:SAID]}..."


def quote_all(texts: Iterable[str], most: int = 20) -> str:
    """Return several texts in quotes, separated by commas, the first ones where there are many."""
    quoted = [quote(text) for text in texts]
    more = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return ", ".join(quoted[:most]) + more


class Problems:
    """Malformed rows of one reading, over all its files.

    >>> problems = Problems()
    >>> problems.add(0, 3, "reviews.csv:3: the reviewer is empty")
    >>> problems.raise_any()
    Traceback (most recent call last):
        ...
    reviewgraph.errors.InputError: reviews.csv:3: the reviewer is empty
    """

    def __init__(self) -> None:
        self.count = 0
        self._found: list[tuple[int, int, str]] = []
        self._hints: dict[str, None] = {}

    def add(self, file: int, line: int, message: str) -> None:
        """Note one problem; within a file and a kind of problem they must come in the order of lines."""
        self.count += 1
        self._found.append((file, line, message))

    def add_rows(self, file: int, lines: Sequence[int], message: Callable[[int], str]) -> None:
        """Note the same kind of problem for many rows; ``message(n)`` tells the n-th of them."""
        for number, line in enumerate(lines[:LISTED]):
            self.add(file, int(line), message(number))
        self.count += max(0, len(lines) - LISTED)

    def hint(self, message: str) -> None:
        """Note what to do about it, once however often it is said."""
        self._hints[message] = None

    def raise_any(self) -> None:
        """Raise one InputError that lists the first problems by file and line and counts the rest."""
        if not self.count:
            return
        listed = [message for _, _, message in sorted(self._found)[:LISTED]]
        if self.count > len(listed):
            listed.append(f"... and {self.count - len(listed):,} more")
        raise InputError("\n".join([*listed, *self._hints]))

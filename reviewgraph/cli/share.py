"""``--select``: how many papers, as a number or a percentage."""

from __future__ import annotations

from dataclasses import dataclass

import click

from reviewgraph.errors import InputError


@dataclass(frozen=True)
class Share:
    """``N`` or ``P%`` of the papers."""

    number: float
    percent: bool

    def __str__(self) -> str:
        return f"{self.number:g}%" if self.percent else f"{self.number:g}"

    def of(self, most: int) -> int:
        """Return how many papers that is, of those with a score.

        >>> Share(10.0, percent=True).of(25), Share(3, percent=False).of(25)
        (3, 3)
        """
        if not most:
            message = "select: expected papers with scores to select from, found none"
            raise InputError(message)
        count = int(self.number / 100 * most + 0.5) if self.percent else int(self.number)
        if count > most:
            message = f"select: expected at most {most} papers, those with a score; found {count}"
            raise InputError(message)
        return count


def read_share(ctx: click.Context, param: click.Parameter, value: str | None) -> Share | None:
    """Read ``N`` or ``P%``."""
    if value is None:
        return None
    percent = value.strip().endswith("%")
    try:
        number = float(value.strip().removesuffix("%")) if percent else int(value)
    except ValueError:
        number = -1
    if not number >= 0 or (percent and number > 100):
        message = f"expected a number of papers, or a percentage as in 10%; found {value!r}"
        raise click.BadParameter(message, ctx, param)
    return Share(number, percent)

"""Numbers that options take."""

from __future__ import annotations

import math
from typing import Any

import click


class Number(click.FloatRange):
    """A finite number within bounds.

    >>> Number(0).convert("0.5", None, None)
    0.5
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or fail with one message."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"expected a finite number, found {value}; without a limit, leave it out", param, ctx)
        return found

"""Bad input: one message on stderr, exit status 2."""

from __future__ import annotations

import click

from reviewgraph.words import visible


class Refusal(click.ClickException):
    """Bad input: one message on stderr, exit status 2."""

    exit_code = 2

    def format_message(self) -> str:
        """Return the message, with nothing in it that steers a terminal."""
        return visible(self.message, but="\n")

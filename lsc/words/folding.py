"""Lines for a terminal: sentences broken where it ends, rows of tables and commands to copy left whole."""

from __future__ import annotations

import re
import shutil
import textwrap

#: What a sentence hangs on: its indentation, and a number before it.
_LEAD = re.compile(r" *(?:[-+<>]* ?[0-9][0-9.,]*(?: %)?  )?")
#: Spaces at which a line does not end: before a percent sign, and before a number that a name has in brackets.
_KEPT, _HARD_SPACE = re.compile(r" (?=%|\([0-9<>])"), "\N{NO-BREAK SPACE}"


def terminal_width() -> int:
    """Return the columns of the terminal, 80 where there is none; the variable COLUMNS overrules both."""
    return shutil.get_terminal_size((80, 24)).columns


def folded(line: str, width: int) -> list[str]:
    """Return a line as lines of a width, later ones below the words of the first.

    Examples
    --------
    >>> folded("  +0.40  ann gave 9, counts as 8.5", 24)
    ['  +0.40  ann gave 9,', '         counts as 8.5']
    >>> folded("rank  paper  quality", 12)
    ['rank  paper  quality']
    """
    lead = _LEAD.match(line)
    hang = lead.end() if lead else 0
    if len(line) <= width or "  " in line[hang:]:
        return [line]
    # A list that is indented without a number goes on further in, so that its items are told apart.
    inner = hang + 2 if line[:hang].isspace() else hang
    return [
        part.replace(_HARD_SPACE, " ")
        for part in textwrap.wrap(
            _KEPT.sub(_HARD_SPACE, line[hang:]),
            width,
            initial_indent=line[:hang],
            subsequent_indent=" " * inner,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]

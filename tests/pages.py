"""What pages offer."""

from __future__ import annotations

import re
import shlex


def offered(page: str) -> list[str]:
    """Return the words of the command that a page offers next, ``reviewgraph`` left out; none where it offers none."""
    commands = re.findall(r"^Next: reviewgraph (.*)$", page, re.M)
    return shlex.split(commands[-1]) if commands else []

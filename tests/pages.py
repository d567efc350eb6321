"""What pages offer."""

import re
import shlex

#: A command, whose lines but the last end with a backslash.
NEXT = re.compile(r"^Next  reviewgraph ((?:.*\\\n)*.*)$", re.M)


def all_offered(page: str) -> list[list[str]]:
    """Return the words of the commands that a page offers next, ``reviewgraph`` left out, as a shell reads them."""
    return [shlex.split(command.replace("\\\n", " ")) for command in NEXT.findall(page)]


def offered(page: str) -> list[str]:
    """Return the words of the last command that a page offers next; none where it offers none."""
    return next(iter(all_offered(page)[::-1]), [])

"""START's assignments: a line a submission, with its reviewers after it."""

from __future__ import annotations

import re

from reviewgraph.uploads.upload import Accepted, Outgoing, Upload

#: What parts names on a line, or ends it.
_PART = re.compile(r"[^:\s]+")


def write(outgoing: Outgoing) -> str:
    r"""Return lines ``submission:user:user``.

    Raises
    ------
    InputError
        If a name holds a colon or a space.

    Examples
    --------
    >>> write(Outgoing({"item": [4, 7, 4], "reviewer": ["ann", "ann", "bob"]}))
    '4:ann:bob\n7:ann\n'
    """
    START.expect_taken(outgoing)
    return "".join(f"{item}:{':'.join(map(str, who))}\n" for item, who in outgoing.by_item().items())


_NAMES = Accepted(
    _PART.fullmatch,
    "names without colons and spaces",
    "name submissions by their numbers and reviewers by their user names, or write another form",
)
START = Upload("start", "START's lines, submission:user:user", ".txt", write, reviewers=_NAMES, items=_NAMES)

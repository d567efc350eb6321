"""pretalx's import of review assignments: the proposals of each reviewer."""

from __future__ import annotations

import json

from reviewgraph.uploads.upload import Accepted, Outgoing, Upload


def write(outgoing: Outgoing) -> str:
    r"""Return an object of lists, the codes of proposals by the address or the code of a reviewer.

    Raises
    ------
    InputError
        If a paper is no code of a proposal, or a reviewer neither a code nor an address.

    Examples
    --------
    >>> print(write(Outgoing({"item": ["FCTN9J", "KEKMUV"], "reviewer": ["ann@x.org"] * 2})), end="")
    {
    "ann@x.org": ["FCTN9J", "KEKMUV"]
    }
    """
    PRETALX.expect_taken(outgoing)
    proposals: dict[str, list[str]] = {}
    for reviewer, item in outgoing.pairs:
        proposals.setdefault(str(reviewer), []).append(str(item))
    rows = ",\n".join(f"{json.dumps(who, ensure_ascii=False)}: {json.dumps(of)}" for who, of in proposals.items())
    return f"{{\n{rows}\n}}\n" if rows else "{}\n"


def _is_code(label: str) -> bool:
    from reviewgraph.formats.systems.pretalx import is_code  # the readers bring NumPy along

    return is_code(label)


def _is_person(label: str) -> bool:
    return "@" in label or _is_code(label)


_REMEDY = "name proposals by the codes that pretalx's exports have, and reviewers by code or address"
PRETALX = Upload(
    "pretalx",
    "pretalx's review assignments, as JSON",
    ".json",
    write,
    reviewers=Accepted(_is_person, "codes or addresses of reviewers", _REMEDY),
    items=Accepted(_is_code, "codes of proposals", _REMEDY),
    advice={
        "conflicts": "pretalx assigns a proposal to those who speak about it, too: add --conflicts with its "
        "submissions.json (?expand=speakers)."
    },
)

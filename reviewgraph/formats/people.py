"""Cells that name people: words that stand for nobody, and several people in one cell."""

from __future__ import annotations

import re

#: Words in the place of a person who is not known, or not there, compared without case, blanks and marks around them.
NOBODY = frozenset(
    (
        *(
            "tbd",
            "tba",
            "tbc",
            "tbn",
            "n.n",
            "nn",
            "n/n",
            "n/a",
            "na",
            "#n/a",
            "nan",
            "null",
            "none",
            "nobody",
            "no one",
        ),
        *("unknown", "anonymous", "anonym", "anon", "unassigned", "not assigned", "to be assigned", "not yet assigned"),
        *(
            "to be determined",
            "to be decided",
            "to be announced",
            "to be confirmed",
            "to be named",
            "pending",
            "vacant",
        ),
        *(
            "open",
            "empty",
            "missing",
            "placeholder",
            "reviewer needed",
            "needs reviewer",
            "unbekannt",
            "offen",
            "niemand",
        ),
        *("nicht zugewiesen", "inconnu", "anonyme", "personne", "desconocido", "por asignar", "nadie", "sconosciuto"),
    )
)
_AROUND = re.compile(r"^[\s(\[<{*\"'.]+|[\s)\]>}*\"'.:]+$")
_MARKS = re.compile(r"[\W_]*")
_ADDRESS = re.compile(r"[^\s@,;<>]+@[^\s@,;<>]+")


def is_nobody(cell: str) -> bool:
    """Return whether a cell stands for nobody: a word such as TBD or unknown, or marks alone.

    >>> [is_nobody(cell) for cell in ("TBD", "(n.n.)", "?", "--", "to be  assigned", "Ann", "Noone")]
    [True, True, True, True, True, False, False]
    """
    if _MARKS.fullmatch(cell):
        return True
    return " ".join(_AROUND.sub("", cell).casefold().split()) in NOBODY


def split_people(cell: str) -> list[str]:
    """Return the people in a cell: separated by semicolons, bars or line ends, and addresses also by commas or blanks.

    Other commas may be part of a name ("Lee, Ann") and separate nobody.

    >>> split_people("Ann Lee; Bob"), split_people("a@x.org, b@x.org"), split_people("Lee, Ann")
    (['Ann Lee', 'Bob'], ['a@x.org', 'b@x.org'], ['Lee, Ann'])
    >>> split_people("Ann <a@x.org>, Bob <b@x.org>")
    ['Ann <a@x.org>', 'Bob <b@x.org>']
    """
    parts = [part.strip() for part in re.split(r"[;|\r\n]", cell)]
    people: list[str] = []
    for part in filter(None, parts):
        pieces = [piece.strip() for piece in part.split(",") if piece.strip()]
        addresses = _ADDRESS.findall(part)
        if len(addresses) > 1 and len(pieces) == len(addresses):
            people.extend(pieces)
        elif len(addresses) > 1 and " ".join(addresses) == " ".join(part.split()):
            people.extend(addresses)
        else:
            people.append(part)
    return people

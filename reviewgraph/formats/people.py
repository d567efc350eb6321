"""Cells that name people: words that stand for nobody, and several people in one cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from reviewgraph.formats.files import terms

#: Words in the place of a person who is not known, or not there, compared without case, blanks and marks around them.
NOBODY = frozenset(
    terms(
        """tbd, tba, tbc, tbn, nn, n/a, #n/a, none, nobody, no one, unknown, anonymous, anon, anonym, unassigned,
        not assigned, not yet assigned, vacant, empty, missing, placeholder, reviewer needed, needs reviewer,
        deleted user, undefined, blank, pending, open, no reviewer, not known, not available, declined, withdrawn,
        cancelled, canceled, recused, no response, abgelehnt, abgesagt, unbekannt, nicht zugewiesen, niemand, inconnu,
        anonyme, personne, non attribué, desconocido, anónimo, sin asignar, nadie, sconosciuto, anonimo, nessuno,
        não atribuído, onbekend, okand, okänd, nieznany, неизвестно, аноним, не назначен, 未定, 待定, 未分配, 匿名,
        未割当, 未指定, 不明, 未知"""
    )
)
#: Phrases that say that somebody is still to come, in some languages.
_TO_COME = re.compile(
    r"(?:to be|still to be|will be) \w+|(?:noch )?(?:offen|zu (?:benennen|bestimmen|vergeben))|wird noch .*"
    r"|(?:\xe0|a) (?:d\xe9terminer|d\xe9finir|d\xe9signer|confirmer|affecter|attribuer)"
    r"|a (?:determinar|definir|designar|confirmar)"
    r"|por (?:definir|asignar|confirmar|determinar|designar)|da (?:definire|assegnare|determinare|confermare)"
    r"|nog te .*|n\.? ?n\.?|x{2,}|(?:tb[acd]|n\. ?n\.) .*|.* tb[acd]"
)
#: Missing values as programs write them; in other letter case they are names.
_EXACTLY = frozenset(("NA", "NULL", "null"))
#: What is missing, as in "anonymous reviewer".
_NOUN = re.compile(r"\b(?:reviewer|referee|judge|grader|rater|annotator|user|person|gutachter)$")
_AROUND = re.compile(r"^[\s(\[<{*\"'.]+|[\s)\]>}*\"'.:]+$")
_MARKS = re.compile("[-?._/*\N{EN DASH}\N{EM DASH}\N{HORIZONTAL ELLIPSIS} ]*")
_ADDRESS = re.compile(r"[^\s@,;<>]+@[^\s@,;<>]+")


def is_nobody(cell: str) -> bool:
    """Return whether a cell stands for nobody: a word such as TBD or unknown, NA in capitals, or marks alone.

    >>> [is_nobody(cell) for cell in ("TBD", "(n.n.)", "?", "--", "to be  assigned", "NA", "anonymous reviewer")]
    [True, True, True, True, True, True, True]
    >>> [is_nobody(cell) for cell in ("Declined", "Ann", "Noone", "Na", "Reviewer", "Anonymous 7")]
    [True, False, False, False, False, False]
    """
    if _MARKS.fullmatch(cell):
        return True
    word = " ".join(_AROUND.sub("", cell).split())
    plain = word.casefold()
    noun = _NOUN.search(plain)
    if noun and plain[: noun.start()].strip() in NOBODY:
        return True
    return plain in NOBODY or word in _EXACTLY or bool(_TO_COME.fullmatch(plain))


def split_people(cell: str) -> list[str]:
    """Return the people in a cell: separated by semicolons, bars or line ends, and addresses also by commas or blanks.

    Other commas may be part of a name ("Lee, Ann") and separate nobody.

    >>> split_people("Ann Lee; Bob"), split_people("a@x.org, b@x.org"), split_people("Lee, Ann")
    (['Ann Lee', 'Bob'], ['a@x.org', 'b@x.org'], ['Lee, Ann'])
    >>> split_people("Ann <a@x.org>, Bob <b@x.org>")
    ['Ann <a@x.org>', 'Bob <b@x.org>']
    """
    parts = [part.strip() for part in re.split(r"[;|\r\n\uff1b]", cell)]
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


_BETWEEN = re.compile(r"\s*(?:[,/&+;\u3001\uff0c\uff0f\uff1b]|\s(?:and|und|et|e|y|en|och)\s)\s*")


def split_recurring(cells: Sequence[str]) -> list[list[str]]:
    """Return the people in distinct cells whose parts recur in other cells, whatever separates them.

    Two thirds of the cells that have parts must have parts that other cells have, too: those of "Lee, Ann" have not.

    >>> split_recurring(["Ann, Bob", "Bob, Cy", "Cy, Ann"]), split_recurring(["Lee, Ann", "Poe, Bob"])
    ([['Ann', 'Bob'], ['Bob', 'Cy'], ['Cy', 'Ann']], [['Lee, Ann'], ['Poe, Bob']])
    """
    parts = [[part for part in _BETWEEN.split(cell) if part] for cell in cells]
    count = Counter(part for names in parts for part in dict.fromkeys(names))
    several = [names for names in parts if len(names) > 1]
    recurring = [names for names in several if all(count[part] > 1 for part in names)]
    if len(several) < 3 or 3 * len(recurring) < 2 * len(several):
        return [[cell] for cell in cells]
    return parts


_CHARACTERS_AROUND = {ord(sign): None for sign in "()[]<>{}*\"'.:?-_/ \N{EN DASH}\N{EM DASH}"}
_PLAIN_NOBODY = frozenset(word.casefold().translate(_CHARACTERS_AROUND) for word in {*NOBODY, *_EXACTLY, ""})


def may_hold_nobody(cells: Sequence[str]) -> bool:
    """Return whether some cell may stand for nobody; quick where there are many, and sure where it says no.

    >>> may_hold_nobody(["Ann", "TBD"]), may_hold_nobody(["Ann", "Bob"])
    (True, False)
    """
    text = "\n".join(cells)
    plain = text.casefold().translate(_CHARACTERS_AROUND)
    words = plain.split("\n")
    return not plain.isascii() or " " in text or not _PLAIN_NOBODY.isdisjoint(words)


def may_hold_several(cells: Sequence[str]) -> bool:
    """Return whether some cell may hold several people; quick where there are many, and sure where it says no.

    >>> may_hold_several(["Ann; Bob"]), may_hold_several(["a@x.org", "b@x.org"])
    (True, False)
    """
    text = "\0".join(cells)
    return (
        " " in text or not text.isascii() or text.count("@") > len(cells) or any(sign in text for sign in ";|\r\n,/&+")
    )

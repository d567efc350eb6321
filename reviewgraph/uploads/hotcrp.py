"""HotCRP's bulk assignment, add-only: a review that is there already is left as it is, and none is ever cleared.

Its help page offers the review type ``none:primary``, but such a row adds nothing, and HotCRP reports success. A row
adds a review, and only where there is none, if its paper is a search that finds the paper unless the reviewer reviews
it already: ``6 -re:ann@example.org``. Tried with HotCRP 3.2, 3.3.1 and 3.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from reviewgraph.formats.writing import csv_text
from reviewgraph.uploads.upload import Accepted, Outgoing, Upload, expect

#: An address that HotCRP can have and that a row may name; what begins with # or - it takes for a tag there.
_EMAIL = re.compile(r"(?![-#])[-!#$%&'*+./0-9=?A-Z^_`a-z{|}~]+@(?:_\.|(?:[-0-9A-Za-z]+\.)+)[0-9A-Za-z]+")
#: A paper that is no number would be a search of its own, which may find many.
_PAPER = re.compile(r"[1-9][0-9]*")
_ROUND = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
#: How HotCRP parts an address that it searches for: it finds subdomains, and, but for these ends, longer domains too.
_PARTS = re.compile(r"(?P<name>.*)@(?P<domain>.*?)(?P<end>(?:[.](?:com|net|edu|org|us|uk|fr|be|jp|cn))?)", re.I)

_REFUSED = "HotCRP refuses the whole file for one row that"
#: What to know, and the option of a command that settles it.
ADVICE = {
    "conflicts": f'{_REFUSED} is a conflict: add --conflicts with its download "Paper information, PC conflicts".',
    "items": f'{_REFUSED} is of a withdrawn paper: add --items with its download "Paper information, CSV".',
    "willing": f"{_REFUSED} gives somebody outside the PC a primary review: add --willing with its download "
    '"Review assignments, PC review preferences".',
    "": "Who declined a review is in no download of HotCRP: list them in a file (paper,email) and give it with --gone, "
    "or for assign among the conflicts.",
}


def write(outgoing: Outgoing) -> str:
    r"""Return one row a review, which HotCRP applies all together or not at all.

    Reviews are primary reviews; external ones where the reviewer is known not to be in the PC.

    Raises
    ------
    InputError
        If a paper is no number, a reviewer no address that HotCRP takes, or the label cannot be the name of a round.

    Examples
    --------
    >>> print(write(Outgoing({"item": [7], "reviewer": ["ann@example.org"]}, label="R2")), end="")
    paper,action,email,reviewtype,round
    7 -re:ann@example.org,review,ann@example.org,primary,R2
    """
    HOTCRP.expect_taken(outgoing)
    if outgoing.label is not None:
        name = "the name of a round as label, letters and digits that begin with a letter"
        expect(_ROUND.fullmatch, [outgoing.label], "hotcrp", name, "choose another --label")
    emails, count = list(map(str, outgoing.columns["reviewer"])), len(outgoing.pairs)
    known = {*map(str, outgoing.people), *emails}
    search = {email: _search(email, known) for email in dict.fromkeys(emails)}
    outside = set(map(str, outgoing.outsiders))
    # Addresses go out as they are: an apostrophe before one that begins like a formula would make it another.
    return csv_text(
        {
            "paper": [
                f"{paper} -re:{search[who]}" for paper, who in zip(outgoing.columns["item"], emails, strict=True)
            ],
            "action": ["review"] * count,
            "email": emails,
            "reviewtype": ["external" if email in outside else "primary" for email in emails],
            "round": [outgoing.label or ""] * count,
        },
        guard=False,
    )


#: The tag of a quality, which chairs alone see, and what its lists begin with.
TAG = "~~calibrated"
LISTS = ("in", "discuss", "out", "aside")
#: Digits of a quality: HotCRP keeps six or seven in all, and would take a longer one for a change each time.
DIGITS = 3


def tags(columns: Mapping[str, Sequence[Any]]) -> str:
    r"""Return qualities and lists as tags, by which HotCRP sorts (``rorder:~~calibrated``) and searches.

    A paper without a quality, or on no list, loses the tag that it may have had.

    Parameters
    ----------
    columns
        ``item``, ``quality``, and perhaps ``list``, one of :data:`LISTS`.

    Raises
    ------
    InputError
        If a paper is no number.

    Examples
    --------
    >>> print(tags({"item": [7, 9], "quality": [4.4, None], "list": ["in", "out"]}), end="")
    paper,action,tag
    7,tag,~~calibrated#4.400
    9,cleartag,~~calibrated
    7,tag,~~calibrated-in
    9,cleartag,~~calibrated-in
    7,cleartag,~~calibrated-discuss
    9,cleartag,~~calibrated-discuss
    7,cleartag,~~calibrated-out
    9,tag,~~calibrated-out
    7,cleartag,~~calibrated-aside
    9,cleartag,~~calibrated-aside
    """
    papers, qualities = columns["item"], columns["quality"]
    expect(_PAPER.fullmatch, papers, HOTCRP.name, HOTCRP.items.words, HOTCRP.items.remedy)
    known = [None if quality is None or quality != quality else f"#{quality:.{DIGITS}f}" for quality in qualities]
    found = columns.get("list", [None] * len(papers))
    # For each tag what follows it on each paper, None where the paper shall not have it.
    values = {TAG: known} | {f"{TAG}-{name}": ["" if one == name else None for one in found] for name in LISTS}
    rows = [
        (paper, "cleartag" if value is None else "tag", f"{tag}{value or ''}")
        for tag, column in values.items()
        for paper, value in zip(papers, column, strict=True)
    ]
    return csv_text({name: [row[place] for row in rows] for place, name in enumerate(("paper", "action", "tag"))})


def _search(email: str, known: Collection[str]) -> str:
    """Return what finds the reviews of a person, and of nobody else who is known.

    >>> _search("ann@mit.edu", ["bob@mit.edu"]), _search("ann@mit.edu", ["ann@csail.mit.edu", "ANN@mit.edu"])
    ('ann@mit.edu', 'ann@mit.ed*u')
    """
    others = [one for one in known if one.casefold() != email.casefold()]
    parts = _PARTS.fullmatch(email)
    if parts is None or not any(map(_found_by(parts), others)):
        return email
    # With a star HotCRP takes an address for a pattern, letter by letter.
    for place in range(len(email) - 1, 0, -1):
        pattern = re.compile(f"{re.escape(email[:place])}.*{re.escape(email[place:])}", re.I)
        if not any(map(pattern.fullmatch, others)):
            return f"{email[:place]}*{email[place:]}"
    return email


def _found_by(parts: re.Match[str]) -> Callable[[str], object]:
    """Return the test whether HotCRP finds another address, too, when it searches for one without a star."""
    end = re.escape(parts["end"]) if parts["end"] else r"(?:[@.].*|)"
    return re.compile(f"{re.escape(parts['name'])}@(?:|.*[.]){re.escape(parts['domain'])}{end}", re.I).fullmatch


HOTCRP = Upload(
    "hotcrp",
    "HotCRP's bulk assignment, which only adds",
    ".csv",
    write,
    frozenset({"label"}),
    reviewers=Accepted(
        _EMAIL.fullmatch,
        "email addresses of reviewers",
        "name reviewers by the email that hotcrp knows them by, or write another form, such as --to csv",
    ),
    items=Accepted(
        _PAPER.fullmatch, "numbers of papers", "name papers by their numbers, or write another form, such as --to csv"
    ),
    advice=ADVICE,
)

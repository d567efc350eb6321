"""The finding about columns that say what became of a review: which rows count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reviewgraph._base.text import counted
from reviewgraph.formats.audit.finding import Draft, Note, finding, overrule, plain_name, quoted, texts_of
from reviewgraph.formats.files import quote, terms
from reviewgraph.formats.tables import Column, of_rows
from reviewgraph.formats.values import parse_flag, parse_moment

if TYPE_CHECKING:
    from reviewgraph._base.arrays import BoolArray

#: Names of columns that say what became of a review, and those that say what became of a paper, as plain_name has them.
STATUS = frozenset(
    terms(
        """status, state, reviewstatus, reviewerstatus, invitationstatus, assignmentstatus, reviewstate, invitation,
        response, reviewerresponse, invitationresponse, statusofreview, reviewprogress, zustand, antwort, rueckmeldung,
        statut, etat, reponse, estado, respuesta, stato, risposta, situacao, resposta, 状态, 状態, ステータス, 回答,
        статус"""
    )
)
PAPER_STATUS = frozenset(
    noun + word
    for noun in ("paper", "submission", "proposal", "application", "manuscript", "abstract", "entry", "item")
    for word in ("status", "state")
)


#: Words for a review that will not be, or does not count; they and their like begin the cell.
_OUT = re.compile(
    r"(?:reviewer |invitation |review |has |was )?(?:declin|cancel|withdr|unassign|no[ -](?:response|reply|answer|show)"
    r"|not (?:responded|accepted)|unrespons|remov|delet|retract|recus|conflict|coi\b|terminat|expir|resign|dropped"
    r"|exclud|void|invalid|uninvit"
    r"|unable|unavailable|cannot|can't|will not|reassigned|replaced"
    r"|abgelehnt|abgesagt|zur\xfcckgezogen|storniert|keine antwort|befangen"
    r"|refus|d\xe9clin|annul|retir|sans r\xe9ponse|rechaz|sin respuesta|rifiut|ritirat|recusad|desistiu"
    r"|\u62d2\u7edd|\u8f9e\u9000|\u53d6\u6d88|\u64a4\u56de|\u5df2\u62d2|\u8f9e\u9000)",
    re.IGNORECASE,
)
#: Words for a paper that is out, and for a decision on it, which says nothing of the review.
_PAPER_OUT = re.compile(r"withdr|retract|desk[ -]?reject|zur\xfcckgezogen|retir|ritirat|\u64a4", re.IGNORECASE)
_DECISION = re.compile(r"(?:accept|reject|revis|minor|major|resubmit|under review|in review)", re.IGNORECASE)
#: Words for a review that is not finished.
_UNFINISHED = re.compile(
    r"draft|unsubmitted|not (?:yet )?submitted|incomplete|in progress|started|saved|not started|entwurf|brouillon"
    r"|borrador|bozza|rascunho|\u8349\u7a3f|\u4e0b\u66f8\u304d",
    re.IGNORECASE,
)
#: Names of columns of yes and no, or of dates: what a row is where they say yes, or, of the last two, no.
_FLAGS_OUT = frozenset(
    start + stem + end
    for start in ("", "is", "reviewer", "date")
    for end in ("", "at", "on", "date", "flag")
    for stem in terms(
        """declined, cancelled, canceled, withdrawn, recused, noshow, deleted, removed, excluded, unconsidered,
        retracted, conflict, coi, conflictofinterest, abgelehnt, befangen, refuse, annule, rechazado, cancelado,
        rifiutato, recusado"""
    )
)
_FLAGS_DRAFT = frozenset(("draft", "isdraft", "unsubmitted", "entwurf", "brouillon", "borrador"))
_FLAGS_ACTIVE = frozenset(
    ("active", "isactive", "valid", "isvalid", "accepted", "agreed", "confirmed", "aktiv", "actif")
)
_FLAGS_DONE = frozenset(
    ("submitted", "issubmitted", "reviewsubmitted", "completed", "complete", "iscomplete", "finished")
)


def is_status(name: str) -> bool:
    """Return whether a column says which rows count; no score is in it.

    >>> is_status("Review status"), is_status("declined_at"), is_status("Clarity")
    (True, True, False)
    """
    plain = plain_state(name)
    flags = _FLAGS_OUT | _FLAGS_DRAFT | _FLAGS_ACTIVE | _FLAGS_DONE
    return plain in STATUS or plain in PAPER_STATUS or plain in flags


_ABOUT_REVIEW = re.compile(r"(?:invite|invitation|request|reviewer?|referee|judge|grader|assignment|task|rsvp)+")


def plain_state(name: str) -> str:
    """Return the plain name of a column of states, without what every such column is about.

    >>> plain_state("Invite status"), plain_state("RSVP"), plain_state("Agreed to review?"), plain_state("Visa status")
    ('status', 'status', 'agreed', 'visastatus')
    """
    plain = re.sub("(?:code|toreview)$", "", plain_name(name))
    for word in ("status", "state"):
        if _ABOUT_REVIEW.fullmatch(plain.removesuffix(word)) and (plain.endswith(word) or plain == "rsvp"):
            return "status"
    return plain


@finding(
    "status",
    "corrected",
    "a column of states (status, response, declined, withdrawn, draft ...)",
    "declined, cancelled and withdrawn reviews are left out, drafts count as planned, both are counted",
    accepted="all rows count",
)
def status(draft: Draft, note: Note) -> Draft:
    """Leave out reviews that will not be, and the scores of those that are not finished."""
    for name in draft.others:
        if is_status(name):
            column = of_rows(draft.others[name](), draft.rows)
            draft = _by_status(draft, name, plain_state(name), column, note)
    if not any(map(is_status, draft.others)):
        _note_state(draft, note)
    return draft


#: Maximum number of words of a column of states of another name, and least number of rows on each side.
_MOST_STATES = 6
_FEWEST_ROWS = 3


def _note_state(draft: Draft, note: Note) -> None:
    """Note a column whose words tell the rows without a score from the others, as RSVP or progress may."""
    scored = draft.has_score()
    if min(scored.sum(), draft.size - scored.sum()) < _FEWEST_ROWS:
        return
    for name, read in draft.others.items():
        column = of_rows(read(), draft.rows)
        words = np.array([bool(text.strip()) for text in texts_of(column)], np.bool_)
        with_score = np.unique(column.codes[scored])
        without = np.unique(column.codes[~scored])
        few = with_score.size + without.size <= _MOST_STATES and bool(words[without].all())
        if not few or np.intersect1d(with_score, without).size:
            continue
        if not _is_of_item(column, draft.item) and not _is_of_item(column, draft.reviewer):
            note(
                f"{draft.name}: {counted(int((~scored).sum()), 'row')} without a score, those whose {quote(name)} is "
                f"{quoted(column, ~scored)}, count as planned; if these reviews will not be written, delete the rows"
            )
            return


def _by_status(draft: Draft, name: str, plain: str, column: Column, note: Note) -> Draft:
    """Return a draft without the rows that one column of states says are out."""
    words = [text.strip() for text in texts_of(column)]
    out, unfinished, of_paper = _states(plain, words, _is_of_item(column, draft.item))
    dropped = out[column.codes]
    undone = unfinished[column.codes] & ~dropped
    if not dropped.any() and not undone.any():
        return draft
    parts = []
    if dropped.any():
        parts.append(f"{counted(int(dropped.sum()), 'row')} left out, whose {quote(name)} is {quoted(column, dropped)}")
    if undone.any():
        cells = quoted(column, undone)
        count = counted(int(undone.sum()), "row counts", "rows count")
        parts.append(f"{count} as planned, whose {quote(name)} is {cells}: not finished")
    rest = ~dropped & ~undone
    counting = f"; rows with {quoted(column, rest)} count" if rest.any() else ""
    note(f"{draft.name}: {'; '.join(parts)}{counting}; {overrule('status')} counts all rows")
    before = draft.unfinished if draft.unfinished is not None else np.zeros(draft.size, np.bool_)
    draft = replace(draft, unfinished=before | undone)
    return draft.without(dropped, "declined, cancelled or withdrawn", with_items=of_paper) if dropped.any() else draft


def _states(plain: str, words: Sequence[str], of_item: bool) -> tuple[BoolArray, BoolArray, bool]:
    """Return which words say that a row is out, which that it is not finished, and whether the paper is out, too."""
    out, unfinished = np.zeros((2, len(words)), np.bool_)
    if plain in PAPER_STATUS or (plain in STATUS and of_item and any(map(_PAPER_OUT.search, words))):
        out[:] = [bool(_PAPER_OUT.search(word)) for word in words]
        return out, unfinished, True
    if plain in STATUS:
        # A state that is the same in all rows of a paper, accepted or rejected, is the decision on it.
        if of_item and all(not word or _DECISION.match(word) for word in words):
            return out, unfinished, False
        out[:] = [bool(_OUT.match(word)) or (not of_item and word.casefold().startswith("reject")) for word in words]
        answers = [parse_flag(word) for word in words]
        if None not in answers and len(set(answers)) > 1:
            out[:] = [not answer and bool(word) for answer, word in zip(answers, words, strict=True)]
        unfinished[:] = [bool(_UNFINISHED.search(word)) for word in words]
        return out, unfinished & ~out, False
    flags = [True if parse_moment(word) and not word.isdigit() else parse_flag(word) for word in words]
    if any(flag is None for flag in flags) or len(set(flags)) < 2:
        return out, unfinished, False
    yes = np.array(flags, np.bool_)
    if plain in _FLAGS_OUT:
        return yes, unfinished, False
    if plain in _FLAGS_ACTIVE:
        return (out if of_item else ~yes), unfinished, False
    return out, (yes if plain in _FLAGS_DRAFT else ~yes), False


def _is_of_item(column: Column, item: Column) -> bool:
    """Whether a column never differs between the rows of an item, though some item has several."""
    pairs = np.unique(np.stack([item.codes, column.codes]), axis=1)
    rows_of_item = np.bincount(item.codes)
    return bool(np.unique(pairs[0]).size == pairs.shape[1] and (rows_of_item > 1).any())

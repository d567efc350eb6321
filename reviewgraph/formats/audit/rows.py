"""Findings about the rows of one source, looked for before its scores are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
from reviewgraph._base.errors import DuplicateReview, InputError
from reviewgraph._base.labels import is_null
from reviewgraph._base.text import counted, noun
from reviewgraph.formats.audit.finding import (
    Draft,
    asked,
    finding,
    numbers_of,
    overrule,
    plain_name,
    quoted,
    same_code,
    texts_of,
    with_name,
    with_values,
)
from reviewgraph.formats.columns import CRITERION, ITEM, REVIEWER, naming, normalise
from reviewgraph.formats.files import Note, quote, quote_all, terms
from reviewgraph.formats.people import (
    PHRASES,
    SUMMARY_WORDS,
    is_nobody,
    is_summary,
    may_hold_nobody,
    may_hold_several,
    split_people,
    split_recurring,
    unfolded,
    words_of,
)
from reviewgraph.formats.tables import Column, Numbers, of_rows
from reviewgraph.formats.values import parse_flag, parse_moment, parse_number, read_moments

# Rows that are no reviews.


@finding("corrected", "they are left out and counted")
def repeated_header(draft: Draft, note: Note) -> Draft:
    """Rows that repeat the names of the columns, as in files put together."""
    if draft.people_are_numbered or draft.papers_are_numbered:
        return draft
    again = np.ones(draft.size, np.bool_)
    for role in (REVIEWER, ITEM):
        names = {normalise(draft.headers[role.name])} if role.name in draft.headers else {*role.names, *role.weak}
        column = getattr(draft, role.name)
        plain = {plain_name(name) for name in names}
        alike = np.array([len(text) < 40 and plain_name(text) in plain for text in texts_of(column)], np.bool_)
        again &= alike[column.codes]
    return draft.leave_out(again, "which repeat the header", note, with_items=True)


#: Labels that may also be names, and what their scores are of the others: they need this evidence.
_PERHAPS: dict[str, tuple[Callable[[FloatArray], Any], ...]] = {
    **dict.fromkeys(("max", "maximum", "massimo", "maximo", "maximal", "maximale"), (np.max,)),
    **dict.fromkeys(("min", "minimum", "minimo"), (np.min,)),
    **dict.fromkeys(("total", "totals", "totale", "sum", "suma", "soma"), (np.sum, np.mean)),
    **dict.fromkeys(("overall", "final", "media", "mean", "average", "avg", "durchschnitt", "mittelwert"), (np.mean,)),
    **dict.fromkeys(("moyenne", "promedio"), (np.mean,)),
    "all": (np.mean, np.sum, np.max, np.min),
    "median": (np.median,),
    "range": (np.ptp,),
    **dict.fromkeys(("count", "n"), (np.size,)),
    **dict.fromkeys(("mittel", "schnitt"), (np.mean,)),
    "consensus": (np.mean, np.median),
    "standard": (np.std, partial(np.std, ddof=1)),
    "variance": (np.var, partial(np.var, ddof=1)),
}
#: Those that people are called, too.
NAMES = frozenset(("max", "min", "sum", "suma", "soma"))
#: Surnames, and variants of language models as judges: reviewers so called need this evidence, or nearly all papers.
VARIANTS = frozenset(("mittel", "schnitt", "consensus", "standard", "variance"))

#: Labels beside rows that sum up others, as of pandas' describe(), and the number of such rows that tells them.
_DESCRIBES = re.compile(r"count|\d{1,2}(?:\.\d+)?\s?%", re.IGNORECASE)
_OF_DESCRIPTION = 3


@finding("corrected", "they are left out and counted")
def summary_rows(draft: Draft, note: Note) -> Draft:
    """Rows of maxima, averages or totals among the papers (Points Possible, Mean, Durchschnitt ...)."""
    texts = [] if draft.papers_are_numbered else texts_of(draft.item)
    codes = [code for code, text in enumerate(texts) if may_sum(text)] if len(texts) >= 3 else []
    by_name = [words_of(texts[code]) not in _PERHAPS or words_of(texts[code]) in VARIANTS for code in codes]
    sums = [code for code, never in zip(codes, by_name, strict=True) if never or has_sums(draft, code, codes)]
    if len(sums) >= _OF_DESCRIPTION:
        beside = [code for code, text in enumerate(texts) if code not in sums and _DESCRIBES.fullmatch(text.strip())]
        sums += beside if len(sums) + len(beside) < len(texts) else []
    footers = _footers(draft)
    dropped = np.isin(draft.item.codes, sums)
    words = quote_all(sorted({*footers.values(), *(str(draft.item.values[code]) for code in sums)}), 6)
    dropped[list(footers)] = True
    if dropped.all():
        return draft
    then = f" ({words}); {overrule('summary-rows')} reads them as papers"
    return draft.leave_out(dropped, "which sum up others", note, then=then, with_items=True)


def _footers(draft: Draft) -> dict[int, str]:
    """Return the labels of the last rows that are totals below the table, such as "Total, 36" or "Mean, all, 3.5"."""
    labels: dict[int, str] = {}
    row = draft.size - 1
    while row > 1 and (label := _label_below(draft, row)):
        labels[row] = label
        row -= 1
    score = numbers_of(draft.score, draft.size)
    above = score[: row + 1][~np.isnan(score[: row + 1])]

    def is_total(row: int, name: str) -> bool:
        if (name not in NAMES | VARIANTS and np.isnan(score[row])) or _counts(draft, row, size):
            return True
        if name not in _PERHAPS or (name in SUMMARY_WORDS and name not in NAMES | VARIANTS):
            return True
        return above.size > 0 and _agree(name, [(score[row], above)])

    size = row + 1
    return {row: label for row, label in labels.items() if is_total(row, words_of(label))}


def _counts(draft: Draft, row: int, size: int) -> bool:
    """Return whether beside a label below the table is the number of the first ``size`` rows, or of their labels."""
    for column, beside in ((draft.reviewer, draft.item), (draft.item, draft.reviewer)):
        number = parse_number(str(beside.values[beside.codes[row]]))
        if number is None or not may_sum(str(column.values[column.codes[row]])):
            continue
        scored = draft.has_score()
        # A planned review of a paper that others review, or in a table of plans, may have any number.
        if not (beside.codes[:size] == beside.codes[row]).any():
            labels = [np.unique(side.codes[:size]).size for side in (draft.reviewer, draft.item)]
            return number in (row, size) or (number in labels and bool(scored[:size].any()))
        return number == size and bool(scored[:size].all()) and not scored[row]
    return False


def _label_below(draft: Draft, row: int) -> str:
    """Return the label of a row that may sum up those above: it has no other row, and beside it a number or nobody."""
    for column, beside in ((draft.reviewer, draft.item), (draft.item, draft.reviewer)):
        label, cell = (str(side.values[side.codes[row]]) for side in (column, beside))
        if not may_sum(label) or np.count_nonzero(column.codes == column.codes[row]) > 1:
            continue
        if is_nobody(cell) or words_of(cell) == "all":
            return label
        alone = np.count_nonzero(beside.codes == beside.codes[row]) == 1
        unscored = column is draft.reviewer and not draft.has_score()[row]
        number = parse_number(cell)
        if number is not None and (alone or unscored or number == row):
            return label
    return ""


def beginnings(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of the beginnings of words, and of other letters: only labels with one are looked at closely."""
    starts = {word[:3] if len(word) > 2 else rf"{word}\b" for word in words}
    return re.compile(rf"\b(?:{'|'.join(sorted(starts))})|[^\x00-\x7f]", re.IGNORECASE)


_MAY_SUM = beginnings({*SUMMARY_WORDS, *_PERHAPS, *PHRASES})


def may_sum(label: str) -> bool:
    """Return whether a label may be that of a row or a column that sums others up.

    >>> may_sum("Max"), may_sum("p17")
    (True, False)
    """
    return bool(_MAY_SUM.search(label)) and (is_summary(label) or words_of(label) in _PERHAPS)


def has_sums(draft: Draft, code: int, sums: Sequence[int]) -> bool:
    """Return whether an item has the maximum, sum ... (its name) of the scores of the others, reviewer by reviewer.

    ``sums`` are the items that may be such rows. Without scores to compare, words that are never names are believed.
    """
    name = words_of(str(draft.item.values[code]))
    if name not in _PERHAPS:
        return False
    may_lack = name in SUMMARY_WORDS and name not in NAMES
    believed = may_lack and name not in VARIANTS
    score = numbers_of(draft.score, draft.size)
    people = draft.reviewer.codes
    # Where both sides are summed up, the total of totals is none of what is beside it.
    known = ~np.isnan(score) & ~with_values(draft.reviewer, may_sum)
    rows = np.flatnonzero((draft.item.codes == code) & known)
    compared = False
    for left_out in (sums, [code]):
        rest = np.flatnonzero(~np.isin(draft.item.codes, left_out) & known)
        groups = zip(rows, same_code(people, rows, rest), strict=True)
        pairs = [(score[row], score[same]) for row, same in groups if same.size]
        compared |= bool(pairs)
        loads = np.bincount(people[rest], minlength=len(draft.reviewer.values))
        loads[people[rows]] = 0
        # A paper called Max or Mean has some reviewers, a row of maxima those who have several papers, of means most.
        n_lacking = np.count_nonzero(loads > 1)
        is_whole = n_lacking < len(pairs) + (not believed) if may_lack else n_lacking == 0
        is_whole &= believed or len(pairs) > 1
        if is_whole and _agree(name, pairs):
            return True
    return believed and not compared


def _agree(name: str, pairs: Sequence[tuple[float, FloatArray]]) -> bool:
    """Return whether each number is the summary of the others that its name says, up to rounding."""

    def agrees(of: Callable[[FloatArray], Any], value: float, others: FloatArray) -> bool:
        # A row of maxima may hold the maxima of the scale.
        beyond = of is np.max and value >= others.max()
        return bool(beyond or abs(float(of(others)) - value) <= 0.51)

    return bool(pairs) and any(all(agrees(of, *pair) for pair in pairs) for of in _PERHAPS[name])


# Columns that say what became of a review: which rows count.

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
    "corrected",
    "declined, cancelled and withdrawn reviews are left out, drafts count as planned, both are counted",
    accepted="all rows count",
)
def status(draft: Draft, note: Note) -> Draft:
    """A column of states (status, response, declined, withdrawn, draft ...)."""
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
    if plain in _FLAGS_OUT:
        # Where a reviewer withdraws, another one of the same paper may stay.
        of_paper = of_paper and bool((np.bincount(draft.item.codes[dropped], minlength=1) > 1).any())
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
    flags = [True if parse_moment(word, day_first=True) and not word.isdigit() else parse_flag(word) for word in words]
    if any(flag is None for flag in flags) or len(set(flags)) < 2:
        return out, unfinished, False
    yes = np.array(flags, np.bool_)
    if plain in _FLAGS_OUT:
        return yes, unfinished, of_item and bool(_PAPER_OUT.search(plain))
    if plain in _FLAGS_ACTIVE:
        return (out if of_item else ~yes), unfinished, False
    return out, (yes if plain in _FLAGS_DRAFT else ~yes), False


def papers_out(name: str, cells: Sequence[str]) -> list[bool]:
    """Return which cells of a column of a list of papers say that a paper is withdrawn.

    >>> papers_out("status", ["active", "Withdrawn"]), papers_out("withdrawn", ["no", "yes"])
    ([False, True], [False, True])
    """
    out, _, of_paper = _states(plain_state(name), [cell.strip() for cell in cells], of_item=True)
    return [bool(is_out) and of_paper for is_out in out]


def _is_of_item(column: Column, item: Column) -> bool:
    """Whether a column never differs between the rows of an item, though some item has several."""
    pairs = np.unique(np.stack([item.codes, column.codes]), axis=1)
    rows_of_item = np.bincount(item.codes)
    return bool(np.unique(pairs[0]).size == pairs.shape[1] and (rows_of_item > 1).any())


# Reviewers who are nobody, or several.


@finding(
    "corrected",
    "their rows are left out and counted, as empty cells of a list of reviewers are",
    accepted="each word is a reviewer",
)
def placeholders(draft: Draft, note: Note) -> Draft:
    """Words in the place of a reviewer (TBD, n.n., ?, unknown, anonymous, unassigned ...)."""
    if draft.people_are_numbered or not may_hold_nobody(texts_of(draft.reviewer)):
        return draft
    labels = [label if isinstance(label, str) else "" for label in draft.reviewer.values]
    words_only = Column(draft.reviewer.codes, labels)
    dropped = with_values(words_only, lambda text: bool(text.strip()) and is_nobody(text))
    if not dropped.any():
        return draft
    words = quoted(draft.reviewer, dropped)
    rest = with_values(words_only, lambda text: 2 <= len(text) <= 3 and text.isalpha() and text.isupper())
    if (rest | dropped).all() and (rest & dropped).any() and np.unique(draft.reviewer.codes[rest & ~dropped]).size > 2:
        message = (
            f"{words} may be the initials of a reviewer, as the other labels are, or mean no one; "
            f"{overrule('placeholders')} reads each as a person; if no one, empty these cells and say"
        )
        raise asked(draft, message, "empty-reviewers")
    if dropped.all():
        raise InputError(
            f"{draft.name}: every reviewer is a placeholder ({words}), so who reviews what is not known; expected "
            "names, addresses or numbers of reviewers, one for each person"
        )
    scored = int((dropped & draft.has_score()).sum())
    with_scores = f", {scored:,} of them with a score" if scored else ""
    then = f" ({words}); {overrule('placeholders')} reads each as a person"
    return draft.leave_out(dropped, "whose reviewer is a placeholder", note, also=with_scores, then=then)


def _without_reviewers(draft: Draft, note: Note) -> Draft:
    """Return the rows with a reviewer, and note the papers that have no other row."""
    dropped = with_values(draft.reviewer, is_null)
    papers = draft.item.codes
    alone = dropped & ~np.isin(papers, papers[~dropped]) & ~with_values(draft.item, is_null)
    then = ""
    if alone.any():
        counts = noun(np.unique(papers[alone]).size, "counts as a paper", "count as papers")
        then = f"; {quoted(draft.item, alone)} {counts} without a review: delete the row of what is no paper"
    return draft.leave_out(dropped, "which name no reviewer", note, then=then)


@finding(
    "asked",
    "refused, with their lines",
    accepted="they are left out and counted",
    if_accepted=_without_reviewers,
)
def empty_reviewers(draft: Draft, note: Note) -> Draft:
    """Rows without a reviewer."""
    return draft


#: How the name of a column of lists of people ends.
_LISTS = ("reviewers", "judges", "graders", "referees", "assignees", "members")


@finding(
    "corrected",
    "each is a reviewer of the paper; one score of several people is refused",
    accepted="each cell is one reviewer",
)
def several_people(draft: Draft, note: Note) -> Draft:
    """Several people in the cell of a reviewer, separated by semicolons, or addresses by commas."""
    texts = [] if draft.people_are_numbered else texts_of(draft.reviewer)
    if not may_hold_several(texts) or not set(map(type, draft.reviewer.values)) <= {str}:
        return draft
    people = [split_people(text) for text in texts]
    if all(len(each) < 2 for each in people):
        people = split_recurring(texts)
        lists = normalise(draft.headers.get("reviewer", "")).endswith(_LISTS)
        if lists and all(len(each) < 2 for each in people) and any("," in text for text in texts):
            example = next(text for text in texts if "," in text)
            message = f"{quote(example)} may be one reviewer or several; separate several by semicolons, or say that "
            raise asked(draft, f"{message}each cell is one reviewer with", "several-people")
    size = np.array([len(each) for each in people])
    several = (size > 1)[draft.reviewer.codes]
    if not several.any():
        return draft
    scored = several & draft.has_score()
    if scored.any():
        message = (
            f"{draft.place(int(draft.rows[scored.argmax()]))}: the reviewer {quoted(draft.reviewer, scored)} is "
            "several people with one score; give each person a row with a score of their own, or say that they are one "
            f"reviewer with {overrule('several-people')}"
        )
        raise InputError(with_name(draft, message))
    note(
        f"{draft.name}: {counted(int(several.sum()), 'cell')} with several reviewers split, as "
        f"{quoted(draft.reviewer, several)}; {overrule('several-people')} reads each cell as one reviewer"
    )
    places, column, _ = unfolded(draft.reviewer, [names or [""] for names in people])
    return replace(draft.part(places), reviewer=column)


# Scores.

#: Cells of scores that say that there is no review, and those that say that there is a conflict.
_NO_REVIEW = re.compile(
    r"abst(?:ain|ained|ention|enci\xf3n|encion|en\xe7\xe3o|enu)|enthaltung|astensione|astenuto|no[ -]show|absent"
    r"|did not (?:review|attend|score|judge)|not (?:reviewed|present)|nicht (?:erschienen|anwesend|bewertet)|k\. ?a\."
    r"|assente|ausente|excused|entschuldigt|excus\xe9|dnf|dns|s/o|sans objet|#(?:n/a|div/0!|ref!|value!|name\?|null!)"
    r"|\u68c4\u6a29|\u5f03\u6743|\u7f3a\u5e2d|\u6b20\u5e2d|\u043d\u0435\u0442",
    re.IGNORECASE,
)
_CONFLICT = re.compile(
    r"coi|recus(?:ed|al)|conflict(?:ed|s)?(?: of interest)?|befangen(?:heit)?|interessenkonflikt"
    r"|conflit(?: d.int\xe9r\xeats?)?|conflicto(?: de inter\xe9s(?:es)?)?|conflitto(?: d.interessi)?"
    r"|conflito(?: de interesses?)?|\u5229\u76ca\u76f8\u53cd|\u5229\u76ca\u51b2\u7a81|\u56de\u907f|\u5fcc\u907f",
    re.IGNORECASE,
)


@finding(
    "corrected",
    "these rows are left out and counted; pairs in conflict are not asked for by plan",
    accepted="the words are grades of --scale, or refused",
)
def no_review_words(draft: Draft, note: Note) -> Draft:
    """Words for no review among the scores (abstain, no show, #N/A), and for a conflict (COI, recused)."""
    if draft.score is None or isinstance(draft.score, Numbers):
        return draft
    cells = [text.strip() for text in draft.score.values]
    conflict = np.array([bool(_CONFLICT.fullmatch(cell)) for cell in cells], np.bool_)
    absent = conflict | np.array([bool(_NO_REVIEW.fullmatch(cell)) for cell in cells], np.bool_)
    if not absent.any() or (draft.has_scale and not conflict.any()):
        return draft
    dropped = absent[draft.score.codes]
    barred = np.flatnonzero(conflict[draft.score.codes])
    pairs = tuple(
        (draft.reviewer.values[draft.reviewer.codes[row]], draft.item.values[draft.item.codes[row]])
        for row in barred.tolist()
    )
    also = f", {counted(len(pairs), 'of them a conflict', 'of them conflicts')}" if pairs else ""
    then = f" ({quoted(draft.score, dropped)}){also}"
    draft = replace(draft, barred=(*draft.barred, *pairs))
    return draft.leave_out(dropped, "whose score says that there is no review", note, then=then)


_ZERO = re.compile(r"(?P<sign>[-+\N{MINUS SIGN}]?)\s*0+(?:[.,]0*)?(?!\d)(?:\s*[:(\s].*)?", re.DOTALL)
#: The best of votes for and against, of which 0 and -0 may be two; computed numbers go farther.
LARGEST_VOTE = 3


@finding("asked", "refused, with the scale that keeps them apart", accepted="both are 0")
def signed_zeros(draft: Draft, note: Note) -> Draft:
    """+0 and -0 in one column of scores, as in votes for and against."""
    # Numbers in memory have lost their sign, or have one by computation.
    if draft.has_scale or draft.score is None or isinstance(draft.score, Numbers):
        return draft
    cells = [value.strip() for value in draft.score.values if value.strip()]
    if len(cells) > 100:
        return draft
    # Whether each zero is one for a paper, +0, rather than against it.
    zeros = {cell: match["sign"] in ("", "+") for cell in cells if (match := _ZERO.fullmatch(cell))}
    numbers = {cell: parse_number(cell.replace("\N{MINUS SIGN}", "-")) or 0.0 for cell in cells}
    has_plus = any(cell.startswith("+") for cell in zeros)
    if len({*zeros.values()}) < 2 or not (has_plus or max(map(abs, numbers.values())) <= LARGEST_VOTE):
        return draft
    scale = ">".join(sorted(cells, key=lambda cell: (numbers[cell], zeros.get(cell, True)), reverse=True))
    plus, minus = (next(cell for cell, above in zeros.items() if above == wanted) for wanted in (True, False))
    message = (
        f"the scores hold both {quote(plus)} and {quote(minus)}, which are one number and usually two grades; say "
        f'--scale "{scale}" (in Python scale="{scale}") if the first is the best, or that both are 0 with'
    )
    raise asked(draft, message, "signed-zeros")


#: Names of columns that hold ranks or places, of which 1 is usually the best, as plain_name has them.
_RANKS = frozenset(
    terms(
        """ranks, place, placement, placing, position, impactscore, overallimpact, rang, platz, platzierung, classement,
        puesto, posicion, posizione, colocacao, 順位, 名次, 排名"""
    )
)


@finding("noted", "noted, with the direction that was read")
def ranks(draft: Draft, note: Note) -> Draft:
    """Scores called rank, place or impact score, or 1, 2, ... of every reviewer: 1 is usually the best."""
    if draft.has_scale or draft.lower_is_better:
        return draft
    name = draft.headers.get("score", "")
    if not plain_name(name).endswith(("rank", "ranking")) and plain_name(name) not in _RANKS and not _are_ranks(draft):
        return draft
    note(
        f"{draft.name}: {quote(name) if name else 'the score'} is read as a score of which the largest is the best; "
        "ranks and places usually begin with the best: then say --lower-is-better (in Python lower_is_better=True)"
    )
    return draft


#: Number of reviewers, and of papers of each, from which on it is no coincidence that all scores are 1, 2, ....
_FEWEST_RANKINGS = 3
_FEWEST_RANKED = 4


def _are_ranks(draft: Draft) -> bool:
    """Whether the scores of every reviewer are 1, 2, ... up to their number."""
    score = numbers_of(draft.score, draft.size)
    if not np.isfinite(score).all() or score.min() != 1:
        return False
    order = np.lexsort((score, draft.reviewer.codes))
    reviewer = draft.reviewer.codes[order]
    first = np.flatnonzero(np.r_[True, reviewer[1:] != reviewer[:-1]])
    loads = np.diff(np.r_[first, draft.size])
    ranked = np.arange(draft.size) - np.repeat(first, loads) + 1
    return bool((score[order] == ranked).all() and np.count_nonzero(loads >= _FEWEST_RANKED) >= _FEWEST_RANKINGS)


#: Names of columns that tell which of several rows of a pair is newer.
_NEWER = re.compile(
    r"(?:.*_)?(?:version|revision|rev|round|phase|stage|attempt|iteration|update|date|time|timestamp|submitted|modified"
    r"|updated|created|day|submitted_at|modified_at|updated_at|runde|fassung|datum|fecha|ronda)(?:_.*)?"
)


def tells_age(name: str) -> bool:
    """Return whether a column may tell by its name which of several rows of a pair is newer."""
    return bool(_NEWER.fullmatch(normalise(name)))


@finding(
    "asked",
    "refused; the message names the column. With --duplicates last the newest counts by that column",
    accepted="the column is not looked at",
)
def repeated_pairs(draft: Draft, note: Note) -> Draft:
    """Several scores of a reviewer for a paper, which another column tells apart (version, date, round, trait)."""
    if not draft.others or "criterion" in draft.headers or draft.duplicates == "mean":
        return draft
    scored = np.flatnonzero(draft.has_score())
    pair = draft.reviewer.codes[scored] * len(draft.item.values) + draft.item.codes[scored]
    order = np.argsort(pair, kind="stable")
    again = np.flatnonzero(pair[order][1:] == pair[order][:-1])
    first = scored[order[again]]
    second = scored[order[again + 1]]
    unread = ""
    for name, read in draft.others.items() if again.size else ():
        column = of_rows(read(), draft.rows)
        if (column.codes[first] == column.codes[second]).any():
            continue
        ages = _ages(column, np.union1d(first, second)) if tells_age(name) else []
        # The order of the rows of each pair; of dates such as 3/4/2026 there may be two.
        orders = {np.lexsort((age[scored], pair)).tobytes() for age in ages}
        dates = f"the dates of {quote(name)}, as {quote(str(column.values[column.codes[first[0]]]))}, may begin with"
        if draft.duplicates == "last":
            if len(orders) > 1:
                message = f"{dates} the day or the month; write 2026-03-04, or let the last row of a pair count with"
                raise asked(draft, message, "repeated-pairs")
            if not ages:
                unread = unread or name * tells_age(name)
                continue
            if not (ages[0][second] < ages[0][first]).any():
                return draft
            note(f"{draft.name}: of several scores of a pair the newest by {quote(name)} counts, not the last row")
            return draft.part(np.argsort(ages[0], kind="stable"))
        places = f"{draft.place(int(draft.rows[first[0]]))} and {draft.place(int(draft.rows[second[0]]))}"
        who = draft.reviewer.values[draft.reviewer.codes[first[0]]]
        what = draft.item.values[draft.item.codes[first[0]]]
        start = f"reviewer {quote(who)} has two scores for item {quote(what)}: {places} differ in {quote(name)}"
        advice = (
            f"if {quote(name)} names what is scored, say {naming('', CRITERION, name)}; if all scores count alike, "
            "--duplicates mean"
        )
        if ages:
            advice = "--duplicates last uses the newest score by this column, --duplicates mean all of them"
        if len(orders) > 1:
            advice += f"; {dates} the day or the month: write 2026-03-04 first"
        raise DuplicateReview(with_name(draft, f"{start}; {advice}"))
    if unread:
        note(f"{draft.name}: of several scores of a pair the last row counts; {quote(unread)} has no numbers or dates")
    return draft


#: A number with its word, as in "Round 2" and "v1.10".
_STEP = re.compile(r"(?P<before>\D*)(?P<number>[0-9]+(?:[.][0-9]+)*)(?P<after>\D*)")


def _ages(column: Column, rows: IntArray) -> list[FloatArray]:
    """Return what tells the newer of some rows, shape (all rows,), in each way that numbers or dates can be read."""
    used = np.unique(column.codes[rows]).tolist()
    cells = [str(column.values[code]).strip() for code in used]
    steps = list(map(_STEP.fullmatch, cells))
    numbers = [parse_number(cell) for cell in cells]
    readings: list[Any] = read_moments(cells) if None in numbers else [numbers]
    words = {step and (step["before"].casefold(), step["after"]) for step in steps}
    if not readings and len(words) == 1 and None not in words:
        versions = [tuple(map(int, step["number"].split("."))) for step in steps if step]
        readings = [list(map(sorted(versions).index, versions))]
    ages = []
    for reading in readings:
        age = np.zeros(len(column.values))
        age[used] = reading
        ages.append(age[column.codes])
    return ages

"""Findings about the rows of one source, looked for before its scores are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reviewgraph._base.errors import DuplicateReview, InputError
from reviewgraph._base.labels import is_null
from reviewgraph._base.text import counted
from reviewgraph.formats.audit.finding import (
    Draft,
    Note,
    finding,
    numbers_of,
    overrule,
    place_of_first,
    quoted,
    texts_of,
    with_name,
    with_values,
)
from reviewgraph.formats.columns import normalise
from reviewgraph.formats.files import quote
from reviewgraph.formats.people import is_nobody, may_hold_nobody, may_hold_several, split_people
from reviewgraph.formats.tables import Column, Numbers, of_rows
from reviewgraph.formats.values import parse_flag, parse_moment, parse_number

if TYPE_CHECKING:
    from reviewgraph._base.arrays import BoolArray, FloatArray


# Rows that are no reviews.


@finding(
    "repeated-header",
    "corrected",
    "rows that repeat the names of the columns, as in files put together",
    "they are left out and counted",
)
def repeated_header(draft: Draft, note: Note) -> Draft:
    """Leave out rows that are the header again."""
    header = {role: draft.headers.get(role, "").strip().casefold() for role in ("reviewer", "item")}
    if not all(header.values()):
        return draft
    texts = {role: texts_of(getattr(draft, role)) for role in header}
    if any(header[role] not in {text.strip().casefold() for text in texts[role]} for role in header):
        return draft
    again = np.ones(draft.size, np.bool_)
    for role, name in header.items():
        again &= with_values(getattr(draft, role), lambda text, name=name: text.strip().casefold() == name)  # type: ignore[misc]
    if not again.any():
        return draft
    note(f"{draft.name}: {counted(int(again.sum()), 'row')} left out, which repeat the header")
    return draft.without(again, "which repeat the header", with_items=True)


#: Names of columns, normalised, that say what became of a review, and those that say what became of a paper.
STATUS = frozenset(
    (
        *("status", "state", "review_status", "reviewer_status", "invitation_status", "assignment_status"),
        *("review_state", "reviewstatus", "invitation", "response", "reviewer_response", "invitation_response"),
        *("status_of_review", "review_progress", "zustand", "statut", "estado", "stato", "situacao"),
        *("\u72b6\u6001", "\u72b6\u614b", "\u30b9\u30c6\u30fc\u30bf\u30b9"),
    )
)
PAPER_STATUS = frozenset(
    f"{noun}_{word}"
    for noun in ("paper", "submission", "proposal", "application", "manuscript", "abstract", "entry", "item")
    for word in ("status", "state")
)
#: Words for a review that will not be, or does not count; they and their like begin the cell.
_OUT = re.compile(
    r"(?:reviewer |invitation |review |has |was )?(?:declin|cancel|withdr|unassign|no[ -](?:response|reply|answer|show)"
    r"|not (?:responded|accepted)|unrespons|remov|delet|retract|recus|conflict|coi\b|terminat|expir|resign|dropped"
    r"|exclud|void|invalid|uninvit|abgelehnt|abgesagt|zur\xfcckgezogen|storniert|keine antwort|befangen"
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
#: Names of columns of yes and no, and what a row is where they say yes, or, of the last, no.
_FLAGS_OUT = frozenset(
    stem + end
    for end in ("", "?", "_flag")
    for stem in (
        *("declined", "is_declined", "cancelled", "canceled", "is_cancelled", "is_canceled", "withdrawn"),
        *("is_withdrawn", "recused", "is_recused", "no_show", "noshow", "deleted", "is_deleted", "removed"),
        *("excluded", "unconsidered", "retracted", "reviewer_declined", "abgelehnt", "annule", "declinado"),
    )
)
_FLAGS_DRAFT = frozenset(("draft", "is_draft", "unsubmitted", "entwurf"))
_FLAGS_DONE = frozenset(
    ("submitted", "is_submitted", "review_submitted", "completed", "complete", "is_complete", "finished")
)
#: All names of columns that say whether a row counts; no score is in them.
STATUS_COLUMNS = STATUS | PAPER_STATUS | _FLAGS_OUT | _FLAGS_DRAFT | _FLAGS_DONE


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
        plain = normalise(name)
        if plain not in STATUS_COLUMNS:
            continue
        cells = draft.others[name]()
        column = of_rows(Column(cells.codes, cells.values), draft.rows)
        draft = _by_status(draft, name, plain, column, note)
    return draft


def _by_status(draft: Draft, name: str, plain: str, column: Column, note: Note) -> Draft:
    """Return a draft without the rows that one column of states says are out."""
    words = [text.strip() for text in texts_of(column)]
    out, unfinished, of_paper = _states(plain, words, _is_of_item(column, draft.item))
    dropped = out[column.codes]
    undone = unfinished[column.codes] & draft.has_score() & ~dropped
    if not dropped.any() and not undone.any():
        return draft
    parts = []
    if dropped.any():
        parts.append(f"{counted(int(dropped.sum()), 'row')} left out, whose {quote(name)} is {quoted(column, dropped)}")
    if undone.any():
        cells = quoted(column, undone)
        parts.append(f"{counted(int(undone.sum()), 'score')} not used, whose {quote(name)} is {cells}: not finished")
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
        unfinished[:] = [bool(_UNFINISHED.search(word)) for word in words]
        return out, unfinished & ~out, False
    flags = [True if parse_moment(word) and not word.isdigit() else parse_flag(word) for word in words]
    if any(flag is None for flag in flags) or len(set(flags)) < 2:
        return out, unfinished, False
    yes = np.array(flags, np.bool_)
    if plain in _FLAGS_OUT:
        return yes, unfinished, False
    return out, (yes if plain in _FLAGS_DRAFT else ~yes), False


def _is_of_item(column: Column, item: Column) -> bool:
    """Whether a column never differs between the rows of an item, though some item has several."""
    pairs = np.unique(np.stack([item.codes, column.codes]), axis=1)
    rows_of_item = np.bincount(item.codes)
    return bool(np.unique(pairs[0]).size == pairs.shape[1] and (rows_of_item > 1).any())


#: Names of rows and columns that sum others up, normalised: no person or paper has them.
SUMMARY = frozenset(
    (
        *("points_possible", "possible_points", "max_points", "maximum_points", "max_score", "maximum_score", "out_of"),
        *("max_marks", "maximum_marks", "full_marks", "total_possible", "average", "avg", "mean", "median", "mode"),
        *("overall_average", "class_average", "weighted_average", "average_score", "mean_score", "avg_score"),
        *("std", "sd", "std_dev", "stddev", "stdev", "std_deviation", "standard_deviation", "variance", "range"),
        *("grand_total", "subtotal", "sum_total", "total_score", "total_points", "final_average", "consensus"),
        *("consensus_score", "durchschnitt", "mittelwert", "mittel", "schnitt", "gesamt", "summe", "insgesamt"),
        *("standardabweichung", "hoechstpunktzahl", "h\xf6chstpunktzahl", "maximalpunktzahl", "moyenne", "mediane"),
        *("m\xe9diane", "ecart_type", "\xe9cart_type", "somme", "promedio", "media", "mediana", "suma", "desviacion"),
        *(
            "desviaci\xf3n",
            "media_aritmetica",
            "somma",
            "totale",
            "media_ponderata",
            "m\xe9dia",
            "gemiddelde",
            "totaal",
        ),
        *("\u5e73\u5747", "\u5e73\u5747\u5206", "\u5e73\u5747\u503c", "\u603b\u5206", "\u5408\u8ba1", "\u5408\u8a08"),
        *("\u5e73\u5747\u70b9", "\u7dcf\u8a08", "\u603b\u8ba1"),
    )
)
#: The same that may also be names: they need the evidence of their scores.
_PERHAPS: dict[str, Callable[[FloatArray], Any]] = {
    "max": np.max,
    "maximum": np.max,
    "min": np.min,
    "minimum": np.min,
    "total": np.sum,
    "sum": np.sum,
    "overall": np.mean,
    "count": np.size,
    "n": np.size,
    "final": np.mean,
    "rank": np.size,
}


def is_summary(label: str) -> bool:
    """Return whether a label is that of a row or a column that sums others up.

    >>> is_summary("Points Possible"), is_summary("Average:"), is_summary("Max"), is_summary("Average-case complexity")
    (True, True, False, False)
    """
    return normalise(label) in SUMMARY


@finding(
    "summary-rows",
    "corrected",
    "rows of maxima, averages or totals among the papers (Points Possible, Mean, Durchschnitt ...)",
    "they are left out and counted",
)
def summary_rows(draft: Draft, note: Note) -> Draft:
    """Leave out rows that sum up others."""
    texts = texts_of(draft.item)
    if len(texts) < 3:
        return draft
    names = [normalise(text) if len(text) < 40 else "" for text in texts]
    sums = np.array([name in SUMMARY or (name in _PERHAPS and _is_sum(draft, code)) for code, name in enumerate(names)])
    dropped = sums[draft.item.codes]
    if not dropped.any() or dropped.all():
        return draft
    note(
        f"{draft.name}: {counted(int(dropped.sum()), 'row')} left out, which sum up others "
        f"({quoted(draft.item, dropped)}); {overrule('summary-rows')} reads them as papers"
    )
    return draft.without(dropped, "which sum up others", with_items=True)


def _is_sum(draft: Draft, code: int) -> bool:
    """Whether an item has the maximum, sum ... (its name) of the scores of all others, reviewer by reviewer."""
    score = numbers_of(draft.score, draft.size)
    value = _PERHAPS[normalise(str(draft.item.values[code]))]
    own = np.flatnonzero((draft.item.codes == code) & ~np.isnan(score))
    agree = []
    for row in own.tolist():
        same = draft.reviewer.codes == draft.reviewer.codes[row]
        rest = score[same & (draft.item.codes != code) & ~np.isnan(score)]
        if rest.size:
            # A row of maxima may hold the maxima of the scale.
            beyond = value is np.max and score[row] >= rest.max()
            agree.append(bool(beyond or abs(float(value(rest)) - score[row]) <= 0.51))
    return len(agree) > 1 and all(agree)


# Reviewers who are nobody, or several.


@finding(
    "placeholders",
    "corrected",
    "words in the place of a reviewer (TBD, n.n., ?, unknown, anonymous, unassigned ...)",
    "their rows are left out and counted, as empty cells of a list of reviewers are",
    accepted="each word is a reviewer",
)
def placeholders(draft: Draft, note: Note) -> Draft:
    """Leave out rows whose reviewer is nobody."""
    if not may_hold_nobody(texts_of(draft.reviewer)):
        return draft
    labels = [label if isinstance(label, str) else "" for label in draft.reviewer.values]
    words_only = Column(draft.reviewer.codes, labels)
    dropped = with_values(words_only, lambda text: bool(text.strip()) and is_nobody(text))
    if not dropped.any():
        return draft
    words = quoted(draft.reviewer, dropped)
    if dropped.all():
        message = (
            f"{draft.name}: every reviewer is a placeholder ({words}), so who reviews what is not known; expected "
            "names, addresses or numbers of reviewers, one for each person"
        )
        raise InputError(message)
    scored = int((dropped & draft.has_score()).sum())
    with_scores = f", {scored:,} of them with a score" if scored else ""
    note(
        f"{draft.name}: {counted(int(dropped.sum()), 'row')} left out{with_scores}, whose reviewer is a placeholder "
        f"({words}); {overrule('placeholders')} reads each as a person"
    )
    return draft.without(dropped, "whose reviewer is a placeholder")


def without_gaps(draft: Draft, note: Note) -> Draft:
    """Leave out rows without a reviewer."""
    dropped = with_values(draft.reviewer, is_null)
    if not dropped.any():
        return draft
    note(f"{draft.name}: {counted(int(dropped.sum()), 'row')} left out, which name no reviewer")
    return draft.without(dropped, "which name no reviewer")


@finding(
    "empty-reviewers",
    "asked",
    "rows without a reviewer",
    "refused, with their lines",
    accepted="they are left out and counted",
    if_accepted=without_gaps,
)
def empty_reviewers(draft: Draft, note: Note) -> Draft:
    """Leave rows without a reviewer to the reader, which refuses them line by line."""
    return draft


@finding(
    "several-people",
    "corrected",
    "several people in the cell of a reviewer, separated by semicolons, or addresses by commas",
    "each is a reviewer of the paper; one score of several people is refused",
    accepted="each cell is one reviewer",
)
def several_people(draft: Draft, note: Note) -> Draft:
    """Split cells with several people."""
    texts = texts_of(draft.reviewer)
    header = normalise(draft.headers.get("reviewer", ""))
    lists = header.endswith(("reviewers", "judges", "graders", "referees", "assignees", "gutachter", "members"))
    if not may_hold_several(texts) and not (lists and any("," in text for text in texts)):
        return draft
    if not set(map(type, draft.reviewer.values)) <= {str}:
        return draft
    people = [split_people(text) for text in texts]
    if lists and all(len(each) == 1 for each in people):
        people = _split_at_commas(draft, texts)
    size = np.array([len(each) for each in people])
    several = (size > 1)[draft.reviewer.codes]
    if not several.any():
        return draft
    scored = several & draft.has_score()
    if scored.any():
        message = (
            f"{place_of_first(draft, scored)}: the reviewer {quoted(draft.reviewer, scored)} is several people with "
            "one score; give each person a row with a score of their own, or say that they are one reviewer with "
            f"{overrule('several-people')}"
        )
        raise InputError(with_name(draft, message))
    note(
        f"{draft.name}: {counted(int(several.sum()), 'cell')} with several reviewers split, as "
        f"{quoted(draft.reviewer, several)}; {overrule('several-people')} reads each cell as one reviewer"
    )
    repeats = size[draft.reviewer.codes]
    places = np.repeat(np.arange(draft.size), repeats)
    names = [name for code in draft.reviewer.codes.tolist() for name in people[code] or [""]]
    index = {name: code for code, name in enumerate(dict.fromkeys(names))}
    codes = np.array([index[name] for name in names], np.int64)
    return replace(draft.part(places), reviewer=Column(codes, list(index)))


def _split_at_commas(draft: Draft, texts: Sequence[str]) -> list[list[str]]:
    """Return people of a column called reviewers; commas may be those of names, which is asked."""
    people = [[piece.strip() for piece in text.split(",") if piece.strip()] for text in texts]
    if max(map(len, people)) == 2:
        example = next(text for text, each in zip(texts, people, strict=True) if len(each) == 2)
        message = (
            f"{draft.name}: {quote(example)} may be one reviewer or two; separate several by semicolons, or say that "
            f"each cell is one reviewer with {overrule('several-people')}"
        )
        raise InputError(message)
    return people


# Scores.

_PLUS_ZERO = re.compile(r"\s*\+\s*0+(?:[.,]0*)?(?!\d)")
_MINUS_ZERO = re.compile(r"\s*[-\N{MINUS SIGN}]\s*0+(?:[.,]0*)?(?!\d)")
#: The best of votes for and against, of which +0 and -0 are two.
LARGEST_VOTE = 3


@finding(
    "signed-zeros",
    "asked",
    "+0 and -0 in one column of scores, as in votes for and against",
    "refused, with the scale that keeps them apart",
    accepted="both are 0",
)
def signed_zeros(draft: Draft, note: Note) -> Draft:
    """Ask about zeros of both signs."""
    if isinstance(draft.score, Numbers):
        # Numbers that were computed may be -0; votes are few whole numbers on both sides of 0.
        values = draft.score.values[draft.score.known]
        minus = int(((values == 0) & np.signbit(values)).sum())
        plus = int((values == 0).sum()) - minus
        votes = (values == np.rint(values)).all() and np.abs(values).max(initial=0) <= LARGEST_VOTE
        if min(minus, plus) < 2 or not votes or not (values.min() < 0 < values.max()):
            return draft
        note(
            f"{draft.name}: the scores hold both 0 and -0, which count as one; if they are two grades, read them as "
            "text with a scale, best first"
        )
        return draft
    if draft.score is None:
        return draft
    cells = [value.strip() for value in draft.score.values if value.strip()]
    if len(cells) > 100 or not any(map(_MINUS_ZERO.fullmatch, cells)) or not any(map(_PLUS_ZERO.fullmatch, cells)):
        return draft
    signed = [cell for cell in cells if parse_number(cell.replace("\N{MINUS SIGN}", "-")) is not None]
    grades = sorted(signed, key=lambda cell: (-float(parse_number(cell.replace("\N{MINUS SIGN}", "-")) or 0), cell[0]))
    scale = ">".join(grades)
    message = (
        f'{draft.name}: the scores hold both "+0" and "-0", which are one number and usually two grades; say '
        f'--scale "{scale}" (in Python scale="{scale}") if the first is the best, or that both are 0 with '
        f"{overrule('signed-zeros')}"
    )
    raise InputError(message)


#: Names of columns that tell which of several rows of a pair is newer.
_NEWER = re.compile(
    r"(?:.*_)?(?:version|revision|rev|round|phase|stage|attempt|iteration|update|date|time|timestamp|submitted|modified"
    r"|updated|created|day|submitted_at|modified_at|updated_at|runde|fassung|datum|fecha|ronda)(?:_.*)?"
)


@finding(
    "repeated-pairs",
    "asked",
    "several scores of a reviewer for a paper, which another column tells apart (version, date, round, trait)",
    "refused; the message names the column. With --duplicates last the newest counts by that column",
    accepted="the column is not looked at",
)
def repeated_pairs(draft: Draft, note: Note) -> Draft:
    """Ask which of several rows of a pair counts, where a column tells them apart."""
    if not draft.others or "criterion" in draft.headers or draft.duplicates == "mean":
        return draft
    scored = np.flatnonzero(draft.has_score())
    pair = draft.reviewer.codes[scored] * len(draft.item.values) + draft.item.codes[scored]
    order = np.argsort(pair, kind="stable")
    again = np.flatnonzero(pair[order][1:] == pair[order][:-1])
    first = scored[order[again]]
    second = scored[order[again + 1]]
    for name, read in draft.others.items() if again.size else ():
        column = of_rows(read(), draft.rows)
        if (column.codes[first] == column.codes[second]).any():
            continue
        age = _ages(name, column)
        falls = age is not None and bool((age[second] < age[first]).any())
        if draft.duplicates == "last" and age is None:
            continue
        if draft.duplicates == "last":
            if age is None or not falls:
                return draft
            note(f"{draft.name}: of several scores of a pair the newest by {quote(name)} counts, not the last row")
            return draft.part(np.argsort(age, kind="stable"))
        places = f"{draft.place(int(draft.rows[first[0]]))} and {draft.place(int(draft.rows[second[0]]))}"
        who = draft.reviewer.values[draft.reviewer.codes[first[0]]]
        what = draft.item.values[draft.item.codes[first[0]]]
        start = f"reviewer {quote(who)} has two scores for item {quote(what)}: {places} differ in {quote(name)}"
        advice = (
            f"if {quote(name)} names what is scored, say --columns criterion={name} (in Python "
            f'columns={{"criterion": "{name}"}}); if all scores count alike, --duplicates mean'
        )
        if age is not None:
            advice = "--duplicates last uses the newest score by this column, --duplicates mean all of them"
        raise DuplicateReview(with_name(draft, f"{start}; {advice}"))
    return draft


def _ages(name: str, column: Column) -> FloatArray | None:
    """Return what tells the newer of two rows, shape (rows,): numbers or dates of a column with such a name."""
    if not _NEWER.fullmatch(normalise(name)):
        return None
    numbers = [parse_number(str(value)) for value in column.values]
    if None not in numbers:
        return np.array(numbers, np.float64)[column.codes]
    moments = [parse_moment(str(value)) for value in column.values]
    if None in moments:
        return None
    return np.array([moment.timestamp() for moment in moments if moment is not None])[column.codes]

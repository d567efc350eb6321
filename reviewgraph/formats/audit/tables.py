"""Findings about a whole table, looked for in all its sources together."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from reviewgraph._base.arrays import FloatArray, IntArray
from reviewgraph._base.text import counted, in_full
from reviewgraph.formats.audit.finding import Draft, asked, numbers_of, overrule, same_code, texts_of
from reviewgraph.formats.audit.finding import finding as finding_of
from reviewgraph.formats.audit.rows import NAMES, VARIANTS, beginnings, has_sums, may_sum
from reviewgraph.formats.files import Note, quote, quote_all, terms
from reviewgraph.formats.people import is_summary, words_of

#: All findings here are about the whole table.
finding = partial(finding_of, of_rows=False)

#: Papers from which on labels that number the reviews of a paper are no coincidence.
FEWEST_PAPERS = 5
#: Maximum number of labels that may number the reviews of a paper.
MOST_NUMBERS = 60


#: An e-mail address, an ORCID iD, a profile of OpenReview.
_PERSON = re.compile(r"@|(?:\d{4}-){3}\d{3}[\dX]|^~\w+\d$")


@finding("asked", "refused: reviewers and papers are exchanged")
def exchanged_columns(draft: Draft, note: Note) -> Draft:
    """E-mail addresses or profiles of people as papers, while no reviewer is one."""
    papers = draft.item.values
    people = draft.reviewer.values
    names_person = _PERSON.search
    if not all(names_person(str(label)) for label in papers) or any(names_person(str(label)) for label in people):
        return draft
    message = (
        "expected reviewers before items (in graphs 0 for reviewers), found that all items are e-mail addresses or "
        f"profiles of people, as {str(papers[0])!r}, and no reviewer is; exchange the two (--columns "
        "reviewer=NAME,item=NAME), or say that it is right with"
    )
    raise asked(draft, message, "exchanged-columns")


_NUMBERED = re.compile(
    r"(?P<stem>.*?)[\s#_.()\[\]-]*"
    r"(?:(?P<number>[0-9]{1,2})[\s)\].]*(?P<rest>[\s(\[]\D*)?|(?P<letter>[A-Za-z])[\s)\].]*)"
)
#: Numbers without a word that every paper has may number its reviews only where they are few.
MOST_COMPLETE = 6
#: Words of labels that number reviews.
_NUMBERED_NOUNS = frozenset(
    terms("reviewer, r, rev, review, referee, judge, rater, grader, evaluator, examiner, score, gutachter")
)
_GERMAN = re.compile(r"\b(erst|zweit|dritt)-?(?=[a-z])(?!e)")
_ORDINALS = {
    word: place
    for words in terms(
        """first second third fourth fifth sixth, 1st 2nd 3rd 4th 5th 6th, one two three four five six,
        i ii iii iv v vi, erster zweiter dritter vierter, premier deuxième troisième quatrième,
        primero segundo tercero cuarto, primo secondo terzo quarto, primary secondary tertiary,
        erst zweit dritt viert"""
    )
    for place, word in enumerate(words.split(), 1)
}


#: Words that name the part that a person has in a review.
_ROLES = frozenset(
    terms(
        """reviewer, referee, judge, rater, grader, marker, examiner, assessor, evaluator, reader, supervisor, advisor,
        adviser, moderator, instructor, teacher, tutor, peer, self, expert, lead, chair, meta, main, internal, external,
        rapporteur, discussant, gutachter, betreuer, prufer, berichterstatter, directeur, examinateur, encadrant,
        president, revisor, evaluador, relatore, correlatore, presidente, controrelatore"""
    )
)
#: Maximum number of labels that are roles.
MOST_ROLES = 6


def is_role(label: str) -> bool:
    """Return whether a label is the part that a person has in a review, perhaps with a number, and no person.

    >>> is_role("Supervisor"), is_role("Second reader"), is_role("Peer 1"), is_role("Ann Reader")
    (True, True, True, False)
    """
    words = _GERMAN.sub(r"\1 ", words_of(label)).split()
    roles = [word for word in words if word.rstrip("0123456789") in _ROLES or word in _ORDINALS]
    return bool(roles) and all(word in roles or word.isdigit() for word in words)


def number_in(label: str) -> tuple[str, int] | None:
    r"""Return the word and the number of a label such as "Reviewer 2"; None for other labels.

    >>> number_in("Reviewer #2"), number_in("J3"), number_in("7"), number_in("Judge B"), number_in("second reviewer")
    (('reviewer', 2), ('j', 3), ('', 7), ('judge', 2), ('reviewer', 2))
    >>> number_in("Referee b"), number_in("Reviewer 2 (expert)"), number_in("Zweitgutachter"), number_in("\u2461")
    (('referee', 2), ('reviewer expert', 2), ('gutachter', 2), ('', 2))
    >>> number_in("Ann"), number_in("0J1")
    (None, None)
    """
    text = unicodedata.normalize("NFKC", label).strip()
    words = _GERMAN.sub(r"\1 ", text.casefold()).split()
    ordinal = next((word for word in words if word in _ORDINALS), None)
    if ordinal is not None and len(words) <= 2:
        return " ".join(word for word in words if word != ordinal), _ORDINALS[ordinal]
    match = _NUMBERED.fullmatch(text)
    if match is None or any(sign.isdigit() for sign in match["stem"]):
        return None
    stem = words_of(f"{match['stem']} {match['rest'] or ''}")
    if match["number"]:
        return stem, int(match["number"])
    # "Judge B" and "B" are numbered, the last letter of a name is not.
    if match["stem"] and text[match.end("stem")].isalpha():
        return None
    return stem, ord(match["letter"].upper()) - ord("A") + 1


def _numbers_of(labels: Sequence[str]) -> tuple[list[int], str | None]:
    """Return the numbers 1 to k in labels of one word, and this word; nothing where the labels are no such numbers."""
    pairs = [pair for pair in map(number_in, labels) if pair is not None]
    numbers = [pair[1] for pair in pairs]
    stems = {pair[0] for pair in pairs}
    if len(pairs) < len(labels) or len(stems) > 1 or set(numbers) != set(range(1, len(labels) + 1)):
        return [], None
    # Of two labels without such a word, one may well be that of somebody who reviews everything.
    if len(labels) == 2 and not stems & _NUMBERED_NOUNS:
        return [], None
    return numbers, stems.pop()


_NO_PERSON = (
    ", so who reviewed several papers is not known; expected a label for each person, the same on all of their papers; "
    "if each label is one person all the same, say"
)


def _are_of_papers(draft: Draft) -> bool:
    """Whether each reviewer has one paper, and a label such as P1-R2 that begins or ends with that of the paper."""
    if draft.size < FEWEST_PAPERS or np.bincount(draft.reviewer.codes).max() > 1:
        return False
    people = texts_of(draft.reviewer)
    papers = texts_of(draft.item)
    for reviewer, item in zip(draft.reviewer.codes.tolist(), draft.item.codes.tolist(), strict=True):
        name = people[reviewer].casefold()
        paper = papers[item].casefold()
        # What is left has the number of the review, and is no digit of the paper's: 1 is no part of 12.
        before, _, after = name.partition(paper)
        rest = before + after
        beside = f"{before[-1:]}{after[:1]}"
        if rest == name or not any(map(str.isdigit, rest)) or any(map(str.isdigit, beside)):
            return False
    return len(papers) > 1


#: The share of papers that may lack a review, as where one was lost, and the share up to which there is no doubt.
_MOST_GAPS = 0.2
_FEW_GAPS = 0.1


@finding(
    "asked",
    "refused, since who reviewed several papers is not known; noted where every paper has all of them, or a few a gap",
    accepted="each label is one person",
)
def positional_reviewers(draft: Draft, note: Note) -> Draft:
    """Reviewers who number the reviews of each paper (Reviewer 1 to Reviewer k, R1, A, first ...)."""
    if _are_of_papers(draft):
        example = quote(str(draft.reviewer.values[draft.reviewer.codes[0]]))
        message = f"every reviewer is named after the one paper that they review, as {example}"
        raise asked(draft, f"{message}{_NO_PERSON}", "positional-reviewers")
    used = np.flatnonzero(np.bincount(draft.reviewer.codes))
    size = len(draft.item.values)
    reviews = np.bincount(draft.item.codes, minlength=size)
    if not 2 <= used.size <= MOST_NUMBERS or (reviews > 0).sum() < FEWEST_PAPERS:
        return draft
    texts = [str(draft.reviewer.values[code]) for code in used.tolist()]
    numbers, stem = _numbers_of(texts)
    number = np.zeros(len(draft.reviewer.values), np.int64)
    number[used] = numbers or 0
    largest = np.zeros(size, np.int64)
    np.maximum.at(largest, draft.item.codes, number[draft.reviewer.codes])
    # Of distinct numbers from 1 on the largest is their count where none is left out.
    whole = largest == reviews
    share_of_gaps = np.count_nonzero(~whole) / np.count_nonzero(reviews)
    # Whoever reviews in the place of somebody else is on no paper that has all labels.
    has_gaps = 0 < share_of_gaps <= _MOST_GAPS and stem in _NUMBERED_NOUNS and reviews[whole].max() == used.size
    if not numbers or (share_of_gaps and not has_gaps):
        # Roles have no order, but some paper has all of them.
        roles = used.size <= MOST_ROLES and reviews.max() == used.size and all(map(is_role, texts))
        if not roles or all(map(number_in, texts)):
            return draft
    labels = quote_all([str(draft.reviewer.values[code]) for code in used[np.argsort(number[used])].tolist()], 3)
    of_papers = "nearly every paper" if has_gaps else "each paper"
    complete = bool((reviews[reviews > 0] == used.size).all())
    # Numbers without a word are as often the numbers of people.
    if complete and stem == "" and used.size > MOST_COMPLETE:
        return draft
    if has_gaps:
        # One lost review leaves little doubt where many papers have fewer; further gaps are those of people.
        n_fewer = np.count_nonzero(whole & (reviews > 0) & (reviews < used.size))
        few = n_fewer <= _MOST_GAPS * np.count_nonzero(reviews)
        complete = bool(few or share_of_gaps > _FEW_GAPS or np.count_nonzero(~whole) > 1)
    if complete:
        every = "nearly every paper has the first" if has_gaps else "every paper has all"
        note(
            f"{draft.name}: {every} of {labels}, who count as the same people each time; if these labels only number "
            "the reviews of a paper, the scores of different papers have no reviewer in common"
        )
        return draft
    verb = "number" if numbers else "are roles in"
    raise asked(draft, f"{labels} {verb} the reviews of {of_papers}{_NO_PERSON}", "positional-reviewers")


#: Labels of reviewers of nearly all papers that sum up the others; no people are called so.
_SUMS = frozenset(
    terms(
        """total, maximum, minimum, final, overall, rank, rang, ranking, classement, puesto, posizione, count, range,
        reviews, n reviews, number of reviews, anzahl, 排名"""
    )
)
_MAY_SAY = beginnings(_SUMS)
#: Words of such labels that may be those of a person.
_OF_PEOPLE = NAMES | {"sd", "dev"}
#: Labels of these words alone are people unless their scores say otherwise.
_PEOPLE_ONLY = _OF_PEOPLE | VARIANTS | {"judge", "rater"}
#: Papers from which on a reviewer whose scores are the mean, or the largest, of the others is no coincidence.
FEWEST_MEANS = 5
FEWEST_EXTREMES = 8
#: The share of the papers that a reviewer who sums up others has.
_OF_ALL = 0.8


@finding(
    "asked",
    "refused; left out and counted where the label says so (Average, Consensus, Total ...)",
    accepted="the label is a reviewer",
)
def mean_reviewers(draft: Draft, note: Note) -> Draft:
    """A reviewer of nearly all papers whose scores are the mean, maximum, minimum or median of the others."""
    loads = np.bincount(draft.reviewer.codes, minlength=len(draft.reviewer.values))
    if np.count_nonzero(loads) < 2:
        return draft
    texts = texts_of(draft.reviewer)
    sums = [] if draft.people_are_numbered else _columns_of_sums(draft, texts, loads)
    dropped = np.isin(draft.reviewer.codes, sums)
    if dropped.any() and not dropped.all():
        words = quote_all(sorted(texts[code] for code in sums))
        then = f" ({words}); {overrule('mean-reviewers')} reads them as people"
        return draft.leave_out(dropped, "whose reviewer sums up others", note, then=then)
    # Who reviews nearly all papers, whatever the number of reviewers: a handful of candidates.
    papers = np.count_nonzero(np.bincount(draft.item.codes))
    candidates = np.flatnonzero(loads >= max(3, _OF_ALL * papers)).tolist()
    score = numbers_of(draft.score, draft.size)
    if np.isnan(score).all() or not 0 < len(candidates) <= 10:
        return draft
    for code in candidates:
        kind = summed_up(draft, score, code)
        if kind:
            message = (
                f"the scores of the reviewer {quote(texts[code])} are the {kind} of the others on every paper, as of a "
                "column that sums them up; leave out these rows, or say that it is a person with"
            )
            raise asked(draft, message, "mean-reviewers")
    return draft


def _columns_of_sums(draft: Draft, texts: Sequence[str], loads: IntArray) -> list[int]:
    """Return the reviewers whose labels say that they sum up others, of words that may be names by their scores."""
    turned = replace(draft, reviewer=draft.item, item=draft.reviewer)
    words = {code: words_of(text) for code, text in enumerate(texts) if may_sum(text) or _MAY_SAY.search(text)}
    perhaps = [code for code in words if loads[code] and (may_sum(texts[code]) or words[code] in _SUMS)]
    # Of a single review there is no mean.
    papers = np.bincount(draft.item.codes)
    several = np.count_nonzero(papers > 2) or np.count_nonzero(papers)

    def sums_up(code: int) -> bool:
        says_so = words[code] in _SUMS or (is_summary(texts[code]) and words[code] not in NAMES)
        if says_so and loads[code] >= max(3, _OF_ALL * several):
            return True
        parts = set(words[code].split())
        never_name = is_summary(texts[code]) and (_OF_PEOPLE.isdisjoint(parts) or "std" in parts)
        never_name &= not parts <= _PEOPLE_ONLY
        return never_name or has_sums(turned, code, perhaps)

    return [code for code in perhaps if sums_up(code)]


def summed_up(draft: Draft, score: FloatArray, code: int, *, of_papers: bool = True) -> str:
    """Return which summary of the others a reviewer's scores are on all papers; nothing where they are none.

    Where reviewers and papers are exchanged, not ``of_papers``, only means count: the best paper has the maxima.
    """
    known = ~np.isnan(score)
    rows = np.flatnonzero((draft.reviewer.codes == code) & known)
    rest = np.flatnonzero((draft.reviewer.codes != code) & known)
    pairs = zip(rows, same_code(draft.item.codes, rows, rest), strict=True)
    groups = [(score[row], score[same]) for row, same in pairs if same.size >= 2]
    if len(groups) < FEWEST_MEANS or len({value for value, _ in groups}) < 3:
        return ""
    # Means are rounded to the digits that are written, or to halves and quarters.
    digits = next((d for d in range(4) if (np.round(score[rows], d) == score[rows]).all()), 4)
    step = 10.0**-digits
    kinds: dict[str, Callable[[FloatArray], float]] = {"mean": np.mean} if digits else {}
    if len(groups) >= FEWEST_EXTREMES:
        kinds["mean"] = np.mean
        step = next((part for part in (1.0, 0.5, 0.25) if not np.mod(score[rows], part).any()), step)
        if of_papers:
            kinds |= {"maximum": np.max, "minimum": np.min, "median": np.median, "sum": np.sum}
    for kind, of in kinds.items():
        allowed = 0.5 * step + 1e-9 if kind in ("mean", "median") else 1e-9
        equal = all(abs(float(of(rest_scores)) - value) <= allowed for value, rest_scores in groups)
        # Where others agree on nearly every paper, any of them has their mean; an equal reviewer is no summary.
        if (
            equal
            and sum(np.ptp(rest_scores) > 0 for _, rest_scores in groups) >= FEWEST_MEANS
            and not _has_equal(draft, score, code)
        ):
            return kind
    return ""


def _has_equal(draft: Draft, score: FloatArray, code: int) -> bool:
    """Whether one other reviewer has the same score on every paper of a reviewer."""
    rows = (draft.reviewer.codes == code) & ~np.isnan(score)
    mine = np.full(len(draft.item.values), np.nan)
    mine[draft.item.codes[rows]] = score[rows]
    same = (score == mine[draft.item.codes]) & (draft.reviewer.codes != code)
    return bool(np.bincount(draft.reviewer.codes[same], minlength=1).max() == rows.sum())


@finding("asked", "refused", accepted="the label is a paper")
def mean_papers(draft: Draft, note: Note) -> Draft:
    """A paper of all reviewers whose scores are the means of theirs, as of a row that sums up, whatever its label."""
    reviewers = np.count_nonzero(np.bincount(draft.reviewer.codes))
    candidates = np.flatnonzero(np.bincount(draft.item.codes) == reviewers)
    score = numbers_of(draft.score, draft.size)
    if reviewers < FEWEST_MEANS or not 0 < candidates.size <= 10 or np.isnan(score).all():
        return draft
    turned = replace(draft, reviewer=draft.item, item=draft.reviewer)
    for code in candidates.tolist():
        if summed_up(turned, score, code, of_papers=False):
            label = quote(str(draft.item.values[code]))
            message = (
                f"the scores of the paper {label} are the means of the other scores of each reviewer, as of a row "
                "that sums them up; leave out these rows, or say that it is a paper with"
            )
            raise asked(draft, message, "mean-papers")
    return draft


#: Minimum number of papers for a note, and how many times those of any other reviewer they are.
FEWEST_OF_NOBODY = 8
TIMES = 2


@finding("noted", "noted, with the numbers of papers")
def lone_reviewers(draft: Draft, note: Note) -> Draft:
    """A reviewer without any score, beside scores of others, who has at least twice the papers of any of them."""
    loads = np.bincount(draft.reviewer.codes)
    most = int(loads.argmax())
    other_loads = np.delete(loads, most)
    if np.count_nonzero(other_loads) < 2 or loads[most] < max(FEWEST_OF_NOBODY, TIMES * other_loads.max()):
        return draft
    # Where nobody has scores yet, this may be a chair who reviews all papers.
    known = ~np.isnan(numbers_of(draft.score, draft.size))
    of_most = draft.reviewer.codes == most
    if not known[of_most].any() and 2 * np.count_nonzero(known) > np.count_nonzero(~of_most):
        note(
            f"{draft.name}: {quote(str(draft.reviewer.values[most]))} has {loads[most]:,} papers and no score, "
            f"every other reviewer at most {other_loads.max():,} papers; if this is no person, it links papers that "
            f"have no reviewer in common: empty these cells and say {overrule('empty-reviewers')}"
        )
    return draft


@finding("noted", "noted, with an example of both")
def unmatched_plans(draft: Draft, note: Note) -> Draft:
    """Plans and scores of the same papers, with as many reviewers each and no reviewer in common."""
    known = ~np.isnan(numbers_of(draft.score, draft.size))
    if known.all() or not known.any() or 2 * np.count_nonzero(known) != draft.size:
        return draft
    people = len(draft.reviewer.values)
    loads = [np.bincount(draft.reviewer.codes[rows], minlength=people) for rows in (~known, known)]
    size = len(draft.item.values)
    planned, scored = (np.bincount(draft.item.codes[rows], minlength=size) for rows in (~known, known))
    n_papers = np.count_nonzero(planned)
    if (loads[0] * loads[1]).any() or (planned != scored).any() or n_papers < FEWEST_PAPERS:
        return draft
    if np.count_nonzero(loads[0]) == np.count_nonzero(loads[1]):
        first, second = (quote(str(draft.reviewer.values[int(load.argmax())])) for load in loads)
        note(
            f"{draft.name}: the reviewers without scores, as {first}, and those with scores, as {second}, are "
            "different labels, but have the same numbers of reviews on every paper; if they are the same people, write "
            "each in one way in all files"
        )
    return draft


#: Papers from which on a reviewer with one score for all of them is worth a note.
FEWEST_EQUAL = 8


@finding("noted", "noted")
def constant_reviewers(draft: Draft, note: Note) -> Draft:
    """A reviewer of nearly all papers with one score for all of them, as of a column that is no reviewer."""
    papers = np.count_nonzero(np.bincount(draft.item.codes))
    if np.bincount(draft.reviewer.codes).max() < max(FEWEST_EQUAL, _OF_ALL * papers):
        return draft
    score = numbers_of(draft.score, draft.size)
    known = np.flatnonzero(~np.isnan(score))
    codes = draft.reviewer.codes[known]
    loads = np.bincount(codes, minlength=len(draft.reviewer.values))
    candidates = np.flatnonzero((loads >= FEWEST_EQUAL) & (loads >= _OF_ALL * papers))
    # Where most reviewers agree on everything, that is how the scores are.
    constant = [code for code in candidates.tolist() if np.ptp(score[known][codes == code]) == 0]
    if not constant or 2 * len(constant) >= np.count_nonzero(loads):
        return draft
    labels = quote_all([str(draft.reviewer.values[code]) for code in constant], 3)
    note(f"{draft.name}: {labels} gave all papers the same score; if that is no reviewer, leave it out")
    return draft


_TWO_PARTS = re.compile(r"(?P<first>.+?)(?:\s*[-:|/_\N{EN DASH}]\s*|\s+\()(?P<second>.+?)\)?")


@finding("noted", "noted, with an example")
def crossed_labels(draft: Draft, note: Note) -> Draft:
    """Reviewers whose labels are all combinations of two lists of words, as of a column per judge and category."""
    if not 4 <= len(draft.reviewer.values) <= MOST_NUMBERS or np.bincount(draft.reviewer.codes).max() < 2:
        return draft
    texts = texts_of(draft.reviewer)
    matches = [_TWO_PARTS.fullmatch(text) for text in texts]
    first = {match["first"] for match in matches if match}
    second = {match["second"] for match in matches if match}
    if None in matches or min(len(first), len(second)) < 2 or len(first) * len(second) != len(texts):
        return draft
    note(
        f"{draft.name}: the reviewers are all combinations of {counted(len(first), 'word')} and "
        f"{counted(len(second), 'word')}, as {quote(texts[0])}; if these are a judge and a category, give each "
        "category a column of scores"
    )
    return draft


#: Codes of missing scores.
SENTINELS = (-1, -9, -99, -999, 99, 98, 88, 77, 999, 9999, 8, 9)
#: Codes just beyond a scale, as questionnaires have them: 8 for "do not know", 9 for "no answer".
JUST_BEYOND = (8, 9)
#: Minimum number of other distinct scores.
LEAST_OTHERS = 3
#: How far a score lies apart from all others that need not be one of these codes.
FAR = 5
#: The best score, at least, where a heap of zeros is no part of the scale.
HIGH = 7
#: The shares of reviews from which zeros may be a heap, and from which they are one more easily.
ZEROS = 0.1
HEAP = 0.2


@finding("noted", "noted, with the number of reviews")
def no_score_codes(draft: Draft, note: Note) -> Draft:
    """99, -1, 999 or 0 apart from all other scores, which may mean that there is no score."""
    score = numbers_of(draft.score, draft.size)
    messages = [sentinel_among(score, draft.target)]
    messages += [sentinel_among(values, name, of_criterion=True) for name, values in draft.criteria.items()]
    for message in filter(None, messages):
        note(message)
    return draft


def sentinel_among(score: FloatArray, column: str | None = None, *, of_criterion: bool = False) -> str:
    """Return a note on a number that may mean "no score", as 99 and -1 among 1 to 10; nothing if there is none.

    Zeros are noted on scales that go beyond :data:`HIGH`, where they are more than the scores of any of the two next
    values. ``column`` is the name of the scores, None where they have none.

    >>> print(sentinel_among(np.array([1.0, 5, 7, 8, 99]), "grade"))
    grade: 99 in 1 of 5 reviews lies apart from the others, 1 to 8; if it means "no score", leave the cell empty (in
    Python frame["grade"].replace(99, None)), and the review counts as planned
    >>> sentinel_among(np.repeat([0.0, 1, 2, 9], [12, 5, 5, 74]))[:26]
    'score: 0 in 12 of 96 revie'
    >>> sentinel_among(np.array([96.0, 97, 98, 99]))
    ''
    """
    finite = score[np.isfinite(score)]
    if not finite.size or not (finite.max() > 20 or any((finite == value).any() for value in (*SENTINELS, 0))):
        return ""
    values, counts = np.unique(finite, return_counts=True)
    return sentinel_of(values, counts, column, of_criterion=of_criterion)


#: How far numbers with a point lie below whole ones that are probably thousands: 1.7 beside 900.
THOUSANDTH = 100


def thousandths(values: FloatArray, counts: IntArray, column: str | None) -> str:
    """Return a note on numbers such as 1.7 beside 900, which may have been 1,700; nothing if there are none.

    >>> print(thousandths(np.array([1.7, 2.0, 900.0, 950.0]), np.array([2, 1, 30, 30]), None))
    score: 1.7 to 2 in 3 of 63 reviews lie far below the others, from 900; a sign between groups of digits, as in
    1,700, may have been read as a decimal point
    >>> thousandths(np.array([0.5, 7.0]), np.array([1, 9]), None)
    ''
    """
    apart = np.flatnonzero((values[:-1] > 0) & (values[:-1] * THOUSANDTH < values[1:]))
    if apart.size != 1:
        return ""
    below = values[: apart[0] + 1]
    above = values[apart[0] + 1 :]
    if below[0] < 1 or above[0] < THOUSANDTH or (below == np.rint(below)).all() or (above != np.rint(above)).any():
        return ""
    number = counts[: below.size].sum()
    return (
        f"{column or 'score'}: {below[0]:g} to {below[-1]:g} in {number:,} of {counts.sum():,} reviews lie far below "
        f"the others, from {above[0]:g}; a sign between groups of digits, as in 1,700, may have been read as a decimal "
        "point"
    )


def sentinel_of(values: FloatArray, counts: IntArray, column: str | None, *, of_criterion: bool = False) -> str:
    """Return the same for distinct scores, ascending, and their numbers of reviews."""
    if odd := thousandths(values, counts, column):
        return odd
    largest = [float(values[-1])] if values.size > LEAST_OTHERS and values[-1] >= FAR * values[-2] > 0 else []
    then = "the review lacks this criterion" if of_criterion else "the review counts as planned"
    for value in (*SENTINELS, *largest, 0):
        at = np.flatnonzero(values == value)
        remaining = values[values != value]
        rest = counts[values != value]
        if not at.size or remaining.size < LEAST_OTHERS or (remaining != np.rint(remaining)).any():
            continue
        low = float(remaining[0])
        high = float(remaining[-1])
        apart = value > 2 * high - min(low, 0) if value > 0 else low >= (1 if value >= -1 else 0)
        if value in JUST_BEYOND:
            # On a scale from 1 to 7 or less all steps are in use, and the one before this is not.
            steps = low in (0, 1) and remaining.size == high - low + 1 > LEAST_OTHERS and high + 1 < value
            apart = steps and min(counts[at[0]], *rest) >= LEAST_OTHERS
        # More than of the next two scores; where they are few of all, more than twice as many.
        few = counts[at[0]] < HEAP * counts.sum()
        many = max(3, ZEROS * counts.sum(), (2 if few else 1) * rest[:2].max() + 1)
        if apart and (value or (high >= HIGH and counts[at[0]] >= many)):
            digits = in_full(value)
            how = "write None in its place"
            if column is not None:
                how = f'leave the cell empty (in Python frame["{column}"].replace({digits}, None))'
            return (
                f"{column or 'score'}: {digits} in {counts[at[0]]:,} of {counts.sum():,} reviews lies apart from the "
                f'others, {low:g} to {high:g}; if it means "no score", {how}, and {then}'
            )
    return ""


_DATE = re.compile(
    r"\d{4}-\d\d-\d\d(?:[ T]00:00(?::00)?)?"
    r"|\d{1,2}[-. ](?:jan|feb|m\xe4r|mar|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]*\.?"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-. ]\d{1,2}",
    re.IGNORECASE,
)


@finding("noted", "noted, with their number")
def date_labels(draft: Draft, note: Note) -> Draft:
    """Papers whose labels are dates beside others that are none: ids such as 1-3 that a spreadsheet changed."""
    texts = [] if draft.papers_are_numbered else texts_of(draft.item)
    dates = [text for text in texts if "-" in text or "." in text or " " in text if _DATE.fullmatch(text.strip())]
    midnight = dates and all(text.strip().endswith("00:00:00") for text in dates)
    if dates and (len(dates) < len(texts) or midnight):
        note(
            f"{draft.name}: {counted(len(dates), 'label of a paper is a date', 'labels of papers are dates')}, as "
            f"{quote(dates[0])}; a spreadsheet may have changed ids such as 1-3: compare with the source"
        )
    return draft


#: The scores that each of two ranges has at least, and the least score of the higher one: 1 and 2 are one scale.
_FEWEST_SCORES = 5
_HIGHER = 6.0
#: How far apart the two are at least, as a ratio; good papers may have no score in common with others.
_APART = {"reviewer": 2.0, "item": 3.0}


@finding("noted", "noted, with the two ranges")
def ranges(draft: Draft, note: Note) -> Draft:
    """Reviewers, or papers, whose scores lie on ranges that do not overlap, as marks out of 5 and out of 100."""
    score = numbers_of(draft.score, draft.size)
    known = np.flatnonzero(~np.isnan(score))
    if known.size < 2 * _FEWEST_SCORES or (score[known] < 0).any():
        return draft
    for side, noun in (("reviewer", "reviewer"), ("item", "paper")):
        codes = getattr(draft, side).codes[known]
        gap = _gap(codes, score[known], _APART[side])
        if gap is None:
            continue
        below, above = gap
        low = np.unique(codes[score[known] <= below])
        high = np.unique(codes[score[known] >= above])
        labels = texts_of(getattr(draft, side))
        note(
            f"{draft.name}: the scores of {_some(low, labels, noun)} go up to {below:g}, those of "
            f"{_some(high, labels, noun)} from {above:g} to {score[known].max():g}, and no {noun} has both; if these "
            "are two scales, bring them to one first"
        )
        return draft
    return draft


def _some(codes: IntArray, labels: Sequence[str], noun: str) -> str:
    """Return few labels by name, many by their number."""
    return quote_all([labels[code] for code in codes.tolist()]) if codes.size <= 3 else counted(codes.size, noun)


def _gap(codes: IntArray, score: FloatArray, apart: float) -> tuple[float, float] | None:
    """Return a gap in the scores that no reviewer, or paper, has scores on both sides of; None if there is none."""
    values = np.unique(score)
    ratio = values[1:] / np.maximum(values[:-1], 1e-9)
    size = int(codes.max()) + 1
    lowest = np.full(size, np.inf)
    highest = np.full(size, -np.inf)
    np.minimum.at(lowest, codes, score)
    np.maximum.at(highest, codes, score)
    for place in np.flatnonzero((ratio >= apart) & (values[:-1] > 0) & (values[1:] >= _HIGHER)).tolist():
        below = float(values[place])
        above = float(values[place + 1])
        crossing = (lowest <= below) & (highest >= above)
        sides = [codes[score <= below], codes[score >= above]]
        # Several scores on each side, three of them of one reviewer or paper: one score each tells no range.
        most = [np.bincount(side).max(initial=0) for side in sides]
        if not crossing.any() and min(map(len, sides)) >= _FEWEST_SCORES and min(most) >= 3:
            return below, above
    return None

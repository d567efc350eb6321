"""Reviews as every reader returns them, not yet checked or sorted; how columns are found by name."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import FileRead, record_of
from reviewgraph._base.text import LISTED, counted, listed, noun
from reviewgraph.formats.files import Note, cut, quote, quote_all, terms

if TYPE_CHECKING:
    from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
    from reviewgraph._base.labels import Label


class Unlisted(NamedTuple):
    """Papers that an export cannot hold, and the download of its system that lists all papers."""

    which: str  #: "papers that nobody reviews".
    download: str  #: The download that lists all, as messages call it.
    #: How the name of the export ends, as a regular expression, and in its place that of the other download.
    names: tuple[str, str]
    file: str = ""  #: The export; nothing until it is read.

    @property
    def beside(self) -> str:
        """The name that the other download has beside this file.

        >>> Unlisted("", "", ("scores.csv", "data.csv"), "may/conf-scores.csv").beside
        'may/conf-data.csv'
        """
        ending, download = self.names
        start, replaced = re.subn(f"{ending}$", "", self.file)
        return (start if replaced else os.path.join(os.path.dirname(self.file), "")) + download

    @property
    def words(self) -> str:
        return (
            f"{self.file} cannot hold {self.which}. {self.download} lists all papers: add --items "
            f"{shlex.quote(self.beside)}"
        )


class Tally(NamedTuple):
    """The number of reviews that each paper has, as a list of papers counts them."""

    reviews: Mapping[Label, int]
    advice: str  #: Which downloads together hold all reviews.
    file: str = ""  #: The list; nothing until it is read.

    def without(self, pairs: Collection[tuple[Label, Label]], papers: Collection[Label]) -> Tally:
        """Return the reviews of these papers, in their order, that are not among pairs of a reviewer and a paper."""
        present = Counter(item for _, item in pairs)
        lacking = {item: self.reviews[item] - present[item] for item in papers if item in self.reviews}
        return self._replace(reviews={item: count for item, count in lacking.items() if count > 0})

    @property
    def words(self) -> str:
        total = sum(self.reviews.values())
        that = "a review" if total == 1 else f"{total:,} reviews"
        papers = f"{noun(len(self.reviews), 'paper')} {listed(self.reviews, LISTED)}"
        return f"{that[0].upper()}{that[1:]} that {self.file} counts are in no file ({papers}): {self.advice}"


class Origin(NamedTuple):
    """Information of the files of the reviews beyond their rows."""

    #: Which papers cannot be among the items, since its export holds reviewed papers only; None where the items are
    #: all there are, or nobody knows.
    unlisted: Unlisted | None = None
    #: Reviewers who are not of the committee; None where nobody knows who is.
    outsiders: Collection[Label] | None = None
    #: Pairs of a reviewer and an item that are not to be asked for as a review, and none of the rows: meta reviews, and
    #: conflicts in the cells of scores.
    meta: Collection[tuple[Label, Label]] = ()
    files: tuple[FileRead, ...] = ()  #: What was read; nothing where the reviews come from no file.
    #: Labels of a side table that need not be among the reviews: those of earlier files, and all that a system wrote.
    known: Collection[Label] = ()
    hidden: tuple[Label, ...] = ()  #: Papers whose reviewers are hidden from the person who downloaded the files.
    withdrawn: tuple[Label, ...] = ()  #: Papers that are withdrawn, rejected without review or not submitted.
    lacking: Tally | None = None  #: Reviews that a list of papers counts and the files lack; None without any.
    named: bool = True  #: Whether sentences may name hidden papers.
    n_meta: int = 0  #: Meta reviews, which are no rows.
    #: Whether a list named all papers; otherwise those without a review may be unknown.
    listed: bool = False
    nouns: tuple[str, str] = ("paper", "reviewer")  #: What the files call items and reviewers, in the singular.

    @property
    def others_unknown(self) -> str:
        """The sentence on papers without a review where nobody knows of them; empty where a list or a system does."""
        if not self.files or self.listed or self.unlisted:
            return ""
        return "Papers without a review are not in these files: --items FILE lists them."

    def not_counted(self) -> list[str]:
        """Return the papers and reviews that do not count, each with the reason; nothing if all count.

        >>> Origin(hidden=("77",), withdrawn=("3", "4")).not_counted()
        ['77 (hidden from you)', '2 withdrawn or not submitted']
        """
        parts = []
        if self.hidden:
            which = listed(self.hidden, LISTED) if self.named else counted(len(self.hidden), "paper")
            parts.append(f"{which} (hidden from you)")
        if self.withdrawn:
            parts.append(f"{len(self.withdrawn):,} withdrawn or not submitted")
        if self.n_meta:
            parts.append(counted(self.n_meta, "meta-review"))
        return parts

    def coded(self, code: Mapping[Label, str]) -> Origin:
        """Return the same with codes for papers, hidden ones only counted, and without the names of files."""
        lacking = self.lacking
        if lacking is not None:
            reviews = sorted((code[item], count) for item, count in lacking.reviews.items())
            lacking = lacking._replace(reviews=dict(reviews))
        unlisted = None if self.unlisted is None else self.unlisted._replace(file="The file")
        return self._replace(lacking=lacking, unlisted=unlisted, files=(), named=False)

    @property
    def is_plain(self) -> bool:
        """Whether the reviews come from files, and none of a known system, which says what its scores mean."""
        return bool(self.files) and not any(file.system for file in self.files)

    @property
    def is_partial(self) -> bool:
        return bool(self.unlisted or self.lacking or self.hidden)

    def to_dict(self) -> dict[str, Any]:
        """Return the files, and the papers and reviews that are not counted; nothing without files."""
        if not self.files:
            return {}
        lacking = self.lacking.reviews if self.lacking else {}
        return {
            "hidden": list(self.hidden),
            "withdrawn": list(self.withdrawn),
            "lacking": [{"item": item, "reviews": count} for item, count in lacking.items()],
            **record_of(self.files),
        }


#: Reviews of no recognised system.
UNKNOWN = Origin()


@dataclass(frozen=True, eq=False)
class Columns:
    """The rows of a source in its own order, read by a format and made a table by :meth:`Reviews._from_columns`."""

    reviewer: IntArray  #: Codes, shape (E,), in any order; a pair may occur twice.
    item: IntArray
    reviewers: Sequence[Label]  #: Their labels, shapes (M,) and (N,).
    items: Sequence[Label]
    score: FloatArray | None = None  #: Shape (E,), as they came; None where the source has no scores.
    #: Shape (E,): which rows have a score; by default all of them, where there are scores.
    scored: BoolArray | None = None
    #: Title by the label of an item, where known; none by default.
    titles: Mapping[Label, str] = field(default_factory=dict)
    lower_is_better: bool = False  #: 1 is the best score; false by default.
    origin: Origin = UNKNOWN  #: Further information of their system.
    #: The name of row r (from 0) in messages; by default "row r".
    row_name: Callable[[int], str] = "row {}".format
    target: str | None = None  #: The name of the score field that ``score`` is; None where it has none.
    #: The further scores of the rows by name, shapes (E,), NaN where missing; none by default.
    criteria: Mapping[str, FloatArray] = field(default_factory=dict)
    #: How sure the reviewers say they are, shape (E,), NaN where missing; None where the source does not say.
    confidence: FloatArray | None = None
    #: Whether each source passed the findings about its rows (:mod:`reviewgraph.formats.audit`); false by default.
    audited: bool = False

    def __repr__(self) -> str:
        sizes = (len(self.reviewers), "reviewer"), (len(self.items), "item"), (self.reviewer.size, "row")
        return f"<Columns: {', '.join(counted(size, noun) for size, noun in sizes)}>"


# Columns by name, under the names that conference systems and people use.

_BETWEEN_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Role:
    """The role of a column."""

    name: str  #: Our name, and the first of its synonyms.
    synonyms: tuple[str, ...] = ()  #: Further names, normalised, the best first.
    required: bool = True  #: Refuse a table without it.
    ranked: bool = True  #: Where several synonyms are present take the best; otherwise ask which is meant.
    label: bool = False  #: Its cells name a reviewer or an item.
    #: Names that count where no other does, since they may also be those of scores, as "Team" and "Talk".
    weak: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names that are sure, the best first."""
        return (self.name, *self.synonyms)


REVIEWER = Role(
    "reviewer",
    terms(
        """reviewer_id, reviewerid, reviewer_email, reviewer_e_mail, reviewer_email_address, email, e_mail,
        email_address, grader, grader_id, grader_email, rater, rater_id, judge, judge_id, assessor, assessor_id,
        referee, referee_id, marker, examiner, evaluator, evaluator_id, panelist, panellist, panel_member, juror,
        juror_id, jury_member, pc_member, tutor, critic, critic_id, taster, scorer, adjudicator, annotator,
        annotator_id, annotator_email, labeler, labeller, labeler_id, coder, coder_id, worker, worker_id, workerid,
        judge_model, judge_llm, grader_model, evaluator_model, gutachter, gutachterin, gutachter_in, bewerter, prüfer,
        juror_in, jurymitglied, évaluateur, évaluatrice, evaluateur, relecteur, relectrice, rapporteur, correcteur,
        juge, evaluador, evaluadora, revisor, revisora, juez, jurado, revisore, valutatore, giudice, avaliador,
        avaliadora, parecerista, beoordelaar, jurylid, bedömare, рецензент, эксперт, 審査員, 評価者, 査読者, 评审,
        评审人, 评委, 审稿人, 評審, 심사위원, 평가자, member, member_id, tail, user, user_id, username, reviewer_name,
        reviewername, grader_name, judge_name, evaluator_name, rater_name, juror_name, referee_name, assessor_name,
        annotator_name, worker_name, member_name"""
    ),
    label=True,
)
ITEM = Role(
    "item",
    terms(
        """item_id, paper, paper_id, paperid, paper_number, paper_no, pid, submission, submission_id, submissionid,
        submission_number, submission_no, proposal, proposal_id, proposal_number, proposal_no, application,
        application_id, application_number, applicant, applicant_id, manuscript, manuscript_id, manuscript_number,
        abstract_id, abstract_number, essay, essay_id, candidate, candidate_id, nominee, contestant, entry, entry_id,
        entry_number, entry_no, performance, talk_id, talk_number, project_id, project_number, project_no, poster_id,
        poster_number, poster_no, pitch_id, artwork_id, work_id, movie_id, film_id, wine_id, video_id, image_id,
        photo_id, document_id, doc_id, prompt_id, response_id, task_id, hit_id, hitid, head, forum, assessee, team_id,
        team_number, team_no, student, id, #"""
    ),
    weak=terms(
        """team, project, talk, poster, pitch, artwork, work, movie, film, wine, beer, coffee,
        song, prompt, model, task, document, applicant_name, team_name, project_name,
        entry_name, beitrag, einreichung, antrag, bewerbung, projekt, soumission, projet,
        candidature, grant, thesis, sample, sample_id, text_id, kandidat, prüfling, copie,
        dossier, candidato, ponencia, comunicación, trabalho, доклад, voorstel, 论文, 작품,
        propuesta, proyecto, trabajo, proposta, progetto, projeto, inzending, bidrag, заявка,
        作品, 論文, 応募作品, 项目, 論文番号, 项目编号, 출품작, 논문"""
    ),
    label=True,
)
#: Names of what a model was asked, or wrote: beside it either may be the item.
_TASKS = frozenset(
    terms(
        """question, question_id, query, query_id, instruction, input, example, example_id, instance, instance_id,
        response, answer, output, completion, generation"""
    )
)
#: Names of addresses that may be those of the people who are judged, and names of items that are such people.
ADDRESSES = frozenset(("email", "e_mail", "email_address"))
_JUDGED = frozenset(terms("student, applicant, candidate, nominee, contestant, kandidat, prüfling, candidato"))
#: Names of columns that are nouns for what they name; others are "paper" and "reviewer".
_PAPERS = terms(
    """submission, proposal, application, applicant, manuscript, abstract, essay, candidate, nominee, contestant, entry,
    performance, talk, project, poster, pitch, artwork, work, movie, film, wine, beer, coffee, song, video, image,
    photo, document, prompt, response, model, task, team, student, grant, thesis, sample, text"""
)
_REVIEWERS = terms(
    """grader, rater, judge, assessor, referee, marker, examiner, evaluator, panelist, panellist, juror, tutor, critic,
    taster, scorer, adjudicator, annotator, labeler, labeller, coder, worker"""
)
_ENDING = re.compile(r"_(id|number|no|nr|email|name|model)$")
#: Plurals, which count where nothing else does.
REVIEWER = replace(REVIEWER, weak=tuple(f"{name}s" for name in ("reviewer", *_REVIEWERS)))
ITEM = replace(ITEM, weak=(*ITEM.weak, *(f"{name}s" for name in ("item", "paper", *_PAPERS) if name[-1] not in "sy")))


def nouns_of(headers: Collection[tuple[str, str]]) -> tuple[str, str]:
    """Return what pages call items and reviewers, by the names of their columns, one pair per file.

    >>> nouns_of([("Essay ID", "grader")]), nouns_of([("item", "user")])
    (('essay', 'grader'), ('paper', 'reviewer'))
    """
    found = []
    for names, known, ours in zip(zip(*headers, strict=True), (_PAPERS, _REVIEWERS), UNKNOWN.nouns, strict=True):
        nouns = {_ENDING.sub("", normalise(name)) for name in names} & set(known)
        # Files that differ leave the noun open; a plan, whose columns are our own, does not.
        found.append(next(iter(nouns)) if len(nouns) == 1 else ours)
    return found[0], found[1]


SCORE = Role(
    "score",
    terms(
        """rating, overall, overall_merit, overall_score, overall_rating, overall_assessment, overall_evaluation,
        overall_recommendation, recommendation, review_rating, grade, mark, total_score, points, ovemer, bewertung,
        punkte, punktzahl, gesamtpunkte, puntuación, calificación, puntaje, punteggio, pontuação, оценка, 点数, 得点,
        評点, 评分, 分数, 점수, stars, vote, nota, voto, évaluation, балл, баллы, punten, poäng"""
    ),
    required=False,
    ranked=False,
)
TITLE = Role("title", ("paper_title", "item_title", "submission_title"), required=False)
CONFIDENCE = Role(
    "confidence",
    terms(
        """reviewer_confidence, reviewer_s_confidence, confidence_score, confidence_level, your_confidence,
        review_confidence, confidence_rating, expertise, reviewer_expertise, reviewer_s_expertise, revexp,
        expertise_level, expertise_rating"""
    ),
    required=False,
)
#: The column of long tables, with a row for each score of a review, that names the score field.
CRITERION = Role("criterion", ("criteria", "criterion_name", "score_name"), required=False)


#: Words of the usual names of criteria; a column without any of them may be a criterion, or some other number.
_USUAL = frozenset(
    terms(
        """appropriateness, argument, argumentation, clarity, clear, completeness, contribution, correctness,
        creativity, credibility, depth, design, difficulty, ethics, evaluation, evidence, excellence, excitement,
        exposition, feasibility, fit, grammar, impact, implementation, importance, influence, innovation,
        innovativeness, interest, language, merit, methodology, methods, motivation, novel, novelty, organisation,
        organization, original, originality, performance, pitch, potential, presentation, quality, readability,
        relevance, replicability, reproducibility, reputation, rigor, rigour, significance, soundness, structure, style,
        substance, suitability, technical, technique, theory, thoroughness, timeliness, usefulness, utility, validity,
        writing"""
    )
)
#: A header of HotCRP, the first letters of one word or of two, and how usual words start.
_SHORT = re.compile("(?:[A-Z][a-z]{2}){1,2}")
_STARTS = {word[:3] for word in _USUAL}


#: Separators in FILE:ROLE, where the user names columns, and in FILE#PART.
FILE = ":"
PART = "#"

#: Names of columns that may merely number the rows: used only if there is nothing better.
ROW_NUMBERS = ("id", "#")


@lru_cache(maxsize=1 << 12)
def normalise(header: str) -> str:
    """Return a header as it is compared: lower case, words joined by underscores.

    >>> normalise("# Paper ID"), normalise("Overall merit"), normalise("submission #"), normalise("#")
    ('paper_id', 'overall_merit', 'submission', '#')
    """
    return _BETWEEN_WORDS.sub("_", header.casefold()).strip("_") or header.strip()


def is_usual(name: str) -> bool:
    """Return whether a column is called as criteria are: by a word of theirs, or as HotCRP shortens two such words.

    >>> [is_usual(name) for name in ("Technical quality", "novelty_score", "TecQua", "x", "orcid", "Overall rating")]
    [True, True, True, False, False, True]
    """
    plain = normalise(name)
    starts = {plain[:3], plain[3:] or plain[:3]} if _SHORT.fullmatch(name) else {""}
    return plain in SCORE.names or not _USUAL.isdisjoint(plain.split("_")) or starts <= _STARTS


def named(header: Sequence[str], wanted: str) -> list[int]:
    """Return the positions of the columns of a name: exact matches, otherwise matches up to normalisation."""
    exact = [place for place, text in enumerate(header) if text.strip() == wanted.strip()]
    return exact or [place for place, text in enumerate(header) if normalise(text) == normalise(wanted)]


def locate(
    header: Sequence[str],
    roles: Sequence[Role],
    columns: Mapping[str, str],
    name: str,
    note: Note,
    *,
    prefix: str | None = "",
) -> dict[str, int]:
    """Return the position of each role's column, for those the table has."""
    # The user's name for a column precedes its synonyms; an empty one means that there is no such column.
    places_by_role: dict[str, int] = {}
    for role in roles:
        wanted = columns.get(role.name)
        if wanted is not None and not wanted.strip() and not role.required:
            continue
        places = named(header, wanted) if wanted else []
        if not places:
            places = _by_synonym(header, role, name, note, prefix)
        if len(places) > 1:
            names = [header[place] for place in places]
            if len(set(names)) == 1:
                message = (
                    f"{name}: {len(names)} columns are called {quote(names[0])}; rename all but the one that counts"
                )
                raise InputError(message)
            chosen = f"say which one, for example {naming(prefix, role, names[0])}"
            advice = "rename all but one" if prefix is None else chosen
            raise InputError(f"{name}: the {role.name} may be any of the columns {quote_all(names)}; {advice}")
        if places:
            places_by_role[role.name] = places[0]
        elif role.required:
            chosen = f"say which one it is with {naming(prefix, role)}"
            advice = "rename the one it is" if prefix is None else chosen
            raise InputError(
                f"{name}: no {role.name} column ({', '.join(role.names[:4])} ...); found the columns "
                f"{quote_all(header)}; {advice}"
            )
    reviewer = places_by_role.get(REVIEWER.name)
    if reviewer is not None and reviewer == places_by_role.get(ITEM.name):
        message = f"{name}: expected a column of reviewers and another of items, found {header[reviewer]!r} for both"
        raise InputError(message)
    return places_by_role


def require_named(
    headers: Sequence[Sequence[str]], roles: Sequence[Role], columns: Mapping[str, str], others: Sequence[Role] = ()
) -> None:
    """Refuse column names of the user that no file has, and roles that do not exist."""
    known = [role.name for role in roles]
    elsewhere = {role.name for role in others}
    for key, wanted in by_role(columns).items():
        file, _, role = key.rpartition(FILE)
        if role not in known and role not in elsewhere:
            raise InputError(f"--columns: expected one of {', '.join(known)} before '=', found {quote(role)}")
        if file or role not in known:
            continue
        if role == SCORE.name and any(recognised(header, [CRITERION], columns) for header in headers):
            continue  # a long table, whose criteria are in its rows
        if wanted.strip() and not any(named(header, wanted) for header in headers):
            every = dict.fromkeys(text for header in headers for text in header)
            typed = f"--score {cut(wanted)}" if role == SCORE.name else f"--columns {role}={cut(wanted)}"
            raise InputError(f"{typed}: there is no column {quote(wanted)}; found {quote_all(every)}")


def by_role(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the user's names of columns by role; a role may be called by any of its names, as "paper".

    >>> by_role({"paper": "No", "may.csv:judge": "who", "bid": "wish"})
    {'item': 'No', 'may.csv:reviewer': 'who', 'bid': 'wish'}
    """
    names: dict[str, str] = {}
    # Our own names of roles come first, others after them.
    for key in sorted(columns, key=lambda key: key.rpartition(FILE)[2] not in (REVIEWER.name, ITEM.name)):
        file, colon, called = key.rpartition(FILE)
        role = next((role.name for role in (REVIEWER, ITEM) if normalise(called) in (*role.names, *role.weak)), called)
        name = names.setdefault(f"{file}{colon}{role}", columns[key])
        if name != columns[key]:
            message = f"--columns: expected one name for {role}, also called {called}, found {cut(name)} and another"
            raise InputError(message)
    return names


def choose_score(columns: Mapping[str, str], score: str | None) -> dict[str, str]:
    """Return the user's names of columns by role, with that of the score field, which may be given by itself.

    >>> choose_score({"paper": "No"}, "Merit")
    {'item': 'No', 'score': 'Merit'}
    """
    columns = by_role(columns)
    named_twice = columns.get(SCORE.name, score)
    if score is not None and named_twice != score:
        message = f"--score {cut(score)}: --columns says {SCORE.name}={cut(str(named_twice))}; leave one of the two out"
        raise InputError(message)
    return columns if score is None else {**columns, SCORE.name: score}


def optional(header: Sequence[str], columns: Mapping[str, str], name: str, note: Note, *roles: Role) -> dict[str, int]:
    """Return the places of further columns, as :func:`locate` does; one that occurs twice is left out, not refused.

    >>> optional(["Confidence", "RevExp"], {}, "a", print, CONFIDENCE)
    a: the confidence is read from the column 'Confidence', not from 'RevExp' (choose with --columns confidence=NAME)
    {'confidence': 0}
    >>> optional(["confidence", "Confidence"], {}, "a", print, CONFIDENCE)
    {}
    """
    normal = list(map(normalise, header))
    once = [
        role for role in roles if columns.get(role.name) or all(normal.count(synonym) < 2 for synonym in role.names)
    ]
    return locate(header, once, columns, name, note)


def recognised(header: Sequence[str], roles: Sequence[Role], columns: Mapping[str, str]) -> int:
    """Return the number of roles that have a column in this header."""
    present = set(map(normalise, header)) - {""}
    return sum(bool(present & {*role.names, *role.weak, normalise(columns.get(role.name, ""))}) for role in roles)


def is_weak(header: Sequence[str], role: Role) -> bool:
    """Return whether a role has a column in this header only by a weak name.

    >>> is_weak(["judge", "team", "#"], ITEM), is_weak(["judge", "team", "paper"], ITEM), is_weak(["judge"], ITEM)
    (True, False, False)
    """
    present = set(map(normalise, header))
    return not present.isdisjoint(role.weak) and present.isdisjoint({*role.names} - {*ROW_NUMBERS})


def columns_of(columns: Mapping[str, str], *paths: object) -> dict[str, str]:
    """Return the user's column names for one file: those for all files, overridden by its own, by any of its names.

    >>> columns_of({"reviewer": "who", "fit.csv:reviewer": "person", "bid.csv:bid": "wish"}, "fit.csv")
    {'reviewer': 'person'}
    """
    entries = [(*role.rpartition(FILE)[::2], name) for role, name in by_role(columns).items()]
    here = list(map(str, paths))
    # A name for a whole file is one for each sheet of it.
    files = dict.fromkeys(("", *(name for path in here for name in (path.partition(PART)[0], path))))
    return {role: name for mine in files for file, role, name in entries if file == mine}


def naming(prefix: str | None, role: Role, name: str = "NAME") -> str:
    """Return the option that names the column of a role, quoted for a shell.

    >>> naming("", ITEM), naming("fit.csv:", ITEM, "#"), naming("", SCORE, "Overall merit")
    ('--columns item=NAME', "--columns 'fit.csv:item=#'", "--score 'Overall merit'")
    """
    if role is SCORE and not prefix:
        return f"--score {shlex.quote(cut(name))}"
    return f"--columns {shlex.quote(f'{prefix or str()}{role.name}={cut(name)}')}"


def _by_synonym(header: Sequence[str], role: Role, name: str, note: Note, prefix: str | None) -> list[int]:
    normal = list(map(normalise, header))
    names: Sequence[str] = role.names
    if role.name == REVIEWER.name and any(_ENDING.sub("", text).removesuffix("s") in _JUDGED for text in normal):
        names = sorted(names, key=ADDRESSES.__contains__)
    hits = {synonym: [p for p, text in enumerate(normal) if text == synonym] for synonym in names}
    present = [places for places in hits.values() if places]
    if is_weak(header, role):
        # A number beats a name; which of a team and its project is meant is to be asked.
        may_be = {*role.weak}
        if role.name == ITEM.name and not {"model", "models"}.isdisjoint(normal):
            may_be |= _TASKS
        weak = [place for place, text in enumerate(normal) if text in may_be]
        weak = [place for place in weak if not is_usual(header[place])] or weak
        return [place for place in weak if not normal[place].endswith("name")] or weak
    if not role.ranked:
        return [place for places in present for place in places]
    passed_over = [
        place
        for places in present[1:]
        for place in places
        if not normal[place].endswith("name") and normal[place] not in ROW_NUMBERS
    ]
    if present and normal[present[0][0]] in ROW_NUMBERS:
        chosen = quote(header[present[0][0]])
        note(f"{name}: the {role.name} is read from the column {chosen} (choose with {naming(prefix, role)})")
    elif passed_over:
        chosen = quote(header[present[0][0]])
        passed = quote_all(header[place] for place in passed_over)
        note(
            f"{name}: the {role.name} is read from the column {chosen}, not from {passed} "
            f"(choose with {naming(prefix, role)})"
        )
    return present[0] if present else []


def refuse_row_numbers(
    header: Sequence[str],
    places: Mapping[str, int],
    chosen: Mapping[str, str],
    labels: Collection[str],
    size: int,
    name: str,
    prefix: str = "",
    again: Callable[[], Sequence[str]] = tuple,
) -> None:
    """Refuse an unspecific column ("id", "#") as items if it numbers the rows and another column may be the item.

    An id that differs in every row numbers them, too, if some column is one of those that ``again`` returns, in which
    papers come again.
    """
    place = places[ITEM.name]
    if chosen.get(ITEM.name) or normalise(header[place]) not in ROW_NUMBERS or not 1 < size == len(labels):
        return
    taken = {place, *(places.get(role.name) for role in (REVIEWER, SCORE))}
    candidates = [text for where, text in enumerate(header) if where not in taken and text.strip()]
    numbered = any(set(labels) == {str(row + first) for row in range(size)} for first in (0, 1))
    if not numbered:
        candidates = [*again()]
    if candidates:
        best = header[places[TITLE.name]] if numbered and TITLE.name in places else candidates[0]
        does = "numbers the rows" if numbered else "differs in every row"
        itself = f"if it is {quote(header[place])}, say {naming(prefix, ITEM, header[place])}"
        otherwise = itself if numbered else f"{quote(header[place])} only if each row is about another item"
        raise InputError(
            f"{name}: the column {quote(header[place])} {does}, which may be no items; name the one that is, "
            f"for example {naming(prefix, ITEM, best)}; {otherwise}"
        )

"""Findings of the audit: the same in files, frames and rows; corrected, noted or asked about; and overruled."""

import csv
import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas
import pytest

import planner
from reviewgraph import InputError, Reviews, read_reviews
from reviewgraph.formats.audit.audit import FINDINGS, Audit
from reviewgraph.graph import ColumnWarning

PEOPLE = ("Ann", "Bob", "Cyd", "Dan", "Eva", "Fay")
PAPERS = tuple(f"P{number}" for number in range(100, 112))
#: Two panels without a common reviewer: (reviewer, paper, score), each paper with two reviewers of three.
CLEAN = [
    (PEOPLE[3 * (place % 2) + (place // 2 + turn) % 3], paper, 1 + (3 * place + 5 * turn) % 7)
    for place, paper in enumerate(PAPERS)
    for turn in range(2)
]
HEADER = ["reviewer", "paper", "score"]
SAME: list[tuple[Any, ...]] = []


class Case(NamedTuple):
    """A table with a mistake; its rows after the audit, or words of the question; and how they are read if accepted."""

    rows: list[tuple[Any, ...]]
    words: str  #: What the note or the question says.
    right: list[tuple[Any, ...]] | None = None  #: None where the table is refused, SAME where it is noted only.
    header: list[str] = HEADER
    named: bool = False  #: Whether it needs names of columns, which rows have not.
    accepted: bool = True  #: Whether the table can be read where the finding is accepted.


def numbered() -> list[tuple[Any, ...]]:
    """The reviews of each paper numbered, some papers with a single one."""
    seen: dict[str, int] = {}
    rows = []
    for _, paper, score in CLEAN[1:]:
        seen[paper] = seen.get(paper, 0) + 1
        rows.append((f"Reviewer {seen[paper]}", paper, score))
    return rows


PLANNED = [(who, paper, None) for who, paper, _ in CLEAN]
MEANS = [("Gil", paper, sum(score for _, other, score in CLEAN if other == paper) / 2) for paper in PAPERS]
ROW_OF_MEANS = [
    (who, "Zeile", round(sum(marks) / len(marks), 2))
    for who in PEOPLE
    for marks in [[score for person, _, score in CLEAN if person == who]]
]
CASES = {
    "repeated-header": Case(
        [*CLEAN[:9], ("Reviewer", " paper", None), *CLEAN[9:]], "1 row left out, which repeat", CLEAN
    ),
    "summary-rows": Case(
        [*CLEAN, *((who, label, 10) for who in PEOPLE for label in ("Points Possible", "\xd8"))],
        "12 rows left out, which sum up others",
        CLEAN,
    ),
    "status": Case(
        [*((*row, "Accepted") for row in CLEAN), *(("Ann", paper, None, "Declined") for paper in PAPERS[1::2])],
        "6 rows left out, whose 'Review status' is 'Declined'; rows with 'Accepted' count",
        CLEAN,
        [*HEADER, "Review status"],
        named=True,
    ),
    "placeholders": Case(
        [*CLEAN, *(("TBD", paper, None) for paper in PAPERS)],
        "12 rows left out, whose reviewer is a placeholder",
        CLEAN,
    ),
    "empty-reviewers": Case([*CLEAN, ("", "P100", 3)], "the reviewer is (empty|null)"),
    "several-people": Case(
        [(f"{PLANNED[row][0]}; {PLANNED[row + 1][0]}", PLANNED[row][1], None) for row in range(0, 24, 2)],
        "12 cells with several reviewers split",
        PLANNED,
    ),
    "no-review-words": Case(
        [*CLEAN, *(("Ann", paper, "COI") for paper in PAPERS[1::2]), ("Eva", "P100", "abstain")],
        "7 rows left out, whose score says that there is no review .*6 of them conflicts",
        CLEAN,
        named=True,
        accepted=False,
    ),
    "signed-zeros": Case(
        [(who, paper, ("-1", "-0", "+0", "+1")[score % 4]) for who, paper, score in CLEAN],
        'say --scale "\\+1>\\+0>-0>-1"',
        named=True,
    ),
    "ranks": Case(CLEAN, "'Ranking' is read as a score of which the largest is the best", SAME, named=True),
    "repeated-pairs": Case(
        [(*row[:2], 9 - row[2], "clarity") for row in CLEAN] + [(*row, "rigour") for row in CLEAN],
        "differ in 'Trait'; if 'Trait' names what is scored, say .*criterion.*Trait",
        header=[*HEADER, "Trait"],
        named=True,
        accepted=False,
    ),
    "exchanged-columns": Case([(who, f"{paper}@x.org", score) for who, paper, score in CLEAN], "exchange the two"),
    "positional-reviewers": Case(numbered(), "number the reviews of each paper"),
    "mean-reviewers": Case([*CLEAN, *MEANS], "the reviewer 'Gil' are the mean of the others"),
    "mean-papers": Case([*CLEAN, *ROW_OF_MEANS], "the scores of the paper 'Zeile' are the means of the other"),
    "lone-reviewers": Case(
        [*CLEAN, *(("Guest", paper, None) for paper in PAPERS)],
        "'Guest' has 12 papers and no score, every other reviewer at most 4 papers",
        SAME,
    ),
    "unmatched-plans": Case(
        [*CLEAN, *((f"{who} Lee", paper, None) for who, paper, _ in CLEAN)],
        "the reviewers without scores, as 'Ann Lee', and those with scores, as 'Ann', are different",
        SAME,
    ),
    "constant-reviewers": Case(
        [*CLEAN, *(("Gil", paper, 4) for paper in PAPERS)], "'Gil' gave all papers the same score", SAME
    ),
    "crossed-labels": Case(
        [
            (f"{who} - {kind}", paper, 1 + (score + place) % 7)
            for who, paper, score in CLEAN
            for place, kind in enumerate(("Style", "Depth"))
        ],
        "all combinations of 6 words and 2 words",
        SAME,
    ),
    "no-score-codes": Case([*CLEAN[1:], (*CLEAN[0][:2], 99)], "99 in 1 of 24", SAME),
    "date-labels": Case(
        [(who, "2026-03-01" if paper == "P103" else paper, score) for who, paper, score in CLEAN],
        "1 label of a paper is a date, as '2026-03-01'",
        SAME,
    ),
    "ranges": Case(
        [(who, paper, score * (20 if who in PEOPLE[:3] else 1) + 4) for who, paper, score in CLEAN],
        "the scores of 'Dan', 'Eva', 'Fay' go up to",
        SAME,
    ),
}


def written(path: Path, header: list[str], rows: list[tuple[Any, ...]]) -> Path:
    text = io.StringIO()
    csv.writer(text).writerows([header, *(["" if cell is None else cell for cell in row] for row in rows)])
    path.write_text(text.getvalue(), "utf-8")
    return path


def by_file(case: Case, header: list[str], folder: Path, **options: Any) -> tuple[Reviews, list[str]]:
    notes: list[str] = []
    return read_reviews(written(folder / "t.csv", header, case.rows), note=notes.append, **options), notes


def by_frame(case: Case, header: list[str], folder: Path, **options: Any) -> tuple[Reviews, list[str]]:
    notes: list[str] = []
    return Reviews(pandas.DataFrame(case.rows, columns=header), note=notes.append, **options), notes


def by_rows(case: Case, header: list[str], folder: Path, **options: Any) -> tuple[Reviews, list[str]]:
    options.pop("score", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ColumnWarning)
        reviews = Reviews([row[:3] for row in case.rows], **options)
    return reviews, [str(one.message) for one in caught]


WAYS = {"file": by_file, "frame": by_frame, "rows": by_rows}


def content(reviews: Reviews) -> set[tuple[str, str, float | None]]:
    columns = reviews.to_dict()
    return set(zip(columns["reviewer"], columns["item"], columns["score"], strict=True))


def test_every_finding_has_a_case() -> None:
    assert list(CASES) == list(FINDINGS)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_a_finding_is_the_same_in_every_way_in(name: str, way: str, tmp_path: Path) -> None:
    case = CASES[name]
    if case.named and way == "rows":
        pytest.skip("rows have no names of columns")
    header = ["reviewer", "paper", "Ranking"] if name == "ranks" else case.header
    options: dict[str, Any] = {"score": "Ranking"} if name == "ranks" else {}
    read: Callable[..., tuple[Reviews, list[str]]] = WAYS[way]
    if case.right is None:
        with pytest.raises(InputError, match=case.words if way != "rows" or name != "empty-reviewers" else "reviewer"):
            read(case, header, tmp_path, **options)
    else:
        reviews, notes = read(case, header, tmp_path, **options)
        assert content(reviews) == set(case.right or case.rows)
        assert any(re.search(case.words, note) for note in notes), notes
    if not case.accepted or (name == "empty-reviewers" and way == "rows"):
        return
    # Where it is accepted, the table is as it is, without a word about it.
    reviews, notes = read(case, header, tmp_path, **options, accept=name)
    assert not any(re.search(case.words, note) for note in notes)
    left = 24 if name == "empty-reviewers" else len(case.rows)
    assert reviews.n_reviews == left


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize(
    ("column", "then", "now"),
    [
        ("version", 1, 2),
        ("version", 1767225600, 1767225601),  # seconds since 1970, which differ in the tenth digit
        ("submitted_at", "2026-03-01", "2026-04-01"),
        ("Date", "04.09.2026", "03.10.2026"),
        ("Date", "3/12/2026 9:05 AM", "3/13/2026 9:05 PM"),
        ("Date", "3/3/2026 9:05 PM", "12/12/2026 9:05 AM"),
        ("Timestamp", "2026/03/04 9:05:00 PM GMT+1", "2026/03/04 10:05:00 PM GMT+1"),
        ("round", "Round 9", "Round 10"),
        ("version", "v1.9", "v1.10"),
    ],
)
def test_last_is_the_newest_by_the_column_that_tells_rows_apart(
    tmp_path: Path, newest_first: bool, column: str, then: int | str, now: int | str
) -> None:
    old = [(*row[:2], 9 - row[2], then) for row in CLEAN]
    new = [(*row, now) for row in CLEAN]
    rows = [*new, *old] if newest_first else [*old, *new]
    path = written(tmp_path / "t.csv", [*HEADER, column], rows)
    with pytest.raises(InputError, match=f"differ in '{column}'; --duplicates last uses the newest score"):
        read_reviews(path)
    notes: list[str] = []
    frame = Reviews(pandas.read_csv(path), duplicates="last", note=notes.append)
    for reviews in (frame, read_reviews(path, duplicates="last", note=notes.append)):
        assert content(reviews) == set(CLEAN)
    assert sum("the newest by" in note for note in notes) == (2 if newest_first else 0)


def test_dates_of_which_the_day_may_be_the_month_are_asked_about(tmp_path: Path) -> None:
    rows = [(*CLEAN[0], "3/4/2026"), (*CLEAN[0][:2], 7, "4/3/2026"), *((*row, "5/4/2026") for row in CLEAN[1:])]
    path = written(tmp_path / "t.csv", [*HEADER, "date"], rows)
    with pytest.raises(InputError, match="'3/4/2026', may begin with the day or the month: write 2026-03-04 first"):
        read_reviews(path)
    with pytest.raises(InputError, match=r"'3/4/2026', may begin with .* --accept repeated-pairs"):
        read_reviews(path, duplicates="last")
    assert ("Ann", "P100", 7) in content(read_reviews(path, duplicates="last", accept="repeated-pairs"))


def test_conflicts_in_the_cells_of_scores_are_not_asked_for(tmp_path: Path) -> None:
    case = CASES["no-review-words"]
    reviews, _ = by_file(case, HEADER, tmp_path)
    barred = {("Ann", paper) for paper in PAPERS[1::2]}
    assert set(reviews.origin.meta) == barred == set(by_frame(case, HEADER, tmp_path)[0].origin.meta)
    plan = planner.plan(reviews)
    columns = plan.to_columns()
    assert not barred & set(zip(columns["reviewer"], columns["item"], strict=True))


@pytest.mark.parametrize(
    ("column", "cells", "rows", "scored"),
    [
        ("declined", ("0", "1"), 18, 18),
        ("Abgelehnt", ("nein", "ja"), 18, 18),
        ("withdrawn", ("", "2026-02-03"), 18, 18),
        ("declined_at", ("", "3/2/2026"), 18, 18),
        ("draft", ("no", "yes"), 24, 18),
        ("submitted", ("1", "0"), 24, 18),
        ("state", ("Completed", "No response"), 18, 18),
        ("estado", ("aceptado", "rechazado"), 18, 18),
        ("response", ("Yes", "No"), 18, 18),
        ("RSVP", ("yes", "no"), 18, 18),
        ("invite_status", ("accepted", "declined"), 18, 18),
        ("Agreed to review", ("Yes", "No"), 18, 18),
        ("Response", ("Will review", "Unable to review"), 18, 18),
        ("visa status", ("retired", "none"), 24, 24),
        ("comment", ("declined", "fine"), 24, 24),
    ],
)
def test_states_say_which_rows_count(
    tmp_path: Path, column: str, cells: tuple[str, str], rows: int, scored: int
) -> None:
    table = [(*row, cells[place % 4 == 0]) for place, row in enumerate(CLEAN)]
    path = written(tmp_path / "t.csv", [*HEADER, column], table)
    notes: list[str] = []
    for reviews in (read_reviews(path, note=notes.append), Reviews(pandas.read_csv(path), note=notes.append)):
        assert reviews.n_reviews == rows
        assert int(reviews.scored.sum()) == scored
        assert reviews.n_items == len(PAPERS)
        assert not reviews.criteria
    assert any(column in note for note in notes) == (column not in ("comment", "visa status"))


@pytest.mark.parametrize(("words", "noted"), [(("came", "ill"), True), (("", "ill"), True), (("ill", ""), False)])
def test_a_column_that_tells_who_has_no_score_is_noted(tmp_path: Path, words: tuple[str, str], noted: bool) -> None:
    rows = [(*row[:2], row[2] if place % 4 else None, words[place % 4 == 0]) for place, row in enumerate(CLEAN)]
    notes: list[str] = []
    read_reviews(written(tmp_path / "t.csv", [*HEADER, "Anwesenheit"], rows), note=notes.append)
    assert any("6 rows without a score, those whose 'Anwesenheit' is 'ill'" in note for note in notes) == noted


ROLES = ["Erstgutachter Zweitgutachter Drittgutachter", "Primary Secondary Tertiary", "Supervisor Examiner External"]
ROLES += ["Peer1 Peer2 Instructor", "Reviewer1 Reviewer2 Meta", "a b c", "\u2460 \u2461 \u2462"]


@pytest.mark.parametrize("labels", ROLES)
def test_roles_are_no_people(labels: str) -> None:
    rows = [
        (who, paper, 1 + len(paper + who) % 3)
        for paper in PAPERS
        for who in labels.split()[: 2 if paper == "P103" else 3]
    ]
    with pytest.raises(InputError, match=r"(number|are roles in) the reviews of each paper"):
        Reviews(rows)
    names = dict(zip(labels.split(), PEOPLE, strict=False))
    assert Reviews([(names[who], paper, score) for who, paper, score in rows]).n_reviewers == 3


@pytest.mark.parametrize("word", ["NA", "NN"])
def test_initials_may_be_a_word_for_nobody(word: str) -> None:
    initials = dict(zip(PEOPLE, ("AL", "BR", "CD", "DF", "EP", word), strict=True))
    rows = [(initials[who], paper, score) for who, paper, score in CLEAN]
    with pytest.raises(InputError, match=f"'{word}' may be the initials of a reviewer"):
        Reviews(rows)
    assert Reviews(rows, accept="placeholders").n_reviewers == len(PEOPLE)


@pytest.mark.parametrize(("row", "papers"), [(("", "", 14), 0), (("", "", "(1-9)"), 0), (("", "Panel B", None), 1)])
def test_rows_of_nobody_are_left_out_where_that_is_accepted(tmp_path: Path, row: tuple[Any, ...], papers: int) -> None:
    path = written(tmp_path / "t.csv", HEADER, [*CLEAN[:5], row, *CLEAN[5:]])
    with pytest.raises(InputError, match="--accept empty-reviewers"):
        read_reviews(path)
    notes: list[str] = []
    reviews = read_reviews(path, accept="empty-reviewers", note=notes.append)
    assert (content(reviews), reviews.n_items) == (set(CLEAN), len(PAPERS) + papers)
    assert [bool(papers)] == ["'Panel B' counts as a paper without a review" in note for note in notes]


def test_a_total_below_the_table_is_left_out(tmp_path: Path) -> None:
    notes: list[str] = []
    path = written(tmp_path / "t.csv", HEADER, [*CLEAN, ("Total", "24", None)])
    assert content(read_reviews(path, note=notes.append)) == set(CLEAN)
    assert any("1 row left out, which sum up others ('Total')" in note for note in notes)


#: Tables of reviewer, paper and score, whose rows with a star sum up others.
SUMS = {
    "a judge called Max": "Max 1 3, Max 2 4, Max 3 2, Ann 1 5, Bob 2 4, Ann 3 3, Bob 1 4",
    "a judge called Max, planned": "Max 1, Max 2, Max 3, Ann 1, Bob 2, Ann 3, Bob 1",
    "a judge called SD": "SD 1 3, Ann 1 5, Ann 2 4, Bob 2 3, Ann 3 3, Bob 1 4, Bob 3 4",
    "a column of maxima": "*Max 1 5, *Max 2 4, *Max 3 3, Ann 1 5, Bob 2 4, Ann 3 3, Bob 1 4",
    "a mean where a paper has several": "a 1 3, b 1 4, *Average 1 3.5, b 2 5, c 2 2, *Average 2 3.5, c 3 2, d 3 4, "
    "*Average 3 3, d 4 5",
    "a consensus of some": "a 1 3, b 1 4, *Consensus 1 4, b 2 5, c 2 2, *Consensus 2 3, c 3 2, d 3 4, d 4 5, a 4 5",
    "a mean that one lacks": "a P1 3, a P2 4, *a Average 3.5, b P2 2, b P3 5, *b Average 3.5, c P3 4, c P2 1",
    "several rows": "a P1 3, b P1 4, a P2 5, b P2 2, *a Mean 4, *b Mean 3, *a Count 2, *b Count 2",
    "more rows": "a P1 3, b P1 4, a P2 5, b P2 2, *a Mittelwert 4, *b Mittelwert 3, *a Maximum 5, *b Maximum 4, "
    "*a Minimum 3, *b Minimum 2, *a N 2, *b N 2",
    "a paper called Max beside means": "a Max 3, b Max 4, a P2 5, b P2 2, *a Mean 4, *b Mean 3",
    "a total": "ann 1 3, ann 2 4, bob 1 2, bob 2 5, *Total 4 14",
    "a total among papers": "ann 1 3, ann 2 4, bob 1 2, bob 2 5, *4 Total 14",
    "an average of nobody": "ann 1 3, ann 2 4, bob 1 2, bob 2 5, *Average - 3.5",
    "two rows below": "ann 1 3, ann 2 4, bob 1 2, bob 2 5, *Mean all 3.5, *Total all 14",
    "a number of reviews": "ann A 3, ann B 4, bob A 2, bob C 5, cyd B 1, cyd C 4, *Suma 6",
    "a number of reviews that is a paper, too": "ann 4 3, ann 2 4, bob 4 2, bob 2 5, *Max 4",
    "a number of papers": "ann A 3, ann B 4, bob A 2, bob C 5, cyd B 1, cyd C 4, *Soma 3",
    "a last plan of Max": "ann 4 3, ann 2 4, bob 4 2, bob 2 5, Max 7",
    "a judge called Standard": "Standard 1 1, Standard 2 5, a 1 4, a 2 2, a 3 1, b 1 5, b 2 1, b 3 2, c 3 1, c 4 4, "
    "a 4 3, b 4 4",
    "planned judges": "Consensus 1, Mittel 2, a 1, a 2, a 3, b 1, b 2, b 3, c 3, c 4, a 4",
    "a deviation of some": "a 1 3, b 1 4, *Std_dev 1 0.5, b 2 5, c 2 2, c 3 2, d 3 4, d 4 5, a 4 5",
    "a description": "a P1 3, b P1 4, a P2 5, b P2 2, *a count 9, *b count 9, *a mean 4, *b mean 3, *a std 1.4, "
    "*b std 1.4, *a min 3, *b min 2, *a 25% 3.5, *b 25% 2.5, *a 50% 4, *b 50% 3, *a max 5, *b max 4",
    "papers called count and 25%": "a count 3, b count 4, a 25% 5, b 25% 2, *a mean 4, *b mean 3",
    "a last paper called Max": "a P1 3, a P2 4, b P1 2, b P2 5, b Max 5",
    "margins": "a 1 3, a 2 4, *a All 3.5, b 1 2, b 3 5, *b All 3.5, *All 1 2.5, *All 2 4, *All 3 5, *All All 3.5",
}


@pytest.mark.parametrize("name", SUMS)
def test_summaries_are_told_from_reviews(name: str) -> None:
    rows = [row.split() for row in SUMS[name].split(", ")]
    table = [(who.strip("*"), paper, *map(float, score)) for who, paper, *score in rows]
    right = {row for row, (who, *_) in zip(table, rows, strict=True) if not who.startswith("*")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        reviews = Reviews(table)
    assert {tuple(cell for cell in row if cell is not None) for row in content(reviews)} == right
    assert set(reviews.items) == {paper for _, paper, *_ in right}


@pytest.mark.parametrize(("scores", "noted"), [((1, 2, 3, 4), True), ((1, 2, 3, 5), False), ((2, 3, 4, 5), False)])
def test_scores_that_are_ranks_of_every_reviewer_are_noted(
    scores: tuple[int, ...], noted: bool, recwarn: pytest.WarningsRecorder
) -> None:
    rows = [(who, PAPERS[2 * at + turn], scores[turn]) for at, who in enumerate(PEOPLE[:4]) for turn in range(4)]
    warnings.simplefilter("always")
    Reviews(rows)
    assert any("ranks and places usually begin" in str(one.message) for one in recwarn) == noted


@pytest.mark.parametrize(("code", "noted"), [(9, True), (8, False)])
def test_codes_just_beyond_a_scale_are_noted(code: int, noted: bool, recwarn: pytest.WarningsRecorder) -> None:
    warnings.simplefilter("always")
    Reviews([*CLEAN, *((who, "P200", code) for who in PEOPLE)])
    assert any(f"{code} in 6 of 30" in str(one.message) for one in recwarn) == noted


def test_a_decision_on_papers_is_no_state_of_reviews(tmp_path: Path) -> None:
    table = [(*row, "accepted" if row[1] < "P106" else "rejected") for row in CLEAN]
    assert read_reviews(written(tmp_path / "t.csv", [*HEADER, "status"], table)).n_reviews == len(CLEAN)
    gone = [(*row, "under review" if row[1] < "P106" else "Withdrawn") for row in CLEAN]
    path = written(tmp_path / "t.csv", [*HEADER, "paper status"], gone)
    with pytest.warns(ColumnWarning, match="12 rows left out, whose 'paper status' is 'Withdrawn'"):
        assert read_reviews(path).n_items == len(PAPERS) // 2


@pytest.mark.parametrize(
    ("flags", "papers"),
    [
        ("no yes no yes no no", ["1", "3"]),  # the paper is withdrawn
        ("no yes no no no no", ["1", "2", "3"]),  # a review is
    ],
)
def test_withdrawn_papers_are_out(tmp_path: Path, flags: str, papers: list[str]) -> None:
    rows = [("ann", "1"), ("ann", "2"), ("bob", "1"), ("bob", "2"), ("bob", "3"), ("ann", "3")]
    table = [(*row, 1 + place, flag) for place, (row, flag) in enumerate(zip(rows, flags.split(), strict=True))]
    path = written(tmp_path / "t.csv", [*HEADER, "withdrawn"], table)
    with pytest.warns(ColumnWarning, match="whose 'withdrawn' is 'yes'"):
        assert list(read_reviews(path).items) == papers


@pytest.mark.parametrize(
    ("spelling", "again"),
    [
        ("{:03}", "{}"),
        ("{}.0", "{}"),
        ("P-{}", "P_{}"),
        ("P{}", "\N{CYRILLIC CAPITAL LETTER ER}{}"),
        ("Paper {}", "{}"),
    ],
)
def test_labels_that_may_be_one_are_asked_about_and_joined(tmp_path: Path, spelling: str, again: str) -> None:
    numbers = {paper: place for place, paper in enumerate(PAPERS, 1)}
    first = written(tmp_path / "a.csv", HEADER[:2], [(who, spelling.format(numbers[p])) for who, p, _ in CLEAN])
    second = written(tmp_path / "b.csv", HEADER, [(who, again.format(numbers[p]), y) for who, p, y in CLEAN])
    with pytest.raises(InputError, match=r"(?s)differ in .* one paper or two"):
        read_reviews(first, second)
    reviews = read_reviews(first, second, merge="all")
    assert (reviews.n_items, reviews.n_reviews) == (len(PAPERS), len(CLEAN))
    assert read_reviews(first, second, merge="none").n_items == 2 * len(PAPERS)


@pytest.mark.parametrize("spelling", ["{1}-R{0}", "Reviewer {0} of {1}", "{1}_Reviewer_{0}"])
def test_reviewers_named_after_their_papers_are_asked_about(spelling: str) -> None:
    rows = [(spelling.format(1 + turn, paper), paper) for paper in PAPERS for turn in range(2)]
    with pytest.raises(InputError, match="named after the one paper that they review"):
        Reviews(rows)
    assert Reviews(rows, accept="positional-reviewers").n_reviewers == 24
    # Ids of both sides that count together are no such names.
    assert Reviews([(f"1{number}", f"{number}") for number in range(1, 9)]).n_reviewers == 8


def gapped(n_papers: int, sizes: tuple[int, ...], gaps: dict[int, tuple[int, ...]]) -> list[tuple[str, str, int]]:
    """Reviews numbered from 1 on: papers have these sizes in turn, some other numbers."""
    seats = {paper: range(1, 1 + sizes[paper % len(sizes)]) for paper in range(n_papers)} | gaps
    return [(f"Reviewer {k}", f"P{p}", (5 * p + 3 * k) % 7) for p, some in seats.items() for k in some]


@pytest.mark.parametrize(
    ("rows", "effect"),
    [
        (gapped(5, (3, 2, 2, 2), {4: (1, 3)}), "nearly every paper has the first of"),
        (gapped(12, (3, 2), {7: (1, 3)}), "asked"),
        (gapped(12, (3,), {7: (1, 3)}), "nearly every paper has the first of"),
        # Judges who miss a paper each, the last of them, too.
        (gapped(24, (4,), {3: (1, 3, 4), 9: (1, 2, 3)}), "nearly every paper has the first of"),
        (
            gapped(24, (4,), {3: (1, 3, 4), 9: (1, 2, 3), 15: (1, 2, 3), 20: (2, 3, 4)}),
            "nearly every paper has the first of",
        ),
        # One of three stands in for another.
        (gapped(12, (2,), {7: (1, 3)}), ""),
        (gapped(12, (3, 2), {7: (1, 3), 5: (2, 3), 9: (3,), 10: (2,)}), ""),
    ],
)
def test_numbered_reviews_may_have_a_gap(rows: list[tuple[str, str, int]], effect: str) -> None:
    notes: list[str] = []
    if effect == "asked":
        with pytest.raises(InputError, match="number the reviews of nearly every paper"):
            Reviews(rows)
    else:
        Reviews(pandas.DataFrame(rows, columns=HEADER), note=notes.append)
    assert [effect in note for note in notes] == [True] * bool(effect not in ("", "asked"))


def test_an_unknown_finding_is_refused_with_those_that_there_are():
    with pytest.raises(InputError, match=r"accept: expected names of findings, found 'placeholder'; there are 'repe"):
        Audit("placeholder")

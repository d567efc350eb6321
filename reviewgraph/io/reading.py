"""Reviews from files: all files are read as one table."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from reviewgraph._base.arguments import checked, refuse
from reviewgraph._base.arrays import BoolArray, FloatArray, IntArray
from reviewgraph._base.errors import ColumnWarning, InputError, refused, warn
from reviewgraph._base.labels import Label, natural_key
from reviewgraph._base.storing import FileRead, LeftOut
from reviewgraph._base.text import Detail, counted
from reviewgraph.formats.audit.audit import Audit
from reviewgraph.formats.audit.rows import is_status
from reviewgraph.formats.columns import (
    CONFIDENCE,
    CRITERION,
    ITEM,
    SCORE,
    Origin,
    Unlisted,
    choose_score,
    columns_of,
    require_named,
)
from reviewgraph.formats.files import Note, Problems, quote, quote_all
from reviewgraph.formats.opening import open_table
from reviewgraph.formats.parts import ROLES, Asked, Part, read_part, say_further, together
from reviewgraph.formats.side import ROLES as SIDE_ROLES
from reviewgraph.formats.side import Item, Listing, read_listing, say_unseen
from reviewgraph.formats.spellings import PAPER, Merge, Respelling, Spellings
from reviewgraph.formats.systems.system import META, OUT, read_names, refuse_aliases, resolved
from reviewgraph.formats.tables import Path, Table, ask_criteria, by_row, of_rows, unused_columns
from reviewgraph.formats.values import parse_scale
from reviewgraph.io.matching import resemblance
from reviewgraph.table.reviews import Reviews
from reviewgraph.table.rows import Duplicates, say_fulfilled


@checked
def read_reviews(
    *paths: Path,
    columns: Mapping[str, str] | None = None,
    score: str | None = None,
    items: Path | Iterable[str] | None = None,
    scale: str | Sequence[str] | None = None,
    lower_is_better: bool = False,
    duplicates: Duplicates = "error",
    format: str | None = None,  # noqa: A002 (as the option is called)
    note: Callable[[str], object] | None = None,
    read: Callable[[FileRead], object] | None = None,
    merge: Merge | None = None,
    accept: str | Iterable[str] = (),
) -> Reviews:
    r"""Read reviews from one or more files, as one table.

    Parameters
    ----------
    *paths
        Tables with a header (CSV, TSV, semicolon-separated, Parquet, spreadsheets), or exports of conference systems,
        recognised by their content; ``file#sheet`` is one sheet of several. Columns are recognised by name: reviewer,
        item and perhaps score and title, under their usual synonyms; others are ignored. Without a score column, and
        where its cell is empty, a review is planned.
    columns
        Unusual names of columns, such as ``{"score": "OveMer"}``, or for one file alone
        ``{"may.csv:score": "Merit"}``; an empty name means that there is no such column.
    score
        Where a review has several scores, the name of the one that counts: a column, or a criterion of a table with a
        row for each score and a column ``criterion``. The others become ``criteria`` of the reviews. By default the
        overall score of the system, or the only column with a usual name of scores.
    items
        An items file, or the labels of all items: items without a review may be among them; others are refused.
    scale
        Grades, best first, such as ``"A>B>C"``; they count N, ..., 1. None by default: scores are numbers.
    lower_is_better
        1 is the best score; false by default.
    duplicates
        Policy for pairs with two scores: ``"error"`` (default), ``"last"`` or ``"mean"``. A pair that is planned in one
        row and scored in another is one review; a note counts them.
    format
        The system that the files are from, such as ``"hotcrp"``, or ``"table"`` for none; by default recognised by
        content.
    note
        Called with messages for people, such as a guessed encoding; by default there are none, except that each finding
        of the audit is a :class:`~reviewgraph.graph.ColumnWarning`.
    read
        Called with a :class:`~reviewgraph._base.storing.FileRead` once a file is read: its format, the rows that
        count, its SHA-256. ``origin.files`` of the reviews has them, too.
    merge
        Policy for labels that differ in letter case, blanks or invisible characters alone: ``"all"`` joins them,
        ``"none"`` keeps them apart, ``{label: as}`` maps them. By default they are refused, except e-mail addresses,
        which are joined. A :class:`~reviewgraph.formats.spellings.Spellings` that several files share joins their
        labels, too.
    accept
        Names of findings that the audit is to accept, such as ``"positional-reviewers"``; none by default. Messages
        name the finding that they are about, and docs/reference/mistakes.md lists all.

    Returns
    -------
    Reviews
        Labels are text exactly as written, except addresses that differ from an earlier one in letter case, blanks or
        invisible characters: they are replaced by it, and a note, or by default a warning, counts them. The order of
        rows does not matter, nor that of files otherwise.

    Raises
    ------
    InputError
        If a file is missing or not a table, a column is missing or ambiguous, labels that are no addresses differ in
        letter case or blanks alone, or rows are malformed: up to ten are named by file and line in one message.
    DuplicateReview
        If a pair has two scores and ``duplicates`` is ``"error"``; the message names both places.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.csv"
    ...     _ = path.write_text("paper,email,rating\n3,ann@x.org,8: accept\n4,ann@x.org,\n")
    ...     read_reviews(path)
    <Reviews: 1 reviewer, 2 items, 2 reviews (1 scored, 1 planned)>
    """
    say = note or _say_nothing
    grades = parse_scale(scale, lower_is_better=lower_is_better)
    wanted = choose_score(columns or {}, score)
    # What the audit finds is never silent: without a listener it is a warning.
    finds = note or partial(warn, category=ColumnWarning)
    audit = Audit(accept, finds)
    if not paths:
        raise refused("read_reviews", "one or more files", "none")
    # Headers are checked before any row: a wrong name of a column is refused at once, however large the files.
    if isinstance(merge, Mapping):
        refuse("merge", merge, "Mapping[str, str]")  # labels in files are text
    known = Spellings.of(merge)
    listings: list[FileRead] = []
    declared = None
    if isinstance(items, str | os.PathLike):
        declared = read_listing(items, columns=wanted, note=note, merge=known, read=listings.append)
    elif items is not None:
        papers_named = known.respelled(list(items), PAPER, "items", note)
        declared = Listing({item: Item(None, "") for item in papers_named})
    files = [
        open_table(path, ROLES, columns_of(wanted, path), say, kind="reviews", format=format, scale=grades)
        for path in paths
    ]
    tables, names, aliases = read_names(files)
    require_named([table.header for table in tables], (*ROLES, CONFIDENCE, CRITERION), wanted, SIDE_ROLES)
    # The name of a table has the sheet in it, or the file inside an archive.
    own_of = {id(table): columns_of(wanted, path, table.name) for path, table in zip(paths, files, strict=True)}
    columns_by_file = [own_of[id(table)] for table in tables]
    asked_of = [Asked(file_columns, grades, duplicates, lower_is_better) for file_columns in columns_by_file]
    # Malformed rows of all files are reported in one message.
    problems = Problems()
    read_parts: list[Part] = []
    for number, (table, asked) in enumerate(zip(tables, asked_of, strict=True)):
        problems.file = number
        part = read_part(table, asked, audit, problems, say, Respelling(table.name, known, note))
        read_parts.append(part._replace(reviewer=resolved(part.reviewer, names)))
    problems.raise_any()
    if not any("reviewer" in file_columns for file_columns in columns_by_file):
        refuse_aliases([(part.table.name, part.reviewer) for part in read_parts])
    parts, papers, beyond = _settled(read_parts, declared, names, say)
    if not sum(len(part.lines) for part in parts) and not papers:
        raise InputError(f"{', '.join(map(str, paths))}: a header but no reviews below it; expected one row per review")
    chosen = any(SCORE.name in file_columns for file_columns in columns_by_file)
    if not chosen and not any(part.has_scores for part in parts):
        for part, file_columns in zip(parts, columns_by_file, strict=True):
            ask_criteria(part.table, file_columns)
    counted_files = [
        part.table.provenance.with_rows(
            len(part.lines), part.left_out, _filled(part.scored, part.criteria, part.is_long)
        )
        for part in parts
    ]
    files_read = (*counted_files, *aliases, *listings)
    for file in files_read:
        (read or _say_nothing)(file)
    _note_scores(
        parts, say, {name for file_columns in columns_by_file for name in file_columns.values()}, chosen=chosen
    )
    read_rows = together(parts, papers=papers)
    if declared is not None and len(read_rows.items) > len(papers):
        _refuse_undeclared(read_rows.items, papers, read_rows.item, read_rows.row_name)
    members = frozenset(chain.from_iterable(part.aside.members for part in parts))
    outsiders = frozenset(read_rows.reviewers) - members if any(part.aside.tells for part in parts) else None
    columns_read = replace(
        read_rows,
        titles={**read_rows.titles, **{item: title for item, title in papers.items() if title}},
        lower_is_better=lower_is_better,
        origin=beyond._replace(
            unlisted=_unlisted(tables, declared),
            outsiders=outsiders,
            files=files_read,
            listed=declared is not None or bool(papers),
            nouns=read_rows.origin.nouns,
        ),
    )
    reviews = Reviews._from_columns(columns_read, duplicates=duplicates, merge=known, accept=accept, note=finds)
    # A row without a value in a table with a row for each score is no planned review.
    rows_filled = _filled(np.concatenate([part.scored for part in parts]), columns_read.criteria)
    filled = _filled(reviews.scored, reviews.criteria)
    repeated = say_fulfilled(columns_read.reviewer.size, rows_filled, reviews.n_reviews, filled)
    if repeated and not any(part.is_long for part in parts):
        say(repeated)
    return reviews


def _say_nothing(message: object) -> None:
    pass


def _filled(scored: BoolArray, criteria: Mapping[str, FloatArray], in_any: bool = True) -> int:
    fields = [~np.isnan(values) for values in criteria.values()] if in_any else []
    return int(np.logical_or.reduce([scored, *fields]).sum())


def _settled(
    parts: Sequence[Part], declared: Listing | None, names: Mapping[str, str], note: Note
) -> tuple[Sequence[Part], dict[str, str], Origin]:
    """Drop withdrawn papers and meta reviews.

    Returned are the remaining parts, the papers that files list, with titles, and what is known of papers and reviews
    beyond them; ``names`` has the person by alias.

    Information on a paper or review in one file applies to the rows of all.
    """
    asides = [part.aside for part in parts] + ([declared.aside] if declared else [])
    out = {paper for aside in asides for paper in aside.out}
    meta = frozenset((names.get(who, who), paper) for aside in asides for who, paper in aside.meta if paper not in out)
    live = [_without(part, lambda _, paper: paper in out, OUT) for part in parts] if out else parts
    kept = [_without(part, lambda *pair: pair in meta, META) for part in live] if meta else live
    lost = sum(len(part.lines) for part in parts) - sum(len(part.lines) for part in live)
    if lost:
        why = "of papers that are withdrawn, rejected without review or not submitted left out"
        note(Detail(f"{counted(lost, 'review')} {why}"))
    if meta:
        note(Detail(f"{counted(len(meta), 'meta review')} left out"))
    # A paper that one file hides may be in another.
    shown = {paper for part in kept for paper in part.item.values}
    hidden = {paper for aside in asides for paper in aside.unseen} - out
    unseen = hidden - shown
    if unseen:
        note(Detail(say_unseen(unseen)))
    papers = {paper: "" for part in parts for paper in part.kept}
    papers |= {paper: title for aside in asides for paper, title in aside.listed.items()}
    if declared is not None:
        papers = dict.fromkeys(hidden, "") | {paper: item.title for paper, item in declared.items.items()}
    papers = {paper: title for paper, title in papers.items() if paper not in out | unseen}
    hidden_papers, withdrawn = (tuple(sorted(some, key=natural_key)) for some in (unseen, out))
    barred = meta.union(pair for part in parts for pair in part.barred)
    origin = Origin(meta=barred, hidden=hidden_papers, withdrawn=withdrawn, n_meta=len(meta))
    tally = declared and declared.aside.tally
    if tally:
        # Reviews of a file to be uploaded are in no count.
        existing = [part for part in kept if part.table.source and not part.table.source.proposes] or kept
        pairs = {pair for part in existing for pair in _pairs(part)}
        lacking = tally.without(pairs | meta, sorted(papers, key=natural_key))
        origin = origin._replace(lacking=lacking if lacking.reviews else None)
    return kept, papers, origin


def _pairs(part: Part) -> Iterable[tuple[str, str]]:
    return zip(by_row(part.reviewer), by_row(part.item), strict=True)


def _without(part: Part, drops: Callable[[str, str], bool], why: str) -> Part:
    rows = np.array([row for row, pair in enumerate(_pairs(part)) if not drops(*pair)], np.int64)
    return part._replace(
        lines=[part.lines[row] for row in rows.tolist()],
        reviewer=of_rows(part.reviewer, rows),
        item=of_rows(part.item, rows),
        score=part.score[rows],
        scored=part.scored[rows],
        criteria={name: values[rows] for name, values in part.criteria.items()},
        confidence=None if part.confidence is None else part.confidence[rows],
        title=part.title and of_rows(part.title, rows),
        left_out=[*part.left_out, LeftOut(len(part.lines) - rows.size, why)],
    )


def _unlisted(tables: Sequence[Table], declared: Listing | None) -> Unlisted | None:
    """Return the papers that none of the files can hold, and that cannot be among the items therefore."""
    if declared is not None:
        return declared.unlisted
    exports = [(table.name, table.source.unlisted) for table in tables if table.source]
    name, first = exports[0] if exports else ("", None)
    return first._replace(file=name) if first and all(unlisted for _, unlisted in exports) else None


def _note_scores(parts: Sequence[Part], note: Note, named: Collection[str], *, chosen: bool) -> None:
    """Report further scores, files without reviews, and those without a score column though columns remain."""
    for part in parts:
        sure = part.confidence is not None and bool(part.scored.any())
        for message in say_further(part.table.name, part.target, part.criteria, sure):
            note(message)
        if not part.lines and part.aside.listed:
            note(f"{part.table.name}: papers, but no reviews of them yet")
        elif not part.lines:
            note(f"{part.table.name}: a header but no reviews below it")
    if chosen or any(part.has_scores for part in parts):
        return
    unused = [
        name for name in unused_columns([part.table for part in parts]) if name not in named and not is_status(name)
    ]
    if unused:
        which = "one of " if len(unused) > 1 else ""
        note(
            f"no score column found, so all reviews count as planned; if {which}{quote_all(unused)} holds the scores, "
            "name it with --columns score=NAME"
        )


def _refuse_undeclared(
    labels: Sequence[Label], declared: Mapping[str, str], item: IntArray, place: Callable[[int], str]
) -> None:
    unknown = np.array([label not in declared for label in labels], np.bool_)
    rows = np.flatnonzero(unknown[item])
    # One message per unknown item, at its first row.
    _, first = np.unique(item[rows], return_index=True)
    at = np.sort(rows[first]).tolist()
    problems = Problems()
    problems.add_rows(
        at, lambda n: f"{place(at[n])}: the item {quote(str(labels[item[at[n]]]))} is not among the items given"
    )
    strangers = [labels[code] for code in np.flatnonzero(unknown).tolist()]
    why = resemblance(strangers, declared, ITEM.name) if strangers else ""
    problems.hint(f"Add it to the items (--items), or correct its name{f' ({why})' if why else ''}")
    problems.raise_any()

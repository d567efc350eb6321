"""Options of ``plan`` and ``assign``: rules on reviewers of one paper, preferences, and the format of ``-o``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from reviewgraph._base import Detail, InputError, counted, listed, noun, write_whole
from reviewgraph.cli import (
    Refusal,
    Session,
    conflict_by_option,
    expect_table,
    note,
    option,
    read_papers,
    say,
    weighed,
    with_options,
    write_table,
)
from reviewgraph.formats import CSV, Outgoing, takers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence, Sized

    from planner.rules import Rule
    from reviewgraph._base import BoolArray, Fact, Label
    from reviewgraph.formats import Columns, System
    from reviewgraph.io import Unknown

    Attributes = dict[str, dict[str, Any]]

#: Rules on the reviewers of one paper.
rule_options = with_options(
    option(
        "Input",
        "--attributes FILE",
        help="Attributes that rules refer to, in addition to those of --reviewers (reviewer and any columns; several "
        "values are separated by ;).",
    ),
    option(
        "Rules",
        "--at-most A=N",
        multiple=True,
        help="At most N reviewers per paper with the same value of A, as in institution=1; or only of a value of the "
        "paper itself (country:same=0), or of one other (country:other=2). N may be a column of --items. May be "
        "repeated.",
    ),
    option(
        "Rules",
        "--at-least A=N",
        multiple=True,
        help="At least N reviewers per paper with a yes in A (senior=1), with a value of A (region:Asia=1), or with "
        "one that the paper has, by --authors or --items (country:same=1). N may be a column of --items. May be "
        "repeated.",
    ),
    conflict_by_option,
)

#: Columns that many a reviewers file has, and the rule that each suggests.
SUGGESTED = {"institution": "--at-most institution=1", "senior": "--at-least senior=1"}


def read_rules(
    session: Session,
    listed: Mapping[str, Attributes],
    reviewers: Collection[Any],
    papers: tuple[str | None, Collection[Any]],
    where: str,
) -> dict[str, Any]:
    """Read rules and attributes; a note on stderr suggests rules for unused columns.

    ``listed`` maps the reviewers file to its attributes, ``papers`` are the file that lists papers and their labels;
    ``where`` is the name of the table of reviewers in messages.
    """
    from reviewgraph.io import match_labels

    params = session.params
    tables = dict(listed)
    rules = [_rule(name, text) for name in FORMS for text in params.get(name, ())]
    if params["attributes"]:
        tables[params["attributes"]] = session.read("attributes")
    if rules and not tables:
        raise Refusal(f"{rules[0].text}: expected --reviewers FILE or --attributes FILE with it, found neither")
    used = {rule.attribute for rule in rules}
    if params["conflict_by"] == "affiliation":
        used.add("institution")
    merged: Attributes = {}
    for path, values in tables.items():
        match_labels(list(values), reviewers, path, "reviewer", where=where, spellings=session.spellings)
        columns = {name for entry in values.values() for name, value in entry.items() if value is not False}
        idle = [name for name in SUGGESTED if name in columns - used]
        if idle:
            column = f"{noun(len(idle), 'column', 'columns')} {' and '.join(idle)}"
            note(f"{path}: no rule uses the {column}; to add one: {' '.join(SUGGESTED[name] for name in idle)}")
        for label in filter(reviewers.__contains__, values):
            merged.setdefault(label, {}).update(values[label])
    chosen: dict[str, Any] = {"attributes": merged, "rules": rules, "conflict_by": params["conflict_by"]}
    if params["conflict_by"] or any(rule.asks_papers for rule in rules):
        chosen["item_attributes"] = read_papers(session, *papers)
    return chosen


#: An example of each rule, by parameter.
FORMS = {"at_most": "institution=1", "at_least": "senior=1, region:Asia=1 or country:same=1"}


def _rule(option: str, text: str) -> Rule:
    """Return the rule of ``--at-most`` or ``--at-least``: A=N or A:VALUE=N."""
    from planner.rules import KINDS, number_of

    place = f"--{option.replace('_', '-')}"
    name, _, number = (part.strip() for part in text.rpartition("="))
    name, colon, value = (part.strip() for part in name.partition(":"))
    if not (name and number) or (colon and not value):
        raise Refusal(f"{place} {text}: expected A=N or A:VALUE=N, as in {FORMS[option]}")
    kind = next(kind for kind in KINDS.values() if kind.option == place)
    rule: Rule = kind(name, number_of(number), value or None)
    return rule


def say_meta_reviews(*tables: Any) -> None:
    """Note the meta reviews that tables of reviews leave out: their pairs are forbidden."""
    pairs = {pair for table in tables if table is not None for pair in table.origin.meta}
    if pairs:
        note(Detail(f"{counted(len(pairs), 'meta review')}: nobody is asked to review a paper that they meta-review"))


#: Preferences of reviewers, which are added up.
preference_options = with_options(
    option(
        "Preferences",
        "--affinity FILE[=WEIGHT]",
        everyday=True,
        multiple=True,
        help="Affinities of pairs (item,reviewer,affinity); several files are added, each times its weight.",
    ),
    option(
        "Preferences",
        "--bids FILE[=WEIGHT]",
        everyday=True,
        multiple=True,
        help="Bids (item,reviewer,bid) of OpenReview, EasyChair or CMT, or preferences of HotCRP; scaled to -1 ... 1 "
        "times the weight, they are added to the affinity; a bid that is a conflict forbids the pair.",
    ),
)


def read_fixed(
    session: Session, reviewers: Collection[str], items: Collection[str]
) -> tuple[Columns | None, dict[str, int]]:
    """Read the pairs of ``--fixed``; returned are also the loads of reviewers who are not listed: those of these pairs.

    In the download of a conference system pairs are existing reviews: those of other papers, such as withdrawn ones,
    are left out, and those of other reviewers count. In any other file unknown labels are refused later.
    """
    from planner._assign.problem import LISTS
    from reviewgraph._base import natural_key
    from reviewgraph.io import match_labels

    fixed = session.read("fixed")
    path = session.params["fixed"]
    if fixed is None or not session.is_export(path):
        return fixed, {}
    fixed = _rows(fixed, match_labels(fixed.items, items, path, "paper", where=LISTS)[fixed.item] >= 0)
    known = match_labels(fixed.reviewers, reviewers, path, "reviewer", unknown="new", where=LISTS)
    loads = Counter(fixed.reviewers[code] for code in fixed.reviewer.tolist() if known[code] < 0)
    unlisted = sorted(loads, key=natural_key)
    if unlisted:
        who = counted(len(unlisted), "reviewer is", "reviewers are")
        note(f"{path}: {who} not in {session.params['reviewers_file']} ({listed(unlisted)}): their reviews count")
    return fixed, {label: loads[label] for label in unlisted}


def read_preferences(
    session: Session,
    reviewers: Collection[Any],
    items: Collection[Any],
    *,
    everything: bool,
    where: str,
    aside: Collection[str] = (),
    gone: Collection[Any] = (),
) -> tuple[Any, Columns | None]:
    """Read the files of ``--affinity`` and ``--bids``, and add them up; returned are also the bids of a conflict.

    Rows with unknown labels are counted on stderr, as not in ``where``, and conflicts with them are refused; those of
    papers ``aside`` are left out without a word, and so are conflicts of reviewers who are ``gone``. Unless
    ``everything``, bids of 0 or less do not make a pair possible.
    """
    from planner._assign.inputs import merge_affinities
    from reviewgraph.io import joined_pairs, match_pairs

    def listed_in(table: Columns, path: str, unknown: Unknown = "left out") -> Columns:
        table = without(table, aside)
        spellings = session.spellings if unknown == "asked" else None
        reviewer, item = match_pairs(
            table, reviewers, items, path, unknown=unknown, where=where, spellings=spellings, explained=gone
        )
        return _rows(table, (reviewer >= 0) & (item >= 0))

    tables = []
    for path, weight in map(weighed, session.params["affinity"]):
        tables.append((listed_in(read_affinity(session, path), path), weight))
    wishes = []
    barred = None
    for path, weight in map(weighed, session.params["bids"]):
        bids = session.read("bids", path)
        barred = joined_pairs(barred, listed_in(bids.conflicts, path, "asked"))
        wishes.append((listed_in(bids.table, path), weight))
    # A single file without weight is used as it is.
    if not wishes and len(tables) == 1 and tables[0][1] == 1.0:
        return tables[0][0], barred
    return merge_affinities(tables, wishes, all_pairs=everything) if tables or wishes else {}, barred


def read_affinity(session: Session, path: str) -> Columns:
    """Read affinities; a file of bids is refused with the option for it."""
    try:
        table: Columns = session.read("affinity", path)
    except InputError as error:
        if not session.could_read("bids", path):
            raise
        message = f"{path}: expected affinities, found bids; give the file with --bids instead of --affinity"
        raise Refusal(message) from error
    return table


def without(table: Columns, items: Collection[str]) -> Columns:
    """Return the pairs of a table but those of some papers, which do not count."""
    import numpy as np

    return _rows(table, np.array([label not in items for label in table.items], np.bool_)[table.item])


def _rows(table: Columns, here: BoolArray) -> Columns:
    score = None if table.score is None else table.score[here]
    return replace(table, reviewer=table.reviewer[here], item=table.item[here], score=score)


# ``--to``, ``--label``, ``--invitation``: the format of the file that ``-o`` writes.

#: The format of the file of ``-o``.
upload_options = with_options(
    option(
        "Result",
        "--to",
        everyday=True,
        type=click.Choice(list(takers())),
        help=(
            "Format of the file of -o  [default: that of the system of REVIEWS, else csv]. "
            + "; ".join(f"{name}: {system.words}" for name, system in takers().items())
            + "."
        ),
    ),
    option("Result", "--label NAME", help="For openreview: the label of the edges; for hotcrp: the review round."),
    option("Result", "--invitation ID", help="For openreview: the invitation of the edges."),
)

#: Maximum number of reviews listed in a message.
NAMED = 10

#: Parameters of the destination.
DESTINATION = ("output", "to", "label", "invitation")


@dataclass(frozen=True)
class Destination:
    """The ``output`` file of reviews, None if there is none, and its format: ``asked`` if --to selected it."""

    upload: System
    output: str | None
    asked: bool
    settings: Mapping[str, Any]  # The label and the invitation, those that were given

    def settled(self, session: Session, reviewers: Sequence[Label], items: Sequence[Label]) -> Destination:
        """Return the destination for these labels, before the work begins; by default the system of the input."""
        system = takers().get(session.system or "", CSV)
        chosen = self if self.asked or CSV.is_meant_by(self.output) else replace(self, upload=system)
        try:
            chosen.try_out(reviewers, items)
        except InputError:
            if self.output:
                raise
            return self
        chosen.expect_fitting()
        if self.output and chosen.upload is not self.upload:
            note(Detail(f"{self.output}: {chosen.upload.words} (--to csv writes a table)"))
        return chosen

    def expect_fitting(self) -> None:
        """Refuse a setting that the format does not have, and a file whose name says JSON unless that is the format."""
        for name in self.settings:
            if name not in self.upload.options:
                takers_of = " or ".join(system.name for system in takers().values() if name in system.options)
                stated = f"--to {self.upload.name}" if self.asked else "none, and REVIEWS are from no such system"
                message = f"--{name}: expected --to {takers_of} with it, found {stated}; add it, or leave --{name} out"
                raise Refusal(message)
        text = "" if self.upload.is_table else f"a file for {self.upload.title}"
        expect_table(self.output, text, "say --to csv", self.upload.suffix)

    def try_out(self, reviewers: Sequence[Label], items: Sequence[Label]) -> None:
        """Format one review, to find out whether the system accepts the labels and settings."""
        if reviewers and items:
            shown = [
                [label for label in labels if accepted.fits(str(label))][:1] or labels
                for labels, accepted in ((reviewers, self.upload.reviewers), (items, self.upload.items))
            ]
            self.upload.expect_taken(Outgoing({"reviewer": shown[0], "item": shown[1]}))
            self._text(Outgoing({"reviewer": shown[0][:1], "item": shown[1][:1]}))

    def write(self, outgoing: Outgoing) -> bool:
        """Write the reviews that the system accepts, if there is a file; returns whether none was left out."""
        if not self.output:
            return True
        taken, left = self.upload.parted(outgoing)
        if self.upload.is_table:
            write_table(self.output, self.upload.table(taken))
        else:
            write_whole(self.output, self._text(taken))
        if left:
            pairs = listed((f"{item} by {reviewer}" for reviewer, item in left), NAMED)
            enter = f"{self.upload.name} takes {self.upload.reviewers.words} and {self.upload.items.words}"
            say(f"{self.output}: {counted(len(left), 'review')} left out, to be entered by hand ({pairs}): {enter}")
        return not left

    def uploads(self, session: Session, written: Sized) -> list[Fact]:
        """Return what was written, where to upload it, and what that changes; nothing without a file.

        What the round of ``--label`` needs is on stderr beside JSON.
        """
        from reviewgraph._base import Fact

        if not self.output or not len(written):
            return []
        named = self.settings.get("label")
        needed = self.upload.round_advice.format(named) if named else ""
        if needed and session.params["as_json"]:
            say(f"{self.output}: {needed}")
        where = Fact("Upload", f"{self.output}: {self.upload.place}")
        if not self.upload.place:
            table = self.upload.is_table and self.upload.read_back
            words = f"{counted(len(written), 'review')}, one per row" if table else self.upload.words
            where = Fact("Written", f"{self.output}: {words}")
        return [*([Fact("First", needed)] if needed else []), where]

    def warnings(self, session: Session, settled: Collection[str] = ()) -> list[str]:
        """Return what may be wrong with an upload since options are not given, but those ``settled`` otherwise."""
        params = session.params
        settled = {*settled, *(["bids"] if params["affinity"] else [])}
        return [
            sentence
            for name, sentence in self.upload.advice.items()
            if name in params and not params[name] and name not in settled
        ]

    def _text(self, outgoing: Outgoing) -> str:
        return self.upload.write(replace(outgoing, **self.settings))


def read_destination(session: Session) -> Destination:
    """Return the destination: the requested format, or a table; without --to the system of the input may settle it."""
    output = session.params["output"]
    given = {name: session.params[name] for name in DESTINATION[1:] if session.params[name] is not None}
    upload = takers()[given["to"]] if "to" in given else CSV
    for name, value in given.items() if output is None else ():
        message = f"--{name} {value}: expected -o FILE with it, found none; name one, such as -o upload{upload.suffix}"
        raise Refusal(message)
    asked = given.pop("to", None) is not None
    return Destination(upload, output, asked, given)

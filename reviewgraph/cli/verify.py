"""``reviewgraph verify``: check a result with independent code, then by running its command again."""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

import click

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import plain, record_of
from reviewgraph._base.text import counted, noun
from reviewgraph._verify.answers import Findings, compare_again, from_json, read_answer, verify_files
from reviewgraph._verify.assignments import verify_assignment
from reviewgraph._verify.calibrations import Wanted, verify_calibration
from reviewgraph._verify.graphs import table_of
from reviewgraph._verify.plans import verify_check, verify_plan
from reviewgraph._verify.rules import (
    AT_LEAST,
    AT_MOST,
    Market,
    PanelRule,
    PlainRules,
    asks_papers,
    panel_rule,
)
from reviewgraph.cli.options import (
    examples,
    preferring_reviewers,
    read_own_papers,
    read_papers,
    selected_among,
    weighed,
)
from reviewgraph.cli.output import Refusal, notes_of, refusing, writable
from reviewgraph.cli.session import Session
from reviewgraph.io.affiliations import shared_by
from reviewgraph.io.sides import without_gone

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from reviewgraph._base.page import Page
    from reviewgraph._verify.answers import Answer
    from reviewgraph._verify.graphs import Pair
    from reviewgraph.formats.columns import Columns
    from reviewgraph.io.sides import Gone
    from reviewgraph.table.reviews import Reviews


@click.command(
    # The words after ANSWER are arguments of the command that made it.
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="",
    epilog=examples(
        (
            "Is the plan valid, and are its bounds true?",
            "verify plan.json reviews.csv --conflicts conflicts.csv --spare 1",
        ),
        ("As one JSON object:", "verify check.json reviews.csv --json"),
    ),
)
@click.argument("path", metavar="ANSWER")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="REVIEWS... [OPTIONS]")
@click.pass_context
def verify(ctx: click.Context, /, path: str, words: tuple[str, ...]) -> None:
    """Verify ANSWER: the output of check, plan, assign or calibrate with --json.

    REVIEWS and OPTIONS are those of the command that made it, word for word; its files are not written again. Simple,
    independent code checks the answer, and lists what it checked and what it assumed; then the command is run again
    to compare sentences and other figures. Exit status 0: it holds; 1: it is refuted, with the first reasons; 4: it
    is not refuted, but a claim that it depends on could not be checked.
    """
    answer, command = _made_by(path)
    try:
        made = command.make_context(answer.command, list(words), parent=ctx.parent)
    except click.UsageError as error:
        message = f"{path} is an answer of `{answer.command}`, whose arguments and options are expected. "
        raise Refusal(message + error.format_message()) from error
    with made:
        session = Session.of()
        findings = _findings(session, made, answer)
        from reviewgraph.verifying import VerificationStatus, page_of

        session.answer(findings, None, lambda shown, _: page_of(path, shown))
    ctx.exit({True: 0, False: 1, None: 4}[VerificationStatus(findings.outcome).good])


@refusing
def _made_by(path: str) -> tuple[Answer, click.Command]:
    """Read an answer, and load the command that made it."""
    from reviewgraph.cli import main

    answer = read_answer(path)
    command = main.get_command(click.get_current_context(), answer.command)
    if command is None:
        message = f"{path}: expected an answer of a command that is installed, found one of {answer.command}"
        raise Refusal(message)
    return answer, command


@refusing
def _findings(session: Session, made: click.Context, answer: Answer) -> Findings:
    findings = VERIFIERS[answer.command](session, answer)
    if findings.wrong and session.params.get("select", "") is None and answer.get("selected"):
        reason = "the answer has a selection, but no number to select was given; repeat it as it was given to"
        findings.wrong.insert(0, f"--select: {reason} {answer.command}")

    # All else that the answer says is what a second run prints.
    if findings.wrong or findings.undecided:
        findings.not_checked("all other figures and sentences: the command was not run again", decisive=False)
    else:
        compare_again(findings, asked_again(made))
    values = (value if isinstance(value, tuple) else (value,) for value in made.params.values())
    words = [str(word) for listed in values for word in listed]
    verify_files(findings, [file.to_dict() for file in session.files], words)
    return findings


#: Reviews up to which a report is checked as it is written, in less than a second.
CHECKED_AT_ONCE = 20_000


def checked(session: Session, page: Page, content: Mapping[str, Any], n_reviews: int) -> Page:
    """Return the page of an answer of the running command with what independent code finds of it.

    The command is not run again. A refutation is the last fact; details are a section.
    """
    from reviewgraph._base.page import Fact, Listed, Section

    command = click.get_current_context().command.name or ""
    lists: dict[str, list[str]] = {}
    if n_reviews > CHECKED_AT_ONCE:
        words = "not yet: reviewgraph verify checks the answer that --json prints"
    else:
        before = dict(notes_of().all)
        try:
            answer = from_json("the answer", json.dumps(plain({**content, **record_of(session.files)})))
            findings = VERIFIERS[command](session, answer)
            lists = {"Checked:": findings.checked, "Not checked:": [*findings.undecided, *findings.trusted]}
            unsure = len(findings.undecided)
            words = f"{counted(len(findings.checked), 'claim holds', 'claims hold')} by independent code"
            words += f"; {counted(unsure, 'claim')} that matter{noun(unsure, 's', '')} not looked at" if unsure else ""
            if findings.wrong:
                words = f"REFUTED by independent code: {findings.wrong[0]}"
        except (InputError, click.ClickException) as error:
            words = f"not by independent code: {error}"
        # The files were read again, and what they bring up is known.
        notes_of().all = before
    parts = [Listed(heading, list(dict.fromkeys(claims))) for heading, claims in lists.items() if claims]
    section = Section("checked", "What independent code checked", lambda: parts)
    return replace(page, facts=[*page.facts, Fact("Checked", words)], sections=[*page.sections, section])


def asked_again(made: click.Context) -> Answer | None:
    """Return what the command prints with ``--json`` for the same arguments; None if it ends without an answer.

    Its files go to a temporary folder, reports are not written, nothing is shown, and ``made`` stays unchanged.
    """
    before = dict(made.params)
    files = {option.name or "" for option in made.command.params if option.callback is writable}
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8")
    try:
        with TemporaryDirectory() as folder:
            made.params.update({name: str(Path(folder, name)) for name in files if before[name]}, as_json=True)
            made.params |= {name: None for name in ("html", "anonymous", "verbose", "quiet") if name in before}
            with redirect_stdout(printed), redirect_stderr(io.StringIO()), suppress(click.exceptions.Exit):
                made.command.invoke(made)
        printed.seek(0)
        return from_json("the repeated answer", printed.read())
    except (click.ClickException, InputError):
        return None
    finally:
        made.params.update(before)


# Options and files of each command as plain Python, for :mod:`reviewgraph._verify`.


def pairs_in(columns: Columns | None) -> list[Pair]:
    if columns is None:
        return []
    codes = zip(columns.reviewer.tolist(), columns.item.tolist(), strict=True)
    return [(str(columns.reviewers[j]), str(columns.items[i])) for j, i in codes]


def numbers_in(columns: Columns) -> dict[Pair, float]:
    values = [] if columns.score is None else columns.score.tolist()
    return {pair: value for pair, value in zip(pairs_in(columns), values, strict=True) if value == value}


def _read_remaining(session: Session) -> tuple[Reviews, Reviews, Gone | None]:
    """Read the reviews, those without who is gone, and who that is."""
    reviews = session.read_reviews(*session.params["paths"], items=session.params["items"])
    gone = session.read("gone")
    return reviews, reviews if gone is None else without_gone(reviews, gone), gone


def _check(session: Session, answer: Answer) -> Findings:
    if answer.get("undecided") is not None:
        # Tables larger than memory are left to a second run.
        return Findings(answer)
    _, remaining, _ = _read_remaining(session)
    return verify_check(answer, table_of(remaining))


def _plan(session: Session, answer: Answer) -> Findings:
    params = session.params
    target = params["target"] if session.is_typed("target") else None
    return verify_plan(answer, _rules(session), target)


def _rules(session: Session) -> PlainRules:
    params = session.params
    reviews, remaining, gone = _read_remaining(session)
    capacity = session.read("capacity")
    willing = session.read("willing")

    # Reviewers without remaining reviews keep their codes; like those outside the committee they are not invited.
    lost = set(map(str, gone.reviewers)) if gone else set()
    new = [label for label in (*(capacity or ()), *(willing or ())) if str(label) not in lost]
    away = [label for label in reviews.reviewers if label not in remaining.reviewer_code]
    table = table_of(remaining._with_labels([*away, *new]))
    usual = params["spare"] if params["spare"] is not None or capacity is None else 0
    spare = {} if usual is None else dict.fromkeys(table.reviewers, usual)
    uninvited = [label for label in (*away, *(remaining.origin.outsiders or ())) if label not in (willing or ())]
    spare |= dict.fromkeys(map(str, uninvited), 0)
    spare |= {str(label): load for label, load in (capacity or {}).items()} | dict.fromkeys(lost, 0)
    # Nobody is asked for a review of a paper that they meta-review.
    barred = [(str(reviewer), str(item)) for reviewer, item in reviews.origin.meta]
    barred += pairs_in(session.read("conflicts")) + pairs_in(gone.pairs if gone else None)
    affinity, conflicts = _affinities(session, table.items, table.reviewers, any_pair=True)
    fixed = dict.fromkeys(pairs_in(session.read("fixed")))
    barred += pairs_in(read_own_papers(session, reviews.reviewers, reviews.items))
    shared, panels = _of_attributes(session, table.reviewers, reviews.items, (params["reviewers"], params["items"]))
    barred += shared
    if institutions := session.read("institutions"):
        institution = {str(label): {"institution": name or None} for label, name in institutions.items()}
        panels.append(panel_rule(AT_MOST, "institution=1", institution))
    if senior := session.read("senior"):
        panels.append(panel_rule(AT_LEAST, "senior=1", {str(label): {"senior": True} for label in senior}))
    prices: dict[str, Any] = {}
    least = params["min_affinity"]
    if params["cost"]:
        prices = {"value": numbers_in(session.read("cost"))}
    elif params["affinity"] or params["bids"]:
        # The highest affinity is at least 0, that of all other pairs.
        prices = {"value": affinity, "default": 0.0, "best": max(0.0, *affinity.values(), 0.0)}
    return PlainRules(
        table=table,
        spare=spare,
        barred=frozenset([*barred, *conflicts]),
        fixed=tuple(pair for pair in fixed if pair not in table.score),
        allowed=None if least is None else frozenset(pair for pair, value in affinity.items() if value >= least),
        willing=None if willing is None else frozenset(map(str, willing)),
        panels=tuple(panels),
        **prices,
        **{key: params[key] for key in ("min_reviews", "max_reviews", "max_per_item")},
    )


def _assign(session: Session, answer: Answer) -> Findings:
    params = session.params
    papers = session.read("items", params["items_file"])
    path = params["reviewers_file"]
    people = session.read("reviewers", path) if path else preferring_reviewers(session)
    demand = {str(label): _or(entry.demand, params["demand"]) for label, entry in papers.items()}
    # Without an option the usual load is that of the answer.
    usual = _or(params["load"], _or(answer.get("usual_load.load"), len(papers)))
    loads = dict[str, tuple[int, int]]()
    for label, entry in people.items():
        least = _or(entry.min_load, params["min_load"])
        loads[str(label)] = least, max(usual, least) if entry.load is None else entry.load
    any_pair = params["allow_unscored"] or not params["affinity"]
    affinity, conflicts = _affinities(session, demand, loads, any_pair=any_pair)
    conflicts += pairs_in(session.read("conflicts")) + pairs_in(read_own_papers(session, loads, demand))
    phase_one, kept, previous = (session.read(name) for name in ("phase_one", "fixed", "previous"))
    first = frozenset() if phase_one is None else frozenset(table_of(phase_one).score)
    # Whoever writes the meta review of a paper is not assigned to review it.
    tables = [table for table in (phase_one, kept, previous) if table is not None]
    conflicts += [(str(reviewer), str(item)) for table in tables for reviewer, item in table.origin.meta]
    # Fixed pairs that were reviewed in the first phase exist already.
    fixed = [pair for pair in dict.fromkeys(pairs_in(kept)) if pair not in first]
    if fixed and session.is_export(params["fixed"]):
        fixed = [(reviewer, item) for reviewer, item in fixed if item in demand]
        loads = {reviewer: (0, 0) for reviewer, _ in fixed} | loads
    shared, panels = _of_attributes(session, loads, papers, (path, params["items_file"]))
    # A pair in conflict has no affinity, even where it is fixed.
    barred = frozenset([*conflicts, *shared])
    affinity = {pair: value for pair, value in affinity.items() if pair not in barred}
    # Demands and loads are at least those of the fixed pairs.
    fixed_demand = Counter(item for _, item in fixed)
    fixed_load = Counter(reviewer for reviewer, _ in fixed)
    market = Market(
        demand={item: max(need, fixed_demand[item]) for item, need in demand.items()},
        loads={reviewer: (least, max(most, fixed_load[reviewer])) for reviewer, (least, most) in loads.items()},
        affinity=affinity,
        any_pair=any_pair,
        barred=barred,
        fixed=tuple(fixed),
        phase_one=first,
        panels=tuple(panels),
        **{name: params[name] for name in ("target", "floor")},
        plain=not params["max_probability"],
        sums_alone=previous is None,
        named=session.is_typed("target"),
    )
    return verify_assignment(answer, market)


def _or(number: int | None, default: int) -> int:
    return default if number is None else number


def _affinities(
    session: Session, items: Collection[str], reviewers: Collection[str], *, any_pair: bool
) -> tuple[dict[Pair, float], list[Pair]]:
    """Return the sum of affinities and bids, and the pairs whose bid is a conflict."""
    params = session.params
    total: dict[Pair, float] = {}
    bid_of: dict[Pair, float] = {}
    conflicts: list[Pair] = []
    for path, weight in map(weighed, params["affinity"]):
        for pair, value in numbers_in(session.read("affinity", path)).items():
            total[pair] = total.get(pair, 0.0) + weight * value
    for path, weight in map(weighed, params["bids"]):
        bids = session.read("bids", path)
        conflicts += pairs_in(bids.conflicts)
        for pair, value in numbers_in(bids.table).items():
            bid_of[pair] = bid_of.get(pair, 0.0) + weight * value
    # A positive bid allows a pair, another one does not.
    for pair, value in bid_of.items():
        if any_pair or value > 0 or pair in total:
            total[pair] = total.get(pair, 0.0) + value
    return {pair: value for pair, value in total.items() if pair[0] in reviewers and pair[1] in items}, conflicts


def _of_attributes(
    session: Session, reviewers: Iterable[str], items: Collection[Any], listing: tuple[str | None, str | None]
) -> tuple[list[Pair], list[PanelRule]]:
    """Return the conflicts and the panel rules by attributes of the listed reviewers and papers, by their files."""
    params = session.params
    people_file, papers_file = listing
    rules = [(AT_MOST, text) for text in params["at_most"]] + [(AT_LEAST, text) for text in params["at_least"]]
    by = params["conflict_by"]
    papers: Mapping[Any, Mapping[str, Any]] = {}
    if by or any(asks_papers(text) for _, text in rules):
        papers = read_papers(session, papers_file, list(items))
    attributes: dict[str, dict[str, Any]] = {reviewer: {} for reviewer in reviewers}
    for file in filter(None, (people_file, params["attributes"])):
        for reviewer, values in session.read("attributes", file).items():
            attributes.get(str(reviewer), {}).update(values)
    shared: list[Pair] = []
    if by:
        with catch_warnings():
            simplefilter("ignore")
            shared = pairs_in(shared_by(by, [*attributes], [*map(str, items)], attributes, papers))
    return shared, [panel_rule(option, text, attributes, papers) for option, text in rules]


def _calibrate(session: Session, answer: Answer) -> Findings:
    params = session.params
    table = table_of(session.read_reviews(*params["paths"], items=params["items"]))
    methods = click.get_current_context().command.context_settings["obj"]["methods"]
    fitted = [name for name, method in methods.items() if "hypothesis" in method.options]
    likely = [name for name, method in methods.items() if method.probabilities]
    of_lsc = any(params[name] is not None for name in ("hypothesis", "max_slope"))
    wanted = Wanted(
        method=params["method"] or next(iter(fitted if of_lsc else methods)),
        named=bool(params["method"]) or of_lsc,
        select=None if params["select"] is None else partial(selected_among, params["select"]),
        error_rate=params["error_rate"],
        across_groups=params["by_group_average"],
        references=set(map(str, session.read("references") or ())),
        by_piece=[*fitted, *likely],
        probabilities=likely,
    )
    return verify_calibration(answer, table, wanted)


#: The verifier of the answers of each command.
VERIFIERS: dict[str, Callable[[Session, Answer], Findings]] = {
    "check": _check,
    "plan": _plan,
    "assign": _assign,
    "calibrate": _calibrate,
}

"""``reviewgraph verify``: check a result with independent code, then by running its command again."""

from __future__ import annotations

import io
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from reviewgraph._base.errors import InputError
from reviewgraph.cli.check import read_duties
from reviewgraph.cli.options import examples
from reviewgraph.cli.output import Refusal, refusing, writable
from reviewgraph.cli.session import TABLE, Session
from reviewgraph.io.sides import without_gone
from reviewgraph.verify.answers import REFUTED, compare_again, from_json, read_answer, verify_files
from reviewgraph.verify.assignments import verify_assignment
from reviewgraph.verify.calibrations import verify_calibration
from reviewgraph.verify.graphs import table_of
from reviewgraph.verify.levels import Duties, verify_check
from reviewgraph.verify.plans import verify_plan
from reviewgraph.verify.rounds import Past, Process, past_of
from reviewgraph.verify.rules import AT_LEAST, AT_MOST, REWARD, Market, PanelRule, PlainRules, Wanted, panel_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from reviewgraph.formats.columns import Columns
    from reviewgraph.verify.answers import Answer, Findings
    from reviewgraph.verify.graphs import Pair, Table


#: Maximum number of reasons listed.
LISTED = 10
#: Exit status of each outcome.
STATUS = {"holds": 0, "refuted": 1, "not_refuted": 4}
WORDS = {"holds": "holds", "refuted": "refuted", "not_refuted": "not refuted"}


@click.command(
    # The words after ANSWER are arguments of the command that made it.
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="",
    epilog=examples(
        (
            "Is the plan valid, and are its bounds true?",
            "verify plan.json reviews.csv --conflicts conflicts.csv --spare 1",
        ),
        ("The file written with -o:", "verify groups.csv reviews.csv"),
        ("As one JSON object:", "verify check.json reviews.csv --json"),
    ),
)
@click.argument("path", metavar="ANSWER")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="REVIEWS... [OPTIONS]")
@click.pass_context
def verify(ctx: click.Context, /, path: str, words: tuple[str, ...]) -> None:
    """Verify ANSWER: the output of check, plan, assign or calibrate with --json, or the CSV it wrote with -o.

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
        session.answer(findings.to_dict, lambda: _page(path, findings))
    if status := STATUS[findings.outcome]:
        ctx.exit(status)


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
    verifier = VERIFIERS[answer.command]
    findings = verifier.run(session, answer)
    if findings.outcome == REFUTED and (repeat := _not_repeated(session, answer, findings)):
        findings.wrong.insert(0, repeat)

    # Sentences, and figures that no independent code computes, are those of a second run.
    asks = not findings.wrong and not findings.undecided and not answer.is_table
    compared = asks and compare_again(findings, answer, asked_again(made))
    values = (value if isinstance(value, tuple) else (value,) for value in made.params.values())
    words = [str(word) for listed in values for word in listed]
    verify_files(findings, answer, [file.to_dict() for file in session.files], words)
    if compared:
        return findings

    # Without it, what else the answer contains and depends on is not checked.
    findings.leave_unconfirmed()
    if answer.unseen:
        findings.not_checked(f"not checked: {', '.join(answer.unseen)}")
    for option in made.command.params:
        if session.is_given(option.name or "") and option.name not in verifier.heeded | TELLING:
            findings.not_checked(f"{option.opts[0]}: its effect is not checked")
    return findings


def _not_repeated(session: Session, answer: Answer, findings: Findings) -> str | None:
    """Return the option to repeat, if the answer may have been refuted only because it was left out."""
    params = session.params
    repeat = f"repeat it as it was given to {answer.command}"
    if "select" in params and params["select"] is None:
        rows = answer.content["rows"] if answer.is_table else []
        if answer.content.get("selected") or any(row.get("probability") or row.get("list") for row in rows):
            return f"--select: the answer has a selection, but no number to select was given; {repeat}"
    unnamed = answer.is_table and "target" in params and not _named(session, "target")
    if unnamed and any(reason.startswith("the level") for reason in findings.wrong):
        return f"--target: none was given, so that {params['target']} is assumed; if it was another level, {repeat}"
    return None


def _page(path: str, findings: Findings) -> str:
    """Return the page: the verdict, then the unchecked, checked and assumed claims."""
    more = len(findings.wrong) - LISTED
    lines = [f"{path}: {WORDS[findings.outcome]}.", *(f"  {reason}" for reason in findings.wrong[:LISTED])]
    lines += [f"  ... and {more} more"] if more > 0 else []
    assumed = [words for words in findings.trusted if words not in findings.undecided]
    parts = {
        "Not checked, but the answer depends on it:": findings.undecided,
        "Checked:": findings.checked,
        "Not checked:": assumed,
    }
    for heading, claims in parts.items():
        lines += ["", heading, *(f"  {claim}" for claim in claims)] if claims else []
    return "\n".join(lines)


# The output of the command run again, for sentences and for figures of a model, which no independent code computes.


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
            made.params.update(
                {name: value for name, value in (("html", None), ("anonymous", False)) if name in before}
            )
            with redirect_stdout(printed), redirect_stderr(io.StringIO()), suppress(click.exceptions.Exit):
                made.command.invoke(made)
        printed.seek(0)
        return from_json("the repeated answer", printed.read())
    except (click.ClickException, InputError):
        return None
    finally:
        made.params.update(before)


# Options and files of each command as plain Python, for :mod:`reviewgraph.verify`.

#: Parameters that change the search or the output, but not whether an answer holds.
TELLING = {
    *("output", "to", "label", "invitation", "reporting", "html", "anonymous", "as_json", "seed", "time_limit"),
    *("best_effort", "conference"),
}


class Verifier(NamedTuple):
    """The verifier of the answers of a command, and the parameters that it takes into account."""

    run: Callable[[Session, Answer], Findings]
    heeded: frozenset[str]


def _named(session: Session, option: str) -> bool:
    return session.is_given(option, unless="goals")


def pairs_in(columns: Columns) -> list[Pair]:
    """Return pairs by name."""
    codes = zip(columns.reviewer.tolist(), columns.item.tolist(), strict=True)
    return [(str(columns.reviewers[j]), str(columns.items[i])) for j, i in codes]


def numbers_in(columns: Columns) -> dict[Pair, float]:
    """Return the number of each pair that has one."""
    values = [] if columns.score is None else columns.score.tolist()
    return {pair: value for pair, value in zip(pairs_in(columns), values, strict=True) if value == value}


def _check(session: Session, answer: Answer) -> Findings:
    reviews = session.read_reviews(*session.params["paths"], items=session.params["items"])
    gone = session.read_gone(reviews)
    duties = read_duties(session)
    table = table_of(reviews if gone is None else without_gone(reviews, gone))
    conflicts = set(pairs_in(duties["conflicts"])) if "conflicts" in duties else None
    limits = [_limits(duties.get(key), names) for key, names in (("load", table.reviewers), ("demand", table.items))]
    return verify_check(answer, table, Duties(conflicts, *limits), streamed=bool(session.params["stream"]))


def _limits(given: Any, names: tuple[str, ...]) -> dict[str, int] | None:
    """Return a limit by name; None without limits."""
    if given is None or isinstance(given, int):
        return None if given is None else dict.fromkeys(names, given)
    return {str(label): limit for label, limit in given.items() if limit is not None}


def _plan(session: Session, answer: Answer) -> Findings:
    params = session.params
    command = click.get_current_context().command
    kind = next(option.type for option in command.params if option.name == "target")
    levels = [name for name in params["goals"] if isinstance(kind, click.Choice) and name in kind.choices]
    target = levels[0] if levels and not _named(session, "target") else params["target"]
    rules, process = _rules(session)
    named = bool(levels) or _named(session, "target")
    return verify_plan(answer, rules, target, named=named, process=process)


def _rules(session: Session) -> tuple[PlainRules, Process]:
    """Read the rules of a plan, and the process that it is a round of."""
    params = session.params
    after = session.read("after")
    inherited = after["rounds"]["rules"] if after else {}
    stated = {name: inherited.get(name) if params[name] is None else params[name] for name in ("spare", "max_per_item")}
    reviews = session.read_reviews(*params["paths"], items=params["items"])
    gone = session.read_gone(reviews)
    remaining = reviews if gone is None else without_gone(reviews, gone)
    capacity = session.read("capacity")
    willing = session.read("willing")

    # Reviewers without remaining reviews keep their codes; like those outside the committee they are not invited.
    lost = set(map(str, gone.reviewers)) if gone else set()
    new = [label for label in (*(capacity or ()), *(willing or ())) if str(label) not in lost]
    away = [label for label in reviews.reviewers if label not in remaining.reviewer_code]
    table = table_of(remaining.with_labels([*away, *new]))
    past = Past()
    if after:
        conflicts = {
            *_pairs_of(session, "conflicts"),
            *(pairs_in(gone.pairs) if gone and gone.pairs is not None else ()),
        }
        past = past_of(after, table, lost, conflicts)
        table = _with_outstanding(table, past)
    least = stated["spare"] if stated["spare"] is not None or capacity is None else 0
    spare = {} if least is None else dict.fromkeys(table.reviewers, least)
    unasked = [label for label in (*away, *(remaining.origin.outsiders or ())) if label not in (willing or ())]
    spare |= dict.fromkeys(map(str, unasked), 0)
    spare |= {str(label): load for label, load in (capacity or {}).items()} | dict.fromkeys(lost, 0)

    # Reviews of earlier rounds count toward the loads of all rounds.
    for _, reviewer, _ in past.earlier:
        if reviewer in spare:
            spare[reviewer] = max(spare[reviewer] - 1, 0)
    barred = _pairs_of(session, "conflicts")
    barred += [
        pair for path, _ in map(_weighed, params["bids"]) for pair in pairs_in(session.read("bids", path).conflicts)
    ]
    barred += pairs_in(gone.pairs) if gone and gone.pairs is not None else []
    # Nobody is asked for a review of a paper that they meta-review.
    barred += [(str(who), str(what)) for who, what in reviews.origin.meta]
    fixed = _pairs_of(session, "fixed")
    process = Process(after, past, **{name: params[name] for name in ("rounds", "max_reviews", "max_per_item")})
    rules = PlainRules(
        table,
        spare,
        frozenset(barred),
        tuple(dict.fromkeys(pair for pair in fixed if pair not in table.score)),
        willing=None if willing is None else frozenset(map(str, willing)),
        panels=_people(session, table.reviewers),
        **_prices(session, table.reviewers, table.items),
        **{key: params[key] for key in ("min_reviews", "max_reviews", "use_scores")},
        max_per_item=stated["max_per_item"],
    )
    return rules, process


def _with_outstanding(table: Table, past: Past) -> Table:
    """Return the table with the outstanding reviews of earlier rounds, and without the lost ones."""
    lost = {(reviewer, item) for _, reviewer, item in past.lost}
    score = {pair: value for pair, value in table.score.items() if pair not in lost}
    new = [(reviewer, item) for _, reviewer, item in past.outstanding if (reviewer, item) not in score]
    reviewers = tuple(dict.fromkeys([*table.reviewers, *(reviewer for reviewer, _ in new)]))
    return replace(table, score=score | dict.fromkeys(new), reviewers=reviewers)


def _people(session: Session, reviewers: tuple[str, ...]) -> tuple[PanelRule, ...]:
    """Read the rules on reviewers of one paper, including ``--institutions`` and ``--senior``."""
    rules = list(_panels(session, reviewers, session.params["reviewers"]))
    if homes := session.read("institutions"):
        institution = {str(label): {"institution": name or None} for label, name in homes.items()}
        rules.append(panel_rule(AT_MOST, "institution=1", institution))
    if senior := session.read("senior"):
        rules.append(panel_rule(AT_LEAST, "senior=1", {str(label): {"senior": True} for label in senior}))
    return tuple(rules)


def _prices(session: Session, reviewers: tuple[str, ...], items: tuple[str, ...]) -> dict[str, Any]:
    """Read costs or affinities of existing pairs; the highest affinity is at least 0."""
    if session.params["cost"]:
        return {"value": numbers_in(session.read("cost"))}
    if not (session.params["affinity"] or session.params["bids"]):
        return {}
    value, _, _ = _affinities(session, items, reviewers)
    least = session.params["min_affinity"]
    allowed = None if least is None else frozenset(pair for pair, number in value.items() if number >= least)
    return {"value": value, "default": 0.0, "best": max(0.0, *value.values(), 0.0), "allowed": allowed}


def _assign(session: Session, answer: Answer) -> Findings:
    params = session.params
    papers = session.read("items", params["items_file"])
    people = session.read("reviewers", params["reviewers_file"])
    demand = {str(label): _or(one.demand, params["demand"]) for label, one in papers.items()}
    usual = _usual_load(answer, params["load"], len(papers))
    loads = dict[str, tuple[int, int]]()
    for label, one in people.items():
        least = _or(one.min_load, params["min_load"])
        loads[str(label)] = least, max(usual, least) if one.load is None else one.load
    affinity, conflicts, any_pair = _affinities(session, demand, loads)
    conflicts += _pairs_of(session, "conflicts")
    phase_one, kept, previous = (session.read(name) for name in ("phase_one", "fixed", "previous"))
    first = frozenset() if phase_one is None else frozenset(table_of(phase_one).score)
    # Whoever writes the meta review of a paper is not assigned to review it.
    tables = [table for table in (phase_one, kept, previous) if table is not None]
    conflicts += [(str(who), str(what)) for table in tables for who, what in table.origin.meta]
    # Fixed pairs that were reviewed in the first phase exist already.
    fixed = [pair for pair in dict.fromkeys(() if kept is None else pairs_in(kept)) if pair not in first]
    if fixed and session.is_export(params["fixed"]):
        fixed = [(who, what) for who, what in fixed if what in demand]
        loads = {who: (0, 0) for who, _ in fixed} | loads
    # Demands and loads are at least those of the fixed pairs.
    there = Counter(what for _, what in fixed)
    given = Counter(who for who, _ in fixed)
    market = Market(
        {item: max(need, there[item]) for item, need in demand.items()},
        {who: (least, max(most, given[who])) for who, (least, most) in loads.items()},
        affinity,
        any_pair,
        frozenset(conflicts),
        tuple(fixed),
        first,
        params["target"],
        params["survive"],
        _panels(session, loads, params["reviewers_file"]),
        None if previous is None else frozenset(pairs_in(previous)),
        params["min_affinity"],
        params["floor"],
        params["floor_best"],
        plain=not any(params[name] for name in BEYOND),
        named=_named(session, "target"),
    )
    return verify_assignment(answer, market)


def _usual_load(answer: Answer, stated: int | None, papers: int) -> int:
    """Return the load of reviewers without one: that of the option, else that of the answer; unlimited if neither."""
    if stated is not None:
        return stated
    claimed = answer.content.get("usual_load")
    load = claimed.get("load") if isinstance(claimed, dict) else None
    return load if isinstance(load, int) else papers


def _or(number: int | None, default: int) -> int:
    return default if number is None else number


def _pairs_of(session: Session, option: str) -> list[Pair]:
    pairs = session.read(option)
    return [] if pairs is None else pairs_in(pairs)


def _affinities(
    session: Session, demand: Collection[str], loads: Collection[str]
) -> tuple[dict[Pair, float], list[Pair], bool]:
    """Return the sum of affinities and bids, pairs whose bid is a conflict, and whether all pairs are allowed."""
    params = session.params
    # A plan may have any pair.
    any_pair = params.get("allow_unscored", True) or not params["affinity"]
    affinities = [params["affinity"]] if isinstance(params["affinity"], str) else params["affinity"] or ()
    total: dict[Pair, float] = {}
    wanted: dict[Pair, float] = {}
    barred: list[Pair] = []
    for path, weight in map(_weighed, affinities):
        for pair, value in numbers_in(session.read("affinity", path)).items():
            total[pair] = total.get(pair, 0.0) + weight * value
    for path, weight in map(_weighed, params["bids"]):
        bids = session.read("bids", path)
        barred += pairs_in(bids.conflicts)
        for pair, value in numbers_in(bids.table).items():
            wanted[pair] = wanted.get(pair, 0.0) + weight * value
    # A positive bid allows a pair, another one does not.
    for pair, value in wanted.items():
        if any_pair or value > 0 or pair in total:
            total[pair] = total.get(pair, 0.0) + value
    here = {pair: value for pair, value in total.items() if pair[0] in loads and pair[1] in demand}
    return here, barred, any_pair


def _weighed(given: str) -> tuple[str, float]:
    """Split FILE=WEIGHT, unless a file has the whole name."""
    path, sign, weight = given.rpartition("=")
    if not sign or Path(given).exists():
        return given, 1.0
    try:
        return path, float(weight)
    except ValueError:
        message = f"{given}: expected FILE or FILE=WEIGHT, found the weight {weight!r}"
        raise Refusal(message) from None


def _panels(session: Session, reviewers: Iterable[str], path: str | None) -> tuple[PanelRule, ...]:
    """Read the rules on panels, and their attributes from the reviewers file and from ``--attributes``."""
    params = session.params
    files = [session.read("attributes", file).items() for file in (path, params["attributes"]) if file]
    attributes: dict[str, dict[str, Any]] = {who: {} for who in reviewers}
    for who, own in (row for file in files for row in file):
        attributes.get(str(who), {}).update(own)
    rules = ((AT_MOST, params["at_most"]), (AT_LEAST, params["at_least"]), (REWARD, params.get("reward", ())))
    return tuple(panel_rule(option, text, attributes) for option, texts in rules for text in texts)


def _calibrate(session: Session, answer: Answer) -> Findings:
    params = session.params
    command = click.get_current_context().command
    table = table_of(session.read_reviews(*params["paths"], items=params["items"]))
    of_lsc = any(params[name] is not None for name in ("hypothesis", "by_reviewer", "max_slope", "ties"))

    # Weights and covariates are read, so that the list of files is compared; their effects are not recomputed.
    session.read_given("weights", "rankings")
    if params["reviewer_covariates"] and params["reviewers"]:
        session.read("attributes", params["reviewers"])

    # Without an option the class is that of the answer.
    claimed = answer.content.get("hypothesis")
    classes, methods = (command.context_settings["obj"][kind] for kind in ("classes", "methods"))
    is_class = claimed in classes and not params["by_reviewer"]
    usual = params["hypothesis"] or (claimed if is_class else None) or "linear"
    others = session.read("by_reviewer") or {}
    wanted = Wanted(
        params["method"]
        or next(name for name, method in methods.items() if not of_lsc or "hypothesis" in method.options),
        bool(params["method"]) or of_lsc,
        None if params["select"] is None else params["select"].of,
        params["error_rate"],
        params["by_group_average"],
        dict.fromkeys(table.reviewers, usual) | {str(who): kind for who, kind in others.items()},
        10.0 if params["max_slope"] is None else params["max_slope"],
        params["ties"] != "free",
        {str(item): value for item, value in (session.read("references") or {}).items()},
        (params["seed"] or 0) if params["lottery"] else None,
        tuple(dict.fromkeys(params["explain"])),
        {name: method.verifier for name, method in methods.items()},
        # A class that is derived from another has other equations.
        {name: vars(kind).get("verifier") for name, kind in classes.items()},
    )
    return verify_calibration(answer, table, wanted)


GONE = {"gone", "gone_after"}
PLAN = {"target", "goals", "use_scores", "conflicts", "capacity", "spare", "fixed", "cost", "affinity", "bids"} | GONE
PEOPLE = {"min_affinity", "institutions", "senior", "willing", "min_reviews", "max_per_item", "max_reviews"}
RULES = {"reviewers", "attributes", "at_most", "at_least"}

ASSIGN = {"items_file", "reviewers_file", "columns", "affinity", "bids", "min_affinity", "previous", "allow_unscored"}
MARKET = {"conflicts", "fixed", "reward", "demand", "load", "min_load", "phase_one"} | (RULES - {"reviewers"})
AIM = {"target", "survive", "floor", "floor_best", "conditioning", "fair"}
CHECK = {"stream", "require", "use_scores", "fragile", "conflicts", "reviewers", "load", "demand"}
CALIBRATE = {"method", "hypothesis", "by_reviewer", "max_slope", "ties", "references"}
CHOOSE = {"select", "error_rate", "by_group_average", "lottery", "seed", "explain"}
#: Further options on which the maximum affinity without a level depends.
BEYOND = ("authors", "max_probability", "perturbation", "design")

#: By command.
VERIFIERS = {
    "check": Verifier(_check, frozenset(GONE | CHECK).union(TABLE)),
    "assign": Verifier(_assign, frozenset(ASSIGN | MARKET | AIM)),
    "calibrate": Verifier(_calibrate, frozenset(CALIBRATE | CHOOSE).union(TABLE)),
    "plan": Verifier(_plan, frozenset(PLAN | PEOPLE | RULES | {"after"}).union(TABLE)),
}

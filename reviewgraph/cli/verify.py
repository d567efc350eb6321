"""``reviewgraph verify``: check a result with independent code, then by running its command again."""

from __future__ import annotations

import io
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from reviewgraph._base.errors import InputError
from reviewgraph.cli.check import read_duties
from reviewgraph.cli.options import examples
from reviewgraph.cli.output import Refusal, refusing, writable
from reviewgraph.cli.session import Session
from reviewgraph.io.sides import without_gone
from reviewgraph.verify.answers import REFUTED, compare_again, from_json, read_answer, verify_files
from reviewgraph.verify.assignments import verify_assignment
from reviewgraph.verify.calibrations import Wanted, verify_calibration
from reviewgraph.verify.checks import Duties, verify_check
from reviewgraph.verify.graphs import table_of
from reviewgraph.verify.plans import verify_plan
from reviewgraph.verify.rules import AT_LEAST, AT_MOST, REWARD, Market, PanelRule, PlainRules, panel_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from reviewgraph.formats.columns import Columns
    from reviewgraph.verify.answers import Answer, Findings
    from reviewgraph.verify.graphs import Pair


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
    findings = VERIFIERS[answer.command](session, answer)
    unselected = session.params.get("select", "") is None and answer.content.get("selected")
    if findings.outcome == REFUTED and unselected:
        reason = "the answer has a selection, but no number to select was given; repeat it as it was given to"
        findings.wrong.insert(0, f"--select: {reason} {answer.command}")

    # Sentences, and figures that no independent code computes, are those of a second run.
    compared = False
    if not findings.wrong and not findings.undecided:
        compared = compare_again(findings, answer, asked_again(made))
    values = (value if isinstance(value, tuple) else (value,) for value in made.params.values())
    words = [str(word) for listed in values for word in listed]
    verify_files(findings, [file.to_dict() for file in session.files], words)
    if not compared:
        # Without it, what else the answer contains and depends on is not checked.
        findings.leave_unconfirmed()
        if answer.unseen:
            findings.not_checked(f"not checked: {', '.join(answer.unseen)}")
    return findings


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
    gone = session.read("gone")
    duties = read_duties(session)
    table = table_of(reviews if gone is None else without_gone(reviews, gone))
    conflicts = set(pairs_in(duties["conflicts"])) if "conflicts" in duties else None
    limits = [_limits(duties.get(key), names) for key, names in (("load", table.reviewers), ("demand", table.items))]
    return verify_check(answer, table, Duties(conflicts, *limits))


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
    named = _named(session, "target")
    target = levels[0] if levels and not named else params["target"]
    # A later round depends on what became of the earlier ones, which only the command works out.
    rules = None if session.read("after") else _rules(session)
    return verify_plan(answer, rules, target, named=named or bool(levels))


def _rules(session: Session) -> PlainRules:
    """Read the rules of a plan."""
    params = session.params
    reviews = session.read_reviews(*params["paths"], items=params["items"])
    gone = session.read("gone")
    remaining = reviews if gone is None else without_gone(reviews, gone)
    capacity = session.read("capacity")
    willing = session.read("willing")

    # Reviewers without remaining reviews keep their codes; like those outside the committee they are not invited.
    lost = set(map(str, gone.reviewers)) if gone else set()
    new = [label for label in (*(capacity or ()), *(willing or ())) if str(label) not in lost]
    away = [label for label in reviews.reviewers if label not in remaining.reviewer_code]
    table = table_of(remaining.with_labels([*away, *new]))
    usual = params["spare"] if params["spare"] is not None or capacity is None else 0
    spare = {} if usual is None else dict.fromkeys(table.reviewers, usual)
    uninvited = [label for label in (*away, *(remaining.origin.outsiders or ())) if label not in (willing or ())]
    spare |= dict.fromkeys(map(str, uninvited), 0)
    spare |= {str(label): load for label, load in (capacity or {}).items()} | dict.fromkeys(lost, 0)
    barred = _pairs_of(session, "conflicts")
    for path, _ in map(_weighed, params["bids"]):
        barred += pairs_in(session.read("bids", path).conflicts)
    if gone and gone.pairs is not None:
        barred += pairs_in(gone.pairs)
    # Nobody is asked for a review of a paper that they meta-review.
    barred += [(str(who), str(what)) for who, what in reviews.origin.meta]
    fixed = _pairs_of(session, "fixed")
    return PlainRules(
        table=table,
        spare=spare,
        barred=frozenset(barred),
        fixed=tuple(dict.fromkeys(pair for pair in fixed if pair not in table.score)),
        willing=None if willing is None else frozenset(map(str, willing)),
        panels=_people(session, table.reviewers),
        **_prices(session, table.reviewers, table.items),
        **{key: params[key] for key in ("min_reviews", "max_reviews", "use_scores", "max_per_item")},
    )


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
    fixed_demand = Counter(what for _, what in fixed)
    fixed_load = Counter(who for who, _ in fixed)
    market = Market(
        demand={item: max(need, fixed_demand[item]) for item, need in demand.items()},
        loads={who: (least, max(most, fixed_load[who])) for who, (least, most) in loads.items()},
        affinity=affinity,
        any_pair=any_pair,
        barred=frozenset(conflicts),
        fixed=tuple(fixed),
        phase_one=first,
        panels=_panels(session, loads, params["reviewers_file"]),
        **{name: params[name] for name in ("target", "survive", "floor", "floor_best")},
        plain=not any(params[name] for name in ("authors", "max_probability", "perturbation", "design")),
        sums_alone=previous is None and params["min_affinity"] is None,
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
    of_lsc = any(params[name] is not None for name in ("hypothesis", "by_reviewer", "max_slope"))

    # Weights and covariates are read, so that the list of files is compared; a second run has their effects.
    session.read_given("weights", "rankings")
    if params["reviewer_covariates"] and params["reviewers"]:
        session.read("attributes", params["reviewers"])

    # Without an option the class is that of the answer.
    claimed = answer.content.get("hypothesis")
    classes, methods = (command.context_settings["obj"][kind] for kind in ("classes", "methods"))
    is_class = claimed in classes and not params["by_reviewer"]
    usual = params["hypothesis"] or (claimed if is_class else None) or "linear"
    by_reviewer = session.read("by_reviewer") or {}
    default = next(name for name, method in methods.items() if not of_lsc or "hypothesis" in method.options)
    wanted = Wanted(
        method=params["method"] or default,
        named=bool(params["method"]) or of_lsc,
        select=None if params["select"] is None else params["select"].of,
        error_rate=params["error_rate"],
        across_groups=params["by_group_average"],
        hypotheses=dict.fromkeys(table.reviewers, usual) | {str(who): kind for who, kind in by_reviewer.items()},
        max_slope=10.0 if params["max_slope"] is None else params["max_slope"],
        references={str(item): value for item, value in (session.read("references") or {}).items()},
        lottery=(params["seed"] or 0) if params["lottery"] else None,
        methods={name: method.verifier for name, method in methods.items()},
        # A class that is derived from another has other equations.
        classes={name: vars(kind).get("verifier") for name, kind in classes.items()},
    )
    return verify_calibration(answer, table, wanted)


#: The verifier of the answers of each command.
VERIFIERS: dict[str, Callable[[Session, Answer], Findings]] = {
    "check": _check,
    "plan": _plan,
    "assign": _assign,
    "calibrate": _calibrate,
}

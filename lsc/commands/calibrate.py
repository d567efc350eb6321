"""``reviewgraph calibrate``: select papers, explain qualities, and write results of a calibration."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from lsc._model.hypotheses import HYPOTHESES, Shape, classes
from lsc.methods import DEFAULT, METHODS, Method
from reviewgraph._base import Clock, InputError, Progress, counted, write_whole
from reviewgraph.cli import (
    SHOWN_BY,
    TABLE,
    Command,
    Number,
    Refusal,
    Session,
    examples,
    expect_none_given,
    expect_table,
    option,
    pass_session,
    result_options,
    say,
    select_option,
    selected_among,
    stream_option,
    table_options,
    telling,
    write_table,
)
from reviewgraph.formats import parse_scale, rated

if TYPE_CHECKING:
    from lsc.selection import Selection
    from reviewgraph._base import Fact, Label, Next, Page
    from reviewgraph._verify import Answer, Findings
    from reviewgraph.parts import PartedReviews
    from reviewgraph.report import Codes
    from reviewgraph.table import Reviews


#: What to do instead of covariates and rankings, which are no options any more.
_BESIDE_SCORES = "adjust the scores, or compare the groups, beforehand"


class Outcome:
    """What the options ask of a result: a selection, a lottery, explanations.

    ``explained`` has labels of the result, which may be codes. ``selection`` is None without ``--select``, and if
    nothing can be selected; ``refused`` has the reason. ``drawn`` are the papers of a lottery, None without one, and
    ``seed`` is None, which counts as 0, if not typed.
    """

    def __init__(self, session: Session, method: Method, result: Any, explained: Sequence[Label] = ()) -> None:
        from lsc.errors import Incomparable
        from lsc.pages.page import page_of
        from lsc.selection import select

        self.method = method
        self.result = result
        self.explained = explained
        self.selection: Selection | None = None
        self.refused: str | None = None
        params = session.params
        # Of a plain table the higher scores are the better ones, unless something says so.
        stated = session.is_typed("lower_is_better") or params["scale"] or session.system
        guessed = not stated and not result.reviews.lower_is_better
        if params["select"] is not None:
            n = selected_among(params["select"], int((result.rank > 0).sum()))
            options = {"error_rate": params["error_rate"], "across_groups": params["by_group_average"]}
            try:
                self.selection = select(result, n, **options)
            except Incomparable as refusal:
                self.refused = str(refusal)
        # The contents of results without probabilities take no selection.
        self._likely: list[Selection] = [self.selection] if method.probabilities and self.selection is not None else []
        self.seed: int | None = params["seed"]
        self.drawn: list[Label] | None = None
        if params["lottery"] and self.selection is not None:
            self.drawn = self.selection.draw(self.seed or 0)
        self.page = page_of(
            result,
            self.selection,
            drawn=self.drawn,
            seed=self.seed,
            explained=explained,
            refused=self.refused is not None,
            guessed=guessed,
            grades=parse_scale(params["scale"]),
        )

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of the file."""
        columns: dict[str, list[Any]] = self.result.to_columns(*self._likely)
        return columns if self.selection is None else {**columns, "list": self.selection.lists}

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON, with what a lottery drew and the contributions to qualities."""
        selection = self.selection
        record: dict[str, Any] = self.result.to_dict(*self._likely)
        if selection is not None:
            record |= {"selected": selection.best, "set_aside": selection.aside}
        if self.drawn is not None and selection is not None:
            chances = zip(selection.labels, selection.lottery.tolist(), strict=True)
            probabilities = [{"item": label, "probability": p} for label, p in chances if p > 0]
            record["lottery"] = {"seed": self.seed or 0, "drawn": self.drawn, "probabilities": probabilities}
        if self.explained:
            record["accounts"] = [self.result.account(paper).to_dict() for paper in self.explained]
        return record

    def following(self, session: Session) -> list[Next]:
        """Return the next command: what connects the papers, helps the decision, or follows it."""
        import numpy as np

        from reviewgraph._base import Next
        from reviewgraph.graph import connected_components

        table = session.table()
        again = session.again(NOT_AGAIN)
        select = session.params["select"]
        reviews = self.result.reviews
        ranked = self.result.rank > 0
        if np.unique(self.result.group[ranked]).size > 1:
            # Reviews without a score may connect all papers that have scores.
            with_planned = connected_components(reviews).item_labels[ranked]
            if not reviews.scored.all() and np.unique(with_planned).size == 1:
                why = "once the missing reviews are in, which connect the groups"
                return [Next.of("calibrate", table, again, why=why)]
            target = "--target connected" if self.selection is not None and self.selection.aside else ""
            paths = session.words("paths")
            rest = table.removeprefix(paths).strip()
            plan = ("plan", paths, beside(session), rest, target, f"-o {session.plan_file()}")
            return [Next.of(*plan)]
        # More reviews cannot tell what the reviewers leave unexplained of the references.
        discuss = 0 if self.selection is None else len(self.selection.discuss)
        if discuss and not self.result.validity.is_learned:
            options = f"--for decision --select {select} --max-reviews {min(discuss, MORE)}"
            why = "where more reviews help most; or discuss" + ("" if self.drawn else ", or --lottery")
            return [Next.of("plan", table, options, why=why)]
        if session.params["output"] is not None:
            return []
        if select is None:
            return [Next.of("calibrate", table, again, "--select 10% -o calibrated.csv", why="to choose")]
        return [Next.of("calibrate", table, again, "-o calibrated.csv", why="all papers, with the list of each")]


#: Downloads of HotCRP that belong to its scores in a plan: how their names end, and their option.
BESIDE = (("pcassignments.csv", ()), ("pcconflicts.csv", ("--conflicts",)))


def beside(session: Session) -> str:
    """Return the downloads with assignments and conflicts that lie beside scores, as words of a command."""
    words = []
    for path in session.params["paths"]:
        start = path.removesuffix("scores.csv")
        for ending, flag in BESIDE if start != path and session.is_export(path) else ():
            name = f"{start}{ending}"
            if os.path.isfile(name) and name not in session.params["paths"]:
                words += [*flag, name]
    return shlex.join(words)


#: Maximum number of reviews in the suggested plan, one for each paper to discuss.
MORE = 100
#: Options that the next calibration does not repeat.
NOT_AGAIN = {
    *(*TABLE, "lottery", "seed", "explain"),
    *("output", "to", "html", "anonymous", "as_json", *SHOWN_BY),
}


# The method and its options.

#: Options that select the first method that has them, without --method; other options of methods, and of results with
#: probabilities.
CHOOSING = ("hypothesis", "max_slope")
OF_METHODS = ("weights", "only_target", "confidence", "references")
OF_PROBABILITIES = ("lottery", "explain")
#: Options without a meaning unless papers are selected.
OF_SELECTIONS = ("lottery", "error_rate", "by_group_average")


def settle_method(session: Session) -> Method:
    """Return the method: that of --method, else the first with one of the options of ``CHOOSING``, else the posterior.

    Options in ``OF_PROBABILITIES`` need a method with probabilities.
    """
    params = session.params
    # A flag of False is not given, but for --no-confidence.
    names = [name for name in (*CHOOSING, *OF_METHODS) if params["only_target"] or name != "only_target"]
    needed = {name: _takers(name) for name in names if params[name] is not None}
    usual = next((takers[0] for name, takers in needed.items() if name in CHOOSING), METHODS[DEFAULT])
    method = METHODS.get(params["method"], usual)
    likely = [candidate for candidate in METHODS.values() if candidate.probabilities]
    needed |= {name: likely for name in OF_PROBABILITIES if params[name]}
    flags = {parameter.name: parameter.opts[0] for parameter in click.get_current_context().command.params}
    for name, takers in needed.items():
        if method not in takers:
            belongs = f"{flags[name]} belongs to --method {' or '.join(taker.name for taker in takers)}"
            raise InputError(f"method: {belongs}, found {method.name!r}; leave one of the two out")
    for name in OF_SELECTIONS:
        if params["select"] is None and session.is_typed(name):
            message = f"{flags[name]}: expected --select N or P% with it, the number of papers to select; found none"
            raise InputError(message)
    if session.is_typed("seed") and not params["lottery"]:
        raise InputError("--seed: expected --lottery with it, which draws; found none")
    return method


def _takers(option: str) -> list[Method]:
    """Return the methods with an option, by parameter."""
    return [method for method in METHODS.values() if option in method.options]


def options_of(session: Session, method: Method, progress: Callable[..., Any]) -> dict[str, Any]:
    """Return the options of a method, with the contents of side files."""
    params = session.params
    options = session.read_given("references", "weights")
    names = ("hypothesis", "max_slope", "confidence")
    options |= {name: params[name] for name in names if params[name] is not None}
    options |= {"only_target": True} if params["only_target"] else {}
    if "progress" in method.options:
        options["progress"] = progress
    session.expect_columns_used()
    return options


# ``--stream``: tables larger than memory.

#: Supported options; the second list is for the posterior only.
KNOWN = ("method", "hypothesis", "max_slope", "output", "as_json", *SHOWN_BY)
OF_POSTERIOR = ("select", "error_rate", "by_group_average", "lottery", "seed")
LINES = " or ".join(kind.name for kind in classes() if kind.shape is Shape.LINEAR)
HELP = f"the posterior, or --method lsc with {LINES} reviewers"


def calibrate_by_passes(
    session: Session, table: PartedReviews, options: Mapping[str, Any], tell: Callable[[Progress], None]
) -> None:
    """Calibrate a table larger than memory."""
    # The method takes tables in parts, and the other options belong to it.
    method = settle_method(session)
    output = options["output"]
    if not method.by_parts:
        able = " or ".join(candidate.name for candidate in METHODS.values() if candidate.by_parts)
        raise InputError(f"stream: expected --method {able} with it, found {method.name!r}")
    if not method.probabilities:
        expect_none_given(OF_POSTERIOR, f" and --method {method.name}")
    expect_table(output, "a CSV file", "leave out --stream")
    method_options = {name: options[name] for name in ("hypothesis", "max_slope") if options[name] is not None}
    result: Any = method.function(table, **method_options, progress=tell)

    outcome = Outcome(session, method, result)
    if output:
        result.save(output, outcome.selection)
    answer(session, outcome, None, outcome.to_dict if method.probabilities else result.to_dict)


def answer(
    session: Session,
    outcome: Outcome,
    reviews: Reviews | None,
    content: Callable[[], Mapping[str, Any]],
    written: Sequence[Fact] = (),
) -> None:
    """Tell an outcome; end with status 1 if nothing could be selected."""

    def compose(shown: Any, codes: Codes | None) -> Page:
        told = outcome
        if codes is not None:
            told = Outcome(session, outcome.method, shown, tuple(codes.item[label] for label in outcome.explained))
        following = told.following(session) if codes is None and reviews is not None else ()
        return replace(told.page, uploads=written, following=following, subject=session.table())

    if outcome.refused and session.params["as_json"]:
        say(outcome.refused)
    session.answer(outcome.result, reviews, compose, content, holds=outcome.refused is None)


def _verified(session: Session, answer: Answer) -> Findings:
    """Return what independent code finds of an answer."""
    from lsc.verifying import wanted
    from reviewgraph._verify import table_of, verify_calibration

    params = session.params
    method = settle_method(session).name
    asked = wanted(
        method,
        named=bool(params["method"]) or any(params[name] is not None for name in CHOOSING),
        select=None if params["select"] is None else partial(selected_among, params["select"]),
        error_rate=params["error_rate"],
        across_groups=params["by_group_average"],
        references=set(map(str, session.read("references") or ())),
    )
    reviews = session.read_reviews(*params["paths"], items=params["items"])
    return verify_calibration(answer, table_of(reviews), asked)


@click.command(
    cls=Command,
    verifier=_verified,
    gone={
        "--likelihood": "scores are modelled as numbers; leave it out",
        "--ties": "equal scores of a reviewer mean equal perceived qualities; leave it out",
        "--on-scale-of": "--references of the posterior leads to the scale of known papers; leave it out",
        "--item-covariates": _BESIDE_SCORES,
        "--reviewer-covariates": _BESIDE_SCORES,
        "--rankings": _BESIDE_SCORES,
        "--reviewers": "the calibration uses nothing of reviewers but their scores; leave it out",
        "--hypotheses": "one --hypothesis for all; in Python calibrate(method='lsc', hypothesis=...) takes a mapping",
        "--sheet": "--explain PAPER without names of reviewers, or -o FILE.xlsx for all papers",
    },
    epilog=examples(
        ("What is the quality of each paper?", "calibrate reviews.csv -o calibrated.csv"),
        ("Which are in, out, or to be discussed?", "calibrate reviews.csv --select 10%"),
        ("Why does a paper have its rank?", "calibrate reviews.csv --explain P01"),
    ),
)
@stream_option(calibrate_by_passes, (*KNOWN, *OF_POSTERIOR), HELP)
@table_options
@option(
    "Method",
    "--method",
    type=click.Choice(list(METHODS)),
    help="Method of estimation  [default: posterior; lsc with an option of lsc]. "
    + "; ".join(f"{name}: {method.words}" for name, method in METHODS.items())
    + ".",
)
@option(
    "Method",
    "--hypothesis",
    type=click.Choice(list(HYPOTHESES)),
    help="lsc: hypothesis class of scoring functions  [default: linear]. "
    + "; ".join(f"{name}: {kind.words}" for name, kind in HYPOTHESES.items())
    + ".",
)
@option("Method", "--max-slope C", type=Number(), help="lsc: maximum slope of scoring functions.  [default: 10]")
@option(
    "Input",
    "--references FILE",
    everyday=True,
    help="Measurements of some papers by a more trusted judge (item,quality); exact for lsc.",
)
@option("Input", "--weights FILE", help="posterior: reliability weights of reviews (item,reviewer,weight).")
@option(
    "Input",
    "--only-target",
    is_flag=True,
    help="posterior: leave the other criteria of the reviews out, which are used where they help.",
)
@option(
    "Input",
    "--confidence/--no-confidence",
    default=None,
    help="posterior: use the confidence of reviewers, or leave it out  [default: used if the evidence supports it]",
)
@select_option("Select the best N papers, or P percent.", everyday=True)
@option(
    "Selection",
    "--error-rate P",
    type=Number(0, 0.5, min_open=True, max_open=True),
    default=0.1,
    help="A paper is in, or out, without discussion if the probability that this is wrong is at most P.",
)
@option("Selection", "--by-group-average", is_flag=True, help="Select across groups that no review connects.")
@option(
    "Selection",
    "--lottery",
    everyday=True,
    is_flag=True,
    help="Randomise among the papers that --select cannot distinguish.",
)
@option("Selection", "--seed N", minimum=0, help="Random seed of --lottery; announce it before drawing.  [default: 0]")
@option(
    "Result",
    "--explain PAPER",
    everyday=True,
    multiple=True,
    help="Show the contributions to the quality of a paper; only --json names reviewers. May be repeated.",
)
@result_options(
    "Write all papers as CSV, one row per paper, or in the format of --to.",
    option(
        "Result",
        "--to",
        type=click.Choice(list(rated())),
        help="Format of the file of -o: {}.".format(
            "; ".join(f"{name}, {system.results}" for name, system in rated().items())
        ),
    ),
    sections=("cut", "out", "lottery", "why", "scores", "papers", "each", "reviewers", "model"),
)
@pass_session
def calibrate(
    session: Session,
    /,
    reviews: Reviews,
    explain: tuple[str, ...],
    output: str | None,
    to: str | None,
    **_: Any,
) -> None:
    """Calibrate the scores of REVIEWS: the quality of every paper on one scale, with its uncertainty.

    REVIEWS are one or more files with a header: reviewer, item, score. The page starts with the benefit of the
    correction for reviewers, and shows the plain average of every paper. With --select it lists the papers that are
    in, those that are out, and those that the scores cannot distinguish.
    """
    # What cannot be is refused before the work begins.
    method = settle_method(session)
    if to is None:
        expect_table(output)
    elif output is None:
        raise Refusal(f"--to {to}: expected -o FILE with it, found none; name a file, such as -o tags.csv")
    else:
        expect_table(output, f"a file for {rated()[to].title}", f"leave out --to {to}", rated()[to].suffix)
    papers = tuple(dict.fromkeys(explain))
    for paper in papers:
        code = reviews.item_code.get(paper)
        if code is None or not (reviews.item[reviews.scored] == code).any():
            raise InputError(f"explain: expected a paper with a score, found {paper!r}; check its spelling")

    # Page, file and JSON use one selection.
    with telling() as tell:
        clock = Clock(None)
        result: Any = method(reviews, **options_of(session, method, tell))
        tell(Progress(clock.elapsed(), "the selection, and the page"))
        outcome = Outcome(session, method, result, papers)
    written = [write_papers(session, outcome, output, to)] if output else []
    answer(session, outcome, reviews, outcome.to_dict, written)


def write_papers(session: Session, outcome: Outcome, output: str, to: str | None) -> Fact:
    """Write all papers, as a table or in the format of a conference system; return what was written."""
    from reviewgraph._base import Fact

    columns = outcome.to_columns()
    if to is None:
        write_table(output, columns)
        return Fact("Written", f"{output}: all papers")
    n_groups = outcome.result.n_groups
    if session.params["by_group_average"] or n_groups < 2:
        # All papers are on one scale.
        del columns["group"]
    else:
        groups = f"no review connects the {counted(n_groups, 'group')} of papers"
        say(f"{output}: {groups}, so each group of two papers or more has an order of its own, and none is of all")
    write_whole(output, rated()[to].write_results(columns))
    return Fact("Upload", f"{output}: {rated()[to].results}")

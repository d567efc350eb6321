"""``reviewgraph calibrate``: select papers, explain qualities, and write results of a calibration."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import click

from lsc._model.hypotheses import HYPOTHESES, Shape, classes
from lsc.commands.sheets import expect_folder, write_sheets
from lsc.methods import DEFAULT, METHODS, Method
from reviewgraph._base import (
    Clock,
    InputError,
    Progress,
    counted,
    csv_parts,
    named,
    write_whole,
)
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
    stream_option,
    table_options,
    telling,
    write_table,
)
from reviewgraph.formats import rated

if TYPE_CHECKING:
    from lsc._model.hypotheses import HypothesisLike
    from lsc.pages.page import Lottery
    from lsc.selection import Selection
    from reviewgraph._base import BoolArray, Fact, Label, Next, Page
    from reviewgraph.report import Codes
    from reviewgraph.streams import Stream
    from reviewgraph.table import Reviews


def is_guessed(session: Session, result: Any) -> bool:
    """Whether scores of a plain table were read as better the higher they are, and nothing said so."""
    table = result.reviews if hasattr(result, "reviews") else result.stream
    stated = session.is_given("lower_is_better") or session.params.get("scale") or session.system
    return not stated and not table.lower_is_better


def expect_number_to_draw(session: Session) -> None:
    """Refuse a lottery without a number of papers."""
    if session.params["lottery"] and session.params["select"] is None:
        message = "lottery: expected --select N or P% with it, the number of papers to select"
        raise InputError(message)


class Outcome:
    """What the options ask of a result: a selection, a lottery, explanations.

    ``explained`` has labels of the result, which may be codes.

    ``selected`` has the selected labels, best first, ``selection`` the three lists if the method has probabilities, and
    ``refused`` the reason if nothing can be selected. ``lists`` has ``in``, ``discuss``, ``out`` or ``aside`` for each
    paper, None for a paper without a score; it is None without a selection. ``aside`` are labels of papers set aside.
    """

    def __init__(self, session: Session, result: Any, explained: Sequence[Label] = ()) -> None:
        self.result = result
        self.explained = explained
        self.selected: list[Any] = []
        self.selection: Selection | None = None
        self.refused: str | None = None
        self.lists: list[str | None] | None = None
        self.aside: list[Any] = []
        self.lottery: Lottery | None = None
        self.guessed = is_guessed(session, result)
        params = session.params
        if params["select"] is not None:
            count = params["select"].of(int((result.rank > 0).sum()))
            self._select(count, params["error_rate"], params["by_group_average"])
        if params["lottery"] and self.selection is not None:
            from lsc.pages.page import Lottery

            # The default seed is 0.
            self.lottery = Lottery(self.selection.draw(params["seed"] or 0), params["seed"])

    def _select(self, count: int, error_rate: float, across_groups: bool) -> None:
        """Select the best papers, in three lists if the result has probabilities."""
        import warnings

        from lsc.errors import Incomparable, UndeterminedWarning
        from lsc.estimate import comparable
        from lsc.selection import Uncertain

        result = self.result
        try:
            if isinstance(result, Uncertain):
                chosen = result.selection(count, error_rate=error_rate, across_groups=across_groups)
                self.selected = chosen.named(chosen.best)
                self.selection = chosen
                self.lists = chosen.lists
                self.aside = chosen.named(chosen.aside)
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UndeterminedWarning)  # the page has this warning
                    inside = comparable(result.quality, result.group, count, across_groups=across_groups)
                    self._list(result.select(count, across_groups=across_groups), inside)
        except Incomparable as refusal:
            self.refused = str(refusal)

    def _list(self, selected: list[Any], inside: BoolArray) -> None:
        """List papers without probabilities: they are in or out, or set aside if they cannot be compared."""
        best = set(selected)
        places = zip(self.result.items, (self.result.rank > 0).tolist(), inside.tolist(), strict=True)
        self.selected = selected
        self.lists = [
            None if not scored else "aside" if not comparable else "in" if label in best else "out"
            for label, scored, comparable in places
        ]
        self.aside = [label for label, name in zip(self.result.items, self.lists, strict=True) if name == "aside"]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of the file."""
        columns = self.result.to_columns(*filter(None, [self.selection]))
        return {**columns, **({} if self.lists is None else {"list": self.lists})}

    def to_dict(self, method: Method) -> dict[str, Any]:
        """Return the JSON, with what a lottery drew and the contributions to qualities."""
        record: dict[str, Any] = {"selected": self.selected, "set_aside": self.aside}
        record |= {"certain": [], "discuss": []} if method.probabilities else {}
        record |= self.result.to_dict(*filter(None, [self.selection]))
        if self.lottery is not None and self.selection is not None:
            chances = zip(self.selection.labels, self.selection.lottery.tolist(), strict=True)
            probabilities = [{"item": label, "probability": p} for label, p in chances if p > 0]
            drawn, seed = self.lottery
            record["lottery"] = {"seed": seed or 0, "drawn": drawn, "probabilities": probabilities}
        if self.explained:
            record["accounts"] = [self.result.account(paper).to_dict() for paper in self.explained]
        return record

    @cached_property
    def page(self) -> Page:
        """The page of the result."""
        from lsc.pages.page import page_of

        return page_of(
            self.result,
            self.selection,
            lists=self.lists,
            lottery=self.lottery,
            explained=self.explained,
            refused=self.refused is not None,
            guessed=self.guessed,
        )

    def following(self, session: Session) -> list[Next]:
        """Return the next command: what connects the papers, helps the decision, or follows it."""
        from reviewgraph._base import Next

        table = session.table()
        select = session.params["select"]
        if (self.result.rank > 0).any() and len(set(self.result.group[self.result.rank > 0].tolist())) > 1:
            if self._connected_by_planned():
                again = session.again(NOT_AGAIN - {"select"})
                return [
                    Next.of("calibrate", table, again, why="once the missing reviews are in, which connect the groups")
                ]
            target = "--target connected" if self.aside else ""
            why = "reviews that connect the groups"
            paths = session.words("paths")
            rest = table.removeprefix(paths)
            more = shlex.join(beside(session))
            return [Next.of("plan", paths, more, rest.strip(), target, f"-o {session.plan_file()}", why=why)]
        # More reviews cannot tell what the reviewers leave unexplained of the references.
        validity = getattr(self.result, "validity", None)
        of_references = validity is not None and validity.is_learned
        discuss = 0 if self.selection is None else self.selection.discuss.size
        if discuss and not of_references:
            options = f"--for decision --select {select} --max-reviews {min(discuss, MORE)}"
            why = "where more reviews help most; or discuss" + ("" if self.lottery else ", or --lottery")
            return [Next.of("plan", table, options, why=why)]
        again = session.again(NOT_AGAIN - {"select"})
        choice = "" if select is not None else "--select 10%"
        if session.params["output"] is None:
            why = "all papers, with the list of each" if select is not None else "to choose"
            return [Next.of("calibrate", table, again, choice, "-o calibrated.csv", why=why)]
        return []

    def _connected_by_planned(self) -> bool:
        """Return whether reviews without a score connect all papers that have scores."""
        import numpy as np

        from reviewgraph.graph import connected_components

        reviews = self.result.reviews
        ranked = self.result.rank > 0
        return not reviews.scored.all() and np.unique(connected_components(reviews).item_labels[ranked]).size == 1


#: Downloads of HotCRP that belong to its scores in a plan: how their names end, and their option.
BESIDE = (("pcassignments.csv", ""), ("pcconflicts.csv", "--conflicts"))


def beside(session: Session) -> list[str]:
    """Return the downloads with assignments and conflicts that lie beside scores, as words of a command."""
    words = []
    for path in session.params["paths"]:
        start, replaced = re.subn(r"scores[.]csv$", "", path)
        for ending, flag in BESIDE if replaced and session.is_export(path) else ():
            name = f"{start}{ending}"
            if os.path.isfile(name) and name not in session.params["paths"]:
                words += [flag, name] if flag else [name]
    return words


#: Maximum number of reviews in the suggested plan, one for each paper to discuss.
MORE = 100
#: Options that the next calibration does not repeat.
NOT_AGAIN = {
    *(*TABLE, "conference", "select", "lottery", "seed", "explain", "sheet"),
    *("output", "to", "html", "anonymous", "as_json", *SHOWN_BY),
}


# The method and its options.

#: The reviews of reviewers with a hypothesis class, for messages.
SCORED = "the reviews with a score"
#: Options that select the method without --method, the first that has them, by parameter.
CHOOSING = {"hypothesis": "--hypothesis", "by_reviewer": "--hypotheses", "max_slope": "--max-slope"}
#: Options of the posterior.
FOR_POSTERIOR = {
    "weights": "--weights",
    "only_target": "--only-target",
    "item_covariates": "--item-covariates",
    "reviewer_covariates": "--reviewer-covariates",
    "rankings": "--rankings",
}


#: Parameter of the columns, parameter of their file, and its reader.
COVARIATES = (("item_covariates", "items", "item_attributes"), ("reviewer_covariates", "reviewers", "attributes"))


def settle_method(options: Mapping[str, Any], of_probabilities: Iterable[str]) -> Method:
    """Return the method: that of --method, else the first with one of the options of ``CHOOSING``, else the posterior.

    Options in ``of_probabilities`` need a method with probabilities.
    """
    choosing = [name for name in CHOOSING if options[name] is not None]
    usual = _takers(choosing[0])[0] if choosing else METHODS[DEFAULT]
    method = usual if options["method"] is None else METHODS[options["method"]]
    # Each option with its methods, options that need probabilities last.
    needed = [(CHOOSING[name], _takers(name)) for name in choosing]
    needed += [(flag, _takers(name)) for name, flag in FOR_POSTERIOR.items() if options.get(name)]
    needed += [("--confidence", _takers("confidence"))] if options["confidence"] is not None else []
    with_probabilities = [candidate for candidate in METHODS.values() if candidate.probabilities]
    needed += [(f"--{name}", with_probabilities) for name in of_probabilities if options[name]]
    for flag, takers in needed:
        if method not in takers:
            belongs = f"{flag} belongs to --method {_names(takers)}"
            message = f"method: {belongs}, found {method.name!r}; leave one of the two out"
            raise InputError(message)
    if options["references"] and method not in (takers := _takers("references")):
        message = f"method: {method.name} has no references; use {_names(takers)}, or leave --references out"
        raise InputError(message)
    return method


def _takers(option: str) -> list[Method]:
    """Return the methods with an option, by parameter."""
    parameter = "hypothesis" if option == "by_reviewer" else option
    return [method for method in METHODS.values() if parameter in method.options]


def _names(methods: Iterable[Method]) -> str:
    return " or ".join(method.name for method in methods)


def options_of(session: Session, method: Method, reviews: Reviews, progress: Callable[..., Any]) -> dict[str, Any]:
    """Return the options of a method, with the contents of side files."""
    params = session.params
    options = session.read_given("references", "weights", "rankings") | _covariates(session)
    if "hypothesis" in method.options:
        default = params["hypothesis"] or next(iter(HYPOTHESES))
        options["hypothesis"] = _hypotheses(reviews, default, session.read("by_reviewer"))
    options |= {key: params[key] for key in ("max_slope", "confidence") if params[key] is not None}
    options |= {"only_target": True} if params["only_target"] else {}
    if "progress" in method.options:
        options["progress"] = progress
    session.expect_columns_used()
    return options


def _covariates(session: Session) -> dict[str, Any]:
    """Return the chosen columns of the lists of papers and of reviewers, by label."""
    covariates = {}
    for name, side, reader in COVARIATES:
        chosen = session.params[name]
        path = session.params[side]
        flag = f"--{name.replace('_', '-')}"
        beside = f"--{side}"
        if chosen is None:
            if name == "reviewer_covariates" and session.is_typed(side):
                message = f"{beside}: expected {flag} COLUMNS with it, found none; name columns, or leave it out"
                raise Refusal(message)
            continue
        if not path:
            message = f"{flag}: expected {beside} FILE with it, which has these columns, found none"
            raise Refusal(message)
        rows = session.read(reader, path)
        columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        names = [_column(flag, name.strip(), columns, path) for name in chosen.split(",") if name.strip()]
        covariates[name] = {label: {column: row.get(column) for column in names} for label, row in rows.items()}
    return covariates


def _column(flag: str, name: str, columns: Sequence[str], path: str) -> str:
    """Return the column of a name, whatever its case."""
    for column in columns:
        if column.strip().casefold() == name.casefold():
            return column
    message = f"{flag}: {path} has no column {name!r} with values; found {', '.join(columns) or 'none'}"
    raise Refusal(message)


def _hypotheses(reviews: Reviews, default: str, by_reviewer: Mapping[Any, str] | None) -> HypothesisLike:
    if by_reviewer is None:
        return default
    from reviewgraph.io import match_labels

    scored = set(reviews.reviewer[reviews.scored].tolist())
    everyone = {label: default for code, label in enumerate(reviews.reviewers) if code in scored}
    match_labels(list(by_reviewer), list(everyone), "hypotheses", "reviewer", other=reviews.item_code, where=SCORED)
    for label, name in by_reviewer.items():
        named(HYPOTHESES.values(), name, f"hypotheses: reviewer {label!r}")
    return everyone | {label: name for label, name in by_reviewer.items() if label in everyone}


# ``--stream``: tables larger than memory.

#: Supported options; the second list is for the posterior only.
KNOWN = ("method", "hypothesis", "max_slope", "output", "as_json", *SHOWN_BY)
OF_POSTERIOR = ("select", "error_rate", "by_group_average", "lottery", "seed")
LINES = " or ".join(kind.name for kind in classes() if kind.shape is Shape.LINEAR)
HELP = f"the posterior, or --method lsc with {LINES} reviewers"


def calibrate_by_passes(
    session: Session, stream: Stream, options: Mapping[str, Any], tell: Callable[[Progress], None]
) -> None:
    """Calibrate a table larger than memory."""
    from lsc.streams import StreamedPosterior

    # The method has a form for streams, and the other options belong to it.
    method = settle_method(options, ["lottery"])
    output = options["output"]
    if method.stream is None:
        able = " or ".join(candidate.name for candidate in METHODS.values() if candidate.stream is not None)
        message = f"stream: expected --method {able} with it, found {method.name!r}"
        raise InputError(message)
    if method.probabilities:
        expect_number_to_draw(session)
    else:
        expect_none_given(OF_POSTERIOR, f" and --method {method.name}")
    expect_table(output, "a CSV file", "leave out --stream")
    method_options = {name: options[name] for name in ("hypothesis", "max_slope") if options[name] is not None}
    result = method.stream(stream, **method_options, progress=tell)

    outcome = Outcome(session, result)
    content, parts = result.to_dict, result.parts
    if isinstance(result, StreamedPosterior):
        content = partial(outcome.to_dict, method)
        parts = partial(result.parts, selection=outcome.selection)
    if output:
        write_whole(output, csv_parts(parts()))
    answer(session, outcome, None, content)


def answer(
    session: Session,
    outcome: Outcome,
    reviews: Reviews | None,
    content: Callable[[], Mapping[str, Any]],
    written: Sequence[Fact] = (),
) -> None:
    """Tell an outcome; end with status 1 if nothing could be selected."""
    result = outcome.result

    def compose(shown: Any, codes: Codes | None) -> Page:
        told = outcome
        if codes is not None:
            told = Outcome(session, shown, tuple(codes.item[label] for label in outcome.explained))
        page = told.page
        following = told.following(session) if codes is None and reviews is not None else ()
        return replace(page, uploads=written, following=following, subject=session.table(whole=True))

    if outcome.refused and session.params["as_json"]:
        say(outcome.refused)
    session.answer(result, reviews, compose, content, holds=outcome.refused is None)


@click.command(
    cls=Command,
    gone={
        "--likelihood": "scores are modelled as numbers, and predictions have the probabilities of their levels; "
        "leave it out",
        "--ties": "equal scores of a reviewer mean equal perceived qualities; leave it out",
        "--on-scale-of": "--references of the posterior leads to the scale of known papers; leave it out",
    },
    # ``verify`` asks methods and hypothesis classes how their results are checked.
    context_settings={"obj": {"methods": METHODS, "classes": HYPOTHESES}},
    epilog=examples(
        ("What is the quality of each paper?", "calibrate reviews.csv -o calibrated.csv"),
        ("Which are in, out, or to be discussed?", "calibrate reviews.csv --select 10%"),
        ("Why does a paper have its rank?", "calibrate reviews.csv --explain P01"),
        ("A page for the authors of each paper:", "calibrate reviews.csv --sheet sheets"),
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
@option("Method", "--hypotheses FILE", "by_reviewer", help="lsc: classes by reviewer (reviewer,hypothesis).")
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
@option(
    "Input",
    "--item-covariates COLUMNS",
    help="posterior: columns of --items that may shift the quality of papers (track,pages), as far as the data say.",
)
@option("Input", "--reviewers FILE", help="Reviewers, with the columns of --reviewer-covariates.")
@option(
    "Input",
    "--reviewer-covariates COLUMNS",
    help="posterior: columns of --reviewers that may shift severity (senior,region), as far as the data say.",
)
@option(
    "Input",
    "--rankings FILE",
    help="posterior: authors' own rankings (author,item,rank), used as far as the data say.",
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
@option(
    "Result",
    "--sheet DIR",
    everyday=True,
    help="Write a page for the authors of each paper (or of those of --explain), and index.csv, to a new folder.",
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
    sheet: str | None,
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
    method = settle_method(session.params, ["lottery", "explain", "sheet"])
    expect_number_to_draw(session)
    if to and output is None:
        message = f"--to {to}: expected -o FILE with it, found none; name a file, such as -o tags.csv"
        raise Refusal(message)
    if to:
        expect_table(output, f"a file for {rated()[to].title}", f"leave out --to {to}", rated()[to].suffix)
    else:
        expect_table(output)
    papers = tuple(dict.fromkeys(explain))
    for paper in papers:
        _expect_scored(reviews, paper)
    if sheet is not None:
        expect_folder(sheet)

    # Page, file and JSON use one selection.
    with telling() as tell:
        clock = Clock(None)
        result: Any = method(reviews, **options_of(session, method, reviews, tell))
        tell(Progress(clock.elapsed(), "the selection, and the page"))
        outcome = Outcome(session, result, papers)
        outcome.page  # noqa: B018 - its numbers take a while
    written = []
    if output:
        written.append(write_papers(session, outcome, output, to))
    if sheet is not None:
        written.append(write_sheets(result, sheet, papers))
    answer(session, outcome, reviews, partial(outcome.to_dict, method), written)


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


def _expect_scored(reviews: Reviews, paper: str) -> None:
    """Refuse a paper without a score before the work begins."""
    code = reviews.item_code.get(paper)
    if code is None or not (reviews.item[reviews.scored] == code).any():
        message = f"explain: expected a paper with a score, found {paper!r}; check its spelling"
        raise InputError(message)

"""``reviewgraph calibrate``: select papers, explain qualities, and write results of a calibration."""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from lsc._model.hypotheses import HYPOTHESES, Shape, classes
from lsc.methods import DEFAULT, METHODS, Method
from reviewgraph._base import (
    Clock,
    InputError,
    Progress,
    counted,
    csv_parts,
    csv_text,
    draft_beside,
    named,
    natural_key,
    write_whole,
)
from reviewgraph.cli import (
    TABLE,
    Command,
    Next,
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
    from lsc.estimate import Estimate
    from lsc.posteriors import PosteriorEstimate
    from lsc.selection import Selection
    from reviewgraph._base import BoolArray, Label
    from reviewgraph.report import Codes, Document
    from reviewgraph.streams import Stream
    from reviewgraph.table import Reviews


def expect_number_to_draw(session: Session) -> None:
    """Refuse a lottery without a number of papers."""
    if session.params["lottery"] and session.params["select"] is None:
        message = "lottery: expected --select N or P% with it, the number of papers to select"
        raise InputError(message)


class Outcome:
    """What the options ask of a result: a selection, a lottery, contributions to a quality.

    ``explain`` has labels of the result, which may be codes.

    ``selected`` has the selected labels, best first, ``selection`` the three lists if the method has probabilities, and
    ``refused`` the reason if nothing can be selected. ``lists`` has ``in``, ``discuss``, ``out`` or ``aside`` for each
    paper, None for a paper without a score; it is None without a selection. ``aside`` are labels of papers set aside.
    ``lines`` are for people, ``record`` has keys of the JSON.
    """

    def __init__(self, session: Session, result: Any, explain: Sequence[Label] = ()) -> None:
        self.result = result
        self.selected: list[Any] = []
        self.selection: Selection | None = None
        self.refused: str | None = None
        self.lists: list[str | None] | None = None
        self.aside: list[Any] = []
        self.lines: list[str] = []
        self.record: dict[str, Any] = {}
        params = session.params
        if params["select"] is not None:
            count = params["select"].of(int((result.rank > 0).sum()))
            self._select(count, params["error_rate"], params["by_group_average"])
        if params["lottery"] and self.selection is not None:
            self._draw(self.selection, params["seed"])
        if explain:
            self._explain(explain)

    def _select(self, count: int, error_rate: float, across_groups: bool) -> None:
        """Select the best papers, in three lists if the result has probabilities."""
        import warnings

        from lsc.errors import Incomparable, UndeterminedWarning
        from lsc.estimate import comparable
        from lsc.posteriors import PosteriorEstimate
        from lsc.streams import StreamedPosterior

        result = self.result
        try:
            if isinstance(result, PosteriorEstimate | StreamedPosterior):
                chosen = result.selection(count, error_rate=error_rate, across_groups=across_groups)
                self.selected = chosen.named(chosen.best)
                self.selection = chosen
                self.lists = chosen.lists
                self.aside = chosen.named(chosen.aside)
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UndeterminedWarning)  # the output opens with this warning
                    inside = comparable(result.quality, result.group, count, across_groups=across_groups)
                    self._list(result.select(count, across_groups=across_groups), inside)
        except Incomparable as refusal:
            self.refused = str(refusal)

    def _list(self, selected: list[Any], inside: BoolArray) -> None:
        """List papers without probabilities: they are in or out, or set aside if they cannot be compared."""
        best = set(selected)
        items = self.result.items
        places = zip(items, (self.result.rank > 0).tolist(), inside.tolist(), strict=True)
        self.selected = selected
        self.lists = [
            None if not scored else "aside" if not comparable else "in" if label in best else "out"
            for label, scored, comparable in places
        ]
        self.aside = [label for label, where in zip(items, self.lists, strict=True) if where == "aside"]

    def _draw(self, selection: Selection, typed_seed: int | None) -> None:
        """Randomise among the papers that a selection cannot distinguish; the default seed is 0."""
        from lsc.words.posterior_page import lottery_lines

        seed = typed_seed or 0
        drawn = selection.draw(seed)
        probability = selection.lottery.tolist()
        listed = {label: p for label, p in zip(selection.labels, probability, strict=True) if p > 0}
        self.lines += ["", *lottery_lines(drawn, listed, seed, given=typed_seed is not None)]
        chances = [{"item": label, "probability": p} for label, p in listed.items()]
        self.record["lottery"] = {"seed": seed, "drawn": drawn, "probabilities": chances}

    def _explain(self, papers: Sequence[Label]) -> None:
        """Show the contributions to qualities: lines without names of reviewers, and a record with them."""
        from lsc.report import scale_of
        from lsc.words.posterior_page import account_lines

        accounts = [self.result.account(paper) for paper in papers]
        scale = scale_of(self.result)
        for account in accounts:
            title = self.result.reviews.titles.get(account.item, "")
            self.lines += [*([""] if self.lines else []), *account_lines(account.anonymous(), title, scale)]
        self.record["accounts"] = [account.to_dict() for account in accounts]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of the file."""
        columns = self.result.to_columns(*filter(None, [self.selection]))
        return {**columns, **({} if self.lists is None else {"list": self.lists})}

    def to_dict(self, method: Method) -> dict[str, Any]:
        """Return the JSON."""
        lists: dict[str, Any] = {"certain": [], "discuss": []} if method.probabilities else {}
        answer = self.result.to_dict(*filter(None, [self.selection]))
        return {"selected": self.selected, "set_aside": self.aside, **lists, **answer, **self.record}

    @property
    def aside_lines(self) -> list[str]:
        """The papers that were set aside, if there are any, for people."""
        from lsc.words.posterior_page import aside_lines

        codes = [self.result.reviews.item_code[label] for label in self.aside]
        n_others = int((self.result.rank > 0).sum()) - len(codes)
        return aside_lines(self.aside, self.result.group[codes], n_others)

    def last_lines(self, closing: list[str], output: str | None) -> list[str]:
        """Return the last lines of the page: the selected papers, those ``closing`` it, and the file."""
        lines = []
        if self.selected and self.selection is None:
            lines += [f"Selected, best first: {', '.join(map(str, self.selected))}", *self.aside_lines, ""]
        return [*lines, *closing, *([f"All papers are in {output}."] if output else [])]

    def following(self, session: Session) -> list[Next]:
        """Return the next commands."""
        table = session.table()
        commands = []
        if self.result.n_groups > 1 and self._connected_by_planned():
            again = session.again(NOT_AGAIN - {"select"})
            words = "once the missing reviews are in, which connect the groups"
            commands.append(Next.of("calibrate", table, again, why=words))
        elif self.aside:
            words = f"reviews that would connect the {counted(len(self.aside), 'paper')} set aside"
            commands.append(Next.of("plan", table, "--target connected", why=words))
        elif self.result.n_groups > 1:
            commands.append(Next.of("plan", table, why="reviews that would connect the groups"))
        elif not self.selected:
            again = session.again(NOT_AGAIN)
            commands.append(Next.of("calibrate", table, again, "--select 10% -o calibrated.csv", why="to choose"))
        # More reviews cannot tell what the reviewers leave unexplained of the references.
        validity = getattr(self.result, "validity", None)
        of_references = validity is not None and validity.is_learned
        if self.selection is not None and self.selection.discuss.size and not of_references:
            more = min(self.selection.discuss.size, MORE)
            words = f"where {counted(more, 'more review')} would help this decision most"
            options = f"--for decision --select {session.params['select']} --max-reviews {more}"
            commands.append(Next.of("plan", table, options, why=words))
        return commands

    def _connected_by_planned(self) -> bool:
        """Return whether reviews without a score connect all papers that have scores."""
        import numpy as np

        from reviewgraph.graph import connected_components

        reviews = self.result.reviews
        ranked = self.result.rank > 0
        return not reviews.scored.all() and np.unique(connected_components(reviews).item_labels[ranked]).size == 1

    def end(self) -> None:
        """End with status 1 if nothing could be selected."""
        if self.refused:
            say(self.refused)
            click.get_current_context().exit(1)


#: Maximum number of reviews in the suggested plan, one for each paper to discuss.
MORE = 100
#: Options that the next calibration does not repeat.
NOT_AGAIN = {
    *(*TABLE, "conference", "select", "lottery", "seed", "explain", "sheet"),
    *("output", "to", "html", "anonymous", "as_json"),
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
KNOWN = ("method", "hypothesis", "max_slope", "output", "as_json")
OF_POSTERIOR = ("select", "error_rate", "by_group_average", "lottery", "seed")
LINES = " or ".join(kind.name for kind in classes() if kind.shape is Shape.LINEAR)
HELP = f"the posterior, or --method lsc with {LINES} reviewers"


def calibrate_by_passes(
    session: Session, stream: Stream, options: Mapping[str, Any], tell: Callable[[Progress], None]
) -> None:
    """Calibrate a table larger than memory."""
    from lsc.streams import StreamedPosterior
    from lsc.words.posterior_page import calibration_lines, posterior_lines

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

    saved = [f"All papers are in {output}."] if output else []
    if not isinstance(result, StreamedPosterior):
        if output:
            write_whole(output, csv_parts(result.parts()))
        session.answer(result.to_dict, lambda: "\n".join([*calibration_lines(result), *saved]))
        return

    # Probabilities: a selection, and perhaps a lottery.
    outcome = Outcome(session, result)
    lists = dict[str, Any](set_aside=[], certain=[], discuss=[])
    selection = outcome.selection
    if output:
        write_whole(output, csv_parts(result.parts(selection=selection)))
    session.answer(
        lambda: {"selected": outcome.selected, **lists, **result.to_dict(selection), **outcome.record},
        lambda: "\n".join([*posterior_lines(result, selection), *outcome.lines, *saved]),
    )
    outcome.end()


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
    as_json: bool,
    **_: Any,
) -> None:
    """Calibrate the scores of REVIEWS: the quality of every paper on one scale, with its uncertainty.

    REVIEWS are one or more files with a header: reviewer, item, score. The page starts with the benefit of the
    correction for reviewers, and shows the plain average of every paper. With --select it lists the papers that are
    in, those that are out, and those that the scores cannot distinguish.
    """
    from lsc.words.posterior_page import Page, page_of

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

    # Page, file and JSON use one selection. With --explain there is no page, and no held-out prediction.
    with telling() as tell:
        clock = Clock(None)
        result: Any = method(reviews, **options_of(session, method, reviews, tell))
        outcome = Outcome(session, result, papers)
        tell(Progress(clock.elapsed(), "the benefit of the correction, and the page"))
        short = bool(papers) and not as_json and not session.params["html"]
        page = Page([], [], []) if short else page_of(result, outcome.selection)

    if output and to:
        columns = outcome.to_columns()
        if session.params["by_group_average"] or result.n_groups < 2:
            # All papers are on one scale.
            del columns["group"]
        else:
            groups = f"no review connects the {counted(result.n_groups, 'group')} of papers"
            say(f"{output}: {groups}, so each group of two papers or more has an order of its own, and none is of all")
        write_whole(output, rated()[to].write_results(columns))
    elif output:
        write_table(output, outcome.to_columns())
    if sheet:
        outcome.lines += write_sheets(result, sheet, papers)

    def compose(shown: Estimate, codes: Codes | None) -> Document:
        explained = papers if codes is None else tuple(codes.item[label] for label in papers)
        return _report(session, Outcome(session, shown, explained))

    session.report(result, reviews, compose)
    for line in [*page.opening, *outcome.aside_lines] if as_json else ():
        say(line)
    page = Page([], [], []) if papers else page
    opening = [*page.opening, ""] if page.opening else []
    last = outcome.last_lines(page.closing, output)
    closing = ["", *last] if last else []
    session.answer(
        lambda: outcome.to_dict(method),
        lambda: "\n".join([*opening, *page.body, *outcome.lines, *closing]),
        outcome.following(session),
    )
    outcome.end()


def _report(session: Session, outcome: Outcome) -> Document:
    """Return the report of a result, under its names or codes."""
    from lsc.report import document
    from lsc.words.posterior_page import page_of

    result = outcome.result
    selection = outcome.selection
    following = map(str, outcome.following(session))
    return document(
        result,
        selection,
        page_of(result, selection),
        session.table(whole=True),
        lists=outcome.lists,
        extras=outcome.lines,
        closing=[*outcome.last_lines([], session.params["output"]), *following],
    )


def _expect_scored(reviews: Reviews, paper: str) -> None:
    """Refuse a paper without a score before the work begins."""
    code = reviews.item_code.get(paper)
    if code is None or not (reviews.item[reviews.scored] == code).any():
        message = f"explain: expected a paper with a score, found {paper!r}; check its spelling"
        raise InputError(message)


#: The index of a folder: ``item,file``.
INDEX = "index.csv"
#: Maximum characters of a label in a file name; file systems allow 255 bytes.
LONGEST = 40
#: Characters that are replaced in file names: all but letters, digits, dots, hyphens and underscores.
_UNFIT = re.compile(r"[^\w.-]+")
#: Device names of Windows, with any extension.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def file_names(labels: Iterable[Label], ending: str) -> dict[Label, str]:
    """Return a portable file name for each label, unique without regard to case.

    >>> file_names(["../p1", "P1", "p1", "?", "con"], ".html")
    {'../p1': 'p1.html', '?': 'paper.html', 'P1': 'P1-2.html', 'con': 'paper-con.html', 'p1': 'p1-3.html'}
    """
    names: dict[Label, str] = {}
    taken: set[str] = set()
    tried: dict[str, int] = {}
    for label in sorted(labels, key=natural_key):
        name = _fit(str(label))
        key = name.casefold()
        while (f"{key}-{tried[key]}" if key in tried else key) in taken:
            tried[key] = tried.get(key, 1) + 1
        name = f"{name}-{tried[key]}" if key in tried else name
        taken.add(name.casefold())
        names[label] = f"{name}{ending}"
    return names


def _fit(text: str) -> str:
    name = _UNFIT.sub("-", unicodedata.normalize("NFKC", text))[:LONGEST].strip(".-")
    return f"paper-{name}" if _DEVICES.match(name) else name or "paper"


def expect_folder(path: str) -> None:
    """Refuse a folder that cannot be written, or is not empty."""
    target = os.path.realpath(path)
    parent = os.path.dirname(target)
    if os.path.exists(target) and not os.path.isdir(target):
        why = "it is a file"
    elif not os.path.isdir(parent):
        why = f"there is no folder {parent}"
    elif not os.access(parent, os.W_OK):
        why = "permission denied"
    elif os.path.isdir(target) and os.listdir(target):
        why = "it contains files"
    else:
        return
    message = f"sheet: {why}; name a new or an empty folder"
    raise InputError(message)


def write_folder(path: str, names: dict[Any, str], texts: Iterable[tuple[Label, str]]) -> None:
    """Write a file for each label and the index atomically: to a draft folder, which then gets the name."""
    expect_folder(path)
    target = os.path.realpath(path)
    draft = draft_beside(target)
    try:
        os.mkdir(draft)
        for label, text in texts:
            _write(os.path.join(draft, names[label]), text)
        _write(os.path.join(draft, INDEX), csv_text({"item": list(names), "file": list(names.values())}))
        if os.path.isdir(target):
            os.rmdir(target)
        os.replace(draft, target)
    except OSError as error:
        message = f"{path}: cannot be written ({error.strerror or error})"
        raise InputError(message) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8", newline="") as file:
        file.write(text)


def write_sheets(result: PosteriorEstimate, folder: str, explained: Sequence[Label]) -> list[str]:
    """Write a page for each paper with a score, or for the explained ones, and the index; returns lines for people."""
    from lsc.report import scored, sheets
    from reviewgraph.report import html

    papers = explained or scored(result)
    names = file_names(papers, ".html")
    write_folder(folder, names, ((label, html(document)) for label, document in sheets(result, papers)))
    return ["", f"{counted(len(papers), 'sheet')} for authors in {folder}; {INDEX} lists them by paper."]

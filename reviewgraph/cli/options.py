"""Options that several commands have: how REVIEWS are written, who is gone, how many to select, and the output."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from reviewgraph._base.arguments import selected_of
from reviewgraph._base.errors import InputError
from reviewgraph._base.text import counted, listed
from reviewgraph.cli.command import near, option
from reviewgraph.cli.output import Refusal, note, refusing, telling
from reviewgraph.cli.session import TABLE, Session, pass_session

if TYPE_CHECKING:
    from reviewgraph._base.labels import Label
    from reviewgraph._base.results import Progress
    from reviewgraph.formats.columns import Columns
    from reviewgraph.formats.side import Reviewer
    from reviewgraph.formats.spellings import Merge
    from reviewgraph.parts.parts import PartedReviews


Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def with_options(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Return the decorator that adds options to a command, in their order."""
    return lambda command: functools.reduce(lambda decorated, add: add(decorated), reversed(options), command)


def examples(*shown: tuple[str, str]) -> str:
    r"""Return the examples at the end of a command's help: purposes and command lines.

    >>> examples(("Can all papers be compared?", "check reviews.csv"))
    '\x08\nExamples:\n  Can all papers be compared?\n    reviewgraph check reviews.csv'
    """
    return "\n".join(["\b", "Examples:", *(f"  {what}\n    reviewgraph {words}" for what, words in shown)])


# REVIEWS, and how they are written. Callbacks of other options read files, so that --columns and --merge are eager.


def _columns(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> dict[str, str]:
    """Return the name of the column by role; a comma without a role after it belongs to the name."""
    columns: dict[str, str] = {}
    for text in value:
        role = ""
        for part in text.split(","):
            before, sign, after = part.partition("=")
            if sign:
                role = before.strip()
                if role.rpartition(":")[2] == "paper":
                    role = role.removesuffix("paper") + "item"
                columns[role] = after
            elif role:
                columns[role] += f",{part}"
            else:
                message = f"expected ROLE=NAME, as in reviewer=NAME, or FILE:ROLE=NAME, found {part!r}"
                raise click.BadParameter(message, ctx, param)
    if columns:
        from reviewgraph.formats.columns import CONFIDENCE, CRITERION, FILE, ITEM, REVIEWER, SCORE, TITLE
        from reviewgraph.formats.side import ROLES

        known = [role.name for role in (REVIEWER, ITEM, SCORE, TITLE, *ROLES, CONFIDENCE, CRITERION)]
        for role in (name.rpartition(FILE)[2] for name in columns):
            if role not in known:
                message = f"expected one of {', '.join(known)} before '=', found {role!r}{near(role, known)}"
                raise click.BadParameter(message, ctx, param)
    Session.of(ctx).columns = columns
    return columns


def _merge(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        from reviewgraph.formats.side import read_merges
        from reviewgraph.formats.spellings import BY_OPTION, Spellings

        session = Session.of(ctx)
        try:
            words: dict[str, Merge] = {"all": "all", "none": "none"}
            merge = words[value] if value in words else read_merges(value, read=session.keep)
            session.spellings = Spellings(merge, ask=BY_OPTION)
        except InputError as error:
            raise Refusal(f"--merge {error}") from error
    return value


def _scale(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse a single grade: without quotes a shell redirects output to the rest."""
    if value is not None and ">" not in value:
        message = f'expected all grades in quotes, best first, as in --scale "A>B>C"; found {value!r}'
        raise click.BadParameter(message, ctx, param)
    return value


def _accepted(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    from reviewgraph.formats.audit.audit import FINDINGS

    names = [name.strip() for name in (value or "").split(",") if name.strip()]
    for name in names:
        if name not in FINDINGS:
            message = f"expected names of findings ({', '.join(FINDINGS)}), found {name!r}{near(name, list(FINDINGS))}"
            raise click.BadParameter(message, ctx, param)
    return names


_COLUMNS = option(
    "Input",
    "--columns [FILE:]ROLE=NAME,...",
    callback=_columns,
    multiple=True,
    is_eager=True,
    help="Roles of columns with unusual names: reviewer=NAME,item=NAME,score=NAME in all files with such a "
    "column, affinity=NAME (load, spare, bid, cost ...) in side files, FILE:ROLE=NAME in one file.",
)
_SCORE = option(
    "Input",
    "--score NAME",
    is_eager=True,
    help="The score that counts if reviews have several: a column, or a criterion in a table with one row per "
    "score.  [default: the overall score]",
)
_MERGE = option(
    "Input",
    "--merge all|none|FILE",
    callback=_merge,
    is_eager=True,
    help="Merge labels that differ only in letter case, blanks or invisible characters: all, none, or those of a "
    "table (label,as).  [default: e-mail addresses only; others are an error]",
)
#: How the files of a command without REVIEWS are written.
file_options = with_options(_COLUMNS, _SCORE, _MERGE)

_HOW_WRITTEN = with_options(
    _COLUMNS,
    _SCORE,
    option(
        "Input",
        "--format NAME",
        help="The system that exported REVIEWS (hotcrp, openreview, cmt, easychair, start, ...), or table for a plain "
        "table.  [default: detected]",
    ),
    option(
        "Input",
        "--items FILE",
        everyday=True,
        help="All papers (item[,demand,title]), including those without reviews.",
    ),
    option(
        "Input",
        '--scale "A>B>C"',
        callback=_scale,
        help="Scores are letter or word grades: all of them in order, best first.",
    ),
    option("Input", "--lower-is-better", everyday=True, is_flag=True, help="1 is the best score."),
    option(
        "Input",
        "--duplicates",
        type=click.Choice(["error", "last", "mean"]),
        default="error",
        help="If a reviewer has two scores for a paper: raise an error, use the last score, or the mean.",
    ),
    _MERGE,
    option(
        "Input",
        "--accept NAME,...",
        callback=_accepted,
        help="Findings about REVIEWS that are right as they are, such as placeholders or positional-reviewers; "
        "messages name them.",
    ),
)


def table_options(command: Decorated) -> Decorated:
    """Add REVIEWS and its options to a command, and call it with the table ``reviews``.

    Notes on the files go to stderr; bad input ends the command with one message and exit status 2.
    """

    @pass_session
    @functools.wraps(command)
    def with_table(session: Session, *args: Any, paths: Sequence[str], items: str | None, **options: Any) -> Any:
        reviews = session.read_reviews(*paths, items=items)
        remaining = {name: value for name, value in options.items() if name not in TABLE}
        return command(*args, reviews=reviews, **remaining)

    argument = click.argument("paths", nargs=-1, required=True, metavar="REVIEWS...")
    return argument(_HOW_WRITTEN(with_table))  # type: ignore[no-any-return]


def reviewers_option(*names: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """Return ``--reviewers FILE``: one file for all commands; each uses the columns that it needs."""
    text = "All reviewers (reviewer[,load,min_load]), with the columns that rules refer to."
    return option("Input", "--reviewers FILE", *names, **{"help": text, **settings})


conflict_by_option = option(
    "Rules",
    "--conflict-by",
    type=click.Choice(["affiliation", "domain"]),
    help="Conflicts are also a reviewer and a paper of whose authors one has the same affiliation, or the same e-mail "
    "domain (a host is one with its subdomains; public mail hosts count for nothing), by --authors or columns of "
    "--items.",
)
authors_option = option(
    "Rules",
    "--authors FILE",
    help="Authors of papers (item,author and any columns, such as affiliation): nobody reviews their own paper.",
)


def read_papers(session: Session, path: str | None, items: Collection[Any]) -> dict[Any, dict[str, Any]]:
    """Return the attributes of papers, by the file that lists them and that of their authors."""
    papers: dict[Any, dict[str, Any]] = {}
    for name, file in (("item_attributes", path), ("author_attributes", session.params["authors"])):
        for label, values in session.read(name, file).items() if file else ():
            if label in items:
                papers.setdefault(label, {}).update(values)
    return papers


def read_own_papers(session: Session, reviewers: Iterable[Label], items: Iterable[Label]) -> Columns | None:
    """Return the pairs of a reviewer and a paper of theirs by ``--authors``; None without that file."""
    from reviewgraph.formats.columns import Columns
    from reviewgraph.io.matching import own_pairs

    authors = session.read("authors")
    if authors is None:
        return None
    people = list(reviewers)
    papers = list(items)
    by_attributes = session.params["conflict_by"] is not None
    pairs = own_pairs(authors, people, papers, spellings=session.spellings, for_attributes=by_attributes)
    return Columns(*pairs, people, papers)


def preferring_reviewers(session: Session) -> dict[str, Reviewer]:
    """Return the reviewers in the files of ``--bids`` and ``--affinity``, where no other file lists them."""
    from reviewgraph._base.labels import natural_key
    from reviewgraph.formats.side import Reviewer

    bids = [weighed(text)[0] for text in session.params["bids"]]
    affinities = [weighed(text)[0] for text in session.params["affinity"]]
    tables = [session.read("bids", path).table for path in bids]
    tables += [session.read("affinity", path) for path in affinities]
    labels = sorted({label for table in tables for label in table.reviewers}, key=natural_key)
    if not labels:
        message = (
            "--reviewers: expected a file of all reviewers, or of their preferences (--bids, --affinity); found none"
        )
        raise Refusal(message)
    who = counted(len(labels), "reviewer")
    note(f"{listed([*bids, *affinities])}: the {who} in it are taken to be all; --reviewers FILE names others")
    return {label: Reviewer(None, None, "", senior=False) for label in labels}


#: Who will not deliver.
gone_options = option(
    "Input",
    "--gone FILE",
    everyday=True,
    help="Reviewers who will not deliver (reviewer, or item,reviewer): their reviews without a score are removed, "
    "and they get no others.",
)

# ``--select``: a number or a percentage of papers.


def selected_among(select: int | str, most: int) -> int:
    """Return the number of papers to select, of those with a score.

    >>> selected_among("10%", 25), selected_among(3, 25)
    (3, 3)
    """
    if not most:
        raise InputError("select: expected papers with scores to select from, found none")
    count = selected_of(select, most)
    if not 1 <= count <= most:
        raise InputError(f"select: expected 1 to {most} papers, of those with a score; found {count}")
    return count


def _share(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
    if value is None or value.strip().isdecimal():
        return value and int(value)
    try:
        selected_of(value, 0)
    except InputError:
        message = f"expected a number of papers, or a percentage as in 10%; found {value!r}"
        raise click.BadParameter(message, ctx, param) from None
    return f"{float(value.strip().removesuffix('%')):g}%"


def select_option(text: str, **settings: Any) -> Callable[[Decorated], Decorated]:
    """Return ``--select``, whose value is a number, or text such as ``10%``: see :func:`selected_among`."""
    return option("Selection", "--select N|P%", callback=_share, help=text, **settings)


# Output: a file, a report, JSON.


class Sections(click.ParamType):  # type: ignore[type-arg]  # no class of types in click 8.2
    """The type of ``--verbose``: names of sections of the page, or all."""

    name = "sections"

    def __init__(self, known: Collection[str]) -> None:
        self.known = [*known, "notes", "files"]

    def are_named(self, text: str) -> bool:
        """Whether a text names sections and nothing else.

        >>> Sections(["loads"]).are_named("loads,notes"), Sections(["loads"]).are_named("loads.csv")
        (True, False)
        """
        return all(name in {*self.known, "all"} for name in text.split(","))

    def are_meant(self, text: str) -> bool:
        """Whether a text names sections, or is a word, or words, and no file: then it is refused with the near name.

        >>> Sections(["loads"]).are_meant("lods"), Sections(["loads"]).are_meant("a.csv")
        (True, False)
        """
        are_words = re.fullmatch(r"\w+(,\w+)*", text) is not None
        return self.are_named(text) or (are_words and not Path(text).exists())

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        for name in value.split(","):
            if not self.are_named(name):
                self.fail(
                    f"expected {', '.join(self.known)} or all, found {name!r}{near(name, self.known)}", param, ctx
                )
        return value


#: Parameters of the page, whatever the result.
SHOWN_BY = ("verbose", "quiet", "color")


def result_options(text: str, *between: Callable[..., Any], sections: Collection[str] = ()) -> Callable[..., Any]:
    """Return ``-o FILE``, whose help is ``text``, the options ``between``, those of reports, and of the page.

    ``sections`` are the names of the details that the page has.
    """
    known = Sections(sections)
    return with_options(
        option("Result", "-o", "--output FILE", everyday=True, writes=True, help=text),
        *between,
        option(
            "Result",
            "--html FILE",
            everyday=True,
            writes=True,
            help="Write a report with plots and tables for a browser: one file, which works offline.",
        ),
        option(
            "Result",
            "--anonymous",
            is_flag=True,
            help="In the report, replace reviewers and papers by codes, and omit titles; FILE.key.csv contains the "
            "key.",
        ),
        json_option("Result"),
        option(
            "Result",
            "--verbose [SECTIONS]",
            everyday=True,
            type=known,
            is_flag=False,
            flag_value="all",
            help=f"Print all details, or some of them: {', '.join(known.known)}.",
        ),
        option("Result", "--quiet", is_flag=True, help="Print the first line only."),
        option(
            "Result",
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            help="Colours on the page; NO_COLOR turns them off, too.",
        ),
    )


def json_option(group: str) -> Callable[[Decorated], Decorated]:
    return option(group, "--json", "as_json", everyday=True, is_flag=True, help="Print one JSON object.")


# ``--stream``: commands on tables larger than memory, with the options that do not need all reviews at once.

Runner: TypeAlias = "Callable[[Session, PartedReviews, Mapping[str, Any], Callable[[Progress], None]], object]"

#: Options of REVIEWS that are supported in batches.
IN_BATCHES = ("columns", "lower_is_better", "duplicates")


def stream_option(run: Runner, supported: Collection[str], text: str) -> Callable[[Decorated], Decorated]:
    """Add ``--stream`` and ``--cluster``: call ``run`` instead, and refuse options that are not ``supported``.

    ``run`` takes the session, the open table, the options by name, and a listener to progress.
    """

    def decorate(command: Decorated) -> Decorated:
        @functools.wraps(command)
        def streamed(*args: Any, stream: bool, cluster: str | None, **options: Any) -> Any:
            return _in_parts(options, cluster) if stream or cluster else command(*args, **options)

        flag = option("Input", "--stream", is_flag=True, help=f"REVIEWS are larger than memory: {text}.")
        address = option(
            "Input",
            "--cluster ADDRESS",
            help="The same on the Dask cluster of this scheduler, such as tcp://head:8786, whose workers see this "
            "folder.",
        )
        return flag(address(refusing(streamed)))  # type: ignore[return-value]

    def _in_parts(options: dict[str, Any], cluster: str | None) -> Any:
        from reviewgraph.parts.cluster import cluster_at, cluster_reviews
        from reviewgraph.parts.disk import stream_reviews

        session = Session.of()
        unsupported = set(session.params) - {"paths", "merge", "score", "stream", "cluster", *IN_BATCHES, *supported}
        flag = "cluster" if cluster else "stream"
        expect_none_given(unsupported, flag=flag)
        paths = options["paths"]
        named: dict[str, Any] = {name: options[name] for name in ("lower_is_better", "duplicates")}
        named |= {"columns": session.table_columns, "merge": session.spellings, "note": note}
        with telling() as tell, ExitStack() as stack:
            if cluster:
                client = stack.enter_context(cluster_at(cluster))
                table = stack.enter_context(cluster_reviews(list(paths), client, ".", **named, progress=tell))
            else:
                table = stack.enter_context(stream_reviews(*paths, **named, progress=tell))
            for file in table.origin.files:
                session.keep(file)
            return run(session, table, options, tell)

    return decorate


def expect_none_given(names: Collection[str], among: str = "", flag: str = "stream") -> None:
    """Refuse options that are not supported in parts, by ``flag`` (``among`` which others, if not in general)."""
    session = Session.of()
    command = click.get_current_context().command
    for name in session.params:
        if session.is_typed(name) and name in names:
            option = next(param.opts[0] for param in command.params if param.name == name)
            raise InputError(
                f"{flag}: expected no {option} with it{among}, which is not answered by batches; leave one of the two "
                "out"
            )


def weighed(text: str) -> tuple[str, float]:
    """Split FILE=WEIGHT; the weight is 1 if it is missing, or if a file has the whole name.

    >>> weighed("a.csv=0.5"), weighed("a.csv")
    (('a.csv', 0.5), ('a.csv', 1.0))
    """
    path, sign, weight = text.rpartition("=")
    if not sign or Path(text).exists():
        return text, 1.0
    try:
        number = float(weight)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Refusal(f"{text}: expected FILE or FILE=WEIGHT with a finite number, found the weight {weight!r}")
    return path, number

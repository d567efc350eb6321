"""Write the tables of the documentation that say what the code says: ``python -m docs.tables``.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->`` on a page. Tests compare it with the code.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n)(.*?)(<!-- end of table -->)", re.S)
#: What the columns of side files contain.
CONTAINS = {
    "demand": "reviews that the paper needs",
    "load": "maximum reviews per reviewer",
    "min_load": "minimum reviews per reviewer",
    "institution": "institution of the reviewer",
    "senior": "whether the reviewer is senior",
    "willing": "whether the reviewer may be asked",
    "spare": "further reviews that the reviewer can write",
    "affinity": "how well the reviewer fits the paper",
    "bid": "the reviewer's bid on the paper",
    "cost": "cost of the extra review",
    "probability": "probability that the review does not arrive",
    "weight": "reliability of the review",
    "quality": "quality of the paper as a more trusted judge measured it, as a reference",
    "conflict": "whether the pair is a conflict; without the column every row is one",
}
#: Sections of the page of mistakes, each with the case of ``tests/test_traps.py`` that begins it.
SECTIONS = {
    "Scores in a data frame": "rows in another order",
    "Columns and repeated rows": "a missing reviewer",
    "Categories and other libraries": "unused categories",
    "An index, a pivot": "reviewers in the index",
    "Rows, dictionaries, arrays": "named tuples with an index",
    "Labels": "labels 1 and '1'",
    "Small tables and numbers such as 99": "an empty frame",
    "Graphs": "a graph whose nodes have `bipartite`",
    "Matrices": "a matrix without labels",
    "Conflicts as a matrix": "the pairs of a matrix of conflicts",
    "Loads and demands": "an array of loads",
    "Capacities, costs, affinities, weights": "a list of capacities",
}
#: The longest message of the page, in characters.
LONGEST = 300


def row(*cells: str) -> str:
    """Return a row of a table in Markdown; bars in cells are escaped.

    >>> row("a", "b")
    '| a | b |'
    """
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    head = list(head)
    return "\n".join([row(*head), f"|{'---|' * len(head)}", *(row(*cells) for cells in rows)]) + "\n"


def commands() -> str:
    """Return the commands with what they do, as ``reviewgraph --help`` has them."""
    import click

    from reviewgraph.cli import main

    context = click.Context(main)
    listed = [(name, main.get_command(context, name)) for name in main.list_commands(context)]
    rows = []
    for name, command in listed:
        words = " ".join(((command and command.help) or "").split("\n\n")[0].split())
        rows.append((f"[`{name}`](command/{name}.md)", re.sub(r"(?<= )(--?\w+)", r"`\1`", words)))
    return table(("command", "what it does"), rows)


def roles() -> str:
    """Return the columns of side files: what they contain, further names, and valid cells."""
    from reviewgraph.formats import side

    fields = {one.role.name: one for one in vars(side).values() if isinstance(one, side.Field)}
    found = []
    for role in side.ROLES:
        expected = fields[role.name].expected if role.name in fields else "a day or a time"
        if role.name == "bid":
            expected = "a word of OpenReview, EasyChair or CMT, `conflict`, or a number"
        names = ", ".join(name.replace("_", " ") for name in role.names if name != role.name)
        found.append((f"`{role.name}`", CONTAINS[role.name], names, expected))
    return table(("column", "contains", "other names", "valid cells"), found)


def shortened(message: str) -> str:
    """Return a message in at most ``LONGEST`` characters, cut after a clause or a word.

    >>> shortened("score: found 'x'; say which")
    "score: found 'x'; say which"
    >>> len(shortened("word " * 100)) <= LONGEST
    True
    """
    first, *further = message.split("\n")
    other = [line for line in further if line[:4] != first[:4]]  # not the same about another row
    kept = ""
    for part in re.split(r"(?<=[;.] )", "; ".join([first, *other])):
        if kept and len(kept) + len(part) > LONGEST:
            break
        kept += part
    kept = kept.removesuffix("; ").strip()
    return kept if len(kept) <= LONGEST else kept[: LONGEST - 4].rsplit(" ", 1)[0] + " ..."


def outcome(make: Callable[[], Any]) -> tuple[str, str]:
    """Return what comes of a case: ``read``, ``warning`` or ``error``, and the message."""
    from reviewgraph import InputError
    from reviewgraph.graph import ColumnWarning, LabelWarning

    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            make()
        except InputError as error:
            return "error", str(error)
    ours = [str(one.message) for one in raised if issubclass(one.category, ColumnWarning | LabelWarning)]
    return ("warning", ours[0]) if ours else ("read", "")


def findings() -> str:
    """Return the findings of the audit that every table passes."""
    from reviewgraph.formats.audit.audit import FINDINGS

    rows = [(f"`{one.name}`", one.words, one.effect, one.then, one.accepted) for one in FINDINGS.values()]
    return table(("finding", "what is found", "effect", "what becomes of the table", "with `--accept`"), rows)


def mistakes() -> str:
    """Return the cases of ``tests/test_traps.py`` with what comes of them, section by section."""
    from tests.test_traps import ALL

    return "\n".join(sections(ALL))


def sections(traps: Iterable[Any]) -> Iterator[str]:
    """Yield the sections of the page of mistakes."""
    begins = {name: title for title, name in SECTIONS.items()}
    grouped: dict[str, list[tuple[str, str, str]]] = {}
    title = ""
    for trap in traps:
        title = begins.get(trap.name, title)
        grouped.setdefault(title, []).append((trap.name, *outcome(trap.make)))
    for title, cases in grouped.items():
        yield f"## {title}\n"
        if read := [name for name, kind, _ in cases if kind == "read"]:
            yield f"Read as they are: {'; '.join(read)}.\n"
        if other := [(name, kind, f"`{shortened(text)}`") for name, kind, text in cases if kind != "read"]:
            yield table(("passed", "result", "message"), other)


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "commands": ("reference/command.md", commands),
    "roles": ("reference/data.md", roles),
    "findings": ("reference/mistakes.md", findings),
    "mistakes": ("reference/mistakes.md", mistakes),
}


def shown(name: str) -> str:
    """Return the table of a page as it stands there."""
    page = DOCS / TABLES[name][0]
    found = {match[2]: match[3] for match in TABLE.finditer(page.read_text("utf-8"))}
    return found[name].strip("\n") + "\n"


def main() -> None:
    """Write all tables."""
    for page in {page for page, _ in TABLES.values()}:
        path = DOCS / page
        text = TABLE.sub(lambda found: f"{found[1]}\n{TABLES[found[2]][1]()}\n{found[4]}", path.read_text("utf-8"))
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()

"""Pages as lines of a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from reviewgraph._base.page import Fact, Folded, Listed, Next, Page, Part, Prose, Section, Table
from reviewgraph._base.text import columns, folded, terminal_width, text_table, visible

#: How the verdict stands out in terminals (SGR): by whether it is what readers hope for.
VERDICTS = {True: "1;32", False: "1;33", None: "1"}
BOLD = "1"

#: Columns between the name of a fact and its value, and the indentation of what belongs to a line.
GAP = 2
INDENT = "  "


def in_terminal(
    page: Page, sections: Sequence[Section], width: int | None = None, *, colour: bool = False, whole: bool = False
) -> str:
    """Return a page as lines: what is seen first, the sections, what was written, and the next commands.

    Sections have all rows and lines if ``whole``, else the first.
    """
    width = terminal_width() if width is None else width
    verdict = visible(page.verdict.upper())
    first, *rest = _hanging(f"{verdict} {visible(page.summary)}".strip(), width)
    if first.startswith(verdict):
        first = _set(verdict, VERDICTS[page.good], colour=colour) + first[len(verdict) :]
    lines = [first, *rest, *_facts(page.facts, width, colour=colour, where=page.where)]
    for warning in page.warnings:
        first, *rest = _hanging(f"! {visible(warning)}", width)
        lines += [_set(first[:1], VERDICTS[False], colour=colour) + first[1:], *rest]
    for section in sections:
        lines += ["", _set(visible(section.heading), BOLD, colour=colour)]
        for part in section.parts:
            lines += part_lines(_unfolded(part) if whole else part, width)
    if sections and (page.uploads or page.following):
        lines.append("")
    lines += _facts(page.uploads, width, colour=colour, indent="")
    for following in page.following:
        lines += _command(following, width, colour=colour)
    return "\n".join(lines)


def _set(text: str, rendition: str, *, colour: bool) -> str:
    """Return a text in a rendition of terminals, if there are colours."""
    return f"\x1b[{rendition}m{text}\x1b[0m" if colour else text


def _hanging(text: str, width: int) -> list[str]:
    """Return a text in lines of a width, those after the first indented."""
    first, *rest = folded(text, width)
    return [first, *(f"{INDENT}{line}" for line in folded(" ".join(rest), width - len(INDENT)) if rest)]


def _facts(
    facts: Sequence[Fact | Table], width: int, *, colour: bool, indent: str = INDENT, where: str = ""
) -> list[str]:
    """Return facts, their values in one column, and tables at their places."""
    size = max((columns(fact.name) for fact in facts if isinstance(fact, Fact)), default=0)
    lines = []
    for fact in facts:
        if isinstance(fact, Table):
            shown = table_lines(fact, width - len(indent), captioned=False, where=where)
            lines += [f"{indent}{line}" for line in shown]
            continue
        hang = len(indent) + size + GAP
        first, *rest = folded(visible(fact.value), max(width - hang, 20)) or [""]
        named = f"{indent}{_set(visible(fact.name), BOLD, colour=colour)}{' ' * (size - columns(fact.name) + GAP)}"
        lines += [named + first, *(" " * hang + line.strip() for line in rest)]
    return lines


def table_lines(table: Table, width: int, *, captioned: bool = True, where: str = "") -> list[str]:
    """Return a table as lines, with what it leaves out, and ``where`` all rows are."""
    text = [place for place, column in enumerate(table.columns) if column.kind != "number"]
    whole = [place for place, column in enumerate(table.columns) if column.whole]
    free = [place for place, column in enumerate(table.columns) if column.free]
    lines = text_table([column.name for column in table.columns], table.first_rows, text, width, whole, free)
    if table.hidden:
        place = f" ({where.format(table.section)})" if table.section and where else ""
        lines.append(f"{table.more or f'... and {table.hidden:,} more'}{place}")
    return [*(_wrapped([f"{table.caption}:"], width) if captioned else []), *lines]


def _unfolded(part: Part) -> Part:
    """Return a part with all its rows or lines."""
    if isinstance(part, Table):
        return replace(part, shown=len(part))
    return replace(part, shown=None) if isinstance(part, Listed) else part


def part_lines(part: Part, width: int) -> list[str]:
    """Return a part of a section as lines; a picture as its words."""
    if isinstance(part, Table):
        return table_lines(part, width)
    if isinstance(part, Prose):
        lines = list(part.paragraphs)
    elif isinstance(part, Listed):
        more = [f"{INDENT}... and {len(part.folded):,} more"] if part.folded else []
        lines = [part.opening, *(f"{INDENT}{line}" for line in part.seen), *more]
    elif isinstance(part, Folded):
        lines = [part.opening, *(f"{INDENT}{fold.summary}" for fold in part.folds)]
    else:
        lines = [part.instead or f"{part.title}: {part.words}"]
    return _wrapped(lines, width)


def _wrapped(lines: Iterable[str], width: int) -> list[str]:
    return [part for line in lines for part in folded(visible(line), width)]


def _command(following: Next, width: int, *, colour: bool) -> list[str]:
    """Return a command that runs as it stands, in lines that end with a backslash where a shell joins these."""
    name = "Next"
    indent = len(name) + GAP
    lines = [following.command] if os.name == "nt" else _continued(following.command, width - indent)
    shown = [f"{_set(name, BOLD, colour=colour)}  {lines[0]}", *(" " * (indent + 2) + line for line in lines[1:])]
    if following.why:
        shown += [" " * indent + line.strip() for line in folded(f"({visible(following.why)})", width - indent)]
    return shown


#: A word of a command as it was quoted for a shell.
_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"[^"]*")+""")


def _continued(command: str, width: int) -> list[str]:
    r"""Return a command cut between words, so that each line fits; an option keeps its value.

    >>> _continued("reviewgraph plan a.csv --items b.csv", 30)
    ['reviewgraph plan a.csv \\', '--items b.csv']
    """
    words = _WORD.findall(command)
    groups = list[str]()
    for word in words:
        if groups and groups[-1].startswith("-") and " " not in groups[-1] and not word.startswith("-"):
            groups[-1] += f" {word}"
        else:
            groups.append(word)
    lines = [groups[0]]
    for group in groups[1:]:
        if columns(lines[-1]) + 1 + columns(group) <= width - 2:
            lines[-1] += f" {group}"
        else:
            lines.append(group)
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]

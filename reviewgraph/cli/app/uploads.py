"""Files that were dropped in: what each is, what its columns are read as, and its first rows."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path

from reviewgraph._base.errors import InputError
from reviewgraph._base.text import shortened
from reviewgraph.cli.app.steps import COLUMN_ROLES, KINDS, ROLES, table_fields
from reviewgraph.formats.columns import ITEM, PART, REVIEWER, locate, recognised
from reviewgraph.formats.opening import open_table, parts_of
from reviewgraph.formats.systems.system import Recognised
from reviewgraph.formats.values import parse_number

#: Names of results begin so, those of files never.
OURS = "reviewgraph-"
#: Rows and columns of a file that are shown, and rows whose titles are known.
ROWS = 6
COLUMNS = 40
TITLED = 20_000


@dataclass
class Upload:
    """A file: what its reader took it for, the role and columns chosen for it, its first rows, and a message on it."""

    name: str
    what: str = "a table"
    roles: list[str] = field(default_factory=list)
    header: Sequence[str] = ()
    columns: dict[str, str] = field(default_factory=dict)
    known: Mapping[str, str] = field(default_factory=dict)  #: Names of columns by role, as its system calls them.
    rows: Sequence[Sequence[str]] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    system: str = ""
    serves: set[str] = field(default_factory=set)  #: The roles that it may have.
    error: str = ""
    idle: str = ""  #: Why it is not used, where another file has its role.
    parts: Sequence[str] = ()  #: Sheets or files inside, of which one has to be chosen.
    part: str = ""

    @property
    def word(self) -> str:
        """The file, or its chosen part, as commands name it."""
        return f"{self.name}{PART}{self.part}" if self.part else self.name

    @property
    def remedy(self) -> str:
        """Where the page has what the message names as options of the command."""
        if re.search("--(columns|score)", self.error):
            return "Here: choose it in the head of its column below."
        keys = [field for field in table_fields() if f"--{field.key} " in f"{self.error} "]
        return f'Here: "{keys[0].label}" under "How the reviews are written" below.' if keys else ""

    @property
    def wanted(self) -> list[str]:
        """What its columns may be read as."""
        return [*dict.fromkeys(name for role in self.roles for name in ROLES[role].columns)]

    def read_as(self) -> dict[int, str]:
        """Return what columns are read as, by place."""
        names = {**self.known, **self.columns}
        places: dict[int, str] = {}
        for name in self.wanted:
            # A role that several columns may have is asked for by the command.
            with suppress(InputError):
                located = locate(self.header, [COLUMN_ROLES[name]], names, self.name, lambda note: None)
                places |= dict.fromkeys(located.values(), name)
        return places

    def shown(self, read: Mapping[int, str]) -> list[int]:
        """Return the places of the columns that are shown: those that are read, then the others."""
        order = {name: place for place, name in enumerate(self.wanted)}
        places = range(len(self.header))
        return sorted(places, key=lambda place: (order.get(read.get(place, ""), len(order)), place))[:COLUMNS]

    def choose(self, chosen: Sequence[str]) -> None:
        """Take what columns are, in their order, as far as they are read otherwise without a choice."""
        self.columns = {}
        usual = self.read_as()
        for name in self.wanted:
            places = [place for place, role in enumerate(chosen) if role == name]
            changed = [place for place in places if usual.get(place) != name]
            if changed:
                self.columns[name] = self.header[changed[0]]
            elif not places and name in usual.values() and not COLUMN_ROLES[name].required:
                self.columns[name] = ""

    def take(self, part: str, folder: Path) -> None:
        """Choose a sheet or a file inside."""
        if part != self.part and (part in self.parts or not part):
            recognised = recognise(folder / self.name, part)
            recognised.roles = self.roles or recognised.roles
            recognised.columns = self.columns
            vars(self).update(vars(recognised))


def safe_name(file_name: str) -> str:
    """Return a name for a file in the folder: no path, nothing that options or columns separate by.

    >>> safe_name("../my scores.csv"), safe_name("--output=x#1.csv"), safe_name("reviewgraph-plan.csv")
    ('my scores.csv', 'output_x_1.csv', 'my-reviewgraph-plan.csv')
    """
    name = re.split(r"[/\\]", file_name)[-1]
    name = (
        re.sub(r"[\x00-\x1f\x7f=#:,;<>|\"'*?$`]", "_", name).lstrip("-. ").rstrip(". ")[-120:].lstrip("-. ") or "file"
    )
    reserved = name.lower().startswith(OURS) or re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", name.lower())
    return f"my-{name}" if reserved else name


def recognise(path: Path, part: str = "") -> Upload:
    """Return what the reader of the commands takes a file for, or a sheet or a file in it, with its columns."""
    upload = Upload(path.name, part=part)
    with suppress(InputError):
        upload.parts = parts_of(path)
    try:
        # Of several sheets the reader takes the only one with reviews.
        table = open_table(f"{path}{PART}{part}" if part else path, (REVIEWER, ITEM), {}, lambda note: None)
    except InputError as error:
        upload.error = str(error).replace(f"{path.parent}{os.sep}", "")
        upload.what = ""
        # The JSON that ``plan`` prints is no table.
        with suppress(OSError, ValueError, RecursionError):
            content = json.loads(path.read_bytes())
            if isinstance(content, dict) and {"status", "reviews", "files"} <= set(content):
                return Upload(path.name, "a result of this page")
        return upload
    upload.header = tuple(table.provenance.header)
    upload.known = table.columns
    if isinstance(table, Recognised):
        upload.serves = {KINDS.get(use.kind, use.kind) for use in table.export.uses}
    if table.source is not None:
        upload.what = table.source.what
        upload.system = table.source.system
        upload.roles = [KINDS.get(table.source.kind, table.source.kind)]
    else:
        upload.roles = [*filter(None, [plain_role(path.name, upload.header)])]
        # Who gave preferences is a reviewer.
        upload.serves = {"reviewers"} if upload.roles in (["bids"], ["affinity"]) else set()
    with suppress(InputError):
        rows = [line.cells for line in islice(table.rows_below(), TITLED)]
        upload.rows = [[shortened(cell) for cell in cells] for cells in rows[:ROWS]]
        places = {name: place for place, name in upload.read_as().items()}
        if {"item", "title"} <= places.keys():
            item, title = places["item"], places["title"]
            upload.titles = {cells[item]: cells[title] for cells in rows if len(cells) > max(item, title)}
        # A table of papers with several columns of numbers has the scores of a reviewer in each.
        if table.source is None and upload.roles == ["items"] and holds_numbers(rows[:ROWS], set(places.values())):
            upload.roles = ["reviews"]
    return upload


def holds_numbers(rows: Sequence[Sequence[str]], read: Collection[int]) -> bool:
    """Return whether most columns of a table, but for those that are read, hold numbers, and at least two do.

    >>> holds_numbers([["p1", "3", "4"], ["p2", "", "5"]], [0]), holds_numbers([["p1", "On ties", "12"]], [0])
    (True, False)
    """
    others = [column for place, column in enumerate(zip_longest(*rows, fillvalue="")) if place not in read]
    filled = [cells for column in others if (cells := [cell for cell in column if cell.strip()])]
    numbers = [cells for cells in filled if all(parse_number(cell) is not None for cell in cells)]
    return len(numbers) > 1 and 2 * len(numbers) > len(filled)


def plain_role(name: str, header: Sequence[str]) -> str:
    """Return the likely role of a table of no known system, by its columns, and its name for conflicts and bids.

    A text without columns has none.

    >>> plain_role("r.csv", ["reviewer", "paper", "score"]), plain_role("x.csv", ["paper", "title"])
    ('reviews', 'items')
    """

    def has(*names: str) -> bool:
        return recognised(header, [COLUMN_ROLES[name] for name in names], {}) == len(names)

    if re.search(r"\bbids\b", name.casefold()):
        return "bids"
    if has("reviewer", "item"):
        if "conflict" in name.casefold():
            return "conflicts"
        return next((role for role in ("affinity", "cost") if has(role) and not has("score")), "reviews")
    if any(re.search("score|grade|rating|mark|overall", cell.casefold()) for cell in header):
        return "reviews"
    if has("item"):
        return "references" if has("quality") else "items"
    if has("reviewer"):
        people = {"spare": "capacity", "willing": "willing"}
        return next((role for column, role in people.items() if has(column)), "reviewers")
    return "reviews" if len(header) > 1 else ""

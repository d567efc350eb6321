"""Damages to files, of text and of everything else: functions of the bytes and of what draws."""

import io
import json
import random
import re
import zipfile
from collections.abc import Callable
from typing import Any

from tests.reviewgraph.formats.exports import as_zip

Damage = Callable[[bytes, random.Random], bytes]

JUNK = [
    *(b"\0", b'"', b"<", b"&x;", b"{[", b"]}", b",,,", b"\n\n", b"\xff\xfe", b"=1+1", b"null", b"NaN", b"1e999", b"\r"),
]
#: Values that JSON may have anywhere.
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 10**30, 10**400, 1e308, 0.5, "", "\ud800", "\udfff", "\0", "a\nb", "9" * 400, "NaN"),
    *([], {}, [[]], [None], {"": ""}, {"value": None}, {"value": {"value": 1}}, ["a", 1], "~A1", "x" * 10_000),
]


def flipped(data: bytes, draw: random.Random) -> bytes:
    """Some bytes are others."""
    changed = bytearray(data)
    for _ in range(draw.choice([1, 3, 30])):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def with_junk(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.choice(JUNK) * draw.choice([1, 5]) + data[at:]


def cut_short(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def spliced(data: bytes, draw: random.Random) -> bytes:
    """A piece stands somewhere else, or twice, or many times."""
    start, end = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    at = draw.randrange(len(data) + 1)
    return data[:at] + data[start:end][:5000] * draw.choice([1, 1, 2, 20]) + data[at:]


def without_lines(data: bytes, draw: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    for _ in range(draw.choice([1, 4])):
        if len(lines) > 1:
            del lines[draw.randrange(len(lines))]
    return b"".join(lines)


def lines_twice(data: bytes, draw: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = draw.randrange(len(lines))
    return b"".join([*lines[:at], lines[at], *lines[at:]])


def lines_ended_otherwise(data: bytes, draw: random.Random) -> bytes:
    """Lines end in another way, all or some of them."""
    ends, share = [b"\r", b"\r\n", b"\n\r", b"\n\n", b"", b"\x0b", b"\n"], draw.choice([0.3, 1.0])
    end = draw.choice(ends)
    return b"".join(
        line.rstrip(b"\r\n") + (end if draw.random() < share else b"\n") for line in data.splitlines(keepends=True)
    )


def cells_emptied(data: bytes, draw: random.Random) -> bytes:
    """Some runs of letters and digits are gone."""
    words = list(re.finditer(rb"[A-Za-z0-9@.~/_]+", data))
    if not words:
        return data
    for word in sorted(draw.sample(words, min(len(words), draw.choice([1, 3]))), key=lambda one: -one.start()):
        data = data[: word.start()] + data[word.end() :]
    return data


def names_changed(data: bytes, draw: random.Random) -> bytes:
    """A name, such as that of a column or of an attribute, is another, or the name of another one."""
    words = sorted(set(re.findall(rb"[A-Za-z][A-Za-z #_-]{2,20}", data)))
    if not words:
        return data
    new = draw.choice([b"Renamed", draw.choice(words)])
    return data.replace(draw.choice(words), new, draw.choice([1, 1_000]))


def columns_renamed(data: bytes, draw: random.Random) -> bytes:
    """A column bears another name, perhaps that of another column."""
    header, end, rows = data.partition(b"\n")
    names = header.split(b",")
    names[draw.randrange(len(names))] = draw.choice([b"Renamed", draw.choice(names)])
    return b",".join(names) + end + rows


def quoted_wrongly(data: bytes, draw: random.Random) -> bytes:
    """Quotes open, close or nest where they should not."""
    for _ in range(draw.choice([1, 2, 8])):
        at = draw.randrange(len(data) + 1)
        data = data[:at] + draw.choice([b'"', b'""', b'"""', b"'", b'","', b'"\n', b'\\"']) + data[at:]
    return data


def nested(data: bytes, draw: random.Random) -> bytes:
    """Something stands within itself many times."""
    opened, closed = draw.choice([(b"[", b"]"), (b'{"a":', b"}"), (b"<a>", b"</a>"), (b'"', b'"'), (b"(", b")")])
    often = draw.choice([3, 99, 101, 5000])
    start, end = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    return data[:start] + opened * often + data[start:end] + closed * often + data[end:]


def values_exchanged(data: bytes, draw: random.Random) -> bytes:
    """Values of JSON are of another kind; other files are as before."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return data
    places: list[tuple[Any, Any]] = []
    level = [found]
    for one in level:  # grows on the way
        inner = list(one.items() if isinstance(one, dict) else enumerate(one)) if isinstance(one, dict | list) else []
        places += [(one, key) for key, _ in inner]
        level += [value for _, value in inner]
    for _ in range(draw.choice([1, 1, 4])):
        holder, key = draw.choice(places) if places else ([found], 0)
        holder[key] = draw.choice([*VALUES, draw.choice(level)])
    try:
        return json.dumps(found).encode()
    except (ValueError, RecursionError):  # a value that holds itself
        return data


def unpacked(data: bytes) -> dict[str, bytes]:
    """Return the files of an archive, none where it is no archive or a damaged one."""
    if b"PK\5\6" not in data:  # how the end of every archive begins
        return {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # whatever a damaged archive raises
        return {}


def inside(mutate: Damage) -> Damage:
    """Return the same damage done to one file of an archive."""

    def mutated(data: bytes, draw: random.Random) -> bytes:
        files = unpacked(data)
        name = draw.choice([name for name in files if files[name] and "theme" not in name])
        return as_zip({**files, name: mutate(files[name], draw)})

    return mutated


#: What may make of one score another that nobody can tell from it.
ROUGH: list[Damage] = [flipped, with_junk, names_changed]
#: What leaves scores as they are or takes them away.
FAIR: list[Damage] = [cut_short, without_lines, lines_twice, cells_emptied, columns_renamed]
#: What a file may meet that somebody made to do harm.
HOSTILE: list[Damage] = [spliced, lines_ended_otherwise, quoted_wrongly, nested, values_exchanged]


def damaged(data: bytes, draw: random.Random) -> bytes:
    """Return a file with one to three damages of any kind, those of an archive mostly done to a file inside."""
    for _ in range(draw.choice([1, 1, 2, 3])):
        damage = draw.choice([*ROUGH, *FAIR, *HOSTILE])
        if not data:
            break
        if draw.random() < 0.7 and any(unpacked(data).values()):
            damage = inside(damage)
        data = damage(data, draw)
    return data

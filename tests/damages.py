"""Damages to files, of text and of everything else: functions of the bytes and of what draws."""

from __future__ import annotations

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
    b"\0",
    b'"',
    b"<",
    b"&x;",
    b"{[",
    b"]}",
    b",,,",
    b"\n\n",
    b"\xff\xfe",
    b"=1+1",
    b"null",
    b"NaN",
    b"1e999",
    b"\r",
]
#: Numbers that are none, or hardly.
NUMBERS = [
    *(b"1e308", b"-1e308", b"1e-320", b"1e999", b"-0", b"NaN", b"-inf", b"0x10", b"1_000", b"1e", b"--1", b"+"),
    *(
        b"9" * 19,
        b"9" * 30,
        b"9" * 400,
        b"9" * 5000,
        b"1e13",
        b"4,5",
        b"1.2.3",
        "\u0663".encode(),
        "\uff11\uff12".encode(),
    ),
]
#: Marks of encodings, and bytes that are text in no encoding or in another one.
MARKS = [
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff", b"\xc3\x28", b"\xed\xa0\x80"),
    *(b"\xc0\x80", b"\xe4", b"\x81", b"\xf4\x90\x80\x80", "\u202e".encode(), "\u2028".encode(), "\x85".encode()),
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


def bits_flipped(data: bytes, draw: random.Random) -> bytes:
    """Some bits are others, near the end as often as anywhere: there stands what says where all else stands."""
    changed = bytearray(data)
    near = draw.choice([len(data), min(len(data), 400)])
    for _ in range(draw.choice([1, 1, 2, 8])):
        changed[len(data) - 1 - draw.randrange(near)] ^= 1 << draw.randrange(8)
    return bytes(changed)


def with_junk(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.choice(JUNK) * draw.choice([1, 5]) + data[at:]


def marked(data: bytes, draw: random.Random) -> bytes:
    """Marks of encodings stand where they should not."""
    at = draw.choice([0, 0, draw.randrange(len(data) + 1), data.find(b"\n") + 1])
    return data[:at] + draw.choice(MARKS) + data[at:]


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


def numbers_changed(data: bytes, draw: random.Random) -> bytes:
    """Numbers are huge, tiny or none."""
    found = list(re.finditer(rb"\d+(?:\.\d+)?", data))
    for number in sorted(draw.sample(found, min(len(found), draw.choice([1, 3]))), key=lambda one: -one.start()):
        data = data[: number.start()] + draw.choice(NUMBERS) + data[number.end() :]
    return data


def quoted_wrongly(data: bytes, draw: random.Random) -> bytes:
    """Quotes open, close or nest where they should not."""
    for _ in range(draw.choice([1, 2, 8])):
        at = draw.randrange(len(data) + 1)
        data = data[:at] + draw.choice([b'"', b'""', b'"""', b"'", b'","', b'"\n', b'\\"']) + data[at:]
    return data


def recoded(data: bytes, draw: random.Random) -> bytes:
    """The text is in another encoding, or half of it is."""
    code = draw.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "utf-8-sig", "utf-7", "cp037"])
    half = draw.choice([0, 0, len(data) // 2])
    return data[:half] + data[half:].decode("latin-1").encode(code, "replace")


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
        return numbers_changed(data, draw)
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


def packed_oddly(data: bytes, draw: random.Random) -> bytes:
    """Files of an archive have odd names, are archives themselves, are missing, exchanged or declared otherwise."""
    files = unpacked(data) or {"table.csv": data}
    name = draw.choice(sorted(files))
    odd = draw.choice(["../x.csv", "/etc/passwd", "", ".", "a/" * 50, "\u202e.csv", "x" * 300, name.upper(), "a.csv"])
    kind = draw.randrange(6)
    if kind == 0:
        files[odd] = files.pop(name)
    elif kind == 1:
        files[name] = as_zip({"inner.csv": files[name]})
    elif kind == 2 and len(files) > 1:
        del files[name]
    elif kind == 3:
        files[name], other = files[draw.choice(sorted(files))], files[name]
        files[odd or "x"] = other
    packed = bytearray(as_zip(files))
    if kind >= 4:
        at = packed.rfind(b"PK\x01\x02") if kind == 4 else 0
        packed[at + draw.randrange(4, 30)] = draw.randrange(256)
    return bytes(packed)


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
HOSTILE: list[Damage] = [
    *(bits_flipped, marked, spliced, lines_ended_otherwise, numbers_changed, quoted_wrongly, recoded, nested),
    *(values_exchanged, packed_oddly),
]


def damaged(data: bytes, draw: random.Random) -> bytes:
    """Return a file with one to three damages of any kind, those of an archive mostly done to a file inside."""
    for _ in range(draw.choice([1, 1, 2, 3])):
        damage = draw.choice([*ROUGH, *FAIR, *HOSTILE])
        if not data:
            break
        if damage is not packed_oddly and draw.random() < 0.7 and any(unpacked(data).values()):
            damage = inside(damage)
        data = damage(data, draw)
    return data

"""Exports that are damaged: the reviews that are left, or one message, and never another score."""

from __future__ import annotations

import io
import random
import re
import zipfile

import pytest

from reviewgraph import InputError, read_reviews
from tests.reviewgraph.formats.exports import EVERY, as_zip
from tests.reviewgraph.formats.test_exports import found

MUTATIONS = 200

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


def flipped(data, draw):
    """Some bytes are others."""
    changed = bytearray(data)
    for _ in range(draw.choice([1, 3, 30])):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def with_junk(data, draw):
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.choice(JUNK) * draw.choice([1, 5]) + data[at:]


def cut_short(data, draw):
    return data[: draw.randrange(len(data))]


def without_lines(data, draw):
    lines = data.splitlines(keepends=True)
    for _ in range(draw.choice([1, 4])):
        if len(lines) > 1:
            del lines[draw.randrange(len(lines))]
    return b"".join(lines)


def lines_twice(data, draw):
    lines = data.splitlines(keepends=True)
    at = draw.randrange(len(lines))
    return b"".join([*lines[:at], lines[at], *lines[at:]])


def cells_emptied(data, draw):
    """Some runs of letters and digits are gone."""
    words = list(re.finditer(rb"[A-Za-z0-9@.~/_]+", data))
    if not words:
        return data
    for word in sorted(draw.sample(words, min(len(words), draw.choice([1, 3]))), key=lambda one: -one.start()):
        data = data[: word.start()] + data[word.end() :]
    return data


def names_changed(data, draw):
    """A name, such as that of a column or of an attribute, is another, or the name of another one."""
    words = sorted(set(re.findall(rb"[A-Za-z][A-Za-z #_-]{2,20}", data)))
    if not words:
        return data
    new = draw.choice([b"Renamed", draw.choice(words)])
    return data.replace(draw.choice(words), new, draw.choice([1, 1_000]))


def columns_renamed(data, draw):
    """A column bears another name, perhaps that of another column."""
    header, end, rows = data.partition(b"\n")
    names = header.split(b",")
    names[draw.randrange(len(names))] = draw.choice([b"Renamed", draw.choice(names)])
    return b",".join(names) + end + rows


#: What may make of one score another that nobody can tell from it.
ROUGH = [flipped, with_junk, names_changed]
#: What leaves scores as they are or takes them away.
FAIR = [cut_short, without_lines, lines_twice, cells_emptied, columns_renamed]


def inside(mutate):
    """Return the same damage done to one file of an archive."""

    def mutated(data, draw):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        name = draw.choice([name for name in files if files[name] and "theme" not in name])
        return as_zip({**files, name: mutate(files[name], draw)})

    return mutated


def outcome(write, export, data):
    try:
        return found(read_reviews(write(data, export.name), **export.options))
    except InputError as error:
        assert len(str(error)) < 5_000  # noqa: PT017 (any message will do)
        return {}


@pytest.mark.parametrize("export", EVERY, ids=lambda export: export.name)
def test_a_damaged_export_is_read_or_refused(write, export, capfd):
    draw = random.Random(export.name)
    packed = zipfile.is_zipfile(io.BytesIO(export.data))
    for _ in range(MUTATIONS):
        mutate = draw.choice([*ROUGH, *FAIR])
        done = inside(mutate) if packed and draw.random() < 0.8 else mutate
        reviews = outcome(write, export, done(export.data, draw))
        fair = mutate in FAIR and not (mutate is columns_renamed and export.name == "old.zip")  # which has no header
        for pair, score in reviews.items() if fair else ():
            assert score in {None, export.reviews.get(pair, score), export.earlier.get(pair)}, mutate.__name__
    assert capfd.readouterr().out == ""

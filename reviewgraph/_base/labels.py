"""Labels of reviewers and items, their integer codes, and sentences that mention them.

``7``, ``"7"`` and ``"007"`` are three labels. Codes follow the natural order of the labels (digits compared as
numbers), so they depend neither on the order of rows nor on whether ids were read as numbers or as text.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from reviewgraph._base.arrays import IntArray
from reviewgraph._base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


Label: TypeAlias = Hashable

_DIGITS = re.compile(r"([0-9]+)")
_ONE_NUMBER = re.compile(r"[^0-9]*([0-9]+)[^0-9]*")

#: Labels from which building one sortable string for each beats comparing nested tuples.
_MANY = 5_000

#: The longest number whose length one character can encode.
_LONGEST = sys.maxunicode - 1


def natural_key(label: Label) -> tuple[Any, ...]:
    """Key that sorts labels as people do: text by its words and the values of the numbers inside it.

    Whole numbers sort as their digits do, so that ids read as numbers and as text are in the same order; other numbers
    follow by value, everything else by its ``repr``.

    >>> sorted(["P10", "P9", "P009", 12, "11"], key=natural_key)
    ['11', 12, 'P009', 'P9', 'P10']
    """
    if isinstance(label, str) or (isinstance(label, int) and not isinstance(label, bool) and label >= 0):
        text = str(label)
        parts = _DIGITS.split(text)
        # A number compares by the count of its significant digits, then by these.
        digits = (part.lstrip("0") for part in parts[1::2])
        parts[1::2] = ((len(significant), significant) for significant in digits)
        return (0, tuple(parts), text, type(label).__name__)
    if isinstance(label, (int, float)):
        return (1, label, type(label).__name__)
    return (2, repr(label), type(label).__name__)


def identity(label: Label) -> str:
    """Return the common form of labels that people take for the same.

    Unicode form, letter case, blanks and invisible characters, such as a zero-width blank or a byte order mark, do not
    matter, nor whether a whole number is text.

    >>> identity("Ann\u00a0 Lee ") == identity("\ufeffANN LEE"), identity("P1") == identity("p 1")
    (True, False)
    >>> identity(7) == identity("7") == identity(7.0), identity(7) == identity("07")
    (True, False)
    """
    text = label if isinstance(label, str) else as_text(label)
    if not text.isascii():
        composed = unicodedata.normalize("NFKC", text)
        text = "".join(character for character in composed if unicodedata.category(character) != "Cf")
    return " ".join(text.split()).casefold()


#: Letters of Cyrillic and Greek, in lower case, that look like Latin ones.
_LOOK_ALIKE = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455\u03b1\u03bf\u03c1\u03bd",
    "abekmhopctyxijsaopv",
)
_LEADING = re.compile(r"(?<![0-9.])0+(?=[0-9])")
_POINT_ZERO = re.compile(r"(?m)(?<=^)([0-9]+)\.0+$")
_SEPARATOR = re.compile(r"[-_./]|[^\n\S]")
_BEFORE_NUMBER = re.compile(r"(?<=[^\W\d_])(?:[-_./]|[^\n\S])+(?=[0-9])")
_BETWEEN = re.compile(r"(?<=\w)(?:[-_./]|[^\n\S])+(?=\w)")
#: Mean length of labels that are ids, not titles, in which signs between words say nothing.
_SHORT = 30


def loose_identity(label: Label, *, case: bool = False) -> str:
    """Return the common form of labels that may be the same beyond :func:`identity`.

    Leading zeros, a point and zeros after a number, signs between words, letters of other scripts that look alike and,
    unless ``case`` matters, letter case make no difference. Several labels may be passed in one text, a line each.

    >>> loose_identity("007") == loose_identity("7") == loose_identity("7.0")
    True
    >>> loose_identity("P-1") == loose_identity("P_1") == loose_identity("p 01"), loose_identity("1-1")
    (True, '1 1')
    >>> loose_identity("1.10") == loose_identity("1.1"), loose_identity("\u0420 1") == loose_identity("P1")
    (False, True)
    """
    text = label if isinstance(label, str) else as_text(label)
    if not case:
        text = text.casefold()
    if not text.isascii():
        text = text.translate(_LOOK_ALIKE)
    if ".0" in text:
        text = _POINT_ZERO.sub(r"\1", text)
    if _LEADING.search(text):
        text = _LEADING.sub("", text)
    short = len(text) <= _SHORT * (text.count("\n") + 1)
    if short and _SEPARATOR.search(text):
        text = _BETWEEN.sub(" ", _BEFORE_NUMBER.sub("", text))
    return text


_QUOTES = str.maketrans(
    {"\N{RIGHT SINGLE QUOTATION MARK}": "'", "\N{LEFT SINGLE QUOTATION MARK}": "'", "\N{PRIME}": "'"}
)
_NAMED_NUMBER = re.compile(r"(?P<word>\w*[^\W\d_])[\W_]*(?P<number>[0-9]+)")
_ADDRESS_IN = re.compile(r"[^<]*<\s*([^<>\s]+@[^<>\s]+)\s*>")
_TITLES = frozenset(("dr", "prof", "professor", "mr", "mrs", "ms", "herr", "frau", "phd", "md"))


_FIRST_NUMBER = re.compile(r"(?P<before>[^0-9\n]*)[0-9]+(?P<after>[^0-9\n]*)")


def are_numbered(labels: Sequence[Label]) -> bool:
    """Return whether distinct labels are one word and a number each, as of ids, which no words or names are among.

    >>> are_numbered(["r1", "r22"]), are_numbered([7, 8]), are_numbered(["r1", "r01"]), are_numbered(["r1", "ann"])
    (True, True, False, False)
    """
    if isinstance(labels, Whole | range) or not labels:
        return True
    if not isinstance(labels[0], str):
        return set(map(type, labels)) == {int}
    match = _FIRST_NUMBER.fullmatch(labels[0])
    if match is None or set(map(type, labels)) != {str}:
        return False
    line = f"{re.escape(match['before'])}(?:0|[1-9][0-9]*){re.escape(match['after'])}\n"
    return re.fullmatch(f"(?:{line})*+", "\n".join(labels) + "\n") is not None  # type: ignore[arg-type]


def near_labels(labels: Sequence[Label], *, people: bool = False) -> list[list[Label]]:
    """Return groups of distinct labels that may be one: by :func:`loose_identity`, "Paper 7" and 7, names of people.

    Addresses are alike only where one is written behind a name, or dots before the @ are all that differs.

    >>> near_labels(["a.lee@x.org", "alee@x.org", "a-lee@x.org"], people=True)
    [['a.lee@x.org', 'alee@x.org']]
    >>> near_labels(["1", "01", "2", "a@x"]), near_labels(["P1", "P2"]), near_labels(["Paper 1", "1", "Paper 2"])
    ([['1', '01']], [], [])
    >>> near_labels(["Paper 1", "1", "Paper 2", "2"])
    [['Paper 1', '1'], ['Paper 2', '2']]
    >>> near_labels(["Lee, Ann", "Ann Lee"], people=True), near_labels(["A versus B", "B versus A"])
    ([['Lee, Ann', 'Ann Lee']], [])
    """
    texts = [label if isinstance(label, str) else as_text(label) for label in labels]
    # All at once: in the usual case no two are alike, and nothing more is done.
    text = "\n".join(texts)
    plain = text.isascii() and not any(sign in text for sign in "@,. #<>")
    if plain and text.count("\n") + 1 == len(texts):
        whole = loose_identity(text).split("\n")
        some_digits = any(word.isdigit() for word in whole)
        all_digits = some_digits and all(word.isdigit() for word in whole)
        if len(set(whole)) == len(texts) and (all_digits or not some_digits):
            return []
    groups: dict[str, list[Label]] = {}
    keys = [_near_key(text_of, people) for text_of in texts]
    # A word and a number is near the number alone, where that is so of several.
    numbers = {key for label, key in zip(labels, keys, strict=True) if isinstance(label, str) and key.isdigit()}
    matches = [_NAMED_NUMBER.fullmatch(key) for key in keys] if numbers else []
    numbered = {match[0]: match["number"] for match in matches if match and match["number"] in numbers}
    if len(numbered) < 2:
        numbered = {}
    for label, key in zip(labels, keys, strict=True):
        groups.setdefault(numbered.get(key, key), []).append(label)
    # Two words with one number are two labels, whatever the number alone is.
    return [
        group
        for group in groups.values()
        if 1 < len(group) <= 1 + sum(map(str.isdigit, map(as_text, group)))
        or (len(group) > 1 and len({_near_key(as_text(label), people) for label in group}) == 1)
    ]


def _near_key(text: str, people: bool) -> str:
    """Return the common form of labels that may be one."""
    if text[:1] == "-" and text[1:].isdecimal():
        return text
    match = _ADDRESS_IN.fullmatch(text)
    if match or "@" in text:
        box, at, host = (match[1] if match else text).strip().casefold().partition("@")
        return box.replace(".", "") + at + host
    key = loose_identity(text.translate(_QUOTES).strip(" .#:"))
    if not people:
        return key
    letters = unicodedata.normalize("NFKD", key)
    words = re.findall(r"\w+", "".join(sign for sign in letters if not unicodedata.combining(sign)))
    return " ".join(sorted(word for word in words if word not in _TITLES)) or key


def as_text(label: Label) -> str:
    """Return a label as text, equal for equal numbers.

    >>> as_text(7.0), as_text(True), as_text("7"), as_text(2.5)
    ('7', '1', '7', '2.5')
    """
    whole = isinstance(label, bool) or (isinstance(label, float) and label.is_integer())
    return str(int(label)) if whole else str(label)  # type: ignore[call-overload]


def is_null(label: Label) -> bool:
    """Whether a label is null: None, NaN, a missing value of a data frame, or invisible text.

    >>> [is_null(label) for label in (None, float("nan"), " ", "\u200b", 0, "0")]
    [True, True, True, True, False, False]
    """
    if isinstance(label, str):
        return not label.strip() or not (label.isascii() or identity(label))
    return label is None or type(label).__name__ in ("NAType", "NaTType") or bool(label != label)


def encode(labels: Iterable[Any], declared: Iterable[Any] = ()) -> tuple[IntArray, Sequence[Label]]:
    """Return the codes of labels (one per row), and the distinct ones, ``declared`` included, in natural order.

    Time O(n log n) in the number of distinct labels and linear in the number of rows.
    """
    further = [plain_label(label) for label in declared]
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iu" and not further and not (labels < 0).any():
        distinct, codes = np.unique(labels, return_inverse=True)
        return codes.astype(np.int64), Whole(distinct.tolist())
    if isinstance(labels, np.ndarray) and labels.dtype != object:
        plain = labels.tolist()
    else:
        plain = [plain_label(label) for label in labels]
    # 1, 1.0 and True are one key of a dictionary and three labels here, so mixed types are distinguished by type, too.
    types = set(map(type, plain)) | set(map(type, further))
    if len(types) == 1:
        code = {label: number for number, label in enumerate(dict.fromkeys([*plain, *further]))}
        codes = np.fromiter(map(code.__getitem__, plain), np.int64, len(plain))
        names: list[Label] = list(code)
    else:
        first: dict[tuple[type, Label], int] = {}
        keys = ((type(label), label) for label in plain)
        codes = np.fromiter((first.setdefault(key, len(first)) for key in keys), np.int64, len(plain))
        for label in further:
            first.setdefault((type(label), label), len(first))
        names = [label for _, label in first]
    order = natural_order(names)
    return inverse(order)[codes], tuple(map(names.__getitem__, order.tolist()))


def natural_order(labels: Sequence[Label]) -> IntArray:
    """Return the indices that sort distinct labels by :func:`natural_key`, quickly where there are millions."""
    if len(labels) >= _MANY and set(map(type, labels)) == {str}:
        texts: Sequence[str] = labels  # type: ignore[assignment]
        numbered = _order_of_numbered(texts)
        if numbered is not None:
            return numbered
        if not any("\0" in text for text in texts):
            return np.array(sorted(range(len(texts)), key=list(map(_sortable, texts)).__getitem__), np.int64)
    if set(map(type, labels)) == {int}:
        numbers = np.array(labels)
        if numbers.dtype.kind == "i" and numbers.min() >= 0:
            return np.argsort(numbers, kind="stable").astype(np.int64)
    keys = list(map(natural_key, labels))
    return np.array(sorted(range(len(labels)), key=keys.__getitem__), np.int64)


def places(labels: Sequence[Label]) -> IntArray:
    """Return the place of each of distinct labels in their natural order."""
    return inverse(natural_order(labels))


class Whole(tuple[int, ...]):
    """Distinct labels that are all whole numbers, which need no further checks."""

    __slots__ = ()


class Shuffled(list[Any]):
    """Labels out of their natural order, such as random codes for names, whose order must not reveal the names."""


def ranks(labels: Sequence[Label]) -> IntArray:
    """Return the place of each label in the natural order, which is that of labels unless they are :class:`Shuffled`.

    >>> ranks(["a", "b"]).tolist(), ranks(Shuffled(["R2", "R1"])).tolist()
    ([0, 1], [1, 0])
    """
    return places(labels) if isinstance(labels, Shuffled) else np.arange(len(labels), dtype=np.int64)


def first_labels(labels: Sequence[Label], codes: Sequence[int] | IntArray, most: int) -> list[Label]:
    """Return the first few, in the natural order, of the labels of ascending codes.

    Only these are looked up, however many there are, unless labels are :class:`Shuffled`.

    >>> first_labels(["a", "b", "c"], [0, 1, 2], 2), first_labels(Shuffled(["R3", "R2", "R1"]), [0, 1, 2], 2)
    (['a', 'b'], ['R1', 'R2'])
    """
    few = codes if isinstance(labels, Shuffled) else codes[:most]
    return sorted((labels[int(code)] for code in few), key=natural_key)[:most]


def first_repeated(labels: Iterable[Label]) -> Any:
    """Return the first label that stands there for the second time; None if there is none."""
    seen: set[Label] = set()
    for label in labels:
        if label in seen:
            return label
        seen.add(label)
    return None


def inverse(order: IntArray) -> IntArray:
    """Return the inverse of a permutation: the place of each index."""
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    return place


def _sortable(text: str) -> str:
    """Return one string that sorts as :func:`natural_key` does, for text without NUL.

    A NUL ends each run of text and so sorts before any longer run; a number is its length, as one character, and
    its significant digits. The text itself comes last and breaks ties between ``7`` and ``007``.
    """
    parts = _DIGITS.split(text)
    for odd in range(1, len(parts), 2):
        significant = parts[odd].lstrip("0")
        parts[odd] = f"\0{chr(1 + min(len(significant), _LONGEST))}{significant}"
    return f"{''.join(parts)}\0\0{text}"


def _order_of_numbered(texts: Sequence[str]) -> IntArray | None:
    """Return the natural order of labels that differ in one number of up to 18 digits, ``r12@x``; None for others."""
    match = _ONE_NUMBER.fullmatch(texts[0])
    if match is None:
        return None
    # The number of every label must stand between the same letters as in the first; its length may differ.
    before = match.span(1)[0]
    after = len(texts[0]) - match.span(1)[1]
    width = np.fromiter(map(len, texts), np.int64, len(texts))
    length = width - before - after
    if length.min() < 1 or length.max() > 18:
        return None
    joined = "".join(texts)
    if not joined.isascii():
        return None
    letters = np.frombuffer(joined.encode(), np.uint8)
    end = np.cumsum(width)
    start = end - width
    for first, places in ((start, range(before)), (end, range(-after, 0))):
        if any((letters[first + place] != letters[first[0] + place]).any() for place in places):
            return None
    # Read all numbers at once, a digit at a time.
    number = np.zeros(length.size, np.int64)
    for place in range(int(length.max())):
        longer = np.flatnonzero(length > place)
        digit = letters[start[longer] + before + place].astype(np.int64) - ord("0")
        if ((digit < 0) | (digit > 9)).any():
            return None
        number[longer] = 10 * number[longer] + digit
    # Equal numbers differ in leading zeros alone: "009" comes before "9", but "0" before "00", and "00x" before "0x".
    zero = -length if after and texts[0][-after] > "0" else length
    return np.lexsort((np.where(number > 0, -length, zero), number)).astype(np.int64)


def plain_label(label: Any) -> Any:
    """Return the Python value that a NumPy scalar holds, and anything else as it is."""
    return label.item() if isinstance(label, np.generic) else label


def extended(labels: Sequence[Label], further: Iterable[Label]) -> tuple[IntArray, Sequence[Label]]:
    """Return the new code of each label, and all labels, further ones included, in natural order."""
    new = [plain_label(label) for label in further]
    known = typed_codes(labels) if new else {}
    if all((type(label), label) in known for label in new):
        return np.arange(len(labels)), labels
    codes, distinct = encode([*labels, *new])
    return codes[: len(labels)], distinct


def typed_codes(labels: Sequence[Label]) -> dict[tuple[type, Label], int]:
    """Return codes by type and label: 1, 1.0 and True are three labels."""
    return {(type(label), label): code for code, label in enumerate(labels)}


class LabelCodes(dict[Label, int]):
    """Codes by label."""

    def of(self, label: Any, expected: str) -> int:
        """Return the code of a label, or raise InputError, which says what the labels are and which one is near.

        >>> LabelCodes({"p1": 0}).of("p1", "item: expected an item")
        0
        >>> LabelCodes({"1": 0}).of(1, "item: expected an item")
        Traceback (most recent call last):
        reviewgraph._base.errors.InputError: item: expected an item, found 1 (int), but labels are str; did you mean
        '1'?
        """
        try:
            code = self.get(plain_label(label))
        except TypeError:  # a list in a list
            code = None
        if code is None:
            raise InputError(f"{expected}, {found_label(label, self)}")
        return code


def found_label(label: Any, known: Collection[Label]) -> str:
    """Return words on a label that is not known: its type where theirs differs, and the nearest or the first of them.

    >>> found_label("p11", ["p1", "p2"]), found_label("x", [1, 2])
    ("found 'p11'; did you mean 'p1'?", "found 'x' (str), but labels are int, such as 1, 2")
    """
    from difflib import get_close_matches

    label = plain_label(label)
    kinds = sorted({type(other_label).__name__ for other_label in known})
    texts = {str(other_label).casefold(): other_label for other_label in known}
    is_other_type = bool(kinds) and type(label).__name__ not in kinds
    start = (
        f"found {label!r} ({type(label).__name__}), but labels are {' or '.join(kinds)}"
        if is_other_type
        else f"found {label!r}"
    )
    near = get_close_matches(str(label).casefold(), texts, 1, 0.7)
    if near:
        return f"{start}; did you mean {texts[near[0]]!r}?"
    first = ", ".join(repr(text) for text in list(texts.values())[:3])
    return f"{start}{',' if is_other_type else '; there are labels'} such as {first}" if texts else start


# Sentences that mention reviewers and papers, composed by code, so that they can be printed with any labels.

#: Delimiters of a mention: characters that Unicode reserves and that never occur in text.
_OPEN = "\ufdd0"
_CLOSE = "\ufdd1"
_MENTION = re.compile(f"{_OPEN}([rp])([0-9]+){_CLOSE}")
_LIST = re.compile(f"{_MENTION.pattern}(?:, {_MENTION.pattern})*")


class Mentions(Enum):
    """Placeholders of labels while a sentence is composed, by code.

    >>> said = Mentions.labelled(["ann"], ["p1"])
    >>> said(f"{Mentions.REVIEWERS[0]} is asked"), said("nobody is")
    ('ann is asked', 'nobody is')
    """

    REVIEWERS = "r"
    PAPERS = "p"

    def __getitem__(self, code: int) -> str:
        return f"{_OPEN}{self.value}{code}{_CLOSE}"

    @staticmethod
    def labelled(reviewers: Sequence[Label], items: Sequence[Label]) -> Callable[[str], str]:
        """Return a function that prints sentences, composed or printed with other labels, with those of a table."""

        def said(sentence: str) -> str:
            composed = sentence.composed if isinstance(sentence, Said) else sentence
            return Said(composed, reviewers, items) if _OPEN in composed else sentence

        return said


class Said(str):
    """A sentence with the labels of a table, which can be printed with others.

    >>> reviewers, papers = Mentions
    >>> said = Said(f"{reviewers[0]} may not review {papers[0]}, {papers[1]}", ["ann"], ["p1", "p2"])
    >>> said, Mentions.labelled(["R7"], ["P9", "P4"])(said)
    ('ann may not review p1, p2', 'R7 may not review P4, P9')
    """

    composed: str  # The sentence with placeholders
    labels: Mapping[str, Sequence[Label]]  # Reviewers and items, by the letter of their placeholders

    def __new__(
        cls,
        composed: str,
        reviewers: Sequence[Label],
        items: Sequence[Label],
        renamed: Callable[[str, Label], Label] = lambda kind, label: label,
    ) -> Said:
        """Replace the placeholders by labels, or by what these are ``renamed``."""
        labels = {"r": reviewers, "p": items}

        def said(mentions: re.Match[str]) -> str:
            # Lists are in the order of the labels that replace their placeholders.
            named = [renamed(kind, labels[kind][int(code)]) for kind, code in _MENTION.findall(mentions[0])]
            return ", ".join(map(str, sorted(named, key=natural_key)))

        new = super().__new__(cls, _LIST.sub(said, composed))
        new.composed = composed
        new.labels = labels
        return new

    def renamed(self, reviewer: Mapping[Label, str], item: Mapping[Label, str]) -> Said:
        names = {"r": reviewer, "p": item}
        return Said(self.composed, self.labels["r"], self.labels["p"], lambda kind, label: names[kind][label])

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Pickle as plain text."""
        return str, (str(self),)

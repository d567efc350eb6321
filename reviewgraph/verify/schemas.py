"""The keys of an answer that are checked, with their kinds: without one of them, or with another kind, it is no answer.

A key that ends with ``-`` is printed under some options or for some tables alone, one that ends with ``?`` may be null.
All other keys of an answer are compared with those of a second run of the command, or reported as not checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reviewgraph.formats.files import cut

if TYPE_CHECKING:
    from collections.abc import Iterator


NUMBER = "a number"
WHOLE = "a whole number"
TEXT = "a text"
FLAG = "true or false"
NAME = "a name"
KINDS: dict[str, tuple[type, ...]] = {
    NUMBER: (int, float),
    WHOLE: (int,),
    TEXT: (str,),
    FLAG: (bool,),
    NAME: (str, int, float),
}


def _of(kind: Any, keys: str) -> dict[str, Any]:
    """Return keys that are all of one kind."""
    return dict.fromkeys(keys.split(), kind)


_PAIR = _of(NAME, "reviewer item")
_MISSING = [{"item": NAME, "missing": WHOLE}]
_CHANCES = [{"item": NAME, "probability": NUMBER}]
# Null where a table larger than memory leaves it undecided.
_STRUCTURE = {
    **_of(WHOLE, "reviewers items reviews degrees_of_freedom?"),
    "connected": {"components": WHOLE},
    "doubly_connected?": _of(WHOLE, "components largest_cover"),
    **_of(FLAG, "recovery_resilient? recoverable?"),
    "level?": TEXT,
}
_FILES = [
    {
        **_of(TEXT, "file sha256"),
        **_of(WHOLE, "rows scored?"),
        "sheets": [TEXT],
        "left_out": [{"rows": WHOLE, "why": TEXT}],
        "options-": [_of(TEXT, "option value")],
    }
]

SCHEMAS: dict[str, dict[str, Any]] = {
    "check": {
        **_STRUCTURE,
        "files": _FILES,
        "undecided-": [TEXT],
        "at_least-": _of(WHOLE, "largest_cover degrees_of_freedom"),
        "fragile-?": {"level": TEXT, "holds": FLAG, "reviewers": [NAME], "reviews": [_PAIR]},
        "as_of_now-": _STRUCTURE,
        "scored-": {"doubly_connected": _of(WHOLE, "components largest_cover"), "recovery_resilient": FLAG},
        "violations-": {
            "conflicts?": [_PAIR],
            "over_load?": [{"reviewer": NAME, **_of(WHOLE, "reviews load")}],
            "short?": [{"item": NAME, **_of(WHOLE, "reviews demand")}],
        },
    },
    "plan": {
        "files": _FILES,
        **_of(TEXT, "status target?"),
        **_of(WHOLE, "count lower_bound largest_load largest_load_lower_bound?"),
        **_of(NUMBER, "cost affinity?"),
        "bounds": [{"value": WHOLE, "kind": TEXT}],
        "reviews": [{**_PAIR, **_of(NUMBER, "cost affinity?"), **_of(WHOLE, "covers groups")}],
        "largest_group?": _of(WHOLE, "before after"),
        "short": _MISSING,
        "merges": [[WHOLE]],
    },
    "assign": {
        "files": _FILES,
        **_of(TEXT, "status target"),
        "reviews": [{**_PAIR, "affinity": NUMBER}],
        **_of(NUMBER, "affinity? affinity_unconstrained? price_percent? mean_affinity? minimum_affinity?"),
        **_of(NUMBER, "rewards bound? gap_percent?"),
        "critical?": [NAME],
        "survives?": FLAG,
        "short": _MISSING,
        "probabilities?": [{**_PAIR, "probability": NUMBER}],
        "draws?": {"max_probability?": NUMBER, "assignments?": WHOLE},
        "usual_load?": {"load": WHOLE},
    },
    "calibrate": {
        "files": _FILES,
        **_of(TEXT, "method status? hypothesis?"),
        "objective?": NUMBER,
        "units?": [NUMBER],
        "items": [
            {
                "item": NAME,
                **_of(NUMBER, "quality? average? standard_error? probability-?"),
                **_of(WHOLE, "rank? group"),
                "interval-?": [NUMBER],
            }
        ],
        **_of([NAME], "selected set_aside certain-"),
        "discuss-": _CHANCES,
        **_of(NUMBER, "error_rate- expected_wrong- expected_wrong_by_average-"),
        "lottery-": {"seed": WHOLE, "drawn": [NAME], "probabilities": _CHANCES},
    },
}
#: Keys by which the JSON of each command is recognised.
KEYS = {
    "check": {"doubly_connected", "degrees_of_freedom"},
    "plan": {"merges", "bounds", "lower_bound"},
    "assign": {"affinity_unconstrained", "reviews"},
    "calibrate": {"method", "items"},
}


def misfits(value: Any, schema: Any, place: str = "") -> Iterator[str]:
    """Yield what a schema does not allow in a value: missing keys, and values of another kind.

    >>> list(misfits({"count": 1.5}, {"count": "a whole number", "sun": "a text", "star-": "a text"}))
    ['expected a whole number at count, found 1.5', 'expected a key sun, found none']
    """
    if isinstance(schema, str):
        if isinstance(value, bool) is not (schema == FLAG) or not isinstance(value, KINDS[schema]):
            yield f"expected {schema} at {place}, found {cut(repr(value))}"
    elif not isinstance(value, type(schema)):
        yield f"expected {'a list' if isinstance(schema, list) else 'an object'} at {place}, found {cut(repr(value))}"
    elif isinstance(schema, list):
        for number, row in enumerate(value):
            yield from misfits(row, schema[0], f"{place}[{number}]")
    else:
        for key, part in schema.items():
            name = key.rstrip("-?")
            inside = f"{place}.{name}" if place else name
            if name not in value:
                if "-" not in key:
                    yield f"expected a key {inside}, found none"
            elif value[name] is not None or "?" not in key:
                yield from misfits(value[name], part, inside)


def unseen(value: Any, schema: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the keys of a value that are not in its schema, and their values, where they hold anything.

    >>> list(unseen({"rules": [{"kept": 3, "words": "at most 2"}], "mail": []}, {"rules": [{"kept": "a number"}]}))
    [('rules[].words', 'at most 2')]
    """
    if isinstance(schema, list):
        for row in value:
            yield from unseen(row, schema[0], f"{place}[]")
    elif isinstance(schema, dict):
        parts = {key.rstrip("-?"): part for key, part in schema.items()}
        for name, entry in value.items():
            inside = f"{place}.{name}" if place else name
            if entry in (None, "", []):
                continue
            if name in parts:
                yield from unseen(entry, parts[name], inside)
            else:
                yield inside, entry

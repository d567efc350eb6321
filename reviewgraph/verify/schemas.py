"""Every key of an answer with its kind: other keys are errors.

Every key is required, but for those that end with ``-``, which are printed under some options or for some tables. A key
that ends with ``?`` may be null. A key that ends with ``~`` is not recomputed: it is compared with a second run of the
command, or reported as not checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reviewgraph.formats.files import cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


NUMBER = "a number"
WHOLE = "a whole number"
TEXT = "a text"
FLAG = "true or false"
NAME = "a name"
#: The kind of what only the command computes, and only a second run checks.
ANYTHING = "anything"
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
_FILE = {
    **_of(TEXT, "file sha256"),
    **_of(WHOLE, "rows scored?"),
    "sheets": [TEXT],
    "left_out": [{"rows": WHOLE, "why": TEXT}],
    "options-": [_of(TEXT, "option value")],
}
_MISSING = [{"item": NAME, "missing": WHOLE}]
# Null where a table larger than memory leaves it undecided.
_STRUCTURE = {
    **_of(WHOLE, "reviewers items reviews degrees_of_freedom?"),
    "connected": {"components": WHOLE},
    "doubly_connected?": _of(WHOLE, "components largest_cover"),
    **_of(FLAG, "recovery_resilient? recoverable?"),
    "level?": TEXT,
}
#: Papers and reviews that are not counted, and the files that were read.
_ORIGIN = {**_of([NAME], "hidden~ withdrawn~"), "lacking~": [{"item": NAME, "reviews": WHOLE}], "files": [_FILE]}

CHECK = {
    **_STRUCTURE,
    **_ORIGIN,
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
    **_of(ANYTHING, "unlisted-?~ expected_error-?~ keeps-?~"),
}

PLAN = {
    **_ORIGIN,
    **_of(TEXT, "status target?"),
    **_of(WHOLE, "count lower_bound largest_load largest_load_lower_bound?"),
    **_of(NUMBER, "cost affinity?"),
    "bounds": [{"value": WHOLE, **_of(TEXT, "kind words~")}],
    "explanation~": [TEXT],
    "timed_out~": FLAG,
    "largest_group?": _of(WHOLE, "before after"),
    "short": _MISSING,
    "reviews": [
        {
            **_PAIR,
            **_of(NUMBER, "cost affinity? gain?~"),
            **_of(WHOLE, "covers groups"),
            **_of(TEXT, "joins~ short~ buys~"),
        }
    ],
    "mail~": [{"reviewer": NAME, "text": TEXT}],
    "merges": [[WHOLE]],
    **_of(ANYTHING, "purchase?~ expected_error?~ recruit?~ rules~ rounds?~"),
}

ASSIGN = {
    **_ORIGIN,
    **_of(TEXT, "status target"),
    "reviews": [{**_PAIR, "affinity": NUMBER}],
    **_of(NUMBER, "affinity? affinity_unconstrained? price_percent? mean_affinity? minimum_affinity?"),
    **_of(NUMBER, "rewards bound? gap_percent?"),
    "critical?": [NAME],
    "survives?": FLAG,
    "changes?": {"kept": WHOLE, "dropped": [{**_PAIR, "reason~": TEXT}], "new": [_PAIR], "fewest?~": WHOLE},
    "below?": {"min_affinity": NUMBER, "reviews": [_PAIR], "fewest?~": WHOLE},
    "explanation~": TEXT,
    "timed_out~": FLAG,
    "short": _MISSING,
    "probabilities?": [{**_PAIR, "probability": NUMBER}],
    "draws?": {
        **_of(WHOLE, "certain~ support~ assignments?"),
        **_of(NUMBER, "max_probability? perturbation?~ expected_affinity~ expected_percent?~ gap_percent?~ entropy~"),
        **_of(NUMBER, "largest_probability~ mean_largest_probability~ at_level?~ at_level_mended?~ changed?~"),
        "lost_by_mending?~": NUMBER,
    },
    "usual_load?~": _of(WHOLE, "load least"),
    **_of(ANYTHING, "price_percent_at_least?~ rules~ price_of_rules_percent?~ forced~ authors?~ fair?~ recruit?~"),
    **_of(ANYTHING, "alternates-~ alternates_missing-~ fixed?~ exchanges-?~ price_percent_of_exchanges-?~"),
    **_of(ANYTHING, "price_percent_of_changes_and_threshold?~ not_exchanged-~"),
}

CALIBRATE = {
    **_ORIGIN,
    **_of(TEXT, "method status? hypothesis?"),
    "objective?": NUMBER,
    "unique?~": FLAG,
    "units?": [NUMBER],
    "items": [
        {
            "item": NAME,
            **_of(NUMBER, "quality? average? standard_error? probability-?"),
            **_of(WHOLE, "rank? group"),
            "interval-?": [NUMBER],
        }
    ],
    **_of([NAME], "selected set_aside certain- by_prior-~"),
    "discuss-": [{"item": NAME, "probability": NUMBER}],
    **_of(NUMBER, "error_rate- expected_wrong- expected_wrong_by_average-"),
    "lottery-": {"seed": WHOLE, "drawn": [NAME], "probabilities": [{"item": NAME, "probability": NUMBER}]},
    **_of(ANYTHING, "gain-?~ criteria-~ confidence-~ covariates-~ reviewers-?~ accounts-~ model-~ validity-?~"),
}

SCHEMAS: dict[str, dict[str, Any]] = {"check": CHECK, "plan": PLAN, "assign": ASSIGN, "calibrate": CALIBRATE}
#: Keys by which the JSON of each command is recognised.
KEYS = {
    "check": {"doubly_connected", "degrees_of_freedom"},
    "plan": {"merges", "bounds", "lower_bound"},
    "assign": {"affinity_unconstrained", "reviews"},
    "calibrate": {"method", "items"},
}


def named(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the keys of a schema by their names, without the marks at their ends."""
    return {key.rstrip("-?~"): key for key in schema}


def misfits(value: Any, schema: Any, place: str = "") -> Iterator[str]:
    """Yield what a schema does not allow in a value: missing or unknown keys, and values of another kind.

    >>> list(misfits({"count": 1.5, "moon": 1}, {"count": "a whole number", "sun": "a text", "star-": "a text"}))
    ['expected a key sun, found none', 'expected a whole number at count, found 1.5', 'found a key moon, which no such
    answer has']
    """
    if isinstance(schema, str):
        if schema != ANYTHING and (
            isinstance(value, bool) is not (schema == FLAG) or not isinstance(value, KINDS[schema])
        ):
            yield f"expected {schema} at {place}, found {cut(repr(value))}"
    elif not isinstance(value, type(schema)):
        yield f"expected {'a list' if isinstance(schema, list) else 'an object'} at {place}, found {cut(repr(value))}"
    elif isinstance(schema, list):
        for number, row in enumerate(value):
            yield from misfits(row, schema[0], f"{place}[{number}]")
    else:
        keys = named(schema)
        start = f"{place}." if place else ""
        for name, key in keys.items():
            if name not in value and "-" not in key:
                yield f"expected a key {start}{name}, found none"
        for name, part in value.items():
            inside = f"{start}{name}"
            if name not in keys:
                yield f"found a key {cut(inside)}, which no such answer has"
            elif part is not None or "?" not in keys[name]:
                yield from misfits(part, schema[keys[name]], inside)


def unseen(value: Any, schema: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the keys of a value that are not recomputed, each with its schema, where they hold anything.

    >>> rules = {"rules": [{"words~": TEXT}], "mail~": [TEXT]}
    >>> list(unseen({"rules": [{"words": "at most 2"}], "mail": []}, rules))
    [('rules[].words', 'a text')]
    """
    if isinstance(schema, list):
        for row in value or ():
            yield from unseen(row, schema[0], f"{place}[]")
    elif isinstance(schema, dict):
        for name, key in named(schema).items():
            part = schema[key]
            inside = f"{place}.{name}" if place else name
            entry = None if value is None else value.get(name)
            if entry in (None, "", []):
                continue
            if "~" in key:
                yield inside, part
            else:
                yield from unseen(entry, part, inside)

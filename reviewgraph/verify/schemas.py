"""Every key of an answer, and every column of a CSV, with its kind: other keys and columns are errors.

Every key is required, as every column that the command always writes, but for those that end with ``-``, which are
printed under some options or for some tables. A key that ends with ``?`` may be null. A key that ends with ``~`` is not
recomputed, only checked for its kind: it is compared with a second run of the command, or named as not checked. Where
keys are names, :data:`ANY` stands for all of them.
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
#: The key of a schema that stands for all keys, of objects whose keys are names.
ANY = "*"
KINDS: dict[str, tuple[type, ...]] = {
    NUMBER: (int, float),
    WHOLE: (int,),
    TEXT: (str,),
    FLAG: (bool,),
    NAME: (str, int, float),
    "a list": (list,),
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
_ASSUMED = _of(NUMBER, "noise severity stretch spread?")
_COUNTED = [{"item": NAME, "reviews": WHOLE}]
_RECRUIT = {**_of(WHOLE, "reviewers reviews load"), "papers": _COUNTED, "reaches_level~": FLAG}
_BEFORE_AND_AFTER = _of(NUMBER, "before? after?")
_ESTIMATE = _of(NUMBER, "probability? standard_error?")
# Null where a table larger than memory leaves it undecided.
_STRUCTURE = {
    **_of(WHOLE, "reviewers items reviews degrees_of_freedom?"),
    "connected": {"components": WHOLE},
    "doubly_connected?": _of(WHOLE, "components largest_cover"),
    **_of(FLAG, "recovery_resilient? recoverable?"),
    "level?": TEXT,
}

#: Papers and reviews that are not counted, and the files that were read.
_ORIGIN = {**_of([NAME], "hidden withdrawn"), "lacking": _COUNTED, "files": [_FILE]}

CHECK = {
    **_STRUCTURE,
    **_ORIGIN,
    "undecided-": [TEXT],
    "at_least-": _of(WHOLE, "largest_cover degrees_of_freedom"),
    "unlisted-?~": _of(TEXT, "papers listed_in"),
    "expected_error-?~": {
        **_of(NUMBER, "median? average?"),
        "worst": [{"item": NAME, **_of(NUMBER, "error? with_one_more?")}],
        "assumptions": _ASSUMED,
        "selected": WHOLE,
        "curve": [{"added": WHOLE, "right?": NUMBER}],
    },
    "fragile-?": {"level": TEXT, "holds": FLAG, "reviewers": [NAME], "reviews": [_PAIR]},
    "keeps-?~": [{"level": TEXT, **_ESTIMATE}],
    "as_of_now-": _STRUCTURE,
    "scored-": {"doubly_connected": _of(WHOLE, "components largest_cover"), "recovery_resilient": FLAG},
    "violations-": {
        "conflicts?": [_PAIR],
        "over_load?": [{"reviewer": NAME, **_of(WHOLE, "reviews load")}],
        "short?": [{"item": NAME, **_of(WHOLE, "reviews demand")}],
    },
}

_ASKED = [{"round": WHOLE, **_PAIR}]
_EXPECTED = {"rounds": WHOLE, **_of(NUMBER, "reviews wrong error")}
_ROUNDS = {
    **_of(WHOLE, "number left budget now share required held_back select capacity"),
    **_of(NUMBER, "worth? before"),
    "stop?": TEXT,
    "after": [_EXPECTED],
    "reach~": [_EXPECTED],
    "even~": _EXPECTED,
    **_of(TEXT, "name schedule"),
    "tried": [{"name": TEXT, "reviews": [WHOLE], **_of(NUMBER, "gain~ error~")}],
    "rules": _of(WHOLE, "spare? min_reviews? max_per_item?"),
    **_of(_ASKED, "earlier outstanding lost absent"),
    "fairness~": [
        {
            **_of(WHOLE, "first last"),
            **_of(NUMBER, "flat rounds"),
            "by_reviews": [{**_of(NUMBER, "share accepted?"), "papers": WHOLE}],
        }
    ],
    **_of(WHOLE, "rollouts~ seed~"),
    "beliefs": {
        **_of([NAME], "items reviewers"),
        **_of([NUMBER], "mean sd pending precision"),
        "price": NUMBER,
    },
}

PLAN = {
    **_ORIGIN,
    **_of(TEXT, "status target?"),
    **_of(WHOLE, "count lower_bound largest_load largest_load_lower_bound?"),
    **_of(NUMBER, "cost affinity?"),
    "bounds": [{"value": WHOLE, **_of(TEXT, "kind words~")}],
    "explanation~": [TEXT],
    "timed_out~": FLAG,
    "purchase?": {
        **_of(TEXT, "objective~ unit~"),
        **_BEFORE_AND_AFTER,
        "elsewhere~": _of(NUMBER, "at_random? borderline-? connection-?"),
    },
    "largest_group?": _of(WHOLE, "before after"),
    "expected_error?~": _BEFORE_AND_AFTER,
    "short": _MISSING,
    "recruit?": _RECRUIT,
    "rules": [{**_of(TEXT, "option words~"), "papers": WHOLE, "broken": [NAME]}],
    "reviews": [
        {
            **_PAIR,
            **_of(NUMBER, "cost affinity? gain?"),
            **_of(WHOLE, "covers groups"),
            **_of(TEXT, "joins~ short~ buys~"),
        }
    ],
    "mail": [{"reviewer": NAME, "text~": TEXT}],
    "merges": [[WHOLE]],
    "rounds?": _ROUNDS,
}

ASSIGN = {
    **_ORIGIN,
    **_of(TEXT, "status target"),
    "reviews": [{**_PAIR, "affinity": NUMBER}],
    **_of(NUMBER, "affinity affinity_unconstrained? price_percent? price_percent_at_least?~ mean_affinity?"),
    "minimum_affinity?": NUMBER,
    "rules~": [{**_of(TEXT, "option words"), **_of(WHOLE, "papers earned?")}],
    **_of(NUMBER, "rewards price_of_rules_percent?~ bound? gap_percent?"),
    "forced~": WHOLE,
    "critical?": [NAME],
    "survives?": FLAG,
    "exchanges?~": {
        "affinity": NUMBER,
        **_of(_BEFORE_AND_AFTER, "expected_error expected_right"),
        "assumptions": _ASSUMED,
    },
    **_of(NUMBER, "price_percent_of_exchanges?~ price_percent_of_changes_and_threshold?~"),
    "not_exchanged~": TEXT,
    "changes?": {"kept": WHOLE, "dropped": [{**_PAIR, "reason~": TEXT}], "new": [_PAIR], "fewest?~": WHOLE},
    "below?": {"min_affinity": NUMBER, "reviews": [_PAIR], "fewest?~": WHOLE},
    "authors?~": {
        **_of(WHOLE, "author_distance barred rivals cycles_of_three"),
        **_of(FLAG, "cycles_of_two coauthors"),
        **_of(NUMBER, "affinity? bound?"),
    },
    "fair?": {
        "way?~": TEXT,
        **_of(NUMBER, "floor?~ floor_best?~"),
        "smallest": _of(NUMBER, "before?~ after at_most?~"),
        "worst_tenth~": _BEFORE_AND_AFTER,
        "proved~": FLAG,
        "affinity?~": NUMBER,
        "below_floor~": [NAME],
    },
    "alternates-~": [{**_PAIR, "affinity": NUMBER, "replaces": [NAME], "everyone": FLAG}],
    "alternates_missing-~": [{"item": NAME, "found": WHOLE, "why": TEXT}],
    "explanation~": TEXT,
    "timed_out~": FLAG,
    "short": _MISSING,
    "recruit?": _RECRUIT,
    "probabilities?": [{**_PAIR, "probability": NUMBER}],
    "draws?": {
        **_of(WHOLE, "certain support assignments?"),
        **_of(NUMBER, "max_probability? perturbation?~ expected_affinity expected_percent? gap_percent?~ entropy"),
        **_of(NUMBER, "largest_probability mean_largest_probability at_level?~ at_level_mended?~ changed?~"),
        "lost_by_mending?~": NUMBER,
    },
    "usual_load?~": _of(WHOLE, "load least"),
    "fixed?": {
        "kept": WHOLE,
        "conflicts": [_PAIR],
        "above_demand": [{"item": NAME, **_of(WHOLE, "reviews demand")}],
        "above_load": [{"reviewer": NAME, **_of(WHOLE, "reviews load")}],
    },
}

CALIBRATE = {
    **_ORIGIN,
    **_of(TEXT, "method status? hypothesis?"),
    "objective?": NUMBER,
    "unique?": FLAG,
    "units?": [NUMBER],
    "gain-?~": {**_of(NUMBER, "relative standard_error error average_error"), "reviews": WHOLE},
    "criteria-~": {
        "target?": TEXT,
        "weights": {ANY: NUMBER},
        **_of(NUMBER, "gain? gain_error?"),
        **_of([TEXT], "used rejected"),
        "severities-": [
            {
                "reviewer": NAME,
                "criterion": TEXT,
                **_of(NUMBER, "severity own"),
                "interval": [NUMBER],
                "own_interval": [NUMBER],
            }
        ],
    },
    "confidence-~": {"used": FLAG, "gain": NUMBER},
    "covariates-~": {
        **_of(FLAG, "used"),
        **_of(NUMBER, "gain"),
        **_of(WHOLE, "opposite_rankings"),
        "factors": [
            {
                **_of(TEXT, "name kind of"),
                **_of(FLAG, "used"),
                **_of(NUMBER, "gain"),
                **_of(WHOLE, "known"),
                "effects": [{"level?": TEXT, "effect": NUMBER, "interval": [NUMBER]}],
            }
        ],
    },
    "reviewers-?": [
        {
            "reviewer": NAME,
            "scores": WHOLE,
            "misfit?": {
                **_of(NUMBER, "mean_square~ agreement?~ p_value~ corrected"),
                "contradicts": FLAG,
            },
        }
    ],
    "items": [
        {
            "item": NAME,
            **_of(NUMBER, "quality? average? standard_error? probability-? scaled-?"),
            **_of(WHOLE, "rank? group"),
            "interval-?": [NUMBER],
        }
    ],
    **_of([NAME], "selected set_aside certain- by_prior-~"),
    "discuss-": [{"item": NAME, "probability": NUMBER}],
    **_of(NUMBER, "error_rate- expected_wrong- expected_wrong_by_average-"),
    "lottery-": {"seed": WHOLE, "drawn": [NAME], "probabilities": [{"item": NAME, "probability": NUMBER}]},
    "accounts-": [
        {
            "item": NAME,
            **_of(NUMBER, "quality standard_error average middle"),
            "parts": [
                {
                    "source": TEXT,
                    "reviewer?": NAME,
                    **_of(NUMBER, "score? severity?~ stretch?~ says?~ weight?~ moves~"),
                    **_of({ANY: NUMBER}, "criteria-~ by_covariate-~"),
                    "covariate-~": TEXT,
                }
            ],
        }
    ],
    "model-~": {**_of(NUMBER, "evidence null_evidence kappa"), "hyperparameters": {ANY: NUMBER}},
    "validity-?~": {**_of(NUMBER, "slope sd unexplained"), "slope_interval": [NUMBER], "n": WHOLE},
    "scale-": {**_of(NUMBER, "slope intercept error"), "references": WHOLE},
}

SCHEMAS: dict[str, dict[str, Any]] = {"check": CHECK, "plan": PLAN, "assign": ASSIGN, "calibrate": CALIBRATE}
#: Keys by which the JSON of each command is recognised.
KEYS = {
    "check": {"doubly_connected", "degrees_of_freedom"},
    "plan": {"merges", "bounds", "lower_bound"},
    "assign": {"affinity_unconstrained", "reviews"},
    "calibrate": {"method", "items"},
}
#: Columns that a CSV must have, and the kinds of those that it may have, or that are no text.
COLUMNS: dict[str, tuple[set[str], dict[str, Any]]] = {
    "check": ({"role", "label", "group"}, {"title": TEXT}),
    "plan": ({"item", "reviewer", "joins"}, {**_of(NUMBER, "cost affinity"), "gain": TEXT}),
    "assign": ({"item", "reviewer", "affinity"}, {"affinity": NUMBER}),
    "calibrate": (
        {"item", "quality", "average", "rank"},
        {
            **_of(NUMBER, "quality average standard_error interval_low interval_high probability"),
            **_of(WHOLE, "rank group"),
            **_of(TEXT, "scaled list"),
        },
    ),
}
#: Columns that are not checked.
UNSEEN = ("joins", "gain", "title", "standard_error")


def named(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the keys of a schema by their names, without what says how they are checked."""
    return {key.rstrip("-?~"): key for key in schema}


def misfits(value: Any, schema: Any, place: str = "") -> Iterator[str]:
    """Yield what a schema does not allow in a value: missing or unknown keys, and values of another kind.

    >>> list(misfits({"count": 1.5, "moon": 1}, {"count": "a whole number", "sun": "a text", "star-": "a text"}))
    ['expected a key sun, found none', 'expected a whole number at count, found 1.5', 'found a key moon, which no such
    answer has']
    >>> list(misfits({"clear": 0.4, "new": "much"}, {"*": "a number"}, "weights"))
    ["expected a number at weights.new, found 'much'"]
    """
    if isinstance(schema, str):
        wrong = isinstance(value, bool) is not (schema == FLAG) or not isinstance(value, KINDS[schema])
        if wrong:
            yield f"expected {schema} at {place}, found {cut(repr(value))}"
    elif not isinstance(value, type(schema)):
        yield f"expected {'a list' if isinstance(schema, list) else 'an object'} at {place}, found {cut(repr(value))}"
    elif isinstance(schema, list):
        for number, row in enumerate(value):
            yield from misfits(row, schema[0], f"{place}[{number}]")
    elif ANY in schema:
        for name, part in value.items():
            yield from misfits(part, schema[ANY], f"{place}.{name}")
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

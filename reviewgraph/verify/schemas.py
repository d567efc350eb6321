"""Every key of an answer, and every column of a CSV, with its kind: other keys and columns are errors.

A key that ends with ``?`` may be null. A key that ends with ``~`` is not recomputed, only checked for its kind: it is
compared with a second run of the command, or named as not checked. Answers of earlier versions lack newer keys, so any
key may be missing here; what needs one raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reviewgraph.formats.files import cut

if TYPE_CHECKING:
    from collections.abc import Iterator


NUMBER, WHOLE, TEXT, FLAG, NAME = "a number", "a whole number", "a text", "true or false", "a name"
KINDS: dict[str, tuple[type, ...]] = {
    NUMBER: (int, float),
    WHOLE: (int,),
    TEXT: (str,),
    FLAG: (bool,),
    NAME: (str, int, float),
    "a list": (list,),
    "an object": (dict,),
}

#: Hyperparameters of the posterior.
HYPERPARAMETERS = (
    *("mu", "log_tau_left", "log_tau_right", "g0", "g1", "log_omega", "nu", "rho"),
    *("gamma", "log_own", "logit_w", "log_s_r"),
)

_PAIR = {"reviewer": NAME, "item": NAME}
_FILES = [
    {
        "file": TEXT,
        "sheets": [TEXT],
        "rows": WHOLE,
        "scored?": WHOLE,
        "left_out": [{"rows": WHOLE, "why": TEXT}],
        "sha256": TEXT,
        "options": [{"option": TEXT, "value": TEXT}],
    }
]
_MISSING = [{"item": NAME, "missing": WHOLE}]
_ASSUMED = {"noise": NUMBER, "severity": NUMBER, "stretch": NUMBER, "spread?": NUMBER}
_RECRUIT = {
    "reviewers": WHOLE,
    "reviews": WHOLE,
    "load": WHOLE,
    "papers": [{"item": NAME, "reviews": WHOLE}],
    "reaches_level~": FLAG,
}
_BEFORE_AND_AFTER = {"before?": NUMBER, "after?": NUMBER}
_ESTIMATE = {"probability?": NUMBER, "standard_error?": NUMBER}
# Null where a table larger than memory leaves it undecided.
_STRUCTURE = {
    "reviewers": WHOLE,
    "items": WHOLE,
    "reviews": WHOLE,
    "connected": {"components": WHOLE},
    "doubly_connected?": {"components": WHOLE, "largest_cover": WHOLE},
    "recovery_resilient?": FLAG,
    "recoverable?": FLAG,
    "degrees_of_freedom?": WHOLE,
    "level?": TEXT,
}

CHECK = {
    **_STRUCTURE,
    "files": _FILES,
    "undecided": [TEXT],
    "at_least": {"largest_cover": WHOLE, "degrees_of_freedom": WHOLE},
    "unlisted?~": {"papers": TEXT, "listed_in": TEXT},
    "expected_error?~": {
        "median?": NUMBER,
        "average?": NUMBER,
        "by_scores_alone?": NUMBER,
        "worst": [{"item": NAME, "error?": NUMBER, "with_one_more?": NUMBER}],
        "assumptions": _ASSUMED,
        "selected": WHOLE,
        "curve": [{"added": WHOLE, "right?": NUMBER}],
    },
    "fragile?": {"level": TEXT, "holds": FLAG, "reviewers": [NAME], "reviews": [_PAIR]},
    "keeps?~": [{"level": TEXT, **_ESTIMATE}],
    "as_of_now": _STRUCTURE,
    "scored": {"doubly_connected": {"components": WHOLE, "largest_cover": WHOLE}, "recovery_resilient": FLAG},
    "violations": {
        "conflicts?": [_PAIR],
        "over_load?": [{"reviewer": NAME, "reviews": WHOLE, "load": WHOLE}],
        "short?": [{"item": NAME, "reviews": WHOLE, "demand": WHOLE}],
    },
}

PLAN = {
    "files": _FILES,
    "status": TEXT,
    "target?": TEXT,
    "count": WHOLE,
    "cost": NUMBER,
    "affinity?": NUMBER,
    "lower_bound": WHOLE,
    "largest_load": WHOLE,
    "largest_load_lower_bound?": WHOLE,
    "bounds": [{"value": WHOLE, "kind": TEXT, "words~": TEXT}],
    "explanation~": [TEXT],
    "timed_out~": FLAG,
    "purchase?": {
        "objective~": TEXT,
        "unit~": TEXT,
        **_BEFORE_AND_AFTER,
        "elsewhere~": {"at_random?": NUMBER, "borderline?": NUMBER, "connection?": NUMBER},
    },
    "largest_group?": {"before": WHOLE, "after": WHOLE},
    "expected_error?~": _BEFORE_AND_AFTER,
    "short": _MISSING,
    "recruit?": _RECRUIT,
    "rules": [{"option": TEXT, "words~": TEXT, "papers": WHOLE, "broken": [NAME]}],
    "reviews": [
        {
            **_PAIR,
            "cost": NUMBER,
            "joins~": TEXT,
            "short~": TEXT,
            "covers": WHOLE,
            "groups": WHOLE,
            "affinity?": NUMBER,
            "gain?": NUMBER,
            "buys~": TEXT,
        }
    ],
    "mail": [{"reviewer": NAME, "text~": TEXT}],
    "merges": [[WHOLE]],
    "keeping?~": {
        "missing": NUMBER,
        "wanted": NUMBER,
        "before": _ESTIMATE,
        "after": _ESTIMATE,
        "attained": FLAG,
    },
}

ASSIGN = {
    "files": _FILES,
    "status": TEXT,
    "target": TEXT,
    "reviews": [{**_PAIR, "affinity": NUMBER}],
    "affinity": NUMBER,
    "affinity_unconstrained?": NUMBER,
    "price_percent?": NUMBER,
    "price_percent_at_least?~": NUMBER,
    "mean_affinity?": NUMBER,
    "minimum_affinity?": NUMBER,
    "rules~": [{"option": TEXT, "words": TEXT, "papers": WHOLE, "earned?": WHOLE}],
    "rewards": NUMBER,
    "price_of_rules_percent?~": NUMBER,
    "bound?": NUMBER,
    "gap_percent?": NUMBER,
    "forced~": WHOLE,
    "critical?": [NAME],
    "survives?": FLAG,
    "exchanges?~": {
        "affinity": NUMBER,
        "expected_error": _BEFORE_AND_AFTER,
        "expected_right": _BEFORE_AND_AFTER,
        "assumptions": _ASSUMED,
    },
    "price_percent_of_exchanges?~": NUMBER,
    "price_percent_of_changes_and_threshold?~": NUMBER,
    "not_exchanged~": TEXT,
    "changes?": {"kept": WHOLE, "dropped": [{**_PAIR, "reason~": TEXT}], "new": [_PAIR], "fewest?~": WHOLE},
    "below?": {"min_affinity": NUMBER, "reviews": [_PAIR], "fewest?~": WHOLE},
    "authors?~": {
        "author_distance": WHOLE,
        "cycles_of_two": FLAG,
        "coauthors": FLAG,
        "barred": WHOLE,
        "rivals": WHOLE,
        "cycles_of_three": WHOLE,
        "affinity?": NUMBER,
        "bound?": NUMBER,
    },
    "fair?": {
        "way?~": TEXT,
        "floor?~": NUMBER,
        "floor_best?~": NUMBER,
        "smallest": {"before?~": NUMBER, "after": NUMBER, "at_most?~": NUMBER},
        "worst_tenth~": _BEFORE_AND_AFTER,
        "proved~": FLAG,
        "affinity?~": NUMBER,
        "below_floor~": [NAME],
    },
    "alternates~": [{**_PAIR, "affinity": NUMBER, "replaces": [NAME], "everyone": FLAG}],
    "alternates_missing~": [{"item": NAME, "found": WHOLE, "why": TEXT}],
    "explanation~": TEXT,
    "timed_out~": FLAG,
    "short": _MISSING,
    "recruit?": _RECRUIT,
    "probabilities?": [{**_PAIR, "probability": NUMBER}],
    "draws?": {
        "max_probability?": NUMBER,
        "perturbation?~": NUMBER,
        "certain": WHOLE,
        "expected_affinity": NUMBER,
        "expected_percent?": NUMBER,
        "gap_percent?~": NUMBER,
        "support": WHOLE,
        "entropy": NUMBER,
        "largest_probability": NUMBER,
        "mean_largest_probability": NUMBER,
        "assignments?": WHOLE,
        "at_level?~": NUMBER,
        "at_level_mended?~": NUMBER,
        "changed?~": NUMBER,
        "lost_by_mending?~": NUMBER,
    },
}

CALIBRATE = {
    "files": _FILES,
    "method": TEXT,
    "status?": TEXT,
    "hypothesis?": TEXT,
    "objective?": NUMBER,
    "unique?": FLAG,
    "units?": [NUMBER],
    "gain?": {
        "relative": NUMBER,
        "standard_error": NUMBER,
        "error": NUMBER,
        "average_error": NUMBER,
        "reviews": WHOLE,
    },
    "reviewers?": [
        {
            "reviewer": NAME,
            "scores": WHOLE,
            "misfit?": {
                "mean_square": NUMBER,
                "agreement?": NUMBER,
                "p_value": NUMBER,
                "corrected": NUMBER,
                "contradicts": FLAG,
            },
        }
    ],
    "items": [
        {
            "item": NAME,
            "quality?": NUMBER,
            "average?": NUMBER,
            "rank?": WHOLE,
            "standard_error?": NUMBER,
            "group": WHOLE,
            "interval?": [NUMBER],
            "probability?": NUMBER,
            "scaled?": NUMBER,
        }
    ],
    "selected": [NAME],
    "set_aside": [NAME],
    "certain": [NAME],
    "discuss": [{"item": NAME, "probability": NUMBER}],
    "error_rate": NUMBER,
    "expected_wrong": NUMBER,
    "expected_wrong_by_average": NUMBER,
    "lottery": {"seed": WHOLE, "drawn": [NAME], "probabilities": [{"item": NAME, "probability": NUMBER}]},
    "accounts": [
        {
            "item": NAME,
            "quality": NUMBER,
            "standard_error": NUMBER,
            "average": NUMBER,
            "middle": NUMBER,
            "parts": [
                {
                    "source": TEXT,
                    "reviewer?": NAME,
                    "score?": NUMBER,
                    "severity?": NUMBER,
                    "stretch?": NUMBER,
                    "says?": NUMBER,
                    "weight?": NUMBER,
                    "moves": NUMBER,
                }
            ],
        }
    ],
    "model": {
        "evidence": NUMBER,
        "null_evidence": NUMBER,
        "hyperparameters": dict.fromkeys(HYPERPARAMETERS, NUMBER),
        "kappa": NUMBER,
        "half_log_determinant": NUMBER,
        "reviewers": [{"reviewer": NAME, "nodes": [NUMBER]}],
        "reviews": [{**_PAIR, "messages": [NUMBER]}],
    },
    "scale": {"slope": NUMBER, "intercept": NUMBER, "error": NUMBER, "references": WHOLE},
}

SCHEMAS: dict[str, dict[str, Any]] = {"check": CHECK, "plan": PLAN, "assign": ASSIGN, "calibrate": CALIBRATE}
#: Columns that a CSV must have, and those that it may have.
COLUMNS = {
    "check": ({"role", "label", "group"}, {"title"}),
    "plan": ({"item", "reviewer", "joins"}, {"cost", "affinity", "gain"}),
    "assign": ({"item", "reviewer", "affinity"}, set[str]()),
    "calibrate": (
        {"item", "quality", "average", "rank"},
        {"standard_error", "group", "interval_low", "interval_high", "probability", "scaled", "list"},
    ),
}
#: Columns that are not checked.
UNSEEN = ("joins", "gain", "title", "standard_error", "scaled")


def misfits(value: Any, schema: Any, place: str = "") -> Iterator[str]:
    """Yield what a schema does not allow in a value: unknown keys, and values of another kind.

    >>> list(misfits({"count": 1.5, "moon": 1}, {"count": "a whole number"}))
    ['expected a whole number at count, found 1.5', 'found a key moon, which no such answer has']
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
    else:
        known = {key.rstrip("?~"): key for key in schema}
        for name, part in value.items():
            inside = f"{place}.{name}" if place else name
            if name not in known:
                yield f"found a key {cut(inside)}, which no such answer has"
            elif part is not None or "?" not in known[name]:
                yield from misfits(part, schema[known[name]], inside)


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
        for key, part in schema.items():
            name = key.rstrip("?~")
            inside = f"{place}.{name}" if place else name
            entry = None if value is None else value.get(name)
            if entry in (None, "", []):
                continue
            if "~" in key:
                yield inside, part
            else:
                yield from unseen(entry, part, inside)

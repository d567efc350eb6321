"""Validation of the arguments of public functions by their type hints.

A :func:`checked` function raises InputError for arguments that its hints exclude; it validates ranges itself. Hints of
data, such as reviews and pairs, are left to the functions that read them.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar, overload

from reviewgraph._base.errors import InputError, warn
from reviewgraph._base.text import listed

if TYPE_CHECKING:
    import numpy as np

    from reviewgraph._base.arrays import FloatArray


P = ParamSpec("P")
R = TypeVar("R")

#: The flag of code that takes keywords of any name.
TAKES_ANY = 0x08
#: Largest whole number: counts and codes have 64 bits.
LARGEST = 2**63 - 1
#: Affinities and costs beyond this are refused: their sums could exceed double precision.
BEYOND = 1e301


class Kind(NamedTuple):
    """The values that a hint accepts, and words for them."""

    words: str
    takes: Callable[[Any], bool]


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) <= LARGEST


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, Real) and isinstance(float(value), float)  # what is no number refuses NaN by itself
    except OverflowError:  # 10^400 is a number, and none in double precision
        return False


def in_double(value: Any) -> Any:
    """Return a number of another type in double precision: infinity of 32 bits equals any bound beyond them."""
    is_other_type = isinstance(value, Real) and not isinstance(value, float | Integral)
    return float(value) if is_other_type else value


def _is_listing(value: Any) -> bool:
    dimensions = getattr(value, "ndim", 1)
    return isinstance(value, Iterable) and not isinstance(value, str | bytes) and dimensions == 1


def _are_labels(value: Any) -> bool:
    # Of many labels only the types are checked.
    types = set(map(type, value)) if isinstance(value, list | tuple) else set()
    return _is_listing(value) and all(kind.__hash__ is not None for kind in types)


def _are_pairs(value: Any) -> bool:
    pairs = value if isinstance(value, list | tuple | set) else ()
    return _is_listing(value) and all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs)


def _are_codes(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "") in tuple("biu") and hasattr(value, "shape")


def _is_path(value: Any) -> bool:
    try:
        return isinstance(value, str | os.PathLike) and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:  # half of a pair of surrogates
        return False


def _are_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair)


def _is_label(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


_TEXT = Kind("a text", lambda value: isinstance(value, str))
_LISTING = Kind("a list", _is_listing)
_LABELS = Kind("a list of labels", _are_labels)
_CODES = Kind("an array of whole numbers", _are_codes)

#: By a hint, or the outermost name of one.
KINDS: dict[str, Kind] = {
    "int": Kind("a whole number", _is_whole),
    "count": Kind("a whole number, 0 or more", lambda value: _is_whole(value) and value >= 0),
    "float": Kind("a number", _is_number),
    "bool": Kind("True or False", lambda value: isinstance(value, bool) or type(value).__name__ == "bool"),
    **dict.fromkeys(("LevelName", "PlanTarget", "AssignmentTarget", "ObjectiveName", "MethodName"), _TEXT),
    **dict.fromkeys(("str", "Duplicates", "Literal", "Backend"), _TEXT),
    **dict.fromkeys(("Path", "PathLike"), Kind("the name of a file", _is_path)),
    "Callable": Kind("a function", callable),
    **dict.fromkeys(("Iterable", "Sequence"), _LISTING),
    **dict.fromkeys(("Iterable[Label]", "Iterable[Any]", "Iterable[str]", "Sequence[Label]"), _LABELS),
    "list of pairs": Kind("pairs of labels", _are_pairs),
    "Mapping": Kind("a mapping", lambda value: isinstance(value, Mapping)),
    "Mapping[str, str]": Kind("a mapping of texts", _are_texts),
    **dict.fromkeys(("IntArray", "BoolArray"), _CODES),
    "Label": Kind("a label", _is_label),
}
#: Objects, recognised by the name of their class: importing them here would load unused modules.
OBJECTS = (
    "Assumptions", "Columns", "Components", "Graph", "PartedReviews", "Plan", "Posterior", "Rules", "Selection",
    "Spellings",
)  # fmt: skip


def _object(name: str, words: str = "") -> Kind:
    article = "an" if name[0] in "AEIOU" else "a"
    return Kind(words or f"{article} {name}", lambda value: any(base.__name__ == name for base in type(value).__mro__))


KINDS |= {name: _object(name) for name in OBJECTS}
KINDS["Search"] = _object("Search", "a Search such as Search(time_limit=60)")
KINDS["Generator"] = _object("Generator", "a numpy.random.Generator such as numpy.random.default_rng(0)")


def kinds_of(hint: str) -> tuple[Kind, ...]:
    """Return the kinds that a hint accepts; nothing where some part of it is not validated, or is None alone.

    >>> [kind.words for kind in kinds_of("int | PartedReviews")], kinds_of("Valued | None")
    (['a whole number', 'a PartedReviews'], ())
    """
    parts = [part for part in _parts(hint) if part != "None"]
    names = [part if part in KINDS else part.partition("[")[0].rpartition(".")[2] for part in parts]
    if "PathLike" in names:  # a text beside it is one, too
        names.remove("str")
    return tuple(KINDS[name] for name in names) if all(name in KINDS for name in names) else ()


def _parts(hint: str) -> list[str]:
    """Split a hint at the bars outside of brackets."""
    parts = [""]
    depth = 0
    for letter in hint:
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip(" \"'") for part in parts]


def refuse(name: str, value: Any, hint: str) -> Any:
    """Raise InputError unless a hint accepts a value; return it, numbers in double precision.

    >>> refuse("n", 2, "int")
    2
    >>> refuse("n", "two", "int")
    Traceback (most recent call last):
    reviewgraph._base.errors.InputError: n: expected a whole number, found 'two'
    """
    _refuse(name, value, kinds_of(hint))
    return in_double(value)


def _refuse(name: str, value: Any, accepted: tuple[Kind, ...]) -> None:
    if not any(kind.takes(value) for kind in accepted):
        words = " or ".join(kind.words for kind in accepted)
        raise InputError(f"{name}: expected {words}, found {listed([repr(value)])}{_advice(name, value)}")


def _advice(name: str, value: Any) -> str:
    """Return what to write instead of a value that is often passed to an argument.

    >>> _advice("n_selected", 0.2), _advice("n_selected", "x")
    ('; write "20%" for a share of the items', '')
    """
    if name == "n_selected" and isinstance(value, float) and 0 < value < 1:
        return f'; write "{100 * value:.3g}%" for a share of the items'
    if name == "n_selected" and str(value).endswith("%"):
        return f"; to select the best, write calibrate(...).selection({value!r})"
    if name == "name" and hasattr(value, "axhline"):
        return "; pass axes as ax=..."
    return ""


def as_numbers(name: str, values: Any) -> FloatArray:
    """Return values as an array of double precision, a copy."""
    import numpy as np

    try:
        return np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: expected numbers, found something else ({error})") from error


def check_draws(number: int, name: str = "draws", least: int = 1, most: int = LARGEST) -> None:
    """Refuse a number of draws that is not from ``least`` to ``most``."""
    if not least <= number <= most:
        words = f"{least} or more" if number < least else f"{most:,} or fewer"
        raise InputError(f"{name}: expected a number of draws, {words}, found {number:,}")


def check_magnitude(name: str, values: Any) -> None:
    """Raise InputError for numbers beyond :data:`BEYOND`; sums and differences of others are finite. NaN passes.

    >>> check_magnitude("affinity", [1.0, float("nan")])
    >>> check_magnitude("affinity", [1.0, -1e308])
    Traceback (most recent call last):
    reviewgraph._base.errors.InputError: affinity: expected numbers up to 1e+301, found -1e+308; use a smaller unit
    """
    import numpy as np

    numbers = np.ravel(values)
    beyond = numbers[np.abs(numbers) > BEYOND]
    if beyond.size:
        raise InputError(f"{name}: expected numbers up to {BEYOND:g}, found {beyond[0]:g}; use a smaller unit")


def count_of(value: Any, name: str) -> int:
    """Return a number of reviews, a whole number of any type: data frames turn them into floats."""
    whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())
    if not whole or isinstance(value, bool) or value < 0:
        raise InputError(f"{name}: expected a whole number, 0 or more, found {value!r}")
    return int(value)


def selected_of(number: int | str, most: int) -> int:
    """Return the number of items to select, which may be a percentage of those that can be selected, one at least.

    >>> selected_of(3, 25), selected_of("10%", 25), selected_of("10%", 4), selected_of("0%", 4)
    (3, 3, 1, 0)
    """
    if not isinstance(number, str):
        return number
    try:
        share = float(number.strip().removesuffix("%")) if number.strip().endswith("%") else -1.0
    except ValueError:
        share = -1.0
    if not 0 <= share <= 100:
        raise InputError(f'n_selected: expected a number of items, or a percentage as in "20%", found {number!r}')
    least = 1 if share > 0 and most else 0
    return max(int(share / 100 * most + 0.5), least)


def whole_seed(seed: int | np.random.Generator) -> int:
    """Return a seed as a whole number, which a generator draws."""
    if isinstance(seed, int):
        return seed
    return int(seed if isinstance(seed, Integral) else seed.integers(LARGEST))


# Bounds of a search.


@dataclass(frozen=True)
class Search:
    """Time limit, random seed and progress of :func:`plan` and :func:`assign`, passed as ``search``.

    Parameters
    ----------
    time_limit
        Seconds. At the limit, and after Ctrl-C, the best result so far is returned. None (default) for no limit: the
        search ends by itself, with the same result on every machine.
    seed
        Seed or generator of random choices, 0 by default.
    progress
        Called with an object that has the seconds, the step in words, and what is known so far; None by default.

    Raises
    ------
    InputError
        If a value is malformed, or the time limit negative.

    Examples
    --------
    >>> Search(time_limit=60)
    Search(time_limit=60, seed=0, progress=None)
    """

    time_limit: float | None = None
    seed: int | np.random.Generator = 0
    progress: Callable[[Any], object] | None = None

    def __post_init__(self) -> None:
        """Refuse malformed values."""
        for field in fields(self):
            value = getattr(self, field.name)
            hint = str(field.type).replace("int", "count")
            if value is not None or "None" not in hint:
                refuse(field.name, value, hint)
        if self.time_limit is not None and not 0 <= self.time_limit <= math.inf:
            raise InputError(f"time_limit: expected seconds, 0 or more, found {self.time_limit!r}")


#: What a keyword may mean in a function that has another name for it, the likelier first: a name, or words with "=".
MEANT: dict[str, tuple[str, ...]] = {
    "load": ("capacity", "spare"),
    **dict.fromkeys(("loads", "max_load", "reviews_per_reviewer"), ("load", "capacity", "spare")),
    "capacity": ("load",),
    "spare": ("load",),
    "demand": ("min_reviews",),
    "min_reviews": ("demand",),
    **dict.fromkeys(
        ("demands", "reviews_per_item", "reviews_per_paper", "reviewers_per_paper", "n_reviewers_per_paper"),
        ("demand", "min_reviews"),
    ),
    **dict.fromkeys(
        ("budget", "k", "max_reviews", "max_review", "max_extra", "n_reviews", "n_extra", "num_reviews", "extra"),
        ("n", "n_selected"),
    ),
    **dict.fromkeys(("coi", "cois", "conflicts_of_interest", "forbidden", "blocked", "exclude"), ("conflicts",)),
    **dict.fromkeys(("similarity", "similarities", "matrix"), ("affinity",)),
    **dict.fromkeys(("rater", "judge", "grader", "annotator", "marker", "user"), ("reviewer",)),
    **dict.fromkeys(("essay", "prompt", "proposal", "submission"), ("item",)),
    **dict.fromkeys(("alpha", "error", "confidence"), ("error_rate",)),
    **dict.fromkeys(("cv", "n_folds", "n_splits"), ("folds",)),
    **dict.fromkeys(("lottery", "perturbation"), ("max_probability",)),
    "survive": ("target='survives-reviewer'",),
    "per_change": ("previous",),
    "author_distance": ("conflicts",),
    "after": ("rounds",),
    **dict.fromkeys(("seed", "random_state", "rng", "random_seed"), ("seed", "search=Search(seed=...)")),
    **dict.fromkeys(("time_limit", "timeout", "max_time", "seconds"), ("search=Search(time_limit=...)",)),
    **dict.fromkeys(("progress", "callback", "verbose"), ("progress", "search=Search(progress=...)")),
    **dict.fromkeys(("n", "select", "n_accept", "top"), ("n_selected",)),
    "objective": ("goal",),
    **dict.fromkeys(("reward", "rewards"), ("at_least",)),
    "paper": ("item",),
    "papers": ("items",),
    "level": ("target",),
    "require": ("target",),
}
#: Arguments that went, and what to do instead.
GONE = dict.fromkeys(
    ("item_covariates", "reviewer_covariates", "rankings"), "adjust the scores, or compare the groups, beforehand"
)
#: Arguments of what reads a data frame.
_OF_FRAMES = (
    *("columns", "reviewer", "item", "paper", "score", "criteria", "scale", "title", "confidence", "criterion"),
    *("lower_is_better", "duplicates", "merge", "accept"),
)


def unexpected(caller: str, name: str, taken: Collection[str]) -> TypeError:
    """Return Python's error for a keyword that a function does not have, with the one that may be meant.

    >>> print(unexpected("check", "capacity", ["load", "conflicts"]))
    check() got an unexpected keyword argument 'capacity'; did you mean load?
    >>> print(unexpected("plan", "seed", ["n", "search"]))
    plan() got an unexpected keyword argument 'seed'; did you mean search=Search(seed=...)?
    >>> print(unexpected("check", "score", ["reviews", "load"]))
    check() got an unexpected keyword argument 'score'; pass Reviews(table, score=...) as reviews
    """
    from difflib import get_close_matches

    meant = [words for words in MEANT.get(name, ()) if words.partition("=")[0] in taken]
    meant = meant or get_close_matches(name, taken, 1)
    advice = ""
    if name in _OF_FRAMES and "reviews" in taken:
        advice = f"; pass Reviews(table, {name}=...) as reviews"
    elif name in GONE:
        advice = f"; it is no longer one: {GONE[name]}"
    elif caller == "check" and name in ("target", "level", "require"):
        advice = "; compare the level of the report: check(reviews).level == 'double'"
    elif meant:
        advice = f"; did you mean {meant[0]}?"
    return TypeError(f"{caller}() got an unexpected keyword argument {name!r}{advice}")


def renamed(caller: str, keywords: Mapping[str, Any], old: Mapping[str, str]) -> dict[str, Any]:
    """Return keywords under their new names, with a DeprecationWarning for each old one; ``"search.seed"`` is a field.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     renamed("plan", {"max_reviews": 5}, {"max_reviews": "n"}), str(caught[0].message)
    ({'n': 5}, 'plan(): max_reviews is n=... from now on; the old name will be removed')
    """
    new = {name: value for name, value in keywords.items() if name not in old}
    for name in keywords.keys() & old.keys():
        place, _, field = old[name].partition(".")
        words = f"{place}=Search({field}=...)" if field else f"{place}=..."
        warn(f"{caller}(): {name} is {words} from now on; the old name will be removed", DeprecationWarning)
        value = keywords[name]
        if field:
            value = replace(new.get(place) or Search(), **{field: value})
        elif place in new:
            raise TypeError(f"{caller}() got both {place!r} and {name!r}, its old name")
        new[place] = value
    return new


@overload
def checked(function: Callable[P, R]) -> Callable[P, R]: ...


@overload
def checked(
    *, options: type | None = ..., old: Mapping[str, str] = ...
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def checked(function: Any = None, *, options: type | None = None, old: Mapping[str, str] | None = None) -> Any:
    """Return a function that raises :class:`InputError` for arguments which its hints exclude.

    ``None`` is accepted where the hint has it; a seed must not be negative. Numbers become those of double precision,
    whole ones stay. ``options`` is the TypedDict of the keywords that ``**options`` takes, and ``old`` has new names by
    old ones, which warn. Other keywords are a TypeError, which names the one that may be meant.

    >>> @checked
    ... def repeated(text: "str", times: "int" = 2) -> "str":
    ...     return text * times
    >>> repeated("ab")
    'abab'
    >>> repeated("ab", 1.5)
    Traceback (most recent call last):
    reviewgraph._base.errors.InputError: times: expected a whole number, found 1.5
    """
    if function is not None:
        return _checked(function)
    return functools.partial(_checked, options=options, old=old or {})


def _checked(function: Callable[P, R], options: type | None = None, old: Mapping[str, str] | None = None) -> Any:
    hints = {name: str(hint) for name, hint in function.__annotations__.items() if name != "return"}
    further = {} if options is None else {name: _words(hint) for name, hint in options.__annotations__.items()}
    hints |= further
    taken = {name: kinds for name, hint in hints.items() if (kinds := kinds_of(hint))}
    if "seed" in taken:
        taken["seed"] = kinds_of(hints["seed"].replace("int", "count"))
    optional = {name for name, hint in hints.items() if "None" in _parts(hint)}
    numbers = {name for name, hint in hints.items() if "float" in _parts(hint)}
    code = function.__code__
    n_named = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[: code.co_argcount]
    many = code.co_varnames[n_named:]
    words = function.__qualname__.removesuffix(".__init__")
    accepted = (*code.co_varnames[:n_named], *further)
    is_open = bool(code.co_flags & TAKES_ANY) and options is None

    def validated(name: str, value: Any) -> Any:
        if name in taken and not (value is None and name in optional):
            _refuse(name, value, taken[name])
        return in_double(value) if name in numbers else value

    def validated_keyword(name: str, value: Any) -> Any:
        if not is_open and name not in accepted:
            raise unexpected(words, name, accepted)
        return validated(name, value)

    under_new_names = functools.partial(renamed, words, old=old or {})

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        values: Any = [validated(names[k] if k < len(names) else many[0], value) for k, value in enumerate(args)]
        keywords: Any = {name: validated_keyword(name, value) for name, value in under_new_names(kwargs).items()}
        return function(*values, **keywords)

    # With the globals of the function, so that inspection finds it in the function's module.
    made = FunctionType(run.__code__, function.__globals__, function.__name__, None, run.__closure__)
    return functools.wraps(function)(made)


def _words(hint: Any) -> str:
    """Return the text of a hint of a TypedDict."""
    return str(getattr(hint, "__forward_arg__", hint))

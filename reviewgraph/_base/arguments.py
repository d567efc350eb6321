"""Validation of the arguments of public functions by their type hints.

A :func:`checked` function raises InputError for arguments that its hints exclude; it validates ranges itself. Hints of
data, such as reviews and pairs, are left to the functions that read them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from numbers import Integral, Real
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar, overload

from reviewgraph._base.errors import InputError
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
    "Path": Kind("the name of a file", _is_path),
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
KINDS["Generator"] = _object("Generator", "a numpy.random.Generator such as numpy.random.default_rng(0)")


def kinds_of(hint: str) -> tuple[Kind, ...]:
    """Return the kinds that a hint accepts; nothing where some part of it is not validated, or is None alone.

    >>> [kind.words for kind in kinds_of("int | PartedReviews")], kinds_of("Valued | None")
    (['a whole number', 'a PartedReviews'], ())
    """
    parts = [part for part in _parts(hint) if part != "None"]
    names = [part if part in KINDS else part.partition("[")[0].rpartition(".")[2] for part in parts]
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
        message = f"{name}: expected {' or '.join(kind.words for kind in accepted)}, found {listed([repr(value)])}"
        raise InputError(message)


def as_numbers(name: str, values: Any) -> FloatArray:
    """Return values as an array of double precision, a copy."""
    import numpy as np

    try:
        return np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        message = f"{name}: expected numbers, found something else ({error})"
        raise InputError(message) from error


def check_draws(number: int, name: str = "draws", least: int = 1, most: int = LARGEST) -> None:
    """Refuse a number of draws that is not from ``least`` to ``most``."""
    if not least <= number <= most:
        words = f"{least} or more" if number < least else f"{most:,} or fewer"
        message = f"{name}: expected a number of draws, {words}, found {number:,}"
        raise InputError(message)


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
        message = f"{name}: expected numbers up to {BEYOND:g}, found {beyond[0]:g}; use a smaller unit"
        raise InputError(message)


def count_of(value: Any, name: str) -> int:
    """Return a number of reviews, a whole number of any type: data frames turn them into floats."""
    whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())
    if not whole or isinstance(value, bool) or value < 0:
        message = f"{name}: expected a whole number, 0 or more, found {value!r}"
        raise InputError(message)
    return int(value)


def whole_seed(seed: int | np.random.Generator) -> int:
    """Return a seed as a whole number, which a generator draws."""
    if isinstance(seed, int):
        return seed
    return int(seed if isinstance(seed, Integral) else seed.integers(LARGEST))


#: What a keyword may mean in a function that has another name for it, the likelier first.
MEANT: dict[str, tuple[str, ...]] = {
    "load": ("capacity", "spare"),
    "loads": ("load", "capacity", "spare"),
    "max_load": ("load", "capacity", "spare"),
    "capacity": ("load",),
    "spare": ("load",),
    "demand": ("min_reviews",),
    "demands": ("demand", "min_reviews"),
    "min_reviews": ("demand",),
    "reviews_per_item": ("demand", "min_reviews"),
    "lottery": ("max_probability",),
    "random_state": ("seed",),
    "rng": ("seed",),
    "n": ("n_selected",),
    "select": ("n_selected",),
    "level": ("target",),
}
#: Arguments of what reads a data frame.
_OF_FRAMES = ("columns", "score", "criteria", "scale", "lower_is_better", "duplicates", "merge", "accept")
#: Names of columns, as arguments.
_OF_COLUMNS = ("reviewer", "item", "title", "confidence", "criterion")


def unexpected(caller: str, name: str, taken: Collection[str]) -> TypeError:
    """Return Python's error for a keyword that a function does not have, with the one that may be meant.

    >>> print(unexpected("check", "capacity", ["load", "conflicts"]))
    check() got an unexpected keyword argument 'capacity'; did you mean load?
    >>> print(unexpected("check", "score", ["reviews", "load"]))
    check() got an unexpected keyword argument 'score'; pass Reviews.from_frame(frame, score=...) as reviews
    >>> print(unexpected("Reviews.from_frame", "reviewer", ["frame", "columns"]))
    Reviews.from_frame() got an unexpected keyword argument 'reviewer'; did you mean columns={"reviewer": ...}?
    """
    from difflib import get_close_matches

    column = f'columns={{"{name}": ...}}'
    meant = [keyword for keyword in MEANT.get(name, ()) if keyword in taken] or get_close_matches(name, taken, 1)
    advice = ""
    if name in _OF_COLUMNS and "columns" in taken:
        advice = f"; did you mean {column}?"
    elif name in (*_OF_FRAMES, *_OF_COLUMNS) and "reviews" in taken:
        read = f"{name}=..." if name in _OF_FRAMES else column
        advice = f"; pass Reviews.from_frame(frame, {read}) as reviews"
    elif meant:
        advice = f"; did you mean {meant[0]}?"
    return TypeError(f"{caller}() got an unexpected keyword argument {name!r}{advice}")


@overload
def checked(function: Callable[P, R]) -> Callable[P, R]: ...


@overload
def checked(*, also: Collection[str] = ...) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def checked(function: Any = None, *, also: Collection[str] = ()) -> Any:
    """Return a function that raises :class:`InputError` for arguments which its hints exclude.

    ``None`` is accepted where the hint has it; a seed must not be negative. Numbers become those of double precision,
    whole ones stay. ``also`` are the keywords that ``**given`` takes. Other keywords are a TypeError, which names the
    one that may be meant.

    >>> @checked
    ... def repeated(text: "str", times: "int" = 2) -> "str":
    ...     return text * times
    >>> repeated("ab")
    'abab'
    >>> repeated("ab", 1.5)
    Traceback (most recent call last):
    reviewgraph._base.errors.InputError: times: expected a whole number, found 1.5
    """
    return _checked(function) if function is not None else functools.partial(_checked, also=also)


def _checked(function: Callable[P, R], also: Collection[str] = ()) -> Callable[P, R]:
    hints = {name: str(hint) for name, hint in function.__annotations__.items() if name != "return"}
    taken = {name: kinds for name, hint in hints.items() if (kinds := kinds_of(hint))}
    if "seed" in taken:
        taken["seed"] = kinds_of(hints["seed"].replace("int", "count"))
    optional = {name for name, hint in hints.items() if "None" in _parts(hint)}
    numbers = {name for name, hint in hints.items() if "float" in _parts(hint)}
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    many = code.co_varnames[code.co_argcount + code.co_kwonlyargcount :]
    check = _refuse
    double = in_double
    words = function.__qualname__
    refused = unexpected
    accepted = (*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], *also)
    is_open = bool(code.co_flags & TAKES_ANY) and not also

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        named = [(names[k] if k < len(names) else many[0], value) for k, value in enumerate(args)]
        for name, value in [*named, *kwargs.items()]:
            if name in taken and not (value is None and name in optional):
                check(name, value, taken[name])
        values: Any = [double(value) if name in numbers else value for name, value in named]
        more: Any = {name: double(value) if name in numbers else value for name, value in kwargs.items()}
        if not is_open:
            for name in kwargs:
                if name not in accepted:
                    raise refused(words, name, accepted)
        return function(*values, **more)

    # With the globals of the function, so that inspection finds it in the function's module.
    made = FunctionType(run.__code__, function.__globals__, function.__name__, None, run.__closure__)
    return functools.wraps(function)(made)

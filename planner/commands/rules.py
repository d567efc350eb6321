"""The options on who reviews a paper together, and the attributes that they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reviewgraph.cli.command import option
from reviewgraph.cli.options import read_side, with_options
from reviewgraph.cli.output import Refusal, say
from reviewgraph.words import noun

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from planner.panels.rules import AtLeast, AtMost, Reward, Rule

    Decorator = Callable[..., Any]
    Attributes = dict[str, dict[str, Any]]

OPTIONS = (
    option(
        "Input",
        "--attributes",
        metavar="FILE",
        help="What rules are about (reviewer, and any columns; several values are parted by ;). Columns of the "
        "reviewers file count as well.",
    ),
    option(
        "Rules",
        "--at-most",
        multiple=True,
        metavar="A=N",
        help="At most N reviewers of a paper with the same A, as in institution=1. Repeatable.",
    ),
    option(
        "Rules",
        "--at-least",
        multiple=True,
        metavar="A=N",
        help="At least N reviewers with a yes in A (senior=1), of a value (region:Asia=1), or of N different values "
        "of A (region=2). Repeatable.",
    ),
)

#: Columns that many a reviewers file has, and the rule that each suggests.
SUGGESTED = {"institution": "--at-most institution=1", "senior": "--at-least senior=1"}


def rule_options(command: Decorator) -> Decorator:
    """Add the options on who must, or may not, review a paper together.

    >>> import click
    >>> @click.command()
    ... @rule_options
    ... def invite(**rules): ...
    >>> [option.name for option in invite.params]
    ['attributes', 'at_most', 'at_least']
    """
    return with_options(OPTIONS, command)


def reward_option(command: Decorator) -> Decorator:
    """Add ``--reward`` to a command.

    >>> import click
    >>> @click.command()
    ... @reward_option
    ... def invite(reward): ...
    >>> [option.name for option in invite.params]
    ['reward']
    """
    return option(
        "Preferences",
        "--reward",
        multiple=True,
        metavar="A=W",
        help="W more affinity for each different A on a paper, as in region=0.1. Repeatable.",
    )(command)


def read_rules(
    known: Mapping[str, Attributes],
    reviewers: Collection[Any],
    where: str,
    attributes: str | None,
    at_most: Sequence[str],
    at_least: Sequence[str],
    reward: Sequence[str] = (),
) -> dict[str, Any]:
    """Read rules and attributes; says on stderr which columns would make a rule and do not.

    Parameters
    ----------
    known
        What the reviewers file says, by its name, where one is given.
    reviewers, where
        Who may be asked, and what messages call their table.
    attributes
        A file that says more, or None.
    at_most, at_least, reward
        As the options have them.

    Raises
    ------
    Refusal
        If an option is not of the form that it has, or there is a rule and no file.
    """
    from reviewgraph.formats import side
    from reviewgraph.sides.matching import match_labels

    rules: list[Rule] = [*map(_at_most, at_most), *map(_at_least, at_least), *map(_reward, reward)]
    told = dict(known)
    if attributes:
        told[attributes] = read_side(side.read_attributes, attributes)
    if rules and not told:
        message = f"{rules[0].text}: expected --reviewers FILE or --attributes FILE with it, found neither"
        raise Refusal(message)
    for path, values in told.items():
        match_labels(list(values), reviewers, path, "reviewer", where=where)
        _say_not_in_force(path, values, rules)
    merged: Attributes = {}
    for values in told.values():
        for label in filter(reviewers.__contains__, values):
            merged.setdefault(label, {}).update(values[label])
    return {"attributes": merged, "rules": rules}


def _say_not_in_force(path: str, known: Mapping[str, Mapping[str, Any]], rules: Sequence[Rule]) -> None:
    there = {name for values in known.values() for name, value in values.items() if value is not False}
    used = {rule.attribute for rule in rules}
    idle = [name for name in SUGGESTED if name in there and name not in used]
    if idle:
        asked = " ".join(SUGGESTED[name] for name in idle)
        column = f"{noun(len(idle), 'column', 'columns')} {' and '.join(idle)}"
        say(f"{path}: no rule is about the {column}; to ask for one: {asked}")


def _at_most(text: str) -> AtMost:
    from planner.panels.rules import AtMost

    name, number = _parted("--at-most", text, "A=N, as in institution=1")
    return AtMost(name, _whole("--at-most", text, number))


def _at_least(text: str) -> AtLeast:
    from planner.panels.rules import AtLeast

    name, number = _parted("--at-least", text, "A=N or A:VALUE=N, as in senior=1 or region:Asia=1")
    name, colon, value = name.partition(":")
    return AtLeast(name.strip(), _whole("--at-least", text, number), value.strip() if colon else None)


def _reward(text: str) -> Reward:
    from planner.panels.rules import Reward

    name, number = _parted("--reward", text, "A=W, as in region=0.1")
    try:
        return Reward(name, float(number))
    except ValueError:
        message = f"--reward {text}: expected a number behind =, found {number!r}"
        raise Refusal(message) from None


def _parted(option: str, text: str, form: str) -> tuple[str, str]:
    name, equals, number = text.rpartition("=")
    if not (equals and name.strip() and number.strip()):
        message = f"{option} {text}: expected {form}"
        raise Refusal(message)
    return name.strip(), number.strip()


def _whole(option: str, text: str, number: str) -> int:
    if not number.isascii() or not number.isdigit():
        message = f"{option} {text}: expected a whole number behind =, found {number!r}"
        raise Refusal(message)
    return int(number)

"""What ``check`` answers: sizes, pieces and groups, missing links, levels, fragile reviews, what is violated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from reviewgraph.graph.levels import NAMES, Connected, Double, Recoverable
from reviewgraph.verify.answers import Findings
from reviewgraph.verify.graphs import groups, missing_links, pieces
from reviewgraph.verify.levels import (
    NoTest,
    TooLarge,
    expect_small,
    highest_level,
    holds,
    is_connected,
    is_double,
    is_double_by_scores,
    is_recoverable,
    largest_cover,
    test_of,
    without_each_review,
    without_each_reviewer,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reviewgraph.graph.closure import Group
    from reviewgraph.verify.answers import Answer
    from reviewgraph.verify.graphs import Pair, Table


#: The keys that say whether a level holds.
LEVEL_KEYS = {Double.name: "recovery_resilient", Recoverable.name: "recoverable"}


class Duties(NamedTuple):
    """What an assignment should keep to; None for what was not asked."""

    conflicts: set[Pair] | None = None
    loads: Mapping[str, int] | None = None
    demands: Mapping[str, int] | None = None


def verify_check(answer: Answer, table: Table, duties: Duties, *, streamed: bool = False) -> Findings:
    """Compare what ``check`` printed, or the groups it wrote, with what is found in a table.

    The groups of a ``streamed`` table are its pieces.
    """
    findings = Findings()
    if answer.is_table:
        (_pieces if streamed else _groups)(findings, answer, table)
        return findings
    if "undecided" in answer.found:
        _streamed(findings, answer, table)
        return findings
    _structure(findings, answer, answer.found, table, "")
    scored = table.scored()
    _as_of_now(findings, answer, table, scored)
    _by_scores(findings, answer, scored)
    _fragile(findings, answer, table)
    _violations(findings, answer, table, duties)
    return findings


def _structure(findings: Findings, answer: Answer, said: Any, table: Table, prefix: str) -> None:
    """Compare sizes, components, missing links and levels."""
    rows, items = table.rows(), table.items
    double = groups(rows, items)
    covered, recoverable = is_double(table), is_recoverable(table)
    for key, kind, found in (
        ("reviewers", "a whole number", len(table.reviewers)),
        ("items", "a whole number", len(items)),
        ("reviews", "a whole number", len(table.score)),
        ("connected.components", "a whole number", len(pieces(rows, items))),
        ("doubly_connected.components", "a whole number", len(double)),
        ("doubly_connected.largest_cover", "a whole number", largest_cover(double)),
        ("degrees_of_freedom", "a whole number", missing_links(rows, items)),
        ("recovery_resilient", "true or false", covered),
        ("recoverable", "true or false", recoverable),
    ):
        findings.same(prefix + key, answer.get(key, kind, within=said), found)
    level, what = answer.get("level", "a text", within=said, null=True), "degrees of freedom and every level"
    try:
        findings.same(f"{prefix}level", level, highest_level(table))
    except NoTest as error:
        findings.trust(f"{prefix}level: {error}", decisive=True)
        what = "degrees of freedom"
    findings.check(f"{prefix}sizes, components, {what}, by plain code of its own")


def _streamed(findings: Findings, answer: Answer, table: Table) -> None:
    """Compare what was found of a table larger than memory; what it leaves undecided says nothing that can be false."""
    rows, items = table.rows(), table.items
    open_ = answer.get("undecided", "a list")
    said = {name: answer.get(key, "true or false", null=True) for name, key in LEVEL_KEYS.items()}
    said[Connected.name] = is_connected(table)
    level = answer.get("level", "a text", null=True)
    try:
        # What an answer says of other levels is whether they are decided.
        said = {name: said[name] if name in said else None if name in open_ else test_of(name)(table) for name in NAMES}
        findings.same("level", level, next((name for name in NAMES if said[name]), None))
    except NoTest as error:
        findings.trust(f"level: {error}", decisive=True)
    findings.same("undecided", [name for name in open_ if name in said], [name for name in said if said[name] is None])
    for name, key in LEVEL_KEYS.items():
        if said[name] is not None:
            findings.same(key, said[name], test_of(name)(table))
    links = missing_links(rows, items)
    if answer.get("degrees_of_freedom", "a whole number", null=True) is not None:
        findings.same("degrees_of_freedom", answer.get("degrees_of_freedom", "a whole number"), links)
    for key, found in (
        ("reviewers", len(table.reviewers)),
        ("items", len(items)),
        ("reviews", len(table.score)),
        ("connected.components", len(pieces(rows, items))),
    ):
        findings.same(key, answer.get(key, "a whole number"), found)
    cover = largest_cover(groups(rows, items))
    for key, most in (("largest_cover", cover), ("degrees_of_freedom", links)):
        least = answer.get(f"at_least.{key}", "a whole number")
        findings.expect(least <= most, f"at_least.{key}: says {least}, found {most}")
    findings.check("sizes, components, the levels that are decided, and what there is at least")


def _as_of_now(findings: Findings, answer: Answer, table: Table, scored: Table) -> None:
    partly = 0 < len(scored.score) < len(table.score)
    if findings.same("as_of_now", "as_of_now" in answer.found, partly) and partly:
        _structure(findings, answer, answer.get("as_of_now", "an object"), scored, "as_of_now.")


def _by_scores(findings: Findings, answer: Answer, scored: Table) -> None:
    """Compare the components by the scores, ties carrying no scale."""
    if not findings.same("scored", "scored" in answer.found, bool(scored.score)) or not scored.score:
        return
    found = groups(scored.rows(), scored.items, scored.score)
    findings.same(
        "scored.doubly_connected.components",
        answer.get("scored.doubly_connected.components", "a whole number"),
        len(found),
    )
    findings.same(
        "scored.doubly_connected.largest_cover",
        answer.get("scored.doubly_connected.largest_cover", "a whole number"),
        largest_cover(found),
    )
    said = answer.get("scored.recovery_resilient", "true or false")
    findings.same("scored.recovery_resilient", said, is_double_by_scores(scored))
    findings.check("components by the scores, tied ones carrying no scale")


def _fragile(findings: Findings, answer: Answer, table: Table) -> None:
    """Take out each reviewer, and each review, and see whether the level still holds."""
    said = answer.get("fragile", "an object", null=True)
    if said is None:
        return
    level = answer.get("level", "a text", within=said)
    said_to_hold = answer.get("holds", "true or false", within=said)
    try:
        highest = highest_level(table) or NAMES[-1]
        held = holds(highest, table)
    except NoTest as error:
        findings.trust(f"fragile: {error}", decisive=True)
        return
    findings.same("fragile.level", level, highest)
    findings.same("fragile.holds", said_to_hold, held)
    try:
        expect_small(table, len(table.reviewers) + len(table.score))
    except TooLarge as error:
        findings.trust(f"fragile: {error}")
        return
    lost = [who for who, rest in without_each_reviewer(table) if held and not holds(highest, rest)]
    pairs = [pair for pair, rest in without_each_review(table) if held and not holds(highest, rest)]
    findings.same_rows("fragile.reviewers", answer.names("reviewers", within=said), lost)
    kinds = {"reviewer": "a name", "item": "a name"}
    findings.same_rows("fragile.reviews", answer.rows("reviews", kinds, within=said), pairs)
    findings.check("fragile: the level without each reviewer and without each review")


def _violations(findings: Findings, answer: Answer, table: Table, duties: Duties) -> None:
    """Compare what is violated of conflicts, loads and demands."""
    asked = any(part is not None for part in duties)
    if not findings.same("violations", "violations" in answer.found, asked) or not asked:
        return
    said = answer.get("violations", "an object")
    pair = {"reviewer": "a name", "item": "a name"}
    over = {"reviewer": "a name", "reviews": "a whole number", "load": "a whole number"}
    short = {"item": "a name", "reviews": "a whole number", "demand": "a whole number"}
    conflicts, loads, demands = duties
    expected: list[tuple[str, Mapping[str, str], Iterable[Any] | None]] = [
        ("conflicts", pair, None if conflicts is None else [pair for pair in table.score if pair in conflicts]),
        ("over_load", over, None if loads is None else _beyond(table.loads(), loads, 1)),
        ("short", short, None if demands is None else _beyond(table.reviews_of(), demands, -1)),
    ]
    for key, kinds, found in expected:
        rows = answer.rows(key, kinds, within=said, null=True)
        if findings.same(f"violations.{key}", rows is None, found is None) and found is not None:
            findings.same_rows(f"violations.{key}", rows, found)
    findings.check("violations: conflicts, loads and demands")


def _beyond(count: Mapping[str, int], limit: Mapping[str, int], sign: int) -> list[tuple[str, int, int]]:
    """Return who has more than a limit, or with the sign -1 fewer."""
    return [
        (name, number, limit[name])
        for name, number in count.items()
        if name in limit and sign * number > sign * limit[name]
    ]


def _groups(findings: Findings, answer: Answer, table: Table) -> None:
    """Compare the groups of a CSV: whoever bears one number must be one group, and groups are numbered by size."""
    found = groups(table.rows(), table.items)
    said: dict[str, tuple[set[str], set[str]]] = {}
    alone: list[tuple[str, str]] = []
    for row in answer.found["rows"]:
        role, label, number = row["role"], row["label"], row["group"]
        if not findings.expect(role in ("reviewer", "item"), f"role: expected reviewer or item, found {role!r}"):
            continue
        if number:
            said.setdefault(number, (set(), set()))[role == "item"].add(label)
        else:
            alone.append((role, label))
    rows = len(answer.found["rows"]) - len(alone)
    findings.same("rows", rows, sum(len(group.reviewers) + len(group.items) for group in found))
    findings.same_rows("group", [(frozenset(who), frozenset(what)) for who, what in said.values()], map(tuple, found))
    nobody = [("item", item) for item, count in table.reviews_of().items() if not count]
    findings.same_rows("rows without a group", alone, nobody)
    _numbered(findings, said, found)
    findings.check(f"{len(found)} groups: each is doubly connected, and no two of them together")


def _pieces(findings: Findings, answer: Answer, table: Table) -> None:
    """Compare the pieces of a CSV: whoever bears one number must be one piece."""
    joined, found, said = pieces(table.rows(), table.items), dict[Any, set[Any]](), dict[str, set[Any]]()
    for role, label in (*(("reviewer", who) for who in table.reviewers), *(("item", what) for what in table.items)):
        found.setdefault(joined.of((int(role == "item"), label)), set()).add((role, label))
    for row in answer.found["rows"]:
        said.setdefault(row["group"], set()).add((row["role"], row["label"]))
    findings.same("rows", len(answer.found["rows"]), len(table.reviewers) + len(table.items))
    findings.same_rows("group", map(frozenset, said.values()), map(frozenset, found.values()))
    findings.check(f"{len(found)} pieces: each is connected, and no two of them together")


def _numbered(findings: Findings, said: Mapping[str, tuple[set[str], set[str]]], found: list[Group]) -> None:
    sizes = sorted(((len(group.items), len(group.reviewers)) for group in found), reverse=True)
    for place, size in enumerate(sizes, 1):
        who, what = said.get(str(place), (set[str](), set[str]()))
        if not findings.expect((len(what), len(who)) == size, f"group {place}: groups are not numbered by size"):
            return

"""Levels of tables, demands within loads, and the largest affinity, by plain algorithms; answers of ``check``.

Levels are tested by :mod:`reviewgraph.verify.graphs`, demands by flows, the largest affinity by a linear programme,
and assignments under rules by enumeration. What would take too long raises :class:`TooLarge`: it is not
checked.

Of ``check``, recomputed from the table by sets and dictionaries: sizes, components, missing links, levels, fragile
reviews, violated rules. Not checked: levels without a test of their own, fragile reviews of large tables, expected
errors and probabilities.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph._base.errors import InputError
from reviewgraph.graph.levels import NAMES, Connected, Double, Recoverable, level_named
from reviewgraph.verify.answers import Findings
from reviewgraph.verify.graphs import groups, largest_cover, missing_links, pieces, tie_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from reviewgraph.verify.answers import Answer
    from reviewgraph.verify.graphs import Pair, Table
    from reviewgraph.verify.rules import Market

#: Reviews, summed over all losses, up to which the levels that outlive a loss are tested.
MOST_LOST = 5_000_000


class TooLarge(InputError):
    """A question that the plain algorithms would take too long over."""


class NoTest(TooLarge):
    """A level without a plain algorithm."""


def is_connected(table: Table) -> bool:
    """Whether all items have a review and lie in one component."""
    classes = pieces(table.rows(), table.items)
    reviewed = all(count > 0 for count in table.reviews_of().values())
    return reviewed and len({classes.of((1, item)) for item in table.items}) <= 1


def is_double(table: Table) -> bool:
    """Whether one doubly connected component covers all items."""
    return largest_cover(groups(table.rows(), table.items)) >= len(table.items)


def is_double_by_scores(table: Table) -> bool:
    """Whether one component, where ties carry no scale, covers all items, of two tie classes or more."""
    scored = table.scored()
    items = table.items
    covered = largest_cover(groups(scored.rows(), items, scored.score)) >= len(items)
    return covered and (len(items) < 2 or len(tie_classes(scored.score, items)) > 1)


def is_recoverable(table: Table) -> bool:
    """Whether no links are missing, all items have reviews, and some reviewer has two unless N < 2."""
    rows = table.rows()
    linked = len(table.items) < 2 or any(len(own) >= 2 for own in rows.values())
    return linked and all(table.reviews_of().values()) and missing_links(rows, table.items) == 0


def expect_small(table: Table, losses: int) -> None:
    """Raise TooLarge for a table in which that number of losses cannot be tried one by one."""
    if losses * len(table.score) > MOST_LOST:
        message = f"{losses} losses of a table of {len(table.score)} reviews are too many to be tried one by one"
        raise TooLarge(message)


def survives_reviewer(table: Table) -> bool:
    """Whether a table is doubly connected, and stays so without any one reviewer."""
    expect_small(table, len(table.reviewers))
    return is_double(table) and all(is_double(rest) for _, rest in table.without_each_reviewer())


def survives_review(table: Table) -> bool:
    """Whether a table is doubly connected, and stays so without any one review."""
    expect_small(table, len(table.score))
    return is_double(table) and all(is_double(rest) for _, rest in table.without_each_review())


def test_of(name: str) -> Callable[[Table], bool]:
    """Return the verifier's own test of a level; raise NoTest where it has none."""
    test: Callable[[Table], bool] | None = level_named(name).part("verifier")
    if test is None:
        message = f"the level {name} has no test that shares no code with what made the answer"
        raise NoTest(message)
    return test


def highest_level(table: Table) -> str | None:
    """Return the highest level that holds, or None; raise NoTest where a candidate has no test."""
    return next((name for name in NAMES if test_of(name)(table)), None)


def holds(level: Any, table: Table, *, use_scores: bool = False) -> bool:
    """Whether a table is at a level; raise TooLarge where the test would take too long."""
    test = test_of(level)
    return is_double_by_scores(table) if use_scores else test(table)


# The largest affinity that demands and loads allow, without a level or rules on panels, and whether demands can be met.

#: Pairs that may be assigned up to which the largest affinity is computed.
MOST_PAIRS = 60_000


def most_affinity(
    chosen: Iterable[Pair],
    value: Mapping[Pair, float],
    kept: Iterable[Pair],
    loads: Mapping[str, tuple[int, int]],
) -> float:
    """Return the largest affinity of an assignment with as many reviews of every paper as ``chosen``.

    The polytope of assignments has whole vertices: a linear programme gives the optimum. ``chosen`` is an assignment,
    ``value`` the affinity of each pair that may be assigned, ``kept`` the pairs that must be, ``loads`` the minimum and
    maximum reviews per reviewer. Raises TooLarge.

    >>> worth = {("ann", "p"): 1.0, ("ann", "q"): 0.5, ("bob", "p"): 0.9, ("bob", "q"): 0.1}
    >>> most_affinity([("ann", "p"), ("bob", "q")], worth, [], {"ann": (0, 1), "bob": (0, 1)})
    1.4
    """
    import scipy.sparse
    from scipy.optimize import linprog

    if len(value) > MOST_PAIRS:
        message = f"{len(value)} pairs may be assigned, too many to look for better exchanges"
        raise TooLarge(message)
    reviewers = [*loads]
    need = Counter(item for _, item in chosen)
    fixed = set(kept)
    who, what = ({name: place for place, name in enumerate(names)} for names in (reviewers, need))
    pairs = [pair for pair in value if pair[1] in need]
    worth = np.array([value[pair] for pair in pairs])
    ones = np.ones(len(pairs))
    columns = np.arange(len(pairs))
    load = scipy.sparse.csr_array(
        (ones, ([who[reviewer] for reviewer, _ in pairs], columns)), shape=(len(who), len(pairs))
    )
    solution = linprog(
        -worth / max(float(np.abs(worth).max(initial=0.0)), np.finfo(float).tiny),
        A_ub=scipy.sparse.vstack([load, -load]),
        b_ub=[*(most for _, most in loads.values()), *(-least for least, _ in loads.values())],
        A_eq=scipy.sparse.csr_array(
            (ones, ([what[item] for _, item in pairs], columns)), shape=(len(what), len(pairs))
        ),
        b_eq=[*need.values()],
        bounds=[(1, 1) if pair in fixed else (0, 1) for pair in pairs],
        options={"dual_feasibility_tolerance": 1e-10},
    )
    if solution.status != 0:
        message = "the largest affinity was not computed"
        raise TooLarge(message)
    return float(np.round(solution.x) @ worth)


def can_be_met(demands: Mapping[str, int], pairs: Iterable[Pair], loads: Mapping[str, tuple[int, int]]) -> bool:
    """Whether demands can be met within loads, minimum reviews included, by flows.

    >>> can_be_met({"p": 2}, [("ann", "p")], {"ann": (0, 5)})
    False
    """
    listed = list(pairs)
    # First up to the fewest reviews of each, then as many as papers need: an augmenting path takes no load away.
    fewest = {reviewer: (least, least) for reviewer, (least, _) in loads.items()}
    if most_met(demands, listed, fewest) < sum(least for least, _ in loads.values()):
        return False
    return most_met(demands, listed, loads) == sum(demands.values())


def most_met(demands: Mapping[str, int], pairs: Iterable[Pair], loads: Mapping[str, tuple[int, int]]) -> int:
    """Return the largest number of demanded reviews within maximum loads, by a flow.

    >>> most_met({"p": 2, "q": 1}, [("ann", "p"), ("ann", "q"), ("bob", "p")], {"ann": (0, 1), "bob": (0, 5)})
    2
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    # From the source, 0, to reviewers, to their items, to the sink, 1.
    listed = list(pairs)
    who = {name: place for place, name in enumerate(loads, 2)}
    what = {name: place for place, name in enumerate(demands, 2 + len(who))}
    arcs = [(0, who[reviewer], min(max(most, 0), len(listed))) for reviewer, (_, most) in loads.items()]
    arcs += [(who[reviewer], what[item], 1) for reviewer, item in listed]
    arcs += [(what[item], 1, max(need, 0)) for item, need in demands.items()]
    start, end, room = np.array(arcs, np.int32).reshape(-1, 3).T
    size = 2 + len(who) + len(what)
    return int(maximum_flow(csr_array((room, (start, end)), shape=(size, size)), 0, 1).flow_value)


# All assignments within demands, loads and rules, where they are few.

#: Panels of a paper, and partial assignments, up to which all are enumerated.
MOST_PANELS = 20_000
MOST_STEPS = 100_000


def panels_for(market: Market, item: str) -> list[tuple[str, ...]]:
    """Return the sets of reviewers that a paper may get, within pairs, floors and rules; raise TooLarge."""
    must = {who for who, what in market.fixed if what == item}
    readers = [who for who, (_, most) in market.loads.items() if most and market.may((who, item))]
    before = [who for who, what in market.phase_one if what == item]
    need = market.demand[item]
    if comb(len(readers), max(min(need, len(readers)), 0)) > MOST_PANELS:
        message = f"{len(readers)} reviewers may get paper {item}, too many panels to be tried"
        raise TooLarge(message)
    panels = combinations(readers, need)
    return [panel for panel in panels if must <= {*panel} and (not panel or _fits(market, item, [*panel], before))]


def _fits(market: Market, item: str, panel: list[str], before: list[str]) -> bool:
    worth = [market.affinity.get((who, item), 0.0) for who in panel]
    # Floors are held to what is surely below them: sums are rounded.
    slack = 1e-9 * max(1.0, *map(abs, worth))
    low = market.floor is not None and sum(worth) < market.floor - slack
    low |= market.floor_best is not None and max(worth) < market.floor_best - slack
    crowd = [*before, *panel]
    return not low and not any(rule.lacks(crowd) or (rule.broken(crowd) and rule.held(panel)) for rule in market.panels)


def every_assignment(market: Market) -> Iterator[list[Pair]]:
    """Yield all assignments within demands, loads, pairs, floors and rules on panels, whatever their level.

    Raises TooLarge after MOST_STEPS partial assignments.
    """
    items = [item for item, need in market.demand.items() if need > 0]
    choices = {item: panels_for(market, item) for item in items}
    if not all(choices.values()):
        return
    steps = 0
    items.sort(key=lambda item: len(choices[item]))
    waiting: list[tuple[int, tuple[tuple[str, ...], ...], Counter[str]]] = [(0, (), Counter())]
    while waiting:
        depth, taken, load = waiting.pop()
        steps += 1
        if steps > MOST_STEPS:
            message = f"there are more than {MOST_STEPS} assignments and parts of them, too many to be tried"
            raise TooLarge(message)
        if depth == len(items):
            if all(load[who] >= least for who, (least, _) in market.loads.items()):
                yield [(who, item) for item, panel in zip(items, taken, strict=True) for who in panel]
            continue
        waiting += [
            (depth + 1, (*taken, panel), load + Counter(panel))
            for panel in choices[items[depth]]
            if all(load[who] < market.loads[who][1] for who in panel)
        ]


# Answers of ``check``.

#: The keys that tell whether a level holds.
LEVEL_KEYS = {Double.name: "recovery_resilient", Recoverable.name: "recoverable"}


class Duties(NamedTuple):
    """Rules that an assignment is checked against; None for those not passed."""

    conflicts: set[Pair] | None = None
    loads: Mapping[str, int] | None = None
    demands: Mapping[str, int] | None = None


def verify_check(answer: Answer, table: Table, duties: Duties, *, streamed: bool = False) -> Findings:
    """Compare what ``check`` printed, or the groups it wrote, with what a table gives.

    The groups of a ``streamed`` table are its connected components.
    """
    findings = Findings(answer)
    if answer.is_table:
        (_pieces if streamed else _groups)(findings, table)
    elif "undecided" in answer.content:
        _streamed(findings, table)
    else:
        _structure(findings, table, "")
        scored = table.scored()
        partly = 0 < len(scored.score) < len(table.score)
        if findings.same("as_of_now", "as_of_now" in answer.content, partly) and partly:
            _structure(findings, scored, "as_of_now.")
        # Components by the scores, where ties carry no scale.
        if findings.same("scored", "scored" in answer.content, bool(scored.score)) and scored.score:
            components = groups(scored.rows(), scored.items, scored.score)
            findings.value("scored.doubly_connected.components", len(components))
            findings.value("scored.doubly_connected.largest_cover", largest_cover(components))
            findings.value("scored.recovery_resilient", is_double_by_scores(scored))
            findings.check("components by the scores, where ties carry no scale")
        _fragile(findings, table)
        _violations(findings, table, duties)
    return findings


def _sizes(table: Table) -> dict[str, int]:
    """Return what is counted in tables of any size, by key."""
    return {
        "reviewers": len(table.reviewers),
        "items": len(table.items),
        "reviews": len(table.score),
        "connected.components": len(pieces(table.rows(), table.items)),
    }


def _structure(findings: Findings, table: Table, prefix: str) -> None:
    """Compare sizes, components, missing links and levels."""
    components = groups(table.rows(), table.items)
    for key, actual in {
        **_sizes(table),
        "doubly_connected.components": len(components),
        "doubly_connected.largest_cover": largest_cover(components),
        "degrees_of_freedom": missing_links(table.rows(), table.items),
        "recovery_resilient": is_double(table),
        "recoverable": is_recoverable(table),
    }.items():
        findings.value(prefix + key, actual)
    what = "degrees of freedom and every level"
    try:
        findings.value(f"{prefix}level", highest_level(table))
    except NoTest as error:
        findings.not_checked(f"{prefix}level: {error}", decisive=True)
        what = "degrees of freedom"
    findings.check(f"{prefix}sizes, components, {what}, recomputed")


def _streamed(findings: Findings, table: Table) -> None:
    """Compare what was decided about a table larger than memory; what it leaves undecided cannot be false."""
    answer = findings.answer
    undecided = answer.get("undecided")
    claimed = {name: answer.get(key, null=True) for name, key in LEVEL_KEYS.items()}
    claimed[Connected.name] = is_connected(table)
    try:
        # Of other levels an answer only lists the undecided ones.
        claimed = {
            name: claimed[name] if name in claimed else None if name in undecided else test_of(name)(table)
            for name in NAMES
        }
        findings.value("level", next((name for name in NAMES if claimed[name]), None))
    except NoTest as error:
        findings.not_checked(f"level: {error}", decisive=True)
    listed = [name for name in undecided if name in claimed]
    findings.same("undecided", listed, [name for name in claimed if claimed[name] is None])
    for name, key in LEVEL_KEYS.items():
        if claimed[name] is not None:
            findings.same(key, claimed[name], test_of(name)(table))
    # Sizes are exact; the largest group and the missing links are at least what is printed.
    links = missing_links(table.rows(), table.items)
    cover = largest_cover(groups(table.rows(), table.items))
    if answer.get("degrees_of_freedom", null=True) is not None:
        findings.value("degrees_of_freedom", links)
    for key, actual in _sizes(table).items():
        findings.value(key, actual)
    for key, actual in (("at_least.largest_cover", cover), ("at_least.degrees_of_freedom", links)):
        findings.expect(answer.get(key) <= actual, f"{key}: claims {answer.get(key)}; recomputed {actual}")
    findings.check("sizes, components, the levels that are decided, and lower bounds")


def _fragile(findings: Findings, table: Table) -> None:
    """Remove each reviewer, and each review, and test whether the level still holds."""
    if findings.answer.get("fragile", null=True) is None:
        return
    try:
        level = highest_level(table) or Connected.name
        holds = test_of(level)
        findings.value("fragile.level", level)
        held = holds(table)
        findings.value("fragile.holds", held)
        expect_small(table, len(table.reviewers) + len(table.score))
    except TooLarge as error:
        findings.not_checked(f"fragile: {error}", decisive=isinstance(error, NoTest))
        return
    lost = [who for who, rest in table.without_each_reviewer() if held and not holds(rest)]
    findings.same_rows("fragile.reviewers", map(str, findings.answer.get("fragile.reviewers")), lost)
    pairs = [pair for pair, rest in table.without_each_review() if held and not holds(rest)]
    findings.rows("fragile.reviews", "reviewer item", pairs)
    findings.check("fragile: the level without each reviewer and without each review")


def _violations(findings: Findings, table: Table, duties: Duties) -> None:
    """Compare violated conflicts, loads and demands."""
    asked = any(part is not None for part in duties)
    if not findings.same("violations", "violations" in findings.answer.content, asked) or not asked:
        return
    conflicts = duties.conflicts or set()
    loads = duties.loads or {}
    demands = duties.demands or {}
    over = [(who, count, loads[who]) for who, count in table.loads().items() if count > loads.get(who, count)]
    short = [(what, n, demands[what]) for what, n in table.reviews_of().items() if n < demands.get(what, n)]
    for key, columns, duty, actual in (
        (
            "violations.conflicts",
            "reviewer item",
            duties.conflicts,
            [pair for pair in table.score if pair in conflicts],
        ),
        ("violations.over_load", "reviewer reviews load", duties.loads, over),
        ("violations.short", "item reviews demand", duties.demands, short),
    ):
        if findings.present(key, duty is not None):
            findings.rows(key, columns, actual)
    findings.check("violations: conflicts, loads and demands")


def _groups(findings: Findings, table: Table) -> None:
    """Compare the groups of a CSV: rows of one number must be one group, and groups are numbered by size."""
    components = groups(table.rows(), table.items)
    cells = findings.answer.content["rows"]
    # Members by the number of their group; papers without a review have none.
    claimed: dict[str, tuple[set[str], set[str]]] = {}
    alone: list[tuple[str, str]] = []
    for row in cells:
        role = row["role"]
        label = row["label"]
        number = row["group"]
        if not findings.expect(role in ("reviewer", "item"), f"role: expected reviewer or item, found {role!r}"):
            continue
        if number:
            claimed.setdefault(number, (set(), set()))[role == "item"].add(label)
        else:
            alone.append((role, label))
    # The same groups, numbered from the largest.
    sizes = sorted(((len(group.items), len(group.reviewers)) for group in components), reverse=True)
    findings.same("rows", len(cells) - len(alone), sum(map(sum, sizes)))
    members = [(frozenset(reviewers), frozenset(items)) for reviewers, items in claimed.values()]
    findings.same_rows("group", members, map(tuple, components))
    unreviewed = [("item", item) for item, count in table.reviews_of().items() if not count]
    findings.same_rows("rows without a group", alone, unreviewed)
    for place, size in enumerate(sizes, 1):
        reviewers, items = claimed.get(str(place), (set[str](), set[str]()))
        if not findings.expect((len(items), len(reviewers)) == size, f"group {place}: groups are not numbered by size"):
            break
    findings.check(f"{len(components)} groups: each is doubly connected, and no two of them together")


def _pieces(findings: Findings, table: Table) -> None:
    """Compare the connected components of a CSV: rows of one number must be one component."""
    classes = pieces(table.rows(), table.items)
    actual = dict[Any, set[Any]]()
    claimed = dict[str, set[Any]]()
    for role, label in (*(("reviewer", who) for who in table.reviewers), *(("item", what) for what in table.items)):
        actual.setdefault(classes.of((int(role == "item"), label)), set()).add((role, label))
    cells = findings.answer.content["rows"]
    for row in cells:
        claimed.setdefault(row["group"], set()).add((row["role"], row["label"]))
    findings.same("rows", len(cells), len(table.reviewers) + len(table.items))
    findings.same_rows("group", map(frozenset, claimed.values()), map(frozenset, actual.values()))
    findings.check(f"{len(actual)} components: each is connected, and no two of them together")

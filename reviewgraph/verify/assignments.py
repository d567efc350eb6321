"""Answers of ``assign``: demands, loads, rules, the level and all sums, recomputed.

The largest affinity is recomputed by cycles of exchanges, or by enumeration where there are rules and few assignments.
Not checked: optima under rules in large cases, that no fewer pairs change or lie below a threshold, that the
worst-served papers cannot be served better, and that a lottery gains most.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from reviewgraph.graph.levels import ALL_NAMES, NAMES
from reviewgraph.verify.answers import Findings, number_in
from reviewgraph.verify.levels import (
    TooLarge,
    can_be_met,
    every_assignment,
    expect_small,
    holds,
    is_double,
    most_affinity,
    most_met,
    test_of,
    without_each_reviewer,
)
from reviewgraph.verify.rules import check_panels, earned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reviewgraph.verify.answers import Answer
    from reviewgraph.verify.graphs import Pair, Table
    from reviewgraph.verify.rules import Market

REACHED = {"optimal", "feasible"}
#: Relative difference of sums of affinities: they have many terms, and solvers have tolerances.
SUMS = 1e-7
#: Pairs of a paper and a reviewer up to which the largest number of reviews is recomputed.
MOST_TRIED = 500_000


def verify_assignment(answer: Answer, market: Market) -> Findings:
    """Check an assignment, from JSON or CSV, against its constraints and its own claims."""
    findings = Findings()
    if answer.is_table:
        _table(findings, answer, market)
        return findings
    status = answer.get("status", "a text")
    statuses = REACHED | {"level_missed", "best_effort", "infeasible"}
    rows = answer.rows("reviews", {"reviewer": "a name", "item": "a name", "affinity": "a number"})
    pairs = [(reviewer, item) for reviewer, item, _ in rows]
    if not findings.expect(status in statuses, f"status: there is none called {status!r}"):
        return findings
    target = answer.get("target", "a text")
    if market.named:
        findings.same("target", target, market.target)
    if status == "infeasible" or not pairs:
        _none(findings, market, status, pairs)
        return findings
    short = _short(findings, answer, market, status, pairs)
    _respects(findings, market, pairs, short)
    for place, (reviewer, item, claimed) in enumerate(rows):
        findings.same(f"reviews[{place}].affinity", claimed, market.affinity.get((reviewer, item), 0.0))
    if not findings.wrong:
        _level(findings, answer, market, target, status, pairs)
        _sums(findings, answer, market, status, pairs)
        _beside(findings, answer, market, pairs)
    return findings


def _short(findings: Findings, answer: Answer, market: Market, status: str, pairs: list[Pair]) -> Mapping[str, int]:
    """Return the reviews that papers are said to lack; test whether fewer could be missing."""
    if status != "best_effort" and "short" not in answer.content:
        return {}
    short = dict(answer.rows("short", {"item": "a name", "missing": "a whole number"}))
    if not findings.same("short", bool(short), status == "best_effort"):
        return {}
    recruit = answer.get("recruit", "an object", null=True)
    if recruit is None or not short:
        findings.same("recruit", recruit is not None, bool(short))
        return short
    total, load = sum(short.values()), answer.get("load", "a whole number", within=recruit)
    findings.same("recruit.reviews", answer.get("reviews", "a whole number", within=recruit), total)
    enough = max(*short.values(), -(-total // max(load, 1)))
    findings.same("recruit.reviewers", answer.get("reviewers", "a whole number", within=recruit), enough)
    if len(market.demand) * len(market.loads) > MOST_TRIED:
        findings.not_checked(f"short: that {total} reviews must be missing takes too long to recompute", decisive=True)
        return short
    demands, open_pairs, loads = _open(market)
    most = most_met(demands, open_pairs, {who: (0, high) for who, (_, high) in loads.items()}) + len(market.fixed)
    if market.asks_more and most > len(pairs):
        findings.not_checked(f"short: that {total} reviews must be missing by the rules is not checked", decisive=True)
    elif findings.expect(most <= len(pairs), f"short: {len(pairs)} reviews, and {most} could be given"):
        findings.check(f"that {total} of {sum(market.demand.values())} demanded reviews must be missing")
    return short


def _open(market: Market) -> tuple[dict[str, int], list[Pair], dict[str, tuple[int, int]]]:
    """Return demands, pairs and loads beyond the fixed pairs."""
    fixed = Counter(reviewer for reviewer, _ in market.fixed)
    remaining = {item: need - sum(item == what for _, what in market.fixed) for item, need in market.demand.items()}
    loads = {who: (max(low - fixed[who], 0), high - fixed[who]) for who, (low, high) in market.loads.items()}
    return remaining, [pair for pair in market.pairs() if pair not in market.fixed], loads


def _respects(findings: Findings, market: Market, pairs: list[Pair], short: Mapping[str, int]) -> None:
    """Check demands (less what papers are said to lack), loads, conflicts, fixed pairs and rules on panels."""
    seen = Counter(pairs)
    for pair, times in seen.items():
        name = f"reviews: {pair[0]} on {pair[1]}"
        findings.expect(times == 1, f"{name} is listed twice")
        if findings.expect(pair[0] in market.loads, f"{name}: there is no such reviewer") and findings.expect(
            pair[1] in market.demand, f"{name}: there is no such paper"
        ):
            findings.expect(market.may(pair), f"{name} may not be: a conflict, of the first phase or without affinity")
    for pair in market.fixed:
        findings.expect(pair in seen, f"reviews: lacks {pair[0]} on {pair[1]}, which is fixed")
    load, count = Counter(reviewer for reviewer, _ in pairs), Counter(item for _, item in pairs)
    for item, demand in market.demand.items():
        need = demand - short.get(item, 0)
        findings.expect(count[item] == need, f"paper {item} has {count[item]} reviews, its demand is {need}")
    for reviewer, (least, most) in market.loads.items():
        words = f"reviewer {reviewer} has {load[reviewer]} reviews, the load is {least} to {most}"
        findings.expect(least <= load[reviewer] <= most, words)
    check_panels(findings, market.panels, pairs, market.demand, market.phase_one)
    findings.check(f"{len(pairs)} reviews: demands, loads, conflicts, fixed pairs and rules on panels")


def _level(findings: Findings, answer: Answer, market: Market, target: str, status: str, pairs: list[Pair]) -> None:
    """Check whether the level is reached, and who is critical for it."""
    if target not in ALL_NAMES:
        findings.same("target", target, "none")
        words = f"status {status}: no level was asked for"
        findings.expect(status in REACHED | {"best_effort"} or market.asks_more, words)
        return
    table = market.table(pairs)
    try:
        reached = _reached(target, table, survive=market.survive)
    except TooLarge as error:
        findings.not_checked(f"target {target}: {error}", decisive=True)
        return
    lasting = " after the loss of any one reviewer" if market.survive else ""
    if status in REACHED:
        findings.expect(reached, f"status {status}: the level {target}{lasting} is not reached")
    elif status == "best_effort":
        findings.not_checked(
            f"status best_effort: this part of an assignment {'reaches' if reached else 'misses'} the level"
        )
    elif market.floor is None and market.floor_best is None:
        findings.expect(not reached, f"status {status}: the level {target}{lasting} is reached")
    findings.check(f"whether the level {target}{lasting} is reached")
    critical = answer.names("critical", null=True)
    # Levels that outlive a loss are the level double without it.
    test = test_of(target) if target in NAMES else is_double
    if critical is not None and test(table):
        losses = [who for who, rest in without_each_reviewer(table) if not test(rest)]
        findings.same_rows("critical", critical, losses)
        findings.same("survives", answer.get("survives", "true or false"), status in REACHED and not losses)
        findings.check("critical: the level without each reviewer")


def _reached(target: str, table: Table, *, survive: bool) -> bool:
    """Whether a table is at a level, and stays there without any one reviewer; some levels imply that."""
    if not holds(target, table):
        return False
    if not survive or target not in NAMES:
        return True
    expect_small(table, len(table.reviewers))
    return all(holds(target, rest) for _, rest in without_each_reviewer(table))


def _sums(findings: Findings, answer: Answer, market: Market, status: str, pairs: list[Pair]) -> None:
    """Recompute sums of affinities, and compare them with the largest possible."""
    values = [market.affinity.get(pair, 0.0) for pair in pairs]
    total, best = sum(values), answer.get("affinity_unconstrained", "a number", null=True)
    rewards, bound = earned(market.panels, pairs, market.phase_one), answer.get("bound", "a number", null=True)
    for key, actual in (
        ("affinity", total),
        ("mean_affinity", total / len(values)),
        ("minimum_affinity", min(values)),
        ("rewards", rewards),
    ):
        _close(findings, key, answer.get(key, "a number"), actual, total)
    findings.check("affinity, mean_affinity, minimum_affinity and rewards, recomputed")
    if best is None or bound is None:
        findings.not_checked("bound: there is none", decisive=status == "optimal")
        return
    price = 100.0 * (best - total) / abs(best) if best else 0.0
    _close(findings, "price_percent", answer.get("price_percent", "a number"), price, 100.0)
    short = 0.0 if status == "optimal" else max(bound - total - rewards, 0.0)
    gap = 100.0 * short / abs(bound) if bound else 0.0
    _close(findings, "gap_percent", answer.get("gap_percent", "a number"), gap, 100.0)
    words = f"bound: says {bound:.9g}, and affinity and rewards are {total + rewards:.9g}"
    findings.expect(bound >= total + rewards - SUMS * max(abs(bound), 1.0), words)
    if status == "optimal" and market.previous is None and market.min_affinity is None:
        _close(findings, "status optimal: bound", bound, total + rewards, total)
    if not market.plain:
        words = "affinity_unconstrained, bound, status: the largest affinity under such rules is not recomputed"
        findings.not_checked(words, decisive=status == "optimal")
        return
    if not market.asks_more:
        _close(findings, "bound", bound, best, best)
    elif status == "optimal":
        _best(findings, market, pairs, bound)
    try:
        most = most_affinity(pairs, market.pairs(), market.fixed, market.loads)
    except TooLarge as error:
        findings.not_checked(f"affinity_unconstrained, bound: {error}", decisive=status == "optimal")
        return
    _close(findings, "affinity_unconstrained", best, most, most)
    findings.check("affinity_unconstrained: no cycle of exchanges gains more")


def _close(findings: Findings, key: str, claimed: float, actual: float, size: float) -> None:
    """Compare sums that are taken in another order."""
    near = abs(claimed - actual) <= SUMS * max(abs(size), 1.0)
    findings.expect(near, f"{key}: says {claimed:.12g}, found {actual:.12g}")


def _beside(findings: Findings, answer: Answer, market: Market, pairs: list[Pair]) -> None:
    """Compare what follows from a previous assignment, a threshold, and the worst-served papers."""
    kinds = {"reviewer": "a name", "item": "a name"}
    _lottery(findings, answer, market, pairs)
    claimed = answer.get("changes", "an object", null=True)
    if findings.same("changes", claimed is not None, market.previous is not None) and market.previous is not None:
        findings.same(
            "changes.kept", answer.get("kept", "a whole number", within=claimed), len(market.previous & {*pairs})
        )
        findings.same_rows("changes.dropped", answer.rows("dropped", kinds, within=claimed), market.previous - {*pairs})
        findings.same_rows("changes.new", answer.rows("new", kinds, within=claimed), {*pairs} - market.previous)
        findings.check("changes: pairs kept, dropped and new")
        findings.not_checked("changes.fewest: that no fewer pairs change is not recomputed")
    claimed = answer.get("below", "an object", null=True)
    if findings.same("below", claimed is not None, market.min_affinity is not None) and market.min_affinity is not None:
        low = [pair for pair in pairs if market.affinity.get(pair, 0.0) < market.min_affinity]
        findings.same_rows("below.reviews", answer.rows("reviews", kinds, within=claimed), low)
        findings.not_checked("below.fewest: that no fewer pairs are below is not recomputed")
    claimed = answer.get("fair", "an object", null=True)
    if claimed is not None:
        sums: dict[str, float] = {}
        for pair in pairs:
            sums[pair[1]] = sums.get(pair[1], 0.0) + market.affinity.get(pair, 0.0)
        least = min(sums.values(), default=0.0)
        _close(findings, "fair.smallest.after", answer.get("smallest.after", "a number", within=claimed), least, least)
        findings.not_checked("fair: that papers cannot be served better is not recomputed")


def _lottery(findings: Findings, answer: Answer, market: Market, pairs: list[Pair]) -> None:
    """Check the probabilities of a lottery: their sums, the cap, the shares of the list, and the draw."""
    kinds = {"reviewer": "a name", "item": "a name", "probability": "a number"}
    rows = answer.rows("probabilities", kinds, null=True) if "probabilities" in answer.content else None
    if rows is None:
        return
    draws = answer.get("draws", "an object")
    cap = answer.get("max_probability", "a number", within=draws, null=True)
    count = answer.get("assignments", "a whole number", within=draws, null=True) if "assignments" in draws else None
    total = dict.fromkeys(market.demand, 0.0)
    for reviewer, item, value in rows:
        name = f"probabilities: {reviewer} on {item}"
        within = cap is None or value <= cap + SUMS or (reviewer, item) in market.fixed
        findings.expect(within, f"{name}: {value:.9g} exceeds the cap {cap}")
        if count:
            share = abs(value * count - round(value * count)) <= SUMS * count
            findings.expect(share, f"{name}: {value:.9g} is no whole share of {count} assignments")
        if findings.expect(reviewer in market.loads and item in total, f"{name}: there is no such pair"):
            findings.expect(market.may((reviewer, item)), f"{name} may not be")
            findings.expect(0 <= value <= 1 + SUMS, f"{name}: {value:.9g} is no probability")
            total[item] += value
    for item, demand in market.demand.items():
        near = abs(total[item] - demand) <= 1e-4 * max(demand, 1)
        findings.expect(near, f"probabilities: those of paper {item} sum to {total[item]:.9g}, its demand is {demand}")
    possible = {(reviewer, item) for reviewer, item, value in rows if value > 0}
    for reviewer, item in {*pairs} - possible:
        findings.expect(False, f"probabilities: {reviewer} on {item} is drawn and has none")
    findings.check(
        "probabilities: allowed pairs within the cap, those drawn among them, each paper's sum to its demand"
    )
    findings.not_checked("probabilities, draws: that no others gain more is not recomputed", decisive=True)


def _none(findings: Findings, market: Market, status: str, pairs: list[Pair]) -> None:
    """Test whether demands can be met where no assignment is claimed to exist."""
    if not any(market.demand.values()) and status != "infeasible":
        return
    if not findings.expect(not pairs, f"status {status}: there are reviews"):
        return
    if status in REACHED:
        findings.expect(False, f"status {status}: there are no reviews")
        return
    demands, open_pairs, loads = _open(market)
    if status != "infeasible" and not market.asks_more:
        findings.expect(False, f"status {status}: there are no reviews")
        return
    exceeded = min([*demands.values(), *(high for _, high in loads.values())], default=0) < 0
    if exceeded or not can_be_met(demands, open_pairs, loads):
        words = f"status {status}: demands cannot be met within loads, conflicts and fixed pairs, whatever the level"
        if findings.expect(status == "infeasible", words):
            findings.check("that demands cannot be met within loads, conflicts and fixed pairs")
    elif status == "infeasible" and not market.asks_more and market.target not in ALL_NAMES:
        findings.expect(False, f"status {status}: demands can be met within loads and conflicts")
    else:
        _searched(findings, market, status)


def _searched(findings: Findings, market: Market, status: str) -> None:
    """Search for an assignment within the rules and at the level, where none is claimed to exist."""
    words = f"status {status}: that none obeys the rules and reaches the level is not checked"
    aims = market.target in ALL_NAMES
    try:
        if aims and not _reached(market.target, market.table(list(market.pairs())), survive=market.survive):
            findings.check("that even all pairs together do not reach the level")
            return
        counterexample = next(
            (
                pairs
                for pairs in every_assignment(market)
                if not aims or _reached(market.target, market.table(pairs), survive=market.survive)
            ),
            None,
        )
    except TooLarge:
        findings.not_checked(words, decisive=True)
        return
    if counterexample is None:
        findings.check("that none of all assignments obeys the rules and reaches the level")
    elif market.plain and market.previous is None and market.min_affinity is None:
        named = ", ".join(f"{who} on {what}" for who, what in counterexample)
        findings.expect(False, f"status {status}: an assignment is {named}")
    else:
        findings.not_checked(words, decisive=True)


def _best(findings: Findings, market: Market, pairs: list[Pair], bound: float) -> None:
    """Compare the bound of an optimal assignment under rules with the best of all assignments."""
    try:
        assignments = [*every_assignment(market)]
    except TooLarge:
        words = "status optimal: that none within the rules has more affinity and rewards is not checked"
        findings.not_checked(words, decisive=True)
        return
    sums = [sum(market.affinity.get(pair, 0.0) for pair in other) for other in assignments]
    gains = [
        total + earned(market.panels, other, market.phase_one) for total, other in zip(sums, assignments, strict=True)
    ]
    _close(findings, "status optimal: bound", bound, max(gains, default=bound), bound)
    findings.check("that none of all assignments within the rules has more affinity and rewards")


def _table(findings: Findings, answer: Answer, market: Market) -> None:
    """Check the CSV of an assignment against demands, loads, rules and the level."""
    rows: list[dict[str, Any]] = answer.content["rows"]
    pairs = [(row["reviewer"], row["item"]) for row in rows]
    for number, (row, pair) in enumerate(zip(rows, pairs, strict=True), 2):
        value = number_in(answer.path, number, row["affinity"])
        findings.same(f"row {number}, affinity", value, market.affinity.get(pair, 0.0))
    _respects(findings, market, pairs, {})
    if findings.wrong or market.target not in ALL_NAMES:
        return
    table = market.table(pairs)
    try:
        reached = _reached(market.target, table, survive=market.survive)
        findings.expect(reached, f"the level {market.target} is not reached with these reviews")
        findings.check(f"the level {market.target}")
    except TooLarge as error:
        findings.not_checked(f"the level {market.target}: {error}", decisive=True)
    findings.not_checked("that no other assignment has more affinity: only --json has a bound")

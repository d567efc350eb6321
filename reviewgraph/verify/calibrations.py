"""Answers of ``calibrate``: averages, groups, ranks, intervals and selections, recomputed.

Qualities are checked by the equations of their method: averages, centring, z-score and ridge here, least squares by
:mod:`reviewgraph.verify.fits`, the posterior by :mod:`reviewgraph.verify.posteriors`. Not checked: qualities of other
methods, beyond the direction of their ranking.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph.graph.levels import LARGEST_SHARE
from reviewgraph.verify.answers import ROUNDING, Findings, is_same, number_in, shown, whole_in
from reviewgraph.verify.fits import check_least_squares
from reviewgraph.verify.graphs import pieces
from reviewgraph.verify.posteriors import CUT, check_direction, check_lottery, check_posterior, check_probabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reviewgraph.verify.answers import Answer
    from reviewgraph.verify.graphs import Table
    from reviewgraph.verify.rules import Wanted

    Method = Callable[[Table, Mapping[str, float]], dict[str, float]]

# Methods that average corrected scores. Each returns the qualities that the scores, or ridge offsets, imply.


def _averaged(corrected: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """Average corrected scores by item."""
    scores: dict[str, list[float]] = {}
    for (_, item), value in corrected.items():
        scores.setdefault(item, []).append(value)
    return {item: _mean(values) for item, values in scores.items()}


def _by_reviewer(scored: Table) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = {}
    for (reviewer, _), value in scored.score.items():
        scores.setdefault(reviewer, []).append(value or 0.0)
    return scores


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _average(scored: Table, quality: Mapping[str, float]) -> dict[str, float]:
    return _averaged({pair: value or 0.0 for pair, value in scored.score.items()})


def _centring(scored: Table, quality: Mapping[str, float]) -> dict[str, float]:
    own = {reviewer: _mean(values) for reviewer, values in _by_reviewer(scored).items()}
    overall = _mean([value or 0.0 for value in scored.score.values()])
    return _averaged({(who, what): (value or 0.0) - own[who] + overall for (who, what), value in scored.score.items()})


def _z_score(scored: Table, quality: Mapping[str, float]) -> dict[str, float]:
    values = [value or 0.0 for value in scored.score.values()]
    overall = _mean(values)
    overall_spread = math.sqrt(_mean([(value - overall) ** 2 for value in values]))
    own = {}
    for reviewer, values in _by_reviewer(scored).items():
        mean = _mean(values)
        spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1))
        own[reviewer] = (mean, spread if spread > 1e-12 * abs(mean) else 0.0)
    corrected = {}
    for (who, what), value in scored.score.items():
        mean, spread = own[who]
        corrected[who, what] = overall + (overall_spread * ((value or 0.0) - mean) / spread if spread else 0.0)
    return _averaged(corrected)


def _ridge(scored: Table, quality: Mapping[str, float]) -> dict[str, float]:
    """Recompute offsets from the qualities, shrunk as by one more review, and qualities from these offsets."""
    residuals: dict[str, list[float]] = {}
    for (who, what), value in scored.score.items():
        residuals.setdefault(who, []).append((value or 0.0) - quality[what])
    offset = {who: math.fsum(values) / (len(values) + 1) for who, values in residuals.items()}
    return _averaged({(who, what): (value or 0.0) - offset[who] for (who, what), value in scored.score.items()})


#: Methods whose qualities are recomputed, or checked against their own equations.
METHODS: dict[str, Method] = {"average": _average, "centring": _centring, "z-score": _z_score, "ridge": _ridge}

POSTERIOR, LSC = "posterior", "lsc"
#: Methods whose groups are connected components; the others rank all papers as one group.
BY_PIECE = {POSTERIOR, LSC}
#: Half the width of a central 90 % interval, in standard errors.
REACH = 1.6448536269514722
#: Relative difference allowed where probabilities and corrected scores are recomputed from printed figures.
CHANCES = 1e-6


class Row(NamedTuple):
    """A paper as an answer has it; None for what it lacks."""

    item: str
    quality: float | None
    average: float | None
    rank: int | None
    standard_error: float | None
    group: int
    interval: tuple[float, float] | None
    probability: float | None
    where: str | None


def verify_calibration(answer: Answer, table: Table, wanted: Wanted) -> Findings:
    """Compare what ``calibrate`` printed or wrote with what follows from the scores."""
    findings = Findings()
    rows = _from_table(answer) if answer.is_table else _from_json(answer)
    method = wanted.method if answer.is_table else answer.get("method", "a text")
    if wanted.named:
        findings.same("method", method, wanted.method)
    if not answer.is_table:
        _programme(findings, answer, table, method, wanted)
    listed = Counter(row.item for row in rows)
    findings.same_rows("items", listed.elements(), table.items)
    if findings.wrong:
        return findings
    order = {item: place for place, item in enumerate(table.items)}
    rows.sort(key=lambda row: order[row.item])
    scored = table.scored()
    _averages(findings, rows, scored, method, wanted)
    _groups(findings, rows, scored, by_piece=method in BY_PIECE)
    _ranks(findings, rows, sign=-1.0 if table.lower_is_better else 1.0)
    if not findings.wrong:
        errors = None
        if method == POSTERIOR and scored.score and answer.content.get("model"):
            # A forged state may overflow: its evidence is then none.
            with np.errstate(all="ignore"):
                errors = check_posterior(findings, answer, scored, {row.item: row for row in rows}, wanted)
        else:
            _qualities(findings, answer, rows, scored, method, wanted)
        _intervals(findings, rows, method)
        if not answer.is_table:
            _scaled(findings, answer, rows, wanted)
        _selection(findings, answer, rows, table, method, wanted, errors)
    return findings


def _programme(findings: Findings, answer: Answer, table: Table, method: str, wanted: Wanted) -> None:
    """Compare the class of scoring functions; the keys of least squares are null elsewhere."""
    if method != LSC:
        for key in ("hypothesis", "objective", "unique", "units"):
            findings.same(key, answer.content.get(key), None)
        return
    kinds = {wanted.hypotheses[who] for who, _ in table.scored().score}
    if kinds:
        findings.same("hypothesis", answer.get("hypothesis", "a text"), kinds.pop() if len(kinds) == 1 else "mixed")


def _from_json(answer: Answer) -> list[Row]:
    kinds = {"item": "a name", "quality": "a number?", "average": "a number?", "rank": "a whole number?"}
    figures = answer.rows("items", kinds | {"standard_error": "a number?", "group": "a whole number"})
    rows = []
    for (item, quality, average, rank, error, group), row in zip(figures, answer.get("items", "a list"), strict=True):
        ends = answer.numbers("interval", 2, within=row) if "interval" in row else None
        probability = answer.get("probability", "a number", within=row, null=True) if "probability" in row else None
        rows.append(
            Row(item, quality, average, rank, error, group, (ends[0], ends[1]) if ends else None, probability, None)
        )
    return rows


def _from_table(answer: Answer) -> list[Row]:
    rows = []
    for number, row in enumerate(answer.content["rows"], 2):
        figure = {
            key: number_in(answer.path, number, row.get(key, ""))
            for key in ("quality", "average", "standard_error", "interval_low", "interval_high")
        }
        rank, group = (whole_in(answer.path, number, row.get(key, "")) for key in ("rank", "group"))
        low, high = figure["interval_low"], figure["interval_high"]
        rows.append(
            Row(
                row["item"],
                figure["quality"],
                figure["average"],
                rank,
                figure["standard_error"],
                group or 0,
                None if low is None or high is None else (low, high),
                number_in(answer.path, number, row.get("probability", "")),
                row.get("list") or None,
            )
        )
    return rows


def _averages(findings: Findings, rows: list[Row], scored: Table, method: str, wanted: Wanted) -> None:
    averages = _average(scored, {})
    for row in rows:
        average = averages.get(row.item)
        findings.same(f"{row.item}, average", row.average, average)
        words = f"{row.item}, quality: {'has one without a score' if average is None else 'lacks one'}"
        # A reference may have a quality without a score; a posterior lacks those of papers scored only by reviewers who
        # gave equal scores throughout.
        free = row.item in wanted.references if average is None else row.quality is None and method == POSTERIOR
        findings.expect(free or (row.quality is None) == (average is None), words)
    findings.check(f"averages of {len(rows)} papers")


def _groups(findings: Findings, rows: list[Row], scored: Table, *, by_piece: bool) -> None:
    """Compare groups with the connected components, numbered by size."""
    components = pieces(scored.rows(), scored.items)
    expected: dict[Any, set[str]] = {}
    for item in scored.items:
        expected.setdefault(components.of((1, item)) if by_piece else 1, set()).add(item)
    claimed: dict[int, set[str]] = {}
    for row in rows:
        claimed.setdefault(row.group, set()).add(row.item)
    findings.same_rows("group", map(frozenset, claimed.values()), map(frozenset, expected.values()))
    numbered = sorted(claimed) == list(range(1, len(claimed) + 1))
    sizes = [len(claimed[number]) for number in sorted(claimed)]
    findings.expect(numbered and sizes == sorted(sizes, reverse=True), "group: groups are not numbered by size")
    findings.check("groups: the connected components" if by_piece else "groups: one")


def _ranks(findings: Findings, rows: list[Row], sign: float) -> None:
    """Rank papers by quality within their groups, ties in the order of the table."""
    count: Counter[int] = Counter()
    ranks: dict[str, int] = {}
    for row in best_first(rows, sign):
        count[row.group] += 1
        ranks[row.item] = count[row.group]
    for row in rows:
        findings.same(f"{row.item}, rank", row.rank, ranks.get(row.item))
    findings.check("ranks by quality")


def best_first(rows: list[Row], sign: float = 1.0) -> list[Row]:
    """Return the papers that have a quality, best first, ties in their present order."""
    return sorted((row for row in rows if row.quality is not None), key=lambda row: -sign * (row.quality or 0.0))


def _qualities(findings: Findings, answer: Answer, rows: list[Row], scored: Table, method: str, wanted: Wanted) -> None:
    """Check qualities by the equations of their method, where it has some that can be checked."""
    quality = {row.item: row.quality for row in rows if row.quality is not None}
    if method in METHODS:
        for item, actual in METHODS[method](scored, quality).items():
            near = is_same(quality[item], actual, CHANCES)
            findings.expect(near, f"{item}, quality: says {quality[item]:.9g}, found {actual:.9g}")
        findings.check(f"qualities, by what {method} is defined as")
        extra = next((row.item for row in rows if row.standard_error is not None), None)
        findings.expect(extra is None, f"{extra}, standard_error: {method} gives none")
    elif method == LSC and not answer.is_table:
        status = answer.get("status", "a text")
        if findings.expect(status in ("optimal", "inaccurate"), f"status: there is none called {status!r}"):
            group = {row.item: row.group for row in rows}
            check_least_squares(findings, answer, scored, quality, group, wanted)
    else:
        words = f"quality, rank: what {method} estimated for the ranking is not recomputed"
        findings.not_checked(words, decisive=True)
        if any(row.standard_error is not None for row in rows):
            findings.not_checked("standard errors: those of the model are not recomputed")
        if not wanted.references:
            check_direction(findings, scored, quality)


def _scaled(findings: Findings, answer: Answer, rows: list[Row], wanted: Wanted) -> None:
    """Fit the line through papers of known quality, and compare the places on it."""
    claimed, place = answer.content.get("scale"), {row.item: row for row in rows}
    if not findings.same("scale", claimed is not None, bool(wanted.on_scale_of)) or claimed is None:
        placed = any("scaled" in row for row in answer.content["items"])
        findings.expect(not placed, "items: there are places on a scale, though none was requested")
        return
    anchors = [(place[item], value) for item, value in wanted.on_scale_of.items() if item in place]
    x, y = np.array([(row.quality, value) for row, value in anchors if row.quality is not None and row.group == 1]).T
    along = x - x.mean()
    slope = float(along @ y / (along @ along))
    intercept = float(y.mean() - slope * x.mean())
    residual = y - intercept - slope * x
    line = {"slope": slope, "intercept": intercept, "error": float(np.sqrt(residual @ residual / (x.size - 2)))}
    size = max(float(np.abs(y).max()), abs(slope) * float(np.abs(x).max()))
    for key, value in line.items():
        printed = answer.get(key, "a number", within=claimed)
        findings.expect(abs(printed - value) <= ROUNDING * size, f"scale.{key}: says {printed:.9g}, found {value:.9g}")
    findings.same("scale.references", answer.get("references", "a whole number", within=claimed), x.size)
    for row in answer.content["items"]:
        own = place[str(row["item"])]
        value, expected = row.get("scaled"), None
        if own.quality is not None and own.group == 1:
            expected = intercept + slope * own.quality
        same = value is expected is None or (
            value is not None and expected is not None and abs(value - expected) <= CHANCES * size
        )
        findings.expect(same, f"{own.item}, scaled: says {shown(value)}, found {shown(expected)}")
    findings.check("scale: the line through the papers of known quality, and all places on it")


def _intervals(findings: Findings, rows: list[Row], method: str) -> None:
    if any(row.standard_error is not None for row in rows):
        wrong = next((row for row in rows if row.standard_error is not None and not row.standard_error >= 0), None)
        findings.expect(wrong is None, f"{wrong.item if wrong else ''}, standard_error: below 0")
    if method != POSTERIOR:
        return
    for row in rows:
        complete = row.quality is not None and row.standard_error is not None
        findings.expect((row.interval is not None) == complete, f"{row.item}, interval: without an error, or lacking")
        if row.interval is not None and row.quality is not None and row.standard_error is not None:
            half = REACH * row.standard_error
            ends = (row.quality - half, row.quality + half)
            size = max(abs(row.quality), half)
            close = all(abs(printed - end) <= CHANCES * size for printed, end in zip(row.interval, ends, strict=True))
            findings.expect(close, f"{row.item}, interval: is not the 90 % interval about the quality")
    findings.check("intervals: 90 % about each quality, by its standard error")


def _selection(
    findings: Findings,
    answer: Answer,
    rows: list[Row],
    table: Table,
    method: str,
    wanted: Wanted,
    errors: Mapping[str, float] | None,
) -> None:
    """Select by the qualities and probabilities of the answer; ``errors`` are those that matter to the order."""
    sign = -1.0 if table.lower_is_better else 1.0
    everyone = best_first(rows, sign)
    count = wanted.select(len(everyone)) if wanted.select is not None else 0
    # Who can be selected: the best of those that can be compared.
    ranked = _comparable(everyone, count, across_groups=wanted.across_groups)
    # A selection of 0 papers is refused, too, where papers cannot be compared.
    selects, refused = wanted.select is not None, len(ranked) < count or (bool(everyone) and not ranked)
    best = [row.item for row in ranked[:count]] if selects and not refused else []
    among = {row.item for row in ranked}
    aside = [row.item for row in rows if row.quality is not None and row.item not in among]
    chosen, apart = set(best), set(aside)
    if not answer.is_table:
        findings.same("selected", answer.names("selected"), best)
        # Earlier versions set nothing aside and lack the key.
        if "set_aside" in answer.content or (selects and not refused and aside):
            findings.same("set_aside", answer.names("set_aside"), aside if selects and not refused else [])
    if not selects or refused:
        extra = next((row.item for row in rows if row.probability is not None), None)
        findings.expect(extra is None, f"{extra}, probability: nothing was selected")
        return
    if answer.is_table:
        for row in rows:
            findings.expect((row.where == "aside") == (row.item in apart), f"{row.item}, list: says {row.where}")
    if method == POSTERIOR:
        place = {item: number for number, item in enumerate(table.items)}
        averaged = [row for row in ranked if row.average is not None]
        by_average = sorted(averaged, key=lambda row: (-sign * (row.average or 0.0), place[row.item]))
        _lists(findings, answer, rows, ranked, best, [row.item for row in by_average[:count]], wanted, sign, errors)
    elif answer.is_table:
        for row in rows:
            where = None if row.quality is None else "in" if row.item in chosen else "out"
            where = "aside" if row.item in apart else where
            findings.same(f"{row.item}, list", row.where, where)
    findings.check(f"the selection of {count}, best first")


def _comparable(ranked: list[Row], count: int, *, across_groups: bool) -> list[Row]:
    """Return the papers among which to select; none where no group is large enough."""
    main = min((row.group for row in ranked), default=1)
    inside = [row for row in ranked if row.group == main]
    if across_groups or len(inside) == len(ranked):
        return ranked
    return inside if len(inside) >= LARGEST_SHARE * len(ranked) and len(inside) >= count else []


def _lists(
    findings: Findings,
    answer: Answer,
    rows: list[Row],
    ranked: list[Row],
    best: list[str],
    by_average: list[str],
    wanted: Wanted,
    sign: float,
    errors: Mapping[str, float] | None,
) -> None:
    """Sort papers into in, to discuss and out, by their probabilities."""
    probability = {row.item: row.probability for row in ranked}
    for item, value in probability.items():
        if not findings.expect(value is not None and 0 <= value <= 1, f"{item}, probability: not from 0 to 1"):
            return
    probabilities = {item: value or 0.0 for item, value in probability.items()}
    off = abs(sum(probabilities.values()) - len(best))
    findings.expect(
        off <= 1e-4 * max(len(best), 1), f"probability: sum to {sum(probabilities.values()):.6g}, not {len(best)}"
    )
    errors_of = errors or {row.item: row.standard_error or 0.0 for row in ranked}
    beliefs = {row.item: (sign * (row.quality or 0.0), errors_of[row.item]) for row in ranked}
    check_probabilities(findings, beliefs, probabilities, len(best), CUT if errors is None else ROUNDING)
    for row in rows:
        allowed = row.item in probabilities or row.probability is None
        findings.expect(allowed, f"{row.item}, probability: the paper is set aside")
    # In and out for certain, and the papers to discuss.
    main, chosen = min((row.group for row in ranked), default=1), set(best)
    inside = [
        row.item
        for row in ranked
        if row.item in chosen and probabilities[row.item] >= 1 - wanted.error_rate and row.group == main
    ]
    out = {item for item, value in probabilities.items() if value <= wanted.error_rate and item not in chosen}
    sure = out | set(inside)
    unsure = [row.item for row in ranked if row.item not in sure]
    unsure.sort(key=lambda item: -probabilities[item])
    if answer.is_table:
        for row in ranked:
            where = "out" if row.item in out else "in" if row.item in sure else "discuss"
            findings.same(f"{row.item}, list", row.where, where)
        return
    findings.same("certain", answer.names("certain"), inside)
    discussed = answer.rows("discuss", {"item": "a name", "probability": "a number"})
    findings.same("discuss", [item for item, _ in discussed], unsure)
    for item, value in discussed:
        findings.same(f"discuss, {item}", value, probabilities.get(item))
    findings.same("error_rate", answer.get("error_rate", "a number"), wanted.error_rate)
    for key, papers in (("expected_wrong", best), ("expected_wrong_by_average", by_average)):
        wrong = sum(1 - probabilities[item] for item in papers)
        value = answer.get(key, "a number")
        findings.expect(
            abs(value - wrong) <= CHANCES * max(len(best), 1), f"{key}: says {value:.9g}, found {wrong:.9g}"
        )
    everyone = {row.item: probabilities.get(row.item, 0.0) for row in rows}
    check_lottery(findings, answer, [row.item for row in ranked], everyone, len(best), wanted)

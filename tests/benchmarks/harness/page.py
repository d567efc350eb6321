"""Results as tables in Markdown, and what they say about the claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tests.benchmarks.harness.draws import Regime
from tests.benchmarks.harness.measures import Summary, calibration_error, paired, summary
from tests.benchmarks.harness.methods import TITLES
from tests.benchmarks.harness.running import EXACT, LEVELS

#: Records by regime, method and number of the draw.
Results: TypeAlias = Mapping[str, Mapping[str, Mapping[int, dict[str, Any]]]]

#: Points of precision that may be lost to the average, to the exact posterior, and to the best other method; the
#: latter two less two paired standard errors.
TO_AVERAGE, TO_EXACT, TO_OTHER = -0.5, -0.7, -1.0
#: Coverage in percent: so far below and above the level where intervals are to be nominal, so far below elsewhere.
BELOW, ABOVE, LOOSE = 3.0, 2.0, 10.0
#: Most calibration error of the probability of being among the best.
FORECAST = 0.01


class Verdict(NamedTuple):
    """A claim, whether it held, and the rows that decide it."""

    claim: str
    held: bool
    detail: str


def gather(records: Iterable[dict[str, Any]], n: int) -> Results:
    """Return records by regime, method and draw, of runs at ``n`` papers; a later record replaces an earlier one."""
    found: dict[str, dict[str, dict[int, dict[str, Any]]]] = {}
    for record in records:
        if record.get("papers") == n:
            found.setdefault(record["regime"], {}).setdefault(record["method"], {})[record["draw"]] = record
    return found


def precisions(results: Results, regime: str, method: str) -> dict[int, float]:
    """Return precision by draw; draws in which the method failed are left out."""
    rows = results.get(regime, {}).get(method, {})
    return {draw: row["precision"] for draw, row in rows.items() if "precision" in row}


def difference(results: Results, regime: str, ours: str, other: str) -> Summary:
    """Return our precision less another's, paired by draws."""
    return paired(precisions(results, regime, ours), precisions(results, regime, other))


def best_other(results: Results, regime: str, ours: str, methods: Sequence[str]) -> str | None:
    """Return the method of largest mean precision besides ours and the exact posterior."""
    means = {
        method: summary(list(precisions(results, regime, method).values())).mean
        for method in methods
        if method not in (ours, EXACT) and precisions(results, regime, method)
    }
    return max(means, key=means.__getitem__) if means else None


def precision_table(regimes: Sequence[Regime], results: Results, methods: Sequence[str], ours: str) -> str:
    """Mean precision of each method with its standard error, and what ours has over three others."""
    judged = [regime.name for regime in regimes if precisions(results, regime.name, ours)]
    more = ["minus average", "minus exact", "minus best other"] if judged else []
    heads = ["regime", *[TITLES.get(method, method) for method in methods], *more]
    lines = [_row(*heads), _row(*["---"] * len(heads))]
    for regime in regimes:
        cells = [_number(summary(list(precisions(results, regime.name, method).values()))) for method in methods]
        other = best_other(results, regime.name, ours, methods)
        if judged:
            cells += [_signed(difference(results, regime.name, ours, name)) for name in ("average", EXACT)]
            cells.append(f"{_signed(difference(results, regime.name, ours, other))} ({other})" if other else "")
        lines.append(_row(regime.title, *cells))
    mean = [_number(Summary(mean, float("nan"))) for mean in means(regimes, results, methods).values()]
    lines.append(_row("**mean**", *mean, *[""] * len(more)))
    return "\n".join(lines)


def means(regimes: Sequence[Regime], results: Results, methods: Sequence[str]) -> dict[str, float]:
    """Return each method's mean over regimes, NaN where it lacks one."""
    return {
        method: float(np.mean([summary(list(precisions(results, r.name, method).values())).mean for r in regimes]))
        for method in methods
    }


def coverages(results: Results, regime: str, method: str) -> dict[float, Summary]:
    """Return the coverage in percent of intervals by level; nothing for a method that has none."""
    rows = [row["coverage"] for row in results.get(regime, {}).get(method, {}).values() if "coverage" in row]
    return {level: summary([row[f"{level:g}"] for row in rows]) for level in LEVELS} if rows else {}


def forecast_error(results: Results, regime: str, method: str) -> float | None:
    """Return the calibration error of the probability of being among the best, over all draws."""
    bins = [row["bins"] for row in results.get(regime, {}).get(method, {}).values() if "bins" in row]
    return calibration_error(bins) if bins else None


def uncertainty_table(regimes: Sequence[Regime], results: Results, ours: str) -> str:
    """Coverage, calibration of probabilities, and the precision that ours expects of itself less what it reached."""
    heads = [f"{100 * level:g} %" for level in LEVELS]
    lines = [
        _row("regime", *heads, "error of P(best n)", "expected - true precision"),
        _row(*["---"] * (3 + len(heads))),
    ]
    for regime in regimes:
        rows = results.get(regime.name, {}).get(ours, {}).values()
        claimed = [row["expected_precision"] - row["precision"] for row in rows if "expected_precision" in row]
        error = forecast_error(results, regime.name, ours)
        cells = [_number(found) for found in coverages(results, regime.name, ours).values()] or [""] * len(LEVELS)
        lines.append(
            _row(
                regime.title,
                *cells,
                "" if error is None else f"{error:.4f}",
                _signed(summary(claimed)) if claimed else "",
            )
        )
    return "\n".join(lines)


def seconds_table(regimes: Sequence[Regime], results: Results, methods: Sequence[str]) -> str:
    """Median seconds of one processor of each method."""
    lines = [_row("regime", *methods), _row(*["---"] * (1 + len(methods)))]
    for regime in regimes:
        rows = [results.get(regime.name, {}).get(method, {}).values() for method in methods]
        taken = [[row["seconds"] for row in found if "seconds" in row] for found in rows]
        lines.append(_row(regime.title, *[f"{median(found):.2f}" if found else "" for found in taken]))
    return "\n".join(lines)


def verdicts(regimes: Sequence[Regime], results: Results, methods: Sequence[str], ours: str) -> list[Verdict]:
    """Return the claims and whether they held; none where ours has no results."""
    run = [regime for regime in regimes if precisions(results, regime.name, ours)]
    if not run:
        return []
    return [*_of_precision(run, results, methods, ours), *_of_uncertainty(run, results, ours)]


def _of_precision(run: Sequence[Regime], results: Results, methods: Sequence[str], ours: str) -> list[Verdict]:
    others = [method for method in methods if method not in (ours, EXACT)]
    to_average = {r.title: difference(results, r.name, ours, "average") for r in run}
    to_exact = {r.title: difference(results, r.name, ours, EXACT) for r in run if precisions(results, r.name, EXACT)}
    to_other = {
        f"{r.title}: {other}": difference(results, r.name, ours, other)
        for r in run
        if (other := best_other(results, r.name, ours, methods))
    }
    mean = means(run, results, [ours, *others])
    ahead = {f"{method} {mean[method]:.1f}": Summary(mean[ours] - mean[method], 0.0) for method in others}
    goals = [r for r in run if r.goal is not None]
    goal = float(np.mean([r.goal for r in goals])) if goals else float("nan")
    reached = means(goals, results, [ours])[ours] if goals else float("nan")
    return [
        _least(f"minus average at least {TO_AVERAGE} everywhere", to_average, TO_AVERAGE, errors=0.0),
        _least(f"minus exact at least {TO_EXACT} minus two standard errors", to_exact, TO_EXACT),
        _least(f"minus best other at least {TO_OTHER} minus two standard errors", to_other, TO_OTHER),
        _least(f"mean over regimes ({mean[ours]:.1f}) above every single method", ahead, 0.0, errors=0.0),
        Verdict(
            "mean as good as the first version's", not goals or reached >= goal, f"{reached:.1f} against {goal:.1f}"
        ),
    ]


def _least(claim: str, found: Mapping[str, Summary], least: float, errors: float = 2.0) -> Verdict:
    """Judge differences: each may fall short by so many standard errors."""
    short = [name for name, value in found.items() if value.mean < least - errors * np.nan_to_num(value.error)]
    worst = min(found, key=lambda name: found[name].mean, default=None)
    said = "; ".join(f"{name} {_signed(found[name])}" for name in short or ([worst] if worst else []))
    return Verdict(claim, not short, said if short else f"least: {said}")


def _of_uncertainty(run: Sequence[Regime], results: Results, ours: str) -> list[Verdict]:
    found = []
    for level in LEVELS:
        goal = 100 * level
        for window, least, most in (("nominal", goal - BELOW, goal + ABOVE), ("loose", goal - LOOSE, 100.0)):
            seen = {r.title: coverages(results, r.name, ours).get(level) for r in run if r.window == window}
            known = {title: value for title, value in seen.items() if value is not None}
            out = [f"{title} {_number(value)}" for title, value in known.items() if not least <= value.mean <= most]
            range_ = f"{least:g}-{most:g}" if window == "nominal" else f"at least {least:g}"
            where = (
                "linear with noise, offsets, integers, realistic"
                if window == "nominal"
                else "nonlinear, mixed, noiseless"
            )
            if known:
                found.append(Verdict(f"{goal:g} % intervals cover {range_} % ({where})", not out, "; ".join(out)))
    errors = {r.title: forecast_error(results, r.name, ours) for r in run}
    known_errors = {title: error for title, error in errors.items() if error is not None}
    if known_errors:
        worst = max(known_errors, key=known_errors.__getitem__)
        claim = f"calibration error of P(best n) at most {FORECAST}"
        said = f"largest: {worst} {known_errors[worst]:.4f}"
        found.append(Verdict(claim, known_errors[worst] <= FORECAST, said))
    return found


def verdict_lines(found: Sequence[Verdict]) -> str:
    """One line a claim."""
    return "\n".join(f"* {'Holds' if v.held else '**Fails**'}: {v.claim}. {v.detail}".rstrip() for v in found)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _number(found: Summary) -> str:
    """A mean and its standard error, nothing where there is no mean."""
    if not np.isfinite(found.mean):
        return ""
    return f"{found.mean:.1f}" + (f" ± {found.error:.1f}" if np.isfinite(found.error) else "")


def _signed(found: Summary) -> str:
    if not np.isfinite(found.mean):
        return ""
    return f"{found.mean:+.1f}" + (f" ± {found.error:.1f}" if np.isfinite(found.error) and found.error > 0 else "")

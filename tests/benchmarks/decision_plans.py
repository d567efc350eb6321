"""Claim of `plan --for decision`: its extra reviews save more wrong selections than other rules, as often as it can.

``python tests/benchmarks/decision_plans.py --out results.jsonl``: a conference's whole scores (the realistic setting,
k reviews a paper), calibrated; extra reviews by each rule, at most one a reviewer; scores for them from the same
truth; calibrated again. A killed run goes on where it ended; ``--table`` prints what there is, ``--picture FILE``
draws it. About a CPU second a draw and rule.

It should win most where many papers are close to the cut, and nothing where a review is as noisy as all that is known:
before scores no rule beats chance. A pair of reviewer and paper has one score, whichever rule asks for it, so rules
are compared in pairs of equal draws.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from lsc.estimate import plain_averages
from lsc.posteriors import PosteriorEstimate, posterior
from lsc.simulation import Realistic, true_qualities
from planner import plan_extra_reviews
from reviewgraph import Reviews
from reviewgraph._base import FloatArray, IntArray
from tests.benchmarks.harness.storing import append, records

#: Papers, reviews of each, extra reviews; share of papers that are selected; seconds for the level's plan.
PAPERS, REVIEWS, EXTRA = (600, 1000), (3, 4), (50, 100)
SHARE, SECONDS = 0.1, 1.0


@dataclass(frozen=True, eq=False)
class Conference:
    """A calibrated table, every score that anybody would give, the truth, and how many are selected."""

    table: Reviews
    scores: FloatArray
    truth: FloatArray
    n: int
    found: PosteriorEstimate
    rng: np.random.Generator

    def wrong(self, found: PosteriorEstimate) -> int:
        """How many of the selected are not among the truly best."""
        best = np.argsort(-self.truth, kind="stable")[: self.n]
        return self.n - int(np.isin(np.argsort(-found.quality, kind="stable")[: self.n], best).sum())

    def after(self, pairs: IntArray) -> PosteriorEstimate:
        """Calibrate with some more reviews."""
        return posterior(self.table.with_codes(pairs[:, 0], pairs[:, 1], self.scores[pairs[:, 0], pairs[:, 1]]))

    def by_anyone(self, items: IntArray) -> IntArray:
        """Pair each item with a reviewer at random who has not read it, nobody twice."""
        free, found = self.rng.permutation(self.table.n_reviewers).tolist(), []
        for i in items.tolist():
            j = next(j for j in free if i not in self.table.items_of(j))
            free.remove(j)
            found.append((j, i))
        return np.array(found, np.int64).reshape(-1, 2)


def conference(papers: int, reviews: int, draw: int) -> Conference:
    """Draw one: reviewers first, and the scores of all pairs."""
    rng = np.random.default_rng([papers, reviews, draw])
    setting = Realistic(papers, papers, reviews_per_item=(reviews, reviews))
    design = setting.draw(rng).reviews
    truth = true_qualities(papers, rng)
    scores = setting.scores(np.tile(truth, papers), np.repeat(np.arange(papers), papers), rng).reshape(papers, papers)
    table = Reviews.from_codes(
        design.reviewer, design.item, scores[design.reviewer, design.item], reviewers=papers, items=papers
    )
    return Conference(table, scores, truth, round(SHARE * papers), posterior(table), rng)


def _random(of: Conference, count: int) -> IntArray:
    return of.by_anyone(of.rng.permutation(of.truth.size)[:count])


def _borderline(of: Conference, count: int) -> IntArray:
    average = plain_averages(of.table)
    cut = np.sort(average)[-of.n - 1 : -of.n + 1].mean()
    return of.by_anyone(np.lexsort((of.rng.permutation(average.size), np.abs(average - cut)))[:count])


def _open(of: Conference, count: int) -> IntArray:
    chance = of.found.probability_in_top(of.n)
    return of.by_anyone(np.argsort(-chance * (1 - chance), kind="stable")[:count])


def _connection(of: Conference, count: int) -> IntArray:
    plan = plan_extra_reviews(of.table, spare=1, time_limit=SECONDS)
    rest = of.by_anyone(of.rng.permutation(of.truth.size)[:count])
    asked = set(plan.pairs[:, 0].tolist())
    return np.concatenate([plan.pairs, [pair for pair in rest.tolist() if pair[0] not in asked]]).astype(int)[:count]


def _decision(of: Conference, count: int) -> IntArray:
    return plan_extra_reviews(of.table, objective="decision", n_selected=of.n, spare=1, max_reviews=count).pairs


#: What a chair may do with extra reviews, by name.
RULES: dict[str, Callable[[Conference, int], IntArray]] = {
    "random": _random,
    "connection": _connection,
    "borderline": _borderline,
    "P(1 - P)": _open,
    "decision": _decision,
}


def measured(papers: int, reviews: int, draw: int, rules: list[str]) -> list[dict[str, Any]]:
    """Measure rules on one draw."""
    of = conference(papers, reviews, draw)
    before, found = of.wrong(of.found), []
    for rule, extra in product(rules, EXTRA):
        after = of.after(RULES[rule](of, extra))
        found.append(
            {
                "papers": papers,
                "reviews": reviews,
                "draw": draw,
                "extra": extra,
                "rule": rule,
                "before": before,
                "wrong": of.wrong(after),
                "expected": after.selection(of.n, across_groups=True).expected_wrong,
                "before_expected": of.found.selection(of.n, across_groups=True).expected_wrong,
            }
        )
    return found


def run(path: Path, draws: int, rules: list[str], processes: int) -> None:
    """Measure what is missing, all settings of a draw before the next draw."""
    key = ("papers", "reviews", "draw", "rule")
    done = {tuple(record[name] for name in key) for record in records(path)}
    jobs = [
        (papers, reviews, draw, missing)
        for draw, papers, reviews in product(range(draws), PAPERS, REVIEWS)
        if (missing := [rule for rule in rules if (papers, reviews, draw, rule) not in done])
    ]
    with ProcessPoolExecutor(processes) as pool:
        for found in pool.map(measured, *zip(*jobs, strict=True)) if jobs else ():
            for record in found:
                append(path, record)


def saved(path: Path) -> dict[tuple[int, int, int, str], dict[int, tuple[float, float]]]:
    """Return by setting and rule, and by draw: wrong selections saved, by the truth and as calibration expects."""
    found: dict[tuple[int, int, int, str], dict[int, tuple[float, float]]] = {}
    for record in records(path):
        key = (record["papers"], record["reviews"], record["extra"], record["rule"])
        values = (record["before"] - record["wrong"], record["before_expected"] - record["expected"])
        found.setdefault(key, {})[record["draw"]] = values
    return found


def _by_draw(
    found: dict[tuple[int, int, int, str], dict[int, tuple[float, float]]], cells: list[Any], rule: str
) -> tuple[list[float], list[list[float]]]:
    """What a rule saves, and what decision saves beyond it by truth and expectation; budgets of a draw averaged."""
    own: dict[Any, list[float]] = {}
    more: tuple[dict[Any, list[float]], ...] = ({}, {})
    for papers, reviews, extra in cells:
        ours = found.get((papers, reviews, extra, "decision"), {})
        for draw, value in found.get((papers, reviews, extra, rule), {}).items():
            own.setdefault((papers, reviews, draw), []).append(value[0])
            for kind in (0, 1) if draw in ours else ():
                more[kind].setdefault((papers, reviews, draw), []).append(ours[draw][kind] - value[kind])
    return [float(np.mean(one)) for one in own.values()], [[float(np.mean(one)) for one in m.values()] for m in more]


def said(values: list[float]) -> str:
    """Mean and its standard error."""
    if not values:
        return ""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):+.2f} ± {error:.2f}"


def table(path: Path) -> list[str]:
    """Return a row a setting and rule: what it saves, and what the plan for decisions saves beyond it."""
    found = saved(path)
    lines = ["| papers | reviews | extra | rule | saved | decision saves more | as expected | draws |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    cells = [*product(PAPERS, REVIEWS, EXTRA), None]
    for cell, rule in product(cells, RULES):
        own, beyond = _by_draw(found, [cell] if cell else cells[:-1], rule)
        beyond = [said(values) for values in beyond]
        beyond = beyond if rule != "decision" else ["", ""]
        names = " | ".join(map(str, cell)) if cell else "all | all | all"
        lines.append(f"| {names} | {rule} | {said(own)} | {beyond[0]} | {beyond[1]} | {len(own)} |")
    return lines


def draw_picture(target: Path, path: Path) -> None:
    """Draw what each rule saves, over all papers and reviews, for each number of extra reviews."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "decisions"
    from matplotlib import pyplot as plt

    found = saved(path)
    figure, panel = plt.subplots(figsize=(6.4, 2.9), layout="constrained")
    for shift, extra, colour in ((-0.17, EXTRA[0], "#e6b0aa"), (0.17, EXTRA[1], "#c0392b")):
        values = [
            [value[0] for one in product(PAPERS, REVIEWS) for value in found.get((*one, extra, rule), {}).values()]
            for rule in RULES
        ]
        mean = [np.mean(one) if one else np.nan for one in values]
        error = [2 * np.std(one, ddof=1) / np.sqrt(len(one)) if len(one) > 1 else np.nan for one in values]
        place = np.arange(len(RULES)) + shift
        panel.barh(place, mean, 0.32, xerr=error, color=colour, ecolor="#555555", label=f"{extra} extra reviews")
    panel.set_yticks(np.arange(len(RULES)), list(RULES))
    panel.axvline(0, color="black", linewidth=0.8)
    panel.set_xlabel("wrong selections saved (bars: two standard errors)")
    panel.legend(frameon=False, fontsize=8, loc="upper right")
    panel.invert_yaxis()
    for suffix, metadata in ((".svg", {"Date": None}), (".png", {})):
        figure.savefig(target.with_suffix(suffix), dpi=110, metadata=metadata)
    plt.close(figure)


def main() -> int:
    """Measure, then print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="file of results, one line each")
    parser.add_argument("--draws", type=int, default=20, help="draws of each setting (20)")
    parser.add_argument("--processes", type=int, default=2, help="processes (2)")
    parser.add_argument("--rules", nargs="*", default=list(RULES), help="rules to measure (all)")
    parser.add_argument("--table", action="store_true", help="print the table of what there is, measure nothing")
    parser.add_argument("--picture", type=Path, help="draw the picture too")
    options = parser.parse_args()
    if not options.table:
        run(options.out, options.draws, options.rules, options.processes)
    print("\n".join(table(options.out)))
    if options.picture:
        draw_picture(options.picture, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Tables with many scores per item: thinned to a few, with the rest as the truth; what each method makes of them."""

from __future__ import annotations

import csv
import inspect
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import lsc
from lsc.metrics import spearman
from reviewgraph import Reviews
from tests.benchmarks.harness.measures import FloatArray, among_best, area, forecast_bins, pairs_in_order
from tests.benchmarks.harness.methods import METHODS, OURS

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Record = dict[str, Any]

#: Shares of the items that are selected, and probability from which an item is in (below one minus it, out).
SHARES, SURE = (0.1, 0.2), 0.9
#: Share of the scores that is held out, and normal quantile of the ends of their 90 % intervals.
HELD_OUT, WIDTH = 0.1, 1.6448536269514722
#: Most of all reviewers that are drawn, least items per reviewer, and least other scores of an item for a truth.
DRAWN, LEAST_LOAD, LEAST_TRUTH = 0.35, 4, 2
#: Columns that are no criteria.
FIXED = ("reviewer", "item", "score", "confidence")
#: Simple ways to use criteria and confidence, run on tables that have some.
SIMPLE = ("mean of criteria", "criteria as reviewers", "confidence as weights")


@dataclass(frozen=True)
class Scores:
    """A table in arrays of shape (E,): codes of reviewers and items, scores, criteria by name, and confidence."""

    reviewer: IntArray
    item: IntArray
    score: FloatArray
    criteria: Mapping[str, FloatArray]
    confidence: FloatArray | None

    def take(self, rows: npt.NDArray[Any]) -> Scores:
        """Return some rows."""
        criteria = {name: values[rows] for name, values in self.criteria.items()}
        confidence = None if self.confidence is None else self.confidence[rows]
        return Scores(self.reviewer[rows], self.item[rows], self.score[rows], criteria, confidence)

    def reviews(self, **further: Any) -> Reviews:
        """Return the scores as reviews, those of the target only unless ``further`` says more."""
        sizes = {"reviewers": int(self.reviewer.max()) + 1, "items": int(self.item.max()) + 1}
        return Reviews.from_codes(self.reviewer, self.item, self.score, **sizes, **further)

    @property
    def sure(self) -> FloatArray | None:
        """The confidence, None where some of it is missing."""
        return self.confidence if self.confidence is not None and np.isfinite(self.confidence).all() else None


class Draw(NamedTuple):
    """Some scores of a table, the truth of its items, NaN where unknown, and the median number of scores behind it."""

    scores: Scores
    truth: FloatArray
    behind: float


@cache
def read_scores(path: Path) -> Scores:
    """Read ``reviewer,item,score[,criterion...][,confidence]``; further numbers may be missing."""
    with open(path, encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        names = lines.fieldnames or []
        if any(name not in names for name in FIXED[:3]):
            message = f"{path}: expected columns reviewer, item and score, found {', '.join(names)}"
            raise ValueError(message)
        rows = list(lines)
    columns = {}
    for name in (name for name in names if name not in FIXED[:2]):
        try:
            columns[name] = np.array([float(row[name]) if row[name] else np.nan for row in rows])
        except ValueError as error:
            message = f"{path}, column {name}: expected numbers ({error})"
            raise ValueError(message) from error
    codes = [np.unique([row[name] for row in rows], return_inverse=True)[1] for name in FIXED[:2]]
    criteria = {name: values for name, values in columns.items() if name not in FIXED}
    found = Scores(codes[0], codes[1], columns["score"], criteria, columns.get("confidence"))
    return found.take(np.isfinite(found.score))


@cache
def read_truth_of(path: Path) -> FloatArray | None:
    """Return the truth of the items of a table from ``truth/NAME`` next to it, shape (N,), NaN where unknown.

    That file has the columns ``item,truth``. None without it: then the scores that are not drawn are the truth.
    """
    side = path.parent / "truth" / path.name
    if not side.exists():
        return None
    with open(side, encoding="utf-8", newline="") as file:
        known = {row["item"]: float(row["truth"]) for row in csv.DictReader(file)}
    with open(path, encoding="utf-8", newline="") as file:
        items = np.unique([row["item"] for row in csv.DictReader(file)])
    return np.array([known.get(item, np.nan) for item in items.tolist()])


def sizes(scores: Scores, wanted: Sequence[int]) -> list[int]:
    """Return the numbers of scores per item for which enough others remain; one fewer than there are if none."""
    count = int(np.median(np.bincount(scores.item)))
    return [size for size in wanted if size + LEAST_TRUTH <= count] or [max(count - 1, 1)]


def thin(scores: Scores, size: int, most_items: int, rng: np.random.Generator) -> Draw:
    """Draw ``size`` scores of each of at most ``most_items`` items, as reviews are assigned.

    Reviewers come in random order; each takes the items that lack most scores, up to a load at which about a third of
    all reviewers is needed. The truth of an item is the mean of its scores by reviewers not drawn; where these are too
    few, of all its scores not drawn.
    """
    chosen = rng.permutation(int(scores.item.max()) + 1)[:most_items]
    scores = scores.take(np.isin(scores.item, chosen))
    n_reviewers, n_items = int(scores.reviewer.max()) + 1, int(scores.item.max()) + 1
    needed = np.where(np.bincount(scores.item, minlength=n_items) > 0, size, 0)
    load = max(LEAST_LOAD, int(np.ceil(chosen.size * size / (DRAWN * n_reviewers))))
    drawn: BoolArray = np.zeros(scores.item.size, np.bool_)
    by_reviewer = np.split(np.argsort(scores.reviewer, kind="stable"), np.cumsum(np.bincount(scores.reviewer))[:-1])
    for reviewer in rng.permutation(n_reviewers):
        rows = by_reviewer[reviewer]
        rows = rows[needed[scores.item[rows]] > 0]
        rows = rows[np.argsort(rng.random(rows.size) - needed[scores.item[rows]], kind="stable")][:load]
        drawn[rows], needed[scores.item[rows]] = True, needed[scores.item[rows]] - 1
    others = ~np.isin(scores.reviewer, scores.reviewer[drawn])
    if np.bincount(scores.item[others], minlength=n_items)[np.unique(scores.item)].min() < LEAST_TRUTH:
        others = ~drawn
    count = np.bincount(scores.item[others], minlength=n_items)
    with np.errstate(invalid="ignore"):
        truth = np.bincount(scores.item[others], scores.score[others], n_items) / count
    return Draw(scores.take(drawn), truth, float(np.median(count[count > 0])) if others.any() else 0.0)


def run(
    path: Path, size: int, draw: int, most_items: int, methods: Sequence[str], done: Container[str] = ()
) -> list[Record]:
    """Measure methods on one draw of a table, and the posterior in further ways, unless they are done.

    One that fails leaves its error.
    """
    rng = np.random.default_rng([draw, size, most_items])
    sample = thin(read_scores(path), size, most_items, rng)
    if (truth := read_truth_of(path)) is not None:
        sample = sample._replace(
            truth=np.where(np.isfinite(sample.truth), truth[: sample.truth.size], np.nan), behind=0.0
        )
    tasks: dict[str, Callable[[], Record]] = {name: _method(name, sample, draw) for name in methods if name in METHODS}
    tasks |= _further(sample) if OURS in methods else {}
    tasks |= {name: task for name, task in _simple(sample).items() if name in methods}
    found = []
    for name in (name for name in tasks if name not in done):
        record: Record = {"table": path.stem, "size": size, "draw": draw, "method": name, "behind": sample.behind}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                record |= tasks[name]()
        except Exception as error:
            record["failed"] = f"{type(error).__name__}: {error}"
        found.append(record)
    return found


def _method(name: str, sample: Draw, draw: int) -> Callable[[], Record]:
    """Return the measuring of one method on scores of the target; ours with all that its version uses by default."""

    def task() -> Record:
        reviews = full(sample.scores) if name == OURS else sample.scores.reviews()
        found = METHODS[name](reviews, max(reviews.n_items // 10, 1), np.random.default_rng([draw, 1]))
        record = agreement(found, sample)
        if callable(getattr(found, "probability_in_top", None)):
            record |= {"top": {f"{share:g}": top(found, sample, share) for share in SHARES}}
        return record | used(found) | held_out(sample.scores, draw) if name == OURS else record

    return task


def full(scores: Scores) -> Reviews:
    """Return the reviews with criteria and confidence, as far as this version has them."""
    known = inspect.signature(Reviews.from_codes).parameters
    further: dict[str, Any] = {"target": "score", "criteria": scores.criteria} if scores.criteria else {}
    further |= {} if scores.sure is None else {"confidence": scores.sure}
    return scores.reviews(**{name: value for name, value in further.items() if name in known})


def used(estimate: Any) -> Record:
    """Return what the posterior made use of: criteria, confidence."""
    joined, confidence = getattr(estimate, "joined", None), getattr(estimate, "confidence", None)
    return {"used": [bool(getattr(joined, "used", False)), bool(getattr(confidence, "used", False))]}


def agreement(estimate: Any, sample: Draw) -> Record:
    """Return how well the order of the truth is met, x 100.

    Spearman's correlation with ties at mean ranks, the share of pairs in order, and the area under the ROC curve of the
    best; the latter two bear ties in the truth and in the estimate.
    """
    truth = sample.truth[: estimate.quality.size]
    known = np.isfinite(estimate.quality) & np.isfinite(truth)
    quality, truth = np.asarray(estimate.quality)[known], truth[known]
    best = {share: among_best(truth, max(1, round(share * truth.size))) for share in SHARES}
    return {
        "spearman": 100.0 * spearman(quality, truth),
        "pairs": 100.0 * pairs_in_order(quality, truth),
        **{f"area {share:g}": 100.0 * area(quality, part) for share, part in best.items()},
    }


def top(estimate: Any, sample: Draw, share: float) -> Record:
    """Compare probabilities of being among the best with the truth, ties at its cut by their share.

    ``in`` and ``out`` are the number of items, the number of wrong ones that their probabilities predict, and that of
    wrong ones; ``expected`` and ``precision`` in percent of the selected.
    """
    truth = sample.truth[: estimate.quality.size]
    known = np.isfinite(estimate.quality) & np.isfinite(truth)
    truth, n = truth[known], max(1, round(share * int(known.sum())))
    chance = np.asarray(estimate.probability_in_top(n), np.float64)[known]
    best = among_best(truth, n)
    inside, outside = chance >= SURE, chance <= 1.0 - SURE
    chosen = np.argsort(-chance, kind="stable")[:n]
    bins = np.asarray(forecast_bins(chance, best > 0.5))
    bins[:, 2] = np.bincount(np.minimum((chance * len(bins)).astype(np.int64), len(bins) - 1), best, len(bins))
    return {
        "bins": bins.tolist(),
        "in": [int(inside.sum()), float((1 - chance[inside]).sum()), float((1 - best[inside]).sum())],
        "out": [int(outside.sum()), float(chance[outside].sum()), float(best[outside].sum())],
        "expected": 100.0 * float(chance[chosen].mean()),
        "precision": 100.0 * float(best[chosen].mean()),
    }


def held_out(scores: Scores, draw: int) -> Record:
    """Predict a tenth of the scores from the others: mean log density in scores of unit variance, share in 90 %."""
    rng = np.random.default_rng([draw, 2])
    out = rng.random(scores.item.size) < HELD_OUT
    rest = scores.take(~out)
    loads, counts = np.bincount(rest.reviewer, minlength=scores.reviewer.max() + 1), np.bincount(rest.item)
    item = scores.item[out]
    usable = (loads[scores.reviewer[out]] >= 2) & (item < counts.size)
    usable &= counts[np.minimum(item, counts.size - 1)] >= 1
    reviewer, item, score = (values[out][usable] for values in (scores.reviewer, scores.item, scores.score))
    if not score.size:
        return {}
    mean, variance = predicted(lsc.posterior(rest.reviews()), reviewer, item)
    fine = np.isfinite(mean) & (variance > 0)
    gap, variance = (score - mean)[fine], variance[fine]
    density = -0.5 * (np.log(2 * np.pi * variance) + gap**2 / variance) + np.log(scores.score.std())
    covered = np.abs(gap) <= WIDTH * np.sqrt(variance)
    return {"held out": [int(fine.sum()), float(density.sum()), float(covered.sum())]}


def predicted(estimate: Any, reviewer: IntArray, item: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of scores, shapes (E,), from the reported severity, stretch and noise."""
    beliefs = estimate.beliefs
    severity, stretch, noise = beliefs.reviewers.severity, beliefs.reviewers.stretch, beliefs.reviewers.noise
    off = (np.asarray(estimate.quality) - beliefs.location)[item]
    slope = stretch.mean[reviewer]
    mean = beliefs.location - severity.mean[reviewer] + slope * off
    widths = [(quantity.high - quantity.low)[reviewer] / (2 * WIDTH) for quantity in (severity, stretch)]
    error = np.asarray(estimate.standard_error)[item]
    variance = (slope**2 + widths[1] ** 2) * error**2 + (widths[1] * off) ** 2 + widths[0] ** 2
    return mean, variance + noise.mean[reviewer] ** 2


# Several criteria, and confidence: what the posterior gains by them, and simple ways to use them.


def _further(sample: Draw) -> dict[str, Callable[[], Record]]:
    """Return the posterior without criteria and confidence, where the default has some."""
    scores, found = sample.scores, {}
    known = inspect.signature(lsc.posterior).parameters
    if "only_target" in known and (scores.criteria or scores.sure is not None):
        found[f"{OURS}, only target"] = lambda: agreement(lsc.posterior(scores.reviews()), sample)
    if "confidence" in known and scores.criteria and scores.sure is not None:
        found[f"{OURS}, no confidence"] = lambda: agreement(lsc.posterior(full(scores), confidence=False), sample)
    return found


def _simple(sample: Draw) -> dict[str, Callable[[], Record]]:
    """Return the tasks of :data:`SIMPLE` for which the table has columns."""
    scores, found = sample.scores, {}
    if scores.criteria:
        found["mean of criteria"] = lambda: agreement(lsc.posterior(_mean(scores).reviews()), sample)
        found["criteria as reviewers"] = lambda: agreement(lsc.posterior(_as_reviewers(scores).reviews()), sample)
    if scores.sure is not None:
        weights = scores.sure - scores.sure.min() + 1.0
        found["confidence as weights"] = lambda: agreement(_weighted(scores, weights), sample)
    return found


def _weighted(scores: Scores, weights: FloatArray) -> Any:
    pairs = zip(scores.reviewer.tolist(), scores.item.tolist(), strict=True)
    return lsc.posterior(scores.reviews(), weights=dict(zip(pairs, weights.tolist(), strict=True)))


def _standard(scores: Scores) -> list[FloatArray]:
    """Return target and criteria, each of mean 0 and variance 1, in the direction of the target."""
    found = []
    for values in (scores.score, *scores.criteria.values()):
        spread = float(np.nanstd(values))
        known = np.isfinite(values)
        if spread > 0 and known.sum() > 2:
            sign = -1.0 if np.cov(values[known], scores.score[known])[0, 1] < 0 else 1.0
            found.append(sign * (values - np.nanmean(values)) / spread)
    return found


def _mean(scores: Scores) -> Scores:
    """Replace each score by the mean of its standardised criteria."""
    return replace(scores, score=np.asarray(np.nanmean(_standard(scores), axis=0)))


def _as_reviewers(scores: Scores) -> Scores:
    """Make each criterion of a reviewer a reviewer of its own."""
    columns, n_reviewers = _standard(scores), int(scores.reviewer.max()) + 1
    reviewer = np.concatenate([scores.reviewer + part * n_reviewers for part in range(len(columns))])
    item, score = np.tile(scores.item, len(columns)), np.concatenate(columns)
    return Scores(reviewer, item, score, {}, None).take(np.isfinite(score))

"""Answers of ``calibrate``: averages, groups, ranks, selections, lists and lotteries, recomputed.

A method may name :class:`Equations` of its qualities, as Least Square Calibration does. All other qualities, and their
standard errors, are left to a second run of the command.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import starmap
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph._base.arrays import order_of, reaches
from reviewgraph.graph.levels import LARGEST_SHARE
from reviewgraph.verify.answers import Answer, Findings
from reviewgraph.verify.graphs import Table, pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reviewgraph._base.arrays import FloatArray
    from reviewgraph.verify.graphs import Pair

#: Half the width of a central 90 % interval, in standard errors.
REACH = 1.6448536269514722
#: Relative difference allowed where probabilities and corrected scores are recomputed from printed figures.
CHANCES = 1e-6
#: Steps of a bisection for the power of a lottery, and for a common threshold.
HALVINGS = 60
FINE_HALVINGS = 200


@dataclass(frozen=True)
class Wanted:
    """Options of a calibration.

    ``named`` tells whether the method was passed. ``select`` maps the number of scored papers to the number selected,
    None without a selection, for which ``error_rate`` and ``across_groups`` are. ``hypotheses`` are class names by
    reviewer, ``max_slope`` the steepest slope, both for ``lsc``. ``references`` have known qualities. ``lottery`` is
    the seed, None without one. ``methods`` and ``classes`` are the verifiers that methods and hypothesis classes name
    as ``"module:name"``, None where they name none.
    """

    method: str
    named: bool = False
    select: Callable[[int], int] | None = None
    error_rate: float = 0.1
    across_groups: bool = False
    hypotheses: Mapping[str, str] = field(default_factory=dict)
    max_slope: float = 10.0
    references: Mapping[str, float] = field(default_factory=dict)
    lottery: int | None = None
    methods: Mapping[str, Any] = field(default_factory=dict)
    classes: Mapping[str, Any] = field(default_factory=dict)


class Row(NamedTuple):
    """A paper as an answer has it; None for what it lacks."""

    item: str
    quality: float | None
    average: float | None
    rank: int | None
    standard_error: float | None
    group: int
    interval: list[float] | None
    probability: float | None


class Equations(NamedTuple):
    """What is known of a method.

    ``check`` compares its qualities with the scores; None leaves them to a second run. With ``by_piece`` groups are
    connected components, otherwise all papers are one group; with ``intervals`` the method has intervals, and
    probabilities of selection.
    """

    check: Callable[[Calibration], None] | None = None
    by_piece: bool = False
    intervals: bool = False


POSTERIOR = Equations(by_piece=True, intervals=True)


def verify_calibration(answer: Answer, table: Table, wanted: Wanted) -> Findings:
    """Compare what ``calibrate`` printed with what follows from the scores."""
    findings = Findings(answer)
    method = answer.get("method")
    if wanted.named:
        findings.same("method", method, wanted.method)
    named = wanted.methods.get(method)
    equations: Equations = resolve_name(named) if isinstance(named, str) else named or Equations()
    columns = "item quality average rank standard_error group interval probability"
    rows = {row.item: row for row in starmap(Row, answer.rows("items", columns))}
    findings.same_rows("items", (item for (item,) in answer.rows("items", "item")), table.items)
    if findings.wrong:
        return findings
    by_item = {item: rows[item] for item in table.items}
    calibration = Calibration(findings, answer, table, wanted, equations, by_item)
    checks = [calibration.averages, calibration.groups, calibration.ranks, calibration.intervals, calibration.select]
    for check in checks:
        if not findings.wrong:
            check()
    if equations.check is not None and not findings.wrong:
        equations.check(calibration)
    if answer.get("status") not in (None, "converged", "no_signal", "optimal", "inaccurate"):
        findings.not_checked("quality, rank: inference ended before it converged")
    return findings


@dataclass
class Calibration:
    """An answer of ``calibrate`` with the reviews and options; rows by paper, in the order of the table."""

    findings: Findings
    answer: Answer
    table: Table
    wanted: Wanted
    equations: Equations
    rows: dict[str, Row]

    @cached_property
    def scored(self) -> Table:
        """The reviews with scores."""
        return self.table.scored()

    @cached_property
    def scores(self) -> dict[Pair, float]:
        """The scores."""
        return {pair: value or 0.0 for pair, value in self.scored.score.items()}

    @cached_property
    def quality(self) -> dict[str, float]:
        """The qualities that there are."""
        return {row.item: row.quality for row in self.rows.values() if row.quality is not None}

    @property
    def sign(self) -> float:
        """-1 if lower scores are better."""
        return -1.0 if self.table.lower_is_better else 1.0

    @cached_property
    def best_first(self) -> list[Row]:
        """The papers that have a quality, best first, ties in the order of the table."""
        return [self.rows[item] for item in _largest_first(self.quality, self.sign)]

    def averages(self) -> None:
        """Compare averages, and which papers have a quality."""
        averages = averaged(self.scores)
        for row in self.rows.values():
            average = averages.get(row.item)
            self.findings.same(f"{row.item}, average", row.average, average)
            words = f"{row.item}, quality: {'has one without a score' if average is None else 'lacks one'}"
            # A reference may have a quality without a score.
            free = average is None and row.item in self.wanted.references
            self.findings.expect(free or (row.quality is None) == (average is None), words)
        self.findings.check(f"averages of {len(self.rows)} paper{'' if len(self.rows) == 1 else 's'}")

    def groups(self) -> None:
        """Compare groups with the connected components, numbered by size."""
        by_piece = self.equations.by_piece
        components = pieces(self.scored.rows(), self.scored.items)
        expected = dict[Any, set[str]]()
        claimed = dict[int, set[str]]()
        for row in self.rows.values():
            expected.setdefault(components.of((1, row.item)) if by_piece else 1, set()).add(row.item)
            claimed.setdefault(row.group, set()).add(row.item)
        self.findings.same_rows("group", map(frozenset, claimed.values()), map(frozenset, expected.values()))
        numbered = sorted(claimed) == list(range(1, len(claimed) + 1))
        sizes = [len(claimed[number]) for number in sorted(claimed)]
        words = "group: groups are not numbered by size"
        self.findings.expect(numbered and sizes == sorted(sizes, reverse=True), words)
        self.findings.check("groups: the connected components" if by_piece else "groups: one")

    def ranks(self) -> None:
        """Rank papers by quality within their groups, ties in the order of the table."""
        count = Counter[int]()
        ranks = dict[str, int]()
        for row in self.best_first:
            count[row.group] += 1
            ranks[row.item] = count[row.group]
        for row in self.rows.values():
            self.findings.same(f"{row.item}, rank", row.rank, ranks.get(row.item))
        self.findings.check("ranks by quality")

    def intervals(self) -> None:
        """Check that intervals are those about each quality, by its standard error."""
        if not self.equations.intervals:
            return
        for row in self.rows.values():
            if row.quality is None or row.standard_error is None:
                self.findings.expect(row.interval is None, f"{row.item}, interval: without a standard error")
                continue
            half = REACH * row.standard_error
            ends = np.array([row.quality - half, row.quality + half])
            slack = CHANCES * max(abs(row.quality), half)
            interval = np.array(row.interval or ())
            near = half >= 0 and interval.shape == ends.shape and bool((np.abs(interval - ends) <= slack).all())
            self.findings.expect(near, f"{row.item}, interval: is not the 90 % interval about the quality")
        self.findings.check("intervals: 90 % about each quality, by its standard error")

    def select(self) -> None:
        """Select by the qualities and probabilities of the answer."""
        findings = self.findings
        wanted = self.wanted
        everyone = self.best_first
        count = 0 if wanted.select is None else wanted.select(len(everyone))
        # Who can be selected: the best of those that can be compared, which are all or the largest group.
        main = min((row.group for row in everyone), default=1)
        ranked = [row for row in everyone if row.group == main]
        if wanted.across_groups:
            ranked = everyone
        elif len(ranked) < len(everyone) and len(ranked) < max(LARGEST_SHARE * len(everyone), count):
            ranked = []
        # A selection of 0 papers is refused, too, where papers cannot be compared.
        selects = wanted.select is not None and len(ranked) >= count and bool(ranked or not everyone)
        best = [row.item for row in ranked[:count]] if selects else []
        among = {row.item for row in ranked}
        aside = [item for item in self.quality if item not in among] if selects else []
        findings.same("selected", self._names("selected"), best)
        findings.same("set_aside", self._names("set_aside"), aside)
        # Probabilities are those of the papers that can be selected.
        for row in self.rows.values():
            free = row.probability is None or (selects and self.equations.intervals and row.item in among)
            findings.expect(free, f"{row.item}, probability: it could not be selected")
        if selects:
            findings.check(f"the selection of {count}, best first")
            if self.equations.intervals:
                self.lists(ranked, best)

    def _names(self, key: str) -> list[str]:
        return list(map(str, self.answer.get(key) or ()))

    def lists(self, ranked: list[Row], best: list[str]) -> None:
        """Check probabilities, and which papers are in for certain, to discuss, and out."""
        findings = self.findings
        limit = self.wanted.error_rate
        for row in ranked:
            valid = row.probability is not None and 0 <= row.probability <= 1
            if not findings.expect(valid, f"{row.item}, probability: not from 0 to 1"):
                return
        chance = {row.item: row.probability or 0.0 for row in ranked}
        total = sum(chance.values())
        words = f"probability: sum to {total:.6g}, not {len(best)}"
        findings.expect(abs(total - len(best)) <= 1e-4 * max(len(best), 1), words)
        self.cut(ranked, chance, len(best))
        # In and out for certain, and the papers to discuss.
        main = min((row.group for row in ranked), default=1)
        certain = [item for item in best if reaches(chance[item], 1 - limit, 1.0) and self.rows[item].group == main]
        out = {item for item, value in chance.items() if reaches(limit, value, 1.0) and item not in best}
        unsure = {item: value for item, value in chance.items() if item not in out and item not in certain}
        findings.same("certain", self._names("certain"), certain)
        discussed = self.answer.rows("discuss", "item probability")
        findings.same("discuss", [item for item, _ in discussed], _largest_first(unsure))
        for item, value in discussed:
            findings.same(f"discuss, {item}", value, chance.get(item))
        findings.value("error_rate", limit)
        findings.check("certain, discuss: the lists by the probabilities")
        self.lottery(list(chance), {item: chance.get(item, 0.0) for item in self.rows}, len(best))

    def cut(self, ranked: list[Row], chance: Mapping[str, float], count: int) -> None:
        """Check selection probabilities: each is that of exceeding one common threshold, the cut line.

        Groups that are assumed equal, and references, add errors that papers share and that are not printed: then only
        the sum is checked.
        """
        from scipy.special import ndtr

        if not 0 < count < len(ranked):
            for row in ranked:
                words = f"{row.item}, probability: all or none are selected"
                self.findings.expect(chance[row.item] == float(count > 0), words)
            return
        if self.answer.get("validity") or len({row.group for row in ranked}) > 1:
            return
        mean = np.array([self.sign * (row.quality or 0.0) for row in ranked])
        error = np.array([row.standard_error or 0.0 for row in ranked])
        sure = error <= 0

        def exceeds(threshold: float) -> FloatArray:
            # P(quality > t) = Phi((mean - t) / error).
            return np.asarray(np.where(sure, mean >= threshold, ndtr((mean - threshold) / np.where(sure, 1.0, error))))

        # The threshold at which the probabilities sum to the number selected.
        low = float(mean.min() - 10 * error.max())
        high = float(mean.max() + 10 * error.max())
        for _ in range(FINE_HALVINGS):
            middle = (low + high) / 2
            if float(exceeds(middle).sum()) > count:
                low = middle
            else:
                high = middle
        for row, actual in zip(ranked, exceeds((low + high) / 2).tolist(), strict=True):
            if row.standard_error:
                self.findings.same(f"{row.item}, probability", chance[row.item], actual, CHANCES)
        self.findings.check("probabilities: those of exceeding one common threshold, by qualities and errors")

    def lottery(self, ranked: list[str], chance: Mapping[str, float], count: int) -> None:
        """Repeat the lottery: its papers and probabilities; ``chance`` is in the order of the table."""
        findings = self.findings
        seed = self.wanted.lottery
        words = "lottery: printed without a request, or missing"
        if not findings.expect((self.answer.get("lottery") is None) == (seed is None), words) or seed is None:
            return
        findings.value("lottery.seed", seed)
        share = lots(list(chance.values()), count, self.wanted.error_rate)
        actual = {item: value for item, value in zip(chance, share, strict=True) if value > 0}
        claimed = dict(self.answer.rows("lottery.probabilities", "item probability"))
        if findings.same_rows("lottery.probabilities", claimed, actual):
            for item, value in actual.items():
                findings.same(f"lottery.probabilities, {item}", claimed[item], value, CHANCES)
        drawn = {item for item, taken in zip(chance, draw(share, seed), strict=True) if taken}
        findings.same("lottery.drawn", self._names("lottery.drawn"), [item for item in ranked if item in drawn])
        findings.check("lottery: its probabilities, and its papers, drawn again")


def lots(chance: list[float], count: int, error_rate: float) -> list[float]:
    """Return the probability with which each paper is drawn: its chance, rescaled between the thresholds, to a power.

    >>> [round(value, 3) for value in lots([0.99, 0.6, 0.6, 0.01], 2, 0.1)]
    [1.0, 0.5, 0.5, 0.0]
    """
    base = [min(max((value - error_rate) / (1 - 2 * error_rate), 0.0), 1.0) for value in chance]
    if sum(value > 0 for value in base) < count or sum(value == 1 for value in base) > count:
        base = [min(max(value, 0.0), 1 - 1e-9) for value in chance]
    # The power at which the shares sum to the number selected.
    low = -10 * math.log(2)
    high = 10 * math.log(2)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if sum(value ** math.exp(middle) for value in base) > count:
            low = middle
        else:
            high = middle
    share = [value ** math.exp(low) for value in base]
    free = [place for place, value in enumerate(share) if 0 < value < 1]
    remaining = count - sum(value for value in share if not 0 < value < 1)
    whole = sum(share[place] for place in free)
    for place in free:
        share[place] = min(max(share[place] * remaining / whole, 0.0), 1.0)
    return share


def draw(share: list[float], seed: int) -> list[bool]:
    """Sample papers with given probabilities by the ordered pivotal method, in one random order.

    >>> draw([1.0, 0.5, 0.5, 0.0], 0)
    [True, True, False, False]
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(share)).tolist()
    luck = rng.random(len(share)).tolist()
    share = list(share)
    holder = None
    for turn, place in enumerate(order):
        if not 0 < share[place] < 1:
            continue
        if holder is None:
            holder = place
            continue
        a = share[holder]
        b = share[place]
        full = a + b >= 1
        wins = luck[turn] < ((1 - b) / (2 - a - b) if full else a / (a + b))
        # One of the two gets a whole place, or none; the other keeps the rest.
        winner, loser = (holder, place) if wins else (place, holder)
        share[winner], share[loser] = (1.0, a + b - 1) if full else (a + b, 0.0)
        holder = loser if full else winner
    return [value > 0.5 for value in share]


def averaged(scores: Mapping[Pair, float]) -> dict[str, float]:
    """Return the average of each item."""
    by_item: dict[str, list[float]] = {}
    for (_, item), score in scores.items():
        by_item.setdefault(item, []).append(score)
    return {item: math.fsum(values) / len(values) for item, values in by_item.items()}


def _largest_first(values: Mapping[str, float], sign: float = 1.0) -> list[str]:
    """Return papers by their numbers, ties in the order of the table."""
    papers = list(values)
    return [papers[place] for place in order_of(-sign * np.array(list(values.values()))).tolist()]


# Least Square Calibration: the optimality conditions, from the qualities alone.
#
# The objective is the sum over reviewers of the squared distance between the qualities of their papers and the closest
# perceived qualities that their class allows. It is convex, and its gradient at paper i is twice the sum of quality
# less perceived quality over the reviews of i: qualities are optimal if and only if it vanishes, references aside.
# Recomputed are objective, gradient, mean and spread of each group. Not checked: inaccurate answers, and reviewers of
# very many different scores. Whether other qualities fit as well is left to a second run of the command.

#: Gradient per review that counts as 0, relative to the spread of qualities; solvers leave 1e-9 and less.
GRADIENT = 1e-6
#: Differences allowed between objectives, relative to themselves, and per review to the squared spread.
OBJECTIVE = 1e-4
VANISHING = 1e-9
#: Different scores of a reviewer up to which the closest curve is computed.
MOST_BENDS = 200
#: Units in the last place of the largest score within which scores of a reviewer are equal.
ROUNDING = 8


class Form(NamedTuple):
    """A class of scoring functions: ``fixed`` to slope one, or ``bent`` by more than one weight.

    ``fit`` returns, closest to some values, what the inverse of such a function may add to an offset and a line of the
    least slope.
    """

    fit: Callable[[FloatArray, FloatArray], FloatArray]
    fixed: bool = False
    bent: bool = False

    def closest(self, score: FloatArray, quality: FloatArray, least: float) -> FloatArray:
        """Return the perceived qualities that the class allows closest to some qualities.

        They are ``a + least * score`` plus a sum, with weights of 0 or more, of the elements of the class.

        >>> LINEAR.closest(np.array([1.0, 2.0]), np.array([5.0, 4.0]), 0.1).tolist()
        [4.45, 4.55]
        """
        base = quality.mean() + (1.0 if self.fixed else least) * (score - score.mean())
        return np.asarray(base + self.fit(score, quality - base))


def _line(score: FloatArray, wanted: FloatArray) -> FloatArray:
    return _weighted(score[:, None], wanted)


def _flattening(score: FloatArray, wanted: FloatArray) -> FloatArray:
    """Fit increments that shrink: the inverse of a convex function."""
    return _weighted(np.minimum(score[:, None], np.unique(score)[None, 1:]), wanted)


def _steepening(score: FloatArray, wanted: FloatArray) -> FloatArray:
    """Fit increments that grow: the inverse of a concave function."""
    return _weighted(np.maximum(score[:, None] - np.unique(score)[None, :-1], 0.0), wanted)


def _rising(score: FloatArray, wanted: FloatArray) -> FloatArray:
    """Fit values that do not fall as scores rise, equal for equal scores."""
    from scipy.optimize import isotonic_regression

    levels, place, count = np.unique(score, return_inverse=True, return_counts=True)
    mean = np.bincount(place, wanted, levels.size) / count
    return np.asarray(isotonic_regression(mean, weights=count).x[place], np.float64)


def _weighted(columns: FloatArray, wanted: FloatArray) -> FloatArray:
    """Fit a sum of columns, less their means, with weights of 0 or more."""
    from scipy.optimize import nnls

    centred = columns - columns.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    scaled = centred[:, size > 0] / size[size > 0]
    if not scaled.size:
        return np.zeros_like(wanted)
    return np.asarray(scaled @ nnls(scaled, wanted, maxiter=100 * scaled.shape[1])[0])


#: Hypothesis classes, which name these.
OFFSET = Form(lambda score, wanted: np.zeros_like(wanted), fixed=True)
LINEAR = Form(_line)
MONOTONE = Form(_rising)
CONVEX = Form(_flattening, bent=True)
CONCAVE = Form(_steepening, bent=True)


def check_least_squares(calibration: Calibration) -> None:
    """Check the optimality conditions of ``lsc``, and the objective."""
    findings = calibration.findings
    wanted = calibration.wanted
    status = calibration.answer.get("status")
    units = calibration.answer.get("units") or []
    if not findings.expect(status in ("optimal", "inaccurate"), f"status: there is none called {status!r}"):
        return
    groups = max((row.group for row in calibration.rows.values()), default=0)
    words = f"units: expected numbers of 0 or more of {groups} groups, found {units}"
    if not findings.expect(len(units) == groups and min(units, default=0) >= 0, words):
        return
    kinds = set(wanted.hypotheses.values())
    used = {wanted.hypotheses[reviewer] for reviewer, _ in calibration.scores}
    if used:
        findings.value("hypothesis", used.pop() if len(used) == 1 else "mixed")
    if unknown := {kind for kind in kinds if not wanted.classes.get(kind)}:
        words = f"qualities: of {', '.join(sorted(unknown))} reviewers, which this verifier does not know"
        findings.not_checked(words)
        return
    forms = {kind: _form(wanted.classes[kind]) for kind in kinds}
    _check_scales(calibration, fixed=any(form.fixed for form in forms.values()))
    # Optimality is checked of exact answers alone.
    if status != "optimal":
        findings.not_checked("qualities: status inaccurate, so optimality is not checked")
    else:
        _check_optimality(calibration, forms, units)


LEAST_SQUARES = Equations(check_least_squares, by_piece=True)


def _form(named: Any) -> Form:
    form: Form = resolve_name(named) if isinstance(named, str) else named
    return form


def _check_optimality(calibration: Calibration, forms: Mapping[str, Form], units: list[float]) -> None:
    """Compute the objective and its gradient in the units of the programme, in which slopes are bounded."""
    findings = calibration.findings
    wanted = calibration.wanted
    sign = calibration.sign
    quality = {}
    by_group: dict[int, list[float]] = {}
    for item, value in calibration.quality.items():
        group = calibration.rows[item].group
        unit = units[group - 1]
        quality[item] = sign * value / unit if unit else 0.0
        by_group.setdefault(group, []).append(quality[item])
    gradient = dict.fromkeys(quality, 0.0)
    objective = 0.0
    values = list(calibration.scores.values())
    rounding = ROUNDING * float(np.spacing(max(map(abs, values), default=1.0)))
    for reviewer, items in calibration.scored.rows().items():
        if not items:
            continue
        form = forms[wanted.hypotheses[reviewer]]
        score = np.array([sign * calibration.scores[reviewer, item] for item in items])
        score = _without_rounding(score, rounding)
        if form.bent and np.unique(score).size > MOST_BENDS:
            words = f"qualities: reviewer {reviewer} gave more than {MOST_BENDS} different scores"
            findings.not_checked(words)
            return
        own_quality = np.array([quality[item] for item in items])
        residual = own_quality - form.closest(score, own_quality, 1.0 / wanted.max_slope)
        objective += float(residual @ residual)
        for item, value in zip(items, residual.tolist(), strict=True):
            gradient[item] += value
    # Differences are relative to the spread of a group, or to the smallest that slopes allow.
    floor = (max(values, default=0.0) - min(values, default=0.0)) / wanted.max_slope * 1e-6
    spread = {group: max(float(np.std(places)), floor) for group, places in by_group.items()}
    count = Counter(item for _, item in calibration.scores)
    for item, slope in gradient.items():
        allowed = GRADIENT * spread[calibration.rows[item].group] * count[item]
        words = f"{item}, quality: the objective falls where it moves (gradient {slope:.3g}, allowed {allowed:.3g})"
        findings.expect(item in wanted.references or abs(slope) <= allowed, words)
    slack = OBJECTIVE * abs(objective) + VANISHING * max(spread.values(), default=floor) ** 2 * len(values)
    findings.value("objective", objective, slack)
    findings.check(f"qualities and objective: no paper can move and fit better, up to {GRADIENT:g} of their spread")


def _without_rounding(score: FloatArray, rounding: float) -> FloatArray:
    """Return scores, those equal that differ by rounding alone."""
    order = np.argsort(score, kind="stable")
    rounded = score.copy()
    for before, place in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        if score[place] - score[before] <= rounding:
            rounded[place] = rounded[before]
    return rounded


def _check_scales(calibration: Calibration, *, fixed: bool) -> None:
    """Compare mean and spread of each group with those of its averages, or references."""
    findings = calibration.findings
    for number in sorted({row.group for row in calibration.rows.values()}):
        items = [item for item in calibration.quality if calibration.rows[item].group == number]
        references = [item for item in items if item in calibration.wanted.references]
        if len(references) > 1 and not fixed:
            for item in references:
                known = float(calibration.wanted.references[item])
                findings.same(f"{item}, quality (a reference)", calibration.quality[item], known)
        if references or not items:
            continue
        quality = np.array([calibration.quality[item] for item in items])
        average = np.array([calibration.rows[item].average for item in items], np.float64)
        slack = GRADIENT * max(float(np.abs(average).max()), float(average.std()))
        findings.same(f"group {number}: mean of qualities", float(quality.mean()), float(average.mean()), slack)
        if not (fixed or quality.std() <= slack or average.std() <= slack):
            findings.same(f"group {number}: spread of qualities", float(quality.std()), float(average.std()), slack)

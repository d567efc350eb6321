"""Answers of ``calibrate``: averages, groups, ranks, selections, lists and the cut line, recomputed.

Qualities, their standard errors and what the seed of a lottery draws are left to a second run of the command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from reviewgraph._base.arrays import TIE, FloatArray, order_of
from reviewgraph._verify.answers import Answer, Findings, expecting_keys
from reviewgraph._verify.graphs import Table, pieces
from reviewgraph.graph.levels import LARGEST_SHARE

#: Half the width of a central 90 % interval, in standard errors.
REACH = 1.6448536269514722
#: Relative difference allowed where probabilities and intervals are recomputed from printed figures.
CHANCES = 1e-6
#: Steps of a bisection.
HALVINGS = 200
#: A lottery multiplies or divides odds by at most this.
MOST_FACTOR = 4.0


@dataclass(frozen=True)
class Wanted:
    """Options of a calibration.

    ``named`` tells whether the method was passed. ``select`` maps the number of scored papers to the number selected,
    None without a selection, for which ``error_rate`` and ``across_groups`` are. ``references`` have known qualities.
    Methods ``by_piece`` compare the papers of a connected component, others all; ``probabilities`` has the methods that
    have intervals, and probabilities of selection.
    """

    method: str
    named: bool = False
    select: Callable[[int], int] | None = None
    error_rate: float = 0.1
    across_groups: bool = False
    references: Collection[str] = ()
    by_piece: Collection[str] = ()
    probabilities: Collection[str] = ()


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


@expecting_keys
def verify_calibration(answer: Answer, table: Table, wanted: Wanted) -> Findings:
    findings = Findings(answer)
    if wanted.named:
        findings.value("method", wanted.method)
    rows = {row.item: row for row in starmap(Row, answer.rows("items", " ".join(Row._fields)))}
    findings.same_rows("items", (item for (item,) in answer.rows("items", "item")), table.items)
    if findings.wrong:
        return findings
    calibration = Calibration(findings, answer, table, wanted, {item: rows[item] for item in table.items})
    checks = [calibration.averages, calibration.groups, calibration.ranks, calibration.intervals, calibration.select]
    for check in checks:
        if not findings.wrong:
            check()
    if answer.get("status") not in (None, "converged", "no_signal", "optimal"):
        findings.not_checked("quality, rank: the method ended before it converged")
    return findings


@dataclass
class Calibration:
    """An answer of ``calibrate`` with the reviews and options; rows by paper, in the order of the table."""

    findings: Findings
    answer: Answer
    table: Table
    wanted: Wanted
    rows: dict[str, Row]

    @cached_property
    def has_probabilities(self) -> bool:
        """Whether the method has intervals, and probabilities of selection."""
        return self.answer.get("method") in self.wanted.probabilities

    @cached_property
    def sign(self) -> float:
        """-1 if lower scores are better."""
        return -1.0 if self.table.lower_is_better else 1.0

    @cached_property
    def best_first(self) -> list[Row]:
        """The papers that have a quality, best first, ties in the order of the table."""
        quality = {row.item: row.quality for row in self.rows.values() if row.quality is not None}
        return [self.rows[item] for item in _largest_first(quality, self.sign)]

    def averages(self) -> None:
        scores: dict[str, list[float]] = {}
        for (_, item), score in self.table.score.items():
            if score is not None:
                scores.setdefault(item, []).append(score)
        for row in self.rows.values():
            values = scores.get(row.item)
            average = fsum(values) / len(values) if values else None
            self.findings.same(f"{row.item}, average", row.average, average)
            words = f"{row.item}, quality: {'has one without a score' if average is None else 'lacks one'}"
            # A reference may have a quality without a score.
            free = average is None and row.item in self.wanted.references
            self.findings.expect(free or (row.quality is None) == (average is None), words)
        self.findings.check(f"averages of {len(self.rows)} paper{'' if len(self.rows) == 1 else 's'}")

    def groups(self) -> None:
        """Compare groups with the connected components, numbered by size."""
        by_piece = self.answer.get("method") in self.wanted.by_piece
        components = pieces(self.table.scored().rows(), self.table.items)
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
        if not self.has_probabilities:
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
        best = []
        if selects:
            # The most probable papers, if the method has probabilities.
            chance = {row.item: row.probability or 0.0 for row in ranked}
            likely = set((_largest_first(chance) if self.has_probabilities else [*chance])[:count])
            best = [row.item for row in ranked if row.item in likely]
        among = {row.item for row in ranked}
        aside = [row.item for row in self.rows.values() if row.quality is not None and row.item not in among]
        findings.same("selected", self._names("selected"), best)
        findings.same("set_aside", self._names("set_aside"), aside if selects else [])
        # Probabilities are those of the papers that can be selected.
        for row in self.rows.values():
            free = row.probability is None or (selects and self.has_probabilities and row.item in among)
            findings.expect(free, f"{row.item}, probability: it could not be selected")
        if selects:
            findings.check(f"the selection of {count}, best first")
            if self.has_probabilities:
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
        share = dict(zip(chance, shares(np.array([*chance.values()]), len(best), limit), strict=True))
        certain = [item for item, value in share.items() if value == 1.0 and self.rows[item].group == main]
        out = {item for item, value in share.items() if value == 0.0}
        unsure = {item: value for item, value in chance.items() if item not in out and item not in certain}
        findings.same("certain", self._names("certain"), certain)
        discussed = self.answer.rows("discuss", "item probability")
        findings.same("discuss", [item for item, _ in discussed], _largest_first(unsure))
        for item, value in discussed:
            findings.same(f"discuss, {item}", value, chance.get(item))
        findings.value("error_rate", limit)
        findings.check("certain, discuss: the lists by the probabilities")
        if self.answer.get("lottery"):
            self.lottery(share)

    def lottery(self, share: Mapping[str, float]) -> None:
        """Check the probabilities of a lottery, and that it draws papers that it may draw."""
        findings = self.findings
        claimed = dict(self.answer.rows("lottery.probabilities", "item probability"))
        may_be = {item: value for item, value in share.items() if value > 0.0}
        findings.same_rows("lottery.probabilities", claimed, may_be)
        for item, value in may_be.items():
            findings.same(f"lottery.probabilities, {item}", claimed.get(item), value, CHANCES)
        drawn = self._names("lottery.drawn")
        certain = {item for item, value in may_be.items() if value == 1.0}
        fits = len(drawn) == len(set(drawn)) == round(sum(may_be.values())) and certain <= set(drawn) <= may_be.keys()
        findings.expect(fits, "lottery.drawn: other papers than the lottery may draw")
        findings.check("lottery: its probabilities, and that those drawn have one, and are as many as are selected")

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

        reach = 10 * float(error.max())
        probabilities = _summing_to(count, exceeds, float(mean.min()) - reach, float(mean.max()) + reach)
        for row, actual in zip(ranked, probabilities.tolist(), strict=True):
            if row.standard_error:
                self.findings.same(f"{row.item}, probability", chance[row.item], actual, CHANCES)
        self.findings.check("probabilities: those of exceeding one common threshold, by qualities and errors")


def shares(chance: FloatArray, count: int, limit: float) -> FloatArray:
    """Return the probability of each paper in a lottery for ``count`` places: 1 if it is in, 0 if it is out.

    Its odds are those of ``chance`` between the ends ``limit`` and ``1 - limit``, times a common factor. Where this is
    at its bound, one end gives way.

    >>> shares(np.array([0.95, 0.5, 0.5, 0.05]), 2, 0.1).round(3).tolist()
    [1.0, 0.5, 0.5, 0.0]
    """

    def share(factor: float, low: float, high: float) -> FloatArray:
        inside = np.clip((chance - low) / (high - low), 0.0, 1.0)
        inside[inside <= TIE] = 0.0
        inside[inside >= 1.0 - TIE] = 1.0
        return np.asarray(factor * inside / (1.0 - inside + factor * inside))

    least = 1.0 / MOST_FACTOR
    if share(MOST_FACTOR, limit, 1.0 - limit).sum() < count:
        return _summing_to(count, lambda low: share(MOST_FACTOR, low, 1.0 - limit), 0.0, limit)
    if share(least, limit, 1.0 - limit).sum() > count:
        return _summing_to(count, lambda high: share(least, limit, high), 1.0 - limit, 1.0)
    return _summing_to(count, lambda divisor: share(1.0 / divisor, limit, 1.0 - limit), least, MOST_FACTOR)


def _summing_to(count: int, decreasing: Callable[[float], FloatArray], low: float, high: float) -> FloatArray:
    """Return the values of a function, decreasing in its argument from ``low`` to ``high``, that sum to ``count``."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if float(decreasing(middle).sum()) > count:
            low = middle
        else:
            high = middle
    return decreasing((low + high) / 2)


def _largest_first(values: Mapping[str, float], sign: float = 1.0) -> list[str]:
    """Return papers by their numbers, ties in the order of the table."""
    papers = list(values)
    return [papers[place] for place in order_of(-sign * np.array(list(values.values()))).tolist()]

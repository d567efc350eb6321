"""Answers of ``calibrate``: averages, groups, ranks, intervals and selections, recomputed.

Qualities are checked by the :class:`Equations` of their method, which the method itself names: averages, centring,
z-score and ridge here, least squares in :mod:`reviewgraph.verify.fits`. Those of the posterior are left to a second run
of the command, see :mod:`reviewgraph.verify.posteriors`. Not checked: qualities of other methods, beyond the direction
of their ranking.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reviewgraph._base.arrays import order_of, reaches
from reviewgraph.graph.levels import LARGEST_SHARE
from reviewgraph.verify.answers import Answer, Findings
from reviewgraph.verify.graphs import Table, pieces
from reviewgraph.verify.rules import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reviewgraph._base.arrays import FloatArray
    from reviewgraph.verify.graphs import Pair

#: Half the width of a central 90 % interval, in standard errors.
REACH = 1.6448536269514722
#: Relative difference allowed where probabilities and corrected scores are recomputed from printed figures.
CHANCES = 1e-6
#: Steps of a bisection.
HALVINGS = 60


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
    where: str | None


class Equations(NamedTuple):
    """How the qualities of a method are checked.

    With ``by_piece`` groups are connected components, otherwise all papers are one group; with ``intervals`` the method
    has intervals, and probabilities of selection; with ``classes`` it has hypothesis classes.
    """

    check: Callable[[Calibration], None]
    by_piece: bool = False
    intervals: bool = False
    classes: bool = False


def verify_calibration(answer: Answer, table: Table, wanted: Wanted) -> Findings:
    """Compare what ``calibrate`` printed or wrote with what follows from the scores."""
    findings = Findings(answer)
    method = wanted.method if answer.is_table else answer.get("method")
    if wanted.named:
        findings.same("method", method, wanted.method)
    rows = _rows(answer)
    name = wanted.methods.get(method)
    equations: Equations = (
        resolve_name(name) if isinstance(name, str) else name or Equations(Calibration.not_recomputed)
    )
    own = Calibration(findings, answer, table, wanted, method, equations, {row.item: row for row in rows})
    if not answer.is_table:
        own.classes()
    findings.same_rows("items", [row.item for row in rows], table.items)
    if findings.wrong:
        return findings
    own.rows = {item: own.rows[item] for item in table.items}
    own.averages()
    own.groups()
    own.ranks()
    if not findings.wrong:
        equations.check(own)
        own.intervals()
        own.select()
    return findings


def _rows(answer: Answer) -> list[Row]:
    rows = []
    for entry in answer.get("rows" if answer.is_table else "items"):
        interval = entry.get("interval")
        if answer.is_table:
            # Columns that the method leaves out, and two columns for the interval.
            ends = [entry.get("interval_low"), entry.get("interval_high")]
            interval = None if None in ends else ends
            entry = {"standard_error": None, **entry, "group": entry.get("group") or 0}
        elif interval is not None:
            answer.numbers("interval", 2, within=entry)
        item, quality, average, rank, error, group = (
            answer.get(key, within=entry, null=key not in ("item", "group"))
            for key in ("item", "quality", "average", "rank", "standard_error", "group")
        )
        probability = entry.get("probability")
        where = entry.get("list") or None
        rows.append(Row(str(item), quality, average, rank, error, group, interval, probability, where))
    return rows


@dataclass
class Calibration:
    """An answer of ``calibrate`` with the reviews and options; rows by paper, in the order of the table."""

    findings: Findings
    answer: Answer
    table: Table
    wanted: Wanted
    method: str
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

    def classes(self) -> None:
        """Compare the class of scoring functions; the keys of least squares are null elsewhere."""
        if not self.equations.classes:
            for key in ("hypothesis", "objective", "unique", "units"):
                self.findings.same(key, self.answer.content.get(key), None)
            return
        kinds = {self.wanted.hypotheses[who] for who, _ in self.scored.score}
        if kinds:
            self.findings.value("hypothesis", kinds.pop() if len(kinds) == 1 else "mixed")

    @cached_property
    def averages_by_item(self) -> dict[str, float]:
        """The averages of the papers with a score."""
        return _averaged(self.scores)

    def averages(self) -> None:
        """Compare averages, and which papers have a quality."""
        averages = self.averages_by_item
        for row in self.rows.values():
            average = averages.get(row.item)
            self.findings.same(f"{row.item}, average", row.average, average)
            words = f"{row.item}, quality: {'has one without a score' if average is None else 'lacks one'}"
            # A reference may have a quality without a score.
            free = average is None and row.item in self.wanted.references
            self.findings.expect(free or (row.quality is None) == (average is None), words)
        self.findings.check(f"averages of {len(self.rows)} papers")

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
        for row in self.best_first():
            count[row.group] += 1
            ranks[row.item] = count[row.group]
        for row in self.rows.values():
            self.findings.same(f"{row.item}, rank", row.rank, ranks.get(row.item))
        self.findings.check("ranks by quality")

    def best_first(self) -> list[Row]:
        """Return the papers that have a quality, best first, ties in the order of the table."""
        return [self.rows[item] for item in _largest_first(self.quality, self.sign)]

    def not_recomputed(self) -> None:
        """Note that no equations of the method are known; refute a ranking that runs against the scores."""
        words = f"quality, rank: what {self.method} estimated for the ranking is not recomputed"
        self.findings.not_checked(words, decisive=True)
        if any(row.standard_error is not None for row in self.rows.values()):
            self.findings.not_checked("standard errors: those of the model are not recomputed")
        self.agrees_with_scores()

    def agrees_with_scores(self) -> None:
        """Refute a ranking that runs against the scores, overall; references may turn it round."""
        if self.wanted.references:
            return
        within = 0.0
        by_item = dict[str, list[float]]()
        for reviewer, items in self.scored.rows().items():
            own = {item: self.scores[reviewer, item] for item in items if item in self.quality}
            within += _together((value, self.quality[item]) for item, value in own.items())
            for item, value in own.items():
                by_item.setdefault(item, []).append(value)
        across = _together((_mean(values), self.quality[item]) for item, values in by_item.items())
        words = "quality: the ranking runs against the scores within reviewers and against the averages, overall"
        self.findings.expect(not (within < 0 and across < 0), words)
        self.findings.check("that the ranking agrees with the scores overall")

    def intervals(self) -> None:
        """Check standard errors, and that intervals are those about each quality."""
        expect = self.findings.expect
        wrong = [row.item for row in self.rows.values() if (row.standard_error or 0) < 0]
        expect(not wrong, f"{wrong[0] if wrong else ''}, standard_error: below 0")
        if not self.equations.intervals:
            return
        for row in self.rows.values():
            complete = row.quality is not None and row.standard_error is not None
            expect((row.interval is not None) == complete, f"{row.item}, interval: without an error, or lacking")
            if row.interval is not None and row.quality is not None and row.standard_error is not None:
                half = REACH * row.standard_error
                size = max(abs(row.quality), half)
                ends = (row.quality - half, row.quality + half)
                near = all(abs(one - end) <= CHANCES * size for one, end in zip(row.interval, ends, strict=True))
                expect(near, f"{row.item}, interval: is not the 90 % interval about the quality")
        self.findings.check("intervals: 90 % about each quality, by its standard error")

    def select(self) -> None:
        """Select by the qualities and probabilities of the answer."""
        findings = self.findings
        answer = self.answer
        wanted = self.wanted
        everyone = self.best_first()
        count = 0 if wanted.select is None else wanted.select(len(everyone))
        # Who can be selected: the best of those that can be compared, which are all or the largest group.
        main = min((row.group for row in everyone), default=1)
        ranked = [row for row in everyone if row.group == main]
        if wanted.across_groups:
            ranked = everyone
        elif len(ranked) < len(everyone) and not (len(ranked) >= max(LARGEST_SHARE * len(everyone), count)):
            ranked = []
        # A selection of 0 papers is refused, too, where papers cannot be compared.
        selects = wanted.select is not None and len(ranked) >= count and bool(ranked or not everyone)
        best = [row.item for row in ranked[:count]] if selects else []
        among = {row.item for row in ranked}
        aside = [item for item in self.quality if item not in among] if selects else []
        if not answer.is_table:
            findings.same("selected", [str(item) for item in answer.get("selected")], best)
            # Earlier versions set nothing aside and lack the key.
            if "set_aside" in answer.content or aside:
                findings.same("set_aside", [str(item) for item in answer.get("set_aside")], aside)
        if not selects:
            extra = next((row.item for row in self.rows.values() if row.probability is not None), None)
            findings.expect(extra is None, f"{extra}, probability: nothing was selected")
            return
        if self.equations.intervals:
            lists = self.sort(ranked, best)
        else:
            lists = {row.item: "in" if row.item in best else "out" for row in ranked}
        if answer.is_table and lists is not None:
            lists |= dict.fromkeys(aside, "aside")
            for row in self.rows.values():
                findings.same(f"{row.item}, list", row.where, lists.get(row.item))
        findings.check(f"the selection of {count}, best first")

    def sort(self, ranked: list[Row], best: list[str]) -> dict[str, str] | None:
        """Return which papers are in, to discuss and out, by their probabilities; check what follows from these."""
        findings = self.findings
        answer = self.answer
        limit = self.wanted.error_rate
        for row in ranked:
            claimed = row.probability
            if not findings.expect(
                claimed is not None and 0 <= claimed <= 1, f"{row.item}, probability: not from 0 to 1"
            ):
                return None
        chance = {row.item: row.probability or 0.0 for row in ranked}
        total = sum(chance.values())
        words = f"probability: sum to {total:.6g}, not {len(best)}"
        findings.expect(abs(total - len(best)) <= 1e-4 * max(len(best), 1), words)
        self.probabilities(ranked, chance, len(best))
        for row in self.rows.values():
            allowed = row.item in chance or row.probability is None
            findings.expect(allowed, f"{row.item}, probability: the paper is set aside")
        # In and out for certain, and the papers to discuss.
        main = min((row.group for row in ranked), default=1)
        sure = {item for item in best if reaches(chance[item], 1 - limit, 1.0) and self.rows[item].group == main}
        out = {item for item, value in chance.items() if reaches(limit, value, 1.0) and item not in best}
        lists = {item: "out" if item in out else "in" if item in sure else "discuss" for item in chance}
        if answer.is_table:
            return lists
        findings.same("certain", [str(item) for item in answer.get("certain")], [item for item in best if item in sure])
        discussed = answer.rows("discuss", "item probability")
        unsure = _largest_first({item: value for item, value in chance.items() if lists[item] == "discuss"})
        findings.same("discuss", [item for item, _ in discussed], unsure)
        for item, value in discussed:
            findings.same(f"discuss, {item}", value, chance.get(item))
        findings.value("error_rate", limit)
        # How many of a selection are expected not to belong there, by qualities and by averages.
        average = {item: row.average for item, row in self.rows.items() if item in chance and row.average is not None}
        by_average = _largest_first(average, self.sign)
        for key, papers in (("expected_wrong", best), ("expected_wrong_by_average", by_average[: len(best)])):
            wrong = sum(1 - chance[item] for item in papers)
            findings.near(key, answer.get(key), wrong, CHANCES * max(len(best), 1))
        everyone = {item: chance.get(item, 0.0) for item in self.rows}
        self.lottery([*chance], everyone, len(best))
        return lists

    def probabilities(self, ranked: list[Row], chance: Mapping[str, float], count: int) -> None:
        """Check selection probabilities: each is that of exceeding one common threshold.

        Groups that are assumed equal, and references, add errors that papers share and that are not printed.
        """
        from scipy.special import ndtr

        if not 0 < count < len(ranked):
            certain = float(count > 0)
            wrong = next((row.item for row in ranked if chance[row.item] != certain), None)
            self.findings.expect(
                wrong is None, f"{wrong}, probability: not {certain:g}, where all or none are selected"
            )
            return
        # A CSV does not tell whether references were used.
        referenced = self.wanted.references if self.answer.is_table else self.answer.content.get("validity")
        if referenced or len({row.group for row in ranked}) > 1:
            self.findings.by_command.append("probabilities of being selected, beyond their sum")
            return
        mean = np.array([self.sign * (row.quality or 0.0) for row in ranked])
        error = np.array([row.standard_error or 0.0 for row in ranked])

        def exceeds(threshold: float) -> FloatArray:
            sure = error <= 0
            return np.asarray(np.where(sure, mean >= threshold, ndtr((mean - threshold) / np.where(sure, 1.0, error))))

        low = float(mean.min() - 10 * error.max())
        high = float(mean.max() + 10 * error.max())
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if float(exceeds(middle).sum()) > count else (low, middle)
        threshold = (low + high) / 2
        for row, actual in zip(ranked, exceeds(threshold).tolist(), strict=True):
            if row.standard_error:
                self.findings.near(f"{row.item}, probability", chance[row.item], actual, CHANCES)
        self.findings.check("probabilities: those of exceeding one common threshold, by qualities and errors")

    def lottery(self, ranked: list[str], chance: Mapping[str, float], count: int) -> None:
        """Repeat the lottery: its papers and probabilities; ``chance`` is in the order of the table."""
        findings = self.findings
        answer = self.answer
        wanted = self.wanted
        lottery = answer.content.get("lottery")
        words = "lottery: printed without a request, or missing"
        if not findings.expect((lottery is None) == (wanted.lottery is None), words):
            return
        if lottery is None or wanted.lottery is None:
            return
        findings.value("lottery.seed", wanted.lottery)
        share = lots([*chance.values()], count, wanted.error_rate)
        actual = {item: value for item, value in zip(chance, share, strict=True) if value > 0}
        claimed = dict(answer.rows("lottery.probabilities", "item probability"))
        if findings.same_rows("lottery.probabilities", claimed, actual):
            for item, value in actual.items():
                findings.near(f"lottery.probabilities, {item}", claimed[item], value, CHANCES)
        drawn = {item for item, taken in zip(chance, draw(share, wanted.lottery), strict=True) if taken}
        listed = [str(item) for item in answer.get("lottery.drawn")]
        findings.same("lottery.drawn", listed, [item for item in ranked if item in drawn])
        findings.check("lottery: its probabilities, and its papers, drawn again")


def lots(chance: list[float], count: int, error_rate: float) -> list[float]:
    """Return the probability with which each paper is drawn: its chance, rescaled between the thresholds, to a power.

    >>> [round(value, 3) for value in lots([0.99, 0.6, 0.6, 0.01], 2, 0.1)]
    [1.0, 0.5, 0.5, 0.0]
    """
    base = [min(max((value - error_rate) / (1 - 2 * error_rate), 0.0), 1.0) for value in chance]
    if sum(value > 0 for value in base) < count or sum(value == 1 for value in base) > count:
        base = [min(max(value, 0.0), 1 - 1e-9) for value in chance]
    low = -10 * math.log(2)
    high = 10 * math.log(2)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(value ** math.exp(middle) for value in base) > count else (low, middle)
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
    for turn, other in enumerate(order):
        if not 0 < share[other] < 1:
            continue
        if holder is None:
            holder = other
            continue
        a = share[holder]
        b = share[other]
        full = a + b >= 1
        first = luck[turn] < ((1 - b) / (2 - a - b) if full else a / (a + b))
        # One of the two gets a whole place, or none; the other keeps the rest.
        winner, loser = (holder, other) if first else (other, holder)
        share[winner], share[loser] = (1.0, a + b - 1) if full else (a + b, 0.0)
        holder = loser if full else winner
    return [value > 0.5 for value in share]


def _largest_first(values: Mapping[str, float], sign: float = 1.0) -> list[str]:
    """Return papers by their numbers, ties in the order of the table."""
    papers = list(values)
    return [papers[place] for place in order_of(-sign * np.array(list(values.values()))).tolist()]


def _together(pairs: Iterable[tuple[float, float]]) -> float:
    """Return the sum of products of deviations from the means."""
    listed = list(pairs)
    means = [_mean([*side]) for side in zip(*listed, strict=True)]
    return math.fsum((one - means[0]) * (other - means[1]) for one, other in listed)


# Methods that average corrected scores: each returns these, or for ridge what the qualities imply for them.


def _corrected(scores_of: Callable[[Calibration], Mapping[Pair, float]]) -> Equations:
    """Return the equations of a method whose qualities are averages of corrected scores."""

    def check(own: Calibration) -> None:
        for item, actual in _averaged(scores_of(own)).items():
            slack = max(CHANCES * max(abs(own.quality[item]), abs(actual)), CHANCES * 1e-3)
            own.findings.near(f"{item}, quality", own.quality[item], actual, slack)
        own.findings.check(f"qualities, by what {own.method} is defined as")
        extra = next((row.item for row in own.rows.values() if row.standard_error is not None), None)
        own.findings.expect(extra is None, f"{extra}, standard_error: {own.method} gives none")

    return Equations(check)


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _by(end: int, scores: Mapping[Pair, float]) -> dict[str, list[float]]:
    """Return the scores by reviewer (0) or by item (1)."""
    by_name: dict[str, list[float]] = {}
    for pair, value in scores.items():
        by_name.setdefault(pair[end], []).append(value)
    return by_name


def _averaged(scores: Mapping[Pair, float]) -> dict[str, float]:
    return {item: _mean(values) for item, values in _by(1, scores).items()}


def _centred(own: Calibration) -> dict[Pair, float]:
    """Subtract the mean of each reviewer."""
    mean = {who: _mean(values) for who, values in _by(0, own.scores).items()}
    overall = _mean([*own.scores.values()])
    return {pair: value - mean[pair[0]] + overall for pair, value in own.scores.items()}


def _standardised(own: Calibration) -> dict[Pair, float]:
    """Give the scores of each reviewer the mean and the spread of all; equal scores have no spread."""
    overall = _mean([*own.scores.values()])
    size = math.sqrt(_mean([(value - overall) ** 2 for value in own.scores.values()]))
    line = {}
    for reviewer, values in _by(0, own.scores).items():
        mean = _mean(values)
        spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1))
        line[reviewer] = mean, size / spread if spread > 1e-12 * abs(mean) else 0.0
    return {pair: overall + line[pair[0]][1] * (value - line[pair[0]][0]) for pair, value in own.scores.items()}


def _without_offsets(own: Calibration) -> dict[Pair, float]:
    """Subtract the offsets that the qualities imply, shrunk as by one more review."""
    residuals = _by(0, {pair: value - own.quality[pair[1]] for pair, value in own.scores.items()})
    offset = {who: math.fsum(values) / (len(values) + 1) for who, values in residuals.items()}
    return {pair: value - offset[pair[0]] for pair, value in own.scores.items()}


AVERAGE = _corrected(lambda own: own.scores)
CENTRING = _corrected(_centred)
Z_SCORE = _corrected(_standardised)
RIDGE = _corrected(_without_offsets)

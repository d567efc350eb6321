"""Rounds of ``plan``: what is left, what came of earlier rounds, each choice by its gain, and what is expected.

Gains are integrals over the future mean of a paper, by Gauss-Legendre quadrature; expected wrong selections are means
of rollouts of a plain loop. Assumed: the beliefs, which a second run of the command computes anew from the scores.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from reviewgraph.verify.answers import Findings
    from reviewgraph.verify.graphs import Pair, Table
    from reviewgraph.verify.rules import PlainRules

    Floats = NDArray[np.float64]


#: Reviews of a paper that are looked at together.
AHEAD = 3
#: Difference of gains that may be rounding, and errors by which expectations may differ.
SLACK = 1e-7
SURE = 4.5
#: Share of the expected number that rollouts of other rules for ties and depth may differ.
ALIKE = 0.02
#: Rollouts, and papers times rollouts times rounds above which there are fewer.
ROLLOUTS = 48
FEWEST = 8
MOST_PAPERS = 80_000


class Past(NamedTuple):
    """Earlier reviews by (round, reviewer, item): those that count, those without a score among them, those lost.

    The absent ones are outstanding, and not in the table.
    """

    earlier: Sequence[tuple[int, str, str]] = ()
    outstanding: Sequence[tuple[int, str, str]] = ()
    lost: Sequence[tuple[int, str, str]] = ()
    absent: Sequence[tuple[int, str, str]] = ()


@dataclass(frozen=True)
class Process:
    """Options of a round: the answer of the last one, and what was stated, None if not."""

    after: Mapping[str, Any] | None = None
    past: Past = field(default_factory=Past)
    rounds: int | None = None
    max_reviews: int | None = None
    max_per_item: int | None = None
    group: Mapping[str, Any] | None = None
    discussion: tuple[float, float] | None = None


def past_of(after: Mapping[str, Any], table: Table, gone: set[str], barred: set[Pair]) -> Past:
    """Sort the reviews of all rounds up to an answer by what came of them."""
    asked = [(one["round"], str(one["reviewer"]), str(one["item"])) for one in after["rounds"]["earlier"]]
    asked += [(after["rounds"]["number"], str(one["reviewer"]), str(one["item"])) for one in after["reviews"]]
    open_ = [one for one in asked if table.score.get(one[1:]) is None]
    lost = [one for one in open_ if one[1] in gone or one[1:] in barred]
    coming = [one for one in open_ if one not in lost]
    absent = [one for one in coming if one[1:] not in table.score]
    return Past([one for one in asked if one not in lost], coming, lost, absent)


def _price(said: Mapping[str, Any]) -> int:
    """Return the reviews that the discussions of a round cost."""
    return 0 if said.get("discussion") is None else math.ceil(len(said["discuss"]) * said["discussion"]["price"] - 1e-9)


def _unspent(said: Mapping[str, Any]) -> int:
    """Return the reviews of the budget that remain after a round."""
    return max(int(said["budget"]) - int(said["now"]) - _price(said), 0)


def verify_round(findings: Findings, rules: PlainRules, process: Process, new: list[Pair]) -> None:
    """Check the round of an answer."""
    if findings.answer.get("rounds", null=True) is None:
        return
    if not _has_all_beliefs(findings):
        return
    round_ = _Round(findings, rules, process, findings.answer.get("rounds"), new)
    round_.accounts()
    round_.beliefs()
    if not findings.wrong:
        round_.choice()
    if not findings.wrong:
        round_.expected()


def _has_all_beliefs(findings: Findings) -> bool:
    """Check that each paper and each reviewer stands once among the beliefs, with one value in each column."""
    beliefs = findings.answer.get("rounds.beliefs")
    whole = True
    for of, columns in {"items": ["mean", "sd", "pending"], "reviewers": ["precision"]}.items():
        labels = beliefs[of]
        whole &= findings.expect(len(set(map(str, labels))) == len(labels), f"rounds.beliefs.{of}: one stands twice")
        for name in columns:
            words = f"rounds.beliefs.{name}: {len(beliefs[name])} values for {len(labels)} {of}"
            whole &= findings.expect(len(beliefs[name]) == len(labels), words)
    return whole


class _Round:
    def __init__(
        self, findings: Findings, rules: PlainRules, process: Process, said: dict[str, Any], new: list[Pair]
    ) -> None:
        self.findings = findings
        self.rules = rules
        self.process = process
        self.said = {"missing": None, "alike": [], "discussion": None, "discuss": [], "discussed": [], **said}
        said = self.said
        self.new = new
        own = said["beliefs"]
        self.place = {str(item): number for number, item in enumerate(own["items"])}
        self.precision = dict(zip(map(str, own["reviewers"]), own["precision"], strict=True))
        self.mean, self.sd, self.pending = (np.array(own[key], float) for key in ("mean", "sd", "pending"))
        self.typical = float(np.mean(own["precision"]))
        self.talk = said["discussion"]
        #: Group of each paper, and its papers: they get one review each, or none.
        self.members = _groups([[str(item) for item in group] for group in said["alike"]], self.place)
        self.group = np.zeros(self.mean.size, np.int64)
        for code, own in enumerate(self.members):
            self.group[own] = code
        self.size = np.array([own.size for own in self.members], np.int64)
        #: Precision from reviews of this round at which gains of the next 1, 2, ... reviews of each paper are known.
        self.seen, self.gains = np.full(self.mean.size, np.nan), np.zeros((AHEAD, self.mean.size))

    # What is left, and what came of earlier rounds.

    def accounts(self) -> None:
        """Recompute the number of the round, the budget, what is held back, and earlier reviews."""
        findings = self.findings
        said = self.said
        process = self.process
        last: Any = None if process.after is None else process.after["rounds"]
        findings.value("rounds.number", 1 if last is None else last["number"] + 1)
        if process.rounds is not None or last is not None:
            findings.value("rounds.left", last["left"] - 1 if process.rounds is None else process.rounds)
        if process.max_reviews is not None or last is not None:
            kept = 0 if last is None else _unspent(last) + len(process.past.lost)
            findings.value("rounds.budget", kept if process.max_reviews is None else process.max_reviews)
        count = findings.answer.get("count")
        findings.value("rounds.now", count)
        price = _price(said)
        findings.value("rounds.held_back", min(_unspent(said), max(said["capacity"] - count, 0)))
        findings.expect(count <= said["capacity"], f"rounds.capacity: {said['capacity']}, and {count} are asked for")
        words = f"rounds.now: {count} reviews, and discussions at the price of {price}, are beyond the budget"
        findings.expect(count + price <= said["budget"], words)
        ends = not count and not said["discuss"]
        findings.expect((said["stop"] is not None) is ends, "rounds.stop: says the opposite of what is asked for")
        findings.value("rounds.name", f"R{said['number'] + 1}")
        for name in Past._fields:
            findings.same_rows(
                f"rounds.{name}",
                findings.answer.rows(name, "round reviewer item", within=said),
                getattr(process.past, name),
            )
        before = [] if last is None else [*last.get("discussed", ())]
        findings.expect(said["discussed"] == before, "rounds.discussed: papers of earlier discussions differ")
        talk = process.discussion or _price_and_worth(last and last.get("discussion"))
        if talk is not None or last is not None:
            stated = _price_and_worth(self.talk)
            findings.expect(stated == talk, f"rounds.discussion: {stated} as price and worth, expected {talk}")
        most = said["rules"]["max_per_item"] if process.max_per_item is None else process.max_per_item
        if most is not None:
            by_item = Counter(item for _, _, item in process.past.earlier) + Counter(item for _, item in self.new)
            beyond = [item for item, number in by_item.items() if number > most]
            findings.expect(not beyond, f"reviews: paper {beyond[:1]} has more than {most} in all rounds")
        self._together()
        findings.check("what is left, what came of earlier rounds, and limits over all rounds")

    def _together(self) -> None:
        """Check that papers of a group get the same number of reviews, and are all that have the value."""
        count = Counter(item for _, item in self.new)
        groups = [[str(item) for item in own] for own in self.said["alike"]]
        for own in groups:
            differ = len({count[item] for item in own}) > 1
            self.findings.expect(not differ, f"rounds.alike: papers {', '.join(own[:3])} ... get different numbers")
        if self.process.group is not None:
            value = self.process.group
            actual: dict[Any, list[str]] = {}
            for item in self.place:
                if value.get(item) not in (None, ""):
                    actual.setdefault(value[item], []).append(item)
            several = [tuple(sorted(own)) for own in actual.values() if len(own) > 1]
            self.findings.same_rows("rounds.alike", [tuple(sorted(own)) for own in groups], several)

    # Beliefs, and the loss of a paper.

    def beliefs(self) -> None:
        """Recompute the cut, the price of a place and the expected wrong selections as things stand."""
        n = int(self.said["select"])
        if not self.findings.expect(0 < n < len(self.mean), f"rounds.select: {n} of {len(self.mean)} papers"):
            return
        self.cut, chance = _standing(self.mean, self.sd, n)
        ranked = np.sort(chance)[::-1]
        self.price = float(np.clip(ranked[n - 1 : n + 1].mean(), 1e-9, 1 - 1e-9))
        self.findings.near("rounds.beliefs.price", self.said["beliefs"]["price"], self.price, 1e-7)
        self.findings.near("rounds.before", self.said["before"], float(n - ranked[:n].sum()), 1e-6)
        self.findings.check("the price of a place, and the expected wrong selections now, from the beliefs")

    def loss(self, items: Any, extra: Any) -> Floats:
        at = np.asarray(items, int)
        coming = self.pending[at] + np.asarray(extra, float)
        return losses(self.mean[at] - self.cut, self.sd[at], coming, self.price)

    def choice(self) -> None:
        """Make every choice again: each review, or discussion, was the best allowed at its turn."""
        said = self.said
        pairs = list(self.findings.answer.pairs)
        first = int(said["required"])
        bought = self._gains(pairs)
        begin = len(pairs) - len(bought)
        extra = np.zeros(len(self.mean))
        for reviewer, item in pairs[begin:first]:
            extra[self.place[item]] += self.precision[reviewer]
        talks = list(said["discuss"])
        talked = list[str]()
        place = first
        while (place < len(pairs) or talks) and not self.findings.wrong:
            if talks and (talks[0]["place"] <= place - first or place == len(pairs)):
                talk = talks.pop(0)
                words = f"rounds.discuss: paper {talk['item']} after {talk['place']} reviews of {place - first}"
                self.findings.expect(talk["place"] == place - first, words)
                self._turn(place, extra, talked, talk=str(talk["item"]))
                talked.append(str(talk["item"]))
                extra[self.place[talked[-1]]] += self.talk["worth"] * self.typical
                continue
            code = int(self.group[self.place[pairs[place][1]]])
            end = place + int(self.size[code])
            together = sorted(self.place[item] for _, item in pairs[place:end])
            words = f"reviews[{place}]: expected one of each paper of the group of paper {pairs[place][1]}"
            if not self.findings.expect(together == self.members[code].tolist(), words):
                return
            self._turn(place, extra, talked, code=code)
            for reviewer, item in pairs[place:end]:
                extra[self.place[item]] += self.precision[reviewer]
            place = end
        if not self.findings.wrong:
            self._turn(place, extra, talked)
            self.findings.check(
                "the gain of each review, by quadrature, and that each was the best allowed at its turn"
            )

    def _gains(self, pairs: list[Pair]) -> list[float]:
        """Compare the gain of each review, fixed ones have none, and of each discussion after all of them."""
        gains = [float(row) for row in self.findings.answer.rows("reviews", "gain?") if row is not None]
        bought = np.zeros(len(self.mean))
        begin = len(pairs) - len(gains)
        for place, gain in enumerate(gains, begin):
            reviewer, item = pairs[place]
            at = self.place[item]
            own = self.precision[reviewer]
            value = float((self.loss([at], [bought[at]]) - self.loss([at], [bought[at] + own]))[0])
            bought[at] += own
            self.findings.near(f"reviews[{place}].gain", gain, value, 10 * SLACK)
        for number, talk in enumerate(self.said["discuss"]):
            at = self.place[str(talk["item"])]
            told = bought[at] + self.talk["worth"] * self.typical
            value = float((self.loss([at], [bought[at]]) - self.loss([at], [told]))[0])
            self.findings.near(f"rounds.discuss[{number}].gain", talk["gain"], value, 10 * SLACK)
        return gains

    def _turn(
        self, place: int, extra: Floats, talked: list[str], code: int | None = None, talk: str | None = None
    ) -> None:
        """Compare the rate of a choice, a group of papers or a discussion, with those of all others that were allowed.

        Without a choice, nothing that was allowed is worth it.
        """
        said = self.said
        names = list(self.place)
        findings = self.findings
        price = math.inf if self.talk is None else float(self.talk["price"])
        left = said["share"] - (place - said["required"]) - (len(talked) * price if talked else 0.0)
        rate = self.rates(place, extra, left)
        spoken = self._talk_rates(extra, talked) if left >= price - 1e-9 else np.full(len(names), -np.inf)
        least = said["worth"] or 0.0
        # Below a small share of the loss a gain is rounding.
        own = max(least, 1e-9)
        where = "reviews: a further one"
        if talk is not None:
            own = float(spoken[self.place[talk]])
            where = f"rounds.discuss: a discussion of paper {talk}"
        elif code is not None:
            own = float(rate[code])
            where = f"reviews[{place}]: one of paper {names[self.members[code][0]]}"
        if code is not None or talk is not None:
            findings.expect(own > least - SLACK, f"{where} gains {own:.3g}, which is not above {least:g}")
        ahead = f"{where} gains {own:.6g} per review, and"
        if spoken.max() > own + SLACK:
            at = int(np.argmax(spoken))
            findings.expect(False, f"{ahead} a discussion of paper {names[at]} {spoken[at]:.6g}")
            return
        for other in np.flatnonzero(rate > own + SLACK).tolist():
            if self._allowed(other, place):
                findings.expect(False, f"{ahead} one of paper {names[self.members[other][0]]} {rate[other]:.6g}")
                return

    def _talk_rates(self, extra: Floats, talked: list[str]) -> Floats:
        """Return the gain of a discussion of each paper per review that it costs; none of one discussed before."""
        every = np.arange(extra.size)
        told = self.talk["worth"] * self.typical
        rate = (self.loss(every, extra) - self.loss(every, extra + told)) / self.talk["price"]
        for item in (*map(str, self.said["discussed"]), *talked):
            rate[self.place[item]] = -np.inf
        return np.asarray(rate)

    def rates(self, place: int, extra: Floats, left: float) -> Floats:
        """Return the best mean gain per review of the next reviews of each group before review number ``place``."""
        most = self.said["rules"]["max_per_item"]
        # Only papers that got a review since the last turn have other gains.
        changed = np.flatnonzero(extra != self.seen)
        now = self.loss(changed, extra[changed])
        for count in range(1, AHEAD + 1):
            self.gains[count - 1, changed] = now - self.loss(changed, extra[changed] + count * self.typical)
        self.seen[changed] = extra[changed]
        room = np.full(self.size.size, np.inf)
        if most is not None:
            counted = self._closed() + Counter(item for _, item in self.findings.answer.pairs[:place])
            np.minimum.at(room, self.group, np.array([most - counted[item] for item in self.place], float))
        best = np.zeros(self.size.size)
        for count in range(1, AHEAD + 1):
            together = np.bincount(self.group, self.gains[count - 1], self.size.size) / (count * self.size)
            fits = (room >= count) & (count * self.size <= left + 1e-9)
            best = np.maximum(best, np.where(fits, together, 0.0))
        return best

    def _closed(self) -> Counter[str]:
        """Reviews of each paper in earlier rounds."""
        return Counter(item for _, _, item in self.process.past.earlier)

    def _allowed(self, code: int, place: int) -> bool:
        """Whether somebody surely may review each paper of a group in addition to the reviews before number ``place``.

        Of several papers each takes a review of somebody; whoever that is, some are left for the next one.
        """
        names = list(self.place)
        before = list(self.findings.answer.pairs[:place])
        load = Counter(reviewer for reviewer, _ in before)
        most = self.said["rules"]["max_per_item"]
        for earlier, at in enumerate(self.members[code].tolist()):
            item = names[at]
            if most is not None and self._closed()[item] + Counter(what for _, what in before)[item] >= most:
                return False
            free = (
                self.rules.spare.get(who, math.inf) - load[who]
                for who in self.rules.table.reviewers
                if (who, item) not in self.rules.table.score
                and (who, item) not in before
                and self.rules.why_barred((who, item), before) is None
            )
            if sum(max(number, 0) for number in free) <= earlier:
                return False
        return True

    # Expected wrong selections, by rollouts of a plain loop.

    def expected(self) -> None:
        """Compare the expectation after each round with that of other rollouts."""
        said = self.said
        after = self.said["after"]
        parts: list[int] = next((one["reviews"] for one in said["tried"] if one["name"] == said["schedule"]), [])
        if not self.findings.expect(
            len(parts) == said["left"] == len(after), "rounds.after: expected one entry by round of the schedule"
        ):
            return
        wrong = self._rollouts(parts)
        mean = wrong.mean(axis=0)
        error = wrong.std(axis=0, ddof=1) / math.sqrt(len(wrong))
        for place, one in enumerate(after):
            slack = SURE * math.hypot(one["error"], float(error[place])) + ALIKE * said["before"]
            self.findings.near(f"rounds.after[{place}].wrong", one["wrong"], float(mean[place]), slack)
        self.findings.check(f"expected wrong selections after each round, by {len(wrong)} rollouts, up to their errors")

    def _rollouts(self, parts: list[int]) -> Floats:
        said = self.said
        n = int(self.said["select"])
        size = len(self.mean)
        arrive = 1.0 - (said["missing"] or 0.0)
        number = int(min(ROLLOUTS, max(FEWEST, MOST_PAPERS // (size * len(parts)))))
        raw = self.pending / arrive
        typical = self.typical / arrive
        worth = said["worth"] or 0.0
        for place, (reviewer, item) in enumerate(self.findings.answer.pairs[: said["required"]]):
            fixed = place < len(self.rules.fixed)
            raw = (
                raw
                + np.where(np.arange(size) == self.place[item], 0 if fixed else self.precision[reviewer], 0) / arrive
            )
        for talk in said["discuss"]:
            raw[self.place[str(talk["item"])]] += self.talk["worth"] * typical
        wrong = np.zeros((number, len(parts)))
        rng = np.random.default_rng(len(self.mean))
        for row in wrong:
            truth = self.mean + self.sd * rng.standard_normal(size)
            known = self.sd**-2.0
            shift = self.mean * self.sd**-2.0
            saved = 0
            mean = self.mean
            sd = self.sd
            coming = raw * arrive
            for place, part in enumerate(parts):
                cut, chance = _standing(mean, sd, n)
                price = float(np.clip(np.sort(chance)[::-1][n - 1 : n + 1].mean(), 1e-9, 1 - 1e-9))
                gains = _gains_ahead(mean - cut, sd, coming, price, self.typical)
                count = _greedy(gains, self.group, self.size, part + saved, worth)
                saved += part - int(count.sum())
                brought = rng.binomial(count, arrive) * typical
                if place == 0:
                    reviews = np.where(raw > 0, np.maximum(np.rint(raw / typical), 1), 0).astype(int)
                    brought = brought + raw * rng.binomial(reviews, arrive) / np.maximum(reviews, 1)
                shift = shift + brought * truth + np.sqrt(brought) * rng.standard_normal(size)
                known = known + brought
                mean = shift / known
                sd = known**-0.5
                coming = np.zeros(size)
                row[place] = n - np.sort(_standing(mean, sd, n)[1])[::-1][:n].sum()
        return wrong


def _standing(mean: Floats, sd: Floats, n: int) -> tuple[float, Floats]:
    """Return the cut above which ``n`` papers are expected, and the probability of each to lie above it."""
    low = float((mean - 40 * sd).min())
    high = float((mean + 40 * sd).max())
    cut = float(brentq(lambda t: ndtr((mean - t) / sd).sum() - n, low, high, xtol=1e-13, rtol=1e-14))
    return cut, np.asarray(ndtr((mean - cut) / sd))


def _price_and_worth(discussion: Mapping[str, Any] | None) -> tuple[float, float] | None:
    return None if discussion is None else (float(discussion["price"]), float(discussion["worth"]))


def _groups(alike: list[list[str]], place: Mapping[str, int]) -> list[NDArray[np.int64]]:
    """Return the papers of each group, by number; the others are by themselves."""
    own = [np.array(sorted(place[item] for item in group), np.int64) for group in alike]
    inside = {number for group in own for number in group.tolist()}
    return [*own, *(np.array([number]) for number in place.values() if number not in inside)]


#: Reviews of a paper in one round of a rollout.
DEEP = 8


def _gains_ahead(distance: Floats, sd: Floats, coming: Floats, price: float, typical: float) -> Floats:
    """Return the gains of the next 1, 2, ... reviews after 0, 1, ... of them, shape (AHEAD, DEEP, N); 0 if decided."""
    above = ndtr(distance / sd)
    near = np.flatnonzero(np.minimum(above, 1 - above) > 1e-3)
    loss = np.array([losses(distance[near], sd[near], coming[near] + k * typical, price) for k in range(DEEP + AHEAD)])
    gains = np.zeros((AHEAD, DEEP, distance.size))
    gains[:, :, near] = [loss[:-AHEAD] - loss[k : k + DEEP] for k in range(1, AHEAD + 1)]
    return gains


def _greedy(
    gains: Floats, group: NDArray[np.int64], size: NDArray[np.int64], budget: int, worth: float
) -> NDArray[np.int64]:
    """Return the number of reviews of each paper: each group that fits goes where the next few gain most on average."""
    each = [[np.bincount(group, row, size.size) / (k * size) for row in own] for k, own in enumerate(gains, 1)]
    rate = np.max(each, axis=0)
    count = np.zeros(size.size, np.int64)
    now = rate[0].copy()
    while budget > 0 and size.size:
        best = int(np.argmax(np.where(size <= budget, now, -1.0)))
        if size[best] > budget or now[best] <= worth:
            break
        count[best] += 1
        budget -= int(size[best])
        now[best] = rate[count[best], best] if count[best] < DEEP else -1.0
    return count[group]


#: Nodes and weights on -1 to 1, and standard deviations beyond which nothing is left.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_WIDE = 9.0


def losses(distance: Floats, sd: Floats, precision: Floats, price: float) -> Floats:
    """Return the expected loss of papers after reviews: the mean over their future means of the smaller of two risks.

    A paper above the cut that is left out loses ``1 - price``, one below it that is selected ``price``.

    >>> losses(np.zeros(2), np.ones(2), np.array([0.0, 1.0]), 0.5).round(6).tolist()
    [0.25, 0.125]
    """
    left = 1.0 / (sd**-2.0 + precision)
    moves = np.sqrt(np.maximum(sd**2 - left, 0.0))
    above = ndtr(distance / sd)
    now = np.minimum((1.0 - price) * above, price * (1.0 - above))
    some = (precision > 0.0) & (moves > 0.0)
    if not some.any():
        return np.asarray(now)
    d = distance[some]
    move = moves[some]
    rest = np.sqrt(left[some])
    # Where the two risks are equal the smaller one has a kink: each side has its own nodes, where anything is left.
    kink = np.clip((rest * ndtri(price) - d) / move, -_WIDE, _WIDE)
    reach = _WIDE * rest / move
    total = np.zeros(d.size)
    for begin, end in ((np.maximum(-_WIDE, kink - 1.5 * reach), kink), (kink, np.minimum(_WIDE, kink + 1.5 * reach))):
        half = 0.5 * (end - begin)
        z = 0.5 * (end + begin)[:, None] + half[:, None] * _NODES
        inside = ndtr((d[:, None] + move[:, None] * z) / rest[:, None])
        risk = np.minimum((1.0 - price) * inside, price * (1.0 - inside))
        total += half * (risk * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) * _WEIGHTS).sum(axis=1)
    now[some] = total
    return np.asarray(now)

"""Covariates as users pass them, as factors of :mod:`lsc._inference.covariates`; and their effects as a result."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsc._inference.beliefs import WIDTH
from lsc._inference.covariates import Factor, Kind
from reviewgraph._base import BoolArray, FloatArray, InputError, IntArray, Label, natural_key
from reviewgraph.formats import ITEM, REVIEWER
from reviewgraph.io import columns_by_label, match_labels, rankings_of

if TYPE_CHECKING:
    from lsc._inference.beliefs import Posterior
    from lsc._inference.inferring import Gains
    from reviewgraph.table import Reviews

#: Levels of a category with fewer items, or reviewers, say nothing beyond these: they count as unknown.
LEAST_MEMBERS = 2
#: Largest number of levels of a category.
MAX_LEVELS = 200
#: Name of the factor of rankings.
RANKING = "own ranking of authors"


class Given(NamedTuple):
    """Factors of the items and reviewers of a table, and pairs of items that two authors rank in opposite order."""

    factors: tuple[Factor, ...]
    conflicts: int = 0


def read_covariates(reviews: Reviews, item_covariates: Any, reviewer_covariates: Any, rankings: Any) -> Given:
    """Return the factors of all covariates, in the order of the arguments and of their columns."""
    scored = reviews.only_scored()
    of_items = scored.reviews_per_item > 0
    of_reviewers = scored.loads > 0
    factors: list[Factor] = []
    if item_covariates is not None:
        columns = columns_by_label(item_covariates, "item_covariates", ITEM, reviews.spellings())
        codes = _known(columns.values(), reviews.items, "item_covariates", "paper", reviews.reviewers)
        factors += [
            factor_of(name, _by_code(column, codes), of_items, of_items=True) for name, column in columns.items()
        ]
    if reviewer_covariates is not None:
        columns = columns_by_label(reviewer_covariates, "reviewer_covariates", REVIEWER, reviews.spellings())
        codes = _known(columns.values(), reviews.reviewers, "reviewer_covariates", "reviewer", reviews.items)
        factors += [
            factor_of(name, _by_code(column, codes), of_reviewers, of_items=False) for name, column in columns.items()
        ]
    if rankings is None:
        return Given(tuple(factors))
    rows = rankings_of(rankings, "rankings", reviews.spellings())
    codes = _known([[item for _, item, _ in rows]], reviews.items, "rankings", "paper", reviews.reviewers)
    lists: dict[Label, list[tuple[int, float]]] = {}
    for author, item, rank in rows:
        if item in codes:
            lists.setdefault(author, []).append((codes[item], rank))
    design, known, conflicts = normal_scores_of(list(lists.values()), of_items)
    return Given((*factors, Factor(RANKING, "ranking", True, ("",), design, known)), conflicts)


def _known(
    columns: Iterable[Iterable[Label]], labels: Sequence[Label], name: str, word: str, mistaken: Sequence[Label]
) -> dict[Label, int]:
    """Return the codes of the labels that are among those of the reviews; warn of the others."""
    listed = list(dict.fromkeys(label for column in columns for label in column))
    codes = match_labels(listed, labels, name, word, other=mistaken).tolist()
    return {label: code for label, code in zip(listed, codes, strict=True) if code >= 0}


def _by_code(column: Mapping[Label, Any], codes: Mapping[Label, int]) -> dict[int, Any]:
    return {codes[label]: value for label, value in column.items() if label in codes}


def factor_of(name: str, values: Mapping[int, Any], has_score: BoolArray, *, of_items: bool) -> Factor:
    """Return the factor of a column: a number if all its values are, otherwise the levels of a category.

    >>> factor_of("track", {0: "a", 1: "a", 2: "b", 3: "b"}, np.ones(5, bool), of_items=True).design.T.tolist()
    [[0.5, 0.5, -0.5, -0.5, 0.0], [-0.5, -0.5, 0.5, 0.5, 0.0]]
    >>> factor_of("pages", {0: "8", 1: 10}, np.ones(3, bool), of_items=True).design.T.tolist()
    [[-1.0, 1.0, 0.0]]
    """
    known = {code: value for code, value in values.items() if not _is_missing(value)}
    numbers = [_number(value) for value in known.values()]
    code = np.fromiter(known, np.int64, len(known))
    kind: Kind = "number" if known and all(number is not None for number in numbers) else "category"
    if kind == "number":
        value = np.array(numbers, np.float64)
        levels: tuple[str, ...] = ("",)
        columns = value[:, None]
    else:
        levels, columns, code = _levels(name, list(known.values()), code, has_score)
    # What has no score is expected to be like the others, but determines nothing.
    scored = has_score[code]
    design = np.zeros((has_score.size, columns.shape[1]))
    if scored.any():
        spread = float(columns[scored].std()) if kind == "number" else 1.0
        design[code] = (columns - columns[scored].mean(axis=0)) / (spread or 1.0)
    # A column that is the same for all says nothing.
    varies: BoolArray = np.asarray((np.abs(design[has_score]) > 0).any(axis=0))
    levels = tuple(level for level, used in zip(levels, varies.tolist(), strict=True) if used)
    return Factor(name, kind, of_items, levels, design[:, varies], int(scored.sum()))


def _levels(
    name: str, values: Sequence[Any], code: IntArray, has_score: BoolArray
) -> tuple[tuple[str, ...], FloatArray, IntArray]:
    """Return the levels of a category, the share of each in every row, and the codes of the rows that have one."""
    texts = [tuple(map(_text, value)) if isinstance(value, list | tuple) else (_text(value),) for value in values]
    count = Counter(level for row, scored in zip(texts, has_score[code], strict=True) if scored for level in set(row))
    levels = sorted((level for level in count if count[level] >= LEAST_MEMBERS), key=natural_key)
    if len(levels) > MAX_LEVELS:
        message = (
            f"{name}: expected at most {MAX_LEVELS} levels, found {len(levels)}; leave the column out, or write "
            "numbers as numbers"
        )
        raise InputError(message)
    place = {level: column for column, level in enumerate(levels)}
    columns = np.zeros((len(texts), len(levels)))
    for number, present in enumerate(texts):
        for level in present:
            if level in place:
                columns[number, place[level]] += 1.0 / len(present)
    has_level: BoolArray = columns.sum(axis=1) > 0
    return tuple(levels), columns[has_level], code[has_level]


def _is_missing(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str | list | tuple) and not value)


def _text(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool | np.bool_) else str(value).strip()


def _number(value: Any) -> float | None:
    """Return a finite number, None for anything else."""
    if isinstance(value, bool | np.bool_ | list | tuple):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


# Rankings of authors: the expected normal order statistic of each place, on average over the lists of an item.


def normal_scores_of(lists: Sequence[Sequence[tuple[int, float]]], has_score: BoolArray) -> tuple[FloatArray, int, int]:
    """Return the column of rankings, shape (N, 1), the number of ranked items, and of pairs in opposite orders.

    ``lists`` has the items of each author with their ranks, 1 the best. Each list is centred: an author moves none of
    it as a whole. A list of one item says nothing.

    >>> column, ranked, opposite = normal_scores_of([[(0, 1), (1, 2)], [(1, 1), (0, 2)]], np.ones(3, bool))
    >>> column.ravel().tolist(), ranked, opposite
    ([0.0, 0.0, 0.0], 2, 1)
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    total = np.zeros(has_score.size)
    count = np.zeros(has_score.size)
    order: dict[tuple[int, int], set[bool]] = {}
    for rows in lists:
        known = [(item, rank) for item, rank in rows if has_score[item]]
        if len(known) < LEAST_MEMBERS:
            continue
        item = np.array([item for item, _ in known])
        rank = rankdata([-rank for _, rank in known])
        # Blom's approximation of the expected order statistics.
        score = ndtri((rank - 0.375) / (item.size + 0.25))
        np.add.at(total, item, score - score.mean())
        np.add.at(count, item, 1.0)
        for a, (first, before) in enumerate(known):
            for second, after in known[a + 1 :]:
                if before != after:
                    pair = (min(first, second), max(first, second))
                    order.setdefault(pair, set()).add((before < after) == (first < second))
    opposite = sum(len(directions) > 1 for directions in order.values())
    column = np.divide(total, count, out=np.zeros(total.size), where=count > 0)
    return column[:, None], int((count > 0).sum()), opposite


# The result.


class Effect(NamedTuple):
    """The effect of a level, or of one standard deviation of a number, in points, with its central 90 % interval.

    On the quality of items, or on the scores that reviewers give.
    """

    level: str
    effect: float
    low: float
    high: float


class Covariate(NamedTuple):
    """A covariate: its column, what it describes, whether it is used, and what it gains.

    Attributes
    ----------
    name, kind
        The column; ``"number"``, ``"category"`` or ``"ranking"``.
    of
        ``"item"`` or ``"reviewer"``.
    used, gain
        Whether it is used, and by how much the log evidence rises with it alone.
    known
        Number of items, or of reviewers, with a score whose value is known.
    effects
        One per level, relative to the mean over all that are known; empty if it is not used.
    """

    name: str
    kind: str
    of: str
    used: bool
    gain: float
    known: int
    effects: tuple[Effect, ...]


@dataclass(frozen=True, eq=False)
class Covariates:
    """What the covariates add to a posterior.

    Attributes
    ----------
    rows
        The covariates, in the order in which they were passed.
    gain
        By how much the log evidence of the scores rises with those that are used, effects integrated out.
    conflicts
        Number of pairs of items that two authors rank in opposite order.
    pulls
        Shape (N,) by name: what each covariate of items adds to the expected quality, on the internal scale.
    severities
        Shape (M,) by name: the severity that each covariate of reviewers explains, in points of the scores.
    """

    rows: tuple[Covariate, ...]
    gain: float
    conflicts: int
    pulls: Mapping[str, FloatArray]
    severities: Mapping[str, FloatArray]

    def with_names(self, names: Mapping[str, str]) -> Covariates:
        """Return the same with numbers for the names of covariates and of their levels; ``names`` has neither."""
        number = {row.name: f"covariate {place}" for place, row in enumerate(self.rows, 1)}
        rows = []
        for row in self.rows:
            effects = [
                effect._replace(level=f"level {place}" if effect.level else "")
                for place, effect in enumerate(row.effects, 1)
            ]
            rows.append(row._replace(name=number[row.name], effects=tuple(effects)))
        return replace(
            self,
            rows=tuple(rows),
            pulls={number[name]: pull for name, pull in self.pulls.items()},
            severities={number[name]: severity for name, severity in self.severities.items()},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what the command's ``--json`` prints of the covariates."""
        rows = []
        for row in self.rows:
            effects = [
                {"level": level or None, "effect": effect, "interval": [low, high]}
                for level, effect, low, high in row.effects
            ]
            rows.append({**row._asdict(), "effects": effects})
        return {"used": self.gain > 0, "gain": self.gain, "opposite_rankings": self.conflicts, "factors": rows}


def covariates_of(read: Given, posterior: Posterior, gains: Gains, sign: float) -> Covariates:
    """Return effects in points; ``sign`` is -1 if 1 is the best score."""
    effects = posterior.effects
    in_use = dict(zip(gains.used, effects.slices(), strict=True)) if effects is not None else {}
    rows = []
    pulls = {}
    severities = {}
    for place, (factor, gain) in enumerate(zip(read.factors, gains.by_factor.tolist(), strict=True)):
        shown: list[Effect] = []
        points = sign * (posterior.scale if factor.of_items else posterior.scores.unit.spread)
        if effects is not None and place in in_use:
            entries = in_use[place]
            mean = effects.mean[entries]
            if factor.of_items:
                pulls[factor.name] = factor.design @ mean
            else:
                severities[factor.name] = -points * (factor.design @ mean)
            contrasts = _contrasts(factor)
            values = (contrasts @ mean).tolist()
            variances = np.diag(contrasts @ effects.covariance[entries, entries] @ contrasts.T)
            for level, value, error in zip(factor.levels, values, np.sqrt(variances).tolist(), strict=True):
                low, high = sorted((points * (value - WIDTH * error), points * (value + WIDTH * error)))
                shown.append(Effect(level, points * value, low, high))
        of = "item" if factor.of_items else "reviewer"
        rows.append(Covariate(factor.name, factor.kind, of, bool(shown), gain, factor.known, tuple(shown)))
    return Covariates(tuple(rows), gains.all_used if in_use else 0.0, read.conflicts, pulls, severities)


def _contrasts(factor: Factor) -> FloatArray:
    """Return the combination of effects that is the effect of each level, shape (L, L)."""
    if factor.kind != "category":
        return np.eye(1)
    # Of a row with one level the design is 1 there, less the mean of each column over the rows that are known.
    known = (factor.design != 0).any(axis=1)
    share = np.array([-column[known].min() for column in factor.design.T])
    return np.asarray(np.eye(share.size) - share)

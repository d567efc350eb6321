"""Covariates of papers and of reviewers, whose shrunken effects are learned with the population of reviewers.

::

    x      ~ N(Z g, K^-1)                       quality of papers, K as without covariates
    b_j    ~ N(g0 + g1 a_j + W_j d, omega^2)    offset of reviewers
    g, d   ~ N(0, t_f^2) for each factor f

A factor is a column of numbers, the levels of a category, or the authors' own rankings. Effects are at their mode given
the variances t_f^2, and both are learned in the steps of EM. The evidence integrates the effects out by Laplace's
method; their information counts papers and reviewers only as far as scores determine them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from lsc._inference.step import WIDTH
from reviewgraph._base import BoolArray, FloatArray, InputError, IntArray, Label, natural_key
from reviewgraph.formats import ITEM, REVIEWER
from reviewgraph.io import columns_by_label, match_labels, rankings_of

if TYPE_CHECKING:
    from reviewgraph.table import Reviews

#: Bounds and start of the variances t^2, in squared units of unexplained quality, or of standardised scores.
LEAST = 1e-8
START = 0.05
MOST = 25.0
#: Levels of a category with fewer items, or reviewers, say nothing beyond these: they count as unknown.
LEAST_MEMBERS = 2
#: Largest number of levels of a category.
MAX_LEVELS = 200
#: Name of the factor of rankings.
RANKING = "own ranking of authors"

Kind: TypeAlias = Literal["number", "category", "ranking"]


class Factor(NamedTuple):
    """A covariate: columns whose effects share a variance.

    ``design`` (N or M, L): a column per level, one for a number or a ranking; rows of unknown values, and the mean of
    each column over papers or reviewers with a score, are 0. ``levels``: names of the columns. ``known``: number of
    papers or reviewers with a value. ``of_items``: whether it is one of papers. The effect of a ranking is not
    negative.
    """

    name: str
    kind: Kind
    of_items: bool
    levels: tuple[str, ...]
    design: FloatArray
    known: int


@dataclass(frozen=True, eq=False)
class Effects:
    """Factors in use with their effects (F,), factor by factor, the covariance of these, and the variances t^2.

    Effects on papers are on the internal scale of qualities, those on reviewers in standardised scores.
    """

    factors: tuple[Factor, ...]
    mean: FloatArray
    covariance: FloatArray
    variance: FloatArray

    @classmethod
    def start(cls, factors: Sequence[Factor]) -> Effects:
        """Return effects of 0."""
        size = sum(factor.design.shape[1] for factor in factors)
        return cls(tuple(factors), np.zeros(size), np.zeros((size, size)), np.full(len(factors), START))

    def slices(self) -> list[slice]:
        """Return the entries of each factor."""
        ends = np.cumsum([0, *(factor.design.shape[1] for factor in self.factors)]).tolist()
        return [slice(first, last) for first, last in pairwise(ends)]

    def expected(self, size: int, *, of_items: bool) -> FloatArray:
        """Return the prior means of papers, or of offsets of reviewers, shape (N,) or (M,)."""
        total = np.zeros(size)
        for factor, entries in zip(self.factors, self.slices(), strict=True):
            if factor.of_items == of_items:
                total += factor.design @ self.mean[entries]
        return total

    def improved(self, target: FloatArray, weight: FloatArray, unit: float, *, of_items: bool) -> Effects:
        """Return the mode given the expected quality of papers, or offset of reviewers, and the next variances.

        ``weight`` is the share of each that scores determine, 0 without a score, and ``unit`` the variance about the
        prior means: mode = argmin sum_i (target_i - Z_i g)^2 / unit + sum_f |g_f|^2 / t_f^2 over those with a score.
        """
        places = [place for place, factor in enumerate(self.factors) if factor.of_items == of_items]
        if not places:
            return self
        slices = self.slices()
        entries = np.concatenate([np.arange(slices[place].start, slices[place].stop) for place in places])
        design = np.concatenate([self.factors[place].design for place in places], axis=1)
        shrinkage = np.repeat(1 / self.variance[places], [self.factors[place].design.shape[1] for place in places])
        known = weight > 0
        complete = design[known].T @ design[known] / unit + np.diag(shrinkage)
        informed = (design * weight[:, None]).T @ design / unit + np.diag(shrinkage)
        mean = self.mean.copy()
        covariance = self.covariance.copy()
        variance = self.variance.copy()
        mean[entries] = np.linalg.solve(complete, design[known].T @ target[known] / unit)
        covariance[np.ix_(entries, entries)] = np.linalg.inv(informed)
        for place in places:
            effects = slices[place]
            if self.factors[place].kind == "ranking":
                mean[effects] = np.maximum(mean[effects], 0.0)
            square = (mean[effects] ** 2 + np.diag(covariance)[effects]).mean()
            variance[place] = min(max(float(square), LEAST), MOST)
        return replace(self, mean=mean, covariance=covariance, variance=variance)

    def rescaled(self, spread: float) -> Effects:
        """Return the effects when qualities are divided by ``spread``."""
        by_factor = np.array([1 / spread if factor.of_items else 1.0 for factor in self.factors])
        by_entry = np.repeat(by_factor, [factor.design.shape[1] for factor in self.factors])
        return replace(
            self,
            mean=self.mean * by_entry,
            covariance=self.covariance * np.outer(by_entry, by_entry),
            variance=np.maximum(self.variance * by_factor**2, LEAST),
        )

    @property
    def log_prior(self) -> float:
        """Log of the prior of the effects over the height of their posterior: what integrating them out adds."""
        prior = np.repeat(self.variance, [factor.design.shape[1] for factor in self.factors])
        _, volume = np.linalg.slogdet(self.covariance / np.sqrt(np.outer(prior, prior)))
        return float(0.5 * volume - 0.5 * (self.mean**2 / prior).sum())


# Covariates as users pass them.


def read_covariates(reviews: Reviews, item_covariates: Any, reviewer_covariates: Any, rankings: Any) -> list[Factor]:
    """Return the factors of all covariates, in the order of the arguments and of their columns."""
    scored = reviews.only_scored()
    has_score = scored.reviews_per_item > 0
    factors: list[Factor] = []
    if item_covariates is not None:
        columns = columns_by_label(item_covariates, "item_covariates", ITEM, reviews._spellings())
        codes = _known(columns.values(), reviews.items, "item_covariates", "paper", reviews.reviewers)
        for name, column in columns.items():
            factors.append(factor_of(name, _by_code(column, codes), has_score, of_items=True))
    if reviewer_covariates is not None:
        columns = columns_by_label(reviewer_covariates, "reviewer_covariates", REVIEWER, reviews._spellings())
        codes = _known(columns.values(), reviews.reviewers, "reviewer_covariates", "reviewer", reviews.items)
        for name, column in columns.items():
            factors.append(factor_of(name, _by_code(column, codes), scored.loads > 0, of_items=False))
    if rankings is not None:
        rows = rankings_of(rankings, "rankings", reviews._spellings())
        codes = _known([[item for _, item, _ in rows]], reviews.items, "rankings", "paper", reviews.reviewers)
        lists: dict[Label, list[tuple[int, float]]] = {}
        for author, item, rank in rows:
            if item in codes:
                lists.setdefault(author, []).append((codes[item], rank))
        factors.append(ranking_of(list(lists.values()), has_score))
    return factors


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
    """Return the factor of a column: a number if all its values are, otherwise the levels of a category."""
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


def ranking_of(lists: Sequence[Sequence[tuple[int, float]]], has_score: BoolArray) -> Factor:
    """Return the factor of rankings: of each item its expected normal order statistic, averaged over its lists.

    ``lists`` has the items of each author with their ranks, 1 the best. Each list is centred: an author moves none of
    it as a whole. A list of one item says nothing.
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    total = np.zeros(has_score.size)
    count = np.zeros(has_score.size)
    for rows in lists:
        known = [(item, rank) for item, rank in rows if has_score[item]]
        if len(known) >= LEAST_MEMBERS:
            item = np.array([item for item, _ in known])
            place = rankdata([-rank for _, rank in known])
            # Blom's approximation of the expected order statistics.
            score = ndtri((place - 0.375) / (item.size + 0.25))
            np.add.at(total, item, score - score.mean())
            np.add.at(count, item, 1.0)
    column = np.divide(total, count, out=np.zeros(total.size), where=count > 0)
    return Factor(RANKING, "ranking", True, ("",), column[:, None], int((count > 0).sum()))


# Their effects as a result.


class Gains(NamedTuple):
    """Rise of the log evidence by each factor that was tried, alone, by position, and by all in use."""

    by_factor: FloatArray
    all_used: float
    used: tuple[int, ...]


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

    ``kind``: ``"number"``, ``"category"`` or ``"ranking"``; ``of``: ``"item"`` or ``"reviewer"``; ``gain``: by how much
    the log evidence rises with it alone; ``known``: number of items or reviewers with a score and a value;
    ``effects``: one per level, relative to the mean over all that are known, none if it is not used.
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
    """What the covariates add to a posterior: one row each, in the order in which they were passed.

    ``gain``: by how much the log evidence rises with those that are used, effects integrated out; ``pulls`` (N,) by
    name: what each covariate of items adds to the expected quality, on the internal scale.
    """

    rows: tuple[Covariate, ...]
    gain: float
    pulls: Mapping[str, FloatArray]

    def used_of(self, side: str) -> list[str]:
        """Return the names of the covariates that are used of a side, ``"item"`` or ``"reviewer"``."""
        return [row.name for row in self.rows if row.used and row.of == side]

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
        return {"used": self.gain > 0, "gain": self.gain, "factors": rows}


def covariates_of(
    factors: Sequence[Factor], effects: Effects | None, gains: Gains, quality_points: float, score_points: float
) -> Covariates:
    """Return effects in points; ``quality_points`` and ``score_points`` are those of a unit of either scale."""
    in_use = dict(zip(gains.used, effects.slices(), strict=True)) if effects is not None else {}
    rows = []
    pulls = {}
    for place, (factor, gain) in enumerate(zip(factors, gains.by_factor.tolist(), strict=True)):
        shown: list[Effect] = []
        points = quality_points if factor.of_items else score_points
        if effects is not None and place in in_use:
            entries = in_use[place]
            mean = effects.mean[entries]
            if factor.of_items:
                pulls[factor.name] = factor.design @ mean
            contrasts = _contrasts(factor)
            values = (contrasts @ mean).tolist()
            variances = np.diag(contrasts @ effects.covariance[entries, entries] @ contrasts.T)
            for level, value, error in zip(factor.levels, values, np.sqrt(variances).tolist(), strict=True):
                low, high = sorted((points * (value - WIDTH * error), points * (value + WIDTH * error)))
                shown.append(Effect(level, points * value, low, high))
        of = "item" if factor.of_items else "reviewer"
        rows.append(Covariate(factor.name, factor.kind, of, bool(shown), gain, factor.known, tuple(shown)))
    return Covariates(tuple(rows), gains.all_used if in_use else 0.0, pulls)


def _contrasts(factor: Factor) -> FloatArray:
    """Return the combination of effects that is the effect of each level, shape (L, L)."""
    if factor.kind != "category":
        return np.eye(1)
    # Of a row with one level the design is 1 there, less the mean of each column over the rows that are known.
    known = (factor.design != 0).any(axis=1)
    share = np.array([-column[known].min() for column in factor.design.T])
    return np.asarray(np.eye(share.size) - share)

"""The posterior of qualities and of reviewers' severity, slope and noise, given all scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lsc._inference.beliefs import Account, InferenceStatus, Posterior, accounts_of
from lsc._inference.criteria import Joined, join
from lsc._inference.inferring import infer, infer_parts
from lsc._inference.joint import Joint, joint
from lsc._inference.step import WIDTH
from lsc._inference.validation import HeldOutGain, Misfit, held_out_gain, misfit_of
from lsc._inference.validity import Validity, validity_of, without_references
from lsc.estimate import (
    Estimate,
    averages,
    central_interval,
    expect_scores,
    known_values,
    number_of,
    warn_unconverged,
    weights_of_reviews,
)
from lsc.evidence.support import groups_of
from lsc.parted import AT_ONCE, InParts, scored_groups, totals_of
from lsc.predictions import Prediction, ReviewerTable, predict
from lsc.selection import ERROR_RATE, LEVEL, Selection, chances, select
from reviewgraph._base import (
    Clock,
    FloatArray,
    InputError,
    IntArray,
    Label,
    Progress,
    check_draws,
    checked,
    or_none,
    whole_seed,
)
from reviewgraph.graph import Assumptions, Learned
from reviewgraph.parts import PartedReviews, only_scored
from reviewgraph.table import Reviews, ReviewsLike, as_reviews

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from reviewgraph._base import Page
    from reviewgraph.io import Numbered, Valued


#: With fewer scores in the table the noise cannot be estimated.
LEAST_SCORES = 3
#: Gain in log evidence from which confidence is used as weights.
EVIDENCE = 2.0


@checked
def posterior(
    reviews: ReviewsLike | PartedReviews,
    weights: Numbered | None = None,
    references: Valued | None = None,
    seed: int | np.random.Generator = 0,
    progress: Callable[[Progress], object] | None = None,
    *,
    only_target: bool = False,
    confidence: bool | None = None,
) -> PosteriorEstimate:
    """Infer the quality of every item, with its uncertainty, from all scores at once.

    ::

        x      ~ N(0, K^-1)            items; K couples items of the same reviewers if the data support it
        y_ij   = b_j + a_j x_i + e_ij  offset (severity), slope (stretch) and noise of reviewer j, each partially
                                       pooled across reviewers; the data determine how strongly

    Expectation propagation with one factor per reviewer; hyperparameters maximise the evidence. Where reviewers give
    ranks, these are replaced by normal scores.

    Parameters
    ----------
    reviews
        With scores, or a data frame of them, or a table in parts; planned reviews are ignored.
    weights
        Positive reliability weights of reviews, such as confidence or expertise; their effect is learned. By
        (reviewer, item) in a mapping, a Series or a data frame. None by default.
    references
        Measurements of the wanted quality of some items by a more trusted judge, in a mapping, a Series or a data
        frame, three or more. Slope and error of what the judges say about it are learned (``validity``), and every
        quality, error and probability is of the wanted quality, on the scale of the references.
    seed
        Seed for the stochastic trace estimator (default 0).
    progress
        Called with a :class:`reviewgraph._base.results.Progress` at each stage.
    only_target
        Leave the criteria of the reviews out. By default they are used as far as they lower the error in predicting
        the target of other reviews: one score per review then joins them with the target's.
    confidence
        Whether the confidence of the reviews is used as weights, with an exponent that is learned; None (default) if
        that raises the log evidence by more than 2. It is not used with ``weights``.

    Returns
    -------
    PosteriorEstimate
        On the scale of a typical reviewer, or of the references.

    Raises
    ------
    InputError
        If there are no scores, a reference or weight is malformed or matches nothing in the reviews, references are
        fewer than three or all the same, or a score is so far from all others that it must be a data-entry error; or if
        ``confidence`` is set and the reviews have none, or ``weights`` are passed, too.

    Warns
    -----
    ConvergenceWarning
        If the inference has not converged; the message estimates how far off qualities are.

    Examples
    --------
    >>> rows = [(r, p, 2 * p + r * p % 3) for r in range(3) for p in range(3 * r, 3 * r + 6)]
    >>> result = posterior(Reviews(rows))
    >>> result.ranking()[0]
    11
    """
    if isinstance(reviews, PartedReviews):
        if only_target or any(value is not None for value in (weights, references, confidence)):
            message = "reviews: expected seed and progress alone for a table in parts, found more; leave the others out"
            raise InputError(message)
        return posterior_of_parts(reviews, whole_seed(seed), teller(progress))
    reviews = as_reviews(reviews)
    rows = np.flatnonzero(reviews.scored)
    expect_scores(rows.size)
    value = reviews.printed(known_values(reviews, {} if references is None else references))
    weight = weights_of_reviews(reviews, rows, weights)
    sureness = _sureness(reviews, rows, weights, confidence)
    tell = teller(progress)
    joined = None
    if reviews.criteria and not only_target:
        tell("the criteria of the reviews")
        criteria = {name: column[rows] for name, column in reviews.criteria.items()}
        joined = join(reviews.reviewer[rows], reviews.item[rows], reviews.score[rows], criteria)

    inferred = partial(
        infer,
        reviews.reviewer[rows],
        reviews.item[rows],
        reviews.score[rows] if joined is None else joined.score,
        reviews.n_reviewers,
        reviews.n_items,
        seed=seed,
        progress=tell,
    )
    # Confidence is used where it is asked for, or where the evidence rises with it.
    used = None
    if sureness is None:
        beliefs = inferred(weight=weight)
    else:
        beliefs = inferred(weight=sureness)
        plain = inferred()
        gain = beliefs.evidence - plain.evidence
        used = Confidence(bool(confidence) or gain > EVIDENCE, gain)
        weight = sureness if used.used else None
        beliefs = beliefs if used.used else plain
    warn_unconverged(beliefs.off)
    validity = without_references(reviews.n_items)
    if np.isfinite(value).any():
        validity = validity_of(beliefs.quality, beliefs.standard_error, value)
    quality = validity.quality(beliefs.quality)
    return PosteriorEstimate(reviews, quality, "posterior", beliefs, validity, seed, weight, joined, used)


def _sureness(reviews: Reviews, rows: IntArray, weights: object, confidence: bool | None) -> FloatArray | None:
    """Return the confidence of the scored reviews as weights, None if it is not to be tried."""
    if confidence and reviews.confidence is None:
        message = "confidence: expected reviews with a column of confidence or expertise, found none; leave it out"
        raise InputError(message)
    if confidence and weights is not None:
        raise InputError("confidence: expected either weights or confidence, found both; leave one of the two out")
    if confidence is False or weights is not None or reviews.confidence is None:
        return None
    return weights_of(reviews.confidence[rows])


class Difference(NamedTuple):
    """Difference of two qualities, in points of the scores, and its standard error."""

    mean: float
    standard_error: float

    @property
    def probability(self) -> float:
        """Probability that the first item is better than the second; one half if no review connects them."""
        from scipy.special import ndtr

        return float(ndtr(self.mean / self.standard_error)) if self.standard_error > 0 else 0.5


class Confidence(NamedTuple):
    """Whether the confidence of the reviews is used as weights, and by how much it raises the log evidence."""

    used: bool
    gain: float

    def __repr__(self) -> str:
        """Return whether it is used, and the gain."""
        return f"<Confidence: {'used' if self.used else 'not used'}, log evidence {self.gain:+.1f}>"


def weights_of(confidence: FloatArray) -> FloatArray | None:
    """Return positive weights, 1 on average in logarithms and where missing; None if all are equal.

    Only their order and distances matter: an exponent is learned.

    >>> weights_of(np.array([1.0, np.nan, 3.0])).round(2).tolist()
    [0.37, 1.0, 2.72]
    """
    known = np.isfinite(confidence)
    if not known.any() or np.ptp(confidence[known]) <= 0:
        return None
    spread = (confidence - confidence[known].mean()) / confidence[known].std()
    return np.asarray(np.exp(np.where(known, spread, 0.0)))


def teller(progress: Callable[[Progress], object] | None) -> Callable[[str], None]:
    """Return a function that reports a step in words, with the seconds since now."""
    clock = Clock(None)

    def tell(words: str) -> None:
        if progress is not None:
            progress(Progress(clock.elapsed(), words))

    return tell


@dataclass(frozen=True, eq=False, repr=False)
class PosteriorEstimate(Estimate):
    """Qualities with their uncertainty, on the scale of a typical reviewer; see :func:`posterior`.

    Parameters
    ----------
    beliefs
        Means, variances and their parts, as arrays.
    validity
        How the quality that references measure follows from that which the reviewers agree on.
    seed
        Seed of attributes that are computed on first access by sampling.
    weight
        Shape (number of scores,): reliability weights in the order of the reviews, or None.
    joined
        Scores joined from the criteria of each review, or None without criteria: ``names`` are those used,
        ``rejected`` those that are not.
    confidence
        Whether the confidence of the reviews is used, and what it gains; None if it was not tried.

    Examples
    --------
    >>> rows = [(r, p, 2 * p + r * p % 3) for r in range(3) for p in range(3 * r, 3 * r + 6)]
    >>> posterior(Reviews(rows)).quality.shape
    (12,)
    """

    beliefs: Posterior = field(repr=False)
    validity: Validity = field(repr=False)
    seed: int | np.random.Generator = 0
    weight: FloatArray | None = field(default=None, repr=False)
    joined: Joined | None = field(default=None, repr=False)
    confidence: Confidence | None = field(default=None, repr=False)

    def _tables(self) -> dict[str, Callable[[], Mapping[str, Sequence[Any]]]]:
        of_reviewers = {} if self._in_parts else {"reviewers": lambda: self.reviewers.to_columns()}
        return {**super()._tables(), **of_reviewers}

    def headline(self) -> str:
        """Return the method, the number of items, and which criteria are used and which are not."""
        return "; ".join(filter(None, (super().headline(), "" if self.joined is None else self.joined.words)))

    @property
    def score(self) -> FloatArray:
        """Shape (number of scores,): the score of each review that the inference used, criteria included."""
        return self.reviews.score[self.reviews.scored] if self.joined is None else self.joined.score

    @property
    def reviewers(self) -> ReviewerTable:
        """Severity, stretch and noise of every reviewer, with intervals, as a table with labels."""
        of = self.beliefs.reviewers
        return ReviewerTable(of.severity, of.stretch, of.noise, self.reviews)

    @cached_property
    def group(self) -> IntArray:
        """Shape (N,): the connected component of each item, from 1 for the largest; scores compare within one only."""
        return groups_of(self.reviews.only_scored())

    @cached_property
    def standard_error(self) -> FloatArray:
        """Shape (N,): posterior standard deviation of each quality, NaN without a score.

        With one or two scores in the table the noise cannot be estimated, and all are NaN.
        """
        errors = self._order_error
        return errors if self._n_scores >= LEAST_SCORES else np.full(errors.size, np.nan)

    @property
    def _n_scores(self) -> int:
        return self.beliefs.item.size

    @property
    def _order_error(self) -> FloatArray:
        """Shape (N,): standard errors that probabilities use, of however few scores."""
        return self.validity.standard_error(self.beliefs.standard_error)

    @property
    def status(self) -> InferenceStatus:
        """Status of the inference; ``status.text`` explains it."""
        return self.beliefs.status

    @property
    def by_prior(self) -> list[Label]:
        """Items whose quality is that of the prior: each of their reviewers gives one score only, and is ignored."""
        return [self.items[i] for i in self.beliefs.by_prior.tolist()]

    @checked
    def to_dict(self, selection: Selection | None = None) -> dict[str, Any]:
        """Return the content of ``reviewgraph calibrate --json``.

        Parameters
        ----------
        selection
            A selection, whose lists and probabilities are added; none by default.

        Returns
        -------
        dict
            The keys of every estimate, gain, intervals, model, and with a selection its lists and probabilities.

        Examples
        --------
        ``estimate.to_dict(estimate.selection(10))["selected"]`` are the labels of the ten best.
        """
        record = {"certain": [], "discuss": [], **super().to_dict()}
        chances = [None] * len(record["items"]) if selection is None else selection.probability
        for row, chance in zip(record["items"], chances, strict=True):
            ends = [row.pop("interval_low"), row.pop("interval_high")]
            row |= {"interval": None if None in ends else ends, "probability": chance}
        record["by_prior"] = self.by_prior
        gain = self.gain if self.beliefs.signal else None
        record["gain"] = None if gain is None or np.isnan(gain.relative) else gain.to_dict()
        record |= {"status": self.status.value, "reviewers": self._reviewers()}
        record["validity"] = self.validity.to_dict() if self.validity.is_learned else None
        record["model"] = {
            "evidence": self.beliefs.evidence,
            "null_evidence": self.beliefs.null_evidence,
            "hyperparameters": {name: value for name, value in self.beliefs.hyperparameters.items() if name != "kappa"},
            "kappa": self.beliefs.kappa,
        }
        if self.joined is not None:
            record["criteria"] = self.joined.to_dict(self.reviews.target)
        if self.confidence is not None:
            record["confidence"] = self.confidence._asdict()
        return record if selection is None else {**record, **selection.to_dict()}

    @checked
    def to_columns(self, selection: Selection | None = None) -> dict[str, list[Any]]:
        """Return the columns of every estimate, the ends of each interval, and the probabilities of a selection.

        Parameters
        ----------
        selection
            A selection, whose probabilities become a column; none by default.

        Returns
        -------
        dict
            Lists of equal length by column, None where a value is missing.

        Examples
        --------
        ``estimate.to_columns()["interval_low"]`` are the lower ends of the 90 % intervals.
        """
        return {**super().to_columns(), **({} if selection is None else {"probability": selection.probability})}

    def _columns(self, some: slice) -> dict[str, list[Any]]:
        low, high = self._ends(some)
        return {**super()._columns(some), "interval_low": or_none(low), "interval_high": or_none(high)}

    def _ends(self, some: slice | IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the intervals of items as printed: if 1 is the best score, they change places."""
        ends = self.reviews.printed(central_interval(self.quality[some], self.standard_error[some], LEVEL))
        low, high = np.sort(ends, axis=1).T
        return low, high

    @checked
    def summary(self, n_selected: int | str | None = None) -> Page:
        """Return the result as a page for people to read, with a selection if a number is given.

        Parameters
        ----------
        n_selected
            Number of papers to select, or a percentage such as ``"20%"``; none by default.

        Returns
        -------
        Page
            As ``reviewgraph calibrate`` prints it, with ``--select`` if a number is given.

        Raises
        ------
        InputError
            If ``n_selected`` is negative or more than the number of items with a score.
        Incomparable
            If ``n_selected`` is given and :meth:`selection` raises it.

        Examples
        --------
        ``print(estimate.summary(n_selected=10))`` prints which papers are in, to be discussed and out.
        """
        return self._in_python(self._page(selection=None if n_selected is None else self.selection(n_selected)))

    @checked
    def plot(self, name: str | None = None, *, n_selected: int | str | None = None, ax: Axes | None = None) -> Any:
        """Return one of the pictures of the page, or draw it with Matplotlib.

        Parameters
        ----------
        name
            Name of the picture; by default the first.
        n_selected
            Number of papers to select, or a percentage; with it pictures show the cut, and ``"line"`` is the first.
        ax
            Axes of Matplotlib to draw on, in the units of the data: ``ax.axhline(5)`` is at a quality of 5.

        Returns
        -------
        Picture or Axes
            The picture, with ``svg`` and ``save``; with ``ax`` these axes.

        Raises
        ------
        InputError
            If there is no such picture, ``"line"`` comes without ``n_selected``, or ``n_selected`` is negative or more
            than the number of items with a score.
        Incomparable
            If ``n_selected`` is given and :meth:`selection` raises it.

        Examples
        --------
        ``estimate.plot(n_selected=10).save("line.svg")`` writes the line of selection.
        """
        if name == "line" and n_selected is None:
            message = "n_selected: expected a number of papers with 'line', found None; pass n_selected=10, or \"20%\""
            raise InputError(message)
        return self._picture(name, ax, selection=None if n_selected is None else self.selection(n_selected))

    @checked
    def interval(self, level: float = LEVEL) -> FloatArray:
        """Return the central credible interval of each quality with probability ``level``.

        Parameters
        ----------
        level
            Probability of the interval, between 0 and 1.

        Returns
        -------
        ndarray
            Shape (N, 2): lower and upper end, NaN without a quality.

        Raises
        ------
        InputError
            If ``level`` is not between 0 and 1.

        Examples
        --------
        >>> rows = [(r, p, 2 * p + r * p % 3) for r in range(3) for p in range(3 * r, 3 * r + 6)]
        >>> posterior(Reviews(rows)).interval(0.5).shape
        (12, 2)
        """
        return central_interval(self.quality, self.standard_error, level)

    @checked
    def probability_in_top(self, n_selected: int | str) -> FloatArray:
        """Return each item's probability of being among the best ``n_selected``.

        Parameters
        ----------
        n_selected
            Number of items to select, or a percentage such as ``"20%"`` of those with a score.

        Returns
        -------
        ndarray
            Shape (N,): probabilities, which sum to ``n_selected``; 0 without a score.

        Raises
        ------
        InputError
            If ``n_selected`` is negative or more than the number of items with a score.

        Examples
        --------
        >>> rows = [(r, p, 2 * p + r * p % 3) for r in range(3) for p in range(3 * r, 3 * r + 6)]
        >>> posterior(Reviews(rows)).probability_in_top(2).sum().round(6)
        np.float64(2.0)
        """
        return chances(self.quality, self._order_error, number_of(n_selected, self.quality))

    def _selected(self, number: int, *, across_groups: bool) -> IntArray:
        return select(self, number, error_rate=ERROR_RATE, across_groups=across_groups).best_codes

    @checked
    def selection(
        self, n_selected: int | str, *, error_rate: float = ERROR_RATE, across_groups: bool = False
    ) -> Selection:
        """Sort items into in, to discuss and out by their probability of being among the best.

        If no review connects all items, they are selected in the largest group and the others are set aside.

        Parameters
        ----------
        n_selected
            Number of items to select, or a percentage such as ``"20%"`` of those with a score.
        error_rate
            Items that are in have P(top n) >= 1 - error_rate, those that are out P <= error_rate.
        across_groups
            Select among unconnected groups, assumed equally good on average; items outside the largest group are never
            in without discussion.

        Returns
        -------
        Selection
            The three lists, the probability of each item, and a lottery among the uncertain ones.

        Raises
        ------
        InputError
            If ``n_selected`` is negative or more than the number of items with a score, or ``error_rate`` is not
            between 0 and one half.
        Incomparable
            If no review connects the items, ``across_groups`` is not set, and the largest group holds less than 90 %
            of the items with a score, or fewer than ``n_selected``.

        Examples
        --------
        >>> rows = [(r, p, 2 * p + r * p % 3) for r in range(3) for p in range(3 * r, 3 * r + 6)]
        >>> selection = posterior(Reviews(rows)).selection(2)
        >>> selection.best
        [11, 10]
        """
        return select(self, number_of(n_selected, self.quality), error_rate=error_rate, across_groups=across_groups)

    @checked
    def draws(self, n: int, seed: int | np.random.Generator = 0) -> FloatArray:
        """Draw all qualities jointly: items of one reviewer are correlated.

        Parameters
        ----------
        n
            Number of draws, 0 or more.
        seed
            Seed or generator of the draws.

        Returns
        -------
        ndarray
            Shape (n, N): qualities, higher is better, NaN without a score.

        Raises
        ------
        InputError
            If ``n`` is negative.

        Examples
        --------
        ``estimate.draws(1000, seed=1).argmax(axis=1)`` are the codes of the best item of each draw.
        """
        check_draws(n, "n", least=0)
        rng = np.random.default_rng(seed)
        return self.validity.draws(self._joint.draws(n, rng), rng)

    @cached_property
    def _joint(self) -> Joint:
        """Joint distribution of the qualities that the reviewers agree on."""
        return joint(self.beliefs)

    @checked
    def difference(self, first: Label, second: Label) -> Difference:
        """Return the quality of one item minus that of another, with its error and the probability that it is better.

        Items of shared reviewers are correlated. The error is infinite if no review connects the two.

        Parameters
        ----------
        first, second
            Labels of two items.

        Returns
        -------
        Difference
            ``mean`` and ``standard_error``, in points of the scores, and ``probability``.

        Raises
        ------
        InputError
            If an item is not among the reviews' or has no score, or both are the same.

        Examples
        --------
        >>> rows = [(r, p, 2 * p + r * p % 3) for r in range(3) for p in range(3 * r, 3 * r + 6)]
        >>> difference = posterior(Reviews(rows)).difference(11, 0)
        >>> difference.mean > 0, difference.probability > 0.9
        (True, True)
        """
        a = self._code(first, "first")
        b = self._code(second, "second")
        if a == b:
            raise InputError(f"first, second: expected two different items, found {first!r} twice")
        mean = float(self.quality[a] - self.quality[b])
        if self.group[a] != self.group[b]:
            return Difference(mean, float("inf"))
        # References of either item are independent of those of the other.
        kept = (1.0 - self.validity.share[[a, b]]) * self.validity.slope
        by_judges = kept * self.beliefs.standard_error[[a, b]]
        variance = float((by_judges**2).sum() - 2 * self._joint.correlation(a, b) * by_judges.prod())
        variance += float(self.validity.error[[a, b]].sum())
        return Difference(mean, float(np.sqrt(max(variance, 0.0))))

    @checked
    def predict(self, reviewer: Label | Sequence[Label] | None, item: Label | Sequence[Label] | None) -> Prediction:
        """Predict the scores that reviewers would give to items, in points and direction of the scores.

        The uncertainty of quality, of severity, slope and noise of the reviewer, and the noise of one score are
        included. For a pair that has been reviewed, this is another score. Where criteria are used, the score is the
        one joined from them and the target's.

        Parameters
        ----------
        reviewer
            A label or several, one per item. None is a new reviewer, drawn from the population; so is one without a
            score, or whose constant scores are ignored.
        item
            A label or several, one per reviewer; a single label is combined with all labels of the other argument. None
            is a new item, drawn from the population.

        Returns
        -------
        Prediction
            With ``mean``, ``sd``, ``interval(level)`` and ``cdf(score)``, for one pair or n.

        Raises
        ------
        InputError
            If a label is not among the reviews', an item has no quality, or the numbers of labels differ.

        Examples
        --------
        >>> rows = [(r, p, 4.0 * (r % 3) + p + r * p % 2) for r in range(9) for p in range(r, r + 6)]
        >>> estimate = posterior(Reviews(rows))
        >>> known, new = estimate.predict(1, 9), estimate.predict(None, 9)
        >>> bool(known.sd < new.sd), bool(12 < known.mean < 15)
        (True, True)
        """
        return predict(self.reviews, self.beliefs, reviewer, item)

    @checked
    def account(self, item: Label) -> Account:
        """Return the contributions to the quality of an item, which sum to it.

        Parameters
        ----------
        item
            Label of the item.

        Returns
        -------
        Account
            The average, and what severity, slope and weight of each reviewer and shrinkage add to it.

        Raises
        ------
        InputError
            If the item is not among the reviews' or has no score.

        Examples
        --------
        See :func:`posterior`: ``posterior(reviews).account("p1")``.
        """
        return next(self._accounts([self._code(item, "item")]))

    def _accounts(self, items: Iterable[int]) -> Iterator[Account]:
        """Yield the contributions to the qualities of items, by code, with those of criteria."""
        criteria = {} if self.joined is None else self.joined.moves(self.reviews)
        return accounts_of(self.beliefs, self.reviews, self.validity, items, criteria)

    @cached_property
    def gain(self) -> HeldOutGain:
        """The benefit of the correction: predictive gain over averages on held-out reviews, with its error; a table."""
        return held_out_gain(self.beliefs, self.seed)

    @cached_property
    def misfit(self) -> Misfit:
        """Whether each reviewer contradicts the others beyond noise: ``misfit.contradicts``, shape (M,)."""
        return misfit_of(self.beliefs)

    def _reviewers(self) -> list[dict[str, Any]]:
        """Return the misfit of each reviewer, one object each."""
        misfit = self.misfit
        columns = {name: or_none(values) for name, values in misfit._asdict().items()}
        columns |= {"corrected": or_none(misfit.corrected), "contradicts": misfit.contradicts.tolist()}
        labels = zip(self.reviews.reviewers, self.reviews.only_scored().loads.tolist(), strict=True)
        return [
            {
                "reviewer": label,
                "scores": load,
                "misfit": None if values[0] is None else dict(zip(columns, values, strict=True)),
            }
            for (label, load), *values in zip(labels, *columns.values(), strict=True)
        ]

    def _code(self, label: Label, argument: str) -> int:
        code = self.reviews.item_code.of(label, f"{argument}: expected an item with a score")
        if not np.isfinite(self.quality[code]):
            raise InputError(f"{argument}: expected an item with a score, found {label!r}, which has none")
        return code


# Tables in parts.


@dataclass(frozen=True, eq=False, repr=False)
class PartedPosterior(InParts, PosteriorEstimate):
    """The posterior of a table in parts: qualities with their uncertainty, and reviewers."""

    gain = misfit = score = AT_ONCE
    _accounts = difference = draws = predict = AT_ONCE

    @property
    def _n_scores(self) -> int:
        return self.reviews.n_scored

    def to_dict(self, selection: Selection | None = None) -> dict[str, Any]:
        """Return the keys of a posterior, and of a selection; ``items`` is None, since there may be too many."""
        record = {"certain": [], "discuss": [], **super().to_dict(selection)}
        return {**record, "gain": None, "reviewers": None, "by_prior": self.by_prior}


def posterior_of_parts(table: PartedReviews, seed: int, tell: Callable[[str], None]) -> PartedPosterior:
    """Infer the qualities of a table in parts, by passes over them: those of :func:`lsc.posterior`, up to rounding.

    A sweep is a pass; some 30 to 100 are needed for any size. Temporary files take some 130 bytes per review.
    """
    expect_scores(table.n_scored)
    scored = table.parts.derive(only_scored)
    beliefs = infer_parts(scored, seed, tell)
    warn_unconverged(beliefs.off)
    count, total = totals_of(scored)
    beliefs = beliefs.with_prior(np.flatnonzero(count))
    group, _ = scored_groups(scored)
    return PartedPosterior(
        table,
        beliefs.quality,
        "posterior",
        beliefs,  # type: ignore[arg-type]
        without_references(table.n_items),
        seed,
        average=averages(count, total),
        group=group,
    )


# The posterior in the arrays of checks and plans.


def learn(reviews: Reviews, n_draws: int, seed: int) -> Learned:
    """Infer qualities and reviewers as :func:`posterior` does, see :func:`reviewgraph.graph.precision.learned_from`."""
    result = posterior(reviews, seed=seed)
    beliefs = result.beliefs
    assumed = _assumptions(beliefs)
    # Error of one review as a measurement of quality: noise and uncertain severity, over the slope.
    reviewers = beliefs.reviewers
    severity = (reviewers.severity.high - reviewers.severity.low) / (2.0 * WIDTH)
    error = np.hypot(reviewers.noise.mean, severity) / reviewers.stretch.mean
    of_new_reviewer = assumed.spread * float(np.hypot(assumed.noise, assumed.severity))
    return Learned(
        assumptions=assumed,
        mean=result.quality,
        error=beliefs.standard_error,
        draws=result.draws(n_draws, seed),
        review_error=np.where(np.isfinite(error), error, of_new_reviewer),
    )


def _assumptions(beliefs: Posterior) -> Assumptions:
    """Return the hyperparameters in units of the standard deviation of qualities."""
    # A quality of 1 in the model is this number of standardised points: the mean slope over reviews.
    slope = float(np.nanmean(beliefs.slope[beliefs.reviewer]))
    noise = float(np.sqrt(np.nanmean(beliefs.noise_variance))) / slope
    if beliefs.population is None:
        return Assumptions(noise, 0.0, 0.0, beliefs.scale)
    return Assumptions(noise, beliefs.population.omega / slope, beliefs.population.tau, beliefs.scale)

"""The posterior as an object: what it and its predictions promise of every table, on small ones."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from lsc.errors import Incomparable
from lsc.posteriors import PosteriorEstimate, posterior
from reviewgraph import InputError, Reviews
from tests.lsc.inference.simulated_tables import table

pytestmark = pytest.mark.usefixtures("infer_once")


def rows(seed: int = 0, n_reviewers: int = 8, n_items: int = 10, name: str = "p") -> list[tuple[str, str, float]]:
    """Scores of harsh and lenient reviewers, of five papers each; the last papers are the best."""
    rng = np.random.default_rng(seed)
    return [
        (f"{name}r{j}", f"{name}{i}", float(np.round(5 + 0.6 * (i - 4.5) + harsh + rng.normal(0, 0.7), 1)))
        for j, harsh in enumerate(rng.normal(0, 1.5, n_reviewers))
        for i in rng.choice(n_items, 5, replace=False).tolist()
    ]


ROWS = rows()
REVIEWS = Reviews([*ROWS, ("pr0", "new", None)])
#: The same where 1 is the best score.
TURNED = Reviews([(who, what, 10.0 - y) for who, what, y in ROWS], items=["new"], lower_is_better=True)


@pytest.fixture(scope="module")
def found() -> PosteriorEstimate:
    return posterior(REVIEWS)


@pytest.fixture(scope="module")
def turned() -> PosteriorEstimate:
    return posterior(TURNED)


@pytest.fixture(scope="module")
def apart() -> PosteriorEstimate:
    """Two groups that no review connects; the smaller one is scored higher."""
    return posterior(Reviews([*ROWS, *((who, what, y + 3) for who, what, y in rows(1, 4, 5, "q"))]))


def test_intervals_are_central_and_widen_with_their_level(found: PosteriorEstimate) -> None:
    scored = np.isfinite(found.quality)
    assert scored.sum() == 10
    assert np.isnan(found.interval()).tolist() == [[not known] * 2 for known in scored]
    assert found.interval().mean(axis=1)[scored] == pytest.approx(found.quality[scored])
    half = np.diff(found.interval(math.erf(1 / math.sqrt(2))))[:, 0] / 2
    assert half[scored] == pytest.approx(found.standard_error[scored])
    assert (np.diff(found.interval(0.99))[scored] > np.diff(found.interval(0.9))[scored]).all()


def test_chances_of_being_among_the_best_sum_to_the_places(found: PosteriorEstimate) -> None:
    for n in range(11):
        chance = found.probability_in_top(n)
        assert chance.shape == (11,)
        assert chance.sum() == pytest.approx(n, abs=1e-9)
        assert chance[REVIEWS.item_code["new"]] == 0.0
        assert ((chance >= 0) & (chance <= 1)).all()


def test_items_that_no_review_connects_have_an_infinite_difference(apart: PosteriorEstimate) -> None:
    assert np.unique(apart.group).tolist() == [1, 2]
    assert apart.group[apart.reviews.item_code["q1"]] == 2
    assert apart.difference("p1", "q1").standard_error == math.inf
    assert apart.difference("q2", "q1").standard_error < math.inf


@pytest.mark.parametrize("direction", ["found", "turned"])
def test_accounts_sum_to_the_quality_whatever_the_direction(direction: str, request: pytest.FixtureRequest) -> None:
    estimate: PosteriorEstimate = request.getfixturevalue(direction)
    printed = estimate.reviews.printed(estimate.quality)
    for label in estimate.ranking():
        code = estimate.reviews.item_code[label]
        account = estimate.account(label)
        assert account.lower_is_better is (direction == "turned")
        assert abs(account.total - printed[code]) < 1e-9
        assert abs(account.quality - printed[code]) < 1e-12
        assert account.standard_error == estimate.standard_error[code]
        assert sum(part.weight for part in account.parts) == pytest.approx(1)
        reviews = [part for part in account.parts if part.source == "review"]
        assert len(reviews) == estimate.reviews.reviews_per_item[code] - (label == "new")
        for part in reviews:
            assert part.score is not None
            assert part.says == pytest.approx(part.score + part.severity + part.stretch)
            assert part.moves == pytest.approx(part.weight * (part.says - account.middle))
        assert account.average == pytest.approx(np.mean([part.score for part in reviews]))


def test_turning_the_scale_turns_the_answer(found: PosteriorEstimate, turned: PosteriorEstimate) -> None:
    assert turned.ranking() == found.ranking()
    assert turned.reviews.printed(turned.quality) == pytest.approx(10.0 - found.quality, nan_ok=True, abs=1e-6)
    one, other = found.account("p3"), turned.account("p3")
    for ours, theirs in zip(one.parts, other.parts, strict=True):
        assert theirs.severity == pytest.approx(-ours.severity, abs=1e-6)
        assert theirs.moves == pytest.approx(-ours.moves, abs=1e-6)
    for ours, theirs in zip(found.to_dict()["items"], turned.to_dict()["items"], strict=True):
        if ours["interval"] is not None:
            assert theirs["interval"] == pytest.approx([10 - y for y in ours["interval"][::-1]], abs=1e-6)


def test_groups_are_compared_only_on_request(apart: PosteriorEstimate) -> None:
    with pytest.raises(Incomparable, match="no review connects the 2 groups of papers"):
        apart.selection(4)
    selection = apart.selection(4, across_groups=True)
    smaller = apart.group == 2
    assert smaller[selection.best_codes].any()
    assert not smaller[selection.certain_codes].any()


def test_the_largest_group_is_selected_from_where_it_holds_nine_in_ten() -> None:
    rows = [(who, i, (i * 7 + who) % 11) for who in range(4) for i in range(18)]
    found = posterior(Reviews([*rows, (8, 18, 10.0), (9, 19, 11.0)]))
    selection = found.selection(18)
    assert selection.aside == [18, 19]
    assert sorted(selection.named(selection.ranked_codes)) == list(range(18))
    assert selection.chance.sum() == pytest.approx(18)
    assert selection.lists[18:] == ["aside", "aside"]
    assert selection.probability[18:] == [None, None]
    assert found.select(18) == selection.best
    assert set(found.ranking()) == set(range(20))
    assert not {18, 19} & set(found.selection(3).draw(seed=1))
    with pytest.raises(Incomparable, match=r"holds 18 of 20 papers with a score \(19 are to be selected"):
        found.selection(19)
    assert found.selection(19, across_groups=True).aside == []


def test_the_gain_is_what_held_out_scores_say(found: PosteriorEstimate) -> None:
    gain = found.gain
    assert gain.relative == pytest.approx(1 - (gain.error / gain.average_error) ** 2)
    # Eight reviewers: the gain is positive, but within two standard errors.
    assert 0 < gain.relative < 2 * gain.standard_error
    assert gain.n_reviews == 40
    assert found.to_dict()["gain"] == gain.to_dict()
    assert float(gain.to_frame(backend="pandas")["relative"][0]) == gain.relative
    assert f"{100 * gain.relative:.0f} % +- " in repr(gain)
    assert "average_error" in gain._repr_html_()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), r"weights: expected a mapping \(reviewer, item\) -> number"),
        ({("eve", "p1"): 2.0}, "weights: the pair names a reviewer or paper that is not in the reviews"),
        ({("pr0", "p7"): 2.0}, "weights: expected pairs that are reviews, found none among 1 pair"),
        ({ROWS[0][:2]: 0.0}, "weights: expected positive finite numbers, found 0 for 'pr0' and"),
        ({ROWS[0][:2]: np.inf}, "weights: expected positive finite numbers, found inf for 'pr0' and"),
    ],
)
def test_malformed_weights_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        posterior(REVIEWS, weights=weights)


def test_references_in_any_order_and_unit_are_a_scale_of_their_own(found: PosteriorEstimate) -> None:
    measured = {f"p{i}": 100.0 * i for i in range(8)}
    one, other = (
        posterior(REVIEWS, references=measured),
        posterior(REVIEWS, references=dict(reversed(measured.items()))),
    )
    assert np.array_equal(one.quality, other.quality, equal_nan=True)
    # The reviewers' consensus is as without; qualities are on the scale of the references.
    assert one.beliefs.quality == pytest.approx(found.quality, nan_ok=True)
    scored = np.isfinite(found.quality)
    in_hundreds = posterior(REVIEWS, references={label: value / 100 for label, value in measured.items()})
    assert one.quality[scored] == pytest.approx(100 * in_hundreds.quality[scored])
    assert one.standard_error[scored] == pytest.approx(100 * in_hundreds.standard_error[scored])
    account = one.account("p3")
    (reference,) = [part for part in account.parts if part.source == "reference"]
    assert reference.score == reference.says == 300.0
    assert abs(account.total - account.quality) < 1e-9


def test_the_answer_does_not_depend_on_the_order_of_rows_and_the_type_of_labels(found: PosteriorEstimate) -> None:
    shuffled = [ROWS[k] for k in np.random.default_rng(5).permutation(len(ROWS)).tolist()]
    again = posterior(Reviews([("pr0", "new", None), *shuffled]))
    assert np.array_equal(again.quality, found.quality, equal_nan=True)
    numbered = Reviews([(int(who[2:]), int(what[1:]), y) for who, what, y in ROWS])
    assert posterior(numbered).quality == pytest.approx(found.quality[1:], rel=1e-12)


def test_one_score_says_nothing_of_how_sure_it_is() -> None:
    alone = posterior(Reviews([("ann", "p1", 3.0)]))
    assert np.isnan(alone.standard_error).all()
    assert np.isnan(alone.interval()).all()


def estimate(*, turned: bool = False) -> PosteriorEstimate:
    who, what, score, _ = table(0, n_items=60, n_reviewers=40, load=6, own=0.5)
    sizes = {"reviewers": 40, "items": 60}
    return posterior(Reviews.from_codes(who, what, -score if turned else score, lower_is_better=turned, **sizes))


def test_predictions_are_in_the_direction_of_the_scores() -> None:
    one, other = estimate(), estimate(turned=True)
    first, second = (of.predict([0, 3, None], [5, 5, 7]) for of in (one, other))
    assert second.mean == pytest.approx(-first.mean)
    assert second.sd == pytest.approx(first.sd)
    assert second.interval(0.8) == pytest.approx(-first.interval(0.8)[:, ::-1])
    assert second.cdf(-5.0) == pytest.approx(1 - first.cdf(5.0))


def test_ignored_reviewers_are_new_ones() -> None:
    who, what, score, _ = table(1, n_items=60, n_reviewers=40, load=6)
    rows = [*zip(who.tolist(), what.tolist(), score.tolist(), strict=True), *((99, k, 5.0) for k in range(12))]
    reviews = Reviews([*rows, (0, 77, None)])
    found = posterior(reviews)
    # An ignored reviewer is predicted as a new one.
    assert found.predict(99, 5).mean == pytest.approx(found.predict(None, 5).mean)
    assert np.isnan(found.misfit.p_value[reviews.reviewer_code[99]])


def test_ranks_of_draws_agree_with_probabilities_of_pairs_and_of_the_best() -> None:
    found = estimate()
    drawn = found.draws(8000, seed=5)
    rank = 1 + (-drawn).argsort(axis=1).argsort(axis=1)
    for n in (1, 6, 20):
        assert (rank <= n).mean(axis=0) == pytest.approx(found.probability_in_top(n), abs=0.06)
    better = [found.difference(other, 10).probability for other in range(60) if other != 10]
    assert rank[:, 10].mean() == pytest.approx(1 + sum(better), abs=0.6)
    difference = found.difference(0, 10)
    chance = found.difference(0, 10).probability
    assert chance == pytest.approx(norm.cdf(difference.mean / difference.standard_error))
    assert chance == pytest.approx(1 - found.difference(10, 0).probability)
    assert chance == pytest.approx((drawn[:, 0] > drawn[:, 10]).mean(), abs=0.02)


def test_the_error_of_a_difference_knows_what_papers_share() -> None:
    """Two papers of one severe or lenient reviewer alone: their errors are those of the severity, which cancels."""
    who, what, score, _ = table(2, n_items=40, n_reviewers=30, load=5, offset=2.0)
    rows = [*zip(who.tolist(), what.tolist(), score.tolist(), strict=True), *((99, 100 + k, k) for k in range(3))]
    found = posterior(Reviews(rows))
    drawn = found.draws(8000, seed=1)[:, [found.items.index(101), found.items.index(102)]]
    assert np.corrcoef(drawn.T)[0, 1] > 0.3
    error = found.difference(101, 102).standard_error
    assert (drawn[:, 0] - drawn[:, 1]).std() == pytest.approx(error, rel=0.05)

"""Reviews in rounds before any score: against expected errors, closed forms and conferences simulated in full."""

from __future__ import annotations

import numpy as np
import pytest

import lsc
from planner import design_rounds, first_phase, plan_extra_reviews
from planner._plans.phases import after_phases, first_phases, paired, review_precision
from reviewgraph import Assumptions, InputError, Reviews, expected_errors
from reviewgraph._base import IntArray
from reviewgraph.graph import expected_share
from tests.trials import NIGHTLY


def random_pairs(n_items: int, n_reviewers: int, per_paper: int, seed: int) -> IntArray:
    """Reviewers of equal loads, each paper by different ones."""
    rng = np.random.default_rng(seed)
    load, pairs = np.zeros(n_reviewers, np.int64), []
    for item in rng.permutation(np.repeat(np.arange(n_items), per_paper)).tolist():
        free = [j for j in range(n_reviewers) if (j, item) not in pairs]
        chosen = min(free, key=lambda j: (load[j], rng.random()))
        load[chosen] += 1
        pairs.append((chosen, item))
    return np.array(pairs)


@pytest.mark.parametrize(
    "assumed",
    [Assumptions(), Assumptions(1.5, 1.0, 0.2), Assumptions(0.6, 0.5, 0.2), Assumptions(1.0, 1.5, 0.0)],
    ids=["usual", "noisy", "precise", "harsh"],
)
@pytest.mark.parametrize(("n_reviewers", "per_paper"), [(60, 2), (40, 3), (24, 2)])
def test_the_precision_of_a_review_is_that_of_expected_errors(
    assumed: Assumptions, n_reviewers: int, per_paper: int
) -> None:
    who, what = random_pairs(60, n_reviewers, per_paper, 1).T
    reviews = Reviews.from_codes(who, what, reviewers=n_reviewers, items=60)
    precision = review_precision(assumed, per_paper, 60 * per_paper / n_reviewers)
    median = float(np.median(expected_errors(reviews, assumptions=assumed)))
    assert median * np.sqrt(1.0 + per_paper * precision) == pytest.approx(1.0, abs=0.02)


def test_all_reviews_at_once_are_as_often_wrong_as_in_closed_form() -> None:
    n, per_paper, precision, select = 200, 3, 0.8, 30
    found = after_phases(n, n * per_paper, [], select, precision, missing=0.0, draws=200, seed=3).wrong
    share = expected_share(np.full(n, 1.0 / (1.0 + per_paper * precision)), select)
    mean, error = paired(found, np.zeros(found.size))
    assert abs(mean - select * (1.0 - share)) < 4.0 * error + 0.05


def simulated(n: int, first: int, precision: float, select: int, missing: float, draws: int) -> tuple[float, float]:
    """The wrong ones of one batch that are counted, not expected: a review each to papers nearest the cut."""
    rng, wrong = np.random.default_rng(7), []
    for _ in range(draws):
        truth = rng.standard_normal(n)
        total, count = np.zeros(n), np.zeros(n)
        for _ in range(first):
            comes = rng.random(n) >= missing
            total += comes * (truth + rng.standard_normal(n) / np.sqrt(precision))
            count += comes
        mean = total * precision / (1.0 + count * precision)
        best = set(np.argsort(-truth)[:select].tolist())
        wrong.append(select - len(best & set(np.argsort(-mean)[:select].tolist())))
    return float(np.mean(wrong)), float(np.std(wrong) / np.sqrt(draws))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_expected_wrong_ones_are_those_that_are_counted(missing: float) -> None:
    found = after_phases(100, 300, [], 15, 0.8, missing=missing, draws=100, seed=0).wrong
    counted, error = simulated(100, 3, 0.8, 15, missing, 600)
    mean, own = paired(found, np.zeros(found.size))
    assert abs(mean - counted) < 4.0 * np.hypot(error, own)


def test_what_later_scores_tell_of_first_reviewers_is_not_lost() -> None:
    """Without rounds that learn anything but this, as much is known in the end as at the full precision."""
    settings = {"missing": 0.0, "draws": 40, "seed": 1}
    whole = after_phases(80, 160, [], 10, 0.8, **settings).wrong.mean()  # type: ignore[arg-type]
    late = after_phases(80, 160, [0], 10, 0.8, early=0.5, **settings).wrong.mean()  # type: ignore[arg-type]
    early = after_phases(80, 160, [], 10, 0.8, early=0.5, **settings).wrong.mean()  # type: ignore[arg-type]
    assert late == pytest.approx(whole, rel=0.06)
    assert early > 1.1 * whole


def test_first_phases_begin_with_one_review_each_and_end_with_all() -> None:
    for n, total in [(10, 10), (10, 11), (400, 1200), (7, 40), (300, 3000), (30, 30000)]:
        found = first_phases(n, total)
        assert found[-1] == total
        assert found[0] == (n if total > n else total)
        assert found == sorted(set(found))
        assert len(found) <= 9


def test_a_design_counts_its_reviews_and_finds_its_best() -> None:
    design = design_rounds(60, 180, 9, rounds=[2, 1], draws=3, load=6)
    assert design.rounds == [1, 2]
    assert design.flat.held_back == 0
    assert design.flat.rounds == 0
    for rounds in design.rounds:
        splits, best = design.of(rounds), design.best(rounds)
        assert [round(split.first * 60) + split.held_back for split in splits] == [180] * len(splits)
        able = [split for split in splits if split.connects]
        # A tree on 60 papers and 30 reviewers has 89 reviews.
        assert able == [split for split in splits if 180 - split.held_back >= 89]
        assert best.wrong == min(split.wrong for split in able)
        assert (best.worse, best.worse_error) == (0.0, 0.0)
        for split in splits:
            assert split.worse == pytest.approx(split.wrong - best.wrong)
            assert split.saved == pytest.approx(design.flat.wrong - split.wrong)
        assert all(abs(splits.index(one) - splits.index(best)) == 1 for one in design.neighbours(rounds))
    assert design.best(2).saved > 0
    assert [*design.to_columns()["wrong"]] == [split.wrong for split in design.splits]
    again = design_rounds(60, 180, 9, rounds=[1, 2], draws=3, load=6)
    assert again.to_dict() == design.to_dict()


def test_lost_reviews_cost_selections() -> None:
    whole, lossy = (design_rounds(80, 240, 12, rounds=[1], draws=8, missing=share) for share in (0.0, 0.3))
    assert lossy.flat.wrong > whole.flat.wrong
    assert lossy.best(1).wrong > whole.best(1).wrong


def test_last_years_scores_tell_noise_and_load() -> None:
    rng = np.random.default_rng(0)
    who, what = random_pairs(60, 30, 3, 0).T
    score = rng.standard_normal(60)[what] + 0.4 * rng.standard_normal(who.size)
    like = Reviews.from_codes(who, what, score, reviewers=30, items=60)
    design = design_rounds(40, 120, 5, like=like, rounds=[1], draws=2)
    assert design.load == pytest.approx(6.0)
    assert design.assumptions.noise < 0.7


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_reviews": 30}, "n_reviews: expected 40, one per paper"),
        ({"n_selected": 40}, "n_selected: expected 1 to 39 papers"),
        ({"rounds": [0]}, "rounds: expected whole numbers, 1 or more"),
        ({"rounds": []}, "rounds: expected whole numbers"),
        ({"missing": 1.0}, "missing: expected a probability"),
        ({"load": 0.5}, "load: expected 1 review per reviewer"),
        ({"draws": 1}, "draws: expected a number of draws, 2 or more"),
        ({"n_items": 1}, "n_items: expected two papers"),
    ],
)
def test_numbers_out_of_range_are_refused(changed: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"n_items": 40, "n_reviews": 120, "n_selected": 4, "draws": 2}
    with pytest.raises(InputError, match=message):
        design_rounds(**(given | changed))  # type: ignore[arg-type]


# The first phase.


def dense_median(reviews: Reviews, severity: float) -> float:
    """Median expected error with noise 1, no stretch: the precision matrix, reviewer by reviewer, inverted."""
    precision = np.eye(reviews.n_items)
    for reviewer in range(reviews.n_reviewers):
        items = reviews.item[reviews.reviewer == reviewer]
        covariance = np.eye(items.size) + severity**2
        precision[np.ix_(items, items)] += np.linalg.inv(covariance)
    return float(np.median(np.sqrt(np.diag(np.linalg.inv(precision)))))


@pytest.mark.parametrize(("severity", "enough"), [(0.5, True), (3.0, False)])
def test_the_ratio_is_that_of_the_whole_matrix(severity: float, enough: bool) -> None:
    who, what = random_pairs(30, 15, 2, 2).T
    reviews = Reviews.from_codes(who, what, reviewers=15, items=30)
    found = first_phase(reviews, assumptions=Assumptions(1.0, severity, 0.0))
    assert found.pieces == 1
    assert found.ratio == pytest.approx(dense_median(reviews, severity) / dense_median(reviews, 0.0))
    assert found.enough is (found.ratio <= 1.1) is enough


def test_pieces_and_papers_without_a_review_are_not_enough() -> None:
    whole = [("ann", 1), ("ann", 2), ("bob", 2), ("bob", 3)]
    assert first_phase(Reviews.from_pairs(whole)).enough
    apart = first_phase(Reviews.from_pairs([*whole, ("eve", 4), ("eve", 5)]))
    assert (apart.pieces, apart.enough, apart.level) == (2, False, None)
    alone = first_phase(Reviews.from_pairs(whole, items=[10, 9, 1, 2, 3]))
    assert (alone.unreviewed, alone.enough) == ((9, 10), False)
    with pytest.raises(InputError, match="reviews: expected papers of a first phase"):
        first_phase(Reviews.from_pairs([]))


@pytest.mark.nightly
def test_a_design_is_what_conferences_simulated_in_full_come_to() -> None:
    """Within 10 % beyond chance: 100 papers, three reviews each, or two and 100 more where the plan asks for them."""
    n, select, draws = 100, 12, 10 if NIGHTLY else 4
    design = design_rounds(n, 3 * n, select, load=3, rounds=[1], draws=100)
    two = next(split for split in design.of(1) if split.first == 2.0)
    wrong: dict[str, list[int]] = {"flat": [], "batch": []}
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        truth = rng.standard_normal(n)
        scores = 0.5 * rng.standard_normal((n, 1)) + np.exp(0.2 * rng.standard_normal((n, 1))) * truth
        scores += rng.standard_normal((n, n))
        best = set(np.argsort(-truth)[:select].tolist())

        def table(pairs: IntArray, scores: np.ndarray = scores) -> Reviews:
            who, what = pairs.T
            return Reviews.from_codes(who, what, scores[who, what], reviewers=n, items=n)

        def misses(reviews: Reviews, best: set[int] = best) -> int:
            chosen = np.argsort(-lsc.posterior(reviews).quality, kind="stable")[:select]
            return select - len(best & set(chosen.tolist()))

        wrong["flat"].append(misses(table(random_pairs(n, n, 3, draw))))
        first = random_pairs(n, n, 2, draw)
        plan = plan_extra_reviews(table(first), objective="decision", n_selected=select, max_reviews=n, spare=3)
        wrong["batch"].append(misses(table(np.concatenate([first, plan.pairs]))))
    for name, stated in (("flat", design.flat.wrong), ("batch", two.wrong)):
        came, error = float(np.mean(wrong[name])), float(np.std(wrong[name], ddof=1) / np.sqrt(draws))
        assert abs(came - stated) < 0.1 * stated + 2.5 * error, (name, came, stated)

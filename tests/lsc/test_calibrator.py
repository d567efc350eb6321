"""The calibrator as scikit-learn's tools take it, and methods compared by what they predict of held-out reviewers."""

import pickle
import warnings
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lsc
from lsc.calibrator import Calibrator, hold_out, line_of
from reviewgraph import InputError, Reviews
from reviewgraph.graph import ColumnWarning

pytestmark = pytest.mark.usefixtures("infer_once")


def scores(seed: int = 0, reviewers: int = 24, items: int = 30, severity: float = 1.5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    quality, harsh = rng.normal(size=items), severity * rng.normal(size=reviewers)
    rows = [
        (f"r{j}", f"p{i}", round(5 + 1.5 * quality[i] - harsh[j] + 0.8 * rng.normal(), 1))
        for j in range(reviewers)
        for i in rng.choice(items, 5, replace=False)
    ]
    return pd.DataFrame(rows, columns=["reviewer", "item", "score"]).sample(frac=1, random_state=seed)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return scores()


def split(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    return table[["reviewer", "item"]], table["score"]


def test_pairs_and_scores_are_read_alike_from_all_that_holds_them(table: pd.DataFrame) -> None:
    pairs, score = split(table)
    whole = Calibrator("average").fit(table)
    others: list[tuple[Any, Any]] = [
        (pairs, score),
        (pl.from_pandas(pairs), score.to_numpy()),
        (pairs.to_numpy(), score.to_numpy()),
        (list(pairs.itertuples(index=False, name=None)), score.tolist()),
        (Reviews(table), None),
    ]
    for X, y in others:
        calibrator = Calibrator("average").fit(X, y)
        assert calibrator.estimate_.items == whole.estimate_.items
        assert np.array_equal(calibrator.estimate_.quality, whole.estimate_.quality)
        if not isinstance(X, Reviews):
            assert np.array_equal(calibrator.predict(X), whole.predict(pairs))


def test_predictions_are_in_the_order_of_the_rows(table: pd.DataFrame) -> None:
    pairs, score = split(table)
    calibrator = Calibrator().fit(pairs, score)
    back = pairs.iloc[::-1]
    assert np.array_equal(calibrator.predict(back), calibrator.predict(pairs)[::-1])
    first = calibrator.estimate_.predict(*pairs.iloc[0])
    assert calibrator.predict(pairs)[0] == pytest.approx(float(first.mean))
    assert calibrator.predict(pairs, return_std=True)[1][0] == pytest.approx(float(first.sd))


def further(table: pd.DataFrame) -> pd.DataFrame:
    """Columns of which the posterior would use the first two as criterion and confidence."""
    rng = np.random.default_rng(1)
    return table.assign(
        originality=table["score"] + rng.normal(0, 0.5, len(table)).round(1),
        confidence=rng.integers(1, 6, len(table)),
        note="x",
    )


def test_further_columns_are_ignored_with_one_warning(table: pd.DataFrame) -> None:
    pairs, score = split(table)
    plain, wide = Calibrator().fit(pairs, score), further(table)
    cases: list[tuple[Any, Any, str]] = [
        (wide.drop(columns="score"), score, "'originality', 'confidence', 'note'.*only reviewer, item and y are used"),
        (wide, None, "'originality', 'confidence', 'note'.*only reviewer, item and score are used"),
        (table, score, "'score'.*only reviewer, item and y are used"),
        (pl.from_pandas(wide), score.to_numpy(), "'score', 'originality'"),
    ]
    for X, y, message in cases:
        calibrator = Calibrator()
        with pytest.warns(ColumnWarning, match=message) as caught:
            calibrator.fit(X, y)
        assert len(caught) == 1
        assert calibrator.estimate_.joined is calibrator.estimate_.confidence is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.array_equal(calibrator.predict(X), plain.predict(pairs))
    # Reviews are used as they are: what they hold was chosen.
    assert Calibrator().fit(Reviews(wide)).estimate_.joined is not None


@pytest.mark.parametrize("method", ["posterior", "additive"])
def test_what_the_fit_does_not_know_is_predicted_from_the_population(table: pd.DataFrame, method: str) -> None:
    pairs, score = split(table)
    calibrator = Calibrator(method).fit(pairs, score)
    mean, sd = calibrator.predict([("new", "none"), ("r0", "none"), ("new", "p0"), ("r0", "p0")], return_std=True)
    assert mean[0] == pytest.approx(score.mean(), abs=0.4)
    assert sd[0] == pytest.approx(score.std(), rel=0.25)
    assert sd[0] > max(sd[1], sd[2])
    assert min(sd[1], sd[2]) > sd[3]


def test_scores_of_which_one_is_the_best_are_predicted_in_their_own_direction(table: pd.DataFrame) -> None:
    pairs, score = split(table)
    for method in ("posterior", "additive"):
        ahead = Calibrator(method).fit(pairs, score)
        back = Calibrator(method).fit(Reviews(pairs.assign(score=-score), lower_is_better=True))
        assert back.predict(pairs) == pytest.approx(-ahead.predict(pairs), abs=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: Calibrator().predict(t), "call fit first"),
        (lambda t: Calibrator("averge").fit(t), "averge"),
        (lambda t: Calibrator().set_params(weight=1), "no parameter of this name"),
        (lambda t: Calibrator().fit([("a", "b")]), "y: expected the scores"),
        (lambda t: Calibrator().fit([("a", "b", "c")], [1]), "X: expected"),
        (lambda t: Calibrator("average").fit([], []), "found no rows"),
        (lambda t: Calibrator().fit(np.array([[1, np.nan]]), [1]), "row 0: the item is null"),
        (lambda t: Calibrator().fit([("a", "b")], [1, 2]), "y: expected one score per row of X, 1, found 2"),
        (lambda t: Calibrator().fit(t[["reviewer", "item"]], t["score"] > 5), "y: expected scores, found True"),
        (lambda t: Calibrator().fit(Reviews(t), t["score"]), "leave y out"),
        (lambda t: Calibrator("average").fit(t).predict([("x", "y")]), "one of them in"),
        (lambda t: Calibrator("average").fit([["r", "a"], ["r", "b"]], [[1.0], [2.0, 3.0]]), "y: expected numbers"),
    ],
)
def test_mistakes_are_named(table: pd.DataFrame, call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(table)


# scikit-learn's own tools


def test_cross_validation_by_reviewer(table: pd.DataFrame) -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    pairs, score = split(table)
    folds = selection.GroupKFold(4)
    given = {"groups": table["reviewer"], "cv": folds}
    found = {
        name: selection.cross_val_score(Calibrator(name), pairs, score, **given) for name in ("average", "additive")
    }
    assert found["additive"].mean() > found["average"].mean() > 0
    # One fold by hand.
    train, test = next(folds.split(pairs, score, table["reviewer"]))
    by_hand = Calibrator("additive").fit(pairs.iloc[train], score.iloc[train]).score(pairs.iloc[test], score.iloc[test])
    assert found["additive"][0] == by_hand


@pytest.mark.parametrize("method", ["posterior", "additive"])
def test_conventions_that_checks_of_scikit_learn_need_features_for(table: pd.DataFrame, method: str) -> None:
    """Fits repeat, predictions leave the estimator as it is, pickle, and do not depend on other rows of X."""
    pairs, score = split(table)
    calibrator = Calibrator(method)
    assert calibrator.fit(pairs, score) is calibrator
    before = dict(vars(calibrator))
    predicted = calibrator.predict(pairs)
    assert vars(calibrator) == before
    assert np.array_equal(calibrator.fit(pairs, score).predict(pairs), predicted)
    assert np.array_equal(pickle.loads(pickle.dumps(calibrator)).predict(pairs), predicted)
    assert np.array_equal(np.concatenate([calibrator.predict(pairs[:7]), calibrator.predict(pairs[7:])]), predicted)
    back = slice(None, None, -1)
    assert calibrator.fit(pairs[back], score[back]).predict(pairs) == pytest.approx(predicted)


@pytest.mark.filterwarnings("ignore:Estimator Calibrator does not inherit")
def test_checks_of_scikit_learn_without_features_pass() -> None:
    """Most checks fit X of numbers, in which rows are points; here they are a reviewer and an item.

    A wrong option is an error as soon as it is passed, which one further check wants in fit.
    """
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if not hasattr(checks, "estimator_checks_generator"):
        pytest.skip("an old version of scikit-learn")
    passing = {
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
        "check_estimators_unfitted",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_valid_tag_types",
        "check_mixin_order",
        "check_fit1d",
        "check_supervised_y_no_nan",
    }
    ran = set()
    for estimator, check in checks.estimator_checks_generator(Calibrator("average")):
        name = getattr(check, "func", check).__name__
        if name in passing:
            check(estimator)
            ran.add(name)
    assert len(ran) > 8


def test_options_of_methods_are_parameters(table: pd.DataFrame) -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    base = pytest.importorskip("sklearn.base")
    pairs, score = split(table)
    grid = {"hypothesis": ["linear", "offset"]}
    search = selection.GridSearchCV(Calibrator("lsc"), grid, cv=selection.GroupKFold(3))
    search.fit(pairs, score, groups=table["reviewer"])
    assert search.best_estimator_.get_params()["hypothesis"] in grid["hypothesis"]
    cloned = base.clone(search.best_estimator_)
    assert cloned.get_params() == search.best_estimator_.get_params()
    with pytest.raises(TypeError, match=r"'hypotesis'; did you mean hypothesis\?"):
        Calibrator("lsc", hypotesis="offset")
    with pytest.warns(DeprecationWarning, match="options"):
        assert Calibrator("lsc", options={"hypothesis": "offset"}).get_params() == {
            "method": "lsc", "seed": 0, "hypothesis": "offset"
        }  # fmt: skip


# Held-out reviewers


def test_reviewers_are_held_out_as_a_naive_loop_does() -> None:
    table = scores(3, 12, 10)
    reviews = Reviews(table)
    held = hold_out(reviews, Calibrator("average"), folds=4, seed=1)
    fold = np.random.default_rng(1).permutation(12) % 4
    folds = dict(zip(reviews.reviewers, fold, strict=True))
    rows = {}
    for who, what, score in table.itertuples(index=False):
        others = [y for j, i, y in table.itertuples(index=False) if i == what and folds[j] != folds[who]]
        if others:
            rows[who, what] = (score, np.mean(others))
    found = {
        (reviews.reviewers[j], reviews.items[i]): (y, q)
        for j, i, y, q in zip(held.reviewer, held.item, held.score, held.quality, strict=True)
    }
    assert found.keys() == rows.keys()
    assert all(found[pair] == pytest.approx(rows[pair]) for pair in rows)


def test_offsets_of_reviewers_are_shrunk_by_their_numbers_of_scores() -> None:
    reviews = Reviews(scores(4).iloc[:-9])
    estimate = Calibrator("average").fit(reviews).estimate_
    line = line_of(reviews, estimate, hold_out(reviews, Calibrator("average")))
    residual = reviews.score - line.intercept - line.slope * estimate.quality[reviews.item]
    mean = np.bincount(reviews.reviewer, residual) / reviews.loads
    assert line.offset == pytest.approx(mean * line.severity / (line.severity + line.noise / reviews.loads))


def test_errors_are_those_of_a_regression_within_reviewers() -> None:
    reviews = Reviews(scores(4, 40, 60))
    found = lsc.compare(reviews, ["average", "additive"])
    for row in found.rows:
        held = hold_out(reviews, Calibrator(row.method))
        by_reviewer = defaultdict(list)
        for j, y, q in zip(held.reviewer, held.score, held.quality, strict=True):
            by_reviewer[j].append((y, q))
        pairs = np.concatenate([np.array(v) - np.mean(v, axis=0) for v in by_reviewer.values() if len(v) > 1])
        slope = np.linalg.lstsq(pairs[:, 1:], pairs[:, 0], rcond=None)[0]
        error = np.sqrt(((pairs[:, 0] - slope * pairs[:, 1]) ** 2).mean())
        assert row.error == pytest.approx(error)
    assert found.rows[0].gain == 0
    assert found.rows[1].gain == pytest.approx(1 - (found.rows[1].error / found.rows[0].error) ** 2)
    assert found.rows[1].gain > 2 * found.rows[1].gain_se


def test_single_reviews_are_held_out_with_reviewers_who_are_known() -> None:
    reviews = Reviews(scores(4, 20, 20))
    by_review = lsc.compare(reviews, ["average", "posterior"], by="review").rows
    by_reviewer = lsc.compare(reviews, ["average", "posterior"]).rows
    assert by_review[1].gain > 0
    # Of a reviewer who is known a score is less of a surprise.
    assert by_review[1].log_score > by_reviewer[1].log_score
    held = hold_out(reviews, Calibrator("average"), by="review")
    assert held.score.size > 0.9 * reviews.n_reviews
    with pytest.raises(InputError, match="by: expected 'reviewer' or 'review'"):
        lsc.compare(reviews, by="item")


def test_a_comparison_is_one_table_in_every_order_of_rows() -> None:
    table = scores(7)
    methods = ["average", "additive", Calibrator("lsc", hypothesis="offset")]
    first = lsc.compare(table, methods).to_dict()
    again = lsc.compare(table.iloc[::-1], methods).to_dict()
    for one, other in zip(first["methods"], again["methods"], strict=True):
        assert {**one, "seconds": 0} == pytest.approx({**other, "seconds": 0})
    assert [row["method"] for row in first["methods"]] == ["average", "additive", "lsc (hypothesis='offset')"]


def test_the_headline_names_a_winner_only_beyond_chance() -> None:
    found = lsc.compare(scores(7), ["average", "additive"])
    average, additive = found.rows
    for gain, words in ((0.3, "additive of 2 methods"), (0.01, "none of 2 methods surely beats the average")):
        better = replace(additive, error=average.error / 2, gain=gain, gain_se=0.1)
        assert replace(found, rows=(average, better)).headline().startswith(words)


def test_nothing_is_gained_over_averages_without_an_error() -> None:
    rows = [(who, what, float(who + what)) for who in range(4) for what in range(4)]
    assert all(row.gain is None for row in lsc.compare(rows).rows)

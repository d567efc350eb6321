"""Answers of the posterior whose scores are joined from criteria, weighed by confidence, or levels."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.integrate import quad
from scipy.stats import norm, truncnorm

from lsc._inference import inferring
from lsc._inference.categories import fit_levels, intervals, levels_of, observe
from lsc._inference.criteria import join
from lsc._inference.inferring import infer
from lsc._inference.model import NAMES
from lsc._inference.sweeps import sweep
from reviewgraph.cli import main
from reviewgraph.cli.verify import verify
from reviewgraph.verify.graphs import Table
from reviewgraph.verify.passes import Model, State, observed, one_pass
from reviewgraph.verify.scores import (
    Averages,
    Problem,
    evidence_of_averages,
    joined_scores,
    levels_in,
    log_confidence,
    within_interval,
)
from tests.trials import sampled

pytestmark = pytest.mark.usefixtures("infer_once")

#: What a table has beside scores: five levels with a ceiling, criteria, confidence that tells something or nothing.
LEVELS, CRITERIA, SURE, UNSURE = "levels", "criteria", "sure", "unsure"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(kinds: tuple[str, ...]) -> None:
    rng = np.random.default_rng(7)
    quality, rows = rng.normal(size=30), []
    for j in range(20):
        offset, slope = 0.7 * rng.normal(), np.exp(0.3 * rng.normal())
        for i in sorted(rng.permutation(30)[:9].tolist()):
            sure = int(rng.integers(1, 5))
            noise = np.exp(0.6 * (2.5 - sure)) if SURE in kinds else 1.0
            latent = offset + slope * quality[i] + 0.4 * noise * rng.normal()
            score = int(np.clip(np.floor(1.3 * latent + 4.2), 1, 5)) if LEVELS in kinds else round(5 + 2 * latent, 2)
            row = {"reviewer": f"r{j}", "item": f"p{i}", "score": score}
            if CRITERIA in kinds:
                clear = f"{offset + quality[i] + 0.4 * rng.normal():.2f}"
                row |= {"clear": clear if rng.random() < 0.9 else "", "new": f"{rng.normal():.2f}"}
            if {SURE, UNSURE} & set(kinds):
                row["confidence"] = sure
            rows.append(row)
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    Path("reviews.csv").write_text("\n".join([*lines, ""]))


@cache
def _asked(kinds: tuple[str, ...], words: tuple[str, ...]) -> str:
    result = CliRunner().invoke(main, ["calibrate", "reviews.csv", *words, "--json"], catch_exceptions=False)
    return result.stdout


def asked(kinds: tuple[str, ...], *words: str) -> dict[str, Any]:
    written(kinds)
    answer: dict[str, Any] = json.loads(_asked(kinds, words))
    return answer


def verified(answer: dict[str, Any], *words: str) -> Result:
    Path("answer.json").write_text(json.dumps(answer))
    return CliRunner().invoke(verify, ["answer.json", "reviews.csv", *words], catch_exceptions=False)


def is_as_made(answer: dict[str, Any]) -> tuple[bool, bool | None, bool | None]:
    """Whether scores are levels, and whether criteria and confidence are used, None where there are none."""
    models = [answer["model"], *answer["model"].get("others", [])]
    return (
        any("thresholds" in model for model in models),
        answer.get("criteria", {}).get("used"),
        answer.get("confidence", {}).get("used"),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "words", "made"),
    sampled(
        [
            ((CRITERIA,), ("--lower-is-better", "--explain", "p2"), (False, True, None)),
            ((LEVELS, SURE), (), (True, None, True)),
            ((LEVELS,), ("--explain", "p1"), (True, None, None)),
            ((SURE,), ("--no-confidence",), (False, None, None)),
            ((LEVELS,), ("--likelihood", "normal"), (False, None, None)),
            ((CRITERIA,), ("--explain", "p1", "--select", "5"), (False, True, None)),
            ((CRITERIA,), ("--only-target",), (False, None, None)),
            ((SURE,), (), (False, None, True)),
            ((UNSURE,), (), (False, None, False)),
            ((UNSURE,), ("--confidence",), (False, None, True)),
            ((LEVELS, UNSURE), (), (True, None, False)),
            ((LEVELS, CRITERIA, SURE), ("--explain", "p3"), (False, True, True)),
        ],
        2,
        several=True,
    ),
)
def test_true_answers_hold(
    kinds: tuple[str, ...], words: tuple[str, ...], made: tuple[bool, bool | None, bool | None]
) -> None:
    answer = asked(kinds, *words)
    assert is_as_made(answer) == made
    result = verified(answer, *words)
    assert result.exit_code == 0, result.stdout


@pytest.mark.slow
def test_references_enter_after_levels() -> None:
    known = "item,quality\np0,2\np5,3\np9,4\np11,3.5\n"
    written((LEVELS,))
    Path("known.csv").write_text(known)
    words = "--references", "known.csv"
    assert verified(asked((LEVELS,), *words), *words).exit_code == 0


# Forgeries


def _at(*path: Any, by: float = 1e-3) -> Callable[[dict[str, Any]], None]:
    """Move one number, by a thousandth of itself."""

    def forge(answer: dict[str, Any]) -> None:
        within: Any = answer
        for key in path[:-1]:
            within = within[key]
        within[path[-1]] += by * max(abs(within[path[-1]]), 0.1)

    return forge


def _turned(*path: str) -> Callable[[dict[str, Any]], None]:
    def forge(answer: dict[str, Any]) -> None:
        answer[path[0]][path[1]] = not answer[path[0]][path[1]]

    return forge


def _target_alone(answer: dict[str, Any]) -> None:
    """Claim that criteria do not help, with all that follows from the target alone."""
    alone = asked((CRITERIA,), "--only-target")
    own = answer["criteria"]
    own |= {"used": False, "own_variance": 0.0, "weights": [row | {"weight": 0.0} for row in own["weights"]]}
    answer.update({key: alone[key] for key in ("items", "model", "gain", "reviewers")})


MIXED = ("weight", "status", "normal_scores", "offsets_only", "others")


def _exchanged(answer: dict[str, Any]) -> None:
    """Claim the model that was rejected, and the other as rejected."""
    own = answer["confidence"]
    status, rejected = answer["status"], own["rejected"]
    answer["status"] = rejected.pop("status")
    # What is of the mixture alone is no part of a rejected model.
    model = {key: value for key, value in answer["model"].items() if key not in MIXED}
    answer["model"], own["rejected"] = rejected, {"status": status, **model}
    own |= {"used": not own["used"], "gain": -own["gain"]}


def _hidden(answer: dict[str, Any]) -> None:
    answer["model"]["thresholds"].pop()


#: The first of each kind of claim, which the everyday run takes, and others.
FORGED: list[tuple[tuple[str, ...], Callable[[dict[str, Any]], None], str]] = [
    ((CRITERIA,), _turned("criteria", "used"), "criteria.used: claims"),
    ((CRITERIA,), _at("criteria", "weights", 0, "weight"), "criteria.weights, clear: claims"),
    ((CRITERIA,), _at("criteria", "own_variance"), "criteria.own_variance: claims"),
    ((CRITERIA,), _at("criteria", "gain"), "criteria.gain: claims"),
    ((CRITERIA,), _at("accounts", 0, "parts", 0, "criteria", "clear"), "parts[0].criteria.clear: claims"),
    ((CRITERIA,), _target_alone, "criteria.used: claims"),
    ((SURE,), _turned("confidence", "used"), "gamma: there are no weights"),
    ((SURE,), _at("confidence", "gain"), "confidence.gain: claims"),
    ((SURE,), _at("confidence", "rejected", "evidence"), "confidence.rejected.evidence: claims"),
    ((UNSURE,), _exchanged, "confidence.used: claims"),
    ((LEVELS,), _at("model", "thresholds", 2, "above"), "model.thresholds, 4: claims"),
    ((LEVELS,), _hidden, "model.thresholds: 4 expected"),
    ((LEVELS,), _at("model", "reviews", 2, "observed", 0), "model.evidence: claims"),
    ((LEVELS,), _at("reviewers", 1, "misfit", "mean_square"), "misfit.mean_square: claims"),
    ((CRITERIA,), _at("criteria", "weights", 1, "weight"), "criteria.weights, new: claims"),
    ((CRITERIA,), _at("criteria", "gain_error"), "criteria.gain_error: claims"),
    ((CRITERIA,), _at("items", 3, "quality"), "quality: claims"),
    ((CRITERIA,), _at("items", 3, "standard_error"), "standard_error: claims"),
    ((CRITERIA,), _at("gain", "relative"), "gain.relative: claims"),
    ((CRITERIA,), _at("model", "reviews", 4, "messages", 1), "model.evidence: claims"),
    ((CRITERIA,), _at("accounts", 0, "parts", 0, "stretch"), "parts[0].stretch: claims"),
    ((SURE,), _at("confidence", "rejected", "reviews", 2, "messages", 0), "confidence.rejected.evidence: claims"),
    ((SURE,), _at("model", "hyperparameters", "gamma"), "model.evidence: claims"),
    ((SURE,), _exchanged, "confidence.used: claims"),
    ((LEVELS,), _at("model", "thresholds", 2, "score"), "model.thresholds, score: claims"),
    ((LEVELS,), _at("model", "reviews", 2, "observed", 1), "model.evidence: claims"),
    ((LEVELS,), _at("model", "evidence"), "model.evidence: claims"),
    ((LEVELS,), _at("model", "null_evidence"), "model.null_evidence: claims"),
    ((LEVELS,), _at("items", 3, "quality"), "quality: claims"),
    ((LEVELS,), _at("items", 3, "standard_error"), "standard_error: claims"),
    ((LEVELS,), _at("gain", "relative"), "gain.relative: claims"),
    ((LEVELS,), _at("accounts", 0, "parts", 0, "severity"), "parts[0].severity: claims"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kinds", "forge", "reason"), sampled(FORGED, 14, several=True))
def test_forgeries_are_refuted(kinds: tuple[str, ...], forge: Callable[[dict[str, Any]], None], reason: str) -> None:
    # Levels alone, not as a member of a mixture, so that their state is the model.
    words = ("--explain", "p1", *(("--likelihood", "ordinal") if LEVELS in kinds else ()))
    answer = asked(kinds, *words)
    forge(answer)
    result = verified(answer, *words)
    assert result.exit_code == 1, result.stdout
    assert reason in " ".join(result.stdout.split())


def _with_its_evidence(answer: dict[str, Any]) -> str:
    """Put the evidence of the state into an answer; returns what is then said of it."""
    said = " ".join(verified(answer, "--likelihood", "ordinal").stdout.split())
    answer["model"]["evidence"] = float(said.partition("model.evidence: claims")[2].split("recomputed ")[1].split()[0])
    return " ".join(verified(answer, "--likelihood", "ordinal").stdout.split())


@pytest.mark.slow
def test_levels_that_have_not_converged_are_refuted() -> None:
    answer = asked((LEVELS,), "--likelihood", "ordinal")
    for row in answer["model"]["reviews"][:9]:
        row["observed"][0] += 0.5
    said = _with_its_evidence(answer)
    assert "answer.json: refuted." in said
    assert "model: it has not converged: a pass changes pseudo-scores of levels" in said


@pytest.mark.slow
def test_answers_without_what_is_not_always_printed_are_not_refuted() -> None:
    answer = asked((LEVELS,), "--likelihood", "ordinal")
    for row in answer["model"]["reviews"]:
        del row["observed"]
    assert verified(answer, "--likelihood", "ordinal").exit_code == 4
    answer = asked((CRITERIA,), "--only-target")
    assert verified(answer).exit_code == 4


@pytest.mark.slow
def test_the_options_of_the_question_count() -> None:
    for kinds, made, words, reason in (
        (
            (LEVELS,),
            ("--likelihood", "ordinal"),
            ("--likelihood", "normal"),
            "model.likelihood: not one that --likelihood normal leads to",
        ),
        ((CRITERIA,), (), ("--only-target",), "criteria: the reviews have none that are to be used"),
        ((SURE,), (), ("--no-confidence",), "confidence: the reviews have none that is to be used"),
        ((UNSURE,), (), ("--confidence",), "confidence.used: claims false"),
        ((UNSURE,), ("--confidence",), (), "confidence.used: claims true"),
    ):
        result = verified(asked(kinds, *made), *words)
        assert (result.exit_code, reason in " ".join(result.stdout.split())) == (1, True), words


# Against what it looks at, and against plain definitions


@pytest.mark.parametrize("seed", range(6))
def test_criteria_are_joined_as_by_the_inference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    who, what = np.divmod(np.flatnonzero(rng.random(20 * 30) < 0.3), 30)
    truth = rng.standard_normal(30)[what] + rng.standard_normal(20)[who] / 2
    target = np.round(truth + rng.standard_normal(who.size), 1)
    columns = {
        name: sign * truth + size * rng.standard_normal(who.size)
        for name, sign, size in (("a", 1.0, 0.5), ("b", -1.0, 0.7), ("c", 0.0, 1.0))
    }
    columns["b"][rng.random(who.size) < 0.2 * (seed % 3)] = np.nan
    pairs = [(f"r{j}", f"p{i}") for j, i in zip(who.tolist(), what.tolist(), strict=True)]
    criteria = {
        name: {pair: value for pair, value in zip(pairs, column.tolist(), strict=True) if value == value}
        for name, column in columns.items()
    }
    table = Table((), (), dict(zip(pairs, target.tolist(), strict=True)), criteria=criteria)
    mine, theirs = joined_scores(who, what, target, table), join(who, what, target, columns)
    np.testing.assert_allclose(mine.score, theirs.score, rtol=1e-10)
    assert mine.gain == pytest.approx(theirs.gain, rel=1e-8)
    assert mine.gain_error == pytest.approx(theirs.gain_error, rel=1e-8)
    assert mine.own == pytest.approx(theirs.own, rel=1e-8)
    assert list(mine.weights.values()) == pytest.approx(theirs.weights.tolist(), rel=1e-8)


def test_an_interval_of_a_normal_variable() -> None:
    low, high = np.array([-np.inf, -1.0, 0.5, 2.0, -6.0]), np.array([0.3, 0.2, np.inf, 2.5, -5.5])
    log, mean, variance = within_interval(low, high)
    for place, (a, b) in enumerate(zip(low, high, strict=True)):
        same = truncnorm(a, b)
        assert log[place] == pytest.approx(np.log(norm.cdf(b) - norm.cdf(a)), rel=1e-6)
        assert (mean[place], variance[place]) == pytest.approx((same.mean(), same.var()), rel=1e-6)


def test_levels_under_averages_by_quadrature() -> None:
    what, score = np.array([0, 0, 0, 1, 1, 2]), np.array([1.0, 2.0, 2.0, 3.0, 3.0, 1.0])
    null = Averages(1.9, 0.7, 0.2, 0.0)
    edges = {1.0: (-np.inf, 1.5), 2.0: (1.5, 2.5), 3.0: (2.5, np.inf)}

    def chance(x: float, level: float) -> float:
        low, high = ((edge - null.mean - null.slope * x) / null.noise**0.5 for edge in edges[level])
        return float(norm.cdf(high) - norm.cdf(low))

    expected = 0.0
    for item in range(3):
        own = score[what == item].tolist()
        expected += np.log(quad(lambda x, own=own: norm.pdf(x) * np.prod([chance(x, s) for s in own]), -8, 8)[0])
    problem = Problem(what, what, score, 0 * score, (0.0, 1.0), 0.1, (3, 3), np.zeros((2, 3)))
    assert evidence_of_averages(problem, null, score) == pytest.approx(expected, rel=1e-8)


@pytest.mark.slow
def test_a_pass_over_levels_is_that_of_the_inference(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    who, what = np.divmod(np.flatnonzero(rng.random(25 * 30) < 0.3), 30)
    latent = rng.standard_normal(30)[what] + 0.8 * rng.standard_normal(25)[who] + 0.5 * rng.standard_normal(who.size)
    score = np.clip(np.round(latent + 3.5), 1, 5)
    kept: list[Any] = []

    def kept_fit(rows: Any, scores: Any, plain: Any) -> Any:
        kept[:] = scores, fit_levels(rows, scores, plain)
        return kept[1]

    monkeypatch.setattr(inferring, "fit_levels", kept_fit)
    posterior = infer(who, what, score, 25, 30, likelihood="ordinal")
    scores, (fit, problem) = kept
    messages, nodes, theta, extent, seen = posterior.fitted
    assert seen is not None
    levels = levels_in(score)
    mine = Problem(
        who, what, seen[0], 0 * score, levels.unit, seen[1], (25, 30), np.zeros((2, 30)), interval=levels.interval
    )
    model = Model(
        dict(zip(NAMES, theta.tolist(), strict=True)),
        *(extent.own, extent.orders, extent.kappa, extent.strength, extent.half_log_determinant),
    )
    state = State(messages, nodes)
    found, theirs = one_pass(mine, model, state), sweep(problem, fit.state)
    further, added, _ = observed(mine, model, state)
    by_them = observe(problem, fit.state, *intervals(*levels_of(score), scores, who), 1.0)
    assert found.evidence + added == pytest.approx(fit.evidence, rel=1e-12)
    np.testing.assert_allclose(found.mean, theirs.mean[:-1], atol=1e-10)
    [part] = by_them.problem.parts
    np.testing.assert_allclose(further.score, part.layout.score[scores.slot], rtol=1e-8)
    np.testing.assert_allclose(
        np.asarray(further.rounding), np.asarray(by_them.problem.rounding)[scores.slot], rtol=1e-8
    )


def test_confidence_weighs_by_its_order_and_distances() -> None:
    pairs = [("a", "p"), ("a", "q"), ("b", "p"), ("b", "q")]
    table = Table((), (), dict.fromkeys(pairs, 1.0), confidence=dict(zip(pairs[:3], (1.0, 3.0, 2.0), strict=True)))
    logs = log_confidence(table)
    assert logs is not None
    assert logs.tolist() == pytest.approx([-(1.5**0.5), 1.5**0.5, 0.0, 0.0])
    assert log_confidence(Table((), (), table.score, confidence=dict.fromkeys(pairs, 2.0))) is None
    assert log_confidence(copy.copy(Table((), (), table.score))) is None

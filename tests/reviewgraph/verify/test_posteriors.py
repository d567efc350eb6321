from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from lsc import posteriors
from lsc._inference import inferring
from lsc._inference.inferring import infer
from lsc._inference.model import MU, NAMES, NU, SIZE, START, Extent, rescaled
from lsc._inference.states import initial_state
from lsc._inference.sweeps import (
    free_of,
    optimise,
    run_stages,
    run_sweeps,
    sweep,
    with_hyperparameters,
    with_ordinal_reviewers,
)
from lsc._model.hypotheses import HYPOTHESES
from lsc.evidence.support import is_unique
from reviewgraph import Reviews
from reviewgraph.cli import main
from reviewgraph.cli.verify import verify
from reviewgraph.verify.fits import Curve, is_only
from reviewgraph.verify.passes import Model, Problem, State, one_pass
from tests.lsc.inference.simulated_tables import ordering, table
from tests.trials import NIGHTLY, sampled, trials
from tests.verifying.calibrations import calibration, changes

pytestmark = pytest.mark.usefixtures("infer_once")


WORDS = ("--select", "3", "--lottery", "--seed", "4", "--explain", "p1", "--weights", "weights.csv")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    pairs = [(j, i) for j in range(10) for i in sorted(rng.permutation(12)[:8].tolist())]
    rows = [f"r{j},p{i},{j % 3 + (0.6 + 0.3 * (j % 3)) * i + rng.normal():.2f}" for j, i in pairs]
    Path("reviews.csv").write_text("\n".join(["reviewer,item,score", *rows, ""]))
    weights = [f"p{i},r{j},{1 + (i + j) % 3}" for j, i in pairs]
    Path("weights.csv").write_text("\n".join(["item,reviewer,weight", *weights, ""]))
    Path("known.csv").write_text("item,quality\np0,10\np5,16\np9,21\np11,22.5\n")


def asked(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["calibrate", "reviews.csv", *words, "--json"], catch_exceptions=False)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def verified(answer: dict[str, Any], *words: str) -> Result:
    Path("answer.json").write_text(json.dumps(answer))
    return CliRunner().invoke(verify, ["answer.json", "reviews.csv", *words], catch_exceptions=False)


@pytest.mark.parametrize(
    "words",
    sampled(
        [
            WORDS,
            ("--references", "known.csv", "--lower-is-better"),
            (),
            ("--on-scale-of", "known.csv", "--select", "30%", "--error-rate", "0.3"),
        ],
    ),
)
def test_a_posterior_holds(words: tuple[str, ...]) -> None:
    answer = asked(*words)
    result = verified(answer, *words)
    assert (result.exit_code, answer["status"]) == (0, "converged"), result.stdout


def test_a_posterior_of_rankings_holds() -> None:
    """Slopes of scale users are not learned beside ordinal reviewers, and p-values of ranks are delicate."""
    rng = np.random.default_rng(1)
    quality = rng.normal(size=45)
    rows = []
    for j in range(40):
        papers = rng.permutation(45)[:5]
        ranks = (quality[papers] + 0.4 * rng.normal(size=5)).argsort().argsort() + 1
        rows += [f"r{j},p{i},{rank}" for i, rank in zip(papers.tolist(), ranks.tolist(), strict=True)]
    Path("reviews.csv").write_text("\n".join(["reviewer,item,score", *rows, ""]))
    answer = asked()
    assert "logit_w" in answer["model"]["hyperparameters"]
    result = verified(answer)
    assert result.exit_code == 0, result.stdout
    answer["reviewers"][0]["misfit"]["p_value"] *= 1.001
    assert verified(answer).exit_code == 1


def test_one_without_signal_holds_and_is_no_other(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"r{j},p{i},{i + 3 * rng.normal():.2f}" for j in range(10) for i in rng.permutation(12)[:5]]
    Path("reviews.csv").write_text("\n".join(["reviewer,item,score", *rows, ""]))
    answer = asked()
    assert answer["status"] == "no_signal"
    assert verified(answer).exit_code == 0
    answer["status"] = "converged"
    assert verified(answer).exit_code == 1


@pytest.mark.parametrize("change", [{NU: 3.0}, {MU: -6.0, NU: 0.0}])
def test_that_there_is_no_signal_cannot_be_claimed(change: dict[int, float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a model of noise alone, which explains nothing, and of which all the rest is as it must be."""
    theta = START.copy()
    for place, value in change.items():
        theta[place] = value

    def members(problem: Any, *rest: Any) -> Any:
        return [run_sweeps(problem, initial_state(problem, theta, Extent()), 40)]

    monkeypatch.setattr(inferring, "run_members", members)
    monkeypatch.setattr(posteriors, "infer", infer)  # nothing that was inferred before
    answer = asked()
    assert answer["status"] == "no_signal"
    result = verified(answer)
    assert (result.exit_code, "after a step" in " ".join(result.stdout.split())) == (4, True)


@pytest.mark.parametrize("change", sampled([0.1, 0.0]))
def test_the_scale_of_qualities_is_checked_where_ordinal_reviewers_determine_it(
    change: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    who, what, score, _ = ordering(3, 30, 30)
    rows = [f"r{j},p{i},{value}" for j, i, value in zip(who, what, score, strict=True)]
    Path("reviews.csv").write_text("\n".join(["reviewer,item,score", *rows, ""]))

    def members(problem: Any, *rest: Any) -> Any:
        start = with_ordinal_reviewers(initial_state(problem, START, Extent()))
        fit = optimise(problem, start, free_of(start.extent, weighted=False))
        theta = rescaled(fit.state.theta, 0.0, float(np.exp(change)))
        return [optimise(problem, with_hyperparameters(fit.state, theta), np.zeros(SIZE, bool))]

    monkeypatch.setattr(inferring, "run_members", members)
    monkeypatch.setattr(posteriors, "infer", infer)  # nothing that was inferred before
    result = verified(asked())
    assert (result.exit_code, "other hyperparameters would gain" in " ".join(result.stdout.split())) == (
        (0, False) if change == 0 else (4, True)
    )


# Forgeries


def _reversed(answer: dict[str, Any]) -> None:
    """Turn the ranking round about its middle, with intervals and ranks, and claim to be worth ten times as much."""
    rows = answer["items"]
    middle = sum(row["quality"] for row in rows) / len(rows)
    for row in rows:
        row["quality"] = 2 * middle - row["quality"]
        row["interval"] = [2 * middle - end for end in row["interval"][::-1]]
        row["rank"] = len(rows) + 1 - row["rank"]
    answer["gain"]["relative"] = 9.9


def _negated(answer: dict[str, Any]) -> None:
    """Turn round what all reviews say, too."""
    _reversed(answer)
    for row in answer["model"]["reviews"]:
        row["messages"][1] *= -1


@pytest.mark.parametrize(
    ("change", "words"),
    sampled(
        [
            (lambda model: model.update(weight=0.9), "model.weight"),
            (
                lambda model: model["others"][0]["reviews"][0]["messages"].__setitem__(1, 3.0),
                "model.others[0].evidence",
            ),
            (lambda model: model["others"].pop(), "model.weight: their sum"),
            (lambda model: model["others"][0].update(normal_scores=False), "model.others[0]"),
        ],
        several=True,
    ),
)
def test_members_and_weights_of_a_mixture_are_recomputed(change: Callable[[Any], object], words: str) -> None:
    answer = asked()
    assert answer["model"]["others"]
    change(answer["model"])
    result = verified(answer)
    assert (result.exit_code, words in " ".join(result.stdout.split())) == (1, True), result.stdout


def _exchanged(answer: dict[str, Any]) -> None:
    one, other = answer["items"][2:4]
    for key in ("quality", "rank", "interval", "standard_error"):
        one[key], other[key] = other[key], one[key]


def _halved(answer: dict[str, Any]) -> None:
    for row in answer["items"]:
        row["standard_error"] /= 2
        row["interval"] = [(end + row["quality"]) / 2 for end in row["interval"]]


def _worth_more(answer: dict[str, Any]) -> None:
    gain = answer["gain"]
    gain["error"] /= 2
    gain["relative"] = 1 - (gain["error"] / gain["average_error"]) ** 2


def _blamed(answer: dict[str, Any]) -> None:
    fit = answer["reviewers"][0]["misfit"]
    fit |= {"p_value": 1e-6, "corrected": 1e-5, "contradicts": True}


def _moved(answer: dict[str, Any]) -> None:
    """Move a quality, by what one review says of it, with all that follows in the JSON."""
    answer["model"]["reviews"][0]["messages"][1] += 0.3
    row = next(row for row in answer["items"] if row["item"] == answer["model"]["reviews"][0]["item"])
    row["quality"] += 0.1
    row["interval"] = [end + 0.1 for end in row["interval"]]


def _at(*path: Any) -> Callable[[dict[str, Any]], None]:
    def forge(answer: dict[str, Any]) -> None:
        within: Any = answer
        for key in path[:-1]:
            within = within[key]
        within[path[-1]] += 0.01 * max(abs(within[path[-1]]), 0.1)

    return forge


@pytest.mark.slow
@pytest.mark.parametrize(
    ("forge", "reason"),
    sampled(
        [
            (_reversed, "p0, quality: claims"),
            (_halved, "p0, standard_error: claims"),
            (_worth_more, "gain.relative: claims"),
            (_blamed, "reviewers, r0, misfit.p_value: claims"),
            (_moved, "model.evidence: claims"),
            (_at("accounts", 0, "parts", 1, "severity"), "accounts[0].parts[1].severity: claims"),
            (_at("model", "null_evidence"), "model.null_evidence: claims"),
            (_at("items", 1, "probability"), "p1, probability: claims"),
            (_at("lottery", "seed"), "expected a whole number"),
            (_negated, "model.evidence: claims"),
            (_exchanged, "p2, quality: claims"),
            (_at("model", "evidence"), "model.evidence: claims"),
            (_at("model", "hyperparameters", "mu"), "model.evidence: claims"),
            (_at("model", "reviewers", 0, "nodes", 1), "model.evidence: claims"),
            (_at("accounts", 0, "parts", 1, "moves"), "accounts[0].parts[1].moves: claims"),
        ],
        6,
        several=True,
    ),
)
def test_forgeries_are_refuted(forge: Callable[[dict[str, Any]], None], reason: str) -> None:
    answer = asked(*WORDS)
    forge(answer)
    # What is told as it is, and what is made to fit first: ranks by the qualities that are told.
    order = sorted(answer["items"], key=lambda row: -row["quality"])
    for rank, row in enumerate(order, 1):
        row["rank"] = rank
    result = verified(answer, *WORDS)
    assert result.exit_code in (1, 2)
    assert reason in " ".join((result.stdout + result.stderr).split())


def _with_its_evidence(answer: dict[str, Any]) -> str:
    """Put the evidence of the state into an answer; returns what is then said of it."""
    result = " ".join(verified(answer).stdout.split())
    answer["model"]["evidence"] = float(
        result.partition("model.evidence: claims")[2].split("recomputed ")[1].split()[0]
    )
    return " ".join(verified(answer).stdout.split())


def _steps(answer: dict[str, Any]) -> None:
    answer["model"]["hyperparameters"]["log_omega"] += 1.0


def _shouts(answer: dict[str, Any]) -> None:
    answer["model"]["reviews"][0]["messages"][0] *= 3


def _looks_elsewhere(answer: dict[str, Any]) -> None:
    """Sum over slopes where they are not."""
    nodes = answer["model"]["reviewers"][0]["nodes"]
    nodes[:2] = [nodes[0] - nodes[1], nodes[1] / 9]


@pytest.mark.parametrize(
    ("forge", "verdict", "reason"),
    [
        (_steps, "refuted", "other hyperparameters would gain"),
        (_shouts, "refuted", "a pass changes messages"),
        (_looks_elsewhere, "refuted", "a pass moves nodes of a reviewer"),
    ],
)
def test_a_model_that_is_not_at_rest_does_not_hold(
    forge: Callable[[dict[str, Any]], None], verdict: str, reason: str
) -> None:
    answer = asked()
    forge(answer)
    result = _with_its_evidence(answer)
    assert f"answer.json: {verdict}." in result
    assert reason in result


def test_an_answer_without_its_model_is_not_refuted() -> None:
    answer = asked()
    del answer["model"]
    result = verified(answer)
    assert result.exit_code == 4
    assert "what posterior estimated for the ranking is not recomputed" in " ".join(result.stdout.split())


def test_papers_with_the_quality_of_the_prior_are_those_of_constant_reviewers() -> None:
    rows = [f"flat,{item},9.5" for item in ("u1", "u2", *(f"p{i}" for i in range(8)))]
    with Path("reviews.csv").open("a") as file:
        file.write("\n".join([*rows, ""]))
    answer = asked()
    assert answer["by_prior"] == ["u1", "u2"]
    assert verified(answer).exit_code == 0
    for wrong in ([], ["u1"], ["u1", "u2", "p1"]):
        result = verified(answer | {"by_prior": wrong})
        assert result.exit_code == 1
        assert "by_prior" in result.stdout


def test_a_forged_fit_is_seen_by_a_second_run() -> None:
    answer = asked()
    answer["reviewers"][2]["misfit"]["infit"] *= 1.1
    result = verified(answer)
    assert result.exit_code == 4
    assert "reviewers[2].misfit.infit" in result.stdout


@pytest.mark.slow
def test_no_value_changes_unseen() -> None:
    answer = asked(*WORDS)
    assert verified(answer, *WORDS).exit_code == 0
    for path, changed in itertools.islice(changes(answer, np.random.default_rng(1)), trials(16)):
        # Probabilities that are 0 to nine digits may be any of these; the same bytes by another name are said to be so.
        if "probability" not in path:
            result = verified(changed, *WORDS)
            renamed = path.endswith("].file") and "where the answer was made" in " ".join(result.stdout.split())
            assert result.exit_code != 0 or renamed, path


@pytest.mark.slow
def test_answers_over_all_options_are_not_refuted() -> None:
    codes = []
    for number in range(12 if NIGHTLY else 6):
        case = calibration(np.random.default_rng([0, number]), number)
        codes += [] if case is None else [case.verified(copy.deepcopy(case.answer)).exit_code]
    assert set(codes) == {0, 4}
    assert codes.count(0) > len(codes) // 2


# Against what it looks at


@pytest.mark.parametrize(
    ("given", "weighted", "kind"),
    [
        (table(0, 60, 60, 5), False, ""),
        (table(1, 60, 60, 5), True, ""),
        (table(1, 60, 40, 12, own=0.6, noise=1.0), False, "own"),
        (ordering(2, 40, 40, 6, share=0.9), False, "orders"),
    ],
)
def test_a_pass_is_that_of_the_inference(
    given: Any, weighted: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    who, what, score, _ = given
    weight = np.exp(np.random.default_rng(0).standard_normal(who.size)) if weighted else None
    kept: list[Any] = []

    def kept_stages(problem: Any, *rest: Any) -> Any:
        kept[:] = problem, run_stages(problem, *rest)
        return kept[1]

    monkeypatch.setattr(inferring, "run_stages", kept_stages)
    sizes = int(who.max()) + 1, int(what.max()) + 1
    posterior = infer(who, what, score, *sizes, weight=weight)
    problem, optimum = kept
    logs = np.zeros(who.size) if weight is None else (np.log(weight) - np.log(weight).mean()) / np.log(weight).std()
    unit = float(score.mean()), float(score.std())
    mine = Problem(who, what, (score - unit[0]) / unit[1], logs, unit, problem.rounding, sizes, np.zeros((2, sizes[1])))
    messages, nodes, theta, extent, _ = posterior.fitted
    model = Model(
        dict(zip(NAMES, theta.tolist(), strict=True)),
        *(extent.own, extent.orders, extent.kappa, extent.strength, extent.half_log_determinant),
    )
    assert {"own": extent.own, "orders": extent.orders, "": True}[kind]
    found, theirs = one_pass(mine, model, State(messages, nodes)), sweep(problem, optimum.state)
    assert found.evidence == pytest.approx(theirs.evidence, rel=1e-12)
    np.testing.assert_allclose(found.mean, theirs.mean[:-1], atol=1e-10)
    np.testing.assert_allclose(found.state.nodes[:2], theirs.state.nodes[:2], atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", sampled(["linear", "offset", "monotone", "convex", "concave"], ["linear", "monotone", "convex"])
)
def test_other_optima_are_found_where_they_are(kind: str) -> None:
    from lsc.calibration import calibrate

    result = []
    for seed in range(12 if NIGHTLY else 6):
        rng = np.random.default_rng([seed, len(kind)])
        rows = [
            (f"r{j}", f"p{i}", float(np.round(i + 2 * rng.normal())))
            for j in range(5)
            for i in rng.permutation(5)[: int(rng.integers(2, 5))]
        ]
        found = calibrate(Reviews.from_pairs(rows), kind, max_slope=4.0)
        if int(found.group.max()) > 1:
            continue
        programme, quality, perceived = found.solution.weighed()
        curves = []
        for j in range(found.reviews.n_reviewers):
            mine = slice(programme.start[j], programme.start[j + 1])
            form = resolve_name(HYPOTHESES[kind].verifier)
            curves.append(Curve(form, programme.item[mine], programme.score[mine], perceived[mine], 0.25))
        only = is_only(curves, quality, np.zeros(quality.size, np.bool_))
        assert only == is_unique(programme, quality, perceived), seed
        result.append(only)
    assert len(result) > (5 if NIGHTLY else 2)

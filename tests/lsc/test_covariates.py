"""Covariates and rankings as users pass them: to ``lsc.posterior`` and to the command calibrate."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import lsc
from lsc.commands.calibrate import calibrate
from reviewgraph import InputError, Reviews
from reviewgraph._base.errors import LabelWarning

pytestmark = pytest.mark.usefixtures("infer_once")


TRACKS, MEANS = ("art", "law", "zoo"), np.array([-1.0, 0.1, 0.9])


class Conference:
    """Scores of papers of three tracks by reviewers of whom some are senior and severe; authors rank their papers."""

    def __init__(self, seed: int = 2, n: int = 120, k: int = 3, *, informative: bool = True) -> None:
        rng = np.random.default_rng(seed)
        worth = float(informative)
        self.track, self.senior = rng.integers(0, 3, n), rng.random(n) < 0.4
        self.truth = worth * MEANS[self.track] + rng.standard_normal(n)
        offset = 0.4 * rng.standard_normal(n) - worth * self.senior
        who = np.concatenate([rng.permutation(n) for _ in range(k)])
        what = np.tile(np.arange(n), k)
        _, first = np.unique(who * n + what, return_index=True)
        who, what = who[first], what[first]
        score = 5 + 1.5 * (self.truth[what] + offset[who] + 0.7 * rng.standard_normal(who.size))
        self.frame = pd.DataFrame(
            {"reviewer": [f"r{j}" for j in who], "item": [f"p{i}" for i in what], "score": score.round(2)}
        )
        names = [TRACKS[track] for track in self.track]
        self.papers = pd.DataFrame(
            {"item": [f"p{i}" for i in range(n)], "track": names, "pages": rng.integers(4, 12, n)}
        )
        self.people = pd.Series(self.senior, [f"r{j}" for j in range(n)], name="senior")
        seen, author = worth * self.truth + rng.standard_normal(n), rng.integers(0, n // 4, n)
        mine = [np.flatnonzero(author == a) for a in range(n // 4)]
        self.rankings = {f"a{a}": [f"p{i}" for i in own[np.argsort(-seen[own])]] for a, own in enumerate(mine)}

    def arguments(self) -> dict[str, Any]:
        """Return all covariates as arguments."""
        return {"item_covariates": self.papers, "reviewer_covariates": self.people, "rankings": self.rankings}


@pytest.fixture(scope="module")
def conference() -> Conference:
    return Conference()


@pytest.fixture
def estimate(conference: Conference) -> lsc.PosteriorEstimate:
    return lsc.posterior(conference.frame, **conference.arguments())


def test_effects_are_in_points_with_intervals(estimate: lsc.PosteriorEstimate) -> None:
    covariates = estimate.covariates
    assert covariates is not None
    rows = {row.name: row for row in covariates.rows}
    assert list(rows) == ["track", "pages", "senior", "own ranking of authors"]
    assert [row.used for row in rows.values()] == [True, False, True, True]
    assert [row.of for row in rows.values()] == ["item", "item", "reviewer", "item"]
    track = {one.level: one for one in rows["track"].effects}
    assert list(track) == list(TRACKS)
    assert track["art"].high < track["zoo"].low
    assert rows["pages"].effects == ()
    no, yes = rows["senior"].effects
    assert yes.effect - no.effect == pytest.approx(-1.5, abs=0.5)
    assert all(one.low < one.effect < one.high for row in rows.values() for one in row.effects)
    [ranking] = rows["own ranking of authors"].effects
    assert ranking.low > 0
    assert covariates.gain > 10


def test_contributions_sum_to_the_quality_and_name_covariates(
    conference: Conference, estimate: lsc.PosteriorEstimate
) -> None:
    for item in ("p0", "p7"):
        account = estimate.account(item)
        assert account.total == pytest.approx(account.quality, abs=1e-12)
        assert sum(part.weight for part in account.parts) == pytest.approx(1.0)
        named = {part.covariate: part for part in account.parts if part.source == "covariate"}
        assert set(named) == {"track", "own ranking of authors"}
        weight = account.parts[-1].weight
        assert account.parts[-1].source == "middle"
        for part in named.values():
            assert part.moves == pytest.approx(weight * (part.says - account.middle))
        # The expectation is that of the effects as reported.
        assert estimate.covariates is not None
        effects = {one.level: one.effect for one in estimate.covariates.rows[0].effects}
        track = TRACKS[conference.track[int(item[1:])]]
        assert named["track"].says - account.middle == pytest.approx(effects[track], rel=1e-6)
        assert all("covariate" not in part for part in account.to_dict()["parts"] if part["source"] == "review")


def test_predictions_know_what_is_expected_of_reviewers(conference: Conference) -> None:
    # A reviewer without a score is expected to be like others of the kind.
    people = {**conference.people.to_dict(), "new": True, "other": False}
    reviews = [*conference.frame.itertuples(index=False, name=None), ("new", "p1", None), ("other", "p1", None)]
    found = lsc.posterior(Reviews(reviews), reviewer_covariates=people)
    new, other = found.predict("new", "p5"), found.predict("other", "p5")
    assert float(new.mean - other.mean) == pytest.approx(-1.5, abs=0.5)


@pytest.mark.slow
def test_a_scale_whose_best_score_is_1_turns_effects_round(conference: Conference) -> None:
    turned = conference.frame.assign(score=10 - conference.frame.score)
    found = lsc.posterior(Reviews(turned, lower_is_better=True), **conference.arguments())
    right = lsc.posterior(conference.frame, **conference.arguments())
    assert found.covariates is not None
    assert right.covariates is not None
    for mine, other in zip(found.covariates.rows, right.covariates.rows, strict=True):
        for one, that in zip(mine.effects, other.effects, strict=True):
            assert (one.effect, one.low, one.high) == pytest.approx((-that.effect, -that.high, -that.low), abs=1e-3)
    account = found.account("p0")
    assert account.total == pytest.approx(account.quality)


def test_unknown_names_are_counted_and_values_may_be_missing(conference: Conference) -> None:
    papers = conference.papers.assign(track=conference.papers.track.where(conference.papers.index > 20))
    papers = pd.concat([papers, pd.DataFrame({"item": ["zebra"], "track": ["art"], "pages": [3]})])
    with pytest.warns(LabelWarning, match="item_covariates: 1 of 121 papers is not in the reviews"):
        found = lsc.posterior(conference.frame, item_covariates=papers)
    assert found.covariates is not None
    assert found.covariates.rows[0].known == 99
    # A paper of unknown track is expected at the mean.
    assert next(part for part in found.account("p3").parts if part.source == "covariate").moves == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"item_covariates": {"zebra": "art"}}, "item_covariates: the paper is not in the reviews"),
        (
            {"item_covariates": 3},
            "item_covariates: expected a data frame with a column item, a Series or a",
        ),
        (
            {"item_covariates": pd.DataFrame({"item": ["p0"]})},
            "item_covariates: expected columns beside item, found none",
        ),
        (
            {"reviewer_covariates": pd.DataFrame({"reviewer": ["r0", "r0"], "senior": [1, 0]})},
            "reviewer_covariates: reviewer 'r0' stands twice",
        ),
        ({"rankings": {"a": ["p0", "p0"]}}, "rankings: author 'a' ranks item 'p0' twice"),
        ({"rankings": [("a", "p0", float("nan"))]}, "rankings: expected finite ranks, found nan"),
    ],
)
def test_malformed_side_information_is_refused(conference: Conference, arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        lsc.posterior(conference.frame, **arguments)


# The command.


@pytest.fixture(scope="module")
def folder(conference: Conference, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("covariates")
    conference.frame.to_csv(path / "reviews.csv", index=False)
    conference.papers.to_csv(path / "papers.csv", index=False)
    people = conference.people.map({True: "yes", False: "no"}).rename_axis("reviewer")
    people.reset_index().to_csv(path / "people.csv", index=False)
    rows = [f"{author},{item},{n}" for author, items in conference.rankings.items() for n, item in enumerate(items, 1)]
    (path / "rankings.csv").write_text("\n".join(["author,item,rank", *rows]) + "\n", encoding="utf-8")
    return path


def words_of(folder: Path) -> list[str]:
    """Return the command line."""
    files = {name: str(folder / f"{name}.csv") for name in ("reviews", "papers", "people", "rankings")}
    words = [files["reviews"], "--items", files["papers"], "--item-covariates", "Track, pages"]
    return [*words, "--reviewers", files["people"], "--reviewer-covariates", "senior", "--rankings", files["rankings"]]


def run(*words: str) -> Result:
    return CliRunner().invoke(calibrate, list(words))


def test_the_command_reads_columns_of_its_lists(folder: Path, estimate: lsc.PosteriorEstimate) -> None:
    found = json.loads(run(*words_of(folder), "--json").stdout)
    quality = {row["item"]: row["quality"] for row in found["items"]}
    assert [quality[label] for label in estimate.items] == pytest.approx(estimate.quality.tolist(), abs=1e-6)
    assert [row["used"] for row in found["covariates"]["factors"]] == [True, False, True, True]

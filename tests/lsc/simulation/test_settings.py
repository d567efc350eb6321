"""Generators: shapes of scoring functions, where noise enters, determinism, made-up conferences, and the command."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from lsc.commands.simulate import simulate as command
from lsc.simulation import BIDS, SIMULATED, Realistic, Setting, draw_conference, draw_kinds, simulate, true_qualities
from reviewgraph import InputError, read_reviews
from tests.pages import run_line

QUALITY = np.linspace(0.0, 10.0, 21)


def curves(scoring: object, reviewers: int = 200) -> np.ndarray:
    """Scores of each reviewer, shape (reviewers, 21), over an even grid of qualities."""
    who, what = np.repeat(np.arange(reviewers), QUALITY.size), np.tile(QUALITY, reviewers)
    return scoring(who, what, np.random.default_rng(0)).reshape(reviewers, -1)  # type: ignore[operator]


def test_scoring_functions_have_their_shapes() -> None:
    slopes = {name: np.diff(curves(kind.draw_scores)) for name, kind in SIMULATED.items()}
    assert all((slope >= 0).all() for slope in slopes.values())
    assert np.allclose(np.diff(slopes["linear"]), 0.0)
    assert (np.diff(slopes["convex"]) > -1e-9).all()
    assert (np.diff(slopes["concave"]) < 1e-9).all()
    assert (np.abs(np.diff(slopes["monotone"])) > 0.1).any()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.data())
def test_monotone_scores_follow_each_reviewers_own_order(who: list[int], data: st.DataObject) -> None:
    reviewer = np.array(who)
    perceived = np.array(data.draw(st.lists(st.integers(0, 3).map(float), min_size=len(who), max_size=len(who))))
    score = SIMULATED["monotone"].draw_scores(reviewer, perceived, np.random.default_rng(0))
    for j in set(who):
        mine = np.flatnonzero(reviewer == j)
        order = mine[np.argsort(perceived[mine], kind="stable")]
        assert (np.diff(score[order]) >= 0).all()


@given(st.dictionaries(st.sampled_from(["linear", "convex", "monotone"]), st.integers(0, 3)), st.integers(0, 40))
def test_kinds_come_as_near_to_their_shares_as_they_can(shares: dict[str, int], size: int) -> None:
    if not sum(shares.values()):
        with pytest.raises(InputError, match="shares: expected weights of at least 0, not all 0"):
            draw_kinds(shares, size, np.random.default_rng(0))
        return
    kinds = draw_kinds(shares, size, np.random.default_rng(0))
    assert len(kinds) == size
    for kind, share in shares.items():
        assert abs(kinds.count(kind) - size * share / sum(shares.values())) <= 1.0


def test_noise_inside_moves_what_is_perceived_and_outside_the_score() -> None:
    plain = simulate(200, 100, 4, seed=np.random.default_rng(0))
    inside = simulate(200, 100, 4, noise=0.5, seed=np.random.default_rng(0))
    outside = simulate(200, 100, 4, noise=0.5, where="outside", seed=np.random.default_rng(0))
    assert np.array_equal(plain.truth, outside.truth)
    off = outside.reviews.score - plain.reviews.score
    assert off.std() == pytest.approx(0.5, rel=0.1)
    ratio = (inside.reviews.score - plain.reviews.score) / off
    for j in range(100):
        mine = plain.reviews.reviewer == j
        clipped = (plain.truth[plain.reviews.item[mine]] + off[mine] < 0) | (
            plain.truth[plain.reviews.item[mine]] + off[mine] > 10
        )
        assert np.ptp(ratio[mine][~clipped]) < 1e-6  # the reviewer's slope
    with pytest.raises(InputError, match="where: expected 'inside' or 'outside', found 'above'"):
        simulate(where="above", seed=np.random.default_rng(0))  # type: ignore[arg-type]


def test_realistic_scores_are_whole_and_loads_uneven() -> None:
    simulation = Realistic(300, 200).draw(np.random.default_rng(0))
    reviews = simulation.reviews
    assert set(reviews.score.tolist()) <= {float(y) for y in range(1, 11)}
    assert set(reviews.reviews_per_item.tolist()) == {3, 4, 5, 6}
    assert reviews.loads.std() > 3.0
    with pytest.raises(InputError, match="n_reviewers: expected 6 or more"):
        Realistic(10, 5).draw(np.random.default_rng(0))
    with pytest.raises(InputError, match="noise: expected a scale from 0"):
        Realistic(10, 9, -1.0).draw(np.random.default_rng(0))


def test_the_command_writes_what_it_drew(tmp_path: Path) -> None:
    words = ["linear", "--papers", "30", "--reviewers", "20", "--load", "4", "--seed", "3", "-o", str(tmp_path / "new")]
    run = CliRunner().invoke(command, words)
    assert run.exit_code == 0, run.output
    assert "80 reviews of 30 papers by 20 reviewers" in run.output
    reviews = read_reviews(tmp_path / "new" / "reviews.csv")
    expected = Setting(30, 20, 4).draw(np.random.default_rng(3))
    given = {(j, i): y for j, i, y in zip(*reviews.to_dict().values(), strict=True)}
    labels = zip(expected.reviews.reviewer, expected.reviews.item, expected.reviews.score, strict=True)
    assert given == {(f"R{j + 1}", f"P{i + 1}"): y for j, i, y in labels}
    lines = (tmp_path / "new" / "truth.csv").read_text().splitlines()
    assert lines[0] == "item,truth"
    assert [float(line.split(",")[1]) for line in lines[1:]] == expected.truth.tolist()


def test_true_qualities_have_the_mean_and_spread_of_the_paper() -> None:
    truth = true_qualities(100_000, np.random.default_rng(0))
    assert truth.mean() == pytest.approx(5.32, abs=0.02)
    assert truth.std() == pytest.approx(1.2, abs=0.02)
    assert truth.min() >= 0
    assert truth.max() <= 10


def test_slopes_and_offsets_follow_the_paper() -> None:
    who = np.repeat(np.arange(20_000), 2)
    scores = SIMULATED["linear"].draw_scores(who, np.tile([0.0, 1.0], 20_000), np.random.default_rng(2)).reshape(-1, 2)
    slope, offset = scores[:, 1] - scores[:, 0], scores[:, 0]
    assert slope.mean() == pytest.approx(1.0, abs=0.02)
    assert slope.max() <= 2
    assert offset.std() == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"seed": -1}, "seed: expected a whole number, 0 or more"),
        ({"seed": 0, "kinds": []}, "kinds: expected one per reviewer, 8, found 0"),
    ],
)
def test_arguments_of_a_simulation(argument: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate(10, 8, 3, **argument)


def test_conflicts_are_those_of_one_institution_a_paper() -> None:
    found = draw_conference(50, 31, 7)
    assert np.bincount(found.institution).tolist() == [3] * 10 + [1]
    for barred in found.conflict:
        (home,) = set(found.institution[barred].tolist())
        assert (barred == (found.institution == home)).all()
    shares = np.bincount(found.bid.ravel(), minlength=len(BIDS)) / found.bid.size
    assert shares == pytest.approx([0.3, 0.3, 0.2, 0.13, 0.07], abs=0.01)


def test_a_seed_makes_one_conference() -> None:
    first, again, other = (draw_conference(9, 6, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(one, two) for one, two in zip(first, again, strict=True))
    assert not np.array_equal(first.bid, other.bid)
    with pytest.raises(InputError, match="expected papers and reviewers, found 0 and 6"):
        draw_conference(0, 6, 1)


@pytest.mark.usefixtures("folder")
def test_scores_are_made_up_for_an_assignment_without_those_who_are_gone() -> None:
    Path("assigned.csv").write_text("item,reviewer\nq1,ann\nq2,ann\nq1,bob\nq2,cyd\n", "utf-8")
    Path("extra.csv").write_text("item,reviewer\nq2,bob\n", "utf-8")
    Path("gone.csv").write_text("reviewer\ncyd\n", "utf-8")
    told = run_line("simulate realistic --assignment assigned.csv --assignment extra.csv --gone gone.csv -o scored")
    assert told.exit_code == 0, told.output
    reviews = read_reviews("scored/reviews.csv")
    assert reviews.scored.all()
    pairs = list(zip(reviews.to_dict()["reviewer"], reviews.to_dict()["item"], strict=True))
    assert sorted(pairs) == [("ann", "q1"), ("ann", "q2"), ("bob", "q1"), ("bob", "q2")]
    assert Path("scored/truth.csv").read_text("utf-8").splitlines()[0] == "item,truth"

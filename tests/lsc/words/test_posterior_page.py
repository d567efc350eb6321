"""What people read of a posterior."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from lsc._inference.beliefs import Account, Part, Quantity, Reviewers
from lsc._inference.validation import HeldOutGain
from lsc.posteriors import PosteriorEstimate, posterior
from lsc.streams import posterior_stream
from lsc.words import posterior_page
from lsc.words.posterior_page import account_lines, page_of
from reviewgraph import Reviews, stream_reviews

pytestmark = pytest.mark.usefixtures("infer_once")


def scores(name: str = "p", seed: int = 0) -> list[tuple[str, str, float]]:
    """Six reviewers, the first harsh and the last lenient, of all but a few of twelve papers."""
    rng = np.random.default_rng(seed)
    return [
        (f"{name}r{j}", f"{name}{i}", float(np.round(5 + 0.5 * i + 1.2 * (j - 2.5) + rng.normal(0, 0.4), 1)))
        for j in range(6)
        for i in rng.choice(12, 8, replace=False).tolist()
    ]


@pytest.fixture(scope="module")
def found() -> PosteriorEstimate:
    return posterior(Reviews.from_pairs(scores()))


@pytest.fixture(scope="module")
def turned() -> PosteriorEstimate:
    """The same numbers where 1 is the best: who gave low scores is now the lenient one."""
    return posterior(Reviews.from_pairs(scores(), lower_is_better=True))


@pytest.mark.parametrize(
    ("chance", "expected"),
    [
        (0.0, "< 1 %"),
        (0.0049, "< 1 %"),
        (0.006, "1 %"),
        (0.5, "50 %"),
        (0.994, "99 %"),
        (0.996, "> 99 %"),
        (1.0, "> 99 %"),
    ],
)
def test_nothing_is_certain_in_percent(chance: float, expected: str) -> None:
    assert posterior_page.percent(chance) == expected


def with_gain(found: PosteriorEstimate, relative: float, error: float) -> PosteriorEstimate:
    changed = replace(found)
    changed.__dict__["gain"] = HeldOutGain(relative, error, 1.0, 1.0, 40)
    return changed


@pytest.mark.parametrize(
    ("relative", "error", "expected"),
    [
        (
            0.25,
            0.03,
            "predict the rankings of held-out reviewers with 25 % +- 3 (standard error) less",
        ),
        (0.04, 0.03, "with 4 % +- 3 (standard error) less squared error than averages; a part of that error is noise"),
        (-0.04, 0.03, "with 4 % +- 3 (standard error) more squared error than averages; a part of that error is noise"),
        (0.0016, 0.004, "with 0.2 % +- 0.4 (standard error) less squared error"),
        (np.nan, np.nan, "Too few reviewers scored two papers that others scored too: how much better"),
    ],
)
def test_the_first_line_is_how_far_reviewers_differ_and_what_the_correction_predicts(
    found: PosteriorEstimate, relative: float, error: float, expected: str
) -> None:
    (line,) = posterior_page.opening(with_gain(found, relative, error))
    assert expected in line
    # No verdict, whatever the gain.
    assert not re.search("helps|cannot tell|rely|trust", line)


def test_the_spread_of_severities_is_that_of_draws_of_all_reviewers(found: PosteriorEstimate) -> None:
    mean, low, high = found.reviewers.severity
    drawn = np.random.default_rng(0).normal(mean, (high - low) / (2 * 1.6448536), (20_000, mean.size))
    stated = posterior_page.spread_of_severity(found)
    assert stated == pytest.approx(drawn.std(), rel=0.02)
    assert f"a standard deviation of {stated:.2f} points" in posterior_page.worth(found)
    quality = re.search(r"papers one of (\S+)\. ", posterior_page.worth(found))
    assert quality
    assert float(quality[1]) == pytest.approx(found.draws(2000).std(), rel=0.1)
    assert posterior_page.headline(found) == (None, f"Severities differ by {stated:.2f} points")


def test_papers_whose_reviewers_are_all_constant_are_named() -> None:
    rows = [*scores(), *scores("s", 1), *(("flat", what, 7.0) for what in ("u1", "u2", *(f"p{i}" for i in range(8))))]
    result = posterior(Reviews.from_pairs(rows, items=["new"]))
    assert result.by_prior == result.to_dict()["by_prior"] == ["u1", "u2"]
    lines = posterior_page.opening(result)
    assert lines[-2] == "1 paper has no score yet and gets none."
    assert lines[-1].endswith("because all their reviewers give one score only: u1, u2.")
    # Their quality is that of the prior, with its range, and nothing else changes.
    without = posterior(Reviews.from_pairs([row for row in rows if row[1][0] != "u"]))
    others = [result.items.index(item) for item in without.items]
    prior = [result.items.index(item) for item in ("u1", "u2")]
    assert result.quality[prior].tolist() == [result.beliefs.location] * 2
    assert result.standard_error[prior].min() > result.standard_error[others].max()
    assert result.quality[others] == pytest.approx(without.quality)
    assert result.standard_error[others] == pytest.approx(without.standard_error)
    assert {"u1", "u2"} < set(result.ranking())
    assert np.isfinite(result.draws(10)[:, [result.items.index("u1")]]).all()
    [only] = [part for part in result.account("u1").parts if part.weight > 0]
    assert only.source == "middle"


def test_the_opening_names_groups_and_papers_without_a_score() -> None:
    rows = [*scores(), ("x", "q1", 4.0), ("x", "q2", 6.0)]
    lines = posterior_page.opening(posterior(Reviews.from_pairs(rows, items=["new", "newer"])))
    assert len(lines) == 3
    assert "no review connects the 2 groups; the largest has 12 of 14 papers" in lines[1]
    assert lines[2] == "2 papers have no score yet and get none."


def test_scores_without_differences_between_reviewers_are_called_averages() -> None:
    alike = posterior(Reviews.from_pairs([(who, what, 3.0) for who in "abc" for what in "xyz"]))
    page = page_of(alike)
    assert page.opening[0].startswith("These scores show no differences between reviewers")
    assert not any("interquartile" in line for line in page.body)


def stands_out(result: PosteriorEstimate, word: str) -> str:
    return next((line for line in posterior_page.reviewer_lines(result) if line.startswith(f"  {word}: ")), "")


def test_harsh_and_lenient_change_places_with_the_direction(
    found: PosteriorEstimate, turned: PosteriorEstimate
) -> None:
    assert stands_out(found, "harsh") == "  harsh: pr0"
    assert stands_out(found, "lenient") == "  lenient: pr5"
    assert stands_out(turned, "harsh") == "  harsh: pr5"
    assert stands_out(turned, "lenient") == "  lenient: pr0"


def test_reviewers_are_named_if_their_whole_interval_is_outside_the_interquartile_range(
    found: PosteriorEstimate,
) -> None:
    centre = np.array([-3.0, -1.0, 0.0, 0.0, 1.0, 3.0])

    def lines(reach: float) -> list[str]:
        quantity = Quantity(centre, centre - reach, centre + reach)
        level, noise = Quantity(*np.ones((3, 6))), Quantity(*(np.exp(side) for side in quantity))
        beliefs = replace(found.beliefs, reviewers=Reviewers(quantity, level, noise))
        return posterior_page.reviewer_lines(replace(found, beliefs=beliefs))

    assert lines(0.5) == [
        "Of 6 reviewers, outside the interquartile range with probability 90 %:",
        "  harsh: pr5",
        "  lenient: pr0",
        "  erratic: pr5",
        "  steady: pr0",
    ]
    # Wide intervals: nobody is significantly unusual.
    assert lines(5.0) == ["None of 6 reviewers is outside the interquartile range with probability 90 %."]


def test_reviewers_of_few_scores_are_counted_not_named() -> None:
    rows = [*scores(), ("one", "p3", 1.0), ("two", "p4", 9.0), ("two", "p5", 9.5)]
    lines = posterior_page.reviewer_lines(posterior(Reviews.from_pairs(rows)))
    assert lines[-1] == "2 reviewers gave one or two scores, too few to estimate their severity."


def account(found: PosteriorEstimate, who: str) -> tuple[str, str]:
    """A paper that a reviewer scored, and the line of this score in its account."""
    item = next(what for reviewer, what, _ in scores() if reviewer == who)
    lines = account_lines(found.account(item), "On titles")
    assert lines[0].startswith(f"Paper {item} On titles: quality ")
    return item, next(line for line in lines if f" {who} gave " in line)


def test_an_account_says_who_is_harsh_whatever_the_direction(
    found: PosteriorEstimate, turned: PosteriorEstimate
) -> None:
    assert re.search(r"counts as .*\(\+\d\.\d\d as this reviewer is harsh", account(found, "pr0")[1])
    assert re.search(r"counts as .*\(-\d\.\d\d as this reviewer is lenient", account(found, "pr5")[1])
    # Where 1 is the best, low scores are lenient, and the correction raises the number.
    assert re.search(r"counts as .*\(\+\d\.\d\d as this reviewer is lenient", account(turned, "pr0")[1])
    assert re.search(r"counts as .*\(-\d\.\d\d as this reviewer is harsh", account(turned, "pr5")[1])


def test_the_lines_of_an_account_add_up_as_printed(found: PosteriorEstimate) -> None:
    for label in found.ranking():
        told = found.account(label)
        lines = account_lines(told)
        numbers = [float(match[1]) for line in lines if (match := re.match(r"\s+([+-]?\d+\.\d\d)  ", line))]
        middle, *moves, total = numbers
        assert len(moves) == len(told.parts) - 1
        assert middle + sum(moves) == pytest.approx(total, abs=0.005 * (len(numbers) + 1))
        assert total == pytest.approx(told.quality, abs=0.005)


def test_every_kind_of_part_has_words() -> None:
    parts = (
        Part("review", "ann", 7.0, 0.0, 0.01, 7.01, 0.4, 0.8),
        Part("likeness", "ann", None, 0.0, 0.0, 6.0, 0.1, 0.1),
        Part("reference", None, 83.0, 0.0, 0.0, 6.5, 0.2, 0.3),
        Part("middle", None, None, 0.0, 0.0, 5.0, 0.3, 0.0),
    )
    lines = account_lines(Account("p1", 6.2, 0.3, 7.0, 5.0, parts))
    assert lines[2:7] == [
        "      5.00  starting point of every paper: the overall mean",
        "     +0.80  ann gave 7; weight 40 %",
        "     +0.10  reviewers have similar papers: the other papers of ann (weight 10 %)",
        "     +0.30  its reference 83; weight 20 %",
        "      6.20  the sum",
    ]
    assert "have 70 % of the weight, the overall mean 30 %" in lines[-1]


def test_decisions_count_every_paper_once(found: PosteriorEstimate) -> None:
    selection = found.selection(4)
    lines = posterior_page.decisions(found, selection)
    sizes = [re.search(r"\((\d+)", line) for line in lines if line.startswith(("In, ", "To discuss"))]
    inside = [int(match[1]) for match in sizes if match]
    out = next(int(match[1]) for line in lines if (match := re.match(r"Out, .*: (\d+) papers?\.", line)))
    assert sum(inside) + out == 12
    first = lines[next(place for place, line in enumerate(lines) if line.startswith("To discuss")) + 1]
    assert first.split() == [
        *f"{100 * selection.chance[selection.nearest[0]]:.0f} %".split(),
        *selection.named(selection.nearest[:1]),
    ]
    assert lines[0].startswith(f"Selecting 4 papers. Of the 4 of highest quality, {selection.expected_wrong:.1f} are")


def test_changes_name_who_comes_in_and_who_goes_out(found: PosteriorEstimate) -> None:
    best = found.selection(4)
    same = replace(best, by_average=best.best)
    assert posterior_page.changes(found, same) == [
        "The 4 of highest average are the same papers as the 4 of highest quality."
    ]
    other = replace(best, by_average=np.array([*best.best[:3], best.ranked[-1]]))
    first, second = posterior_page.changes(found, other)
    assert first == "1 of the 4 of highest quality is not among the 4 of highest average:"
    into, out = found.items[best.best[3]], found.items[best.ranked[-1]]
    assert second.startswith(f"  {into} instead of {out}: the better of the two with probability > 99 %")


def test_a_lottery_names_its_papers_and_probabilities() -> None:
    lines = posterior_page.lottery_lines(["a", "c"], {"a": 1.0, "b": 0.25, "c": 0.75}, 7)
    assert lines == [
        "Lottery (seed 7): 1 paper is in for certain; the other 1 place is drawn among 2 papers, with these "
        "probabilities:",
        "  c (75 %), b (25 %)",
        "Drawn: c",
        "The same seed draws the same papers: announce it before drawing.",
    ]
    default = posterior_page.lottery_lines(["a", "c"], {"a": 1.0, "b": 0.25, "c": 0.75}, 0, given=False)
    assert default[-1].startswith("No --seed was given, so it is 0, for everybody and every time")
    assert posterior_page.lottery_lines(["a"], {"a": 1.0}, 7) == [
        "Lottery: nothing to draw, 1 paper is in for certain."
    ]


def test_a_page_has_the_chances_only_of_a_selection(found: PosteriorEstimate) -> None:
    def header(lines: list[str]) -> str:
        return next(line for line in lines if line.startswith("rank"))

    assert header(page_of(found).body).endswith("90 % range  average  its rank")
    assert header(page_of(found, found.selection(4)).body).endswith("its rank  among best 4")


def test_papers_with_the_quality_of_the_prior_are_the_same_in_large_tables(tmp_path: Path) -> None:
    rows = [*scores(), *scores("s", 1), *(("flat", what, 7.0) for what in ("u1", "u2", *(f"p{i}" for i in range(8))))]
    path = tmp_path / "scores.parquet"
    columns = dict(zip(("reviewer", "item", "score"), zip(*rows, strict=True), strict=True))
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    with stream_reviews(path) as stream:
        result = posterior_stream(stream)
        lines = posterior_page.posterior_lines(result)
        assert result.to_dict()["by_prior"] == ["u1", "u2"]
    whole = posterior(Reviews.from_pairs(rows))
    assert sorted(result.quality) == pytest.approx(sorted(whole.quality), abs=1e-3)
    assert sorted(result.standard_error) == pytest.approx(sorted(whole.standard_error), abs=1e-3)
    assert any(line.endswith("because all their reviewers give one score only: u1, u2.") for line in lines)
    assert not any("no score and so no place" in line for line in lines)

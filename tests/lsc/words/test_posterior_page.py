"""What people read of a posterior."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from lsc._inference.beliefs import Quantity, Reviewers
from lsc.posteriors import PosteriorEstimate, posterior
from lsc.words import posterior_page
from lsc.words.posterior_page import account_lines
from reviewgraph import Reviews

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

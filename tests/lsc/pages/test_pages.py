"""What people read of a calibration: its numbers are those of the result."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lsc._inference.beliefs import Quantity, Reviewers
from lsc.baselines import bayesian
from lsc.calibration import calibrate
from lsc.pages import page
from lsc.pages.page import page_of
from lsc.pages.papers import account_table, contributions
from lsc.posteriors import PosteriorEstimate, posterior
from reviewgraph import Reviews, stream_reviews
from reviewgraph._base import Nouns, Page, Table

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
    return posterior(Reviews(scores()))


@pytest.fixture(scope="module")
def turned() -> PosteriorEstimate:
    """The same numbers where 1 is the best: who gave low scores is now the lenient one."""
    return posterior(Reviews(scores(), lower_is_better=True))


def test_the_spread_of_severities_is_that_of_draws_of_all_reviewers(found: PosteriorEstimate) -> None:
    mean, low, high = found.reviewers.severity
    drawn = np.random.default_rng(0).normal(mean, (high - low) / (2 * 1.6448536), (20_000, mean.size))
    stated = page.spread_of_severity(found)
    assert stated == pytest.approx(drawn.std(), rel=0.02)
    text = " ".join(found.summary().text("model").split())
    assert f"a standard deviation of {stated:.2f} points" in text
    quality = re.search(r"papers one of (\S+)\. ", text)
    assert quality
    assert float(quality[1]) == pytest.approx(found.draws(2000).std(), rel=0.1)


def test_the_verdict_says_whether_the_correction_helps(found: PosteriorEstimate) -> None:
    def verdict(relative: float, error: float) -> tuple[bool | None, str]:
        result = replace(found)
        vars(result)["gain"] = replace(found.gain, relative=relative, standard_error=error)
        shown = page_of(result)
        return shown.good, f"{shown.verdict} {shown.summary}"

    by_chance = "than averages, no more than chance (higher is better)"
    real = "than averages, more than chance (higher is better)"
    assert verdict(0.26, 0.12) == (True, f"Correction helps: 26 % +- 12 less error {real}")
    assert verdict(0.01, 0.08) == (None, f"No gain: 1 % +- 8 less error {by_chance}")
    assert verdict(-0.1, 0.08) == (None, f"No gain: 10 % +- 8 more error {by_chance}")
    assert verdict(-0.3, 0.1) == (False, f"Correction harms: 30 % +- 10 more error {real}")
    assert verdict(np.nan, np.nan)[1].startswith("Corrected: too few reviewers")
    alike = [(f"r{j}", f"p{i}", float((i + j * j) % 3)) for j in range(4) for i in range(6)]
    shown = posterior(Reviews(alike, lower_is_better=True)).summary()
    assert (shown.good, shown.verdict) == (True, "Nothing to correct:")
    assert shown.summary == "no differences between reviewers (lower is better)"
    for what, rows in {
        "reviewer": [("r", f"p{i}", float(i)) for i in range(3)],
        "paper": [(f"r{j}", "p", float(j)) for j in range(3)],
    }.items():
        shown = posterior(Reviews(rows, lower_is_better=True)).summary()
        assert (shown.good, shown.verdict) == (None, "Nothing to compare:")
        assert shown.summary.startswith(f"the scores of one {what} show no differences between reviewers")


def test_papers_whose_reviewers_are_all_constant_are_named() -> None:
    rows = [*scores(), *scores("s", 1), *(("flat", what, 7.0) for what in ("u1", "u2", *(f"p{i}" for i in range(8))))]
    result = posterior(Reviews(rows, items=["new"]))
    assert result.by_prior == result.to_dict()["by_prior"] == ["u1", "u2"]
    shown = result.summary()
    assert dict(fact for fact in shown.facts if not isinstance(fact, Table))["Not ranked"] == "new (no score)"
    [warning] = [line for line in shown.warnings if "one score only" in line]
    assert warning.startswith("u1, u2: ")
    # Their quality is that of the prior, with its range, and nothing else changes.
    without = posterior(Reviews([row for row in rows if row[1][0] != "u"]))
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


def stands_out(result: PosteriorEstimate) -> dict[str, list[str]]:
    labels = result.reviews.reviewers
    return {kind: [labels[j] for j in codes] for kind, codes in page.unusual(result.beliefs).items()}


def test_harsh_and_lenient_change_places_with_the_direction(
    found: PosteriorEstimate, turned: PosteriorEstimate
) -> None:
    assert (stands_out(found)["harsh"], stands_out(found)["lenient"]) == (["pr0"], ["pr5"])
    assert (stands_out(turned)["harsh"], stands_out(turned)["lenient"]) == (["pr5"], ["pr0"])
    assert "harsh pr0; lenient pr5" in found.summary().text()


def test_reviewers_are_named_if_their_whole_interval_is_outside_the_interquartile_range(
    found: PosteriorEstimate,
) -> None:
    centre = np.array([-3.0, -1.0, 0.0, 0.0, 1.0, 3.0])

    def kinds(reach: float) -> dict[str, list[str]]:
        quantity = Quantity(centre, centre - reach, centre + reach)
        level, noise = Quantity(*np.ones((3, 6))), Quantity(*(np.exp(side) for side in quantity))
        beliefs = replace(found.beliefs, reviewers=Reviewers(quantity, level, noise))
        return stands_out(replace(found, beliefs=beliefs))

    assert kinds(0.5) == {"harsh": ["pr5"], "lenient": ["pr0"], "erratic": ["pr5"], "steady": ["pr0"]}
    # Wide intervals: nobody is significantly unusual.
    assert kinds(5.0) == {}


def account(found: PosteriorEstimate, who: str) -> str:
    """The line of a score of a reviewer in the account of its paper."""
    item = next(what for reviewer, what, _ in scores() if reviewer == who)
    return next(line for line in contributions(found.account(item)) if f" {who} gave " in line)


def test_an_account_says_who_is_harsh_whatever_the_direction(
    found: PosteriorEstimate, turned: PosteriorEstimate
) -> None:
    assert re.search(r"counts as .*\(\+\d\.\d\d as this reviewer is harsh", account(found, "pr0"))
    assert re.search(r"counts as .*\(-\d\.\d\d as this reviewer is lenient", account(found, "pr5"))
    # Where 1 is the best, low scores are lenient, and the correction raises the number.
    assert re.search(r"counts as .*\(\+\d\.\d\d as this reviewer is lenient", account(turned, "pr0"))
    assert re.search(r"counts as .*\(-\d\.\d\d as this reviewer is harsh", account(turned, "pr5"))


def test_the_table_of_an_account_adds_up_as_printed(found: PosteriorEstimate) -> None:
    for label in found.ranking():
        told = found.account(label)
        *moves, total = account_table(told).columns[-1].cells
        assert len(moves) == len(told.parts)
        assert sum(moves) == pytest.approx(total, abs=0.005 * (len(moves) + 1))
        assert total == pytest.approx(told.quality, abs=0.005)


def facts(shown: Page) -> tuple[dict[str, str], list[Table]]:
    tables = [fact for fact in shown.facts if isinstance(fact, Table)]
    return dict(fact for fact in shown.facts if not isinstance(fact, Table)), tables


def test_decisions_count_every_paper_once_and_the_likeliest_come_first(found: PosteriorEstimate) -> None:
    selection = found.selection(4)
    shown = page_of(found, selection)
    sizes = [len(selection.certain), len(selection.discuss), len(selection.out)]
    assert sum(sizes) == 12
    inside, discuss, places, out = map(int, re.findall(r"\d+", shown.verdict))
    assert ([inside, discuss, out], places) == (sizes, 4 - inside)
    named, [table] = facts(shown)
    assert named["In"] == ", ".join(selection.certain)
    assert list(table.columns[0].values) == selection.discuss
    chances = next(column.values for column in table.columns if column.name == "chance, %")
    assert list(chances) == sorted(chances, reverse=True)
    assert f"about {selection.expected_wrong:.1f} of the 4 most likely" in named["Errors"]
    names = [line.strip() for line in shown.text("out").splitlines()]
    assert set(selection.out) <= set(names)


def test_of_several_groups_the_best_of_each_are_seen() -> None:
    result = posterior(Reviews([*scores(), *scores("s", 1), *scores("t", 2)]))
    page = page_of(result)
    _, [table] = facts(page)
    seen = table.first_rows
    group = [column.name for column in table.columns].index("group")
    assert sorted(row[group] for row in seen) == ["1"] * 3 + ["2"] * 3 + ["3"] * 3
    assert (page.good, page.verdict) == (False, "No order of all:")
    assert "3 groups that no review connects (12, 12, 12 papers" in page.summary
    refused = page_of(result, refused=True)
    assert (refused.good, refused.verdict) == (False, "No order of all:")
    assert "12, 12, 12 papers; higher is better" in refused.summary
    apart = page_of(result, explained=["p0", "s0"])
    assert any("cannot be compared" in line for line in apart.warnings)
    group = result.group[result.items.index("p0")]
    assert f"of 12 in group {group}" in facts(apart)[0]["p0"]
    assert f"of 12 in group {group}" in page_of(result, explained=["p0"]).verdict


def test_of_two_papers_that_are_explained_the_better_one_is_named(found: PosteriorEstimate) -> None:
    first, second, *_ = found.ranking()
    named, tables = facts(page_of(found, found.selection(1), explained=[second, first]))
    assert len(tables) == 2
    assert found.difference(first, second).probability > 0.995
    assert named["Better"] == f"{first} than {second} with probability > 99 %"
    assert named[first].startswith("rank 1 of 12, ")
    assert "among the best 1" in named[second]


def test_papers_to_discuss_beyond_the_first_are_named_in_a_line() -> None:
    rng = np.random.default_rng(0)
    rows = [(f"r{j}", f"p{i}", float(rng.normal(i / 10, 2))) for j in range(6) for i in range(14)]
    result = posterior(Reviews(rows))
    selection = result.selection(5)
    _, [table] = facts(page_of(result, selection))
    assert len(table) == len(selection.discuss) > 8
    assert table.shown == 7
    assert table.more == f"... then {', '.join(map(str, selection.discuss[7:]))}"


def test_least_squares_tell_their_limits() -> None:
    shown = calibrate(Reviews([*scores(), ("x", "q1", 1.0), ("y", "q1", 3.0), ("y", "p1", 4.0)])).summary()
    assert shown.verdict == "Ranked:"
    assert shown.summary == "13 papers (least squares, linear reviewers; higher is better)"
    assert any(re.search("may be more accurate: .*missing", line) for line in shown.warnings)
    assert any("do not determine the place of 1 paper" in line for line in shown.warnings)


def test_the_page_of_a_selection_in_python_is_that_of_the_command() -> None:
    result = posterior(Reviews(scores()))
    selected = result.summary(n_selected=4)
    assert (selected.verdict, selected.summary) == (
        page_of(result, result.selection(4)).verdict,
        page_of(result, result.selection(4)).summary,
    )
    assert "to discuss" in str(selected) or "In" in str(selected)


def test_the_table_of_an_account_prints_scores_with_two_digits_if_any_is_no_whole_number() -> None:
    rows = [(who, what, score + 0.25) for who, what, score in scores()]
    result = posterior(Reviews(rows))
    for label in result.ranking():
        columns = {column.name: column for column in account_table(result.account(label)).columns}
        lines = zip(*(columns[name].cells for name in ("score", "shift", "counts as")), strict=True)
        for score, shift, value in list(lines)[1:-1]:
            assert score + shift == pytest.approx(value, abs=0.011)


def test_a_picture_says_which_scores_the_lenient_give(found: PosteriorEstimate, turned: PosteriorEstimate) -> None:
    for result, more, fewer in ((found, "more", "fewer"), (turned, "fewer", "more")):
        said = rf"most lenient gives \S+ points {more} .*, the harshest \S+ {fewer};"
        assert re.search(said, page.severities(result).words)


def test_pages_of_explained_papers_warn_as_others() -> None:
    result = posterior(Reviews([*scores(), *scores("q", 1)]))
    refusal, apart = page_of(result, explained=["p0", "q0"], refused=True).warnings
    assert refusal.startswith("Nothing is selected: ")
    assert apart.startswith("Papers of different groups ")
    across = page_of(result, result.selection(3, across_groups=True), explained=["p0"])
    assert [line.partition(":")[0] for line in across.warnings] == [
        "Groups that no review connects are taken as equally good"
    ]


def test_pages_of_explained_papers_have_the_draw(found: PosteriorEstimate) -> None:
    selection = found.selection(4)
    drawn = selection.draw(0)
    whole = page_of(found, selection, drawn=drawn, seed=0)
    assert facts(page_of(found, selection, drawn=drawn, seed=0, explained=["p3"]))[0] == {
        "Drawn": facts(whole)[0]["Drawn"]
    }


def test_papers_that_are_in_and_drawn_are_those_selected() -> None:
    rows = [*scores(), *((who, what, score + 3 * (what == "q11")) for who, what, score in scores("q", 1))]
    result = posterior(Reviews(rows))
    selection = result.selection(3, across_groups=True)
    # One of another group is drawn for certain.
    assert (selection.lottery[selection.discuss_codes] == 1).any()
    named, _ = facts(page_of(result, selection, drawn=selection.draw(0), seed=0))
    listed = [*named["In"].split(", "), *named["Drawn"].partition(" (of")[0].split(", ")]
    assert {*listed} - {"none"} == {*selection.draw(0)}


def test_corrected_scores_are_on_the_scale_of_references() -> None:
    references = {f"p{i}": 10.0 * i for i in range(12)}
    result = posterior(Reviews(scores()), references=references)
    assert "would have given, on the scale of the references." in page_of(result, explained=["p3"]).text("why", 1000)
    assert "the diagonal gain" not in result.summary().text("scores", 1000)
    assert "the diagonal gain" not in bayesian(Reviews(scores())).summary().text("scores", 1000)


def test_references_that_the_scores_contradict_are_told_from_those_without_a_relation() -> None:
    def warning(sign: int) -> str:
        references = {f"p{i}": sign * 10.0 * i for i in range(12)}
        (line,) = posterior(Reviews(scores()), references=references).summary().warnings
        return line

    assert re.match(r"The scores leave \d+ % of the spread", warning(1))
    assert warning(-1).startswith("The scores contradict the references: ")


def test_pages_point_to_sections_that_they_have(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("reviewer,item,score\n" + "".join(f"{','.join(map(str, row))}\n" for row in scores()))
    with stream_reviews(path) as stream:
        _, [table] = facts(page_of(posterior(stream)))
    assert (table.hidden, table.section) == (1, "")
    assert "#papers" not in posterior(Reviews(scores())).summary()._repr_html_()


def test_in_other_nouns_pages_point_to_sections_that_they_have(found: PosteriorEstimate) -> None:
    page = replace(page_of(found), nouns=Nouns("essay", "grader"))
    assert "more (--verbose papers)" in page.text()
    assert "essay" in page.text("papers")
    links = set(re.findall(r'href="#([^"]+)"', page.html()))
    assert links <= set(re.findall(r'id="([^"]+)"', page.html()))


def test_long_labels_that_begin_alike_are_told_apart() -> None:
    start = "a-label-of-a-paper-that-is-longer-than-most-of-a-line-"
    result = posterior(Reviews([(who, start + what, score) for who, what, score in scores()]))
    selection = result.selection(3)
    named, _ = facts(page_of(result, selection))
    assert named["In"] == ", ".join(map(str, selection.certain))


def test_a_picture_has_the_range_of_the_probabilities_of_those_that_are_tied() -> None:
    rows = [(who, i, mark) for i in range(13) for who, mark in (("ann", 4.0), ("bob", 6.5 if i == 0 else 6.0))]
    result = posterior(Reviews(rows))
    words = page.line_picture(result, result.selection(1)).words
    assert "is from 8 % to 10 %; --lottery draws 1 place among them." in words
    assert "separates the 1 of highest quality from the others" in words

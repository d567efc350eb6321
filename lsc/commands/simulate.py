"""``reviewgraph simulate``: scores with known truth, or the files of a conference before its reviews."""

from __future__ import annotations

import os
import shlex
from typing import Any

import click

from lsc._model.hypotheses import simulated
from reviewgraph._base import Fact, Next, Page
from reviewgraph.cli import Number, Refusal, Session, examples, option, pass_session

PRESETS = (*(kind.name for kind in simulated()), "mixture", "mixed", "doubly-connected", "realistic")
#: The preset without reviews.
CONFERENCE = "conference"
N_PAPERS = 100
N_REVIEWERS = 80
#: The options of ``assign`` that take its files.
OFFERED = (
    ("items", "papers.csv"),
    ("reviewers", "reviewers.csv"),
    ("bids", "bids.csv"),
    ("conflicts", "conflicts.csv"),
)


#: Descriptions of hypothesis classes in help; others are described by their own words.
SIMULATED = {
    "linear": "score = slope * quality + offset for each reviewer",
    "convex, concave": "sums of powers",
    "monotone": "any scores, in the right order",
}
SIMULATED |= {kind.name: kind.words for kind in simulated() if kind.name not in ", ".join(SIMULATED)}
HELP = f"""Simulate scores whose truth is known, or a conference before its reviews.

Scores are written to reviews.csv, and the true qualities to truth.csv.

\b
{chr(10).join(f"{name:<17} {words}" for name, words in SIMULATED.items())}
mixture           half linear, half monotone
mixed             one third each convex, concave and monotone
doubly-connected  linear; 350 reviewers who put all papers on one scale
realistic         integer scores 1-10, 3-6 reviews per paper, much noise
conference        papers.csv, reviewers.csv, bids.csv and conflicts.csv
"""


@click.command(
    help=HELP,
    epilog=examples(
        ("Realistic scores:", "simulate realistic --papers 60 --reviewers 40 -o made-up"),
        ("Their calibration:", "calibrate made-up/reviews.csv"),
        ("Scores for an assignment:", "simulate realistic --assignment pcassignments.csv -o scored"),
        ("Bids and conflicts for an assignment:", "simulate conference --papers 60 --reviewers 40 -o to-assign"),
    ),
)
@click.argument("preset", type=click.Choice([*PRESETS, CONFERENCE]))
@option("Input", "--papers N", minimum=1, help="Number of papers.  [default: 1000; conference 100]")
@option(
    "Input",
    "--reviewers N",
    minimum=1,
    help="Number of reviewers.  [default: 1000; doubly-connected 350; conference 80]",
)
@option("Input", "--load N", minimum=1, help="Papers per reviewer; not for realistic.  [default: 5]")
@option("Input", "--noise S", type=Number(0), help="Size of the noise.  [default: 0; realistic 1]")
@option(
    "Input",
    "--where",
    type=click.Choice(["inside", "outside"]),
    help="Noise in the perceived quality, or in the score; not for realistic.  [default: inside]",
)
@option("Input", "--assignment FILE", multiple=True, help="With realistic: who reviews what. May be repeated.")
@option("Input", "--gone FILE", help="With --assignment: reviewers who do not deliver (reviewer, or item,reviewer).")
@option("Input", "--seed N", minimum=0, default=0, help="Random seed.")
@option(
    "Input",
    "-o DIR",
    "output",
    default=".",
    help="Folder of the files.  [default: the current folder]",
    show_default=False,
)
@option("Input", "--overwrite", is_flag=True, help="Replace existing files that differ.")
@pass_session
def simulate(
    session: Session,
    /,
    preset: str,
    assignment: tuple[str, ...],
    gone: str | None,
    seed: int,
    output: str,
    overwrite: bool,
    **changes: Any,
) -> None:
    """Simulate scores whose truth is known, or a conference before its reviews."""
    if gone and not assignment:
        raise click.UsageError("--gone: expected --assignment FILE with it, found none")
    if assignment:
        changes["assignment"] = _read_assignment(session, assignment)
    if preset == CONFERENCE:
        _make_up_conference(session, output, overwrite, seed, **changes)
    else:
        _make_up_scores(session, preset, output, overwrite, seed, changes)


def _make_up_scores(
    session: Session, preset: str, output: str, overwrite: bool, seed: int, changes: dict[str, Any]
) -> None:
    from lsc.simulation import PRESETS as SETTINGS
    from reviewgraph._base import csv_text

    simulation = _changed(preset, SETTINGS[preset], changes).draw(seed)
    reviews = simulation.reviews
    named = changes.get("assignment") is not None
    paper = list(reviews.items) if named else _numbered("P", reviews.n_items)
    reviewer = list(reviews.reviewers) if named else _numbered("R", reviews.n_reviewers)
    table = {
        "reviewer": [reviewer[j] for j in reviews.reviewer.tolist()],
        "item": [paper[i] for i in reviews.item.tolist()],
        "score": [int(score) if score.is_integer() else score for score in reviews.score.tolist()],
    }
    truth = {"item": paper, "truth": simulation.truth.tolist()}
    _write(output, {"reviews.csv": csv_text(table), "truth.csv": csv_text(truth)}, overwrite)
    where = os.path.join(output, "reviews.csv")
    busy = int((reviews.loads > 0).sum())
    summary = f"{reviews.n_reviews} reviews of {len(paper)} papers by {busy} reviewers"
    places = [Fact("Reviews", where), Fact("Truth", os.path.join(output, "truth.csv"))]
    following = [Next.of("calibrate", shlex.quote(where))]
    session.show(Page("Simulation", None, "Simulated:", summary, places, following=following))


def _make_up_conference(
    session: Session,
    output: str,
    overwrite: bool,
    seed: int,
    *,
    papers: int | None,
    reviewers: int | None,
    **further_options: Any,
) -> None:
    from lsc.simulation import BIDS, draw_conference
    from reviewgraph._base import csv_text

    unknown = [name for name, value in further_options.items() if value is not None]
    if unknown:
        raise click.UsageError(f"--{unknown[0]} cannot be combined with {CONFERENCE}")
    conference = draw_conference(papers or N_PAPERS, reviewers or N_REVIEWERS, seed)
    paper, reviewer = (_numbered(letter, number) for letter, number in zip("PR", conference.bid.shape, strict=True))
    pairs = [(i, j) for i in range(len(paper)) for j in range(len(reviewer))]
    free, barred = (
        [pair for pair in pairs if bool(conference.conflict[pair]) == is_barred] for is_barred in (False, True)
    )
    institution = [f"Institution {number + 1}" for number in conference.institution.tolist()]
    tables = {
        "papers.csv": {"item": paper},
        "reviewers.csv": {"reviewer": reviewer, "institution": institution},
        "bids.csv": {**_columns(paper, reviewer, free), "bid": [BIDS[conference.bid[pair]] for pair in free]},
        "conflicts.csv": _columns(paper, reviewer, barred),
    }
    _write(output, {name: csv_text(table) for name, table in tables.items()}, overwrite)
    where = {name: os.path.normpath(os.path.join(output, name)) for name in tables}
    lists = [f"--{option} {shlex.quote(where[name])}" for option, name in OFFERED]
    summary = f"{len(paper)} papers and {len(reviewer)} reviewers, with bids and conflicts"
    files = [Fact("Files", ", ".join(where.values()))]
    session.show(Page("Simulation", None, "Simulated:", summary, files, following=[Next.of("assign", *lists)]))


def _read_assignment(session: Session, paths: tuple[str, ...]) -> Any:
    """Return who reviews what, by the labels of the files, without reviewers who are gone; scores are ignored."""
    from reviewgraph.io import read_reviews, without_gone

    reviews = read_reviews(*paths, read=session.keep)
    return without_gone(reviews, session.read("gone"))


def _numbered(letter: str, number: int) -> list[str]:
    return [f"{letter}{place + 1}" for place in range(number)]


def _columns(paper: list[str], reviewer: list[str], pairs: list[tuple[int, int]]) -> dict[str, list[str]]:
    return {"item": [paper[i] for i, _ in pairs], "reviewer": [reviewer[j] for _, j in pairs]}


def _changed(preset: str, setting: Any, changes: dict[str, Any]) -> Any:
    """Return the preset with the options given."""
    from dataclasses import replace

    names = {"papers": "n_items", "reviewers": "n_reviewers"}
    changed = {names.get(name, name): value for name, value in changes.items() if value is not None}
    unknown = [name for name in changed if not hasattr(setting, name)]
    if unknown:
        raise click.UsageError(f"--{unknown[0]} cannot be combined with {preset}")
    return replace(setting, **changed)


def _write(folder: str, files: dict[str, str], overwrite: bool) -> None:
    """Write all files or none; other files are replaced only with ``overwrite``."""
    from reviewgraph._base import write_together

    for name, text in files.items():
        place = os.path.join(folder, name)
        if not overwrite and os.path.exists(place) and not _holds(place, text):
            raise Refusal(f"{place}: exists with other content; name another folder with -o, or use --overwrite")
    write_together(folder, files)


def _holds(path: str, text: str) -> bool:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read(len(text) + 1) == text
    except (OSError, ValueError):
        return False

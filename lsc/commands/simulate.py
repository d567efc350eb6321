"""The command ``reviewgraph simulate``."""

from __future__ import annotations

import os
import shlex
from typing import Any

import click

from reviewgraph.cli.options import examples
from reviewgraph.cli.output import offer, refusing, show

PRESETS = ("linear", "convex", "concave", "monotone", "mixture", "mixed", "doubly-connected", "realistic")


HELP = """Make up scores whose truth is known: writes reviews.csv and truth.csv.

\b
linear            score = slope * quality + offset for each reviewer
convex, concave   sums of powers
monotone          any scores, in the right order
mixture           half linear, half monotone
mixed             a third each convex, concave and monotone
doubly-connected  linear; 350 reviewers who put all papers on one scale
realistic         whole scores 1-10, 3-6 reviews a paper, much noise
"""


@click.command(
    help=HELP,
    epilog=examples(
        ("Scores as people give them:", "simulate realistic --papers 60 --reviewers 40 -o made-up"),
        ("And what calibration makes of them:", "calibrate made-up/reviews.csv"),
    ),
)
@click.argument("preset", type=click.Choice(PRESETS))
@click.option("--papers", type=click.IntRange(1), help="How many papers.  [default: 1000]")
@click.option("--reviewers", type=click.IntRange(1), help="How many reviewers.  [default: 1000; doubly-connected 350]")
@click.option("--load", type=click.IntRange(1), help="Papers a reviewer, but in realistic.  [default: 5]")
@click.option("--noise", type=click.FloatRange(0), help="Size of the noise.  [default: 0; realistic 1]")
@click.option(
    "--where",
    type=click.Choice(["inside", "outside"]),
    help="Noise in what a reviewer perceives, or in the score, but in realistic.  [default: inside]",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Another number, other scores.")
@click.option("-o", "output", default=".", metavar="DIR", help="Where to write.  [default: this folder]")
@refusing
def simulate(preset: str, seed: int, output: str, **changes: Any) -> None:
    """Make up scores whose truth is known."""
    from lsc.simulation.settings import PRESETS as SETTINGS
    from reviewgraph.cli.output import csv_text

    setting = _changed(preset, SETTINGS[preset], changes)
    found = setting.draw(seed)
    reviews = found.reviews
    paper = [f"P{i + 1}" for i in range(reviews.n_items)]
    reviewer = [f"R{j + 1}" for j in range(reviews.n_reviewers)]
    table = {
        "reviewer": [reviewer[j] for j in reviews.reviewer.tolist()],
        "item": [paper[i] for i in reviews.item.tolist()],
        "score": [int(score) if score.is_integer() else score for score in reviews.score.tolist()],
    }
    truth = {"item": paper, "truth": found.truth.tolist()}
    _write(output, {"reviews.csv": csv_text(table), "truth.csv": csv_text(truth)})
    where = os.path.join(output, "reviews.csv")
    busy = int((reviews.loads > 0).sum())
    show(f"{reviews.n_reviews} reviews of {len(paper)} papers by {busy} reviewers are in {where},")
    show("the true qualities in truth.csv beside it.")
    offer(f"reviewgraph calibrate {shlex.quote(where)}", "to see whether calibration finds them")


def _changed(preset: str, setting: Any, changes: dict[str, Any]) -> Any:
    """Return the preset with the options given."""
    from dataclasses import replace

    names = {"papers": "n_items", "reviewers": "n_reviewers"}
    given = {names.get(name, name): value for name, value in changes.items() if value is not None}
    unknown = [name for name in given if not hasattr(setting, name)]
    if unknown:
        message = f"--{unknown[0]} does not go with {preset}"
        raise click.UsageError(message)
    return replace(setting, **given)


def _write(folder: str, files: dict[str, str]) -> None:
    """Write both files or neither: each is complete beside its name before the first takes it."""
    from reviewgraph.cli.output import write_whole
    from reviewgraph.errors import InputError

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        message = f"{folder}: cannot be made a folder ({error.strerror or error})"
        raise InputError(message) from error
    # What would make the second rename fail is looked for before the first.
    drafts = {name: os.path.join(folder, f"{name}.{os.getpid()}.draft") for name in files}
    taken = [name for name in files if os.path.isdir(os.path.join(folder, name))]
    if taken:
        message = f"{os.path.join(folder, taken[0])}: cannot be written (it is a folder)"
        raise InputError(message)
    try:
        for name, text in files.items():
            write_whole(drafts[name], text)
        for name, draft in drafts.items():
            os.replace(draft, os.path.join(folder, name))
    finally:
        for draft in drafts.values():
            if os.path.exists(draft):
                os.unlink(draft)

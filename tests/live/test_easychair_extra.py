"""The folder that easychair-extra generates is read as its own reader reads it.

EASYCHAIR_EXTRA names a checkout of COMSOC-Community/easychair-extra; without it, or without faker, tests are skipped.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reviewgraph import read_reviews
from reviewgraph.cli import main
from reviewgraph.formats.side import read_bids, read_conflicts, read_items, read_reviewers

CHECKOUT = os.environ.get("EASYCHAIR_EXTRA")

pytestmark = pytest.mark.skipif(
    not CHECKOUT or importlib.util.find_spec("faker") is None, reason="EASYCHAIR_EXTRA names no checkout, or no faker"
)

#: Generates a folder, and prints what the package reads in it.
SCRIPT = """
import json, os, random, sys
from faker import Faker
from easychair_extra.generate import generate_full_conference
from easychair_extra.read import read_author, read_committee, read_submission
seed, folder = int(sys.argv[1]), sys.argv[2]
os.chdir(folder)
random.seed(seed), Faker.seed(seed)
generate_full_conference(60, 40)
papers = read_submission("submission.csv", review_file_path="review.csv")
papers = papers[papers["decision"] != "withdrawn"]
committee = read_committee("committee.csv", bids_file_path="bidding.csv")
authors = read_author("author.csv")
json.dump({
    "scores": {str(number): scores for number, scores in zip(papers["#"], papers["total_scores"])},
    "titles": {str(number): title for number, title in zip(papers["#"], papers["title"])},
    "committee": {str(number): email for number, email in zip(committee["#"], committee["email"])},
    "emails": list(committee["email"]),
    "persons": {str(number): email for number, email in zip(committee["person #"], committee["email"])},
    "bids": [[email, str(paper), bid] for bid in ("yes", "maybe")
             for email, bidden in zip(committee["email"], committee["bids_" + bid]) for paper in bidden],
    "wrote": [[str(person), str(paper)]
              for person, of in zip(authors["person #"], authors["submission_ids"]) for paper in of],
}, sys.stdout)
"""


@pytest.fixture(scope="module", params=range(3))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """Return a folder and what is true of it.

    The generator may draw a person for the committee twice, who then bids and scores twice, and with few authors it may
    never end: then another seed is tried.
    """
    path = os.pathsep.join([str(CHECKOUT), *sys.path])
    for seed in range(request.param * 100, request.param * 100 + 20):
        folder = tmp_path_factory.mktemp("easychair") / "data"
        folder.mkdir()
        command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(seed), str(folder)]
        try:
            done = subprocess.run(
                command,
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        except subprocess.TimeoutExpired:
            continue
        assert done.returncode == 0, done.stderr
        truth = json.loads(done.stdout)
        if len(set(truth["emails"])) == len(truth["emails"]):
            return str(folder), truth
    pytest.fail("no seed gave a committee in which nobody stands twice")


def test_the_folder_is_read_as_the_package_reads_it(made: tuple[str, dict[str, Any]]) -> None:
    folder, truth = made
    alive = set(truth["scores"])
    reviews = read_reviews(folder, columns={"reviewer": "PC member"})
    assert set(reviews.items) == alive == set(read_items(folder))
    assert {paper: reviews.titles[paper] for paper in alive} == truth["titles"]
    columns = reviews.to_dict()
    found: dict[str, list[float]] = {paper: [] for paper in alive}
    for paper, score in zip(columns["item"], columns["score"], strict=True):
        found[paper].append(score)
    assert {paper: sorted(scores) for paper, scores in found.items()} == {
        paper: sorted(scores) for paper, scores in truth["scores"].items()
    }
    assert min(map(len, found.values())) == 0
    assert set(reviews.reviewers) <= set(truth["committee"].values()) == set(read_reviewers(folder))
    bids = read_bids(folder).table
    assert dict(zip(pairs_of(bids), bids.score, strict=True)) == {
        (email, paper): {"yes": 1.0, "maybe": 0.5}[bid] for email, paper, bid in truth["bids"] if paper in alive
    }
    pairs = set(pairs_of(read_conflicts(folder)))
    own = {
        (truth["persons"][who], paper) for who, paper in truth["wrote"] if who in truth["persons"] and paper in alive
    }
    assert own <= pairs
    assert {pair for pair in pairs if pair[0] in truth["committee"].values()} == own


def pairs_of(read: Any) -> list[tuple[str, str]]:
    return [(read.reviewers[j], read.items[i]) for j, i in zip(read.reviewer, read.item, strict=True)]


def test_check_and_plan_take_the_folder(made: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    folder, truth = made
    words = f'{folder} --columns "reviewer=PC member"'
    told = CliRunner().invoke(main, shlex.split(f"check {words} --json"))
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["items"] == len(truth["scores"])
    plan = tmp_path / "plan.csv"
    told = CliRunner().invoke(main, shlex.split(f"plan {words} --conflicts {folder} -o {plan}"))
    assert told.exit_code == 0, told.output
    told = CliRunner().invoke(main, shlex.split(f"check {words} {plan} --require double"))
    assert told.exit_code == 0, told.output

"""The command calibrate on reviews with criteria and confidence."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from lsc.commands.calibrate import calibrate
from reviewgraph.cli.verify import verify

pytestmark = pytest.mark.usefixtures("infer_once")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write 80 papers with four reviews each, whose novelty says much of the overall score."""
    rng, lines = np.random.default_rng(0), ["reviewer,item,overall,novelty,confidence"]
    for item, quality in enumerate(rng.standard_normal(80)):
        for reviewer in rng.permutation(40)[:4]:
            overall, novelty = 5 + 1.5 * (quality + rng.standard_normal(2))
            lines.append(f"r{reviewer},p{item},{overall:.1f},{novelty:.1f},{rng.integers(1, 5)}")
    file = tmp_path_factory.mktemp("criteria") / "reviews.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


def run(*words: str) -> Result:
    return CliRunner().invoke(calibrate, list(words))


def test_an_explained_paper_names_what_its_criteria_add(path: str) -> None:
    found = json.loads(run(path, "--explain", "p3", "--json").stdout)
    [account] = found["accounts"]
    assert account["middle"] + sum(part["moves"] for part in account["parts"]) == pytest.approx(account["quality"])
    assert {name for part in account["parts"] for name in part.get("criteria", {})} == {"overall", "novelty"}
    for part in account["parts"]:
        if part["source"] == "review":
            corrected = part["score"] + sum(part["criteria"].values()) + part["severity"] + part["stretch"]
            assert corrected == pytest.approx(part["says"])
    assert "by novelty" in " ".join(run(path, "--explain", "p3", "--verbose", "why").stdout.split())


def test_true_results_hold(path: str, tmp_path: Path) -> None:
    for words in ([], ["--only-target", "--confidence"], ["--only-target"]):
        file = tmp_path / "answer.json"
        file.write_text(run(path, *words, "--json").stdout, encoding="utf-8")
        done = CliRunner().invoke(verify, [str(file), path, *words])
        assert done.exit_code == 0, done.output

"""Cost of the audit. Run: pytest tests/benchmarks/test_reading.py --benchmark-columns=min,median,rounds

Claim: at 22,000 papers x 20,000 reviewers, 90,000 reviews, the audit takes at most 5 % of the CPU time of reading, with
ids as labels and with e-mail addresses. The anchor is the same reading without any finding, in the same process.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from reviewgraph import read_reviews
from reviewgraph.formats.audit import audit
from reviewgraph.formats.spellings import Spellings

ROUNDS = 15


def written(path: Path, who: str) -> Path:
    rng = np.random.default_rng(0)
    pairs = [(reviewer, paper) for paper in range(22_000) for reviewer in rng.choice(20_000, 4, replace=False)]
    scores = rng.integers(1, 11, len(pairs)).tolist()
    lines = [f"{who.format(pair[0])},p{pair[1]},{score}" for pair, score in zip(pairs, scores, strict=True)]
    path.write_text("\n".join(["reviewer,paper,score", *lines]), "utf-8")
    return path


def seconds(path: Path) -> float:
    begin = time.process_time()
    read_reviews(path)
    return time.process_time() - begin


@pytest.mark.parametrize("who", ["r{}", "reviewer{}@example.org"])
def test_the_audit_costs_little(tmp_path: Path, who: str, benchmark, monkeypatch) -> None:
    path = written(tmp_path / "reviews.csv", who)
    read_reviews(path)
    whole, without = [], []
    # In turn, so that a slow minute slows both.
    for _ in range(ROUNDS):
        whole.append(seconds(path))
        with monkeypatch.context() as off:
            off.setattr(audit, "FINDINGS", {})
            off.setattr(Spellings, "without_near", lambda self, labels, role, name: labels)
            without.append(seconds(path))
    benchmark.pedantic(read_reviews, args=(path,), rounds=3)
    benchmark.extra_info["reading, s of CPU"] = min(whole)
    benchmark.extra_info["audit, % of reading"] = 100 * (min(whole) - min(without)) / min(whole)
    print(
        f"{who}: reading {min(whole):.3f} s, audit {100 * (min(whole) / min(without) - 1):.1f} % of reading without it"
    )

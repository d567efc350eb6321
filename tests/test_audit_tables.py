"""Tables as people have them, with a known truth: none is read silently wrong, and of clean ones nothing is asked."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.audit_judge import BAD, Variant, disagreement, judged, outcome, ways
from tests.audit_tables import ENGLISH, KINDS, Draw, long, sampled, variants


def clean() -> Variant:
    """Return a clean table."""
    draw = Draw(np.random.default_rng(0), 0, "")
    truth = draw.panels()
    return draw.table(long(truth, ENGLISH), truth)


def bad(kind: str, seed: int, folder: Path) -> list[str]:
    """Return what is wrong with the variants of a kind, in every way in."""
    results = [(v.name, way, *judged(v, way, folder)) for v in variants(kind, seed) for way in ways(v)]
    return [f"{result} ({way}): {name}: {message}" for name, way, result, message in results if result in BAD]


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_read_right_or_asked_about(kind: str, tmp_path: Path) -> None:
    assert not bad(kind, 0, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_other_seeds_are_read_right_or_asked_about(kind: str, seed: int, tmp_path: Path) -> None:
    assert not bad(kind, seed, tmp_path)


@pytest.mark.nightly
def test_the_command_reads_what_python_reads(tmp_path: Path) -> None:
    assert not list(filter(None, (disagreement(variant, tmp_path) for variant in sampled(20))))


def test_a_third_of_the_tables_is_clean() -> None:
    matters = [variant.matter for kind in KINDS for variant in variants(kind)]
    assert len(matters) >= 600
    assert matters.count("") >= 0.33 * len(matters)


@pytest.mark.parametrize(
    ("change", "result"),
    [
        ({}, "right"),
        ({"truth": {(f"x{who}", what): score for (who, what), score in clean().truth.items()}}, "right"),  # renamed
        ({"truth": clean().truth | {("Ann Lee", "P101"): 99.0}}, "silently wrong"),
        ({"truth": clean().truth | {("Ann Lee", "P102"): 5.0}}, "silently wrong"),
        ({"files": {"table.csv": b"reviewer,paper,score\nann,p,good\n"}}, "false alarm"),
        ({"files": {"table.csv": b"reviewer,paper,score\nann,p,good\n"}, "matter": "good"}, "asked"),
        ({"options": {"nonsense": 1}}, "crashed"),
    ],
)
def test_the_judge_tells_tables_apart(change: dict[str, object], result: str, tmp_path: Path) -> None:
    assert outcome(replace(clean(), **change), "file", tmp_path)[0] == result  # type: ignore[arg-type]

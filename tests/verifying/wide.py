"""Questions with every option of ``check``, ``plan`` and ``assign``, for what needs no judge that tries everything."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.verifying.cases import LEVELS, Case, answered, calibrate_case, read, some_pairs, table, write

Words = list[str]


def check_case(rng: np.random.Generator) -> Case | None:
    reviewers, items = table(rng, scores=rng.random() < 0.8)
    words = ["reviews.csv"]
    if _odd(rng, 0.1):
        return answered("check", [*_streamed(), "--stream"])
    words += ["--items", "items.csv"] if _odd(rng, 0.8) else []
    if _odd(rng, 0.15):
        rows = read("reviews.csv")
        write("reviews.csv", "reviewer,item,score", [list(row.values()) for row in [*rows, rows[0]]])
        words += ["--duplicates", str(rng.choice(["last", "mean"]))]
    words += ["--lower-is-better"] if _odd(rng, 0.1) else []
    words += ["--scale", "5>4>3>2>1"] if _odd(rng, 0.1) else []
    words += ["--require", str(rng.choice(LEVELS))] if _odd(rng, 0.3) else []
    words += ["--use-scores"] if "--require" in words and "double" in words and _odd(rng, 0.5) else []
    words += [str(rng.choice(["--fragile", "--no-fragile"]))] if _odd(rng, 0.3) else []
    words += ["--like", write("like.csv", "reviewer,item,score", _scores(rng))] if _odd(rng, 0.1) else []
    words += ["--select", str(rng.choice(["1", "2", "50%"]))] if _odd(rng, 0.3) else []
    words += ["--missing", str(rng.choice(["0.1", "0.5"]))] if _odd(rng, 0.2) else []
    words += ["--gone", write("gone.csv", "reviewer", [[reviewers[0]]])] if _odd(rng, 0.15) else []
    if _odd(rng, 0.3):
        words += ["--conflicts", write("conflicts.csv", "item,reviewer", some_pairs(rng, reviewers, items, 0.2))]
    if _odd(rng, 0.3):
        words += ["--reviewers", write("people.csv", "reviewer,load", [(who, rng.integers(1, 4)) for who in reviewers])]
    words += ["--load", str(rng.integers(1, 4))] if _odd(rng, 0.3) else []
    words += ["--demand", str(rng.integers(1, 4))] if _odd(rng, 0.3) else []
    return answered("check", words)


def plan_case(rng: np.random.Generator) -> Case | None:
    reviewers, items = table(rng, scores=True, most=5)
    words = ["reviews.csv", "--time-limit", "2"]
    words += ["--items", "items.csv"] if _odd(rng, 0.8) else []
    aim = rng.random()
    if aim < 0.6:
        words += ["--target", str(rng.choice(LEVELS))]
    elif aim < 0.7:
        words += ["--for", "decision", "--max-reviews", str(rng.integers(1, 5))]
    elif aim < 0.75:
        words += ["--for", "double", "--for", "decision", "--max-reviews", str(rng.integers(1, 9))]
    words += ["--select", "2"] if "decision" in words else []
    if _odd(rng, 0.3):
        words += ["--conflicts", write("conflicts.csv", "item,reviewer", some_pairs(rng, reviewers, items, 0.2))]
    if _odd(rng, 0.2):
        words += [
            "--capacity",
            write("capacity.csv", "reviewer,spare", [(who, rng.integers(0, 4)) for who in [*reviewers, "new"]]),
        ]
    words += ["--spare", str(rng.integers(0, 4))] if _odd(rng, 0.3) else []
    words += _prices(rng, reviewers, items)
    words += ["--use-scores"] if "double" in words and _odd(rng, 0.3) else []
    words += ["--max-reviews", str(rng.integers(0, 5))] if "--max-reviews" not in words and _odd(rng, 0.1) else []
    words += ["--max-per-item", str(rng.integers(1, 3))] if _odd(rng, 0.15) else []
    words += ["--min-reviews", str(rng.integers(1, 4))] if _odd(rng, 0.2) else []
    words += ["--gone", write("gone.csv", "reviewer", [[reviewers[0]]])] if _odd(rng, 0.1) else []
    words += ["--willing", write("willing.csv", "reviewer", [[who] for who in reviewers[:3]])] if _odd(rng, 0.1) else []
    words += ["--best-effort"] if _odd(rng, 0.3) else []
    words += ["--seed", str(rng.integers(3))] if _odd(rng, 0.1) else []
    words += ["--lower-is-better"] if _odd(rng, 0.1) else []
    if _odd(rng, 0.15):
        homes = [(who, f"home{rng.integers(0, 2)}") for who in reviewers]
        words += ["--institutions", write("homes.csv", "reviewer,institution", homes)]
    words += ["--senior", write("senior.csv", "reviewer", [[who] for who in reviewers[:2]])] if _odd(rng, 0.15) else []
    if _odd(rng, 0.15):
        words += [
            "--fixed",
            write("fixed.csv", "item,reviewer", [(items[0], reviewers[0]), (items[-1], reviewers[-1])]),
        ]
    return answered("plan", [*words, *_rules(rng, reviewers, "--reviewers" if _odd(rng, 0.5) else "--attributes")])


def assign_case(rng: np.random.Generator) -> Case | None:
    M, N = int(rng.integers(2, 7)), int(rng.integers(2, 6))
    reviewers, items = [f"r{j}" for j in range(M)], [f"p{i}" for i in range(N)]
    write(
        "reviewers.csv",
        "reviewer,load",
        [(who, rng.integers(1, 6)) for who in reviewers] if _odd(rng, 0.3) else [(who, "") for who in reviewers],
    )
    write("papers.csv", "item", [[item] for item in items])
    words = ["--items", "papers.csv", "--reviewers", "reviewers.csv", "--demand", str(rng.integers(1, 4))]
    words += ["--load", str(rng.integers(1, 5)), "--target", str(rng.choice([*LEVELS, "none", "none"]))]
    words += _affinities(rng, reviewers, items) if _odd(rng, 0.85) else []
    if _odd(rng, 0.15):
        bids = [(item, who, rng.choice(["yes", "maybe", "no"])) for item, who in some_pairs(rng, reviewers, items, 0.5)]
        words += ["--bids", write("bids.csv", "item,reviewer,bid", bids or [(items[0], reviewers[0], "yes")])]
    words += ["--allow-unscored"] if _odd(rng, 0.5) else []
    words += ["--min-load", "1"] if _odd(rng, 0.15) else []
    words += ["--min-affinity", "0.3"] if _odd(rng, 0.15) and "--affinity" in words else []
    words += ["--survive"] if _odd(rng, 0.1) else []
    words += ["--best-effort"] if _odd(rng, 0.3) else []
    words += ["--alternates", "2"] if _odd(rng, 0.15) else []
    words += ["--fair", "leximin"] if _odd(rng, 0.1) else []
    words += ["--floor", "0.5"] if _odd(rng, 0.1) else []
    words += ["--floor-best", "0.5"] if _odd(rng, 0.1) else []
    words += ["--design", str(rng.choice(["random", "double"]))] if _odd(rng, 0.05) else []
    if _odd(rng, 0.1):
        words += ["--max-probability", "0.7", "--draws", "3"]
        words += ["--perturbation", "0.2"] if _odd(rng, 0.3) else []
    if _odd(rng, 0.15):
        words += [
            "--previous",
            write("before.csv", "item,reviewer", some_pairs(rng, reviewers, items, 0.4) or [("p0", "r0")]),
        ]
        words += ["--per-change", "0.3"] if _odd(rng, 0.3) else []
    if _odd(rng, 0.15):
        words += [
            "--authors",
            write("authors.csv", "item,author", some_pairs(rng, reviewers, items, 0.2) or [("p0", "r0")]),
        ]
        for option in ("--allow-cycles", "--allow-coauthors"):
            words += [option] if _odd(rng, 0.3) else []
        words += ["--author-distance", "1"] if _odd(rng, 0.3) else []
    if _odd(rng, 0.3):
        words += ["--conflicts", write("conflicts.csv", "item,reviewer", some_pairs(rng, reviewers, items, 0.2))]
    if _odd(rng, 0.1):
        words += [
            "--phase-one",
            write("first.csv", "reviewer,item", [(reviewers[0], items[0]), (reviewers[1], items[0])]),
        ]
    words += ["--fixed", write("fixed.csv", "item,reviewer", [(items[0], reviewers[0])])] if _odd(rng, 0.1) else []
    rules = _rules(rng, reviewers, "--attributes")
    rules += (
        ["--attributes", "people.csv", "--reward", "region=0.2"]
        if _odd(rng, 0.1) and not rules and _write_people(rng, reviewers)
        else []
    )
    return answered("assign", [*words, *rules])


def _odd(rng: np.random.Generator, share: float) -> bool:
    return bool(rng.random() < share)


def _streamed() -> Words:
    import pandas

    pandas.read_csv("reviews.csv").to_parquet("reviews.parquet")
    return ["reviews.parquet"]


def _scores(rng: np.random.Generator) -> list[Any]:
    return [(f"l{j}", f"q{i}", rng.integers(1, 6)) for j in range(6) for i in rng.permutation(8)[:4]]


def _prices(rng: np.random.Generator, reviewers: Words, items: Words) -> Words:
    draw = rng.random()
    values = [(item, who, int(rng.integers(0, 5)) / 4) for item, who in some_pairs(rng, reviewers, items, 0.7)]
    if draw < 0.15:
        return ["--cost", write("cost.csv", "item,reviewer,cost", values or [("p0", "r0", 2)])]
    if draw < 0.3:
        least = ["--min-affinity", "0.25"] if _odd(rng, 0.3) else []
        return ["--affinity", write("affinity.csv", "item,reviewer,affinity", values or [("p0", "r0", 1)]), *least]
    return []


def _affinities(rng: np.random.Generator, reviewers: Words, items: Words) -> Words:
    scale = rng.choice([2, 10, 1000])
    pairs = some_pairs(rng, reviewers, items, 0.8) or [(items[0], reviewers[0])]
    values = [(item, who, round(float(rng.random()) * scale) / scale) for item, who in pairs]
    return ["--affinity", write("affinity.csv", "item,reviewer,affinity", values)]


def _write_people(rng: np.random.Generator, reviewers: Words) -> str:
    rows = [
        (who, f"home{rng.integers(0, 3)}", rng.choice(["yes", "no"]), rng.choice(["Asia", "Europe"]))
        for who in reviewers
    ]
    return write("people.csv", "reviewer,institution,senior,region", rows)


def _rules(rng: np.random.Generator, reviewers: Words, option: str) -> Words:
    words = ["--at-most", "institution=1"] if _odd(rng, 0.12) else []
    for rule in ("senior=1", "region:Asia=1", "region=2"):
        words += ["--at-least", rule] if _odd(rng, 0.06) else []
    return [option, _write_people(rng, reviewers), *words] if words else []


WIDE = {"check": check_case, "plan": plan_case, "assign": assign_case, "calibrate": calibrate_case}

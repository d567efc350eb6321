"""Bad arguments to everything public in Python: ``python -m tests.bad_arguments``.

Every parameter of every public function and method is given what it does not expect, the others staying as they are. An
answer, or an error of the package, is fine; whatever else is raised is a finding, and so is a call that neither ends
nor tells which share of its work is done.
"""

import inspect
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import lsc
import planner
import reviewgraph
from lsc.calibrating import CalibrationOptions
from planner.assigning import AssignmentOptions
from planner.planning import PlanOptions
from reviewgraph import Reviews, Search
from reviewgraph._base import Progress
from reviewgraph.graph import ReviewGraphError
from reviewgraph.graph.check import HEEDED as CHECKED

PACKAGES: tuple[ModuleType, ...] = (reviewgraph, reviewgraph.graph, planner, lsc)
#: Seconds that a call may take.
SECONDS = 30.0

#: What no parameter expects, and what many do, but not of this size, sign or shape.
BAD: dict[str, Any] = {
    "None": None, "a string": "x", "no string": "", "NaN": float("nan"), "inf": float("inf"), "-inf": -float("inf"),
    "-1": -1, "1000": 1000, "-0.5": -0.5, "0": 0, "0.5": 0.5, "1e30": 10**30, "1e308": 1e308,
    "a complex number": 1j, "true": True, "bytes": b"x", "a null character": "\0", "half a character": "\ud800",
    "inf of 32 bits": np.float32("inf"), "5 of 16 bits": np.float16(5), "a fraction": Fraction(1, 3),
    "an object": object(), "a class": int, "no list": [], "a list": [1, 2, 3], "strings": ["x", "y"],
    "NaNs": [float("nan")] * 3, "nested": [[1], [2, 3]], "pairs": [("x", "y")], "three and more": [("x", "y", 1, 2)],
    "a tuple": (1, 2), "no mapping": {}, "a mapping": {"x": "y"}, "pairs to strings": {("x", "y"): "z"},
    "labels to objects": {"ann": object()}, "labels to NaN": {"ann": float("nan")}, "labels to -1": {"ann": -1},
    "labels to 1e30": {"ann": 1e30}, "a set": {1}, "no array": np.array([]), "numbers": np.arange(3.0),
    "a cube": np.zeros((2, 3, 4)), "a scalar array": np.array(1.5), "objects": np.array([object(), None]),
    "text": np.array(["a", "b"]), "complex": np.ones((2, 2), complex), "dates": np.array(["2026-01-01"], "M8[D]"),
    "infinities": np.full((3, 3), np.inf), "negative codes": np.full((2, 4), -7), "large codes": np.full((2, 4), 2**40),
    "a generator": np.random.default_rng(0), "a function": len, "a module": sys,
}  # fmt: skip


#: Parameters whose functions may raise what they like.
CALLBACKS = ("progress", "note", "read")


class Call(NamedTuple):
    """A call that works, by the parameters that are given; the others are put in one by one."""

    function: Callable[..., Any]
    given: dict[str, Any]


ROWS = [("ann", "p1", 1.0), ("ann", "p2", 2.0), ("ann", "p3", 4.0), ("bob", "p2", 3.0), ("bob", "p3", 5.0),
        ("bob", "p1", 2.5), ("cleo", "p1", 1.0), ("cleo", "p3", 3.0), ("cleo", "p4", 2.0)]  # fmt: skip
PAIRS = [row[:2] for row in ROWS]
AFFINITY = {(who, what): 1.0 for who in ("ann", "bob", "cleo", "dan") for what in ("p1", "p2", "p3", "p4")}


@cache
def reviews() -> Reviews:
    return Reviews(ROWS)


def calls(folder: Path) -> dict[str, Call]:
    """A working call of every public function and method that takes arguments."""
    path = folder / "reviews.csv"
    path.write_text("reviewer,item,score\n" + "".join(f"{who},{what},{y}\n" for who, what, y in ROWS), "utf-8")
    table, rng = reviews(), np.random.default_rng(0)
    plan = planner.plan(table, target="survives-review")
    found, beliefs = lsc.calibrate(table), lsc.posterior(table)
    design = {"n_items": 6, "n_reviewers": 6, "load": 3, "seed": rng}
    codes = {"reviewer": [0, 0, 1], "item": [0, 1, 1], "reviewers": 2, "items": 2}
    both: dict[str, Any] = {"reviews": table}

    def streamed(*paths: Any, **given: Any) -> None:
        with reviewgraph.stream_reviews(*(paths or (path,)), **given) as stream:
            reviewgraph.check(stream)
            lsc.calibrate(stream)

    def by_keywords(function: Callable[..., Any], heeded: Sequence[str]) -> Callable[..., Any]:
        """The same function, its rules being parameters of their own."""

        def run(**given: Any) -> Any:
            return function(**given)

        kinds = [one for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
        own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in heeded]
        run.__signature__ = inspect.Signature([*kinds, *own])  # type: ignore[attr-defined]
        return run

    streamed.__signature__ = inspect.signature(reviewgraph.stream_reviews)  # type: ignore[attr-defined]
    options: dict[str, dict[str, Any]] = {
        **dict.fromkeys(("check", "expected_errors", "fragile", "connected_components",
                         "doubly_connected_components", "recoverability",
                         "review_multigraph", "to_biadjacency", "to_igraph", "to_networkx"), both),
        "keeps": {**both, "missing": 0.1, "draws": 5},
        "verify_merges": {**both, "merges": reviewgraph.graph.doubly_connected_components(table).merges},
        "random_assignment": design, "doubly_connected_assignment": design,
        "read_reviews": {"paths": path},
        "plan": {**both, "search": Search(time_limit=2.0)},
        "assign": {"affinity": AFFINITY, "demand": 2, "load": 2, "search": Search(time_limit=2.0)},
        "merge_affinities": {"affinities": [(AFFINITY, 1.0)]},
        "calibrate": both, "posterior": both, "components": both, "Search": {},
        "simulate": {"n_items": 6, "n_reviewers": 6, "load": 3, "seed": 0}, "compare": {**both, "methods": ["average"]},
        "Assumptions": {}, "Rules": {}, "AtMost": {"attribute": "chair", "number": 1},
        "AtLeast": {"attribute": "chair", "number": 1},
        **{name: {} for name in ("Linear", "Monotone", "Convex", "Concave")},
    }  # fmt: skip
    made = {name: Call(_public(name), given) for name, given in options.items()}
    of_plan = PlanOptions.__annotations__
    of_assignment = AssignmentOptions.__annotations__
    of_calibration = CalibrationOptions.__annotations__
    for name, heeded in (
        ("check", CHECKED), ("plan", of_plan), ("assign", of_assignment), ("calibrate", of_calibration)
    ):  # fmt: skip
        made[name] = Call(by_keywords(_public(name), heeded), options[name])
    forms = {"rows": ROWS, "frame": table.to_frame(backend="pandas"), "graph": reviewgraph.graph.to_networkx(table)}
    made |= {f"Reviews of {form}": Call(Reviews, {"table": rows}) for form, rows in forms.items()}
    made["lsc.calibrate"] = Call(lsc.calibrate, both)
    made["verify"] = Call(reviewgraph.verify, {"result": plan, **both})
    made["stream_reviews"] = Call(streamed, {})
    # Without a cluster: what is not a table, a scheduler or a path is refused before anything is sent.
    made["cluster_reviews"] = Call(_enter(reviewgraph.cluster_reviews), {"source": 1, "client": 1, "folder": "."})
    methods: dict[str, tuple[Any, dict[str, Any]]] = {
        "Reviews.from_codes": (Reviews, codes),
        "Reviews.from_biadjacency": (Reviews, {"matrix": sp.csr_array(np.eye(3))}),
        "Reviews.items_of": (table, {"reviewer": 0}),
        "Reviews.reviewers_of": (table, {"item": 0}),
        "Reviews.printed": (table, {"values": [1.0]}),
        "Reviews.subset": (table, {"keep": np.arange(3)}),
        "Reviews.add": (table, {"planned": [("ann", "p9")]}),
        "Report.reaches": (reviewgraph.check(table), {"level": "double"}),
        "Calibration.is_optimal": (found, {}),
        "Calibration.ranking": (found, {}),
        "Calibration.scoring_function": (found, {"reviewer": "ann"}),
        "Calibration.select": (found, {"n_selected": 2}),
        "PosteriorEstimate.account": (beliefs, {"item": "p1"}),
        "PosteriorEstimate.difference": (beliefs, {"first": "p1", "second": "p2"}),
        "PosteriorEstimate.draws": (beliefs, {"n": 3}),
        "Calibrator.fit": (lsc.Calibrator("average"), {"X": PAIRS, "y": [row[2] for row in ROWS]}),
        "Calibrator.predict": (lsc.Calibrator("average").fit(table), {"X": PAIRS}),
        "Calibrator.score": (lsc.Calibrator("average").fit(table), {"X": PAIRS, "y": [row[2] for row in ROWS]}),
        "PosteriorEstimate.interval": (beliefs, {}),
        "PosteriorEstimate.probability_in_top": (beliefs, {"n_selected": 2}),
        "PosteriorEstimate.predict": (beliefs, {"reviewer": None, "item": "p1"}),
        "Prediction.interval": (beliefs.predict(None, "p1"), {"level": 0.5}),
        "Prediction.cdf": (beliefs.predict(None, "p1"), {"score": 5.0}),
        "PosteriorEstimate.select": (beliefs, {"n_selected": 2}),
        "PosteriorEstimate.selection": (beliefs, {"n_selected": 2}),
    }  # fmt: skip
    for name, (owner, given) in methods.items():
        made[name] = Call(getattr(owner, name.partition(".")[2]), given)
    for owner in (table, reviewgraph.check(table), found, beliefs):
        for method in ("to_frame", "plot"):
            made[f"{type(owner).__name__}.{method}"] = Call(getattr(owner, method), {})
    return made


def _enter(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that enters a context."""

    def run(*args: Any, **given: Any) -> None:
        with function(*args, **given):
            pass

    run.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return run


def _public(name: str) -> Any:
    return next(getattr(package, name) for package in PACKAGES if name in package.__all__)


class Over(BaseException):
    """A call takes too long."""


def outcome(call: Call, parameter: str, value: Any) -> str:
    """Return an empty string where the call answers or refuses; else what it raises, and where."""

    def over(*_: object) -> None:
        raise Over

    kinds, reports = inspect.signature(call.function).parameters, list[Progress]()
    heard = {"progress": reports.append} if "progress" in kinds else {}
    given = {**heard, **call.given, parameter: value}
    first = [
        given.pop(name) for name in [*given] if name in kinds and kinds[name].kind is inspect.Parameter.VAR_POSITIONAL
    ]
    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call.function(*first, **given)
    except ReviewGraphError:
        return ""
    except Over:
        # What has counted its steps until now is at work: a thousand draws are many, and no bad argument.
        at_work = any(report.done and report.seconds > SECONDS / 2 for report in reports)
        return "" if at_work else "does not end"
    except BaseException as error:  # a finding is whatever is raised
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:70]!r} ({Path(place.filename).name}:{place.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return ""


def parameters(call: Call) -> list[str]:
    """The parameters of a call, those that take whatever else there is left out."""
    kinds = inspect.signature(call.function).parameters.values()
    return [one.name for one in kinds if one.kind is not inspect.Parameter.VAR_KEYWORD]


def findings(made: dict[str, Call]) -> Iterator[tuple[str, str, str, str]]:
    """Yield function, parameter, value and what is wrong."""
    for name, call in made.items():
        for parameter in parameters(call):
            for words, value in BAD.items():
                if callable(value) and parameter in CALLBACKS:
                    continue
                if found := outcome(call, parameter, value):
                    yield name, parameter, words, found


def main() -> int:
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        made = calls(Path(folder))
        for name, parameter, words, found in findings(made):
            print(f"{name}({parameter}={words}): {found}", flush=True)
            count += 1
    total = sum(len(parameters(call)) for call in made.values()) * len(BAD)
    print(f"{total} calls of {len(made)} functions, {count} findings")
    return bool(count)


if __name__ == "__main__":
    sys.exit(main())

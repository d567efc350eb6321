"""The plan of the house: which room may import from which, as docs/explanation/architecture.md draws it.

A room is a folder or a module that stands beside rooms; names are relative to the package. A room may always import
from itself; the front door of a package (its ``__init__``) from every room of it, and no room from a front door.
"""

from __future__ import annotations

_GRAPHS = "arrays labels errors words arguments results plots kernels reviews framed"
_ASSIGNED = "panels assignments.model assignments.wishes assignments.findings"

ROOMS: dict[str, dict[str, str]] = {
    "reviewgraph": {
        "_version": "",
        "arrays": "",
        "errors": "",
        "words": "",
        "arguments": "arrays errors words",
        "clock": "",
        "terminal": "words",
        "results": "errors words arguments",
        "storing": "errors",
        "plots": "errors arguments results storing",
        "naming": "errors",
        "normal": "arrays",
        "chances": "arrays errors normal",
        "levels": "naming",
        "labels": "arrays",
        "mentions": "labels",
        "provenance": "words",
        "columns": "arrays labels words provenance",
        "formats": "arrays labels errors words provenance columns",
        "rows": "arrays labels errors words arguments formats",
        "reviews": "arrays labels errors words arguments results plots columns rows formats",
        "framed": "arrays errors formats reviews",
        "sides": "arrays labels errors words arguments columns formats reviews",
        "reading": "arrays labels errors words arguments provenance columns rows formats reviews sides",
        "submitted": "arrays labels errors formats reviews",
        "exchange": "arrays labels errors arguments reviews framed",
        "kernels": "arrays labels errors",
        "closure": "",
        "components": _GRAPHS,
        "recoverable": f"{_GRAPHS} components",
        "assumptions": "errors arguments",
        "learned": "arrays labels errors reviews framed assumptions",
        "precision": f"{_GRAPHS} levels components recoverable assumptions learned normal chances structure",
        "designs": "arrays labels errors arguments reviews",
        "fragility": f"{_GRAPHS} formats sides naming levels components recoverable clock structure",
        "structure": f"{_GRAPHS} levels components recoverable",
        "violations": "arrays labels errors words arguments formats reviews framed sides",
        "rules": "labels errors arguments columns formats sides",
        "pages": f"{_GRAPHS} levels components structure violations",
        "checking": (
            f"{_GRAPHS} levels components structure sides violations rules assumptions precision fragility pages "
            "provenance"
        ),
        "verify": "arrays errors arguments levels formats reviews framed closure",
        "streams": "arrays labels errors words arguments clock results kernels levels formats rows pages provenance",
        "report": "_version arrays labels words plots reviews",
        "report.check": (f"{_GRAPHS} levels components structure violations fragility precision pages checking report"),
        "cli": (
            "_version errors labels words terminal levels results storing clock formats reviews sides reading "
            "submitted assumptions precision checking provenance columns verify report report.check streams"
        ),
        "__main__": "cli",
    },
    "planner": {
        "errors": "",
        "solving": "",
        "panels": "errors",
        "recruiting": "",
        "plans.model": "errors panels recruiting",
        "plans.search": "errors solving plans.model",
        "plans.proof": "errors solving panels plans.model",
        "plans.targets": "errors plans.search plans.proof plans.model",
        "plans.objectives": "errors plans.model",
        "plans.pursuing": "errors plans.model plans.objectives plans.plan",
        "plans.plan": "errors recruiting plans.model plans.targets",
        "plans.words": "errors plans.model plans.plan",
        "plans.check": "errors panels plans.model plans.plan",
        "plans.arguments": "errors panels plans.model plans.objectives",
        "plans.planning": (
            "errors panels plans.arguments plans.targets plans.search plans.proof plans.model plans.objectives "
            "plans.pursuing plans.plan plans.words"
        ),
        "assignments.wishes": "errors panels",
        "assignments.findings": "errors panels assignments.wishes",
        "assignments.model": "errors panels assignments.wishes assignments.findings",
        "assignments.steps": f"errors {_ASSIGNED}",
        "assignments.assignment": "errors recruiting assignments.findings",
        "assignments.teams": f"errors solving assignments.steps {_ASSIGNED}",
        "assignments.fair": f"errors solving assignments.teams assignments.steps {_ASSIGNED}",
        "assignments.words": (
            f"errors recruiting assignments.fair assignments.teams assignments.steps {_ASSIGNED} assignments.assignment"
        ),
        "assignments.stages": (
            "errors assignments.words assignments.fair assignments.teams assignments.steps "
            f"{_ASSIGNED} assignments.assignment"
        ),
        "assignments.lots": (
            "errors assignments.stages assignments.words assignments.teams assignments.steps "
            f"{_ASSIGNED} assignments.assignment"
        ),
        "assignments.arguments": "errors assignments.model",
        "assignments.assigning": (
            "errors assignments.arguments assignments.lots assignments.stages assignments.words assignments.fair "
            f"assignments.teams assignments.steps {_ASSIGNED} assignments.assignment"
        ),
        "assignments.designs": "errors assignments.model assignments.assignment",
        "report": (
            "errors recruiting plans.model plans.targets plans.plan plans.words assignments.findings "
            "assignments.assignment "
            "assignments.words"
        ),
        "commands": (
            "errors report plans.planning plans.plan plans.words plans.check plans.model plans.objectives "
            "assignments.assigning assignments.assignment assignments.designs assignments.words assignments.fair "
            f"{_ASSIGNED}"
        ),
    },
    "lsc": {
        "errors": "",
        "references": "",
        "model": "errors references",
        "evidence": "errors model",
        "programs": "errors model",
        "solver": "errors model evidence programs",
        "estimate": "errors references",
        "inference": "errors",
        "decisions": "errors estimate",
        "posteriors": "errors references estimate evidence inference decisions",
        "learned": "inference posteriors",
        "misfit": "model evidence solver",
        "calibration": "errors estimate model evidence programs solver misfit",
        "streams": "errors estimate model evidence solver inference decisions posteriors calibration",
        "baselines": "errors estimate evidence",
        "methods": "estimate baselines calibration posteriors streams",
        "metrics": "",
        "words": "errors references estimate model evidence misfit calibration streams inference decisions posteriors",
        "report": "estimate inference decisions posteriors words",
        "seriation": "errors estimate model calibration baselines",
        "simulation": "errors model",
        "experiments": "errors estimate model methods calibration metrics simulation",
        "commands": (
            "errors references estimate model methods calibration streams posteriors decisions metrics words report "
            "simulation experiments"
        ),
    },
}

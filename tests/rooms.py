"""The plan of the packages: which room may import from which, as docs/explanation/architecture.md draws it.

A room is a folder or a module directly inside a package. A room may always import from itself; the front of a package
(its ``__init__``) from every room of it, and no room from a front.
"""

from __future__ import annotations

ROOMS: dict[str, dict[str, str]] = {
    "reviewgraph": {
        "_base": "",
        "formats": "_base",
        "table": "_base formats",
        "io": "_base formats table",
        "graph": "_base formats io table",
        "_version": "",
        "verify": "_base formats graph table",
        "report": "_base _version graph table",
        "streams": "_base formats graph table",
        "cli": "_base _version formats graph io report streams table verify",
        "__main__": "cli",
    },
    "planner": {
        "solving": "",
        "rules": "",
        "errors": "",
        "_plans": "errors rules solving",
        "_assign": "errors rules solving",
        "report": "_assign _plans rules",
        "assignment_report": "_assign",
        "plan_report": "_plans assignment_report report",
        "planning": "_plans rules",
        "assigning": "_assign rules",
        "commands": "_assign _plans assigning assignment_report plan_report planning report rules",
    },
    "lsc": {
        "errors": "",
        "estimate": "errors",
        "_model": "estimate",
        "programs": "_model",
        "evidence": "_model",
        "selection": "_inference estimate",
        "_inference": "",
        "_solver": "_model evidence",
        "predictions": "_inference",
        "posteriors": "_inference estimate evidence predictions selection",
        "calibration": "_model _solver errors estimate evidence",
        "baselines": "errors estimate evidence",
        "clusters": "_inference _model _solver calibration estimate evidence posteriors selection",
        "streams": "_inference _model _solver calibration estimate evidence posteriors selection",
        "simulation": "_model",
        "methods": "baselines calibration estimate posteriors streams",
        "calibrator": "_inference estimate methods posteriors predictions",
        "comparing": "_inference calibrator errors estimate methods",
        "metrics": "",
        "words": "_inference calibration estimate posteriors selection streams",
        "experiments": "errors estimate methods metrics simulation",
        "report": "_inference estimate posteriors selection words",
        "seriation": "baselines calibration estimate",
        "commands": (
            "_model calibration errors estimate experiments methods posteriors report selection simulation streams "
            "words"
        ),
    },
}

"""The plan of the packages: which room may import from which, and who imports whom.

A room is a folder or a module directly inside a package. A room may always import from itself; the front of a package
(its ``__init__``) from every room of it, and no room from a front. Imports are read from the sources: statements
anywhere in a module count, those for type checkers too.
"""

import ast
import gc
from functools import cache
from pathlib import Path

import networkx as nx

ROOMS: dict[str, dict[str, str]] = {
    "reviewgraph": {
        "_base": "",
        "formats": "_base",
        "table": "_base formats",
        "io": "_base formats table",
        "parts": "_base formats table",
        "graph": "_base formats io parts table",
        "_version": "",
        "_build": "",
        "_verify": "_base formats graph table",
        "report": "_base _version graph table",
        "cli": "_base _version formats graph _verify io parts report table verifying",
        "verifying": "_base _verify formats graph io table",
        "__main__": "cli",
    },
    "planner": {
        "solving": "",
        "rules": "",
        "errors": "",
        "facts": "rules",
        "_plans": "errors facts rules solving",
        "_assign": "errors facts rules solving",
        "planning": "_plans rules",
        "assigning": "_assign rules",
        "verifying": "_assign _plans rules",
        "commands": "_assign _plans assigning planning rules verifying",
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
        "parted": "estimate evidence selection",
        "posteriors": "_inference estimate evidence parted predictions selection",
        "calibration": "_model _solver errors estimate evidence parted",
        "baselines": "_inference errors estimate evidence",
        "simulation": "_model",
        "methods": "baselines calibration estimate posteriors",
        "calibrating": "_model calibration estimate methods posteriors",
        "calibrator": "_inference calibrating estimate methods posteriors predictions",
        "comparing": "_inference calibrator errors estimate methods",
        "verifying": "_model calibration estimate methods",
        "metrics": "",
        "experiments": "errors estimate methods metrics simulation",
        "pages": "_inference calibration estimate posteriors selection",
        "seriation": "baselines calibration estimate",
        "commands": (
            "_model calibration errors estimate experiments methods pages posteriors selection simulation verifying"
        ),
    },
}

ROOT = Path(__file__).parents[1]


def module_name(path: Path) -> str:
    """Return the dotted name of a file, relative to the root."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return the syntax of a file, relative to the root: its module, and all that is in it but operators."""
    gc.disable()
    try:
        found = ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        return tuple(node for node in found if node._fields)
    finally:
        gc.freeze()  # or it would go through the syntax of all files again and again
        gc.enable()


@cache
def imports() -> nx.DiGraph:
    """Return the modules of all packages, and an arrow from each to those it imports."""
    files = {module_name(path.relative_to(ROOT)): path for package in ROOMS for path in (ROOT / package).rglob("*.py")}
    graph = nx.DiGraph()
    graph.add_nodes_from(sorted(files))
    for module, path in files.items():
        for node in nodes(path.relative_to(ROOT)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                full = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
                # A name taken from a folder is a module of it, or something in its __init__.
                names = [dotted if dotted in files else str(node.module) for dotted in full.values()]
            graph.add_edges_from((module, name) for name in names if name in files and name != module)
    return graph


def circles(graph: nx.DiGraph) -> list[list[str]]:
    """Return one circle of each set of modules that reach each other, as it is gone round."""
    knots = [graph.subgraph(knot) for knot in nx.strongly_connected_components(graph) if len(knot) > 1]
    return [[start for start, _ in nx.find_cycle(knot)] for knot in knots]


def room_of(module: str) -> str | None:
    """Return the room of a module, relative to its package; "" is the front door, None is nowhere."""
    package, _, rest = module.partition(".")
    places = [room for room in ROOMS[package] if rest == room or rest.startswith(f"{room}.")]
    folder = not rest or any(room.startswith(f"{rest}.") for room in ROOMS[package])
    return max(places, key=len, default="" if folder else None)


def undrawn() -> dict[str, str]:
    """Return the arrows between rooms that the plan does not draw, each with an import that is one."""
    found: dict[str, str] = {}
    for module, target in imports().edges:
        package = module.split(".")[0]
        start, end = room_of(module), room_of(target)
        if target.split(".")[0] == package and start not in ("", end) and end not in _drawn(package, start):
            found.setdefault(f"{package}: {start} -> {end or '(front door)'}", f"{module} imports {target}")
    return found


def _drawn(package: str, room: str | None) -> list[str]:
    return ROOMS[package][room].split() if room else []

"""The rooms of plans: arrows one way, no circles; imports inside functions and for types count."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PLANS = "planner._plans.plan"
MAY = {
    "model": {"model"},
    "search": {"model", "search"},
    "proof": {"model", "proof"},
    "targets": {"model", "search", "proof", "targets"},
    "check": {"model", "check", "plan"},
    "words": {"model", "words", "plan"},
    "plan": {"model", "targets", "words", "plan"},
    "objectives": {"model", "objectives"},
    "pursuing": {"model", "objectives", "plan", "pursuing"},
    "arguments": {"model", "objectives", "arguments"},
    "planning": {"arguments", "model", "search", "targets", "words", "plan", "objectives", "pursuing", "planning"},
}
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "planner/plans").rglob("*.py"))
}


def imports(path: Path) -> set[str]:
    """Modules of plans that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & set(MODULES)


@pytest.mark.parametrize("name", [name for name in MODULES if name.count(".") > 1])
def test_arrows_between_rooms(name: str) -> None:
    room = name.split(".")[2]
    wrong = {other for other in imports(MODULES[name]) if other != PLANS and other.split(".")[2] not in MAY[room]}
    assert wrong == set()


def test_no_module_is_reached_from_itself() -> None:
    """Types alone do no harm at run time; all other imports, those inside functions too, make no circle."""
    arrows = {name: imports(path) - {name, PLANS} for name, path in MODULES.items()}
    for name in arrows:
        arrows[name] = {other for other in arrows[name] if not name.startswith(f"{other}.")}
    done: set[str] = set()

    def walk(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " -> ".join([*way[way.index(name) :], name])
        if name not in done:
            for other in sorted(arrows[name]):
                walk(other, (*way, name))
            done.add(name)

    for name in arrows:
        walk(name, ())


def test_no_module_but_the_clock_looks_at_the_time() -> None:
    for path in MODULES.values():
        assert "import time" not in path.read_text("utf-8"), path

"""Headers of kernels say what their modules do."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reviewgraph._build import kernels

ROOT = Path(__file__).parents[1]
MODULES = kernels(ROOT)


def fields(header: str) -> dict[str, list[str]]:
    """Return the fields of each class in a header, in their order."""
    found: dict[str, list[str]] = {}
    for name, body in re.findall(r"^cdef class (\w+)\b.*:\n((?:    .*\n|\n)+)", header, re.M):
        lines = [re.sub(r"\[.*?\]", "", line) for line in re.findall(r"^    cdef ([^()\n]+)$", body, re.M)]
        found[name] = [part.split()[-1] for line in lines for part in line.split(",")]
    return found


@pytest.mark.parametrize("module", MODULES, ids=[module.stem for module in MODULES])
def test_a_header_has_the_fields_of_every_state(module: Path) -> None:
    """Cython takes the order of the arguments of a dataclass from the header."""
    header = fields(module.with_suffix(".pxd").read_text("utf-8"))
    for node in ast.parse(module.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef):
            names = [line.target.id for line in node.body if isinstance(line, ast.AnnAssign)]
            assigned = re.findall(r"^ +self\.(\w+) = ", ast.unparse(node), re.M)
            assert header[node.name] == names if names else set(assigned) <= set(header[node.name])


@pytest.mark.parametrize("module", MODULES, ids=[module.stem for module in MODULES])
def test_every_function_with_a_loop_is_in_the_header(module: Path) -> None:
    """What the header leaves out would be compiled as plain Python, a hundred times slower."""
    header = module.with_suffix(".pxd").read_text("utf-8")
    for node in ast.parse(module.read_text("utf-8")).body:
        loops = any(isinstance(part, ast.For | ast.While) for part in ast.walk(node))
        if isinstance(node, ast.FunctionDef) and loops:
            assert re.search(rf"^cp?def .*\b{node.name}\(", header, re.M), node.name


def declared(header: str) -> dict[str, bool]:
    """Return the functions and methods that a header declares, and whether exceptions end in them."""
    lines = re.sub(r"\(\n[^()]*\)", lambda found: found[0].replace("\n", " "), header).splitlines()
    found = [re.match(r" *cp?def [^=]*?(\w+)\([^()]*\)([^()]*)$", line) for line in lines]
    return {match[1]: "noexcept" in match[2] for match in found if match}


DECLARED = {module: declared(module.with_suffix(".pxd").read_text("utf-8")) for module in MODULES}


@pytest.mark.parametrize("module", MODULES, ids=[module.stem for module in MODULES])
def test_no_exception_ends_on_its_way(module: Path) -> None:
    """What a function calls may raise where it may: else the exception is printed, and the function goes on."""
    header = module.with_suffix(".pxd").read_text("utf-8")
    visible = dict(DECLARED[module])
    for path, names in re.findall(r"^from ([\w.]+) cimport (.+)$", header, re.M):
        source = ROOT / (path.replace(".", "/") + ".py")
        visible |= {name: silent for name, silent in DECLARED.get(source, {}).items() if name in names.split(", ")}
    methods = DECLARED[ROOT / "reviewgraph/graph/kernels/blocks.py"]
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and DECLARED[module].get(node.name):
            for part in ast.walk(node):
                assert ast.unparse(part) != "cython.gil", node.name
                if isinstance(part, ast.Call):
                    called = part.func
                    by_name = isinstance(called, ast.Name) and not visible.get(called.id, True)
                    by_method = isinstance(called, ast.Attribute) and not methods.get(called.attr, True)
                    assert not by_name, (node.name, ast.unparse(part))
                    assert not by_method, (node.name, ast.unparse(part))


@pytest.mark.parametrize("module", MODULES, ids=[module.stem for module in MODULES])
def test_numbers_of_a_header_are_those_of_python(module: Path) -> None:
    """The compiler folds the numbers of an enumeration, which plain Python and other modules have under its names."""
    header = module.with_suffix(".pxd").read_text("utf-8")
    numbers = dict(re.findall(r"^    ([A-Z]+) = (\d+)$", header, re.M))
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and any(alias.name in numbers for alias in node.names):
            source = importlib.import_module(node.module or "")
            found |= {alias.name: getattr(source, alias.name) for alias in node.names if alias.name in numbers}
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            found |= {ast.unparse(target): node.value.value for target in node.targets}
    assert {name: found.get(name) for name in numbers} == {name: int(number) for name, number in numbers.items()}


@pytest.mark.slow
def test_kernels_run_as_the_plain_python_they_are_written_in() -> None:
    oracle = "tests/test_oracle_suite.py::test_answers_agree_with_their_oracle[components]"
    tested = ["tests/reviewgraph/kernels", "tests/reviewgraph/test_recoverable.py", oracle]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tested]
    run = subprocess.run(command, cwd=ROOT, env=os.environ | {"KERNELS": "plain"}, capture_output=True, text=True)
    assert not run.returncode, run.stdout

"""The rules of the house that a program can check."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from click.testing import CliRunner

import reviewgraph
from lsc._model.hypotheses import HYPOTHESES
from reviewgraph.cli import main
from reviewgraph.cli.command import GROUP, first_sentence
from reviewgraph.graph import levels
from tests.rooms import ROOMS, circles, imports, module_name, nodes, room_of, undrawn

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {"reviewgraph": {"reviewgraph"}, "planner": {"planner", "reviewgraph"}, "lsc": {"lsc", "reviewgraph"}}
KERNELS = {f"reviewgraph.graph.kernels.{path.stem}" for path in (ROOT / "reviewgraph/graph/kernels").glob("*.pxd")}
MODULES = sorted(path.relative_to(ROOT) for package in MAY_IMPORT for path in (ROOT / package).rglob("*.py"))
HEAVY = {
    *("cvxpy", "defusedxml", "duckdb", "igraph", "jinja2", "narwhals", "networkx", "numpy"),
    *("openpyxl", "ortools", "pandas", "polars", "pyarrow", "scipy"),
}
#: A module that models one thing may be long, and a body that tells one story, with a comment for each paragraph;
#: docstrings do not count.
MOST_LINES, MOST_BODY_LINES = 800, 90

every_package = pytest.mark.parametrize("package", MAY_IMPORT)


def offences(of: Callable[[Path], Iterable[str]]) -> str:
    """Return what a rule finds in all modules, a line each, with its module."""
    return "\n".join(f"{path}: {finding}" for path in MODULES for finding in of(path))


def imported(path: Path) -> Iterator[str]:
    """Dotted names of all modules that a module imports, wherever in it, by statement or by ``import_module``."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = ".".join(path.parts[: len(path.parts) - node.level]) if node.level else ""
            yield ".".join(filter(None, (home, node.module)))
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield name.value


def called(node: ast.Call) -> str | None:
    """Return the last part of the name that is called."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else None


def upward(path: Path) -> list[str]:
    """Imports against the arrows."""
    forbidden = {*MAY_IMPORT, "tests"} - MAY_IMPORT[path.parts[0]]
    return [f"imports {name}" for name in imported(path) if name.split(".")[0] in forbidden]


def test_arrows_run_one_way() -> None:
    assert not offences(upward)


def test_no_modules_import_each_other_in_a_circle() -> None:
    findings = circles(imports())
    assert not findings, "\n".join(" -> ".join([*circle, circle[0]]) for circle in findings)


def test_every_module_has_a_room() -> None:
    homeless = [str(path) for path in MODULES if room_of(module_name(path)) is None]
    assert not homeless, f"draw them in tests/rooms.py and docs/explanation/architecture.md: {', '.join(homeless)}"


def test_arrows_between_rooms_are_those_of_the_plan() -> None:
    findings = undrawn()
    assert not findings, "\n".join(f"{arrow}: {example}" for arrow, example in sorted(findings.items()))


def test_names_on_the_map_exist() -> None:
    """Names in code of the pages about the code are defined in the packages, or are files."""
    words = "".join(
        (ROOT / "docs/explanation" / page).read_text("utf-8") for page in ("architecture.md", "ten-rows.md")
    )
    files = [path for folder in (*MAY_IMPORT, "tests", "docs") for path in (ROOT / folder).rglob("*.*")]
    known = {part for path in files for part in path.relative_to(ROOT).with_suffix("").parts} | {"py", "pyi"}
    for node in (node for path in MODULES for node in nodes(path)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            known.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            known.add(node.id)
    names = {name for span in re.findall(r"(?<!\})`([\w./]+)`", words) for name in re.findall(r"[A-Za-z_]\w+", span)}
    assert not names - known


def test_planner_and_lsc_import_fronts_alone() -> None:
    """What a front does not list is private and may change."""
    fronts = {"reviewgraph", *(f"reviewgraph.{room}" for room in ROOMS["reviewgraph"])}

    def behind(path: Path) -> list[str]:
        sources = [node.module or "" for node in nodes(path) if isinstance(node, ast.ImportFrom) and not node.level]
        # Kernels of the packages call kernels of the graph.
        fronts_here = {*fronts, *KERNELS} if "kernels" in path.parts else fronts
        return [name for name in sources if name.split(".")[0] == "reviewgraph" and name not in fronts_here]

    assert not "".join(
        f"{path}: {name}\n" for path in MODULES if path.parts[0] != "reviewgraph" for name in behind(path)
    )


def test_the_verifier_shares_nothing_with_what_makes_answers() -> None:
    allowed = {f"reviewgraph._base.{name}" for name in ("arguments", "arrays", "errors", "lazy")}
    allowed |= {"reviewgraph.graph.levels", "reviewgraph.graph.closure"}
    mine = [path for path in MODULES if room_of(module_name(path)) == "_verify"]
    for path in mine:
        names = [name for name in imported(path) if name.split(".")[0] == "reviewgraph"]
        outside = {name for name in names if not name.startswith(("reviewgraph._verify", "reviewgraph.formats"))}
        # Reviews are read, and then are names and dictionaries.
        assert outside - allowed <= ({"reviewgraph.table.reviews"} if path.stem == "graphs" else set()), path
        # What SciPy computes, as the normal distribution, is nobody's answer.
        assert not {name.split(".")[0] for name in imported(path)} & HEAVY - {"numpy", "scipy"}, path
    # The reference implementation of the closure is for verification alone.
    users = {module for module, target in imports().edges if target == "reviewgraph.graph.closure"}
    assert {room_of(module) for module in users} == {"_verify"}


def test_only_what_writes_for_people_imports_the_command_line() -> None:
    graph = imports()
    cli = [module for module in graph if room_of(module) == "cli"]
    importers = {module for target in cli for module in graph.predecessors(target)}
    assert {room_of(module) for module in importers} <= {"cli", "commands", "experiments", "__main__"}


def too_long(path: Path) -> Iterator[str]:
    """The module and bodies of functions, without their docstrings."""
    lines = len((ROOT / path).read_text(encoding="utf-8").splitlines())
    for node in nodes(path):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node) is not None:
            lines -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
    if lines > MOST_LINES:
        yield f"{lines} lines"
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            size = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            if size > MOST_BODY_LINES:
                yield f"{node.name}: {size} lines"


def test_modules_and_functions_end() -> None:
    assert not offences(too_long)


def test_input_is_not_validated_by_assert() -> None:
    def asserts(path: Path) -> list[str]:
        return [f"line {node.lineno}" for node in nodes(path) if isinstance(node, ast.Assert)]

    assert not offences(asserts)


def compared_by_name(path: Path) -> Iterator[str]:
    """Comparisons with the name of a level or a hypothesis class."""
    names = {*levels.ALL_NAMES, *HYPOTHESES}
    for node in nodes(path):
        if isinstance(node, ast.Compare):
            constants = {
                constant.value
                for side in (node.left, *node.comparators)
                for constant in ast.walk(side)
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
            }
            if constants & names:
                yield f"line {node.lineno}: {ast.unparse(node)}"


def test_levels_and_hypothesis_classes_are_not_compared_by_name() -> None:
    """An object knows what it is; a name that is compared somewhere falls through silently where one is added."""
    assert not offences(compared_by_name)


def public(package: str) -> list[str]:
    """Return the public names of a package that are no modules."""
    module = importlib.import_module(package)
    return [name for name in module.__all__ if name != "__version__" and not inspect.ismodule(getattr(module, name))]


@every_package
def test_public_names_are_written_once(package: str) -> None:
    stub = ast.parse((ROOT / package / "__init__.pyi").read_text("utf-8"))
    names = [alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    names += [ast.unparse(node.targets[0]) for node in stub.body if isinstance(node, ast.Assign)]
    module = importlib.import_module(package)
    assert sorted(filter(None, names)) == sorted(module.__all__) == dir(module)
    assert not set(names) & {node.id for node in nodes(Path(package, "__init__.py")) if isinstance(node, ast.Name)}


def test_one_import_lends_names_of_the_others_without_loading_them() -> None:
    import lsc
    import planner

    for name in ("plan", "assign", "compare", "Calibrator"):
        assert getattr(reviewgraph, name) is getattr(lsc if hasattr(lsc, name) else planner, name)
    script = "import sys, reviewgraph\nreviewgraph.Rules\nprint('planner' in sys.modules or 'lsc' in sys.modules)"
    fresh = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert fresh.stdout.split() == ["False"]
    with pytest.raises(AttributeError, match="has no attribute 'planned'"):
        getattr(reviewgraph, "planned")  # noqa: B009


def test_no_module_bears_the_name_of_what_its_front_lists() -> None:
    """Importing the module would put it in the place of the name."""
    for stub in (path for package in MAY_IMPORT for path in (ROOT / package).rglob("__init__.pyi")):
        nodes_of = [node for node in ast.parse(stub.read_text("utf-8")).body if isinstance(node, ast.ImportFrom)]
        listed = {alias.asname for node in nodes_of if node.module for alias in node.names}
        modules = {path.stem for path in stub.parent.glob("*.py")}
        modules |= {path.parent.name for path in stub.parent.glob("*/__init__.py")}
        assert modules & listed == set(), stub


def loaded(statement: str) -> list[str]:
    """Heavy modules that a fresh interpreter holds after a statement."""
    script = f"import sys\n{statement}\nprint(*sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stderr.split()


def test_importing_the_packages_loads_nothing_heavy() -> None:
    assert loaded("import numpy") == ["numpy"]
    assert loaded("import reviewgraph, planner, lsc") == []


def test_help_lists_every_command_as_its_docstring_begins_without_loading_it() -> None:
    shown = " ".join(CliRunner().invoke(main, ["--help"]).stdout.split())
    points = entry_points(group=GROUP)
    for point in points:
        sentence = first_sentence(point)
        assert sentence
        assert f" {point.name} {sentence}" in shown
        assert " ".join(point.load().help.split()).startswith(sentence)
    script = "try:\n    main(['--help'])\nexcept SystemExit:\n    print('planner.commands.plan' in sys.modules)"
    fresh = [sys.executable, "-c", f"import sys\nfrom reviewgraph.cli import main\n{script}"]
    run = subprocess.run(fresh, cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "False"


def test_help_loads_nothing_heavy() -> None:
    show_help = "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    assert loaded(f"from reviewgraph.cli import main\nsys.argv = ['reviewgraph', '--help']\n{show_help}") == []


def test_changelog_and_package_agree_on_the_version() -> None:
    versions = re.findall(r"^## \[(\d[^]]*)\] - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert versions[0] == reviewgraph.__version__


def test_links_of_readme_and_contributing_lead_somewhere() -> None:
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text("utf-8")):
            assert target.startswith("https://") or (ROOT / target).exists(), f"{page}: {target}"

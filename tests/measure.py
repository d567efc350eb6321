"""How large the packages are and how their parts hang together: ``python -m tests.measure [FOLDER...]`` prints a table.

Columns are the three packages, all of them, and each folder named, for comparison, such as that of an installed choix;
folders ``tests`` are left out. An entry is what a package's folder holds at its top: a module or a folder of modules.
"""

from __future__ import annotations

import ast
import io
import itertools
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[1]
PACKAGES = ("reviewgraph", "planner", "lsc")
#: Tokens that are no code.
SPACE = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A source file: its dotted name, which ends with ``__init__`` where it is that of a folder, and its text."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def tokens(self) -> list[tokenize.TokenInfo]:
        return list(tokenize.generate_tokens(io.StringIO(self.text).readline))

    @cached_property
    def comments(self) -> set[int]:
        """The lines with a comment that is no instruction to a tool."""
        told = (token for token in self.tokens if token.type == tokenize.COMMENT)
        return {token.start[0] for token in told if not token.string.startswith(("# fmt", "# type", "# noqa"))}

    @cached_property
    def docstrings(self) -> set[int]:
        """The lines of docstrings."""
        kinds = (ast.Module, ast.ClassDef, Function)
        documented = [n for n in ast.walk(self.tree) if isinstance(n, kinds) and ast.get_docstring(n) is not None]
        return {line for node in documented for line in _lines(node.body[0])}

    @property
    def code(self) -> int:
        """The number of lines with code."""
        kept = (token for token in self.tokens if token.type not in SPACE | {tokenize.COMMENT})
        lines = {line for token in kept for line in range(token.start[0], token.end[0] + 1)}
        return len(lines - self.docstrings)

    @property
    def header(self) -> int:
        """The number of lines up to the last import before other statements: docstring, imports, empty lines."""
        opening = itertools.takewhile(_heads, self.tree.body)
        return max((node.end_lineno or 0 for node in opening), default=0)

    @property
    def bodies(self) -> tuple[int, int]:
        """The number of lines in bodies of functions, without docstrings and empty lines, and of comments there."""
        lines: set[int] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                signature = [*ast.walk(node.args), *ast.walk(node.returns or ast.Tuple([]))]
                start = max([node.lineno, *(getattr(part, "end_lineno", 0) or 0 for part in signature)])
                lines.update(range(start + 1, (node.end_lineno or 0) + 1))
        text = self.text.splitlines()
        lines = {line for line in lines - self.docstrings if text[line - 1].strip()}
        return len(lines), len(lines & self.comments)

    @cached_property
    def imports(self) -> list[tuple[str, str, str]]:
        """The imports anywhere in the file: from which module, which name, and as what; "" for a module as a whole."""
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found += [(alias.name, "", alias.asname or alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                above = self.name.split(".")[: -node.level] if node.level else []
                base = ".".join([*above, *([node.module] if node.module else [])])
                found += [(base, alias.name, alias.asname or alias.name) for alias in node.names]
        return found


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _heads(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, an import, or the block of imports for type checkers."""
    if isinstance(node, ast.If):
        return all(map(_heads, node.body))
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)


def dotted(folder: Path) -> str:
    """Return the full name of a package by its folder."""
    above = dotted(folder.parent) + "." if (folder.parent / "__init__.py").exists() else ""
    return above + folder.name


def modules(folder: Path) -> list[Module]:
    """Return the source files of a package, without its tests."""
    paths = (path.relative_to(folder) for path in sorted(folder.rglob("*.py")))
    kept = [path for path in paths if "tests" not in path.parts]
    return [Module(".".join([dotted(folder), *path.with_suffix("").parts]), _read(folder / path)) for path in kept]


def _read(path: Path) -> str:
    return path.read_text("utf-8")


def rooms(package: str, sources: list[Module]) -> nx.DiGraph:
    """Return the entries of a package but its ``__init__``, and an arrow from each to those it imports."""

    def entry(name: str) -> str:
        return name.removeprefix(f"{package}.").split(".")[0] if name.startswith(f"{package}.") else ""

    graph = nx.DiGraph()
    graph.add_nodes_from(sorted({entry(source.name) for source in sources} - {"__init__"}))
    pairs = [(source.name, f"{module}.{name}") for source in sources for module, name, _ in source.imports]
    arrows = {(entry(start), entry(end)) for start, end in pairs}
    graph.add_edges_from((start, end) for start, end in arrows if start != end and start in graph and end in graph)
    return graph


def layers(graph: nx.DiGraph) -> int:
    """Return the number of layers: the longest chain of imports, where entries that import each other are one."""
    return len(nx.dag_longest_path(nx.condensation(graph))) if graph else 0


def shared(sources: list[Module], package: str = "reviewgraph") -> tuple[int, int]:
    """Return the number of names that sources import from another package, and of the modules these are from."""
    found = {(module, name) for source in sources for module, name, _ in source.imports}
    pairs = {(module, name) for module, name in found if module.split(".")[0] == package}
    return len(pairs), len({module for module, _ in pairs})


def repeated(names: list[str]) -> tuple[int, int]:
    """Return the number of names that occur more than once, and how often they do together."""
    counts = [count for count in Counter(names).values() if count > 1]
    return len(counts), sum(counts)


def defined(source: Module) -> set[str]:
    """Return the names that a module defines at its top: functions, classes and variables."""
    names = {node.name for node in source.tree.body if isinstance(node, Function | ast.ClassDef)}
    for node in source.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names


def referenced_once(sources: list[Module]) -> tuple[int, int]:
    """Return the number of functions at the top of modules that are used once, by their bare name, and that of all."""
    uses: Counter[str] = Counter()
    for source in sources:
        home = {known: f"{module}.{name}" for module, name, known in source.imports}
        names = [node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)]
        uses.update(home.get(name, f"{source.name}.{name}") for name in names)
    functions = [
        f"{source.name}.{node.name}" for source in sources for node in source.tree.body if isinstance(node, Function)
    ]
    return sum(uses[name] == 1 for name in functions), len(functions)


def measured(parts: dict[str, list[Module]]) -> dict[str, str]:
    """Return the figures of one package, or of several together, by what they are."""
    sources = [source for part in parts.values() for source in part]
    graphs = [rooms(package, part) for package, part in parts.items()]
    above = [source for package, part in parts.items() if package != "reviewgraph" for source in part]
    lines, comments = (sum(counts) for counts in zip(*(source.bodies for source in sources), strict=True))
    stems = [source.name.split(".")[-1] for source in sources]
    return {
        "source files": f"{len(sources):,}",
        "lines": f"{sum(len(source.text.splitlines()) for source in sources):,}",
        "lines of code": f"{sum(source.code for source in sources):,}",
        "lines of file headers": f"{sum(source.header for source in sources):,}",
        "entries": f"{sum(map(len, graphs)):,}",
        "layers": f"{max(map(layers, graphs)):,}",
        "arrows": f"{sum(graph.number_of_edges() for graph in graphs):,}",
        "names from reviewgraph, modules": "{} from {}".format(*shared(above)),
        "file names of several files": "{} of {}".format(*repeated([stem for stem in stems if stem != "__init__"])),
        "names defined more than once": f"{repeated([name for source in sources for name in defined(source)])[0]:,}",
        "functions referenced once": "{:,} of {:,}".format(*referenced_once(sources)),
        "comments per 100 body lines": f"{100 * comments / max(lines, 1):.1f}",
    }


def table(columns: dict[str, dict[str, str]]) -> str:
    """Return the figures as a table, a column each."""
    names = list(next(iter(columns.values())))
    cells = [["", *columns], *([name, *(figures[name] for figures in columns.values())] for name in names)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(_line(row, widths) for row in cells)


def _line(row: list[str], widths: list[int]) -> str:
    return "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])


def main(folders: list[str]) -> None:
    """Print the figures of the packages, and of other folders beside them."""
    ours = {package: modules(ROOT / package) for package in PACKAGES}
    parts = {**{package: {package: part} for package, part in ours.items()}, "together": ours}
    for folder in map(Path.resolve, map(Path, folders)):
        parts[folder.name] = {dotted(folder): modules(folder)}
    print(table({name: measured(part) for name, part in parts.items()}))


if __name__ == "__main__":
    main(sys.argv[1:])

"""How large the packages are and how they are written: ``python -m tests.measure [FOLDER...]`` prints a table.

A row is a folder of modules (a room), a package, all of them, or a folder named, such as that of an installed choix;
folders ``tests`` are left out. Figures of style are per 100 lines of code.
"""

import ast
import io
import sys
import tokenize
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[1]
PACKAGES = ("reviewgraph", "planner", "lsc")
#: Tokens that are no code.
SPACE = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING}
#: Names that do not say what they hold.
VAGUE = {"one", "other", "others", "found", "given", "said", "told", "own", "each", "there", "both"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A source file: its path and its text."""

    path: Path
    text: str

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(ast.parse(self.text)))

    @cached_property
    def tokens(self) -> list[tokenize.TokenInfo]:
        return list(tokenize.generate_tokens(io.StringIO(self.text).readline))

    @property
    def code(self) -> int:
        """The number of lines with code, without docstrings."""
        kept = (token for token in self.tokens if token.type not in SPACE | {tokenize.COMMENT})
        lines = {line for token in kept for line in range(token.start[0], token.end[0] + 1)}
        for node in self.nodes:
            kinds = ast.Module | ast.ClassDef | Function
            if isinstance(node, kinds) and ast.get_docstring(node) is not None:
                lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        return len(lines)

    @property
    def comments(self) -> int:
        """The number of comments that are no instruction to a tool."""
        comments = (token.string for token in self.tokens if token.type == tokenize.COMMENT)
        return sum(not comment.startswith(("# fmt", "# type", "# noqa")) for comment in comments)

    @property
    def tuple_assignments(self) -> int:
        """The number of assignments of a tuple to a tuple; swaps and results of a call are not counted."""
        assignments = [
            node for node in self.nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        ]
        pairs = [(node.targets[0], node.value) for node in assignments]
        return sum(isinstance(target, ast.Tuple) and not _is_swap(target, value) for target, value in pairs)

    @property
    def vague_names(self) -> int:
        """The number of variables, parameters and targets of loops with a vague name."""
        stored = [node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        parameters = [node.arg for node in self.nodes if isinstance(node, ast.arg)]
        return sum(name in VAGUE for name in (*stored, *parameters))

    @property
    def conditionals(self) -> int:
        """The number of conditional expressions."""
        return sum(isinstance(node, ast.IfExp) for node in self.nodes)


def _is_swap(target: ast.expr, value: ast.expr) -> bool:
    """Whether the same places are on both sides: ``a, b = b, a``."""
    sides = [sorted(ast.unparse(part) for part in side.elts) for side in (target, value) if isinstance(side, ast.Tuple)]
    return len(sides) == 2 and sides[0] == sides[1]


def modules(folder: Path) -> list[Module]:
    """Return the source files of a folder and those below it, without its tests."""
    paths = (path for path in sorted(folder.rglob("*.py")) if "tests" not in path.relative_to(folder).parts)
    return [Module(path.relative_to(folder), path.read_text("utf-8")) for path in paths]


def layers(folder: Path) -> int:
    """Return the longest chain of imports between the entries of a package; entries that import each other are one."""
    graph = nx.DiGraph()
    for module in modules(folder):
        entry = module.path.parts[0].removesuffix(".py")
        for node in module.nodes:
            if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                package, _, name = node.module.partition(".")
                if package == folder.name and name:
                    graph.add_edge(entry, name.split(".")[0])
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return len(nx.dag_longest_path(nx.condensation(graph))) if graph else 1


def row(name: str, sources: list[Module], depth: int = 0) -> list[str]:
    """Return the cells of a row: sizes, and figures of style per 100 lines of code."""
    code = sum(source.code for source in sources)
    sizes = [len(sources), sum(len(source.text.splitlines()) for source in sources), code]
    counts = [
        sum(getattr(source, figure) for source in sources)
        for figure in ("tuple_assignments", "conditionals", "vague_names", "comments")
    ]
    styles = [f"{100 * count / max(code, 1):.1f}" for count in counts]
    return [name, *(f"{size:,}" for size in sizes), str(depth or ""), *styles]


def table(folders: list[Path]) -> str:
    """Return the figures of the packages and their rooms, of all, and of other folders, as a table."""
    rows = [["", "modules", "lines", "code", "layers", "tuples", "conditionals", "vague", "comments"]]
    for package in PACKAGES:
        sources = modules(ROOT / package)
        for room in sorted({source.path.parts[:-1] for source in sources}):
            within = [source for source in sources if source.path.parts[:-1] == room]
            rows += [row("/".join((package, *room, "*.py")), within)]
        rows.append(row(package, sources, layers(ROOT / package)))
    rows.append(row("together", [source for package in PACKAGES for source in modules(ROOT / package)]))
    rows += [row(folder.name, modules(folder), layers(folder)) for folder in folders]
    rows.append(row("tests", modules(ROOT / "tests")))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])]) for cells in rows)


if __name__ == "__main__":
    print(table([Path(folder).resolve() for folder in sys.argv[1:]]))

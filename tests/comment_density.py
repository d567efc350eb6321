"""How much functions say about themselves: ``python tests/comment_density.py PACKAGE...`` prints a table.

For each folder: comments per 100 lines of function body (docstrings and empty lines left out), and the share of
bodies over 20 lines that have no comment.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

LONG = 20


def bodies(source: str) -> list[tuple[int, int]]:
    """Lines and comments of each outermost function body.

    >>> bodies("def f(x):\\n    '''Add one.'''\\n    # as always\\n    return x + 1\\n")
    [(2, 1)]
    """
    comments = {
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and not token.string.startswith(("# fmt", "# type", "# noqa"))
    }
    lines, found = source.splitlines(), []
    inside = 0
    for node in sorted((n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)), key=_line):
        if node.lineno <= inside:
            continue
        inside = node.end_lineno or node.lineno
        documented = ast.get_docstring(node, clean=False) is not None
        first = (node.body[0].end_lineno if documented else node.lineno) or node.lineno
        body = [number for number in range(first + 1, inside + 1) if lines[number - 1].strip()]
        found.append((len(body), len(comments & set(body))))
    return found


def _line(node: ast.FunctionDef) -> int:
    return node.lineno


def density(folder: Path) -> tuple[int, float, float]:
    """Functions of a folder, comments per 100 lines of body, and percent of long bodies without any."""
    found = [body for path in sorted(folder.rglob("*.py")) for body in bodies(path.read_text(encoding="utf-8"))]
    lines, comments = sum(size for size, _ in found), sum(count for _, count in found)
    long = [count for size, count in found if size > LONG]
    return len(found), 100 * comments / max(lines, 1), 100 * long.count(0) / max(len(long), 1)


if __name__ == "__main__":
    print(f"{'folder':40} functions  comments/100 lines  long bodies without")
    for name in sys.argv[1:]:
        functions, comments, silent = density(Path(name))
        print(f"{name:40} {functions:9}  {comments:18.1f}  {silent:17.0f} %")

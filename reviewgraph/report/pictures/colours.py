"""Colours written out, for what shows or converts pictures and knows no variables of style sheets."""

from __future__ import annotations

import re

#: The names of a style sheet's colours: a block of its own, or one for a medium.
_NAMES = re.compile(r"(?:(@media [^{]*?) \{\s*)?:root \{([^}]*)\}(?(1)\s*\})")
_NAMED = re.compile(r"--([\w-]+): ([^;]*);")
_USED = re.compile(r"var\(--([\w-]+)\)")


def written_out(style: str) -> str:
    """Return a style sheet, whose rules take a line each, in which colours stand for their names.

    A rule that has a colour stands once for all media, and once for each that has colours of its own.

    Examples
    --------
    >>> print(written_out(":root { --ink: #000; } @media print { :root { --ink: #111; } } p { fill: var(--ink); }"))
    p { fill: #000; }
    @media print {
    p { fill: #111; }
    }
    """
    rules = re.sub(r"/\*.*?\*/", "", _NAMES.sub("", style), flags=re.S).strip()
    usual = dict(_NAMED.findall(style[: style.find("}")]))
    found = [_with(usual, rules)]
    coloured = "\n".join(line for line in rules.splitlines() if _USED.search(line))
    for medium, names in _NAMES.findall(style):
        if medium:
            found.append(f"{medium} {{\n{_with(usual | dict(_NAMED.findall(names)), coloured)}\n}}")
    return "\n".join(found)


def _with(colours: dict[str, str], rules: str) -> str:
    return _USED.sub(lambda use: colours[use[1]], rules)

"""Every line that docs/how-to/read-the-verdict.md explains is made of words of tutorials and of pages."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "how-to" / "read-the-verdict.md").read_text("utf-8")
LINES = [line for row in re.findall(r"^\| (`.*?) \| ", PAGE, re.M) for line in re.findall("`([^`]+)`", row)]

#: What makes pages.
MAKERS = [
    *(DOCS.parent / "lsc" / "pages").glob("*.py"),
    *(
        DOCS.parent / place
        for place in ("planner/_plans/page.py", "planner/_assign/page.py", "planner/_plans/outcome.py")
    ),
    *(DOCS.parent / "reviewgraph" / place for place in ("report/check.py", "cli/check.py", "report/text.py")),
    DOCS.parent / "planner" / "commands" / "options.py",
    DOCS.parent / "planner" / "_assign" / "assignment.py",
    DOCS.parent / "planner/rules.py",
]
#: What the tutorials show and the makers say, with one blank between words.
WORDS = " ".join(
    " ".join(path.read_text("utf-8").lower().split()) for path in [*(DOCS / "tutorial").glob("*.md"), *MAKERS]
)


@pytest.mark.parametrize("line", [line for line in LINES if not line.startswith(("--", "Name "))])
def test_a_line_that_is_explained_is_on_a_page(line: str) -> None:
    # Numbers, and what stands for numbers and names, differ.
    parts = re.split(r"\b[NMKABn]\b|\bP?[0-9]+\b|[.]{3}|[():;,%+]|because: |! ", line)
    missing = [word for part in parts for word in part.lower().split() if word not in WORDS]
    assert not missing, line

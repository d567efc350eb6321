"""Plain words: phrases that are not written, and the glossary that defines those that are."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if not {"_build", "paper"} & set(path.parts)]

FOLDERS = ("docs", "README.md", "CONTRIBUTING.md", "reviewgraph", "planner", "lsc")

#: What is not written, as a pattern over the text with blanks for line breaks, and what is.
FORBIDDEN = {
    r"\b[Ss]he\b|\b[Hh]er\b|\b[Hh]ers\b|\bherself\b|\b[Hh]e\b|\b[Hh]is\b|\bhimself\b": "they, the reviewer",
    r"\b(?:(?<!who )[Rr]eviews?|[Pp]apers?|[Ss]cores?|[Aa]lternates?|[Cc]andidates?|reviewers|rows?|columns?|modules?|"
    r"classes|letters?|lines?|bytes|most|one|fewest) a (?:review|reviewer|paper|item|score|row|line|level|package|"
    r"system|viewer|judge|student|grader|factor|regime|cell|person|value|year|plan|file|page)\b"
    r"(?! of| who| that| in)": "per",
    r"\bdrawn to\b|\bdraws? \w+ to the middle\b|\bto the crowd\b": "shrunk towards",
    r"\bthe middle half\b": "the interquartile range",
    r"\bby lots?\b|\b[Tt]he lots\b|\b[Dd]raw lots\b": "randomised, a lottery",
    r"\bso many\b|\bso much\b(?! as)": "n, the number of",
    r"\bheard\b": "used",
    r"\bat rest\b|\bcome to rest\b|\bstate of rest\b": "converged",
    r"\bgive or take\b": "+-",
    r"\bholds? with nine in ten\b|\bnine times in ten\b|\b90 % sure\b": "90 % credible interval, with probability 0.9",
    r"\bon trust\b": "not checked",
    r"\btwins?\b": "reference implementation",
    r"\bslips?\b": "error, outlier",
    r"\bwho only orders?\b|\bonly orders? (?:papers|them)\b": "ordinal reviewers",
    r"\b[Mm]uch fewer\b": "far fewer",
    r"\bat (?:its|their) word\b": "noise-free",
    r"\bbeside them stands?\b|\bstands? beside\b|\bstood behind\b": "is in addition to",
    r"\bone door\b|\bthe house\b": "interface, the packages",
    r"\bsays? (?:it|that too|so twice)\b(?! can| could| is)": "reports",
    r"\bno proof is left\b|\ba proof is left\b": "is (not) proved",
    r"\bto be had\b|\bnext to nothing\b": "negligible",
    r"\bmend(?:s|ed|ing)?\b": "repair, correct",
    r"\bsays? of\b|\btells? of\b|\bspeaks? of\b": "describes",
    r"\bis answered\b|\bare answered\b": "returns, raises",
    r"(?:^|[.;:] )Who (?:has|gave|is|are|accepted|owes|may|survives)\b[^?]*?[.]": "Reviewers who ...",
}

#: What a program prints, a name in code or a word of another meaning: not prose.
QUOTED = re.compile(
    r"^ *(`{3,}|~{3,}).*?^ *\1 *$|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$|^ *> .*?$|^## \[.*?(?=^## \[)|\]\([^)]*\)",
    re.M | re.S,
)


#: Strings and comments of Python; to tokenize takes ten times as long, and finds the same.
SPOKEN = re.compile(
    r'''#[^\n]*|(?i:\b(?:[rbuf]|br|rb|fr|rf))?(?:"""(?:\\.|[^\\])*?"""|\'{3}(?:\\.|[^\\])*?\'{3}'''
    r"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')""",
    re.S,
)


def prose(path: Path) -> str:
    """Return the text of a page without blocks, code and formulas, or the strings and comments of a module.

    Sections "Add a ..." of CONTRIBUTING are left out.
    """
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        text = " ".join(spoken.lstrip("# ") for spoken in SPOKEN.findall(text))
    if path.name == "CONTRIBUTING.md":
        text = re.sub(r"^## Add a .*?(?=^## )", "", text, flags=re.M | re.S)
    return re.sub(r"\s+", " ", QUOTED.sub(" ", text))


def offences(paths: list[Path]) -> list[tuple[str, str, str]]:
    """Return file, pattern and phrase of whatever is not to be written."""
    return [
        (path.relative_to(ROOT).as_posix(), pattern, text[max(0, match.start() - 30) : match.end() + 30])
        for path in paths
        for text in [prose(path)]
        for pattern in FORBIDDEN
        for match in re.finditer(pattern, text)
    ]


def files(folders: tuple[str, ...]) -> list[Path]:
    """Return the pages and modules of folders, and files that are named themselves."""
    places = [ROOT / folder for folder in folders]
    inside = [path for folder in places if folder.is_dir() for kind in ("*.md", "*.py") for path in folder.rglob(kind)]
    return sorted(
        path for path in [*inside, *(path for path in places if path.is_file())] if "_build" not in path.parts
    )


def test_forbidden_phrases_are_not_written() -> None:
    findings = offences(files(FOLDERS))
    assert not findings, "\n".join(f"{path}: ...{phrase}... write: {FORBIDDEN[key]}" for path, key, phrase in findings)


def terms() -> list[str]:
    """Return the terms of the glossary, synonyms included."""
    block = re.search(r"^```\{glossary\}\n(.*?)^```$", GLOSSARY.read_text("utf-8"), re.M | re.S)
    assert block
    return [line.casefold() for line in block[1].splitlines() if line and not line.startswith(" ")]


def test_each_page_links_the_glossary() -> None:
    without = [page.name for page in PAGES if page != GLOSSARY and "glossary" not in page.read_text("utf-8")]
    assert without == []
    for page in ("README.md", "CONTRIBUTING.md"):
        assert "docs/reference/glossary.md" in (ROOT / page).read_text("utf-8")


def test_terms_that_pages_link_are_in_the_glossary() -> None:
    linked = {
        (named or shown).casefold()
        for page in PAGES
        for shown, named in re.findall(r"\{term\}`([^`<]+?)(?: <([^`>]+)>)?`", page.read_text("utf-8"))
    }
    assert linked <= set(terms())

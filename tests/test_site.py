"""The site: pictures are what the product draws, the gallery runs as printed, and readers find what they look for."""

import re
import tomllib
from pathlib import Path

import pytest

from docs import pictures, tables
from tests.trials import sampled

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if not {"_build", "paper"} & set(path.parts)]
QUESTIONS = pictures.pages()
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
LINK = re.compile(r"\]\(([^)\s#]+\.md)(?:#[^)]*)?\)|\{doc\}`(?:[^`<]*<)?([^`>]+?)>?`")
#: A number in a picture or in what is printed: another machine may differ in the last digits.
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def same(one: str, other: str) -> bool:
    """Whether two pictures, colours aside, have the same words, and elements in the same places up to a point."""
    plain = [re.sub(r"<style>.*?</style>", "", picture, flags=re.S) for picture in (one, other)]
    parts = [re.split(r"(<[^>]*>)", picture) for picture in plain]
    if [part[::2] for part in parts[:1]] != [part[::2] for part in parts[1:]]:
        return False
    tags = [" ".join(part[1::2]) for part in parts]
    if NUMBER.sub("", tags[0]) != NUMBER.sub("", tags[1]):
        return False
    pairs = zip(*map(NUMBER.findall, tags), strict=True)
    return all(abs(float(a) - float(b)) <= 1 for a, b in pairs)


@pytest.mark.slow
@pytest.mark.usefixtures("infer_once")
@pytest.mark.parametrize("page", sampled(QUESTIONS, 2), ids=lambda page: page.stem)
def test_a_question_is_answered_as_its_page_shows(page: Path, tmp_path: Path) -> None:
    _, output = pictures.shown(page)
    assert pictures.run(page, tmp_path) == output
    drawn = sorted(tmp_path.glob("*.svg"))
    assert [path.name for path in drawn] == [Path(name).name for _, name in IMAGE.findall(page.read_text("utf-8"))]
    assert drawn
    for path in drawn:
        assert same(path.read_text("utf-8"), (pictures.GALLERY / path.name).read_text("utf-8")), path.name


@pytest.mark.parametrize("name", tables.TABLES)
def test_tables_of_pages_say_what_the_code_says(name: str) -> None:
    assert tables.shown(name).strip() == tables.TABLES[name][1]().strip(), "run python -m docs.tables"


def test_names_of_columns_on_the_page_are_recognised() -> None:
    from reviewgraph.formats import columns

    page = (DOCS / "reference" / "data.md").read_text("utf-8")
    for role in ("reviewer", "item", "score", "title", "confidence", "criterion"):
        names = re.search(rf"^\| `{role}`[^|]*\| ([^|]+) \|$", page, re.M)[1]  # type: ignore[index]
        known = getattr(columns, role.upper()).names
        listed = {columns.normalise(name.strip().removeprefix("last of all ")) for name in re.split("[,;]", names)}
        assert listed <= {*known}, role


@pytest.mark.slow
@pytest.mark.usefixtures("infer_once")
def test_pictures_of_the_home_page_and_the_tutorials_are_what_the_product_draws() -> None:
    for name, picture in pictures.pictures().items():
        assert same((DOCS / name).read_text("utf-8"), picture.svg), f"{name}: run python -m docs.pictures"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_pictures_stand_there_and_have_words(page: Path) -> None:
    for words, name in IMAGE.findall(page.read_text("utf-8")):
        assert (page.parent / name).is_file(), name
        assert len(words.split()) > 1, name


def test_every_picture_is_shown() -> None:
    used = {(page.parent / name).resolve() for page in PAGES for _, name in IMAGE.findall(page.read_text("utf-8"))}
    there = {path.resolve() for kind in ("*.svg", "*.png") for path in DOCS.rglob(kind) if "_build" not in path.parts}
    assert there == used


def links(page: Path) -> set[Path]:
    """Return the pages that a page links, in its text or in a table of contents."""
    text = page.read_text("utf-8")
    found = {linked or f"{doc}.md" for linked, doc in LINK.findall(text)}
    for options, entries in re.findall(r"^```\{toctree\}\n((?::[^\n]*\n)*)\n(.*?)^```$", text, re.M | re.S):
        for entry in entries.split():
            found |= {str(path) for path in page.parent.glob(f"{entry}.md")} if ":glob:" in options else {f"{entry}.md"}
    return {(page.parent / name).resolve() for name in found}


def test_every_page_is_two_clicks_from_home() -> None:
    home = DOCS / "index.md"
    first = links(home)
    reached = {home, *first}.union(*(links(page) for page in first if page.is_file() and page.suffix == ".md"))
    assert [path.relative_to(DOCS).as_posix() for path in PAGES if path.resolve() not in reached] == []


def test_the_page_on_installing_names_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    page = (DOCS / "install.md").read_text("utf-8")
    assert [name for name in project["optional-dependencies"] if f"| `{name}` |" not in page] == []
    first, behind = re.fullmatch(r">=(3\.\d+),<3\.(\d+)", project["requires-python"]).groups()  # type: ignore[union-attr]
    assert f"Python {first} to 3.{int(behind) - 1}" in page


def test_the_recipe_of_conda_is_of_this_project() -> None:
    import yaml

    from reviewgraph import __version__

    recipe = yaml.safe_load((DOCS / "conda" / "recipe.yaml").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert recipe["context"]["version"] == __version__
    assert recipe["about"]["license"] == project["license"]
    named = {"duckdb": "python-duckdb", "igraph": "python-igraph", "ortools": "ortools-python"}
    wanted = {named.get(name, name) for name in (re.split(r"[<>= ]", line)[0] for line in project["dependencies"])}
    run = {line.split()[0] for line in recipe["requirements"]["run"]} - {"python"}
    assert run == wanted
    bounds = {line.split()[0]: line.split()[1] for line in recipe["requirements"]["run"] if " " in line}
    for line in project["dependencies"]:
        name = re.split(r"[<>= ]", line)[0]
        assert bounds[named.get(name, name)] == line[len(name) :].strip(), name

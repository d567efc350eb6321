"""The reference of the packages: every public name stands in it, explained, and no page names what is not there."""

import importlib
import inspect
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import reviewgraph as rg
from tests.test_docs import PAGES
from tests.test_house import public

DOCS = Path(__file__).parents[1] / "docs"
PACKAGES = ("reviewgraph", "planner", "lsc")
DIRECTIVE = re.compile(r"^\.\. auto(module|class|function):: (\S+)\n((?:   :.*\n)*)", re.M)
#: Names that get a page each, below the package that they are imported from.
SUMMARY = re.compile(r"^\.\. currentmodule:: (\S+)\n\n\.\. autosummary::\n(?:   :.*\n)*\n((?:   \w+\n)+)", re.M)
#: In the text of pages: names in Python of these packages, with or without a call, files left out.
NAMED = re.compile(r"`((?:reviewgraph|planner|lsc)(?:\.\w+)+)(?:\(.*?\))?`")


class Shown(NamedTuple):
    """What a directive of the page shows: members of a module, these alone or without those."""

    module: Any
    only: list[str]
    never: list[str]

    def things(self) -> list[Any]:
        """Return what stands on the page, as Sphinx chooses it: ``__all__``, or what the module itself defines."""
        names = self.only or getattr(self.module, "__all__", None) or list(vars(self.module))
        listed = bool(self.only) or hasattr(self.module, "__all__")
        things = [getattr(self.module, name) for name in names if not name.startswith("_") and name not in self.never]
        return [thing for thing in things if listed or getattr(thing, "__module__", None) == self.module.__name__]


def listed(options: str, name: str) -> list[str]:
    option = re.search(rf":{name}: (.*)", options)
    return re.split(r",\s*", option[1].strip()) if option else []


def texts(package: str) -> list[str]:
    """Return the page of a package, which lists its names, and those of its parts."""
    parts = sorted((DOCS / "reference" / package).glob("*.md"))
    return [path.read_text("utf-8") for path in (DOCS / "reference" / f"{package}.md", *parts)]


def shown(package: str) -> list[Shown]:
    pages = texts(package)
    directives = [directive for page in pages for directive in DIRECTIVE.findall(page)]
    assert {kind for kind, *_ in directives} == {"module"}
    names = [Shown(importlib.import_module(home), listing.split(), []) for home, listing in SUMMARY.findall(pages[0])]
    return names + [
        Shown(importlib.import_module(target), listed(options, "members"), listed(options, "exclude-members"))
        for _, target, options in directives
    ]


def things(package: str) -> list[Any]:
    return [thing for directive in shown(package) for thing in directive.things()]


EVERYTHING = [thing for package in PACKAGES for thing in things(package)]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_stands_on_the_page_of_its_package(package: str) -> None:
    module = importlib.import_module(package)
    shown_here = things(package)
    # What one import offers of the other packages stands on their pages, under their names.
    named = {name: getattr(module, name) for name in public(package)}
    named |= {name: getattr(rg.graph, name) for name in rg.graph.__all__} if module is rg else {}
    lent = {name for name, thing in named.items() if getattr(thing, "__module__", package).split(".")[0] != package}
    assert not lent or package == "reviewgraph"
    absent = [
        name
        for name, thing in named.items()
        if not any(thing is member for member in (EVERYTHING if name in lent else shown_here))
    ]
    assert absent == []


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_names_nothing_that_is_not_there(package: str) -> None:
    for directive in shown(package):
        absent = [name for name in (*directive.only, *directive.never) if not hasattr(directive.module, name)]
        assert absent == [], directive.module.__name__
        assert directive.things(), f"{directive.module.__name__} shows nothing"


def resolves(dotted: str) -> bool:
    module, _, rest = dotted.partition(".")
    thing: Any = importlib.import_module(module)
    for name in rest.split("."):
        try:
            thing = getattr(thing, name)
        except AttributeError:
            # A field of a dataclass without a default, or a module that nothing has imported yet.
            if inspect.isclass(thing) and name in inspect.get_annotations(thing):
                continue
            try:
                thing = importlib.import_module(f"{thing.__name__}.{name}")
            except (AttributeError, ModuleNotFoundError):
                return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_what_can_be_imported(page: Path) -> None:
    named = {name for name in NAMED.findall(page.read_text("utf-8")) if not name.endswith((".csv", ".py"))}
    assert [name for name in sorted(named) if not resolves(name)] == []

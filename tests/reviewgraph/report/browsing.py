"""A headless Chromium with a driver, where there are any; tests that need them are skipped elsewhere."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.trials import NIGHTLY

#: Where browsers are looked for; the environment variable comes first.
NAMES = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((found for name in NAMES if name and (found := shutil.which(name))), None)
#: axe.min.js of the package axe-core.
AXE = Path(os.environ.get("AXE_CORE", "axe.min.js"))
#: Widths and colours of screens, of which the everyday run takes the first two for one report, the first for others.
LOOKS = [(400, "dark"), (1400, "light"), (400, "light"), (1400, "dark")]

SCREEN = {"width": 1280, "height": 720}
#: Rows, what opens, and circles of pictures, that are made like those before them.
REPEATED = "tbody tr:nth-child(n + 4), details ~ details ~ details, circle ~ circle ~ circle"
#: Pages that are open, by browser and options.
KEPT: dict[Any, dict[tuple[tuple[str, Any], ...], Any]] = {}


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            KEPT.pop(browser, None)
            browser.close()


def page_of(browser: Any, **options: Any) -> Any:
    """Return a page that looks as if it were new, one per browser and options: to open one takes longest."""
    pages = KEPT.setdefault(browser, {})
    key = tuple(sorted(options.items()))
    if key not in pages:
        pages[key] = browser.new_context(viewport=SCREEN, **options).new_page()
    page = pages[key]
    page.set_viewport_size(SCREEN)
    page.emulate_media(media="null", color_scheme="null")
    return page


@contextmanager
def opened(browser: Any, path: Path, **options: Any) -> Iterator[Any]:
    """Yield a page; afterwards nothing may have been asked of anyone, and the console must be silent."""
    page, told = page_of(browser, **options), list[str]()
    listeners: dict[str, Callable[[Any], None]] = {
        "console": lambda message: told.append(message.text),
        "pageerror": lambda error: told.append(str(error)),
        "request": lambda request: told.append(request.url) if request.url != path.as_uri() else None,
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    try:
        page.goto(path.as_uri())
        yield page
        # The icon is in the file itself; Chromium tells of it as a request all the same.
        assert [words for words in told if words != "data:,"] == []
    finally:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        page.goto("about:blank")


def unfold(page: Any) -> None:
    """Open all sections."""
    page.locator("details.section").evaluate_all("all => all.forEach(each => { each.open = true; })")


def violations(page: Any, rules: tuple[str, ...] = ()) -> list[str]:
    """Return what axe-core objects to, by all its rules or by some, and where."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(f"{AXE.read_text(encoding='utf-8')};0")
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    found = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def expect_good_looks(browser: Any, path: Path, everyday: int = 1) -> None:
    """Open a report on a phone and on a screen, in the dark and in the light, and expect nothing to object to."""
    for looks in [[look] for look in LOOKS] if NIGHTLY else [LOOKS[:everyday]]:
        with opened(browser, path, bypass_csp=True) as page:
            expect_looks(page, looks)


def expect_looks(page: Any, looks: list[tuple[int, str]]) -> None:
    """Expect nothing to object to on screens of some widths, in the dark or in the light, whatever opens being open.

    Everyday, axe-core sees the first rows of each table and the first of what opens, and, on screens after the first,
    colours alone.
    """
    for number, (width, scheme) in enumerate(looks):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") == width, page.url
        page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
        if AXE.is_file():
            if not NIGHTLY:
                page.locator(REPEATED).evaluate_all("all => all.forEach(each => { each.remove(); })")
            assert violations(page, ("color-contrast",) if number and not NIGHTLY else ()) == [], page.url

"""A headless Chromium with a driver, where there are any; tests that need them are skipped elsewhere."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
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
#: Widths and colours of screens, of which the everyday run takes the first two.
LOOKS = [(400, "dark"), (1400, "light"), (400, "light"), (1400, "dark")]


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
            browser.close()


@contextmanager
def opened(browser: Any, path: Path, **options: Any) -> Iterator[Any]:
    """Yield a page; afterwards nothing may have been asked of anyone, and the console must be silent."""
    context = browser.new_context(**options)
    try:
        page = context.new_page()
        told: list[str] = []
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda request: told.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        yield page
        # The icon is in the file itself; Chromium tells of it as a request all the same.
        assert [words for words in told if words != "data:,"] == []
    finally:
        context.close()


def violations(page: Any) -> list[str]:
    """Return what axe-core objects to, and where."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def expect_good_looks(browser: Any, path: Path) -> None:
    """Open a report on a phone and on a screen, in the dark and in the light, and expect nothing to object to."""
    for looks in [[look] for look in LOOKS] if NIGHTLY else [LOOKS[:2]]:
        with opened(browser, path, bypass_csp=True) as page:
            expect_looks(page, looks)


def expect_looks(page: Any, looks: list[tuple[int, str]]) -> None:
    """Expect nothing to object to on screens of some widths, in the dark or in the light, whatever opens being open."""
    for width, scheme in looks:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") == width, page.url
        page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
        if AXE.is_file():
            assert violations(page) == [], page.url

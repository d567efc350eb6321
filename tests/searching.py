"""Search the built site as a reader does, in Chromium: ``python -m tests.searching docs/_build/html``.

Exit status 1 if a word does not find its page among the first three; where there is no Chromium nothing is searched.
"""

from __future__ import annotations

import functools
import http.server
import shutil
import sys
import threading
from typing import Any

#: Words that readers search for, and pages of which one is to be among the first three.
FOUND = {
    "planner": {"reference/planner"},
    "install": {"install"},
    "criteria": {"how-to/several-criteria"},
    "scikit-learn": {"how-to/notebook"},
    "excel": {"reference/files", "audiences/instructors"},
    "hotcrp": {"reference/files"},
    "openreview": {"reference/files"},
    "cite": {"cite"},
    "phone": {"how-to/report"},
    "confidence": {"how-to/confidence"},
    "double": {"explanation/three-levels"},
    "extra reviews": {"how-to/plan"},
    "FACETS": {"explanation/how-it-compares"},
    "large table": {"how-to/large-tables"},
    "rounds": {"how-to/rounds"},
    "severe": {"gallery/severe-judge"},
    "pivot": {"reference/mistakes"},
}
LINKS = "#search-results ul.search > li > a"


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *arguments: Any) -> None:
        """Print nothing."""


def main(folder: str) -> int:
    """Search for each word and print what is not found; return the exit status."""
    browser = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        browser = None
    if browser is None:
        print("no Chromium or no playwright: the search is not tried")
        return 0
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    missed = 0
    with sync_playwright() as driver:
        page = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"]).new_page()
        for word, expected in FOUND.items():
            page.goto(f"http://127.0.0.1:{server.server_port}/search.html?q={word.replace(' ', '+')}")
            page.wait_for_selector(".search-summary:not(:empty)", state="attached", timeout=10000)
            page.wait_for_timeout(500)
            links = page.eval_on_selector_all(LINKS, "found => found.map(one => one.getAttribute('href'))")
            first = [link.split("?")[0].split("#")[0].removesuffix(".html") for link in links[:3]]
            if not expected & set(first):
                missed += 1
                print(f"{word}: expected {' or '.join(sorted(expected))}, found {', '.join(first)}")
    print(f"search: {len(FOUND) - missed} of {len(FOUND)} words find their page")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Reads reports as a browser would: well-formedness, visible text, and the data of tables."""

import json
import re
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "br", "input"}
UNSEEN = {"script", "style", "title"}


class Page(HTMLParser):
    """An HTML document: every element closed in turn, ids distinct, text collected."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.seen: list[str] = []
        self.printed: list[str] = []
        self.data: list[dict[str, Any]] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"not closed: {self.open}"
        assert len(self.ids) == len(set(self.ids)), "an id stands twice"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(str(attributes["id"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script" and self.tags[-1][1].get("type") == "application/json":
            self.data.append(json.loads(data))
        elif self.open and self.open[-1] == "pre":
            self.printed.append(data)
        elif self.open and (self.open[-1] not in UNSEEN or "svg" in self.open):
            self.seen.append(data)

    @property
    def text(self) -> str:
        """What is there to be read, what is printed as on the terminal left out."""
        return re.sub(r"\s+", " ", " ".join(self.seen))


def without_hashes(html: str) -> str:
    """Return a page without the letters of the hashes in its policy, which may spell anything."""
    return re.sub(r"'sha256-[^']*'", "", html)


def numbers(text: str) -> set[str]:
    """Return all numbers of a text, as they are written."""
    return set(re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text))

"""What the exports of a real pretalx have to be read as: what its database holds beside them in ``truth.json``."""

import json
from pathlib import Path
from typing import Any

from reviewgraph import read_reviews
from reviewgraph.formats.side import read_conflicts, read_items, read_reviewers
from tests.reviewgraph.reading_cases import found

Pairs = dict[tuple[str, str], float | None]
RUNNING = ("submitted", "accepted", "confirmed", "rejected")


class Event:
    """An event: the folder of its exports, and what is true of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "exports"
        self.truth: dict[str, Any] = json.loads((folder / "truth.json").read_text("utf-8"))
        self.live = {code for code, state in self.truth["states"].items() if state in RUNNING}

    @property
    def spoken(self) -> set[tuple[str, str]]:
        """Return who speaks about what."""
        return {(who, of) for of, several in self.truth["speakers"].items() for who in several}

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def written(self, *, category: str = "", by: str = "user") -> Pairs:
        """Return the reviews of papers in the running, with their total or with a score of one category."""
        return {
            (one[by], one["submission"]): one["scores"].get(category) if category else one["score"]
            for one in self.truth["reviews"]
            if one["submission"] in self.live
        }

    def assigned(self, *, by: str = "user") -> Pairs:
        """Return reviews that are written or assigned."""
        place = {"user": 0, "code": 1}[by]
        planned = {(pair[place], pair[2]): None for pair in self.truth["assigned"] if pair[2] in self.live}
        return {**planned, **self.written(by=by)}


def expect_pages_read(event: Event) -> None:
    """The exports of the pages: with several categories the one called Score stands where the total would."""
    several = any(len(one["scores"]) > 1 for one in event.truth["reviews"])
    for form in ("csv", "json"):
        for name in ("every", "bare"):
            read = read_reviews(event.path(f"reviews-{name}.{form}"), items=event.path(f"sessions.{form}"))
            assert found(read) == event.written(category="Score" if several else ""), (name, form)
            assert set(read.items) == event.live
        assert {code: one.title for code, one in read_items(event.path(f"sessions.{form}")).items()} == {
            code: event.truth["titles"][code] for code in event.live
        }
        if several:
            read = read_reviews(
                event.path(f"reviews-every.{form}"), items=event.path(f"sessions.{form}"), columns={"score": "Impact"}
            )
            assert found(read) == event.written(category="Impact")


def expect_api_read(event: Event) -> None:
    """What the API returns: totals by code; with the teams by address; with proposals what is assigned, too."""
    items = event.path("api-submissions-plain.json")
    assert found(read_reviews(event.path("api-reviews.json"), items=items)) == event.written(by="code")
    assert found(read_reviews(event.path("api-reviews-all.json"))) == event.written(by="code")
    notes: list[str] = []
    pages = [event.path(f"api-page-{number}.json") for number in (1, 2)]
    assert found(read_reviews(*pages, items=items, note=notes.append)) == event.written(by="code")
    assert sum("give all pages" in note for note in notes) == 2
    files = [event.path(f"api-{name}.json") for name in ("reviews", "submissions", "teams")]
    read = read_reviews(*files)
    assert found(read) == event.assigned()
    assert set(read.items) == event.live
    assert found(read_reviews(files[1])) == dict.fromkeys(
        (code, of) for _, code, of in event.truth["assigned"] if of in event.live
    )
    assert set(read_reviewers(files[2])) == {email for _, email in event.truth["people"].values()}
    barred = read_conflicts(files[1])
    barring = {(barred.reviewers[j], barred.items[i]) for j, i in zip(barred.reviewer, barred.item, strict=True)}
    assert barring == event.spoken != set()

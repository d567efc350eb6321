"""What ``calibrate`` is asked for beside the qualities: lots, an account, the scale of references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reviewgraph.cli.options import read_side
from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from lsc.commands.choosing import Choice
    from lsc.estimate import Estimate
    from lsc.posteriors import PosteriorEstimate
    from lsc.references import ReferenceLine
    from reviewgraph.labels import Label
    from reviewgraph.reviews import Reviews


@dataclass
class Extras:
    """Lines for people, keys of the JSON, columns of the file."""

    lines: list[str] = field(default_factory=list)
    record: dict[str, Any] = field(default_factory=dict)
    line: ReferenceLine | None = None

    def draw(self, choice: Choice, given: int | None) -> None:
        """Draw lots among the papers that a selection cannot tell apart, with a seed that is 0 unless given."""
        from lsc.words.posterior_page import lottery_lines

        if choice.selection is None:
            return
        seed = given or 0
        drawn, chances = choice.selection.draw(seed), choice.selection.lottery.tolist()
        listed = {label: chance for label, chance in zip(choice.selection.labels, chances, strict=True) if chance > 0}
        self.lines += ["", *lottery_lines(drawn, listed, seed, given=given is not None)]
        self.record["lottery"] = {
            "seed": seed,
            "drawn": drawn,
            "probabilities": [{"item": label, "probability": chance} for label, chance in listed.items()],
        }

    def explain(self, result: PosteriorEstimate, papers: Sequence[Label]) -> None:
        """Account for the qualities of papers, in lines that name nobody, and by name in the record."""
        from lsc.report.sheet import scale_of
        from lsc.words.accounts import account_lines

        accounts, scale = [result.account(paper) for paper in papers], scale_of(result)
        for account in accounts:
            title = result.reviews.titles.get(account.item, "")
            self.lines += [*([""] if self.lines else []), *account_lines(account.anonymous(), title, scale)]
        self.record["accounts"] = [account.to_dict() for account in accounts]

    def scale(self, result: Estimate, known: Mapping[str, float], *, heard: bool) -> None:
        """Draw a straight line through papers of known quality, which the calibration may have ``heard`` of."""
        from lsc.words.references import line_lines

        with _as_option():
            self.line = result.on_scale_of(known)
        self.lines += ["", *line_lines(result, self.line, heard=heard)]
        self.record["scale"] = self.line.to_dict()

    def columns(self, choice: Choice) -> dict[str, list[Any]]:
        """Return what a file has beside the columns of the result."""
        return {**self.scaled(), **({} if choice.lists is None else {"list": choice.lists})}

    def placed(self, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the items of the JSON, with their places on the scale of references."""
        for name, values in self.scaled().items():
            items = [{**row, name: value} for row, value in zip(items, values, strict=True)]
        return items

    def scaled(self) -> dict[str, list[Any]]:
        """Return the places of papers on the scale of references, where they were asked for."""
        return {} if self.line is None else {"scaled": self.line.value.tolist()}


def read_known(reviews: Reviews, path: str) -> dict[Any, float]:
    """Read papers of known quality, those of the reviews; a file of others is refused before the work begins."""
    import numpy as np

    from lsc.references import known_values
    from reviewgraph.formats.side import read_references

    value = known_values(reviews, read_side(read_references, path), "on_scale_of")
    return {reviews.items[code]: float(value[code]) for code in np.flatnonzero(~np.isnan(value)).tolist()}


@contextmanager
def _as_option() -> Iterator[None]:
    """Say ``on_scale_of`` where the library says ``references``: another option bears that name."""
    try:
        yield
    except InputError as error:
        message = f"on_scale_of: {str(error).removeprefix('references: ')}"
        raise InputError(message) from error

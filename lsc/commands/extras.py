"""What ``calibrate`` is asked for beside the qualities: lots, an account, the scale of references."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reviewgraph.cli.output import say

if TYPE_CHECKING:
    from lsc.commands.choosing import Choice
    from lsc.estimate import Estimate
    from lsc.posteriors import PosteriorEstimate
    from lsc.references import ReferenceLine


@dataclass
class Extras:
    """Lines for people, keys of the JSON, columns of the file."""

    lines: list[str] = field(default_factory=list)
    record: dict[str, Any] = field(default_factory=dict)
    line: ReferenceLine | None = None

    def draw(self, choice: Choice, seed: int) -> None:
        """Draw lots among the papers that a selection cannot tell apart."""
        from lsc.words.posterior_page import lottery_lines

        if choice.selection is None:
            return
        drawn, chances = choice.selection.draw(seed), choice.selection.lottery.tolist()
        listed = {label: chance for label, chance in zip(choice.selection.labels, chances, strict=True) if chance > 0}
        self.lines += ["", *lottery_lines(drawn, listed, seed)]
        self.record["lottery"] = {
            "seed": seed,
            "drawn": drawn,
            "probabilities": [{"item": label, "probability": chance} for label, chance in listed.items()],
        }

    def explain(self, result: PosteriorEstimate, paper: str) -> None:
        """Account for the quality of one paper."""
        from lsc.words.accounts import account_lines

        account = result.account(paper)
        score = result.reviews.printed(result.reviews.score[result.reviews.scored])
        scale = (float(score.min()), float(score.max()))
        self.lines += account_lines(account, result.reviews.titles.get(paper, ""), scale)
        self.record["account"] = account.to_dict()

    def scale(self, result: Estimate, path: str) -> None:
        """Draw a straight line through papers of known quality."""
        from lsc.words.references import line_lines
        from reviewgraph.formats.side import read_references

        self.line = result.on_scale_of(read_references(path, note=say))
        self.lines += ["", *line_lines(result, self.line)]
        self.record["scale"] = self.line.to_dict()

    def columns(self, choice: Choice) -> dict[str, list[Any]]:
        """Return what a file has beside the columns of the result."""
        return {**self.scaled(), **({} if choice.lists is None else {"list": choice.lists})}

    def scaled(self) -> dict[str, list[Any]]:
        """Return the places of papers on the scale of references, where they were asked for."""
        return {} if self.line is None else {"scaled": self.line.value.tolist()}

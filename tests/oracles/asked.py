"""What the oracles of plans and of assignments read alike from the options of an instance."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from planner import AtLeast, AtMost

Pair = tuple[str, str]
Options = dict[str, Any]

#: Slack of sums.
ROUNDING = 1e-6
#: Seconds of the processor for one answer.
MOST_SECONDS = 2.0
#: Seconds after which a search is stopped, which is long after it has become a finding.
TIME_LIMIT = 6.0


@dataclass(frozen=True)
class Asked:
    """Attributes and rules of an instance, short forms included."""

    asked: Options

    @cached_property
    def reviewers(self) -> list[str]:
        return list(self.asked["reviewers"])

    @cached_property
    def attributes(self) -> dict[str, Any]:
        known = {r: dict(values) for r, values in self.asked.get("attributes", {}).items()}
        for r in self.reviewers:
            known.setdefault(r, {})
            if r in self.asked.get("institutions", {}):
                known[r]["institution"] = self.asked["institutions"][r]
            if "senior" in self.asked:
                known[r]["senior"] = r in self.asked["senior"]
        return known

    def paper(self, item: str) -> dict[str, Any]:
        """Return the attributes of a paper."""
        known: dict[str, Any] = self.asked.get("item_attributes", {}).get(item, {})
        return known

    @cached_property
    def rules(self) -> list[Any]:
        short: list[Any] = [AtMost("institution", 1)] if self.asked.get("institutions") else []
        if "senior" in self.asked:
            short.append(AtLeast("senior", 1))
        return [*self.asked.get("rules", ()), *short]

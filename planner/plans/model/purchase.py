"""What the reviews of a plan buy, and what as many would buy elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Purchase:
    """What a plan is expected to buy, under the model from which it was made.

    Parameters
    ----------
    objective
        Its name.
    unit
        What the numbers count.
    before, after
        Without the reviews of the plan, and with them; fixed ones are in both.
    elsewhere
        Name, words and number after as many reviews chosen another way.
    first
        Which review of the plan is the first that was chosen for the objective; those before are fixed, or for a
        level.
    helps
        What the reviews help to do, for who is asked.
    """

    objective: str
    unit: str
    before: float
    after: float
    elsewhere: tuple[tuple[str, str, float], ...]
    first: int
    helps: str

    def to_dict(self) -> dict[str, Any]:
        """Return the purchase as the command's ``--json`` prints it."""
        found = {"objective": self.objective, "unit": self.unit, "before": self.before, "after": self.after}
        return {**found, "elsewhere": {name: after for name, _, after in self.elsewhere}}

    def sentences(self) -> list[str]:
        """Say it to people."""
        said = [f"expected with these reviews: {self.after:.2f} {self.unit}, without them {self.before:.2f}"]
        if self.elsewhere:
            others = ", ".join(f"{words} {after:.2f}" for _, words, after in self.elsewhere)
            said.append(f"as many reviews elsewhere: {others}")
            # What a page rounds alike is no difference.
            if round(min(after for _, _, after in self.elsewhere), 2) < round(self.after, 2):
                said.append("some of those are expected to do better than these, which were chosen one by one")
        return [
            *said,
            "these are expectations, if scores are as noisy as those so far; no proof that no others buy more",
        ]

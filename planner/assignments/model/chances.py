"""What is asked of a lottery: caps on probabilities, how much it is to spread, and how many draws are measured."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from planner.assignments.findings.randomised import DRAWS
from planner.assignments.wishes.pairs import LISTS
from reviewgraph.errors import InputError
from reviewgraph.formats.side.reading import PROBABILITY
from reviewgraph.sides.given import Numbered, numbered_pairs
from reviewgraph.sides.matching import match_pairs

if TYPE_CHECKING:
    from planner.assignments.model.problem import Problem
    from reviewgraph.formats.spellings import Spellings
    from reviewgraph.reviews import FloatArray

#: One cap for all pairs, or a cap by (reviewer, item).
MaxProbability: TypeAlias = float | Numbered


class Chances(NamedTuple):
    """The arguments of a lottery, as :func:`planner.assign` takes them; ``check`` refuses malformed ones."""

    max_probability: MaxProbability | None = None
    perturbation: float = 0.0
    draws: int = DRAWS

    @property
    def asked(self) -> bool:
        """Whether a lottery is asked for."""
        return self.max_probability is not None or self.perturbation > 0

    @property
    def one_cap(self) -> float | None:
        """The cap of all pairs, None where it is a table."""
        if self.max_probability is None:
            return 1.0
        return float(self.max_probability) if isinstance(self.max_probability, Real) else None

    def check(self) -> None:
        """Refuse numbers out of range.

        Raises
        ------
        InputError
            If the cap of all pairs is not above 0 and up to 1, the perturbation not from 0 to 0.5, or draws below 1.
        """
        cap = self.one_cap
        if cap is not None and not 0 < cap <= 1:
            message = f"max_probability: expected a number above 0, up to 1, or one for each pair, found {cap!r}"
            raise InputError(message)
        if not 0 <= self.perturbation <= 0.5:
            message = f"perturbation: expected a number from 0 to 0.5, found {self.perturbation!r}"
            raise InputError(message)
        if self.draws < 1:
            message = f"draws: expected a whole number, 1 or more, found {self.draws!r}"
            raise InputError(message)

    def spelled(self, spellings: Spellings) -> Chances:
        """Return them with the labels of pairs as they are spelled.

        Raises
        ------
        InputError
            If caps are no numbers by pair.
        """
        if self.one_cap is not None:
            return self
        table = numbered_pairs(self.max_probability, "max_probability", PROBABILITY.role, spellings)
        return self._replace(max_probability=table)

    def caps(self, problem: Problem) -> FloatArray:
        """Cap of each pair, shape (P,); 1 for pairs that a table leaves out. Pairs that may not be are ignored.

        Raises
        ------
        InputError
            If a cap of a table is not from 0 to 1.
        """
        caps = np.ones(problem.item.size)
        if self.one_cap is not None:
            caps[:] = self.one_cap
            return caps
        table = numbered_pairs(self.max_probability, "max_probability", PROBABILITY.role)
        # Pairs without a number have no cap.
        value = np.nan_to_num(np.asarray(table.score, np.float64), nan=1.0)
        wrong = np.flatnonzero(~((value >= 0) & (value <= 1)))
        if wrong.size:
            row = int(wrong[0])
            pair = (table.reviewers[int(table.reviewer[row])], table.items[int(table.item[row])])
            message = f"max_probability: expected numbers from 0 to 1, found {value[row]:g} for {pair!r}"
            raise InputError(message)
        reviewer, item = match_pairs(table, problem.reviewers, problem.items, "max_probability", where=LISTS)
        key = problem.item * problem.n_reviewers + problem.reviewer
        wanted = np.where((reviewer >= 0) & (item >= 0), item * problem.n_reviewers + reviewer, -1)
        place = np.minimum(np.searchsorted(key, wanted), max(key.size - 1, 0))
        known = key[place] == wanted if key.size else np.zeros(wanted.size, np.bool_)
        caps[place[known]] = value[known]
        return caps

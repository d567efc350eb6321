"""Elimination in fractions: ranks and solutions without rounding and without a prime."""

from collections.abc import Sequence
from fractions import Fraction

Matrix = list[list[Fraction]]


def reduced(rows: Sequence[Sequence[int | Fraction]]) -> tuple[Matrix, list[int]]:
    """Return the reduced row echelon form, zero rows left out, and the columns of its pivots."""
    left = [[Fraction(value) for value in row] for row in rows]
    done: Matrix = []
    pivots: list[int] = []
    for column in range(len(left[0]) if left else 0):
        place = next((k for k, row in enumerate(left) if row[column]), None)
        if place is None:
            continue
        lead = left.pop(place)
        lead = [value / lead[column] for value in lead]
        for rows_ in (done, left):
            for k, row in enumerate(rows_):
                if row[column]:
                    factor = row[column]
                    rows_[k] = [a - factor * b if b else a for a, b in zip(row, lead, strict=True)]
        done.append(lead)
        pivots.append(column)
    return done, pivots


def rank(rows: Sequence[Sequence[int | Fraction]]) -> int:
    """Return the rank of a matrix."""
    return len(reduced(rows)[1])


def solution(rows: Sequence[Sequence[int | Fraction]], right: Sequence[Fraction]) -> list[Fraction]:
    """Return a solution of a consistent system, free unknowns 0."""
    width = len(rows[0])
    form, pivots = reduced([[*row, value] for row, value in zip(rows, right, strict=True)])
    found = [Fraction(0)] * width
    for row, column in zip(form, pivots, strict=True):
        if column == width:
            message = "the system has no solution"
            raise ArithmeticError(message)
        found[column] = row[width]
    return found

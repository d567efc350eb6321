"""Charts of bars, and sentences in place of those whose bars are all alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reviewgraph.report.page import Part, Picture, Prose
from reviewgraph.report.pictures.bars import Bar, bars


def chart(name: str, title: str, words: str, found: Sequence[Bar], unit: str) -> Picture:
    """Return a picture of bars, with a sentence instead where they are all of one length.

    Parameters
    ----------
    name, title, words
        Of the picture.
    found
        The bars.
    unit
        What the names of the bars count.

    Examples
    --------
    >>> chart("loads", "Reviews per paper", "", [Bar("3", 40)], "reviews").instead
    'Reviews per paper: 3, for all 40.'
    >>> chart("loads", "Reviews per paper", "", [Bar("3", 7), Bar("4", 7)], "reviews").instead
    'Reviews per paper: 3 and 4, for 7 each.'
    """
    alike = len({bar.number for bar in found}) < 2
    return Picture(name, title, words, lambda width: bars(found, width, unit), _sentence(title, found) if alike else "")


def _sentence(title: str, found: Sequence[Bar]) -> str:
    if not found:
        return f"{title}: none."
    *others, last = found
    if not others:
        return f"{title}: {last.name}, for all {last.number:,}."
    return f"{title}: {', '.join(bar.name for bar in others)} and {last.name}, for {last.number:,} each."


def worth_seeing(parts: Iterable[Part]) -> list[Part]:
    """Return parts of a report, sentences instead of pictures that show nothing.

    >>> worth_seeing([chart("loads", "Reviews per paper", "", [Bar("3", 40)], "reviews")])
    [Prose(paragraphs=['Reviews per paper: 3, for all 40.'])]
    """
    return [Prose([part.instead]) if isinstance(part, Picture) and part.instead else part for part in parts]

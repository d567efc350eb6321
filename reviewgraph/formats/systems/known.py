"""All supported conference systems by name."""

from __future__ import annotations

from reviewgraph.formats.systems.cmt import CMT
from reviewgraph.formats.systems.easychair import EasyChair
from reviewgraph.formats.systems.gradebooks import Forms, Gradebook, Workshop
from reviewgraph.formats.systems.hotcrp import HotCRP
from reviewgraph.formats.systems.journals import OJS, Indico, LabelStudio
from reviewgraph.formats.systems.mail import CSV, Mail
from reviewgraph.formats.systems.openreview import OpenReview
from reviewgraph.formats.systems.pretalx import Pretalx
from reviewgraph.formats.systems.start import START
from reviewgraph.formats.systems.system import PLAIN, System

#: If a file may be from several, the first counts.
SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        *(HotCRP(), OpenReview(), CMT(), EasyChair(), START(), Pretalx(), OJS(), Indico(), LabelStudio()),
        *(Forms(), Workshop(), Gradebook(), CSV, Mail()),
    )
}


def sources() -> list[str]:
    """Return the values of ``--format``: the systems whose files are read, and tables of none.

    >>> sources()[:3]
    ['hotcrp', 'openreview', 'cmt']
    """
    return [*(name for name, system in SYSTEMS.items() if system.exports), PLAIN]


def takers() -> dict[str, System]:
    """Return the systems that import reviews, by their names in ``--to``.

    >>> list(takers())
    ['hotcrp', 'openreview', 'cmt', 'start', 'pretalx', 'csv', 'mail']
    """
    return {name: system for name, system in SYSTEMS.items() if system.words}


def rated() -> dict[str, System]:
    """Return the systems that import qualities and lists.

    >>> list(rated())
    ['hotcrp']
    """
    return {name: system for name, system in SYSTEMS.items() if system.results}

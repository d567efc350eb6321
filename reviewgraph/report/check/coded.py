"""A check under codes: what it was told by name, and what it found by name, under codes too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from reviewgraph.labels import natural_key

if TYPE_CHECKING:
    from reviewgraph.checking import Report
    from reviewgraph.labels import Label
    from reviewgraph.report.codes import Codes
    from reviewgraph.violations import Violated, Violations


def coded(report: Report, codes: Codes) -> Report:
    """Return a check, whose tables stand under codes already, with all labels in it under codes."""
    missing = report.missing
    if isinstance(missing, Mapping):
        # Who is not in the table was warned of, and has no code.
        missing = {codes.reviewer[who]: chance for who, chance in missing.items() if who in codes.reviewer}
    violations = report.violations and _violations(report.violations, codes)
    return replace(report, missing=missing, violations=violations)


def _violations(found: Violations, codes: Codes) -> Violations:
    conflicts = found.conflicts
    if conflicts is not None:
        pairs = [(codes.reviewer[reviewer], codes.item[item]) for reviewer, item in conflicts]
        conflicts = tuple(sorted(pairs, key=lambda pair: (natural_key(pair[0]), natural_key(pair[1]))))
    over, short = _violated(found.over_load, codes.reviewer), _violated(found.short, codes.item)
    return replace(found, conflicts=conflicts, over_load=over, short=short)


def _violated(found: Iterable[Violated] | None, code: Mapping[Label, str]) -> tuple[Violated, ...] | None:
    if found is None:
        return None
    return tuple(sorted((one._replace(label=code[one.label]) for one in found), key=lambda one: natural_key(one.label)))

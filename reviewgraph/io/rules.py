"""Rules of who may, must and must not review what: one object, passed to checks, plans and assignments."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, TypedDict

from reviewgraph._base.arguments import count_of, kinds_of, refuse, unexpected
from reviewgraph._base.errors import refused
from reviewgraph._base.text import counted
from reviewgraph.formats.columns import ITEM, REVIEWER, Columns
from reviewgraph.formats.side import DEMAND, INSTITUTION, LOAD, MIN_LOAD, SENIOR, SPARE, WILLING
from reviewgraph.io.affiliations import KINDS, shared_by
from reviewgraph.io.sides import (
    by_label,
    gone_of,
    joined_pairs,
    labels_of,
    pairs_of,
    unflagged,
)

if TYPE_CHECKING:
    from reviewgraph._base.labels import Label
    from reviewgraph.formats.spellings import Spellings
    from reviewgraph.io.sides import Chosen, Pairs, Valued


#: The fields of rules of one value per reviewer or item.
VALUED = {"demand": DEMAND, "load": LOAD, "min_load": MIN_LOAD, "capacity": SPARE, "institutions": INSTITUTION}
#: Maximum entries of a mapping or list that ``repr`` shows in full.
SHOWN = 3


@dataclass(frozen=True, eq=False, repr=False)
class Rules:
    """Who may, must and must not review what.

    Pass it as ``rules`` to :func:`check`, :func:`planner.plan` and :func:`planner.assign`. Each supports
    some of the rules and refuses the others by name: :meth:`without` leaves them out. None means no rule.

    Tables may be pairs, mappings, data frames or Series of pandas, polars and the like, with columns named as in files.
    Matrices and arrays without labels are refused, since they may be in another order. Labels that the reviews, or the
    affinities, do not have are warned of, and refused where none is known, or where they differ from a known one only
    in leading zeros and the like. Plans and assignments refuse conflicts that match nobody, unless ``merge="none"``
    keeps labels apart; checks warn of them.

    Parameters
    ----------
    conflicts
        Forbidden (reviewer, item) pairs. A data frame may have a column ``conflict`` of yes and no, a mapping values of
        True and False.
    fixed
        Required (reviewer, item) pairs, which count in demands and loads and are kept whatever limits they exceed.
    gone
        Reviewers, or (reviewer, item) pairs, that will not deliver: their reviews without a score are left out, and
        they get no others.
    demand
        Reviews per item, one number or one by item: exact for assignments, 3 by default; a minimum for checks.
    load, min_load
        Maximum and minimum reviews per reviewer: one number, or one by reviewer. To assign, the minimum is 0 by
        default; the maximum, also of reviewers with None, is the smallest with which the demands can be met.
    capacity
        Maximum extra reviews by reviewer; new names are emergency reviewers. By default unlimited.
    spare
        Maximum extra reviews of everyone not in ``capacity``: by default 0 if there is a ``capacity``, else unlimited.
    min_reviews, max_per_item
        Minimum reviews per item, old and new ones together; maximum extra reviews per item.
    willing
        The only reviewers who may get extra reviews; new names are emergency reviewers. By default everyone.
    institutions
        Institution by reviewer, short for ``at_most={"institution": 1}`` with these attributes.
    senior
        Senior reviewers, short for ``at_least={"senior": 1}`` with these attributes.
    attributes
        Attributes for the following rules: for each reviewer a mapping from names of attributes to a value, to several
        in a list, or to True or False.
    item_attributes
        The same for items: values that a reviewer may share with the item, such as the countries of its authors, and
        numbers of an item that a rule names.
    conflict_by
        ``affiliation``: also a conflict is every reviewer who shares an affiliation with an author of the item, by the
        attribute ``affiliation`` (or ``institution``) of both. ``domain``: the same by the hosts of e-mail addresses,
        the attribute ``email`` of both, or labels that are addresses; a host and a subdomain of it are one, public
        mail hosts are none. A warning counts these conflicts, and who has neither.
    at_most
        Maximum reviewers per item who share a value of an attribute, by attribute, or with one value by ``(attribute,
        value)``; or :class:`planner.AtMost` objects.
    at_least
        Minimum reviewers per item for whom an attribute is True, by attribute, or with one value by ``(attribute,
        value)``; or :class:`planner.AtLeast` objects. The value ``"same"`` means any value that the item has.
    authors
        (author, item) pairs, or a mapping item -> authors. Labels of authors are those of reviewers; others are only
        authors. Nobody reviews their own paper. For assignments; pass checks and plans the pairs of reviewers among
        them as conflicts.

    Raises
    ------
    InputError
        If an argument is malformed; the message begins with its name.

    Examples
    --------
    >>> rules = Rules(conflicts=[("ann", "p1")], load=5, at_most={"institution": 1})
    >>> rules
    Rules(conflicts=1 pair, load=5, at_most={'institution': 1})
    >>> rules.without("at_most")
    Rules(conflicts=1 pair, load=5)
    """

    conflicts: Pairs | None = None
    fixed: Pairs | None = None
    gone: Chosen | Pairs | None = None
    demand: int | Valued | None = None
    load: int | Valued | None = None
    min_load: int | Valued | None = None
    capacity: Valued | None = None
    spare: int | None = None
    min_reviews: int | None = None
    max_per_item: int | None = None
    willing: Chosen | None = None
    institutions: Valued | None = None
    senior: Chosen | None = None
    attributes: Mapping[Any, Mapping[str, Any]] | None = None
    item_attributes: Mapping[Any, Mapping[str, Any]] | None = None
    conflict_by: str | None = None
    at_most: Mapping[Any, Any] | Sequence[Any] | None = None
    at_least: Mapping[Any, Any] | Sequence[Any] | None = None
    authors: Pairs | Mapping[Any, Sequence[Label]] | None = None

    def __post_init__(self) -> None:
        """Refuse malformed arguments, and convert tables once."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            # Whole numbers are counts.
            hint = str(field.type).replace("int", "count")
            if kinds_of(hint):
                refuse(field.name, value, hint)
            if isinstance(value, Iterator):
                value = list(value)
            object.__setattr__(self, field.name, _brought(field.name, value))
        if self.conflict_by not in (None, *KINDS):
            raise refused("conflict_by", " or ".join(map(repr, KINDS)), repr(self.conflict_by))

    @property
    def stated(self) -> tuple[str, ...]:
        """Names of the rules that are not None."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name) is not None)

    def _with_shared(self, reviewers: Sequence[Label], items: Sequence[Label], spellings: Spellings | None) -> Rules:
        """Return the rules with the conflicts by affiliation or domain among the others."""
        if self.conflict_by is None:
            return self
        attributes = by_label(self.attributes or {}, "attributes", REVIEWER, REVIEWER, spellings)
        item_attributes = by_label(self.item_attributes or {}, "item_attributes", ITEM, ITEM, spellings)
        shared = shared_by(self.conflict_by, reviewers, items, attributes, item_attributes)
        stated = None if self.conflicts is None else pairs_of(self.conflicts, "conflicts", spellings)
        return replace(self, conflicts=joined_pairs(stated, shared), conflict_by=None)

    def without(self, *names: str) -> Rules:
        """Return the same without some of the rules; an unknown name raises InputError.

        Parameters
        ----------
        *names
            Names of rules.

        Returns
        -------
        Rules
            A copy in which these are None.

        Examples
        --------
        >>> Rules(load=5, spare=1).without("spare")
        Rules(load=5)
        """
        known = [field.name for field in fields(self)]
        for name in names:
            if name not in known:
                raise refused("names", f"rules among {', '.join(known)}", repr(name))
        return replace(self, **dict.fromkeys(names))

    def __repr__(self) -> str:
        """Return the rules that are not None, large tables by their size."""
        return f"Rules({', '.join(f'{name}={_shown(getattr(self, name))}' for name in self.stated)})"


class SharedRules(TypedDict, total=False):
    """Rules that checks, plans and assignments take as keywords; see :class:`Rules`."""

    conflicts: Pairs | None
    conflict_by: str | None
    attributes: Mapping[Any, Mapping[str, Any]] | None
    item_attributes: Mapping[Any, Mapping[str, Any]] | None


class CheckRules(SharedRules, total=False):
    """Rules that a check takes as keywords."""

    gone: Chosen | Pairs | None
    demand: int | Valued | None
    load: int | Valued | None


class PanelRules(SharedRules, total=False):
    """Rules that plans and assignments take as keywords."""

    fixed: Pairs | None
    institutions: Valued | None
    senior: Chosen | None
    at_most: Mapping[Any, Any] | Sequence[Any] | None
    at_least: Mapping[Any, Any] | Sequence[Any] | None


class PlanRules(PanelRules, total=False):
    """Rules that a plan takes as keywords."""

    gone: Chosen | Pairs | None
    capacity: Valued | None
    spare: int | None
    min_reviews: int | None
    max_per_item: int | None
    willing: Chosen | None


class AssignmentRules(PanelRules, total=False):
    """Rules that an assignment takes as keywords, besides demand and load."""

    min_load: int | Valued | None
    authors: Pairs | Mapping[Any, Sequence[Label]] | None


def _brought(name: str, value: Any) -> Any:
    """Return a table in one form; labels are respelled as the reviews have them later."""
    if name in ("conflicts", "fixed"):
        return pairs_of(value, name)
    if name in VALUED:
        if isinstance(value, Real) and name in ("demand", "load", "min_load"):
            return count_of(value, name)
        return by_label(value, name, ITEM if name == "demand" else REVIEWER, VALUED[name].role)
    if name in ("willing", "senior"):
        return labels_of(value, name, REVIEWER, (WILLING if name == "willing" else SENIOR).role)
    if name in ("at_most", "at_least") and not isinstance(value, Mapping):
        return list(value)
    if name == "gone":
        value = unflagged(value, name)
        gone_of(value)  # validates; pairs and reviewers are distinguished where labels are matched
    return value


def _shown(value: Any) -> str:
    if isinstance(value, Columns):
        return counted(int(value.reviewer.size), "pair")
    if hasattr(value, "shape"):
        return f"{value.shape[0]:,} entries"
    plain = not isinstance(value, Sized) or (isinstance(value, dict | list | tuple) and len(value) <= SHOWN)
    return repr(value) if plain else f"{len(value):,} entries"


def stated_rules(caller: str, rules: Rules | None, given: Mapping[str, Any], heeded: Collection[str]) -> Rules:
    """Return the rules of a call from an object, keywords of the same names, or both where no rule is in both.

    >>> stated_rules("assign", Rules(load=5), {"demand": 3}, ["demand", "load"])
    Rules(demand=3, load=5)
    """
    for name in given:
        if name not in heeded:
            raise unexpected(caller, name, heeded)
    keywords = {name: value for name, value in given.items() if value is not None}
    if rules is None:
        return Rules(**keywords)
    for name in rules.stated:
        if name in keywords:
            raise refused(name, "it once", "it in rules and beside them", "drop one of the two")
        if name not in heeded:
            heeds = f"only what {caller} heeds ({', '.join(heeded)})"
            raise refused("rules", heeds, name, f"pass rules.without({name!r})")
    return replace(rules, **keywords) if keywords else rules

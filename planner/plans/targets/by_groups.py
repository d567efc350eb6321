"""Plans and bounds from the groups that few joins make, part by part of the contracted graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.plans.model.ledger import Bound
from planner.plans.proof import group_kernels as kernels
from planner.plans.proof import listing
from planner.plans.proof.fringe import reduce
from planner.plans.search import cascade, cascading
from reviewgraph.words import noun

if TYPE_CHECKING:
    from planner.plans.model.ledger import Ledger
    from planner.plans.model.task import Task
    from planner.plans.proof.fringe import Part, Reduction
    from planner.plans.proof.listing import Levels, Path
    from reviewgraph.clock import Clock

#: Entries of the covers from which beams may work a thousand times as long.
LARGE = 200
#: Largest groups kept a price, in turn, while width times the square of the joins is below ``BEAM_WORK``, about.
WIDTHS: tuple[int, ...] = (1, 10, 100, 1_000, 10_000)
BEAM_WORK = 5_000_000
#: The same from so many entries on: a group has more others beside it, and the first cascade stands for narrow beams.
HUGE, HUGE_WIDTHS, HUGE_WORK = 20_000, (30, 100, 300), 1_500_000
#: Share of the time left that listing groups may take there, where it cannot come near the plan.
HUGE_LISTING = 0.1
#: Reviews that a part takes at least from which listing is hopeless: groups grow in number four- to tenfold a review.
DEEPEST = 8


def fill(task: Task, ledger: Ledger, clock: Clock) -> cascading.Search | None:
    """Offer a plan made of joins of parts, and prove bounds until they meet it, room is short, or time is over.

    Returns the search that holds the plan, if it was shorter than what was known.
    """
    if clock.over():
        return None
    reduction = reduce(task)
    ledger.prove(_bound(reduction, [part.least for part in reduction.parts], 0))
    if ledger.pairs is not None and len(ledger.pairs) > ledger.lower_bound + 1:
        task.warm_up()
    if not task.has_time(kernels.gains, kernels.make):
        return None
    paths = [_path(task, part, clock) for part in reduction.parts]
    shorter = _offer(task, reduction, paths, ledger)
    if not task.has_time(kernels.extend, kernels.unite):
        return shorter
    clock = clock.share(HUGE_LISTING) if is_huge(task) else clock
    levels = [listing.new_levels(task, part) for part in reduction.parts]
    while not ledger.closed and _rise(reduction, levels, ledger, clock):
        found = [level.path or path for level, path in zip(levels, paths, strict=True)]
        if any(level.path for level in levels):
            shorter = _offer(task, reduction, found, ledger) or shorter
    return shorter


def is_huge(task: Task) -> bool:
    """Whether beams are worth more of the time than all else."""
    return task.start.size >= HUGE


def _rise(reduction: Reduction, levels: list[Levels], ledger: Ledger, clock: Clock) -> bool:
    """Raise the bound of the part where it is easiest; false if that is impossible or takes too long."""
    open_ = [level for level in levels if level.path is None and level.part.least <= DEEPEST]
    if not open_:
        return False
    level = min(open_, key=lambda level: level.effort)
    others = reduction.fringe + sum(other.value for other in levels if other is not level)
    last = ledger.pairs is None or others + len(level.pools) + 1 >= len(ledger.pairs) or level.is_full
    if not level.rise(store=not last, clock=clock):
        return False
    ledger.prove(_bound(reduction, [other.value for other in levels], sum(other.looked_at for other in levels)))
    return not last or level.path is not None


def _bound(reduction: Reduction, values: list[int], looked_at: int) -> Bound:
    total = reduction.fringe + sum(values)
    words = f"joining the groups takes {_reviews(sum(values))}"
    if reduction.fringe:
        rest = "" if not values else f", and {sum(values)} for " + ("the rest" if len(values) == 1 else "what is left")
        words = f"{_reviews(reduction.fringe)} for what hangs on the rest by two papers or fewer{rest}"
    if looked_at:
        words += f" (no group that fewer reviews can make covers all papers; {looked_at} were listed)"
    return Bound(total, "groups" if looked_at else "parts", words, tuple(values))


def _reviews(count: int) -> str:
    return f"{count} {noun(count, 'review')}"


def _path(task: Task, part: Part, clock: Clock) -> Path | None:
    """Find joins for a part, the best of several beams."""
    best: Path | None = None
    huge, limit = task.start.size >= HUGE, BEAM_WORK if task.start.size >= LARGE else BEAM_WORK // 1_000
    for width in HUGE_WIDTHS if huge else WIDTHS:
        if best is not None and (
            len(best) <= part.least + 1 or width * len(best) ** 2 > (HUGE_WORK if huge else limit)
        ):
            break
        most = task.n_items + task.home.size if best is None else len(best) - 1
        best = listing.beam(task, part, width, most, clock) or best
    return best


def _offer(task: Task, reduction: Reduction, paths: list[Path | None], ledger: Ledger) -> cascading.Search | None:
    """Complete the joins of the parts to a plan, and offer it if it is shorter."""
    known = [path for path in paths if path is not None]
    short = reduction.fringe + sum(map(len, known))
    if not paths or len(known) < len(paths) or ledger.pairs is None or short >= len(ledger.pairs):
        return None
    pairs = [part.blocks[np.array(path)] for part, path in zip(reduction.parts, known, strict=True)]
    joins = np.concatenate([np.empty((0, 2), np.int64), *pairs])
    found = cascading.new_search(task, len(ledger.pairs))
    left, right = np.ascontiguousarray(joins[:, 0]), np.ascontiguousarray(joins[:, 1])
    task.form(cascade.follow)(found.state, task.space, found.board, found.moves, left, right)
    if not _complete(found, len(ledger.pairs) - 1, ledger):
        return None
    cascading.prune(found, ledger.clock)
    ledger.offer(found.pairs)
    return found


def _complete(found: cascading.Search, most: int, ledger: Ledger) -> bool:
    """Go on by a cascade until one block covers all items; false if ``most`` reviews or the time do not suffice."""
    task, extend, done = found.task, found.task.form(cascade.cascade), False
    while not done and ledger.in_time:
        size = found.moves.made
        step = min(size + cascading.AT_ONCE, most)
        done = bool(extend(found.state, task.space, found.board, found.moves, 0, cascading.is_local(task), step))
        if not done and (found.moves.made < step or step == most):
            return False
    return done

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import planner
from planner._plans import listing
from planner._plans.constraints import constrain, with_extra
from planner._plans.listing import Part, peel, reduce
from planner._plans.task import Task, largest_cover, new_task
from reviewgraph import Reviews, Search
from reviewgraph._base import Clock
from reviewgraph.graph import doubly_connected_components, random_assignment
from reviewgraph.graph.components import recoverability
from tests.planner.plans.naive_plans import fewest_joins, groups_by_price
from tests.planner.plans.plan_cases import Case, cases, verify_plan
from tests.planner.plans.proof.certificates import wrong_parts
from tests.trials import examples

#: Two groups made by one join each, all others following; they meet in items 0 and 1, of which no component has both.
TWIN = [[{2, 3, 4}, {2, 5, 6}, {3, 5, 0}, {4, 6, 1}], [{7, 8, 9}, {7, 10, 11}, {8, 10, 0}, {9, 11, 1}]]


def wrong_by(reviews: Reviews, value: int, parts: tuple[int, ...], fixed: int = 0) -> str | None:
    """What the verifier says of a bound made of parts."""
    covers = [cover.tolist() for cover in doubly_connected_components(reviews).covers]
    return wrong_parts(covers, reviews.n_items, value, parts, fixed)


def task_of(covers: list[set[int]], n_items: int) -> Task:
    rows = [(j, i) for j, cover in enumerate(covers) for i in sorted(cover)]
    return new_task(constrain(Reviews(rows, reviewers=range(len(covers)), items=range(n_items))), 64)


def price_of(task: Task) -> tuple[int, list[listing.Levels]]:
    """Fewest reviews by listing groups, without a limit."""
    reduction = reduce(task)
    levels = [listing.new_levels(part) for part in reduction.parts]
    for level in levels:
        while level.path is None:
            assert level.rise(store=True, clock=Clock(None))
    return reduction.fringe + sum(level.value for level in levels), levels


def naive_price(task: Task) -> int:
    """Fewest reviews by trying every tree of merges of components with two items or more."""
    components = task.components
    every = np.split(components.cover_item, np.cumsum(components.cover_sizes)[:-1])
    covers = [sum(1 << int(i) for i in cover) for cover in every if cover.size > 1]
    if not covers:
        return task.n_items - largest_cover(task.start)
    union = 0
    for cover in covers:
        union |= cover
    return fewest_joins(covers) + task.n_items - union.bit_count()


def follows(part: Part, path: list[tuple[int, int]]) -> bool:
    """Whether some joins merge all components of a part."""
    piece = part.piece
    groups = [set(cover.tolist()) for cover in np.split(np.asarray(piece.item), np.asarray(piece.start)[1:-1])]
    home = list(range(len(groups)))

    def merge(a: int, b: int) -> None:
        groups[a] |= groups[b]
        for c, at in enumerate(home):
            if at == b:
                home[c] = a

    for left, right in path:
        if home[left] != home[right]:
            merge(home[left], home[right])
        merged = True
        while merged:
            roots = sorted(set(home))
            pairs = [(a, b) for a in roots for b in roots if a < b and len(groups[a] & groups[b]) > 1]
            merged = bool(pairs)
            if merged:
                merge(*pairs[0])
    return len(set(home)) == 1


@st.composite
def sparse_covers(draw: st.DrawFn) -> tuple[list[set[int]], int]:
    """Components that share few items; half of them near the twin groups that joins alone do not reach."""
    if draw(st.booleans()):
        n_items = draw(st.integers(12, 14))
        covers = [set(cover) for cover in TWIN[0] + TWIN[1]]
        for j in draw(st.lists(st.integers(0, 7), max_size=2)):
            covers[j].add(draw(st.integers(0, n_items - 1)))
        return draw(st.permutations(covers)), n_items
    n_items = draw(st.integers(2, 12))
    cover = st.sets(st.integers(0, n_items - 1), min_size=1, max_size=4)
    return draw(st.lists(cover, min_size=1, max_size=8)), n_items


@given(sparse_covers())
@examples(40)
def test_groups_and_fringe_cost_what_the_best_tree_of_merges_costs(case: tuple[list[set[int]], int]) -> None:
    task = task_of(*case)
    if task.is_done:
        return
    price, levels = price_of(task)
    assert price == naive_price(task)
    for level in levels:
        assert len(level.path or []) == level.value
        assert follows(level.part, level.path or [])
        wide = listing.beam(level.part, 20, 50, Clock(None))
        assert wide is not None
        assert len(wide) >= level.value
        assert follows(level.part, wide)


class Looks(Clock):
    """A clock that is over after so many looks."""

    def __init__(self, looks: int) -> None:
        super().__init__(None)
        self.looks = looks

    def over(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def test_a_beam_whose_time_is_over_ends() -> None:
    (part,) = reduce(new_task(constrain(random_assignment(60, 60, 3, np.random.default_rng(0))), 64)).parts
    whole = listing.beam(part, 5, 50, Clock(None))
    assert whole is not None
    for looks in range(len(whole)):
        assert listing.beam(part, 5, 50, Looks(looks)) is None


@pytest.mark.slow
@pytest.mark.parametrize(("N", "seed"), [(50, 0), (50, 1), (60, 2)])
def test_every_group_of_few_joins_is_listed(N: int, seed: int) -> None:
    task = new_task(constrain(random_assignment(N, N, 3, np.random.default_rng(seed))), 64)
    (part,) = reduce(task).parts
    piece, levels = part.piece, listing.new_levels(part)
    every = np.split(np.asarray(piece.item), np.asarray(piece.start)[1:-1])
    covers = [sum(1 << i for i in cover.tolist()) for cover in every]
    found = set(covers)
    for price, expected in enumerate(groups_by_price(covers, 3)[1:], 1):
        assert levels.rise(store=True, clock=Clock(None))
        assert levels.path is None
        pool = levels.pools[price]
        for g in range(pool.groups):
            members = np.asarray(pool.member)[pool.begin[g] : pool.begin[g + 1]].tolist()
            group = 0
            for c in members:
                group |= covers[c]
            assert group in expected
            found.add(group)
        assert expected <= found


@given(sparse_covers())
@examples(24)
def test_fringe_and_links_of_the_parts_are_the_degrees_of_freedom(case: tuple[list[set[int]], int]) -> None:
    task = task_of(*case)
    if largest_cover(task.start) < 2:
        return
    reduction = reduce(task)
    total = reduction.fringe + sum(part.links for part in reduction.parts)
    assert total == recoverability(task.constraints.reviews).degrees_of_freedom


def test_groups_that_meet_in_two_items_are_united() -> None:
    task = task_of([*TWIN[0], *TWIN[1]], 12)
    price, (level,) = price_of(task)
    assert price == 2
    assert follows(level.part, level.path or [])
    plan = planner.plan(task.constraints.reviews)
    verify_plan(plan)
    assert (plan.status, plan.count) == ("optimal", 2)


@pytest.mark.parametrize(
    ("covers", "price", "left"),
    [
        ({0: [1, 2, 3], 1: [3, 4, 5], 2: [5, 6]}, 2, 0),  # a chain
        ({0: [1, 2, 3], 1: [3, 4, 5], 2: [5, 6, 1]}, 1, 0),  # a ring of three
        ({0: [1, 2], 1: [3, 4]}, 2, 0),  # apart
        ({0: [1, 2, 3], 1: [1, 4, 5], 2: [2, 4, 6], 3: [3, 5, 6]}, 0, 4),  # every two share one
        ({0: [1, 2, 3], 1: [1, 4, 5], 2: [2, 4, 6], 3: [3, 5, 6], 4: [6, 7, 8]}, 1, 4),  # and one hangs on them
    ],
)
def test_what_hangs_is_peeled(covers: dict[int, list[int]], price: int, left: int) -> None:
    found = peel(covers)
    assert (found[0], len(found[1])) == (price, left)


@pytest.mark.slow
@given(cases())
@examples(24)
def test_the_verifier_replays_parts_and_groups(case: Case) -> None:
    plan = planner.plan(case.reviews, search=Search(time_limit=20), **case.options)
    verify_plan(plan)
    listed = [place for place, bound in enumerate(plan.bounds) if bound.kind in ("parts", "groups")]
    if listed:
        bound, fixed = plan.bounds[listed[-1]], plan.constraints.fixed
        wrong = wrong_by(with_extra(case.reviews, fixed), bound.value + 1, bound.parts, len(fixed))
        assert (wrong or "").startswith("of ")


#: Cubic graphs by their edges: components are vertices, items edges. Two edges hold the last but one together.
PRISM = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)]
K33 = [(a, b) for a in (0, 1, 2) for b in (3, 4, 5)]
LOOSE = [(a, b) for s in (0, 4) for a, b in [(s, s + 1), (s, s + 2), (s + 1, s + 3), (s + 2, s + 3), (s + 1, s + 2)]]
NECKLACE = [*LOOSE, (0, 7), (3, 4)]
CUBE = [(a, b) for a in range(8) for b in range(a) if (a ^ b).bit_count() == 1]


@pytest.mark.parametrize(("edges", "least"), [(PRISM, 2), (K33, 2), (CUBE, 3), (NECKLACE, 2)])
def test_the_last_merge_wastes_what_no_two_papers_hold(edges: list[tuple[int, int]], least: int) -> None:
    n = 1 + max(map(max, edges))
    covers = [{i for i, edge in enumerate(edges) if vertex in edge} for vertex in range(n)]
    task = task_of(covers, len(edges))
    (part,) = reduce(task).parts
    assert part.least == least
    price, _ = price_of(task)
    assert least <= price == naive_price(task)
    assert wrong_by(task.constraints.reviews, least, (least,)) is None


@pytest.mark.parametrize("seed", range(3))
def test_fixed_reviews_that_merge_blocks_are_counted_once(seed: int) -> None:
    reviews = random_assignment(30, 20, 3, np.random.default_rng(seed))
    free = planner.plan(reviews)
    fixed = [(review.reviewer, review.item) for review in free.added[: free.count // 2 + 1]]
    plan = planner.plan(reviews, fixed=fixed)
    verify_plan(plan)
    assert free.status == plan.status == "optimal"
    assert plan.count == free.count
    assert set(fixed) <= {(review.reviewer, review.item) for review in plan.added}


@given(sparse_covers())
@examples(16)
def test_a_part_that_is_said_to_take_too_much_is_refused(case: tuple[list[set[int]], int]) -> None:
    task = task_of(*case)
    if task.is_done:
        return
    price, levels = price_of(task)
    values = tuple(level.value for level in levels)
    reviews = task.constraints.reviews
    assert wrong_by(reviews, price, values) is None
    for place in range(len(values)):
        more = (*values[:place], values[place] + 1, *values[place + 1 :])
        assert "takes fewer than" in (wrong_by(reviews, price + 1, more) or "")

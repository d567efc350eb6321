"""Tables of reviews that aim at what breaks: ties, hubs, chains, singletons, disconnection, near misses."""

from hypothesis import strategies as st

from reviewgraph import Reviews

Rows = list[dict[int, float]]


@st.composite
def tables(draw: st.DrawFn, most: int = 8) -> tuple[Rows, int]:
    """Rows (item -> score) by reviewer, and the number of items; scores come from few values, so they tie."""
    n_items = draw(st.integers(1, most))
    kind = draw(st.sampled_from(["free", "hub", "chain", "blocks"]))
    rows = [
        draw(st.dictionaries(st.integers(0, n_items - 1), st.integers(1, 3).map(float), max_size=4))
        for _ in range(draw(st.integers(0, most)))
    ]
    for j, row in enumerate(rows):
        if kind == "hub":
            row.setdefault(0, float(draw(st.integers(1, 3))))
        elif kind == "chain":
            row.update({i % n_items: 1.0 + i % 3 for i in (j, j + 2, j + 3)})
        elif kind == "blocks":
            row.update({(2 * (j // 2) + k) % n_items: 1.0 + k for k in range(2)})
    return rows, n_items


def to_reviews(rows: Rows, n_items: int, *, scored: bool = True) -> Reviews:
    """The table of these rows with the codes as labels."""
    triples = [(j, i, y if scored else None) for j, row in enumerate(rows) for i, y in row.items()]
    return Reviews(triples, reviewers=range(len(rows)), items=range(n_items))


def fano() -> Reviews:
    """Return the Fano plane: seven reviewers, seven items, three each, any two share exactly one item."""
    return Reviews([(j, (j + step) % 7) for j in range(7) for step in (0, 1, 3)])

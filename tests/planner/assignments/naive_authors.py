"""What an authors' file asks of an assignment, checked by looking at everybody."""

from __future__ import annotations

from itertools import combinations


def papers_of(authors):
    """Papers by author, from (author, item) pairs."""
    papers = {}
    for author, item in authors:
        papers.setdefault(author, set()).add(item)
    return papers


def authors_broken(pairs, authors, *, distance=0, allow_cycles=False, allow_coauthors=False):
    """Everything that is wrong with (reviewer, item) pairs by an authors' file, in words."""
    wrong, papers = [], papers_of(authors)

    def share(a, b):
        return bool(papers.get(a, set()) & papers.get(b, set()))

    for reviewer, item in pairs:
        if item in papers.get(reviewer, set()):
            wrong.append(f"{reviewer} wrote {item}")
        if distance and any(share(reviewer, other) for other in papers if item in papers[other]):
            wrong.append(f"{reviewer} shares a paper with an author of {item}")
    for (a, q), (b, p) in combinations(pairs, 2):
        if not allow_cycles and a != b and p in papers.get(a, set()) and q in papers.get(b, set()):
            wrong.append(f"{a} on {q} of {b} on {p} of {a}")
        if not allow_coauthors and p == q and share(a, b):
            wrong.append(f"{a} and {b} on {p}")
    return wrong

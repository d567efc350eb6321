"""Conflicts by affiliation and by e-mail domain."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import planner
from planner import assign
from reviewgraph import InputError, Reviews, check
from reviewgraph._base.errors import LabelWarning
from reviewgraph.formats.side import read_author_attributes
from reviewgraph.io.affiliations import KINDS, PUBLIC_HOSTS, domains_of, shared_by

HOSTS = ["a.edu", "cs.a.edu", "math.a.edu", "b.org", "x.b.org", "gmail.com", "mail.gmail.com", "edu", "A.EDU"]
HOMES = ["ETH Zurich", "eth  zurich ", "MIT", "", "Univ. of X"]


def pairs_of(by, people, papers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pairs = shared_by(by, list(people), list(papers), people, papers)
    codes = zip(pairs.reviewer.tolist(), pairs.item.tolist(), strict=True)
    return {(pairs.reviewers[j], pairs.items[i]) for j, i in codes}


def sharing(by, people, papers, names):
    """Compare every reviewer with every paper."""
    homes_of = {who: _homes(by, row, names, [who]) for who, row in people.items()}
    writers_of = {item: _homes(by, row, names, []) for item, row in papers.items()}
    return {
        (who, item)
        for who, homes in homes_of.items()
        for item, writers in writers_of.items()
        if any(_related(by, home, writer) for home in homes for writer in writers)
    }


def _homes(by, row, names, more):
    cells = more if by == "domain" else []
    for name, cell in row.items():
        plain = "_".join(name.lower().replace("-", " ").replace("_", " ").split())
        if plain.removeprefix("author_").removesuffix("s") in names:
            cells = [*cells, *(map(str, cell) if isinstance(cell, list | tuple) else [str(cell)])]
    if by == "affiliation":
        return {" ".join(cell.split()).casefold() for cell in cells if cell.strip()}
    return {cell.rpartition("@")[2].strip(" <>.").lower() for cell in cells if "@" in cell}


def _related(by, home, writer):
    if by == "affiliation":
        return home == writer
    if any(f".{home}".endswith(f".{host}") or f".{writer}".endswith(f".{host}") for host in PUBLIC_HOSTS):
        return False
    return "." in home and "." in writer and (f".{home}".endswith(f".{writer}") or f".{writer}".endswith(f".{home}"))


@pytest.mark.parametrize("by", KINDS)
@pytest.mark.parametrize("seed", range(40))
def test_equal_to_the_independent_code(by, seed):
    rng = np.random.default_rng(seed)

    def some(values, most):
        return [str(value) for value in rng.choice(values, int(rng.integers(0, most + 1)))]

    people = {f"r{j}@{rng.choice(HOSTS)}": {"affiliation": some(HOMES, 1)} for j in range(6)}
    people["dan"] = {"email": [f"d@{host}" for host in some(HOSTS, 2)], "institution": "MIT"}
    papers = {
        f"p{i}": {"author_emails": [f"<w@{host}>" for host in some(HOSTS, 3)], "Affiliations": some(HOMES, 3)}
        for i in range(6)
    }
    papers["q"] = {"author": "eve@cs.a.edu", "affiliation": "MIT"}
    assert pairs_of(by, people, papers) == sharing(by, people, papers, KINDS[by].names)


def test_a_host_is_one_with_its_subdomains_and_public_ones_are_none():
    people = {who: {} for who in ("ann@cs.a.edu", "bob@a.edu", "cyd@gmail.com", "dan@math.a.edu")}
    papers = {"p": {"email": "x@a.edu"}, "q": {"email": ["y@cs.a.edu", "z@gmail.com"]}}
    everybody = {(who, "p") for who in people if "gmail" not in who}
    assert pairs_of("domain", people, papers) == everybody | {("ann@cs.a.edu", "q"), ("bob@a.edu", "q")}
    assert not any(domains_of(f"x@{host}") or domains_of(f"x@y.{host}") for host in PUBLIC_HOSTS)


PEOPLE = {"ann": {"affiliation": "MIT"}, "bob": {"affiliation": "ETH"}, "cyd": {}}
PAPERS = {"p": {"affiliation": ["mit", "X"]}, "q": {"affiliation": "Y"}, "r": {}}
BY = {"conflict_by": "affiliation", "attributes": PEOPLE, "item_attributes": PAPERS}
NOTE = "conflict_by: 1 conflict by an affiliation of 1 reviewer and the authors of 1 paper; "
NOTE += "no affiliation of 1 reviewer and of 1 paper"


def test_checks_plans_and_assignments_heed_it_and_say_what_was_matched():
    reviews = Reviews([("ann", "p"), ("ann", "q"), ("bob", "q"), ("bob", "r"), ("cyd", "r")])
    with pytest.warns(LabelWarning, match=NOTE):
        report = check(reviews, **BY)
    assert report.to_dict()["violations"]["conflicts"] == [{"reviewer": "ann", "item": "p"}]
    with pytest.warns(LabelWarning, match=NOTE):
        result = assign({(r, p): 1.0 for r in PEOPLE for p in PAPERS}, demand=2, load=3, target="none", **BY)
    table = result.reviews
    assert [table.reviewers[j] for j in table.reviewer[table.item == table.item_code["p"]]] == ["bob", "cyd"]
    empty = Reviews([("ann", "q")], reviewers=PEOPLE, items=PAPERS)
    with pytest.warns(LabelWarning, match=NOTE):
        plan = planner.plan(empty, conflicts=[("bob", "p")], min_reviews=1, **BY)
    assert [review.reviewer for review in plan.added if review.item == "p"] == ["cyd"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"conflict_by": "town"}, "conflict_by: expected 'affiliation' or 'domain', found 'town'"),
        ({"attributes": {"ann": {"home": "MIT"}}}, "expected affiliations of reviewers, found none; add affiliation"),
        ({"item_attributes": None}, "expected affiliations of papers' authors, found none; add affiliation to"),
        ({"conflict_by": "domain"}, "expected domains of reviewers, found none; add email to their attributes"),
    ],
)
def test_what_has_nothing_to_share_is_refused(changed, message):
    reviews = Reviews([("ann", "p"), ("bob", "q")])
    with pytest.raises(InputError, match=message):
        check(reviews, **{**BY, **changed})


def test_what_the_authors_of_a_paper_have(tmp_path: Path):
    file = tmp_path / "author.csv"
    file.write_text(
        "submission #,first name,last name,email,country,affiliation,Web page,person #,corresponding?\n"
        "1,Ann,A,ann@a.edu,Malta,MIT,,7,yes\n1,Bob,B,bob@b.org,Chad,MIT,,8,no\n2,Cyd,C,,Chad,,,9,yes\n"
    )
    rows = read_author_attributes(file)
    assert rows["1"]["country"] == ["Malta", "Chad"]
    assert rows["1"]["affiliation"] == rows["1"]["institution"] == ["MIT"]
    assert rows["1"]["author"] == ["ann@a.edu", "bob@b.org"]
    assert rows["2"]["country"] == ["Chad"]

from pathlib import Path

import pytest

from reviewgraph import InputError, read_reviews
from reviewgraph.formats import side
from reviewgraph.formats.side import Item, Reviewer
from tests.pages import run
from tests.reviewgraph.reading_cases import labelled, numbers_of


@pytest.fixture
def write(write):
    return lambda content, name="side.csv": write(content, name)


def test_items(write):
    assert side.read_items(write("paper,demand,title\np1,2,First\np2,,\n")) == {
        "p1": Item(2, "First"),
        "p2": Item(None, ""),
    }
    assert side.read_items(write("submission\np1\n")) == {"p1": Item(None, "")}


@pytest.mark.parametrize(
    "text",
    [
        "paper,title,status\n1,A,active\n2,B,Withdrawn\n3,C,\n",
        "paper,email,withdrawn\n1,a@x.org,no\n2,b@x.org,yes\n3,c@x.org,\n",
        "paper,Paper status\n1,submitted\n2,desk rejected\n3,submitted\n",
    ],
)
def test_withdrawn_papers_of_a_list_are_no_papers(write, text):
    notes = []
    reviews = read_reviews(
        write("reviewer,paper\nann,1\nbob,2\nbob,3\n"), items=write(text, "items.csv"), note=notes.append
    )
    assert (reviews.items, reviews.n_reviews, reviews.origin.withdrawn) == (("1", "3"), 2, ("2",))
    assert any("items.csv: 1 paper (2) left out, whose" in note for note in notes)
    # In a table of reviews it is the review that is withdrawn.
    head, *rows = text.splitlines()
    shown = "\n".join([f"{head},reviewer", *(f"{row},ann" for row in rows)])
    assert len(side.read_items(write(shown))) == 3


def test_reviewers(write):
    text = "email;max_load;min_load;affiliation;senior\na;5;1;X;yes\nb;;;;\n"
    assert side.read_reviewers(write(text)) == {"a": Reviewer(5, 1, "X", True), "b": Reviewer(None, None, "", False)}
    missing = write(text.replace("b;;;;", "b;NA;NA;NA;NA"))
    assert side.read_reviewers(missing) == {"a": Reviewer(5, 1, "X", True), "b": Reviewer(None, None, "", False)}
    with pytest.raises(InputError, match="expected a finite number, found 'NA'"):
        side.read_affinity(write("item,reviewer,affinity\np,a,NA\n"))
    assert labelled(side.read_conflicts(write("item,reviewer\nNA,Na Li\n"))) == [("Na Li", "NA")]
    assert side.read_reviewers(write("reviewer\nr\n")) == {"r": Reviewer(None, None, "", False)}


def test_pairs_of_items_and_reviewers(write):
    text = "paper,title,given_name,family_name,email,conflicttype\n3,T,G,F,a,Personal\n3,T,G,F,b,Author\n3,T,G,F,a,\n"
    assert labelled(side.read_conflicts(write(text))) == [("a", "3"), ("b", "3")]
    assert labelled(side.read_conflicts(write("item,reviewer\n"))) == []
    assert labelled(side.read_conflicts(write("# Paper ID\tReviewer Email\n7\tr\n"))) == [("r", "7")]
    table = side.read_conflicts(write("reviewer,paper\nb,3\na,3\nb,3\na,1\n"))
    assert table.score is None
    assert labelled(table) == [("b", "3"), ("a", "3"), ("a", "1")]


def test_numbers_numbers_of(write):
    table = side.read_affinity(write("item,reviewer,affinity\np,a,0.5\np,b,-1e-3\n"))
    assert numbers_of(table) == {("a", "p"): 0.5, ("b", "p"): -0.001}
    assert numbers_of(side.read_affinity(write("paper,email,preference\np,a,-100\n"))) == {("a", "p"): -100.0}
    assert numbers_of(side.read_cost(write("item,reviewer,cost\np,a,2\n"))) == {("a", "p"): 2.0}


def test_values_by_label(write):
    assert side.read_capacity(write("reviewer,spare\na,0\nb,3.0\n")) == {"a": 0, "b": 3}
    assert side.read_references(write("paper,quality\np,7.5\n")) == {"p": 7.5}


@pytest.mark.parametrize(
    ("reader", "content", "message"),
    [
        (side.read_items, "item,demand\np,-1\n", "side.csv:2: demand: expected a whole number, 0 or more, found '-1'"),
        (side.read_items, "item,demand\np,2\np,3\n", "side.csv: item 'p': demand 2 in one row and 3 in another"),
        (side.read_items, "item,demand\n,1\n", "side.csv:2: the item is empty"),
        (side.read_reviewers, "reviewer\n", "side.csv: a header but no reviewers below it"),
        (side.read_items, "demand\n1\n", "side.csv: no item column"),
        (
            side.read_reviewers,
            "reviewer,senior\na,perhaps\n",
            "side.csv:2: senior: expected yes or no, found 'perhaps'",
        ),
        (side.read_reviewers, "reviewer,load,min_load\na,1,2\n", "side.csv: reviewer 'a': min_load 2 is above load 1"),
        (side.read_affinity, "item,reviewer,affinity\np,a,\n", "side.csv:2: the affinity is empty"),
        (side.read_affinity, "item,reviewer,affinity\np,a,nan\n", "side.csv:2: affinity: expected a finite number"),
        (
            side.read_affinity,
            "item,reviewer,affinity\np,a,1\np,a,1\n",
            "side.csv:3: 'a' and 'p' occurred in side.csv:2",
        ),
        (side.read_cost, "item,reviewer\np,a\n", "side.csv: no cost column"),
        (
            side.read_capacity,
            "reviewer,spare\na,\nb,x\n",
            "side.csv:2: the spare is empty\nside.csv:3: spare: expected",
        ),
    ],
)
def test_malformed_side_files(write, reader, content, message):
    with pytest.raises(InputError) as caught:
        reader(write(content))
    assert message in str(caught.value)


def test_reviewers_who_may_be_asked(write):
    assert side.read_willing(write("email,willing\na,yes\nb,no\nc,\n")) == ["a"]
    assert side.read_willing(write("email,affiliation\na,X\nb,\nc,Y\n")) == ["a", "b", "c"]
    assert side.read_willing(write("reviewer,willing\na,no\nb,no\n")) == []
    with pytest.raises(InputError, match="no reviewers below it"):
        side.read_willing(write("reviewer\n"))


def test_attributes_of_reviewers(write):
    text = "email,affiliation,Senior,region,load\na,X,yes,Asia; Europe,3\nb,,no,,\nc,Y,,Asia,4\n"
    assert side.read_attributes(write(text)) == {
        "a": {"affiliation": "X", "institution": "X", "Senior": True, "senior": True, "region": ["Asia", "Europe"],
              "load": "3"},
        "b": {"Senior": False, "senior": False},
        "c": {"affiliation": "Y", "institution": "Y", "region": "Asia", "load": "4"},
    }  # fmt: skip
    with pytest.raises(InputError, match="occurred in"):
        side.read_attributes(write("reviewer,region\na,Asia\na,Europe\n"))
    with pytest.raises(InputError, match="no reviewers below it"):
        side.read_attributes(write("reviewer,region\n"))


def test_reviewers_of_an_export_of_pairs_stand_in_many_rows(write):
    rows = "".join(f"{paper},T{paper},A,{who.upper()},{who},,1\n" for paper in "34" for who in "ab")
    name = write(f"paper,title,given_name,family_name,email,conflict,preference\n{rows}")
    assert side.read_willing(name) == ["a", "b"]
    assert side.read_reviewers(name) == dict.fromkeys("ab", Reviewer(None, None, "", False))
    assert side.read_attributes(name)["a"] == {"given_name": "A", "family_name": "A", "preference": True}
    with pytest.raises(InputError, match="'a' occurred in"):
        side.read_reviewers(write("reviewer,load\na,1\na,2\n"))


def test_papers_may_stand_in_many_rows(write):
    text = "paper,email,title\np2,a,Second\np1,a,B\np1,b,A\np2,b,\n"
    assert side.read_items(write(text)) == {"p2": Item(None, "Second"), "p1": Item(None, "A")}
    assert side.read_items(write("paper,demand\np,\np,2\np,2\n")) == {"p": Item(2, "")}


def test_columns_are_named_for_all_files_or_for_one(write):
    fit = write("who,paper,fit\na,3,0.5\n", "fit.csv")
    names = {"reviewer": "who", "affinity": "fit"}
    for columns in (names, {f"fit.csv:{role}": name for role, name in names.items()}):
        assert numbers_of(side.read_affinity(fit, columns=columns)) == {("a", "3"): 0.5}
    # A name for labels need not be that of every file; one for this file, or for what only it has, must be there.
    usual = write("reviewer,paper,affinity\na,3,0.5\n", "usual.csv")
    assert numbers_of(side.read_affinity(usual, columns={"reviewer": "who"})) == {("a", "3"): 0.5}
    for columns in ({"affinity": "fit"}, {"usual.csv:reviewer": "who"}):
        with pytest.raises(InputError, match=r"usual.csv: there is no column '(fit|who)' \((affinity|reviewer)\)"):
            side.read_affinity(usual, columns=columns)
    with pytest.raises(InputError, match=r"say which one it is with --columns fit.csv:affinity=NAME"):
        side.read_affinity(fit, columns={"reviewer": "who"})
    reviews = write("who,paper,mark\na,3,1\n", "may.csv")
    table = read_reviews(reviews, columns={"may.csv:reviewer": "who", "score": "mark", "affinity": "fit"})
    assert table.to_dict() == {"reviewer": ["a"], "item": ["3"], "score": [1.0]}


@pytest.mark.parametrize(
    "papers",
    [
        "paper,author,status\np1,a,Active\np1,b,Active\np2,c,Withdrawn\np2,d,Withdrawn\np3,e,Active\n",
        "paper,title,referee,status\np1,A,,Active\np2,B,,Withdrawn\np3,C,,Active\n",
    ],
    ids=["a row for each author", "an empty column of reviewers"],
)
def test_withdrawn_papers_of_a_list_are_out_and_conflicts_with_them_are_nothing(folder, papers):
    Path("papers.csv").write_text(papers)
    Path("reviews.csv").write_text("reviewer,paper\nann,p1\nann,p2\nann,p3\nbob,p1\nbob,p2\nbob,p3\n")
    Path("conflicts.csv").write_text("item,reviewer\np2,ann\n")
    for command in ("check", "plan"):
        done = run(command, "reviews.csv", "--items", "papers.csv", "--conflicts", "conflicts.csv")
        assert done.exit_code == 0, done.output
        assert "all 2 papers" in done.stdout
        assert "papers.csv: 1 paper (p2) left out, whose 'status' is 'Withdrawn'" in done.stderr

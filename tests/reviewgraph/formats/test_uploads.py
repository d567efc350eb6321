"""Every upload says what it was given, and takes nothing that its system would misread."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph._base import InputError
from reviewgraph.formats import Outgoing, takers
from reviewgraph.formats.systems.known import SYSTEMS
from reviewgraph.io import read_reviews
from tests.trials import examples

ANN, BOB = "ann@example.org", "bob.o-hara+pc@example.org"
PAIRS = {"item": ["7", "12", "7"], "reviewer": [ANN, ANN, BOB], "affinity": [0.5, 0.25, 1.0]}
OUTGOING = Outgoing(PAIRS, {"7": 'On <ties> & "chains"', "12": "=HYPERLINK(1)"}, PAIRS["affinity"])

PROPOSED = "V/Reviewers/-/Proposed_Assignment"

emails = st.from_regex(r"[a-z+.][a-z+.-]{0,4}@[a-z-]{1,5}\.org", fullmatch=True)
many_pairs = st.lists(st.tuples(emails, st.integers(1, 30).map(str)), min_size=1, max_size=20, unique=True)


def rows(name: str, outgoing: Outgoing = OUTGOING) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(SYSTEMS[name].write(outgoing))))


def test_hotcrp_only_ever_adds() -> None:
    found = rows("hotcrp")
    assert [(row["email"], row["paper"]) for row in found] == [(who, f"{of} -re:{who}") for who, of in OUTGOING.pairs]
    assert {(row["action"], row["reviewtype"], row["round"]) for row in found} == {("review", "primary", "")}
    assert "clear" not in SYSTEMS["hotcrp"].write(OUTGOING)
    outside = Outgoing(PAIRS, outsiders={BOB})
    assert [row["reviewtype"] for row in rows("hotcrp", outside)] == ["primary", "primary", "external"]


@pytest.mark.parametrize(
    ("who", "other", "search"),
    [
        ("ann@u.edu", "bob@u.edu", "ann@u.edu"),
        ("ann@u.edu", "ANN@U.edu", "ann@u.edu"),
        ("ann@u.edu", "xann@u.edu", "ann@u.edu"),
        ("ann@u.edu", "ann@u.edu.au", "ann@u.edu"),
        ("ann@u.edu", "ann@cs.u.edu", "ann@u.ed*u"),
        ("ann@u.edu", "ann@v.edu", "ann@u.edu"),
        ("ann@u.de", "ann@u.de.example", "ann@u.*de"),
    ],
)
def test_hotcrp_searches_for_one_person_though_it_finds_subdomains(who: str, other: str, search: str) -> None:
    """HotCRP's own search, src/contactsearch.php: of ann@u.edu it makes ann@*u.edu, and * may be a subdomain."""
    (row,) = rows("hotcrp", Outgoing({"item": ["7"], "reviewer": [who]}, people=[other]))
    assert row["paper"] == f"7 -re:{search}"


@pytest.mark.parametrize("paper", ["all", "#redo", "1-5", "0", "7 OR 8", "p7", "-3"])
def test_hotcrp_gets_no_paper_that_it_would_search_for(paper: str) -> None:
    with pytest.raises(InputError, match=r"to hotcrp: expected numbers of papers, found 1 other: "):
        SYSTEMS["hotcrp"].write(Outgoing({"item": [paper], "reviewer": [ANN]}))


@pytest.mark.parametrize("who", ["all", "pc", "none", "#heavy", "Ann Bo", "a@b,c@d", "ann@"])
@pytest.mark.parametrize("system", ["hotcrp", "cmt"])
def test_who_is_no_email_is_refused_with_a_name(who: str, system: str) -> None:
    outgoing = Outgoing({"item": [1, 1], "reviewer": [ANN, who]})
    with pytest.raises(
        InputError, match=f"to {system}: expected email addresses of reviewers, found 1 other: "
    ) as told:
        SYSTEMS[system].write(outgoing)
    assert who in str(told.value)
    assert "--to csv" in str(told.value)


def test_openreview_edges_have_what_posting_asks_for() -> None:
    found = json.loads(SYSTEMS["openreview"].write(OUTGOING))
    assert [(edge["tail"], edge["head"]) for edge in found] == OUTGOING.pairs
    assert [edge["weight"] for edge in found] == PAIRS["affinity"]
    assert not {"invitation", "label"} & set(found[0])
    named = json.loads(SYSTEMS["openreview"].write(Outgoing(PAIRS, label="run 2", invitation=PROPOSED)))
    assert {(edge["label"], edge["invitation"], edge["weight"]) for edge in named} == {("run 2", PROPOSED, 1.0)}
    own = json.loads(SYSTEMS["openreview"].write(Outgoing(PAIRS, invitation=PROPOSED)))
    assert {edge["label"] for edge in own} == {"reviewgraph"}


def test_openreview_gets_no_label_where_edges_have_none() -> None:
    invitation = "V/Reviewers/-/Assignment"
    found = json.loads(SYSTEMS["openreview"].write(Outgoing(PAIRS, invitation=invitation)))
    assert {tuple(edge) for edge in found} == {("invitation", "head", "tail", "weight")}
    with pytest.raises(InputError, match=r"expected no label under the invitation V/Reviewers/-/Assignment.*'run 2'"):
        SYSTEMS["openreview"].write(Outgoing(PAIRS, label="run 2", invitation=invitation))


def test_mail_has_a_row_a_reviewer_and_no_formula() -> None:
    first, second = rows("mail")
    assert (first["reviewer"], first["reviews"], first["papers"]) == (ANN, "2", "7; 12")
    assert (
        first["letter"]
        == f'Dear {ANN}, please review 2 papers for us: 7 (On <ties> & "chains") and 12 (=HYPERLINK(1)).'
    )
    assert second["titles"] == 'On <ties> & "chains"'
    asked = Outgoing(PAIRS, helps="compare them", settled={(BOB, "7"), (ANN, "7")})
    (only,) = rows("mail", asked)
    assert only["letter"] == f"Dear {ANN}, could you review one more paper for us: 12? It helps us compare them."


def test_no_field_of_a_mail_has_a_line_break() -> None:
    evil = "On ties\r\nBcc: all@x.org\u2028\x85now\n"
    (only,) = rows("mail", Outgoing({"item": ["7\n8"], "reviewer": ["ann\nTo: b"]}, {"7\n8": evil}))
    assert only["titles"] == "On ties Bcc: all@x.org now"
    assert all(len(cell.splitlines()) == 1 for cell in only.values())


@pytest.mark.slow
@examples(12)
@given(many_pairs)
def test_tables_are_read_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    reviewers, items = map(list, zip(*pairs, strict=True))
    for name in (name for name, upload in takers().items() if upload.read_back):
        papers = [called(item, name) for item in items]
        outgoing = Outgoing({"item": papers, "reviewer": reviewers})
        path = tmp_path_factory.mktemp("back") / "upload.csv"
        path.write_text(SYSTEMS[name].write(outgoing), "utf-8")
        found = read_reviews(path).to_dict()
        assert sorted(zip(found["reviewer"], found["item"], strict=True)) == sorted(zip(reviewers, papers, strict=True))


def called(paper: str, system: str) -> str:
    """Return what a system calls a paper: pretalx knows codes, others take numbers."""
    return "TALKA" + chr(ord("A") + int(paper) % 8) + "BCD3"[int(paper) // 8] if system == "pretalx" else paper


def test_pretalx_gets_codes_and_known_people_only() -> None:
    written = SYSTEMS["pretalx"].write(Outgoing({"item": ["TALKAA", "TALKAB", "TALKAA"], "reviewer": [ANN, ANN, BOB]}))
    assert json.loads(written) == {ANN: ["TALKAA", "TALKAB"], BOB: ["TALKAA"]}
    with pytest.raises(InputError, match="to pretalx: expected codes of proposals, found 1 other: 7;"):
        SYSTEMS["pretalx"].write(Outgoing({"item": ["7"], "reviewer": [ANN]}))
    with pytest.raises(InputError, match="expected codes or addresses of reviewers, found 1 other: Ann Bo;"):
        SYSTEMS["pretalx"].write(Outgoing({"item": ["TALKAA"], "reviewer": ["Ann Bo"]}))

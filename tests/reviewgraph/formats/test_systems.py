"""What is asked, said and refused of systems' files, and what the files beside the reviews serve for."""

import io
import zipfile
from pathlib import Path

import openpyxl
import pytest

from reviewgraph import InputError, read_reviews
from reviewgraph.formats import ITEM, REVIEWER, Role, takers
from reviewgraph.formats.columns import TITLE, locate
from reviewgraph.formats.files import Problems
from reviewgraph.formats.opening import open_table
from reviewgraph.formats.side import read_affinity, read_authors, read_items
from reviewgraph.formats.systems.known import SYSTEMS
from reviewgraph.formats.systems.system import Export, System, Use, is_alias
from reviewgraph.graph import ColumnWarning
from tests.reviewgraph.formats.exports import (
    BIDS,
    CONFLICTS,
    EVERY,
    FORUMS,
    PAPERS,
    REVIEWERS,
    SCORES,
    VENUE,
    as_csv,
    as_json,
    as_spreadsheet_xml,
    as_xlsx,
    as_zip,
    cmt,
    easychair_files,
    edges,
    groups,
    journals,
    note_of,
    profile,
    review_notes,
    signature,
)
from tests.reviewgraph.reading_cases import found, labelled, refused

KNOWN = {"item": ITEM, "reviewer": REVIEWER, "title": TITLE}
BY_NAME = {export.name: export for export in EVERY}


def table(path, kind, *names, format=None):  # noqa: A002
    """The rows of a side file as its reader finds them."""
    roles = [KNOWN.get(name) or Role(name, required=False) for name in names]
    opened = open_table(path, roles, {}, lambda note: None, kind=kind, format=format)
    places = locate(opened.header, roles, opened.columns, opened.name, lambda note: None)
    problems = Problems()
    rows = opened.read([places[name] for name in names], problems)
    problems.raise_any()
    return list(zip(*([column.values[code] for code in column.codes] for column in rows.columns), strict=True))


def test_conflicts_of_each_system(write):
    forums = [(profile(email), note_of(paper)) for email, paper in CONFLICTS]
    hotcrp = as_csv(["paper", "title", "email", "conflicttype"], [[p, "T", e, "Author"] for e, p in CONFLICTS])
    assert table(write(hotcrp), "conflicts", "reviewer", "item") == CONFLICTS
    bulk = as_csv(
        ["paper", "action", "email"], [*([p, "conflict", e] for e, p in CONFLICTS), [3, "primary", "z@x.org"]]
    )
    assert table(write(bulk), "conflicts", "reviewer", "item") == CONFLICTS
    cmt = as_csv(["# Paper ID", "Reviewer Email"], [[p, e] for e, p in CONFLICTS], "\t")
    assert table(write(cmt), "conflicts", "reviewer", "item") == CONFLICTS
    posted = as_json(edges("Conflict", {pair: {"weight": -1, "label": "Conflict"} for pair in CONFLICTS}))
    assert table(write(posted), "conflicts", "reviewer", "item") == forums
    matcher = as_csv((), [*([paper, person, -1] for person, paper in forums), ["other", "~Z1", 1]])
    assert table(write(matcher), "conflicts", "reviewer", "item") == forums
    start = as_csv(["", *REVIEWERS], [[p, *(4 if (e, p) in CONFLICTS else 2 for e in REVIEWERS)] for p in PAPERS])
    assert sorted(table(write(start), "conflicts", "reviewer", "item")) == sorted(CONFLICTS)


def test_bids_of_each_system(write):
    wanted = [(*pair, word) for pair, word in BIDS.items()]
    assert table(write(as_zip(easychair_files())), "bids", "reviewer", "item", "bid") == wanted
    assert table(write(as_zip(easychair_files(headers=False))), "bids", "reviewer", "item", "bid") == wanted
    alone = table(write(easychair_files()["bidding.csv"]), "bids", "reviewer", "item", "bid")
    assert alone == [("11", "3", "yes"), ("12", "4", "no"), ("13", "12", "maybe")]
    start = [[p, *({"yes": 1, "maybe": 2, "no": 3}.get(BIDS.get((e, p)), "") for e in REVIEWERS)] for p in PAPERS]
    assert sorted(table(write(as_csv(["", *REVIEWERS], start)), "bids", "reviewer", "item", "bid")) == sorted(wanted)
    said = as_json(edges("Bid", {pair: {"label": "High", "weight": None} for pair in BIDS}))
    assert table(write(said), "bids", "item", "bid") == [(note_of(paper), "High") for _, paper in BIDS]
    xml = "".join(
        f'<submission submissionId="{p}"><user email="{e}" bid="3 - {w}"/></submission>' for e, p, w in wanted
    )
    assert table(write(f"<bids>{xml}</bids>"), "bids", "reviewer", "item", "bid") == [
        (email, paper, f"3 - {word}") for email, paper, word in wanted
    ]


WROTE = [*CONFLICTS, ("sue@x.org", "12")]


@pytest.mark.parametrize("headers", [True, False])
def test_authors_of_easychair_are_known_by_the_address_of_the_committee(write, headers):
    name = write(as_zip(easychair_files(headers)), "data.zip")
    assert table(name, "authors", "author", "item") == WROTE
    assert table(name, "conflicts", "reviewer", "item") == WROTE
    assert labelled(read_authors(name)) == WROTE
    assert labelled(read_authors(name, columns={"reviewer": "PC member"})) == WROTE


def test_lists_of_authors_are_authors_and_conflicts(write):
    alone = write(easychair_files()["author.csv"])
    told = [("at.home.ann@x.org", "7"), ("at.home.bob@x.org", "12"), ("sue@x.org", "12"), ("sue@x.org", "20")]
    assert labelled(read_authors(alone)) == told
    assert table(alone, "conflicts", "reviewer", "item") == told
    head = ["Paper ID", "Paper Title", "Author Emails", "Reviewer Emails", "Status"]
    papers = as_xlsx({"P": [["P"], [], head, ["3", "T", "ann@x.org*; bob@x.org", "cid@x.org", "Open"]]})
    assert labelled(read_authors(write(papers))) == [("ann@x.org", "3"), ("bob@x.org", "3")]
    with pytest.raises(InputError, match=r"EasyChair's bids, which holds bids; expected a file of authors"):
        read_authors(write(easychair_files()["bidding.csv"]))


BID = ["Paper ID", "Paper Title", "Reviewer Name", "Reviewer Email", "Bid"]


def test_bids_of_cmt_are_read_from_text_and_spreadsheets(write):
    rows = [[paper, "T", "A Name", email, f"3 - {word}"] for (email, paper), word in BIDS.items()]
    wanted = [(email, paper, f"3 - {word}") for (email, paper), word in BIDS.items()]
    for data in (
        as_csv(BID, rows, "\t"),
        as_xlsx({"T": [["T"], [], BID, *rows]}),
        as_spreadsheet_xml({"T": [BID, *rows]}),
    ):
        assert table(write(data), "bids", "reviewer", "item", "bid") == wanted
    assert "this is CMT's bids, which holds bids; expected a file of reviews" in refused("reviews.csv")
    plain = as_csv(["Paper ID", "Email", "Bid"], [row[:1] + row[3:] for row in rows], "\t")
    assert table(write(plain), "bids", "reviewer", "item", "bid") == wanted


def test_suggestions_of_cmt_are_no_affinities(write):
    rows = [["Paper ID", "Meta-Reviewer Email", "Reviewer Email", "Rank"], ["3", "m", "ann@x.org", 1]]
    with pytest.raises(InputError, match="this is CMT's suggestions of reviewers; expected a file of affinities"):
        read_affinity(write(as_csv(rows[0], rows[1:], "\t")))


def test_affinities_loads_and_demands(write):
    scores = {("ann@x.org", "3"): {"weight": 0.25}}
    person, paper = profile("ann@x.org"), note_of("3")
    for content in (
        as_json(edges("Affinity_Score", scores)),
        as_json(edges("Aggregate_Score", scores)),
        as_json({paper: [{"user": person, "aggregate_score": 0.25}]}),
        as_csv((), [[paper, person, 0.25], [paper, person, 0.25]]),
    ):
        rows = table(write(content), "affinities", "reviewer", "item", *["aggregate_score"] * (content[:1] == b"{"))
        assert rows[0][:2] == (person, paper)
    tpms = as_csv(["Paper ID", "Email", "TPMS Score"], [["3", "ann@x.org", "0.25"]])
    assert table(write(tpms), "affinities", "reviewer", "item", "affinity") == [("ann@x.org", "3", "0.25")]
    quotas = as_json([{"invitation": "V/-/Custom_Max_Papers", "head": "V/Reviewers", "tail": person, "weight": 4}])
    assert table(write(quotas), "reviewers", "reviewer", "load") == [(person, "4")]
    assert table(write(f"{person},4\n"), "reviewers", "reviewer", "load") == [(person, "4")]
    demands = as_json([{"invitation": "V/-/Custom_User_Demands", "head": paper, "tail": "V/Reviewers", "weight": 2}])
    assert table(write(demands), "papers", "item", "demand") == [(paper, "2")]
    assert table(write("Username,Quota for Review\nann,4\n"), "reviewers", "reviewer", "load") == [("ann", "4")]
    users = "# First Name\tLast Name\tE-mail\tOrganization\tCountry\nAnn\tLee\tann@x.org\tX\tY\n"
    assert table(write(users), "reviewers", "reviewer", "institution") == [("ann@x.org", "X")]


def test_papers_of_each_system(write):
    papers = list(PAPERS)
    assert {item for (item,) in table(write(BY_NAME["pcassignments.csv"].data), "papers", "item")} == set(papers)
    assert table(write(as_zip(easychair_files())), "papers", "item", "title") == list(PAPERS.items())
    notes = write(BY_NAME["v2.json"].data)
    assert table(notes, "papers", "item", "title") == [(note_of(paper), title) for paper, title in PAPERS.items()]
    cmt = as_csv(
        ["Paper ID", "Paper Title", "Reviewer Emails", "Status"],
        [["3", "T", "ann@x.org; bob@x.org", "Open"], ["4", "U", "", "Desk Rejected"]],
    )
    assert table(write(cmt), "papers", "item", "title") == [("3", "T")]
    assert table(write(cmt), "assignments", "reviewer", "item") == [("ann@x.org", "3"), ("bob@x.org", "3")]
    assert {item for (item,) in table(write(BY_NAME["Reviews.xls"].data), "papers", "item")} == set(papers)


def stand(forum, venue):
    content = {"title": {"value": f"On {forum}"}, "venueid": {"value": venue}}
    return {"id": forum, "forum": forum, "invitations": [f"{VENUE}/-/Submission"], "content": content}


def test_withdrawn_and_desk_rejected_submissions_of_openreview_are_no_papers(write):
    venues = ["Submission", "Withdrawn_Submission", "Desk_Rejected_Submission", "Rejected_Submission"]
    papers = write(as_json([stand(f"n{n}", f"{VENUE}/{end}") for n, end in enumerate(venues)]), "papers.json")
    notes = []
    assert list(read_items(papers, note=notes.append)) == ["n0", "n3"]
    gone = "2 rows left out, whose submission is withdrawn or desk-rejected"
    assert any(note.startswith(f"papers.json: {gone}") for note in notes)
    # One that was withdrawn and came back bears both invitations; the venue says where it stands.
    back = stand("n1", f"{VENUE}/Submission")
    back["invitations"].append(f"{VENUE}/-/Withdrawn_Submission")
    assert list(read_items(write(as_json([back]), "back.json"))) == ["n1"]
    old = {"id": "n1", "invitation": f"{VENUE}/-/Withdrawn_Submission", "content": {"title": "T"}}
    kept = {"id": "n2", "invitation": f"{VENUE}/-/Blind_Submission", "content": {"title": "T"}}
    assert list(read_items(write(as_json([old, kept]), "v1.json"))) == ["n2"]


def test_a_submission_of_easychair_that_nobody_reviews_is_a_paper_but_for_those_that_are_out(write):
    files = easychair_files()
    rows = [["30", "Idle"], ["31", "Gone", "withdrawn"], ["32", "Deleted", "", "yes"]]
    more = [
        [paper, title, *[""] * 5, *(rest or [""])[:1], "", "", "", *(rest[1:] or ["no"])]
        for paper, title, *rest in rows
    ]
    files["submission.csv"] += as_csv((), more)
    reviews = read_reviews(write(as_zip(files), "data.zip"), columns={"reviewer": "PC member"})
    assert set(reviews.items) == {*PAPERS, "30"}
    assert reviews.titles["30"] == "Idle"
    assert found(reviews) == BY_NAME["data.zip"].reviews


def test_reviews_of_papers_that_another_file_says_are_none_are_left_out(write):
    pairs = {("ann@x.org", "3"): {}, ("ann@x.org", "4"): {}, ("bob@x.org", "3"): {}}
    assigned = write(as_json(edges("Assignment", pairs)), "assigned.json")
    papers = [
        stand(note_of("3"), f"{VENUE}/Submission"),
        stand(note_of("4"), f"{VENUE}/Withdrawn_Submission"),
        stand(note_of("5"), f"{VENUE}/Submission"),
    ]
    notes = []
    reviews = read_reviews(assigned, items=write(as_json(papers), "papers.json"), note=notes.append)
    assert found(reviews) == {(profile(who), note_of("3")): None for who in ("ann@x.org", "bob@x.org")}
    assert set(reviews.items) == {note_of("3"), note_of("5")}
    assert notes[-1] == "1 review of papers that are withdrawn, rejected without review or not submitted left out"
    head = ["Paper ID", "Paper Title", "Reviewer Emails", "Status"]
    rows = [["3", "T", "ann@x.org", "Open"], ["4", "U", "bob@x.org", "Desk Rejected"]]
    scores = write("paper,email,score\n3,ann@x.org,2\n4,bob@x.org,1\n3,bob@x.org,5\n", "scores.csv")
    cmt = read_reviews(scores, items=write(as_csv(head, rows), "Papers.csv"), note=notes.append)
    assert found(cmt) == {("ann@x.org", "3"): 2, ("bob@x.org", "3"): 5}
    assert cmt.items == ("3",)
    assert notes[-1] == "1 review of papers that are withdrawn, rejected without review or not submitted left out"


def test_a_submission_of_openreview_beside_reviews_that_nobody_reviews_is_a_paper(write):
    notes = [
        *review_notes(2, "rating", lambda score: score, lambda email, paper: profile(email)),
        stand("idle", f"{VENUE}/Submission"),
    ]
    meta = {"id": "m", "forum": "idle", "invitations": [f"{VENUE}/Submission9/-/Meta_Review"], "signatures": ["~C1"]}
    said = []
    reviews = read_reviews(write(as_json({"notes": notes}), "reviews.json"), note=said.append)
    assert set(reviews.items) == {*map(note_of, PAPERS), "idle"}
    assert not any("left out" in note for note in said)
    notes.append({**meta, "content": {"recommendation": {"value": 3}}})
    again = read_reviews(write(as_json({"notes": notes}), "reviews.json"), note=said.append)
    assert (again.items, found(again)) == (reviews.items, found(reviews))
    assert "1 meta review left out" in said
    assert set(again.origin.meta) == {("~C1", "idle")}


@pytest.mark.parametrize(
    "system", [system for system in SYSTEMS.values() if system.exports], ids=lambda system: system.name
)
def test_the_system_of_a_table_is_known_and_can_be_named(write, system):
    for export in EVERY:
        taken = []
        read_reviews(write(export.data, export.name), **export.options, read=taken.append)
        if taken[0].system == system.name:
            break
    options = {**export.options, "format": system.name}
    assert found(read_reviews(export.name, **options)) == export.reviews
    assert f"expected a file of {system.title}" in refused(write("who,item,x\nann,q,?\n"), format=system.name)


def test_a_plan_is_read_beside_an_export_whose_format_is_named(write):
    gradebook = write(as_xlsx({"Midterm": [["Student", "Ana", "Ben"], ["s1", 60, ""], ["s2", "", 80]]}), "midterm.xlsx")
    plan = write("item,reviewer,cost,joins\ns1,Ben,1,so\n", "plan.csv")
    assert found(read_reviews(gradebook, plan, format="gradebook")) == {
        ("Ana", "s1"): 60,
        ("Ben", "s2"): 80,
        ("Ben", "s1"): None,
    }


def test_our_own_upload_is_no_export_that_lacks_external_reviewers(write):
    notes = []
    read_reviews(write("paper,action,email,reviewtype,round\n3,review,a@x,none:primary,\n"), note=notes.append)
    assert notes == ["reviews.csv: read as HotCRP's bulk assignment"]


def test_a_file_that_serves_for_something_else_is_refused(write):
    name = write("paper,title,email,conflicttype\n3,T,a,Author\n")
    message = refused(name)
    assert "HotCRP's PC conflicts, which holds conflicts" in message
    assert "--format table" in message
    assert found(read_reviews(name, format="table")) == {("a", "3"): None}


def test_scores_of_which_there_are_several_are_asked_for(write):
    xls = BY_NAME["Reviews.xls"]
    reviews = read_reviews(write(xls.data, xls.name))
    assert (reviews.target, dict(reviews.criteria), set(reviews.confidence.tolist())) == ("Q10", {}, {3.0})
    novel = xls.data.replace(b"[Confidence] How sure are you?", b"How novel is it?")
    reviews = read_reviews(write(novel, xls.name))
    assert (reviews.target, set(reviews.criteria["Q11"].tolist()), reviews.confidence) == ("Q10", {3.0}, None)
    message = refused(write(novel.replace(b"overall", b"single"), xls.name))
    assert (
        "'Q10' (Please provide a single score for t…), 'Q11' (How novel is it?)" in message or "'Q11' (How" in message
    )
    assert message.endswith("--score Q10")
    message = refused(write(BY_NAME["reviews.json"].data))
    assert "'S01', 'S02'" in message
    assert "--score S01; or that there is none, with --columns score=" in message
    assert not read_reviews("reviews.csv", columns={"score": ""}).scored.any()


def test_the_rater_of_easychair_is_asked_for_where_members_and_writers_differ(write):
    message = refused(write(BY_NAME["data.zip"].data))
    assert "the reviewer may be any of the columns 'PC member', 'sub-reviewer'" in message
    assert '--columns "reviewer=PC member"' in message
    files = easychair_files()
    alone = {name: data.replace(b"Sue,Sub,sue@x.org,99", b",,,") for name, data in files.items()}
    assert found(read_reviews(write(as_zip(alone)))) == SCORES


def test_a_folder_is_read_as_the_archive_is(tmp_path):
    for name, data in easychair_files().items():
        (tmp_path / name).write_bytes(data)
    assert found(read_reviews(tmp_path, columns={"reviewer": "PC member"})) == SCORES


def test_signatures_that_change_are_refused_and_resolved_by_groups(write):
    notes = review_notes(2, "rating", int, signature)
    message = refused(write(as_json(notes)))
    assert "7 reviewers are signatures that change from paper to paper" in message
    assert "(Submission3/Reviewer_Ann3, " in message
    assert "get_all_groups" in message
    write(groups(), "groups.json")
    assert found(read_reviews("reviews.csv", "groups.json")) == FORUMS
    assert read_reviews("reviews.csv", columns={"reviewer": "signature"}).n_reviewers == len(SCORES)
    twice = as_json([{"id": signature("ann@x.org", "3"), "members": [who]} for who in ("~A1", "~B1")])
    assert "expected one person behind" in refused("reviews.csv", write(twice, "groups.json"))


@pytest.mark.parametrize("bare", ["AnonReviewer{}", "Reviewer_x{}bC"])
def test_signatures_without_their_paper_are_refused_in_tables_too(write, bare):
    rows = "".join(f"{number},{bare.format(number)},3\n" for number in range(1, 4))
    assert "signatures that change" in refused(write(f"forum,reviewer,rating\n{rows}"))


def test_labels_that_look_like_signatures_are_reviewers_where_they_come_again(write):
    rows = "".join(f"{paper},Reviewer_{who},3\n" for paper in range(3) for who in ("Anna", "Bert"))
    assert read_reviews(write(f"paper,reviewer,rating\n{rows}")).n_reviewers == 2
    assert not is_alias("Reviewer_Anna")


def test_proposed_assignments_of_several_runs_are_asked_for(write):
    runs = [*edges("Proposed_Assignment", {("ann@x.org", "3"): {}}, label="one")]
    runs += edges("Proposed_Assignment", {("ann@x.org", "4"): {}}, label="two")
    assert "2 runs of the matcher ('one', 'two')" in refused(write(as_json(runs)))


def test_sheets_of_which_several_may_hold_the_table_are_asked_for(write):
    rows = [["paper", "email", "rating"], [1, "a", 3]]
    name = write(as_xlsx({"Ours": rows, "Theirs": [[*rows[0], "round"], [*rows[1], 2]]}), "book.xlsx")
    assert refused(name).endswith("say which one, for example book.xlsx#Ours")
    assert found(read_reviews("book.xlsx#Theirs")) == {("a", "1"): 3.0}
    assert "there is no sheet 'None'" in refused("book.xlsx#None")


def test_sheets_of_one_header_are_never_joined_unasked(write):
    head = ["paper", "email", "rating"]
    name = write(as_xlsx({"May": [head, [1, "a", 3]], "June": [head, [2, "a", 4]], "Notes": [["x"]]}), "book.xlsx")
    assert refused(name).endswith("book.xlsx#May, or all that count, as in book.xlsx#May book.xlsx#June")
    assert found(read_reviews("book.xlsx#May", "book.xlsx#June")) == {("a", "1"): 3.0, ("a", "2"): 4.0}


def test_sheets_of_tracks_are_joined_and_said(write):
    notes = []
    (exported,) = (each for each in cmt() if each.name == "Reviews.xlsx")
    assert found(read_reviews(write(exported.data, "r.xlsx"), columns={"score": "Q10"}, note=notes.append)) == SCORES
    assert "r.xlsx: 2 sheets are read as one table: 'One', 'Two'" in notes


@pytest.mark.parametrize("state", ["hidden", "veryHidden"])
@pytest.mark.parametrize("old", [False, True])
def test_hidden_sheets_are_left_out_and_said_but_read_where_they_are_named(write, state, old):
    head, notes = ["paper", "email", "rating"], []
    sheets = {"Now": [head, [1, "a", 3]], "Old": [head, [1, "a", 9]]}
    if old:
        state = f"Sheet{state[0].upper()}{state[1:]}"
        hidden = f"<x:WorksheetOptions><x:Visible>{state}</x:Visible></x:WorksheetOptions></Worksheet></Workbook>"
        data = as_spreadsheet_xml(sheets).replace(b"</Worksheet></Workbook>", hidden.encode())
        data = data.replace(b"<Workbook ", b'<Workbook xmlns:x="urn:schemas-microsoft-com:office:excel" ')
    else:
        book, buffer = openpyxl.load_workbook(io.BytesIO(as_xlsx(sheets))), io.BytesIO()
        book["Old"].sheet_state = state
        book.save(buffer)
        data = buffer.getvalue()
    name = write(data, "book.xlsx")
    assert found(read_reviews(name, note=notes.append)) == {("a", "1"): 3.0}
    assert notes == ["book.xlsx: a hidden sheet is left out: 'Old'; to read one, name it, as in book.xlsx#Old"]
    assert found(read_reviews("book.xlsx#Old", note=notes.append)) == {("a", "1"): 9.0}
    assert len(notes) == 1


def test_an_archive_with_two_files_of_one_name_is_refused(write):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("r.csv", "paper,email\n1,a\n")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("r.csv", "paper,email\n2,a\n")
    assert "'r.csv' occurs twice in the archive" in refused(write(data.getvalue(), "r.zip"))


def test_a_file_inside_an_archive_can_be_named(write):
    files = {"a.csv": b"paper,email\n1,a\n", "b.csv": b"paper,email\n2,a\n"}
    name = write(as_zip(files), "both.zip")
    assert "as in both.zip#NAME" in refused(name)
    assert found(read_reviews("both.zip#b.csv")) == {("a", "2"): None}
    assert found(read_reviews(write(as_zip({"a.csv": files["a.csv"]}), "one.zip"))) == {("a", "1"): None}


def test_the_pages_on_files_and_uploads_have_every_system():
    root = Path(__file__).parents[3] / "docs"
    files, uploads = ((root / page).read_text("utf-8") for page in ("reference/files.md", "how-to/upload.md"))
    assert [name for name, system in SYSTEMS.items() if system.exports and f"(`{name}`)" not in files] == []
    assert [name for name in takers() if f"\n| `{name}` | " not in uploads] == []


def test_submissions_of_start_without_users_are_papers_that_nobody_reviews(write):
    path = write("1:ann:bob\n2:ann\n99:\n", "start.txt")
    reviews = read_reviews(path)
    assert (reviews.items, reviews.n_reviews) == (("1", "2", "99"), 3)
    assert [item for (item,) in table(path, "papers", "item")] == ["1", "1", "2", "99"]


def test_files_of_start_have_short_rows_blanks_and_a_last_column_without_a_name(write):
    matrix = 'Submission ID, ann, "bob, jr", cyd,\n7, 1, 4\n9,, 3, 4,\n12\n'
    rows = table(write(matrix, "bids.csv"), "bids", "reviewer", "item", "bid")
    assert rows == [("ann", "7", "yes"), ("bob, jr", "7", "conflict"), ("bob, jr", "9", "no"), ("cyd", "9", "conflict")]
    assert table(write(matrix, "coi.csv"), "conflicts", "reviewer", "item") == [("bob, jr", "7"), ("cyd", "9")]
    quotas = 'Username, "Quota for Review"\nann, 4\nbob\n'
    assert table(write(quotas, "quotas.csv"), "reviewers", "reviewer", "load") == [("ann", "4"), ("bob", "")]
    with pytest.raises(InputError):
        table(write(matrix.replace("12\n", "12,1,1,1,1,1\n"), "long.csv"), "bids", "reviewer", "item", "bid")


def test_tables_of_easychair_may_leave_out_empty_cells_at_the_end(write):
    short = 'submission #,member #,member name,version,total score,text\n3,12,Ann,1,2\n3,13,Bob,1,-1,"Good"\n'
    assert table(write(short, "review.csv"), "reviews", "item", "reviewer", "score") == [
        ("3", "12", "2"),
        ("3", "13", "-1"),
    ]
    with pytest.raises(InputError):
        table(write(f"{short}3,14,Cyd,1,2,text,more\n", "long.csv"), "reviews", "item", "reviewer", "score")


def test_the_last_version_of_a_review_counts_in_any_order_of_rows(write):
    rows = ["3,12,Ann,2,2", "3,12,Ann,1,-1"]
    for order in (rows, rows[::-1]):
        name = write("\n".join(["submission #,member #,member name,version,total score", *order, ""]), "review.csv")
        assert table(name, "reviews", "item", "reviewer", "score") == [("3", "12", "2")]


def test_drafts_of_a_system_that_knows_no_states_count_as_planned(tmp_path, monkeypatch):
    class Jury(System):
        name = "jury"
        title = "the jury"
        uses = (Use("reviews", {"item": ("Work",), "reviewer": ("Juror",), "score": ("Mark",)}),)
        exports = (Export("the jury's marks", uses, ("work", "juror", "mark")),)

    monkeypatch.setitem(SYSTEMS, "jury", Jury())
    path = tmp_path / "marks.csv"
    path.write_text(
        "Work,Juror,Mark,Status\nw1,ann,3,submitted\nw2,ann,5,submitted\nw1,bob,4,draft\nw2,bob,7,declined\n"
    )
    with pytest.warns(ColumnWarning, match="whose 'Status' is 'draft': not finished"):
        reviews = read_reviews(path)
    assert (reviews.n_reviews, int(reviews.scored.sum())) == (3, 2)


def test_a_state_under_another_name_is_read_beside_the_rows_that_are_left_out(tmp_path: Path) -> None:
    (export,) = journals()
    text = export.data.decode("utf-8-sig").replace("Unconsidered", "Un-considered", 1)
    (tmp_path / "ojs.csv").write_text(text)
    with pytest.warns(ColumnWarning):
        read = read_reviews(tmp_path / "ojs.csv", **export.options)
    assert read.n_reviews == len(SCORES)

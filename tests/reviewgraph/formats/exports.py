"""Exports of one small conference as each system writes them, with the reviews that a reader has to find."""

import csv
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

import openpyxl

PAPERS = {str(number): f'Paper "{number}", on a < b' for number in (3, 4, 7, 12)}
REVIEWERS = {"ann@x.org": "Ann Lee", "bob@x.org": "Bob Ray", "cid@x.org": "Cid Ode"}
#: Score by reviewer and paper; None is a planned review.
SCORES: dict[tuple[str, str], int | None] = {
    ("ann@x.org", "3"): 4,
    ("ann@x.org", "4"): 2,
    ("bob@x.org", "3"): 5,
    ("bob@x.org", "7"): 1,
    ("cid@x.org", "7"): 3,
    ("cid@x.org", "12"): 2,
    ("cid@x.org", "4"): 1,
}
CONFLICTS = [("ann@x.org", "7"), ("bob@x.org", "12")]
BIDS = {("ann@x.org", "3"): "yes", ("bob@x.org", "4"): "no", ("cid@x.org", "12"): "maybe"}
#: What EasyChair keeps of a review that was changed.
EARLIER = {("ann@x.org", "3"): 1}
PLANNED = dict.fromkeys(SCORES)
LETTERS = dict(enumerate("EDCBA", 1))


@dataclass(frozen=True)
class Exported:
    """A file, what options read it, the reviews in it, and scores of earlier versions that it has, too."""

    name: str
    data: bytes
    reviews: Mapping[tuple[str, str], float | None]
    options: Mapping[str, Any] = field(default_factory=dict)
    earlier: Mapping[tuple[str, str], float | None] = field(default_factory=dict)


def as_csv(header: Sequence[str], rows: Sequence[Sequence[Any]], delimiter: str = ",") -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerows([header, *rows] if header else rows)
    return text.getvalue().encode()


def as_json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


def as_zip(files: Mapping[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return data.getvalue()


def as_xlsx(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    book, data = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(data)
    return data.getvalue()


def as_spreadsheet_xml(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    def cell(value: Any) -> str:
        kind = "Number" if isinstance(value, int | float) else "String"
        return f'<Cell><Data ss:Type="{kind}">{escape(str(value))}</Data></Cell>'

    def line(row: Sequence[Any]) -> str:
        return f"<Row>{''.join(map(cell, row))}</Row>"

    tables = "".join(
        f'<Worksheet ss:Name="{title}"><Table>{"".join(map(line, rows))}</Table></Worksheet>'
        for title, rows in sheets.items()
    )
    space = "urn:schemas-microsoft-com:office:spreadsheet"
    return f'<?xml version="1.0"?>\n<Workbook xmlns="{space}" xmlns:ss="{space}">{tables}</Workbook>'.encode()


def hotcrp() -> list[Exported]:
    head, rows = ["paper", "title", "decision", "review", "reviewername", "email"], []
    for number, ((email, paper), score) in enumerate(SCORES.items()):
        rows.append([paper, PAPERS[paper], "", f"{paper}{'ABCDEFG'[number]}", REVIEWERS[email], email, score])
    narrow = [
        [*[paper, f"{paper}A", email, "R1", "17"], name, "", data]
        for (email, paper), score in SCORES.items()
        for name, data in (("Overall merit", score), ("Comments", "Fine,\nreally"))
    ]
    reviews = [
        *(
            {"object": "review", "pid": int(paper), "rid": rid, "rtype": 2, "status": "complete", "S01": score}
            | {"S02": 1, "T03": "Text", "reviewer": REVIEWERS[email], "reviewer_email": email}
            for rid, ((email, paper), score) in enumerate(SCORES.items(), 1)
        ),
        {"object": "review", "pid": 12, "rid": 9, "status": "draft", "reviewer_email": "bob@x.org", "S01": 5},
    ]
    letters = [[*row[:-1], LETTERS.get(row[-1], row[-1]), 2] for row in rows]
    start = ["pid", "review", "email", "round", "submitted_at"]
    wide = [[row[0], row[3], row[5], "R1", 17, 5, "complete", row[6], "so"] for row in rows]
    wide.append(["12", "", "bob@x.org", "R1", "", "", "draft", 5, ""])
    drafted = {**SCORES, ("bob@x.org", "12"): None}
    assigned = [
        line
        for paper, title in PAPERS.items()
        for line in [
            [paper, "clearreview", "#pc", "any", title],
            *([paper, "primaryreview", email, "R1", title] for email, of in SCORES if of == paper),
        ]
    ]
    return [
        Exported("scores.csv", as_csv([*head, "OveMer", "RevExp"], [[*row, 2] for row in rows]), SCORES),
        Exported(
            "reviews.csv", as_csv([*head, "Overall merit", "Comments"], [[*row, "a,\nb"] for row in rows]), SCORES
        ),
        Exported("letters.csv", as_csv([*head, "OveMer", "RevExp"], letters), SCORES, {"scale": "A>B>C>D>E"}),
        Exported("pcassignments.csv", as_csv(["paper", "action", "email", "round", "title"], assigned), PLANNED),
        Exported("narrow.csv", as_csv([*start, "field", "format", "data"], narrow), SCORES),
        Exported("wide.csv", as_csv([*start, "vtag", "status", "Overall merit", "Comments"], wide), drafted),
        Exported("reviews.json", as_json({"ok": True, "reviews": reviews}), drafted, {"columns": {"score": "S01"}}),
    ]


def profile(email: str) -> str:
    return "~" + REVIEWERS[email].replace(" ", "_") + "1"


def note_of(paper: str) -> str:
    return f"forum{paper}xY"


FORUMS = {(profile(email), note_of(paper)): score for (email, paper), score in SCORES.items()}
VENUE = "V.cc/2026/Conference"


def signature(email: str, paper: str) -> str:
    return f"{VENUE}/Submission{paper}/Reviewer_{email[:3].title()}{paper[-1]}"


def groups() -> bytes:
    """The groups that say who stands behind signatures, and others."""
    known = [{"id": signature(email, paper), "members": [profile(email)]} for email, paper in SCORES]
    return as_json([*known, {"id": f"{VENUE}/Reviewers", "members": list(map(profile, REVIEWERS))}])


def review_notes(version: int, rating: str, spell: Any, signer: Any) -> list[dict[str, Any]]:
    def wrap(value: Any) -> Any:
        return {"value": value} if version == 2 else value

    def invited(name: str) -> dict[str, Any]:
        return {"invitations": [name, f"{VENUE}/-/Edit"]} if version == 2 else {"invitation": name}

    def review(number: int, email: str, paper: str, score: int) -> dict[str, Any]:
        return {
            "id": f"r{number}",
            "forum": note_of(paper),
            "signatures": [signer(email, paper)],
            **invited(f"{VENUE}/Submission{paper}/-/Official_Review"),
            "content": {rating: wrap(spell(score)), "summary": wrap("Fine"), "confidence": wrap("3: sure")},
        }

    reviews = [review(number, email, paper, score) for number, ((email, paper), score) in enumerate(SCORES.items())]
    return [
        {
            "id": note_of(paper),
            "forum": note_of(paper),
            **invited(f"{VENUE}/-/Submission"),
            "content": {"title": wrap(title)},
            "details": {"directReplies": [one for one in reviews if one["forum"] == note_of(paper)]},
        }
        for paper, title in PAPERS.items()
    ]


def edges(name: str, pairs: Mapping[tuple[str, str], Any], **more: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"e{number}", "invitation": f"{VENUE}/Reviewers/-/{name}", **more, **value}
        for number, ((email, paper), given) in enumerate(pairs.items())
        for value in [{"head": note_of(paper), "tail": profile(email), **given}]
    ]


def openreview() -> list[Exported]:
    def person(email: str, paper: str) -> str:
        return profile(email)

    assigned = {pair: {"weight": 0.5} for pair in SCORES}
    by_paper = {note_of(paper): [profile(email) for email, of in SCORES if of == paper] for paper in PAPERS}
    grouped = [
        {"id": {"head": paper}, "values": [{"tail": who, "weight": 0.5} for who in people]}
        for paper, people in by_paper.items()
    ]
    matched = {paper: [{"aggregate_score": 0.5, "user": who} for who in people] for paper, people in by_paper.items()}
    planned = dict.fromkeys(FORUMS)

    def half(score: Any) -> Any:
        return score + 0.5 if isinstance(score, int) else score

    def spelled(form: str) -> Callable[[Any], Any]:
        """Return how numbers are written; what is none stays as it is."""
        return lambda score: form.format(score) if isinstance(score, int) else score

    return [
        Exported("v1.json", as_json(review_notes(1, "rating", spelled("{}: words, and more"), person)), FORUMS),
        Exported("v2.json", as_json({"notes": review_notes(2, "recommendation", lambda score: score, person)}), FORUMS),
        Exported("words.json", as_json(review_notes(2, "rating", spelled("{} good"), person)), FORUMS),
        Exported(
            "halves.json",
            as_json(review_notes(2, "overall_assessment", half, person)),
            {pair: half(score) for pair, score in FORUMS.items()},
        ),
        Exported("assigned.json", as_json(edges("Assignment", assigned)), planned),
        Exported("proposed.json", as_json({"edges": edges("Proposed_Assignment", assigned, label="run")}), planned),
        Exported("grouped.json", as_json(grouped), planned),
        Exported("assignments.json", as_json(matched), planned),
    ]


QUESTION = 'Q10 (Please provide an "overall score" for this submission.\n)'
VALUED = 'Q10 (Please provide an "overall score" for this submission.\n - Value)'
SURE = "Q11 ([Confidence] How sure are you? - Value)"


def cmt() -> list[Exported]:
    head = ["Paper ID", "Paper Title", "Reviewer Name", "Reviewer Email", "Reviewer Number", "Created"]
    head += ["Q1 (Summary)", QUESTION, VALUED, SURE.replace(" - Value", ""), SURE]
    rows = [
        [int(paper), PAPERS[paper], REVIEWERS[email], email, 1, "2026-01-01", "Fine", "Good", score, "Sure", 3]
        for (email, paper), score in SCORES.items()
    ]
    tracks = {"One": [["One"], [], head, *rows[:4]], "Two": [["Two"], [], head, *rows[4:]]}
    xml = "".join(
        f'<submission submissionId="{paper}">\n<user email="{email}" />\n</submission>\n' for email, paper in SCORES
    )
    score = {"columns": {"score": "Q10"}}
    return [
        Exported("Reviews.xls", as_spreadsheet_xml(tracks), SCORES, score),
        Exported("Reviews.xlsx", as_xlsx(tracks), SCORES, score),
        Exported("Assignments.xml", f"<assignments>\n{xml}</assignments>\n".encode(), PLANNED),
    ]


#: The columns of the tables of EasyChair.
EASYCHAIR = {
    "review.csv": "#,submission #,member #,member name,number,version,text,scores,total score,reviewer first name,"
    "reviewer last name,reviewer email,reviewer person #,date,time,attachment?",
    "submission.csv": "#,title,authors,submitted,last updated,form fields,keywords,decision,notified,reviews sent,"
    "abstract,deleted?",
    "committee.csv": "#,person #,first name,last name,email,country,affiliation,Web page,role",
    "bidding.csv": "member #,member name,submission #,bid",
    "author.csv": "submission #,first name,last name,email,country,affiliation,Web page,person #,corresponding?",
}


def easychair_files(headers: bool = True) -> dict[str, bytes]:
    numbers = {email: str(number) for number, email in enumerate(REVIEWERS, 11)}

    def review(number: int, email: str, paper: str, score: int, version: int = 1) -> list[Any]:
        cells = [number, paper, numbers[email], REVIEWERS[email], 1, version, "Fine,\nreally"]
        writer = ["Sue", "Sub", "sue@x.org", 99] if (email, paper) == ("cid@x.org", "4") else ["", "", "", ""]
        return [*cells, f"Overall: {score}\nConfidence: 4", score, *writer, "2026-01-01", "10:00", "no"]

    reviews = [review(number, email, paper, score) for number, ((email, paper), score) in enumerate(SCORES.items())]
    reviews[:0] = [review(50, *pair, score, version=0) for pair, score in EARLIER.items() if pair in SCORES]
    reviews.append(review(51, "ann@x.org", "20", 3))
    papers = {**PAPERS, "20": "Out of scope"}
    # Members of the committee wrote under another address; one author is no member.
    authors = [(paper, REVIEWERS[email], f"at.home.{email}", numbers[email]) for email, paper in CONFLICTS]
    authors += [("12", "Sue Sub", "sue@x.org", "99"), ("20", "Sue Sub", "sue@x.org", "99")]
    rows = {
        "review.csv": reviews,
        "submission.csv": [
            [paper, title, "A. Uthor", "", "", "", "", "desk reject" * (paper == "20"), "", "", "", "no"]
            for paper, title in papers.items()
        ],
        "committee.csv": [
            [numbers[email], numbers[email], *name.split(), email, "", "X", "", "PC member"]
            for email, name in REVIEWERS.items()
        ],
        "bidding.csv": [[numbers[email], REVIEWERS[email], paper, bid] for (email, paper), bid in BIDS.items()],
        "author.csv": [
            [paper, *name.split(), email, "", "X", "", person, "yes"] for paper, name, email, person in authors
        ],
    }
    return {name: as_csv(header.split(",") if headers else (), rows[name]) for name, header in EASYCHAIR.items()}


def easychair() -> list[Exported]:
    member = {"columns": {"reviewer": "PC member"}}
    bare = {f"data/{name}": data for name, data in easychair_files(headers=False).items()}
    written = {("sue@x.org", "4") if pair == ("cid@x.org", "4") else pair: score for pair, score in SCORES.items()}
    return [
        Exported("data.zip", as_zip(easychair_files()), SCORES, member, EARLIER),
        Exported("old.zip", as_zip(bare), SCORES, member, EARLIER),
        Exported("writers.zip", as_zip(easychair_files()), written, {"columns": {"reviewer": "sub-reviewer"}}, EARLIER),
    ]


def start() -> list[Exported]:
    lines = (f"{paper}:" + ":".join(email for email, of in SCORES if of == paper) for paper in PAPERS)
    return [Exported("start.txt", ("\n".join(lines) + "\n").encode(), PLANNED)]


def code_of(paper: str) -> str:
    """Return what pretalx calls a paper."""
    return "TALK" + "".join(chr(ord("A") + part) for part in divmod(int(paper), 8))


def pretalx() -> list[Exported]:
    scores = {(email, code_of(paper)): score for (email, paper), score in SCORES.items()}
    head = ["Score", "Text", "Score in “Fit”", "Proposal ID", "Proposal title", "Created", "Updated", "Reviewer name"]
    head += ["Reviewer email", "Fit"]
    when = "2026-01-01 10:00:00.165107+00:00"
    rows = [
        [score, "Fine,\nso", "", code_of(paper), PAPERS[paper], when, when, REVIEWERS[email], email, "-1.50"]
        for (email, paper), score in SCORES.items()
    ]
    given = [
        {"id": 1, "submission": code_of(paper), "score": score, "scores": [], "answers": [], "user": email}
        for (email, paper), score in SCORES.items()
    ]
    proposals = [
        {"code": code_of(paper), "title": title, "speakers": [], "state": "submitted"}
        | {"assigned_reviewers": [email for email, of in SCORES if of == paper]}
        for paper, title in PAPERS.items()
    ]
    around = {"count": len(given), "next": None, "previous": None}
    return [
        Exported("pretalx.csv", as_csv(head, rows), scores),
        Exported("pretalx.json", as_json([dict(zip(head, row, strict=True)) for row in rows]), scores),
        Exported("api-reviews.json", as_json({**around, "results": given}), scores),
        Exported("api-submissions.json", as_json({**around, "results": proposals}), dict.fromkeys(scores)),
    ]


#: What reviewers of Open Journal Systems may recommend, the best first.
RECOMMENDED = (
    *("Accept Submission", "Revisions Required", "Resubmit for Review", "Resubmit Elsewhere"),
    "Decline Submission",
)


def journals() -> list[Exported]:
    words = {len(RECOMMENDED) - place: word for place, word in enumerate(RECOMMENDED)}
    head = ["Stage", "Round", "Submission Title", "Submission ID", "Reviewer", "Email", "Date Assigned"]
    head += ["Date Completed", "Unconsidered", "Declined", "Cancelled", "Recommendation", "Comments on Submission"]
    when = ["2026-01-01", ""]
    rows = [
        ["Review", 1, PAPERS[of], of, email[:3], email, *when, "", "No", "No", words.get(score, score), "so"]
        for (email, of), score in SCORES.items()
    ]
    for place, no in enumerate((["Yes", "No", "No"], ["", "Yes", "No"], ["", "No", "Yes"])):
        rows.append(["Review", 1, PAPERS["3"], 3, f"no{place}", f"no{place}@x.org", *when, *no, "See Comments", ""])
    return [Exported("ojs.csv", b"\xef\xbb\xbf" + as_csv(head, rows), SCORES, {"scale": ">".join(RECOMMENDED)})]


def indico() -> list[Exported]:
    abstracts = [
        {
            "id": 100 + int(of),
            "friendly_id": int(of),
            "title": title,
            "state": "submitted",
            "reviews": [
                {"id": 1, "user": {"email": email, "full_name": name}, "ratings": [{"question": 9, "value": score}]}
                for email, name in REVIEWERS.items()
                for score in ([SCORES[email, of]] if (email, of) in SCORES else [])
            ],
        }
        for of, title in PAPERS.items()
    ]
    gone = {"id": 1, "friendly_id": 99, "title": "Gone", "state": "withdrawn", "reviews": abstracts[0]["reviews"]}
    content = {"version": 1, "abstracts": [*abstracts, gone], "questions": [{"id": 9, "title": "Overall rating"}]}
    return [Exported("abstracts.json", as_json(content), SCORES)]


def annotations() -> list[Exported]:
    tasks: list[dict[str, Any]] = []
    for of, title in PAPERS.items():
        made: list[dict[str, Any]] = [
            {"id": 2, "completed_by": {"email": "no@x.org"}, "was_cancelled": True, "result": []}
        ]
        for email in REVIEWERS:
            if (email, of) in SCORES:
                answer = {"from_name": "rating", "type": "rating", "value": {"rating": SCORES[email, of]}}
                who = {"id": 1, "email": email}
                made.append({"id": 1, "completed_by": who, "was_cancelled": False, "result": [answer]})
        tasks.append({"id": int(of), "data": {"text": title}, "annotations": made})
    return [Exported("label-studio.json", as_json(tasks), SCORES)]


def people() -> list[Exported]:
    rows = [[int(paper), email, score, "so"] for (email, paper), score in SCORES.items()]
    form = [["2026/01/01 10:00:00", email, f"{paper}", score, "so"] for (email, paper), score in SCORES.items()]
    by_paper = {paper: [(email, score) for (email, of), score in SCORES.items() if of == paper] for paper in PAPERS}
    most = max(map(len, by_paper.values()))
    wide = [
        [paper, *(cell for one in [*pairs, *[("", "")] * (most - len(pairs))] for cell in one)]
        for paper, pairs in by_paper.items()
    ]
    matrix = [[paper, *(SCORES.get((email, paper), "") for email in REVIEWERS)] for paper in PAPERS]
    questions = ["Timestamp", "Email Address", "Which paper do you review?", "Your overall score", "Remarks"]
    numbered = [f"{what} {number}" for number in range(1, most + 1) for what in ("Grader", "Grade")]
    book = {"Notes": [["Do not edit"]], "Reviews": [["The reviews"], [], ["Paper", "E-mail", "Rating", "x"], *rows]}
    return [
        Exported("book.xlsx", as_xlsx(book), SCORES),
        Exported("form.csv", as_csv(questions, form), SCORES),
        Exported("workshop.csv", as_csv(["assessee", "grader", "grade", "remark"], rows), SCORES),
        Exported("student.csv", as_csv(["student", "grader", "grade", "remark"], rows), SCORES),
        Exported("gradebook.csv", as_csv(["Student", *numbered], wide), SCORES),
        Exported("matrix.csv", as_csv(["Student", *REVIEWERS], matrix), SCORES, {"format": "gradebook"}),
    ]


def every() -> list[Exported]:
    systems = [*hotcrp(), *openreview(), *cmt(), *easychair(), *start(), *pretalx(), *journals(), *indico()]
    return [*systems, *annotations(), *people()]


EVERY = every()

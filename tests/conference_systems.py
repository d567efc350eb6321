"""Small models of conference systems: what each exports, and what it does with an upload.

All hold the same conference, whose reviews fall into many groups. What a system would refuse is an error here.
"""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from xml.etree import ElementTree

import numpy as np

from tests.reviewgraph.formats.exports import EASYCHAIR, as_csv, as_json, as_spreadsheet_xml, as_xlsx, as_zip

Pair = tuple[str, str]
#: Score by reviewer and paper; None is a review that is assigned and not written.
Scores = dict[Pair, int | None]

PAPERS = [str(number) for number in range(1, 25)]
PEOPLE = [f"r{number:02}@example.org" for number in range(1, 13)]
#: The first so many are the committee, the others external reviewers.
COMMITTEE = PEOPLE[:-2]
LOAD = 4


def drawn(*, scored: bool) -> Scores:
    """Return four reviews a reviewer; all papers are dealt twice."""
    rng = np.random.default_rng(14)
    deck = [paper for _ in range(2) for paper in rng.permutation(PAPERS).tolist()]
    pairs = [(PEOPLE[place // LOAD], paper) for place, paper in enumerate(deck)]
    return {pair: int(rng.integers(1, 6)) if scored else None for pair in pairs}


def barred() -> list[Pair]:
    """Return two conflicts of each paper, none of which is reviewed."""
    rng, taken = np.random.default_rng(15), drawn(scored=False)
    pairs = [(PEOPLE[number], paper) for paper in PAPERS for number in rng.choice(len(PEOPLE), 2, replace=False)]
    return [pair for pair in pairs if pair not in taken]


def rows_of(text: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(text.decode().splitlines()))


@dataclass
class Conference:
    """A system that holds reviews; ``files`` are its exports, ``take`` applies an upload.

    ``members`` are those whom it lets review, ``papers`` all that there are.
    """

    scored: bool = False
    reviews: Scores = field(init=False)
    members: ClassVar[list[str]] = PEOPLE
    papers: ClassVar[list[str]] = PAPERS
    conflicts: ClassVar[list[Pair]] = barred()

    def __post_init__(self) -> None:
        self.reviews = drawn(scored=self.scored)

    @property
    def written(self) -> dict[Pair, int]:
        return {pair: score for pair, score in self.reviews.items() if score is not None}

    def files(self) -> Mapping[str, bytes]:
        raise NotImplementedError

    def take(self, upload: bytes) -> None:
        """Enter the rows of a plan."""
        for row in rows_of(upload):
            self.add(row["reviewer"], row["item"])

    def add(self, reviewer: str, paper: str) -> None:
        """Make a review; whom or what the system does not know, and conflicts, it refuses."""
        if reviewer not in self.members or paper not in self.papers or (reviewer, paper) in self.conflicts:
            message = f"refused: {reviewer} on {paper}"
            raise ValueError(message)
        self.reviews.setdefault((reviewer, paper), None)


class HotCRP(Conference):
    """A model of what ``tests/live`` tries for real: short rows, and PC assignments without papers nobody reviews."""

    members = COMMITTEE
    papers: ClassVar[list[str]] = [*PAPERS, "99"]

    def files(self) -> Mapping[str, bytes]:
        assigned: list[list[Any]] = []
        for paper in self.papers:
            who_reviews = [who for who, of in self.reviews if of == paper and who in COMMITTEE]
            if who_reviews:
                assigned.append([paper, "clearreview", "#pc", "any", f"On {paper}"])
            assigned += [[paper, "primaryreview", who, "R1"] for who in who_reviews]
        listed = [[paper, f"On {paper}", "Submitted", "", "0/2"] for paper in self.papers]
        scores = [
            [paper, f"On {paper}", "", f"{paper}A", "A Name", who, score, 2]
            for (who, paper), score in self.written.items()
        ]
        head = ["paper", "title", "decision", "review", "reviewername", "email", "OveMer", "RevExp"]
        named = ["paper", "title", "given_name", "family_name", "email", "conflict", "preference"]
        preferences = [
            [paper, "", "A", "Name", who, "conflict" * ((who, paper) in barred()), 1]
            for paper in PAPERS
            for who in COMMITTEE
        ]
        conflicts = [[paper, "", "A", "Name", who, "Institutional"] for who, paper in barred()]
        barring = [*named[:-2], "conflicttype"]
        return {
            "pcassignments.csv": as_csv(["paper", "action", "email", "round", "title"], assigned),
            "data.csv": as_csv(["ID", "Title", "Status", "Review", "# Reviews"], listed),
            "scores.csv": as_csv(head, scores),
            "allprefs.csv": as_csv(named, preferences),
            "pcconflicts.csv": as_csv(barring, conflicts),
        }

    def take(self, upload: bytes) -> None:
        """Apply all rows or none: each makes a primary review on the papers that its search finds."""
        before = dict(self.reviews)
        try:
            for row in rows_of(upload):
                paper, _, without = row["paper"].partition(" -re:")
                if (row["action"], row["reviewtype"]) != ("review", "primary"):
                    self.reviews = {pair: score for pair, score in self.reviews.items() if pair[1] != paper}
                if (without, paper) not in self.reviews:
                    self.add(row["email"], paper)
        except ValueError:
            self.reviews = before
            raise


class OpenReview(Conference):
    venue = "V.cc/2026/Conference"

    def profile(self, who: str) -> str:
        return f"~Reviewer_{PEOPLE.index(who) + 1}"

    def files(self) -> Mapping[str, bytes]:
        def edge(name: str, who: str, paper: str, weight: float) -> dict[str, Any]:
            invitation = f"{self.venue}/Reviewers/-/{name}"
            return {"invitation": invitation, "head": f"forum{paper}", "tail": self.profile(who), "weight": weight}

        notes = [
            {
                "id": f"r{number}",
                "forum": f"forum{paper}",
                "signatures": [f"{self.venue}/Submission{paper}/Reviewer_{number:04}"],
                "invitations": [f"{self.venue}/Submission{paper}/-/Official_Review"],
                "content": {"rating": {"value": f"{score}: so"}, "confidence": {"value": "3: sure"}},
            }
            for number, ((who, paper), score) in enumerate(self.written.items())
        ]
        groups = [
            {"id": note["signatures"][0], "members": [self.profile(who)]}
            for note, (who, _) in zip(notes, self.written, strict=True)
        ]
        return {
            "assignments.json": as_json([edge("Assignment", who, paper, 1) for who, paper in self.reviews]),
            "conflicts.json": as_json([edge("Conflict", who, paper, -1) for who, paper in barred()]),
            "reviews.json": as_json({"notes": notes}),
            "groups.json": as_json({"groups": groups}),
        }

    def take(self, upload: bytes) -> None:
        people = {self.profile(who): who for who in PEOPLE}
        for edge in json.loads(upload):
            if edge["invitation"] != f"{self.venue}/Reviewers/-/Assignment" or "label" in edge:
                message = f"refused: {edge}"
                raise ValueError(message)
            self.add(people[edge["tail"]], edge["head"].removeprefix("forum"))


class CMT(Conference):
    def files(self) -> Mapping[str, bytes]:
        question = "Q10 (Please provide an overall score for this submission.\n"
        head = ["Paper ID", "Paper Title", "Reviewer Name", "Reviewer Email", f"{question})", f"{question} - Value)"]
        sure = ["Q11 (How sure are you?)", "Q11 (How sure are you? - Value)"]
        rows = [
            [int(paper), f"On {paper}", "A Name", who, "Good", score, "Sure", 3]
            for (who, paper), score in self.written.items()
        ]
        users = "".join(
            f'<submission submissionId="{paper}"><user email="{who}" /></submission>\n' for who, paper in self.reviews
        )
        conflicts = [[paper, who] for who, paper in barred()]
        return {
            "Reviews.xls": as_spreadsheet_xml({"Track": [["Track"], [], [*head, *sure], *rows]}),
            "Assignments.xml": f"<assignments>\n{users}</assignments>\n".encode(),
            "ReviewerConflicts.txt": as_csv(["# Paper ID", "Reviewer Email"], conflicts, "\t"),
        }

    def take(self, upload: bytes) -> None:
        for submission in ElementTree.fromstring(upload).iter("submission"):
            for user in submission.iter("user"):
                self.add(user.attrib["email"], submission.attrib["submissionId"])


class EasyChair(Conference):
    """A system without an import: the chair enters the rows, and the download knows of them once they are written."""

    def files(self) -> Mapping[str, bytes]:
        numbers = {who: number for number, who in enumerate(PEOPLE, 1)}
        end = ["Fine", "Overall: 1"]
        tables = {
            "review.csv": [
                [number, paper, numbers[who], "A Name", 1, 1, *end, score, *[""] * 4, "2026-01-01", "", "no"]
                for number, ((who, paper), score) in enumerate(self.written.items(), 1)
            ],
            "committee.csv": [[number, number, "A", "Name", who, "", "X", "", ""] for who, number in numbers.items()],
            "submission.csv": [[paper, f"On {paper}", *[""] * 9, "no"] for paper in PAPERS],
            "author.csv": [[paper, "A", "Name", who, "", "X", "", numbers[who], "no"] for who, paper in barred()],
        }
        download = {name: as_csv(EASYCHAIR[name].split(","), rows) for name, rows in tables.items()}
        return {"data.zip": as_zip(download)}


class START(Conference):
    def files(self) -> Mapping[str, bytes]:
        lines = (":".join([paper, *(who for who, of in self.reviews if of == paper)]) for paper in PAPERS)
        matrix = [[paper, *(4 if (who, paper) in barred() else 1 for who in PEOPLE)] for paper in PAPERS]
        return {"assignments.txt": ("\n".join(lines) + "\n").encode(), "bids.csv": as_csv(["", *PEOPLE], matrix)}

    def take(self, upload: bytes) -> None:
        for line in upload.decode().splitlines():
            paper, *users = line.split(":")
            for who in users:
                self.add(who, paper)


class Pretalx(Conference):
    """Proposals and people have codes; the teams say whose address is whose, and those who speak do not review."""

    code: ClassVar[dict[str, str]] = {
        name: "TALK" + "".join(chr(ord("A") + part) for part in divmod(number, 8))
        for number, name in enumerate([*PAPERS, *PEOPLE])
    }

    def files(self) -> Mapping[str, bytes]:
        speakers = {
            paper: [{"code": "SPEAKER", "email": who} for who, of in self.conflicts if of == paper] for paper in PAPERS
        }
        assigned = {paper: [self.code[who] for who, of in self.reviews if of == paper] for paper in PAPERS}
        proposals = [
            {"code": self.code[paper], "title": f"On {paper}", "state": "submitted"}
            | {"speakers": speakers[paper], "assigned_reviewers": assigned[paper]}
            for paper in PAPERS
        ]
        gone = {"code": "G9N3X7", "title": "Gone", "state": "withdrawn", "speakers": [], "assigned_reviewers": []}
        reviews = [
            {"submission": self.code[paper], "score": f"{score}.00", "scores": [], "user": self.code[who]}
            for (who, paper), score in self.written.items()
        ]
        members = [{"code": self.code[who], "name": "A Name", "email": who} for who in PEOPLE]
        found = {
            "submissions.json": [*proposals, gone],
            "teams.json": [{"members": members, "is_reviewer": True}],
            "reviews.json": reviews,
        }
        return {
            name: as_json({"count": len(results), "next": None, "previous": None, "results": results})
            for name, results in found.items()
        }

    def take(self, upload: bytes) -> None:
        """Assign proposals to reviewers, all or none; who is known goes by code or by address."""
        papers = {code: paper for paper, code in self.code.items() if paper in PAPERS}
        people = {code: who for who, code in self.code.items() if who in PEOPLE} | {who: who for who in PEOPLE}
        pairs = [(people[who], papers[code]) for who, codes in json.loads(upload).items() for code in codes]
        for who, paper in pairs:
            self.add(who, paper)


class Spreadsheet(Conference):
    """A table that the chair keeps; rows of the plan are put below its own."""

    def files(self) -> Mapping[str, bytes]:
        rows = [[int(paper), who, score] for (who, paper), score in self.reviews.items()]
        conflicts = [[int(paper), who] for who, paper in barred()]
        head = ["Paper", "E-mail", "Rating"]
        return {
            "reviews.xlsx": as_xlsx({"Notes": [["Do not edit"]], "Reviews": [["The reviews"], [], head, *rows]}),
            "reviews.csv": as_csv(head, [["" if cell is None else cell for cell in row] for row in rows]),
            "conflicts.csv": as_csv(["Paper", "E-mail"], conflicts),
        }


class GraderColumns(Spreadsheet):
    """One row a paper and a column for each grader, without what is planned; the plan is a table beside it."""

    def files(self) -> Mapping[str, bytes]:
        rows = [[int(paper), *(self.written.get((who, paper)) for who in PEOPLE), 5] for paper in PAPERS]
        book = {"Course": [["Course 101"], [], ["Student ID", *PEOPLE, "Final"], *rows]}
        return {"gradebook.xlsx": as_xlsx(book), "conflicts.csv": super().files()["conflicts.csv"]}


#: The student whose work each paper is; the first ones assess works, too, though not yet their own.
WORKS = {paper: f"s{number:02}@example.org" for number, paper in enumerate(PAPERS, len(PEOPLE) + 1)}
for _who in PEOPLE:
    _free = (paper for paper in PAPERS if (_who, paper) not in drawn(scored=False) and WORKS[paper] not in PEOPLE)
    WORKS[next(_free)] = _who


class Workshop(Conference):
    """A workshop, where the instructor enters what is allocated; nobody assesses the own work."""

    conflicts: ClassVar[list[Pair]] = [(who, paper) for paper, who in WORKS.items() if who in PEOPLE]

    def files(self) -> Mapping[str, bytes]:
        rows = [[WORKS[paper], who, score, ""] for (who, paper), score in self.reviews.items()]
        return {"workshop.csv": as_csv(["assessee", "grader", "grade", "remark"], rows)}

    def take(self, upload: bytes) -> None:
        papers = {who: paper for paper, who in WORKS.items()}
        for row in rows_of(upload):
            self.add(row["reviewer"], papers[row["item"]])


class Gradebook(Conference):
    """A sheet with one row a student, in which the instructor enters a grader; the grade comes later."""

    def files(self) -> Mapping[str, bytes]:
        graders = {paper: [who for who, of in self.reviews if of == paper] for paper in PAPERS}
        most = max(map(len, graders.values()))
        head = ["Student", *(f"{what} {number}" for number in range(1, most + 1) for what in ("Grader", "Grade"))]
        rows = [
            [paper, *(cell for who in graders[paper] for cell in (who, self.reviews[who, paper]))] for paper in PAPERS
        ]
        padded = [[*row, *[None] * (len(head) - len(row))] for row in rows]
        return {
            "gradebook.xlsx": as_xlsx({"Grades": [head, *padded]}),
            "conflicts.csv": as_csv(["Student", "Grader"], [[paper, who] for who, paper in barred()]),
        }


class Form(Gradebook):
    """Answers to a form, which know of a review once it is written; who is asked gets a letter."""

    def files(self) -> Mapping[str, bytes]:
        questions = ["Timestamp", "Email Address", "Which paper do you review?", "Your overall score", "Remarks"]
        rows = [["2026/05/01 10:00:00", who, paper, score, "So,\nso"] for (who, paper), score in self.written.items()]
        conflicts = as_csv(["Paper", "E-mail"], [[paper, who] for who, paper in barred()])
        return {"answers.csv": as_csv(questions, rows), "conflicts.csv": conflicts}

"""Tables as people have them, with a known truth, and what the product makes of each.

Each kind is a generator of variants whose docstring lists its words, separated by bars: it is called once for each. A
variant has files, the same cells for a data frame and rows where they are one plain table, and the truth: who reviews
what, with which score. Where it has no matter it is clean: nothing is to be asked or noted. ``python -m
tests.audit_tables --show`` judges all, and prints what is wrong.
"""

import argparse
import io
import json
import re
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import openpyxl

from tests.audit_judge import BAD, OUTCOMES, Grid, Pairs, Variant, disagreement, judged, ways

Variants: TypeAlias = Iterator[Variant]
GRADEBOOK = {"format": "gradebook"}
#: Words of notes on labels that number the reviews of a paper, and on labels that may be the same.
SEATS = "position|(each|every|all|one) papers?|same person|one person|sequence"
ALIKE = "differ|alike|resembl|same|date"

PEOPLE = re.findall(
    r"\w+ \w+",
    "Ann Lee, Bo Sun, Chloé Roux, Dario Conti, Eva Groß, Femi Ade, Goran Ilić, Hana Sato, Ivo Novák, Jana Öz, Kofi "
    "Boa, Lena Vogt, Mateo Ruiz, Nia Okoro, Olga Petrova, Pia Holm, Qi Wang, Ravi Rao",
)
PAPERS = [f"P{number}" for number in range(101, 117)]
ENGLISH = ("reviewer", "paper", "score")
#: Names that no reader knows: they are named by option, so that only the kind is judged.
FOREIGN = re.findall(
    r"\S+",
    "Gutachterin,Beitrag,Punkte évaluateur,dossier,évaluation revisor,ponencia,puntaje valutatore,progetto,voto "
    "avaliador,trabalho,nota 评审人,论文,分数 審査員,作品,点数 рецензент,доклад,балл beoordelaar,voorstel,punten",
)
USUAL = (ENGLISH, ("Judge", "Entry", "Points"), ("rater_id", "item_id", "rating"))
NAMES = (*USUAL, *(names.split(",") for names in FOREIGN))


@dataclass(frozen=True)
class Draw:
    """What the variants of one word are made with."""

    rng: np.random.Generator
    number: int
    word: str

    @property
    def names(self) -> Sequence[str]:
        """The names of the three columns, in one of the languages."""
        return NAMES[self.number % len(NAMES)]

    @property
    def usual(self) -> Sequence[str]:
        """The names of the three columns, as readers know them."""
        return USUAL[self.number % len(USUAL)]

    def panels(
        self,
        people: Sequence[str] = PEOPLE[:8],
        papers: Sequence[str] = PAPERS,
        pieces: int = 2,
        per_paper: int = 3,
        scale: tuple[float, float] = (1, 9),
        *,
        scored: bool = True,
    ) -> Pairs:
        """Return reviews by panels that share nobody; scores are whole numbers of a scale."""
        severity = dict(zip(people, self.rng.normal(0, 0.7, len(people)), strict=True))
        low, high = scale
        pairs: Pairs = {}
        for place, paper in enumerate(papers):
            panel = people[place % pieces :: pieces]
            quality = self.rng.normal(0, 1)
            for seat in sorted({(place // pieces + step) % len(panel) for step in range(per_paper)}):
                share = 0.5 + 0.17 * (quality + severity[panel[seat]] + self.rng.normal(0, 0.5))
                score = float(np.clip(round(low + share * (high - low)), low, high))
                pairs[panel[seat], paper] = score if scored else None
        return pairs

    def others(self, truth: Pairs, step: int) -> Pairs:
        """Return a pair that is no review for each paper, or each second or third."""
        people = list(dict.fromkeys(who for who, _ in truth)) * 2
        papers = list(by_paper(truth))[::step]
        order = [people[place % 8 : place % 8 + len(people) // 2] for place in range(len(papers))]
        pairs = [[(who, paper) for who in order[place]] for place, paper in enumerate(papers)]
        return {next(pair for pair in choices if pair not in truth): None for choices in pairs}

    def files(self, files: Mapping[str, bytes], truth: Pairs, matter: str = "", **more: Any) -> Variant:
        """Return a variant of files."""
        name = " ".join(map(repr, filter(None, (self.word, more.get("options")))))
        return Variant(name, files, truth, matter, **{"options": {}, **more})

    def table(self, grid: Grid, truth: Pairs, matter: str = "", **more: Any) -> Variant:
        """Return the variant of one table with a row per review, whose columns are named where readers do not."""
        content = more.pop("content", None) or delimited(grid)
        file = more.pop("file", "table.csv")
        options = more.pop("options", {})
        if ",".join(self.names) in FOREIGN and set(self.names[:2]) <= set(grid[0]):
            roles = zip(("reviewer", "item", "score"), self.names, strict=True)
            options = {"columns": {role: name for role, name in roles if name in grid[0]}}
        cells = None if more.pop("only_file", False) else grid
        return self.files({file: content}, truth, matter, options=options, grid=cells, **more)

    def wide(self, cells: Grid | Pairs, truth: Pairs, matter: str = "", **more: Any) -> Variant:
        """Return the variant of a table with a column per reviewer, read as a gradebook."""
        grid = wide(cells, ("Student", "Entry", "paper")[self.number % 3]) if isinstance(cells, dict) else cells
        return self.table(grid, truth, matter, options=GRADEBOOK, has_reviewers_as_columns=True, **more)

    def conflicts(self, grid: Grid, truth: Pairs, matter: str) -> Variant:
        """Return the variant of a file of conflicts."""
        return self.files({"conflicts.csv": delimited(grid)}, truth, matter, are_conflicts=True)

    def both(self, truth: Pairs, every: int = 1, first: int = 0) -> Variants:
        """Yield a clean table with a row per review, and of some words one with a column per reviewer."""
        yield self.table(long(truth, self.usual), truth)
        if self.number % every == first:
            yield self.wide(truth, truth)

    def two_files(self, first: Pairs, second: Pairs, truth: Pairs, matter: str = "") -> Variant:
        """Return the variant of two tables, the first of assignments where both have all reviews."""
        planned = dict.fromkeys(first) if len(first) == len(truth) else first
        files = {"first.csv": delimited(long(planned)), "second.csv": delimited(long(second))}
        return self.files(files, truth, matter)


KINDS: dict[str, Callable[[Draw, str], Variants]] = {}


def kind(function: Callable[[Draw, str], Variants]) -> Callable[[Draw, str], Variants]:
    """Register a kind under the name of its function."""
    KINDS[function.__name__.replace("_", " ")] = function
    return function


def variants(name: str, seed: int = 0) -> Variants:
    """Yield the variants of a kind."""
    words = re.sub(r"\n +(?=[|/])", "", KINDS[name].__doc__ or "")
    for number, word in enumerate(words.split("#" if "#, #" in words else "|")):
        yield from KINDS[name](Draw(np.random.default_rng([seed, number, *map(ord, name)]), number, word), word)


# Tables of a truth.


def text(score: float | None) -> str:
    """Return a score as a cell."""
    return "" if score is None else f"{score:g}"


def long(pairs: Pairs, names: Sequence[str] = ENGLISH, *more: Mapping[tuple[str, str], str]) -> Grid:
    """Return a table with a row per review; ``more`` are cells of the columns after the first three names."""
    has_score = any(score is not None for score in pairs.values())
    header = [*names[: 3 if has_score else 2], *names[3:]]
    rows = [[*pair, *[text(score)][:has_score], *(cells[pair] for cells in more)] for pair, score in pairs.items()]
    return [header, *rows]


def wide(pairs: Pairs, corner: str = "Student") -> Grid:
    """Return a table with a row per paper and a column per reviewer."""
    people = dict.fromkeys(reviewer for reviewer, _ in pairs)
    papers = dict.fromkeys(paper for _, paper in pairs)
    return [[corner, *people], *([paper, *(text(pairs.get((who, paper))) for who in people)] for paper in papers)]


def respelled(grid: Grid, spell: Callable[[float], str]) -> Grid:
    """Return a table with a row per review whose scores are spelled otherwise."""
    return [grid[0], *([*row[:2], spell(float(row[2])) if row[2] else "", *row[3:]] for row in grid[1:])]


def by_paper(pairs: Pairs) -> dict[str, list[float]]:
    """Return the scores of each paper."""
    papers: dict[str, list[float]] = {}
    for (_, paper), score in pairs.items():
        papers.setdefault(paper, []).append(score or 0)
    return papers


#: Values by words of their names, the first that fits; means by default.
SUMMARIES: dict[str, Callable[[Sequence[float]], float]] = {
    "possible|out of|maximale|满分": lambda scores: 10,
    "max|massimo": max,
    "min": min,
    "total|summe|合計|gesamt|итого": sum,
    "median": lambda scores: float(np.median(scores)),
    r"^sd|std|écart|variance|range": lambda scores: float(np.std(scores)),
    "chair|panel|consensus|^ac$": lambda scores: round(np.mean(scores)),
    "# reviews": len,
}


def summary(label: str, scores: Sequence[float]) -> float:
    """Return the value of a summary of some scores."""
    fitting = [value for words, value in SUMMARIES.items() if re.search(words, label, re.IGNORECASE)]
    return round(float((fitting or [np.mean])[0](scores)), 2)


def numbered(spelling: str, k: int) -> str:
    """Return the k-th label of a spelling, from 1 on."""
    words = {"w": ("first", "second", "third")[(k - 1) % 3], "i": "I" * k, "a": chr(64 + k), "s": k % 3 + 1}
    words |= {"excel": f" {k}" if k > 1 else "", "pandas": f".{k - 1}" if k > 1 else ""}
    words |= {"z": f"{k:02}", "t": f"{k:03}", "h": f"{k * 7919:06x}", "title": ("Why; how", "On a, b", "A — B")[k % 3]}
    return spelling.format(k=k, u=f"00000000-0000-4000-ab54-{k * 104729:012x}", **words)


def person(spelling: str, name: str) -> str:
    """Return the label of a person."""
    first, last = name.split()
    letters = unicodedata.normalize("NFKD", name.replace("\xdf", "ss"))
    ascii_name = letters.encode("ascii", "ignore").decode()
    words = {"name": name, "first": first, "last": last, "mail": f"{name[:2].lower()}@example.org", "ascii": ascii_name}
    return spelling.format(nfd=unicodedata.normalize("NFD", name), code=1000 + PEOPLE.index(name), **words)


def quoted(word: str) -> str:
    """Return the pattern of a note that names a label or a column."""
    return rf"['\"]{re.escape(word)}['\"]"


def delimited(grid: Grid, mark: str = ",", encoding: str = "utf-8", end: str = "\n") -> bytes:
    """Return a table as text, quoted where needed."""
    odd = re.compile(f'["\n{re.escape(mark)}]')
    rows = [mark.join('"' + c.replace('"', '""') + '"' if odd.search(c) else c for c in row) for row in grid]
    return end.join([*rows, ""]).encode(encoding)


def book(sheets: Mapping[str, Grid], change: Callable[[Any], object] = lambda workbook: None) -> bytes:
    """Return a workbook whose numbers are numbers; ``change`` is called with it before it is saved."""
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for name, grid in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in grid:
            sheet.append([float(cell) if re.fullmatch(r"-?\d+(\.\d+)?", cell) else cell or None for cell in row])
    change(workbook)
    stream = io.BytesIO()
    workbook.save(stream)
    return stream.getvalue()


# Reviewers who are not persons.


@kind
def positional_reviewers(draw: Draw, spelling: str) -> Variants:
    """Reviewer {k}|Reviewer #{k}|R{k}|{a}|{k}|Judge {k}|Gutachter {k}|Relecteur n° {k}|评审{k}|Revisor {i}|{w}
    |rater_{z}|AnonReviewer{k}|審査員{k}|Evaluador {a}|Score {k}"""
    truth = draw.panels(PEOPLE[:14])
    shown: Pairs = {}
    for who, paper in truth:
        seat = 1 + sum(item == paper for _, item in shown)
        if draw.number % 2 == 0 or seat <= 2 + int(paper[1:]) % 2:  # all papers have 1 to k, or each as many as it has
            shown[numbered(spelling, seat), paper] = truth[who, paper]
    yield draw.table(long(shown, draw.names), truth, rf"{quoted(numbered(spelling, 1))}|{SEATS}")
    if draw.number % 3 == 0:
        yield draw.wide(shown, truth, SEATS)


@kind
def placeholders(draw: Draw, word: str) -> Variants:
    """TBD|tba|n.n.|N. N.|?|???|unknown|Anonymous|unassigned|-|n/a|(none)|TBC|noch offen|unbekannt|à déterminer|anonyme
    |por definir|desconocido|da definire|a definir|待定|未定|не назначен|onbekend|to be assigned|Reviewer needed|XXX"""
    truth = draw.panels(per_paper=2, scored=draw.number % 2 == 0)
    shown = {**truth, **{(word, paper): None for paper in list(by_paper(truth))[:: 1 + draw.number % 3]}}
    yield draw.table(long(shown, draw.names), truth, rf"{quoted(word)}|nobody|no reviewer|placeholder")


@kind
def several_in_a_cell(draw: Draw, mark: str) -> Variants:
    """; #, #, # / # & # and # und #\n# | # + # et # y #、#;"""
    people = [person("{mail}", name) for name in PEOPLE[:8]] if draw.number % 3 == 2 else PEOPLE[:8]
    truth = draw.panels(people, scored=False)
    rows = [[mark.join(who for who, item in truth if item == paper), paper] for paper in by_paper(truth)]
    yield draw.table([list(draw.usual[:2]), *rows], truth, "several|people|names|split|separate")


@kind
def mean_like_reviewers(draw: Draw, label: str) -> Variants:
    """Average|Mean|Durchschnitt|Moyenne|Promedio|平均|Media|Среднее|Chair|Panel|Consensus|AC|Max|Total|Summe|Median"""
    truth = draw.panels()
    shown = {**truth, **{(label, paper): summary(label, scores) for paper, scores in by_paper(truth).items()}}
    yield draw.table(long(shown, draw.names), truth, rf"{quoted(label)}|summary|average|mean|maximum|sum of|consensus")


@kind
def numbers_as_reviewers(draw: Draw, column: str) -> Variants:
    """Reviewer {k}|Judge {k}|Grader {k}|reviewer_{k}|Rater {k}"""
    truth = draw.panels(PEOPLE[:14])
    grid = [["paper", *(numbered(column, seat) for seat in (1, 2, 3))]]
    grid += [[paper, *map(text, scores)] for paper, scores in by_paper(truth).items()]
    yield draw.table(grid, truth, f"are numbers|hold scores|{SEATS}")


@kind
def numbered_columns_of_peers(draw: Draw, columns: str) -> Variants:
    """Grade {}, Peer {} ID|Score {}, Reviewer {} ID|Points {}, Peer {} ID|Punkte {}, Prüfer {}"""
    truth = draw.panels([str(5000 + 7 * n) for n in range(12)], [str(9000 + n) for n in range(16)])
    grid = [["Student Submission ID", *(name.format(k) for k in (1, 2, 3) for name in columns.split(", "))]]
    for paper in by_paper(truth):
        reviews = [(text(score), who) for (who, item), score in truth.items() if item == paper]
        grid.append([paper, *(cell for review in reviews for cell in review)])
    yield draw.table(grid, truth, "lacks one of the two", only_file=True)
    yield draw.table(grid, truth, "lacks one of the two", only_file=True, options=GRADEBOOK)


# Rows and columns that are no reviews.


@kind
def summary_rows(draw: Draw, label: str) -> Variants:
    """Points Possible|Out of|Max|Maximum|Mean|Average|Std dev|Total|Minimum|Median|Durchschnitt|Mittelwert|Summe
    |Moyenne|Maximale Punktzahl|Écart type|Total général|Promedio|Media|Massimo|Média|平均|合計|满分|Среднее|Gemiddelde
    |Overall average|Class average"""
    truth = draw.panels(pieces=1)
    by_person = by_paper({(paper, who): score for (who, paper), score in truth.items()})
    row = {(who, label): summary(label, scores) for who, scores in by_person.items()}
    yield draw.wide(row | truth if draw.number % 3 == 0 else truth | row, truth, rf"{quoted(label)}|summary")


@kind
def summary_columns(draw: Draw, label: str) -> Variants:
    """Average|Avg|Avg.|Mean score|Total|SD|Std. dev.|Rank|Median|Max|# reviews|Range|Weighted average|Final grade|Summe
    |Durchschnitt|Mittelwert|Rang|Moyenne|Classement|Promedio|Puesto|Media|合計|平均点|Итого|Gemiddelde|Consensus|Z"""
    truth = draw.panels(pieces=1)
    means = {paper: np.mean(scores) for paper, scores in by_paper(truth).items()}
    values = {paper: summary(label, scores) for paper, scores in by_paper(truth).items()}
    if re.match("Ran[kg]$|Classement|Puesto", label):
        values = {paper: float(1 + sum(mean > means[paper] for mean in means.values())) for paper in means}
    shown = truth | {(label, paper): value for paper, value in values.items()}
    yield draw.wide(shown, truth, rf"{quoted(label)}|summary|no reviewer")


@kind
def repeated_headers(draw: Draw, where: str) -> Variants:
    """in the middle|planned|twice|in capitals|at the end|planned twice|in the middle|planned"""
    truth = draw.panels(scored="planned" not in where)
    grid = long(truth, draw.names)
    again = [cell.upper() for cell in grid[0]] if "capitals" in where else grid[0]
    places = (13, 30) if "twice" in where else (len(grid),) if "end" in where else (13,)
    for place in places:
        grid.insert(place, again)
    yield draw.table(grid, truth, "header")


@kind
def status_columns(draw: Draw, words: str) -> Variants:
    """status,Accepted,Declined|Review status,Completed,Cancelled|state,submitted,draft|response,accept,no response
    |invitation,Confirmed,Withdrawn|Status,Done,Unsubmitted|Status,zugesagt,abgelehnt|statut,accepté,refusé|Declined,,x
    |estado,aceptada,rechazada|stato,accettato,rifiutato|situação,aceito,recusado|状态,已接受,已拒绝|状態,承諾,辞退
    |accepted,yes,no|withdrawn,0,1|submitted,1,0|cancelled,False,True|declined_at,,2026-02-03|active,1,0|Antwort,Ja,Nein
    |is_deleted,0,1|Recused,No,Yes|AssignmentStatus,Approved,Rejected|conflict,No,Yes|paper status,Active,Withdrawn"""
    name, there, gone = words.split(",")
    truth = draw.panels(per_paper=2, scored=draw.number % 2 == 0)
    away = draw.others(truth, 2)
    if draw.number % 4 == 2:  # declined, yet with a score
        away = {pair: float(draw.rng.integers(1, 9)) for pair in away}
    flags = {pair: gone if pair in away else there for pair in truth | away}
    yield draw.table(long(truth | away, [*ENGLISH, name], flags), truth, rf"{quoted(name)}|status|{quoted(gone)}")


@kind
def rows_that_are_no_reviews(draw: Draw, end: str) -> Variants:
    """,P900,|,,|Generated 2026-03-01,,|,,312|* external,,|Total: 48 reviews,,|,P900,5|Ann Lee,,7"""
    truth = draw.panels()
    yield draw.table([*long(truth, draw.names), end.split(",")], truth, "empty|left out|row")


# Values that are no scores, and scores that are spelled otherwise.


@kind
def numbers_for_no_score(draw: Draw, value: str) -> Variants:
    """99|-1|0|999|-9|-99|9999|-999|88|100|99|-1|0|0|999|-1|77|0|99"""
    # A few zeros, or zeros on a scale to 5, are scores as often as not.
    zeros = value == "0"
    truth = draw.panels(scale=(1, 5 if draw.number % 2 and not zeros else 9))
    truth |= dict.fromkeys(list(truth)[:: len(truth) // (20 if zeros else (1, 3, 8, 20)[draw.number % 4])])
    shown = {pair: float(value) if score is None else score for pair, score in truth.items()}
    yield draw.table(long(shown, draw.names), truth, rf"(?<![\d.]){value}(?![\d.])")
    if draw.number % 3 == 0:
        scored = {pair: score for pair, score in truth.items() if score is not None}
        yield draw.wide(shown, scored, rf"(?<![\d.]){value}(?![\d.])")


@kind
def signed_zeros(draw: Draw, levels: str) -> Variants:
    """-1,-0,+0,+1|\u22121,\u22120,+0,+1|-1: reject,-0: weak,+0: fair,+1: good|-2,-0,+0,+2|-1,-0.0,0.0,1"""
    truth = draw.panels(scale=(0, 3))
    shown = respelled(long(truth, draw.names), lambda score: levels.split(",")[int(score)])
    yield draw.table(shown, truth, "zero|-0|\u22120", affine=True, only_file=True)


@kind
def words_for_no_score(draw: Draw, word: str) -> Variants:
    """-|abstain|COI|conflict|recused|#N/A|no show|DNF|absent|x|N/A|NA|#DIV/0!|TBD|Enthaltung|befangen|nicht erschienen
    |k. A.|abstención|conflit d'intérêts|s/o|assente|棄権|未评分|нет|not scored|did not review|?|—|...|pending|nan|NULL
    |excused"""
    truth = draw.panels(pieces=1 + draw.number % 2)
    absent = draw.others(truth, 1 + draw.number % 3)
    matter = rf"{quoted(word)}|no score|no review|read as missing"
    rows = long(truth | absent, draw.usual)
    yield draw.table([[*row[:2], row[2] or word] for row in rows], truth, matter)
    if draw.number % 2 == 0:
        grid = wide(truth, "Entry")
        cells = [list(zip(grid[0], row, strict=True)) for row in grid]
        shown = [[word if (who, row[0][1]) in absent else cell for who, cell in row] for row in cells]
        yield draw.wide(shown, truth, matter)


@kind
def other_signs_and_digits(draw: Draw, sign: str) -> Variants:
    """\u2212|\u2013|full width|Arabic|decimal comma|no-break|1,700|1.700|1\xa0700|1'700"""
    truth = draw.panels(scale=(-3, 3) if draw.number < 2 else (300, 2600) if draw.number > 5 else (1, 9))
    zero = {"full width": 0xFF10, "Arabic": 0x660}.get(sign, ord("0"))
    spell: dict[int, Callable[[float], str]] = {
        0: lambda score: text(score).replace("-", sign),
        1: lambda score: text(score).translate({48 + n: zero + n for n in range(10)}),
        2: lambda score: f"{score:.1f}".replace(".", ",") if sign == "decimal comma" else f"\xa0{score:g}\xa0",
        3: lambda score: f"{score:,.0f}".replace(",", sign[1]),
    }
    shown = respelled(long(truth, draw.usual), spell[min(draw.number // 2, 3)])
    yield draw.table(shown, truth, "thousand|group|digits|minus|comma", content=delimited(shown, ";"))


@kind
def fractions(draw: Draw, spelling: str) -> Variants:
    """{}/10|{} / 10|{} out of 10|{} von 10|{}0%|{}0 %|{} sur 10|{} pts|{}点|{}/10 (good)|{}★"""
    truth = draw.panels()
    shown = respelled(long(truth, draw.usual), lambda score: spelling.format(text(score)))
    yield draw.table(shown, truth, "%|fraction|out of|unit", affine=True)


@kind
def several_units(draw: Draw, column: str) -> Variants:
    """out of|Max points|max_score|Points possible|von maximal|sur|Maximum||by paper"""
    share = {pair: 0.3 + (score or 0) / 15 for pair, score in draw.panels(pieces=1 + draw.number % 2).items()}
    sizes = dict(zip(PEOPLE[:8], (5, 100, 10, 20, 10, 100, 4, 10) if column else (5, 100) * 4, strict=True))
    most = {pair: (5, 100)[int(pair[1][1:]) % 2] if column == "by paper" else sizes[pair[0]] for pair in share}
    told = [] if column in ("", "by paper") else [{pair: str(size) for pair, size in most.items()}]
    grid = long({pair: score * most[pair] for pair, score in share.items()}, [*ENGLISH, *[column][: len(told)]], *told)
    yield draw.table(grid, share, f"{quoted(column or '-')}|range|overlap|unit|scales", affine=True)


# Labels.


@kind
def papers_across_files(draw: Draw, spellings: str) -> Variants:
    """{t},{k}|{k}.0,{k}|P-{k},P_{k}|P{k},P-{k}|#{k},{k}|Paper {k},{k}|\u0420{k},P{k}|p{k},P{k}|2026-01-{z},1-{k}
    |{k}.,{k}|{z}-Jan,1-{k}|Dog\u2019s life {k},Dog's life {k}|P{k} ,P{k}|P0{k},P{k}|P\xa0{k},P {k}"""
    truth = draw.panels(papers=[str(n) for n in range(1, 17)])
    parts = ({(who, numbered(s, int(paper))): truth[who, paper] for who, paper in truth} for s in spellings.split(","))
    yield draw.two_files(*parts, truth, ALIKE)


@kind
def people_across_files(draw: Draw, spellings: str) -> Variants:
    """{name} <{mail}>;{mail}|{last}, {first};{name}|{ascii};{name}|{nfd};{name}|{name} ;{name}|Dr. {name};{name}"""
    truth = draw.panels()
    parts = ({(person(s, who), paper): truth[who, paper] for who, paper in truth} for s in spellings.split(";"))
    yield draw.two_files(*parts, truth, ALIKE)


@kind
def exchanged_columns(draw: Draw, spelling: str) -> Variants:
    """{mail}|{name} <{mail}>|https://orcid.org/0000-0002-1825-{code}|{mail}.de|0000-0001-5109-{code}"""
    pairs = draw.panels(PEOPLE[:6], scored=draw.number != 3)
    truth = {(person(spelling, who), paper): score for (who, paper), score in pairs.items()}
    shown = {(paper, who): score for (who, paper), score in truth.items()}
    yield draw.table(long(shown, draw.usual), truth, "exchange|address")


@kind
def ids_of_rows(draw: Draw, words: str) -> Variants:
    """{u},question|{k},talk|R-{t},prompt|rec{h},text|2026-03-01T10:{z}:00,question|ann_{k},response|9{t},topic"""
    spelling, column = words.split(",")
    truth = draw.panels(papers=[f"What about {topic}?" for topic in "abcdefghijklmnop"])
    grid = long(truth, ("judge", column, "score"))
    shown = [[numbered(spelling, place) if place else "id", *row] for place, row in enumerate(grid)]
    yield draw.table(shown, truth, r"'id'|every row")


# Conflicts of interest: a lost one is worse than a wrong score.


@kind
def conflict_flags(draw: Draw, words: str) -> Variants:
    """conflict,No,Yes|conflict,0,1|COI,false,true|conflict,Nein,Ja|Befangen,nein,ja|conflit,non,oui|conflicto,no,sí
    |利益冲突,否,是|declared,No,Yes|conflict,none,co-author|conflict,,x|Conflict of interest?,N,Y|recused,no,yes"""
    name, free, barred = words.split(",")
    shown = draw.panels(scored=False)
    flags = {pair: barred if place % 4 == 0 else free for place, pair in enumerate(shown)}
    truth = dict.fromkeys(pair for pair in shown if flags[pair] == barred)
    yield draw.conflicts(long(shown, [*ENGLISH, name], flags), truth, quoted(name))


@kind
def conflicts_in_a_cell(draw: Draw, mark: str) -> Variants:
    """; #, #, # and # / #\n# | # & #;"""
    people = [person("{mail}", name) for name in PEOPLE[:8]] if draw.number % 3 == 1 else PEOPLE[:8]
    truth = draw.panels(people, per_paper=2, scored=False)
    rows = [[mark.join(who for who, item in truth if item == paper), paper] for paper in by_paper(truth)]
    yield draw.conflicts([["reviewer", "paper"], *rows], truth, "several|names|split|separate")


@kind
def conflict_matrices(draw: Draw, words: str) -> Variants:
    """,X|0,1|no,yes|ok,conflict|-,COI|FALSE,TRUE|nein,ja|,C"""
    truth = draw.panels(per_paper=1, pieces=8, scored=False)
    grid = wide(dict.fromkeys(truth, 1.0), "paper")
    cells = [[row[0], *(words.split(",")[cell == "1"] for cell in row[1:])] for row in grid[1:]]
    yield draw.conflicts([grid[0], *cells], truth, "matrix|columns? of")


# What is proposed must not harm.


@kind
def ranks(draw: Draw, name: str) -> Variants:
    """rank|place|position|Ranking|impact score|Rang|Platz|classement|puesto|順位"""
    truth = draw.panels()
    grid = long({pair: 10 - (score or 0) for pair, score in truth.items()}, (*ENGLISH[:2], name))
    yield draw.table(grid, truth, "lower|direction|1 is", affine=True, options={"score": name})


@kind
def words_as_grades(draw: Draw, grades: str) -> Variants:
    """No,Yes|FALSE,TRUE|reject,accept|weak,strong|Nein,Ja|C,B,A|poor,fair,good,excellent|low,medium,high|non,oui
    |fail,pass|差,中,优|reject,weak reject,weak accept,accept|B,A,A*|ungenügend,gut,sehr gut|disagree,neutral,agree"""
    levels = grades.split(",")
    truth = draw.panels(scale=(0, len(levels) - 1))
    yield draw.table(respelled(long(truth), lambda score: levels[int(score)]), truth, "scale", affine=True)


@kind
def versions(draw: Draw, words: str) -> Variants:
    """version,1,2|date,2026-01-05,2026-02-20|round,R1,R2|Runde,1,2|revision,0,1|Fassung,alt,neu|stage,preliminary,final
    |submitted at,2026-01-05T10:00,2026-01-07T09:00"""
    column, old, new = words.split(",")
    truth = draw.panels()
    rows = [[*pair, text(score), new] for pair, score in truth.items()]
    rows += [[*pair, str(draw.rng.integers(1, 9)), old] for pair in truth]
    yield draw.table([[*ENGLISH, column], *(rows[::-1] if draw.number % 3 == 2 else rows)], truth, quoted(column))


@kind
def traits(draw: Draw, words: str) -> Variants:
    """Trait,clarity,depth|criterion,novelty,rigour,style|Kriterium,Inhalt,Form|aspect,a,b|dimension,D1,D2
    |question,1,2,3|critère,fond,forme|评分项,创新,质量|rubric,idea,craft"""
    column, *names = words.split(",")
    parts = {pair: draw.rng.integers(1, 9, len(names)).tolist() for pair in draw.panels()}
    truth: Pairs = {pair: float(np.mean(values)) for pair, values in parts.items()}
    rows = [[*pair, str(values[place]), name] for pair, values in parts.items() for place, name in enumerate(names)]
    yield draw.table([[*ENGLISH, column], *rows], truth, rf"{quoted(column)}|criteri")


@kind
def pairwise(draw: Draw, header: str) -> Variants:
    """judge,winner,loser|judge,model_a,model_b,winner|annotator,left,right,preferred|rater,item 1,item 2,choice"""
    names = header.split(",")
    rows = [[PEOPLE[n % 5], f"m{n % 7}", f"m{(n + 1 + n % 3) % 7}", f"m{n % 7}"][: len(names)] for n in range(30)]
    yield draw.table([names, *rows], {(f"{n}", f"{n}"): None for n in range(30)}, "pair|compar|twice")


# Forms of files.


@kind
def answers_in_a_grid(draw: Draw, question: str) -> Variants:
    """{}|Rate each project [{}]|{} - Impact|Wie gut ist [{}]?|Notez {}|Score for {}|{}の評価|Rating: {}"""
    truth = draw.panels(papers=[f"Team {n}" for n in range(1, 13)])
    who = ("Judge", "Email Address", "Your name", "Reviewer")[draw.number % 4]
    header, *rows = map(list, zip(*wide(truth, who), strict=True))
    grid = [[header[0], *map(question.format, header[1:])], *rows]
    stamps = ["Timestamp", *["2026-03-01 10:00"] * len(rows)]
    shown = [[stamp, *row] for stamp, row in zip(stamps, grid, strict=True)] if draw.number % 2 else grid
    yield draw.table(shown, truth, "each project|columns? of", only_file=True)
    yield draw.table(shown, truth, "each project|columns? of", only_file=True, options=GRADEBOOK)


@kind
def workbooks(draw: Draw, form: str) -> Variants:
    """sheets|merged|filled down|hidden|percent|sheets|merged|hidden|two headers|dates"""
    truth = draw.panels()
    who, what, score = draw.usual
    rows = [[row[1], row[0], row[2]] for row in long(truth)[1:]]
    sheets: dict[str, Grid] = {"S": [[what, who, score], *rows]}
    hidden = range(2, len(truth) + 2, 4 + draw.number)
    if form == "sheets":
        sheets = {name: [[what, score], *([row[0], row[2]] for row in rows if row[1] == name)] for name in PEOPLE[:8]}
    elif form in ("merged", "filled down"):
        sheets["S"][1:] = [[row[0] if place % 3 == 0 else "", *row[1:]] for place, row in enumerate(rows)]
    elif form == "hidden":
        truth = {pair: value for place, (pair, value) in enumerate(truth.items(), 2) if place not in hidden}
    elif form == "two headers":
        sheets["S"].insert(0, ["Review", "", "Result"])
    elif form == "percent":
        sheets["S"] = respelled(sheets["S"], lambda value: text(value / 10 if value in (7, 4) else value))

    def change(workbook: Any) -> None:
        sheet = workbook.worksheets[0]
        for place in range(2, len(rows) + 2):
            sheet.row_dimensions[place].hidden = form == "hidden" and place in hidden
            if form == "merged" and place % 3 == 2:
                sheet.merge_cells(start_row=place, end_row=place + 2, start_column=1, end_column=1)
            if form == "percent" and sheet.cell(place, 3).value < 1:
                sheet.cell(place, 3).number_format = "0%"
            if form == "dates":
                sheet.cell(place, 1).value = datetime(2026, 1, int(sheet.cell(place, 1).value[1:]) - 100)

    matter = {"sheets": "sheet", "hidden": "hidden", "percent": "%|percent"}.get(form, "merged|empty|header|date")
    yield draw.files({"book.xlsx": book(sheets, change)}, truth, matter)


@kind
def texts_of_spreadsheets(draw: Draw, form: str) -> Variants:
    """sep=;\n{table}|sep=,\r\n{table}|Exported by tool 2026\n\n{table}|Jury 2026,,\n,,\n{table}
    |Stand: 3. März\n\n{table}|# exported 2026-03-01\n# by tool\n{table}|Who,What,Result\n{table}
    |Judges\nJudge,Email\nAnn,a@x.org\n\nScores\n{table}|{table}\nLegend:\n1 = bad\n9 = good\n|{header},,\n{rows}
    |{header}\n,,\n{rows}\n,,\n|{header}\n,,(1-9)\n{rows}
    |{header}\n"{{""ImportId"":""Q1""}}","{{""ImportId"":""Q2""}}","{{""ImportId"":""Q3""}}"\n{rows}
    |{header}\nWho are you?,Which paper?,How good?\n{rows}|\n\n{table}|{table},,\n,,\n"""
    truth = draw.panels()
    table = delimited(long(truth, draw.usual), ";" if draw.number == 0 else ",").decode()
    header, rows = table.split("\n", 1)
    content = form.format(table=table, header=header, rows=rows).encode()
    yield draw.files({"table.csv": content}, truth, "row|line|header|skip|left out")


@kind
def json_files(draw: Draw, form: str) -> Variants:
    """records|lines|under a name|numbered|tasks"""
    truth = draw.panels()
    records = [dict(zip(draw.usual, (*pair, score), strict=True)) for pair, score in truth.items()]
    tasks: dict[str, Any] = {paper: {"data": {"text": paper}, "annotations": []} for paper in by_paper(truth)}
    for (who, paper), score in truth.items():
        result = [{"type": "rating", "value": {"rating": score}}]
        tasks[paper]["annotations"].append({"completed_by": PEOPLE.index(who), "result": result})
    whole = (records, None, {"reviews": records}, dict(enumerate(records)), [*tasks.values()])[draw.number]
    content = json.dumps(whole) if whole else "\n".join(map(json.dumps, records))
    yield draw.files({"file.jsonl" if form == "lines" else "file.json": content.encode()}, truth, "JSON")


@kind
def gradebooks_with_odd_columns(draw: Draw, words: str) -> Variants:
    """SIS User ID=s{k};Section=A|ID=10{k};SIS Login ID=x{k};Final Score=8.{k}
    |Last downloaded from this course=17{k}0000000    |Department=CS;Percentage grade=8{k} %;Course total=8.{k}
    |Submission Time=2026-03-01 10:{k};Submission Count=1|Matrikelnummer=40{k}77;Semester=3|Year=2026;Word count=21{k}
    |Attempt=1;Late days=0|Notes=2;Bonus=1;Seed=1{k}|学号=2026{k};班级=2|Age=2{k}"""
    columns = dict(part.split("=") for part in words.split(";"))
    truth = draw.panels(pieces=1, papers=[f"Student {letter}" for letter in "ABCDEFGHIJKLMN"])
    cells = [[*columns], *([numbered(cell, 10 + place) for cell in columns.values()] for place in range(14))]
    shown = [[row[0], *odd, *row[1:]] for row, odd in zip(wide(truth), cells, strict=True)]
    yield draw.wide(shown, truth, "|".join(map(quoted, columns)))


@kind
def category_and_judge_columns(draw: Draw, spelling: str) -> Variants:
    """{0} - {1}|{1} ({0})|{1}: {0}|{0}_{1}"""
    base = draw.panels(["Corey", "Judy", "Jon", "Ana"], pieces=1)
    second = {pair: float(draw.rng.integers(1, 9)) for pair in base}
    areas = {"Design": base, "Style": second}
    shown = {
        (spelling.format(area, who), paper): part[who, paper] for area, part in areas.items() for who, paper in part
    }
    yield draw.wide(shown, {pair: ((base[pair] or 0) + second[pair]) / 2 for pair in base}, "categor|criteri")


@kind
def names_of_columns(draw: Draw, names: str) -> Variants:
    """annotator,text_id,label|WorkerId,HITId,Answer.rating|juror,film,stars|critic,movie,score|taster,wine,points
    |panellist,grant,merit|Gutachter,Antrag,Bewertung|jury member,team,total|Tutor,Team,%|worker,task,label
    |Examiner,Thesis,Mark|annotator_id,response_id,preference|jurado,candidato,nota|Prüfer,Prüfling,Punkte
    |correcteur,copie,points|심사위원,작품,점수|PC member,talk,vote|évaluateur,dossier,évaluation
    |revisor,ponencia,puntaje|评审人,论文,分数|審査員,作品,点数|рецензент,доклад,балл|beoordelaar,voorstel,punten
    |valutatore,progetto,voto|avaliador,trabalho,nota"""
    truth = draw.panels()
    grid = long(truth, names.split(","))
    yield draw.files({"table.csv": delimited(grid)}, truth, "read from", grid=grid)


# Clean tables: nothing in them is to be asked or noted.


@kind
def clean_layouts(draw: Draw, form: str) -> Variants:
    """long|planned|semicolons|tabs|BOM|latin-1|book|wide|wide book|long|planned|long|planned|wide|long|planned|wide"""
    marks = {"semicolons": (";", "utf-8-sig", "\r\n"), "tabs": ("\t", "utf-16"), "BOM": (",", "utf-8-sig", "\r\n")}
    truth = draw.panels(PEOPLE[:5], pieces=1 + draw.number % 2, scored=form != "planned")
    corner = ("Student", "paper", "Entry", "Name", "Project")[draw.number % 5]
    grid = wide(truth, corner) if "wide" in form else long(truth, draw.names)
    text_of_grid = delimited(grid, *marks.get(form, (",", "latin-1" if form == "latin-1" else "utf-8")))
    content = book({"Scores": grid}) if "book" in form else text_of_grid
    make = draw.wide if "wide" in form else draw.table
    yield make(grid, truth, content=content, file="table.xlsx" if "book" in form else "table.csv")


@kind
def clean_numbered_people(draw: Draw, spelling: str) -> Variants:
    """Reviewer {k}|R{k}|Judge {z}|Gutachter {k}|{k}|{a}|w{k}|评审{k}|0000-0002-1825-10{z}|{t}|P{k}|Juror {a}"""
    people = [numbered(spelling, k) for k in draw.rng.permutation(np.arange(1, 13)).tolist()]
    truth = draw.panels(people, [f"T{n}" for n in range(20)])
    yield from draw.both(truth, every=3, first=1)


@kind
def clean_pairs_in_rows(draw: Draw, columns: str) -> Variants:
    """Grader{excel}, Grade{excel}|Reviewer{pandas}, Score{pandas}|{w} marker, {w} mark|Marker {a}, Points {a}
    |Judge {k}, Judge {k} score, Novelty {k}|Reviewer {k} Name, Rating {k}, Comment {k}"""
    truth = draw.panels()
    names = columns.split(", ")
    grid = [["Student", *(numbered(name, k) for k in (1, 2, 3) for name in names)]]
    for paper in by_paper(truth):
        reviews = [
            (who, text(score), text(score))[: len(names)] for (who, item), score in truth.items() if item == paper
        ]
        grid.append([paper, *(cell for review in reviews for cell in review)])
    yield draw.table(grid, truth, only_file=True)


@kind
def clean_names_of_people(draw: Draw, people: str) -> Variants:
    """Null/Nan/Na/Max|Poe, Una/Tan, Vic/Roy, Zoé/Voß, Ida|Open, Jo/Pending, Mo/Total, Ed/Mean, Al
    |O'Brien/al-Amin/de la Cruz/D\u2019Arc|Max/Min/Grace/Mark|N. Niemand/T. B. Dee/Anon, Ana/Nobody, Al
    |王伟/佐藤花/김민준/Ångström|a@x.org/b@x.org/c@y.org/d@z.org|A. Lee/B. Lee/C. Lee/D. Lee
    |Ann (MIT)/Bo (ETH)/Cy (UCL)/Di (ENS)|Lee & Sons/Smith and Wesson/Ernst & Young/Jo
    |Ann Average/Max Mean/Ms Median/Mr Total|AC1/SPC 2/PC 3/Chair|Conflict, Ann/Declined, Bo/Status, Cy/Score, Di
    |1e5/2e7/3e1/4e2|007/012/100/200|Ann Lee <a@x.org>/Bo Sun <b@x.org>/Cy/Di|Yes, Bo/True, Cy/No, Di
    |May, June/Art/Jan"""
    yield from draw.both(draw.panels([*people.split("/"), *PEOPLE[:4]], pieces=1), every=2)


@kind
def clean_labels_of_papers(draw: Draw, spelling: str) -> Variants:
    """{title} {k}|2024-{z}|{z}|{s}.{k}|{k}/2026|{h}|{u}|10.1000/xyz{k}|https://openreview.net/forum?id=B{h}&n={k}
    |{k}e{s}|论文{k}|A title\nof two lines, {k}|2026-03-{z}|v{k}.{s}.0|-{k}|1000000000000{t}|{s}-{k}|Team #{k}|{a}
    |Max {k}|{k}%|Total {k}|Reviewer {k}|Row {k}|{k}-Mar-{z}|n/a {k}|Ann Lee; Bo Sun, {k}|A and B, {k}|0.{k}1"""
    yield from draw.both(draw.panels(papers=[numbered(spelling, k) for k in range(1, 13)]), every=2)


@kind
def clean_words_as_papers(draw: Draw, papers: str) -> Variants:
    """Average-case complexity/Maximum likelihood; a survey/Total variation, revisited/Mean field games
    /Out of distribution/Median voters/Points, possible/No title/TBD: a memoir/Unknown unknowns/Scores
    /What is a reviewer?|Max/Min/Mark/Art/Sum Li/Norm/Grace/Rank/Avery/Mean/Bill/Will
    |Papers/Titles/Scores/Items/Judges/Null results/None of the above/Nan/Index/Rank/Count
    |Paper/Review/Title/Score/Item/Judge/Entry/Grade/Status/Name/Total/Averaging|True/False/Yes/No/On/Off/1/0/-1/2/3/4"""
    yield from draw.both(draw.panels(papers=papers.split("/")))


@kind
def clean_scales(draw: Draw, scale: str) -> Variants:
    """0,10|-3,3|-1,1|0,1|0,100|1,1000|0,5|80,99|-10,10|1,100|-2,2|1,2|2020,2026|0,20|-5,0|1,7|60,100|0,4|-100,100
    |90,110"""
    low, high = map(int, scale.split(","))
    truth = draw.panels(scale=(low, high))
    yield from draw.both(truth, every=3)
    even: Pairs = {pair: float(draw.rng.integers(low, high + 1)) for pair in truth}
    yield draw.table(long(even), even)


@kind
def clean_spellings_of_scores(draw: Draw, spelling: str) -> Variants:
    """{z:.3f}|{half:.1f}|{score:g}: accept, perhaps|{tiny:.4f}|{half:.1f},|{score:g} - good|+{score:g}|{score:.2f}"""

    def spell(score: float) -> str:
        return spelling.rstrip(",").format(z=score / 2 - 2.487, half=score / 2, score=score, tiny=score / 1000)

    base = draw.panels()
    truth: Pairs = {pair: float(re.split("[: ]", spell(score or 0))[0]) for pair, score in base.items()}
    comma = spelling[-1] == ","
    shown = respelled(long(base), lambda score: spell(score).replace(".", ",") if comma else spell(score))
    yield draw.table(shown, truth, content=delimited(shown, ";" if comma else ","), only_file=comma or " " in spelling)


@kind
def clean_shapes(draw: Draw, shape: str) -> Variants:
    """all of all|one paper|one reviewer|once each|letters|numbers|many|peers|chair|near the mean|apart|constant
    |some gaps"""
    ids = [str(n) for n in range(1, 17)]
    sizes: dict[str, dict[str, Any]] = {
        "all of all": {"people": PEOPLE[:4], "pieces": 1, "per_paper": 4},
        "one paper": {"people": PEOPLE[:5], "papers": ["P1"], "pieces": 1, "per_paper": 5},
        "one reviewer": {"people": PEOPLE[:1], "pieces": 1},
        "once each": {"pieces": 8, "per_paper": 1},
        "letters": {"people": list("ABCDEFGH"), "papers": list("ABCDEFGHIJKL")},
        "numbers": {"people": draw.rng.permutation(ids)[:8].tolist(), "papers": ids},
        "many": {"people": PEOPLE, "papers": [f"P{n}" for n in range(200)]},
        "peers": {"people": PEOPLE, "papers": [*PEOPLE[9:], *PEOPLE[:9]], "pieces": 1},
    }
    truth = draw.panels(**sizes.get(shape, {}))
    if shape in ("chair", "near the mean"):
        means = {paper: np.mean(scores) for paper, scores in by_paper(truth).items()}
        noise = 3 if shape == "chair" else 1
        shown = {paper: round(mean + draw.rng.normal(0, noise)) for paper, mean in means.items()}
        truth |= {("Chris Xu", paper): float(min(max(score, 1), 9)) for paper, score in shown.items()}
    elif shape == "constant":
        truth |= {pair: 5.0 for pair in truth if pair[0] == PEOPLE[0]}
    elif shape == "apart":
        harsh = PEOPLE[:8:2]
        truth = {pair: min(truth[pair] or 0, 6) if pair[0] in harsh else max(truth[pair] or 0, 4) for pair in truth}
    elif shape == "some gaps":
        truth |= dict.fromkeys(list(truth)[::5])
    yield draw.table(long(truth, draw.names), truth)
    yield draw.table(long(dict.fromkeys(truth), draw.names), dict.fromkeys(truth))
    if shape != "some gaps":
        yield draw.wide(truth, truth)


@kind
def clean_further_columns(draw: Draw, words: str) -> Variants:
    """comments=Fine, but; long//See\nbelow/declined to comment|status=Submitted|Status=Completed
    |state=accepted/confirmed|version=1|round=R1|date=2026-03-01/2026-03-02|track=Systems/Theory
    |affiliation=MIT/n.a./unknown|late=no/yes|title=The title|first_time=0/1|confidence=1/2/3/4
    |decision=accept/reject|paper status=Under review|Status=eingereicht|conflict=no|cancelled=|reviewer name=Ann/Bo
    |weight=1|session=1/2|Keywords=a; b/c, d|accepted=yes|declined=No|withdrawn=0"""
    name, cells = words.split("=")
    truth = draw.panels()
    choices = cells.split("/")
    column = {pair: choices[place % len(choices)] for place, pair in enumerate(truth)}
    yield draw.table(long(truth, [*ENGLISH, name], column), truth)


@kind
def clean_pairs_of_files(draw: Draw, spelling: str) -> Variants:
    """{t}|{s}.{k}|P-{k}|{s}-{k}|{k}|{a}|{h}|2024-{z}|Paper {k}|P{k}0|{k}.{z}|A{k}/{s}|{k}:{s}|Team {a}|{u}"""
    truth = draw.panels(papers=[numbered(spelling, k) for k in range(1, 17)])
    half = set(list(truth)[::2]) if draw.number % 2 else {pair for pair in truth if pair[0] in PEOPLE[:8:2]}
    parts = ({pair: score for pair, score in truth.items() if (pair in half) == first} for first in (True, False))
    yield draw.two_files(*parts, truth)


def sampled(size: int, seed: int = 0) -> list[Variant]:
    """Return some variants of reviews, of all kinds, for the real command."""
    every = [variant for name in KINDS for variant in variants(name, seed) if not variant.are_conflicts]
    return [every[place] for place in np.random.default_rng(seed).permutation(len(every))[:size].tolist()]


def main() -> int:
    """Judge all variants of some kinds, and print a row for each kind and way in; 1 if one is bad."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print each bad variant with its messages")
    parser.add_argument("--all", action="store_true", help="print every variant with its messages")
    parser.add_argument("--command", type=int, default=0, help="how many variants the real command reads, too")
    asked = parser.parse_args()
    counts: dict[tuple[str, str], Counter[str]] = {}
    every = [(label, variant) for label in asked.kind or KINDS for variant in variants(label, asked.seed)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for label, variant in every:
            for way in ways(variant):
                result, message = judged(variant, way, folder)
                for row in ((label, way), ("all", way)):
                    counts.setdefault(row, Counter())[result] += 1
                if asked.all or (asked.show and result in BAD):
                    print(f"{result.upper()} ({label}, {way}) {variant.name}: {message[:700]}")
        sample = sampled(asked.command, asked.seed)
        differing = list(filter(None, (disagreement(variant, folder) for variant in sample)))
    print(f"{'kind':28}{'way':6}{'tables':>7}" + "".join(f"{name:>{len(name) + 2}}" for name in OUTCOMES))
    for (label, way), count in sorted(counts.items(), key=lambda row: [*KINDS, "all"].index(row[0][0])):
        print(
            f"{label:28}{way:6}{count.total():7}"
            + "".join(f"{count[name] or '':>{len(name) + 2}}" for name in OUTCOMES)
        )
    clean = sum(not variant.matter for _, variant in every)
    print(f"{len(every)} tables, {clean} of them clean; {len(sample)} by the command, {len(differing)} otherwise there")
    print(*differing, sep="\n", end="\n" if differing else "")
    return any(count[bad] for count in counts.values() for bad in BAD) or bool(differing)


if __name__ == "__main__":
    sys.exit(main())

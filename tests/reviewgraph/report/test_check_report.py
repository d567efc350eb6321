import csv
import random
import re
from pathlib import Path

import pytest

from tests.pages import run
from tests.reviewgraph.report.reading_pages import Page, numbers, without_hashes

PREFERENCES = "paper,title,given_name,family_name,email,conflict,preference,expertise,topic_score"
SCRIPT = "</script><script>alert('&')</script><img src=x onerror=alert(1)>"


def rows(papers: int = 40, reviewers: int = 14, seed: int = 3) -> list[list[str]]:
    """A table with names that are found again in any text, a paper cut off, and a reviewer of one paper."""
    draw = random.Random(seed)
    found = [
        [f"Reviewer-{person}-Zq", f"Label-{paper}-Xw", str(draw.randint(1, 10)), f"Title {paper} Yv"]
        for person in range(reviewers)
        for paper in sorted(draw.sample(range(papers), 4))
    ]
    return [*found, ["Lonely-Zq", "Label-0-Xw", "4", "Title 0 Yv"], ["Lost-Zq", "Apart-Xw", "7", SCRIPT]]


def write(path: str, table: list[list[str]]) -> None:
    with Path(path).open("w", newline="") as file:
        csv.writer(file).writerows([["reviewer", "paper", "score", "title"], *table])


@pytest.fixture
def folder(folder: Path) -> Path:
    write("r.csv", rows())
    return folder


def report(*options: str, command: str = "check", table: str = "r.csv") -> tuple[str, str]:
    """Run a command; return the report, and what the terminal shows."""
    result = run(command, table, "--html", "out.html", *options)
    assert result.exit_code in (0, 1), result.output
    return Path("out.html").read_text(encoding="utf-8"), result.stdout


OPTIONS = [(), ("--require", "double"), ("--missing", "0.1", "--fragile"), ("--select", "3")]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_every_number_of_the_terminal_stands_in_the_report(folder: Path, options: tuple[str, ...]) -> None:
    html, printed = report(*options, "-o", "groups.csv")
    page = Page(html)
    assert "Written  groups.csv: reviewers and papers by group\nWritten  out.html: report\n" in printed
    assert numbers(printed) <= numbers(page.text)
    assert printed.splitlines()[0].partition(": ")[2] in page.text
    command = printed.partition("Next  ")[2].replace("\\\n", " ").split("\n")[0]
    assert " ".join(command.split()) in re.sub(r"\s+", " ", page.text)


def test_what_could_be_markup_stays_text(folder: Path) -> None:
    write("s.csv", [[SCRIPT, SCRIPT, "3", SCRIPT], [SCRIPT, "p2", "4", ""], ["bob", SCRIPT, "5", ""]])
    html, _ = report(table="s.csv")
    page = Page(html)
    kinds = [tag for tag, _ in page.tags]
    assert kinds.count("script") == 1 + len(page.data)
    assert "img" not in kinds
    assert SCRIPT in page.text
    assert SCRIPT in page.data[1]["cells"][0]


def test_nothing_is_loaded_and_only_the_own_script_may_run(folder: Path) -> None:
    html, _ = report()
    page = Page(html)
    policy = next(attributes["content"] for tag, attributes in page.tags if "http-equiv" in attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for tag, attributes in page.tags:
        assert not {"style", "onclick", "src"} & set(attributes), tag
        assert tag == "a" or attributes.get("href", "data:,") == "data:,"
    assert not re.search(r"(?:https?:)?//[\w.]", re.sub(r"^\s*//.*$", "", html, flags=re.M))


def test_tables_hold_all_rows_and_the_first_ones_without_a_script(folder: Path) -> None:
    html, _ = report()
    page = Page(html)
    groups, papers, reviewers = page.data
    names = [column["name"] for column in papers["columns"]]
    assert names == ["paper", "title", "reviews", "groups", "error", "with one more", "average"]
    labels = {row[1] for row in rows()}
    assert set(papers["cells"][0]) == labels
    assert set(reviewers["cells"][0]) == {row[0] for row in rows()}
    errors = papers["cells"][4]
    assert errors == sorted(errors, reverse=True)
    assert all(len(column) == len(labels) for column in papers["cells"])
    assert groups["noun"] == "groups"
    assert html.count('<th scope="row"') == 25 + 16 + len(groups["cells"][0][:25])


def test_every_picture_says_in_words_what_it_shows(folder: Path) -> None:
    page = Page(report()[0])
    pictures = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len(pictures) == 8  # four, for phones and for screens
    for attributes in pictures:
        assert attributes["role"] == "img"
        for name in str(attributes["aria-labelledby"]).split():
            assert name in page.ids


def test_the_same_table_gives_the_same_report_whatever_the_order_of_its_rows(folder: Path) -> None:
    first, _ = report()
    table = rows()
    random.Random(1).shuffle(table)
    write("r.csv", table)
    assert report()[0] == first


def test_anonymous_reports_hold_no_name(folder: Path) -> None:
    html, printed = report("--anonymous", "--verbose")
    assert not re.search("Zq|Xw|Yv|alert", without_hashes(html))
    assert "Zq" in printed  # the terminal is the chair's own
    with Path("out.html.key.csv").open(newline="") as file:
        key = list(csv.DictReader(file))
    assert {(row["kind"], row["label"]) for row in key} == {
        *(("reviewer", row[0]) for row in rows()),
        *(("paper", row[1]) for row in rows()),
    }
    assert {row["title"] for row in key} == {"", *(row[3] for row in rows())}
    shown = set(Page(html).data[1]["cells"][0])
    assert shown == {row["code"] for row in key if row["kind"] == "paper"}
    again, _ = report("--anonymous")
    assert again == html  # a key that is there is kept


def test_codes_are_no_order_by_name() -> None:
    from reviewgraph.report import Codes

    names = [f"name {number}" for number in range(50)]
    drawn = {tuple(Codes(names, []).reviewer.values()) for _ in range(3)}
    assert len(drawn) == 3
    assert {frozenset(codes) for codes in drawn} == {frozenset(f"R{number}" for number in range(1, 51))}


def test_anonymous_tables_do_not_tell_the_order_of_names(folder: Path) -> None:
    write("r.csv", [[f"r{j:02d}", f"p{i:02d}", "", ""] for j in range(30) for i in range(20)])
    html, _ = report("--anonymous")
    groups, _, reviewers = Page(html).data
    for codes in (reviewers["cells"][0], groups["cells"][5][0].split(", ")[:8]):
        order = [int(code[1:]) for code in codes]
        assert order == sorted(order)  # all are alike, so they stand in the order of the codes


def test_a_report_that_cannot_be_written_is_refused_at_once(folder: Path) -> None:
    for words, message in (
        (["--html", "no/where.html"], "no/where.html"),
        (["--anonymous"], "--anonymous: expected --html FILE"),
    ):
        result = run("check", "r.csv", *words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert message in result.stderr


def test_a_file_in_the_place_of_the_key_is_left_alone(folder: Path) -> None:
    Path("out.html.key.csv").write_text("my,notes\n1,2\n")
    result = run("check", "r.csv", "--html", "out.html", "--anonymous")
    assert result.exit_code == 2
    assert "out.html.key.csv: expected a key" in result.stderr
    assert Path("out.html.key.csv").read_text() == "my,notes\n1,2\n"
    assert not Path("out.html").exists()


def test_only_its_owner_reads_a_key(folder: Path) -> None:
    Path("out.html.key.csv").touch(0o644)
    Path("out.html.key.csv").write_text("kind,code,label,title\n")
    for _ in range(2):
        assert run("check", "r.csv", "--html", "out.html", "--anonymous").exit_code == 0
        assert Path("out.html.key.csv").stat().st_mode & 0o777 == 0o600


def test_without_html_nothing_of_reports_is_loaded() -> None:
    import subprocess
    import sys

    code = "import sys, reviewgraph.cli.check; print([m for m in sys.modules if 'jinja2' in m or '.report.' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_no_tick_stands_over_what_contradicts_it(folder: Path) -> None:
    every = [[f"r{j}", f"p{i}", "3", ""] for j in range(4) for i in range(6)]
    late = [[*row[:2], "" if row[0] == "r3" else row[2], ""] for row in every]
    Path("conflicts.csv").write_text("reviewer,item\nr1,p1\n")
    for table, options, state in (
        (every, ("--demand", "4"), "good"),
        (late, (), "plain"),
        (every, ("--demand", "5"), "open"),
        (late, ("--demand", "5"), "open"),
        (every, ("--load", "5"), "open"),
        (every, ("--conflicts", "conflicts.csv"), "open"),
        (every[:8], ("--require", "survives-reviewer"), "open"),
    ):
        write("r.csv", table)
        html, printed = report(*options)
        page = Page(html)
        (shown,) = [attributes["class"] for tag, attributes in page.tags if "verdict" in str(attributes.get("class"))]
        assert shown == f"verdict {state}", (options, shown)
        assert printed.splitlines()[0].partition(": ")[2] in page.text


def test_files_that_are_read_twice_have_one_number(folder: Path) -> None:
    rows = "".join(f"{i},Title,Ann,R{j},r{j}@example.org,,{i},,\n" for i in (1, 2) for j in (1, 2))
    Path("prefs.csv").write_text(f"{PREFERENCES}\n{rows}")
    Path("papers.csv").write_text("paper\n1\n2\n")
    files = ("--items", "papers.csv", "--reviewers", "prefs.csv", "--bids", "prefs.csv")
    done = run("assign", *files, "--demand", "1", "--html", "a.html", "--anonymous")
    assert done.exit_code == 0, done.output
    page = Page(Path("a.html").read_text()).text
    assert "file 2: " in page
    assert "file 3" not in page

"""Pages: what is seen first, details on request, colours, nouns, and the same words in every form."""

import re
import shlex
from pathlib import Path

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviewgraph import InputError, Reviews, check
from reviewgraph._base import Column, Fact, Listed, Next, Nouns, Page, Prose, Section, Table
from tests.pages import run
from tests.strategies import Rows, tables, to_reviews

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def example(**changes: object) -> Page:
    names = Table("t", "Names", [Column("paper", ["p1", "p2", "p3"]), Column("score", [1.0, 2.5, 3.0], "number", 1)])
    sections = [
        Section("rest", "The rest", lambda: [Prose(["All papers."]), Listed("Some:", ["p1", "p2"])]),
        Section("none", "Nothing", list),
    ]
    values: dict[str, object] = {
        "facts": [Fact("Papers", "3 papers"), names],
        "warnings": ["A paper is late."],
        "sections": sections,
        "following": [Next("reviewgraph check 'a b.csv' --items b.csv", "why not")],
        **changes,
    }
    return Page("Example", False, "Not well:", "one paper of three", **values)  # type: ignore[arg-type]


def test_a_page_in_a_terminal() -> None:
    assert str(example()).splitlines() == [
        "NOT WELL: one paper of three",
        "  Papers  3 papers",
        "  paper  score",
        "  p1       1.0",
        "  p2       2.5",
        "  p3       3.0",
        "! A paper is late.",
        "Next  reviewgraph check 'a b.csv' --items b.csv",
        "      (why not)",
    ]
    assert "The rest\nAll papers.\nSome:\n  p1\n  p2\n" in example().text("all")
    assert "Nothing" not in example().text("all")
    with pytest.raises(InputError, match=r"expected names of sections \(rest, none\), found 'all the rest'"):
        example().text("all the rest")


def test_colours_change_no_letter() -> None:
    coloured = example().text("rest", colour=True)
    assert coloured != example().text("rest")
    assert ESCAPES.sub("", coloured) == example().text("rest")


def test_every_form_has_the_same_words() -> None:
    page = example()
    html = re.sub(r"<style>.*?</style>|<script.*?</script>|<[^>]*>", " ", page.html(), flags=re.S)
    for text in (page.text("all"), html):
        for words in ("3 papers", "p3", "A paper is late", "The rest", "All papers.", "why not"):
            assert words in text or words == "why not", words


@given(tables(), st.sampled_from([Nouns("essay", "grader"), Nouns("entry", "judge")]))
def test_nouns_change_sentences_and_no_label(table: tuple[Rows, int], nouns: Nouns) -> None:
    from dataclasses import replace

    page = check(to_reviews(*table)).summary()
    text = replace(page, nouns=nouns).text("all")
    assert not re.search(r"(?<![\w-])(papers?|reviewers?)\b", text.replace("--reviewers", ""), re.I)
    assert page.text("all").count("p0") == text.count("p0")


@given(
    st.lists(st.sampled_from(["a.csv", "--items", "b c.csv", "--load", "3", "x" * 70, "--flag", "it's"]), max_size=12)
)
def test_a_command_in_several_lines_is_the_same_for_a_shell(words: list[str]) -> None:
    command = shlex.join(["reviewgraph", "check", *words])
    shown = Page("Example", None, "Seen", following=[Next(command)]).text(width=40)
    folded = shown.partition("Next  ")[2].replace("\\\n", " ")
    assert shlex.split(folded) == shlex.split(command)


@pytest.fixture
def folder(folder: Path) -> Path:
    Path("r.csv").write_text("reviewer,paper\nann,p1\nann,p2\nbob,p3\nbob,p4\n")
    return folder


def test_the_first_line_alone_or_all_details(folder: Path) -> None:
    whole = run("check", "r.csv").stdout
    assert run("check", "r.csv", "--quiet").stdout == whole.splitlines(keepends=True)[0]
    # No note is printed either, also before long work begins.
    Path("notes.csv").write_text("reviewer,paper\nAnn@x.org,p1\nann@x.org,p2\nbob@x.org,p3\nbob@x.org,p4\n")
    assert "Ann@x.org" in run("plan", "notes.csv").stderr
    assert run("plan", "notes.csv", "--quiet").stderr == ""
    assert run("check", "--verbose", "r.csv").stdout == run("check", "r.csv", "--verbose=all").stdout
    loads = run("check", "--verbose", "loads", "r.csv").stdout
    assert "Papers per reviewer" in loads
    assert "Papers per reviewer" not in whole
    refused = run("check", "r.csv", "--verbose=load")
    assert refused.exit_code == 2
    assert "did you mean loads?" in refused.stderr


def test_colours_by_option_and_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in run("check", "r.csv").stdout  # no terminal
    assert "\x1b" in run("check", "r.csv", "--color", "always").stdout
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("check", "r.csv").stdout


def test_three_notes_at_most(folder: Path) -> None:
    for name in "abcde":
        Path(f"{name}.csv").write_text(f"reviewer,paper,score,{name}\nann,p{name},1,2\nbob,p{name},2,3\n")
    words = ("check", *(f"{name}.csv" for name in "abcde"))
    said = run(*words)
    notes = said.stderr.splitlines()
    assert len(notes) == 3
    assert re.fullmatch(r"and \d+ more notes: --verbose notes", notes[-1])
    assert notes[0] not in said.stdout
    whole = run(*words, "--verbose", "notes")
    assert whole.stderr == ""
    assert notes[0] in whole.stdout.replace("\n    ", " ")


def test_names_that_are_mistyped_are_answered_with_the_near_one(folder: Path) -> None:
    for words, name in ((["chek", "r.csv"], "check"), (["plann"], "plan"), (["check", "r.csv", "--jsn"], "--json")):
        found = run(*words)
        assert found.exit_code == 2
        assert f"did you mean {name}?" in found.stderr.lower().replace("'", "").replace("mean one of: ", "mean "), words
    assert "there are demo, check, plan" in run("xyz").stderr


@pytest.mark.parametrize("command", ["check", "plan", "assign", "calibrate"])
def test_help_names_what_others_read(command: str) -> None:
    text = run(command, "--help").stdout
    assert "--json" in text
    assert "--html" in text


def test_rows_of_a_table_have_the_names_of_its_data_frame() -> None:
    frame = pandas.DataFrame({"grader": ["ann", "bob"], "essay": ["e1", "e1"], "score": [1.0, 2.5]})
    lines = str(Reviews(frame)).splitlines()
    assert lines[0].startswith("1 ESSAY 2 by 2 graders")
    assert lines[1].split() == ["reviewer", "item", "score"]
    assert lines[3].split() == ["bob", "e1", "2.50"]

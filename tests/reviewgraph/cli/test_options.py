import json
import threading

import click
import pytest
from click.testing import CliRunner

from reviewgraph._base import Progress
from reviewgraph.cli import Session, main, output, table_options, telling
from reviewgraph.cli.output import print_json


@click.command()
@table_options
@click.option("--json", "as_json", is_flag=True)
def show(reviews, as_json):
    print_json(
        {"columns": reviews.to_dict(), "items": list(reviews.items), "given": Session.of().table(), "json": as_json}
    )


@pytest.fixture
def run(folder):

    def run(*args, **files):
        for name, content in files.items():
            (folder / f"{name}.csv").write_text(content)
        return CliRunner().invoke(show, list(args))

    return run


def test_a_command_gets_the_reviews_and_stdout_holds_nothing_else(run):
    done = run("t.csv", "--json", t="paper,email,Quality\n1,a,2\n")
    assert (done.exit_code, json.loads(done.stdout)["columns"]["score"]) == (0, [None])
    assert done.stderr.startswith("no score column found")


def test_every_option_reaches_the_table(run):
    done = run(
        *("t.csv", "more.csv", "--columns", "reviewer=Who, really,item=What", "--columns", "score=How"),
        *("--items", "items.csv", "--scale", "A>B", "--duplicates", "mean"),
        t='"Who, really",What,How\na,1,A\n',
        more='"Who, really",What,How\na,1,B\n',
        items="item\n1\n2\n",
    )
    assert done.exit_code == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["columns"] == {"reviewer": ["a"], "item": ["1"], "score": [1.5]}
    assert shown["items"] == ["1", "2"]
    assert shown["given"] == (
        "t.csv more.csv --columns 'reviewer=Who, really,item=What,score=How' --items items.csv --scale 'A>B' "
        "--duplicates mean"
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["none.csv"], "Error: none.csv: no such file"),
        (["t.csv"], "Error: reviewer 'a' reviews item '1' twice: t.csv:2 and t.csv:3"),
        (["t.csv", "--columns", "score=Nil"], "there is no column 'Nil'; found 'reviewer', 'item', 'score'"),
        (["t.csv", "--columns", "score"], "expected ROLE=NAME, as in reviewer=NAME, or FILE:ROLE=NAME"),
        (["t.csv", "--scale", "A"], "expected all grades in quotes"),
        (["t.csv", "--duplicates", "first"], "'first' is not one of"),
        (["t.csv", "--columns", "fit=Fit"], "expected one of reviewer, item, score, title, demand"),
        ([], "Missing argument 'REVIEWS...'"),
    ],
)
def test_bad_input_is_one_message_and_exit_status_2(run, args, message):
    done = run(*args, t="reviewer,item,score\na,1,2\na,1,3\n")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["check", "plan", "calibrate"])
def test_a_column_that_no_file_has_is_refused(tmp_path, command):
    reviews = tmp_path / "reviews.csv"
    reviews.write_text("reviewer,paper,mark\nann,p1,3\nann,p2,1\nbob,p2,4\nbob,p1,2\n")
    ended = CliRunner().invoke(main, [command, str(reviews), "--columns", "score=mark,affinity=fit"])
    assert ended.exit_code == 2
    assert ended.stderr.strip().endswith("Error: --columns affinity=fit: no file that was read has a column 'fit'")
    assert CliRunner().invoke(main, [command, str(reviews), "--columns", "score=mark"]).exit_code == 0


def test_a_conference_file_is_no_longer_read_and_that_is_said(folder):
    (folder / "t.csv").write_text("reviewer,item\na,1\nb,1\n")
    (folder / "conference.toml").write_text("[rules]\nload = 0\n")
    done = CliRunner().invoke(main, ["check", "t.csv"])
    assert (done.exit_code, "Over load" in done.stdout) == (0, False)
    said = "conference.toml is no longer read: give its options on the command line"
    assert said in done.stderr
    # Where the file had REVIEWS, too.
    assert CliRunner().invoke(main, ["check"]).stderr.startswith(said)
    for command in ("check", "plan", "assign", "calibrate"):
        refused = CliRunner().invoke(main, [command, "t.csv", "--conference", "conference.toml"])
        assert (refused.exit_code, "--conference is no longer an option: give the" in refused.stderr) == (2, True)


def test_short_work_says_nothing(capsys) -> None:
    with telling(silence=60.0) as tell:
        tell(Progress(0.0, "beginning"))
        tell(Progress(1.0, "3 of 3", 1.0))
    assert capsys.readouterr().err == ""


def test_a_terminal_has_one_line_that_is_redrawn_and_cleared(capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    drawn = threading.Event()
    echo = output.click.echo
    monkeypatch.setattr(output.click, "echo", lambda *words, **how: (echo(*words, **how), drawn.set()))
    with telling(silence=0.01) as tell:
        tell(Progress(0.0, "first"))
        assert drawn.wait(30.0)
    shown = capsys.readouterr().err
    assert "first" in shown
    assert "\n" not in shown
    assert shown.endswith(output.REDRAWN)


def test_long_work_is_told_while_it_lasts_even_without_further_words(monkeypatch) -> None:
    said: list[str] = []
    heard = threading.Event()

    def hear(line: str) -> None:
        said.append(line)
        heard.set()

    monkeypatch.setattr(output, "say", hear)
    with telling(silence=0.01) as tell:
        for words in ("first", "second"):
            heard.clear()
            tell(Progress(0.0, words))
            assert heard.wait(30.0)
    assert any("first" in line for line in said)
    assert "second" in said[-1]


def test_ctrl_c_ends_the_watch() -> None:
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), telling(silence=60.0):
        raise KeyboardInterrupt
    assert threading.active_count() == before

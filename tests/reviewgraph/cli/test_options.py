import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from reviewgraph import InputError
from reviewgraph._base import write_whole
from reviewgraph.cli import Session, main, table_options
from reviewgraph.cli.output import expect_writable, print_json


@click.command()
@table_options
@click.option("--json", "as_json", is_flag=True)
def show(reviews, as_json):
    print_json(
        {"columns": reviews.to_dict(), "items": list(reviews.items), "given": Session.of().table(), "json": as_json}
    )


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*args, **files):
        for name, content in files.items():
            (tmp_path / f"{name}.csv").write_text(content)
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


def test_options_load_click_alone():
    code = (
        "import sys; import reviewgraph.cli.options;"
        "print(sorted({'numpy', 'scipy', 'numba', 'pyarrow', 'narwhals'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_files_are_written_whole_or_not_at_all(tmp_path):
    target = tmp_path / "plan.csv"
    write_whole(target, "Größe\n")
    write_whole(target, "second\r\n")
    assert target.read_bytes() == b"second\r\n"
    with pytest.raises(InputError, match="is no character"):
        write_whole(target, "third \ud800")
    assert target.read_bytes() == b"second\r\n"
    assert os.listdir(tmp_path) == ["plan.csv"]
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    write_whole(link, "through\n")
    assert (link.is_symlink(), target.read_text()) == (True, "through\n")
    write_whole("/dev/null", "nothing")
    expect_writable("/dev/null")
    expect_writable(target)
    for bad in (tmp_path, tmp_path / "none" / "plan.csv"):
        with pytest.raises(InputError, match="cannot be written"):
            write_whole(bad, "x")
        with pytest.raises(InputError, match="cannot be written"):
            expect_writable(bad)


@pytest.mark.skipif(os.name == "nt", reason="there is no such device")
def test_standard_output_is_a_file_to_write_to_behind_a_pipe_too():
    code = "from reviewgraph.cli.output import *; expect_writable('/dev/stdout'); write_whole('/dev/stdout', 'a,b')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "a,b"


def test_control_c_has_an_exit_status_of_its_own(monkeypatch):
    def interrupted(**options):
        raise KeyboardInterrupt

    monkeypatch.setattr(main.get_command(click.Context(main), "simulate"), "callback", interrupted)
    done = CliRunner().invoke(main, ["simulate", "linear"])
    assert (done.exit_code, done.stderr) == (130, "Interrupted, no result.\n")


def test_the_system_of_the_files_is_known_to_whoever_writes_for_it(tmp_path, monkeypatch):
    @click.command()
    @table_options
    def system(reviews):
        print_json([Session.of().system, Session.of().table()])

    monkeypatch.chdir(tmp_path)
    Path("own.csv").write_text("reviewer,item\na,1\n")
    Path("hotcrp.csv").write_text("paper,action,email\n1,clearreview,#pc\n1,primary,a\n")
    shown = {}
    for args in (["own.csv"], ["own.csv", "hotcrp.csv"], ["hotcrp.csv", "--format", "table"]):
        done = CliRunner().invoke(system, [*args, "--duplicates", "last"])
        shown[" ".join(args)] = json.loads(done.stdout)
    assert [given for given, _ in shown.values()] == [None, "hotcrp", None]
    assert shown["hotcrp.csv --format table"][1] == "hotcrp.csv --format table --duplicates last"
    done = CliRunner().invoke(system, ["own.csv", "--format", "conftool"])
    assert (done.exit_code, done.stderr.split(",")[0]) == (2, "Error: --format conftool: expected one of hotcrp")


def test_json_holds_plain_values(capsys):
    print_json(
        {
            "none": math.nan,
            "infinite": [np.inf, np.float64("nan")],
            "array": np.array([[1, 2]]),
            1: (np.int64(3), np.bool_(True)),
            "text": "é",
        }
    )
    assert capsys.readouterr().out == (
        '{"none": null, "infinite": [null, null], "array": [[1, 2]], "1": [3, true], "text": "é"}\n'
    )


@pytest.mark.parametrize("command", ["check", "plan", "calibrate"])
def test_a_column_that_no_file_has_is_refused(tmp_path, command):
    reviews = tmp_path / "reviews.csv"
    reviews.write_text("reviewer,paper,mark\nann,p1,3\nann,p2,1\nbob,p2,4\nbob,p1,2\n")
    ended = CliRunner().invoke(main, [command, str(reviews), "--columns", "score=mark,affinity=fit"])
    assert ended.exit_code == 2
    assert ended.stderr.strip().endswith("Error: --columns affinity=fit: no file that was read has a column 'fit'")
    assert CliRunner().invoke(main, [command, str(reviews), "--columns", "score=mark"]).exit_code == 0


@pytest.mark.parametrize(("given", "then"), [({}, "1"), ({"OMP_NUM_THREADS": "3"}, None)])
def test_a_command_multiplies_matrices_in_one_thread_unless_told_otherwise(monkeypatch, given, then):
    import reviewgraph.cli
    from reviewgraph.__main__ import run

    seen = []
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        # Set first, so that it is as it was in the end.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(reviewgraph.cli, "main", lambda prog_name: seen.append(os.environ.get("OPENBLAS_NUM_THREADS")))
    handler = signal.getsignal(signal.SIGINT)
    try:
        run()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert seen == [then]

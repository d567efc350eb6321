"""Commands as people type them, and what their pages offer."""

import re
import shlex

from click.testing import CliRunner, Result

from reviewgraph.cli import main

#: A small table: of four papers the first and the last have one review each.
CHAIN = "reviewer,paper\nann,p1\nann,p2\nbob,p2\nbob,p3\ncleo,p3\ncleo,p4\n"

#: A command, whose lines but the last end with a backslash.
NEXT = re.compile(r"^Next  reviewgraph ((?:.*\\\n)*.*)$", re.M)


def run(*words: str) -> Result:
    """Run a command in this process; an exception that it does not expect is one of the test."""
    done = CliRunner().invoke(main, list(words), catch_exceptions=False)
    assert "Traceback" not in done.output
    return done


def run_line(line: str) -> Result:
    """Run a command as a shell reads its line."""
    return run(*shlex.split(line))


def all_offered(page: str) -> list[list[str]]:
    """Return the words of the commands that a page offers next, ``reviewgraph`` left out, as a shell reads them."""
    return [shlex.split(command.replace("\\\n", " ")) for command in NEXT.findall(page)]


def offered(page: str) -> list[str]:
    """Return the words of the last command that a page offers next; none where it offers none."""
    return next(iter(all_offered(page)[::-1]), [])

"""``reviewgraph verify``: check a result with independent code, then by running its command again."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from reviewgraph._base.errors import InputError
from reviewgraph._base.storing import plain, record_of
from reviewgraph._base.text import counted, noun
from reviewgraph._verify.answers import Findings, compare_again, from_json, read_answer, verify_files
from reviewgraph.cli.options import examples
from reviewgraph.cli.output import Refusal, notes_of, refusing, writable
from reviewgraph.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reviewgraph._base.page import Page
    from reviewgraph._verify.answers import Answer

    Verifier = Callable[[Session, Answer], Findings]


@click.command(
    # The words after ANSWER are arguments of the command that made it.
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="",
    epilog=examples(
        (
            "Is the plan valid, and are its bounds true?",
            "verify plan.json reviews.csv --conflicts conflicts.csv --spare 1",
        ),
        ("As one JSON object:", "verify check.json reviews.csv --json"),
    ),
)
@click.argument("path", metavar="ANSWER")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="REVIEWS... [OPTIONS]")
@click.pass_context
def verify(ctx: click.Context, /, path: str, words: tuple[str, ...]) -> None:
    """Verify ANSWER: the output of check, plan, assign or calibrate with --json.

    REVIEWS and OPTIONS are those of the command that made it, word for word; its files are not written again. Simple,
    independent code checks the answer, and lists what it checked and what it assumed; then the command is run again
    to compare sentences and other figures. Exit status 0: it holds; 1: it is refuted, with the first reasons; 4: it
    is not refuted, but a claim that it depends on could not be checked.
    """
    answer, command, verifier = _made_by(path)
    try:
        made = command.make_context(answer.command, list(words), parent=ctx.parent)
    except click.UsageError as error:
        message = f"{path} is an answer of `{answer.command}`, whose arguments and options are expected. "
        raise Refusal(message + error.format_message()) from error
    with made:
        session = Session.of()
        findings = _findings(session, made, answer, verifier)
        from reviewgraph.verifying import VerificationStatus, page_of

        session.answer(findings, None, lambda shown, _: page_of(path, shown))
    ctx.exit({True: 0, False: 1, None: 4}[VerificationStatus(findings.outcome).good])


@refusing
def _made_by(path: str) -> tuple[Answer, click.Command, Verifier]:
    """Read an answer, and load the command that made it, and what verifies it."""
    from reviewgraph.cli import main

    answer = read_answer(path)
    command = main.get_command(click.get_current_context(), answer.command)
    verifier = getattr(command, "verifier", None)
    if command is None or verifier is None:
        raise Refusal(f"{path}: expected an answer of a command that is installed, found one of {answer.command}")
    return answer, command, verifier


@refusing
def _findings(session: Session, made: click.Context, answer: Answer, verifier: Verifier) -> Findings:
    findings = verifier(session, answer)
    if findings.wrong and session.params.get("select", "") is None and answer.get("selected"):
        reason = "the answer has a selection, but no number to select was given; repeat it as it was given to"
        findings.wrong.insert(0, f"--select: {reason} {answer.command}")

    # All else that the answer says is what a second run prints.
    if findings.wrong or findings.undecided:
        findings.not_checked("all other figures and sentences: the command was not run again", decisive=False)
    else:
        compare_again(findings, asked_again(made))
    values = (value if isinstance(value, tuple) else (value,) for value in made.params.values())
    words = [str(word) for listed in values for word in listed]
    verify_files(findings, [file.to_dict() for file in session.files], words)
    return findings


#: Reviews up to which a report is checked as it is written, in less than a second.
CHECKED_AT_ONCE = 20_000


def checked(session: Session, page: Page, content: Mapping[str, Any], n_reviews: int) -> Page:
    """Return the page of an answer of the running command with what independent code finds of it.

    The command is not run again. A refutation is the last fact; details are a section.
    """
    from reviewgraph._base.page import Fact, Listed, Section

    verifier: Verifier = click.get_current_context().command.verifier  # type: ignore[attr-defined]
    lists: dict[str, list[str]] = {}
    if n_reviews > CHECKED_AT_ONCE:
        words = "not yet: reviewgraph verify checks the answer that --json prints"
    else:
        before = dict(notes_of().all)
        try:
            answer = from_json("the answer", json.dumps(plain({**content, **record_of(session.files)})))
            findings = verifier(session, answer)
            lists = {"Checked:": findings.checked, "Not checked:": [*findings.undecided, *findings.trusted]}
            unsure = len(findings.undecided)
            words = f"{counted(len(findings.checked), 'claim holds', 'claims hold')} by independent code"
            words += f"; {counted(unsure, 'claim')} that matter{noun(unsure, 's', '')} not looked at" if unsure else ""
            if findings.wrong:
                words = f"REFUTED by independent code: {findings.wrong[0]}"
        except (InputError, click.ClickException) as error:
            words = f"not by independent code: {error}"
        # The files were read again, and what they bring up is known.
        notes_of().all = before
    parts = [Listed(heading, list(dict.fromkeys(claims))) for heading, claims in lists.items() if claims]
    section = Section("checked", "What independent code checked", lambda: parts)
    return replace(page, facts=[*page.facts, Fact("Checked", words)], sections=[*page.sections, section])


def asked_again(made: click.Context) -> Answer | None:
    """Return what the command prints with ``--json`` for the same arguments; None if it ends without an answer.

    Its files go to a temporary folder, reports are not written, nothing is shown, and ``made`` stays unchanged.
    """
    before = dict(made.params)
    files = {option.name or "" for option in made.command.params if option.callback is writable}
    printed = io.TextIOWrapper(io.BytesIO(), "utf-8")
    try:
        with TemporaryDirectory() as folder:
            made.params.update({name: str(Path(folder, name)) for name in files if before[name]}, as_json=True)
            made.params |= {name: None for name in ("html", "anonymous", "verbose", "quiet") if name in before}
            with redirect_stdout(printed), redirect_stderr(io.StringIO()), suppress(click.exceptions.Exit):
                made.command.invoke(made)
        printed.seek(0)
        return from_json("the repeated answer", printed.read())
    except (click.ClickException, InputError):
        return None
    finally:
        made.params.update(before)

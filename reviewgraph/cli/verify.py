"""``reviewgraph verify``: does an answer hold, looked at by code that did not make it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reviewgraph.cli.options import examples, given_files, print_result, show_files
from reviewgraph.cli.output import refusing, show

if TYPE_CHECKING:
    from reviewgraph.verify.answers import Answer, Findings

#: Reasons that are listed before the rest is only counted.
LISTED = 10
#: Exit status of each outcome.
STATUS = {"holds": 0, "refuted": 1, "not_refuted": 4}
WORDS = {"holds": "holds", "refuted": "refuted", "not_refuted": "not refuted"}


@click.command(
    # What stands behind ANSWER is for the command that made it.
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="",
    epilog=examples(
        ("Is it a plan, and are its bounds true?", "verify plan.json reviews.csv --conflicts conflicts.csv --spare 1"),
        ("The file that was written:", "verify groups.csv reviews.csv"),
        ("As one JSON object:", "verify check.json reviews.csv --json"),
    ),
)
@click.argument("path", metavar="ANSWER")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="REVIEWS... [OPTIONS]")
@click.pass_context
def verify(ctx: click.Context, /, path: str, words: tuple[str, ...]) -> None:
    """Verify ANSWER: what check, plan, assign or calibrate printed with --json, or the CSV it wrote with -o.

    REVIEWS and OPTIONS are those of the command that made it, word for word; what it wrote is not written again. Plain
    code of its own looks at the answer, says what it checked and what it took on trust; then the command is asked again
    for sentences and other figures. Exit status 0: it holds; 1: it is refuted, with the first reasons; 4: it is not
    refuted, but what it rests on was taken on trust.
    """
    answer, command = _made_by(path)
    with _as_asked(path, command, answer.command, list(words), ctx.parent) as made:
        findings = _findings(made, answer)
        if made.params.get("as_json"):
            print_result(findings.to_dict())
        else:
            show(_page(path, findings))
            show_files()
    if status := STATUS[findings.outcome]:
        ctx.exit(status)


@refusing
def _made_by(path: str) -> tuple[Answer, click.Command]:
    """Read an answer; returns the command that made it, too."""
    from reviewgraph.cli import main
    from reviewgraph.cli.output import Refusal
    from reviewgraph.verify.answers import read_answer

    answer = read_answer(path)
    command = main.get_command(click.get_current_context(), answer.command)
    if command is None:
        message = f"{path}: expected an answer of a command that is installed, found one of {answer.command}"
        raise Refusal(message)
    return answer, command


def _as_asked(
    path: str, command: click.Command, name: str, words: list[str], parent: click.Context | None
) -> click.Context:
    """Read the words that follow ANSWER as the command that made it does."""
    from reviewgraph.cli.refusal import Refusal

    try:
        return command.make_context(name, words, parent=parent)
    except click.UsageError as error:
        message = f"{path} is an answer of `{name}`, whose arguments and options are expected. {error.format_message()}"
        raise Refusal(message) from error


@refusing
def _findings(made: click.Context, answer: Answer) -> Findings:
    from reviewgraph.cli.again import asked_again
    from reviewgraph.cli.verifying import VERIFIERS, given_words, left_aside
    from reviewgraph.verify.answers import HOLDS, compare_again, verify_files

    verifier = VERIFIERS[answer.command]
    findings = verifier.run(made, answer)
    asks = findings.outcome == HOLDS and not answer.is_table
    told = asks and compare_again(findings, answer, asked_again(made))
    verify_files(findings, answer, [file.to_dict() for file in given_files()], given_words(made))
    if told:
        return findings
    if answer.unseen:
        findings.trust(f"not looked at: {', '.join(answer.unseen)}")
    for option in left_aside(made, verifier.heeded):
        findings.trust(f"{option}: what it asks for is not looked at")
    return findings


def _page(path: str, findings: Findings) -> str:
    """Return what was found, the verdict first."""
    more = len(findings.wrong) - LISTED
    lines = [f"{path}: {WORDS[findings.outcome]}.", *(f"  {reason}" for reason in findings.wrong[:LISTED])]
    lines += [f"  ... and {more} more"] if more > 0 else []
    beside = [words for words in findings.trusted if words not in findings.undecided]
    told = {
        "Not looked at, and the answer rests on it:": findings.undecided,
        "Checked:": findings.checked,
        "Taken on trust:": beside,
    }
    for heading, said in told.items():
        lines += ["", heading, *(f"  {words}" for words in said)] if said else []
    return "\n".join(lines)

"""``--to``, ``--label``, ``--invitation``: who takes the file that ``-o`` writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from reviewgraph.cli.options import given_system
from reviewgraph.cli.output import Refusal, say, write_whole
from reviewgraph.errors import InputError
from reviewgraph.uploads.registry import CSV, UPLOADS
from reviewgraph.uploads.upload import Outgoing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reviewgraph.labels import Label
    from reviewgraph.uploads.upload import Upload

    Command = Callable[..., Any]

OPTIONS = (
    click.option(
        "--to",
        type=click.Choice(list(UPLOADS)),
        help="Who takes the file of -o [default: the system REVIEWS are from, else csv]. "
        + "; ".join(f"{upload.name}: {upload.words}" for upload in UPLOADS.values())
        + ".",
    ),
    click.option("--label", metavar="NAME", help="For openreview the label of the edges, for hotcrp the round."),
    click.option("--invitation", metavar="ID", help="For openreview: the invitation that the edges name."),
)

#: Parameters that say where reviews go.
DESTINATION = ("output", "to", "label", "invitation")


@dataclass(frozen=True)
class Destination:
    """Where reviews go.

    Parameters
    ----------
    upload
        Who takes the file.
    output
        Its name; None where none is asked for.
    asked
        Whether somebody said who takes it.
    label, invitation
        As :class:`~reviewgraph.uploads.upload.Outgoing` has them.
    """

    upload: Upload
    output: str | None
    asked: bool
    label: str | None
    invitation: str | None

    def settled(self, reviewers: Sequence[Label], items: Sequence[Label]) -> Destination:
        """Return the destination for these labels, before the work begins: each is written once, to nowhere.

        Where nobody said who takes the file, it is the system that the input came from, if that takes these labels.

        Raises
        ------
        InputError
            If who was asked for does not take them.
        Refusal
            If their form has no place for a setting.
        """
        system = UPLOADS.get(given_system() or "", CSV)
        chosen = self if self.asked else replace(self, upload=system)
        try:
            chosen.try_out(reviewers, items)
        except InputError:
            if self.asked or self.settings:
                raise
            return self
        chosen.expect_settings_fit()
        if self.output and chosen.upload is not self.upload:
            say(f"{self.output}: {chosen.upload.words} (--to csv writes a table)")
        return chosen

    @property
    def settings(self) -> dict[str, str]:
        """The settings that were given, by the names of their options."""
        given = (("label", self.label), ("invitation", self.invitation))
        return {name: value for name, value in given if value is not None}

    def expect_settings_fit(self) -> None:
        """Refuse a setting that the form of the upload has no place for.

        Raises
        ------
        Refusal
            If there is one.
        """
        for name in self.settings:
            if name not in self.upload.options:
                takers = " or ".join(one.name for one in UPLOADS.values() if name in one.options)
                found = f"--to {self.upload.name}" if self.asked else "none, and REVIEWS are from no such system"
                message = f"--{name}: expected --to {takers} with it, found {found}; add it, or leave --{name} out"
                raise Refusal(message)

    def try_out(self, reviewers: Sequence[Label], items: Sequence[Label]) -> None:
        """Write each label once, to nowhere.

        Raises
        ------
        InputError
            If the upload does not take one of them.
        """
        if reviewers and items:
            pairs = {
                "reviewer": [*reviewers, *[reviewers[0]] * len(items)],
                "item": [*[items[0]] * len(reviewers), *items],
            }
            self._text(Outgoing(pairs))

    def write(self, outgoing: Outgoing) -> None:
        """Write reviews as the upload takes them, if a file is asked for."""
        if self.output:
            write_whole(self.output, self._text(outgoing))

    def _text(self, outgoing: Outgoing) -> str:
        return self.upload.write(replace(outgoing, label=self.label, invitation=self.invitation))


def upload_options(command: Command) -> Command:
    """Add the options to a command.

    >>> @click.command()
    ... @upload_options
    ... def hand_over(**options): ...
    >>> [option.name for option in hand_over.params]
    ['to', 'label', 'invitation']
    """
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def read_destination(to: str | None, output: str | None, label: str | None, invitation: str | None) -> Destination:
    """Return where reviews go: to who was asked for, or to a table.

    Raises
    ------
    Refusal
        If there is no file to write, or the form that was asked for has no place for a setting.
    """
    upload = UPLOADS[to] if to else CSV
    if to and output is None:
        message = f"--to {to}: expected -o FILE with it, found none; name a file, such as -o upload{upload.suffix}"
        raise Refusal(message)
    destination = Destination(upload, output, to is not None, label, invitation)
    if destination.settings and output is None:
        name, value = next(iter(destination.settings.items()))
        message = f"--{name} {value}: expected -o FILE with it, found none; name the file that is to be written"
        raise Refusal(message)
    # Where nobody says who takes the file, its system is known once the input is.
    if destination.asked:
        destination.expect_settings_fit()
    return destination

"""``--to``, ``--label``, ``--invitation``: who takes the file that ``-o`` writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from reviewgraph.cli.command import option
from reviewgraph.cli.options import NamesOption, given_system, with_options
from reviewgraph.cli.output import Refusal, say, show, write_table, write_whole
from reviewgraph.errors import InputError
from reviewgraph.formats.systems.known import takers
from reviewgraph.formats.systems.mail import CSV
from reviewgraph.formats.systems.system import Outgoing
from reviewgraph.words import counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Sized

    from reviewgraph.formats.systems.system import System
    from reviewgraph.labels import Label

    Decorator = Callable[..., Any]

OPTIONS = (
    option(
        "Result",
        "--to",
        everyday=True,
        cls=NamesOption,
        names=takers,
        text=lambda: (
            "Who takes the file of -o [default: the system REVIEWS are from, else csv]. "
            + "; ".join(f"{name}: {system.words}" for name, system in takers().items())
            + "."
        ),
    ),
    option("Result", "--label", metavar="NAME", help="For openreview the label of the edges, for hotcrp the round."),
    option("Result", "--invitation", metavar="ID", help="For openreview: the invitation that the edges name."),
)

#: Reviews that a message names.
NAMED = 10

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
        As :class:`~reviewgraph.formats.systems.system.Outgoing` has them.
    """

    upload: System
    output: str | None
    asked: bool
    label: str | None
    invitation: str | None

    def settled(self, reviewers: Sequence[Label], items: Sequence[Label]) -> Destination:
        """Return the destination for these labels, before the work begins.

        Where nobody said who takes the file, it is the system that the input came from.

        Raises
        ------
        InputError
            If it takes none of the reviewers, or none of the papers, and a file is asked for.
        Refusal
            If its form has no place for a setting.
        """
        system = takers().get(given_system() or "", CSV)
        chosen = self if self.asked else replace(self, upload=system)
        try:
            chosen.try_out(reviewers, items)
        except InputError:
            if self.output:
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
                those = " or ".join(one.name for one in takers().values() if name in one.options)
                found = f"--to {self.upload.name}" if self.asked else "none, and REVIEWS are from no such system"
                message = f"--{name}: expected --to {those} with it, found {found}; add it, or leave --{name} out"
                raise Refusal(message)

    def try_out(self, reviewers: Sequence[Label], items: Sequence[Label]) -> None:
        """Write a review to nowhere.

        Raises
        ------
        InputError
            If the upload takes none of the reviewers, or none of the items, or not the settings.
        """
        if reviewers and items:
            shown = [
                [label for label in labels if accepted.fits(str(label))][:1] or labels
                for labels, accepted in ((reviewers, self.upload.reviewers), (items, self.upload.items))
            ]
            self.upload.expect_taken(Outgoing({"reviewer": shown[0], "item": shown[1]}))
            self._text(Outgoing({"reviewer": shown[0][:1], "item": shown[1][:1]}))

    def write(self, outgoing: Outgoing) -> bool:
        """Write the reviews that the upload takes, if a file is asked for; names the others.

        Returns
        -------
        bool
            Whether all were written.
        """
        if not self.output:
            return True
        taken, left = self.upload.parted(outgoing)
        if self.upload is CSV:
            write_table(self.output, taken.columns)
        else:
            write_whole(self.output, self._text(taken))
        if left:
            pairs = listed((f"{item} by {reviewer}" for reviewer, item in left), NAMED)
            enter = f"{self.upload.name} takes {self.upload.reviewers.words} and {self.upload.items.words}"
            say(f"{self.output}: {counted(len(left), 'review')} left out, to be entered by hand ({pairs}): {enter}")
        return not left

    def advise(self, written: Sized, outsiders: Sized | None = None) -> None:
        """Print what people have to know before they hand the file over, but for what options or REVIEWS settle.

        Parameters
        ----------
        written
            The reviews in the file.
        outsiders
            Who is known not to be of the committee, and so not asked; None where nobody knows who is of it.
        """
        given = click.get_current_context().params
        settled = () if outsiders is None else ("willing",)
        lines = [
            line
            for name, line in self.upload.advice.items()
            if not name or (name in given and not given[name] and name not in settled)
        ]
        if self.output and lines and len(written):
            show("\n".join(["", *lines]))

    def _text(self, outgoing: Outgoing) -> str:
        return self.upload.write(replace(outgoing, label=self.label, invitation=self.invitation))


def upload_options(command: Decorator) -> Decorator:
    """Add the options to a command.

    >>> @click.command()
    ... @upload_options
    ... def hand_over(**options): ...
    >>> [option.name for option in hand_over.params]
    ['to', 'label', 'invitation']
    """
    return with_options(OPTIONS, command)


def read_destination(to: str | None, output: str | None, label: str | None, invitation: str | None) -> Destination:
    """Return where reviews go: to who was asked for, or to a table.

    Raises
    ------
    Refusal
        If there is no file to write, or the form that was asked for has no place for a setting.
    """
    upload = takers()[to] if to else CSV
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

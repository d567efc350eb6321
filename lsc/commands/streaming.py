"""``calibrate --stream``: tables larger than memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lsc.commands.choosing import Choice, expect_number_to_draw, with_chances
from lsc.commands.extras import Extras
from lsc.commands.methods import settle_method
from lsc.methods import METHODS
from lsc.model.hypotheses import Shape, classes
from reviewgraph.cli.options import print_result, show_files
from reviewgraph.cli.output import csv_parts, say, show, write_whole
from reviewgraph.cli.streaming import expect_none_given
from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lsc.streams.calibration import StreamedCalibration
    from lsc.streams.posterior import StreamedPosterior
    from reviewgraph.results import Progress
    from reviewgraph.streams.table import Stream

#: Options that it knows; the second are the posterior's.
KNOWN = ("method", "hypothesis", "max_slope", "output", "as_json")
OF_POSTERIOR = ("select", "error_rate", "by_group_average", "lottery", "seed")
LINES = " or ".join(kind.name for kind in classes() if kind.shape is Shape.LINEAR)
HELP = f"the posterior, or --method lsc with {LINES} reviewers"


def calibrate_by_passes(stream: Stream, options: Mapping[str, Any], tell: Callable[[Progress], None]) -> None:
    """Calibrate a table larger than memory."""
    from lsc.streams.posterior import StreamedPosterior

    method = settle_method(options["method"], options, of_probabilities={"lottery": options["lottery"]})
    if method.stream is None:
        able = " or ".join(one.name for one in METHODS.values() if one.stream is not None)
        message = f"stream: expected --method {able} with it, found {method.name!r}"
        raise InputError(message)
    if method.probabilities:
        expect_number_to_draw(options["lottery"], options["select"])
    else:
        expect_none_given(OF_POSTERIOR, f" and --method {method.name}")
    given = {name: options[name] for name in ("hypothesis", "max_slope") if options[name] is not None}
    result = method.stream(stream, **given, progress=tell)
    if isinstance(result, StreamedPosterior):
        _with_chances(result, options)
    else:
        _plain(result, options)


def _with_chances(result: StreamedPosterior, options: Mapping[str, Any]) -> None:
    from lsc.words.streams import posterior_lines

    choice, extras = _chosen(result, options), Extras()
    if options["lottery"]:
        extras.draw(choice, options["seed"])
    if options["output"]:
        write_whole(options["output"], csv_parts(result.parts(selection=choice.selection)))
    if options["as_json"]:
        lists: dict[str, Any] = {"set_aside": [], "certain": [], "discuss": []}
        print_result({"selected": choice.selected, **lists, **result.to_dict(choice.selection), **extras.record})
    else:
        _show([*posterior_lines(result, choice.selection), *extras.lines], options["output"])
    if choice.refused:
        say(choice.refused)
        click.get_current_context().exit(1)


def _chosen(result: StreamedPosterior, options: Mapping[str, Any]) -> Choice:
    """Select the best papers where that is asked for."""
    from lsc.errors import Incomparable

    if options["select"] is None:
        return Choice()
    count, across = options["select"].of(int((result.rank > 0).sum())), options["by_group_average"]
    try:
        return with_chances(result.selection(count, error_rate=options["error_rate"], across_groups=across))
    except Incomparable as refusal:
        return Choice(refused=str(refusal))


def _plain(result: StreamedCalibration, options: Mapping[str, Any]) -> None:
    from lsc.words.streams import calibration_lines

    if options["output"]:
        write_whole(options["output"], csv_parts(result.parts()))
    if options["as_json"]:
        print_result(result.to_dict())
    else:
        _show(calibration_lines(result), options["output"])


def _show(lines: list[str], output: str | None) -> None:
    show("\n".join(lines))
    if output:
        show(f"All papers are in {output}.")
    show_files()

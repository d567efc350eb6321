"""``calibrate --stream``: tables larger than memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lsc.commands.choosing import Choice, expect_number_to_draw, with_chances
from lsc.commands.extras import Extras
from lsc.commands.methods import DEFAULT, LSC, settle_method
from reviewgraph.cli.options import print_result, show_files
from reviewgraph.cli.output import csv_parts, say, show, write_whole
from reviewgraph.cli.streaming import expect_none_given
from reviewgraph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lsc.streams.posterior import StreamedPosterior
    from reviewgraph.results import Progress
    from reviewgraph.streams.table import Stream

#: Options that it knows; the second are the posterior's.
KNOWN = ("method", "hypothesis", "max_slope", "output", "as_json")
OF_POSTERIOR = ("select", "error_rate", "by_group_average", "lottery", "seed")
HELP = "the posterior, or --method lsc with linear or offset reviewers"


def calibrate_by_passes(stream: Stream, options: Mapping[str, Any], tell: Callable[[Progress], None]) -> None:
    """Calibrate a table larger than memory."""
    name = settle_method(options["method"], options, only_posterior={"lottery": options["lottery"]})
    if name == DEFAULT:
        _posterior(stream, options, tell)
    elif name == LSC:
        _lsc(stream, options, tell)
    else:
        message = f"stream: expected --method {DEFAULT} or {LSC} with it, found {name!r}"
        raise InputError(message)


def _posterior(stream: Stream, options: Mapping[str, Any], tell: Callable[[Progress], None]) -> None:
    from lsc.streams.posterior import posterior_stream
    from lsc.words.streams import posterior_lines

    expect_number_to_draw(options["lottery"], options["select"])
    result = posterior_stream(stream, progress=tell)
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


def _lsc(stream: Stream, options: Mapping[str, Any], tell: Callable[[Progress], None]) -> None:
    from lsc.streams.calibration import calibrate_stream
    from lsc.words.streams import calibration_lines

    expect_none_given(OF_POSTERIOR, f" and --method {LSC}")
    given = {name: options[name] for name in ("hypothesis", "max_slope") if options[name] is not None}
    result = calibrate_stream(stream, **given, progress=tell)
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

"""``reviewgraph reproduce``: the experiments of the paper on Least Square Calibration."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from typing import Any

import click

from reviewgraph._base import Next, write_together
from reviewgraph.cli import (
    Refusal,
    Session,
    examples,
    json_option,
    option,
    pass_session,
    show,
    telling,
)

SIMULATED = ("table1", "mixture", "mixed", "doubly-connected", "k", "ratio", "sigma", "rank")
#: One thread in each process: two processes on two cores, and sums in one order whatever the number of processes.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@click.command(
    epilog=examples(
        ("A quick look at the first table:", "reproduce table1 --papers 30 --trials 1"),
        ("With tables written to a folder:", "reproduce rank --papers 30 --trials 1 -o results"),
    ),
)
@click.argument("name", type=click.Choice([*SIMULATED, "all"]))
@option("Input", "--trials N", minimum=1, default=20, help="Simulations per setting.")
@option("Input", "--jobs N", minimum=1, default=1, help="Number of processes.")
@option("Input", "--papers N", minimum=30, help="Number of papers; fewer for a quick look.  [default: 1000]")
@option("Input", "-o DIR", "output", help="Write tables to this folder.")
@json_option("Input")
@pass_session
def reproduce(
    session: Session,
    /,
    name: str,
    trials: int,
    jobs: int,
    papers: int | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Reproduce the experiments of the paper on Least Square Calibration, and compare with its figures.

    The seeds are fixed: the numbers are the same every time, with any --jobs.
    """
    _expect_installed()
    for variable in THREADS:
        os.environ.setdefault(variable, "1")
    cells = _simulated(SIMULATED if name == "all" else [name], trials, jobs, papers, output, as_json)
    if as_json:
        session.print_result({"cells": cells})
        return
    if output:
        show(f"Tables are in {output}.")
    else:
        show(f"Next  {Next.of('reproduce', name, session.again(), '-o results')}", whole=True)


def _expect_installed() -> None:
    """Refuse without joblib, which only this command needs."""
    if importlib.util.find_spec("joblib") is None:
        raise Refusal("reproduce needs joblib; to install: python -m pip install 'reviewgraph[reproduce]'")


def _simulated(
    names: Sequence[str], trials: int, jobs: int, papers: int | None, output: str | None, quiet: bool
) -> list[dict[str, Any]]:
    from joblib import parallel_config

    from lsc.experiments import EXPERIMENTS, cells_of, run, save, table

    chosen = [EXPERIMENTS[name] for name in names]
    if papers is not None:
        chosen = [experiment.scaled(papers) for experiment in chosen]
    if output:
        write_together(output, {})  # a folder that cannot be made is refused before the trials
    # One thread per process: the processes share the cores.
    with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1), telling() as tell:
        results = run(chosen, trials, progress=tell)
    all_cells = []
    for experiment in chosen:
        cells = cells_of(experiment, results)
        all_cells += cells
        if output:
            save(output, experiment, cells)
        if not quiet:
            show("\n".join([*table(experiment, cells), ""]), whole=True)
    if not quiet and papers is None:
        show("In brackets the figures of the paper; = within two standard errors, + better, ! not reproduced.")
    return all_cells

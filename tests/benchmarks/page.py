"""Write the section on speed and size of REPORT.md: the goals of this project, and what was measured.

``python -m tests.benchmarks.page [ROW ...] [--limit SECONDS]``. Each row runs in a process of its own: the first call
there is the cold one, the fastest of the next ones the warm one, and what it is compared with runs in the same process.
A row that is not named, or is not done within the limit, is reported as not run.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks.rows import MISSED, ROWS, RUNS, Measured, Row

REPORT = Path(__file__).with_name("REPORT.md")
ROOT = REPORT.parents[2]
#: The lines between which the section is.
MARKS = ("<!-- speed: written by python -m tests.benchmarks.page -->\n", "<!-- end of speed -->\n")


def alone(name: str, limit: float) -> Measured | None:
    """Measure a row in a process of its own; None where it is not done in time.

    Raises
    ------
    RuntimeError
        If the row fails.
    """
    command = [sys.executable, "-m", "tests.benchmarks.page", "--inside", name]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=limit, cwd=ROOT)
    except subprocess.TimeoutExpired:
        return None
    if run.returncode:
        raise RuntimeError(run.stderr)
    return json.loads(run.stdout.splitlines()[-1])


def inside(name: str) -> None:
    """Measure a row in this process and print it as JSON."""
    found = ROWS[name].measure()
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 2**20
    print(json.dumps(found | {"peak": peak}))


def seconds(value: float | None) -> str:
    """Return seconds in three digits."""
    return "" if value is None else f"{value:.3g} s"


def line(row: Row, found: Measured | None) -> str:
    """Return a row of the table."""
    if found is None:
        return f"| {row.work} | {row.goal} | not run | | | | | | |"
    anchor = f"{seconds(found['anchor'])} ({found['rival']})" if "anchor" in found else ""
    times = f"{found['anchor'] / found['warm']:.3g} x" if "anchor" in found else ""
    cells = [
        seconds(found["cold"]),
        seconds(found.get("warm")),
        anchor,
        times,
        f"{found['peak']:.2f} GB",
        row.verdict(found),
    ]
    return f"| {' | '.join([row.work, row.goal, *cells, found['words']])} |"


def page(measured: dict[str, Measured | None], limit: float) -> str:
    """Return the section."""
    ran = {name: found for name, found in measured.items() if found is not None}
    missed = [name for name, found in ran.items() if MISSED in ROWS[name].verdict(found)]
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "cvxpy", "clarabel"))
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    table = "\n".join(line(row, measured.get(name)) for name, row in ROWS.items())
    return f"""
Goals of speed and size, and what `python -m tests.benchmarks.page` measured on {day}: {len(ran)} of
{len(ROWS)} rows ran, {len(ran) - len(missed)} reached their goal, {len(missed)} missed it. The command writes
this section.

Each row runs in its own process. *Cold* is the first call in it, *warm* the fastest of the next ones. Compiled kernels
and modules are on disk, as after an installation by pip. *Speed-up* = time of the rival / our warm time (same process,
same data, each to its own tolerance); below 1, we are slower. Rows with CVXPY give CPU time on one thread, the least
of {RUNS} runs each, taken in turn; the other rows give elapsed time, and one run of networkx.
*Peak* is the memory of the largest process of the row, including the
rival. A row is marked as not run if it was not requested, failed, or took longer than {limit:g} s.

| work | goal | cold | warm | rival | speed-up | peak | verdict | result |
|---|---|---|---|---|---|---|---|---|
{table}

Machine: {os.cpu_count()} processors ({platform.machine()}), load {os.getloadavg()[0]:.1f} at the end of the run, Python
{platform.python_version()}, {packages}. A load above the number of
processors means that other programs ran at the same time, which slows rows to different degrees.

"""


def main() -> None:
    """Measure rows and write the section."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; all where none is named")
    asked.add_argument("--limit", type=float, default=1800.0, metavar="SECONDS", help="for each row; half an hour")
    asked.add_argument("--inside", choices=ROWS, help=argparse.SUPPRESS)
    options = asked.parse_args()
    if options.inside:
        inside(options.inside)
        return
    unknown = sorted(set(options.rows) - set(ROWS))
    if unknown:
        asked.error(f"no such row: {', '.join(unknown)}; expected {', '.join(ROWS)}")
    # Modules are compiled before the first run, as pip does when it installs.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, "-m", "compileall", "-q", "reviewgraph", "lsc", "planner"], check=True, cwd=ROOT)
    measured: dict[str, Measured | None] = {}
    failures = 0
    for name in options.rows or ROWS:
        try:
            measured[name] = alone(name, options.limit)
        except RuntimeError as failure:
            failures += 1
            print(f"{name}: {failure}", file=sys.stderr)
        print(line(ROWS[name], measured.get(name)), flush=True)
    before, _, rest = REPORT.read_text("utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    REPORT.write_text(before + MARKS[0] + page(measured, options.limit) + MARKS[1] + after, encoding="utf-8")
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()

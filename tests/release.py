"""Build the wheel and the sdist, install both where nothing else is, and run the demo: ``python -m tests.release``.

The wheel is for this system and one Python; cibuildwheel makes those that are published.

Needs ``uv`` and a package index. Each Python that uv finds and each that ``--python PATH`` names gets the sdist twice,
with the newest dependencies and with the lowest that ``pyproject.toml`` allows; the Python of the wheel gets that, too.
``--tests`` runs a part of the tests of the unpacked sdist in each environment. The exit status is 1 where anything
failed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGES = ("reviewgraph", "planner", "lsc")
#: What is no module and yet part of a working installation.
CARRIED = {f"{package}/py.typed" for package in PACKAGES} | {
    path.relative_to(ROOT).as_posix()
    for package in PACKAGES
    for path in (ROOT / package).rglob("*")
    if path.suffix in (".css", ".csv", ".html", ".js", ".pxd")
}
RANGE = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
ENDS = {"newest": "highest", "lowest": "lowest-direct"}
#: A small part of the tests that meets every dependency; each takes seconds.
TESTS = (
    "tests/lsc/test_programs.py",
    "tests/planner/test_solving.py",
    "tests/reviewgraph/cli/test_check.py",
    "tests/reviewgraph/exchange",
    "tests/reviewgraph/formats/test_engine.py",
    "tests/test_takes.py",
    "tests/reviewgraph/report",
    "tests/test_notebooks.py",
)
#: What these need. The lowest dependencies warn of what has changed since, which is no error here.
TESTED_WITH = ("hypothesis", "joblib", "polars", "pyarrow", "pytest")
CALM = ("-q", "-x", "-p", "no:cacheprovider", "-o", "filterwarnings=default")


class Outcome(NamedTuple):
    """What came of one installation."""

    python: str
    file: str
    dependencies: str
    failure: str | None


def missing(names: Iterable[str]) -> list[str]:
    """Return what a wheel of these names lacks."""
    held = set(names)
    lacking = sorted(CARRIED - held)
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in held):
        lacking.append("LICENSE")
    compiled = {name.partition(".")[0] for name in held if name.endswith((".so", ".pyd"))}
    return lacking + sorted(name for name in CARRIED if name.endswith(".pxd") and name[:-4] not in compiled)


def unwanted(names: Iterable[str]) -> list[str]:
    """Return the names of a wheel that belong to none of the packages, tests among them."""
    return sorted(
        name for name in names if name.split("/")[0] not in PACKAGES and not name.split("/")[0].endswith(".dist-info")
    )


def called(*command: str | Path, folder: Path, **more: str) -> str:
    """Run a command, with ``more`` in its environment, and return what it printed; an error bears its last words."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= more
    run = subprocess.run(
        [str(word) for word in command], cwd=folder, env=environment, capture_output=True, text=True, timeout=900
    )
    if run.returncode:
        message = f"{' '.join(map(str, command))}: status {run.returncode}\n{(run.stdout + run.stderr)[-3000:]}"
        raise RuntimeError(message)
    return run.stdout


def built(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and from it the wheel; return both."""
    build = ("uv", "tool", "run", "--from", "build", "pyproject-build", "--outdir", folder, ROOT)
    called(*build, folder=folder)
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    if missing(names) or unwanted(names):
        message = f"{wheel.name} lacks {missing(names)} and should not hold {unwanted(names)}"
        raise RuntimeError(message)
    return wheel, sdist


def pythons() -> list[str]:
    """Return the interpreters of this machine that the package is for, one a minor version."""
    listed = called("uv", "python", "list", "--only-installed", "--output-format", "json", RANGE, folder=ROOT)
    found: dict[str, str] = {}
    for entry in json.loads(listed):
        if entry["implementation"] == "cpython" and entry.get("variant", "default") == "default":
            found.setdefault(entry["version"].rpartition(".")[0], entry["path"])
    return sorted(found.values())


def tried(python: str, file: Path, end: str, tests: Path | None) -> Outcome:
    """Install one file for one Python with one end of the dependencies, and use it."""
    version = called(python, "-c", "import platform; print(platform.python_version())", folder=ROOT).strip()
    kind = "wheel" if file.suffix == ".whl" else "sdist"
    with tempfile.TemporaryDirectory() as made:
        home, work = Path(made, "env"), Path(made, "work")
        work.mkdir()
        within = home / ("Scripts" if os.name == "nt" else "bin")
        install = ("uv", "pip", "install", "-q", "-p", within / "python")
        only = ("--only-binary", ":all:", *(("--no-binary", "reviewgraph") if kind == "sdist" else ()))
        try:
            called("uv", "venv", "-q", "-p", python, home, folder=work)
            # By the project's own list its dependencies are direct ones, of which uv takes the lowest.
            called(*install, "--resolution", ENDS[end], *only, "-r", ROOT / "pyproject.toml", file, folder=work)
            used(within, work)
            if tests is not None:
                called(*install, *TESTED_WITH, folder=work)
                called(within / "python", "-m", "pytest", *CALM, *TESTS, folder=tests)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return Outcome(version, kind, end, str(error))
    return Outcome(version, kind, end, None)


def used(within: Path, work: Path) -> None:
    """Run the demo and the check of its table, and ask for the levels in the JSON."""
    called(within / "reviewgraph", "demo", folder=work)
    report = json.loads(called(within / "reviewgraph", "check", "reviewgraph-demo.csv", "--json", folder=work))
    if "level" not in report:
        message = f"check --json has no level: {sorted(report)}"
        raise RuntimeError(message)
    called(within / "python", "-c", "import reviewgraph, planner, lsc; lsc.calibrate, planner.assign", folder=work)


def main() -> None:
    """Build, install, run, and print a table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--python", action="append", default=[], metavar="PATH", help="one more interpreter")
    asked.add_argument("--only", choices=ENDS, help="one end of the dependencies")
    asked.add_argument("--keep", type=Path, metavar="DIR", help="where the sdist goes once all has run")
    asked.add_argument("--tests", action="store_true", help="run a part of the tests in each environment")
    options = asked.parse_args()
    with tempfile.TemporaryDirectory() as made:
        wheel, sdist = built(Path(made))
        with tarfile.open(sdist) as packed:
            packed.extractall(made, filter="data")
        tests = Path(made, sdist.name.removesuffix(".tar.gz")) if options.tests else None
        ends = [options.only] if options.only else list(ENDS)
        print("| Python | file | dependencies | demo and check |\n|---|---|---|---|")
        outcomes = []
        for python in dict.fromkeys([*pythons(), *options.python]):
            version = called(python, "-c", "import sys; print('cp{}{}'.format(*sys.version_info))", folder=ROOT).strip()
            wheels = [(wheel, ends[0])] if f"-{version}-" in wheel.name else []
            for file, end in [*((sdist, end) for end in ends), *wheels]:
                found = tried(python, file, end, tests)
                outcomes.append(found)
                print(f"| {found.python} | {found.file} | {end} | {'failed' if found.failure else 'ran'} |", flush=True)
        failures = [found.failure for found in outcomes if found.failure]
        if options.keep and not failures:
            options.keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(sdist, options.keep)
    print(*failures, sep="\n\n", file=sys.stderr)
    raise SystemExit(1 if failures or not outcomes else 0)


if __name__ == "__main__":
    main()

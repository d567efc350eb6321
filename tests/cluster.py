"""Trials on a local Dask cluster that is killed in the middle, and resumed: ``python -m tests.cluster``.

Needs ``distributed``. The trials run three times: in this process; on a cluster of which one worker after another is
killed; and on one that is killed whole, scheduler and all, once half of the trials are stored, and then on another. The
exit status is 1 unless all three give the same numbers, every trial that was stored is whole, and none ran again.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from joblib import parallel_config

from lsc.experiments import EXPERIMENTS, Results, run

EXPERIMENT, ITEMS, WORKERS, PATIENCE = "doubly-connected", 40, 2, 300.0


def on_cluster(folder: Path, trials: int) -> None:
    """Start a cluster of processes here, and run the trials that are not in the folder yet."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, silence_logs=60)
    with cluster, Client(cluster) as client, parallel_config(backend="dask"):
        print(json.dumps(list(client.run(os.getpid).values())), flush=True)
        started = len(stored(folder))
        run([EXPERIMENTS[EXPERIMENT].scaled(ITEMS)], trials, folder=folder)
        print(len(stored(folder)) - started, flush=True)


def stored(folder: Path) -> list[Path]:
    """Return the files of the trials that are done."""
    return sorted(folder.rglob("*.json"))


class Cluster:
    """The trials on a cluster, in a session of its own, so that all of it can be killed at once."""

    def __init__(self, folder: Path, trials: int) -> None:
        words = [sys.executable, "-m", "tests.cluster", "--folder", str(folder), "--trials", str(trials)]
        self.folder = folder
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert self.process.stdout
        self.said = self.process.stdout
        self.workers: list[int] = json.loads(self.said.readline())

    def wait_for(self, trials: int) -> None:
        """Return once so many trials are stored."""
        until = time.monotonic() + PATIENCE
        while len(stored(self.folder)) < trials:
            if self.process.poll() is not None or time.monotonic() > until:
                sys.exit(f"expected {trials} trials, found {len(stored(self.folder))}; status {self.process.poll()}")
            time.sleep(0.01)

    def ended(self) -> int:
        """Return how many trials it ran, once it has ended."""
        ran = int(self.said.readline())
        if self.process.wait(PATIENCE):
            sys.exit(f"the cluster ended with status {self.process.returncode}")
        return ran


def numbers(results: Results) -> dict[str, Any]:
    """Return what came out as plain values that can be compared, NaN included."""
    return {setting.key: json.dumps(list(trials)) for setting, trials in results.items()}


def losses(trials: int, expected: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Lose workers, then a whole cluster; yield what was seen, and whether it is as it should be."""
    experiment = EXPERIMENTS[EXPERIMENT].scaled(ITEMS)
    total = len(expected) * trials
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cluster = Cluster(folder, trials)
        for number, worker in enumerate(cluster.workers, 1):
            cluster.wait_for(number * total // 4)
            os.kill(worker, signal.SIGKILL)
        ran = cluster.ended()
        same = numbers(run([experiment], trials, jobs=1, folder=folder)) == expected
        killed = f"{len(cluster.workers)} workers killed one after the other"
        yield f"{killed}: {ran} of {total} trials ran, same numbers: {same}", same and ran == total
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cluster = Cluster(folder, trials)
        cluster.wait_for(total // 2)
        os.killpg(cluster.process.pid, signal.SIGKILL)
        cluster.process.wait()
        left = {path: path.stat().st_mtime_ns for path in stored(folder)}
        whole = all(json.loads(path.read_text("utf-8")) for path in left)
        yield (
            f"the cluster killed whole: {len(left)} of {total} trials stored, each whole: {whole}",
            0 < len(left) < total,
        )
        ran = Cluster(folder, trials).ended()
        once = ran == total - len(left) and all(path.stat().st_mtime_ns == left[path] for path in left)
        yield f"another cluster: the other {ran} trials ran, and none twice: {once}", once
        same = numbers(run([experiment], trials, jobs=1, folder=folder)) == expected
        yield f"same numbers as in one process: {same}", same


def main() -> None:
    """Run it all, or what one cluster runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=4, help="of each setting")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.folder:
        on_cluster(given.folder, given.trials)
        return
    expected = numbers(run([EXPERIMENTS[EXPERIMENT].scaled(ITEMS)], given.trials, jobs=1))
    well = True
    for line, holds in losses(given.trials, expected):
        print(line, flush=True)
        well = well and holds
    sys.exit(not well)


if __name__ == "__main__":
    main()

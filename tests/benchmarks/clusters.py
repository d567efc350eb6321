"""A table on a local Dask cluster of processes: time, memory of each worker, and the distance to the answer in memory.

    python -m tests.benchmarks.clusters 1000000             # 1, 2 and 4 partitions, a process for each
    python -m tests.benchmarks.clusters 10000000 --partitions 2 --jobs check,posterior

Needs ``distributed``. The table: 10 reviews a reviewer, 5 an item, rows in no order (:mod:`tests.benchmarks.streams`).
Claims: the same answer as in memory up to rounding, for all numbers of partitions; a worker's memory follows its part.
"""

import argparse
import itertools
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tests.benchmarks.streams import in_memory, make, peak

LOAD = 10


def write_parts(folder, reviews):
    """Write the table as files of about a million rows."""
    make(folder / "whole.parquet", reviews, LOAD)
    whole, parts = pa.parquet.ParquetFile(folder / "whole.parquet"), folder / "parts"
    parts.mkdir()
    for number in range(whole.num_row_groups):
        pa.parquet.write_table(whole.read_row_group(number), parts / f"{number}.parquet")
    return parts


def done(table, job):
    """Return components, qualities or the line of a table in memory or on a cluster, and seconds."""
    from lsc import calibrate, posterior
    from reviewgraph import Reviews, check
    from reviewgraph.graph import connected_components

    begun = time.perf_counter()
    if job == "check":
        found = len(connected_components(table)) if isinstance(table, Reviews) else check(table).pieces
    else:
        found = (calibrate(table) if job == "lines" else posterior(table)).quality
    return found, time.perf_counter() - begun


def apart(found, whole):
    """Return how far two answers are apart."""
    if np.ndim(whole):
        return f"{np.nanmax(np.abs(found - whole)):.1e} from memory"
    return f"{found} pieces, {whole} in memory"


def line(client, table, partitions, job, whole):
    """Do one job on a cluster and return what is printed about it."""
    found, seconds = done(table, job)
    peaks = sorted(client.run(peak).values())
    words = f"{seconds:7.1f} s, peaks of workers {peaks[0]:.2f} to {peaks[-1]:.2f} GB; {apart(found, whole)}"
    return f"{job:10} {partitions} partitions, {len(peaks)} workers: {words}"


def main():
    """Make the table, run the jobs in memory and on clusters, print a line each."""
    from distributed import Client, LocalCluster

    from reviewgraph import cluster_reviews

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reviews", type=int)
    parser.add_argument("--partitions", default="1,2,4", help="numbers of partitions, separated by commas")
    parser.add_argument("--workers", type=int, help="processes; as many as partitions by default")
    parser.add_argument("--jobs", default="check,lines,posterior", help="check, lines and posterior")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder, whole = Path(place), {}
        parts = write_parts(folder, given.reviews)
        reviews = in_memory(folder / "whole.parquet")
        for job in given.jobs.split(","):
            whole[job], seconds = done(reviews, job)
            print(f"{job:10} in memory {seconds:8.1f} s, peak {peak():.2f} GB", flush=True)
        for partitions, job in itertools.product(map(int, given.partitions.split(",")), whole):
            quiet = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 60}
            with LocalCluster(n_workers=given.workers or partitions, **quiet) as cluster, Client(cluster) as client:
                begun = time.perf_counter()
                with cluster_reviews(f"{parts}/*.parquet", client, folder, partitions=partitions) as table:
                    reading = time.perf_counter() - begun
                    words = line(client, table, partitions, job, whole[job])
                words += f"; client {peak():.2f} GB"
                print(f"{words}; reading {reading:.1f} s", flush=True)


if __name__ == "__main__":
    main()

"""Tables larger than memory: time, peak memory and growth at n, 2n and 4n reviews.

    python -m tests.benchmarks.streams 2500000          # check and calibrate at 2.5, 5 and 10 million
    python -m tests.benchmarks.streams 100000000 --sizes 1 --limit 16 --load 5 --jobs check
    python -m tests.benchmarks.streams 250000 --jobs posterior,posterior-memory

Each size is a Parquet file of its own: 10 reviews a reviewer, 5 an item, rows in no order. Each job is
a process of its own, with its address space limited where that is asked for. Beside the streamed calibrations stand
those in memory, up to ten million reviews; claims: 100 million within 16 GB, linear growth, and the same answers.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

PER_ITEM, ROWS, NOISE = 5, 1 << 20, 0.5
IN_MEMORY, MEMORY = 10_000_000, ("memory", "posterior-memory")
JOBS = "check, lines and posterior (streamed), memory and posterior-memory (in memory), separated by commas"


def mixed(values, salt):
    """Return uniform numbers in [0, 1) that depend on the values and the salt alone (the finaliser of SplitMix64)."""
    bits = values.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt * 0x632BE59BD9B4E019 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return ((bits ^ (bits >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) / 2**53


def normal(values, salt):
    """Return normal numbers likewise."""
    return np.sqrt(-2.0 * np.log1p(-mixed(values, salt))) * np.cos(2.0 * np.pi * mixed(values, salt + 1))


def make(path, reviews, load):
    """Write a file of about so many reviews: reviewers of any slope up to 2 and any offset, noise within."""
    people, items = reviews // load, reviews // PER_ITEM
    total, stride = people * load, 7_919 * 104_729
    schema = pa.schema({"reviewer": pa.int64(), "item": pa.int64(), "score": pa.float64()})
    with pa.parquet.ParquetWriter(path, schema) as file:
        for first in range(0, total, ROWS):
            # A step that has no factor in common with the number of rows visits each once, far apart.
            row = np.arange(first, min(first + ROWS, total)) * stride % total
            reviewer, slot = row // load, row % load
            far = 1 + (mixed(reviewer, 1) * (items // load - 1)).astype(np.int64)
            item = ((mixed(reviewer, 3) * items).astype(np.int64) + slot * far) % items
            quality = 5.32 + 1.2 * normal(item, 5) + NOISE * normal(row, 7)
            score = 2.0 * mixed(reviewer, 9) * quality + 2.0 * normal(reviewer, 11)
            file.write_table(pa.table([reviewer, item, score], schema))


def peak():
    """Return the largest memory that this process has had, in GB."""
    # Not ru_maxrss, which a process has from the one that started it.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("utf-8").splitlines())
    return int(status["VmHWM"].split()[0]) / 2**20


def in_memory(path):
    """Return the reviews of a file, without codes that nobody has, as a stream is, for probes to be drawn alike."""
    from reviewgraph import Reviews

    table = pyarrow.parquet.read_table(path)
    reviewer, item = (np.unique(table[name].to_numpy(), return_inverse=True)[1] for name in ("reviewer", "item"))
    sizes = {"reviewers": int(reviewer.max()) + 1, "items": int(item.max()) + 1}
    return Reviews.from_codes(reviewer, item, table["score"].to_numpy(), **sizes)


def told(found):
    """Return what a calibration came to."""
    if hasattr(found, "objective"):
        return {"objective": found.objective, "message": found.message}
    known = found.beliefs
    message = f"{known.status}, {known.sweeps} sweeps at last, evidence {known.evidence:.6f}, kappa {known.kappa:.3f}, "
    return {"message": message + f"mean quality {np.nanmean(found.quality):.9f}"}


def run(job, path, limit):
    """Do one job in this process; print its figures as JSON."""
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit << 30, limit << 30))
    from lsc import calibrate, posterior
    from reviewgraph import check, stream_reviews

    def tell(now):
        print(f"{now.seconds:8.1f} s  {now.words}", file=sys.stderr, flush=True)

    figures, begun, cpu = {}, time.perf_counter(), time.process_time()
    if job in MEMORY:
        reviews = in_memory(path)
        pa.default_memory_pool().release_unused()
        figures["reading"], begun, cpu = time.perf_counter() - begun, time.perf_counter(), time.process_time()
        found = calibrate(reviews) if job == "memory" else posterior(reviews, progress=tell)
        figures |= told(found)
    else:
        with stream_reviews(path) as stream:
            figures["reading"], begun, cpu = time.perf_counter() - begun, time.perf_counter(), time.process_time()
            if job == "check":
                figures |= check(stream).to_dict()
            else:
                figures |= told((posterior if job == "posterior" else calibrate)(stream, progress=tell))
    seconds = {"seconds": time.perf_counter() - begun, "cpu": time.process_time() - cpu}
    print(json.dumps({**figures, **seconds, "peak": peak()}))


def main():
    """Make the files, run the jobs, print a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reviews", type=int)
    parser.add_argument("--sizes", type=int, default=3, help="how many sizes, each twice the one before")
    parser.add_argument("--limit", type=int, default=0, help="address space in GB; none by default")
    parser.add_argument("--jobs", default="check,lines,memory", help=JOBS)
    parser.add_argument("--load", type=int, default=10, help="reviews a reviewer")
    parser.add_argument("--file", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.file:
        run(given.jobs, given.file, given.limit)
        return
    with tempfile.TemporaryDirectory() as folder:
        for power in range(given.sizes):
            reviews, path = given.reviews * 2**power, Path(folder) / "reviews.parquet"
            make(path, reviews, given.load)
            for job in given.jobs.split(","):
                if job in MEMORY and reviews > IN_MEMORY:
                    continue
                words = [sys.executable, "-m", "tests.benchmarks.streams", str(reviews), "--jobs", job]
                words += ["--file", str(path), "--limit", str(given.limit)]
                found = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)
                print(
                    f"{reviews:>12,} {job:16} reading {found['reading']:6.1f} s, then {found['seconds']:7.1f} s "
                    f"({found['cpu']:.1f} of CPU), peak {found['peak']:.2f} GB; "
                    f"{found.get('message') or found['connected']}",
                    flush=True,
                )


if __name__ == "__main__":
    main()

"""Results as they come, one line of JSON each, appended whole: a run that was killed goes on where it ended."""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


def append(path: Path, record: dict[str, Any]) -> None:
    """Append a record as one line that is on the disk when this returns.

    A line that a kill cut short gets its end of line first, so that it spoils no other.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab+") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(record).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file in order, leaving out lines that were cut short; none where there is no file."""
    if not path.exists():
        return
    for line in path.read_text("utf-8").splitlines():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def failures(rows: Iterable[dict[str, Any]], *keys: str) -> list[str]:
    """Return a line for each run that failed and did not succeed later; ``keys`` identify a run."""
    failed: dict[tuple[Any, ...], str] = {}
    for record in rows:
        run = tuple(record.get(key) for key in keys)
        failed.pop(run, None)
        if "failed" in record:
            failed[run] = record["failed"]
    lines = []
    for run, reason in failed.items():
        name = ", ".join(f"{key} {value}" for key, value in zip(keys, run, strict=True))
        lines.append(f"failed: {name}: {reason}")
    return lines

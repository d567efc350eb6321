"""What the page holds: files in a private folder, choices, and one running command."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reviewgraph._base.errors import InputError
from reviewgraph.cli.app.steps import (
    EXCEL,
    INSTEAD,
    ROLES,
    SEVERAL,
    STEPS,
    Step,
    title_of,
)
from reviewgraph.cli.app.uploads import OURS, Upload, recognise, safe_name
from reviewgraph.formats.systems.known import SYSTEMS

#: Limits on what is dropped in: bytes in all, and files.
MOST_BYTES = 200_000_000
MOST_FILES = 40
#: Seconds that a stopped command has to return the best result so far.
PATIENCE = 5.0


@dataclass
class Run:
    """A command that runs, or has ended: its progress and messages, then its JSON and its report."""

    step: Step
    to: str  #: The system that the first of its files is for.
    process: Any  #: Of :func:`asyncio.create_subprocess_exec`.
    task: asyncio.Task[None] = field(init=False)  #: Follows the process to its end.
    lines: list[str] = field(default_factory=list)
    stopped: bool = False
    error: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)
    report: str = ""
    files: Mapping[str, str] = field(default_factory=dict)  #: What the files are that it wrote, by name.

    @property
    def first(self) -> str:
        """The part of the report that is seen first."""
        return "".join(self.report.partition("</section>")[:2])

    @property
    def details(self) -> str:
        """The sections of the report, all folded."""
        sections = self.report.partition("</section>")[2]
        return re.sub(r'(<details class="section"[^>]*?) open>', r"\1>", sections)


class Workspace:
    """The files, choices and results of one page; its commands run in ``folder``, one at a time.

    Files change and commands begin in one request at a time, which holds ``lock``; others may iterate over ``uploads``
    and ``results`` meanwhile, so these are replaced, not changed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = asyncio.Lock()
        self.clear()

    def clear(self) -> None:
        self.uploads: dict[str, Upload] = {}
        self.values: dict[str, str] = {}
        self.results: dict[str, Run] = {}
        self.running: Run | None = None
        self.notes: list[str] = []
        for path in self.folder.iterdir():
            path.unlink()

    # Files.

    def add(self, file_name: str, data: bytes) -> None:
        """Keep a file under its own name, and see what it is."""
        name = safe_name(file_name)
        (self.folder / name).write_bytes(data)
        upload = recognise(self.folder / name)
        if name != file_name:
            self.notes.append(f"A file was renamed to {name}: its name had characters that options use otherwise.")
        before = self.uploads.get(name)
        if before is not None and before.header == upload.header:
            upload.roles = before.roles
            upload.columns = before.columns
        # Of two files with a role that there may be only once, that with fewer papers is not used.
        for other in self.uploads.values():
            taken = [role for role in upload.roles if role in other.roles and role not in SEVERAL]
            if other.name != name and taken:
                used, left = (upload, other) if len(upload.titles) > len(other.titles) else (other, upload)
                left.idle = f"{used.name} is used for it: {ROLES[taken[0]].words.lower()}"
                left.roles = [role for role in left.roles if role not in taken]
        self.uploads = {**self.uploads, name: upload}

    def expect_room(self, names: Iterable[str], size: int) -> None:
        """Refuse files beyond the limits, by their names as they were sent and their bytes in all."""
        if size + sum((self.folder / name).stat().st_size for name in self.uploads) > MOST_BYTES:
            most = MOST_BYTES // 1_000_000
            raise InputError(f"expected at most {most} MB of files in all, found more; leave some of them out")
        if len({*self.uploads, *map(safe_name, names)}) > MOST_FILES:
            message = f"expected at most {MOST_FILES} files, found more; remove some, or put them into a zip archive"
            raise InputError(message)

    def remove(self, name: str) -> None:
        if name in self.uploads:
            self.uploads = {kept: upload for kept, upload in self.uploads.items() if kept != name}
            (self.folder / name).unlink(missing_ok=True)

    def of_role(self, role: str) -> list[str]:
        return [upload.word for upload in self.uploads.values() if role in upload.roles]

    def give(self, upload: Upload, role: str) -> None:
        """Give a file a role, and take it from another one, where there may be only one."""
        for other in self.uploads.values():
            if role in other.roles and role not in SEVERAL:
                other.roles = [kept for kept in other.roles if kept != role]
        upload.roles = [role] if role else []
        upload.columns = {}
        upload.idle = ""

    def card(self, step: Step) -> dict[str, Any]:
        """Return what to upload of the result of a step: the file, where, what stays as it is, and the first lines."""
        result = self.results.get(step.command)
        if result is None or not step.writes or not result.files or result.answer.get("reviews") == []:
            return {}
        name, title = next(iter(result.files.items()))
        system = SYSTEMS[result.to]
        lines = [] if system.is_table else (self.folder / name).read_text("utf-8").splitlines()
        place = system.place
        stays = "No review that is there is changed or removed." if "only adds" in place else ""
        if step.command == "calibrate":
            place = place.partition(" (")[0]
            stays = "All reviews and scores: it sets tags that chairs see." if system.results else ""
        return {"file": name, "title": title, "place": place, "stays": stays, "lines": lines}

    def ranked(self) -> list[dict[str, Any]]:
        """Return the papers of the calibration, the best first; none where each group has an order of its own."""
        result = self.results.get("calibrate")
        answer = result.answer if result else {}
        items = [entry for entry in answer.get("items") or () if entry["quality"] is not None]
        several = len({entry.get("group") for entry in items}) > 1
        selected = {item: place for place, item in enumerate(answer.get("selected") or ())}
        if not items or (several and not selected and not self.values.get("by-group-average")):
            return []
        # The ranks of one group tell which qualities are better.
        items.sort(key=lambda entry: entry["rank"])
        inside = [entry["quality"] for entry in items if entry.get("group") == items[-1].get("group")]
        sign = 1 if inside[0] >= inside[-1] else -1
        items.sort(key=lambda entry: (selected.get(entry["item"], len(selected)), -sign * entry["quality"]))
        discussed = [entry["item"] for entry in answer.get("discuss") or ()]
        lists = dict.fromkeys(answer.get("certain") or (), "in") | dict.fromkeys(discussed, "discuss")
        rest = "out" if selected else ""
        titles = {paper: title for upload in self.uploads.values() for paper, title in upload.titles.items()}
        # Places along a line of 100, from the lowest end of an interval to the highest.
        marks = [[entry["quality"], *(entry.get("interval") or ())] for entry in items]
        low = min(map(min, marks))
        scale = 100 / (max(map(max, marks)) - low or 1)
        return [
            {
                **entry,
                "title": titles.get(entry["item"], ""),
                "part": lists.get(entry["item"], rest),
                "marks": [round(scale * (mark - low), 1) for mark in (line[0], min(line), max(line))],
            }
            for entry, line in zip(items, marks, strict=True)
        ]

    @property
    def can_assign(self) -> bool:
        """Whether there are papers and reviewers to assign."""
        files = self.files_of(STEPS["assign"])
        return bool(files["items"] and files["reviewers"])

    @property
    def has_scores(self) -> bool:
        """Whether the check read scores."""
        check = self.results.get("check")
        files = check.answer.get("files", ()) if check else ()
        return any(file.get("scored") for file in files)

    @property
    def columns(self) -> dict[str, str]:
        """The columns that were chosen, by ``FILE:ROLE``."""
        chosen = (upload for upload in self.uploads.values() if upload.roles)
        return {f"{upload.word}:{role}": name for upload in chosen for role, name in upload.columns.items()}

    # Commands.

    def default_to(self, step: Step) -> str:
        """Return the system that the file of a step is for, if none was chosen: that of the reviews, else a table."""
        systems = [upload.system for upload in self.uploads.values() if set(upload.roles) & set(step.roles)]
        return next((name for name in systems if name in step.takers), "")

    def files_of(self, step: Step) -> dict[str, list[str]]:
        """Return the files that a step uses, by role; where there is none, one that serves for it as well."""
        files = {}
        for role in step.roles:
            instead = [upload.word for upload in self.uploads.values() if upload.roles and role in upload.serves]
            files[role] = self.of_role(role) or (instead[:1] if step.command in INSTEAD.get(role, ()) else [])
        return files

    def command(self, step: Step) -> tuple[list[str], str, dict[str, str]]:
        """Return the command of a step, the system that its file is for, and what the files are that it writes."""
        files = self.files_of(step)
        reviews = files.pop("reviews", [])
        if "reviews" in step.roles and not reviews:
            raise InputError("There are no reviews yet: drop a file in, and choose what it is.")
        words = [step.command, *reviews]
        for role, chosen in files.items():
            if len(chosen) > 1 and role not in SEVERAL:
                message = f"{ROLES[role].words}: expected one file, found {', '.join(chosen)}; choose one of them"
                raise InputError(message)
            words += [word for file in chosen for word in (f"--{role}", file)]
        for place, name in self.columns.items():
            words += ["--columns", f"{place}={name}"] if place.rpartition(":")[0] in words[1:] else []
        to = self.values.get("to") or self.default_to(step)
        to = to if to in step.takers else ""
        for choice, value in step.filled({**self.values, "to": to}):
            words += [f"--{choice.key}"] if choice.option.is_flag else [f"--{choice.key}", value]
        to = to or EXCEL
        report = f"{OURS}{step.command}.html"
        written = {report: "Report (HTML)", f"{OURS}{step.command}.json": "Result (JSON)"}
        if step.writes:
            system = SYSTEMS[to]
            # A table for people is one that Excel opens.
            suffix = ".xlsx" if system.is_table else system.suffix
            name = f"{OURS}{step.writes}{'' if to == EXCEL else f'-{to}'}{suffix}"
            words += ["-o", name]
            written = {name: title_of(to), **written}
        return [*words, "--html", report, "--json"], to, written

    async def start(self, step: Step) -> None:
        """Run the command of a step; its progress and result are kept. The caller holds the lock."""
        if self.running is not None:
            raise InputError("A command is running: wait for it, or stop it.")
        words, to, files = self.command(step)
        for name in files:
            (self.folder / name).unlink(missing_ok=True)
        self.results = {name: result for name, result in self.results.items() if name != step.command}
        # -P: what was dropped in is never imported.
        with (self.folder / f"{OURS}{step.command}.json").open("wb") as answer:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "reviewgraph", *words),
                cwd=self.folder,
                env=environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=answer,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=1 << 20,
            )
        self.running = run = Run(step, to, process)
        run.task = asyncio.create_task(self._follow(run, files))

    async def _follow(self, run: Run, files: Mapping[str, str]) -> None:
        while line := await run.process.stderr.readline():
            run.lines.append(line.decode("utf-8", "replace").rstrip())
        await run.process.wait()
        await asyncio.to_thread(self._read, run, files)
        self.results = {**self.results, run.step.command: run}
        self.running = None

    async def settle(self, seconds: float) -> None:
        """Wait for the running command, but not for long."""
        if self.running is not None:
            await asyncio.wait([self.running.task], timeout=seconds)

    def _read(self, run: Run, files: Mapping[str, str]) -> None:
        """Read what the command answered from the files that it wrote."""
        stem = self.folder / f"{OURS}{run.step.command}"
        with suppress(OSError, ValueError):
            run.answer = json.loads(stem.with_suffix(".json").read_bytes())
        if run.answer:
            run.files = {name: what for name, what in files.items() if (self.folder / name).is_file()}
            # From the verdict to the end of the main part.
            with suppress(OSError):
                page = stem.with_suffix(".html").read_text("utf-8")
                run.report = page.partition('<main id="content" tabindex="-1">')[2].rpartition("</main>")[0]
        elif run.stopped:
            run.error = "Stopped, no result."
        else:
            _, found, message = "\n".join(["", *run.lines]).rpartition("\nError: ")
            run.error = message if found else [*run.lines[-1:], "The command ended without a result."][0]
        reviews = self.of_role("reviews")
        for upload in self.uploads.values():
            own = (f"{upload.name}:", f"{upload.name},", *(["reviews:"] if reviews == [upload.word] else []))
            # A file without a role keeps the message on why it has none.
            if upload.roles:
                upload.error = run.error if run.error.startswith(own) else ""

    async def stop(self) -> None:
        """Ask the running command to end, with its best result so far if it has one; end it if it does not."""
        run = self.running
        if run is None:
            return
        run.stopped = True
        with suppress(ProcessLookupError):
            # Windows has no Ctrl-C for one process alone.
            run.process.kill() if os.name == "nt" else run.process.send_signal(signal.SIGINT)
        await self.settle(PATIENCE)
        await self.close()

    async def close(self) -> None:
        if run := self.running:
            with suppress(ProcessLookupError):
                run.process.kill()
            await run.task


def environment() -> dict[str, str]:
    """Return the environment of commands: as here, with the same packages, and text as UTF-8."""
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path if path and os.path.exists(path))
    return {**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}

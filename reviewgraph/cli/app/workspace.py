"""What the page holds: files in a private folder, choices, and one running command."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
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
    conference_of,
    field_of,
    file_of,
    options_of,
    shown,
    table_fields,
    takers_of,
    title_of,
)
from reviewgraph.cli.app.uploads import OURS, PART, Upload, recognise, safe_name
from reviewgraph.cli.command import parsed

#: Limits on what is dropped in: bytes in all, and files.
MOST_BYTES = 200_000_000
MOST_FILES = 40
#: Seconds that a stopped command has to return the best result so far.
PATIENCE = 5.0
#: Lines of progress that are kept.
LINES = 200


@dataclass
class Result:
    """What a command answered: its words, exit status, messages, and JSON."""

    words: Sequence[str]
    status: int
    notes: Sequence[str]
    error: str = ""
    about: str = ""
    answer: Mapping[str, Any] = field(default_factory=dict)
    report: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    to: str = EXCEL  #: The system that the first of the files is for.
    stopped: bool = False
    about_fields: Sequence[str] = ()  #: The messages that are about a field, such as what could not be selected.

    @property
    def command(self) -> str:
        """The command line that does the same."""
        return shown(self.words)

    @property
    def first(self) -> str:
        """The part of the report that is seen first."""
        return "".join(self.report.partition("</section>")[:2])

    @property
    def details(self) -> str:
        """The sections of the report, all folded."""
        sections = self.report.partition("</section>")[2]
        return re.sub(r'(<details class="section"[^>]*?) open>', r"\1>", sections)

    @property
    def refuted(self) -> bool:
        """Whether independent code found something wrong, as the report says."""
        return "REFUTED by independent code" in self.first

    @property
    def unchecked(self) -> bool:
        """Whether independent code was not asked."""
        return "by independent code" not in self.first


@dataclass
class Job:
    """A command that runs."""

    step: Step
    lines: list[str] = field(default_factory=list)
    process: asyncio.subprocess.Process | None = None
    task: asyncio.Task[None] | None = None
    stopped: bool = False


class Workspace:
    """The files, choices and results of one page; its commands run in ``folder``, one at a time.

    Files change in one request at a time, which holds ``lock``; others may iterate over ``uploads`` and ``results``
    meanwhile, so these are replaced, not changed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = asyncio.Lock()
        self.clear()

    def clear(self) -> None:
        """Forget everything, and delete all files."""
        self.uploads: dict[str, Upload] = {}
        self.values: dict[str, str] = {}
        self.results: dict[str, Result] = {}
        self.job: Job | None = None
        self.notes: list[str] = []
        for path in self.folder.iterdir():
            path.unlink()

    # Files.

    @property
    def size(self) -> int:
        """Bytes of all files that were dropped in."""
        return sum(upload.size for upload in self.uploads.values())

    def add(self, file_name: str, data: bytes) -> None:
        """Keep a file under its own name, and see what it is; a conference file sets the choices instead."""
        name = safe_name(file_name)
        if name.endswith(".toml"):
            self.take_conference(name, data)
            return
        (self.folder / name).write_bytes(data)
        upload = recognise(self.folder / name)
        upload.size = len(data)
        if name != file_name:
            self.notes.append(f"A file was renamed to {name}: its name had characters that options use otherwise.")
        before = self.uploads.get(name)
        if before is not None and before.header == upload.header:
            upload.roles = before.roles
            upload.columns = before.columns
        self._leave_taken(upload)
        self.uploads = {**self.uploads, name: upload}
        self.results = {}

    def expect_room(self, names: Iterable[str], size: int) -> None:
        """Refuse files beyond the limits, by their names as they were sent and their bytes in all."""
        if size > MOST_BYTES - self.size:
            message = (
                f"expected at most {MOST_BYTES // 1_000_000} MB of files in all, found more; leave some of them out"
            )
            raise InputError(message)
        kept = {name for name in map(safe_name, names) if not name.endswith(".toml")}
        if len({*self.uploads, *kept}) > MOST_FILES:
            message = f"expected at most {MOST_FILES} files, found more; remove some, or put them into a zip archive"
            raise InputError(message)

    def remove(self, name: str) -> None:
        """Delete a file."""
        if name in self.uploads:
            self.uploads = {kept: upload for kept, upload in self.uploads.items() if kept != name}
            (self.folder / name).unlink(missing_ok=True)
            self.results = {}

    def of_role(self, role: str) -> list[str]:
        """Return the files of a role."""
        return [upload.word for upload in self.uploads.values() if role in upload.roles]

    def _leave_taken(self, upload: Upload) -> None:
        """Leave one of two files unused that have a role which there may be only once: that with fewer papers."""
        for other in self.uploads.values():
            taken = [role for role in upload.roles if role in other.roles and role not in SEVERAL]
            if other.name != upload.name and taken:
                used, left = (upload, other) if len(upload.titles) > len(other.titles) else (other, upload)
                left.idle = f"{used.name} is used for it: {ROLES[taken[0]].lower()}"
                left.roles = [role for role in left.roles if role not in taken]

    def give(self, upload: Upload, role: str) -> None:
        """Give a file a role, and take it from another one, where there may be only one."""
        for other in self.uploads.values():
            if role in other.roles and role not in SEVERAL:
                other.roles = [kept for kept in other.roles if kept != role]
        upload.roles = [role] if role else []
        upload.columns = {}
        upload.idle = ""

    @property
    def titles(self) -> dict[str, str]:
        """The titles of papers, as far as files have them."""
        return {paper: title for upload in self.uploads.values() for paper, title in upload.titles.items()}

    def card(self, step: Step) -> dict[str, Any]:
        """Return what to upload of the result of a step: the file, where, what stays as it is, and the first lines."""
        from reviewgraph.formats.systems.known import SYSTEMS

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
        count = len(result.answer.get("reviews") or ())
        return {"file": name, "title": title, "place": place, "stays": stays, "lines": lines, "count": count}

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
        titles = self.titles
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
    def cut(self) -> int:
        """The number of papers that the calibration selects."""
        result = self.results.get("calibrate")
        return len(result.answer.get("selected") or ()) if result else 0

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

    # The conference file.

    @property
    def columns(self) -> dict[str, str]:
        """The columns that were chosen, by ``FILE:ROLE``."""
        chosen = (upload for upload in self.uploads.values() if upload.roles)
        return {f"{upload.word}:{role}": name for upload in chosen for role, name in upload.columns.items()}

    def conference(self) -> str:
        """Return the choices as a conference file."""
        files = [self.files_of(step) for step in reversed(STEPS.values())]
        roles = {role: chosen for step in files for role, chosen in step.items() if chosen}
        return conference_of(roles, self.columns, self.values)

    def take_conference(self, name: str, data: bytes) -> None:
        """Take choices from a conference file; what the page has no field for is listed in a note."""
        _, sections = parsed(name, data)
        keys = {field.key for step in STEPS.values() for field in (*table_fields(), *step.fields)}
        unused = []
        for section, content in sections.items():
            for key, value in content.items() if isinstance(content, dict) else ():
                if key in ROLES:
                    for file in value if isinstance(value, list) else [value]:
                        unused += [] if self._give(str(file), key) else [f"{key} ({file})"]
                elif section == "columns":
                    file, _, role = key.rpartition(":")
                    if upload := self._named(file):
                        upload.columns[role] = str(value)
                    else:
                        unused.append(f"columns {key}")
                elif key in keys and not isinstance(value, list | dict):
                    self.values[key] = {True: "yes", False: ""}[value] if isinstance(value, bool) else str(value)
                else:
                    unused.append(key)
        self.results = {}
        also = (
            f" Not used: {', '.join(unused)}; drop the files in first, and the conference file after them."
            if unused
            else ""
        )
        self.notes.append(f"The choices of {name} are taken.{also}")

    def _give(self, file: str, role: str) -> bool:
        upload = self._named(file)
        if upload is not None and role not in upload.roles:
            upload.roles.append(role)
        return upload is not None

    def _named(self, word: str) -> Upload | None:
        """Return the file that a conference file names, with the part of it chosen."""
        word = os.path.basename(word)
        name, _, part = word.rpartition(PART) if word not in self.uploads else (word, "", "")
        if upload := self.uploads.get(name):
            upload.take(part, self.folder)
        return upload

    # Commands.

    def default_to(self, step: Step) -> str:
        """Return the system that the file of a step is for, if none was chosen: that of the reviews, else a table."""
        systems = [upload.system for upload in self.uploads.values() if set(upload.roles) & set(step.roles)]
        return next((name for name in systems if name in takers_of(step)), "")

    def files_of(self, step: Step) -> dict[str, list[str]]:
        """Return the files that a step uses, by role; where there is none, one that serves for it as well."""
        files = {}
        for role in step.roles:
            instead = [upload.word for upload in self.uploads.values() if upload.roles and role in upload.serves]
            files[role] = self.of_role(role) or (instead[:1] if step.command in INSTEAD.get(role, ()) else [])
        if step.command == "calibrate" and not self.values.get("reviewer-covariates"):
            # A calibration uses the list of reviewers for covariates alone.
            files["reviewers"] = []
        return files

    def words(self, step: Step) -> tuple[list[str], dict[str, str]]:
        """Return the command of a step as words, and the names of the files that it writes, with what they are."""
        words = [step.command, *(self.of_role("reviews") if step.has_reviews else [])]
        if step.has_reviews and len(words) == 1:
            message = "There are no reviews yet: drop a file in, and choose what it is."
            raise InputError(message)
        used = set(words)
        for role, chosen in self.files_of(step).items():
            if role == "reviews":
                continue
            if len(chosen) > 1 and role not in SEVERAL:
                message = f"{ROLES[role]}: expected one file, found {', '.join(chosen)}; choose one of them"
                raise InputError(message)
            words += [word for file in chosen for word in (f"--{role}", file)]
            used |= set(chosen)
        for place, name in self.columns.items():
            words += ["--columns", f"{place}={name}"] if place.rpartition(":")[0] in used else []
        values = dict(self.values)
        if not values.get("to"):
            values["to"] = self.default_to(step)
        taken = values["to"] in takers_of(step)
        words += options_of(step, values if taken else {**values, "to": ""})
        files = {f"{OURS}{step.command}.html": "Report (HTML)", f"{OURS}{step.command}.json": "Result (JSON)"}
        if step.writes:
            to = values["to"] or EXCEL
            name = f"{OURS}{file_of(step, to)}"
            words += ["-o", name]
            files = {name: title_of(to), **files}
        return [*words, "--html", f"{OURS}{step.command}.html", "--json"], files

    async def start(self, step: Step) -> None:
        """Run the command of a step; its progress and result are kept."""
        if self.job is not None:
            message = "A command is running: wait for it, or stop it."
            raise InputError(message)
        words, files = self.words(step)
        for name in files:
            (self.folder / name).unlink(missing_ok=True)
        self.results = {name: result for name, result in self.results.items() if name != step.command}
        self.job = job = Job(step)
        # -P: what was dropped in is never imported.
        with (self.folder / f"{OURS}{step.command}.json").open("wb") as answer:
            job.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "reviewgraph", *words),
                cwd=self.folder,
                env=environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=answer,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=1 << 20,
            )
        job.task = asyncio.create_task(self._follow(job, words, files))

    async def _follow(self, job: Job, words: Sequence[str], files: Mapping[str, str]) -> None:
        process = job.process
        if process is None or process.stderr is None:
            return
        while line := await process.stderr.readline():
            job.lines.append(line.decode("utf-8", "replace").rstrip())
            del job.lines[:-LINES]
        status = await process.wait()
        result = await asyncio.to_thread(self._result, job, words, files, status)
        self.results = {**self.results, job.step.command: result}
        self.job = None

    async def settle(self, seconds: float) -> None:
        """Wait for the running command, but not for long."""
        if self.job is not None and self.job.task is not None:
            await asyncio.wait([self.job.task], timeout=seconds)

    def _result(self, job: Job, words: Sequence[str], files: Mapping[str, str], status: int) -> Result:
        """Return what the command answered, from the files that it wrote."""
        answer: Mapping[str, Any] = {}
        with suppress(OSError, ValueError):
            answer = json.loads((self.folder / f"{OURS}{job.step.command}.json").read_bytes())
        written = {name: what for name, what in files.items() if (self.folder / name).is_file()} if answer else {}
        error = ""
        if not answer:
            error = "Stopped, no result." if job.stopped else error_in(job.lines)
        reviews = self.of_role("reviews")
        for upload in self.uploads.values():
            own = (f"{upload.name}:", f"{upload.name},", *(["reviews:"] if reviews == [upload.word] else []))
            # A file without a role keeps the message on why it has none.
            if upload.roles:
                upload.error = error if error.startswith(own) else ""
        report = ""
        with suppress(OSError):
            report = main_of((self.folder / f"{OURS}{job.step.command}.html").read_text("utf-8"))
        keys = tuple(start for field in job.step.fields for start in (f"{field.key}: ", f"--{field.key}"))
        notes = [line for line in job.lines if not line.startswith(("Error:", "Usage:", "Try "))]
        first = [line for line in notes if line.startswith(keys)]
        return Result(
            words,
            status,
            notes,
            error=error,
            about=field_of(error, job.step),
            answer=answer,
            report=report if answer else "",
            files=written,
            to=words[words.index("--to") + 1] if "--to" in words else EXCEL,
            stopped=job.stopped,
            about_fields=first,
        )

    async def stop(self) -> None:
        """Ask the running command to end, with its best result so far if it has one; end it if it does not."""
        job = self.job
        if job is None or job.process is None or job.task is None:
            return
        job.stopped = True
        with suppress(ProcessLookupError):
            # Windows has no Ctrl-C for one process alone.
            job.process.kill() if os.name == "nt" else job.process.send_signal(signal.SIGINT)
        done, _ = await asyncio.wait([job.task], timeout=PATIENCE)
        if not done:
            await _ended(job)

    async def close(self) -> None:
        """End the running command at once."""
        await _ended(self.job)


async def _ended(job: Job | None) -> None:
    if job is not None and job.process is not None and job.task is not None:
        with suppress(ProcessLookupError):
            job.process.kill()
        await job.task


def error_in(lines: Sequence[str]) -> str:
    """Return the message with which a command ended."""
    at = next((place for place, line in reversed([*enumerate(lines)]) if line.startswith("Error: ")), None)
    if at is None:
        return lines[-1] if lines else "The command ended without a result."
    return "\n".join([lines[at].removeprefix("Error: "), *lines[at + 1 :]])


def main_of(page: str) -> str:
    """Return the content of a report, from the verdict to the end of its main part."""
    return page.partition('<main id="content" tabindex="-1">')[2].rpartition("</main>")[0]


def environment() -> dict[str, str]:
    """Return the environment of commands: as here, with the same packages, and text as UTF-8."""
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path if path and os.path.exists(path))
    return {**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}

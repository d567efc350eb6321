"""What a chair does, against a real HotCRP: its own downloads in, its own code takes our uploads.

Three variables name what is needed; without them this is skipped. ``HOTCRP_GIT`` is a git directory of kohler/hotcrp,
``HOTCRP_KIT`` a folder of scripts that bring a conference up, fill it, export from it and upload to it
(``up.sh GIT TAG WORK``, ``fill.py``, ``export.sh``, ``live.py``, ``upload.sh``, ``down.sh``), and ``HOTCRP_VERSIONS``
the tags to try, ``v3.4`` by default. It needs root on a Debian machine, and a minute for each conference.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reviewgraph import InputError
from reviewgraph.formats import Outgoing, takers

ROOT = Path(__file__).parents[2]
GIT, KIT = os.environ.get("HOTCRP_GIT"), os.environ.get("HOTCRP_KIT")
VERSIONS = os.environ.get("HOTCRP_VERSIONS", "v3.4").split()

pytestmark = pytest.mark.skipif(not (GIT and KIT), reason="HOTCRP_GIT and HOTCRP_KIT name no HotCRP")


class Filled(NamedTuple):
    """How a conference is filled: the arguments of fill.py, and whether papers have titles."""

    arguments: tuple[str, ...]
    titles: bool = True


CONFERENCES = {
    "as in the kit": Filled(("--seed", "1")),
    "other seed": Filled(("--seed", "7", "--papers", "45", "--pc", "18")),
    "no rounds": Filled(("--seed", "3", "--rounds", "0")),
    "no titles": Filled(("--seed", "5", "--scale", "9"), titles=False),
}


class Site:
    """A conference that runs, and the files of its chair."""

    def __init__(self, work: Path, version: str, filled: Filled) -> None:
        self.work, self.filled, self.files = work, filled, work / "chair"
        self.kit("up.sh", str(GIT), version, str(work))

    def kit(self, script: str, *words: str, status: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([f"{KIT}/{script}", *words], capture_output=True, text=True, check=False)
        assert done.returncode in status, done.stdout + done.stderr
        return done

    def sql(self, statement: str) -> None:
        socket = f"--socket={self.work}/run/m.sock"
        subprocess.run(["mariadb", "--no-defaults", socket, "-uroot", "labconf", "-e", statement], check=True)

    def fill(self, stage: int) -> None:
        """Fill, and download everything as a chair does, who leaves out the name of the conference."""
        self.kit("fill.py", str(self.work), str(stage), *(self.filled.arguments if stage == 1 else ()))
        if not self.filled.titles:
            self.sql("update Paper set title=''")
        shutil.rmtree(self.files, ignore_errors=True)
        self.download()

    def download(self) -> None:
        self.kit("export.sh", str(self.work), str(self.files))
        self.kit("live.py", str(self.work), str(self.files / "truth"))
        for path in self.files.glob("labconf-*"):
            path.rename(path.with_name(path.name.removeprefix("labconf-")))

    def php(self, *words: str) -> str:
        """Run PHP where HotCRP is."""
        done = subprocess.run(["php", *words], cwd=self.work / "hotcrp", capture_output=True, text=True, check=True)
        return done.stdout

    @property
    def rounds(self) -> set[str]:
        """The rounds of Settings, Reviews, "Deadlines and rounds"."""
        return {one["name"] for one in json.loads(self.php("batch/settings.php", "fetch"))["review"]}

    def add_round(self, name: str) -> None:
        new = json.dumps({"review": [{"id": "new", "name": name}]})
        self.php("batch/settings.php", "save", "--expr", new)

    def truth(self, name: str) -> list[dict[str, str]]:
        return list(csv.DictReader((self.files / "truth" / f"{name}.csv").read_text("utf-8").splitlines()))

    @property
    def hidden(self) -> set[str]:
        """Papers that the chair may not see."""
        return set(re.findall(r"^(\d+),none,", (self.files / "pcassignments.csv").read_text("utf-8"), re.M))

    @property
    def live(self) -> set[str]:
        return {row["id"] for row in self.truth("papers") if row["status"] == "submitted"} - self.hidden

    @property
    def counted(self) -> set[str]:
        """Papers whose reviews the list of papers counts whatever the version: no conflict of the chair's."""
        own = {row["paper"] for row in self.truth("conflicts") if row["email"] == "chair@lab.example"}
        return self.live - own

    def run(self, line: str, status: int = 0) -> str:
        """Type a command."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        words = [sys.executable, "-m", *shlex.split(line)]
        done = subprocess.run(words, cwd=self.files, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == status, (done.stdout + done.stderr)[-3_000:]
        return done.stdout

    def uploaded(self, name: str, status: tuple[int, ...] = (0,)) -> set[tuple[str, str, str]]:
        """Upload a file; returns the rows of reviews that it added: address, paper, type. Nothing else may change."""
        done = self.kit("upload.sh", str(self.work), str(self.files / name), status=status)
        rows = [] if done.stdout.strip() == "0 rows" else list(csv.DictReader(done.stdout.splitlines()))
        assert {row["what"] for row in rows} <= {"added"}
        assert "other tables changed" not in done.stderr
        return {(row["email"], row["paper"], row["reviewtype"]) for row in rows}

    def search(self, query: str) -> list[str]:
        done = subprocess.run(
            ["php", str(self.work / "hotcrp/batch/search.php"), "--", query], capture_output=True, text=True, check=True
        )
        return [line for line in done.stdout.split() if line.isdigit()]


@pytest.fixture(params=[(version, name) for version in VERSIONS for name in CONFERENCES], ids=" ".join, scope="module")
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    version, name = request.param
    # The path of the server's socket must be short.
    work = Path(tempfile.mkdtemp(prefix="hc-"))
    try:
        yield Site(work, version, CONFERENCES[name])
    finally:
        subprocess.run([f"{KIT}/down.sh", str(work)], check=False)
        shutil.rmtree(work, ignore_errors=True)


def readme() -> list[str]:
    """Return the three commands that the README shows for HotCRP."""
    text = (ROOT / "README.md").read_text("utf-8")
    (block,) = re.findall(r"^```\n(reviewgraph check pcassignments.*?)^```$", text, re.M | re.S)
    return [str(line) for line in block.replace("\\\n", " ").splitlines()]


def planned(site: Site, name: str) -> set[tuple[str, str]]:
    rows = csv.DictReader((site.files / name).read_text("utf-8").splitlines())
    return {(row["email"], row["paper"].split()[0]) for row in rows}


def test_a_conference_before_and_after_its_reviews(site: Site) -> None:
    # Before any score: the commands of the README, typed literally.
    site.fill(1)
    check, plan, again = readme()
    found = json.loads(site.run(f"{check} --json"))
    assert found["items"] == len(site.live)
    _what_is_missing(site, found)
    site.run(plan)
    before = planned(site, "upload.csv")
    assert before
    assert {(who, paper) for who, paper, _ in site.uploaded("upload.csv")} == before
    assert site.uploaded("upload.csv") == set()
    site.run(again)
    # What HotCRP exports then is at the level.
    site.kit("export.sh", str(site.work), str(site.files / "new"))
    site.run("reviewgraph check new/labconf-pcassignments.csv --items new/labconf-data.csv --require double")
    found = json.loads(site.run("reviewgraph check api-reviews.json --items data.csv --json"))
    assert found["items"] == len(site.live)
    # An assignment of all seats that are left, beside the reviews there are.
    _assign(site)
    # Scores come in, papers are withdrawn.
    site.fill(2)
    files = "scores.csv pcassignments.csv --items data.csv"
    found = json.loads(site.run(f"reviewgraph check {files} --json"))
    assert found["items"] == len(site.live)
    site.run(
        f"reviewgraph plan {files} --conflicts pcconflicts.csv --willing allprefs.csv --bids allprefs.csv -o more.csv"
    )
    assert {(who, paper) for who, paper, _ in site.uploaded("more.csv")} == planned(site, "more.csv")
    assert site.uploaded("more.csv") == set()
    _tag(site, files)
    _rounds(site, files)
    _names_of_rounds(site)
    _external_reviews_alone(site)


def _what_is_missing(site: Site, found: dict[str, Any]) -> None:
    """Papers that do not count, and the external reviews, which PC assignments lack, are in the JSON."""
    assert found["hidden"] == sorted(site.hidden, key=int)
    out = {row["id"] for row in site.truth("papers") if row["status"] != "submitted"}
    assert set(found["withdrawn"]) == out
    external = Counter(
        row["paper"] for row in site.truth("reviews") if row["type"] == "external" and row["paper"] in site.counted
    )
    assert {row["item"]: row["reviews"] for row in found["lacking"] if row["item"] in site.counted} == external


def _external_reviews_alone(site: Site) -> None:
    """Without reviews by the PC the list of papers tells that reviews are lacking."""
    site.sql("delete from PaperReview where reviewType=5; update PaperReview set reviewType=1")
    site.download()
    text = site.run("reviewgraph check pcassignments.csv --items data.csv")
    reviewed = {row["paper"] for row in site.truth("reviews")}
    (told,) = re.findall(rf"^NOT KNOWN: (\d+) of {len(site.live)} papers have reviews, but none in these", text)
    assert len(reviewed & site.counted) <= int(told) <= len(reviewed & site.live)
    assert "reviewgraph plan" not in text
    assert json.loads(site.run("reviewgraph check api-reviews.json --items data.csv --json"))["lacking"] == []


def _assign(site: Site) -> None:
    """Assign three reviewers to each paper from scratch; what is there already is left as it is.

    Who declined is in no download, so the chair adds it to the conflicts, as the page of an upload says.
    """
    _keep(site)
    declined = "".join(f'{row["paper"]},,,,"{row["email"]}",declined\n' for row in site.truth("declined"))
    conflicts = (site.files / "pcconflicts.csv").read_text("utf-8")
    (site.files / "barred.csv").write_text(conflicts + declined, "utf-8")
    there = {(row["email"].casefold(), row["paper"]) for row in site.truth("reviews")}
    site.run(
        "reviewgraph assign --items data.csv --reviewers allprefs.csv --bids allprefs.csv --conflicts barred.csv "
        "--demand 3 --load 12 --to hotcrp -o assigned.csv"
    )
    rows = planned(site, "assigned.csv")
    assert len(rows) == 3 * len(site.live)
    site.kit("live.py", str(site.work), str(site.files / "truth"))
    there |= {(row["email"].casefold(), row["paper"]) for row in site.truth("reviews")}
    added = site.uploaded("assigned.csv")
    assert {(who, paper) for who, paper, _ in added} == {
        (who, paper) for who, paper in rows if (who.casefold(), paper) not in there
    }
    assert {kind for _, _, kind in added} == {"primary"}
    assert site.uploaded("assigned.csv") == set()


def _keep(site: Site) -> None:
    """Assign with the existing reviews as facts, and the smallest load that is feasible."""
    site.download()
    line = "assign --items data.csv --reviewers allprefs.csv --bids allprefs.csv --conflicts pcconflicts.csv"
    answer = json.loads(site.run(f"reviewgraph {line} --fixed pcassignments.csv --json"))
    pc = {"pc", "secondary", "primary"}
    there = {
        (row["email"], row["paper"]) for row in site.truth("reviews") if row["type"] in pc and row["paper"] in site.live
    }
    assert there <= {(one["reviewer"], one["item"]) for one in answer["reviews"]}
    assert answer["fixed"]["kept"] == len(there)
    loads = Counter(one["reviewer"] for one in answer["reviews"])
    assert max(loads.values()) == max(answer["usual_load"]["load"], *Counter(who for who, _ in there).values())


def _tag(site: Site, files: str) -> None:
    """Results go back as tags; HotCRP sorts by them, within a group where groups cannot be compared."""
    answer = json.loads(site.run(f"reviewgraph calibrate {files} --to hotcrp -o groups.csv --json"))
    papers = [row for row in answer["items"] if row["quality"] is not None]
    sizes = Counter(row["group"] for row in papers)
    for said in ("Assigned tag", "makes no changes"):
        upload = [f"{site.work}/hotcrp/batch/assign.php", str(site.files / "groups.csv")]
        done = subprocess.run(["php", *upload], capture_output=True, text=True, check=True)
        assert said in done.stdout + done.stderr
    assert set(site.search("#~~calibrated")) == ({row["item"] for row in papers} if len(sizes) == 1 else set())
    for group, size in sizes.items() if len(sizes) > 1 else ():
        quality = {row["item"]: round(row["quality"], 3) for row in papers if row["group"] == group}
        order = site.search(f"rorder:~~calibrated-group{group}")
        assert set(order) == (set(quality) if size > 1 else set())
        assert [quality[paper] for paper in order] == sorted((quality[paper] for paper in order), reverse=True)
    answer = json.loads(
        site.run(f"reviewgraph calibrate {files} --select 20% --by-group-average --to hotcrp -o tags.csv --json")
    )
    upload = [f"{site.work}/hotcrp/batch/assign.php", str(site.files / "tags.csv")]
    for said in ("Assigned tag", "makes no changes"):
        done = subprocess.run(["php", *upload], capture_output=True, text=True, check=True)
        assert said in done.stdout + done.stderr
    quality = {row["item"]: round(row["quality"], 3) for row in answer["items"] if row["quality"] is not None}
    order = site.search("rorder:~~calibrated")
    assert set(order) == set(quality)
    assert [quality[paper] for paper in order] == sorted(quality.values(), reverse=True)
    lists = {"in": answer["certain"], "discuss": [row["item"] for row in answer["discuss"]]}
    lists["out"] = set(quality) - {*lists["in"], *lists["discuss"]}
    assert lists["discuss"]
    assert lists["out"]
    assert site.search("#~~calibrated-group1") == []
    for name, papers in lists.items():
        assert set(site.search(f"#~~calibrated-{name}")) == set(papers)


def _rounds(site: Site, files: str) -> None:
    """Plan two rounds: an upload is refused until its round exists; what was uploaded is not asked for again."""
    plan = f"reviewgraph plan {files} --conflicts pcconflicts.csv --willing allprefs.csv --for decision --select 20%"
    site.download()
    first = _round(site, f"{plan} --max-reviews 20 --rounds 3 --spare 2", "R2")
    site.download()
    second = _round(site, f"{plan} --max-reviews {20 - first['count']} --rounds 2 --spare 2", "R3")
    pairs = [{(one["item"], one["reviewer"]) for one in answer["reviews"]} for answer in (first, second)]
    assert not pairs[0] & pairs[1]


def _round(site: Site, line: str, name: str) -> dict[str, Any]:
    """Plan and upload a round; returned is its answer."""
    upload = f"upload{name}.csv"
    answer: dict[str, Any] = json.loads(site.run(f"{line} --label {name} -o {upload} --json"))
    assert answer["count"] > 0
    if name not in site.rounds:
        done = site.kit("upload.sh", str(site.work), str(site.files / upload), status=(1,))
        assert re.search(f"Review round .{name}. not found", done.stdout + done.stderr)
        site.add_round(name)
        assert name in site.rounds
    assert {(who, paper) for who, paper, _ in site.uploaded(upload)} == planned(site, upload)
    assert site.uploaded(upload) == set()
    return answer


def _names_of_rounds(site: Site) -> None:
    """A label is refused where HotCRP refuses it as the name of a round."""
    names = "R2 round-2 A_b any ALL none unnamed pc Meta primary secondary external optional sec pri review reviewers "
    names += "r2draft drafty preview response x-response R_ R--2 2R -R default span undefined anyone"
    code = 'require "src/init.php"; foreach (explode(" ", $argv[1]) as $n) echo (int) !Conf::round_name_error($n);'
    taken = [digit == "1" for digit in site.php("-r", code, "--", names)]
    assert len(taken) == len(names.split()) > sum(taken) > 5
    for name, fits in zip(names.split(), taken, strict=True):
        refused = nullcontext() if fits else pytest.raises(InputError, match="as the name of a round")
        with refused:
            takers()["hotcrp"].write(Outgoing({"item": [1], "reviewer": ["ann@example.org"]}, label=name))

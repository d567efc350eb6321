"""Every command that a page proposes runs as it stands, with exit status 0 or the one that its page announces."""

import shutil
from pathlib import Path

import pytest

from tests.pages import all_offered, run
from tests.printed import ROOT
from tests.trials import sampled

KIT = ROOT / "tests" / "hotcrp" / "exports"
DATA = ROOT.parent / "shared" / "data"
#: Public tables; nih_r01, of a thousand applications, takes a minute.
TABLES = ["aibs_grants", "auckland", "skating_2018", "strictly", "vqeg_525_high"]
#: Proposals that are followed, one after the other.
STEPS = 3

LISTS = ("--items", "labconf-data.csv", "--conflicts", "labconf-pcconflicts.csv")
STARTED = ("labconf-pcassignments.csv", *LISTS)
SCORED = ("labconf-pcassignments.csv", "labconf-scores.csv", *LISTS)
WANTED = ("--items", "labconf-data.csv", "--reviewers", "labconf-allprefs.csv", "--bids", "labconf-allprefs.csv")
#: Without a list of reviewers those of the preferences count.
BIDDING = WANTED[:2] + WANTED[4:]
#: Commands of a chair, by the stage of the exports.
OF_CHAIRS = {
    "stage1": (
        ("check", *STARTED),
        ("check", "labconf-pcassignments.csv"),
        ("check", *STARTED, "--require", "survives-reviewer"),
        ("plan", *STARTED),
        ("plan", *STARTED, "--to", "hotcrp", "-o", "upload.csv"),
        ("plan", *STARTED, "--min-reviews", "3", "--spare", "0"),
        ("assign", *WANTED, "--conflicts", "labconf-pcconflicts.csv"),
        ("assign", *BIDDING, "--conflicts", "labconf-pcconflicts.csv", "--html", "report.html"),
        ("assign", *BIDDING, "--conflicts", "labconf-pcconflicts.csv", "--to", "hotcrp", "-o", "upload.csv"),
        ("assign", *BIDDING, "--fixed", "labconf-pcassignments.csv", "-o", "upload.csv"),
        ("assign", *WANTED, "--load", "4", "-o", "upload.csv"),
    ),
    "stage2": (
        ("check", *SCORED),
        ("check", "labconf-scores.csv", *LISTS),
        ("plan", *SCORED),
        ("plan", *SCORED, "--for", "decision", "--select", "20%", "--max-reviews", "10"),
        ("calibrate", "labconf-scores.csv", "--items", "labconf-data.csv"),
        ("calibrate", "labconf-scores.csv", "--items", "labconf-data.csv", "--select", "20%"),
        ("calibrate", *SCORED[:-2], "--select", "20%", "--by-group-average"),
    ),
}

#: Small tables by what they are like.
SMALL = {
    "islands": "reviewer,paper\nann,p1\nann,p2\nbob,p3\nbob,p4\n",
    "hanging": "reviewer,paper\nann,p1\nann,p2\nbob,p2\nbob,p3\n",
    "scored": "grader,essay,grade\n"
    + "".join(f"g{j},e{i},{(3 * i + j) % 7 + j}\n" for j in range(4) for i in range(6)),
    "half scored": "reviewer,paper,score\nann,p1,3\nann,p2,4\nbob,p1,5\nbob,p2,\n",
    "apart and scored": "reviewer,paper,score\n"
    + "".join(f"r{j},p{i + 6 * (j // 3)},{(i * 5 + j) % 6}\n" for j in range(6) for i in range(6)),
    "one paper": "reviewer,paper,score\nann,p1,3\nbob,p1,4\n",
}
OF_ANYBODY = (("check",), ("plan",), ("calibrate",), ("calibrate", "--select", "1"))


def follow(words: tuple[str, ...], steps: int = STEPS, left_out: str = "") -> int:
    """Run a command and what it and its successors propose, but for one command; return how many proposals ran."""
    done = run(*words)
    assert done.exit_code in (0, 1), (words, done.output)
    ran = 0
    for _ in range(steps):
        proposals = [proposal for proposal in all_offered(done.stdout) if proposal[0] != left_out]
        for proposal in proposals:
            command, output = proposal, None
            if ">" in proposal:
                command, output = proposal[: proposal.index(">")], proposal[-1]
            done = run(*command)
            # Status 1: a level or a selection is missed, which the page says in its first line.
            assert done.exit_code in (0, 1), (words, command, done.output)
            first = done.stdout.lstrip("0123456789, ").split()[0]
            assert done.exit_code == 0 or first.isupper(), (command, done.output)
            if output:
                Path(output).write_text(done.stdout, encoding="utf-8")
            ran += 1
        if not proposals:
            break
    return ran


@pytest.mark.parametrize("version", sampled(["3.4", "3.2"]))
@pytest.mark.parametrize("stage", OF_CHAIRS)
def test_what_is_proposed_to_chairs_runs(
    version: str, stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in OF_CHAIRS[stage]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        shutil.copytree(KIT / version / stage, folder)
        monkeypatch.chdir(folder)
        follow(words)


@pytest.mark.parametrize("name", SMALL)
def test_what_is_proposed_for_small_tables_runs(name: str, folder: Path) -> None:
    Path("my table.csv").write_text(SMALL[name])
    proposed = 0
    for command, *options in OF_ANYBODY:
        if "score" in SMALL[name].split("\n")[0] or "grade" in SMALL[name] or command != "calibrate":
            proposed += follow((command, "my table.csv", *options))
    assert proposed


PAPERS = "item\n" + "".join(f"p{i}\n" for i in range(8))
PEOPLE = "reviewer,load\n" + "".join(f"r{j},4\n" for j in range(8))
BIDS = "item,reviewer,bid\n" + "".join(
    f"p{i},r{j},{'yes' if (i + j) % 3 else 'no'}\n" for i in range(8) for j in range(8)
)
#: Two tracks, which no review connects, and a reviewer who is in conflict with all.
TRACKS = "item,reviewer\n" + "".join(f"p{i},r{j}\n" for i in range(8) for j in range(8) if (i < 4) != (j < 4))


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--reviewers", "people.csv", "--bids", "bids.csv"),
        ("--bids", "bids.csv", "-o", "assigned.csv", "--html", "report.html", "--quiet"),
        ("--reviewers", "people.csv", "--demand", "2", "--conflicts", "tracks.csv", "--best-effort"),
        ("--reviewers", "people.csv", "--demand", "1", "--target", "survives-reviewer"),
        ("--reviewers", "people.csv", "--to", "mail", "-o", "letters.csv"),
    ],
)
def test_what_is_proposed_for_small_assignments_runs(options: tuple[str, ...], folder: Path) -> None:
    for name, text in {"papers.csv": PAPERS, "people.csv": PEOPLE, "bids.csv": BIDS, "tracks.csv": TRACKS}.items():
        Path(name).write_text(text)
    if not options:
        refused = run("assign", "--items", "papers.csv")
        assert refused.exit_code == 2
        assert "--reviewers: expected a file of all reviewers, or of their preferences" in refused.stderr
        return
    proposed = follow(("assign", "--items", "papers.csv", *options))
    assert proposed or "--quiet" in options


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="the public tables are not here")
@pytest.mark.parametrize("name", sampled([*TABLES, "nih_r01"], TABLES))
def test_what_is_proposed_for_public_tables_runs(name: str, folder: Path) -> None:
    shutil.copy(DATA / name / "scores.csv", "scores.csv")
    for command, *options in (("check",), ("plan",), ("calibrate",), ("calibrate", "--select", "10%")):
        follow((command, "scores.csv", *options))

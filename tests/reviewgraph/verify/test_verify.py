import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

import reviewgraph as rg
from reviewgraph.cli import main
from reviewgraph.cli.verify import verify
from tests.verifying.cases import MAKERS
from tests.verifying.mutations import run

CHAIN = "reviewer,paper,score\nann,p1,1\nann,p2,2\nbob,p2,3\nbob,p3,4\ncleo,p3,5\ncleo,p4,1\n"


@pytest.fixture(autouse=True)
def folder(folder: Path) -> None:
    Path("reviews.csv").write_text(CHAIN)


def asked(*words: str) -> dict[str, Any]:
    """Keep the answer of a command in ``answer.json``."""
    result = CliRunner().invoke(main, [*words, "--json"], catch_exceptions=False)
    Path("answer.json").write_text(result.stdout)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def verified(*words: str, answer: Any = None) -> Result:
    if answer is not None:
        Path("answer.json").write_text(json.dumps(answer))
    return CliRunner().invoke(verify, words, catch_exceptions=False)


@pytest.mark.parametrize("command", MAKERS)
def test_true_answers_hold_and_false_ones_do_not(command: str) -> None:
    tally = run(command, 8)
    assert (tally.refused_true, tally.accepted_false) == ([], [])
    assert tally.refused > 4


def test_a_verdict_and_its_reasons() -> None:
    plan = asked("plan", "reviews.csv")
    good = verified("answer.json", "reviews.csv")
    assert (good.exit_code, good.stdout.splitlines()[0]) == (0, "HOLDS: answer.json is checked by independent code")
    plan["bounds"][-1]["value"] = plan["lower_bound"] = 3
    bad = verified("answer.json", "reviews.csv", answer=plan)
    assert bad.exit_code == 1
    assert bad.stdout.startswith("REFUTED: answer.json\n")
    assert "bounds[1]: claims 3 (degrees of freedom); recomputed 2" in bad.stdout
    assert "count: 2 reviews are fewer than the lower bound 3" in bad.stdout


def test_a_claim_that_decides_and_is_not_looked_at_has_a_status_of_its_own() -> None:
    words = ("reviews.csv", "--hypothesis", "linear")
    answer = asked("calibrate", *words)
    page = verified("answer.json", *words, answer={**answer, "status": "inaccurate"})
    assert page.exit_code == 4
    assert page.stdout.splitlines()[:2] == [
        "NOT REFUTED: answer.json depends on what could not be checked",
        "  Depends on   quality, rank: the method ended before it converged",
    ]
    result = json.loads(verified("answer.json", *words, "--json").stdout)
    assert (result["outcome"], result["holds"], result["wrong"]) == ("not_refuted", False, [])
    assert set(result["undecided"]) <= set(result["trusted"])


def test_a_plan_without_reviewers_who_are_gone() -> None:
    """Their places among the codes stay, as merges have them."""
    rows = ["a,p1,", "b,p1,2", "b,p2,3", "c,p2,", "c,p3,", "d,p3,4", "d,p4,1", "e,p4,", "e,p1,", "f,p2,5", "f,p3,1"]
    Path("reviews.csv").write_text("\n".join(["reviewer,item,score", *rows, ""]))
    Path("gone.csv").write_text("reviewer\na\nc\n")
    plan = asked("plan", "reviews.csv", "--gone", "gone.csv")
    assert max(max(merge[:2]) for merge in plan["merges"]) > 3
    assert verified("answer.json", "reviews.csv", "--gone", "gone.csv").exit_code == 0
    Path("pairs.csv").write_text("item,reviewer\np1,a\np2,c\np3,c\n")
    asked("plan", "reviews.csv", "--gone", "pairs.csv", "--spare", "1")
    assert verified("answer.json", "reviews.csv", "--gone", "pairs.csv", "--spare", "1").exit_code == 0


def test_rules_are_those_that_verify_is_told() -> None:
    plan = asked("plan", "reviews.csv")
    first = plan["reviews"][0]
    Path("conflicts.csv").write_text(f"item,reviewer\n{first['item']},{first['reviewer']}\n")
    result = verified("answer.json", "reviews.csv", "--conflicts", "conflicts.csv")
    assert result.exit_code == 1
    assert f"reviews[0]: {first['reviewer']} on {first['item']} is a conflict" in result.stdout
    assert verified("answer.json", "reviews.csv", "--target", "connected").exit_code == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "found something else"),
        ('{"status": 1}', "found other keys"),
        ('{"method": NaN, "items": []}', "NaN is no finite number"),
        ('{"method": 1e999, "items": []}', "1e999 is no finite number"),
        ('{"method": 1, "items": [' + "9" * 400 + "]}", "expected the keys and values that calibrate prints"),
        ("item,reviewer,affinity\np,a,1\n", "check a table with `reviewgraph check answer.json`"),
        ("", "expected what a command printed with --json"),
    ],
)
def test_what_is_no_answer_is_refused(content: str, message: str) -> None:
    Path("answer.json").write_text(content)
    result = verified("answer.json", "reviews.csv")
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("command", "forged", "status", "message"),
    [
        (
            "plan",
            ('"count": 2', '"moon": ["' + "x" * 10_000 + '"], "count": true'),
            1,
            "count: claims true; recomputed 2",
        ),
        ("plan", ('"count": 2', '"count": 2, "count": 2'), 2, "the key 'count' stands twice in one object"),
        ("plan", ('"count": 2', '"count": "2' + "0" * 10_000 + '"'), 1, "count: claims 20000"),
        ("plan", ('"value": ', '"Value": '), 2, "expected the keys and values that plan prints, found others"),
        ("plan", ('"merges": [[', '"merges": [["'), 2, "expected what a command printed with --json"),
        ("plan", ('"merges": [[', '"merges": [[1, '), 2, "expected the keys and values that plan prints"),
        ("calibrate", ('"rank": 1', '"rank": 1.9'), 1, "rank: claims 1.9; recomputed 1"),
        ("calibrate", ('"group": 1', '"group": [1]'), 2, "expected the keys and values that calibrate prints"),
    ],
)
def test_keys_that_are_checked_are_there_and_of_their_kind(
    command: str, forged: tuple[str, str], status: int, message: str
) -> None:
    asked(command, "reviews.csv")
    text = Path("answer.json").read_text()
    assert forged[0] in text
    Path("answer.json").write_text(text.replace(*forged, 1))
    result = verified("answer.json", "reviews.csv")
    assert (result.exit_code, message in result.output, len(result.output) < 3000) == (status, True, True), result


def _long_chain() -> dict[str, Any]:
    """A plan of 27 reviews, which no plan has fewer than."""
    rows = [f"r{j},p{i}," for j in range(28) for i in (j, j + 1)]
    Path("reviews.csv").write_text("\n".join(["reviewer,paper,score", *rows, ""]))
    plan = asked("plan", "reviews.csv")
    assert (plan["status"], plan["count"]) == ("optimal", 27)
    return plan


def test_a_plan_of_28_for_27_is_refuted() -> None:
    plan = _long_chain()
    idle = next(j for j in range(28) if f"r{j}" not in {row["reviewer"] for row in plan["reviews"]})
    plan["reviews"].append({**plan["reviews"][-1], "reviewer": f"r{idle}", "item": f"p{(idle + 9) % 29}"})
    plan["mail"].append({"reviewer": f"r{idle}", "text": f"Dear r{idle}, p{(idle + 9) % 29}?"})
    plan["count"] = plan["lower_bound"] = 28
    plan["cost"] = 28.0
    for kind, reason in (
        ("the moon", "there is no kind of bound called 'the moon'"),
        ("degrees of freedom", "claims 28 (degrees of freedom); recomputed 27"),
    ):
        plan["bounds"] = [{"value": 28, "kind": kind, "words": "twenty-eight"}]
        result = verified("answer.json", "reviews.csv", answer=plan)
        assert result.exit_code == 1
        assert reason in result.stdout


def test_no_plan_where_all_reviews_are_one_is_refuted() -> None:
    plan = _long_chain()
    plan |= {"status": "infeasible", "count": 0, "cost": 0.0, "lower_bound": 0, "largest_load": 0, "bounds": []}
    plan |= {"reviews": [], "mail": [], "merges": [], "largest_load_lower_bound": None}
    result = verified("answer.json", "reviews.csv", answer=plan)
    assert (result.exit_code, "status infeasible: all 756 reviews" in result.stdout) == (1, True)
    result = verified("answer.json", "reviews.csv", "--spare", "5", answer=plan)
    assert (result.exit_code, "that there is no plan takes a search" in result.stdout) == (4, True)


@pytest.mark.parametrize(
    ("command", "place", "value", "shown"),
    [
        (
            "check",
            ("expected_error", "median"),
            0.5,
            "expected_error.median: claims 0.5; a second run of check prints 0.6",
        ),
        (
            "plan",
            ("reviews", 0, "joins"),
            "joins 9 papers",
            "reviews[0].joins: claims joins 9 papers; a second run of plan prints joins groups",
        ),
        ("plan", ("moon",), 1, "moon: claims 1; a second run of plan prints nothing"),
    ],
)
def test_what_no_other_code_tells_is_asked_again(command: str, place: tuple[Any, ...], value: Any, shown: str) -> None:
    answer = asked(command, "reviews.csv")
    within: Any = answer
    for key in place[:-1]:
        within = within[key]
    within[place[-1]] = value
    result = verified("answer.json", "reviews.csv", answer=answer)
    assert result.exit_code == 4
    assert shown in " ".join(result.stdout.split())


def test_asking_again_writes_nothing() -> None:
    words = ("reviews.csv", "-o", "out.csv", "--html", "page.html")
    asked("check", *words)
    for name in words[2::2]:
        Path(name).write_text("kept")
    before = sorted(Path().iterdir())
    result = verified("answer.json", *words)
    assert (result.exit_code, result.stderr, result.stdout.count("HOLDS")) == (0, "", 1)
    assert [Path(name).read_text() for name in words[2::2]] == ["kept", "kept"]
    assert sorted(Path().iterdir()) == before


def test_another_plan_that_is_as_good_is_not_refuted() -> None:
    first = asked("plan", "reviews.csv")["reviews"][0]
    Path("conflicts.csv").write_text(f"item,reviewer\n{first['item']},{first['reviewer']}\n")
    other = asked("plan", "reviews.csv", "--conflicts", "conflicts.csv")
    other["files"] = other["files"][:1]
    result = json.loads(verified("answer.json", "reviews.csv", "--json", answer=other).stdout)
    assert (result["outcome"], len(result["undecided"])) == ("not_refuted", 1)
    assert "run again, plan prints other reviews" in result["undecided"][0]


def test_the_hypothesis_of_the_answer_is_that_of_the_question() -> None:
    words = ("reviews.csv", "--hypothesis", "monotone")
    asked("calibrate", *words)
    assert verified("answer.json", *words).exit_code == 0
    # Without an option the second run is one of another method.
    assert verified("answer.json", "reviews.csv").exit_code == 4
    assert "hypothesis: claims monotone" in verified("answer.json", "reviews.csv", "--hypothesis", "linear").stdout


PANEL = "reviewer,senior,institution\nann,yes,a\nbob,no,a\ncleo,no,b\n"


@pytest.mark.parametrize(
    "rules", [("--at-least", "senior=1"), ("--at-most", "institution=1"), ("--at-least", "senior=2")]
)
def test_rules_on_panels_hold_for_plans_too(rules: tuple[str, ...]) -> None:
    Path("people.csv").write_text(PANEL)
    words = ("reviews.csv", "--attributes", "people.csv", *rules)
    plan = asked("plan", *words)
    result = verified("answer.json", *words)
    assert result.exit_code == 0, result.stdout
    if plan["status"] == "infeasible":
        assert "that even all" in result.stdout
        return
    plan["rules"][0]["papers"] -= 1
    assert "rules[0].papers: claims" in verified("answer.json", *words, answer=plan).stdout
    Path("people.csv").write_text(PANEL.replace("ann,yes,a", "ann,no,a").replace("cleo,no,b", "cleo,yes,a"))
    assert verified("answer.json", *words, answer=plan).exit_code == 1


def test_answers_about_tables_larger_than_memory_are_those_of_a_second_run() -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.read_csv("reviews.csv").to_parquet("reviews.parquet")
    words = ("reviews.parquet", "--stream")
    answer = asked("check", *words)
    assert verified("answer.json", *words).exit_code == 0
    assert verified("answer.json", *words, answer={**answer, "level": "double"}).exit_code == 4


def _market(affinity: str) -> list[str]:
    """Three papers, four reviewers of two institutions, and what they are worth to each other."""
    Path("papers.csv").write_text("item\np1\np2\np3\n")
    Path("people.csv").write_text("reviewer,institution\na,x\nb,x\nc,y\nd,y\n")
    rows = [
        f"p{i},{who},{value}"
        for i, line in enumerate(affinity.split(), 1)
        for who, value in zip("abcd", line, strict=True)
    ]
    Path("affinity.csv").write_text("\n".join(["item,reviewer,affinity", *rows, ""]))
    words = ["--items", "papers.csv", "--reviewers", "people.csv", "--affinity", "affinity.csv", "--demand", "2"]
    return [*words, "--load", "2", "--target", "none", "--at-most", "institution=1"]


def test_the_most_affinity_is_that_of_a_programme_and_under_rules_is_not_checked() -> None:
    words = _market("9821 8325 4444")
    answer = asked("assign", *words)
    assert (answer["status"], answer["affinity"]) == ("optimal", 32.0)
    result = verified("answer.json", *words)
    assert (result.exit_code, "that no assignment within the rules has more" in result.stdout) == (4, True)
    answer["affinity_unconstrained"] -= 1.0
    result = verified("answer.json", *words, answer=answer)
    assert (result.exit_code, "affinity_unconstrained: claims" in result.stdout) == (1, True)
    # Without rules nothing is left open.
    answer = asked("assign", *words[:-2])
    assert verified("answer.json", *words[:-2]).exit_code == 0
    result = verified("answer.json", *words[:-2], "--floor", "9")
    assert (result.exit_code, "--floor: paper p3 has 8, and the least is 9" in result.stdout) == (1, True)
    answer["bound"] += 1.0
    assert verified("answer.json", *words[:-2], answer=answer).exit_code == 1


def test_no_assignment_where_there_is_one_is_not_accepted() -> None:
    words = _market("9911 9911 5555")
    answer = asked("assign", *words)
    none = {"status": "infeasible", "reviews": [], "affinity": 0.0, "bound": None, "affinity_unconstrained": None}
    assert verified("answer.json", *words, answer={**answer, **none}).exit_code == 4
    assert verified("answer.json", *words[:-2], answer={**answer, **none}).exit_code == 1
    short = [*words[:-2], "--load", "1"]
    assert asked("assign", *short)["status"] == "infeasible"
    result = verified("answer.json", *short)
    assert (result.exit_code, "that demands cannot be met within loads" in result.stdout) == (0, True)


@pytest.mark.parametrize("make", [rg.check, rg.plan, rg.calibrate], ids=lambda make: make.__name__)
def test_results_saved_from_python_hold_by_the_command(make: Any) -> None:
    rows = [(f"r{j}", i, float((i * j + j) % 5)) for j in range(6) for i in range(6) if (i + j) % 3]
    frame = pd.DataFrame(rows, columns=["reviewer", "item", "score"])
    frame.to_csv("saved.csv", index=False)
    make(frame).save("saved.json")
    done = verified("saved.json", "saved.csv")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("HOLDS")
    assert "it names none" in done.output


def test_a_number_to_select_that_was_not_repeated_is_named() -> None:
    asked("calibrate", "reviews.csv", "--method", "average", "--select", "2")
    result = json.loads(verified("answer.json", "reviews.csv", "--json").stdout)
    reason = "--select: the answer has a selection, but no number to select was given; "
    assert reason + "repeat it as it was given to calibrate" in result["wrong"]


def test_rounds_are_those_of_a_second_run() -> None:
    words = ("reviews.csv", "--for", "decision", "--select", "1", "--max-reviews", "3", "--rounds", "2")
    plan = asked("plan", *words)
    result = json.loads(verified("answer.json", *words, "--json").stdout)
    assert result["outcome"] == "holds"
    plan["rounds"]["worth"] = 9.0
    result = json.loads(verified("answer.json", *words, "--json", answer=plan).stdout)
    assert (result["outcome"], "rounds.worth: claims 9" in result["undecided"][0]) == ("not_refuted", True)
    # Its rules are checked by other code.
    plan["reviews"][0]["reviewer"] = "zoe"
    result = json.loads(verified("answer.json", *words, "--json", answer=plan).stdout)
    assert "there is no such reviewer" in result["wrong"][0]


def test_fairness_that_costs_affinity_and_rounds_without_a_plan_are_not_refuted() -> None:
    Path("items.csv").write_text("item\np0\np1\n")
    Path("people.csv").write_text("reviewer,load\nann,1\nbob,1\n")
    Path("affinity.csv").write_text("item,reviewer,affinity\np0,ann,9\np0,bob,5\np1,ann,4\np1,bob,1\n")
    words = ("--items", "items.csv", "--reviewers", "people.csv", "--affinity", "affinity.csv", "--demand", "1")
    fair = ("assign", *words, "--fair", "maximin", "--target", "none")
    assert asked(*fair)["affinity"] == 9.0
    assert verified("answer.json", *fair[1:]).exit_code in (0, 4)
    Path("scores.csv").write_text("reviewer,paper,score\nann,p1,3\nann,p2,4\nbob,p2,5\nbob,p3,1\n")
    rounds = ("plan", "scores.csv", "--for", "decision", "--select", "1", "--min-reviews", "3")
    assert asked(*rounds)["status"] == "infeasible"
    assert "more reviews in all" in CliRunner().invoke(main, list(rounds)).stdout
    assert verified("answer.json", *rounds[1:]).exit_code == 0

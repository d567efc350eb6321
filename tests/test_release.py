"""What a release says of itself: version, Pythons, contents, workflows and citation agree."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import reviewgraph
from tests import release

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def workflow(name: str) -> dict[Any, Any]:
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8"))


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in workflow(name)["jobs"].values() for step in job["steps"]]


def pythons() -> list[str]:
    named = (
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in PROJECT["project"]["classifiers"]
    )
    return [match[1] for match in named if match]


def test_the_range_of_pythons_is_the_same_everywhere() -> None:
    assert workflow("ci")["jobs"]["checks"]["strategy"]["matrix"]["python"] == pythons()
    build = workflow("release")["jobs"]["build"]["steps"]
    (installed,) = [step["with"]["python-version"] for step in build if "setup-python" in step.get("uses", "")]
    assert installed.split() == pythons()
    wheels = [name.removeprefix("cp3").removesuffix("-*") for name in PROJECT["tool"]["cibuildwheel"]["build"].split()]
    assert [f"3.{minor}" for minor in wheels] == pythons()
    assert f"CPython {pythons()[0]} to {pythons()[-1]}" in (ROOT / "docs/reference/stability.md").read_text("utf-8")


def wheel() -> list[str]:
    modules = [
        path.relative_to(ROOT).as_posix()
        for package in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    return [*modules, "reviewgraph-1.dist-info/licenses/LICENSE"]


def test_the_wheel_holds_what_it_needs() -> None:
    assert release.missing(wheel()) == []
    assert release.unwanted(wheel()) == []


def test_the_source_distribution_holds_what_its_tests_read() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    for name in ("tests", "docs", ".ci", ".github", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE"):
        assert f"/{name}" in included
        assert (ROOT / name).exists()
    assert all((ROOT / name.partition("::")[0]).exists() for name in release.TESTS)


def test_the_citation_is_of_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    day = re.search(
        rf"^## \[{re.escape(reviewgraph.__version__)}\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
    )
    assert day is not None
    assert (cited["version"], str(cited["date-released"])) == (reviewgraph.__version__, day[1])
    assert cited["license"] == PROJECT["project"]["license"]
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    (paper,) = cited["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Tan", "Wu", "Bei", "Xu"]
    assert paper["title"] in (ROOT / "docs/reference/references.md").read_text("utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_pin_their_actions_and_may_only_read(path: Path) -> None:
    used = [step["uses"] for step in steps(path.stem) if "uses" in step]
    assert used
    assert [action for action in used if not re.search(r"@[0-9a-f]{40}$", action)] == []
    assert workflow(path.stem)["permissions"] == {"contents": "read"}


def test_every_search_of_the_night_is_a_command() -> None:
    searches = workflow("nightly")["jobs"]["searches"]["strategy"]["matrix"]["search"]
    for name in [search.split()[0] for search in searches]:
        paths = [ROOT / "tests" / f"{name}.py", ROOT / "tests" / name / "__main__.py"]
        (path,) = [path for path in paths if path.exists()]
        assert 'if __name__ == "__main__":' in path.read_text("utf-8")


def test_only_a_tag_publishes_without_a_password_and_with_attestations() -> None:
    told = workflow("release")
    assert told[True] == {"push": {"tags": ["v*"]}}  # "on" is a truth value in YAML 1.1
    publish = told["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["needs"] == ["build", "wheels"]
    (upload,) = [step for step in publish["steps"] if step["uses"].startswith("pypa/gh-action-pypi-publish@")]
    assert upload["with"] == {"attestations": True}
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text("utf-8")

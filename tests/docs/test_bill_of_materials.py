"""The list of what bestarm needs: complete, of the versions that are tested, each with its licence."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """As `make dist` writes it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, str(ROOT / "scripts" / "bill_of_materials.py"), str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    (path,) = folder.glob("*.cdx.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def names(requirements: list[str]) -> set[str]:
    return {str(canonicalize_name(Requirement(text).name)) for text in requirements} - {"bestarm"}


def test_everything_that_is_asked_for_is_there_with_version_and_licence(bill: dict[str, Any]) -> None:
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert bill["metadata"]["component"]["name"] == "bestarm"
    components = {one["name"]: one for one in bill["components"]}
    assert len(components) == len(bill["components"])
    extras = PROJECT["optional-dependencies"]
    asked = set().union(*(names(extras[extra]) for extra in ("simulate", "server", "experiments", "cluster")))
    assert asked | names(PROJECT["dependencies"]) <= set(components)
    assert not {"pytest", "ruff", "mkdocs"} & set(components)
    for name, one in components.items():
        assert one["licenses"], name
        if one["purl"].startswith("pkg:pypi/"):
            assert one["version"] == metadata.version(name)
    required = {name for name, one in components.items() if one["scope"] == "required"}
    assert names(PROJECT["dependencies"]) <= required
    assert not {"numpy", "fastapi", "sqlalchemy"} & required


def test_who_needs_whom_is_in_it(bill: dict[str, Any]) -> None:
    known = {bill["metadata"]["component"]["bom-ref"], *(one["bom-ref"] for one in bill["components"])}
    needed = {entry["ref"]: set(entry["dependsOn"]) for entry in bill["dependencies"]}
    assert set().union(*needed.values()) <= known
    fastapi, starlette = (
        one["bom-ref"] for one in bill["components"] if one["name"] in ("fastapi", "starlette")
    )
    assert starlette in needed[fastapi]
    reached = {bill["metadata"]["component"]["bom-ref"]}
    while more := set().union(*(needed.get(ref, set()) for ref in reached)) - reached:
        reached |= more
    assert reached == known


def test_the_versions_are_those_that_the_tests_ran_on(bill: dict[str, Any]) -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}
    for one in bill["components"]:
        if one["purl"].startswith("pkg:pypi/"):
            assert pinned[one["name"]] == one["version"]


def test_next_major_versions_of_what_is_built_upon_are_kept_out() -> None:
    bounded = {
        "httpx",
        "typer",
        "fastapi",
        "pydantic",
        "uvicorn",
        "httptools",
        "sqlalchemy",
        "alembic",
        "psycopg",
    }
    for text in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["server"]):
        requirement = Requirement(text)
        if requirement.name in bounded:
            assert any(part.operator == "<" for part in requirement.specifier), text
            assert requirement.specifier.contains(metadata.version(requirement.name))


def test_no_file_names_where_packages_come_from() -> None:
    for path in ("pyproject.toml", "constraints.txt", "Makefile", "scripts/install-test-tools.sh"):
        text = Path(ROOT / path).read_text()
        assert "index-url" not in text
        assert "find-links" not in text

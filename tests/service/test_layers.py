"""The service's folders look one way: storage knows of no other, view of storage, http of both."""

import ast
from pathlib import Path

import pytest

import bestarm.service

ROOT = Path(bestarm.service.__file__).parent
KNOWS = {
    "storage": {"storage"},
    "view": {"storage", "view"},
    "http": {"storage", "view", "http"},
    "telling": {"storage", "view", "telling"},
}


def folders_used(path: Path) -> set[str]:
    """The folders of the service that a file imports from, at any depth."""
    modules = [
        module
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for module in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom)
            else []
        )
    ]  # fmt: skip
    return {module.split(".")[2] for module in modules if module.startswith("bestarm.service.")}


@pytest.mark.parametrize("folder", KNOWS)
def test_a_folder_knows_only_what_lies_below(folder: str) -> None:
    used = {path: folders_used(path) for path in (ROOT / folder).rglob("*.py")}
    assert set().union(*used.values()) - {folder} == KNOWS[folder] - {folder}
    assert {path.name for path, folders in used.items() if folders - KNOWS[folder]} == set()


def test_every_file_has_a_folder() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in ROOT.rglob("*.py")} == {"__init__.py", *KNOWS}

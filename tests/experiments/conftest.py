"""A made-up MovieLens folder, and the same as a zip."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from films import make_folder


@pytest.fixture(scope="session")
def movielens_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("movielens") / "ml-tiny")


@pytest.fixture(scope="session")
def movielens_zip(movielens_folder: Path) -> Path:
    path = movielens_folder.parent / "ml-tiny.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("ratings.csv", "tags.csv", "movies.csv"):
            archive.write(movielens_folder / name, f"ml-tiny/{name}")
    return path

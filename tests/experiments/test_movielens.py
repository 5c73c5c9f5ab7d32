"""The MovieLens reader: folders, zips, counts, and one sentence for each thing that can be wrong."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bestarm.errors import UserError
from bestarm.experiments import movielens
from bestarm.experiments.movielens import load


def copy(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def test_a_folder_is_counted(movielens_folder: Path) -> None:
    data = load(movielens_folder, 250)
    rows = (movielens_folder / "ratings.csv").read_text().splitlines()[1:]
    users = [int(row.split(",")[0]) for row in rows]
    assert (data.users, data.ratings) == (16, len(rows))
    assert data.kept_users.tolist() == [user for user in range(1, 17) if users.count(user) > 250]
    assert data.interactions == sum(users.count(user) for user in data.kept_users.tolist())
    assert data.rated_films == len({row.split(",")[1] for row in rows})
    rated = {int(row.split(",")[1]) for row in rows if row.startswith("16,")}
    assert set(data.ids[data.rated[-1]].tolist()) == rated
    assert data.name == "ml-tiny"


def test_users_need_more_ratings_than_the_limit(movielens_folder: Path) -> None:
    assert load(movielens_folder, 309).kept_users.tolist() == [16]
    with pytest.raises(UserError, match="more than 310 ratings"):
        load(movielens_folder, 310)


def test_small_pieces_give_the_same(movielens_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load(movielens_folder, 250)
    monkeypatch.setattr(movielens, "CHUNK", 97)
    pieces = load(movielens_folder, 250)
    assert pieces.texts == whole.texts
    assert all(np.array_equal(a, b) for a, b in zip(pieces.rated, whole.rated, strict=True))
    assert (pieces.users, pieces.ratings, pieces.tags) == (whole.users, whole.ratings, whole.tags)


def test_a_zip_gives_what_the_folder_gives(movielens_folder: Path, movielens_zip: Path) -> None:
    folder, packed = load(movielens_folder, 250), load(movielens_zip, 250)
    assert packed.name == folder.name
    assert packed.texts == folder.texts
    assert packed.titles == folder.titles
    assert all(np.array_equal(a, b) for a, b in zip(packed.rated, folder.rated, strict=True))


def test_the_folder_may_be_inside_another(movielens_folder: Path) -> None:
    assert load(movielens_folder.parent, 250).ratings == load(movielens_folder, 250).ratings


def test_text_is_genres_and_tags(movielens_folder: Path, tmp_path: Path) -> None:
    folder = copy(movielens_folder, tmp_path / "ml")
    with (folder / "tags.csv").open("a", encoding="utf-8") as file:
        file.write('1,1,"NA",0\n1,1,"two, words",0\n1,999999,lost,0\n')
    data = load(folder, 250)
    assert data.texts[0].endswith("NA two, words")
    assert "|" not in "".join(data.texts)
    assert "genres listed" not in data.texts[5]
    assert data.titles[5] == "Naïve Film (1960)"
    assert not any("lost" in text for text in data.texts)


def test_ratings_of_unknown_films_are_left_out(movielens_folder: Path, tmp_path: Path) -> None:
    folder = copy(movielens_folder, tmp_path / "ml")
    with (folder / "ratings.csv").open("a", encoding="utf-8") as file:
        file.write("16,2,1.0,0\n16,77777777,1.0,0\n")
    assert load(folder, 250).interactions == load(movielens_folder, 250).interactions


def test_nobody_with_so_many_ratings_gets_a_suggestion_that_works(movielens_folder: Path) -> None:
    with pytest.raises(UserError) as caught:
        load(movielens_folder, 3000)
    assert "no user" in str(caught.value)
    assert "the most is 310" in str(caught.value)
    suggested = int(str(caught.value).partition("--min-ratings ")[2].split()[0])
    assert len(load(movielens_folder, suggested).kept_users) == 10
    assert len(load(movielens_folder, suggested + 1).kept_users) == 9


@pytest.mark.parametrize("name", ["nowhere", "nowhere.zip"])
def test_a_missing_folder_says_where_the_data_comes_from(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError) as caught:
        load(tmp_path / name, 3000)
    for word in (name, "GroupLens", "ratings.csv", "tags.csv", "movies.csv", "downloads nothing"):
        assert word in str(caught.value)


def test_a_missing_file_is_named(movielens_folder: Path, tmp_path: Path) -> None:
    folder = copy(movielens_folder, tmp_path / "ml")
    (folder / "tags.csv").unlink()
    with pytest.raises(UserError, match=r"tags\.csv"):
        load(folder, 250)


def test_a_file_that_is_no_zip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ml.zip").write_text("hello")
    with pytest.raises(UserError, match="neither a folder nor a zip"):
        load(tmp_path / "ml.zip", 250)


def test_a_zip_without_the_files_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "ml.zip", "w") as archive:
        archive.writestr("ml-1m/ratings.dat", "1::2::3")
    with pytest.raises(UserError, match="does not have all of"):
        load(tmp_path / "ml.zip", 250)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("userId,rating\n1,3.5\n", "userId, movieId"),
        ("userId,movieId,rating,timestamp\n1,many,3.5,0\n", "could not be read"),
        ("", "could not be read"),
    ],
)
def test_broken_ratings_get_a_sentence(movielens_folder: Path, tmp_path: Path, content: str, what: str) -> None:
    folder = copy(movielens_folder, tmp_path / "ml")
    (folder / "ratings.csv").write_text(content)
    with pytest.raises(UserError, match=what) as caught:
        load(folder, 250)
    assert "\n" not in str(caught.value)


def test_no_ratings_at_all(movielens_folder: Path, tmp_path: Path) -> None:
    folder = copy(movielens_folder, tmp_path / "ml")
    (folder / "ratings.csv").write_text("userId,movieId,rating,timestamp\n")
    with pytest.raises(UserError, match="has no ratings"):
        load(folder, 250)


def test_a_film_twice_is_refused(movielens_folder: Path, tmp_path: Path) -> None:
    folder = copy(movielens_folder, tmp_path / "ml")
    with (folder / "movies.csv").open("a", encoding="utf-8") as file:
        file.write("1,Again (1999),Drama\n")
    with pytest.raises(UserError, match="the film 1 twice"):
        load(folder, 250)

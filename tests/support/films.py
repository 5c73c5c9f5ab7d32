"""A small MovieLens folder in GroupLens' format, made up here: nothing of the real data is in the project."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

FILMS, USERS = 4000, 16
GENRES = ("Action", "Comedy", "Drama", "Horror", "Sci-Fi", "War", "Romance", "Western")
WORDS = tuple(f"{first}{second}" for first in "bdfgklmnprst" for second in ("abo", "eki", "ilo", "omu", "upa"))


def write_csv(path: Path, header: str, rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(header.split(","))
        table.writerows(rows)


def make_folder(folder: Path, fewest: int = 150) -> Path:
    """Users who like some words and genres, so that a θ can be learned. User u has `fewest` + 10 u ratings."""
    random = np.random.default_rng(7)
    folder.mkdir()
    genres = [random.choice(GENRES, random.integers(1, 4), replace=False).tolist() for _ in range(FILMS)]
    words = [random.choice(WORDS, random.integers(1, 6)).tolist() for _ in range(FILMS)]
    ids = (np.arange(FILMS) * 3 + 1).tolist()  # with holes, as in the real data
    titles = [f"Film {k}, The (19{k % 100:02d})" for k in range(FILMS)]
    movies = [(i, title, "|".join(own)) for i, title, own in zip(ids, titles, genres, strict=True)]
    movies[5] = (ids[5], "Naïve  Film (1960)", "(no genres listed)")
    tags = [(1, i, word, 0) for i, own in zip(ids, words, strict=True) for word in own]
    liked = [
        sum(word < "l" for word in own) + 2 * ("Drama" in kinds)
        for own, kinds in zip(words, genres, strict=True)
    ]
    chance = np.exp(np.array(liked) * 0.9)
    ratings: list[tuple[object, ...]] = []
    for user in range(1, USERS + 1):
        films = np.sort(random.choice(FILMS, fewest + 10 * user, replace=False, p=chance / chance.sum()))
        ratings += [(user, ids[film], 3.5, 964982703) for film in films]
    write_csv(folder / "movies.csv", "movieId,title,genres", movies)
    write_csv(folder / "tags.csv", "userId,movieId,tag,timestamp", tags)
    write_csv(folder / "ratings.csv", "userId,movieId,rating,timestamp", ratings)
    return folder

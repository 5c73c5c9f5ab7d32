"""Read a MovieLens folder or zip as GroupLens ships it, in pieces: 20 million ratings need little memory."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from bestarm.errors import UserError

FILES = ("ratings.csv", "tags.csv", "movies.csv")
CHUNK = 500_000
FEW_USERS = 10
HOME = (
    "MovieLens comes from GroupLens (grouplens.org, datasets, MovieLens): take ml-20m, ml-25m, ml-latest "
    f"or ml-latest-small, whose folder or zip has {', '.join(FILES[:-1])} and {FILES[-1]}; bestarm "
    "downloads nothing"
)

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MovieLens:
    """What is needed of a data set: the films with their text, and which of them the kept users rated.

    `rated` has one array of film positions for each kept user. The counts before it are of the whole data set.
    """

    name: str
    users: int
    ratings: int
    tags: int
    rated_films: int
    ids: Ids
    titles: tuple[str, ...]
    texts: tuple[str, ...]
    min_ratings: int
    kept_users: Ids
    rated: tuple[Ids, ...]

    @property
    def interactions(self) -> int:
        """The ratings of the kept users."""
        return sum(len(films) for films in self.rated)


class Source:
    """The three files of a data set, in a folder or in a zip."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: dict[str, str] = {}
        if path.is_dir():
            inner = [path, *sorted(folder for folder in path.iterdir() if folder.is_dir())]
            for folder in inner:
                if all((folder / file).is_file() for file in FILES):
                    self.names = {file: str(folder / file) for file in FILES}
                    break
        elif path.is_file() and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                members = archive.namelist()
            for file in FILES:
                found = [name for name in members if name.rpartition("/")[2] == file and "__MACOSX" not in name]
                if found:
                    self.names[file] = min(found, key=len)
        elif path.exists():
            raise UserError(f"{path} is neither a folder nor a zip file. {HOME}.")
        else:
            raise UserError(f"there is no folder or zip file {path}. {HOME}.")
        missing = [file for file in FILES if file not in self.names]
        if missing:
            raise UserError(f"{path} does not have all of {', '.join(FILES)}. {HOME}.")

    @contextmanager
    def open(self, file: str) -> Iterator[IO[bytes]]:
        """One of the files, as bytes; a zip's file is unpacked while it is read."""
        if self.path.is_dir():
            with Path(self.names[file]).open("rb") as stream:
                yield stream
        else:
            with zipfile.ZipFile(self.path) as archive, archive.open(self.names[file]) as stream:
                yield stream

    def pieces(self, file: str, columns: dict[str, Any]) -> Iterator[Any]:
        """Some columns of a file, as pandas frames of at most `CHUNK` rows."""
        pandas = _pandas()
        try:
            with self.open(file) as stream:
                yield from pandas.read_csv(
                    stream,
                    usecols=list(columns),
                    dtype=columns,
                    keep_default_na=False,  # a tag may be the word NA
                    encoding="utf-8",
                    chunksize=CHUNK,
                )
        except (ValueError, zipfile.BadZipFile) as error:  # pandas' own errors are ValueErrors
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(
                f"{file} of {self.path} could not be read ({reason}); it must have the columns "
                f"{', '.join(columns)}."
            ) from None


def load(path: Path, min_ratings: int) -> MovieLens:
    """The data set at a path, with the users who have more than `min_ratings` ratings.

    The ratings are read twice, piece by piece: once to count each user's, once to keep those of the kept users.
    """
    source = Source(path)
    counts, rated_films = _count(source)
    kept = np.array(sorted(user for user, count in counts.items() if count > min_ratings), dtype=np.int64)
    if kept.size == 0:
        raise UserError(_nobody(path, counts, min_ratings))
    ids, titles, genres = _films(source)
    tags, texts = _texts(source, ids, genres)
    return MovieLens(
        name=path.stem if path.is_file() else path.name,
        users=len(counts),
        ratings=sum(counts.values()),
        tags=tags,
        rated_films=rated_films,
        ids=ids,
        titles=titles,
        texts=texts,
        min_ratings=min_ratings,
        kept_users=kept,
        rated=_rated(source, ids, kept),
    )


def _count(source: Source) -> tuple[dict[int, int], int]:
    """How many ratings each user has, and how many films have one."""
    counts: dict[int, int] = {}
    films: set[int] = set()
    for piece in source.pieces("ratings.csv", {"userId": np.int32, "movieId": np.int32}):
        users, numbers = np.unique(piece["userId"].to_numpy(), return_counts=True)
        for user, number in zip(users.tolist(), numbers.tolist(), strict=True):
            counts[user] = counts.get(user, 0) + number
        films.update(np.unique(piece["movieId"].to_numpy()).tolist())
    return counts, len(films)


def _nobody(path: Path, counts: dict[int, int], min_ratings: int) -> str:
    if not counts:
        return f"ratings.csv of {path} has no ratings."
    busiest = sorted(counts.values(), reverse=True)
    users = min(FEW_USERS, len(busiest))
    enough = busiest[users - 1] - 1
    left = sum(count > enough for count in busiest)
    return (
        f"no user in {path} has more than {min_ratings} ratings (the most is {busiest[0]}); "
        f"--min-ratings {enough} leaves {left} users."
    )


def _films(source: Source) -> tuple[Ids, tuple[str, ...], list[str]]:
    ids: list[int] = []
    titles: list[str] = []
    genres: list[str] = []
    for piece in source.pieces("movies.csv", {"movieId": np.int64, "title": str, "genres": str}):
        ids += piece["movieId"].tolist()
        titles += [" ".join(title.split()) for title in piece["title"]]
        genres += ["" if text == "(no genres listed)" else text.replace("|", " ") for text in piece["genres"]]
    order = np.argsort(np.array(ids, dtype=np.int64), kind="stable")
    sorted_ids = np.array(ids, dtype=np.int64)[order]
    if (np.diff(sorted_ids) == 0).any():
        raise UserError(
            f"movies.csv of {source.path} has the film {sorted_ids[:-1][np.diff(sorted_ids) == 0][0]} twice."
        )
    return sorted_ids, tuple(titles[place] for place in order), [genres[place] for place in order]


def _texts(source: Source, ids: Ids, genres: list[str]) -> tuple[int, tuple[str, ...]]:
    """The text of each film: its genres and all its tags. A tag given twice counts twice."""
    words = [[text] for text in genres]
    count = 0
    for piece in source.pieces("tags.csv", {"movieId": np.int64, "tag": str}):
        places, known = _places(ids, piece["movieId"].to_numpy())
        for place, tag, is_known in zip(places.tolist(), piece["tag"], known.tolist(), strict=True):
            count += 1
            if is_known:
                words[place].append(tag)
    return count, tuple(" ".join(text) for text in words)


def _rated(source: Source, ids: Ids, kept: Ids) -> tuple[Ids, ...]:
    films: list[list[Ids]] = [[] for _ in kept]
    for piece in source.pieces("ratings.csv", {"userId": np.int32, "movieId": np.int32}):
        users, of_kept = _places(kept, piece["userId"].to_numpy())
        places, known = _places(ids, piece["movieId"].to_numpy()[of_kept])
        users, places = users[of_kept][known], places[known]
        for user in np.unique(users).tolist():
            films[user].append(places[users == user])
    return tuple(np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64) for parts in films)


def _places(ordered: Ids, wanted: NDArray[np.integer[Any]]) -> tuple[Ids, NDArray[np.bool_]]:
    """Where each wanted id is in an ordered array, and whether it is there at all."""
    places = np.minimum(np.searchsorted(ordered, wanted), max(len(ordered) - 1, 0)).astype(np.int64)
    return places, ordered[places] == wanted if len(ordered) else np.zeros(len(wanted), dtype=bool)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise UserError('MovieLens needs pandas: pip install "bestarm[experiments]".') from None
    return pandas

"""Films as arms: features from tags and genres, a θ learned from ratings, and arm sets with a wanted gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bestarm.errors import UserError
from bestarm.experiments.movielens import MovieLens
from bestarm.experiments.points import Instance
from bestarm.experiments.synthetic import DELTA, SIGMA
from bestarm.problem import Problem

DIMENSION = 25
EPSILON = 0.05
GAPS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
BAND = 0.01  # how far the others' gaps may be from the wanted one
ALPHA = 1.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Films:
    """The films that can be arms: those whose features differ from all others'. ‖x‖ = 1, ‖θ‖ ≤ 1."""

    names: tuple[str, ...]
    features: Floats
    theta: Floats
    rewards: Floats


def make_films(data: MovieLens, dimension: int = DIMENSION, seed: int = 0) -> Films:
    """Features and θ of a data set.

    Text of a film = its genres and tags; TF-IDF without English stop words; truncated SVD; columns scaled to
    mean 0 and variance 1; rows to length 1; films with equal features once. θ: ridge regression (α = 1, the
    intercept fitted and dropped) on what each kept user rated (1) and as many films that the user did not (0),
    sampled; scaled down if longer than 1.

    Departure: the paper has PCA of the tags' TF-IDF and does not say how ‖x‖ ≤ 1 and ‖θ‖ ≤ 1 are reached.
    """
    features = _features(data, dimension, seed)
    theta = _theta(data, features, np.random.default_rng(seed))
    # To nine digits: films with the same text differ in the last ones only.
    _, first = np.unique(features.round(9), axis=0, return_index=True)
    first = np.sort(first[np.linalg.norm(features[first], axis=1) > 0.5])
    names = tuple(f"{data.titles[place]} [{data.ids[place]}]".strip() for place in first)
    return Films(names, features[first], theta, features[first] @ theta)


def reachable(films: Films, gap: float, arms: int) -> bool:
    """Whether there is a film with enough others about so much worse."""
    return bool(_candidates(films, gap, arms).size)


def arm_set(films: Films, gap: float, arms: int, seed: int) -> Instance:
    """A problem whose best arm is better than each of the others by the gap, give or take 0.01.

    The best arm is drawn among the films for which there are enough others in that band, the others from it.
    """
    candidates = _candidates(films, gap, arms)
    if not candidates.size:
        raise UserError(
            f"no film has {arms - 1} others that are worse by {gap}; take fewer arms or a smaller gap."
        )
    random = np.random.default_rng(seed)
    best = int(random.choice(candidates))
    band = np.flatnonzero(np.abs(films.rewards[best] - films.rewards - gap) <= BAND)
    chosen = np.concatenate([[best], random.choice(band, arms - 1, replace=False)])
    problem = Problem(
        [films.names[place] for place in chosen],
        features=films.features[chosen],
        theta=films.theta,
        sigma=SIGMA,
        delta=DELTA,
        epsilon=EPSILON,
        name="movielens",
    )
    return Instance(problem, seed)


def _candidates(films: Films, gap: float, arms: int) -> NDArray[np.int64]:
    if gap <= BAND:
        raise UserError(f"gap is {gap}; it must be above {BAND}, so that the best film is the best.")
    ordered = np.sort(films.rewards)
    low = np.searchsorted(ordered, films.rewards - gap - BAND + 1e-12, side="left")
    high = np.searchsorted(ordered, films.rewards - gap + BAND - 1e-12, side="right")
    return np.flatnonzero(high - low >= arms - 1)


def _features(data: MovieLens, dimension: int, seed: int) -> Floats:
    try:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError:
        raise UserError('MovieLens needs scikit-learn: pip install "bestarm[experiments]".') from None
    try:
        weights = TfidfVectorizer(stop_words="english").fit_transform(data.texts)
    except ValueError:  # an empty vocabulary
        raise UserError(f"the tags and genres of {data.name} have no words.") from None
    if min(weights.shape) <= dimension:
        raise UserError(
            f"{data.name} has {weights.shape[0]} films and {weights.shape[1]} words in their tags and "
            f"genres; features with {dimension} dimensions need more of both."
        )
    columns = TruncatedSVD(dimension, random_state=seed).fit_transform(weights)
    spread = columns.std(axis=0)
    columns = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    lengths = np.linalg.norm(columns, axis=1, keepdims=True)
    return np.asarray(columns / np.where(lengths > 0, lengths, 1.0))


def _theta(data: MovieLens, features: Floats, random: np.random.Generator) -> Floats:
    from sklearn.linear_model import Ridge

    rows: list[NDArray[np.int64]] = []
    liked: list[Floats] = []
    for films in data.rated:
        others = np.setdiff1d(np.arange(len(features)), films)
        sampled = random.choice(others, min(len(films), len(others)), replace=False)
        rows += [films, sampled]
        liked += [np.ones(len(films)), np.zeros(len(sampled))]
    fit = Ridge(alpha=ALPHA).fit(features[np.concatenate(rows)], np.concatenate(liked))
    theta = np.asarray(fit.coef_, dtype=np.float64)
    return theta / max(1.0, float(np.linalg.norm(theta)))

"""Features, θ and arm sets keep what the linear methods assume."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm.errors import UserError
from bestarm.experiments import films as module
from bestarm.experiments.films import Films, arm_set, make_films, reachable
from bestarm.experiments.movielens import MovieLens, load


@pytest.fixture(scope="module")
def data(movielens_folder: Path) -> MovieLens:
    return load(movielens_folder, 250)


@pytest.fixture(scope="module")
def films(data: MovieLens) -> Films:
    return make_films(data)


def test_features_have_length_one_theta_at_most_one_and_no_two_films_are_the_same(films: Films) -> None:
    assert films.features.shape == (len(films.names), 25)
    assert np.allclose(np.linalg.norm(films.features, axis=1), 1)
    assert np.linalg.norm(films.theta) <= 1 + 1e-12
    assert len(np.unique(films.features.round(9), axis=0)) == len(films.names)
    assert len(set(films.names)) == len(films.names)
    assert np.allclose(films.features @ films.theta, films.rewards)


def test_films_with_the_same_text_are_one_arm(data: MovieLens, films: Films) -> None:
    texts = [" ".join(sorted(text.split())) for text in data.texts]
    assert len(films.names) <= len(set(texts)) < len(texts)


def test_theta_has_learned_what_the_users_like(data: MovieLens, films: Films) -> None:
    """The made-up users rate dramas far more often."""
    drama = np.array(["Drama" in data.texts[_place(data, name)] for name in films.names])
    assert films.rewards[drama].mean() > films.rewards[~drama].mean() + 0.1


def test_the_seed_fixes_everything(data: MovieLens, films: Films) -> None:
    again, other = make_films(data, seed=0), make_films(data, seed=1)
    assert np.array_equal(again.theta, films.theta)
    assert not np.array_equal(other.theta, films.theta)


@settings(max_examples=40, deadline=None)
@given(gap=st.floats(0.05, 0.5), seed=st.integers(0, 10**6), arms=st.sampled_from([2, 10, 40]))
def test_the_best_arm_is_better_than_all_others_by_the_gap(
    films: Films, gap: float, seed: int, arms: int
) -> None:
    problem = arm_set(films, gap, arms, seed).problem
    assert problem.means is not None
    gaps = problem.means[0] - np.delete(problem.means, 0)
    assert arms == problem.K
    assert problem.best == 0
    assert np.abs(gaps - gap).max() <= module.BAND + 1e-9
    assert (problem.sigma, problem.delta, problem.epsilon) == (0.3, 0.05, 0.05)
    assert not problem.features_too_long


def test_an_arm_set_is_fixed_by_its_seed(films: Films) -> None:
    assert arm_set(films, 0.1, 10, 5).problem == arm_set(films, 0.1, 10, 5).problem
    assert arm_set(films, 0.1, 10, 5).problem != arm_set(films, 0.1, 10, 6).problem


def test_an_unreachable_gap_gets_a_sentence(films: Films) -> None:
    assert not reachable(films, 1.9, 10)
    with pytest.raises(UserError, match=r"worse by 1\.9"):
        arm_set(films, 1.9, 10, 0)
    with pytest.raises(UserError, match="must be above"):
        arm_set(films, 0.005, 10, 0)


def test_too_few_words_get_a_sentence(data: MovieLens) -> None:
    with pytest.raises(UserError, match="need more of both"):
        make_films(data, dimension=500)


def _place(data: MovieLens, name: str) -> int:
    return int(np.searchsorted(data.ids, int(name.rpartition("[")[2].rstrip("]"))))

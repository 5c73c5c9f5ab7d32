"""Problems: what is refused and in which words, what is kept, what is computed."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bestarm.errors import ProblemWarning, UserError
from bestarm.problem import Problem

ARMS = '[[arm]]\nname = "A"\n[[arm]]\nname = "B"\n'
LINEAR = '[[arm]]\nname = "A"\nfeatures = [1.0, 0.0]\n[[arm]]\nname = "B"\nfeatures = [0.0, 1.0]\n'
MEANS = '[[arm]]\nname = "A"\nmean = 0.9\n[[arm]]\nname = "B"\nmean = 0.8\n'

GIVE = 'give a list of names, arms = ["A", "B"], or arms = "arms.csv", or [[arm]] tables'

# What stands in problem.toml, and the whole sentence after "<path>: ".
BAD_TOML = [
    ("sigma = 1\ndelta = 1.5\n" + ARMS, "delta is 1.5; it must be a number above 0 and below 1."),
    ("sigma = 1\ndelta = 0\n" + ARMS, "delta is 0; it must be a number above 0 and below 1."),
    ("sigma = 1\ndelta = true\n" + ARMS, "delta is True; it must be a number above 0 and below 1."),
    ('sigma = 1\ndelta = "0.05"\n' + ARMS, "delta is '0.05'; it must be a number above 0 and below 1."),
    ("sigma = 1\nepsilon = 1e101\n" + ARMS, "epsilon is 1e+101; it must be a number from -1e+100 to 1e+100."),
    ("sigma = 1\ndelta = 1e-200\n" + ARMS, "delta is 1e-200; it must be at least 1e-100."),
    ("sigma = 1e200\n" + ARMS, "sigma is 1e+200; it must be a number from -1e+100 to 1e+100."),
    ("sigma = 1\nepsilon = -0.1\n" + ARMS, "epsilon is -0.1; it must be a number of at least 0."),
    ("sigma = 1\nepsilon = nan\n" + ARMS, "epsilon is nan; it must be a number of at least 0."),
    ("sigma = 0\n" + ARMS, "sigma is 0; it must be a finite number above 0."),
    ("sigma = inf\n" + ARMS, "sigma is inf; it must be a finite number above 0."),
    ("reward_range = [1, 0]\n" + ARMS, "reward_range is [1, 0]; it must be [low, high] with low below high."),
    ("reward_range = [1]\n" + ARMS, "reward_range is [1]; it must be [low, high] with low below high."),
    ("reward_range = [0, inf]\n" + ARMS, "reward_range[1] is inf; it must be a finite number."),
    ("reward_range = 1\n" + ARMS, "reward_range is 1; it must be a list of numbers."),
    ("sigma = 1\nname = 7\n" + ARMS, "name is 7; it must be one line of text without spaces around it."),
    ('sigma = 1\nname = ""\n' + ARMS, "name is ''; it must be one line of text without spaces around it."),
    ("sigma = 1\ndelat = 0.1\n" + ARMS, "unknown key 'delat'; did you mean 'delta'?"),
    ("sigma = 1\nnormalize = true\n" + LINEAR, "unknown key 'normalize'; did you mean 'normalise'?"),
    (
        "sigma = 1\nxyz = 1\n" + ARMS,
        "unknown key 'xyz'; the keys are name, arms, arm, delta, epsilon, goal, rewards, sigma, reward_range, "
        "sites, budget, deadline, control, unit, items, theta, normalise, centre.",
    ),
    ("sigma = 1\n" + ARMS + "maen = 1\n", "[[arm]] 2 has an unknown key 'maen'; did you mean 'mean'?"),
    (
        LINEAR + "sigma = 1\n",
        "[[arm]] 2 has an unknown key 'sigma'; keys of the whole problem must stand above the first [[arm]].",
    ),
    ("sigma = 1\n", f"there are no arms; {GIVE}."),
    ('sigma = 1\narms = "arms.csv"\n' + ARMS, f"arms and [[arm]] are both given; {GIVE}."),
    ("sigma = 1\narms = 3\n", f"arms is 3; {GIVE}."),
    ('sigma = 1\narms = ""\n', f"arms is ''; {GIVE}."),
    ('arms = ["A"]\n', "arms has 1 of them; it must have at least two."),
    ('arms = ["A", 2]\n', "name of arm 2 is 2; it must be one line of text without spaces around it."),
    ('arms = ["A", "A"]\n', "name of arm 2 is 'A', like that of arm 1; each arm must have its own name."),
    (
        'sigma = 1\n[arm]\nname = "A"\n',
        "arm is {'name': 'A'}; it must be a list of [[arm]] tables, at least two.",
    ),
    ("sigma = 1\narm = [1, 2]\n", "[[arm]] 1 is 1; it must be a table of keys and values."),
    ('sigma = 1\n[[arm]]\nname = "A"\n', "arms has 1 of them; it must have at least two."),
    (
        "sigma = 1\n" + ARMS.replace('"B"', '"A"'),
        "name of arm 2 is 'A', like that of arm 1; each arm must have its own name.",
    ),
    (
        "sigma = 1\n" + ARMS.replace('"B"', '""'),
        "name of arm 2 is ''; it must be one line of text without spaces around it.",
    ),
    (
        "sigma = 1\n" + ARMS.replace('"B"', '" B"'),
        "name of arm 2 is ' B'; it must be one line of text without spaces around it.",
    ),
    (
        "sigma = 1\n" + ARMS.replace('name = "B"', "mean = 1"),
        "[[arm]] 2 has no name; each arm must have one.",
    ),
    (
        "sigma = 1\n" + MEANS.replace("mean = 0.8", ""),
        "means of arm 'B' is missing; all arms must have means, or none.",
    ),
    ("sigma = 1\n" + MEANS.replace("0.8", '"0.8"'), "mean of arm 'B' is '0.8'; it must be a finite number."),
    ("sigma = 1\n" + MEANS.replace("0.8", "false"), "mean of arm 'B' is False; it must be a finite number."),
    (
        "reward_range = [0, 0.85]\n" + MEANS,
        "mean of arm 'A' is 0.9; it must be a number from 0.0 to 0.85, the reward_range.",
    ),
    (
        "sigma = 1\n" + LINEAR.replace("[0.0, 1.0]", "[0.0]"),
        "features of arm 'B' has 1 numbers; it must have 2, like arm 'A'.",
    ),
    (
        "sigma = 1\n" + LINEAR.replace("features = [0.0, 1.0]", ""),
        "features of arm 'B' is missing; all arms must have features, or none.",
    ),
    (
        "sigma = 1\n" + LINEAR.replace("[0.0, 1.0]", "[0.0, 0]"),
        "features of arm 'B' are all 0; at least one must be another number.",
    ),
    (
        "sigma = 1\n" + LINEAR.replace("[0.0, 1.0]", "[0.0, true]"),
        "features of arm 'B'[1] is True; it must be a finite number.",
    ),
    (
        "sigma = 1\n" + LINEAR.replace("[0.0, 1.0]", "7"),
        "features of arm 'B' is 7; it must be a list of numbers.",
    ),
    ("sigma = 1\ntheta = [1]\n" + LINEAR, "theta has 1 numbers; it must have 2, like the features."),
    ("sigma = 1\ntheta = [1, nan]\n" + LINEAR, "theta[1] is nan; it must be a finite number."),
    (
        "sigma = 1\ntheta = [1]\n" + ARMS,
        "theta is given, but the arms have no features; it must be left out.",
    ),
    (
        "sigma = 1\ntheta = [1, 1]\n" + LINEAR.replace("features", "mean = 1\nfeatures"),
        "theta and means are both given; with theta the means must be left out.",
    ),
    (
        "reward_range = [0, 1]\ntheta = [2, 1]\n" + LINEAR,
        "mean of arm 'A' is 2.0; it must be a number from 0.0 to 1.0, the reward_range.",
    ),
    (
        "sigma = 1\nnormalise = true\n" + ARMS,
        "normalise is given, but the arms have no features; it must be left out.",
    ),
    ("sigma = 1\nnormalise = 1\n" + LINEAR, "normalise is 1; it must be true or false."),
]

# What stands in arms.csv, and the whole sentence after "<path of arms.csv>: ".
BAD_CSV = [
    ("", "line 1 is empty; it must hold the column names, separated by commas: name, mean, …"),
    ("name,mean\n", "there are no rows below the header; there must be at least two arms."),
    ("name,mean\nA,1\n", "arms has 1 of them; it must have at least two."),
    ("name,mean\nA,1\n\nB,2\n", "line 3 is blank; every line below the header must be an arm."),
    ("name,mean\nA,1\nB,2\n , \n", "line 4 is blank; every line below the header must be an arm."),
    ("name,mean\nA,1\nB\n", "line 3 has 1 cells; it must have 2, one for each column."),
    ("name,mean\nA,1\nB,0,5\n", "line 3 has 3 cells; it must have 2, one for each column."),
    ("name,x,x\nA,1,2\nB,2,1\n", "line 1: column 'x' appears twice; each column must have its own name."),
    ("name,x,\nA,1,2\nB,2,1\n", "line 1: column 3 has no name; each column must have one."),
    ("name,Mean\nA,1\nB,2\n", "line 1: column 'Mean' must be written 'mean'."),
    (
        "arm,mean\nA,1\nB,2\n",
        "line 1: there is no column 'name' among 'arm', 'mean'; the columns must be name, optionally "
        "description and mean, and the features, separated by commas.",
    ),
    ("name,x\nA,1\nB,high\n", "line 3: x is 'high'; it must be a finite number."),
    ("name,x\nA,1\nB,1_0\n", "line 3: x is '1_0'; it must be a finite number."),
    ("name,x\nA,1\nB,\n", "line 3: x is ''; it must be a finite number."),
    ("name,mean\nA,nan\nB,2\n", "line 2: mean is 'nan'; it must be a finite number."),
    ("name,mean\nA,1\nA,2\n", "line 3: name is 'A', like on line 2; each arm must have its own name."),
    ("name,mean\n,1\nB,2\n", "line 2: name is empty; each arm must have a name."),
    ("name,mean\nA,1\nB,\n", "means of arm 'B' is missing; all arms must have means, or none."),
    ("name,x,y\nA,1,0\nB,0,0\n", "features of arm 'B' are all 0; at least one must be another number."),
]

# What is passed to Problem(...), on top of two arms and sigma = 1, and the whole sentence.
BAD_PYTHON: list[tuple[dict[str, Any], str]] = [
    ({"arms": "AB"}, "arms is 'AB'; it must be a list of names."),
    ({"arms": {"A", "B"}}, "arms is {'"),
    ({"arms": [1, 2]}, "name of arm 1 is 1; it must be one line of text without spaces around it."),
    (
        {"arms": ["A", "B\nC"]},
        "name of arm 2 is 'B\\nC'; it must be one line of text without spaces around it.",
    ),
    ({"arms": []}, "arms has 0 of them; it must have at least two."),
    ({"sigma": np.float64(-1)}, "sigma is -1.0; it must be a finite number above 0."),
    ({"sigma": np.True_}, "sigma is True; it must be a finite number above 0."),
    ({"sigma": 10**400}, "sigma is 1000000000"),
    ({"sigma": 10**5000}, "sigma is a number of thousands of digits; it must be a finite number above 0."),
    ({"delta": None}, "delta is None; it must be a number above 0 and below 1."),
    ({"delta": 0.5j}, "delta is 0.5j; it must be a number above 0 and below 1."),
    ({"means": 1.0}, "means is 1.0; it must be a list of numbers."),
    ({"means": np.float64(1)}, "means is 1.0; it must be a list of numbers."),
    ({"means": [1.0]}, "means has 1 items; it must have 2, one for each arm."),
    ({"means": [1.0, None]}, "means of arm 'B' is missing; all arms must have means, or none."),
    ({"features": [[1.0]]}, "features has 1 items; it must have 2, one for each arm."),
    ({"features": np.ones(2)}, "features of arm 'A' is 1.0; it must be a list of numbers."),
    ({"features": np.zeros((2, 0))}, "features of arm 'A' has 0 numbers; it must have at least one."),
    ({"features": [[1.0], [np.inf]]}, "features of arm 'B'[0] is inf; it must be a finite number."),
    (
        {"features": [[1.5e308, 1.5e308], [1.0, 0.0]]},
        "features of arm 'A' are too large; their length must be a finite number.",
    ),
    (
        {"features": [[1e300], [1.0]], "theta": [1e300]},
        "features · theta of arm 'A' is inf; it must be a finite number.",
    ),
    (
        {"features": [[1e300, 1e300], [1.0, 0.0]], "theta": [1e300, -1e300]},
        "features · theta of arm 'A' is inf; it must be a finite number.",
    ),
    (
        {"features": [[1e300], [1e-300]], "normalise": True},
        "features of arm 'B' are all 0; at least one must be another number.",
    ),
]


def build(base: dict[str, Any], change: dict[str, Any]) -> Problem:
    return Problem(**(base | change))


def write(folder: Path, toml: str, csv: str | None = None) -> Path:
    (folder / "problem.toml").write_text(toml, encoding="utf-8")
    if csv is not None:
        (folder / "arms.csv").write_text(csv, encoding="utf-8")
    return folder / "problem.toml"


@pytest.mark.parametrize(("toml", "sentence"), BAD_TOML)
def test_malformed_toml_is_refused_in_one_sentence(tmp_path: Path, toml: str, sentence: str) -> None:
    path = write(tmp_path, toml, "name\nA\nB\n")
    with pytest.raises(UserError) as caught:
        Problem.load(path)
    assert str(caught.value) == f"{path}: {sentence}"


@pytest.mark.parametrize(
    "toml", ["sigma = ", "sigma = 1\nsigma = 2\n", "sigma = " + "[" * 5000, "x = " + "9" * 5000]
)
def test_broken_toml_is_refused(tmp_path: Path, toml: str) -> None:
    path = write(tmp_path, toml)
    with pytest.raises(UserError, match=rf"^{re.escape(str(path))}: this is not valid TOML: .+\.$"):
        Problem.load(path)


@pytest.mark.parametrize(("csv", "sentence"), BAD_CSV)
def test_malformed_csv_is_refused_with_its_own_file_name(tmp_path: Path, csv: str, sentence: str) -> None:
    path = write(tmp_path, 'sigma = 1\narms = "arms.csv"\n', csv)
    with pytest.raises(UserError) as caught:
        Problem.load(path)
    assert str(caught.value) == f"{tmp_path / 'arms.csv'}: {sentence}"


@pytest.mark.parametrize(("changes", "sentence"), BAD_PYTHON)
def test_malformed_arguments_are_refused_by_field(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=f"^{re.escape(sentence)}"):
        build({"arms": ["A", "B"], "sigma": 1.0}, changes)


def test_missing_files_are_named_as_they_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"^\./none\.toml: there is no such file\.$"):
        Problem.load("./none.toml")
    with pytest.raises(UserError, match=r"^\.: the file can't be read \(Is a directory\)\.$"):
        Problem.load(".")
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub", 'sigma = 1\narms = "none.csv"\n')
    with pytest.raises(UserError, match=r"^sub/none\.csv: there is no such file\.$"):
        Problem.load("sub/problem.toml")


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, 'sigma = 1\narms = "arms.csv"\n')
    (tmp_path / "arms.csv").write_bytes("name\nä\nB\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"arms\.csv: the file can't be read as text; it must be UTF-8\.$"):
        Problem.load(path)


@pytest.mark.parametrize("data", [None, 3, [], "problem"])
def test_from_dict_wants_a_table(data: Any) -> None:
    with pytest.raises(UserError, match=r"^the problem is .*; it must be a table of keys and values\.$"):
        Problem.from_dict(data)


def test_from_dict_never_opens_a_file() -> None:
    with pytest.raises(
        UserError, match=r"^arms is '/etc/passwd'; only a problem that is itself a file can name"
    ):
        Problem.from_dict({"sigma": 1, "arms": "/etc/passwd"})
    with pytest.raises(
        UserError, match=r"^arms is 'x\.csv'; only a problem that is itself a file can name a file"
    ):
        Problem.from_toml('sigma = 1\narms = "x.csv"\n')


def test_defaults(tmp_path: Path) -> None:
    path = tmp_path / "ligands.toml"
    path.write_text("sigma = 1\n" + ARMS)
    problem = Problem.load(path)
    assert (problem.name, problem.delta, problem.epsilon, problem.sigma) == ("ligands", 0.05, 0.0, 1.0)
    assert (problem.K, problem.dimension, problem.linear) == (2, 0, False)
    assert (problem.longest_feature, problem.features_too_long) == (0.0, False)
    assert (problem.features, problem.means, problem.theta, problem.reward_range) == (None, None, None, None)
    with pytest.raises(UserError, match=r"^means are not given; to know the best arm, give means or theta\.$"):
        _ = problem.best


def test_csv_with_a_byte_order_mark_spaces_and_quotes(tmp_path: Path) -> None:
    csv = '\ufeff name , mean, "x1" ,x2\r\n A ,0.1, 1 ,0\r\n"B, wet" , 0.2 , "0", 1e0\r\n'
    path = write(tmp_path, '\ufeffname = "n"\nsigma = 0.3\narms = "arms.csv"\n', csv)
    problem = Problem.load(path)
    expected = Problem(["A", "B, wet"], name="n", sigma=0.3, means=[0.1, 0.2], features=np.eye(2))
    assert problem == expected
    assert problem.best == 1


def test_an_empty_mean_column_means_no_means(tmp_path: Path) -> None:
    path = write(tmp_path, 'sigma = 1\narms = "arms.csv"\n', "name,mean\nA,\nB,\n")
    assert Problem.load(path).means is None


def test_reward_range_gives_sigma() -> None:
    problem = Problem(["A", "B"], reward_range=[-1, 2], means=[-1, 2])
    assert problem.sigma == 1.5
    assert problem.reward_range == (-1.0, 2.0)


def test_theta_gives_means_and_best_takes_the_first_of_ties() -> None:
    problem = Problem(["A", "B", "C"], sigma=1, features=[[1, 0], [0, 2], [2, 0]], theta=[0.5, 0.5])
    assert problem.means is not None
    assert problem.means.tolist() == [0.5, 1.0, 1.0]
    assert problem.best == 1


def test_normalise_scales_by_one_factor_and_keeps_the_means() -> None:
    rng = np.random.default_rng(0)
    features, theta = rng.normal(size=(6, 3)) * 5, rng.normal(size=3)
    names = [f"a{k}" for k in range(6)]
    plain = Problem(names, sigma=1, features=features, theta=theta)
    scaled = Problem(names, sigma=1, features=features, theta=theta, normalise=True)
    assert plain.features_too_long
    assert not scaled.features_too_long
    assert scaled.longest_feature == pytest.approx(1.0, abs=1e-15)
    assert scaled.features is not None
    assert scaled.theta is not None
    np.testing.assert_allclose(scaled.features * plain.longest_feature, features, rtol=1e-14)
    np.testing.assert_allclose(scaled.theta / plain.longest_feature, theta, rtol=1e-14)
    assert scaled.means is not None
    np.testing.assert_allclose(scaled.means, features @ theta, rtol=1e-13)
    assert Problem.from_dict(scaled.to_dict()) == scaled


def test_rounding_does_not_push_a_mean_out_of_its_range() -> None:
    # 0.1 + 0.2 is 0.30000000000000004; after normalising, the products round in yet other places.
    for factor in (1.0, 3.0, 7.0):
        features = [[factor, factor], [factor, 0.0]]
        problem = Problem(
            ["A", "B"],
            reward_range=[0, 0.3],
            features=features,
            theta=[0.1 / factor, 0.2 / factor],
            normalise=True,
        )
        assert problem.means is not None
        assert problem.means.max() <= 0.3
        again = Problem.from_dict(problem.to_dict())
        assert again.means is not None
        assert again.means.tobytes() == problem.means.tobytes()


EXAMPLES = [
    Problem(["A", "B"], sigma=0.1 + 0.2),
    Problem.quick([1 / 3, 0.1, 2 / 3], sigma=1 / 7, delta=1e-9, epsilon=0.999),
    Problem(["A", "ß · 日本"], name="two words", reward_range=(0.1, 0.7), means=[0.1, 0.7]),
    Problem(["A", "B"], sigma=1, features=[[1 / 3, -0.0], [5e-324, 1e300]]),
    Problem(["A", "B"], sigma=1, features=[[1 / 3, 0.1], [0.7, 9]], theta=[0.1, 1 / 3], normalise=True),
    Problem(["A", "B"], sigma=1, features=[[1 / 3], [0.1]], means=[0.3, 0.2]),
]


@pytest.mark.parametrize("problem", EXAMPLES)
def test_round_trips_keep_every_bit(problem: Problem) -> None:
    text = json.dumps(problem.to_dict(), allow_nan=False)
    for again in (Problem.from_dict(json.loads(text)), pickle.loads(pickle.dumps(problem))):
        assert again == problem
        assert hash(again) == hash(problem)
        assert again.fingerprint == problem.fingerprint
        assert json.dumps(again.to_dict()) == text
        for field in ("features", "means", "theta"):
            before, after = getattr(problem, field), getattr(again, field)
            assert (after is None) == (before is None)
            if before is not None:
                assert after.tobytes() == before.tobytes()
                assert not after.flags.writeable


def test_arrays_are_copies_and_read_only() -> None:
    features, means = np.eye(2), np.array([0.1, 0.2])
    problem = Problem(["A", "B"], sigma=1, features=features, means=means)
    features[0, 0] = means[0] = 9
    assert problem.features is not None
    assert problem.means is not None
    assert problem.features[0, 0] == 1
    assert problem.means[0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        problem.features[0, 0] = 9
    frozen: Any = problem
    with pytest.raises(AttributeError, match="cannot assign to field 'sigma'"):
        frozen.sigma = 2.0


def test_the_fingerprint_is_of_the_statistics_only() -> None:
    base: dict[str, Any] = {"arms": ["A", "B"], "sigma": 0.5, "features": [[1.0, 0.0], [0.0, 1.0]]}
    problem = Problem(**base)
    same: list[dict[str, Any]] = [
        {"name": "other"},
        {"means": [1, 2]},
        {"theta": [1, 2]},
        {"features": [[1, -0.0], [0, 1]]},
    ]
    for change in same:
        assert build(base, change).fingerprint == problem.fingerprint
    different: list[dict[str, Any]] = [
        {"arms": ["A", "C"]},
        {"sigma": 0.6},
        {"sigma": None, "reward_range": [0, 1]},
        {"delta": 0.1},
        {"epsilon": 0.1},
        {"features": [[1, 0], [0, 2]]},
        {"features": None},
    ]
    prints = [build(base, change).fingerprint for change in different]
    assert len({problem.fingerprint, *prints}) == len(different) + 1
    assert re.fullmatch("[0-9a-f]{16}", problem.fingerprint)
    assert build(base, {"name": "other"}) != problem
    assert build(base, {"means": [1, 2]}) != problem
    assert problem != "problem"


def test_arms_with_the_same_features_are_warned_about() -> None:
    features = [[1.0, 0.0], [0.0, 1.0], [1.0, -0.0]]
    with pytest.warns(ProblemWarning) as caught:
        Problem(["A", "B", "C"], sigma=1, features=features)
    sentences = [str(warning.message) for warning in caught]
    cause = "arms 'A' and 'C' have the same features"
    assert sentences == [f"{cause}; in the linear model no data can tell them apart."]
    assert caught[0].filename == __file__


def test_rewards() -> None:
    free, bounded = Problem(["A", "B"], sigma=1), Problem(["A", "B"], reward_range=[0, 1])
    assert [free.check_reward(x) for x in (3, -2.5, np.float32(0.5), np.int64(4))] == [3.0, -2.5, 0.5, 4.0]
    assert type(free.check_reward(np.int64(4))) is float
    assert [bounded.check_reward(x) for x in (0, 1)] == [0.0, 1.0]
    for reward in (True, np.True_, "1", None, float("nan"), float("inf"), 10**400, [1.0]):
        with pytest.raises(UserError, match=r"^reward is .*; it must be a finite number\.$"):
            free.check_reward(reward)
    for reward in (-0.001, 1.001, True, float("nan")):
        with pytest.raises(UserError, match=r"^reward is .*; it must be a number from 0\.0 to 1\.0, the rew"):
            bounded.check_reward(reward)


def test_quick_names_the_arms_and_checks_the_means() -> None:
    problem = Problem.quick([0.9, 0.8, 0.7], sigma=0.3, delta=0.1, epsilon=0.2)
    assert problem.arms == ("arm-1", "arm-2", "arm-3")
    assert (problem.delta, problem.epsilon, problem.best) == (0.1, 0.2, 0)
    words: Any = [0.9, "x"]
    with pytest.raises(UserError, match=r"^means\[1\] is 'x'; it must be a finite number\.$"):
        Problem.quick(words, sigma=0.3)
    with pytest.raises(UserError, match=r"^arms has 1 of them; it must have at least two\.$"):
        Problem.quick([0.9], sigma=0.3)

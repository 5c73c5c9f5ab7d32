"""Which cells a sweep has, and what it says about a file that can't be used."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import Problem, UserError, method
from bestarm.problem.checks import linear_means
from bestarm.simulation.worlds.world import World
from bestarm.sweeps.grid import load_grid, make_grid

PROBLEM = Problem.quick([0.9, 0.5], sigma=0.3)


def write(folder: Path, text: str) -> Path:
    path = folder / "sweep.toml"
    path.write_text(text)
    return path


def test_every_combination_is_there_once_and_in_order() -> None:
    cells = make_grid(
        {"K": [3, 5], "gaps": [0.1, 0.2], "sigma": 0.3},
        ["sharp", {"name": "famabpe", "gamma": [0.1, 0.3]}],
        agents=[2, 10],
        runs=7,
        seeds=[0, 1, 2],
    )
    found = [
        (cell.problem.K, cell.gap, cell.method, cell.parameters["gamma"], cell.agents, cell.seed)
        for cell in cells
    ]
    expected = [
        (arms, gap, name, gamma or 1 / (2 * count * arms), count, seed)
        for arms in (3, 5)
        for gap in (0.1, 0.2)
        for name, gamma in (("sharp", None), ("famabpe", 0.1), ("famabpe", 0.3))
        for count in (2, 10)
        for seed in (0, 1, 2)
    ]
    assert found == expected
    assert all(cell.runs == 7 for cell in cells)
    assert len({cell.key for cell in cells}) == len(cells)


def test_a_cell_that_is_given_twice_is_one_cell() -> None:
    default = 1 / (2 * 10 * 2)
    assert len(make_grid(PROBLEM, ["famabpe", {"name": "famabpe", "gamma": [0.1, 0.1, default]}])) == 2


def test_the_key_knows_everything_but_the_number_of_runs_and_the_name() -> None:
    (cell,) = make_grid(PROBLEM, "famabpe", runs=10)
    renamed = Problem.from_dict(PROBLEM.to_dict() | {"name": "another"})
    same = [make_grid(PROBLEM, "famabpe", runs=20), make_grid(renamed, "famabpe")]
    assert {found.key for cells in same for found in cells} == {cell.key}
    noisier = Problem.from_dict(PROBLEM.to_dict() | {"sigma": 0.31})
    others = [
        make_grid(noisier, "famabpe"),
        make_grid(PROBLEM, "sharp"),
        make_grid(PROBLEM, {"name": "famabpe", "gamma": 0.1}),
        make_grid(PROBLEM, "famabpe", agents=11),
        make_grid(PROBLEM, "famabpe", seeds=1),
        make_grid(PROBLEM, "famabpe", engine="rounds"),
        make_grid(PROBLEM, "famabpe", world=World("gaussian")),
        make_grid(PROBLEM, "famabpe", world=World(noise=0.2)),
        make_grid(PROBLEM, "famabpe", world=World(noise=[0.2, 0.3])),
        make_grid(PROBLEM, "famabpe", world=World(offsets=[0.0, 0.1])),
        make_grid(PROBLEM, "famabpe", world=World(drift=0.1)),
        make_grid(PROBLEM, "famabpe", world=World(interactions=0.1)),
        make_grid(PROBLEM, "famabpe", world=World(interactions=[[0.1, 0.0]])),
        make_grid(PROBLEM, "famabpe", max_samples=1000),
    ]
    keys = [found.key for cells in others for found in cells]
    assert cell.key not in keys
    assert len(set(keys)) == 14


def test_another_version_of_the_code_has_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    (cell,) = make_grid(PROBLEM, "famabpe")
    monkeypatch.setattr("bestarm.sweeps.cell.code_version", lambda: "0.0.0-another")
    (other,) = make_grid(PROBLEM, "famabpe")
    assert cell.key != other.key


def test_a_cell_whose_means_come_out_differently_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """With theta a problem's file has no means; what they come to is part of the key all the same."""
    line = {"features": [[1.0, 0.0], [0.0, 1.0]], "theta": [0.5, 0.1], "sigma": 0.3}
    (cell,) = make_grid(line, "famabpe")
    monkeypatch.setattr(
        "bestarm.problem.problem.linear_means", lambda *given: linear_means(*given) + np.array([0.0, 0.1])
    )
    (other,) = make_grid(line, "famabpe")
    assert other.problem.to_dict() == cell.problem.to_dict()
    assert (cell.gap, other.gap) == (0.4, 0.3)
    assert cell.key != other.key


def test_a_file_names_problems_by_path_by_gaps_and_inline(tmp_path: Path) -> None:
    (tmp_path / "ligands.toml").write_text(
        'sigma = 0.3\n[[arm]]\nname = "A"\nmean = 0.9\n[[arm]]\nname = "B"\nmean = 0.7\n'
    )
    path = write(
        tmp_path,
        """
        runs = 5
        [[problem]]
        path = "ligands.toml"
        delta = [0.05, 0.01]
        [[problem]]
        K = 4
        gaps = 0.25
        best = 0.8
        sigma = 0.2
        [[problem]]
        name = "line"
        features = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]
        theta = [0.5, 0.1]
        sigma = 0.3
        [[method]]
        name = ["famabpe", "sharp"]
        """,
    )
    problems = list(dict.fromkeys(cell.problem for cell in load_grid(path)))
    assert [(problem.name, problem.K, problem.delta) for problem in problems] == [
        ("ligands", 2, 0.05),
        ("ligands", 2, 0.01),
        ("K=4 gap=0.25", 4, 0.05),
        ("line", 3, 0.05),
    ]
    assert problems[2].means is not None
    assert problems[2].means.tolist() == [0.8, 0.55, 0.55, 0.55]
    assert problems[3].dimension == 2
    assert len(load_grid(path)) == 8
    assert {cell.runs for cell in load_grid(path, runs=9)} == {9}


def test_arrays_are_lists_too() -> None:
    cells = make_grid(PROBLEM, {"name": "famabpe", "gamma": np.array([0.1, 0.2])}, seeds=np.arange(2).tolist())
    assert [cell.parameters["gamma"] for cell in cells] == [0.1, 0.1, 0.2, 0.2]


METHOD = '[[method]]\nname = "famabpe"\n'
GAPS = "[[problem]]\nK = 3\ngaps = 0.1\nsigma = 0.3\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("runs = ", ["not valid TOML"]),
        (METHOD, ["problem is missing", "[[problem]]"]),
        (GAPS, ["method is missing", "[[method]]"]),
        ("problem = 3\n" + METHOD, ["problem is missing"]),
        ("seed = 3\n" + GAPS + METHOD, ["unknown key 'seed'", "seeds"]),
        ("runs = 0\n" + GAPS + METHOD, ["runs is 0", "at least 1"]),
        ("runs = true\n" + GAPS + METHOD, ["runs is True"]),
        ("agents = []\n" + GAPS + METHOD, ["agents is []"]),
        ("agents = [1, 0]\n" + GAPS + METHOD, ["agents is 0"]),
        ("seeds = [0, -1]\n" + GAPS + METHOD, ["seeds is -1"]),
        ('engine = "event"\n' + GAPS + METHOD, ["engine is 'event'", "events, rounds"]),
        (GAPS + "gamma = 3\n" + METHOD, ["[[problem]] 1", "unknown key 'gamma'"]),
        (GAPS.replace("K = 3\n", "") + METHOD, ["[[problem]] 1", "gaps needs K"]),
        (GAPS.replace("K = 3", "K = 1") + METHOD, ["[[problem]] 1", "K is 1"]),
        (GAPS.replace("0.1", "[0.1, 0]") + METHOD, ["[[problem]] 1", "gaps has 0"]),
        (GAPS.replace("0.1", '"wide"') + METHOD, ["[[problem]] 1", "gaps is 'wide'"]),
        (GAPS.replace("sigma = 0.3", "sigma = -1") + METHOD, ["[[problem]] 1", "sigma is -1"]),
        ("[[problem]]\nsigma = 0.3\n" + METHOD, ["[[problem]] 1", "has no arms"]),
        ("[[problem]]\nmeans = [1]\ngaps = 1\n" + METHOD, ["[[problem]] 1", "gaps and means"]),
        ("[[problem]]\nmeans = [0.5]\nsigma = 1\n" + METHOD, ["[[problem]] 1", "at least two"]),
        ('[[problem]]\npath = "none.toml"\n' + METHOD, ["[[problem]] 1", "none.toml", "no such file"]),
        ("[[problem]]\npath = 3\n" + METHOD, ["[[problem]] 1", "path is 3"]),
        (GAPS + METHOD + "gama = 0.1\n", ["[[method]] 1", "no parameter 'gama'", "gamma"]),
        (GAPS + METHOD + "gamma = [0.1, -1]\n", ["[[method]] 1", "gamma is -1"]),
        (GAPS + METHOD + "gamma = []\n", ["[[method]] 1", "gamma is []"]),
        (GAPS + METHOD + "gamma = [[0.1]]\n", ["[[method]] 1", "gamma has [0.1]"]),
        (GAPS + METHOD + "agents = 3\n", ["[[method]] 1", "agents is no parameter"]),
        (GAPS + '[[method]]\nname = "sharpp"\n', ["[[method]] 1", "method is 'sharpp'", "sharp?"]),
        (GAPS + "[[method]]\ngamma = 0.1\n", ["[[method]] 1", "must have a name"]),
        (GAPS + '[[method]]\nname = "falinpe"\n', ["[[method]] 1", "'K=3 gap=0.1'", "features"]),
        (
            "[[problem]]\nname='x'\nmeans=[1, 0.5, 0.2]\nsigma=1\n"
            "[[problem]]\nname='x'\nmeans=[1, 0.5, 0.3]\nsigma=1\n" + METHOD,
            ["two different problems are called 'x'"],
        ),
    ],
)
def test_bad_input_is_a_sentence_that_names_the_file_and_the_key(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UserError) as raised:
        load_grid(path)
    sentence = str(raised.value)
    assert sentence.startswith(f"{path}: ")
    assert "\n" not in sentence
    for word in words:
        assert word in sentence


def test_a_file_says_what_the_world_is_like(tmp_path: Path) -> None:
    lines = 'rewards = "heavy"\nnoise = 0.2\noffsets = [0, 0.1]\ndrift = 0.1\ninteractions = 0.05\n'
    (cell,) = load_grid(write(tmp_path, lines + GAPS + METHOD))
    assert cell.world == World("heavy", noise=0.2, offsets=[0, 0.1], drift=0.1, interactions=0.05)
    assert cell.describe()["offsets"] == "0,0.1"
    with pytest.raises(UserError, match="offsets is 'far'; it must be a list of numbers"):
        load_grid(write(tmp_path, 'offsets = "far"\n' + GAPS + METHOD))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.toml: there is no such file"):
        load_grid(tmp_path / "none.toml")


def test_a_problem_without_means_can_not_be_simulated() -> None:
    with pytest.raises(UserError, match="has no means"):
        make_grid(Problem(["A", "B"], sigma=0.3), "sharp")


def test_a_method_that_workers_would_build_differently_is_a_sentence() -> None:
    """They build it by name: an exchanged rule would be lost, and without a word."""
    built = method("sharp", PROBLEM, 10)
    assert make_grid(PROBLEM, built)[0].key == make_grid(PROBLEM, "sharp")[0].key
    exchanged = replace(built, rules=built.rules._replace(choose=fewest))
    for like in (exchanged, lambda problem, agents: exchanged):
        with pytest.raises(UserError, match="one of 'sharp' was exchanged: register its own"):
            make_grid(PROBLEM, like)
    with pytest.raises(UserError, match="was built for 10 agents; say agents=10"):
        make_grid(PROBLEM, built, agents=5)
    assert len(make_grid(PROBLEM, method("ugapec", PROBLEM), agents=5)) == 1


def fewest(pulls: Any, view: Any, reading: Any, setting: Any) -> int:
    return int(pulls.argmin())


def test_items_differ_in_a_sweep_too(tmp_path: Path) -> None:
    text = "item_effects = 0.2\n[[problem]]\nmeans = [0.5, 0.4]\nitems = true\nname = 'x'\n"
    (cell,) = load_grid(write(tmp_path, "noise = 0.1\n" + text + '[[method]]\nname = "sharp"\n'))
    assert cell.problem.items
    assert cell.world == World(noise=0.1, item_effects=0.2)
    fixed: dict[str, Any] = {"agents": 3, "runs": 2, "engine": "rounds", "noise": 0.1, "item_effects": 0.2}
    found = bestarm.sweep(cell.problem, "sharp", jobs=1, **fixed)
    alone = bestarm.simulate(cell.problem, "sharp", **fixed)
    assert found.results[0].samples.tolist() == alone.samples.tolist()

"""Figures: drawn without a screen, saved whole, and not blank."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from command import QUICK, Call, bestarm
from PIL import Image

import bestarm as package
from bestarm.errors import UserError
from bestarm.methods import METHODS, method
from bestarm.plot import SPARE, look, looks, plot_compare, plot_trace, save, style
from bestarm.simulation.api import prepare

PROBLEM = package.Problem.quick([0.9, 0.6, 0.5], sigma=0.3)


def simulated(name: str = "famabpe", runs: int = 30, **parameters: Any) -> package.Result:
    return package.simulate(PROBLEM, name, agents=3, runs=runs, engine="rounds", **parameters)


def share_of(colour: str, path: Path) -> float:
    """How much of a picture is close to a colour."""
    pixels = np.asarray(Image.open(path).convert("RGB"), dtype=float)
    wanted = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)], dtype=float)
    return float((np.abs(pixels - wanted).sum(axis=2) < 150).mean())


def texts(figure: Any) -> str:
    return " ".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))


def test_every_method_has_its_own_colour_and_mark() -> None:
    own = [name for name, recipe in METHODS.items() if not recipe.field]  # the others share the spare ones
    for part in zip(*looks(own).values(), *SPARE, strict=True):
        assert len(set(part)) == len(own) + len(SPARE)


def test_more_methods_than_spare_looks_begin_again() -> None:
    names = [f"mine-{k}" for k in range(len(SPARE) + 1)]
    found = looks(names)
    assert found[names[0]] == found[names[-1]]
    assert looks(reversed(names))[names[-1]] == SPARE[0]


def test_simulate_writes_a_picture(folder: Path) -> None:
    process = bestarm("simulate", *QUICK, "--runs", "40", "--method", "famabpe", "--plot", "out.png")
    assert (process.returncode, process.stderr) == (0, "")
    picture = folder / "out.png"
    with Image.open(picture) as image:
        assert image.format == "PNG"
        assert image.width > 1000
        colours = image.convert("RGB").getcolors(maxcolors=1 << 24)
    assert colours is not None
    assert len(colours) > 50
    assert share_of(look("famabpe").colour, picture) > 0.01
    assert [path.name for path in folder.iterdir() if "out" in path.name] == ["out.png"]


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("SVG", b"<?xml"), ("pdf", b"%PDF")])
def test_the_ending_says_what_is_written_and_the_bytes_repeat(
    ending: str, start: bytes, tmp_path: Path
) -> None:
    result = simulated()
    files = [tmp_path / f"{copy}.{ending}" for copy in "ab"]
    for file in files:
        result.plot(file)
    assert files[0].read_bytes().startswith(start)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert sorted(tmp_path.iterdir()) == files


def test_lines_for_mean_and_bounds() -> None:
    result = simulated()
    figure = result.plot()
    said = texts(figure)
    assert result.bounds is not None
    assert f"mean {result.samples.mean():,.0f}" in said
    assert f"lower bound {result.bounds.lower:,.0f}" in said
    assert said.count("theorem's bound") == 2
    left, right = figure.axes
    assert (left.get_xlabel(), right.get_xlabel()) == ("samples", "communications")
    heights = sum(bar.get_height() for bar in left.patches)
    assert heights == 30


def test_one_run_and_no_messages_can_be_drawn(tmp_path: Path) -> None:
    simulated(runs=1).plot(tmp_path / "one.png")
    figure = simulated("ugapec").plot(tmp_path / "alone.png")
    assert "every run 0" in texts(figure)


def test_undecided_runs_are_in_the_title() -> None:
    assert "undecided: 30" in texts(simulated(max_samples=20).plot())


def test_compare_has_a_mark_a_method_at_its_means(tmp_path: Path) -> None:
    results = [simulated(), simulated("sharp"), simulated(gamma=0.5), simulated("ugapec")]
    figure = plot_compare(results, ["famabpe", "sharp", "famabpe:gamma=0.5", "ugapec"])
    (axes,) = figure.axes
    known = {mark for _, mark in looks(METHODS).values()}
    marks = [line for line in axes.get_lines() if line.get_marker() in known]
    places = [(float(mark.get_xdata()[0]), float(mark.get_ydata()[0])) for mark in marks]
    assert places == [(result.samples.mean(), result.communications.mean()) for result in results]
    assert [mark.get_markerfacecolor() for mark in marks][2] == "white"
    assert "famabpe:gamma=0.5" in texts(figure)
    assert "lower bound" in texts(figure)
    low, high = axes.get_ylim()
    assert low < 0
    assert high > max(y for _, y in places)
    save(figure, tmp_path / "compare.png")
    assert share_of(look("sharp").colour, tmp_path / "compare.png") > 0.0005


def test_trace_comes_down_to_epsilon(tmp_path: Path) -> None:
    engine = prepare(method("sharp", PROBLEM, 3, stopping="pairs"), seed=0, engine="rounds")
    outcome, rows = engine.trace(0)
    assert outcome.stopped
    figure = plot_trace(rows, epsilon=0.0)
    above, below = figure.axes
    low, high = above.get_ylim()
    assert low < 0 < high
    assert below.get_lines()[0].get_ydata()[-1] >= 1.0
    assert "breaking index" in texts(figure)
    save(figure, tmp_path / "trace.png")
    assert share_of(look("sharp").colour, tmp_path / "trace.png") > 0.001


def test_a_trace_without_an_index_shows_the_evidence(tmp_path: Path) -> None:
    _, rows = prepare(method("sharp", PROBLEM, 3, stopping="rule-out"), seed=0, engine="rounds").trace(0)
    above, below = plot_trace(rows).axes
    assert not above.get_visible()
    assert below.get_lines()[0].get_ydata()[-1] >= 1.0


def test_the_style_ends_with_its_block() -> None:
    before = matplotlib.rcParams["axes.spines.top"]
    with style():
        assert matplotlib.rcParams["axes.spines.top"] is False
    assert matplotlib.rcParams["axes.spines.top"] == before


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UserError, match="figures need matplotlib"):
        simulated(runs=1).plot()
    code, _, errors = call("simulate", *QUICK, "--plot", "out.png")
    assert code == 2
    assert "figures need matplotlib" in errors


def test_a_folder_in_the_way_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "out.png").mkdir()
    with pytest.raises(UserError, match=r"out\.png: the figure can't be written"):
        simulated(runs=2).plot(tmp_path / "out.png")
    assert [path.name for path in tmp_path.iterdir()] == ["out.png"]

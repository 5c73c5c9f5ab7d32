"""The example notebook, and what changes in one, in a real kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "notebook" / "first-study.ipynb"
PROGRESS = """
import bestarm, bestarm.live, time
bestarm.live.PATIENCE = bestarm.live.PACE = 0.0
bestarm.simulate(bestarm.Problem.quick([0.9, 0.5], sigma=0.3), "sharp", agents=2, runs=8, engine="rounds").runs
"""
WATCH = """
import threading
study = bestarm.create_study(["A", "B"], name="watched", sigma=0.1)
def work():
    while not study.finished:
        for trial in study.ask(4):
            study.tell(trial, {"A": 0.9, "B": 0.85}[trial.arm])
        time.sleep(0.05)
threading.Thread(target=work).start()
study.watch(every=0.01)
"""


class Watched(NotebookClient):
    """Counts the changes of what is shown already."""

    changes = 0

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        self.changes += msg["msg_type"] == "update_display_data"
        return super().process_message(msg, cell, cell_index)


def run(notebook: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(folder / ".ipython"))
    client = Watched(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return client


def pages(cell: Any) -> list[str]:
    return [out["data"]["text/html"] for out in cell.outputs if "text/html" in out.get("data", {})]


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = nbformat.read(NOTEBOOK, 4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    run(notebook, tmp_path, monkeypatch)
    assert "except with probability at most 0.05" in cells[0].outputs[0].text
    verdict, watched = cells[2], cells[5]
    assert "XPhos is the answer" in pages(verdict)[0]
    assert "the answer" in pages(watched)[0]
    assert sum(page.count("<svg") for cell in cells for page in pages(cell)) >= 8
    assert "XPhos is the answer" in (tmp_path / "ligands.html").read_text()


def test_progress_and_watching_change_in_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [nbformat.v4.new_code_cell(PROGRESS), nbformat.v4.new_code_cell(WATCH)]
    client = run(nbformat.v4.new_notebook(cells=cells), tmp_path, monkeypatch)
    progress, watched = cells
    assert pages(progress) == [""]  # the bar was there, changed, and went
    assert len(pages(watched)) == 1
    assert "the answer" in pages(watched)[0]
    assert client.changes >= 8 + 2

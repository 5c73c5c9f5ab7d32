"""`bestarm demo` with real processes: a killed lab, a lost lab, the verdict, and nothing left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from command import COMMAND, Call

from bestarm import Problem, Server, Upload, method
from bestarm.cli.demo.machine import Machine
from bestarm.cli.demo.problem import question, truth
from bestarm.cli.demo.processes import Processes, place
from bestarm.errors import ServiceError


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the demo puts its folder; in memory if there is room, which is faster."""
    with tempfile.TemporaryDirectory(prefix="bestarm-room-", dir=place()) as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr("tempfile.tempdir", folder)
        yield Path(folder)


def processes_in(room: Path) -> list[str]:
    """The commands of all processes that were started with a file in the folder, or work in it."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if str(room) in words or (entry / "cwd").readlink().is_relative_to(room):
                found.append(words)
        except OSError:  # no process, somebody else's, or gone by now
            pass
    return found


def test_the_whole_demo_without_a_terminal(room: Path) -> None:
    process = subprocess.run(
        [COMMAND, "demo", "--fast"], capture_output=True, text=True, timeout=120, check=False
    )
    assert (process.returncode, process.stderr) == (0, "")
    assert "\x1b" not in process.stdout
    lines = process.stdout.splitlines()
    assert lines[1].startswith("Dashboard until the end of the demo: http://127.0.0.1:")
    assert lines[2].startswith("Token to look at it: ")
    story, verdict = lines[: lines.index("Verdict: XPhos is the best.")], process.stdout
    killed, lost, back = (
        next(place for place, text in enumerate(story) if text.startswith(words))
        for words in ("lab-b was killed", "lab-f was killed and never comes back", "lab-b is back")
    )
    assert killed < lost
    assert killed < back
    assert "evidence 100 %" in story[-1]
    assert "Guarantee: of many such studies at most 5 % end with a wrong answer" in verdict
    assert "none twice and none missing, the same verdict." in verdict
    for words in ("sharp, this run", "at most (the paper's theorem)", "(lower bound)"):
        assert words in verdict
    assert processes_in(room) == []
    assert list(room.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGINT, 130, "lab-b was killed"),
        (signal.SIGTERM, 143, "Dashboard"),
    ],
)
def test_a_signal_leaves_nothing_behind(number: int, code: int, words: str, room: Path) -> None:
    with subprocess.Popen(
        [COMMAND, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert any(text.startswith(words) for text in iter(process.stdout.readline, ""))
        assert processes_in(room) != []
        assert [path.name[:13] for path in room.iterdir()] == ["bestarm-demo-"]
        process.send_signal(number)
        printed, errors = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Verdict" not in printed
    assert errors == ("bestarm: interrupted.\n" if number == signal.SIGINT else "")
    assert processes_in(room) == []
    assert list(room.iterdir()) == []


def test_a_killed_lab_goes_on_from_its_journal(room: Path) -> None:
    with Processes() as processes, closing(Machine(processes, method("sharp", truth(), 4), 3, 40.0)) as machine:
        *_, last = machine.pictures()
        export = machine.export()
        answer = machine.status["verdict"]
    assert list(room.iterdir()) == []
    assert last.stopped
    assert [event.split(" ")[0] for event in machine.events].count("lab-b") == 2

    problem = Problem.from_dict(export["problem"])
    assert problem.means is None  # nobody but the experiments knows the truth
    sent = [(row["agent"], row["sequence"]) for row in export["uploads"]]
    assert len(set(sent)) == len(sent)
    numbers = [sequence for agent, sequence in sent if agent == "lab-b"]
    assert numbers == list(range(1, len(numbers) + 1))
    about, keys = {"problem": problem.fingerprint}, ("agent", "sequence", "tally")
    log = [Upload.from_json(about | {key: row[key] for key in keys}, problem) for row in export["uploads"]]
    replayed = Server.replay(method("sharp", problem, 4), log)
    assert len(replayed.log) == len(sent)
    assert replayed.verdict.arm == answer["arm"] == "XPhos"
    assert replayed.total.samples <= machine.samples


def test_one_lab_alone_as_json(room: Path, call: Call) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    code, printed, errors = call("demo", "--fast", "--agents", "1", "--format", "json")
    assert (code, errors) == (0, "")
    found = json.loads(printed)
    assert (found["agents"], found["arm"]) == (1, "XPhos")
    killed, back = found["events"]
    assert killed.startswith("lab-a was killed")
    assert back.startswith("lab-a is back")
    assert 2 * found["uploads_replayed"] - 1 == found["communications"]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == handlers


def test_without_the_server_it_runs_within_one_process(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    code, printed, errors = call("demo")
    assert code == 0
    assert errors.startswith("bestarm: fastapi is not installed, so there is no server;")
    assert errors.count("\n") == 1
    assert "Dashboard" not in printed
    assert "Verdict: XPhos is the best." in printed


def test_more_labs_than_a_small_machine_has_room_for(call: Call) -> None:
    code, printed, errors = call("demo", "--agents", "21")
    assert code == 0
    assert errors.startswith("bestarm: 21 labs are too many processes for a demo;")
    assert "Verdict: XPhos is the best." in printed


def test_a_lab_that_fails_is_said_and_cleaned_up(room: Path) -> None:
    with Processes() as processes, closing(Machine(processes, method("sharp", truth(), 1), 0)) as machine:
        (processes.folder / "lab-a.db").write_text("no journal")
        with pytest.raises(ServiceError, match=r"the demo's lab-a has failed: .* it is not a journal"):
            list(machine.pictures())
    assert processes_in(room) == []
    assert list(room.iterdir()) == []


def test_a_lab_needs_no_compiler() -> None:
    code = "import bestarm.cli.demo.site, sys; print({'numba', 'scipy', 'fastapi', 'typer'} & set(sys.modules))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "set()"


def test_the_question_is_the_problem_without_its_answer() -> None:
    assert question().means is None
    assert question().fingerprint == truth().fingerprint


def test_the_folder_follows_tmpdir(room: Path) -> None:
    with Processes() as processes:
        assert processes.folder.parent == room
        assert list(room.iterdir()) == [processes.folder]
    assert list(room.iterdir()) == []

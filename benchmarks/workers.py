"""How busy workers are that share one `Lab`: 16 threads, tasks of 50 ms, a real server process.

    python benchmarks/workers.py [--workers 16] [--task 0.05] [--seconds 10]

Utilisation is the time spent in tasks over the time that there was. It is measured for one `Lab` that all
workers share, and for a `Lab` with a token of its own for each of them; the ratio is of one run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from random import Random

from bestarm import connect
from bestarm.client.lab import Lab
from bestarm.client.server.connection import Connection

MEANS = {"A": 0.52, "B": 0.50, "C": 0.50, "D": 0.48}  # so close that nobody finishes
PROBLEM = {"name": "workers", "arms": list(MEANS), "sigma": 0.3}


def work(lab: Lab, task: float, end: float, seed: int, spent: list[float]) -> None:
    """Ask, work, tell, until the time is up."""
    random = Random(seed)
    while time.monotonic() < end and not lab.finished:
        for trial in lab.ask(1, wait=max(end - time.monotonic(), 0.0)):
            time.sleep(task)
            spent.append(task)
            lab.tell(trial, random.gauss(MEANS[trial.arm], 0.3))


def utilisation(labs: list[Lab], task: float, seconds: float) -> float:
    """The share of the time that the workers, one for each of these, were at work."""
    spent: list[float] = []
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=work, args=(lab, task, end, seed, spent)) for seed, lab in enumerate(labs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(spent) / (len(labs) * seconds)


def main() -> None:
    """Print both numbers and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--task", type=float, default=0.05)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    bestarm = str(Path(sys.executable).parent / "bestarm")
    with tempfile.TemporaryDirectory() as folder:
        token_file = Path(folder) / "admin-token"
        command = [bestarm, "serve", "--port", "0", "--admin-token-file", str(token_file), "--storage"]
        server = subprocess.Popen([*command, f"sqlite:///{folder}/bestarm.db"], stdout=subprocess.PIPE)
        try:
            assert server.stdout is not None
            url = server.stdout.readline().decode().removeprefix("listening on ").strip()
            with Connection(url, token_file.read_text().strip()) as admin:
                measure(url, admin, Path(folder), options)
        finally:
            server.terminate()
            server.wait()
            if server.stdout is not None:
                server.stdout.close()


def measure(url: str, admin: Connection, folder: Path, options: argparse.Namespace) -> None:
    """One `Lab` for all, then one for each."""
    admin.call("POST", "/v1/studies", {"problem": PROBLEM, "method": "sharp", "agents": options.workers})

    def opened(name: str) -> Lab:
        token = admin.call("POST", "/v1/studies/workers/tokens", {"role": "agent", "agent": name})["token"]
        return connect(url, token=token, journal=folder / f"{name}.db")

    with opened("all") as lab:
        shared = utilisation([lab] * options.workers, options.task, options.seconds)
        print(f"one Lab for {options.workers} workers: {shared:.0%} busy, {lab.status()['uploads']} uploads")
    labs = [opened(f"worker-{number}") for number in range(options.workers)]
    separate = utilisation(labs, options.task, options.seconds)
    for lab in labs:
        lab.close()
    print(f"a Lab for each: {separate:.0%} busy; ratio {shared / separate:.2f}")


if __name__ == "__main__":
    main()

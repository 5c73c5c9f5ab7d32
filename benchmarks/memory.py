"""How much memory a large study takes: in the server, for its export, and for verifying that.

    python benchmarks/memory.py                                  # 10,000 arms, 10,000 uploads of ten arms each
    python benchmarks/memory.py --arms 1000 --uploads 1000

`server` is the resident memory of a process with a storage (SQLite) that has taken all uploads, and then of one
that has read them all from its log. `export` and `verify` are what a process needs more, at most, while it
writes the export to a file, and while it verifies that file.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bestarm
from bestarm.core.tally import Tally
from bestarm.protocol.entries import Join, Upload
from bestarm.service.http import app  # what a server has loaded besides
from bestarm.service.storage import Storage
from bestarm.service.view.exports.export import export_json
from bestarm.service.view.exports.export_file import ExportFile
from bestarm.service.view.exports.verify import replay

SITES = 10
ARMS_EACH = 10


def resident(what: str = "VmRSS") -> float:
    """This process's memory in megabytes, now, or with VmHWM at its peak."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{what}:")[2].split()[0]) / 1024


def needs(work: Callable[[], object]) -> float:
    """How many megabytes more than now a piece of work needs at its peak."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = resident()
    work()
    return max(resident("VmHWM") - before, 0.0)


def problem(arms: int) -> bestarm.Problem:
    return bestarm.Problem([f"arm-{k}" for k in range(arms)], sigma=0.3, name="large")


def feed(file: Path, arms: int, uploads: int) -> dict[str, float]:
    """Take all uploads; all arms are alike, so that the study never stops."""
    assert app is not None
    storage = Storage(f"sqlite:///{file}")
    about = problem(arms)
    study = storage.create(bestarm.method("sharp", about, SITES)).result().study
    chance = random.Random(7)
    began = time.perf_counter()
    for site in range(SITES):
        storage.join(study, Join(f"lab-{site}")).result()
    for number in range(uploads):
        site, sequence = number % SITES, number // SITES + 1
        rows = dict.fromkeys(chance.sample(range(arms), min(ARMS_EACH, arms)), (1, 0.5))
        upload = Upload(about.fingerprint, f"lab-{site}", sequence, Tally.from_rows(rows, arms))
        storage.take(study, upload).result()
    seconds = time.perf_counter() - began
    found = resident()
    storage.close()
    return {"server": found, "seconds": seconds}


def export(file: Path) -> dict[str, float]:
    """Read the log again, and write the export."""
    assert app is not None
    storage = Storage(f"sqlite:///{file}")
    study = storage.find("large")
    assert study is not None
    overview = storage.look(study).result()
    found = resident()

    def write() -> None:
        with file.with_suffix(".json").open("w") as out:
            out.writelines(export_json(overview, storage))

    more = needs(write)
    storage.close()
    return {"again": found, "export": more, "megabytes": file.with_suffix(".json").stat().st_size / 2**20}


def verify(file: Path) -> dict[str, float]:
    """Verify the export."""
    return {"verify": needs(lambda: replay(ExportFile(file.with_suffix(".json"))))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, default=10_000)
    parser.add_argument("--uploads", type=int, default=10_000)
    parser.add_argument("--format", choices=["table", "json"], default="table")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step == "feed":
        print(json.dumps(feed(options.file, options.arms, options.uploads)))
    elif options.step is not None:
        print(json.dumps({"export": export, "verify": verify}[options.step](options.file)))
    else:
        measure(options)


def measure(options: argparse.Namespace) -> None:
    """Each step in a process of its own."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="bestarm-memory-") as folder:
        for step in ("feed", "export", "verify"):
            command = [sys.executable, __file__, "--step", step, "--file", str(Path(folder) / "large.db")]
            command += ["--arms", str(options.arms), "--uploads", str(options.uploads)]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
            found |= json.loads(done.stdout)
    if options.format == "json":
        print(json.dumps(found))
        return
    print(f"{options.arms} arms, {options.uploads} uploads of {ARMS_EACH} arms, in {found['seconds']:.0f} s")
    print(f"server  {found['server']:.0f} MB, and {found['again']:.0f} MB after it was started again")
    print(f"export  {found['export']:.0f} MB more, for a file of {found['megabytes']:.0f} MB")
    print(f"verify  {found['verify']:.0f} MB more")


if __name__ == "__main__":
    main()

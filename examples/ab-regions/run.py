"""An A/B/n test over three regions, with a real server: python run.py [--seed 0]"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bestarm

HERE = Path(__file__).parent
BESTARM = [sys.executable, "-m", "bestarm.cli.main"]
# What nobody knows: the share of visitors who sign up. And how many visitors a region sends at a time.
SIGNS_UP = {"today": 0.20, "short-form": 0.50, "video": 0.25, "testimonials": 0.10}
REGIONS = {"europe": 8, "america": 5, "asia": 2}


def call(*words: str, **environment: str) -> Any:
    """A bestarm command's answer."""
    environment = {**os.environ, **environment}
    command = [*BESTARM, *words, "--format", "json"]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def region(name: str, visitors: int, url: str, token: str, folder: Path, seed: int) -> None:
    """Show visitors the page that is asked for, and tell whether they signed up, until the study has ended."""
    chance = random.Random(f"{seed} {name}")
    with bestarm.connect(url, token=token, journal=folder / f"{name}.db", wait=10) as site:
        while not site.finished:
            for trial in site.ask(visitors, wait=10):
                site.tell(trial, float(chance.random() < SIGNS_UP[trial.arm]))
        print(f"{name} is told: {site.verdict.arm}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        admin = folder / "admin-token"
        options = [
            "--port",
            "0",
            "--storage",
            f"sqlite:///{folder / 'ab.db'}",
            "--admin-token-file",
            str(admin),
        ]
        with subprocess.Popen([*BESTARM, "serve", *options], stdout=subprocess.PIPE, text=True) as server:
            try:
                url = server.stdout.readline().removeprefix("listening on ").strip()
                run(url, admin.read_text().strip(), folder, seed)
            finally:
                server.send_signal(signal.SIGTERM)


def run(url: str, admin: str, folder: Path, seed: int) -> None:
    """Create the study, let the regions work at the same time, and print the verdict."""
    access = {"BESTARM_URL": url, "BESTARM_TOKEN": admin}
    study = call("study", "create", str(HERE / "problem.toml"), "--agents", str(len(REGIONS)), **access)
    with ThreadPoolExecutor(len(REGIONS)) as pool:
        work = []
        for name, visitors in REGIONS.items():
            token = call("token", "create", "--study", study["study"], "--agent", name, **access)["token"]
            work.append(pool.submit(region, name, visitors, url, token, folder, seed))
        for future in work:
            future.result()  # a failure in a region is a failure here
    found = call("study", "show", study["study"], **access)
    print(
        f"Verdict: {found['verdict']['arm']}, after {found['samples']:,} visitors and "
        f"{found['communications']} communications."
    )
    print(found["promise"])


if __name__ == "__main__":
    main()
